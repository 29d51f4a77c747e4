# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Normal laws: exact masses where goods are independent, the posterior around its mode, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.design.bundles import optimal_bundles
from stochpref.laws.menus import draw_customers
from stochpref.mass.diagonal import NormalLaws, normal_laws, normal_log_mass, normal_log_recorded
from stochpref.normal.diagonal import DiagonalPosterior
from stochpref.normal.prior import NormalPrior, usual_units
from stochpref.problems import OneOf, Open, Problem
from tests.contracts import check_law

GOODS = ("tea", "milk", "bread")


def a_law(n: int, seed: int) -> NormalLaws:
    rng = np.random.default_rng(seed)
    return normal_laws(1.5 * rng.standard_normal(n), 0.8 * rng.standard_normal(n))


def drawn(law: NormalLaws, size: int, rng: np.random.Generator) -> np.ndarray:
    return law.mean[0] + np.exp(law.log_scale) * rng.standard_normal((size, len(law.log_scale)))


def test_a_normal_law() -> None:
    check_law(sp.NormalLaw([1.0, 0.2, -0.4], [[1.0, 0.5, 0.0], [0.5, 2.0, -0.3], [0.0, -0.3, 0.5]]))
    check_law(sp.NormalLaw([0.0, 0.0], [1.0, 4.0]))
    for mean, covariance, said in (
        ([1.0, 2.0], [1.0, -1.0], "positive definite"),
        ([1.0, 2.0], [[1.0, 0.5], [0.2, 1.0]], "symmetric"),
        ([1.0, 2.0], np.eye(3), "2 variances or a matrix"),
        ([1.0], [1.0], "two goods or more"),
    ):
        with pytest.raises(sp.InvalidArgument, match=said):
            sp.NormalLaw(mean, covariance)


@pytest.mark.parametrize("law_of_menus", ["uniform", "discrete", "fixed"])
def test_masses_of_all_bundles_add_up_to_one(law_of_menus: str) -> None:
    for n in (2, 3, 4):
        drawn_menus = sp.MenuLaw(law_of_menus).sample(6, n, rng=np.random.default_rng(n))
        menus = sp.Menus(drawn_menus.prices, drawn_menus.budgets)
        for t in range(len(menus)):
            found = normal_log_mass(sp.Regions.of(optimal_bundles(menus[t])), a_law(n, 10 * n + t))
            assert abs(np.exp(found.log_mass).sum() - 1.0) < 1e-9
            assert found.error.max() < 1e-8


def some_observations(problem: Problem, *, nonempty: bool = False) -> sp.Observations:
    rng = np.random.default_rng(5)
    prices = rng.uniform(0.5, 2.0, (40, 3))
    prices[3, 1] = np.inf
    menus = sp.Menus(prices, rng.uniform(0.5, 3.0, 40) if problem.needs_budget else None, goods=GOODS, problem=problem)
    size = len(problem.coordinates(GOODS))
    law = a_law(size, 6)
    bundles = problem.choose(draw_customers(lambda count: drawn(law, count, rng), menus, nonempty=nonempty), menus)
    return sp.Observations(
        prices, menus.budgets if problem.needs_budget else None, bundles, goods=GOODS, problem=problem,
        nonempty=nonempty,
    )  # fmt: skip


PROBLEMS = {
    "divisible": (sp.problems.Divisible(), False),
    "open": (Open(scale=1.2), False),
    "open, nonempty": (Open(scale=1.2), True),
    "one, by value": (OneOf(), False),
    "one, by unit": (OneOf(reading="unit"), False),
    "one, or none": (OneOf(outside=True), False),
}


@pytest.fixture(params=list(PROBLEMS))
def seen(request: pytest.FixtureRequest) -> sp.Observations:
    problem, nonempty = PROBLEMS[request.param]
    return some_observations(problem, nonempty=nonempty)


def test_gradients_are_derivatives(seen: sp.Observations) -> None:
    recorded = seen.problem.recorded(seen)
    law = a_law(recorded.regions.n_goods, 3)
    n = len(law.log_scale)
    found = normal_log_recorded(recorded, law, gradient=True, tolerance=1e-12)
    assert found.gradient is not None
    at = np.concatenate([law.mean[0], law.log_scale])
    for i in range(2 * n):
        step = np.zeros(2 * n)
        step[i] = 1e-4
        up, down = (
            normal_log_recorded(recorded, normal_laws(*np.split(at + s * step, 2)), tolerance=1e-12).log_mass
            for s in (1.0, -1.0)
        )
        difference = (up - down) / 2e-4
        np.testing.assert_allclose(found.gradient[:, i], difference, rtol=1e-6, atol=1e-6)
    # The scale of mean and spreads together changes nothing.
    longer = normal_log_recorded(recorded, normal_laws(2.0 * law.mean, law.log_scale + np.log(2.0)))
    np.testing.assert_allclose(longer.log_mass, found.log_mass, atol=1e-8)


def test_probabilities_are_shares_of_those_who_buy(seen: sp.Observations) -> None:
    # The other route: draw customers, let them choose, count.
    problem, row = seen.problem, 7
    law = a_law(len(problem.coordinates(GOODS)), 4)
    menu = seen.menus[np.full(40_000, row)]
    rng = np.random.default_rng(8)
    utilities = draw_customers(lambda count: drawn(law, count, rng), menu, nonempty=seen.nonempty)
    bundles = problem.choose(utilities, menu)
    kinds, counts = np.unique(np.round(bundles, 9), axis=0, return_counts=True)
    every = sp.Observations(
        menu.prices[: len(kinds)], menu.budgets[: len(kinds)] if problem.needs_budget else None, kinds, goods=GOODS,
        problem=problem, nonempty=seen.nonempty,
    )  # fmt: skip
    share = counts / counts.sum()
    probability = np.exp(normal_log_recorded(problem.recorded(every), law).log_mass)
    assert len(kinds) >= 3
    assert np.all(np.abs(share - probability) < 4.5 * np.sqrt(probability / counts.sum()))


def test_equal_scales_are_those_of_the_isotropic_law() -> None:
    # With equal spreads and a mean far out, directions are von Mises–Fisher ones of concentration |h|².
    n, kappa = 4, 4e4
    direction = np.array([0.8, -0.4, 0.4, 0.2])
    direction /= np.linalg.norm(direction)
    menus = sp.MenuLaw("uniform").sample(60, n, rng=np.random.default_rng(1))
    data = sp.simulate(sp.VonMisesFisher(direction, 20.0), menus, 60, rng=np.random.default_rng(2))
    regions = sp.Regions.of(data)
    ours = normal_log_mass(regions, normal_laws(np.sqrt(kappa) * direction, np.zeros(n))).log_mass
    theirs = np.asarray(sp.log_mass(regions, direction, kappa))
    kept = theirs > -5.0
    assert kept.sum() > 20
    np.testing.assert_allclose(np.exp(ours[kept]), np.exp(theirs[kept]), atol=0.01)


def posterior_of(data: sp.Observations) -> DiagonalPosterior:
    recorded = data.problem.recorded(data)
    prior = NormalPrior.of("diagonal", 1, recorded, recorded.regions.n_goods, None, 2.0)
    return DiagonalPosterior(recorded, prior, 1e-11)


def test_the_slope_of_the_posterior(seen: sp.Observations) -> None:
    posterior = posterior_of(seen)
    at = 0.4 * np.random.default_rng(0).standard_normal(2 * posterior.n)
    slope = posterior.at(at)[1]
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = 1e-5
        difference = (posterior.at(at + step)[0] - posterior.at(at - step)[0]) / 2e-5
        assert slope[i] == pytest.approx(difference, rel=1e-5, abs=1e-5)
    mode = posterior.mode()
    assert np.abs(posterior.at(mode)[1]).max() < 1e-2


def test_units_and_currency_change_nothing() -> None:
    data = some_observations(sp.problems.Divisible())
    dear = sp.Observations(1e3 * data.prices, 1e3 * data.budgets, data.bundles, goods=GOODS)
    packs = np.array([1.0, 10.0, 0.1])  # how many of the new units are one of the old
    small = sp.Observations(data.prices / packs, data.budgets, data.bundles * packs, caps=packs, goods=GOODS)
    first, *others = (posterior_of(one) for one in (data, dear, small))
    at = 0.3 * np.random.default_rng(1).standard_normal(6)
    for other in others:
        assert other.at(at)[0] == pytest.approx(first.at(at)[0], abs=1e-7)
    np.testing.assert_allclose(usual_units(posterior_of(small).recorded), usual_units(first.recorded) / packs)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_spreads_are_learned() -> None:
    truth = sp.NormalLaw([1.0, 0.6, 0.2], np.array([0.3, 1.0, 1.6]) ** 2)
    data = sp.simulate(truth, sp.MenuLaw("uniform"), 1500, rng=np.random.default_rng(3))
    model = sp.NormalUtility("diagonal", random_state=0, n_draws=100, n_effective=0).fit(data)
    spread = np.sqrt(np.diag(model.covariance_))
    assert spread[0] < spread[1] < spread[2]
    ratio = np.array([0.3, 1.0, 1.6]) / np.sqrt(np.mean([0.09, 1.0, 2.56]))
    np.testing.assert_allclose(spread, ratio, atol=0.2)
    assert np.trace(model.posterior_["posterior"]["covariance"].values[0, 0]) == pytest.approx(3.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_law_of_the_scale_of_money() -> None:
    # A stated scale of money and a learned spread are the same thing told twice.
    stated, law = some_observations(Open(scale=1.2)), a_law(4, 6)
    other = stated.under(Open(scale=2.4))
    twice = normal_laws(law.mean * [1, 1, 1, 2], law.log_scale + np.log([1, 1, 1, 2]))
    found = (normal_log_recorded(one.problem.recorded(one), its) for one, its in ((stated, law), (other, twice)))
    np.testing.assert_allclose(*(masses.log_mass for masses in found), atol=1e-9)
    data = stated.under(Open())
    model = sp.NormalUtility("diagonal", random_state=0, n_draws=20, n_effective=0).fit(data)
    assert model.scale_ == pytest.approx(float(np.median(data.prices[np.isfinite(data.prices)])))
    assert model.coordinates_[-1] == "money"


def test_what_is_refused() -> None:
    data = some_observations(sp.problems.Divisible())
    for settings, said in (
        ({"covariance": "round"}, "covariance must be one of"),
        ({"by_customer": 1}, "by_customer must be True or False"),
        ({"mean_spread": 0.0}, "mean_spread must be a positive number"),
        ({"n_factors": 0}, "n_factors"),
        ({"engine": "jax"}, "engine must be"),
    ):
        with pytest.raises(sp.InvalidArgument, match=said):
            sp.NormalUtility(**{"covariance": "diagonal", **settings}).fit(data)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_goods_liked_together(tmp_path: Path) -> None:
    # Tea and milk by the same customers, bread by others; and a fit that is used as any other.
    covariance = np.array([[1.0, 0.8, -0.7], [0.8, 1.0, -0.7], [-0.7, -0.7, 1.0]])
    law = sp.NormalLaw([0.2, 0.2, 0.2], covariance)
    rng = np.random.default_rng(2)
    drawn_menus = sp.MenuLaw("uniform").sample(600, 3, rng=rng)
    menus = sp.Menus(drawn_menus.prices, drawn_menus.budgets, goods=GOODS)
    model = sp.NormalUtility("factor", random_state=0, n_draws=120, n_effective=0)
    model.fit(sp.simulate(law, menus, 600, rng=rng))
    found = model.covariance_ / np.sqrt(np.outer(np.diag(model.covariance_), np.diag(model.covariance_)))
    assert found[0, 1] > 0.4
    assert max(found[0, 2], found[1, 2]) < -0.3
    every = optimal_bundles(menus[3])
    assert np.exp(model.log_likelihood(every)).sum() == pytest.approx(1.0, abs=1e-8)
    said = str(model.summary())
    assert "goods liked together through 1 factor" in said
    assert "liked together: tea and milk" in said or "do not settle" in said
    model.save(tmp_path)
    again = sp.load_fit(tmp_path)
    assert str(again.summary()) == said
    np.testing.assert_array_equal(again.demand(menus[:2]).mean, model.demand(menus[:2]).mean)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_whole_goods() -> None:
    law = sp.NormalLaw([0.3, 0.1, -0.2], [1.0, 0.5, 1.5])
    rng = np.random.default_rng(4)
    menus = sp.Menus(np.tile([1.0, 1.4, 0.7], (150, 1)), np.full(150, 2.2), goods=GOODS, problem="whole")
    utilities = draw_customers(lambda count: law.sample(count, rng=rng), menus, nonempty=True)
    bundles = menus.problem.choose(utilities, menus)
    seen = sp.Observations(menus.prices, menus.budgets, bundles, goods=GOODS, problem="whole", nonempty=True)
    model = sp.NormalUtility("full", random_state=0, n_draws=150, n_effective=0).fit(seen)
    kinds, counts = np.unique(bundles, axis=0, return_counts=True)
    every = sp.Observations(
        menus.prices[: len(kinds)], menus.budgets[: len(kinds)], kinds, goods=GOODS, problem="whole", nonempty=True
    )
    probability = np.exp(model.log_likelihood(every))
    assert probability.sum() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(probability, counts / 150, atol=0.1)
    assert model.leave_one_out() is None
