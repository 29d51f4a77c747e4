# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exceptions, whose messages name the argument or file row, the rule, the value received and the next move.

Below them, how text calls things: rows, counts, and names that may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

# What moves the cursor, ends a line, turns the direction of writing, or cannot be encoded.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class StochprefError(Exception):
    """Base of every exception raised on purpose; the command line turns it into exit code 2."""


class InvalidArgument(StochprefError, ValueError):
    """An argument breaks a rule.

    Usual causes: a wrong shape, NaN where a number is needed, a value out of range, an unknown option.
    """


class InvalidObservations(InvalidArgument):
    """Some observations or menus break a rule.

    Usual causes: a bundle that costs more than its budget, a negative price, a quantity above its cap.
    Remedy: the message names the first rows; correct them, or leave them out (``--skip-bad`` when reading).

    Attributes
    ----------
    rows : indices of the offending observations, counted from 0.
    """

    def __init__(self, message: str, rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(int(row) for row in rows)


class UnreadableData(StochprefError, ValueError):
    """A file or data frame cannot be read as observations or menus.

    Usual causes: missing columns, text where a number is expected, a truncated file, the wrong layout.
    """


def describe_rows(rows: Sequence[int]) -> str:
    """Return 'rows 3, 8, 12 and 40 more' for a list of indices: the first three, and how many follow."""
    shown = ", ".join(str(row) for row in rows[:3])
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def shown(name: object, width: int | None = None) -> str:
    """Return a name as text shows it: control characters escaped, since terminals obey them, and cut to a width.

    Whatever people read is made with this; files and JSON keep names as they are.
    """
    text = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(name))
    return text if width is None or len(text) <= width else f"{text[: width - 1]}…"


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return 'tea, milk and 3 more': the first names, shown, and how many follow."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more


def counted(count: int, noun: str) -> str:
    """Return '1 purchase' or '1,200 purchases'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


class NotConverged(UserWarning):
    """A fit stopped before its draws can be trusted; the message says what to do."""


class NotIdentified(UserWarning):
    """The data leave something open that the model asks for; the posterior is honest about it, and wide."""
