# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under a posterior: averaged over its draws, and draw by draw for leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.chances import Recorded
from stochpref.mass.conditional import log_recorded
from stochpref.observations import Observations
from stochpref.posterior.counting import Estimate, Posterior, count, is_rare
from stochpref.posterior.orthants import has_orthant, log_by_orthants
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, group, thinned
from stochpref.regions import usable_rows

Array = NDArray[np.float64]
LogMassFn = Callable[[Recorded, Mapping[str, Array]], Array]


def log_predictive(recorded: Recorded, mean_direction: Array, concentration: Array) -> Array:
    """Return (T,) the log of the mean probability of what was recorded over draws (draws, n) and (draws,)."""
    total = np.full(len(recorded.chance), -np.inf)
    for direction, kappa in zip(mean_direction, concentration, strict=True):
        total = np.logaddexp(total, log_recorded(recorded, kappa * direction).log_mass)
    return total - math.log(len(concentration))


def log_simulated(observations: Observations, posterior: Posterior, *, rng: np.random.Generator) -> Estimate:
    """Return (T,) the same by simulation, for a problem whose regions have no masses; -inf for degenerate rows."""
    intervals = observations.problem.intervals(observations)
    found, counts = count(observations, posterior, rng=rng)
    log_probability, error = found.log_probability.copy(), found.error.copy()
    rare = np.flatnonzero(is_rare(counts) & has_orthant(intervals))
    if rare.size:
        better = log_by_orthants(observations[rare], posterior, seed=int(rng.integers(2**63)))
        is_better = better.error < error[rare]
        log_probability[rare[is_better]] = better.log_probability[is_better]
        error[rare[is_better]] = better.error[is_better]
    log_probability[intervals.is_degenerate], error[intervals.is_degenerate] = -np.inf, 0.0
    return Estimate(log_probability, error)


def log_of_law(recorded: Recorded, parameters: Mapping[str, Array]) -> Array:
    """Return (T,) log-probabilities of what was recorded under the von Mises–Fisher law of one draw."""
    return log_recorded(recorded, parameters["concentration"] * parameters["mean_direction"]).log_mass


def add_log_likelihood(
    tree: xr.DataTree, recorded: Recorded, log_mass_fn: LogMassFn = log_of_law, most: int = MAX_LIKELIHOOD_DRAWS
) -> None:
    """Add the group log_likelihood to a posterior: of each row that is not degenerate, under thinned draws.

    Parameters
    ----------
    log_mass_fn : (recorded, parameters of one draw by name) -> (T,) log-probabilities.
    most : draws.
    """
    draws, every = thinned(tree, most)
    shape = next(iter(draws.values())).shape[:2]
    rows = usable_rows(recorded.regions, "drop")
    used = recorded.take(rows)
    values = np.empty((*shape, rows.size))
    for place in np.ndindex(*shape):
        values[place] = log_mass_fn(used, {name: drawn[place] for name, drawn in draws.items()})
    posterior = group(tree, "posterior")
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values[every], "observation": rows}
    tree["log_likelihood"] = xr.DataTree(
        xr.Dataset({"bundles": (("chain", "draw", "observation"), values)}, coords=coords)
    )
