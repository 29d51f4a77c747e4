# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely bundles are under a posterior: log-densities averaged over its draws, and draw by draw."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.posterior.results import group, thinned
from stochpref.problems.satiated import Bought
from stochpref.satiation.density import log_densities
from stochpref.satiation.parameters import Moves, Parameters

Array = NDArray[np.float64]

AVERAGED: Final = 100  # draws that predictive densities are a mean over, and leave-one-out scores of four times as many


def log_predictive(bought: Bought, parameters: Parameters, moves: Moves, phi: Array) -> Array:
    """Return (T,) the log of the mean density of rows over draws (draws, P) of all parameters."""
    total = np.full(len(bought.side), -np.inf)
    for one in phi:
        own = log_densities(bought, parameters.worth_of(one, moves), slopes=False)
        total = np.logaddexp(total, own.log_density)
    return total - math.log(len(phi))


def add_log_densities(tree: xr.DataTree, bought: Bought, parameters: Parameters, moves: Moves) -> None:
    """Add the group log_likelihood to a posterior: the log-density of each row under thinned draws."""
    drawn, every = thinned(tree, 4 * AVERAGED)
    phi = parameters.named_of(drawn)
    values = np.empty((*phi.shape[:2], len(bought.side)))
    for place in np.ndindex(*phi.shape[:2]):
        worth = parameters.worth_of(phi[place], moves)
        values[place] = log_densities(bought, worth, slopes=False).log_density
    posterior = group(tree, "posterior")
    coords = {
        "chain": posterior["chain"].values, "draw": posterior["draw"].values[every],
        "observation": np.arange(len(bought.side)),
    }  # fmt: skip
    tree["log_likelihood"] = xr.DataTree(
        xr.Dataset({"bundles": (("chain", "draw", "observation"), values)}, coords=coords)
    )
