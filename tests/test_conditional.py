"""Chances made of masses: against counting and closed forms, with gradients, information, sums, and laws by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import stochpref as sp
from stochpref.chances import Chance, Recorded
from stochpref.laws.menus import draw_customers
from stochpref.mass.conditional import log_chance, log_recorded, sum_recorded
from stochpref.mass.masses import exact_log_mass
from stochpref.problems import Divisible, OneOf, Open, Problem
from stochpref.stores.conditioned import Conditioned

N, T = 4, 40
PROBLEMS: dict[str, tuple[Problem, bool]] = {
    "divisible, not empty": (Divisible(), True),
    "open": (Open(scale=1.7), False),
    "open, not empty": (Open(scale=1.7), True),
    "one by value": (OneOf(), False),
    "one by unit": (OneOf(reading="unit"), False),
    "one by value, or none": (OneOf(outside=True), False),
    "one by unit, or none": (OneOf(outside=True, reading="unit"), False),
    "one by value, none not recorded": (OneOf(outside=True), True),
}
every = pytest.mark.parametrize("name", PROBLEMS)


def law_of(problem: Problem, *, kappa: float = 3.0) -> np.ndarray:
    """Return h over the coordinates, of level 0 where that is not told."""
    rng = np.random.default_rng(5)
    h = rng.standard_normal(len(problem.coordinates(tuple("abcd")))) + 0.3
    span = problem.span(len(h))
    h = h if span is None else span @ (span.T @ h)
    return kappa * h / np.linalg.norm(h)


def some_menus(problem: Problem, size: int = T) -> sp.Menus:
    rng = np.random.default_rng(6)
    prices = rng.uniform(1.0, 2.5, (size, N))
    prices[rng.random(prices.shape) < 0.1] = np.inf
    prices[:, 1] = 1.3  # something is always on offer
    budgets = rng.uniform(0.5, 4.0, size) if problem.needs_budget else None
    return sp.Menus(prices, budgets, goods=list("abcd"), problem=problem)


def records(name: str, size: int = T) -> sp.Observations:
    problem, nonempty = PROBLEMS[name]
    menus, h, rng = some_menus(problem, size), law_of(problem), np.random.default_rng(7)
    law = sp.VonMisesFisher(h / np.linalg.norm(h), float(np.linalg.norm(h)))
    u = draw_customers(lambda count: law.sample(count, rng=rng), menus, nonempty=nonempty)
    bundles = problem.choose(u, menus)
    return sp.Observations(menus.prices, menus.budgets, bundles, goods=menus.goods, problem=problem, nonempty=nonempty)


def recorded(data: sp.Observations) -> Recorded:
    return data.problem.recorded(data)


@every
def test_probabilities_of_what_can_be_recorded_are_those_of_counting(name: str) -> None:
    problem, nonempty = PROBLEMS[name]
    data, h = records(name, 3), law_of(problem)
    kappa = float(np.linalg.norm(h))
    u = sp.VonMisesFisher(h / kappa, kappa).sample(400_000, rng=np.random.default_rng(8))
    found = np.exp(log_recorded(recorded(data), h).log_mass)
    for t in range(len(data)):
        bought = problem.choose(u[:, None], data.menus[[t]])[:, 0]
        is_in = problem.takes_part(u[:, None], data.menus[[t]])[:, 0] & (bought.any(axis=1) | (not nonempty))
        if (data.bundles[t] % 1 > 0).any():  # a part of a good: the share of those who buy this good in part
            same = ((bought > 0) == (data.bundles[t] > 0)) & ((bought < 1) == (data.bundles[t] < 1))
        else:
            same = np.abs(bought - data.bundles[t]) < 1e-9
        share = np.mean(same.all(axis=1)[is_in])
        assert abs(found[t] - share) < 5 * np.sqrt(share * (1 - share) / is_in.sum()) + 1e-6


@every
def test_all_that_can_be_recorded_adds_up_to_one(name: str) -> None:
    problem, nonempty = PROBLEMS[name]
    if problem.name == "divisible":
        pytest.skip("bundles in part are of a continuum")
    menus, h = some_menus(problem, 12), law_of(problem, kappa=7.0)
    one = np.eye(N) if problem.name == "one" else ((np.arange(2**N)[:, None] >> np.arange(N)) & 1).astype(float)
    every_bundle = np.vstack([one, np.zeros((1 if problem.name == "one" else 0, N))])
    total = np.zeros(len(menus))
    for t in range(len(menus)):
        for bundle in every_bundle:
            faults = problem.find_faults(menus[[t]], bundle[None])
            if faults or (nonempty and not bundle.any()):
                continue
            data = sp.Observations(
                menus.prices[[t]], None, bundle[None], goods=menus.goods, problem=problem, nonempty=nonempty
            )
            total[t] += np.exp(log_recorded(recorded(data), h).log_mass[0])
    np.testing.assert_allclose(total, 1.0, atol=1e-9)


@every
def test_gradients_and_information_are_those_of_differences(name: str) -> None:
    data, h = recorded(records(name)), law_of(PROBLEMS[name][0])
    sums = sum_recorded(data, h, derivatives=2)
    masses = log_recorded(data, h, gradient=True)
    assert sums.value == pytest.approx(masses.log_mass.sum(), abs=1e-9)
    assert masses.gradient is not None
    np.testing.assert_allclose(sums.gradient, masses.gradient.sum(axis=0), atol=1e-8)
    assert np.all(masses.error < 1e-7)
    step, slope, curve = 1e-5, np.empty(len(h)), np.empty((len(h), len(h)))
    for i, axis in enumerate(np.eye(len(h))):
        ends = [sum_recorded(data, h + sign * step * axis) for sign in (1, -1)]
        slope[i] = (ends[0].value - ends[1].value) / (2 * step)
        curve[i] = (ends[0].gradient - ends[1].gradient) / (2 * step)
    np.testing.assert_allclose(sums.gradient, slope, atol=1e-4)
    np.testing.assert_allclose(sums.information, -curve, atol=1e-4)
    assert sum_recorded(data, h, derivatives=0).value == pytest.approx(sums.value, abs=1e-12)


@every
def test_a_law_for_every_row_is_each_law_in_its_rows(name: str) -> None:
    data, h = recorded(records(name)), law_of(PROBLEMS[name][0])
    laws, which = np.stack([h, 0.4 * h[::-1]]), np.arange(T) % 2
    for chance in (data.chance, data.event):
        if chance is None:
            continue
        both = log_chance(chance, laws, which, gradient=True)
        for k in range(2):
            alone = log_chance(chance, laws[k], gradient=True)
            np.testing.assert_allclose(both.log_mass[which == k], alone.log_mass[which == k], atol=1e-12)
            np.testing.assert_allclose(both.gradient[which == k], alone.gradient[which == k], atol=1e-10)


@every
def test_a_utility_is_in_a_region_if_and_only_if_it_chooses_the_bundle(name: str) -> None:
    problem, _ = PROBLEMS[name]
    data = records(name, 300)
    regions, rng = sp.Regions.of(data), np.random.default_rng(9)
    size = len(problem.coordinates(data.goods))
    for trial in range(20):
        u = rng.standard_normal(size) + 0.5 * (trial % 3) - 0.4
        chosen = problem.choose(u, data.menus)
        is_in = problem.takes_part(np.broadcast_to(u, (len(data), size)), data.menus)
        same = np.all(np.abs(chosen - data.bundles) < 1e-9, axis=1) & is_in
        whole = ~(data.bundles % 1 > 0).any(axis=1)
        np.testing.assert_array_equal(problem.chance(data).contains(u)[whole], same[whole])
    inside = regions.interior_points(rng=rng)
    np.testing.assert_allclose(problem.choose(inside, data.menus), data.bundles, atol=1e-9)


@every
def test_totals_are_those_of_choices_one_by_one(name: str) -> None:
    problem, _ = PROBLEMS[name]
    menus, size = some_menus(problem, 7), len(problem.coordinates(tuple("abcd")))
    u = np.random.default_rng(10).standard_normal((500, size))
    bought, counts = problem.total(u, menus)
    for t in range(len(menus)):
        here = menus[[t]]
        does = problem.takes_part(u[:, None], here)[:, 0]
        assert counts[t] == does.sum()
        np.testing.assert_allclose(bought[t], problem.choose(u[:, None], here)[does, 0].sum(axis=0), atol=1e-9)


def test_a_store_of_what_was_recorded_takes_h_where_it_is_told() -> None:
    data = records("one by unit")
    store = Conditioned(recorded(data))
    assert store.span is not None
    assert store.n_goods == N - 1
    np.testing.assert_allclose(store.span.T @ store.span, np.eye(N - 1), atol=1e-12)
    np.testing.assert_allclose(store.span.sum(axis=0), 0.0, atol=1e-12)
    theta, step = np.array([0.5, -1.0, 2.0]), 1e-5
    sums = store.sums(theta, derivatives=2)
    assert sums.value == pytest.approx(log_recorded(recorded(data), store.lifted(theta)).log_mass.sum(), abs=1e-9)
    for i, axis in enumerate(np.eye(N - 1)):
        ends = [store.sums(theta + sign * step * axis) for sign in (1, -1)]
        assert sums.gradient[i] == pytest.approx((ends[0].value - ends[1].value) / (2 * step), abs=1e-4)
        slope = (ends[0].gradient - ends[1].gradient) / (2 * step)
        np.testing.assert_allclose(sums.information[i], -slope, atol=1e-4)
    masses = store.masses(theta, gradient=True)
    np.testing.assert_allclose(masses.gradient.sum(axis=0), sums.gradient, atol=1e-8)


def test_an_open_budget_is_a_large_one_with_money_among_the_goods() -> None:
    data, h = records("open"), law_of(Open(1.7))
    kept = 100.0 - np.sum(np.where(np.isfinite(data.prices), data.prices, 0.0) * data.bundles, axis=1)
    closed = sp.Observations(
        np.column_stack([data.prices, np.full(T, 1.7)]), np.full(T, 100.0), np.column_stack([data.bundles, kept / 1.7]),
        caps=np.column_stack([data.caps, np.full(T, 1e6)]),
    )  # fmt: skip
    open_, direct = sp.Regions.of(data), sp.Regions.of(closed)
    for name in ("kind_code", "side", "slope", "pivot"):
        np.testing.assert_array_equal(getattr(open_, name), getattr(direct, name))
    masses = exact_log_mass(direct, h).log_mass
    np.testing.assert_array_equal(log_chance(data.problem.chance(data), h).log_mass, masses)
    event = data.problem.event(data)
    assert len(np.unique(log_chance(event, h).log_mass)) == 1


def test_one_of_n_with_none_is_a_budget_below_every_price() -> None:
    data, h = records("one by value, or none"), law_of(OneOf(True))
    budget = 0.5 * data.prices.min()
    closed = sp.Observations(
        data.prices, np.full(T, budget), np.where(data.bundles > 0, budget / data.prices, 0.0), goods=data.goods
    )
    np.testing.assert_allclose(
        log_chance(data.problem.chance(data), h).log_mass, exact_log_mass(sp.Regions.of(closed), h).log_mass, atol=1e-9
    )
    empty = ~data.bundles.any(axis=1)
    assert 0 < empty.sum() < T


def test_two_of_a_kind_are_a_normal_law_seen_from_afar() -> None:
    """Two goods by unit: the mass is that of u_0 > u_1, an arc of half the circle about the difference."""
    data = sp.choices(np.ones((2, 2)), [0, 1], reading="unit")
    kappa = 2.5
    h = kappa * np.array([1.0, -1.0]) / np.sqrt(2)
    found = np.exp(log_recorded(recorded(data), h).log_mass)
    arc, whole = (quad(lambda angle: np.exp(kappa * np.cos(angle)), -end, end)[0] for end in (np.pi / 2, np.pi))
    np.testing.assert_allclose(found, [arc / whole, 1 - arc / whole], atol=1e-10)


def test_chances_of_some_rows_are_those_of_all() -> None:
    data, h = recorded(records("open, not empty")), law_of(Open(1.7))
    rows = np.array([7, 3, 3, 30])
    np.testing.assert_allclose(
        log_recorded(data.take(rows), h).log_mass, log_recorded(data, h).log_mass[rows], atol=1e-12
    )
    assert isinstance(data.event, Chance)
    assert len(data.event) == T


@every
def test_a_utility_of_ones_own_is_held_as_one_of_all(name: str) -> None:
    problem, _ = PROBLEMS[name]
    data, size = recorded(records(name)), len(problem.coordinates(tuple("abcd")))
    u = np.random.default_rng(12).standard_normal((T, size)) + 0.3
    np.testing.assert_array_equal(data.regions.holds(u), np.diag(data.regions.contains(u)))
    np.testing.assert_array_equal(data.chance.holds(u), np.diag(data.chance.contains(u)))
    if data.event is not None and not PROBLEMS[name][1]:
        np.testing.assert_array_equal(data.event.holds(u), problem.takes_part(u, some_menus(problem)))


def test_an_event_holds_those_who_take_part_and_buy_something() -> None:
    problem, menus = Open(1.7), some_menus(Open(1.7))
    u = np.random.default_rng(13).standard_normal((T, N + 1))
    buys = problem.choose(u, menus).any(axis=1) & problem.takes_part(u, menus)
    assert 0 < buys.sum() < T
    np.testing.assert_array_equal(problem.event(menus, nonempty=True).holds(u), buys)


def test_laws_under_which_nobody_could_be_recorded_are_impossible() -> None:
    # Money is worth so much that what is left of those who buy something is rounding: not a probability of one.
    menus = sp.Menus(np.full((3, 2), 2.0), goods=["tea", "rum"], problem=Open(1.0))
    bundles = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    data = sp.Observations(menus.prices, None, bundles, goods=menus.goods, problem=Open(1.0), nonempty=True)
    h = np.array([1.0, 1.0, 200.0])
    assert np.all(log_recorded(recorded(data), h).log_mass == -np.inf)
    assert sum_recorded(recorded(data), h).value == -np.inf
    near = np.array([1.0, 1.0, 5.0])
    total = sum_recorded(recorded(data), near).value
    assert total == pytest.approx(float(log_recorded(recorded(data), near).log_mass.sum()))
    assert np.isfinite(total)
