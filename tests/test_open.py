"""Shops without budgets: money is a good, and the likelihood is given that it is worth something."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.mass.conditional import log_chance
from stochpref.maximising import learn_setting, maximise_likelihood
from stochpref.problems import Divisible, Open
from stochpref.stores.memory import Memory

N, SCALE = 3, 2.0
MU = np.array([0.6, 0.35, -0.2, 0.5]) / np.linalg.norm([0.6, 0.35, -0.2, 0.5])
KAPPA = 6.0


def shop(size: int = 160, *, seed: int = 0, problem: Open | str = "open", nonempty: bool = False) -> sp.Observations:
    rng = np.random.default_rng(seed)
    menus = sp.Menus(rng.uniform(1.0, 3.0, (size, N)), goods=["tea", "rum", "jam"], problem=Open(SCALE))
    seen = sp.simulate(sp.VonMisesFisher(MU, KAPPA), menus, size, rng=rng)
    kept = seen.bundles.any(axis=1) if nonempty else np.ones(size, np.bool_)
    return sp.Observations(
        seen.prices[kept], None, seen.bundles[kept], goods=seen.goods, problem=problem, nonempty=nonempty
    )


@cache
def fitted() -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(n_draws=50, n_effective=50, random_state=0).fit(shop(problem=Open(SCALE)))


def test_the_scale_of_money_is_learned_with_the_law() -> None:
    data = shop(1200)
    found = sp.fit_maximum_likelihood(data)
    assert found.goods == ("tea", "rum", "jam", "money")
    assert found.problem.name == "open"
    assert 0.6 < found.problem.settings()["scale"] / SCALE < 1.7
    assert found.status == "converged"
    known = sp.fit_maximum_likelihood(data.under(Open(SCALE)))
    assert known.log_likelihood <= found.log_likelihood + 0.1
    assert abs(known.concentration - KAPPA) < 3 * known.concentration_standard_error
    assert np.all(np.abs(known.mean_direction - MU) < 4 * known.direction_standard_errors)
    assert found.aic - known.aic == pytest.approx(2 + 2 * (known.log_likelihood - found.log_likelihood))
    # Without what was conditioned on, customers look more alike than they are.
    alone = maximise_likelihood(Memory(sp.Regions.of(data.under(Open(SCALE)))))
    assert np.linalg.norm(alone.h) > 1.3 * known.concentration
    assert json.loads(json.dumps(found.as_dict()))["problem"]["name"] == "open"


def test_baskets_that_are_never_empty_say_the_same_of_tastes() -> None:
    seen = shop(2500, problem=Open(SCALE), nonempty=True)
    assert 0.5 < len(seen) / 2500 < 0.9
    law = sp.fit_maximum_likelihood(seen)
    assert abs(law.concentration - KAPPA) < 3 * law.concentration_standard_error
    assert np.all(np.abs(law.mean_direction - MU) < 4 * law.direction_standard_errors)
    told = sp.Observations(seen.prices, None, seen.bundles, goods=seen.goods, problem=Open(SCALE))
    wrong = sp.fit_maximum_likelihood(told)  # as if all visitors had bought something
    assert np.linalg.norm(wrong.h - law.h) > 1.0


def test_a_stated_scale_is_not_learned() -> None:
    data = shop(50, problem=Open(3.0))
    assert learn_setting(data) == Open(3.0)
    assert fitted().scale_ == SCALE
    assert fitted().coordinates_ == ("tea", "rum", "jam", "money")
    closed = sp.simulate(sp.VonMisesFisher([0.6, 0.8], 3.0), sp.MenuLaw("uniform"), 9, rng=np.random.default_rng(0))
    with pytest.raises(AttributeError, match="problem 'divisible' has no scale"):
        _ = sp.CommonUtility(random_state=0).fit(closed).scale_


def test_demand_is_the_chance_of_a_good_given_that_money_is_worth_something() -> None:
    model = fitted()
    prices = np.array([[1.5, 2.0, np.inf], [2.5, 1.0, 1.0]])
    menus = sp.Menus(prices, goods=model.goods_)
    demand = model.demand(menus, n_customers=8192)
    directions, kappas = model._flat_draws(400)
    exact = np.zeros(prices.shape)
    for t, i in np.argwhere(np.isfinite(prices)).tolist():
        alone = np.full(N, np.inf)
        alone[i] = prices[t, i]
        only = sp.Observations(alone[None], None, np.eye(N)[[i]], goods=model.goods_, problem=model.problem_)
        recorded = only.problem.recorded(only)
        for direction, kappa in zip(directions, kappas, strict=True):
            log = (
                log_chance(recorded.chance, kappa * direction).log_mass
                - log_chance(recorded.event, kappa * direction).log_mass
            )
            exact[t, i] += np.exp(log[0]) / len(kappas)
    np.testing.assert_allclose(demand.mean, exact, atol=0.004)
    assert demand.mean[0, 2] == 0
    spent = np.sum(np.where(np.isfinite(prices), prices, 0.0) * demand.mean, axis=1)
    np.testing.assert_allclose(demand.revenue, spent)
    assert "visitor" in str(demand)


def test_a_price_has_a_revenue_to_maximise_and_elasticities_of_the_right_signs() -> None:
    model = fitted()
    ladder = np.linspace(0.2, 8.0, 40)
    menus = np.full((len(ladder), N), 2.0)
    menus[:, 0] = ladder
    demand = model.demand(menus)
    sold = demand.mean[:, 0]
    assert np.all(np.diff(sold) <= 1e-12)
    best = int(np.argmax(ladder * sold))
    assert 0 < best < len(ladder) - 1
    np.testing.assert_allclose(demand.mean[:, 1], demand.mean[0, 1], atol=1e-12)  # nothing to share a budget with
    found = model.elasticities(np.full(N, 2.0))
    assert np.all(np.diag(found.mean) < 0)
    np.testing.assert_allclose(found.mean[~np.eye(N, dtype=bool)], 0.0, atol=1e-9)
    low, high = (model.elasticities(np.where(np.arange(N) == 0, a, 2.0)).mean[0, 0] for a in (0.5, 6.0))
    assert high < -1 < low


def test_menus_need_no_budgets_and_take_none() -> None:
    model, prices = fitted(), np.full((2, N), 2.0)
    menus = sp.Menus(prices, goods=model.goods_)
    assert np.all(np.isinf(menus.budgets))
    np.testing.assert_array_equal(model.predict(menus), model.predict(prices))
    np.testing.assert_array_equal(model.predict(dict.fromkeys(("jam", "rum", "tea"), 2.0)), model.predict(prices)[0])
    stated = sp.Menus(prices, [1.0, 2.0], goods=model.goods_, problem="open")
    assert np.all(np.isinf(stated.budgets))
    np.testing.assert_array_equal(model.predict(stated), model.predict(prices))
    for asked, message in (
        (lambda: model.predict(prices, 5.0), "budgets must be left out; received some, and problem 'open' knows none"),
        (lambda: model.demand(sp.Menus(prices, [1, 1], goods=model.goods_, problem=Divisible())), "problem of the fit"),
        (lambda: model.demand(sp.Menus(prices, goods=model.goods_, problem=Open(9.0))), "problem of the fit"),
        (lambda: model.score(shop(problem=Open(9.0))), "problem of the fit"),
    ):
        with pytest.raises(sp.InvalidArgument, match=message):
            asked()
    # The scale may be left open: it is that of the fit.
    assert model.score(shop()) == model.score(shop(problem=Open(SCALE)))
    closed = sp.CommonUtility(random_state=0).fit(
        sp.simulate(sp.VonMisesFisher([0.6, 0.8], 3.0), sp.MenuLaw("uniform"), 9, rng=np.random.default_rng(0))
    )
    with pytest.raises(sp.InvalidArgument, match=r"menus must have budgets.*received menus without"):
        closed.predict(sp.Menus([[1.0, 1.0]], goods=closed.goods_))


def test_a_saved_fit_is_asked_as_before(tmp_path: Path) -> None:
    model, data = fitted(), shop(40, seed=3)
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    assert loaded.problem_ == Open(SCALE)
    assert loaded.coordinates_ == model.coordinates_
    np.testing.assert_array_equal(loaded.log_likelihood(data), model.log_likelihood(data))
    np.testing.assert_array_equal(loaded.demand([[2.0] * N]).mean, model.demand([[2.0] * N]).mean)
    assert str(loaded.summary()) == str(model.summary())


def test_one_utility_explains_an_open_shop_as_any_other() -> None:
    rng = np.random.default_rng(5)
    menus = sp.Menus(rng.uniform(1, 3, (80, N)), problem=Open(SCALE))
    data = sp.simulate(sp.VonMisesFisher(MU, 1e6), menus, 80, rng=rng)
    data = sp.Observations(data.prices, None, data.bundles, problem="open")
    model = sp.CommonUtility(random_state=0).fit(data)
    assert model.n_consistent_ == 80
    assert model.is_optimal_
    assert model.coordinates_[-1] == "money"
    assert model.utility_[-1] > 0
    np.testing.assert_array_equal(model.predict(data.menus), data.bundles)
    assert np.all(model.log_likelihood(data) > np.log(0.5))
    assert model.explain(0).is_consistent


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Open(-1.0), "scale must be a positive sum of money"),
        (lambda: Open("much"), "scale must be one number"),
        (
            lambda: Open().choose(np.ones(3), sp.Menus([[1.0, 1.0]], problem="open")),
            "scale of problem 'open' must be",
        ),
        (lambda: Open(1.0).choose(np.ones(2), sp.Menus([[1.0, 1.0]], problem="open")), "3 coordinates.*money last"),
        (lambda: sp.Menus([[1.0]], goods=["money"], problem="open"), "goods must not be called 'money'"),
        (lambda: sp.Menus([[1.0]], caps=np.inf, problem="open"), "a cap must be finite, for there is no budget"),
        (lambda: sp.Observations([[1.0]], None, [[1.0]]), "a budget must be a finite number"),
        (lambda: sp.HeterogeneousUtility(sampler="metropolis").fit(shop(9, problem=Open(1.0))), "knows regions"),
        (lambda: sp.fit_maximum_likelihood(shop(9, problem=Open(1.0)), engine="jax"), "leave engine at 'cpu'"),
        (lambda: sp.read_observations(pd.DataFrame(), problem="open", budget="spent"), "budget must be left out"),
    ],
)
def test_what_an_open_budget_cannot_be_is_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sp.InvalidArgument, match=message):
        make()


def test_a_part_of_a_good_beside_money_is_degenerate() -> None:
    data = sp.Observations([[1.0, 2.0], [1.0, 2.0]], None, [[0.5, 1.0], [1.0, 0.0]], problem=Open(1.0))
    assert data.audit().degenerate_rows == (0,)
    with pytest.raises(sp.InvalidObservations, match="must not be degenerate"):
        sp.fit_maximum_likelihood(data)


def test_from_a_file_to_a_prediction_without_a_budget(tmp_path: Path) -> None:
    data = shop(60, seed=4)
    rows = {f"price_{g}": data.prices[:, i] for i, g in enumerate(data.goods)}
    rows |= {f"quantity_{g}": data.bundles[:, i] for i, g in enumerate(data.goods)}
    pd.DataFrame(rows).to_csv(tmp_path / "shop.csv", index=False)
    pd.DataFrame({f"price_{g}": [2.0, 3.0] for g in data.goods}).to_csv(tmp_path / "new.csv", index=False)
    read = sp.read_observations(tmp_path / "shop.csv", problem="open")
    np.testing.assert_array_equal(read.bundles, data.bundles)
    assert np.all(np.isinf(read.budgets))
    with pytest.raises(sp.UnreadableData, match="or without one, problem='open'"):
        sp.read_observations(tmp_path / "shop.csv")

    def run(*words: object) -> str:
        found = CliRunner().invoke(app, [str(word) for word in words])
        assert found.exit_code == 0, found.output
        return found.output

    assert "budgets             none" in run("check", tmp_path / "shop.csv", "--problem", "open")
    run("fit", tmp_path / "shop.csv", "--problem", "open", "--model", "common", "--seed", 0, "--out", tmp_path / "fit")
    assert "menu 2" in run("predict", tmp_path / "fit", tmp_path / "new.csv")


def test_what_data_look_like_is_proposed() -> None:
    data = shop(60, seed=4)
    kept = data[np.flatnonzero(data.bundles.any(axis=1) & ~data.bundles.all(axis=1))]
    spent = np.sum(kept.prices * kept.bundles, axis=1)
    closed = sp.Observations(kept.prices, spent, kept.bundles, goods=kept.goods)
    assert ["problem='whole'" in words for words in closed.audit().proposals] == [True, False]
    assert "problem='open'" in closed.audit().proposals[1]
    assert "problem='open'" in str(closed.audit())
    one = sp.Observations([[1.0, 2.0], [2.0, 1.0]], [2.0, 2.0], [[1.0, 0.0], [0.0, 1.0]])
    (words,) = one.audit().proposals
    assert "problem='one'" in words
    assert data.audit().proposals == ()


@pytest.mark.parametrize("nonempty", [False, True])
def test_drawing_the_unseen_gives_the_posterior_of_the_exact_likelihood(nonempty: bool) -> None:
    data = shop(60, problem=Open(SCALE), nonempty=nonempty)
    settings = {"concentration_bounds": (0.0, 12.0), "random_state": 0, "n_chains": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exact = sp.HeterogeneousUtility(sampler="importance", n_draws=400, n_effective=300, **settings).fit(data)
        gibbs = sp.HeterogeneousUtility(sampler="gibbs", n_draws=800, n_effective=0, **settings).fit(data)
    assert gibbs.sampler_ == "gibbs"
    for name in ("mean_direction", "concentration"):
        draws = [np.asarray(m.posterior_["posterior"][name]) for m in (exact, gibbs)]
        means = [np.atleast_1d(d.mean(axis=(0, 1))) for d in draws]
        errors = [np.atleast_1d(m.diagnostics_.of(name).mcse_mean) for m in (exact, gibbs)]
        assert np.all(np.abs(means[0] - means[1]) < 5 * np.hypot(*errors))
