# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Draws around a mode: weighted by the posterior, or those of its curvature where weights would be of no use.

Where Pareto smoothing says that the weights are too uneven, the Gaussian of the curvature stands for the posterior,
bent towards it by tempered weights where there are any, and the fit says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from stochpref.posterior.chains import Draws, Plan
from stochpref.posterior.choosing import Choice, resampled, weighted_choice
from stochpref.posterior.diagnostics import Diagnostics, component_names
from stochpref.posterior.samplers.around import CURVATURE, AroundMode
from stochpref.posterior.samplers.importance import smooth_weights

Array = NDArray[np.float64]

TEMPERED: Final = 400  # draws of the Gaussian that are weighed, as a rule,
_LEFT_EFFECTIVE: Final = 0.25  # of which so many effective ones are left


def around_mode(sampler: AroundMode, plan: Plan, reason: str, n_weighed: int = TEMPERED) -> Choice:
    """Return how to draw by importance, and from the curvature where weights turn out too uneven.

    Parameters
    ----------
    n_weighed : draws of the Gaussian that are weighed then.
    """

    def instead(found: Diagnostics) -> Choice:
        told = f"importance weights were too uneven, Pareto k {found.pareto_k:.2f}"
        return by_curvature(sampler, plan, told, n_weighed=n_weighed)

    choice = weighted_choice(sampler, sampler.seed, plan, reason)
    return choice._replace(instead_fn=instead, diagnose_fn=lambda draws: by_weights(draws, choice.finish_fn(draws)))


def by_weights(drawn: Draws, resampled: Draws) -> Diagnostics:
    """Return diagnostics of independent draws with weights: 1 / Σ w² effective ones, of whatever parameter."""
    weights = smooth_weights(drawn.statistics["log_weight"])
    names = tuple(part for name, values in drawn.parameters.items() for part in component_names(name, values.shape[2:]))
    spread = np.concatenate([values.std(axis=(0, 1)).ravel() for values in resampled.parameters.values()])
    many, nothing = np.full(len(names), weights.n_effective), np.full(len(names), np.nan)
    error = spread / np.sqrt(max(weights.n_effective, 1.0))
    return Diagnostics(names, nothing, many, many, error, error / np.sqrt(2.0), weights.pareto_k)


def by_curvature(sampler: AroundMode, plan: Plan, reason: str, *, n_weighed: int) -> Choice:
    """Return draws of the Gaussian, nearer to the posterior where so many can be weighed by the likelihood, if not 0.

    Weights are then raised to the highest power, 1 at most, that leaves a quarter of them effective.
    """
    is_weighed = n_weighed > 0
    own = replace(sampler, name=CURVATURE, is_weighed=is_weighed)

    def adapt(asked: Plan) -> Plan:
        n_draws = -(-n_weighed // asked.n_chains) if is_weighed else asked.n_draws
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
        low, high = (
            (middle, high) if 1.0 / np.sum(at(middle) ** 2) >= _LEFT_EFFECTIVE * log_weights.size else (low, middle)
        )
    return at(low)
