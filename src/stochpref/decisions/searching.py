# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The search for prices: one at a time, each exactly, in turn until profit no longer rises.

Prices that an order ties together are moved together as well, or neither could pass the other. Where few may change,
the one that gains most is changed first, and those changed so far are set anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.limits import PriceLimits
from stochpref.decisions.profit import Profit

Array = NDArray[np.float64]

_MOST_CYCLES: Final = 8
_ENOUGH: Final = 1e-7  # relative rise of profit in a cycle below which there is no other
_JOINT_PRICES: Final = 60


def find_prices(profit: Profit, today: Array, limits: PriceLimits, max_changes: int | None = None) -> Array:
    """Return the best prices (n,) found; NaN where a good is not on offer.

    Parameters
    ----------
    today : (n,) prices, from which few may be changed, and where the search starts.
    """
    goods = [int(i) for i in np.flatnonzero(~np.isnan(today))]
    if max_changes is None:
        return _cycle(profit, _start(today, limits), goods, limits)
    prices, changed = today.copy(), list[int]()
    for _ in range(min(max_changes, len(goods))):
        trials = [(i, _moved(profit, prices, i, limits)) for i in goods if i not in changed]
        gains = [profit.mean(trial) for _, trial in trials]
        best = int(np.argmax(gains))
        if gains[best] <= profit.mean(prices) * (1 + _ENOUGH):
            break
        changed.append(trials[best][0])
        prices = _cycle(profit, trials[best][1], changed, limits)
    return prices


def _start(today: Array, limits: PriceLimits) -> Array:
    """Return prices near today's that respect all limits."""
    prices = np.clip(today, limits.lowest, limits.highest)
    for _ in limits.pairs:  # a chain is in order after as many passes as it has links
        for small, large in limits.pairs:
            if prices[small] > prices[large]:
                prices[large] = min(prices[small], limits.highest[large])
                prices[small] = min(prices[small], prices[large])
    for i, rungs in enumerate(limits.rungs):
        if rungs is not None:
            prices[i] = rungs[int(np.argmin(np.abs(rungs - prices[i])))]
    return prices


def _cycle(profit: Profit, prices: Array, goods: Sequence[int], limits: PriceLimits) -> Array:
    value = profit.mean(prices)
    for _ in range(_MOST_CYCLES):
        for i in goods:
            prices = _moved(profit, prices, i, limits)
        for group in _tied(prices, goods, limits):
            prices = _moved_together(profit, prices, group, limits)
        before, value = value, profit.mean(prices)
        if value - before <= _ENOUGH * abs(value):
            break
    return prices


def _moved(profit: Profit, prices: Array, i: int, limits: PriceLimits) -> Array:
    """Return prices with the best one of good i between the ends that the others leave it."""
    low = max([limits.lowest[i], *(prices[a] for a, b in limits.pairs if b == i and not np.isnan(prices[a]))])
    high = min([limits.highest[i], *(prices[b] for a, b in limits.pairs if a == i and not np.isnan(prices[b]))])
    rungs = limits.rungs[i]
    inside = None if rungs is None else rungs[(rungs >= low) & (rungs <= high)]
    if low > high or (inside is not None and not inside.size):
        return prices
    pieces = profit.pieces(prices, i, float(low), float(high))
    if inside is None:
        price, value = pieces.best()
    else:
        values = pieces.at(inside)
        price, value = float(inside[int(np.argmax(values))]), float(values.max())
    is_allowed = low <= prices[i] <= high and (rungs is None or np.any(rungs == prices[i]))
    if is_allowed and value <= float(pieces.at(prices[[i]])[0]):
        return prices
    moved = prices.copy()
    moved[i] = price
    return moved


def _tied(prices: Array, goods: Sequence[int], limits: PriceLimits) -> list[list[int]]:
    """Return the sets of goods that are at one price because of their order."""
    groups = {i: {i} for i in goods}
    for a, b in limits.pairs:
        if a in groups and b in groups and prices[a] >= prices[b] * (1 - 1e-9):
            joined = groups[a] | groups[b]
            for i in joined:
                groups[i] = joined
    return [sorted(group) for group in {id(g): g for g in groups.values()}.values() if len(group) > 1]


def _moved_together(profit: Profit, prices: Array, group: list[int], limits: PriceLimits) -> Array:
    low, high = float(limits.lowest[group].max()), float(limits.highest[group].min())
    outside = [(a, b) for a, b in limits.pairs if (a in group) != (b in group)]
    low = max([low, *(prices[a] for a, b in outside if b in group and not np.isnan(prices[a]))])
    high = min([high, *(prices[b] for a, b in outside if a in group and not np.isnan(prices[b]))])
    if low > high:
        return prices
    candidates = np.linspace(low, high, _JOINT_PRICES)
    for rungs in (limits.rungs[i] for i in group):
        if rungs is not None:
            candidates = rungs[(rungs >= low) & (rungs <= high)]
    best, value = prices, profit.mean(prices)
    for price in candidates:
        trial = prices.copy()
        trial[group] = price
        found = profit.mean(trial)
        if found > value:
            best, value = trial, found
    return best
