"""The customer's problem: one call of `choose` against one linear programme per customer."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

import stochpref as sp
from benchmarks.timing import best_seconds


def main(n_customers: int = 100_000, n_goods: int = 25, n_programmes: int = 200, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    menus = sp.MenuLaw("uniform").sample(n_customers, n_goods, rng=rng)
    u = rng.standard_normal((n_customers, n_goods))

    def one_by_one() -> None:
        for t in range(n_programmes):
            linprog(-u[t], A_ub=menus.prices[t : t + 1], b_ub=menus.budgets[t : t + 1], bounds=(0, 1))

    ours = best_seconds(lambda: sp.choose(u, menus.prices, menus.budgets)) / n_customers
    theirs = best_seconds(one_by_one, repeats=2) / n_programmes
    print(f"n = {n_goods}, T = {n_customers:,}, law (i), seed {seed}, per customer:")
    print(f"  choose   {1e6 * ours:10.3f} us")
    print(f"  linprog  {1e6 * theirs:10.3f} us   {theirs / ours:,.0f} times choose (target: at least 1,000)")


if __name__ == "__main__":
    main()
