# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact log-masses and their gradients on a GPU, or wherever JAX runs: numpy and jax are all it imports.

Rows are sorted by kind once, cut into blocks and put on the device. An evaluation scans the blocks with the kernels of
`series`; rows whose error estimate is too large go through them again with more terms and nodes, if they are many;
what is left (regions that turn their back on the mean, prices thousands of times apart) goes to `fallback_fn`, the CPU
engine as a rule, or is refused by name. Nothing is silently wrong.

Numbers are 64-bit inside, whatever the caller's JAX is set to. Working memory is that of one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidObservations, describe_rows
from stochpref.kinds import ABOVE, ABSENT, BELOW, DEGENERATE, PIVOT, SLACK, TIGHT
from stochpref.mass.jax.moments import Moments, moment_table, whole_sphere
from stochpref.mass.jax.series import ROWS, RegionBlock, Size, block_masses, whole_spheres

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
FallbackFn = Callable[[Indices, Array, Indices | None, float], "RowMasses"]

_BLOCK_GPU, _BLOCK_CPU = 65_536, 2048  # one fills a large GPU, one fits into a core's cache
_AGAIN: Final = 4096  # rows of a second attempt at a time
_FEW: Final = 256  # rows that the fallback does before a second kernel would be compiled
_NODES: Final = 32  # of the shadow price; Pallas wants powers of two
_MORE_TERMS: Final = 6
_MORE_NODES: Final = 64
_DIFFERENCE: Final = 2e-3  # log-masses vary over h on scales of 1 or more, since |u| = 1


class RowMasses(NamedTuple):
    """Log-masses (k,), estimates of their errors (k,), gradients in h (k, n)."""

    log_mass: Array
    error: Array
    gradient: Array


class Totals(NamedTuple):
    """Σ log-mass, its gradient in h (n,), and Σ g gᵀ (n, n) of the rows' gradients g."""

    log_mass: float
    gradient: Array
    outer: Array


class _Bucket(NamedTuple):
    """Rows of one kind: where they stand in the data (k,), and blocks (N, n, B) of them on the device, filled up.

    counts : (N, B) how often each counts, 0 for what fills up the last block.
    """

    kind: int
    places: Indices
    rows: RegionBlock
    counts: Any


class _LawConstants(NamedTuple):
    """One law that all rows share, or K of them.

    h, mean : (n,) or (K, n).
    log_total : () or (K,) log ∫ exp(h·u) du over the sphere.
    which : (T,) the law of each row; None for one law.
    concentration : the largest.
    order : of the power series.
    """

    h: Array
    mean: Array
    log_total: Array
    which: Indices | None
    concentration: float
    order: int

    def of(self, places: Indices) -> Indices | None:
        """Return which law each of some rows has."""
        return None if self.which is None else self.which[places]

    def mean_of(self, places: Indices) -> Array:
        """Return E[u] for some rows, (n,) or (k, n)."""
        return self.mean if self.which is None else self.mean[self.which[places]]


def _order(n_goods: int) -> int:
    """Return the power of ε that serves all but some rows in a thousand at 1e-10; ε shrinks as goods become many.

    Not a matter of κ, though wide laws could do with less: a search over h would compile the kernels several times.
    """
    return 18 if n_goods < 16 else 16


def _size(kind: int, order: int, n_nodes: int, *, gradient: bool) -> Size:
    return Size(kind, order, 1 if kind == SLACK else n_nodes, gradient)


def _is_gpu() -> bool:
    return jax.default_backend() == "gpu"


@partial(jax.jit, static_argnames=("size", "per_row"))
def _scan(
    h: Any, log_total: Any, means: Any, rows: RegionBlock, count: Any, which: Any, table: Moments, tolerance: Any,
    *, size: Size, per_row: bool
) -> Any:  # fmt: skip
    """Return sums over good rows, which are bad, and the rows.

    Sums are log-masses; then, of one law, means, outer products of means, and how many; of several, gradients by law.
    """
    n = h.shape[-1]

    def step(sums: Any, block: Any) -> Any:
        part, often, own = block
        found = block_masses(h if own is None else h[own].T, part, table, size, _is_gpu())
        log_mass = jnp.minimum(found.log_integral - (log_total if own is None else log_total[own]), 0.0)
        is_good = found.error <= tolerance
        weight = jnp.where(is_good, often, 0.0)
        new = list(sums)
        new[0] = sums[0] + jnp.sum(weight * jnp.where(is_good, log_mass, 0.0))
        if own is None:
            new[3] = sums[3] + jnp.sum(weight)
        if size.gradient:
            mean = jnp.where(is_good, found.mean, 0.0)
            if own is None:
                new[1] = sums[1] + jnp.sum(weight * mean, axis=1)
                new[2] = sums[2] + jnp.matmul(weight * mean, mean.T, precision="highest")
            else:
                new[1] = sums[1].at[own].add((weight * (mean - means[own].T)).T)
        return tuple(new), ((often > 0.0) & ~is_good, (log_mass, found.error, found.mean) if per_row else None)

    start = (jnp.zeros(()), jnp.zeros(h.shape), *(() if which is not None else (jnp.zeros((n, n)), jnp.zeros(()))))
    return jax.lax.scan(step, start, (rows, count, which))


class JaxLogLikelihood:
    """The log-likelihood of regions kept on a device, as optimisers and samplers ask for it.

    Parameters
    ----------
    kind_code, side, slope, pivot : (T,), (T, n), (T, n), (T,) as in `Regions`; `of` takes them from there.
    counts : (T,) how often each row counts in sums; None for once.
    block : rows evaluated together, on a GPU a multiple of 128; None for what suits the device.
    fallback_fn : (rows, laws, which, tolerance) -> `RowMasses` of those rows, for rows that fail here; None to refuse
        them. `which` tells the laws of those rows, or is None as in `sums`.
    """

    def __init__(
        self,
        kind_code: NDArray[np.int8],
        side: NDArray[np.int8],
        slope: Array,
        pivot: NDArray[np.int32],
        *,
        counts: Array | None = None,
        block: int | None = None,
        fallback_fn: FallbackFn | None = None,
    ) -> None:
        self.n_rows, self.n_goods = side.shape
        self._counts = np.ones(self.n_rows) if counts is None else counts
        self._fallback_fn = fallback_fn
        width = block or (_BLOCK_GPU if _is_gpu() else _BLOCK_CPU)
        has_above, has_below = (side == ABOVE).any(axis=1), (side == BELOW).any(axis=1)
        # All spent on everything on offer reveals only signs; none spent, nothing.
        kind = np.where((kind_code == TIGHT) & ~has_below, SLACK, kind_code)
        self._certain = np.flatnonzero((kind_code == TIGHT) & ~has_above)
        self._degenerate = np.flatnonzero(kind_code == DEGENERATE)
        kind = np.where((kind_code == TIGHT) & ~has_above, DEGENERATE, kind)
        with jax.enable_x64(True):
            self._buckets = [
                _fill_bucket(k, np.flatnonzero(kind == k), (side, slope, pivot, self._counts), width)
                for k in (SLACK, PIVOT, TIGHT)
                if (kind == k).any()
            ]
        self._last: tuple[bytes, float, Totals] | None = None

    @classmethod
    def of(cls, regions: Any, **options: Any) -> JaxLogLikelihood:
        """Return the log-likelihood of `Regions`."""
        return cls(regions.kind_code, regions.side, regions.slope, regions.pivot, **options)

    def __len__(self) -> int:
        return round(float(self._counts.sum()))

    def sums(self, laws: ArrayLike, which: Indices | None = None, *, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Return Σ log-mass and its gradient in h; degenerate observations are not allowed.

        Parameters
        ----------
        laws : h = κμ, (n,) of one law, or (K, n) of several; the gradient has the same shape.
        which : (T,) the law of each row, by its place in `laws`; None for one law. On a GPU the order in which rows of
            one law are added is not fixed then, and the last digits with it.
        """
        if which is None:
            totals = self.totals(laws, tolerance=tolerance)
        else:
            totals = self._totals(self._constants(laws, which), tolerance, gradient=True)
        return totals.log_mass, totals.gradient

    def value(self, laws: ArrayLike, which: Indices | None = None, *, tolerance: float = 1e-10) -> float:
        """Return Σ log-mass alone, at two thirds of the cost; parameters as in `sums`."""
        return self._totals(self._constants(laws, which), tolerance, gradient=False).log_mass

    def totals(self, h: ArrayLike, *, tolerance: float = 1e-10) -> Totals:
        """Return Σ log-mass, its gradient and the outer products of the rows' gradients; the last are remembered."""
        law = self._constants(h)
        key = law.h.tobytes()
        if self._last is None or self._last[:2] != (key, tolerance):
            self._last = (key, tolerance, self._totals(law, tolerance, gradient=True))
        return self._last[2]

    def curvature(self, h: ArrayLike, *, tolerance: float = 1e-10) -> Array:
        """Return Σ g gᵀ (n, n), which is near the information where the likelihood is large; free after `sums`."""
        return self.totals(h, tolerance=tolerance).outer

    def information(self, h: ArrayLike, *, tolerance: float = 1e-10) -> Array:
        """Return the observed information (n, n), minus the Hessian of Σ log-mass, by differences of 2n gradients."""
        h = np.asarray(h, np.float64)
        steps = _DIFFERENCE * np.eye(self.n_goods)

        def slope(at: Array) -> Array:  # not by `totals`, which remembers the sums at h
            return self._totals(self._constants(at), tolerance, gradient=True).gradient

        matrix = np.array([slope(h - d) - slope(h + d) for d in steps]) / (2 * _DIFFERENCE)
        return 0.5 * (matrix + matrix.T)

    def rows(self, laws: ArrayLike, which: Indices | None = None, *, tolerance: float = 1e-10) -> RowMasses:
        """Return the log-mass, error estimate and gradient of every row, in order; parameters as in `sums`."""
        law = self._constants(laws, which)
        shape = (self.n_rows, self.n_goods)
        out = RowMasses(np.zeros(shape[0]), np.zeros(shape[0]), np.zeros(shape))
        out.log_mass[self._degenerate], out.gradient[self._degenerate] = -np.inf, np.nan
        for bucket in self._buckets:
            size = _size(bucket.kind, law.order, _NODES, gradient=True)
            own = law.of(bucket.places)
            _, (is_bad, found) = self._run(law, bucket.rows, bucket.counts, own, tolerance, size, per_row=True)
            for place, part in _unblocked(bucket.places, found, law):
                out.log_mass[place], out.error[place], out.gradient[place] = part
            for places, part in self._mended(law, bucket, is_bad, tolerance):
                out.log_mass[places], out.error[places], out.gradient[places] = part
        return out

    def _constants(self, laws: ArrayLike, which: Indices | None = None) -> _LawConstants:
        h, order = np.asarray(laws, np.float64), _order(self.n_goods)
        if which is None:
            kappa = float(np.linalg.norm(h))
            log_total, length = whole_sphere(self.n_goods, kappa)
            mean = h * (length / kappa) if kappa > 0 else np.zeros_like(h)
            return _LawConstants(h, mean, np.asarray(log_total), None, kappa, order)
        kappa = float(np.sqrt(np.max(np.sum(h * h, axis=1))))
        with jax.enable_x64(True):
            log_total, mean = whole_spheres(h, moment_table(self.n_goods, kappa, order))
        return _LawConstants(h, np.asarray(mean), np.asarray(log_total), which, kappa, order)

    def _run(
        self, law: _LawConstants, rows: RegionBlock, count: Any, own: Indices | None, tolerance: float, size: Size,
        *, per_row: bool
    ) -> Any:  # fmt: skip
        """Evaluate blocks of rows; `own` is the law of each row, without those that fill up the last block."""
        table = moment_table(self.n_goods, law.concentration, size.order)
        which = None if own is None else np.resize(own, count.shape).astype(np.int32)
        with jax.enable_x64(True):
            return _scan(
                law.h, law.log_total, law.mean, rows, count, which, table, tolerance, size=size, per_row=per_row
            )

    def _totals(self, law: _LawConstants, tolerance: float, *, gradient: bool) -> Totals:
        if len(self._degenerate):
            raise InvalidObservations(
                f"degenerate observations have no likelihood ({describe_rows(self._degenerate.tolist())}); leave them "
                "out with degenerate='drop'",
                self._degenerate.tolist(),
            )
        # A thread each: kernels of several kinds are then compiled side by side.
        with ThreadPoolExecutor(max_workers=max(len(self._buckets), 1)) as pool:
            parts = list(pool.map(lambda bucket: self._bucket_totals(law, bucket, tolerance, gradient), self._buckets))
        return Totals(
            sum(part.log_mass for part in parts),
            np.sum([np.zeros(law.h.shape), *(part.gradient for part in parts)], axis=0),
            np.sum([np.zeros((self.n_goods, self.n_goods)), *(part.outer for part in parts)], axis=0),
        )

    def _bucket_totals(self, law: _LawConstants, bucket: _Bucket, tolerance: float, gradient: bool) -> Totals:
        size, own = _size(bucket.kind, law.order, _NODES, gradient=gradient), law.of(bucket.places)
        sums, (is_bad, _) = self._run(law, bucket.rows, bucket.counts, own, tolerance, size, per_row=False)
        value, slope, outer = float(sums[0]), np.array(sums[1]), np.zeros((self.n_goods, self.n_goods))
        if own is None:
            mean, square, count = (np.asarray(part) for part in sums[1:])
            slope, crossed = mean - count * law.mean, np.outer(mean, law.mean)
            outer = square - crossed - crossed.T + count * np.outer(law.mean, law.mean)
        for places, part in self._mended(law, bucket, is_bad, tolerance):
            often = self._counts[places]
            value += float(often @ part.log_mass)
            if law.which is None:
                slope = slope + often @ part.gradient
                outer = outer + (often[:, None] * part.gradient).T @ part.gradient
            else:
                np.add.at(slope, law.which[places], often[:, None] * part.gradient)
        return Totals(value, slope, outer)

    def _mended(
        self, law: _LawConstants, bucket: _Bucket, is_bad: Any, tolerance: float
    ) -> Iterator[tuple[Indices, RowMasses]]:
        """Yield the rows that failed, from a second attempt with more terms and nodes or from the fallback."""
        bad = np.flatnonzero(np.asarray(is_bad).ravel())
        if 0 < len(bad) <= _FEW and self._fallback_fn is not None:
            places = bucket.places[bad]
            yield places, self._fallback_fn(places, law.h, law.of(places), tolerance)
            return
        # With the gradient even where it is not wanted: it costs less than compiling another kernel.
        size = _size(bucket.kind, law.order + _MORE_TERMS, _MORE_NODES, gradient=True)
        failed = []
        for start in range(0, len(bad), _AGAIN):
            chosen = bad[start : start + _AGAIN]
            filled = np.resize(chosen, _AGAIN)
            width = bucket.counts.shape[1]
            with jax.enable_x64(True):
                rows = _pick(bucket.rows, filled // width, filled % width)
            once = np.where(np.arange(_AGAIN)[None] < len(chosen), 1.0, 0.0)
            places = bucket.places[chosen]
            _, (is_worse, found) = self._run(law, rows, once, law.of(places), tolerance, size, per_row=True)
            is_worse = np.asarray(is_worse)[0, : len(chosen)]
            for _, part in _unblocked(places, found, law):
                yield places[~is_worse], RowMasses(*(values[~is_worse] for values in part))
            failed.append(places[is_worse])
        left = np.concatenate(failed) if failed else np.empty(0, np.intp)
        if left.size and self._fallback_fn is None:
            raise InvalidObservations(
                f"{left.size} of {self.n_rows} regions are beyond the device's quadrature at this law "
                f"({describe_rows(left.tolist())}); install numba to do them on the CPU, or leave them out",
                left.tolist(),
            )
        if left.size and self._fallback_fn is not None:
            yield left, self._fallback_fn(left, law.h, law.of(left), tolerance)


def _fill_bucket(kind: int, places: Indices, data: tuple[Any, Any, Any, Any], block: int) -> _Bucket:
    """Copy the rows of one kind to the device, in blocks; the last is filled up with copies of the first row."""
    side, slope, pivot, counts = data
    width = min(block, -(-len(places) // ROWS) * ROWS)
    n_blocks = -(-len(places) // width)
    filled = np.concatenate([places, np.full(n_blocks * width - len(places), places[0])])
    used = np.where(side[filled] == ABSENT, 0.0, slope[filled])

    def blocks(table: Any) -> Any:
        return jnp.asarray(np.ascontiguousarray(table.reshape(n_blocks, width, -1).transpose(0, 2, 1)))

    rows = RegionBlock(
        blocks(side[filled]),
        blocks(used / used.max(axis=1, keepdims=True)),
        jnp.asarray(np.maximum(pivot[filled], 0).reshape(n_blocks, width)),
    )
    count = np.where(np.arange(len(filled)) < len(places), counts[filled], 0.0)
    return _Bucket(kind, places, rows, jnp.asarray(count.reshape(n_blocks, width)))


@partial(jax.jit)
def _pick(rows: RegionBlock, block: Any, place: Any) -> RegionBlock:
    """Return one block with the rows at those places of those blocks."""
    picked = rows.side[block, :, place].T, rows.slope[block, :, place].T, rows.pivot[block, place]
    return RegionBlock(*(part[None] for part in picked))


def _unblocked(places: Indices, found: Any, law: _LawConstants) -> Any:
    """Yield the places of each block and what was found there, gradients (k, n)."""
    start = 0
    log_mass, error, mean = found
    for j in range(log_mass.shape[0]):
        inside = places[start : start + log_mass.shape[1]]
        count = len(inside)
        gradient = np.zeros((count, law.h.shape[-1]))
        if mean is not None:
            gradient = np.asarray(mean[j]).T[:count] - law.mean_of(inside)
        yield inside, RowMasses(np.asarray(log_mass[j])[:count], np.asarray(error[j])[:count], gradient)
        start += count
