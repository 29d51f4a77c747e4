"""Membership of one utility in every region, against reading the same arrays once."""

from __future__ import annotations

import numpy as np

import stochpref as sp
from benchmarks.timing import best_seconds


def main(n_customers: int = 100_000, n_goods: int = 25, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n_goods)
    print(f"n = {n_goods}, T = {n_customers:,}, seed {seed}; target: contains at most 3 times the sums")
    for law in ("uniform", "discrete", "fixed"):
        menus = sp.MenuLaw(law).sample(n_customers, n_goods, rng=rng)
        bundles = sp.choose(rng.standard_normal((n_customers, n_goods)), menus.prices, menus.budgets)
        regions = sp.Regions.of(sp.Observations(menus.prices, menus.budgets, bundles))
        ours = best_seconds(lambda r=regions: r.contains(u), repeats=15)
        reading = best_seconds(lambda r=regions: (r.slope.sum(), r.side.sum()), repeats=15)
        print(f"  {law:<9} contains {1e3 * ours:6.2f} ms   sums {1e3 * reading:6.2f} ms   ratio {ours / reading:.2f}")


if __name__ == "__main__":
    main()
