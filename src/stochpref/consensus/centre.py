# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which utility of the best cell: all have the same count, but the middle generalises best.

Under a Gaussian law the cell is a product of independent cones, one for each group of goods linked by differences, and
in each the direction is independent of the length. The Bayes point (the mean of the cell) is therefore
E[chi_d]·E[direction] for a group of d goods, and the directions are sampled uniformly by moving one good at a time
between its neighbours inside the unit ball. A negative good has only its sign revealed: its mean is -E[chi_1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from stochpref.consensus.feasibility import Cell, potentials
from stochpref.consensus.objective import Array, Mask
from stochpref.threads import compiled

_N_SAMPLES = 400  # kept to describe the cell
_CHUNK = 250  # sweeps whose random numbers are drawn at once


class Centre(NamedTuple):
    """A utility of the cell and a picture of the others.

    utility : (n,) unit vector.
    samples : (k, n) unit vectors drawn uniformly from the cell.
    """

    utility: Array
    samples: Array


@compiled
def _sweep_ball(
    u: Array, ratio: Array, inverse: Array, is_positive: Mask, is_negative: Mask, uniforms: Array, directions: Array
) -> None:
    """Move each good in turn, uniformly between its bounds; write the direction after every sweep.

    ratio : (n, n) u_p < ratio[p, q] u_q; inverse : (n, n) u_p > inverse[p, r] u_r.
    """
    n = u.shape[0]
    for sweep in range(uniforms.shape[0]):
        square = 0.0
        for p in range(n):
            square += u[p] * u[p]
        for p in range(n):
            rest = max(square - u[p] * u[p], 0.0)
            reach = np.sqrt(max(1.0 - rest, 0.0))
            low = 0.0 if is_positive[p] else -reach
            high = 0.0 if is_negative[p] else reach
            for q in range(n):
                high = min(high, ratio[p, q] * u[q] if ratio[p, q] < np.inf else np.inf)
                if inverse[p, q] > 0.0:
                    low = max(low, inverse[p, q] * u[q])
            if low < high:
                u[p] = low + (high - low) * uniforms[sweep, p]
            square = rest + u[p] * u[p]
        length = np.sqrt(square)
        for p in range(n):
            directions[sweep, p] = u[p] / length


def _n_sweeps(n_linked: int) -> int:
    """Return enough sweeps for a chain of ordered goods, which forgets in about n²/10, within 4e8 steps."""
    return int(min(max(2000, 3 * n_linked**2), max(500, 4e8 / n_linked**2)))


def _sample_group(
    cell: Cell, goods: NDArray[np.intp], start: Array, *, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the mean direction (d,) of a group of linked goods and (_N_SAMPLES, d) directions."""
    links = cell.log_ratio[np.ix_(goods, goods)]
    with np.errstate(over="ignore"):  # a ratio beyond all doubles binds nothing
        ratio, inverse = np.exp(links), np.exp(-links.T)
    u = start[goods] / np.linalg.norm(start[goods]) * 0.9
    is_positive, is_negative = cell.is_positive[goods], cell.is_negative[goods]
    n_sweeps = _n_sweeps(goods.size)
    total, thinned = np.zeros(goods.size), []
    wanted = np.linspace(0, n_sweeps - 1, _N_SAMPLES).astype(np.int64)  # there are at least 500 sweeps
    burn_in = _CHUNK * -(-n_sweeps // (5 * _CHUNK))
    for first in range(-burn_in, n_sweeps, _CHUNK):
        directions = np.empty((_CHUNK, goods.size))
        uniforms = rng.random((_CHUNK, goods.size))
        _sweep_ball(u, ratio, inverse, is_positive, is_negative, uniforms, directions)
        if first >= 0:
            total += directions.sum(axis=0)
            thinned.append(directions[wanted[(first <= wanted) & (wanted < first + _CHUNK)] - first])
    kept = np.concatenate(thinned)
    return total / np.linalg.norm(total) * np.linalg.norm(kept.mean(axis=0)), kept


def _mean_length(n_goods: int) -> float:
    """Return E[chi_d] = √2 Γ((d+1)/2)/Γ(d/2)."""
    return float(np.sqrt(2.0) * np.exp(gammaln(0.5 * (n_goods + 1)) - gammaln(0.5 * n_goods)))


def _middle(cell: Cell) -> Array:
    """Return a utility inside the cell: halfway, in logs, between two corners; -1 for goods that need not be wanted."""
    highest, lowest = potentials(cell)
    v = 0.5 * (highest + lowest)
    return np.where(cell.is_positive, np.exp(v - v.max()), -1.0)


def _groups(cell: Cell) -> list[NDArray[np.intp]]:
    _, label = connected_components(coo_array(np.isfinite(cell.log_ratio)), directed=False)
    return [np.flatnonzero(label == k) for k in range(label.max() + 1)]


def bayes_point(cell: Cell, *, rng: np.random.Generator) -> Centre:
    """Return the mean of the cell, which predicts best on average over the utilities it holds."""
    n = cell.is_positive.size
    utility, samples = np.zeros(n), np.zeros((_N_SAMPLES, n))
    start = _middle(cell)
    sign = cell.is_positive.astype(float) - cell.is_negative
    for goods in _groups(cell):
        lengths = np.sqrt(rng.chisquare(goods.size, _N_SAMPLES))
        if goods.size == 1:
            random_sign = rng.choice([-1.0, 1.0], _N_SAMPLES)
            utility[goods] = sign[goods] * _mean_length(1)
            samples[:, goods[0]] = lengths * (sign[goods[0]] if sign[goods[0]] else random_sign)
            continue
        mean, directions = _sample_group(cell, goods, start, rng=rng)
        utility[goods] = _mean_length(goods.size) * mean
        samples[:, goods] = directions * lengths[:, None]
    return Centre(_unit(utility, start), samples / np.linalg.norm(samples, axis=1, keepdims=True))


def chebyshev_point(cell: Cell) -> Array:
    """Return the centre of the largest ball inside the cell and the unit box, (n,)."""
    n = cell.is_positive.size
    p, q = np.nonzero(np.isfinite(cell.log_ratio))
    signs = np.flatnonzero(cell.is_positive | cell.is_negative)
    ratio = np.exp(np.clip(cell.log_ratio[p, q], -300.0, 300.0))
    length = np.hypot(1.0, ratio)
    matrix = np.zeros((p.size + signs.size, n + 1))
    rows = np.arange(p.size)
    matrix[rows, p], matrix[rows, q] = 1.0 / length, -ratio / length
    matrix[p.size + np.arange(signs.size), signs] = np.where(cell.is_positive[signs], -1.0, 1.0)
    matrix[:, n] = 1.0
    bounds = [(-1.0, 1.0)] * n + [(0.0, 1.0)]
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=matrix, b_ub=np.zeros(len(matrix)), bounds=bounds)
    start = _middle(cell)
    return _unit(found.x[:n], start) if found.status == 0 else _unit(start, start)


def vertex_point(cell: Cell) -> Array:
    """Return a corner of the cell, moved inside by no more than rounding needs, (n,)."""
    v = potentials(cell)[0]
    return _unit(np.where(cell.is_positive, np.exp(v - v.max()), -1.0), _middle(cell))


def find_centre(cell: Cell, name: str, *, rng: np.random.Generator) -> Centre:
    """Return the centre asked for, with samples of the cell."""
    bayes = bayes_point(cell, rng=rng)
    if name == "chebyshev":
        return Centre(chebyshev_point(cell), bayes.samples)
    if name == "vertex":
        return Centre(vertex_point(cell), bayes.samples)
    return bayes


def middle_point(cell: Cell) -> Array:
    """Return a cheap utility inside the cell, (n,) unit vector: a start, and a refuge from rounding."""
    return _unit(_middle(cell), _middle(cell))


def _unit(u: Array, instead: Array) -> Array:
    length = float(np.linalg.norm(u))
    return u / length if length > 0.0 else instead / np.linalg.norm(instead)
