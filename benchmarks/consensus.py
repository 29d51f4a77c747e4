"""The common utility: scores, proofs and times, each beside the paper's figure, Algorithm 2 or an optimum by others.

``python -m benchmarks.consensus scores --size full`` prints the figures quoted in the documentation; without arguments
every section runs at a small size. Sections: scores, certified, optimum, hard, times, large, whole.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, hstack

import stochpref as sp
from benchmarks.published import fit_trimmed_hinge
from stochpref.consensus.effort import Effort
from stochpref.laws import uniform_directions
from stochpref.paper.annealing import Annealing

LAWS = ("uniform", "discrete", "fixed")
PAPER = {3: (99.9, 99.6, 99.9), 5: (96.7, 97.9, 98.7), 10: (96.0, 97.6, 87.1), 25: (55.7, 63.1, 58.7)}
TARGETS = {(25, 1000): (99.2, 99.9, 99.9), (100, 5000): (99.3, 99.9, 99.9), (10, 200): (99.0, 99.7, 99.9)}


def direction(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a direction in which some good is wanted."""
    u = rng.standard_normal(n)
    return (u if u.max() > 0 else -u) / np.linalg.norm(u)


def turned(u: np.ndarray, degrees: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a utility at an angle from another."""
    v = rng.standard_normal(u.size)
    v -= (v @ u) * u
    angle = np.deg2rad(degrees)
    return np.cos(angle) * u + np.sin(angle) * v / np.linalg.norm(v)


def market(n: int, T: int, delta: float, law: str, seed: int, kind: object = "uniform") -> tuple:
    """Observations, u* and the law they come from. kind: "uniform", "near" or an angle in degrees."""
    rng = np.random.default_rng(seed)
    u = direction(n, rng)
    contamination: object = None
    if kind == "near":
        contamination = sp.VonMisesFisher(u, 4.0 * n)
    elif not isinstance(kind, str):
        contamination = turned(u, float(kind), rng)
    utility_law = sp.CorruptedUtilityLaw(u, delta, contamination)
    return sp.simulate(utility_law, sp.MenuLaw(law), T, rng=rng), u, utility_law


def stack(regions: sp.Regions, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = [regions.inequalities(int(t))[0] for t in rows]
    return np.concatenate(parts), np.repeat(np.arange(len(rows)), [len(part) for part in parts])


def scores(size: str) -> None:
    """Strict score on 20,000 new observations, as a share of u*'s."""
    cells = {"small": [(10, 200)], "full": [(10, 200), (25, 1000), (100, 5000)]}[size]
    n_trials = {"small": 5, "full": 20}[size]
    for n, T in cells:
        for law in LAWS:
            table: dict[str, list[float]] = {}
            n_certified = 0
            for seed in range(n_trials):
                observations, u, utility_law = market(n, T, 0.1, law, seed)
                test = sp.simulate(utility_law, sp.MenuLaw(law), 20_000, rng=np.random.default_rng(10_000 + seed))
                best = sp.consistency(u, test)
                for name, estimate in estimates(observations, n, T, seed, size):
                    table.setdefault(name, []).append(100 * sp.consistency(estimate.utility_, test) / best)
                    n_certified += name == "certified" and estimate.is_optimal_
                if n * T <= 25_000 and seed < 5:
                    u_hinge = fit_trimmed_hinge(observations, np.random.default_rng(seed))
                    table.setdefault("trimmed hinge", []).append(100 * sp.consistency(u_hinge, test) / best)
            place = LAWS.index(law)
            paper = f"{PAPER[n][place]:.1f}" if n in PAPER else "none"
            print(
                f"n = {n}, T = {T}, law {law}, delta 0.1, seeds 0-{n_trials - 1}; "
                f"target {TARGETS[n, T][place]}, paper {paper}"
            )
            for name, values in table.items():
                error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
                print(f"    {name:<22} {np.mean(values):7.3f} +- {error:.3f} % of u*'s score ({len(values)} trials)")
            print(f"    certified optimal      {n_certified} of {n_trials}", flush=True)


def estimates(observations: sp.Observations, n: int, T: int, seed: int, size: str) -> Iterator[tuple]:
    # Another seed than the market's: the same one would start Algorithm 2 at u* itself.
    state = 50_000 + seed
    yield "certified", sp.CommonUtility(random_state=state).fit(observations)
    # τ chosen so that the temperature falls by the same factor, 0.9^50, in every run.
    for n_steps in (1000, 100_000) if size == "full" else (1000,):
        if n_steps == 1000 or seed < (3 if n <= 25 else 1):
            settings = Annealing(
                n_steps=n_steps, interval=n_steps // 50, temperature=T / 200, step_size=0.3 / np.sqrt(n)
            )
            model = sp.CommonUtility(solver="annealing", annealing=settings, random_state=state).fit(observations)
            yield f"Algorithm 2, K = {n_steps:,}", model


def certified(size: str) -> None:
    """How often the optimum is proven, uniform contamination, delta up to 0.3."""
    n_seeds = {"small": 3, "full": 10}[size]
    total, proven, failures = 0, 0, []
    for n, T in ((3, 200), (5, 200), (10, 200), (10, 1000), (25, 200), (25, 1000)):
        for delta in (0.05, 0.1, 0.2, 0.3):
            for law in LAWS:
                for seed in range(n_seeds):
                    observations, _, _ = market(n, T, delta, law, 1000 + seed)
                    model = sp.CommonUtility(random_state=0).fit(observations)
                    total += 1
                    proven += model.is_optimal_
                    if not model.is_optimal_:
                        failures.append((n, T, delta, law, 1000 + seed))
    print(f"certified {proven} of {total} = {100 * proven / total:.2f} % (target 99); not: {failures}")


def big_m(observations: sp.Observations, seconds: float, gap: float = 1e-4) -> tuple[int, float, bool]:
    """Solve the textbook programme V u <= -gap + M(1 - z); return verified incumbent, bound, is closed."""
    regions = sp.Regions.of(observations)
    n, T = regions.n_goods, len(regions)
    matrix, owner = stack(regions, np.arange(T))
    bound = np.abs(matrix).sum(axis=1) + gap
    z = csr_array((bound, (np.arange(len(owner)), owner)), shape=(len(owner), T))
    constraint = LinearConstraint(hstack([csr_array(matrix), z]), -np.inf, bound - gap)
    found = milp(
        np.append(np.zeros(n), -np.ones(T)), integrality=np.append(np.zeros(n), np.ones(T)),
        bounds=Bounds(np.append(-np.ones(n), np.zeros(T)), np.ones(n + T)), constraints=[constraint],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )  # fmt: skip
    incumbent = 0
    if found.x is not None and np.any(found.x[:n]):
        incumbent = int(regions.contains(found.x[:n], strict=True).sum())
    limit = T if found.mip_dual_bound is None else -found.mip_dual_bound
    return incumbent, float(limit), found.status == 0


def count_exactly(observations: sp.Observations, u: np.ndarray) -> int:
    """Strict consistency in rational arithmetic."""
    regions, count = sp.Regions.of(observations), 0
    values = [Fraction(float(x)) for x in u]
    for t in range(len(regions)):
        worth = [value / Fraction(float(a)) for value, a in zip(values, regions.slope[t], strict=True)]
        above = [worth[i] for i in np.flatnonzero(regions.side[t] == 1)]
        below = [worth[i] for i in np.flatnonzero(regions.side[t] == -1)]
        kind = regions.kind[t]
        if kind == "tight":
            price = max([Fraction(0), *below])
            count += not above or min(above) > price
        else:
            price = worth[regions.pivot[t]] if kind == "pivot" else Fraction(0)
            is_held = all(w > price for w in above) and all(w < price for w in below)
            count += is_held and (kind == "slack" or price > 0)
    return count


def optimum(size: str, seconds: float) -> None:
    """Against a mixed-integer optimum on random instances."""
    n_instances = {"small": 20, "full": 200}[size]
    rng = np.random.default_rng(5)
    n_closed = n_equal = n_proven = n_thin = 0
    wrong, used = [], 0.0
    for k in range(n_instances):
        delta = (0.0, 0.1, 0.3, 0.5)[k % 4]
        n = int(rng.integers(2, 11 if delta == 0.5 else 26))
        T = int(rng.integers(20, 101 if delta == 0.5 else 151))
        law, kind = LAWS[(k // 4) % 3], ("uniform", 30.0, "near")[(k // 12) % 3]
        observations, _, _ = market(n, T, delta, law, 7000 + k, kind)
        start = time.perf_counter()
        model = sp.CommonUtility(random_state=0).fit(observations)
        used = max(used, time.perf_counter() - start)
        incumbent, limit, is_closed = big_m(observations, seconds)
        count = model.n_consistent_
        is_thin = count > limit + 1e-6 and count_exactly(observations, model.utility_) == count
        n_thin += is_thin
        n_closed += is_closed
        n_equal += is_closed and (count == incumbent or is_thin)
        n_proven += model.is_optimal_
        is_wrong = count < incumbent or incumbent > model.upper_bound_ or count > model.upper_bound_
        is_wrong |= count > limit + 1e-6 and not is_thin
        is_wrong |= is_closed and count != incumbent and not is_thin
        if is_wrong or not model.is_optimal_ or is_thin:
            note = "WRONG" if is_wrong else ("thin cell" if is_thin else "unproven")
            wrong.append(k) if is_wrong else None
            print(
                f"  {note}: seed {7000 + k}, n {n}, T {T}, delta {delta}, {law}, {kind}: ours {count}, bound "
                f"{model.upper_bound_}, incumbent {incumbent}, its bound {limit:.2f}", flush=True,
            )  # fmt: skip
    print(
        f"{n_instances} instances, programme {seconds:g} s each: closed {n_closed}, equal there {n_equal}; ours proven "
        f"{n_proven}; cells thinner than the programme's 1e-4, verified in rational arithmetic: {n_thin}; "
        f"wrong {wrong}; our slowest {used:.2f} s"
    )


def hard(size: str) -> None:
    """Try a second group that shares a utility, and more odd customers than others."""
    n_seeds = {"small": 3, "full": 10}[size]
    for law in LAWS:
        for label, delta, kind in (
            ("group at 20", 0.4, 20.0), ("group at 8", 0.4, 8.0),
            *(("uniform", delta, "uniform") for delta in (0.5, 0.6, 0.7, 0.8, 0.9)),
        ):  # fmt: skip
            n_good = n_proven = 0
            ratio, seconds = [], []
            for seed in range(n_seeds):
                observations, u, _ = market(25, 600, delta, law, 300 + seed, kind)
                start = time.perf_counter()
                model = sp.CommonUtility(random_state=0, effort=Effort(seconds=10.0)).fit(observations)
                seconds.append(time.perf_counter() - start)
                truth = int(sp.Regions.of(observations).contains(u, strict=True).sum())
                n_good += model.n_consistent_ >= truth
                n_proven += model.is_optimal_
                ratio.append(model.n_consistent_ / truth)
            print(
                f"n = 25, T = 600, law {law}, {label}, delta {delta}, seeds 300-{299 + n_seeds}: count at least "
                f"u*'s on {n_good} of {n_seeds}, ratio {np.mean(ratio):.3f}, proven {n_proven}, "
                f"{np.median(seconds):.2f} s median, {max(seconds):.2f} s most", flush=True,
            )  # fmt: skip


def times(size: str) -> None:
    """Seconds after compilation, and how they grow."""
    sizes = [(25, 250), (25, 500), (25, 1000), (25, 2000), (25, 5000), (100, 1000), (100, 5000)]
    for n, T in sizes if size == "full" else sizes[:3]:
        for law in LAWS:
            observations, _, _ = market(n, T, 0.1, law, 0)
            taken = []
            for _ in range(4):
                start = time.perf_counter()
                model = sp.CommonUtility(random_state=0).fit(observations)
                taken.append(time.perf_counter() - start)
            print(
                f"n = {n}, T = {T}, law {law}, seed 0: {min(taken[1:]):.3f} s, proven {model.is_optimal_}", flush=True
            )


def large(size: str) -> None:
    """Beyond all pairs: time and memory."""
    import resource  # noqa: PLC0415

    for T in (25_000,) if size == "small" else (50_000, 200_000):
        for law in LAWS:
            observations, u, _ = market(25, T, 0.1, law, 0)
            start = time.perf_counter()
            model = sp.CommonUtility(random_state=0).fit(observations)
            taken = time.perf_counter() - start
            truth = int(sp.Regions.of(observations).contains(u, strict=True).sum())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"n = 25, T = {T:,}, law {law}, seed 0: {taken:.1f} s (target 120 at 50,000), peak {peak:.2f} GB "
                f"of the process; count {model.n_consistent_}, at most {model.upper_bound_}, u* {truth}", flush=True,
            )  # fmt: skip


def whole(size: str) -> None:
    """Whole goods: planted utilities at menus of their own, and brute force on tiny data."""
    sizes = [(5, 200), (10, 500), (20, 500), (30, 300)] if size == "small" else SIZES_WHOLE
    n_good = n_proven = n_all = 0
    for n, T in sizes:
        for delta in (0.1, 0.2, 0.3):
            rng = np.random.default_rng([n, T, int(10 * delta)])
            u = uniform_directions(1, n, rng=rng)[0]
            drawn = sp.MenuLaw("uniform").sample(T, n, rng=rng)
            menus = sp.Menus(drawn.prices, drawn.budgets, problem="whole")
            data = sp.simulate(sp.CorruptedUtilityLaw(u, delta), menus, T, rng=rng)
            start = time.process_time()
            model = sp.CommonUtility(random_state=0).fit(data)
            seconds = time.process_time() - start
            planted = int(data.problem.holds(data, u).sum())
            n_all, n_proven = n_all + 1, n_proven + model.is_optimal_
            n_good += model.n_consistent_ >= planted
            print(
                f"n = {n}, T = {T}, delta {delta}: {model.n_consistent_} consistent, planted {planted}, at most "
                f"{model.upper_bound_}, {len(model.steps_)} steps, {seconds:.1f} s of a core", flush=True,
            )  # fmt: skip
    print(f"certified {n_proven} of {n_all} (target 90 %), at least the planted utility's count {n_good} of {n_all}")
    n_tiny, n_same, n_false = (100, 0, 0) if size == "small" else (300, 0, 0)
    for seed in range(n_tiny):
        data = tiny_whole(seed)
        if not data.bundles.any() or (data.bundles == data.caps).all():
            n_tiny -= 1  # refused: nothing, or all, was bought
            continue
        model, most = sp.CommonUtility(random_state=0).fit(data), most_by_brute_force(data)
        n_same += model.n_consistent_ == most
        n_false += model.n_consistent_ > most or model.upper_bound_ < most
    print(f"brute force on {n_tiny} tiny data sets: {n_same} equal, {n_false} false claims", flush=True)


def tiny_whole(seed: int) -> sp.Observations:
    """Return 3 to 6 observations of 2 or 3 goods with caps to 2, half of one utility."""
    rng = np.random.default_rng([seed, 20])
    n, T = int(rng.integers(2, 4)), int(rng.integers(3, 7))
    caps, prices = rng.integers(1, 3, n).astype(float), rng.integers(1, 5, (T, n)) * rng.choice([1.0, 0.73])
    u = np.where(rng.random((T, 1)) < 0.5, rng.standard_normal(n), rng.standard_normal((T, n)))
    menus = sp.Menus(prices, rng.uniform(0.2, 1.0, T) * (prices @ caps), caps=caps, problem="whole")
    return sp.Observations(prices, menus.budgets, menus.problem.choose(u, menus), caps=caps, problem="whole")


def most_by_brute_force(data: sp.Observations) -> int:
    """Return how many observations share a utility at most, with every bundle and every subset written out."""
    every = np.array(list(product(*(range(int(cap) + 1) for cap in data.caps[0]))), float)
    cuts = []
    for t in range(len(data)):
        reach = every[every @ data.prices[t] <= data.budgets[t] * (1 + 1e-9)]
        other = data.bundles[t] - reach
        other = other[np.abs(other).max(axis=1) > 0.5]
        cuts.append(other / np.linalg.norm(other, axis=1, keepdims=True))

    def is_shared(rows: tuple[int, ...]) -> bool:
        normals = np.concatenate([cuts[t] for t in rows])
        if not len(normals):
            return True
        matrix, cost = np.column_stack([-normals, np.ones(len(normals))]), np.append(np.zeros(data.n_goods), -1.0)
        found = linprog(cost, A_ub=matrix, b_ub=np.zeros(len(normals)), bounds=[(-1, 1)] * data.n_goods + [(None, 1)])
        return bool(found.x[-1] > 1e-9)

    for k in range(len(data), 1, -1):
        if any(is_shared(rows) for rows in combinations(range(len(data)), k)):
            return k
    return 1


SIZES_WHOLE = [(n, T) for n in (5, 10, 20, 30, 50) for T in (200, 500, 1000)]
SECTIONS = ("scores", "certified", "optimum", "hard", "times", "large", "whole")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consensus", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--seconds", type=float, default=5.0, help="time limit of the reference programme")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    for kind in ("uniform", 8.0):  # compile everything before the clock runs
        sp.CommonUtility(random_state=0).fit(market(10, 200, 0.4, "uniform", 0, kind)[0])
    for section in options.sections or SECTIONS:
        print(f"-- {section}, {options.size}", flush=True)
        if section == "optimum":
            optimum(options.size, options.seconds)
        else:
            globals()[section](options.size)


if __name__ == "__main__":
    main()
