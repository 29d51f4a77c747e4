# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under a posterior: averaged over its draws, and draw by draw for leave-one-out."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.mass.masses import exact_log_mass
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, group, thinned
from stochpref.regions import Regions, usable_rows

Array = NDArray[np.float64]


def log_predictive(regions: Regions, mean_direction: Array, concentration: Array) -> Array:
    """Return (T,) the log of the mean probability of each region over draws (draws, n) and (draws,)."""
    total = np.full(len(regions), -np.inf)
    for direction, kappa in zip(mean_direction, concentration, strict=True):
        total = np.logaddexp(total, exact_log_mass(regions, kappa * direction).log_mass)
    return total - math.log(len(concentration))


def add_log_likelihood(tree: xr.DataTree, regions: Regions) -> None:
    """Add the group log_likelihood to a posterior: of each region that is not degenerate, under thinned draws."""
    draws, every = thinned(tree, MAX_LIKELIHOOD_DRAWS)
    directions, concentrations = draws["mean_direction"], draws["concentration"]
    rows = usable_rows(regions, "drop")
    values = np.empty((*concentrations.shape, rows.size))
    for place in np.ndindex(*concentrations.shape):
        values[place] = exact_log_mass(regions[rows], concentrations[place] * directions[place]).log_mass
    posterior = group(tree, "posterior")
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values[every], "observation": rows}
    tree["log_likelihood"] = xr.DataTree(
        xr.Dataset({"bundles": (("chain", "draw", "observation"), values)}, coords=coords)
    )
