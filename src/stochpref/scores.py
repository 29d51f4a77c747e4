# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How well an estimate predicts: value lost on new menus, and share of observations explained."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.problems.divisible import choose

Array = NDArray[np.float64]


def accuracy(true_direction: ArrayLike, estimate: ArrayLike, prices: ArrayLike, budgets: ArrayLike) -> float:
    """Return the share of the attainable value that an estimate's choices reach, Σ μ*·x̃ / Σ μ*·x*.

    Parameters
    ----------
    true_direction, estimate : (n,), of any length but zero; or (k, n) for k trials, pooled.
    prices, budgets : (T, n) and (T,) menus; (k, T, n) and (k, T) where each trial has its own.

    Returns
    -------
    At most 1; it can be negative. NaN if no menu holds a good worth having.

    Notes
    -----
    The paper writes a regret and calls it accuracy; this is one less the regret. Numerator and denominator are summed
    over menus and trials before dividing: ratios of single trials are wild where little is worth having.
    """
    truth, guess = np.asarray(true_direction, np.float64), np.asarray(estimate, np.float64)
    if truth.shape != guess.shape or truth.ndim not in (1, 2):
        raise InvalidArgument(
            f"true_direction and estimate must both be (n,) or (k, n); received {truth.shape} and {guess.shape}"
        )
    # A trial's direction faces all its menus: one axis more.
    truth, guess = truth[..., None, :], guess[..., None, :]
    best = np.sum(truth * choose(truth, prices, budgets))
    reached = np.sum(truth * choose(guess, prices, budgets))
    return float(reached / best) if best > 0.0 else float("nan")


def consistency(utility: ArrayLike, observations: Observations) -> float:
    """Return the share of observations whose bundle is the unique optimum under a utility; ties are misses.

    Parameters
    ----------
    utility : of all (N,), or one for each (T, N).
    """
    given = np.asarray(utility, np.float64)
    if given.ndim == 1:
        return float(observations.problem.holds(observations, given).mean())
    unique, whose = np.unique(given, axis=0, return_inverse=True)
    held = np.zeros(len(observations))
    for u, one in enumerate(unique):
        rows = np.flatnonzero(whose.ravel() == u)
        held[rows] = observations.problem.holds(observations[rows], one)
    return float(held.mean())
