# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""P(u_i > 0) under the von Mises–Fisher law: one number in one number, its derivative and its inverse.

With φ the angle between μ and good i, cos φ = μ_i, and Z_n(κ) = ∫ exp(κ μ·u) du over the sphere of n-space, the angle ψ
of u from good i has density (paper, eq. von_density)

    sin^{n-2}ψ · exp(κ cos φ cos ψ) · Z_{n-1}(κ sin φ sin ψ) / Z_n(κ).

Where cos φ ≤ 0 every factor rises on [0, π/2], so the integrand of P falls steadily as τ = π/2 - ψ grows from 0: its
support is found by bisection and one Gauss rule does the rest, to full *relative* accuracy. The other half of the range
follows from P(μ_i) + P(-μ_i) = 1.

Turning μ by dφ moves the half-space instead; only its boundary, a sphere of one dimension less, counts:

    dP/dφ = -∫_{boundary} (u·e) f(u) du = -Z_{n-1}(κ sin φ) A_{n-1}(κ sin φ) / Z_n(κ),    A the mean resultant length,

so dP/dμ_i = Z_{n-1} A_{n-1} / (Z_n sin φ) is positive for every κ > 0: P rises strictly, and has an inverse.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from stochpref.bessel import log_normaliser, mean_resultant_length
from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]

_DROP: Final = 45.0  # what lies more than e^-45 below the top of the integrand is left out
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_BLOCK: Final = 256  # values integrated together, to bound memory


def halfspace_probability(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return P(u_i > 0) for goods whose mean has the given components μ_i.

    Parameters
    ----------
    component : μ_i, any shape, in [-1, 1].
    n_goods : n, two or more.
    concentration : κ, zero or more; inf is allowed, and gives 0, 1/2 or 1.

    Returns
    -------
    Same shape; also values near 0 are accurate to about 1e-13 of themselves.
    """
    m = _check(component, n_goods, concentration)
    tail = lower_tail(-np.abs(m), n_goods, concentration)
    return np.where(m > 0, 1.0 - tail, tail)


def lower_tail(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return P(u_i > 0) for components μ_i ≤ 0, in relative accuracy."""
    m = _check(component, n_goods, concentration)
    if concentration == 0:
        return np.full(m.shape, 0.5)
    if concentration == np.inf:
        return np.where(m < 0, 0.0, 0.5)
    flat = m.ravel()
    values = np.empty(flat.shape)
    for start in range(0, flat.size, _BLOCK):
        values[start : start + _BLOCK] = _integrate(flat[start : start + _BLOCK], n_goods, float(concentration))
    return np.where(m == 0, 0.5, values.reshape(m.shape))


def halfspace_density(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return dP(u_i > 0)/dμ_i at finite κ: positive wherever κ is."""
    m = _check(component, n_goods, concentration)
    sine = np.sqrt((1 - m) * (1 + m))
    x = concentration * sine
    log_ratio = _log_z(n_goods - 1, x) - _log_z(n_goods, np.asarray(float(concentration))) + (x - concentration)
    # A(x)/sin φ tends to κ/(n-1) where sin φ does to 0.
    small = sine < 1e-9
    per_sine = np.where(small, concentration / (n_goods - 1), _mean_length(n_goods - 1, x) / np.where(small, 1.0, sine))
    return np.exp(log_ratio) * per_sine


def halfspace_curvature(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return d²P/dμ_i² = -dP/dμ_i · μ_i κ A_{n+1}(κ sin φ)/sin φ, by the recurrence 1/A_n(x) = n/x + A_{n+2}(x)."""
    m = _check(component, n_goods, concentration)
    sine = np.sqrt((1 - m) * (1 + m))
    small = sine < 1e-9
    per_sine = np.where(
        small,
        concentration / (n_goods + 1),
        mean_resultant_length(n_goods + 1, concentration * sine) / np.where(small, 1.0, sine),
    )
    return -halfspace_density(m, n_goods, concentration) * m * concentration * per_sine


def halfspace_inverse(probability: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return the μ_i in [-1, 1] whose P(u_i > 0) is nearest to a probability.

    Probabilities beyond those of μ_i = ±1 give ±1, the paper's argmin. Where κ is so large that P is flat to rounding,
    any μ_i there fits, and one is returned.

    Raises
    ------
    InvalidArgument : κ is 0, where P is 1/2 whatever μ_i, or inf, where it is a step.
    """
    p = np.asarray(probability, dtype=np.float64)
    _check(0.0, n_goods, concentration)
    if not 0 < concentration < np.inf:
        raise InvalidArgument(
            f"concentration must be positive and finite to invert P(u > 0); received {concentration}; "
            "at 0 every direction gives one half, at infinity only the sign is seen"
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise InvalidArgument(f"probability must lie in [0, 1]; received {p[~((p >= 0) & (p <= 1))].flat[0]:g}")
    target, place = np.unique(np.minimum(p, 1 - p), return_inverse=True)
    root = _invert_tail(target, n_goods, float(concentration))[place].reshape(p.shape)
    return np.where(p > 0.5, -root, root)


def _invert_tail(target: Array, n_goods: int, concentration: float) -> Array:
    """Return μ_i ≤ 0 for probabilities up to 1/2: Newton's steps on log P, kept inside a bracket by bisection."""
    low, high = np.full(target.shape, -1.0), np.zeros(target.shape)
    # P is about Φ(c μ_i), c from the slope at 0: a start a few steps from the end.
    steepness = np.sqrt(2 * np.pi) * float(halfspace_density(0.0, n_goods, concentration))
    m = np.clip(ndtri(np.maximum(target, 1e-300)) / steepness, -1 + 1e-9, -1e-300)
    with np.errstate(divide="ignore"):
        goal = np.log(target)
    is_settled = np.zeros(target.shape, dtype=np.bool_)
    for _ in range(80):
        value = lower_tail(m, n_goods, concentration)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gap = np.log(value) - goal
            step = gap * value / halfspace_density(m, n_goods, concentration)
        is_high = (gap >= 0) & (value > 0)
        high, low = np.where(is_high, m, high), np.where(is_high, low, m)
        ahead = m - step
        following = np.where((ahead >= low) & (ahead <= high), ahead, 0.5 * (low + high))
        # The integral is known to about 1e-14 of itself: a smaller gap is noise, and must not send m away again.
        is_settled |= (np.abs(gap) <= 1e-14) | (np.abs(following - m) <= 1e-15)
        m = np.where(is_settled, m, following)
        if is_settled.all():
            break
    m = np.where(target >= 0.5, 0.0, m)
    return np.where(target <= lower_tail(np.array(-1.0), n_goods, concentration), -1.0, m)


def _log_z(n_goods: int, x: Array) -> Array:
    """Return log ∫ exp(x(μ·u - 1)) du over the sphere of n-space; on a line the sphere is two points."""
    return np.log1p(np.exp(-2 * x)) if n_goods == 1 else log_normaliser(n_goods, x)


def _mean_length(n_goods: int, x: Array) -> Array:
    """Return A_n(x), on a line too."""
    return np.tanh(x) if n_goods == 1 else mean_resultant_length(n_goods, x)


def _log_integrand(tau: Array, m: Array, n_goods: int, concentration: float) -> Array:
    """Return the log-density at ψ = π/2 - τ for μ_i = m: κ(cos φ cos ψ + sin φ sin ψ - 1) = κ(cos(φ - ψ) - 1)."""
    sine = np.sqrt((1 - m) * (1 + m))
    half = 0.5 * (np.arccos(m) - (0.5 * np.pi - tau))
    density = -2 * concentration * np.square(np.sin(half)) + _log_z(n_goods - 1, concentration * sine * np.cos(tau))
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
    result: Array = total * np.exp(top - _log_z(n_goods, np.asarray(concentration)))
    return result


def _check(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    m = np.asarray(component, dtype=np.float64)
    if not np.all((m >= -1) & (m <= 1)):
        raise InvalidArgument(f"component must lie in [-1, 1]; received {m[~((m >= -1) & (m <= 1))].flat[0]:g}")
    if n_goods < 2:
        raise InvalidArgument(f"n_goods must be two or more, a law on the sphere; received {n_goods}")
    if not concentration >= 0:
        raise InvalidArgument(f"concentration must be zero or more; received {concentration}")
    return m
