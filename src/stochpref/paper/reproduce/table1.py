# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Table 1 of the paper: predictive accuracy in 24 cells, its algorithms, ours, and the ceiling.

The paper does not state T; see the register for how accuracy is read. In the Gaussian setting the ceiling is what
seeing every utility would give; in the corruption setting it is the true utility itself.

Accuracy near 100 hides what is left to gain, so the regret of the smaller Gaussian cells is pooled and set beside the
ceiling's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from stochpref.checks import check_count
from stochpref.errors import shown
from stochpref.names import EXHIBIT_METHODS, EXHIBIT_SETTINGS
from stochpref.paper.reproduce.markets import LAWS, Cell
from stochpref.paper.reproduce.methods import Brought, Method, methods_of
from stochpref.paper.reproduce.trials import Outcome, Task, check_list, pooled, run_trials
from stochpref.result import Result

N_GOODS: Final = (3, 5, 10, 25)
N_GOODS_OF_REGRET: Final = 10  # at most; beyond, accuracy itself tells methods apart
PUBLISHED: Final[dict[tuple[str, str], dict[int, float]]] = {
    ("gaussian", "i"): {3: 99.9, 5: 99.9, 10: 98.8, 25: 59.9},
    ("gaussian", "ii"): {3: 99.9, 5: 99.3, 10: 96.9, 25: 56.9},
    ("gaussian", "iii"): {3: 99.9, 5: 94.8, 10: 92.6, 25: 68.5},
    ("corruption", "i"): {3: 99.9, 5: 96.7, 10: 96.0, 25: 55.7},
    ("corruption", "ii"): {3: 99.6, 5: 97.9, 10: 97.6, 25: 63.1},
    ("corruption", "iii"): {3: 99.9, 5: 98.7, 10: 87.1, 25: 58.7},
}


class TableCell(NamedTuple):
    """A row of the result, in percent.

    paper : the published figure, None beyond the published table.
    ceiling : pooled like `mean`.
    one_draw : of a single posterior draw; None where there is none.
    seconds : a trial, on average.
    """

    setting: str
    law: str
    n_goods: int
    n_observations: int
    method: str
    mean: float
    standard_error: float
    paper: float | None
    ceiling: float
    one_draw: float | None
    seconds: float
    n_trials: int


class Regret(NamedTuple):
    """What is lost of the best value, pooled over the Gaussian cells of one T with few goods.

    laws, goods : of the cells pooled.
    ours, ceiling : in percent of the best value.
    ratio : of ours to the ceiling's; None where the ceiling loses nothing.
    ratio_error : its standard error; None where there is no ratio or a cell has a single trial.
    worst_share : percent of our regret that the worst trial brings; None where there is no regret.
    ratio_without_worst : the ratio with that trial left out; None where nothing is left to divide by.
    lossless_share : percent of trials in which we lose nothing.
    """

    n_observations: int
    laws: list[str]
    goods: list[int]
    ours: float
    ceiling: float
    ratio: float | None
    ratio_error: float | None
    worst_share: float | None
    ratio_without_worst: float | None
    lossless_share: float
    n_trials: int


@dataclass(frozen=True, slots=True, repr=False)
class Table1(Result):
    """The table; print it, or read its fields.

    cells : a row for each cell and method.
    regrets : one for each T, none without our method.
    """

    cells: list[TableCell]
    regrets: list[Regret]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        return {
            "cells": [cell._asdict() for cell in self.cells],
            "regret": [regret._asdict() for regret in self.regrets],
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each cell and method."""
        return [cell._asdict() for cell in self.cells]

    def __str__(self) -> str:
        """Return a line for each cell: every method beside the published figure and the ceiling."""
        by_cell: dict[tuple[str, str, int, int], dict[str, TableCell]] = {}
        for row in self.cells:
            by_cell.setdefault(row[:4], {})[row.method] = row
        brought = dict.fromkeys(row.method for row in self.cells if row.method not in EXHIBIT_METHODS)
        columns = (*EXHIBIT_METHODS, *brought)
        headings = ("its algorithm", "ours", *map(shown, brought))
        rows: list[tuple[str, ...]] = [("setting", "law", "n", "T", "published", *headings, "ceiling")]
        for (setting, law, n, size), methods in by_cell.items():
            some = next(iter(methods.values()))
            published = "—" if some.paper is None else f"{some.paper:.1f}"
            entries = (_entry(methods.get(method)) for method in columns)
            rows.append((setting, law, str(n), str(size), published, *entries, f"{some.ceiling:.2f}"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        sides = ["<", "<", *">>>", *"<" * len(columns), ">"]
        lines = ["Accuracy in percent ± standard error, pooled over trials (seconds a trial on one core)"]
        for texts in rows:
            padded = [f"{text:{side}{width}}" for text, side, width in zip(texts, sides, widths, strict=True)]
            lines.append("  ".join(padded))
        return "\n".join(lines + [_regret_line(regret) for regret in self.regrets])


def reproduce_table1(
    methods: Iterable[str | Brought] = EXHIBIT_METHODS,
    *,
    settings: Iterable[str] = EXHIBIT_SETTINGS,
    laws: Iterable[str] = tuple(LAWS),
    goods: Iterable[int] = N_GOODS,
    observations: Iterable[int] = (1000,),
    n_trials: int = 20,
    n_iterations: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    folder: str | Path | None = None,
) -> Table1:
    """Return the paper's Table 1 for any methods, all on the same markets.

    Parameters
    ----------
    methods : "paper" (its algorithms), "ours", functions of observations and a seed that return a utility (n,), or
        "module:function".
    settings, laws, goods, observations : cells of the table: "gaussian" and "corruption"; "i", "ii", "iii"; n; T.
    n_trials : markets a cell, two or more.
    n_iterations : K of the paper's algorithms.
    seed : of the markets.
    jobs : processes; functions must then be importable, from a module or from a script that guards what it runs.
    folder : where finished trials are kept, and not run again; those of a file that changed are.
    """
    check_count(n_trials, "n_trials", 2)
    check_count(n_iterations, "n_iterations", 1)
    check_count(seed, "seed", 0)
    check_count(jobs, "jobs", 1)
    kinds, numerals = check_list(settings, EXHIBIT_SETTINGS, "settings"), check_list(laws, LAWS, "laws")
    numbers, sizes = list(goods), list(observations)
    for n in numbers:
        check_count(n, "goods", 2)
    for size in sizes:
        check_count(size, "observations", 1)
    cells = [Cell(kind, law, n, size) for kind in kinds for law in numerals for n in numbers for size in sizes]
    return run(
        cells, methods_of(methods, "methods"), n_trials=n_trials, n_iterations=n_iterations, seed=seed, jobs=jobs,
        folder=None if folder is None else Path(folder),
    )  # fmt: skip


def run(
    cells: list[Cell],
    methods: list[Method],
    *,
    n_trials: int,
    n_iterations: int,
    seed: int,
    jobs: int,
    folder: Path | None = None,
    report: Callable[[int, int, str], None] | None = None,
) -> Table1:
    """Run all trials of the cells and return the table."""
    tasks = {
        (cell, method.name): [Task(cell, method, trial, seed, n_iterations) for trial in range(n_trials)]
        for cell in cells
        for method in methods
    }
    outcomes = run_trials([task for group in tasks.values() for task in group], jobs=jobs, folder=folder, report=report)
    by_cell = {key: [outcomes[task.name] for task in group] for key, group in tasks.items()}
    return Table1(
        [_summarise(cell, method, group) for (cell, method), group in by_cell.items()],
        pool_regret({cell: group for (cell, method), group in by_cell.items() if method == "ours"}),
    )


def _summarise(cell: Cell, method: str, outcomes: list[Outcome]) -> TableCell:
    reached, best, ceiling, one_draw = (
        np.array([getattr(outcome, name) for outcome in outcomes])
        for name in ("reached", "best", "ceiling", "one_draw")
    )
    score = pooled(reached, best)
    return TableCell(
        *cell,
        method=method,
        mean=score.mean,
        standard_error=score.standard_error,
        paper=PUBLISHED[cell.setting, cell.law].get(cell.n_goods),
        ceiling=pooled(ceiling, best).mean,
        one_draw=None if np.isnan(one_draw).any() else pooled(one_draw, best).mean,
        seconds=float(np.mean([outcome.seconds for outcome in outcomes])),
        n_trials=len(outcomes),
    )


def pool_regret(outcomes: dict[Cell, list[Outcome]]) -> list[Regret]:
    """Return the regret of our trials, pooled over the Gaussian cells of each T with at most ten goods."""
    by_size: dict[int, dict[Cell, list[Outcome]]] = {}
    for cell, group in outcomes.items():
        if cell.setting == "gaussian" and cell.n_goods <= N_GOODS_OF_REGRET:
            by_size.setdefault(cell.n_observations, {})[cell] = group
    return [_regret(size, cells) for size, cells in by_size.items()]


def _regret(size: int, cells: dict[Cell, list[Outcome]]) -> Regret:
    lost = [np.array([[one.best - one.reached, one.best - one.ceiling] for one in group]) for group in cells.values()]
    trials = np.concatenate(lost)
    ours, ceiling = trials.sum(axis=0)
    worst = trials[np.argmax(trials[:, 0])]
    best = sum(one.best for group in cells.values() for one in group)
    ratio = error = None
    if ceiling > 0.0:
        ratio = float(ours / ceiling)
        # Linearised, the ratio errs by Σ (ours − ratio·ceiling) / Σ ceiling; trials are independent, cells are fixed.
        spread = [group @ (1.0, -ratio) for group in lost]
        if min(map(len, spread)) > 1:
            error = float(np.sqrt(sum(len(part) * part.var(ddof=1) for part in spread)) / ceiling)
    return Regret(
        size,
        laws=sorted({cell.law for cell in cells}),
        goods=sorted({cell.n_goods for cell in cells}),
        ours=float(100.0 * ours / best),
        ceiling=float(100.0 * ceiling / best),
        ratio=ratio,
        ratio_error=error,
        worst_share=float(100.0 * worst[0] / ours) if ours > 0.0 else None,
        ratio_without_worst=float((ours - worst[0]) / (ceiling - worst[1])) if ceiling > worst[1] else None,
        lossless_share=float(100.0 * np.mean(trials[:, 0] <= 0.0)),
        n_trials=len(trials),
    )


def _entry(cell: TableCell | None) -> str:
    return "—" if cell is None else f"{cell.mean:.2f} ± {cell.standard_error:.2f} ({cell.seconds:.1f} s)"


def _regret_line(regret: Regret) -> str:
    laws, goods = ", ".join(regret.laws), ", ".join(map(str, regret.goods))
    text = f"Regret, gaussian, T = {regret.n_observations}, laws {laws} and n = {goods} pooled: "
    text += f"ours {regret.ours:.3f} %, ceiling {regret.ceiling:.3f} %"
    if regret.ratio is not None:
        text += f", ratio {regret.ratio:.2f}"
    if regret.ratio_error is not None:
        text += f" ± {regret.ratio_error:.2f}"
    if regret.worst_share is not None:
        text += f"; one trial of {regret.n_trials} brings {regret.worst_share:.0f} % of ours"
    if regret.ratio is not None and regret.ratio_without_worst is not None:
        text += f", without it the ratio is {regret.ratio_without_worst:.2f}"
    return text + f"; {regret.lossless_share:.0f} % of trials lose nothing"
