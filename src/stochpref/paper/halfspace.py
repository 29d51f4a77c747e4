# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""P(u_i > 0) as a function of μ_i, its derivatives and its inverse: what the paper's sign menus are read with.

`design.halfspace` has the integral over the tail.

Turning μ by dφ moves the half-space instead; only its boundary, a sphere of one dimension less, counts:

    dP/dφ = -∫_{boundary} (u·e) f(u) du = -Z_{n-1}(κ sin φ) A_{n-1}(κ sin φ) / Z_n(κ),    A the mean resultant length,

so dP/dμ_i = Z_{n-1} A_{n-1} / (Z_n sin φ) is positive for every κ > 0: P rises strictly, and has an inverse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from stochpref.bessel import mean_resultant_length
from stochpref.design.halfspace import check_component, log_z, lower_tail
from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]


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
    m = check_component(component, n_goods, concentration)
    tail = lower_tail(-np.abs(m), n_goods, concentration)
    return np.where(m > 0, 1.0 - tail, tail)


def halfspace_density(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return dP(u_i > 0)/dμ_i at finite κ: positive wherever κ is."""
    m = check_component(component, n_goods, concentration)
    sine = np.sqrt((1 - m) * (1 + m))
    x = concentration * sine
    log_ratio = log_z(n_goods - 1, x) - log_z(n_goods, np.asarray(float(concentration))) + (x - concentration)
    # A(x)/sin φ tends to κ/(n-1) where sin φ does to 0.
    small = sine < 1e-9
    per_sine = np.where(small, concentration / (n_goods - 1), _mean_length(n_goods - 1, x) / np.where(small, 1.0, sine))
    return np.exp(log_ratio) * per_sine


def halfspace_curvature(component: ArrayLike, n_goods: int, concentration: float) -> Array:
    """Return d²P/dμ_i² = -dP/dμ_i · μ_i κ A_{n+1}(κ sin φ)/sin φ, by the recurrence 1/A_n(x) = n/x + A_{n+2}(x)."""
    m = check_component(component, n_goods, concentration)
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
    check_component(0.0, n_goods, concentration)
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


def _mean_length(n_goods: int, x: Array) -> Array:
    """Return A_n(x), on a line too."""
    return np.tanh(x) if n_goods == 1 else mean_resultant_length(n_goods, x)
