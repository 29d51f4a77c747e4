# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely choices are: of known customers under their tastes, of others under the law, each choice alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from stochpref.features import FeatureDesign
from stochpref.observations import Observations
from stochpref.problems import Problem
from stochpref.tastes.panel import laid_out

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TASTES: Final = 8192  # of new customers, over all draws of the law
_NUMBERS: Final = 2e7  # at once


def chosen_options(observations: Observations, n_options: int) -> Indices:
    """Return which option (T,) was chosen, the last where no good was."""
    bundles = observations.bundles
    return np.where(bundles.any(axis=1), np.argmax(bundles, axis=1), n_options - 1)


def log_predictive(
    observations: Observations, design: FeatureDesign, problem: Problem, tastes: Sequence[Array], whose: Indices
) -> Array:
    """Return (T,) the log of the mean probability of each choice over tastes.

    Parameters
    ----------
    tastes : (k, p) of each customer that may be asked for.
    whose : (T,) which of these each choice is of.
    """
    own = observations.over(design.goods)
    designs, handicaps = laid_out(own, design, problem)
    chosen, found = chosen_options(own, handicaps.shape[1]), np.empty(len(own))
    for i in np.unique(whose):
        theta = tastes[i]
        rows = np.flatnonzero(whose == i)
        step = max(int(_NUMBERS / (len(theta) * designs.shape[1])), 1)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            value = np.einsum("tjp,kp->ktj", designs[some], theta, optimize=True) - handicaps[some]
            picked = value[:, np.arange(len(some)), chosen[some]]
            found[some] = logsumexp(picked - logsumexp(value, axis=2), axis=0) - math.log(len(theta))
    return found


def new_tastes(mean: Array, covariance: Array, *, seed: int) -> Array:
    """Return tastes (k, p) of new customers, as many under each of the laws (draws, p) and (draws, p, p)."""
    n_draws, p = mean.shape
    each = max(_TASTES // n_draws, 1)
    drawn = qmc.Sobol(p, seed=np.random.default_rng([seed, 4])).random(2 ** math.ceil(math.log2(n_draws * each)))
    normals = ndtri(np.clip(drawn[: n_draws * each], 1e-12, 1.0 - 1e-12)).reshape(each, n_draws, p)
    found = mean + np.einsum("ksp,sqp->ksq", normals, np.linalg.cholesky(covariance))
    return np.asarray(found.reshape(-1, p))
