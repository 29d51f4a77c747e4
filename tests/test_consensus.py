# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Conflicts, cells, proofs and centres against slow twins in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import stochpref as sp
from stochpref.consensus.centre import bayes_point, chebyshev_point, vertex_point
from stochpref.consensus.certificate import certify
from stochpref.consensus.conflicts import are_in_conflict, conflict_matrix, count_conflicts, is_product_at_least
from stochpref.consensus.cover import keep_greedily
from stochpref.consensus.effort import Effort
from stochpref.consensus.feasibility import build_cell, complete, find_cycles, repair
from stochpref.consensus.margins import find_width
from stochpref.consensus.objective import is_possible, pack, theorem_margin
from stochpref.consensus.polish import _interval, cool
from stochpref.consensus.program import solve_programme
from stochpref.consensus.relaxation import relax
from stochpref.consensus.solving import solve
from stochpref.paper.annealing import Annealing, anneal

LAWS = ("uniform", "discrete", "fixed")


def market(
    n: int, T: int, delta: float, law: str, seed: int, contamination: object = None
) -> tuple[sp.Observations, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    u = (u if u.max() > 0 else -u) / np.linalg.norm(u)
    utility_law = sp.CorruptedUtilityLaw(u, delta, contamination)  # type: ignore[arg-type]
    return sp.simulate(utility_law, sp.MenuLaw(law), T, rng=rng), u


def run(observations: sp.Observations, **effort: float):
    regions = sp.Regions.of(observations)
    return solve(regions, centre="bayes", effort=Effort(**effort), rng=np.random.default_rng(0))  # type: ignore[arg-type]


def conflict_slowly(regions: sp.Regions, s: int, t: int) -> bool:
    """Every pair of goods, in rational arithmetic."""
    bought = [set(np.flatnonzero((regions.side[k] == 1) | (regions.side[k] == 0))) for k in (s, t)]
    left = [set(np.flatnonzero((regions.side[k] == -1) | (regions.side[k] == 0))) for k in (s, t)]
    kinds = regions.kind[s], regions.kind[t]
    if "slack" in kinds:
        return bool((kinds[0] == "slack" and left[0] & bought[1]) or (kinds[1] == "slack" and left[1] & bought[0]))

    def ratio(i: int) -> Fraction:
        return Fraction(float(regions.slope[t, i])) / Fraction(float(regions.slope[s, i]))

    return any(
        ratio(i) <= ratio(j) for i in bought[0] & left[1] for j in left[0] & bought[1] if i != j
    )  # ρ < ratio(i), ρ > ratio(j)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [1.0, 0.1, 0.37])
def test_conflicts_agree_with_rational_arithmetic(law: str, scale: float) -> None:
    data, _ = market(5, 50, 0.5, law, seed=8)
    regions = sp.Regions.of(sp.Observations(data.prices * scale, data.budgets * scale, data.bundles))
    found = conflict_matrix(pack(regions))
    slow = [[s != t and conflict_slowly(regions, s, t) for t in range(50)] for s in range(50)]
    np.testing.assert_array_equal(found, slow)
    np.testing.assert_array_equal(count_conflicts(pack(regions)), found.sum(axis=1))


def test_products_are_compared_exactly() -> None:
    rng = np.random.default_rng(3)
    for _ in range(3000):
        a, b = np.exp(rng.uniform(-3, 3, 2))
        c = np.nextafter(a, rng.choice([0.0, 9e9])) if rng.random() < 0.7 else a * rng.choice([0.5, 1.0, 2.0])
        d = np.nextafter(b, rng.choice([0.0, 9e9])) if rng.random() < 0.7 else a * b / c
        bits = np.array([a, b, c, d]).view(np.uint64)
        exact = Fraction(float(a)) * Fraction(float(b)) >= Fraction(float(c)) * Fraction(float(d))
        assert is_product_at_least(*bits) == exact


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [1.0, 0.1, 19.99])
def test_a_common_utility_leaves_no_conflict_and_is_found(law: str, scale: float) -> None:
    for seed, (n, T) in enumerate([(2, 30), (3, 200), (7, 100), (25, 300), (70, 60)]):
        data, _ = market(n, T, 0.0, law, seed)
        data = sp.Observations(data.prices * scale, data.budgets * scale, data.bundles)
        assert not count_conflicts(pack(sp.Regions.of(data))).any()
        solution = run(data)
        assert solution.n_consistent == solution.upper_bound == T


def best_count_in_the_plane(regions: sp.Regions) -> int:
    """Two goods: try one direction inside every cell between critical angles."""
    ratios = (regions.slope[:, 1] / regions.slope[:, 0]).tolist()
    angles = sorted({*np.arctan(ratios).tolist(), *(k * np.pi / 2 for k in range(5))})
    middles = [(a + b) / 2 for a, b in pairwise(angles)]
    u = np.stack([np.cos(middles), np.sin(middles)], axis=1)
    return int(regions.contains(u, strict=True).sum(axis=1).max())


@pytest.mark.parametrize("law", LAWS)
def test_optimum_in_the_plane(law: str) -> None:
    for seed in range(20):
        data, _ = market(2, 40, 0.6, law, seed)
        solution = run(data)
        truth = best_count_in_the_plane(sp.Regions.of(data))
        assert solution.upper_bound >= truth
        assert solution.n_consistent == truth


@pytest.mark.parametrize("law", LAWS)
def test_bounds_hold_and_proofs_are_true(law: str) -> None:
    """Any utility is a lower bound: the programme's, the truth, and 20,000 random ones."""
    rng = np.random.default_rng(11)
    for seed in range(6):
        data, u = market(4, 60, (0.3, 0.6, 0.9)[seed % 3], law, seed, None if seed < 3 else rng.standard_normal(4))
        regions = sp.Regions.of(data)
        packed = pack(regions)
        many = np.vstack([u, rng.standard_normal((20_000, 4))])
        reached = int(regions.contains(many, strict=True).sum(axis=1).max())
        programme = solve_programme(packed, seconds=20.0)
        assert programme.kept is not None
        assert reached <= programme.upper_bound == programme.kept.sum()
        kept, _ = complete(packed, repair(packed, np.ones(60, bool), count_conflicts(packed)), count_conflicts(packed))
        assert certify(packed, kept).upper_bound >= programme.upper_bound
        assert relax(packed).upper_bound >= programme.upper_bound
        solution = run(data)
        assert solution.n_consistent == solution.upper_bound == programme.upper_bound
        assert regions.contains(solution.utility, strict=True).sum() == solution.n_consistent


def choices(*rows: tuple[int, tuple[int, ...]], n: int = 3) -> sp.Observations:
    """One purchase each, at price 1 with a budget of 1: (good bought, goods on offer)."""
    prices, bundles = np.full((len(rows), n), np.inf), np.zeros((len(rows), n))
    for t, (bought, offered) in enumerate(rows):
        prices[t, list(offered)] = 1.0
        bundles[t, bought] = 1.0
    return sp.Observations(prices, np.ones(len(rows)), bundles)


def test_a_cycle_of_three_is_found_and_proven() -> None:
    data = choices((0, (0, 1)), (1, (1, 2)), (2, (2, 0)))
    packed = pack(sp.Regions.of(data))
    assert not conflict_matrix(packed).any()
    assert find_cycles(packed, np.ones(3, bool)) == [[0, 1, 2]]
    solution = run(data)
    assert solution.n_consistent == solution.upper_bound == 2


def test_contradiction_names_the_pair() -> None:
    data = choices((0, (0, 1)), (0, (0, 2)), (1, (0, 1)), (2, (1, 2)), (0, (0, 1)))
    solution = run(data)
    assert solution.n_consistent == solution.upper_bound == 4
    assert np.flatnonzero(~solution.is_consistent).tolist() == [2]
    assert solution.witness[2] in (0, 4)
    assert are_in_conflict(pack(sp.Regions.of(data)), np.array([2]), solution.witness[[2]]).all()


def test_weak_scoring_is_a_trap() -> None:
    """A single negative good ties almost everywhere; strictly it explains next to nothing."""
    data, u = market(6, 400, 0.1, "uniform", seed=4)
    regions = sp.Regions.of(data)
    trap = -np.eye(6)[int(np.argmin(u))]
    assert regions.contains(trap).sum() > regions.contains(u, strict=True).sum()
    assert regions.contains(trap, strict=True).sum() == 0
    assert run(data).n_consistent >= regions.contains(u, strict=True).sum()


@pytest.mark.parametrize("law", LAWS)
def test_large_data_are_solved_through_a_core(law: str) -> None:
    data, u = market(8, 3000, 0.15, law, seed=5)
    through_core = run(data, largest_direct=500, core_size=300)
    directly = run(data)
    assert through_core.n_consistent <= directly.upper_bound
    assert through_core.upper_bound >= directly.n_consistent
    assert through_core.n_consistent >= sp.Regions.of(data).contains(u, strict=True).sum() - 3
    odd = np.flatnonzero(through_core.witness >= 0)
    assert are_in_conflict(pack(sp.Regions.of(data)), odd, through_core.witness[odd]).mean() > 0.95


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = market(5, 700, 0.4, "uniform", seed=6, contamination=np.array([1.0, -0.5, 0.2, 0.1, 0.8]))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        found.append(run(data))
    np.testing.assert_array_equal(found[0].utility, found[1].utility)
    assert found[0].upper_bound == found[1].upper_bound


def test_kept_observations_share_the_cell() -> None:
    for law in LAWS:
        data, _ = market(9, 300, 0.5, law, seed=9)
        regions = sp.Regions.of(data)
        packed = pack(regions)
        n_conflicts = count_conflicts(packed)
        kept = repair(packed, keep_greedily(packed, n_conflicts, rng=np.random.default_rng(0)), n_conflicts)
        kept, cell = complete(packed, kept, n_conflicts)
        centre = bayes_point(cell, rng=np.random.default_rng(1))
        for u in (centre.utility, chebyshev_point(cell), vertex_point(cell)):
            np.testing.assert_array_equal(regions.contains(u, strict=True), kept)
        assert regions[kept].contains(centre.samples, strict=True).all()


def test_bayes_point_is_the_mean_of_the_cell() -> None:
    """Good 0 preferred to good 1: directions uniform between 0 and 45 degrees. Good 2 is only unwanted: -E|N(0,1)|."""
    data = choices((0, (0, 1)), (1, (1,)), n=3)
    slack = sp.Observations([[np.inf, np.inf, 1.0]], [2.0], [[0.0, 0.0, 0.0]])
    packed = pack(sp.Regions.of(data.concat(slack)))
    u = bayes_point(build_cell(packed, np.ones(3, bool)), rng=np.random.default_rng(0)).utility
    assert np.rad2deg(np.arctan2(u[1], u[0])) == pytest.approx(22.5, abs=0.5)
    # |E direction| = sin(22.5°)/(22.5° in radians), E chi_2 = √(π/2), E chi_1 = √(2/π)
    length = np.sin(np.pi / 8) / (np.pi / 8) * np.sqrt(np.pi / 2)
    assert -u[2] / np.hypot(u[0], u[1]) == pytest.approx(np.sqrt(2 / np.pi) / length, rel=0.02)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("least", [0.0, 0.05])
def test_intervals_of_the_heat_bath(law: str, least: float) -> None:
    """Slow twin: membership of u with one coordinate replaced; the margin is scaled so that |u| does not matter."""
    data, _ = market(4, 60, 0.5, law, seed=2)
    regions = sp.Regions.of(data)
    packed = pack(regions)
    rng = np.random.default_rng(1)
    for _ in range(40):
        u, i = rng.standard_normal(4), int(rng.integers(4))
        intervals = [_interval(packed, t, i, u, least) for t in range(60)]
        for value in rng.standard_normal(8):
            u[i] = value
            margin = least * regions.price_scale / np.linalg.norm(u)
            inside = [low < value < high for low, high in intervals]
            np.testing.assert_array_equal(regions.contains(u, margin=margin, strict=True), inside)


def test_heat_bath_improves_on_random_starts() -> None:
    data, u = market(10, 300, 0.3, "uniform", seed=3)
    regions = sp.Regions.of(data)
    starts = np.random.default_rng(2).standard_normal((4, 10))
    best = cool(pack(regions), starts, rng=np.random.default_rng(3), n_sweeps=60)
    counts = regions.contains(best, strict=True).sum(axis=1)
    assert counts.max() >= 0.95 * regions.contains(u, strict=True).sum()


def test_width_of_single_regions() -> None:
    """The widest margin of one region, by the cone programme, is the one `is_possible` computes in closed form."""
    for law in LAWS:
        data, _ = market(4, 25, 0.5, law, seed=1)
        regions = sp.Regions.of(data)
        start = regions.interior_points(rng=np.random.default_rng(0))
        for t in range(25):
            if not (regions.side[t] == 1).any() and regions.kind[t] != "slack":
                continue
            width = find_width(regions[[t]], start[t])
            assert width.margin == pytest.approx(width.limit, rel=1e-6)
            assert is_possible(regions[[t]], 0.999 * width.margin).all()
            assert not is_possible(regions[[t]], 1.001 * width.margin).any()


def test_theorem_margin() -> None:
    assert theorem_margin(5, 10_000) == pytest.approx(1 / (4 * 25 * 10))


def test_annealing_keeps_the_best() -> None:
    data, _ = market(4, 200, 0.1, "uniform", seed=0)
    regions = sp.Regions.of(data)
    settings = Annealing(n_steps=300, temperature=20.0, reduction=0.97)
    first = anneal(regions, 0.0, settings, rng=np.random.default_rng(5))
    again = anneal(regions, 0.0, settings, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(first.last.utility, again.last.utility)
    assert first.best.n_consistent >= first.last.n_consistent
    assert first.best.n_consistent == regions.contains(first.best.utility, strict=True).sum()
    assert first.last.temperature == pytest.approx(20.0 * 0.97**15)
    with pytest.raises(sp.InvalidArgument, match="reduction between 0 and 1"):
        Annealing(reduction=1.5)
