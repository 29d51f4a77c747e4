"""Samplers on the exact likelihood, and Algorithm 1: the prior without data, a grid with little, each other with more.

Every chain is a replicate: errors come from the spread of chain means, and Student's t with 19 degrees of freedom makes
a check at 7.07 standard errors fail on a fresh seed once in a million. Each check of a law is also run on a sampler
with a planted bug, and must fail there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import stochpref as sp
from stochpref.paper.cloud import count_hits, draw_cloud
from stochpref.paper.metropolis import Metropolis, MetropolisOptions
from stochpref.posterior.bounds import reflect, rotate
from stochpref.posterior.gaussian import Reference, evaluate, find_reference, log_prior
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.hamiltonian import QUARTER_TURN, Hamiltonian
from stochpref.posterior.samplers.importance import Importance, resample, smooth_weights
from stochpref.posterior.samplers.layered import Layered
from stochpref.posterior.samplers.layers import find_layers
from stochpref.posterior.target import Sampler, Target
from stochpref.stores.memory import Memory

LAWS = ("uniform", "discrete", "fixed")
CHAINS = 20


def regions_of(n: int, size: int, kappa: float, law: str = "discrete", seed: int = 0) -> sp.Regions:
    rng = np.random.default_rng(seed)
    mu = np.linspace(1.0, -0.4, n)
    return sp.Regions.of(sp.simulate(sp.VonMisesFisher(mu / np.linalg.norm(mu), kappa), sp.MenuLaw(law), size, rng=rng))


def draw(sampler: Sampler, n_skip: int, n_draws: int, n_chains: int = CHAINS) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return mean directions (chains, draws, n), concentrations and statistics (chains, draws)."""
    state, kept = sampler.init(n_chains), []
    for iteration in range(n_skip + n_draws):
        state, info = sampler.step(state, iteration)
        if iteration >= n_skip:
            kept.append(({name: values.copy() for name, values in sampler.parameters(state).items()}, info.statistics))
    drawn = {name: np.array([values[name] for values, _ in kept]).swapaxes(0, 1) for name in kept[0][0]}
    statistics = {name: np.array([stats[name] for _, stats in kept]).T for name in kept[0][1]}
    return drawn["mean_direction"], drawn["concentration"], statistics


def is_mean(replicates: np.ndarray, truth: np.ndarray, max_se: np.ndarray | float, alpha: float = 1e-6) -> bool:
    """Tell whether replicates (k, …) agree with their mean; insist that they could tell otherwise."""
    k = len(replicates)
    error = replicates.std(axis=0, ddof=1) / np.sqrt(k)
    assert np.all(error < max_se), f"no power: {error} against {max_se}"
    limit = student.ppf(1 - alpha / 2, k - 1)
    return bool(np.all(np.abs(replicates.mean(axis=0) - truth) < limit * error))


def moments(mu: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    """Return (chains, …) means of μ₁, μ₁², κ and (κ - 5.5)²."""
    return np.stack(
        [
            mu[:, :, 0].mean(axis=1),
            (mu[:, :, 0] ** 2).mean(axis=1),
            kappa.mean(axis=1),
            ((kappa - 5.5) ** 2).mean(axis=1),
        ],
        axis=1,
    )


# --- without data -----------------------------------------------------------------------------------------------------

# For μ uniform on the sphere in three dimensions and κ uniform on (1, 10).
PRIOR_MOMENTS = np.array([0.0, 1 / 3, 5.5, 81 / 12])
PRIOR_ERRORS = np.array([0.1, 0.04, 0.25, 0.5])  # the planted bugs move κ, or its spread, by 2 and more


class ForgetsJacobian(Prior):
    __slots__ = ()

    def log_density_of_h(self, h: np.ndarray) -> np.ndarray:
        kappa = np.linalg.norm(h, axis=1)
        return self.log_density(h / kappa[:, None], kappa)


class Clips(Metropolis):
    def propose(self, mean_direction: np.ndarray, concentration: float, rng: np.random.Generator) -> Any:
        mu = mean_direction + self.options.step * rng.standard_normal(len(mean_direction))
        kappa = concentration + self.options.concentration_step * rng.standard_normal()
        return mu / np.linalg.norm(mu), float(np.clip(kappa, self.target.prior.lower, self.target.prior.upper))


@pytest.mark.parametrize(("prior", "is_right"), [(Prior(1.0, 10.0), True), (ForgetsJacobian(1.0, 10.0), False)])
def test_hamiltonian_moves_keep_the_prior(prior: Prior, is_right: bool) -> None:
    target = Target(Memory(regions_of(3, 1, 2.0)[:0]), prior)
    mu, kappa, _ = draw(Hamiltonian(target, 1, find_reference(target), n_warmup=20), 20, 40)
    assert kappa.min() >= 1.0
    assert kappa.max() <= 10.0
    assert is_mean(moments(mu, kappa), PRIOR_MOMENTS, PRIOR_ERRORS) == is_right


@pytest.mark.parametrize(("kind", "is_right"), [(Metropolis, True), (Clips, False)])
def test_metropolis_moves_keep_the_prior(kind: type[Metropolis], is_right: bool) -> None:
    # Nothing was spent, because there was no money: nothing is revealed.
    nothing = sp.Regions.of(sp.Observations([[1.0, 1.5, 2.0]], [0.0], [[0.0, 0.0, 0.0]]))
    target = Target(Memory(nothing), Prior(1.0, 10.0))
    options = MetropolisOptions(step=1.0, concentration_step=4.0, likelihood="exact")
    mu, kappa, statistics = draw(kind(target, 2, options), 10, 300)
    np.testing.assert_array_equal(statistics["acceptance_rate"], 1.0)
    assert is_mean(moments(mu, kappa), PRIOR_MOMENTS, PRIOR_ERRORS) == is_right


def test_reflection_folds_as_often_as_it_takes() -> None:
    assert reflect(3.0, 1.0, 10.0) == 3.0
    assert reflect(0.5, 1.0, 10.0) == pytest.approx(1.5)
    assert reflect(12.0, 1.0, 10.0) == pytest.approx(8.0)
    assert reflect(-12.0, 1.0, 10.0) == pytest.approx(6.0)  # -12 -> 14 -> 6
    assert reflect(30.0, 1.0, 10.0) == pytest.approx(8.0)  # 30 -> -10 -> 12 -> 8


# --- the mirrors ------------------------------------------------------------------------------------------------------


def test_rotation_with_mirrors_is_reversible_and_keeps_volume() -> None:
    """The map (z, p) -> (z', p') retraced with -p' comes back, has determinant 1 and stays in the shell."""
    rng = np.random.default_rng(3)
    prior, n, n_reflected = Prior(2.0, 4.0), 3, 0
    for _ in range(30):
        factor = np.linalg.cholesky(np.cov(rng.standard_normal((n, 12))) + 0.3 * np.eye(n))
        centre = rng.standard_normal(n) * 2
        h = rng.standard_normal(n)
        z = np.linalg.solve(factor, h / np.linalg.norm(h) * rng.uniform(2.1, 3.9) - centre)
        p = rng.standard_normal(n)
        z1, p1 = rotate(prior, centre, factor, z, p, 1.4)
        assert 2.0 - 1e-9 < np.linalg.norm(centre + factor @ z1) < 4.0 + 1e-9
        assert z1 @ z1 + p1 @ p1 == pytest.approx(z @ z + p @ p)
        z2, p2 = rotate(prior, centre, factor, z1, -p1, 1.4)
        np.testing.assert_allclose(z2, z, atol=1e-7)
        np.testing.assert_allclose(-p2, p, atol=1e-7)
        n_reflected += not np.allclose(z1, np.cos(1.4) * z + np.sin(1.4) * p)

        def moved(x: np.ndarray, centre: np.ndarray = centre, factor: np.ndarray = factor) -> np.ndarray:
            return np.concatenate(rotate(prior, centre, factor, x[:n], x[n:], 1.4))

        start, step = np.concatenate([z, p]), 1e-6 * np.eye(2 * n)
        jacobian = np.array([(moved(start + e) - moved(start - e)) / 2e-6 for e in step])
        assert abs(np.linalg.det(jacobian)) == pytest.approx(1.0, abs=1e-3)
    assert n_reflected > 15


# --- against a grid ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_target() -> Target:
    return Target(Memory(regions_of(3, 60, 5.0, seed=5)), Prior(1.0, 10.0))


@pytest.fixture(scope="module")
def grid_moments(small_target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior means and standard deviations of (μ, κ) by brute force: a cap of the sphere times κ."""
    axis = find_reference(small_target).mode
    frame = np.linalg.qr(np.column_stack([axis, np.eye(3)[:, :2]]))[0]
    frame[:, 0] *= np.sign(frame[:, 0] @ axis)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    angle, kappa = 0.45 * (nodes + 1), 5.5 + 4.5 * nodes
    turn = 2 * np.pi * np.arange(10) / 10
    values, points = [], []
    for k, weight in zip(kappa, weights, strict=True):
        for a, share in zip(angle, weights, strict=True):
            for b in turn:
                mu = frame @ [np.cos(a), np.sin(a) * np.cos(b), np.sin(a) * np.sin(b)]
                log_likelihood = sp.log_mass(small_target.store.load(), mu, k, tolerance=1e-6).sum()
                values.append(log_likelihood + np.log(weight * share * np.sin(a)))
                points.append([*mu, k])
    mass = np.exp(np.array(values) - np.max(values))
    x = np.array(points)
    mean = mass @ x / mass.sum()
    return mean, np.sqrt(mass @ (x - mean) ** 2 / mass.sum())


def check_against_grid(mu: np.ndarray, kappa: np.ndarray, weights: np.ndarray, grid: Any, power: float) -> None:
    """Check means and variances; power: standard errors, in posterior standard deviations, that must be reached."""
    mean, deviation = grid
    x = (np.concatenate([mu, kappa[:, :, None]], axis=2) - mean) / deviation
    share = weights / weights.sum(axis=1, keepdims=True)
    first, second = np.einsum("cd,cdi->ci", share, x), np.einsum("cd,cdi->ci", share, x**2)
    assert is_mean(first, np.zeros(4), power)
    assert is_mean(second, np.ones(4), 2 * power)


def test_hamiltonian_agrees_with_a_grid(small_target: Target, grid_moments: Any) -> None:
    sampler = Hamiltonian(small_target, 6, find_reference(small_target), n_warmup=20)
    mu, kappa, statistics = draw(sampler, 20, 90)
    assert statistics["acceptance_rate"].mean() > 0.6
    assert statistics["diverging"].sum() == 0
    check_against_grid(mu, kappa, np.ones_like(kappa), grid_moments, 0.1)


def test_importance_agrees_with_a_grid(small_target: Target, grid_moments: Any) -> None:
    mu, kappa, statistics = draw(Importance(small_target, 7, find_reference(small_target)), 0, 60)
    smoothed = smooth_weights(statistics["log_weight"])
    assert smoothed.pareto_k < 0.7
    assert 0.3 * kappa.size < smoothed.n_effective < kappa.size
    check_against_grid(mu, kappa, smoothed.weights, grid_moments, 0.1)


def test_metropolis_with_the_exact_likelihood_agrees_with_a_grid(small_target: Target, grid_moments: Any) -> None:
    options = MetropolisOptions(step=0.15, concentration_step=2.0, likelihood="exact")
    sampler = Metropolis(small_target, 8, options)
    mu, kappa, statistics = draw(sampler, 90, 130)
    assert 0.1 < statistics["acceptance_rate"].mean() < 0.7
    check_against_grid(mu, kappa, np.ones_like(kappa), grid_moments, 0.2)


# --- against each other -----------------------------------------------------------------------------------------------


def test_hamiltonian_and_importance_agree_on_ten_goods() -> None:
    target = Target(Memory(regions_of(10, 300, 5.0, law="uniform", seed=9)), Prior(0.0, 200.0))
    reference = find_reference(target)
    assert reference.is_mode
    mu, kappa, statistics = draw(Hamiltonian(target, 10, reference, n_warmup=6), 6, 14)
    assert statistics["n_evaluations"].mean() < 2.5
    drawn, drawn_kappa, weighted = draw(Importance(target, 11, reference), 0, 20)
    weights = smooth_weights(weighted["log_weight"]).weights
    weights /= weights.sum(axis=1, keepdims=True)
    one = np.column_stack([mu.mean(axis=1), kappa.mean(axis=1)])
    other = np.column_stack([np.einsum("cd,cdi->ci", weights, drawn), np.sum(weights * drawn_kappa, axis=1)])
    deviation = np.append(mu.std(axis=(0, 1)), kappa.std())
    assert is_mean((one - other) / deviation, np.zeros(11), 0.15)


# --- streams ----------------------------------------------------------------------------------------------------------


def samplers(target: Target) -> list[Sampler]:
    reference = find_reference(target)
    return [
        Hamiltonian(target, 12, reference, n_warmup=3),
        Importance(target, 12, reference),
        Layered(target, 12, find_layers(target)),
        Metropolis(target, 12, MetropolisOptions(n_cloud=1000)),
        Metropolis(target, 12, MetropolisOptions(likelihood="exact")),
    ]


def test_threads_do_not_change_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(Memory(regions_of(4, 130, 3.0, seed=13)), Prior(0.0, 12.0))
    results = []
    for n_threads in ("1", "2"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", n_threads)
        results.append([draw(sampler, 0, 4, 2) for sampler in samplers(target)])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def test_a_state_is_all_that_is_needed_to_go_on() -> None:
    target = Target(Memory(regions_of(4, 90, 3.0, seed=14)), Prior(0.5, 12.0))
    for sampler in samplers(target):
        states = [sampler.init(2)]
        for iteration in range(6):
            states.append(sampler.step(states[-1], iteration)[0])
        again = type(states[3])(**{name: np.array(value) for name, value in states[3]._asdict().items()})
        for iteration in range(3, 6):
            again = sampler.step(again, iteration)[0]
        for one, two in zip(again, states[6], strict=True):
            np.testing.assert_array_equal(one, two)
        assert not np.array_equal(states[6][0][0], states[6][0][1])  # chains have streams of their own


# --- the cloud --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "kappa", "size"), [(2, 0.0, 640), (4, 3.0, 1000), (12, 6.0, 20_001)])
def test_the_cloud_is_counted_as_membership_says(law: str, n: int, kappa: float, size: int) -> None:
    rng = np.random.default_rng(n)
    observations = sp.simulate(sp.VonMisesFisher(np.eye(n)[0], 2.0), sp.MenuLaw(law), 150, rng=rng)
    prices = observations.prices.copy()
    prices[:40, 1] = np.where(observations.bundles[:40, 1] == 0, np.inf, prices[:40, 1])  # some goods not on offer
    nothing = sp.Observations(np.ones((1, n)), [0.0], np.zeros((1, n)))
    regions = sp.Regions.of(sp.Observations(prices, observations.budgets, observations.bundles).concat(nothing))
    cloud = draw_cloud(kappa * np.eye(n)[1], size, rng=rng)
    draws = cloud.utilities[:, :size].T
    inside = regions.contains(draws)
    hits, sums = count_hits(regions, cloud, with_sums=True)
    np.testing.assert_array_equal(hits, inside.sum(axis=0))
    np.testing.assert_allclose(sums, inside.T.astype(float) @ draws, atol=1e-9)
    np.testing.assert_array_equal(count_hits(regions, cloud)[0], hits)
    assert hits[-1] == size
    assert len(np.unique(hits)) > 3


def test_the_cloud_follows_its_law() -> None:
    h = np.array([1.5, -2.0, 0.5, 3.0])
    kappa = float(np.linalg.norm(h))
    replicates = np.array(
        [
            [*(u := draw_cloud(h, 2000, rng=np.random.default_rng(s)).utilities[:, :2000]).mean(axis=1), (h @ u).std()]
            for s in range(CHAINS)
        ]
    )
    truth = sp.VonMisesFisher(h / kappa, kappa).sample(400_000, rng=np.random.default_rng(99))
    assert is_mean(replicates, np.append(truth.mean(axis=0), (truth @ h).std()), 0.01)
    np.testing.assert_allclose(np.linalg.norm(draw_cloud(h, 64, rng=np.random.default_rng(0)).utilities, axis=0), 1.0)


def test_regions_that_no_draw_hits_count_as_half_a_hit() -> None:
    regions = regions_of(12, 50, 8.0, seed=15)
    sampler = Metropolis(Target(Memory(regions), Prior(1.0, 10.0)), 0, MetropolisOptions(n_cloud=100))
    h = np.eye(12)[11] * 9.0
    value, n_unseen = sampler.log_likelihood(h, np.random.default_rng(1))
    hits, _ = count_hits(regions, draw_cloud(h, 100, rng=np.random.default_rng(1)))
    assert n_unseen == np.sum(hits == 0) > 0
    assert value == pytest.approx(np.sum(np.log(np.maximum(hits, 0.5) / 100)))


# --- parts ------------------------------------------------------------------------------------------------------------


def skewed(mu: np.ndarray, kappa: float) -> float:
    return float(2.0 * mu[0] - 0.3 * kappa + np.sin(mu[1] * kappa))


@pytest.mark.parametrize("prior", [Prior(0.5, 9.0), Prior(0.5, 9.0, skewed)])
def test_gradients_match_differences(prior: Prior) -> None:
    target = Target(Memory(regions_of(3, 20, 3.0, seed=16)), prior)
    h, step = np.array([1.2, -0.7, 2.0]), 1e-5
    for function in (lambda x: log_prior(prior, x), lambda x: evaluate(target, x)[1:]):
        numeric = [(function(h + step * e)[0] - function(h - step * e)[0]) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(function(h)[1], numeric, rtol=1e-4, atol=1e-4)
    assert evaluate(target, 4 * h).log_posterior == -np.inf


def test_a_prior_of_the_user_s_is_sampled() -> None:
    """Without data, κ under exp(-0.5 κ) on (1, 10): its mean is that of a truncated exponential law."""
    prior = Prior(1.0, 10.0, lambda mu, kappa: -0.5 * kappa)
    target = Target(Memory(regions_of(3, 1, 2.0)[:0]), prior)
    kappa = np.linspace(1, 10, 20_001)
    density = np.exp(-0.5 * kappa)
    truth = np.sum(kappa * density) / np.sum(density)
    _, drawn, _ = draw(Hamiltonian(target, 17, find_reference(target), n_warmup=15), 15, 25)
    assert is_mean(drawn.mean(axis=1), truth, 0.3)
    options = MetropolisOptions(step=1.0, concentration_step=3.0, likelihood="exact")
    _, drawn, _ = draw(Metropolis(target, 18, options), 0, 100)  # the start is drawn from the prior too
    assert is_mean(drawn.mean(axis=1), truth, 0.3)


@pytest.mark.parametrize("bounds", [(1.0, 10.0), (0.0, 60.0)])
def test_data_without_a_maximum_still_get_a_reference(bounds: tuple[float, float]) -> None:
    rng = np.random.default_rng(19)
    common = sp.CorruptedUtilityLaw([0.7, 0.5, -0.2], 0.0)
    target = Target(Memory(sp.Regions.of(sp.simulate(common, sp.MenuLaw("uniform"), 40, rng=rng))), Prior(*bounds))
    reference = find_reference(target)
    assert not reference.is_mode
    assert bounds[0] < np.linalg.norm(reference.mode) < bounds[1]
    _, kappa, statistics = draw(Hamiltonian(target, 20, reference, n_warmup=10), 10, 5, 2)
    assert np.all((kappa > bounds[0]) & (kappa < bounds[1]))
    assert statistics["acceptance_rate"].mean() > 0.3
    assert np.all(statistics["step_size"] <= QUARTER_TURN)


def test_weights_are_smoothed_and_resampled() -> None:
    rng = np.random.default_rng(21)
    even = smooth_weights(rng.normal(0.0, 0.1, (4, 500)))
    assert even.weights.sum() == pytest.approx(1.0)
    assert even.n_effective > 1900
    assert even.pareto_k < 0.5
    log_weights = 0.9 * rng.standard_exponential((4, 500))  # weights with a Pareto tail of shape 0.9
    assert 0.7 < smooth_weights(log_weights).pareto_k < 1.1
    log_weights[:, :100] = -np.inf
    outside = smooth_weights(log_weights)
    np.testing.assert_array_equal(outside.weights[:, :100], 0.0)
    spread = smooth_weights(np.linspace(0.0, -1e5, 200).reshape(2, 100))  # all but one underflow
    assert not spread.pareto_k < 0.7
    assert spread.n_effective == pytest.approx(1.0)
    nowhere = smooth_weights(np.full((2, 50), -np.inf))
    assert nowhere.n_effective == 0.0
    with pytest.raises(sp.InvalidArgument, match="must not all be 0"):
        resample(nowhere.weights, 10, rng=rng)
    few = smooth_weights(np.zeros((2, 5)))
    assert np.isnan(few.pareto_k)
    assert few.n_effective == pytest.approx(10.0)
    counts = np.bincount(resample(outside.weights, 3000, rng=rng), minlength=2000)
    assert np.all(np.abs(counts - 3000 * outside.weights.ravel()) < 1 + 1e-6)
    drawn = resample(np.full((1, 100), 0.01), 100, rng=rng)
    assert list(drawn) == list(range(100))


def test_options_are_checked() -> None:
    with pytest.raises(sp.InvalidArgument, match="step and concentration_step must be positive"):
        MetropolisOptions(step=0.0)
    with pytest.raises(sp.InvalidArgument, match="n_cloud must be a whole number, 1 or more"):
        MetropolisOptions(n_cloud=0)
    with pytest.raises(sp.InvalidArgument, match="one of monte_carlo, exact"):
        MetropolisOptions(likelihood="cloud")


def test_the_reference_is_the_mode() -> None:
    target = Target(Memory(regions_of(5, 300, 4.0, seed=22)), Prior(0.0, 100.0))
    reference = find_reference(target)
    assert isinstance(reference, Reference)
    whitened = reference.factor.T @ evaluate(target, reference.mode).gradient
    assert np.abs(whitened).max() < 0.01
    # The curvature there, by differences of the gradient, is the identity in whitened coordinates.
    ends = [
        evaluate(target, reference.mode + sign * 1e-3 * column).gradient
        for column in reference.factor.T
        for sign in (1, -1)
    ]
    hessian = np.array([(ends[2 * i] - ends[2 * i + 1]) / 2e-3 @ reference.factor for i in range(5)])
    np.testing.assert_allclose(hessian, -np.eye(5), atol=0.02)
