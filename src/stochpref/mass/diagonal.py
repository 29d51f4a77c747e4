# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact masses of regions under normal laws of independent goods, each with a scale of its own.

For z ~ N(m, diag σ²) the goods z_i / σ_i have scale 1, and a region is one with slopes a_i / σ_i: the integral over the
shadow price of `shadow`, at the node q = 1, with nothing else to sum. It is positive throughout, so that no region is
too far away. With w = (z - m) / σ the gradients are E[w | region] / σ in m and E[w²| region] - 1 in log σ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance, Part, Recorded
from stochpref.kinds import ABOVE, ABSENT, BELOW, DEGENERATE, TIGHT
from stochpref.mass.conditional import log_ratio, mixed
from stochpref.mass.masses import Masses
from stochpref.mass.region import (
    MAX_EXTENSIONS,
    Scratch,
    grade,
    integrate,
    make_scratch,
    place_panels,
    refine_panels,
)
from stochpref.mass.shadow import MAX_PANELS, Cone, find_mode, on_line
from stochpref.regions import Regions
from stochpref.threads import GROUP, compiled, for_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_SUM = 4  # row of the node table that holds the sum over a node


class NormalLaws(NamedTuple):
    """Normal laws of independent goods: means (K, n), and the logarithms of scales (n,) that all of them share."""

    mean: Array
    log_scale: Array


@compiled
def gaussian_mass(cone: Cone, tolerance: float, scratch: Scratch) -> tuple[float, float]:
    """Return the log-mass of a region under N(h, I) and an estimate of its error; moments stay in `scratch`."""
    edges, nodes = scratch.edges, scratch.nodes
    is_binding = cone.pivot >= 0 or cone.is_tight
    price = find_mode(cone, 1.0, 0.0) if is_binding else 0.0
    top, _, _, _ = on_line(cone, 1.0, price, 0)
    shift = top + 0.5 * np.sum(cone.h * cone.h)
    tolerance = max(tolerance, 1e-15 * (10.0 + abs(shift)))
    n_panels = place_panels(cone, 1.0, price, tolerance, edges) if is_binding else 0
    nodes[:, 0] = 0.0
    nodes[0, 0] = 1.0  # q = 1, of weight 1
    total, error, cut, is_refined = 0.0, 0.0, 0.0, not is_binding
    for _ in range(MAX_EXTENSIONS):
        while True:
            scratch.means[:] = 0.0
            scratch.squares[:] = 0.0
            _, error, cut = integrate(cone, 0, 1, n_panels, shift, scratch)
            total = nodes[_SUM, 0]
            if is_refined or error <= tolerance * total:
                break
            n_panels = refine_panels(cone, shift, 0.1 * tolerance, n_panels, scratch)
            is_refined = True
        if cut <= tolerance * total or n_panels > MAX_PANELS // 4:
            break
        # The same again over a wider support, in a few more panels.
        edges[0] = max(edges[0] - 0.5 * (edges[n_panels] - edges[0]), 0.0)
        edges[n_panels + 1] = edges[n_panels] + 0.7 * (edges[n_panels] - edges[0])
        n_panels = grade(cone, 1.0, edges, n_panels + 1)
    if not total > 0.0:
        return -np.inf, np.inf
    scratch.means[:] /= total
    scratch.squares[:] /= total
    rounding = 1e-15 * (20.0 + abs(shift))
    return min(np.log(total) + top, 0.0), (error + cut) / total + rounding + (tolerance if is_binding else 0.0)


@compiled
def _fill_rows(
    mean: Array, scale: Array, which: Indices,
    rows: tuple[NDArray[np.int8], NDArray[np.int8], Array, NDArray[np.int32]], tolerance: float, log_mass: Array,
    error: Array, gradient: Array, scratch: Scratch,
) -> None:  # fmt: skip
    """Leave log-masses and errors, and gradients in m and log σ where there is room for them, (T, 2n)."""
    kinds, sides, slopes, pivots = rows
    n = mean.shape[1]
    for t in range(kinds.shape[0]):
        kind, side = kinds[t], sides[t]
        if kind == DEGENERATE or (kind == TIGHT and not np.any(side == ABOVE)):
            # Nothing explains the one; all the money, none, was spent, and every utility explains the other.
            log_mass[t], error[t] = -np.inf if kind == DEGENERATE else 0.0, 0.0
            if gradient.shape[0] > 0:
                gradient[t] = np.nan if kind == DEGENERATE else 0.0
            continue
        slope = slopes[t] / scale
        slope /= np.max(np.where(side == ABSENT, 0.0, slope))
        is_tight = bool(kind == TIGHT and np.any(side == BELOW))
        cone = Cone(mean[which[t]] / scale, side, slope, pivots[t], is_tight)
        log_mass[t], error[t] = gaussian_mass(cone, tolerance, scratch)
        if gradient.shape[0] > 0:
            for i in range(n):
                gradient[t, i] = (scratch.means[i] - cone.h[i]) / scale[i]
                gradient[t, n + i] = scratch.squares[i] - 1.0


def normal_log_mass(
    regions: Regions,
    laws: NormalLaws,
    which: Indices | None = None,
    *,
    gradient: bool = False,
    tolerance: float = 1e-10,
) -> Masses:
    """Return exact log-masses, their error estimates and, if asked for, gradients (T, 2n) in means and log-scales.

    Parameters
    ----------
    which : (T,) the law of each row, by its place; None for one law.
    """
    merged = regions.merged(which)
    own = np.zeros(len(regions), np.intp) if which is None else which
    place: Indices | slice = slice(None)
    if merged is not None:
        regions, own, place = merged.regions, merged.which, merged.place
    count, n = len(regions), regions.n_goods
    log_mass, error, slopes = np.empty(count), np.empty(count), np.empty((count if gradient else 0, 2 * n))
    mean, scale = np.ascontiguousarray(laws.mean), np.exp(laws.log_scale)

    def group(start: int, stop: int) -> None:
        rows, part = slice(start, stop), regions.rows(start, stop)
        arrays = part.kind_code, part.side, part.slope, part.pivot
        scratch = make_scratch(n, gradient, False, gradient)
        _fill_rows(mean, scale, own[rows], arrays, tolerance, log_mass[rows], error[rows], slopes[rows], scratch)

    for_blocks(group, count, GROUP)
    return Masses(log_mass[place], error[place], slopes[place] if gradient else None)


def normal_log_chance(
    chance: Chance,
    laws: NormalLaws,
    which: Indices | None = None,
    *,
    gradient: bool = False,
    tolerance: float = 1e-10,
) -> Masses:
    """Return the logarithms of chances, as `conditional.log_chance` does under von Mises–Fisher laws."""
    return mixed(chance, [_masses_of(part, laws, which, gradient, tolerance) for part in chance.parts]).masses


def normal_log_recorded(
    recorded: Recorded,
    laws: NormalLaws,
    which: Indices | None = None,
    *,
    gradient: bool = False,
    tolerance: float = 1e-10,
) -> Masses:
    """Return the log-probabilities (T,) of what was bought given that it could be recorded."""
    bought = normal_log_chance(recorded.chance, laws, which, gradient=gradient, tolerance=tolerance)
    if recorded.event is None:
        return bought
    event = normal_log_chance(recorded.event, laws, which, gradient=gradient, tolerance=tolerance)
    slopes = None if bought.gradient is None or event.gradient is None else bought.gradient - event.gradient
    return Masses(log_ratio(bought.log_mass, event.log_mass), bought.error + event.error, slopes)


def _masses_of(part: Part, laws: NormalLaws, which: Indices | None, gradient: bool, tolerance: float) -> Masses:
    """Return the masses of the rows of a part; -u, which a mirrored one holds, has the opposite mean."""
    sign = -1.0 if part.is_mirrored else 1.0
    own = laws._replace(mean=sign * laws.mean)
    if which is None:
        found = normal_log_mass(part.regions, own, gradient=gradient, tolerance=tolerance)
        found = Masses(
            found.log_mass[part.row], found.error[part.row],
            None if found.gradient is None else found.gradient[part.row],
        )  # fmt: skip
    else:
        found = normal_log_mass(part.regions[part.row], own, which, gradient=gradient, tolerance=tolerance)
    if found.gradient is None or sign > 0:
        return found
    turned = np.repeat([sign, 1.0], part.regions.n_goods)
    return found._replace(gradient=found.gradient * turned)


def normal_laws(mean: ArrayLike, log_scale: ArrayLike) -> NormalLaws:
    """Return laws of means (n,) or (K, n) and of log-scales (n,)."""
    return NormalLaws(np.atleast_2d(np.asarray(mean, np.float64)), np.asarray(log_scale, np.float64))
