# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The log-likelihood as optimisers and samplers see it: a sum over observations that are kept somewhere.

Where, is an engine's business: "cpu" keeps regions in memory and spreads them over threads, "jax" puts them on a
device, "dask" on the workers of a cluster. Anything with these few methods can be maximised and sampled from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.masses import Masses, exact_log_mass, observed_information, sum_log_mass
from stochpref.regions import Regions
from stochpref.stores.anchored import StreamedLogLikelihood
from stochpref.stores.cluster import spread
from stochpref.stores.engines import check_engine, connect

if TYPE_CHECKING:
    from stochpref.mass.jax.engine import JaxLogLikelihood

Array = NDArray[np.float64]


class LogLikelihood(Protocol):
    """Σ log-mass of observations, none degenerate, at h = κμ; `tolerance` is that of each mass."""

    @property
    def n_goods(self) -> int: ...  # noqa: D102

    def __len__(self) -> int: ...

    def value(self, h: Array, *, tolerance: float) -> float:
        """Return the sum alone."""

    def sums(self, h: Array, *, tolerance: float) -> tuple[float, Array]:
        """Return the sum and its gradient in h."""

    def information(self, h: Array, *, tolerance: float) -> Array:
        """Return minus the Hessian (n, n)."""

    def curvature(self, h: Array, *, tolerance: float) -> Array:
        """Return what an optimiser may take for the information: the same, or near it and cheaper."""


@dataclass(frozen=True, slots=True)
class ThreadedLogLikelihood:
    """The log-likelihood of regions in memory, on all threads."""

    regions: Regions

    @property
    def n_goods(self) -> int:
        """Number of goods."""
        return self.regions.n_goods

    def __len__(self) -> int:
        return len(self.regions)

    def value(self, h: Array, *, tolerance: float = 1e-10) -> float:
        """Return Σ log-mass: a tenth cheaper than with its gradient."""
        return float(np.sum(exact_log_mass(self.regions, h, tolerance=tolerance).log_mass))

    def sums(self, h: Array, *, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Return Σ log-mass and its gradient in h."""
        return sum_log_mass(self.regions, h, tolerance=tolerance)

    def information(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return minus the Hessian (n, n)."""
        return observed_information(self.regions, h, tolerance=tolerance)

    def curvature(self, h: Array, *, tolerance: float = 1e-10) -> Array:
        """Return the information."""
        return self.information(h, tolerance=tolerance)


@contextmanager
def summed_on(engine: Any, regions: Regions) -> Iterator[LogLikelihood]:
    """Yield the log-likelihood of regions, none degenerate, kept where the engine keeps them, as long as this lasts."""
    if check_engine(engine) != "dask":
        yield log_likelihood_of(regions, engine)
        return
    with connect(engine) as client:
        yield StreamedLogLikelihood(spread(regions, client))


def log_likelihood_of(regions: Regions, engine: str = "cpu") -> LogLikelihood:
    """Return the log-likelihood of regions, kept in memory or on a device.

    Rows beyond the device's quadrature are done on the CPU.
    """
    if check_engine(engine) == "cpu":
        return ThreadedLogLikelihood(regions)
    merged = regions.merged()
    return _on_device(regions) if merged is None else _on_device(merged.regions, merged.counts)


def engine_log_mass(regions: Regions, h: Array, tolerance: float, engine: Any, *, gradient: bool) -> Masses:
    """Return the mass of every region, computed on a device or a cluster."""
    name = check_engine(engine)
    if len(regions) == 0:
        return exact_log_mass(regions, h, gradient=gradient, tolerance=tolerance)
    if name == "jax":
        masses = Masses(*_on_device(regions).rows(h, tolerance=tolerance))
        return masses if gradient else masses._replace(gradient=None)
    with connect(engine) as client:
        parts = spread(regions, client)
        log_mass, error, slopes = zip(*parts.map(_row_masses, h, tolerance, gradient), strict=True)
    return Masses(np.concatenate(log_mass), np.concatenate(error), np.concatenate(slopes) if gradient else None)


def _row_masses(regions: Regions, h: Array, tolerance: float, gradient: bool) -> Masses:
    return exact_log_mass(regions, h, gradient=gradient, tolerance=tolerance)


def _on_device(regions: Regions, counts: Array | None = None) -> JaxLogLikelihood:
    from stochpref.mass.jax.engine import JaxLogLikelihood, RowMasses  # noqa: PLC0415

    def on_threads(rows: NDArray[np.intp], h: Array, tolerance: float) -> RowMasses:
        masses = exact_log_mass(regions[rows], h, gradient=True, tolerance=tolerance)
        assert masses.gradient is not None
        return RowMasses(masses.log_mass, masses.error, masses.gradient)

    return JaxLogLikelihood.of(regions, counts=counts, fallback_fn=on_threads)
