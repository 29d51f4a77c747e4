# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What so many customers will buy together: totals, with all that makes them uncertain.

For every posterior draw the menus that customers will face are drawn again from those stated (a Bayesian bootstrap:
they are a sample too), then customers, each with a menu, and what they buy is added up. Where the purchases of one
customer resemble one another, a total is less certain than one of as many strangers: its distance from the mean is
scaled by the over-dispersion of what customers bought beyond expectation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count
from stochpref.decisions.customers import faced_menus
from stochpref.decisions.limits import checked_costs
from stochpref.demand import tails_of
from stochpref.errors import InvalidArgument, shown
from stochpref.laws.menus import draw_customers_at
from stochpref.market import Faced
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.result import Drawn
from stochpref.rows import places_of

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_DRAWS: Final = 400
_MOST_SIMULATED: Final = 4_000_000  # customers, over all draws,
_MOST_SOLVED: Final = 100_000  # and of those whose bundles take long to find
_MOST_ROWS: Final = 2000  # purchases by which over-dispersion is judged
_RESIDUAL_CUSTOMERS: Final = 2048


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Forecast(Drawn):
    """Totals of what so many customers will buy; print it for a table.

    Attributes
    ----------
    goods : names.
    units, units_lower, units_upper : (n,) of each good, with intervals that hold the customers' luck.
    revenue, revenue_lower, revenue_upper : money taken.
    profit, profit_lower, profit_upper : beyond costs; None where costs were not stated.
    n_customers : who come.
    level : of the intervals.
    over_dispersion : (n,) how much less certain totals are, in variance, for purchases of one customer are alike; None
        where customers count as strangers.
    verdicts : on the fit, in a line.
    cautions : what to know before relying on it.
    titles : good -> what people call it.
    """

    goods: tuple[str, ...]
    units: Array
    units_lower: Array
    units_upper: Array
    revenue: float
    revenue_lower: float
    revenue_upper: float
    profit: float | None
    profit_lower: float | None
    profit_upper: float | None
    n_customers: int
    level: float
    over_dispersion: Array | None
    verdicts: str
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "decision_plots:forecast"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good, then revenue, and profit where costs are known."""
        rows = [
            {"total": name, "mean": float(mean), "lower": float(low), "upper": float(high)}
            for name, mean, low, high in zip(self.goods, self.units, self.units_lower, self.units_upper, strict=True)
        ]
        money: list[tuple[str, float | None, float | None, float | None]] = [
            ("revenue", self.revenue, self.revenue_lower, self.revenue_upper),
            ("profit", self.profit, self.profit_lower, self.profit_upper),
        ]
        rows += [{"total": t, "mean": m, "lower": a, "upper": b} for t, m, a, b in money if m is not None]
        return rows

    def remarks(self) -> tuple[str, ...]:
        """Return what to know."""
        return (f"the fit: {self.verdicts}", *self.cautions)

    def __str__(self) -> str:
        lines = [f"Forecast of what {self.n_customers:,} customers buy, {100 * self.level:g} % intervals"]
        rows = self.records()
        shown_rows = rows if len(rows) <= 40 else [*rows[:36], *rows[len(self.goods) :]]
        for row in shown_rows:
            name = shown(self.titles.get(row["total"], row["total"]), 22)
            lines.append(f"  {name:<24}{row['mean']:>12,.6g}   {row['lower']:,.6g} to {row['upper']:,.6g}")
        if len(shown_rows) < len(rows):
            lines.append(f"  ({len(rows) - len(shown_rows)} goods not shown)")
        if self.over_dispersion is not None:
            most = float(self.over_dispersion.max())
            lines.append(f"  customers repeat: variances of totals are up to {most:.3g} times those of strangers")
        return "\n".join([*lines, f"  the fit: {self.verdicts}", *(f"  ! {text}" for text in self.cautions)])


def forecast(fit: Fit, menus: Any, n_customers: int, *, level: float, by_customer: bool, costs: Any) -> Forecast:
    """Return the forecast; parameters as in `Fit.forecast`."""
    tails = tails_of(level)
    count = check_count(n_customers, "n_customers", 1)
    faced = faced_menus(fit, menus)
    on_offer = np.asarray(np.isfinite(faced.prices).any(axis=0))
    own_costs = None if costs is None else checked_costs(costs, fit.goods_, on_offer)
    totals = _totals(fit, faced, count, own_costs)
    spread = _over_dispersion(fit, own_costs) if by_customer else None
    mean = totals.mean(axis=0)
    if spread is not None:
        totals = np.maximum(mean + (totals - mean) * np.sqrt(spread), np.minimum(totals.min(axis=0), 0.0))
    low, high = np.quantile(totals, tails, axis=0)
    n = len(fit.goods_)
    has_profit = own_costs is not None
    return Forecast(
        goods=fit.goods_, units=mean[:n], units_lower=low[:n], units_upper=high[:n], revenue=float(mean[n]),
        revenue_lower=float(low[n]), revenue_upper=float(high[n]), profit=float(mean[n + 1]) if has_profit else None,
        profit_lower=float(low[n + 1]) if has_profit else None, profit_upper=float(high[n + 1]) if has_profit else None,
        n_customers=count, level=level, over_dispersion=None if spread is None else spread[:n],
        verdicts=fit.verdicts().grades, cautions=_cautions(fit, menus, by_customer), titles=fit.titles,
    )  # fmt: skip


def _cautions(fit: Fit, menus: Any, by_customer: bool) -> tuple[str, ...]:
    told = list(fit.cautions())
    if menus is not None:
        told += fit.cautions(faced_menus(fit, menus))
    if not by_customer and fit.observations_.audit().n_repeated_customers:
        told.append(
            "customers come again in the data, and what one buys may be alike: by_customer=True (--by-customer) makes "
            "intervals as wide as that asks for"
        )
    return tuple(dict.fromkeys(told))


def _totals(fit: Fit, faced: Menus, count: int, costs: Array | None) -> Array:
    """Return (draws, n + 2) units of each good, revenue and profit, one simulated future a posterior draw."""
    market = fit.market(1, _DRAWS)
    most = _MOST_SIMULATED if fit.problem_.has_masses else _MOST_SOLVED
    size = int(min(count, max(most // _DRAWS, 1)))  # a sample stands for more customers than that
    rng = np.random.default_rng([0 if fit.seed_ is None else fit.seed_, 6])
    columns = places_of(problem_of(faced).coordinates(faced.goods), market.goods)
    totals = np.empty((_DRAWS, faced.n_goods + 2))
    for k, s in enumerate(np.arange(_DRAWS) % market.n_draws):
        shares = rng.dirichlet(np.ones(len(faced)))
        rows = rng.choice(len(faced), size, p=shares)
        utilities = draw_customers_at(partial(_sample, market.facing(faced[rows]), int(s), columns, rng), faced[rows])
        totals[k] = _summed(faced[rows], problem_of(faced).choose(utilities, faced[rows]), costs).sum(axis=0)
    return totals * (count / size)


def _sample(faced: Faced, draw: int, columns: Indices, rng: np.random.Generator, rows: Indices) -> Array:
    return faced.sample(draw, rows, rng=rng)[:, columns]


def _summed(menus: Any, bundles: Array, costs: Array | None) -> Array:
    """Return (T, n + 2) what is bought, and what it takes in and earns."""
    revenue = np.sum(np.where(np.isfinite(menus.prices), menus.prices, 0.0) * bundles, axis=1)
    profit = revenue - bundles @ (np.zeros(bundles.shape[1]) if costs is None else costs)
    return np.column_stack([bundles, revenue, profit])


def _over_dispersion(fit: Fit, costs: Array | None) -> Array:
    """Return (n + 2,) the variance of customers' sums of what is not expected over that of as many strangers."""
    data = fit.observations_.over(fit.goods_).under(fit.problem_)
    if data.customers is None or len(set(data.customers)) == len(data):
        raise InvalidArgument(
            "by_customer=True needs customers who come again; the purchases of this fit name none; read a column "
            "customer, or leave it out"
        )
    _, owner = np.unique(np.array(data.customers), return_inverse=True)
    if len(data) > _MOST_ROWS:  # whole customers, as many as fit
        kept = np.flatnonzero(owner <= owner[np.argsort(owner, kind="stable")[_MOST_ROWS]])
        data, owner = data[kept], owner[kept]
    residuals = _summed(data, data.bundles, costs) - _summed(data, _expected(fit, data.menus), costs)
    residuals -= residuals.mean(axis=0)
    sums = np.zeros((int(owner.max()) + 1, residuals.shape[1]))
    np.add.at(sums, owner, residuals)
    alone = np.sum(residuals**2, axis=0)
    ratio = np.sum(sums**2, axis=0) / np.where(alone > 0, alone, 1.0)
    return np.maximum(ratio, 1.0)


def _expected(fit: Fit, menus: Menus) -> Array:
    """Return what a customer at each menu buys on average (T, n)."""
    problem, market = problem_of(menus), fit.market(256, 8)
    columns = places_of(problem.coordinates(menus.goods), market.goods)
    everybody = np.concatenate([market.utilities(s)[:, columns] for s in range(market.n_draws)])
    everybody = everybody[: _RESIDUAL_CUSTOMERS if problem.has_masses else _RESIDUAL_CUSTOMERS // 8]
    bought, counts = problem.total(everybody, menus)
    return np.asarray(bought / np.maximum(counts, 1.0)[:, None])
