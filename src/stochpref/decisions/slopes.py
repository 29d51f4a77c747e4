# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Slopes and curvature of expected profit at a list of prices, and what follows: how sure prices are, and regret."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.limits import PriceLimits
from stochpref.decisions.profit import Profit

Array = NDArray[np.float64]

NEAR: Final = 1e-3  # of what a price may be, within which it is at the end
_STEP: Final = 0.06  # relative, of prices
_MOST_CROSSES: Final = 10  # goods up to which what the price of one does to the slope of another is computed


class Slopes(NamedTuple):
    """Slopes (draws, n) of profit at prices, and the negative curvature (n, n) of its mean, over the goods inside."""

    inside: list[int]
    slopes: Array
    curvature: Array


def at_bound(prices: Array, limits: PriceLimits) -> NDArray[np.int8]:
    """Return -1 at the lowest price allowed, 1 at the highest, 0 between and where only one is."""
    width = limits.highest - limits.lowest
    near = NEAR * np.where(width > 0, width, np.inf)
    with np.errstate(invalid="ignore"):
        low, high = prices <= limits.lowest + near, prices >= limits.highest - near
    return np.where((width > 0) & high, 1, np.where((width > 0) & low, -1, 0)).astype(np.int8)


def slopes_at(judge: Profit, prices: Array, limits: PriceLimits) -> Slopes:
    """Return slopes and curvature of profit by differences over the goods strictly inside their bounds.

    The crowd is the same at every price and under every draw, so that differences are far less noisy than profits.
    """
    is_inside = ~np.isnan(prices) & (at_bound(prices, limits) == 0) & (limits.lowest < limits.highest)
    inside: list[int] = np.flatnonzero(is_inside).tolist()
    step = _STEP * np.where(np.isnan(prices), 0.0, prices)

    def at(*moves: tuple[int, float]) -> Array:
        moved = prices.copy()
        for i, sign in moves:
            moved[i] += sign * step[i]
        return judge.by_draw(moved)

    here, k = at(), len(inside)
    up, down = [at((i, 1)) for i in inside], [at((i, -1)) for i in inside]
    slopes = np.empty((len(here), k))
    curvature = np.zeros((k, k))
    has_crosses = not judge.is_separate and k <= _MOST_CROSSES
    for a, i in enumerate(inside):
        slopes[:, a] = (up[a] - down[a]) / (2 * step[i])
        # Three steps: the noise of a second difference falls with their square.
        curvature[a, a] = float(np.mean(2 * here - at((i, 3)) - at((i, -3)))) / (9 * step[i] ** 2)
        for b, j in enumerate(inside[:a] if has_crosses else []):
            both = here - up[a] - up[b] + at((i, 1), (j, 1))
            curvature[a, b] = curvature[b, a] = -float(np.mean(both)) / (step[i] * step[j])
    return Slopes(inside, slopes, _positive(curvature))


def _positive(matrix: Array) -> Array:
    """Return a matrix whose eigenvalues are at least a small share of the largest: a maximum is flat at most."""
    if not matrix.size:
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    floor = 0.02 * max(float(values[-1]), 1e-300)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def regret_of(found: Slopes) -> float:
    """Return what prices set for each posterior draw alone would earn more on average, ½ GᵀH⁻¹G a draw."""
    if not len(found.inside):
        return 0.0
    # At the best prices slopes are 0 on average: what is left of their mean is the noise of the crowd.
    own = found.slopes - found.slopes.mean(axis=0)
    return float(0.5 * np.mean(np.sum(own * np.linalg.solve(found.curvature, own.T).T, axis=1)))


def intervals_of(prices: Array, limits: PriceLimits, found: Slopes, tails: tuple[float, float]) -> tuple[Array, Array]:
    """Return between which ends (n,) the best price of each good lies: one step of Newton's for each draw."""
    lower, upper = prices.copy(), prices.copy()
    if len(found.inside):
        own = found.slopes - found.slopes.mean(axis=0)
        best = prices[found.inside] + np.linalg.solve(found.curvature, own.T).T
        ends = np.clip(np.quantile(best, tails, axis=0), limits.lowest[found.inside], limits.highest[found.inside])
        lower[found.inside], upper[found.inside] = ends
    return lower, upper
