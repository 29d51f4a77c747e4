"""One customer by bisection; many goods in blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import stochpref as sp
from stochpref.paper.dismantling import block_menus, learn_blocks, overlapping_blocks


@pytest.mark.parametrize("n", [2, 6, 30])
def test_bisection_finds_the_ratios_within_the_limit(n: int) -> None:
    u = np.random.default_rng(n).uniform(-0.3, 1.0, n)
    u[0] = 0.7
    found = sp.bisect_utility(lambda menus: sp.choose(u, menus.prices, menus.budgets), n, accuracy=1e-4)
    assert np.array_equal(found.is_wanted, u > 0)
    assert np.array_equal(np.isnan(found.ratios), u <= 0)
    assert np.nanmax(np.abs(found.ratios - u / u.max())) <= found.error <= 1e-4
    assert found.n_queries <= found.query_limit
    assert found.query_limit == 2 + (n - 1) * 13


def test_bisection_with_equal_goods_and_with_none() -> None:
    u = np.array([1.0, 1.0, 1.0])
    found = sp.bisect_utility(lambda menus: sp.choose(u, menus.prices, menus.budgets), ["a", "b", "c"])
    assert found.ratios == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(sp.InvalidArgument, match="nothing is wanted"):
        sp.bisect_utility(lambda menus: np.zeros((1, 2)), 2)
    with pytest.raises(sp.InvalidArgument, match="two or more"):
        sp.bisect_utility(lambda menus: np.zeros((1, 1)), 1)
    with pytest.raises(sp.InvalidArgument, match="accuracy"):
        sp.bisect_utility(lambda menus: np.zeros((1, 2)), 2, accuracy=0.7)

    for answer in (np.ones(5), np.ones((2, 2)), np.array([[np.nan, 1.0]])):
        with pytest.raises(sp.InvalidArgument, match=r"choose_fn must return the bundle bought, \(1, 2\) finite"):
            sp.bisect_utility(lambda menus, answer=answer: answer, 2)

    def fickle(menus: sp.Menus) -> np.ndarray:
        return np.array([[1.0, 0.0]]) if menus.budgets[0] > 1 else np.array([[0.0, 1.0]])

    with pytest.raises(sp.InvalidArgument, match="no single utility"):
        sp.bisect_utility(fickle, 2)


@pytest.mark.parametrize(("n", "size", "overlap"), [(10, 4, 1), (7, 3, 2), (9, 5, 0), (4, 6, 1)])
def test_blocks_cover_and_overlap(n: int, size: int, overlap: int) -> None:
    blocks = overlapping_blocks(n, size, overlap)
    assert np.array_equal(np.unique(np.concatenate(blocks)), np.arange(n))
    assert max(len(block) for block in blocks) <= size
    for left, right in pairwise(blocks):
        assert np.intersect1d(left, right).size >= overlap


def test_joining_through_the_likelihood_beats_stitching() -> None:
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        mu = rng.standard_normal(6)
        mu /= np.linalg.norm(mu)
        blocks = overlapping_blocks(6, 3)
        menus = block_menus(6, blocks, sp.MenuLaw("uniform"), 400, rng=rng)
        learnt = learn_blocks(sp.simulate(sp.VonMisesFisher(mu, 5.0), menus, 400, rng=rng), blocks)
        assert len(learnt.block_fits) == len(blocks)
        errors.append([np.arccos(learnt.stitched @ mu) ** 2, np.arccos(learnt.joint.mean_direction @ mu) ** 2])
    stitched, joint = np.sqrt(np.mean(errors, axis=0))
    assert joint < stitched


def test_the_posterior_of_pooled_blocks_agrees_with_their_joint_likelihood() -> None:
    rng = np.random.default_rng(4)
    mu = np.array([0.5, -0.3, 0.6, 0.4, 0.2, 0.3])
    mu /= np.linalg.norm(mu)
    blocks = overlapping_blocks(6, 3)
    menus = block_menus(6, blocks, sp.MenuLaw("uniform"), 900, rng=rng)
    purchases = sp.simulate(sp.VonMisesFisher(mu, 5.0), menus, 900, rng=rng)
    joint = learn_blocks(purchases, blocks).joint
    model = sp.HeterogeneousUtility(n_draws=300, n_effective=150, random_state=0).fit(purchases)
    assert model.is_converged_
    assert model.is_identified_
    gap = (model.mean_direction_ - joint.mean_direction) / joint.direction_standard_errors
    assert np.abs(gap).max() < 0.6  # prior and skewness move it a little; Monte Carlo a tenth
    assert np.arccos(model.mean_direction_ @ mu) < 0.2


def test_blocks_refuse_nonsense() -> None:
    data = sp.simulate(sp.VonMisesFisher(np.eye(4)[0], 5.0), sp.MenuLaw("uniform"), 10, rng=np.random.default_rng(0))
    with pytest.raises(sp.InvalidArgument, match="one block only"):
        learn_blocks(data, overlapping_blocks(4, 2))
    with pytest.raises(sp.InvalidArgument, match="size must be"):
        overlapping_blocks(4, 1)
    with pytest.raises(sp.InvalidArgument, match="overlap must be"):
        overlapping_blocks(4, 3, 3)
