# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Findings about the proofs of Theorem 1 and its corollaries; most in the market of `circle`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0
from scipy.stats import binom

from stochpref.design.bundles import optimal_bundles
from stochpref.observations import Menus
from stochpref.paper.guarantees import corollary_1, log_escape
from stochpref.paper.reproduce import circle
from stochpref.paper.reproduce.guarantees import check_corollary_2
from stochpref.paper.reproduce.register.finding import Finding
from stochpref.paper.reproduce.transport import wasserstein
from stochpref.probability import log_mass
from stochpref.regions import Regions

Array = NDArray[np.float64]


def _cells(angle: float, kappa: float) -> Array:
    return circle.cell_probabilities(np.array(angle), np.array(kappa))


def _divergence(p: Array, q: Array) -> float:
    return float(np.sum(p * np.log(p / q)))


def variation_norm() -> Finding:
    """Tell two directions 0.1 apart at κ = 100 by the sign of one good."""
    kappa, half = 100.0, np.arcsin(0.05)
    regions = Regions.of(optimal_bundles(Menus(np.ones((1, 2)), [2.0])))
    laws = [np.exp(log_mass(regions, [s * np.sin(half), np.cos(half)], kappa)) for s in (1, -1)]
    variation = float(0.5 * np.abs(laws[0] - laws[1]).sum())
    limit = float(np.sqrt(0.1))
    corrected = min(0.5 * kappa * 0.1, float(np.sqrt(kappa * 0.1)), 1.0)
    return Finding(
        "variation-norm", "Lemma klnorm, (ieq:klnorm)",
        f"n = 2, κ = 100, |θ - θ'| = 0.1: TV at most √0.1 = {limit:.4f}",
        f"TV = {variation:.4f}; in h = κμ, where |h - h'| = 10, TV ≤ min(|h - h'|/2, √|h - h'|, 1) = {corrected:g}",
        limit < variation <= corrected,
    )  # fmt: skip


def divergence_norm() -> Finding:
    """Check the middle of the same chain of inequalities, inside the paper's range of κ."""
    near, far = _cells(0.7, 10.0), _cells(0.7 + np.pi, 10.0)
    root = float(np.sqrt(0.5 * _divergence(near, far)))
    in_h = float(np.sqrt(20.0))
    return Finding(
        "divergence-norm", "Lemma klnorm, (ieq:klnorm)",
        f"opposite directions, κ = 10, |θ - θ'| = 2: √(KL/2) at most √2 = {np.sqrt(2):.4f}",
        f"√(KL/2) = {root:.4f}; at most √|h - h'| = {in_h:.4f} holds",
        np.sqrt(2) < root <= in_h,
    )  # fmt: skip


def packing() -> Finding:
    """Place more points on the parameter space, a cylinder when n = 2, than the packing bound of a disc allows."""
    eps = 0.1
    around = int(np.floor(np.pi / np.arcsin(0.5 * eps)))
    heights = 0.05 + eps * np.arange(10)
    angles = 2 * np.pi * np.arange(around) / around
    points = np.array([(np.cos(t), np.sin(t), k) for t in angles for k in heights])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) + 9.0 * np.eye(len(points))
    allowed = (1 + 2 / eps) ** 2
    return Finding(
        "packing", "Lemma klnorm, packing number",
        f"n = 2, upper κ 1: at most (1 + 2/0.1)² = {allowed:.0f} parameters pairwise 0.1 apart",
        f"{len(points)} with smallest distance {gaps.min():.4f}: (μ, κ) has n + 1 coordinates; the count holds for h",
        len(points) > allowed and gaps.min() >= eps - 1e-12,
    )  # fmt: skip


def divergence_ball() -> Finding:
    """Show that KL ≤ 2|h - h*| makes a ball of radius ε²/2 safe, not 2ε²."""
    eps2, kappa = 0.25, 10.0
    chord = 2 * eps2
    angle = 2 * np.arcsin(0.5 * chord)
    worst = max(_divergence(_cells(a, kappa), _cells(a + angle, kappa)) for a in np.linspace(-np.pi, np.pi, 73))
    return Finding(
        "divergence-ball", "Lemma post_dom, first step",
        f"ε² = {eps2}: every θ within 2ε² = {chord} of θ* has KL at most {eps2}",
        f"KL = {worst:.4f} at κ = 10; the inequality before it allows radius ε²/2 in h",
        worst > eps2,
    )  # fmt: skip


def hoeffding_sign() -> Finding:
    """Show that the mean log-likelihood ratio is minus the divergence, and that Hoeffding squares the deviation."""
    truth, other = _cells(0.7, 3.0), _cells(0.9, 3.0)
    mean = float(np.sum(truth * np.log(other / truth)))
    T, eps2 = 1000, 0.01  # variables of ±2κ, upper κ = 1: the widest the proof allows for
    claimed = float(np.exp(-T * eps2 / 4))
    right = float(np.exp(-T * eps2**2 / 2))
    # mean of ±2 at most -2ε² means at most T(1 - ε²)/2 heads
    actual = float(binom.cdf(np.floor(T * (1 - eps2) / 2), T, 0.5))
    return Finding(
        "hoeffding", "Lemma post_dom, (ieq:klhf)",
        f"E log ratio = +KL; T = 1,000, ε² = 0.01, κ up to 1: the sum falls short with probability ≤ {claimed:.4f}",
        f"E log ratio = {mean:.4f} = -KL; for ±2κ the probability is {actual:.4f}, Hoeffding's bound {right:.4f} "
        "(ε⁴, not ε²); not needed: within |h - h*| ≤ ε²/2 the log ratio is at least -ε² surely",
        mean < 0 and actual > claimed and actual <= right,
    )  # fmt: skip


def sure_denominator() -> Finding:
    """Check what replaces the Hoeffding step: a log ratio of one observation is never beyond 2|h - h*|."""
    rng = np.random.default_rng(8)
    worst = 0.0
    for _ in range(2000):
        a, b = rng.uniform(-np.pi, np.pi), rng.uniform(-np.pi, np.pi)
        k, m = rng.uniform(0.1, 10.0, 2)
        b = a + 0.2 * (b - a)
        gap = abs(k * np.exp(1j * a) - m * np.exp(1j * b))
        worst = max(worst, float(np.abs(np.log(_cells(a, k) / _cells(b, m))).max()) / (2 * gap))
    return Finding(
        "sure-denominator", "Lemma post_dom, corrected",
        "a probability 4κ²/(Tε²) of failure, and with it α",
        f"largest |log ratio|/(2|h - h*|) over 2,000 random pairs: {worst:.4f}; no probability is lost",
        worst <= 1.0,
    )  # fmt: skip


def density_range() -> Finding:
    """Compute the lowest density with respect to the uniform law, n = 2."""
    kappa = 10.0
    lowest = float(np.exp(-kappa) / i0(kappa))
    return Finding(
        "density-range", "Lemma post_dom",
        f"densities lie in [exp(-κ), exp(κ)]; κ = 10: at least {np.exp(-kappa):.2e}",
        f"opposite the mean it is {lowest:.2e}; log ratios within ±2κ, which is what is used, are right",
        lowest < np.exp(-kappa),
    )  # fmt: skip


def exponent_of_tests() -> Finding:
    """Show that no test has errors as small as claimed: their sum is at least half the affinity squared."""
    truth, other = _cells(0.7, 3.0), _cells(0.9, 3.0)
    eps = 0.999 * float(circle.total_variation(truth, other))  # the lemma speaks of laws farther than ε
    log_affinity = 2 * float(np.log(np.sum(np.sqrt(truth * other))))
    T, balls = 20_000, 2 * np.log1p(8 * 10.0 / eps**2)
    claimed = float(np.logaddexp(balls, 0.0) - 2 * T * eps**2)
    least = float(np.log(0.5) + T * log_affinity)
    return Finding(
        "test-exponent", "Lemma testfun",
        f"two θ at TV ε = {eps:.4f}, T = 20,000: tests exist whose errors add up to at most exp({claimed:.0f})",
        f"no test does better than exp({least:.0f}); the constant 2 must be at most {-log_affinity / eps**2:.2f} here, "
        "and is 1/8 by counting Scheffé sets",
        least > claimed,
    )  # fmt: skip


def packing_step() -> Finding:
    """Show that the printed simplification of the packing number is smaller than what it simplifies."""
    n, T = 2, 3
    exact = (1 + T / (2 * n * np.log(T) ** 2)) ** n
    printed = (5 * T / (16 * n * np.log(T))) ** n
    exponent = 16 * n * np.log(T) ** 2
    return Finding(
        "packing-step", "proof of Theorem 1, packing number",
        f"n = 2, κ up to 1, T = 3, α = 0: N(ε_T/2) at most {printed:.3f}",
        f"the lemma gives {exact:.3f} (log T for log²T, a lost 1); at most exp({exponent:.1f}), which is used, holds",
        exact > printed and np.log(exact) < exponent,
    )  # fmt: skip


def second_order() -> Finding:
    """Compare orders: mass p moved over a distance d counts d·p at order 1 but d·√p at order 2."""
    truth, other = _cells(0.7, 3.0), _cells(0.75, 3.0)
    variation = float(circle.total_variation(truth, other))
    first, second = (wasserstein(circle.POINTS, truth, other, order) for order in (1, 2))
    limit, right = float(np.sqrt(2) * variation), float(np.sqrt(2 * variation))
    return Finding(
        "wasserstein-order", "proof of Theorem 1, last step",
        f"W₂ ≤ √n·TV = {limit:.4f} for two θ 0.05 apart",
        f"W₂ = {second:.4f} (at most √(n·TV) = {right:.4f}); W₁ = {first:.4f} obeys the printed bound",
        first <= limit < second <= right,
    )  # fmt: skip


def theorem_1_survives() -> Finding:
    """Show that the printed radius, in TV and at α = 0, passes the corrected proof with probability 1 - 2/T."""
    worst, n_cases = -np.inf, 0
    for n in (2, 3, 5, 10, 25, 100):
        for high in (0.5, 1.0, 3.0, 10.0, 100.0):
            for T in np.geomspace(3, 1e12, 60):
                radius = 8 * max(1.0, high) * np.sqrt(n) * np.log(T) / np.sqrt(T)
                if radius < 1:
                    n_cases += 1
                    worst = max(worst, log_escape(n, T, (0.01 * high, high), radius) - np.log(2 / T))
    return Finding(
        "theorem-1", "Theorem 1",
        "E[posterior mass of the set] ≥ 1 - 2/T - 1/(4T^{2α} log²T), α in [0, 1/2]",
        f"true for W₁ with α = 0 and 1 - 2/T where it says something: in {n_cases} cases the corrected proof leaves at "
        f"least a factor exp({-worst:.0f})",
        worst < 0,
    )  # fmt: skip


def markov_step() -> Finding:
    """Check a simplification said to hold from T = 10 on, for L = 1 and for the largest L that two goods allow."""
    n, largest = 2, np.sqrt(2) / 2

    def excess(T: float, L: float) -> float:
        return float(1 / (4 * n) + 4 * L * np.log(T) / (n * np.sqrt(T)))

    first, possible = (next(T for T in range(10, 10_000) if excess(T, L) <= 1) for L in (1.0, largest))
    return Finding(
        "markov", "proof of Corollary 1, (ieq:mudiff_p1)",
        "for T ≥ 10: 1/(4n log²T T^{2α}) + 4L/(n log T T^{1/2+α}) ≤ 1/(log²T T^{2α})",
        f"n = 2, α = 0, L = 1, T = 10: the left side is {excess(10, 1.0):.2f} times the right; it holds from "
        f"T = {first}, and at α = 1/2 never for T ≥ 2. L ≤ √n/2, so L = 1 needs n ≥ 4; at the largest L of n = 2 it "
        f"is {excess(10, largest):.2f} times, and holds from T = {possible}",
        excess(10, 1.0) > excess(10, largest) > 1,
    )  # fmt: skip


def corollary_1_survives() -> Finding:
    """Show that the printed bound is wide enough for the corrected proof, up to the largest L there can be."""
    ratios = [
        claim.corrected.bound / claim.stated.bound
        for n in (2, 3, 5, 10, 25, 100)
        for high in (0.5, 1.0, 3.0, 10.0, 100.0)
        for T in np.geomspace(3, 1e12, 30)
        for L in (1e-3, 0.5 * np.sqrt(n))
        for claim in (corollary_1(n, T, (0.01 * high, high), L),)
    ]
    return Finding(
        "corollary-1", "Corollary 1",
        "E|θ_T - θ*| ≤ max(9, 9κ)·n·log T/(L·T^{1/2-α}) but for probability 1/(T^{2α} log²T)",
        f"true for W₁, α = 0: the corrected bound is at most {max(ratios):.2f} of it in {len(ratios):,} cases, L from "
        "0.001 to √n/2, beyond which there is none",
        max(ratios) <= 1.0,
    )  # fmt: skip


def diameter() -> Finding:
    """Measure the parameter space: opposite directions are 2 apart whatever κ is."""
    high, low = 0.5, 0.1
    right = float(np.hypot(2.0, high - low))
    return Finding(
        "diameter", "proof of Corollary 1, last step",
        f"κ up to 0.5: two parameters are at most 2κ = {2 * high:g} apart",
        f"up to √(4 + (κ_hi - κ_lo)²) = {right:.4f}; 2κ_hi is right from κ_hi = 2/√3 on",
        right > 2 * high,
    )  # fmt: skip


def coincidence() -> Finding:
    """Show that TV compares laws and does not say how often two draws differ."""
    bundles = 2 * _cells(0.7, 3.0)  # given the budget: three at 1, four at 2, either budget as likely
    differ = 1 - 0.5 * float(np.sum(bundles**2))
    return Finding(
        "coincidence", "proof of Corollary 2, (ieq:bddx)",
        "P(x̃ ≠ x*) ≤ 2 TV: for θ = θ' it is 0",
        f"two customers of the same law, given the same menu, differ with probability {differ:.3f}; only the best "
        "coupling reaches TV, and neither is about LP(μ)",
        differ > 0.3,
    )  # fmt: skip


def corollary_2() -> Finding:
    """Put the mean direction nearer than 1/√T to where a choice changes: half the posterior is on the wrong side."""
    check = check_corollary_2(100_000_000, 20, np.random.default_rng(11))
    return Finding(
        "corollary-2", "Corollary 2",
        f"n = 2, law (iii), κ in (1, 2), T = 100,000,000: E|x̃ - x*| at most {check.stated:.4f} whatever μ*",
        f"{check.truth:.4f} in the median of 20 data sets for a μ* 1e-6 from a boundary, where 1/√T = 1e-4: a step "
        "function of μ has no rate that holds for all μ*; what holds is "
        "`corollary_2(...).corrected` for customers and `regret_bound` for the value lost",
        check.stated_holds is False,
    )  # fmt: skip


CHECKS = (
    variation_norm, divergence_norm, packing, divergence_ball, hoeffding_sign, sure_denominator, density_range,
    exponent_of_tests, packing_step, second_order, theorem_1_survives, markov_step, corollary_1_survives,
    diameter, coincidence, corollary_2,
)  # fmt: skip
