# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling where some customers are never seen: those to whom money is worth nothing, or who buy nothing.

For every observation customers are drawn from the law until one is such as are recorded. Those before, of whom there
are (1 - p)/p on average, p the chance of the event, are latents too: with them the law sees a sample of all customers,
as Gibbs sampling needs, and the likelihood of the bundles is what it is given that they were recorded. Where p is small
that takes for ever, and the exact likelihood is the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance
from stochpref.errors import InvalidArgument
from stochpref.laws import VonMisesFisher
from stochpref.posterior.samplers.corner_gibbs import gibbs_of
from stochpref.posterior.samplers.gibbs import Gibbs, GibbsState, Laws, next_laws
from stochpref.posterior.target import Info, Target, keyed_generator

Array = NDArray[np.float64]

_MOST_ROUNDS: Final = 500  # in which a customer with a chance of 0.05 of being recorded is missed once in 10^11
_UNSEEN: Final = 1  # the part of a step's random numbers that draws them


@dataclass(frozen=True)
class UnseenGibbs:
    """The sampler; see the module.

    target : store, in memory, and prior.
    seed : of all its random numbers, below 2^64.
    event : the chances of being recorded, of which each is above 0.05 wherever the posterior goes.
    n_warmup : steps to discard.
    draws_unseen : whether the unseen are drawn; without them the sampler is wrong, which tests rely on.
    """

    target: Target
    seed: int
    event: Chance
    n_warmup: int = 300
    draws_unseen: bool = True
    name: str = "gibbs"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> GibbsState:
        """Start each chain from its own points inside the regions, and a law about their mean: most would be seen."""
        start = self._seen.init(n_chains)
        mean = start.latents.mean(axis=1)
        return start._replace(mean_direction=mean / np.linalg.norm(mean, axis=1, keepdims=True))

    def step(self, state: GibbsState, iteration: int) -> tuple[GibbsState, Info]:
        """Sweep all utilities, draw those unseen, then the law."""
        sums, counts = self._seen.sweep(state, iteration), np.full(len(state.concentration), state.latents.shape[1])
        for chain in range(len(counts) if self.draws_unseen else 0):
            total, n_unseen = self._draw_unseen(state, chain, iteration)
            sums[chain] += total
            counts[chain] += n_unseen
        law = Laws(state.mean_direction, state.concentration)
        directions, drawn = next_laws(self.target.prior, law, sums, counts, self.seed, iteration)
        lengths = np.sqrt(np.sum(sums**2, axis=1)) / np.maximum(counts, 1)
        return GibbsState(state.latents, directions, drawn), Info({"resultant_length": lengths})

    def parameters(self, state: GibbsState) -> dict[str, Array]:
        """Return mean directions and concentrations."""
        return self._seen.parameters(state)

    @property
    def _seen(self) -> Gibbs:
        return gibbs_of(self.target, self.seed)

    def _draw_unseen(self, state: GibbsState, chain: int, iteration: int) -> tuple[Array, int]:
        """Return the sum of the utilities of those unseen before each observation, and how many they are."""
        law = VonMisesFisher(state.mean_direction[chain], float(state.concentration[chain]))
        rng = keyed_generator(self.seed, chain, iteration, _UNSEEN)
        total, n_unseen, missing = np.zeros(law.n_goods), 0, np.arange(len(self.event))
        for _ in range(_MOST_ROUNDS):
            u = law.sample(missing.size, rng=rng)
            is_unseen = ~self.event.take(missing).holds(u)
            total += u[is_unseen].sum(axis=0)
            n_unseen += int(is_unseen.sum())
            missing = missing[is_unseen]
            if missing.size == 0:
                return total, n_unseen
        raise InvalidArgument(
            "sampler='gibbs' draws the customers who are not recorded, and here hardly any other would be "
            f"(concentration {law.concentration:.3g}): leave the sampler to 'auto', which works on the exact likelihood"
        )
