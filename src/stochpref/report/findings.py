# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The numbers of a report: what is wanted, the predictive check, demand and elasticities.

The what-if starts at the typical menu; how purchases answer prices is averaged over the menus that were observed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.limits import checked_costs
from stochpref.demand import Elasticities, typical_menu
from stochpref.market import Market
from stochpref.models.fit import Fit
from stochpref.observations import Menus, Observations
from stochpref.predictive_check import PredictiveCheck
from stochpref.report.whatif import LEVEL, Answer, answer, sizes
from stochpref.responses import Curve, curves_of, price_elasticities, repriced_demand

Array = NDArray[np.float64]

N_CURVES: Final = 6
N_HEATED: Final = 10  # goods of the heat map


class Reading(NamedTuple):
    """What a fit says.

    observations : those fitted.
    wanted : (n,) utility of each good; wanted_range : (n, 2), None where not computed.
    worth : (n,) utility per unit of money at typical prices, NaN if never on offer; worth_range : (n, 2) or None.
    order : (n,) goods, the most wanted first.
    check : observed against predicted purchases.
    market, menu, start : who the what-if asks, the typical menu, and what they buy there.
    curves, elasticities : of the goods bought most.
    costs : (n,) of a unit of each good; None where only revenue can be told.
    currency : of prices; "" where it is not known.
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
    costs: Array | None
    currency: str


def reading_of(model: Fit, costs: Any = None, currency: str = "") -> Reading:
    """Return what a fit says; its random numbers come from the fit's seed.

    Parameters
    ----------
    costs, currency : as in `write_report`.
    """
    data = model.observations_
    menu = typical_menu(data)
    n_customers, n_draws = sizes(len(data.problem.coordinates(data.goods)))
    everybody = model.market(n_customers, n_draws)
    ((_, market),) = everybody.facing(menu).parts  # at the typical menu: features may move what is wanted
    unit_costs = None if costs is None else checked_costs(costs, menu.goods, np.isfinite(menu.prices[0]))
    start = answer(market, menu, unit_costs)
    price = np.where(np.isfinite(menu.prices[0]), menu.prices[0], np.nan)
    menus = data.menus
    top = _most_bought(everybody, menus)
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
        curves=curves_of(everybody, menus, top[:N_CURVES], LEVEL, menu.prices[0], unit_costs),
        elasticities=price_elasticities(everybody, menus, tuple(menu.goods[i] for i in top), LEVEL),
        costs=unit_costs,
        currency=currency,
    )


def _most_bought(market: Market, menus: Menus) -> list[int]:
    """Return the places of the goods on offer that are bought most, as many as the heat map shows."""
    as_it_is = repriced_demand(market, menus, np.zeros(1, np.intp), menus.prices[:, :1].T)
    demand = np.where(np.isfinite(menus.prices).any(axis=0), as_it_is.mean(axis=(0, 1)), -1.0)
    return [int(i) for i in np.argsort(-demand, kind="stable")[:N_HEATED] if demand[i] >= 0]
