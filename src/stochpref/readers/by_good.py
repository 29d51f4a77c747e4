# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Tables with a row for each good: what a unit costs, what prices may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from stochpref.errors import UnreadableData, listed, shown
from stochpref.readers.cells import to_labels, to_numbers
from stochpref.readers.sources import table_of
from stochpref.readers.tables import trim_names

GOOD = "good"


def read_by_good(source: Any, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, tuple[float, ...]]:
    """Return good -> numbers of a table with a column good and columns of numbers; NaN for what is missing.

    Parameters
    ----------
    source : a file, in any form that purchases may have, or a data frame.
    columns, optional : names of the columns of numbers: those there must be, and those that may be left out.

    Raises
    ------
    UnreadableData : a column is missing or holds other than numbers, or a good has no name or two rows.
    """
    table = trim_names(table_of(source))
    for name in (GOOD, *columns):
        if name not in table.names:
            raise UnreadableData(
                f"{table.source}: must have columns {listed([GOOD, *columns])}; {name!r} is not among "
                f"{listed(table.names)}; rename one"
            )
    goods = to_labels(table.column(GOOD), GOOD)
    if np.any(goods.codes < 0):
        row = int(table.row_numbers()[int(np.argmax(goods.codes < 0))])
        raise UnreadableData(f"{table.source}: row {row} names no good; name it or delete the row")
    counts = np.bincount(goods.codes, minlength=len(goods.names))
    if np.any(counts > 1):
        twice = goods.names[int(np.argmax(counts > 1))]
        raise UnreadableData(f"{table.source}: must have one row for each good; {shown(twice)!r} has more; keep one")
    found = np.full((len(goods.names), len(columns) + len(optional)), np.nan)
    for k, name in enumerate((*columns, *optional)):
        if name not in table.names:
            continue
        numbers = to_numbers(table.column(name), name, table.decimal)
        if numbers.bad_rows:
            row = int(table.row_numbers()[numbers.bad_rows[0]])
            raise UnreadableData(
                f"{table.source}: column {name!r} must hold numbers; row {row} holds {numbers.bad_texts[0]!r}; correct "
                "it"
            )
        found[goods.codes, k] = numbers.values
    return {name: tuple(map(float, row)) for name, row in zip(goods.names, found, strict=True)}
