"""Small markets with several limits, whose vertices can be counted: shared by tests and benchmarks."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

import stochpref as sp
from stochpref.laws import VonMisesFisher
from stochpref.problems import Linear


def a_market(n_limits: int, n: int, seed: int) -> tuple[sp.Menus, VonMisesFisher]:
    """Return one menu with so many limits beside the budget, and a law that is not symmetric."""
    rng = np.random.default_rng(seed)
    problem = Linear(rng.uniform(0.3, 2.0, (n_limits, n)), rng.uniform(1.0, 2.5, n_limits))
    menus = sp.Menus(rng.uniform(1, 2, (1, n)), rng.uniform(1.5, 4.0, 1), problem=problem)
    mu = rng.standard_normal(n)
    return menus, VonMisesFisher(mu / np.linalg.norm(mu), 3.0)


def vertices_of(menus: sp.Menus) -> np.ndarray:
    """Return every vertex of what one menu allows, found by trying all bases: goods at 0 or 1 but as many as limits."""
    problem, n = menus.problem, menus.n_goods
    assert isinstance(problem, Linear)
    use = np.vstack([menus.prices[0], problem.coefficients])
    limits = np.array([menus.budgets[0], *problem.at_most])
    found = []
    for m in range(len(use) + 1):
        for rows, goods in product(combinations(range(len(use)), m), combinations(range(n), m)):
            rest = [i for i in range(n) if i not in goods]
            matrix = use[np.ix_(rows, goods)]
            if m and abs(np.linalg.det(matrix)) < 1e-12:
                continue
            for ends in product((0.0, 1.0), repeat=len(rest)):
                x = np.zeros(n)
                x[rest] = ends
                if m:
                    x[list(goods)] = np.linalg.solve(matrix, limits[list(rows)] - use[list(rows)] @ x)
                if np.all((x > -1e-12) & (x < 1 + 1e-12)) and np.all(use @ x <= limits + 1e-9):
                    found.append(np.clip(x, 0.0, 1.0))
    return np.unique(np.round(found, 10), axis=0)


def bought(menus: sp.Menus, bundles: np.ndarray) -> sp.Observations:
    count = len(bundles)
    return sp.Observations(
        np.tile(menus.prices, (count, 1)), np.full(count, menus.budgets[0]), bundles, problem=menus.problem
    )


def at_most_three_items(n: int = 5) -> sp.Menus:
    """Return a menu whose vertices are degenerate: three whole items leave no good in part."""
    prices = np.linspace(1.0, 2.0, n)[None]
    return sp.Menus(prices, [prices[0, :3].sum()], problem=Linear(np.ones(n), 3.0, ["items"]))
