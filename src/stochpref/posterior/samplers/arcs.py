# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Slice moves along a circle: each factor of a density gets a level, whose level set is an arc that cuts the others."""

from __future__ import annotations

import math

from stochpref.posterior.samplers.streams import Stream, uniform
from stochpref.threads import inlined


@inlined
def cut_arc(distance: float, half: float, back: float, ahead: float) -> tuple[float, float]:
    """Cut (back, ahead), how far one may turn either way, to an arc |φ - ψ| <= half with φ - ψ = distance now."""
    distance -= 2.0 * math.pi * math.floor(distance / (2.0 * math.pi) + 0.5)
    return max(min(back, half + distance), 0.0), max(min(ahead, half - distance), 0.0)


@inlined
def half_angle(cosine: float) -> float:
    """Return half the width of {φ : cos φ >= cosine}."""
    return math.acos(min(max(cosine, -1.0), 1.0))


@inlined
def slice_turn(distance: float, length: float, back: float, ahead: float, stream: Stream) -> float:
    """Return how far to turn, at most `back` or `ahead`, in a slice move under exp(length·cos(distance)).

    The level set leaves out an arc about the direction opposite to the mode. Inside the limits that may leave two
    pieces; both are open to the move, or a customer far from the mean would stay on one side for long.
    """
    if length < 1e-12:
        return (back + ahead) * uniform(stream) - back
    distance -= 2.0 * math.pi * math.floor(distance / (2.0 * math.pi) + 0.5)
    left_out = math.pi - half_angle(math.cos(distance) + math.log(uniform(stream)) / length)
    # The arc left out, as turns from here: about π - distance, and once more a full turn before.
    first, second = -math.pi - distance, math.pi - distance
    low_start, low_end = max(first - left_out, -back), min(first + left_out, ahead)
    high_start, high_end = max(second - left_out, -back), min(second + left_out, ahead)
    low_gap, high_gap = max(low_end - low_start, 0.0), max(high_end - high_start, 0.0)
    turn = max(back + ahead - low_gap - high_gap, 0.0) * uniform(stream) - back
    if low_gap > 0.0 and turn >= low_start:
        turn += low_gap
    if high_gap > 0.0 and turn >= high_start:
        turn += high_gap
    return turn
