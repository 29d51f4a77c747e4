# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Exact log-masses of all observations, their gradients, their sums and their information, in blocks on all threads.

Each observation has a law of its own, or one that others share: `laws` (K, n) holds h = κμ of each law, `which` (T,)
says whose law is whose, and None that there is one law for all. A law costs next to nothing, since what is dear, the
Gauss rules, depends on the number of goods and on the largest κ only.

The gradient of the log-mass in h is E[u | region] - E[u], its Hessian Cov(u | region) - Cov(u): moments that fall
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
from stochpref.kinds import ABOVE, TIGHT
from stochpref.mass.contour import gauss_rules
from stochpref.mass.corner_rows import corner_rows
from stochpref.mass.monte_carlo import sampled_log_mass
from stochpref.mass.region import make_scratch
from stochpref.mass.row_kernel import HOPELESS, LawConstants, Output, RowArrays, mass_rows
from stochpref.regions import Merged, Regions
from stochpref.threads import GROUP, for_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TINY = 1e-150  # κ of the uniform law where κ is divided by: moments are those of 0 long before
_FALLBACK_DRAWS = 1 << 14
_FALLBACK_SEED = 20_240_229


class Masses(NamedTuple):
    """Log-masses (T,), estimates of their absolute errors (T,), and gradients in h (T, n) or None.

    An error beyond 1e-3 says that neither contour would do and the mass was sampled.
    """

    log_mass: Array
    error: Array
    gradient: Array | None


class Sums(NamedTuple):
    """Of all observations: Σ log-mass, its gradient (n,) and minus its Hessian (n, n), in h.

    By law these are (K, n) and (K, n, n). An array that was not asked for is empty.
    """

    value: float
    gradient: Array
    information: Array


def _law_constants(laws: Array, tolerance: float) -> LawConstants:
    n, kappa = laws.shape[1], _lengths(laws)
    rules = gauss_rules(n, float(kappa.max()), tolerance)
    return LawConstants(laws, log_normaliser(n, kappa) + kappa, vmf_mean(laws), rules)


def _lengths(h: Array) -> Array:
    return np.sqrt(np.vecdot(h, h))


def vmf_mean(h: Array) -> Array:
    """Return the mean of u under von Mises–Fisher, A(κ) μ, of one law (n,) or of each of several (K, n)."""
    kappa = _lengths(h)[..., None]
    return h * (mean_resultant_length(h.shape[-1], kappa) / np.maximum(kappa, _TINY))


def vmf_covariance(h: Array) -> Array:
    """Return the covariance of u under von Mises–Fisher, A'(κ) μμᵀ + A(κ)/κ (I - μμᵀ), of one law or of each."""
    n, kappa = h.shape[-1], np.maximum(_lengths(h)[..., None, None], _TINY)
    length = mean_resultant_length(n, kappa)
    along = h[..., :, None] * h[..., None, :] / kappa**2
    across = np.where(kappa > _TINY, length / kappa, 1 / n)
    return (1 - length**2 - (n - 1) * length / kappa) * along + across * (np.eye(n) - along)


def _checked(regions: Regions, laws: ArrayLike, which: ArrayLike | None) -> tuple[Array, Indices | None]:
    """Return laws (K, n) and whose is whose; kernels trust both."""
    h = np.atleast_2d(np.ascontiguousarray(laws, dtype=np.float64))
    if h.ndim != 2 or h.shape[1] != regions.n_goods or len(h) == 0:
        raise InvalidArgument(f"laws must have shape (K, {regions.n_goods}); received {np.shape(laws)}")
    if which is None:
        if len(h) > 1:
            raise InvalidArgument(f"which may be left out for one law only; received {len(h)}; say whose law is whose")
        return h, None
    law = np.asarray(which)
    if law.shape != (len(regions),) or law.dtype.kind not in "iu" or np.any((law < 0) | (law >= len(h))):
        raise InvalidArgument(
            f"which must hold, for each of {len(regions)} rows, a whole number from 0 to {len(h) - 1}: its law's place"
        )
    return h, np.ascontiguousarray(law, dtype=np.intp)


def _weighted(rows: Merged, weights: Array) -> Merged:
    """Return distinct rows that count for as much as the weights (T,) of all that are equal to them."""
    counts = np.zeros(len(rows.regions))
    np.add.at(counts, np.arange(len(counts))[rows.place], weights)
    return rows._replace(counts=counts)


def _distinct(regions: Regions, which: Indices | None, *, by_law: bool) -> Merged:
    """Return the rows to integrate over, each under its law; for sums rows of one law follow one another."""
    merged = regions.merged(which)
    if merged is not None:
        return merged
    law, once = np.zeros(len(regions), np.intp) if which is None else which, np.ones(len(regions))
    if not by_law or np.all(law[1:] >= law[:-1]):
        return Merged(regions, once, slice(None), law)
    order = np.argsort(law, kind="stable")
    return Merged(regions[order], once, np.argsort(order), law[order])


def _runs(which: Indices, n_laws: int) -> tuple[Indices, Indices]:
    """Return the run (m,) of each row and the law (S,) of each run.

    Groups rise, and so do laws: no two runs share the sum of their numbers.
    """
    groups = np.arange(len(which)) // GROUP
    run, law = groups + which, np.zeros(-(-len(which) // GROUP) + n_laws - 1, np.intp)
    law[run] = which
    return run, law


def _add_by(totals: Array, places: Indices, parts: Array) -> None:
    """Add each part to the total at its place, in order."""
    if len(totals) == 1:  # the same, in a third of the time
        totals[0] += parts.sum(axis=0)
    else:
        np.add.at(totals, places, parts)


class _Evaluation(NamedTuple):
    """Found of distinct rows, and sums: log-masses by group (G,); of each run its law (S,), gradient (S, n)."""

    rows: Merged
    laws: LawConstants
    out: Output
    values: Array
    run_law: Indices
    run_gradient: Array


def _evaluate(
    regions: Regions,
    laws: ArrayLike,
    which: ArrayLike | None,
    tolerance: float,
    *,
    gradient: bool = False,
    by_law: bool = False,
    information: bool = False,
    weights: Array | None = None,
) -> _Evaluation:
    """Integrate over distinct rows, a group at a time; what is wanted is the gradient of each, or sums by law."""
    h, law = _checked(regions, laws, which)
    constants, rows = _law_constants(h, tolerance), _distinct(regions, law, by_law=by_law)
    rows = rows if weights is None else _weighted(rows, weights)
    count, n = len(rows.regions), regions.n_goods
    run, run_law = _runs(rows.which, len(h)) if by_law else (rows.which, rows.which[:0])
    values, run_gradient = np.empty(-(-count // GROUP)), np.zeros((len(run_law), n))
    covariance = np.zeros((len(run_law) if information else 0, n, n))
    out = Output(np.empty(count), np.empty(count), np.empty((count if gradient else 0, n)), covariance)

    def group(start: int, stop: int) -> None:
        own, part = slice(start, stop), rows.regions.rows(start, stop)
        first, last = run[start], run[stop - 1]
        arrays = RowArrays(
            part.kind_code, part.side, part.slope, part.pivot, rows.which[own], rows.counts[own], run[own] - first
        )
        slopes = np.empty((stop - start, n)) if by_law else out.gradient[own]
        here = Output(out.log_mass[own], out.error[own], slopes, covariance[first : last + 1])
        scratch = make_scratch(n, gradient or by_law, information)
        mass_rows(constants, arrays, tolerance, here, scratch)
        if part.corners is not None:
            corner_rows(constants, arrays, part.corners, tolerance, here, scratch)
        _sample_hopeless(part, constants, arrays, here)
        if by_law:
            values[start // GROUP] = np.sum(arrays.repeats * here.log_mass)
            _add_by(run_gradient[first : last + 1], arrays.run, arrays.repeats[:, None] * slopes)

    for_blocks(group, count, GROUP)
    return _Evaluation(rows, constants, out, values, run_law, run_gradient)


def _sample_hopeless(part: Regions, laws: LawConstants, rows: RowArrays, out: Output) -> None:
    """Sample, with a fixed seed, the rows for which neither contour would do; they are taken to teach nothing."""
    for t in np.flatnonzero(~(out.error < HOPELESS)).tolist():
        h, rng = laws.h[rows.law[t]], np.random.default_rng(_FALLBACK_SEED)
        sample = sampled_log_mass(part.rows(t, t + 1), h, n_draws=_FALLBACK_DRAWS, rng=rng)
        # Three standard errors: an estimate of the error, not one deviation.
        out.log_mass[t], out.error[t] = min(float(sample.log_mass[0]), 0.0), 3 * float(sample.error[0])
        if len(out.gradient) > 0:
            out.gradient[t] = sample.mean[0] - laws.mean[rows.law[t]]
        if len(out.covariance) > 0:
            out.covariance[rows.run[t]] += rows.repeats[t] * np.tril(vmf_covariance(h))


def exact_log_mass(
    regions: Regions,
    laws: ArrayLike,
    which: ArrayLike | None = None,
    *,
    gradient: bool = False,
    tolerance: float = 1e-10,
) -> Masses:
    """Return exact log-masses, their error estimates and, if asked for, their gradients.

    A region that turns its back on the mean is integrated along the cut instead (see `behind`).

    Parameters
    ----------
    laws : (n,) h = κμ of one law, or (K, n) of several.
    which : (T,) the law of each row, by its place in `laws`; None for one law.
    """
    found = _evaluate(regions, laws, which, tolerance, gradient=gradient)
    out, place = found.out, found.rows.place
    return Masses(out.log_mass[place], out.error[place], out.gradient[place] if gradient else None)


def sum_by_law(
    regions: Regions,
    laws: ArrayLike,
    which: ArrayLike | None = None,
    *,
    information: bool = False,
    tolerance: float = 1e-10,
    weights: Array | None = None,
) -> Sums:
    """Return Σ log-mass, and for each law its gradient and, if asked for, the observed information, in one pass.

    The information is Σ_t Cov(u) - Cov(u | region t). Equal regions under one law are integrated over once, and no
    (T, n) memory is needed. Degenerate observations are not allowed. Parameters as in `exact_log_mass`, and

    weights : (T,) of any sign, for sums of weight × log-mass; None for 1 each.
    """
    found = _evaluate(regions, laws, which, tolerance, by_law=True, information=information, weights=weights)
    h, rows, value = found.laws.h, found.rows, float(np.sum(found.values))
    gradient = np.zeros_like(h)
    _add_by(gradient, found.run_law, found.run_gradient)
    if not information:
        return Sums(value, gradient, np.empty(0))
    lower = np.zeros((*h.shape, h.shape[1]))
    _add_by(lower, found.run_law, found.out.covariance)
    reveals = (rows.regions.kind_code != TIGHT) | np.any(rows.regions.side == ABOVE, axis=1)
    counts = np.bincount(rows.which, rows.counts * reveals, minlength=len(h))
    total = np.tril(lower) + np.tril(lower, -1).swapaxes(1, 2)
    return Sums(value, gradient, counts[:, None, None] * vmf_covariance(h) - total)


def sum_log_mass(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> tuple[float, Array]:
    """Return Σ log-mass and its gradient in h under one law: what optimisers and samplers ask for."""
    sums = sum_by_law(regions, h, tolerance=tolerance)
    return sums.value, sums.gradient[0]


def sum_with_information(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> Sums:
    """Return Σ log-mass, its gradient and the observed information under one law."""
    value, gradient, information = sum_by_law(regions, h, information=True, tolerance=tolerance)
    return Sums(value, gradient[0], information[0])


def observed_information(regions: Regions, h: ArrayLike, *, tolerance: float = 1e-10) -> Array:
    """Return (n, n) minus the Hessian of Σ log-mass in h under one law."""
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
