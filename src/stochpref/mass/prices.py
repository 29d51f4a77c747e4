# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The integral over several shadow prices: where its integrand lives, on the real axis.

A piece of a corner has prices λ ∈ ℝ^m, λ ≥ 0, and as many goods in part. With t = Aᵀλ and w ~ N(m, I), m = h q,

    g = |det A_F| ∫ Π_F φ(t_f - m_f) Π_sides Φ(s_i (m_i - t_i)) dλ,

log-concave in λ. Its mode (with Σ log λ_j added, so that Newton's method stays inside) and the Cholesky factor L of the
inverse Hessian there give coordinates λ = λ* + L t in which it is a bell of width 1; as L is triangular, λ_j ≥ 0 bounds
t_j once those before are known. Of every coordinate the range is sought in which the most that those after leave
falls by no more than `reach`: a Gauss–Legendre rule of panels in each, the last of them a chunk of `shadow`.
The same real nodes serve all complex q.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABSENT, AT
from stochpref.mass.normal import fast_exp, half_erfcx
from stochpref.mass.shadow import CHUNK, PANEL_NODES, PANEL_WEIGHTS
from stochpref.threads import compiled

Array = NDArray[np.float64]
Sides = NDArray[np.int8]

_INV_SQRT_2PI = 1 / np.sqrt(2 * np.pi)
_PANEL_WIDTH = 16.0  # widths 1/slope of a good that a panel resolves
_ACTIVE = 9.0
MAX_FIBRES: Final = 1 << 14
FIBRE: Final = 8  # of a line: prices at its start, length, log-weight, whether it is an end, nodes of what comes before


class Piece(NamedTuple):
    """One piece of a corner at one h.

    h, side : (n,). slope : (m, n). log_det : of the slopes of the goods that are AT.
    """

    h: Array
    side: Sides
    slope: Array
    log_det: float


@compiled
def on_prices(piece: Piece, q: float, prices: Array, gradient: Array, hessian: Array) -> tuple[float, float]:
    """Return the log-integrand at real q and E|z|²; fill its gradient and minus its Hessian in the prices."""
    h, side, slope, _ = piece
    m = slope.shape[0]
    value, product, moment = 0.0, 1.0, 0.0
    gradient[:m] = 0.0
    hessian[:m, :m] = 0.0
    for i in range(h.shape[0]):
        mean, t = q * h[i], 0.0
        for k in range(m):
            t += slope[k, i] * prices[k]
        if side[i] == ABSENT:
            moment += 1.0 + mean * mean
            continue
        if side[i] == AT:
            value -= 0.5 * (t - mean) * (t - mean)
            first, second = mean - t, 1.0
            moment += 1.0 + t * t
        else:
            s = float(side[i])
            z = s * (mean - t)
            c, _ = half_erfcx(abs(z), 0.0)
            gauss = fast_exp(-0.5 * z * z)
            factor = c if z <= 0.0 else 1.0 - gauss * c
            r = (1.0 if z <= 0.0 else gauss) * _INV_SQRT_2PI / factor
            product *= factor
            value -= 0.5 * z * z if z <= 0.0 else 0.0
            first, second = -s * r, r * (z + r)
            moment += 1.0 + mean * mean + s * r * (mean + t)
        for k in range(m):
            gradient[k] += first * slope[k, i]
            for j in range(k + 1):
                hessian[k, j] += second * slope[k, i] * slope[j, i]
        if product < 1e-200:
            value += np.log(product)
            product = 1.0
    for k in range(m):
        for j in range(k):
            hessian[j, k] = hessian[k, j]
    return value + np.log(product), moment * q * q


@compiled
def factor_of(matrix: Array, m: int, lower: Array) -> bool:
    """Write L with L Lᵀ = matrix; tell whether it is positive definite."""
    for i in range(m):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                lower[i, i] = np.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]
    return True


@compiled
def _add_walls(prices: Array, first: int, m: int, gradient: Array, hessian: Array) -> float:
    """Add Σ log λ_j over the prices from `first`, to its gradient and to minus its Hessian; return it."""
    total = 0.0
    for k in range(first, m):
        gradient[k] += 1.0 / prices[k]
        hessian[k, k] += 1.0 / (prices[k] * prices[k])
        total += np.log(prices[k])
    return total


@compiled
def _newton_step(gradient: Array, hessian: Array, first: int, m: int, lower: Array, step: Array) -> float:
    """Write Newton's step of the prices from `first`; return what it gains twice over, -1 where there is none."""
    size = m - first
    if size == 0 or not factor_of(hessian[first:, first:], size, lower):
        return -1.0
    gain = 0.0
    for i in range(size):
        step[i] = gradient[first + i]
        for k in range(i):
            step[i] -= lower[i, k] * step[k]
        step[i] /= lower[i, i]
        gain += step[i] * step[i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            step[i] -= lower[k, i] * step[k]
        step[i] /= lower[i, i]
    return gain


@compiled
def climb(piece: Piece, q: float, prices: Array, first: int, gradient: Array, hessian: Array) -> float:
    """Move prices `first` and after to the mode of the log-integrand + Σ log λ_j, from where they are, all positive.

    Returns the log-integrand there, without that sum.
    """
    m = piece.slope.shape[0]
    lower, step, old = np.empty((3, 3)), np.empty(3), np.empty(3)
    value, _ = on_prices(piece, q, prices, gradient, hessian)
    for _ in range(60):
        before = value + _add_walls(prices, first, m, gradient, hessian)
        gain = _newton_step(gradient, hessian, first, m, lower, step)
        if gain < 1e-3:
            return value
        length = 1.0
        for k in range(first, m):
            old[k] = prices[k]
            length = min(length, -0.9 * old[k] / step[k - first]) if step[k - first] < 0.0 else length
        for _ in range(30):
            after = 0.0
            for k in range(first, m):
                prices[k] = old[k] + length * step[k - first]
                after += np.log(prices[k])
            value, _ = on_prices(piece, q, prices, gradient, hessian)
            if value + after >= before + 0.1 * length * gain:
                break
            length *= 0.5
    return value


class Frame(NamedTuple):
    """Coordinates of the prices: λ = mode + factor · t. `top` is the log-integrand at the mode."""

    mode: Array
    factor: Array
    top: float


@compiled
def frame_of(piece: Piece, q: float, prices: Array) -> Frame:
    """Return coordinates at the mode, sought from some prices, which are moved there."""
    m = piece.slope.shape[0]
    gradient, hessian = np.empty(3), np.empty((3, 3))
    top = climb(piece, q, prices, 0, gradient, hessian)
    on_prices(piece, q, prices, gradient, hessian)
    _add_walls(prices, 0, m, gradient, hessian)
    inverse, factor = np.linalg.inv(np.ascontiguousarray(hessian[:m, :m])), np.zeros((3, 3))
    factor_of(inverse, m, factor)
    return Frame(prices.copy(), factor, top)


@compiled
def _fall(piece: Piece, q: float, frame: Frame, base: Array, j: int, t: float, work: Array) -> float:
    """Return how far below the top the integrand stays with coordinate j at t, those before at `base`."""
    m = piece.slope.shape[0]
    gradient, hessian, prices = work[0], work[1:4], work[4]
    for k in range(m):
        prices[k] = base[k] + frame.factor[k, j] * t
        if k > j:
            prices[k] = max(prices[k], 0.05 * frame.mode[k])
    prices[j] = max(prices[j], 0.0)
    return frame.top - climb(piece, q, prices, j + 1, gradient, hessian)


@compiled
def _range_of(
    piece: Piece, q: float, frame: Frame, base: Array, j: int, reach: float, work: Array
) -> tuple[float, float]:
    """Return the ends of coordinate j: where the integrand has fallen by `reach` below its most on this line."""
    scale = frame.factor[j, j]
    least = -base[j] / scale
    middle = max(0.0, least)
    bottom = _fall(piece, q, frame, base, j, middle, work)
    # Uphill first: the mode of this line may be far from that of all.
    step, best = 1.0, bottom
    for _ in range(60):
        up, down = _fall(piece, q, frame, base, j, middle + step, work), np.inf
        if up < best:
            middle, best = middle + step, up
            step *= 1.6
            continue
        if middle - step > least:
            down = _fall(piece, q, frame, base, j, middle - step, work)
        if down < best:
            middle, best = middle - step, down
            step *= 1.6
            continue
        if step < 1.2:
            break
        step *= 0.5
    target = best + reach
    high = _end_of(piece, q, frame, base, j, middle, np.inf, target, work)
    low = _end_of(piece, q, frame, base, j, middle, least, target, work)
    return low, high


@compiled
def _end_of(
    piece: Piece, q: float, frame: Frame, base: Array, j: int, start: float, bound: float, target: float, work: Array
) -> float:
    sign = 1.0 if bound > start else -1.0
    if bound < np.inf and _fall(piece, q, frame, base, j, bound, work) <= target + 2.0:
        return bound
    inside, outside = start, start + sign * 7.5
    if sign < 0.0:
        outside = max(outside, bound)
    for _ in range(60):
        fall = _fall(piece, q, frame, base, j, outside, work)
        if fall >= target:
            break
        inside, outside = outside, outside + 1.5 * (outside - start)
        if sign < 0.0:
            outside = max(outside, bound)
    for _ in range(40):
        if fall <= target + 3.0:
            break
        middle = 0.5 * (inside + outside)
        found = _fall(piece, q, frame, base, j, middle, work)
        if found >= target:
            outside, fall = middle, found
        else:
            inside = middle
    return outside


@compiled
def _n_panels(piece: Piece, q: float, frame: Frame, base: Array, j: int, low: float, high: float) -> int:
    """Return how many panels resolve every good whose threshold is near."""
    finest, m = 0.0, piece.slope.shape[0]
    for i in range(piece.h.shape[0]):
        if piece.side[i] == ABSENT:
            continue
        rate, t = 0.0, 0.0
        for k in range(m):
            rate += piece.slope[k, i] * frame.factor[k, j]
            t += piece.slope[k, i] * base[k]
        first, last = q * piece.h[i] - t - rate * low, q * piece.h[i] - t - rate * high
        if min(first, last) < _ACTIVE and max(first, last) > -_ACTIVE:
            finest = max(finest, abs(rate))
    return max(int(np.ceil((high - low) * finest / _PANEL_WIDTH)), 1)


class Grid(NamedTuple):
    """How lines are laid.

    q, reach : of the real axis; how far the integrand falls before it is cut off.
    finer : how often panels are halved beyond what slopes ask for.
    """

    q: float
    reach: float
    finer: int


@compiled
def _lay_line(
    piece: Piece, grid: Grid, frame: Frame, base: Array, log_weight: float, is_end: bool, nodes: tuple[int, int],
    work: Array, fibres: Array, count: int,
) -> int:  # fmt: skip
    """Write the lines of the last coordinate to `fibres`, from `count`; return how many there are then, -1 if too many.

    Parameters
    ----------
    base, log_weight : prices where it is 0 and those before are set, and their weight.
    is_end : one of those is the first or last node of its range, where nothing should be left.
    nodes : of the first coordinate and of the second, where they are set; -1 elsewhere.
    """
    m = piece.slope.shape[0]
    j = m - 1
    low, high = _range_of(piece, grid.q, frame, base, j, grid.reach, work)
    n_panels = _n_panels(piece, grid.q, frame, base, j, low, high) << grid.finer
    length = (high - low) / n_panels
    at_bound = low <= -base[j] / frame.factor[j, j]
    if count < 0 or count + n_panels > MAX_FIBRES:
        return -1
    for panel in range(n_panels):
        for k in range(m):
            fibres[count, k] = base[k]
        fibres[count, j] = max(base[j] + frame.factor[j, j] * (low + panel * length), 0.0)
        fibres[count, 3] = frame.factor[j, j] * length
        fibres[count, 4] = log_weight
        fibres[count, 5] = (1 if panel == n_panels - 1 else 0) + (2 if panel == 0 and not at_bound else 0)
        fibres[count, 5] += 4 if is_end else 0
        fibres[count, 6], fibres[count, 7] = nodes
        count += 1
    return count


@compiled
def _lay_plane(
    piece: Piece, grid: Grid, frame: Frame, base: Array, log_weight: float, is_end: bool, outer: int, work: Array,
    fibres: Array, count: int,
) -> int:  # fmt: skip
    """Do so for every node of the coordinate before the last; `outer` is the node of one before that, -1 for none."""
    m = piece.slope.shape[0]
    j, inner = m - 2, np.empty(3)
    low, high = _range_of(piece, grid.q, frame, base, j, grid.reach, work)
    n_panels = _n_panels(piece, grid.q, frame, base, j, low, high) << grid.finer
    length = (high - low) / n_panels
    at_bound = low <= -base[j] / frame.factor[j, j]
    for panel in range(n_panels):
        for node in range(CHUNK):
            is_last = (panel == n_panels - 1 and node == CHUNK - 1) or (panel == 0 and node == 0 and not at_bound)
            weight = log_weight + _node_of(frame, base, j, low + panel * length, length, node, m, inner)
            nodes = (node, -1) if outer < 0 else (outer, node)
            count = _lay_line(piece, grid, frame, inner, weight, is_end or is_last, nodes, work, fibres, count)
    return count


@compiled
def _node_of(frame: Frame, base: Array, j: int, left: float, length: float, node: int, m: int, prices: Array) -> float:
    """Write the prices at a node of coordinate j; return the logarithm of its weight."""
    t = left + PANEL_NODES[node] * length
    for k in range(m):
        prices[k] = base[k] + frame.factor[k, j] * t
    return np.log(PANEL_WEIGHTS[node] * length * frame.factor[j, j])


@compiled
def lay_fibres(piece: Piece, grid: Grid, frame: Frame, work: Array, fibres: Array) -> int:
    """Write lines of the last coordinate, with the weights of those before; return their number, -1 if too many."""
    m = piece.slope.shape[0]
    if m == 1:
        return _lay_line(piece, grid, frame, frame.mode, 0.0, False, (-1, -1), work, fibres, 0)
    if m == 2:
        return _lay_plane(piece, grid, frame, frame.mode, 0.0, False, -1, work, fibres, 0)
    count, inner = 0, np.empty(3)
    low, high = _range_of(piece, grid.q, frame, frame.mode, 0, grid.reach, work)
    n_panels = _n_panels(piece, grid.q, frame, frame.mode, 0, low, high) << grid.finer
    length = (high - low) / n_panels
    at_bound = low <= -frame.mode[0] / frame.factor[0, 0]
    for panel in range(n_panels):
        for node in range(CHUNK):
            is_last = (panel == n_panels - 1 and node == CHUNK - 1) or (panel == 0 and node == 0 and not at_bound)
            weight = _node_of(frame, frame.mode, 0, low + panel * length, length, node, m, inner)
            count = _lay_plane(piece, grid, frame, inner, weight, is_last, node, work, fibres, count)
    return count


@compiled
def fibre_nodes(fibre: Array, m: int, prices: Array) -> None:
    """Write the last price at every node of a line."""
    for k in range(CHUNK):
        prices[k] = fibre[m - 1] + fibre[3] * PANEL_NODES[k]
