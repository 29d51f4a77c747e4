# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions on a device that JAX sums over, a GPU as a rule; those beyond its quadrature are done on the CPU."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.masses import Masses, Sums, exact_log_mass
from stochpref.mass.mixture import LawMasses, MixtureSums, sums_over_units
from stochpref.regions import Regions
from stochpref.stores.memory import Memory
from stochpref.stores.protocol import NOT_ASKED

if TYPE_CHECKING:
    from stochpref.mass.jax.engine import JaxLogLikelihood

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Device(Memory):
    """Regions in memory, and the distinct ones on the device once sums are asked for."""

    on_engine = True

    @cached_property
    def likelihood(self) -> JaxLogLikelihood:
        """What the device sums."""
        merged = self.regions.merged()
        return _on_device(self.regions) if merged is None else _on_device(merged.regions, merged.counts)

    def sums(self, h: Array, *, derivatives: int = 1, tolerance: float = 1e-10) -> Sums:
        """Return sums over all rows, as `Store.sums`; the Hessian is by differences."""
        if derivatives == 0:
            return Sums(self.likelihood.value(h, tolerance=tolerance), NOT_ASKED, NOT_ASKED)
        sums = self.likelihood.sums(h, tolerance=tolerance)
        return Sums(*sums, NOT_ASKED if derivatives == 1 else self.likelihood.information(h, tolerance=tolerance))

    def curvature(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return the outer products of the rows' gradients, which come with `sums`."""
        return self.likelihood.curvature(h, tolerance=tolerance)

    def masses(self, h: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> Masses:
        """Return the mass of every row."""
        masses = Masses(*_on_device(self.regions).rows(h, tolerance=tolerance))
        return masses if gradient else masses._replace(gradient=None)

    def law_masses(self, laws: Array, *, gradient: bool = False, tolerance: float = 1e-10) -> LawMasses:
        """Return the masses of every row under each law; gradients come with them."""
        merged = self.regions.merged()
        distinct = self.regions if merged is None else merged.regions
        counts, place = (np.ones(len(distinct)), np.arange(len(distinct))) if merged is None else merged[1:3]
        each = [self.likelihood.rows(h, tolerance=tolerance) for h in laws]
        slopes = np.stack([found.gradient if gradient else found.gradient[:, :0] for found in each])
        return LawMasses(np.stack([found.log_mass for found in each]), slopes, counts, np.asarray(place), distinct)

    def mixture(
        self, log_weights: Array, laws: Array, *, unit: Indices | None = None, derivatives: int = 1,
        tolerance: float = 1e-10,
    ) -> MixtureSums:  # fmt: skip
        """Return sums under a mixture, as `Store.mixture`; the information is summed on threads."""
        found = self.law_masses(laws, gradient=derivatives > 0, tolerance=tolerance)
        return sums_over_units(found, log_weights, unit, laws, derivatives, tolerance)


def _on_device(regions: Regions, counts: Array | None = None) -> JaxLogLikelihood:
    from stochpref.mass.jax.engine import JaxLogLikelihood, RowMasses  # noqa: PLC0415

    def on_threads(rows: Indices, laws: Array, which: Indices | None, tolerance: float) -> RowMasses:
        masses = exact_log_mass(regions[rows], laws, which, gradient=True, tolerance=tolerance)
        assert masses.gradient is not None
        return RowMasses(masses.log_mass, masses.error, masses.gradient)

    return JaxLogLikelihood.of(regions, counts=counts, fallback_fn=on_threads)
