# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Compiled work on the intervals of whole goods: all of an observation, and a point inside its region.

A pass over the goods of an observation keeps the lists of all goods to come, made beforehand with the utilities as they
are, and one list of the goods behind, which grows with their utilities as the pass leaves them. `Pass` is its memory;
samplers, which move each coordinate inside its interval, use it as `intervals_of` does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import QUANTITY_TOLERANCE
from stochpref.problems.knapsack import add_best_bundle, make_desk
from stochpref.problems.pareto import (
    IN_PART,
    Counts,
    extended,
    fill_values,
    limit_of,
    part_interval,
    whole_interval,
    whole_quantity,
)
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]


class MenuRows(NamedTuple):
    """Menus and the bundles bought from them.

    prices : (T, n); 1 where a good is not on offer. budgets : (T,) to spend on goods in part.
    stated : (T,) budgets as stated, for whole goods.
    caps : (T, n).
    units : (T, n) whole units within budget and cap, 0 out of reach, IN_PART where a good can be bought in part.
    bundles : (T, n). is_whole : (n,).
    """

    prices: Array
    budgets: Array
    stated: Array
    caps: Array
    units: Counts
    bundles: Array
    is_whole: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> MenuRows:
        """Return some of the rows."""
        return MenuRows(
            self.prices[rows], self.budgets[rows], self.stated[rows], self.caps[rows], self.units[rows],
            self.bundles[rows], self.is_whole,
        )  # fmt: skip


class Pass(NamedTuple):
    """What a pass over one observation remembers beside its lists.

    first, last : (n + 1,) where the list of the goods after each begins and ends, by place in the order.
    spent, gained, ranked : corners of what goods in part are worth, and their order.
    """

    first: Counts
    last: Counts
    spent: Array
    gained: Array
    ranked: Counts


@compiled
def make_pass(n_goods: int) -> Pass:
    """Return the memory of a pass over so many goods."""
    return Pass(
        np.empty(n_goods + 1, np.int64), np.empty(n_goods + 1, np.int64), np.empty(n_goods + 1), np.empty(n_goods + 1),
        np.empty(n_goods, np.int64),
    )  # fmt: skip


@compiled
def lay_out(
    u: Array, rows: MenuRows, t: int, order: Counts, memory: Pass, costs: Array, values: Array
) -> tuple[Array, Array, int]:
    """Make the lists of all goods after each place of the order; return the arrays and where the last list ends.

    That is -1 where they are too long.
    """
    n, limit = u.shape[0], limit_of(rows.stated[t])
    costs[0], values[0], end = 0.0, 0.0, 1
    memory.first[n], memory.last[n] = 0, 1
    for place in range(n - 1, -1, -1):
        i = order[place]
        memory.first[place], memory.last[place] = memory.first[place + 1], memory.last[place + 1]
        if place > 0 and rows.units[t, i] > 0 and u[i] > 0.0:
            memory.first[place] = end
            costs, values, end = extended(
                costs, values, memory.first[place + 1], memory.last[place + 1], rows.prices[t, i], u[i],
                rows.units[t, i], limit, end,
            )  # fmt: skip
            if end < 0:
                break
            memory.last[place] = end
    return costs, values, end


@inlined
def interval_at(
    u: Array, rows: MenuRows, t: int, order: Counts, place: int, behind: tuple[int, int], memory: Pass, corners: int,
    value: float, costs: Array, values: Array,
) -> tuple[float, float]:  # fmt: skip
    """Return the interval of the good at a place of the order; goods in part come after all others.

    Parameters
    ----------
    behind : where the list of the goods behind is.
    corners : of goods in part; without the good itself if it is one.
    value : of the bundle bought, under u.
    """
    i = order[place]
    quantity, units = rows.bundles[t, i], rows.units[t, i]
    if units == 0:
        return -np.inf, np.inf
    rest = value - u[i] * quantity
    if units == IN_PART:
        low, high = part_interval(
            costs, values, behind[0], behind[1], rows.prices[t, i], rows.caps[t, i], quantity, rest, rows.budgets[t],
            memory.spent, memory.gained, corners,
        )  # fmt: skip
    else:
        low, high = whole_interval(
            costs, values, behind, (memory.first[place + 1], memory.last[place + 1]), rows.prices[t, i], units,
            whole_quantity(quantity), rest, (limit_of(rows.stated[t]), rows.budgets[t]), memory.spent, memory.gained,
            corners,
        )  # fmt: skip
    return low, high


@inlined
def corners_at(u: Array, rows: MenuRows, t: int, leave: int, memory: Pass) -> int:
    """Lay out what goods in part are worth, one of them left out; return the corners."""
    return fill_values(
        u, rows.prices[t], rows.units[t], rows.caps[t], leave, memory.spent, memory.gained, memory.ranked
    )


@inlined
def value_of(u: Array, bundle: Array) -> float:
    """Return what a bundle is worth."""
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * bundle[i]
    return total


@compiled
def whole_first(is_whole: NDArray[np.bool_], order: Counts) -> None:
    """Put whole goods before those in part, and leave each group in its order."""
    kept, count = order.copy(), 0
    for wanted in (True, False):
        for i in kept:
            if is_whole[i] == wanted:
                order[count] = i
                count += 1


@compiled
def intervals_of(
    rows: MenuRows, utilities: Array, low: Array, high: Array, is_found: NDArray[np.bool_], start: int, stop: int
) -> None:
    """Leave the intervals of rows start..stop, all at the utilities given."""
    n = utilities.shape[1]
    memory, order = make_pass(n), np.arange(n)
    whole_first(rows.is_whole, order)
    costs, values = np.empty(1024), np.empty(1024)
    for t in range(start, stop):
        u = utilities[t]
        costs, values, end = lay_out(u, rows, t, order, memory, costs, values)
        begin, tail = 0, 1
        value, limit = value_of(u, rows.bundles[t]), limit_of(rows.stated[t])
        corners = corners_at(u, rows, t, -1, memory)
        for place in range(n):
            i = order[place]
            if end < 0:
                is_found[t] = False
                break
            if rows.units[t, i] == IN_PART:
                corners = corners_at(u, rows, t, i, memory)
            low[t, i], high[t, i] = interval_at(
                u, rows, t, order, place, (begin, tail), memory, corners, value, costs, values
            )
            if rows.units[t, i] > 0 and u[i] > 0.0:
                costs, values, stretched = extended(
                    costs, values, begin, tail, rows.prices[t, i], u[i], rows.units[t, i], limit, end
                )
                begin, tail, end = end, stretched, stretched


@compiled
def search_inside(
    rows: MenuRows, points: Array, is_inside: NDArray[np.bool_], most_steps: int, start: int, stop: int
) -> None:
    """Move points of rows start..stop into their regions: each time past the face of a bundle that is better.

    Where it gives up, `points` keeps the last point; with no steps at all, the bundle that is better there.
    """
    n = points.shape[1]
    desk, bundle, prices = make_desk(n), np.empty(n), np.empty(n)
    for t in range(start, stop):
        u, x = points[t], rows.bundles[t]
        for i in range(n):
            prices[i] = rows.prices[t, i] if rows.units[t, i] != 0 else np.inf
        for step in range(most_steps + 1):
            bundle[:] = 0.0
            if not add_best_bundle(u, prices, rows.budgets[t], rows.caps[t], rows.is_whole, bundle, desk):
                break
            gain, square, length, is_same = 0.0, 0.0, 0.0, True
            for i in range(n):
                d = x[i] - bundle[i]
                near = QUANTITY_TOLERANCE * max(1.0, abs(x[i]))
                is_same = is_same and abs(d) <= near
                gain, square, length = gain + u[i] * d, square + d * d, length + u[i] * u[i]
            is_inside[t] = is_same
            if is_same or step == most_steps:
                break
            # Past the face by half the way there, and a little more so that the steps do not shrink to nothing.
            stride = (1.5 * max(-gain, 0.0) + 0.02 * np.sqrt(length * square)) / square
            for i in range(n):
                u[i] += stride * (x[i] - bundle[i])
        if most_steps == 0 and not is_inside[t]:
            u[:] = bundle
