# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Utilities drawn inside polyhedral cones under N(h, I): exact Hamiltonian moves that bounce off the walls.

From z with velocity p ~ N(0, I) the path is z(s) = h + (z - h) cos s + p sin s. It meets the wall g·z = 0 where
g·h + R cos(s - φ) = 0, with R cos φ = g·(z - h), R sin φ = g·p, for the first time at s = φ + arccos(-g·h / R), and is
reflected there. Nothing is ever rejected but by rounding; a quarter of a turn forgets z but for the walls.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]

_TURN: Final = 2.0 * math.pi
_MOST_BOUNCES: Final = 500


@inlined
def _normal(stream: Stream) -> float:
    return math.sqrt(-2.0 * math.log(uniform(stream))) * math.cos(_TURN * uniform(stream))


@inlined
def _next_wall(walls: Array, level: Array, gap: Array, speed: Array) -> tuple[float, int]:
    """Return when the path meets a wall first, and which; -1 if it meets none."""
    first, wall = np.inf, -1
    for j in range(level.shape[0]):
        a, b = 0.0, 0.0
        for i in range(gap.shape[0]):
            a += walls[j, i] * gap[i]
            b += walls[j, i] * speed[i]
        radius = math.sqrt(a * a + b * b)
        if radius <= abs(level[j]):
            continue
        s = math.atan2(b, a) + math.acos(-level[j] / radius)
        if s < 0.0:
            s += _TURN
        elif s >= _TURN:
            s -= _TURN
        if s < first:
            first, wall = s, j
    return first, wall


@inlined
def _advance(gap: Array, speed: Array, s: float) -> None:
    c, n = math.cos(s), math.sin(s)
    for i in range(gap.shape[0]):
        g, p = gap[i], speed[i]
        gap[i] = g * c + p * n
        speed[i] = p * c - g * n


@inlined
def _reflect(speed: Array, wall: Array) -> None:
    along = 0.0
    for i in range(speed.shape[0]):
        along += wall[i] * speed[i]
    for i in range(speed.shape[0]):
        speed[i] -= 2.0 * along * wall[i]


@compiled
def bounce_rows(
    walls: Array,
    count: NDArray[np.int64],
    mean: Array,
    key: tuple[np.uint64, int, int],
    latents: Array,
    moved: Array,
    start: int,
    stop: int,
) -> None:
    """Move each row of latents (T, d) inside the first count[t] of its walls (T, cap, d), unit rows g, g·z >= 0.

    A row that rounding took outside, or that bounced too often, stays.
    """
    d = mean.shape[0]
    gap, speed, level = np.empty(d), np.empty(d), np.empty(walls.shape[1])
    stream = np.empty(2, np.uint64)
    for t in range(start, stop):
        start_stream(stream, key[0], key[1], key[2], t)
        own = walls[t, : count[t]]
        for j in range(count[t]):
            level[j] = 0.0
            for i in range(d):
                level[j] += own[j, i] * mean[i]
        for i in range(d):
            gap[i] = latents[t, i] - mean[i]
            speed[i] = _normal(stream)
        left, bounces = 0.5 * math.pi, 0
        while bounces <= _MOST_BOUNCES:
            s, wall = _next_wall(own, level[: count[t]], gap, speed)
            if wall < 0 or s >= left:
                _advance(gap, speed, left)
                break
            _advance(gap, speed, s)
            _reflect(speed, own[wall])
            left -= s
            bounces += 1
        is_inside = bounces <= _MOST_BOUNCES
        for j in range(count[t]):
            a = level[j]
            for i in range(d):
                a += own[j, i] * gap[i]
            is_inside = is_inside and a >= 0.0
        for i in range(d):
            moved[t, i] = mean[i] + gap[i] if is_inside else latents[t, i]
