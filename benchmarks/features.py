"""Laws that move with features: recovered from simulated purchases, and yogurt beside a multinomial logit.

``python -m benchmarks features`` simulates a few data sets with a tax on goods and an income, ``--sets 100`` as many as
coverage takes; ``--posterior 20`` draws the posterior of so many of them too. ``--data FOLDER`` takes choices of yogurt
with the price as a feature, a fifth held out, ``--bootstrap 100`` compares standard errors with those of resampled
choices. Price and brand alone are in the logit too, so that both readings know the same.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import stochpref as sp

Array = NDArray[np.float64]

_INTERCEPTS = np.array([3.0, 1.0, -2.0, 0.5])
_TAX, _INCOME = -4.0, 2.0
_NORMAL_90 = 1.6448536269514722


def simulated_purchases(size: int, seed: int) -> tuple[sp.Observations, dict[str, float]]:
    """Return purchases of goods that a tax makes less wanted, the first of which is wanted more with income."""
    rng = np.random.default_rng(seed)
    tax, income = rng.uniform(0.0, 1.0, (size, 4)), rng.integers(0, 3, size).astype(np.float64)
    laws = _INTERCEPTS + _TAX * tax
    laws[:, 0] += _INCOME * income
    utilities = np.concatenate([
        sp.VonMisesFisher(h / np.linalg.norm(h), float(np.linalg.norm(h))).sample(1, rng=rng) for h in laws
    ])  # fmt: skip
    prices, budgets = rng.uniform(1.0, 2.0, (size, 4)), rng.uniform(1.0, 4.0, size)
    bundles = sp.choose(utilities, prices, budgets)
    data = sp.Observations(prices, budgets, bundles, goods=list("abcd"), features={"tax": tax, "income": income})
    truth = {f"income:{good}": _INCOME * (good == "a") for good in "abcd"}
    return data, {**dict(zip("abcd", _INTERCEPTS, strict=True)), "tax": _TAX, **truth}


def simulated(sets: int, size: int, n_posterior: int) -> None:
    """Print how often intervals hold the truth."""
    held, errors, seconds = [], [], 0.0
    drawn: list[float] = []
    for seed in range(sets):
        data, truth = simulated_purchases(size, seed)
        values, started = np.array(list(truth.values())), time.perf_counter()
        found = sp.fit_maximum_likelihood(data, features=("tax", "income"))
        seconds += time.perf_counter() - started
        z = (found.coefficients - values) / found.standard_errors
        held.append(float(np.mean(np.abs(z) < _NORMAL_90)))
        errors.append(z)
        if seed < n_posterior:
            model = sp.HeterogeneousUtility(features=("tax", "income"), n_effective=200, random_state=seed).fit(data)
            rows = model.summary().coefficients
            inside = [row.lower <= truth[row.name] <= row.upper for row in rows]
            drawn.append(float(np.mean(inside)))
    print(f"{sets} sets of {size:,} purchases of 4 goods, tax and income, 9 coefficients; {seconds / sets:.1f} s a fit")
    square = np.mean(np.square(errors))
    print(f"  90 % intervals by maximum likelihood hold {_percent(held)}; z has mean square {square:.3f}")
    if drawn:
        print(f"  those of the posterior, of the first {len(drawn)} sets, hold {_percent(drawn)}")


def _percent(shares: list[float]) -> str:
    error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
    return f"{100 * np.mean(shares):.1f} ± {100 * error:.1f} % of the truths"


def yogurt(folder: Path) -> tuple[sp.Observations, sp.Observations]:
    """Return choices to learn from and those held out, prices as a feature."""
    columns = {"observation": "obsID", "good": "brand", "quantity": "choice", "customer": "id"}
    paid = sp.read_observations(folder / "yogurt_long.csv", columns=columns, budget="spent")
    data = sp.choices(
        np.ones_like(paid.prices), np.argmax(paid.bundles, axis=1), goods=paid.goods, customers=paid.customers,
        features={"price": paid.prices},
    )  # fmt: skip
    order = np.random.default_rng(0).permutation(len(data))
    return data[np.sort(order[len(data) // 5 :])], data[np.sort(order[: len(data) // 5])]


def logit_score(learn: sp.Observations, fresh: sp.Observations) -> float:
    """Return the held-out score of a multinomial logit with a constant a brand and the price."""

    def loss(theta: Array, data: sp.Observations) -> float:
        worth = np.append(theta[:-1], 0.0) + theta[-1] * data.features["price"]
        worth = worth - worth.max(axis=1, keepdims=True)
        return -float(np.mean(np.sum(data.bundles * worth, axis=1) - np.log(np.exp(worth).sum(axis=1))))

    found = minimize(loss, np.zeros(learn.n_goods), args=(learn,), method="BFGS")
    return -loss(found.x, fresh)


def real(folder: Path, n_bootstrap: int, *, has_posterior: bool) -> None:
    """Print scores of yogurt, and standard errors beside those of resampled choices."""
    learn, fresh = yogurt(folder)
    found = sp.fit_maximum_likelihood(learn, features=("price",))
    print(found)
    values, base = found.log_likelihoods(fresh), logit_score(learn, fresh)
    print(f"yogurt, {len(learn):,} learned from, {len(fresh):,} held out: price as a feature {values.mean():.4f}, "
          f"multinomial logit {base:.4f}, difference {values.mean() - base:+.4f}", flush=True)  # fmt: skip
    if has_posterior:
        model = sp.HeterogeneousUtility(features=("price",), random_state=0).fit(learn)
        print(f"  by the posterior {model.score(fresh):.4f} ({model.sampler_}); {model.coefficients_}", flush=True)
        print(model.effects())
    if n_bootstrap:
        rng = np.random.default_rng(1)
        picks = [rng.integers(len(learn), size=len(learn)) for _ in range(n_bootstrap)]
        again = np.array([sp.fit_maximum_likelihood(learn[rows], features=("price",)).coefficients for rows in picks])
        spread = again.std(axis=0, ddof=1)
        print(f"  errors over those of {n_bootstrap} resamples of choices (± {1 / np.sqrt(2 * n_bootstrap):.3f})")
        for kind, errors in (("robust", found.robust_standard_errors), ("of the law", found.standard_errors)):
            each = zip(found.coefficient_names, errors / spread, strict=True)
            print(f"    {kind:<12}" + ", ".join(f"{name} {ratio:.3f}" for name, ratio in each))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks features", description=__doc__)
    parser.add_argument("--sets", type=int, default=4)
    parser.add_argument("--observations", type=int, default=300)
    parser.add_argument("--posterior", type=int, default=0, metavar="SETS")
    parser.add_argument("--data", type=Path, help="folder with yogurt_long.csv")
    parser.add_argument("--bootstrap", type=int, default=0, metavar="TIMES")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if options.sets:
            simulated(options.sets, options.observations, options.posterior)
        if options.data is not None:
            real(options.data, options.bootstrap, has_posterior=options.posterior > 0)


if __name__ == "__main__":
    main()
