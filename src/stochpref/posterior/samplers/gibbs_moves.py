# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One sweep of exact moves of a customer's utility inside its region, under the density exp(h·u) on the sphere.

Every move turns u along a circle or half circle, on which each constraint is an arc. It is a slice move: each factor of
the density gets a level below its present value, whose level set is an arc too, and the new angle is uniform on what
all of them share. Nothing is ever rejected and there is no inner loop.

- Pairs: disjoint pairs of goods, (u_i, u_j) = ρ(cos φ, sin φ), density exp(h_i u_i + h_j u_j).
- Meridian, where money binds: u(θ) = cos θ·â + sin θ·v towards the prices, density sin^{n-2}θ exp(h·u). Adding a
  multiple of the prices changes no order of ratios, so only λ ≥ 0 constrains it.
- Blocks, tight regions only: the goods bought against those not bought, density cos^{|B|-1}θ sin^{|N|-1}θ exp(h·u).

Notation: a prices, r_i = u_i/a_i ratios, λ shadow price, `low` the lowest ratio bought, `high` the highest not bought.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, BELOW, PIVOT, TIGHT
from stochpref.posterior.samplers.arcs import cut_arc, half_angle, slice_turn
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.threads import GROUP, compiled, inlined

Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """What all observations of a chain share in one sweep.

    order : (n,) goods; consecutive ones are paired, an odd one out rests.
    angle, length : (K, n // 2) polar form of (h_i, h_j) of each pair, law by law.
    """

    order: NDArray[np.int64]
    angle: Array
    length: Array


@compiled
def draw_pairs(laws: Array, n_rows: int, key: tuple[np.uint64, int, int]) -> Pairs:
    """Pair goods at random for one sweep of one chain with laws h (K, n)."""
    n_laws, n = laws.shape
    stream = np.empty(2, np.uint64)
    start_stream(stream, key[0], key[1], key[2], n_rows + 1)  # rows to T - 1 are observations', row T the law's
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = int(uniform(stream) * (i + 1))
        order[i], order[j] = order[j], order[i]
    angle, length = np.empty((n_laws, n // 2)), np.empty((n_laws, n // 2))
    for law in range(n_laws):
        for k in range(n // 2):
            first, second = laws[law, order[2 * k]], laws[law, order[2 * k + 1]]
            angle[law, k], length[law, k] = math.atan2(second, first), math.hypot(first, second)
    return Pairs(order, angle, length)


@inlined
def _turn_pair(
    u: Array, i: int, j: int, bounds: tuple[float, float, float, float], tie: tuple[float, float],
    angle: float, length: float, stream: Stream,
) -> None:  # fmt: skip
    """Turn (u_i, u_j) within low_i <= u_i <= high_i, low_j <= u_j <= high_j and tie_i u_i + tie_j u_j >= 0."""
    x, y = u[i], u[j]
    radius = math.sqrt(x * x + y * y)
    if radius < 1e-300:
        return
    phi = math.atan2(y, x)
    # An arc may reach further than half a turn to one side; only a circle without limits is cut, opposite to here.
    back, ahead = 2.0 * math.pi, 2.0 * math.pi
    if bounds[0] > -np.inf:
        back, ahead = cut_arc(phi, half_angle(bounds[0] / radius), back, ahead)
    if bounds[1] < np.inf:
        back, ahead = cut_arc(phi - math.pi, half_angle(-bounds[1] / radius), back, ahead)
    if bounds[2] > -np.inf:
        back, ahead = cut_arc(phi - 0.5 * math.pi, half_angle(bounds[2] / radius), back, ahead)
    if bounds[3] < np.inf:
        back, ahead = cut_arc(phi + 0.5 * math.pi, half_angle(-bounds[3] / radius), back, ahead)
    if tie[0] != 0.0:
        back, ahead = cut_arc(phi - math.atan2(tie[1], tie[0]), 0.5 * math.pi, back, ahead)
    if back + ahead > 2.0 * math.pi + 1e-9:
        back, ahead = math.pi, math.pi
    phi += slice_turn(phi - angle, length * radius, back, ahead, stream)
    u[i], u[j] = radius * math.cos(phi), radius * math.sin(phi)


@inlined
def extremes(u: Array, side: NDArray[np.int8], slope: Array, leave_i: int, leave_j: int) -> tuple[float, float]:
    """Return the lowest ratio bought (inf if none) and the highest not bought (at least 0), but for two goods."""
    low, high = np.inf, 0.0
    for k in range(u.shape[0]):
        if (k != leave_i) & (k != leave_j):
            ratio = u[k] / slope[k]
            if side[k] == ABOVE:
                low = min(low, ratio)
            elif side[k] == BELOW:
                high = max(high, ratio)
    return low, high


@inlined
def _is_extreme(ratio: float, side: int, low: float, high: float) -> bool:
    """Tell whether a good has the lowest ratio bought or the highest not bought."""
    return (side == ABOVE and ratio <= low) or (side == BELOW and ratio >= high)


@inlined
def _bounds(side: int, slope: float, floor: float, ceiling: float) -> tuple[float, float]:
    """Return the interval of u_i whose ratio must be at least `floor` if bought, at most `ceiling` if not."""
    if side == ABOVE:
        return slope * floor, np.inf
    if side == BELOW:
        return -np.inf, slope * ceiling
    return -np.inf, np.inf


@inlined
def _tie(side_i: int, side_j: int, slope_i: float, slope_j: float) -> tuple[float, float]:
    """Return the coefficients of r_bought - r_not bought >= 0 for a pair of a tight region; zeros if none applies."""
    if side_i == ABOVE and side_j == BELOW:
        return 1.0 / slope_i, -1.0 / slope_j
    if side_i == BELOW and side_j == ABOVE:
        return -1.0 / slope_i, 1.0 / slope_j
    return 0.0, 0.0


@inlined
def _turn_pairs(
    u: Array, kind: int, side: NDArray[np.int8], slope: Array, pivot: int, pairs: Pairs, law: int, stream: Stream
) -> None:
    shadow = u[pivot] / slope[pivot] if kind == PIVOT else 0.0
    low, high = np.inf, 0.0
    if kind == TIGHT:
        low, high = extremes(u, side, slope, -1, -1)
    for p in range(pairs.angle.shape[1]):
        i, j = pairs.order[2 * p], pairs.order[2 * p + 1]
        tie = (0.0, 0.0)
        if kind == TIGHT:
            floor, ceiling = high, low
            # The extremes of the others: only a pair that holds an extreme itself needs another look.
            if _is_extreme(u[i] / slope[i], side[i], low, high) or _is_extreme(u[j] / slope[j], side[j], low, high):
                ceiling, floor = extremes(u, side, slope, i, j)
            tie = _tie(side[i], side[j], slope[i], slope[j])
            bounds = _bounds(side[i], slope[i], floor, ceiling) + _bounds(side[j], slope[j], floor, ceiling)
            _turn_pair(u, i, j, bounds, tie, pairs.angle[law, p], pairs.length[law, p], stream)
            low, high = ceiling, floor
            for k in (i, j):
                if side[k] == ABOVE:
                    low = min(low, u[k] / slope[k])
                elif side[k] == BELOW:
                    high = max(high, u[k] / slope[k])
        elif pivot in (i, j):
            other = j if i == pivot else i
            ceiling, floor = extremes(u, side, slope, other, pivot)
            own = (slope[pivot] * floor, slope[pivot] * ceiling)
            free = (-np.inf, np.inf)
            sign = float(side[other]) if side[other] != ABSENT else 0.0
            mine, theirs = -sign / slope[pivot], sign / slope[other]
            bounds, tie = (own + free, (mine, theirs)) if i == pivot else (free + own, (theirs, mine))
            _turn_pair(u, i, j, bounds, tie, pairs.angle[law, p], pairs.length[law, p], stream)
            shadow = u[pivot] / slope[pivot]
        else:
            bounds = _bounds(side[i], slope[i], shadow, shadow) + _bounds(side[j], slope[j], shadow, shadow)
            _turn_pair(u, i, j, bounds, tie, pairs.angle[law, p], pairs.length[law, p], stream)


@inlined
def _turn_meridian(
    u: Array, h: Array, kind: int, side: NDArray[np.int8], slope: Array, pivot: int, power: float, stream: Stream
) -> None:
    n = u.shape[0]
    norm2, along_u, along_h, inner = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        price = 0.0 if side[i] == ABSENT else slope[i]
        norm2 += price * price
        along_u += price * u[i]
        along_h += price * h[i]
        inner += h[i] * u[i]
    norm = math.sqrt(norm2)
    cosine = along_u / norm
    sine = math.sqrt(max(1.0 - cosine * cosine, 0.0))
    if sine < 1e-9:
        return
    along = along_h / norm
    across = (inner - cosine * along) / sine
    theta = math.atan2(sine, cosine)
    # λ >= 0: cos θ/|a| + sin θ·lowest >= 0, `lowest` the ratio of v that reaches zero first.
    lowest = np.inf
    for i in range(n):
        if (kind == PIVOT and i == pivot) or (kind == TIGHT and side[i] == ABOVE):
            lowest = min(lowest, (u[i] / slope[i] - cosine / norm) / sine)
    top = math.atan2(1.0 / norm, -lowest) if lowest < np.inf else math.pi
    back, ahead = theta, max(top - theta, 0.0)
    if power > 0.0:  # sin θ above its level: |θ - π/2| at most this
        width = half_angle(sine * math.exp(math.log(uniform(stream)) / power))
        back, ahead = cut_arc(theta - 0.5 * math.pi, width, back, ahead)
    length = math.sqrt(along * along + across * across)
    turned = theta + slice_turn(theta - math.atan2(across, along), length, back, ahead, stream)
    scale = math.sin(turned) / sine
    shift = (math.cos(turned) - cosine * scale) / norm
    for i in range(n):
        u[i] = scale * u[i] + (0.0 if side[i] == ABSENT else slope[i] * shift)


@inlined
def _turn_blocks(u: Array, h: Array, side: NDArray[np.int8], slope: Array, stream: Stream) -> None:
    n_bought, n_left, bought2, left2, along, across = 0, 0, 0.0, 0.0, 0.0, 0.0
    for i in range(u.shape[0]):
        if side[i] == ABOVE:
            n_bought, bought2, along = n_bought + 1, bought2 + u[i] * u[i], along + h[i] * u[i]
        elif side[i] == BELOW:
            n_left, left2, across = n_left + 1, left2 + u[i] * u[i], across + h[i] * u[i]
    if n_bought == 0 or n_left == 0 or bought2 < 1e-300 or left2 < 1e-300:
        return
    radius, cosine, sine = math.sqrt(bought2 + left2), math.sqrt(bought2), math.sqrt(left2)
    theta = math.atan2(sine, cosine)
    along, across = along * radius / cosine, across * radius / sine
    low, high = extremes(u, side, slope, -1, -1)
    # Ratios grow with cos θ and sin θ: they meet where tan θ = tan(now)·low/high.
    top = math.atan2(low * sine, high * cosine) if high > 0.0 else 0.5 * math.pi
    back, ahead = theta, max(min(top, 0.5 * math.pi) - theta, 0.0)
    if n_bought > 1:
        level = math.log(uniform(stream)) / (n_bought - 1)
        back, ahead = cut_arc(theta, half_angle(cosine / radius * math.exp(level)), back, ahead)
    if n_left > 1:
        level = math.log(uniform(stream)) / (n_left - 1)
        back, ahead = cut_arc(theta - 0.5 * math.pi, half_angle(sine / radius * math.exp(level)), back, ahead)
    length = math.sqrt(along * along + across * across)
    turned = theta + slice_turn(theta - math.atan2(across, along), length, back, ahead, stream)
    scale_bought, scale_left = math.cos(turned) * radius / cosine, math.sin(turned) * radius / sine
    for i in range(u.shape[0]):
        if side[i] == ABOVE:
            u[i] *= scale_bought
        elif side[i] == BELOW:
            u[i] *= scale_left


@compiled
def sweep_rows(
    regions: tuple[NDArray[np.int8], NDArray[np.int8], Array, NDArray[np.int32]],
    laws: Array,
    which: NDArray[np.intp],
    pairs: Pairs,
    meridian_power: float,
    key: tuple[np.uint64, int, int],
    first_row: int,
    latents: Array,
    sums: Array,
    start: int,
    stop: int,
) -> None:
    """Sweep the rows of groups start..stop of one chain in place, and leave their sums.

    Parameters
    ----------
    regions : kinds (T,), sides (T, n), slopes (T, n), pivots (T,).
    laws, which : h = κμ (K, n) of the laws, and which of them each row has (T,).
    meridian_power : n - 2, the exponent of sin θ.
    key : seed, chain, iteration.
    first_row : the place of these rows among all, which their random numbers go by.
    latents : (T, n) unit vectors in their regions.
    sums : (groups, n).
    """
    kinds, sides, slopes, pivots = regions
    stream = np.empty(2, np.uint64)
    n_rows, n = latents.shape
    for group in range(start, stop):
        sums[group] = 0.0
        for t in range(group * GROUP, min((group + 1) * GROUP, n_rows)):
            u, kind, h = latents[t], kinds[t], laws[which[t]]
            start_stream(stream, key[0], key[1], key[2], first_row + t)
            _turn_pairs(u, kind, sides[t], slopes[t], pivots[t], pairs, which[t], stream)
            if kind in (PIVOT, TIGHT):
                _turn_meridian(u, h, kind, sides[t], slopes[t], pivots[t], meridian_power, stream)
            if kind == TIGHT:
                _turn_blocks(u, h, sides[t], slopes[t], stream)
            norm = 0.0
            for i in range(n):
                norm += u[i] * u[i]
            for i in range(n):
                u[i] /= math.sqrt(norm)
                sums[group, i] += u[i]
