# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The same bundles under laws of directions, von Mises–Fisher or normal, as the paper's remark has it.

With a normal law the goods in part act as one pivot good, of slope |s_K| and mean m_K·s_K/|s_K|: the density of the
quantities is J times ∫ λ^(k−1) φ(|s_K| λ − mean) Π Φ dλ, times what the mean has across s_K. A law of directions is an
average of normal ones along a contour in the scale of the mean (`mass.contour`), whatever stands under the integral.

Here for completeness. Real purchases prefer lognormal worths: the tails of such a law are light, what is not bought is
explained by utilities below zero, and all goods are spread equally, each in its own unit. What is not compiled costs
milliseconds a row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from stochpref.checks import as_floats
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, AT, BELOW
from stochpref.laws import NormalLaw, VonMisesFisher
from stochpref.observations import Observations
from stochpref.problems.satiated import Bought, Satiated

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
MassFn = Callable[[Complex], Complex]  # means (Q, k) of normal laws -> (Q,)

WARNING: Final = (
    "laws of directions fit purchases of goods that satiate badly: tails are light, and spreads equal in each good's "
    "own unit; fit SatiatedUtility, whose worths are lognormal"
)
_REACH, _POINTS = 5.5, 140  # of the contour
_NODES: Final = np.polynomial.legendre.leggauss(96)
_SDS: Final = 12.0  # of the shadow price, about its mean
_SADDLES: Final = np.exp(np.linspace(np.log(0.5), np.log(40.0), 80))


def log_density(observations: Observations, law: VonMisesFisher | NormalLaw, satiation: ArrayLike) -> Array:
    """Return (T,) log-densities of bundles with a good in part at least, given that the problem is about who buys.

    Parameters
    ----------
    observations : of problem "satiated" with logarithmic worth.
    law : of the worths of goods and, where it is a good, of the rest of the budget; normal ones of independent goods.
    satiation : (m,) γ of the goods other than the outside one.

    Warns
    -----
    UserWarning : such laws fit real purchases badly.
    """
    problem = observations.problem
    if not isinstance(problem, Satiated) or problem.bend != 1.0:
        raise InvalidArgument(f"observations must be of problem 'satiated' with power 0; received {problem!r}")
    if problem.outside is None and np.isfinite(observations.caps).any():
        raise InvalidArgument(
            "caps must be infinite where no good is outside: who wants goods with caps alone cannot spend the budget; "
            "name an outside good, outside='rest'"
        )
    bought, mean, scale, norm = problem.bought(observations), *_of(law)
    k = bought.side.shape[1]
    gamma = as_floats(satiation, "satiation")
    if len(mean) != k or gamma.shape != (k - (bought.outside is not None),):
        raise InvalidArgument(
            f"law and satiation must be of {k} and {k - (bought.outside is not None)} goods; received {len(mean)} and "
            f"shape {gamma.shape}"
        )
    if not (bought.side == AT).any(axis=1).all():
        raise InvalidArgument("observations must have a good in part each; leave others out")
    warnings.warn(WARNING, UserWarning, stacklevel=2)
    s, log_jacobian = _slopes(bought, gamma)
    about = _log_average(lambda means: _taking_part(means, bought.outside), mean, norm)
    found = np.empty(len(s))
    for t in range(len(s)):
        row = _RowMass(bought.side[t], s[t] / scale)
        found[t] = log_jacobian[t] + _log_average(row, mean, norm) - np.sum(np.log(scale[bought.side[t] == AT]))
    return found - about


def _of(law: VonMisesFisher | NormalLaw) -> tuple[Array, Array, float | None]:
    """Return h or mean over scales, the scales, and |h|; None for the latter where the law is normal."""
    if isinstance(law, VonMisesFisher):
        return law.concentration * law.mean_direction, np.ones(law.n_goods), float(law.concentration)
    scale = np.sqrt(np.diag(law.covariance))
    if not np.allclose(law.covariance, np.diag(scale**2)):
        raise InvalidArgument("law must have independent goods; received a covariance that is not diagonal")
    return law.mean / scale, scale, None


def _slopes(bought: Bought, gamma: Array) -> tuple[Array, Array]:
    """Return s (T, k) and the logarithm of Π_K s_i c_i Σ_K (a_i/c_i)/a_r."""
    k, is_at = bought.side.shape[1], bought.side == AT
    inside = [i for i in range(k) if i != bought.outside]
    spread = bought.bundles.copy()
    s = bought.prices * bought.bundles
    spread[:, inside] += gamma
    s[:, inside] = bought.prices[:, inside] * (1.0 + bought.bundles[:, inside] / gamma)
    left_out = np.argmax(is_at, axis=1) if bought.outside is None else np.full(len(s), bought.outside)
    with np.errstate(divide="ignore"):
        logs = np.where(is_at, np.log(s) - np.log(spread), 0.0).sum(axis=1)
        logs += np.log(np.where(is_at, bought.prices * spread, 0.0).sum(axis=1))
    return s, logs - np.log(bought.prices[np.arange(len(s)), left_out])


class _RowMass:
    """∫ λ^(k−1) Π_K φ(s λ − m) Π_BELOW Φ(s λ − m) Π_ABOVE Φ(m − s λ) dλ of one row, of means (Q, N)."""

    def __init__(self, side: NDArray[np.int8], s: Array) -> None:
        self._at, self._sign = side == AT, np.where(side == BELOW, 1.0, -1.0)
        self._others = (side == BELOW) | (side == ABOVE)
        self._s, self._length = s, float(np.linalg.norm(s[self._at]))

    def __call__(self, means: Complex) -> Complex:
        own, others, k = means[:, self._at], means[:, self._others], int(self._at.sum())
        along = own @ (self._s[self._at] / self._length)  # of the super-pivot
        across = np.sum(own * own, axis=1) - along * along
        centre = max(float(along.real.max()), 0.0)
        low = max(float(along.real.min()) - _SDS, 0.0) / self._length
        high = (centre + _SDS + np.sqrt(k)) / self._length
        shadow = low + (high - low) * 0.5 * (_NODES[0] + 1.0)
        weight = 0.5 * (high - low) * _NODES[1] * shadow ** (k - 1)
        values = np.exp(-0.5 * (self._length * shadow - along[:, None]) ** 2) * weight
        for j in np.flatnonzero(self._others):
            place = int(np.sum(self._others[:j]))
            values = values * ndtr(self._sign[j] * (self._s[j] * shadow - others[:, place][:, None]))
        result: Complex = values.sum(axis=1) * np.exp(-0.5 * across) * (2.0 * np.pi) ** (-0.5 * k)
        return result


def _taking_part(means: Complex, outside: int | None) -> Complex:
    """Return the chance that the outside good is worth something, or any good where there is none."""
    worth: Complex = ndtr(means[:, outside]) if outside is not None else 1.0 - np.prod(ndtr(-means), axis=1)
    return worth


def _log_average(mass_fn: MassFn, mean: Array, norm: float | None) -> float:
    """Return the log of a mass under a normal law of this mean, or, averaged along the contour, under a law of h."""
    if norm is None:
        return float(np.log(mass_fn(mean[None].astype(np.complex128)).real[0]))
    n = len(mean)
    on_axis = (1 - n) * np.log(_SADDLES) + _SADDLES**2 + 0.25 * (norm / _SADDLES) ** 2
    whole = float(_SADDLES[np.argmin(on_axis)])
    with np.errstate(divide="ignore"):
        on_axis = on_axis + np.log(np.maximum(_along(mass_fn, mean, _SADDLES + 0j).real, 1e-300))
    saddle = float(_SADDLES[np.argmin(np.where(on_axis > -600.0, on_axis, np.inf))])
    own, every = (
        _contour(fn, mean, norm, at) for fn, at in ((mass_fn, saddle), (lambda m: np.ones(len(m), complex), whole))
    )
    return own - every


def _along(mass_fn: MassFn, mean: Array, p: Complex) -> Complex:
    return mass_fn(mean / (np.sqrt(2.0) * p[:, None]))


def _contour(mass_fn: MassFn, mean: Array, norm: float, saddle: float) -> float:
    """Return the log of ∫ Re[p^(1−n) exp(p² + |h|²/4p²) mass(h q)] dη on p = saddle + iη."""
    eta = _REACH * np.arange(_POINTS) / (_POINTS - 1)
    p: Complex = np.asarray(saddle + 1j * eta, np.complex128)
    exponent = (1 - len(mean)) * np.log(p) + p**2 + 0.25 * norm**2 / p**2
    highest = float(exponent[0].real)
    values = (np.exp(exponent - highest) * _along(mass_fn, mean, p)).real
    values[0] *= 0.5
    return highest + float(np.log(values.sum() * eta[1]))
