# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Wide data: one row per observation, one column per good for its price, its quantity and perhaps its cap.

An empty price means that the good is not on offer. Goods keep the order of their columns of quantities.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from stochpref.errors import UnreadableData
from stochpref.readers.chosen import choice_column, read_choices, read_marks
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
from stochpref.readers.mapping import (
    EVERY_OTHER,
    Place,
    columns_of,
    find_column,
    group_columns,
    match_prefix,
    missing_column,
    need_column,
)
from stochpref.readers.moved import table_features, wide_columns, wide_features
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes

ByGood: TypeAlias = Mapping[str, str] | float | None  # good -> column, a constant, or neither


class WideColumns(NamedTuple):
    """Which columns play which role.

    observation, customer, budget : a column, a constant for the budget, or None.
    by_good : "price", "quantity" and "cap" -> columns by good.
    goods : in order.
    features : name -> a column, or columns by good.
    """

    observation: Place | None
    customer: Place | None
    budget: Place | None
    by_good: Mapping[str, ByGood]
    goods: tuple[str, ...]
    features: Mapping[str, str | dict[str, str]]


def find_wide_columns(table: Table, wishes: Wishes) -> WideColumns:
    """Return the columns of a wide table by role; looks at their names only."""
    observation = find_column(table, wishes.columns, "observation")
    customer = find_column(table, wishes.columns, "customer")
    budget = None
    if wishes.reads_budget:
        budget = need_column(table, wishes.columns, "budget", has_quantities=wishes.has_quantities)
    by = group_columns(table, wishes.columns, wishes.by)
    choice = choice_column(table, str(wishes.choice)) if _has_choices(wishes) else None
    used = {name for place in (observation, customer, budget, by, choice) for name in columns_of(place)}
    features = wide_columns(table, _features_of(table, wishes), used)
    for place in features.values():
        used |= {place} if isinstance(place, str) else set(place.values())
    by_good = _find_by_good(table, wishes, used)
    return WideColumns(observation, customer, budget, by_good, _list_goods(table, by_good), features)


def _features_of(table: Table, wishes: Wishes) -> tuple[str, ...]:
    """Return the features to look for; the price is none where it is read as one."""
    prefix = wishes.columns.get("price", "price")
    prices = list(match_prefix(table.names, prefix, given=True).values()) if isinstance(prefix, str) else []
    return table_features(wishes.features, prices)


def draft_wide(table: Table, wishes: Wishes) -> Draft:
    """Return a draft from one row per observation."""
    observation, customer, budget, by_good, goods, features = find_wide_columns(table, wishes)
    shape = check_shape(table.source, table.n_rows, len(goods))
    reader = CellReader(table)

    def stack(columns: ByGood, absent: float) -> Array:
        if not isinstance(columns, Mapping):
            return np.full(shape, absent if columns is None else columns)
        return np.column_stack([reader.numbers(columns[good]) for good in goods])

    prices, caps = stack(by_good["price"], np.inf), stack(by_good["cap"], np.nan)
    bundles, notes = _bundles(reader, wishes, by_good["quantity"], goods)
    budgets = None if budget is None else reader.numbers(budget)
    customers = None
    if customer is not None:
        customer_labels = reader.labels(customer)
        customers = names_of(customer_labels, customer_labels.codes)
    labels: tuple[str, ...] = ("",) * table.n_rows
    if observation is not None:
        observation_labels = reader.labels(observation)
        labels = names_of(observation_labels, observation_labels.codes)
        repeats = _find_repeats(observation_labels.codes)
        reader.note(repeats, "an observation must have one row", lambda row: repr(labels[row]), "remove or rename one")
    group_labels = label_groups(reader, wishes)
    return finish_draft(
        table,
        wishes,
        features=wide_features(reader, features, goods, prices),
        prices=prices,
        budgets=budgets,
        bundles=bundles,
        caps=caps,
        goods=goods,
        customers=customers,
        groups=None if group_labels is None else names_of(group_labels, group_labels.codes),
        labels=labels,
        rows=np.broadcast_to(np.arange(table.n_rows)[:, None], shape),
        flaws=reader.flaws,
        layout="wide",
        notes=(*reader.notes, *notes),
    )


def _has_choices(wishes: Wishes) -> bool:
    """Tell whether one column says which good was chosen."""
    return wishes.choice is not None and "quantity" not in wishes.columns


def _bundles(
    reader: CellReader, wishes: Wishes, columns: ByGood, goods: tuple[str, ...]
) -> tuple[Array | None, tuple[str, ...]]:
    """Return what was bought or chosen, None for menus, and how it was read."""
    if not wishes.has_quantities:
        return None, ()
    if _has_choices(wishes):
        return read_choices(reader, choice_column(reader.table, str(wishes.choice)), goods)
    read_fn = reader.numbers if wishes.choice is None else partial(read_marks, reader)
    if isinstance(columns, Mapping):
        return np.column_stack([read_fn(columns[good]) for good in goods]), ()
    return np.full((reader.table.n_rows, len(goods)), 0.0 if columns is None else columns), ()


def _find_by_good(table: Table, wishes: Wishes, used: set[str]) -> dict[str, ByGood]:
    """Return, for price, quantity and cap, the columns by good, the constant, or None."""
    found: dict[str, ByGood] = {"quantity": None, "price": None, "cap": None}
    roles = [role for role in found if role != "quantity" or (wishes.has_quantities and not _has_choices(wishes))]
    places = {role: wishes.columns.get(role, role) for role in roles}
    prefixes = {role: place if isinstance(place, float) else str(place) for role, place in places.items()}
    # A prefix that takes every other column must come after those that take some.
    for role in sorted(roles, key=lambda role: prefixes[role] in EVERY_OTHER):
        prefix = prefixes[role]
        is_given = role in wishes.columns
        if not isinstance(prefix, str):
            found[role] = prefix
            continue
        columns = match_prefix([name for name in table.names if name not in used], prefix, given=is_given)
        if columns:
            found[role] = columns
            used = used | set(columns.values())
        elif is_given or role != "cap":
            raise UnreadableData(missing_column(table, role, prefix if is_given else f"{prefix}_<good>"))
    return found


def _list_goods(table: Table, by_good: Mapping[str, ByGood]) -> tuple[str, ...]:
    """Return the goods in order; every role that has columns must have one for each good."""
    with_columns = {role: columns for role, columns in by_good.items() if isinstance(columns, Mapping)}
    goods = dict.fromkeys(good for columns in with_columns.values() for good in columns)
    for role, columns in with_columns.items():
        for good in goods:
            if good not in columns:
                example = next(iter(columns.values()))
                raise UnreadableData(
                    f"{table.source}: good {good!r} has no column for its {role}; others have {example!r}, say; "
                    "add it, or give a longer prefix if a column was taken for a good by mistake"
                )
    return tuple(goods)


def _find_repeats(codes: Indices) -> Indices:
    """Return the rows whose label occurred before; rows without a label repeat nothing."""
    labelled = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[labelled], return_index=True)
    return np.setdiff1d(labelled, labelled[first])
