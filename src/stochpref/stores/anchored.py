# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a sample of rows can tell of the sums over all of them near a point where those are known.

`Anchored` is not exact, and says by how much: it takes value, gradient and information of all observations at one h,
its anchor, from one exact pass, and what is left of a Taylor series beyond the second order from a sample of rows. That
rest is of third order, so its sampling error is T |d|³/√m for m rows sampled, d = h - anchor: at the distance of a
standard error, |d| ~ 1/√T, it vanishes as 1/√(mT), and a few thousand rows do the work of millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.masses import Sums, sum_with_information
from stochpref.regions import Regions
from stochpref.stores.protocol import NOT_ASKED, Store, Task, sums_of

Array = NDArray[np.float64]

_BATCHES: Final = 32  # of the sample, whose spread tells the sampling error


class Anchored(Store):
    """Another store, with sums that cost little and are right near an anchor; see the module.

    Parameters
    ----------
    whole : the store of all observations.
    anchor : (n,) h.
    exact : sums of all observations at the anchor.
    sample : regions picked from the whole at random, in random order.
    """

    is_exact = False

    def __init__(self, whole: Store, anchor: Array, exact: Sums, sample: Regions) -> None:
        self.whole, self.anchor, self.exact, self.sample = whole, anchor, exact, sample
        self.n_goods, self.sizes, self.keeps_latents = whole.n_goods, whole.sizes, whole.keeps_latents
        self._known: list[Sums] = []

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        """Yield function(regions, *arguments) for every task, of parts of the whole."""
        return self.whole.compute(function, tasks)

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in every process in which `compute` does."""
        self.whole.everywhere(function, *arguments)

    @property
    def scale(self) -> float:
        """Observations in all for one of the sample."""
        return len(self) / len(self.sample)

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

    def sums(self, h: Array, *, derivatives: int = 1, tolerance: float = 1e-10) -> Sums:
        """Return sums over all rows, nearly, as `Store.sums`."""
        here, known = sums_of(self.sample, h, derivatives, tolerance), self.at_anchor(tolerance)
        exact, step = self.exact, h - self.anchor
        gradient = information = NOT_ASKED
        if derivatives > 0:
            rest = here.gradient - known.gradient + known.information @ step
            gradient = exact.gradient - exact.information @ step + self.scale * rest
        if derivatives == 2:
            information = exact.information + self.scale * (here.information - known.information)
        return Sums(_series(exact, step) + self.scale * (here.value - _series(known, step)), gradient, information)

    def standard_error(self, h: Array, *, tolerance: float = 1e-10) -> float:
        """Return the standard error of the value at h, less that at the anchor, from the spread over batches."""
        if len(self.sample) == len(self):
            return 0.0
        step = h - self.anchor
        rests = []
        for batch in self.batches:
            known = sum_with_information(batch, self.anchor, tolerance=tolerance)
            rests.append(sums_of(batch, h, 0, tolerance).value - _series(known, step))
        share_left = 1.0 - len(self.sample) / len(self)
        return self.scale * float(np.sqrt(len(rests) * share_left) * np.std(rests, ddof=1))


def _series(known: Sums, step: Array) -> float:
    """Return the Taylor series to second order."""
    return known.value + float(known.gradient @ step) - 0.5 * float(step @ known.information @ step)
