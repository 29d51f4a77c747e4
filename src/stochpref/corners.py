# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions where several limits may bind at once: those of `regions`, and corners beside them.

Where one limit binds, or none, a row is as in `regions`, its slopes those of the limit. A *corner* has a shadow price
for each limit that binds; it is stored by the sides of its cone, for whoever asks whether a utility is inside, and by
disjoint pieces with as many goods in part as prices, whose masses are integrals over the prices (`mass.corner`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.kinds import CORNER
from stochpref.regions import ROW_ARRAYS, WORTHWHILE, Merged, Regions

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Corners(NamedTuple):
    """Sides and pieces of the corners among T rows, one row's after another's.

    first_side, first_piece : (T + 1,) where those of each row begin; a row that is no corner has none.
    sides : (S, n) unit vectors g with g·u ≥ 0 inside.
    n_prices : (P,) how many shadow prices a piece has.
    slope : (P, r, n) what a unit of each good takes of each limit, rows of a piece first, zeros after.
    side : (P, n) of each good; AT for those whose utility the prices tell.
    log_det : (P,) logarithm of the determinant of the slopes of those goods.
    """

    first_side: Indices
    first_piece: Indices
    sides: Array
    n_prices: NDArray[np.int8]
    slope: Array
    side: NDArray[np.int8]
    log_det: Array

    def take(self, rows: Indices) -> Corners:
        """Return those of some rows."""
        sides, first_side = _picked(self.first_side, rows)
        pieces, first_piece = _picked(self.first_piece, rows)
        of_pieces = (self.n_prices[pieces], self.slope[pieces], self.side[pieces], self.log_det[pieces])
        return Corners(first_side, first_piece, self.sides[sides], *of_pieces)

    def joined(self, others: Sequence[Corners]) -> Corners:
        """Return those of these rows followed by those of others."""
        parts = (self, *others)
        width = max(part.slope.shape[1] for part in parts)
        slopes = [np.pad(part.slope, ((0, 0), (0, width - part.slope.shape[1]), (0, 0))) for part in parts]
        return Corners(
            _chained([part.first_side for part in parts]),
            _chained([part.first_piece for part in parts]),
            np.concatenate([part.sides for part in parts]),
            np.concatenate([part.n_prices for part in parts]),
            np.concatenate(slopes),
            np.concatenate([part.side for part in parts]),
            np.concatenate([part.log_det for part in parts]),
        )


def _chained(firsts: Sequence[Indices]) -> Indices:
    """Return where rows begin whose parts follow one another."""
    chained = firsts[0]
    for first in firsts[1:]:
        chained = np.concatenate([chained, first[1:] + chained[-1]])
    return chained


def _picked(first: Indices, rows: Indices) -> tuple[Indices, Indices]:
    """Return places of what belongs to some rows, and where that of each begins then."""
    counts = first[rows + 1] - first[rows]
    ends = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
    places = np.repeat(first[rows] - ends[:-1], counts) + np.arange(ends[-1])
    return places, ends


@dataclass(frozen=True, slots=True, eq=False)
class CornerRegions(Regions):
    """Regions of which some are corners.

    corners : their sides and pieces.
    group : (T,) numbers that equal regions share.
    """

    corners: Corners | None = None
    group: Indices = field(default_factory=lambda: np.empty(0, np.intp), repr=False)
    agreement: ClassVar[str] = "consensus.by_corners:ByCorners"
    degenerate_because: ClassVar[str] = "more goods bought in part than limits that bind"

    def __getitem__(self, rows: Any) -> Self:
        """Return the regions picked by a slice, a mask or indices, in the units of the whole data set."""
        kept = np.atleast_1d(np.arange(len(self))[rows])
        picked = self.kind_code[kept], self.side[kept], self.slope[kept], self.pivot[kept]
        return type(self)(*picked, self.price_scale, corners=self._corners.take(kept), group=self.group[kept])

    @property
    def effort(self) -> float:
        """How much more than a row of one limit a row costs to integrate, on average: a factor of 30 a price."""
        dear = self._corners.n_prices[self._corners.n_prices > 1].astype(np.float64)
        return 1.0 + float(np.sum(_PRICE_COSTS ** (dear - 1.0))) / max(len(self), 1)

    def joined(self, others: Sequence[Any]) -> Self:
        """Return these regions followed by others of the same kind."""
        parts = (self, *others)
        kind, side, slope, pivot = (np.concatenate([getattr(part, name) for part in parts]) for name in ROW_ARRAYS)
        starts = np.cumsum([0, *(int(part.group.max(initial=-1)) + 1 for part in parts)])
        group = np.concatenate([part.group + start for part, start in zip(parts, starts[:-1], strict=True)])
        corners = self._corners.joined([part.corners for part in others])
        scale = max(part.price_scale for part in parts)
        return type(self)(kind, side, slope, pivot, scale, corners=corners, group=group)

    def rows(self, start: int, stop: int) -> Regions:
        """Return consecutive regions."""
        return self[start:stop]

    @property
    def _corners(self) -> Corners:
        assert self.corners is not None
        return self.corners

    def merged(self, which: NDArray[np.intp] | None = None) -> Merged | None:
        """Return the distinct regions, as `Regions.merged`."""
        law = np.zeros(len(self), np.intp) if which is None else which
        known = self._merged_by_law[0] if self._merged_by_law else None
        if known is None or not np.array_equal(known[0], law):
            known = law.copy(), self._merge(law)
            self._merged_by_law[:] = [known]
        return known[1]

    def _merge(self, law: Indices) -> Merged | None:
        pairs = np.column_stack([law, self.group])
        _, first, place, counts = np.unique(pairs, axis=0, return_index=True, return_inverse=True, return_counts=True)
        if len(first) > WORTHWHILE * len(self):
            return None
        return Merged(self[first], counts.astype(np.float64), place.ravel(), law[first])

    def contains(self, u: ArrayLike, *, margin: float = 0.0, strict: bool = False) -> NDArray[np.bool_]:
        """Tell which regions hold a utility, as `Regions.contains`; margins are for goods with one budget."""
        if margin > 0 and np.any(self.kind_code == CORNER):
            raise InvalidArgument(
                f"margin must be 0 where several limits bind, for it is in units of one price; received {margin}"
            )
        inside = super(CornerRegions, self).contains(u, margin=margin, strict=strict)
        utilities = np.asarray(u, np.float64)
        for t in np.flatnonzero(self.kind_code == CORNER):
            start, stop = self._corners.first_side[t : t + 2]
            inside[..., t] = _is_inside(utilities @ self._corners.sides[start:stop].T, utilities, strict)
        return inside

    def holds(self, u: Array) -> NDArray[np.bool_]:
        """Tell which regions hold a utility of their own, (T,) for utilities (T, n), weakly, as `contains` does."""
        inside = super(CornerRegions, self).holds(u)
        for t in np.flatnonzero(self.kind_code == CORNER):
            start, stop = self._corners.first_side[t : t + 2]
            inside[t] = _is_inside(self._corners.sides[start:stop] @ u[t], u[t], strict=False)
        return inside

    def inequalities(self, t: int) -> tuple[Array, Array]:
        """Return (V, w) such that the region of observation t is V u ≤ w."""
        if self.kind_code[t] != CORNER:
            return super(CornerRegions, self).inequalities(t)
        start, stop = self._corners.first_side[t % len(self) : t % len(self) + 2]
        return -self._corners.sides[start:stop], np.zeros(stop - start)

    def interior_points(self, *, rng: np.random.Generator) -> Array:
        """Draw one unit vector strictly inside each region, (T, n); NaN rows for degenerate observations."""
        points = super(CornerRegions, self).interior_points(rng=rng)
        for t in np.flatnonzero(self.kind_code == CORNER):
            start, stop = self._corners.first_piece[t : t + 2]
            piece = int(rng.integers(start, stop))
            points[t] = self._in_piece(piece, rng)
        return points

    def _in_piece(self, piece: int, rng: np.random.Generator) -> Array:
        side, slope = self._corners.side[piece], self._corners.slope[piece]
        prices = np.abs(rng.standard_normal(len(slope)))
        offset = rng.standard_normal(len(side))
        signed = np.where(np.abs(side) == 1, side * np.abs(offset), np.where(side == 0, 0.0, offset))
        point = signed + prices @ slope
        return np.asarray(point / np.linalg.norm(point))


_PRICE_COSTS = 30.0
_ROUNDING = 1e-12  # of a utility, to which weak inequalities hold


def _is_inside(worth: Array, utilities: Array, strict: bool) -> Any:
    if strict:
        return (worth > 0).all(axis=-1)
    return (worth >= -_ROUNDING * np.linalg.norm(utilities, axis=-1)[..., None]).all(axis=-1)
