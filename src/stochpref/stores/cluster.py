# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in parts on the workers of a Dask cluster.

Workers read their own parts from the files, which they must be able to see, and keep them packed. A worker that dies
takes its parts along; Dask reads them again elsewhere. Functions are pure and parts are added in order, so that neither
the number of workers nor their deaths change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.observations import Observations
from stochpref.readers.folders import PART, StoredObservations, StoredPart
from stochpref.regions import Regions, check_degenerate
from stochpref.stores.disk import (
    KEPT,
    Note,
    Origin,
    PackedRegions,
    Parts,
    ReportFn,
    encode_part,
    on_disk,
    origin_of,
    pick_rows,
)
from stochpref.stores.engines import connect, is_cluster
from stochpref.threads import GROUP, one_of_many

LARGE: Final = 1 << 16  # stored observations that are loaded and treated like any others
_RETRIES: Final = 3
_AT_ONCE: Final = 16
_FEWEST_ROWS: Final = 512
_PARTS: Final = 16  # of observations in memory: each costs a message a step


@dataclass(frozen=True, slots=True, eq=False)
class ClusterParts:
    """Parts on workers.

    client : `distributed.Client`.
    packed : a future of `PackedRegions` for each part.
    """

    n_goods: int
    sizes: tuple[int, ...]
    client: Any
    packed: tuple[Any, ...]

    def map(self, function: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Yield function(regions, *arguments) of every part, in order, computed where the part is."""
        count = len(self.packed)
        own = [] if each is None else [list(each)]
        rest = [[argument] * count for argument in arguments]
        futures = self.client.map(
            _apply, [function] * count, list(self.packed), *own, *rest, pure=False, retries=_RETRIES
        )  # fmt: skip
        while futures:
            # A few at a time: each asks the scheduler once, and results may be large together.
            now, futures = futures[:_AT_ONCE], futures[_AT_ONCE:]
            yield from self.client.gather(now)

    def one(self, k: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return function(regions, *arguments) of part k."""
        return self.client.submit(_apply, function, self.packed[k], *arguments, pure=False, retries=_RETRIES).result()


def _apply(function: Callable[..., Any], packed: PackedRegions, *arguments: Any) -> Any:
    with one_of_many():  # a worker runs as many tasks at once as it has threads
        return function(packed.unpack(), *arguments)


def on_workers(
    stored: StoredObservations, client: Any, *, degenerate: str, seed: int, report: ReportFn | None = None
) -> tuple[ClusterParts, Origin]:
    """Let workers read stored observations and keep their regions; parameters as `on_disk`."""
    check_degenerate(degenerate)
    wanted = pick_rows([part.n_rows for part in stored.parts], KEPT, seed)
    # No retries: a file that is bad stays so, and every attempt would print its error.
    read = [
        client.submit(_encode, stored, part, degenerate, wanted[k], pure=False) for k, part in enumerate(stored.parts)
    ]
    notes = []
    for future in [client.submit(itemgetter(1), found, pure=False) for found in read]:
        notes.append(future.result())
        if report is not None:
            report(len(notes), len(read), "reading")
    origin = origin_of(stored, notes)
    used = [k for k, note in enumerate(notes) if note.n_used]
    packed = tuple(client.submit(itemgetter(0), read[k], pure=False) for k in used)
    return ClusterParts(stored.n_goods, tuple(notes[k].n_used for k in used), client, packed), origin


def _encode(
    stored: StoredObservations, part: StoredPart, degenerate: str, wanted: NDArray[np.int64]
) -> tuple[PackedRegions, Note]:
    with one_of_many():
        return encode_part(stored, part, degenerate, wanted)


def spread(regions: Regions, client: Any) -> ClusterParts:
    """Send regions, none degenerate, to the workers.

    Parts are whole groups of rows, as many whatever the workers: sums are the same for any number of them.
    """
    size = min(max(-(-len(regions) // (_PARTS * GROUP)) * GROUP, _FEWEST_ROWS), PART)
    starts = range(0, len(regions), size)
    # Data that is part of a task, unlike scattered data, outlives the worker that got it first.
    packed = tuple(
        client.submit(_as_it_is, PackedRegions.of(regions.rows(start, start + size)), pure=False) for start in starts
    )
    sizes = tuple(min(size, len(regions) - start) for start in starts)
    return ClusterParts(regions.n_goods, sizes, client, packed)


def _as_it_is(packed: PackedRegions) -> PackedRegions:
    return packed


@contextmanager
def in_parts(
    observations: Observations | StoredObservations,
    engine: Any,
    *,
    degenerate: str,
    seed: int,
    report: ReportFn | None = None,
) -> Iterator[tuple[Parts, Origin] | None]:
    """Yield stored observations in parts, on disk or on a cluster, while the context lasts; None to take them whole.

    Few of them, and any number for a GPU, are better taken whole, in memory.
    """
    if not isinstance(observations, StoredObservations):
        yield None
    elif is_cluster(engine):
        with connect(engine) as client:
            yield on_workers(observations, client, degenerate=degenerate, seed=seed, report=report)
    elif engine == "jax" or len(observations) <= LARGE:
        yield None
    else:
        with on_disk(observations, degenerate=degenerate, seed=seed, report=report) as found:
            yield found
