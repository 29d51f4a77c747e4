# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What every fit can be asked to decide: methods that models inherit, each a line to the module that knows how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from stochpref.decisions.assortment import Assortment
    from stochpref.decisions.best_prices import BestPrices
    from stochpref.decisions.forecasting import Forecast
    from stochpref.decisions.funding import Funding
    from stochpref.models.fit import Fit
    from stochpref.observations import Observations


class Deciding:
    """Decisions of a fit. What they need is imported when they are asked for."""

    def _check_priced(self) -> None:
        """Refuse a model that is not fitted, or to something without goods and prices."""
        check_is_fitted(self)

    def best_prices(
        self,
        menus: Any = None,
        *,
        costs: Any,
        bounds: Any = "observed",
        ladder: Any = None,
        order: Any = None,
        max_changes: int | None = None,
        held_out: Observations | None = None,
        extrapolate: bool = False,
        level: float = 0.9,
    ) -> BestPrices:
        """Return the prices of highest expected profit, over customers and the posterior, and what they gain.

        Customers must be able to keep their money (problem "open"): where budgets are spent, prices only say on what.

        Parameters
        ----------
        menus : what is on offer and today's prices, as in `demand`; what people faced if None. Where they state
            budgets, nobody spends more.
        costs : of a unit of each good: a dict, a Series or numbers in the order of `goods_`.
        bounds : "observed" for prices within those seen; or (lowest, highest) of some goods by name, None for an
            observed end, or (lowest, highest, least margin), the margin a share of the price.
        ladder : an ending such as ".99" or ".x9", a step such as 0.05, a list of prices; or one of these by name.
        order : chains of goods whose prices must not fall, such as [("small", "large")].
        max_changes : of today's prices, at most.
        held_out : purchases that had no say in the fit, by which the gain is judged: the same model is fitted to them.
        extrapolate : allow bounds beyond observed prices.
        level : of the intervals.

        Raises
        ------
        InvalidArgument : money cannot be kept, or costs, bounds, ladder or order leave a good without a price.
        """
        self._check_priced()
        from stochpref.decisions.prices import best_prices  # noqa: PLC0415

        return best_prices(
            cast("Fit", self), menus, costs=costs, bounds=bounds, ladder=ladder, order=order, max_changes=max_changes,
            held_out=held_out, extrapolate=extrapolate, level=level,
        )  # fmt: skip

    def best_assortment(
        self, menus: Any, *, size: int | None = None, costs: Any = None, prices: Any = None
    ) -> Assortment:
        """Return which goods to offer: those of highest expected profit, or revenue, over customers and the posterior.

        Up to 15 goods all assortments are tried (8 of whole goods); beyond, goods are added, dropped and exchanged.

        Parameters
        ----------
        menus : what could be offered and the budgets that customers have, as in `demand`; what people faced if None.
        size : goods on offer, at most.
        costs : of a unit of each good, as in `best_prices`; None to judge by revenue.
        prices : of each good; those in the middle of the menus if None.
        """
        self._check_priced()
        from stochpref.decisions.assortment import best_assortment  # noqa: PLC0415

        return best_assortment(cast("Fit", self), menus, size=size, costs=costs, prices=prices)

    def forecast(
        self, menus: Any, n_customers: int, *, level: float = 0.9, by_customer: bool = False, costs: Any = None
    ) -> Forecast:
        """Return totals of what so many customers will buy, with intervals that hold their luck.

        Parameters
        ----------
        menus : what they will face, as in `demand`, one of them each; several count as a sample of what may come.
        n_customers : purchases to come.
        level : of the intervals.
        by_customer : purchases come from customers who come again, as in the data, and resemble one another.
        costs : of a unit of each good, for the profit.
        """
        self._check_priced()
        from stochpref.decisions.forecasting import forecast  # noqa: PLC0415

        return forecast(cast("Fit", self), menus, n_customers, level=level, by_customer=by_customer, costs=costs)

    def fund(self, costs: Any = None, budget: float | None = None, *, rule: str = "demand") -> Funding:
        """Return which projects a city funds by what voters support, and how sure that is.

        Parameters
        ----------
        costs : of each project: a dict, a Series or numbers in the order of `goods_`; others than in the data as a
            what-if, which voters see too; None for what voters saw.
        budget : of the city; voters' own too where all had the same. None for theirs.
        rule : "demand", the projects with the most support in all that the budget covers, or "greedy", one after
            another in falling order of support while they fit.
        """
        self._check_priced()
        from stochpref.decisions.funding import fund  # noqa: PLC0415

        return fund(cast("Fit", self), costs, budget, rule)
