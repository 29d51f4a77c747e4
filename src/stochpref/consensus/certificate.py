# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The proof that no utility explains more: disjoint groups of observations, at most so many of each consistent.

Observations that exclude each other two by two (a clique of conflicts) hold at most one consistent observation; those
of a cycle of differences that closes too early hold at most all but one. Kept observations are given odd ones to
exclude: first by a largest matching along conflicts, then by cycles through kept observations that are still free, then
by letting further odd ones join a pair they conflict with throughout. Where every odd one finds a place, the kept
number is the largest there is; every one left over raises the bound by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.conflicts import is_conflict
from stochpref.consensus.feasibility import close_paths, is_closed_exactly, tighten
from stochpref.consensus.objective import Array, Mask, Packed
from stochpref.kinds import ABOVE, AT, BELOW, PIVOT, TIGHT
from stochpref.threads import compiled_reordering

Indices = NDArray[np.int64]


class Certificate(NamedTuple):
    """What the conflicts prove.

    upper_bound : no utility is consistent with more observations.
    witness : (T,) for an odd observation, a kept one that conflicts with it; -1 where none does.
    """

    upper_bound: int
    witness: Indices


@compiled_reordering
def _match(packed: Packed, kept: Indices, odd: Indices, mate_of_kept: Indices, mate_of_odd: Indices) -> None:
    """Match odd to kept observations along conflicts, as many as possible.

    Breadth-first augmenting paths. What a failed search has visited can reach no free kept observation later either,
    so it stays visited: all failures together cost one pass over the pairs.
    """
    n_kept, n_odd = kept.shape[0], odd.shape[0]
    is_dead = np.zeros(n_kept, np.bool_)
    stamp, came_from = np.full(n_kept, -1, np.int64), np.empty(n_kept, np.int64)
    queue = np.empty(n_odd + 1, np.int64)
    for start in range(n_odd):
        queue[0] = start
        head, tail, free = 0, 1, -1
        while head < tail and free < 0:
            x = queue[head]
            head += 1
            # Starting at different places keeps neighbours from queueing for the same mate.
            offset = (odd[x] * 7919) % n_kept
            for step in range(n_kept):
                k = (step + offset) % n_kept
                if is_dead[k] or stamp[k] == start or not is_conflict(packed, odd[x], kept[k]):
                    continue
                stamp[k] = start
                came_from[k] = x
                if mate_of_kept[k] < 0:
                    free = k
                    break
                queue[tail] = mate_of_kept[k]
                tail += 1
        if free < 0:
            for k in range(n_kept):
                is_dead[k] |= stamp[k] == start
        while free >= 0:
            x = came_from[free]
            previous = mate_of_odd[x]
            mate_of_kept[free], mate_of_odd[x] = x, free
            free = previous if x != start else -1


@compiled_reordering
def _find_group(packed: Packed, r: int, first: Indices, following: Indices, n_groups: int, but: int) -> int:
    """Return a group, other than `but`, that observation r conflicts with throughout; -1 if there is none."""
    offset = r * 7919
    for step in range(n_groups):
        g = (step + offset) % n_groups
        member = first[g] if g != but else r
        while member >= 0 and member != r and is_conflict(packed, r, member):
            member = following[member]
        if member < 0:
            return g
    return -1


@compiled_reordering
def _make_room(packed: Packed, r: int, is_kept: Mask, first: Indices, following: Indices, n_groups: int) -> int:
    """Move the one member that keeps r out of a group to another group; return the group that is open to r, or -1."""
    for g in range(n_groups):
        blocker, before, n_blockers = -1, -1, 0
        previous, member = -1, first[g]
        while member >= 0 and n_blockers < 2:
            if not is_conflict(packed, r, member):
                blocker, before = member, previous
                n_blockers += 1
            previous, member = member, following[member]
        if n_blockers != 1 or is_kept[blocker]:
            continue
        other = _find_group(packed, blocker, first, following, n_groups, g)
        if other >= 0:
            if before >= 0:
                following[before] = following[blocker]
            else:
                first[g] = following[blocker]
            following[blocker], first[other] = first[other], blocker
            return g
    return -1


@compiled_reordering
def _join_cliques(packed: Packed, waiting: Indices, is_kept: Mask, first: Indices, following: Indices) -> int:
    """Put waiting observations into groups they conflict with throughout; return how many new groups it took.

    first : (g + number waiting,) a member of each group, -1 where there is none yet; following : (T,) the next member.
    """
    n_old = first.shape[0] - waiting.shape[0]
    n_groups = n_old
    for r in waiting:
        g = _find_group(packed, r, first, following, n_groups, -1)
        if g < 0:
            g = _make_room(packed, r, is_kept, first, following, n_groups)
        if g < 0:
            g = n_groups
            n_groups += 1
        following[r], first[g] = first[g], r
    return n_groups - n_old


@compiled_reordering
def _find_partners(packed: Packed, kept: Indices, odd: Indices, witness: Indices) -> None:
    """Give each odd observation the first kept one it conflicts with, if any."""
    for t in odd:
        for k in kept:
            if is_conflict(packed, t, k):
                witness[t] = k
                break


def _exclude_by_cycle(
    packed: Packed, t: int, owner: Indices, closure: Array, following: Indices
) -> list[tuple[int, int, int]]:
    """Return the cycle by which other observations exclude t, as (owner, p, q); empty if there is none."""
    if packed.kind[t] not in (PIVOT, TIGHT):
        return []
    side, log_a = packed.side[t], packed.log_price[t]
    bought, left = np.flatnonzero((side == ABOVE) | (side == AT)), np.flatnonzero((side == BELOW) | (side == AT))
    if bought.size == 0 or left.size == 0:
        return []
    sums = closure[np.ix_(bought, left)] + log_a[left][None, :] - log_a[bought][:, None]
    sums[bought[:, None] == left[None, :]] = np.inf
    at = np.unravel_index(int(np.argmin(sums)), sums.shape)
    if sums[at] > 1e-8:
        return []
    i, j = int(bought[at[0]]), int(left[at[1]])
    cycle, p = [(t, j, i)], i
    while p != j:
        q = int(following[p, j])
        cycle.append((int(owner[p, q]), p, q))
        p = q
    return cycle if is_closed_exactly(packed, cycle) else []


def _pack_cycles(packed: Packed, free: Mask, waiting: list[int]) -> list[int]:
    """Exclude waiting observations by cycles through free ones, which are used up; return those still waiting."""
    left: list[int] = []
    is_stale = True
    for t in waiting:
        if is_stale:
            w, owner = tighten(packed, free)
            closure, following = close_paths(w)
            is_stale = False
        cycle = _exclude_by_cycle(packed, t, owner, closure, following)
        if cycle:
            free[[o for o, _, _ in cycle[1:]]] = False
            is_stale = True
        else:
            left.append(t)
    return left


def certify(packed: Packed, is_kept: Mask) -> Certificate:
    """Return the bound that conflicts and cycles prove; `is_kept` marks observations that share a utility."""
    kept, odd = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    mate_of_kept, mate_of_odd = np.full(kept.size, -1), np.full(odd.size, -1)
    if kept.size:
        _match(packed, kept, odd, mate_of_kept, mate_of_odd)
    witness = np.full(is_kept.size, -1)
    is_matched = mate_of_odd >= 0
    witness[odd[is_matched]] = kept[mate_of_odd[is_matched]]
    waiting = odd[~is_matched]
    if not waiting.size:
        return Certificate(int(kept.size), witness)
    is_free = is_kept.copy()
    is_free[witness[odd[is_matched]]] = False
    left = _pack_cycles(packed, is_free, waiting.tolist())
    first = np.concatenate([kept[is_free[kept] | (mate_of_kept >= 0)], np.full(len(left), -1)])
    following = np.full(is_kept.size, -1)
    following[witness[odd[is_matched]]] = odd[is_matched]
    n_new = _join_cliques(packed, np.array(left, np.int64), is_kept, first, following)
    _find_partners(packed, kept, waiting, witness)
    return Certificate(int(kept.size) + n_new, witness)


def find_excluders(packed: Packed, is_kept: Mask, t: int) -> tuple[int, ...]:
    """Return kept observations that exclude t, one if one is enough; () if t could join them."""
    kept = np.flatnonzero(is_kept)
    witness = np.full(is_kept.size, -1)
    _find_partners(packed, kept, np.array([t]), witness)
    if witness[t] >= 0:
        return (int(witness[t]),)
    w, owner = tighten(packed, is_kept)
    cycle = _exclude_by_cycle(packed, t, owner, *close_paths(w))
    return tuple(sorted({o for o, _, _ in cycle[1:]}))
