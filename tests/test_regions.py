from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp

KINDS = {"uniform": {"slack", "pivot"}, "discrete": {"slack", "pivot", "tight"}, "fixed": {"slack", "tight"}}


def market(law: str, n_observations: int, n_goods: int, seed: int) -> tuple[sp.Observations, np.ndarray]:
    rng = np.random.default_rng(seed)
    menus = sp.MenuLaw(law).sample(n_observations, n_goods, rng=rng)
    u = rng.standard_normal((n_observations, n_goods))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return sp.Observations(menus.prices, menus.budgets, sp.choose(u, menus.prices, menus.budgets)), u


def own_region_holds(regions: sp.Regions, u: np.ndarray, **options: object) -> np.ndarray:
    """Region t against utility t, from the (k, T) table in slices that stay small."""
    held = np.empty(len(regions), bool)
    for start in range(0, len(regions), 250):
        rows = slice(start, start + 250)
        held[rows] = np.diag(regions[rows].contains(u[rows], **options))  # type: ignore[arg-type]
    return held


@pytest.mark.parametrize("law", KINDS)
def test_utilities_lie_in_the_region_of_their_choice(law: str) -> None:
    observations, u = market(law, 34_000, 6, seed=3)
    regions = sp.Regions.of(observations)
    assert set(regions.kind) == KINDS[law]
    assert own_region_holds(regions, u, strict=True).all()


@pytest.mark.parametrize("law", KINDS)
def test_interior_points_choose_the_same_bundle(law: str) -> None:
    observations, _ = market(law, 1000, 8, seed=4)
    regions, rng = sp.Regions.of(observations), np.random.default_rng(5)
    for _ in range(10):
        points = regions.interior_points(rng=rng)
        assert own_region_holds(regions, points, strict=True).all()
        np.testing.assert_allclose(
            sp.choose(points, observations.prices, observations.budgets), observations.bundles, atol=1e-12
        )


@pytest.mark.parametrize("law", KINDS)
def test_contains_agrees_with_optimality_of_the_bundle(law: str) -> None:
    """Slow twin: a bundle is optimal iff its value equals the value of the best bundle."""
    observations, u = market(law, 400, 4, seed=6)
    regions = sp.Regions.of(observations)
    for candidate in u[:40]:
        best = sp.choose(candidate, observations.prices, observations.budgets)
        is_optimal = np.isclose(best @ candidate, observations.bundles @ candidate, atol=1e-11)
        np.testing.assert_array_equal(regions.contains(candidate), is_optimal)


@pytest.mark.parametrize("law", KINDS)
@pytest.mark.parametrize("margin", [0.0, 0.02, 0.2])
def test_inequalities_say_the_same_as_contains(law: str, margin: float) -> None:
    observations, u = market(law, 150, 5, seed=8)
    observations = sp.Observations(observations.prices * 37.0, observations.budgets * 37.0, observations.bundles)
    regions = sp.Regions.of(observations)
    held = regions.contains(u, margin=margin)
    for t in range(len(regions)):
        V, w = regions.inequalities(t)
        np.testing.assert_array_equal(held[:, t], np.all(u @ V.T <= w - margin, axis=1))
    np.testing.assert_array_equal(held, regions.contains(5.0 * u, margin=margin))


def test_margin_is_free_of_currency_and_shrinks_regions() -> None:
    observations, u = market("discrete", 500, 4, seed=9)
    cents = sp.Observations(observations.prices * 100, observations.budgets * 100, observations.bundles)
    tables = [sp.Regions.of(data).contains(u[:50], margin=0.1) for data in (observations, cents)]
    np.testing.assert_array_equal(*tables)
    weak = sp.Regions.of(observations).contains(u[:50])
    assert np.all(tables[0] <= weak)
    assert tables[0].sum() < weak.sum()


def test_the_lemma_needs_bought_goods_to_beat_the_one_bought_in_part() -> None:
    """The paper's Lemma 1 omits u_i/a_i >= u_f/a_f; without it this utility would count, though x is not optimal."""
    observations = sp.Observations([[1.0, 1.0]], [1.5], [[1.0, 0.5]])
    regions, u = sp.Regions.of(observations), np.array([1.0, 2.0])
    assert not regions.contains(u)[0]
    best = sp.choose(u, observations.prices, observations.budgets)[0]
    assert u @ best > u @ observations.bundles[0] + 0.4


def test_strict_scoring_closes_the_trap_of_ties() -> None:
    """u = -e_1 ties on every good but one: weakly it explains every customer who leaves good 1, strictly nobody."""
    observations, _ = market("uniform", 2000, 5, seed=10)
    regions, trap = sp.Regions.of(observations), -np.eye(5)[0]
    assert regions.contains(trap).mean() > 0.2
    assert regions.contains(trap, strict=True).sum() == 0


def test_absent_goods_constrain_nothing(rng: np.random.Generator) -> None:
    observations = sp.Observations([[1.0, np.nan, 2.0]], [2.0], [[1.0, 0.0, 0.5]])
    regions = sp.Regions.of(observations)
    for worth in (-100.0, 0.0, 100.0):
        assert regions.contains([1.0, worth, 1.0], strict=True)[0]
    V, _ = regions.inequalities(0)
    assert np.all(V[:, 1] == 0)


def test_degenerate_rows_are_marked_and_hold_nothing() -> None:
    observations = sp.Observations(np.ones((2, 2)), [1.0, 2.0], [[0.5, 0.5], [0.5, 0.0]])
    regions = sp.Regions.of(observations)
    assert regions.kind.tolist() == ["degenerate", "degenerate"]
    assert not regions.contains([1.0, 1.0]).any()
    with pytest.raises(sp.InvalidArgument, match="observation 1 is degenerate"):
        regions.inequalities(1)


def test_caps_decide_what_is_bought_in_full() -> None:
    bundles = [[2.0, 0.5]]
    for caps, kind in (
        ([2.0, 1.0], "pivot"),
        ([2.0, 0.5], "tight"),
        ([np.inf, 0.5], "pivot"),
        ([3.0, 1.0], "degenerate"),
    ):
        observations = sp.Observations([[1.0, 2.0]], [3.0], bundles, caps=caps)
        assert sp.Regions.of(observations).kind.tolist() == [kind]


@pytest.mark.parametrize(
    ("u", "options", "message"),
    [
        ([1.0, 2.0], {}, r"u must have shape \(3,\) or \(k, 3\); received \(2,\)"),
        ([1.0, np.nan, 0.0], {}, "u must be finite"),
        (["a", "b", "c"], {}, "u must be numbers"),
        ([1.0, 0.0, 0.0], {"margin": -1.0}, "margin must be a finite number, zero or more; received -1"),
    ],
)
def test_bad_arguments_are_named(u: object, options: dict[str, float], message: str) -> None:
    regions = sp.Regions.of(sp.Observations(np.ones((1, 3)), [1.0], [[1.0, 0.0, 0.0]]))
    with pytest.raises(sp.InvalidArgument, match=message):
        regions.contains(u, **options)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidArgument, match="t must be between 0 and 0; received 3"):
        regions.inequalities(3)
