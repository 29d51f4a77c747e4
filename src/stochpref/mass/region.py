# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The mass of one region: saddle, panels of the shadow price, nodes in q, sum, and an error estimate.

A cheap attempt with a tabulated Gauss rule comes first. Its two error estimates (Legendre coefficients in the shadow
price, orthogonal coefficients in q) decide whether panels are halved and whether the contour has to be summed instead.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABOVE, ABSENT, BELOW
from stochpref.mass.contour import TABLE_STEP, Rules, contour_log_error, contour_step, find_saddle
from stochpref.mass.shadow import (
    CHUNK,
    LAMBDA,
    LOG_PANEL_WEIGHTS,
    LOG_WEIGHT_IM,
    LOG_WEIGHT_RE,
    MAX_PANELS,
    OMEGA_IM,
    OMEGA_RE,
    PANEL_NODES,
    Q_IM,
    Q_RE,
    WORK_SIZE,
    Cone,
    add_means,
    add_second_moments,
    add_squares,
    end_size,
    evaluate_chunk,
    extrapolated_error,
    find_drop,
    on_line,
    panel_error,
    weigh_chunk,
)
from stochpref.threads import compiled

Array = NDArray[np.float64]

MAX_CONTOUR: Final = 192
MAX_EXTENSIONS: Final = 5  # of the support of the shadow price
NODE_ROWS: Final = 6  # rows of the node table: q, log-weight and sum, each real and imaginary
NODE_Q_RE, NODE_Q_IM, NODE_W_RE, NODE_W_IM, NODE_SUM_RE, NODE_SUM_IM = range(NODE_ROWS)
LOG_FACTOR = np.log(4.0 / np.pi)
LOG_PI = np.log(np.pi)


class Scratch(NamedTuple):
    """Working memory of one thread, and what it leaves behind for the caller.

    work : WORK_SIZE doubles, the chunk of `shadow`.
    ratios : 2·CHUNK·n doubles, r of every good at every node of the chunk.
    nodes : (NODE_ROWS, MAX_CONTOUR) the rule in q.
    edges : MAX_PANELS + 2 ends of the panels of the shadow price.
    means : (n,) gets E[u | region]; (0,) if that is not wanted.
    moments : (n, n) gets the lower triangle of E[u uᵀ | region]; (0, 0) if that is not wanted.
    squares : (n,) gets E[(u - h)² | region] of normal laws; (0,) if that is not wanted.
    """

    work: Array
    ratios: Array
    nodes: Array
    edges: Array
    means: Array
    moments: Array
    squares: Array


def make_scratch(n_goods: int, with_means: bool, with_moments: bool, with_squares: bool = False) -> Scratch:
    """Return fresh scratch for regions over so many goods."""
    return Scratch(
        np.zeros(WORK_SIZE),
        np.empty(2 * CHUNK * n_goods),
        np.empty((NODE_ROWS, MAX_CONTOUR)),
        np.empty(MAX_PANELS + 2),
        np.empty(n_goods if with_means else 0),
        np.empty((n_goods, n_goods) if with_moments else (0, 0)),
        np.empty(n_goods if with_squares else 0),
    )


@compiled
def place_panels(cone: Cone, q: float, price: float, tolerance: float, edges: Array) -> int:
    """Write the first panels of the shadow price (in units of λ at q) to `edges` and return their number.

    The support is where the integrand exceeds `tolerance` of its maximum (pivot), or where neither tail can hold more
    than `tolerance` of the mass (tight): the mass is at least max D, the tails are at most Π_below Φ and Π_above Φ.
    """
    top, first, second, _ = on_line(cone, q, price, 0)
    target = top + np.log(tolerance)
    # Where D is flat its curvature says nothing; with slopes of at most 1 nothing happens faster than 1/q.
    width = 1.0 / np.sqrt(max(-second, first * first, q * q))
    reach = width * np.sqrt(-2.0 * (target - top))
    low_keep, high_keep = (0, 0) if cone.pivot >= 0 else (BELOW, ABOVE)
    low = 0.0
    if price > 0.0:
        low = find_drop(cone, q, target, max(price - reach, 0.0), -width, low_keep)
        low = min(low, price)
    high = find_drop(cone, q, target, price + reach, width, high_keep)
    edges[0], edges[1] = low * q, high * q
    return grade(cone, q, edges, 1)


@compiled
def grade(cone: Cone, q: float, edges: Array, n_panels: int) -> int:
    """Halve panels until none is longer than 16 widths 1/a_i of a good whose threshold λ = m_i/a_i is within 9 widths.

    Beyond 9 widths Φ is 1 to the last digit, or has fallen far below it as a plain Gaussian: nothing to resolve.
    """
    j = 0
    while j < n_panels:
        left, right = edges[j], edges[j + 1]
        finest = 0.0
        for i in range(cone.h.shape[0]):
            slope = cone.slope[i]
            centre = q * cone.h[i] / slope
            distance = max(left - centre, centre - right, 0.0)
            if cone.side[i] != ABSENT and distance * slope < 9.0:
                finest = max(finest, slope)
        if (right - left) * finest > 16.0 and n_panels < MAX_PANELS // 2:
            for i in range(n_panels, j, -1):
                edges[i + 1] = edges[i]
            edges[j + 1] = 0.5 * (left + right)
            n_panels += 1
        else:
            j += 1
    return n_panels


@compiled
def _fill_panel(work: Array, nodes: Array, j: int, left: float, right: float) -> None:
    """Put node j of the q-rule on every point of a panel of the shadow price."""
    log_extent = np.log(right - left)
    for k in range(CHUNK):
        work[Q_RE + k], work[Q_IM + k] = nodes[NODE_Q_RE, j], nodes[NODE_Q_IM, j]
        work[LAMBDA + k] = left + (right - left) * PANEL_NODES[k]
        work[LOG_WEIGHT_RE + k] = nodes[NODE_W_RE, j] + LOG_PANEL_WEIGHTS[k] + log_extent
        work[LOG_WEIGHT_IM + k] = nodes[NODE_W_IM, j]


@compiled
def _fill_slack(work: Array, nodes: Array, start: int, stop: int) -> None:
    """Put nodes start..stop of the q-rule into the chunk, at shadow price 0, and fill up with weightless copies."""
    for k in range(CHUNK):
        j = min(start + k, stop - 1)
        work[Q_RE + k], work[Q_IM + k], work[LAMBDA + k] = nodes[NODE_Q_RE, j], nodes[NODE_Q_IM, j], 0.0
        work[LOG_WEIGHT_RE + k] = nodes[NODE_W_RE, j] if start + k < stop else -1e6
        work[LOG_WEIGHT_IM + k] = nodes[NODE_W_IM, j]


@compiled
def integrate(
    cone: Cone,
    start: int,
    stop: int,
    n_panels: int,
    shift: float,
    scratch: Scratch,
) -> tuple[float, float, float]:
    """Fill the sums of nodes start..stop and add to `means`.

    Returns Σ |terms|, the quadrature error over the shadow price, and what its support may have cut off: the support is
    that of the real axis, and the integrand at a complex node may reach further.
    """
    work, ratios, nodes, edges = scratch.work, scratch.ratios, scratch.nodes, scratch.edges
    size, error, cut = 0.0, 0.0, 0.0
    n_chunks = (stop - start) * n_panels if n_panels > 0 else -(-(stop - start) // CHUNK)
    nodes[NODE_SUM_RE, start:stop] = 0.0
    nodes[NODE_SUM_IM, start:stop] = 0.0
    for chunk in range(n_chunks):
        # A chunk is one panel of one node, or, where there is no shadow price to integrate over, many nodes.
        j = start + (chunk // n_panels if n_panels > 0 else chunk * CHUNK)
        panel = chunk % n_panels if n_panels > 0 else 0
        if n_panels > 0:
            _fill_panel(work, nodes, j, edges[panel], edges[panel + 1])
        else:
            _fill_slack(work, nodes, j, stop)
        evaluate_chunk(cone, work, ratios)
        size += weigh_chunk(work, cone.is_tight, shift)
        for k in range(CHUNK):
            own = j if n_panels > 0 else min(j + k, stop - 1)
            nodes[NODE_SUM_RE, own] += work[OMEGA_RE + k]
            nodes[NODE_SUM_IM, own] += work[OMEGA_IM + k]
        if n_panels > 0:
            error += panel_error(work)
            cut += end_size(work, panel == 0 and edges[0] > 0.0, panel == n_panels - 1)
        if scratch.means.shape[0] > 0:
            add_means(cone, work, ratios, scratch.means)
        if scratch.moments.shape[0] > 0:
            add_second_moments(cone, work, ratios, scratch.moments)
        if scratch.squares.shape[0] > 0:
            add_squares(cone, work, ratios, scratch.squares)
    return size, error, cut


@compiled
def refine_panels(
    cone: Cone,
    shift: float,
    tolerance: float,
    n_panels: int,
    scratch: Scratch,
) -> int:
    """Halve panels until the integrand at node 0 is resolved to `tolerance`; return their number."""
    work, ratios, nodes, edges = scratch.work, scratch.ratios, scratch.nodes, scratch.edges
    sums, errors = np.full(MAX_PANELS, np.nan), np.empty(MAX_PANELS)
    while True:
        mass, error = 0.0, 0.0
        for j in range(n_panels):
            if np.isnan(sums[j]):
                _fill_panel(work, nodes, 0, edges[j], edges[j + 1])
                evaluate_chunk(cone, work, ratios)
                sums[j] = weigh_chunk(work, cone.is_tight, shift)
                errors[j] = panel_error(work)
            mass += sums[j]
            error += errors[j]
        if not error > tolerance * mass or n_panels == MAX_PANELS:
            return n_panels
        threshold = 0.5 * tolerance * mass / n_panels
        for j in range(n_panels - 1, -1, -1):
            if errors[j] > threshold and n_panels < MAX_PANELS:
                for i in range(n_panels, j, -1):
                    edges[i + 1], sums[i], errors[i] = edges[i], sums[i - 1], errors[i - 1]
                edges[j + 1] = 0.5 * (edges[j] + edges[j + 2])
                sums[j] = sums[j + 1] = np.nan
                n_panels += 1


@compiled
def rule_error(rules: Rules, row: int, nodes: Array) -> tuple[float, float]:
    """Return the sum over the rule's nodes, and its error judged by the decay of the orthogonal coefficients."""
    total, sizes = 0.0, np.zeros(4)
    for k in range(rules.n_nodes[row]):
        total += nodes[NODE_SUM_RE, k]
        for j in range(4):
            sizes[j] += (
                rules.coefficient_re[row, j, k] * nodes[NODE_SUM_RE, k]
                - rules.coefficient_im[row, j, k] * nodes[NODE_SUM_IM, k]
            )
    middle, last = max(abs(sizes[0]), abs(sizes[1])), max(abs(sizes[2]), abs(sizes[3]))
    # The first coefficient that errs is N + 1 degrees ahead of the last, and the decay steepens on the way. Looking
    # 1.25 N degrees ahead, times 6, is on the safe side at N = 8; `benchmarks.mass stress` checks the whole.
    return total, 6.0 * extrapolated_error(middle, last, 2.0, 1.25 * rules.degree) + rules.defect[row] * abs(total)


@compiled
def _sum_rule(
    cone: Cone,
    rules: Rules,
    row: int,
    n_panels: int,
    shift: float,
    tolerance: float,
    scratch: Scratch,
) -> tuple[float, float, float, float, int]:
    """Sum a tabulated rule, once more with finer panels if the shadow price was not resolved.

    Returns the sum, Σ |terms|, the error, what the support may have cut off, and the number of panels.
    """
    nodes = scratch.nodes
    n_nodes = rules.n_nodes[row]
    for j in range(n_nodes):
        nodes[NODE_Q_RE, j], nodes[NODE_Q_IM, j] = rules.node_re[row, j], rules.node_im[row, j]
        nodes[NODE_W_RE, j], nodes[NODE_W_IM, j] = rules.log_weight_re[row, j], rules.log_weight_im[row, j]
    is_refined = n_panels == 0
    while True:
        if n_panels > 1 and not is_refined:
            n_panels = refine_panels(cone, shift, 0.1 * tolerance, n_panels, scratch)
            is_refined = True
        scratch.means[:] = 0.0
        scratch.moments[:] = 0.0
        size, shadow_error, cut = integrate(cone, 0, n_nodes, n_panels, shift, scratch)
        total, q_error = rule_error(rules, row, nodes)
        if is_refined or shadow_error <= tolerance * total or q_error > tolerance * total:
            return total, size, q_error + shadow_error, cut, n_panels
        n_panels = halve(scratch.edges, n_panels)


@compiled
def halve(edges: Array, n_panels: int) -> int:
    """Halve every panel and return the new number."""
    for j in range(n_panels, 0, -1):
        edges[2 * j] = edges[j]
    for j in range(1, 2 * n_panels, 2):
        edges[j] = 0.5 * (edges[j - 1] + edges[j + 1])
    return 2 * n_panels


@compiled
def set_contour(nodes: Array, n_goods: int, p0: float, step: float, start: int, stop: int, stride: int) -> int:
    """Write the trapezoidal nodes start, start + stride, … < stop of the contour to the node table; return how many."""
    count = 0
    for index in range(start, stop, stride):
        eta = index * step
        size2 = p0 * p0 + eta * eta
        nodes[NODE_Q_RE, count], nodes[NODE_Q_IM, count] = p0 / (np.sqrt(2.0) * size2), -eta / (np.sqrt(2.0) * size2)
        nodes[NODE_W_RE, count] = p0 * p0 - eta * eta + 0.5 * (1 - n_goods) * np.log(size2) + np.log(step)
        nodes[NODE_W_IM, count] = 2.0 * p0 * eta + (1 - n_goods) * np.arctan2(eta, p0)
        if index == 0:
            nodes[NODE_W_RE, count] += np.log(0.5)
        count += 1
    return count


@compiled
def _sum_contour(
    cone: Cone,
    s0: float,
    steepness: float,
    n_panels: int,
    shift: float,
    tolerance: float,
    scratch: Scratch,
) -> tuple[float, float, float, float]:
    """Sum the contour until its terms vanish, halving the step until the error is in hand.

    Returns the sum, Σ |terms|, the error and what the support may have cut off. The sum over every other node has an
    error that can be seen; the model of `contour_step` says to which power halving the step raises it.
    """
    nodes, n_goods = scratch.nodes, cone.h.shape[0]
    p0 = np.sqrt(s0)
    step = contour_step(s0, steepness, np.log(0.1 * tolerance))
    if n_panels > 0:
        set_contour(nodes, n_goods, p0, step, 0, 1, 1)
        n_panels = refine_panels(cone, shift, 0.1 * tolerance, n_panels, scratch)
    scratch.means[:] = 0.0
    scratch.moments[:] = 0.0
    total, size, error, cut = 0.0, 0.0, 0.0, 0.0
    for refinement in range(5):
        coarse = total
        if refinement > 0:  # the nodes between those already there; the old ones count half
            step, size, error, cut = 0.5 * step, 0.5 * size, 0.5 * error, 0.5 * cut
            scratch.means[:] *= 0.5
            scratch.moments[:] *= 0.5
        start, stride = (0, 1) if refinement == 0 else (1, 2)
        batch = 4 * stride
        fresh, other = 0.0, 0.0
        while start < MAX_CONTOUR * (1 + refinement):
            count = set_contour(nodes, n_goods, p0, step, start, start + batch, stride)
            more_size, more_error, more_cut = integrate(cone, 0, count, n_panels, shift, scratch)
            size += more_size
            error += more_error
            cut += more_cut
            largest = 0.0
            for j in range(count):
                fresh += nodes[NODE_SUM_RE, j]
                other += nodes[NODE_SUM_RE, j] if (start + j) % 2 == 0 else 0.0
                largest = max(largest, np.hypot(nodes[NODE_SUM_RE, j], nodes[NODE_SUM_IM, j]))
            start += batch
            if largest < 0.03 * tolerance * max(abs(fresh), 1e-3 * size):
                break
        if refinement == 0:
            total, coarse = fresh, 2.0 * other
        else:
            total = 0.5 * coarse + fresh
        seen = abs(total - coarse) / abs(total) if total != 0.0 else 1.0
        power = contour_log_error(s0, steepness, step) / min(contour_log_error(s0, steepness, 2.0 * step), -0.1)
        contour_error = seen ** max(power, 1.0) if seen < 1.0 else 1.0
        # Cancellation among the terms puts a floor under what finer steps can do.
        if contour_error <= max(tolerance, 1e-15 * size / max(abs(total), 1e-300)):
            break
    return total, size, contour_error * abs(total) + error, cut


@compiled
def observation_mass(cone: Cone, rules: Rules, tolerance: float, scratch: Scratch) -> tuple[float, float]:
    """Return log ∫_{region} exp(h·u) du and an estimate of its error; moments stay in `scratch`, if wanted there."""
    n, edges = cone.h.shape[0], scratch.edges
    is_binding = cone.pivot >= 0 or cone.is_tight
    s0, price, steepness, has_saddle = find_saddle(cone, is_binding)
    q0 = 1.0 / np.sqrt(2.0 * s0)
    top, _, _, _ = on_line(cone, q0, price, 0)
    shift = s0 + 0.5 * (1 - n) * np.log(s0) + np.sum(cone.h * cone.h) / (4.0 * s0) + top
    # Below the rounding of an exponent of this size there is nothing to resolve but noise.
    tolerance = max(tolerance, 1e-15 * (10.0 + abs(shift)))
    n_panels = place_panels(cone, q0, price, tolerance, edges) if is_binding else 0
    row = int(np.round((np.sqrt(s0) - rules.low) / TABLE_STEP))
    has_rule = has_saddle and 0 <= row < rules.n_nodes.shape[0]
    total, size, error, cut = 0.0, 0.0, np.inf, 0.0
    for _ in range(MAX_EXTENSIONS):
        error = np.inf
        if has_rule:
            total, size, error, cut, n_panels = _sum_rule(cone, rules, row, n_panels, shift, tolerance, scratch)
        if not error <= tolerance * total:
            total, size, error, cut = _sum_contour(cone, s0, steepness, n_panels, shift, tolerance, scratch)
        if cut <= tolerance * abs(total) or n_panels > MAX_PANELS // 4:
            break
        # The same again over a wider support, in a few more panels.
        edges[0] = max(edges[0] - 0.5 * (edges[n_panels] - edges[0]), 0.0)
        edges[n_panels + 1] = edges[n_panels] + 0.7 * (edges[n_panels] - edges[0])
        n_panels = grade(cone, q0, edges, n_panels + 1)
    if not total > 0.0:
        return np.nan, np.inf
    scratch.means[:] /= total
    scratch.moments[:] /= total
    rounding = 3e-16 * (size / total) * (20.0 + np.sqrt(float(n)) + abs(shift))
    cut_off = tolerance if is_binding else 0.0
    return np.log(total) + shift + LOG_FACTOR + 0.5 * n * LOG_PI, (error + cut) / total + rounding + cut_off
