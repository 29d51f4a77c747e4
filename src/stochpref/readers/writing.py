# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Writing observations and menus so that reading them gives back the same numbers: CSV or Parquet, long or wide.

Tables for people, such as predictions, are CSV, Parquet, JSON or workbooks. Their names are those of the data, so that
the two can be joined; only on request are names changed that a spreadsheet would run as formulas.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stochpref.archives.text import as_json, without_nan
from stochpref.checks import check_choice
from stochpref.errors import InvalidArgument, listed, shown
from stochpref.files import replacing
from stochpref.names import ROW_SUFFIXES
from stochpref.observations import Menus, Observations
from stochpref.problems import check_handled
from stochpref.readers.cells import parse_number
from stochpref.readers.folders import PART
from stochpref.readers.mapping import ROLES
from stochpref.readers.tables import suffix_of
from stochpref.readers.workbook import openpyxl_for


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path, which must be one that can be written."""
    return check_choice(suffix_of(Path(path)), "the suffix of path", tuple(_WRITERS))


def write_observations(observations: Observations, path: str | os.PathLike[str], *, layout: str = "long") -> None:
    """Write observations to a .csv or .parquet file that `read_observations` reads back exactly.

    A good that is not on offer has an empty price; caps are written if any differs from 1. Observations keep their
    labels, and are numbered from 1 where they have none or share some. The file appears complete or not at all.

    Parameters
    ----------
    layout : "long", one row per observation and good, or "wide", one row per observation.

    Raises
    ------
    InvalidArgument : the suffix or the layout is not one of these, a name is one that text cannot hold or a column of
        ours, or the observations have a problem or a condition that the file would lose.
    StochprefError : the disk is full.
    """
    if not isinstance(observations, Observations):
        raise InvalidArgument(f"observations must be Observations; received {type(observations).__name__}")
    check_handled(observations, "a file of observations")
    arrange_fn = _ARRANGEMENTS[check_choice(layout, "layout", tuple(_ARRANGEMENTS))]
    write_fn = _WRITERS[check_suffix(path)]
    _check_names(observations)
    table = pa.table(arrange_fn(observations))
    with replacing(Path(path)) as file:
        write_fn(table, file)


def write_menus(menus: Menus, path: str | os.PathLike[str], *, layout: str = "long") -> None:
    """Write menus to a .csv or .parquet file that `read_menus` reads back exactly; as `write_observations`."""
    if not isinstance(menus, Menus):
        raise InvalidArgument(f"menus must be Menus; received {type(menus).__name__}")
    check_handled(menus, "a file of menus")
    arrange_fn = _ARRANGEMENTS[check_choice(layout, "layout", tuple(_ARRANGEMENTS))]
    write_fn = _WRITERS[check_suffix(path)]
    unbought = Observations(
        menus.prices, menus.budgets, np.zeros_like(menus.prices), goods=menus.goods, caps=menus.caps,
        labels=menus.labels, features=menus.features,
    )  # fmt: skip
    _check_names(unbought)
    columns = {name: values for name, values in arrange_fn(unbought).items() if not name.startswith("quantity")}
    with replacing(Path(path)) as file:
        write_fn(pa.table(columns), file)


def write_rows(path: Path, rows: Iterable[Sequence[object]], *, for_spreadsheet: bool = False) -> None:
    """Write rows, the first of which names the columns, to a file that appears complete or not at all.

    Parameters
    ----------
    path : its suffix says what is written, one of `ROW_SUFFIXES`.
    for_spreadsheet : in CSV, put an apostrophe before texts that a spreadsheet would run as formulas; numbers stay as
        they are.

    Raises
    ------
    InvalidArgument : another suffix, a workbook without openpyxl, or more or other than a workbook can hold.
    """
    write_fn = _ROW_WRITERS[check_choice(suffix_of(path), "the suffix of path", ROW_SUFFIXES)]
    header, *lines = [[_plain(cell) for cell in row] for row in rows]
    if for_spreadsheet:
        lines = [[_defused(cell) for cell in line] for line in lines]
    content = write_fn([str(name) for name in header], lines)
    with replacing(path) as file:
        file.write(content)


def check_rows_suffix(path: Path) -> None:
    """Refuse a file that `write_rows` cannot write here, before there is anything to write."""
    if check_choice(suffix_of(path), "the suffix of path", ROW_SUFFIXES) == ".xlsx":
        openpyxl_for("writing")


def _plain(cell: object) -> object:
    """Return a number of numpy as Python's own, which every format takes."""
    return cell.item() if isinstance(cell, np.generic) else cell


def _rows_as_csv(header: list[str], lines: list[list[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue().encode()


def _rows_as_json(header: list[str], lines: list[list[object]]) -> bytes:
    return as_json(without_nan([dict(zip(header, line, strict=True)) for line in lines]))


def _rows_as_parquet(header: list[str], lines: list[list[object]]) -> bytes:
    columns = zip(*lines, strict=True) if lines else [[] for _ in header]
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(header, map(pa.array, columns), strict=True))), sink)
    return sink.getvalue()


def _rows_as_workbook(header: list[str], lines: list[list[object]]) -> bytes:
    openpyxl = openpyxl_for("writing")
    if len(lines) >= _SHEET_ROWS:
        raise InvalidArgument(f"a sheet holds {_SHEET_ROWS:,} rows at most; received {len(lines) + 1:,}; write .csv")
    for text in [*header, *(cell for line in lines for cell in line)]:
        if isinstance(text, str) and openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.search(text):
            raise InvalidArgument(
                f"a workbook holds no control characters; received {shown(text, 40)!r}; rename it, or write .csv"
            )
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell_of(value: object) -> Any:
        made = openpyxl.cell.WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            made.data_type = "s"  # a name that begins with = is no formula
        return made

    sheet.append([cell_of(name) for name in header])
    for line in lines:
        sheet.append([cell_of(value) for value in line])
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def _defused(cell: object) -> object:
    is_formula = isinstance(cell, str) and cell.startswith(_STARTS_FORMULA) and parse_number(cell) is None
    return f"'{cell}" if is_formula else cell


def _check_names(observations: Observations) -> None:
    if "" in observations.goods:
        raise InvalidArgument("goods must have names, or a file cannot tell them from missing ones; received ''")
    for name in (*observations.goods, *(observations.customers or ()), *(observations.labels or ())):
        if "\0" in name:
            raise InvalidArgument(f"a name must not hold a zero byte, which ends a text; received {name!r}")
    for name in observations.features:
        if any(name == role or name.startswith(f"{role}_") for role in ROLES):
            raise InvalidArgument(
                f"a file has columns of its own for {listed(ROLES)}; received a feature {name!r}; rename it"
            )


def _arrange_long(observations: Observations) -> dict[str, Any]:
    n_observations, n_goods = observations.prices.shape
    index = np.repeat(np.arange(n_observations), n_goods)
    columns: dict[str, Any] = {"observation": _named(observations).take(pa.array(index))}
    if observations.customers is not None:
        columns["customer"] = pa.array(observations.customers, pa.string()).take(pa.array(index))
    columns["good"] = pa.array(observations.goods, pa.string()).take(
        pa.array(np.tile(np.arange(n_goods), n_observations))
    )
    columns["price"] = _offered(observations.prices.ravel())
    columns["quantity"] = observations.bundles.ravel()
    columns["budget"] = np.repeat(observations.budgets, n_goods)
    if np.any(observations.caps != 1.0):
        columns["cap"] = observations.caps.ravel()
    for name, values in observations.features.items():
        columns[name] = values.ravel() if values.ndim == 2 else np.repeat(values, n_goods)
    return columns


def _arrange_wide(observations: Observations) -> dict[str, Any]:
    columns: dict[str, Any] = {"observation": _named(observations)}
    if observations.customers is not None:
        columns["customer"] = pa.array(observations.customers, pa.string())
    columns["budget"] = observations.budgets
    for i, good in enumerate(observations.goods):
        columns[f"price_{good}"] = _offered(observations.prices[:, i])
    for i, good in enumerate(observations.goods):
        columns[f"quantity_{good}"] = np.ascontiguousarray(observations.bundles[:, i])
    if np.any(observations.caps != 1.0):
        for i, good in enumerate(observations.goods):
            columns[f"cap_{good}"] = np.ascontiguousarray(observations.caps[:, i])
    for name, values in observations.features.items():
        if values.ndim == 1:
            columns[name] = values
        else:
            columns |= {
                f"{name}_{good}": np.ascontiguousarray(values[:, i]) for i, good in enumerate(observations.goods)
            }
    return columns


def _named(observations: Observations) -> Any:
    """Return a name for each observation: its label, if all have different ones, or its number from 1."""
    labels = observations.labels
    if labels is None or "" in labels or len(set(labels)) < len(labels):
        return pa.array(np.arange(len(observations)) + 1)
    return pa.array(labels, pa.string())


def _offered(prices: NDArray[np.float64]) -> Any:
    return pa.array(prices, mask=prices == np.inf)


def _write_csv(table: Any, file: BinaryIO) -> None:
    pacsv.write_csv(table, file)


def _write_parquet(table: Any, file: BinaryIO) -> None:
    pq.write_table(table, file, row_group_size=PART)  # a row group is what readers hold in memory


_STARTS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_ARRANGEMENTS: Final = {"long": _arrange_long, "wide": _arrange_wide}
_WRITERS: Final = {".csv": _write_csv, ".parquet": _write_parquet}
_ROW_WRITERS: Final = {
    ".csv": _rows_as_csv,
    ".parquet": _rows_as_parquet,
    ".xlsx": _rows_as_workbook,
    ".json": _rows_as_json,
}
_SHEET_ROWS: Final = 1 << 20
