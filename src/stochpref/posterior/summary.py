# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of the heterogeneous model says, in words and numbers: estimates, their errors, whether to trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.bessel import mean_resultant_length
from stochpref.errors import counted, listed, shown
from stochpref.posterior.diagnostics import PARETO_LIMIT, RHAT_LIMIT, Diagnostics
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.around import CURVATURE
from stochpref.result import Drawn
from stochpref.verdicts import Verdict, Verdicts

Array = NDArray[np.float64]

_LARGEST_ERROR = 0.2  # of a log-likelihood whose draws can be trusted: weights are off by as much

_AS_WIDE = 0.8  # posterior sd over prior sd beyond which data have taught next to nothing
_TOP = 0.05  # of the interval of κ: its upper end
_HELD = 0.5  # a share of draws there beyond this part of the prior's says that data do not bound κ from above
_SHORT = 0.5  # length of the mean of μ below which the direction is open
_NEARLY_RHAT = 1.05  # chains that agree so far,
_NEARLY_EFFECTIVE = 100  # and so many effective draws: means are known to a tenth of a standard deviation


class Row(NamedTuple):
    """One line of the table: a quantity, its posterior mean, sd and 90 % interval, R-hat, effective draws, error."""

    name: str
    mean: float
    sd: float
    lower: float
    upper: float
    r_hat: float
    ess_bulk: float
    ess_tail: float
    mcse: float


@dataclass(frozen=True, slots=True, repr=False)
class HeterogeneousSummary(Drawn):
    """A posterior of (μ, κ); print it, or read its fields.

    n_observations, n_goods, n_dropped : sizes, and degenerate observations left out.
    sampler, reason : what was used and why.
    n_chains, n_draws : draws kept of each chain.
    is_converged, is_identified : whether draws can be trusted, whether data narrow the prior.
    verdict : the verdicts in words, with what to do: of draws, a line for everything that data leave open, of the fit.
    verdicts : the three verdicts in grades.
    concentration : its row.
    goods : rows of the components of the mean direction, the highest mean first.
    alikeness : mean of A_n(κ), the length of the average utility: 0 all differ, 1 all alike; None where the data do not
        tell.
    pareto_k : of importance weights; None for chains.
    cautions : what the data cannot tell and the numbers rest on, in sentences.
    titles : good -> what people call it, where that is not its name.
    coefficients : rows of the coefficients of features, in their units; the law above is then that at average features.
    notes : coefficients that were left out, since others say the same.
    """

    n_observations: int
    n_goods: int
    n_dropped: int
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    is_converged: bool
    is_identified: bool
    verdict: tuple[str, ...]
    verdicts: Verdicts
    concentration: Row
    goods: tuple[Row, ...]
    alikeness: float | None
    pareto_k: float | None
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    coefficients: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()

    picture: ClassVar[str] = "result_plots:posterior"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for the concentration, each good and each coefficient."""
        return [row._asdict() for row in (self.concentration, *self.goods, *self.coefficients)]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts, and what was left out."""
        return (*self.verdict, *self.notes)

    def __str__(self) -> str:
        left_out = f", {self.n_dropped:,} degenerate ones left out" if self.n_dropped else ""
        lines = [
            f"Heterogeneous utility over {self.n_goods} goods, {counted(self.n_observations, 'observation')}{left_out}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {line}" for line in self.verdict),
            "",
            f"  {'':<22}{'mean':>9}{'sd':>8}   {'90 % interval':<21}{'R-hat':>7}{'ESS bulk':>10}{'tail':>8}",
            self._line(self.concentration, is_known=self.alikeness is not None),
            *(self._line(row) for row in self.goods[:30]),
        ]
        if len(self.goods) > 30:
            lines.append(f"  and {len(self.goods) - 30} more goods")
        if self.alikeness is not None:
            lines += ["", f"  customers agree to {100 * self.alikeness:.0f} % (0: all differ, 100: all alike)"]
        if self.coefficients:
            lines += ["", "  moved by features (above: the law where all are average)"]
            lines += [self._line(row) for row in self.coefficients[:40]]
            lines += [f"  and {len(self.coefficients) - 40} more coefficients"] * (len(self.coefficients) > 40)
            lines += [f"  {note}" for note in self.notes]
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    def _line(self, row: Row, *, is_known: bool = True) -> str:
        between = f"{row.lower:.3f} to {row.upper:.3f}"
        mean, sd = (f"{row.mean:.3f}", f"{row.sd:.3f}") if is_known else ("open", "")
        return (
            f"  {shown(self.titles.get(row.name, row.name), 20):<22}{mean:>9}{sd:>8}   {between:<21}"
            f"{f'{row.r_hat:.3f}' if np.isfinite(row.r_hat) else '–':>7}{row.ess_bulk:>10,.0f}{row.ess_tail:>8,.0f}"
        )


def make_rows(
    parameters: Mapping[str, Array], found: Diagnostics, labels: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Row, ...]]:
    """Return a row for every component of each parameter that was diagnosed, by its name.

    Parameters
    ----------
    parameters : name -> (chains, draws, …).
    labels : name -> what to call the components, where they have names of their own.
    """
    return {
        name: _rows_of(parameters[name], found.of(name), labels.get(name, found.of(name).names))
        for name in found.parameters
    }


def _rows_of(draws: Array, found: Diagnostics, names: Sequence[str]) -> tuple[Row, ...]:
    values = draws.reshape(-1, len(names))
    lower, upper = np.quantile(values, (0.05, 0.95), axis=0)
    return tuple(
        Row(
            name=name,
            mean=float(values[:, i].mean()),
            sd=float(values[:, i].std()),
            lower=float(lower[i]),
            upper=float(upper[i]),
            r_hat=float(found.r_hat[i]),
            ess_bulk=float(found.ess_bulk[i]),
            ess_tail=float(found.ess_tail[i]),
            mcse=float(found.mcse_mean[i]),
        )
        for i, name in enumerate(names)
    )


def judge_convergence(found: Diagnostics, n_effective: int, status: str, likelihood_error: float = 0.0) -> Verdict:
    """Return whether the draws can be trusted, in a line that says so or what to do.

    `likelihood_error` is the standard error of a log-likelihood that is not exact.
    """
    if likelihood_error > _LARGEST_ERROR:
        return Verdict(
            "bad",
            (
                "NOT CONVERGED: the log-likelihood, of which a sample of rows tells the shape, is known to ±"
                f"{likelihood_error:.2g} only; widen concentration_bounds (--concentration-bounds) if they cut the "
                "posterior off, or load the data"
            ),
        )
    if found.is_hopeless:
        return Verdict(
            "bad",
            (
                f"NOT CONVERGED: importance weights are too uneven (Pareto k {found.pareto_k:.2f}, above "
                f"{PARETO_LIMIT}); use sampler='gibbs' (--sampler gibbs)"
            ),
        )
    trust = f"R-hat at most {found.worst_r_hat:.3f}, at least {found.fewest_effective:,.0f} effective draws"
    if not np.isfinite(found.worst_r_hat):
        trust = "too few draws, or draws that do not vary, for R-hat"
    if found.pareto_k is not None:
        trust = f"Pareto k {found.pareto_k:.2f}, {found.fewest_effective:,.0f} effective draws"
    if likelihood_error > 0:
        trust += f"; log-likelihoods to ±{likelihood_error:.1g}, by exact sums at the maximum and a sample of rows"
    if found.reaches(n_effective):
        return Verdict("good", f"converged: {trust}")
    stopped = {
        "interrupted": "it was interrupted",
        "max_seconds": "its time was up",
        "max_draws": "max_draws was reached",
    }.get(status, "no more draws were asked for")
    wanted = f", fewer than the {n_effective:,} effective draws wanted" if n_effective else ""
    if found.worst_r_hat >= RHAT_LIMIT:
        wanted = ", with R-hat above 1.01"
    remedy = f"{trust}{wanted}, and {stopped}; allow more draws or time, or another sampler"
    if found.worst_r_hat < _NEARLY_RHAT and found.fewest_effective >= _NEARLY_EFFECTIVE:
        return Verdict("nearly", f"nearly converged: {remedy}")
    return Verdict("bad", f"NOT CONVERGED: {remedy}")


def judge_draws(found: Diagnostics, n_effective: int, status: str, sampler: str, reason: str) -> Verdict:
    """Return whether the draws can be trusted, in a line that says so or what to do."""
    if sampler == CURVATURE:
        return Verdict("good", f"intervals are those of the curvature at the maximum, which are approximate: {reason}")
    return judge_convergence(found, n_effective, status)


class Identification(NamedTuple):
    """What data tell of a law.

    status : "good"; "nearly" where they tell the direction but leave a part of the law open; "bad".
    lines : one for everything that is open, or one that says that nothing is.
    is_spread_known : they tell how alike customers are.
    """

    status: str
    lines: tuple[str, ...]
    is_spread_known: bool

    @property
    def verdict(self) -> Verdict:
        """The lines in one."""
        return Verdict(self.status, "; ".join(self.lines))


def judge_identification(
    rows: Mapping[str, tuple[Row, ...]], parameters: Mapping[str, Array], prior: Prior
) -> Identification:
    """Return whether data identify the von Mises–Fisher law, with a line for everything they leave open."""
    lines = []
    goods, (kappa,) = rows["mean_direction"], rows["concentration"]
    n, width = len(goods), prior.upper - prior.lower
    length = float(np.linalg.norm(parameters["mean_direction"].reshape(-1, n).mean(axis=0)))
    if np.mean(parameters["concentration"] > prior.upper - _TOP * width) > _HELD * _TOP:
        lines.append(
            f"not identified: the concentration runs into its upper bound {prior.upper:g}; customers may share one "
            "utility (use CommonUtility, --model common), or raise concentration_bounds (--concentration-bounds)"
        )
    elif kappa.sd > _AS_WIDE * width / np.sqrt(12.0):
        lines.append(
            "not identified: the data hardly narrow the concentration; collect more observations or more varied menus"
        )
    is_spread_known, is_open = not lines, length < _SHORT
    if is_open:
        lines.append(
            f"not identified: the mean direction is open (its posterior mean has length {length:.2f}); "
            "collect more observations or more varied menus"
        )
    else:
        open_goods = [row.name for row in goods if row.sd > _AS_WIDE / np.sqrt(n)]
        if open_goods:
            lines.append(
                f"not identified: the data say next to nothing of {listed(open_goods)}; offer them, at other prices"
            )
        is_open = len(open_goods) > n / 2
    if not lines:
        sentence = "identified: the data narrow the direction, every good and the concentration"
        return Identification("good", (sentence,), True)
    return Identification("bad" if is_open else "nearly", tuple(lines), is_spread_known)


def average_alikeness(n_goods: int, concentration: Array) -> float:
    """Return the posterior mean of A_n(κ)."""
    return float(np.mean(mean_resultant_length(n_goods, concentration)))
