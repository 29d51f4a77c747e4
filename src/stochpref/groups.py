# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Many small problems: one model for each group of observations, in parallel, as one table.

A group's fit depends on its observations, the model's settings, the seed and the group's place alone: not on the number
of processes, nor on what becomes of other groups.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from stochpref.checks import is_count
from stochpref.errors import InvalidArgument, StochprefError, shown
from stochpref.models.fit import Fit
from stochpref.models.shared import check_observations, generator
from stochpref.observations import Observations
from stochpref.processes import Lost, run_in_processes
from stochpref.result import Result
from stochpref.stores.engines import is_cluster
from stochpref.threads import n_threads

Array = NDArray[np.float64]


class GroupRow(NamedTuple):
    """What was learned of one group.

    group, n_observations : which, and its size.
    failure : why there is no fit; "" if there is one.
    warning : what the fit warned of; "" if of nothing.
    utility : (n,) mean direction or common utility; NaN without a fit.
    lower, upper : (n,) ends of 90 % (heterogeneous) or 95 % (common) intervals; NaN where there are none.
    figures : further numbers by name: concentration and its interval, R-hat, effective draws; or shares and bounds.
    """

    group: str
    n_observations: int
    failure: str
    warning: str
    utility: Array
    lower: Array
    upper: Array
    figures: dict[str, float]


@dataclass(frozen=True, slots=True, repr=False)
class GroupFits(Result):
    """Fits of all groups.

    goods : names, in the order of the utilities.
    rows : a record for each group, in order of first occurrence.
    """

    goods: tuple[str, ...]
    rows: tuple[GroupRow, ...]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each group."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    @property
    def failures(self) -> dict[str, str]:
        """Groups without a fit, and why."""
        return {row.group: row.failure for row in self.rows if row.failure}

    @property
    def table(self) -> pa.Table:
        """A row for each group: sizes, figures, and for each good its utility and interval."""
        columns: dict[str, Any] = {
            name: [getattr(row, name) for row in self.rows]
            for name in ("group", "n_observations", "failure", "warning")
        }
        for name in dict.fromkeys(name for row in self.rows for name in row.figures):
            columns[name] = [row.figures.get(name, float("nan")) for row in self.rows]
        for part in ("utility", "lower", "upper"):
            values = np.array([getattr(row, part) for row in self.rows]).reshape(len(self.rows), len(self.goods))
            columns |= {f"{part}_{good}": values[:, i] for i, good in enumerate(self.goods)}
        return pa.table(columns)

    def __str__(self) -> str:
        failed = self.failures
        warned = sum(bool(row.warning) for row in self.rows)
        lines = [f"{len(self.rows):,} groups over {len(self.goods)} goods: {len(self.rows) - len(failed):,} fitted"]
        lines[0] += f" ({warned:,} with warnings), {len(failed):,} failed"
        lines += [f"  {shown(group)}: {failure}" for group, failure in list(failed.items())[:5]]
        if len(failed) > 5:
            lines.append(f"  and {len(failed) - 5:,} more")
        return "\n".join(lines)


class _Task(NamedTuple):
    model: Fit
    group: str
    observations: Observations
    folder: Path | None


def fit_groups(
    model: Fit,
    observations: Observations,
    groups: ArrayLike | str,
    *,
    jobs: int | None = None,
    folder: str | Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> GroupFits:
    """Fit a model to each group of observations.

    Parameters
    ----------
    model : settings for all groups, not fitted itself. An integer `random_state` makes all fits reproducible.
    groups : a label for each observation, or "customers" for their customer labels.
    jobs : processes, each on one thread, or as many as there are groups if those are fewer; None for all cores. With
        one, groups are fitted in this process, on all threads. A script whose own functions the model uses, such as a
        prior, must guard what it runs with ``if __name__ == "__main__":``.
    folder : where to save every fit, under the group's number; None to keep the table only.
    report : told of groups done and groups in all.

    Returns
    -------
    A table with a row for each group. A group that cannot be fitted, or whose process dies, has the reason there, and
    the others go on.

    Raises
    ------
    KeyboardInterrupt : at the first Ctrl-C; fits that were saved until then are whole.
    """
    _check(model, observations, jobs)
    labels = _labels(observations, groups)
    names, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rng, seed = generator(model.random_state)
    seed = int(rng.integers(2**63)) if seed is None else seed
    order = np.argsort(first)
    rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    tasks = []
    for number, k in enumerate(order.tolist()):
        own = clone(model).set_params(random_state=_seed_of(seed, number), verbose=False)
        where = None if folder is None else Path(folder) / f"{number:06d}"
        tasks.append(_Task(own, str(names[k]), observations[rows[k]], where))
    found: list[GroupRow | None] = [None] * len(tasks)
    with closing(_run(tasks, min(jobs or n_threads(), len(tasks)))) as done:
        for n_done, (number, row) in enumerate(done, start=1):
            found[number] = row
            if report is not None:
                report(n_done, len(tasks))
    return GroupFits(observations.goods, tuple(row for row in found if row is not None))


def _check(model: Fit, observations: Observations, jobs: int | None) -> None:
    """Refuse what cannot be fitted group by group."""
    if not isinstance(model, Fit):
        raise InvalidArgument(f"model must be one of stochpref's; received {type(model).__name__}")
    check_observations(observations)
    if jobs is not None and not is_count(jobs, 1):
        raise InvalidArgument(f"jobs must be None or a whole number from 1; received {jobs!r}")
    if is_cluster(model.engine):
        raise InvalidArgument(
            f"engine must not be a cluster for groups, which are fitted whole on this machine; received "
            f"{model.engine!r}; leave the engine to 'cpu' and set jobs"
        )
    checkpoint = getattr(model, "checkpoint", None)
    if checkpoint is not None:
        raise InvalidArgument(
            f"checkpoint must be None for groups, which would all write to one file; received {str(checkpoint)!r}; "
            "save finished fits with folder instead"
        )


def _labels(observations: Observations, groups: ArrayLike | str) -> NDArray[np.str_]:
    if isinstance(groups, str):
        if groups != "customers":
            raise InvalidArgument(f"groups must be labels or 'customers'; received {groups!r}")
        if observations.customers is None:
            raise InvalidArgument("groups='customers' needs customer labels; these observations have none")
        groups = list(observations.customers)
    labels = np.asarray(groups)
    if labels.shape != (len(observations),):
        raise InvalidArgument(
            f"groups must be one label for each of {len(observations):,} observations; received shape {labels.shape}"
        )
    seen: dict[str, Any] = {}
    for value in np.asarray(groups, object):
        other = seen.setdefault(str(value), value)
        if type(other) is not type(value) and other != value:
            raise InvalidArgument(
                f"groups must be told apart by their text; received both {other!r} and {value!r}; rename one"
            )
    return labels.astype(np.str_)


def _seed_of(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _run(tasks: Sequence[_Task], n_processes: int) -> Generator[tuple[int, GroupRow], None, None]:
    """Yield numbers and rows of groups as they finish."""
    if n_processes <= 1:
        yield from enumerate(map(_fit_one, tasks))
        return
    needs_main = b"__main__" in _as_sent(tasks[0].model)
    for number, found in run_in_processes(_fit_one, tasks, n_processes, needs_main=needs_main):
        yield number, _failed(tasks[number], found.reason) if isinstance(found, Lost) else found


def _as_sent(model: Fit) -> bytes:
    """Return the model as other processes receive it."""
    try:
        return pickle.dumps(model)
    except Exception as error:  # whatever a user's objects raise
        raise InvalidArgument(
            f"model must be one that can be sent to other processes: {error}; define its functions in a module, or "
            "set jobs=1"
        ) from None


def _failed(task: _Task, why: str) -> GroupRow:
    nothing = np.full(task.observations.n_goods, np.nan)
    return GroupRow(task.group, len(task.observations), why, "", nothing, nothing, nothing, {})


def _fit_one(task: _Task) -> GroupRow:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            fitted = task.model.fit(task.observations)
        if fitted.status_ == "interrupted":  # one Ctrl-C ends all groups, not one after the other
            raise KeyboardInterrupt
        if task.folder is not None:
            fitted.save(task.folder)
        interval = fitted.wanted.interval
        lower, upper = np.full((2, len(fitted.goods_)), np.nan) if interval is None else interval.T
    except Exception as error:  # a user's prior may raise anything, and the other groups must go on
        return _failed(task, str(error) if isinstance(error, StochprefError) else f"{type(error).__name__}: {error}")
    said = "; ".join(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    return GroupRow(task.group, len(task.observations), "", said, fitted.best_utility, lower, upper, fitted.figures)
