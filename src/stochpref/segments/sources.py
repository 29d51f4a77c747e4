# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where weighted utilities come from: clouds at the menus that customers share, or draws inside everybody's region.

Both are made around a mixture, and are good near it. Log-likelihoods of solutions are taken from points that no search
has seen: from fresh clouds as they are, and as gains over a solution with a segment fewer by thermodynamic integration
where likelihoods are known up to a constant a region. Adding up gains of points made anew would invent segments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax

from stochpref.chances import Chance
from stochpref.mass.mixture import responsibilities
from stochpref.observations import Observations
from stochpref.problems.divisible import unwanted
from stochpref.segments.clouds import Seen, first_parts, make_cloud, parts_around
from stochpref.segments.inside import draw_inside
from stochpref.segments.objective import Mixture
from stochpref.segments.points import CloudPoints, InsidePoints, Points, log_rests

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SMALL, MIDDLE, LARGE, LARGEST = range(4)  # how many points
_CLOUDS: Final = (1 << 14, 1 << 15, 1 << 16, 1 << 17)
_DRAWS: Final = (48, 48, 96, 144)
_BURNT: Final = 16  # sweeps after the mixture changed
_NODES: Final = 10  # of an integral over the way from one solution to another
_PER_NODE: Final = 32  # draws of a region at each of them
_MOST_MENUS: Final = 8
_FEW_POINTS: Final = 4
_BARE: Final = 0.02  # of the observations that have as few points


class Source(ABC):
    """Points around mixtures.

    unit : (T,) whose segment each observation's is; None where each has its own.
    is_absolute : log-likelihoods are, and not gains over one segment.
    """

    unit: Indices | None
    is_absolute: ClassVar[bool]

    @abstractmethod
    def points(self, mixture: Mixture | None, size: int) -> Points:
        """Return points around a mixture, around none in particular if it is None."""

    @abstractmethod
    def log_likelihood(self, mixture: Mixture, fewer: tuple[Mixture, float] | None) -> float:
        """Return the log-likelihood from fresh points.

        Parameters
        ----------
        fewer : a solution with a segment less, and its log-likelihood; None for one segment.
        """


class Clouds(Source):
    """Clouds at the menus of observations."""

    is_absolute = True

    def __init__(self, observations: Observations, unit: Indices | None, seed: int) -> None:
        self.seen, self.unit, self._rng = Seen.of(observations), unit, np.random.default_rng([seed, 11])
        self._last: Points | None = None

    @property
    def is_dense(self) -> bool:
        """Whether nearly all observations have points enough in the last cloud."""
        assert isinstance(self._last, CloudPoints)
        return float(self.seen.counts[self._last.n_hit < _FEW_POINTS].sum()) <= _BARE * self.seen.counts.sum()

    def points(self, mixture: Mixture | None, size: int) -> CloudPoints:
        """Return a cloud for every menu."""
        menus = range(len(self.seen.menus))
        if mixture is None or self._last is None:
            parts = [first_parts(self.seen, m) for m in menus]
        else:
            weighed = self._last.weighed(mixture.h)
            share = responsibilities(self._last.log_chances(mixture.h, weighed), mixture.log_weights)[1]
            means = self._last.means(weighed)
            parts = [parts_around(self.seen, m, mixture, means, share) for m in menus]
        cloud = make_cloud(self.seen, parts, _CLOUDS[size], rng=self._rng)
        self._last = cloud
        return cloud

    def log_likelihood(self, mixture: Mixture, fewer: tuple[Mixture, float] | None) -> float:  # noqa: ARG002
        """Return the log-likelihood from two fresh clouds."""
        found = [self.points(mixture, LARGE).mixture(*mixture, unit=self.unit, derivatives=0).value for _ in range(2)]
        return float(np.mean(found))


class Inside(Source):
    """Draws inside the regions of observations."""

    is_absolute = False

    def __init__(self, observations: Observations, unit: Indices | None, seed: int) -> None:
        keys = np.column_stack([
            observations.prices, observations.budgets, observations.caps, np.round(observations.bundles, 9),
        ])  # fmt: skip
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        distinct = observations[first.astype(np.intp)]
        self.regions = distinct.problem.intervals(distinct)
        self.unit, self._place, self._seed, self._round = unit, place.ravel().astype(np.intp), seed, 0
        self.n_goods = observations.n_goods
        self._event: Chance | None = None
        self._event_of = np.zeros(len(first), np.intp)
        if observations.nonempty:
            reach, event_of = np.unique(self.regions.is_in_reach, axis=0, return_inverse=True)
            self._event, self._event_of = Chance.outside(unwanted(reach)), event_of.ravel().astype(np.intp)
        self._state = self.regions.interior_points(rng=np.random.default_rng([seed, 13]))

    def points(self, mixture: Mixture | None, size: int) -> InsidePoints:
        """Return draws inside every region."""
        around = Mixture(np.zeros(1), np.zeros((1, self.n_goods))) if mixture is None else mixture
        return self._drawn(around, _DRAWS[size])

    def _drawn(self, mixture: Mixture, n_kept: int) -> InsidePoints:
        parts = mixture.log_weights - log_rests(mixture.h, self._event).T[self._event_of]
        self._round += 1
        points, density = draw_inside(
            self.regions, mixture.h, parts, self._state, n_kept=n_kept, n_burnt=_BURNT, every=1, seed=self._seed,
            round_=self._round,
        )  # fmt: skip
        return InsidePoints(points, density, self._place, event=self._event, event_of=self._event_of)

    def log_likelihood(self, mixture: Mixture, fewer: tuple[Mixture, float] | None) -> float:
        """Return the gain over one segment: that of a segment less, and what the way from there to here adds."""
        if fewer is None:
            return 0.0
        start, gain = _doubled(fewer[0], mixture), fewer[1]
        k, step = len(mixture.h), mixture.coordinates - start.coordinates
        places, weights = np.polynomial.legendre.leggauss(_NODES)
        for place, weight in zip(0.5 + 0.5 * places, 0.5 * weights, strict=True):
            at = Mixture.at(start.coordinates + place * step, k)
            sums = self._drawn(at, _PER_NODE).mixture(*at, unit=self.unit)
            of_weights = (sums.units - sums.units.sum() * np.exp(at.log_weights))[:-1]
            gain += weight * float(np.concatenate([of_weights, sums.gradient.ravel()]) @ step)
        return gain


def _doubled(fewer: Mixture, mixture: Mixture) -> Mixture:
    """Return a mixture that is `fewer`, one of its segments twice, those nearest to the segments of `mixture`."""
    distance = np.linalg.norm(mixture.h[:, None] - fewer.h[None], axis=2)
    rows, columns = linear_sum_assignment(distance)
    twin = distance.argmin(axis=1)
    twin[rows] = columns
    if len(fewer.h) == len(mixture.h):  # a segment came out empty: nothing is doubled
        return Mixture(fewer.log_weights[twin], fewer.h[twin])
    shares = np.exp(mixture.log_weights)
    of_twins = np.bincount(twin, shares, minlength=len(fewer.h))[twin]
    return Mixture(log_softmax(fewer.log_weights[twin] + np.log(shares / of_twins)), fewer.h[twin])


def source_of(observations: Observations, unit: Indices | None, seed: int) -> Source:
    """Return clouds where menus are few, and draws inside everywhere else."""
    if len(Seen.of(observations).menus) <= _MOST_MENUS:
        return Clouds(observations, unit, seed)
    return Inside(observations, unit, seed)
