# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact Wasserstein distances between two laws on the same finite set of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]


def wasserstein(points: Array, weights: Array, other_weights: Array, order: int = 1) -> float:
    """Return (min Σ flow·distance^order)^(1/order) over flows that turn one law on the points into the other.

    Parameters
    ----------
    points : (k, d).
    weights, other_weights : (k,) the two laws.

    Notes
    -----
    At order 1 the cost obeys the triangle inequality, so mass that both laws share may stay where it is: only the
    surplus moves to the deficit, a small linear programme. At higher orders all mass is free to move.
    """
    before, after = weights / weights.sum(), other_weights / other_weights.sum()
    if order == 1:
        before, after = np.maximum(before - after, 0.0), np.maximum(after - before, 0.0)
    source, sink = np.flatnonzero(before > 0.0), np.flatnonzero(after > 0.0)
    if source.size == 0 or sink.size == 0:
        return 0.0
    # Relative to the mass that moves: the solver's tolerances are absolute.
    moved = before[source].sum()
    supply, demand = before[source] / moved, after[sink] / after[sink].sum()
    cost = cdist(points[source], points[sink]) ** order
    n_flows = cost.size
    row, column = np.divmod(np.arange(n_flows), sink.size)
    ones = np.ones(n_flows)
    leaving = csr_array((ones, (row, np.arange(n_flows))), shape=(source.size, n_flows))
    arriving = csr_array((ones, (column, np.arange(n_flows))), shape=(sink.size, n_flows))
    # One equation follows from the others; dropping it spares the solver a rounding conflict.
    matrix, right = vstack([leaving, arriving]).tocsr()[:-1], np.concatenate([supply, demand])[:-1]
    solved = linprog(cost.ravel(), A_eq=matrix, b_eq=right, method="highs")
    assert solved.status == 0, solved.message
    return float(max(solved.fun, 0.0) * moved) ** (1.0 / order)
