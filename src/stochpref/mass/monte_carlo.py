# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A Monte Carlo route to the mass of a region: an independent check, and a way out where quadrature cancels.

`sampled_log_mass` separates variables. With m = h q it draws a Gaussian vector z ~ N(m, I) *inside the cone*: first the
shadow price from its own one-dimensional density, then every good from its truncated normal. u = z/|z| then has density
R(u)/g on the region, R(u) = ∫ r^{n-1} φ(r u - m) dr, a function of h·u alone, so that exp(h·u)/R(u) is the weight that
turns the sample into one of exp(h·u). Its spread is the spread of the radius, and the mean of the weights estimates the
mass, with its own standard error. It shares the model with `masses`, and no numerics but SciPy's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr, logsumexp, ndtri_exp
from scipy.stats import multivariate_t

from stochpref.bessel import log_normaliser
from stochpref.checks import check_rng
from stochpref.corners import Corners
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, CORNER, DEGENERATE, PIVOT, TIGHT
from stochpref.mass.prices import Piece, frame_of
from stochpref.regions import Regions

Array = NDArray[np.float64]

_GRID = 512
_DF = 5  # of the bell that shadow prices are drawn from
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


class Sample(NamedTuple):
    """Monte Carlo log-masses (T,), standard errors of those logs (T,), and estimates of E[u | region] (T, n)."""

    log_mass: Array
    error: Array
    mean: Array


def _log_radial(n_goods: int, limit: float) -> CubicSpline:
    """Return c -> log ∫ r^{n-1} exp(-r²/2 + r c) dr for |c| ≤ limit, tabulated."""
    c = np.linspace(-limit, limit, max(64, int(8 * limit)))
    mode = 0.5 * (c + np.sqrt(c**2 + 4 * (n_goods - 1)))
    width = 1 / np.sqrt(1 + (n_goods - 1) / np.maximum(mode, 1e-300) ** 2)
    low, high = np.maximum(mode - 12 * width, 0), mode + 12 * width
    x, w = np.polynomial.legendre.leggauss(80)
    r = low[:, None] + (high - low)[:, None] * (x + 1) / 2
    log_integrand = (n_goods - 1) * np.log(r) - r**2 / 2 + r * c[:, None]
    return CubicSpline(c, logsumexp(log_integrand, b=w, axis=1) + np.log((high - low) / 2))


def _scale(n_goods: int, h: Array, cosine: float) -> float:
    """Return q: the Gaussian mean h q whose radius is 1/q on average along the direction of the region."""
    reach = max(float(np.linalg.norm(h)) * cosine, 0.0)
    return 1 / np.sqrt(0.5 * (n_goods + np.sqrt(n_goods**2 + 4 * reach**2)))


def _log_integrand(m: Array, side: NDArray[np.int8], slope: Array, kind: int, pivot: int, shadow: Array) -> Array:
    """Return the log of the shadow price's density times the mass given it, at each of `shadow` (k,)."""
    z = side * (m - slope * shadow[:, None])
    on_side = np.abs(side) == 1
    total = np.asarray(log_ndtr(z[:, on_side]).sum(axis=1))
    if kind == PIVOT:
        return total - 0.5 * (slope[pivot] * shadow - m[pivot]) ** 2 - _LOG_SQRT_2PI + np.log(slope[pivot])
    above = z[:, side == ABOVE]
    return total + logsumexp(-0.5 * above**2 - _LOG_SQRT_2PI - log_ndtr(above), b=slope[side == ABOVE], axis=1)


def _draw_shadow(
    m: Array, side: NDArray[np.int8], slope: Array, kind: int, pivot: int, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return shadow prices (k,) and log-weights (k,): integrand over a piecewise-linear density on a zoomed-in grid."""
    top = (np.abs(m[slope > 0]).max() + 40.0) / slope[side != ABSENT].min()
    grid = np.concatenate([[0.0], np.geomspace(1e-8 * top, top, 4 * _GRID)])
    for _ in range(3):
        values = _log_integrand(m, side, slope, kind, pivot, grid)
        kept = np.flatnonzero(values > values.max() - 25)
        low, high = grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, len(grid) - 1)]
        grid = np.linspace(low, high, _GRID)
    values = _log_integrand(m, side, slope, kind, pivot, grid)
    # A floor keeps the proposal wide enough to cover what the grid cut off inside its range.
    density = np.exp(values - values.max()) + 1e-6
    mass = 0.5 * (density[1:] + density[:-1]) * np.diff(grid)
    cell = np.searchsorted(np.cumsum(mass) / mass.sum(), rng.random(n_draws)).clip(0, _GRID - 2)
    left, right, v = density[cell], density[cell + 1], rng.random(n_draws)
    share = (np.sqrt(left**2 * (1 - v) + right**2 * v) - left) / np.where(right == left, 1, right - left)
    share = np.where(np.abs(right - left) < 1e-9 * (left + right), v, share)
    shadow = grid[cell] + share * (grid[cell + 1] - grid[cell])
    log_density = np.log((left + share * (right - left)) / mass.sum())
    return shadow, _log_integrand(m, side, slope, kind, pivot, shadow) - log_density


def _sample_one(
    h: Array, side: NDArray[np.int8], slope: Array, kind: int, pivot: int, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, Array]:
    """Return log ∫_region exp(h·u) du, the standard error of that log, and E[u | region]."""
    n = len(h)
    is_tight = kind == TIGHT and np.any(side == BELOW)
    cosine = 0.0
    for _ in range(3):  # let the scale follow the region: a few draws tell how far along h it lies
        m = h * _scale(n, h, cosine)
        shadow, log_weight = np.zeros(n_draws), np.zeros(n_draws)
        if kind == PIVOT or is_tight:
            shadow, log_weight = _draw_shadow(m, side, slope, kind, pivot, n_draws, rng)
        limit = side * (m - slope * shadow[:, None])
        on_side = np.abs(side) == 1
        log_phi = np.where(on_side, log_ndtr(limit), 0.0)
        if kind != PIVOT and not is_tight:
            log_weight = log_phi.sum(axis=1)
        below = ndtri_exp(np.log(rng.random((n_draws, n))) + log_phi)
        z = m - np.where(on_side, side, 1) * below
        if kind == PIVOT:
            z[:, pivot] = slope[pivot] * shadow
        elif is_tight:
            above = side == ABOVE
            rate = np.where(above, slope * np.exp(-0.5 * limit**2 - log_phi), 0.0)
            lowest = (rng.random((n_draws, 1)) * rate.sum(axis=1, keepdims=True) > np.cumsum(rate, axis=1)).sum(axis=1)
            z[np.arange(n_draws), lowest] = slope[lowest] * shadow
        radius = np.linalg.norm(z, axis=1)
        u = z / radius[:, None]
        along, kappa = u @ h, float(np.linalg.norm(h))
        cosine = float(np.median(along) / kappa) if kappa > 0 else 0.0
    return _weighed(h, m, u, log_weight)


def _weighed(h: Array, m: Array, u: Array, log_weight: Array) -> tuple[float, float, Array]:
    """Return what draws u of a Gaussian around m inside the cone, with weights, say under exp(h·u)."""
    n, kappa, along = len(h), float(np.linalg.norm(h)), u @ h
    q = float(m @ h / (h @ h)) if kappa > 0 else 1.0
    radial = _log_radial(n, q * kappa + 1e-9)
    log_r = radial(q * along) - n * _LOG_SQRT_2PI - 0.5 * float(m @ m)
    terms = log_weight + along - log_r
    log_mean = float(logsumexp(terms) - np.log(len(u)))
    relative = np.exp(terms - log_mean)
    return log_mean, float(relative.std(ddof=1) / np.sqrt(len(u))), relative @ u / len(u)


def sample_corner(
    h: Array, corners: Corners, t: int, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, Array]:
    """Return the same of a corner: the sum over its pieces, each with shadow prices from a wide bell at their mode."""
    found = [
        _sample_piece(h, corners.side[p], corners.slope[p, : corners.n_prices[p]], corners.log_det[p], n_draws, rng)
        for p in range(corners.first_piece[t], corners.first_piece[t + 1])
    ]
    logs, errors = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    total = float(logsumexp(logs))
    share = np.exp(logs - total)
    return total, float(np.linalg.norm(share * errors)), share @ np.array([one[2] for one in found])


def _sample_piece(
    h: Array, side: NDArray[np.int8], slope: Array, log_det: float, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, Array]:
    n_prices, n = slope.shape
    cosine, kappa, is_at = 0.0, float(np.linalg.norm(h)), side == AT
    on_side = np.abs(side) == 1
    for _ in range(3):
        m = h * _scale(n, h, cosine)
        prices, log_weight = _draw_prices(m, side, slope, n_draws, rng)
        shadow = prices @ slope
        log_phi = np.where(on_side, log_ndtr(side * (m - shadow)), 0.0)
        at_price = -0.5 * (shadow - m)[:, is_at] ** 2 - _LOG_SQRT_2PI
        log_weight = log_weight + log_phi.sum(axis=1) + at_price.sum(axis=1) + (log_det if n_prices else 0.0)
        below = ndtri_exp(np.log(rng.random((n_draws, n))) + log_phi)
        z = np.where(is_at, shadow, m - np.where(on_side, side, 1) * below)
        u = z / np.linalg.norm(z, axis=1, keepdims=True)
        cosine = float(np.average(u @ h, weights=np.exp(log_weight - log_weight.max())) / kappa) if kappa > 0 else 0.0
    return _weighed(h, m, u, log_weight)


def _draw_prices(
    m: Array, side: NDArray[np.int8], slope: Array, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return prices (k, r) from a t-distribution at the mode of the integrand, and minus the log of its density.

    Those of them that are negative weigh nothing.
    """
    n_prices = len(slope)
    if n_prices == 0:
        return np.zeros((n_draws, 0)), np.zeros(n_draws)
    frame = frame_of(Piece(m, side, np.ascontiguousarray(slope), 0.0), 1.0, np.ones(3))
    mode, factor = frame.mode[:n_prices], 1.5 * frame.factor[:n_prices, :n_prices]
    law = multivariate_t(mode, factor @ factor.T, df=_DF, seed=rng)
    prices = law.rvs(n_draws).reshape(n_draws, n_prices)
    is_inside = (prices >= 0).all(axis=1)
    return np.abs(prices), np.where(is_inside, -law.logpdf(prices), -np.inf)


def sampled_log_mass(regions: Regions, h: Array, *, n_draws: int, rng: np.random.Generator) -> Sample:
    """Return log-masses by separation of variables, one sample per observation, in order of observation."""
    check_rng(rng)
    n, kappa = regions.n_goods, float(np.linalg.norm(h))
    log_total = float(log_normaliser(n, kappa)) + kappa
    log_masses, errors, means = np.empty(len(regions)), np.empty(len(regions)), np.empty((len(regions), n))
    for t in range(len(regions)):
        kind, side = int(regions.kind_code[t]), regions.side[t].copy()
        if kind == DEGENERATE:
            log_masses[t], errors[t], means[t] = -np.inf, 0.0, np.nan
            continue
        if kind == CORNER:
            value, errors[t], means[t] = sample_corner(h, regions.corners, t, n_draws, rng)
            log_masses[t] = value - log_total
            continue
        if kind == TIGHT and not np.any(side == ABOVE):
            side[:] = ABSENT  # no money, nothing revealed
        slope = regions.slope[t] / regions.slope[t].max(initial=0.0, where=regions.side[t] != ABSENT)
        value, errors[t], means[t] = _sample_one(h, side, slope, kind, int(regions.pivot[t]), n_draws, rng)
        log_masses[t] = value - log_total
    return Sample(log_masses, errors, means)
