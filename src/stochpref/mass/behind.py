# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions that turn their back on the mean: the contour laid along the negative axis of s.

Such a region is a cone y ↦ Σ s_i y_i e_i + λ a with y, λ ≥ 0, on whose edges h·u = -c_i and h·a = -c₀ are negative.
Once |h| is large no s > 0 makes the radius 1 on average: the saddle sits at s = -η² < 0, on the cut, where the integral
over y lives on as its continuations from above and below. The mass is their difference. With x_i = c_i/2η,

    F(x) = ∫_0^∞ exp(-2xy + y²) dy := D(x) + i (√π/2) exp(-x²),    D Dawson's integral,    F' = 1 - 2x F,

    slack   ∫ exp(h·u) du = (4/π) ∫_0^∞ η^{1-n} exp(-η²) Im Π F(x_i) dη
    pivot   the same with Im ∫ α_f exp(-2 x₀ t + t²) Π F(x_i - s_i α_i t) dt,    α = a/|a|,  x₀ = c₀/2η|a|,  t = η|a|λ
    tight   the sum, over the goods bought, of the pivot regions in which that good is the lowest.

t runs from 0 to its saddle x₀ and then up. The mean is the derivative in c and c₀ of the same sums.

Nothing cancels, however small the mass (see `behind_integrand`, which evaluates the products). With c the least of
the c_i and c₀/|a|, and η - c/2η = w, the exponent -η² - (c/2η)² is -c - w²: in w the integrand is close to a Gaussian
of known place and width, made for the trapezoidal rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, BELOW
from stochpref.mass.behind_integrand import EXPONENT, HALF, PHASE, ROW, T_IM, T_RE, Cut, Space, add_chunk
from stochpref.mass.shadow import CHUNK, LOG_PANEL_WEIGHTS, OMEGA_RE, PANEL_NODES, WORK_SIZE, Cone, panel_error
from stochpref.threads import compiled, inlined

Array = NDArray[np.float64]

_LOG_FACTOR = np.log(4.0 / np.pi)
_TURNED = 1.5  # mean square radius at s = 0; between 0.3 and 3 both contours hold
_DEAR = 0.85  # α from where the way up leans
_STEEPEST = 50.0  # fall of the exponent that a panel of 32 points integrates to 1e-16
_LONGEST = 7.0  # panel of t, over features of width 1
_MAX_PANELS = 200
_MAX_HALVINGS = 4
_FREQUENCY = 0.45  # of the Fourier transform that tells the error, in units of 1/step
_STEP = 0.02  # of h, for covariances, with masses to this tolerance
_MOMENT_TOLERANCE = 1e-12


class _Aim(NamedTuple):
    """The relative error aimed at, the depth below its top at which the integrand is cut off, and log of the top."""

    tolerance: float
    depth: float
    shift: float


@compiled
def turns_away(cone: Cone) -> bool:
    """Tell whether h·u < 0 on the whole region by so much that no saddle is left for the ordinary contour.

    At s = 0 the coordinates y and λ are exponential variables. Once their mean square radius is below 1 the saddle
    has passed onto the cut; the cut does as well a little before that. A good that is absent spans a line, on which
    h·u takes both signs.
    """
    n, is_binding = cone.h.shape[0], cone.pivot >= 0 or cone.is_tight
    along, norm2 = 0.0, 0.0
    for i in range(n):
        is_side = cone.side[i] == ABOVE or cone.side[i] == BELOW
        if (not is_side and i != cone.pivot) or (is_side and cone.side[i] * cone.h[i] >= 0.0):
            return False
        along -= cone.slope[i] * cone.h[i]
        norm2 += cone.slope[i] * cone.slope[i]
    if is_binding and along <= 0.0:
        return False
    radius2 = 2.0 * norm2 / (along * along) if is_binding else 0.0
    weight, weighted = 0.0, 0.0  # of the goods that may be the lowest bought, which are then at y = 0
    for i in range(n):
        if i == cone.pivot:
            continue
        c = -cone.side[i] * cone.h[i]
        own = 2.0 / (c * c) + (2.0 * cone.side[i] * cone.slope[i] / (along * c) if is_binding else 0.0)
        radius2 += own
        if cone.is_tight and cone.side[i] == ABOVE:
            weight += cone.slope[i] * c
            weighted += cone.slope[i] * c * own
    return radius2 - (weighted / weight if weight > 0.0 else 0.0) < _TURNED


@compiled
def _cut(cone: Cone) -> Cut:
    n, is_binding = cone.h.shape[0], cone.pivot >= 0 or cone.is_tight
    norm = np.sqrt(np.sum(cone.slope * cone.slope))
    m = n - 1 if cone.pivot >= 0 else n
    cost, tilt, rate = np.empty(m), np.zeros(m), np.zeros(m)
    edge = -np.sum(cone.slope * cone.h) / norm if is_binding else np.inf
    least, angle, j = edge, 0.5 * np.pi, 0
    for i in range(n):
        if i == cone.pivot:
            continue
        cost[j] = -cone.side[i] * cone.h[i]
        least = min(least, cost[j])
        if is_binding:
            tilt[j] = cone.side[i] * cone.slope[i] / norm
            if tilt[j] < -_DEAR:
                angle = 0.375 * np.pi
        if cone.is_tight and cone.side[i] == ABOVE:
            rate[j] = cone.slope[i] / norm
        j += 1
    start = cone.slope[cone.pivot] / norm if cone.pivot >= 0 else (0.0 if cone.is_tight else 1.0)
    return Cut(cost, tilt, rate, start, edge, least, 1.0 - n, angle)


@inlined
def _place(least: float, w: float) -> tuple[float, float]:
    """Return η with η - c/2η = w, and log dη/dw."""
    root = np.sqrt(w * w + 2.0 * least)
    eta = 0.5 * (w + root) if w > 0.0 else least / (root - w)
    return eta, np.log(eta / root)


@compiled
def _add_slack(cut: Cut, start: float, step: float, n_nodes: int, shift: float, space: Space) -> None:
    """Add the nodes w = start, start + step, …, at most CHUNK of them."""
    work = space.work
    for k in range(CHUNK):
        w = start + step * min(k, n_nodes - 1)
        eta, log_width = _place(cut.least, w)
        x = 0.5 * cut.least / eta
        work[HALF + k], work[T_RE + k], work[T_IM + k], work[PHASE + k] = 0.5 / eta, 0.0, 0.0, 0.0
        work[EXPONENT + k] = x * x - w * w + cut.power * np.log(eta) + log_width if k < n_nodes else -1e6
    add_chunk(cut, False, shift, space)


@compiled
def _add_panel(
    cut: Cut,
    is_up: bool,
    eta: float,
    left: float,
    right: float,
    exponent: float,
    shift: float,
    space: Space,
) -> None:
    """Add a panel of t at one η: of the real axis, or of the way up.

    There t = x₀ + r exp(iθ), and -2x₀t + t² is -x₀² + r² exp(2iθ).
    """
    work, half = space.work, 0.5 / eta
    x0 = cut.edge * half
    cosine, sine = np.cos(cut.angle), np.sin(cut.angle)
    fall, turn = sine * sine - cosine * cosine, 2.0 * sine * cosine  # exp(2iθ)
    exponent += np.log(right - left)
    for k in range(CHUNK):
        r = left + (right - left) * PANEL_NODES[k]
        work[HALF + k] = half
        work[T_RE + k], work[T_IM + k] = (x0 + r * cosine, r * sine) if is_up else (r, 0.0)
        rise = -fall * r * r - x0 * x0 if is_up else -r * (2.0 * x0 - r)
        work[EXPONENT + k] = exponent + LOG_PANEL_WEIGHTS[k] + rise
        work[PHASE + k] = cut.angle + turn * r * r if is_up else 0.0
    add_chunk(cut, is_up, shift, space)
    space.totals[2] += panel_error(work)


@inlined
def _fall(height: float, slope: float, bend: float, end: float) -> float:
    """Return where height - 2·slope·t + bend·t² first falls below 0 on [0, end]; 0 if it starts there."""
    if height <= 0.0:
        return 0.0
    root2 = slope * slope - bend * height
    if slope <= 0.0 or root2 <= 0.0:
        return end
    return min(height / (slope + np.sqrt(root2)), end)


@compiled
def _panel_end(cut: Cut, half: float, x0: float, left: float, right: float, ground: float) -> float:
    """Return where the panel from `left` towards `right` should end.

    No term that matters at an end, exp(-2x₀t + t² - x_i²) above exp(ground), may change by more than a panel resolves.
    """
    extent = min(max(right - left, -_LONGEST), _LONGEST)
    for j in range(cut.cost.shape[0]):
        for _ in range(60):
            a = cut.cost[j] * half - cut.tilt[j] * left
            b = a - cut.tilt[j] * extent
            low, high = -left * (2.0 * x0 - left) - a * a, -(left + extent) * (2.0 * x0 - left - extent) - b * b
            if max(low, high) < ground or abs(high - low) <= _STEEPEST:
                break
            extent *= 0.5
    return left + extent


@compiled
def _add_shadow(cut: Cut, w: float, aim: _Aim, space: Space) -> None:
    """Add all t at one w: the ends of the real axis where any term stands above exp(-depth), then the way up."""
    work, shift = space.work, aim.shift
    eta, log_width = _place(cut.least, w)
    half = 0.5 / eta
    x0, least = cut.edge * half, cut.least * half
    exponent = least * least - w * w + cut.power * np.log(eta) + log_width
    ground = w * w - least * least - aim.depth
    for j in range(cut.cost.shape[0]):  # what Π F may gain where the goods bought come to their thresholds
        if cut.tilt[j] > 0.0:
            ground -= np.log(1.0 + 2.0 * cut.cost[j] * half)
    low, high = 0.0, 0.0
    for j in range(cut.cost.shape[0]):
        tilt = cut.tilt[j]
        x, bend = cut.cost[j] * half, 1.0 - tilt * tilt
        end = x - tilt * x0
        low = max(low, _fall(-ground - x * x, x0 - tilt * x, bend, x0))
        high = max(high, _fall(-ground - x0 * x0 - end * end, tilt * end, bend, x0))
    if low + high >= x0:
        low, high = x0, 0.0
    left, n_panels = 0.0, 0
    while left < low and n_panels < _MAX_PANELS:
        right = _panel_end(cut, half, x0, left, low, ground)
        _add_panel(cut, False, eta, left, right, exponent, shift, space)
        left, n_panels = right, n_panels + 1
    right = x0
    while right > x0 - high and n_panels < _MAX_PANELS:
        left = _panel_end(cut, half, x0, right, x0 - high, ground)
        _add_panel(cut, False, eta, left, right, exponent, shift, space)
        right, n_panels = left, n_panels + 1
    left, right = 0.0, min(np.sqrt(-max(-ground - x0 * x0, 0.0) / np.cos(2.0 * cut.angle)), _LONGEST)
    while right > left and n_panels < _MAX_PANELS:
        _add_panel(cut, True, eta, left, right, exponent, shift, space)
        if abs(work[OMEGA_RE + CHUNK - 1]) + abs(work[OMEGA_RE + CHUNK - 2]) <= 1e-3 * aim.tolerance * abs(
            space.totals[0]
        ):
            break
        left, right, n_panels = right, right + _LONGEST, n_panels + 1


@compiled
def _add_nodes(cut: Cut, grid: tuple[float, float, int], aim: _Aim, space: Space, values: Array) -> None:
    """Add the nodes w of a grid (start, step, count) and write what each adds to `values`."""
    start, step, count = grid
    if cut.edge < np.inf:
        for i in range(count):
            before = space.totals[0]
            k = (i + count // 2) % count  # from the middle, so that what does not matter can be told
            _add_shadow(cut, start + step * k, aim, space)
            values[k] = space.totals[0] - before
    else:
        for k in range(0, count, CHUNK):
            n_nodes = min(count - k, CHUNK)
            _add_slack(cut, start + step * k, step, n_nodes, aim.shift, space)
            values[k : k + n_nodes] = space.work[OMEGA_RE : OMEGA_RE + n_nodes]


@compiled
def _trapezoidal_error(values: Array, total: float) -> float:
    """Return the relative error of a trapezoidal sum, judged by the Fourier transform of its terms.

    The error is the transform at frequency 1/step, which the terms cannot show. At 0.45/step they can, whatever the
    phase, and it decays at least geometrically from there.
    """
    re, im = 0.0, 0.0
    for k in range(values.shape[0]):
        re += values[k] * np.cos(2.0 * np.pi * _FREQUENCY * k)
        im += values[k] * np.sin(2.0 * np.pi * _FREQUENCY * k)
    return min(np.hypot(re, im) / total, 1.0) ** (1.0 / _FREQUENCY)


@compiled
def turned_mass(cone: Cone, tolerance: float, means: Array) -> tuple[float, float]:
    """Return log ∫_region exp(h·u) du of a region that turns away, and an estimate of its error.

    Fills `means` with E[u | region], unless it is empty.
    """
    cut = _cut(cone)
    m = cut.cost.shape[0]
    space = Space(np.zeros(WORK_SIZE), np.empty(ROW * m), np.zeros(4), np.zeros(m if means.shape[0] > 0 else 0))
    eta = np.sqrt(0.5 * cut.least)
    shift = cut.power * np.log(eta)
    for j in range(m):
        shift -= np.log(1.0 + cut.cost[j] / eta)
    tolerance = max(tolerance, 1e-15 * (100.0 + cut.least))
    log_aim = np.log(0.1 * tolerance)
    aim = _Aim(tolerance, 4.0 - log_aim, shift)
    reach = np.sqrt(aim.depth)
    # The transform of exp(-w²) falls as exp(-(π f)²). At low costs the map to w is felt: more nodes, by experience.
    frequency = np.sqrt(-log_aim * _FREQUENCY) / np.pi * min(max(np.sqrt(10.0 / cut.least), 1.0), 1.5)
    count = int(np.ceil(2.0 * reach * frequency / _FREQUENCY)) + 1
    step = 2.0 * reach / (count - 1)
    values = np.empty(count)
    _add_nodes(cut, (-reach, step, count), aim, space, values)
    for halving in range(_MAX_HALVINGS + 1):
        error = _trapezoidal_error(values, space.totals[0]) if space.totals[0] > 0.0 else np.inf
        if error <= 0.1 * tolerance or halving == _MAX_HALVINGS:
            break
        finer, between = np.empty(2 * count - 1), np.empty(count - 1)
        _add_nodes(cut, (-reach + 0.5 * step, step, count - 1), aim, space, between)
        finer[::2], finer[1::2] = values, between
        values, count, step = finer, 2 * count - 1, 0.5 * step
    total, size, panels, shadow = space.totals
    if not total > 0.0:
        return np.nan, np.inf
    cut_off = abs(values[0]) + abs(values[-1])
    error += 0.1 * tolerance + (panels + cut_off) / total + 3e-16 * (size / total) * (20.0 + cut.least)
    norm, j = np.sqrt(np.sum(cone.slope * cone.slope)), 0
    for i in range(means.shape[0]):
        means[i] = cone.slope[i] / norm * shadow / total if cut.edge < np.inf else 0.0
        if i != cone.pivot:
            means[i] += cone.side[i] * space.y[j] / total
            j += 1
    return np.log(total * step) + shift - cut.least + _LOG_FACTOR, error


@compiled
def turned_moments(cone: Cone, means: Array, moments: Array) -> None:
    """Fill the lower triangle of `moments` with E[u uᵀ | region], unless it is empty, given `means`.

    The covariance is the derivative of the mean in h, here by differences of fourth order: over h means vary on scales
    of 1 or more, since |u| = 1, and they are known to about 1e-13.
    """
    n = moments.shape[0]
    mean, h = np.empty(n), cone.h.copy()
    shifted = Cone(h, cone.side, cone.slope, cone.pivot, cone.is_tight)
    for i in range(n):
        for j in range(i + 1):
            moments[i, j] = means[i] * means[j]
    for j in range(n):
        for k in range(4):
            steps = (-2.0, -1.0, 1.0, 2.0)[k]
            h[j] = cone.h[j] + steps * _STEP
            turned_mass(shifted, _MOMENT_TOLERANCE, mean)
            factor = (1.0, -8.0, 8.0, -1.0)[k] / (12.0 * _STEP)
            for i in range(j, n):
                moments[i, j] += factor * mean[i]
        h[j] = cone.h[j]
