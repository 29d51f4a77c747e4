# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The peers' programmes against slow twins, and what the table says of failures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import stochpref as sp
from benchmarks import peers, published
from benchmarks.peers import Cell, Peer, PeerResult, compare, draw_trial, measure, pool, score_trial, show

LAWS = ("i", "ii", "iii")
PROGRAMMES = ("hinge", "trimmed", "suboptimality", "relative", "feasibility")


def common(n: int, T: int, law: str, seed: int, corruption: float = 0.0) -> tuple[sp.Observations, np.ndarray]:
    trial = draw_trial(Cell("corruption", law, n, T, corruption=corruption, seed=seed), 0)
    return trial.observations, trial.truth


@pytest.mark.parametrize("law", LAWS)
def test_violation_is_the_worst_inequality(law: str, rng: np.random.Generator) -> None:
    regions = sp.Regions.of(common(5, 40, law, 1, 0.5)[0])
    for u in rng.standard_normal((20, 5)):
        slow = [np.max(regions.inequalities(t)[0] @ u) for t in range(len(regions))]
        np.testing.assert_allclose(published.violation(regions, u), slow, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_rows_with_a_shadow_price_say_what_the_inequalities_say(law: str, rng: np.random.Generator) -> None:
    """At the best λ the worst row of an observation with margin is its violation."""
    regions = sp.Regions.of(common(4, 30, law, 2, 0.5)[0])
    rows = published.stack_rows(regions)
    for u in rng.standard_normal((10, 4)):
        ratio = u * regions.price_scale / regions.slope
        shadow = np.maximum(np.where(regions.side == -1, ratio, 0.0).max(axis=1), 0.0)
        value = rows.matrix @ np.append(u, shadow)
        assert np.all(value[rows.has_margin == 0] <= 1e-12)
        worst = np.full(len(regions), -np.inf)
        np.maximum.at(worst, rows.owner, np.where(rows.has_margin == 1, value, -np.inf))
        np.testing.assert_allclose(worst, published.violation(regions, u), atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_the_hinge_is_the_optimum_of_the_programme_itself(law: str) -> None:
    """The dual must price the same loss as the programme with one slack per inequality."""
    observations, _ = common(4, 60, law, 3, 0.2)
    regions = sp.Regions.of(observations)
    rows = published.stack_rows(regions)
    k, width = rows.matrix.shape
    margin = np.where(regions.kind[rows.owner] == "tight", 0.5, 1.0)
    matrix = np.hstack([rows.matrix.toarray(), -np.eye(k)])
    bounds = [(None, None)] * 4 + [(0, None)] * (width - 4 + k)
    cost = np.append(np.zeros(width), np.ones(k))
    best = linprog(cost, A_ub=matrix, b_ub=-margin, bounds=bounds).fun
    u = published.fit_hinge(observations, np.random.default_rng(0))
    bounds[:4] = [(value, value) for value in u]
    assert linprog(cost, A_ub=matrix, b_ub=-margin, bounds=bounds).fun == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("law", LAWS)
def test_feasibility_explains_clean_data_and_fails_on_conflicts(law: str, rng: np.random.Generator) -> None:
    observations, _ = common(4, 50, law, 4)
    assert sp.consistency(published.fit_feasible(observations, rng), observations) == 1.0
    with pytest.raises(published.PeerFailure, match="conflict"):
        published.fit_feasible(common(4, 200, law, 4, 0.3)[0], rng)


def test_trimming_finds_the_common_utility_among_odd_customers(rng: np.random.Generator) -> None:
    observations, truth = common(4, 300, "i", 5, 0.1)
    regions = sp.Regions.of(observations)
    clean = regions.contains(truth, strict=True)
    u = published.fit_trimmed_hinge(observations, rng)
    assert sp.consistency(u, observations[clean]) > 0.97
    assert sp.consistency(u, observations) >= sp.consistency(published.fit_hinge(observations, rng), observations)


def suboptimality(observations: sp.Observations, u: np.ndarray) -> np.ndarray:
    best = sp.choose(u, observations.prices, observations.budgets)
    return np.mean(np.sum(u[..., None, :] * best, axis=-1) - u @ observations.bundles.T, axis=-1)


def test_suboptimality_is_least_on_its_normalisation(rng: np.random.Generator) -> None:
    observations, _ = common(3, 200, "i", 6, 0.3)
    probes = rng.standard_normal((2000, 1, 3))
    norms = np.abs(probes).max(axis=-1, keepdims=True)
    u = published.fit_suboptimality(observations, rng)
    assert np.abs(u).max() == pytest.approx(1.0)
    losses = [float(suboptimality(observations, probe[0])) for probe in probes / norms]
    assert float(suboptimality(observations, u)) <= min(losses) * 1.001
    u = published.fit_relative_suboptimality(observations, rng)
    worth = observations.bundles.mean(axis=0)
    assert u @ worth == pytest.approx(1.0)
    losses = [float(suboptimality(observations, p[0] / (p[0] @ worth))) for p in probes if p[0] @ worth > 0]
    assert float(suboptimality(observations, u)) <= min(losses) * 1.001


@pytest.mark.parametrize("name", PROGRAMMES)
def test_failures_are_rows(name: str) -> None:
    rows = compare(Cell("gaussian", "i", 4, 60, 1.0), 2, [name])
    assert rows[1].name == peers.PEERS[name].name
    assert rows[1].seconds is not None
    assert (rows[1].score is None) == (rows[1].n_failures == 2)
    if name == "feasibility":
        text = show(Cell("gaussian", "i", 4, 60, 1.0), 2, rows)
        assert "failed" in text
        assert "2 of 2 failed: the observations conflict" in text


def test_a_missing_package_is_said_to_be_missing() -> None:
    peer = Peer("nobody's method", peers.fit_hinge, ("no_such_package_anywhere",))
    result = measure(peer, common(3, 20, "i", 0)[0], np.random.default_rng(0))
    assert result == PeerResult(None, None, None, "not installed: no_such_package_anywhere")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), "no direction"),
        (np.array([1.0, np.nan, 0.0]), "no direction"),
        (published.PeerFailure("gave up"), "gave up"),
        (RuntimeError("broke"), "RuntimeError: broke"),
    ],
)
def test_a_peer_that_fails_is_recorded(answer: object, message: str) -> None:
    def fit(observations: sp.Observations, rng: np.random.Generator) -> np.ndarray:
        if isinstance(answer, Exception):
            raise answer
        return np.asarray(answer)

    result = measure(Peer("x", fit), common(3, 20, "i", 0)[0], np.random.default_rng(0))
    assert result.direction is None
    assert result.seconds is not None
    assert message in str(result.failure)


def test_trials_are_paired_across_methods_and_concentrations() -> None:
    seen: dict[str, list[tuple[np.ndarray, float]]] = {}

    def record(name: str, observations: sp.Observations, rng: np.random.Generator) -> PeerResult:
        seen.setdefault(name, []).append((observations.bundles, rng.random()))
        return PeerResult(np.ones(4), 0.0, 0.0, None)

    compare(Cell("gaussian", "ii", 4, 30), 2, ["hinge", "likelihood"], record)
    for (x, draw), (other, other_draw) in zip(seen["hinge"], seen["likelihood"], strict=True):
        np.testing.assert_array_equal(x, other)
        assert draw == other_draw
    assert not np.array_equal(seen["hinge"][0][0], seen["hinge"][1][0])
    low, high = (draw_trial(Cell("gaussian", "ii", 4, 30, kappa), 1) for kappa in (1.0, 9.0))
    np.testing.assert_array_equal(low.truth, high.truth)
    np.testing.assert_array_equal(low.observations.prices, high.observations.prices)
    longer = draw_trial(Cell("gaussian", "ii", 4, 60, 1.0), 1)
    np.testing.assert_array_equal(longer.test.bundles, low.test.bundles)


def test_pooled_scores_are_the_accuracy_of_the_library() -> None:
    cell = Cell("gaussian", "i", 4, 30)
    trials = [draw_trial(cell, index) for index in range(3)]
    guesses = np.random.default_rng(1).standard_normal((3, 4))
    ratio, error = pool([score_trial(cell, trial, guess) for trial, guess in zip(trials, guesses, strict=True)])
    truths = np.array([trial.truth for trial in trials])
    prices, budgets = (np.array([getattr(trial.test, name) for trial in trials]) for name in ("prices", "budgets"))
    assert ratio == pytest.approx(sp.accuracy(truths, guesses, prices, budgets))
    assert error > 0
    assert pool([(1.0, 2.0), (3.0, 4.0)]) == pytest.approx((2 / 3, 1 / 9))  # residuals ∓1/3 over a total of 6
    assert np.isnan(pool([(1.0, 2.0)])[1])


def test_ours_and_the_ceiling_are_in_the_table() -> None:
    rows = {row.name: row for row in compare(Cell("gaussian", "i", 4, 200), 2, ["likelihood", "hinge"])}
    ceiling, ours = rows["ceiling: all utilities seen"], rows["maximum likelihood (ours)"]
    assert 0.9 < ours.score <= 1.0
    assert 0.9 < ceiling.score <= 1.0
    assert ours.seconds > 0
    with pytest.raises(SystemExit):
        peers.main(["--only", "nobody"])
