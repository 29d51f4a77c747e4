# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of segments says, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, listed, shown
from stochpref.posterior.summary import Identification, Row
from stochpref.result import Drawn
from stochpref.verdicts import Verdicts

Array = NDArray[np.float64]

_SHORT: Final = 0.5  # length of the mean of μ_k below which a segment's direction is open
_VAGUE: Final = 0.5  # standard deviation of a concentration, as a share of it, beyond which it is hardly known
_MOST_WANTED: Final = 4  # goods named of a segment


class PathRow(NamedTuple):
    """One number of segments that was tried.

    n_asked, n_segments : looked for, and found different and not empty.
    log_likelihood, penalised, bic : at the best solution; the lowest BIC decides.
    n_rivals : other solutions as good.
    """

    n_asked: int
    n_segments: int
    log_likelihood: float
    penalised: float
    bic: float
    n_rivals: int


class SegmentRow(NamedTuple):
    """One segment: its share of customers, its concentration, and how much its average customer wants each good."""

    weight: Row
    concentration: Row
    goods: tuple[Row, ...]


@dataclass(frozen=True, slots=True, repr=False)
class SegmentedSummary(Drawn):
    """A mixture of segments; print it, or read its fields.

    n_observations, n_goods, n_dropped : sizes, and degenerate observations left out.
    n_customers : that share a segment between all their purchases; None where each observation has its own.
    path : every number of segments tried; is_auto : whether BIC chose among them.
    segments : the heaviest first.
    sampler, reason : where the intervals come from, and why.
    n_chains, n_draws : draws kept of each chain.
    is_converged, is_identified, verdict, verdicts : the verdicts, in words what to do, and in grades.
    pareto_k : of importance weights; None where the curvature stands for the posterior.
    cautions : what the data cannot tell and the numbers rest on, in sentences.
    averaged : numbers of segments that demand and probabilities are averages over; () for those of the chosen one.
    is_absolute : log-likelihoods of the path are; elsewhere they are gains over one segment.
    """

    n_observations: int
    n_goods: int
    n_dropped: int
    n_customers: int | None
    path: tuple[PathRow, ...]
    is_auto: bool
    segments: tuple[SegmentRow, ...]
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    is_converged: bool
    is_identified: bool
    verdict: tuple[str, ...]
    verdicts: Verdicts
    pareto_k: float | None
    cautions: tuple[str, ...] = ()
    averaged: tuple[int, ...] = ()
    is_absolute: bool = True

    picture: ClassVar[str] = "result_plots:segments"

    @property
    def chosen(self) -> int:
        """The number of segments asked for in the solution that was taken."""
        return (min(self.path, key=lambda row: row.bic) if self.is_auto else self.path[-1]).n_asked

    def records(self) -> list[dict[str, Any]]:
        """Return a row for the share, the concentration and each good of every segment."""
        return [
            {"segment": number, **row._asdict()}
            for number, one in enumerate(self.segments, start=1)
            for row in (one.weight._replace(name="share of customers"), one.concentration, *one.goods)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts."""
        return self.verdict

    def __str__(self) -> str:
        left_out = f", {self.n_dropped:,} degenerate ones left out" if self.n_dropped else ""
        whose = f" of {counted(self.n_customers, 'customer')}" if self.n_customers is not None else ""
        lines = [
            f"{counted(len(self.segments), 'segment')} of customers over {self.n_goods} goods, "
            f"{counted(self.n_observations, 'observation')}{whose}{left_out}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {line}" for line in self.verdict),
            "",
            *self._path_lines(),
            *([f"  predictions are averages over {self.averaged_in_words}"] if self.averaged else []),
        ]
        for number, one in enumerate(self.segments, start=1):
            lines += ["", f"  segment {number}{'':<12}{'mean':>9}{'sd':>8}   90 % interval"]
            lines += [_line(one.weight._replace(name="share of customers")), _line(one.concentration)]
            lines += [_line(row) for row in sorted(one.goods, key=lambda row: -row.mean)[:30]]
            if len(one.goods) > 30:
                lines.append(f"  and {len(one.goods) - 30} more goods")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    @property
    def averaged_in_words(self) -> str:
        """Which numbers of segments predictions are averages over."""
        return f"{listed(self.averaged)} segments"

    def _path_lines(self) -> list[str]:
        first = "log-likelihood" if self.is_absolute else "gain over one"
        lines = [f"  {'segments':<10}{first:>16}{'penalised':>13}{'BIC':>13}"]
        for row in self.path:
            mark = "  chosen" if row.n_asked == self.chosen else ""
            fewer = f"  ({row.n_segments} different)" if row.n_segments < row.n_asked else ""
            lines.append(
                f"  {row.n_asked:<10}{row.log_likelihood:>16,.2f}{row.penalised:>13,.2f}{row.bic:>13,.2f}{mark}{fewer}"
            )
        return lines


def _line(row: Row) -> str:
    return f"  {shown(row.name, 20):<22}{row.mean:>9.3f}{row.sd:>8.3f}   {row.lower:.3f} to {row.upper:.3f}"


def most_wanted(goods: Sequence[Row]) -> str:
    """Return the goods that a segment wants most, in words."""
    liked = [row.name for row in sorted(goods, key=lambda row: -row.mean) if row.mean > 0]
    return listed(liked, _MOST_WANTED) if liked else "nothing in particular"


def judge_segments(segments: Sequence[SegmentRow], directions: Array, n_rivals: int) -> Identification:
    """Return what data tell of the segments.

    Parameters
    ----------
    directions : (draws, K, n) mean directions.
    n_rivals : other solutions as good.
    """
    lines = []
    if n_rivals:
        lines.append(
            f"not identified: {counted(n_rivals, 'other solution')} with as many segments within 2 log units; these "
            "segments are one reading of several that are as good"
        )
    lengths = np.linalg.norm(directions.mean(axis=0), axis=1)
    vague = [k + 1 for k, length in enumerate(lengths) if length < _SHORT]
    if vague:
        lines.append(
            f"not identified: what segment {listed(vague)} wants is open; collect more observations, or ask for fewer "
            "segments (n_segments, --segments)"
        )
    loose = [
        number for number, one in enumerate(segments, start=1)
        if number not in vague and one.concentration.sd > _VAGUE * one.concentration.mean
    ]  # fmt: skip
    if loose:
        lines.append(f"not identified: how alike the customers of segment {listed(loose)} are is hardly known")
    status = "bad" if n_rivals or vague else "nearly" if loose else "good"
    told = lines or ["identified: the data tell what each segment wants, how alike it is and how large"]
    return Identification(status, tuple(told), not (vague or loose))
