# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The numbers of a report, in one shape for both models: what is wanted, the predictive check, demand and elasticities.

A posterior answers at the typical menu, with intervals. A common utility buys all or nothing there, so its curves are
averages over the menus that were observed, and have no intervals.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.demand import Elasticities
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.observations import Menus, Observations
from stochpref.predictive_check import PredictiveCheck, check_posterior, check_utility
from stochpref.problems.divisible import choose
from stochpref.report.whatif import LEVEL, Answer, WhatIf, answer, of_posterior, of_utility, sizes, typical_menu

Array = NDArray[np.float64]

N_CURVES: Final = 6
N_HEATED: Final = 10  # goods of the heat map
_FACTORS: Final = np.linspace(0.4, 2.0, 17)  # prices of a curve, relative to the typical one
_STEP: Final = 0.05  # relative change of a price for the elasticities of a common utility
_MENUS: Final = 500  # observed ones that a common utility's curves average over


class Curve(NamedTuple):
    """How one good answers its own price.

    good : its place.
    prices : (k,).
    demand, revenue : (3, k) mean, lower, upper, of a customer; the last two equal the first where there is no interval.
    """

    good: int
    prices: Array
    demand: Array
    revenue: Array

    @property
    def best_price(self) -> float:
        """The price at which the good brings in most, of those computed."""
        return float(self.prices[np.argmax(self.revenue[0])])


class Reading(NamedTuple):
    """What a fit says.

    observations : those fitted.
    wanted : (n,) mean direction or common utility; wanted_range : (n, 2), None where not computed.
    worth : (n,) utility per unit of money at typical prices, NaN if never on offer; worth_range : (n, 2) or None.
    order : (n,) goods, the most wanted first.
    check : observed against predicted purchases.
    asked, start : who the what-if asks, and what they buy at the typical menu.
    curves, elasticities : of the goods bought most.
    """

    observations: Observations
    wanted: Array
    wanted_range: Array | None
    worth: Array
    worth_range: Array | None
    order: NDArray[np.intp]
    check: PredictiveCheck
    asked: WhatIf
    start: Answer
    curves: tuple[Curve, ...]
    elasticities: Elasticities

    @property
    def menu(self) -> Menus:
        """The typical menu."""
        return self.asked.menu


def read_posterior(model: HeterogeneousUtility) -> Reading:
    """Return what a posterior says; its random numbers come from the fit's seed."""
    data = model.observations_
    menu = typical_menu(data)
    n_customers, n_draws = sizes(data.n_goods)
    market = model.market(n_customers, n_draws)
    asked = of_posterior(market, menu)
    start = answer(asked, menu.prices[0], float(menu.budgets[0]))
    draws = market.mean_direction
    tails = 0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL
    price = np.where(np.isfinite(menu.prices[0]), menu.prices[0], np.nan)
    top = _most_bought(start, menu)
    rng = np.random.default_rng([0 if model.seed_ is None else model.seed_, 2])
    rows = {row.name: row for row in model.summary().goods}
    wanted = np.array([rows[name].mean for name in model.goods_])
    ranges = np.array([(rows[name].lower, rows[name].upper) for name in model.goods_])
    return Reading(
        observations=data,
        wanted=wanted,
        wanted_range=ranges,
        worth=wanted / price,
        worth_range=np.quantile(draws / price, tails, axis=0).T,
        order=np.argsort(-wanted, kind="stable"),
        check=check_posterior(data, draws, market.concentration, rng=rng),
        asked=asked,
        start=start,
        curves=tuple(_posterior_curve(model, menu, i, n_customers, n_draws) for i in top[:N_CURVES]),
        elasticities=model.elasticities(
            menu, goods=[menu.goods[i] for i in top], n_customers=n_customers, n_draws=n_draws, level=LEVEL
        ),
    )


def read_utility(model: CommonUtility) -> Reading:
    """Return what a common utility says."""
    data = model.observations_
    menu = typical_menu(data)
    asked = of_utility(model.utility_, menu)
    start = answer(asked, menu.prices[0], float(menu.budgets[0]))
    price = np.where(np.isfinite(menu.prices[0]), menu.prices[0], np.nan)
    ranges = model.utility_interval_
    some = data[:: -(-len(data) // _MENUS)].menus
    bought = choose(model.utility_, some.prices, some.budgets, caps=some.caps).mean(axis=0)
    top = _most_bought(start._replace(mean=bought), menu)
    return Reading(
        observations=data,
        wanted=model.utility_,
        wanted_range=ranges,
        worth=model.utility_ / price,
        worth_range=None if ranges is None else ranges / price[:, None],
        order=np.argsort(-model.utility_, kind="stable"),
        check=check_utility(data, model.utility_),
        asked=asked,
        start=start,
        curves=tuple(_common_curve(model.utility_, some, menu, i) for i in top[:N_CURVES]),
        elasticities=_common_elasticities(model.utility_, some, top),
    )


def _most_bought(start: Answer, menu: Menus) -> list[int]:
    """Return the places of the goods on offer that are bought most, as many as the heat map shows."""
    demand = np.where(np.isfinite(menu.prices[0]), start.mean, -1.0)
    return [int(i) for i in np.argsort(-demand, kind="stable")[:N_HEATED] if demand[i] >= 0]


def _posterior_curve(model: HeterogeneousUtility, menu: Menus, good: int, n_customers: int, n_draws: int) -> Curve:
    prices = np.repeat(menu.prices, _FACTORS.size, axis=0)
    prices[:, good] *= _FACTORS
    budgets, caps = np.repeat(menu.budgets, _FACTORS.size), np.repeat(menu.caps, _FACTORS.size, axis=0)
    menus = Menus(prices, budgets, goods=menu.goods, caps=caps)
    found = model.demand(menus, level=LEVEL, n_customers=n_customers, n_draws=n_draws)
    demand = np.stack([found.mean[:, good], found.lower[:, good], found.upper[:, good]])
    return Curve(good, prices[:, good], demand, demand * prices[:, good])


def _common_curve(utility: Array, menus: Menus, typical: Menus, good: int) -> Curve:
    prices = typical.prices[0, good] * _FACTORS
    demand = np.array([_average_demand(utility, menus, good, price=price)[good] for price in prices])
    return Curve(good, prices, np.stack([demand] * 3), np.stack([demand * prices] * 3))


def _average_demand(
    utility: Array, menus: Menus, good: int, *, price: float | None = None, factor: float = 1.0
) -> Array:
    """Return what a utility buys on average over menus, one good's price set or changed where it is on offer."""
    prices = menus.prices.copy()
    is_offered = np.isfinite(prices[:, good])
    prices[is_offered, good] = factor * prices[is_offered, good] if price is None else price
    result: Array = choose(utility, prices, menus.budgets, caps=menus.caps).mean(axis=0)
    return result


def _common_elasticities(utility: Array, menus: Menus, top: list[int]) -> Elasticities:
    values = np.full((len(top), len(top)), np.nan)
    for j, good in enumerate(top):
        up, down = (_average_demand(utility, menus, good, factor=f)[top] for f in (1.0 + _STEP, 1.0 / (1.0 + _STEP)))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.log(up / down) / (2.0 * np.log1p(_STEP))
        values[:, j] = np.where(np.isfinite(slope), slope, np.nan)
    unknown = np.full_like(values, np.nan)
    return Elasticities(values, unknown, unknown, _STEP, LEVEL, tuple(menus.goods[i] for i in top))
