# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What makes a design good: D, A and prediction optimality, averaged over K laws, and how far from optimal one is.

A design's value is a homogeneous concave function of its information M, so by the general equivalence theorem (Kiefer
and Wolfowitz 1960) it is optimal iff no menu is more *sensitive* than the average of its own, 1 by our scaling; and if
the most sensitive menu has sensitivity s, the design is at least 1/s as efficient as the best there is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_choice
from stochpref.design.information import MenuMoments, tangent_basis
from stochpref.names import CRITERIA

Array = NDArray[np.float64]

_RIDGE: Final = 1e-9  # of the mean eigenvalue: keeps a design that misses a direction comparable with others


class Criterion(NamedTuple):
    """What to make small.

    name : "d": the volume of the confidence region of h = κμ. "a": the expected squared angle of the mean direction.
        "prediction": the variance of the mean demand, summed over goods and averaged over target menus. "profit": what
        best prices lose (`stakes`).
    targets : (K, n, n) W such that the loss is tr(W M⁻¹); None for "d".
    """

    name: str
    targets: Array | None


def make_criterion(name: str, laws: Array, target_moments: list[MenuMoments] | None) -> Criterion:
    """Return a criterion for K laws h (K, n); "prediction" needs the moments of target menus at each of them."""
    if check_choice(name, "criterion", CRITERIA) == "d":
        return Criterion(name, None)
    if name == "a":
        bases = [tangent_basis(h / np.linalg.norm(h)) / np.linalg.norm(h) for h in laws]
        return Criterion(name, np.array([basis @ basis.T for basis in bases]))
    assert target_moments is not None
    slopes = [moments.demand_slope for moments in target_moments]
    return Criterion(name, np.array([np.einsum("mij,mik->jk", s, s) / len(s) for s in slopes]))


def _inverse(total: Array) -> Array:
    n = total.shape[-1]
    scale = np.trace(total, axis1=-2, axis2=-1)[..., None, None] / n
    inverse: Array = np.linalg.inv(total + _RIDGE * np.maximum(scale, 1e-300) * np.eye(n))
    return inverse


def loss(criterion: Criterion, total: Array) -> Array:
    """Return what to make small, on a scale where halving the information adds log 2.

    Parameters
    ----------
    total : (..., K, n, n) information of whole designs, or of one observation on average.

    Returns
    -------
    (...) mean over laws of -log det M / n, or the log of the mean of tr(W M⁻¹).
    """
    n = total.shape[-1]
    if criterion.targets is None:
        scale = np.trace(total, axis1=-2, axis2=-1)[..., None, None] / n
        logs: Array = np.linalg.slogdet(total + _RIDGE * np.maximum(scale, 1e-300) * np.eye(n))[1]
        return np.asarray(-np.mean(logs, axis=-1) / n)
    traces = np.einsum("kij,...kji->...k", criterion.targets, _inverse(total))
    return np.asarray(np.log(np.mean(traces, axis=-1)))


def gradient(criterion: Criterion, total: Array) -> Array:
    """Return (K, n, n) G such that the sensitivity of a menu with information I is Σ_k tr(G_k I_k), 1 on average."""
    inverse = _inverse(total)
    n_laws, n = total.shape[0], total.shape[-1]
    if criterion.targets is None:
        return inverse / (n_laws * n)
    spread = inverse @ criterion.targets @ inverse
    return spread / float(np.einsum("kij,kji->", criterion.targets, inverse))


def sensitivity(direction: Array, information: Array) -> Array:
    """Return (C,) sensitivities of C menus with information (C, K, n, n) along a `gradient`."""
    # All matrices are symmetric, so the trace of a product is a dot product. Threads cost more than they save here.
    return np.asarray(np.einsum("ck,k->c", information.reshape(len(information), -1), direction.ravel()))


def mixed(weights: Array, information: Array) -> Array:
    """Return (K, n, n) the information of a mixture of menus."""
    flat = np.einsum("c,ck->k", weights, information.reshape(len(information), -1))
    return np.asarray(flat.reshape(information.shape[1:]))


def optimal_weights(criterion: Criterion, information: Array, *, n_steps: int = 600) -> Array:
    """Return (C,) the weights of the best mixture of C menus, by the multiplicative algorithm.

    Weights are multiplied by sensitivities (by their square roots for linear criteria, where full steps overshoot).
    """
    weights = np.full(len(information), 1 / len(information))
    power = 1.0 if criterion.targets is None else 0.5
    for _ in range(n_steps):
        total = mixed(weights, information)
        rates = sensitivity(gradient(criterion, total), information)
        weights = weights * np.maximum(rates, 0.0) ** power
        weights /= weights.sum()
        if rates.max() < 1 + 2e-4:
            break
    return weights


def round_to_batch(criterion: Criterion, information: Array, weights: Array, n_menus: int) -> NDArray[np.intp]:
    """Return the rows of a batch: whole parts of the weights, then one by one what helps most, then exchanges."""
    counts = np.floor(weights * n_menus + 1e-9).astype(np.int64)
    useful = np.flatnonzero(weights > 1e-4 / len(weights))
    useful = useful[np.argsort(-weights[useful], kind="stable")[:60]]
    total = np.tensordot(counts.astype(np.float64), information, 1)
    while counts.sum() < n_menus:
        best = useful[int(np.argmin(loss(criterion, total[None] + information[useful])))]
        counts[best] += 1
        total = total + information[best]
    for _ in range(2):
        is_changed = False
        for row in np.flatnonzero(counts):
            losses = loss(criterion, total[None] - information[row] + information[useful])
            best = useful[int(np.argmin(losses))]
            if losses.min() < loss(criterion, total) - 1e-9:
                counts[row] -= 1
                counts[best] += 1
                total = total - information[row] + information[best]
                is_changed = True
        if not is_changed:
            break
    return np.repeat(np.arange(len(counts)), counts)
