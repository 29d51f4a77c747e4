# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Lists of what whole goods are worth at every cost: the bundles that no cheaper bundle equals.

A list holds costs and values, both strictly rising, from the empty bundle (0, 0) to the dearest in reach. It is made
good by good: every entry with 0, 1, … units more of a good, merged, less what something cheaper beats. Lists of goods
apart answer for all of them together, by pairs of entries, one from each. All real numbers will do for prices.

Lists lie one after another in two arrays that grow; who extends a list goes on with the arrays returned.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import MONEY_TOLERANCE, QUANTITY_TOLERANCE
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

IN_PART: Final = -1  # in place of a number of units: the good can be bought in part
MOST_ENTRIES: Final = 1 << 22  # of all lists of a customer: 64 MiB
_MOST_UNITS: Final = 1e15  # counted exactly


@inlined
def limit_of(budget: float) -> float:
    """Return what whole bundles may cost: the budget and what rounding adds."""
    return budget * (1.0 + MONEY_TOLERANCE)


@inlined
def units_within(price: float, cap: float, limit: float) -> int:
    """Return how many units of a whole good the money covers, at most its cap."""
    if not price <= limit:
        return 0
    return int(min(cap + QUANTITY_TOLERANCE, limit / price, _MOST_UNITS))


@compiled
def leave_units(prices: Array, budget: float, caps: Array, is_whole: NDArray[np.bool_], units: Counts) -> None:
    """Leave how many units (n,) of each good the money covers: 0 out of reach, IN_PART if it need not be whole."""
    for i in range(prices.shape[0]):
        if is_whole[i]:
            units[i] = units_within(prices[i], caps[i], limit_of(budget))
        else:
            units[i] = IN_PART if prices[i] < np.inf and budget > 0.0 else 0


@compiled
def leave_all_units(prices: Array, budgets: Array, caps: Array, is_whole: NDArray[np.bool_], units: Counts) -> None:
    """Leave the same (T, n) for all rows."""
    for t in range(prices.shape[0]):
        leave_units(prices[t], budgets[t], caps[t], is_whole, units[t])


@compiled
def _with_room(costs: Array, values: Array, least: int) -> tuple[Array, Array]:
    wider_costs, wider_values = np.empty(2 * least), np.empty(2 * least)
    wider_costs[: costs.shape[0]] = costs
    wider_values[: values.shape[0]] = values
    return wider_costs, wider_values


@inlined
def _merge(
    costs: Array, values: Array, one: int, one_end: int, other: int, other_end: int,
    cost: float, value: float, limit: float, place: int,
) -> int:  # fmt: skip
    """Write at `place` a list merged with another to which a cost and a value are added; return where it ends."""
    end, highest = place, -np.inf
    while one < one_end and other < other_end:
        k, v = costs[other] + cost, values[other] + value
        if costs[one] < k or (costs[one] == k and values[one] >= v):
            k, v = costs[one], values[one]
            one += 1
        else:
            other += 1
        if k > limit:
            return end
        if v > highest:
            costs[end], values[end], highest = k, v, v
            end += 1
    while one < one_end:  # what is left of one list needs no comparison with the other
        if values[one] > highest:
            costs[end], values[end], highest = costs[one], values[one], values[one]
            end += 1
        one += 1
    while other < other_end and costs[other] + cost <= limit:
        if values[other] + value > highest:
            costs[end], values[end], highest = costs[other] + cost, values[other] + value, values[other] + value
            end += 1
        other += 1
    return end


@compiled
def extended(
    costs: Array, values: Array, first: int, last: int, price: float, worth: float, units: int, limit: float, place: int
) -> tuple[Array, Array, int]:
    """Write at `place` the list first..last with up to so many units of a good more.

    Returns
    -------
    The arrays, and where the list ends; -1 where it would be too long.
    """
    begin, end, tail = first, last, place
    for q in range(1, units + 1):
        if q * price > limit:
            break
        least = tail + (end - begin) + (last - first)
        if least > MOST_ENTRIES:
            return costs, values, -1
        if least > costs.shape[0]:
            costs, values = _with_room(costs, values, least)
        merged_end = _merge(costs, values, begin, end, first, last, q * price, q * worth, limit, tail)
        begin, end, tail = tail, merged_end, merged_end
    if place + end - begin > costs.shape[0]:
        costs, values = _with_room(costs, values, place + end - begin)
    if begin != place:
        for k in range(end - begin):
            costs[place + k], values[place + k] = costs[begin + k], values[begin + k]
    return costs, values, place + end - begin


@inlined
def best_pair(
    costs: Array, values: Array, first: int, first_end: int, second: int, second_end: int, money: float
) -> float:
    """Return the highest value of an entry of one list and one of another that the money covers together."""
    best, k = -np.inf, second_end - 1
    for i in range(first, first_end):
        room = money - costs[i]
        while k >= second and costs[k] > room:
            k -= 1
        if k < second:
            break
        best = max(best, values[i] + values[k])
    return best


@compiled
def fill_values(
    u: Array, prices: Array, units: Counts, caps: Array, leave: int, spent: Array, gained: Array, order: Counts
) -> int:
    """Leave what goods in part are worth at rising cost, in the corners of a concave line; return how many corners.

    Parameters
    ----------
    leave : a good to leave out; -1 for none.
    spent, gained : (n + 1,) corners, the first of them 0.
    """
    count = 0
    for i in range(u.shape[0]):
        if units[i] == IN_PART and i != leave and u[i] > 0.0:
            k = count
            while k > 0 and u[order[k - 1]] * prices[i] < u[i] * prices[order[k - 1]]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = i
            count += 1
    spent[0], gained[0] = 0.0, 0.0
    for k in range(count):
        i = order[k]
        spent[k + 1] = spent[k] + prices[i] * caps[i]
        gained[k + 1] = gained[k] + u[i] * caps[i]
        if spent[k + 1] == np.inf:  # without a cap: the line goes on for ever, at this slope
            spent[k + 1], gained[k + 1] = spent[k] + prices[i], gained[k] + u[i]
            return -(k + 2)
    return count + 1


@inlined
def filled(spent: Array, gained: Array, corners: int, money: float) -> float:
    """Return what goods in part are worth to whom this money is left; `corners` as `fill_values` returns them."""
    count = abs(corners)
    for k in range(1, count):
        if money < spent[k] or (k == count - 1 and corners < 0):
            return gained[k - 1] + (money - spent[k - 1]) * (gained[k] - gained[k - 1]) / (spent[k] - spent[k - 1])
    return gained[count - 1]


@compiled
def best_filled_pair(
    costs: Array, values: Array, first: int, first_end: int, second: int, second_end: int,
    limit: float, money: float, spent: Array, gained: Array, corners: int,
) -> float:  # fmt: skip
    """Return the same as `best_pair` within a limit, what is left of the money spent on goods in part."""
    best = -np.inf
    for i in range(first, first_end):
        for k in range(second, second_end):
            cost = costs[i] + costs[k]
            if cost > limit:
                break
            left = max(money - cost, 0.0)
            best = max(best, values[i] + values[k] + filled(spent, gained, corners, left))
    return best


@compiled
def part_interval(
    costs: Array, values: Array, first: int, last: int, price: float, cap: float, quantity: float, rest: float,
    money: float, spent: Array, gained: Array, corners: int,
) -> tuple[float, float]:  # fmt: skip
    """Return between which utilities of a good in part a customer buys this quantity of it.

    Given whole goods, the value of all others falls with the good's own quantity t along a concave line of straight
    pieces. On a piece the utility at which t and the quantity bought are worth the same is monotone in t, so that its
    ends are all there is to look at.

    Parameters
    ----------
    first, last : list of all whole goods.
    rest : what the others that were bought are worth.
    spent, gained, corners : of the others that can be bought in part, as `fill_values` leaves them.
    """
    low, high = -np.inf, np.inf
    near = QUANTITY_TOLERANCE * (cap if cap < np.inf else 1.0)
    count = abs(corners)
    for i in range(first, last):
        left = max(money - costs[i], 0.0)
        most = min(cap, left / price)
        for k in range(count):
            t = min(max((left - spent[k]) / price, 0.0), most)
            if abs(t - quantity) <= near:
                continue
            other = values[i] + filled(spent, gained, corners, max(left - t * price, 0.0))
            if t < quantity:
                low = max(low, (other - rest) / (quantity - t))
            else:
                high = min(high, (rest - other) / (t - quantity))
        if quantity > near:  # none of the good
            low = max(low, (values[i] + filled(spent, gained, corners, left) - rest) / quantity)
    return low, high


@compiled
def whole_interval(
    costs: Array, values: Array, before: tuple[int, int], after: tuple[int, int], price: float, units: int,
    quantity: int, rest: float, budget: tuple[float, float], spent: Array, gained: Array, corners: int,
) -> tuple[float, float]:  # fmt: skip
    """Return between which utilities of a whole good a customer buys this quantity of it.

    Parameters
    ----------
    before, after : lists of the other whole goods, in two parts.
    units : of it, that the budget covers.
    rest : what the others that were bought are worth.
    budget : what whole goods may cost, and the money there is.
    spent, gained, corners : of goods in part; one corner where there are none.
    """
    low, high = -np.inf, np.inf
    for q in range(units + 1):
        if q == quantity:
            continue
        limit, money = max(budget[0] - q * price, 0.0), budget[1] - q * price
        if corners == 1:
            best = best_pair(costs, values, before[0], before[1], after[0], after[1], limit)
        else:
            best = best_filled_pair(
                costs, values, before[0], before[1], after[0], after[1], limit, money, spent, gained, corners
            )
        if q < quantity:
            low = max(low, (best - rest) / (quantity - q))
        else:
            high = min(high, (rest - best) / (q - quantity))
    return low, high


@inlined
def whole_quantity(quantity: float) -> int:
    """Return a quantity that is whole but for rounding."""
    return int(quantity + 0.5)
