# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which two bundles of whole goods no utility explains both: those that could be dealt out otherwise.

Observations s and t bought x_s and x_t. If both menus allow other bundles y_s and y_t of the same goods together,
y_s + y_t = x_s + x_t, then u·x_s > u·y_s and u·x_t > u·y_t cannot both hold. With d = y_s - x_s, whole numbers between
what can be given away and what can be taken, that asks for d ≠ 0 that both budgets bear, Σ a_s d ≤ what s has left and
-Σ a_t d ≤ what t has left: a search of two knapsacks, which is given up after some hundred steps. Giving up and
rounding may miss a conflict, never invent one, so every bound built on conflicts holds.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.problems.interval_kernels import MenuRows
from stochpref.problems.pareto import limit_of
from stochpref.threads import compiled, for_blocks, inlined

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_MOST_STEPS: Final = 400
_ROUNDING: Final = 1e-12  # of a budget, kept back
_BLOCK: Final = 8


class Deals(NamedTuple):
    """Observations as exchanges see them.

    prices : (T, n). room : (T,) money left, less what rounding may have added.
    bundles, units : (T, n) bought, and the most that could be, in whole numbers; as bought where a good is in part.
    """

    prices: Array
    room: Array
    bundles: NDArray[np.int64]
    units: NDArray[np.int64]


def deals_of(rows: MenuRows) -> Deals:
    """Return observations of whole goods, or of whole goods beside others, as exchanges see them."""
    spent = np.sum(rows.prices * rows.bundles, axis=1)
    # Goods in part are paid from the budget as stated; what whole ones may cost has what rounding adds.
    budgets = limit_of(rows.stated) if rows.is_whole.all() else rows.budgets  # type: ignore[arg-type]
    room = budgets - spent - _ROUNDING * budgets
    bundles = np.where(rows.is_whole, np.round(rows.bundles), 0.0).astype(np.int64)
    units = np.where(rows.is_whole, rows.units, 0).astype(np.int64)
    return Deals(rows.prices, room, bundles, units)


class _Desk(NamedTuple):
    """Room for one search: goods in order, least and most of each, costs to both, and what the rest can do."""

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    first: Array
    second: Array
    mixed: Array
    left_first: Array
    left_second: Array
    left_mixed: Array
    given: NDArray[np.int64]


@compiled
def _make_desk(n: int) -> _Desk:
    return _Desk(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty(n + 1),
        np.empty(n + 1), np.empty(n + 1), np.empty(n, np.int64),
    )  # fmt: skip


@inlined
def _lay_out(deals: Deals, s: int, t: int, desk: _Desk) -> int:
    """Write the goods of which some can change hands; return how many."""
    count = 0
    for i in range(deals.prices.shape[1]):
        x, y = deals.bundles[s, i], deals.bundles[t, i]
        least = max(-x, y - deals.units[t, i])
        most = min(y, deals.units[s, i] - x)
        if least > 0 or most < 0 or least == most:  # bundles beyond what rounding leaves in reach stay as they are
            continue
        desk.least[count], desk.most[count] = least, most
        desk.first[count], desk.second[count] = deals.prices[s, i], deals.prices[t, i]
        count += 1
    return count


@inlined
def _is_simple(desk: _Desk, count: int, room: float, other: float) -> bool:
    """Tell whether one unit can change hands, or one for another."""
    for k in range(count):
        if (desk.most[k] > 0 and desk.first[k] <= room) or (desk.least[k] < 0 and desk.second[k] <= other):
            return True
    for k in range(count):
        if desk.most[k] > 0:
            for m in range(count):
                if (
                    desk.least[m] < 0
                    and m != k
                    and desk.first[k] - desk.first[m] <= room
                    and desk.second[m] - desk.second[k] <= other
                ):
                    return True
    return False


@inlined
def _least_cost(desk: _Desk, count: int, price: float) -> float:
    """Return the least of Σ (a_s - price a_t) d over all d."""
    total = 0.0
    for k in range(count):
        worth = desk.first[k] - price * desk.second[k]
        total += worth * (desk.least[k] if worth > 0.0 else desk.most[k])
    return total


@inlined
def _prepare(desk: _Desk, count: int, room: float, other: float) -> float:
    """Order goods by what they cost where the two budgets are weighed against each other; return the weight."""
    best, price = -np.inf, 1.0
    for k in range(count):
        ratio = desk.first[k] / desk.second[k]
        bound = _least_cost(desk, count, ratio) - room - ratio * other
        if bound > best:
            best, price = bound, ratio
    for k in range(count):
        desk.mixed[k] = desk.first[k] - price * desk.second[k]
    for k in range(1, count):  # the dearest first: they decide soonest
        m = k
        while m > 0 and abs(desk.mixed[m - 1]) < abs(desk.mixed[m]):
            desk.mixed[m - 1], desk.mixed[m] = desk.mixed[m], desk.mixed[m - 1]
            desk.first[m - 1], desk.first[m] = desk.first[m], desk.first[m - 1]
            desk.second[m - 1], desk.second[m] = desk.second[m], desk.second[m - 1]
            desk.least[m - 1], desk.least[m] = desk.least[m], desk.least[m - 1]
            desk.most[m - 1], desk.most[m] = desk.most[m], desk.most[m - 1]
            m -= 1
    desk.left_first[count] = desk.left_second[count] = desk.left_mixed[count] = 0.0
    for k in range(count - 1, -1, -1):
        worth = desk.mixed[k]
        desk.left_first[k] = desk.left_first[k + 1] + desk.first[k] * desk.least[k]
        desk.left_second[k] = desk.left_second[k + 1] - desk.second[k] * desk.most[k]
        desk.left_mixed[k] = desk.left_mixed[k + 1] + worth * (desk.least[k] if worth > 0.0 else desk.most[k])
    return price


@inlined
def _searched(desk: _Desk, count: int, room: float, other: float, price: float) -> bool:
    """Look for an exchange depth first, the cheaper quantity of each good before the others."""
    depth, first, second = 0, 0.0, 0.0
    desk.given[0] = desk.least[0] if desk.mixed[0] > 0.0 else desk.most[0]
    for _ in range(_MOST_STEPS):
        d = desk.given[depth]
        is_over = d < desk.least[depth] or d > desk.most[depth]
        if not is_over:
            a, b = first + desk.first[depth] * d, second - desk.second[depth] * d
            is_open = (
                a + desk.left_first[depth + 1] <= room
                and b + desk.left_second[depth + 1] <= other
                and a + price * b + desk.left_mixed[depth + 1] <= room + price * other
            )
            if is_open and depth + 1 == count:
                for k in range(count):
                    if desk.given[k] != 0:
                        return True
            elif is_open:
                first, second = a, b
                depth += 1
                desk.given[depth] = desk.least[depth] if desk.mixed[depth] > 0.0 else desk.most[depth]
                continue
        if is_over:
            depth -= 1
            if depth < 0:
                return False
            first -= desk.first[depth] * desk.given[depth]
            second += desk.second[depth] * desk.given[depth]
        desk.given[depth] += 1 if desk.mixed[depth] > 0.0 else -1
    return False


@compiled
def _can_exchange(deals: Deals, s: int, t: int, desk: _Desk) -> bool:
    """Tell whether the two could have bought otherwise what they bought together."""
    room, other = deals.room[s], deals.room[t]
    first, second, is_same = 0.0, 0.0, True
    for i in range(deals.prices.shape[1]):  # each the other's bundle
        d = deals.bundles[t, i] - deals.bundles[s, i]
        if d != 0:
            is_same = False
            if deals.bundles[t, i] > deals.units[s, i] or deals.bundles[s, i] > deals.units[t, i]:
                first = np.inf
            first, second = first + deals.prices[s, i] * d, second - deals.prices[t, i] * d
    if not is_same and first <= room and second <= other:
        return True
    count = _lay_out(deals, s, t, desk)
    if count == 0:
        return False
    if _is_simple(desk, count, room, other):
        return True
    return _searched(desk, count, room, other, _prepare(desk, count, room, other))


@compiled
def _fill(deals: Deals, those: NDArray[np.intp], others: NDArray[np.intp], matrix: Mask, start: int, stop: int) -> None:
    desk = _make_desk(deals.prices.shape[1])
    for k in range(start, stop):
        for m in range(others.shape[0]):
            matrix[k, m] = those[k] != others[m] and _can_exchange(deals, those[k], others[m], desk)


def conflicts_between(deals: Deals, those: NDArray[np.intp], others: NDArray[np.intp]) -> Mask:
    """Return which of some observations conflict with which of others, (k, m)."""
    matrix = np.zeros((those.size, others.size), np.bool_)
    for_blocks(lambda start, stop: _fill(deals, those, others, matrix, start, stop), those.size, _BLOCK)
    return matrix


def all_conflicts(deals: Deals) -> Mask:
    """Return all conflicts, (T, T)."""
    every = np.arange(len(deals.room))
    found = conflicts_between(deals, every, every)  # in either order: a search given up one way may end the other
    return found | found.T
