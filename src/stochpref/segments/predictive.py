# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under mixtures, and whose segment a customer is likely of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import DEGENERATE
from stochpref.mass.mixture import masses_by_law, responsibilities, unit_masses
from stochpref.regions import Regions
from stochpref.segments.objective import Mixture

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOLERANCE = 1e-8


def mixture_log_mass(regions: Regions, mixture: Mixture) -> Array:
    """Return (T,) log-masses under a mixture; -inf for degenerate regions."""
    found = masses_by_law(regions, mixture.h, gradient=False, tolerance=_TOLERANCE)
    return responsibilities(found.log_mass, mixture.log_weights)[0][found.place]


def log_mass_of_draw(regions: Regions, parameters: Mapping[str, Array]) -> Array:
    """Return the same under the mixture of one draw."""
    return mixture_log_mass(regions, mixture_of(parameters))


def mixture_of(parameters: Mapping[str, Array]) -> Mixture:
    """Return the mixture of one draw, whose parameters have the names of the law."""
    laws = parameters["concentration"][:, None] * parameters["mean_direction"]
    return Mixture(np.log(parameters["weight"]), laws)


def log_predictive(regions: Regions, mixtures: Sequence[Mixture]) -> Array:
    """Return (T,) the log of the mean probability of each region over mixtures."""
    total = np.full(len(regions), -np.inf)
    for mixture in mixtures:
        total = np.logaddexp(total, mixture_log_mass(regions, mixture))
    return total - math.log(len(mixtures))


def membership(regions: Regions, mixture: Mixture, unit: Indices | None) -> Array:
    """Return (T, K) the probability of each segment given what was bought; NaN where nothing usable was.

    Parameters
    ----------
    unit : (T,) whose segment each row's is; None where each has its own.
    """
    usable = regions.kind_code != DEGENERATE
    of_rows = np.full((len(regions), len(mixture.h)), np.nan)
    if not usable.any():
        return of_rows
    found = masses_by_law(regions[usable], mixture.h, gradient=False, tolerance=_TOLERANCE)
    if unit is None:
        of_rows[usable] = responsibilities(found.log_mass, mixture.log_weights)[1].T[found.place]
        return of_rows
    known, own = np.unique(unit[usable], return_inverse=True)
    masses, _ = unit_masses(found, own)
    of_units = np.full((int(unit.max()) + 1, len(mixture.h)), np.nan)
    of_units[known] = responsibilities(masses, mixture.log_weights)[1].T
    return of_units[unit]


def units_of(customers: Sequence[str] | None) -> Indices | None:
    """Return the number (T,) of each row's customer; None where no customer repeats, or none are named."""
    if customers is None:
        return None
    names, unit = np.unique(np.asarray(customers, object).astype(np.str_), return_inverse=True)
    return None if len(names) == len(unit) else unit.astype(np.intp)
