# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Table 1 of the paper: predictive accuracy in 24 cells, its algorithms as written, ours, and the ceiling.

The paper does not state T; see the register for how accuracy is read. In the Gaussian setting the ceiling is what
seeing every utility would give; in the corruption setting it is the true utility itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from stochpref.reproduce.trials import Cell, Outcome, Task, pooled, run_trials

SETTINGS: Final = ("gaussian", "corruption")
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


def run(
    cells: list[Cell],
    methods: list[str],
    *,
    n_trials: int,
    n_iterations: int,
    seed: int,
    jobs: int,
    folder: Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[TableCell]:
    """Run all trials of the cells and return the table."""
    tasks = {
        (cell, method): [Task(cell, method, trial, seed, n_iterations) for trial in range(n_trials)]
        for cell in cells
        for method in methods
    }
    outcomes = run_trials([task for group in tasks.values() for task in group], jobs=jobs, folder=folder, report=report)
    return [
        _summarise(cell, method, [outcomes[task.name] for task in group]) for (cell, method), group in tasks.items()
    ]


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


def as_dict(table: list[TableCell]) -> dict[str, Any]:
    """Return the table as JSON can hold it."""
    return {"cells": [cell._asdict() for cell in table]}


def as_text(table: list[TableCell]) -> str:
    """Return the table as text: a line per cell, both methods beside the published figure and the ceiling."""
    by_cell: dict[tuple[str, str, int, int], dict[str, TableCell]] = {}
    for row in table:
        by_cell.setdefault(row[:4], {})[row.method] = row
    lines = [
        "Accuracy in percent ± standard error, pooled over trials (seconds a trial on one core)",
        f"{'setting':<11}{'law':<5}{'n':>4}{'T':>7}{'published':>11}  {'its algorithm':<22}{'ours':<22}{'ceiling':>8}",
    ]
    for (setting, law, n, size), methods in by_cell.items():
        some = next(iter(methods.values()))
        published = "—" if some.paper is None else f"{some.paper:.1f}"
        shown = [_entry(methods.get(method)) for method in ("paper", "ours")]
        lines.append(
            f"{setting:<11}{law:<5}{n:>4}{size:>7}{published:>11}  {shown[0]:<22}{shown[1]:<22}{some.ceiling:>8.2f}"
        )
    return "\n".join(lines)


def _entry(cell: TableCell | None) -> str:
    return "—" if cell is None else f"{cell.mean:.2f} ± {cell.standard_error:.2f} ({cell.seconds:.1f} s)"
