# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The customers behind the what-if of the page, and what they answer.

The page holds the customers that a fit's `demand` asks, as arrays in double precision from which its script makes the
same utilities and buys by the same rule. `answer` is that computation on this side, by `choose`; both equal
``model.demand(menu, n_customers=…, n_draws=…)`` up to rounding.
"""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.demand import rounded, tails_of
from stochpref.errors import shown
from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.result import plain
from stochpref.rows import places_of

Array = NDArray[np.float64]

MAX_DRAWS: Final = 200
MAX_CUSTOMERS: Final = 512
_MOST: Final = 6e6  # utilities of customers and goods that a page can ask at once
_NOTHING: Final = 1e-12  # of the budget: money left by rounding buys nothing that counts
N_BASKETS: Final = 8
LEVEL: Final = 0.9
_TAILS: Final = tails_of(LEVEL)


class Answer(NamedTuple):
    """What the customers buy: posterior means and intervals over the draws.

    mean, lower, upper : (n,) expected purchases of a customer.
    buyers : (n,) share of customers who buy some of it.
    total, revenue : (mean, lower, upper) of all goods together, and of the money spent.
    profit : the same of what is left of it after costs; None where these are not known.
    baskets : the most common sets of goods, as places, and the share of customers with each.
    """

    mean: Array
    lower: Array
    upper: Array
    buyers: Array
    total: tuple[float, float, float]
    revenue: tuple[float, float, float]
    profit: tuple[float, float, float] | None
    baskets: tuple[tuple[tuple[int, ...], float], ...]


def sizes(n_goods: int) -> tuple[int, int]:
    """Return how many customers and draws a page of so many goods asks: fewer where there are many goods."""
    n_customers = MAX_CUSTOMERS
    while n_customers > 64 and n_customers * MAX_DRAWS * n_goods > _MOST:
        n_customers //= 2
    return n_customers, int(np.clip(_MOST / (n_customers * n_goods), 20, MAX_DRAWS))


def answer(market: Market, menu: Menus, unit_costs: Array | None = None) -> Answer:
    """Return what the customers buy from one menu of all goods, and the profit if units have known costs (n,)."""
    prices, problem = menu.prices[0], problem_of(menu)
    columns = places_of(problem.coordinates(menu.goods), market.goods)
    n_draws = market.n_draws
    demand, buyers, count = np.empty((n_draws, prices.size)), np.zeros(prices.size), 0
    baskets: Counter[bytes] = Counter()
    costs = np.where(np.isfinite(prices), prices, 0.0)
    least = _NOTHING * float(menu.budgets[0]) if problem.needs_budget else 0.0
    for s in range(n_draws):
        utilities = market.utilities(s)[:, None, columns]
        bundles = problem.choose(utilities, menu)[problem.takes_part(utilities, menu)]
        demand[s] = bundles.mean(axis=0)
        is_bought = bundles * costs > least
        buyers += is_bought.sum(axis=0)
        count += len(bundles)
        baskets.update(row.tobytes() for row in np.packbits(is_bought, axis=1))
    lower, upper = np.quantile(demand, _TAILS, axis=0)
    return Answer(
        mean=demand.mean(axis=0),
        lower=lower,
        upper=upper,
        buyers=buyers / count,
        total=_with_interval(demand.sum(axis=1)),
        revenue=_with_interval(demand @ costs),
        profit=None if unit_costs is None else _with_interval(demand @ (costs - unit_costs)),
        baskets=_most_common(baskets, prices.size, count),
    )


def as_payload(market: Market, menu: Menus, unit_costs: Array | None = None) -> dict[str, Any]:
    """Return what the page's script needs, as JSON holds it; arrays as base64 of little-endian doubles."""
    known = menu.prices[0][np.isfinite(menu.prices[0])]
    asking = np.where(np.isfinite(menu.prices[0]), menu.prices[0], rounded(np.median(known)) if known.size else 1.0)
    caps, problem = menu.caps[0], problem_of(menu)
    return {
        "prices": asking.tolist(),
        "offered": np.isfinite(menu.prices[0]).tolist(),
        "caps": [float(cap) if np.isfinite(cap) else None for cap in caps],
        "costs": None if unit_costs is None else unit_costs.tolist(),
        "budget": float(menu.budgets[0]) if problem.needs_budget else None,
        "problem": problem.name,
        "settings": plain(problem.settings()),
        "limits": [
            {"place": k, "name": shown(name), "most": most if np.isfinite(most) else None}
            for k, (name, most) in enumerate(problem.movable().items())
        ],
        "owners": problem.owners(menu.goods).tolist(),
        "tails": list(_TAILS),
        "draws": market.n_draws,
        "customers": market.n_customers,
        "baskets": N_BASKETS,
        **{name: _packed(values) for name, values in market.page_arrays().items()},
    }


def _packed(values: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def _with_interval(values: Array) -> tuple[float, float, float]:
    lower, upper = np.quantile(values, _TAILS)
    return float(values.mean()), float(lower), float(upper)


def _most_common(baskets: Counter[bytes], n_goods: int, count: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Return the most common sets; of equally common ones the one met first."""
    return tuple(
        (tuple(np.flatnonzero(np.unpackbits(np.frombuffer(key, np.uint8), count=n_goods)).tolist()), number / count)
        for key, number in baskets.most_common(N_BASKETS)
    )
