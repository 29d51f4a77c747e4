# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One sweep over the utilities of customers inside their regions, under a normal law of any covariance.

A coordinate, given the others, is normal with mean z_i - y_i / P_ii and variance 1 / P_ii, y = P (z - m), P the inverse
of the covariance, cut off where the bundle would change: one truncated normal each. Where money binds, a last move adds
a multiple of the prices, which changes no order of ratios.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, BELOW, PIVOT, TIGHT
from stochpref.posterior.samplers.gibbs_moves import extremes
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.problems.interval_kernels import (
    MenuRows,
    Pass,
    corners_at,
    interval_at,
    lay_out,
    make_pass,
    value_of,
)
from stochpref.problems.pareto import IN_PART, extended, limit_of
from stochpref.threads import GROUP, compiled, inlined

Array = NDArray[np.float64]

_ROOT_2PI: Final = math.sqrt(2.0 * math.pi)


class Moments(NamedTuple):
    """Of the rows of each group: sums (groups, n) of d = z - m, and of d dᵀ (groups, n, n), lower triangles."""

    sums: Array
    products: Array


@inlined
def _normal(stream: Stream) -> float:
    return math.sqrt(-2.0 * math.log(uniform(stream))) * math.cos(2.0 * math.pi * uniform(stream))


@inlined
def _tail(low: float, high: float, stream: Stream) -> float:
    """Return a standard normal between two numbers, the lower one positive."""
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    if high - low > 1.0 / rate:
        while True:
            x = low - math.log(uniform(stream)) / rate
            if x <= high and uniform(stream) <= math.exp(-0.5 * (x - rate) * (x - rate)):
                return x
    while True:
        x = low + (high - low) * uniform(stream)
        if uniform(stream) <= math.exp(0.5 * (low * low - x * x)):
            return x


@inlined
def _between(low: float, high: float, stream: Stream) -> float:
    """Return a standard normal between two numbers, by rejection that takes two or three tries at most on average."""
    if low > 0.5:
        return _tail(low, high, stream)
    if high < -0.5:
        return -_tail(-high, -low, stream)
    if high - low > _ROOT_2PI or low == -np.inf or high == np.inf:
        while True:
            x = _normal(stream)
            if low <= x <= high:
                return x
    while True:  # what is narrow is nearly flat
        x = low + (high - low) * uniform(stream)
        if uniform(stream) <= math.exp(-0.5 * x * x):
            return x


@inlined
def draw_between(mean: float, sd: float, low: float, high: float, stream: Stream) -> float:
    """Return a normal number between two others."""
    if not low < high:
        return low
    drawn = mean + sd * _between((low - mean) / sd, (high - mean) / sd, stream)
    return min(max(drawn, low), high)


@inlined
def _move(z: Array, y: Array, i: int, low: float, high: float, precision: Array, stream: Stream) -> None:
    """Move one coordinate between its ends, and y with it."""
    variance = 1.0 / precision[i, i]
    # Rounding may have put the present value a hair past an end.
    moved = draw_between(z[i] - y[i] * variance, math.sqrt(variance), min(low, z[i]), max(high, z[i]), stream)
    step = moved - z[i]
    z[i] = moved
    for j in range(z.shape[0]):
        y[j] += step * precision[i, j]


@inlined
def _fill_residual(z: Array, mean: Array, precision: Array, y: Array) -> None:
    n = z.shape[0]
    for i in range(n):
        y[i] = 0.0
    for j in range(n):
        gap = z[j] - mean[j]
        for i in range(n):
            y[i] += precision[j, i] * gap


@inlined
def _add_moments(z: Array, mean: Array, sums: Array, products: Array) -> None:
    for i in range(z.shape[0]):
        gap = z[i] - mean[i]
        sums[i] += gap
        for j in range(i + 1):
            products[i, j] += gap * (z[j] - mean[j])


@inlined
def _ends(
    z: Array, i: int, kind: int, side: NDArray[np.int8], slope: Array, pivot: int, floor: float
) -> tuple[float, float]:
    """Return between which values a coordinate may lie, given the others."""
    if side[i] == ABSENT:
        return -np.inf, np.inf
    if kind == PIVOT and i == pivot:
        low, high = extremes(z, side, slope, i, -1)
        return slope[i] * high, slope[i] * low
    shadow_low, shadow_high = 0.0, 0.0
    if kind == PIVOT:
        shadow_low = shadow_high = z[pivot] / slope[pivot]
    elif kind == TIGHT:
        shadow_high, shadow_low = extremes(z, side, slope, i, -1)
        if floor < 0.0 and shadow_low == 0.0:  # no outside option: the others, not 0, are what counts
            shadow_low = floor
            for k in range(z.shape[0]):
                if k != i and side[k] == BELOW:
                    shadow_low = max(shadow_low, z[k] / slope[k])
    if side[i] == ABOVE:
        return slope[i] * shadow_low, np.inf
    return -np.inf, slope[i] * shadow_high


@inlined
def _shift(
    z: Array, y: Array, along: Array, kind: int, side: NDArray[np.int8], slope: Array, pivot: int, floor: float,
    precision: Array, stream: Stream,
) -> None:  # fmt: skip
    """Add a multiple of the prices, as long as the shadow price is not negative; `along` is room for P a."""
    n, inner, square = z.shape[0], 0.0, 0.0
    for i in range(n):
        along[i] = 0.0
    for j in range(n):
        if side[j] != ABSENT:
            inner += slope[j] * y[j]
            for i in range(n):
                along[i] += precision[j, i] * slope[j]
    for j in range(n):
        if side[j] != ABSENT:
            square += slope[j] * along[j]
    least = -np.inf
    if floor == 0.0:
        least = -max(z[pivot] / slope[pivot] if kind == PIVOT else extremes(z, side, slope, -1, -1)[0], 0.0)
    step = draw_between(-inner / square, 1.0 / math.sqrt(square), least, np.inf, stream)
    for i in range(n):
        if side[i] != ABSENT:
            z[i] += step * slope[i]
        y[i] += step * along[i]


@compiled
def sweep_regions(
    regions: tuple[NDArray[np.int8], NDArray[np.int8], Array, NDArray[np.int32]], floor: float, mean: Array,
    precision: Array, key: tuple[np.uint64, int, int], latents: Array, moments: Moments, start: int, stop: int,
) -> None:  # fmt: skip
    """Sweep the rows of groups start..stop of one chain in place, and leave their moments.

    Parameters
    ----------
    regions : kinds (T,), sides (T, n), slopes (T, n), pivots (T,).
    floor : of the shadow price: 0, or -inf where only differences of utilities count.
    mean, precision : (n,) and (n, n) of the law.
    key : seed, chain, iteration.
    latents : (T, n) utilities in their regions.
    """
    kinds, sides, slopes, pivots = regions
    n_rows, n = latents.shape
    stream, y, along = np.empty(2, np.uint64), np.empty(n), np.empty(n)
    for group in range(start, stop):
        moments.sums[group] = 0.0
        moments.products[group] = 0.0
        for t in range(group * GROUP, min((group + 1) * GROUP, n_rows)):
            z, kind = latents[t], kinds[t]
            start_stream(stream, key[0], key[1], key[2], t)
            _fill_residual(z, mean, precision, y)
            for i in range(n):
                low, high = _ends(z, i, kind, sides[t], slopes[t], pivots[t], floor)
                _move(z, y, i, low, high, precision, stream)
            if kind in (PIVOT, TIGHT):
                _shift(z, y, along, kind, sides[t], slopes[t], pivots[t], floor, precision, stream)
            _add_moments(z, mean, moments.sums[group], moments.products[group])


@compiled
def _move_inside(
    z: Array, y: Array, rows: MenuRows, t: int, order: NDArray[np.int64], precision: Array, memory: Pass, costs: Array,
    values: Array, stream: Stream,
) -> tuple[Array, Array, bool]:  # fmt: skip
    """Move every coordinate of one utility in a region known by intervals; tell whether its lists were not too long."""
    costs, values, end = lay_out(z, rows, t, order, memory, costs, values)
    begin, tail, limit = 0, 1, limit_of(rows.stated[t])
    corners = corners_at(z, rows, t, -1, memory)
    value = value_of(z, rows.bundles[t])
    for place in range(z.shape[0]):
        i = order[place]
        if end < 0:
            return costs, values, False
        if rows.units[t, i] == IN_PART:
            corners = corners_at(z, rows, t, i, memory)
        low, high = interval_at(z, rows, t, order, place, (begin, tail), memory, corners, value, costs, values)
        before = z[i]
        _move(z, y, i, low, high, precision, stream)
        value += (z[i] - before) * rows.bundles[t, i]
        if place + 1 < z.shape[0] and rows.units[t, i] > 0 and z[i] > 0.0:
            costs, values, stretched = extended(
                costs, values, begin, tail, rows.prices[t, i], z[i], rows.units[t, i], limit, end
            )
            begin, tail, end = end, stretched, stretched
    return costs, values, True


@compiled
def sweep_inside(
    rows: MenuRows, order: NDArray[np.int64], mean: Array, precision: Array, key: tuple[np.uint64, int, int],
    latents: Array, moments: Moments, start: int, stop: int,
) -> bool:  # fmt: skip
    """Sweep as `sweep_regions`, in regions known by intervals; tell whether no lists were too long.

    Parameters
    ----------
    order : in which goods are taken.
    """
    n_rows, n = latents.shape
    memory, stream, y = make_pass(n), np.empty(2, np.uint64), np.empty(n)
    costs, values = np.empty(1024), np.empty(1024)
    for group in range(start, stop):
        moments.sums[group] = 0.0
        moments.products[group] = 0.0
        for t in range(group * GROUP, min((group + 1) * GROUP, n_rows)):
            z = latents[t]
            start_stream(stream, key[0], key[1], key[2], t)
            _fill_residual(z, mean, precision, y)
            costs, values, is_done = _move_inside(z, y, rows, t, order, precision, memory, costs, values, stream)
            if not is_done:
                return False
            _add_moments(z, mean, moments.sums[group], moments.products[group])
    return True
