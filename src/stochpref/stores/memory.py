# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in memory, computed on all threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochpref.regions import Regions
from stochpref.stores.protocol import Store, Task


class Memory(Store):
    """Regions in one part."""

    in_memory = keeps_latents = True

    def __init__(self, regions: Regions) -> None:
        self.regions, self.n_goods, self.sizes = regions, regions.n_goods, (len(regions),)
        self.effort = regions.effort

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        """Yield function(regions, *arguments) for every task."""
        return (function(self.regions, *task.arguments) for task in tasks)

    def count_distinct(self) -> int:
        """Return how many regions there are, equal ones counted once where many are."""
        merged = self.regions.merged()
        return len(self.regions) if merged is None else len(merged.regions)

    def among(self, rows: NDArray[np.intp]) -> Memory:
        """Return the store of some rows."""
        return Memory(self.regions[rows])

    def load(self) -> Regions:
        """Return the regions."""
        return self.regions
