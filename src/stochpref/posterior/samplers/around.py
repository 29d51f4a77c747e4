# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Proposals around a mode, by Student's t law with the curvature there, to be weighted by the exact posterior.

Where weights are of no use, draws of the Gaussian with that curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from stochpref.posterior.target import Info, keyed_generator

Array = NDArray[np.float64]

_DEGREES: Final = 10.0  # of freedom of the proposals, at least

IMPORTANCE: Final = "importance"
CURVATURE: Final = "curvature"


class Near(NamedTuple):
    """The Gaussian near a posterior: centre (p,) and lower triangular factor of its covariance."""

    centre: Array
    factor: Array


class AroundState(NamedTuple):
    """The last proposals: coordinates (chains, p) and their log-weights (chains,)."""

    coordinates: Array
    log_weight: Array


@dataclass(frozen=True)
class AroundMode:
    """Proposals of any posterior that is known by its log-density, to be weighted; or draws of the Gaussian.

    near : the Gaussian near it.
    log_density_fn : coordinates (p,) -> log-density, up to a constant.
    parameters_fn : coordinates (chains, p) -> parameters of the law by name.
    seed : of all random numbers.
    name : "importance" or "curvature".
    is_weighed : draws of the Gaussian get weights too.
    """

    near: Near
    log_density_fn: Callable[[Array], float]
    parameters_fn: Callable[[Array], dict[str, Array]]
    seed: int
    name: str = IMPORTANCE
    is_weighed: bool = False
    n_warmup: int = 0
    revision: ClassVar[int] = 1

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the proposals: with many coordinates heavy tails put most of them too far out."""
        return max(_DEGREES, 2.0 * len(self.near.centre))

    def init(self, n_chains: int) -> AroundState:
        """Return the mode, with no weight: the first step replaces it."""
        return AroundState(np.tile(self.near.centre, (n_chains, 1)), np.full(n_chains, -np.inf))

    def step(self, state: AroundState, iteration: int) -> tuple[AroundState, Info]:
        """Make one proposal per chain."""
        drawn = [self._propose(c, iteration) for c in range(len(state.coordinates))]
        new = AroundState(np.array([at for at, _ in drawn]), np.array([weight for _, weight in drawn]))
        return new, Info({"log_weight": new.log_weight.copy()})

    def parameters(self, state: AroundState) -> dict[str, Array]:
        """Return the parameters of the law."""
        return self.parameters_fn(state.coordinates)

    def _propose(self, chain: int, iteration: int) -> tuple[Array, float]:
        p, nu = len(self.near.centre), self.degrees
        if self.name == CURVATURE:  # every other draw mirrors the one before, so that means have less noise
            z = keyed_generator(self.seed, chain, iteration // 2).standard_normal(p) * (-1.0) ** iteration
            at = self.near.centre + self.near.factor @ z
            return at, self.log_density_fn(at) + 0.5 * float(z @ z) if self.is_weighed else 0.0
        rng = keyed_generator(self.seed, chain, iteration)
        z = rng.standard_normal(p)
        z /= np.sqrt(rng.chisquare(nu) / nu)
        at = self.near.centre + self.near.factor @ z
        log_scale = float(gammaln(0.5 * (nu + p)) - gammaln(0.5 * nu)) - 0.5 * p * np.log(nu * np.pi)
        log_proposal = log_scale - 0.5 * (nu + p) * np.log1p(float(z @ z) / nu)
        return at, self.log_density_fn(at) - log_proposal
