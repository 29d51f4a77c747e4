# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Utilities drawn inside regions under a mixture: what segments are fitted to where everybody has a menu of their own.

Each region keeps one utility, which moves as in Gibbs sampling: its segment is drawn given the utility, then every
coordinate within its interval under that segment's law. What was visited, weighed by the mixture that it was drawn
under, gives likelihoods near that mixture up to a constant a region, with their gradients.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.orthants import normalise, pick_law
from stochpref.posterior.samplers.interval_moves import Wish, move_all
from stochpref.posterior.samplers.streams import start_stream
from stochpref.problems.interval_kernels import MenuRows, make_pass, whole_first
from stochpref.problems.interval_regions import IntervalRegions, check_lists
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]

_BLOCK: Final = 8


def draw_inside(
    regions: IntervalRegions, laws: Array, log_parts: Array, state: Array, *, n_kept: int, n_burnt: int, every: int,
    seed: int, round_: int,
) -> tuple[Array, Array]:  # fmt: skip
    """Move utilities (D, n) inside their regions, in place; return those on the way (D, n_kept, n) and densities.

    Parameters
    ----------
    laws, log_parts : (K, n) h, and (D, K) such that Σ_k exp(log_parts + h_k·u) is the density that is returned.
    n_burnt, every : sweeps before the first that is kept, and from one to the next.
    seed, round_ : of the random numbers.
    """
    d, n = state.shape
    points, density = np.empty((d, n_kept, n)), np.empty((d, n_kept))
    is_found = np.ones(d, np.bool_)
    key, parts, h = np.uint64(seed & (2**64 - 1)), np.ascontiguousarray(log_parts), np.ascontiguousarray(laws)

    def block(start: int, stop: int) -> None:
        _walk(
            regions.rows, h, parts, state, (n_burnt, every), (key, round_), points, density, is_found, start, stop
        )  # fmt: skip

    for_blocks(block, d, _BLOCK)
    check_lists(bool(is_found.all()))
    return points, density


@compiled
def _walk(
    rows: MenuRows, laws: Array, parts: Array, state: Array, pace: tuple[int, int], key: tuple[np.uint64, int],
    points: Array, density: Array, is_found: NDArray[np.bool_], start: int, stop: int,
) -> None:  # fmt: skip
    n, n_kept = laws.shape[1], points.shape[1]
    memory, stream, chances = make_pass(n), np.empty(2, np.uint64), np.empty(laws.shape[0])
    costs, values, order = np.empty(1024), np.empty(1024), np.arange(n)
    whole_first(rows.is_whole, order)
    wish = Wish(np.full(n, np.inf), -1, np.empty((2, 0)))
    for t in range(start, stop):
        u = state[t]
        start_stream(stream, key[0], 0, key[1], t)
        for sweep in range(pace[0] + n_kept * pace[1]):
            h = laws[pick_law(u, laws, parts[t], chances, stream)]
            costs, values, share = move_all(u, h, rows, t, order, n - 2.0, wish, memory, costs, values, stream)
            if share < 0.0:
                is_found[t] = False
                break
            normalise(u)
            kept = (sweep - pace[0] + 1) // pace[1] - 1
            if sweep >= pace[0] and (sweep - pace[0] + 1) % pace[1] == 0:
                highest, total = -np.inf, 0.0
                for k in range(laws.shape[0]):
                    chances[k] = parts[t, k]
                    for i in range(n):
                        chances[k] += laws[k, i] * u[i]
                    highest = max(highest, chances[k])
                for k in range(laws.shape[0]):
                    total += math.exp(chances[k] - highest)
                density[t, kept] = highest + math.log(total)
                points[t, kept] = u
