# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The simplex method on small dense tables, compiled: many utilities, one programme after another.

A programme is  max c·y,  M y = r,  0 <= y <= width.  A table holds B⁻¹M of a feasible basis; variables that are not in
the basis are at 0, for one at its upper bound is counted down from there ("flipped", its column negated). Every solve
starts from the table that `make_table` left, so that an answer does not depend on what was solved before.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

OPTIMAL: Final = 0
UNBOUNDED: Final = 1
STUCK: Final = 2
INFEASIBLE: Final = 3

_ZERO: Final = 1e-11  # an entry of a table below this is none
_GAIN: Final = 1e-10  # of a step, relative to the largest cost
_PATIENCE: Final = 30  # pivots that gain nothing, before columns are taken in order, which cannot cycle


class Table(NamedTuple):
    """A feasible basis.

    entries : (m, N); rhs : (m,) values of the basis; basis : (m,) column of each row, -1 for a row that says nothing.
    flipped : (N,) which columns count down from their upper bound.
    """

    entries: Array
    rhs: Array
    basis: Indices
    flipped: NDArray[np.bool_]


@inlined
def _flip(j: int, entries: Array, rhs: Array, cost: Array, width: Array, flipped: NDArray[np.bool_]) -> None:
    """Count a column that is not in the basis from its other bound."""
    for i in range(entries.shape[0]):
        rhs[i] -= entries[i, j] * width[j]
        entries[i, j] = -entries[i, j]
    cost[j] = -cost[j]
    flipped[j] = not flipped[j]


@inlined
def _pivot(row: int, j: int, entries: Array, rhs: Array, basis: Indices, cost: Array) -> None:
    """Bring a column into the basis at a row; cost holds what a unit of each column gains."""
    scale = 1.0 / entries[row, j]
    for k in range(entries.shape[1]):
        entries[row, k] *= scale
    rhs[row] *= scale
    for i in range(entries.shape[0]):
        factor = entries[i, j]
        if i != row and factor != 0.0:
            for k in range(entries.shape[1]):
                entries[i, k] -= factor * entries[row, k]
            entries[i, j] = 0.0
            rhs[i] -= factor * rhs[row]
    factor = cost[j]
    for k in range(entries.shape[1]):
        cost[k] -= factor * entries[row, k]
    cost[j] = 0.0
    basis[row] = j


@inlined
def _price_out(entries: Array, basis: Indices, cost: Array) -> float:
    """Turn costs into what a unit of each column gains, in place; return the largest cost."""
    largest = 0.0
    for j in range(entries.shape[1]):
        largest = max(largest, abs(cost[j]))
    for i in range(entries.shape[0]):
        if basis[i] >= 0 and cost[basis[i]] != 0.0:
            factor = cost[basis[i]]
            for k in range(entries.shape[1]):
                cost[k] -= factor * entries[i, k]
            cost[basis[i]] = 0.0
    return largest


@inlined
def _entering(cost: Array, width: Array, least: float, in_order: bool) -> int:
    """Return the column that gains most, or the first that gains; -1 for none."""
    found = -1
    for j in range(cost.shape[0]):
        if cost[j] > least and width[j] > 0.0:
            found, least = j, cost[j]
            if in_order:
                break
    return found


@inlined
def _leaving(
    column: Array, rhs: Array, basis: Indices, width: Array, step: float, in_order: bool
) -> tuple[int, float, bool]:
    """Return which row's variable meets a bound first, after what step, and whether its upper one; -1 for none.

    Among those that meet theirs together the one of the largest entry leaves, or the first in order of columns.
    """
    leaving, is_up, size = -1, False, 0.0
    for i in range(rhs.shape[0]):
        a = column[i]
        bound = width[basis[i]] if basis[i] >= 0 else np.inf
        if basis[i] < 0 or abs(a) <= _ZERO or (a < 0.0 and bound == np.inf):
            continue
        ratio = max(rhs[i], 0.0) / a if a > 0.0 else max(bound - rhs[i], 0.0) / -a
        is_tie = leaving >= 0 and ratio <= step + 1e-12
        is_preferred = basis[i] < basis[leaving] if in_order else abs(a) > size
        if ratio < step - 1e-12 or (is_tie and is_preferred):
            leaving, step, is_up, size = i, min(ratio, step), a < 0.0, abs(a)
    return leaving, step, is_up


@compiled
def climb(
    entries: Array, rhs: Array, basis: Indices, flipped: NDArray[np.bool_], cost: Array, width: Array, most: int
) -> int:
    """Go to the best basis in place; cost (N,) is that of the columns as they are, flipped ones negated."""
    largest = _price_out(entries, basis, cost)
    idle = 0
    for _ in range(most):
        j = _entering(cost, width, _GAIN * largest, idle > _PATIENCE)
        if j < 0:
            return OPTIMAL
        row, step, is_up = _leaving(entries[:, j], rhs, basis, width, width[j], idle > _PATIENCE)
        if row < 0 and step == np.inf:
            return UNBOUNDED
        if row < 0:
            _flip(j, entries, rhs, cost, width, flipped)
            idle = 0
            continue
        idle = idle + 1 if step <= 1e-12 else 0
        if is_up:  # the variable that leaves does so at its upper bound: count it down from there
            out = basis[row]
            for k in range(entries.shape[1]):
                entries[row, k] = -entries[row, k]
            entries[row, out] = 1.0
            rhs[row] = width[out] - rhs[row]
            flipped[out] = not flipped[out]
        _pivot(row, j, entries, rhs, basis, cost)
    return STUCK


def make_table(matrix: Array, right: Array, width: Array, n_slack: int) -> tuple[int, Table]:
    """Return a feasible table of M y = r, 0 <= y <= width, the last n_slack columns of M being those of its first rows.

    Rows whose slack cannot be their first basis get a variable of their own, which is driven out.
    """
    m, n = matrix.shape
    sign = np.where(right < 0, -1.0, 1.0)
    own = np.array([i for i in range(m) if i >= n_slack or sign[i] < 0], np.int64)
    entries = np.zeros((m, n + own.size))
    entries[:, :n] = matrix * sign[:, None]
    entries[own, n + np.arange(own.size)] = 1.0
    rhs = np.abs(right)
    basis = n - n_slack + np.arange(m, dtype=np.int64)
    basis[own] = n + np.arange(own.size)
    flipped = np.zeros(n + own.size, np.bool_)
    wide = np.append(width, np.full(own.size, np.inf))
    cost = np.zeros(n + own.size)
    cost[n:] = -1.0
    status = climb(entries, rhs, basis, flipped, cost, wide, 50 * (m + n + 10))
    scale = 1.0 + np.abs(right).max(initial=0.0)
    if status == OPTIMAL and rhs[basis >= n].sum() > 1e-9 * scale:
        status = INFEASIBLE
    for i in range(m):
        if basis[i] < n:
            continue
        # At zero: out of the basis, or its row says nothing.
        j = int(np.argmax(np.abs(entries[i, :n])))
        if abs(entries[i, j]) > 1e-9:
            _pivot(i, j, entries, rhs, basis, cost)
        else:
            entries[i], rhs[i], basis[i] = 0.0, 0.0, -1
    return status, Table(np.ascontiguousarray(entries[:, :n]), rhs, basis, flipped[:n].copy())


@compiled
def solve_rows(
    tables: tuple[Array, Array, Indices, NDArray[np.bool_]],
    width: Array,
    costs: Array,
    place: Indices,
    most: int,
    values: Array,
    status: Indices,
    start: int,
    stop: int,
) -> None:
    """Solve for each cost (k, N) the programme at its place; write values of the columns (k, N) and what came of it.

    tables : fields of `Table`, each with an axis of programmes before its own; width : (D, N).
    """
    m, n = tables[0].shape[1:]
    entries, rhs = np.empty((m, n)), np.empty(m)
    basis, flipped, cost = np.empty(m, np.int64), np.empty(n, np.bool_), np.empty(n)
    for k in range(start, stop):
        at = place[k]
        entries[:], rhs[:], basis[:], flipped[:] = tables[0][at], tables[1][at], tables[2][at], tables[3][at]
        for j in range(n):
            cost[j] = -costs[k, j] if flipped[j] else costs[k, j]
        status[k] = climb(entries, rhs, basis, flipped, cost, width[at], most)
        for j in range(n):
            values[k, j] = 0.0
        for i in range(m):
            if basis[i] >= 0:
                values[k, basis[i]] = rhs[i]
        for j in range(n):
            if flipped[j]:
                values[k, j] = width[at, j] - values[k, j]
