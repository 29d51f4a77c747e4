# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit says of itself, for people: verdicts, words, pictures and tables that a page lays out in its own way.

A model says what only it can know: how customers differ, why to believe it. Everything that follows from its market and
its best utility, such as demand, is told alike for all models by who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from stochpref.verdicts import Verdict

_NAME: Final = 60  # characters of a name
# Control characters, and the marks that change the direction of writing: a letter knows its own.
_UNFIT: Final = dict.fromkeys(
    (*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " "
)


class Sketch(NamedTuple):
    """A picture: what draws it on axes, what it shows in words, what to look for, and its size in inches."""

    draw: Callable[..., Any]
    alt: str
    caption: str = ""
    size: tuple[float, float] = (4.6, 2.7)


class Table(NamedTuple):
    """A table.

    name, label : an identifier, and what it holds in words.
    columns : heading and kind of each: "name" of the row, "text", or "number".
    rows : the cells.
    is_bad : (rows,) those that want attention.
    """

    name: str
    label: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    is_bad: tuple[bool, ...] = ()


class Part(NamedTuple):
    """A piece of an account; whatever is empty is left out.

    heading, verdicts, prose : in this order; what stands between backticks in prose is a command.
    sketches, arrangement : pictures: "one" to a line, "three", or "beside" the prose.
    table, lines : what follows, a table or a list.
    fold : the words behind which all of it is folded away, "" to show it.
    """

    heading: str = ""
    verdicts: tuple[Verdict, ...] = ()
    prose: str = ""
    is_small: bool = False
    sketches: tuple[Sketch, ...] = ()
    arrangement: str = "one"
    table: Table | None = None
    lines: tuple[str, ...] = ()
    fold: str = ""


class Account(NamedTuple):
    """What a fit says of itself.

    kind : of model, in words.
    headline, headline_unfit : the verdict in a line, and what it is where the fit does not buy as customers did.
    verdicts : what speaks for the fit and against it, plainly.
    figure : the number that sums it up, and what it is; None where the data do not tell.
    wanted, unwanted : what the utility of a good means, and what a good below zero is.
    notes : how customers differ, in lines.
    spread, trust : how customers differ, and why to believe it, at length.
    """

    kind: str
    headline: str
    headline_unfit: str
    verdicts: tuple[Verdict, ...]
    figure: tuple[str, str] | None
    wanted: str
    unwanted: str
    notes: tuple[str, ...]
    spread: tuple[Part, ...]
    trust: tuple[Part, ...]


def as_sentence(text: str) -> str:
    """Return a text on one line, with a capital and a full stop."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def shorten(name: str, most: int = _NAME) -> str:
    """Return a name of one line and at most `most` characters, without those that turn the text around them."""
    plain = name[: most + 1].translate(_UNFIT)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def shown_number(value: float, digits: int = 3) -> str:
    """Return a number as a page shows it, "–" for none."""
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"
