# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Who is asked what they would buy, where utilities are normal: a law for each posterior draw, one crowd for all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.market import Steady

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NormalMarket(Steady):
    """Customers who differ: a normal law for each posterior draw.

    mean : (draws, n).
    root : (draws, n, n) lower triangular roots of the covariances.
    normals : (customers, n) that all draws share; the crowds, of one size, follow one another.
    """

    goods: tuple[str, ...]
    mean: Array
    root: Array
    normals: Array
    n_crowds: int

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.mean)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.normals)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one law; of all crowds if none is named."""
        size = self.n_customers // self.n_crowds
        rows = slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size)
        return self._made(draw, self.normals[rows])

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one law."""
        return self._made(draw, rng.standard_normal((size, self.normals.shape[1])))

    def page_arrays(self) -> dict[str, Array]:
        """Return means, roots and normals, from which the page makes the utilities."""
        return {"means": self.mean, "roots": self.root, "normals": self.normals}

    def _made(self, draw: int, normals: Array) -> Array:
        made: Array = self.mean[draw] + normals @ self.root[draw].T
        return made


def make_normals(n: int, n_customers: int, n_crowds: int, *, rng: np.random.Generator) -> Array:
    """Return crowds of normals, one after another, each evenly spread by a scrambled Sobol sequence of its own."""
    size = 2 ** max(round(math.log2(max(n_customers / n_crowds, 1))), 0)
    points = [qmc.Sobol(n, seed=rng).random(size) for _ in range(n_crowds)]
    normals: Array = ndtri(np.clip(np.concatenate(points), 1e-12, 1.0 - 1e-12))
    return normals
