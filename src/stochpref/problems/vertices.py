# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a bundle at which several limits bind says of a utility: a cone, as its sides and as pieces.

The bundle x is best for u iff no direction y that is allowed at x gains: A_R y ≤ 0 for the rows R that bind, y_i ≤ 0
for goods at their cap, y_j ≥ 0 for goods not bought, anything for goods F in part. The *sides* of the cone are the
edges of those directions, u·y ≤ 0 for each.

Where as many goods are in part as limits bind, u is A_Rᵀλ on them: the shadow prices λ ≥ 0 and the other goods are
coordinates of the cone. Where fewer are, the vertex is *degenerate*: with limits moved from b to b + εd it falls apart
into vertices that are not, whose cones are disjoint and fill that of x. Those are the *pieces*: some rows that bind and
as many goods that count as bought in part.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, AT, BELOW
from stochpref.problems.simplex import solve_small
from stochpref.threads import compiled

Array = NDArray[np.float64]
Sides = NDArray[np.int8]
Places = NDArray[np.int64]

_NOTHING: Final = 1e-10  # of a determinant or a slope, in rows whose largest coefficient is 1
# How far limits are moved apart: numbers without a pattern, lest a tie is left.
_MOVES: Final = np.array([1.0, 1.3247179572, 0.7548776662, 1.4655712319, 0.6823278038, 1.1673039783, 0.8191725134])
MOST_ROWS: Final = len(_MOVES)


@compiled
def _next_combination(picked: Places, size: int, count: int) -> bool:
    """Move to the next way to pick `size` of `count` in order; tell whether there is one."""
    k = size - 1
    while k >= 0 and picked[k] == count - size + k:
        k -= 1
    if k < 0:
        return False
    picked[k] += 1
    for j in range(k + 1, size):
        picked[j] = picked[j - 1] + 1
    return True


@compiled
def _rows_of(mask: int, n_rows: int, rows: Places) -> int:
    count = 0
    for r in range(n_rows):
        if mask >> r & 1:
            rows[count] = r
            count += 1
    return count


@compiled
def _columns(use: Array, rows: Places, m: int, goods: Places) -> Array:
    matrix = np.empty((m, len(goods)))
    for i in range(m):
        for j in range(len(goods)):
            matrix[i, j] = use[rows[i], goods[j]]
    return matrix


@compiled
def _goods_on(side: Sides, wanted_at: bool) -> Places:
    count, goods = 0, np.empty(len(side), np.int64)
    for i in range(len(side)):
        if side[i] != ABSENT and (side[i] == AT) == wanted_at:
            goods[count] = i
            count += 1
    return goods[:count]


@compiled
def _fits(s: int, step: float) -> bool:
    """Tell whether a good on this side may move so: from its cap down, from nothing up, in part anywhere."""
    return (s != ABOVE or step < 0.0) and (s != BELOW or step > 0.0)


@compiled
def _is_among(r: int, rows: Places, m: int) -> bool:
    found = False
    for i in range(m):
        found = found or rows[i] == r
    return found


@compiled
def _reach_of(use: Array, r: int, goods: Places, steps: Array) -> float:
    reach = 0.0
    for k in range(len(goods)):
        reach += use[r, goods[k]] * steps[k, 0]
    return reach


@compiled
def _piece_of(use: Array, side: Sides, rows: Places, m: int, basis: Places) -> float:
    """Return |det A_RF| if these rows and goods are a vertex of the moved limits, else 0."""
    if m == 0:  # nothing moves: every limit has room
        return 1.0
    moves = np.empty((m, 1))
    for i in range(m):
        moves[i, 0] = _MOVES[rows[i]]
    det = abs(solve_small(_columns(use, rows, m, basis), moves))
    is_piece = det >= _NOTHING
    for k in range(m):
        is_piece = is_piece and _fits(side[basis[k]], moves[k, 0])
    for r in range(len(use)):
        is_piece = is_piece and (_is_among(r, rows, m) or _reach_of(use, r, basis, moves) < _MOVES[r])
    return det if is_piece else 0.0


@compiled
def find_pieces(
    use: Array, side: Sides, rows_out: NDArray[np.int8], slope_out: Array, side_out: Sides, log_det: Array
) -> int:
    """Find the pieces of the cone of a bundle and write as many as there is room for; return their number.

    Parameters
    ----------
    use : (r, n) of the rows that bind, the largest coefficient of each 1.
    side : (n,) of each good.
    rows_out, slope_out, side_out, log_det : (P,), (P, r, n), (P, n) and (P,) number of rows of each piece, the rows,
        sides with goods of the basis AT, and the logarithm of the determinant.
    """
    n_rows, n_found = len(use), 0
    in_part, others = _goods_on(side, True), _goods_on(side, False)
    rows = np.empty(n_rows, np.int64)
    for mask in range(1 << n_rows):
        m = _rows_of(mask, n_rows, rows)
        more = m - len(in_part)
        if more < 0 or more > len(others):
            continue
        picked, basis = np.arange(more), np.empty(m, np.int64)
        basis[: len(in_part)] = in_part
        while True:
            for k in range(more):
                basis[len(in_part) + k] = others[picked[k]]
            det = _piece_of(use, side, rows, m, basis)
            if det > 0.0:
                if n_found < len(rows_out):
                    rows_out[n_found], log_det[n_found] = m, np.log(det)
                    slope_out[n_found] = 0.0
                    for i in range(m):
                        slope_out[n_found, i] = use[rows[i]]
                    side_out[n_found] = side
                    for k in range(m):
                        side_out[n_found, basis[k]] = AT
                n_found += 1
            if not _next_combination(picked, more, len(others)):
                break
    return n_found


@compiled
def _edge_of(use: Array, rows: Places, k: int, support: Places, steps: Array) -> bool:
    """Write the direction in which only `support` moves and the rows stay; tell whether there is but one."""
    size, best, best_det = len(support), -1, _NOTHING
    for free in range(size):  # one good moves by 1, whichever leaves the matrix farthest from singular
        rest = np.append(support[:free], support[free + 1 :])
        det = abs(solve_small(_columns(use, rows, k, rest), np.empty((k, 0)))) if k > 0 else 1.0
        if det > best_det:
            best, best_det = free, det
    if best < 0:
        return False
    rest, right = np.append(support[:best], support[best + 1 :]), np.empty((k, 1))
    for j in range(k):
        right[j, 0] = -use[rows[j], support[best]]
    if k > 0:
        solve_small(_columns(use, rows, k, rest), right)
    for j in range(size):
        steps[j, 0] = 1.0 if j == best else right[j if j < best else j - 1, 0]
    return True


@compiled
def _is_allowed(use: Array, side: Sides, rows: Places, k: int, support: Places, steps: Array) -> bool:
    for j in range(len(support)):
        if steps[j, 0] != 0.0 and not _fits(side[support[j]], steps[j, 0]):
            return False
    for r in range(len(use)):
        if not _is_among(r, rows, k) and _reach_of(use, r, support, steps) > _NOTHING:
            return False
    return True


@compiled
def _side_of(use: Array, side: Sides, rows: Places, k: int, support: Places, out: Array) -> bool:
    """Write the side of the cone that belongs to an edge, if `support` and the rows make one that is allowed."""
    steps = np.empty((len(support), 1))
    if not _edge_of(use, rows, k, support, steps):
        return False
    for _ in range(2):
        if _is_allowed(use, side, rows, k, support, steps):
            out[:] = 0.0
            for j in range(len(support)):
                out[support[j]] = -steps[j, 0] / np.sqrt(np.sum(steps * steps))
            return True
        steps *= -1.0
    return False


@compiled
def find_sides(use: Array, side: Sides, out: Array) -> int:
    """Write unit vectors g with g·u ≥ 0 on the cone of a bundle, as many as there is room for; return their number."""
    n_rows, n_found = len(use), 0
    in_part, others = _goods_on(side, True), _goods_on(side, False)
    rows, edge = np.empty(n_rows, np.int64), np.empty(len(side))
    for mask in range(1 << n_rows):
        k = _rows_of(mask, n_rows, rows)
        more = k + 1 - len(in_part)
        if more < 0 or more > len(others):
            continue
        picked, support = np.arange(more), np.empty(k + 1, np.int64)
        support[: len(in_part)] = in_part
        while True:
            for j in range(more):
                support[len(in_part) + j] = others[picked[j]]
            if _side_of(use, side, rows, k, support, edge):
                if n_found < len(out):
                    out[n_found] = edge
                n_found += 1
            if not _next_combination(picked, more, len(others)):
                break
    return n_found


@compiled
def rank_of(use: Array, goods: Places) -> int:
    """Return the rank of the columns of these goods."""
    matrix, rank = _columns(use, np.arange(len(use)), len(use), goods), 0
    for j in range(len(goods)):
        best = rank
        for i in range(rank, len(use)):
            best = i if abs(matrix[i, j]) > abs(matrix[best, j]) else best
        if rank == len(use) or abs(matrix[best, j]) <= _NOTHING:
            continue
        matrix[rank], matrix[best] = matrix[best].copy(), matrix[rank].copy()
        for i in range(rank + 1, len(use)):
            matrix[i, j:] -= matrix[i, j] / matrix[rank, j] * matrix[rank, j:]
        rank += 1
    return rank
