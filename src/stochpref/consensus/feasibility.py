# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Whether a set of observations shares a utility: differences of logs without a cycle that closes too early.

The set forces some goods positive and some negative; a good forced both ways is a conflict of two observations. In
logs v = log u of the positive goods, every good p not bought and q bought by a kept observation satisfy
v_p - v_q < log a_p - log a_q. The tightest of these for each pair, w[p, q], admit a solution iff every cycle has a
positive sum. A cycle that has not names the observations that cannot hold together.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.objective import Array, Mask, Packed
from stochpref.kinds import ABOVE, AT, BELOW, PIVOT, TIGHT
from stochpref.threads import compiled

# Taken off every difference, so that a cycle of sum zero (equal price ratios) counts as closed although its sum of
# rounded logs may be 1e-16. Cells whose ratios are fixed to within this are given up.
STRICTNESS = 1e-11


class Cell(NamedTuple):
    """The utilities shared by a set of observations; an open cone.

    is_positive, is_negative : (n,) goods whose sign is forced.
    log_ratio : (n, n) w: v_p - v_q < w[p, q], the tightest from a single observation; inf where there is none.
    owner : (n, n) the observation that says so, -1 where there is none.
    closure : (n, n) the tightest implied by all, with zeros on the diagonal.
    n_kept : how many observations share it.
    """

    is_positive: Mask
    is_negative: Mask
    log_ratio: Array
    owner: NDArray[np.int64]
    closure: Array
    n_kept: int


@compiled
def _tighten(packed: Packed, t: int, w: Array, owner: NDArray[np.int64]) -> None:
    n = packed.slope.shape[1]
    side, log_a = packed.side[t], packed.log_price[t]
    if packed.kind[t] == PIVOT:
        f = packed.pivot[t]
        for i in range(n):
            if side[i] == BELOW and log_a[i] - log_a[f] - STRICTNESS < w[i, f]:
                w[i, f] = log_a[i] - log_a[f] - STRICTNESS
                owner[i, f] = t
            elif side[i] == ABOVE and log_a[f] - log_a[i] - STRICTNESS < w[f, i]:
                w[f, i] = log_a[f] - log_a[i] - STRICTNESS
                owner[f, i] = t
    elif packed.kind[t] == TIGHT:
        for j in range(n):
            if side[j] == BELOW:
                for i in range(n):
                    if side[i] == ABOVE and log_a[j] - log_a[i] - STRICTNESS < w[j, i]:
                        w[j, i] = log_a[j] - log_a[i] - STRICTNESS
                        owner[j, i] = t


@compiled
def _tighten_all(packed: Packed, kept: Mask, w: Array, owner: NDArray[np.int64]) -> None:
    for t in range(kept.shape[0]):
        if kept[t]:
            _tighten(packed, t, w, owner)


def tighten(packed: Packed, kept: Mask) -> tuple[Array, NDArray[np.int64]]:
    """Return the tightest differences of the kept observations and who says so, both (n, n)."""
    n = packed.slope.shape[1]
    w, owner = np.full((n, n), np.inf), np.full((n, n), -1, np.int64)
    _tighten_all(packed, kept, w, owner)
    return w, owner


@compiled
def _find_cycle(w: Array) -> NDArray[np.int64]:
    """Return the goods of a cycle of negative sum, each followed by the next; empty if there is none. Bellman–Ford."""
    n = w.shape[0]
    distance, parent = np.zeros(n), np.full(n, -1, np.int64)
    last = -1
    for _ in range(n + 1):
        last = -1
        for p in range(n):
            for q in range(n):
                if distance[q] + w[p, q] < distance[p]:
                    distance[p] = distance[q] + w[p, q]
                    parent[p] = q
                    last = p
        if last < 0:
            return np.empty(0, np.int64)
    for _ in range(n):
        last = parent[last]
    cycle = [last]
    p = parent[last]
    while p != last:
        cycle.append(p)
        p = parent[p]
    return np.array(cycle)


@compiled
def close_paths(w: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the shortest path lengths, zero on the diagonal, and the next good on each path. Floyd–Warshall."""
    n = w.shape[0]
    closure, following = w.copy(), np.empty((n, n), np.int64)
    for p in range(n):
        closure[p, p] = 0.0
        for q in range(n):
            following[p, q] = q
    for k in range(n):
        for p in range(n):
            if closure[p, k] < np.inf and p != k:
                for q in range(n):
                    if closure[p, k] + closure[k, q] < closure[p, q]:
                        closure[p, q] = closure[p, k] + closure[k, q]
                        following[p, q] = following[p, k]
    return closure, following


def repair(packed: Packed, kept: Mask, n_conflicts: NDArray[np.int64]) -> Mask:
    """Return kept less what stands in the way of a common utility: the most conflicted observation of each cycle."""
    kept = kept.copy()
    while True:
        w, owner = tighten(packed, kept)
        is_stuck = False
        while True:  # several cycles may be broken before the differences are gathered afresh
            cycle = _find_cycle(w)
            if cycle.size == 0:
                break
            is_stuck = True
            owners = owner[cycle, np.roll(cycle, -1)]
            worst = owners[np.argmax(n_conflicts[owners])]
            kept[worst] = False
            w[owner == worst] = np.inf
        if not is_stuck:
            return kept


def find_cycles(packed: Packed, kept: Mask) -> list[list[int]]:
    """Return groups of kept observations that cannot all hold, no two owing to the same difference; [] if all can.

    Every group listed is verified in exact arithmetic, so that bounds built on it hold.
    """
    w, owner = tighten(packed, kept)
    cycles: list[list[int]] = []
    while True:
        cycle = _find_cycle(w)
        if cycle.size == 0:
            return cycles
        following = np.roll(cycle, -1)
        steps = [(int(owner[p, q]), int(p), int(q)) for p, q in zip(cycle, following, strict=True)]
        if is_closed_exactly(packed, steps):
            cycles.append(sorted({t for t, _, _ in steps}))
        w[cycle, following] = np.inf


def is_closed_exactly(packed: Packed, cycle: list[tuple[int, int, int]]) -> bool:
    """Tell whether the product of price ratios a_p/a_q along a cycle of (observation, p, q) is at most 1, exactly."""
    product = Fraction(1)
    for t, p, q in cycle:
        product *= Fraction(float(packed.slope[t, p])) / Fraction(float(packed.slope[t, q]))
    return product <= 1


@compiled
def fits(packed: Packed, t: int, is_positive: Mask, is_negative: Mask, closure: Array) -> bool:
    """Tell whether the cell keeps a utility if observation t joins."""
    n = closure.shape[0]
    side, log_a, kind = packed.side[t], packed.log_price[t], packed.kind[t]
    is_binding = kind in (PIVOT, TIGHT)
    for i in range(n):
        if side[i] in (ABOVE, AT):
            if is_negative[i]:
                return False
        elif side[i] == BELOW and not is_binding and is_positive[i]:
            return False
    if not is_binding:
        return True
    for i in range(n):
        if side[i] in (ABOVE, AT):
            for j in range(n):
                if side[j] in (BELOW, AT) and i != j and closure[i, j] + log_a[j] - log_a[i] <= 2.0 * STRICTNESS:
                    return False
    return True


@compiled
def _join(packed: Packed, t: int, is_positive: Mask, is_negative: Mask, closure: Array) -> None:  # noqa: C901
    """Add observation t to the cell; every new path passes once through its shadow price."""
    n = closure.shape[0]
    side, log_a, kind = packed.side[t], packed.log_price[t], packed.kind[t]
    is_binding = kind in (PIVOT, TIGHT)
    to_price, from_price = np.full(n, np.inf), np.full(n, np.inf)
    for i in range(n):
        if side[i] in (ABOVE, AT):
            is_positive[i] = True
            if is_binding:
                for q in range(n):
                    from_price[q] = min(from_price[q], closure[i, q] - log_a[i])
        elif side[i] == BELOW and not is_binding:
            is_negative[i] = True
        if is_binding and side[i] in (BELOW, AT):
            for p in range(n):
                to_price[p] = min(to_price[p], closure[p, i] + log_a[i])
    for p in range(n):
        for q in range(n):
            if p != q and to_price[p] + from_price[q] - STRICTNESS < closure[p, q]:
                closure[p, q] = to_price[p] + from_price[q] - STRICTNESS


@compiled
def _add_back(
    packed: Packed, order: NDArray[np.int64], kept: Mask, is_positive: Mask, is_negative: Mask, closure: Array
) -> None:
    for t in order:
        if not kept[t] and fits(packed, t, is_positive, is_negative, closure):
            kept[t] = True
            _join(packed, t, is_positive, is_negative, closure)


@compiled
def _find_fitting(packed: Packed, is_positive: Mask, is_negative: Mask, closure: Array, answer: Mask) -> None:
    for t in range(answer.shape[0]):
        answer[t] = fits(packed, t, is_positive, is_negative, closure)


def find_fitting(packed: Packed, cell: Cell) -> Mask:
    """Tell which observations could join the cell, each alone, (T,)."""
    answer = np.empty(packed.pivot.shape[0], np.bool_)
    _find_fitting(packed, cell.is_positive, cell.is_negative, cell.closure, answer)
    return answer


def build_cell(packed: Packed, kept: Mask) -> Cell:
    """Return the cell of a set of observations that share a utility."""
    w, owner = tighten(packed, kept)
    closure, _ = close_paths(w)
    side, is_slack = packed.side[kept], ~np.isin(packed.kind[kept], (PIVOT, TIGHT))
    is_positive = np.any((side == ABOVE) | (side == AT), axis=0)
    is_negative = np.any((side == BELOW) & is_slack[:, None], axis=0)
    return Cell(is_positive, is_negative, w, owner, closure, int(kept.sum()))


def complete(packed: Packed, kept: Mask, n_conflicts: NDArray[np.int64]) -> tuple[Mask, Cell]:
    """Return kept and whatever else fits, the least conflicted first, with their cell; kept must share a utility."""
    kept = kept.copy()
    cell = build_cell(packed, kept)
    order = np.argsort(n_conflicts, kind="stable")
    _add_back(packed, order, kept, cell.is_positive.copy(), cell.is_negative.copy(), cell.closure.copy())
    return kept, build_cell(packed, kept)


def potentials(cell: Cell) -> tuple[Array, Array]:
    """Return the highest and the lowest solution v ≤ 0, v ≥ 0 of the differences: two opposite corners, (n,) each."""
    return cell.closure.min(axis=1), -cell.closure.min(axis=0)
