# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Demand where few buy much: who buys, what buyers in the middle take, and elasticities of whether and of how much.

Means hang on the few who buy most, whom the law's tails decide; medians and shares of buyers do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.demand import Demand, Elasticities, repriced
from stochpref.errors import shown
from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.rows import places_of

Array = NDArray[np.float64]

_DRAWS: Final = 40  # of the posterior, over which customers are pooled
_NOTHING: Final = 1e-12  # of the budget: what rounding leaves


@dataclass(frozen=True, slots=True, repr=False)
class SatiatedDemand(Demand):
    """Expected purchases, as `Demand`, and how they are spread over customers and posterior together.

    Attributes
    ----------
    buyers : (k, n) share of customers who buy some of the good.
    median : (k, n) what the buyer in the middle takes; NaN where nobody buys.
    spent_median : (k,) money that the customer in the middle spends on goods; `revenue` is the mean.
    """

    buyers: Array = field(default_factory=lambda: np.empty(0))
    median: Array = field(default_factory=lambda: np.empty(0))
    spent_median: Array = field(default_factory=lambda: np.empty(0))

    picture: ClassVar[str] = "result_plots:demand"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each menu and good."""
        places = np.ndindex(self.mean.shape)
        more = [{"buyers": float(self.buyers[p]), "median": float(self.median[p])} for p in places]
        return [row | own for row, own in zip(Demand.records(self), more, strict=True)]

    def __str__(self) -> str:
        lines = [Demand.__str__(self), "  who buys, what the buyer in the middle takes, and what customers spend there"]
        for t in range(min(len(self.mean), 5)):
            lines.append(f"  menu {shown(self.labels[t])}")
            for i, good in list(enumerate(self.goods))[:30]:
                took = "–" if np.isnan(self.median[t, i]) else f"{self.median[t, i]:.4g}"
                name = shown(self.titles.get(good, good), 22)
                lines.append(f"    {name:<22} {100 * self.buyers[t, i]:>9.1f} %   {took:>10}")
            lines.append(f"    {'spent, median (mean)':<22} {self.spent_median[t]:>10.4g} ({self.revenue[t]:.4g})")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class SplitElasticities(Elasticities):
    """Elasticities, as `Elasticities`, split into whether a good is bought and how much: mean = whether + how_much.

    Attributes
    ----------
    whether : (n, n) of the share of customers who buy the good in the row for the price of that in the column.
    how_much : (n, n) of what a buyer takes on average.
    """

    whether: Array = field(default_factory=lambda: np.empty(0))
    how_much: Array = field(default_factory=lambda: np.empty(0))

    picture: ClassVar[str] = "result_plots:elasticities"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good and price."""
        places = np.ndindex(self.mean.shape)
        more = [{"whether": float(self.whether[p]), "how_much": float(self.how_much[p])} for p in places]
        return [row | own for row, own in zip(Elasticities.records(self), more, strict=True)]

    def __str__(self) -> str:
        lines = [Elasticities.__str__(self), "", "  own price: whether customers buy, and how much buyers take"]
        for i, good in enumerate(self.goods[:10]):
            name = shown(self.titles.get(good, good), 13)
            lines.append(f"  {name:<14}{self.whether[i, i]:>10.2f}{self.how_much[i, i]:>10.2f}")
        return "\n".join(lines)


def with_spread(found: Demand, market: Market, menus: Menus) -> SatiatedDemand:
    """Return demand with who buys and what those in the middle take."""
    k, n = menus.prices.shape
    buyers, median, spent = np.empty((k, n)), np.full((k, n), np.nan), np.empty(k)
    costs = np.where(np.isfinite(menus.prices), menus.prices, 0.0)
    for t in range(k):
        bundles = np.concatenate(_bundles(market, menus[t]))
        does = bundles * costs[t] > _NOTHING * menus.budgets[t]
        buyers[t], spent[t] = does.mean(axis=0), np.median(bundles @ costs[t])
        for i in np.flatnonzero(does.any(axis=0)):
            median[t, i] = np.median(bundles[does[:, i], i])
    return SatiatedDemand(**_fields_of(found), buyers=buyers, median=median, spent_median=spent)


def with_split(found: Elasticities, market: Market, menus: Menus) -> SplitElasticities:
    """Return elasticities split into those of who buys, and the rest, which is how much buyers take."""
    columns = places_of(found.goods, menus.goods)
    whether = np.full(found.mean.shape, np.nan)
    for j, good in enumerate(columns):
        changed = np.repeat(menus.prices[None], 2, axis=0)
        changed[0, :, good] *= 1.0 + found.step
        changed[1, :, good] /= 1.0 + found.step
        up, down = (_share_of_buyers(market, menu)[columns] for menu in _each(repriced(menus, changed)))
        with np.errstate(divide="ignore", invalid="ignore"):
            whether[:, j] = np.log(up / down) / (2.0 * np.log1p(found.step))
    whether[~np.isfinite(whether) | np.isnan(found.mean)] = np.nan
    return SplitElasticities(**_fields_of(found), whether=whether, how_much=found.mean - whether)


def _each(menus: Menus) -> list[Menus]:
    return [menus[t] for t in range(len(menus))]


def _share_of_buyers(market: Market, menu: Menus) -> Array:
    costs = np.where(np.isfinite(menu.prices[0]), menu.prices[0], 0.0)
    shares = [np.mean(one * costs > _NOTHING * menu.budgets[0], axis=0) for one in _bundles(market, menu)]
    return np.asarray(np.mean(shares, axis=0))


def _bundles(market: Market, menu: Menus) -> list[Array]:
    """Return what customers of some draws buy from one menu, (customers, n) each."""
    problem = problem_of(menu)
    columns = places_of(problem.coordinates(menu.goods), market.goods)
    picked = np.unique(np.linspace(0, market.n_draws - 1, min(_DRAWS, market.n_draws)).astype(int))
    ((_, own),) = market.facing(menu).parts
    return [problem.choose(own.utilities(int(s))[:, None, columns], menu)[:, 0] for s in picked]


def _fields_of(found: Demand | Elasticities) -> dict[str, Any]:
    return {one.name: getattr(found, one.name) for one in fields(found)}
