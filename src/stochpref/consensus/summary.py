# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of one common utility says, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from stochpref.errors import counted, listed, shown
from stochpref.result import Drawn
from stochpref.verdicts import Verdict, Verdicts

_NEARLY_PROVEN: Final = 0.01  # of the observations: what a better utility could explain beyond
_AS_WIDE: Final = 0.8  # range over that of a utility of which nothing is known, beyond which next to nothing is


@dataclass(frozen=True, slots=True, repr=False)
class CommonSummary(Drawn):
    """A fit of one common utility; print it, or read its fields.

    n_observations, n_goods, n_dropped : sizes, and degenerate observations left out.
    n_consistent, upper_bound, is_optimal : what the utility explains, and what no utility exceeds.
    corruption, corruption_interval : share of odd observations, with a 95 % interval.
    margin : γ of the fit.
    goods : (name, utility, lower, upper) the highest utility first; the range holds 95 % of the utilities that explain
        as much, None where it was not computed.
    odd : (name of an observation, another that excludes it, or None), the first few; a name is a number from 1 where
        observations have no labels.
    steps : what the solver did.
    verdicts : the three verdicts in grades.
    cautions : what the data cannot tell and the numbers rest on, in sentences.
    titles : good -> what people call it, where that is not its name.
    """

    n_observations: int
    n_goods: int
    n_dropped: int
    n_consistent: int
    upper_bound: int
    is_optimal: bool
    corruption: float
    corruption_interval: tuple[float, float]
    margin: float
    goods: tuple[tuple[str, float, float | None, float | None], ...]
    odd: tuple[tuple[str, str | None], ...]
    steps: tuple[str, ...]
    verdicts: Verdicts
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "result_plots:common"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good."""
        return [dict(zip(("good", "utility", "lower", "upper"), row, strict=True)) for row in self.goods]

    def remarks(self) -> tuple[str, ...]:
        """Return what the utility explains, how far that is proven, how it was found, and how many are odd."""
        return tuple(line.strip() for line in str(self).split("\n")[1:4])

    def __str__(self) -> str:
        low, high = (100 * end for end in self.corruption_interval)
        proof = "proven optimal" if self.is_optimal else f"not proven optimal: at most {self.upper_bound:,}"
        left_out = f", {self.n_dropped:,} degenerate ones left out" if self.n_dropped else ""
        lines = [
            f"One common utility over {self.n_goods} goods, {counted(self.n_observations, 'observation')}{left_out}",
            f"  consistent   {self.n_consistent:,} ({proof})" + (f", margin {self.margin:.3g}" if self.margin else ""),
            *(f"  found by     {step}" for step in self.steps[-1:]),
            f"  odd          {100 * self.corruption:.1f} % (95 % interval {low:.1f} to {high:.1f} %)",
            *(f"  {verdict.text}" for verdict in self.verdicts[1:]),
            "  utility      range of utilities that explain as much",
        ]
        for name, value, lower, upper in self.goods[:12]:
            between = "" if lower is None or upper is None else f"   {lower:+.4f} to {upper:+.4f}"
            lines.append(f"    {shown(self.titles.get(name, name)):<12} {value:+.4f}{between}")
        if len(self.goods) > 12:
            lines.append(f"    and {len(self.goods) - 12} more goods")
        if self.odd:
            lines.append("  odd          the first of them")
        for t, other in self.odd[:5]:
            excluded = " is odd" if other is None else f" cannot hold together with observation {shown(other)}"
            lines.append(f"    observation {shown(t)}{excluded}")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])


def judge_search(n_consistent: int, upper_bound: int, n_used: int) -> Verdict:
    """Return whether it is proven that no utility explains more."""
    if n_consistent == upper_bound:
        return Verdict("good", f"converged: no utility explains more than {n_consistent:,}, which is proven")
    status = "nearly" if upper_bound - n_consistent <= _NEARLY_PROVEN * n_used else "bad"
    said = "nearly converged" if status == "nearly" else "NOT PROVEN"
    most = f"no utility explains more than {upper_bound:,}"
    return Verdict(status, f"{said}: {n_consistent:,} are explained, {most}; allow more effort (effort=Effort(…))")


def judge_ranges(widths: Mapping[str, float] | None) -> Verdict:
    """Return whether data tell a utility, from the widths of the 95 % ranges of its goods; None if not computed."""
    if widths is None:
        return Verdict("note", "identification not judged: no range of utilities was computed")
    unknown = 2 * 1.96 / np.sqrt(len(widths))  # the range of a coordinate of a unit vector of which nothing is known
    open_goods = [good for good, width in widths.items() if width > _AS_WIDE * unknown]
    if not open_goods:
        return Verdict("good", "identified: the utilities that explain as much agree on every good")
    status = "bad" if len(open_goods) > len(widths) / 2 else "nearly"
    return Verdict(
        status, f"not identified: the data say next to nothing of {listed(open_goods)}; offer them, at other prices"
    )
