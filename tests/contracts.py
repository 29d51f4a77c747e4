"""What every problem and every law must do, whichever it is: the tests of those in the tables share this."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
import pytest
import xarray as xr

import stochpref as sp
from stochpref.archives.trees import read_tree, write_tree
from stochpref.laws import UtilityLaw
from stochpref.laws.menus import draw_customers
from stochpref.posterior.results import data_groups, observations_of
from stochpref.problems import OneOf, Open, Problem, Satiated, pack_problem, unpack_problem
from stochpref.stores.packing import data_hash

N_MENUS, N_GOODS = 60, 5
EXPLAINED = (
    "divisible",
    "linear",
    "one",
    "open",
    "whole",
)  # problems of which fits know the utilities that explain a bundle


def some_menus(problem: Problem) -> sp.Menus:
    rng = np.random.default_rng(11)
    prices = rng.uniform(1.0, 2.0, (N_MENUS, N_GOODS))
    prices[rng.random(prices.shape) < 0.15] = np.inf
    prices[0], budgets = np.inf, rng.uniform(0.0, 1.5 * N_GOODS, N_MENUS)  # nothing on offer, no money, money for all
    budgets[1], budgets[2] = 0.0, 100.0
    if isinstance(problem, OneOf) and not problem.outside:  # who must choose needs something to choose from
        prices[0] = prices[5]
    if isinstance(problem, Satiated) and problem.outside is not None:  # of which everybody has some
        budgets[1] = 1.0
        if problem.outside in "abcde":
            prices[:, "abcde".index(problem.outside)] = 1.3
    features = {"weight": rng.standard_normal(prices.shape), "hour": rng.uniform(0, 24, N_MENUS)}
    return sp.Menus(prices, budgets, goods=list("abcde"), problem=problem, features=features)


def assert_same(one: sp.Observations, other: sp.Observations) -> None:
    for name in ("prices", "budgets", "bundles", "caps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("goods", "customers", "labels", "problem", "nonempty"):
        assert getattr(one, name) == getattr(other, name), name
    assert list(one.features) == list(other.features)
    for name, values in one.features.items():
        np.testing.assert_array_equal(values, other.features[name])


def draw_utilities(problem: Problem, menus: sp.Menus, rng: np.random.Generator) -> np.ndarray:
    """Return utilities (T, N) of customers whom the problem is about."""
    size = len(problem.coordinates(menus.goods))
    return draw_customers(lambda count: rng.standard_normal((count, size)), menus)


def value_of(problem: Problem, menus: sp.Menus, utilities: np.ndarray, bundles: np.ndarray) -> np.ndarray:
    """Return what bundles are worth to customers who solve the problem, (T,)."""
    prices = np.where(np.isfinite(menus.prices), menus.prices, 1.0)
    if isinstance(problem, Satiated):
        return _satiated_value(problem, menus, utilities, bundles)
    if isinstance(problem, OneOf) and problem.reading == "value":
        return np.sum(utilities / prices * bundles, axis=1)
    worth = np.sum(utilities[:, :N_GOODS] * bundles, axis=1)
    if isinstance(problem, Open):
        return worth - utilities[:, -1] * np.sum(prices * bundles, axis=1) / problem.scale
    return worth


def _satiated_value(problem: Satiated, menus: sp.Menus, utilities: np.ndarray, bundles: np.ndarray) -> np.ndarray:
    """Return Σ u γ log(1 + x/γ), and u_0 log x of the outside good; what is worth nothing counts as that."""
    place = problem.outside_place(menus.goods)
    n_worths = N_GOODS + (place == N_GOODS)
    inside = [i for i in range(N_GOODS) if i != place]
    u, g = np.maximum(utilities[:, inside], 0.0), np.maximum(utilities[:, n_worths:], 0.0)
    x = bundles[:, inside]
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where((u > 0) & (g > 0), g * np.log1p(u * x / g), 0.0).sum(axis=1)
        if place is None:
            return worth
        prices = np.where(np.isfinite(menus.prices), menus.prices, 0.0)
        left = menus.budgets - np.sum(prices * bundles, axis=1)
        outside = left if place == N_GOODS else bundles[:, place]
        return worth + np.where(utilities[:, place] > 0, utilities[:, place] * np.log(np.maximum(outside, 1e-300)), 0.0)


def check_law(law: UtilityLaw) -> None:
    """Draws are finite, one row each, and follow the seed; customers of the law can be simulated."""
    assert isinstance(law, UtilityLaw)
    draws, again, other = (law.sample(200, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert draws.shape == (200, law.n_goods)
    assert draws.dtype == np.float64
    assert np.isfinite(draws).all()
    np.testing.assert_array_equal(draws, again)
    assert np.any(draws != other)
    assert law.sample(0, rng=np.random.default_rng(0)).shape == (0, law.n_goods)
    with pytest.raises(sp.InvalidArgument, match=r"rng must be a numpy Generator.*numpy\.random\.default_rng\(seed\)"):
        law.sample(3, rng=None)  # type: ignore[arg-type]
    seen = sp.simulate(law, sp.MenuLaw("uniform"), 30, rng=np.random.default_rng(3))
    assert seen.bundles.shape == (30, law.n_goods)


def check_problem(problem: Problem) -> None:
    """A problem chooses what is feasible and best, knows what is not, and travels with its records."""
    menus = some_menus(problem)
    utilities = draw_utilities(problem, menus, np.random.default_rng(12))
    bundles = _check_choices(problem, menus, utilities)
    _check_faults(problem, menus, bundles)
    seen = sp.Observations(
        menus.prices, menus.budgets, bundles, goods=menus.goods, caps=menus.caps, problem=problem,
        features=menus.features, customers=np.arange(N_MENUS) // 2,
    )  # fmt: skip
    _check_regions(problem, seen, utilities)
    _check_travels(problem, seen, utilities)


def _check_choices(problem: Problem, menus: sp.Menus, utilities: np.ndarray) -> np.ndarray:
    bundles = problem.choose(utilities, menus)
    assert bundles.shape == menus.prices.shape
    assert problem.find_faults(menus, bundles) == []
    assert np.all(bundles[0] == 0) == np.isinf(menus.prices[0]).all()
    values = value_of(problem, menus, utilities, bundles)
    # Nothing that others choose, and nothing drawn at random that breaks no rule, is better.
    rng = np.random.default_rng(13)
    n_feasible = 0
    for trial in range(60):
        if trial % 2:
            rivals = problem.choose(rng.standard_normal(utilities.shape), menus)
        else:
            rivals = np.where(rng.random(bundles.shape) < 0.5, 0.0, rng.integers(0, 5, bundles.shape) / 4)
        broken = [fault.rows for fault in problem.find_faults(menus, rivals)]
        feasible = np.setdiff1d(np.arange(N_MENUS), np.concatenate([*broken, np.array([], np.intp)]))
        n_feasible += len(feasible)
        assert np.all(value_of(problem, menus, utilities, rivals)[feasible] <= values[feasible] + 1e-9)
    assert n_feasible > 30 * N_MENUS
    # One utility faces all menus; several of them, a table each; only the direction of a utility matters.
    np.testing.assert_array_equal(problem.choose(utilities[5], menus)[5], bundles[5])
    both = problem.choose(np.stack([utilities[5], utilities[6]])[:, None], menus)
    assert both.shape == (2, *menus.prices.shape)
    np.testing.assert_array_equal(both[1, 6], bundles[6])
    np.testing.assert_allclose(problem.choose(4.0 * utilities, menus), bundles, atol=1e-12)
    return bundles


def _check_faults(problem: Problem, menus: sp.Menus, bundles: np.ndarray) -> None:
    for change, argument in (
        ({"bundles": np.where(bundles > 0, -bundles, 0.0)}, "bundles"),
        ({"bundles": np.full_like(bundles, np.nan)}, "bundles"),
        ({"bundles": np.ones_like(bundles)}, "bundles"),  # dear, not all on offer, and more than one
        *([({"budgets": np.zeros_like(menus.budgets)}, "bundles")] if problem.needs_budget else []),
        ({"prices": -menus.prices}, "prices"),
    ):
        fields = {"prices": menus.prices, "budgets": menus.budgets, "bundles": bundles, **change}
        with pytest.raises(sp.InvalidObservations, match=f"{argument}: "):
            sp.Observations(**fields, goods=menus.goods, problem=problem)


def _check_regions(problem: Problem, seen: sp.Observations, utilities: np.ndarray) -> None:
    if problem.name not in EXPLAINED:
        for refused in (lambda: problem.regions(seen), lambda: sp.CommonUtility().fit(seen)):
            with pytest.raises(sp.InvalidArgument, match=f"cannot handle problem '{problem.name}'"):
                refused()
        return
    regions = problem.explained(seen)
    assert sum(seen.audit().kinds.values()) == (len(seen) if problem.has_kinds else 0)
    assert len(regions) == len(seen)
    assert regions.n_goods == len(problem.coordinates(seen.goods)) == utilities.shape[1]
    usable = ~regions.is_degenerate
    assert usable.sum() > 0.8 * len(seen)
    holds = problem.chance(seen) if regions.has_masses else regions
    assert np.all(np.diag(holds.contains(utilities))[usable])
    # Utilities from inside a region choose the bundle again.
    inside = regions.interior_points(rng=np.random.default_rng(14))[usable]
    np.testing.assert_allclose(problem.choose(inside, seen.menus[usable]), seen.bundles[usable], atol=1e-9)


def _check_travels(problem: Problem, seen: sp.Observations, utilities: np.ndarray) -> None:
    header, arrays = pack_problem(problem)
    assert unpack_problem(json.loads(json.dumps(header)), arrays) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    rows = np.array([7, 3, 40])
    part = seen[rows]
    assert part.menus.problem == part.problem == problem.take(rows)
    np.testing.assert_array_equal(part.problem.choose(utilities[rows], part.menus), seen.bundles[rows])
    assert_same(seen[:20].concat(seen[20:45], seen[45:]), seen)
    goods = ("e", "new", *"badc")
    wide = seen.over(goods)
    named, own = wide.problem.coordinates(goods), seen.problem.coordinates(seen.goods)
    places = [goods.index(name) for name in seen.goods]
    spread = np.random.default_rng(15).standard_normal((N_MENUS, len(named)))
    spread[:, [named.index(name) for name in own]] = utilities
    np.testing.assert_array_equal(wide.problem.choose(spread, wide.menus)[:, places], seen.bundles)
    assert np.all(wide.bundles[:, 1] == 0)
    assert np.all(np.isinf(wide.prices[:, 1]))
    assert_same(wide.over(goods), wide)
    saved = io.BytesIO()
    write_tree(saved, xr.DataTree.from_dict(data_groups(seen)))
    kept = observations_of(read_tree(saved, "memory"))
    assert_same(kept, seen)
    assert data_hash(kept) == data_hash(seen)
    plain = sp.Observations(seen.prices, seen.budgets, seen.bundles, goods=seen.goods, problem=problem)
    assert len({data_hash(one) for one in (seen, plain, seen[:-1], seen[rows])}) == 4
