# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""P(u_i > 0) under the von Mises–Fisher law, where the mean says no: one number in one number.

With φ the angle between μ and good i, cos φ = μ_i, and Z_n(κ) = ∫ exp(κ μ·u) du over the sphere of n-space, the angle ψ
of u from good i has density (paper, eq. von_density)

    sin^{n-2}ψ · exp(κ cos φ cos ψ) · Z_{n-1}(κ sin φ sin ψ) / Z_n(κ).

Where cos φ ≤ 0 every factor rises on [0, π/2], so the integrand of P falls steadily as τ = π/2 - ψ grows from 0: its
support is found by bisection and one Gauss rule does the rest, to full *relative* accuracy. The other half of the range
follows from P(μ_i) + P(-μ_i) = 1.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.bessel import log_normaliser
from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]

_DROP: Final = 45.0  # what lies more than e^-45 below the top of the integrand is left out
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_BLOCK: Final = 256  # values integrated together, to bound memory


def lower_tail(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return P(u_i > 0) for components μ_i ≤ 0, in relative accuracy."""
    m = check_component(component, n_goods, concentration)
    if concentration == 0:
        return np.full(m.shape, 0.5)
    if concentration == np.inf:
        return np.where(m < 0, 0.0, 0.5)
    flat = m.ravel()
    values = np.empty(flat.shape)
    for start in range(0, flat.size, _BLOCK):
        values[start : start + _BLOCK] = _integrate(flat[start : start + _BLOCK], n_goods, float(concentration))
    return np.where(m == 0, 0.5, values.reshape(m.shape))


def log_z(n_goods: int, x: Array) -> Array:
    """Return log ∫ exp(x(μ·u - 1)) du over the sphere of n-space; on a line the sphere is two points."""
    return np.log1p(np.exp(-2 * x)) if n_goods == 1 else log_normaliser(n_goods, x)


def _log_integrand(tau: Array, m: Array, n_goods: int, concentration: float) -> Array:
    """Return the log-density at ψ = π/2 - τ for μ_i = m: κ(cos φ cos ψ + sin φ sin ψ - 1) = κ(cos(φ - ψ) - 1)."""
    sine = np.sqrt((1 - m) * (1 + m))
    half = 0.5 * (np.arccos(m) - (0.5 * np.pi - tau))
    density = -2 * concentration * np.square(np.sin(half)) + log_z(n_goods - 1, concentration * sine * np.cos(tau))
    with np.errstate(divide="ignore"):
        power = (n_goods - 2) * np.log(np.cos(tau)) if n_goods > 2 else 0.0
    return density + power


def _integrate(m: Array, n_goods: int, concentration: float) -> Array:
    top = _log_integrand(np.zeros_like(m), m, n_goods, concentration)
    near, far = np.zeros_like(m), np.full_like(m, 0.5 * np.pi)
    for _ in range(14):  # to 1e-4; the narrowest support, at κ = 1e4, is 45e-4
        middle = 0.5 * (near + far)
        is_inside = _log_integrand(middle, m, n_goods, concentration) > top - _DROP
        near, far = np.where(is_inside, middle, near), np.where(is_inside, far, middle)
    tau = 0.5 * far[:, None] * (_NODES + 1)
    values = np.exp(_log_integrand(tau, m[:, None], n_goods, concentration) - top[:, None])
    total = 0.5 * far * (values @ _WEIGHTS)
    result: Array = total * np.exp(top - log_z(n_goods, np.asarray(concentration)))
    return result


def check_component(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return components μ_i, if they, n and κ are ones of a law."""
    m = np.asarray(component, dtype=np.float64)
    if not np.all((m >= -1) & (m <= 1)):
        raise InvalidArgument(f"component must lie in [-1, 1]; received {m[~((m >= -1) & (m <= 1))].flat[0]:g}")
    if n_goods < 2:
        raise InvalidArgument(f"n_goods must be two or more, a law on the sphere; received {n_goods}")
    if not concentration >= 0:
        raise InvalidArgument(f"concentration must be zero or more; received {concentration}")
    return m
