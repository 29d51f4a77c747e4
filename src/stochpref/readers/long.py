# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Long data: one row per observation and good.

A pair that does not occur, or has no price, is not on offer. Observations and goods keep their order of appearance.
Menus without a column of observations are one menu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import UnreadableData, describe_rows
from stochpref.readers.cells import Labels
from stochpref.readers.chosen import choice_column, read_marked_rows
from stochpref.readers.drafts import (
    Array,
    CellReader,
    Draft,
    Indices,
    check_shape,
    finish_draft,
    label_groups,
    names_of,
)
from stochpref.readers.mapping import Place, called, columns_of, find_column, need_column
from stochpref.readers.moved import long_features, table_features
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes


def draft_long(table: Table, wishes: Wishes) -> Draft:
    """Return a draft from one row per observation and good."""
    places = _find_places(table, wishes)
    reader = CellReader(table)
    observation = label_observations(reader, places["observation"])
    assert places["good"] is not None
    good = reader.labels(places["good"])
    unnamed = np.flatnonzero(good.codes < 0)
    reader.note(
        unnamed, f"column {called(places['good'])} must name a good", lambda _: "an empty cell", "name the good"
    )
    shape = check_shape(table.source, len(observation.names), len(good.names))
    rows = _pair_rows(reader, observation.codes, good.codes, shape)

    def spread(role: str, absent: float) -> Array:
        place = places[role]
        return np.full(shape, absent) if place is None else np.where(rows >= 0, reader.numbers(place)[rows], absent)

    prices, caps = spread("price", np.inf), spread("cap", np.nan)
    if wishes.choice is None:
        bundles = spread("quantity", 0.0) if wishes.has_quantities else None
    else:
        marks = read_marked_rows(reader, choice_column(table, wishes.choice), good)
        bundles = np.where(rows >= 0, marks[rows], 0.0)
    prices_from = columns_of(places["price"])
    features = long_features(
        reader, table_features(wishes.features, prices_from), rows, first_rows(observation), observation.codes
    )
    return finish_draft(
        table,
        wishes,
        features=features,
        prices=prices,
        budgets=agree_on_budgets(reader, observation, places["budget"]),
        bundles=bundles,
        caps=caps,
        goods=good.names,
        customers=agree_on_customers(reader, observation, places["customer"]),
        groups=agree_on_groups(reader, observation, wishes),
        labels=observation.names,
        rows=rows,
        flaws=reader.flaws,
        layout="long",
        notes=reader.notes,
    )


def _find_places(table: Table, wishes: Wishes) -> dict[str, Place | None]:
    needed = ["observation", "good", "price"] if wishes.has_quantities else ["good", "price"]
    needed += ["quantity"] if wishes.has_quantities and wishes.choice is None else []
    needed += ["budget"] if wishes.reads_budget else []
    places: dict[str, Place | None] = dict.fromkeys(("quantity", "budget"))
    places |= {role: find_column(table, wishes.columns, role) for role in ("observation", "customer", "cap")}
    places |= {role: need_column(table, wishes.columns, role, has_quantities=wishes.has_quantities) for role in needed}
    return places


def label_observations(reader: CellReader, column: Place | None) -> Labels:
    """Return which observation every row belongs to, and have the reader lay its flaws to their charge."""
    table = reader.table
    # Menus that no column tells apart are one menu.
    labels = Labels(np.zeros(table.n_rows, np.int64), ("1",)) if column is None else reader.labels(column)
    unnamed = np.flatnonzero(labels.codes < 0)
    if unnamed.size:
        # Such a row might belong to any observation, so leaving it out would change one in silence.
        short = " (rows of the wrong length among them)" if set(unnamed.tolist()) & set(table.ragged) else ""
        raise UnreadableData(
            f"{table.source}: column {called(column)} must name the observation of every row; it is empty in "
            f"{describe_rows(table.row_numbers()[unnamed].tolist())}{short}, where {table.counting}; "
            "fill it in or remove the row"
        )
    reader.spoils = labels.codes
    return labels


def _pair_rows(reader: CellReader, observation: Indices, good: Indices, shape: tuple[int, int]) -> Indices:
    """Return (T, n) the first row that holds each pair, -1 where none does; later rows of a pair are flaws."""
    named = np.flatnonzero(good >= 0)
    pair = observation[named] * shape[1] + good[named]
    rows = np.full(shape[0] * shape[1], -1, dtype=np.int64)
    rows[pair[::-1]] = named[::-1]  # where an index repeats, the last assignment stays
    again = named[rows[pair] != named]
    reader.note(
        again,
        "an observation must hold a good once",
        lambda _: "the same observation and good again",
        "add the quantities up, remove one of the rows, or map observation to a column that tells them apart",
    )
    return rows.reshape(shape)


def agree_on_budgets(reader: CellReader, observation: Labels, place: Place | None) -> Array | None:
    """Return the budget of each observation; rows that disagree are flaws."""
    if place is None:
        return None
    values = reader.numbers(place)
    return _agree(reader, observation, values, "budget", lambda value: f"{value:g}")


def agree_on_customers(reader: CellReader, observation: Labels, place: Place | None) -> tuple[str, ...] | None:
    """Return the customer of each observation; rows that disagree are flaws."""
    if place is None:
        return None
    labels = reader.labels(place)
    codes = _agree(reader, observation, labels.codes, "customer", lambda code: repr((*labels.names, "")[int(code)]))
    return names_of(labels, codes)


def agree_on_groups(reader: CellReader, observation: Labels, wishes: Wishes) -> tuple[str, ...] | None:
    """Return the group of each observation; rows that have none or disagree are flaws."""
    labels = label_groups(reader, wishes)
    if labels is None:
        return None
    codes = _agree(reader, observation, labels.codes, "group", lambda code: repr((*labels.names, "")[int(code)]))
    return names_of(labels, codes)


def first_rows(observation: Labels) -> Indices:
    """Return (T,) the first row of each observation."""
    first = np.empty(len(observation.names), dtype=np.int64)
    count = len(observation.codes)
    first[observation.codes[::-1]] = np.arange(count)[::-1]  # where an index repeats, the last assignment stays
    return first


def _agree(
    reader: CellReader, observation: Labels, values: NDArray[Any], what: str, show: Callable[[Any], str]
) -> NDArray[Any]:
    """Return the value of each observation's first row; rows that differ from it are flaws.

    A first value that is NaN is left to the rules about values, or was not a number and has been noted.
    """
    agreed = values[first_rows(observation)]
    expected = agreed[observation.codes]
    reader.note(
        np.flatnonzero((values != expected) & ~np.isnan(expected)),
        f"the {what} must agree within an observation",
        lambda row: f"{show(values[row])} after {show(expected[row])}",
        f"give every row of an observation the same {what}",
    )
    return agreed
