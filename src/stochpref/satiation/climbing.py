# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The most likely parameters, by quasi-Newton steps on exact slopes, with errors from the curvature.

A prior so weak that only goods hardly ever bought feel it keeps the climb from running away where data say nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.clusters import clustered_covariance
from stochpref.problems.satiated import Bought
from stochpref.satiation.density import log_densities
from stochpref.satiation.parameters import Moves, Parameters

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Of the prior, by kind of parameter, all of them logarithms or, of features, coefficients of standardised ones.
SPREADS: Final = {
    "location": 5.0, "scale": 1.5, "satiation": 3.0, "location_features": 3.0, "satiation_features": 3.0, "bend": 1.0,
}  # fmt: skip
_DIFFERENCE: Final = 1e-4
_FLAT: Final = 1e-9  # of the largest curvature
_MOST_STEPS: Final = 500
_GRADIENT: Final = 1e-6  # of the log-posterior, an observation, where a climb has ended


class Prior(NamedTuple):
    """A normal prior of named parameters: its centre, and one over its variance, 0 for none; (P,) each."""

    centre: Array
    precision: Array

    @classmethod
    def weak(cls, parameters: Parameters, start: Array) -> Prior:
        """Return the prior about a start, so wide that only goods hardly ever bought feel it."""
        spread = np.ones(len(parameters.names))
        for block, places in parameters.blocks.items():
            spread[places] = SPREADS[block]
        return cls(parameters.named(start), spread**-2.0)


class Target(NamedTuple):
    """What is climbed: the log-density of rows, and a prior."""

    bought: Bought
    parameters: Parameters
    moves: Moves
    prior: Prior

    def rows(self, theta: Array) -> tuple[Array, Array]:
        """Return log-densities (T,) and their slopes (T, p) in θ."""
        found = log_densities(self.bought, self.parameters.worth(theta, self.moves))
        return found.log_density, self.parameters.pulled(found, self.moves)

    def log_density(self, theta: Array) -> float:
        """Return the log-posterior, up to a constant, as well as weights of draws need it."""
        worth = self.parameters.worth(theta, self.moves)
        found = log_densities(self.bought, worth, slopes=False, fine=False)
        return float(found.log_density.sum()) + self.log_prior(theta)

    def log_prior(self, theta: Array) -> float:
        """Return the log-density of the prior, up to a constant."""
        away = self.parameters.named(theta) - self.prior.centre
        return -0.5 * float(self.prior.precision @ away**2)

    def slope(self, theta: Array) -> tuple[float, Array]:
        """Return the log-posterior and its slope (p,)."""
        values, slopes = self.rows(theta)
        away = self.parameters.named(theta) - self.prior.centre
        own = self.parameters.matrix.T @ (self.prior.precision * away)
        return float(values.sum()) + self.log_prior(theta), slopes.sum(axis=0) - own

    def information(self, theta: Array) -> Array:
        """Return minus the Hessian (p, p) of the log-posterior, by differences of slopes."""
        steps = _DIFFERENCE * np.eye(len(theta))
        found = [(self.slope(theta - step)[1] - self.slope(theta + step)[1]) / (2 * _DIFFERENCE) for step in steps]
        matrix = np.array(found)
        return np.asarray(0.5 * (matrix + matrix.T))


class Peak(NamedTuple):
    """Where a climb ended.

    theta : (p,) free parameters. value : the log-posterior there. information : (p, p).
    log_likelihood : without the prior.
    slopes : (T, p) of each row's log-density.
    has_converged : whether it is flat there in every direction, and falls off.
    """

    theta: Array
    value: float
    information: Array
    log_likelihood: float
    slopes: Array
    has_converged: bool

    @property
    def covariance(self) -> Array:
        """(p, p) the inverse of the information; in flat directions the largest variance there is room for."""
        values, vectors = np.linalg.eigh(self.information)
        return np.asarray((vectors / np.maximum(values, _FLAT * values[-1])) @ vectors.T)

    def clustered(self, clusters: Indices) -> Array:
        """Return the covariance that allows rows of one customer to resemble each other."""
        return clustered_covariance(self.covariance, self.slopes, clusters)


def climb(target: Target, start: Array) -> Peak:
    """Return the peak that a start leads to."""
    count = len(target.bought.side)
    _, slopes = target.rows(start)
    matrix = target.parameters.matrix
    curvature = slopes.T @ slopes + matrix.T @ (target.prior.precision[:, None] * matrix)
    curvature += np.diag(np.maximum(np.diag(curvature), 1.0)) * 1e-3
    # In these coordinates a step of length one is about what the data can tell.
    root = np.linalg.inv(np.linalg.cholesky(curvature)).T

    def falling(z: Array) -> tuple[float, Array]:
        value, slope = target.slope(start + root @ z)
        return -value, -(root.T @ slope)

    found = minimize(
        falling, np.zeros(len(start)), jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": _MOST_STEPS}
    )
    theta = start + root @ np.asarray(found.x)
    information = target.information(theta)
    value, slope = target.slope(theta)
    if np.linalg.eigvalsh(information)[0] > 0:  # a Newton step takes off what is left
        step = np.linalg.solve(information, slope)
        after, slope_after = target.slope(theta + step)
        if after >= value - 1e-9 * abs(value):
            theta, value, slope = theta + step, after, slope_after
    rows, slopes = target.rows(theta)
    is_peak = bool(np.linalg.eigvalsh(information)[0] > 0)
    has_converged = is_peak and bool(np.abs(slope).max() < _GRADIENT * max(count, 1000))
    return Peak(theta, value, information, float(rows.sum()), slopes, has_converged)
