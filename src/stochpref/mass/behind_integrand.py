# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The integrand on the cut: products of Dawson's integrals over a chunk of nodes (η, t), and their derivatives.

`behind` says what is integrated. Here, with x_i = c_i/2η - s_i α_i t, are

    F(x) = D(x) + i (√π/2) exp(-x²),    F' = 1 - 2x F,    P = Π F(x_i),    Q = Σ_f α_f Π_{i≠f} F(x_i) or α_f P or P.

On the real axis numbers are kept as r + i exp(-m) v with m = min x_i², since the imaginary part that is wanted may be
smaller than the real part by any number of digits; for x_i > 0 it is a sum of positive terms. A mean wants F_i replaced
by F_i', from the products before and after it: dividing P by F_i would cancel.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.normal import fast_exp, fast_sincos, half_erfcx
from stochpref.mass.shadow import CHUNK, OMEGA_IM, OMEGA_RE
from stochpref.threads import compiled, compiled_reordering, inlined

Array = NDArray[np.float64]

# Sections of the chunk of nodes (η, t); OMEGA is where `panel_error` looks.
HALF: Final = 0 * CHUNK  # 1/2η
T_RE: Final = 1 * CHUNK  # t
T_IM: Final = 2 * CHUNK
_LEVEL: Final = 3 * CHUNK  # m
_SQUARE: Final = 4 * CHUNK  # exp(-2m): the square of the unit of imaginary parts
EXPONENT: Final = 5 * CHUNK  # logarithm of everything but the product
_Q_RE: Final = 6 * CHUNK  # running sum over f of α_f Π_{i≠f} F_i
_Q_IM: Final = 7 * CHUNK
_P_RE: Final = 8 * CHUNK  # running Π F_i
_P_IM: Final = 9 * CHUNK
PHASE: Final = 10 * CHUNK  # and its imaginary part; later terms of a mean
_TERM: Final = 10 * CHUNK
_ON_RE: Final = 13 * CHUNK  # what a node's product counts: ON_RE · real part + ON_IM · imaginary part
_ON_IM: Final = 14 * CHUNK
# Sections of the table, for every good: F, F', and the running products of the goods before it.
_F_RE, _F_IM, _D_RE, _D_IM, _BEFORE_P_RE, _BEFORE_P_IM, _BEFORE_Q_RE, _BEFORE_Q_IM = (CHUNK * k for k in range(8))
ROW: Final = 8 * CHUNK

_SQRT_2, _SQRT_PI = np.sqrt(2.0), np.sqrt(np.pi)
_FAR = 10.0  # |x| from where twelve terms of the asymptotic series of F' are exact, and 1 - 2x F would cancel
_N_TERMS = 12


class Cut(NamedTuple):
    """A region as the cut sees it: of m goods on a side.

    cost : (m,) c_i.  tilt : (m,) s_i α_i, 0 for slack.  rate : (m,) α_i of goods that may be the lowest bought.
    start : factor of the product: α_f, 1 for slack, 0 for tight, where `rate` takes its place.
    edge : c₀/|a|, infinite for slack.  least : the least of all costs.  power : 1 - n.
    angle : of the way up: π/2, less if one good that was not bought is so dear that its F, upwards, offsets exp(t²).
    """

    cost: Array
    tilt: Array
    rate: Array
    start: float
    edge: float
    least: float
    power: float
    angle: float


class Space(NamedTuple):
    """Working memory, and what the nodes add to.

    work : WORK_SIZE doubles, the chunk.  table : ROW doubles a good.
    totals : (4,) Σ terms, Σ |terms|, errors of panels, Σ terms · t/η.  y : (m,) Σ terms · y, (0,) if not wanted.
    """

    work: Array
    table: Array
    totals: Array
    y: Array


@inlined
def _asymptotic(zr: float, zi: float) -> tuple[float, float]:
    """Return F'(x) of large x from z = 1/2x²: minus Σ (2k-1)!! z^k."""
    sr, si = 0.0, 0.0
    for k in range(_N_TERMS, 0, -1):
        odd = 2.0 * k - 1.0
        ur, ui = odd * sr + odd, odd * si
        sr, si = ur * zr - ui * zi, ur * zi + ui * zr
    return -sr, -si


@inlined
def _real_factor(cost: float, tilt: float, scale: float, is_far: bool, work: Array, table: Array, row: int) -> None:
    """Fill F and F' of one good, times `scale`, at nodes with real t."""
    gauss = 0.5 * _SQRT_PI * scale
    if is_far:
        for k in range(CHUNK):
            x = cost * work[HALF + k] - tilt * work[T_RE + k]
            imaginary = gauss * fast_exp(work[_LEVEL + k] - x * x)
            slope, _ = _asymptotic(0.5 / (x * x), 0.0)
            table[row + _F_RE + k], table[row + _F_IM + k] = scale * (0.5 - 0.5 * slope) / x, imaginary
            table[row + _D_RE + k], table[row + _D_IM + k] = scale * slope, -2.0 * x * imaginary
    else:
        for k in range(CHUNK):
            x = cost * work[HALF + k] - tilt * work[T_RE + k]
            imaginary = gauss * fast_exp(work[_LEVEL + k] - x * x)
            _, dawson = half_erfcx(0.0, _SQRT_2 * x)
            dawson *= -_SQRT_PI * scale
            table[row + _F_RE + k], table[row + _F_IM + k] = dawson, imaginary
            table[row + _D_RE + k], table[row + _D_IM + k] = scale - 2.0 * x * dawson, -2.0 * x * imaginary


@inlined
def _complex_factor(cost: float, tilt: float, scale: float, is_far: bool, work: Array, table: Array, row: int) -> None:
    """Fill F and F' of one good, times `scale`, at nodes with t off the real axis.

    F(x) = (i√π/2) w(-x), w Faddeeva's function, is tame below the real axis; above it w(-x) = 2 exp(-x²) - w(x).
    """
    is_above = tilt < 0.0
    for k in range(CHUNK):
        xr, xi = cost * work[HALF + k] - tilt * work[T_RE + k], -tilt * work[T_IM + k]
        if is_far:
            size = 1.0 / (xr * xr + xi * xi)
            inverse_re, inverse_im = xr * size, -xi * size
            dr, di = _asymptotic(0.5 * (inverse_re * inverse_re - inverse_im * inverse_im), inverse_re * inverse_im)
            ur, ui = 0.5 - 0.5 * dr, -0.5 * di
            fr, fi = ur * inverse_re - ui * inverse_im, ur * inverse_im + ui * inverse_re
        else:
            wr, wi = half_erfcx(_SQRT_2 * abs(xi), -_SQRT_2 * xr if is_above else _SQRT_2 * xr)
            fr, fi = (_SQRT_PI * wi, -_SQRT_PI * wr) if is_above else (-_SQRT_PI * wi, _SQRT_PI * wr)
            dr, di = 1.0 - 2.0 * (xr * fr - xi * fi), -2.0 * (xr * fi + xi * fr)
        if is_above:
            size = _SQRT_PI * fast_exp(xi * xi - xr * xr)
            sine, cosine = fast_sincos(2.0 * xr * xi)
            fr += size * sine
            fi += size * cosine
            dr -= 2.0 * size * (xr * sine - xi * cosine)
            di -= 2.0 * size * (xr * cosine + xi * sine)
        table[row + _F_RE + k], table[row + _F_IM + k] = scale * fr, scale * fi
        table[row + _D_RE + k], table[row + _D_IM + k] = scale * dr, scale * di


@inlined
def _multiply(rate: float, work: Array, table: Array, row: int) -> None:
    """Multiply the running products by one good: Q F + α P and P F."""
    for k in range(CHUNK):
        square = work[_SQUARE + k]
        fr, fi = table[row + _F_RE + k], table[row + _F_IM + k]
        pr, pi, qr, qi = work[_P_RE + k], work[_P_IM + k], work[_Q_RE + k], work[_Q_IM + k]
        work[_Q_RE + k] = qr * fr - square * qi * fi + rate * pr
        work[_Q_IM + k] = qr * fi + qi * fr + rate * pi
        work[_P_RE + k] = pr * fr - square * pi * fi
        work[_P_IM + k] = pr * fi + pi * fr


@inlined
def _keep_products(work: Array, table: Array, row: int) -> None:
    for k in range(CHUNK):
        table[row + _BEFORE_P_RE + k], table[row + _BEFORE_P_IM + k] = work[_P_RE + k], work[_P_IM + k]
        table[row + _BEFORE_Q_RE + k], table[row + _BEFORE_Q_IM + k] = work[_Q_RE + k], work[_Q_IM + k]


@compiled_reordering
def _section_sum(work: Array, section: int) -> float:
    total = 0.0
    for k in range(CHUNK):
        total += work[section + k]
    return total


@inlined
def _mean_terms(work: Array, table: Array, row: int) -> None:
    """Fill TERM with weight × y of one good: -F'/2η in place of F, between the products before it and after it."""
    for k in range(CHUNK):
        square = work[_SQUARE + k]
        pr, pi, qr, qi = work[_P_RE + k], work[_P_IM + k], work[_Q_RE + k], work[_Q_IM + k]
        br, bi = table[row + _BEFORE_P_RE + k], table[row + _BEFORE_P_IM + k]
        cr, ci = table[row + _BEFORE_Q_RE + k], table[row + _BEFORE_Q_IM + k]
        er = cr * pr - square * ci * pi + (br * qr - square * bi * qi)
        ei = cr * pi + ci * pr + (br * qi + bi * qr)
        dr, di = table[row + _D_RE + k], table[row + _D_IM + k]
        value = work[_ON_RE + k] * (er * dr - square * ei * di) + work[_ON_IM + k] * (er * di + ei * dr)
        work[_TERM + k] = -work[HALF + k] * value


@compiled
def _start_products(cut: Cut, is_up: bool, work: Array) -> None:
    """Set m and the running products; off the real axis imaginary parts are not small, and m is 0."""
    for k in range(CHUNK):
        work[_LEVEL + k] = 0.0 if is_up else np.inf
        work[_P_RE + k], work[_P_IM + k] = 1.0, 0.0
        work[_Q_RE + k], work[_Q_IM + k] = cut.start, 0.0
    for j in range(0 if is_up else cut.cost.shape[0]):
        for k in range(CHUNK):
            x = cut.cost[j] * work[HALF + k] - cut.tilt[j] * work[T_RE + k]
            work[_LEVEL + k] = min(work[_LEVEL + k], x * x)
    for k in range(CHUNK):
        work[_SQUARE + k] = fast_exp(-2.0 * work[_LEVEL + k])


@compiled
def _weigh(log_scale: float, space: Space) -> None:
    """Weigh the products and add what counts: the imaginary part of exp(EXPONENT + i PHASE) Q."""
    work, totals = space.work, space.totals
    for k in range(CHUNK):
        weight = fast_exp(min(work[EXPONENT + k] - work[_LEVEL + k] + log_scale, 700.0))
        sine, cosine = fast_sincos(work[PHASE + k])
        on_re, on_im = weight * sine, weight * cosine
        re, im = work[_Q_RE + k], work[_Q_IM + k]
        tr, ti = work[T_RE + k], work[T_IM + k]
        work[_ON_RE + k], work[_ON_IM + k] = on_re, on_im
        work[OMEGA_RE + k], work[OMEGA_IM + k] = on_re * re + on_im * im, 0.0
        work[_TERM + k] = 2.0 * work[HALF + k] * (on_re * (tr * re - ti * im) + on_im * (tr * im + ti * re))
        totals[1] += abs(work[OMEGA_RE + k])
    totals[0] += _section_sum(work, OMEGA_RE)
    totals[3] += _section_sum(work, _TERM)


@compiled
def add_chunk(cut: Cut, is_up: bool, shift: float, space: Space) -> None:
    """Evaluate the chunk, whose HALF, T, EXPONENT and PHASE are set, and add it up; `is_up`: t is not real."""
    m, work, table = cut.cost.shape[0], space.work, space.table
    _start_products(cut, is_up, work)
    log_scale, rate = -shift, np.empty(m)
    for j in range(m):
        first = cut.cost[j] * work[HALF] - cut.tilt[j] * work[T_RE]
        last = cut.cost[j] * work[HALF + CHUNK - 1] - cut.tilt[j] * work[T_RE + CHUNK - 1]
        is_far = min(abs(first), abs(last)) > _FAR and first * last > 0.0
        scale = 1.0 + abs(first + last)  # F is close to 1/2x
        log_scale -= np.log(scale)
        rate[j] = cut.rate[j] * scale  # a term without F_j is without its scale
        _keep_products(work, table, ROW * j)
        if is_up:
            _complex_factor(cut.cost[j], cut.tilt[j], scale, is_far, work, table, ROW * j)
        else:
            _real_factor(cut.cost[j], cut.tilt[j], scale, is_far, work, table, ROW * j)
        _multiply(rate[j], work, table, ROW * j)
    _weigh(log_scale, space)
    if space.y.shape[0] == 0:
        return
    for k in range(CHUNK):
        work[_P_RE + k], work[_P_IM + k] = 1.0, 0.0
        work[_Q_RE + k], work[_Q_IM + k] = 0.0, 0.0
    for j in range(m - 1, -1, -1):
        _mean_terms(work, table, ROW * j)
        space.y[j] += _section_sum(work, _TERM)
        _multiply(rate[j], work, table, ROW * j)
