"""Decisions: how near the best prices are to the best, what gains are worth, and whether intervals hold what happens.

``python -m benchmarks pricing sweeps`` compares exact sweeps with general-purpose optimisers and a long search, ``…
gains`` judges claimed gains in simulated shops, ``… tests`` what tests of prices were said to be worth, ``…
assortments`` searches against solving every subset, ``… forecasts`` intervals of totals against what customers then
bought, ``… funding --data FOLDER`` funded sets against a bootstrap of voters. ``--size full`` takes the numbers of
repetitions that the documentation quotes. Seconds are of one core.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import stochpref as sp
from benchmarks.totals import assortments, forecasts, funding
from stochpref.decisions.limits import PriceLimits
from stochpref.decisions.profit import CompetingProfit
from stochpref.decisions.searching import find_prices
from stochpref.decisions.sweeps import Crowd
from stochpref.problems import Open
from stochpref.rows import joined

Array = NDArray[np.float64]

_CUSTOMERS: Final = 8192
_JUDGES: Final = 1 << 17
_LOW, _HIGH = 0.6, 4.0


def shop_law(n: int, rng: np.random.Generator, concentration: float | None = None) -> sp.VonMisesFisher:
    """Return customers of n goods who like them more or less and for whom money is worth something."""
    mu = np.append(rng.uniform(0.1, 1.0, n), 0.3 + rng.uniform(0.3, 0.7))
    return sp.VonMisesFisher(mu / np.linalg.norm(mu), concentration or 2.5 * (n + 1))


def crowd_of(law: sp.VonMisesFisher, size: int, rng: np.random.Generator) -> Crowd:
    """Return customers with budgets, some of which bind."""
    n = law.n_goods - 1
    worth = Open(2.0).worth(law.sample(2 * size, rng=rng))[:size]
    money, size = rng.uniform(0.5, 1.0 * n, size), len(worth)
    nothing = np.zeros(size, np.int64)
    return Crowd(worth, np.full(size, 1 / size), nothing, np.arange(size), money[:size], np.ones((size, n)), 1)


def searches() -> dict[str, Callable[[CompetingProfit, Array, PriceLimits], Array]]:
    """Return ways to look for prices by name."""

    def swept(profit: CompetingProfit, start: Array, limits: PriceLimits) -> Array:
        return find_prices(profit, start, limits)

    def scipys(method: str, **options: float) -> Callable[[CompetingProfit, Array, PriceLimits], Array]:
        def found(profit: CompetingProfit, start: Array, limits: PriceLimits) -> Array:
            ends = list(zip(limits.lowest, limits.highest, strict=True))
            result = minimize(lambda p: -profit.mean(np.clip(p, _LOW, _HIGH)), start, method=method, bounds=ends,
                              options=options)  # fmt: skip
            return np.clip(result.x, _LOW, _HIGH)

        return found

    known = {"sweeps": swept, "SLSQP": scipys("SLSQP"), "SLSQP, step .02": scipys("SLSQP", eps=0.02)}
    known["Powell"] = scipys("Powell")
    if find_spec("cma"):
        known["CMA-ES"] = _evolved
    return known


def _evolved(profit: CompetingProfit, start: Array, limits: PriceLimits) -> Array:  # noqa: ARG001
    import cma  # type: ignore[import-not-found]  # noqa: PLC0415

    settings = {"bounds": [_LOW, _HIGH], "verbose": -9, "seed": 1}
    return np.asarray(cma.fmin(lambda p: -profit.mean(np.asarray(p)), start, 0.4, settings)[0])


def sweeps(n_shops: int, goods: tuple[int, ...], seed: int = 0) -> None:
    """Print by how much each search falls short of a long one, judged by fresh customers, and its seconds."""
    print(
        f"{n_shops} shops a line, {_CUSTOMERS:,} customers with budgets, seed {seed}; gap to a search from 5 starts on"
    )
    print(f"{_JUDGES:,} customers, judged by {_JUDGES:,} fresh ones; optimism: own figure above theirs")
    for n in goods:
        found: dict[str, list[tuple[float, float, float]]] = {}
        limits = PriceLimits(np.full(n, _LOW), np.full(n, _HIGH), (None,) * n, ())
        for k in range(n_shops):
            rng = np.random.default_rng([seed, n, k])
            law, costs = shop_law(n, rng), rng.uniform(0.2, 0.8, n)
            profit, long, judge = (
                CompetingProfit(crowd_of(law, size, rng), costs) for size in (_CUSTOMERS, _JUDGES, _JUDGES)
            )
            starts = [rng.uniform(_LOW, _HIGH, n) for _ in range(5)]
            best = max((find_prices(long, start, limits) for start in starts), key=long.mean)
            reference = judge.mean(best)
            for name, search in searches().items():
                started = time.process_time()
                prices = search(profit, np.full(n, 1.5), limits)
                seconds, value = time.process_time() - started, judge.mean(prices)
                row = (1 - value / reference, profit.mean(prices) / value - 1, seconds)
                found.setdefault(name, []).append(row)
        for name, rows in found.items():
            gap, optimism, seconds = np.mean(rows, axis=0)
            print(
                f"  n = {n:<4}{name:<18} gap {100 * gap:7.3f} %   optimism {100 * optimism:6.3f} %  {seconds:8.3f} s",
                flush=True,
            )


def purchases(law: sp.VonMisesFisher, size: int, rng: np.random.Generator) -> sp.Observations:
    """Return purchases from menus whose prices vary."""
    menus = sp.Menus(rng.uniform(1.0, 3.0, (size, law.n_goods - 1)), problem=Open(2.0))
    return sp.simulate(law, menus, size, rng=rng)


def fit(data: sp.Observations, seed: int) -> sp.HeterogeneousUtility:
    """Return a posterior, by few draws."""
    return sp.HeterogeneousUtility(
        sampler="gibbs", n_chains=2, n_draws=400, n_effective=0, random_state=seed
    ).fit(data)  # fmt: skip


def gains(n_shops: int, size: int, seed: int = 0, n: int = 3) -> None:
    """Print claimed and true gains, and how often 90 % intervals hold the true one, with and without held-out data."""
    rows = []
    for k in range(n_shops):
        rng = np.random.default_rng([seed, k, 7])
        law, costs = shop_law(n, rng), rng.uniform(0.2, 0.8, n)
        model, later = fit(purchases(law, size, rng), k), purchases(law, size, rng)
        own, judged = model.best_prices(costs=costs), model.best_prices(costs=costs, held_out=later)
        worth = Open(2.0).worth(law.sample(1_000_000, rng=rng))
        true_profit = [float(np.mean((worth > p) @ (p - costs))) for p in (own.prices, own.today)]
        gain = true_profit[0] - true_profit[1]
        rows.append([
            gain / true_profit[1], own.gain / true_profit[1], judged.gain / true_profit[1],
            own.gain_lower <= gain <= own.gain_upper, judged.gain_lower <= gain <= judged.gain_upper,
            judged.status == "misjudged",
        ])  # fmt: skip
        if (k + 1) % 25 == 0 or k + 1 == n_shops:
            _print_gains(np.array(rows, np.float64), size, n, seed)


def _print_gains(rows: Array, size: int, n: int, seed: int) -> None:
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    print(
        f"  {len(rows)} shops, n = {n}, T = {size}, seed {seed}: true gain {100 * mean[0]:.2f} ± {100 * error[0]:.2f} "
        f"%, claimed {100 * mean[1]:.2f} ± {100 * error[1]:.2f} %, judged on held-out {100 * mean[2]:.2f} ± "
        f"{100 * error[2]:.2f} %\n    90 % intervals hold it: {100 * mean[3]:.0f} ± {100 * error[3]:.0f} % as claimed, "
        f"{100 * mean[4]:.0f} ± {100 * error[4]:.0f} % as judged; called misjudged {100 * mean[5]:.0f} %",
        flush=True,
    )


def price_tests(n_shops: int, size: int = 100, batch: int = 100, seed: int = 0, n: int = 3) -> None:
    """Print what tests of prices were said to be worth, and what prices set after them earn more in truth."""
    rows = []
    limits, wide = sp.MenuLimits(lowest_price=0.5, highest_price=5.0), (0.5, 5.0)
    for k in range(n_shops):
        rng = np.random.default_rng([seed, k, 17])
        law, costs = shop_law(n, rng), rng.uniform(0.2, 0.8, n)
        first = purchases(law, size, rng)
        worth = Open(2.0).worth(law.sample(1_000_000, rng=rng))

        def after(data: sp.Observations, k: int = k, costs: Array = costs, worth: Array = worth) -> tuple[float, Any]:
            model = fit(data, k)
            ends = dict.fromkeys(data.goods, wide)
            prices = model.best_prices(costs=costs, bounds=ends, extrapolate=True).prices
            return float(np.mean((worth > prices) @ (prices - costs))), model

        before, model = after(first)
        settings = {"criterion": "profit", "fit": model, "costs": costs, "limits": limits}
        design = sp.optimal_menus(first.goods, batch, rng=rng, **settings)
        random = sp.Menus(rng.uniform(*wide, (batch, n)), goods=first.goods, problem=Open(2.0))
        tested = [sp.simulate(law, menus, batch, rng=rng) for menus in (design.menus, random)]
        profits = [after(joined(first, more))[0] for more in tested]
        rows.append([design.value, design.regret, *(1 - before / p for p in profits), *(p - before for p in profits)])
    mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
    print(
        f"  {len(rows)} shops, n = {n}, {size} purchases before, {batch} in the test, seed {seed}: said to be worth "
        f"{mean[0]:.4f} ± {error[0]:.4f}\n    of {mean[1]:.4f} that could be gained; gained by designed prices "
        f"{mean[4]:.4f} ± {error[4]:.4f} ({100 * mean[2]:.2f} %),\n    by random ones {mean[5]:.4f} ± {error[5]:.4f} "
        f"({100 * mean[3]:.2f} %)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pricing", description=__doc__)
    parts = ("sweeps", "gains", "assortments", "forecasts", "funding", "tests")
    parser.add_argument("what", nargs="?", default="all", choices=("all", *parts))
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--goods", type=int, action="append", help="of sweeps: how many; may be repeated")
    parser.add_argument("--repeat", type=int, help="shops or sets, in place of those of the size")
    parser.add_argument("--purchases", type=int, default=100, help="of gains: in each shop")
    parser.add_argument("--data", type=Path, default=os.environ.get("STOCHPREF_REAL_DATA"), help="folder of votes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    is_full = options.size == "full"

    def times(small: int, full: int) -> int:
        return int(options.repeat or (full if is_full else small))

    os.environ["STOCHPREF_NUM_THREADS"] = "1"  # seconds of one core
    runs: dict[str, Callable[[], None]] = {
        "sweeps": lambda: sweeps(
            times(1, 10), tuple(options.goods or ((5, 10, 25) if is_full else (5, 10))), options.seed
        ),
        "gains": lambda: gains(times(4, 200), options.purchases, options.seed),
        "assortments": lambda: assortments(times(10, 100), options.seed),
        "forecasts": lambda: forecasts(times(4, 200), seed=options.seed),
        "funding": lambda: funding(options.data, options.seed),
        "tests": lambda: price_tests(times(2, 40), seed=options.seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, run in runs.items():
            if options.what == name or (options.what == "all" and (name != "funding" or options.data)):
                print(f"{name}:", flush=True)
                run()


if __name__ == "__main__":
    main()
