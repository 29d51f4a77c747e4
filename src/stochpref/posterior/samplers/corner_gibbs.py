# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling where several limits may bind: utilities in corners are turned along great circles.

A corner is a cone G u ≥ 0. Towards a random unit tangent v, u(φ) = cos φ·u + sin φ·v stays inside for φ between
atan2(g·v, g·u) ± π/2 for every side g, and the density exp(h·u) along the circle is exp(ρ cos(φ - ψ)): one slice move,
nothing rejected. Rows that are no corners are moved as in `gibbs_moves`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import CORNER
from stochpref.posterior.samplers.arcs import slice_turn
from stochpref.posterior.samplers.gibbs import Gibbs, GibbsState, Span, sweep
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.regions import Regions
from stochpref.threads import compiled, for_blocks

Array = NDArray[np.float64]

_BLOCK = 64


@compiled
def _draw_tangent(u: Array, v: Array, stream: Stream) -> None:
    """Write a random unit vector at right angles to u."""
    n = len(u)
    along = 0.0
    for i in range(n):
        v[i] = math.sqrt(-2.0 * math.log(uniform(stream))) * math.cos(2.0 * math.pi * uniform(stream))
        along += v[i] * u[i]
    length = 0.0
    for i in range(n):
        v[i] -= along * u[i]
        length += v[i] * v[i]
    length = math.sqrt(length)
    for i in range(n):
        v[i] /= length


@compiled
def _turn(u: Array, sides: Array, h: Array, stream: Stream, v: Array) -> None:
    """Move u along a random great circle within the cone, under exp(h·u)."""
    _draw_tangent(u, v, stream)
    back, ahead, n = math.pi, math.pi, len(u)
    for k in range(len(sides)):
        a, b = 0.0, 0.0
        for i in range(n):
            a += sides[k, i] * u[i]
            b += sides[k, i] * v[i]
        centre = math.atan2(b, max(a, 0.0))
        back, ahead = min(back, 0.5 * math.pi - centre), min(ahead, 0.5 * math.pi + centre)
    x, y = 0.0, 0.0
    for i in range(n):
        x += h[i] * u[i]
        y += h[i] * v[i]
    turn = slice_turn(-math.atan2(y, x), math.hypot(x, y), back, ahead, stream)
    cosine, sine, length = math.cos(turn), math.sin(turn), 0.0
    for i in range(n):
        u[i] = cosine * u[i] + sine * v[i]
        length += u[i] * u[i]
    length = math.sqrt(length)
    for i in range(n):
        u[i] /= length


@compiled
def _sweep_corners(
    first_side: NDArray[np.intp], sides: Array, h: Array, key: tuple[np.uint64, int, int], first_stream: int,
    latents: Array, start: int, stop: int,
) -> None:  # fmt: skip
    stream, v = np.empty(2, np.uint64), np.empty(latents.shape[1])
    for t in range(start, stop):
        start_stream(stream, key[0], key[1], key[2], first_stream + t)
        for _ in range(latents.shape[1]):
            _turn(latents[t], sides[first_side[t] : first_side[t + 1]], h, stream, v)


@dataclass(frozen=True)
class CornerGibbs(Gibbs):
    """The sampler; see the module."""

    revision: ClassVar[int] = 1

    @cached_property
    def _parts(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Regions, Any]:
        """The rows that are no corners and those that are, and what each is."""
        regions = self.target.store.load()
        plain, corner = np.flatnonzero(regions.kind_code != CORNER), np.flatnonzero(regions.kind_code == CORNER)
        return plain, corner, regions[plain], regions.corners.take(corner)

    def sweep(self, state: GibbsState, iteration: int) -> Array:
        """Move the latents of all chains in place; return their sums (chains, n)."""
        plain, corner, regions, corners = self._parts
        laws = state.concentration[:, None] * state.mean_direction
        sums = np.zeros(laws.shape)
        if plain.size:
            own, span = np.ascontiguousarray(state.latents[:, plain]), Span(0, plain.size, self.meridian_power)
            sums += sweep(regions, own, laws[:, None], span, self.seed, iteration).sum(axis=1)
            state.latents[:, plain] = own
        for chain in range(len(laws) if corner.size else 0):
            own, h, key = state.latents[chain, corner], laws[chain], (np.uint64(self.seed), chain, iteration)

            def block(start: int, stop: int, own: Array = own, h: Array = h, key: Any = key) -> None:
                first_stream = plain.size + 2  # after those of the other rows and of the law
                _sweep_corners(corners.first_side, corners.sides, h, key, first_stream, own, start, stop)

            for_blocks(block, len(own), _BLOCK)
            state.latents[chain, corner] = own
            sums[chain] += own.sum(axis=0)
        return sums


def gibbs_of(target: Any, seed: int) -> Gibbs:
    """Return the sampler that knows the regions of a target in memory."""
    return Gibbs(target, seed) if target.store.load().corners is None else CornerGibbs(target, seed)
