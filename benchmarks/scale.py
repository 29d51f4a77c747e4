"""Scale: cost against T and n; files, threads, Dask workers, many groups; what a hundred million rows would take.

``python -m benchmarks.scale goods files …`` runs the parts named, all of them by default; ``full`` among the arguments
takes the sizes that the documentation quotes, otherwise a small version runs. ``folder=DIR`` keeps the files of `files`
there and uses those it finds (1.2 GB for ten million rows of ten goods).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stochpref as sp
from benchmarks.timing import best_seconds, resident
from stochpref.mass.masses import sum_log_mass, sum_with_information
from stochpref.stores.cluster import spread
from stochpref.stores.disk import on_disk
from stochpref.stores.packing import PackedRegions
from stochpref.threads import n_threads

FULL = "full" in sys.argv
CONCENTRATION = 5.0
FILE_ROWS = 1_000_000


def market(n_goods: int, size: int, seed: int = 0) -> tuple[sp.Observations, np.ndarray]:
    mu = np.random.default_rng(n_goods).standard_normal(n_goods)
    mu /= np.linalg.norm(mu)
    law = sp.VonMisesFisher(mu, CONCENTRATION)
    seen = sp.simulate(law, sp.MenuLaw("uniform"), size, rng=np.random.default_rng([seed, n_goods]))
    return seen, CONCENTRATION * mu


@contextmanager
def threads(number: int) -> Iterator[None]:
    before = os.environ.get("STOCHPREF_NUM_THREADS")
    os.environ["STOCHPREF_NUM_THREADS"] = str(number)
    try:
        yield
    finally:
        os.environ.pop("STOCHPREF_NUM_THREADS")
        if before is not None:
            os.environ["STOCHPREF_NUM_THREADS"] = before


def goods() -> None:
    print("one pass over T observations on one core, law (i), kappa = 5, µs an observation:")
    print(f"  {'n':>4}{'T':>8}{'value, gradient':>18}{'and information':>18}")
    for n in (3, 5, 10, 25, 50, 100) if FULL else (3, 10):
        size = 4000 if n <= 25 else 1000
        seen, h = market(n, size)
        regions = sp.Regions.of(seen)
        with threads(1):
            costs = [
                1e6 / size * best_seconds(partial(f, regions, h, tolerance=1e-8), repeats=2)
                for f in (sum_log_mass, sum_with_information)
            ]
        print(f"  {n:>4}{size:>8,}{costs[0]:>18.1f}{costs[1]:>18.1f}", flush=True)


def precision() -> None:
    print("prices in 32 bits against 64: largest and root mean square difference of log-masses, and of their mean:")
    for n in (3, 10, 25):
        for kappa in (5.0, 50.0):
            seen, h = market(n, 2000)
            regions = sp.Regions.of(seen)
            rough = PackedRegions.of(regions, single_precision=True)
            mu = h / CONCENTRATION
            difference = sp.log_mass(rough.unpack(), mu, kappa) - sp.log_mass(regions, mu, kappa)
            size = (rough.codes.nbytes + rough.slope.nbytes) / len(regions)
            print(
                f"  n = {n:>2} kappa = {kappa:>2g}: {np.abs(difference).max():.1e}   "
                f"{np.sqrt(np.mean(difference**2)):.1e}   {abs(difference.mean()):.1e}   {size:.0f} bytes a row"
            )


# --- files


def write_rows(folder: Path, n_goods: int, size: int) -> None:
    """Write observations to Parquet files of a million rows, unless the folder holds them."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, size, FILE_ROWS)):
        path = folder / f"part-{k:03d}.parquet"
        if not path.exists():
            seen, _ = market(n_goods, min(FILE_ROWS, size - start), seed=k)
            sp.write_observations(seen, path, layout="wide")


class Cost(NamedTuple):
    """What a function cost, and what it returned."""

    seconds: float
    core_seconds: float
    peak_gigabytes: float
    result: Any


def measured(function: Callable[..., Any], *arguments: Any) -> Cost:
    """Run a function in a process of its own and return what it cost."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (function, *arguments))


def _measured(function: Callable[..., Any], *arguments: Any) -> Cost:
    started, busy = time.perf_counter(), time.process_time()
    result = function(*arguments)
    seconds, core_seconds = time.perf_counter() - started, time.process_time() - busy
    return Cost(seconds, core_seconds, resident("VmHWM") * 2**20 / 1e9, result)


def _maximum(folder: Path, rows: int) -> sp.MaximumLikelihood:
    _warm(folder)
    stored = sp.StoredObservations(folder)
    assert len(stored) == rows
    return sp.fit_maximum_likelihood(stored, tolerance=1e-8)


def _posterior(folder: Path) -> Any:
    _warm(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(random_state=0).fit(folder)
    return model.diagnostics_.pareto_k, model.diagnostics_.fewest_effective, model.likelihood_error_


def _one_pass(folder: Path, h: np.ndarray) -> tuple[float, float, float]:
    """Return core seconds an observation of a pass, of reading alone, and the value."""
    _warm(folder)
    stored = sp.StoredObservations(folder)
    start = time.process_time()
    with on_disk(stored, degenerate="refuse", seed=0) as (store, _):
        read = time.process_time() - start
        start = time.process_time()
        value = store.sums(h, tolerance=1e-8).value
        return (time.process_time() - start) / len(stored), read / len(stored), value


def _warm(folder: Path) -> None:
    """Compile on a few rows, so that compiling is no part of a measurement."""
    first = next(sp.StoredObservations(folder).blocks())[:100]
    sp.fit_maximum_likelihood(first)


def files() -> None:
    stated = [text.removeprefix("folder=") for text in sys.argv if text.startswith("folder=")]
    n, sizes = 10, (100_000, 10_000_000) if FULL else (70_000, 140_000)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(stated[0] if stated else temporary)
        print(f"maximum likelihood with standard errors from Parquet, n = {n}, {n_threads()} threads:")
        costs = []
        for size in sizes:
            folder = home / f"{n}-{size}"
            write_rows(folder, n, size)
            cost = measured(_maximum, folder, size)
            fit = cost.result
            truth = market(n, 1)[1] / CONCENTRATION
            off = np.abs(fit.mean_direction - truth) / fit.direction_standard_errors
            costs.append(cost.core_seconds / size)
            print(
                f"  T = {size:>10,}: {cost.seconds:7.0f} s, {cost.core_seconds:7.0f} s of a core, "
                f"{1e6 * cost.core_seconds / size:6.1f} µs an observation, peak {cost.peak_gigabytes:.2f} GB, "
                f"{fit.n_evaluations} passes, {fit.status}, truth within {off.max():.1f} standard errors",
                flush=True,
            )
        print(f"  cost an observation, {sizes[1]:,} against {sizes[0]:,}: {costs[1] / costs[0]:.2f} (at most 1.3)")
        h = market(n, 1)[1]
        passes = [measured(_one_pass, home / f"{n}-{size}", h) for size in sizes]
        for size, cost in zip(sizes, passes, strict=True):
            one, read, _ = cost.result
            print(
                f"  one pass, T = {size:>10,}: {1e6 * one:6.1f} µs of a core an observation; reading and packing, "
                f"once, {1e6 * read:.1f}; peak {cost.peak_gigabytes:.2f} GB",
                flush=True,
            )
        print(f"  the same ratio for a pass: {passes[1].result[0] / passes[0].result[0]:.2f}")
        if not FULL or "posterior" in sys.argv:
            cost = measured(_posterior, home / f"{n}-{sizes[1]}")
            k, n_effective, error = cost.result
            print(
                f"posterior, T = {sizes[1]:,}: {cost.seconds:.0f} s, {n_effective:.0f} effective draws, "
                f"Pareto k {k:.2f}, log-likelihoods to ±{error:.0e}, peak {cost.peak_gigabytes:.2f} GB"
            )


# --- threads and workers


def engines() -> None:
    from distributed import Client, LocalCluster  # noqa: PLC0415

    n, size = 10, 100_000 if FULL else 4000
    seen, h = market(n, size)
    regions = sp.Regions.of(seen)
    print(f"value, gradient and information, n = {n}, T = {size:,}:")
    base: Any = None
    for number in (1, 2):
        with threads(number):
            start = time.perf_counter()
            found = sum_with_information(regions, h, tolerance=1e-8)
            seconds = time.perf_counter() - start
        base = base or (seconds, found)
        line(f"{number} threads", seconds, base, found)
    for number in (1, 2, 4):
        with (
            LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            store = spread(regions, client)
            store.sums(h, derivatives=2, tolerance=1e-8)  # data sent, code compiled
            start = time.perf_counter()
            found = store.sums(h, derivatives=2, tolerance=1e-8)
            line(f"Dask, {number} workers", time.perf_counter() - start, base, found)


def line(name: str, seconds: float, base: tuple[float, Any], found: Any) -> None:
    off = abs(found.value / base[1].value - 1), np.abs(found.gradient - base[1].gradient).max() / abs(base[1].value)
    print(f"  {name:<16}{seconds:7.2f} s, {base[0] / seconds:.2f} times one thread; off by {max(off):.0e}", flush=True)


def groups() -> None:
    count, size = (1000, 200) if FULL else (24, 100)
    seen, _ = market(5, count * size)
    labels = np.repeat(np.arange(count), size)
    model = sp.HeterogeneousUtility(n_chains=2, n_draws=250, n_effective=100, random_state=0)
    print(f"{count:,} groups of {size} observations, 5 goods:")
    seconds, tables = [], []
    for jobs in (1, 2):
        with threads(1):
            start = time.perf_counter()
            fits = sp.fit_groups(model, seen, labels, jobs=jobs)
            seconds.append(time.perf_counter() - start)
        tables.append(fits.table)
        print(f"  {jobs} processes: {seconds[-1]:.1f} s, {len(fits.failures)} failures", flush=True)
    print(
        f"  {seconds[0] / seconds[1]:.2f} times faster with two (at least 1.7), "
        f"same table: {tables[0].equals(tables[1])}"
    )


PARTS = {"goods": goods, "precision": precision, "engines": engines, "groups": groups, "files": files}


def main() -> None:
    for name in [text for text in sys.argv[1:] if text in PARTS] or PARTS:
        print(f"-- {name}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
