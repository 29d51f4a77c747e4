# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The model of goods that satiate: what it recovers, says, refuses and answers, and that its parts agree."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.laws.lognormal import draw_errors
from stochpref.posterior.samplers.around import Near
from stochpref.posterior.samplers.around_hamiltonian import AroundHamiltonian
from stochpref.problems import Satiated
from stochpref.report import page
from stochpref.satiation.fitting import Frame, Settings
from stochpref.satiation.market import make_errors
from tests.contracts import check_law
from tests.small_fits import of_fading_goods, satiated_purchases

GOODS = ("tea", "milk", "bread", "rum")
MENU = {"tea": 1.0, "milk": 1.2, "bread": 0.9, "rum": 1.4}


def fit(data: sp.Observations, **settings: Any) -> sp.SatiatedUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.SatiatedUtility(random_state=0, **{"n_draws": 40, "n_effective": 0, **settings}).fit(data)


@cache
def many() -> sp.Observations:
    return satiated_purchases(450)


@cache
def fitted() -> sp.SatiatedUtility:
    return fit(many(), n_draws=100)


@pytest.mark.parametrize("error", ["normal", "gumbel"])
@pytest.mark.parametrize("outside", [None, 1])
def test_the_law_keeps_the_contract(error: str, outside: int | None) -> None:
    law = sp.LognormalLaw(
        [0.3, -0.2, 0.1], [0.5, 0.6, 0.7], [1.0, 2.0, 3.0][: 3 - (outside is not None)], outside, error
    )
    check_law(law)
    drawn = law.sample(4000, rng=np.random.default_rng(0))
    inside = [i for i in range(3) if i != outside]
    np.testing.assert_allclose(drawn[:, 3:] / drawn[:, inside], np.broadcast_to(law.satiation, (4000, len(inside))))
    centre = 0.5772156649 if error == "gumbel" else 0.0
    spread = np.pi / np.sqrt(6) if error == "gumbel" else 1.0
    standard = (np.log(drawn[:, :3]) - law.location) / law.scale
    np.testing.assert_allclose(standard.mean(axis=0), centre, atol=5 * spread / np.sqrt(4000))
    np.testing.assert_allclose(standard.std(axis=0), spread, rtol=0.12)


def test_a_law_that_is_none_is_refused() -> None:
    for settings, words in (
        ({"location": [np.inf, 0.0]}, "location must be finite"),
        ({"scale": [1.0, 0.0]}, "scale must be positive numbers, one or 2"),
        ({"satiation": [1.0, 2.0, 3.0]}, "satiation must be positive numbers, one or 2"),
        ({"outside": 2}, "outside must be a place from 0 to 1"),
        ({"error": "cauchy"}, "error must be"),
    ):
        given = {"location": [0.0, 0.0], "scale": 1.0, "satiation": 1.0} | settings
        with pytest.raises((sp.InvalidArgument, ValueError), match=words):
            sp.LognormalLaw(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", ["normal", "gumbel"])
def test_crowds_are_spread_as_customers_are(error: str) -> None:
    crowds = make_errors(error, 3, 4096, 8, rng=np.random.default_rng(0))
    drawn = draw_errors(error, (200_000, 3), rng=np.random.default_rng(1))
    shares = (0.05, 0.5, 0.95)
    np.testing.assert_allclose(np.quantile(crowds, shares, axis=0), np.quantile(drawn, shares, axis=0), atol=0.02)


def test_what_customers_want_is_recovered() -> None:
    model = fitted()
    truth, drawn = np.linspace(-0.6, -1.8, 4), model.posterior_["posterior"]
    for name, true in (
        ("location", truth), ("log_scale", np.log([0.7, 0.7])), ("log_satiation", np.log(np.linspace(1.0, 2.0, 4))),
    ):  # fmt: skip
        values = drawn[name].values.reshape(-1, len(true))
        assert np.all(np.abs(values.mean(axis=0) - true) < 4.0 * values.std(axis=0)), name
        assert np.all(values.std(axis=0) < 0.25), name
    assert model.is_identified_
    np.testing.assert_allclose(model.satiation_, np.exp(drawn["log_satiation"].values.reshape(-1, 4).mean(axis=0)))


def test_the_most_likely_is_in_the_middle_of_the_posterior() -> None:
    model, found = fitted(), fitted().maximum_likelihood()
    assert found.status == "converged"
    drawn = model.posterior_["posterior"]
    both = np.concatenate([drawn[name].values.reshape(100 * 4, -1) for name in drawn.data_vars], axis=1)
    assert found.names[0] == "worth of tea"
    np.testing.assert_array_less(np.abs(both.mean(axis=0) - found.estimates), 0.5 * found.standard_errors)
    np.testing.assert_allclose(both.std(axis=0), found.standard_errors, rtol=0.35)
    assert found.clustered_standard_errors is None
    assert found.log_likelihood >= model.log_density(many()).sum() - 1.0
    assert found.bic - found.aic == pytest.approx(10 * (np.log(450) - 2))
    again = sp.Observations(
        many().prices, many().budgets, many().bundles, goods=GOODS, customers=np.arange(450) // 2,
        problem=many().problem,
    )  # fmt: skip
    clustered = fit(again).maximum_likelihood()
    ratio = clustered.clustered_standard_errors / clustered.standard_errors
    assert np.all((ratio > 0.7) & (ratio < 1.4))  # they are independent, whoever bought them
    assert "errors by customer allow for the tastes of 225" in clustered.message


def test_hamiltonian_moves_draw_from_the_same_posterior() -> None:
    data = satiated_purchases(60)
    frame = Frame.of(data, Settings("log", "lognormal", True), 1.0)
    target = frame.target()
    model = fit(data, n_draws=400)
    peak_at = model._posterior.free()
    near = Near(peak_at, np.linalg.cholesky(np.linalg.inv(target.information(peak_at))))
    sampler = AroundHamiltonian(near, target.slope, frame.parameters.drawn, 3, n_warmup=20)
    state, kept = sampler.init(2), []
    for iteration in range(320):
        state, info = sampler.step(state, iteration)
        if iteration >= 20:
            kept.append(sampler.parameters(state))
    assert info.statistics["acceptance_rate"].shape == (2,)
    for name in ("location", "log_satiation"):
        moved = np.array([one[name] for one in kept]).reshape(600, -1)
        drawn = model.posterior_["posterior"][name].values.reshape(1600, -1)
        spread = drawn.std(axis=0)
        np.testing.assert_array_less(np.abs(moved.mean(axis=0) - drawn.mean(axis=0)), 0.35 * spread)
        np.testing.assert_allclose(moved.std(axis=0), spread, rtol=0.3)


def test_goods_that_nobody_or_hardly_anybody_bought_are_told() -> None:
    data = many()[:250]
    bundles = data.bundles.copy()
    bundles[:, 3] = 0.0
    rare = np.flatnonzero(bundles[:, 2] > 0)[8:]
    bundles[rare, 2] = 0.0
    seen = sp.Observations(data.prices, data.budgets, bundles, goods=GOODS, problem=data.problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.NotConverged)  # so few draws have not
        with pytest.warns(sp.NotIdentified, match=r"nobody bought rum: how fast it satiates is the prior's"):
            model = sp.SatiatedUtility(random_state=0, n_draws=40, n_effective=0).fit(seen)
    said = str(model.summary())
    assert "hardly identified: how fast it satiates, of bread (bought 8 times)" in said
    assert model.verdicts().identified.status == "nearly"
    found = model.maximum_likelihood()
    errors = dict(zip(found.names, found.standard_errors, strict=True))
    assert np.isnan(errors["log satiation of rum"])
    assert np.isfinite(errors["log satiation of tea"])
    assert "nobody bought rum, of which the prior alone tells" in found.message


def test_elasticities_are_those_of_whether_and_of_how_much() -> None:
    found = fitted().elasticities(MENU, 8.0, n_customers=512, n_draws=10)
    np.testing.assert_allclose(found.whether + found.how_much, found.mean, atol=1e-12)
    assert np.all(np.diag(found.whether) < 0)
    assert np.all(np.diag(found.mean) < 0)
    row = found.records()[0]
    assert row["whether"] + row["how_much"] == pytest.approx(row["mean"])
    assert "whether customers buy, and how much buyers take" in str(found)


def test_demand_tells_who_buys_and_what_those_in_the_middle_take() -> None:
    model = fitted()
    found = model.demand([MENU, MENU], [6.0, 12.0], n_customers=1024, n_draws=8)
    market = model.market(1024, 8)
    menus = sp.Menus([list(MENU.values())], [6.0], goods=GOODS, problem=model.problem_)
    bought = np.concatenate([model.problem_.choose(market.utilities(s), menus) for s in range(8)])
    np.testing.assert_allclose(found.buyers[0], np.mean(bought > 0, axis=0), atol=1e-12)
    for i in range(4):
        assert found.median[0, i] == pytest.approx(np.median(bought[bought[:, i] > 0, i]))
    assert found.spent_median[0] == pytest.approx(np.median(bought @ menus.prices[0]))
    assert np.all(found.mean[1] > found.mean[0])  # who has more money buys more of all goods
    assert {"buyers", "median"} <= set(found.records()[0])
    assert "spent, median (mean)" in str(found)


def test_mdcev_and_power_are_other_settings_of_the_same_model() -> None:
    data = many()
    gumbel = fit(data, worth_law="gumbel", outside_scale="common")
    assert gumbel.outside_scale_ == pytest.approx(gumbel.scale_of_worth_)
    assert "MDCEV" in str(gumbel.summary())
    power = fit(data, profile="power")
    assert power.problem_.power == power.power_
    assert abs(power.power_) < 4 * power.power_error_ < 1.0  # the logarithm, of which the data are
    stated = fit(data.under(Satiated("rest", 0.2)), profile="power")
    assert stated.power_ == pytest.approx(0.2)
    assert stated.power_error_ is None
    best = fitted().log_density(data).sum()
    assert gumbel.log_density(data).sum() < best
    assert stated.log_density(data).sum() < power.log_density(data).sum() + 0.5
    for model in (gumbel, power):
        assert model.demand(MENU, 8.0, n_customers=256, n_draws=4).mean.shape == (1, 4)


@pytest.mark.parametrize("outside", [None, "milk"])
def test_other_outside_goods(outside: str | None, tmp_path) -> None:
    model = of_fading_goods(outside)
    assert np.isnan(model.satiation_).tolist() == [good == outside for good in GOODS]
    if outside is None:
        assert model.location_.sum() == pytest.approx(0.0, abs=1e-9)
        assert np.isnan(model.outside_scale_)
    else:
        assert model.location_[1] == 0.0
    bought = model.demand(MENU, 8.0, n_customers=256, n_draws=4)
    np.testing.assert_allclose(bought.revenue, 8.0, rtol=1e-9)
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    np.testing.assert_array_equal(again.log_density(model.observations_), model.log_density(model.observations_))
    assert "Goods that satiate" in str(again.summary())
    assert "How soon customers have enough" in page.render(again)


def test_densities_move_by_a_constant_in_other_units() -> None:
    data, model = many(), fitted()
    units = np.array([10.0, 1.0, 0.1, 2.0])
    other = sp.Observations(data.prices / units, data.budgets, data.bundles * units, goods=GOODS, problem=data.problem)
    moved = fit(other, n_draws=100).log_density(other) - model.log_density(data)
    expected = -1.0 * (data.bundles > 0) @ np.log(units)
    np.testing.assert_allclose(moved, expected, atol=0.2)  # other draws
    assert abs(np.mean(moved - expected)) < 0.01


def test_densities_are_not_compared_with_probabilities() -> None:
    other = sp.CommonUtility(random_state=0).fit(
        sp.simulate(sp.VonMisesFisher([0.6, 0.8], 5.0), sp.MenuLaw("uniform"), 30, rng=np.random.default_rng(0))
    )
    with pytest.raises(sp.InvalidArgument, match=r"fits must score the same thing.*'b' scores probabilities"):
        sp.compare_fits({"a": fitted(), "b": other})
    found = sp.compare_fits({"a": fitted(), "b": fit(many(), worth_law="gumbel")}, satiated_purchases(50, seed=9))
    assert "mean log-density of a bundle" in str(found)
    assert found.as_dict()["scores_are"] == "densities"


def test_fit_best_tries_satiated_fits_alone() -> None:
    found = sp.fit_best(satiated_purchases(120), random_state=0, held_out=0.3)
    tried = [row.name for row in found.ranking.scores]
    assert sorted(tried) == ["satiated, MDCEV", "satiated, lognormal", "satiated, lognormal, power"]
    assert found.best.name == "satiated"
    assert "mean log-density" in str(found)


def test_what_cannot_be_fitted_is_refused() -> None:
    data = many()
    for settings, words in (
        ({"profile": "root"}, "profile must be"),
        ({"worth_law": "normal"}, "worth_law must be"),
        ({"outside_scale": "none"}, "outside_scale must be"),
        ({"engine": "jax"}, "engine must be"),
    ):
        with pytest.raises((sp.InvalidArgument, ValueError), match=words):
            sp.SatiatedUtility(**settings).fit(data)
    with pytest.raises(sp.InvalidArgument, match="it handles 'satiated'"):
        sp.SatiatedUtility().fit(data.under(sp.problems.Divisible()))
    with pytest.raises(sp.InvalidArgument, match=r"profile='log' has the power 0, and the problem states 0\.5"):
        sp.SatiatedUtility().fit(data.under(Satiated("rest", 0.5)))
    with pytest.raises(sp.InvalidArgument, match="power must be below 1"):
        sp.SatiatedUtility("power").fit(data.under(Satiated("rest", 1.0)))
    alone = sp.Observations([[1.0]] * 3, [2.0] * 3, [[2.0]] * 3, problem=Satiated())
    with pytest.raises(sp.InvalidArgument, match="two goods or more"):
        sp.SatiatedUtility().fit(alone)
    with pytest.raises(sp.InvalidArgument, match="observations must be of the problem of the fit"):
        fitted().log_density(data.under(Satiated("rest", 0.5)))
    with pytest.raises(sp.InvalidArgument, match="best prices are worked out where money is a good of its own"):
        fitted().best_prices(costs=0.5)


def test_on_the_command_line(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sp.write_observations(satiated_purchases(60).under(sp.problems.Divisible()), "bought.csv")
    Path("plain.csv").write_text(
        "observation,good,price,quantity,budget\n"
        + "".join(f"{t},{good},1.5,{1 + (t + i) % 3},20\n" for t in range(12) for i, good in enumerate(GOODS))
    )

    def run(*words: str, code: int = 0) -> str:
        shown = CliRunner().invoke(cli.app, list(words))
        assert shown.exit_code == code, shown.output
        return shown.output

    about = ("--problem", "satiated", "--outside", "rest")
    assert "60 observations of 4 goods" in run("check", "bought.csv", *about)
    assert "12 observations of 4 goods" in run("check", "plain.csv", *about)  # quantities above 1, and no caps stated
    fit = ("fit", "bought.csv", *about, "--draws", "20", "--effective", "0", "--out", "fit")
    said = run(*fit, "--worth-law", "gumbel", "--outside-scale", "common", "--json")
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["law"] == "Gumbel log-worths (MDCEV)"
    again = sp.load_fit("fit")
    assert (again.worth_law, again.outside_scale, again.problem_) == ("gumbel", "common", Satiated("rest"))
    assert "--outside is of --problem satiated" in run("check", "bought.csv", "--outside", "rest", code=2)
    assert "cannot handle problem 'satiated'" in run(
        "fit", "bought.csv", *about, "--model", "common", "--out", "other", code=2
    )
