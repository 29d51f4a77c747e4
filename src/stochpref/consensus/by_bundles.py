# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Agreement of observations of whole goods, whose regions are known by the bundles that are better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.agreement import Agreed, Search
from stochpref.consensus.bundles import find_excluders, solve_bundles
from stochpref.consensus.explanation import Explanation, GoodAtOdds
from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.problems.interval_regions import IntervalRegions

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class ByBundles:
    """Regions by intervals, and what `Agreement` says."""

    def __init__(self, regions: IntervalRegions) -> None:
        self.regions = regions

    def margin(self, asked: float | str, n_used: int) -> float:  # noqa: ARG002
        """Return that there is none."""
        if asked != 0:
            raise InvalidArgument(
                f"margin must be 0 where goods are whole, whose regions have no margins; received {asked!r}; leave it "
                "out, or state problem='divisible'"
            )
        return 0.0

    def find(self, rows: Indices, search: Search) -> Agreed:
        """Return the utility consistent with most observations, by the certified solver."""
        if search.solver != "certified":
            raise InvalidArgument(
                f"solver={search.solver!r} is for divisible goods; whole ones take solver='certified'"
            )
        if search.engine != "cpu":
            raise InvalidArgument(f"engine={search.engine!r} compares divisible goods; whole ones take engine='cpu'")
        found = solve_bundles(
            self.regions[rows], centre=search.centre, effort=search.effort, rng=search.rng, report=search.report
        )
        return Agreed(
            found.utility, None, found.is_consistent, found.upper_bound, found.witness, found.samples, found.steps
        )

    def explain(
        self,
        observations: Observations,
        t: int,
        utility: Array,
        margin: float,  # noqa: ARG002
        excluded_by: tuple[int, ...],
    ) -> Explanation:
        """Return which goods would have to be worth more, or less, for the bundle to be the best one."""
        row, region = observations[[t]], self.regions[[t]]
        bought, expected = row.bundles[0], row.problem.choose(utility, row)[0]
        name, customer = observations.name(t), None if observations.customers is None else observations.customers[t]
        if region.is_degenerate[0]:
            return Explanation(t, name, customer, "degenerate", False, None, (), (), (), expected)
        if region.contains(utility, strict=True)[0]:
            return Explanation(t, name, customer, "whole", True, None, (), (), (), expected)
        low, high = (ends[0] for ends in region.intervals(utility))
        prices = region.rows.prices[0]
        scale = float(np.abs(utility / prices).max()) or 1.0
        lacks, exceeds = np.maximum(low - utility, 0.0), np.maximum(utility - high, 0.0)
        off = np.maximum(lacks, exceeds) / prices / scale
        at_odds = tuple(
            GoodAtOdds(
                observations.goods[i], float(bought[i]), float(expected[i]), float(utility[i] / prices[i]),
                float((low if lacks[i] > 0 else high)[i] / prices[i]), float(off[i]),
            )
            for i in np.argsort(-off, kind="stable") if bought[i] != expected[i]
        )  # fmt: skip
        others = tuple(observations.name(s) for s in excluded_by)
        return Explanation(t, name, customer, "whole", False, None, at_odds, excluded_by, others, expected)

    def excluders(self, t: int, utility: Array) -> tuple[int, ...]:
        """Return one observation with which goods could have been dealt out otherwise, or a proven group."""
        held = self.regions.contains(utility, strict=True)
        if held[t] or self.regions.is_degenerate[t]:
            return ()
        return find_excluders(self.regions, held, t)
