# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Prices judged by purchases that had no say in them: by by a fit of their own, and the profit seen at their prices."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from stochpref.checks import kind_of
from stochpref.decisions.customers import asked_market, crowd_of
from stochpref.decisions.profit import Profit, profit_of
from stochpref.errors import InvalidArgument, counted
from stochpref.observations import Menus, Observations

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]

_FEWEST: Final = 20  # purchases by which anything can be judged
_MOST_ROWS: Final = 400
_MOST_DRAWS: Final = 40
_TOO_FAR: Final = 2.0  # standard errors between profit and what the model says of it


class Judged(NamedTuple):
    """What purchases held out say.

    profit : of customers of a fit to them alone.
    is_misjudged : the first fit does not know the profit from them at the prices they were made at.
    cautions : what to know, in sentences.
    """

    profit: Profit
    is_misjudged: bool
    cautions: tuple[str, ...]

    def by_draw(self, prices: Array) -> Array:
        """Return the mean profit (draws,) at a list of prices."""
        return self.profit.by_draw(prices)


def judge_held_out(fit: Fit, held_out: Observations, faced: Menus, costs: Array) -> Judged:
    """Return what purchases held out say: the same model is fitted to them alone."""
    if not isinstance(held_out, Observations):
        raise InvalidArgument(f"held_out must be Observations; received {kind_of(held_out)}; read them as the others")
    if not fit.problem_.admits(held_out.problem):
        raise InvalidArgument(
            f"held_out must be purchases of the problem of the fit, {fit.problem_!r}; received {held_out.problem!r}"
        )
    if len(held_out) < _FEWEST:
        raise InvalidArgument(
            f"held_out must be {_FEWEST} purchases or more to judge prices by; received {len(held_out)}; leave it out, "
            "or hold out more"
        )
    own = held_out.over(fit.goods_)
    missing = np.flatnonzero(np.isfinite(faced.prices).any(axis=0) & ~np.isfinite(own.prices).any(axis=0))
    if missing.size:
        raise InvalidArgument(
            f"held_out must offer every good that is priced; {fit.goods_[missing[0]]!r} is in none of its menus; leave "
            "it off the menus, or hold out others"
        )
    other = clone(fit).set_params(**{"checkpoint": None} if "checkpoint" in fit.get_params() else {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        other.fit(own)
    cautions = [f"the fit to purchases held out: {warning.message}" for warning in caught]
    market = asked_market(other, competing=bool(np.isfinite(faced.budgets).any()))
    crowd = crowd_of(market, faced.under(other.problem_), range(market.n_crowds))
    earned, expected, error = _profits_seen(fit, own, costs)
    is_misjudged = abs(earned - expected) > _TOO_FAR * error
    if is_misjudged:
        cautions.append(
            f"the model misjudges profit at your own prices, none recommended: {earned:,.4g} from each of "
            f"{counted(len(own), 'purchase')} held out, where it says {expected:,.4g}, "
            f"{abs(earned - expected) / error:.1f} standard errors away"
        )
    return Judged(profit_of(crowd, costs), is_misjudged, tuple(cautions))


def _profits_seen(fit: Fit, own: Observations, costs: Array) -> tuple[float, float, float]:
    """Return profit from a purchase at the prices it was made at: observed, expected, and the error between the two."""
    offered = np.isfinite(own.prices)
    margins = np.where(offered, own.prices, 0.0) - np.where(offered, costs, 0.0)
    earned = np.sum(margins * own.bundles, axis=1)
    rows = np.unique(np.linspace(0, len(own) - 1, min(len(own), _MOST_ROWS)).astype(int))
    n_draws = min(_MOST_DRAWS, fit.market(1).n_draws)
    market = fit.market(512, n_draws)
    expected = np.empty((market.n_draws, len(rows)))
    crowd = crowd_of(market, own.menus[rows].under(fit.problem_), range(market.n_crowds))
    for s in range(market.n_draws):
        worth = crowd.worth[crowd.draw == s]
        for k, t in enumerate(rows):
            bought = worth > own.prices[t]
            profit = bought @ (margins[t] * own.caps[t])
            expected[s, k] = profit.mean() / (bought.any(axis=1).mean() if own.nonempty else 1.0)
    by_draw = expected.mean(axis=1)
    # The customers' luck, that of the rows that were asked about, and what the posterior leaves open.
    luck = np.var(earned, ddof=1) / len(earned) + np.var(expected.mean(axis=0)) / len(rows) * (len(rows) < len(own))
    return float(earned.mean()), float(by_draw.mean()), float(np.sqrt(luck + np.var(by_draw)))
