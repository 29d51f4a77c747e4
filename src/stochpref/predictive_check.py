# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Does the model reproduce what it was fitted to? Shares of customers who buy each good, and basket sizes.

A fit is checked by replicates: for each of some posterior draws every customer gets a new utility and buys from the
menu they faced. A single customer, whose utility is known, buys once from every menu.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.laws.menus import draw_customers
from stochpref.market import Market
from stochpref.observations import Observations
from stochpref.rows import places_of

Array = NDArray[np.float64]

_MOST_ROWS: Final = 10_000
_MOST_CELLS: Final = 3e7  # quantities bought in all replicates together
_FEWEST, _MOST_REPLICATES = 20, 200
_MOST_SIZES: Final = 24  # of baskets that are told apart
_LEVEL: Final = (0.05, 0.95)


class PredictiveCheck(NamedTuple):
    """Observed beside predicted.

    share, share_lower, share_upper : (n,) of customers offered a good, those who bought some; NaN if never on offer.
    size, size_lower, size_upper : (k,) of customers, those with so many different goods in the basket.
    size_step : how many sizes each of the k counts: from 0 to step - 1, and so on.
    n_rows, n_replicates : observations used, and how often each bought again.
    """

    share: Array
    share_lower: Array
    share_upper: Array
    size: Array
    size_lower: Array
    size_upper: Array
    size_step: int
    n_rows: int
    n_replicates: int

    @property
    def n_checked(self) -> int:
        """Number of goods that were on offer."""
        return int(np.isfinite(self.share).sum())

    @property
    def n_inside(self) -> int:
        """Number of goods whose observed share lies in its interval."""
        return int(np.sum((self.share >= self.share_lower - 1e-9) & (self.share <= self.share_upper + 1e-9)))

    @property
    def largest_miss(self) -> float:
        """Largest distance of an observed share from its interval."""
        return _farthest(self.share, self.share_lower, self.share_upper)

    @property
    def n_sizes_inside(self) -> int:
        """Number of basket sizes whose observed share lies in its interval."""
        return int(np.sum((self.size >= self.size_lower - 1e-9) & (self.size <= self.size_upper + 1e-9)))

    @property
    def largest_size_miss(self) -> float:
        """Largest distance of the share of a basket size from its interval."""
        return _farthest(self.size, self.size_lower, self.size_upper)


def _farthest(observed: Array, lower: Array, upper: Array) -> float:
    return float(np.nanmax(np.maximum(lower - observed, observed - upper), initial=0.0))


def check_purchases(market: Market, observations: Observations, *, rng: np.random.Generator) -> PredictiveCheck:
    """Return the check of those who are asked; where they differ, of at most 10,000 observations picked at random."""
    data = observations
    if len(data) > _MOST_ROWS and market.n_customers > 1:
        data = data[np.sort(rng.choice(len(data), _MOST_ROWS, replace=False))]
    count = int(np.clip(_MOST_CELLS / data.prices.size, _FEWEST, _MOST_REPLICATES))
    picked = np.linspace(0, market.n_draws - 1, min(count, market.n_draws)).astype(int)
    columns = places_of(data.problem.coordinates(data.goods), market.goods)
    replicates = []
    for s in picked:
        draw_fn = partial(_sample, market, int(s), columns, rng)
        utilities = draw_customers(draw_fn, data.menus, nonempty=data.nonempty)
        replicates.append(data.problem.choose(utilities, data) > 0)
    return _compare(data, replicates)


def _sample(market: Market, draw: int, columns: NDArray[np.int64], rng: np.random.Generator, size: int) -> Array:
    return market.sample(draw, size, rng=rng)[:, columns]


def _compare(data: Observations, replicates: list[NDArray[np.bool_]]) -> PredictiveCheck:
    offered = np.isfinite(data.prices).sum(axis=0)
    bought = data.bundles > 0
    largest = max(int(rows.sum(axis=1).max()) for rows in (bought, *replicates))
    step = largest // _MOST_SIZES + 1
    k = largest // step + 1

    def shares(rows: NDArray[np.bool_]) -> Array:
        return np.where(offered > 0, rows.sum(axis=0) / np.maximum(offered, 1), np.nan)

    def sizes(rows: NDArray[np.bool_]) -> Array:
        return np.bincount(rows.sum(axis=1) // step, minlength=k) / len(rows)

    share_lower, share_upper = np.quantile([shares(rows) for rows in replicates], _LEVEL, axis=0)
    size_lower, size_upper = np.quantile([sizes(rows) for rows in replicates], _LEVEL, axis=0)
    return PredictiveCheck(
        share=shares(bought),
        share_lower=share_lower,
        share_upper=share_upper,
        size=sizes(bought),
        size_lower=size_lower,
        size_upper=size_upper,
        size_step=step,
        n_rows=len(data),
        n_replicates=len(replicates),
    )
