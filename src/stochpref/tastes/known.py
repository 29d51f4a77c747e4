# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What is known of every customer: tastes given their choices and draws of the law, and how likely choices are.

One large cloud a customer serves all draws of the law. New customers, or more choices of known ones, need no more than
a cloud of their own: the law stays as it was learned.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.tastes import kernels
from stochpref.tastes.clouds import (
    Cloud,
    cloud_around,
    even_normals,
    find_places,
    for_customers,
    roots_of_covariance,
    single_probabilities,
)
from stochpref.tastes.panel import Panel

Array = NDArray[np.float64]

_WIDTH: Final = 1.15
_DEGREES: Final = 8.0
_NUMBERS: Final = 8e6  # of a cloud,
_FEWEST, _MOST = 128, 2048  # tastes of a customer in it
_LAWS: Final = 250  # draws of the law under which tastes are kept, and at most half of all
_KEPT: Final = 1000  # tastes of each customer,
_NUMBERS_KEPT: Final = 1e7  # or as many as make so many numbers,
_FEWEST_KEPT: Final = 50  # and at least so many


class Known(NamedTuple):
    """Of C customers and S draws of the law.

    taste : (S, C, p) tastes, each a draw under the law of its place.
    log_likelihood : (S, C) of all choices of each customer under each law.
    left_out : (T,) log-probability of each choice, in the order of the panel, given all others.
    """

    taste: Array
    log_likelihood: Array
    left_out: Array


def kept_draws(n_draws: int, n_customers: int, p: int) -> NDArray[np.intp]:
    """Return the draw of the law of each taste of a customer that is kept, evenly spaced; several of few draws."""
    size = min(_KEPT, max(int(_NUMBERS_KEPT / (n_customers * p)), _FEWEST_KEPT))
    return kept_places(n_draws, size)


def kept_places(n_draws: int, size: int) -> NDArray[np.intp]:
    """Return the same for so many tastes."""
    laws = max(min(_LAWS, n_draws // 2), 1)
    return (np.arange(size) * laws // size) * n_draws // laws


def know_customers(panel: Panel, mean: Array, covariance: Array, *, seed: int) -> Known:
    """Return what is known of customers under draws (S, p) and (S, p, p) of the law, some of which may be alike."""
    cloud = _cloud_of(panel, mean, covariance, seed)
    n_draws, (n_customers, p, _) = len(mean), cloud.theta.shape
    rng = np.random.default_rng([seed, 7])
    taste, value = np.empty((n_draws, n_customers, p)), np.empty((n_draws, n_customers))
    shares: Array = np.zeros(cloud.log_weight.shape)
    for s in range(n_draws):
        if s == 0 or not (np.array_equal(mean[s], mean[s - 1]) and np.array_equal(covariance[s], covariance[s - 1])):
            found = cloud.weigh(roots_of_covariance(mean[s], covariance[s]), with_moments=False)
        value[s] = found.value
        shares += found.shares
        numbers = np.asarray(rng.random((n_customers,)))

        def block(start: int, stop: int, weight: Array = found.shares, at: Array = numbers, s: int = s) -> None:
            kernels.pick(weight, at, cloud.theta, taste[s], start, stop)

        for_customers(block, n_customers)
    return Known(taste, value, _left_out(panel, cloud, shares / n_draws))


def _cloud_of(panel: Panel, mean: Array, covariance: Array, seed: int) -> Cloud:
    """Return the cloud around the likeliest tastes under the average law."""
    p = mean.shape[1]
    size = 2 ** int(np.log2(np.clip(_NUMBERS / (panel.n_customers * p), _FEWEST, _MOST)))
    places = find_places(panel, roots_of_covariance(mean.mean(axis=0), covariance.mean(axis=0)))
    return cloud_around(panel, places, even_normals(p, size, seed=seed, degrees=_DEGREES), _WIDTH, _DEGREES)


def _left_out(panel: Panel, cloud: Cloud, shares: Array) -> Array:
    """Return log-probabilities (T,) of each choice given all others: 1 / E[1 / P] under what all of them tell."""
    chance = single_probabilities(panel, cloud.theta)
    whose = np.repeat(np.arange(panel.n_customers), np.diff(panel.begin))
    return np.asarray(-np.log(np.sum(shares[whose] / np.maximum(chance, 1e-300), axis=1)))
