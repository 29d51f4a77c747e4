# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The one loop that runs every sampler: warm up, draw, look, draw on until enough, and lose nothing on the way.

After the draws asked for, chains are diagnosed and extended until they agree and have the effective draws wanted. When
to look next depends on the draws alone, so a run that was stopped and resumed takes the same decisions as one that was
not. The first Ctrl-C lets the current step end, as SIGTERM does; a second one breaks it off.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count
from stochpref.errors import InvalidArgument
from stochpref.posterior.checkpoints import Checkpoint, read_checkpoint, state_in, write_checkpoint
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.target import Sampler

Array = NDArray[np.float64]
ReportFn = Callable[[int, int, str], None]
DiagnoseFn = Callable[["Draws"], Diagnostics]

_CHECKPOINT_SECONDS: Final = 30.0
_GROWTH: Final = 2.0  # chains never more than double between two looks


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to draw.

    n_chains, n_draws : chains, and draws of each before the first look.
    n_effective : draw on until every quantity has this many effective draws; 0 to stop at n_draws.
    max_draws : of each chain, at most.
    max_seconds : stop after the step during which this much time is spent; None for no limit.
    checkpoint : file to keep the run in until it has enough draws, and to resume it from; None for none.
    """

    n_chains: int = 4
    n_draws: int = 1000
    n_effective: int = 400
    max_draws: int = 50_000
    max_seconds: float | None = None
    checkpoint: Path | None = None

    @classmethod
    def checked(
        cls,
        n_chains: int,
        n_draws: int,
        n_effective: int,
        max_draws: int,
        max_seconds: float | None,
        checkpoint: str | Path | None,
    ) -> Plan:
        """Return the plan of a user's numbers, each a number that makes sense."""
        if max_seconds is not None and not (isinstance(max_seconds, int | float) and 0 < max_seconds < math.inf):
            raise InvalidArgument(f"max_seconds must be a positive number or None; received {max_seconds!r}")
        return cls(
            check_count(n_chains, "n_chains", 1),
            check_count(n_draws, "n_draws", 1),
            check_count(n_effective, "n_effective", 0),
            check_count(max_draws, "max_draws", 1),
            None if max_seconds is None else float(max_seconds),
            None if checkpoint is None else Path(checkpoint),
        )


class Draws(NamedTuple):
    """What the chains have drawn after warm-up.

    parameters : name -> (chains, draws, …), as the law names them.
    statistics : name -> (chains, draws).
    """

    parameters: dict[str, Array]
    statistics: dict[str, Array]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws of each."""
        n_chains, n_draws, *_ = next(iter(self.parameters.values())).shape
        return n_chains, n_draws


class Run(NamedTuple):
    """A finished run.

    status : "enough" effective draws; "max_draws", "max_seconds" or "interrupted" if it stopped before that; "hopeless"
        where importance weights say that more draws would not help.
    seconds : spent in this process.
    n_steps : of every chain, warm-up included.
    """

    draws: Draws
    diagnostics: Diagnostics
    status: str
    seconds: float
    n_steps: int


@dataclass
class _Record:
    """Draws so far, in arrays that double when full."""

    n: int = 0
    parameters: dict[str, Array] = field(default_factory=dict)
    statistics: dict[str, Array] = field(default_factory=dict)

    def append(self, parameters: dict[str, Array], statistics: dict[str, Array]) -> None:
        for arrays, drawn in ((self.parameters, parameters), (self.statistics, statistics)):
            for name, values in drawn.items():
                if name not in arrays:
                    arrays[name] = np.empty((len(values), 256, *np.shape(values)[1:]))
                if self.n == arrays[name].shape[1]:
                    arrays[name] = np.concatenate([arrays[name], np.empty_like(arrays[name])], axis=1)
                arrays[name][:, self.n] = values
        self.n += 1

    def draws(self) -> Draws:
        parts = (self.parameters, self.statistics)
        return Draws(*({name: values[:, : self.n] for name, values in arrays.items()} for arrays in parts))


def run_chains(
    sampler: Sampler,
    plan: Plan,
    *,
    fingerprint: dict[str, Any],
    reason: str = "",
    report: ReportFn | None = None,
    diagnose_fn: DiagnoseFn | None = None,
) -> Run:
    """Return the draws of a sampler.

    Parameters
    ----------
    fingerprint : all that decides the draws beside the sampler; a checkpoint made under another one is refused.
    reason : why this sampler; kept in the checkpoint.
    report : told of every step: draws done, draws planned, a word on what is going on.
    diagnose_fn : draws -> diagnostics, where the usual ones do not apply.

    Raises
    ------
    KeyboardInterrupt : before the first draw was kept; a checkpoint, if asked for, is there to resume from.
    """
    diagnose_fn = diagnose_fn or (lambda draws: diagnose(draws.parameters))
    started = last_saved = time.monotonic()
    state, iteration, record, goal = _resume(plan, fingerprint, sampler)
    status, found = "", None
    about = (sampler.name, sampler.revision, reason, fingerprint)
    with _interruptible() as interrupted:
        while not status:
            while record.n < goal and not interrupted.is_set() and not _is_late(plan, started):
                state, info = sampler.step(state, iteration)
                if iteration >= sampler.n_warmup:
                    record.append(sampler.parameters(state), info.statistics)
                iteration += 1
                if report is not None:
                    warming = iteration <= sampler.n_warmup
                    report(record.n, goal, f"warm-up {iteration} of {sampler.n_warmup}" if warming else "drawing")
                if plan.checkpoint is not None and time.monotonic() - last_saved > _CHECKPOINT_SECONDS:
                    _save(plan.checkpoint, about, state, iteration, record, goal)
                    last_saved = time.monotonic()
            if record.n < goal:
                status = "interrupted" if interrupted.is_set() else "max_seconds"
            else:
                found = diagnose_fn(record.draws())
                status = _enough(found, record.n, plan)
                goal = _next_goal(found, record.n, plan)
    if plan.checkpoint is not None:
        if status in ("enough", "hopeless"):
            plan.checkpoint.unlink(missing_ok=True)
        else:
            _save(plan.checkpoint, about, state, iteration, record, goal)
    if record.n == 0:
        _explain_nothing(status, plan, sampler.n_warmup, iteration)
    draws = record.draws()
    found = diagnose_fn(draws) if found is None or status in ("interrupted", "max_seconds") else found
    return Run(draws, found, status, time.monotonic() - started, iteration)


def _explain_nothing(status: str, plan: Plan, n_warmup: int, n_steps: int) -> NoReturn:
    if status == "interrupted":
        raise KeyboardInterrupt
    raise InvalidArgument(
        f"max_seconds must allow for a draw after {n_warmup} warm-up steps; {n_steps} steps were made in "
        f"{plan.max_seconds:g} s; allow more, or give a checkpoint and resume"
    )


def _is_late(plan: Plan, started: float) -> bool:
    return plan.max_seconds is not None and time.monotonic() - started > plan.max_seconds


def _enough(found: Diagnostics, n_draws: int, plan: Plan) -> str:
    """Return why to stop, or nothing."""
    if found.is_hopeless:
        return "hopeless"
    if plan.n_effective == 0 or found.reaches(plan.n_effective):
        return "enough"
    return "max_draws" if n_draws >= plan.max_draws else ""


def _next_goal(found: Diagnostics, n_draws: int, plan: Plan) -> int:
    """Return how many draws to look at next: what the present efficiency suggests, between 1.2 and 2 times as many."""
    wanted = 1.1 * plan.n_effective / max(found.fewest_effective, 1.0)
    return min(math.ceil(n_draws * min(max(wanted, 1.2), _GROWTH)), max(plan.max_draws, n_draws))


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C, and SIGTERM, into a flag, so that a step ends whole; a second Ctrl-C breaks off.

    SIGTERM is heard where it would end the process: not where the program has a handler of its own, nor in a process of
    `multiprocessing`, which its parent ends so. Sent again it changes nothing: `timeout` and batch systems send it to a
    process and to its group at once, and what cannot wait is killed.
    """
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    interrupt = signal.getsignal(signal.SIGINT)
    is_ended_by_term = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and parent_process() is None

    def restore() -> None:
        signal.signal(signal.SIGINT, interrupt if interrupt is not None else signal.default_int_handler)

    def first(signum: int, frame: Any) -> None:  # noqa: ARG001
        flag.set()
        if signum == signal.SIGINT:
            restore()

    signal.signal(signal.SIGINT, first)
    if is_ended_by_term:
        signal.signal(signal.SIGTERM, first)
    try:
        yield flag
    finally:
        restore()
        if is_ended_by_term:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _save(
    path: Path, about: tuple[str, int, str, dict[str, Any]], state: Any, iteration: int, record: _Record, goal: int
) -> None:
    write_checkpoint(path, Checkpoint(*about, iteration, record.n, goal, state._asdict(), *record.draws()))


def _resume(plan: Plan, fingerprint: dict[str, Any], sampler: Sampler) -> tuple[Any, int, _Record, int]:
    """Return state, iteration, draws and the number of draws to look at next, of a checkpoint or of a new run."""
    state, begun = sampler.init(plan.n_chains), read_checkpoint(plan.checkpoint)
    if begun is None:
        return state, 0, _Record(), plan.n_draws
    assert plan.checkpoint is not None
    state = state_in(begun, plan.checkpoint, sampler, fingerprint, state)
    record = _Record(begun.n_draws, begun.parameters, begun.statistics)
    return state, begun.iteration, record, max(begun.goal, plan.n_draws)
