# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What each of many assortments earns: customers are sorted once, and walk down their order through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.market import Market
from stochpref.observations import Menus
from stochpref.problems import problem_of
from stochpref.rows import changed, places_of
from stochpref.threads import compiled, for_blocks

if TYPE_CHECKING:
    from stochpref.problems.protocol import Ranking

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Offers = NDArray[np.bool_]

_BLOCK: Final = 64


class Walkers(NamedTuple):
    """Customers in front of a shelf, sorted.

    order, lengths : (M, n) the goods each would buy, best first, and (M,) how many these are.
    outlay : (n,) of their money that a unit takes. money : (M,) that each has.
    caps : (n,) largest quantities.
    weight, draw, n_draws : of each in a mean, and the posterior draw each is of, of how many.
    """

    order: Rows
    lengths: Rows
    outlay: Array
    money: Array
    caps: Array
    weight: Array
    draw: Rows
    n_draws: int

    def earn(self, offers: Offers, margins: Array, *, by_draw: bool = False) -> Array:
        """Return the mean earnings of assortments (S, n), (S,) or (S, draws); margins (n,) are of a unit sold."""
        n_cells = self.n_draws if by_draw else 1
        cell = self.draw if by_draw else np.zeros(len(self.draw), np.int64)
        share = np.bincount(self.draw, self.weight, minlength=self.n_draws)
        weight = self.weight / share[self.draw] if by_draw else self.weight
        found = np.zeros((len(offers), n_cells))
        table = np.ascontiguousarray(offers)

        def rows(start: int, stop: int) -> None:
            _walk(
                self.order, self.lengths, self.outlay, self.money, self.caps, margins, weight, cell, table, found,
                start, stop,
            )  # fmt: skip

        for_blocks(rows, len(offers), _BLOCK)
        return found if by_draw else found[:, 0]


class Solvers:
    """Customers whose goods depend on one another, as whole ones do: every assortment is solved anew."""

    def __init__(self, utilities: list[Array], menus: Menus) -> None:
        self.utilities, self.menus, self.n_draws = utilities, menus, len(utilities)

    def earn(self, offers: Offers, margins: Array, *, by_draw: bool = False) -> Array:
        """Return the mean earnings of assortments; as of `Walkers`."""
        problem, k = problem_of(self.menus), len(self.menus)
        prices = np.where(offers[:, None], self.menus.prices, np.inf).reshape(-1, self.menus.n_goods)
        faced = changed(
            self.menus, prices=prices, budgets=np.tile(self.menus.budgets, len(offers)),
            caps=np.tile(self.menus.caps, (len(offers), 1)), labels=None, features={},
        )  # fmt: skip
        found = np.empty((len(offers), self.n_draws))
        for s, own in enumerate(self.utilities):
            bought, counts = problem.total(own, faced)
            means = (bought @ margins) / np.maximum(counts, 1.0)
            found[:, s] = means.reshape(len(offers), k).mean(axis=1)
        return found if by_draw else found.mean(axis=1)


def walkers_of(market: Market, menus: Menus, crowds: Sequence[int], most: int) -> Walkers | Solvers:
    """Return customers of some crowds, at most so many, who face a list of prices with the budgets of menus in turn.

    Parameters
    ----------
    menus : of one list of prices, with the budgets that customers have.
    """
    problem = problem_of(menus)
    columns = places_of(problem.coordinates(menus.goods), market.goods)
    each = max(most // market.n_draws, 1)
    utilities = []
    for s in range(market.n_draws):
        own = np.concatenate([market.utilities(s, c)[:, columns] for c in crowds])
        own = own[problem.takes_part(own[:, None], menus[:1])[:, 0]]
        utilities.append(own[np.linspace(0, len(own) - 1, min(each, len(own))).astype(int)] if len(own) else own)
    rankings = [problem.ranking(own, menus[:1]) for own in utilities]
    if any(ranking is None for ranking in rankings):
        return Solvers(utilities, menus)
    return _sorted([ranking for ranking in rankings if ranking is not None], menus)


def _sorted(rankings: list[Ranking], menus: Menus) -> Walkers:
    counts = np.array([len(ranking.worth) for ranking in rankings])
    draw = np.repeat(np.arange(len(rankings)), counts)
    worth = np.concatenate([ranking.worth for ranking in rankings])
    order = np.argsort(-worth, axis=1, kind="stable")
    stated = menus.budgets[np.arange(len(draw)) % len(menus)]
    money = rankings[0].money
    return Walkers(
        order=order, lengths=np.isfinite(worth).sum(axis=1), outlay=rankings[0].outlay,
        money=stated if money is None else np.full(len(draw), money), caps=menus.caps[0],
        weight=1.0 / (np.count_nonzero(counts) * counts[draw]), draw=draw, n_draws=len(rankings),
    )  # fmt: skip


@compiled
def _walk(
    order: Rows,
    count: Rows,
    outlay: Array,
    money: Array,
    caps: Array,
    margins: Array,
    weight: Array,
    cell: Rows,
    offers: Offers,
    out: Array,
    start: int,
    stop: int,
) -> None:
    for s in range(start, stop):
        for m in range(order.shape[0]):
            left, earned = money[m], 0.0
            for k in range(count[m]):
                j = order[m, k]
                if not offers[s, j]:
                    continue
                cost = outlay[j] * caps[j]
                if cost < left:
                    earned += margins[j] * caps[j]
                    left -= cost
                else:
                    earned += margins[j] * left / outlay[j]
                    break
            out[s, cell[m]] += weight[m] * earned
