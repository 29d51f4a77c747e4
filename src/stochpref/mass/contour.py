# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From Gaussian masses to the sphere: nodes and weights in the scale q of the Gaussian's mean.

∫_cone exp(h·z - s|z|²) dz, in polar coordinates, is a Laplace transform in r². Inverting it at r = 1, with s = p² and
the straight contour p = p₀ + iη,

    ∫_{cone ∩ sphere} exp(h·u) du = (4/π) π^{n/2} ∫₀^∞ Re[ p^{1-n} exp(p² + |h|²/4p²) g(h q) ] dη,    q = 1/(√2 p),

where g is the Gaussian mass of `shadow`. On the real axis the integrand is log-convex, so it has one minimum, the
saddle p₀, where the radius of the tilted law is 1 on average. There it is a bell in η of width near ½ whatever n and κ.
Two ways to sum it, both placed at the saddle of the *whole* integrand, found for each observation:

- **Gauss rules.** For weight p^{1-n} exp(p² + k/4p²), any k, a Gauss rule in q integrates polynomials of degree 2N - 1
  with N/2 complex nodes. k is chosen so that the weight has its saddle where the integrand has: what is left over is
  smooth however far the region lies from the mean, where a rule for k = |h|² would fail. Rules depend on (n, p₀) only
  and are tabulated in steps of p₀; the decay of the coefficients of the integrand says how accurate they were.
- **The contour itself**, by the trapezoidal rule, with three to four times as many nodes: for the rest.

Regions that turn their back on the mean (h·u < 0 throughout) have no saddle once |h| is large; `behind` does those.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.mass.shadow import Cone, find_mode, on_line
from stochpref.threads import compiled

Array = NDArray[np.float64]

_MIN_SADDLE = 0.5
TABLE_STEP: Final = 0.1  # in p₀: a fifth to a quarter of the bell's width
_CONTOUR_REACH, _CONTOUR_POINTS = 5.0, 128  # exp(-2·5²) is nothing


class Rules(NamedTuple):
    """Gauss rules in q, one row per saddle p₀ = low + row · step.

    n_nodes : (J,) distinct nodes of each rule; of a conjugate pair only one is kept, with twice the weight.
    node_re, node_im : (J, N) q.
    log_weight_re, log_weight_im : (J, N) logarithm of weight × exp(-k q²/2) × the integral of the weight function.
    coefficient_re, coefficient_im : (J, 4, N) map weighted values to the last four orthogonal coefficients.
    defect : (J,) largest error of the rule on the monomials it should integrate exactly: rounding, mostly.
    degree : N.
    """

    low: float
    n_nodes: NDArray[np.int64]
    node_re: Array
    node_im: Array
    log_weight_re: Array
    log_weight_im: Array
    coefficient_re: Array
    coefficient_im: Array
    defect: Array
    degree: int


def _orthogonal_coefficients(
    weights: NDArray[np.complex128], q: NDArray[np.complex128], degree: int
) -> tuple[Array, Array]:
    """Return the recurrence coefficients α (J, N) and the squared norms (J, N) of the polynomials orthogonal in q.

    Stieltjes' procedure on the contour's own discretisation. Both are real, since nodes come in conjugate pairs, but
    squared norms may be negative: the form is not an inner product.
    """
    shape = (len(weights), degree)
    alphas, norms = np.empty(shape), np.empty(shape)
    before, current = np.zeros_like(q), np.ones_like(q)
    for j in range(degree):
        norms[:, j] = np.sum(weights * current**2, axis=1).real
        alphas[:, j] = np.sum(weights * q * current**2, axis=1).real / norms[:, j]
        beta = norms[:, j] / norms[:, j - 1] if j else np.zeros(len(weights))
        before, current = current, (q - alphas[:, j, None]) * current - beta[:, None] * before
    return alphas, norms


def _defect(
    rule: NDArray[np.complex128],
    x: NDArray[np.complex128],
    weights: NDArray[np.complex128],
    q: NDArray[np.complex128],
    degree: int,
) -> Array:
    """Return (J,) the largest error of each rule on the monomials of degree below 2N."""
    error = np.zeros(len(rule))
    ours, theirs = rule, weights
    for _ in range(2 * degree):
        error = np.maximum(error, np.abs(ours.sum(axis=1) - theirs.sum(axis=1)))
        ours, theirs = ours * x, theirs * q
    return error


def _gauss_rules(n_goods: int, degree: int, low: float, high: float) -> Rules:
    p0 = np.arange(low, high + TABLE_STEP, TABLE_STEP)
    s0 = p0**2
    tilt = 2 * s0 * (2 * s0 - n_goods)  # k: puts the saddle of the weight at p₀
    step = 2 * _CONTOUR_REACH / _CONTOUR_POINTS
    eta = -_CONTOUR_REACH + step * (np.arange(_CONTOUR_POINTS) + 0.5)
    p = p0[:, None] + 1j * eta
    scale = (p0[:, None] / p).astype(np.complex128)  # q in units of its value at the saddle
    size = s0 + (1 - n_goods) * np.log(p0) + tilt / (4 * s0)
    weights: NDArray[np.complex128] = np.exp(
        p**2 + (1 - n_goods) * np.log(p) + tilt[:, None] / (4 * p**2) - size[:, None]
    )
    total = weights.sum(axis=1).real
    weights /= total[:, None]
    alphas, norms = _orthogonal_coefficients(weights, scale, degree)
    jacobi = np.zeros((len(p0), degree, degree))
    rows = np.arange(degree)
    jacobi[:, rows, rows] = alphas
    jacobi[:, rows[:-1], rows[1:]] = 1.0
    jacobi[:, rows[1:], rows[:-1]] = norms[:, 1:] / norms[:, :-1]
    x = np.linalg.eigvals(jacobi).astype(np.complex128)
    basis = np.empty((degree, *x.shape), np.complex128)
    before, current = np.zeros_like(x), np.ones_like(x)
    for j in range(degree):
        basis[j] = current
        beta = norms[:, j] / norms[:, j - 1] if j else np.zeros(len(p0))
        before, current = current, (x - alphas[:, j, None]) * current - beta[:, None] * before
    # Weights that integrate the N orthogonal polynomials exactly: unlike 1/Σ p², forgiving of rounding in the nodes.
    scaled = (basis / np.sqrt(np.abs(norms.T[:, :, None]))).transpose(1, 0, 2)
    target = np.broadcast_to(np.eye(degree, 1, dtype=np.complex128), (len(p0), degree, 1))
    rule = np.linalg.solve(scaled, target)[:, :, 0].astype(np.complex128)
    defect = _defect(rule, x, weights, scale, degree)
    # Keep one of each conjugate pair, first in the row; dropped nodes get no weight.
    is_real = np.abs(x.imag) < 1e-9
    multiplicity = np.where(is_real, 1.0, np.where(x.imag > 0, 2.0, 0.0))
    order = np.argsort(multiplicity == 0, axis=1, kind="stable")
    x, rule, multiplicity = (np.take_along_axis(table, order, axis=1) for table in (x, rule, multiplicity))
    basis = np.take_along_axis(basis, order[None], axis=2)
    q = x / (np.sqrt(2.0) * p0[:, None])
    with np.errstate(divide="ignore"):
        log_weight = np.log(rule) + np.log(multiplicity) - tilt[:, None] * q**2 / 2
    log_weight += (np.log(total * step / 2) + size)[:, None]
    last = (basis[-4:] / np.sqrt(np.abs(norms.T[-4:, :, None]))).transpose(1, 0, 2)
    return Rules(
        low=low,
        n_nodes=np.count_nonzero(multiplicity, axis=1),
        node_re=np.ascontiguousarray(q.real),
        node_im=np.ascontiguousarray(q.imag),
        log_weight_re=np.ascontiguousarray(log_weight.real),
        log_weight_im=np.ascontiguousarray(log_weight.imag),
        coefficient_re=np.ascontiguousarray(last.real),
        coefficient_im=np.ascontiguousarray(last.imag),
        defect=defect,
        degree=degree,
    )


@lru_cache(maxsize=64)
def _cached_rules(n_goods: int, degree: int, n_steps: int) -> Rules:
    low = float(np.sqrt(max(0.35 * n_goods, _MIN_SADDLE)))
    return _gauss_rules(n_goods, degree, low, low + n_steps * TABLE_STEP)


def gauss_rules(n_goods: int, concentration: float, tolerance: float) -> Rules:
    """Return the table of rules that serves every observation at this concentration; cached.

    Eight nodes (four evaluations) are meant to serve a tolerance of 1e-10 at any n and κ; for many goods and a wide
    law, six do. What they do not serve goes to the contour.
    """
    degree = 6 if n_goods >= 60 and concentration < 0.3 * n_goods else 8
    if tolerance < 1e-10:
        degree += 2
    s_high = 0.25 * (n_goods + np.sqrt(n_goods**2 + 4 * concentration**2))
    low = np.sqrt(max(0.35 * n_goods, _MIN_SADDLE))
    n_steps = int((np.sqrt(s_high) - low) / TABLE_STEP) + 2
    return _cached_rules(n_goods, degree, 2 ** int(np.ceil(np.log2(n_steps))))


@compiled
def find_saddle(cone: Cone, is_binding: bool) -> tuple[float, float, float, bool]:
    """Return the saddle s₀, the price at the integrand's mode there, -d log E|z|² / d log s, and whether there is one.

    Solves E|z|² = 1, which falls in s, by secant steps in log s against log E|z|².
    """
    h = cone.h
    n = h.shape[0]
    kappa2 = 0.0
    for i in range(n):
        kappa2 += h[i] * h[i]
    s = 0.25 * (n + np.sqrt(n * n + 4.0 * kappa2))
    steepness, price, old_log, old_x, excess = 1.5, 0.0, 0.0, 0.0, 0.0
    for step in range(40):
        q = 1.0 / np.sqrt(2.0 * s)
        if is_binding:
            price = find_mode(cone, q, price)
        _, _, _, moment = on_line(cone, q, price, 0)
        x, excess = np.log(s), np.log(moment)
        if step > 0 and abs(x - old_x) > 1e-9:
            # E|z|² behaves like 1/s to 1/s², or less where the cone's apex holds it down.
            steepness = min(max(-(excess - old_log) / (x - old_x), 0.3), 2.5)
        if abs(excess) < 0.1 / np.sqrt(s) or (s <= _MIN_SADDLE and excess < 0.0):
            break
        old_log, old_x = excess, x
        s = max(s * np.exp(min(max(excess / steepness, -3.0), 3.0)), _MIN_SADDLE)
    return s, price, steepness, abs(excess) < 0.2


@compiled
def _log_size(s0: float, steepness: float, x: float) -> float:
    """Return log |integrand at p = (1-x) p₀| - log |integrand at p₀| of p² - α log p + β/p², matched at the saddle."""
    b = min(max(steepness - 1.0, 0.0), 1.0)
    y = 1.0 - x
    return s0 * (y * y - 1.0 - (2.0 - 2.0 * b) * np.log(y) + b * (1.0 / (y * y) - 1.0))


@compiled
def contour_step(s0: float, steepness: float, log_error: float) -> float:
    """Return the largest step in η whose trapezoidal sum errs by at most exp(log_error), relative.

    Moving the contour by d towards the singularity at p = 0 bounds the error by exp(-2πd/step) times the integrand's
    size there; the best d is searched on a grid.
    """
    step = 0.0
    for k in range(1, 40):
        x = k / 40.0
        step = max(step, 2.0 * np.pi * x * np.sqrt(s0) / (_log_size(s0, steepness, x) - log_error))
    return step


@compiled
def contour_log_error(s0: float, steepness: float, step: float) -> float:
    """Return the log of the relative error that `contour_step` allows for a step."""
    best = 0.0
    for k in range(1, 40):
        x = k / 40.0
        best = min(best, _log_size(s0, steepness, x) - 2.0 * np.pi * x * np.sqrt(s0) / step)
    return best
