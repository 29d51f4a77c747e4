# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods split into units: a first, a second, …, each with a worth of its own, and joined again in all that is said."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.loading import load
from stochpref.names import MODELS
from stochpref.problems import Divisible, pack_problem, unpack_problem
from stochpref.report import page
from tests.contracts import assert_same

GOODS = ("tea", "rum", "jam")
UNITS = {"tea": 3, "jam": 2}
COORDINATES = ("tea, unit 1", "tea, unit 2", "tea, unit 3", "rum", "jam, unit 1", "jam, unit 2")


def market(size: int = 300, *, seed: int = 0, is_ordered: bool = True) -> tuple[sp.Observations, np.ndarray]:
    """Return purchases, and utilities over units, of which a later one is worth less if they are ordered."""
    rng = np.random.default_rng(seed)
    utilities = rng.normal([1.2, 0.4, -0.2, 0.3, 0.8, 0.1], 1.0, (size, 6))
    if is_ordered:
        utilities[:, :3] = -np.sort(-utilities[:, :3], axis=1)
        utilities[:, 4:] = -np.sort(-utilities[:, 4:], axis=1)
    prices = rng.uniform(1.0, 2.0, (size, 3))
    prices[rng.random(prices.shape) < 0.1] = np.inf
    menus = sp.Menus(prices, rng.uniform(0.5, 6.0, size), goods=GOODS, problem=Divisible(UNITS))
    return sp.Observations(
        prices, menus.budgets, menus.problem.choose(utilities, menus), goods=GOODS, problem=menus.problem
    ), utilities


def test_a_bundle_holds_the_first_units_and_only_they_explain_it():
    data, utilities = market()
    assert data.bundles.max() == pytest.approx(3.0)
    assert data.problem.coordinates(GOODS) == COORDINATES
    regions = sp.Regions.of(data)
    assert regions.n_goods == 6
    assert set(regions.kind) == {"slack", "pivot"}
    assert np.diag(regions.contains(utilities)).all()
    inside = regions.interior_points(rng=np.random.default_rng(1))
    np.testing.assert_allclose(data.problem.choose(inside, data), data.bundles, atol=1e-9)


def test_one_unit_is_no_split():
    assert Divisible() == Divisible(1) == Divisible({"tea": 1}) != Divisible(2)
    assert Divisible(UNITS | {"rum": 1}) == Divisible(UNITS) != Divisible({"tea": 3})
    assert Divisible(2).coordinates(("a",)) == ("a, unit 1", "a, unit 2")
    data, _ = market(20)
    same = sp.Observations(data.prices, data.budgets, np.minimum(data.bundles, 1), goods=GOODS, problem=Divisible(1))
    assert repr(same) == "<Observations: 20 observations of 3 goods>"
    for problem in (Divisible(1), Divisible(3), Divisible(UNITS)):
        header, arrays = pack_problem(problem)
        assert unpack_problem(json.loads(json.dumps(header)), arrays) == problem


def test_quantities_lie_within_all_units_together():
    data, _ = market(20)
    arguments = {"prices": data.prices, "budgets": np.full(20, 99.0), "goods": GOODS}
    bundles = np.where(np.isfinite(data.prices), [3.0, 1.0, 2.0], 0.0)
    sp.Observations(**arguments, bundles=bundles, problem=Divisible(UNITS))
    for units, message in (
        (3, None),
        ({"tea": 2, "jam": 2}, "must not exceed its cap"),
        (1, r"units=2, say \(--units 2\)"),
    ):
        make_fn = lambda units=units: sp.Observations(**arguments, bundles=bundles, problem=Divisible(units))  # noqa: E731
        if message is None:
            np.testing.assert_array_equal(make_fn().bundles, bundles)
        else:
            with pytest.raises(sp.InvalidObservations, match=message):
                make_fn()
    with pytest.raises(sp.InvalidObservations, match="cap of a unit must be finite"):
        sp.Observations(**arguments, bundles=bundles, caps=np.inf, problem=Divisible(UNITS))


@pytest.mark.parametrize("units", [0, 1.5, True, "three", {"tea": 0}, {"tea": "many"}, None])
def test_bad_units_are_refused(units):
    with pytest.raises(sp.InvalidArgument, match="units must be a whole number, 1 or more"):
        Divisible(units)


def test_units_of_no_good_are_refused():
    with pytest.raises(sp.InvalidArgument, match="received 'teas'; the nearest is 'tea'; the goods are tea, rum"):
        sp.Menus([[1.0, 2.0]], [1.0], goods=["tea", "rum"], problem=Divisible({"teas": 2}))
    with pytest.raises(sp.InvalidArgument, match="received 'tea, unit 2'; rename the good"):
        Divisible({"tea": 2}).coordinates(("tea", "tea, unit 2"))


def test_rows_and_goods_are_picked_with_their_units():
    data, utilities = market(30)
    part = data[[4, 2, 9]]
    np.testing.assert_array_equal(part.problem.choose(utilities[[4, 2, 9]], part), part.bundles)
    assert_same(data[:9].concat(data[9:]), data)
    wide = data.over(["new", "jam", "tea", "rum"])
    spread = np.concatenate([np.ones((30, 1)), utilities[:, [4, 5, 0, 1, 2, 3]]], axis=1)
    np.testing.assert_allclose(wide.problem.choose(spread, wide)[:, 1:], data.bundles[:, [2, 0, 1]], atol=1e-12)


def test_later_units_without_earlier_ones_are_found():
    data, ordered = market()
    problem = data.problem
    assert not problem.skips_units(ordered, data).any()
    swapped = ordered[:, [2, 1, 0, 3, 4, 5]]
    found = problem.skips_units(swapped, data)
    assert found.any()
    on_offer = np.isfinite(data.prices[:, 0])
    assert not found[~on_offer].any()
    assert problem.skips_units(np.stack([ordered, swapped]), data).shape == (2, 300)
    assert Divisible().skips_units(ordered[:, :3], sp.Menus(data.prices, data.budgets)) is None


FITTED: dict[str, dict[str, Any]] = {  # models of divisible goods, in few draws
    "heterogeneous": {"sampler": "gibbs", "n_draws": 60, "n_effective": 0},
    "segmented": {"n_segments": 2, "n_draws": 40, "n_effective": 0},
    "normal": {"covariance": "diagonal", "n_draws": 40, "n_effective": 0},
    "common": {},
}


@cache
def fitted(name: str) -> Any:
    return load(MODELS[name])(random_state=0, **FITTED[name]).fit(law_market())


def law_market(size: int = 250) -> sp.Observations:
    """Purchases of customers around an average one, to whom a later unit is worth less."""
    centre = np.array([0.8, 0.3, -0.3, 0.2, 0.5, -0.2])
    law = sp.VonMisesFisher(centre / np.linalg.norm(centre), 60.0)
    rng = np.random.default_rng(5)
    menus = sp.Menus(rng.uniform(1, 2, (size, 3)), rng.uniform(1, 6, size), goods=GOODS, problem=Divisible(UNITS))
    return sp.simulate(law, menus, size, rng=rng)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITTED)
def test_fits_answer_by_the_names_of_goods(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    data = model.observations_
    assert model.goods_ == GOODS
    assert model.coordinates_ == COORDINATES
    assert model.predict(data.menus[:4]).shape == (4, 3)
    demand = model.demand({"tea": 1.5, "rum": 1.2, "jam": 1.0}, 6.0)
    assert demand.goods == GOODS
    assert 1.0 < demand.mean[0, 0] <= 3.0
    assert demand.revenue[0] == pytest.approx(demand.mean[0] @ [1.5, 1.2, 1.0])
    assert model.elasticities(data.menus[0]).goods == GOODS
    summarised = str(model.summary())
    assert all(name in summarised for name in COORDINATES)
    assert "later unit of a good without an earlier one" in str(model.summary())
    assert model.check().skipped == model.check().as_dict()["skipped"] < 0.2
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert again.coordinates_ == COORDINATES
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.demand(data.menus[:2]).mean, model.demand(data.menus[:2]).mean)
    text = page.render(model)
    assert page.render(again) == text
    for good in GOODS:
        assert f"<bdi>{good}</bdi>" in text
    assert "<bdi>tea, unit 3</bdi>" in text
    if name == "common":
        odd = int(np.flatnonzero(~model.consistent_)[0])
        assert str(model.explain(odd))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_truth_behind_units_is_found() -> None:
    data = law_market(1500)
    fit = sp.fit_maximum_likelihood(data)
    centre = np.array([0.8, 0.3, -0.3, 0.2, 0.5, -0.2])
    assert fit.goods == COORDINATES
    assert fit.mean_direction @ centre / np.linalg.norm(centre) > 0.99
    off = np.abs(fit.mean_direction - centre / np.linalg.norm(centre)) / fit.direction_standard_errors
    assert np.sum(off < 3.0) >= 5


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_split_that_skips_units_is_advised_against() -> None:
    """Customers to whom a second unit is often worth more than the first."""
    law = sp.VonMisesFisher(np.array([0.2, 0.6, 0.3, 0.7]) / np.linalg.norm([0.2, 0.6, 0.3, 0.7]), 8.0)
    rng = np.random.default_rng(0)
    menus = sp.Menus(rng.uniform(1, 2, (300, 2)), rng.uniform(1, 4, 300), goods=["tea", "rum"], problem=Divisible(2))
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=60, n_effective=0, random_state=0)
    model.fit(sp.simulate(law, menus, 300, rng=rng))
    assert model.check().skipped > 0.05
    assert "the split into units is advised against" in str(model.summary())


def test_files_are_read_with_units(tmp_path: Path) -> None:
    data, _ = market(60)
    whole = sp.Observations(data.prices, data.budgets, np.floor(data.bundles + 1e-9), goods=GOODS, problem=data.problem)
    path = tmp_path / "bought.csv"
    rows = ["observation,good,price,quantity,budget"]
    for t, i in np.argwhere(np.isfinite(whole.prices)).tolist():
        rows.append(f"{t},{GOODS[i]},{whole.prices[t, i]},{whole.bundles[t, i]},{whole.budgets[t]}")
    path.write_text("\n".join(rows))
    read = sp.read_observations(path, units=UNITS)
    assert read.problem == Divisible(UNITS)
    np.testing.assert_array_equal(read.over(GOODS).bundles.sum(axis=0), whole.bundles.sum(axis=0))
    with pytest.raises(sp.InvalidObservations, match=r"units=2, say \(--units 2\)"):
        sp.read_observations(path)
    with pytest.raises(sp.InvalidArgument, match=r"units are of problem 'divisible'; received problem='open'"):
        sp.read_observations(path, units=2, problem="open")
    run = CliRunner().invoke
    told = run(app, ["check", str(path), "--cap", "3"])
    assert "units=3 (--units 3)" in told.stdout
    assert "units=" not in run(app, ["check", str(path), "--units", "tea=3", "--units", "jam=2"]).stdout
    for words in (["--units", "many"], ["--units", "tea=3", "--units", "2"], ["--units", "tea="]):
        refused = run(app, ["check", str(path), *words])
        assert refused.exit_code == 2
        assert "GOOD=NUMBER" in refused.stderr
    assert "the nearest is 'tea'" in run(app, ["check", str(path), "--units", "teas=3"]).stderr
