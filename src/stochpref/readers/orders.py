# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Order lines: one row per line of an order, and only what was bought, as shops export them.

Lines of one order and good are added up, discounts taken off, returns set against what they return. What an order does
not hold was on offer all the same: its price comes from other orders (`price_filling`), or it counts as not on offer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, UnreadableData, counted
from stochpref.readers.cells import Labels
from stochpref.readers.dates import PERIODS, Days, period, to_days
from stochpref.readers.drafts import Array, CellReader, Draft, Indices, check_shape, finish_draft
from stochpref.readers.long import (
    agree_on_budgets,
    agree_on_customers,
    agree_on_groups,
    first_rows,
    label_observations,
)
from stochpref.readers.mapping import Place, find_column, missing_column, need_column, order_columns
from stochpref.readers.price_filling import Filled, fill_prices, plan_levels
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes
from stochpref.rows import LINES

DEFAULT_KEYS: Final = ("store", "week")  # those of them that the table tells
_NOTHING: Final = 1e-9  # of a unit: what returns leave of a purchase
_NET: Final = 0.005  # of the line: what rounding may part a line total from price times quantity


class Lines(NamedTuple):
    """Sums over the lines of each order and good.

    quantity, paid : (T, n) after returns and discounts; 0 where there are no lines.
    price : (T, n) a unit, NaN where no line tells.
    rows : (T, n) first line, -1 where there is none.
    notes : what was done, in words.
    """

    quantity: Array
    paid: Array
    price: Array
    rows: Indices
    notes: list[str]


def draft_orders(table: Table, wishes: Wishes) -> Draft:
    """Return a draft from one row per line of an order."""
    guessed = order_columns(table, wishes.columns)
    wishes = replace(wishes, columns=guessed | dict(wishes.columns))
    reader = CellReader(table)
    observation = label_observations(reader, need_column(table, wishes.columns, "observation"))
    good = reader.labels(need_column(table, wishes.columns, "good"))
    unnamed = np.flatnonzero(good.codes < 0)
    reader.note(unnamed, "a line must name a good", lambda _: "an empty cell", "name the good or remove the line")
    shape = check_shape(table.source, len(observation.names), len(good.names))
    lines = _add_up(reader, wishes, observation, good, shape)
    first = first_rows(observation)
    filled = _fill(reader, wishes, lines.price, first)
    customer, budget = (find_column(table, wishes.columns, role) for role in ("customer", "budget"))
    notes = [*_notes_on_columns(guessed), *lines.notes, *filled.notes()]
    if wishes.reads_budget and wishes.budget == "stated" and budget is None:
        wishes = replace(wishes, budget="spent")
        notes.append("budgets: none stated, so what an order came to is taken as its budget, all of it spent")
    idle = _returned(reader, wishes, lines)
    if idle:
        notes.append(f"orders: {len(idle):,} of which returns leave nothing left out")
    return finish_draft(
        table,
        wishes,
        prices=filled.prices,
        budgets=None if not wishes.reads_budget else agree_on_budgets(reader, observation, budget),
        bundles=lines.quantity,
        caps=np.full(shape, np.nan),
        goods=good.names,
        customers=agree_on_customers(reader, observation, customer),
        groups=agree_on_groups(reader, observation, wishes),
        labels=observation.names,
        rows=np.where(lines.rows >= 0, lines.rows, first[:, None]),
        flaws=reader.flaws,
        layout="orders",
        notes=(*reader.notes, *notes),
        nonempty=True,  # who bought nothing has no line
        idle=idle,
    )


def _add_up(reader: CellReader, wishes: Wishes, observation: Labels, good: Labels, shape: tuple[int, int]) -> Lines:
    """Sum quantities and money over the lines of each order and good."""
    quantity, paid, notes = _line_values(reader, wishes)
    is_named = good.codes >= 0
    pair = np.where(is_named, observation.codes * shape[1] + good.codes, -1)
    usable = is_named & np.isfinite(quantity) & np.isfinite(paid)
    reader.note(
        np.flatnonzero(usable & (quantity > 0) & (paid <= 0)),
        "what is bought must cost something after discounts: a price must be positive",
        lambda row: f"{paid[row]:g} for {quantity[row]:g}",
        "correct the price, or remove the line if it is a gift",
    )
    size = shape[0] * shape[1]

    def total(values: Array, chosen: NDArray[np.bool_]) -> Array:
        sums: Array = np.bincount(pair[chosen], values[chosen], minlength=size).astype(np.float64)
        return sums

    units, money = total(quantity, usable), total(paid, usable)
    is_return = usable & (quantity < 0)
    bought = usable & (quantity > 0)
    gross_units, gross_money = total(quantity, bought), total(paid, bought)
    rows = np.full(size, -1, np.int64)
    named = np.flatnonzero(is_named)
    rows[pair[named][::-1]] = named[::-1]  # where an index repeats, the last assignment stays
    # What was bought and brought back was on offer at the price paid for it.
    with np.errstate(invalid="ignore", divide="ignore"):
        price = np.where(units > _NOTHING, money / units, gross_money / gross_units)
    price[gross_units <= 0] = np.nan
    units[units <= _NOTHING] = 0.0
    n_pairs = int(np.sum(rows >= 0))
    notes += _notes_on_lines(pair[usable], is_return[usable], gross_units, n_pairs, shape[0])
    return Lines(units.reshape(shape), money.reshape(shape), price.reshape(shape), rows.reshape(shape), notes)


def _returned(reader: CellReader, wishes: Wishes, lines: Lines) -> tuple[int, ...]:
    """Return the orders of which nothing is left, unless the user says that visits without a purchase are in the data.

    Raises
    ------
    UnreadableData : that is all orders.
    """
    if wishes.nonempty is False:
        return ()
    is_empty = np.asarray(~(lines.quantity > 0).any(axis=1))
    if is_empty.all() and not reader.flaws:
        raise UnreadableData(
            f"{reader.table.source}: nothing is left of any order once returns are taken off; "
            "is the column of quantities the right one? map it with columns={'quantity': ...} (--column quantity=...)"
        )
    is_empty[[flaw.observation for flaw in reader.flaws]] = False  # these are told of one by one
    return tuple(np.flatnonzero(is_empty).tolist())


def _line_values(reader: CellReader, wishes: Wishes) -> tuple[Array, Array, list[str]]:
    """Return the quantity of every line and what was paid for it, discounts taken off, and how that was read."""
    table = reader.table
    places = {role: find_column(table, wishes.columns, role) for role in ("quantity", "price", "total", "discount")}
    notes = []
    quantity = np.ones(table.n_rows) if places["quantity"] is None else reader.numbers(places["quantity"])
    if places["quantity"] is None:
        notes.append("quantities: none stated, so every line counts as one")
    discount = np.zeros(table.n_rows) if places["discount"] is None else _amounts(reader, places["discount"])
    if places["total"] is None and places["price"] is None:
        raise UnreadableData(
            f"{missing_column(table, 'price', 'price')}; a column of line totals does as well: total=... "
            "(--column total=...)"
        )
    if places["total"] is None:
        assert places["price"] is not None
        gross = quantity * reader.numbers(places["price"])
        return quantity, gross - np.sign(quantity) * discount, notes
    paid = reader.numbers(places["total"])
    if places["price"] is not None and places["discount"] is not None:
        gross = quantity * reader.numbers(places["price"])
        signed = np.sign(quantity) * discount
        has_discount = np.flatnonzero(discount > 0)
        off_net, off_gross = (np.abs(paid - other)[has_discount] for other in (gross - signed, gross))
        if has_discount.size and np.nanmedian(off_gross) < np.nanmedian(off_net):
            notes.append("discounts: line totals are before discount, which is taken off")
            paid = paid - signed
        else:
            notes.append("discounts: line totals have them taken off already")
    # A line total is never negative by itself in some exports: the quantity says which way the goods went.
    return quantity, np.where(quantity < 0, -np.abs(paid), paid), notes


def _amounts(reader: CellReader, place: Place) -> Array:
    """Return discounts as money taken off: an empty cell is none, and exports write them with either sign."""
    values = reader.numbers(place)
    return np.where(np.isnan(values), 0.0, np.abs(values))


def _notes_on_columns(guessed: Mapping[str, str]) -> list[str]:
    renamed = ", ".join(f"{column!r} as the {role}" for role, column in guessed.items() if column.casefold() != role)
    return [f"columns: {renamed}; other columns are mapped with --column"] if renamed else []


def _notes_on_lines(
    pair: Indices, is_return: NDArray[np.bool_], bought: Array, n_pairs: int, n_orders: int
) -> list[str]:
    notes = [f"{LINES}{counted(pair.size, 'line')} of {counted(n_orders, 'order')}"]
    if n_pairs < pair.size:
        notes[0] += f", {pair.size - n_pairs:,} of them added to another line of the same order and good"
    if is_return.any():
        alone = int(np.sum(bought[pair[is_return]] <= 0))
        notes.append(
            f"returns: {counted(int(is_return.sum()), 'line')}, set against purchases of the same order"
            + (f"; {alone:,} return what was bought elsewhere and count for nothing" if alone else "")
        )
    return notes


def _fill(reader: CellReader, wishes: Wishes, prices: Array, first: Indices) -> Filled:
    """Return the prices of all goods in every order."""
    table = reader.table
    place = find_column(table, wishes.columns, "date")
    days = None if place is None else _read_days(reader, str(place))[first]
    names = wishes.fill_prices
    if names is None:
        names = tuple(
            name
            for name in DEFAULT_KEYS
            if _key_column(wishes, table, name) is not None or (days is not None and name in PERIODS)
        )
    keys = [_key(reader, wishes, name, days, first) for name in names]
    levels = plan_levels(names, keys, wishes.fill_within, has_days=days is not None)
    if not keys:
        levels = [level._replace(groups=np.zeros(len(first), np.int64)) for level in levels]
    return fill_prices(prices, days, levels)


def _read_days(reader: CellReader, column: str) -> NDArray[np.int64]:
    found: Days = to_days(reader.table.column(column), column)
    if found.is_ambiguous:
        raise UnreadableData(
            f"{reader.table.source}: column {column!r} must say which comes first, day or month; it holds dates "
            "such as 03/04/2026 and none that tells; write dates as 2026-04-03"
        )
    bad = np.array(found.bad_rows, np.int64)
    texts = dict(zip(found.bad_rows, found.bad_texts, strict=True))
    reader.note(bad, f"column {column!r} must hold dates", lambda row: repr(texts[row]), "write dates as 2026-04-03")
    is_known = np.ones(len(found.values), np.bool_)
    is_known[bad] = False
    # An order with a bad date is refused; its day only must not overflow.
    return np.where(is_known, found.values, found.values[is_known].min() if is_known.any() else 0)


def _key_column(wishes: Wishes, table: Table, name: str) -> Place | None:
    """Return the column of a key: that mapped to it, or that of its name."""
    return wishes.columns.get(name, name if name in table.names else None)


def _key(
    reader: CellReader, wishes: Wishes, name: str, days: NDArray[np.int64] | None, first: Indices
) -> NDArray[np.int64]:
    """Return the (T,) codes of a key: a column, or a period of the date."""
    place = _key_column(wishes, reader.table, name)
    if place is not None:
        return reader.labels(place).codes[first]
    if name in PERIODS and days is not None:
        numbers = period(days, name)
        return numbers - numbers.min()
    if name in PERIODS:
        raise UnreadableData(
            f"{reader.table.source}: fill_prices={name!r} needs a column of that name or of dates; map it with "
            "columns={'date': ...} (--column date=...)"
        )
    raise InvalidArgument(
        f"fill_prices must name columns, or {', '.join(PERIODS)} of the date; received {name!r}"
        f"{nearest(name, reader.table.names)}"
    )
