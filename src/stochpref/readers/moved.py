# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Features in tables: columns that tastes may move with, such as a promotion or an income.

In long data a feature is a column; one that says the same in all rows of every observation is of observations. In wide
data it is one column, of observations, or one for each good (``promotion_tea``). "price" is the price of the menus,
unless that is read from elsewhere and a column has the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from stochpref.checks import nearest
from stochpref.errors import UnreadableData
from stochpref.readers.drafts import Array, CellReader, Indices
from stochpref.readers.mapping import columns_named, match_prefix, same_name
from stochpref.readers.tables import Table

PRICE: Final = "price"


def table_features(features: Sequence[str], prices: Sequence[str]) -> tuple[str, ...]:
    """Return the features to look for in a table: those asked for, but the price where it is read as one.

    Parameters
    ----------
    prices : the columns that prices are read from.
    """
    has_prices = any(same_name([column], PRICE) or column.casefold().startswith(PRICE) for column in prices)
    return tuple(dict.fromkeys(name for name in features if not (name == PRICE and has_prices)))


def long_features(
    reader: CellReader, names: Sequence[str], rows: Indices, first: Indices, observation: Indices
) -> dict[str, Array]:
    """Return features by name, (T, n) or (T,), of long data.

    Parameters
    ----------
    rows : (T, n) the row of each pair, -1 where there is none. first : (T,) the first row of each observation.
    observation : (n_rows,) the observation of each row.
    """
    found = {}
    for name in names:
        values = _numbers(reader, name, _column(reader.table, name))
        agreed = values[first]
        if np.all(values == agreed[observation]) and len(first) > 1:
            found[name] = agreed
        else:
            found[name] = np.where(rows >= 0, values[rows], 0.0)
    return found


def wide_columns(table: Table, names: Sequence[str], used: set[str]) -> dict[str, str | dict[str, str]]:
    """Return the column of each feature, or its columns by good; `used` are those of other roles."""
    free = [column for column in table.names if column not in used]
    found: dict[str, str | dict[str, str]] = {}
    for name in names:
        column = same_name(table.names, name)
        by_good = {} if column is not None else match_prefix(free, name, given=False)
        if column is None and not by_good:
            raise UnreadableData(_missing(table, name))
        found[name] = by_good if column is None else column
    return found


def wide_features(
    reader: CellReader, columns: Mapping[str, str | dict[str, str]], goods: tuple[str, ...], offered: Array
) -> dict[str, Array]:
    """Return features by name, (T, n) or (T,), of wide data; `offered` (T, n) are the prices."""
    found = {}
    for name, place in columns.items():
        if isinstance(place, str):
            found[name] = _numbers(reader, name, place)
            continue
        lacking = [good for good in goods if good not in place]
        if lacking:
            example = next(iter(place.values()))
            raise UnreadableData(
                f"{reader.table.source}: good {lacking[0]!r} has no column for the feature {name!r}; others have "
                f"{example!r}, say; add it"
            )
        each = [_numbers(reader, name, place[good], np.isfinite(offered[:, i])) for i, good in enumerate(goods)]
        found[name] = np.column_stack(each)
    return found


def _numbers(reader: CellReader, name: str, column: str, needed: Array | None = None) -> Array:
    """Return a column, with 0 where nothing is given; cells that are needed and empty are flaws."""
    values = reader.numbers(column)
    empty = ~np.isfinite(values) & (np.ones(len(values), np.bool_) if needed is None else needed)
    reader.note(
        np.flatnonzero(empty), f"feature {name!r} must be a number", lambda _: "an empty cell",
        "fill it in, with 0 for none",
    )  # fmt: skip
    return np.where(np.isfinite(values), values, 0.0)


def _column(table: Table, name: str) -> str:
    column = same_name(table.names, name)
    if column is None:
        raise UnreadableData(_missing(table, name))
    return column


def _missing(table: Table, name: str) -> str:
    return (
        f"{table.source}: no column {name!r} for the feature{nearest(name, table.names)}; "
        f"{columns_named(table.names)}; name one of them, or in wide data what the columns of its goods begin with: "
        "features=[...] (--feature ...)"
    )
