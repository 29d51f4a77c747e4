# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands that repeat the paper's experiments: its table, and two figures made of the same trials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stochpref.cli.application import ready_folder, split
from stochpref.cli.options import one_of
from stochpref.cli.reproducing import Json, Seed, drawn, reproduce, show
from stochpref.errors import InvalidArgument
from stochpref.names import EXHIBIT_METHODS, EXHIBIT_SETTINGS

if TYPE_CHECKING:
    from stochpref.paper.reproduce.markets import Cell
    from stochpref.paper.reproduce.table1 import Table1

_BOTH = "both"
_Laws: TypeAlias = Annotated[str, typer.Option(help="Laws of menus, separated by commas.")]
_Goods: TypeAlias = Annotated[str, typer.Option(help="Numbers of goods, separated by commas.")]
_Sizes: TypeAlias = Annotated[str, typer.Option(help="Sizes T, separated by commas.")]
_Trials: TypeAlias = Annotated[int, typer.Option(help="Markets a cell.", min=2)]
_Method: TypeAlias = Annotated[str, one_of((*EXHIBIT_METHODS, _BOTH), "The paper's algorithms, ours, or both.")]
_Methods: TypeAlias = Annotated[
    str,
    typer.Option(
        help="paper, ours, both, or your own estimator as module:function, of observations and a seed, which returns a "
        "utility; several are separated by commas.",
        metavar="METHODS",
    ),
]
_Iterations: TypeAlias = Annotated[int, typer.Option(help="K of the paper's algorithms.", min=1)]
_Jobs: TypeAlias = Annotated[int, typer.Option(help="Processes.", min=1)]
_Out: TypeAlias = Annotated[Path, typer.Option(help="Folder for results; finished trials there are not run again.")]


@reproduce.command()
def table1(
    setting: Annotated[str, one_of((*EXHIBIT_SETTINGS, _BOTH), "Which half of the table.")] = _BOTH,
    laws: _Laws = "i,ii,iii",
    goods: _Goods = "3,5,10,25",
    observations: _Sizes = "1000",
    trials: _Trials = 20,
    method: _Methods = _BOTH,
    iterations: _Iterations = 1000,
    seed: Seed = 0,
    jobs: _Jobs = 2,
    out: _Out = Path("table1"),
    as_json: Json = False,
) -> None:
    """Repeat the paper's Table 1: its algorithms, ours, yours, and the ceiling, with standard errors.

    Trials are kept as they finish; a run that was stopped goes on where it was when given the same command. A function
    of yours, def guess(observations, seed): ... in mine.py, meets the same markets as --method mine:guess.

    \b
    Examples:
      stochpref reproduce table1
      stochpref reproduce table1 --setting corruption --goods 10,25 --trials 5 --method ours
      stochpref reproduce table1 --observations 200,1000,5000 --method ours --out sizes/
      stochpref reproduce table1 --goods 10 --method ours,mine:guess
    """  # noqa: D301
    from stochpref.paper.reproduce.markets import LAWS, Cell  # noqa: PLC0415
    from stochpref.paper.reproduce.trials import check_list  # noqa: PLC0415

    settings = EXHIBIT_SETTINGS if setting == _BOTH else (setting,)
    cells = [
        Cell(part, law, n, size)
        for part in settings
        for law in check_list(split(laws), LAWS, "--laws")
        for n in _numbers(goods, "--goods", 2)
        for size in _numbers(observations, "--observations", 1)
    ]
    _run_cells("table1", cells, method, trials, iterations, seed, jobs, out, as_json)


@reproduce.command()
def figure3(
    law: Annotated[str, typer.Option(help="Law of menus.")] = "i",
    goods: _Goods = "3,5,10,25,50,100",
    observations: Annotated[int, typer.Option(help="Size T.", min=1)] = 1000,
    trials: _Trials = 10,
    method: _Method = _BOTH,
    iterations: _Iterations = 1000,
    seed: Seed = 0,
    jobs: _Jobs = 2,
    out: _Out = Path("figures"),
    as_json: Json = False,
) -> None:
    """Draw accuracy against the number of goods: published, the paper's algorithms, ours, the ceiling.

    \b
    Example:
      stochpref reproduce figure3 --out figures/
    """  # noqa: D301
    from stochpref.paper.reproduce import figure3 as exhibit  # noqa: PLC0415
    from stochpref.paper.reproduce.markets import LAWS, Cell  # noqa: PLC0415
    from stochpref.paper.reproduce.trials import check_list  # noqa: PLC0415

    (name,) = check_list([law], LAWS, "--law")
    cells = [Cell(part, name, n, observations) for part in EXHIBIT_SETTINGS for n in _numbers(goods, "--goods", 2)]
    table = _run_cells("figure3", cells, method, trials, iterations, seed, jobs, out, as_json)
    exhibit.write(out, table.cells)
    drawn(out, "figure3", seed)


@reproduce.command()
def figure4(
    goods: Annotated[int, typer.Option(help="Number of goods.", min=2)] = 5,
    laws: _Laws = "i,ii,iii",
    observations: _Sizes = "100,200,500,1000,2000,5000",
    trials: _Trials = 20,
    seed: Seed = 0,
    jobs: _Jobs = 2,
    out: _Out = Path("figures"),
    as_json: Json = False,
) -> None:
    """Draw error against the number of observations, with the fitted rate beside the theorem's.

    \b
    Example:
      stochpref reproduce figure4 --out figures/
    """  # noqa: D301
    from stochpref.models.shared import progress  # noqa: PLC0415
    from stochpref.paper.reproduce import figure4 as exhibit  # noqa: PLC0415
    from stochpref.paper.reproduce.markets import LAWS  # noqa: PLC0415
    from stochpref.paper.reproduce.trials import check_list  # noqa: PLC0415

    names = check_list(split(laws), LAWS, "--laws")
    sizes = tuple(_numbers(observations, "--observations", 1))
    ready_folder(out)
    with progress(True, "figure4") as report:
        curves = exhibit.run(goods, names, sizes, n_trials=trials, seed=seed, jobs=jobs, folder=out, report=report)
    show({"seed": seed, **exhibit.as_dict(curves)}, exhibit.as_text(curves), as_json, out, "figure4")
    exhibit.write(out, curves)
    drawn(out, "figure4", seed)


def _run_cells(
    name: str, cells: list[Cell], method: str, trials: int, iterations: int, seed: int, jobs: int, out: Path,
    as_json: bool,
) -> Table1:  # fmt: skip
    """Run the trials of cells, print the table they make and keep it under a name."""
    from stochpref.models.shared import progress  # noqa: PLC0415
    from stochpref.paper.reproduce import table1 as exhibit  # noqa: PLC0415
    from stochpref.paper.reproduce.methods import methods_of  # noqa: PLC0415

    named = [name for part in split(method) for name in (EXHIBIT_METHODS if part == _BOTH else (part,))]
    methods = methods_of(named, "--method")
    ready_folder(out)
    with progress(True, name) as report:
        table = exhibit.run(
            cells, methods, n_trials=trials, n_iterations=iterations, seed=seed, jobs=jobs, folder=out, report=report
        )
    content = {"seed": seed, "iterations": iterations, **table.as_dict()}
    show(content, str(table), as_json, out, name)
    return table


def _numbers(text: str, option: str, least: int) -> list[int]:
    """Return the numbers that commas separate, each once."""
    parts = split(text)
    if not parts or not all(part.isascii() and part.isdecimal() and int(part) >= least for part in parts):
        raise InvalidArgument(f"{option} must be whole numbers from {least}, separated by commas; received {text!r}")
    return list(dict.fromkeys(map(int, parts)))
