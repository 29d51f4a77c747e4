# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Scans: the observations of a source that break no rule, and the rows that do; several sources as one.

Files are read each by itself, so that numbers of orders may begin again in every file. Goods of the same name are one
good; what a file does not name was not on offer there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

import numpy as np

from stochpref.errors import InvalidArgument, InvalidObservations, UnreadableData, counted, shown
from stochpref.observations import Observations
from stochpref.rows import changed

logger = logging.getLogger("stochpref")

BY_FILE: Final = "file"  # groups: a file each
_MOST_NOTES: Final = 4  # files whose own notes are told one by one


class BadRow(NamedTuple):
    """A row that breaks a rule.

    row : its number in the file or data frame.
    observation : the label of the observation it spoils, empty if it has none.
    rule, received, remedy : what must hold, what was found, what to do.
    position : position of the observation, counted from 0 in order of appearance.
    is_readable : False if a cell could not even be read.
    file : which of several files it is in; empty where there is one.
    """

    row: int
    observation: str
    rule: str
    received: str
    remedy: str
    position: int
    is_readable: bool
    file: str = ""

    def __str__(self) -> str:
        return f"{described_row(self.row, self.observation, self.file)}: {self.received}"


@dataclass(frozen=True, slots=True)
class Scan:
    """What a source holds.

    source : how messages call it.
    observations : those that break no rule, None if there are none.
    n_read : number of observations in the source, good or bad.
    bad : the rows that break a rule, in order; one observation may have several.
    layout : "long", "wide", "orders" or "pabulib"; of several files all of them.
    notes : what was done to arrive at the numbers, in words: lines added up, prices filled in.
    counting : how rows are numbered, in words.
    locate : position among the observations kept -> "row 7 (observation 3)"; costs a second pass over a text file.
    """

    source: str
    observations: Observations | None
    n_read: int
    bad: tuple[BadRow, ...]
    layout: str
    counting: str
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()

    @property
    def n_bad(self) -> int:
        """Number of observations that break a rule."""
        return len({row.position for row in self.bad})

    def accept(self, *, skip_bad: bool = False) -> Observations:
        """Return the observations, refusing bad ones unless they are to be left out, which is logged."""
        if self.observations is None or (self.bad and not skip_bad):
            remedy = "correct them or leave them out: skip_bad (--skip-bad)"
            refuse(self.source, self.bad, self.describe_bad(), remedy)
        if self.bad:
            logger.warning("%s: left out: %s", shown(self.source), self.describe_bad())
        return self.observations

    def describe_bad(self, limit: int = 3) -> str:
        """Return the broken rules as text, each with its first rows and the remedy."""
        return described_bad(self.bad, self.n_bad, self.n_read, self.counting, limit)


def join_scans(names: Sequence[str], scans: Sequence[Scan], *, by_file: bool) -> Scan:
    """Return several scans as one, whose observations and rows say which file they are in.

    Parameters
    ----------
    names : of the files, all different.
    by_file : each file is a group; what else groups observations the scans know themselves.

    Raises
    ------
    InvalidArgument : votes on different projects of the same name would be taken for votes on one.
    """
    if not by_file:
        _check_projects(names, scans)
    goods = tuple(
        dict.fromkeys(good for one in scans if one.observations is not None for good in one.observations.goods)
    )
    kept = [
        _labelled(one.observations.over(goods), name, by_file=by_file)
        for name, one in zip(names, scans, strict=True)
        if one.observations is not None
    ]
    ends = np.cumsum([0 if one.observations is None else len(one.observations) for one in scans])
    starts = np.cumsum([0, *(one.n_read for one in scans)])

    def locate(position: int) -> str:
        k = int(np.searchsorted(ends, position, side="right"))
        first = int(ends[k - 1]) if k else 0
        return f"{shown(names[k])}, {scans[k].locate(position - first)}"

    notes = _joined_notes(names, scans, goods)
    if len({one.nonempty for one in kept}) > 1:  # where one file holds an empty bundle, those of others count as seen
        kept = [changed(one, nonempty=False) for one in kept]
    observations = kept[0].concat(*kept[1:]) if kept else None
    if observations is not None:
        observations = changed(observations, notes=notes, titles=_titles(goods, scans))
    return Scan(
        source=f"{len(scans)} files ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})",
        observations=observations,
        n_read=int(starts[-1]),
        bad=tuple(
            row._replace(file=name, position=row.position + int(start))
            for name, one, start in zip(names, scans, starts, strict=False)
            for row in one.bad
        ),
        layout=" and ".join(dict.fromkeys(one.layout for one in scans)),
        counting="; ".join(dict.fromkeys(one.counting for one in scans)),
        locate=locate,
        notes=notes,
    )


def _titles(goods: tuple[str, ...], scans: Sequence[Scan]) -> tuple[str, ...] | None:
    """Return what people call the goods of all files, None where no file says."""
    kept = [one.observations for one in scans if one.observations is not None and one.observations.titles is not None]
    called = {good: title for one in reversed(kept) for good, title in zip(one.goods, one.shown_goods, strict=True)}
    return tuple(called.get(good, good) for good in goods) if kept else None


def _labelled(observations: Observations, name: str, *, by_file: bool) -> Observations:
    """Return observations whose labels say which file they are from."""
    labels = tuple(f"{name}:{observations.name(t)}" for t in range(len(observations)))
    labelled = changed(observations, labels=labels)
    return one_group(labelled, name) if by_file else labelled


def one_group(observations: Observations, name: str) -> Observations:
    """Return observations that are all of one group."""
    return changed(observations, groups=(name,) * len(observations))


def _check_projects(names: Sequence[str], scans: Sequence[Scan]) -> None:
    """Refuse votes in which an id has another name or cost from file to file: it is another project."""
    seen: dict[str, tuple[str, str]] = {}
    for name, one in zip(names, scans, strict=True):
        if one.layout != "pabulib" or one.observations is None:
            continue
        costs, titles = one.observations.prices[0].tolist(), one.observations.shown_goods
        for good, cost, title in zip(one.observations.goods, costs, titles, strict=True):
            told = f"{shown(title, 40)!r} for {cost:g}"
            other, where = seen.setdefault(good, (told, name))
            if other != told:
                raise InvalidArgument(
                    f"projects of several .pb files must be the same under the same id; {shown(good)!r} is {other} in "
                    f"{shown(where)}, and {told} in {shown(name)}; fit the files apart: by='file' (--by file)"
                )


def _joined_notes(names: Sequence[str], scans: Sequence[Scan], goods: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was done to all files, then to some, then how they were put together."""
    found = [
        ("left out: every observation, since all break a rule",) if one.observations is None else one.observations.notes
        for one in scans
    ]
    shared = [note for note in found[0] if all(note in notes for notes in found)]
    own = [
        [f"{shown(name)}: {note}" for note in notes if note not in shared]
        for name, notes in zip(names, found, strict=True)
    ]
    told = [notes for notes in own if notes]
    lines = [*shared, *(note for notes in told[:_MOST_NOTES] for note in notes)]
    if len(told) > _MOST_NOTES:
        lines.append(f"files: {len(told) - _MOST_NOTES:,} more have notes of their own; check them one by one")
    lines.append(f"files: {counted(len(scans), 'file')} read, each by itself")
    partial = sum(any(good not in one.observations.goods for one in scans if one.observations) for good in goods)
    if partial:
        lines[-1] += (
            f"; {counted(partial, 'good')} of {len(goods):,} not in all of them, and not on offer where not named"
        )
    with_customers = sum(one.observations is not None and one.observations.customers is not None for one in scans)
    if 0 < with_customers < len(scans):
        lines.append(f"customers: left out, since only {with_customers:,} of {len(scans):,} files name them")
    return tuple(lines)


def described_row(row: int, label: str, file: str = "") -> str:
    """Return which row is meant, in words."""
    where = f"{shown(file)}, row {row}" if file else f"row {row}"
    return f"{where} (observation {shown(label)})" if label else where


def described_bad(bad: tuple[BadRow, ...], n_bad: int, n_read: int, counting: str, limit: int) -> str:
    """Return broken rules as text, each with its first rows and the remedy."""
    lines = [f"{n_bad:,} of {n_read:,} observations break a rule ({counting})"]
    by_rule: dict[str, list[BadRow]] = {}
    for row in bad:
        by_rule.setdefault(row.rule, []).append(row)
    for rule, rows in by_rule.items():
        lines += ["", f"  {rule}", *(f"    {row}" for row in rows[:limit])]
        lines += [f"    and {len(rows) - limit:,} more"] if len(rows) > limit else []
        lines.append(f"    -> {rows[0].remedy}")
    return "\n".join(lines)


def refuse(source: str, bad: tuple[BadRow, ...], description: str, remedy: str) -> NoReturn:
    """Raise what bad rows deserve."""
    message = f"{source}: {description}\n{remedy}"
    if not all(row.is_readable for row in bad):
        raise UnreadableData(message)
    raise InvalidObservations(message, sorted({row.position for row in bad}))
