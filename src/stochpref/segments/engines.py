# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The two ways to find segments and to say how likely purchases are: by exact masses, or by points without any.

Points leave likelihoods with an error and, for few purchases, several readings as good. So the fit names the segments
whose number has the lowest BIC, and predicts by the average over two to four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.observations import Observations
from stochpref.problems import Problem
from stochpref.segments import averages, predictive, rounds, search
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.search import Solution, Tell
from stochpref.stores.protocol import Store

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Searched(NamedTuple):
    """What a search found.

    path : the solutions with 1, 2, … segments. objectives : the likelihood near each. modes : its maxima there.
    is_absolute : log-likelihoods of the path are, and not gains over one segment.
    """

    path: list[Solution]
    objectives: list[Objective]
    modes: list[Mixture]
    is_absolute: bool = True


class Engine(Protocol):
    """How segments are found and asked.

    fewest_a_segment : different purchases for each good that a segment needs; 0 where one of any kind is enough.
    averaged : numbers of segments that predictions are averages over, if all are tried.
    """

    fewest_a_segment: ClassVar[int]
    averaged: ClassVar[tuple[int, ...]]

    def search(
        self, store: Store, data: Observations, unit: Indices | None, most: int, seed: int, *, is_auto: bool, tell: Tell
    ) -> Searched:
        """Return solutions with 1, 2, … segments; `data` are the rows of the store."""

    def membership(self, data: Observations, mixture: Mixture, unit: Indices | None, seed: int) -> Array:
        """Return (T, K) the probability of each segment given what was bought; NaN where degenerate."""

    def log_mean(self, data: Observations, mixtures: Sequence[Mixture], seed: int) -> tuple[Array, Array]:
        """Return (T,) the log of the mean probability over mixtures, -inf where degenerate, and its errors."""

    def shares_of_all(self, data: Observations, weights: Array, laws: Array) -> Array:
        """Return the shares (S, K) that segments have of all customers, recorded or not."""


class ByMasses:
    """Exact likelihoods."""

    fewest_a_segment: ClassVar[int] = 0
    averaged: ClassVar[tuple[int, ...]] = ()

    def search(
        self,
        store: Store,
        data: Observations,  # noqa: ARG002
        unit: Indices | None,
        most: int,
        seed: int,
        *,
        is_auto: bool,
        tell: Tell,
    ) -> Searched:
        """Return what climbs on exact likelihoods lead to."""
        objective = Objective(store, unit)
        path = search.find_path(objective, most, seed, is_auto=is_auto, tell=tell)
        return Searched(path, [objective] * len(path), [one.mixture for one in path])

    def membership(self, data: Observations, mixture: Mixture, unit: Indices | None, seed: int) -> Array:  # noqa: ARG002
        """Return exact probabilities."""
        return predictive.membership(data.problem.recorded(data), mixture, unit)

    def log_mean(self, data: Observations, mixtures: Sequence[Mixture], seed: int) -> tuple[Array, Array]:  # noqa: ARG002
        """Return exact probabilities."""
        found = predictive.log_predictive(data.problem.recorded(data), mixtures)
        return found, np.zeros_like(found)

    def shares_of_all(self, data: Observations, weights: Array, laws: Array) -> Array:  # noqa: ARG002
        """Return the shares as they are, which are of all customers."""
        return weights


class ByPoints:
    """Likelihoods from points, see `points`."""

    fewest_a_segment: ClassVar[int] = 1
    averaged: ClassVar[tuple[int, ...]] = averages.AVERAGED

    def search(
        self,
        store: Store,  # noqa: ARG002
        data: Observations,
        unit: Indices | None,
        most: int,
        seed: int,
        *,
        is_auto: bool,
        tell: Tell,
    ) -> Searched:
        """Return what climbs on clouds, or on draws inside regions, lead to."""
        found = rounds.find_path(data, unit, most, seed, is_auto=is_auto, tell=tell)
        return Searched(found.path, found.objectives, found.modes, found.source.is_absolute)

    def membership(self, data: Observations, mixture: Mixture, unit: Indices | None, seed: int) -> Array:
        """Return estimates."""
        return averages.membership_by_points(data, mixture, unit, seed)

    def log_mean(self, data: Observations, mixtures: Sequence[Mixture], seed: int) -> tuple[Array, Array]:
        """Return estimates."""
        found = averages.log_probabilities(data, averages.joined(mixtures), seed)
        return found.log_probability, found.error

    def shares_of_all(self, data: Observations, weights: Array, laws: Array) -> Array:
        """Return what shares of recorded customers say of all."""
        return averages.shares_of_all(data, weights, laws)


def engine_of(problem: Problem) -> Engine:
    """Return the engine that a problem needs."""
    return ByMasses() if problem.has_masses else ByPoints()
