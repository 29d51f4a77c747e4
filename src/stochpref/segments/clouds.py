# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Clouds of utilities, each labelled by the bundle it buys: what segments are fitted to where menus are shared.

What the utilities are drawn from decides everything. Laws of segments alone leave rare bundles without a point. So part
of the cloud comes from the laws, most of it from laws about the mean utility of every bundle that was observed, under
each segment that may have bought it, and some from the centres of the orthants of the bundles' signs. Points are of a
scrambled Sobol sequence: one coordinate picks the part, one the angle, the others the direction across.

A bundle without a point is given half of one, at the mean utility that it is sought around.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.bessel import log_normaliser
from stochpref.laws.angles import angles_at
from stochpref.observations import Menus, Observations
from stochpref.posterior.counting import bundle_keys, distinct_menus
from stochpref.segments.objective import Mixture
from stochpref.segments.points import CloudPoints

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

FROM_LAWS, FROM_BUNDLES, FROM_SIGNS = 0.40, 0.45, 0.15  # of the points
_EVENNESS: Final = 0.75  # power of how often a bundle was observed that its points go by
_LEAST_SHARE: Final = 0.05  # of a bundle's customers that a segment has at least to be sought in
_WIDTH: Final = 0.5  # concentration around a mean utility, over that of a law with this mean
_SIGNS: Final = 2.13  # concentration about a centre of signs, for each good: N(1.3 (2x - 1), I) seen from 0
_SHARPEST: Final = 8.0  # concentration of a part, for each good, at most; segments may be sharper
_HALF: Final = 0.5  # of a point, for a bundle without one
_CHUNK: Final = 4096


class Seen(NamedTuple):
    """Observations in short: which bundles were bought at which menus, how often.

    menus : the m that differ. menu : (D,) of each different bundle, rising.
    bundles : (D, n). counts : (D,). place : (T,) which of them each observation is.
    nonempty : empty bundles are not recorded.
    """

    menus: Menus
    menu: Indices
    bundles: Array
    counts: Array
    place: Indices
    nonempty: bool

    @classmethod
    def of(cls, observations: Observations) -> Self:
        """Return what was seen."""
        first, menu_of = distinct_menus(observations)
        keys = np.column_stack([menu_of, np.round(observations.bundles, 9)])
        distinct, place, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        return cls(
            observations.menus[first], distinct[:, 0].astype(np.intp), distinct[:, 1:], counts.astype(np.float64),
            place.ravel().astype(np.intp), observations.nonempty,
        )  # fmt: skip


class Parts(NamedTuple):
    """What the points of one menu are drawn from.

    weights : (J,) of sum 1. laws : (J, n) h. centres : (d, n) unit vectors near the utilities of each bundle.
    """

    weights: Array
    laws: Array
    centres: Array


def sign_centres(bundles: Array) -> Array:
    """Return (d, n) unit vectors in the middle of the orthants of what was bought and what was not."""
    return np.where(bundles > 0, 1.0, -1.0) / np.sqrt(bundles.shape[1])


def first_parts(seen: Seen, menu: int) -> Parts:
    """Return parts where nothing is known of segments yet: centres of signs, and all of the sphere."""
    own = seen.menu == menu
    centres, n = sign_centres(seen.bundles[own]), seen.bundles.shape[1]
    shares = _evened(seen.counts[own])
    laws = np.concatenate([np.zeros((1, n)), 0.5 * _SIGNS * n * centres, _SIGNS * n * centres])
    return Parts(np.concatenate([[0.3], 0.35 * shares, 0.35 * shares]), laws, centres)


def parts_around(seen: Seen, menu: int, mixture: Mixture, means: Array, share: Array) -> Parts:
    """Return parts for a mixture.

    Parameters
    ----------
    means : (K, D, n) mean utilities of the bundles under each law.
    share : (K, D) the probability of each segment given the bundle.
    """
    own = np.flatnonzero(seen.menu == menu)
    n, signs = seen.bundles.shape[1], sign_centres(seen.bundles[own])
    k, d = np.nonzero(share[:, own] >= min(_LEAST_SHARE, 1.0 / len(share)))
    about, often = means[k, own[d]], _evened(seen.counts[own])
    of_bundles = often[d] * share[k, own[d]]
    most = max(_SHARPEST * n, float(np.linalg.norm(mixture.h, axis=1).max()))
    laws = np.concatenate([mixture.h, _laws_about(about, most), _SIGNS * n * signs])
    weights = np.concatenate([
        FROM_LAWS * np.exp(mixture.log_weights), FROM_BUNDLES * of_bundles / of_bundles.sum(), FROM_SIGNS * often,
    ])  # fmt: skip
    centres = np.einsum("kd,kdi->di", share[:, own], means[:, own])
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    centres = np.where(lengths > 1e-9, centres / np.maximum(lengths, 1e-9), signs)
    return Parts(weights / weights.sum(), laws, centres)


def _evened(counts: Array) -> Array:
    shares: Array = counts**_EVENNESS
    return shares / shares.sum()


def _laws_about(means: Array, most: float) -> Array:
    """Return laws about mean utilities, wider than the narrowest that have them."""
    n, length = means.shape[1], np.linalg.norm(means, axis=1, keepdims=True)
    length = np.clip(length, 1e-9, 1.0 - 1e-9)
    kappa = np.minimum(_WIDTH * length * (n - length**2) / (1.0 - length**2), most)
    return np.asarray(means / length * kappa)


def make_cloud(seen: Seen, parts: list[Parts], size: int, *, rng: np.random.Generator) -> CloudPoints:
    """Draw so many points for every menu, a power of two, and label them; `parts` of each menu."""
    points, densities, labels, menu_of = [], [], [], []
    n_hit = np.zeros(len(seen.counts), np.intp)
    n_regions = len(n_hit)
    for m, own in enumerate(parts):
        drawn = draw_points(own, size, rng=rng)
        density = log_density(own, drawn)
        label, is_empty = _labels(seen, m, drawn)
        kept = ~is_empty if seen.nonempty else np.ones(size, np.bool_)
        regions = np.flatnonzero(seen.menu == m)
        n_hit[regions] = np.bincount(label[label >= 0], minlength=n_regions)[regions]
        bare = regions[n_hit[regions] == 0]
        instead = own.centres[np.searchsorted(regions, bare)]
        label = np.where(label < 0, n_regions + m, label)[kept]
        points += [drawn[kept], instead]
        densities += [density[kept], log_density(own, instead) - np.log(_HALF)]
        labels += [label, bare]
        menu_of.append(m)
    label = np.concatenate(labels)
    order = np.argsort(label, kind="stable")
    known, starts = np.unique(label[order], return_index=True)  # a menu where everybody bought what was seen: no rest
    menu = np.concatenate([seen.menu, np.array(menu_of, np.intp)])[known]
    return CloudPoints(
        np.concatenate(points)[order], np.concatenate(densities)[order], starts.astype(np.intp), seen.place,
        menu=menu, n_hit=n_hit,
    )  # fmt: skip


def _labels(seen: Seen, menu: int, points: Array) -> tuple[Indices, NDArray[np.bool_]]:
    """Return which of the bundles seen each point buys at a menu, -1 for another one, and which buy nothing."""
    one = seen.menus[menu : menu + 1]
    assert one.problem is not None
    chosen = np.round(one.problem.choose(points[:, None], one)[:, 0], 9)
    own = np.flatnonzero(seen.menu == menu)
    wanted = bundle_keys(seen.bundles[own])
    order = np.argsort(wanted)
    keys = bundle_keys(chosen)
    places = np.minimum(np.searchsorted(wanted[order], keys), len(own) - 1)
    found = own[order[places]]
    return np.where(wanted[order[places]] == keys, found, -1).astype(np.intp), np.asarray(chosen.max(axis=1) <= 0)


def draw_points(parts: Parts, size: int, *, rng: np.random.Generator) -> Array:
    """Draw (size, n) unit vectors, evenly over parts and over the sphere."""
    n = parts.laws.shape[1]
    even = np.clip(qmc.Sobol(n + 1, seed=rng).random(size), 1e-12, 1.0 - 1e-12)
    ends = np.cumsum(parts.weights)
    which = np.minimum(np.searchsorted(ends, even[:, 0], side="right"), len(ends) - 1)
    kappa = np.linalg.norm(parts.laws, axis=1)
    theta, order = np.empty(size), np.argsort(which, kind="stable")
    first, starts = np.unique(which[order], return_index=True)
    for j, rows in zip(first, np.split(order, starts[1:]), strict=True):
        theta[rows] = angles_at(even[rows, 1], n, float(kappa[j]))
    normals = ndtri(even[:, 2:])
    across = np.concatenate([np.zeros((size, 1)), normals / np.linalg.norm(normals, axis=1, keepdims=True)], axis=1)
    # A reflection takes the first axis to ∓μ, hence the other axes to its tangent space.
    mu = parts.laws / np.maximum(kappa, 1e-150)[:, None]
    mu[kappa <= 1e-150] = np.eye(n)[0]
    mu = mu[which]
    mirror = mu.copy()
    mirror[:, 0] += np.where(mu[:, 0] >= 0, 1.0, -1.0)
    along = np.einsum("si,si->s", across, mirror) / (1.0 + np.abs(mu[:, 0]))
    across -= along[:, None] * mirror
    return np.asarray(np.cos(theta)[:, None] * mu + np.sin(theta)[:, None] * across)


def log_density(parts: Parts, points: Array) -> Array:
    """Return (M,) log-densities of points, over that of the uniform law."""
    n, kappa = parts.laws.shape[1], np.linalg.norm(parts.laws, axis=1)
    with np.errstate(divide="ignore"):
        constant = np.log(parts.weights) - log_normaliser(n, kappa) - kappa + log_normaliser(n, np.zeros(1))
    found = np.empty(len(points))
    for start in range(0, len(points), _CHUNK):
        rows = slice(start, start + _CHUNK)
        logs = points[rows] @ parts.laws.T
        logs += constant
        top = logs.max(axis=1)
        logs -= top[:, None]
        np.exp(logs, out=logs)
        found[rows] = top + np.log(logs.sum(axis=1))
    return found
