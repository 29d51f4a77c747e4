"""Real purchases, honestly: held-out log scores and shares explained, both models and simple baselines.

``python -m benchmarks.real_data FOLDER`` reads the files named in `CASES` from a folder (they are not part of the
project); ``--only yogurt`` takes the cases that hold a word. A fifth of every file is held out, the first of
``default_rng(0).permutation(T)``. Baskets whose budget is what was spent are scored a second time among the baskets of
whole goods that cost the same.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

import stochpref as sp

Array = NDArray[np.float64]
Baseline = Callable[[sp.Observations, sp.Observations], Array]  # learned from, scored -> log-probabilities

YOGURT = {"observation": "obsID", "good": "brand", "quantity": "choice"}
read_yogurt = partial(sp.read_observations, columns=YOGURT | {"price": 1.0, "budget": 1.0})
read_yogurt_paid = partial(sp.read_observations, columns=YOGURT, budget="spent")
read_scotch = partial(sp.read_observations, columns={"quantity": "*", "price": 1.0}, budget="spent")
read_tafeng = partial(sp.read_observations, columns={"quantity": "x", "price": "a"}, budget="spent")
read_votes = partial(sp.read_observations, problem="divisible", budget="spent")


def read_yogurt_value(path: Path) -> sp.Observations:
    """Read yogurt with a budget below every price, which goes to the brand that gives most for it."""
    seen = read_yogurt_paid(path)
    budget = 0.5 * seen.prices.min()
    parts = seen.bundles * budget / seen.prices
    return sp.Observations(seen.prices, np.full(len(seen), budget), parts, goods=seen.goods)


def brand_shares(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """One good is bought, with its market share."""
    counts = np.sum(learn.bundles > 0, axis=0)
    return np.log(counts / counts.sum())[np.argmax(fresh.bundles, axis=1)]


def logit(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Multinomial logit with a constant for each brand and one price coefficient, by maximum likelihood."""

    def log_probability(theta: Array, data: sp.Observations) -> Array:
        value = np.concatenate([[0.0], theta[:-1]]) + theta[-1] * data.prices
        value -= value.max(axis=1, keepdims=True)
        chosen = np.argmax(data.bundles, axis=1)
        return value[np.arange(len(data)), chosen] - np.log(np.exp(value).sum(axis=1))

    found = minimize(lambda theta: -log_probability(theta, learn).mean(), np.zeros(learn.n_goods), method="BFGS")
    return log_probability(found.x, fresh)


def independent(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Goods are bought independently, each with its share, kept off 0 and 1."""
    share = (np.sum(learn.bundles > 0, axis=0) + 0.5) / (len(learn) + 1.0)
    return np.where(fresh.bundles > 0, np.log(share), np.log1p(-share)).sum(axis=1)


def all_alike(_learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Every basket is as likely as any other."""
    return np.zeros(len(fresh))


def independent_given_number(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Goods are bought independently, and how many is known."""
    share = (np.sum(learn.bundles > 0, axis=0) + 0.5) / (len(learn) + 1.0)
    number = np.eye(len(share) + 1)[0]
    for p in share:  # the law of a sum of independent purchases, one more at a time
        number[1:] = number[1:] * (1 - p) + number[:-1] * p
        number[0] *= 1 - p
    return independent(learn, fresh) - np.log(number[np.sum(fresh.bundles > 0, axis=1)])


class Case(NamedTuple):
    """A file, how it is read, baselines, and whether whole baskets that cost the same are told apart."""

    title: str
    file: str
    read_fn: Callable[[Path], sp.Observations]
    baselines: tuple[Baseline, ...]
    is_whole: bool = False


BASKETS = (independent, independent_given_number)
CASES = (
    Case("yogurt, a = 1, b = 1", "yogurt_long.csv", read_yogurt, (brand_shares,)),
    Case("yogurt, a = price, b small", "yogurt_long.csv", read_yogurt_value, (brand_shares, logit)),
    Case("yogurt, a = price, b = paid", "yogurt_long.csv", read_yogurt_paid, ()),
    Case("scotch, a = 1, b = number", "scotch.csv", read_scotch, BASKETS),
    Case("Ta Feng, b = spent", "tafeng_110411_baskets.csv", read_tafeng, BASKETS, is_whole=True),
    *(
        Case(f"votes, {place}, b = spent", f"pb_knapsack/{name}.pb", read_votes, BASKETS, is_whole=True)
        for place, name in (
            ("Jersey City D", "US_Stanford_Dataset_2022_Jersey_City_Ward_D_vote_knapsacks"),
            ("Chicago 47", "US_Stanford_Dataset_PB_Chicago_47th_Ward_2022_Youth_vote_knapsacks"),
            ("Greensboro 3", "US_Stanford_Dataset_PB_Greensboro_District_3_2019_vote_knapsacks"),
            ("M. Turk", "Worldwide_Mechanical_Turk_Knapsack_3"),
        )
    ),
    Case(
        "votes, Greensboro 3, b = stated",
        "pb_knapsack/US_Stanford_Dataset_PB_Greensboro_District_3_2019_vote_knapsacks.pb",
        partial(sp.read_observations, problem="divisible"),
        BASKETS,
    ),
)


def study(case: Case, path: Path) -> None:
    """Print a line for each model and baseline."""
    data = case.read_fn(path)
    order = np.random.default_rng(0).permutation(len(data))
    n_held = len(data) // 5
    fresh, learn = data[np.sort(order[:n_held])], data[np.sort(order[n_held:])]
    print(f"{case.title}: {len(learn):,} learned from, {n_held:,} held out, {data.n_goods} goods", flush=True)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sp.HeterogeneousUtility(n_effective=200, n_draws=400, max_seconds=60, random_state=0).fit(learn)
    line(
        f"heterogeneous ({model.sampler_}, {model.diagnostics_.worst_r_hat:.3f})",
        model.log_likelihood(fresh),
        sp.consistency(model.mean_direction_, fresh),
        time.perf_counter() - started,
    )
    print(f"    concentration {model.concentration_:.1f}, customers agree to {100 * model.summary().alikeness:.0f} %")
    started = time.perf_counter()
    robust = sp.CommonUtility(random_state=0).fit(learn)
    proof = "proven" if robust.is_optimal_ else f"at most {robust.upper_bound_:,}"
    line(
        f"common ({robust.n_consistent_:,} explained, {proof})",
        robust.log_likelihood(fresh),
        robust.score(fresh),
        time.perf_counter() - started,
    )
    nothing = np.eye(data.n_goods)[0]
    line("nothing learned (uniform utilities)", sp.log_mass(sp.Regions.of(fresh), nothing, 0.0))
    for baseline in case.baselines:
        line(baseline.__name__.replace("_", " "), baseline(learn, fresh))
    popular = learn.bundles[_most_frequent(learn)]
    share = np.mean(np.all((fresh.bundles > 0) == (popular > 0), axis=1))
    print(f"    {'the most frequent basket':<44}{'':>20}{100 * share:>9.1f} %", flush=True)
    if case.is_whole:
        compare_whole(model, learn, fresh)


class Alternatives(NamedTuple):
    """Baskets of whole goods that cost what was spent, observation by observation, and where each one's begin."""

    baskets: sp.Observations
    starts: NDArray[np.intp]

    def log_total(self, scores: Array) -> Array:
        """Return the log of the sum of exp(score) over each observation's baskets."""
        return np.array([logsumexp(part) for part in np.split(scores, self.starts[1:])])


def alternatives_to(data: sp.Observations) -> Alternatives:
    """Return all baskets of whole goods that cost what each customer spent."""
    every = ((np.arange(2**data.n_goods)[:, None] >> np.arange(data.n_goods)) & 1).astype(float)
    found = [
        every[np.isclose(every @ prices, budget, rtol=1e-6)]
        for prices, budget in zip(data.prices, data.budgets, strict=True)
    ]
    sizes = np.array([len(baskets) for baskets in found])
    menus = np.repeat(data.prices, sizes, axis=0), np.repeat(data.budgets, sizes)
    return Alternatives(sp.Observations(*menus, np.concatenate(found), goods=data.goods), np.cumsum(sizes) - sizes)


def compare_whole(model: sp.HeterogeneousUtility, learn: sp.Observations, fresh: sp.Observations) -> None:
    """Print scores of the same baskets for who knows what was spent and that goods are whole."""
    others = alternatives_to(fresh)
    whole = others.log_total(model.log_likelihood(others.baskets))
    line("probability that goods are whole", whole)
    own = model.log_likelihood(fresh) - whole
    line("heterogeneous, given whole", own)
    for baseline in (independent, all_alike):
        told = baseline(learn, fresh) - others.log_total(baseline(learn, others.baskets))
        line(f"{baseline.__name__.replace('_', ' ')}, given whole and spent", told)
        line("    heterogeneous less that", own - told)


def _most_frequent(data: sp.Observations) -> int:
    _, first, counts = np.unique(data.bundles > 0, axis=0, return_index=True, return_counts=True)
    return int(first[np.argmax(counts)])


def line(name: str, scores: Array, explained: float | None = None, seconds: float | None = None) -> None:
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    shown = f"    {name:<44}{scores.mean():>11.4f} ± {error:.4f}"
    shown += "" if explained is None else f"{100 * explained:>9.1f} %"
    print(shown + ("" if seconds is None else f"{seconds:>8.0f} s"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_data", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="cases whose title holds this word")
    options = parser.parse_args()
    print("mean log-probability of a held-out bundle ± standard error, share explained exactly")
    for case in CASES:
        if options.only.casefold() in case.title.casefold():
            study(case, options.folder / case.file)


if __name__ == "__main__":
    main()
