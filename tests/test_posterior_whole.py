"""The Gibbs sampler on intervals leaves conditional laws alone, draws who buys nothing, and keeps the prior."""

from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp
from stochpref.laws import uniform_directions
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs import GibbsState
from stochpref.posterior.samplers.interval_gibbs import IntervalGibbs
from stochpref.problems import Whole
from stochpref.problems.interval_regions import IntervalRegions

PRIOR = Prior(0.0, 60.0)


def regions_of(seen: sp.Observations) -> IntervalRegions:
    problem = seen.problem
    assert isinstance(problem, Whole)
    return IntervalRegions.of(seen, problem.is_whole(seen.goods))


def some_seen(n: int, size: int, seed: int, *, cap: int = 1, goods: list[str] | None = None) -> sp.Observations:
    rng = np.random.default_rng(seed)
    menus = sp.Menus(
        rng.uniform(1, 2, (size, n)), rng.uniform(1, 0.8 * n * cap + 1, size), caps=cap, problem=Whole(goods)
    )
    return sp.simulate(sp.VonMisesFisher(uniform_directions(1, n, rng=rng)[0], 2.0), menus, size, rng=rng)


def held_state(kernel: IntervalGibbs, h: np.ndarray, copies: int) -> GibbsState:
    kappa = float(np.linalg.norm(h))
    return GibbsState(kernel.init(copies).latents, np.tile(h / kappa, (copies, 1)), np.full(copies, kappa))


def moments(kernel: IntervalGibbs, h: np.ndarray, sweeps: int, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (copies, T, 2 n) means of utilities and of their squares at one h."""
    state = held_state(kernel, h, copies)
    total = np.zeros((*state.latents.shape[:2], 2 * state.latents.shape[2]))
    for iteration in range(30 + sweeps):
        kernel.sweep(state, iteration)
        if iteration >= 30:
            total += np.concatenate([state.latents, state.latents**2], axis=2)
    return total / sweeps


def exact_moments(seen: sp.Observations, h: np.ndarray, n_draws: int = 400_000) -> np.ndarray:
    """Return (T, 2 n) the same by rejection: of draws of the law those that choose the bundle."""
    kappa = float(np.linalg.norm(h))
    draws = sp.VonMisesFisher(h / kappa, kappa).sample(n_draws, rng=np.random.default_rng(9))
    found = []
    for t in range(len(seen)):
        bundles = seen.problem.choose(draws[:, None], seen[[t]])[:, 0]
        kept = draws[np.abs(bundles - seen.bundles[t]).max(axis=1) < 1e-9]
        assert len(kept) > 300 or seen.problem != Whole()
        found.append(np.concatenate([kept, kept**2], axis=1).mean(axis=0))
    return np.array(found)


CASES = {"two": (2, 1, None), "zero or one": (5, 1, None), "caps": (4, 3, None)}


def largest_z(seen: sp.Observations, h: np.ndarray, **options: float) -> tuple[float, float]:
    drawn = moments(IntervalGibbs(regions_of(seen), PRIOR, 3, **options), h, 400, 20)
    error = np.sqrt(drawn.var(axis=0, ddof=1) / 20 + 1.0 / 400_000 / 0.01)  # and of the rejection
    return float(np.abs((drawn.mean(axis=0) - exact_moments(seen, h)) / error).max()), float(error.max())


@pytest.mark.parametrize("name", CASES)
def test_sweeps_keep_what_rejection_gives(name: str) -> None:
    n, cap, goods = CASES[name]
    seen = some_seen(n, 8, seed=n, cap=cap, goods=goods)
    h = 2.0 * uniform_directions(1, n, rng=np.random.default_rng(1))[0]
    z, error = largest_z(seen, h)
    assert error < 0.03
    assert z < 5.5


def test_goods_in_part_are_drawn_from_their_regions_too() -> None:
    """Bundles with a good in part come up once: what the sampler draws is compared with quadrature on the sphere."""
    seen = some_seen(3, 12, seed=4, cap=2, goods=["good1"])
    h = np.array([1.0, -0.7, 1.2])
    z = (np.arange(600) + 0.5) / 300 - 1.0
    phi = 2 * np.pi * (np.arange(1200) + 0.5) / 1200
    grid = np.stack(
        [np.repeat(z, 1200), *(np.outer(np.sqrt(1 - z**2), f(phi)).ravel() for f in (np.cos, np.sin))], axis=1
    )
    weight = np.exp(grid @ h)
    drawn = moments(IntervalGibbs(regions_of(seen), PRIOR, 3), h, 400, 20)
    error = np.maximum(drawn.std(axis=0, ddof=1) / np.sqrt(20), 1e-3)
    for t in range(len(seen)):
        inside = np.abs(seen.problem.choose(grid[:, None], seen[[t]])[:, 0] - seen.bundles[t]).max(axis=1) < 1e-9
        own = weight * inside
        exact = np.concatenate([own @ grid, own @ grid**2]) / own.sum()
        assert np.abs((drawn[:, t].mean(axis=0) - exact) / error[t]).max() < 6.5


def test_a_dropped_power_is_seen_by_that_test() -> None:
    seen = some_seen(5, 8, seed=5)
    h = 2.0 * uniform_directions(1, 5, rng=np.random.default_rng(1))[0]
    assert largest_z(seen, h, power=0.0)[0] > 8


def test_latents_stay_in_their_regions() -> None:
    for n, cap, goods in ((7, 1, None), (5, 3, None), (6, 2, ["good1", "good2", "good3"])):
        seen = some_seen(n, 70, seed=1, cap=cap, goods=goods)
        kernel = IntervalGibbs(regions_of(seen), PRIOR, 0)
        state = kernel.init(2)
        for iteration in range(20):
            state, info = kernel.step(state, iteration)
        assert np.isfinite(info.statistics["resultant_length"]).all()
        for latents in state.latents:
            np.testing.assert_allclose(seen.problem.choose(latents, seen), seen.bundles, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(state.latents, axis=2), 1.0)


def test_threads_change_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = some_seen(6, 150, seed=2)
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", count)
        kernel = IntervalGibbs(regions_of(seen), PRIOR, 7, nonempty=True) if seen.bundles.any(axis=1).all() else None
        kernel = kernel or IntervalGibbs(regions_of(seen), PRIOR, 7)
        state = kernel.init(2)
        for iteration in range(5):
            state, _ = kernel.step(state, iteration)
        found.append(state)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_unseen_customers_are_as_many_as_the_law_says_and_want_nothing() -> None:
    seen = some_seen(3, 40, seed=8)
    kept = seen[np.flatnonzero(seen.bundles.any(axis=1))]
    h = np.array([-0.8, -0.5, 0.3])
    kernel = IntervalGibbs(regions_of(kept), PRIOR, 2, nonempty=True)
    state = held_state(kernel, h, 40)
    totals, sums = [], []
    for iteration in range(150):
        found, counts = kernel.sweep(state, iteration)
        totals.append(counts - len(kept))
        sums.append(found - state.latents.sum(axis=1))
    kappa = float(np.linalg.norm(h))
    draws = sp.VonMisesFisher(h / kappa, kappa).sample(400_000, rng=np.random.default_rng(0))
    reach = kept.prices <= kept.budgets[:, None]
    expected, expected_sum = 0.0, np.zeros(3)
    for row in reach:
        wants_none = ~(draws[:, row] > 0).any(axis=1)
        odds = wants_none.mean() / (1 - wants_none.mean())
        expected, expected_sum = expected + odds, expected_sum + odds * draws[wants_none].mean(axis=0)
    by_chain = np.mean(totals, axis=0)
    assert abs(by_chain.mean() / expected - 1) < 0.02
    np.testing.assert_allclose(np.mean(sums, axis=(0, 1)), expected_sum, rtol=0.03, atol=0.1)


def test_without_data_the_prior_comes_back() -> None:
    nothing = regions_of(some_seen(4, 5, seed=0))[np.zeros(5, bool)]
    kernel = IntervalGibbs(nothing, Prior(1.0, 10.0), 3)
    state = kernel.init(20)
    kappas, directions = [], []
    for iteration in range(200):
        state, _ = kernel.step(state, iteration)
        kappas.append(state.concentration)
        directions.append(state.mean_direction)
    kappa = np.array(kappas).ravel()
    assert abs(kappa.mean() - 5.5) < 5 * 2.6 / np.sqrt(len(kappa))
    assert np.abs(np.mean(directions, axis=(0, 1))).max() < 5 * 0.5 / np.sqrt(len(kappa))
