# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands that decide by a saved fit: prices, what to offer, how much to expect, what to fund."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from stochpref.cli.application import app, echo, echo_json, ready_file, split, warnings_to_stderr, wrote
from stochpref.cli.options import FitFolder, MenuReading, MenusAsInCheck, Reading, expanding, json_option, one_of
from stochpref.errors import InvalidArgument, counted
from stochpref.names import FUNDING_RULES, ROW_SUFFIXES

if TYPE_CHECKING:
    from stochpref.models.fit import Fit
    from stochpref.observations import Menus, Observations
    from stochpref.result import Result

_Out: TypeAlias = Annotated[Path | None, typer.Option(help=f"Write the table: {', '.join(ROW_SUFFIXES)}.")]
_Json: TypeAlias = Annotated[bool, json_option("Print JSON instead of a table.")]
_Level: TypeAlias = Annotated[float, typer.Option(help="Of the intervals.")]
_COSTS = "What a unit of each good costs you: a table with columns good and cost."
_Costs: TypeAlias = Annotated[Path | None, typer.Option(help=_COSTS)]
_ReadingHeldOut: TypeAlias = Annotated[Reading, "As in check, of --held-out."]


@app.command()
@expanding
def price(
    folder: FitFolder,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Today's prices, as predict reads menus; those customers saw if left out.", metavar="MENUS"
        ),
    ] = None,
    *,
    costs: Annotated[
        Path, typer.Option(help="What a unit of each good costs you: a table with columns good and cost.")
    ],
    bounds: Annotated[
        Path | None,
        typer.Option(
            help="What prices may be: columns good, lowest, highest and, if there is one, margin, the least share of "
            "the price to keep. Empty, or a good left out: as observed."
        ),
    ] = None,
    ladder: Annotated[
        list[str] | None,
        typer.Option(
            help="Prices end in .99 (.x9: any 9), come in steps (0.05), or are some (1,1.5,2); also GOOD=…, repeated.",
            metavar=".99",
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(help="Goods whose prices must not fall; may be repeated.", metavar="SMALL<LARGE"),
    ] = None,
    max_changes: Annotated[int | None, typer.Option(help="Of today's prices, at most.", min=1)] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="Purchases that had no say in the fit, by which the gain is judged.")
    ] = None,
    extrapolate: Annotated[bool, typer.Option("--extrapolate", help="Allow bounds beyond observed prices.")] = False,
    level: _Level = 0.9,
    out: _Out = None,
    reading: _ReadingHeldOut,
    as_json: _Json = False,
) -> None:
    """Find the prices of highest expected profit, what they gain, and how sure that is.

    Needs a fit in which customers may keep their money: `stochpref fit --problem open`.

    \b
    Examples:
      stochpref price fit/ --costs costs.csv --out prices.csv
      stochpref price fit/ --costs costs.csv --bounds bounds.csv --ladder .99 --max-changes 3 \\
                           --held-out later.csv --out prices.csv
    """  # noqa: D301
    fitted = _opened(folder, out, costs, bounds, held_out, file)
    with warnings_to_stderr():
        found = fitted.best_prices(
            _menus(MenuReading(), file, fitted), costs=costs_of(costs), bounds=_bounds_of(bounds),
            ladder=_ladder(ladder), order=order, max_changes=max_changes,
            held_out=_purchases(reading, held_out, fitted), extrapolate=extrapolate, level=level,
        )  # fmt: skip
    _show(found, out, as_json)


@app.command()
@expanding
def assortment(
    folder: FitFolder,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="What could be offered, with budgets, as predict reads menus; what customers saw if left out.",
            metavar="MENUS",
        ),
    ] = None,
    *,
    size: Annotated[int | None, typer.Option(help="Goods on offer, at most.", min=1)] = None,
    costs: _Costs = None,
    prices: Annotated[Path | None, typer.Option(help="Of the goods: columns good and price.")] = None,
    out: _Out = None,
    reading: MenusAsInCheck,
    as_json: _Json = False,
) -> None:
    """Find which goods to offer: those of highest expected profit, or of highest revenue without costs.

    \b
    Examples:
      stochpref assortment fit/ menus.csv --size 5 --costs costs.csv
      stochpref assortment fit/ --prices prices.csv
    """  # noqa: D301
    fitted = _opened(folder, out, costs, prices, file)
    asked = None if prices is None else _by_good(prices, "price")
    with warnings_to_stderr():
        found = fitted.best_assortment(
            _menus(reading, file, fitted), size=size, costs=costs_of(costs), prices=asked
        )  # fmt: skip
    _show(found, out, as_json)


@app.command()
@expanding
def forecast(
    folder: FitFolder,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="What they will face, as predict reads menus; what customers saw if left out.", metavar="MENUS"
        ),
    ] = None,
    *,
    customers: Annotated[int, typer.Option(help="Purchases to come.", min=1)],
    costs: _Costs = None,
    by_customer: Annotated[
        bool, typer.Option("--by-customer", help="Customers come again, as in the data, and buy alike.")
    ] = False,
    level: _Level = 0.9,
    out: _Out = None,
    reading: MenusAsInCheck,
    as_json: _Json = False,
) -> None:
    """Forecast totals: what so many customers will buy, with intervals that hold their luck.

    \b
    Examples:
      stochpref forecast fit/ menus.csv --customers 1000
      stochpref forecast fit/ --customers 250 --costs costs.csv --by-customer --out totals.csv
    """  # noqa: D301
    fitted = _opened(folder, out, costs, file)
    with warnings_to_stderr():
        found = fitted.forecast(
            _menus(reading, file, fitted), customers, level=level, by_customer=by_customer, costs=costs_of(costs)
        )  # fmt: skip
    _show(found, out, as_json)


@app.command()
def fund(
    folder: FitFolder,
    costs: Annotated[
        Path | None, typer.Option(help="Of the projects: columns good and cost; what voters saw if left out.")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Of the city; that of voters if left out.")] = None,
    rule: Annotated[
        str, one_of(FUNDING_RULES, "Most support in all that the budget covers, or in falling order of support.")
    ] = "demand",
    out: _Out = None,
    as_json: _Json = False,
) -> None:
    """Find which projects a city funds by what voters support, and how sure that is.

    \b
    Examples:
      stochpref fund fit/
      stochpref fund fit/ --budget 2000000 --costs costs.csv --rule greedy
    """  # noqa: D301
    fitted = _opened(folder, out, costs)
    with warnings_to_stderr():
        found = fitted.fund(costs_of(costs), budget, rule=rule)
    _show(found, out, as_json)


def costs_of(file: Path | None) -> dict[str, float] | None:
    """Return what a unit of each good costs, from a table."""
    return None if file is None else _by_good(file, "cost")


def _by_good(file: Path, column: str) -> dict[str, float]:
    from stochpref.readers.by_good import read_by_good  # noqa: PLC0415

    return {good: values[0] for good, values in read_by_good(file, (column,)).items()}


def _bounds_of(file: Path | None) -> Any:
    from stochpref.readers.by_good import read_by_good  # noqa: PLC0415

    return "observed" if file is None else read_by_good(file, ("lowest", "highest"), ("margin",))


def _opened(folder: Path, out: Path | None, *sources: Path | None) -> Fit:
    """Return a saved fit, after what is to be written was found to be possible."""
    from stochpref.models import load_fit  # noqa: PLC0415
    from stochpref.readers.writing import check_rows_suffix  # noqa: PLC0415

    if out is not None:
        ready_file(out, suffixes=ROW_SUFFIXES, sources=[folder, *(source for source in sources if source is not None)])
        check_rows_suffix(out)
    return load_fit(folder)


def _menus(reading: MenuReading, file: Path | None, fitted: Fit) -> Menus | None:
    return (
        None
        if file is None
        else reading.menus(
            file, fitted.goods_, needs_budget=fitted.problem_.needs_budget, features=fitted.needed_features
        )
    )


def _purchases(reading: Reading, file: Path | None, fitted: Fit) -> Observations | None:
    """Return purchases held out, of the problem of the fit unless another is stated."""
    if file is None:
        return None
    stated = replace(reading, problem=reading.problem or fitted.problem_.name)
    return stated.accept(stated.scan([file]))


def _ladder(texts: list[str] | None) -> Any:
    """Return a ladder for all goods, or one for some by name."""
    found: dict[str, Any] = {}
    for text in texts or []:
        good, equals, own = text.rpartition("=")
        if not equals and len(texts or []) > 1:
            raise InvalidArgument(f"--ladder must be one for all goods, or GOOD=LADDER for some; received {text!r}")
        if not equals:
            return _rungs(own)
        found[good.strip()] = _rungs(own)
    return found or None


def _rungs(text: str) -> Any:
    """Return an ending as it is, numbers as a step or as the prices there are."""
    parts = split(text)
    if text.strip().startswith(".") and len(parts) == 1:
        return text.strip()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InvalidArgument(f"--ladder must be an ending, a step or prices: .99, 0.05 or 1,1.5,2; received {text!r}")
    return numbers[0] if len(numbers) == 1 else numbers


def _show(found: Result, out: Path | None, as_json: bool) -> None:
    """Print what was decided, and write its table."""
    from stochpref.readers.writing import write_rows  # noqa: PLC0415

    if as_json:
        echo_json(found.as_dict())
    else:
        echo(found)
    if out is not None:
        rows = found.records()
        write_rows(out, [list(rows[0]), *([*row.values()] for row in rows)])
        wrote(out, counted(len(rows), "row"))
