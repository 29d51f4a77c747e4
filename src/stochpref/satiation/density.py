# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Log-densities of bundles of goods that satiate, and their slopes in every parameter.

A density is one with respect to the quantities of the goods that were bought in part, all of them but one, which the
budget settles: the outside good, or the first of them where no good is outside. A bundle of which no good was bought in
part has a probability. With K the k goods in part, marginal worth falling as s_i^(-1) with

    s_i = a_i (1 + x_i/γ_i)^e,   c_i = e/(γ_i + x_i),   and outside   s_0 = a_0 x_0^e,   c_0 = e/x_0,

the map from (λ, quantities) to the worths of the goods in K has the determinant λ^(k−1) Π_K s_i · J, which for logs of
worths leaves J = Π_K c_i · Σ_K (a_i/c_i)/a_r, r the good left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, AT, BELOW
from stochpref.problems.satiated import Bought
from stochpref.satiation.quadrature import integrate

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Worth(NamedTuple):
    """How worths are spread and fade.

    location : (T, k) or (1, k) β, of log-worths of first units; the outside good, if there is one, among the goods.
    scale : (k,) σ.
    log_satiation : (T, k) or (1, k) log γ; anything for the outside good.
    bend : e = 1 − α.
    error : NORMAL or GUMBEL, of `quadrature`.
    """

    location: Array
    scale: Array
    log_satiation: Array
    bend: float
    error: int


class Densities(NamedTuple):
    """Log-densities of rows and their slopes; slopes that were not asked for are zero.

    log_density : (T,).
    location, log_scale, log_satiation : (T, k) slopes by good, bend : (T,) that in log e.
    """

    log_density: Array
    location: Array
    log_scale: Array
    log_satiation: Array
    bend: Array


class _Terms(NamedTuple):
    """What a row's quantities make of the parameters.

    log_slope : (T, k) log s. fading : (T, k) x/(γ + x), 1 outside. strength : (T, k) log(1 + x/γ), log x_0 outside.
    log_jacobian : (T,) log J. share : (T, k) of each good of K in Σ a_i/c_i. rest : (T, k) γ/(γ + x), 0 outside.
    """

    log_slope: Array
    fading: Array
    strength: Array
    log_jacobian: Array
    share: Array
    rest: Array


def log_densities(bought: Bought, worth: Worth, *, slopes: bool = True, fine: bool = True) -> Densities:
    """Return log-densities of what was bought, and their slopes; `fine` is as of `integrate`."""
    terms = _terms(bought, worth)
    count, k = bought.side.shape
    by_good = np.zeros((3, count, k))
    found = Densities(np.zeros(count), by_good[0], by_good[1], by_good[2], np.zeros(count))
    is_in_part = (bought.side == AT).any(axis=1)
    rows = np.flatnonzero(is_in_part)
    if rows.size:
        _add_interior(found, rows, bought, terms, worth, slopes=slopes, fine=fine)
    is_tight = ~is_in_part & (bought.side == ABOVE).any(axis=1) & (bought.side == BELOW).any(axis=1)
    if is_tight.any():
        _add_corners(found, np.flatnonzero(is_tight), bought, terms, worth, slopes=slopes)
    return found


def _terms(bought: Bought, worth: Worth) -> _Terms:
    x, a, e = bought.bundles, bought.prices, worth.bend
    is_at = bought.side == AT
    outside = np.zeros(bought.side.shape, np.bool_)
    if bought.outside is not None:
        outside[:, bought.outside] = True
    gamma = np.exp(np.broadcast_to(worth.log_satiation, x.shape))
    spread = np.where(outside, np.maximum(x, 1e-300), gamma + x)
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.where(outside, np.log(spread), np.log1p(x / gamma))
        cost = np.where(is_at, a * spread, 0.0)  # a/c, but for e
        total = cost.sum(axis=1)
        left_out = np.argmax(is_at, axis=1) if bought.outside is None else np.full(len(x), bought.outside)
        number = is_at.sum(axis=1)
        log_jacobian = np.where(is_at, -np.log(spread), 0.0).sum(axis=1) + np.log(total)
        log_jacobian -= np.log(a[np.arange(len(a)), left_out])
        log_jacobian += np.where(number > 1, (number - 1) * np.log(e), 0.0)
        share = cost / np.maximum(total, 1e-300)[:, None]
    rest = np.where(outside, 0.0, gamma / spread)
    return _Terms(np.log(a) + e * strength, np.where(outside, 1.0, x / spread), strength, log_jacobian, share, rest)


def _add_interior(
    found: Densities, rows: Indices, bought: Bought, terms: _Terms, worth: Worth, *, slopes: bool, fine: bool
) -> None:
    side, location = bought.side[rows], _of_rows(worth.location, rows)
    inner = integrate(side, terms.log_slope[rows], location, worth.scale, worth.error, slopes=slopes, fine=fine)
    found.log_density[rows] = terms.log_jacobian[rows] + inner.log_value
    if not slopes:
        return
    is_at = side == AT
    _put_slopes(found, rows, inner.by_slope, inner.by_scale, terms, worth, bought)
    own = terms.share[rows] - 1.0  # of J: −1 from c_i, a_i γ_i/(e Σ a/c) from the sum
    found.log_satiation[rows] += np.where(is_at, terms.rest[rows] * own, 0.0)
    found.bend[rows] += is_at.sum(axis=1) - 1.0


def _put_slopes(
    found: Densities, rows: Indices, by_slope: Array, by_scale: Array, terms: _Terms, worth: Worth, bought: Bought
) -> None:
    """Carry slopes in log s and log σ over to the parameters."""
    found.location[rows] = -by_slope
    found.log_scale[rows] = by_scale
    inside = np.ones(bought.side.shape[1])
    if bought.outside is not None:
        inside[bought.outside] = 0.0
    found.log_satiation[rows] = -worth.bend * by_slope * terms.fading[rows] * inside
    found.bend[rows] = worth.bend * np.sum(by_slope * terms.strength[rows], axis=1)


def _add_corners(found: Densities, rows: Indices, bought: Bought, terms: _Terms, worth: Worth, *, slopes: bool) -> None:
    """Add probabilities of bundles without a good in part: ∫ −d(Π_ABOVE (1 − F)) Π_BELOW F, a term for each good."""
    side = bought.side[rows]
    owner, good = np.nonzero(side == ABOVE)
    each = side[owner].copy()
    each[np.arange(len(owner)), good] = AT
    inner = integrate(
        each, terms.log_slope[rows][owner], _of_rows(worth.location, rows[owner]), worth.scale, worth.error,
        slopes=slopes,
    )  # fmt: skip
    highest = np.full(len(rows), -np.inf)
    np.maximum.at(highest, owner, inner.log_value)
    size = np.exp(inner.log_value - highest[owner])
    total = np.bincount(owner, size, len(rows))
    found.log_density[rows] = np.minimum(highest + np.log(total), 0.0)
    if slopes:
        weight = (size / total[owner])[:, None]
        sums = []
        for values in (inner.by_slope, inner.by_scale):
            added = np.zeros(side.shape)
            np.add.at(added, owner, weight * values)
            sums.append(added)
        _put_slopes(found, rows, sums[0], sums[1], terms, worth, bought)


def _of_rows(values: Array, rows: Indices) -> Array:
    return values[rows] if len(values) > 1 else values
