# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What models need at their doors: checked observations, a generator, progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import numpy as np

from stochpref.checks import is_count
from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.problems import FITTED, check_handled


def check_observations(observations: object, problems: Collection[str] = FITTED) -> None:
    """Refuse anything but Observations that a model, or any of several, can handle, and say how to make them."""
    if not isinstance(observations, Observations):
        raise InvalidArgument(
            f"observations must be Observations; received {type(observations).__name__}; "
            "build them with Observations(prices, budgets, bundles) or read_observations(path)"
        )
    check_handled(observations, "this model", problems=problems, nonempty=True)


def generator(random_state: int | np.random.Generator | None) -> tuple[np.random.Generator, int | None]:
    """Return a generator and the seed that would make it again, None if it was given."""
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if not is_count(random_state):
        raise InvalidArgument(
            f"random_state must be None, a whole number from 0 or a numpy Generator; received {random_state!r}"
        )
    return np.random.default_rng(int(random_state)), int(random_state)


@contextmanager
def reporting(verbose: bool, start: str) -> Iterator[Callable[[str], None]]:
    """Yield what steps are told to: a status line, which begins with `start`, where stderr is a terminal."""
    if not verbose:
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(start) as status:
        yield status.update


@contextmanager
def progress(verbose: bool, title: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield what a loop tells of its steps (done, total, a word): a bar on a terminal's stderr, None elsewhere."""
    if not verbose:
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title)

        def report(done: int, total: int, word: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{title}: {word}")

        yield report
