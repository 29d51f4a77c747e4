# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under a posterior: averaged over its draws, and draw by draw for leave-one-out."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.chances import Recorded
from stochpref.mass.conditional import log_recorded
from stochpref.observations import Observations
from stochpref.posterior.counting import Estimate, Posterior, count
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, group, thinned
from stochpref.regions import usable_rows

Array = NDArray[np.float64]


def log_predictive(recorded: Recorded, mean_direction: Array, concentration: Array) -> Array:
    """Return (T,) the log of the mean probability of what was recorded over draws (draws, n) and (draws,)."""
    total = np.full(len(recorded.chance), -np.inf)
    for direction, kappa in zip(mean_direction, concentration, strict=True):
        total = np.logaddexp(total, log_recorded(recorded, kappa * direction).log_mass)
    return total - math.log(len(concentration))


def log_simulated(observations: Observations, posterior: Posterior, *, rng: np.random.Generator) -> Estimate:
    """Return (T,) the same by simulation, for a problem whose regions have no masses; -inf for degenerate rows."""
    is_degenerate = observations.problem.explained(observations).is_degenerate
    found, _ = count(observations, posterior, rng=rng)
    return Estimate(np.where(is_degenerate, -np.inf, found.log_probability), np.where(is_degenerate, 0.0, found.error))


def add_log_likelihood(tree: xr.DataTree, recorded: Recorded) -> None:
    """Add the group log_likelihood to a posterior: of each row that is not degenerate, under thinned draws."""
    draws, every = thinned(tree, MAX_LIKELIHOOD_DRAWS)
    directions, concentrations = draws["mean_direction"], draws["concentration"]
    rows = usable_rows(recorded.regions, "drop")
    used = recorded.take(rows)
    values = np.empty((*concentrations.shape, rows.size))
    for place in np.ndindex(*concentrations.shape):
        values[place] = log_recorded(used, concentrations[place] * directions[place]).log_mass
    posterior = group(tree, "posterior")
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values[every], "observation": rows}
    tree["log_likelihood"] = xr.DataTree(
        xr.Dataset({"bundles": (("chain", "draw", "observation"), values)}, coords=coords)
    )
