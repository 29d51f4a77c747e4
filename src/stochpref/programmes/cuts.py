# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The cones of all decisions as far as they are known: walls found by asking the optimiser, one after another.

Whatever beats a decision at some utility is a wall: utilities that explain the decision are on one side of it.
Latents move inside known walls; a move that ends where something beats the decision finds a wall and goes back. That
is a Metropolis step with a reversible proposal, so that draws are from the cone itself, for any set, convex or not.

Every answer is checked against the decision, which was feasible: an optimiser that returns something worse than it is
inexact, one that beats it where its cone says nothing can is not the one that was faced.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from stochpref.errors import InvalidArgument, InvalidObservations, counted, describe_rows
from stochpref.programmes.decisions import Decisions

Array = NDArray[np.float64]

_GAP: Final = 1e-6  # by how much an answer may be worse than the decision, relative to what is compared
_SAME: Final = 1e-9
_MOST_ROUNDS: Final = 10_000


class Cuts:
    """Walls g·z >= 0 of every decision, in the directions that decisions reveal; they only ever grow.

    walls : (T, cap, d) unit rows; count : (T,) how many are known; is_complete : (T,) those are all.
    inside : (T, d) a utility that explains the decision.
    rows : (T,) of the decisions given, without those that nothing explains but ties.
    """

    def __init__(self, decisions: Decisions, degenerate: str) -> None:
        rows = decisions.usable(degenerate)
        self.basis = decisions.basis
        self._take(decisions, rows)
        dead = self._find_inside()
        if dead.size:
            if degenerate == "refuse" or dead.size == len(rows):
                raise InvalidObservations(
                    f"chosen: no utility makes {counted(dead.size, 'decision')} ({describe_rows(rows[dead].tolist())}) "
                    "better than all others; check that they are decisions of this problem, or drop them with "
                    "degenerate='drop'",
                    rows[dead].tolist(),
                )
            rows = np.delete(rows, dead)
            self._take(decisions, rows)
            self._find_inside()
        self.rows = rows

    def _take(self, decisions: Decisions, rows: NDArray[np.intp]) -> None:
        self.problem, self.chosen = decisions.problem.take(rows), decisions.chosen[rows]
        cones, d = [decisions.cones[t] for t in rows], self.basis.shape[1]
        known = [_unit(cone.facets @ self.basis) for cone in cones]
        self.count = np.array([len(facets) for facets in known], np.int64)
        self.is_complete = np.array([cone.is_complete for cone in cones])
        self.walls = np.zeros((len(rows), max(int(self.count.max(initial=0)), 8), d))
        for t, facets in enumerate(known):
            self.walls[t, : len(facets)] = facets
        self.inside = np.zeros((len(rows), d))
        self._has_inside = np.array([cone.inside is not None for cone in cones])
        for t in np.flatnonzero(self._has_inside).tolist():
            inside = cones[t].inside
            assert inside is not None
            self.inside[t] = inside @ self.basis
        self.n_solves = 0

    def __len__(self) -> int:
        return len(self.chosen)

    def of(self, row: int) -> Array:
        """Return the walls known of one decision."""
        return self.walls[row, : self.count[row]]

    def explains(self, rows: NDArray[np.intp], latents: Array) -> NDArray[np.bool_]:
        """Return which utilities (k, d) the optimiser answers with the decisions of rows (k,); learn from the others.

        Rows of complete cones are taken to be explained: latents move inside their walls.
        """
        asked = np.flatnonzero(~self.is_complete[rows])
        holds = np.ones(len(rows), np.bool_)
        if asked.size:
            found = self._ask(rows[asked], latents[asked])
            holds[asked] = self._learn(rows[asked], latents[asked], found)
        return holds

    def _ask(self, rows: NDArray[np.intp], latents: Array) -> Array:
        self.n_solves += len(rows)
        return self.problem.solve(latents @ self.basis.T, rows)

    def _learn(self, rows: NDArray[np.intp], latents: Array, found: Array) -> NDArray[np.bool_]:
        """Return which answers do not beat the decisions; add a wall for each that does."""
        apart = (self.chosen[rows] - found) @ self.basis
        lead = np.sum(latents * apart, axis=1)
        size = np.linalg.norm(apart, axis=1) * np.linalg.norm(latents, axis=1)
        small = _SAME * (1.0 + np.abs(self.chosen[rows]).max(axis=1)) * np.linalg.norm(latents, axis=1)
        worse = np.flatnonzero(lead > _GAP * size + small)
        if worse.size:
            t = int(rows[worse[0]])
            raise InvalidArgument(
                f"solve must return the best decision: for row {t} it returns one that is worse than the decision seen "
                f"there, by {lead[worse[0]] / np.linalg.norm(latents[worse[0]]):.2g} a unit of utility; solve exactly, "
                "with no gap"
            )
        is_beaten = lead < -small
        for k in np.flatnonzero(is_beaten):
            self._add(int(rows[k]), apart[k])
        return ~is_beaten

    def _add(self, row: int, wall: Array) -> None:
        unit = wall / np.linalg.norm(wall)
        known = self.of(row)
        if len(known) and np.max(known @ unit) > 1.0 - _SAME**1.5:
            return
        if self.count[row] == self.walls.shape[1]:
            self.walls = np.concatenate([self.walls, np.zeros_like(self.walls)], axis=1)
        self.walls[row, self.count[row]] = unit
        self.count[row] += 1

    def _find_inside(self) -> NDArray[np.intp]:
        """Put a utility inside every cone; return the rows where there is none.

        A utility is as far from all known walls as can be; where something beats the decision there, or ties with it,
        that is a wall, and it is moved.
        """
        self._check_known(np.flatnonzero(self._has_inside))
        pending = np.flatnonzero(~self._has_inside)
        is_told = ~self._has_inside & self.is_complete  # of its own cone, by an optimiser of one's own
        away = (self.chosen - self.chosen.mean(axis=0)) @ self.basis
        dead: list[int] = []
        for t in pending.tolist():
            is_no_direction = np.linalg.norm(away[t]) < _SAME
            self.inside[t] = np.ones(self.basis.shape[1]) if is_no_direction else away[t]
        for _ in range(_MOST_ROUNDS):
            still = []
            for t in pending.tolist():
                point = widest(self.of(t)) if self.count[t] else self.inside[t]
                if point is None:
                    dead.append(t)
                else:
                    self.inside[t] = point
                    still.append(t)
            pending = np.array([t for t in still if not self.is_complete[t]], np.intp)
            if pending.size == 0:
                is_told[dead] = False
                self._check_known(np.flatnonzero(is_told))
                return np.array(sorted(dead), np.intp)
            found = self._ask(pending, self.inside[pending])
            self._learn(pending, self.inside[pending], found)
            apart = (self.chosen[pending] - found) @ self.basis
            is_other = np.linalg.norm(apart, axis=1) > 1e-7 * (1.0 + np.abs(self.chosen[pending]).max(axis=1))
            for k in np.flatnonzero(is_other):
                self._add(int(pending[k]), apart[k])
            pending = pending[is_other]
        raise InvalidArgument(f"rows must have cones with fewer than {_MOST_ROUNDS:,} walls on the way to their inside")

    def _check_known(self, rows: NDArray[np.intp]) -> None:
        """Refuse an optimiser that beats decisions at utilities that are known to explain them."""
        if rows.size == 0:
            return
        holds = self._learn(rows, self.inside[rows], self._ask(rows, self.inside[rows]))
        if not holds.all():
            at = rows[~holds]
            raise InvalidArgument(
                f"solve must be of the problem that was faced: it beats {counted(at.size, 'decision')} "
                f"({describe_rows(at.tolist())}) at utilities that explain them; check solve and cone"
            )


def widest(walls: Array) -> Array | None:
    """Return the unit vector farthest inside walls (k, d), by least distance programming; None if nothing is inside.

    Lawson and Hanson: the shortest u with G u >= 1 is read off the residual of a nonnegative least squares problem.
    """
    matrix = np.vstack([walls.T, np.ones(len(walls))])
    target = np.append(np.zeros(walls.shape[1]), 1.0)
    multipliers, rest = nnls(matrix, target, maxiter=100 * (len(walls) + 10))
    residual = matrix @ multipliers - target
    if rest < 1e-10 or -residual[-1] < 1e-18:
        return None
    point = -residual[:-1] / residual[-1]
    length = np.linalg.norm(point)
    return None if length == 0.0 or np.min(walls @ point) <= 0.0 else point / length


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1)
    return rows[length > _SAME] / length[length > _SAME, None]
