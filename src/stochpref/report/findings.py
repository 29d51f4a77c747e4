# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The numbers of a report: what is wanted, the predictive check, demand and elasticities.

Customers who differ answer at the typical menu. One utility buys all or nothing there, so what it answers is averaged
over the menus that were observed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.demand import Elasticities, average_demand, price_elasticities, repriced, tails_of, typical_menu
from stochpref.market import Market
from stochpref.models.fit import Fit
from stochpref.observations import Menus, Observations
from stochpref.predictive_check import PredictiveCheck
from stochpref.report.whatif import LEVEL, Answer, answer, sizes

Array = NDArray[np.float64]

N_CURVES: Final = 6
N_HEATED: Final = 10  # goods of the heat map
_FACTORS: Final = np.linspace(0.4, 2.0, 17)  # prices of a curve, relative to the typical one
_MENUS: Final = 500  # observed ones that answers of one utility are averaged over


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
    wanted : (n,) utility of each good; wanted_range : (n, 2), None where not computed.
    worth : (n,) utility per unit of money at typical prices, NaN if never on offer; worth_range : (n, 2) or None.
    order : (n,) goods, the most wanted first.
    check : observed against predicted purchases.
    market, menu, start : who the what-if asks, the typical menu, and what they buy there.
    curves, elasticities : of the goods bought most.
    """

    observations: Observations
    wanted: Array
    wanted_range: Array | None
    worth: Array
    worth_range: Array | None
    order: NDArray[np.intp]
    check: PredictiveCheck
    market: Market
    menu: Menus
    start: Answer
    curves: tuple[Curve, ...]
    elasticities: Elasticities


def reading_of(model: Fit) -> Reading:
    """Return what a fit says; its random numbers come from the fit's seed."""
    data = model.observations_
    menu = typical_menu(data)
    n_customers, n_draws = sizes(len(data.problem.coordinates(data.goods)))
    everybody = model.market(n_customers, n_draws)
    ((_, market),) = everybody.facing(menu).parts  # at the typical menu: features may move what is wanted
    start = answer(market, menu)
    price = np.where(np.isfinite(menu.prices[0]), menu.prices[0], np.nan)
    menus, bought = menu, start.mean
    if not model.customers_differ:
        menus = data[:: -(-len(data) // _MENUS)].menus
        bought = average_demand(everybody, menus, 1).mean(axis=(0, 1))
    top = _most_bought(bought, menu)
    wanted, ranges = model.wanted
    return Reading(
        observations=data,
        wanted=wanted,
        wanted_range=ranges,
        worth=wanted / price,
        worth_range=None if ranges is None else ranges / price[:, None],
        order=np.argsort(-wanted, kind="stable"),
        check=model.check(),
        market=market,
        menu=menu,
        start=start,
        curves=tuple(_curve(everybody, menus, menu, i) for i in top[:N_CURVES]),
        elasticities=price_elasticities(everybody, menus, tuple(menu.goods[i] for i in top), LEVEL),
    )


def _most_bought(bought: Array, menu: Menus) -> list[int]:
    """Return the places of the goods on offer that are bought most, as many as the heat map shows."""
    demand = np.where(np.isfinite(menu.prices[0]), bought, -1.0)
    return [int(i) for i in np.argsort(-demand, kind="stable")[:N_HEATED] if demand[i] >= 0]


def _curve(market: Market, menus: Menus, typical: Menus, good: int) -> Curve:
    """Return what is bought of a good, on average over menus, at prices around its typical one where it is on offer."""
    prices = typical.prices[0, good] * _FACTORS
    changed = np.repeat(menus.prices[None], prices.size, axis=0)
    changed[:, :, good] = np.where(np.isfinite(menus.prices[:, good]), prices[:, None], np.inf)
    demand = average_demand(market, repriced(menus, changed), prices.size)[:, :, good]
    answers = np.stack([demand.mean(axis=0), *np.quantile(demand, tails_of(LEVEL), axis=0)])
    return Curve(good, prices, answers, answers * prices)
