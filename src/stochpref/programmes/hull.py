# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What decisions can reveal: rows that always bind fix directions, along which utilities move no decision.

A row of A x <= b that binds in every decision is an equality nobody wrote down. They are found by programmes that
maximise the slack of all rows still suspected, together: rows with slack are cleared, and when the best total is zero
the others always bind. That is a proof, in two or three programmes as a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stochpref.programmes.linear import LinearProgramme

Array = NDArray[np.float64]
SolveFn = Callable[[Array, NDArray[np.int64]], Array]

_BINDS: Final = 1e-9  # slack of a row that binds, relative to the sizes in the programme
_RANK: Final = 1e-9


def inequalities_of(one: dict[str, Array]) -> tuple[Array, Array]:
    """Return all rows of a programme as R x <= q: those of A, then lower and upper bounds, scaled to entries of 1.

    Bounds that are infinite keep their place, with q infinite.
    """
    n = one["A"].shape[1]
    size = np.maximum(np.abs(one["A"]).max(axis=1, initial=0.0), 1e-300)
    rows = np.vstack([one["A"] / size[:, None], -np.eye(n), np.eye(n)])
    return rows, np.concatenate([one["b"] / size, -one["lower"], one["upper"]])


def equalities_of(
    programme: LinearProgramme, count: int, fixed: NDArray[np.bool_], solve: SolveFn
) -> list[NDArray[np.bool_]]:
    """Return for each of the programmes which rows of `inequalities_of` always bind."""
    each = [inequalities_of(programme.at(d)) for d in range(count)]
    rows, right = np.stack([r for r, _ in each]), np.stack([q for _, q in each])
    n = programme.n_variables
    suspected = np.isfinite(right) & np.any(rows != 0.0, axis=2)
    n_rows = suspected.shape[1] - 2 * n
    sizes = 1.0 + np.where(np.isfinite(right), np.abs(right), 0.0)
    known = np.zeros_like(suspected)
    known[:, n_rows:] = np.hstack([fixed, fixed])
    suspected &= ~known
    pending = np.flatnonzero(suspected.any(axis=1))
    while pending.size:
        utilities = -np.einsum("dr,drn->dn", suspected[pending].astype(np.float64), rows[pending])
        x = solve(utilities, pending.astype(np.int64))
        slack = np.where(suspected[pending], right[pending] - np.einsum("drn,dn->dr", rows[pending], x), 0.0)
        is_loose = slack > _BINDS * sizes[pending]
        suspected[pending] &= ~is_loose
        pending = pending[is_loose.any(axis=1) & suspected[pending].any(axis=1)]
    return list(suspected | known)


def hull_basis(one: dict[str, Array], equal: NDArray[np.bool_]) -> Array:
    """Return an orthonormal basis (n, d) of the directions along which all rows that always bind are kept."""
    rows, _ = inequalities_of(one)
    size = np.maximum(np.abs(one["E"]).max(axis=1, initial=0.0), 1e-300)
    held = np.vstack([one["E"] / size[:, None], rows[equal]])
    if len(held) == 0:
        return np.eye(rows.shape[1])
    _, values, vectors = np.linalg.svd(held, full_matrices=True)
    rank = int(np.sum(values > _RANK * max(values.max(initial=0.0), 1e-300)))
    return np.ascontiguousarray(vectors[rank:].T)
