"""Decisions of linear programmes: regret and log score beside perturbed Fenchel–Young learning, and calibration.

``python -m benchmarks programmes --parts regret`` fits shortest paths on a 5 × 5 grid with closed arcs at three noise
levels, and prints regret beside that of the method of moments, which is perturbed Fenchel–Young run to convergence, and
of its usual 40 Adam steps (an implementation of our own). ``--parts ranks`` draws laws from the prior and counts where
they lie among posterior draws.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import stochpref as sp
from stochpref.programmes.deciding import log_decided

Array = NDArray[np.float64]

CLOSED = 4  # arcs of each grid
FRESH = 1000  # grids that nobody learned from
LEVELS = ("low noise", "noise", "misspecified")


def grid(size: int) -> tuple[Array, Array]:
    """Return flow balances E (nodes, arcs), e of paths right and down from one corner of a grid to the other."""
    arcs = [(i * size + j, i * size + j + 1) for i in range(size) for j in range(size - 1)]
    arcs += [(i * size + j, (i + 1) * size + j) for i in range(size - 1) for j in range(size)]
    balances, right = np.zeros((size * size, len(arcs))), np.zeros(size * size)
    for k, (start, end) in enumerate(arcs):
        balances[start, k], balances[end, k] = 1.0, -1.0
    right[0], right[-1] = 1.0, -1.0
    return balances, right


def with_closures(size: int, count: int, rng: np.random.Generator) -> sp.LinearProgramme:
    """Return grids, each with a few arcs closed at random that leave a way through."""
    balances, right = grid(size)
    upper = np.ones((count, balances.shape[1]))
    for t in range(count):
        while True:
            closed = rng.choice(balances.shape[1], CLOSED, replace=False)
            upper[t] = 1.0
            upper[t, closed] = 0.0
            reached = {0}
            for node in range(size * size):
                ends = [int(np.flatnonzero(balances[:, k] < 0)[0]) for k in np.flatnonzero(balances[node] > 0)
                        if upper[t, k]]  # fmt: skip
                reached |= set(ends) if node in reached else set()
            if size * size - 1 in reached:
                break
    return sp.LinearProgramme(E=balances, e=right, upper=upper)


def draw_utilities(level: str, mean: Array, count: int, rng: np.random.Generator) -> Array:
    """Return utilities about a mean of costs between 1 and 3: unit noise, twice and more of it, or heavy tails."""
    size = (count, len(mean))
    if level == "misspecified":
        return mean * (1.0 + 0.5 * rng.standard_t(3, size))
    return mean + (0.25 if level == "low noise" else 1.0) * rng.standard_normal(size)


def adam_steps(data: sp.Decisions, rng: np.random.Generator, steps: int = 40, rate: float = 0.1) -> Array:
    """Return the mean after the usual few epochs of perturbed Fenchel–Young learning, one draw of noise a decision."""
    h, first, second = (np.zeros(data.n_variables) for _ in range(3))
    rows = np.arange(len(data))
    for k in range(1, steps + 1):
        found = data.problem.solve(h + rng.standard_normal(data.chosen.shape), rows)
        gradient = np.mean(found - data.chosen, axis=0)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        h = h - rate * first / (1 - 0.9**k) / (np.sqrt(second / (1 - 0.999**k)) + 1e-8)
    return h


def regret(truth: Array, found: Array, fresh: sp.LinearProgramme) -> float:
    """Return how much worse, in percent, decisions are that are best for what was found, at grids not learned from."""
    rows = np.arange(FRESH)
    best, taken = (fresh.solve(np.tile(u, (FRESH, 1)), rows) @ truth for u in (truth, found))
    return float(100 * np.mean(best - taken) / np.mean(np.abs(best)))


class Trial(NamedTuple):
    """Of one data set: regret of ours, moments, Adam; log scores of ours, moments; seconds; verdict, R-hat, ESS."""

    regret: tuple[float, float, float]
    score: tuple[float, float]
    seconds: float
    converged: str
    r_hat: float
    effective: float


def run_trial(level: str, count: int, seed: int) -> Trial:
    """Fit one data set."""
    rng = np.random.default_rng([seed, count, LEVELS.index(level)])
    mean = -rng.uniform(1, 3, 40)
    programme, fresh = with_closures(5, count, rng), with_closures(5, FRESH, rng)
    data = sp.Decisions(programme, programme.solve(draw_utilities(level, mean, count, rng)))
    later = sp.Decisions(fresh, fresh.solve(draw_utilities(level, mean, FRESH, rng)))
    started = time.process_time()
    model = sp.NormalUtility(covariance="diagonal", random_state=seed, n_draws=500, n_effective=400, max_draws=500)
    model.fit(data)
    seconds = time.process_time() - started
    moments = sp.fit_moments(data, random_state=seed)
    early = adam_steps(data, rng)
    by_moments = log_decided(fresh, later.chosen, moments[None], np.random.default_rng(seed)).log_probability
    found = model.diagnostics_
    return Trial(
        tuple(regret(mean, h, fresh) for h in (model.best_utility, moments, early)),
        (model.score(later), float(by_moments.mean())), seconds, model.verdicts().by_name["converged"],
        found.worst_r_hat, found.fewest_effective,
    )  # fmt: skip


def told(values: Array) -> str:
    """Return a mean with its standard error."""
    return f"{values.mean():+.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def study_regret(sizes: tuple[int, ...], seeds: int) -> None:
    """Print regret and log scores."""
    print(
        "regret in %, of ours, moments (perturbed Fenchel–Young to convergence) and 40 Adam steps, at 1,000 new grids"
    )
    for count in sizes:
        for level in LEVELS:
            trials = [run_trial(level, count, seed) for seed in range(seeds)]
            found, score = np.array([t.regret for t in trials]), np.array([t.score for t in trials])
            seconds = np.array([t.seconds for t in trials])
            r_hat, effective = (np.median([getattr(t, name) for t in trials]) for name in ("r_hat", "effective"))
            print(
                f"T = {count}, {level}: {found.mean(axis=0).round(4)}; ours less moments "
                f"{told(found[:, 0] - found[:, 1])}, less Adam {told(found[:, 0] - found[:, 2])}; log score "
                f"{score.mean(axis=0).round(4)}, ours less moments {told(score[:, 0] - score[:, 1])}; "
                f"{seconds.mean():.1f} s of a core (most {seconds.max():.1f}); converged "
                f"{[t.converged for t in trials]}, R-hat {r_hat:.2f}, fewest effective {effective:.0f} of 2,000 "
                f"(medians); {seeds} seeds",
                flush=True,
            )


def ranks_of(sets: int, count: int, spread: float, draws: int) -> tuple[Array, Array]:
    """Return ranks (sets, k) of the truth among 99 draws: the directions that paths reveal, and the length."""
    balances, right = grid(3)
    programme = sp.LinearProgramme(E=balances, e=right, upper=1.0)
    basis = sp.Decisions(programme, programme.solve(np.ones((1, 12)), np.zeros(1, int))).basis
    ranks, effective = [], []
    for seed in range(sets):
        rng = np.random.default_rng([seed, count])
        scale = rng.uniform(0, 10 * spread)
        h = basis @ (scale * rng.standard_normal(basis.shape[1]))
        chosen = programme.solve(h + rng.standard_normal((count, 12)), np.zeros(count, int))
        model = sp.NormalUtility(
            covariance="diagonal",
            random_state=seed,
            mean_spread=spread,
            n_draws=draws,
            n_effective=400,
            max_draws=8 * draws,
        ).fit(sp.Decisions(programme, chosen))
        drawn = model._engine.mean_draws
        drawn = drawn[np.linspace(0, len(drawn) - 1, 99).astype(int)] @ basis
        truth = h @ basis
        below = np.append(np.sum(drawn < truth, axis=0), np.sum(np.linalg.norm(drawn, axis=1) < np.linalg.norm(truth)))
        ranks.append(below)
        effective.append(model.diagnostics_.fewest_effective)
    return np.array(ranks), np.array(effective)


def study_ranks(sets: int, count: int, spread: float, draws: int) -> None:
    """Print tests of uniform ranks, ten bins each."""
    started = time.process_time()
    ranks, effective = ranks_of(sets, count, spread, draws)
    print(
        f"ranks: 3 × 3 paths, T = {count}, τ up to {10 * spread:g}, {sets} sets; fewest effective draws of a set, of a "
        f"quarter, of half: {np.quantile(effective, (0, 0.25, 0.5)).round()}; {time.process_time() - started:.0f} s of "
        "a core"
    )
    for k in range(ranks.shape[1]):
        bins = np.bincount(ranks[:, k] // 10, minlength=10)
        p = float(chi2.sf(np.sum((bins - sets / 10) ** 2) / (sets / 10), 9))
        covered = np.mean((ranks[:, k] >= 5) & (ranks[:, k] < 95))
        name = "length" if k == ranks.shape[1] - 1 else f"direction {k}"
        print(f"    {name}: {bins}, p {p:.3f}, 90 % cover {covered:.3f}")


STUDIES: dict[str, Callable[[argparse.Namespace], None]] = {
    "regret": lambda o: study_regret(tuple(map(int, o.sizes.split(","))), o.seeds),
    "ranks": lambda o: study_ranks(o.sets, 40, 0.2, 1000),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks programmes", description=__doc__)
    parser.add_argument("--parts", default=",".join(STUDIES))
    parser.add_argument("--sizes", default="200,1000", help="decisions learned from")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for part in options.parts.split(","):
            STUDIES[part](options)


if __name__ == "__main__":
    main()
