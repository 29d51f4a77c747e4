# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Findings about the proofs of Propositions 1 and 2 and Theorem 2."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from stochpref.laws import CorruptedUtilityLaw, MenuLaw, simulate
from stochpref.models import CommonUtility
from stochpref.paper.guarantees import proposition_1, proposition_2, theorem_2
from stochpref.paper.reproduce.register.finding import Finding
from stochpref.regions import Regions


def direction() -> Finding:
    """Settle the direction by the distribution function of the number of odd customers, a binomial."""
    T, share = 1000, 0.1
    claim = proposition_1(T, share)
    held = float(binom.cdf(np.floor(T * claim.corrected.bound), T, share))
    return Finding(
        "proposition-1", "Proposition 1 and its proof",
        f"T = 1,000, δ = 0.1: the share of odd customers is at most {claim.stated.bound:.4f} with probability at most "
        f"{claim.stated.probability:.3f}",
        f"with probability {held:.12f}; at least 1 - exp(-2 log²T) by Hoeffding",
        held >= claim.corrected.probability - 1e-12 and held > claim.stated.probability,
    )  # fmt: skip


def two_good_noise() -> Finding:
    """Show that an inequality between two goods has √2 the noise that the proof gives it."""
    T = 1000
    spread = np.sqrt(2 * np.log(T))  # a γ/τ
    actual, claimed = float(ndtr(-spread / np.sqrt(2))), 2.0 / T
    return Finding(
        "two-goods", "proof of Proposition 2, (ieq:0gamma), left",
        f"T = 1,000: an inequality that u₀ violates holds with margin γ at u with probability ≤ 2/T = {claimed:.4f}",
        f"{actual:.4f} for one between two goods: the exponent is a²γ²/(4τ²), not a²γ²/(2τ²)",
        actual > claimed,
    )  # fmt: skip


def union_of_inequalities() -> Finding:
    """Show that a margin must survive at all inequalities of a region at once."""
    T, n = 1000, 25
    spread = np.sqrt(2 * np.log(T))
    claimed = 2.0 / T
    slack = 1 - float(ndtr(spread)) ** n
    # A pivot at ratio λ and n - 1 goods 2γ from it share the pivot's noise: integrate it out.
    z = np.linspace(-8, 8, 4001)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    pivot = 1 - float(np.sum(density * ndtr(spread + z) ** (n - 1)) * (z[1] - z[0]))
    return Finding(
        "union", "proof of Proposition 2, (ieq:0gamma), right",
        f"T = 1,000, n = 25: u₀ inside by 2γ, u not inside by γ with probability at most 2/T = {claimed:.4f}",
        f"{slack:.4f} for a slack region, {pivot:.4f} for a pivot region: up to (n + 1)²/4 inequalities must survive",
        slack > claimed and pivot > claimed,
    )  # fmt: skip


def proposition_2_survives() -> Finding:
    """Show that the printed bound is wide enough for the corrected proof."""
    ratios = [
        proposition_2(n, T, gamma, price)
        for n in (2, 3, 5, 10, 25, 100)
        for T in np.geomspace(30, 1e12, 12)
        for gamma in (1e-4, 1e-2, 0.1)
        for price in (0.1, 0.5, 1.0)
    ]
    informative = [claim for claim in ratios if claim.stated.is_informative]
    worst = max(claim.corrected.bound / claim.stated.bound for claim in informative)
    return Finding(
        "proposition-2", "Proposition 2",
        "4√(log T/(a²γ²T)) + 6√(log(T/ε)/T)",
        f"true where it says something: the corrected bound is at most {worst:.2f} of it in {len(informative)} cases",
        worst < 1.0,
    )  # fmt: skip


def substitution() -> Finding:
    """Put the margin of the theorem into the bound of the proposition."""
    n, T, price = 3, 10_000, 0.5
    gamma = 1 / (4 * n**2 * T**0.25)
    right = 4 * np.sqrt(np.log(T) / (price**2 * gamma**2 * T))
    printed = 4 * np.sqrt(n**4 * np.log(T) / (price**2 * T))
    final = 20 * n**2 * np.log(T) / (price * T**0.25)
    return Finding(
        "substitution", "proof of Theorem 2, last display",
        f"n = 3, T = 10,000, a = 1/2: 4√(log T/(a²γ²T)) becomes {printed:.3f}",
        f"{right:.2f}, of order T^(-1/4); the statement's {final:.1f} covers it",
        right > printed and final > right,
    )  # fmt: skip


def joint_density() -> Finding:
    """Show that a wide law of budgets makes the joint density small and changes no tie between prices."""
    gamma, width = 0.01, 1000.0
    u = 1 / np.sqrt(2)
    joint = 4 / width  # prices U[1/2, 1]², budget U[0, 1000]
    claimed = 4 * joint * gamma / u
    grid = 0.5 + (np.arange(2000) + 0.5) / 4000
    near = np.abs(u / grid[:, None] - u / grid[None, :]) <= gamma
    actual, corrected = float(near.mean()), 2 * 2.0 * gamma / u
    return Finding(
        "joint-density", "proof of Theorem 2, near ties",
        f"density of (a, b) at most {joint:g} (b uniform on [0, 1000]): two ratios within γ with probability at most "
        f"{claimed:.1e}",
        f"{actual:.4f}; with the density 2 of one price given the rest, 2pγ/|u| = {corrected:.4f} holds",
        claimed < actual <= corrected,
    )  # fmt: skip


def worthless_good() -> Finding:
    """Show that a good worth nothing leaves u* no margin where money is left."""
    utility = np.array([0.8, 0.0, -0.6])
    data = simulate(CorruptedUtilityLaw(utility, 0.0), MenuLaw("uniform"), 5000, rng=np.random.default_rng(9))
    regions = Regions.of(data)
    slack = regions.kind == "slack"
    share = float(regions.contains(utility, margin=1e-9)[slack].mean())
    without = float(regions.contains([0.8, -1e-6, -0.6], margin=1e-9)[slack].mean())
    return Finding(
        "worthless-good", "Theorem 2, min over u_i ≠ 0",
        "goods with u*_i = 0 are left out of the minimum",
        f"u* = (0.8, 0, -0.6) has margin 1e-9 in {share:.0%} of slack observations, (0.8, -1e-6, -0.6) in "
        f"{without:.0%}: V u ≤ w - γ cannot leave out goods by the value of u",
        share == 0.0 and without == 1.0,
    )  # fmt: skip


def expected_optimum() -> Finding:
    """Show that the best of many utilities explains more of the data than the true one, on average."""
    utility = np.array([0.5, 0.4, -0.6, 0.3, 0.38])
    law, rng = CorruptedUtilityLaw(utility, 0.5), np.random.default_rng(10)
    best, own = [], []
    for seed in range(40):
        data = simulate(law, MenuLaw("uniform"), 12, rng=rng)
        best.append(CommonUtility(random_state=seed).fit(data).n_consistent_ / 12)
        own.append(float(Regions.of(data).contains(utility, strict=True).mean()))
    gain = np.array(best) - np.array(own)
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return Finding(
        "expected-optimum", "section 4, after Theorem 2",
        "E[OPT(0)] = Acc(u*), with OPT a sum",
        f"n = 5, T = 12, δ = 0.5: the optimum per observation exceeds what u* explains by "
        f"{gain.mean():.3f} ± {error:.3f}; ≥ is right",
        gain.mean() > 3 * error,
    )  # fmt: skip


def theorem_2_survives() -> Finding:
    """Show that the printed bound is wide enough for the corrected proof, read with the density of one price."""
    claims = [
        theorem_2(n, T, 0.0, price, 1 / (1 - price), n**-1.5)
        for n in (2, 3, 5, 10, 25)
        for T in np.geomspace(1e10, 1e40, 16)
        for price in (0.1, 0.5, 0.9)
    ]
    informative = [claim for claim in claims if claim.stated.is_informative]
    worst = max(claim.corrected.bound / claim.stated.bound for claim in informative)
    return Finding(
        "theorem-2", "Theorem 2",
        "δ + p/(min|u*| T^(1/4)) + 20n² log T/(a T^(1/4))",
        f"true where it says something, for p the density of one price: the corrected bound is at most {worst:.2f} of "
        f"it in {len(informative)} cases, in all of which γ ≤ min|u*|, as the proof needs",
        worst < 1.0,  # where γ exceeds min|u*| the corrected bound is 1, more than one that says something
    )  # fmt: skip


CHECKS = (
    direction, two_good_noise, union_of_inequalities, proposition_2_survives, substitution, joint_density,
    worthless_good, theorem_2_survives, expected_optimum,
)  # fmt: skip
