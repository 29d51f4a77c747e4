# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The exact posterior where goods are independent: value, gradient, mode, and draws around it.

Coordinates are h = m / σ, and then the logarithms of the scales σ, in units of the prior. The likelihood is the same
all along the line on which all scales grow together; there the prior alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.chances import Recorded
from stochpref.kinds import ABOVE, AT, BELOW
from stochpref.mass.diagonal import normal_laws, normal_log_recorded
from stochpref.normal.prior import NormalPrior
from stochpref.posterior.samplers.around import Near

Array = NDArray[np.float64]

_STEP: Final = 1e-4  # of the differences of gradients that make the information
_SMALLEST: Final = 1e-6  # share of the largest curvature that a direction has at least
_CLIMB: Final = {"maxiter": 500, "gtol": 1e-6, "ftol": 1e-13}


@dataclass(frozen=True, eq=False)
class DiagonalPosterior:
    """The log-posterior of a normal law of independent goods.

    recorded : what was seen, none of it degenerate.
    prior : of the law.
    tolerance : of the masses.
    """

    recorded: Recorded
    prior: NormalPrior
    tolerance: float = 1e-8

    @property
    def n(self) -> int:
        """Number of coordinates of utilities."""
        return len(self.prior.units)

    def split(self, coordinates: Array) -> tuple[Array, Array]:
        """Return means and log-scales, in the units of the data."""
        log_scale = np.log(self.prior.units) + coordinates[self.n :]
        return np.exp(log_scale) * coordinates[: self.n], log_scale

    def at(self, coordinates: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """Return the log-posterior, up to a constant, and its gradient."""
        h, log_scale = np.split(coordinates, 2)
        scale, laws = np.exp(log_scale), normal_laws(*self.split(coordinates))
        found = normal_log_recorded(self.recorded, laws, gradient=gradient, tolerance=self.tolerance)
        of_mean, mean_slope = self.prior.log_density_of_mean(scale * h)
        of_scale, scale_slope = self.prior.log_density_of_scales(log_scale)
        value = float(np.sum(found.log_mass) + np.sum(log_scale)) + of_mean + of_scale  # dm = σ dh
        if found.gradient is None:
            return value, np.empty(0)
        by_mean, by_scale = np.split(np.sum(found.gradient, axis=0), 2)
        along = scale * (self.prior.units * by_mean + mean_slope)
        return value, np.concatenate([along, by_scale + scale_slope + 1.0 + h * along])

    def mode(self) -> Array:
        """Return the coordinates at which the posterior is highest."""
        scale = float(len(self.recorded.chance))

        def falling(coordinates: Array) -> tuple[float, Array]:
            value, slope = self.at(coordinates)
            return -value / scale, -slope / scale

        found = minimize(falling, self.start(), jac=True, method="L-BFGS-B", options=_CLIMB)
        return np.asarray(found.x, np.float64)

    def start(self) -> Array:
        """Return coordinates to start from: goods bought more often than not are wanted."""
        side = self.recorded.regions.side
        bought = np.sum((side == ABOVE) | (side == AT), axis=0) + 1.0
        share = bought / (bought + np.sum(side == BELOW, axis=0) + 1.0)
        return np.concatenate([2.0 * share - 1.0, np.zeros(self.n)])

    def near(self, mode: Array) -> Near:
        """Return the Gaussian of the curvature at the mode."""
        p = len(mode)
        information = np.empty((p, p))
        for k in range(p):
            step = np.zeros(p)
            step[k] = _STEP
            information[k] = (self.at(mode - step)[1] - self.at(mode + step)[1]) / (2.0 * _STEP)
        values, vectors = np.linalg.eigh(0.5 * (information + information.T))
        covariance = (vectors / np.maximum(values, _SMALLEST * values[-1])) @ vectors.T
        return Near(mode, np.linalg.cholesky(covariance))

    def parameters(self, coordinates: Array) -> dict[str, Array]:
        """Return laws (k, …) of coordinates (k, 2n), scaled."""
        scale = np.exp(coordinates[:, self.n :])
        mean = scale * coordinates[:, : self.n]
        covariance = scale[:, :, None] ** 2 * np.eye(self.n)
        return scaled_laws(mean, covariance, scale**2, self.prior.units, self.recorded.span is not None)


def scaled_laws(mean: Array, covariance: Array, own: Array, units: Array, is_level_open: bool) -> dict[str, Array]:
    """Return laws of trace n, in the units of the data, by the names of their parameters.

    Parameters
    ----------
    mean, covariance, own : (k, n), (k, n, n) and (k, n) in the units of the prior; `own` is the part of a good's
        variance that it shares with no other.
    is_level_open : only differences of utilities count, so that means are given with sum zero.
    """
    n = len(units)
    given = covariance * units[:, None] * units
    factor = n / np.trace(given, axis1=1, axis2=2)
    centre = np.sqrt(factor)[:, None] * mean * units
    if is_level_open:
        centre = centre - centre.mean(axis=1, keepdims=True)
    return {
        "mean": centre,
        "covariance": factor[:, None, None] * given,
        "own_variance": factor[:, None] * own * units**2,
    }
