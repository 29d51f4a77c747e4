# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Dates to days: whole columns at a time, in the few ways of writing them that leave no doubt."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stochpref.readers.cells import to_labels

# Year first, then day first with points; with slashes day and month are told apart by one that is beyond 12.
_ISO: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$")
_COMPACT: Final = re.compile(r"(\d{4})(\d{2})(\d{2})$")
_POINTS: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ ,].*)?$")
_SLASHES: Final = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?:[ ,].*)?$")
_EPOCH: Final = date(1970, 1, 1).toordinal()


class Days(NamedTuple):
    """A column of dates.

    values : (N,) days since 1970; the smallest integer where there is no date.
    bad_rows, bad_texts : cells that are no date, and what they hold.
    is_ambiguous : dates such as 03/04/2026 occur, and none that tells whether the day or the month comes first.
    """

    values: NDArray[np.int64]
    bad_rows: list[int]
    bad_texts: list[str]
    is_ambiguous: bool = False


NO_DAY: Final = np.iinfo(np.int64).min


def to_days(column: Any, name: str) -> Days:
    """Return a column of dates, times of day left aside."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        whole = pc.cast(pc.cast(column, pa.date32(), safe=False), pa.int32())
        return Days(np.array(whole.fill_null(0).to_numpy(zero_copy_only=False), np.int64), *_missing(column))
    labels = to_labels(column, name)
    parsed, is_ambiguous = _parse([text.strip() for text in labels.names])
    values = np.array([NO_DAY if day is None else day for day in parsed] + [NO_DAY], np.int64)[labels.codes]
    bad = np.flatnonzero(values == NO_DAY)
    return Days(values, bad.tolist(), [(*labels.names, "")[labels.codes[row]] for row in bad], is_ambiguous)


def _missing(column: Any) -> tuple[list[int], list[str]]:
    rows = np.flatnonzero(np.array(column.is_null().to_numpy(zero_copy_only=False), np.bool_))
    return rows.tolist(), [""] * rows.size


def _parse(texts: list[str]) -> tuple[list[int | None], bool]:
    """Return the day of each text, None if it is none, and whether slashes leave open which part is the month."""
    slashed = [found for text in texts if (found := _SLASHES.match(text))]
    is_day_first = any(int(found[1]) > 12 for found in slashed)
    is_month_first = any(int(found[2]) > 12 for found in slashed)
    days = [_day(text, day_first=is_day_first) for text in texts]
    return days, bool(slashed) and is_day_first == is_month_first


def _day(text: str, *, day_first: bool) -> int | None:
    if found := _ISO.match(text) or _COMPACT.match(text):
        parts = (found[1], found[2], found[3])
    elif found := _POINTS.match(text):
        parts = (found[3], found[2], found[1])
    elif found := _SLASHES.match(text):
        parts = (found[3], found[2], found[1]) if day_first else (found[3], found[1], found[2])
    else:
        return None
    try:
        return date(*(int(part) for part in parts)).toordinal() - _EPOCH
    except ValueError:
        return None


def period(days: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Return the number of the day, week (from Monday), month or year that days fall into."""
    if name == "day":
        return days
    if name == "week":
        return (days + 3) // 7  # 1 January 1970 was a Thursday
    return days.astype("datetime64[D]").astype(f"datetime64[{name[0].upper()}]").astype(np.int64)


PERIODS: Final = ("day", "week", "month", "year")
