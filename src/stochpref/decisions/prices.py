# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The best prices of a fit in which customers may keep their money, what they gain, and how sure that is.

Prices are chosen on one crowd of customers and judged on another, or the search would be paid for its luck. Purchases
that had no say in the fit judge the gain once more, by a fit of their own: a gain judged by the data that chose it is
too good on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count
from stochpref.decisions.best_prices import BestPrices
from stochpref.decisions.customers import asked_market, crowd_of, faced_menus, middle_prices, split_crowds, thinned
from stochpref.decisions.held_out import Judged, judge_held_out
from stochpref.decisions.limits import PriceLimits, checked_costs, price_limits
from stochpref.decisions.profit import Profit, profit_of
from stochpref.decisions.searching import find_prices
from stochpref.decisions.slopes import at_bound, intervals_of, regret_of, slopes_at
from stochpref.demand import tails_of
from stochpref.errors import InvalidArgument, counted, listed
from stochpref.observations import Observations

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]

_CURVE: Final = 61  # points of a curve of profit
_WORTHWHILE: Final = 0.5  # probability of being better
_NO_GAIN: Final = 1e-6  # relative
_OPTIMISTIC: Final = (
    "the gain is judged on the purchases that chose the prices: expect 15 to 45 % less; pass held_out= (--held-out) "
    "purchases that had no say"
)


def best_prices(
    fit: Fit,
    menus: Any,
    *,
    costs: Any,
    bounds: Any,
    ladder: Any,
    order: Any,
    max_changes: int | None,
    held_out: Observations | None,
    extrapolate: bool,
    level: float,
) -> BestPrices:
    """Return the best prices; parameters as in `Fit.best_prices`."""
    _check_can_price(fit)
    tails = tails_of(level)
    if max_changes is not None:
        check_count(max_changes, "max_changes", 1)
    faced = faced_menus(fit, menus)
    goods, today = fit.goods_, middle_prices(faced.prices)
    on_offer = ~np.isnan(today)
    if not on_offer.any():
        raise InvalidArgument("menus must offer a good to price; received menus that offer none; give them prices")
    own_costs = checked_costs(costs, goods, on_offer)
    seen = _observed(fit, on_offer)
    limits = price_limits(goods, own_costs, seen, bounds, ladder, order, extrapolate=extrapolate)
    market = asked_market(fit, competing=bool(np.isfinite(faced.budgets).any()))
    choosing, judging = (crowd_of(market, faced, crowds) for crowds in split_crowds(market))
    found = find_prices(profit_of(thinned(choosing), own_costs), today, limits, max_changes)
    judge = profit_of(judging, own_costs)
    judged = None if held_out is None else judge_held_out(fit, held_out, faced, own_costs)
    return _told(fit, (today, found), (own_costs, limits, seen), judge, judged, tails, level)


def _check_can_price(fit: Fit) -> None:
    """Refuse fits that say nothing of prices."""
    if fit.problem_.unpriced:
        raise InvalidArgument(
            f"best prices need a fit in which customers may keep their money, problem 'open'; received problem "
            f"{fit.problem_.name!r}: {fit.problem_.unpriced}; fit with an open budget, problem='open' (--problem open)"
        )
    if not fit.customers_differ:
        raise InvalidArgument(
            f"best prices need customers who differ; received a fit of model {fit.name!r}, in which everybody would "
            "pay the same: demand falls from all to none at one price; fit HeterogeneousUtility (--model heterogeneous)"
        )


def _observed(fit: Fit, on_offer: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the lowest and the highest observed price (n,) of goods on offer.

    Raises
    ------
    InvalidArgument : a good was never on offer in the data, or no price ever varied.
    """
    prices = fit.observations_.over(fit.goods_).prices
    lowest = prices.min(axis=0)
    highest = np.max(prices, axis=0, where=np.isfinite(prices), initial=0.0)
    never = np.flatnonzero(on_offer & ~np.isfinite(lowest))
    if never.size:
        raise InvalidArgument(
            f"menus must offer goods that were on offer in the data; {fit.goods_[never[0]]!r} never was: nothing says "
            "who would buy it; leave it off the menus"
        )
    if np.all(lowest[on_offer] == highest[on_offer]):
        raise InvalidArgument(
            f"{listed(np.array(fit.goods_)[on_offer].tolist())}: sold at one price only, each of them, so that nothing "
            "says how demand answers; collect purchases at other prices (stochpref design menus chooses some)"
        )
    return np.where(on_offer, lowest, np.nan), np.where(on_offer, highest, np.nan)


def _told(
    fit: Fit,
    prices: tuple[Array, Array],
    given: tuple[Array, PriceLimits, tuple[Array, Array]],
    judge: Profit,
    judged: Judged | None,
    tails: tuple[float, float],
    level: float,
) -> BestPrices:
    """Return the result: what prices gain, how sure that is, and what to know."""
    today, found = prices
    costs, limits, seen = given
    own = judge.by_draw(found), judge.by_draw(today)
    after, before = own if judged is None else (judged.by_draw(found), judged.by_draw(today))
    gain = after - before
    slopes = slopes_at(judge, found, limits)
    lower, upper = intervals_of(found, limits, slopes, tails)
    status, cautions = _judgement(fit, found, gain, before, limits, seen, judged)
    ends = np.quantile(gain, tails)
    expected, now = float(np.mean(after)), float(np.mean(before))
    return BestPrices(
        goods=fit.goods_,
        prices=found,
        lower=lower,
        upper=upper,
        today=today,
        costs=costs,
        lowest=limits.lowest,
        highest=limits.highest,
        observed_lowest=seen[0],
        observed_highest=seen[1],
        profit=expected,
        profit_today=now,
        gain=expected - now,
        gain_lower=float(ends[0]),
        gain_upper=float(ends[1]),
        probability=float(np.mean(gain > 0)),
        regret=regret_of(slopes),
        level=level,
        status=status,
        is_held_out=judged is not None,
        verdicts=fit.verdicts().grades,
        curve_prices=(grid := _grid(found, today, limits, seen)),
        curve_profits=_curves(judge, found, grid),
        cautions=cautions,
        titles=fit.titles,
    )


def _judgement(
    fit: Fit,
    found: Array,
    gain: Array,
    before: Array,
    limits: PriceLimits,
    seen: tuple[Array, Array],
    judged: Judged | None,
) -> tuple[str, tuple[str, ...]]:
    """Return the status, and what to know before the prices are used."""
    names = np.array([fit.titles.get(name, name) for name in fit.goods_], object)
    cautions = list(fit.cautions())
    fixed = np.flatnonzero(seen[0] == seen[1])
    if fixed.size:
        cautions.append(
            f"{listed(names[fixed].tolist())}: sold at one price only, so that nothing says how demand answers"
        )
    beyond = np.flatnonzero((found > seen[1] * (1 + 1e-9)) | (found < seen[0] * (1 - 1e-9)))
    if beyond.size:
        i = int(beyond[0])
        more = f", and {counted(beyond.size - 1, 'good')} more are beyond theirs" if beyond.size > 1 else ""
        cautions.append(
            f"observed prices of {listed([names[i]])} are {seen[0][i]:.4g} to {seen[1][i]:.4g}{more}; the model's tail "
            "beyond is an assumption: test such a price first (stochpref design menus)"
        )
    ends = np.flatnonzero(at_bound(found, limits) != 0)
    if ends.size:
        cautions.append(
            f"at the end of what they may be: {listed(names[ends].tolist())}; the best price may lie beyond"
        )
    if judged is None:
        cautions.append(_OPTIMISTIC)
    else:
        cautions += judged.cautions
    if judged is not None and judged.is_misjudged:
        return "misjudged", tuple(cautions)
    if np.mean(gain) <= _NO_GAIN * abs(np.mean(before)) or np.mean(gain > 0) < _WORTHWHILE:
        return "nothing gained", tuple(cautions)
    return "recommended", tuple(cautions)


def _grid(found: Array, today: Array, limits: PriceLimits, seen: tuple[Array, Array]) -> Array:
    """Return prices (n, k) for a picture: all that are allowed, seen, found or charged."""
    known = np.stack([found, today, limits.lowest, limits.highest, *seen])
    return np.linspace(np.min(known, axis=0), np.max(known, axis=0), _CURVE, axis=-1)


def _curves(judge: Profit, found: Array, grid: Array) -> Array:
    """Return profit (n, k) at each price of a good, at the best prices of the others."""
    profits = np.full(grid.shape, np.nan)
    for i in np.flatnonzero(~np.isnan(found)):
        pieces = judge.pieces(found, int(i), float(grid[i, 0]), float(grid[i, -1]))
        profits[i] = pieces.at(grid[i])
    return profits
