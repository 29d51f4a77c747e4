"""Several limits: sums of masses, speed, at most three items, calibration, and whether a second limit helps learning.

``python -m benchmarks linear`` runs the quick parts; ``python -m benchmarks linear calibration --sets 200`` and the
other parts by name: masses, speed, items, agreement, calibration, conjecture.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

import stochpref as sp
from stochpref.kinds import CORNER
from stochpref.laws import uniform_directions
from stochpref.mass.masses import exact_log_mass
from stochpref.paper.reproduce.second_limit import gain_of_a_limit
from stochpref.problems import Linear
from stochpref.regions import Regions
from tests.several_limits import a_market, at_most_three_items, bought, vertices_of

Array = NDArray[np.float64]
QUICK = ("masses", "speed", "items")


def masses(n_menus: int, seed: int) -> None:
    """Masses of all vertices of random menus add up to 1, and are what simulated customers buy."""
    for n_limits, n, count in ((1, 5, n_menus), (1, 6, n_menus), (2, 4, max(n_menus // 3, 1))):
        worst, largest, n_corners = 0.0, 0.0, 0
        for k in range(count):
            menus, law = a_market(n_limits, n, seed + k)
            seen = bought(menus, vertices_of(menus))
            regions = Regions.of(seen)
            p = np.exp(exact_log_mass(regions, law.concentration * law.mean_direction).log_mass)
            worst, n_corners = max(worst, abs(p.sum() - 1)), n_corners + int(np.sum(regions.kind_code == CORNER))
            customers = law.sample(100_000, rng=np.random.default_rng([seed, k]))
            chosen = menus.problem.choose(customers[:, None], menus)[:, 0]
            place = np.argmin(np.abs(chosen[:, None] - seen.bundles).sum(axis=2), axis=1)
            counts = np.bincount(place, minlength=len(seen))
            often = p * len(customers) > 25
            gap = np.abs(counts / len(customers) - p) / np.sqrt(p * (1 - p) / len(customers))
            largest = max(largest, float(gap[often].max()))
        print(
            f"budget and {n_limits} more, n = {n}, {count} menus ({n_corners} corners): |sum - 1| at most {worst:.1e} "
            f"(target {1e-9 if n_limits == 1 else 1e-7:g}); largest gap {largest:.2f} Monte Carlo errors"
        )


def speed(count: int, seed: int) -> None:
    """Value and gradient of rows at which two limits bind, and three, on one core (STOCHPREF_NUM_THREADS=1)."""
    for n_limits, n in ((1, 5), (1, 10), (2, 10)):
        rng = np.random.default_rng(seed)
        problem = Linear(rng.uniform(0.5, 2.0, (n_limits, n)), np.full(n_limits, 0.35 * n))
        menus = sp.Menus(rng.uniform(1, 2, (count, n)), np.full(count, 0.45 * n), problem=problem)
        direction = uniform_directions(1, n, rng=rng)[0] + 0.3
        law = sp.VonMisesFisher(direction / np.linalg.norm(direction), 5.0)
        regions = Regions.of(sp.simulate(law, menus, count, rng=rng))
        rows = np.flatnonzero([_n_prices(regions, t) == n_limits + 1 for t in range(count)])
        h, some = law.concentration * law.mean_direction, regions[rows]
        exact_log_mass(some[:1], h, gradient=True)
        started = time.process_time()
        exact_log_mass(some, h, gradient=True)
        each = (time.process_time() - started) / max(len(rows), 1)
        target = " (target 2)" if (n_limits, n) == (1, 10) else ""
        print(f"{n_limits + 1} limits bind, n = {n}, {len(rows)} rows: {1e3 * each:.2f} ms a row of CPU time{target}")


def _n_prices(regions: Regions, t: int) -> int:
    first, stop = regions.corners.first_piece[t : t + 2]
    return int(regions.corners.n_prices[first:stop].max(initial=0))


def items(n_customers: int, seed: int) -> None:
    """At most three items and a budget: probabilities of all bundles against simulated customers."""
    menus = at_most_three_items()
    mu = np.array([0.5, 0.2, -0.1, 0.6, 0.4])
    law = sp.VonMisesFisher(mu / np.linalg.norm(mu), 4.0)
    seen = bought(menus, vertices_of(menus))
    p = np.exp(exact_log_mass(Regions.of(seen), law.concentration * law.mean_direction).log_mass)
    chosen = menus.problem.choose(law.sample(n_customers, rng=np.random.default_rng(seed))[:, None], menus)[:, 0]
    place = np.argmin(np.abs(chosen[:, None] - seen.bundles).sum(axis=2), axis=1)
    often = p * n_customers > 5
    expected = np.append(p[often], p[~often].sum()) * n_customers
    counts = np.bincount(place, minlength=len(seen))
    counts = np.append(counts[often], counts[~often].sum())
    kept = expected > 0.5
    statistic, degrees = float(np.sum((counts - expected)[kept] ** 2 / expected[kept])), int(kept.sum()) - 1
    print(
        f"at most 3 items, n = 5, {n_customers:,} customers, {len(seen)} bundles: |sum - 1| = {abs(p.sum() - 1):.1e}, "
        f"chi2 = {statistic:.1f} on {degrees} degrees (1 % band ends at {chi2.ppf(0.99, degrees):.1f})"
    )


def _data(n: int, count: int, rng: np.random.Generator, kappa: float, direction: Array) -> sp.Observations:
    problem = Linear(rng.uniform(0.5, 2.0, (1, n)), [0.35 * n])
    menus = sp.Menus(rng.uniform(1, 2, (count, n)), rng.uniform(0.2 * n, 0.8 * n, count), problem=problem)
    return sp.simulate(sp.VonMisesFisher(direction, kappa), menus, count, rng=rng)


def agreement(n_sets: int, seed: int) -> None:
    """Posterior means of the exact likelihood and of Gibbs sampling, in Monte Carlo errors of their difference."""
    for k in range(n_sets):
        rng = np.random.default_rng([seed, k])
        data = _data(4, 60, rng, 5.0, uniform_directions(1, 4, rng=rng)[0])
        means, errors = [], []
        for name in ("importance", "gibbs"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                fit = sp.HeterogeneousUtility((1.0, 10.0), name, n_draws=500, n_effective=0, random_state=k).fit(data)
            kappa = fit.posterior_["posterior"]["concentration"].values.ravel()
            means.append(np.append(fit.directions.mean(axis=0), kappa.mean()))
            errors.append(fit.diagnostics_.mcse_mean)
        gap = np.abs(means[0] - means[1]) / np.hypot(*errors)
        print(f"set {k}: largest difference {gap.max():.2f} Monte Carlo errors (target 4)")


def calibration(n_sets: int, seed: int, n: int = 5, count: int = 40) -> None:
    """Coverage of 90 % intervals of κ and of the direction where truth comes from the prior, by Gibbs sampling."""
    held = np.zeros((n_sets, n + 1))
    for k in range(n_sets):
        rng = np.random.default_rng([seed, k])
        kappa, direction = rng.uniform(1.0, 10.0), uniform_directions(1, n, rng=rng)[0]
        data = _data(n, count, rng, kappa, direction)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fit = sp.HeterogeneousUtility(
                (1.0, 10.0), "gibbs", n_chains=2, n_draws=600, n_effective=0, random_state=k
            ).fit(data)
        draws = np.column_stack([fit.directions, fit.posterior_["posterior"]["concentration"].values.ravel()])
        low, high = np.quantile(draws, (0.05, 0.95), axis=0)
        held[k] = (low <= np.append(direction, kappa)) & (np.append(direction, kappa) <= high)
    pooled, error = held.mean(), held.mean(axis=1).std(ddof=1) / np.sqrt(n_sets)
    band = binom.ppf((0.025, 0.975), n_sets, 0.9) / n_sets
    print(
        f"n = {n}, T = {count}, {n_sets} data sets, seed {seed}: 90 % intervals hold {pooled:.3f} +- {error:.3f} of "
        f"the parameters, {held[:, -1].mean():.3f} of the concentrations (band {band[0]:.3f} to {band[1]:.3f})"
    )


def conjecture(count: int, seed: int) -> None:
    """Information of a purchase with a second limit and without, on the same menus."""
    budgets_and_rooms = ((1.0, 0.5), (0.8, 0.5), (0.5, 0.5), (0.3, 0.3), (0.3, 0.6))
    for n, kappa, (share, loose) in product((3, 5, 8), (3.0, 10.0, 30.0), budgets_and_rooms):
        found = gain_of_a_limit(n, kappa, share, loose, count, seed)
        print(
            f"n = {n}, kappa = {kappa:g}, budget {share:g} and room {loose:g} of what goods take: the limit binds in "
            f"{found.binds:.0%}; information across the mean {found.without:.3f} -> {found.with_limit:.3f} "
            f"+- {found.error:.3f} of seeing the utility"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(QUICK))
    parser.add_argument("--menus", type=int, default=6)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--customers", type=int, default=100_000)
    parser.add_argument("--sets", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    parts = {
        "masses": lambda: masses(given.menus, given.seed),
        "speed": lambda: speed(given.rows, given.seed),
        "items": lambda: items(given.customers, given.seed),
        "agreement": lambda: agreement(given.sets, given.seed),
        "calibration": lambda: calibration(given.sets, given.seed),
        "conjecture": lambda: conjecture(given.rows, given.seed),
    }
    for name in given.parts:
        parts[name]()


if __name__ == "__main__":
    main()
