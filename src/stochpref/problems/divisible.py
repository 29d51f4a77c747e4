# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Divisible goods under one budget: a linear utility, and a fractional knapsack to fill.

Bundles and kinds come from here: `_classify` is the one place where quantities and money are compared with a tolerance;
everything after it reads kinds and sides only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance
from stochpref.errors import InvalidArgument
from stochpref.kinds import (
    ABOVE,
    ABSENT,
    AT,
    BELOW,
    DEGENERATE,
    MONEY_TOLERANCE,
    PIVOT,
    QUANTITY_TOLERANCE,
    SLACK,
    TIGHT,
)
from stochpref.problems.faults import Fault, MenuArrays
from stochpref.problems.protocol import Classification, Problem, Ranking
from stochpref.problems.units import SplitMenus, Units
from stochpref.regions import Regions
from stochpref.threads import compiled, for_blocks, inlined

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_FILL_BLOCK: Final = 2048
_CLASSIFY_BLOCK: Final = 4096


class Divisible(Problem):
    """Goods that can be bought in part, one budget: as in the paper.

    Parameters
    ----------
    units : into how many units each good is split, each with a utility of its own and the cap of the menu, which is 1
        unless stated: one number, or good -> number, 1 for goods that are left out. A bundle holds the first units of
        what was bought.
    """

    name: ClassVar[str] = "divisible"
    about: ClassVar[str] = "goods divisible up to their caps, budgets known"
    has_kinds: ClassVar[bool] = True
    _units: Units = Units(1)

    def __init__(self, units: int | Mapping[str, int] = 1) -> None:
        self._units = Units(units)

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return the best bundles: units in falling order of utility per unit of money until the budget is spent."""
        return self._units.joined(self._choose_units(utilities, menus), menus.goods)

    def _choose_units(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        split = self._units.split(menus)
        return choose(utilities, split.prices, split.budgets, caps=split.caps)

    def coordinates(self, goods: tuple[str, ...]) -> tuple[str, ...]:
        """Return goods, and units of those that have several, such as 'coffee, unit 2'."""
        return self._units.names(goods)

    def owners(self, goods: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the place of the good that each unit is of."""
        return np.repeat(np.arange(len(goods)), self._units.counts(goods))

    def limits(self, menus: MenuArrays) -> Array:
        """Return the largest quantities (T, n): caps, as often as there are units."""
        return self._units.limits(menus)

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value; quantities lie within all units together."""
        if self._units.is_one:
            return super().find_faults(menus, bundles)
        whole = SplitMenus(menus.prices, menus.budgets, self.limits(menus), menus.goods)
        return [*super().find_faults(whole, bundles), *self._units.find_faults(menus)]

    def total(self, utilities: Array, menus: MenuArrays) -> tuple[Array, Array]:
        """Return what customers (m, N) buy together from each of T menus, and how many they are, (T,)."""
        split = self._units.split(menus)
        bought = np.zeros(split.prices.shape)
        _sum_bundles(np.ascontiguousarray(utilities), split.prices, split.budgets, split.caps, bought)
        return self._units.joined(bought, menus.goods), np.full(len(bought), float(len(utilities)))

    def total_repriced(
        self, utilities: Array, menus: MenuArrays, goods: NDArray[np.intp], prices: Array
    ) -> tuple[Array, Array]:
        """Return what is bought in all while one price at a time is another; the others are ranked but once."""
        split, starts = self._units.split(menus), self._units.starts(menus.goods)
        ends = starts + self._units.counts(menus.goods)
        bought = np.zeros((len(goods), split.prices.shape[1]))
        _sum_repriced(
            np.ascontiguousarray(utilities), split.prices, split.budgets, split.caps, starts[goods], ends[goods],
            np.ascontiguousarray(prices), bought,
        )  # fmt: skip
        return self._units.joined(bought, menus.goods), np.full(len(goods), float(len(utilities)))

    def ranking(self, utilities: Array, menus: MenuArrays) -> Ranking | None:
        """Return what is wanted in falling order of worth for money; None where goods have several units."""
        if not self._units.is_one:
            return None
        prices = menus.prices[0]
        outlay = np.where(np.isfinite(prices), prices, 1.0)
        return Ranking(np.where(np.isfinite(prices) & (utilities > 0), utilities / outlay, -np.inf), outlay, None)

    def classify(self, menus: MenuArrays, bundles: Array) -> Classification:
        """Return kinds and, by coordinate, sides."""
        split, parts = self._units.split(menus), self._units.parts(menus, bundles)
        n_observations, n_coordinates = parts.shape
        found = Classification(
            np.empty(n_observations, np.int8),
            np.empty((n_observations, n_coordinates), np.int8),
            np.empty(n_observations, np.int32),
        )

        def rows(start: int, stop: int) -> None:
            _classify(split.prices, split.budgets, parts, split.caps, *found, start, stop)

        for_blocks(rows, n_observations, _CLASSIFY_BLOCK)
        return found

    def regions(self, observations: Observations) -> Regions:
        """Return the utilities over coordinates that explain each observation; degenerate rows are kept and marked."""
        kind, side, pivot = self.classify(observations, observations.bundles)
        absent, prices = side == ABSENT, self._units.split(observations).prices
        slope = np.where(absent, 1.0, prices) if absent.any() else prices
        scale = float(slope[~absent].max()) if not absent.all() else 1.0
        return Regions(kind, side, slope, pivot, scale)

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance | None:
        """Return the probability that something on offer is wanted, where only such customers are recorded."""
        return Chance.outside(unwanted(np.isfinite(self._units.split(menus).prices))) if nonempty else None

    def skips_units(self, utilities: ArrayLike, menus: MenuArrays) -> NDArray[np.bool_] | None:
        """Tell who buys (..., T) a later unit of some good in fuller measure than an earlier one.

        Observed bundles are taken for first units, so that a law which makes this likely does not describe them.
        """
        if self._units.is_one:
            return None
        bundles = self._choose_units(utilities, menus)
        is_later = np.ones(bundles.shape[-1], np.bool_)
        is_later[self._units.starts(menus.goods)] = False
        more = bundles[..., 1:] > bundles[..., :-1] * (1 + QUANTITY_TOLERANCE)
        return np.asarray((more & is_later[1:]).any(axis=-1))

    def over(self, goods: tuple[str, ...], known: tuple[str, ...] | None = None) -> Self:  # noqa: ARG002
        """Return the problem, which knows its goods by name."""
        self._units.counts(goods)
        return self

    def settings(self) -> dict[str, Any]:
        """Return the units, where there are several."""
        return {} if self._units.is_one else {"units": self._units.numbers}


def unwanted(is_in_reach: NDArray[np.bool_]) -> Regions:
    """Return the utilities to which nothing in reach (T, n) is worth having, as regions over the goods."""
    count, n = is_in_reach.shape
    side = np.where(is_in_reach, BELOW, ABSENT).astype(np.int8)
    kind = np.where((side == BELOW).any(axis=1), SLACK, TIGHT).astype(np.int8)  # nothing on offer, nothing revealed
    return Regions(kind, side, np.ones((count, n)), np.full(count, -1, np.int32), 1.0)


@compiled
def _classify(
    prices: NDArray[np.float64],
    budgets: NDArray[np.float64],
    bundles: NDArray[np.float64],
    caps: NDArray[np.float64],
    kind: NDArray[np.int8],
    side: NDArray[np.int8],
    pivot: NDArray[np.int32],
    start: int,
    stop: int,
) -> None:
    for t in range(start, stop):
        spent = 0.0
        n_fractional = 0
        pivot[t] = -1
        for i in range(prices.shape[1]):
            x, cap = bundles[t, i], caps[t, i]
            unit = cap if cap < np.inf else 1.0
            if prices[t, i] == np.inf:
                side[t, i] = ABSENT
                continue
            spent += prices[t, i] * x
            if x <= QUANTITY_TOLERANCE * unit:
                side[t, i] = BELOW
            elif x >= cap * (1.0 - QUANTITY_TOLERANCE):
                side[t, i] = ABOVE
            else:
                side[t, i] = AT
                n_fractional += 1
                pivot[t] = i
        if spent < budgets[t] * (1.0 - MONEY_TOLERANCE):
            kind[t] = SLACK if n_fractional == 0 else DEGENERATE
        elif n_fractional > 1:
            kind[t] = DEGENERATE
        else:
            kind[t] = PIVOT if n_fractional == 1 else TIGHT


@inlined
def rank_goods(u: Array, prices: Array, order: Rows, worth: Array) -> int:
    """Put goods that are wanted and on offer into `order`, the best value for money first; return how many they are."""
    count = 0
    for i in range(u.shape[0]):
        if u[i] > 0.0 and prices[i] < np.inf:
            worth[count] = u[i] / prices[i]
            order[count] = i
            count += 1
    if count <= 64:
        for k in range(1, count):  # insertion sort is stable: equal worth keeps the order of the goods
            w, i = worth[k], order[k]
            j = k
            while j > 0 and worth[j - 1] < w:
                worth[j], order[j] = worth[j - 1], order[j - 1]
                j -= 1
            worth[j], order[j] = w, i
    else:
        sorted_ = np.argsort(-worth[:count], kind="mergesort")
        order[:count], worth[:count] = order[:count][sorted_], worth[:count][sorted_]
    return count


@inlined
def fill_bundle(u: Array, prices: Array, money: float, caps: Array, bundle: Array, order: Rows, worth: Array) -> None:
    """Buy for one customer: add the optimal bundle to `bundle`; `order` and `worth` are (n,) scratch."""
    count = rank_goods(u, prices, order, worth)
    for i in order[:count]:
        cost = prices[i] * caps[i]
        if cost <= money:
            bundle[i] += caps[i]
            money -= cost
        else:
            bundle[i] += money / prices[i]
            break


@compiled
def _fill(
    utilities: Array,
    prices: Array,
    budgets: Array,
    caps: Array,
    rows: tuple[Rows, Rows, Rows, Rows],
    bundles: Array,
    start: int,
    stop: int,
) -> None:
    order, worth = np.empty(utilities.shape[1], np.int64), np.empty(utilities.shape[1], np.float64)
    for t in range(start, stop):
        u, a, c = utilities[rows[0][t]], prices[rows[1][t]], caps[rows[3][t]]
        fill_bundle(u, a, budgets[rows[2][t]], c, bundles[t], order, worth)


@compiled
def _sum_bundles(utilities: Array, prices: Array, budgets: Array, caps: Array, sums: Array) -> None:
    """Add up, for each menu, what all customers buy."""
    n = prices.shape[1]
    order, worth = np.empty(n, np.int64), np.empty(n)
    for m in range(utilities.shape[0]):
        for k in range(prices.shape[0]):
            fill_bundle(utilities[m], prices[k], budgets[k], caps[k], sums[k], order, worth)


@compiled
def _sum_repriced(
    utilities: Array, prices: Array, budgets: Array, caps: Array, first: Rows, last: Rows, changed: Array, sums: Array
) -> None:
    """Add up what customers buy, each from a menu of their own, for each change of the price of one good.

    The units of that good, from `first` to `last`, are ranked anew and merged into the others, which keep their ranks.
    """
    n = utilities.shape[1]
    order, worth = np.empty(n, np.int64), np.empty(n)
    own, own_worth = np.empty(n, np.int64), np.empty(n)
    for m in range(utilities.shape[0]):
        u, a = utilities[m], prices[m]
        count = rank_goods(u, a, order, worth)
        for k in range(first.shape[0]):
            low, high, price, n_own = first[k], last[k], changed[k, m], 0
            if price < np.inf:
                n_own = rank_goods(u[low:high], np.full(high - low, price), own, own_worth)
            money, here, there = budgets[m], 0, 0
            while True:
                while here < count and low <= order[here] < high:
                    here += 1
                if there < n_own and (
                    here == count
                    or own_worth[there] > worth[here]
                    or (own_worth[there] == worth[here] and low < order[here])
                ):
                    i, each = low + own[there], price
                    there += 1
                elif here < count:
                    i = order[here]
                    each = a[i]
                    here += 1
                else:
                    break
                cost = each * caps[m, i]
                if cost > money:
                    sums[k, i] += money / each
                    break
                sums[k, i] += caps[m, i]
                money -= cost


def rows_of(lead: tuple[int, ...], out_lead: tuple[int, ...]) -> Rows:
    """Return, for every row of the result, the row of an operand that broadcasting pairs with it."""
    own = np.arange(int(np.prod(lead, dtype=np.int64)), dtype=np.int64).reshape(lead)
    return np.ascontiguousarray(np.broadcast_to(own, out_lead).ravel())


def as_real(values: ArrayLike, argument: str) -> Array:
    """Return numbers as an array; what is none is refused under the name of its argument."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{argument} must be numbers; {error}") from None


def choose(utilities: ArrayLike, prices: ArrayLike, budgets: ArrayLike, *, caps: ArrayLike = 1.0) -> Array:
    """Return the optimal bundle of each customer.

    Goods are bought in falling order of utility per unit of money until the budget is spent, so at most one good
    is bought in part. Goods with utility zero or less are not bought; equal worth is settled in the order of the
    goods. Costs O(n log n) a row, on all threads, and copies no operand that broadcasting repeats.

    Parameters
    ----------
    utilities : (..., n).
    prices : (..., n) positive; inf or NaN where a good is not on offer.
    budgets : (...) zero or more.
    caps : scalar or (..., n), positive.

    Returns
    -------
    (..., n) bundles over the broadcast leading shape: one utility against many menus, many against one, or pairs.
    """
    u, a = np.atleast_1d(as_real(utilities, "utilities")), np.atleast_1d(as_real(prices, "prices"))
    b, c = as_real(budgets, "budgets"), np.atleast_1d(as_real(caps, "caps"))
    n = u.shape[-1]
    if n == 0 or a.shape[-1] != n or c.shape[-1] not in (1, n):
        raise InvalidArgument(
            f"utilities, prices and caps must agree in their last axis, goods; received {u.shape}, {a.shape}, {c.shape}"
        )
    c = np.broadcast_to(c, (*c.shape[:-1], n))
    try:
        lead = np.broadcast_shapes(u.shape[:-1], a.shape[:-1], b.shape, c.shape[:-1])
    except ValueError:
        raise InvalidArgument(
            f"utilities {u.shape}, prices {a.shape}, budgets {b.shape}, caps {c.shape} do not broadcast over their rows"
        ) from None
    _check_values(u, a, b, c)
    a = np.where(np.isnan(a), np.inf, a)
    tables = [np.ascontiguousarray(table).reshape(-1, n) for table in (u, a, c)]
    rows = (
        rows_of(u.shape[:-1], lead),
        rows_of(a.shape[:-1], lead),
        rows_of(b.shape, lead),
        rows_of(c.shape[:-1], lead),
    )
    bundles = np.zeros((*lead, n))
    flat = bundles.reshape(-1, n)

    def fill(start: int, stop: int) -> None:
        _fill(tables[0], tables[1], np.ascontiguousarray(b).reshape(-1), tables[2], rows, flat, start, stop)

    for_blocks(fill, flat.shape[0], _FILL_BLOCK)
    return bundles


def _check_values(u: Array, a: Array, b: Array, c: Array) -> None:
    rules = (
        ("utilities", "finite", np.isfinite(u), u),
        ("prices", "positive, or inf or NaN where a good is not on offer", (a > 0) | np.isnan(a), a),
        ("budgets", "finite and not negative", np.isfinite(b) & (b >= 0), b),
        ("caps", "positive", c > 0, c),
    )
    for argument, rule, is_right, values in rules:
        if not is_right.all():
            first = np.unravel_index(int(np.argmin(is_right)), values.shape)
            raise InvalidArgument(
                f"{argument} must be {rule}; received {values[first]:g} at index {tuple(int(i) for i in first)}, "
                f"{int(np.sum(~is_right))} in all"
            )
