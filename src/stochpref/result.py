# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What every result is to people: text, a table in a notebook, a data frame, JSON and, where one helps, a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from stochpref.errors import shown
from stochpref.loading import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS: Final = 60  # of a table in a notebook; the data frame has all


class Result(ABC):
    """Something computed that people look at.

    A result says `records`, the rows of its table, and `__str__`, the whole of it in words; the rest follows. Iterating
    over it yields the rows, so that ``pandas.DataFrame(result)`` is a data frame of them.
    """

    __slots__ = ()

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table, each a value by the name of its column."""

    def remarks(self) -> tuple[str, ...]:
        """Return what must not be missed beside the table."""
        return ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        found: dict[str, Any] = plain(self)
        return found

    def to_pandas(self) -> Any:
        """Return the table as a data frame."""
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415

        return pd.DataFrame(self.records())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the first line of the text, the table and the remarks; notebooks show this."""
        rows = self.records()
        headline = str(self).split("\n", maxsplit=1)[0]
        parts = [f"<p><strong>{escape(headline)}</strong></p>", _table(rows[:_MOST_ROWS])]
        if len(rows) > _MOST_ROWS:
            parts.append(f"<p>and {len(rows) - _MOST_ROWS:,} more rows: .to_pandas() has all</p>")
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in self.remarks())
        return f"<div>{''.join(parts)}{f'<ul>{remarks}</ul>' if remarks else ''}</div>"


class Drawn(Result):
    """A result that a picture helps to see.

    picture : the function that draws it on an axis, as ``module:name``.
    """

    __slots__ = ()

    picture: ClassVar[str]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result on an axis, a new one if None, and return the axis."""
        drawn: Axes = load(self.picture)(self, ax)
        return drawn


def plain(value: Any) -> Any:
    """Return what JSON can hold: arrays as lists, records as dicts of their fields."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return value.as_dict() if hasattr(value, "as_dict") else plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in names)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return '<td style="text-align:right">—</td>'
    if isinstance(value, bool | np.bool_):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | np.integer):
        return f'<td style="text-align:right">{value:,}</td>'
    if isinstance(value, float | np.floating):
        return f'<td style="text-align:right">{value:,.4g}</td>'
    return f'<td style="text-align:left">{escape(shown(value))}</td>'
