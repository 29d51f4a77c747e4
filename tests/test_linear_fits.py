# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Fits of purchases under several limits: what they learn, predict, save and refuse, in Python and from the shell."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.laws import VonMisesFisher
from stochpref.mass.masses import exact_log_mass
from stochpref.mass.mixture import mixture_sums
from stochpref.problems import Linear
from stochpref.report.page import render

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few draws have not converged

GOODS = ("tea", "rum", "jam", "oil")
WEIGHTS = (0.2, 1.4, 0.8, 2.0)
LAW = VonMisesFisher(np.array([0.5, 0.1, 0.6, 0.3]) / np.linalg.norm([0.5, 0.1, 0.6, 0.3]), 8.0)


@cache
def purchases(count: int = 60) -> sp.Observations:
    rng = np.random.default_rng(4)
    problem = Linear([np.ones(4), WEIGHTS], [2.5, 4.0], ["items", "weight"])
    menus = sp.Menus(rng.uniform(1, 2, (count, 4)), rng.uniform(1.5, 5, count), goods=GOODS, problem=problem)
    return sp.simulate(LAW, menus, count, rng=rng)


@cache
def fitted() -> sp.HeterogeneousUtility:
    return sp.HeterogeneousUtility(sampler="gibbs", n_draws=60, n_effective=0, random_state=0).fit(purchases())


def test_maximum_likelihood_finds_the_law() -> None:
    found = sp.fit_maximum_likelihood(purchases(), tolerance=1e-6)
    assert found.status == "converged"
    assert np.all(np.abs(found.mean_direction - LAW.mean_direction) < 4 * found.direction_standard_errors)
    assert abs(found.concentration - 8.0) < 4 * found.concentration_standard_error
    assert found.problem == purchases().problem


def test_demand_follows_the_limits_of_the_menu() -> None:
    model = fitted()
    prices, budgets = np.full((1, 4), 1.5), [5.0]
    usual = model.demand(sp.Menus(prices, budgets, goods=GOODS), n_customers=200)
    tight = Linear([np.ones(4), WEIGHTS], [1.0, 4.0], ["items", "weight"])
    fewer = model.demand(sp.Menus(prices, budgets, goods=GOODS, problem=tight), n_customers=200)
    assert usual.total[0] > 1.2 > 1.0 + 1e-9 >= fewer.total[0]
    # Goods are matched by name, and so are what they weigh.
    order = [2, 0, 3, 1]
    turned = sp.Menus(prices[:, order], budgets, goods=[GOODS[i] for i in order])
    np.testing.assert_allclose(model.demand(turned, n_customers=200).mean[0], usual.mean[0, order], atol=1e-12)
    own = model.predict(sp.Menus(prices, budgets, goods=GOODS))
    np.testing.assert_allclose(model.predict(turned)[0], own[0, order])
    some = model.demand(sp.Menus(prices[:, :2], budgets, goods=GOODS[:2]), n_customers=20)
    assert some.mean.shape == (1, 2)
    elasticities = model.elasticities(sp.Menus(prices, [3.0], goods=GOODS), n_customers=100)
    assert np.all(np.diag(elasticities.mean) < 0.05)
    with pytest.raises(sp.InvalidArgument, match="menus must be of the problem of the fit"):
        model.demand(sp.Menus(prices, budgets, goods=GOODS, problem=Linear(np.ones(4), 3.0)))


def test_limits_by_observation_are_those_of_the_menus_asked() -> None:
    seen = purchases(30)
    limits = np.column_stack([np.linspace(1.5, 3.0, 30), np.full(30, 4.0)])
    problem = Linear([np.ones(4), WEIGHTS], limits, ["items", "weight"])
    data = sp.simulate(LAW, seen.menus.under(problem), 30, rng=np.random.default_rng(0))
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=10, n_effective=0, random_state=0).fit(data)
    with pytest.raises(sp.InvalidArgument, match="menus must state their limits"):
        model.demand(sp.Menus(data.prices[:1], [3.0], goods=GOODS))
    assert np.isfinite(model.log_likelihood(data[:5])).all()
    stated = Linear([np.ones(4), WEIGHTS], [1.0, 4.0], ["items", "weight"])
    assert (
        model.demand(sp.Menus(data.prices[:1], [3.0], goods=GOODS, problem=stated), n_customers=20).total[0]
        <= 1.0 + 1e-9
    )


def test_a_fit_is_saved_reported_and_explained(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert again.problem_ == model.problem_
    menu = sp.Menus(np.full((1, 4), 1.5), [3.0], goods=GOODS)
    np.testing.assert_array_equal(again.demand(menu, n_customers=50).mean, model.demand(menu, n_customers=50).mean)
    np.testing.assert_allclose(again.log_likelihood(purchases()[:4]), model.log_likelihood(purchases()[:4]))
    page = render(model)
    assert "At most of items" in page
    assert '"most":2.5' in page.replace(" ", "")
    assert np.isfinite(model.utilities(purchases()[:6]).mean).all()


@pytest.mark.slow  # some hundred passes over corners under two laws
def test_segments_of_customers_under_several_limits() -> None:
    segments = sp.SegmentedUtility(n_segments=2, n_draws=20, n_effective=0, random_state=0).fit(purchases(40))
    assert segments.weights_.shape == (2,)


def test_a_mixture_of_laws_is_the_sum_of_their_masses() -> None:
    regions = sp.Regions.of(purchases(12))
    laws, weights = np.array([LAW.concentration * LAW.mean_direction, [1.0, 2.0, -1.0, 0.5]]), np.array([0.3, 0.7])
    found = mixture_sums(regions, np.log(weights), laws, None, 1, 1e-9)
    each = [exact_log_mass(regions, h, gradient=True) for h in laws]
    total = np.logaddexp(*(np.log(w) + one.log_mass for w, one in zip(weights, each, strict=True)))
    np.testing.assert_allclose(found.value, total.sum(), rtol=1e-8)
    for k, (weight, one) in enumerate(zip(weights, each, strict=True)):
        share = weight * np.exp(one.log_mass - total)
        np.testing.assert_allclose(found.gradient[k], share @ one.gradient, atol=1e-7)


def test_a_common_utility_and_what_it_excludes() -> None:
    common = sp.CommonUtility(random_state=0).fit(purchases(40))
    assert 10 <= common.n_consistent_ <= common.upper_bound_ < 40
    inside = purchases(40).problem.holds(purchases(40), common.utility_)
    assert inside.sum() == common.n_consistent_
    t = int(np.flatnonzero(common.excluded_by_ >= 0)[0])
    assert common.explain(t).excluded_by == (int(common.excluded_by_[t]),)
    with pytest.raises(sp.InvalidArgument, match="margin must be 0 where several limits bind"):
        sp.CommonUtility(margin=0.1).fit(purchases(40))


def test_one_utility_for_all_is_found_and_proven() -> None:
    seen = purchases(40)
    bundles = seen.problem.choose(LAW.mean_direction, seen)
    data = sp.Observations(seen.prices, seen.budgets, bundles, goods=GOODS, problem=seen.problem)
    common = sp.CommonUtility(random_state=0).fit(data)
    assert common.n_consistent_ == common.upper_bound_ == 40


def test_what_knows_one_budget_only_refuses() -> None:
    for ask, message in (
        (lambda: sp.NormalUtility(random_state=0).fit(purchases()), "NormalUtility cannot handle problem 'linear'"),
        (lambda: sp.SatiatedUtility(random_state=0).fit(purchases()), "cannot handle problem 'linear'"),
        (
            lambda: sp.HeterogeneousUtility(engine="jax", random_state=0).fit(purchases()),
            "engine='jax' sums masses of one limit",
        ),
        (
            lambda: sp.HeterogeneousUtility(sampler="metropolis", n_draws=2, random_state=0).fit(purchases()),
            "the paper's cloud is counted for one budget",
        ),
    ):
        with pytest.raises(sp.InvalidArgument, match=message):
            ask()


def test_the_command_line_reads_limits_and_a_table_of_goods(tmp_path: Path) -> None:
    seen = purchases()
    lines = ["observation,good,price,quantity,budget"]
    for t in range(len(seen)):
        lines += [
            f"{t},{good},{seen.prices[t, i]!r},{seen.bundles[t, i]!r},{seen.budgets[t]!r}"
            for i, good in enumerate(GOODS)
        ]
    text = "\n".join(lines).replace("np.float64(", "").replace(")", "")
    (tmp_path / "trips.csv").write_text(text, encoding="utf-8")
    rows = "\n".join(f"{good},{weight}" for good, weight in zip(reversed(GOODS), reversed(WEIGHTS), strict=True))
    (tmp_path / "goods.csv").write_text(f"good,weight\n{rows}\n", encoding="utf-8")
    data = sp.read_observations(
        tmp_path / "trips.csv", limits=["items<=2.5", "weight<=4"], goods_table=tmp_path / "goods.csv"
    )
    assert data.problem == seen.problem
    np.testing.assert_array_equal(data.bundles, seen.bundles)
    limits = ["--limit", "items<=2.5", "--limit", "weight<=4", "--goods-table", str(tmp_path / "goods.csv")]
    shown = CliRunner().invoke(cli.app, ["check", str(tmp_path / "trips.csv"), *limits, "--json"])
    assert shown.exit_code == 0, shown.output
    assert "60" in shown.stdout
    for wrong, message in (
        (["--limit", "items<=1"], "a bundle must keep within the limits of problem 'linear'"),
        (["--limit", "items=3"], "limits must read NAME<=NUMBER"),
        (["--limit", "size<=3"], "limits must be of 'items' or of a column of the table of goods"),
        (["--limit", "items<=3", "--problem", "whole"], "limits make the problem 'linear'"),
        (["--problem", "linear"], "problem 'linear' must come with its limits"),
    ):
        shown = CliRunner().invoke(cli.app, ["check", str(tmp_path / "trips.csv"), *wrong])
        assert shown.exit_code == 2, shown.output
        assert message in " ".join(shown.output.replace("\n", " ").split())
