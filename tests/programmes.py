"""Small problems with decisions: paths through a grid, whole transports, whole-item knapsacks."""

from __future__ import annotations

from itertools import product

import numpy as np

import stochpref as sp


def grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return flow balances E (nodes, arcs), e of paths right and down from one corner of a grid to the other."""
    arcs = [(i * size + j, i * size + j + 1) for i in range(size) for j in range(size - 1)]
    arcs += [(i * size + j, (i + 1) * size + j) for i in range(size - 1) for j in range(size)]
    E = np.zeros((size * size, len(arcs)))
    for k, (start, end) in enumerate(arcs):
        E[start, k], E[end, k] = 1.0, -1.0
    e = np.zeros(size * size)
    e[0], e[-1] = 1.0, -1.0
    return E, e


def all_paths(size: int) -> np.ndarray:
    """Return every path, (paths, arcs)."""
    E, _ = grid(size)
    found = []

    def walk(node: int, used: list[int]) -> None:
        if node == size * size - 1:
            x = np.zeros(E.shape[1])
            x[used] = 1.0
            found.append(x)
        for arc in np.flatnonzero(E[node] == 1.0):
            walk(int(np.flatnonzero(E[:, arc] == -1.0)[0]), [*used, int(arc)])

    walk(0, [])
    return np.array(found)


def paths(size: int) -> sp.LinearProgramme:
    E, e = grid(size)
    return sp.LinearProgramme(E=E, e=e, upper=1.0)


class Listed:
    """The best of decisions that are all listed, (D, k, n), D = 1 for one list; `knows` its cones or not."""

    def __init__(self, decisions: np.ndarray, *, knows: bool = False) -> None:
        self.decisions, self.knows = decisions, knows

    def of(self, row: int) -> np.ndarray:
        return self.decisions[row if len(self.decisions) > 1 else 0]

    def solve(self, utilities: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.array([self.of(t)[np.argmax(self.of(t) @ u)] for u, t in zip(utilities, rows, strict=True)])

    def cone(self, row: int, chosen: np.ndarray) -> np.ndarray | None:
        rivals = self.of(row)
        return chosen - rivals[np.any(rivals != chosen, axis=1)] if self.knows else None


def knapsacks(n: int, count: int, rng: np.random.Generator, *, knows: bool = False) -> Listed:
    """Return whole items, budgets of their own; infeasible bundles stand as empty ones."""
    every = np.array(list(product((0.0, 1.0), repeat=n)))
    prices, budgets = rng.uniform(1, 2, (count, n)), rng.uniform(0.3, 0.6, count) * 1.5 * n
    fits = prices @ every.T <= budgets[:, None]
    return Listed(np.where(fits[:, :, None], every, 0.0), knows=knows)


def transports(rng: np.random.Generator) -> tuple[sp.LinearProgramme, np.ndarray]:
    """Return transports of 2 × 3 with whole supplies and demands, and every whole plan (k, 6)."""
    supply, demand = np.array([4.0, 5.0]), np.array([3.0, 2.0, 2.0])
    A = np.zeros((5, 6))
    for i, j in product(range(2), range(3)):
        A[i, 3 * i + j] = 1.0
        A[2 + j, 3 * i + j] = -1.0
    every = np.array(list(product(range(4), repeat=6)), np.float64)
    b = np.append(supply, -demand)
    upper = np.full(6, 3.0)
    return sp.LinearProgramme(A, b, upper=upper), every[np.all(every @ A.T <= b + 1e-9, axis=1)]
