# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Normal laws learned from decisions: draws inside cones, walls found lazily, moments, and what a fit says."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.mass.diagonal import normal_laws, normal_log_mass
from stochpref.programmes.bouncing import bounce_rows
from stochpref.programmes.cuts import Cuts, widest
from stochpref.programmes.gibbs import DecisionGibbs, next_law
from tests.programmes import Listed, all_paths, knapsacks, paths, transports


def drawn_inside(cuts: Cuts, mean: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return utilities (count, T, d) of a fixed law inside cones, after a warm-up."""
    z, kept = cuts.inside.copy(), []
    rows = np.arange(len(cuts))
    for k in range(count + 200):
        moved = np.empty_like(z)
        bounce_rows(cuts.walls, cuts.count, mean, (np.uint64(seed), 0, k), z, moved, 0, len(z))
        z = np.where(cuts.explains(rows, moved)[:, None], moved, z)
        if k >= 200:
            kept.append(z)
    return np.array(kept)


def batch_errors(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means over draws and their errors, from 25 batches."""
    batches = draws.reshape(25, -1, *draws.shape[1:]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / 5.0


def test_bounces_draw_from_a_cone_as_rejection_does() -> None:
    rng = np.random.default_rng(0)
    mean = np.array([0.3, -0.8, 0.5])
    walls = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, -0.5], [0.3, 0.3, 1.0], [0.5, 0.5, 0.0]])
    walls /= np.linalg.norm(walls, axis=1, keepdims=True)
    free = mean + rng.standard_normal((400_000, 3))
    inside = free[np.all(free @ walls.T >= 0, axis=1)]
    z, kept, moved = widest(walls)[None], [], np.empty((1, 3))
    for k in range(20_000):
        bounce_rows(walls[None], np.array([4]), mean, (np.uint64(3), 0, k), z, moved, 0, 1)
        z = moved.copy()
        kept.append(z[0])
    found = np.array(kept)
    assert np.all(found @ walls.T >= 0)
    for power in (1, 2):
        got, error = batch_errors(found**power)
        exact, other = (inside**power).mean(axis=0), (inside**power).std(axis=0) / np.sqrt(len(inside))
        assert np.all(np.abs(got - exact) < 5 * np.hypot(error, other))
        assert error.max() < 0.02


def cases() -> dict[str, tuple[Any, Any, np.ndarray]]:
    """Problems that know no facets, the same that know all of them, and decisions."""
    rng = np.random.default_rng(5)
    every = all_paths(3)
    lazy, full = knapsacks(5, 8, rng), None
    full = Listed(lazy.decisions, knows=True)
    path_u = rng.standard_normal((8, 12))
    transport, plans = transports(rng)
    return {
        "path": (paths(3), Listed(every[None], knows=True), paths(3).solve(path_u, np.zeros(8, int))),
        "transport": (
            Listed(plans[None]), Listed(plans[None], knows=True),
            transport.solve(rng.standard_normal((8, 6)), np.zeros(8, int)),
        ),
        "knapsack": (lazy, full, lazy.solve(rng.standard_normal((8, 5)), np.arange(8))),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["path", "transport", "knapsack"])
def test_lazy_walls_draw_as_complete_facets_do(name: str) -> None:
    lazy, full, chosen = cases()[name]
    one, other = sp.Decisions(lazy, chosen), sp.Decisions(full, chosen)
    np.testing.assert_allclose(one.basis @ one.basis.T, other.basis @ other.basis.T, atol=1e-8)
    known, complete = Cuts(one, "refuse"), Cuts(other, "refuse")
    assert complete.is_complete.all()
    assert not known.is_complete.all()
    h = np.random.default_rng(6).standard_normal(chosen.shape[1])
    n_known = known.count.sum()
    draws = [
        drawn_inside(cuts, h @ data.basis, 5000, seed) @ data.basis.T
        for cuts, data, seed in ((known, one, 1), (complete, other, 2))
    ]
    assert known.count.sum() > n_known  # walls were found on the way
    for power in (1, 2):
        (a, error_a), (b, error_b) = (batch_errors(d**power) for d in draws)
        assert np.all(np.abs(a - b) <= 4.5 * np.hypot(error_a, error_b) + 1e-9)  # of up to 200 numbers
        assert np.median(error_a) < 0.1


def test_a_divisible_budget_is_a_linear_programme() -> None:
    rng = np.random.default_rng(7)
    menus = sp.Menus(rng.uniform(1, 2, (40, 4)), rng.uniform(1, 5, 40))
    u = np.array([0.8, 0.2, -0.3, 0.5]) + rng.standard_normal((40, 4))
    seen = sp.choose(u, menus.prices, menus.budgets)
    programme = sp.LinearProgramme(menus.prices[:, None], menus.budgets[:, None], upper=1.0)
    np.testing.assert_allclose(programme.solve(u), seen, atol=1e-9)
    # Today's regions.
    data, regions = sp.Decisions(programme, seen), sp.Regions.of(sp.Observations(menus.prices, menus.budgets, seen))
    other = rng.standard_normal((500, 4))
    for t, cone in enumerate(data.cones):
        assert cone.is_complete
        np.testing.assert_array_equal(np.all(other @ cone.facets.T >= 0, axis=1), regions[[t]].contains(other).ravel())
    # Today's posterior, under the prior of decisions, by importance weights on exact masses.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.NormalUtility(covariance="diagonal", random_state=1, mean_spread=0.2, n_draws=2000, n_effective=0)
        model.fit(data)
    draws = model._engine.mean_draws
    centre, spread = draws.mean(axis=0), np.linalg.cholesky(1.5 * np.cov(draws.T))
    normals = rng.standard_normal((500, 4))
    h = centre + normals @ spread.T
    fitted = np.array([normal_log_mass(regions, normal_laws(one, np.zeros(4))).log_mass.sum() for one in h])
    scales = np.linspace(0.005, 2.0, 400)  # τ flat up to 10 mean_spread, summed over
    squares = np.sum(h * h, axis=1)[:, None]
    prior = np.log(np.mean(scales**-4.0 * np.exp(-0.5 * squares / scales**2), axis=1))
    weights = np.exp(fitted + prior + 0.5 * np.sum(normals**2, axis=1) - (fitted + prior).max())
    weights /= weights.sum()
    exact, error = weights @ h, np.sqrt(np.sum((weights[:, None] * (h - weights @ h)) ** 2, axis=0))
    ours = model.diagnostics_.of("mean").mcse_mean
    assert np.all(np.abs(draws.mean(axis=0) - exact) < 4 * np.hypot(error, ours))
    assert np.all(np.hypot(error, ours) < 0.3 * draws.std(axis=0))
    width = np.sqrt(weights @ (h - exact) ** 2)
    np.testing.assert_allclose(draws.std(axis=0), width, rtol=0.2)


def test_no_data_leave_the_prior_of_the_law() -> None:
    # Latents of a single decision drawn anew from the law, in turn with the law: h and τ stay as their prior has them.
    bound, d, kept = 2.0, 3, []
    rng = np.random.default_rng(8)
    scale = 1.0
    h = scale * rng.standard_normal(d)
    for _ in range(40_000):
        h, scale, _ = next_law(h + rng.standard_normal((2, d)), scale, bound, rng)
        kept.append((scale, h[0], np.linalg.norm(h)))
    found = np.array(kept)
    got, error = batch_errors(np.column_stack([found[:, 0], found[:, 0] ** 2, found[:, 1], found[:, 1] ** 2]))
    exact = np.array([bound / 2, bound**2 / 3, 0.0, bound**2 / 3])
    assert np.all(np.abs(got - exact) < 5 * error)
    assert np.all(error < 0.06)


@cache
def grid_data() -> tuple[sp.Decisions, np.ndarray]:
    rng = np.random.default_rng(9)
    h = rng.standard_normal(12)
    return sp.Decisions(paths(3), paths(3).solve(h + rng.standard_normal((80, 12)), np.zeros(80, int))), h


def test_moments_are_matched_and_equal_over_representations() -> None:
    data, _ = grid_data()
    found = sp.fit_moments(data)
    np.testing.assert_allclose(data.hidden.T @ found, 0, atol=1e-9)
    again = paths(3).solve(found + np.random.default_rng(1).standard_normal((20_000, 12)), np.zeros(20_000, int))
    off = again.mean(axis=0) - data.chosen.mean(axis=0)
    assert np.all(np.abs(off) < 0.2 * data.chosen.std(axis=0) / np.sqrt(80) + 0.01)
    listed = sp.Decisions(Listed(all_paths(3)[None]), data.chosen)
    np.testing.assert_allclose(sp.fit_moments(listed, n_noise=400), sp.fit_moments(data, n_noise=400), atol=0.3)


@cache
def fitted() -> sp.NormalUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.NormalUtility(covariance="diagonal", random_state=2, n_draws=300, n_effective=0)
        return model.fit(grid_data()[0])


def test_equalities_scales_and_redundant_rows_make_the_same_fit() -> None:
    data, _ = grid_data()
    plain = paths(3)
    wider = sp.LinearProgramme(
        np.vstack([np.ones(12), 3 * np.eye(12)]), np.append(50.0, np.full(12, 3.0)),
        np.vstack([5 * plain.E[::-1], plain.E[0] + plain.E[1]]), np.append(5 * plain.e[::-1], plain.e[0] + plain.e[1]),
    )  # fmt: skip
    # Adding E'ν to utilities changes no decision, so it cannot change a fit.
    rng = np.random.default_rng(3)
    u, nu = rng.standard_normal((50, 12)), rng.standard_normal((50, 9))
    np.testing.assert_allclose(
        plain.solve(u, np.zeros(50, int)), plain.solve(u + nu @ plain.E, np.zeros(50, int)), atol=1e-9
    )
    other = sp.Decisions(wider, data.chosen)
    np.testing.assert_allclose(other.basis @ other.basis.T, data.basis @ data.basis.T, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.NormalUtility(covariance="diagonal", random_state=2, n_draws=300, n_effective=0).fit(other)
    one, two = fitted().diagnostics_.of("mean"), model.diagnostics_.of("mean")
    assert np.all(np.abs(model.mean_ - fitted().mean_) < 4.5 * np.hypot(one.mcse_mean, two.mcse_mean))


def test_what_a_fit_of_decisions_says(tmp_path: Path) -> None:
    data, h = grid_data()
    model = fitted()
    own = data.basis.T @ h
    assert own @ data.basis.T @ model.best_utility > 0.85 * np.linalg.norm(own)
    said = str(model.summary())
    assert "80 decisions" in said
    assert "8 directions of utility no decision reveals" in said
    every = all_paths(3)
    decided = model.decide(paths(3), n_customers=4000)
    shares = np.array([decided.probability(x)[0] for x in every])
    assert shares.sum() == pytest.approx(1.0)
    seen = np.array([np.mean(np.all(data.chosen == x, axis=1)) for x in every])
    assert np.all(np.abs(shares - seen) < 5 * np.sqrt(shares * (1 - shares) / 80) + 0.02)
    assert decided.error(every[0])[0] == pytest.approx(np.sqrt(shares[0] * (1 - shares[0]) / 4000))
    assert decided.probability(np.ones(12))[0] == 0.0
    np.testing.assert_allclose(decided.mean[0], shares @ every)
    assert len(decided.to_pandas()) == np.sum(shares > 0)
    scores = model.log_likelihood(data)
    each = np.array([np.log(shares[np.all(every == x, axis=1)][0]) for x in data.chosen])
    np.testing.assert_allclose(scores, each, atol=0.3)
    assert model.score(data) == pytest.approx(scores.mean())
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    np.testing.assert_array_equal(again.log_likelihood(data[:5]), model.log_likelihood(data[:5]))
    np.testing.assert_array_equal(
        again.decide(paths(3), n_customers=50).mean, model.decide(paths(3), n_customers=50).mean
    )
    assert again.verdicts().grades == model.verdicts().grades
    assert str(again.summary()) == said


def test_what_a_fit_of_decisions_is_not_asked() -> None:
    model = fitted()
    for ask in (model.demand, model.predict, model.elasticities, model.best_assortment):
        with pytest.raises(sp.InvalidArgument, match=r"ask model\.decide\(problem\)"):
            ask(np.ones(12))
    with pytest.raises(sp.InvalidArgument, match=r"ask model\.decide\(problem\)"):
        sp.write_report(model, "nowhere.html")
    with pytest.raises(sp.InvalidArgument, match="this fit is of Decisions"):
        model.log_likelihood(3)
    data, _ = grid_data()
    with pytest.raises(sp.InvalidArgument, match="covariance='diagonal'"):
        sp.NormalUtility().fit(data)
    with pytest.raises(sp.InvalidArgument, match="checkpoint cannot be used"):
        sp.NormalUtility(covariance="diagonal", checkpoint="x").fit(data)
    own = sp.Decisions(Listed(all_paths(3)[None]), data.chosen[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        short = sp.NormalUtility(covariance="diagonal", random_state=0, n_draws=10, n_effective=0).fit(own)
    assert not short.is_converged_
    with pytest.raises(sp.InvalidArgument, match="must be a LinearProgramme to be saved"):
        short.save("nowhere")


class Sloppy(Listed):
    """Now and then returns the second best."""

    def solve(self, utilities: np.ndarray, rows: np.ndarray) -> np.ndarray:
        values = utilities @ self.decisions[0].T
        second = np.argsort(values, axis=1)[:, -2]
        return self.decisions[0][np.where(np.arange(len(values)) % 3 == 0, second, values.argmax(axis=1))]


def test_an_inexact_optimiser_is_an_error_and_not_a_bias() -> None:
    every = all_paths(3)
    chosen = Listed(every[None]).solve(np.random.default_rng(0).standard_normal((30, 12)), np.zeros(30, int))
    with pytest.raises(sp.InvalidArgument, match="returns one that is worse than the decision seen"):
        sp.NormalUtility(covariance="diagonal", random_state=0).fit(sp.Decisions(Sloppy(every[None]), chosen))
    # A cone that says too much: the optimiser beats the decision inside it.
    wrong = Listed(every[None], knows=True)
    wrong.cone = lambda row, x: -x[None]  # type: ignore[method-assign]
    with pytest.raises(sp.InvalidArgument, match="beats"):
        Cuts(sp.Decisions(wrong, chosen), "refuse")


def test_decisions_that_nothing_explains_are_refused() -> None:
    every = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])
    data = sp.Decisions(Listed(every[None]), every[[1, 4, 3]])
    with pytest.raises(sp.InvalidObservations, match=r"no utility makes 1 decision \(row 1\) better"):
        Cuts(data, "refuse")
    np.testing.assert_array_equal(Cuts(data, "drop").rows, [0, 2])


def test_draws_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = grid_data()
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        cuts = Cuts(data, "refuse")
        sampler = DecisionGibbs(cuts, np.zeros(4), 2.0, 11)
        state = sampler.init(2)
        for k in range(20):
            state, _ = sampler.step(state, k)
        found.append(state)
    np.testing.assert_array_equal(found[0].latents, found[1].latents)
    np.testing.assert_array_equal(found[0].mean, found[1].mean)
