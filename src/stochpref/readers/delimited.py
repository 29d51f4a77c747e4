# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Delimited text (CSV, TSV) as a table: every cell a text, every row with its line number.

Arrow parses a well-formed file in one vectorised pass. A file with a row of the wrong length is parsed again by the
standard library, which is slow and says which line is wrong; the same slow pass numbers the lines for messages.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from stochpref.errors import UnreadableData
from stochpref.readers.tables import Table

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LONGEST_HEADER: Final = 1 << 22
_BLOCK_BYTES: Final = 1 << 23


def table_of_text(data: bytes, source: str, separator: str | None = None) -> Table:
    """Return the columns of delimited text, each cell a text.

    Parameters
    ----------
    data : UTF-8, with or without a byte order mark; any line ends.
    separator : comma, semicolon or tab; found from the header if None.

    Raises
    ------
    UnreadableData : not text, no header, no rows.
    """
    text, notes = decode_any(data, source)
    separator = separator or _find_separator(text[:_LONGEST_HEADER])

    @cache
    def quoted() -> set[str]:
        found = (name.replace('""', '"') for name in re.findall(r'"([^"]*(?:""[^"]*)*)"', text))
        return {name for name in found if name != name.strip()}

    def is_quoted(name: str) -> bool:
        return name in quoted()

    decimal = _find_decimal(text, separator)
    try:
        _, header = next(_records(text[:_LONGEST_HEADER], separator), (0, []))
        if not header:
            raise UnreadableData(f"{source}: is empty; the first row must name the columns")
        names = tuple(name.lstrip() for name in header)  # 'a, b' is how people type
        parsed = _parse_fast(text.encode() if notes else data.removeprefix(_BYTE_ORDER_MARK), header, separator)
        if parsed is None:
            slow = _parse_slowly(text, source, names, separator)
            return replace(slow, decimal=decimal, notes=notes, is_meant=is_quoted)
    except csv.Error as error:
        raise UnreadableData(f"{source}: is not delimited text: {error}; export it as CSV") from None

    def row_numbers() -> NDArray[np.int64]:
        lines = np.array([line for line, _ in _records(text, separator)][1:], dtype=np.int64)
        return lines if len(lines) == parsed.num_rows else np.arange(parsed.num_rows) + 2

    return Table(
        source, names, parsed.num_rows, parsed.column, row_numbers, _COUNTING,
        decimal=decimal, notes=notes, is_meant=is_quoted,
    )  # fmt: skip


_COUNTING: Final = "the header is row 1"


def decode(data: bytes, source: str) -> str:
    """Return UTF-8 bytes as text.

    Raises
    ------
    UnreadableData : another encoding or no text at all, with the first byte that shows it.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableData(f"{source}: is text in UTF-16, not UTF-8; save it as 'CSV UTF-8'")
    zero = data.find(b"\0")
    if zero >= 0:
        raise UnreadableData(f"{source}: holds a zero byte at byte {zero}: it is not a text file; export it as CSV")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise UnreadableData(
            f"{source}: row {row} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}; "
            "save it as 'CSV UTF-8' or convert it with iconv"
        ) from None


def decode_any(data: bytes, source: str) -> tuple[str, tuple[str, ...]]:
    """Return bytes as text, and a note where they are not UTF-8 but what Windows programs write in the West.

    Raises
    ------
    UnreadableData : another encoding or no text at all.
    """
    try:
        return decode(data, source), ()
    except UnreadableData:
        if b"\0" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise
        return text, ("text: read as Windows-1252 (cp1252), for it is not UTF-8; look at letters with accents",)


def _find_separator(head: str) -> str:
    """Return the separator the header uses most, outside quotes."""
    header = re.sub(r'"[^"]*"', "", next((line for line in head.splitlines() if line), ""))
    return max(",;\t", key=header.count)  # the comma if there is none


def _find_decimal(text: str, separator: str) -> str:
    """Return the comma where it separates no columns, no number has a point, and some comma is not one of thousands.

    Three digits after every comma may be thousands or decimals: such cells are refused rather than guessed at.
    """
    if separator == "," or re.search(r"\d\.\d", text):
        return "."
    return "," if re.search(r"\d,(\d{1,2}|\d{4,})(?![\d,])", text) else "."


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts, and its fields; empty lines hold no record."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line = 1
    for fields in reader:
        if fields:
            yield line, fields
        line = reader.line_num + 1


def _parse_fast(data: bytes, header: list[str], separator: str) -> Any:
    """Return an Arrow table of texts, None if the rows are not all as long as the header."""
    try:
        table = pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in data),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
        )
    except pa.ArrowInvalid:
        return None
    return table if table.column_names == header else None


def _parse_slowly(text: str, source: str, names: tuple[str, ...], separator: str) -> Table:
    width = len(names)
    lines: list[int] = []
    rows: list[list[str]] = []
    ragged: dict[int, int] = {}
    for line, fields in _records(text, separator):
        if len(fields) != width:
            ragged[len(rows) - 1] = len(fields)  # the header is record 0
        lines.append(line)
        rows.append((fields + [""] * width)[:width])
    columns = list(zip(*rows[1:], strict=True)) or [()] * width

    def fetch(position: int) -> Any:
        return pa.array(columns[position], pa.string())

    return Table(source, names, len(rows) - 1, fetch, lambda: np.array(lines[1:], dtype=np.int64), _COUNTING, ragged)
