# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The search for segments over whole goods, whose likelihood is an estimate from points made around a mixture.

For each number of segments thirty starts, a third of them splits of the solution with one fewer, climb on points made
around that solution; the three best different ones go on with points of their own, and the best of those through rounds
of more points, made anew each time. In a round no coordinate of h goes further than points can be trusted: without
that box the weights of a few points decide, and segments run away.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.observations import Observations
from stochpref.segments.climbing import climb_by_em
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.points import Points
from stochpref.segments.search import Solution, Tell
from stochpref.segments.sources import LARGE, LARGEST, MIDDLE, SMALL, Clouds, Inside, Source, source_of
from stochpref.segments.starts import Ground, alone, are_same, starts_for

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

N_STARTS: Final = 30
_SPLITS: Final = 10
_SHORT: Final = 5  # steps of expectation–maximisation before all others
_POLISHED: Final = 3
_ROUNDS: Final = (MIDDLE, MIDDLE, LARGE, LARGEST)
_BOX: Final = 0.8  # of a coordinate of z ~ N(h, I), about √n times as much of κμ
_AS_GOOD: Final = 2.0  # log units: solutions as near to the best are as good
_SAME: Final = 0.15  # distance of mean utilities, and of weights, of solutions that are one but for noise
_CLIMB: Final = {"maxiter": 100, "gtol": 1e-5, "ftol": 1e-7}
_PATIENCE: Final = 2  # numbers of segments tried without a lower BIC
_ALWAYS: Final = 4  # segments tried at least: predictions are averages over two to four


class Found(NamedTuple):
    """What a search found.

    path : the solutions with 1, 2, … segments.
    objectives : of each, from points around it. modes : their maxima near it.
    source : where points come from.
    """

    path: list[Solution]
    objectives: list[Objective]
    modes: list[Mixture]
    source: Source


def find_path(
    observations: Observations, unit: Indices | None, most: int, seed: int, *, is_auto: bool, tell: Tell
) -> Found:
    """Return the solutions with 1, 2, … segments: four at least, further ones until BIC has risen twice."""
    search = _Search(source_of(observations, unit, seed), observations, np.random.default_rng([seed, 7]))
    path: list[Solution] = []
    objectives: list[Objective] = []
    modes: list[Mixture] = []
    for k in range(1, most + 1):
        tell(f"{k} segment{'s' if k > 1 else ''}")
        path.append(search.solve(k, path[-1] if path else None))
        if k == 1 and isinstance(search.source, Clouds) and not search.source.is_dense:
            search.source = Inside(observations, unit, seed)
            path = [search.solve(1, None)]
        objectives.append(search.objective(search.source.points(path[-1].mixture, MIDDLE)))
        modes.append(search.climb(objectives[-1], path[-1].mixture, 1.0)[0])
        best = min(range(k), key=lambda j: path[j].bic)
        if is_auto and k >= _ALWAYS and k - 1 - best >= _PATIENCE:
            break
    return Found(path, objectives, modes, search.source)


class _Search:
    def __init__(self, source: Source, observations: Observations, rng: np.random.Generator) -> None:
        self.source, self._rng = source, rng
        self._n, self._size = observations.n_goods, len(observations)

    def objective(self, points: Points) -> Objective:
        """Return the penalised likelihood; the prior is that of N(0, I) for the mean of z ~ N(h, I), seen from 0."""
        return Objective(points, self.source.unit, prior_spread=float(np.sqrt(2.0 * self._n)))

    def solve(self, k: int, fewer: Solution | None) -> Solution:
        """Return the best solution that starts lead to."""
        before = None if fewer is None else (fewer.mixture, fewer.log_likelihood)
        objective = self.objective(self.source.points(None if fewer is None else fewer.mixture, SMALL))
        ground = Ground(objective, self._rng)
        starts = [alone(ground)] if fewer is None else list(starts_for(ground, k, fewer.mixture, N_STARTS, _SPLITS))
        tops = [self.climb(objective, climb_by_em(objective, start, _SHORT).mixture, 3.0) for start in starts]
        tops.sort(key=lambda one: -one[1])
        kept: list[Mixture] = []
        for mixture, _ in tops:
            if len(kept) < _POLISHED and not any(are_same(objective, mixture, other, _SAME) for other in kept):
                kept.append(mixture)
        rated = []
        for mixture in kept:
            polished = self._round(mixture, MIDDLE)
            value = self.source.log_likelihood(polished, before) + objective.log_prior(polished)
            rated.append((polished, value))
        rated.sort(key=lambda one: -one[1])
        n_rivals = sum(
            rated[0][1] - value < _AS_GOOD and not are_same(objective, one, rated[0][0], _SAME)
            for one, value in rated[1:]
        )
        best = rated[0][0]
        for size in _ROUNDS:
            best = self._round(best, size)
        best = best.ordered()
        found = self.source.log_likelihood(best, before)
        bic = len(best.coordinates) * float(np.log(self._size)) - 2.0 * found
        return Solution(k, best, found, found + objective.log_prior(best), bic, len(starts), n_rivals)

    def _round(self, mixture: Mixture, size: int) -> Mixture:
        """Return the mixture that is best on points around another, not far from it."""
        return self.climb(self.objective(self.source.points(mixture, size)), mixture, 1.0)[0]

    def climb(self, objective: Objective, start: Mixture, box: float) -> tuple[Mixture, float]:
        """Return the maximum near a start, within so many boxes, and its value."""
        k, scale = len(start.h), len(objective.store)
        reach = box * _BOX * np.sqrt(self._n)
        at = start.coordinates
        bounds = [(None, None)] * (k - 1) + [(value - reach, value + reach) for value in at[k - 1 :]]

        def falling(coordinates: Array) -> tuple[float, Array]:
            there = objective.at(Mixture.at(coordinates, k))
            return -there.value / scale, -there.gradient / scale

        found = minimize(falling, at, jac=True, method="L-BFGS-B", bounds=bounds, options=_CLIMB)
        return Mixture.at(np.asarray(found.x, np.float64), k), -float(found.fun) * scale
