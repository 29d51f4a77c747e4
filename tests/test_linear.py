# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Several limits: what is bought, which utilities explain it, and with what probability."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import stochpref as sp
from stochpref.kinds import CORNER, DEGENERATE
from stochpref.laws import VonMisesFisher
from stochpref.mass.masses import exact_log_mass, sum_with_information
from stochpref.mass.monte_carlo import sampled_log_mass
from stochpref.problems import Divisible, Linear
from stochpref.problems.programme import solve_outside
from stochpref.regions import Regions
from tests.several_limits import a_market, at_most_three_items, bought, vertices_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few draws have not converged


@pytest.mark.parametrize("seed", range(3))
def test_what_is_bought_is_what_a_general_solver_buys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, count = 6, 100
    use = rng.uniform(-0.5, 2.0, (count, 2, n))
    limits = rng.uniform(0.0, 3.0, (count, 2)) if seed < 2 else rng.uniform(-0.3, 3.0, (count, 2))
    limits[3, 1] = np.inf
    prices = np.where(rng.random((count, n)) < 0.2, np.inf, rng.uniform(1, 2, (count, n)))
    menus = sp.Menus(prices, rng.uniform(0, 5, count), caps=rng.choice([0.5, 1.0, np.inf], (count, n)))
    problem, u = Linear(use, limits), rng.standard_normal((count, n))
    tables = problem._tables(menus)
    best = np.full(count, np.nan)
    for t in range(count):
        try:
            best[t] = u[t] @ solve_outside(u[t], tables.use[t], tables.limits[t], tables.caps[t])
        except sp.InvalidArgument:  # nothing keeps within the limits of such a menu
            continue
    some = np.isfinite(best)
    assert some.sum() > 80
    bundles = problem.take(np.flatnonzero(some)).choose(u[some], menus[some])
    assert problem.take(np.flatnonzero(some)).find_faults(menus[some], bundles) == []
    np.testing.assert_allclose(np.sum(u[some] * bundles, axis=1), best[some], atol=1e-9)


@pytest.mark.parametrize(("n_limits", "n", "tolerance"), [(1, 5, 1e-9), (2, 4, 1e-7)])
def test_masses_of_all_vertices_add_up_to_one(n_limits: int, n: int, tolerance: float) -> None:
    menus, law = a_market(n_limits, n, 3)
    seen = bought(menus, vertices_of(menus))
    regions = Regions.of(seen)
    assert np.sum(regions.kind_code == CORNER) > 2
    masses = exact_log_mass(regions, law.concentration * law.mean_direction)
    assert abs(np.exp(masses.log_mass).sum() - 1) < tolerance
    assert masses.error.max() < 1e-6
    # Each with what simulated customers buy.
    customers = law.sample(20_000, rng=np.random.default_rng(1))
    chosen = menus.problem.choose(customers[:, None], menus)[:, 0]
    place = np.argmin(np.abs(chosen[:, None] - seen.bundles).max(axis=2), axis=1)
    share, p = np.bincount(place, minlength=len(seen)) / len(customers), np.exp(masses.log_mass)
    assert np.all(np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / len(customers)) + 1e-4)
    # Utilities lie in the region of what they choose, and in no other.
    inside = regions.contains(customers[:500], strict=True)
    np.testing.assert_array_equal(np.argmax(inside, axis=1), place[:500])
    assert np.all(inside.sum(axis=1) == 1)


def test_degenerate_vertices_have_the_mass_of_their_pieces() -> None:
    menus = at_most_three_items()
    mu = np.array([0.5, 0.2, -0.1, 0.6, 0.4])
    law = VonMisesFisher(mu / np.linalg.norm(mu), 4.0)
    seen = bought(menus, vertices_of(menus))
    regions = Regions.of(seen)
    assert regions.kind_code[np.flatnonzero((seen.bundles == [1, 1, 1, 0, 0]).all(axis=1))] == CORNER
    p = np.exp(exact_log_mass(regions, law.concentration * law.mean_direction).log_mass)
    assert abs(p.sum() - 1) < 1e-9
    count = 20_000
    customers = law.sample(count, rng=np.random.default_rng(2))
    chosen = menus.problem.choose(customers[:, None], menus)[:, 0]
    place = np.argmin(np.abs(chosen[:, None] - seen.bundles).max(axis=2), axis=1)
    often = p * count > 5
    expected = np.append(p[often], p[~often].sum()) * count
    counts = np.bincount(place, minlength=len(seen))
    counts = np.append(counts[often], counts[~often].sum())
    statistic = np.sum((counts - expected) ** 2 / np.maximum(expected, 1e-9))
    assert statistic < chi2.ppf(0.99, len(expected) - 1)


def test_gradient_and_information_are_derivatives_and_sampling_agrees() -> None:
    menus, law = a_market(1, 4, 3)
    regions = Regions.of(bought(menus, vertices_of(menus)))
    regions = regions[np.flatnonzero(regions.kind_code == CORNER)[:6]]
    h, step = law.concentration * law.mean_direction, 1e-4
    masses = exact_log_mass(regions, h, gradient=True)
    sums = sum_with_information(regions, h)
    for i in range(4):
        moved = [h + sign * step * np.eye(4)[i] for sign in (1, -1)]
        up, down = (exact_log_mass(regions, one).log_mass for one in moved)
        np.testing.assert_allclose(masses.gradient[:, i], (up - down) / (2 * step), atol=1e-6)
        up, down = (sum_with_information(regions, one).gradient for one in moved)
        np.testing.assert_allclose(sums.information[i], (down - up) / (2 * step), atol=1e-5)
    sample = sampled_log_mass(regions, h, n_draws=4000, rng=np.random.default_rng(3))
    assert np.all(np.abs(sample.log_mass - masses.log_mass) < 4.5 * sample.error)


def observations(n_limits: int = 1, n: int = 4, count: int = 60) -> sp.Observations:
    rng = np.random.default_rng(5)
    problem = Linear(rng.uniform(0.3, 2.0, (n_limits, n)), rng.uniform(1.0, 2.0, n_limits))
    menus = sp.Menus(rng.uniform(1, 2, (count, n)), rng.uniform(1.5, 4.0, count), problem=problem)
    law = VonMisesFisher(np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5]), 6.0)
    return sp.simulate(law, menus, count, rng=rng)


def test_a_limit_that_never_binds_changes_nothing() -> None:
    seen = observations()
    plain = sp.Observations(seen.prices, seen.budgets, sp.simulate(
        VonMisesFisher(np.array([0.6, 0.0, 0.8, 0.0]), 5.0), seen.menus.under(Divisible()), len(seen),
        rng=np.random.default_rng(1),
    ).bundles)  # fmt: skip
    loose = plain.under(Linear(np.ones(4), 50.0))
    one, other = Regions.of(plain), Regions.of(loose)
    for name in ("kind_code", "side", "slope", "pivot"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    h = np.array([1.0, 0.5, -0.5, 2.0])
    np.testing.assert_array_equal(exact_log_mass(one, h).log_mass, exact_log_mass(other, h).log_mass)
    fits = [
        sp.HeterogeneousUtility(sampler="gibbs", n_draws=20, n_effective=0, random_state=1).fit(data)
        for data in (plain, loose)
    ]
    np.testing.assert_array_equal(fits[0].directions, fits[1].directions)


def test_a_budget_given_as_a_limit_is_a_budget() -> None:
    seen = observations().under(Divisible())
    u = np.random.default_rng(2).standard_normal((len(seen), 4))
    bundles = Divisible().choose(u, seen)
    plain = sp.Observations(seen.prices, seen.budgets, bundles)
    as_limit = Linear(seen.prices[:, None], seen.budgets[:, None])
    other = sp.Observations(seen.prices, np.full(len(seen), 1e6), bundles, problem=as_limit)
    np.testing.assert_allclose(as_limit.choose(u, other), bundles, atol=1e-9)
    h = np.array([1.0, 0.5, -0.5, 2.0])
    np.testing.assert_allclose(
        exact_log_mass(Regions.of(other), h).log_mass, exact_log_mass(Regions.of(plain), h).log_mass, rtol=1e-9
    )


def test_more_goods_in_part_than_limits_that_bind_is_degenerate() -> None:
    menus = sp.Menus([[1.0, 1.5, 2.0]], [9.0], problem=Linear(np.ones(3), 2.0))
    regions = Regions.of(bought(menus, np.array([[1.0, 0.5, 0.5], [1.0, 1.0, 0.0]])))
    assert regions.kind_code[0] == DEGENERATE
    assert regions.kind_code[1] != DEGENERATE


def test_bad_limits_are_refused() -> None:
    with pytest.raises(sp.InvalidArgument, match=r"\(r, n\) or \(T, r, n\).*received shapes \(2, 3\) and \(1,\)"):
        Linear(np.ones((2, 3)), 1.0)
    with pytest.raises(sp.InvalidArgument, match=r"'limit 2' are a multiple of those of 'limit 1'.*leave out the loos"):
        Linear([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0])
    with pytest.raises(sp.InvalidArgument, match="'weight' must not all be 0"):
        Linear([0.0, 0.0], 1.0, ["weight"])
    with pytest.raises(sp.InvalidArgument, match="must be finite; received NaN or an infinity"):
        Linear([np.nan, 1.0], 1.0)
    with pytest.raises(sp.InvalidArgument, match="limits must be numbers, inf where there is none"):
        Linear([1.0, 1.0], np.nan)
    with pytest.raises(sp.InvalidArgument, match="names must be 1 different names"):
        Linear([1.0, 1.0], 1.0, "ab")
    with pytest.raises(sp.InvalidArgument, match="of the 3 goods on the menu; received 2; give one for each good"):
        sp.Menus([[1.0, 1.0, 1.0]], [2.0], problem=Linear([1.0, 1.0], 1.0))
    with pytest.raises(sp.InvalidArgument, match="shared, or one for each of 1 menus; received 2"):
        sp.Menus([[1.0, 1.0]], [2.0], problem=Linear([1.0, 1.0], [[1.0], [2.0]]))
    with pytest.raises(sp.InvalidArgument, match="problem 'linear' must come with its limits"):
        sp.Menus([[1.0, 1.0]], [2.0], problem="linear")
    menus = sp.Menus([[1.0, 1.0]], [2.0], problem=Linear([1.0, 2.0], 1.5, ["weight"]))
    with pytest.raises(sp.InvalidObservations, match=r"row 1: 2 of 'weight' against a limit of 1\.5") as caught:
        bought(menus, np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert caught.value.rows == (1,)
    with pytest.raises(sp.InvalidObservations, match=r"a limit must leave some bundle.*received row 0"):
        sp.Menus([[1.0, 1.0]], [2.0], problem=Linear([1.0, -2.0], -3.0))


def test_a_negative_coefficient_makes_room() -> None:
    menus = sp.Menus([[1.0, 1.0]], [9.0], problem=Linear([1.0, -0.5], 0.5))
    u = np.array([2.0, -0.1])  # a bag that nobody wants for itself is bought for what fits into it
    np.testing.assert_allclose(menus.problem.choose(u, menus), [[1.0, 1.0]])
    seen = bought(menus, menus.problem.choose(u, menus))
    assert Regions.of(seen).contains(u, strict=True).all()


def test_more_than_three_limits_that_bind_are_refused_by_row() -> None:
    use, x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 6)), np.array([0.3, 0.6, 1.0, 0.0, 0.0, 0.0])
    bundles = np.array([np.zeros(6), x])
    seen = sp.Observations(np.ones((2, 6)), [3.0, x.sum()], bundles, problem=Linear(use, use @ x))
    with pytest.raises(sp.InvalidObservations, match=r"3 limits at most that bind at once.*1 have more \(row 1\)"):
        sp.fit_maximum_likelihood(seen)


def test_exact_likelihood_and_gibbs_agree() -> None:
    seen = observations(count=40)
    exact = sp.HeterogeneousUtility((0.0, 20.0), sampler="importance", n_draws=200, n_effective=0, random_state=1).fit(
        seen
    )
    gibbs = sp.HeterogeneousUtility((0.0, 20.0), sampler="gibbs", n_draws=400, n_effective=0, random_state=2).fit(seen)
    draws = [
        np.column_stack([fit.directions, fit.posterior_["posterior"]["concentration"].values.ravel()])
        for fit in (exact, gibbs)
    ]
    errors = [fit.diagnostics_.mcse_mean for fit in (exact, gibbs)]
    assert [fit.diagnostics_.names[-1] for fit in (exact, gibbs)] == ["concentration"] * 2
    assert np.all(np.abs(draws[0].mean(axis=0) - draws[1].mean(axis=0)) < 4 * np.hypot(*errors))
