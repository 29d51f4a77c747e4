# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Who is asked what they would buy, where goods satiate: a law of worths for each posterior draw, one crowd for all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.laws.lognormal import draw_errors, fading_worths
from stochpref.market import Steady

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SatiatedMarket(Steady):
    """Customers who differ in what first units are worth to them.

    goods : the coordinates of utilities: goods, the rest of the budget where it is a good, and how they satiate.
    location, scale : (draws, k) of log-worths.
    log_satiation : (draws, m) of the goods other than the outside one.
    outside : its place among the k, None if there is none.
    error : law of the errors.
    errors : (customers, k) that all draws share; the crowds, of one size, follow one another.
    """

    goods: tuple[str, ...]
    location: Array
    scale: Array
    log_satiation: Array
    outside: int | None
    error: str
    errors: Array
    n_crowds: int

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.location)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.errors)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one law; of all crowds if none is named."""
        size = self.n_customers // self.n_crowds
        rows = slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size)
        return self._made(draw, self.errors[rows])

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one law."""
        return self._made(draw, draw_errors(self.error, (size, self.errors.shape[1]), rng=rng))

    def page_arrays(self) -> dict[str, Array]:
        """Return laws and errors, from which the page makes the utilities, and which worths fade."""
        inside = [i for i in range(self.location.shape[1]) if i != self.outside]
        return {
            "locations": self.location, "scales": self.scale, "fades": np.exp(self.log_satiation),
            "errors": self.errors, "inside": np.array(inside, np.float64),
        }  # fmt: skip

    def _made(self, draw: int, errors: Array) -> Array:
        return fading_worths(self.location[draw], self.scale[draw], self.log_satiation[draw], self.outside, errors)


def make_errors(error: str, k: int, n_customers: int, n_crowds: int, *, rng: np.random.Generator) -> Array:
    """Return crowds of errors, one after another, each evenly spread by a scrambled Sobol sequence of its own."""
    size = 2 ** max(round(math.log2(max(n_customers / n_crowds, 1))), 0)
    points = np.concatenate([qmc.Sobol(k, seed=rng).random(size) for _ in range(n_crowds)])
    points = np.clip(points, 1e-12, 1.0 - 1e-12)
    return np.asarray(ndtri(points) if error == "normal" else -np.log(-np.log(points)))
