# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Drawn laws as they are kept: in the units of the data, and of a scale that means something."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def scaled_laws(mean: Array, covariance: Array, own: Array, units: Array, is_level_open: bool) -> dict[str, Array]:
    """Return laws of trace n, in the units of the data, by the names of their parameters.

    Parameters
    ----------
    mean, covariance, own : (k, n), (k, n, n) and (k, n) in the units of the prior; `own` is the part of a good's
        variance that it shares with no other.
    is_level_open : only differences of utilities count, so that means are given with sum zero.
    """
    n = len(units)
    given = covariance * units[:, None] * units
    factor = n / np.trace(given, axis1=1, axis2=2)
    centre = np.sqrt(factor)[:, None] * mean * units
    if is_level_open:
        centre = centre - centre.mean(axis=1, keepdims=True)
    return {
        "mean": centre,
        "covariance": factor[:, None, None] * given,
        "own_variance": factor[:, None] * own * units**2,
    }


def own_of_full(covariance: Array) -> Array:
    """Return the variances that can be taken for those of no factor, as large as leaves a covariance of factors."""
    sd = np.sqrt(np.diag(covariance))
    smallest = float(np.linalg.eigvalsh(covariance / sd[:, None] / sd)[0])
    return np.asarray(max(smallest * (1.0 - 1e-9), 1e-12) * sd**2)
