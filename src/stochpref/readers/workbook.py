# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Workbooks (.xlsx): one sheet as a table, its cells as the program that wrote them last saw them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.readers.tables import Table, first_line


def table_of_workbook(content: bytes, source: str, sheet: str | None) -> Table:
    """Return the columns of a sheet, named by its first row that is not empty; None for the first sheet.

    Raises
    ------
    UnreadableData : not a workbook, no such sheet, or nothing on it.
    """
    openpyxl = openpyxl_for("reading")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        name = _sheet_name(list(book.sheetnames), source, sheet)
        rows = [list(row) for row in book[name].iter_rows(values_only=True)]
    except UnreadableData:
        raise
    except Exception as error:  # whatever a damaged archive or document raises
        raise UnreadableData(f"{source}: is not a complete workbook: {first_line(error)}; save it again") from None
    first = next((k for k, row in enumerate(rows) if any(cell is not None for cell in row)), None)
    if first is None:
        raise UnreadableData(f"{source}: sheet {name!r} is empty; its first row must name the columns")
    notes = () if sheet is not None or len(book.sheetnames) == 1 else (
        f"workbook: sheet {name!r} is read, the first of {len(book.sheetnames)}; name another with sheet= (--sheet)",
    )  # fmt: skip
    width = max(k + 1 for row in rows[first:] for k, cell in enumerate(row) if cell is not None)
    header = [_text(cell).strip() for cell in (*rows[first], *[None] * width)[:width]]
    lines = [k for k in range(first + 1, len(rows)) if any(cell is not None for cell in rows[k])]
    columns = [[(*rows[k], *[None] * width)[i] for k in lines] for i in range(width)]
    return Table(
        source=f"{source}, sheet {name!r}" if len(book.sheetnames) > 1 else source,
        names=tuple(header),
        n_rows=len(lines),
        fetch=lambda position: _as_array(columns[position]),
        row_numbers=lambda: np.array(lines, np.int64) + 1,
        counting="rows are numbered as on the sheet",
        notes=notes,
        is_meant=lambda _: False,
    )


def openpyxl_for(doing: str) -> Any:
    """Return what reads and writes workbooks, if it is installed."""
    try:
        import openpyxl  # noqa: PLC0415
    except ImportError:
        raise InvalidArgument(
            f"{doing} workbooks (.xlsx) needs openpyxl, which is not installed; pip install 'stochpref[excel]', or "
            "take CSV"
        ) from None
    return openpyxl


def _sheet_name(names: list[str], source: str, sheet: str | None) -> str:
    if sheet is None:
        return names[0]
    if sheet not in names:
        shown = ", ".join(repr(name) for name in names[:6])
        raise UnreadableData(f"{source}: has no sheet {sheet!r}{nearest(sheet, names)}; its sheets are {shown}")
    return sheet


def _as_array(cells: list[Any]) -> Any:
    """Return cells of one kind as they are, and mixed ones as text."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    """Return a cell as text; whole numbers without the decimals that a sheet gives all numbers."""
    return "" if cell is None else f"{cell:g}" if isinstance(cell, float) and cell.is_integer() else str(cell)
