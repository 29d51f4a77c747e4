# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The integral over the shadow price of money: mass of a region under a Gaussian with a complex mean.

Given the shadow price λ the goods are independent. For w ~ N(m, I) with m = h q, and with side s_i = ±1, slope a_i,

    z_i = s_i (m_i - a_i λ),    D(λ) = Π Φ(z_i),    r(z) = φ(z)/Φ(z),

    slack  D(0)        pivot  ∫₀^∞ a_f φ(a_f λ - m_f) D(λ) dλ        tight  ∫₀^∞ (Σ_above a_i r(z_i)) D(λ) dλ,

the last because the lowest ratio bought has survival function Π_above Φ. Everything below is one of two views of that:
the real line, to find where the integrand lives (mode, support, panels), and a *chunk* of nodes (q, λ), complex in q,
evaluated together in vector code.

Exponents are kept apart from factors. With A_i = m_i²/2 and B_i = a_i λ (m_i - a_i λ/2), so that A_i - z_i²/2 = B_i,
`exp(m_i²/2) Φ(z_i)` is exp(B_i) w(-z_i) on the left, exp(A_i) (1 - exp(-z²/2) w(z_i)) on the right: neither exponent
cancels against the Gaussian's normaliser, which for far regions would cost every digit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, AT, BELOW
from stochpref.mass.normal import fast_exp, fast_sincos, half_erfcx
from stochpref.threads import compiled, inlined, inlined_reordering

Array = NDArray[np.float64]
Sides = NDArray[np.int8]

# Nodes evaluated together: one Gauss–Legendre panel, or the contour nodes of a slack region. 32 points integrate a
# Gaussian over 14 standard deviations to 1e-14; the compiler makes vector code of 16 or 32, not of 24.
CHUNK: Final = 32
MAX_PANELS: Final = 256
_INV_SQRT_2PI = 1 / np.sqrt(2 * np.pi)
_RESCALE_EVERY = 32  # goods between renormalisations of the running product: 32 factors of 1e-7 do not underflow

# Sections of the work array, CHUNK doubles each. One array with constant offsets lets the compiler prove that the
# sections do not overlap, without which it would not use vector units.
Q_RE: Final = 0 * CHUNK  # q, the scale of the mean
Q_IM: Final = 1 * CHUNK
LAMBDA: Final = 2 * CHUNK  # shadow price
P_RE: Final = 3 * CHUNK  # running product of factors
P_IM: Final = 4 * CHUNK
X_RE: Final = 5 * CHUNK  # running sum of exponents
X_IM: Final = 6 * CHUNK
RATE_RE: Final = 7 * CHUNK  # Σ_above a_i r_i
RATE_IM: Final = 8 * CHUNK
LOG_WEIGHT_RE: Final = 9 * CHUNK  # logarithm of the node's weight
LOG_WEIGHT_IM: Final = 10 * CHUNK
OMEGA_RE: Final = 11 * CHUNK  # weight × integrand
OMEGA_IM: Final = 12 * CHUNK
BASE_RE: Final = 13 * CHUNK  # the same without RATE, which may be too small to divide by
BASE_IM: Final = 14 * CHUNK
WORK_SIZE: Final = 15 * CHUNK

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(CHUNK)
PANEL_NODES: Final = np.ascontiguousarray((_NODES + 1) / 2)  # on [0, 1]
PANEL_WEIGHTS: Final = np.ascontiguousarray(_WEIGHTS / 2)
LOG_PANEL_WEIGHTS: Final = np.log(PANEL_WEIGHTS)
# Rows map values at the nodes to Legendre coefficients: two in the middle, the last two.
_TAIL_DEGREES: Final = np.array([CHUNK - 8, CHUNK - 7, CHUNK - 2, CHUNK - 1])
TAIL: Final = np.stack(
    [(k + 0.5) * _WEIGHTS * np.polynomial.legendre.Legendre.basis(int(k))(_NODES) for k in _TAIL_DEGREES]
)


class Cone(NamedTuple):
    """One observation at one h, as the kernels read it.

    h : (n,) natural parameter κμ.
    side, slope : (n,) of the observation, the largest slope scaled to 1.
    pivot : index of the good bought in part, -1 where there is none.
    is_tight : money binds and both sides of the shadow price are occupied, by no good in part.
    """

    h: Array
    side: Sides
    slope: Array
    pivot: int
    is_tight: bool


@inlined
def multiply_good(h: float, a: float, s: float, rate: float, work: Array, ratios: Array, offset: int) -> None:
    """Multiply the chunk by one good and store its inverse Mills ratio r at ``ratios[offset:]``."""
    for k in range(CHUNK):
        mr, mi = h * work[Q_RE + k], h * work[Q_IM + k]
        t = a * work[LAMBDA + k]
        zr, zi = s * (mr - t), s * mi
        is_left = zr <= 0.0
        cr, ci = half_erfcx(abs(zr), -zi if is_left else zi)
        gr, gi = 0.5 * (zr * zr - zi * zi), zr * zi
        # E = exp(-g) or its inverse, whichever decays: 1 - E w would overflow beyond 45 degrees, exp(g) - w does not.
        decays = gr >= 0.0
        size = fast_exp(-abs(gr))
        sine, cosine = fast_sincos(gi)
        er, ei = size * cosine, -size * sine if decays else size * sine
        is_plain = (zr > 0.0) & decays
        fr = 1.0 - (er * cr - ei * ci) if decays else er - cr
        fi = -(er * ci + ei * cr) if decays else ei - ci
        fr, fi = cr if is_left else fr, ci if is_left else fi
        work[X_RE + k] += 0.5 * (mr * mr - mi * mi) if is_plain else t * (mr - 0.5 * t)
        work[X_IM + k] += mr * mi if is_plain else t * mi
        pr, pi = work[P_RE + k], work[P_IM + k]
        work[P_RE + k] = pr * fr - pi * fi
        work[P_IM + k] = pr * fi + pi * fr
        nr, ni = er if is_plain else 1.0, ei if is_plain else 0.0
        d = _INV_SQRT_2PI / (fr * fr + fi * fi)
        rr, ri = (nr * fr + ni * fi) * d, (ni * fr - nr * fi) * d
        ratios[offset + k] = rr
        ratios[offset + CHUNK + k] = ri
        work[RATE_RE + k] += rate * rr
        work[RATE_IM + k] += rate * ri


@compiled
def rescale(work: Array) -> None:
    """Move the size of the running product into the exponent, before it can underflow."""
    for k in range(CHUNK):
        size = abs(work[P_RE + k]) + abs(work[P_IM + k])
        if size > 0.0:
            work[P_RE + k] /= size
            work[P_IM + k] /= size
            work[X_RE + k] += np.log(size)


@compiled
def evaluate_chunk(cone: Cone, work: Array, ratios: Array) -> None:
    """Fill P, X and RATE of a chunk whose Q and LAMBDA are set; `ratios` gets r of every good, 2·CHUNK doubles each.

    ``exp(X) P`` is then exp(Σ m_i²/2) times the product of all factors: Φ for goods on a side, the density of the
    pivot good, and Σ_above a_i r_i for tight regions (in RATE, not yet multiplied in).
    """
    h, side, slope, pivot, is_tight = cone
    for k in range(CHUNK):
        work[P_RE + k], work[P_IM + k] = 1.0, 0.0
        work[X_RE + k], work[X_IM + k] = 0.0, 0.0
        work[RATE_RE + k], work[RATE_IM + k] = 0.0, 0.0
    n_since = 0
    for i in range(h.shape[0]):
        if side[i] == ABOVE or side[i] == BELOW:
            rate = slope[i] if is_tight and side[i] == ABOVE else 0.0
            multiply_good(h[i], slope[i], float(side[i]), rate, work, ratios, 2 * CHUNK * i)
            n_since += 1
            if n_since == _RESCALE_EVERY:
                rescale(work)
                n_since = 0
        elif side[i] != AT:
            for k in range(CHUNK):  # absent: the whole Gaussian
                mr, mi = h[i] * work[Q_RE + k], h[i] * work[Q_IM + k]
                work[X_RE + k] += 0.5 * (mr * mr - mi * mi)
                work[X_IM + k] += mr * mi
    if pivot >= 0:
        density = slope[pivot] * _INV_SQRT_2PI
        for k in range(CHUNK):
            t = slope[pivot] * work[LAMBDA + k]
            work[X_RE + k] += t * (h[pivot] * work[Q_RE + k] - 0.5 * t)
            work[X_IM + k] += t * h[pivot] * work[Q_IM + k]
            work[P_RE + k] *= density
            work[P_IM + k] *= density
    rescale(work)


@inlined_reordering
def _line_sums(
    h: Array, side: Sides, slope: Array, q: float, price: float, keep: int, start: int, stop: int
) -> tuple[float, float, float, float, float]:
    value, first, second, moment, product = 0.0, 0.0, 0.0, 0.0, 1.0
    for i in range(start, stop):
        s = float(side[i])
        is_side = (s == 1.0) | (s == -1.0)
        is_kept = is_side & ((keep == 0) | (s == keep))
        m, t, a = q * h[i], q * slope[i] * price, q * slope[i]
        z = s * (m - t)
        c, _ = half_erfcx(abs(z), 0.0)
        gauss = fast_exp(-0.5 * z * z)
        is_left = z <= 0.0
        factor = c if is_left else 1.0 - gauss * c
        r = (1.0 if is_left else gauss) * _INV_SQRT_2PI / factor
        product *= factor if is_kept else 1.0
        value -= 0.5 * z * z if is_kept & is_left else 0.0
        first -= s * a * r if is_kept else 0.0
        second -= a * a * r * (z + r) if is_kept else 0.0
        moment += 1.0 + m * m if s != 0.0 else 0.0
        moment += s * r * (m + t) if is_side else 0.0
    return value, first, second, moment, product


@compiled
def on_line(cone: Cone, q: float, price: float, keep: int) -> tuple[float, float, float, float]:
    """Return log D, its first two derivatives in `price`, and E|z|², at real q and λ = q·price.

    `price` is the shadow price in the units of h. `keep` is 0 for all goods, ABOVE or BELOW for one side only.
    E|z|² is the second moment of the radius that fixes the saddle point of the contour.
    """
    h, side, slope, pivot, _ = cone
    value, first, second, moment = 0.0, 0.0, 0.0, 0.0
    n = h.shape[0]
    for start in range(0, n, _RESCALE_EVERY):
        sums = _line_sums(h, side, slope, q, price, keep, start, min(start + _RESCALE_EVERY, n))
        value += sums[0] + np.log(sums[4])
        first += sums[1]
        second += sums[2]
        moment += sums[3]
    if pivot >= 0 and keep == 0:
        m, t = q * h[pivot], q * slope[pivot] * price
        value += -0.5 * (t - m) * (t - m)
        first += -q * slope[pivot] * (t - m)
        second += -((q * slope[pivot]) ** 2)
        moment += 1.0 + t * t
    return value, first, second, moment * q * q


@compiled
def find_mode(cone: Cone, q: float, start: float) -> float:
    """Return the price ≥ 0 that maximises the log-concave D (times the pivot's density), to half its width there.

    Newton steps inside a bracket. A step that is small on the local scale proves nothing: a dear good may bend the
    function sharply here and let go of it further on. So a point counts as the mode only once the slope has been seen
    to change its sign within a width of it.
    """
    _, first, second, _ = on_line(cone, q, 0.0, 0)
    if first <= 0.0:
        return 0.0
    low, high, probe = 0.0, np.inf, 0.5
    price = start if start > 0.0 else -first / min(second, -1e-300)
    for _ in range(200):
        _, first, second, _ = on_line(cone, q, price, 0)
        if first > 0.0:
            low = price
        else:
            high = price
        curvature = np.sqrt(-min(second, -1e-300))
        step = first / (curvature * curvature)
        if (high - low) * curvature < 1.0:
            return min(max(price + step, low), high)
        new = price + step
        if abs(step) * curvature < 0.1:  # look past the point that Newton's method would settle on
            new = price + (probe if first > 0.0 else -probe) / curvature
            probe *= 2.0
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * price
        price = new
    return price


@compiled
def find_drop(cone: Cone, q: float, target: float, start: float, width: float, keep: int) -> float:
    """Return a price where log D (of the goods in `keep`) has fallen to `target`, or at most 1 below; 0 at the least.

    `width` is positive to look right of the mode, negative to look left; its size bounds the first leap, which starts
    where the function may be flat. Newton on a concave function then approaches the solution from its far side.
    """
    price = start
    for _ in range(200):
        value, first, _, _ = on_line(cone, q, price, keep)
        if target - 1.0 <= value <= target:
            return price
        limit = max(8.0 * abs(width), price)
        outwards = limit if width > 0.0 else -limit
        leap = (target - 0.5 - value) / first if first != 0.0 else outwards
        if value > target and leap * width <= 0.0:
            leap = outwards  # still on the near side of the mode
        new = price + min(max(leap, -limit), limit)
        if new <= 0.0:
            if price == 0.0:
                return 0.0
            new = 0.0
        price = new
    return price


@compiled
def extrapolated_error(middle: float, last: float, gap: float, ahead: float) -> float:
    """Return the size of a coefficient `ahead` degrees past `last`, which stands `gap` degrees past `middle`.

    Coefficients of an analytic function decay at least geometrically; a Gauss rule of N nodes first errs at degree 2N.
    """
    ratio = min((last / middle) ** (1.0 / gap), 1.0) if middle > 0.0 else 0.0
    return last * ratio**ahead


@compiled
def panel_error(work: Array) -> float:
    """Return the quadrature error of the panel in the chunk, judged by the decay of its Legendre coefficients.

    Panels are laid so that none is longer than 16 widths of a good that is active on it: no feature hides between the
    nodes.
    """
    size = np.zeros(4)
    for j in range(4):
        re, im = 0.0, 0.0
        for k in range(CHUNK):
            re += TAIL[j, k] * work[OMEGA_RE + k] / PANEL_WEIGHTS[k]
            im += TAIL[j, k] * work[OMEGA_IM + k] / PANEL_WEIGHTS[k]
        size[j] = np.hypot(re, im)
    return extrapolated_error(max(size[0], size[1]), max(size[2], size[3]), 6.0, float(CHUNK))


@compiled
def end_size(work: Array, at_low: bool, at_high: bool) -> float:
    """Return what lies beyond the ends of the support, judged by the integrand there: a fiftieth of the panel's length.

    A Gaussian that has fallen to 1e-10 of its top goes on for a seventh of its width, a fiftieth of the panel.
    """
    total = 0.0
    if at_low:
        total += np.hypot(work[OMEGA_RE], work[OMEGA_IM]) / PANEL_WEIGHTS[0]
    if at_high:
        total += np.hypot(work[OMEGA_RE + CHUNK - 1], work[OMEGA_IM + CHUNK - 1]) / PANEL_WEIGHTS[CHUNK - 1]
    return total / 50.0


@compiled
def weigh_chunk(work: Array, is_tight: bool, shift: float) -> float:
    """Fill OMEGA = weight × integrand × exp(-shift); return Σ |OMEGA|."""
    total = 0.0
    for k in range(CHUNK):
        size = fast_exp(min(work[X_RE + k] + work[LOG_WEIGHT_RE + k] - shift, 700.0))
        sine, cosine = fast_sincos(work[X_IM + k] + work[LOG_WEIGHT_IM + k])
        fr, fi = work[P_RE + k], work[P_IM + k]
        br, bi = size * (fr * cosine - fi * sine), size * (fr * sine + fi * cosine)
        work[BASE_RE + k], work[BASE_IM + k] = br, bi
        rr, ri = (work[RATE_RE + k], work[RATE_IM + k]) if is_tight else (1.0, 0.0)
        work[OMEGA_RE + k], work[OMEGA_IM + k] = br * rr - bi * ri, br * ri + bi * rr
        total += np.hypot(work[OMEGA_RE + k], work[OMEGA_IM + k])
    return total


@compiled
def add_means(cone: Cone, work: Array, ratios: Array, means: Array) -> None:
    """Add Re Σ_k ω_k E[u_i | node k] to `means`: q² h + s q r for a good on a side, a_f q λ for the pivot.

    In a tight region the good whose ratio is the lowest bought is at λ itself: the derivative of Σ_above a_i r_i.
    """
    h, side, slope, pivot, is_tight = cone
    vr, vi = np.empty(CHUNK), np.empty(CHUNK)  # ω q
    yr, yi = np.empty(CHUNK), np.empty(CHUNK)  # ω q without Σ a r
    plain, at_shadow = 0.0, 0.0
    for k in range(CHUNK):
        wr, wi, qr, qi = work[OMEGA_RE + k], work[OMEGA_IM + k], work[Q_RE + k], work[Q_IM + k]
        vr[k], vi[k] = wr * qr - wi * qi, wr * qi + wi * qr
        plain += vr[k] * qr - vi[k] * qi
        at_shadow += vr[k] * work[LAMBDA + k]
        br, bi = work[BASE_RE + k], work[BASE_IM + k]
        yr[k], yi[k] = br * qr - bi * qi, br * qi + bi * qr
    for i in range(h.shape[0]):
        if i == pivot:
            means[i] += slope[i] * at_shadow
            continue
        means[i] += h[i] * plain
        if side[i] != ABOVE and side[i] != BELOW:
            continue
        offset, total = 2 * CHUNK * i, 0.0
        for k in range(CHUNK):
            total += vr[k] * ratios[offset + k] - vi[k] * ratios[offset + CHUNK + k]
        means[i] += side[i] * total
        if is_tight and side[i] == ABOVE:
            total = 0.0
            for k in range(CHUNK):
                rr, ri = ratios[offset + k], ratios[offset + CHUNK + k]
                zr = h[i] * work[Q_RE + k] - slope[i] * work[LAMBDA + k] + rr
                zi = h[i] * work[Q_IM + k] + ri
                br, bi = rr * zr - ri * zi, rr * zi + ri * zr
                total -= yr[k] * br - yi[k] * bi
            means[i] += slope[i] * total


@compiled
def add_second_moments(cone: Cone, work: Array, ratios: Array, moments: Array) -> None:
    """Add Re Σ_k ω_k E[u uᵀ | node k] to `moments` (n, n), lower triangle.

    Given the node the goods are independent, so the off-diagonal part is a product of means. In a tight region the
    node is a mixture over the good that is lowest bought: with weight σ_i = ω a_i r_i / Σ a r good i sits at the shadow
    price, δ_i away from its mean otherwise, which adds σ_i δ_i to products with the mean of another good.
    """
    h, side, slope, pivot, is_tight = cone
    n = h.shape[0]
    mean = np.empty((n, CHUNK), np.complex128)
    jump = np.zeros((n, CHUNK), np.complex128)  # σ δ
    omega = np.empty(CHUNK, np.complex128)
    for k in range(CHUNK):
        omega[k] = complex(work[OMEGA_RE + k], work[OMEGA_IM + k])
    for i in range(n):
        diagonal = 0.0
        for k in range(CHUNK):
            q = complex(work[Q_RE + k], work[Q_IM + k])
            variance = 0.0j
            at_shadow = slope[i] * work[LAMBDA + k] * q
            if i == pivot:
                mean[i, k] = at_shadow
            elif side[i] == ABOVE or side[i] == BELOW:
                r = complex(ratios[2 * CHUNK * i + k], ratios[2 * CHUNK * i + CHUNK + k])
                z = side[i] * (h[i] * q - slope[i] * work[LAMBDA + k])
                mean[i, k] = q * (h[i] * q + side[i] * r)
                variance = omega[k] * q * q * (1.0 - r * (z + r))
                if is_tight and side[i] == ABOVE:
                    sigma = slope[i] * r * complex(work[BASE_RE + k], work[BASE_IM + k])
                    delta = at_shadow - mean[i, k]
                    jump[i, k] = sigma * delta
                    variance += sigma * (delta * delta - q * q * (1.0 - r * (z + r)))
            else:
                mean[i, k] = q * q * h[i]
                variance = omega[k] * q * q
            diagonal += variance.real
        moments[i, i] += diagonal
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(CHUNK):
                total += (omega[k] * mean[i, k] * mean[j, k] + jump[i, k] * mean[j, k] + mean[i, k] * jump[j, k]).real
            moments[i, j] += total


@compiled
def add_squares(cone: Cone, work: Array, ratios: Array, squares: Array) -> None:
    """Add Σ_k ω_k E[(u_i - h_i)² | node k] to `squares`, at nodes of the normal law itself: q = 1, real sums.

    For a good on a side that is 1 - z r; in a tight region the good that is lowest bought is at λ, as in `add_means`.
    """
    h, side, slope, pivot, is_tight = cone
    plain = 0.0
    for k in range(CHUNK):
        plain += work[OMEGA_RE + k]
    for i in range(h.shape[0]):
        squares[i] += 0.0 if i == pivot else plain
        for k in range(CHUNK if i == pivot else 0):
            gap = slope[i] * work[LAMBDA + k] - h[i]
            squares[i] += work[OMEGA_RE + k] * gap * gap
        if i == pivot or (side[i] != ABOVE and side[i] != BELOW):
            continue
        s, is_lowest = float(side[i]), is_tight and side[i] == ABOVE
        for k in range(CHUNK):
            r, gap = ratios[2 * CHUNK * i + k], slope[i] * work[LAMBDA + k] - h[i]
            lost = -s * gap * r  # z r
            squares[i] -= work[OMEGA_RE + k] * lost
            if is_lowest:
                squares[i] += slope[i] * r * work[BASE_RE + k] * (gap * gap - 1.0 + lost)
