# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Moments of the contour that `series` contracts its power series with: a table over saddles, made on the host.

numpy only, so that it imports where the GPU is and nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TABLE_STEP: Final = 0.05  # of p₀: a tenth of the bell's width
MIN_SADDLE: Final = 0.5
_CONTOUR_REACH, _CONTOUR_POINTS = 8.0, 256


class Moments(NamedTuple):
    """Moments of the contour, one row per p₀ = low + row · TABLE_STEP.

    inverse : (R,) q₀.
    tilt : (R,) k of the weight p^{1-n} exp(p² + k/4p²), which has its saddle at p₀.
    log_size : (R,) logarithm of (4/π) π^{n/2} times the integral of the weight over the contour.
    moment : (R, order + 1) L[ε^m].
    """

    inverse: Any
    tilt: Any
    log_size: Any
    moment: Any


def contour_moments(n_goods: int, saddles: Array, order: int) -> Moments:
    """Return the moments of the contours through saddles p₀ (R,), by the trapezoidal rule."""
    s = saddles**2
    tilt = 2 * s * (2 * s - n_goods)
    step = 2 * _CONTOUR_REACH / _CONTOUR_POINTS
    eta = step * (np.arange(_CONTOUR_POINTS // 2) + 0.5)
    p = saddles[:, None] + 1j * eta
    epsilon = saddles[:, None] / p - 1
    log_weight = (
        2j * saddles[:, None] * eta - eta**2 - (1 - n_goods) * np.log1p(epsilon)
        + tilt[:, None] / (4 * s[:, None]) * ((1 + epsilon) ** 2 - 1)
    )  # fmt: skip
    weight = np.exp(log_weight)
    total = weight.sum(axis=1).real
    powers = np.cumprod(np.repeat(epsilon[:, None], order, axis=1), axis=1)
    moment = np.einsum("re,rme->rm", weight, powers).real / total[:, None]
    log_size = np.log(total * step) + s + (1 - n_goods) * np.log(saddles) + tilt / (4 * s)
    log_size += np.log(4 / np.pi) + 0.5 * n_goods * np.log(np.pi)
    return Moments(1 / (np.sqrt(2) * saddles), tilt, log_size, np.column_stack([np.ones(len(s)), moment]))


@lru_cache(maxsize=16)
def _cached_table(n_goods: int, order: int, n_rows: int) -> Moments:
    low = lowest_saddle(n_goods)
    return contour_moments(n_goods, low + TABLE_STEP * np.arange(n_rows, dtype=np.float64), order)


def lowest_saddle(n_goods: int) -> float:
    """Return the p₀ of the first row of the table."""
    return float(np.sqrt(max(0.35 * n_goods, MIN_SADDLE)))


def moment_table(n_goods: int, concentration: float, order: int) -> Moments:
    """Return the table that serves every region at this concentration, of few lengths, so that few are compiled for."""
    highest = np.sqrt(0.25 * (n_goods + np.sqrt(n_goods**2 + 4 * concentration**2)))
    n_rows = int((highest - lowest_saddle(n_goods)) / TABLE_STEP) + 2
    return _cached_table(n_goods, order, 2 ** int(np.ceil(np.log2(max(n_rows, 512)))))


def whole_sphere(n_goods: int, concentration: float) -> tuple[float, float]:
    """Return log ∫ exp(h·u) du over the sphere and the length of E[u], from the contour through the law's saddle."""
    saddle = np.sqrt(0.25 * (n_goods + np.sqrt(n_goods**2 + 4 * concentration**2)))
    found = contour_moments(n_goods, np.array([saddle]), 2)  # its tilt is κ²: the integrand is the weight itself
    second = 1 + 2 * found.moment[0, 1] + found.moment[0, 2]  # L[(1 + ε)²]
    return float(found.log_size[0]), float(concentration * found.inverse[0] ** 2 * second)
