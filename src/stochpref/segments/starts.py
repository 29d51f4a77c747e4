# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where a search for segments starts: splits of a solution with one fewer, and mixtures spread over the customers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.mixture import LawMasses, responsibilities, unit_masses
from stochpref.segments.climbing import natural_of
from stochpref.segments.objective import Mixture, Objective

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_SAME: Final = 0.02  # distance of mean utilities of segments that are one, and of solutions that are one


class Ground(NamedTuple):
    """Where starts are found and judged: a likelihood in this process, of all units or a sample, and a generator."""

    objective: Objective
    rng: np.random.Generator

    def masses(self, mixture: Mixture) -> LawMasses:
        """Return masses and gradients under each law."""
        return self.objective.store.law_masses(mixture.h, gradient=True, tolerance=self.objective.tolerance)


def alone(ground: Ground) -> Mixture:
    """Return the start of one segment: the uniform law."""
    return Mixture(np.zeros(1), np.zeros((1, ground.objective.store.n_goods)))


def starts_for(ground: Ground, k: int, fewer: Mixture, n_starts: int, n_splits: int) -> Iterator[Mixture]:
    """Yield splits of each segment of a solution with one fewer, and mixtures spread over the customers.

    Parameters
    ----------
    n_starts, n_splits : in all, and splits among them.
    """
    found = ground.masses(fewer)
    masses, _ = unit_masses(found, ground.objective.unit)
    _, share = responsibilities(masses, fewer.log_weights)
    slopes = _of_units(found, ground.objective.unit)
    order = np.argsort(-fewer.log_weights)
    for number in range(n_splits):
        j = int(order[number % len(order)])
        yield _split(ground, fewer, j, slopes[j], _per_unit(share[j], found, ground), number // len(order))
    means = slopes[0] + ground.objective.means(fewer.h[:1])  # any law would do: only who resembles whom matters
    for _ in range(n_starts - n_splits):
        yield _spread(ground, k, means)


def _per_unit(values: Array, found: LawMasses, ground: Ground) -> Array:
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


def _split(ground: Ground, fewer: Mixture, j: int, slopes: Array, share: Array, axis: int) -> Mixture:
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


def _spread(ground: Ground, k: int, means: Array) -> Mixture:
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


def are_twins(one: Array, other: Array) -> bool:
    """Tell whether mean utilities of two segments are the same but for small differences."""
    return bool(np.linalg.norm(one - other) <= _SAME)


def are_same(objective: Objective, one: Mixture, other: Mixture, within: float = _SAME) -> bool:
    """Tell whether two mixtures are the same but for small differences and the order of segments."""
    if len(one.h) != len(other.h):
        return False
    own, theirs = (np.column_stack([objective.means(each.h), np.exp(each.log_weights)]) for each in (one, other))
    distance = np.linalg.norm(own[:, None] - theirs[None], axis=2)
    pairs = distance.argmin(axis=1)
    return bool(len(set(pairs.tolist())) == len(pairs) and distance.min(axis=1).max() < within)
