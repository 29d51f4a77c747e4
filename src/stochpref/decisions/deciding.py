# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What every fit can be asked to decide: methods that models inherit, each a line to the module that knows how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from stochpref.decisions.best_prices import BestPrices
    from stochpref.models.fit import Fit
    from stochpref.observations import Observations


class Deciding:
    """Decisions of a fit. What they need is imported when they are asked for."""

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
        check_is_fitted(self)
        from stochpref.decisions.prices import best_prices  # noqa: PLC0415

        return best_prices(
            cast("Fit", self), menus, costs=costs, bounds=bounds, ladder=ladder, order=order, max_changes=max_changes,
            held_out=held_out, extrapolate=extrapolate, level=level,
        )  # fmt: skip
