# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Two goods at price 1 and a budget of 1 or 2: a market so small that its posterior can be known at any T.

Law (iii) with n = 2. Utilities are angles, every region is an arc, and seven cells (budget, bundle) hold all there is
to observe, so the counts of a hundred million customers are one multinomial draw and the posterior of (angle, κ) is a
sum of counts times log-probabilities, on a grid that zooms in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import vonmises

from stochpref.problems.divisible import choose

Array = NDArray[np.float64]

EDGES = np.array([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]) * np.pi  # where the choice from some menu changes
BUDGETS = (1.0, 2.0)
_NEGLIGIBLE = 40.0  # in log-density below the highest


def _cells() -> tuple[Array, Array]:
    """Return the cells as points (bundle, prices, budget), and which arcs make up each, halved: budgets are a coin."""
    middles = 0.5 * (EDGES[1:] + EDGES[:-1])
    utilities = np.stack([np.cos(middles), np.sin(middles)], axis=1)
    points: list[tuple[float, ...]] = []
    rows: list[Array] = []
    for budget in BUDGETS:
        bundles = choose(utilities, np.ones(2), budget)
        for bundle in np.unique(bundles, axis=0):
            points.append((*bundle, 1.0, 1.0, budget))
            rows.append(0.5 * np.all(bundles == bundle, axis=1))
    return np.array(points), np.array(rows)


POINTS, ARCS = _cells()


def cell_probabilities(angles: Array, concentrations: Array) -> Array:
    """Return (..., 7) the probability of each cell; angles and concentrations broadcast."""
    kappa = np.asarray(concentrations)[..., None]
    below = vonmises.cdf(EDGES - np.asarray(angles)[..., None], kappa)
    probabilities: Array = np.diff(below, axis=-1) @ ARCS.T
    return np.maximum(probabilities, 1e-300)


class Posterior(NamedTuple):
    """The posterior on a grid.

    angle, concentration : (k,) the nodes.
    weight : (k,) their probabilities.
    cells : (k, 7) the probability of each cell at each node.
    """

    angle: Array
    concentration: Array
    weight: Array
    cells: Array


def posterior(counts: Array, concentration_bounds: tuple[float, float], n_nodes: int = 120) -> Posterior:
    """Return the posterior of angle and concentration, both uniform a priori, given how often each cell occurred."""
    low, high = concentration_bounds
    window = np.array([[-np.pi, np.pi], [low, high]])
    for _ in range(12):
        step = (window[:, 1] - window[:, 0]) / n_nodes
        angle, kappa = (window[k, 0] + step[k] * (np.arange(n_nodes) + 0.5) for k in range(2))
        cells = cell_probabilities(angle[:, None], kappa[None, :])
        log_density = np.log(cells) @ counts
        kept = np.argwhere(log_density > log_density.max() - _NEGLIGIBLE)
        narrower = np.stack([window[:, 0] + (kept.min(0) - 1) * step, window[:, 0] + (kept.max(0) + 2) * step], axis=1)
        narrower = np.stack(
            [np.maximum(narrower[:, 0], window[:, 0]), np.minimum(narrower[:, 1], window[:, 1])], axis=1
        )
        if np.all(narrower[:, 1] - narrower[:, 0] > 0.6 * (window[:, 1] - window[:, 0])):
            break
        window = narrower
    weight = np.exp(log_density - log_density.max()).ravel()
    grid = np.meshgrid(angle, kappa, indexing="ij")
    return Posterior(grid[0].ravel(), grid[1].ravel(), weight / weight.sum(), cells.reshape(-1, len(ARCS)))


def total_variation(cells: Array, other: Array) -> Array:
    """Return half the sum of absolute differences over the last axis."""
    return 0.5 * np.sum(np.abs(cells - other), axis=-1)


def parameter_distance(angle: Array, concentration: Array, true_angle: float, true_concentration: float) -> Array:
    """Return |θ - θ*| with θ = (μ, κ)."""
    chord = 2.0 * np.sin(0.5 * (np.asarray(angle) - true_angle))
    return np.hypot(chord, np.asarray(concentration) - true_concentration)
