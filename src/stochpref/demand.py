# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Demand at new prices: what customers buy on average, over customers and over the posterior, and how prices move it.

Each posterior draw θ has an expected demand D(θ), a mean over its customers; the spread of D(θ) over the draws is the
uncertainty. All draws look at the same customers: one set of quantiles and tangent directions, carried to each θ by a
map that is smooth in θ. Noise from the finite number of customers then moves all D(θ) together and does not widen the
intervals; scrambled Sobol points keep it small, and eight independent scrambles measure it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.errors import InvalidArgument, shown
from stochpref.observations import Menus
from stochpref.problems.divisible import Rows, fill_bundle
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]

N_SCRAMBLES = 8
_GRID = 1025  # points of the angle to the mean direction, over which its cdf is inverted
_MENUS_AT_ONCE = 64  # bounds memory: (draws, menus, goods) numbers
_STEP = 0.05  # relative change of a price for elasticities


@dataclass(frozen=True, slots=True, repr=False)
class Demand:
    """Expected purchases of a customer from each of k menus; print it for a table.

    Attributes
    ----------
    mean, lower, upper : (k, n) by good: posterior mean and interval.
    total, total_lower, total_upper : (k,) all goods together.
    revenue, revenue_lower, revenue_upper : (k,) money spent.
    standard_error : (k, n) Monte Carlo error of `mean`.
    level : of the intervals.
    goods : names.
    labels : k names of the menus; their numbers from 1 where they have none.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        header = {"goods": list(self.goods), "labels": list(self.labels), "level": self.level}
        names = (name for name in self.__dataclass_fields__ if name not in header)
        return header | {name: getattr(self, name).tolist() for name in names}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"Expected purchases of a customer, {100 * self.level:g} % intervals"]
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
                lines.append(f"    {shown(name, 22):<22} {value:>10.4g}   {low:.4g} to {high:.4g}")
            if len(rows) > 30:
                lines.append(f"    ({len(rows) - 30} goods not shown)")
        if len(self.mean) > 5:
            lines.append(f"  and {len(self.mean) - 5:,} more menus")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Elasticities:
    """How demand answers prices at one menu: row i, column j is the relative change of good i for that of price j.

    Attributes
    ----------
    mean, lower, upper : (n, n) of the demand for good i with respect to the price of good j; NaN where nobody buys i or
        j is not on offer.
    step : relative change of the prices from which they were computed.
    level : of the intervals.
    goods : names.
    """

    mean: Array
    lower: Array
    upper: Array
    step: float
    level: float
    goods: tuple[str, ...]

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
        return "\n".join(lines)


class Crowd(NamedTuple):
    """The customers that all posterior draws share.

    centre : (n,) unit vector, about which they are laid out.
    quantile : (customers,) of the angle between a utility and the mean direction.
    tangent : (customers, n) unit vectors orthogonal to `centre`.
    """

    centre: Array
    quantile: Array
    tangent: Array


class Market(NamedTuple):
    """Who is asked what they would buy: every posterior draw, with the same customers.

    mean_direction, concentration : (draws, n) and (draws,).
    crowds : independent scrambles of the customers.
    """

    mean_direction: Array
    concentration: Array
    crowds: tuple[Crowd, ...]


def make_crowd(centre: Array, n_customers: int, *, rng: np.random.Generator) -> Crowd:
    """Lay out customers evenly: a scrambled Sobol sequence for the angle and the direction across."""
    n = len(centre)
    points = np.clip(qmc.Sobol(n, seed=rng).random(n_customers), 1e-12, 1.0 - 1e-12)
    normals = ndtri(points[:, 1:])
    across = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    # A reflection takes the first axis to ∓centre, hence the other axes to its tangent space.
    sign = 1.0 if centre[0] >= 0 else -1.0
    w = centre.copy()
    w[0] += sign
    tangent = np.concatenate([np.zeros((n_customers, 1)), across], axis=1)
    tangent -= np.outer(tangent @ w, w / (1.0 + abs(centre[0])))
    return Crowd(centre, points[:, 0], tangent)


def angles_at(quantiles: Array, n_goods: int, concentration: float) -> Array:
    """Return the quantiles of the angle θ between utility and mean direction, density sin^{n-2}θ exp(κ cos θ)."""
    # In x = θ·√(κ + n) the density has width of order one; 12 widths past the mode nothing is left.
    mode = (
        np.arccos(2.0 * concentration / ((n_goods - 2) + np.hypot(n_goods - 2, 2.0 * concentration)))
        if (concentration > 0)
        else (0.5 * np.pi if n_goods > 2 else 0.0)
    )
    reach = 12.0 / np.sqrt(concentration + n_goods - 1.0)
    theta = np.linspace(max(mode - reach, 0.0), min(mode + reach, np.pi), _GRID)
    with np.errstate(divide="ignore"):
        log_density = (n_goods - 2) * np.log(np.sin(theta)) if n_goods > 2 else np.zeros(_GRID)
    log_density = log_density + concentration * np.cos(theta)
    density = np.exp(log_density - log_density.max())
    areas = 0.5 * (density[1:] + density[:-1])
    cumulative = np.concatenate([[0.0], np.cumsum(areas)])
    result: Array = np.interp(quantiles, cumulative / cumulative[-1], theta)
    return result


def turned(crowd: Crowd, mean_direction: Array, theta: Array) -> Array:
    """Return the utilities (customers, n) at angles θ (customers,) from a mean direction."""
    # The smallest rotation that takes the centre to μ, applied to vectors orthogonal to the centre.
    both = crowd.centre + mean_direction
    across = crowd.tangent - np.outer(
        crowd.tangent @ mean_direction, both / max(1.0 + float(crowd.centre @ mean_direction), 1e-12)
    )
    return np.cos(theta)[:, None] * mean_direction + np.sin(theta)[:, None] * across


def utilities_at(crowd: Crowd, mean_direction: Array, concentration: float) -> Array:
    """Return the utilities (customers, n) of the crowd under one law."""
    return turned(crowd, mean_direction, angles_at(crowd.quantile, len(crowd.centre), concentration))


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


def demand_by_draw(market: Market, columns: Rows, menus: Menus) -> tuple[Array, Array]:
    """Return expected purchases (draws, k, n) and, over the draws, of each crowd (crowds, k, n).

    Parameters
    ----------
    columns : (n,) the place of each good of the menus among all goods.
    """
    mean_direction, concentration, crowds = market
    k, n = menus.prices.shape
    prices = np.where(np.isnan(menus.prices), np.inf, menus.prices)
    totals, by_crowd = np.zeros((len(concentration), k, n)), np.zeros((len(crowds), k, n))
    for c, crowd in enumerate(crowds):
        sums = np.zeros_like(totals)

        def draws(start: int, stop: int, crowd: Crowd = crowd, sums: Array = sums) -> None:
            for s in range(start, stop):
                utilities = utilities_at(crowd, mean_direction[s], float(concentration[s]))
                _sum_bundles(utilities, columns, prices, menus.budgets, menus.caps, sums[s], 0, k)

        for_blocks(draws, len(concentration), 4)
        totals += sums
        by_crowd[c] = sums.mean(axis=0) / len(crowd.quantile)
    return totals / sum(len(crowd.quantile) for crowd in crowds), by_crowd


def expected_demand(market: Market, columns: Rows, menus: Menus, level: float) -> Demand:
    """Return the demand for menus with intervals of a level, over posterior draws."""
    parts = [
        _summarise(market, columns, menus[start : start + _MENUS_AT_ONCE], level)
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


def _summarise(market: Market, columns: Rows, menus: Menus, level: float) -> dict[str, Array]:
    demand, by_crowd = demand_by_draw(market, columns, menus)
    spent = np.sum(demand * np.where(np.isfinite(menus.prices), menus.prices, 0.0), axis=2)
    fields: dict[str, Array] = {}
    for name, values in (("", demand), ("total", demand.sum(axis=2)), ("revenue", spent)):
        stem = f"{name}_" if name else ""
        fields[name or "mean"] = values.mean(axis=0)
        fields[f"{stem}lower"], fields[f"{stem}upper"] = np.quantile(values, _tails(level), axis=0)
    fields["standard_error"] = by_crowd.std(axis=0, ddof=1) / np.sqrt(len(market.crowds))
    return fields


def price_elasticities(market: Market, columns: Rows, menu: Menus, shown: Rows, level: float) -> Elasticities:
    """Return own- and cross-price elasticities at one menu, by central differences with the same customers.

    Parameters
    ----------
    columns : as in `demand_by_draw`.
    shown : the places on the menu of the goods to report.
    """
    if len(menu) != 1:
        raise InvalidArgument(f"elasticities are taken at one menu; received {len(menu)}; pass menus[t]")
    n = len(shown)
    changed = np.repeat(menu.prices, 2 * n, axis=0)
    for j, good in enumerate(shown):
        changed[2 * j, good] *= 1.0 + _STEP
        changed[2 * j + 1, good] /= 1.0 + _STEP
    around = Menus(changed, np.repeat(menu.budgets, 2 * n), goods=menu.goods, caps=np.repeat(menu.caps, 2 * n, axis=0))
    demand = demand_by_draw(market, columns, around)[0][:, :, shown]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.log(demand[:, 0::2] / demand[:, 1::2]) / (2.0 * np.log1p(_STEP))
        overall = np.log(demand[:, 0::2].mean(axis=0) / demand[:, 1::2].mean(axis=0)) / (2.0 * np.log1p(_STEP))
    slopes[~np.isfinite(slopes)] = np.nan
    overall[~np.isfinite(menu.prices[0, shown])] = np.nan
    lower, upper = np.quantile(slopes, _tails(level), axis=0)  # NaN where a draw has nobody buy the good
    return Elasticities(overall.T, lower.T, upper.T, _STEP, level, tuple(menu.goods[i] for i in shown))


def _tails(level: float) -> tuple[float, float]:
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise InvalidArgument(f"level must be between 0 and 1, such as 0.9; received {level!r}")
    return 0.5 - 0.5 * level, 0.5 + 0.5 * level
