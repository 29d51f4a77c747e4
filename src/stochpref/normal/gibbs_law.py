# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The normal law given all utilities, which matter through their number, their sum and their products only.

Conjugate draws in turn: means, covariances, the spread of means. Factors are drawn as well, but only through what is
needed of them: with F = W B + E C, W the utilities and a column of ones, E standard normals, E'W and E'E - (E'W)(W'W)⁻¹
(W'E) are normal and Wishart whatever W, so that no customer has to be looked at. Two moves change the scales of what
conjugate draws hardly move: of a factor and its loadings, and of utilities, means and covariances together, of which
purchases say nothing. In ln g their densities have logarithm p ln g - b g² - c / g², which is concave.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.normal.laws import own_of_full
from stochpref.normal.prior import MEAN_DEGREES, NormalPrior, wishart_root

Array = NDArray[np.float64]

_ROUNDS: Final = 2  # of conjugate draws for each sweep of utilities: they cost little beside it
_FEW: Final = 40  # normals that are left over, below which they are drawn one by one


class Law(NamedTuple):
    """A law in units of the prior: mean (n,), covariance (n, n), the variances (n,) of no factor, loadings (n, r).

    spread2 : τ², the variance of means.
    """

    mean: Array
    covariance: Array
    own: Array
    loadings: Array
    spread2: float


class Seen(NamedTuple):
    """Of utilities, in units of the prior: how many, and of d = z - centre sums (n,) and products (n, n)."""

    number: float
    centre: Array
    sums: Array
    products: Array

    def about(self, mean: Array) -> tuple[Array, Array]:
        """Return sums and products about another centre."""
        step = mean - self.centre
        both = np.outer(step, self.sums)
        return self.sums - self.number * step, self.products - both - both.T + self.number * np.outer(step, step)


def next_law(
    prior: NormalPrior, law: Law, seen: Seen, rng: np.random.Generator, scale_power: float | None = None,
    most_steps: int | None = None,
) -> tuple[Law, float]:  # fmt: skip
    """Return a law drawn given utilities, and by how much all utilities are to be scaled with it.

    Parameters
    ----------
    scale_power, most_steps : of the move of all scales: the power of g, and how far a slice may reach; others than
        those that follow break the sampler, which tests rely on.
    """
    n = len(law.mean)
    for _ in range(_ROUNDS):
        law = _next_full(prior, law, seen, rng) if prior.n_factors == n else _next_factors(prior, law, seen, rng)
        tau2 = prior.spread**2
        scale = 0.5 * (MEAN_DEGREES * tau2 + float(law.mean @ law.mean))
        law = law._replace(spread2=scale / rng.standard_gamma(0.5 * (MEAN_DEGREES + n)))
    g = _common_scale(prior, law, rng, scale_power, most_steps)
    scaled = Law(g * law.mean, g * g * law.covariance, g * g * law.own, g * law.loadings, law.spread2)
    return scaled, g


def _next_full(prior: NormalPrior, law: Law, seen: Seen, rng: np.random.Generator) -> Law:
    n = len(law.mean)
    precision = np.linalg.inv(law.covariance)
    weight = seen.number * precision + np.eye(n) / law.spread2
    right = precision @ (seen.number * seen.centre + seen.sums)
    mean = _normal_of(weight, right, rng)
    _, products = seen.about(mean)
    # Σ⁻¹ ~ Wishart(ν, S⁻¹): with S = L Lᵀ and a Bartlett root B of scale 1, Σ = L (B Bᵀ)⁻¹ Lᵀ.
    lower = np.linalg.cholesky((prior.degrees - 1.0) * np.eye(n) + products)
    root = np.linalg.solve(wishart_root(n + prior.degrees + seen.number, n, rng), lower.T).T
    covariance = root @ root.T
    return law._replace(mean=mean, covariance=covariance, own=own_of_full(covariance))


def _normal_of(weight: Array, right: Array, rng: np.random.Generator) -> Array:
    """Return a draw of N(weight⁻¹ right, weight⁻¹)."""
    lower = np.linalg.cholesky(weight)
    half = np.linalg.solve(lower, right) + rng.standard_normal(len(right))
    return np.asarray(np.linalg.solve(lower.T, half))


def _next_factors(prior: NormalPrior, law: Law, seen: Seen, rng: np.random.Generator) -> Law:
    n, r = law.loadings.shape
    moments, cross = _draw_factors(law, seen, rng)
    # Regressions of every coordinate on 1 and the factors, of d = z - centre.
    before = np.concatenate([[1.0 / law.spread2], np.ones(r)])
    weight = moments / law.own[:, None, None] + np.diag(before)
    right = cross.T / law.own[:, None]
    right[:, 0] -= seen.centre / law.spread2
    lower = np.linalg.cholesky(weight)
    half = np.linalg.solve(lower, right[:, :, None])[:, :, 0] + rng.standard_normal((n, 1 + r))
    drawn = np.linalg.solve(lower.swapaxes(1, 2), half[:, :, None])[:, :, 0]
    left = np.diag(seen.products) - 2.0 * np.sum(drawn * cross.T, axis=1) + np.sum((drawn @ moments) * drawn, axis=1)
    shape = 0.5 * (prior.degrees + seen.number)
    own = 0.5 * (prior.degrees + np.maximum(left, 0.0)) / rng.standard_gamma(shape, n)
    loadings = drawn[:, 1:]
    for k in range(r):
        loadings[:, k] *= scale_of(
            n - seen.number, 0.5 * float(loadings[:, k] @ loadings[:, k]), 0.5 * float(moments[1 + k, 1 + k]), rng
        )
    return law._replace(
        mean=seen.centre + drawn[:, 0], covariance=np.diag(own) + loadings @ loadings.T, own=own, loadings=loadings
    )


def _draw_factors(law: Law, seen: Seen, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return X'X (1 + r, 1 + r) and X'D (1 + r, n), X a column of ones and the factors, given utilities."""
    n, r = law.loadings.shape
    known = np.empty((1 + n, 1 + n))  # W'W
    known[0, 0], known[0, 1:], known[1:, 0], known[1:, 1:] = seen.number, seen.sums, seen.sums, seen.products
    moments, cross = np.empty((1 + r, 1 + r)), np.empty((1 + r, n))
    moments[0, 0], cross[0] = seen.number, seen.sums
    if r == 0:
        return moments, cross
    weighted = law.loadings / law.own[:, None]
    variance = np.linalg.inv(np.eye(r) + law.loadings.T @ weighted)
    pull = variance @ weighted.T  # (r, n): E[f] = pull (z - m)
    b = np.concatenate([(pull @ (seen.centre - law.mean))[:, None], pull], axis=1)  # (r, 1 + n)
    c = np.linalg.cholesky(variance)
    values, vectors = np.linalg.eigh(known)
    rank = int(min(seen.number, n + 1))
    root = vectors[:, n + 1 - rank :] * np.sqrt(np.maximum(values[n + 1 - rank :], 0.0))
    g = rng.standard_normal((r, rank))
    noise_known = g @ root.T  # E'W
    noise = g @ g.T + _leftover(int(seen.number) - rank, r, rng)  # E'E
    with_known = b @ known + c @ noise_known
    mixed = b @ noise_known.T @ c.T
    moments[1:, 1:] = b @ known @ b.T + mixed + mixed.T + c @ noise @ c.T
    moments[0, 1:] = moments[1:, 0] = with_known[:, 0]
    cross[1:] = with_known[:, 1:]
    return moments, cross


def _leftover(count: int, r: int, rng: np.random.Generator) -> Array:
    """Return a Wishart draw with identity scale of any number of degrees, 0 too."""
    if count < _FEW:
        left = rng.standard_normal((r, max(count, 0)))
        return np.asarray(left @ left.T)
    root = wishart_root(count, r, rng)
    return np.asarray(root @ root.T)


def _common_scale(
    prior: NormalPrior, law: Law, rng: np.random.Generator, power: float | None, most_steps: int | None
) -> float:
    """Return by how much utilities, means and covariances are scaled together."""
    n = len(law.mean)
    along = float(law.mean @ law.mean) / law.spread2
    if prior.n_factors == n:
        right = n - n * (n + prior.degrees)
        across = (prior.degrees - 1.0) * float(np.trace(np.linalg.inv(law.covariance)))
    else:
        right = n + n * law.loadings.shape[1] - n * prior.degrees
        along += float(np.sum(law.loadings**2))
        across = prior.degrees * float(np.sum(1.0 / law.own))
    return scale_of(right if power is None else power, 0.5 * along, 0.5 * across, rng, most_steps)


def scale_of(power: float, b: float, c: float, rng: np.random.Generator, most_steps: int | None = None) -> float:
    """Return g after a slice move from 1 under a density of ln g whose logarithm is power ln g - b g² - c / g²."""

    def log_density(t: float) -> float:
        return power * t - b * math.exp(2.0 * t) - c * math.exp(-2.0 * t)

    width = 2.0 / math.sqrt(4.0 * (b + c) + 1e-12)
    level = log_density(0.0) - rng.standard_exponential()
    low = -width * rng.random()
    high = low + width
    steps = 0
    while log_density(low) > level and (most_steps is None or steps < most_steps):
        low, steps = low - width, steps + 1
    while log_density(high) > level and (most_steps is None or steps < most_steps):
        high, steps = high + width, steps + 1
    while True:
        t = low + (high - low) * rng.random()
        if log_density(t) >= level:
            return math.exp(t)
        low, high = (t, high) if t < 0.0 else (low, t)
