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

from stochpref.errors import InvalidArgument
from stochpref.observations import Menus, Observations
from stochpref.problems.filling import choose

Array = NDArray[np.float64]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with an engine, which clones share: the client of a cluster cannot be copied."""

    engine: Any

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        bare.engine = "cpu"
        return BaseEstimator.__sklearn_clone__(bare).set_params(engine=self.engine)


def check_observations(observations: object) -> None:
    """Refuse anything but Observations, and say how to make them."""
    if not isinstance(observations, Observations):
        raise InvalidArgument(
            f"observations must be Observations; received {type(observations).__name__}; "
            "build them with Observations(prices, budgets, bundles) or read_observations(path)"
        )


def generator(random_state: int | np.random.Generator | None) -> tuple[np.random.Generator, int | None]:
    """Return a generator and the seed that would make it again, None if it was given."""
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InvalidArgument(
            f"random_state must be None, a whole number from 0 or a numpy Generator; received {random_state!r}"
        )
    return np.random.default_rng(int(random_state)), int(random_state)


def in_order(values: NDArray[Any], known: tuple[str, ...], goods: tuple[str, ...]) -> NDArray[Any]:
    """Return values, whose last axis counts the known goods, in the order of other goods; unknown ones are refused."""
    if goods == known:
        return values
    place = {name: i for i, name in enumerate(known)}
    unknown = [name for name in goods if name not in place]
    if unknown:
        raise InvalidArgument(
            f"goods must be among those of the fit; {len(unknown)} are not, such as {unknown[0]!r}; "
            f"the fit knows {', '.join(known[:6])}" + (" …" if len(known) > 6 else "")
        )
    return values[..., [place[name] for name in goods]]


def over_goods(observations: Observations, known: tuple[str, ...]) -> Observations:
    """Return observations over the known goods, in their order: one they lack is not on offer, others are refused."""
    check_observations(observations)
    if observations.goods == known:
        return observations
    places = in_order(np.arange(len(known)), known, observations.goods)
    prices = np.full((len(observations), len(known)), np.inf)
    bundles, caps = np.zeros_like(prices), np.ones_like(prices)
    for whole, part in ((prices, observations.prices), (bundles, observations.bundles), (caps, observations.caps)):
        whole[:, places] = part
    return Observations(
        prices, observations.budgets, bundles, goods=known, caps=caps, customers=observations.customers,
        labels=observations.labels,
    )  # fmt: skip


def _check_budgets(menus: Menus | ArrayLike, budgets: ArrayLike | None) -> None:
    """Refuse menus with budgets beside them, and prices without."""
    if isinstance(menus, Menus) and budgets is not None:
        raise InvalidArgument("budgets must be left out when menus hold them; received both")
    if not isinstance(menus, Menus) and budgets is None:
        raise InvalidArgument("prediction needs menus, or prices and budgets; received prices alone")


def predict_bundles(
    utility: Array, known: tuple[str, ...], menus: Menus | ArrayLike, budgets: ArrayLike | None
) -> Array:
    """Return the bundles a utility over known goods buys from menus, matched by name, or from prices and budgets."""
    _check_budgets(menus, budgets)
    if isinstance(menus, Menus):
        return choose(in_order(utility, known, menus.goods), menus.prices, menus.budgets, caps=menus.caps)
    assert budgets is not None
    return choose(utility, menus, budgets)


def as_menus(menus: Menus | ArrayLike, budgets: ArrayLike | None, goods: tuple[str, ...]) -> Menus:
    """Return menus given as such, or as prices (T, n) or (n,) and budgets over the goods of a fit."""
    _check_budgets(menus, budgets)
    if isinstance(menus, Menus):
        return menus
    prices = np.atleast_2d(np.asarray(menus, np.float64))
    stated = np.atleast_1d(np.asarray(budgets, np.float64))
    rows = max(len(prices), len(stated))
    if len(prices) == 1 and prices.ndim == 2:
        prices = np.repeat(prices, rows, axis=0)
    return Menus(prices, np.repeat(stated, rows) if stated.size == 1 else stated, goods=goods)


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
