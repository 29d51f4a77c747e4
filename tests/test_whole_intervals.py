"""Intervals of whole goods: inside them the bundle stays the best one, outside not; membership, starts, ties."""

from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp
from benchmarks.whole import wrong_ends
from stochpref.problems import Whole
from tests.whole_goods import all_bundles, random_menu


def some_seen(
    n: int, size: int, seed: int, *, highest_cap: int = 1, n_whole: int | None = None
) -> tuple[sp.Observations, np.ndarray]:
    """Return what customers with random utilities bought, some goods not on offer, and their utilities."""
    rng = np.random.default_rng(seed)
    prices = rng.uniform(1.0, 2.0, (size, n))
    prices[rng.random(prices.shape) < 0.1] = np.inf
    caps = rng.integers(1, highest_cap + 1, n)
    goods = None if n_whole is None else [f"good{i + 1}" for i in range(n_whole)]
    menus = sp.Menus(prices, rng.uniform(0.5, 0.7 * n * caps.mean() + 1, size), caps=caps, problem=Whole(goods))
    u = rng.standard_normal((size, n)) + 0.3
    bundles = menus.problem.choose(u, menus)
    return sp.Observations(menus.prices, menus.budgets, bundles, caps=caps, problem=menus.problem), u


@pytest.mark.parametrize(
    ("n", "highest_cap", "n_whole"),
    [(2, 1, None), (6, 1, None), (15, 1, None), (4, 3, None), (9, 4, None), (5, 2, 3), (8, 3, 4)],
)
def test_ends_of_intervals_are_where_another_bundle_takes_over(n: int, highest_cap: int, n_whole: int | None) -> None:
    seen, u = some_seen(n, 150, seed=n, highest_cap=highest_cap, n_whole=n_whole)
    assert wrong_ends(seen, u, seen.problem.is_whole(seen.goods)) == (0, 150 * n)


def test_regions_hold_what_enumeration_says() -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        prices, budget, caps = random_menu(rng, int(rng.integers(2, 5)), 3)
        every = all_bundles(prices, budget, caps)
        u = rng.standard_normal((30, len(prices)))
        for x in every[rng.integers(len(every), size=3)]:
            seen = sp.Observations(prices[None], [budget], x[None], caps=caps, problem="whole")
            regions = seen.problem.explained(seen)
            value = u @ x
            best = (u @ every.T).max(axis=1)
            expected = value >= best - 1e-12
            if regions.is_degenerate[0]:
                assert not expected.any()
            else:
                np.testing.assert_array_equal(regions.contains(u)[:, 0], expected)
                np.testing.assert_array_equal(regions.contains(u, strict=True)[:, 0], expected)


def test_ties_are_held_weakly_only() -> None:
    seen = sp.Observations([[1.0, 1.0]], [1.0], [[1.0, 0.0]], problem="whole")
    regions = seen.problem.explained(seen)
    assert regions.contains([1.0, 1.0])[0]
    assert not regions.contains([1.0, 1.0], strict=True)[0]
    assert regions.contains([1.0, 0.5], strict=True)[0]


@pytest.mark.parametrize(("n", "highest_cap", "n_whole"), [(6, 1, None), (4, 3, None), (6, 2, 3)])
def test_points_inside_choose_the_bundle_again(n: int, highest_cap: int, n_whole: int | None) -> None:
    seen, _ = some_seen(n, 200, seed=20 + n, highest_cap=highest_cap, n_whole=n_whole)
    regions = seen.problem.explained(seen)
    assert not regions.is_degenerate.any()
    points = [regions.inside, *(regions.interior_points(rng=np.random.default_rng(seed)) for seed in (1, 2))]
    for point in points:
        np.testing.assert_allclose(seen.problem.choose(point, seen), seen.bundles, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(point, axis=1), 1.0)
    assert np.abs(points[1] - points[2]).mean() > 0.1


def test_bundles_that_no_utility_explains_are_degenerate() -> None:
    """One of each where the money covers two of the first, or more of both: whatever is wanted, more would be."""
    seen = sp.Observations(
        [[1.0, 1.5]] * 4, [4.0] * 4, [[1.0, 1.0], [1.0, 2.0], [3.0, 0.0], [0.0, 1.0]], caps=3, problem="whole"
    )
    assert seen.problem.explained(seen).is_degenerate.tolist() == [True, False, False, True]
    with pytest.raises(sp.InvalidObservations, match=r"degenerate.*2 of 4"):
        sp.HeterogeneousUtility(random_state=0).fit(seen)
    parts = sp.Observations(
        [[1.0, 1.0, 1.0]] * 2, [2.0] * 2, [[1.0, 0.5, 0.5], [1.0, 0.5, 0.0]], problem=Whole(["good1"])
    )
    assert parts.problem.explained(parts).is_degenerate.tolist() == [True, True]


def test_goods_out_of_reach_say_nothing() -> None:
    seen = sp.Observations([[1.0, 5.0, np.inf]], [2.0], [[1.0, 0.0, 0.0]], problem="whole")
    low, high = seen.problem.explained(seen).intervals([0.3, 0.2, -0.1])
    np.testing.assert_allclose(low[0], [0.0, -np.inf, -np.inf])
    np.testing.assert_allclose(high[0], [np.inf, np.inf, np.inf])
