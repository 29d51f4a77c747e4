# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The best bundle of whole goods, or of some whole and some in part, that a budget covers.

Branch and bound: goods in falling order of utility per unit of money, as many units as fit, then fewer of the last, as
long as the same money spent in part would be worth more than the best bundle so far. That takes tens of steps as a
rule; where it takes thousands, as with goods that are nearly alike, the lists of `pareto` are made instead.

Ties: of bundles worth the same the cheaper one, of equally cheap ones the one with more of the first good in which they
differ. Goods worth nothing are not bought.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.problems.pareto import (
    extended,
    fill_values,
    filled,
    leave_units,
    limit_of,
    units_within,
)
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_MOST_STEPS: Final = 20_000
_ROUNDING: Final = 1e-12  # of a value: sums in another order may differ by as much


class Desk(NamedTuple):
    """Room for one customer's search among goods in order of worth for money.

    order : goods. worth : of a unit for money. cost, value : of a unit.
    most : units, or the cap of a good in part. is_whole : whether units are whole.
    taken, best : units of the bundle looked at, and of the best so far.
    left, reached : money left, and value, before each good.
    """

    order: Counts
    worth: Array
    cost: Array
    value: Array
    most: Array
    is_whole: NDArray[np.bool_]
    taken: Array
    best: Array
    left: Array
    reached: Array


@compiled
def make_desk(n_goods: int) -> Desk:
    """Return room for so many goods."""
    return Desk(
        np.empty(n_goods, np.int64), np.empty(n_goods), np.empty(n_goods), np.empty(n_goods), np.empty(n_goods),
        np.empty(n_goods, np.bool_), np.empty(n_goods), np.empty(n_goods), np.empty(n_goods + 1), np.empty(n_goods + 1),
    )  # fmt: skip


@compiled
def _rank(u: Array, prices: Array, limit: float, caps: Array, is_whole: NDArray[np.bool_], desk: Desk) -> int:
    """Lay out what is worth having, the best for money first; return how many goods."""
    count = 0
    for i in range(u.shape[0]):
        if not (u[i] > 0.0 and prices[i] < np.inf) or (is_whole[i] and units_within(prices[i], caps[i], limit) == 0):
            continue
        worth, k = u[i] / prices[i], count
        while k > 0 and desk.worth[k - 1] < worth:
            desk.worth[k], desk.order[k] = desk.worth[k - 1], desk.order[k - 1]
            k -= 1
        desk.worth[k], desk.order[k] = worth, i
        count += 1
    for k in range(count):
        i = desk.order[k]
        desk.cost[k], desk.value[k], desk.is_whole[k] = prices[i], u[i], is_whole[i]
        desk.most[k] = units_within(prices[i], caps[i], limit) if is_whole[i] else caps[i]
        desk.taken[k] = 0.0
    return count


@inlined
def _in_part(desk: Desk, first: int, start: int, count: int, left: float) -> float:
    """Return what money is worth, spent in part on the goods from `start` on that are not whole ones before `first`."""
    total = 0.0
    for k in range(start, count):
        if k < first and desk.is_whole[k]:
            continue
        cost = desk.cost[k] * desk.most[k]
        if cost > left:
            return total + desk.value[k] * (left / desk.cost[k])
        total += desk.value[k] * desk.most[k]
        left -= cost
    return total


@inlined
def _fill_rest(desk: Desk, count: int, left: float) -> float:
    """Spend what is left on goods in part, in `taken`; return what they are worth."""
    total = 0.0
    for k in range(count):
        if not desk.is_whole[k]:
            desk.taken[k] = min(desk.most[k], left / desk.cost[k])
            left = max(left - desk.taken[k] * desk.cost[k], 0.0)
            total += desk.taken[k] * desk.value[k]
    return total


@inlined
def _is_earlier(desk: Desk, count: int) -> bool:
    """Tell whether the bundle looked at has more of the first good in which it differs from the best."""
    place, more = -1, False
    for k in range(count):
        if desk.taken[k] != desk.best[k] and (place < 0 or desk.order[k] < place):
            place, more = desk.order[k], desk.taken[k] > desk.best[k]
    return more


@inlined
def _dive(desk: Desk, first: int, count: int) -> None:
    """Take as many units as fit of every whole good from `first` on."""
    for k in range(first, count):
        taken = 0.0
        if desk.is_whole[k]:
            taken = min(desk.most[k], float(int(desk.left[k] / desk.cost[k])))
            desk.taken[k] = taken
        desk.reached[k + 1] = desk.reached[k] + taken * desk.value[k]
        desk.left[k + 1] = desk.left[k] - taken * desk.cost[k]


@inlined
def _last_taken(desk: Desk, before: int) -> int:
    """Return the last whole good before a place of which some was taken; -1 if there is none."""
    k = before - 1
    while k >= 0 and (not desk.is_whole[k] or desk.taken[k] == 0.0):
        k -= 1
    return k


@compiled
def _search(desk: Desk, count: int, budget: float, limit: float) -> bool:
    """Leave the best bundle in `desk.best`; return False where the search is too long."""
    has_parts, place = not np.all(desk.is_whole[:count]), 0
    best, best_left = -1.0, 0.0
    desk.left[0], desk.reached[0] = limit, 0.0
    for _ in range(_MOST_STEPS):
        bound = desk.reached[place] + _in_part(desk, place, 0 if has_parts else place, count, desk.left[place])
        if bound >= best * (1.0 - _ROUNDING):
            _dive(desk, place, count)
            place, value, left = count, desk.reached[count], desk.left[count]
            if has_parts:
                value += _fill_rest(desk, count, max(left - (limit - budget), 0.0))
            is_tie = value == best
            if value > best or (is_tie and (left > best_left or (left == best_left and _is_earlier(desk, count)))):
                best, best_left = value, left
                desk.best[:count] = desk.taken[:count]
        elif not has_parts:
            place -= 1  # fewer still of this good, the best of those left, would be worth no more
        k = _last_taken(desk, place)
        if k < 0:
            return True
        desk.taken[k] -= 1.0
        desk.reached[k + 1] = desk.reached[k] + desk.taken[k] * desk.value[k]
        desk.left[k + 1] = desk.left[k] - desk.taken[k] * desk.cost[k]
        place = k + 1
    return False


@compiled
def _list_from_each(
    u: Array, prices: Array, units: Counts, limit: float, first: Counts, last: Counts
) -> tuple[Array, Array, bool]:
    """Make the lists of all goods from each on, and leave where they are; return them and whether they fit."""
    costs, values, end = np.empty(1024), np.empty(1024), 1
    costs[0], values[0] = 0.0, 0.0
    first[-1], last[-1] = 0, 1
    for i in range(u.shape[0] - 1, -1, -1):
        first[i], last[i] = first[i + 1], last[i + 1]
        if units[i] > 0 and u[i] > 0.0:
            first[i] = end
            costs, values, end = extended(
                costs, values, first[i + 1], last[i + 1], prices[i], u[i], units[i], limit, end
            )
            if end < 0:
                return costs, values, False
            last[i] = end
    return costs, values, True


@inlined
def _entry_near(
    costs: Array, values: Array, first: int, last: int, cost: float, value: float, near: tuple[float, float]
) -> int:
    """Return the entry of a list with this cost and value, `last` if there is none."""
    k = first
    while k < last and (abs(costs[k] - cost) > near[0] or abs(values[k] - value) > near[1]):
        k += 1
    return k


@compiled
def _by_lists(u: Array, prices: Array, budget: float, caps: Array, is_whole: NDArray[np.bool_], bundle: Array) -> bool:
    """Add the best bundle to `bundle`; return False where lists would be too long."""
    n, limit = u.shape[0], limit_of(budget)
    first, last, units = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    leave_units(prices, budget, caps, is_whole, units)
    costs, values, is_found = _list_from_each(u, prices, units, limit, first, last)
    if not is_found:
        return False
    spent, gained, order = np.empty(n + 1), np.empty(n + 1), np.empty(n, np.int64)
    corners = fill_values(u, prices, units, caps, -1, spent, gained, order)
    place, best = first[0], -np.inf
    for k in range(first[0], last[0]):
        value = values[k] + filled(spent, gained, corners, max(budget - costs[k], 0.0))
        if value > best:
            place, best = k, value
    left = max(budget - costs[place], 0.0)
    near = _ROUNDING * limit, _ROUNDING * values[last[0] - 1]
    for i in range(n):  # the way back: every entry is one of the next list, and units of this good
        if first[i] == first[i + 1]:
            continue
        for q in range(units[i], -1, -1):
            cost, value = costs[place] - q * prices[i], values[place] - q * u[i]
            k = _entry_near(costs, values, first[i + 1], last[i + 1], cost, value, near)
            if k < last[i + 1]:
                bundle[i] += q
                place = k
                break
    for k in range(abs(corners) - 1):
        i = order[k]
        bought = min(caps[i], left / prices[i])
        bundle[i] += bought
        left = max(left - bought * prices[i], 0.0)
    return True


@compiled
def add_best_bundle(
    u: Array, prices: Array, budget: float, caps: Array, is_whole: NDArray[np.bool_], bundle: Array, desk: Desk
) -> bool:
    """Buy for one customer: add the optimal bundle to `bundle`; return False where it cannot be found."""
    limit = limit_of(budget)
    count = _rank(u, prices, limit, caps, is_whole, desk)
    if not _search(desk, count, budget, limit):
        return _by_lists(u, prices, budget, caps, is_whole, bundle)
    for k in range(count):
        bundle[desk.order[k]] += desk.best[k]
    return True


@compiled
def fill_rows(
    utilities: Array, prices: Array, budgets: Array, caps: Array, is_whole: NDArray[np.bool_],
    rows: tuple[Counts, Counts], bundles: Array, is_found: NDArray[np.bool_], start: int, stop: int,
) -> None:  # fmt: skip
    """Buy for rows start..stop; `rows` says which utility and which menu each has."""
    desk = make_desk(utilities.shape[1])
    for t in range(start, stop):
        k = rows[1][t]
        is_found[t] = add_best_bundle(utilities[rows[0][t]], prices[k], budgets[k], caps[k], is_whole, bundles[t], desk)


@compiled
def add_up(
    utilities: Array, prices: Array, budgets: Array, caps: Array, is_whole: NDArray[np.bool_], sums: Array
) -> bool:
    """Add to `sums` (k, n) what all customers buy from each of k menus."""
    desk = make_desk(utilities.shape[1])
    for m in range(utilities.shape[0]):
        for k in range(prices.shape[0]):
            if not add_best_bundle(utilities[m], prices[k], budgets[k], caps[k], is_whole, sums[k], desk):
                return False
    return True
