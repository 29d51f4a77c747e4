"""Simulation-based calibration in a small size: right samplers pass, and each of the bugs planted here is caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from benchmarks.calibration import BOUNDS, Calibration, band, calibrate, distance_from_uniform
from stochpref.paper.metropolis import Metropolis, MetropolisOptions
from stochpref.posterior.chains import Plan, run_chains
from stochpref.posterior.choosing import choose_sampler
from stochpref.posterior.gaussian import find_reference
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs import Gibbs
from stochpref.posterior.samplers.hamiltonian import Hamiltonian
from stochpref.posterior.target import Target
from stochpref.stores.memory import Memory

Array = np.ndarray

N_KEPT = 19  # few enough for the draws of short chains to be independent


class FlatInH(Prior):
    """The planted bug: the factor |h|^{1-n} is forgotten."""

    def log_density_of_h(self, h: Array) -> Array:
        return self.log_density(h, np.linalg.norm(h, axis=1))


class Clipped(Metropolis):
    """The planted bug: κ is clipped at its bounds, not reflected."""

    def propose(self, mean_direction: Array, concentration: float, rng: np.random.Generator) -> tuple[Array, float]:
        direction = mean_direction + self.options.step * rng.standard_normal(len(mean_direction))
        moved = concentration + self.options.concentration_step * rng.standard_normal()
        return direction / np.linalg.norm(direction), float(np.clip(moved, *BOUNDS))


def draws_of(sampler: Any, n_warmup: int, n_steps: int) -> tuple[Array, Array]:
    """Return N_KEPT draws of two chains."""
    object.__setattr__(sampler, "n_warmup", n_warmup)
    draws = run_chains(sampler, Plan(n_chains=2, n_draws=n_steps, n_effective=0), fingerprint={}).draws
    return thinned(**draws.parameters)


def thinned(mean_direction: Array, concentration: Array) -> tuple[Array, Array]:
    flat = mean_direction.reshape(-1, mean_direction.shape[2]), concentration.ravel()
    kept = np.linspace(0, len(flat[1]) - 1, N_KEPT).astype(int)
    return flat[0][kept], flat[1][kept]


def gibbs(data: sp.Observations, seed: int, **options: Any) -> tuple[Array, Array]:
    return draws_of(Gibbs(Target(Memory(sp.Regions.of(data)), Prior(*BOUNDS)), seed, **options), 40, 200)


def hamiltonian(data: sp.Observations, seed: int, prior: Prior = Prior(*BOUNDS)) -> tuple[Array, Array]:  # noqa: B008
    target = Target(Memory(sp.Regions.of(data)), prior)
    return draws_of(Hamiltonian(target, seed, find_reference(Target(target.store, Prior(*BOUNDS)))), 10, 25)


def importance(
    data: sp.Observations,
    seed: int,
    prior: Prior = Prior(*BOUNDS),  # noqa: B008
    name: str = "importance",
) -> tuple[Array, Array]:
    target = Target(Memory(sp.Regions.of(data)), prior)
    plan = Plan(n_chains=2, n_draws=60, n_effective=0)
    choice = choose_sampler(name, target, seed, plan)
    run = run_chains(choice.sampler, plan, fingerprint={}, diagnose_fn=choice.diagnose_fn)
    assert choice.sampler.name == name
    draws = choice.finish_fn(run.draws)
    return thinned(**draws.parameters)


def metropolis(data: sp.Observations, seed: int, sampler: type[Metropolis] = Metropolis) -> tuple[Array, Array]:
    options = MetropolisOptions(step=0.6, concentration_step=6.0, likelihood="exact")
    return draws_of(sampler(Target(Memory(sp.Regions.of(data)), Prior(*BOUNDS)), seed, options), 40, 250)


def upside_down(data: sp.Observations, seed: int) -> tuple[Array, Array]:
    directions, concentrations = gibbs(data, seed)
    return -directions, concentrations


def check(draw_fn: Callable[..., tuple[Array, Array]], n: int, size: int, cases: int) -> Calibration:
    return calibrate(n, cases, seed=1, draw_fn=draw_fn, n_observations=size)


RIGHT = {
    "gibbs": (gibbs, 10, 30, 60),
    "hamiltonian": (hamiltonian, 4, 8, 40),
    "importance": (importance, 4, 15, 60),
    "layered": (partial(importance, name="layered"), 4, 15, 30),
    "metropolis": (metropolis, 3, 2, 60),
}
WRONG = {
    "|h|^{1-n} dropped, hamiltonian": (lambda d, s: hamiltonian(d, s, FlatInH(*BOUNDS)), 4, 8, 25),
    "|h|^{1-n} dropped, importance": (lambda d, s: importance(d, s, FlatInH(*BOUNDS)), 4, 15, 60),
    "sin^{n-2} dropped, gibbs": (lambda d, s: gibbs(d, s, meridian_power=0.0), 10, 30, 60),
    "κ clipped, metropolis": (lambda d, s: metropolis(d, s, Clipped), 3, 2, 60),
    "sign of μ": (upside_down, 10, 30, 30),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_samplers_are_calibrated(name: str) -> None:
    found = check(*RIGHT[name])
    assert found.is_calibrated, found
    assert 0.72 < found.direction_coverage < 0.95  # the 5 and 95 % points of 19 draws hold about 83 %


@pytest.mark.parametrize("name", WRONG)
def test_planted_bugs_are_caught(name: str) -> None:
    found = check(*WRONG[name])
    assert max(found.concentration, found.projection) > 1.2, found


def test_the_band_holds_uniform_ranks_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    outside = [distance_from_uniform(rng.integers(N_KEPT + 1, size=100), N_KEPT) > 1.0 for _ in range(600)]
    assert abs(np.mean(outside) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 600)
    low, high = band(100, N_KEPT + 1)
    assert np.all(low <= high)
    assert distance_from_uniform(np.zeros(100, np.int64), N_KEPT) > 3
