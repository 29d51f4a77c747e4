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
from stochpref.mass.jax.series import ROWS, Rows, Size, block_masses

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
FallbackFn = Callable[[Indices, Array, float], "RowMasses"]

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
    rows: Rows
    counts: Any


class _Law(NamedTuple):
    """What all rows share at one h."""

    h: Array
    log_total: float
    mean: Array
    order: int


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
    h: Any, rows: Rows, count: Any, table: Moments, log_total: Any, tolerance: Any, *, size: Size, per_row: bool
) -> Any:
    """Return sums over good rows (log-mass, mean, outer product of means, how many), which are bad, and the rows."""
    n = h.shape[0]

    def step(sums: Any, block: Any) -> Any:
        part, often = block
        found = block_masses(h, part, table, size, _is_gpu())
        log_mass = jnp.minimum(found.log_integral - log_total, 0.0)
        is_good = found.error <= tolerance
        weight = jnp.where(is_good, often, 0.0)
        value = jnp.sum(weight * jnp.where(is_good, log_mass, 0.0))
        new = [sums[0] + value, sums[1], sums[2], sums[3] + jnp.sum(weight)]
        if size.gradient:
            mean = jnp.where(is_good, found.mean, 0.0)
            new[1] = sums[1] + jnp.sum(weight * mean, axis=1)
            new[2] = sums[2] + jnp.matmul(weight * mean, mean.T, precision="highest")
        return tuple(new), ((often > 0.0) & ~is_good, (log_mass, found.error, found.mean) if per_row else None)

    start = (jnp.zeros(()), jnp.zeros(n), jnp.zeros((n, n)), jnp.zeros(()))
    return jax.lax.scan(step, start, (rows, count))


class JaxLogLikelihood:
    """The log-likelihood of regions kept on a device, as optimisers and samplers ask for it.

    Parameters
    ----------
    kind_code, side, slope, pivot : (T,), (T, n), (T, n), (T,) as in `Regions`; `of` takes them from there.
    counts : (T,) how often each row counts in sums; None for once.
    block : rows evaluated together, on a GPU a multiple of 128; None for what suits the device.
    fallback_fn : (rows, h, tolerance) -> `RowMasses` of those rows, for rows that fail here; None to refuse them.
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

    def sums(self, h: ArrayLike, *, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Return Σ log-mass and its gradient in h; degenerate observations are not allowed."""
        totals = self.totals(h, tolerance=tolerance)
        return totals.log_mass, totals.gradient

    def value(self, h: ArrayLike, *, tolerance: float = 1e-10) -> float:
        """Return Σ log-mass alone, at two thirds of the cost."""
        return self._totals(self._law(h), tolerance, gradient=False).log_mass

    def totals(self, h: ArrayLike, *, tolerance: float = 1e-10) -> Totals:
        """Return Σ log-mass, its gradient and the outer products of the rows' gradients; the last are remembered."""
        law = self._law(h)
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
            return self._totals(self._law(at), tolerance, gradient=True).gradient

        matrix = np.array([slope(h - d) - slope(h + d) for d in steps]) / (2 * _DIFFERENCE)
        return 0.5 * (matrix + matrix.T)

    def rows(self, h: ArrayLike, *, tolerance: float = 1e-10) -> RowMasses:
        """Return the log-mass, error estimate and gradient of every row, in the order of the data."""
        law = self._law(h)
        shape = (self.n_rows, self.n_goods)
        out = RowMasses(np.zeros(shape[0]), np.zeros(shape[0]), np.zeros(shape))
        out.log_mass[self._degenerate], out.gradient[self._degenerate] = -np.inf, np.nan
        for bucket in self._buckets:
            size = _size(bucket.kind, law.order, _NODES, gradient=True)
            _, (is_bad, found) = self._run(law, bucket.rows, bucket.counts, tolerance, size, per_row=True)
            for place, part in _unblocked(bucket.places, found, law):
                out.log_mass[place], out.error[place], out.gradient[place] = part
            for places, part in self._mended(law, bucket, is_bad, tolerance):
                out.log_mass[places], out.error[places], out.gradient[places] = part
        return out

    def _law(self, h: ArrayLike) -> _Law:
        vector = np.asarray(h, np.float64)
        kappa = float(np.linalg.norm(vector))
        log_total, length = whole_sphere(self.n_goods, kappa)
        mean = vector * (length / kappa) if kappa > 0 else np.zeros_like(vector)
        return _Law(vector, log_total, mean, _order(self.n_goods))

    def _run(self, law: _Law, rows: Rows, count: Any, tolerance: float, size: Size, *, per_row: bool) -> Any:
        table = moment_table(self.n_goods, float(np.linalg.norm(law.h)), size.order)
        with jax.enable_x64(True):
            return _scan(law.h, rows, count, table, law.log_total, tolerance, size=size, per_row=per_row)

    def _totals(self, law: _Law, tolerance: float, *, gradient: bool) -> Totals:
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
            np.sum([np.zeros(self.n_goods), *(part.gradient for part in parts)], axis=0),
            np.sum([np.zeros((self.n_goods, self.n_goods)), *(part.outer for part in parts)], axis=0),
        )

    def _bucket_totals(self, law: _Law, bucket: _Bucket, tolerance: float, gradient: bool) -> Totals:
        size = _size(bucket.kind, law.order, _NODES, gradient=gradient)
        sums, (is_bad, _) = self._run(law, bucket.rows, bucket.counts, tolerance, size, per_row=False)
        log_mass, mean, square, count = (np.asarray(part) for part in sums)
        value, slope = float(log_mass), mean - count * law.mean
        crossed = np.outer(mean, law.mean)
        outer = square - crossed - crossed.T + count * np.outer(law.mean, law.mean)
        for places, part in self._mended(law, bucket, is_bad, tolerance):
            often = self._counts[places]
            value += float(often @ part.log_mass)
            slope = slope + often @ part.gradient
            outer = outer + (often[:, None] * part.gradient).T @ part.gradient
        return Totals(value, slope, outer)

    def _mended(self, law: _Law, bucket: _Bucket, is_bad: Any, tolerance: float) -> Iterator[tuple[Indices, RowMasses]]:
        """Yield the rows that failed, from a second attempt with more terms and nodes or from the fallback."""
        bad = np.flatnonzero(np.asarray(is_bad).ravel())
        if 0 < len(bad) <= _FEW and self._fallback_fn is not None:
            yield bucket.places[bad], self._fallback_fn(bucket.places[bad], law.h, tolerance)
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
            _, (is_worse, found) = self._run(law, rows, once, tolerance, size, per_row=True)
            is_worse = np.asarray(is_worse)[0, : len(chosen)]
            places = bucket.places[chosen]
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
            yield left, self._fallback_fn(left, law.h, tolerance)


def _fill_bucket(kind: int, places: Indices, data: tuple[Any, Any, Any, Any], block: int) -> _Bucket:
    """Copy the rows of one kind to the device, in blocks; the last is filled up with copies of the first row."""
    side, slope, pivot, counts = data
    width = min(block, -(-len(places) // ROWS) * ROWS)
    n_blocks = -(-len(places) // width)
    filled = np.concatenate([places, np.full(n_blocks * width - len(places), places[0])])
    used = np.where(side[filled] == ABSENT, 0.0, slope[filled])

    def blocks(table: Any) -> Any:
        return jnp.asarray(np.ascontiguousarray(table.reshape(n_blocks, width, -1).transpose(0, 2, 1)))

    rows = Rows(
        blocks(side[filled]),
        blocks(used / used.max(axis=1, keepdims=True)),
        jnp.asarray(np.maximum(pivot[filled], 0).reshape(n_blocks, width)),
    )
    count = np.where(np.arange(len(filled)) < len(places), counts[filled], 0.0)
    return _Bucket(kind, places, rows, jnp.asarray(count.reshape(n_blocks, width)))


@partial(jax.jit)
def _pick(rows: Rows, block: Any, place: Any) -> Rows:
    """Return one block with the rows at those places of those blocks."""
    picked = rows.side[block, :, place].T, rows.slope[block, :, place].T, rows.pivot[block, place]
    return Rows(*(part[None] for part in picked))


def _unblocked(places: Indices, found: Any, law: _Law) -> Any:
    """Yield the places of each block and what was found there, gradients (k, n)."""
    start = 0
    log_mass, error, mean = found
    for j in range(log_mass.shape[0]):
        inside = places[start : start + log_mass.shape[1]]
        count = len(inside)
        gradient = np.zeros((count, len(law.h)))
        if mean is not None:
            gradient = np.asarray(mean[j]).T[:count] - law.mean
        yield inside, RowMasses(np.asarray(log_mass[j])[:count], np.asarray(error[j])[:count], gradient)
        start += count
