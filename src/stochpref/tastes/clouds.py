# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Clouds of tastes, one for each customer, drawn around the likeliest taste and weighed by choices and by the law.

A proposal is m + width · H^(-1/2) ε, m and H of the mode and the curvature of a customer's posterior, ε normal or of
Student's t law. With the cloud fixed the likelihood of the law is a sum over customers of logarithms of means, and its
gradient by Fisher's identity is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaincinv, gammaln, ndtri
from scipy.stats import qmc

from stochpref.tastes import kernels
from stochpref.tastes.law import TasteLaw
from stochpref.tastes.panel import Panel
from stochpref.threads import for_blocks, n_threads

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_SETS: Final = 32  # of even normals that customers take in turn
_LOG_2PI: Final = math.log(2.0 * math.pi)


class Places(NamedTuple):
    """The likeliest taste (C, p) of every customer, and roots (C, p, p) of minus the curvature there."""

    mode: Array
    root: Array


class Roots(NamedTuple):
    """Of a covariance L Lᵀ: the centre (p,), L⁻¹ and log det L."""

    centre: Array
    inverse: Array
    log_det: float


class Weighed(NamedTuple):
    """Of a cloud under a law: shares (C, R), log-likelihoods (C,), means (C, p) and products (C, p, p) of y."""

    shares: Array
    value: Array
    mean: Array
    products: Array


@dataclass(frozen=True, slots=True)
class Cloud:
    """Tastes (C, p, R) and the logarithms (C, R) of how likely choices are under each, over how likely it was drawn."""

    theta: Array
    log_weight: Array

    def weigh(self, roots: Roots, *, with_moments: bool = True, split: bool = True) -> Weighed:
        """Return what the law of a covariance makes of the cloud, on all threads if it is to be split."""
        n_customers, p, n_draws = self.theta.shape
        kept = n_customers if with_moments else 0
        found = Weighed(
            np.empty((n_customers, n_draws)), np.empty(n_customers), np.empty((kept, p)), np.empty((kept, p, p))
        )

        def block(start: int, stop: int) -> None:
            kernels.weigh(self.theta, self.log_weight, *roots, *found, start, stop)

        for_customers(block, n_customers, split)
        return found


def roots_of(law: TasteLaw, phi: Array) -> Roots:
    """Return what weighing takes of φ."""
    return roots_of_covariance(phi[: law.p], law.covariance(phi))


def roots_of_covariance(centre: Array, covariance: Array) -> Roots:
    """Return the same of a centre and a covariance."""
    root = np.linalg.cholesky(covariance)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
    return Roots(np.ascontiguousarray(centre), np.ascontiguousarray(inverse), float(np.sum(np.log(np.diag(root)))))


def find_places(panel: Panel, roots: Roots, start: Array | None = None) -> Places:
    """Return modes and curvatures of all customers under a law, climbing from tastes (C, p) if any are known."""
    n_customers, p = panel.n_customers, panel.n_coefficients
    mode = np.tile(roots.centre, (n_customers, 1)) if start is None else start.copy()
    root = np.zeros((n_customers, p, p))
    precision = roots.inverse.T @ roots.inverse

    def block(start: int, stop: int) -> None:
        kernels.find_modes(*_choices(panel), roots.centre, precision, mode, root, start, stop)

    for_customers(block, n_customers)
    return Places(mode, root)


def for_customers(kernel: Callable[[int, int], None], n_customers: int, split: bool = True) -> None:
    """Call ``kernel(start, stop)`` for all customers, on all threads if they are to be split."""
    if split:
        for_blocks(kernel, n_customers, max(-(-n_customers // (2 * n_threads())), 1))
    else:
        kernel(0, n_customers)


def cloud_around(panel: Panel, places: Places, epsilon: Array, width: float, degrees: float | None) -> Cloud:
    """Return the cloud of proposals m + width · H^(-1/2) ε.

    Parameters
    ----------
    epsilon : (K, p, R), of which customer i has number i mod K.
    degrees : of freedom of ε's Student law; None for normal ones.
    """
    return cloud_at(panel, places, spread_around(places, epsilon, width), width, degrees)


def spread_around(places: Places, epsilon: Array, width: float, *, split: bool = True) -> Array:
    """Return proposals (C, p, R)."""
    theta = np.empty((len(places.mode), *epsilon.shape[1:]))

    def block(start: int, stop: int) -> None:
        kernels.spread_out(*places, epsilon, width, theta, start, stop)

    for_customers(block, len(theta), split)
    return theta


def cloud_at(
    panel: Panel, places: Places, theta: Array, width: float, degrees: float | None, *, split: bool = True
) -> Cloud:
    """Return tastes (C, p, R) as a cloud of such proposals."""
    n_customers, p, n_draws = theta.shape
    squared, value = np.empty((n_customers, n_draws)), log_probabilities(panel, theta, split=split)

    def block(start: int, stop: int) -> None:
        kernels.distances(*places, width, theta, squared, start, stop)

    for_customers(block, n_customers, split)
    log_det = np.log(np.diagonal(places.root, axis1=1, axis2=2)).sum(axis=1) - p * math.log(width)
    if degrees is None:
        log_proposal = -0.5 * squared
    else:
        constant = float(gammaln(0.5 * (degrees + p)) - gammaln(0.5 * degrees)) + 0.5 * p * math.log(2.0 / degrees)
        log_proposal = constant - 0.5 * (degrees + p) * np.log1p(squared / degrees)
    return Cloud(theta, value - log_proposal - log_det[:, None])  # the powers of 2π of law and proposal cancel


def even_normals(p: int, n_draws: int, *, seed: int, degrees: float | None = None) -> Array:
    """Return ε (K, p, R), evenly spread, each set by a scramble of its own and with its mirror image."""
    half, rng = -(-n_draws // 2), np.random.default_rng([seed, 3])
    sets = []
    for _ in range(_SETS):
        drawn = qmc.Sobol(p + (degrees is not None), seed=rng).random(2 ** math.ceil(math.log2(half)))[:half]
        drawn = np.clip(drawn, 1e-12, 1.0 - 1e-12)
        normals = ndtri(drawn[:, :p])
        if degrees is not None:
            normals = normals / np.sqrt(2.0 * gammaincinv(0.5 * degrees, drawn[:, p]) / degrees)[:, None]
        sets.append(np.concatenate([normals, -normals])[:n_draws].T)
    return np.ascontiguousarray(sets)


def log_probabilities(panel: Panel, theta: Array, *, split: bool = True) -> Array:
    """Return the log-probability (C, R) of all choices of each customer under tastes (C, p, R)."""
    found = np.empty((panel.n_customers, theta.shape[2]))

    def block(start: int, stop: int) -> None:
        kernels.choice_values(*_choices(panel), theta, found, start, stop)

    for_customers(block, panel.n_customers, split)
    return found


def single_probabilities(panel: Panel, theta: Array) -> Array:
    """Return probabilities (T, R) of each choice, in the order of the panel, under tastes (C, p, R) of its customer."""
    found = np.empty((len(panel.order), theta.shape[2]))

    def block(start: int, stop: int) -> None:
        kernels.single_values(*_choices(panel), theta, found, start, stop)

    for_customers(block, panel.n_customers)
    return found


def _choices(panel: Panel) -> tuple[Array, Array, Indices, Indices]:
    return panel.gap, panel.offset, panel.first, panel.begin
