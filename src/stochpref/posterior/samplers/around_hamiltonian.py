# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Hamiltonian moves around a mode, for any posterior that is known by its log-density and its slope.

As in `hamiltonian`, of which the laws on a sphere have walls, and this has none: with the Gaussian of the curvature at
the mode position and momentum rotate, and kicks make up for what it misses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.samplers.around import Near
from stochpref.posterior.samplers.hamiltonian import MAX_ROTATIONS, QUARTER_TURN, adapted_steps
from stochpref.posterior.target import Info, keyed_generator

Array = NDArray[np.float64]

_JITTER = 0.2  # a fixed angle could be a period of some direction


class AroundMoves(NamedTuple):
    """All chains: coordinates (chains, p), their log-densities and slopes; how the angle is tuned."""

    coordinates: Array
    log_density: Array
    slope: Array
    log_step: Array
    log_step_average: Array
    shortfall: Array


@dataclass(frozen=True)
class AroundHamiltonian:
    """Split Hamiltonian Monte Carlo around a mode.

    near : the Gaussian near the posterior.
    slope_fn : coordinates (p,) -> log-density, up to a constant, and its slope (p,).
    parameters_fn : coordinates (chains, p) -> parameters of the law by name.
    seed : of all random numbers.
    """

    near: Near
    slope_fn: Callable[[Array], tuple[float, Array]]
    parameters_fn: Callable[[Array], dict[str, Array]]
    seed: int
    n_warmup: int = 150
    name: str = "hamiltonian"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> AroundMoves:
        """Return starts that are spread as the Gaussian is, with a quarter turn a step."""
        p = len(self.near.centre)
        normals = [keyed_generator(self.seed, c, -1).standard_normal(p) for c in range(n_chains)]
        starts = np.array([self.near.centre + self.near.factor @ z for z in normals])
        found = [self.slope_fn(at) for at in starts]
        step = np.full(n_chains, np.log(QUARTER_TURN))
        return AroundMoves(
            starts, np.array([value for value, _ in found]), np.array([slope for _, slope in found]), step, step.copy(),
            np.zeros(n_chains),
        )  # fmt: skip

    def step(self, state: AroundMoves, iteration: int) -> tuple[AroundMoves, Info]:
        """Make one trajectory per chain."""
        is_warming = iteration < self.n_warmup
        steps = np.exp(state.log_step if is_warming else state.log_step_average)
        moves = [self._move(state, c, iteration, float(steps[c])) for c in range(len(steps))]
        at, values, slopes, log_ratio = (np.array(part) for part in zip(*moves, strict=True))
        acceptance = np.exp(np.minimum(log_ratio, 0.0))
        new = state._replace(coordinates=at, log_density=values, slope=slopes)
        if is_warming:
            tuned = adapted_steps(state.shortfall, state.log_step_average, acceptance, iteration)
            new = new._replace(log_step=tuned[0], log_step_average=tuned[1], shortfall=tuned[2])
        return new, Info({"acceptance_rate": acceptance, "step_size": steps, "log_posterior": values})

    def parameters(self, state: AroundMoves) -> dict[str, Array]:
        """Return the parameters of the law."""
        return self.parameters_fn(state.coordinates)

    def _move(self, state: AroundMoves, chain: int, iteration: int, step: float) -> tuple[Array, float, Array, float]:
        """Return where a chain is after a trajectory, and by how much its energy has changed along it."""
        rng, (centre, factor) = keyed_generator(self.seed, chain, iteration), self.near
        start = state.coordinates[chain], float(state.log_density[chain]), state.slope[chain]
        at, value, slope = start
        z, p = np.linalg.solve(factor, at - centre), rng.standard_normal(len(centre))
        n_steps = int(np.clip(np.round(QUARTER_TURN / step), 1, MAX_ROTATIONS))
        angle = step * rng.uniform(1 - _JITTER, 1 + _JITTER)
        before = value - 0.5 * float(p @ p)
        for _ in range(n_steps):
            p = p + 0.5 * angle * (factor.T @ slope + z)
            z, p = np.cos(angle) * z + np.sin(angle) * p, np.cos(angle) * p - np.sin(angle) * z
            at = centre + factor @ z
            value, slope = self.slope_fn(at)
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                return *start, -np.inf
            p = p + 0.5 * angle * (factor.T @ slope + z)
        log_ratio = value - 0.5 * float(p @ p) - before
        return (at, value, slope, log_ratio) if np.log(rng.random()) < log_ratio else (*start, log_ratio)
