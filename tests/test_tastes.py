# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Tastes by customer: choices against formulas, likelihoods against quadrature, draws against the exact posterior."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.posterior.chains import Plan, run_chains
from stochpref.posterior.diagnostics import diagnose
from stochpref.problems import OneOf
from stochpref.tastes.clouds import (
    cloud_around,
    even_normals,
    find_places,
    log_probabilities,
    roots_of,
    single_probabilities,
)
from stochpref.tastes.known import know_customers
from stochpref.tastes.law import TasteLaw
from stochpref.tastes.mode import find_mode
from stochpref.tastes.panel import Panel, design_of, pack
from stochpref.tastes.sampler import TasteSampler

GOODS = ("tea", "milk", "bread")


def some_choices(n_customers: int, each: int, seed: int, **reading: object) -> sp.Observations:
    """Return choices of customers who differ in all tastes; some goods are not on offer everywhere."""
    rng, size = np.random.default_rng(seed), n_customers * each
    problem = OneOf(**{"reading": "unit", **reading})  # type: ignore[arg-type]
    prices, shown = rng.uniform(1.0, 3.0, (size, 3)), rng.integers(0, 2, (size, 3)).astype(float)
    prices[rng.random((size, 3)) < 0.1] = np.inf
    prices[:, 0] = np.where(np.isinf(prices).all(axis=1), 1.5, prices[:, 0])
    tastes = np.repeat([1.0, 0.0, -0.5] + 1.5 * rng.standard_normal((n_customers, 3)), each, axis=0)
    slopes = np.repeat(-1.0 + 0.7 * rng.standard_normal(n_customers), each)
    worth = tastes + slopes[:, None] * np.where(np.isfinite(prices), prices, 0.0) + 0.8 * shown
    worth += rng.gumbel(size=worth.shape) - (rng.gumbel(size=(size, 1)) if problem.outside else 0.0)
    utilities = np.exp(worth) if problem.reading == "value" else worth
    menus = sp.Menus(prices, goods=GOODS, problem=problem, features={"shown": shown})
    return sp.Observations(
        prices, None, problem.choose(utilities, menus), goods=GOODS, problem=problem, features={"shown": shown},
        customers=[f"c{i}" for i in np.repeat(np.arange(n_customers), each)],
    )  # fmt: skip


def packed(data: sp.Observations, features: tuple[str, ...]) -> tuple[Panel, TasteLaw]:
    design = design_of(data, features)
    return pack(data, design, data.problem), TasteLaw.of(design, 1)


@pytest.mark.parametrize("reading", [{}, {"outside": True}, {"reading": "value"}])
def test_choices_follow_the_formula(reading: dict[str, object]) -> None:
    data = some_choices(4, 5, 0, **reading)
    design = design_of(data, ("price", "shown"))
    panel, law = packed(data, ("price", "shown"))
    taste = np.random.default_rng(1).standard_normal((4, law.p))
    designs = design.designs(data)
    value = np.einsum("tnp,tp->tn", designs.each[designs.whose], np.repeat(taste, 5, axis=0))
    if reading.get("reading") == "value":
        value -= np.log(data.prices)
    weight = np.where(np.isfinite(data.prices), np.exp(value), 0.0)
    total = weight.sum(axis=1) + (1.0 if "outside" in reading else 0.0)
    chosen = np.where(data.bundles.any(axis=1), np.sum(weight * data.bundles, axis=1), 1.0) / total
    cloud = cloud_around(panel, find_places(panel, roots_of(law, law.start())), np.zeros((1, law.p, 2)), 1.0, None)
    np.copyto(cloud.theta, np.repeat(taste[:, :, None], 2, axis=2))
    np.testing.assert_allclose(single_probabilities(panel, cloud.theta)[:, 0], chosen[panel.order], rtol=1e-12)
    by_customer = np.log(chosen).reshape(4, 5).sum(axis=1)
    np.testing.assert_allclose(log_probabilities(panel, cloud.theta)[:, 1], by_customer, rtol=1e-12)
    assert law.p == (5 if "outside" in reading else 4)  # where only differences count the level is no taste


def test_slopes_are_derivatives() -> None:
    data = some_choices(5, 4, 2)
    panel, _ = packed(data, ("price", "shown"))
    for n_factors in (0, 1, 2):
        law = TasteLaw.of(design_of(data, ("price", "shown")), n_factors)
        phi = 0.7 * law.sample(np.random.default_rng(n_factors))
        places = find_places(panel, roots_of(law, phi))
        cloud = cloud_around(panel, places, even_normals(law.p, 32, seed=0), 1.1, None)
        roots = roots_of(law, phi)
        found = cloud.weigh(roots)
        slope = law.pulled(phi, roots.inverse, found.mean, found.products).sum(axis=0) + law.log_prior(phi)[1]
        for k, step in enumerate(1e-5 * np.eye(len(phi))):
            up, down = (
                cloud.weigh(roots_of(law, at), with_moments=False).value.sum() + law.log_prior(at)[0]
                for at in (phi + step, phi - step)
            )
            assert slope[k] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)
        turned = law.upright(np.concatenate([phi[: law.p], -phi[law.p :]]), phi)
        np.testing.assert_allclose(law.covariance(turned), law.covariance(phi))


def test_it_does_not_matter_which_good_the_others_are_compared_with() -> None:
    data = some_choices(6, 4, 3)
    turned = [2, 0, 1]
    other = sp.Observations(
        data.prices[:, turned], None, data.bundles[:, turned], goods=[GOODS[i] for i in turned], problem=data.problem,
        customers=data.customers,
    )  # fmt: skip
    spreads = []
    for one in (data, other):
        design = design_of(one, ())
        law = TasteLaw.of(design, 0)
        phi = law.start()
        phi[law.p :] = [0.5, 1.0, 2.0] if one is data else np.array([0.5, 1.0, 2.0])[turned]
        spreads.append(design.at_average @ law.covariance(phi) @ design.at_average.T)
    np.testing.assert_allclose(spreads[1], spreads[0][np.ix_(turned, turned)], atol=1e-12)
    # Also of the loadings of factors, whose prior has this covariance.
    design = design_of(data, ())
    contrasts = TasteLaw.of(design, 1).contrasts
    level_free = design.at_average @ contrasts @ contrasts.T @ design.at_average.T
    np.testing.assert_allclose(level_free, np.eye(3) - 1.0 / 3.0, atol=1e-12)


def two_goods(n_customers: int, each: int, seed: int) -> sp.Observations:
    rng = np.random.default_rng(seed)
    taste = np.repeat(0.5 + 1.2 * rng.standard_normal(n_customers), each)
    chosen = (rng.random(len(taste)) > 1.0 / (1.0 + np.exp(-taste))).astype(int)
    customers = np.repeat(np.arange(n_customers), each)
    return sp.choices(np.ones((len(taste), 2)), chosen, customers=customers, reading="unit")


def exact_likelihoods(panel: Panel, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return (k, C) the likelihood of every customer's choices by quadrature, one taste each."""
    nodes, weights = hermegauss(40)
    theta = mean[:, None] + np.sqrt(variance)[:, None] * nodes
    found = np.ones((len(mean), panel.n_customers, len(nodes)))
    for i in range(panel.n_customers):
        for t in range(panel.begin[i], panel.begin[i + 1]):
            found[:, i] *= expit(-panel.gap[panel.first[t], 0] * theta)
    return found @ weights / np.sqrt(2.0 * np.pi)


def test_the_likelihood_and_what_is_left_out_by_quadrature() -> None:
    data = two_goods(8, 5, 4)
    panel, _ = packed(data, ())
    mean, variance = np.array([0.4]), np.array([1.7])
    known = know_customers(panel, mean[None], variance[None, None], seed=0)
    exact = np.log(exact_likelihoods(panel, mean, variance)[0])
    np.testing.assert_allclose(known.log_likelihood[0], exact, atol=2e-3)
    for t in (0, 7, 31):
        others = np.delete(np.arange(40), t)
        without = exact_likelihoods(packed(data[others], ())[0], mean, variance)[0]
        i = t // 5
        assert known.left_out[t] == pytest.approx(exact[i] - np.log(without[i]), abs=0.02)


@pytest.mark.parametrize("power", [1.0, -4.0])
def test_draws_are_those_of_the_posterior(power: float) -> None:
    # Importance sampling from the prior, by quadrature over tastes, on the other side; small clouds, to tell bugs.
    data = two_goods(6, 6, 5)
    design = design_of(data, ())
    panel, law = pack(data, design, data.problem), TasteLaw.of(design, 0)
    rng = np.random.default_rng(0)
    drawn = np.array([law.sample(rng) for _ in range(20_000)])
    variance = np.array([law.covariance(phi)[0, 0] for phi in drawn])
    weight = exact_likelihoods(panel, drawn[:, 0], variance).prod(axis=1)
    weight /= weight.sum()
    wanted = {"mean": drawn[:, 0], "log_spread": 0.5 * np.log(variance)}
    sampler = TasteSampler(panel, law, find_mode(panel, law, 0), 1, n_draws=6, n_warmup=100, scale_power=power)
    run = run_chains(sampler, Plan(4, 700, 0, 700), fingerprint={})
    found = {
        "mean": run.draws.parameters["mean"][:, :, 0],
        "log_spread": 0.5 * np.log(run.draws.parameters["covariance"][:, :, 0, 0]),
    }
    distances = []
    for name, values in wanted.items():
        exact = float(weight @ values)
        of_exact = np.sqrt(np.sum(weight**2 * (values - exact) ** 2))
        error = np.hypot(
            min(float(diagnose({"x": found[name]}).mcse_mean[0]), 0.08), of_exact
        )  # no bug hides behind it
        distances.append(abs(float(found[name].mean()) - exact) / error)
    assert bool(max(distances) < 4.0) is (power == 1.0), distances


@cache
def fitted(covariance: str = "factor") -> sp.NormalUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.NormalUtility(
            covariance, features=("price", "shown"), by_customer=True, random_state=0, sampler="mode"
        )
        return model.fit(some_choices(30, 12, 6))


def test_customers_are_known_by_what_they_chose() -> None:
    model, fresh = fitted(), some_choices(30, 20, 6)
    alone = sp.Observations(
        fresh.prices, None, fresh.bundles, goods=GOODS, problem=fresh.problem, features=fresh.features
    )
    assert model.score(model.observations_) > model.score(alone) + 0.1
    tastes = model.customer_coefficients_
    assert tastes.names == (*GOODS, "price", "shown")
    assert tastes.mean.shape == (30, 5)
    assert tastes.draws.shape[1:] == (30, 5)
    np.testing.assert_allclose(tastes.draws[:, :, :3].sum(axis=2), 0.0, atol=1e-9)
    assert tastes.is_approximate
    assert model.coefficients_["price"] == pytest.approx(-1.0, abs=0.4)
    assert tastes.of("c3")["price"] == tastes.mean[3, 3]
    assert len(tastes.to_pandas()) == 150
    assert tastes.plot().get_xlabel()
    shares = model.demand(model.observations_.menus[:12], customers="c0", n_customers=128, n_draws=50).mean.mean(axis=0)
    bought = model.observations_.bundles[:12].mean(axis=0)
    assert np.argmax(shares) == np.argmax(bought)
    mixed = model.demand(fresh.menus[:3], customers=["c1", "c0", "c1"], n_customers=128, n_draws=50)
    one = model.demand(fresh.menus[[0, 2]], customers="c1", n_customers=128, n_draws=50)
    np.testing.assert_array_equal(mixed.mean[[0, 2]], one.mean)
    assert model.predict(fresh.menus[:2], customers="c5").sum() == 2.0
    with pytest.raises(sp.InvalidArgument, match="customers must be among"):
        model.predict(fresh.menus[:2], customers="c99")
    with pytest.raises(sp.InvalidArgument, match="one for each of 2 menus"):
        model.demand(fresh.menus[:2], customers=["c1"])


def test_new_customers_are_taken_up_without_fitting_again() -> None:
    model, fresh = fitted(), some_choices(8, 16, 9)
    new = sp.Observations(
        fresh.prices, None, fresh.bundles, goods=GOODS, problem=fresh.problem, features=fresh.features,
        customers=[f"new {label}" for label in fresh.customers or ()],
    )  # fmt: skip
    early, late = np.arange(128) % 16 < 8, np.arange(128) % 16 >= 8
    updated = model.update_customers(new[np.flatnonzero(early)])
    assert updated.score(new[np.flatnonzero(late)]) > model.score(new[np.flatnonzero(late)]) + 0.05
    assert updated.customer_coefficients_.customers[-1] == "new c7"
    assert len(model.customer_coefficients_.customers) == 30
    np.testing.assert_array_equal(updated.mean_, model.mean_)
    # In two steps as in one; and more purchases of a customer who is known count with the former ones.
    twice = model.update_customers(new[np.arange(4)]).update_customers(new[np.arange(4, 8)])
    once = model.update_customers(new[np.arange(8)])
    np.testing.assert_allclose(twice.customer_coefficients_.mean[-1], once.customer_coefficients_.mean[-1])
    again = model.update_customers(model.observations_[:12])
    assert again.customer_coefficients_.spread[-1].sum() < model.customer_coefficients_.spread[0].sum()
    with pytest.raises(sp.InvalidArgument, match="saved as it was learned"):
        updated.save("nowhere")


def test_probabilities_add_up_and_others_are_left_out() -> None:
    model = fitted()
    menu = model.observations_.menus[5:6]
    offered = np.flatnonzero(np.isfinite(menu.prices[0]))
    for customer in ("c4", "somebody"):
        every = sp.Observations(
            np.repeat(menu.prices, len(offered), axis=0), None, np.eye(3)[offered], goods=GOODS, problem=menu.problem,
            features={"shown": np.repeat(menu.features["shown"], len(offered), axis=0)},
            customers=[customer] * len(offered),
        )  # fmt: skip
        assert np.exp(model.log_likelihood(every)).sum() == pytest.approx(1.0, abs=1e-9)
    left, gone = model.leave_one_out(), model.leave_one_customer_out()
    assert left is not None
    assert left.shape == (360,)
    assert gone.shape == (30,)
    assert gone.sum() < left.sum() < model.log_likelihood(model.observations_).sum()


def test_saved_shown_and_reported(tmp_path: Path) -> None:
    model = fitted()
    said = str(model.summary())
    assert "Tastes of 30 customers over 3 goods, goods liked together through 1 factor, 360 choices" in said
    assert "count as of so many" not in said
    assert model.check().verdict().status == "good"
    assert model.is_converged_
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert isinstance(again, sp.NormalUtility)
    assert str(again.summary()) == said
    fresh = some_choices(30, 2, 6)
    np.testing.assert_array_equal(again.log_likelihood(fresh), model.log_likelihood(fresh))
    found = (one.demand(fresh.menus[:2], n_draws=20).mean for one in (again, model))
    np.testing.assert_array_equal(*found)
    text = sp.write_report(again, tmp_path / "report.html").read_text()
    assert "What is known of single customers" in text
    json.dumps(model.summary().as_dict())
    assert np.all(np.diag(model.elasticities(fresh.menus[:1], n_draws=20).mean) < 0)


def test_a_short_run_of_chains_and_what_is_refused(tmp_path: Path) -> None:
    data = some_choices(12, 6, 7)
    settings = {"by_customer": True, "random_state": 0, "n_draws": 20, "n_effective": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.NormalUtility("diagonal", features=("price",), **settings).fit(data)
    assert model.sampler_ == "tastes"
    assert model.posterior_["posterior"].sizes["chain"] == 4
    assert "share[tea]" in model.diagnostics_.names
    plain = sp.Observations(data.prices, None, data.bundles, goods=GOODS, problem=data.problem)
    with pytest.raises(sp.InvalidArgument, match="whose each purchase is"):
        sp.NormalUtility(**settings).fit(plain)
    law, rng = sp.NormalLaw([1.0, 0.5], [1.0, 1.0]), np.random.default_rng(0)
    divisible = sp.simulate(law, sp.MenuLaw("uniform"), 20, rng=rng)
    with pytest.raises(sp.InvalidArgument, match="by_customer takes choices of one good"):
        sp.NormalUtility(**settings).fit(divisible)
    with pytest.raises(sp.InvalidArgument, match="with an outside option by unit"):
        sp.NormalUtility(**settings).fit(some_choices(4, 4, 0, reading="unit", outside=True).under(OneOf(outside=True)))
    with pytest.raises(sp.InvalidArgument, match="sampler must be"):
        sp.NormalUtility(sampler="mode").fit(data)
    lines = ["person,visit,good,price,chosen"]
    for t, i in np.argwhere(np.isfinite(data.prices)).tolist():
        lines.append(f"{data.customers[t]},{t},{GOODS[i]},{data.prices[t, i]},{data.bundles[t, i]:g}")  # type: ignore[index]
    (tmp_path / "choices.csv").write_text("\n".join(lines))
    words = "--model normal --by-customer --quick --problem one --choice chosen --column customer=person"
    words += " --column observation=visit"
    asked = ["fit", str(tmp_path / "choices.csv"), *words.split(), "--out", str(tmp_path / "fit")]
    out = CliRunner().invoke(cli.app, asked)
    assert out.exit_code == 0, out.output
    assert "Tastes of 12 customers" in out.stdout
