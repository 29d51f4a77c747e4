# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One sweep over a customer's utility inside a region known by intervals, under the density exp(h·u) on the sphere.

A coordinate moves along the half circle u(θ) = cos θ·v + sin θ·e_i, v the others at length one: density
cos^{n-2}θ exp(h·u(θ)), θ between the angles at which the ends of its interval lie. It is a slice move under the
whole density, between those ends, which shrink towards the present angle until the level is met: a level for
each factor would need no such loop, and mix half as well.

Where empty bundles are not recorded, every observation stands for the customers before it who bought nothing as well:
they are drawn, until one buys, and count in the sums like any others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.samplers.gibbs_law import draw_around
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.problems.interval_kernels import (
    MenuRows,
    Pass,
    corners_at,
    interval_at,
    lay_out,
    make_pass,
    value_of,
    whole_first,
)
from stochpref.problems.pareto import IN_PART, extended, limit_of
from stochpref.threads import GROUP, compiled, inlined

Array = NDArray[np.float64]

DONE, TOO_LONG, TOO_EMPTY = 0, 1, 2  # how a sweep ends


@compiled
def draw_order(is_whole: NDArray[np.bool_], key: tuple[np.uint64, int, int]) -> NDArray[np.int64]:
    """Return the order in which all observations of a chain take the goods in one sweep."""
    stream = np.empty(2, np.uint64)
    start_stream(stream, key[0], key[1], key[2], -1)  # rows from 0 are observations'
    order = np.arange(is_whole.shape[0])
    for i in range(order.shape[0] - 1, 0, -1):
        j = int(uniform(stream) * (i + 1))
        order[i], order[j] = order[j], order[i]
    whole_first(is_whole, order)
    return order


@inlined
def _log_density(theta: float, along: float, h: float, power: float) -> float:
    cosine = math.cos(theta)
    return power * math.log(max(cosine, 1e-300)) + along * cosine + h * math.sin(theta)


@inlined
def _drawn(
    u: float, ends: tuple[float, float], across2: float, inner: float, h: float, power: float, stream: Stream
) -> float:
    """Return a coordinate after its move.

    Parameters
    ----------
    across2 : square of the length of the others.
    inner : h of the others times them.
    power : of cos θ.
    """
    across = math.sqrt(across2)
    if not across > 1e-150:
        return u
    theta, along = math.atan2(u, across), inner / across
    low = math.atan2(ends[0], across) if ends[0] > -np.inf else -0.5 * math.pi
    high = math.atan2(ends[1], across) if ends[1] < np.inf else 0.5 * math.pi
    low, high = min(low, theta), max(high, theta)  # rounding may put an end a hair to the other side
    level = _log_density(theta, along, h, power) + math.log(uniform(stream))
    while True:
        tried = low + (high - low) * uniform(stream)
        if _log_density(tried, along, h, power) >= level or high - low < 1e-14:
            return across * math.tan(tried)
        if tried < theta:
            low = tried
        else:
            high = tried


@inlined
def _mass_between(low: float, high: float, along: float, h: float, power: float, top: float, nodes: Array) -> float:
    """Return the integral of the density over angles, its logarithm less `top`, by Gauss and Legendre."""
    total, middle, half = 0.0, 0.5 * (low + high), 0.5 * (high - low)
    for k in range(nodes.shape[1]):
        total += nodes[1, k] * math.exp(_log_density(middle + half * nodes[0, k], along, h, power) - top)
    return half * total


@inlined
def _share_below_zero(
    ends: tuple[float, float], across2: float, inner: float, h: float, power: float, nodes: Array
) -> float:
    """Return the conditional probability that a coordinate that may be as low as can be is negative."""
    across = math.sqrt(across2)
    if not (ends[1] > 0.0 and across > 1e-150):
        return 1.0
    along, high = inner / across, math.atan2(ends[1], across) if ends[1] < np.inf else 0.5 * math.pi
    top = max(_log_density(0.0, along, h, power), _log_density(math.atan2(h, along + power), along, h, power))
    below = _mass_between(-0.5 * math.pi, 0.0, along, h, power, top, nodes)
    return below / (below + _mass_between(0.0, high, along, h, power, top, nodes))


class Wish(NamedTuple):
    """What a pass is to keep to and to look at beside the region.

    ceilings : (n,) of utilities. watched : a good whose probability to be negative is wanted, -1 for none.
    nodes : (2, k) of Gauss and Legendre, and their weights.
    """

    ceilings: Array
    watched: int
    nodes: Array


@compiled
def move_all(
    u: Array, h: Array, rows: MenuRows, t: int, order: NDArray[np.int64], power: float, wish: Wish, memory: Pass,
    costs: Array, values: Array, stream: Stream,
) -> tuple[Array, Array, float]:  # fmt: skip
    """Move every coordinate of one utility, of any length, once.

    Returns
    -------
    The arrays of lists, and the conditional probability that the good watched is negative, 1 without one; -1 where
    lists are too long.
    """
    share = 1.0
    costs, values, end = lay_out(u, rows, t, order, memory, costs, values)
    begin, tail, limit = 0, 1, limit_of(rows.stated[t])
    corners = corners_at(u, rows, t, -1, memory)
    square, inner = 0.0, 0.0
    for i in range(u.shape[0]):
        square, inner = square + u[i] * u[i], inner + h[i] * u[i]
    value = value_of(u, rows.bundles[t])
    for place in range(u.shape[0]):
        i = order[place]
        if end < 0:
            return costs, values, -1.0
        if rows.units[t, i] == IN_PART:
            corners = corners_at(u, rows, t, i, memory)
        low, high = interval_at(u, rows, t, order, place, (begin, tail), memory, corners, value, costs, values)
        ends = low, min(high, wish.ceilings[i])
        rest, along = square - u[i] * u[i], inner - h[i] * u[i]
        if rest < 1e-8 * square:  # nearly all of the length: the difference has lost its digits
            rest, along = 0.0, 0.0
            for j in range(u.shape[0]):
                if j != i:
                    rest, along = rest + u[j] * u[j], along + h[j] * u[j]
        if i == wish.watched:
            share = _share_below_zero(ends, rest, along, h[i], power, wish.nodes)
        moved = _drawn(u[i], ends, rest, along, h[i], power, stream)
        value += (moved - u[i]) * rows.bundles[t, i]
        square, inner = rest + moved * moved, along + h[i] * moved
        u[i] = moved
        if place + 1 < u.shape[0] and rows.units[t, i] > 0 and u[i] > 0.0:
            costs, values, stretched = extended(
                costs, values, begin, tail, rows.prices[t, i], u[i], rows.units[t, i], limit, end
            )
            begin, tail, end = end, stretched, stretched
    return costs, values, share


@inlined
def _add_unseen(
    rows: MenuRows, t: int, direction: Array, kappa: float, most: int, drawn: Array, total: Array, stream: Stream
) -> int:
    """Draw customers at a menu until one buys something; add up those who do not, and return their number."""
    n = drawn.shape[0]
    for count in range(most):
        drawn[:] = direction
        draw_around(drawn, kappa, stream)
        for i in range(n):
            if rows.units[t, i] != 0 and drawn[i] > 0.0:
                return count
        for i in range(n):
            total[i] += drawn[i]
    return most


@compiled
def sweep_intervals(
    rows: MenuRows,
    law: tuple[Array, float],
    order: NDArray[np.int64],
    power: float,
    most_unseen: int,
    key: tuple[np.uint64, int, int],
    latents: Array,
    sums: Array,
    counts: NDArray[np.int64],
    start: int,
    stop: int,
) -> int:
    """Sweep the rows of groups start..stop of one chain in place, leave their sums and counts; return how it ended.

    Parameters
    ----------
    law : mean direction (n,) and concentration.
    power : n - 2, the exponent of cos θ.
    most_unseen : customers without a purchase before one with, at most; 0 where empty bundles are recorded.
    key : seed, chain, iteration.
    latents : (T, n) unit vectors in their regions.
    sums, counts : (groups, n) and (groups,), unseen customers among them.
    """
    n_rows, n = latents.shape
    memory, stream, drawn, h = make_pass(n), np.empty(2, np.uint64), np.empty(n), law[1] * law[0]
    costs, values, wish = np.empty(1024), np.empty(1024), Wish(np.full(n, np.inf), -1, np.empty((2, 0)))
    for group in range(start, stop):
        sums[group], counts[group] = 0.0, 0
        for t in range(group * GROUP, min((group + 1) * GROUP, n_rows)):
            u = latents[t]
            start_stream(stream, key[0], key[1], key[2], t)
            costs, values, share = move_all(u, h, rows, t, order, power, wish, memory, costs, values, stream)
            if share < 0.0:
                return TOO_LONG
            norm = math.sqrt(np.sum(u * u))
            for i in range(n):
                u[i] /= norm
                sums[group, i] += u[i]
            counts[group] += 1
            if most_unseen > 0:
                unseen = _add_unseen(rows, t, law[0], law[1], most_unseen, drawn, sums[group], stream)
                if unseen == most_unseen:
                    return TOO_EMPTY
                counts[group] += unseen
    return DONE
