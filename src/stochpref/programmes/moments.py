# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The quick estimate of a normal law of utilities: the mean at which decisions are, on average, those that were seen.

With utilities N(h, I) the mean decision is the gradient of the convex  F(h) = mean_t E max_x (h + ε)·x,  so that
matching means is minimising F(h) - h·(mean of what was seen): perturbed Fenchel–Young learning, run to convergence.
Noise is drawn once and kept, antithetic, which makes the objective exact for it, convex, and as smooth as its size.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.checks import check_choice, check_count
from stochpref.errors import InvalidArgument
from stochpref.names import TIES
from stochpref.programmes.decisions import Decisions

Array = NDArray[np.float64]

SPREAD: Final = 20.0  # of a normal prior on each direction, which keeps the mean finite where decisions never vary
_WARM: Final = 8  # draws of noise a decision while far from the end
_SOLVES: Final = 10_000  # at every step near it, where draws are not stated
_MOST_STEPS: Final = 100
_DONE: Final = 1e-3  # of the variance of the estimate, what is left to go


def fit_moments(
    decisions: Decisions, *, n_noise: int | None = None, degenerate: str = "refuse", random_state: int = 0
) -> Array:
    """Return the mean (n,) of N(h, I) whose decisions are on average those seen; it has no part in hidden directions.

    It needs a solver only, no cones, and serves as a start, a check, or for data too large to sample.

    Parameters
    ----------
    n_noise : draws of noise for each decision, rounded up to an even number; None for 10,000 in all, 16 at least. Noise
        of M draws widens the error of the estimate by 1/(2M).
    degenerate : as of `NormalUtility`.
    random_state : of the noise.
    """
    check_choice(degenerate, "degenerate", TIES)
    data = decisions[decisions.usable(degenerate)]
    if data.basis.shape[1] == 0:
        raise InvalidArgument(
            "decisions must be able to differ; every row leaves one decision only; state other problems"
        )
    count = max(16, -(-_SOLVES // len(data))) if n_noise is None else check_count(n_noise, "n_noise", 1)
    rng = np.random.default_rng(random_state)
    h = np.zeros(data.basis.shape[1])
    for size in (min(_WARM, count), count):
        h = _minimise(data, h, _noise(len(data), size, len(h), rng))
    return data.basis @ h


def _noise(n_rows: int, size: int, d: int, rng: np.random.Generator) -> Array:
    half = rng.standard_normal((-(-size // 2) * n_rows, d))
    return np.concatenate([half, -half])


def _minimise(data: Decisions, start: Array, noise: Array) -> Array:
    """Return the minimum, in coordinates scaled by the Hessian at the start, E[x εᵀ] by Stein's identity."""
    basis, rows = data.basis, np.resize(np.arange(len(data)), len(noise))
    seen, stiff = data.chosen.mean(axis=0) @ basis, 1.0 / (SPREAD**2 * len(data))

    def objective(h: Array) -> tuple[float, Array, Array]:
        utilities = h + noise
        found = data.problem.solve(utilities @ basis.T, rows) @ basis
        value = np.mean(np.sum(utilities * found, axis=1)) - h @ seen + 0.5 * stiff * h @ h
        slope = noise.T @ (found - found.mean(axis=0)) / len(noise)
        return float(value), found.mean(axis=0) - seen + stiff * h, 0.5 * (slope + slope.T)

    _, _, hessian = objective(start)
    sizes, vectors = np.linalg.eigh(hessian)
    # What sampled noise makes of a flat direction is a curvature of either sign: none below 1e-2 is believed.
    root = vectors / np.sqrt(np.maximum(sizes, 1e-2 * sizes.max(initial=0.0)) + stiff)

    def scaled(y: Array) -> tuple[float, Array]:
        value, gradient, _ = objective(start + root @ y)
        return value, root.T @ gradient

    tolerance = np.sqrt(_DONE / (len(data) * len(start)))
    options = {"gtol": tolerance, "ftol": 1e-14, "maxiter": _MOST_STEPS}
    return np.asarray(
        start + root @ minimize(scaled, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options).x
    )
