# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How tastes are spread over customers, θ_i ~ N(θ₀, Ω) with Ω = D diag(σ²) Dᵀ + Λ Λᵀ, and what is believed of it.

σ has an entry for every good and feature, also where only differences of goods count: D takes those differences, so
that it matters to nothing which good the others are compared with; the prior of Λ is that of D times independent
loadings of goods and features. Utilities are in units of the noise of a choice, and features are standardised, so that
one prior serves all:

    θ₀ ~ N(0, 25 I)      σ_k ~ half-t₄(scale 2)      Λ = 2 B E, B Bᵀ = D Dᵀ, E_kj ~ N(0, 1), lower triangular

The coordinates φ that are climbed and moved in are θ₀, then σ, then the entries of E. A σ of either sign will do, by a
t law of which the half-t law is one half, so that nothing stops at 0; the mode is that of ln σ, which is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.features import FeatureDesign

Array = NDArray[np.float64]

MEAN_SPREAD: Final = 5.0
SCALE: Final = 2.0  # of the half-t law of σ,
DEGREES: Final = 4.0  # and its degrees of freedom
LOADING_SPREAD: Final = 2.0

_START: Final = 0.8  # of σ, and
_START_LOADING: Final = 0.2


@dataclass(frozen=True, eq=False)
class TasteLaw:
    """The parameters of a spread of tastes and their prior.

    contrasts : (p, m) D, from goods and features to coefficients.
    n_factors : r, columns of Λ.
    """

    contrasts: Array
    n_factors: int

    @classmethod
    def of(cls, design: FeatureDesign, n_factors: int) -> TasteLaw:
        """Return the law of the tastes that a design has coefficients for."""
        return cls(contrasts_of(design), min(n_factors, len(design.names)))

    @cached_property
    def p(self) -> int:
        """Number of coefficients."""
        return len(self.contrasts)

    @cached_property
    def m(self) -> int:
        """Number of goods and features."""
        return self.contrasts.shape[1]

    @cached_property
    def n_parameters(self) -> int:
        """Length of φ."""
        return self.p + self.m + int(self._is_free.sum())

    @cached_property
    def _unit(self) -> Array:
        return np.eye(self.p)

    @cached_property
    def _is_free(self) -> NDArray[np.bool_]:
        return np.tril(np.ones((self.p, self.n_factors), np.bool_))

    @cached_property
    def _root(self) -> Array:
        """2 B."""
        return np.asarray(LOADING_SPREAD * np.linalg.cholesky(self.contrasts @ self.contrasts.T))

    def split(self, phi: Array) -> tuple[Array, Array, Array]:
        """Return θ₀ (p,), σ (m,) and Λ (p, r)."""
        return phi[: self.p], phi[self.p : self.p + self.m], self._root @ self._loadings(phi)

    def covariance(self, phi: Array) -> Array:
        """Return Ω (p, p)."""
        _, sigma, loadings = self.split(phi)
        own: Array = (self.contrasts * sigma**2) @ self.contrasts.T + loadings @ loadings.T
        return own

    def start(self) -> Array:
        """Return φ to climb from."""
        loadings = np.full(int(self._is_free.sum()), _START_LOADING)
        return np.concatenate([np.zeros(self.p), np.full(self.m, _START), loadings])

    def log_prior(self, phi: Array, *, is_mode: bool = False) -> tuple[float, Array]:
        """Return the log-density of φ, up to a constant, and its gradient; of ln σ in place of σ for the mode."""
        own = slice(self.p, self.p + self.m)
        sigma = phi[own]
        size, straight = SCALE * SCALE * DEGREES + sigma * sigma, phi * self.prior_precision
        straight[own] = 0.0
        value = -0.5 * float(straight @ phi) - 0.5 * (DEGREES + 1.0) * float(np.log(size).sum())
        slope = -straight
        slope[own] = -(DEGREES + 1.0) * sigma / size
        if is_mode:
            value += float(np.log(np.abs(sigma)).sum())
            slope[own] += 1.0 / sigma
        return value, slope

    @cached_property
    def prior_precision(self) -> Array:
        """How sure the prior is of each coordinate of φ; of σ near 0."""
        of_sigma = (DEGREES + 1.0) / (DEGREES * SCALE**2)
        loadings = np.ones(int(self._is_free.sum()))
        return np.concatenate([np.full(self.p, MEAN_SPREAD**-2), np.full(self.m, of_sigma), loadings])

    @cached_property
    def blocks(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Blocks of coefficients whose spreads can be scaled together: their places in θ, and those of spreads in φ."""
        label = np.arange(self.p)
        for row in self.contrasts.T != 0.0:  # coefficients that share a good or feature
            label[np.isin(label, label[row])] = label[row].min(initial=self.p)
        found, rows = [], np.nonzero(self._is_free)[0]
        for one in np.unique(label):
            own = np.flatnonzero(label == one)
            sigmas = self.p + np.flatnonzero((self.contrasts[own] != 0.0).any(axis=0))
            found.append((own, np.concatenate([sigmas, self.p + self.m + np.flatnonzero(np.isin(rows, own))])))
        return found

    def upright(self, phi: Array, near: Array) -> Array:
        """Return φ with σ positive, and the signs of factors, which change nothing, as near to another φ as can be."""
        loadings, others = (self._loadings(one) for one in (phi, near))
        signs = np.where(np.sum(loadings * others, axis=0) < 0.0, -1.0, 1.0)
        theta, sigma = phi[: self.p], np.abs(phi[self.p : self.p + self.m])
        return np.concatenate([theta, sigma, (loadings * signs)[self._is_free]])

    def _loadings(self, phi: Array) -> Array:
        """Return E (p, r)."""
        loadings = np.zeros((self.p, self.n_factors))
        loadings[self._is_free] = phi[self.p + self.m :]
        return loadings

    def pulled(self, phi: Array, root_inverse: Array, mean: Array, products: Array) -> Array:
        """Return gradients (k, d) in φ of log-likelihoods, by means and products of y = L⁻¹ (θ - θ₀) given choices.

        Parameters
        ----------
        root_inverse : L⁻¹, Ω = L Lᵀ.
        mean, products : (k, p) and (k, p, p).
        """
        _, sigma, loadings = self.split(phi)
        by_covariance = 0.5 * root_inverse.T @ (products - self._unit) @ root_inverse  # (k, p, p)
        by_good = np.sum((by_covariance @ self.contrasts) * self.contrasts, axis=1)
        by_loading = 2.0 * (self._root.T @ (by_covariance @ loadings))
        by_scale = 2.0 * sigma * by_good
        return np.concatenate([mean @ root_inverse, by_scale, by_loading[:, self._is_free]], axis=1)

    def sample(self, rng: np.random.Generator) -> Array:
        """Return φ drawn from the prior."""
        loadings = rng.standard_normal(int(self._is_free.sum()))
        sigma = SCALE * rng.standard_t(DEGREES, self.m)
        return np.concatenate([MEAN_SPREAD * rng.standard_normal(self.p), sigma, loadings])


def contrasts_of(design: FeatureDesign) -> Array:
    """Return D (p, m): what coefficients that are kept make of the design of one a good and feature.

    Columns of the design that are left out are sums of those that are kept: where only differences of goods count, one
    good's intercept.
    """
    n, names = design.n_coordinates, len(design.names)
    found = np.zeros((len(design.kept), names))
    found[np.arange(len(design.kept)), list(design.kept)] = 1.0
    span = design.problem.span(n)
    starts, blocks = [0], [n]
    for term in design.terms:
        starts.append(starts[-1] + blocks[-1])
        blocks.append(len(term.names(design.goods)))
    for start, size in zip(starts, blocks, strict=True):
        own = [k for k, j in enumerate(design.kept) if start <= j < start + size]
        # A block of one coefficient a good of which one is left out, since they add up to what changes no choice.
        if span is not None and size == n and len(own) == n - 1:
            (out,) = set(range(start, start + size)) - set(design.kept)
            found[own, out] = -1.0
    return found
