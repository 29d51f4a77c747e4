# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Weighted utilities that stand for regions without masses: the likelihood of segments over whole goods.

With utilities u_s of density q that are known to buy the bundle y, P_k(y) is the mean of exp(h_k·u_s)/q(u_s) over them,
up to what the law's own normaliser is. Where those who buy anything else at the menu are known too (`CloudPoints`), the
normaliser cancels: P_k(y | recorded) = Σ_{s∈y} w_sk / Σ_s w_sk. Where there are only utilities inside the regions
(`InsidePoints`), it is exact, as the probability to be recorded is, and likelihoods hold up to a constant a row.

Weights of a mixture are the shares of the customers who are recorded, seen or not bought alike: every law is divided by
its own probability of being recorded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.bessel import log_normaliser, mean_resultant_length
from stochpref.chances import Chance
from stochpref.errors import InvalidArgument
from stochpref.mass.mixture import LawMasses, MixtureSums, chances_by_law, responsibilities, spread_units, unit_masses
from stochpref.stores.protocol import Store, Task

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_LEAST: Final = 1e-300  # sum of weights over the largest that is told from nothing
_DIFFERENCE: Final = 1e-3  # of central differences, where log-likelihoods vary on scales of 1 or more


class Weighed(NamedTuple):
    """Weights of points under laws, over the largest of each law.

    each : (K, M). sums : (K, labels) of the points of each label. top : (K,) logarithms of the largest.
    """

    each: Array
    sums: Array
    top: Array


class Points(Store):
    """Utilities by label, the regions first, and how often each region was observed.

    points : (M, n) unit vectors, those of one label after another.
    log_density : (M,) of each, among all of its group.
    starts : (labels,) where those of each label begin; none is without.
    place : (T,) the label of each observation.
    """

    in_memory = is_conditioned = True
    is_exact = False

    def __init__(self, points: Array, log_density: Array, starts: Indices, place: Indices, n_regions: int) -> None:
        self.points, self.log_density, self.starts, self.place = points, log_density, starts, place
        self.n_goods, self.sizes, self.n_regions = points.shape[1], (len(place),), n_regions
        self.lengths = np.diff(np.append(starts, len(points)))
        self.counts = np.bincount(place, minlength=n_regions).astype(np.float64)

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:  # noqa: ARG002
        """Refuse: there are no regions with masses."""
        raise InvalidArgument("points that stand for regions cannot handle sums of masses; ask for a mixture")

    def count_distinct(self) -> int:
        """Return how many regions there are."""
        return self.n_regions

    def weighed(self, laws: Array) -> Weighed:
        """Return the weights of all points under laws (K, n)."""
        each = laws @ self.points.T
        each -= self.log_density
        top = each.max(axis=1)
        each -= top[:, None]
        np.exp(each, out=each)
        return Weighed(each, np.maximum(np.add.reduceat(each, self.starts, axis=1), _LEAST), top)

    @abstractmethod
    def log_chances(self, laws: Array, weighed: Weighed) -> Array:
        """Return (K, regions) log-probabilities given that the purchase was recorded, perhaps up to a constant each."""

    @abstractmethod
    def rests(self, laws: Array, weighed: Weighed, shares: Array) -> tuple[Array, Array]:
        """Return the gradient of what the regions' own weights are divided by, summed with shares (K, regions).

        It is the sum of all points, the weights of those of each label times (K, labels), and of (K, n).
        """

    def means(self, weighed: Weighed) -> Array:
        """Return (K, regions, n) the mean utility of each region under each law."""
        own = slice(0, self._end)
        found = [
            np.add.reduceat(self.points[own] * weights[own, None], self.starts[: self.n_regions], axis=0)
            for weights in weighed.each
        ]
        return np.stack(found) / weighed.sums[:, : self.n_regions, None]

    def law_masses(self, laws: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> LawMasses:  # noqa: ARG002
        """Return log-probabilities of the regions, with gradients less those of the laws' own mean utilities."""
        weighed = self.weighed(laws)
        slopes = np.empty((len(laws), self.n_regions, 0))
        if gradient:
            kappa = np.linalg.norm(laws, axis=1, keepdims=True)
            alike = mean_resultant_length(self.n_goods, kappa) / np.maximum(kappa, 1e-150)
            slopes = self.means(weighed) - (laws * alike)[:, None]
        return LawMasses(self.log_chances(laws, weighed), slopes, self.counts, self.place, None)

    def mixture(
        self,
        log_weights: Array,
        laws: Array,
        *,
        unit: Indices | None = None,
        derivatives: int = 1,
        tolerance: float = 1e-10,  # noqa: ARG002
    ) -> MixtureSums:
        """Return sums under a mixture, as `Store.mixture`; the information is by differences."""
        weighed = self.weighed(laws)
        logs = self.log_chances(laws, weighed)
        found = LawMasses(logs, np.empty((len(laws), self.n_regions, 0)), self.counts, self.place, None)
        masses, often = unit_masses(found, unit)
        total, share = responsibilities(masses, log_weights)
        of_rows = spread_units(found, share, often, unit)
        gradient, information = np.empty(0), np.empty(0)
        if derivatives:
            times, rest = self.rests(laws, weighed, of_rows)
            own = -times
            own[:, : self.n_regions] += of_rows / weighed.sums[:, : self.n_regions]
            parts = np.repeat(own, self.lengths, axis=1)
            parts *= weighed.each
            gradient = parts @ self.points - rest
        if derivatives == 2:
            information = self._information(log_weights, laws, unit)
        value, units = float(np.sum(often * total)), (share * often).sum(axis=1)
        return MixtureSums(value, units, of_rows.sum(axis=1), gradient, information)

    @property
    def _end(self) -> int:
        """Where the points of regions end."""
        return len(self.points) if self.n_regions == len(self.starts) else int(self.starts[self.n_regions])

    def _information(self, log_weights: Array, laws: Array, unit: Indices | None) -> Array:
        """Return minus the Hessian by central differences of gradients."""
        k, n = laws.shape

        def slope(step: Array) -> Array:
            weights = log_weights + step[:k]
            weights = weights - np.logaddexp.reduce(weights)
            sums = self.mixture(weights, laws + step[k:].reshape(k, n), unit=unit)
            return np.concatenate([sums.units - sums.units.sum() * np.exp(weights), sums.gradient.ravel()])

        steps = _DIFFERENCE * np.eye(k + k * n)
        matrix = np.array([slope(-step) - slope(step) for step in steps]) / (2 * _DIFFERENCE)
        return np.asarray(0.5 * (matrix + matrix.T))


class CloudPoints(Points):
    """Utilities from everywhere, at one menu or several: the last labels are of what nobody bought at each.

    menu : (labels,) of each label.
    n_hit : (regions,) how many points each region has.
    """

    def __init__(
        self, points: Array, log_density: Array, starts: Indices, place: Indices, *, menu: Indices, n_hit: Indices
    ) -> None:
        super().__init__(points, log_density, starts, place, len(n_hit))
        self.menu, self.n_hit = menu, n_hit

    def _totals(self, weighed: Weighed) -> Array:
        """(K, menus) sums over all points of each menu."""
        n_menus = int(self.menu.max()) + 1
        return np.stack([np.bincount(self.menu, sums, minlength=n_menus) for sums in weighed.sums])

    def log_chances(self, laws: Array, weighed: Weighed) -> Array:  # noqa: ARG002
        """Return (K, regions) log-probabilities."""
        own = np.log(weighed.sums[:, : self.n_regions])
        return own - np.log(self._totals(weighed))[:, self.menu[: self.n_regions]]

    def rests(self, laws: Array, weighed: Weighed, shares: Array) -> tuple[Array, Array]:
        """Return the gradient of the logarithms of what all points of the menus weigh together, as `Points.rests`."""
        totals = self._totals(weighed)
        of_menus = np.stack([
            np.bincount(self.menu[: self.n_regions], share, minlength=totals.shape[1]) for share in shares
        ])  # fmt: skip
        return (of_menus / totals)[:, self.menu], np.zeros_like(laws)


class InsidePoints(Points):
    """Utilities inside the regions only.

    event : probability of each region's menu that a purchase is recorded; None where all are.
    event_of : (regions,) which of its rows is each region's.
    """

    def __init__(
        self, points: Array, log_density: Array, place: Indices, *, event: Chance | None, event_of: Indices
    ) -> None:
        n_regions, n_draws, n = points.shape
        starts = np.arange(n_regions, dtype=np.intp) * n_draws
        super().__init__(points.reshape(-1, n), log_density.ravel(), starts, place, n_regions)
        self.event, self.event_of = event, event_of

    def log_chances(self, laws: Array, weighed: Weighed) -> Array:
        """Return (K, regions) log-probabilities up to a constant a region."""
        own = np.log(weighed.sums) + weighed.top[:, None]
        return own - log_rests(laws, self.event)[:, self.event_of]

    def rests(self, laws: Array, weighed: Weighed, shares: Array) -> tuple[Array, Array]:
        """Return the gradient of the laws' normalisers and of the chance to be recorded, as `Points.rests`."""
        kappa = np.linalg.norm(laws, axis=1, keepdims=True)
        alike = mean_resultant_length(self.n_goods, kappa) / np.maximum(kappa, 1e-150)
        slopes = laws * alike * shares.sum(axis=1, keepdims=True)
        if self.event is not None:
            found = chances_by_law(self.event, laws, gradient=True, tolerance=1e-8)
            of_events = np.stack([np.bincount(self.event_of, share, minlength=len(self.event)) for share in shares])
            slopes += np.einsum("ke,kei->ki", of_events, found.gradient[:, found.place])
        return np.zeros_like(weighed.sums), slopes


def log_rests(laws: Array, event: Chance | None) -> Array:
    """Return (K, events) log ∫ exp(h·u) over the utilities that are recorded, as the mean over the sphere."""
    kappa = np.linalg.norm(laws, axis=1)
    whole = log_normaliser(laws.shape[1], kappa) + kappa - log_normaliser(laws.shape[1], np.zeros(1))
    if event is None:
        return np.asarray(whole[:, None])
    found = chances_by_law(event, laws, gradient=False, tolerance=1e-8)
    return np.asarray(whole[:, None] + found.log_mass[:, found.place])
