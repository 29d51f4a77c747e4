# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One real integral a row: over the logarithm of the shadow price of money, of the chances of all goods at it.

With v_i = β_i + σ_i ε_i the log-utility of a good and s_i the price of its next unit in terms of its first, a good
bought in part has v_i = ℓ + log s_i, one not bought less than that, one at its cap more. With
y_i = (ℓ + log s_i − β_i)/σ_i

    I = ∫ Π_AT f(y_i)/σ_i · Π_BELOW F(y_i) · Π_ABOVE (1 − F(y_i)) dℓ,

where f and F are density and distribution function of ε, normal or Gumbel. The integrand is log-concave, smooth and
falls off at both ends, so that the trapezoidal rule converges faster than any power of its step: nodes go outwards from
about the mode, eight at a time, until nothing that counts is left. Slopes come with the value, as averages of
h_i = ∂ log(·)/∂y_i over the integrand:

    ∂ log I/∂ log s_i = E[h_i]/σ_i,    ∂ log I/∂ log σ_i = −E[h_i y_i] − 1{AT}.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABSENT, AT, BELOW
from stochpref.mass.normal import _N_TERMS, _POLE, _SERIES, fast_exp
from stochpref.threads import compiled, for_blocks, inlined

Array = NDArray[np.float64]

NORMAL: Final = 0
GUMBEL: Final = 1
ERRORS: Final = {"normal": NORMAL, "gumbel": GUMBEL}  # laws of ε, by name

_NODES: Final = 8  # evaluated together, in vector units
# Between nodes, for either law: at most so many widths of the integrand at its mode, and so many σ of the good with the
# smallest one. Chances of goods are smooth within 2.8 σ of the real line (normal) and π σ/2 (Gumbel), and the rule errs
# by exp(−2π · distance/step).
_WIDTHS: Final = (0.56, 0.42)
_SCALES: Final = (0.56, 0.28)
_DROP: Final = 27.0  # in logs: where the integrand has fallen by so much, what lies beyond does not count
# Coarser: nodes so much farther apart, so that as a rule one block goes out to either side as far as counts.
_COARSE_STRETCH: Final = 1.65
_COARSE_DROP: Final = 20.0
_MOST_BLOCKS: Final = 200
_NEWTON: Final = 60
_BLOCK: Final = 64
_SQRT_HALF: Final = np.sqrt(0.5)
_INV_SQRT_PI: Final = 1.0 / np.sqrt(np.pi)
_INV_SQRT_2PI: Final = 1.0 / np.sqrt(2.0 * np.pi)
_LOG_SQRT_2PI: Final = 0.5 * np.log(2.0 * np.pi)


class Integrals(NamedTuple):
    """Logs of the integrals, and their slopes.

    log_value : (T,).
    by_slope : (T, N) derivatives with respect to log s_i; −those with respect to β_i.
    by_scale : (T, N) with respect to log σ_i.
    """

    log_value: Array
    by_slope: Array
    by_scale: Array


def integrate(
    side: NDArray[np.int8],
    log_slope: Array,
    location: Array,
    scale: Array,
    error: int,
    *,
    slopes: bool = True,
    fine: bool = True,
) -> Integrals:
    """Return the integrals of rows, of which each has a good bought in part at least.

    Parameters
    ----------
    side : (T, N) of the goods, in the constants of `kinds`.
    log_slope : (T, N) log s_i; anything where a good is absent.
    location, scale : (T, N) or (1, N) β, and (N,) σ.
    error : NORMAL or GUMBEL.
    fine : to 1e-12 or so, relative; else to about 1e-8, at half the price, as weights of draws need it.
    """
    count, n = side.shape
    stretch, drop = (1.0, _DROP) if fine else (_COARSE_STRETCH, _COARSE_DROP)
    found = Integrals(np.empty(count), np.zeros((count, n)), np.zeros((count, n)))
    tables = np.ascontiguousarray(side), np.ascontiguousarray(log_slope), np.ascontiguousarray(location)
    inverse = np.ascontiguousarray(1.0 / scale)

    def rows(start: int, stop: int) -> None:
        _rows(*tables, inverse, error, slopes, stretch, drop, *found, start, stop)

    for_blocks(rows, count, _BLOCK)
    return found


@inlined
def _half_erfcx(x: float) -> float:
    """Return w(x) = ½ erfcx(x/√2) for x ≥ 0, as `mass.normal.half_erfcx` does for complex arguments."""
    z = x * _SQRT_HALF
    d = 1.0 / (_POLE + z)
    t = (_POLE - z) * d
    p = _SERIES[0]
    for j in range(1, _N_TERMS):
        p = _SERIES[j] + t * p
    return 0.5 * d * (2.0 * p * d + _INV_SQRT_PI)


@inlined
def _below(y: float) -> tuple[float, float, float]:
    """Return (a, b, h) with Φ(y) = b exp(a) and h = φ(y)/Φ(y)."""
    w, e = _half_erfcx(abs(y)), fast_exp(-0.5 * y * y)
    a = -0.5 * y * y if y < 0.0 else 0.0
    b = w if y < 0.0 else 1.0 - e * w
    h = _INV_SQRT_2PI / w if y < 0.0 else _INV_SQRT_2PI * e / b
    return a, b, h


@inlined
def _log_terms(code: int, error: int, y: Array, power: Array, factor: Array, h: Array) -> None:
    """Multiply what a good adds to the integrand into factor · exp(power) at some nodes, and write its slopes in y."""
    if error == NORMAL:
        if code == AT:
            for k in range(y.size):
                power[k] -= 0.5 * y[k] * y[k]
                h[k] = -y[k]
        elif code == BELOW:
            for k in range(y.size):
                a, b, slope = _below(y[k])
                power[k] += a
                factor[k] *= b
                h[k] = slope
        else:
            for k in range(y.size):
                a, b, slope = _below(-y[k])
                power[k] += a
                factor[k] *= b
                h[k] = -slope
    else:
        for k in range(y.size):
            e = fast_exp(min(-y[k], 700.0))
            if code == AT:
                power[k] -= y[k] + e
                h[k] = e - 1.0
            elif code == BELOW:
                power[k] -= e
                h[k] = e
            else:
                gone = -np.expm1(-e)  # 1 − F, which is e where that is tiny
                power[k] += np.log(max(gone, 1e-300))
                h[k] = -e * np.exp(-e) / max(gone, 1e-300)


@inlined
def _slope_at(level: float, side: NDArray[np.int8], offset: Array, inverse: Array, error: int) -> tuple[float, float]:
    """Return the first derivative of the log-integrand at a level, and minus the second."""
    slope, curvature = 0.0, 0.0
    for i in range(side.size):
        if side[i] == ABSENT:
            continue
        y = level * inverse[i] + offset[i]
        if error == NORMAL:
            if side[i] == AT:
                first, second = -y, 1.0
            elif side[i] == BELOW:
                _, _, first = _below(y)
                second = first * (y + first)
            else:
                _, _, own = _below(-y)
                first, second = -own, own * (own - y)
        else:
            e = fast_exp(min(-y, 700.0))
            if side[i] == AT:
                first, second = e - 1.0, e
            elif side[i] == BELOW:
                first, second = e, e
            else:
                gone = max(-np.expm1(-e), 1e-300)
                r = e * np.exp(-e) / gone
                first, second = -r, r * (r + e - 1.0) if e > 1e-8 else 0.5 * e
        slope += first * inverse[i]
        curvature += second * inverse[i] * inverse[i]
    return slope, curvature


@inlined
def _find_mode(side: NDArray[np.int8], offset: Array, inverse: Array, error: int) -> tuple[float, float]:
    """Return about the mode of the integrand, to a part of its width, and its width there."""
    weight, level = 0.0, 0.0
    for i in range(side.size):
        if side[i] == AT:
            weight += inverse[i] * inverse[i]
            level -= offset[i] * inverse[i]
    level /= weight
    longest = 2.0 / np.sqrt(weight)
    low, high, width = -np.inf, np.inf, longest
    for _ in range(_NEWTON):
        slope, curvature = _slope_at(level, side, offset, inverse, error)
        width = 1.0 / np.sqrt(max(curvature, 1e-300))
        if slope > 0.0:
            low = level
        else:
            high = level
        step = slope / max(curvature, 1e-300)
        if abs(step) < 0.2 * width:
            return level + step, width
        step = min(max(step, -longest), longest)
        level += step
        if not low < level < high:
            level = 0.5 * (low + high)
    return level, width


class _Room(NamedTuple):
    """Scratch of one thread.

    offset : (n,) y at level 0. y, h : (n, nodes) and slopes there. power, factor : (nodes,) the integrand is
    factor · exp(power), then `power` its logarithm. mean, tilt : (n,) sums of h and of h y over the integrand.
    """

    offset: Array
    y: Array
    h: Array
    power: Array
    factor: Array
    mean: Array
    tilt: Array


@inlined
def _prepare(
    side: NDArray[np.int8], log_slope: Array, location: Array, inverse: Array, error: int, room: _Room
) -> tuple[float, float]:
    """Write where each good stands; return what is constant in the log-integrand, and the largest 1/σ."""
    constant, sharpest = 0.0, 0.0
    for i in range(side.size):
        room.offset[i] = (log_slope[i] - location[i]) * inverse[i]
        room.mean[i] = room.tilt[i] = 0.0
        if side[i] == AT:
            constant += np.log(inverse[i]) - (_LOG_SQRT_2PI if error == NORMAL else 0.0)
        if side[i] != ABSENT:
            sharpest = max(sharpest, inverse[i])
    return constant, sharpest


@inlined
def _evaluate(side: NDArray[np.int8], start: float, step: float, inverse: Array, error: int, room: _Room) -> float:
    """Write the log-integrand and its slopes at some nodes; return the highest."""
    for k in range(_NODES):
        room.power[k], room.factor[k] = 0.0, 1.0
    for i in range(side.size):
        if side[i] != ABSENT:
            for k in range(_NODES):
                room.y[i, k] = (start + step * k) * inverse[i] + room.offset[i]
            _log_terms(side[i], error, room.y[i], room.power, room.factor, room.h[i])
    highest = -np.inf
    for k in range(_NODES):
        room.power[k] += np.log(max(room.factor[k], 1e-300))
        highest = max(highest, room.power[k])
    return highest


@inlined
def _add(side: NDArray[np.int8], highest: float, slopes: bool, room: _Room) -> float:
    """Add the nodes to the sums, in units of exp(highest); return what they add to the integral."""
    total = 0.0
    for k in range(_NODES):
        room.factor[k] = np.exp(room.power[k] - highest)
        total += room.factor[k]
    if slopes:
        for i in range(side.size):
            if side[i] != ABSENT:
                first, second = 0.0, 0.0
                for k in range(_NODES):
                    r = room.factor[k] * room.h[i, k]
                    first += r
                    second += r * room.y[i, k]
                room.mean[i] += first
                room.tilt[i] += second
    return total


@inlined
def _integral(
    side: NDArray[np.int8],
    inverse: Array,
    error: int,
    slopes: bool,
    sharpest: float,
    stretch: float,
    drop: float,
    room: _Room,
) -> tuple[float, float, float]:
    """Return the highest log-integrand, the sum over nodes in units of it, and the step between them."""
    mode, width = _find_mode(side, room.offset, inverse, error)
    step = stretch * min(_WIDTHS[error] * width, _SCALES[error] / sharpest)
    highest, total = -np.inf, 0.0
    for direction in (1.0, -1.0):  # to the right from the mode, then to the left of it
        start = mode if direction > 0 else mode - step
        for block in range(_MOST_BLOCKS):
            here = _evaluate(side, start + direction * step * block * _NODES, direction * step, inverse, error, room)
            if here > highest:
                shrink = np.exp(highest - here)
                total *= shrink
                for i in range(side.size):
                    room.mean[i] *= shrink
                    room.tilt[i] *= shrink
                highest = here
            total += _add(side, highest, slopes, room)
            if room.power[_NODES - 1] < highest - drop:
                break
    return highest, total, step


@compiled
def _rows(
    sides: NDArray[np.int8],
    log_slope: Array,
    location: Array,
    inverse: Array,
    error: int,
    slopes: bool,
    stretch: float,
    drop: float,
    log_value: Array,
    by_slope: Array,
    by_scale: Array,
    start: int,
    stop: int,
) -> None:
    n = sides.shape[1]
    room = _Room(
        np.empty(n), np.empty((n, _NODES)), np.empty((n, _NODES)), np.empty(_NODES), np.empty(_NODES), np.empty(n),
        np.empty(n),
    )  # fmt: skip
    for t in range(start, stop):
        side = sides[t]
        own = location[t if location.shape[0] > 1 else 0]
        constant, sharpest = _prepare(side, log_slope[t], own, inverse, error, room)
        highest, total, step = _integral(side, inverse, error, slopes, sharpest, stretch, drop, room)
        log_value[t] = constant + highest + np.log(step * total)
        if slopes:
            for i in range(n):
                if side[i] != ABSENT:
                    by_slope[t, i] = room.mean[i] / total * inverse[i]
                    by_scale[t, i] = -room.tilt[i] / total - (1.0 if side[i] == AT else 0.0)
