# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Pabulib files (.pb): participatory-budgeting votes, read as bundles of whole projects.

Unless a problem is stated projects are whole, and ballots not empty where none is.

Three sections of semicolon-separated rows: META (key;value, holds ``budget``), PROJECTS (project_id;cost;…) and VOTES
(voter_id;…;vote, a comma list of project ids). Every voter faces the same prices and budget, so that the whole file is
one menu. Ballots that cost more than the budget are approval ballots: no budget bound them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, UnreadableData, counted, listed, shown
from stochpref.kinds import MONEY_TOLERANCE
from stochpref.problems import as_problem
from stochpref.readers.cells import parse_number
from stochpref.readers.delimited import decode
from stochpref.readers.drafts import Draft, Flaw, check_shape, finish_draft
from stochpref.readers.tables import Table
from stochpref.readers.wishes import Wishes
from stochpref.rows import VOTES

_SECTIONS: Final = ("META", "PROJECTS", "VOTES")
_KINDS: Final = ("category", "target")  # columns of projects that hold lists, from which features are made


class _Row(NamedTuple):
    line: int
    fields: list[str]


class _Section(NamedTuple):
    """One section: header (of its columns) and rows, with their lines."""

    header: list[str]
    rows: list[_Row]


class _Projects(NamedTuple):
    """The projects: what each costs, by its id; n titles or None; what else is known of them, name -> (n,)."""

    costs: dict[str, float]
    titles: tuple[str, ...] | None
    features: dict[str, NDArray[np.float64]]


class _Ballots(NamedTuple):
    """The votes: bundles (T, n), T voters or None, T lines, and what could not be read."""

    bundles: NDArray[np.float64]
    voters: tuple[str, ...] | None
    lines: list[int]
    flaws: tuple[Flaw, ...]


def draft_pabulib(data: bytes, source: str, wishes: Wishes) -> Draft:
    """Return a draft from the votes of a .pb file, goods named by project id, with names as titles, customers by voter.

    Without quantities there is one row, the menu all voters faced.
    """
    sections = _read_sections(decode(data, source), source)
    budget = _read_budget(sections["META"], source)
    costs, titles, features = _read_projects(sections["PROJECTS"], wishes.features, source)
    ballots = _read_ballots(sections["VOTES"], tuple(costs), source) if wishes.has_quantities else None
    shape = check_shape(source, 1 if ballots is None else len(ballots.lines), len(costs))
    lines = [1] if ballots is None else ballots.lines
    # Sections are no columns: what the draft takes from a table is where it came from.
    table = Table(source, (), shape[0], lambda _: None, lambda: np.array(lines), "the first line is row 1")
    prices = np.array(list(costs.values()))
    notes = () if ballots is None or wishes.budget == "spent" else _note_on_approval(ballots.bundles @ prices, budget)
    draft = finish_draft(
        table,
        wishes,
        prices=np.tile(prices, (shape[0], 1)),
        budgets=None if not wishes.reads_budget else np.full(shape[0], budget),
        bundles=None if ballots is None else ballots.bundles,
        caps=np.full(shape, np.nan),
        goods=tuple(costs),
        customers=None if ballots is None else ballots.voters,
        labels=("",) if ballots is None else ballots.voters or ("",) * shape[0],
        rows=np.broadcast_to(np.arange(shape[0])[:, None], shape),
        flaws=() if ballots is None else ballots.flaws,
        layout="pabulib",
        notes=notes,
    )
    if ballots is not None and wishes.problem is None:  # projects are funded whole or not at all
        is_empty = ballots.bundles.sum(axis=1) == 0
        nonempty = not is_empty.any() if wishes.nonempty is None else wishes.nonempty
        draft = replace(draft, problem=as_problem("whole"), nonempty=nonempty, notes=_noted(draft, is_empty))
    elif ballots is not None:
        told = f"{VOTES}{counted(shape[0], 'ballot')} on {counted(shape[1], 'project')}"
        draft = replace(draft, notes=(*draft.notes, told))
    return replace(
        draft, titles=titles, features={name: np.tile(values, (shape[0], 1)) for name, values in features.items()}
    )


def _noted(draft: Draft, is_empty: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the notes of a draft, and one on what its votes are taken to be."""
    empty = "empty ballots are not among them" if not is_empty.any() else f"{is_empty.sum():,} of them empty"
    return (
        *draft.notes,
        f"{VOTES}read as whole projects, {empty}; problem='divisible' (--problem divisible) for parts",
    )


def _note_on_approval(costs: NDArray[np.float64], budget: float) -> tuple[str, ...]:
    """Return a note on the ballots that no budget can have bound, if there are any."""
    n_over = int(np.sum(costs > budget * (1 + MONEY_TOLERANCE)))
    if not n_over:
        return ()
    return (
        f"{VOTES}{n_over:,} of {counted(len(costs), 'ballot')} cost more than the budget of {budget:,.10g}: these are "
        "approval ballots, which no budget bound, and no knapsack votes; read all with budget='spent' "
        "(--budget spent), which takes what a voter approved of as what they could spend",
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


def _read_projects(projects: _Section, wanted: tuple[str, ...], source: str) -> _Projects:
    id_column, cost_column = (_need(projects, name, "PROJECTS", source) for name in ("project_id", "cost"))
    costs: dict[str, float] = {}
    for row in projects.rows:
        project = _cell(row, id_column)
        if not project or project in costs:
            _refuse(source, row.line, f"a project must have an id of its own; received {project!r}", "give it one")
        costs[project] = _number(row, cost_column, f"the cost of project {shown(project)}", source)
    titles = None
    if "name" in projects.header:
        column = projects.header.index("name")
        titles = tuple(
            f"{project} {_cell(row, column)}".strip() for project, row in zip(costs, projects.rows, strict=True)
        )
    return _Projects(costs, titles, _read_features(projects, wanted, source))


def _read_features(projects: _Section, wanted: tuple[str, ...], source: str) -> dict[str, NDArray[np.float64]]:
    """Return, for every word in the lists of some columns, which projects have it."""
    found: dict[str, NDArray[np.float64]] = {}
    for name in wanted:
        if name not in _KINDS:
            raise InvalidArgument(
                f"features of a .pb file must be among {', '.join(_KINDS)}; received {name!r}{nearest(name, _KINDS)}"
            )
        column = _need(projects, name, "PROJECTS", source)
        for i, row in enumerate(projects.rows):
            for word in filter(None, (part.strip() for part in _cell(row, column).split(","))):
                found.setdefault(f"{name} {word}", np.zeros(len(projects.rows)))[i] = 1.0
    return found


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


def _cell(row: _Row, column: int) -> str:
    return row.fields[column] if column < len(row.fields) else ""


def _number(row: _Row, column: int, what: str, source: str) -> float:
    text = _cell(row, column)
    number = parse_number(text)
    if number is None or not np.isfinite(number):
        _refuse(source, row.line, f"{what} must be a number; received {text!r}", "write it with digits and a point")
    return number


def _refuse(source: str, line: int, rule: str, remedy: str) -> NoReturn:
    raise UnreadableData(f"{source}: row {line}: {rule}; {remedy}")
