"""Sampling layer by layer of κ: the prior without data, a grid with little, Gibbs where the posterior has no mode.

Every chain is a replicate; checks are those of `test_posterior_exact_samplers`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import stochpref as sp
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import choose_sampler
from stochpref.posterior.diagnostics import diagnose
from stochpref.posterior.gaussian import find_reference
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs import Gibbs
from stochpref.posterior.samplers.importance import smooth_weights
from stochpref.posterior.samplers.layered import DirectionLaw, Layered
from stochpref.posterior.samplers.layers import Layers, find_layers, tabulate
from stochpref.posterior.target import Target
from stochpref.stores.memory import Memory
from tests.test_posterior_exact_samplers import draw, is_mean, regions_of

MENU = np.array([0.7, 1.0, 1.1, 1.5])


def votes(size: int, kappa: float, seed: int) -> sp.Observations:
    """Return bundles off one menu, each with just the money it costs: all regions are tight and share an edge."""
    rng = np.random.default_rng(seed)
    utilities = sp.VonMisesFisher(MENU / np.linalg.norm(MENU), kappa).sample(size, rng=rng)
    order = np.argsort(-utilities / MENU, axis=1)
    n_bought = rng.integers(1, 4, size)
    bundles = np.zeros((size, 4))
    for row, best, k in zip(bundles, order, n_bought, strict=True):
        row[best[:k]] = 1.0
    return sp.Observations(np.tile(MENU, (size, 1)), bundles @ MENU, bundles)


def weighted_means(mu: np.ndarray, kappa: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Return (chains, 2 n + 2) means of μ, κ and their squares."""
    x = np.concatenate([mu, kappa[:, :, None]], axis=2)
    share = np.exp(log_weights - log_weights.max())
    share /= share.sum(axis=1, keepdims=True)
    return np.concatenate([np.einsum("cd,cdi->ci", share, x), np.einsum("cd,cdi->ci", share, x**2)], axis=1)


def test_without_data_weights_are_the_prior() -> None:
    """Directions and concentrations proposed by any layers are weighed back to the uniform law."""
    target = Target(Memory(regions_of(3, 1, 2.0)[:0]), Prior(1.0, 10.0))
    modes = np.array([[0.6, 0.8, 0.0], [0.0, 1.0, 0.0], [0.0, 0.8, 0.6]])
    across = np.array([np.diag([8.0, 5.0, 3.0]) @ (np.eye(3) - np.outer(m, m)) for m in modes])
    precisions = np.array([a.T @ a / 9 for a in across])
    layers = Layers(np.array([1.0, 4.0, 10.0]), modes, precisions, np.array([0.0, 1.0, -1.0]))
    mu, kappa, statistics = draw(Layered(target, 1, layers), 0, 250)
    found = weighted_means(mu, kappa, statistics["log_weight"])
    truth = [0.0, 0.0, 0.0, 5.5, 1 / 3, 1 / 3, 1 / 3, 37.0]
    assert is_mean(found, np.array(truth), np.array([0.08] * 3 + [0.4] + [0.08] * 3 + [5.0]))
    assert np.log(np.mean(np.exp(statistics["log_weight"]))) == pytest.approx(np.log(9.0), abs=0.1)


def test_proposals_have_the_density_they_say() -> None:
    """The law of directions integrates to 1 over the sphere, and its draws have its mean."""
    mode = np.array([0.48, -0.6, 0.64])
    across = np.eye(3) - np.outer(mode, mode)
    law = DirectionLaw.of(mode, across @ np.diag([30.0, 14.0, 8.0]) @ across + np.outer(mode, mode))
    assert 0.1 < law.uniform_share < 0.3
    nodes, weights = np.polynomial.legendre.leggauss(80)
    turn = 2 * np.pi * (np.arange(80) + 0.5) / 80
    height, angle = np.repeat(nodes, 80), np.tile(turn, 80)
    flat = np.sqrt(1 - height**2)
    points = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), height])
    density = np.exp([law.log_density(point) for point in points]) * np.repeat(weights, 80) / 160
    assert density.sum() == pytest.approx(1.0, abs=1e-4)
    rng = np.random.default_rng(2)
    drawn = np.array([law.draw(rng) for _ in range(4000)]).reshape(20, 200, 3).mean(axis=1)
    assert is_mean(drawn, density @ points, 0.02)


def test_a_grid_of_three_goods_agrees() -> None:
    """A posterior without a mode inside its bounds, by brute force over the whole sphere."""
    data = sp.Observations([[1.0, 1.2, 0.9]] * 4, [1.0, 1.2, 2.1, 2.2], [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0]])
    target = Target(Memory(sp.Regions.of(data)), Prior(0.0, 12.0))
    assert not find_reference(target).is_mode
    heights, weights = np.polynomial.legendre.leggauss(20)
    nodes, shares = np.polynomial.legendre.leggauss(8)
    values, points = [], []
    for k, share in zip(6.0 * (nodes + 1), shares, strict=True):
        for height, weight in zip(heights, weights, strict=True):
            for angle in 2 * np.pi * np.arange(32) / 32:
                mu = np.array([np.cos(angle), np.sin(angle), 0.0]) * np.sqrt(1 - height**2) + [0.0, 0.0, height]
                values.append(sp.log_mass(target.store.load(), mu, k, tolerance=1e-4).sum() + np.log(share * weight))
                points.append([*mu, k])
    mass = np.exp(np.array(values) - np.max(values))
    x = np.array(points)
    mean = mass @ x / mass.sum()
    deviation = np.sqrt(mass @ (x - mean) ** 2 / mass.sum())
    mu, kappa, statistics = draw(Layered(target, 3, find_layers(target)), 0, 150)
    assert smooth_weights(statistics["log_weight"]).pareto_k < 0.7
    mu, kappa = (mu - mean[:3]) / deviation[:3], (kappa - mean[3]) / deviation[3]
    assert is_mean(weighted_means(mu, kappa, statistics["log_weight"]), np.repeat([0.0, 1.0], 4), 0.1)


def test_gibbs_agrees_where_there_is_no_mode() -> None:
    target = Target(Memory(sp.Regions.of(votes(60, 6.0, seed=4))), Prior(0.0, 15.0))
    assert not find_reference(target).is_mode
    mu, kappa, statistics = draw(Layered(target, 5, find_layers(target)), 0, 60)
    assert smooth_weights(statistics["log_weight"]).n_effective > 0.5 * kappa.size
    other_mu, other_kappa, _ = draw(Gibbs(target, 6), 100, 700)
    centre = np.append(other_mu.mean(axis=(0, 1)), other_kappa.mean())
    scale = np.append(other_mu.std(axis=(0, 1)), other_kappa.std())
    one, two = (
        weighted_means((m - centre[:4]) / scale[:4], (k - centre[4]) / scale[4], w)
        for m, k, w in ((mu, kappa, statistics["log_weight"]), (other_mu, other_kappa, np.zeros_like(other_kappa)))
    )
    assert is_mean(one - two, np.zeros(10), 0.15)


def test_a_prior_of_the_user_s_is_weighed() -> None:
    """Without data, κ under exp(-0.5 κ) on (1, 10), and μ on the half sphere where the first good is wanted."""
    prior = Prior(1.0, 10.0, lambda mu, kappa: -0.5 * kappa if mu[0] > 0 else -np.inf)
    target = Target(Memory(regions_of(3, 1, 2.0)[:0]), prior)
    kappa = np.linspace(1, 10, 20_001)
    density = np.exp(-0.5 * kappa)
    mu, drawn, statistics = draw(Layered(target, 7, find_layers(target)), 0, 150)
    found = weighted_means(mu, drawn, statistics["log_weight"])
    truth = np.array([0.5, 0.0, 0.0, np.sum(kappa * density) / np.sum(density)])
    assert is_mean(found[:, :4], truth, np.array([0.05, 0.05, 0.05, 0.2]))


def test_layers_are_where_the_mass_is() -> None:
    target = Target(Memory(regions_of(3, 400, 5.0, seed=5)), Prior(0.0, 60.0))
    layers = find_layers(target)
    near = np.abs(layers.concentration - 5.0) < 2.0
    assert near.sum() >= 6
    table = tabulate(layers)
    assert table.share.sum() == pytest.approx(1.0)
    assert table.share @ (0.5 * (table.concentration[1:] + table.concentration[:-1])) == pytest.approx(5.0, abs=1.0)
    mode, precision = layers.at(5.0)
    assert mode @ mode == pytest.approx(1.0)
    np.testing.assert_allclose(precision @ mode, mode, atol=1e-8)
    # By differences of the exact likelihood along the sphere, the curvature is the precision.
    across = np.linalg.svd(mode[None])[2][1]
    middle, *ends = (
        target.store.sums(5.0 * (np.cos(t) * mode + np.sin(t) * across), derivatives=0).value
        for t in (0.0, 1e-2, -1e-2)
    )
    assert across @ precision @ across == pytest.approx((2 * middle - sum(ends)) / 1e-4, rel=0.05)


def test_auto_takes_layers_for_votes_without_a_mode() -> None:
    data = votes(300, 6.0, seed=4)
    model = sp.HeterogeneousUtility(random_state=0, n_effective=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.NotIdentified)
        model.fit(data)
    assert model.sampler_ == "layered"
    assert "no mode inside its bounds" in model.reason_
    assert "by layered" in model.reason_
    assert model.is_converged_


def test_auto_takes_gibbs_where_weights_are_uneven_or_layers_dear() -> None:
    target = Target(Memory(sp.Regions.of(votes(300, 6.0, seed=4))), Prior(0.0, 80.0))
    plan = Plan()
    choice = choose_sampler("auto", target, 0, plan)
    assert choice.instead_fn is not None
    uneven = diagnose({"mean_direction": np.zeros((1, 1, 4)), "concentration": np.zeros((1, 1))})._replace(pareto_k=0.9)
    instead = choice.instead_fn(uneven)
    assert isinstance(instead.sampler, Gibbs)
    assert instead.reason == "layered weights were too uneven, Pareto k 0.90"
    # Customers who have nothing in common: κ near 0, where Gibbs mixes well and every region is another.
    noise = Target(Memory(regions_of(4, 60, 1e-3, law="uniform", seed=8)), Prior(0.0, 80.0))
    choice = choose_sampler("auto", noise, 0, plan)
    assert isinstance(choice.sampler, Gibbs)
    assert "by layered" in choice.reason
