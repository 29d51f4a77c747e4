"""Whole goods: bundles against mixed-integer programmes, intervals against bundles, the sampler's effective draws."""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import stochpref as sp
from benchmarks.calibration import Calibration, DrawFn, calibrate, fit_draws
from stochpref.laws import uniform_directions
from stochpref.posterior.diagnostics import diagnose
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.interval_gibbs import IntervalGibbs
from stochpref.problems import Whole
from stochpref.problems.interval_regions import IntervalRegions

Array = NDArray[np.float64]

_NEAR = 1e-6  # how far from an end bundles are compared


def instance(rng: np.random.Generator, n: int) -> tuple[Array, float, Array, Array]:
    """Return utilities of both signs, prices, a budget and caps to 4."""
    prices, caps = rng.uniform(1.0, 2.0, n), rng.integers(1, 5, n).astype(float)
    return rng.standard_normal(n), float(rng.uniform(0.1, 0.9) * prices @ caps), prices, caps


def compare_with_programmes(n_instances: int, seed: int = 0) -> None:
    """Print on how many instances the value of the best bundle is the programme's, and how much faster it is found."""
    rng = np.random.default_rng(seed)
    cases = [instance(rng, int(rng.integers(1, 31))) for _ in range(n_instances)]
    values, started = [], time.perf_counter()
    for u, budget, prices, caps in cases:
        found = milp(
            -u, constraints=LinearConstraint(prices[None], ub=budget), bounds=Bounds(0, caps),
            integrality=np.ones(len(u)), options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        values.append(-found.fun)
    theirs = (time.perf_counter() - started) / n_instances
    ours, n_same = 0.0, 0
    tables = [(u, sp.Menus(prices[None], [budget], caps=caps, problem="whole")) for u, budget, prices, caps in cases]
    for (u, menu), value in zip(tables, values, strict=True):
        n_same += abs(float(u @ Whole().choose(u, menu)[0]) - value) <= 1e-6 * max(value, 1.0)
        crowd = np.tile(u, (500, 1, 1))  # one customer's time, without what a call costs
        started = time.perf_counter()
        Whole().choose(crowd, menu)
        ours += (time.perf_counter() - started) / 500 / n_instances
    print(f"n = 1 to 30, caps to 4, {n_instances:,} instances, seed {seed}, per customer:")
    print(f"  equal to HiGHS in value on {n_same:,} of {n_instances:,}")
    print(f"  choose  {1e6 * ours:10.2f} us")
    print(f"  milp    {1e6 * theirs:10.2f} us   {theirs / ours:,.0f} times choose (target: at least 1,000)")


def _is_best(seen: sp.Observations, u: Array) -> NDArray[np.bool_]:
    """Tell where nothing is better than what was bought."""
    best = np.sum(u * seen.problem.choose(u, seen), axis=1)
    bought: NDArray[np.bool_] = np.sum(u * seen.bundles, axis=1) >= best - 1e-10
    return bought


def wrong_ends(seen: sp.Observations, u: Array, is_whole: NDArray[np.bool_]) -> tuple[int, int]:
    """Return at how many of all coordinates an interval is wrong: not the bundle's just inside, or so just outside."""
    low, high = IntervalRegions.of(seen, is_whole).intervals(u)
    n_wrong = 0
    for i in range(seen.n_goods):
        is_right = np.ones(len(seen), np.bool_)
        for end, inward in ((low[:, i], _NEAR), (high[:, i], -_NEAR)):
            is_finite = np.isfinite(end)
            far = u[:, i] - np.sign(inward) * 50.0
            for shift, expected in ((inward, True), (-inward, False)):
                moved = u.copy()
                moved[:, i] = np.where(is_finite, end + shift, far)
                is_right &= _is_best(seen, moved) == (expected | ~is_finite)
        is_narrow = high[:, i] - low[:, i] < 3 * _NEAR
        n_wrong += int(np.sum(~is_right & ~is_narrow))
    return n_wrong, u.size


def compare_intervals(n_cases: int, seed: int = 0) -> None:
    """Print how many intervals of random regions are wrong."""
    rng = np.random.default_rng(seed)
    wrong, total = 0, 0
    while total < n_cases:
        n, size = int(rng.integers(2, 21)), 200
        prices, caps = rng.uniform(1.0, 2.0, (size, n)), rng.integers(1, 5, n)
        goods = [f"good{i + 1}" for i in range(max(n // 2, 1))] if n < 10 and rng.random() < 0.3 else None
        problem, budgets = Whole(goods), rng.uniform(0.5, 0.6 * n * caps.mean() + 1, size)
        u = rng.standard_normal((size, n)) + 0.3
        bundles = problem.choose(u, sp.Menus(prices, budgets, caps=caps))
        seen = sp.Observations(prices, budgets, bundles, caps=caps, problem=problem)
        found = wrong_ends(seen, u, problem.is_whole(seen.goods))
        wrong, total = wrong + found[0], total + found[1]
    print(f"intervals, n = 2 to 20, caps to 4, some with goods in part, seed {seed}: {wrong} of {total:,} wrong")


class Setting(NamedTuple):
    """What is calibrated: goods, observations, the cap of each good, and how many of the goods are whole."""

    n_goods: int
    n_observations: int
    cap: int
    n_whole: int


SETTINGS: Final = {
    "zero or one": Setting(6, 60, 1, 6),
    "caps of 3": Setting(4, 60, 3, 4),
    "mixed": Setting(5, 60, 2, 3),
}


def menus_of(
    case: int,  # noqa: ARG001
    n_observations: int,
    n_goods: int,
    rng: np.random.Generator,
    *,
    setting: Setting,
) -> sp.Menus:
    """Return menus of a setting, each with prices and a budget of its own."""
    goods = tuple(f"good{i + 1}" for i in range(n_goods))
    problem = Whole(goods[: setting.n_whole]) if setting.n_whole < n_goods else Whole()
    prices, most = rng.uniform(1.0, 2.0, (n_observations, n_goods)), 0.8 * n_goods * setting.cap
    return sp.Menus(prices, rng.uniform(1.0, most, n_observations), goods=goods, caps=setting.cap, problem=problem)


def calibrate_setting(
    name: str, n_cases: int, *, draw_fn: DrawFn = fit_draws, jobs: int = 1, seed: int = 0
) -> Calibration:
    """Return the calibration of fits to data sets of a setting."""
    setting = SETTINGS[name]
    return calibrate(
        setting.n_goods, n_cases, seed=seed, draw_fn=draw_fn, n_observations=setting.n_observations, jobs=jobs,
        menus_fn=partial(menus_of, setting=setting),
    )  # fmt: skip


def print_calibration(n_cases: int, jobs: int, only: str, seed: int) -> None:
    """Print how often 90 % intervals hold the truth, and how far ranks are from uniform."""
    print(f"coverage of 90 % intervals over {n_cases} data sets a row, and ranks' distance in bands (at most 1)")
    for name in SETTINGS:
        if only not in name:
            continue
        started = time.perf_counter()
        found = calibrate_setting(name, n_cases, jobs=jobs, seed=seed)
        print(
            f"  {name:<12} kappa {100 * found.concentration_coverage:5.1f} %  mu "
            f"{100 * found.direction_coverage:5.1f} %  ranks {found.concentration:.2f} {found.projection:.2f}  "
            f"{time.perf_counter() - started:.0f} s",
            flush=True,
        )


def print_speed(n_steps: int = 1000, n_observations: int = 400) -> None:
    """Print effective draws of the concentration a second of one core, menus of their own."""
    os.environ["STOCHPREF_NUM_THREADS"] = "1"
    for n, target in ((10, 100), (20, 50), (30, 7)):
        rng = np.random.default_rng(n)
        law = sp.VonMisesFisher(uniform_directions(1, n, rng=rng)[0], 3.0)
        drawn = sp.MenuLaw("uniform").sample(n_observations, n, rng=rng)
        seen = sp.simulate(law, sp.Menus(drawn.prices, drawn.budgets, problem="whole"), n_observations, rng=rng)
        sampler = IntervalGibbs(IntervalRegions.of(seen, np.ones(n, np.bool_)), Prior(0.0, 20.0 * n), 1)
        state, kappa = sampler.init(1), np.empty(n_steps)
        for k in range(200):
            state, _ = sampler.step(state, k)
        started = time.process_time()
        for k in range(n_steps):
            state, _ = sampler.step(state, 200 + k)
            kappa[k] = state.concentration[0]
        seconds = time.process_time() - started
        effective = float(diagnose({"concentration": kappa[None]}).ess_bulk[0])
        print(
            f"  n = {n}, T = {n_observations}: {1e6 * seconds / n_steps / n_observations:5.1f} us an observation and "
            f"sweep, {effective / n_steps:.3f} effective draws a sweep, {effective / seconds:.0f} a second (target: "
            f"at least {target})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks whole", description=__doc__)
    parser.add_argument("--instances", type=int, default=2000)
    parser.add_argument("--intervals", type=int, default=100_000)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each setting that is calibrated")
    parser.add_argument("--only", default="", help="settings that are calibrated: a part of their names")
    parser.add_argument("--seed", type=int, default=0, help="of the data sets that are calibrated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", default="choices,intervals,speed,calibration")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if "choices" in parts:
        compare_with_programmes(options.instances)
    if "intervals" in parts:
        compare_intervals(options.intervals)
    if "speed" in parts:
        print_speed()
    if "calibration" in parts:
        print_calibration(options.sets, options.jobs, options.only, options.seed)


if __name__ == "__main__":
    main()
