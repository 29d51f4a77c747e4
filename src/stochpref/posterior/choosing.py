# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which sampler, and why.

Gibbs costs little a draw but its draws are correlated, the more so the fewer the goods and the more alike the
customers: bundles then say little of utilities. Samplers on the exact likelihood pay for an integral per distinct
region and draw, and get draws that are nearly independent: around the mode of the posterior if it has one and data
enough to look Gaussian, else layer by layer of κ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.loading import load
from stochpref.names import SAMPLERS
from stochpref.posterior.chains import DiagnoseFn, Draws, Plan
from stochpref.posterior.checkpoints import read_checkpoint
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.large import near_maximum
from stochpref.posterior.samplers.corner_gibbs import gibbs_of
from stochpref.posterior.samplers.gibbs_remote import RemoteGibbs
from stochpref.posterior.samplers.gibbs_unseen import UnseenGibbs
from stochpref.posterior.samplers.hamiltonian import Hamiltonian
from stochpref.posterior.samplers.importance import Importance, resample, smooth_weights
from stochpref.posterior.samplers.interval_gibbs import IntervalGibbs
from stochpref.posterior.samplers.layered import Layered
from stochpref.posterior.samplers.layers import find_layers
from stochpref.posterior.target import Sampler, Target
from stochpref.problems.interval_regions import IntervalRegions

Array = NDArray[np.float64]

_FEWEST_FOR_LAYERS: Final = 2  # coordinates of a direction that can vary
_MOST_GOODS: Final = 200  # beyond which the Hessian costs more than it saves
_FEWEST_PROPOSALS: Final = 200
_PROPOSALS: Final = 1.6  # importance draws to begin with, for each effective draw wanted
_LAYERED_EFFICIENCY: Final = 0.2  # of importance: regions seen edge-on cost more, and weights are less even


class Choice(NamedTuple):
    """A sampler ready to run.

    sampler, reason : what, and why, in a phrase.
    adapt_fn : plan -> plan as suits the sampler.
    diagnose_fn : draws -> diagnostics; None for the usual ones.
    finish_fn : draws -> draws of equal weight.
    instead_fn : diagnostics -> another choice, where these say that the draws are of no use; None if there is none.
    end_fn : to be called when all is drawn, or nothing will be: frees what the sampler keeps elsewhere.
    likelihood_error : standard error of the log-likelihood at posterior draws; 0 where it is exact.
    """

    sampler: Sampler
    reason: str
    adapt_fn: Callable[[Plan], Plan] = lambda plan: plan
    diagnose_fn: DiagnoseFn | None = None
    finish_fn: Callable[[Draws], Draws] = lambda draws: draws
    instead_fn: Callable[[Diagnostics], Choice] | None = None
    end_fn: Callable[[], None] = lambda: None
    likelihood_error: float = 0.0


def choose_sampler(name: str, target: Target, seed: int, plan: Plan, options: Any = None) -> Choice:
    """Return the sampler of a name, or for "auto" the one whose effective draws are expected to cost least.

    A run that "auto" goes on with keeps the sampler that it has come to.
    """
    error = 0.0
    if target.store.intervals is not None:
        return _inside(name, target, target.store.intervals, seed)
    if target.store.is_large and name != "gibbs" and SAMPLERS.get(name) is None:  # those two work on rows, not on sums
        target, error = near_maximum(target, seed)
    if name != "auto":
        return _named(name, target, seed, plan, options)._replace(likelihood_error=error)
    begun, choice = read_checkpoint(plan.checkpoint), _cheapest(target, seed, plan)
    if begun is not None and begun.sampler in SAMPLERS and begun.sampler != choice.sampler.name:
        choice = _named(begun.sampler, target, seed, plan, options)._replace(reason=begun.reason)
    return choice._replace(likelihood_error=error)


def _inside(name: str, target: Target, intervals: IntervalRegions, seed: int) -> Choice:
    """Return the sampler of observations whose regions are known by intervals."""
    if name not in ("auto", "gibbs"):
        raise InvalidArgument(
            f"sampler={name!r} needs probabilities of bundles, which whole goods have no formula for; leave the "
            "sampler to 'auto', which draws utilities inside"
        )
    sampler = IntervalGibbs(intervals, target.prior, seed, target.store.nonempty)
    return Choice(sampler, "whole goods: utilities are drawn inside their regions" if name == "auto" else "as asked")


def _named(name: str, target: Target, seed: int, plan: Plan, options: Any) -> Choice:
    asked = "as asked"
    if name == "gibbs":
        return _gibbs(target, seed, asked)
    elsewhere = SAMPLERS.get(name)
    if elsewhere is not None:
        if not target.store.in_memory:
            raise InvalidArgument(f"sampler={name!r} takes observations in memory, on engine='cpu'")
        if target.store.is_conditioned:
            raise _unconditional(name)
        # The paper's algorithm makes the steps asked for and stops.
        sampler = load(elsewhere)(target, seed, *(() if options is None else (options,)))
        return Choice(sampler, asked, lambda p: replace(p, n_effective=0))
    if name == "hamiltonian":
        return _hamiltonian(target, seed, asked)
    return (_importance if name == "importance" else _layered)(target, seed, plan, asked)


def _gibbs(target: Target, seed: int, reason: str) -> Choice:
    """Return the Gibbs sampler of observations in memory or on a cluster."""
    if target.store.is_conditioned:
        event = target.store.drawable
        if event is None:
            raise _unconditional("gibbs")
        return Choice(UnseenGibbs(target, seed, event), reason)
    if target.store.in_memory:
        return Choice(gibbs_of(target, seed), reason)
    if not target.store.keeps_latents:
        raise InvalidArgument(
            "sampler='gibbs' keeps a utility of every observation for every chain, more than memory holds; "
            "leave the sampler to 'auto', or use engine='dask' with workers that have room"
        )
    sampler = RemoteGibbs(target, seed)
    return Choice(sampler, reason, end_fn=sampler.forget)


def _unconditional(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"sampler={name!r} knows regions, and not what these observations were conditioned on when they were recorded; "
        "leave the sampler to 'auto', which works on the exact likelihood"
    )


def _cheapest(target: Target, seed: int, plan: Plan) -> Choice:
    n, size = target.store.n_goods, len(target.store)
    if not target.store.is_exact:  # known near the mode only
        facts = f"{size:,} observations in parts"
        if not target.reference.is_mode:
            return _hamiltonian(target, seed, f"{facts}; the posterior has no mode inside its bounds")
        return _around_mode(target, seed, plan, facts)
    if target.store.is_conditioned:
        return _on_exact_likelihood(target, seed, plan)
    if size < 5 * n:
        return _gibbs(target, seed, "few observations: the posterior need not look Gaussian")
    if n > _MOST_GOODS:
        return _gibbs(target, seed, f"more than {_MOST_GOODS} goods")
    return _compared(target, seed, plan)


def _on_exact_likelihood(target: Target, seed: int, plan: Plan) -> Choice:
    """Return the sampler that suits where regions are not all there is to the likelihood."""
    n, facts = target.store.n_goods, "only the exact likelihood knows what could be recorded"
    if n > _MOST_GOODS:
        return _hamiltonian(target, seed, f"{facts}; more than {_MOST_GOODS} goods")
    if target.reference.is_mode or n < _FEWEST_FOR_LAYERS:
        return _around_mode(target, seed, plan, facts)
    facts = f"{facts}; the posterior has no mode inside its bounds"
    layered = _layered(target, seed, plan, facts)
    return layered._replace(instead_fn=lambda found: _hamiltonian(target, seed, _uneven("layered", found)))


def _uneven(name: str, found: Diagnostics) -> str:
    return f"{name} weights were too uneven, Pareto k {found.pareto_k:.2f}"


def _compared(target: Target, seed: int, plan: Plan) -> Choice:
    """Return Gibbs sampling, or the sampler on the exact likelihood that suits, whichever costs less."""
    store, n, kappa = target.store, target.store.n_goods, float(np.linalg.norm(target.reference.mode))
    by_gibbs, by_other = (
        gibbs_cost(n, kappa),
        importance_cost(n, len(store)) * store.count_distinct() / len(store) * store.effort,
    )
    facts, other, make = f"{n} goods, concentration near {kappa:.3g}: ", "importance", _around_mode
    if not target.reference.is_mode:
        facts, other, make = f"the posterior has no mode inside its bounds; {facts}", "layered", _between_bounds
        by_other /= _LAYERED_EFFICIENCY
    elif store.on_engine:
        return _around_mode(target, seed, plan, f"{facts}the engine sums the exact likelihood")
    reason = f"{facts}about {by_gibbs:,.0f} µs an observation and effective draw by gibbs, {by_other:,.0f} by {other}"
    return _gibbs(target, seed, reason) if by_gibbs <= by_other else make(target, seed, plan, reason)


def _around_mode(target: Target, seed: int, plan: Plan, reason: str) -> Choice:
    """Return importance sampling, with Hamiltonian Monte Carlo to fall back on."""

    def instead(found: Diagnostics) -> Choice:
        return _hamiltonian(target, seed, _uneven("importance", found))

    return _importance(target, seed, plan, reason)._replace(instead_fn=instead)


def _between_bounds(target: Target, seed: int, plan: Plan, reason: str) -> Choice:
    """Return importance sampling by layers, with Gibbs sampling to fall back on."""

    def instead(found: Diagnostics) -> Choice:
        return _gibbs(target, seed, _uneven("layered", found))

    return _layered(target, seed, plan, reason)._replace(instead_fn=instead)


def gibbs_cost(n_goods: int, concentration: float) -> float:
    """Return µs of one core for an observation and an effective draw, fitted to runs of `benchmarks.posterior`."""
    efficiency = 0.35 / (1.0 + (concentration / (2.0 + 0.13 * n_goods)) ** 2)
    return (0.2 + 0.075 * n_goods) / efficiency


def importance_cost(n_goods: int, n_observations: int) -> float:
    """Return the same for importance sampling."""
    efficiency = 0.9 / (1.0 + n_goods**3 / (250.0 * n_observations))
    return (16.0 + 1.7 * n_goods) / efficiency


def _hamiltonian(target: Target, seed: int, reason: str) -> Choice:
    return Choice(Hamiltonian(target, seed, target.reference), reason)


def _importance(target: Target, seed: int, plan: Plan, reason: str) -> Choice:
    return weighted_choice(Importance(target, seed, target.reference), seed, plan, reason)


def _layered(target: Target, seed: int, plan: Plan, reason: str) -> Choice:
    return weighted_choice(Layered(target, seed, find_layers(target)), seed, plan, reason)


def weighted_choice(sampler: Sampler, seed: int, plan: Plan, reason: str) -> Choice:
    """Return the choice of a sampler whose draws have weights."""

    def adapt(asked: Plan) -> Plan:
        if asked.n_effective == 0:
            return asked
        wanted = -(-int(_PROPOSALS * asked.n_effective) // asked.n_chains)
        return replace(asked, n_draws=max(wanted, -(-_FEWEST_PROPOSALS // asked.n_chains)))

    def finish(draws: Draws) -> Draws:
        weights = smooth_weights(draws.statistics["log_weight"]).weights
        return resampled(draws, weights, max(plan.n_draws, draws.shape[1]), seed)

    def look(draws: Draws) -> Diagnostics:
        pareto_k = smooth_weights(draws.statistics["log_weight"]).pareto_k
        return diagnose(finish(draws).parameters)._replace(pareto_k=pareto_k)

    return Choice(sampler, reason, adapt, look, finish)


def resampled(draws: Draws, weights: Array, n_draws: int, seed: int) -> Draws:
    """Resample draws with weights (chains, draws) to chains of n_draws of equal weight.

    A proposal that comes up several times stays in a row, as a chain that does not move would, so that the usual
    diagnostics count it once.
    """
    n_chains, _ = draws.shape
    picked = resample(weights, n_chains * n_draws, rng=np.random.default_rng([seed, 1]))

    def pick(values: Array) -> Array:
        flat = values.reshape(-1, *values.shape[2:])
        return flat[picked].reshape(n_chains, n_draws, *values.shape[2:])

    return Draws(*({name: pick(values) for name, values in arrays.items()} for arrays in draws))
