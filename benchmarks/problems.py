"""What problems other than divisible goods say of real purchases: shops without budgets, choices of one brand.

``python -m benchmarks problems`` reads the data from the folder named by STOCHPREF_REAL_DATA. A fifth of each file is
held out, the first of ``default_rng(0).permutation(T)``; scores are mean log-probabilities of what was held out, given
that it could be recorded. ``--only market`` fits simulated open markets and counts how often intervals hold the truth.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

import stochpref as sp
from stochpref.mass.conditional import log_recorded
from stochpref.problems import OneOf, Open

Array = NDArray[np.float64]


def halves(data: sp.Observations) -> tuple[sp.Observations, sp.Observations]:
    """Return what is learned from and the fifth held out."""
    order = np.random.default_rng(0).permutation(len(data))
    n_held = len(data) // 5
    return data[np.sort(order[n_held:])], data[np.sort(order[:n_held])]


def read_tafeng(folder: Path, problem: str = "open") -> sp.Observations:
    """Return the baskets of Ta Feng as those of a shop that knows no budgets and records no empty basket."""
    seen = sp.read_observations(
        folder / "tafeng_110411_baskets.csv", columns={"quantity": "x", "price": "a"}, problem=problem
    )
    return sp.Observations(seen.prices, None, seen.bundles, goods=seen.goods, problem=problem, nonempty=True)


def read_yogurt(folder: Path, **reading: object) -> sp.Observations:
    """Return the choices of a brand of yogurt."""
    columns = {"observation": "obsID", "good": "brand", "quantity": "choice"}
    seen = sp.read_observations(folder / "yogurt_long.csv", columns=columns, problem=OneOf(reading="unit"))
    return sp.choices(seen.prices, np.argmax(seen.bundles, axis=1), goods=seen.goods, **reading)  # type: ignore[arg-type]


def independent_logits(learn: sp.Observations, fresh: sp.Observations) -> Array:
    """Each good is bought by a logit in its own price, given that the basket is not empty."""
    offered = np.isfinite(learn.prices)

    def log_probability(theta: Array, data: sp.Observations) -> Array:
        constant, slope = theta.reshape(2, -1)
        prices = np.where(np.isfinite(data.prices), data.prices, 0.0)
        value = np.where(np.isfinite(data.prices), constant + slope * prices, -50.0)
        chance = np.where(data.bundles > 0, np.log(expit(value)), np.log(expit(-value))).sum(axis=1)
        empty = np.log(expit(-value)).sum(axis=1)
        result: Array = chance - np.log1p(-np.exp(empty))
        return result

    start = np.concatenate(
        [np.zeros(learn.n_goods), -1.0 / np.array([learn.prices[o, i].mean() for i, o in enumerate(offered.T)])]
    )
    found = minimize(lambda theta: -log_probability(theta, learn).mean(), start, method="BFGS")
    return log_probability(found.x, fresh)


def line(name: str, scores: Array, seconds: float | None = None) -> None:
    """Print a mean with its standard error."""
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    took = "" if seconds is None else f"{seconds:>8.1f} s"
    print(f"    {name:<56}{scores.mean():>10.4f} ± {error:.4f}{took}", flush=True)


def score(name: str, learn: sp.Observations, fresh: sp.Observations, *, posterior: bool) -> sp.MaximumLikelihood:
    """Print the score of the most likely law, and of the posterior if asked for."""
    started = time.perf_counter()
    law = sp.fit_maximum_likelihood(learn)
    own = fresh.under(law.problem)
    line(
        f"{name}, most likely law",
        log_recorded(own.problem.recorded(own), law.h).log_mass,
        time.perf_counter() - started,
    )
    print(
        f"        kappa {law.concentration:.2f} ± {law.concentration_standard_error:.2f}, {law.problem!r}, {law.status}"
    )
    if posterior:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = sp.HeterogeneousUtility(random_state=0).fit(learn)
        took = time.perf_counter() - started
        line(f"{name}, posterior ({model.sampler_})", model.log_likelihood(fresh), took)
        found = model.demand(fresh.menus if len(fresh) < 600 else fresh.menus[:600], n_customers=512, n_draws=50)
        low, high, shares = (np.round(ends.mean(axis=0), 3) for ends in (found.lower, found.upper, found.mean))
        seen = fresh.bundles.mean(axis=0)
        error = np.round(np.sqrt(seen * (1 - seen) / len(fresh)), 3)
        print(f"        shares predicted {shares}, 90 % between {low} and {high}; seen {np.round(seen, 3)} ± {error}")
        print(f"        they add up to 1 within {np.abs(found.mean.sum(axis=1) - 1).max():.1e} (choices only)")
    return law


def study_tafeng(folder: Path, posterior: bool) -> None:
    """Print scores of the shop without budgets."""
    learn, fresh = halves(read_tafeng(folder))
    print(f"Ta Feng, open, given not empty: {len(learn):,} learned from, {len(fresh):,} held out")
    line("independent logits with own prices", independent_logits(learn, fresh))
    score("open", learn, fresh, posterior=posterior)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        segmented = sp.SegmentedUtility(3, random_state=0).fit(learn)
    took = time.perf_counter() - started
    line("open, three segments", segmented.log_likelihood(fresh), took)
    print(f"        scale {segmented.scale_:.0f}, shares {np.round(segmented.weights_, 2)}")


def study_yogurt(folder: Path, posterior: bool) -> None:
    """Print scores of choices of a brand."""
    for reading in ("value", "unit"):
        learn, fresh = halves(read_yogurt(folder, reading=reading))
        print(f"yogurt, one of four by {reading}: {len(learn):,} learned from, {len(fresh):,} held out")
        score(f"one, {reading}", learn, fresh, posterior=posterior)


def study_markets(n_markets: int, posterior: bool) -> None:
    """Print how often 90 % intervals of κ and of directions hold the truth, over simulated shops without budgets."""
    held, inside, bias, seconds = [], [], [], time.perf_counter()
    for seed in range(n_markets):
        rng = np.random.default_rng([seed, 20])
        n = int(rng.integers(3, 7))
        mu = rng.standard_normal(n + 1) * 0.5
        mu[-1] = abs(mu[-1]) + 0.3
        mu /= np.linalg.norm(mu)
        kappa = float(rng.uniform(3, 15))
        menus = sp.Menus(rng.uniform(1, 3, (400, n)), problem=Open(scale=2.0))
        data = sp.simulate(sp.VonMisesFisher(mu, kappa), menus, 400, rng=rng)
        if posterior:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = sp.HeterogeneousUtility(n_effective=200, random_state=seed).fit(data)
            figures, wanted = model.figures, model._rows["mean_direction"]
            held.append(figures["concentration_lower"] <= kappa <= figures["concentration_upper"])
            inside.append(np.mean([row.lower <= m <= row.upper for row, m in zip(wanted, mu, strict=True)]))
            bias.append(model.concentration_ / kappa)
        else:
            law = sp.fit_maximum_likelihood(data)
            held.append(abs(law.concentration - kappa) <= 1.645 * law.concentration_standard_error)
            inside.append(np.mean(np.abs(law.mean_direction - mu) <= 1.645 * law.direction_standard_errors))
            bias.append(law.concentration / kappa)
    error = 100 * np.sqrt(0.09 / n_markets)
    what = "posterior" if posterior else "maximum likelihood"
    print(f"simulated open markets, {what}: {n_markets} sets, {time.perf_counter() - seconds:.0f} s")
    shares = f"kappa {100 * np.mean(held):.1f} %, directions {100 * np.mean(inside):.1f} %"
    print(f"    90 % intervals hold {shares} (± {error:.1f})")
    print(f"    kappa estimated / true, median {np.median(bias):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.problems", description=__doc__)
    parser.add_argument("--only", default="", help="tafeng, yogurt or market")
    parser.add_argument("--posterior", action="store_true", help="posteriors as well as maximum likelihood")
    parser.add_argument("--markets", type=int, default=40)
    options = parser.parse_args()
    folder = os.environ.get("STOCHPREF_REAL_DATA")
    for name, study in (("tafeng", study_tafeng), ("yogurt", study_yogurt)):
        if options.only in ("", name):
            if folder is None:
                print(f"{name}: name the folder of the data in STOCHPREF_REAL_DATA")
            else:
                study(Path(folder), options.posterior)
    if options.only in ("", "market"):
        study_markets(options.markets, options.posterior)


if __name__ == "__main__":
    main()
