# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Draws from the posterior of the spread of tastes: iterated conditional importance sampling, exact for any cloud size.

In turn: around the likeliest taste of every customer draw a fresh cloud that holds the current taste too; with the
cloud fixed move φ, the parameters of the law, by Hamiltonian steps on the likelihood that it gives, whose gradient is
exact; pick each customer's taste from the cloud by weight. The cloud, the place of the current taste in it and φ are an
augmented state of which the posterior is the margin. Of the motion the rotation under a Gaussian near the posterior of
φ is solved exactly and what is left is a kick; warm-up sets centre and shape of that Gaussian, and the angle.

Where a spread is small fresh tastes seldom lie so near to one another as current ones do; so tastes are moved with φ as
well: towards their mean or away from it, block by block of coefficients with the spreads of the block, and all together
with their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.target import Info, keyed_generator
from stochpref.tastes.clouds import Cloud, cloud_at, log_probabilities, roots_of, spread_around
from stochpref.tastes.law import TasteLaw
from stochpref.tastes.mode import Mode
from stochpref.tastes.panel import Panel
from stochpref.threads import for_blocks

Array = NDArray[np.float64]

_WIDTH: Final = 1.1
_DEGREES: Final = 6.0
_QUARTER_TURN: Final = 0.5 * np.pi
_JITTER: Final = 0.2
_MOST_KICKS: Final = 12
_TARGET: Final = 0.7  # share of trajectories to accept
_GAIN, _DELAY, _POWER = 0.05, 10.0, 0.75  # of dual averaging, Hoffman and Gelman (2014), section 3.2.1
_TRIES: Final = 2  # of each move of tastes with φ
_SIZES: Final = (-3.5, 0.0)  # ln of the sizes of those moves, between which they are picked evenly
_PRIOR_STEPS: Final = 50.0  # that the curvature at the mode counts for beside what chains have seen
_FOLLOWED: Final = 24  # customers whose log-probability is followed, and that of all


class TasteState(NamedTuple):
    """All chains.

    phi : (chains, d).
    taste : (chains, C, p) of each customer.
    log_probability : (chains, k) of choices given tastes, of customers followed and, last, of all: means a choice.
    centre, factor : (chains, d) and (chains, d, d) of the Gaussian near the posterior of φ.
    number, sums, products : (chains,), (chains, d) and (chains, d, d) of φ since the last reset.
    log_step, log_step_average, shortfall : (chains,) of dual averaging.
    """

    phi: Array
    taste: Array
    log_probability: Array
    centre: Array
    factor: Array
    number: Array
    sums: Array
    products: Array
    log_step: Array
    log_step_average: Array
    shortfall: Array


@dataclass(frozen=True, eq=False)
class TasteSampler:
    """The sampler; see the module.

    panel, law : of whom and what.
    mode : where to draw around.
    seed : of all random numbers.
    n_draws : tastes in a cloud of a customer, R.
    n_warmup : steps to discard; the Gaussian is set anew after a quarter of them and after three quarters.
    scale_power : of the volume in moves of scale; others than 1 break the sampler, which tests rely on.
    """

    panel: Panel
    law: TasteLaw
    mode: Mode
    seed: int
    n_draws: int = 64
    n_warmup: int = 300
    scale_power: float = 1.0
    name: str = "tastes"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> TasteState:
        """Start each chain from its own φ about the mode, and likeliest tastes."""
        d = self.law.n_parameters
        factor = np.linalg.cholesky(np.linalg.inv(self.mode.information))
        phi = np.array(
            [self.mode.phi + factor @ keyed_generator(self.seed, c, -1).standard_normal(d) for c in range(n_chains)]
        )
        return TasteState(
            phi=phi,
            taste=np.tile(self.mode.places.mode, (n_chains, 1, 1)),
            log_probability=np.zeros((n_chains, len(self.followed) + 1)),
            centre=np.tile(self.mode.phi, (n_chains, 1)),
            factor=np.tile(factor, (n_chains, 1, 1)),
            number=np.zeros(n_chains),
            sums=np.zeros((n_chains, d)),
            products=np.zeros((n_chains, d, d)),
            log_step=np.full(n_chains, np.log(_QUARTER_TURN / 3.0)),
            log_step_average=np.full(n_chains, np.log(_QUARTER_TURN / 3.0)),
            shortfall=np.zeros(n_chains),
        )

    @property
    def followed(self) -> NDArray[np.intp]:
        """Customers whose log-probability is followed."""
        n = self.panel.n_customers
        return np.unique(np.linspace(0, n - 1, _FOLLOWED).astype(np.intp))

    def step(self, state: TasteState, iteration: int) -> tuple[TasteState, Info]:
        """Draw clouds, move φ and pick tastes, in all chains."""
        n_chains, is_warming = len(state.phi), iteration < self.n_warmup
        steps = np.exp(state.log_step if is_warming else state.log_step_average)
        phi, taste = np.empty_like(state.phi), np.empty_like(state.taste)
        followed, acceptance = np.empty_like(state.log_probability), np.empty(n_chains)

        def chain(start: int, stop: int) -> None:
            for c in range(start, stop):
                phi[c], taste[c], followed[c], acceptance[c] = self._move(state, c, iteration, float(steps[c]))

        for_blocks(chain, n_chains, 1)
        new = state._replace(phi=phi, taste=taste, log_probability=followed)
        if is_warming:
            new = self._settled(_adapted(new, acceptance, iteration), iteration)
        return new, Info({"acceptance_rate": acceptance, "step_size": steps})

    def parameters(self, state: TasteState) -> dict[str, Array]:
        """Return the laws of tastes, over coefficients, and the log-probabilities that are followed."""
        covariance = np.array([self.law.covariance(phi) for phi in state.phi])
        return {
            "mean": state.phi[:, : self.law.p].copy(), "covariance": covariance,
            "log_probability": state.log_probability.copy(),
        }  # fmt: skip

    def _move(self, state: TasteState, c: int, iteration: int, step: float) -> tuple[Array, Array, Array, float]:
        rng = keyed_generator(self.seed, c, iteration)
        cloud = self._cloud(state.taste[c], rng)
        phi, acceptance = self._trajectory(cloud, state.phi[c], state.centre[c], state.factor[c], step, rng)
        shares = cloud.weigh(roots_of(self.law, phi), with_moments=False, split=False).shares
        picked = np.minimum(
            (np.cumsum(shares, axis=1) < rng.random(len(shares))[:, None]).sum(axis=1), shares.shape[1] - 1
        )
        taste = cloud.theta[np.arange(len(picked)), :, picked]
        phi, taste = self._moved_together(phi, taste, state.factor[c], rng)
        return phi, taste, self._followed_values(taste), acceptance

    def _moved_together(self, phi: Array, taste: Array, factor: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return φ and tastes after Metropolis steps that scale, and shift, tastes (C, p) with the law they follow."""
        p, blocks = self.law.p, self.law.blocks
        value = float(self._log_probability(taste)) + self.law.log_prior(phi)[0]
        for k in range(_TRIES * (len(blocks) + 1)):
            size, new, log_volume = float(np.exp(rng.uniform(*_SIZES))), phi.copy(), 0.0
            if k % (len(blocks) + 1) < len(blocks):
                coefficients, spreads = blocks[k % (len(blocks) + 1)]
                g = float(np.exp(size * rng.standard_normal()))
                new[spreads] *= g
                log_volume = self.scale_power * len(spreads) * np.log(g)
                moved = taste.copy()
                moved[:, coefficients] = phi[coefficients] + g * (taste[:, coefficients] - phi[coefficients])
            else:
                step = size * factor[:p] @ rng.standard_normal(len(phi))
                new[:p] += step
                moved = taste + step
            fresh = float(self._log_probability(moved)) + self.law.log_prior(new)[0]
            if np.log(rng.random()) < fresh - value + log_volume:
                phi, taste, value = new, moved, fresh
        return phi, taste

    def _log_probability(self, taste: Array) -> float:
        return float(log_probabilities(self.panel, np.ascontiguousarray(taste[:, :, None]), split=False).sum())

    def _cloud(self, current: Array, rng: np.random.Generator) -> Cloud:
        """Return a fresh cloud of every customer, the current taste in the first place."""
        n_customers, p = current.shape
        normals = rng.standard_normal((n_customers, p, self.n_draws))
        normals /= np.sqrt(rng.chisquare(_DEGREES, (n_customers, 1, self.n_draws)) / _DEGREES)
        theta = spread_around(self.mode.places, normals, _WIDTH, split=False)
        theta[:, :, 0] = current
        return cloud_at(self.panel, self.mode.places, theta, _WIDTH, _DEGREES, split=False)

    def _trajectory(
        self, cloud: Cloud, phi: Array, centre: Array, factor: Array, step: float, rng: np.random.Generator
    ) -> tuple[Array, float]:
        z, momentum = np.linalg.solve(factor, phi - centre), rng.standard_normal(len(phi))
        count = int(np.clip(np.round(_QUARTER_TURN / step), 1, _MOST_KICKS))
        angle = step * rng.uniform(1.0 - _JITTER, 1.0 + _JITTER)
        cosine, sine = np.cos(angle), np.sin(angle)
        value, slope = self._value(cloud, phi)
        before, at = value - 0.5 * float(momentum @ momentum), phi
        for _ in range(count):
            momentum = momentum + 0.5 * angle * (factor.T @ slope + z)
            z, momentum = cosine * z + sine * momentum, cosine * momentum - sine * z
            at = centre + factor @ z
            value, slope = self._value(cloud, at)
            if not np.isfinite(value):
                return phi, 0.0
            momentum = momentum + 0.5 * angle * (factor.T @ slope + z)
        log_ratio = value - 0.5 * float(momentum @ momentum) - before
        is_accepted = np.log(rng.random()) < log_ratio
        return self.law.upright(at if is_accepted else phi, self.mode.phi), float(np.exp(min(log_ratio, 0.0)))

    def _value(self, cloud: Cloud, phi: Array) -> tuple[float, Array]:
        """Return the log-posterior of φ with the cloud fixed, and its gradient."""
        if not np.all(np.abs(phi) < 500.0):
            return -np.inf, phi
        try:
            roots = roots_of(self.law, phi)
        except np.linalg.LinAlgError:
            return -np.inf, phi
        found = cloud.weigh(roots, split=False)
        prior, slope = self.law.log_prior(phi)
        extra = (len(found.value) - 1) * np.eye(self.law.p)
        pulled = self.law.pulled(
            phi, roots.inverse, found.mean.sum(axis=0)[None], (found.products.sum(axis=0) - extra)[None]
        )
        return float(found.value.sum()) + prior, pulled[0] + slope

    def _followed_values(self, taste: Array) -> Array:
        """Return mean log-probabilities of a choice, of the customers followed and of all, under tastes (C, p)."""
        value = log_probabilities(self.panel, taste[:, :, None], split=False)[:, 0]
        counts = np.diff(self.panel.begin)
        return np.append(value[self.followed] / counts[self.followed], value.sum() / counts.sum())

    def _settled(self, state: TasteState, iteration: int) -> TasteState:
        """Return the state with φ counted, and at times the Gaussian set anew to what all chains have seen."""
        if iteration < self.n_warmup // 10:
            return state
        outer = np.einsum("ci,cj->cij", state.phi, state.phi)
        seen = state._replace(number=state.number + 1.0, sums=state.sums + state.phi, products=state.products + outer)
        if iteration + 1 not in (self.n_warmup // 4, 3 * self.n_warmup // 4):
            return seen
        total = float(seen.number.sum())
        centre = seen.sums.sum(axis=0) / total
        spread = seen.products.sum(axis=0) / total - np.outer(centre, centre)
        expected = np.linalg.inv(self.mode.information)
        covariance = (total * spread + _PRIOR_STEPS * expected) / (total + _PRIOR_STEPS)
        n_chains = len(seen.phi)
        return seen._replace(
            centre=np.tile(centre, (n_chains, 1)),
            factor=np.tile(np.linalg.cholesky(covariance), (n_chains, 1, 1)),
            number=np.zeros(n_chains), sums=np.zeros_like(seen.sums), products=np.zeros_like(seen.products),
        )  # fmt: skip


def _adapted(state: TasteState, acceptance: Array, iteration: int) -> TasteState:
    """Return the state with the angle moved towards the share to accept, never beyond a quarter turn."""
    t = iteration + 1
    shortfall = state.shortfall + (_TARGET - acceptance - state.shortfall) / (t + _DELAY)
    longest = np.log(_QUARTER_TURN)
    log_step = np.clip(longest - np.sqrt(t) / _GAIN * shortfall, longest - np.log(2.0 * _MOST_KICKS), longest)
    weight = t**-_POWER
    average = weight * log_step + (1.0 - weight) * state.log_step_average
    return state._replace(log_step=log_step, log_step_average=average, shortfall=shortfall)
