"""Log-probabilities of whole bundles: by counting and by orthants they agree, with errors that hold what they say."""

from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp
from stochpref.laws import uniform_directions
from stochpref.posterior import counting
from stochpref.posterior.counting import Posterior, count
from stochpref.posterior.orthants import has_orthant, log_by_orthants
from stochpref.problems import Whole


def some_posterior(n: int, n_draws: int = 20) -> Posterior:
    rng = np.random.default_rng(n)
    centre = uniform_directions(1, n, rng=rng)
    directions = centre + 0.2 * uniform_directions(n_draws, n, rng=rng)
    return Posterior(directions / np.linalg.norm(directions, axis=1, keepdims=True), rng.uniform(2.0, 4.0, n_draws))


def some_seen(
    n: int, size: int, *, cap: int = 1, nonempty: bool = False, goods: list[str] | None = None
) -> sp.Observations:
    rng = np.random.default_rng(10 + n)
    menus = sp.Menus(rng.uniform(1, 2, (size, n)), rng.uniform(1, 0.7 * n * cap, size), caps=cap, problem=Whole(goods))
    seen = sp.simulate(sp.VonMisesFisher(uniform_directions(1, n, rng=rng)[0], 2.0), menus, size, rng=rng)
    kept = seen[np.flatnonzero(seen.bundles.any(axis=1))] if nonempty else seen
    return sp.Observations(kept.prices, kept.budgets, kept.bundles, caps=cap, problem=kept.problem, nonempty=nonempty)


@pytest.mark.parametrize("nonempty", [False, True])
def test_probabilities_of_all_bundles_of_a_menu_sum_to_one(nonempty: bool) -> None:
    n, posterior = 4, some_posterior(4)
    prices, draws = (
        np.array([1.0, 1.3, 1.7, 2.9]),
        sp.VonMisesFisher([0.5] * 4, 0.1).sample(4000, rng=np.random.default_rng(0)),
    )
    menu = sp.Menus(prices[None], [4.0], problem="whole")
    every = np.unique(Whole().choose(draws[:, None], menu)[:, 0], axis=0)
    every = every[every.any(axis=1)] if nonempty else every
    size = len(every)
    seen = sp.Observations(np.tile(prices, (size, 1)), np.full(size, 4.0), every, problem="whole", nonempty=nonempty)
    found, counts = count(seen, posterior, rng=np.random.default_rng(1))
    assert counts.min() > 50
    total = np.exp(found.log_probability)
    assert total.sum() == pytest.approx(1.0, abs=5 * np.sqrt(np.sum((total * found.error) ** 2)) + 1e-12)
    assert n == seen.n_goods


@pytest.mark.parametrize(("n", "cap", "nonempty"), [(3, 1, False), (6, 1, True), (4, 3, False)])
def test_orthants_give_what_counting_gives(n: int, cap: int, nonempty: bool) -> None:
    seen, posterior = some_seen(n, 40, cap=cap, nonempty=nonempty), some_posterior(n)
    seen = seen[np.flatnonzero(has_orthant(seen.problem.intervals(seen)))]
    counted, counts = count(seen, posterior, rng=np.random.default_rng(2))
    drawn = log_by_orthants(seen, posterior, seed=3)
    clear = counts > 500
    assert clear.sum() > 8
    z = (counted.log_probability - drawn.log_probability) / np.hypot(counted.error, drawn.error + 0.002)
    assert np.abs(z[clear]).max() < 5
    assert drawn.error.max() < 0.15


def test_a_law_in_place_of_the_mixture_is_seen_by_that_test() -> None:
    seen, posterior = some_seen(6, 40, nonempty=True), some_posterior(6)
    one = Posterior(posterior.mean_direction[:1], posterior.concentration[:1])
    counted, counts = count(seen, posterior, rng=np.random.default_rng(2))
    drawn = log_by_orthants(seen, one, seed=3)
    z = (counted.log_probability - drawn.log_probability) / np.hypot(counted.error, drawn.error + 0.002)
    assert np.abs(z[counts > 500]).max() > 8


def test_errors_hold_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_CHOICES", 60_000)
    seen, posterior = some_seen(4, 12, cap=2), some_posterior(4)
    at_ends = np.flatnonzero(has_orthant(seen.problem.intervals(seen)))
    for estimate in (
        lambda seed: count(seen, posterior, rng=np.random.default_rng(seed))[0],
        lambda seed: log_by_orthants(seen[at_ends], posterior, seed=seed),
    ):
        runs = [estimate(seed) for seed in range(30)]
        spread = np.std([run.log_probability for run in runs], axis=0, ddof=1)
        stated = np.sqrt(np.mean([run.error**2 for run in runs], axis=0))
        assert 0.8 < np.median((spread / np.maximum(stated, 1e-12))[stated > 0]) < 1.25


def test_a_bundle_that_never_comes_up_is_not_impossible() -> None:
    posterior = Posterior(np.array([[1.0, 0.0, 0.0]]), np.array([400.0]))
    seen = sp.Observations([[1.0, 1.0, 1.0]], [2.0], [[0.0, 1.0, 1.0]], problem="whole")
    counted, counts = count(seen, posterior, rng=np.random.default_rng(0))
    assert counts[0] == 0
    assert np.isfinite(counted.log_probability[0])
    assert counted.error[0] == 1.0
    assert log_by_orthants(seen, posterior, seed=0).log_probability[0] < -100
