# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact log-masses of all observations, their gradients, their sums and their information, in blocks on all threads.

The gradient of the log-mass in h = κμ is E[u | region] - E[u], its Hessian Cov(u | region) - Cov(u): moments that fall
out of the same nodes as the mass. Scratch memory is under a megabyte a thread at n = 1000 (an (n, n) matrix more for
information, 2 MB more for regions that turn their back on the mean), whatever the number of observations. Every
observation is computed on its own and sums run over fixed groups of rows in order, so results do not depend on threads
or blocks to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.bessel import log_normaliser, mean_resultant_length
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, ABSENT, BELOW, DEGENERATE, TIGHT
from stochpref.mass.behind import turned_mass, turned_moments, turns_away
from stochpref.mass.contour import Rules, gauss_rules
from stochpref.mass.monte_carlo import sampled_log_mass
from stochpref.mass.region import Scratch, make_scratch, observation_mass
from stochpref.mass.shadow import Cone
from stochpref.regions import Regions
from stochpref.threads import GROUP, compiled, for_blocks

Array = NDArray[np.float64]

_UNCOUNTED = np.empty(0)  # counts matter to covariances only
_HOPELESS = 1e-3  # relative error beyond which sampling does better than a cancelling contour
_FALLBACK_DRAWS = 1 << 14
_FALLBACK_SEED = 20_240_229


class Masses(NamedTuple):
    """Log-masses (T,), estimates of their absolute errors (T,), and gradients in h (T, n) or None.

    An error beyond 1e-3 says that neither contour would do and the mass was sampled.
    """

    log_mass: Array
    error: Array
    gradient: Array | None


class Law(NamedTuple):
    """What all observations share at one h: h, log ∫ exp(h·u) du over the sphere, E[u], and the rules in q."""

    h: Array
    log_total: float
    mean: Array
    rules: Rules


class RegionArrays(NamedTuple):
    """The arrays of `Regions`, as kernels take them, and how often each row counts in a covariance."""

    kind: NDArray[np.int8]
    side: NDArray[np.int8]
    slope: Array
    pivot: NDArray[np.int32]
    repeats: Array


class Output(NamedTuple):
    """Where a kernel writes: log-masses and errors (T,), gradients (T, n) or (0, n), a covariance sum or (0, 0)."""

    log_mass: Array
    error: Array
    gradient: Array
    covariance: Array


@compiled
def _reveals_nothing(kind: int, side: NDArray[np.int8]) -> bool:
    """Tell whether every utility fits: all the money, none, was spent."""
    return kind == TIGHT and not np.any(side == ABOVE)


@compiled
def _cone(h: Array, kind: int, side: NDArray[np.int8], slope: Array, pivot: int) -> Cone:
    """Return one observation as the kernels read it; only ratios of prices matter, so the largest is scaled to 1."""
    largest = np.max(np.where(side == ABSENT, 0.0, slope))
    # All spent on everything on offer reveals only that what was bought is wanted, as if money were left.
    is_tight = bool(kind == TIGHT and np.any(side == BELOW))
    return Cone(h, side, slope / largest, pivot, is_tight)


@compiled
def _mass_rows(
    law: Law, regions: RegionArrays, tolerance: float, out: Output, scratch: Scratch, start: int, stop: int
) -> None:
    """Fill rows start..stop of `out`; add the lower triangle of Cov(u | region) to its covariance if wanted."""
    means, moments = scratch.means, scratch.moments
    for t in range(start, stop):
        kind, side = regions.kind[t], regions.side[t]
        if kind == DEGENERATE:
            out.log_mass[t], out.error[t] = -np.inf, 0.0
            means[:] = np.nan
        elif _reveals_nothing(kind, side):
            out.log_mass[t], out.error[t] = 0.0, 0.0
            if means.shape[0] > 0:
                means[:] = law.mean
        else:
            cone = _cone(law.h, kind, side, regions.slope[t], regions.pivot[t])
            if turns_away(cone):  # along the cut, where the contour would cancel
                value, out.error[t] = turned_mass(cone, tolerance, means)
                turned_moments(cone, means, moments)
            else:
                value, out.error[t] = observation_mass(cone, law.rules, tolerance, scratch)
            out.log_mass[t] = min(value - law.log_total, 0.0)
            if not out.error[t] < _HOPELESS:
                continue
            for i in range(moments.shape[0]):
                for j in range(i + 1):
                    out.covariance[i, j] += regions.repeats[t] * (moments[i, j] - means[i] * means[j])
        if out.gradient.shape[0] > 0:
            out.gradient[t] = means - law.mean


def _law(h: Array, tolerance: float) -> Law:
    n, kappa = h.shape[0], float(np.linalg.norm(h))
    return Law(h, float(log_normaliser(n, kappa)) + kappa, vmf_mean(h), gauss_rules(n, kappa, tolerance))


def vmf_mean(h: Array) -> Array:
    """Return the mean of u under von Mises–Fisher: A(κ) μ."""
    n, kappa = h.shape[0], float(np.linalg.norm(h))
    return h * (float(mean_resultant_length(n, kappa)) / kappa if kappa > 0 else 0.0)


def vmf_covariance(h: Array) -> Array:
    """Return the covariance of u under von Mises–Fisher: A'(κ) μμᵀ + A(κ)/κ (I - μμᵀ)."""
    n, kappa = h.shape[0], float(np.linalg.norm(h))
    if kappa == 0:
        return np.eye(n) / n
    length = float(mean_resultant_length(n, kappa))
    along = np.outer(h, h) / kappa**2
    return (1 - length**2 - (n - 1) * length / kappa) * along + length / kappa * (np.eye(n) - along)


def _fill(regions: Regions, counts: Array, law: Law, tolerance: float, out: Output, start: int, stop: int) -> None:
    """Run the kernel over some rows with scratch of its own."""
    arrays = RegionArrays(regions.kind_code, regions.side, regions.slope, regions.pivot, counts)
    scratch = make_scratch(regions.n_goods, out.gradient.shape[0] > 0, out.covariance.shape[0] > 0)
    _mass_rows(law, arrays, tolerance, out, scratch, start, stop)


def _distinct(regions: Regions) -> tuple[Regions, Array]:
    """Return the regions to integrate over and how often each occurs."""
    merged = regions.merged()
    return (regions, np.ones(len(regions))) if merged is None else (merged.regions, merged.counts)


def _masses(regions: Regions, law: Law, tolerance: float, *, gradient: bool, spread: bool) -> Masses:
    """Return the masses of regions, with the work spread over threads or done in this one."""
    count, n = len(regions), regions.n_goods
    out = Output(np.empty(count), np.empty(count), np.empty((count if gradient else 0, n)), np.empty((0, 0)))
    if spread:
        for_blocks(lambda start, stop: _fill(regions, _UNCOUNTED, law, tolerance, out, start, stop), count, GROUP)
    else:
        _fill(regions, _UNCOUNTED, law, tolerance, out, 0, count)
    for t in np.flatnonzero(~(out.error < _HOPELESS)).tolist():
        # Neither contour would do: sampled with a fixed seed.
        rng = np.random.default_rng(_FALLBACK_SEED)
        sample = sampled_log_mass(regions.rows(t, t + 1), law.h, n_draws=_FALLBACK_DRAWS, rng=rng)
        # Three standard errors: an estimate of the error, not one deviation.
        out.log_mass[t], out.error[t] = min(float(sample.log_mass[0]), 0.0), 3 * float(sample.error[0])
        if gradient:
            out.gradient[t] = sample.mean[0] - law.mean
    return Masses(out.log_mass, out.error, out.gradient if gradient else None)


def exact_log_mass(regions: Regions, h: ArrayLike, *, gradient: bool = False, tolerance: float = 1e-10) -> Masses:
    """Return exact log-masses at h = κμ, their error estimates and, if asked for, their gradients.

    A region that turns its back on the mean is integrated along the cut instead (see `behind`).
    """
    law = _law(np.ascontiguousarray(h, dtype=np.float64), tolerance)
    merged = regions.merged()
    if merged is None:
        return _masses(regions, law, tolerance, gradient=gradient, spread=True)
    log_mass, error, slopes = _masses(merged.regions, law, tolerance, gradient=gradient, spread=True)
    return Masses(log_mass[merged.place], error[merged.place], None if slopes is None else slopes[merged.place])


def sum_log_mass(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> tuple[float, Array]:
    """Return Σ log-mass and its gradient in h: what optimisers and samplers ask for, without (T, n) memory.

    Equal regions are integrated over once. Partial sums over groups of 64 rows are added in order. Degenerate
    observations are not allowed.
    """
    law = _law(np.ascontiguousarray(h, dtype=np.float64), tolerance)
    distinct, counts = _distinct(regions)
    n_groups = -(-len(distinct) // GROUP)
    values, gradients = np.empty(n_groups), np.empty((n_groups, regions.n_goods))

    def group(start: int, stop: int) -> None:
        masses = _masses(distinct.rows(start, stop), law, tolerance, gradient=True, spread=False)
        assert masses.gradient is not None
        values[start // GROUP] = np.sum(counts[start:stop] * masses.log_mass)
        gradients[start // GROUP] = np.sum(counts[start:stop, None] * masses.gradient, axis=0)

    for_blocks(group, len(distinct), GROUP)
    return float(np.sum(values)), np.sum(gradients, axis=0)


class Sums(NamedTuple):
    """Of all observations: Σ log-mass, its gradient (n,) and minus its Hessian (n, n), in h."""

    value: float
    gradient: Array
    information: Array


def sum_with_information(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> Sums:
    """Return Σ log-mass, its gradient and the observed information Σ_t Cov(u) - Cov(u | region t), in one pass."""
    law = _law(np.ascontiguousarray(h, dtype=np.float64), tolerance)
    distinct, counts = _distinct(regions)
    n, n_groups = regions.n_goods, -(-len(distinct) // GROUP)
    values, gradients, lower = np.empty(n_groups), np.empty((n_groups, n)), np.zeros((n_groups, n, n))

    def group(start: int, stop: int) -> None:
        part, often, size, k = distinct.rows(start, stop), counts[start:stop], stop - start, start // GROUP
        out = Output(np.empty(size), np.empty(size), np.empty((size, n)), lower[k])
        _fill(part, often, law, tolerance, out, 0, size)
        for t in np.flatnonzero(~(out.error < _HOPELESS)).tolist():
            # Neither contour would do: such a region is sampled, and taken to teach nothing.
            lower[k] += often[t] * np.tril(vmf_covariance(law.h))
            sampled = _masses(part.rows(t, t + 1), law, tolerance, gradient=True, spread=False)
            assert sampled.gradient is not None
            out.log_mass[t], out.gradient[t] = sampled.log_mass[0], sampled.gradient[0]
        values[k] = np.sum(often * out.log_mass)
        gradients[k] = np.sum(often[:, None] * out.gradient, axis=0)

    for_blocks(group, len(distinct), GROUP)
    total = np.sum(lower, axis=0)
    total = np.tril(total) + np.tril(total, -1).T
    says_nothing = (regions.kind_code == TIGHT) & ~np.any(regions.side == ABOVE, axis=1)
    information = np.sum(~says_nothing) * vmf_covariance(law.h) - total
    return Sums(float(np.sum(values)), np.sum(gradients, axis=0), information)


def observed_information(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> Array:
    """Return (n, n) minus the Hessian of Σ log-mass in h."""
    return sum_with_information(regions, h, tolerance=tolerance).information


def check_direction(mean_direction: ArrayLike, concentration: float, n_goods: int) -> Array:
    """Return h = κμ after checking both."""
    try:
        mu = np.asarray(mean_direction, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"mean_direction must be numbers; {error}") from None
    if n_goods < 2:
        raise InvalidArgument("a law on the sphere needs at least two goods; these regions have one")
    if mu.shape != (n_goods,) or not np.isfinite(mu).all():
        raise InvalidArgument(f"mean_direction must be {n_goods} finite numbers; received shape {mu.shape}")
    length = float(np.linalg.norm(mu))
    if abs(length - 1) > 1e-6:
        raise InvalidArgument(f"mean_direction must have length 1; received {length:g}; divide by its norm")
    if not (np.isfinite(concentration) and concentration >= 0):
        raise InvalidArgument(f"concentration must be a finite number, zero or more; received {concentration}")
    return mu * (float(concentration) / length)
