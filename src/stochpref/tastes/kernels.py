# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The compiled part: choices of one customer under many tastes at once, and what tastes weigh under a normal law.

Tastes of a customer are laid out (p, R), the R draws side by side, so that loops over draws become vector code.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.normal import fast_exp
from stochpref.threads import compiled_reordering, inlined_reordering

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST: Final = 160.0  # of a difference of utilities: beyond it a choice is as good as impossible
_TOGETHER: Final = 4  # choices whose Σ exp are multiplied before a logarithm is taken
_STEPS: Final = 60  # of Newton's method
_CLOSE: Final = 1e-9


@inlined_reordering
def _add_utilities(
    gap: Array,
    offset: Array,
    a: int,
    theta: Array,
    v: Array,
    total: Array,
) -> None:
    """Add exp of the utilities of alternative a under tastes (p, R) to `total`; `v` is scratch."""
    p, n_draws = theta.shape
    for r in range(n_draws):
        v[r] = -offset[a]
    for k in range(p):
        factor = gap[a, k]
        if factor != 0.0:
            for r in range(n_draws):
                v[r] += factor * theta[k, r]
    for r in range(n_draws):
        total[r] += fast_exp(min(v[r], _MOST))


@compiled_reordering
def choice_values(
    gap: Array,
    offset: Array,
    first: Indices,
    begin: Indices,
    theta: Array,
    value: Array,
    start: int,
    stop: int,
) -> None:
    """Put log-probabilities (C, R) of all choices of customers start:stop under tastes (C, p, R) into `value`."""
    n_draws = theta.shape[2]
    product, total, v = np.empty(n_draws), np.empty(n_draws), np.empty(n_draws)
    for i in range(start, stop):
        value[i] = 0.0
        product[:] = 1.0
        count = 0
        for t in range(begin[i], begin[i + 1]):
            total[:] = 1.0
            for a in range(first[t], first[t + 1]):
                _add_utilities(gap, offset, a, theta[i], v, total)
            for r in range(n_draws):
                product[r] *= total[r]
            count += 1
            if count == _TOGETHER or t == begin[i + 1] - 1:
                for r in range(n_draws):
                    value[i, r] -= math.log(product[r])
                product[:] = 1.0
                count = 0


@compiled_reordering
def single_values(
    gap: Array,
    offset: Array,
    first: Indices,
    begin: Indices,
    theta: Array,
    value: Array,
    start: int,
    stop: int,
) -> None:
    """Put probabilities (T, R) of every single choice of customers start:stop under their tastes into `value`."""
    n_draws = theta.shape[2]
    v = np.empty(n_draws)
    for i in range(start, stop):
        for t in range(begin[i], begin[i + 1]):
            value[t] = 1.0
            for a in range(first[t], first[t + 1]):
                _add_utilities(gap, offset, a, theta[i], v, value[t])
            for r in range(n_draws):
                value[t, r] = 1.0 / value[t, r]


@inlined_reordering
def _factorise(
    matrix: Array,
) -> None:
    """Replace the lower triangle of a positive definite matrix by its root."""
    size = len(matrix)
    for j in range(size):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        pivot = math.sqrt(max(pivot, 1e-300))
        matrix[j, j] = pivot
        for i in range(j + 1, size):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = rest / pivot


@inlined_reordering
def _log_posterior(
    gap: Array,
    offset: Array,
    first: Indices,
    start: int,
    stop: int,
    at: Array,
    centre: Array,
    precision: Array,
) -> float:
    """Return the log-density of a taste (p,) of which choices start:stop were seen, up to a constant."""
    p, value = len(at), 0.0
    for t in range(start, stop):
        total = 1.0
        for a in range(first[t], first[t + 1]):
            v = -offset[a]
            for k in range(p):
                v += gap[a, k] * at[k]
            total += math.exp(min(v, _MOST))
        value -= math.log(total)
    for k in range(p):
        row = 0.0
        for j in range(p):
            row += precision[k, j] * (at[j] - centre[j])
        value -= 0.5 * row * (at[k] - centre[k])
    return value


@inlined_reordering
def _expand(  # noqa: C901
    gap: Array,
    offset: Array,
    first: Indices,
    start: int,
    stop: int,
    at: Array,
    centre: Array,
    precision: Array,
    slope: Array,
    root: Array,
) -> None:
    """Put the slope of that log-density into `slope`, and minus its curvature, lower triangle, into `root`."""
    p = len(at)
    mean = np.empty(p)
    for k in range(p):
        slope[k] = 0.0
        for j in range(p):
            slope[k] -= precision[k, j] * (at[j] - centre[j])
            root[k, j] = precision[k, j]
    for t in range(start, stop):
        total = 1.0
        for a in range(first[t], first[t + 1]):
            v = -offset[a]
            for k in range(p):
                v += gap[a, k] * at[k]
            total += math.exp(min(v, _MOST))
        for k in range(p):
            mean[k] = 0.0
        for a in range(first[t], first[t + 1]):
            v = -offset[a]
            for k in range(p):
                v += gap[a, k] * at[k]
            share = math.exp(min(v, _MOST)) / total
            for k in range(p):
                mean[k] += share * gap[a, k]
                for j in range(k + 1):
                    root[k, j] += share * gap[a, k] * gap[a, j]
        for k in range(p):
            slope[k] -= mean[k]
            for j in range(k + 1):
                root[k, j] -= mean[k] * mean[j]


@compiled_reordering
def find_modes(  # noqa: C901, PLR0912
    gap: Array,
    offset: Array,
    first: Indices,
    begin: Indices,
    centre: Array,
    precision: Array,
    mode: Array,
    root: Array,
    start: int,
    stop: int,
) -> None:
    """Climb to the likeliest tastes of customers start:stop by Newton's method, from where `mode` (C, p) is.

    `root` (C, p, p) becomes the lower triangular root of minus the curvature there.
    """
    p = mode.shape[1]
    slope, step, trial = np.empty(p), np.empty(p), np.empty(p)
    for i in range(start, stop):
        at, own = mode[i], (begin[i], begin[i + 1])
        value = _log_posterior(gap, offset, first, own[0], own[1], at, centre, precision)
        for _ in range(_STEPS):
            _expand(gap, offset, first, own[0], own[1], at, centre, precision, slope, root[i])
            _factorise(root[i])
            gain = 0.0
            for k in range(p):
                rest = slope[k]
                for j in range(k):
                    rest -= root[i, k, j] * step[j]
                step[k] = rest / root[i, k, k]
                gain += step[k] * step[k]
            if gain < _CLOSE:
                break
            for k in range(p - 1, -1, -1):
                rest = step[k]
                for j in range(k + 1, p):
                    rest -= root[i, j, k] * step[j]
                step[k] = rest / root[i, k, k]
            length, found = 1.0, False
            while length > 1e-6 and not found:
                for k in range(p):
                    trial[k] = at[k] + length * step[k]
                new = _log_posterior(gap, offset, first, own[0], own[1], trial, centre, precision)
                found = new > value
                length *= 0.5
            if not found:
                break
            value = new
            for k in range(p):
                at[k] = trial[k]
        for k in range(p):
            for j in range(k + 1, p):
                root[i, k, j] = 0.0


@compiled_reordering
def spread_out(
    mode: Array,
    root: Array,
    normals: Array,
    width: float,
    theta: Array,
    start: int,
    stop: int,
) -> None:
    """Put m + width · L⁻ᵀ ε into `theta` (C, p, R), for normals ε (K, p, R) of which customer i has number i mod K."""
    p, n_draws = theta.shape[1], theta.shape[2]
    for i in range(start, stop):
        own = normals[i % len(normals)]
        for k in range(p - 1, -1, -1):
            for r in range(n_draws):
                theta[i, k, r] = own[k, r]
            for j in range(k + 1, p):
                factor = root[i, j, k]
                for r in range(n_draws):
                    theta[i, k, r] -= factor * theta[i, j, r]
            scale = 1.0 / root[i, k, k]
            for r in range(n_draws):
                theta[i, k, r] *= scale
        for k in range(p):
            for r in range(n_draws):
                theta[i, k, r] = mode[i, k] + width * theta[i, k, r]


@compiled_reordering
def distances(
    mode: Array,
    root: Array,
    width: float,
    theta: Array,
    found: Array,
    start: int,
    stop: int,
) -> None:
    """Put |Lᵀ (θ - m)|² / width² into `found` (C, R), and are there by the way back of `spread_out`."""
    p, n_draws = theta.shape[1], theta.shape[2]
    total = np.empty(n_draws)
    for i in range(start, stop):
        found[i] = 0.0
        for k in range(p):
            total[:] = 0.0
            for j in range(k, p):
                for r in range(n_draws):
                    total[r] += root[i, j, k] * (theta[i, j, r] - mode[i, j])
            for r in range(n_draws):
                found[i, r] += total[r] * total[r] / (width * width)


@compiled_reordering
def weigh(  # noqa: C901, PLR0912
    theta: Array,
    log_weight: Array,
    centre: Array,
    inverse: Array,
    log_det: float,
    weight: Array,
    value: Array,
    mean: Array,
    products: Array,
    start: int,
    stop: int,
) -> None:
    """Weigh tastes (C, p, R) by exp(log_weight) · N(θ; centre, L Lᵀ), `inverse` = L⁻¹ and `log_det` = log det L.

    For customers start:stop put shares of weight (C, R), the log of their mean (C,), and, of y = L⁻¹ (θ - centre),
    means (C, p) and products (C, p, p) into the arrays given; none of these where `products` has no rows.
    """
    p, n_draws = theta.shape[1], theta.shape[2]
    y = np.empty((p, n_draws))
    for i in range(start, stop):
        own = weight[i]
        for r in range(n_draws):
            own[r] = log_weight[i, r] - log_det
        for k in range(p):
            y[k] = 0.0
            for j in range(k + 1):
                factor, at = inverse[k, j], centre[j]
                for r in range(n_draws):
                    y[k, r] += factor * (theta[i, j, r] - at)
            for r in range(n_draws):
                own[r] -= 0.5 * y[k, r] * y[k, r]
        top = own[0]
        for r in range(n_draws):
            top = max(top, own[r])
        total = 0.0
        for r in range(n_draws):
            own[r] = fast_exp(own[r] - top)
            total += own[r]
        for r in range(n_draws):
            own[r] /= total
        value[i] = top + math.log(total / n_draws)
        if len(products) == 0:
            continue
        for k in range(p):
            first = 0.0
            for r in range(n_draws):
                first += own[r] * y[k, r]
            mean[i, k] = first
            for j in range(k + 1):
                second = 0.0
                for r in range(n_draws):
                    second += own[r] * y[k, r] * y[j, r]
                products[i, k, j] = second
                products[i, j, k] = second


@compiled_reordering
def pick(
    weight: Array,
    at: Array,
    theta: Array,
    found: Array,
    start: int,
    stop: int,
) -> None:
    """Put the tastes that shares of weight (C, R) give customers start:stop at numbers `at` (C,) from 0 to 1."""
    n_draws = weight.shape[1]
    for i in range(start, stop):
        level, total, r = at[i], weight[i, 0], 0
        while total < level and r < n_draws - 1:
            r += 1
            total += weight[i, r]
        for k in range(theta.shape[1]):
            found[i, k] = theta[i, k, r]
