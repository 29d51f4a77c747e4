"""Price tests: what menus tell where money is kept, and what prices lose because customers are not known well."""

from __future__ import annotations

import itertools
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.decisions.limits import PriceLimits
from stochpref.decisions.profit import SeparateProfit
from stochpref.decisions.searching import find_prices
from stochpref.decisions.sweeps import Crowd
from stochpref.design.information import draw_customers, menu_moments
from stochpref.design.stakes import price_bounds, stakes_of
from stochpref.mass.conditional import log_recorded
from stochpref.problems import Open

GOODS = ("tea", "rum", "jam")
MU = np.array([0.6, 0.5, 0.4, 0.9]) / np.linalg.norm([0.6, 0.5, 0.4, 0.9])
COSTS = {"tea": 0.4, "rum": 0.3, "jam": 0.2}
SHOP = Open(2.0)
QUICK = sp.DesignEffort(n_candidates=30, n_draws=64, n_rounds=1, n_generations=2, n_offspring=8)
LIMITS = sp.MenuLimits(lowest_price=0.3, highest_price=4.0)


@cache
def fitted() -> sp.HeterogeneousUtility:
    rng = np.random.default_rng(0)
    menus = sp.Menus(rng.uniform(0.5, 2.5, (300, 3)), goods=GOODS, problem=SHOP)
    data = sp.simulate(sp.VonMisesFisher(MU, 9.0), menus, 300, rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(sampler="gibbs", n_draws=60, n_effective=0, random_state=0).fit(data)


def test_listed_and_drawn_information_agree_where_money_is_kept() -> None:
    rng = np.random.default_rng(0)
    h, menus = 7.0 * MU, sp.Menus([[1.5, 1.2, 2.0], [2.5, np.inf, 1.0]], goods=GOODS, problem=SHOP)
    customers = draw_customers(h, 0, rng, menu=menus[:1])
    assert customers[:, -1].min() > 0
    found = menu_moments(menus, h, customers)
    for k in range(2):
        bundles = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
        bundles = bundles[np.all((bundles == 0) | np.isfinite(menus.prices[k]), axis=1)]
        rows = sp.Observations(np.tile(menus.prices[k], (len(bundles), 1)), None, bundles, goods=GOODS, problem=SHOP)
        masses = log_recorded(SHOP.recorded(rows), h, gradient=True)
        probability = np.exp(masses.log_mass)
        assert probability.sum() == pytest.approx(1.0, abs=1e-9)
        information = (masses.gradient * probability[:, None]).T @ masses.gradient
        np.testing.assert_allclose(found.information[k], information, atol=2e-3 * np.abs(information).max())
        # The slope of demand is the covariance of what is bought with the score.
        np.testing.assert_allclose(
            found.demand_slope[k], (bundles * probability[:, None]).T @ masses.gradient, atol=1e-3
        )


def test_what_prices_lose_equals_choosing_them_anew() -> None:
    model, costs = fitted(), np.array(list(COSTS.values()))
    bounds = price_bounds(model, LIMITS)
    stakes = stakes_of(model, COSTS, bounds, np.random.default_rng(0))
    limits = PriceLimits(bounds.lowest, bounds.highest, (None,) * 3, ())
    utilities = draw_customers(
        stakes.h, 400_000, np.random.default_rng(1), menu=sp.Menus([[1.0, 1.0, 1.0]], goods=GOODS, problem=SHOP)
    )
    nothing = np.zeros(len(utilities), np.int64)

    def profit_at(dh: np.ndarray) -> SeparateProfit:
        weight = np.exp(utilities @ dh)  # the same customers, as likely as the other law makes them
        crowd = Crowd(
            SHOP.worth(utilities), weight / weight.sum(), nothing, nothing, np.array([np.inf]), np.ones((1, 3)), 1
        )
        return SeparateProfit(crowd, costs)

    # Directions in which prices lose most.
    values, vectors = np.linalg.eigh(stakes.loss)
    assert values[0] > -1e-9 * values[-1]
    found, expected = [], []
    here = find_prices(profit_at(np.zeros(4)), stakes.prices, limits)
    for k, sign in itertools.product((-1, -2), (1.0, -1.0)):
        dh = sign * 1.5 * vectors[:, k]
        other = profit_at(dh)
        found.append(0.5 * float(dh @ stakes.loss @ dh))
        expected.append(other.mean(find_prices(other, here, limits)) - other.mean(here))
    # What is left of third order cancels between a step and its opposite.
    assert found[0] + found[1] == pytest.approx(expected[0] + expected[1], rel=0.25)
    assert found[2] + found[3] == pytest.approx(expected[2] + expected[3], rel=0.35)


def test_what_prices_lose_is_the_regret_of_best_prices() -> None:
    model = fitted()
    found = model.best_prices(costs=COSTS, bounds=dict.fromkeys(GOODS, (0.3, 4.0)), extrapolate=True)
    stakes = stakes_of(model, COSTS, price_bounds(model, LIMITS), np.random.default_rng(0))
    np.testing.assert_allclose(stakes.prices, found.prices, rtol=0.1)
    assert stakes.regret(np.zeros((4, 4))) == pytest.approx(found.regret, rel=0.4)


def test_a_test_of_prices_is_worth_more_than_prices_at_random() -> None:
    model, rng = fitted(), np.random.default_rng(0)
    settings = {"criterion": "profit", "fit": model, "costs": COSTS, "effort": QUICK, "limits": LIMITS}
    found = sp.optimal_menus(GOODS, 40, rng=rng, **settings)
    assert 0 < found.value < found.regret
    assert found.menus.problem == SHOP
    assert np.isinf(found.menus.budgets).all()
    assert f"{found.value:.3g} more profit" in str(found)
    stakes = stakes_of(model, COSTS, price_bounds(model, LIMITS), np.random.default_rng(1))
    random = sp.Menus(rng.uniform(0.3, 4.0, (40, 3)), goods=GOODS, problem=SHOP)
    customers = draw_customers(stakes.h, 0, rng, menu=random[:1])
    told = menu_moments(random, stakes.h, customers).information.sum(axis=0)
    before = stakes.regret(np.zeros((4, 4)))
    assert found.value > 1.1 * (before - stakes.regret(told))
    more = sp.optimal_menus(GOODS, 400, rng=rng, **settings)
    assert found.value < more.value < more.regret
    assert "budget" not in found.records()[0]
    assert json.loads(json.dumps(found.as_dict()))["value"] == found.value


def test_a_test_of_prices_needs_a_fit_costs_and_room() -> None:
    rng, model = np.random.default_rng(0), fitted()
    divisible = sp.simulate(sp.VonMisesFisher(MU[:3] / np.linalg.norm(MU[:3]), 7.0), sp.MenuLaw("uniform"), 40, rng=rng)
    common = sp.CommonUtility(random_state=0).fit(model.observations_)
    closed = sp.CommonUtility(random_state=0).fit(divisible)
    for goods, settings, words in (
        (GOODS, {"costs": COSTS}, "needs a fit with an open budget.*fit is missing"),
        (GOODS, {"fit": model}, "costs is missing"),
        (GOODS, {"fit": model, "costs": {"tea": 1}}, "'rum' and 1 more are missing"),
        (("tea", "rum"), {"fit": model, "costs": COSTS}, "goods must be those of the fit"),
        (GOODS, {"fit": model, "costs": COSTS, "held": np.eye(4)}, "leave them out"),
        (GOODS, {"fit": common, "costs": COSTS}, "needs a fit of one law of customers"),
        (closed.goods_, {"fit": closed, "costs": 0.1}, "profit never falls when all prices rise"),
        (GOODS, {"fit": model, "costs": COSTS, "limits": sp.MenuLimits(budget=2.0)}, "must state no budget"),
        (
            GOODS, {"fit": model, "costs": COSTS, "limits": sp.MenuLimits(lowest_price=0.5, highest_price=0.6)},
            "limits must leave best prices room to move",
        ),
    ):  # fmt: skip
        with pytest.raises(sp.InvalidArgument, match=words):
            sp.optimal_menus(goods, 5, rng=rng, criterion="profit", effort=QUICK, **settings)
    with pytest.raises(sp.InvalidArgument, match="fit and costs are for criterion 'profit'"):
        sp.optimal_menus(GOODS, 5, rng=rng, fit=model)


def test_the_command_designs_a_test_of_prices(tmp_path: Path) -> None:
    fitted().save(tmp_path / "fit")
    (tmp_path / "costs.csv").write_text("good,cost\ntea,0.4\nrum,0.3\njam,0.2\n")

    def run(*words: object) -> object:
        own = ("design", "menus", "--fit", tmp_path / "fit", *words)
        return CliRunner().invoke(cli.app, [str(word) for word in own])

    out = tmp_path / "test.csv"
    limits = ("--lowest-price", 1, "--highest-price", 4, "--price-step", 0.25, "--always", "all")
    shown = run(
        "--criterion", "profit", "--costs", tmp_path / "costs.csv", "--batch", 6, *limits, "--out", out, "--json"
    )
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert told["criterion"] == "profit"
    assert 0 < told["value"] < told["regret"]
    table = pd.read_csv(out)
    assert len(table) == 18
    assert np.all(table["price"] * 4 % 1 == 0)
    menus = sp.read_menus(out, needs_budget=False, goods=GOODS)
    assert fitted().demand(menus).mean.shape == (6, 3)
    for words, message in (
        (("--criterion", "profit"), "costs is missing"),
        (("--costs", tmp_path / "costs.csv"), "--costs is for --criterion profit"),
        (("--criterion", "profit", "--costs", tmp_path / "costs.csv", "--budget", 3), "leave --goods, --budget"),
    ):
        shown = run(*words)
        assert shown.exit_code == 2
        assert message in shown.stderr
