# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a normal law says of itself: how much customers differ over each good, and which goods are liked together."""

from __future__ import annotations

from typing import Final

from stochpref import plots
from stochpref.errors import counted
from stochpref.models.account import Account, Part, Sketch, as_sentence
from stochpref.normal.summary import GoodRow, NormalSummary
from stochpref.verdicts import Verdict

_PICTURED: Final = 20  # goods of a picture


def account_of(summary: NormalSummary, seconds: float) -> Account:
    """Return the account of a posterior of normal laws; `seconds` were spent on drawing."""
    converged, identified = summary.verdicts.converged.status, summary.verdicts.identified.status
    headline = "The fit can be trusted, and the data say what customers want."
    unfit = "The draws can be trusted, but the model does not buy as customers did."
    if identified != "good":
        headline = "The draws can be trusted, but the data leave something open."
    if converged == "nearly":
        headline = headline.replace("can be trusted", "can nearly be trusted")
    if converged == "bad":
        headline = unfit = "Not yet: the draws have not converged."
    widest = max(summary.goods, key=lambda row: row.spread)
    return Account(
        kind="Customers of a normal law",
        headline=headline,
        headline_unfit=unfit,
        verdicts=_plain_verdicts(summary),
        figure=None,
        wanted=(
            "The average customer's utility, scaled to length 1, with 90 % intervals: above zero a good is wanted, "
            "below zero the average customer leaves it on the shelf whatever it costs; some customers still buy it."
        ),
        unwanted="Not wanted by the average customer, though some still buy it",
        notes=(f"Customers differ most over {widest.name}.", *summary.together),
        spread=(_spreads(summary),),
        trust=(Part(verdicts=_trust_verdicts(summary)), Part(prose=_provenance(summary, seconds), is_small=True)),
    )


def _plain_verdicts(summary: NormalSummary) -> tuple[Verdict, ...]:
    status = summary.verdicts.converged.status
    words = {
        "good": "The draws agree with one another, and there are enough of them.",
        "nearly": "The draws nearly agree, or are few: Trust, below, says how far to rely on them.",
        "bad": "The draws cannot be trusted yet: Trust, below, says why and what to do.",
    }
    return Verdict(status, words[status]), *_identification(summary)


def _identification(summary: NormalSummary) -> tuple[Verdict, ...]:
    status = summary.verdicts.identified.status
    plain = (line.removeprefix("not identified: ").removeprefix("identified: ") for line in summary.verdict[1:-1])
    return tuple(Verdict(status, as_sentence(line)) for line in plain)


def _trust_verdicts(summary: NormalSummary) -> tuple[Verdict, ...]:
    converged, _, fits = summary.verdicts
    return (
        converged._replace(text=as_sentence(converged.text)), *_identification(summary),
        fits._replace(text=as_sentence(fits.text)),
    )  # fmt: skip


def _spreads(summary: NormalSummary) -> Part:
    rows = sorted(summary.goods, key=lambda row: -row.spread)[:_PICTURED]
    return Part(
        heading="How much customers differ",
        prose="The spread of utilities of each good: over a good with a wide spread some customers care a lot and "
        "others not at all, so that its price loses few of them.",
        sketches=(
            Sketch(
                lambda ax: plots.intervals([row.name for row in rows], *_spread_ends(rows), ax, xlabel="spread"),
                "Spread of the utility of each good, with intervals", size=(4.6, 0.9 + 0.235 * len(rows)),
            ),
        ),
        arrangement="beside",
    )  # fmt: skip


def _spread_ends(rows: list[GoodRow]) -> tuple[list[float], list[float], list[float]]:
    return [row.spread for row in rows], [row.spread_lower for row in rows], [row.spread_upper for row in rows]


def _provenance(summary: NormalSummary, seconds: float) -> str:
    drawn = f"{counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')}"
    said = f"Drawn by {summary.sampler}: {drawn} in {seconds:.0f} s; {summary.reason}."
    if summary.pareto_k is not None:
        said += f" Importance weights have Pareto k {summary.pareto_k:.2f}: below 0.7 they can be trusted."
    return said
