# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Whom prices are set for: customers of a fit, under its posterior draws, at the menus that people face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.sweeps import Crowd
from stochpref.errors import InvalidArgument
from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.readers.by_name import as_menus
from stochpref.rows import changed, places_of

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]

_DRAWS: Final = 200  # of the posterior, at most, that decisions are averaged over,
_COMPETING_DRAWS: Final = 50  # where goods compete and a customer costs more
_NUMBERS: Final = 2e7  # utilities of all customers under all draws
_FEWEST, _MOST = 512, 8192
_MOST_COMPETING: Final = 8192  # customers whose goods compete, over all draws


def asked_market(fit: Fit, *, competing: bool = False) -> Market:
    """Return customers of a fit, fewer where there are many goods or these compete for money."""
    n_draws = min(_COMPETING_DRAWS if competing else _DRAWS, fit.market(1).n_draws)
    size = np.clip(_NUMBERS / (n_draws * len(fit.coordinates_)), _FEWEST, _MOST // 8 if competing else _MOST)
    return fit.market(int(size), n_draws)


def faced_menus(fit: Fit, menus: Any) -> Menus:
    """Return menus over goods of the fit, those that people faced if None; budgets that are stated are kept."""
    if menus is None:
        return fit.observations_.menus.over(fit.goods_).under(fit.problem_)
    faced, _ = as_menus(menus, None, fit.goods_, fit.problem_)
    if isinstance(menus, Menus) and menus.problem is None and np.isfinite(menus.budgets).any():
        faced = changed(faced, budgets=menus.budgets)
    return faced.over(fit.goods_)


def middle_prices(prices: Array) -> Array:
    """Return the price (n,) in the middle of those at which a good is offered, one of them; NaN where none is."""
    offered = np.isfinite(prices)
    found = np.full(prices.shape[1], np.nan)
    for i in np.flatnonzero(offered.any(axis=0)):
        found[i] = np.quantile(prices[offered[:, i], i], 0.5, method="lower")
    return found


def crowd_of(market: Market, menus: Menus, crowds: Sequence[int]) -> Crowd:
    """Return those customers of some crowds who are seen where purchases are recorded, and would pay for what.

    Each faces one of the menus, all menus in turn.

    Raises
    ------
    InvalidArgument : under some posterior draw there are none.
    """
    problem = problem_of(menus)
    columns = places_of(problem.coordinates(menus.goods), market.goods)
    worth, counts = [], np.zeros(market.n_draws, np.int64)
    for s in range(market.n_draws):
        utilities = np.concatenate([market.utilities(s, c)[:, columns] for c in crowds])
        found = problem.worth(utilities)
        assert found is not None, "only problems in which money is kept are asked"
        worth.append(found)
        counts[s] = len(found)
    if not counts.all():
        raise InvalidArgument(
            f"the fit must have customers to whom money is worth something; under {np.sum(counts == 0)} of "
            f"{len(counts)} posterior draws none of those simulated is one; fit more purchases"
        )
    draw = np.repeat(np.arange(market.n_draws), counts)
    return Crowd(
        worth=np.concatenate(worth), weight=1.0 / (len(counts) * counts[draw]), draw=draw,
        menu=np.arange(len(draw)) % len(menus), budgets=menus.budgets,
        caps=np.where(np.isfinite(menus.prices), menus.caps, 0.0), n_draws=market.n_draws,
    )  # fmt: skip


def thinned(crowd: Crowd) -> Crowd:
    """Return customers enough to set prices by where goods compete, of each draw in proportion; all where not."""
    if not crowd.has_budgets:
        return crowd
    step = max(len(crowd.draw) // _MOST_COMPETING, 1)
    rows = np.arange(0, len(crowd.draw), step)
    draw = crowd.draw[rows]
    counts = np.bincount(draw, minlength=crowd.n_draws)
    weight = 1.0 / (np.count_nonzero(counts) * counts[draw])
    return crowd._replace(
        worth=crowd.worth[rows], weight=weight, draw=draw, menu=np.arange(len(rows)) % len(crowd.budgets)
    )


def split_crowds(market: Market) -> tuple[list[int], list[int]]:
    """Return the crowds that prices are chosen by, and those that profit is quoted from."""
    half = (market.n_crowds + 1) // 2
    return list(range(half)), list(range(half, market.n_crowds)) or [0]
