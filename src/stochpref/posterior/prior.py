# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The prior of (μ, κ): as in the paper uniform on sphere × interval, or that times a density of the user's.

Samplers that move in h = κμ need the density there: dμ dκ = |h|^{1-n} dh, so the uniform prior is not flat in h but
falls as |h|^{1-n}, singular at the origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.laws import uniform_directions

Array = NDArray[np.float64]
PriorFn = Callable[[Array, float], float]

BOUND_PER_GOOD = 20.0  # κ = 20 n keeps customers within about 13° of each other, goods apart
_PROBES: Final = 1000  # points at which a function is looked at


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed about (μ, κ) before any data.

    Attributes
    ----------
    lower, upper : κ lies between them, uniformly unless `log_density_fn` says otherwise.
    log_density_fn : (mean_direction (n,), concentration) -> log-density with respect to dμ dκ, up to a constant; None
        for the uniform prior.
    """

    lower: float
    upper: float
    log_density_fn: PriorFn | None = None

    @classmethod
    def within(cls, bounds: tuple[float, float] | None, n_goods: int, log_density_fn: PriorFn | None = None) -> Prior:
        """Return the prior with checked bounds; None bounds mean (0, 20 n)."""
        if log_density_fn is not None and not callable(log_density_fn):
            raise InvalidArgument(
                "prior must be None or a function of (mean_direction, concentration) that returns a log-density; "
                f"received {log_density_fn!r}"
            )
        if bounds is None:
            return cls(0.0, BOUND_PER_GOOD * n_goods, log_density_fn)
        try:
            lower, upper = (float(bound) for bound in bounds)
        except (TypeError, ValueError):
            raise InvalidArgument(f"concentration_bounds must be two numbers or None; received {bounds!r}") from None
        if not 0.0 <= lower < upper < np.inf:
            raise InvalidArgument(
                f"concentration_bounds must satisfy 0 <= lower < upper < inf; received ({lower:g}, {upper:g})"
            )
        return cls(lower, upper, log_density_fn)

    def across(self, span: Array | None) -> Prior:
        """Return the prior of the mean direction over the columns of a basis (n, k), of what is spanned by them."""
        density_fn = self.log_density_fn
        if span is None or density_fn is None:
            return self
        return Prior(self.lower, self.upper, lambda direction, kappa: density_fn(span @ direction, kappa))

    def fingerprint(self, n_goods: int) -> str | None:
        """Return what tells a function of the user's from others; None for the uniform prior.

        A function cannot be hashed: the same text may mean other things, other texts the same. Its values can, at many
        points spread over all κ. Two priors that differ nowhere but between those points are taken for one.
        """
        if self.log_density_fn is None:
            return None
        share = (np.arange(_PROBES) + 0.5) / _PROBES
        directions = uniform_directions(_PROBES, n_goods, rng=np.random.default_rng(0))
        values = self.log_density(directions, self.lower + share * (self.upper - self.lower))
        # Nine digits: another machine may round the last ones otherwise.
        return hashlib.sha256(" ".join(f"{value:.9g}" for value in values).encode()).hexdigest()

    def log_density(self, mean_direction: Array, concentration: Array) -> Array:
        """Return (k,) log-densities in dμ dκ of (k, n) directions and (k,) concentrations; -inf outside."""
        kappa = np.asarray(concentration, np.float64)
        inside = (kappa >= self.lower) & (kappa <= self.upper)
        values = np.where(inside, 0.0, -np.inf)
        if self.log_density_fn is not None:
            for k in np.flatnonzero(inside):
                value = float(self.log_density_fn(mean_direction[k], float(kappa[k])))
                if np.isnan(value) or value == np.inf:
                    raise InvalidArgument(
                        f"prior must return a finite log-density or -inf; it returned {value} at concentration "
                        f"{kappa[k]:g}"
                    )
                values[k] = value
        return values

    def log_density_of_h(self, h: Array) -> Array:
        """Return (k,) log-densities with respect to dh of (k, n) natural parameters."""
        kappa = np.linalg.norm(h, axis=1)
        safe = np.where(kappa > 0.0, kappa, 1.0)
        jacobian = (1.0 - h.shape[1]) * np.log(safe)
        return np.where(kappa > 0.0, self.log_density(h / safe[:, None], kappa) + jacobian, -np.inf)
