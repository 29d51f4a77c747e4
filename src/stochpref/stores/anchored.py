# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The log-likelihood of regions in parts, and what a sample of them can tell of it near a point where it is known.

`StreamedLogLikelihood` is exact: one pass over the parts a value. `AnchoredLogLikelihood` is not, and says by how much:
it takes value, gradient and information of all observations at one h, its anchor, from one exact pass, and what is
left of a Taylor series beyond the second order from a sample of rows. That rest is of third order, so its sampling
error is T |d|³/√m for m rows sampled, d = h - anchor: at the distance of a standard error, |d| ~ 1/√T, it vanishes as
1/√(mT), and a few thousand rows do the work of millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.masses import Sums, exact_log_mass, sum_log_mass, sum_with_information
from stochpref.regions import Regions
from stochpref.stores.disk import Parts, ReportFn

Array = NDArray[np.float64]

_BATCHES: Final = 32  # of the sample, whose spread tells the sampling error


def _value(regions: Regions, h: Array, tolerance: float) -> float:
    return float(np.sum(exact_log_mass(regions, h, tolerance=tolerance).log_mass))


def _sums(regions: Regions, h: Array, tolerance: float) -> tuple[float, Array]:
    return sum_log_mass(regions, h, tolerance=tolerance)


def _all_sums(regions: Regions, h: Array, tolerance: float) -> Sums:
    return sum_with_information(regions, h, tolerance=tolerance)


def _holds_all(regions: Regions, h: Array) -> bool:
    return bool(regions.contains(h, strict=True).all())


@dataclass(frozen=True, slots=True)
class StreamedLogLikelihood:
    """The log-likelihood of regions in parts: one pass over them for each call, added in order.

    parts : where the regions are.
    report : told of parts done, parts in all and what is being done, part by part; None to tell nobody.
    """

    parts: Parts
    report: ReportFn | None = None

    @property
    def n_goods(self) -> int:
        """Number of goods."""
        return self.parts.n_goods

    def __len__(self) -> int:
        return sum(self.parts.sizes)

    def value(self, h: Array, *, tolerance: float = 1e-10) -> float:
        """Return Σ log-mass."""
        return sum(self._pass(_value, h, tolerance))

    def sums(self, h: Array, *, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Return Σ log-mass and its gradient in h."""
        value, gradient = 0.0, np.zeros(self.n_goods)
        for own, slope in self._pass(_sums, h, tolerance):
            value, gradient = value + own, gradient + slope
        return value, gradient

    def all_sums(self, h: Array, *, tolerance: float = 1e-10) -> Sums:
        """Return Σ log-mass, its gradient and minus its Hessian, in one pass."""
        value, gradient, information = 0.0, np.zeros(self.n_goods), np.zeros((self.n_goods, self.n_goods))
        for part in self._pass(_all_sums, h, tolerance):
            value, gradient, information = value + part.value, gradient + part.gradient, information + part.information
        return Sums(value, gradient, information)

    def information(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return minus the Hessian (n, n)."""
        return self.all_sums(h, tolerance=tolerance).information

    def curvature(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return the information."""
        return self.information(h, tolerance=tolerance)

    def is_separable(self, h: Array) -> bool:
        """Tell whether h lies strictly inside every region."""
        return all(self.parts.map(_holds_all, h))

    def _pass(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield what a function says of every part, in order."""
        for k, found in enumerate(self.parts.map(function, *arguments), start=1):
            if self.report is not None:
                self.report(k, len(self.parts.sizes), "a pass over all observations")
            yield found


@dataclass(frozen=True, slots=True)
class AnchoredLogLikelihood:
    """The log-likelihood of all observations near an anchor, from exact sums there and a sample; see the module.

    anchor : (n,) h.
    exact : sums of all observations at the anchor.
    sample : regions picked at random, in random order.
    n_rows : observations in all.
    """

    anchor: Array
    exact: Sums
    sample: Regions
    n_rows: int
    _known: list[Sums] = field(default_factory=list, repr=False)

    @property
    def n_goods(self) -> int:
        """Number of goods."""
        return self.sample.n_goods

    def __len__(self) -> int:
        return self.n_rows

    @property
    def scale(self) -> float:
        """Observations in all for one of the sample."""
        return self.n_rows / len(self.sample)

    @property
    def batches(self) -> list[Regions]:
        """The sample, cut into parts of equal size but for the last."""
        size = max(len(self.sample) // _BATCHES, 1)
        ends = [*range(0, min(size * _BATCHES, len(self.sample)), size), len(self.sample)]
        return [self.sample.rows(start, stop) for start, stop in pairwise(ends)]

    def at_anchor(self, tolerance: float) -> Sums:
        """Return the sums of the sample at the anchor, computed once."""
        if not self._known:
            self._known.append(sum_with_information(self.sample, self.anchor, tolerance=tolerance))
        return self._known[0]

    def value(self, h: Array, *, tolerance: float = 1e-10) -> float:
        """Return Σ log-mass, nearly."""
        return self._value_from(_value(self.sample, h, tolerance), h, tolerance)

    def sums(self, h: Array, *, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Return Σ log-mass and its gradient, nearly."""
        value, gradient = sum_log_mass(self.sample, h, tolerance=tolerance)
        known, step = self.at_anchor(tolerance), h - self.anchor
        rest = gradient - known.gradient + known.information @ step
        slope = self.exact.gradient - self.exact.information @ step + self.scale * rest
        return self._value_from(value, h, tolerance), slope

    def information(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return minus the Hessian, nearly."""
        here = sum_with_information(self.sample, h, tolerance=tolerance).information
        return self.exact.information + self.scale * (here - self.at_anchor(tolerance).information)

    def curvature(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return the information."""
        return self.information(h, tolerance=tolerance)

    def standard_error(self, h: Array, *, tolerance: float = 1e-10) -> float:
        """Return the standard error of `value` at h, less that at the anchor, from the spread over batches."""
        if len(self.sample) == self.n_rows:
            return 0.0
        step = h - self.anchor
        rests = []
        for batch in self.batches:
            known = sum_with_information(batch, self.anchor, tolerance=tolerance)
            rests.append(_value(batch, h, tolerance) - _series(known, step))
        share_left = 1.0 - len(self.sample) / self.n_rows
        return self.scale * float(np.sqrt(len(rests) * share_left) * np.std(rests, ddof=1))

    def _value_from(self, sampled: float, h: Array, tolerance: float) -> float:
        step = h - self.anchor
        return _series(self.exact, step) + self.scale * (sampled - _series(self.at_anchor(tolerance), step))


def _series(known: Sums, step: Array) -> float:
    """Return the Taylor series to second order."""
    return known.value + float(known.gradient @ step) - 0.5 * float(step @ known.information @ step)
