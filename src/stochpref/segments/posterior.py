# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How sure a mixture is: draws around its maximum, weighted by the exact likelihood.

Proposals come from a Student t law with the curvature of the log-posterior at its mode, in the log-ratios of weights
and h of all segments. A mixture has as many maxima as there are orders of its segments, all alike; draws stay around
one of them, and so keep its order. Where weights are too uneven, or a pass over all observations takes long, the
Gaussian of that curvature stands for the posterior, and the fit says so.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.around import TEMPERED, around_mode, by_curvature
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import Choice
from stochpref.posterior.samplers.around import AroundMode, Near
from stochpref.segments.objective import Mixture, Objective, Value

Array = NDArray[np.float64]

_MASSES: Final = 5e5  # that weights of draws of the curvature may take, if not more than
_MOST_WEIGHED: Final = 2000  # are weighed
_SMALLEST: Final = 1e-6  # share of the largest curvature that a direction has at least


def gaussian_near(objective: Objective, mixture: Mixture, at: Value) -> Near:
    """Return the Gaussian at the mode in the coordinates; `at` holds the information at the maximum in the weights.

    Notes
    -----
    In log-ratios the density of the weights has the factor Π π_k more, whose mode is one Newton step away.
    """
    k, weights = len(mixture.h), np.exp(mixture.log_weights)
    information = objective.information(mixture, at.sums)
    more = k * (np.diag(weights) - np.outer(weights, weights))[:-1, :-1]
    information[: k - 1, : k - 1] += more
    values, vectors = np.linalg.eigh(information)
    # Estimates of the likelihood have noise in their curvature: no direction is wider than in the prior.
    least = 0.0 if objective.store.is_exact else 1.0 / objective.spread**2
    covariance = (vectors / np.maximum(values, max(_SMALLEST * values[-1], least))) @ vectors.T
    slope = at.gradient.copy()
    slope[: k - 1] += (1.0 - k * weights)[:-1]
    return Near(mixture.coordinates + covariance @ slope, np.linalg.cholesky(covariance))


class MixtureDensity(NamedTuple):
    """The posterior of a mixture in its coordinates.

    objective : the penalised likelihood. n_segments : K.
    """

    objective: Objective
    n_segments: int

    def log_posterior(self, coordinates: Array) -> float:
        """Return the log-density of the posterior in the coordinates, up to a constant."""
        mixture = Mixture.at(coordinates, self.n_segments)
        return self.objective.at(mixture, derivatives=0).value + float(np.sum(mixture.log_weights))

    def parameters(self, coordinates: Array) -> dict[str, Array]:
        """Return weights (chains, K), mean directions (chains, K, n) and concentrations (chains, K)."""
        mixtures = [Mixture.at(at, self.n_segments) for at in coordinates]
        laws = np.array([mixture.h for mixture in mixtures])
        kappa = np.linalg.norm(laws, axis=2)
        return {
            "weight": np.exp([mixture.log_weights for mixture in mixtures]),
            "mean_direction": laws / np.maximum(kappa, 1e-300)[:, :, None],
            "concentration": kappa,
        }


def draws_around(objective: Objective, mixture: Mixture, seed: int, plan: Plan) -> Choice:
    """Return how to draw around a maximum: by importance, or from the curvature where that would be of no use."""
    near = gaussian_near(objective, mixture, objective.at(mixture, derivatives=2))
    density = MixtureDensity(objective, len(mixture.h))
    sampler = AroundMode(near, density.log_posterior, density.parameters, seed)
    if objective.store.is_large:
        reason = "many stored observations: every weight would take a pass over all of them"
        return by_curvature(sampler, plan, reason, n_weighed=0)
    how = "exact likelihood" if objective.store.is_exact else "likelihood of weighted points"
    n_masses = objective.store.count_distinct() * len(mixture.h)
    n_weighed = int(np.clip(_MASSES / n_masses, TEMPERED, _MOST_WEIGHED))
    return around_mode(sampler, plan, f"{len(near.centre)} parameters around the maximum, by the {how}", n_weighed)
