"""Segments: numbers, directions and shares recovered from simulated mixtures; gains over one law on real purchases.

``python -m benchmarks segments`` simulates a few data sets of each cell, ``--sets 20 --observations 1000 --goods 5,10``
as many as it takes; ``--data FOLDER`` takes the real files that `benchmarks.real_data` reads as well, a fifth of each
held out. Only what was spent is known of a budget there. ``--starts 100`` climbs from so many random starts too, at the
number of segments chosen, and says whether any led higher than the fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import stochpref as sp
from benchmarks.real_data import CASES, independent_given_number
from stochpref.segments.climbing import climb_by_em, climb_to_top
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.starts import Ground, starts_for
from stochpref.stores.memory import Memory

Array = NDArray[np.float64]

_MENUS = 20  # at which intervals of demand are judged
_CUSTOMERS = 200_000  # that tell what demand truly is
_REAL = ("Jersey City D", "Chicago 47", "Greensboro 3, b = spent", "M. Turk", "Ta Feng", "scotch")


class Trial(NamedTuple):
    """What came of one data set; the last four are NaN where the number of segments is wrong.

    n_segments : found by BIC.
    cosine : of the worst direction, segments matched.
    weight_error : (K,) share of each segment less its true one.
    weight_held, demand_held : share of true sizes, and of true expected purchases, within their 90 % intervals.
    """

    n_segments: int
    cosine: float
    weight_error: Array
    weight_held: float
    demand_held: float
    seconds: float


def random_mixture(n_goods: int, k: int, rng: np.random.Generator) -> sp.MixtureLaw:
    """Return K segments of concentration 10 whose directions have cosines below a half, each with an eighth or more."""
    while True:
        directions = rng.standard_normal((k, n_goods)) + 0.3
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        weights = rng.dirichlet(np.full(k, 4.0))
        if np.max(directions @ directions.T - 2 * np.eye(k), initial=-1.0) < 0.5 and weights.min() >= 0.125:
            return sp.MixtureLaw([sp.VonMisesFisher(direction, 10.0) for direction in directions], weights)


def run_trial(n_goods: int, k: int, n_observations: int, seed: int) -> Trial:
    """Fit one data set, and judge what was found."""
    rng = np.random.default_rng([seed, n_goods, k])
    law = random_mixture(n_goods, k, rng)
    data = sp.simulate(law, sp.MenuLaw("uniform"), n_observations, rng=rng)
    started = time.perf_counter()
    model = sp.SegmentedUtility(random_state=seed).fit(data)
    seconds = time.perf_counter() - started
    menus = sp.MenuLaw("uniform").sample(_MENUS, n_goods, rng=rng)
    found = model.demand(menus, n_customers=2048, n_draws=200)
    utilities = law.sample(_CUSTOMERS, rng=rng)
    truth = np.array([
        sp.choose(utilities, menus.prices[t], menus.budgets[t]).mean(axis=0) for t in range(_MENUS)
    ])  # fmt: skip
    demand_held = float(np.mean((found.lower <= truth) & (truth <= found.upper)))
    if model.n_segments_ != k:
        return Trial(model.n_segments_, np.nan, np.full(k, np.nan), np.nan, demand_held, seconds)
    cosines = np.array([[own.mean_direction @ one.mean_direction for one in law.segments] for own in model.segments_])
    mine, theirs = linear_sum_assignment(-cosines)
    rows = [model.summary().segments[i].weight for i in mine]
    true = law.weights[theirs]
    held = np.mean([row.lower <= value <= row.upper for row, value in zip(rows, true, strict=True)])
    error = np.array([row.mean for row in rows]) - true
    return Trial(k, float(cosines[mine, theirs].min()), error, float(held) if k > 1 else np.nan, demand_held, seconds)


def report_cell(n_goods: int, k: int, trials: list[Trial]) -> None:
    """Print a line for one cell."""
    right = [trial for trial in trials if trial.n_segments == k]
    errors = np.array([trial.weight_error for trial in right]).ravel()
    held = np.array([trial.weight_held for trial in right])
    demand = np.array([trial.demand_held for trial in trials])
    print(
        f"{n_goods:>4}{k:>4}{len(trials):>6}{f'{len(right)}/{len(trials)}':>8}"
        f"{min((trial.cosine for trial in right), default=np.nan):>10.3f}{np.sqrt(np.mean(errors**2)):>9.3f}"
        f"{100 * held.mean():>10.0f}{100 * demand.mean():>9.1f} ± {100 * demand.std(ddof=1) / np.sqrt(len(demand)):.1f}"
        f"{np.mean([trial.seconds for trial in trials]):>9.1f}",
        flush=True,
    )


def simulated(sets: int, n_observations: int, goods: list[int], seed: int) -> None:
    """Print what is recovered, a line for each number of goods and of segments."""
    print(f"{sets} mixtures a line, T = {n_observations:,}, concentration 10, K by BIC, seeds from {seed}")
    print(
        "right: sets with the right K, of which are the worst cosine, the error of shares (rms), their 90 % intervals"
    )
    columns = (("n", 4), ("K", 4), ("sets", 6), ("right", 8), ("cosine", 10), ("shares", 9), ("held, %", 10))
    print("".join(f"{name:>{width}}" for name, width in (*columns, ("demand held, %", 15), ("s", 9))))
    for n_goods in goods:
        for k in (1, 2, 3):
            report_cell(n_goods, k, [run_trial(n_goods, k, n_observations, seed + i) for i in range(sets)])


def real(folder: Path, only: str, seeds: int, n_starts: int = 0) -> None:
    """Print held-out scores of one law, of segments and of the baseline, and how far seeds agree."""
    print("mean log-probability of a held-out bundle, and gain of segments over one law and over the baseline ± errors")
    for case in CASES:
        if not any(word in case.title for word in _REAL) or only.casefold() not in case.title.casefold():
            continue
        data = case.read_fn(folder / case.file)
        order = np.random.default_rng(0).permutation(len(data))
        fresh, learn = data[np.sort(order[: len(data) // 5])], data[np.sort(order[len(data) // 5 :])]
        one = sp.SegmentedUtility(1, random_state=0).fit(learn).log_likelihood(fresh)
        baseline = independent_given_number(learn, fresh)
        for seed in range(seeds):
            started = time.perf_counter()
            model = sp.SegmentedUtility(random_state=seed).fit(learn)
            seconds, own = time.perf_counter() - started, model.log_likelihood(fresh)
            best = min(model.path_, key=lambda row: row.bic)
            told = "  ".join(f"{name} {_gain(own - other)}" for name, other in (("one", one), ("number", baseline)))
            print(
                f"{case.title:<34} K {model.n_segments_}  one {one.mean():.4f}  segments {own.mean():.4f}  {told}  "
                f"penalised {best.penalised:.2f}  rivals {best.n_rivals}  {model.sampler_}  {seconds:.1f} s",
                flush=True,
            )
            path = model.score_path(fresh)
            print("    held out by K, at the maximum: " + "  ".join(f"{k}: {path[k]:.4f}" for k in path), flush=True)
        if n_starts:
            climb_from_anywhere(model, learn, n_starts)


def climb_from_anywhere(model: sp.SegmentedUtility, learn: sp.Observations, n_starts: int) -> None:
    """Print how high random starts lead, beside the fit."""
    path = {row.n_asked: row for row in model.path_}
    k = min(path, key=lambda number: path[number].bic)
    objective = Objective(Memory(sp.Regions.of(learn)))
    fewer = sp.SegmentedUtility(max(k - 1, 1), n_draws=1, n_effective=0, random_state=0).fit(learn).mixture
    weights, laws = fewer.components
    ground = Ground(objective, np.random.default_rng(1))
    reached = []
    for start in starts_for(ground, k, Mixture(np.log(weights), laws), n_starts, 0):
        reached.append(climb_to_top(objective, climb_by_em(objective, start, 20, enough=0.01).mixture).value)
    best, found = path[k].penalised, np.array(reached)
    near = np.mean(np.abs(found - best) < 0.01)
    print(
        f"    {n_starts} random starts at K = {k}: the best is {found.max() - best:+.3f} log units from the fit, "
        f"{100 * near:.0f} % lead there, the middle one {np.median(found) - best:+.1f}",
        flush=True,
    )


def _gain(differences: Array) -> str:
    return f"{differences.mean():+.4f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks segments", description=__doc__)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--observations", type=int, default=400)
    parser.add_argument("--goods", default="5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder with the real files")
    parser.add_argument("--only", default="", help="real cases whose title holds this word")
    parser.add_argument("--seeds", type=int, default=1, help="fits of every real case")
    parser.add_argument("--starts", type=int, default=0, help="random starts from which to climb at K")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if options.sets:
            simulated(options.sets, options.observations, [int(n) for n in options.goods.split(",")], options.seed)
        if options.data is not None:
            real(options.data, options.only, options.seeds, options.starts)


if __name__ == "__main__":
    main()
