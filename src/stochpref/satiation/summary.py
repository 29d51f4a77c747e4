# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of goods that satiate says, in words and numbers, and what the data leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, listed, shown
from stochpref.posterior.summary import Identification
from stochpref.result import Drawn
from stochpref.satiation.climbing import SPREADS
from stochpref.verdicts import Verdicts

Array = NDArray[np.float64]

FEW: Final = 30  # purchases of a good below which how it satiates is weakly told
_VAGUE: Final = 1.0  # posterior sd of log γ beyond which it is: a factor of seven, 90 % intervals span thirty
_AS_WIDE: Final = 0.8  # posterior sd over prior sd beyond which data have taught next to nothing
_TAILS: Final = (0.05, 0.95)


class SatiatedRow(NamedTuple):
    """One good.

    name, n_bought : which, and in how many observations it was bought.
    mean, lower, upper : log-worth of the first unit, of the customer in the middle, and its 90 % interval.
    satiation, satiation_lower, satiation_upper : γ, the quantity at which a unit is worth half of the first; NaN
        for the outside good.
    """

    name: str
    n_bought: int
    mean: float
    lower: float
    upper: float
    satiation: float
    satiation_lower: float
    satiation_upper: float


class Estimated(NamedTuple):
    """A number of the law beside those of goods: posterior mean and 90 % interval."""

    name: str
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, repr=False)
class SatiatedSummary(Drawn):
    """A posterior of worths that fade; print it, or read its fields.

    n_observations, n_goods : sizes.
    law : of worths, in words. density : with respect to what log-densities are taken.
    sampler, reason : what was used and why.
    n_chains, n_draws : draws kept of each chain.
    is_converged, is_identified, verdict, verdicts : the verdicts, in words what to do, and in grades.
    goods : a row for each, the one worth most for its price first.
    scales : spreads of log-worths. coefficients : of features, in the units given.
    power, power_error : α of the worth of quantities, 0 for the logarithm; its standard error, None if it was stated.
    pareto_k : of importance weights; None for chains.
    cautions, titles : as of every fit.
    """

    n_observations: int
    n_goods: int
    law: str
    density: str
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    is_converged: bool
    is_identified: bool
    verdict: tuple[str, ...]
    verdicts: Verdicts
    goods: tuple[SatiatedRow, ...]
    scales: tuple[Estimated, ...]
    coefficients: tuple[Estimated, ...]
    power: float
    power_error: float | None
    pareto_k: float | None
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "result_plots:posterior"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good."""
        return [row._asdict() for row in self.goods]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts, and what densities are."""
        return (*self.verdict, self.density)

    def __str__(self) -> str:
        lines = [
            f"Goods that satiate: {self.law} over {self.n_goods} goods, {counted(self.n_observations, 'observation')}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {line}" for line in self.verdict),
            f"  {self.density}",
            "",
            f"  {'':<22}{'bought':>7}{'log-worth':>11}   {'90 % interval':<18}{'satiation':>10}   90 % interval",
            *(self._line(row) for row in self.goods[:30]),
        ]
        if len(self.goods) > 30:
            lines.append(f"  and {len(self.goods) - 30} more goods")
        lines.append("")
        for one in (*self.scales, *self.coefficients):
            lines.append(f"  {shown(one.name, 38):<40}{one.mean:>9.3f}   {one.lower:.3f} to {one.upper:.3f}")
        error = "" if self.power_error is None else f" ± {self.power_error:.2g}"
        lines.append(f"  {'power of the worth of quantities':<40}{self.power:>9.3f}{error}")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    def _line(self, row: SatiatedRow) -> str:
        between = f"{row.lower:.2f} to {row.upper:.2f}"
        fades = f"{row.satiation:>10.3g}   {row.satiation_lower:.3g} to {row.satiation_upper:.3g}"
        name = shown(self.titles.get(row.name, row.name), 20)
        return f"  {name:<22}{row.n_bought:>7,}{row.mean:>11.3f}   {between:<18}{fades}"


def estimated(name: str, draws: Array) -> Estimated:
    """Return mean and 90 % interval of draws (draws,)."""
    lower, upper = np.quantile(draws, _TAILS)
    return Estimated(name, float(draws.mean()), float(lower), float(upper))


def good_rows(
    names: Sequence[str], n_bought: NDArray[np.int64], location: Array, fades: Mapping[str, Array]
) -> tuple[SatiatedRow, ...]:
    """Return a row for each good of which the location (draws, k) is known.

    Parameters
    ----------
    fades : good -> (draws,) log γ.
    """
    rows = []
    for i, name in enumerate(names):
        one = estimated(name, location[:, i])
        own = fades.get(name)
        fade = (np.nan, np.nan, np.nan) if own is None else np.exp([own.mean(), *np.quantile(own, _TAILS)]).tolist()
        rows.append(SatiatedRow(name, int(n_bought[i]), one.mean, one.lower, one.upper, *fade))
    return tuple(rows)


def judge_law(names: Sequence[str], n_bought: NDArray[np.int64], drawn: Mapping[str, Array]) -> Identification:
    """Return what data tell of worths that fade.

    Parameters
    ----------
    names, n_bought : of the goods that satiate, and in how many observations each was bought.
    drawn : "satiation" (draws, m) and "scale" (draws, …), logarithms.
    """
    spread, lines = drawn["satiation"].std(axis=0), []
    never = [name for name, count in zip(names, n_bought, strict=True) if count == 0]
    weak = [
        f"{name} (bought {counted(int(count), 'time')})"
        for name, count, sd in zip(names, n_bought, spread, strict=True)
        if 0 < count < FEW or (count and sd > _VAGUE)
    ]
    if never:
        lines.append(
            f"not identified: nobody bought {listed(never)}: how fast {'it satiates' if len(never) == 1 else 'they do'}"
            " is the prior's, and worth is known from above alone; leave out, or collect purchases"
        )
    if weak:
        lines.append(f"hardly identified: how fast it satiates, of {listed(weak)}; collect more purchases")
    if (drawn["scale"].std(axis=0) > _AS_WIDE * SPREADS["scale"]).any():
        lines.append("not identified: how much customers differ; collect more observations, at other prices")
    if not lines:
        said = "identified: the data tell what goods are worth, how fast they satiate and how much customers differ"
        return Identification("good", (said,), True)
    is_bad = len(never) > len(names) / 2 or lines[-1].endswith("at other prices")
    return Identification("bad" if is_bad else "nearly", tuple(lines), not is_bad)
