# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a law of utilities is: a number of goods and a way to draw, one unit vector a row."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count, check_rng

Array = NDArray[np.float64]


@runtime_checkable
class UtilityLaw(Protocol):
    """Anything that draws utilities: `VonMisesFisher`, `CorruptedUtilityLaw`, or a class of one's own."""

    @property
    def n_goods(self) -> int:
        """Number of goods, the length of every draw."""

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) utilities."""


@runtime_checkable
class ExactLaw(UtilityLaw, Protocol):
    """A law under which masses are exact: one von Mises–Fisher law, or a mixture of some."""

    @property
    def components(self) -> tuple[Array, Array]:
        """Weights (K,) and h = κμ (K, n) of the von Mises–Fisher laws that it is made of."""


def uniform_directions(size: int, n_goods: int, *, rng: np.random.Generator) -> Array:
    """Return (size, n) vectors drawn uniformly from the unit sphere."""
    normals = check_rng(rng).standard_normal((check_count(size, "size", 0), check_count(n_goods, "n_goods", 1)))
    directions: Array = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return directions
