# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling by data augmentation: utilities given the law, then the law given the utilities.

See `latents` for the one half and `law` for the other. Works for any number of goods and observations, any kind of
region and any prior; it mixes slowly where bundles say little of utilities (few goods, large κ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.engines import for_blocks
from stochpref.laws import uniform_directions
from stochpref.mass.exact import GROUP
from stochpref.posterior.kernels import Info, Target, keyed_generator
from stochpref.posterior.latents import draw_pairs, sweep_rows
from stochpref.posterior.law import draw_laws

Array = NDArray[np.float64]

_BLOCK = 4  # groups of rows a thread takes at a time


class GibbsState(NamedTuple):
    """Where all chains are.

    latents : (chains, T, n) a utility for every observation.
    mean_direction : (chains, n).
    concentration : (chains,).
    """

    latents: Array
    mean_direction: Array
    concentration: Array


@dataclass(frozen=True)
class Gibbs:
    """The sampler; see the module.

    target : regions and prior.
    seed : of all its random numbers, below 2^64.
    n_warmup : steps to discard.
    meridian_power : exponent of sin θ in meridian moves, n - 2; another value breaks the sampler, which tests rely on.
    """

    target: Target
    seed: int
    n_warmup: int = 300
    meridian_power: float | None = None
    name: str = "gibbs"

    def init(self, n_chains: int) -> GibbsState:
        """Start each chain from its own points inside the regions and its own concentration, far apart."""
        regions, prior = self.target.regions, self.target.prior
        n = regions.n_goods
        latents = np.empty((n_chains, len(regions), n))
        directions, concentrations = np.empty((n_chains, n)), np.empty(n_chains)
        for chain in range(n_chains):
            rng = keyed_generator(self.seed, chain, -1)
            latents[chain] = regions.interior_points(rng=rng)
            directions[chain] = uniform_directions(1, n, rng=rng)[0]
            concentrations[chain] = rng.uniform(
                prior.lower, max(min(prior.upper, 2.0 * n), 0.5 * prior.lower + 0.5 * prior.upper)
            )
        return GibbsState(latents, directions, concentrations)

    def step(self, state: GibbsState, iteration: int) -> tuple[GibbsState, Info]:
        """Sweep all utilities, then draw the law."""
        sums = self.sweep(state, iteration)
        n_rows = state.latents.shape[1]
        directions, drawn = draw_laws(self.target.prior, sums, n_rows, self.seed, iteration)
        if self.target.prior.log_density_fn is not None:
            accepted = self._accept(state, directions, drawn, iteration)
            directions = np.where(accepted[:, None], directions, state.mean_direction)
            drawn = np.where(accepted, drawn, state.concentration)
        lengths = np.sqrt(np.sum(sums**2, axis=1)) / max(n_rows, 1)
        return GibbsState(state.latents, directions, drawn), Info({"resultant_length": lengths})

    def parameters(self, state: GibbsState) -> tuple[Array, Array]:
        """Return mean directions and concentrations."""
        return state.mean_direction, state.concentration

    def sweep(self, state: GibbsState, iteration: int) -> Array:
        """Move the latents of all chains in place; return their sums (chains, n)."""
        regions = self.target.regions
        n_chains, n_rows, n = state.latents.shape
        n_groups = -(-n_rows // GROUP)
        sums = np.empty((n_chains, n_groups, n))
        arrays = (regions.kind_code, regions.side, regions.slope, regions.pivot)
        power = n - 2.0 if self.meridian_power is None else self.meridian_power
        sweeps = []
        for chain in range(n_chains):
            h = state.concentration[chain] * state.mean_direction[chain]
            key = (np.uint64(self.seed & (2**64 - 1)), chain, iteration)
            pairs = draw_pairs(h, n_rows, key)
            sweeps.append(partial(sweep_rows, arrays, h, pairs, power, key, state.latents[chain], sums[chain]))

        def block(start: int, stop: int) -> None:
            chain, first_group = divmod(start, n_blocks)
            sweeps[chain](first_group * _BLOCK, min((first_group + 1) * _BLOCK, n_groups))
            assert stop == start + 1

        n_blocks = -(-n_groups // _BLOCK)
        for_blocks(block, n_chains * n_blocks, 1)
        return sums.sum(axis=1)

    def _accept(self, state: GibbsState, directions: Array, drawn: Array, iteration: int) -> NDArray[np.bool_]:
        """Accept draws made under the uniform prior with the ratio of the user's prior, new to old."""
        prior = self.target.prior
        new = prior.log_density(directions, drawn)
        old = prior.log_density(state.mean_direction, state.concentration)
        with np.errstate(invalid="ignore"):
            gain = np.where(old == -np.inf, np.inf, new - old)
        levels = [keyed_generator(self.seed, chain, iteration).random() for chain in range(len(drawn))]
        return np.log(levels) < gain
