"""Tastes by customer: yogurt, known households and new ones, by mode and by posterior, and simulated panels.

``python -m benchmarks customers FOLDER`` (or STOCHPREF_REAL_DATA) prints held-out scores, seconds of the processor and
how far draws agree; ``--panel`` simulates households with ten coefficients each; ``--calibration 300`` prints how often
intervals of small panels hold the truth.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import stochpref as sp
from stochpref.posterior.diagnostics import diagnose
from stochpref.tastes.reported import spreads_of

Array = NDArray[np.float64]
FEATURES = ("price", "feature")


def read_yogurt(path: Path) -> sp.Observations:
    """Return the choices of households, in the order of the file."""
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    price, shown, chosen = (table[name].reshape(-1, 4) for name in ("price", "feat", "choice"))
    goods, customers = table["brand"][:4].tolist(), table["id"][::4].tolist()
    return sp.choices(
        price, chosen.argmax(axis=1), goods=goods, customers=customers, reading="unit", features={"feature": shown}
    )


def timed_fit(data: sp.Observations, **settings: object) -> tuple[sp.NormalUtility, float]:
    """Return a fit and the seconds of the processor it took."""
    model = sp.NormalUtility(by_customer=True, random_state=0, **settings)  # type: ignore[arg-type]
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(data)
    return model, time.process_time() - started


def line(name: str, model: sp.NormalUtility, seconds: float, fresh: sp.Observations) -> None:
    """Print the score of purchases held out, and how far draws agree."""
    values = model.log_likelihood(fresh)
    error = values.std(ddof=1) / np.sqrt(len(values))
    said = f"    {name:<34}{values.mean():>9.4f} ± {error:.4f}{seconds:>8.1f} s of a core"
    if model.sampler_ != "mode":
        drawn = {key: value.values for key, value in model.posterior_["posterior"].data_vars.items()}
        mean, spread = spreads_of(model._engine.design, drawn)  # type: ignore[attr-defined]
        own = diagnose({"mean": mean, "spread": spread})
        found = model.diagnostics_
        said += f"; R-hat, fewest effective: predictions {found.worst_r_hat:.3f}, {found.fewest_effective:,.0f}"
        said += f"; means and spreads {own.worst_r_hat:.3f}, {own.fewest_effective:,.0f}"
        said += f"; {drawn['mean'].shape[0]} x {drawn['mean'].shape[1]} draws"
    print(said, flush=True)


def study_yogurt(path: Path, n_draws: int) -> None:
    """Print scores of known households, and of new ones."""
    data = read_yogurt(path)
    order = np.random.default_rng(0).permutation(len(data))
    fresh, learn = (np.sort(rows) for rows in np.split(order, [len(data) // 5]))
    timed_fit(data[learn[:50]], features=FEATURES, sampler="mode")  # compile
    print("yogurt, known households: log-probability of a choice held out, first fifth of permutation(2412)")
    for covariance in ("factor", "diagonal"):
        for sampler in ("mode", "auto"):
            model, seconds = timed_fit(
                data[learn], features=FEATURES, covariance=covariance, sampler=sampler, n_draws=n_draws
            )
            line(f"{covariance}, {sampler}", model, seconds, data[fresh])
    labels = list(dict.fromkeys(data.customers or ()))
    held = {labels[i] for i in np.random.default_rng(0).permutation(100)[:20]}
    is_held = np.array([label in held for label in data.customers or ()])
    print("yogurt, new households, each choice alone: the first fifth of permutation(100) held out")
    for sampler in ("mode", "auto"):
        model, seconds = timed_fit(data[np.flatnonzero(~is_held)], features=FEATURES, sampler=sampler, n_draws=n_draws)
        line(f"factor, {sampler}", model, seconds, data[np.flatnonzero(is_held)])


def simulate(
    n_goods: int, n_customers: int, n_choices: int, rng: np.random.Generator, *, is_prior: bool = False
) -> tuple[sp.Observations, Array, Array, Array]:
    """Return choices by goods and price, tastes (C, n + 1), and their means and spreads, less the mean over goods."""
    centre = np.eye(n_goods) - 1.0 / n_goods
    sigma = 1.0 if not is_prior else 2.0 * np.abs(rng.standard_t(4, n_goods + 1))
    mean = np.append(rng.standard_normal(n_goods), -1.0) if not is_prior else 5.0 * rng.standard_normal(n_goods + 1)
    loading = (0.7 if not is_prior else 2.0) * rng.standard_normal(n_goods + 1)
    each = rng.standard_normal((n_customers, n_goods + 1)) * sigma
    tastes = mean + each + rng.standard_normal(n_customers)[:, None] * loading
    prices = rng.uniform(1.0, 3.0, (n_customers * n_choices, n_goods))
    # Features are standardised by the model: prices here nearly are, about their mean, with the spread of the law.
    scaled = (prices - prices.mean()) / prices.std()
    rows = np.repeat(np.arange(n_customers), n_choices)
    worth = tastes[rows, :-1] + tastes[rows, -1:] * scaled + rng.gumbel(size=prices.shape)
    data = sp.choices(prices, np.argmax(worth, axis=1), customers=rows, reading="unit")
    covariance = np.diag(np.full(n_goods + 1, sigma**2) if np.ndim(sigma) == 0 else sigma**2) + np.outer(
        loading, loading
    )
    whole = np.zeros((n_goods + 1, n_goods + 1))
    whole[:-1, :-1], whole[-1, -1] = centre, 1.0 / prices.std()
    truth = tastes @ whole.T
    return data, truth, whole @ mean, np.sqrt(np.diag(whole @ covariance @ whole.T))


def study_panel(n_goods: int, n_customers: int, n_choices: int, n_draws: int, seed: int) -> None:
    """Print times, convergence and what intervals of customers hold, of a large simulated panel."""
    data, truth, *_ = simulate(n_goods, n_customers, n_choices, np.random.default_rng(seed))
    timed_fit(data[:70], features=("price",), sampler="mode")  # compile
    fresh = np.arange(len(data)) % n_choices == n_choices - 1
    print(f"simulated: {n_customers} households, {n_goods} goods and a price, {n_choices} choices each, seed {seed}")
    for sampler in ("mode", "auto"):
        model, seconds = timed_fit(data[np.flatnonzero(~fresh)], features=("price",), sampler=sampler, n_draws=n_draws)
        line(f"factor, {sampler}", model, seconds, data[np.flatnonzero(fresh)])
        found = model.customer_coefficients_
        held = np.mean((found.lower <= truth) & (truth <= found.upper))
        told = " (approximate)" if found.is_approximate else ""
        print(f"      90 % intervals of customers{told} hold {held:.1%} of {truth.size} coefficients")


def study_calibration(n_sets: int, seed: int) -> None:
    """Print how often 90 % intervals hold means and spreads, of panels whose law is drawn from the prior."""
    held: dict[str, list[float]] = {"means": [], "spreads": []}
    for k in range(n_sets):
        rng = np.random.default_rng([seed, k])
        data, _, mean, spread = simulate(4, 30, 6, rng, is_prior=True)
        if np.any(data.bundles.sum(axis=0) == 0):
            continue
        model, _ = timed_fit(data, features=("price",), n_draws=250, n_effective=0, n_chains=2)
        rows = model.summary()
        by_name = {row.name: row for row in (*rows.goods, *rows.features)}
        own = [by_name[name] for name in (*data.goods, "price")]
        held["means"].append(np.mean([row.lower <= m <= row.upper for row, m in zip(own, mean, strict=True)]))
        inside = [row.spread_lower <= s <= row.spread_upper for row, s in zip(own, spread, strict=True)]
        held["spreads"].append(np.mean(inside))
    for name, values in held.items():
        if values:
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            print(f"    {name:<10}{100 * np.mean(values):>7.1f} ± {100 * error:.1f} % of 90 % intervals, {len(values)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("STOCHPREF_REAL_DATA", ""))
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--panel", action="store_true", help="simulated households, in place of yogurt")
    parser.add_argument("--goods", type=int, default=10)
    parser.add_argument("--customers", type=int, default=500)
    parser.add_argument("--choices", type=int, default=8, help="of each, the last held out")
    parser.add_argument("--calibration", type=int, default=0, metavar="SETS")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.calibration:
        study_calibration(given.calibration, given.seed)
    elif given.panel:
        study_panel(given.goods, given.customers, given.choices, given.draws, given.seed)
    else:
        study_yogurt(Path(given.folder) / "yogurt_long.csv", given.draws)


if __name__ == "__main__":
    main()
