# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of each customer's own utility, given what they bought.

Its mean is exact for every draw of the law: E[u | region] is the gradient of the log-mass plus E[u]. Its spread comes
from sweeps of the Gibbs kernel that follow the draws, as both do where regions have no masses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.bessel import mean_resultant_length
from stochpref.mass.masses import exact_log_mass
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.corner_gibbs import gibbs_of
from stochpref.posterior.samplers.gibbs import GibbsState
from stochpref.posterior.samplers.interval_gibbs import IntervalGibbs
from stochpref.posterior.target import Target
from stochpref.problems.interval_regions import IntervalRegions
from stochpref.regions import Regions, usable_rows
from stochpref.stores.memory import Memory

Array = NDArray[np.float64]

_BURN = 30  # sweeps at the first draw, from a point inside each region
_SWEEPS = 3  # at every draw


class CustomerUtilities(NamedTuple):
    """Of every observation: posterior mean and standard deviation of its customer's utility, (T, n) each."""

    mean: Array
    sd: Array


def customer_utilities(
    regions: Regions, mean_direction: Array, concentration: Array, prior: Prior, seed: int
) -> CustomerUtilities:
    """Return utilities given the regions, over draws (draws, n) and (draws,) of the law; NaN where degenerate."""
    rows = usable_rows(regions, "drop")
    if rows.size < len(regions):
        found = customer_utilities(regions[rows], mean_direction, concentration, prior, seed)
        filled = np.full((2, *regions.side.shape), np.nan)
        filled[:, rows] = found
        return CustomerUtilities(*filled)
    mean, centre, square = np.zeros(regions.side.shape), np.zeros(regions.side.shape), np.zeros(regions.side.shape)
    kernel = gibbs_of(Target(Memory(regions), prior), seed)
    latents = kernel.init(1).latents
    iteration = 0
    for s, (direction, kappa) in enumerate(zip(mean_direction, concentration, strict=True)):
        gradient = exact_log_mass(regions, kappa * direction, gradient=True).gradient
        assert gradient is not None
        mean += gradient + float(mean_resultant_length(len(direction), kappa)) * direction
        for _ in range(_BURN if s == 0 else _SWEEPS):
            kernel.sweep(GibbsState(latents, direction[None], np.array([kappa])), iteration)
            iteration += 1
        centre += latents[0]
        square += latents[0] ** 2
    count = len(concentration)
    return CustomerUtilities(mean / count, np.sqrt(np.maximum(square / count - (centre / count) ** 2, 0.0)))


def utilities_inside(
    intervals: IntervalRegions, mean_direction: Array, concentration: Array, prior: Prior, seed: int
) -> CustomerUtilities:
    """Return the same where regions are known by intervals: means and spreads of what is drawn inside."""
    rows = usable_rows(intervals, "drop")
    kernel = IntervalGibbs(intervals[rows], prior, seed)
    latents = kernel.init(1).latents
    total, square, iteration = np.zeros(latents[0].shape), np.zeros(latents[0].shape), 0
    for s, (direction, kappa) in enumerate(zip(mean_direction, concentration, strict=True)):
        for k in range(_BURN + _SWEEPS if s == 0 else _SWEEPS):
            kernel.sweep(GibbsState(latents, direction[None], np.array([kappa])), iteration)
            iteration += 1
            if s > 0 or k >= _BURN:
                total += latents[0]
                square += latents[0] ** 2
    mean, filled = total / (_SWEEPS * len(concentration)), np.full((2, len(intervals), intervals.n_goods), np.nan)
    filled[:, rows] = mean, np.sqrt(np.maximum(square / (_SWEEPS * len(concentration)) - mean**2, 0.0))
    return CustomerUtilities(*filled)
