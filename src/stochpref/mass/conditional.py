# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Chances of what was bought given that it could be recorded: exact, with gradients and information in h.

With chance P = c + Σ s_k M_k of regions of masses M_k, weights w_k = s_k M_k / P and gradients g_k of log M_k, the
gradient of log P is Σ w_k g_k and its Hessian Σ w_k (H_k + g_k g_kᵀ) less the square of the gradient. What was
conditioned on divides: its logarithm is subtracted, and so are its derivatives.

`log_chance` takes a law for every row, so a mixture of laws divides what it mixed of one by what it mixed of the other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance, Part, Recorded
from stochpref.mass.masses import Masses, Sums, exact_log_mass, sum_by_law

Array = NDArray[np.float64]

_ROUNDING: Final = 1e-10
Indices = NDArray[np.intp]


class Mixed(NamedTuple):
    """Of chances: their masses, and of each part (K, T) weights w and gradients (K, T, n), which may be empty."""

    masses: Masses
    weights: Array
    slopes: Array


def log_chance(
    chance: Chance,
    laws: ArrayLike,
    which: ArrayLike | None = None,
    *,
    gradient: bool = False,
    tolerance: float = 1e-10,
) -> Masses:
    """Return the logarithms of chances, their error estimates and, if asked for, their gradients in h.

    Parameters
    ----------
    laws, which : as in `exact_log_mass`, for the rows of the chance.
    """
    return _mix(chance, np.atleast_2d(np.asarray(laws, np.float64)), which, gradient, tolerance).masses


def log_recorded(recorded: Recorded, h: ArrayLike, *, gradient: bool = False, tolerance: float = 1e-10) -> Masses:
    """Return the log-probabilities (T,) of what was bought given that it could be recorded, under one law."""
    bought = log_chance(recorded.chance, h, gradient=gradient, tolerance=tolerance)
    if recorded.event is None:
        return bought
    event = log_chance(recorded.event, h, gradient=gradient, tolerance=tolerance)
    slopes = None if bought.gradient is None or event.gradient is None else bought.gradient - event.gradient
    return Masses(log_ratio(bought.log_mass, event.log_mass), bought.error + event.error, slopes)


def log_ratio(log_chance: Array, log_event: Array) -> Array:
    """Return log-probabilities given an event; -inf where the event has no chance that can be told from rounding."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(log_event), np.minimum(log_chance - log_event, 0.0), -np.inf)


def sum_recorded(recorded: Recorded, h: Array, *, derivatives: int = 1, tolerance: float = 1e-10) -> Sums:
    """Return Σ log-probability, its gradient and minus its Hessian in h, as `Store.sums` says."""
    bought = _sum_chance(recorded.chance, h, derivatives, tolerance)
    if recorded.event is None:
        return bought
    event = _sum_chance(recorded.event, h, derivatives, tolerance)
    if not np.isfinite(event.value):  # under such a law hardly anybody could be recorded
        return Sums(-np.inf, bought.gradient, bought.information)
    return Sums(bought.value - event.value, bought.gradient - event.gradient, bought.information - event.information)


def _sum_chance(chance: Chance, h: Array, derivatives: int, tolerance: float) -> Sums:
    if chance.is_single:  # its logarithm is that of a mass: no weights to find first
        part = chance.parts[0]
        counts = np.bincount(part.row, minlength=len(part.regions)).astype(np.float64)
        sums = sum_by_law(part.regions, h, information=derivatives == 2, tolerance=tolerance, weights=counts)
        information = sums.information[0] if derivatives == 2 else np.empty(0)
        return Sums(sums.value, sums.gradient[0] if derivatives else np.empty(0), information)
    mixed = _mix(chance, h[None], None, derivatives > 0, tolerance)
    value, slopes = float(np.sum(mixed.masses.log_mass)), mixed.masses.gradient
    if slopes is None:
        return Sums(value, np.empty(0), np.empty(0))
    if derivatives == 1:
        return Sums(value, slopes.sum(axis=0), np.empty(0))
    information = slopes.T @ slopes
    for part, weights, own in zip(chance.parts, mixed.weights, mixed.slopes, strict=True):
        by_region = np.bincount(part.row, weights, minlength=len(part.regions)).astype(np.float64)
        law = -h if part.is_mirrored else h
        information += sum_by_law(
            part.regions, law, information=True, tolerance=tolerance, weights=by_region
        ).information[0]
        information -= (own * weights[:, None]).T @ own
    return Sums(value, slopes.sum(axis=0), information)


def _mix(chance: Chance, laws: Array, which: ArrayLike | None, gradient: bool, tolerance: float) -> Mixed:
    return mixed(chance, [_masses_of(part, laws, which, gradient, tolerance) for part in chance.parts])


def mixed(chance: Chance, found: list[Masses]) -> Mixed:
    """Return chances made of the masses of their parts, with gradients in whatever those of the masses are in."""
    signs = np.array([part.sign for part in chance.parts])[:, None]
    logs = np.stack([masses.log_mass for masses in found])
    own = [masses.gradient for masses in found if masses.gradient is not None]
    slopes = np.stack(own) if own else np.empty(0)
    top = np.maximum(logs.max(axis=0), 0.0 if chance.constant > 0 else -np.inf)
    base = np.where(np.isfinite(top), top, 0.0)
    sizes = np.exp(logs - base)
    total = chance.constant * np.exp(-base) + np.sum(signs * sizes, axis=0)
    total[total <= _ROUNDING] = 0.0  # of the largest, which is 1: what is left of a difference is noise
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mass = np.minimum(base + np.log(total), 0.0)
        error = np.sum(sizes * [masses.error for masses in found], axis=0) / total
        weights = signs * sizes / total
    whole = np.einsum("kt,kti->ti", weights, slopes) if own else None
    return Mixed(Masses(log_mass, np.nan_to_num(error, nan=0.0), whole), weights, slopes)


def _masses_of(part: Part, laws: Array, which: ArrayLike | None, gradient: bool, tolerance: float) -> Masses:
    """Return the masses of the rows of a part and their gradients in h, not in the -h that a mirrored part has."""
    own = -laws if part.is_mirrored else laws
    if which is None:
        masses = exact_log_mass(part.regions, own, gradient=gradient, tolerance=tolerance)
        slopes = None if masses.gradient is None else masses.gradient[part.row]
        masses = Masses(masses.log_mass[part.row], masses.error[part.row], slopes)
    else:
        masses = exact_log_mass(part.regions[part.row], own, which, gradient=gradient, tolerance=tolerance)
    if masses.gradient is None or not part.is_mirrored:
        return masses
    return masses._replace(gradient=-masses.gradient)
