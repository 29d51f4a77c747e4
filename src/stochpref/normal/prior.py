# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What is believed of a normal law before any data: proper, and in the units of the data.

Every good has a unit of its own, its usual price where quantities are in part, so that currency and package size change
no answer; whole goods and choices by unit have 1. In those units, with τ the spread of means and ν degrees of freedom,

    m ~ t₄(0, τ² I)        σ_i² ~ IG(ν/2, ν/2), independent goods
                           ψ_i ~ IG(ν/2, ν/2), Λ_ij ~ N(0, 1), factors: Σ = diag ψ + Λ Λᵀ
                           Σ ~ IW(n + ν, (ν - 1) I), full

The heavy tails of m leave room for customers who are nearly alike. Purchases say nothing of the scale of m and Σ
together, which the prior keeps near 1; draws are scaled to trace n afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance, Recorded
from stochpref.checks import as_number
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABSENT

Array = NDArray[np.float64]

MEAN_DEGREES: Final = 4.0  # of freedom of the t law of means
DEGREES: Final = {"diagonal": 4.0, "factor": 20.0, "full": 20.0}  # of the prior of variances, ν


@dataclass(frozen=True, slots=True)
class NormalPrior:
    """The prior of a normal law over n coordinates.

    units : (n,) in which means and scales are of the order of 1.
    degrees : ν; spread : τ.
    n_factors : r, n where all covariances are free, 0 for independent goods.
    """

    units: Array
    degrees: float
    spread: float = 2.0
    n_factors: int = 0

    @classmethod
    def of(
        cls, covariance: str, n_factors: int, recorded: Recorded | None, n: int, degrees: float | None, spread: float
    ) -> NormalPrior:
        """Return the prior of a model's settings, checked; `recorded` says units, None where all are 1."""
        asked = {"diagonal": 0, "factor": n_factors, "full": n}[covariance]
        for name, value in (("covariance_degrees", degrees), ("mean_spread", spread)):
            if value is not None and not (np.isfinite(as_number(value, name)) and value > 0):
                raise InvalidArgument(f"{name} must be a positive number; received {value!r}")
        known = DEGREES[covariance] if degrees is None else float(degrees)
        return cls(np.ones(n) if recorded is None else usual_units(recorded), known, float(spread), asked)

    def log_density_of_mean(self, mean: Array) -> tuple[float, Array]:
        """Return the log-density, up to a constant, of means (n,) in their units, and its gradient."""
        nu, n = MEAN_DEGREES, len(mean)
        size = 1.0 + float(mean @ mean) / (nu * self.spread**2)
        return -0.5 * (nu + n) * float(np.log(size)), -(nu + n) / (nu * self.spread**2 * size) * mean

    def log_density_of_scales(self, log_scale: Array) -> tuple[float, Array]:
        """Return the same of logarithms of scales of independent goods."""
        inverse = np.exp(-2.0 * log_scale)
        return -self.degrees * float(np.sum(log_scale + 0.5 * inverse)), -self.degrees * (1.0 - inverse)

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a mean (n,) and a covariance (n, n), in the units of the data."""
        n = len(self.units)
        tau2 = self.spread**2 * MEAN_DEGREES / rng.chisquare(MEAN_DEGREES)
        mean = np.sqrt(tau2) * rng.standard_normal(n)
        if self.n_factors == n:
            root = _wishart_root(n + self.degrees, n, rng)
            inverse = np.linalg.inv(root)
            covariance = (self.degrees - 1.0) * inverse.T @ inverse
        else:
            loadings = rng.standard_normal((n, self.n_factors))
            covariance = np.diag(self.degrees / rng.chisquare(self.degrees, n)) + loadings @ loadings.T
        return self.units * mean, self.units[:, None] * covariance * self.units


def usual_units(recorded: Recorded) -> Array:
    """Return the usual slope (n,) of each coordinate: its price, geometric mean; 1 where it is never on offer."""
    total, count = 0.0, 0.0
    for part in recorded.chance.parts:
        rows = part.regions[part.row]
        is_there = rows.side != ABSENT
        total = total + np.sum(np.where(is_there, np.log(rows.slope), 0.0), axis=0)
        count = count + is_there.sum(axis=0)
    return np.asarray(np.exp(total / np.maximum(count, 1.0)), np.float64)


def usable(recorded: Recorded, rows: NDArray[np.intp]) -> Recorded:
    """Return what was recorded of some rows, each region among them once."""

    def kept(chance: Chance) -> Chance:
        parts = []
        for part in chance.parts:
            own, place = np.unique(part.row[rows], return_inverse=True)
            parts.append(part._replace(regions=part.regions[own], row=place.astype(np.intp)))
        return Chance(chance.constant, tuple(parts))

    event = None if recorded.event is None else kept(recorded.event)
    return recorded._replace(chance=kept(recorded.chance), event=event)


def _wishart_root(degrees: float, n: int, rng: np.random.Generator) -> Array:
    """Return the lower triangular root of a Wishart draw with identity scale, by Bartlett."""
    root = np.tril(rng.standard_normal((n, n)), -1)
    root[np.diag_indices(n)] = np.sqrt(rng.chisquare(degrees - np.arange(n)))
    return root
