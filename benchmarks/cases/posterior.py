"""Cases of all samplers, wherever the observations are."""

from __future__ import annotations

import tempfile
from typing import Any, Final

import numpy as np

import stochpref as sp
from benchmarks.cases.data import DATA, degenerate, market, patchy, stored
from benchmarks.cases.masses import likelihood
from benchmarks.cases.registry import STEPS, Numbers, case, settings

N_STEPS: Final = 30
_ENOUGH_TO_STREAM: Final = 66_000  # stored observations beyond which the library passes over files: 65,536


def posterior(observations: Any, sampler: str, **options: Any) -> sp.HeterogeneousUtility:
    """Return a fit of 30 steps of two chains."""
    kept = {"n_chains": 2, "n_draws": N_STEPS, "n_effective": 0, "random_state": 12} | options
    return sp.HeterogeneousUtility(sampler=sampler, **kept).fit(observations)


def drawn(model: sp.HeterogeneousUtility) -> Numbers:
    """Return all that was drawn, and what follows for the law."""
    found: Numbers = {
        "sampler": np.array(model.sampler_), "status": np.array(model.status_),
        "direction": model.mean_direction_, "concentration": np.array(model.concentration_),
        "verdicts": np.array([model.is_converged_, model.is_identified_]),
        "n_dropped": np.array(model.n_dropped_), "likelihood_error": np.array(model.likelihood_error_),
    }  # fmt: skip
    for group in ("posterior", "sample_stats"):
        for name, values in model.posterior_[group].data_vars.items():
            found[f"{group}.{name}"] = values.values
    return found


@case(reordered=STEPS, data=DATA)
def gibbs(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "gibbs"))


@case(reordered=STEPS, data=[name for name in DATA if name != "many_goods"])
def importance(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "importance"))


@case(reordered=STEPS, data=("i", "iii", "patchy"))
def hamiltonian(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "hamiltonian"))


@case(reordered=STEPS, data=("i", "two_goods", "patchy"))
def layered(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "layered"))


@case(reordered=STEPS, likelihood=("monte_carlo", "exact"))
def metropolis(likelihood: str) -> Numbers:
    options = settings("MetropolisOptions")(likelihood=likelihood, n_cloud=500, step=0.05)
    found: Numbers = {}
    for data in ("i", "iii"):
        model = posterior(DATA[data](), "metropolis", metropolis=options)
        found |= {f"{data}.{name}": values for name, values in drawn(model).items()}
    return found


def _log_prior(mean_direction: np.ndarray, concentration: float) -> float:
    return float(3.0 * mean_direction[0] - 0.2 * concentration)


@case(reordered=STEPS, sampler=("gibbs", "importance", "hamiltonian", "layered", "metropolis"))
def prior_function(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3), sampler, prior=_log_prior, concentration_bounds=(0.5, 30.0)))


@case(reordered=STEPS)
def auto() -> Numbers:
    """Let the library choose: for few observations, many, many goods, bounds without a mode, runs until enough."""
    plans: dict[str, tuple[sp.Observations, dict[str, Any]]] = {
        "few": (market("i", 4, 12), {}),
        "many": (market("i", 3, 400), {}),
        "narrow": (market("i", 3, 60), {"concentration_bounds": (1.0, 2.0)}),
        "goods": (market("i", 12, 80, 12.0), {}),
        "until_enough": (market("iii", 3, 200), {"n_effective": 60, "max_draws": 400, "n_chains": 4}),
    }
    found: Numbers = {}
    for name, (data, options) in plans.items():
        found |= {f"{name}.{key}": values for key, values in drawn(posterior(data, "auto", **options)).items()}
    return found


@case(reordered=STEPS)
def degenerate_dropped() -> Numbers:
    model = posterior(degenerate(), "gibbs", degenerate="drop")
    return drawn(model) | {"utilities": model.utilities().mean}


@case(reordered=STEPS, needs="jax", sampler=("importance", "hamiltonian", "layered"))
def jax(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3), sampler, engine="jax", n_draws=8))


@case(reordered=STEPS, needs="distributed", sampler=("gibbs", "importance"))
def dask(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3, 700), sampler, engine="dask"))


@case(reordered=STEPS)
def few_files() -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        return drawn(posterior(stored(folder, patchy()), "gibbs"))


@case(reordered=STEPS)
def many_files() -> Numbers:
    """Rows passed over on disk: the posterior anchored at exact sums, and the maximum it starts from."""
    with tempfile.TemporaryDirectory() as folder:
        source = stored(folder, market("i", 2, _ENOUGH_TO_STREAM, 3.0))
        found = drawn(posterior(source, "auto"))
        found |= {f"hamiltonian.{k}": v for k, v in drawn(posterior(source, "hamiltonian", n_draws=5)).items()}
        return found | {f"likelihood.{k}": v for k, v in likelihood(source).items()}
