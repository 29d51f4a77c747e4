# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How sure a mixture is: draws around its maximum, weighted by the exact likelihood.

Proposals come from a Student t law with the curvature of the log-posterior at its mode, in the log-ratios of weights
and h of all segments. A mixture has as many maxima as there are orders of its segments, all alike; draws stay around
one of them, and so keep its order. Where Pareto smoothing says that the weights are too uneven, or a pass over all
observations takes long, the Gaussian of that curvature stands for the posterior, bent towards it by tempered weights
where there are any, and the fit says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from stochpref.posterior.chains import Draws, Plan
from stochpref.posterior.choosing import Choice, resampled, weighted_choice
from stochpref.posterior.diagnostics import Diagnostics, component_names
from stochpref.posterior.samplers.importance import smooth_weights
from stochpref.posterior.target import Info, keyed_generator
from stochpref.segments.objective import Mixture, Objective, Value

Array = NDArray[np.float64]

_DEGREES: Final = 10.0  # of freedom of the proposals, at least
_SMALLEST: Final = 1e-6  # share of the largest curvature that a direction has at least

_TEMPERED: Final = 400  # draws of the Gaussian that are weighed,
_LEFT_EFFECTIVE: Final = 100.0  # of which so many effective ones are left

IMPORTANCE: Final = "importance"
CURVATURE: Final = "curvature"


class Near(NamedTuple):
    """The Gaussian near the posterior of the coordinates: centre (p,) and lower triangular factor of its covariance."""

    centre: Array
    factor: Array


class SegmentState(NamedTuple):
    """The last proposals: coordinates (chains, p) and their log-weights (chains,)."""

    coordinates: Array
    log_weight: Array


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


@dataclass(frozen=True)
class SegmentDraws:
    """Proposals around the mode, to be weighted; or draws of the Gaussian, as they are.

    objective : the penalised likelihood.
    n_segments : K.
    near : the Gaussian near the posterior.
    seed : of all random numbers.
    name : "importance" or "curvature".
    is_weighed : draws of the Gaussian get weights too.
    """

    objective: Objective
    n_segments: int
    near: Near
    seed: int
    name: str = IMPORTANCE
    is_weighed: bool = False
    n_warmup: int = 0
    revision: ClassVar[int] = 1

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the proposals: with many coordinates heavy tails put most of them too far out."""
        return max(_DEGREES, 2.0 * len(self.near.centre))

    def init(self, n_chains: int) -> SegmentState:
        """Return the mode, with no weight: the first step replaces it."""
        return SegmentState(np.tile(self.near.centre, (n_chains, 1)), np.full(n_chains, -np.inf))

    def step(self, state: SegmentState, iteration: int) -> tuple[SegmentState, Info]:
        """Make one proposal per chain."""
        drawn = [self._propose(keyed_generator(self.seed, c, iteration)) for c in range(len(state.coordinates))]
        new = SegmentState(np.array([at for at, _ in drawn]), np.array([weight for _, weight in drawn]))
        return new, Info({"log_weight": new.log_weight.copy()})

    def _propose(self, rng: np.random.Generator) -> tuple[Array, float]:
        p = len(self.near.centre)
        z = rng.standard_normal(p)
        if self.name == CURVATURE:
            at = self.near.centre + self.near.factor @ z
            return at, self.log_posterior(at) + 0.5 * float(z @ z) if self.is_weighed else 0.0
        nu = self.degrees
        z /= np.sqrt(rng.chisquare(nu) / nu)
        at = self.near.centre + self.near.factor @ z
        log_scale = float(gammaln(0.5 * (nu + p)) - gammaln(0.5 * nu)) - 0.5 * p * np.log(nu * np.pi)
        log_proposal = log_scale - 0.5 * (nu + p) * np.log1p(float(z @ z) / nu)
        return at, self.log_posterior(at) - log_proposal

    def log_posterior(self, coordinates: Array) -> float:
        """Return the log-density of the posterior in the coordinates, up to a constant."""
        mixture = Mixture.at(coordinates, self.n_segments)
        return self.objective.at(mixture, derivatives=0).value + float(np.sum(mixture.log_weights))

    def parameters(self, state: SegmentState) -> dict[str, Array]:
        """Return weights (chains, K), mean directions (chains, K, n) and concentrations (chains, K)."""
        mixtures = [Mixture.at(at, self.n_segments) for at in state.coordinates]
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
    sampler = SegmentDraws(objective, len(mixture.h), near, seed)
    if objective.store.is_large:
        reason = "many stored observations: every weight would take a pass over all of them"
        return _by_curvature(sampler, plan, reason, is_weighed=False)

    def instead(found: Diagnostics) -> Choice:
        reason = f"importance weights were too uneven, Pareto k {found.pareto_k:.2f}"
        return _by_curvature(sampler, plan, reason, is_weighed=True)

    how = "exact likelihood" if objective.store.is_exact else "likelihood of weighted points"
    reason = f"{len(near.centre)} parameters around the maximum, by the {how}"
    choice = weighted_choice(sampler, seed, plan, reason)
    return choice._replace(instead_fn=instead, diagnose_fn=lambda draws: by_weights(draws, choice.finish_fn(draws)))


def by_weights(drawn: Draws, resampled: Draws) -> Diagnostics:
    """Return diagnostics of independent draws with weights: 1 / Σ w² effective ones, of whatever parameter."""
    weights = smooth_weights(drawn.statistics["log_weight"])
    names = tuple(part for name, values in drawn.parameters.items() for part in component_names(name, values.shape[2:]))
    spread = np.concatenate([values.std(axis=(0, 1)).ravel() for values in resampled.parameters.values()])
    many, nothing = np.full(len(names), weights.n_effective), np.full(len(names), np.nan)
    error = spread / np.sqrt(max(weights.n_effective, 1.0))
    return Diagnostics(names, nothing, many, many, error, error / np.sqrt(2.0), weights.pareto_k)


def _by_curvature(sampler: SegmentDraws, plan: Plan, reason: str, *, is_weighed: bool) -> Choice:
    """Return draws of the Gaussian, nearer to the posterior where each can be weighed by the likelihood.

    Weights are then raised to the highest power, 1 at most, that leaves as many effective draws as wanted.
    """
    own = replace(sampler, name=CURVATURE, is_weighed=is_weighed)

    def adapt(asked: Plan) -> Plan:
        n_draws = -(-_TEMPERED // asked.n_chains) if is_weighed else asked.n_draws
        return replace(asked, n_draws=n_draws, n_effective=0)

    def finish(draws: Draws) -> Draws:
        weights = _tempered(draws.statistics["log_weight"])
        return resampled(draws, weights, max(plan.n_draws, draws.shape[1]), sampler.seed)

    return Choice(own, reason, adapt, finish_fn=finish if is_weighed else lambda draws: draws)


def _tempered(log_weights: Array) -> Array:
    """Return weights of sum 1 raised to the highest power that leaves enough effective draws."""

    def at(power: float) -> Array:
        logs = power * log_weights
        return np.asarray(np.exp(logs - logsumexp(logs)))

    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 1.0 / np.sum(at(middle) ** 2) >= _LEFT_EFFECTIVE else (low, middle)
    return at(low)
