# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Demand at new prices: what customers buy on average, over customers and over the posterior, and how prices move it.

Each posterior draw θ has an expected demand D(θ), a mean over its customers; the spread of D(θ) over the draws is the
uncertainty. `market` says who the customers are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, shown
from stochpref.market import Market
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem, problem_of
from stochpref.result import Drawn
from stochpref.rows import places_of
from stochpref.threads import for_blocks

Array = NDArray[np.float64]

_MENUS_AT_ONCE = 64  # bounds memory: (draws, menus, goods) numbers
_INTERVALS_OF_ALL = 5  # goods up to which elasticities are printed with every interval
_NO_WIDTH = 1e-3  # relative: an interval as narrow as that is none


@dataclass(frozen=True, slots=True, repr=False)
class Demand(Drawn):
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
    titles : good -> what people call it, where that is not its name.
    heading : what the numbers are, in words.
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
    titles: Mapping[str, str] = field(default_factory=dict)
    heading: str = Problem.demanded

    picture: ClassVar[str] = "result_plots:demand"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each menu and good."""
        return [
            {
                "menu": self.labels[t], "good": self.goods[i], "mean": float(self.mean[t, i]),
                "lower": float(self.lower[t, i]), "upper": float(self.upper[t, i]),
                "standard_error": float(self.standard_error[t, i]),
            }
            for t, i in np.ndindex(self.mean.shape)
        ]  # fmt: skip

    def __str__(self) -> str:
        has_intervals = bool(np.any(self.lower < self.upper))
        intervals = f", {100 * self.level:g} % intervals" if has_intervals else ""
        lines = [f"{self.heading}{intervals}"]
        for t in range(min(len(self.mean), 5)):
            lines.append(f"  menu {shown(self.labels[t])}")
            rows = [
                (self.titles.get(self.goods[i], self.goods[i]), self.mean[t, i], self.lower[t, i], self.upper[t, i])
                for i in range(len(self.goods))
            ]
            totals = [
                ("all goods", self.total[t], self.total_lower[t], self.total_upper[t]),
                ("revenue", self.revenue[t], self.revenue_lower[t], self.revenue_upper[t]),
            ]
            for name, value, low, high in [*rows[:30], *totals]:
                between = f"   {low:.4g} to {high:.4g}" if has_intervals else ""
                if has_intervals and name == "revenue" and high - low <= _NO_WIDTH * value:
                    between = "   the budget, all of it"
                lines.append(f"    {shown(name, 22):<22} {value:>10.4g}{between}")
            if len(rows) > 30:
                lines.append(f"    ({len(rows) - 30} goods not shown)")
        if len(self.mean) > 5:
            lines.append(f"  and {len(self.mean) - 5:,} more menus")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])


@dataclass(frozen=True, slots=True, repr=False)
class Elasticities(Drawn):
    """How demand answers prices, on average over menus.

    Row i, column j is the relative change of good i for that of price j.

    Attributes
    ----------
    mean, lower, upper : (n, n) of the demand for good i with respect to the price of good j; NaN where nobody buys i or
        j is not on offer. All equal where one utility is known.
    step : relative change of the prices from which they were computed.
    level : of the intervals.
    goods : names.
    cautions : what to know before relying on the numbers, in sentences.
    titles : good -> what people call it, where that is not its name.
    """

    mean: Array
    lower: Array
    upper: Array
    step: float
    level: float
    goods: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "result_plots:elasticities"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good and price."""
        return [
            {
                "good": self.goods[i], "price_of": self.goods[j], "mean": float(self.mean[i, j]),
                "lower": float(self.lower[i, j]), "upper": float(self.upper[i, j]),
            }
            for i, j in np.ndindex(self.mean.shape)
        ]  # fmt: skip

    def __str__(self) -> str:
        goods = [shown(self.titles.get(name, name)) for name in self.goods[:10]]
        has_intervals = bool(np.any(self.lower < self.upper))
        # Few goods: an interval below each number. More of them: the own prices' alone, lest lines be too long to read.
        beneath = has_intervals and len(self.goods) <= _INTERVALS_OF_ALL
        width = 16 if beneath else 10
        lines = ["Price elasticities: change of the good in the row, in %, for 1 % on the price in the column"]
        lines.append(" " * 16 + "".join(f"{shown(name, width - 1):>{width}}" for name in goods))
        for i, name in enumerate(goods):
            cells = "".join(f"{self.mean[i, j]:>{width}.2f}" for j in range(len(goods)))
            lines.append(f"  {shown(name, 13):<14}{cells}")
            if beneath:
                lines.append(" " * 16 + "".join(f"{self._between(i, j):>{width}}" for j in range(len(goods))))
        if len(self.goods) > 10:
            lines.append(f"  and {len(self.goods) - 10} more goods")
        if beneath:
            lines.append(f"  below each number its {100 * self.level:g} % interval")
        elif has_intervals:
            lines += ["", f"  own price, {100 * self.level:g} % intervals (.to_pandas() has all)"]
            lines += [f"  {shown(name, 13):<14}{self._between(i, i):>18}" for i, name in enumerate(goods)]
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    def _between(self, i: int, j: int) -> str:
        if np.isnan(self.mean[i, j]):
            return ""
        return f"{self.lower[i, j]:.2f} to {self.upper[i, j]:.2f}"


def demand_by_draw(market: Market, menus: Menus) -> tuple[Array, Array]:
    """Return expected purchases (draws, k, n) and, over the draws, of each crowd (crowds, k, n)."""
    k, n = menus.prices.shape
    problem = problem_of(menus)
    columns = places_of(problem.coordinates(menus.goods), market.goods)
    totals, by_crowd = np.zeros((market.n_draws, k, n)), np.zeros((market.n_crowds, k, n))
    counted = np.zeros((market.n_draws, k, 1))
    parts = [(rows, own, menus if len(rows) == k else menus[rows]) for rows, own in market.facing(menus).parts]
    for c in range(market.n_crowds):
        sums, counts = np.zeros_like(totals), np.zeros_like(counted)

        def draws(start: int, stop: int, c: int = c, sums: Array = sums, counts: Array = counts) -> None:
            for s in range(start, stop):
                for rows, own, faced in parts:
                    sums[s, rows], counts[s, rows, 0] = problem.total(own.utilities(s, c)[:, columns], faced)

        for_blocks(draws, market.n_draws, 4)
        check_counts(counts)
        totals += sums
        counted += counts
        by_crowd[c] = (sums / counts).mean(axis=0)
    return totals / counted, by_crowd


def check_counts(counts: Array) -> None:
    """Refuse to average over customers of whom a draw has none that the problem is about."""
    if not counts.all():
        raise InvalidArgument(
            f"n_customers must be more: in {np.sum(~counts.all(axis=(1, 2)))} of {len(counts)} posterior draws none of "
            "those simulated is one whose purchases would be recorded; if more do not help, the fit says hardly any are"
        )


def expected_demand(market: Market, menus: Menus, level: float) -> Demand:
    """Return the demand for menus with intervals of a level, over posterior draws."""
    parts = [
        _summarise(market, menus[start : start + _MENUS_AT_ONCE], level)
        for start in range(0, len(menus), _MENUS_AT_ONCE)
    ]
    fields: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    heading = problem_of(menus).demanded
    return Demand(**fields, level=level, goods=menus.goods, labels=menu_labels(menus), heading=heading)


def joined_demand(found: Mapping[str, Demand], rows: Mapping[str, list[int]], menus: Menus) -> Demand:
    """Return the demand for all menus of parts by name, each for the menus at some places."""
    order = np.argsort(np.concatenate([rows[name] for name in found]), kind="stable")
    parts = list(found.values())
    arrays: dict[str, Any] = {
        one.name: np.concatenate([getattr(part, one.name) for part in parts])[order]
        for one in fields(Demand)
        if isinstance(getattr(parts[0], one.name), np.ndarray)
    }
    return replace(parts[0], **arrays, labels=menu_labels(menus))


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


def repriced(menus: Menus, prices: Array) -> Menus:
    """Return menus (T, n) with other prices (k, T, n), k times over."""
    k, n = len(prices), menus.n_goods
    return Menus(
        prices.reshape(-1, n), None if np.isinf(menus.budgets).all() else np.tile(menus.budgets, k), goods=menus.goods,
        caps=np.tile(menus.caps, (k, 1)), problem=repeated(menus, k),
        features={name: np.tile(values, (k, 1)[: values.ndim]) for name, values in menus.features.items()},
    )  # fmt: skip


def repeated(menus: Menus, times: int) -> Problem | None:
    """Return the problem of menus that are repeated, one copy of all after another."""
    return None if menus.problem is None else menus.problem.take(np.tile(np.arange(len(menus)), times))


def tails_of(level: float) -> tuple[float, float]:
    """Return the two shares between which an interval of a level lies."""
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise InvalidArgument(f"level must be between 0 and 1, such as 0.9; received {level!r}")
    return 0.5 - 0.5 * level, 0.5 + 0.5 * level


def typical_menu(observations: Observations) -> Menus:
    """Return the menu of medians over the menus that offer a good, to four digits; inf where none does."""
    offered = np.isfinite(observations.prices)
    prices = np.full(observations.n_goods, np.inf)
    for i in np.flatnonzero(offered.any(axis=0)):
        prices[i] = rounded(np.median(observations.prices[offered[:, i], i]))
    problem = observations.problem
    caps = problem.typical_caps(observations.caps)
    budgets = [rounded(np.median(observations.budgets))] if problem.needs_budget else None
    features = {name: _typical(values, offered)[None] for name, values in observations.features.items()}
    return Menus(
        prices[None], budgets, goods=observations.goods, caps=caps, problem=problem.typical(), features=features
    )


def _typical(values: Array, offered: NDArray[np.bool_]) -> Any:
    """Return the median of a feature of observations, or those by good of what was on offer; 0 of what never was."""
    if values.ndim == 1:
        return np.asarray(rounded(np.median(values)))
    each = (values[offered[:, i], i] for i in range(values.shape[1]))
    return np.array([rounded(np.median(own)) if own.size else 0.0 for own in each])


def rounded(value: Any) -> float:
    """Return a number to four digits."""
    return float(f"{float(value):.4g}")
