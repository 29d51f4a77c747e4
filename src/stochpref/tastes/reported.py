# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What chains of laws of tastes are judged by: shares of goods at menus faced, and how likely choices are.

The parts of a covariance wander along directions of which choices say little while all of this stands still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.features import FeatureDesign
from stochpref.observations import Observations
from stochpref.posterior.chains import Draws
from stochpref.posterior.counting import distinct_menus
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.problems import Problem
from stochpref.tastes.panel import laid_out

Array = NDArray[np.float64]

_MENUS: Final = 4  # of those faced, evenly spaced
_CUSTOMERS: Final = 64
_KEPT: Final = 250  # draws of each chain that shares are computed of


@dataclass(frozen=True, eq=False)
class Reported:
    """Who is asked, and where.

    goods : names. designs, handicaps : (M, J, p) and (M, J) of menus. normals : (customers, p).
    """

    goods: tuple[str, ...]
    designs: Array
    handicaps: Array
    normals: Array

    @classmethod
    def of(cls, data: Observations, design: FeatureDesign, problem: Problem, seed: int) -> Self:
        """Pick menus among observations."""
        first, _ = distinct_menus(data)
        asked = first[np.unique(np.linspace(0, len(first) - 1, _MENUS).astype(np.intp))]
        points = qmc.Sobol(len(design.kept), seed=np.random.default_rng([seed, 6])).random(_CUSTOMERS)
        normals = ndtri(np.clip(points, 1e-12, 1.0 - 1e-12))
        return cls(data.goods, *laid_out(data[asked], design, problem), normals)

    def shares(self, mean: Array, covariance: Array) -> Array:
        """Return the share (n,) of customers of a law who choose each good, over the menus."""
        tastes = mean + self.normals @ np.linalg.cholesky(covariance).T
        value = np.einsum("tjp,kp->ktj", self.designs, tastes, optimize=True) - self.handicaps
        value = np.exp(value - value.max(axis=2, keepdims=True))
        chance = (value / value.sum(axis=2, keepdims=True)).mean(axis=(0, 1))
        return np.asarray(chance[: len(self.goods)])

    def diagnose(self, draws: Draws) -> Diagnostics:
        """Return how far what is reported can be trusted."""
        drawn = draws.parameters
        every = slice(None, None, max(-(-drawn["mean"].shape[1] // _KEPT), 1))
        means, covariances = drawn["mean"][:, every], drawn["covariance"][:, every]
        shares = np.array(
            [
                [self.shares(mean, covariance) for mean, covariance in zip(*chain, strict=True)]
                for chain in zip(means, covariances, strict=True)
            ]
        )
        return joined(
            diagnose({"log_probability": drawn["log_probability"]}),
            diagnose({"share": shares}).labelled({"share": self.goods}),
        )


def joined(one: Diagnostics, other: Diagnostics) -> Diagnostics:
    """Return the diagnostics of the components of two."""
    measures = ("r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd")
    both: dict[str, Any] = {name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in measures}
    return Diagnostics(names=(*one.names, *other.names), **both)


def spreads_of(design: FeatureDesign, parameters: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return means and spreads (chains, draws, P) over customers of what `to_told` makes of tastes."""
    change = to_told(design)
    mean = parameters["mean"] @ change.T
    spread = np.einsum("jp,cspq,jq->csj", change, parameters["covariance"], change, optimize=True)
    return mean, np.sqrt(np.maximum(spread, 0.0))


def to_told(design: FeatureDesign) -> Array:
    """Return the matrix (P, p) from tastes to utilities where features are average, and coefficients in units given."""
    n = design.n_coordinates
    return np.concatenate([design.at_average, design.to_units[n:]])
