"""Whole goods: bundles against mixed-integer programmes and enumeration, ties, rules of value, intervals, starts."""

from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp
from stochpref.problems import Whole, knapsack
from tests.whole_goods import all_bundles, best_by_programme, bought, random_menu


def test_choices_are_those_of_mixed_integer_programmes() -> None:
    rng = np.random.default_rng(0)
    for case in range(150):
        n = int(rng.integers(1, 31))
        prices, budget, caps = random_menu(rng, n)
        u = rng.standard_normal(n)
        x = bought(u, prices, budget, caps, Whole())
        assert np.all(x == np.round(x))
        assert np.all((x >= 0) & (x <= caps))
        assert prices @ x <= budget * (1 + 1e-7)
        assert u @ x == pytest.approx(best_by_programme(u, prices, budget, caps, np.ones(n)), rel=1e-6, abs=1e-9), case


def test_choices_are_the_best_of_all_bundles() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(1, 6))
        prices, budget, caps = random_menu(rng, n)
        u, every = rng.standard_normal(n), all_bundles(prices, budget, caps)
        x = bought(u, prices, budget, caps, Whole())
        assert (every == x).all(axis=1).any()
        assert u @ x >= (every @ u).max() - 1e-12


def test_some_goods_may_be_bought_in_part() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        n = int(rng.integers(2, 12))
        prices, budget, caps = random_menu(rng, n)
        u, is_whole = rng.standard_normal(n), rng.random(n) < 0.5
        is_whole[0] = True
        goods = [f"good{i + 1}" for i in np.flatnonzero(is_whole)]
        x = bought(u, prices, budget, caps, Whole(goods))
        assert np.all(x[is_whole] == np.round(x[is_whole]))
        assert u @ x == pytest.approx(best_by_programme(u, prices, budget, caps, is_whole), rel=1e-6, abs=1e-9)
    # Nothing whole in reach: what is bought in part is what divisible goods give.
    prices, caps = np.array([50.0, 1.0, 2.0, 1.5]), np.array([1.0, 1.0, 0.5, 2.0])
    u = np.array([1.0, 0.9, 1.7, 1.2])
    np.testing.assert_allclose(bought(u, prices, 2.2, caps, Whole(["good1"])), sp.choose(u, prices, 2.2, caps=caps))


@pytest.mark.parametrize("most_steps", [20_000, 0])
def test_ties_go_to_the_cheaper_bundle_then_to_earlier_goods(most_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_lists = most_steps == 0
    for u, prices, budget, caps, expected in (
        ([2.0, 1.0, 1.0], [2.0, 1.0, 1.0], 2.0, [1, 1, 1], [1, 0, 0]),  # equally dear: more of the first
        ([2.0, 1.0, 1.0], [2.5, 1.0, 1.0], 2.5, [1, 1, 1], [0, 1, 1]),  # the cheaper one
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], 2.0, [1, 1, 1], [1, 1, 0]),
        ([1.0, 2.0], [1.0, 2.0], 4.0, [4, 2], [4, 0]),
        ([0.0, -1.0], [1.0, 1.0], 2.0, [1, 1], [0, 0]),  # worth nothing, not bought
    ):
        bundle, is_whole = np.zeros(len(u)), np.ones(len(u), np.bool_)
        arguments = (np.array(u), np.array(prices), budget, np.array(caps, float), is_whole, bundle)
        if by_lists:
            assert knapsack._by_lists(*arguments)
        else:
            bundle[:] = bought(np.array(u), np.array(prices), budget, np.array(caps, float), Whole())
        np.testing.assert_array_equal(bundle, expected)


def test_lists_find_what_the_search_finds() -> None:
    rng = np.random.default_rng(3)
    for case in range(200):
        n = int(rng.integers(1, 15))
        prices, budget, caps = random_menu(rng, n)
        u, is_whole = rng.standard_normal(n), (rng.random(n) < 0.6) | (case % 2 == 0)
        goods = [f"good{i + 1}" for i in np.flatnonzero(is_whole)]
        bundle = np.zeros(n)
        assert knapsack._by_lists(u, prices, budget, caps, is_whole, bundle)
        np.testing.assert_allclose(
            bundle, bought(u, prices, budget, caps, Whole(goods or ["good1"])) if goods else bundle
        )


def test_hard_menus_are_done_by_lists() -> None:
    # Equal prices that the budget is no multiple of, utilities nearly alike: the search would go on for ever.
    rng = np.random.default_rng(4)
    u = 1.0 + 1e-3 * rng.random(30)
    x = bought(u, np.ones(30), 15.5, np.ones(30), Whole())
    assert set(np.flatnonzero(x)) == set(np.argsort(-u)[:15])


def test_one_utility_many_menus_and_the_other_way_round() -> None:
    rng = np.random.default_rng(5)
    menus = sp.Menus(rng.uniform(1, 2, (7, 5)), rng.uniform(1, 6, 7), caps=[1, 2, 3, 1, 1], problem="whole")
    crowd = rng.standard_normal((40, 5))
    every = Whole().choose(crowd[:, None], menus)
    assert every.shape == (40, 7, 5)
    for t in range(7):
        np.testing.assert_array_equal(Whole().choose(crowd[:, None], menus[t])[:, 0], every[:, t])
    np.testing.assert_array_equal(Whole().choose(crowd[3], menus), every[3])
    totals, counts = Whole().total(crowd, menus)
    np.testing.assert_allclose(totals, every.sum(axis=0))
    np.testing.assert_array_equal(counts, 40)


def test_units_without_a_cap_are_limited_by_money() -> None:
    np.testing.assert_array_equal(
        bought(np.array([1.0, 0.1]), np.array([0.3, 1.0]), 10.0, np.array([np.inf, np.inf]), Whole()), [33, 0]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bundles": [[0.5, 0.0]]}, "a whole good must be bought in whole units; .*0.5 for good 0; count units"),
        ({"bundles": [[2.0, 0.0]]}, "must not exceed its cap"),
        ({"bundles": [[1.0, 1.0]]}, "must not cost more than its budget"),
        ({"caps": [1.5, 1.0]}, "the cap of a whole good must be a whole number, or inf.*1.5 for good 0"),
        ({"problem": Whole(["tea"])}, "goods of problem 'whole' must be among those on record, good1, good2.*'tea'"),
    ],
)
def test_what_is_not_whole_is_refused(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"prices": [[1.0, 2.0]], "budgets": [2.5], "bundles": [[1.0, 0.0]]}
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.Observations(**(arguments | {"problem": "whole"} | changes))  # type: ignore[arg-type]


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(sp.InvalidArgument, match=r"goods must be names of whole goods.*the text 'tea'"):
        Whole("tea")
    with pytest.raises(sp.InvalidArgument, match="goods must name a whole good"):
        Whole([])
    menus = sp.Menus([[1.0, 2.0]], [2.5])
    with pytest.raises(sp.InvalidArgument, match="utilities must have goods, 2, in their last axis"):
        Whole().choose(np.ones(3), menus)
    with pytest.raises(sp.InvalidArgument, match="utilities must be finite"):
        Whole().choose([1.0, np.nan], menus)
    assert Whole(["good1"]) != Whole()
    assert repr(Whole(["good1"])) == "Whole(goods=['good1'])"
