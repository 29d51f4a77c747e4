# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Modified Bessel functions as the von Mises–Fisher law needs them: in logs, scaled, and as ratios.

Two expressions cover every order and argument. Below ``_CUT`` the power series, whose terms are all positive,
so nothing cancels and nothing underflows. From ``_CUT`` on Debye's uniform expansion, a series in
1/√(ν² + x²) whose coefficients depend on ν²/(ν² + x²) only: at ν = 0 it is Hankel's expansion for large x, at
large ν it holds for every x, so no third regime is needed between them.

Notation: ν order, x argument, w = √(ν² + x²), n = 2ν + 2 goods, κ concentration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]

# At x = 30 the Debye term k = 17, the first left out, is at most 4e-18 (at ν = 0; smaller at higher orders),
# and the power series reaches 1e-17 of its sum after 44 terms (at ν = 0; fewer at higher orders).
_CUT = 30.0
_N_DEBYE = 16
_N_SERIES = 44


def log_scaled_iv(order: float, x: ArrayLike) -> Array:
    """Return log I_ν(x) − x, the logarithm of the exponentially scaled modified Bessel function.

    Parameters
    ----------
    order : ν, at least −1/2.
    x : any shape, not negative.

    Returns
    -------
    Same shape as ``x``; the limit (−inf for ν > 0, 0 for ν = 0) where x is 0.
    """
    return _evaluate(_log_scaled_iv, order, x)


def log_normaliser(n_goods: int, concentration: ArrayLike) -> Array:
    """Return log ∫ exp(κ(μ·u − 1)) du over the unit sphere of n-space, with respect to surface measure.

    The factor e^{−κ} keeps it finite and makes the log-density −κ|u − μ|²/2 minus this value.

    Parameters
    ----------
    n_goods : n, at least 2.
    concentration : κ, any shape, not negative.

    Returns
    -------
    Same shape as ``concentration``; the logarithm of the surface area of the sphere where κ is 0.

    Notes
    -----
    The integral is (2π)^{n/2} κ^{−ν} I_ν(κ) e^{−κ}. For small κ the powers of κ cancel in exact arithmetic
    and leave the surface area times ₀F₁(n/2; κ²/4) e^{−κ}.
    """
    return _evaluate(fill_log_normaliser, 0.5 * n_goods - 1.0, concentration)


def mean_resultant_length(n_goods: int, concentration: ArrayLike) -> Array:
    """Return A_n(κ) = I_{n/2}(κ) / I_{n/2−1}(κ), the expected value of μ·u under the von Mises–Fisher law.

    Parameters
    ----------
    n_goods : n, at least 2.
    concentration : κ, any shape, not negative.

    Returns
    -------
    Same shape as ``concentration``, in [0, 1); rounds to 1 for κ above about 1e16·n.
    """
    return _evaluate(_length, 0.5 * n_goods - 1.0, concentration)


@lru_cache(maxsize=1)
def debye_coefficients() -> Array:
    """Return C with U_k(p) = p^k Σ_j C[k−1, j] p^{2j} for k = 1, 2, …: Debye's polynomials (DLMF 10.41.9).

    U_{k+1}(p) = ½p²(1 − p²) U_k'(p) + ⅛∫₀^p (1 − 5t²) U_k(t) dt, in exact rational arithmetic because the
    coefficients alternate in sign.
    """
    coefficients = np.zeros((_N_DEBYE, _N_DEBYE + 1))
    polynomial = [Fraction(1)]  # C[k, :] of the current k; entry j multiplies p^(k + 2j)
    for k in range(_N_DEBYE):
        following = [Fraction(0)] * (k + 2)
        for j, value in enumerate(polynomial):
            power = k + 2 * j
            following[j] += value * (Fraction(power, 2) + Fraction(1, 8 * (power + 1)))
            following[j + 1] -= value * (Fraction(power, 2) + Fraction(5, 8 * (power + 3)))
        polynomial = following
        coefficients[k, : k + 2] = [float(value) for value in polynomial]
    coefficients.flags.writeable = False
    return coefficients


@inlined
def _series(order: float, x: float) -> float:
    """Return ₀F₁(ν + 1; x²/4) − 1 = Σ_{k≥1} (x²/4)^k / (k! (ν+1)_k), accurate also where it is tiny."""
    square = 0.25 * x * x
    total, term = 0.0, 1.0
    for k in range(1, _N_SERIES + 1):
        term *= square / (k * (order + k))
        total += term
        # The terms rise, then fall, so one that is negligible is followed by smaller ones.
        if term <= 1e-17 * total:
            break
    return total


@inlined
def _debye_correction(order: float, w: float, debye: Array) -> float:
    """Return log Σ_k U_k(p) / ν^k with p = ν/w; since U_k(p) = p^k·(polynomial in p²), it needs no ν ≠ 0."""
    square = (order / w) * (order / w)
    total, power = 0.0, 1.0
    for k in range(debye.shape[0]):
        power /= w
        polynomial = 0.0
        for j in range(k + 1, -1, -1):
            polynomial = polynomial * square + debye[k, j]
        total += power * polynomial
    return math.log1p(total)


@inlined
def _debye_log(order: float, x: float, debye: Array) -> float:
    """Return log I_ν(x) − x for x ≥ ``_CUT``."""
    w = math.hypot(order, x)
    # w − x = ν²/(w + x), and log(x/(ν + w)) = −asinh(ν/x): neither loses digits where x is far above ν.
    exponent = order * (order / (w + x)) - order * math.asinh(order / x)
    return exponent - 0.5 * math.log(2.0 * math.pi * w) + _debye_correction(order, w, debye)


@inlined
def _debye_log_ratio(order: float, x: float, debye: Array) -> float:
    """Return log(I_{ν+1}(x) / I_ν(x)) for x ≥ ``_CUT``, its differences taken on paper."""
    w, w_next = math.hypot(order, x), math.hypot(order + 1.0, x)
    # w' − w = (2ν + 1)/(w' + w); with a = (ν+1)/x and b = ν/x, (ν+1)·asinh a − ν·asinh b is
    # asinh a + ν·asinh(a√(1+b²) − b√(1+a²)), whose argument is (a² − b²)/(a√(1+b²) + b√(1+a²))
    # = (2ν + 1)/((ν+1)w + νw').
    gap = (2.0 * order + 1.0) / ((order + 1.0) * w + order * w_next)
    exponent = (2.0 * order + 1.0) / (w_next + w) - math.asinh((order + 1.0) / x) - order * math.asinh(gap)
    correction = _debye_correction(order + 1.0, w_next, debye) - _debye_correction(order, w, debye)
    return exponent - 0.5 * math.log(w_next / w) + correction


@compiled
def _log_scaled_iv(order: float, x: Array, debye: Array, out: Array) -> None:
    for k in range(x.shape[0]):
        if x[k] >= _CUT:
            out[k] = _debye_log(order, x[k], debye)
        elif x[k] > 0.0 or order == 0.0:
            power = order * math.log(0.5 * x[k]) if order != 0.0 else 0.0
            out[k] = power - math.lgamma(order + 1.0) + math.log1p(_series(order, x[k])) - x[k]
        else:
            out[k] = -np.inf if order > 0.0 else np.inf


@compiled
def fill_log_normaliser(order: float, x: Array, debye: Array, out: Array) -> None:
    """Leave `log_normaliser` of 2ν + 2 goods at each x in `out`, for other kernels; `debye_coefficients` go with it."""
    half = order + 1.0
    log_area = math.log(2.0) + half * math.log(math.pi) - math.lgamma(half)
    for k in range(x.shape[0]):
        if x[k] < _CUT:
            out[k] = log_area + (math.log1p(_series(order, x[k])) - x[k])
        else:
            out[k] = half * math.log(2.0 * math.pi) - order * math.log(x[k]) + _debye_log(order, x[k], debye)


@compiled
def _length(order: float, x: Array, debye: Array, out: Array) -> None:
    for k in range(x.shape[0]):
        if x[k] < _CUT:
            ratio = (1.0 + _series(order + 1.0, x[k])) / (1.0 + _series(order, x[k]))
            out[k] = x[k] / (2.0 * order + 2.0) * ratio
        else:
            out[k] = math.exp(_debye_log_ratio(order, x[k], debye))


def _evaluate(kernel: Callable[[float, Array, Array, Array], None], order: float, x: ArrayLike) -> Array:
    """Return a kernel's values at x, any shape."""
    points = np.asarray(x, dtype=np.float64)
    out = np.empty(points.size)
    kernel(float(order), points.ravel(), debye_coefficients(), out)
    return out.reshape(points.shape)
