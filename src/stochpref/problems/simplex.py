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
def solve_small(matrix: Array, right: Array) -> float:
    """Solve in place by elimination with pivots: `right` (m, k) becomes the solution; return the determinant."""
    m, det = matrix.shape[0], 1.0
    for j in range(m):
        best = j + int(np.argmax(np.abs(matrix[j:, j])))
        if matrix[best, j] == 0.0:
            return 0.0
        if best != j:
            det = -det
            _swap_rows(matrix, j, best)
            _swap_rows(right, j, best)
        det *= matrix[j, j]
        for i in range(m):
            factor = matrix[i, j] / matrix[j, j] if i != j else 0.0
            if factor != 0.0:
                matrix[i, j:] -= factor * matrix[j, j:]
                right[i] -= factor * right[j]
    for j in range(m):
        right[j] /= matrix[j, j]
    return det


class _Basis(NamedTuple):
    """Where the method is: goods, then what is left of limit i as n + i, are in the basis, at their cap or at 0."""

    goods: Rows
    is_basic: NDArray[np.bool_]
    at_cap: NDArray[np.bool_]


@compiled
def _rate(use: Array, i: int, j: int) -> float:
    """Return what a unit of a good, or of what is left of a limit, takes of limit i."""
    n = use.shape[1]
    return use[i, j] if j < n else (1.0 if i == j - n else 0.0)


@compiled
def _matrix_of(use: Array, basis: _Basis) -> Array:
    m = use.shape[0]
    matrix = np.empty((m, m))
    for i in range(m):
        for k in range(m):
            matrix[i, k] = _rate(use, i, basis.goods[k])
    return matrix


@compiled
def _entering(u: Array, use: Array, caps: Array, basis: _Basis, least: float, is_careful: bool) -> int:
    """Return what to move: of largest gain, or, carefully, the first with a gain; -1 if nothing gains."""
    m, n = use.shape
    worth = np.zeros((m, 1))
    for i in range(m):
        worth[i, 0] = u[basis.goods[i]] if basis.goods[i] < n else 0.0
    solve_small(np.ascontiguousarray(_matrix_of(use, basis).T), worth)
    entering = -1
    for j in range(n + m):
        if basis.is_basic[j] or (j < n and caps[j] == 0.0):
            continue
        gain = u[j] if j < n else 0.0
        for i in range(m):
            gain -= worth[i, 0] * _rate(use, i, j)
        gain = -gain if basis.at_cap[j] else gain
        if gain > least:
            entering, least = j, gain
            if is_careful:
                break
    return entering


@compiled
def _values(use: Array, limits: Array, caps: Array, basis: _Basis, entering: int) -> Array:
    """Return (m, 2) how much of the basis there is, and how fast it falls as `entering` grows."""
    m, n = use.shape
    both = np.zeros((m, 2))
    for i in range(m):
        both[i, 0] = limits[i]
        for j in range(n):
            if basis.at_cap[j]:
                both[i, 0] -= use[i, j] * caps[j]
        both[i, 1] = _rate(use, i, entering) if entering >= 0 else 0.0
    solve_small(_matrix_of(use, basis), both)
    return both


@compiled
def _leaving(both: Array, caps: Array, basis: _Basis, entering: int) -> tuple[float, int, bool]:
    """Return how far `entering` may go, what leaves the basis then, -1 if nothing, and whether that is at a cap."""
    n, direction = len(caps), -1.0 if basis.at_cap[entering] else 1.0
    reach, leaving, to_cap = caps[entering] if entering < n else np.inf, -1, False
    for k in range(len(both)):
        rate, value, good = direction * both[k, 1], both[k, 0], basis.goods[k]
        top = caps[good] if good < n else np.inf
        if rate > _TIE:
            length = max(value, 0.0) / rate
        elif rate < -_TIE and top < np.inf:
            length = max(top - value, 0.0) / -rate
        else:
            continue
        if length < reach or (length == reach and leaving >= 0 and good < basis.goods[leaving]):
            reach, leaving, to_cap = length, k, rate < 0.0
    return reach, leaving, to_cap


@compiled
def _best_bundle(u: Array, use: Array, limits: Array, caps: Array, x: Array) -> int:
    """Write the best quantities to x; all goods on offer, in falling order of utility."""
    m, n = use.shape
    if np.any(limits < 0.0):
        return UNSTARTED
    basis = _Basis(np.arange(n, n + m), np.zeros(n + m, np.bool_), np.zeros(n + m, np.bool_))
    basis.is_basic[n:] = True
    least = _TIE * np.max(np.abs(u)) if n > 0 else 0.0
    patience = _PATIENCE * (n + m)
    for step in range(5 * patience + 1000):
        entering = _entering(u, use, caps, basis, least, step > patience)
        both = _values(use, limits, caps, basis, entering)
        if entering < 0:
            _write(both, caps, basis, x)
            return FOUND
        reach, leaving, to_cap = _leaving(both, caps, basis, entering)
        if reach == np.inf:
            return ENDLESS
        if leaving < 0:
            basis.at_cap[entering] = not basis.at_cap[entering]
            continue
        out = basis.goods[leaving]
        basis.at_cap[out], basis.is_basic[out] = to_cap, False
        basis.at_cap[entering], basis.is_basic[entering] = False, True
        basis.goods[leaving] = entering
    return ENDLESS


@compiled
def _write(both: Array, caps: Array, basis: _Basis, x: Array) -> None:
    n = len(caps)
    for j in range(n):
        x[j] = caps[j] if basis.at_cap[j] else 0.0
    for k in range(len(both)):
        good = basis.goods[k]
        if good < n:
            unit = caps[good] if caps[good] < np.inf else 1.0
            value = both[k, 0] if both[k, 0] > _TIE * unit else 0.0  # what is rounding is nothing
            x[good] = value if value < caps[good] * (1.0 - _TIE) else caps[good]


@compiled
def choose_rows(
    utilities: Array, tables: Tables, rows: tuple[Rows, Rows], bundles: Array, status: NDArray[np.int8], start: int,
    stop: int,
) -> None:  # fmt: skip
    """Fill bundles start..stop, each from a row of utilities and one of the menus."""
    m, n = tables.use.shape[1:]
    use, caps, u, x = np.empty((m, n)), np.empty(n), np.empty(n), np.empty(n)
    for t in range(start, stop):
        own, menu = utilities[rows[0][t]], rows[1][t]
        order = np.argsort(-own, kind="mergesort")
        count = 0
        for i in order:
            if tables.caps[menu, i] > 0.0:
                order[count] = i
                count += 1
        limits = tables.limits[menu].copy()
        for k in range(count):
            u[k], caps[k] = own[order[k]], tables.caps[menu, order[k]]
            for i in range(m):
                use[i, k] = tables.use[menu, i, order[k]]
        for i in range(m):  # each row in units of its largest coefficient
            largest = 0.0
            for k in range(count):
                largest = max(largest, abs(use[i, k]))
            for k in range(count):
                use[i, k] /= max(largest, 1e-300)
            limits[i] /= max(largest, 1e-300)
        status[t] = _best_bundle(u[:count], use[:, :count], limits, caps[:count], x)
        for k in range(count):
            bundles[t, order[k]] = x[k] if status[t] == FOUND else 0.0
