# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Expected Fisher information of menus: what a purchase from them will teach about h = κμ, before it is made."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_rng
from stochpref.errors import InvalidArgument
from stochpref.kinds import MONEY_TOLERANCE
from stochpref.laws import VonMisesFisher
from stochpref.mass.masses import exact_log_mass
from stochpref.observations import Menus, Observations
from stochpref.problems.divisible import choose
from stochpref.regions import Regions

Array = NDArray[np.float64]

_MOST_GOODS = 12  # 2^12 subsets, times the goods that may be bought in part


def optimal_bundles(menus: Menus) -> Observations:
    """Return every bundle that some utility makes the unique optimum of a single menu, as observations.

    Every set of goods that the budget covers is a bundle; and where one more good does not fit, so is the set with a
    part of it.
    """
    if len(menus) != 1:
        raise InvalidArgument(f"bundles are listed for one menu at a time; received {len(menus)}; pass menus[t]")
    prices, budget, caps = menus.prices[0], float(menus.budgets[0]), menus.caps[0]
    offered = np.flatnonzero(np.isfinite(prices))
    if len(offered) > _MOST_GOODS:
        raise InvalidArgument(f"listing bundles needs at most {_MOST_GOODS} goods on offer; received {len(offered)}")
    bundles = []
    for size in range(len(offered) + 1):
        for full in combinations(offered, size):
            x = np.zeros(len(prices))
            x[list(full)] = caps[list(full)]
            left = budget - float(np.sum(prices[list(full)] * x[list(full)]))
            if left < -MONEY_TOLERANCE * budget:
                continue
            bundles.append(x)
            if left > MONEY_TOLERANCE * budget:
                for f in set(offered) - set(full):
                    if prices[f] * caps[f] > left * (1 + MONEY_TOLERANCE):
                        bundles.append(np.where(np.arange(len(x)) == f, left / prices[f], x))
    count = len(bundles)
    return Observations(
        np.tile(prices, (count, 1)), np.full(count, budget), bundles, goods=menus.goods, caps=np.tile(caps, (count, 1))
    )


def expected_information(
    menus: Menus, h: ArrayLike, *, n_draws: int | None = None, rng: np.random.Generator | None = None
) -> Array:
    """Return (n, n) the information about h in one purchase from each menu, summed over the menus.

    Parameters
    ----------
    h : (n,) κμ at which the information is wanted.
    n_draws : None sums over all bundles of each menu, exact, for up to 12 goods; a number samples that many customers
        a menu from the law, for which `rng` is needed.
    """
    h = np.asarray(h, dtype=np.float64)
    if n_draws is None:
        total = np.zeros((len(h), len(h)))
        for t in range(len(menus)):
            masses = exact_log_mass(Regions.of(optimal_bundles(menus[t])), h, gradient=True)
            assert masses.gradient is not None
            total += (masses.gradient * np.exp(masses.log_mass)[:, None]).T @ masses.gradient
        return total
    if rng is None:
        raise InvalidArgument("sampling customers draws random numbers; pass rng=numpy.random.default_rng(seed)")
    check_rng(rng)
    kappa = float(np.linalg.norm(h))
    utilities = VonMisesFisher(h / kappa if kappa > 0 else np.eye(len(h))[0], kappa).sample(
        n_draws * len(menus), rng=rng
    )
    repeated = [np.repeat(table, n_draws, axis=0) for table in (menus.prices, menus.budgets, menus.caps)]
    bundles = choose(utilities, repeated[0], repeated[1], caps=repeated[2])
    regions = Regions.of(Observations(repeated[0], repeated[1], bundles, caps=repeated[2]))
    gradient = exact_log_mass(regions, h, gradient=True).gradient
    assert gradient is not None
    return gradient.T @ gradient / n_draws
