"""One of N: choices as observations, shares that add up to one, and levels that nothing tells."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.mass.conditional import log_recorded
from stochpref.problems import OneOf

GOODS = ("dan", "hil", "wei", "yop")
KAPPA = 4.0
MU = np.array([0.7, 0.1, -0.3, 0.5]) / np.linalg.norm([0.7, 0.1, -0.3, 0.5])


def mean_of(problem: OneOf) -> np.ndarray:
    mu = MU - MU.mean() if problem.span(4) is not None else MU
    return np.asarray(mu / np.linalg.norm(mu))


def chosen_by(problem: OneOf, size: int = 150, *, seed: int = 0) -> sp.Observations:
    rng = np.random.default_rng(seed)
    prices = rng.uniform(1.0, 2.0, (size, 4))
    prices[rng.random(prices.shape) < 0.05] = np.inf
    prices[:, 1] = 1.4
    menus = sp.Menus(prices, goods=GOODS, problem=problem)
    seen = sp.simulate(sp.VonMisesFisher(mean_of(problem), KAPPA), menus, size, rng=rng)
    picked = [GOODS[int(np.argmax(row))] if row.any() else None for row in seen.bundles]
    return sp.choices(prices, picked, goods=GOODS, outside=problem.outside, reading=problem.reading)


@cache
def fitted(outside: bool, reading: str) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(sampler="importance", n_draws=50, n_effective=50, random_state=0)
        return model.fit(chosen_by(OneOf(outside, reading)))


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("reading", ["value", "unit"])
def test_the_law_of_a_choice_is_found_again(outside: bool, reading: str) -> None:
    problem = OneOf(outside, reading)
    found = sp.fit_maximum_likelihood(chosen_by(problem, 2000))
    assert found.status == "converged"
    assert abs(found.concentration - KAPPA) < 3.5 * found.concentration_standard_error
    assert np.all(np.abs(found.mean_direction - mean_of(problem)) < 4 * found.direction_standard_errors)
    if problem.span(4) is not None:
        assert found.mean_direction.sum() == pytest.approx(0, abs=1e-12)
        np.testing.assert_allclose(found.covariance.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("reading", ["value", "unit"])
def test_predictions_are_shares(outside: bool, reading: str) -> None:
    model = fitted(outside, reading)
    prices = np.array([[1.5, 1.5, 1.5, 1.5], [1.2, 1.5, 1.5, 2.0], [1.5, np.inf, 1.5, np.inf]])
    demand = model.demand(prices)
    assert np.all(demand.mean >= 0)
    total = demand.mean.sum(axis=1)
    if outside:
        assert np.all(total < 1)
    else:
        np.testing.assert_allclose(total, 1.0, atol=1e-12)
    assert demand.mean[2, 1] == demand.mean[2, 3] == 0
    assert "Shares of customers" in str(demand)
    bundles = model.predict(prices)
    assert set(np.unique(bundles)) <= {0.0, 1.0}
    assert np.all(bundles.sum(axis=1) == 1)
    own = np.diag(model.elasticities(prices[0]).mean)
    assert np.all(own < 0) if reading == "value" else np.all(own == 0)
    # Simulated shares are the exact probabilities.
    directions, kappas = model._flat_draws(400)
    each = sp.choices(np.repeat(prices[1:2], 4, axis=0), range(4), goods=GOODS, outside=outside, reading=reading)
    recorded, exact = each.problem.recorded(each), np.zeros(4)
    for direction, kappa in zip(directions, kappas, strict=True):
        exact += np.exp(log_recorded(recorded, kappa * direction).log_mass) / len(kappas)
    np.testing.assert_allclose(model.demand(prices[1], n_customers=8192).mean[0], exact, atol=0.004)


def test_the_level_that_nothing_tells_is_not_sampled() -> None:
    model = fitted(False, "unit")
    draws = model.directions
    np.testing.assert_allclose(draws.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(draws, axis=1), 1.0, atol=1e-12)
    assert model.diagnostics_.of("mean_direction").r_hat.shape == (4,)
    assert np.abs(fitted(True, "unit").directions.sum(axis=1)).max() > 0.05
    with pytest.raises(sp.InvalidArgument, match="utilities of single customers cannot be told"):
        model.utilities()
    assert fitted(False, "value").utilities().mean.shape == (150, 4)
    with pytest.raises(sp.InvalidArgument, match="sampler='gibbs' knows regions"):
        sp.HeterogeneousUtility(sampler="gibbs").fit(model.observations_)


def test_a_prior_is_asked_about_directions_of_all_goods() -> None:
    shapes = set()

    def prior(direction: np.ndarray, kappa: float) -> float:
        shapes.add(direction.shape)
        assert direction.sum() == pytest.approx(0, abs=1e-9)
        return -kappa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(
            sampler="importance", n_draws=25, n_effective=0, max_draws=25, prior=prior, random_state=0
        ).fit(chosen_by(OneOf(reading="unit"), 40))
    assert shapes == {(4,)}
    assert model.mean_direction_.shape == (4,)


def test_a_saved_fit_of_choices_is_asked_as_before(tmp_path: Path) -> None:
    model, data = fitted(False, "unit"), chosen_by(OneOf(reading="unit"), 30, seed=2)
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    assert loaded.problem_ == OneOf(reading="unit")
    np.testing.assert_array_equal(loaded.log_likelihood(data), model.log_likelihood(data))
    assert (
        loaded.explained
        == model.explained
        == pytest.approx(
            np.mean(np.all(model.predict(model.observations_.menus) == model.observations_.bundles, axis=1))
        )
    )


def test_one_utility_explains_choices() -> None:
    for problem in (OneOf(), OneOf(reading="unit"), OneOf(True), OneOf(True, "unit")):
        rng = np.random.default_rng(3)
        menus = sp.Menus(rng.uniform(1, 2, (60, 4)), goods=GOODS, problem=problem)
        data = sp.simulate(sp.VonMisesFisher(mean_of(problem), 1e6), menus, 60, rng=rng)
        model = sp.CommonUtility(random_state=0).fit(data)
        assert model.n_consistent_ == 60
        np.testing.assert_array_equal(model.predict(data.menus), data.bundles)


PRICES = np.array([[1.0, 2.0], [1.5, 1.0], [2.0, np.inf]])


def test_choices_are_named_placed_or_none() -> None:
    wanted = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    for chosen in (["a", "b", None], [0, 1, -1], np.array([0, 1, -1]), np.array([0.0, 1.0, np.nan]), ("a", 1, -1)):
        seen = sp.choices(PRICES, chosen, goods=["a", "b"], outside=True, customers=["x", "y", "x"])
        np.testing.assert_array_equal(seen.bundles, wanted)
    assert seen.problem == OneOf(outside=True)
    assert seen.customers == ("x", "y", "x")
    assert np.all(np.isinf(seen.budgets))
    assert seen.audit().kinds == {}
    full = sp.choices(PRICES, ["a", "b", "a"], goods=["a", "b"], reading="unit", features={"hour": [1.0, 2.0, 3.0]})
    assert full.problem == OneOf(reading="unit")
    assert list(full.features) == ["hour"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chosen": ["a", "c", "a"]}, r"chosen must be goods by name or by place, 0 to 1.*1 are not.*'c'"),
        ({"chosen": ["a", "B", "a"]}, "received 'B'; the nearest is 'b'"),
        ({"chosen": [0, 2, 0]}, "received 2"),
        ({"chosen": [0, -2, 0]}, "received -2"),
        ({"chosen": [0, 0.5, 0]}, "received 0.5"),
        ({"chosen": [0, True, 0]}, "received True"),
        ({"chosen": [0, 1]}, "a choice for each of 3 menus; received 2"),
        ({"chosen": "aba"}, "chosen must be a sequence of goods"),
        ({"chosen": 1}, "chosen must be a sequence of goods"),
        ({"chosen": [0, 1, None]}, "exactly one good is chosen.*or state outside=True"),
        ({"chosen": [0, 1, 1]}, "a good that is not on offer cannot be bought"),
        ({"prices": [1.0, 2.0]}, r"prices must have shape \(n_observations, n_goods\)"),
        ({"prices": [[1.0, 2.0], [np.inf, np.inf], [1.0, 1.0]]}, "a menu must offer a good"),
        ({"prices": [[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]}, "a price must be positive"),
        ({"reading": "worth"}, "reading must be one of value, unit"),
        ({"outside": 1}, "outside must be True or False"),
        ({"goods": ["a", "a"]}, "goods must have different names"),
    ],
)
def test_what_is_no_choice_is_refused(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"prices": PRICES, "chosen": [0, 1, 0], "goods": ["a", "b"]}
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.choices(**(arguments | changes))  # type: ignore[arg-type]


def test_bundles_of_choices_hold_ones_and_zeros() -> None:
    for bundle, message in (([0.5, 0.5], "a good is chosen, 1, or not, 0"), ([1.0, 1.0], "exactly one good is chosen")):
        with pytest.raises(sp.InvalidObservations, match=message):
            sp.Observations([[1.0, 1.0]], None, [bundle], problem="one")
    with pytest.raises(sp.InvalidObservations, match="at most one good is chosen"):
        sp.Observations([[1.0, 1.0]], None, [[1.0, 1.0]], problem=OneOf(outside=True))
