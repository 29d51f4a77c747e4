# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The utilities that explain a decision: the cone of the rows that bind there, and of what never moves a decision.

Where as many rows bind as there are directions, the cone is simplicial and its facets are the rows of an inverse
matrix: nothing needs to be solved again. Where more bind, its facets are found one by one as they are met (`cuts`).
Where fewer do, the decision is inside a face: only exact ties explain it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

_SAME: Final = 1e-9  # a difference between directions
_REDUNDANT: Final = 1e-8  # what is left of a unit ray when others have done what they can


class Cone(NamedTuple):
    """What is known of the utilities that explain a decision.

    facets : (k, n) unit rows G, G u >= 0 for all of them.
    is_complete : there are no others.
    inside : (n,) a utility that explains the decision, and nothing else as well; None where it is to be found.
    is_face : only ties explain the decision.
    """

    facets: Array
    is_complete: bool
    inside: Array | None
    is_face: bool = False


def unknown_cone(n: int) -> Cone:
    """Return the cone of which nothing is known."""
    return Cone(np.zeros((0, n)), False, None)


def complete_cone(facets: Array) -> Cone:
    """Return the cone of all its inequalities, which may be of any length."""
    return Cone(distinct(facets), True, None)


def distinct(rows: Array) -> Array:
    """Return rows scaled to length 1, without zeros and without repetitions, in their order."""
    length = np.linalg.norm(rows, axis=1)
    unit = rows[length > _SAME * max(length.max(initial=0.0), 1e-300)]
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    is_copy = np.triu(unit @ unit.T > 1.0 - _SAME, 1).any(axis=0)
    return np.asarray(unit[~is_copy])


def without_redundant(rays: Array) -> Array:
    """Return rays (k, d) of a pointed cone without those that others span, by nonnegative least squares."""
    kept = list(range(len(rays)))
    for k in range(len(rays)):
        others = [j for j in kept if j != k]
        if others and nnls(rays[others].T, rays[k])[1] < _REDUNDANT:
            kept = others
    return rays[kept]


def vertex_cone(one: dict[str, Array], chosen: Array, equal: NDArray[np.bool_], basis: Array, tolerance: float) -> Cone:
    """Return the cone of a decision of a linear programme.

    Parameters
    ----------
    one : arrays of the programme.
    equal : which of its inequalities always bind.
    basis : (n, d) of the directions in which decisions differ.
    """
    n, d = basis.shape
    size = np.maximum(np.abs(one["A"]).max(axis=1, initial=0.0), 1e-300)
    room = tolerance * (1.0 + np.abs(chosen).max())
    binds = np.concatenate(
        [(one["A"] @ chosen - one["b"]) / size, one["lower"] - chosen, chosen - one["upper"]]
    ) >= -room  # fmt: skip
    binds &= ~equal
    n_rows = len(one["A"])
    of_bounds = np.flatnonzero(binds[n_rows:])
    normals = np.zeros((int(binds[:n_rows].sum()) + len(of_bounds), n))
    normals[: len(normals) - len(of_bounds)] = (one["A"] / size[:, None])[binds[:n_rows]]
    at = np.arange(len(normals) - len(of_bounds), len(normals))
    normals[at, of_bounds % n] = np.where(of_bounds < n, -1.0, 1.0)
    rays = distinct(normals @ basis)
    if len(rays) < d or np.linalg.matrix_rank(rays, tol=1e-7) < d:
        return Cone(np.zeros((0, n)), False, None, is_face=True)
    if len(rays) > d:
        rays = without_redundant(rays)
    inside = basis @ rays.sum(axis=0)
    if len(rays) > d:
        return Cone(np.zeros((0, n)), False, inside)
    return Cone(distinct(np.linalg.inv(rays.T) @ basis.T), True, inside)
