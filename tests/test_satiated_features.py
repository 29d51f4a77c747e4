# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Features of goods that satiate: what moves worths and satiations is recovered, and only differences count."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.laws.lognormal import fading_worths
from stochpref.problems import Satiated
from stochpref.satiation.fitting import Frame, Settings

GOODS = ("tea", "rum", "jam")
PROMO, AGE, FADE = 0.7, np.array([0.4, -0.3, 0.0]), 0.5  # of worth, of worth by good, of satiation
LOCATION, SATIATION = np.array([-0.5, -1.0, -1.4]), np.array([0.6, 1.0, 1.4])


@cache
def purchases(outside: str | None = "rest", size: int = 700, scale: float = 1.0) -> sp.Observations:
    rng, problem = np.random.default_rng(5), Satiated(outside)
    place = problem.outside_place(GOODS)
    promo, age = (rng.random((size, 3)) < 0.4).astype(float), rng.normal(40.0, 10.0, size)
    menus = sp.Menus(
        rng.uniform(0.5, 2, (size, 3)), rng.uniform(4, 12, size), goods=GOODS, problem=problem,
        features={"promo": scale * promo, "age": age},
    )  # fmt: skip
    location = LOCATION + PROMO * promo + AGE * (age[:, None] - 40.0) / 10.0
    location = np.column_stack([location, np.zeros(size)]) if outside == "rest" else location
    inside = [i for i in range(location.shape[1]) if i != place]
    fades = np.log(SATIATION)[[i for i in inside if i < 3]] + FADE * promo[:, [i for i in inside if i < 3]]
    u = fading_worths(location, np.full(location.shape[1], 0.6), fades, place, rng.standard_normal(location.shape))
    bundles = problem.choose(u, menus)
    return sp.Observations(menus.prices, menus.budgets, bundles, goods=GOODS, problem=problem, features=menus.features)


def fit(data: sp.Observations, **settings: Any) -> sp.SatiatedUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.SatiatedUtility(random_state=0, **{"n_draws": 60, "n_effective": 0, **settings}).fit(data)


@cache
def fitted() -> sp.SatiatedUtility:
    return fit(purchases(), features=("promo", "age"), satiation_features=("promo",))


def test_what_moves_worths_and_satiations_is_recovered() -> None:
    model = fitted()
    truth = {"promo": PROMO, **{f"age:{good}": AGE[i] / 10 for i, good in enumerate(GOODS)}}
    truth["log satiation: promo"] = FADE
    assert list(model.coefficients_) == list(truth)
    for one in model.summary().coefficients:
        width = one.upper - one.lower
        assert abs(one.mean - truth[one.name]) < width, one.name
        assert abs(model.coefficients_[one.name] - one.mean) < 1e-12
        assert width < 0.7 * max(abs(truth[one.name]), 0.05), one.name
    better = model.log_density(purchases()) - fit(purchases()).log_density(purchases())
    assert better.sum() > 50
    assert "age:rum" in str(model.summary())
    found = model.maximum_likelihood()
    assert found.status == "converged"
    assert "log satiation: promo" in found.names


def test_slopes_in_coefficients_are_those_of_differences() -> None:
    settings = Settings("log", "lognormal", True, ("promo", "age"), ("promo", "price"))
    target = Frame.of(purchases(size=60), settings, 1.0).target()
    theta = target.parameters.start(target.bought) + 0.1
    _, slope = target.slope(theta)
    for j in range(len(theta)):
        step = np.where(np.arange(len(theta)) == j, 1e-5, 0.0)
        high, low = target.log_density(theta + step), target.log_density(theta - step)
        assert slope[j] == pytest.approx((high - low) / 2e-5, abs=2e-5)


def test_units_of_features_do_not_matter() -> None:
    other = fit(purchases(scale=100.0), features=("promo", "age"), satiation_features=("promo",))
    assert other.coefficients_["promo"] == pytest.approx(fitted().coefficients_["promo"] / 100, rel=1e-6)
    np.testing.assert_allclose(other.log_density(purchases(scale=100.0)), fitted().log_density(purchases()), atol=1e-6)


@pytest.mark.parametrize(("outside", "left"), [(None, "jam"), ("rum", "rum")])
def test_only_differences_between_goods_are_told(outside: str | None, left: str) -> None:
    model = fit(purchases(outside), features=("promo", "age"), satiation_features=("promo",), n_draws=20)
    assert [name for name in model.coefficients_ if name.startswith("age")] == [
        f"age:{good}" for good in GOODS if good != left
    ]
    found = model.maximum_likelihood()
    assert found.status == "converged"
    base = AGE[GOODS.index(left)]
    for good, true in zip(GOODS, AGE - base, strict=True):
        if good != left:
            assert model.coefficients_[f"age:{good}"] == pytest.approx(true / 10, abs=0.03)
    assert model.coefficients_["promo"] == pytest.approx(PROMO, abs=0.25)


def test_demand_follows_the_features_of_menus(tmp_path: Path) -> None:
    model = fitted()

    def menus(promo: list[float], age: float) -> sp.Menus:
        return sp.Menus(
            [[1.0, 1.0, 1.0]] * 2, [8.0, 8.0], goods=GOODS, features={"promo": [promo, [0, 0, 0]], "age": [age, 40.0]}
        )  # fmt: skip

    found = model.demand(menus([1, 0, 0], 40.0), n_customers=512, n_draws=8)
    assert found.mean[0, 0] > 1.3 * found.mean[1, 0]
    assert np.all(found.mean[0, 1:] < found.mean[1, 1:])
    assert found.buyers[0, 0] > found.buyers[1, 0]
    old = model.demand(menus([0, 0, 0], 55.0), n_customers=512, n_draws=8)
    assert old.mean[0, 0] > old.mean[1, 0]
    assert old.mean[0, 1] < old.mean[1, 1]
    assert model.predict(menus([1, 0, 0], 40.0))[0, 0] > model.predict(menus([1, 0, 0], 40.0))[1, 0]
    with pytest.raises(sp.InvalidArgument, match="menus must have the feature 'promo'"):
        model.demand([[1.0, 1.0, 1.0]], [8.0])
    assert model.verdicts().fits.status == "good"
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert again.coefficients_ == model.coefficients_
    np.testing.assert_array_equal(again.log_density(purchases()), model.log_density(purchases()))


def test_features_that_are_none_are_refused() -> None:
    for settings, words in (
        ({"features": "promo"}, "features must be a list of names"),
        ({"satiation_features": ("prom",)}, "features must be among those of the observations"),
    ):
        with pytest.raises(sp.InvalidArgument, match=words):
            sp.SatiatedUtility(**settings).fit(purchases())


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sp.write_observations(purchases(size=120).under(sp.problems.Divisible()), "bought.csv")
    words = (
        "fit bought.csv --problem satiated --outside rest --model satiated --feature promo --feature age:good "
        "--satiation-features promo --draws 20 --effective 0 --out fit"
    )
    shown = CliRunner().invoke(cli.app, words.split())
    assert shown.exit_code == 0, shown.output
    model = sp.load_fit("fit")
    assert (model.features, model.satiation_features) == (("promo", "age:good"), ("promo",))
    assert list(model.coefficients_) == ["promo", "age:tea", "age:rum", "age:jam", "log satiation: promo"]
    written = sp.write_report(model, "report.html").read_text()
    assert 'id="panel"' in written  # prices are no feature, so that the what-if stands
    assert "promo" in str(model.summary())
