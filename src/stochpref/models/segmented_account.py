# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What segments say of themselves: who they are, how large, what they want and what each would buy."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref import plots
from stochpref.demand import expected_demand, typical_menu
from stochpref.errors import counted
from stochpref.market import SegmentMarket
from stochpref.models.account import Account, Part, Sketch, Table, as_sentence, shorten, shown_number
from stochpref.observations import Observations
from stochpref.posterior.samplers.around import CURVATURE
from stochpref.posterior.summary import Row
from stochpref.segments.summary import SegmentedSummary, SegmentRow, most_wanted
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_PICTURED: Final = 8  # goods of a segment's picture
_LEVEL: Final = 0.9


def account_of(
    summary: SegmentedSummary, goods: tuple[str, ...], market: SegmentMarket, observations: Observations
) -> Account:
    """Return the account of a mixture; its market says what each segment would buy."""
    k = len(summary.segments)
    kind = f"Customers of {counted(k, 'segment')}"
    converged, identified = summary.verdicts.converged.status, summary.verdicts.identified.status
    headline = f"{kind}: the fit can be trusted." if k > 1 else "One segment: nothing speaks for several."
    if identified != "good":
        headline = f"{kind}: the data leave something open."
    if converged == "bad":
        headline = "Not yet: there are too few draws for intervals."
    unfit = headline if converged == "bad" else f"{kind}, and yet the model does not buy as customers did."
    return Account(
        kind=kind,
        headline=headline,
        headline_unfit=unfit,
        verdicts=_verdicts(summary),
        figure=(str(k), f"segment{'' if k == 1 else 's'} of customers"),
        wanted=(
            "The utility of the average customer of all segments together, scaled to length 1, with 90 % intervals; "
            "what each segment wants is further below."
        ),
        unwanted="Not wanted by the average customer, though some segment may",
        notes=tuple(_in_words(number, one) for number, one in enumerate(summary.segments, start=1)),
        spread=(_sizes(summary), _wants(summary), _purchases(summary, goods, market, observations)),
        trust=(
            Part(verdicts=_trust_verdicts(summary)),
            Part(prose=_provenance(summary), is_small=True),
            _path(summary),
        ),
    )


def _verdicts(summary: SegmentedSummary) -> tuple[Verdict, ...]:
    """Return whether draws and data are enough, without figures; those are in the account of trust."""
    status = summary.verdicts.converged.status
    words = {
        "good": "There are enough draws for intervals.",
        "nearly": "There are nearly enough draws for intervals: Trust, below, says how far to rely on them.",
        "bad": "There are too few draws for intervals: Trust, below, says why and what to do.",
    }
    draws = Verdict(status, words[status])
    if summary.sampler == CURVATURE:
        draws = Verdict("note", "Intervals are approximate: Trust, below, says why.")
    return draws, *_identification(summary)


def _identification(summary: SegmentedSummary) -> tuple[Verdict, ...]:
    status = summary.verdicts.identified.status
    plain = (line.removeprefix("not identified: ").removeprefix("identified: ") for line in summary.verdict[1:-1])
    return tuple(Verdict(status, as_sentence(line)) for line in plain)


def _trust_verdicts(summary: SegmentedSummary) -> tuple[Verdict, ...]:
    status = "note" if summary.sampler == CURVATURE else summary.verdicts.converged.status
    return Verdict(status, as_sentence(summary.verdict[0])), *_identification(summary)


def _in_words(number: int, one: SegmentRow) -> str:
    weight = one.weight
    return (
        f"Segment {number}: {100 * weight.mean:.0f} % of customers ({100 * weight.lower:.0f} to "
        f"{100 * weight.upper:.0f} %), who want most: {shorten(most_wanted(one.goods), 120)}."
    )


def _sizes(summary: SegmentedSummary) -> Part:
    rows = [one.weight for one in summary.segments]
    names = [f"segment {number}" for number in range(1, len(rows) + 1)]
    whose = "customer's purchases" if summary.n_customers is not None else "purchase"
    return Part(
        heading="How large the segments are",
        prose=f"Each {whose} belong{'' if summary.n_customers is not None else 's'} to one segment, which is not known "
        "but by what was bought. Customers of one segment differ too: the higher its concentration, the less.",
        sketches=(
            Sketch(
                lambda ax: plots.intervals(names, *_ends(rows), ax, xlabel="share of customers"),
                "Share of customers of each segment, with intervals", size=(4.6, 0.9 + 0.3 * len(rows)),
            ),
        ),
        arrangement="beside",
    )  # fmt: skip


def _wants(summary: SegmentedSummary) -> Part:
    sketches = []
    for number, one in enumerate(summary.segments, start=1):
        goods = sorted(one.goods, key=lambda row: -abs(row.mean))[:_PICTURED]
        rows = sorted(goods, key=lambda row: -row.mean)
        sketches.append(
            Sketch(
                lambda ax, rows=rows: plots.intervals([row.name for row in rows], *_ends(rows), ax, xlabel="utility"),
                f"What segment {number} wants",
                f"Segment {number}: concentration {one.concentration.mean:.3g} ({one.concentration.lower:.3g} to "
                f"{one.concentration.upper:.3g}).",
                size=(3.4, 0.9 + 0.235 * len(rows)),
            )
        )
    return Part(
        heading="What each segment wants",
        prose="The goods each segment likes or dislikes most, on a scale of its own; below zero its average customer "
        "does not buy the good whatever it costs.",
        sketches=tuple(sketches),
        arrangement="three",
    )


def _ends(rows: list[Row]) -> tuple[list[float], list[float], list[float]]:
    return [row.mean for row in rows], [row.lower for row in rows], [row.upper for row in rows]


def _purchases(
    summary: SegmentedSummary, goods: tuple[str, ...], market: SegmentMarket, observations: Observations
) -> Part:
    """Return what a customer of each segment buys at the typical menu."""
    menu, k = typical_menu(observations), len(summary.segments)
    each = [expected_demand(market.of_segment(j), menu, _LEVEL) for j in range(k)]
    order = np.argsort(-expected_demand(market, menu, _LEVEL).mean[0], kind="stable")
    columns = (("good", "name"), *((f"segment {j + 1}", "number") for j in range(k)))
    rows = tuple(
        (
            shorten(goods[i]),
            *(
                f"{shown_number(one.mean[0, i], 2)} ({shown_number(one.lower[0, i], 2)} to "
                f"{shown_number(one.upper[0, i], 2)})"
                for one in each
            ),
        )
        for i in order
        if np.isfinite(menu.prices[0, i])
    )
    return Part(
        heading="What each segment would buy",
        prose="Expected purchases of a customer at the typical menu, with 90 % intervals.",
        table=Table("segments", "What each segment would buy", columns, rows),
    )


def _provenance(summary: SegmentedSummary) -> str:
    drawn = f"{counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')}"
    said = f"Draws by {summary.sampler}: {drawn}; {summary.reason}."
    if summary.pareto_k is not None:
        said += f" Importance weights have Pareto k {summary.pareto_k:.2f}: below 0.7 they can be trusted."
    return said


def _path(summary: SegmentedSummary) -> Part:
    """Return every number of segments tried."""
    chosen = summary.chosen
    rows = tuple(
        (
            f"{row.n_asked}{' (chosen)' if row.n_asked == chosen else ''}",
            f"{row.log_likelihood:,.1f}".replace("-", "−"),
            f"{row.bic:,.1f}".replace("-", "−"),
            str(row.n_segments),
            str(row.n_rivals),
        )
        for row in summary.path
    )
    columns = (
        ("segments", "name"), ("log-likelihood", "number"), ("BIC", "number"), ("found different", "number"),
        ("other solutions as good", "number"),
    )  # fmt: skip
    why = "The lowest BIC decides." if summary.is_auto else "As many as asked for."
    return Part(
        heading="How many segments",
        prose=f"{why} BIC weighs the penalised log-likelihood against the number of parameters.",
        is_small=True,
        table=Table("path", "Numbers of segments", columns, rows),
    )
