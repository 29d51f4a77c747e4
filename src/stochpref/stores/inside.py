# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in memory that are known by intervals: utilities inside can be drawn, and their masses are no sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stochpref.errors import InvalidArgument
from stochpref.problems.interval_regions import IntervalRegions
from stochpref.stores.protocol import Store, Task


class Inside(Store):
    """Regions in one part, none degenerate."""

    in_memory = keeps_latents = True

    intervals: IntervalRegions

    def __init__(self, intervals: IntervalRegions, *, nonempty: bool) -> None:
        self.intervals, self.nonempty = intervals, nonempty
        self.n_goods, self.sizes = intervals.n_goods, (len(intervals),)

    def count_distinct(self) -> int:
        """Return how many regions there are, equal menus and bundles counted once."""
        rows = self.intervals.rows
        return len(np.unique(np.column_stack([rows.prices, rows.stated, rows.caps, rows.units, rows.bundles]), axis=0))

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:  # noqa: ARG002
        """Refuse: what is computed of regions is made of their masses."""
        raise InvalidArgument(
            "sums over observations cannot handle problem 'whole', whose bundles have probabilities without a formula; "
            "fit HeterogeneousUtility or SegmentedUtility, which draw utilities in their regions"
        )
