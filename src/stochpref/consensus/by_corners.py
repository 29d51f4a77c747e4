# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One common utility where several limits may bind: cones known by their sides, and linear programmes.

The utility explains an observation if it lies strictly inside its cone. Points inside each cone are candidates; from
the best, a programme that looks for the deepest point in all cones kept tells whether one more fits.
Two observations conflict if no utility lies inside both; a set of pairs in conflict, none of them sharing an
observation, costs one observation each, whoever is kept: that bounds what any utility explains.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from stochpref.consensus.agreement import Agreed, Search
from stochpref.consensus.by_sides import BySides
from stochpref.errors import InvalidArgument
from stochpref.regions import Regions

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

MOST_ROWS: Final = 1_000  # beyond which programmes take minutes
_NOTHING: Final = 1e-9  # a margin that is none
_POINTS: Final = 4  # candidates inside each cone
_STARTS: Final = 3


class ByCorners(BySides):
    """Regions of which some are corners, and what `Agreement` says."""

    def margin(self, asked: float | str, n_used: int) -> float:  # noqa: ARG002
        """Return that there is none."""
        if asked != 0:
            raise InvalidArgument(
                "margin must be 0 where several limits bind, for margins are in units of one price; received "
                f"{asked!r}; leave it out"
            )
        return 0.0

    def find(self, rows: Indices, search: Search) -> Agreed:
        """Return a utility consistent with as many observations as are found, and what none exceeds."""
        if search.solver != "certified" or search.engine != "cpu":
            raise InvalidArgument(
                "solver must be 'certified' and engine 'cpu' where several limits bind; received "
                f"solver={search.solver!r}, engine={search.engine!r}; leave them out"
            )
        return _solve(self.regions[rows], search)

    def excluders(self, t: int, utility: Array) -> tuple[int, ...]:
        """Return one explained observation in conflict; () if it is explained, degenerate or there is none."""
        held = self.regions.contains(utility, strict=True)
        if held[t] or self.regions.is_degenerate[t]:
            return ()
        own = _sides_of(self.regions, t)
        rivals = (s for s in np.flatnonzero(held).tolist() if _deepest([own, _sides_of(self.regions, s)])[1] < _NOTHING)
        found = next(rivals, None)
        return () if found is None else (found,)


def _solve(regions: Regions, search: Search) -> Agreed:
    count = len(regions)
    if count > MOST_ROWS:
        raise InvalidArgument(
            f"CommonUtility takes {MOST_ROWS:,} observations of problem 'linear' at most; received {count:,}; fit some "
            f"of them, observations[:{MOST_ROWS}], or HeterogeneousUtility"
        )
    sides = [_sides_of(regions, t) for t in range(count)]
    points = np.concatenate([regions.interior_points(rng=search.rng) for _ in range(_POINTS)])
    held = regions.contains(points, strict=True)
    starts = np.argsort(-held.sum(axis=1), kind="stable")
    steps = [f"points inside: {int(held.sum(axis=1).max())} consistent"]
    utility, explained = points[starts[0]], held[starts[0]]
    for k in _apart(held, starts):
        found = _grown(regions, sides, held[k], search.rng)
        if found is not None and found[1].sum() > explained.sum():
            utility, explained = found
    steps.append(f"programmes: {int(explained.sum())} consistent")
    search.report(steps[-1])
    witness, n_pairs = _matched(sides, held, explained)
    steps.append(f"pairs in conflict: at most {count - n_pairs} consistent")
    search.report(steps[-1])
    return Agreed(utility, None, explained, count - n_pairs, witness, None, tuple(steps))


def _sides_of(regions: Regions, t: int) -> Array:
    matrix = -regions.inequalities(t)[0]
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))


def _apart(held: Mask, starts: Indices) -> list[int]:
    """Return a few of the best starts that hold different observations."""
    picked: list[int] = []
    for k in starts.tolist():
        if all(np.any(held[k] != held[other]) for other in picked):
            picked.append(k)
        if len(picked) == _STARTS:
            break
    return picked


def _deepest(sides: list[Array]) -> tuple[Array, float]:
    """Return the point of the cube deepest inside all cones, and how deep."""
    rows = np.concatenate(sides)
    n = rows.shape[1]
    found = linprog(
        np.append(np.zeros(n), -1.0), A_ub=np.column_stack([-rows, np.ones(len(rows))]), b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * n + [(None, 1.0)],
    )  # fmt: skip
    return found.x[:n], float(found.x[n])


def _grown(regions: Regions, sides: list[Array], held: Mask, rng: np.random.Generator) -> tuple[Array, Mask] | None:
    """Return a utility deep inside all of `held` and of what can be added to it, and what it explains."""
    point, depth = _deepest([sides[t] for t in np.flatnonzero(held)]) if held.any() else (np.zeros(0), 0.0)
    if depth < _NOTHING:
        return None
    explained = regions.contains(point, strict=True)
    for t in rng.permutation(len(sides)):
        if explained[t]:
            continue
        new, depth = _deepest([*(sides[s] for s in np.flatnonzero(explained)), sides[t]])
        if depth > _NOTHING:
            more = regions.contains(new, strict=True)
            if more.sum() > explained.sum():
                point, explained = new, more
    return point / np.linalg.norm(point), explained


def _matched(sides: list[Array], held: Mask, explained: Mask) -> tuple[Indices, int]:
    """Return for each odd observation one that excludes it, -1 where none was found, and how many pairs conflict."""
    odd, kept = np.flatnonzero(~explained), np.flatnonzero(explained)
    counts = held.astype(np.int64)
    in_conflict = np.zeros((len(odd), len(kept)), np.bool_)
    for i, t in enumerate(odd):
        for j in np.flatnonzero(counts[:, t] @ counts[:, kept] == 0):  # no candidate is inside both
            in_conflict[i, j] = _deepest([sides[t], sides[kept[j]]])[1] < _NOTHING
    witness = np.full(len(sides), -1)
    has_one = in_conflict.any(axis=1)
    witness[odd[has_one]] = kept[np.argmax(in_conflict[has_one], axis=1)] if kept.size else -1
    if not in_conflict.any():
        return witness, 0
    partner = maximum_bipartite_matching(csr_matrix(in_conflict), perm_type="column")
    return witness, int(np.sum(partner >= 0))
