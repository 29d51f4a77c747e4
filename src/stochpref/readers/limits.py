# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Limits beside the budget, as a file is read: `weight<=20`, what units weigh being in a table of goods."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, listed
from stochpref.problems import Problem
from stochpref.problems.linear import Linear
from stochpref.readers.cells import to_labels, to_numbers
from stochpref.readers.drafts import Draft
from stochpref.readers.sources import table_of
from stochpref.readers.tables import Table, trim_names

Array = NDArray[np.float64]

ITEMS: Final = "items"  # of which every unit of a good counts as one
_GOOD: Final = "good"
_FORM: Final = re.compile(r"\s*(?P<name>[^<>=]+?)\s*<=\s*(?P<most>[^<>=]+?)\s*")


def parse_limits(limits: Iterable[str] | str) -> dict[str, float]:
    """Return name -> largest amount, of texts such as "weight<=20"."""
    found: dict[str, float] = {}
    for text in (limits,) if isinstance(limits, str) else tuple(limits):
        form = _FORM.fullmatch(text) if isinstance(text, str) else None
        try:
            most = float(form["most"]) if form else np.nan
        except ValueError:
            most = np.nan
        if form is None or np.isnan(most):
            raise InvalidArgument(
                f"limits must read NAME<=NUMBER, such as weight<=20 or items<=3; received {text!r}; NAME is a column "
                f"of the table of goods, or {ITEMS!r}"
            )
        if form["name"] in found:
            raise InvalidArgument(f"limits must name each thing once; received {form['name']!r} twice; keep one")
        found[form["name"]] = most
    return found


def limited(draft: Draft, limits: dict[str, float], goods_table: Any) -> Draft:
    """Return a draft of what was bought under limits too; as it is if there are none."""
    if not limits:
        return draft
    return replace(draft, problem=_problem_of(draft.goods, limits, goods_table))


def _problem_of(goods: tuple[str, ...], limits: dict[str, float], goods_table: Any) -> Problem:
    table = None if goods_table is None else _checked_table(goods_table)
    columns = () if table is None else table.names
    rows = []
    for name in limits:
        if table is not None and name in columns and name != _GOOD:
            rows.append(_by_good(table, name, goods))
        elif name == ITEMS:
            rows.append(np.ones(len(goods)))
        else:
            known = [ITEMS, *(column for column in columns if column != _GOOD)]
            raise InvalidArgument(
                f"limits must be of {ITEMS!r} or of a column of the table of goods (--goods-table); received {name!r}"
                f"{nearest(name, known)}; the table has {listed(known[1:]) or 'none'}"
            )
    return Linear(np.array(rows), list(limits.values()), list(limits))


def _checked_table(goods_table: Any) -> Table:
    table = trim_names(table_of(goods_table))
    if _GOOD not in table.names:
        raise InvalidArgument(
            f"a table of goods must have a column {_GOOD!r} with their names; received columns {listed(table.names)}"
        )
    return table


def _by_good(table: Table, name: str, goods: tuple[str, ...]) -> Array:
    """Return what a unit of each good takes."""
    codes, own, _ = to_labels(table.column(_GOOD), _GOOD)
    told = [own[code] for code in codes if code >= 0]
    twice = next((good for good in own if told.count(good) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"a table of goods must have a row for each; received {twice!r} more than once; keep one")
    numbers = to_numbers(table.column(name), name, table.decimal).values[codes >= 0]
    values = dict(zip(told, numbers.tolist(), strict=True))
    for good in goods:
        if good not in values or not np.isfinite(values[good]):
            raise InvalidArgument(
                f"a table of goods must have a number in column {name!r} for every good of the purchases; "
                f"{good!r} has none{nearest(good, own)}; add it, 0 if it takes nothing"
            )
    return np.array([values[good] for good in goods])
