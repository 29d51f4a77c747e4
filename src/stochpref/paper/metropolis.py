# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's Algorithm 1: random-walk Metropolis on (μ, κ), the likelihood estimated from a cloud of utilities.

Kept as the reference: where regions are hit by no draw, as most are from 25 goods on, the estimate says nothing. What
the paper leaves open is settled thus. The cloud is drawn afresh for every proposal and shared by all observations; the
estimate of the present state is kept until a proposal is accepted. A region hit by no draw counts as hit by half a
draw, so that the chain can move at all. κ is reflected at its bounds. With the exact likelihood in place of the cloud
the same kernel is a correct sampler, if a slow one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_choice, check_count
from stochpref.errors import InvalidArgument
from stochpref.laws import uniform_directions
from stochpref.paper.cloud import count_hits, draw_cloud
from stochpref.posterior.bounds import reflect
from stochpref.posterior.gaussian import TOLERANCE
from stochpref.posterior.target import Info, Target, keyed_generator

Array = NDArray[np.float64]

LIKELIHOODS = ("monte_carlo", "exact")
_UNSEEN = 0.5  # hits of a region that no draw hits
_PRIOR_TRIES = 10_000


@dataclass(frozen=True, slots=True)
class MetropolisOptions:
    """The settings of Algorithm 1, which the paper does not state.

    step : standard deviation of the Gaussian perturbation of μ, per good, before it is projected on the sphere.
    concentration_step : the same for κ.
    n_cloud : utilities in the cloud.
    likelihood : "monte_carlo", as in the paper, or "exact".
    """

    step: float = 0.1
    concentration_step: float = 1.0
    n_cloud: int = 10_000
    likelihood: str = "monte_carlo"

    def __post_init__(self) -> None:
        if not (0 < self.step < np.inf and 0 < self.concentration_step < np.inf):
            raise InvalidArgument(
                f"step and concentration_step must be positive; received {self.step} and {self.concentration_step}"
            )
        check_count(self.n_cloud, "n_cloud", 1)
        check_choice(self.likelihood, "likelihood", LIKELIHOODS)


class MetropolisState(NamedTuple):
    """Where all chains are.

    mean_direction : (chains, n).
    concentration : (chains,).
    log_likelihood, n_unseen : (chains,) as estimated when the state was proposed, and regions then hit by no draw.
    """

    mean_direction: Array
    concentration: Array
    log_likelihood: Array
    n_unseen: Array


@dataclass(frozen=True)
class Metropolis:
    """The sampler; see the module.

    target : store, in memory, and prior.
    seed : of all its random numbers.
    options : step sizes and the likelihood.
    n_warmup : steps to discard; the paper discards none and keeps the last state only.
    """

    target: Target
    seed: int
    options: MetropolisOptions = MetropolisOptions()
    n_warmup: int = 0
    name: str = "metropolis"
    revision: ClassVar[int] = 1

    def init(self, n_chains: int) -> MetropolisState:
        """Draw the state of every chain from the prior."""
        starts = [self._start(keyed_generator(self.seed, chain, -1)) for chain in range(n_chains)]
        return MetropolisState(
            mean_direction=np.array([mu for mu, *_ in starts]),
            concentration=np.array([kappa for _, kappa, *_ in starts]),
            log_likelihood=np.array([value for *_, value, _ in starts]),
            n_unseen=np.array([float(unseen) for *_, unseen in starts]),
        )

    def step(self, state: MetropolisState, iteration: int) -> tuple[MetropolisState, Info]:
        """Make one proposal per chain and accept or refuse it."""
        new = MetropolisState(*(values.copy() for values in state))
        rates = np.empty(len(state.concentration))
        for chain in range(len(rates)):
            rng = keyed_generator(self.seed, chain, iteration)
            mu, kappa = self.propose(state.mean_direction[chain], float(state.concentration[chain]), rng)
            log_likelihood, n_unseen = self.log_likelihood(kappa * mu, rng)
            log_prior = self.target.prior.log_density(
                np.array([mu, state.mean_direction[chain]]), np.array([kappa, state.concentration[chain]])
            )
            log_rate = log_likelihood - float(state.log_likelihood[chain]) + float(log_prior[0] - log_prior[1])
            rates[chain] = np.exp(min(log_rate, 0.0))
            if rng.random() < rates[chain]:
                new.mean_direction[chain], new.concentration[chain] = mu, kappa
                new.log_likelihood[chain], new.n_unseen[chain] = log_likelihood, n_unseen
        statistics = {
            "acceptance_rate": rates,
            "log_likelihood": new.log_likelihood.copy(),
            "n_unseen": new.n_unseen.copy(),
        }
        return new, Info(statistics)

    def parameters(self, state: MetropolisState) -> dict[str, Array]:
        """Return mean directions (chains, n) and concentrations (chains,)."""
        return {"mean_direction": state.mean_direction, "concentration": state.concentration}

    def propose(self, mean_direction: Array, concentration: float, rng: np.random.Generator) -> tuple[Array, float]:
        """Return a Gaussian perturbation of θ, μ projected on the sphere and κ reflected at its bounds.

        Both keep the proposal symmetric: the density of μ' depends on μ·μ' alone.
        """
        mu = mean_direction + self.options.step * rng.standard_normal(len(mean_direction))
        kappa = concentration + self.options.concentration_step * rng.standard_normal()
        return mu / np.linalg.norm(mu), reflect(kappa, self.target.prior.lower, self.target.prior.upper)

    def log_likelihood(self, h: Array, rng: np.random.Generator) -> tuple[float, int]:
        """Return the log-likelihood, estimated or exact, and how many regions no draw has hit."""
        if self.options.likelihood == "exact":
            return self.target.store.sums(h, derivatives=0, tolerance=TOLERANCE).value, 0
        hits, _ = count_hits(self.target.store.load(), draw_cloud(h, self.options.n_cloud, rng=rng))
        log_share = np.log(np.where(hits > 0, hits, _UNSEEN) / self.options.n_cloud)
        return float(np.sum(log_share)), int(np.sum(hits == 0))

    def _start(self, rng: np.random.Generator) -> tuple[Array, float, float, int]:
        """Return a draw from the prior and its likelihood.

        A prior given as a function cannot be drawn from: one of many draws from the uniform prior, in proportion to it.
        """
        prior, n = self.target.prior, self.target.store.n_goods
        n_tries = 1 if prior.log_density_fn is None else _PRIOR_TRIES
        directions = uniform_directions(n_tries, n, rng=rng)
        kappas = rng.uniform(prior.lower, prior.upper, n_tries)
        log_weights = prior.log_density(directions, kappas)
        if not np.isfinite(log_weights.max()):
            raise InvalidArgument(f"prior must be positive somewhere; it was 0 at {n_tries:,} points drawn at random")
        weights = np.exp(log_weights - log_weights.max())
        chosen = rng.choice(n_tries, p=weights / weights.sum())
        mu, kappa = directions[chosen], kappas[chosen]
        return mu, float(kappa), *self.log_likelihood(kappa * mu, rng)
