# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Propositions 1 and 2 and Theorem 2: how well one utility explains new customers when a share δ of them is odd.

Notation: n goods, T observations, prices in [a_lo, 1] (rescale prices and budgets together), γ the margin in units of
u/a, Acc(u) the probability that u explains a new observation. All bounds are on something that should be small: a
deviation, or the shortfall 1 - Acc.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp, ndtr

from stochpref.errors import InvalidArgument
from stochpref.paper.guarantees.claims import Claim, Guarantee, check_between, check_sizes


def proposition_1(n_observations: float, corruption: float) -> Guarantee:
    """Return a bound on how far odd customers move the objective, whatever the utility: δ + log T/√T.

    Notes
    -----
    Paper, Proposition 1, printed with the inequality the wrong way round: it gives 1/T as the *highest* probability
    with which the bound holds, which is what `stated` repeats. By Hoeffding it fails with probability at most
    exp(-2 log²T).
    """
    check_sizes(2, n_observations)
    check_between(corruption, "corruption", 0.0, 1.0)
    T, log_T = n_observations, float(np.log(n_observations))
    bound = corruption + log_T / float(np.sqrt(T))
    return Guarantee(
        "Proposition 1",
        "change of the share explained that odd customers can cause",
        Claim(bound, 1.0, 1.0 / T),
        Claim(bound, 1.0, 1.0 - float(np.exp(-2.0 * log_T**2))),
    )


def proposition_2(
    n_goods: int, n_observations: float, margin: float, lowest_price: float, failure: float | None = None
) -> Guarantee:
    """Return how much the share explained with a margin can exceed the accuracy, for all utilities at once.

    Parameters
    ----------
    margin : γ > 0, finite, chosen before the data are seen.
    lowest_price : a_lo in (0, 1], the highest price being 1 (Assumption 1).
    failure : ε in (0, 1); 1/T if None.

    Notes
    -----
    Paper, Proposition 2. Its proof draws u around u₀ with standard deviation τ and asks how often an inequality changes
    sides. An inequality between two goods has noise up to √2·τ/a_lo, and the step from margin 2γ to γ must hold for all
    the inequalities of a region at once, of which there are up to m = ⌊(n+1)²/4⌋. Corrected, with Q the normal tail,

        min over τ of (m + 1)·Q(a_lo·γ/(2√2·τ)) + √((1/(2τ²) + log(T/ε) + 2)/(2T - 1)).
    """
    check_sizes(n_goods, n_observations)
    check_between(lowest_price, "lowest_price", 0.0, 1.0)
    if not (0.0 < margin < np.inf and lowest_price > 0.0):
        raise InvalidArgument(
            f"margin and lowest_price must be positive and finite; received {margin} and {lowest_price}"
        )
    T = n_observations
    eps = 1.0 / T if failure is None else failure
    check_between(eps, "failure", 0.0, 1.0, closed=False)
    log_T, log_T_eps = np.log(T), np.log(T) - np.log(eps)
    printed = 4.0 * np.sqrt(log_T / T) / (lowest_price * margin) + 6.0 * np.sqrt(log_T_eps / T)
    m = (n_goods + 1) ** 2 // 4
    reach = lowest_price * margin

    def bound(log_tau: float) -> float:
        tau = np.exp(log_tau)
        crossing = (m + 1) * ndtr(-reach / (2.0 * np.sqrt(2.0) * tau))
        return float(crossing + np.sqrt((0.5 / tau**2 + log_T_eps + 2.0) / (2.0 * T - 1.0)))

    # Any τ fixed in advance is valid; the best lies between an idle one and one that lets nothing cross.
    best = minimize_scalar(bound, bounds=(np.log(reach) - 5.0, np.log(reach) + 1.0), method="bounded")
    return Guarantee(
        "Proposition 2",
        "excess of the share explained with a margin over the accuracy, at worst",
        Claim(float(printed), 1.0, 1.0 - eps),
        Claim(float(best.fun), 1.0, 1.0 - eps),
    )


def theorem_2(
    n_goods: int,
    n_observations: float,
    corruption: float,
    lowest_price: float,
    density_bound: float,
    smallest_utility: float,
    *,
    margin: float | None = None,
) -> Guarantee:
    """Return a bound on 1 - Acc of the utility that explains most observations with a margin.

    Parameters
    ----------
    lowest_price : a_lo in (0, 1): a price that cannot vary has no density.
    density_bound : highest density of one price given the other prices and the budget, prices scaled to [a_lo, 1]; at
        least 1/(1 - a_lo), that of the uniform law. The paper takes the joint density, which a wide law of budgets
        makes as small as one likes.
    smallest_utility : min |u*_i| over goods, for u* of length 1. Corrected: no entry of u* may be zero, since a good
        that is worth nothing has no margin.
    margin : γ; the theorem's 1/(4n²T^{1/4}) if None. The printed bound is for that one.

    Notes
    -----
    Paper, Theorem 2. Corrected: δ + n(n-1)·p·γ/min|u*| + √(log T/(2T)) + `proposition_2` at ε = 1/T, with probability
    1 - 2/T, for γ ≤ min|u*|, a condition that the statement leaves to its proof. Where it fails the bound is 1; at the
    theorem's γ it holds wherever the printed bound is below 1, since that needs min|u*| > p/T^{1/4} ≥ T^{-1/4} > γ.
    """
    check_sizes(n_goods, n_observations)
    check_between(corruption, "corruption", 0.0, 1.0)
    check_between(smallest_utility, "smallest_utility", 0.0, float(1.0 / np.sqrt(n_goods)) + 1e-12)
    check_between(lowest_price, "lowest_price", 0.0, 1.0, closed=False)
    if not smallest_utility > 0.0:
        raise InvalidArgument(
            f"smallest_utility must be positive; received {smallest_utility}; a good worth nothing has no margin"
        )
    least = 1.0 / (1.0 - lowest_price)
    if not least * (1.0 - 1e-9) <= density_bound < np.inf:
        raise InvalidArgument(
            f"density_bound must be finite and at least 1/(1 - lowest_price) = {least:g}, the density of a uniform "
            f"price; received {density_bound}"
        )
    n, T = n_goods, n_observations
    log_T, root = float(np.log(T)), float(T**0.25)
    gamma = 1.0 / (4.0 * n**2 * root) if margin is None else margin
    gap = proposition_2(n, T, gamma, lowest_price).corrected.bound
    near_tie = n * (n - 1) * density_bound * gamma / smallest_utility
    proven = corruption + near_tie + float(np.sqrt(0.5 * log_T / T)) + gap
    printed = corruption + density_bound / (smallest_utility * root) + 20.0 * n**2 * log_T / (lowest_price * root)
    return Guarantee(
        "Theorem 2",
        "share of new observations left unexplained",
        Claim(printed, 1.0, max(0.0, 1.0 - 4.0 / T)),
        Claim(proven if gamma <= smallest_utility else 1.0, 1.0, 1.0 - 2.0 / T),
    )


def counting_bound(n_goods: int, n_observations: float, corruption: float) -> Claim:
    """Return a bound on 1 - Acc of the utility that explains most observations, without any margin.

    Nothing is asked of prices and budgets, and of u* only that it is never indifferent between bundles: the T regions
    cut the space of utilities into finitely many cells, on each of which the objective is constant, and that is all
    that uniform convergence needs.

    Notes
    -----
    Not in the paper, which introduces the margin because the objective is discontinuous. Whether u lies in a region
    depends on the signs of u and of at most c = max(n - 1, ⌊n²/4⌋) differences u_i/a_i - u_j/a_j, so on 2T observations
    on the side of u of M = n + 2Tc hyperplanes through 0: at most Σ_{k≤n} C(M, k)2^k patterns (faces of all
    dimensions). Vapnik and Chervonenkis: the share explained exceeds the accuracy by more than s anywhere with
    probability at most 4·patterns·exp(-Ts²/8); Hoeffding bounds the share u* explains. Each fails with probability 1/T.
    """
    check_sizes(n_goods, n_observations)
    check_between(corruption, "corruption", 0.0, 1.0)
    n, T = n_goods, n_observations
    M = n + 2.0 * T * max(n - 1, n**2 // 4)
    k = np.arange(n + 1)
    log_patterns = logsumexp(k * np.log(2.0 * M) - gammaln(k + 1))  # C(M, k) ≤ M^k/k!
    gap = np.sqrt(8.0 * (np.log(4.0) + log_patterns + np.log(T)) / T)
    return Claim(float(corruption + np.sqrt(0.5 * np.log(T) / T) + gap), 1.0, 1.0 - 2.0 / T)
