# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What menus and observations have in common: rows of checked values, which are picked, joined and spread by name.

Whatever is made of checked rows here is not checked again; names are, where they are new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_text
from stochpref.errors import InvalidArgument, listed
from stochpref.problems import Problem, as_problem

Array = NDArray[np.float64]
Record = TypeVar("Record", bound="Rows")

LEFT_OUT: Final = "left out: "  # how a note begins that says how many observations are missing of how many
GUESSED: Final = "guessed: "  # and one that says how many prices are not those that the customer faced
VOTES: Final = "votes: "  # one that says what ballots are read as,
LINES: Final = "lines: "  # and one that says how many lines of how many orders there are
_BY_ROW: Final = (
    "prices",
    "budgets",
    "bundles",
    "caps",
    "customers",
    "labels",
    "groups",
)  # besides features and the problem
_ABSENT: Final = {"prices": np.inf, "bundles": 0.0, "caps": 1.0}  # by good: what it has where it is not on offer


class Rows:
    """What menus and observations have in common; their classes say what the fields are."""

    __slots__ = ()

    prices: Array
    goods: tuple[str, ...]
    titles: tuple[str, ...] | None
    features: Mapping[str, Array]
    problem: Problem | None

    @property
    def shown_goods(self) -> tuple[str, ...]:
        """What people call the goods: their titles, their names where there are none."""
        return self.titles or self.goods

    @property
    def n_goods(self) -> int:
        """Number of goods, on offer or not."""
        return self.prices.shape[1]

    def __len__(self) -> int:
        return self.prices.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """Return the rows picked by a slice, a mask or indices."""
        kept = _row_index(rows, len(self))
        fields = {name: _picked(getattr(self, name), kept) for name in _BY_ROW if hasattr(self, name)}
        fields["features"] = {name: _picked(values, kept) for name, values in self.features.items()}
        fields["problem"] = None if self.problem is None else self.problem.take(kept)
        return changed(self, **fields)

    def over(self, goods: Iterable[str]) -> Self:
        """Return the rows over these goods, in their order: one they lack is not on offer, others are refused."""
        names = tuple(goods)
        if self.goods == names:
            return self
        places, n = places_of(self.goods, names), len(names)
        fields: dict[str, Any] = {
            name: _spread(getattr(self, name), places, n, absent)
            for name, absent in _ABSENT.items()
            if hasattr(self, name)
        }
        fields["features"] = {name: _spread(values, places, n, 0.0) for name, values in self.features.items()}
        fields["problem"] = None if self.problem is None else self.problem.over(names, self.goods)
        called = dict(zip(self.goods, self.shown_goods, strict=True))
        fields["titles"] = None if self.titles is None else tuple(called.get(name, name) for name in names)
        return changed(self, goods=checked_goods(names, n), **fields)

    def offered(self) -> Self:
        """Return the rows over the goods that some of them offer, all of them if none offers any."""
        is_offered = np.any(self.prices < np.inf, axis=0)
        if is_offered.all() or not is_offered.any():
            return self
        places = np.flatnonzero(is_offered)
        names = tuple(self.goods[i] for i in places.tolist())
        fields: dict[str, Any] = {name: getattr(self, name)[:, places] for name in _ABSENT if hasattr(self, name)}
        fields["features"] = {
            name: values if values.ndim == 1 else values[:, places] for name, values in self.features.items()
        }
        fields["problem"] = None if self.problem is None else self.problem.over(names, self.goods)
        fields["titles"] = None if self.titles is None else tuple(self.titles[i] for i in places.tolist())
        return changed(self, goods=names, **fields)

    def under(self, problem: Problem) -> Self:
        """Return the rows as those of customers who solve another problem; nothing is checked again."""
        return changed(self, problem=problem)

    def __repr__(self) -> str:
        kind = type(self).__name__
        known = [f"<{kind}: {len(self)} {kind.lower()} of {self.n_goods} goods"]
        if self.problem is not None and self.problem != as_problem("divisible"):
            known.append(f"problem {self.problem!r}")
        if self.features:
            known.append(f"features {', '.join(map(repr, self.features))}")
        if getattr(self, "nonempty", False):
            known.append("none empty")
        return "; ".join(known) + ">"


def assemble(kind: type[Record], **fields: Any) -> Record:
    """Return a record of fields that have been checked already, as readers do row by row."""
    record = object.__new__(kind)
    set_fields(record, **{name: frozen(v) if isinstance(v, np.ndarray) else v for name, v in fields.items()})
    return record


def places_of(goods: Iterable[str], known: tuple[str, ...]) -> NDArray[np.int64]:
    """Return where goods stand among those known; others are refused."""
    place = {name: i for i, name in enumerate(known)}
    unknown = [name for name in goods if name not in place]
    if unknown:
        raise InvalidArgument(
            f"goods must be among those of the fit; {len(unknown)} are not, such as {unknown[0]!r}; "
            f"the fit knows {listed(known)}"
        )
    return np.array([place[name] for name in goods], np.int64)


def changed(record: Record, **fields: object) -> Record:
    """Return a record with these fields and all others of a record, none of them checked."""
    return assemble(type(record), **({name: getattr(record, name) for name in field_names(record)} | fields))


def field_names(record: object) -> list[str]:
    """Return the names of the fields of a record or of a class of records."""
    return [field.name for field in dataclasses.fields(cast(Any, record))]


def set_fields(record: Rows, **fields: object) -> None:
    """Set fields of a frozen record, as only what makes one may."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def _picked(values: Any, kept: NDArray[np.intp]) -> Any:
    if values is None:
        return None
    return tuple(values[t] for t in kept.tolist()) if isinstance(values, tuple) else values[kept]


def joined(first: Record, *others: Record) -> Record:
    """Return the rows of several records, which have the same goods and features, one after another."""
    parts = (first, *others)
    fields = {name: _chained([getattr(part, name) for part in parts]) for name in _BY_ROW if hasattr(first, name)}
    fields["features"] = {name: _chained([part.features[name] for part in parts]) for name in first.features}
    notes = {note: None for part in parts for note in getattr(part, "notes", ())}  # a set that keeps its order
    fields |= {"notes": tuple(notes)} if hasattr(first, "notes") else {}
    if first.problem is not None:
        fields["problem"] = first.problem.join([other.problem for other in others])
    return changed(first, **fields)


def _chained(parts: list[Any]) -> Any:
    """Return arrays or names one after another; None where some part has none."""
    if any(part is None for part in parts):
        return None
    return tuple(chain(*parts)) if isinstance(parts[0], tuple) else np.concatenate(parts)


def _spread(values: Array, places: NDArray[np.int64], n_goods: int, absent: float) -> Array:
    """Return values (T, k) at their places among n goods; what is by observation stays."""
    if values.ndim == 1:
        return values
    whole = np.full((len(values), n_goods), absent)
    whole[:, places] = values
    return whole


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, read-only."""
    array.flags.writeable = False
    return array


def checked_names(names: Iterable[object] | None, count: int, argument: str) -> tuple[str, ...] | None:
    """Return names as texts, if there are as many as there should be."""
    if names is None:
        return None
    if isinstance(names, str):
        raise InvalidArgument(f"{argument} must be a sequence of names; received the single text {names!r}")
    labels = tuple(str(name) for name in names)
    if len(labels) != count:
        raise InvalidArgument(f"{argument} must hold {count} names; received {len(labels)}")
    check_text(labels, argument)
    return labels


def checked_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes as texts."""
    texts = () if isinstance(notes, str) else tuple(notes)
    if isinstance(notes, str) or not all(isinstance(note, str) for note in texts):
        raise InvalidArgument(f"notes must be a sequence of texts; received {notes!r}; put a single one in a list")
    check_text(texts, "notes")
    return texts


def checked_goods(goods: Iterable[object] | None, n_goods: int) -> tuple[str, ...]:
    """Return different names of goods, made up where none are given."""
    labels = checked_names(goods, n_goods, "goods")
    if labels is None:
        return tuple(f"good{i + 1}" for i in range(n_goods))
    check_different(labels, "goods")
    return labels


def check_different(names: tuple[str, ...], argument: str) -> None:
    """Refuse a name that occurs twice."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f"{argument} must have different names; received {twice!r} more than once")


def _row_index(rows: Any, count: int) -> NDArray[np.intp]:
    try:
        kept = np.atleast_1d(np.arange(count)[rows])
    except IndexError as error:
        raise InvalidArgument(f"rows must be a slice, a mask of length {count} or indices; {error}") from None
    if kept.size == 0:
        raise InvalidArgument(f"no row is left of {count}; a selection must keep at least one")
    return kept
