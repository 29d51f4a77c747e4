# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where a question goes beyond the data: goods, prices and budgets that nobody who was observed ever faced.

An answer there rests on the form of the model: how far it goes is said beside it, in words.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, listed
from stochpref.observations import Menus, Observations
from stochpref.rows import places_of

Array = NDArray[np.float64]

_ROUNDING: Final = 1e-6  # relative: what lies beyond by less does not
_FORM: Final = "what is said there rests on the form of the model alone"


def find_extrapolations(seen: Observations, asked: Menus) -> tuple[str, ...]:
    """Return a sentence for every way in which menus go beyond those that were seen; () if they do not.

    Parameters
    ----------
    asked : over goods among those seen, in any order.
    """
    prices = seen.prices[:, places_of(asked.goods, seen.goods)]
    offered = np.isfinite(asked.prices)
    return (
        *_unseen_goods(asked, offered & ~np.isfinite(prices).any(axis=0)),
        *_unseen_prices(asked, offered, prices),
        *_unseen_budgets(asked.budgets, seen.budgets),
    )


def _unseen_goods(asked: Menus, unseen: NDArray[np.bool_]) -> list[str]:
    names = [asked.goods[i] for i in np.flatnonzero(unseen.any(axis=0))]
    return [f"never on offer in the data, so that nothing is known of it: {listed(names)}"] if names else []


def _unseen_prices(asked: Menus, offered: NDArray[np.bool_], seen: Array) -> list[str]:
    lowest = np.min(seen, axis=0, initial=np.inf)
    highest = np.max(seen, axis=0, where=np.isfinite(seen), initial=0.0)
    was_offered = np.isfinite(lowest)
    is_fixed = was_offered & (lowest == highest)
    prices = np.where(offered & was_offered, asked.prices, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        beyond = np.fmax(prices / highest, lowest / prices)  # how many times too high or too low
    far = np.max(beyond, axis=0, where=np.isfinite(beyond), initial=1.0)
    is_beyond = far > 1.0 + _ROUNDING
    fixed = np.flatnonzero(is_beyond & is_fixed)
    cautions = []
    if fixed.size:
        names = listed([asked.goods[i] for i in fixed])
        cautions.append(f"the price of {names} never varied in the data: at another, {_FORM}")
    others = np.flatnonzero(is_beyond & ~is_fixed)
    if others.size:
        i = int(others[np.argmax(far[others])])
        price = prices[int(np.nanargmax(beyond[:, i])), i]
        more = f", and of {counted(others.size - 1, 'good')} more," if others.size > 1 else ""
        cautions.append(
            f"the price of {listed([asked.goods[i]])}{more} lies outside those seen ({price:,.4g}, against "
            f"{lowest[i]:,.4g} to {highest[i]:,.4g}: {_how_far(price, lowest[i], highest[i])}); {_FORM}"
        )
    return cautions


def _unseen_budgets(asked: Array, seen: Array) -> list[str]:
    known = asked[np.isfinite(asked)]
    if not known.size or not np.isfinite(seen).all():
        return []
    lowest, highest = float(seen.min()), float(seen.max())
    for budget, is_beyond in (
        (float(known.max()), known.max() > highest * (1 + _ROUNDING)),
        (float(known.min()), known.min() < lowest * (1 - _ROUNDING)),
    ):
        if is_beyond:
            between = f"{lowest:,.4g} to {highest:,.4g}" if lowest < highest else f"{highest:,.4g} always"
            return [
                f"the budget lies outside those seen ({budget:,.4g}, against {between}: "
                f"{_how_far(budget, lowest, highest)}); {_FORM}"
            ]
    return []


def _how_far(value: float, lowest: float, highest: float) -> str:
    """Return how far a value lies beyond two ends."""
    if value > highest:
        return f"{value / highest:,.3g} times the highest" if highest > 0 else "above the highest"
    return f"{100 * (1 - value / lowest):.3g} % below the lowest"
