# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Chances: probabilities of observations that are sums and differences of masses of regions.

What a customer bought has, as a rule, the mass of one region. What was conditioned on when the data were collected,
that money is worth something or that the basket is not empty, has one too, or one less another; and where only
differences of utilities count, what was bought has two. `mass.conditional` evaluates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.regions import Regions

Indices = NDArray[np.intp]


class Part(NamedTuple):
    """Regions whose masses count.

    regions : (m,) of them.
    row : (T,) which of them is each observation's.
    sign : 1 if their masses are added, -1 if they are subtracted.
    is_mirrored : they hold -u in place of u.
    """

    regions: Regions
    row: Indices
    sign: float = 1.0
    is_mirrored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """A probability for every observation: a constant and, by sign, the masses of its regions.

    constant : 0, or 1 where what is left out is subtracted from certainty.
    parts : at least one.
    """

    constant: float
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, regions: Regions, *more: Part) -> Chance:
        """Return the chance that is the mass of one region each, and of more parts."""
        return cls(0.0, (Part(regions, np.arange(len(regions))), *more))

    @classmethod
    def outside(cls, regions: Regions) -> Chance:
        """Return the chance of everything but one region each."""
        return cls(1.0, (Part(regions, np.arange(len(regions)), -1.0),))

    def __len__(self) -> int:
        return len(self.parts[0].row)

    @property
    def is_single(self) -> bool:
        """Whether each chance is the mass of one region."""
        first = self.parts[0]
        return len(self.parts) == 1 and self.constant == 0 and first.sign == 1 and not first.is_mirrored

    def contains(self, u: ArrayLike, *, strict: bool = False) -> NDArray[np.bool_]:
        """Tell in which rows a utility is in one of the regions that are added, as `Regions.contains` does."""
        found = [
            part.regions.contains(-np.asarray(u) if part.is_mirrored else u, strict=strict)[..., part.row]
            for part in self.parts
            if part.sign > 0
        ]
        return np.asarray(np.logical_or.reduce(found))

    def holds(self, u: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell of utilities (T, n), one a row, which are such that what the chance is of comes true."""
        found = np.full(len(self), self.constant)
        for part in self.parts:
            found += part.sign * part.regions[part.row].holds(-u if part.is_mirrored else u)
        return found > 0.5

    def take(self, rows: Indices) -> Chance:
        """Return the chances of some rows."""
        return Chance(self.constant, tuple(part._replace(row=part.row[rows]) for part in self.parts))


class Recorded(NamedTuple):
    """What was seen of customers, as a likelihood takes it.

    chance : of what each bought.
    event : chance that the observation could be recorded at all, by which the other is divided; None if it is certain.
    span : orthonormal basis (n, k) of the h that bundles tell apart; None for all of them.
    """

    chance: Chance
    event: Chance | None = None
    span: NDArray[np.float64] | None = None

    @property
    def regions(self) -> Regions:
        """The utilities that explain each bundle."""
        first = self.chance.parts[0]
        return first.regions[first.row]

    @property
    def is_plain(self) -> bool:
        """Whether the masses of regions are all there is to the likelihood."""
        return self.chance.is_single and self.event is None and self.span is None

    def take(self, rows: Indices) -> Recorded:
        """Return what was seen of some customers."""
        event = None if self.event is None else self.event.take(rows)
        return self._replace(chance=self.chance.take(rows), event=event)
