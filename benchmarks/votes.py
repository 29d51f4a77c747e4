"""Whole goods that everybody is offered alike: held-out votes, one law and segments against a logit over bundles.

``python -m benchmarks votes`` reads the votes of the folder named by STOCHPREF_REAL_DATA, budgets as stated. The first
fifth of ``default_rng(0).permutation(T)`` is held out, then the second; scores are mean log-probabilities of what was
held out, given that a vote is not empty. ``--parts simulated`` fits simulated segments at one menu, or at menus of
their own, and compares bundle probabilities with the truth.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

import stochpref as sp
from benchmarks.segments import random_mixture
from stochpref.segments.averages import log_probabilities
from stochpref.segments.objective import Mixture

Array = NDArray[np.float64]


def fifth(data: sp.Observations, number: int) -> tuple[sp.Observations, sp.Observations]:
    """Return what is learned from and the fifth of this number held out."""
    order, size = np.random.default_rng(0).permutation(len(data)), len(data) // 5
    held = order[number * size : (number + 1) * size]
    return data[np.setdiff1d(order, held)], data[np.sort(held)]


def feasible(data: sp.Observations) -> Array:
    """Return every bundle that is not empty and within the budget of the first menu."""
    bundles = np.array(list(product(*(range(int(cap) + 1) for cap in data.caps[0]))), np.float64)
    bundles = bundles[bundles @ data.prices[0] <= data.budgets[0] * (1 + 1e-9)]
    return bundles[bundles.any(axis=1)]


def logit_over_bundles(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Return log-probabilities under a multinomial logit over bundles, each worth the sum of its goods."""
    bundles = feasible(learn)
    mean = learn.bundles.mean(axis=0)

    def falling(worth: Array) -> tuple[float, Array]:
        value = bundles @ worth
        total = logsumexp(value)
        return float(total - mean @ worth + 1e-6 * worth @ worth), np.exp(value - total) @ bundles - mean + 2e-6 * worth

    worth = minimize(falling, np.zeros(learn.n_goods), jac=True, method="L-BFGS-B").x
    return np.asarray(fresh.bundles @ worth - logsumexp(bundles @ worth))


def told(values: Array) -> str:
    """Return a mean with its standard error."""
    return f"{values.mean():+.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def study_votes(folder: Path, only: str, seeds: int, *, posterior: bool) -> None:
    """Print scores of every file of votes."""
    for path in sorted((folder / "pb_knapsack").glob("*.pb")):
        if only.casefold() not in path.stem.casefold():
            continue
        data = sp.read_observations(path)
        print(f"{path.stem}: {len(data):,} votes, {data.n_goods} projects, budget as stated", flush=True)
        gains: dict[int, list[Array]] = {}
        for number in (0, 1):
            learn, fresh = fifth(data, number)
            logit = logit_over_bundles(learn, fresh)
            print(f"    fifth {number + 1}: logit over bundles {logit.mean():.4f}", flush=True)
            if posterior and number == 0:
                started = time.process_time()
                model = sp.HeterogeneousUtility(random_state=0).fit(learn)
                found = model.log_likelihood_estimate(fresh)
                print(
                    f"        one law {found.log_probability.mean():.4f}, Monte Carlo error {found.mean_error:.4f}, "
                    f"less logit {told(found.log_probability - logit)}; R-hat {model.diagnostics_.worst_r_hat:.3f}, "
                    f"{time.process_time() - started:.0f} s of a core",
                    flush=True,
                )
            for seed in range(seeds):
                started = time.process_time()
                segmented = sp.SegmentedUtility(random_state=seed).fit(learn)
                seconds = time.process_time() - started
                scored = segmented.log_likelihood_estimate(fresh)
                own, by_k = scored.log_probability, segmented.score_path(fresh)
                gains.setdefault(seed, []).append(own - logit)
                each = "  ".join(f"{k}: {value:.4f}" for k, value in by_k.items())
                print(
                    f"        segments, seed {seed}: K {segmented.n_segments_}, averaged {own.mean():.4f}, Monte Carlo "
                    f"error {scored.mean_error:.4f}, less logit {told(own - logit)}; by K {each}; rivals "
                    f"{[row.n_rivals for row in segmented.path_]}; {seconds:.1f} s of a core",
                    flush=True,
                )
        for seed, both in gains.items():
            print(f"    both fifths, seed {seed}: segments less logit {told(np.concatenate(both))}", flush=True)


class Trial(NamedTuple):
    """Of one simulated data set: segments by BIC, largest angle, Kullback–Leibler divergences at K and averaged."""

    n_segments: int
    angle: float
    at_true: float
    averaged: float
    seconds: float


def run_trial(n: int, k: int, size: int, seed: int, *, is_shared: bool) -> Trial:
    """Fit one data set; divergences are over all bundles of a menu."""
    rng = np.random.default_rng([seed, n, k])
    law = random_mixture(n, k, rng)
    count = 1 if is_shared else size
    prices, budgets = rng.uniform(1, 2, (count, n)), rng.uniform(0.3, 0.6, count) * 1.5 * n
    rows = np.zeros(size, np.intp) if is_shared else np.arange(size)
    data = sp.simulate(law, sp.Menus(prices[rows], budgets[rows], problem="whole"), size, rng=rng)
    kept = data[data.bundles.any(axis=1)]
    seen = sp.Observations(kept.prices, kept.budgets, kept.bundles, problem="whole", nonempty=True)
    started = time.process_time()
    model = sp.SegmentedUtility(random_state=seed).fit(seen)
    seconds = time.process_time() - started
    every = feasible(seen[:1])
    menu = sp.Observations(
        np.tile(seen.prices[:1], (len(every), 1)), np.full(len(every), seen.budgets[0]), every, problem="whole",
        nonempty=True,
    )  # fmt: skip
    h = np.array([one.concentration * one.mean_direction for one in law.segments])
    shares = model._engine.shares_of_all(seen, law.weights[None], h[None])[0]
    recorded = law.weights**2 / shares  # shares of all are those recorded over the probability to be so
    truth = log_probabilities(menu, Mixture(np.log(recorded / recorded.sum()), h), seed).log_probability
    p = np.exp(truth - logsumexp(truth))

    def divergence(found: Array) -> float:
        return float(p @ (truth - logsumexp(truth) - found + logsumexp(found)))

    own = model._path[k - 1].mixture if len(model._path) >= k else model._path[-1].mixture
    directions = own.h / np.linalg.norm(own.h, axis=1, keepdims=True)
    cosines = directions @ np.array([one.mean_direction for one in law.segments]).T
    angle = float(np.degrees(np.arccos(np.clip(cosines.max(axis=0).min(), -1, 1))))
    at_true = divergence(log_probabilities(menu, own, seed).log_probability)
    return Trial(model.n_segments_, angle, at_true, divergence(model.log_likelihood(menu)), seconds)


def study_simulated(sets: int, n: int, k: int, size: int) -> None:
    """Print how far fits to simulated segments are from the truth."""
    limit = (k * (n + 1) - 1) / (2 * size)
    print(f"simulated, n = {n}, K = {k}, T = {size}: {sets} sets, statistical limit of the divergence {limit:.4f}")
    for is_shared in (True, False):
        trials = [run_trial(n, k, size, seed, is_shared=is_shared) for seed in range(sets)]
        angles, at_true, averaged = (
            np.array([getattr(t, f) for t in trials]) for f in ("angle", "at_true", "averaged")
        )
        print(
            f"    {'one menu' if is_shared else 'own menus'}: K by BIC {[t.n_segments for t in trials]}; angles "
            f"{np.round(angles, 1)}; divergence over the limit, K = {k} {told(at_true / limit)}, averaged "
            f"{told(averaged / limit)}; {np.mean([t.seconds for t in trials]):.1f} s of a core",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks votes", description=__doc__)
    parser.add_argument("--parts", default="votes", help="votes, simulated")
    parser.add_argument("--only", default="", help="files whose name holds this word")
    parser.add_argument("--seeds", type=int, default=1, help="fits of segments to every file and fifth")
    parser.add_argument("--posterior", action="store_true", help="one law as well, by Gibbs sampling")
    parser.add_argument("--sets", type=int, default=5)
    options = parser.parse_args()
    parts, folder = options.parts.split(","), os.environ.get("STOCHPREF_REAL_DATA")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if "votes" in parts:
            if folder is None:
                print("votes: name the folder of the data in STOCHPREF_REAL_DATA")
            else:
                study_votes(Path(folder), options.only, options.seeds, posterior=options.posterior)
        if "simulated" in parts:
            study_simulated(options.sets, 10, 2, 500)


if __name__ == "__main__":
    main()
