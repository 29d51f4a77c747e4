# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely a bundle of whole goods is that hardly ever comes up: from an orthant whose probability is exact.

Where every good was bought as often as can be or not at all, whoever wants what was bought and nothing else buys
it: the orthant O of those signs lies in the bundle's region C, so P(C) = P(O) / P(O | C). P(O) is the mass of a region
of divisible goods. P(O | C) is the product, over goods not bought, of the probability to be unwanted where those before
are: each a mean of exact conditional probabilities over utilities drawn inside by the moves of the Gibbs sampler. The
law is the posterior's mixture, whose part is drawn along with the utility.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from stochpref.bessel import log_normaliser
from stochpref.kinds import ABOVE, ABSENT, BELOW, QUANTITY_TOLERANCE, SLACK, TIGHT
from stochpref.mass.masses import exact_log_mass
from stochpref.observations import Observations
from stochpref.posterior.counting import Estimate, Posterior, weights_of
from stochpref.posterior.samplers.interval_moves import Wish, move_all
from stochpref.posterior.samplers.streams import Stream, start_stream, uniform
from stochpref.problems.interval_kernels import MenuRows, make_pass, whole_first
from stochpref.problems.interval_regions import IntervalRegions, check_lists
from stochpref.problems.pareto import IN_PART
from stochpref.regions import Regions
from stochpref.threads import compiled, for_blocks, inlined

Array = NDArray[np.float64]

_NODES: Final = 32
_BATCHES: Final = 16  # of sweeps whose spread is the error
_SWEEPS: Final = 16  # of a batch; one batch more is discarded


def has_orthant(intervals: IntervalRegions) -> NDArray[np.bool_]:
    """Tell which bundles (T,) hold of every good in reach as much as can be, or none."""
    rows = intervals.rows
    most = np.where(rows.units == IN_PART, rows.caps, rows.units)
    near = QUANTITY_TOLERANCE * np.where(np.isfinite(most), np.maximum(most, 1.0), 1.0)
    is_at_end = (rows.bundles <= near) | (rows.bundles >= most - near) | (rows.units == 0)
    at_ends: NDArray[np.bool_] = is_at_end.all(axis=1) & ~intervals.is_degenerate
    return at_ends


def _orthants(intervals: IntervalRegions) -> Regions:
    """Return the utilities that want what was bought and nothing else in reach."""
    reach, bought = intervals.is_in_reach, intervals.rows.bundles > 0
    side = np.where(reach, np.where(bought, ABOVE, BELOW), ABSENT).astype(np.int8)
    kind = np.where(reach.any(axis=1), SLACK, TIGHT).astype(np.int8)
    return Regions(kind, side, np.ones(side.shape), np.full(len(side), -1, np.int32), 1.0)


def log_by_orthants(observations: Observations, posterior: Posterior, *, seed: int) -> Estimate:
    """Return the log of the mean probability of each bundle over the draws, of bundles that have an orthant."""
    intervals, n = observations.problem.intervals(observations), observations.n_goods
    log_weights = np.log(weights_of(observations, posterior)) + np.log(posterior.shares)[:, None]
    orthants = _orthants(intervals)
    log_mass = log_weights + np.array([exact_log_mass(orthants, h).log_mass for h in posterior.h])
    # exp(h·u) over its integral, which the library's normaliser has less κ.
    log_density = log_weights - (log_normaliser(n, posterior.concentration) + posterior.concentration)[:, None]
    log_share, error = np.empty(len(observations)), np.empty(len(observations))
    nodes = np.array(np.polynomial.legendre.leggauss(_NODES))
    key, h = np.uint64(seed & (2**64 - 1)), np.ascontiguousarray(posterior.h)
    parts, starts = np.ascontiguousarray(log_density.T), intervals.inside.copy()

    def block(start: int, stop: int) -> None:
        _shares(intervals.rows, h, parts, starts, nodes, key, log_share, error, start, stop)

    for_blocks(block, len(observations), 1)
    check_lists(bool(np.isfinite(error).all()))
    return Estimate(logsumexp(log_mass, axis=0) - log_share, error)


@inlined
def pick_law(u: Array, laws: Array, parts: Array, chances: Array, stream: Stream) -> int:
    """Return a law of the mixture given a unit vector drawn from it."""
    highest = -np.inf
    for s in range(laws.shape[0]):
        chances[s] = parts[s]
        for i in range(u.shape[0]):
            chances[s] += laws[s, i] * u[i]
        highest = max(highest, chances[s])
    total = 0.0
    for s in range(laws.shape[0]):
        chances[s] = math.exp(chances[s] - highest)
        total += chances[s]
    left, picked = total * uniform(stream), 0
    while picked < laws.shape[0] - 1 and left > chances[picked]:
        left -= chances[picked]
        picked += 1
    return picked


@inlined
def normalise(u: Array) -> None:
    """Scale a vector to length 1, in place."""
    norm = math.sqrt(np.sum(u * u))
    for i in range(u.shape[0]):
        u[i] /= norm


@compiled
def _shares(
    rows: MenuRows, laws: Array, parts: Array, starts: Array, nodes: Array, seed: np.uint64, log_share: Array,
    error: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Leave the log of the orthant's share of the region, and its standard error, for rows start..stop.

    Parameters
    ----------
    laws : (draws, n) h. parts : (T, draws) log-weights of exp(h·u) in the mixture of each row.
    starts : (T, n) unit vectors inside.
    """
    n = laws.shape[1]
    memory, stream, chances, means = make_pass(n), np.empty(2, np.uint64), np.empty(laws.shape[0]), np.empty(_BATCHES)
    costs, values, order = np.empty(1024), np.empty(1024), np.arange(n)
    whole_first(rows.is_whole, order)
    for t in range(start, stop):
        u, ceilings = starts[t], np.full(n, np.inf)
        start_stream(stream, seed, 0, 0, t)
        log_share[t], variance = 0.0, 0.0
        for j in range(n):
            if rows.units[t, j] == 0 or rows.bundles[t, j] > 0.0:
                continue
            wish = Wish(ceilings, j, nodes)
            for batch in range(-1, _BATCHES):
                mean = 0.0
                for _ in range(_SWEEPS):
                    h = laws[pick_law(u, laws, parts[t], chances, stream)]
                    costs, values, share = move_all(u, h, rows, t, order, n - 2.0, wish, memory, costs, values, stream)
                    if share < 0.0:
                        error[t] = np.inf
                        return
                    normalise(u)
                    mean += share / _SWEEPS
                if batch >= 0:
                    means[batch] = mean
            average = float(np.mean(means))
            log_share[t] += math.log(average)
            variance += float(np.var(means)) / (_BATCHES - 1) / (average * average)
            ceilings[j], u[j] = 0.0, -abs(u[j])
        error[t] = math.sqrt(variance)
