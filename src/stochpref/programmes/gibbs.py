# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling of a normal law N(h, I) of utilities, of which decisions tell the directions inside cones.

Utilities of all decisions move by bounces inside the walls known of their cones, the optimiser is asked once about each
cone that is not complete, then the mean and its scale are drawn: the prior is h | τ ~ N(0, τ² I), τ flat up to a bound,
under which every direction of h is as likely and |h| is flat up to about bound · √d. A last move scales utilities, mean
and τ together. Walls are facts that all chains share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv

from stochpref.posterior.target import Info, keyed_generator
from stochpref.programmes.bouncing import bounce_rows
from stochpref.programmes.cuts import Cuts
from stochpref.threads import for_blocks

Array = NDArray[np.float64]

_BLOCK: Final = 32  # rows a thread takes at a time
_TINY: Final = 1e-280


class DecisionState(NamedTuple):
    """Where all chains are, in the directions that decisions reveal.

    latents : (chains, T, d); mean : (chains, d); scale : (chains,) τ.
    """

    latents: Array
    mean: Array
    scale: Array


@dataclass(frozen=True)
class DecisionGibbs:
    """The sampler; see the module.

    cuts : of the decisions, which grow as it goes.
    start : (d,) a mean to start about.
    bound : of τ.
    seed : of all its random numbers, below 2^64.
    """

    cuts: Cuts
    start: Array
    bound: float
    seed: int
    n_warmup: int = 200
    name: str = "bouncing"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> DecisionState:
        """Start all utilities inside their cones, and each chain's mean about the start."""
        n_rows, d = self.cuts.inside.shape
        inside = self.cuts.inside * (np.sqrt(d) / np.linalg.norm(self.cuts.inside, axis=1, keepdims=True))
        latents = np.tile(inside, (n_chains, 1, 1))
        mean = np.empty((n_chains, d))
        for chain in range(n_chains):
            rng = keyed_generator(self.seed, chain, -1)
            longer = np.exp(0.3 * rng.standard_normal())
            mean[chain] = self.start * longer + rng.standard_normal(d) * (0.2 + 2.0 / np.sqrt(n_rows))
        scale = np.minimum(np.linalg.norm(mean, axis=1) / np.sqrt(d), 0.9 * self.bound)
        return DecisionState(latents, mean, scale)

    def step(self, state: DecisionState, iteration: int) -> tuple[DecisionState, Info]:
        """Move all utilities, then draw the laws."""
        latents, n_back = self._moved(state, iteration)
        mean, scale = np.empty_like(state.mean), np.empty_like(state.scale)
        for chain in range(len(mean)):
            rng = keyed_generator(self.seed, chain, iteration)
            mean[chain], scale[chain], g = next_law(latents[chain], float(state.scale[chain]), self.bound, rng)
            latents[chain] *= g
        return DecisionState(latents, mean, scale), Info({"n_returned": n_back})

    def parameters(self, state: DecisionState) -> dict[str, Array]:
        """Return the means, over the variables, and the scales of their prior."""
        return {"mean": state.mean @ self.cuts.basis.T, "scale": state.scale.copy()}

    def _moved(self, state: DecisionState, iteration: int) -> tuple[Array, Array]:
        """Return utilities after a move, and how many of each chain went back."""
        n_chains, n_rows, d = state.latents.shape
        moved = np.empty_like(state.latents)
        n_blocks, seed = -(-n_rows // _BLOCK), np.uint64(self.seed & (2**64 - 1))

        def block(start: int, stop: int) -> None:
            chain, first = divmod(start, n_blocks)
            span = first * _BLOCK, min((first + 1) * _BLOCK, n_rows)
            bounce_rows(
                self.cuts.walls, self.cuts.count, state.mean[chain], (seed, chain, iteration), state.latents[chain],
                moved[chain], *span,
            )  # fmt: skip
            assert stop == start + 1

        for_blocks(block, n_chains * n_blocks, 1)
        rows = np.tile(np.arange(n_rows), n_chains)
        holds = self.cuts.explains(rows, moved.reshape(-1, d)).reshape(n_chains, n_rows)
        return np.where(holds[:, :, None], moved, state.latents), np.sum(~holds, axis=1).astype(np.float64)


def next_law(latents: Array, scale: float, bound: float, rng: np.random.Generator) -> tuple[Array, float, float]:
    """Return mean, τ and the factor by which utilities (T, d) are to be scaled with them."""
    n_rows, d = latents.shape
    precision = n_rows + scale**-2
    mean = latents.sum(axis=0) / precision + rng.standard_normal(d) / np.sqrt(precision)
    # τ flat: 1/τ² is Gamma((d - 1)/2, |h|²/2), above 1/bound².
    scale = float(_gamma_above(0.5 * (d - 1), 0.5 * float(mean @ mean), bound**-2, rng) ** -0.5)
    # Of a common factor g the density is g^(T d) exp(-g² e²/2), and g τ stays below the bound.
    gap = latents - mean
    rate = 0.5 * float(np.sum(gap * gap))
    g = np.sqrt(_gamma_below(0.5 * (n_rows * d + 1), rate, (bound / scale) ** 2, rng))
    return mean * g, scale * g, float(g)


def _gamma_above(shape: float, rate: float, least: float, rng: np.random.Generator) -> float:
    """Return a Gamma number above a least one, by the inverse of its survival function."""
    beyond = float(gammaincc(shape, rate * least))
    if beyond < _TINY:  # far in the tail, where it is exponential to within a part in a hundred
        return least + rng.exponential() / (rate - (shape - 1.0) / least)
    return max(float(gammainccinv(shape, beyond * rng.uniform())) / rate, least)


def _gamma_below(shape: float, rate: float, most: float, rng: np.random.Generator) -> float:
    """Return a Gamma number below a largest one, by drawing until it is, which is seldom twice."""
    for _ in range(1000):
        found = rng.gamma(shape) / rate
        if found <= most:
            return float(found)
    return 1.0  # hardly any mass below: staying where one is leaves the law as it was
