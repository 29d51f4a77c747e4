# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Predictions of segments over whole goods: averages over two to four segments, and how likely a bundle is.

How many segments there are matters less for what will be bought than for who buys it: the mean of the probabilities
under two, three and four segments predicts better than any of them. It is the probability under one mixture, of all
their segments, each with a third of its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance
from stochpref.mass.conditional import log_chance
from stochpref.mass.mixture import LawMasses, responsibilities, unit_masses
from stochpref.observations import Observations
from stochpref.posterior.counting import Estimate, Posterior
from stochpref.posterior.orthants import has_orthant, log_by_orthants
from stochpref.posterior.predictive import log_simulated
from stochpref.problems.divisible import unwanted
from stochpref.segments.objective import Mixture
from stochpref.segments.points import Points
from stochpref.segments.sources import LARGE, MIDDLE, Clouds, source_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

AVERAGED: Final = (2, 3, 4)  # numbers of segments
_REPEATS: Final = 4  # clouds whose spread is the error
_FEWEST: Final = 8  # points of a bundle in a cloud, below which another way is looked for
_PATTERNS: Final = 64  # of goods within reach that probabilities to be recorded are averaged over, at most


def joined(mixtures: Sequence[Mixture]) -> Mixture:
    """Return the mixture whose probabilities are the means of those of others."""
    log_weights = np.concatenate([one.log_weights for one in mixtures]) - np.log(len(mixtures))
    return Mixture(log_weights, np.concatenate([one.h for one in mixtures]))


def log_probabilities(observations: Observations, mixture: Mixture, seed: int) -> Estimate:
    """Return (T,) log-probabilities of what was recorded, with their errors; -inf where degenerate.

    Parameters
    ----------
    mixture : its weights are shares of the customers who are recorded.
    """
    kappa = np.linalg.norm(mixture.h, axis=1)
    directions = mixture.h / np.maximum(kappa, 1e-300)[:, None]
    laws = Posterior(directions, kappa, np.exp(mixture.log_weights))
    source = source_of(observations, None, seed)
    if not isinstance(source, Clouds):
        return log_simulated(observations, laws, rng=np.random.default_rng([seed, 17]))
    source.points(None, MIDDLE)
    source.points(mixture, MIDDLE)
    clouds = [source.points(mixture, LARGE) for _ in range(_REPEATS)]
    chances = np.array([_of_mixture(cloud, mixture) for cloud in clouds])
    mean = chances.mean(axis=0)
    error = chances.std(axis=0, ddof=1) / np.sqrt(_REPEATS) / mean
    place, n_hit = source.seen.place, np.min([cloud.n_hit for cloud in clouds], axis=0)
    log_probability, errors = np.log(mean)[place], np.where(n_hit > 0, error, 1.0)[place]
    intervals = observations.problem.intervals(observations)
    rare = np.flatnonzero((n_hit < _FEWEST)[place] & has_orthant(intervals))
    if rare.size:
        better = log_by_orthants(observations[rare], laws, seed=seed)
        is_better = better.error < errors[rare]
        log_probability[rare[is_better]] = better.log_probability[is_better]
        errors[rare[is_better]] = better.error[is_better]
    log_probability[intervals.is_degenerate], errors[intervals.is_degenerate] = -np.inf, 0.0
    return Estimate(np.minimum(log_probability, 0.0), errors)


def _of_mixture(points: Points, mixture: Mixture) -> Array:
    """Return (regions,) probabilities under a mixture."""
    logs = points.log_chances(mixture.h, points.weighed(mixture.h))
    return np.exp(responsibilities(logs, mixture.log_weights)[0])


def membership_by_points(observations: Observations, mixture: Mixture, unit: Indices | None, seed: int) -> Array:
    """Return (T, K) the probability of each segment given what was bought; NaN where degenerate."""
    usable = np.flatnonzero(~observations.problem.intervals(observations).is_degenerate)
    found = np.full((len(observations), len(mixture.h)), np.nan)
    if not usable.size:
        return found
    data, own = observations[usable], None if unit is None else np.unique(unit[usable], return_inverse=True)[1]
    source = source_of(data, own, seed)
    if isinstance(source, Clouds):
        source.points(None, MIDDLE)
        source.points(mixture, MIDDLE)
    points = source.points(mixture, LARGE)
    logs = points.log_chances(mixture.h, points.weighed(mixture.h))
    laid = LawMasses(logs, np.empty((len(mixture.h), points.n_regions, 0)), points.counts, points.place, None)
    share = responsibilities(unit_masses(laid, own)[0], mixture.log_weights)[1].T
    found[usable] = share[points.place if own is None else own]
    return found


def shares_of_all(observations: Observations, weights: Array, laws: Array) -> Array:
    """Return shares (S, K) of all customers, given those of customers who are recorded and laws (S, K, n).

    Where only bundles that are not empty are recorded, a segment that often buys nothing is larger than it looks.
    """
    if not observations.nonempty:
        return weights
    reach = np.unique(observations.problem.intervals(observations).is_in_reach, axis=0)[:_PATTERNS]
    flat = np.ascontiguousarray(laws.reshape(-1, laws.shape[-1]))
    seen = np.zeros(len(flat))
    for pattern in reach:
        chance = Chance.outside(unwanted(np.tile(pattern, (len(flat), 1))))
        seen += np.exp(log_chance(chance, flat, np.arange(len(flat))).log_mass) / len(reach)
    own = weights / np.maximum(seen.reshape(weights.shape), 1e-12)
    return np.asarray(own / own.sum(axis=-1, keepdims=True))
