# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Linear programmes: what is best, what binds, what decisions reveal, and which utilities explain them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import stochpref as sp
from tests.programmes import Listed, all_paths, grid, knapsacks, paths, transports


def some_programme(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A bounded programme with a decision inside, rows of all kinds, bounds above, below and none."""
    n, r, k = 7, 5, 2
    x = rng.uniform(-1, 1, n)
    A, E = rng.standard_normal((r, n)), rng.standard_normal((k, n))
    lower, upper = x - rng.uniform(0.1, 2, n), x + rng.uniform(0.1, 2, n)
    lower[0], upper[1], lower[2], upper[2] = -np.inf, np.inf, -np.inf, np.inf
    A = np.vstack([A, [[0, 1, 1, 0, 0, 0, 0.0]], [[0, 1, -1, 0, 0, 0, 0.0]], [[-1, 0, 0, 0, 0, 0, 0.0]]])
    return {"A": A, "b": A @ x + rng.uniform(0, 1, r + 3), "E": E, "e": E @ x, "lower": lower, "upper": upper}


def test_the_best_decision_is_that_of_another_solver() -> None:
    n_bounded = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        one = some_programme(rng)
        utilities = rng.standard_normal((5, 7))
        sides = np.column_stack([one["lower"], one["upper"]])
        others = [
            linprog(-u, one["A"], one["b"], one["E"], one["e"], sides) for u in (*utilities, *np.eye(7), *-np.eye(7))
        ]
        if any(other.status == 3 for other in others):  # not bounded
            with pytest.raises(sp.InvalidArgument, match="must be bounded"):
                sp.LinearProgramme(**one).solve(np.vstack([np.eye(7), -np.eye(7)]), np.zeros(14, int))
            continue
        found = sp.LinearProgramme(**one).solve(utilities, np.zeros(5, int))
        n_bounded += 1
        for u, x, other in zip(utilities, found, others, strict=False):
            assert u @ x == pytest.approx(-other.fun, abs=1e-8)
        assert np.all(found @ one["A"].T <= one["b"] + 1e-8)
        np.testing.assert_allclose(found @ one["E"].T, np.tile(one["e"], (5, 1)), atol=1e-8)
    assert n_bounded > 20


def test_degenerate_programmes_are_solved() -> None:
    # Every path leaves most arcs at zero, so most pivots of the simplex method gain nothing.
    programme, every = paths(5), all_paths(5)
    assert len(every) == 70
    u = np.random.default_rng(1).standard_normal((500, 40))
    best = programme.solve(u, np.zeros(500, int))
    np.testing.assert_allclose(np.sum(u * best, axis=1), (u @ every.T).max(axis=1), atol=1e-9)


def test_programmes_of_their_own_are_those_one_by_one() -> None:
    rng = np.random.default_rng(2)
    E, e = grid(3)
    upper = np.ones((6, 12))
    upper[np.arange(6), rng.integers(12, size=6)] = 0.0  # a closed arc each
    both = sp.LinearProgramme(E=E, e=e, upper=upper)
    u, rows = rng.standard_normal((30, 12)), rng.integers(6, size=30)
    alone = [sp.LinearProgramme(E=E, e=e, upper=upper[t]).solve(v[None], [0])[0] for v, t in zip(u, rows, strict=True)]
    np.testing.assert_allclose(both.solve(u, rows), alone, atol=1e-12)
    np.testing.assert_array_equal(both.take(rows[:4]).solve(u[:4]), both.solve(u[:4], rows[:4]))


def test_what_always_binds_is_found_and_projected_out() -> None:
    # x0 + x1 <= 1 and x0 + x1 >= 1 (twice), and x3 <= 0 beside x3 >= 0: nobody wrote an equality.
    A = np.array([[1, 1, 0, 0], [-1, -1, 0, 0], [-2, -2, 0, 0], [0, 0, 0, 1.0], [0, 0, 1, 0]])
    programme = sp.LinearProgramme(A, [1, -1, -2, 0, 0.7], upper=[1, 1, 1, 5])
    data = sp.Decisions(programme, [[1, 0, 0.7, 0]])
    assert data.basis.shape == (4, 2)
    np.testing.assert_allclose(
        data.basis @ data.basis.T, [[0.5, -0.5, 0, 0], [-0.5, 0.5, 0, 0], [0, 0, 1, 0], [0] * 4], atol=1e-12
    )
    np.testing.assert_allclose(data.hidden.T @ data.basis, 0, atol=1e-12)
    # The one programme of the literature says the same of paths: max Σs, s slack of homogenised rows.
    E, e = grid(3)
    found = sp.Decisions(paths(3), all_paths(3)[:1])
    assert found.basis.shape[1] == 12 - 8
    R, q = np.vstack([-np.eye(12), np.eye(12)]), np.append(np.zeros(12), np.ones(12))
    k = len(q)
    cost = np.concatenate([np.zeros(12), -np.ones(k), [0.0]])
    inside = linprog(
        cost, np.hstack([R, np.eye(k), -q[:, None]]), np.zeros(k), np.hstack([E, np.zeros((9, k)), -e[:, None]]),
        np.zeros(9), [(None, None)] * 12 + [(0, 1)] * k + [(1, None)],
    )  # fmt: skip
    assert np.all(inside.x[12 : 12 + k] > 0.5)  # no bound of a 3 × 3 grid always binds


def test_cones_explain_what_is_chosen_and_nothing_else() -> None:
    programme, plans = transports(np.random.default_rng(0))
    rng = np.random.default_rng(3)
    u = rng.standard_normal((300, 6))
    chosen = programme.solve(u, np.zeros(300, int))
    assert {tuple(x) for x in chosen} <= {tuple(x) for x in plans}
    data = sp.Decisions(programme, chosen)
    assert not data.is_degenerate.any()
    n_complete = 0
    for t, cone in enumerate(data.cones):
        gaps = (chosen[t] - plans)[np.any(chosen[t] != plans, axis=1)]
        assert cone.inside is not None
        assert np.all(gaps @ cone.inside > 1e-9)
        if cone.is_complete:
            n_complete += 1
            assert np.all(cone.facets @ u[t] >= -1e-9)
            other = rng.standard_normal((200, 6))
            np.testing.assert_array_equal(np.all(other @ cone.facets.T > 0, axis=1), np.all(other @ gaps.T > 0, axis=1))
    assert n_complete > 100


def test_scales_redundant_rows_and_equalities_change_no_cone() -> None:
    programme, _ = transports(np.random.default_rng(0))
    A, b = programme.A, programme.b
    wider = sp.LinearProgramme(
        np.vstack([A * np.array([3.0, 1, 0.1, 1, 7])[:, None], A[0] + A[1], A[:2], np.ones(6)]),
        np.concatenate([b * [3.0, 1, 0.1, 1, 7], [b[0] + b[1] + 1], b[:2], [100.0]]), upper=3.0,
    )  # fmt: skip
    chosen = programme.solve(np.random.default_rng(4).standard_normal((40, 6)), np.zeros(40, int))
    for one, other in zip(sp.Decisions(programme, chosen).cones, sp.Decisions(wider, chosen).cones, strict=True):
        assert one.is_complete == other.is_complete
        np.testing.assert_allclose(one.inside, other.inside, atol=1e-12)
        order = [np.lexsort(np.round(cone.facets, 9).T) for cone in (one, other)]
        np.testing.assert_allclose(one.facets[order[0]], other.facets[order[1]], atol=1e-9)


def test_decisions_inside_a_face_are_degenerate() -> None:
    programme = paths(3)
    mixed = all_paths(3)[:2].mean(axis=0)
    data = sp.Decisions(programme, [all_paths(3)[0], mixed])
    np.testing.assert_array_equal(data.is_degenerate, [False, True])
    np.testing.assert_array_equal(data.usable("drop"), [0])
    with pytest.raises(sp.InvalidObservations, match=r"1 decision \(row 1\) lie inside a face.*degenerate='drop'"):
        data.usable("refuse")


def test_directions_that_an_optimiser_of_ones_own_reveals() -> None:
    every = all_paths(3)
    own, programme = Listed(every[None]), paths(3)
    chosen = every[[0, 2, 2, 4]]
    found, known = sp.Decisions(own, chosen), sp.Decisions(programme, chosen)
    np.testing.assert_allclose(found.basis @ found.basis.T, known.basis @ known.basis.T, atol=1e-9)
    assert not found.is_degenerate.any()
    some = found[[3, 1]]
    np.testing.assert_array_equal(some.chosen, chosen[[3, 1]])
    assert len(knapsacks(4, 3, np.random.default_rng(0)).decisions) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"A": [[1.0, 1.0]]}, "A and b belong together"),
        ({}, "how many variables"),
        ({"A": [[1.0, 1.0]], "b": [1.0, 2.0]}, "b must have an entry for each row of A"),
        ({"A": [[1.0, np.nan]], "b": [1.0]}, "A must be finite"),
        ({"A": [[1.0, 1.0]], "b": [1.0], "lower": 2.0, "upper": 1.0}, "lower must not exceed upper"),
        ({"A": np.ones((3, 1, 2)), "b": np.ones((2, 1))}, "one for each observation; received A 3, b 2"),
        ({"A": [[1.0, 1.0]], "b": [1.0], "upper": np.ones((2, 3, 1))}, "upper must be"),
    ],
)
def test_programmes_that_make_no_sense_are_refused(arguments: dict, words: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=words):
        sp.LinearProgramme(**arguments)


def test_sets_without_decisions_or_bounds_are_refused() -> None:
    with pytest.raises(sp.InvalidArgument, match="must have a decision that obeys all"):
        sp.LinearProgramme([[1.0, 1.0]], [-1.0]).solve([[1.0, 1.0]])
    with pytest.raises(sp.InvalidArgument, match="must be bounded"):
        sp.LinearProgramme([[1.0, -1.0]], [1.0]).solve([[1.0, 1.0]])
    with pytest.raises(sp.InvalidObservations, match=r"1 row \(row 1\) break"):
        sp.Decisions(paths(3), [all_paths(3)[0], np.ones(12)])
    with pytest.raises(sp.InvalidArgument, match=r"object with solve\(utilities, rows\)"):
        sp.Decisions(7, np.ones((1, 3)))
