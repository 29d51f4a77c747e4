# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions of utilities known by intervals: between which values each coordinate may lie, given all others.

The utilities that explain a bundle of whole goods are a cone with more sides than anyone would list. Of one coordinate,
given the others, it is an interval all the same, whose ends compare the bundle with the best ones that hold any other
quantity of that good (`pareto`). Membership, starts and the moves of a sampler need no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.kinds import MONEY_TOLERANCE, QUANTITY_TOLERANCE
from stochpref.problems.interval_kernels import MenuRows, intervals_of, search_inside
from stochpref.problems.pareto import IN_PART, leave_all_units
from stochpref.threads import for_blocks

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]

_BLOCK: Final = 16
_ROUNDING: Final = 1e-12  # of the largest utility: gaps that sums in another order may open or close
_MOST_STEPS: Final = 2_000  # towards a point inside, before linear programmes are asked
_NOTHING: Final = 1e-9  # a margin, for unit vectors, that is none
_MOST_CUTS: Final = 2_000
_GOLDEN: Final = 0.6180339887498949


@dataclass(frozen=True, slots=True, eq=False)
class IntervalRegions:
    """The regions of observations of whole goods.

    rows : menus and bundles, in arrays.
    inside : (T, n) a point inside each region; NaN where there is none.
    has_masses : their probabilities are no sums; utilities inside can be drawn.
    agreement : where to find how a common utility compares them.
    degenerate_because, degenerate_unless : what makes a region empty, and what else may explain a bundle, in words.
    """

    rows: MenuRows
    inside: Array
    has_masses: ClassVar[bool] = False
    agreement: ClassVar[str] = "consensus.by_bundles:ByBundles"
    degenerate_because: ClassVar[str] = "another bundle with more of what was bought and less of what was not"
    degenerate_unless: ClassVar[str] = ""

    @classmethod
    def of(cls, observations: Observations, is_whole: NDArray[np.bool_]) -> IntervalRegions:
        """Return the regions of observations, some goods or all of them whole."""
        x = observations.bundles
        # Copies: one state of arrays for all, or kernels would be compiled for several.
        prices, caps, stated = (np.array(a) for a in (observations.prices, observations.caps, observations.budgets))
        is_offered = prices < np.inf
        spent = np.sum(np.where(is_offered, prices, 0.0) * x, axis=1)
        # To the last cent: what rounding leaves of the budget buys nothing in part.
        is_spent = (spent >= stated * (1 - MONEY_TOLERANCE)) & ~is_whole.all()
        budgets = np.where(is_spent, spent, stated)
        units = np.empty(prices.shape, np.int64)
        leave_all_units(prices, stated, caps, is_whole, units)
        priced, bundles = np.where(is_offered, prices, 1.0), np.where(is_whole, np.round(x), x)
        rows = MenuRows(priced, budgets, stated, caps, units, bundles, is_whole)
        return cls(rows, _points_inside(rows))

    def __len__(self) -> int:
        return len(self.rows.bundles)

    def __getitem__(self, rows: Any) -> Self:
        """Return the regions picked by a slice, a mask or indices."""
        kept = np.atleast_1d(np.arange(len(self))[rows])
        return type(self)(self.rows.take(kept), self.inside[kept])

    def __repr__(self) -> str:
        return f"<IntervalRegions: {len(self)} over {self.n_goods} goods ({self.is_degenerate.sum()} degenerate)>"

    @property
    def n_goods(self) -> int:
        """Number of goods, on offer or not: the dimension of the utilities."""
        return self.rows.bundles.shape[1]

    @property
    def is_degenerate(self) -> NDArray[np.bool_]:
        """(T,) whether only exact ties could explain the observation."""
        return np.isnan(self.inside[:, 0])

    @property
    def is_in_reach(self) -> NDArray[np.bool_]:
        """(T, n) which goods a customer could have bought some of."""
        reach: NDArray[np.bool_] = self.rows.units != 0
        return reach

    def intervals(self, u: ArrayLike) -> tuple[Array, Array]:
        """Return between which values (T, n) each coordinate may lie, given the other coordinates of utilities (T, n).

        A coordinate of a good that is out of reach may lie anywhere.
        """
        utilities = np.ascontiguousarray(np.broadcast_to(np.asarray(u, np.float64), self.rows.bundles.shape))
        low, high = np.empty_like(utilities), np.empty_like(utilities)
        is_found = np.ones(len(self), np.bool_)

        def block(start: int, stop: int) -> None:
            intervals_of(self.rows, utilities, low, high, is_found, start, stop)

        for_blocks(block, len(self), _BLOCK)
        check_lists(bool(is_found.all()))
        return low, high

    def contains(self, u: ArrayLike, *, strict: bool = False) -> NDArray[np.bool_]:
        """Tell which regions hold a utility (n,), or which of k utilities (k, n) each holds, (k, T).

        Parameters
        ----------
        strict : demand that the bundle is the *unique* optimum; ties are misses.
        """
        given = np.asarray(u, np.float64)
        if given.ndim not in (1, 2) or given.shape[-1] != self.n_goods or not np.isfinite(given).all():
            raise InvalidArgument(f"u must be finite, ({self.n_goods},) or (k, {self.n_goods}); received {given.shape}")
        held = []
        for utility in np.atleast_2d(given):
            low, high = self.intervals(utility)
            # A bundle that is better is so for every coordinate in which it differs. Rounding makes no tie unique.
            slack = _ROUNDING * float(np.abs(utility).max(initial=0.0)) * (1.0 if strict else -1.0)
            gap = np.minimum(utility - low, high - utility).min(axis=1)
            held.append((gap > slack if strict else gap >= slack) & ~self.is_degenerate)
        return held[0] if given.ndim == 1 else np.array(held)

    def interior_points(self, *, rng: np.random.Generator) -> Array:
        """Draw one unit vector inside each region, (T, n); NaN rows for degenerate observations.

        Not a draw from any particular law: a start for samplers, a probe for tests.
        """
        bought = self.rows.bundles > 0
        start = np.abs(rng.standard_normal(bought.shape)) * np.where(bought, 1.0, -1.0)
        start = np.where(self.is_in_reach, start * self.rows.prices, rng.standard_normal(bought.shape))
        points, is_inside = _searched(self.rows, start)
        return _as_units(np.where(is_inside[:, None], points, self.inside))


def check_lists(is_found: bool) -> None:
    """Refuse to go on where lists grew too long."""
    if not is_found:
        raise InvalidArgument(
            "observations must be of fewer goods, or of smaller caps: what the other goods are worth at every cost "
            "takes more than four million entries a customer; leave out goods that hardly anybody buys"
        )


def _as_units(points: Array) -> Array:
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _searched(rows: MenuRows, start: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return points inside, begun at some start, and whether they are."""
    points, is_inside = start.copy(), np.zeros(len(start), np.bool_)

    def block(first: int, stop: int) -> None:
        search_inside(rows, points, is_inside, _MOST_STEPS, first, stop)

    for_blocks(block, len(points), _BLOCK)
    return points, is_inside


def _points_inside(rows: MenuRows) -> Array:
    """Return a point inside every region; NaN where there is none, which a linear programme has proved."""
    uneven = 1.0 + np.arange(1, rows.prices.shape[1] + 1) * _GOLDEN % 1.0  # no two alike for money: no start is a tie
    bought = np.where(rows.bundles > 0, uneven, -uneven)
    points, is_inside = _searched(rows, np.where(rows.units != 0, bought * rows.prices, 0.5))
    in_part = (rows.units == IN_PART) & (rows.bundles > QUANTITY_TOLERANCE * np.minimum(rows.caps, 1e9))
    in_part &= rows.bundles < rows.caps * (1 - QUANTITY_TOLERANCE)
    for t in np.flatnonzero(~is_inside):
        points[t] = np.nan if in_part[t].sum() > 1 else _programmed(rows.take(np.array([t])))
    return _as_units(points)


def _programmed(row: MenuRows) -> Array:
    """Return the point deepest inside one region, by linear programmes with a bundle more each."""
    from scipy.optimize import linprog  # noqa: PLC0415

    n, x = row.bundles.shape[1], row.bundles[0]
    u, cuts = np.zeros(n), np.empty((0, n))
    for _ in range(_MOST_CUTS):
        points, is_inside = u[None].copy(), np.zeros(1, np.bool_)
        search_inside(row, points, is_inside, 0, 0, 1)
        if is_inside[0] and cuts.size:
            return u
        difference = x - points[0]  # the search leaves the better bundle where it gives up at once
        cuts = np.concatenate([cuts, difference[None] / np.linalg.norm(difference)])
        found = linprog(
            np.append(np.zeros(n), -1.0), A_ub=np.column_stack([-cuts, np.ones(len(cuts))]), b_ub=np.zeros(len(cuts)),
            bounds=[(-1.0, 1.0)] * n + [(None, 1.0)],
        )  # fmt: skip
        if found.x[-1] < _NOTHING:
            return np.full(n, np.nan)
        u = found.x[:n]
    raise InvalidArgument(
        f"observations must be ones that some utility explains; of one it stays open after {_MOST_CUTS} bundles that "
        "might be better; leave out goods, or the observation"
    )
