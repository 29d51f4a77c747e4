# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of decisions says, in words and numbers, and what the decisions leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, shown
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.summary import Row, make_rows
from stochpref.result import Result
from stochpref.verdicts import Verdict, Verdicts

Array = NDArray[np.float64]

_SHORT: Final = 0.5  # a mean direction of draws this short is open
_TOP: Final = 0.8  # of the bound on the scale of means, above which half of the draws must not lie
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, repr=False)
class DecisionSummary(Result):
    """A posterior of the mean of N(h, I); print it, or read its fields.

    n_observations, n_variables, n_dropped : sizes, and degenerate decisions left out.
    n_hidden : directions of utility that no decision reveals.
    sampler, reason, n_chains, n_draws : how it was drawn.
    verdicts : the three verdicts.
    length : posterior row of |h|, the size of what all want beside what each wants for themselves.
    variables : rows of the components of the mean, in the order of variables.
    common : the most frequent decisions as (what, share seen).
    """

    n_observations: int
    n_variables: int
    n_dropped: int
    n_hidden: int
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    verdicts: Verdicts
    length: Row
    variables: tuple[Row, ...]
    common: tuple[tuple[str, float], ...]

    @property
    def is_converged(self) -> bool:
        """Whether the draws can be trusted."""
        return self.verdicts.converged.status == "good"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for the length of the mean and for each variable."""
        return [row._asdict() for row in (self.length, *self.variables)]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts."""
        return tuple(verdict.text for verdict in self.verdicts)

    def __str__(self) -> str:
        left_out = f", {self.n_dropped:,} degenerate ones left out" if self.n_dropped else ""
        lines = [
            f"Normal utility over {self.n_variables} variables, {counted(self.n_observations, 'decision')}{left_out}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {verdict.text}" for verdict in self.verdicts),
        ]
        if self.n_hidden:
            many = counted(self.n_hidden, "direction")
            lines.append(f"  {many} of utility no decision reveals: the mean has no part in them")
        lines += ["", "  seen most often:", *(f"  {share:6.1%}  {what}" for what, share in self.common)]
        lines += ["", f"  {'':<22}{'mean':>9}{'sd':>8}   {'90 % interval':<21}{'R-hat':>7}{'ESS bulk':>10}{'tail':>8}"]
        lines += [_line(row) for row in (self.length, *self.variables[:_SHOWN])]
        if self.n_variables > _SHOWN:
            lines.append(f"  and {self.n_variables - _SHOWN} more variables")
        return "\n".join(lines)


def _line(row: Row) -> str:
    between = f"{row.lower:.3f} to {row.upper:.3f}"
    return (
        f"  {shown(row.name, 20):<22}{row.mean:>9.3f}{row.sd:>8.3f}   {between:<21}"
        f"{row.r_hat:>7.3f}{row.ess_bulk:>10,.0f}{row.ess_tail:>8,.0f}"
    )


def rows_of(drawn: Array, found: Diagnostics, names: tuple[str, ...]) -> tuple[Row, tuple[Row, ...]]:
    """Return rows of the length and of the components of the mean (chains, draws, n)."""
    parameters = {"mean": drawn, "length": np.linalg.norm(drawn, axis=2)}
    rows = make_rows(parameters, found, {"mean": names})
    return rows["length"][0]._replace(name="length of the mean"), rows["mean"]


def judge_mean(drawn: Array, scale: Array, bound: float) -> Verdict:
    """Return whether decisions tell the direction of the mean (draws, n) and how far people differ about it."""
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    together = float(np.linalg.norm(np.mean(drawn / np.maximum(length, 1e-300), axis=0)))
    lines = []
    if together < _SHORT:
        lines.append(
            f"not identified: the direction of the mean is open (its posterior mean has length {together:.2f}); "
            "collect more decisions, or from more varied problems"
        )
    if np.mean(scale > _TOP * bound) > 0.5:
        lines.append(
            f"not identified: the mean runs into the bound of its scale, {bound:g}; people may share one utility (use "
            "CommonUtility), or raise mean_spread"
        )
    if not lines:
        return Verdict("good", "identified: decisions narrow the direction of the mean and its length")
    return Verdict("bad" if together < _SHORT else "nearly", "; ".join(lines))
