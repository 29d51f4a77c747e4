# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What one purchase from each menu will teach about h = κμ, menu by menu, from exact masses.

The score of a purchase is E[u | bundle] - E[u], so the information of a menu is the covariance of E[u | bundle], and
never more than Cov(u), what observing the utility itself would tell. Where a menu has few bundles, all of them are
summed. Otherwise customers are drawn, the same for every menu, so that menus are compared on equal terms; bundles drawn
twice are integrated once, and where those seen carry nearly all the probability they are weighted by it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.choice import choose
from stochpref.errors import InvalidArgument
from stochpref.laws import VonMisesFisher
from stochpref.mass.exact import exact_log_mass, vmf_covariance
from stochpref.mass.information import optimal_bundles
from stochpref.observations import Menus, Observations
from stochpref.regions import Regions

Array = NDArray[np.float64]

_LISTED_GOODS: Final = 8  # 2^8 sets and at most 8·2^7 more with a part of one good
_COVERED: Final = 0.999
_TOLERANCE: Final = 1e-6
_RARITY_FACTOR: Final = 25.0
_LARGEST_SPREAD: Final = 0.7


class MenuMoments(NamedTuple):
    """Moments of one purchase from each of M menus at one h.

    information : (M, n, n) about h.
    demand_slope : (M, n, n) derivative of the mean bundle (row) in h (column), E[x (E[u | x] - E[u])ᵀ].
    """

    information: Array
    demand_slope: Array


def draw_customers(h: Array, n_draws: int, rng: np.random.Generator) -> Array:
    """Return (n_draws, n) utilities from the law with natural parameter h."""
    kappa = float(np.linalg.norm(h))
    return VonMisesFisher(h / kappa if kappa > 0 else np.eye(len(h))[0], kappa).sample(n_draws, rng=rng)


class Purchases(NamedTuple):
    """Purchases that may be made: scores and bundles (R, n), their menus (R,) rising, their probabilities (R,)."""

    score: Array
    bundles: Array
    owner: NDArray[np.int64]
    weight: Array


def possible_purchases(menus: Menus, h: ArrayLike, utilities: Array) -> Purchases:
    """Return the purchases that customers may make from each menu; parameters as in `menu_moments`."""
    most = int(np.max(np.sum(np.isfinite(menus.prices), axis=1)))
    if most <= _LISTED_GOODS and 2**most * (1 + most / 2) <= 2 * len(utilities):
        observations, owner, weight = _list_bundles(menus)
    else:
        observations, owner, weight = _draw_bundles(menus, utilities)
    masses = exact_log_mass(Regions.of(observations), h, gradient=True, tolerance=_TOLERANCE)
    assert masses.gradient is not None
    probability = np.exp(masses.log_mass)
    covered = np.bincount(owner, probability, minlength=len(menus))
    # The bundles seen may carry all the probability there is: then no noise is left.
    weight = np.where(covered[owner] >= _COVERED, probability / covered[owner], weight)
    return Purchases(masses.gradient, observations.bundles, owner, weight)


def menu_moments(menus: Menus, h: ArrayLike, utilities: Array) -> MenuMoments:
    """Return the information and the slope of demand of each menu.

    Parameters
    ----------
    menus : M menus.
    h : (n,) κμ.
    utilities : (S, n) customers drawn at h, shared by all menus; not needed where there are at most 2 S bundles, which
        are then all summed.
    """
    return moments_of(possible_purchases(menus, h, utilities), len(menus))


def moments_of(purchases: Purchases, n_menus: int) -> MenuMoments:
    """Return the moments of each menu from the purchases that may be made."""
    score, bundles, owner, weight = purchases
    n = score.shape[1]
    ends = np.searchsorted(owner, np.arange(n_menus + 1))
    information, slope = np.empty((n_menus, n, n)), np.empty((n_menus, n, n))
    for k in range(n_menus):
        rows = slice(ends[k], ends[k + 1])
        weighted = score[rows] * weight[rows, None]
        information[k] = weighted.T @ score[rows]
        slope[k] = bundles[rows].T @ weighted
    return MenuMoments(information, slope)


def reliable_observations(purchases: Purchases, h: Array) -> float:
    """Return how many observations it takes until the information forecasts the error of the mean direction.

    Two things make estimates worse than the information says. Where all that is told comes from rare purchases, they
    have to occur: one observation moves the direction by ψ = I⁻¹s across the mean, and E|ψ|⁴/(E|ψ|²)² observations
    bring about one that matters. And while the error of κ is as large as κ, the direction is not a linear matter.
    The two constants were found by simulation (``python -m benchmarks.design forecast``).
    """
    kappa = float(np.linalg.norm(h))
    score, weight = purchases.score, purchases.weight / purchases.weight.sum()
    values, vectors = np.linalg.eigh((score * weight[:, None]).T @ score)
    if values[0] <= 1e-12 * values[-1]:
        return np.inf
    inverse = (vectors / values) @ vectors.T
    shift = score @ inverse @ tangent_basis(h / kappa)
    squares = np.sum(np.square(shift), axis=1)
    rarity = float(weight @ np.square(squares)) / float(weight @ squares) ** 2
    spread = float(h @ inverse @ h) / kappa**4  # squared relative error of κ after one observation
    return max(_RARITY_FACTOR * rarity, spread / _LARGEST_SPREAD**2)


def _list_bundles(menus: Menus) -> tuple[Observations, NDArray[np.int64], Array]:
    """Return every bundle of every menu, which menu it belongs to, and a weight that is never used."""
    parts = [optimal_bundles(menus[k]) for k in range(len(menus))]
    owner = np.repeat(np.arange(len(menus)), [len(part) for part in parts])
    together = parts[0].concat(*parts[1:]) if len(parts) > 1 else parts[0]
    return together, owner, np.zeros(len(owner))


def _draw_bundles(menus: Menus, utilities: Array) -> tuple[Observations, NDArray[np.int64], Array]:
    """Return the different bundles that drawn customers buy, which menu each belongs to, and its share."""
    n_menus, n = menus.prices.shape
    n_draws = len(utilities)
    bundles = choose(utilities, menus.prices[:, None], menus.budgets[:, None], caps=menus.caps[:, None])
    keyed = np.column_stack([np.repeat(np.arange(n_menus), n_draws).astype(np.float64), bundles.reshape(-1, n)])
    unique, counts = np.unique(keyed, axis=0, return_counts=True)
    owner = unique[:, 0].astype(np.int64)
    observations = Observations(
        menus.prices[owner], menus.budgets[owner], unique[:, 1:], goods=menus.goods, caps=menus.caps[owner]
    )
    return observations, owner, counts / n_draws


def tangent_basis(direction: Array) -> Array:
    """Return (n, n-1) orthonormal columns across a unit vector."""
    values, vectors = np.linalg.eigh(np.eye(len(direction)) - np.outer(direction, direction))
    return np.ascontiguousarray(vectors[:, values > 0.5])


def relative_information(information: Array, h: Array) -> float:
    """Return the trace of an information over the tangent space, relative to observing the utility itself."""
    kappa = float(np.linalg.norm(h))
    if kappa == 0:
        raise InvalidArgument("at concentration 0 there is no mean direction, and so no tangent space; give κ > 0")
    basis = tangent_basis(h / kappa)
    return float(np.trace(basis.T @ information @ basis) / np.trace(basis.T @ vmf_covariance(h) @ basis))


def angle_variance(information: Array, h: Array) -> float:
    """Return the expected squared angle error after one observation of an information, κ being estimated too.

    inf if some direction cannot be learnt. Divide by the number of observations, and see `forecast_angle`.
    """
    kappa = float(np.linalg.norm(h))
    values, vectors = np.linalg.eigh(information)
    if kappa == 0 or values[0] <= 1e-12 * values[-1]:
        return np.inf
    basis = tangent_basis(h / kappa)
    return float(np.sum(np.square(basis.T @ vectors) / values)) / kappa**2


def forecast_angle(variance: float, n_observations: float) -> float:
    """Return the root mean square angle error after a number of observations; inf if some direction stays open.

    An error δ of h across the mean turns it by atan(|δ|/κ), and |δ|²/κ² has the expectation `variance`/T.
    """
    if not np.isfinite(variance):
        return np.inf
    return float(np.arctan(np.sqrt(variance / n_observations)))
