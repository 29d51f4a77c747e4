# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The law given all utilities, which matter through their sum R only.

Under the uniform prior κ | R has density C_n(κ)^T / C_n(κ|R|) once μ is integrated out, and μ | κ, R is von
Mises–Fisher about R with concentration κ|R|. κ is drawn by inverting its cdf on a grid over what matters of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stochpref.bessel import debye_coefficients, fill_log_normaliser
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]

_GRID = 257  # points of κ over the part of its density that matters
_COARSE = 33  # points with which that part is found
_MAX_ZOOMS = 12
_NEGLIGIBLE = 40.0  # fall of the log-density beyond which nothing matters


def draw_laws(
    prior: Prior, sums: Array, n_rows: int | NDArray[np.int64], seed: int, iteration: int
) -> tuple[Array, Array]:
    """Draw μ (chains, n) and κ (chains,) under the uniform prior within the bounds, given sums R (chains, n).

    Parameters
    ----------
    n_rows : that were summed, in every chain or in each.
    """
    counts = np.broadcast_to(n_rows, len(sums)).tolist()
    directions, concentrations = np.empty_like(sums), np.empty(len(sums))
    bounds = (float(prior.lower), float(prior.upper))
    for chain in range(len(sums)):
        key = (np.uint64(seed & (2**64 - 1)), chain, iteration)
        concentrations[chain] = _draw_law(
            sums[chain], counts[chain], bounds, debye_coefficients(), key, directions[chain]
        )
    return directions, concentrations


@compiled
def _draw_law(
    total: Array,
    n_rows: int,
    bounds: tuple[float, float],
    debye: Array,
    key: tuple[np.uint64, int, int],
    direction: Array,
) -> float:
    stream = np.empty(2, np.uint64)
    start_stream(stream, key[0], key[1], key[2], n_rows)  # rows 0 to T - 1 belong to observations
    length = math.sqrt(np.sum(total * total))
    kappa = _draw_concentration(total.shape[0], n_rows, length, bounds, debye, stream)
    if length > 0.0:
        direction[:] = total / length
    else:
        direction[:] = 0.0
        direction[0] = 1.0
    draw_around(direction, kappa * length, stream)
    return kappa


@compiled
def _draw_concentration(
    n_goods: int, n_rows: int, length: float, bounds: tuple[float, float], debye: Array, stream: Stream
) -> float:
    low, high = bounds
    coarse = np.empty(_COARSE)
    for _ in range(_MAX_ZOOMS):  # shrink until the density fills at least a third
        _fill_log_density(n_goods, n_rows, length, low, high, debye, coarse)
        floor = np.max(coarse) - _NEGLIGIBLE
        first, last = 0, _COARSE - 1
        while coarse[first] < floor:
            first += 1
        while coarse[last] < floor:
            last -= 1
        first, last = max(first - 1, 0), min(last + 1, _COARSE - 1)
        step = (high - low) / (_COARSE - 1)
        low, high = low + first * step, low + last * step
        if last - first > _COARSE // 3:
            break
    density = np.empty(_GRID)
    _fill_log_density(n_goods, n_rows, length, low, high, debye, density)
    density = np.exp(density - np.max(density))
    drawn = low + (high - low) / (_GRID - 1) * _draw_cell(density, uniform(stream))
    return min(max(drawn, bounds[0]), bounds[1])


@inlined
def _fill_log_density(
    n_goods: int, n_rows: int, length: float, low: float, high: float, debye: Array, out: Array
) -> None:
    """Leave log C_n(κ)^T / C_n(κ|R|), up to a constant, at evenly spaced κ."""
    size = out.shape[0]
    kappa = low + (high - low) * (np.arange(size) / (size - 1))
    outer = np.empty(size)
    fill_log_normaliser(0.5 * n_goods - 1.0, kappa, debye, outer)
    fill_log_normaliser(0.5 * n_goods - 1.0, kappa * length, debye, out)
    for k in range(size):
        out[k] += kappa[k] * length - n_rows * (outer[k] + kappa[k])


@inlined
def _draw_cell(density: Array, probability: float) -> float:
    """Return a quantile, in cells from the first point, of a density that is linear between points."""
    total = 0.0
    for k in range(density.shape[0] - 1):
        total += 0.5 * (density[k] + density[k + 1])
    left, cell = probability * total, 0
    while cell < density.shape[0] - 2 and left > 0.5 * (density[cell] + density[cell + 1]):
        left -= 0.5 * (density[cell] + density[cell + 1])
        cell += 1
    # d0 s + (d1 - d0) s²/2 = left, in the form that does not cancel.
    start, slope = density[cell], density[cell + 1] - density[cell]
    root = math.sqrt(max(start * start + 2.0 * slope * left, 0.0))
    return cell + (min(2.0 * left / (start + root), 1.0) if start + root > 0.0 else 0.0)


@compiled
def draw_around(direction: Array, kappa: float, stream: Stream) -> None:
    """Replace a unit vector by a von Mises–Fisher draw about it; the method is that of `laws.VonMisesFisher`."""
    n = direction.shape[0]
    m = n - 1
    b = m / (2.0 * kappa + math.hypot(2.0 * kappa, m))
    x = (1.0 - b) / (1.0 + b)
    normals = np.empty(m)
    while True:
        g, g_other = _half_chi_square(normals, stream), _half_chi_square(normals, stream)
        scale = g_other + b * g
        r = (1.0 + b) * g / scale
        log_ratio = kappa * (2.0 * b / (1.0 + b)) * (1.0 - r) + m * math.log1p(x * (r - 1.0) / (1.0 + x))
        if log_ratio >= math.log(uniform(stream)):
            break
    below, above = 2.0 * b * g / scale, 2.0 * g_other / scale
    across = math.sqrt(below * above / (2.0 * _half_chi_square(normals, stream)))
    # The reflection that takes the first axis to the direction, as in `laws.VonMisesFisher.sample`.
    sign = 1.0 if direction[0] >= 0.0 else -1.0
    along = (1.0 - below) * (direction[0] + sign)
    for i in range(m):
        along += across * normals[i] * direction[i + 1]
    along /= 1.0 + abs(direction[0])
    direction[0] = -sign * (1.0 - below - along * (direction[0] + sign))
    for i in range(m):
        direction[i + 1] = -sign * (across * normals[i] - along * direction[i + 1])


@inlined
def _half_chi_square(normals: Array, stream: Stream) -> float:
    """Fill normals (Box and Muller) and return half the sum of their squares: gamma with half as many degrees."""
    total = 0.0
    for i in range(0, normals.shape[0], 2):
        radius, angle = math.sqrt(-2.0 * math.log(uniform(stream))), 2.0 * math.pi * uniform(stream)
        normals[i] = radius * math.cos(angle)
        total += normals[i] * normals[i]
        if i + 1 < normals.shape[0]:
            normals[i + 1] = radius * math.sin(angle)
            total += normals[i + 1] * normals[i + 1]
    return 0.5 * total
