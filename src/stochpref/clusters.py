# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Errors of estimates from purchases of which several are one customer's: those of one person share a taste.

The likelihood takes purchases for independent. Its maximum is right without that, for each purchase follows the law;
its curvature is not how far it strays. What strays is the sum of the slopes of customers, who are independent.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.observations import Observations
from stochpref.regions import usable_rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MANY: Final = 200  # customers for each parameter, of whom one is worth a half per cent of what is known of it


def clusters_of(observations: Observations) -> Indices | None:
    """Return the customer of each observation that is not degenerate, from 0; None where all differ or are unknown."""
    if observations.customers is None:
        return None
    rows = usable_rows(observations.problem.explained(observations), "drop")
    labels = np.asarray(observations.customers, dtype=object).astype(str)[rows]
    names, codes = np.unique(labels, return_inverse=True)
    return None if len(names) == len(labels) else codes.astype(np.intp)


def clustered_covariance(inverse: Array, slopes: Array, clusters: Indices, own: Array | None = None) -> Array:
    """Return the covariance of the estimate of a parameter.

    Parameters
    ----------
    inverse : (n, n) of the observed information.
    slopes : (T, n) of the log-likelihood of each observation at the estimate.
    clusters : (T,) whose it is, from 0.
    own : (C, n, n) observed information of the purchases of each of C customers; None to do without.

    Notes
    -----
    With `own` it is the jackknife that leaves out a customer at a time, to one Newton step: who tells much pulls the
    estimate to themselves, so that their slope is small there, and errors without that are too small where customers
    are few (the "CR3" of Bell and McCaffrey).
    """
    count = int(clusters.max()) + 1
    if count < 2:
        return np.full_like(inverse, np.nan)
    sums = np.zeros((count, slopes.shape[1]))
    np.add.at(sums, clusters, slopes)
    if own is None or not np.isfinite(inverse).all():
        # C / (C - 1): at the estimate the slopes add up to nothing, so that they stray by less than about the truth.
        return np.asarray(inverse @ (sums.T @ sums) @ inverse * (count / (count - 1)))
    others = own.sum(axis=0) - own
    if not np.all(np.linalg.eigvalsh(others)[:, 0] > 0):  # without one customer nothing would be known
        return np.full_like(inverse, np.nan)
    moved = np.linalg.solve(others, sums[:, :, None])[:, :, 0]
    moved -= moved.mean(axis=0)
    return np.asarray(moved.T @ moved * ((count - 1) / count))


def is_worth_leaving_out(n_clusters: int, n_parameters: int) -> bool:
    """Tell whether customers are so few that each of them moves the estimate by more than errors can bear."""
    return n_clusters < _MANY * n_parameters
