# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's Algorithm 2: simulated annealing with Gaussian steps projected on the sphere.

Kept as the reference. It needs thousands of evaluations of the whole objective, proves nothing, and finds little from
25 goods on; the certified solver is the one to use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stochpref.consensus.objective import Array, is_consistent
from stochpref.errors import InvalidArgument
from stochpref.regions import Regions


@dataclass(frozen=True, slots=True)
class Annealing:
    """The settings of Algorithm 2, which the paper does not state.

    n_steps : K.
    interval : τ, steps between two reductions of the temperature.
    temperature : η at the start, in observations.
    reduction : c in (0, 1), the factor by which it falls.
    step_size : standard deviation of the Gaussian perturbation, per good.
    """

    n_steps: int = 1000
    interval: int = 20
    temperature: float = 5.0
    reduction: float = 0.9
    step_size: float = 0.1

    def __post_init__(self) -> None:
        if self.n_steps < 1 or self.interval < 1:
            raise InvalidArgument(
                f"n_steps and interval must be 1 or more; received {self.n_steps} and {self.interval}"
            )
        if not (self.temperature > 0 and self.step_size > 0 and 0 < self.reduction < 1):
            raise InvalidArgument(
                "temperature and step_size must be positive and reduction between 0 and 1; received "
                f"{self.temperature}, {self.step_size} and {self.reduction}"
            )


class AnnealingState(NamedTuple):
    """What the next step needs: the utility (n,), its count and the temperature."""

    utility: Array
    n_consistent: int
    temperature: float


class Annealed(NamedTuple):
    """Where the chain ended and the best it visited.

    last, best : states; the paper returns the last.
    n_accepted : proposals accepted.
    """

    last: AnnealingState
    best: AnnealingState
    n_accepted: int


def step(
    state: AnnealingState, regions: Regions, margin: float, settings: Annealing, *, rng: np.random.Generator
) -> tuple[AnnealingState, bool]:
    """Take one step of Algorithm 2 at the state's temperature; return the new state and whether it moved."""
    proposal = state.utility + settings.step_size * rng.standard_normal(state.utility.size)
    proposal /= np.linalg.norm(proposal)
    count = int(is_consistent(regions, proposal, margin).sum())
    log_rate = (count - state.n_consistent) / state.temperature
    if log_rate >= 0.0 or rng.random() < np.exp(log_rate):
        return AnnealingState(utility=proposal, n_consistent=count, temperature=state.temperature), True
    return state, False


def anneal(regions: Regions, margin: float, settings: Annealing, *, rng: np.random.Generator) -> Annealed:
    """Run Algorithm 2 from a random direction.

    Notes
    -----
    Departure from the paper: consistency is strict, and the best state is kept beside the last.
    """
    start = rng.standard_normal(regions.n_goods)
    start /= np.linalg.norm(start)
    count = int(is_consistent(regions, start, margin).sum())
    state = AnnealingState(utility=start, n_consistent=count, temperature=settings.temperature)
    best, n_accepted = state, 0
    for k in range(1, settings.n_steps + 1):
        if k % settings.interval == 0:
            state = state._replace(temperature=settings.reduction * state.temperature)
        state, is_moved = step(state, regions, margin, settings, rng=rng)
        n_accepted += is_moved
        if state.n_consistent > best.n_consistent:
            best = state
    return Annealed(last=state, best=best, n_accepted=n_accepted)
