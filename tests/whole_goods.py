"""Slow twins of whole goods: the best bundle by a mixed-integer programme or by looking at all, menus to try."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import stochpref as sp
from stochpref.problems import Whole


def random_menu(rng: np.random.Generator, n: int, highest_cap: int = 4) -> tuple[np.ndarray, float, np.ndarray]:
    """Return prices, budget and caps: real, whole or equal prices; little money, or enough for nearly all."""
    kind = rng.integers(3)
    prices = rng.uniform(0.5, 2.0, n) if kind == 0 else rng.integers(1, 6, n) if kind == 1 else np.ones(n)
    caps = rng.integers(1, highest_cap + 1, n)
    return prices.astype(float), float(rng.uniform(0, 1.1) * prices @ caps), caps.astype(float)


def best_by_programme(
    u: np.ndarray, prices: np.ndarray, budget: float, caps: np.ndarray, is_whole: np.ndarray
) -> float:
    """Return the value of the best bundle, by HiGHS."""
    found = milp(
        -u, constraints=LinearConstraint(prices[None], ub=budget), bounds=Bounds(0, caps), integrality=is_whole,
        options={"mip_rel_gap": 0.0},
    )  # fmt: skip
    return -float(found.fun)


def all_bundles(prices: np.ndarray, budget: float, caps: np.ndarray) -> np.ndarray:
    """Return every whole bundle that the budget covers."""
    bundles = np.array(list(product(*(range(int(cap) + 1) for cap in caps))), np.float64)
    return bundles[bundles @ prices <= budget * (1 + 1e-9)]


def bought(u: np.ndarray, prices: np.ndarray, budget: float, caps: np.ndarray, problem: Whole) -> np.ndarray:
    """Return what is chosen from one menu."""
    return problem.choose(u, sp.Menus(prices[None], [budget], caps=caps, problem=problem))[0]
