# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling under a normal law of any covariance: utilities given the law, the law given utilities.

Customers whose purchases are not recorded are drawn as well, until at each menu one is such as are: with them the law
sees a sample of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance
from stochpref.errors import InvalidArgument
from stochpref.normal.gibbs_law import Law, Seen, next_law
from stochpref.normal.laws import own_of_full, scaled_laws
from stochpref.normal.prior import NormalPrior
from stochpref.posterior.samplers.interval_moves import draw_order
from stochpref.posterior.samplers.normal_moves import Moments, sweep_inside, sweep_regions
from stochpref.posterior.target import Info, keyed_generator
from stochpref.problems.interval_regions import IntervalRegions, check_lists
from stochpref.regions import Regions
from stochpref.threads import GROUP, for_blocks

Array = NDArray[np.float64]

_MOST_ROUNDS: Final = 2_000  # of customers drawn until one is recorded
_UNSEEN: Final = 1  # the part of a step's random numbers that draws them
_BLOCK: Final = 4  # groups of rows a thread takes at a time


class NormalState(NamedTuple):
    """Where all chains are, in units of the prior but for the latents.

    latents : (chains, T, n) a utility for every observation.
    mean, covariance, own, loadings, spread2 : of the laws, as `gibbs_law.Law` has them, a row for each chain.
    """

    latents: Array
    mean: Array
    covariance: Array
    own: Array
    loadings: Array
    spread2: Array

    def law(self, chain: int) -> Law:
        """Return the law of one chain."""
        return Law(
            self.mean[chain], self.covariance[chain], self.own[chain], self.loadings[chain], float(self.spread2[chain])
        )


@dataclass(frozen=True)
class NormalGibbs:
    """The sampler; see the module.

    regions : of the observations, none degenerate.
    prior : of the law.
    seed : of all its random numbers, below 2^64.
    event : the chance of being recorded; None where all are.
    is_level_open : only differences of utilities count.
    n_warmup : steps to discard.
    scale_power, most_steps : as in `gibbs_law.next_law`.
    """

    regions: Regions | IntervalRegions
    prior: NormalPrior
    seed: int
    event: Chance | None = None
    is_level_open: bool = False
    n_warmup: int = 300
    scale_power: float | None = None
    most_steps: int | None = None
    name: str = "gibbs"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> NormalState:
        """Start each chain from its own points inside the regions, and a law about them, with scales of its own."""
        n, r, units = self.regions.n_goods, self._n_loadings, self.prior.units
        latents = np.empty((n_chains, len(self.regions), n))
        mean, own = np.empty((n_chains, n)), np.empty((n_chains, n))
        loadings = np.zeros((n_chains, n, r))
        for chain in range(n_chains):
            rng = keyed_generator(self.seed, chain, -1)
            latents[chain] = self.regions.interior_points(rng=rng) * np.sqrt(n)
            own[chain] = np.exp(0.5 * rng.standard_normal(n))
            mean[chain] = (latents[chain] / units).mean(axis=0) * np.exp(0.3 * rng.standard_normal())
            loadings[chain] = 0.5 * rng.standard_normal((n, r))
        covariance = own[:, :, None] * np.eye(n) + loadings @ loadings.swapaxes(1, 2)
        own = np.array([own_of_full(one) for one in covariance]) if self.prior.n_factors == n else own
        return NormalState(latents, mean, covariance, own, loadings, np.full(n_chains, self.prior.spread**2))

    @property
    def _n_loadings(self) -> int:
        """Columns of loadings: none where all covariances are free."""
        return self.prior.n_factors if self.prior.n_factors < self.regions.n_goods else 0

    def step(self, state: NormalState, iteration: int) -> tuple[NormalState, Info]:
        """Sweep all utilities, draw those unseen, then the law."""
        n_chains, n_rows, _ = state.latents.shape
        units, found = self.prior.units, self.sweep(state, iteration)
        laws, n_unseen = [], np.zeros(n_chains)
        for chain in range(n_chains):
            law = state.law(chain)
            sums, products = found.sums[chain].sum(axis=0), found.products[chain].sum(axis=0)
            products = np.tril(products) + np.tril(products, -1).T
            if self.event is not None:
                drawn = self._draw_unseen(law, chain, iteration)
                n_unseen[chain] = len(drawn)
                sums, products = sums + drawn.sum(axis=0), products + np.einsum("ti,tj->ij", drawn, drawn)
            seen = Seen(n_rows + n_unseen[chain], law.mean, sums / units, products / units[:, None] / units)
            rng = keyed_generator(self.seed, chain, iteration)
            new, g = next_law(self.prior, law, seen, rng, self.scale_power, self.most_steps)
            state.latents[chain] *= g
            laws.append(new)
        fields = {name: np.array([getattr(law, name) for law in laws]) for name in Law._fields}
        return NormalState(state.latents, **fields), Info({"n_unseen": n_unseen})

    def parameters(self, state: NormalState) -> dict[str, Array]:
        """Return the laws, scaled."""
        return scaled_laws(state.mean, state.covariance, state.own, self.prior.units, self.is_level_open)

    def sweep(self, state: NormalState, iteration: int) -> Moments:
        """Move the latents of all chains in place; return their moments about the means, group by group."""
        n_chains, n_rows, n = state.latents.shape
        n_groups, units = -(-n_rows // GROUP), self.prior.units
        found = Moments(np.empty((n_chains, n_groups, n)), np.empty((n_chains, n_groups, n, n)))
        precision = np.linalg.inv(state.covariance) / units[:, None] / units
        mean, n_blocks = state.mean * units, -(-n_groups // _BLOCK)
        regions, floor = self.regions, -np.inf if self.is_level_open else 0.0
        keys = [(np.uint64(self.seed & (2**64 - 1)), chain, iteration) for chain in range(n_chains)]
        is_done = np.ones(n_chains * n_blocks, np.bool_)

        def block(start: int, stop: int) -> None:
            chain, first = divmod(start, n_blocks)
            span = first * _BLOCK, min((first + 1) * _BLOCK, n_groups)
            own = Moments(found.sums[chain], found.products[chain])
            if isinstance(regions, Regions):
                arrays = regions.kind_code, regions.side, regions.slope, regions.pivot
                sweep_regions(
                    arrays, floor, mean[chain], precision[chain], keys[chain], state.latents[chain], own, *span
                )
            else:
                order = draw_order(regions.rows.is_whole, keys[chain])
                is_done[start] = sweep_inside(
                    regions.rows, order, mean[chain], precision[chain], keys[chain], state.latents[chain], own, *span
                )
            assert stop == start + 1

        for_blocks(block, n_chains * n_blocks, 1)
        check_lists(bool(is_done.all()))
        return found

    def _draw_unseen(self, law: Law, chain: int, iteration: int) -> Array:
        """Return the utilities, less their mean, of the customers who come before one who is recorded at each menu."""
        assert self.event is not None
        rng = keyed_generator(self.seed, chain, iteration, _UNSEEN)
        units, root = self.prior.units, np.linalg.cholesky(law.covariance)
        missing, unseen = np.arange(len(self.event)), []
        for _ in range(_MOST_ROUNDS):
            gaps = np.einsum("tj,ij->ti", rng.standard_normal((missing.size, len(units))), root) * units
            is_unseen = ~self.event.take(missing).holds(law.mean * units + gaps)
            unseen.append(gaps[is_unseen])
            missing = missing[is_unseen]
            if missing.size == 0:
                return np.concatenate(unseen)
        raise InvalidArgument(
            "observations must be such that being recorded need not be rare: the posterior reaches laws under which "
            f"hardly one customer in {_MOST_ROUNDS:,} is; record empty bundles and leave nonempty out, or take "
            "covariance='diagonal', where probabilities are exact"
        )
