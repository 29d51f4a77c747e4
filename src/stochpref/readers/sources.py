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
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.readers.delimited import table_of_text
from stochpref.readers.drafts import Draft, Wishes
from stochpref.readers.long import draft_long
from stochpref.readers.mapping import find_layout, resolve_constants
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
)
from stochpref.readers.wide import draft_wide
from stochpref.readers.workbook import table_of_workbook

STANDARD_INPUT: Final = "-"
_DRAFTS: Final = {"long": draft_long, "wide": draft_wide, "orders": draft_orders}
# How files begin whose names do not say what they are.
_BEGINNINGS: Final = {b"PAR1": ".parquet", b"PK": ".xlsx", b"META": ".pb"}


def draft_of(source: Any, layout: str, wishes: Wishes) -> Draft:
    """Return the draft of a file, of standard input ("-") or of a data frame."""
    if is_path(source):
        content, name, suffix = _content_of(source)
        if suffix == ".pb":
            if layout != "auto" or wishes.columns:
                raise InvalidArgument("layout and columns do not apply to a .pb file: its sections are fixed")
            return draft_pabulib(content, name, wishes)
        _refuse_features(wishes, name)
        table = _table_of(content, name, suffix, wishes.sheet)
    else:
        _refuse_features(wishes, "a data frame")
        table = table_of_frame(source)
    return _draft_of_table(join_headers(table), layout, wishes)


def _refuse_features(wishes: Wishes, name: str) -> None:
    if wishes.features:
        raise InvalidArgument(
            f"features are read of projects, from .pb files; received {wishes.features[0]!r} for {name}; leave them out"
        )


def _draft_of_table(table: Table, layout: str, wishes: Wishes) -> Draft:
    if table.n_rows == 0:
        raise UnreadableData(f"{table.source}: has no rows after its header; there is nothing to read")
    wishes = replace(wishes, columns=resolve_constants(wishes.columns, table))
    try:
        may_be_orders = wishes.has_quantities and wishes.budget == "stated"
        found = find_layout(table, wishes.columns, layout, may_be_orders=may_be_orders)
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
