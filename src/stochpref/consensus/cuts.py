# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Whether bundles of whole goods share a utility: linear programmes that learn of better bundles one by one.

The utilities that explain a bundle x are a cone u·(x - y) > 0 over all other bundles y in reach, far too many to list.
A programme looks for the utility deepest inside the cones it knows of, customers with that utility buy, and whatever
they buy in place of x is another y. Where nothing is left inside, the programme's own weights λ ≥ 0 say why, by
Σ λ (x - y) = 0. Such a sum of whole numbers is checked in rational arithmetic before anything is claimed of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from stochpref.errors import InvalidArgument
from stochpref.kinds import QUANTITY_TOLERANCE
from stochpref.problems.interval_kernels import MenuRows
from stochpref.problems.knapsack import add_best_bundle, make_desk
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

NOTHING: Final = 1e-9  # depth, for unit vectors, that is none
_MOST_ROUNDS: Final = 400
_MOST_CUTS: Final = 3_000
_BLOCK: Final = 16
_SUPPORT: Final = 1e-9  # weight of a difference in a proof


class Cuts(NamedTuple):
    """Differences x - y of what was bought and what else could have been: utilities must be worth more than nothing.

    difference : (m, n). owner : (m,) the observation of each.
    """

    difference: Array
    owner: Indices

    def of(self, kept: Mask) -> Cuts:
        """Return those of some observations (T,)."""
        mine = kept[self.owner]
        return Cuts(self.difference[mine], self.owner[mine])

    def joined(self, other: Cuts) -> Cuts:
        """Return these and others."""
        return Cuts(np.concatenate([self.difference, other.difference]), np.append(self.owner, other.owner))

    @property
    def normals(self) -> Array:
        """Unit vectors (m, n)."""
        return self.difference / np.linalg.norm(self.difference, axis=1, keepdims=True)


class Depths(NamedTuple):
    """What programmes found out about a set of observations.

    utility : (n,) the one deepest inside; None where there is none.
    cuts : all that is known of the set.
    core : cuts by whose weighted sum the set shares no utility; none where it shares one.
    """

    utility: Array | None
    cuts: Cuts
    core: Cuts


@compiled
def _buy(rows: MenuRows, prices: Array, u: Array, which: Indices, bundles: Array, start: int, stop: int) -> None:
    """Leave what a utility buys from some menus; NaN where it cannot be found."""
    desk = make_desk(u.shape[0])
    for k in range(start, stop):
        t = which[k]
        bundles[k] = 0.0
        if not add_best_bundle(u, prices[t], rows.budgets[t], rows.caps[t], rows.is_whole, bundles[k], desk):
            bundles[k, 0] = np.nan


class Buyers:
    """Customers with one utility at the menus of observations."""

    def __init__(self, rows: MenuRows) -> None:
        self.rows = rows
        self.prices = np.where(rows.units != 0, rows.prices, np.inf)
        near = QUANTITY_TOLERANCE * np.maximum(1.0, np.abs(rows.bundles))
        self._near = np.where(rows.is_whole, 0.5, near)

    @property
    def n_goods(self) -> int:
        """Number of goods."""
        return self.rows.bundles.shape[1]

    def bundles(self, u: Array, which: Indices) -> Array:
        """Return what a utility buys at some menus, (k, n)."""
        bought = np.empty((which.size, self.n_goods))
        for_blocks(lambda start, stop: _buy(self.rows, self.prices, u, which, bought, start, stop), which.size, _BLOCK)
        if np.isnan(bought).any():
            raise InvalidArgument(
                "observations must be of goods that are not nearly alike: too many bundles are nearly as good; leave "
                "out goods, or take them in part, problem='divisible'"
            )
        return bought

    def cuts(self, u: Array, which: Indices) -> Cuts:
        """Return what a utility would rather have bought than was, of some observations."""
        difference = self.rows.bundles[which] - self.bundles(u, which)
        other = np.flatnonzero((np.abs(difference) > self._near[which]).any(axis=1))
        return Cuts(difference[other], which[other])


def no_cuts(n_goods: int) -> Cuts:
    """Return none."""
    return Cuts(np.empty((0, n_goods)), np.empty(0, np.intp))


def find_depths(buyers: Buyers, kept: Mask, known: Cuts, start: Array) -> Depths:
    """Return a utility that some observations (T,) share, or why there is none.

    Parameters
    ----------
    known : cuts found before, of any observations.
    start : (n,) a utility to begin at.
    """
    which, cuts, u, is_deepest = np.flatnonzero(kept), known.of(kept), start, False
    for _ in range(_MOST_ROUNDS):
        fresh = buyers.cuts(u, which)
        if not fresh.owner.size and (is_deepest or not cuts.owner.size):
            return Depths(u, cuts, no_cuts(buyers.n_goods))
        cuts = cuts.joined(fresh)
        u, depth, weights = _deepest(cuts)
        is_deepest = True
        if depth < NOTHING:
            support = weights > _SUPPORT * weights.max()
            return Depths(None, cuts, Cuts(cuts.difference[support], cuts.owner[support]))
        if cuts.owner.size > _MOST_CUTS:
            near = np.argsort(cuts.normals @ u)[: _MOST_CUTS // 2]
            cuts = Cuts(cuts.difference[near], cuts.owner[near])
    raise InvalidArgument(
        f"observations must let it be found out whether they share a utility; that stays open after {_MOST_ROUNDS} "
        "linear programmes; leave out goods that hardly anybody buys"
    )


def _deepest(cuts: Cuts) -> tuple[Array, float, Array]:
    """Return the utility in the unit box deepest inside, its depth, and the weight of each difference in the answer."""
    m, n = cuts.difference.shape
    matrix = np.column_stack([-cuts.normals, np.ones(m)])
    found = linprog(
        np.append(np.zeros(n), -1.0), A_ub=matrix, b_ub=np.zeros(m), bounds=[(-1.0, 1.0)] * n + [(None, 1.0)],
        method="highs-ds",
    )  # fmt: skip
    if found.x is None:
        raise InvalidArgument(f"observations must let a linear programme be solved; HiGHS says: {found.message}")
    lengths = np.linalg.norm(cuts.difference, axis=1)
    return found.x[:n], float(found.x[-1]), np.maximum(-found.ineqlin.marginals, 0.0) / lengths


def is_proof(core: Cuts) -> bool:
    """Tell whether whole numbers λ ≥ 0, not all 0, make Σ λ (x - y) = 0, so that no utility explains all x.

    Only where there is one such sum but for its length: nothing is claimed of others.
    """
    rows = np.round(core.difference).astype(np.int64)
    if not rows.size or np.any(np.abs(core.difference - rows) > QUANTITY_TOLERANCE):
        return False
    weights = _only_relation(rows.T.tolist())
    return weights is not None and (min(weights) >= 0 or max(weights) <= 0)


def _only_relation(matrix: list[list[int]]) -> list[Fraction] | None:
    """Return λ with matrix λ = 0 where it is unique but for its length; None where it is not."""
    rows, n_columns = [[Fraction(value) for value in row] for row in matrix], len(matrix[0])
    pivots: list[int] = []
    for column in range(n_columns):
        place = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if place is None:
            continue
        at = len(pivots)
        rows[at], rows[place] = rows[place], rows[at]
        lead = rows[at][column]
        rows[at] = [value / lead for value in rows[at]]
        for k, row in enumerate(rows):
            if k != at and row[column]:
                rows[k] = [a - row[column] * b for a, b in zip(row, rows[at], strict=True)]
        pivots.append(column)
    free = [column for column in range(n_columns) if column not in pivots]
    if len(free) != 1:
        return None
    weights = [Fraction(0)] * n_columns
    weights[free[0]] = Fraction(1)
    for at, column in enumerate(pivots):
        weights[column] = -rows[at][free[0]]
    return weights
