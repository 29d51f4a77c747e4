# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior of h = κμ on the exact likelihood, and the Gaussian it resembles.

With more than a few observations a good the posterior of h is close to a Gaussian around its mode: the samplers on the
exact likelihood (`hamiltonian`, `importance`) take that Gaussian for granted and work on the difference. Nothing they
return depends on how good it is, only how fast they are.

The mode is that of the density in h, prior factor |h|^{1-n} included. Where the data are so weak that this factor,
which has a pole at the origin, leaves no maximum near the maximum of the likelihood, the likelihood alone is used; and
where even that has no maximum, the prior's own spread caps the Gaussian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.maximising import maximise_likelihood
from stochpref.posterior.bounds import into_shell
from stochpref.posterior.prior import Prior

if TYPE_CHECKING:
    from stochpref.posterior.target import Target

Array = NDArray[np.float64]

TOLERANCE = 1e-8  # of each mass: 1e-4 in the log-likelihood of 10,000 observations
_NEWTON_STEPS = 4
_SHRINKAGE = 0.5  # a mode below this share of the most likely κ is the pole of the prior, not a mode
_DIFFERENCE = 1e-5  # of |h|, for the gradient of a prior that is given as a function


class Reference(NamedTuple):
    """A Gaussian near the posterior of h.

    mode : (n,) inside the shell; where the samplers start.
    centre : (n,) of the Gaussian; beyond the shell where the posterior leans on a wall.
    factor : (n, n) lower triangular, factor @ factor.T is the covariance.
    is_mode : whether the posterior has a maximum at `mode`, and the covariance is the inverse of its curvature there.
    """

    mode: Array
    centre: Array
    factor: Array
    is_mode: bool


class Point(NamedTuple):
    """A natural parameter (n,), its log-posterior up to a constant and the gradient of that (n,)."""

    h: Array
    log_posterior: float
    gradient: Array


def log_prior(prior: Prior, h: Array) -> tuple[float, Array]:
    """Return the log-density of the prior in h and its gradient.

    Notes
    -----
    The gradient of a prior given as a function is by central differences, and 0 for goods where those leave the shell.
    It steers proposals; what is accepted depends on values only.
    """
    n, square = len(h), float(h @ h)
    value = float(prior.log_density_of_h(h[None])[0])
    gradient = (1 - n) / square * h
    if prior.log_density_fn is not None:
        step = _DIFFERENCE * np.sqrt(square)
        ends = np.concatenate([h + step * np.eye(n), h - step * np.eye(n)])
        lengths = np.linalg.norm(ends, axis=1)
        values = prior.log_density(ends / lengths[:, None], lengths)
        is_usable = np.isfinite(values[:n]) & np.isfinite(values[n:])
        difference = np.subtract(values[:n], values[n:], where=is_usable, out=np.zeros(n))
        gradient = gradient + difference / (2 * step)
    return value, gradient


def evaluate(target: Target, h: Array) -> Point:
    """Return the log-posterior and its gradient at h; -inf outside the shell, where no likelihood is computed."""
    value, gradient = log_prior(target.prior, h)
    if not np.isfinite(value):
        return Point(h, -np.inf, np.zeros_like(h))
    if len(target.store) == 0:
        return Point(h, value, gradient)
    sums = target.store.sums(h, tolerance=TOLERANCE)
    return Point(h, value + sums.value, gradient + sums.gradient)


def _information(target: Target, h: Array) -> Array:
    """Return minus the Hessian of the log-likelihood."""
    return target.store.sums(h, derivatives=2, tolerance=TOLERANCE).information


def _prior_information(h: Array) -> Array:
    """Return minus the Hessian of log |h|^{1-n}: positive across h, negative along it."""
    n, square = len(h), float(h @ h)
    return (n - 1) / square * (np.eye(n) - 2 / square * np.outer(h, h))


def _find_mode(target: Target, start: Array) -> tuple[Array, Array] | None:
    """Return the mode near the most likely h and the information there; None where Newton's steps find none."""
    h = start
    information = np.empty((0, 0))
    for _ in range(_NEWTON_STEPS):
        information = _information(target, h) + _prior_information(h)
        if np.linalg.eigvalsh(information)[0] <= 0:
            return None
        step = np.linalg.solve(information, evaluate(target, h).gradient)
        h = h + step
        if not _SHRINKAGE * np.linalg.norm(start) < np.linalg.norm(h) < target.prior.upper:
            return None
        if not np.linalg.norm(h) > target.prior.lower:
            return None
        if float(step @ information @ step) < 1e-6:  # in squared standard deviations
            return h, information
    return None


def find_reference(target: Target) -> Reference:
    """Return the Gaussian for a target: maximum likelihood, then a few Newton steps, 15 to 30 evaluations in all."""
    return reference_near(target, maximise_likelihood(target.store).h)


def reference_near(target: Target, most_likely: Array) -> Reference:
    """Return the Gaussian for a target, given the h at which its likelihood is largest."""
    prior, n = target.prior, target.store.n_goods
    h = into_shell(prior, most_likely)
    found = _find_mode(target, h)
    if found is not None:
        mode, information = found
        return Reference(mode, mode, np.linalg.cholesky(np.linalg.inv(information)), True)
    # E|h|²/n under the prior: no direction is wider than that.
    spread = (prior.lower**2 + prior.lower * prior.upper + prior.upper**2) / (3 * n)
    values, vectors = np.linalg.eigh(_information(target, h))
    covariance = (vectors / np.maximum(values, 1 / spread)) @ vectors.T
    slope = target.store.sums(h, tolerance=TOLERANCE).gradient
    return Reference(h, h + covariance @ slope, np.linalg.cholesky(covariance), False)


def overdispersed_start(target: Target, reference: Reference, rng: np.random.Generator) -> Array:
    """Return a point inside the shell from a Student t law with 4 degrees of freedom, twice as wide as the Gaussian."""
    scale = 2.0 / np.sqrt(rng.chisquare(4.0) / 4.0)
    return into_shell(
        target.prior, reference.mode + scale * reference.factor @ rng.standard_normal(len(reference.mode))
    )
