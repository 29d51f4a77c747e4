# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Cells to numbers and labels: whole columns at a time, and the text of every cell that is not a number.

Missing cells (empty, NA, NaN, null, none) become NaN in a column of numbers and -1 in a column of labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stochpref.errors import UnreadableData

_MISSING: Final = ("", "na", "n/a", "nan", "null", "none")


class Numbers(NamedTuple):
    """A column of numbers.

    values : (N,) NaN where a cell is missing or is not a number.
    bad_rows : indices of the cells that are not numbers.
    bad_texts : what those cells hold.
    """

    values: NDArray[np.float64]
    bad_rows: list[int]
    bad_texts: list[str]


class Labels(NamedTuple):
    """A column of labels.

    codes : (N,) index of each row's label, -1 where it is missing.
    names : the different labels, in order of first appearance.
    spaced : labels as they are written that differ from what is meant, by spaces around them.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]
    spaced: tuple[str, ...] = ()


def to_numbers(column: Any, name: str, decimal: str = ".") -> Numbers:
    """Return a column as float64, with the cells that are not numbers.

    Parameters
    ----------
    column : an Arrow array of text, numbers, truth values or categories of these.
    name : for the message if the column holds something else altogether, such as dates.
    decimal : the mark before decimals in text.
    """
    column = _plain(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_null(kind):
        return Numbers(np.full(len(column), np.nan), [], [])
    if not _is_text(kind):
        try:
            return Numbers(_as_floats(pc.cast(column, pa.float64(), safe=False)), [], [])
        except pa.ArrowException:
            raise UnreadableData(f"column {name!r} must hold numbers; it holds {kind}; convert it first") from None
    trimmed = pc.utf8_trim_whitespace(column)
    is_missing = pc.is_in(pc.utf8_lower(trimmed), pa.array(_MISSING, column.type))
    present = pc.if_else(is_missing, pa.scalar(None, column.type), trimmed)
    plain = present if decimal == "." else pc.replace_substring(present, decimal, ".")
    try:
        return Numbers(_as_floats(pc.cast(plain, pa.float64())), [], [])
    except pa.ArrowInvalid:
        return _located(column, present, decimal)


def to_labels(column: Any, name: str, clean: Callable[[str], str] = str) -> Labels:
    """Return a column as codes and names; an empty cell has no label.

    Parameters
    ----------
    clean : label as it is written -> as it is meant, without the spaces around it, say.
    """
    column = _plain(column)
    try:
        encoded = pc.cast(column, pa.string()).dictionary_encode()
    except pa.ArrowException:
        raise UnreadableData(f"column {name!r} must hold labels; it holds {column.type}; convert it first") from None
    codes = np.array(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    written = encoded.dictionary.to_pylist()
    place: dict[str, int] = {}
    meant = [clean(label) for label in written]
    where = [place.setdefault(label, len(place)) if label else -1 for label in meant]
    if len(place) < len(written):
        codes = np.array([*where, -1], np.int64)[codes]  # code -1 picks the last
    return Labels(
        codes, tuple(place), tuple(old for old, new in zip(written, meant, strict=True) if new not in ("", old))
    )


def combine_labels(columns: Sequence[Labels]) -> Labels:
    """Return the combinations of labels that occur in several columns, each with its parts between commas.

    A part that holds a comma or a quote is quoted, as in CSV, so that different combinations have different names. A
    combination with a part missing is missing.
    """
    first, *others = columns
    codes, is_missing = first.codes, first.codes < 0
    for column in others:
        is_missing = is_missing | (column.codes < 0)
        joint = codes * (len(column.names) + 1) + column.codes
        codes = np.unique(joint, return_inverse=True)[1]  # numbers from 0, so that the next product cannot overflow
    rows = np.flatnonzero(~is_missing)
    _, at, found = np.unique(codes[rows], return_index=True, return_inverse=True)
    order = np.argsort(at)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    combined = np.full(len(codes), -1, np.int64)
    combined[rows] = rank[found]
    names = tuple(
        ",".join(_quoted(column.names[column.codes[row]]) for column in columns) for row in rows[at[order]].tolist()
    )
    return Labels(combined, names, tuple(label for column in columns for label in column.spaced))


def _quoted(text: str) -> str:
    escaped = text.replace('"', '""')
    return f'"{escaped}"' if "," in text or '"' in text else text


def parse_number(text: str) -> float | None:
    """Return the number a text stands for, None if it stands for none; '1_000' is not a number."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def parse_amounts(texts: list[str], decimal: str) -> list[float | None]:
    """Return the numbers that the texts of a column stand for, with a currency sign or marks of thousands.

    Marks are taken for thousands where nothing else is possible: with decimals behind them, with more than one of them,
    or next to such cells in the same column; a space or an apostrophe between groups of three digits always. Two signs
    in one column are two currencies, which no number says apart.
    """
    bare = [_SIGN.sub("", text).strip() for text in texts]
    signs = {sign for text in texts for sign in _SIGN.findall(text)}
    if len(signs) > 1:
        return [parse_number(text) for text in texts]
    bare = [_SPACED.sub("", text) for text in bare]
    if any(_is_grouped(text, ".", ",", is_certain=True) for text in bare):
        decimal = ","
    mark = "," if decimal == "." else "."
    are_marked = any(_is_grouped(text, mark, decimal, is_certain=True) for text in bare)
    return [
        parse_number(text.replace(mark, "").replace(decimal, "."))
        if mark in text and are_marked and _is_grouped(text, mark, decimal, is_certain=False)
        else parse_number(text.replace(decimal, ".") if mark not in text else text)
        for text in bare
    ]


_SIGN: Final = re.compile(r"[$€£¥₹₽₩₺₴₫₱฿]|\b(?:USD|EUR|GBP|CHF|PLN|SEK|NOK|DKK|CZK|JPY|CAD|AUD|INR)\b")
_SPACED: Final = re.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))")


def _is_grouped(text: str, mark: str, decimal: str, *, is_certain: bool) -> bool:
    """Tell whether marks group digits by three; for certain, if they could not be decimals."""
    grouped = re.fullmatch(rf"[-+]?\d{{1,3}}((?:{re.escape(mark)}\d{{3}})+)({re.escape(decimal)}\d+)?", text)
    return grouped is not None and not (is_certain and grouped[1].count(mark) == 1 and grouped[2] is None)


def _plain(column: Any) -> Any:
    """Return one contiguous array, categories and text views decoded."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # older Arrow keeps zero chunks apart
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if _is_text(column.type) else column


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_floats(column: Any) -> NDArray[np.float64]:
    return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _located(column: Any, present: Any, decimal: str) -> Numbers:
    """Convert text some of which is not a plain number: each different text once, in Python."""
    encoded = present.dictionary_encode()
    parsed = parse_amounts(encoded.dictionary.to_pylist(), decimal)
    table = np.array([np.nan if value is None else value for value in parsed] + [np.nan])
    is_bad = np.array([value is None for value in parsed] + [False])
    codes = np.array(encoded.indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False), dtype=np.int64)
    bad_rows = np.flatnonzero(is_bad[codes])
    return Numbers(table[codes], bad_rows.tolist(), column.take(pa.array(bad_rows)).to_pylist())
