# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling where regions are known by intervals, as those of whole goods; see `interval_moves`, `gibbs_law`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs import GibbsState, Laws, next_laws, start_law
from stochpref.posterior.samplers.interval_moves import DONE, TOO_EMPTY, draw_order, sweep_intervals
from stochpref.posterior.target import Info, keyed_generator
from stochpref.problems.interval_regions import IntervalRegions, check_lists
from stochpref.threads import GROUP, for_blocks

Array = NDArray[np.float64]

_MOST_UNSEEN: Final = 100_000  # customers who buy nothing, before one who does


@dataclass(frozen=True)
class IntervalGibbs:
    """The sampler; see the module.

    regions : of the observations, none degenerate.
    prior : of (μ, κ).
    seed : of all its random numbers, below 2^64.
    nonempty : only bundles that are not empty were recorded.
    n_warmup : steps to discard.
    power : exponent of cos θ in a coordinate's move, n - 2; another value breaks the sampler, which tests rely on.
    """

    regions: IntervalRegions
    prior: Prior
    seed: int
    nonempty: bool = False
    n_warmup: int = 300
    power: float | None = None
    name: str = "gibbs"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> GibbsState:
        """Start each chain from its own points inside the regions and its own law, far apart."""
        n = self.regions.n_goods
        latents = np.empty((n_chains, len(self.regions), n))
        directions, concentrations = np.empty((n_chains, n)), np.empty(n_chains)
        for chain in range(n_chains):
            rng = keyed_generator(self.seed, chain, -1)
            latents[chain] = self.regions.interior_points(rng=rng)
            directions[chain], concentrations[chain] = start_law(self.prior, n, rng)
        # Where nobody is seen who buys nothing, a law under which hardly anybody buys would draw customers for ever.
        return GibbsState(latents, np.abs(directions) if self.nonempty else directions, concentrations)

    def step(self, state: GibbsState, iteration: int) -> tuple[GibbsState, Info]:
        """Sweep all utilities, then draw the law."""
        sums, counts = self.sweep(state, iteration)
        law = Laws(state.mean_direction, state.concentration)
        directions, drawn = next_laws(self.prior, law, sums, counts, self.seed, iteration)
        lengths = np.sqrt(np.sum(sums**2, axis=1)) / np.maximum(counts, 1)
        return GibbsState(state.latents, directions, drawn), Info({"resultant_length": lengths})

    def parameters(self, state: GibbsState) -> dict[str, Array]:
        """Return mean directions and concentrations."""
        return {"mean_direction": state.mean_direction, "concentration": state.concentration}

    def sweep(self, state: GibbsState, iteration: int) -> tuple[Array, NDArray[np.int64]]:
        """Move the latents of all chains in place; return sums (chains, n) and counts (chains,) with those unseen."""
        n_chains, n_rows, n = state.latents.shape
        n_groups = -(-n_rows // GROUP)
        sums, counts = np.empty((n_chains, n_groups, n)), np.empty((n_chains, n_groups), np.int64)
        ends = np.zeros((n_chains, n_groups), np.int64)
        rows, power = self.regions.rows, n - 2.0 if self.power is None else self.power
        keys = [(np.uint64(self.seed & (2**64 - 1)), chain, iteration) for chain in range(n_chains)]
        orders = [draw_order(rows.is_whole, key) for key in keys]

        def block(start: int, stop: int) -> None:
            chain, group = divmod(start, n_groups)
            law = state.mean_direction[chain], float(state.concentration[chain])
            ends[chain, group] = sweep_intervals(
                rows, law, orders[chain], power, _MOST_UNSEEN if self.nonempty else 0, keys[chain],
                state.latents[chain], sums[chain], counts[chain], group, group + 1,
            )  # fmt: skip
            assert stop == start + 1

        for_blocks(block, n_chains * n_groups, 1)
        if np.any(ends == TOO_EMPTY):
            raise InvalidArgument(
                "observations must be such that empty bundles need not be the rule: the posterior reaches laws under "
                f"which fewer than one customer in {_MOST_UNSEEN:,} buys anything; keep the concentration lower with "
                "concentration_bounds, or record empty bundles and leave nonempty out"
            )
        check_lists(bool(np.all(ends == DONE)))
        return sums.sum(axis=1), counts.sum(axis=1)
