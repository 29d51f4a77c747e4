# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's estimator: one cloud of draws from the law, shared by all observations, and how many fall in each region.

A run of Algorithm 1 asks 10¹⁰ times whether a utility lies in a region, so the cloud is stored good by good and in
words of 64 draws. Signs come first: bit k of a word says u_i ≥ 0 for draw k, and one AND per good leaves the draws with
the right signs. What remains are comparisons of two ratios u_i/a_i. While many draws are left they are made on whole
words, which vector units do; once few are left, on a list of those that survive, the likeliest to fail first.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from stochpref.checks import check_rng
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, BELOW, DEGENERATE, PIVOT, SLACK
from stochpref.laws import VonMisesFisher
from stochpref.mass.monte_carlo import Sample
from stochpref.regions import Regions
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
Indices = NDArray[np.int64]

_WORD: Final = 64
_CROWD: Final = 10  # compare whole words while more than one draw in so many is left
_BLOCK = 64
_NONE: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
_ALL: Final = np.uint64(2**64 - 1)


class Cloud(NamedTuple):
    """Draws from one law.

    utilities : (n, 64 W) good by good, filled up with zeros.
    signs : (n, W) bit k of word w is set if the draw 64 w + k has u_i ≥ 0; never set beyond the last draw.
    order : (n,) goods by falling mean, in which inequalities are tried.
    size : draws.
    """

    utilities: Array
    signs: Words
    order: Indices
    size: int


class Survivors(NamedTuple):
    """Working memory of one thread: words (W,), surviving draws (64 W,), their shadow prices (64 W,), goods (2, n)."""

    words: Words
    draws: Indices
    shadow: Array
    goods: Indices


def _count_bits(context: Any, word: Any) -> Any:  # noqa: ARG001  (numba's signature)
    return types.uint64(types.uint64), lambda _c, builder, _s, args: builder.ctpop(args[0])


def _first_bit(context: Any, word: Any) -> Any:  # noqa: ARG001
    zero_is_undefined = ir.Constant(ir.IntType(1), 1)
    return types.uint64(types.uint64), lambda _c, builder, _s, args: builder.cttz(args[0], zero_is_undefined)


_n_bits: Any = intrinsic(_count_bits)
_lowest: Any = intrinsic(_first_bit)


@compiled
def _spread(normals: Array, mean: Array, below: Array, above: Array, size: int, signs: Words) -> None:
    """Turn normals (n, 64 W) into draws at heights d = 1 - μ·u (k,), in place; `above` is 2 - d.

    A draw is (1 - d) μ + √(d (2 - d)) v, v the unit vector along the part of a Gaussian vector across μ.
    """
    n, n_columns = normals.shape
    along, squares = np.zeros(n_columns), np.zeros(n_columns)
    for i in range(n):
        for k in range(n_columns):
            along[k] += mean[i] * normals[i, k]
            squares[k] += normals[i, k] * normals[i, k]
    for k in range(size):
        stretch = np.sqrt(below[k] * above[k] / (squares[k] - along[k] * along[k]))
        along[k], squares[k] = 1.0 - below[k] - stretch * along[k], stretch
    for i in range(n):
        for k in range(size):
            normals[i, k] = mean[i] * along[k] + squares[k] * normals[i, k]
        normals[i, size:] = 0.0
        for w in range(signs.shape[1]):
            word = _NONE
            for b in range(_WORD):
                word |= np.uint64(normals[i, _WORD * w + b] >= 0.0) << np.uint64(b)
            signs[i, w] = word
        if size % _WORD != 0:
            signs[i, -1] &= (_ONE << np.uint64(size % _WORD)) - _ONE


def draw_cloud(h: Array, n_draws: int, *, rng: np.random.Generator) -> Cloud:
    """Return a cloud of draws from the von Mises–Fisher law with h = κμ."""
    n, kappa = len(h), float(np.linalg.norm(h))
    direction = h / kappa if kappa > 0 else np.eye(n)[0]
    below, above = VonMisesFisher(direction, kappa).draw_heights(n_draws, check_rng(rng))
    n_words = -(-n_draws // _WORD)
    utilities = rng.standard_normal((n, _WORD * n_words))
    signs = np.empty((n, n_words), np.uint64)
    _spread(utilities, direction, below, above, n_draws, signs)
    return Cloud(utilities, signs, np.argsort(-direction, kind="stable"), n_draws)


@compiled
def _keep_signs(cloud: Cloud, kind: int, side: NDArray[np.int8], pivot: int, words: Words) -> None:
    """Mark the draws in which goods bought are wanted and, with money left, goods not bought are not."""
    words[:] = _ALL
    if cloud.size % _WORD != 0:
        words[-1] = (_ONE << np.uint64(cloud.size % _WORD)) - _ONE
    for i in range(side.shape[0]):
        if side[i] == ABOVE or i == pivot:
            for w in range(words.shape[0]):
                words[w] &= cloud.signs[i, w]
        elif side[i] == BELOW and kind == SLACK:
            for w in range(words.shape[0]):
                words[w] &= ~cloud.signs[i, w]


@compiled
def _total(words: Words) -> Any:
    """Return how many draws are marked."""
    count = _NONE
    for w in range(words.shape[0]):
        count += _n_bits(words[w])
    return np.int64(count)


@compiled
def _keep_ordered(utilities: Array, slope: Array, high: int, low: int, words: Words) -> int:
    """Unmark draws in which good `high` is worth less for its money than good `low`; return how many are left."""
    scale, upper, lower = slope[low] / slope[high], utilities[high], utilities[low]
    for w in range(words.shape[0]):
        word = _NONE
        for b in range(_WORD):
            word |= np.uint64(upper[_WORD * w + b] * scale >= lower[_WORD * w + b]) << np.uint64(b)
        words[w] &= word
    return _total(words)


@compiled
def _list_draws(words: Words, draws: Indices) -> int:
    """Write the marked draws to a list and return their number."""
    count = 0
    for w in range(words.shape[0]):
        left = words[w]
        while left != _NONE:
            draws[count] = _WORD * w + np.int64(_lowest(left))
            left &= left - _ONE
            count += 1
    return count


@compiled
def _keep_listed(utility: Array, slope: float, sign: float, scratch: Survivors, count: int) -> int:
    """Keep the listed draws in which a good is worth its money at the shadow price (sign 1) or is not (sign -1)."""
    kept, draws, shadow, signed, limit = 0, scratch.draws, scratch.shadow, sign, sign * slope
    for r in range(count):
        k, price = draws[r], shadow[r]
        draws[kept], shadow[kept] = k, price
        kept += signed * utility[k] >= limit * price
    return kept


@compiled
def _finish_listed(
    cloud: Cloud, slope: Array, pivot: int, above: Indices, below: Indices, scratch: Survivors, count: int
) -> int:
    """Test listed draws against every inequality; return how many pass."""
    utilities, draws, shadow = cloud.utilities, scratch.draws, scratch.shadow
    first = pivot if pivot >= 0 else above[0]
    inverse = 1.0 / slope[first]
    for r in range(count):
        shadow[r] = utilities[first, draws[r]] * inverse
    if pivot < 0:
        for i in above[1:]:
            inverse = 1.0 / slope[i]
            for r in range(count):
                shadow[r] = min(shadow[r], utilities[i, draws[r]] * inverse)
    for j in below:
        if count > 0:
            count = _keep_listed(utilities[j], slope[j], -1.0, scratch, count)
    if pivot >= 0:
        for i in above:
            if count > 0:
                count = _keep_listed(utilities[i], slope[i], 1.0, scratch, count)
    return count


@compiled
def _keep_crowd(
    cloud: Cloud, slope: Array, pivot: int, above: Indices, below: Indices, words: Words
) -> tuple[int, bool]:
    """Compare whole words while many draws are left; return how many are, and whether every inequality was tried.

    Tight: every good bought against every good not bought. Pivot: each against the pivot.
    """
    few = cloud.size // _CROWD
    left = _total(words)
    for j in below:
        if pivot >= 0:
            if left <= few:
                return left, False
            left = _keep_ordered(cloud.utilities, slope, pivot, j, words)
            continue
        for i in above:
            if left <= few:
                return left, False
            left = _keep_ordered(cloud.utilities, slope, i, j, words)
    if pivot >= 0:
        for i in above:
            if left <= few:
                return left, False
            left = _keep_ordered(cloud.utilities, slope, i, pivot, words)
    return left, True


@compiled
def _select(side: NDArray[np.int8], order: Indices, goods: Indices) -> tuple[Indices, Indices]:
    """Return goods bought, the least wanted first, and goods not bought, the most wanted first."""
    n, n_above, n_below = len(order), 0, 0
    for p in range(n):
        if side[order[n - 1 - p]] == ABOVE:
            goods[0, n_above] = order[n - 1 - p]
            n_above += 1
        if side[order[p]] == BELOW:
            goods[1, n_below] = order[p]
            n_below += 1
    return goods[0, :n_above], goods[1, :n_below]


@compiled
def _count_rows(
    cloud: Cloud,
    kind: NDArray[np.int8],
    side: NDArray[np.int8],
    slope: Array,
    pivot: NDArray[np.int32],
    scratch: Survivors,
    hits: Indices,
    sums: Array,
    start: int,
    stop: int,
) -> None:
    """Fill hits[start:stop] and, where they are wanted, the sums of the draws inside."""
    for t in range(start, stop):
        hits[t] = 0
        if kind[t] == DEGENERATE:
            continue
        _keep_signs(cloud, kind[t], side[t], pivot[t], scratch.words)
        above, below = _select(side[t], cloud.order, scratch.goods)
        is_done = kind[t] == SLACK or (kind[t] != PIVOT and len(above) * len(below) == 0)
        if is_done:
            count = _total(scratch.words)
        else:
            count, is_done = _keep_crowd(cloud, slope[t], pivot[t], above, below, scratch.words)
        if not is_done or sums.shape[0] > 0:
            count = _list_draws(scratch.words, scratch.draws)
        if not is_done:
            count = _finish_listed(cloud, slope[t], pivot[t], above, below, scratch, count)
        hits[t] = count
        for i in range(sums.shape[1] if sums.shape[0] > 0 else 0):
            for r in range(count):
                sums[t, i] += cloud.utilities[i, scratch.draws[r]]


def count_hits(regions: Regions, cloud: Cloud, *, with_sums: bool = False) -> tuple[Indices, Array]:
    """Return (T,) how many draws of a cloud each region holds and, if asked for, their sums (T, n), else (0, n)."""
    if regions.corners is not None:
        raise InvalidArgument(
            "the paper's cloud is counted for one budget; received problem 'linear'; take method='exact', and "
            "leave the sampler to 'auto'"
        )
    count, n = len(regions), regions.n_goods
    hits, sums = np.zeros(count, np.int64), np.zeros((count if with_sums else 0, n))

    def block(start: int, stop: int) -> None:
        n_columns = cloud.utilities.shape[1]
        words, goods = np.empty(n_columns // _WORD, np.uint64), np.empty((2, n), np.int64)
        scratch = Survivors(words, np.empty(n_columns, np.int64), np.empty(n_columns), goods)
        _count_rows(
            cloud, regions.kind_code, regions.side, regions.slope, regions.pivot, scratch, hits, sums, start, stop
        )

    for_blocks(block, count, _BLOCK)
    return hits, sums


def cloud_log_mass(regions: Regions, h: Array, *, n_draws: int, rng: np.random.Generator) -> Sample:
    """Return the log of the share of a common cloud of draws that falls in each region; -inf where none does."""
    hits, sums = count_hits(regions, draw_cloud(h, n_draws, rng=rng), with_sums=True)
    share = hits / n_draws
    with np.errstate(divide="ignore", invalid="ignore"):
        return Sample(np.log(share), np.sqrt((1 - share) / hits), sums / hits[:, None])
