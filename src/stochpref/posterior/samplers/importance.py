# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Importance sampling from a Student t law around the mode, on the exact likelihood.

Every draw costs one evaluation of the likelihood and none depends on another, so there is nothing to warm up and
nothing to mix; what can fail is that the weights are uneven, and Pareto smoothing says so (k̂ above 0.7: do not use).
The law is centred at the mode of the posterior of h, not of the likelihood: at 25 goods and 1000 observations that
triples the effective draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from stochpref.errors import InvalidArgument
from stochpref.posterior.gaussian import TOLERANCE, Reference
from stochpref.posterior.target import Info, Target, keyed_generator

Array = NDArray[np.float64]

_FEWEST = 25  # a fifth of them is the tail that Pareto smoothing fits


class ImportanceState(NamedTuple):
    """The last proposals: h (chains, n) and their log-weights (chains,), up to a constant common to all."""

    h: Array
    log_weight: Array


class SmoothedWeights(NamedTuple):
    """Weights that sum to 1 over all chains and draws.

    weights : (chains, draws).
    pareto_k : shape of their tail; beyond 0.7 they are not to be trusted, NaN if too few to tell.
    n_effective : 1 / Σ w².
    """

    weights: Array
    pareto_k: float
    n_effective: float


@dataclass(frozen=True)
class Importance:
    """The sampler; see the module.

    target : store and prior.
    seed : of all its random numbers.
    reference : from `find_reference`.
    degrees : of freedom of the proposals; None for 2n, at least 5. Few goods leave skewed posteriors, which need heavy
        tails; with many, heavy tails put most proposals too far out.
    """

    target: Target
    seed: int
    reference: Reference
    degrees: float | None = None
    n_warmup: int = 0
    name: str = "importance"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> ImportanceState:
        """Return the mode, with no weight: the first step replaces it."""
        return ImportanceState(np.tile(self.reference.mode, (n_chains, 1)), np.full(n_chains, -np.inf))

    def step(self, state: ImportanceState, iteration: int) -> tuple[ImportanceState, Info]:
        """Make one proposal per chain."""
        drawn = [self._propose(keyed_generator(self.seed, c, iteration)) for c in range(len(state.h))]
        log_weight = np.array([weight for _, weight in drawn])
        return ImportanceState(np.array([h for h, _ in drawn]), log_weight), Info({"log_weight": log_weight.copy()})

    def _propose(self, rng: np.random.Generator) -> tuple[Array, float]:
        """Return a draw from the t law and its log-weight; -inf outside the shell, at no cost."""
        n = len(self.reference.centre)
        nu = self.degrees if self.degrees is not None else max(5.0, 2.0 * n)
        z = rng.standard_normal(n) / np.sqrt(rng.chisquare(nu) / nu)
        h = self.reference.centre + self.reference.factor @ z
        log_prior = float(self.target.prior.log_density_of_h(h[None])[0])
        if not np.isfinite(log_prior):
            return h, -np.inf
        log_scale = float(gammaln(0.5 * (nu + n)) - gammaln(0.5 * nu)) - 0.5 * n * np.log(nu * np.pi)
        log_determinant = float(np.sum(np.log(np.diag(self.reference.factor))))
        log_proposal = log_scale - log_determinant - 0.5 * (nu + n) * np.log1p(float(z @ z) / nu)
        log_likelihood = self.target.store.sums(h, derivatives=0, tolerance=TOLERANCE).value
        return h, log_likelihood + log_prior - log_proposal

    def parameters(self, state: ImportanceState) -> dict[str, Array]:
        """Return mean directions (chains, n) and concentrations (chains,) of the proposals, to be weighted."""
        kappa = np.linalg.norm(state.h, axis=1)
        return {"mean_direction": state.h / kappa[:, None], "concentration": kappa}


def smooth_weights(log_weights: Array) -> SmoothedWeights:
    """Return Pareto-smoothed weights of (chains, draws) log-weights.

    Notes
    -----
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), *Journal of Machine Learning Research* 25 (72).
    """
    finite = np.isfinite(log_weights)
    if not finite.any():
        return SmoothedWeights(np.zeros(log_weights.shape), np.nan, 0.0)
    # Draws outside the shell have no weight and no place in the tail.
    values, pareto_k = _smooth(log_weights[finite])
    smoothed = np.full(log_weights.shape, -np.inf)
    smoothed[finite] = values
    weights = np.exp(smoothed - logsumexp(smoothed))
    return SmoothedWeights(weights, pareto_k, float(1 / np.sum(weights**2)))


def _smooth(log_weights: Array) -> tuple[Array, float]:
    """Return smoothed log-weights (k,) and k̂; as they are, and NaN, where they are too few or their tail is a point."""
    if log_weights.size < _FEWEST or np.ptp(np.sort(log_weights)[-_FEWEST // 5 :]) == 0:
        return log_weights, np.nan
    with np.errstate(all="ignore"):  # weights that underflow make a tail of zeros; what comes of it is checked
        smoothed, pareto_k = array_stats.psislw(-log_weights, axis=-1)
    if not (np.isfinite(pareto_k) and np.isfinite(logsumexp(smoothed))):
        return log_weights, np.nan
    return smoothed, float(pareto_k)


def resample(weights: Array, n_draws: int, *, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return n_draws indices into the flattened weights: as many of each, to within one, as its weight asks for.

    Systematic resampling: one uniform number shifts an even comb along the cumulative weights. Equal draws stay
    in a row.
    """
    flat = weights.ravel()
    if not flat.sum() > 0:
        raise InvalidArgument("weights must not all be 0; no draw fell where the posterior is; use sampler='gibbs'")
    comb = (np.arange(n_draws) + rng.random()) / n_draws
    ends = np.cumsum(flat)
    chosen = np.searchsorted(ends / ends[-1], comb, side="right")
    return np.minimum(chosen, flat.size - 1)
