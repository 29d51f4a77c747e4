# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely purchases are under mixtures, and whose segment a customer is likely of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance, Recorded
from stochpref.kinds import DEGENERATE
from stochpref.mass.conditional import log_ratio
from stochpref.mass.mixture import chances_by_law, responsibilities, unit_masses
from stochpref.segments.objective import Mixture

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOLERANCE = 1e-8


def log_of_mixture(recorded: Recorded, mixture: Mixture) -> Array:
    """Return (T,) log-probabilities of what was recorded under a mixture; -inf where degenerate."""
    bought = _log_chance(recorded.chance, mixture)
    if recorded.event is None:
        return bought
    return log_ratio(bought, _log_chance(recorded.event, mixture))


def _log_chance(chance: Chance, mixture: Mixture) -> Array:
    found = chances_by_law(chance, mixture.h, gradient=False, tolerance=_TOLERANCE)
    return responsibilities(found.log_mass, mixture.log_weights)[0][found.place]


def log_of_draw(recorded: Recorded, parameters: Mapping[str, Array]) -> Array:
    """Return the same under the mixture of one draw."""
    return log_of_mixture(recorded, mixture_of(parameters))


def mixture_of(parameters: Mapping[str, Array]) -> Mixture:
    """Return the mixture of one draw, whose parameters have the names of the law."""
    laws = parameters["concentration"][:, None] * parameters["mean_direction"]
    return Mixture(np.log(parameters["weight"]), laws)


def log_predictive(recorded: Recorded, mixtures: Sequence[Mixture]) -> Array:
    """Return (T,) the log of the mean probability of what was recorded over mixtures."""
    total = np.full(len(recorded.chance), -np.inf)
    for mixture in mixtures:
        total = np.logaddexp(total, log_of_mixture(recorded, mixture))
    return total - math.log(len(mixtures))


def membership(recorded: Recorded, mixture: Mixture, unit: Indices | None) -> Array:
    """Return (T, K) the probability of each segment given what was bought; NaN where nothing usable was.

    Parameters
    ----------
    unit : (T,) whose segment each row's is; None where each has its own.
    """
    usable = np.flatnonzero(recorded.regions.kind_code != DEGENERATE)
    of_rows = np.full((len(recorded.chance), len(mixture.h)), np.nan)
    if not usable.size:
        return of_rows
    chance = recorded.chance.take(usable)
    found = chances_by_law(chance, mixture.h, gradient=False, tolerance=_TOLERANCE)
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
