# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Agreement of observations whose regions are known by sides and slopes: exact comparisons, and margins."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.agreement import Agreed, Search
from stochpref.consensus.certificate import find_excluders
from stochpref.consensus.conflicts import count_conflicts
from stochpref.consensus.explanation import Explanation, explain
from stochpref.consensus.margins import widen
from stochpref.consensus.objective import is_consistent, pack, resolve_margin
from stochpref.consensus.solving import Solution, solve
from stochpref.kinds import DEGENERATE
from stochpref.loading import load
from stochpref.names import SOLVERS
from stochpref.observations import Observations
from stochpref.regions import Regions
from stochpref.stores.engines import connect, is_cluster

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class BySides:
    """Regions, and what `Agreement` says."""

    def __init__(self, regions: Regions) -> None:
        self.regions = regions

    def margin(self, asked: float | str, n_used: int) -> float:
        """Return the margin, in the paper's units."""
        return resolve_margin(asked, self.regions.n_goods, n_used)

    def find(self, rows: Indices, search: Search) -> Agreed:
        """Return the utility consistent with most observations, by the solver asked for."""
        used = self.regions[rows]
        other = SOLVERS[search.solver]
        if other is not None:
            run = load(other)(used, search.margin, search.annealing, rng=search.rng)
            step = f"annealing: {run.best.n_consistent} consistent, the last {run.last.n_consistent}"
            held = is_consistent(used, run.best.utility, search.margin)
            nobody = np.full(rows.size, -1)
            return Agreed(run.best.utility, run.last.utility, held, int(rows.size), nobody, None, (step,))
        found = self._certified(used, search)
        samples = None if search.margin else found.samples
        return Agreed(found.utility, None, found.is_consistent, found.upper_bound, found.witness, samples, found.steps)

    def _certified(self, used: Regions, search: Search) -> Solution:
        _, _, centre, effort, _, engine, rng, report = search
        with ExitStack() as stack:
            count_fn = count_conflicts
            if is_cluster(engine):
                count_fn = partial(count_conflicts, client=stack.enter_context(connect(engine)))
            found = solve(used, centre=centre, effort=effort, rng=rng, report=report, count_fn=count_fn)
        if search.margin:
            found = widen(used, found, search.margin, effort=effort, rng=rng, report=report)
        return found

    def explain(
        self, observations: Observations, t: int, utility: Array, margin: float, excluded_by: tuple[int, ...]
    ) -> Explanation:
        """Return which goods are at odds with the shadow price that the bundle reveals."""
        return explain(observations, self.regions, t, utility, margin, excluded_by)

    def excluders(self, t: int, utility: Array) -> tuple[int, ...]:
        """Return one observation in conflict, or those of a cycle of differences."""
        held = is_consistent(self.regions, utility)
        if held[t] or self.regions.kind_code[t] == DEGENERATE:
            return ()
        rows = np.sort(np.append(np.flatnonzero(held), t))
        place = int(np.searchsorted(rows, t))
        return tuple(int(rows[k]) for k in find_excluders(pack(self.regions[rows]), rows != t, place))
