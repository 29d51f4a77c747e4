# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of a normal law says, in words and numbers, and what the data leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, listed, shown
from stochpref.posterior.summary import Identification
from stochpref.result import Drawn
from stochpref.verdicts import Verdicts

Array = NDArray[np.float64]

_SHORT: Final = 0.5  # length of the mean of directions below which the direction is open
_AS_WIDE: Final = 0.8  # posterior sd over prior sd beyond which data have taught next to nothing
_TAILS: Final = (0.05, 0.95)


class GoodRow(NamedTuple):
    """One good: mean utility of customers and how much they differ over it, each with its 90 % interval.

    r_hat, n_effective : of the mean; NaN of weighted draws.
    """

    name: str
    mean: float
    lower: float
    upper: float
    spread: float
    spread_lower: float
    spread_upper: float
    r_hat: float
    n_effective: float


@dataclass(frozen=True, slots=True, repr=False)
class NormalSummary(Drawn):
    """A posterior of normal laws; print it, or read its fields.

    n_observations, n_goods, n_dropped : sizes, and degenerate observations left out.
    law : the kind of covariance, in words.
    sampler, reason : what was used and why.
    n_chains, n_draws : draws kept of each chain.
    is_converged, is_identified, verdict, verdicts : the verdicts, in words what to do, and in grades.
    goods : a row for each, the best liked first, on the scale on which variances are 1 on average.
    together : what is said of which goods are liked together, in lines.
    pareto_k : of importance weights; None for chains.
    cautions : what the data cannot tell and the numbers rest on, in sentences.
    titles : good -> what people call it, where that is not its name.
    """

    n_observations: int
    n_goods: int
    n_dropped: int
    law: str
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    is_converged: bool
    is_identified: bool
    verdict: tuple[str, ...]
    verdicts: Verdicts
    goods: tuple[GoodRow, ...]
    together: tuple[str, ...]
    pareto_k: float | None
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "result_plots:posterior"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good."""
        return [row._asdict() for row in self.goods]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts."""
        return self.verdict

    def __str__(self) -> str:
        left_out = f", {self.n_dropped:,} degenerate ones left out" if self.n_dropped else ""
        lines = [
            f"Normal utilities over {self.n_goods} goods, {self.law}, {counted(self.n_observations, 'observation')}"
            f"{left_out}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {line}" for line in self.verdict),
            "",
            f"  {'':<22}{'mean':>9}   {'90 % interval':<19}{'spread':>9}   90 % interval",
            *(self._line(row) for row in self.goods[:30]),
        ]
        if len(self.goods) > 30:
            lines.append(f"  and {len(self.goods) - 30} more goods")
        lines += ["", *(f"  {line}" for line in self.together)] if self.together else []
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    def _line(self, row: GoodRow) -> str:
        between = f"{row.lower:.3f} to {row.upper:.3f}"
        return (
            f"  {shown(self.titles.get(row.name, row.name), 20):<22}{row.mean:>9.3f}   {between:<19}{row.spread:>9.3f}"
            f"   {row.spread_lower:.3f} to {row.spread_upper:.3f}"
        )


def good_rows(
    names: Sequence[str], mean: Array, spread: Array, r_hat: Array, n_effective: Array
) -> tuple[GoodRow, ...]:
    """Return a row for each coordinate.

    Parameters
    ----------
    mean, spread : (draws, n).
    r_hat, n_effective : (n,).
    """
    (low, high), (narrow, wide) = np.quantile(mean, _TAILS, axis=0), np.quantile(spread, _TAILS, axis=0)
    return tuple(
        GoodRow(
            name, float(mean[:, i].mean()), float(low[i]), float(high[i]), float(spread[:, i].mean()),
            float(narrow[i]), float(wide[i]), float(r_hat[i]), float(n_effective[i]),
        )
        for i, name in enumerate(names)
    )  # fmt: skip


def judge_law(names: Sequence[str], directions: Array, log_spread: Array, prior_sd: float) -> Identification:
    """Return what data tell of a normal law.

    Parameters
    ----------
    directions : (draws, n) of the mean.
    log_spread : (draws, n) logarithms of the goods' spreads, in units of the prior.
    prior_sd : of one of those before any data.
    """
    n, lines = len(names), []
    length = float(np.linalg.norm(directions.mean(axis=0)))
    open_goods = [name for name, sd in zip(names, directions.std(axis=0), strict=True) if sd > _AS_WIDE / np.sqrt(n)]
    if length < _SHORT:
        lines.append(
            f"not identified: the mean direction is open (its posterior mean has length {length:.2f}); "
            "collect more observations or more varied menus"
        )
    elif open_goods:
        lines.append(
            f"not identified: the data say next to nothing of {listed(open_goods)}; offer them, at other prices"
        )
    vague = [name for name, sd in zip(names, log_spread.std(axis=0), strict=True) if sd > _AS_WIDE * prior_sd]
    if vague:
        lines.append(f"not identified: how much customers differ over {listed(vague)} is hardly known")
    if not lines:
        said = "identified: the data tell what customers want and how much they differ over each good"
        return Identification("good", (said,), True)
    is_bad = length < _SHORT or len(open_goods) > n / 2
    return Identification("bad" if is_bad else "nearly", tuple(lines), not vague)
