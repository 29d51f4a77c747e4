# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions too many for memory, packed in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from stochpref.errors import StochprefError
from stochpref.files import is_full
from stochpref.readers.folders import StoredObservations
from stochpref.regions import check_degenerate
from stochpref.stores.packing import (
    KEPT,
    Note,
    Origin,
    PackedRegions,
    ReportFn,
    code_width,
    encode_part,
    origin_of,
    pick_rows,
)
from stochpref.stores.protocol import Store, Task


@dataclass(frozen=True, eq=False)
class Disk(Store):
    """Parts in a file, which goes when this does, however the process ends.

    Each is read, computed on all threads and forgotten before the next.
    """

    n_goods: int
    sizes: tuple[int, ...]
    file: IO[bytes]
    single_precision: bool
    report: ReportFn | None = None
    is_large = True

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        """Yield function(regions, *arguments) for every task, in order."""
        return (function(self._read(task.part).unpack(), *task.arguments) for task in tasks)

    def _read(self, k: int) -> PackedRegions:
        dtype = np.dtype(np.float32 if self.single_precision else np.float64)
        width, size = code_width(self.n_goods), self.sizes[k]
        self.file.seek(sum(self.sizes[:k]) * (width + self.n_goods * dtype.itemsize))
        codes = np.frombuffer(self.file.read(size * width), np.uint8).reshape(size, width)
        slope = np.frombuffer(self.file.read(size * self.n_goods * dtype.itemsize), dtype).reshape(size, self.n_goods)
        return PackedRegions(codes, slope, 1.0)


@contextmanager
def on_disk(
    stored: StoredObservations, *, degenerate: str, seed: int, report: ReportFn | None = None
) -> Iterator[tuple[Disk, Origin]]:
    """Read stored observations once and keep their regions in a temporary file as long as the context lasts.

    Parameters
    ----------
    degenerate : "refuse" or "drop".
    seed : picks the observations that are kept to look at.
    report : told of parts done, parts in all and what is being done.

    Raises
    ------
    StochprefError : there is no room for the temporary file.
    """
    check_degenerate(degenerate)
    wanted = pick_rows([part.n_rows for part in stored.parts], KEPT, seed)
    notes: list[Note] = []
    with tempfile.TemporaryFile(prefix="stochpref-") as file:
        for k, part in enumerate(stored.parts):
            packed, note = encode_part(stored, part, degenerate, wanted[k])
            _write(file, packed, stored)
            notes.append(note)
            if report is not None:
                report(k + 1, len(stored.parts), "reading")
        origin = origin_of(stored, notes)
        sizes = tuple(note.n_used for note in notes if note.n_used)
        yield Disk(stored.n_goods, sizes, file, stored.single_precision, report), origin


def _write(file: IO[bytes], packed: PackedRegions, stored: StoredObservations) -> None:
    try:
        file.write(packed.codes.tobytes())
        file.write(packed.slope.tobytes())
        file.flush()
    except OSError as error:
        if not is_full(error):
            raise
        with suppress(OSError):  # or what is left in its buffer would be tried again, and fail, in place of the message
            file.close()
        needed = len(stored) * (code_width(stored.n_goods) + stored.n_goods * (4 if stored.single_precision else 8))
        halve = "" if stored.single_precision else ", or halve it with single_precision=True (--single-precision)"
        raise StochprefError(
            f"{tempfile.gettempdir()}: no room for the working copy of {stored.folder}, {needed:,} bytes; make room, "
            f"or point the environment variable TMPDIR to another disk{halve}"
        ) from None
