# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The verdict of the page: whether to go on reading, in a line, and what speaks for the fit and against it."""

from __future__ import annotations

import numpy as np

from stochpref.errors import counted
from stochpref.models.account import Account, as_sentence
from stochpref.models.fit import Fit
from stochpref.predictive_check import PredictiveCheck, status_of
from stochpref.report.findings import Reading
from stochpref.report.words import figure, listed
from stochpref.verdicts import Verdict, worst_of


def headline_of(model: Fit, account: Account, reading: Reading) -> tuple[str, str]:
    """Return the status of all together, and the verdict in a line."""
    checks, has_cautions = check_points(reading.check), bool(model.cautions())
    judged = worst_of([*account.verdicts, *checks])
    headline = account.headline_unfit if worst_of(checks) == "bad" else account.headline
    if has_cautions and judged == "good":
        return "nearly", f"{headline} Mind what is marked below."
    return judged, headline


def points_of(model: Fit, account: Account, reading: Reading) -> list[Verdict]:
    """Return what speaks for the fit and against it, what is wanted, and what the data cannot tell."""
    return [
        *account.verdicts,
        *check_points(reading.check),
        *_wanted_points(reading, account.unwanted),
        *(Verdict("note", note) for note in account.notes),
        *_data_points(model),
    ]


def tiles_of(model: Fit, account: Account, reading: Reading) -> list[tuple[str, ...]]:
    """Return the key figures, each with what it is of."""
    return [
        tuple(counted(model.n_observations_, "purchase").split(" ")),
        tuple(counted(len(model.goods_), "good").split(" ")),
        *([account.figure] if account.figure else []),
        *_revenue(model, reading),
    ]


def _revenue(model: Fit, reading: Reading) -> list[tuple[str, str]]:
    """Return the revenue from a customer, where it is not what was put in, and the profit, where costs are known."""
    start, unit = reading.start, f", {reading.currency}" if reading.currency else ""
    told = [] if start.profit is None else [(figure(start.profit[0]), f"profit from a customer{unit}, typical menu")]
    if model.problem_.needs_budget and reading.observations.audit().is_all_spent:
        return told
    return [(figure(start.revenue[0]), f"revenue from a customer{unit}, typical menu"), *told]


def check_points(check: PredictiveCheck) -> list[Verdict]:
    """Return what the predictive check says of shares and, where they are off, of all else that it compares."""
    whole = check.verdict()
    if whole.status == "note":
        return [whole._replace(text=as_sentence(whole.text))]
    found = check.misfits
    others = [misfit for name, misfit in found.items() if name != "share" and status_of(misfit) != "good"]
    return [
        _check_of_shares(check, status_of(found["share"])),
        *(Verdict(status_of(misfit), as_sentence(misfit.text)) for misfit in others),
    ]


def _check_of_shares(check: PredictiveCheck, status: str) -> Verdict:
    """Return how often each good is bought, observed beside predicted."""
    miss = f"{100 * check.largest_miss:.1f} percentage points"
    if check.n_replicates == 1:
        fine = f"It buys each good as often as customers did, to within {miss}."
        return Verdict(status, fine if status == "good" else f"It misses how often a good is bought by up to {miss}.")
    beyond = f"; the largest miss is {miss} beyond" if check.n_inside < check.n_checked else ""
    apart = " Customers may be of several kinds, which one law does not hold: fit them apart."
    return Verdict(
        status,
        f"The model buys as customers did for {check.n_inside:,} of {check.n_checked:,} goods (observed share within "
        f"its 90 % interval{beyond}).{'' if status == 'good' else apart}",
    )


def _wanted_points(reading: Reading, unwanted_words: str) -> list[Verdict]:
    goods, ends = reading.observations.shown_goods, reading.wanted_range
    low, high = (reading.wanted, reading.wanted) if ends is None else (ends[:, 0], ends[:, 1])
    wanted = [goods[i] for i in reading.order if low[i] > 0]
    unwanted = [goods[i] for i in reading.order[::-1] if high[i] < 0]
    n_open = int(np.size(low)) - len(wanted) - len(unwanted)
    points = []
    if wanted:
        points.append(Verdict("note", f"Wanted most: {listed(wanted)}."))
    if unwanted:
        points.append(Verdict("note", f"{unwanted_words}: {listed(unwanted)}."))
    if n_open:
        points.append(
            Verdict("note", f"For {n_open:,} of {len(goods):,} goods it is not clear whether they are wanted.")
        )
    return points


def _data_points(model: Fit) -> list[Verdict]:
    """Return what the data cannot tell, and what else a careful analyst would look into."""
    audit = model.observations_.audit()
    others = [line for line in audit.warnings() if line not in audit.cautions()]
    return [Verdict("bad", line) for line in (*model.cautions(), *map(as_sentence, others))]
