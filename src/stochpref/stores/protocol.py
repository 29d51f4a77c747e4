# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What optimisers and samplers know of the place where observations are kept: sums over all of them, and a few facts.

A store keeps regions in parts, computes where they are, and adds in order: who computed a part changes no sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.chances import Chance
from stochpref.mass.masses import Masses, Sums, exact_log_mass, sum_log_mass, sum_with_information
from stochpref.mass.mixture import LawMasses, MixtureSums, join_law_masses, masses_by_law, mixture_sums, sums_over_units
from stochpref.problems.interval_regions import IntervalRegions
from stochpref.regions import Regions
from stochpref.stores.packing import PackedRegions, ReportFn, pick_rows

Array = NDArray[np.float64]

NOT_ASKED: Final = np.empty(0)


class Task(NamedTuple):
    """A part by its number, and what a function takes beside its regions."""

    part: int
    arguments: tuple[Any, ...]


class Store(ABC):
    """Regions of observations, none degenerate, wherever they are.

    Attributes
    ----------
    n_goods : of all, or how many numbers h has where utilities have other coordinates.
    sizes : number of regions of each part; there is at least one part.
    in_memory : whether `load` costs nothing.
    keeps_latents : whether there is room for numbers of every row where `map` computes.
    on_engine : whether a device or a cluster computes the sums.
    is_large : whether a pass over all rows takes so long that there should be few.
    is_conditioned : whether a likelihood is more than the masses of regions, so that only its sums are right.
    span : (N, n) orthonormal basis of the h of all coordinates that h here stands for; None where it is one of those.
    intervals : the regions where these are known by intervals, so that there are no sums; None elsewhere.
    nonempty : only bundles that are not empty were recorded; other stores know that by their sums.
    drawable : the chance of being recorded, where utilities can be drawn inside the regions and outside of the event.
    effort : how much more than a row of one limit a row costs to integrate, on average.
    is_exact : whether sums are so at every h, and not near one h only.
    report : told of parts done, parts in all and what is being done, part by part; None to tell nobody.
    """

    n_goods: int
    sizes: tuple[int, ...]
    in_memory: bool = False
    keeps_latents: bool = False
    on_engine: bool = False
    is_conditioned: bool = False
    span: Array | None = None
    drawable: Chance | None = None
    intervals: IntervalRegions | None = None
    nonempty: bool = False
    effort: float = 1.0
    is_exact: bool = True
    is_large: bool = False
    report: ReportFn | None = None

    def lifted(self, h: Array) -> Array:
        """Return h (…, n) over all coordinates."""
        return h if self.span is None else h @ self.span.T

    @abstractmethod
    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        """Yield function(regions, *arguments) for every task, in order, computed where the part is."""

    def map(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        each: Sequence[Any] | None = None,
        of: Sequence[int] | None = None,
    ) -> Iterator[Any]:
        """Yield function(regions, *arguments) of every part, in order, computed where the part is.

        Parameters
        ----------
        of : the parts wanted, None for all.
        each : for every part wanted an argument of its own, which comes before the others.
        """
        parts = range(len(self.sizes)) if of is None else of
        own = [()] * len(parts) if each is None else [(item,) for item in each]
        return self.compute(function, [Task(k, (*first, *arguments)) for k, first in zip(parts, own, strict=True)])

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in every process in which `map` computes."""
        function(*arguments)

    def __len__(self) -> int:
        return sum(self.sizes)

    def count_distinct(self) -> int:
        """Return how many regions there are, equal ones counted once where that is known."""
        return len(self)

    def load(self) -> Regions:
        """Return all regions, in this process."""
        return PackedRegions.join(list(self.map(PackedRegions.of)), self.n_goods).unpack()

    def pick(self, n_rows: int, seed: int) -> Regions:
        """Return at most n_rows regions picked at random, in random order."""
        picked = list(self.map(_pick, each=pick_rows(self.sizes, n_rows, seed)))
        regions = PackedRegions.join(picked, self.n_goods).unpack()
        return regions[np.random.default_rng([seed, 3]).permutation(len(regions))]

    def sums(self, h: Array, *, derivatives: int = 1, tolerance: float = 1e-10) -> Sums:
        """Return sums over all rows at h = κμ.

        Parameters
        ----------
        derivatives : 0 for Σ log-mass alone, 1 for its gradient too, 2 for minus its Hessian too; arrays that were not
            asked for are empty.
        tolerance : of each mass.
        """
        return reduce(_add, self._told(self.map(sums_of, h, derivatives, tolerance)))

    def curvature(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return what an optimiser may take for minus the Hessian: the same, or near it and cheaper."""
        return self.sums(h, derivatives=2, tolerance=tolerance).information

    def standard_error(self, h: Array, *, tolerance: float = 1e-10) -> float:  # noqa: ARG002
        """Return the standard error of the value at h."""
        return 0.0

    def masses(self, h: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> Masses:
        """Return the mass of every row."""
        return join_masses(list(self.map(partial(exact_log_mass, laws=h, gradient=gradient, tolerance=tolerance))))

    def law_masses(self, laws: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> LawMasses:
        """Return the masses of every row under each of several laws (K, n)."""
        return join_law_masses(
            list(self.map(partial(masses_by_law, laws=laws, gradient=gradient, tolerance=tolerance)))
        )

    def mixture(
        self,
        log_weights: Array,
        laws: Array,
        *,
        unit: NDArray[np.intp] | None = None,
        derivatives: int = 1,
        tolerance: float = 1e-10,
    ) -> MixtureSums:
        """Return sums over all rows under a mixture of laws.

        Parameters
        ----------
        log_weights, laws : (K,) and (K, n) h = κμ.
        unit : (T,) whose segment each row's is, numbered from 0; None where every row has its own.
        derivatives : 0 for values alone, 1 for gradients too, 2 for the information too.
        """
        if unit is not None:  # purchases of one customer may be in several parts
            found = self.law_masses(laws, gradient=derivatives > 0, tolerance=tolerance)
            return sums_over_units(found, log_weights, unit, laws, derivatives, tolerance)
        parts = self.map(mixture_sums, log_weights, laws, None, derivatives, tolerance)
        return reduce(_add_mixtures, self._told(parts))

    def all_contain(self, h: Array) -> bool:
        """Tell whether h lies strictly inside every region."""
        return all(self.map(_all_contain, h))

    def _told(self, parts: Iterator[Any]) -> Iterator[Any]:
        for k, found in enumerate(parts, start=1):
            if self.report is not None:
                self.report(k, len(self.sizes), "a pass over all observations")
            yield found


def sums_of(regions: Regions, h: Array, derivatives: int, tolerance: float) -> Sums:
    """Return sums over regions in memory, as `Store.sums`."""
    if derivatives == 2:
        return sum_with_information(regions, h, tolerance=tolerance)
    if derivatives == 1:
        return Sums(*sum_log_mass(regions, h, tolerance=tolerance), NOT_ASKED)
    # A tenth cheaper than with the gradient.
    return Sums(float(np.sum(exact_log_mass(regions, h, tolerance=tolerance).log_mass)), NOT_ASKED, NOT_ASKED)


def join_masses(parts: Sequence[Masses]) -> Masses:
    """Return masses of some rows after those of others."""
    if len(parts) == 1:
        return parts[0]
    slopes = [part.gradient for part in parts if part.gradient is not None]
    return Masses(
        np.concatenate([part.log_mass for part in parts]),
        np.concatenate([part.error for part in parts]),
        np.concatenate(slopes) if slopes else None,
    )


def _add(first: Sums, second: Sums) -> Sums:
    return Sums(first.value + second.value, first.gradient + second.gradient, first.information + second.information)


def _add_mixtures(first: MixtureSums, second: MixtureSums) -> MixtureSums:
    return MixtureSums(
        first.value + second.value,
        first.units + second.units,
        first.rows + second.rows,
        first.gradient + second.gradient,
        first.information + second.information,
    )


def _all_contain(regions: Regions, h: Array) -> bool:
    return bool(regions.contains(h, strict=True).all())


def _pick(regions: Regions, rows: NDArray[np.int64]) -> PackedRegions:
    return PackedRegions.of(regions[rows])
