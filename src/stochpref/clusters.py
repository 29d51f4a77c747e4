# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Errors of estimates from purchases of which several are one customer's: those of one person share a taste.

The likelihood takes purchases for independent. Its maximum is right without that, for each purchase follows the law;
its curvature is not how far it strays. What strays is the sum of the slopes of customers, who are independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.observations import Observations
from stochpref.regions import usable_rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def clusters_of(observations: Observations) -> Indices | None:
    """Return the customer of each observation that is not degenerate, from 0; None where all differ or are unknown."""
    if observations.customers is None:
        return None
    rows = usable_rows(observations.problem.explained(observations), "drop")
    labels = np.asarray(observations.customers, dtype=object).astype(str)[rows]
    names, codes = np.unique(labels, return_inverse=True)
    return None if len(names) == len(labels) else codes.astype(np.intp)


def clustered_covariance(inverse: Array, slopes: Array, clusters: Indices) -> Array:
    """Return the covariance of the estimate of a parameter.

    Parameters
    ----------
    inverse : (n, n) of the observed information.
    slopes : (T, n) of the log-likelihood of each observation at the estimate.
    clusters : (T,) whose it is, from 0.
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((count, slopes.shape[1]))
    np.add.at(sums, clusters, slopes)
    # C / (C - 1): at the estimate the slopes add up to nothing, so that they stray by less than about the truth.
    spread = sums.T @ sums * (count / (count - 1)) if count > 1 else np.full_like(inverse, np.nan)
    return inverse @ spread @ inverse
