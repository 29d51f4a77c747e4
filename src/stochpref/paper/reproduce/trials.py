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
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.errors import InvalidArgument, StochprefError
from stochpref.laws import CorruptedUtilityLaw, MenuLaw, VonMisesFisher, simulate, uniform_directions
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.names import MENU_LAWS
from stochpref.observations import Menus, Observations
from stochpref.posterior.results import group
from stochpref.problems.divisible import choose
from stochpref.processes import Lost, run_in_processes
from stochpref.regions import Regions

Array = NDArray[np.float64]

LAWS: Final = {numeral: name for name, numeral in MENU_LAWS.items()}
BOUNDS: Final = (1.0, 10.0)  # of κ in the paper's experiments
CORRUPTION: Final = 0.1
N_SCORED: Final = 2000  # new menus, or new customers, that an estimate is scored on
TRIALS_FILE: Final = "trials.jsonl"


class Cell(NamedTuple):
    """setting : "gaussian" or "corruption"; law : "i", "ii" or "iii"."""

    setting: str
    law: str
    n_goods: int
    n_observations: int


@dataclass(frozen=True, slots=True)
class Task:
    """One trial of one method.

    n_iterations : K of the paper's algorithms.
    concentration : κ, where it is not to be drawn.
    """

    cell: Cell
    method: str
    trial: int
    seed: int
    n_iterations: int = 1000
    concentration: float | None = None

    @property
    def name(self) -> str:
        """What identifies the trial in a file of finished ones."""
        own_settings = self.n_iterations if self.method == "paper" else 0
        return json.dumps([*self.cell, self.method, self.trial, self.seed, own_settings, self.concentration])


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


class TrialData(NamedTuple):
    """What a trial is about: the data, the truth, the mean of the hidden utilities, and what to score on."""

    observations: Observations
    truth: Array
    concentration: float
    hidden_mean: Array
    menus: Menus
    fresh: Observations | None


def make_trial_data(task: Task) -> TrialData:
    """Return the data of a trial, the same for all methods."""
    cell = task.cell
    rng = np.random.default_rng(
        [
            task.seed,
            cell.n_goods,
            cell.n_observations,
            list(LAWS).index(cell.law),
            cell.setting == "gaussian",
            task.trial,
        ]
    )
    law = MenuLaw(LAWS[cell.law])
    truth = uniform_directions(1, cell.n_goods, rng=rng)[0]
    while truth.max() <= 0.0:  # nothing is worth having: accuracy is 0/0
        truth = uniform_directions(1, cell.n_goods, rng=rng)[0]
    kappa = stratified_concentration(task) if task.concentration is None else task.concentration
    if cell.setting == "gaussian":
        utility_law: VonMisesFisher | CorruptedUtilityLaw = VonMisesFisher(truth, kappa)
    else:
        utility_law = CorruptedUtilityLaw(truth, CORRUPTION)
    observations, utilities = simulate(utility_law, law, cell.n_observations, rng=rng, return_utilities=True)
    menus = law.sample(N_SCORED, cell.n_goods, rng=rng)
    fresh = None
    if cell.setting == "corruption":
        drawn = utility_law.sample(N_SCORED, rng=rng)
        fresh = Observations(menus.prices, menus.budgets, choose(drawn, menus.prices, menus.budgets))
    return TrialData(observations, truth, kappa, utilities.mean(axis=0), menus, fresh)


def stratified_concentration(task: Task) -> float:
    """Return κ, spread evenly over its interval by the trials of a cell, however many there will be.

    Trial numbers with their bits reversed (van der Corput) fill the interval evenly; each cell shifts them by a random
    amount, so that κ is uniform.
    """
    share, step, rest = 0.0, 0.5, task.trial
    while rest:
        share, step, rest = share + step * (rest % 2), 0.5 * step, rest // 2
    cell = task.cell
    shift = np.random.default_rng([task.seed, cell.n_goods, cell.n_observations, list(LAWS).index(cell.law)]).random()
    return BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * ((share + shift) % 1.0)


def value_reached(data: TrialData, estimate: Array) -> float:
    """Return the value, or the number of new customers strictly explained, that an estimate reaches."""
    if data.fresh is not None:
        return float(np.sum(Regions.of(data.fresh).contains(estimate, strict=True)))
    bundles = choose(estimate, data.menus.prices, data.menus.budgets)
    return float(np.sum(bundles @ data.truth))


def run_trial(task: Task) -> Outcome:
    """Return the outcome of a trial."""
    data = make_trial_data(task)
    started = time.perf_counter()
    estimate, draw = METHODS[task.cell.setting, task.method](data, task)
    seconds = time.perf_counter() - started
    ceiling = data.truth if data.fresh is not None else data.hidden_mean
    cosine = float(estimate @ data.truth / np.linalg.norm(estimate))
    return Outcome(
        reached=value_reached(data, estimate),
        best=value_reached(data, data.truth),
        ceiling=value_reached(data, ceiling),
        one_draw=float("nan") if draw is None else value_reached(data, draw),
        angle=float(np.arccos(np.clip(cosine, -1.0, 1.0))),
        seconds=seconds,
    )


Estimate = tuple[Array, Array | None]


def _our_posterior(data: TrialData, task: Task) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # Sixty effective draws add one part in sixty to the variance of the posterior mean: more would not be seen.
        model = HeterogeneousUtility(
            BOUNDS, n_chains=2, n_draws=150, n_effective=60, max_draws=400, random_state=task.trial
        ).fit(data.observations)
    return model.mean_direction_, group(model.posterior_, "posterior")["mean_direction"].values[-1, -1]


def _algorithm_1(data: TrialData, task: Task) -> Estimate:
    """Run the paper's posterior sampler: K steps, the last state is the estimate; `metropolis` says what is ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = HeterogeneousUtility(
            BOUNDS, "metropolis", n_chains=1, n_draws=task.n_iterations, n_effective=0, random_state=task.trial
        ).fit(data.observations)
    last = group(model.posterior_, "posterior")["mean_direction"].values[0, -1]
    return last, last


def _our_common(data: TrialData, task: Task) -> Estimate:
    return CommonUtility(random_state=task.trial).fit(data.observations).utility_, None


def _algorithm_2(data: TrialData, task: Task) -> Estimate:
    """Run the paper's annealing: K steps, the last state is the estimate; temperatures and steps are ours."""
    from stochpref.paper.annealing import Annealing  # noqa: PLC0415

    model = CommonUtility(
        solver="annealing", annealing=Annealing(n_steps=task.n_iterations), random_state=task.trial
    ).fit(data.observations)
    assert model.last_utility_ is not None
    return model.last_utility_, None


METHODS: Final[dict[tuple[str, str], Callable[[TrialData, Task], Estimate]]] = {
    ("gaussian", "ours"): _our_posterior,
    ("gaussian", "paper"): _algorithm_1,
    ("corruption", "ours"): _our_common,
    ("corruption", "paper"): _algorithm_2,
}


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
    for number, found in run_in_processes(_attempt, tasks, jobs, needs_main=False):
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
    line = {"version": __version__, "name": task.name, **asdict(task), **outcome._asdict()}
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
