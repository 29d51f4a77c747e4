# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely the goods are that were bought, given what was on offer: what readings of a budget can be judged by.

Fits that take the same purchases differently, a budget as stated, as what was spent, or as unknown, give probabilities
of different things. Which goods were bought is the same for all. Customers of a fit buy from the menus again and again,
and it is counted how often they take home just those goods. Where the budget is what was spent it says half of that by
itself; so those customers spend what others did, drawn from all that was spent.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.laws.menus import draw_customers_at
from stochpref.market import Faced, Market
from stochpref.observations import Menus, Observations
from stochpref.problems import problem_of
from stochpref.problems.faults import is_bought
from stochpref.rows import changed, places_of

Array = NDArray[np.float64]
Baskets = NDArray[np.bool_]
Indices = NDArray[np.intp]

N_CUSTOMERS: Final = 1000  # who buy from every menu
_DRAWS: Final = 20  # of a posterior, that they are shared out over


class Bought(NamedTuple):
    """What customers of a fit buy from the menus that others faced.

    log_probability : (T,) of the goods that were bought; those that nobody bought count as bought by half a customer.
    share : (T, n) of customers who buy each good.
    """

    log_probability: Array
    share: Array


def baskets_of(observations: Observations) -> Baskets:
    """Return which goods (T, n) were bought."""
    return np.asarray(is_bought(observations.bundles, observations.caps) & np.isfinite(observations.prices))


def outlay(observations: Observations) -> Array:
    """Return what each bundle cost, (T,)."""
    costs = np.where(np.isfinite(observations.prices), observations.prices, 0.0)
    return np.asarray(np.sum(costs * observations.bundles, axis=1))


def bought_again(
    market: Market, menus: Menus, baskets: Baskets, *, nonempty: bool, spent: Array | None, rng: np.random.Generator
) -> Bought:
    """Return how often customers buy just what was bought.

    Parameters
    ----------
    menus, baskets : what was on offer, over the goods of the market, and what was bought of it.
    nonempty : purchases of nothing are not recorded.
    spent : sums of which each customer has one to spend; None for the budgets of the menus.
    """
    problem, count = problem_of(menus), len(menus)
    columns = places_of(problem.coordinates(menus.goods), market.goods)
    n_draws = min(_DRAWS, market.n_draws)
    each = max(N_CUSTOMERS // n_draws, 1)
    asked = menus[np.repeat(np.arange(count), each)]
    present = market.facing(asked)
    hits, share = np.zeros(count), np.zeros(baskets.shape)
    for s in np.linspace(0, market.n_draws - 1, n_draws).astype(int).tolist():
        faced = asked
        if spent is not None:
            budgets = rng.choice(spent, len(asked))
            faced = changed(asked, budgets=budgets)
        utilities = draw_customers_at(partial(_sample, present, s, columns, rng), faced, nonempty=nonempty)
        bundles = problem.choose(utilities, faced)
        found = is_bought(bundles, faced.caps).reshape(count, each, -1)
        hits += (found == baskets[:, None]).all(axis=2).sum(axis=1)
        share += found.sum(axis=1)
    total = n_draws * each
    return Bought(np.log((hits + 0.5) / (total + 1.0)), share / total)


def _sample(present: Faced, draw: int, columns: Indices, rng: np.random.Generator, rows: Indices) -> Array:
    return present.sample(draw, rows, rng=rng)[:, columns]
