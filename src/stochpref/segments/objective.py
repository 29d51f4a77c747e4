# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of segments maximises: the exact log-likelihood of a mixture, and a prior that keeps it from running off.

Every coordinate of h_k is N(0, τ²) with τ = 2n, and the weights are Dirichlet(2). Without the first a good that one
segment never buys drives that segment's concentration to infinity; the second keeps weights off 0. Coordinates for
optimisers are the log-ratios of the weights to the last one, then h of one segment after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from stochpref.bessel import mean_resultant_length
from stochpref.mass.mixture import MixtureSums
from stochpref.stores.protocol import Store

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SPREAD_PER_GOOD: Final = 2.0  # τ / n: concentrations of customers who differ at all are far below


class Mixture(NamedTuple):
    """A mixture of K laws: logarithms of its weights (K,), and h = κμ of each law (K, n)."""

    log_weights: Array
    h: Array

    @classmethod
    def at(cls, coordinates: Array, n_segments: int) -> Self:
        """Return the mixture at coordinates, as the module says."""
        ratios = np.append(coordinates[: n_segments - 1], 0.0)
        return cls(log_softmax(ratios), coordinates[n_segments - 1 :].reshape(n_segments, -1))

    @property
    def coordinates(self) -> Array:
        """The coordinates (K - 1 + Kn,)."""
        return np.concatenate([self.log_weights[:-1] - self.log_weights[-1], self.h.ravel()])

    def ordered(self) -> Mixture:
        """Return the same with the heaviest segment first."""
        order = np.argsort(-self.log_weights, kind="stable")
        return Mixture(self.log_weights[order], self.h[order])


class Value(NamedTuple):
    """The penalised log-likelihood of a mixture, its gradient in the coordinates, and the sums it is made of."""

    value: float
    gradient: Array
    sums: MixtureSums


@dataclass(frozen=True, eq=False)
class Objective:
    """The penalised log-likelihood of observations.

    store : of the observations.
    unit : (T,) whose segment each observation's is, numbered from 0; None where each has its own.
    tolerance : of the masses.
    prior_spread : τ; None for that of exact likelihoods.
    """

    store: Store
    unit: Indices | None = None
    tolerance: float = 1e-8
    prior_spread: float | None = None

    @property
    def spread(self) -> float:
        """The prior's standard deviation τ of a coordinate of h."""
        return SPREAD_PER_GOOD * self.store.n_goods if self.prior_spread is None else self.prior_spread

    @property
    def n_coordinates(self) -> int:
        """How many numbers a utility has: as many as h, or more."""
        return self.store.n_goods if self.store.span is None else len(self.store.span)

    def means(self, laws: Array) -> Array:
        """Return the mean utilities A(κ)μ of laws (K, n)."""
        kappa = np.linalg.norm(laws, axis=-1, keepdims=True)
        return laws * (mean_resultant_length(self.n_coordinates, kappa) / np.maximum(kappa, 1e-150))

    @property
    def n_units(self) -> int:
        """How many units there are: each belongs to one segment as a whole."""
        return len(self.store) if self.unit is None else int(self.unit.max()) + 1

    def at(self, mixture: Mixture, derivatives: int = 1) -> Value:
        """Return value and gradient."""
        sums = self.store.mixture(
            mixture.log_weights, mixture.h, unit=self.unit, derivatives=derivatives, tolerance=self.tolerance
        )
        penalty = self.log_prior(mixture)
        if derivatives == 0:
            return Value(sums.value + penalty, np.empty(0), sums)
        k, weights = len(mixture.h), np.exp(mixture.log_weights)
        # In log-ratios: the units a segment has less those it should have, and one more each by the prior.
        of_weights = (sums.units + 1.0 - (sums.units.sum() + k) * weights)[:-1]
        of_laws = sums.gradient - mixture.h / self.spread**2
        return Value(sums.value + penalty, np.concatenate([of_weights, of_laws.ravel()]), sums)

    def log_prior(self, mixture: Mixture) -> float:
        """Return the log-density of the prior; 0 at equal weights and no concentration."""
        k = len(mixture.h)
        return float(np.sum(mixture.log_weights) + k * np.log(k) - 0.5 * np.sum(mixture.h**2) / self.spread**2)

    def information(self, mixture: Mixture, sums: MixtureSums) -> Array:
        """Return minus the Hessian in the coordinates; `sums` must hold the likelihood's own."""
        k, weights = len(mixture.h), np.exp(mixture.log_weights)
        matrix = sums.information.copy()
        matrix[:k, :k] += k * (np.diag(weights) - np.outer(weights, weights))
        matrix[k:, k:] += np.eye(mixture.h.size) / self.spread**2
        kept = np.delete(np.arange(len(matrix)), k - 1)
        return np.asarray(matrix[np.ix_(kept, kept)])
