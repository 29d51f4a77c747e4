# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What one purchase from each menu will teach about h = κμ, menu by menu, from exact masses.

The score of a purchase is E[u | bundle] - E[u], so the information of a menu is the covariance of E[u | bundle], and
never more than Cov(u), what observing the utility itself would tell. Customers are drawn, the same for every menu, so
that menus are compared on equal terms. Bundles bought twice are integrated once and weighted by their probability; only
what is left of it is noise, next to none with few goods.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.bessel import mean_resultant_length
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, ABSENT, BELOW, QUANTITY_TOLERANCE, SLACK
from stochpref.laws import VonMisesFisher
from stochpref.laws.menus import draw_customers as draw_recorded
from stochpref.mass.conditional import log_chance, log_recorded
from stochpref.mass.masses import vmf_covariance
from stochpref.observations import Menus, Observations
from stochpref.problems import problem_of
from stochpref.regions import Regions

Array = NDArray[np.float64]

_FEW_GOODS: Final = 6  # up to which many customers share few bundles
_MANY_CUSTOMERS: Final = 4000
_TOLERANCE: Final = 1e-4
_RARE_SHARE: Final = 0.1
_LARGEST_PART: Final = 0.03
_OPEN: Final = 1e-4  # share of what could be learnt below which a direction is left aside
_OBSERVATIONS_A_GOOD: Final = 12.0
_LOG_CONCENTRATION: Final = 0.5  # standard error of log κ


class MenuMoments(NamedTuple):
    """Moments of one purchase from each of M menus at one h.

    information : (M, N, N) about h.
    demand_slope : (M, n, N) derivative of the mean bundle (row) in h (column), E[x (E[u | x] - E[u])ᵀ].
    """

    information: Array
    demand_slope: Array


def draw_customers(
    h: Array, n_draws: int, rng: np.random.Generator, *, n_laws: int = 1, menu: Menus | None = None
) -> Array:
    """Return (S, N) utilities from the law with natural parameter h, of those who are recorded where a menu is stated.

    S is `n_draws`, or for up to six goods at least 4000 shared by the laws: what costs time is the number of different
    bundles, and few goods have few of them.
    """
    kappa = float(np.linalg.norm(h))
    n_draws = max(n_draws, _MANY_CUSTOMERS // n_laws) if len(h) <= _FEW_GOODS else n_draws
    law = VonMisesFisher(h / kappa if kappa > 0 else np.eye(len(h))[0], kappa)
    if menu is None:
        return law.sample(n_draws, rng=rng)
    return draw_recorded(lambda size: law.sample(size, rng=rng), menu[np.zeros(n_draws, np.intp)])


def draw_for_laws(laws: Array, n_draws: int, rng: np.random.Generator, menu: Menus | None = None) -> Array:
    """Return (K, S, N) utilities, S customers from each of K laws h (K, N); parameters as of `draw_customers`."""
    return np.stack([draw_customers(h, n_draws, rng, n_laws=len(laws), menu=menu) for h in laws])


class Purchases(NamedTuple):
    """Purchases that may be made: scores (R, N), bundles (R, n), their menus (R,) rising, their probabilities (R,)."""

    score: Array
    bundles: Array
    owner: NDArray[np.int64]
    weight: Array


def possible_purchases(menus: Menus, h: ArrayLike, utilities: Array) -> Purchases:
    """Return the purchases that customers make from each menu; parameters as in `menu_moments`.

    The score of a region that faces away from the mean, which few customers reach, is taken from those who do.
    """
    h = np.asarray(h, dtype=np.float64)
    kappa = float(np.linalg.norm(h))
    mean = h * (float(mean_resultant_length(len(h), kappa)) / kappa if kappa > 0 else 0.0)
    n_menus, n = menus.prices.shape
    n_draws, problem = len(utilities), problem_of(menus)
    bundles = np.moveaxis(problem.choose(utilities[:, None], menus), 1, 0).reshape(-1, n)
    # Which goods are bought in full, in part or not tells bundles of one menu apart; amounts differ by rounding. A
    # number in [0, 1) for each pattern, added to that of the menu, is faster to sort than rows. The weights of the
    # goods only have to be unrelated to each other.
    caps = np.repeat(menus.caps, n_draws, axis=0)
    pattern = (bundles > QUANTITY_TOLERANCE * caps).astype(np.int8) + (bundles >= caps * (1 - QUANTITY_TOLERANCE))
    digest = np.sum(pattern * (np.abs(np.sin(1e4 * np.arange(1, n + 1))) / (2 * n + 1)), axis=1)
    keys = np.repeat(np.arange(n_menus), n_draws) + np.round(digest, 11)
    _, first, place, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    owner = first // n_draws
    observations = Observations(
        menus.prices[owner], menus.budgets[owner], bundles[first], caps=menus.caps[owner], problem=problem
    )
    is_far = _faces_away(Regions.of(observations), h)
    probability, score = counts / n_draws, np.empty((len(first), len(h)))
    event = problem.event(menus[:1])
    if event is not None:  # those who are recorded have another mean
        slopes = log_chance(event, h, gradient=True, tolerance=_TOLERANCE).gradient
        assert slopes is not None
        mean = mean + slopes[0]
    if not is_far.all():
        recorded = problem.recorded(observations[np.flatnonzero(~is_far)])
        masses = log_recorded(recorded, h, gradient=True, tolerance=_TOLERANCE)
        probability[~is_far], score[~is_far] = np.exp(masses.log_mass), masses.gradient
    for row in np.flatnonzero(is_far):
        buyers = np.flatnonzero(place == row) % n_draws
        score[row] = utilities[buyers].mean(axis=0) - mean
    # Bundles seen count by their probability; what is left belongs to bundles not seen, which are like those seen once.
    left = np.maximum(1 - np.bincount(owner, probability, minlength=n_menus), 0.0)
    n_once = np.bincount(owner, counts == 1, minlength=n_menus)
    weight = probability + np.where(counts == 1, (left / np.maximum(n_once, 1))[owner], 0.0)
    weight /= np.bincount(owner, weight, minlength=n_menus)[owner]
    return Purchases(score, observations.bundles, owner, weight)


def _faces_away(regions: Regions, h: Array) -> NDArray[np.bool_]:
    """Return which regions have h·u < -2 throughout: rarer than exp(-κ), and the slowest to integrate.

    Their cones are spanned by ±e_i and, where money binds, by the prices; a good that is absent leaves both signs open.
    """
    side, is_absent = regions.side, regions.side == ABSENT
    nearest = np.min(np.where((side == ABOVE) | (side == BELOW), -side * h, np.inf), axis=1)
    slope = np.where(is_absent, 0.0, regions.slope)
    binds = -(slope @ h) / np.linalg.norm(slope, axis=1)
    nearest = np.where(regions.kind_code == SLACK, nearest, np.minimum(nearest, binds))
    return np.asarray((nearest > 2) & ~is_absent.any(axis=1))


def menu_moments(menus: Menus, h: ArrayLike, utilities: Array) -> MenuMoments:
    """Return the information and the slope of demand of each menu.

    Parameters
    ----------
    menus : M menus.
    h : (n,) κμ.
    utilities : (S, n) customers drawn at h (`draw_customers`), shared by all menus.
    """
    return moments_of(possible_purchases(menus, h, utilities), len(menus))


def moments_of(purchases: Purchases, n_menus: int) -> MenuMoments:
    """Return the moments of each menu from the purchases that may be made."""
    score, bundles, owner, weight = purchases
    n, size = bundles.shape[1], score.shape[1]
    ends = np.searchsorted(owner, np.arange(n_menus + 1))
    information, slope = np.empty((n_menus, size, size)), np.empty((n_menus, n, size))
    for k in range(n_menus):
        rows = slice(ends[k], ends[k + 1])
        weighted = score[rows] * weight[rows, None]
        information[k] = weighted.T @ score[rows]
        slope[k] = bundles[rows].T @ weighted
    return MenuMoments(information, slope)


def reliable_observations(purchases: Purchases, h: Array) -> float:
    """Return how many observations it takes until the information forecasts the error of the mean direction.

    There must be several for each good; enough to know κ to a factor, a standard error of log κ of a half, or its
    maximum runs off and takes the direction along; and no single purchase may count for much. One observation moves the
    direction by ψ = I⁻¹s/T across the mean: but for purchases that carry a tenth of the variance in all, |ψ|² must stay
    below 3 % of it, as in Lindeberg's condition. Otherwise rare purchases decide, and they have to occur first. The
    constants were chosen by simulation (``python -m benchmarks.design forecast``).
    """
    score, weight = purchases.score, purchases.weight / purchases.weight.sum()
    values, vectors = np.linalg.eigh((score * weight[:, None]).T @ score)
    if values[0] <= 1e-12 * values[-1]:
        return np.inf
    kappa, inverse = float(np.linalg.norm(h)), (vectors / values) @ vectors.T
    for_concentration = float(h @ inverse @ h) / kappa**4 / _LOG_CONCENTRATION**2
    shift = score @ inverse @ tangent_basis(h / kappa)
    squares = np.sum(np.square(shift), axis=1)
    order = np.argsort(-squares)
    share = np.cumsum((weight * squares)[order]) / float(weight @ squares)
    largest = squares[order[int(np.searchsorted(share, _RARE_SHARE))]] / float(weight @ squares)
    return max(float(largest) / _LARGEST_PART, for_concentration, _OBSERVATIONS_A_GOOD * len(h))


def set_aside(laws: Array, information: Array) -> tuple[Array, int]:
    """Return (K, n, n) information standing in for directions that no menu (C, K, n, n) tells about, and their number.

    Taken as known, as if utilities were seen along them, they no longer outweigh what can be learnt.
    """
    aside, largest = np.zeros(information.shape[1:]), 0
    for k, h in enumerate(laws):
        root = np.linalg.cholesky(vmf_covariance(h))
        inverse = np.linalg.inv(root)
        shares, vectors = np.linalg.eigh(inverse @ information[:, k].mean(axis=0) @ inverse.T)
        bad = root @ vectors[:, shares < _OPEN]
        aside[k] = bad @ bad.T
        largest = max(largest, bad.shape[1])
    return aside, largest


def tangent_basis(direction: Array) -> Array:
    """Return (n, n-1) orthonormal columns across a unit vector."""
    values, vectors = np.linalg.eigh(np.eye(len(direction)) - np.outer(direction, direction))
    return np.ascontiguousarray(vectors[:, values > 0.5])


def relative_information(information: Array, h: Array, covariance: Array | None = None) -> float:
    """Return the trace of an information over the tangent space, relative to observing the utility itself.

    Parameters
    ----------
    covariance : (N, N) of the utilities that could be observed; None for that of the law.
    """
    kappa = float(np.linalg.norm(h))
    if kappa == 0:
        raise InvalidArgument("at concentration 0 there is no mean direction, and so no tangent space; give κ > 0")
    basis = tangent_basis(h / kappa)
    whole = vmf_covariance(h) if covariance is None else covariance
    return float(np.trace(basis.T @ information @ basis) / np.trace(basis.T @ whole @ basis))


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


def forecast_words(angle: float, n_reliable: float, when: str = "") -> str:
    """Return a forecast in words, or from how many observations on there is one."""
    if np.isfinite(angle):
        return f"{angle:.3g} rad {when} (forecast)".replace("  ", " ")
    return (
        f"no forecast below {n_reliable:,.0f} observations" if np.isfinite(n_reliable) else "no forecast at any number"
    )
