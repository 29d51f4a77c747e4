"""Exact masses: reference values, identities, gradients, and agreement with an independent route."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import i0e

import stochpref as sp
from stochpref.design.bundles import expected_information, optimal_bundles
from stochpref.mass.masses import Masses, exact_log_mass, observed_information, sum_log_mass

REFERENCE = json.loads((Path(__file__).parent / "reference" / "region_probabilities.json").read_text())
LAWS = ("uniform", "discrete", "fixed")


def unit(vector: object) -> np.ndarray:
    array = np.asarray(vector, dtype=float)
    return array / np.linalg.norm(array)


def random_direction(n: int, rng: np.random.Generator) -> np.ndarray:
    return unit(rng.standard_normal(n))


def market(
    law: str, n_goods: int, kappa: float, n_observations: int, rng: np.random.Generator
) -> tuple[sp.Regions, np.ndarray]:
    mu = random_direction(n_goods, rng)
    observations = sp.simulate(sp.VonMisesFisher(mu, kappa), sp.MenuLaw(law), n_observations, rng=rng)
    return sp.Regions.of(observations), kappa * mu


@pytest.mark.parametrize(("options", "allowed"), [({}, 1e-9), ({"tolerance": 1e-12}, 1e-11)])
def test_reference_values(options: dict[str, float], allowed: float) -> None:
    assert len(REFERENCE) == 84
    for case in REFERENCE:
        regions = sp.Regions.of(sp.Observations([case["prices"]], [case["budget"]], [case["bundle"]]))
        assert regions.kind[0] == case["kind"]
        value = sp.log_mass(regions, unit(case["mean_direction"]), case["concentration"], **options)
        assert abs(value[0] - case["log_probability"]) <= allowed, case


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_of_all_bundles_sum_to_one(law: str) -> None:
    rng = np.random.default_rng(11)
    for trial in range(200):
        n, kappa = int(rng.integers(2, 9)), float(10 ** rng.uniform(-2, 2))
        menus = sp.MenuLaw(law).sample(1, n, rng=rng)
        if trial % 4 == 0:
            menus = sp.Menus(menus.prices * 10 ** rng.uniform(0, 2, (1, n)), menus.budgets * 10)
        regions = sp.Regions.of(optimal_bundles(menus))
        assert set(regions.kind) <= {"slack", "pivot", "tight"}
        masses = exact_log_mass(regions, kappa * random_direction(n, rng))
        assert abs(np.exp(masses.log_mass).sum() - 1) < 1e-9, (n, kappa, law)


def test_prices_far_apart_hide_nothing() -> None:
    """Ratios up to 10,000: a dear good's narrow threshold inside a cheap good's wide one."""
    rng = np.random.default_rng(17)
    for _ in range(100):
        n, kappa = int(rng.integers(2, 6)), float(10 ** rng.uniform(-2, 3))
        menus = sp.Menus(10 ** rng.uniform(0, 4, (1, n)), [10 ** rng.uniform(0, 4)])
        masses = exact_log_mass(sp.Regions.of(optimal_bundles(menus)), kappa * random_direction(n, rng))
        assert abs(np.exp(masses.log_mass).sum() - 1) < 1e-9, (menus.prices, menus.budgets, kappa)
    # Two goods as an arc: the pivot costs 1, the good not bought 400.
    regions = sp.Regions.of(sp.Observations([[1.0, 400.0]], [0.5], [[0.5, 0.0]]))
    mean = np.arctan2(0.6, 0.8)
    expected = np.log(arc_probability(-np.pi / 2, np.arctan2(400, 1), mean, 1.0))
    assert sp.log_mass(regions, [0.8, 0.6], 1.0)[0] == pytest.approx(expected, abs=1e-9)


def test_a_certain_tight_region_has_a_finite_gradient() -> None:
    regions = sp.Regions.of(sp.Observations([[1.0, 2.0, 1.5]], [1.0], [[1.0, 0.0, 0.0]]))
    assert regions.kind[0] == "tight"
    mu = unit([1.0, 0.1, 0.1])
    for kappa in (200.0, 800.0, 1e4, 1e5):
        masses = sp.log_mass(regions, mu, kappa, gradient=True, full=True)
        assert np.abs(masses.gradient).max() < 1e-6
        assert np.isfinite(observed_information(regions, kappa * mu)).all()


def arc_probability(low: float, high: float, mean: float, kappa: float) -> float:
    """Probability of an arc under the von Mises law, by direct integration."""
    value, _ = quad(lambda t: np.exp(kappa * (np.cos(t - mean) - 1)), low, high, epsabs=0, epsrel=1e-12, limit=500)
    return value / (2 * np.pi * i0e(kappa))


@pytest.mark.parametrize("kappa", [0.0, 0.3, 4.0, 60.0, 2000.0])
def test_two_goods_are_arcs(kappa: float) -> None:
    mean = 0.4
    mu = [np.cos(mean), np.sin(mean)]
    observations = sp.Observations(
        [[1.0, 2.0]] * 4,
        [5.0, 2.0, 1.0, 2.5],
        [[1.0, 0.0], [1.0, 0.5], [1.0, 0.0], [0.5, 1.0]],
    )
    # bought 1 not 2; ratio of 1 above 2, both positive; tight: 1 the better value; ratio of 2 above 1
    slope = np.arctan2(2, 1)
    arcs = [(-np.pi / 2, 0.0), (0.0, slope), (-np.pi / 2, slope), (slope, np.pi / 2)]
    value = sp.log_mass(sp.Regions.of(observations), mu, kappa)
    expected = [np.log(arc_probability(low, high, mean, kappa)) for low, high in arcs]
    np.testing.assert_allclose(value, expected, rtol=0, atol=2e-9)


def test_no_concentration_in_three_goods_is_a_solid_angle() -> None:
    prices = np.array([1.0, 1.7, 0.6])
    observations = sp.Observations([prices] * 2, [9.0, 2.0], [[1.0, 0.0, 1.0], [1.0, (2.0 - 1.6) / 1.7, 1.0]])

    def solid_angle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        triple = abs(np.dot(a, np.cross(b, c)))
        return 2 * np.arctan2(triple, 1 + a @ b + b @ c + c @ a)

    e = np.eye(3)
    expected = [solid_angle(e[0], -e[1], e[2]), solid_angle(e[0], e[2], unit(prices))]
    value = sp.log_mass(sp.Regions.of(observations), [0.0, 1.0, 0.0], 0.0)
    np.testing.assert_allclose(np.exp(value), np.array(expected) / (4 * np.pi), rtol=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_permuting_goods_and_scaling_money_change_nothing(law: str) -> None:
    rng = np.random.default_rng(5)
    mu = random_direction(7, rng)
    observations = sp.simulate(sp.VonMisesFisher(mu, 6.0), sp.MenuLaw(law), 60, rng=rng)
    base = sp.log_mass(sp.Regions.of(observations), mu, 6.0)
    order = rng.permutation(7)
    permuted = sp.Observations(observations.prices[:, order], observations.budgets, observations.bundles[:, order])
    np.testing.assert_allclose(sp.log_mass(sp.Regions.of(permuted), mu[order], 6.0), base, atol=1e-12, rtol=0)
    for unit_of_money in (1e-6, 3e7):
        scaled = sp.Observations(
            observations.prices * unit_of_money, observations.budgets * unit_of_money, observations.bundles
        )
        np.testing.assert_allclose(sp.log_mass(sp.Regions.of(scaled), mu, 6.0), base, atol=1e-12, rtol=0)


def test_absent_goods_stay_coordinates_of_the_sphere() -> None:
    """The two figures of the derivation: dropping the coordinate would change the law."""
    two = sp.Regions.of(sp.Observations([[1.0, 1.0]], [9.0], [[1.0, 1.0]]))
    assert np.exp(sp.log_mass(two, [0.8, -0.6], 5.0))[0] == pytest.approx(0.0849, abs=5e-5)
    for price in (np.inf, np.nan):
        three = sp.Regions.of(sp.Observations([[1.0, 1.0, price]], [9.0], [[1.0, 1.0, 0.0]]))
        assert np.exp(sp.log_mass(three, [0.8, -0.6, 0.0], 5.0))[0] == pytest.approx(0.0979, abs=5e-5)


def test_an_absent_good_is_the_sum_over_its_sides() -> None:
    rng = np.random.default_rng(6)
    mu, prices = random_direction(5, rng), rng.uniform(1, 2, 5)
    absent = prices.copy()
    absent[2] = np.nan
    bundle = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    with_it = bundle + np.eye(5)[2]
    observations = sp.Observations([absent, prices, prices], [20.0] * 3, [bundle, bundle, with_it])
    p = np.exp(sp.log_mass(sp.Regions.of(observations), mu, 4.0))
    assert p[0] == pytest.approx(p[1] + p[2], rel=1e-10)


def test_large_concentration_is_the_indicator_and_no_money_says_nothing() -> None:
    rng = np.random.default_rng(7)
    regions, h = market("discrete", 6, 5.0, 200, rng)
    mu = unit(h)
    inside = regions.contains(mu, margin=0.05)
    outside = ~regions.contains(mu)
    p = np.exp(sp.log_mass(regions, mu, 1e5))
    assert inside.sum() > 5
    assert outside.sum() > 5
    assert np.all(p[inside] > 1 - 1e-6)
    assert np.all(p[outside] < 0.5)
    broke = sp.Regions.of(sp.Observations([[1.0, 2.0]], [0.0], [[0.0, 0.0]]))
    value, gradient = sp.log_mass(broke, [0.6, 0.8], 3.0, gradient=True)
    assert value[0] == 0.0
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("law", LAWS)
def test_gradient_and_information_against_differences(law: str) -> None:
    rng = np.random.default_rng(8)
    for n, kappa in ((2, 3.0), (4, 0.5), (9, 12.0), (30, 5.0)):
        regions, h = market(law, n, kappa, 42, rng)
        masses = exact_log_mass(regions, h, gradient=True, tolerance=1e-12)
        step = 1e-4 * max(1.0, kappa / 10)
        shifted = [
            [exact_log_mass(regions, h + sign * step * e, gradient=True, tolerance=1e-12) for sign in (1, -1)]
            for e in np.eye(n)
        ]
        differences = np.array([(up.log_mass - down.log_mass) / (2 * step) for up, down in shifted]).T
        scale = np.abs(masses.gradient).max(axis=1, keepdims=True)
        assert np.max(np.abs(masses.gradient - differences) / scale) < 1e-6
        hessian = np.array([(up.gradient - down.gradient).sum(axis=0) / (2 * step) for up, down in shifted])
        information = observed_information(regions, h)
        assert np.max(np.abs(information + hessian)) < 1e-6 * np.abs(information).max()


def test_expected_information_is_the_covariance_of_scores() -> None:
    rng = np.random.default_rng(9)
    menus = sp.MenuLaw("discrete").sample(3, 5, rng=rng)
    h = 4.0 * random_direction(5, rng)
    exact = expected_information(menus, h)
    sampled = expected_information(menus, h, n_draws=30_000, rng=rng)
    assert np.max(np.abs(exact - sampled)) < 0.03 * np.abs(exact).max()
    # The observed information of simulated purchases has the same mean.
    many = sp.Menus(np.repeat(menus.prices, 4000, axis=0), np.repeat(menus.budgets, 4000))
    regions = sp.Regions.of(sp.simulate(sp.VonMisesFisher(unit(h), 4.0), many, len(many), rng=rng))
    assert np.max(np.abs(observed_information(regions, h) / 4000 - exact)) < 0.05 * np.abs(exact).max()


@pytest.mark.parametrize("law", LAWS)
def test_an_independent_sampler_agrees(law: str) -> None:
    rng = np.random.default_rng(10)
    scores = []
    for n, kappa in ((2, 2.0), (3, 30.0), (8, 5.0), (20, 80.0)):
        regions, h = market(law, n, kappa, 12, rng)
        for direction in (unit(h), random_direction(n, rng)):
            exact = sp.log_mass(regions, direction, kappa, gradient=True, full=True)
            sample = sp.log_mass(
                regions, direction, kappa, method="monte_carlo", gradient=True, n_draws=1500, rng=rng, full=True
            )
            assert isinstance(exact, Masses)
            assert isinstance(sample, Masses)
            assert np.all(sample.error < 0.2)
            trusted = exact.error < 1e-8
            scores.append(((sample.log_mass - exact.log_mass) / (sample.error + 1e-9))[trusted])
            np.testing.assert_allclose(sample.gradient[trusted], exact.gradient[trusted], atol=0.2)
    z = np.concatenate(scores)
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.4
    assert np.abs(z).max() < 6


def test_the_paper_s_cloud_agrees_where_it_sees_anything() -> None:
    rng = np.random.default_rng(12)
    regions, h = market("uniform", 4, 3.0, 25, rng)
    exact = exact_log_mass(regions, h)
    cloud = sp.log_mass(regions, unit(h), 3.0, method="cloud", n_draws=40_000, rng=rng, full=True)
    assert isinstance(cloud, Masses)
    seen = np.exp(exact.log_mass) > 1e-3
    assert seen.sum() > 15
    assert np.all(np.abs(cloud.log_mass - exact.log_mass)[seen] < 6 * cloud.error[seen])


def test_threads_blocks_and_sums_agree_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    regions, h = market("discrete", 6, 4.0, 300, np.random.default_rng(13))
    one = exact_log_mass(regions, h, gradient=True)
    total = sum_log_mass(regions, h)
    assert total[0] == pytest.approx(one.log_mass.sum(), rel=1e-13)
    np.testing.assert_allclose(total[1], one.gradient.sum(axis=0), rtol=1e-10, atol=1e-10)
    monkeypatch.setenv("STOCHPREF_NUM_THREADS", "1")
    again = exact_log_mass(regions, h, gradient=True)
    np.testing.assert_array_equal(one.log_mass, again.log_mass)
    np.testing.assert_array_equal(one.gradient, again.gradient)
    same = sum_log_mass(regions, h)
    assert same[0] == total[0]
    np.testing.assert_array_equal(same[1], total[1])
    pieces = [exact_log_mass(regions[start : start + 7], h).log_mass for start in range(0, 300, 7)]
    np.testing.assert_array_equal(one.log_mass, np.concatenate(pieces))


def stress_case(rng: np.random.Generator, index: int, n_observations: int) -> tuple[sp.Regions, np.ndarray]:
    n, kappa = int(np.exp(rng.uniform(np.log(2), np.log(200)))), float(10 ** rng.uniform(-6, 4))
    spread = (1, 10, 100, 1000)[index // 3 % 4]
    mu = random_direction(n, rng)
    menus = sp.MenuLaw(LAWS[index % 3]).sample(n_observations, n, rng=rng)
    prices = menus.prices * spread ** rng.uniform(-1, 0, menus.prices.shape)
    budgets = menus.budgets * prices.mean(axis=1) / menus.prices.mean(axis=1)
    bundles = sp.choose(sp.VonMisesFisher(mu, kappa).sample(n_observations, rng=rng), prices, budgets)
    if index // 12 % 2:
        mu = random_direction(n, rng)
    return sp.Regions.of(sp.Observations(prices, budgets, bundles)), kappa * mu


@pytest.mark.slow
def test_stress() -> None:
    """Every n, κ, law and price spread, near and far: no NaN, nothing positive, errors small or admitted."""
    rng = np.random.default_rng(14)
    errors, misses, admitted = [], 0, 0
    for index in range(240):
        regions, h = stress_case(rng, index, 6)
        coarse = exact_log_mass(regions, h, gradient=True)
        fine = exact_log_mass(regions, h, tolerance=1e-12)
        assert np.isfinite(coarse.log_mass).all()
        assert np.all(coarse.log_mass <= 0)
        assert np.isfinite(coarse.gradient).all()
        difference = np.abs(coarse.log_mass - fine.log_mass)
        errors.append(difference)
        admitted += np.sum(coarse.error > 1e-8)
        misses += np.sum(difference > 10 * (coarse.error + fine.error))
    difference = np.concatenate(errors)
    assert misses == 0
    assert np.sum(difference > 1e-8) <= admitted
    assert np.mean(difference <= 1e-8) >= 0.99


def test_degenerate_observations_have_no_mass() -> None:
    regions = sp.Regions.of(sp.Observations([[1.0, 1.0, 1.0]], [1.0], [[0.5, 0.5, 0.0]]))
    assert sp.log_mass(regions, [1.0, 0.0, 0.0], 2.0)[0] == -np.inf


def test_a_thousand_goods() -> None:
    rng = np.random.default_rng(15)
    regions, h = market("discrete", 1000, 50.0, 4, rng)
    masses = exact_log_mass(regions, h, gradient=True)
    assert np.all(masses.error < 1e-8)
    fine = exact_log_mass(regions, h, tolerance=1e-12)
    np.testing.assert_allclose(masses.log_mass, fine.log_mass, atol=1e-8, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0, 0.0], 1.0), {}, r"mean_direction must be 3 finite numbers; received shape \(2,\)"),
        (([1.0, 1.0, 0.0], 1.0), {}, "mean_direction must have length 1; received 1.41421"),
        (([1.0, np.nan, 0.0], 1.0), {}, "mean_direction must be 3 finite numbers"),
        ((["a", "b", "c"], 1.0), {}, "mean_direction must be numbers"),
        (([1.0, 0.0, 0.0], -1.0), {}, "concentration must be a finite number, zero or more; received -1"),
        (([1.0, 0.0, 0.0], np.inf), {}, "concentration must be a finite number"),
        (([1.0, 0.0, 0.0], 1.0), {"method": "guess"}, "method must be one of exact, monte_carlo, cloud"),
        (([1.0, 0.0, 0.0], 1.0), {"method": "cloud"}, "pass rng=numpy.random.default_rng"),
        (([1.0, 0.0, 0.0], 1.0), {"tolerance": 0.0}, "tolerance must lie between 0 and 1"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    regions = sp.Regions.of(sp.Observations(np.ones((1, 3)), [1.0], [[1.0, 0.0, 0.0]]))
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.log_mass(regions, *arguments, **options)  # type: ignore[arg-type]


def test_one_good_has_no_sphere() -> None:
    regions = sp.Regions.of(sp.Observations([[1.0]], [1.0], [[1.0]]))
    with pytest.raises(sp.InvalidArgument, match="at least two goods"):
        sp.log_mass(regions, [1.0], 1.0)


def test_equal_regions_are_integrated_over_once() -> None:
    """Votes on one menu have few distinct bundles: sums, gradients and information are those of all rows."""
    rng = np.random.default_rng(3)
    menus = sp.Menus(np.tile([1.0, 2.0, 1.5], (300, 1)), np.full(300, 2.5))
    data = sp.simulate(sp.VonMisesFisher(np.array([0.6, 0.64, 0.48]), 2.0), menus, 300, rng=rng)
    regions = sp.Regions.of(data)
    merged = regions.merged()
    assert merged is not None
    assert merged.counts.sum() == 300
    assert len(merged.regions) < 10
    np.testing.assert_array_equal(merged.regions.side[merged.place], regions.side)
    h = np.array([0.5, 1.0, -0.7])
    rows = [regions.rows(t, t + 1) for t in range(300)]  # one row is never merged
    np.testing.assert_array_equal(exact_log_mass(regions, h).log_mass, [exact_log_mass(r, h).log_mass[0] for r in rows])
    value, gradient = sum_log_mass(regions, h)
    each = [sum_log_mass(r, h) for r in rows]
    assert value == pytest.approx(sum(v for v, _ in each), rel=1e-12)
    np.testing.assert_allclose(gradient, np.sum([g for _, g in each], axis=0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        observed_information(regions, h), np.sum([observed_information(r, h) for r in rows], axis=0), rtol=1e-9
    )


def test_prices_do_not_tell_slack_regions_apart() -> None:
    rng = np.random.default_rng(4)
    prices = rng.uniform(1, 2, (40, 2))
    bundles = rng.integers(2, size=(40, 2)).astype(float)
    regions = sp.Regions.of(sp.Observations(prices, np.full(40, 9.0), bundles))
    merged = regions.merged()
    assert merged is not None
    assert len(merged.regions) == len(np.unique(bundles, axis=0))
    spread = sp.simulate(sp.VonMisesFisher(np.array([0.6, 0.8]), 1.0), sp.MenuLaw("uniform"), 60, rng=rng)
    tight = sp.Regions.of(spread)
    assert tight[tight.kind == "pivot"].merged() is None
