# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The linear relaxation of the cover: a bound, and the observations it already decides.

Keeping the most observations without conflicts has the relaxation max Σ z_t, z_s + z_t ≤ 1 for every conflict. Its
optimum is half-integral and comes from a largest matching between two copies of the observations (Nemhauser and
Trotter 1975): z = 1 can be kept, z = 0 dropped, z = 1/2 is undecided. When the odd observations share a utility of
their own the conflicts are bipartite, nothing is undecided, and a greedy cover may be far off.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.conflicts import is_conflict
from stochpref.consensus.objective import Mask, Packed
from stochpref.threads import compiled, compiled_reordering, for_blocks

LARGEST = 20_000  # observations: the bits of all conflicts take 50 MB

_ONE, _SIX, _63 = np.uint64(1), np.uint64(6), np.uint64(63)
_NONE = np.uint64(0)


class Relaxation(NamedTuple):
    """The solution of the relaxation.

    upper_bound : no more observations are without conflicts.
    is_kept, is_undecided : (T,) where z is 1 and 1/2.
    """

    upper_bound: int
    is_kept: Mask
    is_undecided: Mask


@compiled_reordering
def _fill_bits(packed: Packed, bits: NDArray[np.uint64], start: int, stop: int) -> None:
    for s in range(start, stop):
        for t in range(packed.pivot.shape[0]):
            if t != s and is_conflict(packed, s, t):
                bits[s, t >> 6] |= _ONE << (np.uint64(t) & _63)


def conflict_bits(packed: Packed) -> NDArray[np.uint64]:
    """Return all conflicts as bits, (T, T/64)."""
    n_rows = packed.pivot.shape[0]
    bits = np.zeros((n_rows, -(-n_rows // 64)), np.uint64)
    for_blocks(lambda start, stop: _fill_bits(packed, bits, start, stop), n_rows, 64)
    return bits


@compiled
def _lowest(word: np.uint64) -> int:
    """Return the position of the lowest bit set; a power of two converts to a double exactly."""
    return math.frexp(np.float64(word & (~word + _ONE)))[1] - 1


@compiled
def _match_copies(bits: NDArray[np.uint64], mate_left: NDArray[np.int64], mate_right: NDArray[np.int64]) -> Mask:
    """Match the two copies as far as possible; return which right copies a search from a free left copy reaches."""
    n_rows, n_words = bits.shape
    untried = np.full(n_words, ~_NONE)  # right copies not yet seen by this search nor by a failed one
    came_from = np.empty(n_rows, np.int64)
    queue = np.empty(n_rows + 1, np.int64)
    seen = np.empty(n_rows, np.int64)
    is_reached = np.zeros(n_rows, np.bool_)
    for start in range(n_rows):
        queue[0] = start
        head, tail, n_seen, free = 0, 1, 0, -1
        while head < tail and free < 0:
            x = queue[head]
            head += 1
            for w in range(n_words):
                word = bits[x, w] & untried[w]
                while word != _NONE and free < 0:
                    k = (w << 6) + _lowest(word)
                    word &= word - _ONE
                    untried[w] &= ~(_ONE << (np.uint64(k) & _63))
                    seen[n_seen] = k
                    n_seen += 1
                    came_from[k] = x
                    if mate_right[k] < 0:
                        free = k
                    else:
                        queue[tail] = mate_right[k]
                        tail += 1
                if free >= 0:
                    break
        for m in range(n_seen):
            if free < 0:
                is_reached[seen[m]] = True
            else:
                untried[seen[m] >> 6] |= _ONE << (np.uint64(seen[m]) & _63)
        while free >= 0:
            x = came_from[free]
            previous = mate_left[x]
            mate_right[free], mate_left[x] = x, free
            free = previous if x != start else -1
    return is_reached


def relax(packed: Packed) -> Relaxation:
    """Return the optimum of the relaxation; O(T²) bits and a few searches over them."""
    return relax_conflicts(conflict_bits(packed))


def as_bits(conflict: Mask) -> NDArray[np.uint64]:
    """Return a matrix of conflicts (T, T) as `conflict_bits` does."""
    n_rows = conflict.shape[0]
    padded = np.zeros((n_rows, 8 * -(-n_rows // 64)), np.uint8)
    packed = np.packbits(conflict, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def relax_conflicts(bits: NDArray[np.uint64]) -> Relaxation:
    """Return the same from the conflicts themselves."""
    n_rows = bits.shape[0]
    mate_left, mate_right = np.full(n_rows, -1), np.full(n_rows, -1)
    is_reached_right = _match_copies(bits, mate_left, mate_right)
    # Kőnig: the left copies not reached and the right copies reached cover every conflict.
    is_reached_left = mate_left < 0
    is_reached_left[mate_right[is_reached_right]] = True
    weight = (~is_reached_left).astype(np.int64) + is_reached_right
    n_matched = int((mate_left >= 0).sum())
    return Relaxation(n_rows - -(-n_matched // 2), weight == 0, weight == 1)
