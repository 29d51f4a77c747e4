# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in memory, with what was conditioned on when the observations were recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from stochpref.chances import Recorded
from stochpref.mass.conditional import log_recorded, sum_recorded
from stochpref.mass.masses import Masses, Sums
from stochpref.mass.mixture import LawMasses, MixtureSums, chances_by_law, recorded_sums
from stochpref.stores.memory import Memory

Array = NDArray[np.float64]


class Conditioned(Memory):
    """What was recorded, none of it degenerate; h is over the directions that it tells of."""

    is_conditioned = True

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded.regions)
        self.recorded, self.span = recorded, recorded.span
        is_drawable = recorded.chance.is_single and recorded.span is None
        self.drawable = recorded.event if is_drawable else None
        self.n_goods = self.regions.n_goods if self.span is None else self.span.shape[1]

    def sums(self, h: Array, *, derivatives: int = 1, tolerance: float = 1e-10) -> Sums:
        """Return sums over all rows, as `Store.sums`."""
        sums = sum_recorded(self.recorded, self.lifted(h), derivatives=derivatives, tolerance=tolerance)
        if self.span is None:
            return sums
        gradient = self.span.T @ sums.gradient if derivatives > 0 else sums.gradient
        information = self.span.T @ sums.information @ self.span if derivatives == 2 else sums.information
        return Sums(sums.value, gradient, information)

    def law_masses(self, laws: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> LawMasses:
        """Return the chances of what was bought under each law, whatever was conditioned on."""
        found = chances_by_law(self.recorded.chance, self.lifted(laws), gradient=gradient, tolerance=tolerance)
        return found if self.span is None or not gradient else found._replace(gradient=found.gradient @ self.span)

    def mixture(
        self,
        log_weights: Array,
        laws: Array,
        *,
        unit: NDArray[np.intp] | None = None,
        derivatives: int = 1,
        tolerance: float = 1e-10,
    ) -> MixtureSums:
        """Return sums under a mixture, as `Store.mixture`; weights and counts are of all customers, seen or not."""
        sums = recorded_sums(self.recorded, log_weights, self.lifted(laws), unit, derivatives, tolerance)
        if self.span is None or derivatives == 0:
            return sums
        sums = sums._replace(gradient=sums.gradient @ self.span)
        if derivatives == 1:
            return sums
        k = len(laws)
        lift = block_diag(np.eye(k), *[self.span] * k)
        return sums._replace(information=lift.T @ sums.information @ lift)

    def among(self, rows: NDArray[np.intp]) -> Conditioned:
        """Return the store of some rows."""
        return Conditioned(self.recorded.take(rows))

    def masses(self, h: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> Masses:
        """Return the probability of every row."""
        found = log_recorded(self.recorded, self.lifted(h), gradient=gradient, tolerance=tolerance)
        if found.gradient is None or self.span is None:
            return found
        return found._replace(gradient=found.gradient @ self.span)

    def all_contain(self, h: Array) -> bool:
        """Tell whether h lies strictly inside every region."""
        return bool(self.recorded.chance.contains(self.lifted(h), strict=True).all())
