# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which of the utilities that explain the same bundles of whole goods: all of them have the same count.

The cone that they make is known by some of its faces (`cuts`), so a walk moves inside those, one direction at a time
uniformly between them and the unit ball, and customers say of single points whether they are inside. Faces that points
are found beyond join. Of the last points the few that still lie beyond are drawn back to where the cone begins, so that
the picture is nearly uniform. Their mean lies in the cone, since it is convex.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from stochpref.consensus.centre import Centre
from stochpref.consensus.cuts import Buyers, Cuts, Depths
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_N_SAMPLES: Final = 400
_N_TRIED: Final = 32  # points that are looked at while faces are gathered
_ENOUGH: Final = 0.9  # share of them that must be inside
_MOST_AT_ONCE: Final = 4  # faces learned from one of them
_MOST_ROUNDS: Final = 12
_MOST_CHECKED: Final = 40_000  # customers asked, of all samples
_FEWEST_SAMPLES: Final = 40
_MOST_STEPS_BACK: Final = 40
_SWEEPS: Final = (200, 400, 800)  # by which the walk learns how long the cone is in which direction
_SWEEPS_KEPT: Final = 4_000
_INWARD: Final = 1e-6  # from a corner to the middle


@inlined
def _reach(u: Array, root: Array, j: int) -> tuple[float, float]:
    """Return how far a column of `root` leads back and on within the unit ball."""
    square, along, length = 0.0, 0.0, 0.0
    for i in range(u.shape[0]):
        square += u[i] * u[i]
        along += u[i] * root[i, j]
        length += root[i, j] * root[i, j]
    reach = np.sqrt(max(along * along - length * (square - 1.0), 0.0))
    return (-along - reach) / length, (-along + reach) / length


@inlined
def _between(speed: Array, room: Array, low: float, high: float) -> tuple[float, float]:
    """Return the part of a way that lies inside all faces."""
    for k in range(room.shape[0]):
        if speed[k] > 0.0:
            low = max(low, -room[k] / speed[k])
        elif speed[k] < 0.0:
            high = min(high, -room[k] / speed[k])
    return low, high


@compiled
def _walk(faces: Array, root: Array, u: Array, uniforms: Array, points: Array) -> None:
    """Move along each column of `root` in turn; write the point after every sweep.

    faces : (n, m) how fast each face is left behind along each of these directions.
    uniforms : (sweeps, n). points : (sweeps, n).
    """
    n, m = faces.shape
    room = np.empty(m)
    for sweep in range(uniforms.shape[0]):
        if sweep % 50 == 0:  # afresh, so that roundings do not add up
            place = np.linalg.solve(root, u)
            room[:] = 0.0
            for j in range(n):
                room += faces[j] * place[j]
        for j in range(n):
            low, high = _reach(u, root, j)
            low, high = _between(faces[j], room, low, high)
            if low < high:
                step = low + (high - low) * uniforms[sweep, j]
                for i in range(n):
                    u[i] += step * root[i, j]
                for k in range(m):
                    room[k] += step * faces[j, k]
        points[sweep] = u


def _walked(cuts: Cuts, root: Array, start: Array, n_sweeps: int, rng: np.random.Generator) -> Array:
    points = np.empty((n_sweeps, start.size))
    faces = np.ascontiguousarray((cuts.normals @ root).T)
    _walk(faces, root, start.copy(), rng.random((n_sweeps, start.size)), points)
    return points


def _root(points: Array) -> Array:
    """Return how long the cone is in which direction, as a root of a covariance."""
    covariance = np.atleast_2d(np.cov(points.T))
    return np.linalg.cholesky(covariance + 1e-6 * np.trace(covariance) / len(covariance) * np.eye(len(covariance)))


def find_middle(buyers: Buyers, kept: Mask, found: Depths, name: str, *, rng: np.random.Generator) -> Centre:
    """Return the centre asked for of the utilities that explain some observations (T,), with samples of them.

    Parameters
    ----------
    found : that they share utilities.
    name : one of `names.CENTRES`.
    """
    assert found.utility is not None
    deepest = found.utility / np.linalg.norm(found.utility)
    samples, cuts = _sampled(buyers, np.flatnonzero(kept), found.cuts, deepest, rng)
    units = samples / np.linalg.norm(samples, axis=1, keepdims=True)
    if name == "chebyshev":
        return Centre(deepest, units)
    if name == "vertex":
        return Centre(_corner(buyers, np.flatnonzero(kept), cuts, deepest, rng), units)
    middle = units.mean(axis=0)
    return Centre(middle / np.linalg.norm(middle), units)


def _sampled(
    buyers: Buyers, which: NDArray[np.intp], cuts: Cuts, deepest: Array, rng: np.random.Generator
) -> tuple[Array, Cuts]:
    """Return points (k, n) of the cone, and its faces."""
    root, start = np.eye(deepest.size), 0.5 * deepest
    for n_sweeps in _SWEEPS:
        root = _root(_walked(cuts, root, start, n_sweeps, rng)[n_sweeps // 4 :])
    for _ in range(_MOST_ROUNDS):
        points = _walked(cuts, root, start, _SWEEPS[0], rng)[-1 :: -_SWEEPS[0] // _N_TRIED]
        beyond = [_deepest_cuts(buyers.cuts(point, which), point) for point in points]
        if np.mean([not other.owner.size for other in beyond]) >= _ENOUGH:
            break
        for other in beyond:
            cuts = cuts.joined(other)
        root = _root(_walked(cuts, root, start, _SWEEPS[0], rng))
    count = int(np.clip(_MOST_CHECKED // which.size, _FEWEST_SAMPLES, _N_SAMPLES)) if which.size else _N_SAMPLES
    points = _walked(cuts, root, start, _SWEEPS_KEPT, rng)[:: _SWEEPS_KEPT // count]
    return np.array([_drawn_back(buyers, which, point, start) for point in points]), cuts


def _deepest_cuts(cuts: Cuts, point: Array) -> Cuts:
    """Return the few that a point is farthest beyond."""
    most = np.argsort(cuts.normals @ point)[:_MOST_AT_ONCE]
    return Cuts(cuts.difference[most], cuts.owner[most])


def _drawn_back(buyers: Buyers, which: NDArray[np.intp], point: Array, inside: Array) -> Array:
    """Return a point of the cone: this one, or where the way from it to one inside enters."""
    for _ in range(_MOST_STEPS_BACK):
        beyond = buyers.cuts(point, which)
        if not beyond.owner.size:
            return point
        there, here = beyond.difference @ point, beyond.difference @ inside
        share = float(np.min(here / np.maximum(here - there, 1e-300)))  # of the way that lies inside these faces
        point = inside + (1.0 - _INWARD) * share * (point - inside)
    return inside


def _corner(buyers: Buyers, which: NDArray[np.intp], cuts: Cuts, deepest: Array, rng: np.random.Generator) -> Array:
    """Return a corner of the cone, moved inside by no more than rounding needs."""
    toward, n = rng.standard_normal(deepest.size), deepest.size
    corner = deepest
    for _ in range(100):
        found = linprog(-toward, A_ub=-cuts.normals, b_ub=np.zeros(cuts.owner.size), bounds=[(-1.0, 1.0)] * n)
        if found.x is None or not np.any(found.x):
            break
        corner = found.x / np.linalg.norm(found.x)
        beyond = buyers.cuts((1.0 - _INWARD) * corner + _INWARD * deepest, which)
        if not beyond.owner.size:
            inside: Array = (1.0 - _INWARD) * corner + _INWARD * deepest
            return inside / np.linalg.norm(inside)
        cuts = cuts.joined(beyond)
    return deepest
