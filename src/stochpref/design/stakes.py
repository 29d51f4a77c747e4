# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a price test is worth: how best prices, and the profit they make, answer to what is known of customers.

Near the best prices p of a law h, the slope G of expected profit in prices moves by A dh with the law, and the best
prices by H⁻¹ A dh, where -H is its curvature. Who keeps to p loses ½ dhᵀ Q dh, Q = Aᵀ H⁻¹ A. With Σ the covariance of
what is known of h, prices cost ½ tr(Q Σ) on average, and purchases that bring information I leave ½ tr(Q (Σ⁻¹ + I)⁻¹):
the difference is what a test is worth, from every visitor.

The slope of E[π] in h is the covariance of π with utilities, so that A is a difference of two such covariances, of the
same customers at prices a little apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.limits import PriceLimits, checked_costs
from stochpref.decisions.profit import SeparateProfit
from stochpref.decisions.searching import find_prices
from stochpref.decisions.slopes import slopes_at
from stochpref.decisions.sweeps import Crowd, profits_of
from stochpref.design.information import draw_customers
from stochpref.errors import InvalidArgument, listed

if TYPE_CHECKING:
    from stochpref.design.limits import Bounds, MenuLimits
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]

_CUSTOMERS: Final = 100_000
_STEP: Final = 0.06  # relative, of prices
_BELOW, _ABOVE = 0.5, 1.5  # of the lowest and the highest observed price, that may be tested
_NO_PRIOR: Final = 1e-9  # relative, of a covariance of draws: a direction in which draws do not differ is known


class Stakes(NamedTuple):
    """What depends on knowing customers better.

    h : (N,) the law in the middle of what is believed.
    held : (N, N) information about it that is held: the inverse covariance of posterior draws.
    prices : (n,) best at h. inside : goods whose best price can move.
    worth : (S, n) what customers at h would pay.
    loss : (N, N) Q: prices set for h lose ½ dhᵀ Q dh where h + dh is true.
    notes : what to know of the test.
    """

    h: Array
    held: Array
    prices: Array
    inside: NDArray[np.intp]
    worth: Array
    loss: Array
    notes: tuple[str, ...]

    def regret(self, information: Array) -> float:
        """Return what prices lose on average, from a visitor, after purchases with so much information."""
        return 0.5 * float(np.trace(self.loss @ np.linalg.inv(self.held + information)))


def stakes_of(fit: Fit, costs: Any, bounds: Bounds, rng: np.random.Generator) -> Stakes:
    """Return what depends on knowing the customers of a fit better, at costs and within prices that may be tested.

    Raises
    ------
    InvalidArgument : the fit has no prices to set or no one law, or all best prices are at an end of what they may be.
    """
    draws = _draws_of(fit)
    h = draws.mean(axis=0)
    # Draws tell a covariance with noise: as much as there are too few of them for, it is taken to be larger.
    covariance = np.cov(draws.T) * (len(draws) - 1) / max(len(draws) - len(h) - 2, 1)
    covariance += _NO_PRIOR * np.trace(covariance) * np.eye(len(h))
    n = len(fit.goods_)
    own_costs = checked_costs(costs, fit.goods_, np.ones(n, np.bool_))
    faced = bounds.fit(bounds.lowest[None], np.array([np.inf]))
    utilities = draw_customers(h, _CUSTOMERS, rng, menu=faced)
    worth = fit.problem_.worth(utilities)
    assert worth is not None, "only problems in which money is kept have prices to set"
    crowd = Crowd(
        worth, np.full(len(worth), 1 / len(worth)), np.zeros(len(worth), np.int64), np.zeros(len(worth), np.int64),
        np.array([np.inf]), bounds.caps[None], 1,
    )  # fmt: skip
    limits = PriceLimits(bounds.lowest, bounds.highest, (None,) * n, ())
    profit = SeparateProfit(crowd, own_costs)
    prices = find_prices(profit, np.sqrt(bounds.lowest * bounds.highest), limits)
    found = slopes_at(profit, prices, limits)
    inside = np.array(found.inside, np.intp)
    if not inside.size:
        raise InvalidArgument(
            f"limits must leave best prices room to move; those of {listed(fit.goods_, 6)} are all at an end of what "
            "they may be, whatever a test says; widen lowest_price and highest_price (--lowest-price, --highest-price)"
        )
    moves = np.stack([_move(crowd, utilities, prices, own_costs, int(i)) for i in inside])
    loss = moves.T @ np.linalg.solve(found.curvature, moves)
    held = np.asarray(np.linalg.inv(covariance), np.float64)
    return Stakes(h, held, prices, inside, worth, loss, _notes(fit, inside))


def _notes(fit: Fit, inside: NDArray[np.intp]) -> tuple[str, ...]:
    notes = []
    ends = [name for i, name in enumerate(fit.goods_) if i not in inside]
    if ends:
        notes.append(
            f"best prices of {listed(ends, 6)} are at an end of what they may be, so that a test says nothing of them"
        )
    if fit.observations_.nonempty:
        notes.append("visitors who buy nothing have to be counted in the test, which the data of the fit leave out")
    return tuple(notes)


def price_bounds(fit: Fit, limits: MenuLimits) -> Bounds:
    """Return what a test may charge: limits, and around the prices observed where they state none."""
    if limits.budget is not None:
        raise InvalidArgument("limits must state no budget where customers may keep their money; leave budget out")
    prices = fit.observations_.over(fit.goods_).prices
    offered = np.isfinite(prices)
    lowest = _BELOW * np.min(prices, axis=0)
    highest = _ABOVE * np.max(prices, axis=0, where=offered, initial=0.0)
    limits = replace(
        limits,
        budget=float(np.max(highest)),
        lowest_price=lowest if limits.lowest_price is None else limits.lowest_price,
        highest_price=highest if limits.highest_price is None else limits.highest_price,
    )
    return limits.resolve(fit.goods_, fit.problem_)


def _draws_of(fit: Fit) -> Array:
    if fit.problem_.unpriced:
        raise InvalidArgument(
            "criterion 'profit' needs a fit in which customers may keep their money, problem 'open'; received problem "
            f"{fit.problem_.name!r}: {fit.problem_.unpriced}"
        )
    draws = fit.natural_draws
    if draws is None:
        raise InvalidArgument(
            f"criterion 'profit' needs a fit of one law of customers, HeterogeneousUtility; received model {fit.name!r}"
        )
    return draws


def _move(crowd: Crowd, utilities: Array, prices: Array, costs: Array, i: int) -> Array:
    """Return the slope (N,) in h of the slope of profit in price i."""
    step = _STEP * prices[i]
    ends = []
    for sign in (1.0, -1.0):
        moved = prices.copy()
        moved[i] += sign * step
        profit = profits_of(crowd, moved, costs)
        ends.append((profit - profit.mean()) @ utilities / len(utilities))
    return np.asarray((ends[0] - ends[1]) / (2 * step))
