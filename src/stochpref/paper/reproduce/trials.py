# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Trials of the paper's experiments: one set of data, estimated by one method, scored on new menus.

A trial is named by its cell (setting, law, goods, observations), its number and its method, and depends on that name
and the seed alone: methods meet the same markets, and trials can run in any order, in any process, in any number of
sittings. Finished ones are kept, a line each, in a file that a later run reads.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.errors import InvalidArgument, StochprefError
from stochpref.paper.reproduce.markets import Cell, make_market
from stochpref.paper.reproduce.methods import Method
from stochpref.processes import Lost, run_in_processes

Array = NDArray[np.float64]

TRIALS_FILE: Final = "trials.jsonl"


@dataclass(frozen=True, slots=True)
class Task:
    """One trial of one method.

    n_iterations : K of the paper's algorithms.
    concentration : κ, where it is not to be drawn.
    """

    cell: Cell
    method: Method
    trial: int
    seed: int
    n_iterations: int = 1000
    concentration: float | None = None

    @property
    def name(self) -> str:
        """What identifies the trial in a file of finished ones."""
        own_settings = self.n_iterations if self.method.name == "paper" else self.method.digest or 0
        return json.dumps([*self.cell, self.method.name, self.trial, self.seed, own_settings, self.concentration])


class Outcome(NamedTuple):
    """How a trial went; scores are pooled over trials as Σ reached / Σ best.

    reached, best : value on the new menus by the estimate and by the truth (gaussian), or customers explained.
    ceiling : value reached by the direction of all utilities, were they seen (gaussian), or by u* (corruption).
    one_draw : value reached by a single posterior draw; NaN where there is none.
    angle : between estimate and truth, in radians.
    seconds : spent on the estimate.
    """

    reached: float
    best: float
    ceiling: float
    one_draw: float
    angle: float
    seconds: float


def run_trial(task: Task) -> Outcome:
    """Return the outcome of a trial."""
    market = make_market(task.cell, task.trial, task.seed, task.concentration)
    started = time.perf_counter()
    estimate = task.method.estimate(task.cell.setting, market.observations, task.trial, task.n_iterations)
    seconds = time.perf_counter() - started
    reached = market.value(estimate.utility)
    cosine = float(estimate.utility @ market.truth / np.linalg.norm(estimate.utility))
    return Outcome(
        reached=reached,
        best=market.value(market.truth),
        ceiling=market.value(market.ceiling),
        one_draw=float("nan") if estimate.draw is None else market.value(estimate.draw),
        angle=float(np.arccos(np.clip(cosine, -1.0, 1.0))),
        seconds=seconds,
    )


def run_trials(
    tasks: Iterable[Task],
    *,
    jobs: int = 1,
    folder: Path | None = None,
    report: Callable[[int, int, str], None] | None = None,
) -> dict[str, Outcome]:
    """Return the outcomes of all tasks by name; those a folder already holds are not run again.

    Parameters
    ----------
    jobs : processes, each on one thread.
    folder : where finished trials are kept as they come.
    report : told of tasks done, tasks in all, and in words how many cells are done.
    """
    wanted = {task.name: task for task in tasks}
    path = None if folder is None else folder / TRIALS_FILE
    done = {name: outcome for name, outcome in _finished(path).items() if name in wanted}
    missing = [task for name, task in wanted.items() if name not in done]
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _mend(path)
    left, n_cells = Counter(task.cell for task in missing), len({task.cell for task in wanted.values()})
    for task, outcome in _run_all(missing, jobs):
        done[task.name] = outcome
        if path is not None:
            _append(path, task, outcome)
        left -= Counter([task.cell])  # cells that reach 0 are left out
        if report is not None:
            report(len(done), len(wanted), f"{n_cells - len(left)} of {n_cells} cells")
    return {name: done[name] for name in wanted}


def _run_all(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Outcome]]:
    """Yield tasks and outcomes as they finish; the longest are begun first, so that no process idles at the end."""
    tasks = sorted(tasks, key=lambda task: -task.cell.n_goods * task.cell.n_observations)
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, run_trial(task)
        return
    # A method that a user's script defines is found again only by running the script.
    needs_main = any(getattr(task.method.function, "__module__", "") == "__main__" for task in tasks)
    for number, found in run_in_processes(_attempt, tasks, jobs, needs_main=needs_main):
        if isinstance(found, Lost):
            raise StochprefError(
                f"a trial was lost: {found.reason}; finished ones are kept, and the same command goes on"
            )
        if isinstance(found, Exception):
            raise found
        yield tasks[number], found


def _attempt(task: Task) -> Outcome | Exception:
    """Return what another process is to be told: the outcome, or why there is none."""
    try:
        return run_trial(task)
    except Exception as error:  # raised again where it is heard
        return error


def _append(path: Path, task: Task, outcome: Outcome) -> None:
    said = {field.name: getattr(task, field.name) for field in fields(task)} | {"method": task.method.name}
    line = {"version": __version__, "name": task.name, **said, **outcome._asdict()}
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def _mend(path: Path) -> None:
    """End a line that a killed run left torn, so that the next one starts on its own."""
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n")


def _finished(path: Path | None) -> dict[str, Outcome]:
    """Return the trials of a file that were made with this version; a torn or garbled line is left out."""
    found: dict[str, Outcome] = {}
    if path is None or not path.exists():
        return found
    for line in path.read_bytes().splitlines():
        try:
            content = json.loads(line)
            if content["version"] == __version__:
                found[content["name"]] = Outcome(**{field: float(content[field]) for field in Outcome._fields})
        except (ValueError, KeyError, TypeError):
            continue
    return found


class Score(NamedTuple):
    """A share pooled over trials, in percent, and its standard error."""

    mean: float
    standard_error: float


def pooled(reached: Array, best: Array) -> Score:
    """Return Σ reached / Σ best in percent with its standard error, trials being independent."""
    ratio = float(reached.sum() / best.sum())
    count = len(best)
    spread = reached - ratio * best
    error = float(np.sqrt(count / max(count - 1, 1) * np.sum(spread**2)) / best.sum()) if count > 1 else float("nan")
    return Score(100.0 * ratio, 100.0 * error)


def check_list(values: Iterable[str], allowed: Iterable[str], argument: str) -> list[str]:
    """Return values, each once; there must be some, and all among those allowed."""
    known, chosen = list(allowed), list(dict.fromkeys(values))
    if not chosen:
        raise InvalidArgument(f"{argument} must name one or more of {', '.join(known)}; received none")
    for value in chosen:
        if value not in known:
            raise InvalidArgument(f"{argument} must be among {', '.join(known)}; received {value!r}")
    return chosen
