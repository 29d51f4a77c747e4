# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What every model must do, whichever it is: a new one is tested by a line in `QUICK`."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.design.bundles import optimal_bundles
from stochpref.loading import load
from stochpref.models.fit import Fit
from stochpref.names import MODELS
from stochpref.problems import Open
from stochpref.report import page
from tests.small_fits import purchases, satiated_purchases

# Settings that make a small fit of a model in a second or two, enough or not.
QUICK: dict[str, dict[str, Any]] = {
    "heterogeneous": {"sampler": "gibbs", "n_draws": 20, "n_effective": 0},
    "segmented": {"n_segments": 2, "n_draws": 20, "n_effective": 0},
    "normal": {"covariance": "diagonal", "n_draws": 20, "n_effective": 0},
    "common": {},
    "satiated": {"n_draws": 20, "n_effective": 0},
}
GOODS = ("tea", "milk", "bread", "rum")
MENUS = sp.Menus(
    [[1.0, 1.2, 0.9, 1.4], [0.7, np.inf, 1.6, 1.0], [1.1, 0.8, 1.3, 2.0]],
    [2.0, 1.1, 9.0],
    goods=GOODS,
    caps=[1, 2, 1, 1],
)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few draws have not converged


def unfitted(name: str) -> Fit:
    return load(MODELS[name])(random_state=0, **QUICK[name])


@cache
def fitted(name: str) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return unfitted(name).fit(some_purchases(name, 80))


def some_purchases(name: str, size: int, seed: int = 0) -> sp.Observations:
    """Return purchases of the problem that a model is about."""
    if "divisible" in load(MODELS[name]).problems:
        return purchases(4, size, seed=seed, goods=GOODS)
    return satiated_purchases(size, seed=seed, goods=GOODS)


def read_as(model: Fit) -> tuple[str, ...]:
    """Return the options of the command line that read purchases of a model's problem."""
    problem = model.problem_
    return (
        () if problem.name == "divisible" else ("--problem", problem.name, "--outside", problem.settings()["outside"])
    )


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Fit:
    return fitted(request.param)


def test_every_model_is_tested() -> None:
    assert set(QUICK) == set(MODELS)
    for name, place in MODELS.items():
        assert load(place).name == name
        assert getattr(sp, place.partition(":")[2]) is load(place)


def test_an_estimator_as_scikit_learn_has_them(model: Fit) -> None:
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    for ask in (copy.predict, copy.demand, copy.elasticities, copy.log_likelihood, copy.score):
        with pytest.raises(Exception, match="not fitted"):
            ask(MENUS)
    with pytest.raises(sp.InvalidArgument, match="must be Observations"):
        copy.fit(MENUS)
    assert model.goods_ == GOODS
    assert (model.n_observations_, model.n_dropped_, model.n_features_in_, model.seed_) == (80, 0, 4, 0)
    assert len(model.observations_) == 80


def test_the_best_utility_and_how_much_goods_are_wanted(model: Fit) -> None:
    assert np.linalg.norm(model.best_utility) == pytest.approx(1.0)
    assert model.best_utility[0] > model.best_utility[3]  # as those who bought were made
    np.testing.assert_allclose(np.linalg.norm(model.directions, axis=1), 1.0)
    wanted, interval = model.wanted
    own = model.best_utility[model.problem_.leading(GOODS)]
    assert wanted @ own / np.linalg.norm(wanted) == pytest.approx(np.linalg.norm(own))
    assert interval is None or np.all(interval[:, 0] <= interval[:, 1])
    assert all(np.isfinite(value) for value in model.figures.values())


def test_predictions_are_what_the_best_utility_buys(model: Fit) -> None:
    expected = model.problem_.choose(model.best_utility, MENUS)
    np.testing.assert_array_equal(model.predict(MENUS), expected)
    plain = model.problem_.choose(model.best_utility, sp.Menus(MENUS.prices, MENUS.budgets, problem=model.problem_))
    np.testing.assert_array_equal(model.predict(MENUS.prices, MENUS.budgets), plain)
    np.testing.assert_array_equal(model.predict(sp.Menus(MENUS.prices, MENUS.budgets, goods=GOODS)), plain)
    turned = [2, 0, 3, 1]
    menus = sp.Menus(
        MENUS.prices[:, turned], MENUS.budgets, goods=[GOODS[i] for i in turned], caps=MENUS.caps[:, turned]
    )
    np.testing.assert_allclose(model.predict(menus), expected[:, turned], rtol=1e-12)
    np.testing.assert_allclose(model.demand(menus).mean, model.demand(MENUS).mean[:, turned], rtol=1e-12)


def test_demand_is_the_mean_over_the_market(model: Fit) -> None:
    market = model.market(256, 10)
    assert market.goods == model.coordinates_
    bought = np.array(
        [
            [model.problem_.choose(market.utilities(s, c)[:, None], MENUS).mean(axis=0) for c in range(market.n_crowds)]
            for s in range(market.n_draws)
        ]
    ).mean(axis=1)
    found = model.demand(MENUS, n_customers=256, n_draws=10, level=0.8)
    np.testing.assert_allclose(found.mean, bought.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose([found.lower, found.upper], np.quantile(bought, (0.1, 0.9), axis=0), atol=1e-12)
    np.testing.assert_allclose(found.total, found.mean.sum(axis=1), atol=1e-12)
    np.testing.assert_array_less(found.revenue, MENUS.budgets + 1e-9)
    assert np.isfinite(found.standard_error).all()
    assert json.loads(json.dumps(found.as_dict()))["goods"] == list(GOODS)
    assert ("intervals" in str(found)) == model.customers_differ
    for draw in range(min(market.n_draws, 3)):
        assert market.utilities(draw).shape == (market.n_customers, len(market.goods))
        assert market.sample(draw, 5, rng=np.random.default_rng(0)).shape == (5, len(market.goods))
    for argument in ("n_customers", "n_draws"):
        with pytest.raises(sp.InvalidArgument, match=argument):
            model.demand(MENUS, **{argument: 0})
    with pytest.raises(sp.InvalidArgument, match="level"):
        model.demand(MENUS, level=90)


def test_decisions_of_every_model(model: Fit) -> None:
    demand = model.demand(MENUS[:1], n_customers=4096)
    totals = model.forecast(MENUS[:1], 500)
    np.testing.assert_allclose(totals.units / 500, demand.mean[0], atol=0.1)
    assert np.all(totals.units_lower <= totals.units_upper)
    offered = model.best_assortment(MENUS[:1], costs=0.2)
    assert offered.is_exact
    assert offered.earned >= 0.98 * offered.earned_all
    funded = model.fund([1.0, 1.2, 0.9, 1.4], 2.0)
    assert 0 < float(funded.costs @ funded.is_funded) <= 2.0
    with pytest.raises(sp.InvalidArgument, match="best prices need a fit in which customers may keep their money"):
        model.best_prices(costs=0.2)


def test_prices_of_every_model_of_open_budgets(model: Fit) -> None:
    if not model.customers_differ or "open" not in model.problems:
        return  # refused, as tests of best prices see
    rng = np.random.default_rng(0)
    menus = sp.Menus(rng.uniform(1.0, 3.0, (120, 3)), goods=GOODS[:3], problem=Open(2.0))
    data = sp.simulate(
        sp.VonMisesFisher(np.array([0.6, 0.5, 0.3, 0.55]) / np.linalg.norm([0.6, 0.5, 0.3, 0.55]), 8.0),
        menus,
        120,
        rng=rng,
    )
    fit = unfitted(model.name).fit(data)
    found = fit.best_prices(costs=0.5)
    assert np.all((found.prices >= found.observed_lowest) & (found.prices <= found.observed_highest))
    demand = fit.demand(found.prices, n_customers=8192)
    assert found.profit == pytest.approx(float(demand.mean[0] @ (found.prices - 0.5)), rel=0.06)


def test_elasticities_are_differences_of_demand(model: Fit) -> None:
    menu = MENUS[:1]
    found = model.elasticities(menu, n_customers=512, n_draws=10)
    for j in range(4):
        changed = np.repeat(menu.prices, 2, axis=0)
        changed[:, j] *= [1.05, 1 / 1.05]
        around = sp.Menus(changed, np.repeat(menu.budgets, 2), goods=GOODS, caps=menu.caps[0])
        up, down = model.demand(around, n_customers=512, n_draws=10).mean
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.log(up / down) / (2 * np.log(1.05))
        np.testing.assert_allclose(found.mean[:, j], np.where(np.isfinite(slope), slope, np.nan), atol=1e-9)
    assert np.isnan(model.elasticities(MENUS[1:2]).mean[:, 1]).all()  # not on offer
    some = model.elasticities(menu, goods=("rum", "tea"), n_customers=512, n_draws=10)
    np.testing.assert_array_equal(some.mean, found.mean[np.ix_([3, 0], [3, 0])])
    twice = sp.Menus(np.repeat(menu.prices, 2, axis=0), np.repeat(menu.budgets, 2), goods=GOODS, caps=menu.caps[0])
    if model.name == "satiated":  # splits elasticities by whether and how much, which is of one menu
        with pytest.raises(sp.InvalidArgument, match="one menu"):
            model.elasticities(twice)
    else:  # of what is bought on average
        again = model.elasticities(twice, n_customers=512, n_draws=10)
        np.testing.assert_allclose(again.mean, found.mean, atol=1e-9)
    with pytest.raises(sp.InvalidArgument, match="goods must be among"):
        model.elasticities(menu, goods=["ham"])


def test_log_likelihoods_are_of_probabilities_where_they_say_so(model: Fit) -> None:
    data = model.observations_
    pointwise = model.log_likelihood(data)
    if model.scores_are == "probabilities":
        for t in range(len(MENUS)):
            every = optimal_bundles(MENUS[t])
            assert np.exp(model.log_likelihood(every)).sum() == pytest.approx(1.0, abs=1e-6)
        assert np.all(pointwise < 0)
        degenerate = sp.Observations(np.ones((1, 4)), [1.0], [[0.5, 0.5, 0.0, 0.0]], goods=GOODS)
        assert model.log_likelihood(degenerate) == -np.inf
    assert pointwise.shape == (80,)
    assert np.isfinite(model.score(data))
    assert 0.0 <= model.consistency(data) <= 1.0
    assert 0.0 <= model.explained <= 1.0
    left_out = model.leave_one_out()
    assert left_out is None or (left_out.shape == (80,) and left_out.sum() < pointwise.sum())


def test_what_a_fit_says(model: Fit) -> None:
    summary = model.summary()
    assert all(good in str(summary) for good in GOODS)
    json.dumps(summary.as_dict())
    account = model.account()
    assert {verdict.status for verdict in account.verdicts} <= {"good", "nearly", "note", "bad"}
    assert account.trust
    text = page.render(model)
    assert account.headline in text or account.headline_unfit in text
    for part in (*account.spread, *account.trust):
        assert part.heading in text
        assert part.fold in text
    for good in GOODS:
        assert f"<bdi>{good}</bdi>" in text


def test_a_saved_fit_is_the_same_fit(model: Fit, tmp_path: Path) -> None:
    model.save(tmp_path / "fit", command=["stochpref", "fit"])
    again = sp.load_fit(tmp_path / "fit")
    assert type(again) is type(model)
    assert again.command_ == ["stochpref", "fit"]
    again.command_ = model.command_
    data = model.observations_
    np.testing.assert_array_equal(again.predict(MENUS), model.predict(MENUS))
    np.testing.assert_array_equal(again.demand(MENUS).upper, model.demand(MENUS).upper)
    np.testing.assert_array_equal(again.log_likelihood(data), model.log_likelihood(data))
    for said in (
        "goods_",
        "n_observations_",
        "n_dropped_",
        "data_hash_",
        "seed_",
        "figures",
        "explained",
        "is_settled",
    ):
        assert getattr(again, said) == getattr(model, said), said
    assert str(again.summary()) == str(model.summary())
    assert page.render(again) == page.render(model)


def test_fits_beside_one_another(model: Fit) -> None:
    fresh = some_purchases(model.name, 40, seed=1)
    found = sp.compare_fits({"one": model, "two": model}, fresh)
    assert [fit.model for fit in found.fits] == [model.name] * 2
    assert found.fits[0].held_out_explained == model.consistency(fresh)
    assert all(difference.mean == 0.0 for difference in found.differences)
    assert "held out" in str(found)


def test_fits_of_groups(model: Fit) -> None:
    data = model.observations_
    found = sp.fit_groups(unfitted(model.name), data, ["b", "a"] * 40, jobs=1)
    assert not found.failures
    table = found.table.to_pydict()
    assert table["group"] == ["b", "a"]
    assert set(model.figures) <= set(table)
    assert np.isfinite([table[f"utility_{good}"] for good in GOODS]).all()


def test_on_the_command_line(model: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sp.write_observations(model.observations_.under(sp.problems.Divisible()), "bought.csv")
    sp.write_menus(MENUS[:2], "menus.csv")
    model.save("fit")

    def run(*words: str) -> str:
        shown = CliRunner().invoke(cli.app, list(words))
        assert shown.exit_code == 0, shown.output
        return shown.stdout

    assert json.loads(run("summary", "fit", "--json"))["model"] == model.name
    assert "menu 1" in run("predict", "fit", "menus.csv", "--out", "predicted.csv")
    assert "bought.csv" not in run(
        "compare", "fit", str(Path("fit").resolve()), "--held-out", "bought.csv", *read_as(model)
    )
    assert run("report", "fit", "--out", "report.html").strip() == "report.html"
    assert Path("predicted.csv").read_text().startswith("menu,good,price,budget,bundle")
