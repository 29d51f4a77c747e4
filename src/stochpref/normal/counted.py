# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely bundles are under normal laws where no formula tells: by counting how often they are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.observations import Observations
from stochpref.posterior.counting import Estimate, count_rows, distinct_menus

Array = NDArray[np.float64]

_CHOICES: Final = 4_000_000  # made in all
_FEWEST, _MOST = 16, 16_384  # customers simulated at a menu under one draw
_UNSEEN: Final = 0.5  # how often a bundle that never came up is taken to have done so
_COMMON: Final = 12  # bundles whose shares tell chains apart


class Common(NamedTuple):
    """The bundles bought most often at one menu: row of the menu, bundles (k, n) and how often each was bought (k,)."""

    row: int
    bundles: Array
    counts: Array


def common_bundles(data: Observations) -> Common:
    """Return those of the menu that was faced most often."""
    first, place = distinct_menus(data)
    menu = int(np.argmax(np.bincount(place)))
    bundles, counts = np.unique(np.round(data.bundles[place == menu], 9), axis=0, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_COMMON]
    return Common(int(first[menu]), bundles[top], counts[top].astype(np.float64))


def count_bundles(data: Observations, common: Common, utilities: Array) -> float:
    """Return the mean log-share of customers (m, n) who choose the common bundles, weighted by how common they are."""
    menu = data.menus[[common.row]]
    chosen = np.round(data.problem.choose(utilities[:, None], menu)[:, 0], 9)
    found = count_rows(chosen, common.bundles)
    total = max(int(chosen.any(axis=1).sum()) if data.nonempty else len(chosen), 1)
    return float(common.counts @ np.log((found + _UNSEEN) / (total + 1.0)) / common.counts.sum())


def log_counted(data: Observations, drawn: Mapping[str, Array], *, rng: np.random.Generator) -> Estimate:
    """Return (T,) the log of the mean probability of each bundle over draws (draws, …), and its error.

    Parameters
    ----------
    drawn : "mean" and "covariance".
    """
    first, place = distinct_menus(data)
    menus, n_draws = data.menus[first], len(drawn["mean"])
    size = int(np.clip(_CHOICES // (n_draws * len(first)), _FEWEST, _MOST))
    keys = np.column_stack([place, np.round(data.bundles, 9)])
    distinct, bundle_of = np.unique(keys, axis=0, return_inverse=True)
    bundle_of, own = bundle_of.ravel(), [np.flatnonzero(distinct[:, 0] == k) for k in range(len(first))]
    total, square, counts, weight = (np.zeros(len(distinct)) for _ in range(4))
    roots = np.linalg.cholesky(drawn["covariance"])
    for s in range(n_draws):
        normals = rng.standard_normal((size * len(first), roots.shape[1]))
        utilities = (drawn["mean"][s] + np.einsum("tj,ij->ti", normals, roots[s])).reshape(size, len(first), -1)
        chosen = np.round(data.problem.choose(utilities, menus), 9)
        for k, rows in enumerate(own):
            found = count_rows(chosen[:, k], distinct[rows, 1:])
            recorded = int(chosen[:, k].any(axis=1).sum()) if data.nonempty else size
            share = 1.0 / max(recorded, 1)
            total[rows] += share * found
            square[rows] += share**2 * found * (1.0 - found / max(recorded, 1))
            counts[rows] += found
            weight[rows] += share
    seen = np.where(counts > 0, total, _UNSEEN * weight / n_draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(counts > 0, np.sqrt(square) / total, 1.0)
    log_probability = np.minimum(np.log(seen / n_draws), 0.0)
    return Estimate(log_probability[bundle_of], error[bundle_of])
