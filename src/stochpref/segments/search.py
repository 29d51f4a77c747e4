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

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.mixture import LawMasses, responsibilities, unit_masses
from stochpref.segments.climbing import Climbed, climb_by_em, climb_to_top, natural_of
from stochpref.segments.objective import Mixture, Objective
from stochpref.stores.memory import Memory

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
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
_SAME: Final = 0.02  # distance of mean utilities of segments that are one, and of solutions that are one


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
    ground = _Ground.of(objective, seed)
    path: list[Solution] = []
    for k in range(1, most + 1):
        tell(f"{k} segment{'s' if k > 1 else ''}")
        path.append(_solve(objective, ground, k, path[-1].mixture if path else None))
        best = min(range(k), key=lambda j: path[j].bic)
        if is_auto and (k - 1 - best >= _PATIENCE or path[-1].bic > path[best].bic + _HOPELESS):
            break
    return path


class _Ground(NamedTuple):
    """Where starts are found and judged: the likelihood of all units, or of a sample, in this process; a generator."""

    objective: Objective
    rng: np.random.Generator

    @classmethod
    def of(cls, objective: Objective, seed: int) -> _Ground:
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
        return cls(Objective(store, unit, _SCREEN_TOLERANCE), rng)

    def masses(self, mixture: Mixture) -> LawMasses:
        """Return masses and gradients under each law."""
        return self.objective.store.law_masses(mixture.h, gradient=True, tolerance=_SCREEN_TOLERANCE)


def _solve(objective: Objective, ground: _Ground, k: int, fewer: Mixture | None) -> Solution:
    """Return the best of the solutions that starts lead to."""
    starts = [_alone(ground)] if fewer is None else list(_starts(ground, k, fewer))
    short = [climb_by_em(ground.objective, start, _SHORT) for start in starts]
    short = sorted(short, key=lambda one: -one.value)[:_LEFT]
    longer = sorted(
        (climb_by_em(objective, one.mixture, _LONG, enough=1e-3) for one in short), key=lambda one: -one.value
    )
    near = [one for one in longer if one.value > longer[0].value - _WITHIN]
    tops: list[Climbed] = []
    for one in near:
        if len(tops) < _POLISHED and not any(_are_same(objective, one.mixture, other.mixture) for other in tops):
            tops.append(_without_empty(objective, climb_to_top(objective, one.mixture)))
    tops.sort(key=lambda one: -one.value)
    best = tops[0]
    n_rivals = sum(
        best.value - one.value < _AS_GOOD and not _are_same(objective, one.mixture, best.mixture) for one in tops[1:]
    )
    n_free = len(best.mixture.coordinates)
    bic = n_free * float(np.log(len(objective.store))) - 2.0 * best.value
    mixture = best.mixture.ordered()
    return Solution(k, mixture, best.at.sums.value, best.value, bic, len(starts), n_rivals)


def _alone(ground: _Ground) -> Mixture:
    """Return the start of one segment: the uniform law."""
    return Mixture(np.zeros(1), np.zeros((1, ground.objective.store.n_goods)))


def _starts(ground: _Ground, k: int, fewer: Mixture) -> Iterator[Mixture]:
    """Yield splits of each segment of a solution with one fewer, and mixtures spread over the customers."""
    found = ground.masses(fewer)
    masses, _ = unit_masses(found, ground.objective.unit)
    _, share = responsibilities(masses, fewer.log_weights)
    slopes = _of_units(found, ground.objective.unit)
    n_splits = min(2 * len(fewer.h), N_STARTS // 2)
    order = np.argsort(-fewer.log_weights)
    for number in range(n_splits):
        j = int(order[number % len(order)])
        yield _split(ground, fewer, j, slopes[j], _per_unit(share[j], found, ground), number // len(order))
    means = slopes[0] + ground.objective.means(fewer.h[:1])  # any law would do: only who resembles whom matters
    for _ in range(N_STARTS - n_splits):
        yield _spread(ground, k, means)


def _per_unit(values: Array, found: LawMasses, ground: _Ground) -> Array:
    """Return values of units, of values of distinct regions where each row is a unit."""
    return values[found.place] if ground.objective.unit is None else values


def _of_units(found: LawMasses, unit: Indices | None) -> Array:
    """Return (K, c, n) mean gradients of units."""
    rows = found.gradient[:, found.place]
    if unit is None:
        return np.asarray(rows)
    sizes = np.bincount(unit)
    sums = [[np.bincount(unit, slope) for slope in law.T] for law in rows]
    return np.asarray(sums).transpose(0, 2, 1) / sizes[:, None]


def _split(ground: _Ground, fewer: Mixture, j: int, slopes: Array, share: Array, axis: int) -> Mixture:
    """Return a mixture in which the members of segment j part along one of the main axes of what they want."""
    weighted = slopes * np.sqrt(share)[:, None]
    _, vectors = np.linalg.eigh(weighted.T @ weighted)
    side = slopes @ vectors[:, -1 - axis % len(vectors)] > 0
    means = slopes + ground.objective.means(fewer.h[j : j + 1])
    halves = [_law_of(ground.objective, means, share * part) for part in (side, ~side)]
    sizes = np.array([share @ part + 1.0 for part in (side, ~side)])
    weights = np.exp(fewer.log_weights)
    others = np.delete(np.arange(len(weights)), j)
    shares = np.concatenate([weights[others], weights[j] * sizes / sizes.sum()])
    return Mixture(np.log(shares / shares.sum()), np.concatenate([fewer.h[others], halves]))


def _spread(ground: _Ground, k: int, means: Array) -> Mixture:
    """Return a mixture of clusters around units picked at random, far from one another as a rule (k-means++)."""
    rng, n_units = ground.rng, len(means)
    centres = [means[rng.integers(n_units)]]
    for _ in range(k - 1):
        distance = np.min([np.sum((means - centre) ** 2, axis=1) for centre in centres], axis=0)
        total = distance.sum()
        centres.append(means[rng.choice(n_units, p=distance / total if total > 0 else None)])
    nearest = np.argmin([np.sum((means - centre) ** 2, axis=1) for centre in centres], axis=0)
    parts = [nearest == j for j in range(k)]
    laws = [_law_of(ground.objective, means, part.astype(np.float64)) for part in parts]
    sizes = np.array([part.sum() + 1.0 for part in parts])
    return Mixture(np.log(sizes / sizes.sum()), np.array(laws))


def _law_of(objective: Objective, means: Array, share: Array) -> Array:
    count = float(share.sum())
    return natural_of(objective, share @ means / max(count, 1e-300), count)


def _without_empty(objective: Objective, top: Climbed) -> Climbed:
    """Return the solution without segments that have no customers or are twice there, at its own maximum."""
    units, means = top.at.sums.units, objective.means(top.mixture.h)
    kept: list[int] = []
    for j in np.argsort(-units):
        if units[j] >= _FEWEST_UNITS and all(np.linalg.norm(means[j] - means[i]) > _SAME for i in kept):
            kept.append(int(j))
    if len(kept) == len(units) or not kept:
        return top
    weights = np.exp(top.mixture.log_weights[kept])
    start = Mixture(np.log(weights / weights.sum()), top.mixture.h[kept])
    return _without_empty(objective, climb_to_top(objective, climb_by_em(objective, start, _LONG).mixture))


def _are_same(objective: Objective, one: Mixture, other: Mixture) -> bool:
    """Tell whether two mixtures are the same but for small differences and the order of segments."""
    if len(one.h) != len(other.h):
        return False
    own, theirs = (np.column_stack([objective.means(each.h), np.exp(each.log_weights)]) for each in (one, other))
    distance = np.linalg.norm(own[:, None] - theirs[None], axis=2)
    pairs = distance.argmin(axis=1)
    return bool(len(set(pairs.tolist())) == len(pairs) and distance.min(axis=1).max() < _SAME)
