# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions that turn their back on the mean: the contour laid along the negative axis of s.

Where h·u < 0 on the whole region and |h| is large, no s > 0 makes the radius 1 on average: the saddle sits at
s = -η² < 0, on the cut, where the Gaussian integrals diverge and live on as their continuations from above and below.
The mass is their difference. With c_i = -s_i h_i and, on the cut,

    f(c) = ∫_0^∞ exp(-c y + η² y²) dy := (D(x) + i (√π/2) exp(-x²)) / η,    x = c/2η,    D Dawson's integral,

    slack   ∫ exp(h·u) du = (4/π) ∫_0^∞ η exp(-η²) Im Π f(c_i) dη
    pivot   the same with Im ∫ a_f exp(-c₀ λ + η²|a|²λ²) Π f(c_i - 2η² s_i a_i λ) dλ,    c₀ = -h·a,

the shadow price running from 0 to its saddle λ* = c₀/(2η²|a|²) and then straight up. A tight region is the sum, over
the goods bought, of the pivot regions in which that good is the lowest. The imaginary part of a product of numbers with
tiny positive angles is a sum of positive terms: nothing cancels, however small the mass. All in logarithms.

Rare, so written for clarity rather than speed: a millisecond for a slack region, some tens for the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import dawsn, logsumexp, wofz

from stochpref.classification import ABOVE, BELOW, PIVOT, TIGHT

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_X, _W = np.polynomial.legendre.leggauss(16)
_LOG_HALF_SQRT_PI = 0.5 * np.log(np.pi) - np.log(2)


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return Gauss–Legendre nodes and weights on consecutive panels (..., m + 1) -> (..., 16 m)."""
    low, extent = edges[..., :-1, None], np.diff(edges, axis=-1)[..., None]
    shape = (*edges.shape[:-1], -1)
    return (low + extent * (_X + 1) / 2).reshape(shape), (extent * _W / 2 * np.ones_like(low)).reshape(shape)


def _log_imaginary(c: Array, eta: Array) -> tuple[Array, Array]:
    """Return log |Im Π f(c_i)| over the last axis, and its sign, for real c (..., n)."""
    x = c / (2 * eta)
    dawson = dawsn(x)
    log_gauss = _LOG_HALF_SQRT_PI - x**2
    with np.errstate(divide="ignore"):
        log_dawson = np.log(np.abs(dawson))
    log_size = 0.5 * np.logaddexp(2 * log_dawson, 2 * log_gauss) - np.log(eta)
    angle = np.arctan2(np.exp(log_gauss), dawson).sum(axis=-1)
    # Angles below the smallest double still have logarithms; they only occur where every Dawson integral is positive.
    log_angle = logsumexp(log_gauss - log_dawson, axis=-1)
    sine = np.sin(angle)
    with np.errstate(divide="ignore"):
        log_sine = np.where((log_angle < -20) & (dawson > 0).all(axis=-1), log_angle, np.log(np.abs(sine)))
    sign = np.where(log_angle < -20, 1.0, np.sign(sine))
    return log_size.sum(axis=-1) + log_sine, sign


def _log_faddeeva(z: Complex) -> Complex:
    """Return log w(z), also where w itself would overflow in the lower half-plane."""
    grows = (z.imag < 0) & ((z**2).real < 0)
    direct = wofz(np.where(grows, -z, z))
    square = np.where(grows, z**2, 0)
    return np.where(grows, -square + np.log(2 - direct * np.exp(square)), np.log(direct))


def _log_slack(c: Array, eta: Array) -> tuple[Array, Array]:
    return _log_imaginary(c, eta[:, None])


def _log_pivot(c: Array, tilt: Array, c0: float, norm2: float, eta: Array) -> tuple[Array, Array]:
    """Return log |T(η)| and its sign, T the imaginary part of the integral over the shadow price.

    c, tilt : (n - 1,) c_i and s_i a_i of the goods on a side. c0, norm2 : -h·a and |a|², the pivot included.
    """
    top = max(c0, 0.0) / (2 * eta**2 * norm2)  # λ*; a cone whose edge a is not obtuse turns upwards at once
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 12)])
    shadow, weight = _panels(top[:, None] * steps)
    log_real, sign_real = _log_imaginary(
        c - 2 * eta[:, None, None] ** 2 * tilt * shadow[:, :, None], eta[:, None, None]
    )
    log_real = log_real - c0 * shadow + eta[:, None] ** 2 * norm2 * shadow**2
    rise, rise_weight = _panels((9.0 / (eta * np.sqrt(norm2)))[:, None] * np.linspace(0, 1, 4))
    up = top[:, None] + 1j * rise
    argument = (-(c - 2 * eta[:, None, None] ** 2 * tilt * up[:, :, None]) / (2 * eta[:, None, None])).astype(
        np.complex128
    )
    log_f = np.log(1j) + _LOG_HALF_SQRT_PI - np.log(eta[:, None, None]) + _log_faddeeva(argument)
    log_up = log_f.sum(axis=-1) - c0 * up + eta[:, None] ** 2 * norm2 * up**2
    # dλ = i dτ: the imaginary part of i × (…) is the real part.
    both = np.concatenate([log_real, log_up.real], axis=1)
    factor = np.concatenate([weight * sign_real, rise_weight * np.cos(log_up.imag)], axis=1)
    return logsumexp(both, b=factor, axis=1, return_sign=True)


def _integrate_eta(log_terms: Callable[[Array], tuple[Array, Array]], low: float, high: float) -> tuple[float, float]:
    """Return log (4/π) ∫ η exp(-η²) T(η) dη and its relative error, T given by its log and sign."""

    def integrand(eta: Array) -> tuple[Array, Array]:
        value, sign = log_terms(eta)
        return value + np.log(eta) - eta**2, sign

    grid = np.geomspace(low, high, 32)
    for _ in range(6):  # zoom in on the bell, whose width of about one half may hide between the points
        values, _ = integrand(grid)
        kept = np.flatnonzero(values > np.nanmax(values) - 40)
        first, last = grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, len(grid) - 1)]
        if len(kept) > 12:
            break
        grid = np.linspace(first, last, 32)
    results = []
    for n_panels in (4, 6):
        eta, weight = _panels(np.linspace(first, last, n_panels + 1))
        value, sign = integrand(eta)
        total, total_sign = logsumexp(value, b=weight * sign, return_sign=True)
        results.append(float(total) if total_sign > 0 else np.nan)
    return results[1] + float(np.log(4 / np.pi)), abs(results[1] - results[0]) + 1e-13


def obtuse_log_integral(h: Array, side: NDArray[np.int8], slope: Array, kind: int, pivot: int) -> tuple[float, float]:
    """Return log ∫_region exp(h·u) du and an estimate of its error, for a region with h·u < 0 throughout.

    Every good is on offer: an absent one makes the region a cylinder, which never turns its back.
    """
    reach = float(np.abs(h).max()) + len(h)
    low, high = 1e-3, 10 * np.sqrt(reach) + 10
    c, tilt = -side * h, side * slope
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kind != PIVOT and not (kind == TIGHT and np.any(side == BELOW)):
            used = np.abs(side) == 1
            return _integrate_eta(lambda eta: _log_slack(c[used], eta), low, high)
        c0, norm2 = -float(h @ slope), float(slope @ slope)

        def lowest(f: int) -> tuple[float, float]:
            others = np.arange(len(h)) != f
            value, error = _integrate_eta(lambda eta: _log_pivot(c[others], tilt[others], c0, norm2, eta), low, high)
            return value + float(np.log(slope[f])), error

        parts = np.array([lowest(f) for f in ([pivot] if kind == PIVOT else np.flatnonzero(side == ABOVE).tolist())])
    return float(logsumexp(parts[:, 0])), float(parts[:, 1].max())
