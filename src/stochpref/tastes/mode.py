# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The likeliest spread of tastes, penalised by the prior, and the curvature there.

First the likelihood is climbed whose draws move with φ, so that Fisher's identity is off by a little and the climb may
end early; then, in rounds, that of a cloud that stays where it is, whose slope is exact, within reach of the cloud.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.tastes.clouds import Places, Weighed, cloud_around, even_normals, find_places, roots_of
from stochpref.tastes.law import TasteLaw
from stochpref.tastes.panel import Panel

Array = NDArray[np.float64]

_DRAWS: Final = 128  # a customer
_WIDTH: Final = 1.15
_CLIMB: Final = {"maxiter": 120, "gtol": 1e-5, "ftol": 1e-9}
_POLISH: Final = {"maxiter": 15}
_ROUNDS: Final = 6
_REACH: Final = 0.5  # of the coordinates of φ in a round
_SETTLED: Final = 0.02
_SMALLEST: Final = 1e-3  # σ


class Mode(NamedTuple):
    """What is likeliest: φ (d,), the penalised log-likelihood, the information (d, d), and tastes under it."""

    phi: Array
    value: float
    information: Array
    places: Places


class Climb:
    """The penalised log-likelihood at φ, by draws around the likeliest tastes under each φ.

    panel, law : of whom and what.
    seed : of the draws, which all φ share.
    """

    def __init__(self, panel: Panel, law: TasteLaw, seed: int) -> None:
        self.panel, self.law = panel, law
        self.epsilon = even_normals(law.p, _DRAWS, seed=seed)
        self.places: Places | None = None

    def weighed(self, phi: Array) -> tuple[Weighed, Array]:
        """Return what φ makes of its own cloud, and L⁻¹."""
        roots = roots_of(self.law, phi)
        self.places = find_places(self.panel, roots, None if self.places is None else self.places.mode)
        cloud = cloud_around(self.panel, self.places, self.epsilon, _WIDTH, None)
        return cloud.weigh(roots), roots.inverse

    def at(self, phi: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        return self._penalised(phi, *self.weighed(phi))

    def _penalised(self, phi: Array, found: Weighed, inverse: Array) -> tuple[float, Array]:
        prior, slope = self.law.log_prior(phi, is_mode=True)
        pulled = self.law.pulled(phi, inverse, found.mean.sum(axis=0)[None], _summed(found, self.law))
        return float(found.value.sum()) + prior, pulled[0] + slope

    def falling(self, phi: Array) -> tuple[float, Array]:
        """Return what is minimised, a choice, and its gradient."""
        value, slope = self.at(phi)
        return -value / len(self.panel.order), -slope / len(self.panel.order)

    def polished(self, phi: Array) -> Array:
        """Return the likeliest φ near another, with the cloud of that one."""
        roots = roots_of(self.law, phi)
        self.places = find_places(self.panel, roots, None if self.places is None else self.places.mode)
        cloud = cloud_around(self.panel, self.places, self.epsilon, _WIDTH, None)

        def falling(at: Array) -> tuple[float, Array]:
            roots = roots_of(self.law, at)
            value, slope = self._penalised(at, cloud.weigh(roots), roots.inverse)
            return -value, -slope

        limits = _bounds(self.law, phi)
        found = minimize(falling, phi, jac=True, method="L-BFGS-B", options=_POLISH, bounds=limits)
        return np.asarray(found.x, np.float64)

    def information(self, phi: Array) -> Array:
        """Return the sum of products of customers' slopes, and what the prior knows."""
        found, inverse = self.weighed(phi)
        slopes = self.law.pulled(phi, inverse, found.mean, found.products)
        return np.asarray(slopes.T @ slopes + np.diag(self.law.prior_precision))


def _summed(found: Weighed, law: TasteLaw) -> Array:
    """Return products summed over customers, less the number of customers but one times the unit matrix."""
    extra = (len(found.value) - 1) * np.eye(law.p)
    return np.asarray(found.products.sum(axis=0) - extra)[None]


def find_mode(panel: Panel, law: TasteLaw, seed: int) -> Mode:
    """Return the likeliest φ, its curvature, and where tastes are under it."""
    climb = Climb(panel, law, seed)
    found = minimize(climb.falling, law.start(), jac=True, method="L-BFGS-B", options=_CLIMB, bounds=_bounds(law, None))
    phi = np.asarray(found.x, np.float64)
    for _ in range(_ROUNDS):
        before, phi = phi, climb.polished(phi)
        if np.abs(phi - before).max() < _SETTLED:
            break
    information = climb.information(phi)
    assert climb.places is not None
    return Mode(phi, climb.at(phi)[0], information, climb.places)


def _bounds(law: TasteLaw, near: Array | None) -> list[tuple[float, float]]:
    """Return between what coordinates are climbed: σ above 0, and all within reach of a φ if one is given."""
    lower, upper = np.full(law.n_parameters, -np.inf), np.full(law.n_parameters, np.inf)
    lower[law.p : law.p + law.m] = _SMALLEST
    if near is not None:
        lower, upper = np.maximum(lower, near - _REACH), near + _REACH
    return list(zip(lower.tolist(), upper.tolist(), strict=True))
