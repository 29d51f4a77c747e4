# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The words and tables of the sections: goods, what was seen, the data.

Names are shortened here and escaped by the templates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.audit import Audit
from stochpref.decisions.best_prices import BestPrices
from stochpref.models.account import as_sentence, shorten, shown_number
from stochpref.models.fit import Fit
from stochpref.observations import Observations
from stochpref.report.findings import Reading
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_NOTE: Final = 300  # characters of a note on how a file was read
N_ROWS: Final = 15  # of a table before it folds


def listed(names: list[str], most: int = 3) -> str:
    """Return 'a, b and c', or 'a, b, c and 4 more'."""
    shown = [shorten(name, 30) for name in names[:most]]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def seen(observations: Observations) -> str:
    """Return which prices and budgets were seen."""
    audit = observations.audit()
    ends = [f"prices from {figure(audit.price_range[0])} to {figure(audit.price_range[1])}"]
    if np.isfinite(audit.budget_range).all():
        ends.append(f"budgets from {figure(audit.budget_range[0])} to {figure(audit.budget_range[1])}")
    return f"Seen were {' and '.join(ends)}: beyond, what is said rests on the form of the model alone."


def facts_of(reading: Reading, model: Fit) -> list[tuple[str, str]]:
    """Return what to know of the data, as pairs of a label and its value; what was left out among it."""
    found, n_fitted = reading.observations.audit(), model.n_observations_
    facts = found.facts()
    if found.n_observations < n_fitted:
        told = f"{n_fitted:,}; shown here are {found.n_observations:,} of them, picked at random"
        facts = [("observations fitted", told), *facts]
    if model.n_dropped_:
        facts.append(("left out", f"{model.n_dropped_:,} degenerate of {n_fitted:,} observations"))
    return facts


def notes_of(audit: Audit) -> list[str]:
    """Return how the table was read, filled and thinned."""
    return [as_sentence(shorten(note, _NOTE)) for note in audit.notes]


def good_rows(reading: Reading) -> list[dict[str, Any]]:
    """Return a row for every good, the one that sells most first."""
    known = reading.worth[np.isfinite(reading.worth)]
    best = max(known.max(initial=0.0), 0.0) or np.abs(known).max(initial=0.0) or 1.0
    menu, check = reading.menu, reading.check
    return [
        {
            "name": shorten(reading.observations.shown_goods[i]),
            "wanted": shown_number(reading.wanted[i]),
            "wanted_range": range_words(reading.wanted_range, i),
            "price": figure(menu.prices[0, i]) if np.isfinite(menu.prices[0, i]) else "not offered",
            "worth": shown_number(100 * reading.worth[i] / best, 0),
            "worth_range": range_words(None if reading.worth_range is None else 100 * reading.worth_range / best, i, 0),
            "share": float(check.share[i]) if np.isfinite(check.share[i]) else None,
        }
        for i in np.argsort(-np.nan_to_num(check.share, nan=-1.0), kind="stable")
    ]


def unit_rows(model: Fit) -> list[tuple[str, str]]:
    """Return what each unit is worth of goods that have several."""
    owners = model.problem_.owners(model.goods_)
    several = np.bincount(owners[owners >= 0], minlength=len(model.goods_)) > 1
    return [
        (shorten(name), shown_number(float(worth)))
        for name, worth, owner in zip(model.coordinates_, model.best_utility, owners.tolist(), strict=True)
        if owner >= 0 and several[owner]
    ]


def start_rows(reading: Reading) -> list[dict[str, Any]]:
    """Return the rows of the what-if, the good bought most first, as they stand before anything is moved."""
    start, names = reading.start, reading.observations.shown_goods
    return [
        {"place": int(i), "name": shorten(names[i]), "mean": float(start.mean[i])}
        for i in np.argsort(-start.mean, kind="stable")
    ]


def price_points(found: BestPrices, told: Sequence[str]) -> list[Verdict]:
    """Return what the best prices earn, and what to know that was not told of the fit."""
    status = "good" if found.is_recommended else "bad" if found.status == "misjudged" else "note"
    first, *others = map(as_sentence, found.gains()[:-1])  # the verdicts on the fit are at the top of the page
    return [
        Verdict(status, first),
        *(Verdict("note", text) for text in others),
        *(Verdict("bad", as_sentence(text)) for text in found.cautions if text not in told),
    ]


def price_rows(found: BestPrices) -> list[tuple[str, ...]]:
    """Return the price list: name, cost, today's price, the best, its interval, and what was seen."""
    return [
        (
            shorten(found.titles.get(row["good"], row["good"])), figure(row["cost"]), figure(row["today"]),
            figure(row["price"]), found.interval_of(row),
            f"{figure(row['observed_lowest'])} to {figure(row['observed_highest'])}",
        )
        for row in found.records()
    ]  # fmt: skip


def safe_json(content: Any) -> str:
    """Return JSON that can stand inside a script element: no character in it can end the element or open another."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def figure(value: float) -> str:
    """Return a figure of money or quantity: four digits, grouped."""
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def range_words(ranges: Array | None, i: int, digits: int = 3) -> str:
    """Return the ends of an interval, "–" for none."""
    if ranges is None or not np.isfinite(ranges[i]).all():
        return "–"
    return f"{shown_number(ranges[i, 0], digits)} to {shown_number(ranges[i, 1], digits)}"
