# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Theorem 1 and its corollaries: where the posterior of (μ, κ) concentrates when customers differ.

Notation: n goods, T observations, κ in (κ_lo, κ_hi), h = κμ; TV(θ, θ*) the total variation between the laws of one
observation under two parameters; W the Wasserstein distance of order 1 between them. Menus can be coupled and bundles
lie in a cube, so W ≤ √n·TV.

The corrected bounds rest on three facts about the family, all in h:

- TV ≤ |h - h*|/2, since the Kullback–Leibler divergence is a second difference of a log-partition function whose
  Hessian, a covariance of unit vectors, is at most 1;
- the likelihood ratio of one observation is at least exp(-2|h - h*|) *surely*, so the posterior's denominator needs no
  probability: it is at least exp(-Tη²) times the prior mass of |h - h*| ≤ η²/2, which is at least
  (κ_hi/(n(κ_hi - κ_lo)))·(η²/(4κ_hi))ⁿ for η² ≤ κ_hi - κ_lo (a ball of half the radius fits between the two bounds);
- a ball of radius ε/2 in TV whose centre is farther than r from θ* is told from θ* by counting how often its Scheffé
  set occurs: both errors are at most exp(-T(r - ε/2)²/2) by Hoeffding.

Together the posterior mass of TV > r is, on average over the data, at most

    [(1 + 2κ_hi/ε)ⁿ + n(κ_hi - κ_lo)/κ_hi · (4κ_hi/η²)ⁿ e^{Tη²}] · exp(-T(r - ε/2)²/2).
"""

from __future__ import annotations

import numpy as np

from stochpref.errors import InvalidArgument
from stochpref.paper.guarantees.claims import Claim, Guarantee, check_between, check_sizes


def log_escape(n_goods: int, n_observations: float, concentration_bounds: tuple[float, float], radius: float) -> float:
    """Return a bound on the log of the average posterior mass farther than a radius from the truth, in TV; at most 0.

    Parameters
    ----------
    concentration_bounds : (κ_lo, κ_hi) of the uniform prior.
    radius : r in [0, 1], in total variation between laws of one observation.
    """
    check_sizes(n_goods, n_observations)
    low, high = _bounds(concentration_bounds)
    check_between(radius, "radius", 0.0, 1.0)
    n, T, width = n_goods, n_observations, high - low
    if radius == 0.0:
        return 0.0
    eps = min(2.0 * n / (T * radius), radius)  # balances the number of balls against their size
    log_balls = n * np.log1p(2.0 * high / eps)
    eta2 = min(n / T, width)
    log_denominator = np.log(n * width / high) + n * np.log(4.0 * high / eta2) + T * eta2
    return min(0.0, float(np.logaddexp(log_balls, log_denominator) - 0.5 * T * (radius - 0.5 * eps) ** 2))


def _radius(n: int, T: float, bounds: tuple[float, float], log_failure: float) -> float:
    """Return the smallest radius in TV whose escape is at most a probability; 1, which says nothing, if none is."""
    low, high = 0.0, 1.0
    if log_escape(n, T, bounds, high) > log_failure:
        return 1.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if log_escape(n, T, bounds, middle) <= log_failure else (middle, high)
    return high


def theorem_1(
    n_goods: int,
    n_observations: float,
    concentration_bounds: tuple[float, float],
    *,
    alpha: float = 0.0,
    failure: float | None = None,
) -> Guarantee:
    """Return the radius, in W, of the set that holds the posterior, and the average posterior mass it holds.

    Parameters
    ----------
    concentration_bounds : (κ_lo, κ_hi) of the uniform prior, 0 < κ_lo < κ_hi (Assumption 2).
    alpha : trades radius for probability in the printed statement, in [0, 1/2].
    failure : average posterior mass the corrected radius may leave out; the printed one, 2/T + 1/(4T^{2α} log²T), if
        None.

    Notes
    -----
    Paper, Theorem 1, for W of order 1: for order 2, which its proof names, W ≤ √n·TV is false (W₂ ≤ √(n·TV) is right).
    Any law of menus will do. The printed radius in TV is the one in W over √n.
    """
    check_sizes(n_goods, n_observations)
    _, high = _bounds(concentration_bounds)
    check_between(alpha, "alpha", 0.0, 0.5)
    n, T, log_T = n_goods, n_observations, float(np.log(n_observations))
    printed_failure = 2.0 / T + 1.0 / (4.0 * T ** (2 * alpha) * log_T**2)
    wanted = _share(failure, printed_failure)
    radius = _radius(n, T, concentration_bounds, float(np.log(wanted)))
    ceiling = float(np.sqrt(n))
    printed = 8.0 * max(1.0, high) * n * log_T / T ** (0.5 - alpha)
    return Guarantee(
        "Theorem 1",
        "Wasserstein distance of the laws of an observation, outside which the posterior has little mass",
        Claim(printed, ceiling, max(0.0, 1.0 - printed_failure)),
        Claim(ceiling * radius, ceiling, 1.0 - wanted),
    )


def corollary_1(
    n_goods: int,
    n_observations: float,
    concentration_bounds: tuple[float, float],
    separation: float,
    *,
    alpha: float = 0.0,
    failure: float | None = None,
) -> Guarantee:
    """Return a bound on the posterior mean of |θ - θ*|, θ = (μ, κ), where laws of observations tell parameters apart.

    Parameters
    ----------
    separation : L > 0 such that W(θ, θ*) ≥ L|θ - θ*| for every θ; at most √n/2, since W ≤ √n and opposite directions
        are 2 apart.
    failure : probability with which the corrected bound may fail; the printed one, 1/(T^{2α} log²T), if None.

    Notes
    -----
    Paper, Corollary 1, true as printed for W of order 1. Corrected: √n·r/L + D/T, where r leaves out failure/T of
    posterior mass on average (Markov) and D = √(4 + (κ_hi - κ_lo)²) is the diameter of the parameters, which 2κ_hi is
    not for κ_hi below 2/√3.
    """
    low, high = _bounds(concentration_bounds)
    largest = 0.5 * float(np.sqrt(n_goods))
    if not 0.0 < separation <= largest * (1.0 + 1e-9):
        raise InvalidArgument(
            f"separation must be positive and at most √n/2 = {largest:.4g}; received {separation}; without one use "
            "theorem_1, which needs none"
        )
    radius, printed_failure, wanted = _data_radius(n_goods, n_observations, concentration_bounds, alpha, failure)
    n, T = n_goods, n_observations
    diameter = float(np.hypot(2.0, high - low))
    printed = 9.0 * max(1.0, high) * n * float(np.log(T)) / (separation * T ** (0.5 - alpha))
    return Guarantee(
        "Corollary 1",
        "posterior mean of the distance to the true (mean direction, concentration)",
        Claim(printed, diameter, 1.0 - printed_failure),
        Claim(float(np.sqrt(n)) * radius / separation + diameter / T, diameter, 1.0 - wanted),
    )


def corollary_2(
    n_goods: int,
    n_observations: float,
    concentration_bounds: tuple[float, float],
    *,
    alpha: float = 0.0,
    failure: float | None = None,
) -> Guarantee:
    """Return a bound on the error of predicted purchases.

    Stated: the mean distance between the bundles that μ drawn from the posterior and μ* would buy, for every μ*. That
    claim is false: whatever T, a μ* much nearer than 1/√T to a boundary between bundles leaves half of the posterior on
    the wrong side. (A fixed μ* off all boundaries is told from them in the end, at a T that depends on it.)
    Corrected: the Wasserstein distance between what a *customer* of the fitted law and one of the true law buy from a
    new menu, averaged over the posterior; any predicted mean demand errs by no more.

    Parameters
    ----------
    failure : as in `corollary_1`.

    Notes
    -----
    Paper, Corollary 2. The corrected claim needs no finite support. For the value lost by acting on μ from the
    posterior, see `regret_bound`.
    """
    radius, printed_failure, wanted = _data_radius(n_goods, n_observations, concentration_bounds, alpha, failure)
    n, T, ceiling = n_goods, n_observations, float(np.sqrt(n_goods))
    printed = 16.0 * max(1.0, concentration_bounds[1]) * n * float(np.log(T)) / T ** (0.5 - alpha)
    return Guarantee(
        "Corollary 2",
        "distance between predicted and true purchases",
        Claim(printed, ceiling, 1.0 - printed_failure),
        Claim(ceiling * (radius + 1.0 / T), ceiling, 1.0 - wanted),
    )


def regret_bound(
    n_goods: int,
    n_observations: float,
    concentration_bounds: tuple[float, float],
    separation: float,
    *,
    failure: float | None = None,
) -> Claim:
    """Return a bound on μ*·x* - μ*·x̃ on a new menu, x̃ the best bundle for μ drawn from the posterior, on average.

    Continuous in μ where bundles are not: μ*·(x* - x̃) ≤ (μ* - μ)·(x* - x̃) ≤ √n·|μ - μ*|, and `corollary_1` bounds the
    posterior mean of that.
    """
    distance = corollary_1(n_goods, n_observations, concentration_bounds, separation, failure=failure).corrected
    root = float(np.sqrt(n_goods))
    return Claim(root * distance.bound, root, distance.probability)


def _data_radius(
    n: int, T: float, bounds: tuple[float, float], alpha: float, failure: float | None
) -> tuple[float, float, float]:
    """Return the radius in TV, the printed probability of failure and the one wanted, for statements about the data."""
    check_sizes(n, T)
    _bounds(bounds)
    check_between(alpha, "alpha", 0.0, 0.5)
    printed = min(1.0, 1.0 / (T ** (2 * alpha) * float(np.log(T)) ** 2))
    wanted = _share(failure, printed)
    return _radius(n, T, bounds, float(np.log(wanted / T))), printed, wanted


def _bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    if not 0.0 < low < high < np.inf:
        raise InvalidArgument(
            f"concentration_bounds must be two numbers, 0 < lower < upper; received {bounds}; the prior lies on them"
        )
    return float(low), float(high)


def _share(failure: float | None, printed: float) -> float:
    if failure is None:
        return min(printed, 1.0)
    check_between(failure, "failure", 0.0, 1.0, closed=False)
    return failure
