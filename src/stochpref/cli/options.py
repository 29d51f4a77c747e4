# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Options that several commands share, each written once, and records of options that belong together.

A command takes a record as one parameter; `expanding` lets typer see the fields of the record as options of their own,
in its place. What a table of names may hold comes from `stochpref.names`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from stochpref.cli.application import echo
from stochpref.errors import InvalidArgument
from stochpref.names import BUDGETS, LAYOUTS, MODELS, PROBLEMS

if TYPE_CHECKING:
    from stochpref.observations import Menus, Observations
    from stochpref.problems import Problem
    from stochpref.readers import Scan, StoredObservations


def one_of(names: Iterable[str], about: str) -> Any:
    """Return an option that takes one of some names."""
    names = tuple(names)

    def parse(text: str) -> str:
        if text in names:
            return text
        near = difflib.get_close_matches(text, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, names))}.{hint}")

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return typer.Option(help=about, metavar=f"<{'|'.join(names)}>", parser=parse, autocompletion=complete)


def seed_option(what: str) -> Any:
    """Return the option of a seed, from which the same thing comes again."""
    return typer.Option(help=f"The same seed gives the same {what}.", min=0)


def json_option(about: str) -> Any:
    """Return the option of JSON on stdout."""
    return typer.Option("--json", help=about)


FitFolder: TypeAlias = Annotated[Path, typer.Argument(help="A fit that `stochpref fit` wrote.", metavar="FIT")]
Model: TypeAlias = Annotated[
    str, one_of(MODELS, "Customers who differ, segments of them, or one utility and some odd customers.")
]
Spreadsheet: TypeAlias = Annotated[
    bool, typer.Option("--spreadsheet", help="In it, put ' before names that a spreadsheet would run as formulas.")
]
_Layout: TypeAlias = Annotated[
    str, one_of(LAYOUTS, "Long: a row per observation and good. Wide: per observation. Orders: per line of an order.")
]
_Sheet: TypeAlias = Annotated[str | None, typer.Option(help="Of a workbook (.xlsx): the sheet to read.")]
_Column: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Your name for a column, or for several that make a key (observation=id,task), a prefix in wide data, "
        "or a constant; may be repeated.",
        metavar="OURS=YOURS",
    ),
]
_Problem: TypeAlias = Annotated[
    str | None,
    one_of(
        PROBLEMS,
        "What customers solve: goods in part and a budget, whole goods and a budget, one good of several, money to "
        "keep, or goods that satiate. Unless stated whole goods for a .pb file, goods in part for others.",
    ),
]
_Cap: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Largest quantity of a good, unless a column says so; 1, or none for goods that satiate."),
]
_Outside: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Where goods satiate: the good that everybody buys, or rest for what is left of the budget.",
        metavar="NAME",
    ),
]


@dataclass(frozen=True)
class MenuReading:
    """How to read a table of menus."""

    layout: _Layout = "auto"
    column: _Column = None
    cap: _Cap = None
    sheet: _Sheet = None

    def menus(
        self, file: Path, goods: tuple[str, ...], *, needs_budget: bool = True, features: Sequence[str] = ()
    ) -> Menus:
        """Return the menus of a file, over goods, with the features that laws of a fit move with."""
        from stochpref.readers import read_menus  # noqa: PLC0415

        return read_menus(
            file, layout=self.layout, columns=_columns(self.column), caps=self.cap, goods=goods, sheet=self.sheet,
            needs_budget=needs_budget, features=features,
        )  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How to read a table of purchases."""

    layout: _Layout = "auto"
    column: _Column = None
    budget: Annotated[
        str, one_of(BUDGETS, "Read the budget; set it to the money spent; or do so where rounding parts the two.")
    ] = "stated"
    cap: _Cap = None
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that break a rule, and count them.")] = (
        False
    )
    fill_prices: Annotated[
        str | None,
        typer.Option(
            help="Of orders: what they share with those that prices of other goods are taken from.",
            metavar="store,week",
        ),
    ] = None
    fill_within: Annotated[float, typer.Option(help="Of orders: days that such a price may be away.")] = 28.0
    sheet: _Sheet = None
    problem: _Problem = None
    outside: _Outside = None
    units: Annotated[
        list[str] | None,
        typer.Option(help="Split goods into units, each with a worth of its own: 3, or coffee=3; may be repeated."),
    ] = None
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="What tastes may move with: a column (or how wide ones begin) such as promotion or income, or price; "
            "price:good for a coefficient a good; may be repeated. Of a .pb file: category, or target, of projects."
        ),
    ] = None
    choice: Annotated[
        str | None,
        typer.Option(
            help="Where one good was chosen: the column that names it, marks it with 1, or the prefix of such columns.",
            metavar="COLUMN",
        ),
    ] = None
    nonempty: Annotated[
        bool, typer.Option("--nonempty", help="Visits without a purchase were not recorded, as is taken of orders.")
    ] = False

    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="What else a bundle may take at most: items<=3, or weight<=20 with a table of goods; may be repeated.",
            metavar="NAME<=NUMBER",
        ),
    ] = None
    goods_table: Annotated[
        Path | None,
        typer.Option(help="Of --limit: a table with a column good and one for each limit, what a unit takes."),
    ] = None

    def scan(self, files: Sequence[Path], by: str | None = None) -> Scan:
        """Return what files hold, good and bad; `by` is what groups them."""
        from stochpref.readers import scan  # noqa: PLC0415

        return scan(
            files[0] if len(files) == 1 else files,
            layout=self.layout,
            by=by,
            fill_prices=self.fill_prices,
            fill_within=self.fill_within,
            sheet=self.sheet,
            problem=self._solved(),
            units=_units(self.units),
            features=self.feature or (),
            choice=self.choice,
            nonempty=self.nonempty or None,
            limits=self.limit or (),
            goods_table=self.goods_table,
            **self._rules(),
        )

    def accept(self, found: Scan) -> Observations:
        """Return the observations of what a file holds, and tell on stderr how they were read."""
        data = found.accept(skip_bad=self.skip_bad)
        for note in data.notes:
            echo(f"note: {note}", err=True)
        return data

    def folder(self, folder: Path, *, single_precision: bool) -> StoredObservations:
        """Return the observations of a folder of Parquet files, which are not loaded."""
        from stochpref.readers import StoredObservations  # noqa: PLC0415

        if self.problem not in (None, "divisible"):
            raise InvalidArgument(
                f"--problem must be divisible for a folder, which is read in blocks; received {self.problem}; join its "
                "files into one"
            )
        for name in ("outside", "units", "feature", "choice", "nonempty", "limit", "goods_table"):
            if getattr(self, name):
                raise InvalidArgument(f"{option_of(name)} is for files; {folder} is a folder; give one file")
        return StoredObservations(folder, skip_bad=self.skip_bad, single_precision=single_precision, **self._rules())

    def _solved(self) -> str | Problem | None:
        """Return what customers solve, with its outside good."""
        if self.outside is None:
            return self.problem
        if self.problem != "satiated":
            raise InvalidArgument(
                f"--outside is of --problem satiated; received --outside {self.outside} with "
                f"{'no problem' if self.problem is None else f'--problem {self.problem}'}; state --problem satiated"
            )
        from stochpref.problems import Satiated  # noqa: PLC0415

        return Satiated(self.outside)

    def _rules(self) -> dict[str, Any]:
        return {"columns": _columns(self.column), "budget": self.budget, "caps": self.cap}


AsInCheck: TypeAlias = Annotated[Reading, "As in check."]
MenusAsInCheck: TypeAlias = Annotated[MenuReading, "As in check."]


def expanding(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose records have become their fields, and which makes the records of them again.

    A record annotated with a text shows that text as the help of all its options.
    """
    parameters: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        record, *texts = _unwrapped(parameter.annotation)
        if is_dataclass(record):
            records[name] = record
            parameters += _options_of(record, *texts)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, record in records.items():
            given[name] = record(**{field.name: given.pop(field.name) for field in fields(record)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options_of(record: Any, about: str | None = None) -> list[inspect.Parameter]:
    """Return the fields of a record as parameters, with other help if some is given."""
    options = []
    annotations = get_type_hints(record, include_extras=True)
    for field in fields(record):
        kind, option = _unwrapped(annotations[field.name])
        assert isinstance(option, OptionInfo)
        if about is not None:
            option = copy(option)
            option.help = about
        annotation = Annotated[kind, option]  # type: ignore[valid-type]
        options.append(
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation)
        )
    return options


def _unwrapped(annotation: Any) -> tuple[Any, ...]:
    """Return a type, and what an `Annotated` says of it."""
    return get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)


def option_of(field: str) -> str:
    """Return the option that sets a field of a record."""
    return f"--{field.replace('_', '-')}"


def given(record: Any) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    return {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if getattr(record, field.name) != field.default
    }


def _units(assignments: list[str] | None) -> int | dict[str, int]:
    """Return the number of units of all goods, or of some by name."""
    counts: dict[str, int] = {}
    for assignment in assignments or []:
        good, equals, count = assignment.rpartition("=")
        if not count.strip().isdecimal() or (not equals and len(assignments or []) > 1):
            raise InvalidArgument(f"--units must be one number, or GOOD=NUMBER for some goods; received {assignment!r}")
        if not equals:
            return int(count)
        counts[good.strip()] = int(count)
    return counts or 1


def _columns(assignments: list[str] | None) -> dict[str, str]:
    """Return the mapping that options of the form OURS=YOURS spell out."""
    mapping = {}
    for assignment in assignments or []:
        ours, equals, yours = assignment.partition("=")
        if not equals:
            raise InvalidArgument(f"--column must be OURS=YOURS, such as price=cost; received {assignment!r}")
        mapping[ours.strip()] = yours.strip()
    return mapping
