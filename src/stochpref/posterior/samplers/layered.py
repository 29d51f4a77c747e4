# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Importance sampling layer by layer: κ from its approximate density, then μ around the mode of its layer.

For posteriors without a mode inside the bounds of κ, where `importance` has no Gaussian to draw from: see `layers`.
Proposals of μ follow a Student law in the tangent plane, seen from the centre of the sphere; one in ten or more, where
the layer is wide, are uniform on the sphere, and one κ in ten uniform between its bounds, so that weights are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from stochpref.laws import uniform_directions
from stochpref.posterior.gaussian import TOLERANCE
from stochpref.posterior.samplers.importance import ImportanceState
from stochpref.posterior.samplers.layers import Layers, Table, tabulate
from stochpref.posterior.target import Info, Target, keyed_generator

Array = NDArray[np.float64]

_UNIFORM: Final = 0.1  # share of proposals that know nothing, at least


@dataclass(frozen=True)
class Layered:
    """The sampler; see the module.

    target : store and prior.
    seed : of all its random numbers.
    layers : from `find_layers`.
    """

    target: Target
    seed: int
    layers: Layers
    n_warmup: int = 0
    name: str = "layered"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> ImportanceState:
        """Return the heaviest layer's mode, with no weight: the first step replaces it."""
        j = int(np.argmax(self.layers.log_mass))
        h = self.layers.concentration[j] * self.layers.mode[j]
        return ImportanceState(np.tile(h, (n_chains, 1)), np.full(n_chains, -np.inf))

    def step(self, state: ImportanceState, iteration: int) -> tuple[ImportanceState, Info]:
        """Make one proposal per chain."""
        drawn = [self._propose(keyed_generator(self.seed, c, iteration)) for c in range(len(state.h))]
        log_weight = np.array([weight for _, weight in drawn])
        return ImportanceState(np.array([h for h, _ in drawn]), log_weight), Info({"log_weight": log_weight.copy()})

    def parameters(self, state: ImportanceState) -> dict[str, Array]:
        """Return mean directions (chains, n) and concentrations (chains,) of the proposals, to be weighted."""
        kappa = np.linalg.norm(state.h, axis=1)
        return {"mean_direction": state.h / kappa[:, None], "concentration": kappa}

    def _propose(self, rng: np.random.Generator) -> tuple[Array, float]:
        """Return h and its log-weight with respect to dμ dκ."""
        kappa, log_proposal = self._draw_concentration(rng)
        mode, precision = self.layers.at(kappa)
        law = DirectionLaw.of(mode, precision)
        mu = law.draw(rng)
        log_proposal += law.log_density(mu)
        log_target = float(self.target.prior.log_density(mu[None], np.array([kappa]))[0])
        if np.isfinite(log_target) and len(self.target.store):
            log_target += self.target.store.sums(kappa * mu, derivatives=0, tolerance=TOLERANCE).value
        return kappa * mu, log_target - log_proposal

    @cached_property
    def _table(self) -> Table:
        return tabulate(self.layers)

    def _draw_concentration(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return κ and the log of its density: as in the table, mixed with the uniform law."""
        prior, (ends, log_density, share) = self.target.prior, self._table
        if rng.random() < _UNIFORM:
            kappa = float(rng.uniform(prior.lower, prior.upper))
        else:
            j = int(rng.choice(len(share), p=share))
            rate = float(log_density[j + 1] - log_density[j])
            kappa = float(ends[j] + (ends[j + 1] - ends[j]) * _draw_exponential(rate, rng.random()))
        density = _UNIFORM / (prior.upper - prior.lower)
        if ends[0] < kappa < ends[-1]:
            j = int(np.searchsorted(ends, kappa)) - 1
            width, rate = float(ends[j + 1] - ends[j]), float(log_density[j + 1] - log_density[j])
            inside = _exponential_density(rate, (kappa - float(ends[j])) / width) / width
            density += (1 - _UNIFORM) * float(share[j]) * inside
        return kappa, float(np.log(density))


def _draw_exponential(rate: float, level: float) -> float:
    """Return the quantile of the density proportional to e^{rate x} on (0, 1)."""
    if abs(rate) < 1e-6:
        return level
    if rate > 0:  # from the other end, where nothing overflows
        return 1.0 - _draw_exponential(-rate, level)
    return float(np.log1p(level * np.expm1(rate)) / rate)


def _exponential_density(rate: float, x: float) -> float:
    """Return that density at x."""
    if abs(rate) < 1e-6:
        return 1.0
    if rate > 0:
        return _exponential_density(-rate, 1.0 - x)
    return float(rate * np.exp(rate * x) / np.expm1(rate))


@dataclass(frozen=True, slots=True)
class DirectionLaw:
    """A Student law in the plane that touches the sphere at its mode, seen from the centre, mixed with the uniform law.

    mode : (n,).
    factor : (n, n) lower triangular, factor @ factor.T is the precision, 1 along the mode.
    inverse : of the factor.
    uniform_share : the mean variance across the mode in units of the uniform law's, 1/n, and at least a tenth.
    """

    mode: Array
    factor: Array
    inverse: Array
    uniform_share: float

    @classmethod
    def of(cls, mode: Array, precision: Array) -> DirectionLaw:
        """Return the law with this precision (n, n), 1 along the mode."""
        n, factor = len(mode), np.asarray(np.linalg.cholesky(precision), np.float64)
        inverse = np.asarray(np.linalg.inv(factor), np.float64)
        variance = (float(np.sum(inverse**2)) - 1.0) / (n - 1)
        return cls(mode, factor, inverse, float(np.clip(n * variance, _UNIFORM, 1.0)))

    @property
    def degrees(self) -> float:
        """Degrees of freedom, as for `importance`."""
        return max(5.0, 2.0 * len(self.mode))

    def draw(self, rng: np.random.Generator) -> Array:
        """Return a unit vector."""
        n, nu = len(self.mode), self.degrees
        if rng.random() < self.uniform_share:
            return uniform_directions(1, n, rng=rng)[0]
        x = self.inverse.T @ rng.standard_normal(n)
        mu = self.mode + (x - float(x @ self.mode) * self.mode) / np.sqrt(rng.chisquare(nu) / nu)
        return np.asarray(mu / np.linalg.norm(mu), np.float64)

    def log_density(self, mu: Array) -> float:
        """Return the log of the density relative to the uniform law."""
        cosine, nu, n = float(mu @ self.mode), self.degrees, len(mu)
        if cosine <= 0 or self.uniform_share == 1.0:  # the plane is seen on one half of the sphere
            return float(np.log(self.uniform_share))
        z = self.factor.T @ (mu / cosine - self.mode)
        log_scale = float(gammaln(0.5 * (nu + n - 1)) - gammaln(0.5 * nu)) - 0.5 * (n - 1) * np.log(nu * np.pi)
        log_scale += float(np.sum(np.log(np.diag(self.factor))))
        log_plane = log_scale - 0.5 * (nu + n - 1) * np.log1p(float(z @ z) / nu)
        log_area = np.log(2.0) + 0.5 * n * np.log(np.pi) - float(gammaln(0.5 * n))  # of the sphere
        # From the centre, dx in the plane at distance 1/cosine is seen as dμ = cosine^n dx.
        log_student = log_plane - n * np.log(cosine) + log_area
        return float(np.logaddexp(np.log1p(-self.uniform_share) + log_student, np.log(self.uniform_share)))
