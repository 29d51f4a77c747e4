# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The kernel behind `masses`: a group of rows, each under its law, one after another."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, BELOW, CORNER, DEGENERATE, TIGHT
from stochpref.mass.behind import turned_mass, turned_moments, turns_away
from stochpref.mass.contour import Rules
from stochpref.mass.region import Scratch, observation_mass
from stochpref.mass.shadow import Cone
from stochpref.threads import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

HOPELESS: Final = 1e-3  # relative error beyond which sampling does better than a cancelling contour


class LawConstants(NamedTuple):
    """Of K laws: h (K, n), log ∫ exp(h·u) du over the sphere (K,), E[u] (K, n), and the rules in q, which serve all."""

    h: Array
    log_total: Array
    mean: Array
    rules: Rules


class RowArrays(NamedTuple):
    """Some rows as kernels take them: the arrays of `Regions`, and of each row its law, its repeats and its run.

    A run is what a sum is made of: rows of one law that follow one another within a group.
    """

    kind: NDArray[np.int8]
    side: NDArray[np.int8]
    slope: Array
    pivot: NDArray[np.int32]
    law: Indices
    repeats: Array
    run: Indices


class Output(NamedTuple):
    """Where kernels write: log-masses and errors (T,), gradients (T, n) or (0, n), covariances by run or (0, n, n)."""

    log_mass: Array
    error: Array
    gradient: Array
    covariance: Array


@compiled
def _reveals_nothing(kind: int, side: NDArray[np.int8]) -> bool:
    """Tell whether every utility fits: all the money, none, was spent."""
    return kind == TIGHT and not np.any(side == ABOVE)


@compiled
def _cone(h: Array, kind: int, side: NDArray[np.int8], slope: Array, pivot: int) -> Cone:
    """Return one observation as the kernels read it; only ratios of prices matter, so the largest is scaled to 1."""
    largest = np.max(np.where(side == ABSENT, 0.0, slope))
    # All spent on everything on offer reveals only that what was bought is wanted, as if money were left.
    is_tight = bool(kind == TIGHT and np.any(side == BELOW))
    return Cone(h, side, slope / largest, pivot, is_tight)


@compiled
def _add_covariance(out: Output, rows: RowArrays, t: int, means: Array, moments: Array) -> None:
    for i in range(moments.shape[0]):
        for j in range(i + 1):
            out.covariance[rows.run[t], i, j] += rows.repeats[t] * (moments[i, j] - means[i] * means[j])


@compiled
def mass_rows(laws: LawConstants, rows: RowArrays, tolerance: float, out: Output, scratch: Scratch) -> None:
    """Fill `out`; to the covariance of its run each row adds the lower triangle of Cov(u | region), if wanted."""
    means, moments = scratch.means, scratch.moments
    for t in range(rows.kind.shape[0]):
        kind, side, law = rows.kind[t], rows.side[t], rows.law[t]
        if kind == DEGENERATE:
            out.log_mass[t], out.error[t] = -np.inf, 0.0
            means[:] = np.nan
        elif kind == CORNER:
            continue  # `corner_rows` does those
        elif _reveals_nothing(kind, side):
            out.log_mass[t], out.error[t] = 0.0, 0.0
            if means.shape[0] > 0:
                means[:] = laws.mean[law]
        else:
            cone = _cone(laws.h[law], kind, side, rows.slope[t], rows.pivot[t])
            if turns_away(cone):  # along the cut, where the contour would cancel
                value, out.error[t] = turned_mass(cone, tolerance, means)
                turned_moments(cone, means, moments)
            else:
                value, out.error[t] = observation_mass(cone, laws.rules, tolerance, scratch)
            out.log_mass[t] = min(value - laws.log_total[law], 0.0)
            if not out.error[t] < HOPELESS:
                continue
            _add_covariance(out, rows, t, means, moments)
        if out.gradient.shape[0] > 0:
            out.gradient[t] = means - laws.mean[law]
