# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From any source to a draft: what kind of file it is, what kind of table, and who arranges its cells."""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, UnreadableData, counted, listed
from stochpref.readers.chosen import with_marks
from stochpref.readers.delimited import table_of_text
from stochpref.readers.drafts import Draft
from stochpref.readers.long import draft_long
from stochpref.readers.mapping import find_layout, resolve_places
from stochpref.readers.moved import PRICE
from stochpref.readers.orders import draft_orders
from stochpref.readers.pabulib import draft_pabulib
from stochpref.readers.tables import (
    SUFFIXES,
    Table,
    is_path,
    join_headers,
    read_bytes,
    suffix_of,
    table_of_frame,
    table_of_parquet,
    trim_names,
)
from stochpref.readers.wide import draft_wide
from stochpref.readers.wishes import Wishes
from stochpref.readers.workbook import table_of_workbook

STANDARD_INPUT: Final = "-"
_KINDS: Final = tuple({suffix.removesuffix(".gz") for suffix in SUFFIXES})
_DRAFTS: Final = {"long": draft_long, "wide": draft_wide, "orders": draft_orders}
# How files begin whose names do not say what they are.
_BEGINNINGS: Final = {b"PAR1": ".parquet", b"PK": ".xlsx", b"META": ".pb"}


def sources_of(source: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what there is to read, by names that tell the sources apart, and a note on what is left alone.

    A folder stands for the files in it, and in its folders, in order of their names.
    """
    if not isinstance(source, list | tuple):
        if not _is_folder(source):
            return {Path(source).name if is_path(source) else "data frame": source}, ()
        return _files_of(Path(source))
    if not source:
        raise InvalidArgument("source must hold a file or data frame, or several; received an empty list; name one")
    paths = [Path(one) for one in source if is_path(one)]
    is_short = len({path.name for path in paths}) == len(paths)
    found: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    for k, one in enumerate(source):
        if not is_path(one):
            found[f"table {k + 1}"] = one
            continue
        name = Path(one).name if is_short else str(one)
        inside, more = _files_of(Path(one)) if _is_folder(one) else ({"": one}, ())
        notes += more
        for rest, file in inside.items():
            label = f"{name}/{rest}" if rest else name
            if label in found:
                raise InvalidArgument(f"source must name each file once; received {label!r} twice; leave one out")
            found[label] = file
    return found, notes


def _is_folder(source: Any) -> bool:
    try:
        return is_path(source) and Path(source).is_dir()
    except (OSError, ValueError):  # a name that no file can have; reading it says so
        return False


def _files_of(folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the files of a folder that can be read, and a note on others."""
    inside = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = {path: path.relative_to(folder) for path in inside}
    visible = [path for path in inside if not any(part.startswith(("_", ".")) for part in names[path].parts)]
    files = {names[path].as_posix(): path for path in visible if suffix_of(path).removesuffix(".gz") in _KINDS}
    if not files:
        raise UnreadableData(
            f"{folder}: is a directory that holds no file to read ({', '.join(SUFFIXES)}); name another, or a file"
        )
    others = [names[path].as_posix() for path in visible if names[path].as_posix() not in files]
    return files, (f"folder: {counted(len(others), 'file')} of other kinds left alone ({listed(others, 3)})",) * bool(
        others
    )


def draft_of(source: Any, layout: str, wishes: Wishes) -> Draft:
    """Return the draft of a file, of standard input ("-") or of a data frame."""
    if is_path(source):
        content, name, suffix = _content_of(source)
        if suffix == ".pb":
            if layout != "auto" or wishes.columns or wishes.by or wishes.choice:
                raise InvalidArgument(
                    "layout, columns, choice and columns to group by do not apply to a .pb file: its sections are fixed"
                )
            return draft_pabulib(content, name, wishes)
        table = _table_of(content, name, suffix, wishes.sheet)
    else:
        table = table_of_frame(source)
    return _draft_of_table(join_headers(trim_names(table)), layout, wishes)


def table_of(source: Any) -> Table:
    """Return a file, standard input ("-") or a data frame as columns."""
    if not is_path(source):
        return table_of_frame(source)
    content, name, suffix = _content_of(source)
    if suffix == ".pb":
        raise InvalidArgument(f"{name}: must be a table, such as CSV; received a .pb file, whose sections are fixed")
    return _table_of(content, name, suffix, None)


def _draft_of_table(table: Table, layout: str, wishes: Wishes) -> Draft:
    if table.n_rows == 0:
        raise UnreadableData(f"{table.source}: has no rows after its header; there is nothing to read")
    wishes = replace(wishes, columns=resolve_places(wishes.columns, table))
    try:
        wishes = with_marks(table, wishes)
        may_be_orders = wishes.has_quantities and wishes.budget == "stated" and wishes.choice is None
        found = find_layout(table, wishes.columns, layout, may_be_orders=may_be_orders)
        if found == "orders" and any(name != PRICE for name in wishes.features):
            raise InvalidArgument(
                "features of goods that an order does not hold are not known; they are read of tables of menus, with a "
                f"row or column for every good; received {wishes.features[0]!r}"
            )
        return _DRAFTS[found](table, wishes)
    except UnreadableData as error:
        if str(error).startswith(table.source):
            raise
        raise UnreadableData(f"{table.source}: {error}") from None


def _content_of(source: Any) -> tuple[bytes, str, str]:
    """Return what a file holds, unpacked, how messages call it, and the suffix that says what it is."""
    if str(source) == STANDARD_INPUT:
        data = sys.stdin.buffer.read()
        content = _unpacked(data) if data[:2] == b"\x1f\x8b" else data
        suffix = next((kind for start, kind in _BEGINNINGS.items() if content.lstrip().startswith(start)), ".csv")
        return content, "standard input", suffix
    path = Path(source)
    suffix = suffix_of(path)
    content = read_bytes(path)  # a missing file or a directory is the first thing to say
    if suffix not in SUFFIXES and suffix.removesuffix(".gz") != ".pb":
        hint = nearest(suffix, SUFFIXES) or f"; {len(content):,} bytes were not looked at"
        raise UnreadableData(
            f"{path}: the name must end in one of {', '.join(SUFFIXES)}; received {suffix or 'no suffix'!r}{hint}; "
            "export it as CSV"
        )
    return content, str(path), suffix.removesuffix(".gz")


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except Exception as error:  # of gzip, zlib or the end of the data
        raise UnreadableData(f"standard input: is not a complete gzip file: {error}; compress it again") from None


def _table_of(content: bytes, name: str, suffix: str, sheet: str | None) -> Table:
    if sheet is not None and suffix != ".xlsx":
        raise InvalidArgument(f"sheet names a sheet of a workbook (.xlsx); {name} has none; leave it out")
    if suffix == ".xlsx":
        return table_of_workbook(content, name, sheet)
    if suffix == ".parquet":
        return table_of_parquet(content, name)
    return table_of_text(content, name, "\t" if suffix == ".tsv" else None)
