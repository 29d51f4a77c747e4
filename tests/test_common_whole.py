"""CommonUtility on whole goods: against brute force, by planted utilities, and as a fit like others."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import stochpref as sp
from stochpref.consensus.bundles import certify_bundles, cover, find_excluders, solve_bundles
from stochpref.consensus.cuts import Cuts, is_proof
from stochpref.consensus.effort import Effort
from stochpref.consensus.exchanges import all_conflicts, deals_of
from stochpref.problems import Whole
from stochpref.report import page
from tests.whole_goods import all_bundles, random_menu


def tiny(seed: int) -> sp.Observations:
    """Return a few observations of a few goods, some of one utility, some of any."""
    rng = np.random.default_rng([seed, 77])
    n, size = int(rng.integers(2, 4)), int(rng.integers(3, 7))
    shared, prices, budgets = rng.standard_normal(n), [], []
    _, _, caps = random_menu(rng, n, 2)
    for _ in range(size):
        a, b, _ = random_menu(rng, n, 2)
        prices.append(a)
        budgets.append(b)
    u = np.where(rng.random((size, 1)) < 0.5, shared, rng.standard_normal((size, n)))
    menus = sp.Menus(np.array(prices), budgets, caps=caps, problem="whole")
    return sp.Observations(prices, budgets, Whole().choose(u, menus), caps=caps, problem="whole")


def is_shared_slowly(data: sp.Observations, rows: tuple[int, ...]) -> bool:
    """Whether some utility makes every bundle the only best one, with all other bundles written out."""
    cuts = []
    for t in rows:
        others = all_bundles(data.prices[t], float(data.budgets[t]), data.caps[t])
        cuts.append(data.bundles[t] - others[np.abs(others - data.bundles[t]).max(axis=1) > 0.5])
    normals = np.concatenate(cuts)
    if not len(normals):
        return True
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    n = data.n_goods
    found = linprog(
        np.append(np.zeros(n), -1.0), A_ub=np.column_stack([-normals, np.ones(len(normals))]),
        b_ub=np.zeros(len(normals)), bounds=[(-1, 1)] * n + [(None, 1)],
    )  # fmt: skip
    return bool(found.x[-1] > 1e-9)


def most_slowly(data: sp.Observations) -> int:
    size = len(data)
    return next(
        k
        for k in range(size, -1, -1)
        if any(is_shared_slowly(data, rows) for rows in combinations(range(size), k)) or k == 0
    )


def market(
    n: int, size: int, corruption: float, seed: int, cap: int = 1, n_whole: int | None = None
) -> tuple[sp.Observations, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    u /= np.linalg.norm(u)
    goods = [f"good{i + 1}" for i in range(n)]
    problem = Whole(None if n_whole is None else goods[:n_whole])
    menus = sp.Menus(
        rng.uniform(1, 2, (size, n)), rng.uniform(1, 0.6 * n * cap + 1, size), goods=goods, caps=cap, problem=problem
    )
    return sp.simulate(sp.CorruptedUtilityLaw(u, corruption), menus, size, rng=rng), u


@pytest.mark.parametrize("seed", range(25))
def test_counts_and_bounds_are_those_of_brute_force(seed: int) -> None:
    data = tiny(seed)
    regions = data.problem.explained(data)
    assert not regions.is_degenerate.any()
    most = most_slowly(data)
    found = solve_bundles(
        regions, centre="bayes", effort=Effort(seconds=5), rng=np.random.default_rng(0), report=lambda _: None
    )
    assert found.is_consistent.sum() == most
    assert found.upper_bound == most
    assert is_shared_slowly(data, tuple(np.flatnonzero(found.is_consistent)))
    for t, other in enumerate(found.witness):
        assert other < 0 or not is_shared_slowly(data, (t, int(other)))


@pytest.mark.parametrize("cap", [1, 2])
def test_conflicts_are_true_and_those_that_can_be_seen_are_found(cap: int) -> None:
    data, _ = market(4, 24, 0.7, seed=3, cap=cap)
    rows = data.problem.explained(data).rows
    found = all_conflicts(deals_of(rows))
    reach = [all_bundles(data.prices[t], float(data.budgets[t]), data.caps[t]) for t in range(len(data))]
    n_conflicts = 0
    for s, t in combinations(range(len(data)), 2):
        together = data.bundles[s] + data.bundles[t]
        others = together - reach[s]  # what t would have to buy
        is_in_reach = (others[:, None] == reach[t][None]).all(axis=2).any(axis=1)
        exchanged = is_in_reach & (reach[s] != data.bundles[s]).any(axis=1)
        assert found[s, t] == exchanged.any()
        n_conflicts += int(found[s, t])
    assert 20 < n_conflicts < 250


def test_bundles_of_one_utility_never_conflict() -> None:
    for seed, cap, n_whole, share in ((0, 1, None, 0.6), (1, 3, None, 0.6), (2, 1, 4, 0.3)):
        data, u = market(7, 150, 0.4, seed, cap, n_whole)
        regions = data.problem.explained(data)
        held = regions.contains(u, strict=True)
        conflict = all_conflicts(deals_of(regions.rows))
        assert held.sum() > 70
        assert not conflict[np.ix_(held, held)].any()
        assert conflict[np.ix_(~held, held)].any(axis=1).mean() > share


@pytest.mark.parametrize(
    ("n", "size", "cap", "n_whole"), [(6, 150, 1, None), (12, 120, 1, None), (5, 100, 3, None), (5, 80, 1, 3)]
)
def test_no_less_is_explained_than_by_the_planted_utility(n: int, size: int, cap: int, n_whole: int | None) -> None:
    data, u = market(n, size, 0.25, 5, cap, n_whole)
    model = sp.CommonUtility(random_state=0).fit(data)
    regions = data.problem.explained(data)
    planted = int(regions.contains(u, strict=True).sum())
    assert planted <= model.n_consistent_ <= model.upper_bound_
    assert model.is_optimal_ or n_whole is not None  # of goods in part exchanges tell less
    np.testing.assert_array_equal(model.consistent_, regions.contains(model.utility_, strict=True))
    np.testing.assert_array_equal(model.predict(data.menus)[model.consistent_], data.bundles[model.consistent_])
    others = model.excluded_by_[model.excluded_by_ >= 0]
    assert others.size
    assert model.consistent_[others].all()
    lower, upper = model.utility_interval_.T
    assert ((lower <= model.utility_) & (model.utility_ <= upper)).mean() > 0.6


def test_larger_data_are_solved_through_a_sample() -> None:
    data, u = market(6, 150, 0.2, 8)
    regions = data.problem.explained(data)
    found = solve_bundles(
        regions, centre="bayes", effort=Effort(core_size=60), rng=np.random.default_rng(0), report=lambda _: None
    )
    planted = int(regions.contains(u, strict=True).sum())
    assert planted - 2 <= found.is_consistent.sum() <= found.upper_bound
    assert found.upper_bound >= planted
    assert any("core of" in step for step in found.steps)


def test_off_one_menu_the_most_frequent_bundle_is_all_there_is_to_know() -> None:
    bundles = np.array([[1, 0, 0]] * 3 + [[0, 1, 1]] * 5 + [[1, 1, 0]] * 4, float)
    data = sp.Observations(np.ones((12, 3)), np.full(12, 2.0), bundles, problem="whole")
    few = sp.Observations(np.ones((2, 1)), [2.0, 2.0], [[1.0], [0.0]], caps=2, problem="whole")
    with pytest.raises(sp.InvalidObservations, match="degenerate"):  # one of a good, with money for two
        sp.CommonUtility(random_state=0).fit(few)
    model = sp.CommonUtility(random_state=0).fit(data)
    assert model.n_consistent_ == model.upper_bound_ == 5
    assert "one menu for all: the most frequent bundle, 5 of 12" in model.steps_[0]
    assert "the most frequent bundle" in str(model.summary())
    np.testing.assert_array_equal(model.excluded_by_, [3] * 3 + [-1] * 5 + [3] * 4)
    np.testing.assert_array_equal(model.predict(data.menus[:1]), [[0, 1, 1]])


@pytest.mark.parametrize("centre", ["chebyshev", "vertex"])
def test_centres_explain_as_much(centre: str) -> None:
    data, _ = market(6, 100, 0.2, 4)
    some, other = (sp.CommonUtility(centre=c, random_state=0).fit(data) for c in ("bayes", centre))
    assert some.n_consistent_ == other.n_consistent_
    assert np.abs(some.utility_ - other.utility_).max() > 1e-6


def test_only_whole_sums_are_proofs() -> None:
    owner = np.arange(3)
    rows = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])
    assert is_proof(Cuts(rows, owner))
    assert is_proof(Cuts(rows * [[1.0], [2.0], [1.0]], owner))
    assert not is_proof(Cuts(rows * [[1.0], [1.0], [-1.0]], owner))  # weights of both signs
    assert not is_proof(Cuts(rows[:2], owner[:2]))  # no sum is 0
    assert not is_proof(Cuts(rows[[0, 0, 1, 2]], np.arange(4)))  # several sums: nothing is claimed
    assert not is_proof(Cuts(rows * 0.5, owner))  # goods in part


def test_groups_that_prove_a_bound_have_nobody_in_common() -> None:
    conflict = np.zeros((6, 6), bool)
    for s, t in ((0, 3), (1, 3), (1, 0), (2, 4)):
        conflict[s, t] = conflict[t, s] = True
    kept = np.array([False, False, False, True, True, True])
    assert cover(conflict, np.random.default_rng(0)).sum() == 3
    proven = certify_bundles(conflict, kept, lambda t, free: np.empty(0, np.intp))  # 0, 1 and 3 are a clique
    assert proven.number == 3
    np.testing.assert_array_equal(proven.witness, [3, 3, 4, -1, -1, -1])
    conflict[0, 1] = conflict[1, 0] = False
    assert certify_bundles(conflict, kept, lambda t, free: np.empty(0, np.intp)).number == 4
    asked = []
    proven = certify_bundles(conflict, kept, lambda t, free: asked.append(free.copy()) or np.array([5]))
    assert proven.number == 3
    np.testing.assert_array_equal(asked, [[False, False, False, False, False, True]])


@cache
def fitted() -> sp.CommonUtility:
    return sp.CommonUtility(random_state=0).fit(market(5, 80, 0.3, 6)[0])


def test_what_is_odd_is_explained() -> None:
    model = fitted()
    data = model.observations_
    for t in range(len(data)):
        why = model.explain(t)
        assert why.is_consistent == model.consistent_[t] == (not why.at_odds)
        for good in why.at_odds:
            assert good.bought != good.expected
            assert (good.worth > good.threshold) == (good.expected > good.bought)
    odd = int(np.flatnonzero(~model.consistent_)[0])
    assert "is odd (whole):" in str(model.explain(odd))
    fresh = data[[odd]].concat(data[np.flatnonzero(model.consistent_)])
    excluders = model.explain(0, fresh).excluded_by
    assert excluders
    regions = fresh.problem.explained(fresh)
    assert find_excluders(regions, np.arange(len(fresh)) > 0, 0) == excluders


def test_probabilities_are_those_of_odd_customers_and_of_the_others() -> None:
    model = fitted()
    data = model.observations_
    every = all_bundles(data.prices[0], float(data.budgets[0]), data.caps[0])
    menu = sp.Observations(
        np.tile(data.prices[0], (len(every), 1)), np.full(len(every), data.budgets[0]), every, problem="whole"
    )
    logs = model.log_likelihood(menu)
    possible = np.isfinite(logs)
    assert np.exp(logs[possible]).sum() == pytest.approx(1.0, abs=0.02)
    odd = (len(data) - model.n_consistent_ + 1) / (len(data) + 2)
    assert np.exp(logs.max()) > 1 - odd


def test_it_is_a_fit_like_others(tmp_path: Path) -> None:
    model = fitted()
    data = model.observations_
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    np.testing.assert_array_equal(again.log_likelihood(data), model.log_likelihood(data))
    assert str(again.summary()) == str(model.summary())
    assert page.render(again) == page.render(model)
    assert again.explain(3).at_odds == model.explain(3).at_odds
    whole = sp.compare_fits({"one": model, "two": again}, data[:20])
    assert whole.differences[0].mean == 0.0
    demand = model.demand(data.menus[:3])
    np.testing.assert_array_equal(demand.mean, model.predict(data.menus[:3]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": "theorem"}, "margin must be 0 where goods are whole"),
        ({"solver": "annealing"}, "solver='annealing' is for divisible goods"),
        ({"engine": "dask"}, "engine='dask' compares divisible goods"),
    ],
)
def test_what_whole_goods_have_not_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.CommonUtility(**settings).fit(market(4, 20, 0.2, 0)[0])
