# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a common utility asks of the utilities that explain bundles, whatever these are made of.

Regions by sides and slopes are compared exactly and have margins (`by_sides`); those of whole goods are known by the
bundles that are better (`by_bundles`). Each names its way of agreeing, which is imported only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.effort import Effort
from stochpref.consensus.explanation import Explanation
from stochpref.loading import load
from stochpref.observations import Observations
from stochpref.regions import Explained

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Search(NamedTuple):
    """How to look for a common utility; fields as the parameters of `CommonUtility`, the margin a number."""

    margin: float
    solver: str
    centre: str
    effort: Effort
    annealing: Any
    engine: Any
    rng: np.random.Generator
    report: Callable[[str], None]


class Agreed(NamedTuple):
    """What was found.

    utility : (n,) unit vector. last : where annealing ended; None elsewhere.
    is_consistent : (T,) the observations that the utility explains.
    upper_bound : no utility explains more.
    witness : (T,) for an odd observation, one that excludes it; -1 where none was found.
    samples : (k, n) utilities that explain as much; None if not computed.
    steps : what was done, in words.
    """

    utility: Array
    last: Array | None
    is_consistent: Mask
    upper_bound: int
    witness: Indices
    samples: Array | None
    steps: tuple[str, ...]


class Agreement(Protocol):
    """Observations, as a common utility sees them."""

    def margin(self, asked: float | str, n_used: int) -> float:
        """Return the margin asked for as a number."""

    def find(self, rows: Indices, search: Search) -> Agreed:
        """Return the utility consistent with most of some observations, none of which is degenerate."""

    def explain(
        self, observations: Observations, t: int, utility: Array, margin: float, excluded_by: tuple[int, ...]
    ) -> Explanation:
        """Return why observation t agrees with a utility or not."""

    def excluders(self, t: int, utility: Array) -> tuple[int, ...]:
        """Return explained observations that exclude observation t; () if it is explained, degenerate or could join."""


def agreement_of(explained: Explained) -> Agreement:
    """Return observations as a common utility sees them."""
    agreement: Agreement = load(explained.agreement)(explained)
    return agreement
