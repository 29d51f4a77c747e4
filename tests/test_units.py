# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods split into units: a first, a second, …, each with a worth of its own, and joined again in all that is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

import stochpref as sp
from stochpref.problems import Divisible, pack_problem, unpack_problem
from tests.contracts import assert_same

GOODS = ("tea", "rum", "jam")
UNITS = {"tea": 3, "jam": 2}
COORDINATES = ("tea, unit 1", "tea, unit 2", "tea, unit 3", "rum", "jam, unit 1", "jam, unit 2")


def market(size: int = 300, *, seed: int = 0, is_ordered: bool = True) -> tuple[sp.Observations, np.ndarray]:
    """Return purchases, and utilities over units, of which a later one is worth less if they are ordered."""
    rng = np.random.default_rng(seed)
    utilities = rng.normal([1.2, 0.4, -0.2, 0.3, 0.8, 0.1], 1.0, (size, 6))
    if is_ordered:
        utilities[:, :3] = -np.sort(-utilities[:, :3], axis=1)
        utilities[:, 4:] = -np.sort(-utilities[:, 4:], axis=1)
    prices = rng.uniform(1.0, 2.0, (size, 3))
    prices[rng.random(prices.shape) < 0.1] = np.inf
    menus = sp.Menus(prices, rng.uniform(0.5, 6.0, size), goods=GOODS, problem=Divisible(UNITS))
    return sp.Observations(
        prices, menus.budgets, menus.problem.choose(utilities, menus), goods=GOODS, problem=menus.problem
    ), utilities


def test_a_bundle_holds_the_first_units_and_only_they_explain_it():
    data, utilities = market()
    assert data.bundles.max() == pytest.approx(3.0)
    assert data.problem.coordinates(GOODS) == COORDINATES
    regions = sp.Regions.of(data)
    assert regions.n_goods == 6
    assert set(regions.kind) == {"slack", "pivot"}
    assert np.diag(regions.contains(utilities)).all()
    inside = regions.interior_points(rng=np.random.default_rng(1))
    np.testing.assert_allclose(data.problem.choose(inside, data), data.bundles, atol=1e-9)


def test_one_unit_is_no_split():
    assert Divisible() == Divisible(1) == Divisible({"tea": 1}) != Divisible(2)
    assert Divisible(UNITS | {"rum": 1}) == Divisible(UNITS) != Divisible({"tea": 3})
    assert Divisible(2).coordinates(("a",)) == ("a, unit 1", "a, unit 2")
    data, _ = market(20)
    same = sp.Observations(data.prices, data.budgets, np.minimum(data.bundles, 1), goods=GOODS, problem=Divisible(1))
    assert repr(same) == "<Observations: 20 observations of 3 goods>"
    for problem in (Divisible(1), Divisible(3), Divisible(UNITS)):
        header, arrays = pack_problem(problem)
        assert unpack_problem(json.loads(json.dumps(header)), arrays) == problem


def test_quantities_lie_within_all_units_together():
    data, _ = market(20)
    arguments = {"prices": data.prices, "budgets": np.full(20, 99.0), "goods": GOODS}
    bundles = np.where(np.isfinite(data.prices), [3.0, 1.0, 2.0], 0.0)
    sp.Observations(**arguments, bundles=bundles, problem=Divisible(UNITS))
    for units, message in (
        (3, None),
        ({"tea": 2, "jam": 2}, "must not exceed its cap"),
        (1, r"units=2, say \(--units 2\)"),
    ):
        make_fn = lambda units=units: sp.Observations(**arguments, bundles=bundles, problem=Divisible(units))  # noqa: E731
        if message is None:
            np.testing.assert_array_equal(make_fn().bundles, bundles)
        else:
            with pytest.raises(sp.InvalidObservations, match=message):
                make_fn()
    with pytest.raises(sp.InvalidObservations, match="cap of a unit must be finite"):
        sp.Observations(**arguments, bundles=bundles, caps=np.inf, problem=Divisible(UNITS))


@pytest.mark.parametrize("units", [0, 1.5, True, "three", {"tea": 0}, {"tea": "many"}, None])
def test_bad_units_are_refused(units):
    with pytest.raises(sp.InvalidArgument, match="units must be a whole number, 1 or more"):
        Divisible(units)


def test_units_of_no_good_are_refused():
    with pytest.raises(sp.InvalidArgument, match="received 'teas'; the nearest is 'tea'; the goods are tea, rum"):
        sp.Menus([[1.0, 2.0]], [1.0], goods=["tea", "rum"], problem=Divisible({"teas": 2}))
    with pytest.raises(sp.InvalidArgument, match="received 'tea, unit 2'; rename the good"):
        Divisible({"tea": 2}).coordinates(("tea", "tea, unit 2"))


def test_rows_and_goods_are_picked_with_their_units():
    data, utilities = market(30)
    part = data[[4, 2, 9]]
    np.testing.assert_array_equal(part.problem.choose(utilities[[4, 2, 9]], part), part.bundles)
    assert_same(data[:9].concat(data[9:]), data)
    wide = data.over(["new", "jam", "tea", "rum"])
    spread = np.concatenate([np.ones((30, 1)), utilities[:, [4, 5, 0, 1, 2, 3]]], axis=1)
    np.testing.assert_allclose(wide.problem.choose(spread, wide)[:, 1:], data.bundles[:, [2, 0, 1]], atol=1e-12)


def test_later_units_without_earlier_ones_are_found():
    data, ordered = market()
    problem = data.problem
    assert not problem.skips_units(ordered, data).any()
    swapped = ordered[:, [2, 1, 0, 3, 4, 5]]
    found = problem.skips_units(swapped, data)
    assert found.any()
    on_offer = np.isfinite(data.prices[:, 0])
    assert not found[~on_offer].any()
    assert problem.skips_units(np.stack([ordered, swapped]), data).shape == (2, 300)
    assert Divisible().skips_units(ordered[:, :3], sp.Menus(data.prices, data.budgets)) is None
