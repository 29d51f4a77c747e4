# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Menus worth considering: balanced ones, those that show signs, and the paper's laws.

A purchase tells on which side of a_i λ each u_i lies, λ being the shadow price of money. One bit tells most where it is
hardest to guess, so a *balanced* menu puts the threshold of every good at its mean: prices in proportion to E[u_i], and
a budget that just pays for what exceeds its threshold on average, which makes λ about 1. A good whose mean is below
zero can be asked for its sign at best: its price is low, so that its threshold is near zero whatever λ.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.design.limits import Bounds
from stochpref.laws import MenuLaw
from stochpref.names import MENU_LAWS
from stochpref.observations import Menus
from stochpref.rows import joined

Array = NDArray[np.float64]

_FLOORS: Final = (0.02, 0.1, 0.3, 1.0)  # lowest thresholds tried, in standard deviations
_SHARES: Final = np.array([0.1, 0.3, 0.5, 0.7, 0.95])  # of customers who would not pay the price of a good
_SPREADS: Final = (0.0, 0.15, 0.4, 0.8)  # how far thresholds stray from the means, in standard deviations


def balanced_menus(utilities: Array, floor: Array, spread: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return prices (C, n) and budgets (C,) that put thresholds near the means of these utilities (S, n)."""
    mean, deviation = utilities.mean(axis=0), utilities.std(axis=0)
    noise = rng.standard_normal((len(floor), utilities.shape[1]))
    prices = np.maximum(mean + spread[:, None] * noise * deviation, floor[:, None] * deviation)
    wanted = np.mean(utilities[None, :, :] > prices[:, None, :], axis=1)
    budgets = np.sum(prices * wanted, axis=1)
    return prices, np.maximum(budgets, 0.5 * prices.min(axis=1))


def plain_candidates(n_laws: int) -> int:
    """Return how many candidates come first, without noise."""
    return n_laws * len(_FLOORS) + 1


def candidate_menus(bounds: Bounds, utilities: Array, n_candidates: int, rng: np.random.Generator) -> Menus:
    """Return about `n_candidates` menus within the limits, for K laws with S customers each, utilities (K, S, n).

    The first are balanced without noise, one for each law and floor, and everything at one price with money for all.
    """
    n_laws, _, n = utilities.shape
    parts = [balanced_menus(u, np.array(_FLOORS), np.zeros(len(_FLOORS)), rng) for u in utilities]
    parts.append((np.ones((1, n)), np.array([float(np.sum(bounds.caps))])))
    left = max(n_candidates - sum(len(part[1]) for part in parts), 0)
    for k in range(n_laws):
        count = (6 * left // 10 + k) // n_laws
        if count:
            floor, spread = rng.choice(_FLOORS, count), rng.choice(_SPREADS, count)
            prices, budgets = balanced_menus(utilities[k], floor, spread, rng)
            parts.append((_withhold(prices, rng), budgets * np.exp(0.3 * rng.standard_normal(count))))
    prices = np.exp(0.5 * rng.standard_normal((left // 10, n)))
    parts.append((_withhold(prices, rng), np.sum(prices * bounds.caps, axis=1) * rng.uniform(0.7, 1.0, len(prices))))
    for law in MENU_LAWS:
        if left >= 10:
            menus = MenuLaw(law).sample(left // 10, n, rng=rng)
            parts.append((menus.prices, menus.budgets))
    return bounds.fit(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def plain_prices(bounds: Bounds, worth: Array, best: Array) -> Menus:
    """Return the menus that come first where money is kept: best prices, and those that some shares would pay.

    worth : (S, n) what customers would pay. best : (n,) prices.
    """
    return bounds.fit(np.vstack([best, np.quantile(worth, _SHARES, axis=0)]), np.full(1 + len(_SHARES), np.inf))


def candidate_prices(bounds: Bounds, worth: Array, best: Array, n_candidates: int, rng: np.random.Generator) -> Menus:
    """Return menus where money is kept: the plain ones, and prices that a random share of customers would pay.

    A purchase tells on which side of its price the worth of a good lies, and goods do not compete: one bit each.
    """
    plain = plain_prices(bounds, worth, best)
    shares = rng.uniform(_SHARES[0], _SHARES[-1], (max(n_candidates - len(plain), 0), worth.shape[1]))
    places = np.minimum((shares * len(worth)).astype(np.intp), len(worth) - 1)
    prices = np.take_along_axis(np.sort(worth, axis=0), places, axis=0)
    return joined(plain, bounds.fit(prices, np.full(len(prices), np.inf)))


def _withhold(prices: Array, rng: np.random.Generator) -> Array:
    """Return the prices with a random share of the goods withheld in every third row."""
    share = np.where(np.arange(len(prices)) % 3 == 0, rng.uniform(0.1, 0.8, len(prices)), 0.0)
    return np.where(rng.random(prices.shape) < share[:, None], np.inf, prices)


def vary(menus: Menus, parents: NDArray[np.intp], scale: float, bounds: Bounds, rng: np.random.Generator) -> Menus:
    """Return a changed copy of each parent: some prices and the budget moved, now and then a good put in or out."""
    prices, budgets = menus.prices[parents], menus.budgets[parents]
    n = prices.shape[1]
    typical = np.exp(np.mean(np.log(np.where(np.isfinite(prices), prices, 1.0)), axis=1, keepdims=True))
    is_moved = rng.random(prices.shape) < rng.choice([1.5 / n, 0.3, 1.0], (len(prices), 1))
    moved = np.where(is_moved, prices * np.exp(scale * rng.standard_normal(prices.shape)), prices)
    is_switched = rng.random(prices.shape) < 0.5 / n
    is_switched &= ~bounds.is_kept
    moved = np.where(is_switched, np.where(np.isfinite(prices), np.inf, typical), moved)
    return bounds.fit(moved, budgets * np.exp(0.5 * scale * rng.standard_normal(len(prices))))
