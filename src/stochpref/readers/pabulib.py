# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Pabulib files (.pb): participatory-budgeting votes, read as bundles of whole projects.

Three sections of semicolon-separated rows: META (key;value, holds ``budget``), PROJECTS (project_id;cost;…) and VOTES
(voter_id;…;vote, a comma list of project ids). Every voter faces the same prices and budget, so that the whole file is
one menu.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import UnreadableData, listed, shown
from stochpref.readers.cells import parse_number
from stochpref.readers.delimited import decode
from stochpref.readers.drafts import Draft, Flaw, Wishes, check_shape, finish_draft
from stochpref.readers.tables import Table

_SECTIONS: Final = ("META", "PROJECTS", "VOTES")


class _Row(NamedTuple):
    line: int
    fields: list[str]


class _Section(NamedTuple):
    """One section: header (of its columns) and rows, with their lines."""

    header: list[str]
    rows: list[_Row]


class _Ballots(NamedTuple):
    """The votes: bundles (T, n), T voters or None, T lines, and what could not be read."""

    bundles: NDArray[np.float64]
    voters: tuple[str, ...] | None
    lines: list[int]
    flaws: tuple[Flaw, ...]


def draft_pabulib(data: bytes, source: str, wishes: Wishes) -> Draft:
    """Return a draft from the votes of a .pb file, goods named by project id, customers by voter id.

    Without quantities there is one row, the menu all voters faced.
    """
    sections = _read_sections(decode(data, source), source)
    budget = _read_budget(sections["META"], source)
    costs = _read_costs(sections["PROJECTS"], source)
    ballots = _read_ballots(sections["VOTES"], tuple(costs), source) if wishes.has_quantities else None
    shape = check_shape(source, 1 if ballots is None else len(ballots.lines), len(costs))
    lines = [1] if ballots is None else ballots.lines
    # Sections are no columns: what the draft takes from a table is where it came from.
    table = Table(source, (), shape[0], lambda _: None, lambda: np.array(lines), "the first line is row 1")
    return finish_draft(
        table,
        wishes,
        prices=np.tile(np.array(list(costs.values())), (shape[0], 1)),
        budgets=None if not wishes.reads_budget else np.full(shape[0], budget),
        bundles=None if ballots is None else ballots.bundles,
        caps=np.full(shape, np.nan),
        goods=tuple(costs),
        customers=None if ballots is None else ballots.voters,
        labels=("",) if ballots is None else ballots.voters or ("",) * shape[0],
        rows=np.broadcast_to(np.arange(shape[0])[:, None], shape),
        flaws=() if ballots is None else ballots.flaws,
        layout="pabulib",
    )


def _read_sections(text: str, source: str) -> dict[str, _Section]:
    sections: dict[str, _Section] = {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";")
    line, current = 1, None
    try:
        for fields in reader:
            start, line = line, reader.line_num + 1
            cells = [cell.strip() for cell in fields]
            if not any(cells):
                continue
            if cells[0].upper() in _SECTIONS and not any(cells[1:]):
                current = sections.setdefault(cells[0].upper(), _Section([], []))
            elif current is None:
                _refuse(
                    source, start, f"a .pb file must start with META; received {cells[0][:40]!r}", "check the format"
                )
            elif not current.header:
                current.header.extend(cell.lower() for cell in cells)
            else:
                current.rows.append(_Row(start, cells))
    except csv.Error as error:
        raise UnreadableData(f"{source}: row {line} is not semicolon-separated text: {error}") from None
    missing = [name for name in _SECTIONS if name not in sections]
    if missing:
        raise UnreadableData(
            f"{source}: has no section {' and no section '.join(missing)}; a .pb file has META, PROJECTS and VOTES"
        )
    return sections


def _read_budget(meta: _Section, source: str) -> float:
    values = {row.fields[0].lower(): row for row in meta.rows}
    vote_type = values.get("vote_type")
    if vote_type is not None and vote_type.fields[1:2] != ["approval"]:
        _refuse(
            source, vote_type.line, f"vote_type must be approval; received {vote_type.fields[1:2]}", "it is no bundle"
        )
    if "budget" not in values:
        raise UnreadableData(f"{source}: META holds no budget{nearest('budget', values)}; add a row budget;<money>")
    row = values["budget"]
    return _number(row, 1, "the budget", source)


def _read_costs(projects: _Section, source: str) -> dict[str, float]:
    id_column, cost_column = (_need(projects, name, "PROJECTS", source) for name in ("project_id", "cost"))
    costs: dict[str, float] = {}
    for row in projects.rows:
        project = row.fields[id_column] if id_column < len(row.fields) else ""
        if not project or project in costs:
            _refuse(source, row.line, f"a project must have an id of its own; received {project!r}", "give it one")
        costs[project] = _number(row, cost_column, f"the cost of project {shown(project)}", source)
    return costs


def _read_ballots(votes: _Section, projects: tuple[str, ...], source: str) -> _Ballots:
    vote_column = _need(votes, "vote", "VOTES", source)
    voter_column = votes.header.index("voter_id") if "voter_id" in votes.header else len(votes.header)
    positions = {project: i for i, project in enumerate(projects)}
    bundles = np.zeros((len(votes.rows), len(projects)))
    flaws = []
    for t, row in enumerate(votes.rows):
        bought, flaw = _read_vote(row, t, vote_column, len(votes.header), positions)
        bundles[t, bought] = 1.0
        if flaw is not None:
            flaws.append(flaw)
    voters = tuple("".join(row.fields[voter_column : voter_column + 1]) for row in votes.rows)
    has_voters = voter_column < len(votes.header)
    return _Ballots(bundles, voters if has_voters else None, [row.line for row in votes.rows], tuple(flaws))


def _read_vote(
    row: _Row, t: int, vote_column: int, width: int, positions: Mapping[str, int]
) -> tuple[list[int], Flaw | None]:
    """Return the positions of the projects voted for, and what is wrong with the row."""
    if len(row.fields) != width:
        rule, remedy = f"a vote must have {width} fields, as its header", "look for a missing or extra semicolon"
        return [], Flaw(t, t, rule, f"{len(row.fields)} fields", remedy)
    ids = [project.strip() for project in row.fields[vote_column].split(",") if project.strip()]
    unknown = [project for project in ids if project not in positions]
    if unknown:
        remedy = f"correct the id or add the project{nearest(unknown[0], positions)}"
        return [], Flaw(t, t, "a vote must name projects of the PROJECTS section", repr(unknown[0]), remedy)
    if len(set(ids)) < len(ids):
        twice = next(project for project in ids if ids.count(project) > 1)
        return [], Flaw(t, t, "a vote must name a project once", repr(twice), "remove the repetition")
    return [positions[project] for project in ids], None


def _need(section: _Section, name: str, title: str, source: str) -> int:
    if name not in section.header:
        raise UnreadableData(
            f"{source}: section {title} has no column {name!r}{nearest(name, section.header)}; "
            f"its columns are {listed(section.header, 12) or 'none'}"
        )
    return section.header.index(name)


def _number(row: _Row, column: int, what: str, source: str) -> float:
    text = row.fields[column] if column < len(row.fields) else ""
    number = parse_number(text)
    if number is None or not np.isfinite(number):
        _refuse(source, row.line, f"{what} must be a number; received {text!r}", "write it with digits and a point")
    return number


def _refuse(source: str, line: int, rule: str, remedy: str) -> NoReturn:
    raise UnreadableData(f"{source}: row {line}: {rule}; {remedy}")
