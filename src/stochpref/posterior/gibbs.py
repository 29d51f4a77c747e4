# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling by data augmentation: utilities given the law, then the law given the utilities.

Given all utilities the data matter through R = Σ u only: κ | R has density C_n(κ)^T / C_n(κ|R|) once μ is integrated
out, and μ | κ, R is von Mises–Fisher about R with concentration κ|R|. Works for any number of goods and observations,
any kind of region and any prior; it mixes slowly where bundles say little of utilities (few goods, large κ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.bessel import log_normaliser
from stochpref.engines import for_blocks
from stochpref.laws import VonMisesFisher, uniform_directions
from stochpref.mass.exact import GROUP
from stochpref.posterior.kernels import Info, Target, keyed_generator
from stochpref.posterior.latents import Pairs, sweep_rows
from stochpref.posterior.prior import Prior

Array = NDArray[np.float64]

_GRID = 257  # points of κ over the part of its density that matters
_COARSE = 33  # points with which that part is found
_MAX_ZOOMS = 12
_NEGLIGIBLE = 40.0  # fall of the log-density beyond which nothing matters
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
        regions, prior = self.target
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
        n_chains, n_rows, _ = state.latents.shape
        rngs = [keyed_generator(self.seed, chain, iteration) for chain in range(n_chains)]
        lengths = np.linalg.norm(sums, axis=1)
        drawn = draw_concentrations(self.target.prior, sums.shape[1], n_rows, lengths, rngs)
        directions = np.empty_like(sums)
        for chain, rng in enumerate(rngs):
            towards = sums[chain] / lengths[chain] if lengths[chain] > 0 else np.eye(sums.shape[1])[0]
            directions[chain] = VonMisesFisher(towards, drawn[chain] * lengths[chain]).sample(1, rng=rng)[0]
        accepted = self._accept(state, directions, drawn, rngs)
        directions = np.where(accepted[:, None], directions, state.mean_direction)
        drawn = np.where(accepted, drawn, state.concentration)
        return GibbsState(state.latents, directions, drawn), Info({"resultant_length": lengths / max(n_rows, 1)})

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
            order = keyed_generator(self.seed, chain, iteration).permutation(n)
            first, second = h[order[: n - 1 : 2]], h[order[1::2]]
            pairs = Pairs(order, np.arctan2(second, first), np.hypot(first, second))
            key = (np.uint64(self.seed & (2**64 - 1)), chain, iteration)
            sweeps.append(partial(sweep_rows, arrays, h, pairs, power, key, state.latents[chain], sums[chain]))

        def block(start: int, stop: int) -> None:
            chain, first_group = divmod(start, n_blocks)
            sweeps[chain](first_group * _BLOCK, min((first_group + 1) * _BLOCK, n_groups))
            assert stop == start + 1

        n_blocks = -(-n_groups // _BLOCK)
        for_blocks(block, n_chains * n_blocks, 1)
        return sums.sum(axis=1)

    def _accept(
        self, state: GibbsState, directions: Array, drawn: Array, rngs: list[np.random.Generator]
    ) -> NDArray[np.bool_]:
        """Accept draws made under the uniform prior with the ratio of the user's prior, new to old."""
        prior = self.target.prior
        if prior.log_density_fn is None:
            return np.ones(len(drawn), np.bool_)
        new = prior.log_density(directions, drawn)
        old = prior.log_density(state.mean_direction, state.concentration)
        with np.errstate(invalid="ignore"):
            gain = np.where(old == -np.inf, np.inf, new - old)
        return np.log([rng.random() for rng in rngs]) < gain


def draw_concentrations(
    prior: Prior, n_goods: int, n_rows: int, lengths: Array, rngs: list[np.random.Generator]
) -> Array:
    """Draw κ | R for each chain under a uniform prior, by inverse cdf on a grid over what matters of its density."""
    low, high = _window(prior, n_goods, n_rows, lengths)
    kappa = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _GRID)
    log_density = _log_density(n_goods, n_rows, lengths[:, None], kappa)
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    drawn = np.empty(len(lengths))
    for chain, rng in enumerate(rngs):
        drawn[chain] = _invert(kappa[chain], density[chain], rng.random())
    return np.clip(drawn, prior.lower, prior.upper)


def _window(prior: Prior, n_goods: int, n_rows: int, lengths: Array) -> tuple[Array, Array]:
    """Return where the density of κ matters: the bounds, shrunk until it fills at least a third of them."""
    low, high = np.full(len(lengths), prior.lower), np.full(len(lengths), prior.upper)
    rows, steps = np.arange(len(lengths)), np.linspace(0.0, 1.0, _COARSE)
    for _ in range(_MAX_ZOOMS):
        kappa = low[:, None] + (high - low)[:, None] * steps
        log_density = _log_density(n_goods, n_rows, lengths[:, None], kappa)
        matters = log_density > log_density.max(axis=1, keepdims=True) - _NEGLIGIBLE
        first = np.maximum(matters.argmax(axis=1) - 1, 0)
        last = np.minimum(_COARSE - matters[:, ::-1].argmax(axis=1), _COARSE - 1)
        low, high = kappa[rows, first], kappa[rows, last]
        if np.all(last - first > _COARSE // 3):
            break
    return low, high


def _log_density(n_goods: int, n_rows: int, length: Array, kappa: Array) -> Array:
    """Return log C_n(κ)^T / C_n(κ|R|), up to a constant."""
    inner = log_normaliser(n_goods, kappa * length) + kappa * length
    outer: Array = log_normaliser(n_goods, kappa) + kappa
    return inner - n_rows * outer


def _invert(points: Array, density: Array, probability: float) -> float:
    """Return the quantile of a density that is linear between points."""
    widths = np.diff(points)
    areas = 0.5 * (density[1:] + density[:-1]) * widths
    cumulative = np.cumsum(areas)
    wanted = probability * cumulative[-1]
    cell = min(int(np.searchsorted(cumulative, wanted)), len(areas) - 1)
    left = wanted - (cumulative[cell - 1] if cell else 0.0)
    # d0 s + (d1 - d0) s²/2w = left, in the form that does not cancel.
    start, slope = density[cell], (density[cell + 1] - density[cell]) / widths[cell]
    root = np.sqrt(max(start * start + 2.0 * slope * left, 0.0))
    return float(points[cell] + 2.0 * left / (start + root)) if start + root > 0 else float(points[cell])
