# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The mass of one piece of a corner: the spherical rule over several shadow prices.

`contour` says how the sphere comes in and `prices` where the integrand over the prices lives; `corner_rows` adds up the
pieces. The rest is as in `region`: a cheap attempt with a tabulated rule comes first, and its error estimates decide
whether panels are halved, the support is widened, or the contour has to be summed instead.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABSENT, AT
from stochpref.mass.contour import TABLE_STEP, Rules, contour_step
from stochpref.mass.prices import Grid, Piece, climb, fibre_nodes, frame_of, lay_fibres, on_prices
from stochpref.mass.region import (
    LOG_FACTOR,
    LOG_PI,
    MAX_CONTOUR,
    NODE_Q_IM,
    NODE_Q_RE,
    NODE_SUM_IM,
    NODE_SUM_RE,
    NODE_W_IM,
    NODE_W_RE,
    Scratch,
    rule_error,
    set_contour,
)
from stochpref.mass.shadow import (
    CHUNK,
    LAMBDA,
    LOG_PANEL_WEIGHTS,
    LOG_WEIGHT_IM,
    LOG_WEIGHT_RE,
    OMEGA_IM,
    OMEGA_RE,
    P_IM,
    P_RE,
    PANEL_WEIGHTS,
    Q_IM,
    Q_RE,
    RATE_IM,
    RATE_RE,
    TAIL,
    X_IM,
    X_RE,
    end_size,
    extrapolated_error,
    multiply_good,
    panel_error,
    rescale,
    weigh_chunk,
)
from stochpref.threads import compiled

Array = NDArray[np.float64]

_INV_SQRT_2PI = 1 / np.sqrt(2 * np.pi)
_LOWEST = 0.5  # saddle
_SPARE = 4.0  # how far beyond the tolerance the integrand has fallen where it is cut off
_FARTHER = 8.0
_MOST_FINER: Final = 2
_RESCALE_EVERY = 32


@compiled
def _evaluate(piece: Piece, fibre: Array, work: Array, ratios: Array, prices: Array) -> None:
    """Fill P and X of a chunk whose Q is set: `shadow.evaluate_chunk` with a shadow price for every good."""
    h, side, slope, _ = piece
    last = slope.shape[0] - 1
    fibre_nodes(fibre, last + 1, prices)
    for k in range(CHUNK):
        work[P_RE + k], work[P_IM + k] = 1.0, 0.0
        work[X_RE + k], work[X_IM + k] = 0.0, 0.0
        work[RATE_RE + k], work[RATE_IM + k] = 0.0, 0.0
    for i in range(h.shape[0]):
        fixed = 0.0
        for r in range(last):
            fixed += slope[r, i] * fibre[r]
        if side[i] == ABSENT:
            for k in range(CHUNK):
                mr, mi = h[i] * work[Q_RE + k], h[i] * work[Q_IM + k]
                work[X_RE + k] += 0.5 * (mr * mr - mi * mi)
                work[X_IM + k] += mr * mi
            continue
        for k in range(CHUNK):
            work[LAMBDA + k] = fixed + slope[last, i] * prices[k]
        if side[i] == AT:
            for k in range(CHUNK):
                t = work[LAMBDA + k]
                work[X_RE + k] += t * (h[i] * work[Q_RE + k] - 0.5 * t)
                work[X_IM + k] += t * h[i] * work[Q_IM + k]
                work[P_RE + k] *= _INV_SQRT_2PI
                work[P_IM + k] *= _INV_SQRT_2PI
        else:
            multiply_good(h[i], 1.0, float(side[i]), 0.0, work, ratios, 2 * CHUNK * i)
        if i % _RESCALE_EVERY == _RESCALE_EVERY - 1:
            rescale(work)
    rescale(work)


@compiled
def _given_node(piece: Piece, i: int, q: complex, t: float, r: complex) -> tuple[complex, complex]:
    """Return mean and variance of u_i at a node; r is the good's inverse Mills ratio, t what the prices make of it."""
    if piece.side[i] == ABSENT:
        return q * q * piece.h[i], q * q
    if piece.side[i] == AT:
        return q * t, 0.0j
    s = float(piece.side[i])
    return q * (piece.h[i] * q + s * r), q * q * (1.0 - r * (s * (piece.h[i] * q - t) + r))


@compiled
def _add_moments(piece: Piece, fibre: Array, work: Array, ratios: Array, prices: Array, scratch: Scratch) -> None:
    """Add Re Σ_k ω_k E[u | node k] and, if wanted, the lower triangle of E[u uᵀ | node k]."""
    n, last = piece.h.shape[0], piece.slope.shape[0] - 1
    n_kept = scratch.moments.shape[0]
    mean = np.empty((max(n_kept, 1), CHUNK), np.complex128)
    for i in range(n):
        row = mean[i] if n_kept > 0 else mean[0]
        fixed, total, spread = 0.0, 0.0, 0.0
        for r in range(last):
            fixed += piece.slope[r, i] * fibre[r]
        for k in range(CHUNK):
            omega = complex(work[OMEGA_RE + k], work[OMEGA_IM + k])
            q, t = complex(work[Q_RE + k], work[Q_IM + k]), fixed + piece.slope[last, i] * prices[k]
            mills = complex(ratios[2 * CHUNK * i + k], ratios[2 * CHUNK * i + CHUNK + k])
            row[k], variance = _given_node(piece, i, q, t, mills)
            total += (omega * row[k]).real
            spread += (omega * variance).real
        scratch.means[i] += total
        if n_kept > 0:
            scratch.moments[i, i] += spread
    for i in range(n_kept):
        for j in range(i + 1):
            total = 0.0
            for k in range(CHUNK):
                total += (complex(work[OMEGA_RE + k], work[OMEGA_IM + k]) * mean[i, k] * mean[j, k]).real
            scratch.moments[i, j] += total


@compiled
def _integrate(
    piece: Piece, start: int, stop: int, fibres: Array, shift: float, scratch: Scratch
) -> tuple[float, float, float]:
    """Fill the sums of nodes start..stop; return Σ |terms|, the error of the rules over prices, and what is cut off."""
    work, ratios, nodes = scratch.work, scratch.ratios, scratch.nodes
    prices, tails = np.empty(CHUNK), np.zeros((2, 4), np.complex128)
    size, error, cut = 0.0, 0.0, 0.0
    nodes[NODE_SUM_RE, start:stop] = 0.0
    nodes[NODE_SUM_IM, start:stop] = 0.0
    for j in range(start, stop):
        tails[:] = 0.0
        for f in range(fibres.shape[0]):
            fibre = fibres[f]
            extent = np.log(fibre[3]) + fibre[4]
            for k in range(CHUNK):
                work[Q_RE + k], work[Q_IM + k] = nodes[NODE_Q_RE, j], nodes[NODE_Q_IM, j]
                work[LOG_WEIGHT_RE + k] = nodes[NODE_W_RE, j] + LOG_PANEL_WEIGHTS[k] + extent
                work[LOG_WEIGHT_IM + k] = nodes[NODE_W_IM, j]
            _evaluate(piece, fibre, work, ratios, prices)
            own = weigh_chunk(work, False, shift)
            size += own
            found = 0.0j
            for k in range(CHUNK):
                found += complex(work[OMEGA_RE + k], work[OMEGA_IM + k])
            nodes[NODE_SUM_RE, j] += found.real
            nodes[NODE_SUM_IM, j] += found.imag
            ends = int(fibre[5])
            cut += end_size(work, ends & 2 > 0, ends & 1 > 0) + (own / PANEL_WEIGHTS[0] / 50.0 if ends & 4 > 0 else 0.0)
            error += panel_error(work)
            for d in range(2):
                node = int(fibre[6 + d])
                for c in range(4 if node >= 0 else 0):
                    tails[d, c] += TAIL[c, node] * found / PANEL_WEIGHTS[node]
            if scratch.means.shape[0] > 0:
                _add_moments(piece, fibre, work, ratios, prices, scratch)
        for d in range(2):
            middle, last = max(abs(tails[d, 0]), abs(tails[d, 1])), max(abs(tails[d, 2]), abs(tails[d, 3]))
            error += extrapolated_error(middle, last, 6.0, float(CHUNK))
    return size, error, cut


@compiled
def _clear(scratch: Scratch) -> None:
    scratch.means[:] = 0.0
    scratch.moments[:] = 0.0


@compiled
def _sum_rule(
    piece: Piece, rules: Rules, row: int, fibres: Array, shift: float, scratch: Scratch
) -> tuple[float, float, float, float]:
    """Sum a tabulated rule; return the sum, Σ |terms|, the error in all and what was cut off."""
    nodes, n_nodes = scratch.nodes, rules.n_nodes[row]
    for j in range(n_nodes):
        nodes[NODE_Q_RE, j], nodes[NODE_Q_IM, j] = rules.node_re[row, j], rules.node_im[row, j]
        nodes[NODE_W_RE, j], nodes[NODE_W_IM, j] = rules.log_weight_re[row, j], rules.log_weight_im[row, j]
    _clear(scratch)
    size, error, cut = _integrate(piece, 0, n_nodes, fibres, shift, scratch)
    total, in_q = rule_error(rules, row, nodes)
    return total, size, error + in_q, cut


@compiled
def _sum_contour(
    piece: Piece, s0: float, steepness: float, fibres: Array, shift: float, tolerance: float, scratch: Scratch
) -> tuple[float, float, float, float]:
    """Sum the contour until its terms vanish; every other node says what the sum errs by."""
    nodes, n = scratch.nodes, piece.h.shape[0]
    step = contour_step(s0, steepness, np.log(0.1 * tolerance))
    _clear(scratch)
    size, error, cut, total, other, start = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    while start < MAX_CONTOUR:
        count = set_contour(nodes, n, np.sqrt(s0), step, start, start + 4, 1)
        more = _integrate(piece, 0, count, fibres, shift, scratch)
        size, error, cut = size + more[0], error + more[1], cut + more[2]
        largest = 0.0
        for j in range(count):
            total += nodes[NODE_SUM_RE, j]
            other += nodes[NODE_SUM_RE, j] if (start + j) % 2 == 0 else 0.0
            largest = max(largest, np.hypot(nodes[NODE_SUM_RE, j], nodes[NODE_SUM_IM, j]))
        start += 4
        if largest < 0.03 * tolerance * max(abs(total), 1e-3 * size):
            break
    seen = abs(2.0 * other - total) / abs(total) if total != 0.0 else 1.0
    # The error of every other node, squared: halving the step squares it at the least.
    return total, size, error + min(seen, 1.0) ** 2 * abs(total), cut


@compiled
def _find_saddle(piece: Piece, prices: Array) -> tuple[float, float, bool]:
    """Return the saddle s₀, -d log E|z|² / d log s, and whether there is one, as `contour.find_saddle`."""
    h, n = piece.h, piece.h.shape[0]
    gradient, hessian = np.empty(3), np.empty((3, 3))
    s = 0.25 * (n + np.sqrt(n * n + 4.0 * np.sum(h * h)))
    steepness, old_log, old_x, excess = 1.5, 0.0, 0.0, 0.0
    for step in range(40):
        q = 1.0 / np.sqrt(2.0 * s)
        climb(piece, q, prices, 0, gradient, hessian)
        _, moment = on_prices(piece, q, prices, gradient, hessian)
        x, excess = np.log(s), np.log(moment)
        if step > 0 and abs(x - old_x) > 1e-9:
            steepness = min(max(-(excess - old_log) / (x - old_x), 0.3), 2.5)
        if abs(excess) < 0.1 / np.sqrt(s) or (s <= _LOWEST and excess < 0.0):
            break
        old_log, old_x = excess, x
        s = max(s * np.exp(min(max(excess / steepness, -3.0), 3.0)), _LOWEST)
    return s, steepness, abs(excess) < 0.2


@compiled
def priced_mass(piece: Piece, rules: Rules, tolerance: float, fibres: Array, scratch: Scratch) -> tuple[float, float]:
    """Return log ∫_{piece} exp(h·u) du over the sphere and an estimate of its error; moments stay in `scratch`."""
    h, n = piece.h, piece.h.shape[0]
    prices, work = np.ones(3), np.empty((5, 3))
    s0, steepness, has_saddle = _find_saddle(piece, prices)
    q0 = 1.0 / np.sqrt(2.0 * s0)
    frame = frame_of(piece, q0, prices)
    shift = s0 + 0.5 * (1 - n) * np.log(s0) + np.sum(h * h) / (4.0 * s0) + frame.top
    tolerance = max(tolerance, 1e-15 * (10.0 + abs(shift)))
    row = int(np.round((np.sqrt(s0) - rules.low) / TABLE_STEP))
    has_rule = has_saddle and 0 <= row < rules.n_nodes.shape[0]
    reach, finer = _SPARE - np.log(tolerance), 0
    total, size, error, cut = 0.0, 0.0, np.inf, 0.0
    for _ in range(_MOST_FINER + 2):
        count = lay_fibres(piece, Grid(q0, reach, finer), frame, work, fibres)
        if count < 0:
            break
        error = np.inf
        if has_rule:
            total, size, error, cut = _sum_rule(piece, rules, row, fibres[:count], shift, scratch)
        if not error <= 10.0 * tolerance * total:
            total, size, error, cut = _sum_contour(piece, s0, steepness, fibres[:count], shift, tolerance, scratch)
        is_short, is_coarse = not cut <= tolerance * abs(total), not error <= 10.0 * tolerance * total
        if finer == _MOST_FINER or not (is_short or is_coarse):
            break
        reach += _FARTHER if is_short else 0.0
        finer += 1 if is_coarse else 0
    if not total > 0.0:
        return np.nan, np.inf
    scratch.means[:] /= total
    scratch.moments[:] /= total
    rounding = 3e-16 * (size / total) * (20.0 + np.sqrt(float(n)) + abs(shift))
    value = np.log(total) + shift + LOG_FACTOR + 0.5 * n * LOG_PI + piece.log_det
    return value, (error + cut) / total + rounding + tolerance
