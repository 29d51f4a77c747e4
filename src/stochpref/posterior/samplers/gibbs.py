# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling by data augmentation: utilities given the law, then the law given the utilities.

See `gibbs_moves` for the one half and `gibbs_law` for the other. Works for any number of goods and observations, any
kind of region and any prior; it mixes slowly where bundles say little of utilities (few goods, large κ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.laws import uniform_directions
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs_law import draw_laws
from stochpref.posterior.samplers.gibbs_moves import draw_pairs, sweep_rows
from stochpref.posterior.target import Info, Target, keyed_generator
from stochpref.regions import Regions
from stochpref.threads import GROUP, for_blocks

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

    target : store, in memory, and prior.
    seed : of all its random numbers, below 2^64.
    n_warmup : steps to discard.
    meridian_power : exponent of sin θ in meridian moves, n - 2; another value breaks the sampler, which tests rely on.
    """

    target: Target
    seed: int
    n_warmup: int = 300
    meridian_power: float | None = None
    name: str = "gibbs"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> GibbsState:
        """Start each chain from its own points inside the regions and its own concentration, far apart."""
        regions, prior = self.target.store.load(), self.target.prior
        n = regions.n_goods
        latents = np.empty((n_chains, len(regions), n))
        directions, concentrations = np.empty((n_chains, n)), np.empty(n_chains)
        for chain in range(n_chains):
            rng = keyed_generator(self.seed, chain, -1)
            latents[chain] = regions.interior_points(rng=rng)
            directions[chain], concentrations[chain] = start_law(prior, n, rng)
        return GibbsState(latents, directions, concentrations)

    def step(self, state: GibbsState, iteration: int) -> tuple[GibbsState, Info]:
        """Sweep all utilities, then draw the law."""
        sums = self.sweep(state, iteration)
        n_rows = state.latents.shape[1]
        law = Laws(state.mean_direction, state.concentration)
        directions, drawn = next_laws(self.target.prior, law, sums, n_rows, self.seed, iteration)
        lengths = np.sqrt(np.sum(sums**2, axis=1)) / max(n_rows, 1)
        return GibbsState(state.latents, directions, drawn), Info({"resultant_length": lengths})

    def parameters(self, state: GibbsState) -> dict[str, Array]:
        """Return mean directions and concentrations."""
        return {"mean_direction": state.mean_direction, "concentration": state.concentration}

    def sweep(self, state: GibbsState, iteration: int) -> Array:
        """Move the latents of all chains in place; return their sums (chains, n)."""
        laws = state.concentration[:, None] * state.mean_direction
        regions = self.target.store.load()
        span = Span(0, len(regions), self.meridian_power)
        return sweep(regions, state.latents, laws[:, None], span, self.seed, iteration).sum(axis=1)


class Laws(NamedTuple):
    """Mean directions (chains, n) and concentrations (chains,)."""

    mean_direction: Array
    concentration: Array


class Span(NamedTuple):
    """Which rows of all observations a sweep is about.

    first, total : the place of the first, and the number of all.
    meridian_power : as in `Gibbs`.
    """

    first: int
    total: int
    meridian_power: float | None = None


def start_law(prior: Prior, n_goods: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Return a direction and a concentration to start from, far from those of other chains."""
    direction = uniform_directions(1, n_goods, rng=rng)[0]
    highest = max(min(prior.upper, 2.0 * n_goods), 0.5 * prior.lower + 0.5 * prior.upper)
    return direction, float(rng.uniform(prior.lower, highest))


def sweep(
    regions: Regions,
    latents: Array,
    laws: Array,
    span: Span,
    seed: int,
    iteration: int,
    which: NDArray[np.intp] | None = None,
) -> Array:
    """Move latents (chains, T, n) in place; return sums of groups (chains, groups, n).

    Parameters
    ----------
    laws : (chains, K, n) h = κμ.
    span : which rows of all these are.
    which : (T,) the law of each row, by its place among the K of a chain; None for one law.
    """
    n_chains, n_rows, n = latents.shape
    n_groups = -(-n_rows // GROUP)
    sums = np.empty((n_chains, n_groups, n))
    arrays = (regions.kind_code, regions.side, regions.slope, regions.pivot)
    power = n - 2.0 if span.meridian_power is None else span.meridian_power
    own = np.zeros(n_rows, np.intp) if which is None else which
    sweeps: list[Any] = [None] * n_chains

    def prepare(start: int, stop: int) -> None:
        for chain in range(start, stop):
            key = (np.uint64(seed & (2**64 - 1)), chain, iteration)
            h = np.ascontiguousarray(laws[chain])
            pairs = draw_pairs(h, span.total, key)
            sweeps[chain] = partial(
                sweep_rows, arrays, h, own, pairs, power, key, span.first, latents[chain], sums[chain]
            )

    # Pairs of one law take no time, those of thousands do.
    for_blocks(prepare, n_chains, n_chains if which is None else 1)

    def block(start: int, stop: int) -> None:
        chain, first_group = divmod(start, n_blocks)
        sweeps[chain](first_group * _BLOCK, min((first_group + 1) * _BLOCK, n_groups))
        assert stop == start + 1

    n_blocks = -(-n_groups // _BLOCK)
    for_blocks(block, n_chains * n_blocks, 1)
    return sums


def next_laws(prior: Prior, old: Laws, sums: Array, n_rows: int | NDArray[np.int64], seed: int, iteration: int) -> Laws:
    """Draw the laws of all chains given the sums (chains, n) of their latents, and how many these are."""
    drawn = Laws(*draw_laws(prior, sums, n_rows, seed, iteration))
    if prior.log_density_fn is None:
        return drawn
    # Made under the uniform prior: accepted with the ratio of the user's, new to old.
    new, before = prior.log_density(*drawn), prior.log_density(*old)
    with np.errstate(invalid="ignore"):
        gain = np.where(before == -np.inf, np.inf, new - before)
    levels = [keyed_generator(seed, chain, iteration).random() for chain in range(len(gain))]
    accepted = np.log(levels) < gain
    return Laws(
        np.where(accepted[:, None], drawn.mean_direction, old.mean_direction),
        np.where(accepted, drawn.concentration, old.concentration),
    )
