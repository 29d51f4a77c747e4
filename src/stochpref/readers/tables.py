# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Any source as a table of named columns: delimited text, Parquet, or a data frame that narwhals understands.

Columns are fetched one at a time, so that a column nobody asked for cannot do harm. Rows are numbered as the person
who looks into the source would number them: lines of a text file, positions in a data frame.
"""

from __future__ import annotations

import difflib
import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, UnreadableData

SUFFIXES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx", ".pb")


@dataclass(frozen=True, slots=True)
class Table:
    """A source as columns.

    source : how messages call it.
    names : names of the columns, in order.
    n_rows : number of rows, the header not counted.
    fetch : position of a column -> its Arrow array.
    row_numbers : () -> (n_rows,) the number a person gives each row; costs a second pass, so only for messages.
    counting : how rows are numbered, in words.
    ragged : row -> number of fields, for rows that have more or fewer than the header.
    decimal : the mark before the decimals of a number that is written as text.
    notes : what was done to read it, in words.
    is_meant : name with spaces around it -> whether they are part of it. People type them, and do not see them.
    positions : name -> position of a column.
    """

    source: str
    names: tuple[str, ...]
    n_rows: int
    fetch: Callable[[int], Any]
    row_numbers: Callable[[], NDArray[np.int64]]
    counting: str
    ragged: Mapping[int, int] = field(default_factory=dict)
    decimal: str = "."
    notes: tuple[str, ...] = ()
    is_meant: Callable[[str], bool] = lambda _: True
    positions: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", {name: position for position, name in enumerate(self.names)})

    def without_spaces(self, name: str) -> str:
        """Return a name without the spaces around it, unless they are part of it."""
        trimmed = name.strip()
        return name if trimmed == name or self.is_meant(name) else trimmed

    def column(self, name: str) -> Any:
        """Return a column by name.

        Raises
        ------
        UnreadableData : the name occurs twice, or the bytes behind the column are damaged.
        """
        if len(self.positions) < len(self.names) and self.names.count(name) > 1:
            raise UnreadableData(f"{self.source}: column {name!r} occurs more than once; rename one of them")
        try:
            column = self.fetch(self.positions[name])
        except UnicodeError as error:
            raise UnreadableData(
                f"{self.source}: column {name!r} holds half a character: {first_line(error)}; read the text again as "
                "UTF-8, or correct it"
            ) from None
        except Exception as error:  # whatever a damaged file or a foreign data frame raises
            raise UnreadableData(f"{self.source}: column {name!r} cannot be read: {first_line(error)}") from None
        if len(column) != self.n_rows:
            raise UnreadableData(
                f"{self.source}: column {name!r} must have {self.n_rows} rows, as the table; it has {len(column)}; "
                "write or copy it again"
            )
        return column


def trim_names(table: Table) -> Table:
    """Return a table without spaces around the names of its columns."""
    names = tuple(map(table.without_spaces, table.names))
    if names == table.names:
        return table
    first = next(name for name, trimmed in zip(table.names, names, strict=True) if name != trimmed)
    return replace(
        table, names=names, notes=(*table.notes, f"columns: spaces around their names are left out, such as {first!r}")
    )


def join_headers(table: Table) -> Table:
    """Return a table whose header has two rows, as pivots have, with both as one: 'price' over 'tea' is 'price_tea'.

    The upper row names each group once or again and again; the lower one must be no numbers and make names different.
    """
    if table.n_rows < 2 or (len(set(table.names)) == len(table.names) and "" not in table.names[1:]):
        return table
    try:
        top = [[str(cell or "").strip() for cell in table.fetch(i)[:2].to_pylist()] for i in range(len(table.names))]
    except Exception:  # a damaged column is found when it is asked for by name
        return table
    names, group = [], ""
    for above, (below, _) in zip(table.names, top, strict=True):
        group = above or group
        names.append(f"{group}_{below}" if group and below else group or below)
    lower = [below for below, _ in top]
    is_nameless = any(not above and not below for above, below in zip(table.names[1:], lower[1:], strict=True))
    if is_nameless or len(set(names)) < len(names) or any(_is_number(below) for below in lower):
        return table
    joined = next((name for name, below in zip(names, lower, strict=True) if below and name != below), names[-1])
    n_header = 1
    if top[0][1] and not any(cell for _, cell in top[1:]):  # pandas names the index in a row of its own
        names[0], n_header = top[0][1], 2
    elif not table.names[0] or not top[0][0]:
        names[0] = top[0][0] or table.names[0]
    return replace(
        table,
        names=tuple(names),
        n_rows=table.n_rows - n_header,
        fetch=lambda position: table.fetch(position)[n_header:],
        row_numbers=lambda: table.row_numbers()[n_header:],
        ragged={row - n_header: count for row, count in table.ragged.items()},
        notes=(*table.notes, f"header: its rows are read as one, such as {joined!r}"),
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def suffix_of(path: Path) -> str:
    """Return the suffix that says what a file holds: '.csv.gz' for 'a.b.csv.gz'; '.gz' alone is taken for CSV."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        return "".join(suffixes[-2:]) if suffixes[-2:-1] in ([".csv"], [".tsv"], [".pb"]) else ".csv.gz"
    return suffixes[-1] if suffixes else ""


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed if its name ends in .gz.

    Raises
    ------
    UnreadableData : there is no such file, it is a directory, may not be read, or is a damaged archive.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UnreadableData(f"{path}: no such file{_near_files(path)}") from None
    except IsADirectoryError:
        raise UnreadableData(f"{path}: is a directory; name a file in it{_near_files(path / 'x')}") from None
    except PermissionError:
        raise UnreadableData(f"{path}: may not be read; check the permissions of the file") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise UnreadableData(f"{str(path)!r}: cannot be read: {error}; check the name and the disk") from None
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableData(f"{path}: is not a complete gzip file: {error}; copy or compress it again") from None


def table_of_parquet(data: bytes, source: str) -> Table:
    """Return the columns of a Parquet file."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names, n_rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    except Exception as error:  # Arrow raises its own, OSError, UnicodeDecodeError, ... on damaged footers
        raise UnreadableData(
            f"{source}: is not a complete Parquet file: {first_line(error)}; write or copy it again"
        ) from None

    def fetch(position: int) -> Any:
        column = file.read(columns=[names[position]]).column(names[position])
        column.validate(full=True)  # damaged pages may decode to text that is not text
        return column

    return _counted_from_zero(source, names, n_rows, fetch)


def table_of_frame(frame: object) -> Table:
    """Return the columns of a data frame: pandas, polars, Arrow, or whatever else narwhals understands.

    Raises
    ------
    InvalidArgument : the source is neither a path nor a data frame.
    """
    try:
        wrapped: Any = nw.from_native(frame, pass_through=True)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect()
        is_frame = isinstance(wrapped, nw.DataFrame)
        columns = list(wrapped.columns) if is_frame else []
        n_rows = len(wrapped) if is_frame else 0
    except Exception as error:  # every library of frames raises its own
        raise UnreadableData(f"data frame: cannot be read: {first_line(error)}") from None
    if not is_frame:
        raise InvalidArgument(
            f"source must be a path or a data frame (pandas, polars, Arrow); received {type(frame).__name__}"
        )

    def fetch(position: int) -> Any:
        return arrow_of(wrapped.get_column(columns[position]))

    return _counted_from_zero("data frame", tuple(str(name) for name in columns), n_rows, fetch)


def is_path(source: object) -> bool:
    """Return whether a source is the name of a file."""
    return isinstance(source, str | os.PathLike)


def _counted_from_zero(source: str, names: tuple[str, ...], n_rows: int, fetch: Callable[[int], Any]) -> Table:
    return Table(
        source=source,
        names=names,
        n_rows=n_rows,
        fetch=fetch,
        row_numbers=lambda: np.arange(n_rows),
        counting="rows are counted from 0",
    )


def arrow_of(series: Any) -> Any:
    """Return a column of a data frame, wrapped by narwhals, as an Arrow array."""
    try:
        column = series.to_arrow()
    except Exception:  # mixed types in one pandas column; their text tells numbers from the rest
        return pa.array([None if value is None else str(value) for value in series.to_list()], pa.string())
    column.validate(full=True)  # Arrow takes any bytes for text
    return column


def _near_files(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if suffix_of(entry) in SUFFIXES)
    except OSError:
        return "; check the folder"
    near = difflib.get_close_matches(path.name, names, n=1) or names[:1]
    return f"; did you mean {path.parent / near[0]}?" if near else "; check the folder"


def first_line(error: Exception) -> str:
    """Return what an error says, in a line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
