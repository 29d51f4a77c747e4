# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Angles between utilities and the mean direction of a von Mises–Fisher law: their quantiles."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_GRID: Final = 1025  # points of the angle to the mean direction, over which its cdf is inverted


def angles_at(quantiles: Array, n_goods: int, concentration: float) -> Array:
    """Return the quantiles of the angle θ between utility and mean direction, density sin^{n-2}θ exp(κ cos θ)."""
    # In x = θ·√(κ + n) the density has width of order one; 12 widths past the mode nothing is left.
    mode = (
        np.arccos(2.0 * concentration / ((n_goods - 2) + np.hypot(n_goods - 2, 2.0 * concentration)))
        if (concentration > 0)
        else (0.5 * np.pi if n_goods > 2 else 0.0)
    )
    reach = 12.0 / np.sqrt(concentration + n_goods - 1.0)
    theta = np.linspace(max(mode - reach, 0.0), min(mode + reach, np.pi), _GRID)
    with np.errstate(divide="ignore"):
        log_density = (n_goods - 2) * np.log(np.sin(theta)) if n_goods > 2 else np.zeros(_GRID)
    log_density = log_density + concentration * np.cos(theta)
    density = np.exp(log_density - log_density.max())
    areas = 0.5 * (density[1:] + density[:-1])
    cumulative = np.concatenate([[0.0], np.cumsum(areas)])
    result: Array = np.interp(quantiles, cumulative / cumulative[-1], theta)
    return result
