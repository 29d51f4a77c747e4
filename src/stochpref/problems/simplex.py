# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The best bundle under several limits: a simplex method for few rows and bounded goods, compiled.

Rows are few, goods are many: the basis is as small as the number of limits, and is solved anew in every step, so that
errors do not add up. Goods are taken in falling order of utility, whatever their order on the menu, so that the same
customer buys the same to the last bit. Where every limit is zero or more, nothing bought is where to start; elsewhere
`outside_of_limits` says so, and the caller takes a general solver.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.threads import compiled

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TIE: Final = 1e-12  # of the largest utility, and of the largest coefficient of a row
_PATIENCE: Final = 50  # steps a good and row before the rule that cannot cycle takes over

FOUND, UNSTARTED, ENDLESS = 0, 1, 2


class Tables(NamedTuple):
    """Menus as kernels take them.

    use : (M, r, n) of each limit, money first, by a unit of each good. limits : (M, r). caps : (M, n), 0 where a good
    is not on offer.
    """

    use: Array
    limits: Array
    caps: Array


@compiled
def _swap_rows(matrix: Array, i: int, j: int) -> None:
    for k in range(matrix.shape[1]):
        matrix[i, k], matrix[j, k] = matrix[j, k], matrix[i, k]


@compiled
def _reduce(matrix: Array, right: Array, i: int, j: int) -> None:
    """Take so much of row j from row i that its entry j is gone."""
    factor = matrix[i, j] / matrix[j, j]
    for k in range(j, matrix.shape[1]):
        matrix[i, k] -= factor * matrix[j, k]
    for k in range(right.shape[1]):
        right[i, k] -= factor * right[j, k]


@compiled
def solve_small(matrix: Array, right: Array) -> float:
    """Solve in place by elimination with pivots: `right` (m, k) becomes the solution; return the determinant."""
    m, det = matrix.shape[0], 1.0
    for j in range(m):
        best = j
        for i in range(j + 1, m):
            best = i if abs(matrix[i, j]) > abs(matrix[best, j]) else best
        if matrix[best, j] == 0.0:
            return 0.0
        if best != j:
            det = -det
            _swap_rows(matrix, j, best)
            _swap_rows(right, j, best)
        det *= matrix[j, j]
        for i in range(m):
            if i != j and matrix[i, j] != 0.0:
                _reduce(matrix, right, i, j)
    for j in range(m):
        for k in range(right.shape[1]):
            right[j, k] /= matrix[j, j]
    return det


class _Place(NamedTuple):
    """Where the method is, and room to work in.

    goods : (m,) of the basis: goods, and n + i for what is left of limit i. is_basic, at_cap : (n + m,) of all these.
    matrix, worth, both : (m, m), (m, 1) and (m, 2).
    """

    goods: Rows
    is_basic: NDArray[np.bool_]
    at_cap: NDArray[np.bool_]
    matrix: Array
    worth: Array
    both: Array


@compiled
def _rate(use: Array, n: int, i: int, j: int) -> float:
    """Return what a unit of a good, or of what is left of a limit, takes of limit i."""
    return use[i, j] if j < n else (1.0 if i == j - n else 0.0)


@compiled
def _entering(u: Array, use: Array, caps: Array, n: int, place: _Place, least: float, is_careful: bool) -> int:
    """Return what to move: of largest gain, or, carefully, the first with a gain; -1 if nothing gains."""
    m = use.shape[0]
    for i in range(m):
        place.worth[i, 0] = u[place.goods[i]] if place.goods[i] < n else 0.0
        for k in range(m):
            place.matrix[k, i] = _rate(use, n, i, place.goods[k])
    solve_small(place.matrix, place.worth)
    entering = -1
    for j in range(n + m):
        if place.is_basic[j] or (j < n and caps[j] == 0.0):
            continue
        gain = u[j] if j < n else 0.0
        for i in range(m):
            gain -= place.worth[i, 0] * _rate(use, n, i, j)
        gain = -gain if place.at_cap[j] else gain
        if gain > least:
            entering, least = j, gain
            if is_careful:
                break
    return entering


@compiled
def _fill_values(use: Array, limits: Array, caps: Array, n: int, place: _Place, entering: int) -> None:
    """Write how much of the basis there is, and how fast it falls as `entering` grows."""
    m = use.shape[0]
    for i in range(m):
        left = limits[i]
        for j in range(n):
            left -= use[i, j] * caps[j] if place.at_cap[j] else 0.0
        place.both[i, 0] = left
        place.both[i, 1] = _rate(use, n, i, entering) if entering >= 0 else 0.0
        for k in range(m):
            place.matrix[i, k] = _rate(use, n, i, place.goods[k])
    solve_small(place.matrix, place.both)


@compiled
def _leaving(caps: Array, n: int, place: _Place, entering: int) -> tuple[float, int, bool]:
    """Return how far `entering` may go, what leaves the basis then, -1 if nothing, and whether that is at a cap."""
    direction = -1.0 if place.at_cap[entering] else 1.0
    reach, leaving, to_cap = caps[entering] if entering < n else np.inf, -1, False
    for k in range(len(place.goods)):
        rate, value, good = direction * place.both[k, 1], place.both[k, 0], place.goods[k]
        top = caps[good] if good < n else np.inf
        if rate > _TIE:
            length = max(value, 0.0) / rate
        elif rate < -_TIE and top < np.inf:
            length = max(top - value, 0.0) / -rate
        else:
            continue
        if length < reach or (length == reach and leaving >= 0 and good < place.goods[leaving]):
            reach, leaving, to_cap = length, k, rate < 0.0
    return reach, leaving, to_cap


@compiled
def _best_bundle(u: Array, use: Array, limits: Array, caps: Array, n: int, place: _Place, x: Array) -> int:
    """Write the best quantities to x; the first n goods are on offer, in falling order of utility."""
    m, largest = use.shape[0], 0.0
    for i in range(m):
        if limits[i] < 0.0:
            return UNSTARTED
        place.goods[i] = n + i
    for j in range(n + m):
        place.is_basic[j], place.at_cap[j] = j >= n, False
        largest = max(largest, abs(u[j])) if j < n else largest
    patience = _PATIENCE * (n + m)
    for step in range(5 * patience + 1000):
        entering = _entering(u, use, caps, n, place, _TIE * largest, step > patience)
        _fill_values(use, limits, caps, n, place, entering)
        if entering < 0:
            _write(caps, n, place, x)
            return FOUND
        reach, leaving, to_cap = _leaving(caps, n, place, entering)
        if reach == np.inf:
            return ENDLESS
        if leaving < 0:
            place.at_cap[entering] = not place.at_cap[entering]
            continue
        out = place.goods[leaving]
        place.at_cap[out], place.is_basic[out] = to_cap, False
        place.at_cap[entering], place.is_basic[entering] = False, True
        place.goods[leaving] = entering
    return ENDLESS


@compiled
def _takes_all(u: Array, use: Array, limits: Array, caps: Array, n: int, x: Array) -> bool:
    """Write all that is wanted, up to the caps; tell whether it keeps within every limit, so that it is the best."""
    for j in range(n):
        x[j] = caps[j] if u[j] > 0.0 else 0.0
    for i in range(use.shape[0]):
        left = limits[i]
        for j in range(n):
            left -= use[i, j] * x[j] if x[j] > 0.0 else 0.0
        if not left >= 0.0:
            return False
    return True


@compiled
def _write(caps: Array, n: int, place: _Place, x: Array) -> None:
    for j in range(n):
        x[j] = caps[j] if place.at_cap[j] else 0.0
    for k in range(len(place.goods)):
        good = place.goods[k]
        if good < n:
            unit = caps[good] if caps[good] < np.inf else 1.0
            value = place.both[k, 0] if place.both[k, 0] > _TIE * unit else 0.0  # what is rounding is nothing
            x[good] = value if value < caps[good] * (1.0 - _TIE) else caps[good]


@compiled
def _sort_goods(u: Array, caps: Array, order: Rows) -> int:
    """Write the goods on offer in falling order of utility; return their number."""
    count = 0
    for i in range(len(u)):
        if caps[i] > 0.0:
            j = count
            while j > 0 and u[order[j - 1]] < u[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            count += 1
    return count


@compiled
def choose_rows(
    utilities: Array, tables: Tables, rows: tuple[Rows, Rows], bundles: Array, status: NDArray[np.int8], start: int,
    stop: int,
) -> None:  # fmt: skip
    """Fill bundles start..stop, each from a row of utilities and one of the menus."""
    m, n = tables.use.shape[1:]
    use, caps, u, x, limits = np.empty((m, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(m)
    order, flags = np.empty(n, np.int64), np.empty((2, n + m), np.bool_)
    room = np.empty((m, m)), np.empty((m, 1)), np.empty((m, 2))
    place = _Place(np.empty(m, np.int64), flags[0], flags[1], room[0], room[1], room[2])
    for t in range(start, stop):
        own, menu = utilities[rows[0][t]], rows[1][t]
        count = _sort_goods(own, tables.caps[menu], order)
        for k in range(count):
            u[k], caps[k] = own[order[k]], tables.caps[menu, order[k]]
        for i in range(m):  # each row in units of its largest coefficient
            largest = 1e-300
            for k in range(count):
                use[i, k] = tables.use[menu, i, order[k]]
                largest = max(largest, abs(use[i, k]))
            for k in range(count):
                use[i, k] /= largest
            limits[i] = tables.limits[menu, i] / largest
        status[t] = FOUND
        if not _takes_all(u, use, limits, caps, count, x):
            status[t] = _best_bundle(u, use, limits, caps, count, place, x)
        for k in range(count):
            bundles[t, order[k]] = x[k] if status[t] == FOUND else 0.0
