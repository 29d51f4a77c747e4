# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a customer buys whose goods satiate, in closed form between sorted breakpoints.

With μ = λ^(−1/e), λ the shadow price of money and e = 1 − α, a good is bought from μ = 1/w on, w = (u/a)^(1/e), and its
quantity γ(w μ − 1) rises in a straight line until its cap; the outside good is w μ. So does what is spent: goods enter
in the order of 1/w, leave at their caps, and the budget is met on one of the pieces. A good that does not satiate takes
all that is left, up to its cap, where it enters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.threads import compiled, inlined, inlined_reordering

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_SORTED_BY_HAND = 64  # events


class Tables(NamedTuple):
    """Menus as the kernels read them.

    prices : (T, n); inf where a good is not on offer. budgets : (T,). caps : (T, n).
    outside : place of the outside good, n for the rest of the budget, −1 for none.
    bend : 1 − α.
    """

    prices: Array
    budgets: Array
    caps: Array
    outside: int
    bend: float


class _Scratch(NamedTuple):
    """Room for one customer.

    rise, fade, is_in_full : (n,) w and γ, and whether so much is bought as there is, by good.
    entry, cost, gain : (n,) 1/w, a γ and a γ w of the goods that enter, one after another.
    events, order : (2n,) where goods enter and leave, and which do, in order.
    """

    rise: Array
    fade: Array
    is_in_full: NDArray[np.bool_]
    entry: Array
    cost: Array
    gain: Array
    events: Array
    order: Rows


@inlined
def _scratch(n: int) -> _Scratch:
    return _Scratch(
        np.empty(n), np.empty(n), np.empty(n, np.bool_), np.empty(n), np.empty(n), np.empty(n), np.empty(2 * n),
        np.empty(2 * n, np.int64),
    )  # fmt: skip


@inlined
def _rise(worth: float, largest: float, bend: float) -> float:
    """Return w of worth for money, in units of the largest, so that no power of it overflows."""
    ratio = worth / largest
    return ratio if bend in (0.0, 1.0) else ratio ** (1.0 / bend)


@inlined
def _sort(events: Array, order: Rows, count: int) -> None:
    """Bring events (2n,) by their places in `order` into rising order; equal ones stay as they are."""
    if count <= _SORTED_BY_HAND:
        for k in range(1, count):
            place, j = order[k], k
            while j > 0 and events[order[j - 1]] > events[place]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = place
    else:
        own = order[:count].copy()
        order[:count] = own[np.argsort(events[own], kind="mergesort")]


@inlined
def _unit(u: Array, prices: Array, outside: int, bend: float) -> float:
    """Return the unit of worth for money in which no power of it overflows; 1 where there are no powers."""
    if bend in (0.0, 1.0):
        return 1.0
    largest = u[prices.size] if outside == prices.size else 0.0
    for i in range(prices.size):
        largest = max(largest, u[i] / prices[i])
    return largest


@inlined
def _prepare(u: Array, prices: Array, outside: int, bend: float, unit: float, s: _Scratch) -> tuple[int, float]:
    """Write what there is to know of each good; return how many enter, and the outside good's slope."""
    n = prices.size
    slope = _rise(u[n], unit, bend) if outside == n and u[n] > 0.0 else 0.0
    count, j = 0, n + 1 if outside == n else n
    for i in range(n):
        s.rise[i], s.fade[i], s.is_in_full[i] = 0.0, 0.0, False
        g = np.inf
        if i != outside:
            g = u[j]
            j += 1
        if not (u[i] > 0.0 and g > 0.0 and prices[i] < np.inf):
            continue
        s.rise[i] = _rise(u[i] / prices[i], unit, bend)
        if i == outside and bend > 0.0:
            slope = prices[i] * s.rise[i]
            continue
        s.fade[i] = np.inf if bend == 0.0 else g / u[i]
        s.entry[count] = 1.0 / s.rise[i]
        s.cost[count] = prices[i] * s.fade[i]
        s.gain[count] = s.cost[count] * s.rise[i]
        s.order[count] = i
        count += 1
    return count, slope


@inlined_reordering
def _find_free_level(budget: float, count: int, slope: float, s: _Scratch) -> float:
    """Return μ at which the budget is met where goods have no ends: spending is convex in it.

    The line through all goods that enter lies below it, so that Newton's steps come from above, drop goods that do not
    enter after all, and end when none is dropped.
    """
    level, n_active = np.inf, -1
    for _ in range(count + 2):
        rising, fixed, active = slope, 0.0, 0
        for k in range(count):
            is_in = s.entry[k] < level
            rising += s.gain[k] if is_in else 0.0
            fixed += s.cost[k] if is_in else 0.0
            active += 1 if is_in else 0
        if active == n_active or rising <= 0.0:
            break
        n_active, level = active, (budget + fixed) / rising
    return level


@inlined
def _list_events(caps: Array, count: int, s: _Scratch) -> int:
    """List where goods enter, by their places, and where they reach their caps, by n and their places, in order."""
    n, n_events = caps.size, count
    for k in range(count):
        i = s.order[k]
        s.events[i] = s.entry[k]
        if s.fade[i] < np.inf and caps[i] < np.inf:
            s.events[n + i] = (1.0 + caps[i] / s.fade[i]) * s.entry[k]
            s.order[n_events] = n + i
            n_events += 1
    _sort(s.events, s.order, n_events)
    return n_events


@inlined
def _is_free(caps: Array, count: int, bend: float, s: _Scratch) -> bool:
    """Tell whether no good that enters has a cap, or takes all that is left."""
    if bend == 0.0:
        return False
    n_ends = 0
    for k in range(count):
        n_ends += 1 if s.fade[s.order[k]] == np.inf or caps[s.order[k]] < np.inf else 0
    return n_ends == 0


@inlined
def _find_level(
    prices: Array, budget: float, caps: Array, n_events: int, slope: float, limit: float, s: _Scratch
) -> tuple[float, int, float]:
    """Walk the events until the budget is met; return μ there, and the good that takes what is left, and how much.

    Parameters
    ----------
    slope : spending on the outside good for each unit of μ.
    limit : μ beyond which nothing is bought.
    """
    n, fixed, least, n_rising = prices.size, 0.0, slope, 0
    for k in range(n_events):
        event = s.order[k]
        i, level = (event if event < n else event - n), s.events[event]
        spent = slope * level + fixed
        if level >= limit:
            break
        if spent >= budget:  # by rounding alone, it may be, where all that rises has reached its cap
            limit = level
            break
        if event >= n:
            n_rising -= 1
            slope = slope - prices[i] * s.fade[i] * s.rise[i] if n_rising else least
            fixed += prices[i] * (s.fade[i] + caps[i])
            s.is_in_full[i] = True
        elif s.fade[i] < np.inf:
            n_rising += 1
            slope += prices[i] * s.fade[i] * s.rise[i]
            fixed -= prices[i] * s.fade[i]
        elif spent + prices[i] * caps[i] >= budget:
            return level, i, (budget - spent) / prices[i]
        else:
            fixed += prices[i] * caps[i]
            s.is_in_full[i] = True
    return (min((budget - fixed) / slope, limit) if slope > 0.0 else limit), -1, 0.0


@inlined
def buy(
    u: Array, prices: Array, budget: float, caps: Array, outside: int, bend: float, bundle: Array, s: _Scratch
) -> None:
    """Add what a customer buys to a bundle."""
    n, limit, last, amount = prices.size, np.inf, -1, 0.0
    count, slope = _prepare(u, prices, outside, bend, _unit(u, prices, outside, bend), s)
    if _is_free(caps, count, bend, s):
        level = _find_free_level(budget, count, slope, s)
    else:
        if bend == 0.0 and slope > 0.0:  # money itself does not satiate: what is worth less is not bought
            limit, slope = 1.0 / slope, 0.0
        level, last, amount = _find_level(prices, budget, caps, _list_events(caps, count, s), slope, limit, s)
    for i in range(n):
        if i == last:
            bundle[i] += amount
        elif s.is_in_full[i]:
            bundle[i] += caps[i]
        elif i == outside and bend > 0.0:
            bundle[i] += s.rise[i] * level if s.rise[i] > 0.0 else 0.0
        elif s.fade[i] < np.inf and level * s.rise[i] > 1.0:
            bundle[i] += min(s.fade[i] * (s.rise[i] * level - 1.0), caps[i])


@compiled
def buy_rows(u: Array, tables: Tables, rows: tuple[Rows, Rows], bundles: Array, start: int, stop: int) -> None:
    """Add to each bundle what is bought by the customer and from the menu that its row names."""
    s = _scratch(tables.prices.shape[1])
    for t in range(start, stop):
        m = rows[1][t]
        buy(
            u[rows[0][t]], tables.prices[m], tables.budgets[m], tables.caps[m], tables.outside, tables.bend,
            bundles[t], s,
        )  # fmt: skip


@compiled
def sum_rows(u: Array, tables: Tables, sums: Array) -> None:
    """Add up, for each menu, what all customers buy."""
    s = _scratch(tables.prices.shape[1])
    for m in range(u.shape[0]):
        for t in range(tables.prices.shape[0]):
            buy(
                u[m], tables.prices[t], tables.budgets[t], tables.caps[t], tables.outside, tables.bend, sums[t], s
            )  # fmt: skip
