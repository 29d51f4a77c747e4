# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Sides and pieces of all corners of a data set, found once for each that differs (`vertices` has the mathematics)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.corners import Corners
from stochpref.kinds import CORNER, SLACK
from stochpref.problems.vertices import find_pieces, find_sides, rank_of
from stochpref.threads import for_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BLOCK = 64
_ROOM = 64  # sides and pieces looked for at first


def corners_of(
    kind: NDArray[np.int8], side: NDArray[np.int8], slope: Array, use: Array, binds: NDArray[np.bool_]
) -> tuple[Corners, Indices]:
    """Return the corners among rows, and (T,) numbers that rows with the same region share.

    Parameters
    ----------
    kind, side, slope : of the regions, (T,), (T, n) and (T, n).
    use, binds : (T, r, n) what a unit of each good takes of each limit, and (T, r) which of them bind.
    """
    count, n_limits, n = use.shape
    own = np.where(((kind == CORNER)[:, None] & binds)[..., None], use, 0.0)
    prices = np.where((kind == SLACK)[:, None], 1.0, slope)  # with money left, they are no part of what is told
    told = np.column_stack([kind, side, prices, own.reshape(count, -1)])
    _, firsts, group = np.unique(told, axis=0, return_index=True, return_inverse=True)
    group, width = group.ravel(), min(n_limits, int(np.max(binds.sum(axis=1), initial=0)))
    parts = [_Part(n, width) for _ in range(len(firsts))]

    def block(start: int, stop: int) -> None:
        for k in range(start, stop):
            t = firsts[k]
            if kind[t] == CORNER:
                parts[k].fill(use[t, binds[t]], side[t])

    for_blocks(block, len(firsts), _BLOCK)
    sides, pieces = (np.array([getattr(part, name) for part in parts], np.intp) for name in ("n_sides", "n_pieces"))
    distinct = Corners(
        _starts(sides), _starts(pieces), np.concatenate([part.sides for part in parts]),
        *(np.concatenate([part.pieces[k] for part in parts]) for k in range(4)),
    )  # fmt: skip
    return distinct.take(group), group


class _Part:
    """The sides and pieces of one corner; none where a row is none."""

    def __init__(self, n: int, width: int) -> None:
        self.width, self.n_sides, self.n_pieces = width, 0, 0
        self.sides = np.empty((0, n))
        self.pieces = self._room(n, 0)

    def _room(self, n: int, size: int) -> tuple[NDArray[np.int8], Array, NDArray[np.int8], Array]:
        return np.empty(size, np.int8), np.zeros((size, self.width, n)), np.empty((size, n), np.int8), np.empty(size)

    def fill(self, use: Array, side: NDArray[np.int8]) -> None:
        """Find sides and pieces from the rows that bind."""
        n = len(side)
        scaled = np.ascontiguousarray(use / np.abs(use).max(axis=1, keepdims=True))
        sides, pieces = np.empty((_ROOM, n)), self._room(n, _ROOM)
        self.n_sides, self.n_pieces = find_sides(scaled, side, sides), find_pieces(scaled, side, *pieces)
        if self.n_sides > _ROOM:
            sides = np.empty((self.n_sides, n))
            find_sides(scaled, side, sides)
        if self.n_pieces > _ROOM:
            pieces = self._room(n, self.n_pieces)
            find_pieces(scaled, side, *pieces)
        self.sides = sides[: self.n_sides]
        self.pieces = tuple(array[: self.n_pieces] for array in pieces)  # type: ignore[assignment]


def _starts(counts: Indices) -> Indices:
    return np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])


def rank_of_rows(use: Array, binds: NDArray[np.bool_], in_part: NDArray[np.bool_]) -> Indices:
    """Return the rank (T,) of the limits that bind over the goods in part."""
    rank = np.zeros(len(use), np.intp)
    for t in np.flatnonzero(in_part.any(axis=1)):
        own = use[t, binds[t]]
        if len(own):
            scaled = np.ascontiguousarray(own / np.abs(own).max(axis=1, keepdims=True))
            rank[t] = rank_of(scaled, np.flatnonzero(in_part[t]))
    return rank
