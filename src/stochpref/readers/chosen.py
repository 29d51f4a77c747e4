# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Choices of one good: a column that names the good chosen, or marks in as many columns or rows as there are goods."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from stochpref.checks import nearest
from stochpref.errors import UnreadableData
from stochpref.readers.cells import Labels, parse_number
from stochpref.readers.drafts import Array, CellReader
from stochpref.readers.mapping import columns_named, match_prefix, same_name
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes

_MARKS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}  # besides 1 and 0


def with_marks(table: Table, wishes: Wishes) -> Wishes:
    """Return wishes in which columns that mark the good chosen, one for each, have taken the place of quantities."""
    if wishes.choice is None or same_name(table.names, wishes.choice) is not None:
        return wishes
    marks = match_prefix(table.names, wishes.choice, given=True)
    return replace(wishes, columns={**wishes.columns, "quantity": wishes.choice}) if marks else wishes


def choice_column(table: Table, choice: str) -> str:
    """Return the column that says which good was chosen.

    Raises
    ------
    UnreadableData : it is not there.
    """
    column = same_name(table.names, choice)
    if column is None:
        raise UnreadableData(
            f"{table.source}: no column {choice!r} for the choice{nearest(choice, table.names)}; "
            f"{columns_named(table.names)}; name the one that says what was chosen, or in wide data what the columns "
            "that mark it begin with: choice=... (--choice ...)"
        )
    return column


def read_marks(reader: CellReader, column: str) -> Array:
    """Return (n_rows,) 1 where a good is marked as chosen, 0 where it is not or the cell is empty."""
    labels = reader.labels(column)
    values = np.array([*(_mark(name) for name in labels.names), 0.0])[labels.codes]  # code -1 picks the last
    reader.note(
        np.flatnonzero(np.isnan(values)),
        f"column {column!r} must mark what was chosen",
        lambda row: repr(labels.names[labels.codes[row]]),
        "write 1 for the good chosen and 0 for others",
    )
    return values


def read_marked_rows(reader: CellReader, column: str, good: Labels) -> Array:
    """Return (n_rows,) 1 where the good of a row is chosen: it is marked, or the column names it in every row."""
    labels = reader.labels(column)
    names = set(labels.names)
    if names <= set(good.names) and not all(_mark(name) >= 0 for name in names):
        named = np.array([*(good.names.index(name) for name in labels.names), -1])[labels.codes]
        return ((named == good.codes) & (named >= 0)).astype(np.float64)
    return read_marks(reader, column)


def read_choices(reader: CellReader, column: str, goods: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Return bundles (T, n) from a column that names the good chosen, or its number, and how numbers were read."""
    labels = reader.labels(column)
    places, notes = _places(labels.names, goods)
    chosen = np.array([*places, -1])[labels.codes]  # code -1 picks the last: an empty cell, none chosen
    reader.note(
        np.flatnonzero(chosen == -2),
        f"column {column!r} must name a good, or be empty where none was chosen",
        lambda row: repr(labels.names[labels.codes[row]]) + nearest(labels.names[labels.codes[row]], goods),
        "correct the name, or add columns for the good",
    )
    bundles = np.zeros((len(chosen), len(goods)))
    rows = np.flatnonzero(chosen >= 0)
    bundles[rows, chosen[rows]] = 1.0
    return bundles, notes


def _places(names: tuple[str, ...], goods: tuple[str, ...]) -> tuple[list[int], tuple[str, ...]]:
    """Return the place of each good named, -1 for none, -2 for what is no good.

    Names go before numbers. Numbers count goods from 1, in the order of their columns, or from 0 where 0 occurs and the
    number of goods does not; where both occur 0 is none of the goods.
    """
    known = {name: i for i, name in enumerate(goods)}
    numbers = [parse_number(name) for name in names]
    values = [int(number) for number in numbers if number is not None and number.is_integer()]
    if len(values) < len(names) or any(name in known for name in names):
        return [known.get(name, -2) for name in names], ()
    first = 0 if 0 in values and len(goods) not in values else 1
    note = f"choices: numbers count the goods in the order of their columns, {first} for {goods[0]!r}"
    return [value - first if -1 <= value - first < len(goods) else -2 for value in values], (note,)


def _mark(name: str) -> float:
    """Return what a mark says: 1, 0, or NaN if it is none."""
    number = _MARKS.get(name.casefold(), parse_number(name))
    return number if number in (0.0, 1.0) else float("nan")
