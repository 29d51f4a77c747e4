# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which two observations cannot share a utility. Pairs are compared when asked for; edges are never stored.

Observations s and t with shadow prices λ_s, λ_t > 0, ρ = λ_s/λ_t: a good in B'_s and N'_t has a_s λ_s < u < a_t λ_t,
so ρ < a_t/a_s; a good in N'_s and B'_t gives ρ > a_t/a_s; a pivot they share fixes ρ. They conflict iff no ρ is left.
A slack observation has λ = 0 and conflicts by signs alone.

Rounding may miss a conflict, never invent one, so every bound built on conflicts holds: products of prices that
differ by more than their rounding errors settle most pairs, and the rest are compared exactly, bit for bit. (A utility
that `Regions.contains` accepts strictly satisfies the inequalities in real arithmetic too: rounding a division is
monotone.)
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.objective import Array, Mask, Packed
from stochpref.threads import compiled, compiled_reordering, for_blocks, inlined_reordering

_ROUNDING = 2e-15  # two roundings each side come to 2**-51 = 4.5e-16
_TINY, _HUGE = 1e-280, 1e280  # beyond these a product may have over- or underflowed
_BLOCK = 256
_CLUSTER_BLOCK = 2048

_U1 = np.uint64(1)
_U20, _U32, _U52 = np.uint64(20), np.uint64(32), np.uint64(52)
_LOW32 = np.uint64(0xFFFFFFFF)
_FRACTION = np.uint64((1 << 52) - 1)
_HIDDEN = np.uint64(1 << 52)


@compiled
def _product(x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the 106-bit product of two 53-bit numbers as high and low words."""
    x_low, x_high, y_low, y_high = x & _LOW32, x >> _U32, y & _LOW32, y >> _U32
    ll, lh, hl, hh = x_low * y_low, x_low * y_high, x_high * y_low, x_high * y_high
    middle = (ll >> _U32) + (lh & _LOW32) + (hl & _LOW32)
    return hh + (lh >> _U32) + (hl >> _U32) + (middle >> _U32), (ll & _LOW32) | (middle << _U32)


@compiled
def is_product_at_least(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> bool:
    """Tell whether a·b ≥ c·d in real arithmetic, for the bits of positive doubles; subnormal numbers answer no."""
    e_a, e_b, e_c, e_d = np.int64(a >> _U52), np.int64(b >> _U52), np.int64(c >> _U52), np.int64(d >> _U52)
    if min(e_a, e_b, e_c, e_d) == 0:
        return False
    shift = e_a + e_b - e_c - e_d
    if shift >= 2:  # the products of fractions lie in [2**104, 2**106)
        return True
    if shift <= -2:
        return False
    high, low = _product((a & _FRACTION) | _HIDDEN, (b & _FRACTION) | _HIDDEN)
    high_other, low_other = _product((c & _FRACTION) | _HIDDEN, (d & _FRACTION) | _HIDDEN)
    if shift == 1:
        high, low = (high << _U1) | (low >> np.uint64(63)), low << _U1
    elif shift == -1:
        high_other, low_other = (high_other << _U1) | (low_other >> np.uint64(63)), low_other << _U1
    return bool(high > high_other or (high == high_other and low >= low_other))


@compiled
def _is_conflict_exactly(packed: Packed, s: int, t: int) -> bool:
    """Settle a close pair of binding observations: the extreme ratios by division, then one exact comparison each."""
    shared = packed.pivot[s] if packed.pivot[s] == packed.pivot[t] else -1
    lowest, highest = np.inf, 0.0
    at_lowest, at_highest = -1, -1
    for i in range(packed.slope.shape[1]):
        if i == shared:
            continue
        ratio = packed.slope[t, i] / packed.slope[s, i]
        if packed.upper_inverse[s, i] < np.inf and packed.upper_price[t, i] < np.inf and ratio < lowest:
            lowest, at_lowest = ratio, i
        if packed.lower_inverse[s, i] > 0.0 and packed.lower_price[t, i] > 0.0 and ratio > highest:
            highest, at_highest = ratio, i
    b = packed.bits
    if shared >= 0:  # ρ is the shared ratio: it must lie strictly between the others
        if at_lowest >= 0 and is_product_at_least(b[t, shared], b[s, at_lowest], b[t, at_lowest], b[s, shared]):
            return True
        return at_highest >= 0 and is_product_at_least(b[t, at_highest], b[s, shared], b[t, shared], b[s, at_highest])
    if at_lowest < 0 or at_highest < 0:
        return False
    return is_product_at_least(b[t, at_highest], b[s, at_lowest], b[t, at_lowest], b[s, at_highest])


@inlined_reordering
def _bounds(
    upper_price: Array, upper_inverse: Array, lower_price: Array, lower_inverse: Array, first: int, last: int
) -> tuple[float, float]:
    """Return the largest lower and the smallest upper bound of ρ from goods first ≤ i < last."""
    low, high = 0.0, np.inf
    for i in range(first, last):
        high = min(high, upper_price[i] * upper_inverse[i])
        low = max(low, lower_price[i] * lower_inverse[i])
    return low, high


@inlined_reordering
def is_conflict(packed: Packed, s: int, t: int) -> bool:  # noqa: PLR0911
    """Tell whether no utility satisfies both observations."""
    for w in range(packed.positive.shape[1]):
        if (packed.positive[s, w] & packed.negative[t, w]) | (packed.negative[s, w] & packed.positive[t, w]):
            return True
    n = packed.slope.shape[1]
    p, q = packed.upper_price[t], packed.upper_inverse[s]
    p_low, q_low = packed.lower_price[t], packed.lower_inverse[s]
    low, high = _bounds(p, q, p_low, q_low, 0, n)
    if low == 0.0 or high == np.inf:
        return False
    if not (high > _TINY and low < _HUGE):
        return _is_conflict_exactly(packed, s, t)
    f = packed.pivot[s]
    if f >= 0 and f == packed.pivot[t]:
        shared = packed.slope[t, f] / packed.slope[s, f]
        if high < shared * (1.0 - _ROUNDING) or low > shared * (1.0 + _ROUNDING):
            return True
        low, high = _bounds(p, q, p_low, q_low, 0, f)
        low_after, high_after = _bounds(p, q, p_low, q_low, f + 1, n)
        low, high = max(low, low_after), min(high, high_after)
        if low < shared * (1.0 - _ROUNDING) and high > shared * (1.0 + _ROUNDING):
            return False
        return packed.is_whole or _is_conflict_exactly(packed, s, t)
    if low > high * (1.0 + _ROUNDING):
        return True
    if low < high * (1.0 - _ROUNDING):
        return False
    return packed.is_whole or _is_conflict_exactly(packed, s, t)


@compiled_reordering
def _count_pairs(packed: Packed, counts: NDArray[np.int32], start: int, stop: int) -> None:
    for s in range(start, stop):
        for t in range(s + 1, packed.pivot.shape[0]):
            if is_conflict(packed, s, t):
                counts[s] += 1
                counts[t] += 1


@compiled_reordering
def _row(packed: Packed, s: int, row: Mask, start: int, stop: int) -> None:
    for t in range(start, stop):
        row[t] = t != s and is_conflict(packed, s, t)


@compiled_reordering
def _test_pairs(packed: Packed, first: NDArray[np.int64], second: NDArray[np.int64], answer: Mask) -> None:
    for k in range(first.shape[0]):
        answer[k] = is_conflict(packed, first[k], second[k])


def count_conflicts(packed: Packed, client: Any = None) -> NDArray[np.int64]:
    """Return the number of observations each one conflicts with, (T,); O(n T²/2) comparisons on all threads.

    With a `distributed.Client`, on the workers of its cluster.
    """
    n_rows = packed.pivot.shape[0]
    total, lock = np.zeros(n_rows, np.int64), Lock()
    if client is not None:
        from distributed import as_completed  # noqa: PLC0415

        everywhere = client.submit(_as_it_is, packed, pure=False)
        starts = list(range(0, n_rows, _CLUSTER_BLOCK))
        counted = client.map(_count_rows, [everywhere] * len(starts), starts, pure=False)
        for future in as_completed(counted, loop=client.loop):  # one by one: together they are T numbers a block
            total += future.result()
            future.release()
        return total

    def block(start: int, stop: int) -> None:
        counts = np.zeros(n_rows, np.int32)
        _count_pairs(packed, counts, start, stop)
        with lock:  # whole numbers: their order does not matter
            np.add(total, counts, out=total)

    for_blocks(block, n_rows, _BLOCK)
    return total


def _as_it_is(packed: Packed) -> Packed:
    return packed


def _count_rows(packed: Packed, start: int) -> NDArray[np.int32]:
    """Count the conflicts of a block of rows with all rows after them."""
    counts = np.zeros(packed.pivot.shape[0], np.int32)
    _count_pairs(packed, counts, start, min(start + _CLUSTER_BLOCK, counts.shape[0]))
    return counts


def conflicts_of(packed: Packed, s: int) -> Mask:
    """Return the observations that conflict with observation s, (T,)."""
    row = np.empty(packed.pivot.shape[0], np.bool_)
    for_blocks(lambda start, stop: _row(packed, s, row, start, stop), row.shape[0], 4096)
    return row


def conflict_matrix(packed: Packed) -> Mask:
    """Return all conflicts, (T, T): for small problems only."""
    n_rows = packed.pivot.shape[0]
    matrix = np.empty((n_rows, n_rows), np.bool_)

    def block(start: int, stop: int) -> None:
        for s in range(start, stop):
            _row(packed, s, matrix[s], 0, n_rows)

    for_blocks(block, n_rows, 64)
    return matrix


def are_in_conflict(packed: Packed, first: NDArray[np.int64], second: NDArray[np.int64]) -> Mask:
    """Tell for each pair of indices whether the two conflict, (k,)."""
    answer = np.empty(first.shape[0], np.bool_)
    _test_pairs(packed, first, second, answer)
    return answer
