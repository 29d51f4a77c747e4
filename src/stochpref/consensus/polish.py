# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Better utilities where the proof fails: a heat bath that moves one good at a time while it cools.

As a function of one u_i every region is an interval, so the count is a step function whose end points can be sorted.
A piece is drawn in proportion to exp(β·count), a point uniformly inside it, and β grows from sweep to sweep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.consensus.objective import Array, Packed
from stochpref.kinds import ABOVE, BELOW, PIVOT, SLACK
from stochpref.threads import compiled, for_blocks

BETAS = (0.1, 6.0)
N_SWEEPS = 120


@compiled
def _interval(  # noqa: C901, PLR0911, PLR0912
    packed: Packed, t: int, i: int, u: Array, least: float
) -> tuple[float, float]:
    """Return the open interval of u_i for which observation t is consistent; (inf, -inf) if there is none.

    `least` is how far, in u/a, an inequality must hold: zero for strictness alone.
    """
    a, side, kind = packed.slope[t], packed.side[t], packed.kind[t]
    n = u.shape[0]
    if kind == SLACK:
        for j in range(n):
            if j != i and ((side[j] == ABOVE and u[j] <= least * a[j]) or (side[j] == BELOW and u[j] >= -least * a[j])):
                return np.inf, -np.inf
        if side[i] == ABOVE:
            return least * a[i], np.inf
        return -np.inf, (-least * a[i] if side[i] == BELOW else np.inf)
    lowest, highest = np.inf, 0.0  # lowest worth bought, highest worth left, the good itself not counted
    for j in range(n):
        if j != i:
            if side[j] == ABOVE:
                lowest = min(lowest, u[j] / a[j])
            elif side[j] == BELOW:
                highest = max(highest, u[j] / a[j])
    if kind == PIVOT:
        f = packed.pivot[t]
        if f == i:
            return a[i] * (highest + least), a[i] * (lowest - least)
        price = u[f] / a[f]
        if price <= highest + least or price >= lowest - least:
            return np.inf, -np.inf
        if side[i] == ABOVE:
            return a[i] * (price + least), np.inf
        return -np.inf, (a[i] * (price - least) if side[i] == BELOW else np.inf)
    if lowest <= highest + least:
        return np.inf, -np.inf
    if side[i] == ABOVE:
        return a[i] * (highest + least), np.inf
    return -np.inf, (a[i] * (lowest - least) if side[i] == BELOW else np.inf)


@compiled
def _gather_ends(
    packed: Packed, i: int, u: Array, least: float, ends: Array, steps: NDArray[np.int64]
) -> tuple[int, int]:
    """Write where the count steps up or down along u_i; return the number of ends and the count far to the left."""
    n_left, n_ends = 0, 0
    for t in range(packed.pivot.shape[0]):
        low, high = _interval(packed, t, i, u, least)
        if not low < high:
            continue
        if low > -np.inf:
            ends[n_ends], steps[n_ends] = low, 1
            n_ends += 1
        else:
            n_left += 1
        if high < np.inf:
            ends[n_ends], steps[n_ends] = high, -1
            n_ends += 1
    return n_ends, n_left


@compiled
def _draw_piece(counts: NDArray[np.int64], beta: float, uniform: float) -> int:
    """Draw a piece in proportion to exp(β·count); a negative count marks an empty one."""
    most = 0
    for count in counts:
        most = max(most, count)
    total = 0.0
    for count in counts:
        total += np.exp(beta * (count - most)) if count >= 0 else 0.0
    target, piece = uniform * total, -1
    for k in range(counts.shape[0]):
        if counts[k] >= 0:
            piece = k
            target -= np.exp(beta * (counts[k] - most))
            if target < 0.0:
                break
    return piece


@compiled
def _move(
    packed: Packed, i: int, u: Array, least: float, beta: float, uniforms: Array, ends: Array, steps: NDArray[np.int64]
) -> int:
    """Draw u_i from the heat bath and return the count of the new utility."""
    n_ends, count = _gather_ends(packed, i, u, least, ends, steps)
    scale = 2.0 * np.sqrt(np.sum(u * u) / u.shape[0])
    if n_ends == 0:
        u[i] = scale * (uniforms[1] - 0.5)
        return count
    order = np.argsort(ends[:n_ends])
    low, high = np.empty(n_ends + 1), np.empty(n_ends + 1)
    counts = np.empty(n_ends + 1, np.int64)
    for k in range(n_ends + 1):  # the outer pieces have no end: they are cut at the scale of the utility
        count += steps[order[k - 1]] if k > 0 else 0
        low[k] = ends[order[k - 1]] if k > 0 else ends[order[0]] - scale
        high[k] = ends[order[k]] if k < n_ends else ends[order[n_ends - 1]] + scale
        counts[k] = count if low[k] < high[k] else -1
    piece = _draw_piece(counts, beta, uniforms[0])
    u[i] = low[piece] + (high[piece] - low[piece]) * uniforms[1]
    return counts[piece]


@compiled
def _count_held(packed: Packed, u: Array, least: float) -> int:
    """Return how many regions hold u with the margin: those whose interval in the first good holds it."""
    count = 0
    for t in range(packed.pivot.shape[0]):
        low, high = _interval(packed, t, 0, u, least)
        count += low < u[0] < high
    return count


@compiled
def _cool(packed: Packed, u: Array, margin: float, betas: Array, uniforms: Array, best: Array) -> int:
    """Run one chain; the best utility is written to `best` and its count returned."""
    n = u.shape[0]
    ends = np.empty(2 * packed.pivot.shape[0])
    steps = np.empty(2 * packed.pivot.shape[0], np.int64)
    record = -1
    for sweep in range(betas.shape[0]):
        u /= np.sqrt(np.sum(u * u))
        for i in range(n):
            least = margin * np.sqrt(np.sum(u * u))
            count = _move(packed, i, u, least, betas[sweep], uniforms[sweep, i], ends, steps)
            if margin > 0.0:  # the move changed |u|, and with it what the margin asks of every observation
                count = _count_held(packed, u, margin * np.sqrt(np.sum(u * u)))
            if count > record:
                record = count
                best[:] = u
    return record


def cool(
    packed: Packed,
    starts: Array,
    *,
    rng: np.random.Generator,
    margin: float = 0.0,
    n_sweeps: int = N_SWEEPS,
    betas: tuple[float, float] = BETAS,
) -> Array:
    """Return the best utility each chain visits, (k, n).

    Parameters
    ----------
    starts : (k, n) where the chains begin; each has its own stream of random numbers, so threads do not matter.
    margin : in units of u/a in the currency of the data.
    betas : β of the first and the last sweep; a high first one stays near the start.
    """
    n_chains, n = starts.shape
    cooling = np.geomspace(*betas, n_sweeps)
    streams = rng.spawn(n_chains)
    found = starts.copy()

    def chains(start: int, stop: int) -> None:
        for k in range(start, stop):
            uniforms = streams[k].random((n_sweeps, n, 2))
            _cool(packed, starts[k].copy(), margin, cooling, uniforms, found[k])

    for_blocks(chains, n_chains, 1)
    return found
