"""Bounds against hand computations, against slow twins of their derivations, and against simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stochpref as sp
from stochpref.errors import InvalidArgument
from stochpref.paper import guarantees as bounds
from stochpref.paper.reproduce import circle
from stochpref.paper.reproduce import guarantees as exhibit

RANGE = (1.0, 10.0)


def test_printed_theorem_1_by_hand():
    # 8·10·2·log(10⁴)/10², with log 10⁴ = 9.210340371976184; 1 - 2/10⁴ - 1/(4·84.8303698)
    claim = bounds.theorem_1(2, 10_000, RANGE).stated
    assert claim.bound == pytest.approx(14.736544595161894)
    assert claim.probability == pytest.approx(1 - 0.0002 - 0.00294706, abs=1e-8)
    assert claim.ceiling == pytest.approx(1.4142135623730951)
    assert not claim.is_informative
    # α = 1/4: T^{1/4} = 10 in the denominator, T^{1/2} = 100 in the probability; κ below 1 counts as 1
    claim = bounds.theorem_1(3, 10_000, (0.1, 0.5), alpha=0.25).stated
    assert claim.bound == pytest.approx(8 * 3 * 9.210340371976184 / 10)
    assert claim.probability == pytest.approx(1 - 0.0002 - 1 / (400 * 84.83036976765435))


def test_printed_corollaries_by_hand():
    first = bounds.corollary_1(2, 10_000, RANGE, 0.05).stated
    assert first.bound == pytest.approx(9 * 10 * 2 * 9.210340371976184 / (0.05 * 100))
    assert first.probability == pytest.approx(1 - 1 / 84.83036976765435)
    assert first.ceiling == pytest.approx(math.sqrt(4 + 81))
    second = bounds.corollary_2(2, 10_000, RANGE).stated
    assert second.bound == pytest.approx(29.473089190323787)
    assert second.probability == first.probability


def test_printed_corruption_bounds_by_hand():
    one = bounds.proposition_1(10_000, 0.1)
    assert one.stated.bound == pytest.approx(0.1 + 0.09210340371976184)
    assert one.stated.probability == pytest.approx(1e-4)
    assert one.corrected.probability == pytest.approx(1 - math.exp(-2 * 84.83036976765435))
    # 4·√(9.2103/10⁴)/(0.5·0.1) + 6·√(log(10⁴/0.01)/10⁴), log 10⁶ = 13.815510557964274
    two = bounds.proposition_2(3, 10_000, 0.1, 0.5, failure=0.01).stated
    assert two.bound == pytest.approx(2.4278838 + 0.2230156, abs=1e-6)
    assert two.probability == 0.99
    # T^{1/4} = 10: 0.1 + 2/(0.2·10) + 20·9·9.2103/(0.5·10)
    three = bounds.theorem_2(3, 10_000, 0.1, 0.5, 2.0, 0.2).stated
    assert three.bound == pytest.approx(0.1 + 1.0 + 331.57225339114265)
    assert three.probability == pytest.approx(1 - 4e-4)


def test_escape_is_the_formula_of_its_derivation():
    n, T, (low, high), r = 3, 500.0, RANGE, 0.5
    eps, eta2 = 2 * n / (T * r), n / T
    balls = (1 + 2 * high / eps) ** n
    denominator = n * (high - low) / high * (4 * high / eta2) ** n * math.exp(T * eta2)
    twin = (balls + denominator) * math.exp(-T * (r - eps / 2) ** 2 / 2)
    assert twin < 1
    assert bounds.log_escape(n, T, RANGE, r) == pytest.approx(math.log(twin))
    assert bounds.log_escape(n, T, RANGE, 0.0) == 0.0
    assert bounds.log_escape(n, T, RANGE, 0.05) == 0.0  # never above a probability of 1


def test_corrected_radius_inverts_the_escape():
    claim = bounds.theorem_1(3, 5000, RANGE, failure=0.05).corrected
    radius = claim.bound / math.sqrt(3)
    assert bounds.log_escape(3, 5000, RANGE, radius) == pytest.approx(math.log(0.05), abs=1e-6)
    assert claim.probability == 0.95
    smaller = bounds.theorem_1(3, 50_000, RANGE, failure=0.05).corrected.bound
    larger = bounds.theorem_1(10, 5000, RANGE, failure=0.05).corrected.bound
    assert smaller < claim.bound < larger
    # Markov: the radius leaves out failure/T on average, so more than 1/T with probability at most failure
    first = bounds.corollary_1(3, 5000, RANGE, 0.1, failure=0.05).corrected
    radius = bounds.theorem_1(3, 5000, RANGE, failure=0.05 / 5000).corrected.bound
    assert first.bound == pytest.approx(radius / 0.1 + math.sqrt(85) / 5000)
    second = bounds.corollary_2(3, 5000, RANGE, failure=0.05).corrected
    assert second.bound == pytest.approx(radius + math.sqrt(3) / 5000)
    assert bounds.regret_bound(3, 5000, RANGE, 0.1, failure=0.05).bound == pytest.approx(math.sqrt(3) * first.bound)


def test_prior_mass_behind_the_denominator(rng):
    # The mass of |h - h*| ≤ η²/2 is at least κ_hi/(n(κ_hi - κ_lo))·(η²/(4κ_hi))ⁿ, also at the ends of the range.
    n, (low, high), eta2 = 2, (1.0, 3.0), 1.5
    directions = sp.laws.uniform_directions(200_000, n, rng=rng)
    draws = directions * rng.uniform(low, high, 200_000)[:, None]
    claimed = high / (n * (high - low)) * (eta2 / (4 * high)) ** n
    for kappa in (1.0001, 2.0, 2.9999):
        share = np.mean(np.linalg.norm(draws - kappa * np.array([0.6, 0.8]), axis=1) <= eta2 / 2)
        assert share > claimed


def test_variation_is_at_most_half_the_distance_in_h(rng):
    a, b = rng.uniform(-np.pi, np.pi, (2, 500))
    k, m = rng.uniform(0.05, 10.0, (2, 500))
    b = a + 0.1 * (b - a)
    variation = circle.total_variation(circle.cell_probabilities(a, k), circle.cell_probabilities(b, m))
    distance = np.abs(k * np.exp(1j * a) - m * np.exp(1j * b))
    assert np.all(variation <= 0.5 * distance)
    assert np.max(variation / distance) > 0.2


def test_regret_is_at_most_the_angle(rng):
    n = 4
    menus = sp.MenuLaw("uniform").sample(500, n, rng=rng)
    true, other = sp.laws.uniform_directions(2, n, rng=rng)
    best, bought = (sp.choose(u, menus.prices, menus.budgets) for u in (true, other))
    assert np.max((best - bought) @ true) <= math.sqrt(n) * np.linalg.norm(true - other)


def test_corrected_proposition_2_is_the_best_noise():
    n, T, gamma, price, eps = 4, 200_000, 0.08, 0.5, 1e-3
    m = 6  # ⌊25/4⌋

    def at(tau: float) -> float:
        tail = 0.5 * math.erfc(price * gamma / (2 * math.sqrt(2) * tau) / math.sqrt(2))
        return (m + 1) * tail + math.sqrt((1 / (2 * tau**2) + math.log(T / eps) + 2) / (2 * T - 1))

    twin = min(at(tau) for tau in np.geomspace(1e-4, 0.1, 4000))
    claim = bounds.proposition_2(n, T, gamma, price, failure=eps)
    assert claim.corrected.bound == pytest.approx(twin, rel=1e-5)
    assert claim.corrected.bound < claim.stated.bound


def test_regions_have_at_most_the_inequalities_counted(rng):
    for n in (2, 3, 6):
        for law in ("uniform", "discrete", "fixed"):
            data = sp.simulate(sp.VonMisesFisher(np.eye(n)[0], 0.0), sp.MenuLaw(law), 300, rng=rng)
            regions = sp.Regions.of(data)
            assert max(len(regions.inequalities(t)[0]) for t in range(300)) <= (n + 1) ** 2 // 4


def test_corrected_theorem_2_by_hand():
    n, T = 3, 10_000
    gamma = 1 / (4 * 9 * 10)
    gap = bounds.proposition_2(n, T, gamma, 0.5).corrected.bound
    expected = 0.1 + 6 * 2.0 * gamma / 0.2 + math.sqrt(math.log(T) / (2 * T)) + gap
    claim = bounds.theorem_2(n, T, 0.1, 0.5, 2.0, 0.2).corrected
    assert claim.bound == pytest.approx(expected)
    assert bounds.theorem_2(n, T, 0.1, 0.5, 2.0, 0.001).corrected.bound == 1.0  # γ exceeds min |u*|


def test_the_condition_of_theorem_2_holds_where_its_bound_says_something():
    for n, T, price in ((2, 1e16, 0.5), (3, 1e18, 0.1), (10, 1e22, 0.9)):
        density = 1 / (1 - price)
        # min|u*| just large enough for the term with it to stay below 1.
        claim = bounds.theorem_2(n, T, 0.0, price, density, 1.01 * density / T**0.25)
        assert claim.corrected.bound < 1.0


def test_near_ties_are_as_rare_as_the_corrected_theorem_2_says(rng):
    utility = np.array([0.5, 0.62, 0.6047])
    utility /= np.linalg.norm(utility)
    gamma = 0.01
    data = sp.simulate(sp.CorruptedUtilityLaw(utility, 0.0), sp.MenuLaw("uniform"), 20_000, rng=rng)
    found = sp.Regions.of(data)
    regions = sp.Regions(found.kind_code, found.side, found.slope, found.pivot, 2.0)
    missed = 1 - regions.contains(utility, margin=gamma).mean()
    assert 0 < missed <= 3 * 2 * 2.0 * gamma / utility.min()


def test_counting_bound_by_hand_and_counts_enough_patterns(rng):
    # n = 2, T = 1000: c = 1, M = 2002, patterns 1 + 4004 + 4004²/2
    patterns = 1 + 4004 + 4004**2 / 2
    expected = 0.1 + math.sqrt(math.log(1000) / 2000) + math.sqrt(8 * math.log(4 * patterns * 1000) / 1000)
    claim = bounds.counting_bound(2, 1000, 0.1)
    assert claim.bound == pytest.approx(expected)
    assert claim.probability == 0.998
    for n, T in ((2, 20), (3, 8)):
        data = sp.simulate(sp.VonMisesFisher(np.eye(n)[0], 0.0), sp.MenuLaw("discrete"), 2 * T, rng=rng)
        u = np.vstack([rng.standard_normal((20_000, n)), np.eye(n), -np.eye(n)])
        seen = len(np.unique(sp.Regions.of(data).contains(u), axis=0))
        M = n + 2 * T * max(n - 1, n**2 // 4)
        assert 5 < seen <= sum((2 * M) ** k / math.factorial(k) for k in range(n + 1))


def test_first_informative():
    assert bounds.first_informative(lambda T: bounds.Claim(100 / math.sqrt(T), 1.0, 1.0)) == pytest.approx(
        1e4, rel=1e-6
    )
    assert bounds.first_informative(lambda T: bounds.Claim(0.5, 1.0, 1 - 1 / T)) == 3.0
    assert bounds.first_informative(lambda T: bounds.theorem_1(2, T, RANGE, alpha=0.5).stated) == math.inf
    size = bounds.first_informative(lambda T: bounds.theorem_1(5, T, RANGE).stated)
    assert 80 * math.sqrt(5) * math.log(size) == pytest.approx(math.sqrt(size), rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.theorem_1(1, 100, RANGE), "n_goods must be at least 2; received 1"),
        (lambda: bounds.theorem_1(2, 1, RANGE), "n_observations must be finite and at least 2"),
        (lambda: bounds.theorem_1(2, 100, (3.0, 2.0)), "0 < lower < upper"),
        (lambda: bounds.theorem_1(2, 100, RANGE, alpha=0.7), r"alpha must lie in \[0, 0.5\]; received 0.7"),
        (lambda: bounds.theorem_1(2, 100, RANGE, failure=0.0), r"failure must lie in \(0, 1\)"),
        (lambda: bounds.log_escape(2, 100, RANGE, 1.5), "radius must lie in"),
        (lambda: bounds.corollary_1(2, 100, RANGE, 0.0), "separation must be positive"),
        (lambda: bounds.corollary_1(2, 100, RANGE, 0.71), "at most √n/2 = 0.7071; received 0.71"),
        (lambda: bounds.regret_bound(9, 100, RANGE, math.inf), "at most √n/2 = 1.5; received inf"),
        (lambda: bounds.proposition_1(100, 1.2), "corruption must lie in"),
        (lambda: bounds.proposition_2(3, 100, 0.0, 0.5), "margin and lowest_price must be positive"),
        (lambda: bounds.proposition_2(3, 100, 0.1, 2.0), r"lowest_price must lie in \[0, 1\]; received 2.0"),
        (lambda: bounds.proposition_2(3, 100, math.inf, 0.5), "positive and finite; received inf"),
        (lambda: bounds.theorem_2(3, 100, 0.1, 0.5, 1.9, 0.1), "density_bound must be finite and at least .* = 2"),
        (lambda: bounds.theorem_2(3, 100, 0.1, 0.5, math.inf, 0.1), "density_bound must be finite"),
        (lambda: bounds.theorem_2(3, 100, 0.1, 1.0, 2.0, 0.1), r"lowest_price must lie in \(0, 1\); received 1.0"),
        (lambda: bounds.theorem_2(3, 100, 0.1, 0.5, 2.0, 0.0), "smallest_utility must be positive"),
        (lambda: bounds.theorem_2(3, 100, 0.1, 0.5, 2.0, 0.9), "smallest_utility must lie in"),
    ],
)
def test_assumptions_are_checked(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_circle_agrees_with_exact_masses():
    regions = sp.Regions.of(sp.Observations(circle.POINTS[:, 2:4], circle.POINTS[:, 4], circle.POINTS[:, :2]))
    for angle, kappa in ((0.7, 3.0), (-2.5, 9.0), (1.9, 0.4)):
        exact = np.exp(sp.log_mass(regions, [np.cos(angle), np.sin(angle)], kappa)) / 2
        np.testing.assert_allclose(circle.cell_probabilities(np.array(angle), np.array(kappa)), exact, rtol=1e-7)


def test_circle_posterior_agrees_with_a_plain_grid(rng):
    counts = rng.multinomial(300, circle.cell_probabilities(np.array(0.7), np.array(3.0)))
    known = circle.posterior(counts, RANGE)
    angle, kappa = np.meshgrid(np.linspace(-np.pi, np.pi, 1201)[:-1], np.linspace(1, 10, 181), indexing="ij")
    log_density = np.log(circle.cell_probabilities(angle, kappa)) @ counts
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    for own, plain in ((known.angle, angle), (known.concentration, kappa)):
        assert known.weight @ own == pytest.approx(np.sum(weight * plain), abs=0.02)


def test_posterior_bounds_hold_in_simulation():
    checks = exhibit._check_posterior(1000, exhibit.find_separation(), 10, np.random.default_rng(3))
    assert [check.statement for check in checks] == ["Theorem 1", "Corollary 1", "Corollary 2, customers"]
    assert all(check.corrected_holds for check in checks)
    assert checks[0].corrected < math.sqrt(2) < checks[0].stated  # one says something, the other nothing


def test_printed_corollary_2_fails_in_simulation():
    check = exhibit.check_corollary_2(100_000_000, 10, np.random.default_rng(4))
    assert check.stated_holds is False
    assert check.truth > 2 * check.stated


def test_corruption_bounds_hold_in_simulation():
    first = exhibit.check_proposition_1(200, 10, np.random.default_rng(5))
    assert first.corrected_holds
    assert first.stated_holds is False
    assert exhibit.check_proposition_2(20_000, 0.2, 2, np.random.default_rng(6)).corrected_holds
    for check in exhibit.check_theorem_2(150, np.random.default_rng(7)):
        assert check.corrected_holds
