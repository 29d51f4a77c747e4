# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Starts, and how many segments there are.

The penalised likelihood has many maxima. For each number of segments a dozen starts, those that split a segment of the
solution with one fewer and others spread over the customers at random, climb a few steps on a sample of units; the best
go on with everybody, and the best of those to the top. Segments that came out empty or twice are removed. The number is
the one of the lowest BIC, of the penalised likelihood; numbers are tried until two in a row did not lower it, or one
raised it far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from stochpref.segments.climbing import Climbed, climb_by_em, climb_to_top
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.starts import Ground, alone, are_same, are_twins, starts_for
from stochpref.stores.memory import Memory

Tell = Callable[[str], None]

N_STARTS: Final = 12
_SCREENED: Final = 300  # units that starts are judged by, or ten a good
_LARGE_SAMPLE: Final = 8192  # rows that starts are looked for on, where a pass over all takes long
_SHORT: Final = 6  # steps of all starts
_LEFT: Final = 3  # that go on
_LONG: Final = 8  # steps of those
_POLISHED: Final = 2  # that climb to the top
_AS_GOOD: Final = 2.0  # log units: solutions as near to the best are as good
_WITHIN: Final = 25.0  # log units behind before polishing: too far to come back
_SCREEN_TOLERANCE: Final = 1e-4
_PATIENCE: Final = 2  # numbers of segments tried without a lower BIC,
_HOPELESS: Final = 20.0  # or one, where BIC is so much higher: odds of 20,000 to 1
_FEWEST_UNITS: Final = 1.0  # a segment with fewer is empty


class Solution(NamedTuple):
    """The best mixture found with some number of segments.

    n_asked : how many were looked for; fewer may be left.
    mixture : the heaviest segment first.
    log_likelihood, penalised, bic : the last of the penalised one.
    n_starts : that were tried.
    n_rivals : other solutions within 2 log units of this one, which are as good, among those climbed to the top.
    """

    n_asked: int
    mixture: Mixture
    log_likelihood: float
    penalised: float
    bic: float
    n_starts: int
    n_rivals: int

    @property
    def n_segments(self) -> int:
        """How many there are."""
        return len(self.mixture.h)


def find_path(objective: Objective, most: int, seed: int, *, is_auto: bool, tell: Tell) -> list[Solution]:
    """Return the solutions with 1, 2, … segments, all of them or until BIC has risen."""
    ground = _ground_of(objective, seed)
    path: list[Solution] = []
    for k in range(1, most + 1):
        tell(f"{k} segment{'s' if k > 1 else ''}")
        path.append(_solve(objective, ground, k, path[-1].mixture if path else None))
        best = min(range(k), key=lambda j: path[j].bic)
        if is_auto and (k - 1 - best >= _PATIENCE or path[-1].bic > path[best].bic + _HOPELESS):
            break
    return path


def _ground_of(objective: Objective, seed: int) -> Ground:
    """Return the likelihood of all units, or of a sample, in this process."""
    store, unit, rng = objective.store, objective.unit, np.random.default_rng([seed, 5])
    if not isinstance(store, Memory):
        store = Memory(store.pick(_LARGE_SAMPLE, seed) if store.is_large else store.load())
    picked = np.arange(len(store)) if unit is None else unit
    n_units, n_screened = int(picked.max()) + 1, max(_SCREENED, 10 * store.n_goods)
    if n_units > n_screened:
        chosen = np.zeros(n_units, np.bool_)
        chosen[rng.choice(n_units, n_screened, replace=False)] = True
        rows = np.flatnonzero(chosen[picked])
        store, unit = store.among(rows), None if unit is None else np.unique(unit[rows], return_inverse=True)[1]
    return Ground(Objective(store, unit, _SCREEN_TOLERANCE), rng)


def _solve(objective: Objective, ground: Ground, k: int, fewer: Mixture | None) -> Solution:
    """Return the best of the solutions that starts lead to."""
    starts = [alone(ground)]
    if fewer is not None:
        starts = list(starts_for(ground, k, fewer, N_STARTS, min(2 * len(fewer.h), N_STARTS // 2)))
    short = [climb_by_em(ground.objective, start, _SHORT) for start in starts]
    short = sorted(short, key=lambda one: -one.value)[:_LEFT]
    longer = sorted(
        (climb_by_em(objective, one.mixture, _LONG, enough=1e-3) for one in short), key=lambda one: -one.value
    )
    near = [one for one in longer if one.value > longer[0].value - _WITHIN]
    tops: list[Climbed] = []
    for one in near:
        if len(tops) < _POLISHED and not any(are_same(objective, one.mixture, other.mixture) for other in tops):
            tops.append(_without_empty(objective, climb_to_top(objective, one.mixture)))
    tops.sort(key=lambda one: -one.value)
    best = tops[0]
    n_rivals = sum(
        best.value - one.value < _AS_GOOD and not are_same(objective, one.mixture, best.mixture) for one in tops[1:]
    )
    n_free = len(best.mixture.coordinates)
    bic = n_free * float(np.log(len(objective.store))) - 2.0 * best.value
    mixture = best.mixture.ordered()
    return Solution(k, mixture, best.at.sums.value, best.value, bic, len(starts), n_rivals)


def _without_empty(objective: Objective, top: Climbed) -> Climbed:
    """Return the solution without segments that have no customers or are twice there, at its own maximum."""
    units, means = top.at.sums.units, objective.means(top.mixture.h)
    kept: list[int] = []
    for j in np.argsort(-units):
        if units[j] >= _FEWEST_UNITS and not any(are_twins(means[j], means[i]) for i in kept):
            kept.append(int(j))
    if len(kept) == len(units) or not kept:
        return top
    weights = np.exp(top.mixture.log_weights[kept])
    start = Mixture(np.log(weights / weights.sum()), top.mixture.h[kept])
    return _without_empty(objective, climb_to_top(objective, climb_by_em(objective, start, _LONG).mixture))
