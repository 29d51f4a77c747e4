"""Assortments, forecasts and what a city funds: against brute force and demand, refusals, what results say."""

from __future__ import annotations

import itertools
import json
import warnings
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest

import stochpref as sp
from stochpref.decisions.assortment import find_assortment, search_assortment
from stochpref.decisions.forecasting import _over_dispersion
from stochpref.decisions.funding import fund_by
from stochpref.decisions.walking import Solvers, Walkers, walkers_of
from stochpref.market import LawMarket, make_crowds
from stochpref.problems import Divisible, OneOf, Open, Problem, Whole

mpl.use("agg")

GOODS = ("tea", "rum", "jam", "ham")
LAW = sp.VonMisesFisher(np.array([0.6, 0.5, 0.2, 0.4]) / 0.9, 6.0)
COSTS = {"tea": 0.6, "rum": 0.3, "jam": 0.9, "ham": 0.2}


def purchases(size: int, *, problem: Problem | None = None, customers: list[str] | None = None) -> sp.Observations:
    rng = np.random.default_rng(3)
    menus = sp.Menus(rng.uniform(1, 2, (size, 4)), rng.uniform(1, 4, size), goods=GOODS, problem=problem)
    data = sp.simulate(LAW, menus, size, rng=rng)
    return sp.Observations(
        data.prices, data.budgets, data.bundles, goods=GOODS, problem=data.problem, customers=customers
    )


@cache
def fitted() -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=40, n_effective=0, random_state=0)
        return model.fit(purchases(150))


def law_market(n: int, seed: int, *, with_money: bool = False) -> LawMarket:
    rng = np.random.default_rng(seed)
    mu = rng.uniform(0.0, 1.0, (1, n + with_money))
    mu /= np.linalg.norm(mu)
    goods = (*(f"good{i + 1}" for i in range(n)), *(["money"] if with_money else []))
    return LawMarket(goods, mu, np.array([3.0 * n]), make_crowds(mu[0], 256, 1, rng=rng), 1)


@pytest.mark.parametrize("problem", [Divisible(), OneOf(), OneOf(outside=True), OneOf(reading="unit"), Open(2.0)])
def test_walking_down_an_order_is_what_customers_choose(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    n, k = 5, 4
    market = law_market(n, 1, with_money=isinstance(problem, Open))
    prices = rng.uniform(1, 2, n)
    goods = market.goods[:n]
    menus = sp.Menus(np.tile(prices, (k, 1)), rng.uniform(1, 4, k), goods=goods, problem=problem)
    walkers = walkers_of(market, menus, [0], 1000)
    assert isinstance(walkers, Walkers)
    offers = np.array(list(itertools.product((False, True), repeat=n)))[1:]
    margins = prices - rng.uniform(0, 1, n)
    own = market.utilities(0)
    own = own[problem.takes_part(own[:, None], menus[:1])[:, 0]]
    for offer, earned in zip(offers, walkers.earn(offers, margins), strict=True):
        total = 0.0
        for m, u in enumerate(own):
            row = menus[[m % k]]
            offered = sp.Menus(np.where(offer, row.prices, np.inf), row.budgets, goods=goods, problem=problem)
            if isinstance(problem, OneOf) and problem.reading == "value" and not np.any(u[offer] > 0):
                continue  # nothing that they want is left, and they leave
            total += float(problem.choose(u, offered)[0] @ margins)
        assert earned == pytest.approx(total / len(own), rel=1e-9)


def test_whole_goods_are_chosen_anew() -> None:
    market, menus = law_market(4, 2), sp.Menus(np.tile([1.0, 1.3, 1.6, 1.9], (2, 1)), [2.5, 3.5], problem=Whole())
    solvers = walkers_of(market, menus, [0], 100)
    assert isinstance(solvers, Solvers)
    everything = np.ones((1, 4), np.bool_)
    own = solvers.utilities[0]
    bought = np.stack([Whole().choose(own[:, None], menus[[t]])[:, 0] for t in range(2)])
    expected = float((bought @ np.ones(4)).mean())
    assert solvers.earn(everything, np.ones(4))[0] == pytest.approx(expected)
    chosen, n_tried, is_exact = find_assortment(solvers, np.array([0.1, 0.4, 0.5, 0.9]), 4)
    assert (n_tried, is_exact) == (15, True)
    assert chosen.any()


def test_adding_and_exchanging_finds_the_best_assortment() -> None:
    same = 0
    for seed in range(10):
        rng, market = np.random.default_rng(seed), law_market(9, seed)
        prices = rng.uniform(1, 2, 9)
        menus = sp.Menus(prices[None], [2.0], goods=market.goods, problem=Divisible() if seed % 2 else OneOf())
        walkers = walkers_of(market, menus, [0], 1000)
        margins = prices - rng.uniform(0, 1.2, 9)
        exact, n_tried, is_exact = find_assortment(walkers, margins, 9)
        found, fewer = search_assortment(walkers, margins, 9)
        assert is_exact
        assert fewer < n_tried == 2**9 - 1
        same += bool(np.array_equal(exact, found))
        few, _ = search_assortment(walkers, margins, 3)
        assert few.sum() <= 3
    assert same >= 9


def test_an_assortment_of_a_fit() -> None:
    menus = sp.Menus([[1.2, 1.5, 1.4, 1.8]], [2.0], goods=GOODS)
    found = fitted().best_assortment(menus, costs=COSTS)
    costs = np.array(list(COSTS.values()))
    assert found.is_exact
    assert found.earned >= found.earned_all
    own = np.where(found.is_offered, menus.prices, np.inf)
    demand = fitted().demand(sp.Menus(own, [2.0], goods=GOODS), n_customers=8192).mean[0]
    assert found.earned == pytest.approx(float(demand @ (menus.prices[0] - costs)), rel=0.02)
    assert np.all(found.change[found.is_offered] > -1e-3 * found.earned)
    assert len(fitted().best_assortment(menus, size=1).offered) == 1
    assert json.loads(json.dumps(found.as_dict()))["is_exact"]
    assert "Best assortment" in str(found)
    assert found.plot() is not None
    with pytest.raises(sp.InvalidArgument, match="costs must leave a good to earn from"):
        fitted().best_assortment(menus, costs=dict.fromkeys(GOODS, 5.0))
    with pytest.raises(sp.InvalidArgument, match="size must be a whole number"):
        fitted().best_assortment(menus, size=0)


def test_totals_are_those_of_demand_and_hold_the_luck_of_customers() -> None:
    menus = sp.Menus([[1.2, 1.5, 1.4, 1.8]], [2.0], goods=GOODS)
    demand = fitted().demand(menus)
    few, many = fitted().forecast(menus, 100, costs=COSTS), fitted().forecast(menus, 3000)
    np.testing.assert_allclose(few.units / 100, demand.mean[0], atol=0.02)
    np.testing.assert_allclose(many.units / 3000, demand.mean[0], atol=0.015)
    width = demand.upper[0] - demand.lower[0]
    assert np.all((few.units_upper - few.units_lower) / 100 > 1.2 * width)
    assert np.all((many.units_upper - many.units_lower) / 3000 > 0.7 * width)
    costs = np.array(list(COSTS.values()))
    assert few.profit == pytest.approx(few.revenue - float(few.units @ costs))
    assert many.profit is None
    assert len(many.records()) == 5
    assert "Forecast of what 3,000 customers buy" in str(many)
    assert few.plot() is not None
    again = fitted().forecast(menus, 100, costs=COSTS)
    np.testing.assert_array_equal(few.units_lower, again.units_lower)
    with pytest.raises(sp.InvalidArgument, match="n_customers must be a whole number, 1 or more"):
        fitted().forecast(menus, 0)
    with pytest.raises(sp.InvalidArgument, match="by_customer=True needs customers who come again"):
        fitted().forecast(menus, 10, by_customer=True)


def test_customers_who_come_again_make_totals_less_certain() -> None:
    # Each of 30 customers keeps one taste over 5 purchases: what one buys beyond expectation is alike.
    rng = np.random.default_rng(8)
    tastes = np.repeat(LAW.sample(30, rng=rng), 5, axis=0)
    menus = sp.Menus(rng.uniform(1, 2, (150, 4)), rng.uniform(1, 2, 150), goods=GOODS, problem=Divisible())
    bundles = Divisible().choose(tastes, menus)
    data = sp.Observations(
        menus.prices, menus.budgets, bundles, goods=GOODS, customers=np.repeat(np.arange(30), 5).astype(str)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        settings = {"sampler": "gibbs", "n_draws": 30, "n_effective": 0, "random_state": 0}
        model = sp.HeterogeneousUtility(**settings).fit(data)
    spread = _over_dispersion(model, None)
    assert 1.5 < spread[:4].max() <= 5.2
    alone = model.forecast(menus[:20], 200)
    wide = model.forecast(menus[:20], 200, by_customer=True)
    width = (wide.units_upper - wide.units_lower) / (alone.units_upper - alone.units_lower)
    np.testing.assert_allclose(width, np.sqrt(spread[:4]), rtol=0.1)
    assert any("by_customer=True" in text for text in alone.cautions)
    assert not any("by_customer=True" in text for text in wide.cautions)


def test_what_is_funded_is_the_best_that_fits() -> None:
    rng = np.random.default_rng(0)
    support, costs = rng.random((40, 6)), rng.uniform(1, 4, 6)
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
    feasible = sets[sets @ costs <= 7.0]
    found = fund_by("demand", support, costs, 7.0)
    np.testing.assert_allclose(np.sum(found * support, axis=1), (support @ feasible.T).max(axis=1))
    for own, table in zip(fund_by("greedy", support, costs, 7.0), support, strict=True):
        left, funded = 7.0, np.zeros(6, np.bool_)
        for i in np.argsort(-table):
            if costs[i] <= left:
                funded[i], left = True, left - costs[i]
        np.testing.assert_array_equal(own, funded)


def test_funding_of_a_fit() -> None:
    found = fitted().fund({"tea": 1.2, "rum": 1.5, "jam": 1.1, "ham": 1.4}, 3.0)
    assert float(found.costs @ found.is_funded) <= 3.0
    assert found.set_probability == dict(found.sets)[found.funded]
    assert sum(probability for _, probability in found.sets) <= 1 + 1e-12
    assert np.all(found.probability[found.is_funded] >= found.set_probability - 1e-12)
    greedy = fitted().fund({"tea": 1.2, "rum": 1.5, "jam": 1.1, "ham": 1.4}, 3.0, rule="greedy")
    np.testing.assert_array_equal(greedy.is_funded, found.is_funded_otherwise)
    assert json.loads(json.dumps(found.as_dict()))["rule"] == "demand"
    assert "with probability" in str(found)
    assert "support" in found._repr_html_()
    assert found.plot() is not None
    costs = dict.fromkeys(GOODS, 1.0)
    for settings, words in (
        ((costs, -1.0), "budget must be a positive sum"),
        (({**costs, "tea": 0.0}, 2.0), "costs must be positive for projects; received 0 for 'tea'"),
        (({"tea": 1.0}, 2.0), "costs must be given for every good on offer; 'rum' and 2 more are missing"),
    ):
        with pytest.raises(sp.InvalidArgument, match=words):
            fitted().fund(*settings)
    with pytest.raises(sp.InvalidArgument, match="rule must be one of demand, greedy"):
        fitted().fund(costs, 2.0, rule="utility")
