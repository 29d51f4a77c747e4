"""Inverse optimisation by linear programming, as others published it: one utility for all observations.

The programmes use one row per good, not one per pair of goods: a tight observation, whose lowest worth bought must
exceed its highest worth left, gets a variable of its own for the price of money in between.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

import stochpref as sp
from stochpref.kinds import ABOVE, BELOW, PIVOT, TIGHT
from stochpref.regions import usable_rows

Array = NDArray[np.float64]

TRIMMED_SHARE = 0.1  # the corruption of the benchmarks: the trimmed hinge is told the truth


class PeerFailure(Exception):
    """A method ends without a utility, as it may: conflicting data, a programme without an optimum."""


class Rows(NamedTuple):
    """All regions at once, with margin m: matrix @ (u, λ) ≤ -m · has_margin, λ ≥ 0, one λ for each observation.

    matrix : (k, n + T); owner : (k,) observation of each row; has_margin : (k,) 0 or 1.
    """

    matrix: csr_array
    owner: NDArray[np.intp]
    has_margin: Array


def stack_rows(regions: sp.Regions) -> Rows:
    """Return the inequalities of all regions, in the units of `Regions.inequalities`."""
    usable_rows(regions, "refuse")
    n, kind, pivot = regions.n_goods, regions.kind_code, regions.pivot
    worth = regions.price_scale / regions.slope  # ratio r_i = worth_i · u_i
    t, i = np.nonzero((regions.side == ABOVE) | (regions.side == BELOW))
    sign = regions.side[t, i].astype(np.float64)
    is_pivot, is_tight = kind[t] == PIVOT, kind[t] == TIGHT
    row = np.arange(t.size)
    own = np.flatnonzero(kind == PIVOT)  # the shadow price itself must not be negative
    entries = [
        (row, i, -sign * worth[t, i]),
        (row[is_pivot], pivot[t[is_pivot]], (sign * worth[t, pivot[t]])[is_pivot]),
        (row[is_tight], n + t[is_tight], sign[is_tight]),
        (t.size + np.arange(own.size), pivot[own], -worth[own, pivot[own]]),
    ]
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    owner = np.concatenate([t, own])
    has_margin = np.concatenate([np.where(is_tight & (sign < 0), 0.0, 1.0), np.ones(own.size)])
    return Rows(csr_array((values, (rows, columns)), shape=(owner.size, n + len(regions))), owner, has_margin)


def violation(regions: sp.Regions, u: Array) -> Array:
    """Return (T,) by how much each region's worst inequality is broken; negative inside."""
    ratio = u * (regions.price_scale / regions.slope)
    above = np.where(regions.side == ABOVE, ratio, np.inf).min(axis=1)
    below = np.where(regions.side == BELOW, ratio, -np.inf).max(axis=1)
    at_pivot = ratio[np.arange(len(regions)), regions.pivot]
    is_pivot, is_tight = regions.kind_code == PIVOT, regions.kind_code == TIGHT
    shadow = np.where(is_pivot, at_pivot, np.where(is_tight, np.maximum(below, 0.0), 0.0))
    worst = np.maximum(shadow - above, np.where(is_tight, -np.inf, below - shadow))
    return np.where(is_pivot, np.maximum(worst, -at_pivot), worst)


def _solve_hinge(regions: sp.Regions) -> Array:
    """Minimise Σ max(0, m + row·(u, λ)) over all inequalities, λ ≥ 0.

    The margin m is 1, and ½ on each side of a tight observation's price of money, so that goods bought and left are 1
    apart. Solved as its dual, which has a row per good and per tight observation instead of one per inequality:
    maximise m·y over 0 ≤ y ≤ 1 with no pull left on u and none downwards on λ. The prices of the first constraints
    are u.
    """
    n = regions.n_goods
    rows = stack_rows(regions)
    margin = np.where(regions.kind_code[rows.owner] == TIGHT, 0.5, 1.0)
    is_used = np.append(np.zeros(n, np.bool_), regions.kind_code == TIGHT)
    pull = rows.matrix.tocsc()
    found = linprog(
        -margin, A_eq=pull[:, :n].T, b_eq=np.zeros(n), bounds=(0, 1),
        A_ub=-pull[:, is_used].T, b_ub=np.zeros(is_used.sum()),
    )  # fmt: skip
    if found.x is None:
        raise PeerFailure(f"the programme has no optimum: {found.message}")
    return found.eqlin.marginals


def fit_hinge(observations: sp.Observations, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Minimise the total violation of a unit margin: soft-margin inverse optimisation.

    Every inequality has its own slack. With one slack for all inequalities of an observation, u = 0 is optimal on
    heterogeneous data, and at n = 25 with a tenth of odd customers; that variant is better on corrupted data with few
    goods, where trimming is better still.
    """
    return _solve_hinge(sp.Regions.of(observations))


def fit_trimmed_hinge(
    observations: sp.Observations,
    rng: np.random.Generator,  # noqa: ARG001
    share: float = TRIMMED_SHARE,
    n_rounds: int = 20,
) -> Array:
    """Minimise the hinge, drop the worst share of the observations, and again until the same ones are dropped."""
    regions = sp.Regions.of(observations)
    n_kept = int(np.ceil((1 - share) * len(regions)))
    kept = np.arange(len(regions))
    for _ in range(n_rounds):
        u = _solve_hinge(regions[kept])
        chosen = np.sort(np.argsort(violation(regions, u), kind="stable")[:n_kept])
        if np.array_equal(chosen, kept):
            break
        kept = chosen
    return u


def fit_feasible(observations: sp.Observations, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Return the utility in the box |u_i| ≤ 1 that lies in every region with the widest margin."""
    regions = sp.Regions.of(observations)
    n, T = regions.n_goods, len(regions)
    rows = stack_rows(regions)
    matrix = hstack([rows.matrix, csr_array(rows.has_margin[:, None])])
    cost = np.zeros(n + T + 1)
    cost[-1] = -1.0
    bounds = [(-1, 1)] * n + [(0, None)] * T + [(0, None)]
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(rows.owner.size), bounds=bounds)
    if found.x is None:
        raise PeerFailure(f"the programme has no optimum: {found.message}")
    if not found.x[-1] > 1e-9:
        raise PeerFailure("the observations conflict: no utility explains them all")
    return found.x[:n]


def _minimise_suboptimality(
    observations: sp.Observations, normals: Array, box: float, tolerance: float = 1e-3, n_cuts: int = 5_000
) -> Array:
    """Minimise the mean of max_x u·x - u·x_t over the union of the planes normal·u = 1, |u_i| ≤ box.

    The loss is convex and positively homogeneous, so its subgradients are cuts through the origin that hold on every
    plane. Planes are taken in the order of their lower bounds; the end is when the lowest bound is within `tolerance`,
    relatively, of the best loss.
    """
    n = observations.n_goods
    cuts = np.zeros((0, n))
    best, best_loss = np.zeros(n), np.inf
    queue = [(0.0, plane) for plane in range(len(normals))]
    while queue[0][0] < best_loss * (1 - tolerance):
        if len(cuts) == n_cuts:
            raise PeerFailure(f"{n_cuts} cuts left a gap of {1 - queue[0][0] / best_loss:.1%}")
        plane = heapq.heappop(queue)[1]
        found = linprog(
            np.append(np.zeros(n), 1.0), A_ub=np.hstack([cuts, -np.ones((len(cuts), 1))]), b_ub=np.zeros(len(cuts)),
            A_eq=np.append(normals[plane], 0.0)[None], b_eq=[1.0], bounds=[(-box, box)] * n + [(0, None)],
        )  # fmt: skip
        if found.x is None:
            raise PeerFailure(f"the programme has no optimum: {found.message}")
        heapq.heappush(queue, (float(found.fun), plane))
        u = found.x[:n]
        optimal = sp.choose(u, observations.prices, observations.budgets, caps=observations.caps)
        cuts = np.vstack([cuts, (optimal - observations.bundles).mean(axis=0)])
        if cuts[-1] @ u < best_loss:
            best, best_loss = u, float(cuts[-1] @ u)
    return best


def fit_suboptimality(observations: sp.Observations, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Minimise the suboptimality over |u|_∞ = 1, facet by facet.

    Notes
    -----
    Mohajerin Esfahani, Shafieezadeh-Abadeh, Hanasusanto and Kuhn (2018), with their normalisation. Disliking one good
    that is seldom bought costs little and is often its minimum: then the answer buys nothing and scores zero.
    """
    basis = np.eye(observations.n_goods)
    return _minimise_suboptimality(observations, np.concatenate([basis, -basis]), 1.0)


def fit_relative_suboptimality(observations: sp.Observations, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Minimise the suboptimality relative to the worth of what was bought, Σ u·x_t = T, which rules out that answer."""
    mean_bundle = observations.bundles.mean(axis=0)
    return _minimise_suboptimality(observations, mean_bundle[None], 1e3 / mean_bundle.max())
