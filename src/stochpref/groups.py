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
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from stochpref import __version__
from stochpref.archives.text import as_json, parse_json, without_nan
from stochpref.checks import is_count
from stochpref.errors import InvalidArgument, StochprefError, UnreadableData, shown
from stochpref.files import made, replacing
from stochpref.models.fit import Fit
from stochpref.models.loading import load_fit
from stochpref.models.shared import check_observations, generator
from stochpref.observations import Observations
from stochpref.processes import Lost, run_in_processes
from stochpref.result import Result
from stochpref.rows import places_of
from stochpref.stores.engines import is_cluster
from stochpref.threads import n_threads

Array = NDArray[np.float64]

INDEX: Final = "groups.json"  # in a folder of fits: which group is where, and the table
_FORMAT: Final = 1
_BY_GOOD: Final = ("utility", "lower", "upper")
_MOST_LINES: Final = 30
_WIDTH: Final = 40  # of a group's name in the table


class GroupRow(NamedTuple):
    """What was learned of one group.

    group, n_observations : which, and its size.
    failure : why there is no fit; "" if there is one.
    warning : what the fit warned of; "" if of nothing.
    utility : (n,) mean direction or common utility; NaN without a fit, and of goods that the group was never offered.
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
        lines += self._table_lines()
        lines += [f"  {shown(group)}: {failure}" for group, failure in list(failed.items())[:5]]
        if len(failed) > 5:
            lines.append(f"  and {len(failed) - 5:,} more")
        return "\n".join(lines)

    def _table_lines(self) -> list[str]:
        """Return a line for each group fitted: its size, the first of its figures, and what it wants most."""
        fitted = [row for row in self.rows if not row.failure]
        if not fitted:
            return []
        width = max(5, *(len(shown(row.group, _WIDTH)) for row in fitted[:_MOST_LINES]))
        figure = next(iter(fitted[0].figures), "")
        lines = ["", f"  {'group':<{width}}  observations  {figure.replace('_', ' '):>13}  wants most"]
        for row in fitted[:_MOST_LINES]:
            order = np.argsort(-np.nan_to_num(row.utility, nan=-np.inf))
            best = ", ".join(shown(self.goods[i], 30) for i in order[:3] if row.utility[i] > 0) or "nothing"
            name, value = shown(row.group, _WIDTH), row.figures.get(figure, np.nan)
            warned = " (with warnings)" if row.warning else ""
            lines.append(f"  {name:<{width}}  {row.n_observations:>12,}  {value:>13,.4g}  {best}{warned}")
        more = len(fitted) - _MOST_LINES
        return [*lines, *([f"  and {more:,} more"] if more > 0 else []), ""]


class _Task(NamedTuple):
    model: Fit
    group: str
    observations: Observations
    folder: Path | None


def fit_groups(
    model: Fit,
    observations: Observations,
    groups: ArrayLike | str | None = None,
    *,
    jobs: int | None = None,
    folder: str | Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> GroupFits:
    """Fit a model to each group of observations.

    Parameters
    ----------
    model : settings for all groups, not fitted itself. An integer `random_state` makes all fits reproducible.
    groups : a label for each observation, or "customers" for their customer labels; None for the groups that they
        carry, as read with ``by``. Goods that a group was never offered are left out of its fit.
    jobs : processes, each on one thread, or as many as there are groups if those are fewer; None for all cores. With
        one, groups are fitted in this process, on all threads. A script whose own functions the model uses, such as a
        prior, must guard what it runs with ``if __name__ == "__main__":``.
    folder : where to save every fit, under the group's number, and ``groups.json``, which says what is where; None to
        keep the table only.
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
        where = None if folder is None else Path(folder) / _folder_name(number)
        tasks.append(_Task(own, str(names[k]), observations[rows[k]], where))
    found: list[GroupRow | None] = [None] * len(tasks)
    with closing(_run(tasks, min(jobs or n_threads(), len(tasks)))) as done:
        for n_done, (number, row) in enumerate(done, start=1):
            found[number] = row
            if report is not None:
                report(n_done, len(tasks))
    fits = GroupFits(observations.goods, tuple(row for row in found if row is not None))
    if folder is not None:
        _write_index(fits, Path(folder))
    return fits


def _write_index(fits: GroupFits, folder: Path) -> None:
    with made(folder), replacing(folder / INDEX) as stream:
        stream.write(as_json(without_nan({"format": _FORMAT, "version": __version__, **fits.as_dict()})))


def read_groups(folder: str | Path) -> GroupFits:
    """Return the table of the fits that `fit_groups` saved in a folder.

    Raises
    ------
    UnreadableData : there is none, or it was changed.
    """
    place = Path(folder) / INDEX
    if not place.is_file():
        raise UnreadableData(
            f"{folder} holds no {INDEX}; give the folder that fit_groups or `stochpref fit --by` wrote"
        )
    found = parse_json(place.read_bytes(), place)
    try:
        goods = tuple(str(good) for good in found["goods"])
        rows = tuple(_row_of(row, len(goods)) for row in found["rows"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnreadableData(f"{place} was changed: {shown(repr(error), 200)}; fit the groups again") from None
    return GroupFits(goods, rows)


def _row_of(row: dict[str, Any], n_goods: int) -> GroupRow:
    arrays = {part: np.array(row[part], np.float64).reshape(n_goods) for part in _BY_GOOD}
    return GroupRow(
        group=str(row["group"]),
        n_observations=int(row["n_observations"]),
        failure=str(row["failure"]),
        warning=str(row["warning"]),
        figures={str(name): np.nan if value is None else float(value) for name, value in row["figures"].items()},
        **arrays,
    )


def load_groups(folder: str | Path) -> dict[str, Fit | str]:
    """Return the fits of groups that `fit_groups` saved, by group; why there is none, where there is none."""
    return {
        row.group: row.failure or load_fit(Path(folder) / _folder_name(number))
        for number, row in enumerate(read_groups(folder).rows)
    }


def _folder_name(number: int) -> str:
    return f"{number:06d}"


def _check(model: Fit, observations: Observations, jobs: int | None) -> None:
    """Refuse what cannot be fitted group by group."""
    if not isinstance(model, Fit):
        raise InvalidArgument(f"model must be one of stochpref's; received {type(model).__name__}")
    check_observations(observations, model.problems)
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


def _labels(observations: Observations, groups: ArrayLike | str | None) -> NDArray[np.str_]:
    if groups is None:
        if observations.groups is None:
            raise InvalidArgument("groups must be labels, where observations carry none; read them with by='column'")
        groups = list(observations.groups)
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
            fitted = task.model.fit(task.observations.offered())
        if fitted.status_ == "interrupted":  # one Ctrl-C ends all groups, not one after the other
            raise KeyboardInterrupt
        if task.folder is not None:
            fitted.save(task.folder)
        utility, lower, upper = np.full((3, task.observations.n_goods), np.nan)
        places = places_of(fitted.goods_, task.observations.goods)
        utility[places] = fitted.best_utility[places_of(fitted.goods_, fitted.coordinates_)]
        if fitted.wanted.interval is not None:
            lower[places], upper[places] = fitted.wanted.interval.T
    except Exception as error:  # a user's prior may raise anything, and the other groups must go on
        return _failed(task, str(error) if isinstance(error, StochprefError) else f"{type(error).__name__}: {error}")
    said = "; ".join(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    return GroupRow(task.group, len(task.observations), "", said, utility, lower, upper, fitted.figures)
