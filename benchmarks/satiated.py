"""Goods that satiate: recreation trips against MDCEV, time of a row, a fit and a choice, coverage of intervals.

``python -m benchmarks satiated`` reads recreation trips from the folder named by STOCHPREF_REAL_DATA; ``--parts`` picks
of folds, check, row, choose and coverage. Times are of the processor, on one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

import stochpref as sp
from stochpref.problems import Satiated
from stochpref.satiation.climbing import climb
from stochpref.satiation.fitting import Frame, Settings
from tests.recreation import trips

Array = NDArray[np.float64]

MDCEV: Final = {"worth_law": "gumbel", "outside_scale": "common"}
WAYS: Final = {
    "lognormal, own outside scale": {},
    "lognormal, common scale": {"outside_scale": "common"},
    "Gumbel, own outside scale": {"worth_law": "gumbel"},
    "MDCEV": MDCEV,
}
_TOLD: Final = 20  # data sets, after which coverage is told
_NORMAL_95: Final = 1.959963984540054


def timed(call: Callable[[], object], n_times: int = 5) -> float:
    """Return the seconds of processor time of the fastest of some calls."""
    call()
    found = []
    for _ in range(n_times):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def fitted(data: sp.Observations, **settings: object) -> sp.SatiatedUtility:
    """Return a fit, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.SatiatedUtility(random_state=0, **settings).fit(data)  # type: ignore[arg-type]


def compare_folds(data: sp.Observations, n_folds: int = 5) -> None:
    """Print held-out log-densities of people, each law beside MDCEV, over folds of people."""
    order = np.random.default_rng(0).permutation(len(data))
    scores = {name: np.empty(len(data)) for name in WAYS}
    for fold in np.array_split(order, n_folds):
        learn = np.setdiff1d(order, fold)
        for name, settings in WAYS.items():
            model = fitted(data[learn], n_draws=60, n_effective=60, **settings)
            scores[name][fold] = model.log_density(data[fold])
        told = (f"{name} {values[fold].mean():.4f}" for name, values in scores.items())
        print(f"  a fold of {len(fold)}: {', '.join(told)}", flush=True)
    print(f"recreation, {len(data):,} people, {n_folds} folds, log profile, the rest of income outside, a person:")
    for name, values in scores.items():
        gap = values - scores["MDCEV"]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        print(f"  {name:<30}{values.mean():10.4f}   less MDCEV {gap.mean():+8.4f} ± {error:.4f}")


def check_spending(data: sp.Observations) -> None:
    """Print how a fit to everybody spends, and its verdict."""
    started = time.process_time()
    model = fitted(data)
    print(f"fit of {len(data):,} people x {data.n_goods + 1} goods: {time.process_time() - started:.1f} s of one core")
    found = model.check()
    low, high = found.spent_lower / found.spent - 1, found.spent_upper / found.spent - 1
    print(f"  {model.judge()[0].text}; {model.judge()[1].status}")
    print(f"  mean spending over what was spent: {100 * low:+.0f} to {100 * high:+.0f} %; {found.verdict().text}")
    spent = np.sum(data.prices * data.bundles, axis=1)
    rows = np.random.default_rng(0).choice(len(data), 200, replace=False)
    middle = model.demand(data[rows].menus, n_customers=512, n_draws=8).spent_median
    print(f"  median spending, mean over 200 people: predicted {middle.mean():.0f}, observed {np.median(spent):.0f}")


def time_row(data: sp.Observations) -> None:
    """Print what value and gradient of a row cost."""
    for law in ("lognormal", "gumbel"):
        target = Frame.of(data, Settings("log", law, True), 1.0).target()
        theta = climb(target, target.parameters.start(target.bought)).theta
        both = timed(lambda target=target, theta=theta: target.slope(theta)) / len(data)
        value = timed(lambda target=target, theta=theta: target.log_density(theta)) / len(data)
        told = f"value and gradient {1e6 * both:6.2f} us a row, value {1e6 * value:6.2f} us"
        print(f"n = {data.n_goods + 1}, {law:<10} {told}")


def time_choice(size: int = 1_000_000, n: int = 17) -> None:
    """Print what a million customers take to choose."""
    rng, problem = np.random.default_rng(0), Satiated("rest")
    menus = sp.Menus(rng.uniform(0.5, 2, (1, n)), [20.0], problem=problem)
    capped = sp.Menus(menus.prices, [20.0], caps=np.full((1, n), 1.0), problem=problem)
    u = np.exp(rng.standard_normal((size, 1, 2 * n + 1)) - 1.0)
    for name, asked in (("no caps", menus), ("caps", capped)):
        seconds = timed(lambda asked=asked: problem.choose(u, asked), 3)
        bought = (problem.choose(u[:1000], asked) > 0).sum(axis=2).mean()
        print(
            f"choose, {size:,} customers x {n} goods, {name}: {seconds:.2f} s of one core ({bought:.1f} goods bought)"
        )


def print_coverage(n_sets: int, sizes: tuple[int, ...] = (5, 10), n_observations: int = 1000) -> None:
    """Print how many 95 % intervals hold the truth: by errors of the most likely, and by the posterior."""
    for n in sizes:
        location = np.append(np.linspace(-0.4, -1.6, n), 0.0)
        fades, problem = np.linspace(0.5, 2.0, n), Satiated("rest")
        law = sp.LognormalLaw(location, np.append(np.full(n, 0.8), 0.5), fades, outside=n)
        truth = np.concatenate([location[:n], np.log([0.8, 0.5]), np.log(fades)])
        kinds = np.repeat(["beta", "log sigma", "log gamma"], [n, 2, n])
        hits: dict[str, list[Array]] = {"errors": [], "posterior": []}
        started = time.process_time()
        for seed in range(n_sets):
            rng = np.random.default_rng([n, seed])
            menus = sp.Menus(
                rng.uniform(0.5, 2, (n_observations, n)), rng.uniform(n, 4 * n, n_observations), problem=problem
            )
            model = fitted(sp.simulate(law, menus, n_observations, rng=rng), n_draws=500)
            best = model.maximum_likelihood()
            hits["errors"].append(np.abs(best.estimates - truth) < _NORMAL_95 * best.standard_errors)
            drawn = model.posterior_["posterior"]
            parts = [drawn[name].values for name in ("location", "log_scale", "log_satiation")]
            low, high = np.quantile(np.concatenate(parts, axis=2), (0.025, 0.975), axis=(0, 1))
            hits["posterior"].append((low < truth) & (truth < high))
            if (seed + 1) % _TOLD == 0 or seed + 1 == n_sets:
                _tell(f"n = {n}, T = {n_observations:,}, {seed + 1} sets", kinds, hits)
        print(f"  {(time.process_time() - started) / n_sets:.1f} s a set")


def _tell(about: str, kinds: NDArray[np.str_], hits: dict[str, list[Array]]) -> None:
    """Print how many intervals hold the truth so far."""
    for name, found in hits.items():
        each = np.array(found)
        shares = "   ".join(f"{kind} {_covered(each[:, kinds == kind])}" for kind in dict.fromkeys(kinds.tolist()))
        print(f"{about}, {name:<10} {shares}   all {_covered(each)}", flush=True)


def _covered(hits: Array) -> str:
    """Return the share of intervals that hold the truth, with the error that data sets leave."""
    each = hits.mean(axis=1)
    return f"{100 * each.mean():.1f} ± {100 * each.std(ddof=1) / np.sqrt(len(each)):.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks satiated", description=__doc__)
    parser.add_argument("--parts", default="folds,check,row,choose,coverage")
    parser.add_argument("--sets", type=int, default=100, help="data sets of each size whose intervals are counted")
    parser.add_argument("--sizes", default="5,10", help="numbers of goods of those")
    options = parser.parse_args()
    os.environ["STOCHPREF_NUM_THREADS"] = "1"
    parts, folder = options.parts.split(","), os.environ.get("STOCHPREF_REAL_DATA")
    if {"folds", "check", "row"} & set(parts):
        if folder is None:
            print("satiated: name the folder of the data in STOCHPREF_REAL_DATA")
        else:
            data = trips(Path(folder))
            for name, study in (("row", time_row), ("check", check_spending), ("folds", compare_folds)):
                if name in parts:
                    study(data)
    if "choose" in parts:
        time_choice()
    if "coverage" in parts:
        print_coverage(options.sets, tuple(int(n) for n in options.sizes.split(",")))


if __name__ == "__main__":
    main()
