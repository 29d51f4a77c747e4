# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under normal laws: exact where goods are independent, and given factors where they are not.

Given the factors of a customer, f ~ N(0, I), goods are independent, with means m + Λ f: the mass is exact, and what is
left is its mean over f, taken at evenly spread points, other ones for every draw. The probabilities of all bundles of a
menu add up to 1 whatever the points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from stochpref.chances import Chance, Recorded
from stochpref.mass.diagonal import NormalLaws, normal_log_chance

Array = NDArray[np.float64]

_POINTS: Final = 16  # of the factors, for each draw


class Given(NamedTuple):
    """Laws of independent goods that a normal law is a mixture of, all as likely: means (K, n), log-scales (n,)."""

    mean: Array
    log_scale: Array


def given_factors(mean: Array, covariance: Array, own: Array, points: Array) -> Given:
    """Return the laws given factors: one, the law itself, where no variance is shared.

    Parameters
    ----------
    mean, covariance, own : of one draw, as `diagonal.scaled_laws` names them.
    points : (K, n) normals, of which as many columns are used as there are factors.
    """
    shared = covariance - np.diag(own)
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(shared / scale[:, None] / scale)
    kept = values > 1e-9
    if not kept.any():
        return Given(mean[None], 0.5 * np.log(own))
    root = scale[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    root = root[:, ::-1]  # the largest first: the first columns of points are the most even
    return Given(mean + points[:, : root.shape[1]] @ root.T, 0.5 * np.log(own))


def factor_points(n: int, n_draws: int, n_points: int = _POINTS, *, seed: int) -> Array:
    """Return normals (draws, points, n), evenly spread over each draw's and over all."""
    drawn = qmc.Sobol(n, seed=np.random.default_rng(seed)).random(2 ** math.ceil(math.log2(n_draws * n_points)))
    normals: Array = ndtri(np.clip(drawn[: n_draws * n_points], 1e-12, 1.0 - 1e-12))
    return normals.reshape(n_draws, n_points, n)


def log_of_law(recorded: Recorded, law: Given, tolerance: float = 1e-10) -> Array:
    """Return (T,) log-probabilities of what was recorded."""
    bought = _log_mean(recorded.chance, law, tolerance)
    if recorded.event is None:
        return bought
    return np.minimum(bought - _log_mean(recorded.event, law, tolerance), 0.0)


def _log_mean(chance: Chance, law: Given, tolerance: float) -> Array:
    found = [
        normal_log_chance(chance, NormalLaws(one[None], law.log_scale), tolerance=tolerance).log_mass
        for one in law.mean
    ]
    return found[0] if len(found) == 1 else np.asarray(logsumexp(found, axis=0) - math.log(len(found)))


def log_predictive(recorded: Recorded, drawn: Mapping[str, Array], seed: int) -> Array:
    """Return (T,) the log of the mean probability of what was recorded over draws (draws, …) by name."""
    n_draws, n = drawn["mean"].shape
    points = factor_points(n, n_draws, seed=seed)
    total = np.full(len(recorded.chance), -np.inf)
    for s in range(n_draws):
        law = given_factors(drawn["mean"][s], drawn["covariance"][s], drawn["own_variance"][s], points[s])
        total = np.logaddexp(total, log_of_law(recorded, law))
    return total - math.log(n_draws)


def log_of_draw(recorded: Recorded, parameters: Mapping[str, Array]) -> Array:
    """Return (T,) log-probabilities under one draw, with the same points for every draw."""
    mean = parameters["mean"]
    points = factor_points(len(mean), 1, seed=0)[0]
    return log_of_law(recorded, given_factors(mean, parameters["covariance"], parameters["own_variance"], points))
