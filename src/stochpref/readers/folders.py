# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Observations too many for memory: a folder of Parquet files, one row per observation, read block by block.

Footers are read at once, so that a torn file, or goods that change from file to file, are found before any work is
done; rows are read when asked for and checked as those of any other source are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.observations import Observations
from stochpref.problems import FITTED, Problem, as_problem, check_handled
from stochpref.readers.cells import to_numbers
from stochpref.readers.mapping import Columns, find_layout, resolve_places
from stochpref.readers.scanning import scan_draft
from stochpref.readers.tables import Table, first_line
from stochpref.readers.wide import draft_wide, find_wide_columns
from stochpref.readers.wishes import Wishes, make_wishes

PART: Final = 1 << 16  # rows of a part, at most: what is read, checked and computed at a time
_BUFFER: Final = 1 << 20  # bytes of a column


class StoredPart(NamedTuple):
    """Consecutive rows of one file.

    path : of the file.
    row_groups : those that hold the rows.
    offset : of the first row group, in rows of the file.
    start, stop : rows, counted from the first of the row groups.
    """

    path: str
    row_groups: tuple[int, ...]
    offset: int
    start: int
    stop: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class StoredObservations:
    """Observations in a folder of Parquet files, a row each; nothing but footers is read until rows are needed.

    Parameters
    ----------
    folder : with .parquet files, in folders of their own if you like, taken in order of their names; or one such file.
    columns, budget, caps : as in `read_observations`, wide layout. Labels of observations and customers are not read.
    skip_bad : leave out observations that break a rule, and log how many, instead of refusing them.
    single_precision : keep prices as 32-bit numbers while fitting: half the space, and log-masses that are the more
        off the larger the concentration: for 10 goods by parts in ten million up to 200, 2e-6 at 1e3, 2e-5 at 1e4.

    Attributes
    ----------
    goods : names.
    parts : where the rows are.

    Raises
    ------
    UnreadableData : there is no Parquet file, one is damaged, their goods differ, or a column does not hold numbers.
    """

    folder: Path
    goods: tuple[str, ...]
    parts: tuple[StoredPart, ...]
    skip_bad: bool
    single_precision: bool
    _wishes: Wishes

    def __init__(
        self,
        folder: str | Path,
        *,
        columns: Columns | None = None,
        budget: str = "stated",
        caps: ArrayLike = 1.0,
        skip_bad: bool = False,
        single_precision: bool = False,
    ) -> None:
        home = Path(folder)
        wishes = make_wishes(columns, budget, caps)
        read = {role: place for role, place in wishes.columns.items() if role not in ("observation", "customer")}
        parts, goods = _look_at_footers(home, replace(wishes, columns=read))
        fields = {
            "folder": home, "goods": goods, "parts": parts, "skip_bad": bool(skip_bad),
            "single_precision": bool(single_precision), "_wishes": replace(wishes, columns=read),
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n_goods(self) -> int:
        """Number of goods."""
        return len(self.goods)

    @property
    def problem(self) -> Problem:
        """What customers solve: divisible goods are bought."""
        return as_problem("divisible")

    def __len__(self) -> int:
        return sum(part.n_rows for part in self.parts)

    def __repr__(self) -> str:
        return f"<StoredObservations: {len(self):,} observations of {self.n_goods} goods in {self.folder}>"

    def blocks(self) -> Iterator[Observations]:
        """Yield the observations in order, at most 65,536 at a time; what breaks a rule is refused, or left out.

        Raises
        ------
        UnreadableData : none is left.
        """
        n_blocks = 0
        for part in self.parts:
            for _, observations in self.read(part):
                n_blocks += 1
                yield observations
        if n_blocks == 0:
            raise UnreadableData(f"{self.folder}: every observation breaks a rule; read one of its files to see which")

    def read(self, part: StoredPart) -> Iterator[tuple[int, Observations]]:
        """Yield the observations of a part in blocks, each with the number of its first row in the file."""
        for first_row, table in _tables(part, self._wishes):
            found = scan_draft(draft_wide(table, _resolved(table, self._wishes)))
            if found.observations is None and self.skip_bad:
                continue
            yield first_row, found.accept(skip_bad=self.skip_bad).over(self.goods)

    def load(self) -> Observations:
        """Return all observations, in memory."""
        first, *others = self.blocks()
        return first.concat(*others)


def as_observations(source: Any) -> Observations | StoredObservations:
    """Return observations as they are, if fits can handle them, and the path of a folder as those stored there."""
    if isinstance(source, Observations):
        check_handled(source, "this fit", problems=FITTED, nonempty=True)
        return source
    if isinstance(source, StoredObservations):
        return source
    if not isinstance(source, str | Path):
        raise InvalidArgument(
            f"observations must be Observations; received {type(source).__name__}; "
            "build them with Observations(prices, budgets, bundles) or read_observations(path)"
        )
    if not Path(source).is_dir():
        raise InvalidArgument(
            f"a path must be that of a folder of Parquet files; received {str(source)!r}; read a file with "
            "read_observations(path)"
        )
    return StoredObservations(source)


def _look_at_footers(home: Path, wishes: Wishes) -> tuple[tuple[StoredPart, ...], tuple[str, ...]]:
    """Return the parts of all files and the goods, which all files must have."""
    files = [home] if home.is_file() else sorted(p for p in home.rglob("*.parquet") if not _is_hidden(p, home))
    if not files:
        raise UnreadableData(f"{home}: holds no .parquet file; write some, or name another folder")
    parts: list[StoredPart] = []
    goods: tuple[str, ...] = ()
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        except Exception as error:  # Arrow raises its own, OSError, ... on damaged footers
            raise UnreadableData(
                f"{path}: is not a complete Parquet file: {first_line(error)}; write or copy it again"
            ) from None
        names = tuple(schema.names)
        found = _goods_of(Table(str(path), names, 0, lambda _: None, lambda: np.arange(0), ""), wishes)
        goods = goods or found
        if set(found) != set(goods):
            raise UnreadableData(f"{path}: goods must be those of {files[0]}, {_difference(found, goods)}")
        for name in _columns_read(str(path), names, wishes):
            _check_type(str(path), name, schema.field(name).type)
        parts += _parts_of(str(path), sizes)
    if not parts:
        raise UnreadableData(f"{home}: its Parquet files have no rows; there is nothing to read")
    return tuple(parts), goods


def _check_type(path: str, name: str, kind: Any) -> None:
    """Refuse a column whose type, which may differ from file to file, cannot hold numbers."""
    try:
        to_numbers(pa.array([], kind), name)
    except UnreadableData as error:
        raise UnreadableData(f"{path}: {error}") from None


def _is_hidden(path: Path, home: Path) -> bool:
    """Tell whether a file, or a folder it is in, is one that writers of Parquet keep for themselves."""
    return any(name.startswith(("_", ".")) for name in path.relative_to(home).parts)


def _goods_of(table: Table, wishes: Wishes) -> tuple[str, ...]:
    resolved = _resolved(table, wishes)
    if find_layout(table, resolved.columns, "auto") == "long":
        raise UnreadableData(
            f"{table.source}: a folder must hold wide data, one row per observation; this file has one row per "
            "observation and good; write it with write_observations(..., layout='wide')"
        )
    return find_wide_columns(table, resolved).goods


def _resolved(table: Table, wishes: Wishes) -> Wishes:
    return replace(wishes, columns=resolve_places(wishes.columns, table))


def _difference(found: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    missing, added = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    return f"but {missing[0]!r} is missing" if missing else f"but {added[0]!r} is not among them"


def _parts_of(path: str, sizes: list[int]) -> Iterator[StoredPart]:
    """Yield parts of at most `PART` rows: small row groups together, large ones cut."""
    offset, k = 0, 0
    while k < len(sizes):
        last, total = k + 1, sizes[k]
        while last < len(sizes) and total + sizes[last] <= PART:
            last, total = last + 1, total + sizes[last]
        for start in range(0, total, PART):
            yield StoredPart(path, tuple(range(k, last)), offset, start, min(start + PART, total))
        offset, k = offset + total, last


def _tables(part: StoredPart, wishes: Wishes) -> Iterator[tuple[int, Table]]:
    """Yield the rows of a part as tables of the columns that are read, and the number of their first row."""
    try:
        # A buffer, or the row groups would be read whole, whatever their size.
        with pq.ParquetFile(part.path, buffer_size=_BUFFER, pre_buffer=False) as file:
            names = tuple(file.schema_arrow.names)
            at = 0
            for batch in file.iter_batches(
                batch_size=PART, row_groups=list(part.row_groups), columns=_columns_read(part.path, names, wishes)
            ):
                first, last = max(part.start - at, 0), min(part.stop - at, batch.num_rows)
                if first < last:
                    yield _table_of_batch(batch.slice(first, last - first), part.path, part.offset + at + first)
                at += batch.num_rows
                if at >= part.stop:
                    return
    except OSError as error:  # Arrow's errors about damaged pages among them
        raise UnreadableData(f"{part.path}: cannot be read: {first_line(error)}; write or copy it again") from None


def _columns_read(path: str, names: tuple[str, ...], wishes: Wishes) -> list[str]:
    table = Table(path, names, 0, lambda _: None, lambda: np.arange(0), "")
    found = find_wide_columns(table, _resolved(table, wishes))
    columns = [found.budget] if isinstance(found.budget, str) else []
    for by_good in found.by_good.values():
        if isinstance(by_good, Mapping):
            columns += by_good.values()
    return columns


def _table_of_batch(batch: Any, path: str, first_row: int) -> tuple[int, Table]:
    n_rows = batch.num_rows
    table = Table(
        source=path,
        names=tuple(batch.schema.names),
        n_rows=n_rows,
        fetch=batch.column,
        row_numbers=lambda: np.arange(first_row, first_row + n_rows),
        counting="rows are counted from 0",
    )
    return first_row, table
