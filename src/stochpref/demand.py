# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Demand at new prices: what customers buy on average, over customers and over the posterior, and how prices move it.

Each posterior draw θ has an expected demand D(θ), a mean over its customers; the spread of D(θ) over the draws is the
uncertainty. `market` says who the customers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, shown
from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems.divisible import Rows, fill_bundle
from stochpref.rows import places_of
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]

_MENUS_AT_ONCE = 64  # bounds memory: (draws, menus, goods) numbers
_STEP = 0.05  # relative change of a price for elasticities


@dataclass(frozen=True, slots=True, repr=False)
class Demand:
    """Expected purchases of a customer from each of k menus; print it for a table.

    Attributes
    ----------
    mean, lower, upper : (k, n) by good: posterior mean and interval; all equal where one utility is known.
    total, total_lower, total_upper : (k,) all goods together.
    revenue, revenue_lower, revenue_upper : (k,) money spent.
    standard_error : (k, n) Monte Carlo error of `mean`.
    level : of the intervals.
    goods : names.
    labels : k names of the menus; their numbers from 1 where they have none.
    cautions : what to know before relying on the numbers, in sentences.
    """

    mean: Array
    lower: Array
    upper: Array
    total: Array
    total_lower: Array
    total_upper: Array
    revenue: Array
    revenue_lower: Array
    revenue_upper: Array
    standard_error: Array
    level: float
    goods: tuple[str, ...]
    labels: tuple[str, ...]
    cautions: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        header = {
            "goods": list(self.goods), "labels": list(self.labels), "level": self.level,
            "cautions": list(self.cautions),
        }  # fmt: skip
        names = (name for name in self.__dataclass_fields__ if name not in header)
        return header | {name: getattr(self, name).tolist() for name in names}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        has_intervals = bool(np.any(self.lower < self.upper))
        intervals = f", {100 * self.level:g} % intervals" if has_intervals else ""
        lines = [f"Expected purchases of a customer{intervals}"]
        for t in range(min(len(self.mean), 5)):
            lines.append(f"  menu {shown(self.labels[t])}")
            rows = [
                (self.goods[i], self.mean[t, i], self.lower[t, i], self.upper[t, i]) for i in range(len(self.goods))
            ]
            totals = [
                ("all goods", self.total[t], self.total_lower[t], self.total_upper[t]),
                ("revenue", self.revenue[t], self.revenue_lower[t], self.revenue_upper[t]),
            ]
            for name, value, low, high in [*rows[:30], *totals]:
                between = f"   {low:.4g} to {high:.4g}" if has_intervals else ""
                lines.append(f"    {shown(name, 22):<22} {value:>10.4g}{between}")
            if len(rows) > 30:
                lines.append(f"    ({len(rows) - 30} goods not shown)")
        if len(self.mean) > 5:
            lines.append(f"  and {len(self.mean) - 5:,} more menus")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])


@dataclass(frozen=True, slots=True, repr=False)
class Elasticities:
    """How demand answers prices at one menu: row i, column j is the relative change of good i for that of price j.

    Attributes
    ----------
    mean, lower, upper : (n, n) of the demand for good i with respect to the price of good j; NaN where nobody buys i or
        j is not on offer. All equal where one utility is known.
    step : relative change of the prices from which they were computed.
    level : of the intervals.
    goods : names.
    cautions : what to know before relying on the numbers, in sentences.
    """

    mean: Array
    lower: Array
    upper: Array
    step: float
    level: float
    goods: tuple[str, ...]
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        goods = [shown(name) for name in self.goods[:10]]
        lines = ["Price elasticities: change of the good in the row, in %, for 1 % on the price in the column"]
        lines.append(" " * 16 + "".join(f"{shown(name, 9):>10}" for name in goods))
        for i, name in enumerate(goods):
            lines.append(f"  {shown(name, 13):<14}" + "".join(f"{self.mean[i, j]:>10.2f}" for j in range(len(goods))))
        if len(self.goods) > 10:
            lines.append(f"  and {len(self.goods) - 10} more goods")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])


@compiled
def _sum_bundles(
    utilities: Array, columns: Rows, prices: Array, budgets: Array, caps: Array, sums: Array, start: int, stop: int
) -> None:
    """Add up, for menus start..stop, what all customers buy; `columns` are the goods of the menus."""
    n = prices.shape[1]
    order, worth, u = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for m in range(utilities.shape[0]):
        for i in range(n):
            u[i] = utilities[m, columns[i]]
        for k in range(start, stop):
            fill_bundle(u, prices[k], budgets[k], caps[k], sums[k], order, worth)


def demand_by_draw(market: Market, menus: Menus) -> tuple[Array, Array]:
    """Return expected purchases (draws, k, n) and, over the draws, of each crowd (crowds, k, n)."""
    k, n = menus.prices.shape
    columns = places_of(menus.goods, market.goods)
    size = market.n_customers // market.n_crowds
    totals, by_crowd = np.zeros((market.n_draws, k, n)), np.zeros((market.n_crowds, k, n))
    for c in range(market.n_crowds):
        sums = np.zeros_like(totals)

        def draws(start: int, stop: int, c: int = c, sums: Array = sums) -> None:
            for s in range(start, stop):
                _sum_bundles(
                    market.utilities(s, c), columns, menus.prices, menus.budgets, menus.caps, sums[s], 0, k
                )  # fmt: skip

        for_blocks(draws, market.n_draws, 4)
        totals += sums
        by_crowd[c] = sums.mean(axis=0) / size
    return totals / market.n_customers, by_crowd


def average_demand(market: Market, menus: Menus, n_groups: int) -> Array:
    """Return expected purchases (draws, groups, n), each group as many menus, one after another, that are averaged."""
    demand = demand_by_draw(market, menus)[0]
    result: Array = demand.reshape(market.n_draws, n_groups, -1, menus.n_goods).mean(axis=2)
    return result


def expected_demand(market: Market, menus: Menus, level: float) -> Demand:
    """Return the demand for menus with intervals of a level, over posterior draws."""
    parts = [
        _summarise(market, menus[start : start + _MENUS_AT_ONCE], level)
        for start in range(0, len(menus), _MENUS_AT_ONCE)
    ]
    fields = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Demand(**fields, level=level, goods=menus.goods, labels=menu_labels(menus))


def menu_labels(menus: Menus) -> tuple[str, ...]:
    """Return the names of menus; their numbers from 1 where they have none."""
    return menus.labels or tuple(str(t + 1) for t in range(len(menus)))


def prediction_rows(menus: Menus, bundles: Array, demand: Demand | None) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of predictions, first the names of its columns: a row for each menu and good on offer.

    Parameters
    ----------
    bundles : (k, n) what one utility buys.
    demand : what customers buy on average, where they differ.
    """
    labels, found = menu_labels(menus), [] if demand is None else [demand.mean, demand.lower, demand.upper]
    yield "menu", "good", "price", "budget", "bundle", *(("expected", "lower", "upper") if found else ())
    for t, i in np.argwhere(np.isfinite(menus.prices)).tolist():
        row = (labels[t], menus.goods[i], menus.prices[t, i], menus.budgets[t], bundles[t, i])
        yield *row, *(values[t, i] for values in found)


def _summarise(market: Market, menus: Menus, level: float) -> dict[str, Array]:
    demand, by_crowd = demand_by_draw(market, menus)
    spent = np.sum(demand * np.where(np.isfinite(menus.prices), menus.prices, 0.0), axis=2)
    fields: dict[str, Array] = {}
    for name, values in (("", demand), ("total", demand.sum(axis=2)), ("revenue", spent)):
        stem = f"{name}_" if name else ""
        fields[name or "mean"] = values.mean(axis=0)
        fields[f"{stem}lower"], fields[f"{stem}upper"] = np.quantile(values, tails_of(level), axis=0)
    fields["standard_error"] = by_crowd.std(axis=0, ddof=min(market.n_crowds - 1, 1)) / np.sqrt(market.n_crowds)
    return fields


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
    changed = np.repeat(menus.prices[None], 2 * n, axis=0)
    for j, good in enumerate(columns):
        changed[2 * j, :, good] *= 1.0 + _STEP
        changed[2 * j + 1, :, good] /= 1.0 + _STEP
    demand = average_demand(market, repriced(menus, changed), 2 * n)[:, :, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.log(demand[:, 0::2] / demand[:, 1::2]) / (2.0 * np.log1p(_STEP))
        overall = np.log(demand[:, 0::2].mean(axis=0) / demand[:, 1::2].mean(axis=0)) / (2.0 * np.log1p(_STEP))
    is_offered = np.isfinite(menus.prices[:, columns]).any(axis=0)
    for values in (slopes, overall):
        values[~np.isfinite(values)] = np.nan
        values[..., ~is_offered, :] = np.nan
    lower, upper = np.quantile(slopes, tails_of(level), axis=0)  # NaN where a draw has nobody buy the good
    return Elasticities(overall.T, lower.T, upper.T, _STEP, level, goods)


def repriced(menus: Menus, prices: Array) -> Menus:
    """Return menus (T, n) with other prices (k, T, n), k times over."""
    k, n = len(prices), menus.n_goods
    return Menus(
        prices.reshape(-1, n), np.tile(menus.budgets, k), goods=menus.goods, caps=np.tile(menus.caps, (k, 1))
    )  # fmt: skip


def tails_of(level: float) -> tuple[float, float]:
    """Return the two shares between which an interval of a level lies."""
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise InvalidArgument(f"level must be between 0 and 1, such as 0.9; received {level!r}")
    return 0.5 - 0.5 * level, 0.5 + 0.5 * level
