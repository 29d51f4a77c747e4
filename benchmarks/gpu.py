"""The JAX engine: speed against the floor of the device, agreement with the CPU engine, estimates and posterior.

Needs numpy and jax only, so it runs on a bare GPU machine: ``python -m benchmarks.gpu``. Where numba is installed it
also times the CPU engine on fewer rows and says what that makes for as many. ``python -m benchmarks.gpu values FILE``
writes masses of the CPU engine; ``python -m benchmarks.gpu model`` fits the library's own models, for which all of it
must be installed; ``python -m benchmarks.gpu compare FILE``, elsewhere, compares with them.

Notes on the floor. A row of n goods costs, per node of the shadow price and good, one inverse Mills ratio and one
series of M terms, twice (mass, then mean); `operations` counts fused multiply-adds, a division as 10, exp as 20.
An H200 has 132 multiprocessors of 64 double-precision lanes at 1.98 GHz, 16.7e12 a second; reading the data (9 bytes a
good and row at 4.3e12 bytes a second) takes 0.05 ms and does not count. What keeps the kernels from the floor is that
divisions and exponentials branch, that additions and multiplications do not all pair, and that a series is a chain.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.timing import best_seconds
from stochpref.mass.jax.engine import JaxLogLikelihood

try:
    from stochpref.mass.masses import exact_log_mass
    from stochpref.regions import Regions
    from stochpref.threads import n_threads
except ImportError:
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

PEAK = 132 * 64 * 1.98e9  # fused multiply-adds a second, double precision, of an H200
CONCENTRATION, SEED = 5.0, 0
PLACE_PASSES, NODES = 27, 32  # of the engine


class Market(NamedTuple):
    """Regions as the engine takes them, and the h they were drawn under."""

    kind: np.ndarray
    side: np.ndarray
    slope: np.ndarray
    pivot: np.ndarray
    h: np.ndarray


def draw_utilities(mu: np.ndarray, kappa: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the von Mises–Fisher law by rejection of the cosine (Ulrich, Wood)."""
    n = len(mu)
    b = (n - 1) / (2 * kappa + np.sqrt(4 * kappa**2 + (n - 1) ** 2))
    x0 = (1 - b) / (1 + b)
    log_top = kappa * x0 + (n - 1) * np.log(1 - x0**2)
    cosine, left = np.empty(size), np.arange(size)
    while left.size:
        z = rng.beta((n - 1) / 2, (n - 1) / 2, left.size)
        proposed = (1 - (1 + b) * z) / (1 - (1 - b) * z)
        log_ratio = kappa * proposed + (n - 1) * np.log(1 - x0 * proposed) - log_top
        kept = log_ratio >= np.log(rng.random(left.size))
        cosine[left[kept]] = proposed[kept]
        left = left[~kept]
    across = rng.standard_normal((size, n))
    across -= np.outer(across @ mu, mu)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return cosine[:, None] * mu + np.sqrt(1 - cosine**2)[:, None] * across


def simulate(n: int, size: int) -> Market:
    """Regions under law (i) as the engine takes them: goods in order of u/a until the money is spent."""
    rng = np.random.default_rng(SEED)
    mu = rng.standard_normal(n)
    mu /= np.linalg.norm(mu)
    u = draw_utilities(mu, CONCENTRATION, size, rng)
    prices, budgets = rng.uniform(1, 2, (size, n)), rng.uniform(1, n, size)
    order = np.argsort(-u / prices, axis=1)
    cost = np.cumsum(np.take_along_axis(np.where(u > 0, prices, 0.0), order, 1), axis=1)
    bought = np.take_along_axis(u > 0, order, 1) & (cost <= budgets[:, None])
    ranked = np.where(bought, 1, -1).astype(np.int8)
    binding = np.flatnonzero(cost[:, -1] > budgets)
    place = bought.sum(axis=1)[binding]
    ranked[binding, place] = 0
    side, pivot = np.empty_like(ranked), np.full(size, -1, np.int32)
    np.put_along_axis(side, order, ranked, 1)
    pivot[binding] = order[binding, place]
    kind = np.zeros(size, np.int8)
    kind[binding] = 1
    return Market(kind, side, prices, pivot, CONCENTRATION * mu)


def operations(n: int, n_pivot: int, n_slack: int) -> float:
    """Fused multiply-adds, at the least, of value and gradient."""
    mills = 18 + 20 + 2 * 10 + 8
    order = 18 if n < 16 else 16  # as in the engine
    series = sum(m // 2 + 5 for m in range(order - 1))
    per_node = 2 * (mills + series + order)
    place = PLACE_PASSES * (mills + 20 + 12)
    return n * (n_pivot * (NODES * per_node + place) + n_slack * (per_node + 14 * (mills + 32)))


def speed(n: int, size: int) -> JaxLogLikelihood:
    market = simulate(n, size)
    start = time.perf_counter()
    target = JaxLogLikelihood(*market[:4])
    print(f"n = {n}, T = {size:,}, law (i), kappa {CONCENTRATION:g}, seed {SEED}: {np.mean(market.kind):.2f} bind")
    print(f"  to the device {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    target.sums(market.h)
    print(f"  first value and gradient, compiling: {time.perf_counter() - start:.1f} s")
    rng = np.random.default_rng(1)
    nearby = iter(market.h + 1e-3 * rng.standard_normal((100, n)))
    both = best_seconds(lambda: target.sums(next(nearby)))
    alone = best_seconds(lambda: target.value(next(nearby)))
    n_pivot = int(np.sum(market.kind == 1))
    floor = operations(n, n_pivot, size - n_pivot) / PEAK
    print(
        f"  value and gradient {1e3 * both:.1f} ms (target at n = 25, T = 1,000,000: 100), value {1e3 * alone:.1f} ms"
    )
    print(f"  floor of an H200 {1e3 * floor:.1f} ms: achieved is {both / floor:.1f} times that")
    return target


def climb(target: JaxLogLikelihood, h: np.ndarray, *, with_prior: bool) -> tuple[np.ndarray, float, int]:
    """Newton's method with outer products for the information; with the prior factor |h|^(1-n) or without."""
    n, evaluations = len(h), 0

    def evaluate(h: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        value, gradient, outer = target.totals(h)
        if not with_prior:
            return value, gradient, outer
        square = float(h @ h)
        bend = (n - 1) / square * (np.eye(n) - 2 / square * np.outer(h, h))
        return value + 0.5 * (1 - n) * np.log(square), gradient + (1 - n) / square * h, outer + bend

    here = evaluate(h)
    for _ in range(50):
        step = np.linalg.solve(here[2], here[1])
        if float(step @ here[1]) < 1e-6:  # in squared standard deviations
            break
        step *= min(1.0, max(2.0, float(np.linalg.norm(h))) / float(np.linalg.norm(step)))
        there = evaluate(h + step)
        evaluations += 1
        while there[0] < here[0]:
            step *= 0.5
            there = evaluate(h + step)
            evaluations += 1
        h, here = h + step, there
    return h, here[0], evaluations


def pareto_shape(log_weights: np.ndarray) -> float:
    """Shape of the tail of the weights, by the posterior mean of Zhang and Stephens (2009)."""
    count = int(np.ceil(min(0.2 * log_weights.size, 3 * np.sqrt(log_weights.size))))
    ordered = np.sort(np.exp(log_weights - log_weights.max()))
    x = ordered[-count:] - ordered[-count - 1]
    grid = 30 + int(np.sqrt(count))
    b = (1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))) / (3 * x[int(count / 4 + 0.5) - 1]) + 1 / x[-1]
    k = np.log1p(-b[:, None] * x).mean(axis=1)
    profile = count * (np.log(-b / k) - k - 1)
    weight = 1 / np.exp(profile - profile[:, None]).sum(axis=1)
    shape = np.log1p(-float(b @ weight / weight.sum()) * x).mean()
    return float((count * shape + 10 * 0.5) / (count + 10))  # a weak prior towards one half, worth ten weights


def split_r_hat(draws: np.ndarray) -> float:
    """Largest R-hat of halved chains (chains, draws, quantities)."""
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within, between = parts.var(axis=1, ddof=1).mean(axis=0), half * parts.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt((half - 1) / half + between / within / half).max())


def effective(draws: np.ndarray) -> float:
    """Fewest effective draws over quantities, Geyer's initial positive sequence, of (chains, draws, quantities)."""
    chains, length, _ = draws.shape
    centred = draws - draws.mean(axis=(0, 1))
    lags = [np.mean(centred[:, : length - k] * centred[:, k:], axis=(0, 1)) for k in range(length // 2)]
    rho = np.array(lags) / lags[0]
    pairs = rho[0:-1:2] + rho[1::2]
    positive = np.minimum.accumulate(np.where(pairs > 0, 1.0, 0.0), axis=0)
    time_constant = -1 + 2 * np.sum(positive * pairs, axis=0)
    return float((chains * length / np.maximum(time_constant, 0.5)).min())


def importance(target: JaxLogLikelihood, mode: np.ndarray, factor: np.ndarray, n_draws: int) -> tuple[float, float]:
    """Effective draws and Pareto shape of proposals from a Student t law around the mode."""
    n, rng = len(mode), np.random.default_rng(2)
    nu, log_weights = 2.0 * len(mode), np.empty(n_draws)
    for k in range(n_draws):
        z = rng.standard_normal(n) / np.sqrt(rng.chisquare(nu) / nu)
        h = mode + factor @ z
        log_proposal = -0.5 * (nu + n) * np.log1p(float(z @ z) / nu)
        log_weights[k] = target.value(h, tolerance=1e-8) + 0.5 * (1 - n) * np.log(h @ h) - log_proposal
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum()), pareto_shape(log_weights)


def hamiltonian(target: JaxLogLikelihood, mode: np.ndarray, factor: np.ndarray, n_draws: int) -> tuple[float, float]:
    """Effective draws and R-hat of four chains, each draw half a kick, a quarter turn, half a kick."""
    n, rng = len(mode), np.random.default_rng(3)

    def evaluate(z: np.ndarray) -> tuple[float, np.ndarray]:
        h = mode + factor @ z
        value, gradient = target.sums(h, tolerance=1e-8)
        gradient = gradient + (1 - n) / float(h @ h) * h
        return value + 0.5 * (1 - n) * float(np.log(h @ h)), factor.T @ gradient + z

    kept = np.empty((4, n_draws, n))
    for chain in range(4):
        z = 2 * rng.standard_normal(n)
        here = evaluate(z)
        for k in range(-10, n_draws):
            p, angle = rng.standard_normal(n), 0.5 * np.pi * rng.uniform(0.8, 1.2)
            before = here[0] - 0.5 * float(p @ p)
            p = p + 0.5 * angle * here[1]
            new, p = np.cos(angle) * z + np.sin(angle) * p, np.cos(angle) * p - np.sin(angle) * z
            there = evaluate(new)
            p = p + 0.5 * angle * there[1]
            if np.log(rng.random()) < there[0] - 0.5 * float(p @ p) - before:
                z, here = new, there
            if k >= 0:
                kept[chain, k] = z
    return effective(kept), split_r_hat(kept)


def inference(n: int, size: int, n_proposals: int, n_draws: int) -> None:
    market = simulate(n, size)
    start = time.perf_counter()
    target = JaxLogLikelihood(*market[:4])
    estimate, value, evaluations = climb(target, np.full(n, 1e-3), with_prior=False)
    found = time.perf_counter() - start
    information = target.information(estimate)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    print(f"maximum likelihood from nothing, n = {n}, T = {size:,}: {found:.1f} s, {evaluations} evaluations,")
    print(f"  with standard errors {time.perf_counter() - start:.1f} s, compiling included; log-likelihood {value:.6f}")
    score = (estimate - market.h) / errors
    print(f"  errors of h in standard errors: root mean square {np.sqrt(np.mean(score**2)):.2f}")
    mode, _, _ = climb(target, estimate, with_prior=True)
    square = float(mode @ mode)
    bend = (n - 1) / square * (np.eye(n) - 2 / square * np.outer(mode, mode))
    factor = np.linalg.cholesky(np.linalg.inv(target.information(mode) + bend))
    drawing = time.perf_counter()
    n_effective, shape = importance(target, mode, factor, n_proposals)
    now = time.perf_counter()
    print(f"  posterior by importance sampling: {n_effective:.0f} effective of {n_proposals}, Pareto k {shape:.2f}")
    print(f"  {now - start:.1f} s in all, compiling included (target: 60 s for 400 with k below 0.7);")
    print(f"  {n_effective / (now - drawing):.1f} effective draws a second of drawing")
    cpu_rate(market, n_effective / n_proposals)
    drawing = time.perf_counter()
    n_effective, r_hat = hamiltonian(target, mode, factor, n_draws)
    seconds = time.perf_counter() - drawing
    print(f"  Hamiltonian, 4 chains of {n_draws}: {n_effective:.0f} effective, R-hat {r_hat:.3f}, {seconds:.1f} s,")
    print(f"  {n_effective / seconds:.1f} effective draws a second")


def model(n: int, size: int, n_draws: int) -> None:
    """Fit the library's own models on the device: with as many proposals as `inference` makes, then as they come."""
    import stochpref as sp  # noqa: PLC0415  (the parts above need numpy and jax only)

    market = simulate(n, 1)
    mu = market.h / CONCENTRATION
    seen = sp.simulate(
        sp.VonMisesFisher(mu, CONCENTRATION), sp.MenuLaw("uniform"), size, rng=np.random.default_rng(SEED)
    )
    print(f"HeterogeneousUtility(engine='jax'), n = {n}, T = {size:,}:")
    for words, settings in (
        (f"4 x {n_draws} proposals, compiling included", {"n_draws": n_draws, "n_effective": 0}),
        ("until 400 draws are effective and R-hat is below 1.01, compiled before", {}),
    ):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said below
            fitted = sp.HeterogeneousUtility(engine="jax", random_state=SEED, **settings).fit(seen)
        seconds, found = time.perf_counter() - start, fitted.diagnostics_
        print(f"  {words}: {fitted.sampler_}, {seconds:.1f} s in all,")
        print(
            f"    Pareto k {found.pareto_k:.2f}, at least {found.fewest_effective:.0f} effective draws by arviz, "
            f"{fitted.status_}, converged: {fitted.is_converged_}",
            flush=True,
        )
    start = time.perf_counter()
    likely = sp.fit_maximum_likelihood(seen, engine="jax")
    off = np.abs((likely.mean_direction - mu) / likely.direction_standard_errors).max()
    print(f"fit_maximum_likelihood(engine='jax'): {time.perf_counter() - start:.1f} s, {likely.status},")
    print(f"  truth within {off:.1f} standard errors")


def cpu_rate(market: Market, efficiency: float, n_rows: int = 10_000) -> None:
    """Say what the CPU engine would draw in a second, from its time on fewer rows."""
    if not HAS_NUMBA:
        print("  CPU engine: numba is not installed here")
        return
    regions, size = as_regions(market, n_rows), len(market.kind)
    each = best_seconds(lambda: exact_log_mass(regions, market.h, tolerance=1e-8), 2) / len(regions)
    print(f"  CPU engine, {n_threads()} threads: {1e6 * each:.1f} us a row, {efficiency / (each * size):.4f} effective")
    print(f"  draws a second, extrapolated from {len(regions):,} rows to {size:,}")


def as_regions(market: Market, n_rows: int) -> Regions:
    kind, side, slope, pivot = (np.ascontiguousarray(table[:n_rows]) for table in market[:4])
    return Regions(kind, side, slope, pivot, float(slope.max()))


def write_values(path: str) -> None:
    found = {}
    for n in (10, 25):
        market = simulate(n, 2000)
        masses = exact_log_mass(as_regions(market, 2000), market.h, gradient=True, tolerance=1e-12)
        found |= {f"log_mass_{n}": masses.log_mass, f"gradient_{n}": masses.gradient}
    np.savez(path, **found)


def compare(path: str) -> None:
    with np.load(path) as stored:
        for n in (10, 25):
            market = simulate(n, 2000)
            masses = JaxLogLikelihood(*market[:4]).rows(market.h)
            value = np.abs(masses.log_mass - stored[f"log_mass_{n}"]).max()
            slopes = stored[f"gradient_{n}"]
            gradient = np.abs(masses.gradient - slopes).max() / np.abs(slopes).max()
            print(f"n = {n}, 2,000 rows against the CPU engine at 1e-12: log-mass {value:.1e}, gradient {gradient:.1e}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "part", nargs="?", default="all", choices=["all", "speed", "inference", "model", "values", "compare"]
    )
    parser.add_argument("file", nargs="?")
    parser.add_argument("--observations", type=int, default=1_000_000)
    parser.add_argument("--proposals", type=int, default=480)
    parser.add_argument("--draws", type=int, default=120)
    chosen = parser.parse_args(arguments)
    print(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, Python {sys.version.split()[0]}")
    if chosen.part == "values":
        write_values(chosen.file)
    if chosen.part == "compare":
        compare(chosen.file)
    if chosen.part in ("all", "inference"):
        inference(25, chosen.observations, chosen.proposals, chosen.draws)
    if chosen.part == "model":
        model(25, chosen.observations, chosen.draws)
    if chosen.part in ("all", "speed"):
        for n in (25, 10):
            speed(n, chosen.observations)


if __name__ == "__main__":
    main()
