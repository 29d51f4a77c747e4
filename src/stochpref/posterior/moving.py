# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of laws that move with features: exact likelihood, a normal prior, draws around the mode.

Every coefficient of a standardised feature, and every intercept, is N(0, (2N)²) for utilities of N coordinates: as wide
as that of segments. `features` says how laws move; chains are not needed, since the posterior is near a Gaussian as
soon as the data tell of every coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from stochpref.feature_likelihood import MovingRows
from stochpref.features import FeatureDesign
from stochpref.observations import Observations
from stochpref.posterior.around import around_mode
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import Choice
from stochpref.posterior.samplers.around import AroundMode, Near

Array = NDArray[np.float64]

SPREAD_PER_COORDINATE: Final = 2.0
MAX_CONCENTRATION: Final = 1e4  # of a law at what was faced, as of maximum likelihood
_TOLERANCE: Final = 1e-8


@dataclass(frozen=True, eq=False)
class MovingPosterior:
    """The posterior of coefficients θ.

    rows : the observations, none of them degenerate.
    design : how h moves.
    spread : of the prior of each coefficient.
    """

    rows: MovingRows
    design: FeatureDesign
    spread: float

    @classmethod
    def of(cls, observations: Observations, design: FeatureDesign) -> Self:
        """Return the posterior given observations, none of them degenerate."""
        rows = MovingRows.of(observations, design, _TOLERANCE)
        return cls(rows, design, prior_spread(design))

    def log_density(self, theta: Array) -> float:
        """Return the log-density at θ, up to a constant."""
        laws = self.rows.designs.laws(theta)
        if np.linalg.norm(laws, axis=1).max() > MAX_CONCENTRATION:
            return -np.inf
        return float(self.rows.values(theta).sum()) - 0.5 * float(theta @ theta) / self.spread**2

    def near(self) -> Near:
        """Return the Gaussian at the mode."""
        theta, information = self.rows.climb(self.spread)
        values, vectors = np.linalg.eigh(information)
        covariance = (vectors / np.maximum(values, 1.0 / self.spread**2)) @ vectors.T  # never wider than the prior
        return Near(theta, np.asarray(np.linalg.cholesky(covariance)))

    def parameters(self, theta: Array) -> dict[str, Array]:
        """Return coefficients (…, P) in the units given, and the law where every feature is average, of θ (…, p)."""
        average = theta @ self.design.at_average.T
        kappa = np.linalg.norm(average, axis=-1)
        return {
            "mean_direction": average / np.maximum(kappa, 1e-300)[..., None],
            "concentration": kappa,
            "coefficient": theta @ self.design.to_units.T,
        }

    def choice(self, seed: int, plan: Plan) -> Choice:
        """Return how to draw."""
        near = self.near()
        reason = f"{len(near.centre)} coefficients around the mode, by the exact likelihood of a law for each row"
        return around_mode(AroundMode(near, self.log_density, self.parameters, seed), plan, reason)


def prior_spread(design: FeatureDesign) -> float:
    """Return the standard deviation of the prior of a coefficient."""
    return SPREAD_PER_COORDINATE * design.n_coordinates


def thetas_of(design: FeatureDesign, coefficients: Array) -> Array:
    """Return θ (draws, p) of coefficients (draws, P) in the units given."""
    return np.asarray(coefficients @ np.linalg.pinv(design.to_units).T)
