from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.clusters import clustered_covariance, is_worth_leaving_out
from stochpref.mass.masses import exact_log_mass, observed_information, sum_log_mass
from stochpref.maximising import concentration_of


def market(n_goods: int, kappa: float, n_observations: int, law: str, seed: int) -> tuple[sp.Observations, np.ndarray]:
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    mu /= np.linalg.norm(mu)
    return sp.simulate(sp.VonMisesFisher(mu, kappa), sp.MenuLaw(law), n_observations, rng=rng), kappa * mu


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_the_maximum_is_one(law: str) -> None:
    observations, truth = market(5, 4.0, 400, law, seed=1)
    fit = sp.fit_maximum_likelihood(observations)
    assert fit.status == "converged"
    regions = sp.Regions.of(observations)
    best, gradient = sum_log_mass(regions, fit.h)
    assert fit.log_likelihood == pytest.approx(best, rel=1e-10)
    assert np.abs(gradient).max() < 1e-4 * len(observations)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert sum_log_mass(regions, fit.h + 0.3 * rng.standard_normal(5))[0] < best
    assert best >= sum_log_mass(regions, truth)[0]
    assert fit.aic == pytest.approx(10 - 2 * best)
    assert fit.bic == pytest.approx(5 * np.log(400) - 2 * best)


def test_standard_errors_match_the_spread_of_estimates() -> None:
    """Forty markets under one law: the errors of h, in units of the stated covariance, have the right size."""
    distances, coverage = [], []
    rng = np.random.default_rng(3)
    mu = np.array([0.6, -0.3, 0.5, 0.1])
    mu /= np.linalg.norm(mu)
    for _ in range(40):
        observations = sp.simulate(sp.VonMisesFisher(mu, 3.0), sp.MenuLaw("discrete"), 500, rng=rng)
        fit = sp.fit_maximum_likelihood(observations)
        error = fit.h - 3.0 * mu
        distances.append(error @ np.linalg.solve(fit.covariance, error))
        coverage += list(np.abs(fit.mean_direction - mu) < 1.96 * fit.direction_standard_errors)
    # The squared distance is chi-squared with 4 degrees of freedom: mean 4, standard error of the mean 0.45.
    assert 4 - 5 * 0.45 < np.mean(distances) < 4 + 5 * 0.45
    assert np.mean(coverage) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_converges_from_the_default_start(law: str) -> None:
    for seed in range(3):
        kappa = float(np.random.default_rng(seed).uniform(1, 10))
        observations, truth = market(25, kappa, 1000, law, seed)
        fit = sp.fit_maximum_likelihood(observations)
        assert fit.status == "converged"
        assert fit.mean_direction @ truth / kappa > 0.85


def test_separable_data_are_called_so() -> None:
    rng = np.random.default_rng(4)
    law = sp.CorruptedUtilityLaw(np.array([0.7, 0.5, -0.2]), 0.0)
    fit = sp.fit_maximum_likelihood(sp.simulate(law, sp.MenuLaw("uniform"), 200, rng=rng))
    assert fit.status == "separable"
    assert "CommonUtility" in str(fit)


def test_uniform_utilities_leave_the_direction_open() -> None:
    observations, _ = market(4, 0.0, 60, "uniform", seed=6)
    fit = sp.fit_maximum_likelihood(observations)
    assert fit.status == "uniform"
    assert "not identified" in fit.message


def test_a_plateau_is_not_a_maximum() -> None:
    """Twenty buy one good and one another, at equal prices: the likelihood rises to a level, not to a top."""
    bundles = [[1.0, 0.0, 0.0]] * 20 + [[0.0, 1.0, 0.0]]
    fit = sp.fit_maximum_likelihood(sp.Observations(np.ones((21, 3)), [1.0] * 21, bundles))
    assert fit.status == "flat"
    assert "not identified" in str(fit)


def test_edge_cases_give_an_answer_or_a_clear_error() -> None:
    everything = sp.Observations(np.ones((5, 3)), [9.0] * 5, np.ones((5, 3)))
    assert sp.fit_maximum_likelihood(everything).status == "separable"
    nothing = sp.Observations(np.ones((5, 3)), [9.0] * 5, np.zeros((5, 3)))
    assert sp.fit_maximum_likelihood(nothing).status == "separable"
    single, _ = market(4, 2.0, 1, "uniform", seed=7)
    assert sp.fit_maximum_likelihood(single).status in {"separable", "uniform"}
    with pytest.raises(sp.InvalidArgument, match="at least two goods"):
        sp.fit_maximum_likelihood(sp.Observations([[1.0]], [1.0], [[1.0]]))
    mixed = sp.Observations([[1.0, 1.0]] * 40, [1.0] * 40, [[0.5, 0.5]] + [[1.0, 0.0]] * 20 + [[0.0, 1.0]] * 19)
    with pytest.raises(sp.InvalidObservations, match="1 of 40 are") as caught:
        sp.fit_maximum_likelihood(mixed)
    assert caught.value.rows == (0,)
    assert sp.fit_maximum_likelihood(mixed, degenerate="drop").n_observations == 39
    with pytest.raises(sp.InvalidArgument, match="'refuse' or 'drop'"):
        sp.fit_maximum_likelihood(mixed, degenerate="ignore")


def test_the_table_names_goods_and_errors() -> None:
    observations, _ = market(4, 5.0, 300, "uniform", seed=8)
    named = sp.Observations(
        observations.prices, observations.budgets, observations.bundles, goods=["tea", "milk", "rum", "x" * 60]
    )
    text = str(sp.fit_maximum_likelihood(named))
    for words in ("converged", "concentration", "milk", "±", "BIC", "x…"):
        assert words in text
    assert max(len(line) for line in text.splitlines()) < 120


def test_concentration_inverts_the_resultant_length() -> None:
    assert concentration_of(5, 0.0) == 0.0
    assert concentration_of(3, 1.0) == 1e4
    assert concentration_of(3, 1 / np.tanh(7.0) - 1 / 7.0) == pytest.approx(7.0, rel=1e-9)


def panel(n_customers: int = 30, n_purchases: int = 5) -> tuple[sp.Observations, np.ndarray]:
    """Return purchases of customers who keep their tastes, and whose each is."""
    rng = np.random.default_rng(4)
    tastes = np.repeat(sp.VonMisesFisher([0.6, 0.0, 0.8], 6.0).sample(n_customers, rng=rng), n_purchases, axis=0)
    menus = sp.MenuLaw("uniform").sample(len(tastes), 3, rng=rng)
    bundles = sp.choose(tastes, menus.prices, menus.budgets)
    return sp.Observations(menus.prices, menus.budgets, bundles), np.repeat(np.arange(n_customers), n_purchases)


def labelled(data: sp.Observations, customers: Any) -> sp.Observations:
    return sp.Observations(data.prices, data.budgets, data.bundles, customers=customers)


def test_errors_are_clustered_by_customers_who_come_again() -> None:
    data, whose = panel()
    alone, each, shared = (
        sp.fit_maximum_likelihood(one) for one in (data, labelled(data, np.arange(150)), labelled(data, whose))
    )
    assert (alone.n_customers, each.n_customers, shared.n_customers) == (None, None, 30)
    np.testing.assert_array_equal(each.covariance, alone.covariance)
    np.testing.assert_array_equal(shared.h, alone.h)
    slopes = exact_log_mass(sp.Regions.of(data), alone.h, gradient=True).gradient
    assert slopes is not None
    total = np.linalg.inv(alone.covariance)
    own = [observed_information(sp.Regions.of(data)[whose == c], alone.h) for c in range(30)]
    moved = np.array([np.linalg.solve(total - own[c], slopes[whose == c].sum(axis=0)) for c in range(30)])
    np.testing.assert_allclose(shared.covariance, 29 * np.cov(moved.T, bias=True), rtol=1e-6)
    again = np.array([sp.fit_maximum_likelihood(data[whose != c]).h for c in range(30)])  # the jackknife to the end
    errors = np.sqrt(np.diag(29 * np.cov(again.T, bias=True)))
    assert np.all(np.abs(np.log(np.sqrt(np.diag(shared.covariance)) / errors)) < np.log(2.0))  # of so few customers
    assert shared.concentration_standard_error > 1.2 * alone.concentration_standard_error
    assert "errors are clustered by 30 customers, who bought more than once" in str(shared)
    order = np.random.default_rng(0).permutation(150)
    turned = sp.fit_maximum_likelihood(labelled(data, whose)[order])
    np.testing.assert_allclose(turned.covariance, shared.covariance, rtol=1e-6)


def test_many_customers_are_taken_at_their_slopes() -> None:
    inverse, clusters = np.diag([1.0, 2.0]), np.repeat(np.arange(3), 2)
    slopes = np.arange(12.0).reshape(6, 2) - 5.5
    sums = slopes.reshape(3, 2, 2).sum(axis=1)
    np.testing.assert_allclose(clustered_covariance(inverse, slopes, clusters), inverse @ sums.T @ sums @ inverse * 1.5)
    assert np.isnan(clustered_covariance(inverse, slopes, np.zeros(6, np.intp))).all()
    alone = np.array([np.linalg.inv(inverse), np.zeros((2, 2)), np.zeros((2, 2))])
    assert np.isnan(clustered_covariance(inverse, slopes, clusters, alone)).all()  # all is known from one customer
    assert is_worth_leaving_out(100, 4)
    assert not is_worth_leaving_out(1000, 4)


def test_errors_are_clustered_where_degenerate_rows_are_dropped() -> None:
    data, whose = panel()
    bundles = data.bundles.copy()
    bundles[::7] = [0.1, 0.1, 0.0]
    broken = sp.Observations(data.prices, data.budgets, bundles, customers=whose)
    dropped = sp.fit_maximum_likelihood(broken, degenerate="drop")
    kept = sp.fit_maximum_likelihood(broken[sp.Regions.of(broken).kind != "degenerate"])
    np.testing.assert_allclose(dropped.covariance, kept.covariance, rtol=1e-9)
