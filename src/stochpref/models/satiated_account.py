# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of goods that satiate says of itself: what first units are worth, how fast goods fade, why believe it."""

from __future__ import annotations

from typing import Final

import numpy as np

from stochpref import plots
from stochpref.errors import counted
from stochpref.models.account import Account, Part, Sketch, as_sentence
from stochpref.satiation.summary import SatiatedRow, SatiatedSummary
from stochpref.verdicts import Verdict

_PICTURED: Final = 20  # goods of a picture


def account_of(summary: SatiatedSummary, seconds: float) -> Account:
    """Return the account of a posterior of worths that fade; `seconds` were spent on drawing."""
    converged, identified = summary.verdicts.converged.status, summary.verdicts.identified.status
    headline = "The fit can be trusted, and the data say what customers want and how soon they have enough."
    unfit = "The draws can be trusted, but the model does not buy as customers did."
    if identified != "good":
        headline = "The draws can be trusted, but the data leave something open."
    if converged == "nearly":
        headline = headline.replace("can be trusted", "can nearly be trusted")
    if converged == "bad":
        headline = unfit = "Not yet: the draws have not converged."
    return Account(
        kind="Customers whose goods satiate",
        headline=headline,
        headline_unfit=unfit,
        verdicts=_plain_verdicts(summary),
        figure=None,
        wanted=(
            "What the first unit is worth to the customer in the middle, with 90 % intervals, scaled to length 1 over "
            "the goods. Later units are worth less: half as much once the quantity is the good's satiation, below."
        ),
        unwanted="Worth nothing",
        notes=_notes(summary),
        spread=(_fading(summary),),
        trust=(Part(verdicts=_trust_verdicts(summary)), Part(prose=_provenance(summary, seconds), is_small=True)),
    )


def _plain_verdicts(summary: SatiatedSummary) -> tuple[Verdict, ...]:
    status = summary.verdicts.converged.status
    words = {
        "good": "The draws agree with one another, and there are enough of them.",
        "nearly": "The draws nearly agree, or are few: Trust, below, says how far to rely on them.",
        "bad": "The draws cannot be trusted yet: Trust, below, says why and what to do.",
    }
    return Verdict(status, words[status]), *_identification(summary)


def _identification(summary: SatiatedSummary) -> tuple[Verdict, ...]:
    status = summary.verdicts.identified.status
    plain = (line.partition("identified: ")[2] for line in summary.verdict[1:-1])
    return tuple(Verdict(status, as_sentence(line)) for line in plain)


def _trust_verdicts(summary: SatiatedSummary) -> tuple[Verdict, ...]:
    converged, _, fits = summary.verdicts
    return (
        converged._replace(text=as_sentence(converged.text)), *_identification(summary),
        fits._replace(text=as_sentence(fits.text)),
    )  # fmt: skip


def _notes(summary: SatiatedSummary) -> tuple[str, ...]:
    known = [row for row in summary.goods if np.isfinite(row.satiation)]
    slow, fast = max(known, key=lambda row: row.satiation), min(known, key=lambda row: row.satiation)
    if slow is fast:
        return ()
    return (f"Of {slow.name} customers have enough latest, of {fast.name} soonest, in its own units.",)


def _fading(summary: SatiatedSummary) -> Part:
    rows = sorted((r for r in summary.goods if np.isfinite(r.satiation)), key=lambda row: -row.satiation)[:_PICTURED]
    return Part(
        heading="How soon customers have enough",
        prose="The quantity at which a further unit is worth half of what the first is, on a scale of powers of ten, "
        "with 90 % intervals: wide ones are of goods that few bought.",
        sketches=(
            Sketch(
                lambda ax: plots.intervals([row.name for row in rows], *_ends(rows), ax, xlabel="log10 of satiation"),
                "Satiation of each good, with intervals", size=(4.6, 0.9 + 0.235 * len(rows)),
            ),
        ),
        arrangement="beside",
    )  # fmt: skip


def _ends(rows: list[SatiatedRow]) -> tuple[list[float], list[float], list[float]]:
    each = np.log10([(row.satiation, row.satiation_lower, row.satiation_upper) for row in rows])
    middle, lower, upper = each.T.tolist()
    return middle, lower, upper


def _provenance(summary: SatiatedSummary, seconds: float) -> str:
    drawn = f"{counted(summary.n_chains, 'chain')} of {counted(summary.n_draws, 'draw')}"
    said = f"Drawn by {summary.sampler}: {drawn} in {seconds:.0f} s; {summary.reason}. {as_sentence(summary.density)}"
    if summary.pareto_k is not None:
        said += f" Importance weights have Pareto k {summary.pareto_k:.2f}: below 0.7 they can be trusted."
    return said
