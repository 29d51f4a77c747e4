# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The exact optimum of small problems: a mixed-integer programme over which observations to keep.

One binary an observation; of a clique of conflicts at most one is kept, of a cycle of differences not all. There are
too many cycles to list, so they are added as the programme's solutions run into them. No big constants, no margin: a
solution that shares a utility is optimal, and the programme's own bound holds at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from stochpref.consensus.conflicts import conflict_matrix
from stochpref.consensus.feasibility import find_cycles
from stochpref.consensus.objective import Mask, Packed
from stochpref.threads import compiled

LARGEST = 2500  # observations


class Programme(NamedTuple):
    """What the programme found.

    upper_bound : no more observations share a utility.
    kept : (T,) observations without conflicts or known cycles; None if it found nothing in time. If time ran out they
        may hold a cycle still.
    """

    upper_bound: int
    kept: Mask | None


@compiled
def _grow_cliques(  # noqa: C901
    conflict: Mask, is_covered: Mask, members: NDArray[np.int64], sizes: NDArray[np.int64]
) -> int:
    """Write cliques that cover every conflict one after the other into `members`; return their number.

    A clique grows only by observations that cover something new: as tight in practice as largest cliques, and thirty
    times smaller. Stops early where `members` or `sizes` is full.
    """
    n_rows = conflict.shape[0]
    n_cliques, n_members = 0, 0
    for s in range(n_rows):
        for t in range(s + 1, n_rows):
            if is_covered[s, t] or not conflict[s, t]:
                continue
            if n_cliques == sizes.shape[0] or n_members + n_rows > members.shape[0]:
                return n_cliques
            members[n_members], members[n_members + 1] = s, t
            size = 2
            for step in range(n_rows):
                r = (t + step) % n_rows
                n_new = 0
                for m in range(size):
                    if not conflict[members[n_members + m], r]:
                        n_new = -1
                        break
                    n_new += not is_covered[members[n_members + m], r]
                if n_new > 0:
                    members[n_members + size] = r
                    size += 1
            for m in range(size):
                for k in range(size):
                    is_covered[members[n_members + m], members[n_members + k]] = True
            sizes[n_cliques] = size
            n_cliques += 1
            n_members += size
    return n_cliques


def _cliques(conflict: Mask) -> list[list[int]] | None:
    """Cover every conflict by cliques: far tighter than one inequality a pair. None if there are too many."""
    members, sizes = np.empty(4_000_000, np.int64), np.zeros(400_000, np.int64)
    is_covered = np.zeros_like(conflict)
    n_cliques = _grow_cliques(conflict, is_covered, members, sizes)
    if np.any(conflict & ~is_covered):
        return None
    ends = np.cumsum(sizes[:n_cliques])
    return [part.tolist() for part in np.split(members[: ends[-1]], ends[:-1])] if n_cliques else []


def _constraint(groups: list[list[int]], limits: list[int], n_rows: int) -> LinearConstraint:
    # 32-bit indices: the solver behind older versions of SciPy takes no others.
    rows = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
    columns = np.concatenate([np.asarray(group, dtype=np.int32) for group in groups])
    matrix = csr_array((np.ones(columns.size), (rows, columns)), shape=(len(groups), n_rows))
    return LinearConstraint(matrix, -np.inf, np.array(limits, float))


def solve_programme(packed: Packed, *, seconds: float) -> Programme:
    """Return the largest set of observations that share a utility, or the best bound within the time."""
    return keep_most(conflict_matrix(packed), lambda kept: find_cycles(packed, kept), seconds=seconds)


def keep_most(conflict: Mask, groups_fn: Callable[[Mask], list[list[int]]], *, seconds: float) -> Programme:
    """Return the largest set of observations (T,) without conflicts (T, T) in which no group stands that cannot.

    Parameters
    ----------
    groups_fn : returns groups of a set that cannot all hold, proven; none where the set shares a utility, or where no
        proof was found.
    """
    n_rows = conflict.shape[0]
    deadline = time.monotonic() + seconds
    groups = _cliques(conflict)
    if groups is None:
        return Programme(n_rows, None)
    limits = [1] * len(groups)
    bound, kept = n_rows, None
    while True:
        left = deadline - time.monotonic()
        if left <= 0.0:
            return Programme(bound, kept)
        constraints = [_constraint(groups, limits, n_rows)] if groups else []
        # Presolving merges cliques without an eye on the clock, and can take minutes where the search takes seconds.
        options = {"time_limit": left, "mip_rel_gap": 0.0, "presolve": False}
        found = milp(
            -np.ones(n_rows), integrality=np.ones(n_rows), bounds=Bounds(0, 1), constraints=constraints, options=options
        )
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            bound = min(bound, int(np.floor(-found.mip_dual_bound + 1e-6)))
        if found.x is None:
            return Programme(bound, kept)
        kept = found.x > 0.5
        cycles = groups_fn(kept)
        if not cycles or found.status != 0:
            return Programme(bound, kept)
        groups += cycles
        limits += [len(cycle) - 1 for cycle in cycles]
