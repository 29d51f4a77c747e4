"""Simulation-based calibration: if truth comes from the prior, its rank among posterior draws is uniform.

``python -m benchmarks.calibration`` draws (μ, κ) from the prior, a data set from them, the posterior from that, many
times, and compares the ranks of κ and of a random projection of μ with simultaneous 95 % bands for the cdf of uniform
ranks. It also counts how often 90 % intervals hold the truth.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import stochpref as sp
from stochpref.laws import uniform_directions
from stochpref.problems import OneOf, Open, Problem

Array = NDArray[np.float64]
DrawFn = Callable[[sp.Observations, int], tuple[Array, Array]]
MenusFn = Callable[[int, int, int, np.random.Generator], sp.MenuLaw | sp.Menus]

N_KEPT = 99  # draws kept of each posterior, so that ranks run from 0 to 99
BOUNDS = (1.0, 10.0)
LOW_BOUNDS = (1.0, 5.0)  # where some customers are not recorded, but hardly ever nearly all
PROBLEMS: dict[str, Problem | None] = {
    "divisible": None,
    "open": Open(scale=1.5),
    "one by value": OneOf(),
    "one by unit": OneOf(reading="unit"),
    "one or none": OneOf(outside=True),
}
LAWS = ("uniform", "discrete", "fixed")
OBSERVATIONS = {3: 30, 5: 40, 10: 60, 25: 150}


class Case(NamedTuple):
    """Draws kept, ranks of κ and of a projection of μ, whether 90 % intervals hold κ, share of the components held."""

    n_kept: int
    concentration_rank: int
    projection_rank: int
    holds_concentration: bool
    share_held: float


class Calibration(NamedTuple):
    """Of many data sets: distance of the ranks' cdf from uniform in band widths (inside if at most 1), and coverage."""

    concentration: float
    projection: float
    concentration_coverage: float
    direction_coverage: float
    n_cases: int

    @property
    def is_calibrated(self) -> bool:
        """Whether both cdfs stay inside their bands."""
        return max(self.concentration, self.projection) <= 1.0


def fit_draws(
    observations: sp.Observations, seed: int, *, sampler: str = "auto", bounds: tuple[float, float] = BOUNDS
) -> tuple[Array, Array]:
    """Return N_KEPT draws of the posterior, (99, n) and (99,), as the model gives them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(
            bounds, sampler, n_chains=2, n_draws=300, n_effective=200, random_state=seed
        ).fit(observations)
    posterior = model.posterior_["posterior"]
    values = posterior["mean_direction"].values
    directions = values.reshape(-1, values.shape[-1])
    concentrations = posterior["concentration"].values.ravel()
    kept = np.linspace(0, len(concentrations) - 1, N_KEPT).astype(int)
    return directions[kept], concentrations[kept]


def three_laws(case: int, n_observations: int, n_goods: int, rng: np.random.Generator) -> sp.MenuLaw:  # noqa: ARG001
    """Return the paper's laws of menus in turn."""
    return sp.MenuLaw(LAWS[case % 3])


def run_case(
    case: int, *, n_goods: int, n_observations: int, seed: int, draw_fn: DrawFn, menus_fn: MenusFn = three_laws,
    problem: Problem | None = None,
) -> Case:  # fmt: skip
    """Return the ranks of one data set; menus have no budgets where a problem is given."""
    rng = np.random.default_rng([seed, n_goods, case])
    if problem is None:
        direction = uniform_directions(1, n_goods, rng=rng)[0]
        kappa = rng.uniform(*BOUNDS)
        law: sp.MenuLaw | sp.Menus = menus_fn(case, n_observations, n_goods, rng)
    else:
        law = sp.Menus(rng.uniform(1.0, 2.0, (n_observations, n_goods)), problem=problem)
        n_goods = len(problem.coordinates(law.goods))
        span = problem.span(n_goods)
        span = np.eye(n_goods) if span is None else span
        direction = span @ uniform_directions(1, span.shape[1], rng=rng)[0]
        kappa = rng.uniform(*LOW_BOUNDS)
    data = sp.simulate(sp.VonMisesFisher(direction, kappa), law, n_observations, rng=rng)
    directions, concentrations = draw_fn(data, int(rng.integers(2**31)))
    axis = uniform_directions(1, n_goods, rng=rng)[0]
    # Of 99 draws the 5th and the 95th: a further one, such as the truth, lies between them nine times in ten.
    low, high = np.quantile(directions, (0.05, 0.95), axis=0, method="weibull")
    ends = np.quantile(concentrations, (0.05, 0.95), method="weibull")
    return Case(
        n_kept=len(concentrations),
        concentration_rank=int(np.sum(concentrations < kappa)),
        projection_rank=int(np.sum(directions @ axis < direction @ axis)),
        holds_concentration=bool(ends[0] <= kappa <= ends[1]),
        share_held=float(np.mean((low <= direction) & (direction <= high))),
    )


@lru_cache(maxsize=16)
def band(
    n_cases: int, n_ranks: int = N_KEPT + 1, level: float = 0.95, n_simulations: int = 4000
) -> tuple[Array, Array]:
    """Return simultaneous bands for the counts of ranks at most r, r = 0, 1, …, of as many uniform ranks."""
    probability = np.arange(1, n_ranks) / n_ranks
    rng = np.random.default_rng(0)
    ranks = rng.integers(n_ranks, size=(n_simulations, n_cases))
    counts = np.stack([np.sum(ranks <= r, axis=1) for r in range(n_ranks - 1)], axis=1)
    # The smallest two-sided pointwise tail that a simulated set meets anywhere; its 5 % point makes the band.
    tails = np.minimum(binom.cdf(counts, n_cases, probability), binom.sf(counts - 1, n_cases, probability))
    tail = float(np.quantile(tails.min(axis=1), 1.0 - level))
    return binom.ppf(tail, n_cases, probability), binom.isf(tail, n_cases, probability)


def distance_from_uniform(ranks: NDArray[np.int64], n_kept: int = N_KEPT) -> float:
    """Return the largest distance of the ranks' cdf from that of uniform ranks, in half widths of the band."""
    low, high = band(len(ranks), n_kept + 1)
    counts = np.array([np.sum(ranks <= r) for r in range(n_kept)])
    middle = len(ranks) * np.arange(1, n_kept + 1) / (n_kept + 1)
    above = (counts - middle) / np.maximum(high - middle, 0.5)
    below = (middle - counts) / np.maximum(middle - low, 0.5)
    return float(np.maximum(above, below).max())


def calibrate(
    n_goods: int,
    n_cases: int,
    *,
    seed: int = 0,
    draw_fn: DrawFn = fit_draws,
    n_observations: int | None = None,
    jobs: int = 1,
    menus_fn: MenusFn = three_laws,
    problem: Problem | None = None,
) -> Calibration:
    """Return the calibration of a sampler over as many data sets."""
    run = partial(
        run_case, n_goods=n_goods, n_observations=n_observations or OBSERVATIONS[n_goods], seed=seed, draw_fn=draw_fn,
        menus_fn=menus_fn, problem=problem,
    )  # fmt: skip
    if jobs == 1:
        cases = [run(case) for case in range(n_cases)]
    else:
        os.environ["STOCHPREF_NUM_THREADS"] = "1"
        with ProcessPoolExecutor(jobs) as pool:
            cases = list(pool.map(run, range(n_cases), chunksize=4))
    return Calibration(
        distance_from_uniform(np.array([case.concentration_rank for case in cases]), cases[0].n_kept),
        distance_from_uniform(np.array([case.projection_rank for case in cases]), cases[0].n_kept),
        float(np.mean([case.holds_concentration for case in cases])),
        float(np.mean([case.share_held for case in cases])),
        n_cases,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--goods", default="3,10,25")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--samplers", default="auto")
    parser.add_argument("--problem", choices=PROBLEMS, default="divisible")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    problem = PROBLEMS[options.problem]
    sets = f"{options.cases} data sets a row, seed {options.seed}"
    print(f"{options.problem}: ranks of the truth among {N_KEPT} draws, {sets}")
    print("distance: of the ranks' cdf from uniform in half widths of the simultaneous 95 % band (inside: at most 1)")
    print(f"{'sampler':<12}{'n':>4}{'T':>6}{'kappa':>9}{'mu':>9}{'90 % kappa':>12}{'90 % mu':>9}{'seconds':>9}")
    for sampler in options.samplers.split(","):
        for n_goods in (int(n) for n in options.goods.split(",")):
            started = time.perf_counter()
            found = calibrate(
                n_goods,
                options.cases,
                seed=options.seed,
                draw_fn=partial(fit_draws, sampler=sampler, bounds=BOUNDS if problem is None else LOW_BOUNDS),
                problem=problem,
                jobs=options.jobs,
            )
            print(
                f"{sampler:<12}{n_goods:>4}{OBSERVATIONS[n_goods]:>6}{found.concentration:>9.2f}{found.projection:>9.2f}"
                f"{100 * found.concentration_coverage:>12.1f}{100 * found.direction_coverage:>9.1f}"
                f"{time.perf_counter() - started:>9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
