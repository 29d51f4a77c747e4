"""Exact masses: speed against log Φ and sampling, a law per row, growth in T and n, stress, maximum likelihood.

``python -m benchmarks.mass speed laws turned growth stress likelihood`` runs the parts named; all of them by default.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import log_ndtr

import stochpref as sp
from benchmarks.timing import best_seconds, least_work
from stochpref.likelihood import fit_maximum_likelihood
from stochpref.mass.behind import turned_mass
from stochpref.mass.masses import exact_log_mass, sum_by_law, sum_log_mass
from stochpref.mass.shadow import Cone

LAWS = ("uniform", "discrete", "fixed")


def market(law: str, n_goods: int, kappa: float, n_observations: int, seed: int) -> tuple[sp.Regions, np.ndarray]:
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    mu /= np.linalg.norm(mu)
    observations = sp.simulate(sp.VonMisesFisher(mu, kappa), sp.MenuLaw(law), n_observations, rng=rng)
    return sp.Regions.of(observations), kappa * mu


def speed() -> None:
    z = np.random.default_rng(0).standard_normal((1000, 64, 25))
    yard = best_seconds(lambda: log_ndtr(z))
    print("value and gradient, n = 25, T = 1000, kappa = 5, seed 0, against one log_ndtr pass over (1000, 64, 25):")
    for law in LAWS:
        regions, h = market(law, 25, 5.0, 1000, seed=0)
        ours = best_seconds(lambda r=regions, h=h: exact_log_mass(r, h, gradient=True))
        print(f"  {law:<9} {1e3 * ours:7.1f} ms   log_ndtr {1e3 * yard:7.1f} ms   ratio {ours / yard:.2f} (target 1)")


def laws(n_observations: int = 1000, repeats: int = 15) -> None:
    """Time a law per row against one law for all, taking turns."""
    print(f"rows with gradients, sums by law, T = {n_observations} laws against one, kappa near 5, processor us:")
    for n in (4, 10, 25):
        regions, h = market("uniform", n, 5.0, n_observations, seed=0)
        own = h + 0.3 * np.random.default_rng(1).standard_normal((n_observations, n)) / np.sqrt(n)
        which = np.arange(n_observations)
        for name, function in (("rows", partial(exact_log_mass, gradient=True)), ("sums", sum_by_law)):
            sides = (partial(function, regions, h), partial(function, regions, own, which))
            one, many = (1e6 * seconds / n_observations for seconds in least_work(sides, repeats))
            print(
                f"  n = {n:>2}  {name}   one law {one:6.2f}   a law per row {many:6.2f}   "
                f"ratio {many / one:.3f} (target: at most 1.1)"
            )


def turned(per_case: int = 20, seed: int = 7) -> None:
    """Time regions on which h·u < 0 throughout, at |h| from mild to large."""
    print(f"regions that turn their back on the mean, us each, one thread, {per_case} a case, seed {seed}:")
    rng = np.random.default_rng(seed)
    for n in (3, 5, 10):
        for kind in ("slack", "pivot", "tight"):
            for cost in (5.0, 30.0, 500.0):
                cones = [_turned_cone(kind, n, cost, rng) for _ in range(per_case)]
                means, nothing = np.empty(n), np.empty(0)
                value = best_seconds(lambda c=cones, m=nothing: [turned_mass(cone, 1e-10, m) for cone in c])
                both = best_seconds(lambda c=cones, m=means: [turned_mass(cone, 1e-10, m) for cone in c])
                worst = max(turned_mass(cone, 1e-10, means)[1] for cone in cones)
                print(
                    f"  n = {n:>2}  {kind:<5}  least cost {cost:>3g}   value {1e6 * value / per_case:6.0f}   "
                    f"value and gradient {1e6 * both / per_case:6.0f}   largest error estimate {worst:.0e}"
                )


def _turned_cone(kind: str, n: int, cost: float, rng: np.random.Generator) -> Cone:
    while True:
        slope = rng.uniform(0.5, 1, n)
        side = np.where(np.arange(n) < (n + 1) // 2, 1, -1).astype(np.int8)
        h = -side * cost * rng.uniform(1, 2, n)
        pivot = -1
        if kind == "pivot":
            pivot = n - 1
            side[pivot], h[pivot] = 0, -cost
        if kind == "slack" or -h @ slope > cost * np.linalg.norm(slope):
            return Cone(h, side, slope, pivot, kind == "tight")


def sampling(n_draws: int = 4000, seed: int = 1) -> None:
    print("time to a relative error of 1e-4, per observation, n = 25, kappa = 5 (sampling scaled from its own error):")
    for law in LAWS:
        regions, h = market(law, 25, 5.0, 20, seed=seed)
        exact = best_seconds(lambda r=regions, h=h: exact_log_mass(r, h)) / len(regions)
        rng = np.random.default_rng(seed)
        start = time.perf_counter()
        sample = sp.log_mass(regions, h / 5.0, 5.0, method="monte_carlo", n_draws=n_draws, rng=rng, full=True)
        seconds = (time.perf_counter() - start) / len(regions) * np.mean((sample.error / 1e-4) ** 2)
        start = time.perf_counter()
        sp.log_mass(regions, h / 5.0, 5.0, method="cloud", n_draws=20_000, rng=rng)
        per_draw = (time.perf_counter() - start) / 20_000
        plain = per_draw * float(np.median(np.exp(-exact_log_mass(regions, h).log_mass))) / 1e-8
        print(
            f"  {law:<9} exact {1e6 * exact:8.1f} us   separation of variables {seconds:8.3f} s "
            f"({seconds / exact:,.0f} times)   the paper's cloud {plain:.1e} s (target: at least 100 times)"
        )


def references() -> None:
    cases = json.loads((Path(__file__).parents[1] / "tests" / "reference" / "region_probabilities.json").read_text())
    for tolerance, allowed in ((1e-10, 1e-9), (1e-12, 1e-11)):
        worst = 0.0
        for case in cases:
            regions = sp.Regions.of(sp.Observations([case["prices"]], [case["budget"]], [case["bundle"]]))
            mu = np.array(case["mean_direction"]) / np.linalg.norm(case["mean_direction"])
            value = sp.log_mass(regions, mu, case["concentration"], tolerance=tolerance)[0]
            worst = max(worst, abs(value - case["log_probability"]))
        print(f"{len(cases)} references, tolerance {tolerance:g}: worst error {worst:.1e} (target: {allowed:g})")


def agreement(seed: int = 6) -> None:
    print(f"exact against separation of variables, 2,000 draws, root mean square and largest z-score, seed {seed}:")
    rng = np.random.default_rng(seed)
    for n, kappa in ((3, 2.0), (10, 5.0), (25, 5.0), (10, 200.0)):
        for law in LAWS:
            regions, h = market(law, n, kappa, 30, seed)
            exact = exact_log_mass(regions, h)
            sample = sp.log_mass(regions, h / kappa, kappa, method="monte_carlo", n_draws=2000, rng=rng, full=True)
            z = (sample.log_mass - exact.log_mass) / sample.error
            print(f"  n = {n:>2}  kappa = {kappa:>5g}  {law:<9} {np.sqrt(np.mean(z**2)):.2f}   {np.abs(z).max():.1f}")


def growth() -> None:
    print("growth of value and gradient sums, kappa = 5, law (i), seed 2:")
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    regions, h = market("uniform", 10, 5.0, sizes[-1], seed=2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for size in sizes:
        part = regions.rows(0, size)
        seconds.append(best_seconds(lambda p=part: sum_log_mass(p, h), repeats=1 if size > 50_000 else 3))
        print(f"  n = 10  T = {size:>9,}  {seconds[-1]:9.3f} s   {1e6 * seconds[-1] / size:7.2f} us each")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = sum(a.nbytes for a in (regions.kind_code, regions.side, regions.slope, regions.pivot))
    print(f"  exponent in T {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.3f} (target: at most 1.1)")
    print(f"  peak memory grew by {(after - before) / 1024:.0f} MiB over data of {data / 2**20:.0f} MiB")
    goods, seconds = (8, 16, 32, 64, 128, 256, 500), []
    for n in goods:
        regions, h = market("uniform", n, 5.0, 500, seed=3)
        seconds.append(best_seconds(lambda r=regions, h=h: sum_log_mass(r, h), repeats=3))
        print(f"  n = {n:>4}  T = 500  {1e6 * seconds[-1] / 500:9.2f} us each")
    print(f"  exponent in n {np.polyfit(np.log(goods), np.log(seconds), 1)[0]:.3f} (target: at most 1.1)")


def stress(n_regions: int = 100_000, per_case: int = 50, seed: int = 0) -> None:
    """Cover n = 2..200, kappa = 1e-6..1e4, three laws, prices spread by 1 to 1000; half at an unrelated law."""
    rng = np.random.default_rng(seed)
    rows = []
    start = time.perf_counter()
    for index in range(n_regions // per_case):
        n, kappa = int(np.exp(rng.uniform(np.log(2), np.log(201)))), float(10 ** rng.uniform(-6, 4))
        spread = (1, 10, 100, 1000)[index // 3 % 4]
        mu, other = rng.standard_normal((2, n))
        mu, other = mu / np.linalg.norm(mu), other / np.linalg.norm(other)
        menus = sp.MenuLaw(LAWS[index % 3]).sample(per_case, n, rng=rng)
        prices = menus.prices * spread ** rng.uniform(-1, 0, menus.prices.shape)
        budgets = menus.budgets * prices.mean(axis=1) / menus.prices.mean(axis=1)
        bundles = sp.choose(sp.VonMisesFisher(mu, kappa).sample(per_case, rng=rng), prices, budgets)
        regions = sp.Regions.of(sp.Observations(prices, budgets, bundles))
        h = kappa * (other if index // 12 % 2 else mu)
        coarse, fine = exact_log_mass(regions, h), exact_log_mass(regions, h, tolerance=1e-12)
        rows.append(np.column_stack([np.full(per_case, n), coarse.log_mass, coarse.error, fine.log_mass, fine.error]))
    table = np.concatenate(rows)
    n, value, error, best, best_error = table.T
    difference = np.abs(value - best)
    print(f"stress, {len(table):,} regions, seed {seed}, {time.perf_counter() - start:.0f} s both tolerances:")
    print(f"  not finite {np.sum(~np.isfinite(value))}   positive {np.sum(value > 0)}   smallest {value.min():.0f}")
    is_close = (difference <= 1e-8) & (best_error < 1e-8)
    print(f"  within 1e-8 of the 1e-12 run: {100 * np.mean(is_close):.3f} % (target: 99.9)")
    doubtful = error > 1e-8
    print(f"  estimate above 1e-8: {np.sum(doubtful)} regions, at n = {np.unique(n[doubtful]).astype(int).tolist()}")
    print(f"  beyond 1e-8 and not admitted by the estimate: {np.sum((difference > 1e-8) & (error < difference / 5))}")


def likelihood(n_markets: int = 100) -> None:
    print(f"maximum likelihood, n = 25, T = 1000, kappa uniform on (1, 10), laws in turn, seeds 0..{n_markets - 1}:")
    converged, seconds, evaluations, scores = 0, [], [], []
    for seed in range(n_markets):
        kappa = float(np.random.default_rng(seed).uniform(1, 10))
        rng = np.random.default_rng(seed)
        mu = rng.standard_normal(25)
        law = sp.VonMisesFisher(mu / np.linalg.norm(mu), kappa)
        observations = sp.simulate(law, sp.MenuLaw(LAWS[seed % 3]), 1000, rng=rng)
        start = time.perf_counter()
        fit = fit_maximum_likelihood(observations)
        seconds.append(time.perf_counter() - start)
        evaluations.append(fit.n_evaluations)
        converged += fit.status == "converged"
        scores.append((fit.concentration - kappa) / fit.concentration_standard_error)
    print(f"  converged {converged} of {n_markets}; {np.mean(evaluations):.1f} evaluations, {np.median(seconds):.2f} s")
    print(f"  error of kappa in standard errors: mean {np.mean(scores):+.2f}, spread {np.std(scores):.2f}")


PARTS = {f.__name__: f for f in (references, agreement, speed, laws, turned, sampling, growth, stress, likelihood)}


def main() -> None:
    chosen = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    for name in chosen:
        PARTS[name]()


if __name__ == "__main__":
    main()
