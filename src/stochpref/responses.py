# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How purchases answer a price, on average over the menus and budgets that people faced.

One menu would not do: at a single budget demand has steps where a good no longer fits in, and revenue peaks there, an
artefact of that budget. So each customer faces a menu of their own, picked among those given.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.demand import Elasticities, check_counts, demand_by_draw, repriced, tails_of
from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.rows import places_of
from stochpref.threads import for_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_STEP: Final = 0.05  # relative change of a price for elasticities
_MENUS: Final = 500  # that are asked at most where there are fewer customers
_MOVED: Final = 5  # of them, where each has customers of its own
_BEYOND: Final = 0.25  # of the range of prices seen, that a curve goes on beyond either end
_STEPS: Final = 12  # of a curve between the ends
_FACTORS: Final = np.linspace(0.4, 2.0, 17)  # of a price that never varied
_LEAST: Final = 0.4  # of the lowest price seen, below which no curve goes


class Curve(NamedTuple):
    """How purchases of one good answer its own price.

    good : its place.
    prices : (k,).
    seen : the lowest and the highest price seen.
    demand : (3, k) mean, lower, upper, of a customer; the last two equal the first where there is no interval.
    earned : (3, k) the same of revenue, or of profit where `cost` is known.
    cost : of a unit; None where revenue is all that can be told.
    """

    good: int
    prices: Array
    seen: tuple[float, float]
    demand: Array
    earned: Array
    cost: float | None

    @property
    def what(self) -> str:
        """What is earned, in a word."""
        return "revenue" if self.cost is None else "profit"

    @property
    def verdict(self) -> str:
        """Where most is earned, of prices seen: beyond them no peak is named."""
        low, high = self.seen
        if not self.demand[0].max() > 0:
            return "nobody buys it"
        if not low < high:
            return f"sold at {low:.4g} only: how demand answers to its price rests on the form of the model"
        inside = np.flatnonzero((self.prices >= low * (1 - 1e-9)) & (self.prices <= high * (1 + 1e-9)))
        best = int(inside[np.argmax(self.earned[0, inside])])
        top, beside = self.earned[0, best], self.earned[0, [max(best - 1, 0), min(best + 1, len(self.prices) - 1)]]
        if best == inside[-1] and beside[1] > top * (1 + 1e-9):
            return f"{self.what} still rises at {high:.4g}, the highest price seen"
        if best == inside[0] and beside[0] > top * (1 + 1e-9):
            return f"{self.what} still rises at {low:.4g}, the lowest price seen"
        return f"{self.what} peaks near {self.prices[best]:.3g}"


def repriced_demand(market: Market, menus: Menus, goods: Indices, prices: Array) -> Array:
    """Return purchases (draws, k, n) of a customer, on average over menus, while one price at a time is another.

    Each customer faces a menu picked at random, the same under every draw and change; where there are fewer customers
    than menus, each faces several. Where features move what customers want, which prices may be among, all of them face
    each of a few menus.

    Parameters
    ----------
    goods, prices : (k,) places and (k, T): of each change, the good and what it costs on each menu.
    """
    problem = problem_of(menus)
    if not market.is_steady:
        few = np.random.default_rng(0).permutation(len(menus))[:_MOVED]
        changed = np.repeat(menus.prices[few][None], len(goods), axis=0)
        changed[np.arange(len(goods)), :, goods] = prices[:, few]
        demand = demand_by_draw(market, repriced(menus[few], changed))[0]
        return np.asarray(demand.reshape(market.n_draws, len(goods), len(few), -1).mean(axis=2))
    count = max(market.n_customers, min(len(menus), _MENUS))
    picked = np.random.default_rng(0).permutation(len(menus))[np.arange(count) % len(menus)]
    whose = np.arange(count) % market.n_customers
    columns, faced, asked = places_of(problem.coordinates(menus.goods), market.goods), menus[picked], prices[:, picked]
    totals, counts = np.empty((market.n_draws, len(goods), menus.n_goods)), np.empty((market.n_draws, len(goods), 1))

    def draws(start: int, stop: int) -> None:
        for s in range(start, stop):
            utilities = market.utilities(s)[whose[:, None], columns]
            totals[s], counts[s, :, 0] = problem.total_repriced(utilities, faced, goods, asked)

    for_blocks(draws, market.n_draws, 4)
    check_counts(counts)
    return totals / counts


def curves_of(
    market: Market, menus: Menus, goods: list[int], level: float, typical: Array, costs: Array | None = None
) -> tuple[Curve, ...]:
    """Return how each of some goods answers its own price, on all menus that offer it.

    Parameters
    ----------
    goods : places.
    typical : (n,) prices around which goods are asked whose own never varies.
    costs : (n,) of a unit of each good.
    """
    ranges = [_seen(menus, good) for good in goods]
    grids = [_grid(seen, float(typical[good])) for good, seen in zip(goods, ranges, strict=True)]
    whose = np.repeat(np.array(goods, np.intp), [len(grid) for grid in grids])
    offered = np.isfinite(menus.prices[:, whose]).T
    asked = np.where(offered, np.concatenate(grids)[:, None] if grids else np.empty((0, 1)), np.inf)
    demand = repriced_demand(market, menus, whose, asked)[:, np.arange(len(whose)), whose]
    found = []
    for good, seen, grid in zip(goods, ranges, grids, strict=True):
        own = demand[:, whose == good]
        answers = np.stack([own.mean(axis=0), *np.quantile(own, tails_of(level), axis=0)])
        cost = None if costs is None else float(costs[good])
        earned = answers * (grid - (cost or 0.0))
        found.append(Curve(good, grid, seen, answers, np.where(grid < (cost or 0.0), earned[[0, 2, 1]], earned), cost))
    return tuple(found)


def _seen(menus: Menus, good: int) -> tuple[float, float]:
    known = menus.prices[np.isfinite(menus.prices[:, good]), good]
    return float(known.min()), float(known.max())


def _grid(seen: tuple[float, float], typical: float) -> Array:
    """Return the prices of a curve: the range seen, its ends among them, and somewhat beyond."""
    low, high = seen
    if not low < high:
        return np.asarray(typical * _FACTORS)
    step = (high - low) / _STEPS
    below = np.linspace(max(low - _BEYOND * (high - low), _LEAST * low), low, 4)[:-1]
    return np.concatenate([below, np.linspace(low, high, _STEPS + 1), high + step * np.arange(1, 4)])


def price_elasticities(market: Market, menus: Menus, goods: tuple[str, ...], level: float) -> Elasticities:
    """Return own- and cross-price elasticities of what is bought on average from menus, by central differences.

    Parameters
    ----------
    goods : those to report; the others keep their prices.
    """
    columns = places_of(goods, menus.goods)
    n = len(columns)
    if n == 0:
        nothing = np.empty((0, 0))
        return Elasticities(nothing, nothing, nothing, _STEP, level, goods)
    own = menus.prices[:, columns].T  # inf stays inf
    asked = np.stack([own * (1.0 + _STEP), own / (1.0 + _STEP)], axis=1).reshape(2 * n, -1)
    demand = repriced_demand(market, menus, np.repeat(columns, 2), asked)[:, :, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.log(demand[:, 0::2] / demand[:, 1::2]) / (2.0 * np.log1p(_STEP))
        overall = np.log(demand[:, 0::2].mean(axis=0) / demand[:, 1::2].mean(axis=0)) / (2.0 * np.log1p(_STEP))
    is_offered = np.isfinite(menus.prices[:, columns]).any(axis=0)
    for values in (slopes, overall):
        values[~np.isfinite(values)] = np.nan
        values[..., ~is_offered, :] = np.nan
    lower, upper = np.quantile(slopes, tails_of(level), axis=0)  # NaN where a draw has nobody buy the good
    return Elasticities(overall.T, lower.T, upper.T, _STEP, level, goods)
