# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The sections of the page, in their order: what to decide first, then why to believe it, then details.

A section is a template, ``sections/NAME.html``, and a function that returns what the template shows, or None where
there is nothing to show. A new one is a template, a function and a line in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from stochpref.audit import KIND_MEANING
from stochpref.decisions.best_prices import BestPrices
from stochpref.models.account import Account, as_sentence, shorten
from stochpref.models.fit import Fit
from stochpref.report import pictures
from stochpref.report.findings import Reading
from stochpref.report.provenance import code_of, origin_of, settings_of
from stochpref.report.trade import trade_of
from stochpref.report.verdict import headline_of, points_of, tiles_of
from stochpref.report.words import facts_of, good_rows, notes_of, price_points, price_rows, seen, start_rows, unit_rows

Content = dict[str, Any]


class Material(NamedTuple):
    """What all sections are made from.

    model, account : the fit, and what it says of itself.
    reading : the numbers of the page.
    payload : what the script of the page is given.
    prices : the best ones, where costs were stated.
    """

    model: Fit
    account: Account
    reading: Reading
    payload: dict[str, Any]
    prices: BestPrices | None = None

    @property
    def names(self) -> list[str]:
        """What people call the goods, short enough for a page."""
        return [shorten(name) for name in self.reading.observations.shown_goods]


class Section(NamedTuple):
    """One section.

    name : of its template, and what links lead to.
    word : in the line of links at the top.
    content_fn : returns what the template shows, None for no section.
    """

    name: str
    word: str
    content_fn: Callable[[Material], Content | None]


def _verdict(given: Material) -> Content:
    status, headline = headline_of(given.model, given.account, given.reading)
    return {
        "status": status,
        "headline": headline,
        "points": points_of(given.model, given.account, given.reading),
        "tiles": tiles_of(given.model, given.account, given.reading),
    }


def _wants(given: Material) -> Content:
    reading = given.reading
    return {
        "goods": good_rows(reading),
        "worth_scale": "100 for the best good" if np.any(reading.worth > 0) else "−100 for the least wanted",
        "units": unit_rows(given.model),
        "figures": pictures.of_wants(reading),
        "sphere": pictures.of_tastes(reading, given.model.best_utility, given.model.directions),
    }


def _whatif(given: Material) -> Content | None:
    if given.model.prices_move_tastes:
        return None  # the customers that the page holds are those at the typical prices
    return {"start": start_rows(given.reading), "payload": given.payload}


def _demand(given: Material) -> Content | None:
    reading = given.reading
    if not trade_of(reading.observations).has_prices:
        return None  # nobody earns what projects cost, nor are they offered at other costs
    return {
        "limits": [seen(reading.observations), *given.model.cautions(reading.menu)],
        "curves": [(given.names[curve.good], pictures.of_curve(reading, curve)) for curve in reading.curves],
        "n_goods": len(given.names),
        "elasticities": pictures.of_elasticities(reading),
        "has_budget": given.payload["budget"] is not None,
    }


def _prices(given: Material) -> Content | None:
    found = given.prices
    if found is None:
        return None
    return {
        "headline": found.status_words,
        "points": price_points(found, given.model.cautions()),
        "rows": price_rows(found),
        "curves": pictures.of_prices(found),
    }


def _check(given: Material) -> Content:
    return {"check": given.reading.check, "figures": pictures.of_check(given.reading)}


def _trust(given: Material) -> Content:
    return {"parts": given.account.trust}


def _data(given: Material) -> Content:
    audit, model = given.reading.observations.audit(), given.model
    return {
        "kinds": [
            (name, f"{count:,}", 100 * count / audit.n_observations, KIND_MEANING[name])
            for name, count in audit.kinds.items()
            if count or name != "degenerate"
        ],
        "facts": facts_of(given.reading, model),
        "warnings": [as_sentence(line) for line in audit.warnings()],
        "notes": notes_of(audit),
    }


def _settings(given: Material) -> Content:
    model = given.model
    return {"settings": settings_of(model), "provenance": origin_of(model), "code": code_of(model)}


SECTIONS: Final = (
    Section("verdict", "Verdict", _verdict),
    Section("wants", "What sells", _wants),
    Section("whatif", "What if", _whatif),
    Section("demand", "Prices and demand", _demand),
    Section("prices", "Price list", _prices),
    Section("check", "Check", _check),
    Section("trust", "Trust", _trust),
    Section("data", "Data", _data),
    Section("settings", "Settings", _settings),
)
