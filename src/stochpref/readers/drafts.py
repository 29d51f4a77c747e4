# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Drafts: cells arranged by observation and good, before any rule about their values is applied.

`long`, `wide` and `pabulib` make drafts. What is wrong with a cell itself (not a number, the same pair twice, budgets
that disagree) is noted as a `Flaw` and reading goes on, so that one pass finds everything there is to correct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_text
from stochpref.errors import InvalidArgument, UnreadableData, counted
from stochpref.problems import Problem, as_problem
from stochpref.readers.cells import Labels, combine_labels, to_labels, to_numbers
from stochpref.readers.mapping import Place, called, group_columns
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]

# Observations are dense: a mistaken column of goods would ask for more memory than there is.
_MOST_CELLS: Final = 1 << 28
_ROUNDING: Final = 0.01  # of the budget: what rounded prices and quantities may leave or overspend


class Flaw(NamedTuple):
    """A cell or row that cannot be read.

    observation : index of the observation it spoils.
    row : index of the row in the table.
    rule, received, remedy : what must hold, what was found, what to do.
    """

    observation: int
    row: int
    rule: str
    received: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Draft:
    """Observations or menus as read.

    prices : (T, n), inf where a good is not on offer. bundles : (T, n), None for menus. caps : (T, n).
    budgets : (T,), inf where the problem knows none.
    problem, needs_budget : what customers solve, None for menus; whether budgets are stated.
    nonempty : only bundles that are not empty are in the source.
    goods : n names. customers : T labels or None.
    labels : T names of observations; empty where the row number says it all.
    groups : T labels of groups or None.
    rows : (T, n) index of the table row that holds a pair, -1 where none does.
    flaws : what could not be read.
    idle : observations that are no purchases and are left out without a fault, such as orders brought back whole.
    layout : "long", "wide", "orders" or "pabulib".
    notes : what was done to arrive at the numbers, in words.
    titles : n texts that people know the goods by, or None.
    features : name -> (T, n) or (T,).
    source, row_numbers, counting : as in `Table`.
    """

    prices: Array
    budgets: Array
    bundles: Array | None
    caps: Array
    problem: Problem | None
    needs_budget: bool
    goods: tuple[str, ...]
    customers: tuple[str, ...] | None
    labels: tuple[str, ...]
    rows: Indices
    flaws: tuple[Flaw, ...]
    layout: str
    source: str
    row_numbers: Callable[[], Indices]
    counting: str
    notes: tuple[str, ...] = ()
    titles: tuple[str, ...] | None = None
    features: Mapping[str, Array] = field(default_factory=dict)
    groups: tuple[str, ...] | None = None
    nonempty: bool = False
    idle: tuple[int, ...] = ()


class CellReader:
    """Columns of one table as numbers and labels, and the flaws met on the way.

    spoils : (n_rows,) the observation each row belongs to.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.spoils: Indices = np.arange(table.n_rows)
        self._flaws: list[Flaw] = []
        self._spaced: dict[str, None] = {}

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """Every flaw; a row of the wrong length explains whatever else is wrong with it."""
        rule = f"a row must have as many fields as the header, {len(self.table.names)}"
        remedy = "look for a missing or extra separator or an open quote"
        ragged = self.table.ragged
        return (
            *(Flaw(int(self.spoils[row]), row, rule, f"{n} fields", remedy) for row, n in ragged.items()),
            *(flaw for flaw in self._flaws if flaw.row not in ragged),
        )

    def numbers(self, place: Place) -> Array:
        """Return a column, or a constant for every row, as (n_rows,) numbers; cells that are not numbers are NaN."""
        if isinstance(place, float):
            return np.full(self.table.n_rows, place)
        name = str(place)
        numbers = to_numbers(self.table.column(name), name, self.table.decimal)
        for row, text in zip(numbers.bad_rows, numbers.bad_texts, strict=True):
            remedy = "give a number; leave the cell empty if there is none"
            if "," in text:
                remedy = "write decimals with a point, and thousands without a mark"
            self._note(row, f"column {name!r} must hold numbers", repr(_shortened(text)), remedy)
        return numbers.values

    def labels(self, place: Place) -> Labels:
        """Return a column of labels, or what several of them say together."""
        names = place if isinstance(place, tuple) else (str(place),)
        columns = [to_labels(self.table.column(name), name, self.table.without_spaces) for name in names]
        found = columns[0] if len(columns) == 1 else combine_labels(columns)
        self._spaced |= dict.fromkeys(found.spaced)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the cells, in words."""
        if not self._spaced:
            return ()
        return (
            f"names: spaces around {counted(len(self._spaced), 'name')} left out, {next(iter(self._spaced))!r} say",
        )

    def note(self, rows: Indices, rule: str, received: Callable[[int], str], remedy: str) -> None:
        """Note a flaw for some rows, but not where a cell has been found wrong already: that explains it."""
        explained = {flaw.row for flaw in self._flaws} if rows.size else set()
        for row in rows.tolist():
            if row not in explained:
                self._note(row, rule, received(row), remedy)

    def _note(self, row: int, rule: str, received: str, remedy: str) -> None:
        self._flaws.append(Flaw(int(self.spoils[row]), row, rule, received, remedy))


def label_groups(reader: CellReader, wishes: Wishes) -> Labels | None:
    """Return which group every row belongs to, None where there are no groups; rows that have none are flaws."""
    if not wishes.by:
        return None
    place = group_columns(reader.table, wishes.columns, wishes.by)
    labels = reader.labels(place)
    unnamed = np.flatnonzero(labels.codes < 0)
    rule = f"column {called(place)} must name the group of every row"
    reader.note(unnamed, rule, lambda _: "an empty cell", "fill it in, or remove the row")
    return labels


def finish_draft(
    table: Table,
    wishes: Wishes,
    *,
    prices: Array,
    budgets: Array | None,
    bundles: Array | None,
    caps: Array,
    goods: tuple[str, ...],
    customers: tuple[str, ...] | None,
    labels: tuple[str, ...],
    rows: Indices,
    flaws: tuple[Flaw, ...],
    layout: str,
    notes: tuple[str, ...] = (),
    groups: tuple[str, ...] | None = None,
    nonempty: bool = False,
    idle: tuple[int, ...] = (),
    features: Mapping[str, Array] | None = None,
) -> Draft:
    """Fill in what follows from the rest: caps not stated, nothing bought of what is not on offer, money spent."""
    check_text(goods, "goods")
    prices = np.where(np.isnan(prices), np.inf, prices)
    caps = np.where(np.isnan(caps), check_caps(wishes.caps, prices.shape), caps)
    if bundles is not None:
        bundles = np.where(np.isnan(bundles) & (prices == np.inf), 0.0, bundles)
        if wishes.needs_budget and wishes.budget != "stated":
            spent = money_spent(prices, bundles)
            stated = spent if budgets is None else budgets
            with np.errstate(invalid="ignore", over="ignore"):  # what is not a number is refused later
                budgets = np.where(np.abs(spent - stated) <= _ROUNDING * stated, spent, stated)
    if not wishes.needs_budget:
        budgets = np.full(len(prices), np.inf)
    if budgets is None:
        raise InvalidArgument("budget must be 'stated' where there are no quantities; received 'spent'")
    return Draft(
        prices=prices,
        budgets=budgets,
        bundles=bundles,
        caps=caps,
        problem=as_problem("divisible") if bundles is not None and wishes.problem is None else wishes.problem,
        needs_budget=wishes.needs_budget,
        goods=goods,
        customers=customers,
        labels=labels,
        rows=rows,
        flaws=flaws,
        layout=layout,
        source=table.source,
        row_numbers=table.row_numbers,
        counting=table.counting,
        notes=(*table.notes, *notes),
        groups=groups,
        nonempty=nonempty if wishes.nonempty is None else wishes.nonempty,
        idle=idle,
        features={} if features is None else features,
    )


def check_caps(caps: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return caps as an array that broadcasts to (T, n)."""
    try:
        array = np.asarray(caps, dtype=np.float64)
        np.broadcast_to(array, shape)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"caps must be a number or one number per good, {shape[1]}; received {caps!r}") from None
    if not np.all(array > 0):
        raise InvalidArgument(f"caps must be positive; received {caps!r}; to leave a good out give it no price")
    return array


def check_shape(source: str, n_observations: int, n_goods: int) -> tuple[int, int]:
    """Return (T, n) if there is something to read and memory to hold it."""
    if n_observations == 0:
        raise UnreadableData(f"{source}: has no rows after its header; there is nothing to read")
    if n_goods == 0:
        raise UnreadableData(f"{source}: names no goods; fill in the column of goods")
    if n_observations * n_goods > _MOST_CELLS:
        raise UnreadableData(
            f"{source}: holds {n_observations:,} observations of {n_goods:,} goods, more than memory can hold; "
            "is the column of goods the right one?"
        )
    return n_observations, n_goods


def money_spent(prices: Array, bundles: Array) -> Array:
    """Return (T,) what the bundles cost; what has no price or number counts for nothing: other rules refuse it."""
    counted = np.isfinite(prices) & np.isfinite(bundles)
    with np.errstate(over="ignore"):
        cost = np.where(counted, prices, 0.0) * np.where(counted, bundles, 0.0)
        return np.maximum(cost.sum(axis=1), 0.0)


def names_of(labels: Labels, codes: Indices) -> tuple[str, ...]:
    """Return the label of each code, empty where there is none."""
    names = (*labels.names, "")  # code -1 picks the last
    return tuple(names[code] for code in codes.tolist())


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
