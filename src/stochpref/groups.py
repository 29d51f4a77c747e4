# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Many small problems: one model for each group of observations, in parallel, as one table.

A group's fit depends on its observations, the model's settings, the seed and the group's place alone: not on the number
of processes, nor on what becomes of other groups.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from stochpref.engines import n_threads
from stochpref.errors import InvalidArgument, StochprefError
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.models.shared import check_observations, generator
from stochpref.observations import Observations

Array = NDArray[np.float64]
Model = CommonUtility | HeterogeneousUtility

_AT_ONCE = 8  # groups a process takes at a time: enough to make shipping them cheap


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
class GroupFits:
    """Fits of all groups.

    goods : names, in the order of the utilities.
    rows : a record for each group, in order of first occurrence.
    """

    goods: tuple[str, ...]
    rows: tuple[GroupRow, ...]

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

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        failed = self.failures
        warned = sum(bool(row.warning) for row in self.rows)
        lines = [f"{len(self.rows):,} groups over {len(self.goods)} goods: {len(self.rows) - len(failed):,} fitted"]
        lines[0] += f" ({warned:,} with warnings), {len(failed):,} failed"
        lines += [f"  {group}: {failure}" for group, failure in list(failed.items())[:5]]
        if len(failed) > 5:
            lines.append(f"  and {len(failed) - 5:,} more")
        return "\n".join(lines)


class _Task(NamedTuple):
    model: Model
    group: str
    observations: Observations
    folder: Path | None


def fit_groups(
    model: Model,
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
    jobs : processes, each on one thread; None for all cores.
    folder : where to save every fit, under the group's number; None to keep the table only.
    report : told of groups done and groups in all.

    Returns
    -------
    A table with a row for each group. A group that cannot be fitted has the reason there, and the others go on.
    """
    if not isinstance(model, CommonUtility | HeterogeneousUtility):
        raise InvalidArgument(f"model must be one of stochpref's; received {type(model).__name__}")
    check_observations(observations)
    labels = _labels(observations, groups)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs < 1):
        raise InvalidArgument(f"jobs must be None or a whole number from 1; received {jobs!r}")
    names, first, place = np.unique(labels, return_index=True, return_inverse=True)
    _, seed = generator(model.random_state)
    order = np.argsort(first)
    rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    tasks = []
    for number, k in enumerate(order.tolist()):
        own = clone(model).set_params(random_state=_seed_of(seed, number), verbose=False)
        where = None if folder is None else Path(folder) / f"{number:06d}"
        tasks.append(_Task(own, str(names[k]), observations[rows[k]], where))
    found: list[GroupRow | None] = [None] * len(tasks)
    for n_done, (number, row) in enumerate(_run(tasks, jobs or n_threads()), start=1):
        found[number] = row
        if report is not None:
            report(n_done, len(tasks))
    return GroupFits(observations.goods, tuple(row for row in found if row is not None))


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
    return labels.astype(np.str_)


def _seed_of(seed: int | None, number: int) -> int:
    return int(np.random.SeedSequence([0 if seed is None else seed, number]).generate_state(1)[0])


def _run(tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[int, GroupRow]]:
    """Yield numbers and rows of groups as they finish."""
    batches = [range(k, min(k + _AT_ONCE, len(tasks))) for k in range(0, len(tasks), _AT_ONCE)]
    if jobs == 1 or len(batches) == 1:
        for number, task in enumerate(tasks):
            yield number, _fit_one(task)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_use_one_thread) as pool:
        futures = {pool.submit(_fit_batch, [tasks[k] for k in batch]): batch for batch in batches}
        try:
            for future in as_completed(futures):
                yield from zip(futures[future], future.result(), strict=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _use_one_thread() -> None:
    """Threads of several processes would fight over the cores; results do not depend on their number."""
    os.environ["STOCHPREF_NUM_THREADS"] = "1"


def _fit_batch(tasks: list[_Task]) -> list[GroupRow]:
    return [_fit_one(task) for task in tasks]


def _fit_one(task: _Task) -> GroupRow:
    n = task.observations.n_goods
    nothing = np.full(n, np.nan)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            fitted = task.model.fit(task.observations)
        if task.folder is not None:
            fitted.save(task.folder)
    except (StochprefError, ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return GroupRow(task.group, len(task.observations), str(error), "", nothing, nothing, nothing, {})
    said = "; ".join(str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    utility, lower, upper, figures = _learned(fitted)
    return GroupRow(task.group, len(task.observations), "", said, utility, lower, upper, figures)


def _learned(model: Model) -> tuple[Array, Array, Array, dict[str, float]]:
    if isinstance(model, CommonUtility):
        interval = model.utility_interval_
        nothing = np.full(len(model.goods_), np.nan)
        lower, upper = (nothing, nothing) if interval is None else (interval[:, 0], interval[:, 1])
        figures = {
            "n_consistent": float(model.n_consistent_), "upper_bound": float(model.upper_bound_),
            "corruption": model.corruption_, "is_optimal": float(model.is_optimal_),
        }  # fmt: skip
        return model.utility_, lower, upper, figures
    summary = model.summary()
    by_name = {row.name: row for row in summary.goods}
    rows = [by_name[good] for good in model.goods_]
    kappa = summary.concentration
    figures = {
        "concentration": kappa.mean, "concentration_lower": kappa.lower, "concentration_upper": kappa.upper,
        "r_hat": model.diagnostics_.worst_r_hat, "n_effective": model.diagnostics_.fewest_effective,
        "is_converged": float(model.is_converged_), "is_identified": float(model.is_identified_),
    }  # fmt: skip
    return model.mean_direction_, np.array([row.lower for row in rows]), np.array([row.upper for row in rows]), figures
