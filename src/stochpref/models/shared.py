# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What both models need at their doors: checked observations, goods in order, a generator, progress."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from stochpref.checks import is_count
from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.problems import check_handled
from stochpref.problems.divisible import choose
from stochpref.readers.by_name import as_menus
from stochpref.rows import places_of

Array = NDArray[np.float64]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with an engine, which clones share: the client of a cluster cannot be copied."""

    engine: Any

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        bare.engine = "cpu"
        return BaseEstimator.__sklearn_clone__(bare).set_params(engine=self.engine)


def check_observations(observations: object) -> None:
    """Refuse anything but Observations that the models can handle, and say how to make them."""
    if not isinstance(observations, Observations):
        raise InvalidArgument(
            f"observations must be Observations; received {type(observations).__name__}; "
            "build them with Observations(prices, budgets, bundles) or read_observations(path)"
        )
    check_handled(observations, "this model")


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


def predict_bundles(utility: Array, known: tuple[str, ...], menus: Any, budgets: ArrayLike | None) -> Array:
    """Return the bundles a utility over known goods buys from menus, or from prices and budgets, matched by name."""
    faced, shape = as_menus(menus, budgets, known)
    own = utility[places_of(faced.goods, known)]
    bundles = choose(own, faced.prices, faced.budgets, caps=faced.caps)
    return bundles.reshape(*shape, faced.n_goods)


@contextmanager
def reporting(verbose: bool) -> Iterator[Callable[[str], None]]:
    """Yield what steps are told to: a status line where stderr is a terminal, nothing elsewhere."""
    if not verbose:
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("comparing observations") as status:
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
