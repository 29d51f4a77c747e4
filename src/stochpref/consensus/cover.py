# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A set of observations without conflicts: delete the one in most conflicts until none is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.conflicts import conflicts_of, is_conflict
from stochpref.consensus.objective import Mask, Packed
from stochpref.threads import compiled_reordering


@compiled_reordering
def _remove(packed: Packed, v: int, alive: Mask, n_conflicts: NDArray[np.int64]) -> None:
    alive[v] = False
    for t in range(alive.shape[0]):
        if alive[t] and n_conflicts[t] > 0 and is_conflict(packed, v, t):
            n_conflicts[t] -= 1


@compiled_reordering
def _delete_greedily(packed: Packed, alive: Mask, n_conflicts: NDArray[np.int64], priority: NDArray[np.int64]) -> None:
    """Delete in falling number of conflicts with what is left; equal numbers in falling priority."""
    while True:
        worst = -1
        for t in range(alive.shape[0]):
            if not alive[t] or n_conflicts[t] == 0:
                continue
            lead = n_conflicts[t] - n_conflicts[worst] if worst >= 0 else 1
            if lead > 0 or (lead == 0 and priority[t] > priority[worst]):
                worst = t
        if worst < 0:
            return
        _remove(packed, worst, alive, n_conflicts)


def keep_greedily(
    packed: Packed, n_conflicts: NDArray[np.int64], *, rng: np.random.Generator, seed: int | None = None
) -> Mask:
    """Return observations without conflicts among them, (T,) mask.

    Parameters
    ----------
    n_conflicts : (T,) from `count_conflicts`.
    rng : breaks ties.
    seed : an observation to keep whatever its conflicts: another start for the search.
    """
    n_rows = n_conflicts.shape[0]
    alive, left = np.ones(n_rows, np.bool_), n_conflicts.copy()
    if seed is not None:
        for v in np.flatnonzero(conflicts_of(packed, seed)):
            _remove(packed, int(v), alive, left)
    _delete_greedily(packed, alive, left, rng.permutation(n_rows))
    return alive
