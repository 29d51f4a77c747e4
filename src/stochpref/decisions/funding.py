# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a city funds: the projects that voters support most within its budget, and how sure that is.

Support is what voters buy on average. Totals of utility would favour dear projects, and compare voters by the length of
a vector that only has a direction; they are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import as_number, check_choice
from stochpref.decisions.limits import checked_costs
from stochpref.demand import demand_by_draw
from stochpref.errors import InvalidArgument, listed, shown
from stochpref.names import FUNDING_RULES
from stochpref.observations import Menus
from stochpref.problems import Whole
from stochpref.result import Drawn

if TYPE_CHECKING:
    from stochpref.models.fit import Fit
    from stochpref.observations import Observations

Array = NDArray[np.float64]
Sets = NDArray[np.bool_]

_DRAWS: Final = 200
_VOTES: Final = 4_000_000  # simulated over all draws and menus,
_VOTES_SOLVED: Final = 400_000  # and of voters whose ballots take long to find
_MENUS: Final = 100
_MOST_SETS: Final = 10


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Funding(Drawn):
    """The projects that are funded; print it for a list.

    Attributes
    ----------
    goods : names of the projects.
    costs, budget : of each, and in all.
    support, support_lower, support_upper : (n,) what a voter picks on average, with 90 % intervals.
    is_funded : (n,) by the rule asked for. is_funded_otherwise : by the other rule.
    probability : (n,) of each project being funded by the rule.
    sets : the sets that are funded most often, each with its probability.
    rule : "demand", the most support in all that the budget covers, or "greedy", in falling order of support.
    verdicts : on the fit, in a line.
    cautions : what to know before relying on it.
    titles : good -> what people call it.
    """

    goods: tuple[str, ...]
    costs: Array
    budget: float
    support: Array
    support_lower: Array
    support_upper: Array
    is_funded: Sets
    is_funded_otherwise: Sets
    probability: Array
    sets: tuple[tuple[tuple[str, ...], float], ...]
    rule: str
    verdicts: str
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "decision_plots:funding"

    @property
    def funded(self) -> tuple[str, ...]:
        """The names of the projects funded."""
        return self._named(self.is_funded)

    @property
    def set_probability(self) -> float:
        """The probability of exactly these projects being funded."""
        return next((probability for names, probability in self.sets if names == self.funded), 0.0)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each project, in falling order of support."""
        return [
            {
                "project": self.goods[i], "cost": float(self.costs[i]), "support": float(self.support[i]),
                "lower": float(self.support_lower[i]), "upper": float(self.support_upper[i]),
                "is_funded": bool(self.is_funded[i]), "probability": float(self.probability[i]),
                "is_funded_otherwise": bool(self.is_funded_otherwise[i]),
            }
            for i in np.argsort(-self.support, kind="stable")
        ]  # fmt: skip

    def remarks(self) -> tuple[str, ...]:
        """Return which sets are funded how often, and what to know."""
        return (*self._told(), *self.cautions)

    def __str__(self) -> str:
        other = next(name for name in FUNDING_RULES if name != self.rule)
        lines = [f"Funded by {self.rule} with a budget of {self.budget:,.6g}", ""]
        lines.append(f"  {'':<32}{'cost':>12}{'support':>9}  {'interval':<16}{'funded':<8}{'P':>5}   by {other}")
        for row in self.records()[:60]:
            name = shown(self.titles.get(row["project"], row["project"]), 30)
            lines.append(
                f"  {name:<32}{row['cost']:>12,.6g}{row['support']:>9.3f}  "
                f"{row['lower']:.3f} to {row['upper']:<6.3f}{'  yes' if row['is_funded'] else '  no':<8}"
                f"{row['probability']:>7.2f}   {'yes' if row['is_funded_otherwise'] else 'no'}"
            )
        return "\n".join([*lines, "", *(f"  {t}" for t in self._told()), *(f"  ! {t}" for t in self.cautions)])

    def _told(self) -> tuple[str, ...]:
        spent = float(self.costs @ self.is_funded)
        rows = [
            f"with probability {probability:.2f}: {listed([self.titles.get(name, name) for name in names], 12)}"
            for names, probability in self.sets[:3]
        ]
        return (f"{spent:,.6g} spent of {self.budget:,.6g}", *rows, f"the fit: {self.verdicts}")

    def _named(self, is_in: Sets) -> tuple[str, ...]:
        return tuple(name for name, own in zip(self.goods, is_in, strict=True) if own)


def fund(fit: Fit, costs: Any, budget: float | None, rule: str) -> Funding:
    """Return what is funded; parameters as in `Fit.fund`."""
    check_choice(rule, "rule", FUNDING_RULES)
    data = fit.observations_.over(fit.goods_)
    on_offer = np.asarray(np.isfinite(data.prices).any(axis=0))
    money = _only(data.budgets, "budget") if budget is None else as_number(budget, "budget")
    if not 0 < money < np.inf:
        raise InvalidArgument(f"budget must be a positive sum of money; received {budget!r}; state what can be spent")
    asked = _costs_seen(data) if costs is None else costs
    own_costs = checked_costs(asked, fit.goods_, on_offer)
    free = np.flatnonzero(on_offer & (own_costs == 0))
    if free.size:
        raise InvalidArgument(f"costs must be positive for projects; received 0 for {shown(fit.goods_[free[0]])!r}")
    support = _support(fit, own_costs, money)
    mean, (low, high) = support.mean(axis=0), np.quantile(support, (0.05, 0.95), axis=0)
    offered = np.where(on_offer, own_costs, np.inf)
    by_rule = {name: fund_by(name, np.vstack([mean, support]), offered, money) for name in FUNDING_RULES}
    here, draws = by_rule[rule][0], by_rule[rule][1:]
    other = next(name for name in FUNDING_RULES if name != rule)
    found, counts = np.unique(draws, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_SETS]
    names = np.array(fit.goods_, object)
    return Funding(
        goods=fit.goods_, costs=own_costs, budget=money, support=mean, support_lower=low, support_upper=high,
        is_funded=here, is_funded_otherwise=by_rule[other][0], probability=draws.mean(axis=0),
        sets=tuple((tuple(names[found[k]]), float(counts[k] / len(draws))) for k in order), rule=rule,
        verdicts=fit.verdicts().grades, cautions=fit.cautions(), titles=fit.titles,
    )  # fmt: skip


def _costs_seen(data: Observations) -> dict[str, float]:
    """Return what voters saw that projects cost."""
    offered = np.isfinite(data.prices)
    return {
        good: _only(data.prices[offered[:, i], i], f"cost of {shown(good)!r}")
        for i, good in enumerate(data.goods)
        if offered[:, i].any()
    }


def _only(values: Array, what: str) -> float:
    found = np.unique(values)
    if len(found) != 1:
        raise InvalidArgument(
            f"voters saw no one {what}, but {found[0]:g} to {found[-1]:g}; state costs and budget (--costs, --budget)"
        )
    return float(found[0])


def fund_by(rule: str, support: Array, costs: Array, budget: float) -> Sets:
    """Return which projects (k, n) are funded by each of k tables of support (k, n); costs of inf are not on offer."""
    if rule == "demand":
        menu = Menus(costs[None], [budget], problem=Whole())
        return np.asarray(Whole().choose(support[:, None], menu)[:, 0] > 0)
    funded, left = np.zeros(support.shape, np.bool_), np.full(len(support), budget)
    rows = np.arange(len(support))
    for project in np.argsort(-support, axis=1, kind="stable").T:  # the most supported of every table, then the next
        fits = (costs[project] <= left) & (support[rows, project] > 0)
        funded[rows[fits], project[fits]] = True
        left -= np.where(fits, costs[project], 0.0)
    return funded


def _support(fit: Fit, costs: Array, budget: float) -> Array:
    """Return what voters pick on average, (draws, n), at these costs.

    All vote with the budget of the city where all had the same in the data; else each keeps the one they had.
    """
    data = fit.observations_.over(fit.goods_).under(fit.problem_)
    rows = np.unique(np.linspace(0, len(data) - 1, min(len(data), _MENUS)).astype(int))
    is_one = len(np.unique(data.budgets)) == 1 and np.all(np.isfinite(data.prices) == np.isfinite(data.prices[0]))
    faced = data.menus[rows[:1] if is_one and np.all(data.caps == data.caps[0]) else rows]
    budgets = None
    if fit.problem_.needs_budget:
        budgets = np.full(len(faced), budget) if is_one else faced.budgets
    prices = np.where(np.isfinite(faced.prices), costs, np.inf)
    menus = Menus(prices, budgets, goods=fit.goods_, caps=faced.caps, problem=fit.problem_)
    most = _VOTES if fit.problem_.has_masses else _VOTES_SOLVED
    market = fit.market(int(np.clip(most / (_DRAWS * len(menus)), 64, 8192)), _DRAWS, len(menus))
    return np.asarray(demand_by_draw(market, menus)[0].mean(axis=1))
