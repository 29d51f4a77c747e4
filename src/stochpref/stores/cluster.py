# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in parts on the workers of a Dask cluster.

Workers read their own parts from the files, which they must be able to see, and keep them packed. A worker that dies
takes its parts along; Dask reads them again elsewhere. Functions are pure and parts are added in order, so that neither
the number of workers nor their deaths change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.readers.folders import PART, StoredObservations, StoredPart
from stochpref.regions import Regions, check_degenerate
from stochpref.stores.memory import Memory
from stochpref.stores.packing import KEPT, Note, Origin, PackedRegions, ReportFn, encode_part, origin_of, pick_rows
from stochpref.stores.protocol import Store, Task
from stochpref.threads import GROUP, one_of_many

_RETRIES: Final = 3
_AT_ONCE: Final = 16
_FEWEST_ROWS: Final = 512
_PARTS: Final = 16  # of observations in memory: each costs a message a step


@dataclass(frozen=True, eq=False)
class Cluster(Store):
    """Parts on workers.

    client : `distributed.Client`.
    packed : a future of `PackedRegions` for each part.
    n_distinct : regions, equal ones counted once where that is known.
    """

    n_goods: int
    sizes: tuple[int, ...]
    client: Any
    packed: tuple[Any, ...]
    n_distinct: int
    is_large: bool = False
    report: ReportFn | None = None
    keeps_latents = on_engine = True

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        """Yield function(regions, *arguments) for every task, in order, computed where the part is."""
        packed = [self.packed[task.part] for task in tasks]
        arguments = zip(*(task.arguments for task in tasks), strict=True)
        futures = self.client.map(
            _apply, [function] * len(tasks), packed, *map(list, arguments), pure=False, retries=_RETRIES
        )  # fmt: skip
        while futures:
            # A few at a time: each asks the scheduler once, and results may be large together.
            now, futures = futures[:_AT_ONCE], futures[_AT_ONCE:]
            yield from self.client.gather(now)

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on every worker; a cluster that is gone has none."""
        with suppress(OSError):
            self.client.run(function, *arguments, on_error="ignore")

    def count_distinct(self) -> int:
        """Return how many regions there are, equal ones counted once where that is known."""
        return self.n_distinct


def _apply(function: Callable[..., Any], packed: PackedRegions, *arguments: Any) -> Any:
    with one_of_many():  # a worker runs as many tasks at once as it has threads
        return function(packed.unpack(), *arguments)


def on_workers(
    stored: StoredObservations, client: Any, *, degenerate: str, seed: int, report: ReportFn | None = None
) -> tuple[Cluster, Origin]:
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
    sizes = tuple(notes[k].n_used for k in used)
    return Cluster(stored.n_goods, sizes, client, packed, sum(sizes), is_large=True, report=report), origin


def _encode(
    stored: StoredObservations, part: StoredPart, degenerate: str, wanted: NDArray[np.int64]
) -> tuple[PackedRegions, Note]:
    with one_of_many():
        return encode_part(stored, part, degenerate, wanted)


def spread(regions: Regions, client: Any) -> Cluster:
    """Send regions, none degenerate, to the workers.

    Parts are whole groups of rows, as many whatever the workers: sums are the same for any number of them.
    """
    size = min(max(-(-len(regions) // (_PARTS * GROUP)) * GROUP, _FEWEST_ROWS), PART)
    starts = range(0, max(len(regions), 1), size)
    # Data that is part of a task, unlike scattered data, outlives the worker that got it first.
    packed = tuple(
        client.submit(_as_it_is, PackedRegions.of(regions.rows(start, start + size)), pure=False) for start in starts
    )
    sizes = tuple(min(size, len(regions) - start) for start in starts)
    return Cluster(regions.n_goods, sizes, client, packed, Memory(regions).count_distinct())


def _as_it_is(packed: PackedRegions) -> PackedRegions:
    return packed
