"""The heterogeneous model on whole goods: what it learns, predicts, saves and refuses."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.posterior.chains import Plan, run_chains
from stochpref.posterior.choosing import choose_sampler
from stochpref.posterior.prior import Prior
from stochpref.posterior.target import Target
from stochpref.predictive_check import check_purchases
from stochpref.problems import Whole
from stochpref.stores.opening import open_store

DIRECTION = np.array([0.7, 0.5, 0.4, -0.3, 0.1]) / np.linalg.norm([0.7, 0.5, 0.4, -0.3, 0.1])


def votes(size: int = 200, *, nonempty: bool = False, cap: int = 1, goods: list[str] | None = None) -> sp.Observations:
    rng = np.random.default_rng(0)
    menus = sp.Menus(
        rng.uniform(1, 2, (size, 5)), rng.uniform(1, 5 * cap, size), goods=list("abcde"), caps=cap, problem=Whole(goods)
    )
    seen = sp.simulate(sp.VonMisesFisher(DIRECTION, 4.0), menus, size, rng=rng)
    kept = seen[np.flatnonzero(seen.bundles.any(axis=1))] if nonempty else seen
    return sp.Observations(
        kept.prices, kept.budgets, kept.bundles, goods=kept.goods, caps=cap, problem=kept.problem, nonempty=nonempty
    )


def fitted(seen: sp.Observations, **settings: object) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        settings = {"n_chains": 2, "n_draws": 150, "n_effective": 0, "random_state": 1} | settings
        return sp.HeterogeneousUtility(**settings).fit(seen)  # type: ignore[arg-type]


@cache
def a_fit() -> sp.HeterogeneousUtility:
    return fitted(votes(nonempty=True), n_draws=300)


def test_the_law_is_found() -> None:
    model = a_fit()
    assert model.mean_direction_ @ DIRECTION > 0.95
    assert 2.5 < model.concentration_ < 6.0
    assert model.sampler_ == "gibbs"
    assert "whole goods" in model.reason_


def test_demand_is_whole_goods_on_average() -> None:
    model = a_fit()
    menu = sp.Menus([[1.0, 1.5, 1.2, 1.1, 1.3]], [2.6], goods=list("abcde"))
    demand = model.demand(menu, n_customers=512, n_draws=40)
    market = model.market(512, 40)
    bundles = [Whole().choose(market.utilities(s), sp.Menus(menu.prices, menu.budgets)) for s in range(market.n_draws)]
    np.testing.assert_allclose(demand.mean[0], np.mean(bundles, axis=(0, 1)))
    assert np.all(demand.revenue_upper <= 2.6)
    assert model.predict(menu).tolist() == [[1, 1, 0, 0, 0]]
    # Demand falls in steps, as bundles go out of reach: a twentieth more on the first good and two others are too dear.
    near = sp.Menus(menu.prices, [2.52], goods=menu.goods)
    assert model.elasticities(near, n_customers=2048, n_draws=40).mean[0, 0] < 0
    assert model.elasticities(menu[[0]], n_customers=2048, n_draws=40).mean[0, 0] == 0
    np.testing.assert_array_equal(
        model.demand([[1.0, 1.5, 1.2, 1.1, 1.3]], 2.6, n_customers=512, n_draws=40).mean, demand.mean
    )


def test_scores_come_with_their_error() -> None:
    model, seen = a_fit(), votes(nonempty=True)[:30]
    estimate = model.log_likelihood_estimate(seen)
    np.testing.assert_array_equal(model.log_likelihood(seen), estimate.log_probability)
    assert model.score(seen) == estimate.log_probability.mean()
    assert 0 < estimate.mean_error < 0.02
    assert np.all(estimate.log_probability <= 0)
    assert model.leave_one_out() is None
    with pytest.raises(sp.InvalidArgument, match="leave-one-out needs exact probabilities"):
        model.loo()
    exact = fitted(
        sp.simulate(sp.VonMisesFisher(DIRECTION, 4.0), sp.MenuLaw("uniform"), 30, rng=np.random.default_rng(0))
    )
    assert exact.log_likelihood_estimate(exact.observations_).mean_error == 0


def test_it_buys_as_customers_did_and_knows_each() -> None:
    model = a_fit()
    check = check_purchases(model.market(), model.observations_, rng=np.random.default_rng(0))
    assert check.n_inside >= 4
    assert check.size[0] == check.size_upper[0] == 0  # nobody is seen who buys nothing
    found = model.utilities(model.observations_[:30])
    np.testing.assert_array_less(found.mean.std(axis=0) * 0, found.sd.mean(axis=0))
    bought = model.observations_[:30].bundles > 0
    assert found.mean[bought].mean() > found.mean[~bought].mean() + 0.2
    assert model.consistency(model.observations_) == pytest.approx(
        np.mean(np.all(model.predict(model.observations_.menus) == model.observations_.bundles, axis=1))
    )


def test_a_saved_fit_comes_back(tmp_path: Path) -> None:
    model = fitted(votes(80, goods=["a", "b"], cap=2))
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    assert loaded.problem_ == Whole(["a", "b"])
    menu = sp.Menus([[1.0, 1.5, 1.2, 1.1, 1.3]], [2.6], goods=list("abcde"), caps=2)
    np.testing.assert_array_equal(loaded.demand(menu).mean, model.demand(menu).mean)
    np.testing.assert_array_equal(
        loaded.log_likelihood(votes(20, goods=["a", "b"], cap=2)),
        model.log_likelihood(votes(20, goods=["a", "b"], cap=2)),
    )
    assert "gibbs" in str(loaded.summary())


def test_a_run_that_stopped_goes_on_to_the_same_draws(tmp_path: Path) -> None:
    seen, prior = votes(60, nonempty=True), Prior(0.0, 60.0)
    with open_store(seen, engine="cpu", degenerate="refuse") as (store, _):
        sampler = choose_sampler("auto", Target(store, prior), 3, Plan()).sampler
        object.__setattr__(sampler, "n_warmup", 5)
        whole = run_chains(sampler, Plan(n_chains=2, n_draws=30, n_effective=0), fingerprint={})
        path = tmp_path / "run"
        run_chains(
            sampler, Plan(n_chains=2, n_draws=12, n_effective=10**6, max_draws=12, checkpoint=path), fingerprint={}
        )
        assert path.exists()
        again = run_chains(sampler, Plan(n_chains=2, n_draws=30, n_effective=0, checkpoint=path), fingerprint={})
    for name, values in whole.draws.parameters.items():
        np.testing.assert_array_equal(again.draws.parameters[name][:, :30], values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "importance"}, "sampler='importance' needs probabilities of bundles.*leave the sampler to 'auto'"),
        ({"engine": "dask"}, "engine='dask' sums masses of regions, which problem Whole"),
    ],
)
def test_what_needs_masses_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        fitted(votes(30), **settings)


def test_other_doors_refuse_whole_goods() -> None:
    seen = votes(20)
    with pytest.raises(sp.InvalidArgument, match="cannot handle problem 'whole'"):
        sp.fit_maximum_likelihood(seen)
    with pytest.raises(sp.InvalidArgument, match="menus must be of the problem of the fit"):
        a_fit().demand(sp.Menus([[1.0] * 5], [2.0], goods=list("abcde"), problem="divisible"))


def test_laws_under_which_hardly_anybody_buys_end_in_words() -> None:
    seen = votes(20, nonempty=True)
    with open_store(seen, engine="cpu", degenerate="refuse") as (store, _):
        sampler = choose_sampler("auto", Target(store, Prior(0.0, 1e4)), 3, Plan()).sampler
    state = sampler.init(1)
    state = state._replace(mean_direction=-np.ones((1, 5)) / np.sqrt(5), concentration=np.array([500.0]))
    with pytest.raises(sp.InvalidArgument, match="fewer than one customer in 100,000 buys anything"):
        sampler.sweep(state, 0)
