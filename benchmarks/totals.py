"""Decisions beside prices, as `benchmarks.pricing` prints them: assortments, totals to come, and what a city funds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

import stochpref as sp
from stochpref.decisions.assortment import find_assortment, search_assortment
from stochpref.decisions.funding import Funding, fund_by
from stochpref.decisions.walking import Solvers, Walkers, walkers_of
from stochpref.market import LawMarket, make_crowds
from stochpref.problems import Divisible, OneOf, Problem

Array = NDArray[np.float64]

_FUNDED: Final = ("Jersey", "Greensboro")
_BOOTSTRAPS: Final = 2000


def assortments(n_shops: int, seed: int = 0, customers: int = 1024) -> None:
    """Print how often assortments equal those of solving every customer's problem for every subset of the goods."""
    found: dict[str, list[tuple[bool, bool, float, float]]] = {}
    for k in range(n_shops):
        rng = np.random.default_rng([seed, k, 11])
        n = int(rng.integers(5, 13))
        problem: Problem = Divisible() if k % 2 else OneOf(outside=True)
        mu = rng.uniform(0.0, 1.0, (1, n))
        mu /= np.linalg.norm(mu)
        goods = tuple(f"good{i + 1}" for i in range(n))
        market = LawMarket(goods, mu, np.array([2.0 * n]), make_crowds(mu[0], customers, 1, rng=rng), 1)
        prices = rng.uniform(1, 2, n)
        menus = sp.Menus(prices[None], [rng.uniform(1.0, 0.5 * n)], goods=goods, problem=problem)
        margins = prices - rng.uniform(0, 1.2, n)
        walkers = walkers_of(market, menus, [0], customers)
        assert isinstance(walkers, Walkers)
        offers = (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.bool_)
        # Another route: nobody is sorted, every subset is a menu of its own.
        best = float(Solvers([market.utilities(0)], menus).earn(offers, margins).max())
        started = time.process_time()
        exact = float(walkers.earn(find_assortment(walkers, margins, n)[0][None], margins)[0])
        seconds = time.process_time() - started
        greedy = float(walkers.earn(search_assortment(walkers, margins, n)[0][None], margins)[0])
        everything = float(walkers.earn(np.ones((1, n), np.bool_), margins)[0])
        row = (abs(exact / best - 1) < 1e-9, abs(greedy / best - 1) < 1e-9, everything / best, seconds)
        found.setdefault(problem.name, []).append(row)
    for name, rows in found.items():
        same, searched, share, seconds = np.mean(rows, axis=0)
        print(
            f"  {name:<10} {len(rows)} shops of 5 to 12 goods, seed {seed}: all tried equals solving every subset in "
            f"{100 * same:.0f} %, adding and exchanging in {100 * searched:.0f} %; everything on offer earns "
            f"{share:.2f} of the best; {seconds:.2f} s",
            flush=True,
        )


def forecasts(n_sets: int, counts: tuple[int, ...] = (100, 2000), seed: int = 0, n: int = 4, size: int = 150) -> None:
    """Print how often intervals of totals hold what new customers buy, strangers or such as come again."""
    for visits in (1, 5):
        hits: dict[tuple[int, str], list[float]] = {}
        for k in range(n_sets):
            _forecast_set(hits, np.random.default_rng([seed, k, visits, 13]), k, counts, (n, size, visits))
        who = "strangers" if visits == 1 else f"customers with {visits} purchases each"
        print(f"  {who}: {n_sets} fits to {size} purchases of {n} goods, seed {seed}")
        for (count, name), held in hits.items():
            error = np.std(held, ddof=1) / np.sqrt(len(held)) if len(held) > 1 else np.nan
            print(f"    N = {count:<6,}{name:<34} 90 % intervals hold {100 * np.mean(held):.1f} ± {100 * error:.1f} %")


def _forecast_set(
    hits: dict[tuple[int, str], list[float]],
    rng: np.random.Generator,
    k: int,
    counts: tuple[int, ...],
    sizes: tuple[int, int, int],
) -> None:
    n, size, visits = sizes
    mu = rng.uniform(-0.1, 1.0, n)
    law = sp.VonMisesFisher(mu / np.linalg.norm(mu), rng.uniform(4.0, 9.0))

    def shop(purchases: int) -> sp.Observations:
        tastes = np.repeat(law.sample(-(-purchases // visits), rng=rng), visits, axis=0)[:purchases]
        menus = sp.Menus(rng.uniform(1, 2, (purchases, n)), rng.uniform(1, 3, purchases))
        customers = None if visits == 1 else (np.arange(purchases) // visits).astype(str)
        return sp.Observations(menus.prices, menus.budgets, Divisible().choose(tastes, menus), customers=customers)

    model = sp.HeterogeneousUtility(sampler="gibbs", n_chains=2, n_draws=200, n_effective=0, random_state=k)
    model.fit(shop(size))
    for count in counts:
        truth = shop(count)
        total = np.append(truth.bundles.sum(axis=0), float(np.sum(truth.prices * truth.bundles)))
        demand = model.demand(truth.menus[: min(count, 200)])
        for by_customer in (False, True)[: 1 + (visits > 1)]:
            found = model.forecast(None, count, by_customer=by_customer)
            low = np.append(found.units_lower, found.revenue_lower)
            high = np.append(found.units_upper, found.revenue_upper)
            name = "by_customer" if by_customer else "as strangers" if visits > 1 else "forecast"
            hits.setdefault((count, name), []).append(float(np.mean((low <= total) & (total <= high))))
        scale = count / len(demand.mean)
        ends = demand.lower.sum(axis=0) * scale, demand.upper.sum(axis=0) * scale
        inside = (ends[0] <= total[:n]) & (total[:n] <= ends[1])
        hits.setdefault((count, "demand alone"), []).append(float(np.mean(inside)))


def funding(folder: Path, seed: int = 0) -> None:
    """Print the probability of projects being funded, by the posterior and by a bootstrap of voters."""
    for path in sorted(folder.glob("pb_knapsack/*.pb")):
        if not any(name in path.stem for name in _FUNDED):
            continue
        data, rng = sp.read_observations(path), np.random.default_rng(seed)
        budget, costs = float(data.budgets[0]), data.prices[0]
        counts = rng.multinomial(len(data), np.full(len(data), 1 / len(data)), _BOOTSTRAPS)
        support = counts @ data.bundles / len(data)
        for name, model in _voting_models().items():
            started = time.process_time()
            model.fit(data)
            seconds = time.process_time() - started
            print(f"  {path.stem}: {len(data):,} votes, {data.n_goods} projects, {name}, fitted in {seconds:.0f} s")
            for rule in ("demand", "greedy"):
                found = model.fund(rule=rule)
                _print_funded(found, fund_by(rule, support, costs, budget), data)


def _voting_models() -> dict[str, sp.SegmentedUtility | sp.HeterogeneousUtility]:
    return {
        "segments": sp.SegmentedUtility(random_state=0),
        "one law": sp.HeterogeneousUtility(random_state=0, n_effective=0, n_draws=250),
    }


def _print_funded(found: Funding, sets: NDArray[np.bool_], data: sp.Observations) -> None:
    gap = np.abs(found.probability - sets.mean(axis=0))
    actual = fund_by(found.rule, data.bundles.mean(axis=0)[None], found.costs, found.budget)[0]
    own = float(np.mean(np.all(sets == found.is_funded, axis=1)))
    print(
        f"    {found.rule:<7} probability of a project, posterior less bootstrap: largest difference {gap.max():.3f}; "
        f"of the set funded {found.set_probability:.2f}, {own:.2f} by the bootstrap; "
        f"{'the set' if np.array_equal(actual, found.is_funded) else 'another set than'} that counted votes fund",
        flush=True,
    )
