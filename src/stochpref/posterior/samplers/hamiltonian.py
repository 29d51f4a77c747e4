# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Hamiltonian Monte Carlo in h = κμ on the exact likelihood, with the Gaussian part of the motion solved exactly.

Write h = m + Az with the Gaussian of `gaussian`, so that the posterior is close to N(0, I) in z. Under N(0, I) alone
position and momentum rotate: after a quarter turn the position is the old momentum, a fresh draw. A step is therefore
half a kick by the gradient of what the Gaussian misses, a rotation, half a kick. Where the Gaussian is good, one
rotation by a quarter turn, at the price of one gradient, makes a nearly independent draw; where it is not, warm-up
shortens the rotation until enough is accepted, and a trajectory is as many rotations as make a quarter turn.

The walls |h| = κ_lo, κ_hi are reflected at, not rejected at, since a posterior often leans on them. In z a wall is an
ellipsoid and the motion between kicks an ellipse in h; where they meet is a quartic, solved exactly, and the momentum
is mirrored in the tangent plane. Rotation with mirrors keeps |z|² + |p|², volume and the way back, as billiards do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.bounds import reflect, rotate
from stochpref.posterior.gaussian import Point, Reference, evaluate, overdispersed_start
from stochpref.posterior.target import Info, Target, keyed_generator

Array = NDArray[np.float64]

QUARTER_TURN = 0.5 * np.pi
_TARGET_ACCEPTANCE = 0.8
_JITTER = 0.2  # a fixed angle could be a period of some direction
MAX_ROTATIONS = 32
_DIVERGENCE = 1000.0  # error in the energy, as in Stan
# Dual averaging, Hoffman and Gelman (2014), section 3.2.1: γ, t₀ and the power of the average.
_GAIN, _DELAY, _POWER = 0.05, 10.0, 0.75


class State(NamedTuple):
    """All chains.

    h, gradient : (chains, n); log_posterior : (chains,).
    log_step, log_step_average, shortfall : (chains,) dual averaging: the angle in use while warming up, the one to
        keep, and the running mean of target minus acceptance.
    """

    h: Array
    log_posterior: Array
    gradient: Array
    log_step: Array
    log_step_average: Array
    shortfall: Array


class Trajectory(NamedTuple):
    """Where a trajectory ended, the change of log-density along it, and the evaluations it took."""

    point: Point
    log_ratio: float
    n_evaluations: int


def follow(target: Target, reference: Reference, start: Point, p: Array, step: float, n_steps: int) -> Trajectory:
    """Return the end of a trajectory of so many rotations by `step` from a point with momentum p."""
    z = np.asarray(np.linalg.solve(reference.factor, start.h - reference.centre), np.float64)
    before, point = start.log_posterior - 0.5 * float(p @ p), start
    for k in range(n_steps):
        p = p + 0.5 * step * (reference.factor.T @ point.gradient + z)
        z, p = rotate(target.prior, reference.centre, reference.factor, z, p, step)
        h = reference.centre + reference.factor @ z
        if not np.all(np.isfinite(h)):
            return Trajectory(start, -np.inf, k + 1)
        point = evaluate(target, h)
        if not np.isfinite(point.log_posterior):
            return Trajectory(start, -np.inf, k + 1)
        p = p + 0.5 * step * (reference.factor.T @ point.gradient + z)
    return Trajectory(point, point.log_posterior - 0.5 * float(p @ p) - before, n_steps)


def move_radially(target: Target, reference: Reference, start: Point, rng: np.random.Generator) -> Point:
    """Return the point after a random step of κ at fixed μ, reflected at the walls.

    Where data are weak, trajectories hang in the pole of the prior at the origin. Its cause is the volume element of h:
    in (μ, κ) there is none, and the density dμ dκ = |h|^{1-n} dh is that of the posterior times |h|^{n-1}.
    """
    kappa = float(np.linalg.norm(start.h))
    width = float(np.linalg.norm(reference.factor.T @ start.h)) / kappa  # of the Gaussian along μ
    proposed = reflect(kappa + width * rng.standard_normal(), target.prior.lower, target.prior.upper)
    point = evaluate(target, start.h * (proposed / kappa))
    log_volumes = (len(start.h) - 1) * (np.log(proposed) - np.log(kappa))
    is_accepted = np.log(rng.random()) < point.log_posterior - start.log_posterior + log_volumes
    return point if is_accepted else start


@dataclass(frozen=True)
class Hamiltonian:
    """Split Hamiltonian Monte Carlo, as `chains` runs it.

    Attributes
    ----------
    target : store and prior.
    seed : of all draws.
    reference : from `find_reference`.
    n_warmup : steps in which the rotation is tuned.
    """

    target: Target
    seed: int
    reference: Reference
    n_warmup: int = 200
    name: str = "hamiltonian"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> State:
        """Return over-dispersed starts with a quarter turn a step."""
        points = [
            evaluate(self.target, overdispersed_start(self.target, self.reference, keyed_generator(self.seed, c, -1)))
            for c in range(n_chains)
        ]
        return State(
            h=np.array([point.h for point in points]),
            log_posterior=np.array([point.log_posterior for point in points]),
            gradient=np.array([point.gradient for point in points]),
            log_step=np.full(n_chains, np.log(QUARTER_TURN)),
            log_step_average=np.full(n_chains, np.log(QUARTER_TURN)),
            shortfall=np.zeros(n_chains),
        )

    def step(self, state: State, iteration: int) -> tuple[State, Info]:
        """Make one trajectory per chain."""
        is_warming = iteration < self.n_warmup
        steps = np.exp(state.log_step if is_warming else state.log_step_average)
        moves = [self._move(state, c, iteration, float(steps[c])) for c in range(len(steps))]
        points = [point for point, _ in moves]
        acceptance = np.array([min(1.0, np.exp(min(trajectory.log_ratio, 0.0))) for _, trajectory in moves])
        log_posterior = np.array([point.log_posterior for point in points])
        adapted = _adapt(state, acceptance, iteration) if is_warming else state
        new = adapted._replace(
            h=np.array([point.h for point in points]),
            log_posterior=log_posterior,
            gradient=np.array([point.gradient for point in points]),
        )
        statistics = {
            "acceptance_rate": acceptance,
            "n_evaluations": np.array([float(trajectory.n_evaluations) for _, trajectory in moves]),
            "step_size": steps,
            "log_posterior": log_posterior,
            "diverging": np.array([float(trajectory.log_ratio < -_DIVERGENCE) for _, trajectory in moves]),
        }
        return new, Info(statistics)

    def _move(self, state: State, chain: int, iteration: int, step: float) -> tuple[Point, Trajectory]:
        rng = keyed_generator(self.seed, chain, iteration)
        start = Point(state.h[chain], float(state.log_posterior[chain]), state.gradient[chain])
        p = rng.standard_normal(len(start.h))
        n_steps = int(np.clip(np.round(QUARTER_TURN / step), 1, MAX_ROTATIONS))
        jittered = step * rng.uniform(1 - _JITTER, 1 + _JITTER)
        trajectory = follow(self.target, self.reference, start, p, jittered, n_steps)
        point = trajectory.point if np.log(rng.random()) < trajectory.log_ratio else start
        if not self.reference.is_mode:
            point = move_radially(self.target, self.reference, point, rng)
            trajectory = trajectory._replace(n_evaluations=trajectory.n_evaluations + 1)
        return point, trajectory

    def parameters(self, state: State) -> dict[str, Array]:
        """Return mean directions (chains, n) and concentrations (chains,)."""
        kappa = np.linalg.norm(state.h, axis=1)
        return {"mean_direction": state.h / kappa[:, None], "concentration": kappa}


def _adapt(state: State, acceptance: Array, iteration: int) -> State:
    """Return the state with the step moved towards the target acceptance."""
    log_step, average, shortfall = adapted_steps(state.shortfall, state.log_step_average, acceptance, iteration)
    return state._replace(log_step=log_step, log_step_average=average, shortfall=shortfall)


def adapted_steps(shortfall: Array, average: Array, acceptance: Array, iteration: int) -> tuple[Array, Array, Array]:
    """Return log-steps moved towards the target acceptance, up to a quarter turn, their average, and the shortfall."""
    t = iteration + 1
    shortfall = shortfall + (_TARGET_ACCEPTANCE - acceptance - shortfall) / (t + _DELAY)
    longest = np.log(QUARTER_TURN)
    # Shrunk towards a quarter turn, the best angle where it is accepted at all.
    log_step = np.clip(longest - np.sqrt(t) / _GAIN * shortfall, longest - np.log(200.0), longest)
    weight = t**-_POWER
    return log_step, weight * log_step + (1 - weight) * average, shortfall
