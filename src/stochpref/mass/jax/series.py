# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The mass of a block of regions as a power series in the scale of the mean: real arithmetic only, no branches.

On the contour p = p₀ + iη of `contour` put q = q₀(1 + ε), q₀ = 1/(√2 p₀). For a fixed shadow price λ the goods are
independent and good i enters through Φ(z), z = s(hq - aλ) = z₀ + cε with c = s h q₀. Its inverse Mills ratio r = φ/Φ
obeys r' = -r(z + r), so the coefficients of r in powers of ε follow from r(z₀) by a recurrence of real numbers,

    (m + 1) r_{m+1} = -c (z₀ r_m + c r_{m-1} + Σ_l r_l r_{m-l}),    log Φ = log Φ(z₀) + c Σ_m r_m ε^{m+1}/(m + 1).

Sums over goods give the logarithm of the integrand, its exponential the integrand f(ε) = Σ f_m ε^m, an entire function,
and the contour integral is Σ f_m L[ε^m]: the moments L[ε^m] depend on (n, p₀) only, are real, and come from a table.
That is the whole contour at once, for the price of two complex nodes of it. The gradient takes the same
coefficients r_m against other moments.

The shadow price is integrated by Gauss–Legendre points after λ = mode + τ sinh v, which spends them where the integrand
lives however uneven its tails are.

Two kernels written in Pallas keep everything of a row in registers: `place`, a thread a row, finds where the integrand
lives; `integrate`, a thread a row and node, sums it. On anything but a GPU they are interpreted, the same arithmetic in
wider tiles.

Shapes: n goods, B rows, J nodes of the shadow price; in memory goods first, rows last; in a tile rows first, nodes
last, so that a sum over nodes stays within a warp. Traced under 64-bit mode; `engine` sees to that.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, PIVOT, SLACK, TIGHT
from stochpref.mass.jax.moments import MIN_SADDLE, TABLE_STEP, Moments, lowest_saddle

Array = NDArray[np.float64]
Device: TypeAlias = Any  # a traced array; JAX is an extra, so its types are not there to check against


ROWS: Final = 128  # of a tile of `place`
_N_WARPS: Final = 4

_SADDLE_STEPS, _SUPPORT_STEPS = 14, 6
_LOG_TAIL: Final = -26.0  # the support is where the integrand exceeds 5e-12 of its top
_SPREAD: Final = 3.0  # τ in widths of the integrand at its mode: 2 to 4 need the fewest nodes
_MOST_FACTORS: Final = 32  # goods whose factors multiply without underflow: beyond, logarithms are added
_POLE: Final = 5.0  # of the map of `_half_erfcx`; 18 terms then err by 3e-14 relative
_TERMS: Final = 18
_INV_SQRT_2PI: Final = float(1 / np.sqrt(2 * np.pi))
_FAR: Final = 1e300  # stands for no upper end
_LOG_SQRT_2PI: Final = float(0.5 * np.log(2 * np.pi))


class RegionBlock(NamedTuple):
    """A block of regions of one kind, slopes scaled so that the largest is 1.

    side : (n, B) int8. slope : (n, B). pivot : (B,) int32, 0 where there is none.
    """

    side: Any
    slope: Any
    pivot: Any


class Size(NamedTuple):
    """What is fixed when a kernel is compiled: kind, highest power of ε, nodes of the shadow price, gradient or not."""

    kind: int
    order: int
    n_nodes: int
    gradient: bool


class Integrals(NamedTuple):
    """log ∫_region exp(h·u) du (B,), estimates of relative errors (B,), E[u | region] (n, B) or None."""

    log_integral: Any
    error: Any
    mean: Any


def _erfcx_terms() -> list[float]:
    """Return the coefficients, highest first, of w(x)(L + x) = ½ erfcx(x/√2)(L + x) in powers of (L - x)/(L + x)."""
    points = np.cos(np.pi * (np.arange(_TERMS + 1) + 0.5) / (_TERMS + 1))
    x = _POLE * (1 - points) / (1 + points)
    # ½ erfcx(x/√2) = ∫₀^∞ exp(-t²/2 - xt) dt / √(2π)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    reach = 40 / (x + np.sqrt(x**2 + 80))
    t = reach[:, None] * (nodes + 1)
    values = np.exp(-0.5 * t**2 - x[:, None] * t) @ weights * reach * _INV_SQRT_2PI * (_POLE + x)
    series = np.polynomial.chebyshev.chebfit(points, values, _TERMS)
    return [float(term) for term in np.polynomial.chebyshev.cheb2poly(series)[::-1]]


_ERFCX: Final = _erfcx_terms()


def _inverse_mills(z: Device) -> tuple[Device, Device]:
    """Return the factor Φ(z), for z ≤ 0 without its exp(-z²/2), and r = φ/Φ, both to 1e-13 relative."""
    d = 1.0 / (_POLE + jnp.abs(z))
    y = 2.0 * _POLE * d - 1.0
    w = jnp.full_like(z, _ERFCX[0])
    for term in _ERFCX[1:]:
        w = w * y + term
    w = w * d
    gauss = jnp.exp(-0.5 * z * z)
    is_left = z <= 0.0
    factor = jnp.where(is_left, w, 1.0 - gauss * w)
    return factor, _INV_SQRT_2PI * jnp.where(is_left, 1.0, gauss) / factor


def _series(z: Device, c: Device, r: Device, order: int) -> tuple[list[Device], list[Device]]:
    """Return the coefficients of r(z + cε), m = 0..order, and of its derivative in z, m = 0..order - 1."""
    terms, slopes = [r], []
    for m in range(order):
        inner = z * terms[m]
        if m > 0:
            inner = inner + c * terms[m - 1]
        for k in range((m + 1) // 2):
            inner = inner + 2.0 * terms[k] * terms[m - k]
        if m % 2 == 0:
            inner = inner + terms[m // 2] * terms[m // 2]
        slopes.append(-inner)
        terms.append((-1.0 / (m + 1)) * c * inner)
    return terms, slopes


def _product(f: list[Device], g: list[Device]) -> list[Device]:
    """Return the product of two power series of the same length."""
    return [sum((f[k] * g[m - k] for k in range(1, m + 1)), f[0] * g[m]) for m in range(len(f))]


def _exponential(powers: list[Device]) -> list[Device]:
    """Return the coefficients of exp(Σ_{m≥1} powers[m] ε^m); powers[0] is not read."""
    f = [jnp.ones_like(powers[1])]
    for m in range(1, len(powers)):
        f.append(sum((k * powers[k] * f[m - k] for k in range(2, m + 1)), powers[1] * f[m - 1]) * (1.0 / m))
    return f


class _Goods(NamedTuple):
    """What a kernel reads of its rows: references to side and slope (n, B); of the good bought in part, values.

    h : reference to (n,), of a law that all rows share, or (n, B).
    own, at : (B,) its h and its slope.
    """

    h: Any
    side: Any
    slope: Any
    own: Any
    at: Any


def _good(goods: _Goods, i: Device) -> tuple[Device, Device, Device, Device]:
    """Return h, side, sign (±1, or 0 for pivot and absent) and slope of good i; all (B,), but for a shared h."""
    side = goods.side[i, :].astype(jnp.float64)
    h = goods.h[i] if len(goods.h.shape) == 1 else goods.h[i, :]
    return h, side, jnp.where(side == ABSENT, 0.0, side), goods.slope[i, :]


class _Line(NamedTuple):
    """Of log D at real q and λ: value, two derivatives in λ, and E|z|²; all (B,)."""

    value: Any
    first: Any
    second: Any
    moment: Any


def _on_line(goods: _Goods, kind: int, q: Device, shadow: Device, keep: int = 0) -> _Line:
    """Return log D (times the pivot's density) along the real axis, of all goods or of those on side `keep`."""

    def add(i: Device, line: _Line) -> _Line:
        h, side, sign, slope = _good(goods, i)
        m, t = h * q, slope * shadow
        z = sign * (m - t)
        factor, r = _inverse_mills(z)
        on = jnp.where(side == keep, 1.0, 0.0) if keep else sign * sign
        log_phi = jnp.log(factor) - jnp.where(z <= 0.0, 0.5 * z * z, 0.0)
        own = jnp.where(side == AT, 0.0, 1.0 + m * m + sign * r * (m + t))
        return _Line(
            line.value + on * log_phi,
            line.first - on * sign * slope * r,
            line.second - on * slope * slope * r * (z + r),
            line.moment + own,
        )

    zero = jnp.zeros_like(q)
    value, first, second, moment = jax.lax.fori_loop(0, goods.h.shape[0], add, _Line(zero, zero, zero, zero))
    if kind == PIVOT:
        t = goods.at * shadow
        z = goods.own * q - t
        value, first, second = value - 0.5 * z * z, first + goods.at * z, second - goods.at * goods.at
        moment = moment + 1.0 + t * t
    return _Line(value, first, second, moment * q * q)


def _find_saddle(goods: _Goods, kind: int, start: Device) -> tuple[Device, Device]:
    """Return the saddle s (B,) and the price λ/q (B,) at the mode there, near enough to place nodes by.

    Both move at once: s towards E|z|² = 1, whose logarithm falls by 1 to 2 for each unit of log s, the price by
    Newton's steps inside a bracket that is dropped where the change of s has made it wrong.
    """

    def step(_: Device, state: tuple[Device, ...]) -> tuple[Device, ...]:
        s, price, low, high = state
        q = 1.0 / jnp.sqrt(2.0 * s)
        line = _on_line(goods, kind, q, price * q)
        s = s * jnp.exp(jnp.minimum(jnp.maximum(jnp.log(line.moment) / 1.5, -1.0), 1.0))
        s = jnp.maximum(s, MIN_SADDLE)
        if kind == SLACK:
            return s, price, low, high
        rises = line.first > 0.0
        low = jnp.where(rises, price, jnp.where(low < price, low, 0.0))
        high = jnp.where(rises, jnp.where(high > price, high, _FAR), price)
        new = price - line.first / (jnp.minimum(line.second, -1e-30) * q)
        outside = jnp.where(high == _FAR, 2.0 * price + 1.0 / q, 0.5 * (low + high))
        new = jnp.where((new > low) & (new < high), new, jnp.where(high == 0.0, 0.0, outside))
        return s, new, low, high

    zero = jnp.zeros_like(start)
    s, price, _, _ = jax.lax.fori_loop(0, _SADDLE_STEPS, step, (start, zero, zero, zero + _FAR))
    return s, price


def _find_end(goods: _Goods, kind: int, q: Device, mode: Device, top: Device, width: Device, way: int) -> Device:
    """Return a shadow price right (way 1) or left (-1) of the mode where the integrand has fallen below its tail.

    In a tight region the tail is bounded by the goods on one side. Newton's steps on a concave function come from the
    far side: never short of the end, at worst beyond it, which the sinh makes cheap.
    """
    keep = 0 if kind == PIVOT else (ABOVE if way > 0 else BELOW)
    target = top + _LOG_TAIL

    def step(_: Device, x: Device) -> Device:
        line = _on_line(goods, kind, q, x, keep)
        limit = jnp.maximum(8.0 * width, x)
        leap = (target - 1.0 - line.value) / jnp.where(line.first == 0.0, 1e-300, line.first)
        is_near_side = (line.value > target) & (leap * way <= 0.0)
        leap = jnp.where(is_near_side, way * limit, jnp.minimum(jnp.maximum(leap, -limit), limit))
        is_done = (line.value <= target) & (line.value >= target - 4.0)
        return jnp.maximum(jnp.where(is_done, x, x + leap), 0.0)

    start = jnp.maximum(mode + way * width * float(np.sqrt(-2.0 * _LOG_TAIL)), 0.0)
    return jax.lax.fori_loop(0, _SUPPORT_STEPS, step, start)


def _arcsinh(x: Device) -> Device:
    size = jnp.log(jnp.abs(x) + jnp.sqrt(x * x + 1.0))
    return jnp.where(x < 0.0, -size, size)


def _place_kernel(
    start: Any, h: Any, side: Any, slope: Any, own: Any, at: Any, saddle: Any, *placed: Any, kind: int
) -> None:  # fmt: skip
    """Find the saddle p₀ and, but for slack rows, the map λ = mode + τ sinh v, left ≤ v ≤ right, of a tile of rows."""
    goods = _Goods(h, side, slope, own[...], at[...])
    s, price = _find_saddle(goods, kind, start[...] + jnp.zeros_like(goods.own))
    saddle[...] = jnp.sqrt(s)
    if kind == SLACK:
        return
    q = 1.0 / jnp.sqrt(2.0 * s)
    top = price * q
    line = _on_line(goods, kind, q, top)
    # Where D is flat its curvature says nothing; with slopes of at most 1 nothing happens faster than 1.
    width = 1.0 / jnp.sqrt(jnp.maximum(jnp.maximum(-line.second, line.first * line.first), 1.0))
    low = jnp.minimum(_find_end(goods, kind, q, top, line.value, width, -1), top)
    high = jnp.maximum(_find_end(goods, kind, q, top, line.value, width, 1), top + width)
    tau = _SPREAD * width
    found = (top, tau, _arcsinh((low - top) / tau), _arcsinh((high - top) / tau), jnp.where(low > 0.0, 1.0, 0.0))
    for reference, values in zip(placed, found, strict=True):
        reference[...] = values


def _contract(f: list[Device], moment: list[Device], ahead: int) -> Device:
    """Return L[ε^ahead (1 + ε) f], up to the order of f; moments (B, 1)."""
    order = len(f) - 1
    pairs = [moment[k] + moment[k + 1] if k < order else moment[k] for k in range(ahead, order + 1)]
    return sum((f[m] * pairs[m] for m in range(1, len(pairs))), f[0] * pairs[0])


def _sum_goods(goods: _Goods, size: Size, q: Device, shadow: Device) -> tuple[Device, Device, list[Device]]:
    """Return what the goods add up to at every row and node: Π factors, Σ exponents, then Σ c r_m and Σ_above a r_m.

    Of many goods the factors' logarithms are added instead of multiplying them.
    """
    n, order, is_tight = goods.h.shape[0], size.order, size.kind == TIGHT
    multiply = n <= _MOST_FACTORS

    def add(i: Device, sums: tuple[Device, ...]) -> tuple[Device, ...]:
        h, side, sign, slope = _good(goods, i)
        c = (sign * h * q)[:, None]
        z = c - (sign * slope)[:, None] * shadow
        factor, r = _inverse_mills(z)
        factor = jnp.where((sign == 0.0)[:, None], 1.0, factor)
        gauss = jnp.where(z <= 0.0, 0.5 * z * z, 0.0)
        terms, _ = _series(z, c, r, order if is_tight else order - 1)
        more = [c * term for term in terms[:order]]
        if is_tight:
            rate = jnp.where(side == ABOVE, slope, 0.0)[:, None]
            more += [rate * term for term in terms]
        head = sums[0] * factor if multiply else sums[0] + jnp.log(factor)
        return head, sums[1] - gauss, *(old + new for old, new in zip(sums[2:], more, strict=True))

    zero = jnp.zeros_like(shadow)
    start = (zero + (1.0 if multiply else 0.0), *[zero] * (1 + order + (order + 1 if is_tight else 0)))
    head, exponent, *sums = jax.lax.fori_loop(0, n, add, start)
    return (head, exponent, sums) if multiply else (jnp.ones_like(head), exponent + head, sums)


def _integrate_kernel(
    points: Any, rule: Any, tail: Any, h: Any, side: Any, slope: Any, own: Any, at: Any,
    scale: Any, square: Any, mode: Any, tau: Any, left: Any, right: Any, is_cut: Any, moments: Any,
    log_integral: Any, error: Any, *mean: Any, size: Size
) -> None:  # fmt: skip
    """Sum the integrand of a tile of rows; the first pass over goods gives the mass, the second the mean."""
    goods, q, order = _Goods(h, side, slope, own[...], at[...]), scale[...], size.order
    moment = [moments[m, :][:, None] for m in range(order + 1)]
    half = (0.5 * (right[...] - left[...]))[:, None]
    v = left[...][:, None] + half * (points[...] + 1.0)[None, :]
    grown = jnp.exp(v)
    shadow = jnp.maximum(mode[...][:, None] + tau[...][:, None] * 0.5 * (grown - 1.0 / grown), 0.0)
    log_weight = jnp.log(tau[...][:, None] * half * 0.5 * (grown + 1.0 / grown))
    if size.kind == SLACK:
        shadow, log_weight = jnp.zeros_like(v), jnp.zeros_like(v)
    factor, exponent, sums = _sum_goods(goods, size, q, shadow)
    powers = [exponent, *(total * (1.0 / (m + 1)) for m, total in enumerate(sums[:order]))]
    bend = square[...][:, None]  # of the exponent (|h|² - k) q²/2 at q₀
    powers[0], powers[1], powers[2] = powers[0] + bend, powers[1] + 2.0 * bend, powers[2] + bend
    if size.kind == PIVOT:
        pull = (goods.own * q)[:, None]
        z = pull - goods.at[:, None] * shadow
        powers[0] = powers[0] - 0.5 * z * z + jnp.log(goods.at)[:, None] - _LOG_SQRT_2PI
        powers[1], powers[2] = powers[1] - z * pull, powers[2] - 0.5 * pull * pull
    base = _exponential(powers)
    full = _product(base, sums[order:]) if size.kind == TIGHT else base
    log_scale = powers[0] + log_weight
    shift = jnp.max(log_scale, axis=1)
    values = factor * jnp.exp(log_scale - shift[:, None])
    weight = values * rule[...][None, :]
    parts = [jnp.sum(weight * f, axis=1) * moments[m, :] for m, f in enumerate(full)]
    total = sum(parts[1:], parts[0])
    log_integral[...] = jnp.log(total) + shift
    values = values * sum((f * moment[m + 1] for m, f in enumerate(full[1:])), full[0])
    # The mean is a derivative, one power of ε behind the mass.
    relative = _rounding(parts, shift, len(side)) + _series_error(parts) * (10.0 if size.gradient else 1.0)
    if size.kind != SLACK:
        relative = relative + _node_error(values, total, tail, is_cut[...])
    relative = relative / total
    if size.gradient:
        share = weight / total[:, None]
        pulls = [share * _contract(full, moment, k) for k in range(order)]
        pushes = [share * _contract(base, moment, k) for k in range(order)] if size.kind == TIGHT else []
        relative = jnp.maximum(relative, _store_mean(goods, size, q, shadow, pulls, pushes, mean[0]))
    error[...] = relative


def _store_mean(
    goods: _Goods, size: Size, q: Device, shadow: Device, pulls: list[Device], pushes: list[Device], mean: Any
) -> Device:
    """Write E[u | region] (n, B) and return its error (B,), from the last two powers of ε.

    pulls and pushes are (B, J) of L[ε^k (1 + ε) f], with the rate and without. A good that is bought though nobody
    wants it has z far below 0, where the recurrence of r amplifies rounding by |c z₀|/m a step. The mass hardly
    notices, since what comes out is the ratio of a slightly other Φ; the mean does, and its last powers show it.
    """
    order, is_tight = size.order, size.kind == TIGHT
    second = jnp.sum(pulls[0] + pulls[1], axis=1) * q * q  # L[q² f]
    at_shadow = jnp.sum(shadow * pulls[0], axis=1) * q

    def store(i: Device, error: Device) -> Device:
        h, side, sign, slope = _good(goods, i)
        c = (sign * h * q)[:, None]
        z = c - (sign * slope)[:, None] * shadow
        _, r = _inverse_mills(z)
        terms, slopes = _series(z, c, r, order if is_tight else order - 1)
        powers = [sign[:, None] * term * pull for term, pull in zip(terms[:order], pulls, strict=True)]
        if is_tight:  # the good whose ratio is the lowest bought is at λ itself: the derivative of Σ_above a r
            rate = jnp.where(side == ABOVE, slope, 0.0)[:, None]
            powers = [own + rate * a * b for own, a, b in zip(powers, slopes[:order], pushes, strict=True)]
        own = jnp.sum(sum(powers[1:], powers[0]), axis=1)
        mean[i, :] = jnp.where(side == AT, slope * at_shadow, h * second + q * own)
        last = [q * jnp.abs(jnp.sum(power, axis=1)) for power in powers[-2:]]
        return jnp.maximum(error, jnp.maximum(*last))

    return jax.lax.fori_loop(0, goods.h.shape[0], store, jnp.zeros_like(q))


def _rounding(parts: list[Device], shift: Device, n_goods: int) -> Device:
    magnitude = sum((jnp.abs(part) for part in parts[1:]), jnp.abs(parts[0]))
    return 3e-16 * (20.0 + float(np.sqrt(n_goods)) + jnp.abs(shift)) * magnitude


def _node_error(values: Device, total: Device, tail: Any, is_cut: Device) -> Device:
    """Return the error of the shadow price's rule, from the last two Legendre coefficients and from the cut tails.

    values : (B, J) integrand in v, a panel of length 2. A rule of J points first errs at degree 2J, where coefficients
    that decay geometrically have the square of their size at J. A twelfth of that bounds the errors seen at 2 to 100
    goods, by a factor of 100 as a rule. Rows 2 and 3 of `tail` pick the ends.
    """
    sizes = [jnp.abs(jnp.sum(values * tail[k, :][None, :], axis=1)) for k in range(4)]
    last = jnp.maximum(sizes[0], sizes[1])
    return 0.08 * last * (last / total) + 0.04 * (is_cut * sizes[2] + sizes[3])


def _series_error(parts: list[Device]) -> Device:
    """Return a bound of what the terms beyond the last add (B,): the last two, since one may vanish by chance.

    Of those before them a tenth, for the rows in which both do.
    """
    size = [jnp.abs(part) for part in parts[-4:]]
    return jnp.maximum(size[2], size[3]) + 0.1 * jnp.maximum(size[0], size[1])


def _rule(n_nodes: int) -> tuple[Array, Array, Array]:
    """Return Gauss–Legendre points, weights of a panel of length 2, and the functionals that `_node_error` applies."""
    if n_nodes == 1:  # no shadow price to integrate over
        return np.zeros(1), np.ones(1), np.zeros((4, 1))
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    tail = np.zeros((4, n_nodes))
    for row, degree in enumerate((n_nodes - 2, n_nodes - 1)):
        tail[row] = (degree + 0.5) * w * np.polynomial.legendre.Legendre.basis(degree)(x)
    tail[2, 0] = tail[3, -1] = 1.0
    return x, w, tail


def _call(kernel: Any, tile: int, shared: list[Any], by_row: list[Any], outputs: list[Any], is_gpu: bool) -> Any:
    """Run a kernel over tiles of rows; the last axis of `by_row` and of the outputs is that of the rows."""

    def spec(array: Any, is_cut: bool) -> Any:
        shape = (*array.shape[:-1], tile) if is_cut else array.shape
        return pl.BlockSpec(shape, lambda b: (*[0] * (array.ndim - 1), b if is_cut else 0))

    return pl.pallas_call(
        kernel,
        grid=(outputs[0].shape[-1] // tile,),
        in_specs=[*(spec(array, False) for array in shared), *(spec(array, True) for array in by_row)],
        out_specs=[spec(array, True) for array in outputs],
        out_shape=outputs,
        interpret=not is_gpu,
        compiler_params=triton.CompilerParams(num_warps=_N_WARPS, num_stages=1) if is_gpu else None,
    )(*shared, *by_row)


def _tile(size: Size) -> int:
    """Return the rows of a tile of `integrate`: two elements a thread run fastest, one compiles in half the time."""
    elements = 64 * _N_WARPS if size.n_nodes == 32 else 32 * _N_WARPS
    return elements // size.n_nodes


def _at(table: Device, good: Device) -> Device:
    """Return the entry of one good for each row (B,), of a table (n,) or (n, B)."""
    return table[good] if table.ndim == 1 else jnp.take_along_axis(table, good[None], axis=0)[0]


def block_masses(h: Device, rows: RegionBlock, table: Moments, size: Size, is_gpu: bool) -> Integrals:
    """Return the masses of a block of rows of one kind; an error of inf or NaN marks a row that failed.

    h is (n,), or (n, B) where each row has a law of its own. On a GPU the number of rows is a multiple of ROWS.
    """
    n, count = rows.side.shape
    row_like = jax.ShapeDtypeStruct((count,), jnp.float64)
    goods = [rows.side, rows.slope, _at(h, rows.pivot), _at(rows.slope, rows.pivot)]
    square = jnp.sum(h * h, axis=0)
    law = [jnp.atleast_1d(0.25 * (n + jnp.sqrt(n * n + 4.0 * square))), h]
    shared, by_row = (law, []) if h.ndim == 1 else ([], law)
    is_slack = size.kind == SLACK
    saddle, *placed = _call(
        partial(_place_kernel, kind=size.kind), ROWS if is_gpu else count, shared, [*by_row, *goods],
        [row_like] * (1 if is_slack else 6), is_gpu,
    )  # fmt: skip
    if is_slack:
        placed = [jnp.zeros(count)] * 5
    row = nearest_row(saddle, n, table)
    q = table.inverse[row]
    bend = 0.5 * q * q * (square - table.tilt[row])
    outputs = [row_like, row_like, *([jax.ShapeDtypeStruct((n, count), jnp.float64)] if size.gradient else [])]
    value, error, *mean = _call(
        partial(_integrate_kernel, size=size), _tile(size) if is_gpu else count,
        [*(jnp.asarray(part) for part in _rule(size.n_nodes)), *shared[1:]],
        [*by_row[1:], *goods, q, bend, *placed, table.moment[row].T], outputs, is_gpu,
    )  # fmt: skip
    value = value + table.log_size[row]
    error = jnp.where(jnp.isfinite(value), error, jnp.inf)
    return Integrals(value, error, mean[0] if size.gradient else None)


def nearest_row(saddle: Device, n_goods: int, table: Moments) -> Device:
    """Return the row of the table of moments for each saddle p₀."""
    row = jnp.round((saddle - lowest_saddle(n_goods)) / TABLE_STEP)
    return jnp.clip(row, 0, table.inverse.shape[0] - 1).astype(jnp.int32)


@partial(jax.jit)
def whole_spheres(laws: Device, table: Moments) -> tuple[Device, Device]:
    """Return log ∫ exp(h·u) du over the sphere (K,) and E[u] (K, n) of laws h (K, n): a region without goods.

    f = exp(b (1 + ε)²) has the coefficients m f_m = 2b (f_{m-1} + f_{m-2}), but for a factor exp(b).
    """
    n, square = laws.shape[1], jnp.sum(laws * laws, axis=1)
    row = nearest_row(jnp.sqrt(0.25 * (n + jnp.sqrt(n * n + 4.0 * square))), n, table)
    q, moment = table.inverse[row], table.moment[row]
    bend = 0.5 * q * q * (square - table.tilt[row])
    f = [jnp.ones_like(bend), 2.0 * bend]
    for m in range(2, moment.shape[1] - 2):
        f.append(2.0 * bend * (f[m - 1] + f[m - 2]) / m)
    total = sum(f[m] * moment[:, m] for m in range(len(f)))
    second = sum(f[m] * (moment[:, m] + 2.0 * moment[:, m + 1] + moment[:, m + 2]) for m in range(len(f)))
    return table.log_size[row] + bend + jnp.log(total), laws * (q * q * second / total)[:, None]
