# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Profit as a function of one price, exactly, for a crowd of customers who may keep their money.

A customer would pay up to w_i for a unit of good i. Of the goods with w_i > p_i they buy those worth most for the money
first, each up to its cap, until the budget is spent. As one price p rises and the others stay, the profit from a
customer is made of pieces A + B p + C/p:

- bought in full: (p − c) cap, and what goods behind it earn with the money left, of which p cap is gone: slope
  cap (1 − m), where m is the margin rate of the good bought in part;
- bought in part, with all the money left, L: (1 − c/p) L;
- not bought, or no money left: constant.

Pieces end where the good changes places with another, p = w_i / (w_j / p_j), where the good in part changes, and at
w_i. Events of all customers are sorted and their changes of (A, B, C) summed up, so that profit is known at every
price. With costs of zero or more B ≥ 0 ≥ C: profit rises within a piece, and the best price is the right end of one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.threads import compiled, for_blocks, inlined

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_BLOCK: Final = 1024
_NONE, _LEAVES, _FALLS_BEHIND, _TAKES_MONEY = 0, 1, 2, 3  # what ends a piece of a customer's profit
_BEFORE: Final = 1.0 - 1e-12  # a price just below a limit, at which who has that limit still buys


class Crowd(NamedTuple):
    """Customers who may keep their money, and what they face besides prices.

    worth : (M, n) the price up to which each buys a good.
    weight : (M,) of each in a mean.
    draw : (M,) the posterior draw each is of.
    menu : (M,) the row of budgets and caps each faces.
    budgets, caps : (k,) and (k, n); a cap of 0 where a good is not on offer.
    n_draws : number of posterior draws.
    """

    worth: Array
    weight: Array
    draw: Rows
    menu: Rows
    budgets: Array
    caps: Array
    n_draws: int

    @property
    def has_budgets(self) -> bool:
        """Whether money can run out, so that goods compete."""
        return bool(np.isfinite(self.budgets).any())

    def by_draw(self, values: Array) -> Array:
        """Return the mean (draws,) under each posterior draw of a value (M,) of each customer."""
        own = np.bincount(self.draw, self.weight, minlength=self.n_draws)
        return np.bincount(self.draw, self.weight * values, minlength=self.n_draws) / own


class Pieces(NamedTuple):
    """Mean profit as a function of a price: A + B p + C/p from each of the rising prices `start` to the next."""

    start: Array
    a: Array
    b: Array
    c: Array
    highest: float

    def at(self, prices: Array) -> Array:
        """Return the mean profit at prices between the first start and the highest price."""
        k = np.searchsorted(self.start, prices, side="right") - 1
        return np.asarray(self.a[k] + self.b[k] * prices + self.c[k] / prices)

    def best(self) -> tuple[float, float]:
        """Return the best price, and the mean profit there."""
        ends = np.append(self.start[1:], self.highest)
        is_piece = ends > self.start
        ends, a, b, c = ends[is_piece], self.a[is_piece], self.b[is_piece], self.c[is_piece]
        if not len(ends):  # the only price there is
            return float(self.start[0]), float(self.at(self.start[:1])[0])
        values = a + b * ends + c / ends
        k = int(np.argmax(values))
        # At the end of a piece customers leave: what they would pay at most is the price. Just below they still buy.
        price = float(ends[k]) if k == len(ends) - 1 else max(float(ends[k]) * _BEFORE, float(self.start[0]))
        return price, float(values[k])


def profits_of(crowd: Crowd, prices: Array, costs: Array) -> Array:
    """Return the profit (M,) from each customer at a list of prices (n,)."""
    found = np.empty(len(crowd.worth))

    def rows(start: int, stop: int) -> None:
        _profits(crowd.worth, prices, costs, crowd.budgets, crowd.caps, crowd.menu, found, start, stop)

    for_blocks(rows, len(found), _BLOCK)
    return found


def pieces_of(crowd: Crowd, prices: Array, costs: Array, i: int, lowest: float, highest: float) -> Pieces:
    """Return mean profit as a function of the price of good i between two ends, at the other prices as they are."""
    count, n = crowd.worth.shape
    starts = range(0, count, _BLOCK)
    parts: list[Array] = [np.empty(0)] * len(starts)

    def rows(start: int, stop: int) -> None:
        events = np.empty((4, (stop - start) * (3 * n + 3)))
        size = _events(
            crowd.worth, prices, costs, crowd.budgets, crowd.caps, crowd.menu, crowd.weight, i, lowest, highest,
            events, start, stop,
        )  # fmt: skip
        parts[start // _BLOCK] = events[:, :size].copy()

    for_blocks(rows, count, _BLOCK)
    events = np.concatenate(parts, axis=1)
    events = events[:, np.argsort(events[0], kind="stable")]
    start, changes = events[0], np.cumsum(events[1:], axis=1)
    is_last = np.append(start[1:] > start[:-1], True)  # of the events at one price
    a, b, c = changes[:, is_last]
    return Pieces(start[is_last], a, b, c, highest)


@inlined
def _queue(worth: Array, prices: Array, caps: Array, left_out: int, order: Rows, ratio: Array) -> int:
    """Put the goods that are worth their price in falling order of worth for money; return how many there are."""
    count = 0
    for j in range(worth.shape[0]):
        if j == left_out or caps[j] == 0.0 or not worth[j] > prices[j]:
            continue
        r = worth[j] / prices[j]
        k = count
        while k > 0 and ratio[k - 1] < r:
            ratio[k], order[k] = ratio[k - 1], order[k - 1]
            k -= 1
        ratio[k], order[k] = r, j
        count += 1
    return count


@compiled
def _profits(
    worth: Array,
    prices: Array,
    costs: Array,
    budgets: Array,
    caps: Array,
    menu: Rows,
    out: Array,
    start: int,
    stop: int,
) -> None:
    n = worth.shape[1]
    order, ratio = np.empty(n, np.int64), np.empty(n)
    for m in range(start, stop):
        own, money, total = caps[menu[m]], budgets[menu[m]], 0.0
        if money == np.inf:
            for j in range(n):
                if own[j] > 0.0 and worth[m, j] > prices[j]:
                    total += (prices[j] - costs[j]) * own[j]
            out[m] = total
            continue
        count = _queue(worth[m], prices, own, -1, order, ratio)
        for k in range(count):
            j = order[k]
            bought = min(own[j], money / prices[j])
            total += (prices[j] - costs[j]) * bought
            money -= prices[j] * bought
            if bought < own[j]:
                break
        out[m] = total


@inlined
def _add_up(
    order: Rows, count: int, prices: Array, costs: Array, caps: Array, money: float, spent: Array, earned: Array
) -> float:
    """Sum up what the first k of goods in a queue cost and earn in full; return what they earn until money ends."""
    spent[0] = earned[0] = 0.0
    alone, is_spent = 0.0, False
    for k in range(count):
        j = order[k]
        rate = 1.0 - costs[j] / prices[j]
        spent[k + 1] = spent[k] + prices[j] * caps[j]
        earned[k + 1] = earned[k] + (prices[j] - costs[j]) * caps[j]
        if not is_spent and spent[k + 1] > money:
            alone, is_spent = earned[k] + rate * (money - spent[k]), True
    return alone if is_spent else earned[count]


@inlined
def _ahead_of(worth: float, price: float, ratio: Array, count: int) -> int:
    """Return how many goods of a queue come before one of this worth and price."""
    ahead = 0
    while ahead < count and worth <= price * ratio[ahead]:
        ahead += 1
    return ahead


@inlined
def _in_full(ahead: int, count: int, spent: Array, cost: float, money: float) -> int:
    """Return how many goods are bought in full beside one that costs so much; fewer than are ahead: it is in part."""
    f = ahead
    while f < count and spent[f + 1] + cost <= money:
        f += 1
    return f if cost < money - spent[ahead] else ahead - 1


@inlined
def _beside(
    f: int, order: Rows, count: int, prices: Array, costs: Array, spent: Array, earned: Array, money: float
) -> tuple[float, float]:
    """Return what f goods in full and the one in part earn with all the money, and the margin rate of the latter."""
    if f == count:
        return earned[f], 0.0
    j = order[f]
    rate = 1.0 - costs[j] / prices[j]
    return earned[f] + rate * (money - spent[f]), rate


@compiled
def _events(
    worth: Array,
    prices: Array,
    costs: Array,
    budgets: Array,
    caps: Array,
    menu: Rows,
    weight: Array,
    i: int,
    lowest: float,
    highest: float,
    events: Array,
    start: int,
    stop: int,
) -> int:
    """Write where pieces of customers begin and by how much A, B and C change there; return how many there are."""
    n = worth.shape[1]
    order, ratio = np.empty(n, np.int64), np.empty(n)
    spent, earned = np.empty(n + 1), np.empty(n + 1)  # by the first k of the others, all in full
    size = 0
    for m in range(start, stop):
        own, money, scale = caps[menu[m]], budgets[menu[m]], weight[m]
        cap, w, cost = own[i], worth[m, i], costs[i]
        count = _queue(worth[m], prices, own, i, order, ratio)
        alone = _add_up(order, count, prices, costs, own, money, spent, earned)
        a_old = b_old = c_old = 0.0
        p, ahead = lowest, _ahead_of(w, lowest, ratio, count)
        is_wanted, f = cap > 0.0 and w > p, _in_full(ahead, count, spent, p * cap, money)
        while True:
            a, b, c, end, change = alone, 0.0, 0.0, np.inf, _NONE
            left = money - spent[ahead]
            if is_wanted and left > 0.0:
                end, change = w, _LEAVES
                if ahead < count and w / ratio[ahead] < end:
                    end, change = w / ratio[ahead], _FALLS_BEHIND
                if f < ahead:
                    a, c = earned[ahead] + left, -cost * left
                else:
                    rest, rate = _beside(f, order, count, prices, costs, spent, earned, money)
                    a, b = rest - cost * cap, cap * (1.0 - rate)
                    if (money - spent[f]) / cap < end:
                        end, change = (money - spent[f]) / cap, _TAKES_MONEY
            events[0, size], events[1, size] = p, scale * (a - a_old)
            events[2, size], events[3, size] = scale * (b - b_old), scale * (c - c_old)
            size, a_old, b_old, c_old = size + 1, a, b, c
            p = max(p, end)
            if p >= highest:
                break
            is_wanted = is_wanted and change != _LEAVES
            if change == _FALLS_BEHIND:
                ahead += 1
                f = _in_full(ahead, count, spent, p * cap, money)
            elif change == _TAKES_MONEY:
                f -= 1
    return size
