# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From a start to the maximum of the penalised likelihood: expectation–maximisation, then Newton's steps.

The M-step is closed but for one number a segment: the new h_k points along the mean of E[u | bought] over the segment's
observations, and its length solves A(κ) + κ/(N_k τ²) = |mean|. Steps are lengthened by 1.6, which halves their number;
where the longer one falls the plain one is taken, which never does.

Newton's steps are taken in a trust region; with more than 200 parameters, or where something was conditioned on, the
information costs more than it saves, and L-BFGS takes their place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from stochpref.bessel import mean_resultant_length
from stochpref.mass.mixture import MixtureSums
from stochpref.segments.objective import Mixture, Objective, Value

Array = NDArray[np.float64]

_RELAXATION: Final = 1.6
MAX_CONCENTRATION: Final = 1e4  # as of maximum likelihood
_NEWTON_PARAMETERS: Final = 200
_RADIUS: Final = 2.0  # of the first step, in h
_CLIMB: Final = {"maxiter": 300, "gtol": 1e-7}


class Climbed(NamedTuple):
    """A mixture, its penalised log-likelihood and the sums there, and the values on the way."""

    mixture: Mixture
    at: Value
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The penalised log-likelihood."""
        return self.at.value


def solve_concentration(n_goods: int, length: float, n_rows: float, spread: float) -> float:
    """Return the κ with A(κ) + κ/(N τ²) = length, at most 1e4."""
    if length <= 0 or n_rows <= 0:
        return 0.0

    def excess(kappa: float) -> float:
        return float(mean_resultant_length(n_goods, kappa)) + kappa / (n_rows * spread**2) - length

    if excess(MAX_CONCENTRATION) <= 0:
        return MAX_CONCENTRATION
    return float(brentq(excess, 0.0, MAX_CONCENTRATION, xtol=1e-12, rtol=1e-12))


def natural_of(objective: Objective, mean: Array, n_rows: float) -> Array:
    """Return h of the law whose mean utility is as near (n,) as the prior lets it be."""
    length = float(np.linalg.norm(mean))
    if not length > 0:
        return np.zeros_like(mean)
    return mean * (solve_concentration(objective.n_coordinates, length, n_rows, objective.spread) / length)


def em_step(objective: Objective, mixture: Mixture, sums: MixtureSums) -> Mixture:
    """Return the mixture that expectation–maximisation makes of another, given its sums."""
    held = np.maximum(sums.rows, 1e-300)[:, None]
    means = np.where(sums.rows[:, None] > 0, objective.means(mixture.h) + sums.gradient / held, 0.0)
    laws = [natural_of(objective, mean, count) for mean, count in zip(means, sums.rows, strict=True)]
    weights = sums.units + 1.0
    return Mixture(np.log(weights / weights.sum()), np.array(laws))


def climb_by_em(objective: Objective, start: Mixture, n_steps: int, enough: float = 0.0) -> Climbed:
    """Return where so many steps lead, fewer once a step gains less than `enough`."""
    current, at = start, objective.at(start)
    values = [at.value]
    for _ in range(n_steps):
        plain = em_step(objective, current, at.sums)
        step = [_RELAXATION * (new - old) for new, old in zip(plain, current, strict=True)]
        longer = Mixture(log_softmax(current.log_weights + step[0]), current.h + step[1])
        there, new = longer, objective.at(longer)
        if not new.value >= at.value:
            there, new = plain, objective.at(plain)
        if not new.value >= at.value:  # by the tolerance of the masses
            break
        gain = new.value - at.value
        current, at = there, new
        values.append(at.value)
        if gain < enough:
            break
    return Climbed(current, at, tuple(values))


def climb_to_top(objective: Objective, start: Mixture) -> Climbed:
    """Return the maximum near a start."""
    k, scale = len(start.h), len(objective.store)
    by_newton = len(start.coordinates) <= _NEWTON_PARAMETERS and not objective.store.is_conditioned

    @lru_cache(maxsize=2)  # value, gradient and information come from one pass, and are asked for one by one
    def known(point: bytes) -> tuple[Mixture, Value]:
        mixture = Mixture.at(np.frombuffer(point), k)
        return mixture, objective.at(mixture, derivatives=2 if by_newton else 1)

    def falling(coordinates: Array) -> tuple[float, Array]:
        _, at = known(coordinates.tobytes())
        return -at.value / scale, -at.gradient / scale

    def bending(coordinates: Array) -> Array:
        mixture, at = known(coordinates.tobytes())
        return objective.information(mixture, at.sums) / scale

    if by_newton:
        found = minimize(
            falling, start.coordinates, jac=True, hess=bending, method="trust-exact",
            options=_CLIMB | {"initial_trust_radius": _RADIUS},
        )  # fmt: skip
    else:
        found = minimize(falling, start.coordinates, jac=True, method="L-BFGS-B", options=_CLIMB | {"ftol": 1e-14})
    mixture, at = known(np.asarray(found.x, np.float64).tobytes())
    if not by_newton:
        at = objective.at(mixture, derivatives=2)
    return Climbed(mixture, at, (at.value,))
