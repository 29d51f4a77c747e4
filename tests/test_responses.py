# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How purchases answer prices over the menus that people faced, against asking every customer at every price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref import responses
from stochpref.demand import typical_menu
from stochpref.market import OneCustomer
from stochpref.problems import Divisible, Open, Problem, Whole
from stochpref.responses import curves_of, repriced_demand
from tests.small_fits import posterior

GOODS = ("tea", "rum", "jam", "oil")


def menus_of(problem: Problem, count: int = 40, seed: int = 0) -> sp.Menus:
    rng = np.random.default_rng(seed)
    prices = rng.uniform(1.0, 2.0, (count, 4)).round(1)  # round prices, so that some goods are worth the same
    prices[rng.random(prices.shape) < 0.1] = np.inf
    budgets = rng.uniform(0.5, 5.0, count) if problem.needs_budget else None
    return sp.Menus(prices, budgets, goods=GOODS, problem=problem)


@pytest.mark.parametrize("problem", [Divisible(), Divisible({"tea": 3, "oil": 2}), Open(2.0), Whole()])
def test_one_price_at_a_time_is_what_choosing_anew_gives(problem: Problem) -> None:
    menus = menus_of(problem)
    size = len(problem.coordinates(GOODS))
    utilities = np.random.default_rng(1).normal(0.3, 1.0, (40, size)).round(1)
    goods = np.array([0, 3, 0, 2])
    prices = np.random.default_rng(2).uniform(0.5, 3.0, (4, 40)).round(1)
    prices[1, :5] = np.inf
    found, counts = problem.total_repriced(utilities, menus, goods, prices)
    for k, good in enumerate(goods):
        changed = menus.prices.copy()
        changed[:, good] = prices[k]
        budgets = menus.budgets if problem.needs_budget else None
        asked = sp.Menus(changed, budgets, goods=GOODS, problem=problem)
        does = problem.takes_part(utilities, asked)
        np.testing.assert_allclose(found[k], problem.choose(utilities, asked)[does].sum(axis=0), atol=1e-12)
        assert counts[k] == does.sum()
    assert np.any(found[0] != found[2])


def test_many_goods_are_ranked_as_few() -> None:
    """Above 64 goods another sort ranks them."""
    rng = np.random.default_rng(0)
    goods = tuple(f"good{i}" for i in range(90))
    menus = sp.Menus(rng.uniform(1, 2, (6, 90)), np.full(6, 20.0), goods=goods)
    utilities = rng.normal(0.8, 0.5, (6, 90))
    found, _ = Divisible().total_repriced(utilities, menus, np.array([7]), menus.prices[:, 7][None] * 2.0)
    changed = menus.prices * np.where(np.arange(90) == 7, 2.0, 1.0)
    np.testing.assert_allclose(found[0], sp.choose(utilities, changed, menus.budgets).sum(axis=0), atol=1e-9)


def test_purchases_are_averaged_over_the_menus_faced() -> None:
    """A single customer meets all menus; many customers meet one each, whose average is that of all pairs."""
    menus = menus_of(Divisible())
    alone = OneCustomer(GOODS, np.array([0.5, 0.4, -0.2, 0.7]))
    twice = menus.prices[:, 3] * 2.0
    found = repriced_demand(alone, menus, np.array([3]), twice[None])[0, 0]
    changed = np.where(np.arange(4) == 3, twice[:, None], menus.prices)
    np.testing.assert_allclose(found, sp.choose(alone.utility, changed, menus.budgets).mean(axis=0), atol=1e-12)

    model = posterior(4)
    data = model.observations_
    own = repriced_demand(model.market(4096, 20), data.menus, np.array([0]), data.prices[:, 0][None])
    all_pairs = model.demand(data.menus, n_customers=512, n_draws=20).mean.mean(axis=0)
    np.testing.assert_allclose(own.mean(axis=(0, 1)), all_pairs, atol=0.02)


def test_elasticities_are_of_the_menus_observed_unless_some_are_named() -> None:
    model = posterior(4)
    found = model.elasticities(n_customers=512, n_draws=20)
    again = model.elasticities(model.observations_.menus, n_customers=512, n_draws=20)
    np.testing.assert_array_equal(found.mean, again.mean)
    assert np.all(np.diag(found.mean) < 0)
    one = model.elasticities(model.observations_.menus[0], n_customers=512, n_draws=20)
    assert np.any(np.abs(one.mean - found.mean) > 0.1)


def curve(market: Any, menus: sp.Menus, **more: Any) -> responses.Curve:
    observed = sp.Observations(menus.prices, menus.budgets, np.zeros(menus.prices.shape), goods=menus.goods)
    return curves_of(market, menus, [0], 0.9, typical_menu(observed).prices[0], **more)[0]


def test_no_peak_is_named_beyond_the_prices_seen() -> None:
    tea = OneCustomer(("tea", "rum"), np.array([0.8, 0.6]))
    prices = np.column_stack([np.linspace(1, 2, 40), np.full(40, 1.0)])
    rising = curve(tea, sp.Menus(prices, np.full(40, 9.0), goods=("tea", "rum")))
    assert rising.verdict == "revenue still rises at 2, the highest price seen"
    assert rising.prices[0] < 1.0 < 2.0 < rising.prices[-1]
    assert {1.0, 2.0} <= set(rising.prices.round(9))
    # Above 4/3 rum is the better value, and leaves 0.2 for tea.
    assert curve(tea, sp.Menus(prices, np.full(40, 1.2), goods=("tea", "rum"))).verdict == "revenue peaks near 1.25"
    fixed = sp.Menus(np.full((5, 2), 1.5), np.full(5, 9.0), goods=("tea", "rum"))
    assert curve(tea, fixed).verdict.startswith("sold at 1.5 only")
    nobody = OneCustomer(("tea", "rum"), np.array([-0.8, 0.6]))
    assert curve(nobody, sp.Menus(prices, np.full(40, 9.0), goods=("tea", "rum"))).verdict == "nobody buys it"


def test_costs_turn_revenue_into_profit() -> None:
    model = posterior(2)
    market, menus = model.market(512, 20), model.observations_.menus
    plain = curves_of(market, menus, [0, 1], 0.9, np.ones(2))
    found = curves_of(market, menus, [0, 1], 0.9, np.ones(2), np.array([1.2, 0.0]))
    assert [one.what for one in (*plain, *found)] == ["revenue"] * 2 + ["profit"] * 2
    np.testing.assert_allclose(found[0].earned[0], plain[0].demand[0] * (plain[0].prices - 1.2))
    assert np.all(found[0].earned[1] <= found[0].earned[2])  # where a price is below its cost, too
    assert found[0].earned[0].min() < 0 < found[0].earned[0].max()
    np.testing.assert_array_equal(found[1].earned, plain[1].earned)
    assert found[0].verdict.startswith("profit")
