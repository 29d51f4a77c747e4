# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods that satiate as a problem: what is chosen is best, limits are the linear problem, what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import stochpref as sp
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW
from stochpref.problems import Satiated
from tests.contracts import check_problem

GOODS = ("tea", "rum", "jam", "fish")
OUTSIDE = (None, "rest", "rum")


def random_menu(rng: np.random.Generator, problem: Satiated) -> sp.Menus:
    caps = np.where(rng.random(4) < 0.4, rng.uniform(0.3, 2.0, 4), np.inf)
    caps[1] = np.inf if problem.outside == "rum" else caps[1]
    prices = rng.uniform(0.5, 2.0, 4)
    prices[3] = np.inf if rng.random() < 0.2 else prices[3]
    return sp.Menus(prices[None], [rng.uniform(0.5, 8.0)], goods=GOODS, caps=caps[None], problem=problem)


def gains(problem: Satiated, menus: sp.Menus, u: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return what one unit of money more would be worth, spent on each good."""
    place, left = problem.outside_place(menus.goods), float(menus.budgets[0] - np.sum(_finite(menus) * x))
    inside = [i for i in range(4) if i != place]
    fade = u[len(u) - len(inside) :] / u[inside]
    found = np.full(5, np.nan)
    found[inside] = u[inside] * (1 + x[inside] / fade) ** -problem.bend
    if place is not None:
        found[place] = u[place] * (left if place == 4 else x[place]) ** -problem.bend
    return found / np.append(menus.prices[0], 1.0)


def _finite(menus: sp.Menus) -> np.ndarray:
    return np.where(np.isfinite(menus.prices[0]), menus.prices[0], 0.0)


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("power", [None, 0.5, -1.0])
def test_the_last_unit_of_money_is_worth_the_same_wherever_it_goes(outside: str | None, power: float | None) -> None:
    rng, problem = np.random.default_rng(3), Satiated(outside, power)
    n_in_part = 0
    for _ in range(60):
        menus = random_menu(rng, problem)
        u = np.exp(rng.standard_normal(len(problem.coordinates(GOODS))))
        x = problem.choose(u, menus)[0]
        gain, offered = gains(problem, menus, u, x), np.isfinite(menus.prices[0])
        in_part = offered & (x > 1e-9) & (x < menus.caps[0] - 1e-9)
        if not in_part.any():
            continue
        level = gain[:4][in_part].mean()
        n_in_part += int(in_part.sum())
        np.testing.assert_allclose(gain[:4][in_part], level, rtol=1e-8)
        assert np.all(gain[:4][offered & (x <= 1e-9)] <= level * (1 + 1e-8))
        assert np.all(gain[:4][offered & (x >= menus.caps[0] - 1e-9)] >= level * (1 - 1e-8))
        if outside == "rest":
            np.testing.assert_allclose(gain[4], level, rtol=1e-6)
        else:
            np.testing.assert_allclose(np.sum(_finite(menus) * x), menus.budgets[0], rtol=1e-12)
    assert n_in_part > 60


def test_an_optimiser_that_knows_nothing_of_it_finds_the_same() -> None:
    problem = Satiated("rest")
    menus = sp.Menus([[1.0, 2.0, 1.5]], [6.0], caps=[np.inf, 0.7, np.inf], problem=problem)
    u = np.array([1.0, 2.5, 0.9, 1.2, 1.5, 4.0, 0.8])

    def loss(x: np.ndarray) -> float:
        left = 6.0 - x @ menus.prices[0]
        return -float(u[4:] @ np.log1p(u[:3] * x / u[4:]) + u[3] * np.log(max(left, 1e-9)))

    found = minimize(loss, [0.1, 0.1, 0.1], bounds=[(0, None), (0, 0.7), (0, None)], method="L-BFGS-B", tol=1e-14)
    np.testing.assert_allclose(problem.choose(u, menus)[0], found.x, atol=2e-5)


@pytest.mark.parametrize("endless", ["power", "satiation"])
def test_without_satiation_the_linear_problem_is_left(endless: str) -> None:
    rng = np.random.default_rng(4)
    menus = sp.Menus(rng.uniform(1, 2, (50, 5)), rng.uniform(1, 5, 50), caps=rng.uniform(0.5, 1.5, 5))
    u = rng.standard_normal((50, 5))
    problem = Satiated(power=1.0) if endless == "power" else Satiated()
    whole = np.concatenate([u, np.full((50, 5), 1.0 if endless == "power" else np.inf)], axis=1)
    chosen = problem.choose(whole, menus.under(problem))
    np.testing.assert_allclose(chosen, sp.choose(u, menus.prices, menus.budgets, caps=menus.caps), atol=1e-14)
    near = Satiated().choose(np.concatenate([u, np.abs(u) * 1e9], axis=1), menus.under(Satiated()))
    np.testing.assert_allclose(near, chosen, atol=1e-5)


def test_many_goods_are_sorted_as_few_are() -> None:
    rng, problem = np.random.default_rng(5), Satiated("rest")
    prices, u = rng.uniform(1, 2, (3, 60)), np.exp(rng.standard_normal((3, 121)))
    capped = sp.Menus(prices, [20.0, 50.0, 200.0], caps=np.full(60, 1e9), problem=problem)
    free = sp.Menus(prices, [20.0, 50.0, 200.0], problem=problem)
    np.testing.assert_allclose(problem.choose(u, capped), problem.choose(u, free), rtol=1e-9, atol=1e-12)
    total, counts = problem.total(u, free)
    np.testing.assert_allclose(total, problem.choose(u[:, None], free).sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(counts, [3.0, 3.0, 3.0])


@pytest.mark.parametrize("problem", [Satiated("rest"), Satiated("b"), Satiated("rest", 0.0)])
def test_every_outside_good_keeps_the_contract(problem: Satiated) -> None:
    check_problem(problem)


def test_caps_have_no_end_unless_stated() -> None:
    stated = sp.Menus([[1.0, 1.0]], [9.0], problem="satiated")
    assert np.isinf(stated.caps).all()
    assert sp.Menus([[1.0, 1.0]], [9.0]).caps.max() == 1.0
    seen = sp.Observations([[1.0, 1.0]], [9.0], [[4.0, 5.0]], problem="satiated")
    assert np.isinf(seen.caps).all()


def test_sides_say_what_was_bought_in_part() -> None:
    seen = sp.Observations(
        [[1.0, 2.0, 1.0], [1.0, np.inf, 1.0]], [10.0, 10.0], [[3.0, 1.0, 0.0], [2.0, 0.0, 0.5]],
        caps=[[3.0, np.inf, np.inf]] * 2, problem=Satiated("rest"),
    )  # fmt: skip
    bought = seen.problem.bought(seen)
    np.testing.assert_array_equal(bought.side, [[ABOVE, AT, BELOW, AT], [AT, ABSENT, AT, AT]])
    np.testing.assert_array_equal(bought.bundles[:, 3], [5.0, 7.5])
    np.testing.assert_array_equal(bought.prices[:, 3], 1.0)
    assert bought.outside == 3
    assert not seen.audit().is_all_bought


@pytest.mark.parametrize(
    ("problem", "bundle", "message"),
    [
        (Satiated(), [1.0, 1.0], "must cost the whole budget, unless all on offer is at its cap.*outside='rest'"),
        (
            Satiated("rest"),
            [2.0, 2.0],
            "what is left of the budget is the outside good.*received row 0: cost 4 against",
        ),
        (Satiated("good1"), [0.0, 4.0], "everybody buys some of the outside good, 'good1'"),
        (Satiated("good1"), [1.0, 1.0], "spends all of the budget"),
    ],
)
def test_what_no_customer_would_do_is_refused(problem: Satiated, bundle: list[float], message: str) -> None:
    with pytest.raises(sp.InvalidObservations, match=message):
        sp.Observations([[1.0, 1.0]], [4.0], [bundle], problem=problem)


def test_settings_and_names_are_checked() -> None:
    with pytest.raises(sp.InvalidArgument, match=r"outside must be 'rest' or one of the goods.*received 'teas'"):
        sp.Menus([[1.0, 1.0]], [4.0], goods=["tea", "rum"], problem=Satiated("teas"))
    with pytest.raises(sp.InvalidArgument, match="goods must not be called 'rest'"):
        sp.Menus([[1.0, 1.0]], [4.0], goods=["tea", "rest"], problem=Satiated("rest"))
    with pytest.raises(sp.InvalidArgument, match="power must be a number, 1 at most"):
        Satiated(power=1.5)
    with pytest.raises(sp.InvalidArgument, match="outside must be 'rest', the name of a good, or None; received 3"):
        Satiated(3)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidArgument, match="utilities must have 5 coordinates"):
        Satiated("rest").choose(np.ones(4), sp.Menus([[1.0, 1.0]], [4.0], problem=Satiated("rest")))


def test_interior_purchases_point_to_what_knows_them() -> None:
    bundles = [[0.5, 0.5], [0.3, 0.7], [0.2, 0.8]]
    seen = sp.Observations(np.ones((3, 2)), np.ones(3), bundles)
    with pytest.raises(sp.InvalidObservations, match="if goods satiate, state problem='satiated'"):
        sp.HeterogeneousUtility().fit(seen)
    assert "problem='satiated'" in str(seen.audit())
    stated = sp.Observations(np.ones((3, 2)), np.ones(3), bundles, problem="satiated")
    for model in (sp.CommonUtility(), sp.HeterogeneousUtility(), sp.SegmentedUtility()):
        with pytest.raises(sp.InvalidArgument, match=r"cannot handle problem 'satiated'.*fit SatiatedUtility"):
            model.fit(stated)
