# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The γ-margin objective OPT(γ): as many observations as possible at a distance γ inside their regions.

In ratios r = u/a, with the largest price scaled to 1, every inequality is r_p - r_q ≥ γ|u| (q may be missing: 0).
Differences of logs no longer apply. Whether a set of observations can be held is a cone programme: the widest margin of
the set is 1/min{|x| : every r_p(x) - r_q(x) ≥ 1}, a least-distance problem, solved over the inequalities that turn out
to matter. The bound for γ = 0 holds for every γ, since regions only shrink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from stochpref.consensus.certificate import certify
from stochpref.consensus.effort import Effort
from stochpref.consensus.objective import Array, Mask, is_consistent, is_possible, pack
from stochpref.consensus.polish import cool
from stochpref.consensus.solving import Report, Solution
from stochpref.kinds import ABOVE, BELOW, PIVOT, SLACK
from stochpref.regions import Regions
from stochpref.threads import compiled

Indices = NDArray[np.int64]

_MOST_ROUNDS = 60
_MOST_DROPS = 150
_MOST_TRIES = 25


class Width(NamedTuple):
    """The widest margin of a set of observations.

    utility : (n,) unit vector that has it.
    margin : at least this wide.
    limit : at most this wide.
    blame : (T,) how much each observation stands in the way of a wider one.
    """

    utility: Array
    margin: float
    limit: float
    blame: Array


@compiled
def _worst_inequalities(
    kind: NDArray[np.int8], side: NDArray[np.int8], slope: Array, pivot: NDArray[np.int32], u: Array,
    larger: Indices, smaller: Indices, gap: Array,
) -> None:  # fmt: skip
    """Write, for each observation, the inequality r_larger - r_smaller ≥ … that holds least; -1 stands for 0."""
    for t in range(kind.shape[0]):
        low, high, at_low, at_high = np.inf, -np.inf, -1, -1
        for i in range(u.shape[0]):
            r = u[i] / slope[t, i]
            if side[t, i] == ABOVE and r < low:
                low, at_low = r, i
            elif side[t, i] == BELOW and r > high:
                high, at_high = r, i
        if kind[t] == SLACK or kind[t] == PIVOT:
            f = pivot[t] if kind[t] == PIVOT else -1
            price = u[f] / slope[t, f] if f >= 0 else 0.0
            larger[t], smaller[t], gap[t] = at_low, f, low - price
            if price - high < gap[t]:
                larger[t], smaller[t], gap[t] = f, at_high, price - high
            if f >= 0 and price < gap[t]:
                larger[t], smaller[t], gap[t] = f, -1, price
        else:
            larger[t], smaller[t], gap[t] = at_low, (at_high if high > 0.0 else -1), low - max(high, 0.0)


def _least_distance(matrix: Array) -> tuple[Array, Array] | None:
    """Return the shortest x with matrix·x ≥ 1 and the multipliers; None if there is none (Lawson and Hanson, LDP)."""
    n = matrix.shape[1]
    stacked = np.vstack([matrix.T, np.ones(len(matrix))])
    target = np.append(np.zeros(n), 1.0)
    weights, norm = nnls(stacked, target, maxiter=30 * (n + len(matrix)))
    residual = stacked @ weights - target
    if norm < 1e-9 or residual[n] >= 0.0:
        return None
    return -residual[:n] / residual[n], weights


def find_width(regions: Regions, start: Array, enough: float | None = None) -> Width:
    """Return the widest margin the observations can all have; stop early once it is known to be enough, or not."""
    slope = regions.slope / regions.price_scale
    n_rows, n = slope.shape
    larger, smaller, gap = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows)
    rows: Array = np.empty((0, n))
    owners: Indices = np.empty(0, np.int64)
    u, limit = start / np.linalg.norm(start), np.inf
    best, widest, blame = u, -np.inf, np.zeros(n_rows)
    for _ in range(_MOST_ROUNDS):
        _worst_inequalities(regions.kind_code, regions.side, slope, regions.pivot, u, larger, smaller, gap)
        if gap.min() > widest:
            best, widest = u, float(gap.min())
        if widest >= limit * (1.0 - 1e-9) or (enough is not None and (widest >= enough or limit < enough)):
            break
        worst = np.argsort(gap, kind="stable")[:100]
        worst = worst[gap[worst] < limit]
        added = np.zeros((worst.size, n))
        at = np.flatnonzero(larger[worst] >= 0)
        added[at, larger[worst[at]]] = 1.0 / slope[worst[at], larger[worst[at]]]
        at = np.flatnonzero(smaller[worst] >= 0)
        added[at, smaller[worst[at]]] = -1.0 / slope[worst[at], smaller[worst[at]]]
        rows, owners = np.vstack([rows, added]), np.concatenate([owners, worst])
        solved = _least_distance(rows)
        if solved is None:
            limit = 0.0
            break
        x, weights = solved
        limit = 1.0 / float(np.linalg.norm(x))
        u = x * limit
        blame = np.asarray(np.bincount(owners, weights, n_rows), np.float64)
    return Width(best, widest, limit, blame)


def _drop_until_wide(regions: Regions, kept: Indices, start: Array, margin: float) -> Array:
    """Drop the observation most in the way until the others can have the margin; return their utility."""
    utility = start
    for _ in range(_MOST_DROPS):
        width = find_width(regions[kept], utility, margin)
        utility = width.utility
        if width.margin >= margin or width.blame.max() <= 0.0 or kept.size <= 1:
            break
        kept = np.delete(kept, int(np.argmax(width.blame)))
    return utility


def _add_back(regions: Regions, utility: Array, margin: float) -> Array:
    """Try to hold the observations that miss by least as well."""
    slope = regions.slope / regions.price_scale
    gap = np.empty(len(regions))
    scratch = np.empty((2, len(regions)), np.int64)
    unit = utility / np.linalg.norm(utility)
    _worst_inequalities(regions.kind_code, regions.side, slope, regions.pivot, unit, scratch[0], scratch[1], gap)
    explained = is_consistent(regions, utility, margin)
    missing = np.flatnonzero(~explained)
    for t in missing[np.argsort(-gap[missing], kind="stable")][:_MOST_TRIES]:
        trial = explained.copy()
        trial[t] = True
        width = find_width(regions[trial], utility, margin)
        if width.margin >= margin and is_consistent(regions, width.utility, margin).sum() > explained.sum():
            utility = width.utility
            explained = is_consistent(regions, utility, margin)
    return utility


def widen(
    regions: Regions, solution: Solution, margin: float, *, effort: Effort, rng: np.random.Generator, report: Report
) -> Solution:
    """Return a solution of OPT(γ) found from the one for γ = 0; its bound holds, its optimality may stay unproven."""
    possible = is_possible(regions, margin)
    candidates = [solution.utility]
    kept = np.flatnonzero(solution.is_consistent & possible)
    if kept.size:
        candidates.append(_drop_until_wide(regions, kept, solution.utility, margin))
    if is_consistent(regions, candidates[-1], margin).sum() < solution.upper_bound and effort.n_chains:
        starts = np.tile(candidates[-1], (effort.n_chains, 1))
        starts[1::2] = rng.standard_normal(starts[1::2].shape)  # every other chain looks elsewhere
        packed = pack(regions)
        candidates += list(cool(packed, starts, rng=rng, margin=margin / regions.price_scale, n_sweeps=effort.n_sweeps))
    counts = [int(is_consistent(regions, u, margin).sum()) for u in candidates]
    utility = _add_back(regions, candidates[int(np.argmax(counts))], margin)
    utility = utility / np.linalg.norm(utility)
    explained = is_consistent(regions, utility, margin)
    bound = min(solution.upper_bound, _bound_possible(regions, explained, possible))
    step = f"margin {margin:.3g}: {int(explained.sum())} consistent, at most {bound}"
    report(step)
    return solution._replace(utility=utility, is_consistent=explained, upper_bound=bound, steps=(*solution.steps, step))


def _bound_possible(regions: Regions, explained: Mask, possible: Mask) -> int:
    """Return the bound from conflicts among the observations that can have the margin at all."""
    rows = np.flatnonzero(possible)
    if rows.size == 0 or rows.size > 20_000:
        return int(rows.size)
    return certify(pack(regions[rows]), explained[rows]).upper_bound
