# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a designer may set: price ranges, budgets, goods that cannot be withheld, steps that prices come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.observations import Menus
from stochpref.problems import Problem
from stochpref.readers.by_name import by_name

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MenuLimits:
    """What menus must respect.

    Attributes
    ----------
    budget : the money a customer has: a number, a range (low, high), or None for free, from 1 to n.
    lowest_price, highest_price : a number or one for each good, matched by name in a dict or a Series; None for
        budget/(20 n) and the (highest) budget.
    always_offered : names of goods that cannot be withheld, or True for all of them.
    price_step : prices are whole multiples of it; None for any price.
    caps : largest quantity of a good, a number or one for each, as for prices.
    """

    budget: float | Sequence[float] | None = None
    lowest_price: ArrayLike | Mapping[str, float] | None = None
    highest_price: ArrayLike | Mapping[str, float] | None = None
    always_offered: Sequence[str] | bool = ()
    price_step: float | None = None
    caps: ArrayLike | Mapping[str, float] = 1.0

    def resolve(self, goods: tuple[str, ...], problem: Problem | None = None) -> Bounds:
        """Return the limits as arrays over these goods, for customers who solve a problem.

        Raises
        ------
        InvalidArgument : no menu can respect them.
        """
        n = len(goods)
        if n < 2:
            raise InvalidArgument(f"goods must be two or more, for there is no direction to learn in one; received {n}")
        low, high = _budget_range(self.budget, n)
        lowest = _per_good(low / (20 * n) if self.lowest_price is None else self.lowest_price, goods, "lowest_price")
        highest = _per_good(high if self.highest_price is None else self.highest_price, goods, "highest_price")
        if self.price_step is not None:
            if not (np.isfinite(self.price_step) and self.price_step > 0):
                raise InvalidArgument(f"price_step must be positive; received {self.price_step}")
            lowest = np.ceil(lowest / self.price_step - 1e-9) * self.price_step
            highest = np.floor(highest / self.price_step + 1e-9) * self.price_step
        bad = np.flatnonzero(~((lowest > 0) & (lowest <= highest)))
        if bad.size:
            raise InvalidArgument(
                f"every good needs a price between lowest_price and highest_price (and on price_step); "
                f"{goods[bad[0]]!r} has none: {lowest[bad[0]]:g} to {highest[bad[0]]:g}; widen the range"
            )
        if isinstance(self.always_offered, bool):
            is_kept = np.full(n, self.always_offered)
        else:
            unknown = [name for name in self.always_offered if name not in goods]
            if unknown:
                raise InvalidArgument(f"always_offered must name goods; there is no {unknown[0]!r} in {goods}")
            is_kept = np.isin(np.array(goods), np.array([*self.always_offered, ""]))
        caps = _per_good(self.caps, goods, "caps")
        return Bounds(goods, low, high, lowest, highest, is_kept, self.price_step, caps, problem)


@dataclass(frozen=True, slots=True)
class Bounds:
    """`MenuLimits` as arrays: budgets, price ranges (n,), goods always on offer (n,), step, caps (n,); the problem."""

    goods: tuple[str, ...]
    lowest_budget: float
    highest_budget: float
    lowest: Array
    highest: Array
    is_kept: NDArray[np.bool_]
    step: float | None
    caps: Array
    problem: Problem | None = None

    def fit(self, prices: Array, budgets: Array) -> Menus:
        """Return menus that respect the limits and are as near as can be to the ones given, up to scale.

        Only ratios of prices to the budget matter, so each menu is first scaled to bring its prices into their range;
        where there are no budgets, prices stay as they are.
        """
        if self.problem is not None and not self.problem.needs_budget:
            is_offered = np.isfinite(prices) | self.is_kept
            is_offered[~np.any(is_offered, axis=1)] = True
            scaled = self._stepped(np.where(np.isfinite(prices), prices, np.sqrt(self.lowest * self.highest)))
            offered = np.where(is_offered, scaled, np.inf)
            return Menus(offered, goods=self.goods, caps=self.caps, problem=self.problem)
        is_offered = np.isfinite(prices) | self.is_kept
        prices = np.where(np.isfinite(prices), prices, np.sqrt(self.lowest * self.highest) * budgets[:, None])
        # The scale at which the geometric mean of the prices is that of the ranges, kept within the budgets.
        gap = np.mean(np.log(np.sqrt(self.lowest * self.highest)) - np.log(prices), axis=1)
        money = np.clip(budgets * np.exp(gap), self.lowest_budget, self.highest_budget)
        scaled = self._stepped(prices * (money / budgets)[:, None])
        empty = ~np.any(is_offered, axis=1)
        is_offered[empty] = True
        return Menus(np.where(is_offered, scaled, np.inf), money, goods=self.goods, caps=self.caps)

    def _stepped(self, prices: Array) -> Array:
        """Return the nearest prices within their ranges, and on the step."""
        if self.step is not None:
            prices = np.round(prices / self.step) * self.step
        return np.clip(prices, self.lowest, self.highest)


def _budget_range(budget: float | Sequence[float] | None, n_goods: int) -> tuple[float, float]:
    if budget is None:
        return 1.0, float(n_goods)
    ends = np.asarray(budget, dtype=np.float64)
    if ends.shape not in ((), (2,)) or not (np.isfinite(ends).all() and 0 < ends.min() == ends.flat[0]):
        raise InvalidArgument(f"budget must be positive and finite, or a range (low, high) of such; received {budget}")
    return float(ends.min()), float(ends.max())


def _per_good(values: ArrayLike | Mapping[str, float], goods: tuple[str, ...], argument: str) -> Array:
    named = by_name(values, goods, argument)
    try:
        array = np.broadcast_to(np.asarray(named, dtype=np.float64), (len(goods),)).copy()
    except (TypeError, ValueError):
        raise InvalidArgument(f"{argument} must be a number or one for each of {len(goods)} goods") from None
    is_bad = ~((array > 0) & np.isfinite(array))
    if is_bad.any():
        raise InvalidArgument(f"{argument} must be positive and finite for a design; received {array[is_bad][0]:g}")
    return array
