# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling under normal laws: sweeps against rejection, laws against the exact posterior and the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import stochpref as sp
from stochpref.normal.diagonal import DiagonalPosterior
from stochpref.normal.gibbs import NormalGibbs, NormalState
from stochpref.normal.prior import NormalPrior
from stochpref.posterior.chains import Plan, run_chains
from stochpref.posterior.choosing import weighted_choice
from stochpref.posterior.diagnostics import diagnose
from stochpref.posterior.samplers.around import AroundMode
from stochpref.problems import OneOf, Open, Problem, Whole
from tests.small_fits import purchases

GOODS = ("tea", "milk", "bread")
COVARIANCE = np.array([[1.0, 0.6, -0.3, 0.2], [0.6, 1.5, 0.1, 0.0], [-0.3, 0.1, 0.8, -0.2], [0.2, 0.0, -0.2, 0.6]])
MEAN = np.array([0.5, 0.2, -0.1, 0.7])


def fixed_law(n: int, n_chains: int, latents: np.ndarray) -> NormalState:
    def each(value: np.ndarray) -> np.ndarray:
        return np.repeat(value[None], n_chains, axis=0)

    own = np.full(n, 0.1)
    return NormalState(
        latents, each(MEAN[:n]), each(COVARIANCE[:n, :n]), each(own), each(np.zeros((n, 0))), each(np.array(4.0))
    )


SWEPT: dict[str, tuple[Problem, float | None]] = {
    "slack": (sp.problems.Divisible(), 5.0),
    "pivot": (sp.problems.Divisible(), 1.7),
    "open": (Open(scale=1.2), None),
    "one, by value": (OneOf(), None),
    "one, by unit": (OneOf(reading="unit"), None),
    "whole": (Whole(), 2.4),
}


@pytest.mark.parametrize("name", list(SWEPT))
def test_sweeps_stay_with_the_law_inside_the_region(name: str) -> None:
    problem, budget = SWEPT[name]
    rng = np.random.default_rng(3)
    prices = np.array([[1.0, 1.3, 0.8]])
    menu = sp.Menus(prices, None if budget is None else [budget], goods=GOODS, problem=problem)
    n = len(problem.coordinates(GOODS))
    crowd = rng.multivariate_normal(MEAN[:n], COVARIANCE[:n, :n], 60_000)
    crowd = crowd[problem.takes_part(crowd[:, None], menu)[:, 0]]
    bundles = problem.choose(crowd[:, None], menu)[:, 0]
    kinds, counts = np.unique(np.round(bundles, 9), axis=0, return_counts=True)
    bought = kinds[np.argmax(counts * (kinds.sum(axis=1) > 0))]
    truth = crowd[np.all(np.round(bundles, 9) == bought, axis=1)]
    size = 400
    seen = sp.Observations(
        np.repeat(prices, size, axis=0), None if budget is None else np.full(size, budget),
        np.repeat(bought[None], size, axis=0), goods=GOODS, problem=problem,
    )  # fmt: skip
    regions = problem.regions(seen) if problem.has_masses else problem.intervals(seen)
    prior = NormalPrior(np.ones(n), 20.0, 2.0, n)
    gibbs = NormalGibbs(regions, prior, 5, is_level_open=problem.has_masses and problem.span(n) is not None)
    state = fixed_law(n, 1, gibbs.init(1).latents)
    means, squares = [], []
    for k in range(120):
        gibbs.sweep(state, k)
        if k >= 20 and k % 5 == 0:
            means.append(state.latents[0].mean(axis=0))
            squares.append(np.cov(state.latents[0].T))
    assert np.all(regions.contains(state.latents[0, 0])[0]) or problem.span(n) is not None
    # Rows are independent, sweeps are not quite: as many draws as a fifth of them.
    error = truth.std(axis=0) * np.sqrt(5.0 / (size * len(means)) + 1.0 / len(truth))
    assert np.all(np.abs(np.mean(means, axis=0) - truth.mean(axis=0)) < 4.5 * error)
    np.testing.assert_allclose(np.mean(squares, axis=0), np.cov(truth.T), atol=0.12)


def test_the_two_routes_to_the_posterior_agree() -> None:
    data = purchases(3, 60)
    recorded = data.problem.recorded(data)
    prior = NormalPrior.of("diagonal", 1, recorded, 3, None, 2.0)
    run = run_chains(NormalGibbs(recorded.regions, prior, 1), Plan(4, 900, 0), fingerprint={})
    posterior = DiagonalPosterior(recorded, prior)
    sampler = AroundMode(
        posterior.near(posterior.mode()), lambda at: posterior.at(at, gradient=False)[0], posterior.parameters, 2
    )
    plan = Plan(4, 400, 600)
    choice = weighted_choice(sampler, 2, plan, "")
    exact = choice.finish_fn(
        run_chains(sampler, choice.adapt_fn(plan), fingerprint={}, diagnose_fn=choice.diagnose_fn).draws
    )
    for take in (
        lambda drawn: drawn["mean"],
        lambda drawn: 0.5 * np.log(np.diagonal(drawn["covariance"], axis1=2, axis2=3)),
    ):
        ours, theirs = take(run.draws.parameters), take(exact.parameters)
        found = diagnose({"x": ours})
        error = np.hypot(found.mcse_mean, theirs.reshape(-1, 3).std(axis=0) / np.sqrt(500.0))
        assert np.all(np.abs(ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))) < 4.0 * error)
        np.testing.assert_allclose(ours.std(axis=(0, 1)), theirs.std(axis=(0, 1)), rtol=0.2)


def distance_from_prior(covariance: str, n_replicates: int, n_steps: int = 5, **bugs: Any) -> float:
    """Return the smallest p-value of whether laws are still the prior's after steps that leave it alone.

    Before every step utilities and menus are drawn afresh from the law: utilities that were swept inside regions of
    other menus would not do.
    """
    n, size = 3, 10
    prior = NormalPrior(np.ones(n), 6.0, 1.5, {"diagonal": 0, "factor": 1, "full": n}[covariance])
    rng = np.random.default_rng(7)
    told: dict[str, list[list[float]]] = {"prior": [], "after": []}

    def say(law: tuple[np.ndarray, np.ndarray]) -> list[float]:
        mean, matrix = law
        return [
            mean[0],
            float(np.log(np.linalg.det(matrix))),
            float(np.log(mean @ mean)),
            float(np.log(matrix[0, 0] / matrix[1, 1])),
            float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1])),
        ]

    for _ in range(n_replicates):
        loadings = rng.standard_normal((n, 1)) if covariance == "factor" else np.zeros((n, 0))
        mean, matrix = prior.sample(rng)
        own = np.diag(matrix).copy()
        if covariance == "factor":
            own = prior.degrees / rng.chisquare(prior.degrees, n)
            matrix = np.diag(own) + loadings @ loadings.T
        told["prior"].append(say((mean, matrix)))
        # τ² given the mean, as in the prior.
        spread2 = 0.5 * (4.0 * prior.spread**2 + mean @ mean) / rng.standard_gamma(0.5 * (4.0 + n))
        state = NormalState(
            np.empty((1, size, n)), mean[None], matrix[None], own[None], loadings[None], np.array([spread2])
        )
        for step in range(n_steps):
            drawn = sp.MenuLaw("uniform").sample(size, n, rng=rng)
            z = rng.multivariate_normal(state.mean[0], state.covariance[0], size)
            seen = sp.Observations(drawn.prices, drawn.budgets, sp.choose(z, drawn.prices, drawn.budgets))
            gibbs = NormalGibbs(sp.Regions.of(seen), prior, int(rng.integers(2**62)), **bugs)
            state, _ = gibbs.step(state._replace(latents=z[None].copy()), step)
        told["after"].append(say((state.mean[0], state.covariance[0])))
    one, other = np.array(told["prior"]), np.array(told["after"])
    kept = slice(None, 4 if covariance == "diagonal" else None)
    return min(stats.ks_2samp(a, b).pvalue for a, b in zip(one.T[kept], other.T[kept], strict=True))


@pytest.mark.parametrize("covariance", ["diagonal", "factor", "full"])
def test_without_data_the_prior_stays(covariance: str) -> None:
    assert distance_from_prior(covariance, 300) > 1e-3


@pytest.mark.parametrize("bug", [{"scale_power": 3.0}, {"most_steps": 0}])
def test_planted_bugs_are_caught(bug: dict[str, Any]) -> None:
    assert distance_from_prior("diagonal", 300, **bug) < 1e-4
