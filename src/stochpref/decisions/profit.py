# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Expected profit at a list of prices: of goods that compete for customers' money, or of each good on its own.

Where no budget can run out goods separate: good i earns (p − c_i) times the share of customers who would pay more than
p, and one sort of what they would pay gives that at every price.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.sweeps import Crowd, Pieces, pieces_of, profits_of

Array = NDArray[np.float64]


class Profit(Protocol):
    """Expected profit of a crowd.

    is_separate : what a good earns does not depend on the prices of others.
    """

    is_separate: ClassVar[bool]

    def pieces(self, prices: Array, i: int, lowest: float, highest: float) -> Pieces:
        """Return mean profit as a function of the price of good i between two ends, at the other prices as they are."""

    def mean(self, prices: Array) -> float:
        """Return the mean profit at a list of prices (n,)."""

    def by_draw(self, prices: Array) -> Array:
        """Return the mean profit (draws,) under each posterior draw."""


def profit_of(crowd: Crowd, costs: Array) -> Profit:
    """Return the expected profit of a crowd at costs (n,) of the goods."""
    return CompetingProfit(crowd, costs) if crowd.has_budgets else SeparateProfit(crowd, costs)


class CompetingProfit:
    """Goods share a budget."""

    is_separate: ClassVar[bool] = False

    def __init__(self, crowd: Crowd, costs: Array) -> None:
        self.crowd, self.costs = crowd, costs

    def pieces(self, prices: Array, i: int, lowest: float, highest: float) -> Pieces:
        """Return mean profit as a function of one price."""
        return pieces_of(self.crowd, prices, self.costs, i, lowest, highest)

    def mean(self, prices: Array) -> float:
        """Return the mean profit."""
        return float(self.crowd.weight @ profits_of(self.crowd, prices, self.costs))

    def by_draw(self, prices: Array) -> Array:
        """Return the mean profit under each posterior draw."""
        return self.crowd.by_draw(profits_of(self.crowd, prices, self.costs))


class SeparateProfit:
    """Each good is bought by whoever would pay its price."""

    is_separate: ClassVar[bool] = True

    def __init__(self, crowd: Crowd, costs: Array) -> None:
        self.crowd, self.costs = crowd, costs
        self._amount = crowd.caps.mean(axis=0)  # that a buyer takes, over the menus
        self._known: dict[tuple[int, float], Array] = {}

    @cached_property
    def _ladders(self) -> list[tuple[Array, Array]]:
        """Of each good what customers would pay, rising, and the weight of those who would pay that or more."""
        found = []
        for worth in self.crowd.worth.T:
            order = np.argsort(worth, kind="stable")
            rest = np.cumsum(self.crowd.weight[order][::-1])[::-1]
            found.append((worth[order], np.append(rest, 0.0)))
        return found

    def _bought(self, i: int, price: float) -> float:
        worth, rest = self._ladders[i]
        return float(self._amount[i] * rest[np.searchsorted(worth, price, side="right")])

    def pieces(self, prices: Array, i: int, lowest: float, highest: float) -> Pieces:
        """Return mean profit as a function of one price."""
        worth, rest = self._ladders[i]
        first, last = np.searchsorted(worth, [lowest, highest], side="right")
        bought = self._amount[i] * rest[first : last + 1]
        others = sum(
            (prices[j] - self.costs[j]) * self._bought(j, prices[j])
            for j in range(len(prices))
            if j != i and self._amount[j] > 0
        )
        start = np.append(lowest, worth[first:last])
        return Pieces(start, others - self.costs[i] * bought, bought, np.zeros(len(start)), highest)

    def mean(self, prices: Array) -> float:
        """Return the mean profit."""
        offered = np.flatnonzero(self._amount).tolist()
        return float(sum((prices[i] - self.costs[i]) * self._bought(i, prices[i]) for i in offered))

    def by_draw(self, prices: Array) -> Array:
        """Return the mean profit under each posterior draw."""
        total = np.zeros(self.crowd.n_draws)
        for i in np.flatnonzero(self._amount).tolist():
            total += self._amount[i] * (prices[i] - self.costs[i]) * self._buyers(i, float(prices[i]))
        return total

    def _buyers(self, i: int, price: float) -> Array:
        """Return the share of customers (draws,) who would pay more than a price of good i."""
        if (i, price) not in self._known:
            self._known[i, price] = self.crowd.by_draw((self.crowd.worth[:, i] > price).astype(np.float64))
        return self._known[i, price]
