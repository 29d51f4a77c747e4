# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One customer, or identical ones (κ = ∞): the utility by bisection on ratios, in O(n log(1/ε)) menus or fewer.

Two menus begin: everything at price 1 with money for all shows which goods are wanted, and everything at price 1 with
money for one shows which is best. The ratios of the others to the best lie in (0, 1]. A menu with the best at price 1,
budget 1 and a good at price g shows whether its ratio exceeds g, and several goods fit into one menu as long as all but
the cheapest cost less than 1 together: whatever beats the best gets money first, the best takes what is left, and what
is worse gets nothing. So a round of halving takes about Σ ratios menus, at most n - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.design.beliefs import good_names
from stochpref.errors import InvalidArgument
from stochpref.observations import Menus

Array = NDArray[np.float64]


class BisectedUtility(NamedTuple):
    """A utility found by bisection.

    ratios : (n,) u_i over the largest; NaN for goods that are not wanted: no price shows how little.
    error : how far a ratio may be off.
    is_wanted : (n,).
    n_queries : menus offered.
    query_limit : 2 + (n - 1)·⌈log₂(1/2ε)⌉, what one good at a time would take at most.
    """

    ratios: Array
    error: float
    is_wanted: NDArray[np.bool_]
    n_queries: int
    query_limit: int


def bisect_utility(
    choose_fn: Callable[[Menus], ArrayLike], goods: int | Sequence[str], *, accuracy: float = 1e-3
) -> BisectedUtility:
    """Return the utility of one customer, up to scale, by asking for purchases from menus of our choice.

    Parameters
    ----------
    choose_fn : menus -> (1, n) or (n,) the bundle bought; called with one menu at a time, for identical customers.
    goods : their number, or names.
    accuracy : ε, how near each ratio to the best good must come.

    Raises
    ------
    InvalidArgument : nothing is wanted, or the answers fit no single utility.
    """
    names = good_names(goods)
    n = len(names)
    if n < 2:
        raise InvalidArgument(f"goods must be two or more: a utility is a direction; received {n}")
    if not 0 < accuracy < 0.5:
        raise InvalidArgument(f"accuracy must lie between 0 and 1/2; received {accuracy}")
    n_rounds = int(np.ceil(np.log2(0.5 / accuracy)))
    limit, n_queries = 2 + (n - 1) * n_rounds, 2

    def ask(prices: Array, budget: float) -> Array:
        bundle = np.asarray(choose_fn(Menus(prices[None], [budget], goods=names)), dtype=np.float64)
        if bundle.shape not in ((n,), (1, n)) or not np.isfinite(bundle).all():
            raise InvalidArgument(
                f"choose_fn must return the bundle bought, (1, {n}) finite numbers; received shape {bundle.shape}"
            )
        return bundle.reshape(n)

    is_wanted = ask(np.ones(n), float(n)) > 0
    if not is_wanted.any():
        raise InvalidArgument("nothing is wanted: no menu can tell how little; offer goods that somebody buys")
    best = int(np.argmax(ask(np.ones(n), 1.0)))
    if not is_wanted[best]:
        raise InvalidArgument("the answers fit no single utility: a good was bought that was not wanted; is κ finite?")
    low, high = np.zeros(n), np.ones(n)
    others = np.flatnonzero(is_wanted & (np.arange(n) != best))
    for _ in range(n_rounds if others.size else 0):
        for group in _groups(others, 0.5 * (low + high)):
            prices = np.full(n, np.inf)
            prices[best], prices[group] = 1.0, 0.5 * (low[group] + high[group])
            is_more = ask(prices, 1.0)[group] > 0
            middle = prices[group]
            low[group], high[group] = np.where(is_more, middle, low[group]), np.where(is_more, high[group], middle)
            n_queries += 1
    ratios = np.where(is_wanted, 0.5 * (low + high), np.nan)
    ratios[best] = 1.0
    return BisectedUtility(ratios, 0.5 ** (n_rounds + 1), is_wanted, n_queries, limit)


def _groups(goods: NDArray[np.intp], prices: Array) -> list[NDArray[np.intp]]:
    """Return goods in groups whose members cost less than 1 together, the cheapest left out; dearest first."""
    groups: list[list[int]] = []
    costs: list[float] = []
    for i in goods[np.argsort(-prices[goods], kind="stable")]:
        # Goods come in falling order of price, so the newcomer is the cheapest: what the others cost must leave money.
        for k, cost in enumerate(costs):
            if cost < 1:
                groups[k].append(int(i))
                costs[k] += float(prices[i])
                break
        else:
            groups.append([int(i)])
            costs.append(float(prices[i]))
    return [np.array(group) for group in groups]
