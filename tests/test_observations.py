from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.problems import Divisible

PRICES = np.array([[2.0, 3.0, 5.0], [2.0, np.nan, 5.0]])
BUDGETS = np.array([5.0, 4.5])
BUNDLES = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.5]])


def observations(**changes: object) -> sp.Observations:
    arguments: dict[str, object] = {"prices": PRICES, "budgets": BUDGETS, "bundles": BUNDLES} | changes
    return sp.Observations(**arguments)  # type: ignore[arg-type]


def test_arrays_are_copied_frozen_and_nan_prices_become_inf() -> None:
    prices = PRICES.copy()
    obs = observations(prices=prices, goods=["a", "b", "c"], customers=[7, 8])
    prices[0, 0] = 99.0
    assert obs.prices[0, 0] == 2.0
    assert obs.prices[1, 1] == np.inf
    assert obs.goods == ("a", "b", "c")
    assert obs.customers == ("7", "8")
    for array in (obs.prices, obs.budgets, obs.bundles, obs.caps):
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    with pytest.raises(AttributeError):
        obs.prices = prices  # type: ignore[misc]


def test_slicing_masks_and_concat_keep_everything_together() -> None:
    obs = observations(customers=["x", "y"], caps=[1.0, 2.0, 3.0], labels=["mon", "tue"])
    assert len(obs[1:]) == 1
    assert obs[1:].customers == ("y",)
    np.testing.assert_array_equal(obs[np.array([False, True])].bundles, BUNDLES[1:])
    both = obs[:1].concat(obs[1:])
    for name in ("prices", "budgets", "bundles", "caps"):
        np.testing.assert_array_equal(getattr(both, name), getattr(obs, name))
    assert (both.customers, both.labels) == (obs.customers, obs.labels)
    assert (obs[1:].name(0), observations().name(0), obs.concat(observations()).labels) == ("tue", "1", None)
    assert obs.menus.labels == obs.labels
    menus = obs.menus
    assert isinstance(menus, sp.Menus)
    np.testing.assert_array_equal(menus[1].budgets, [4.5])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"prices": [[1.0, 2.0, 0.0], PRICES[1]]},
            r"prices: a price must be positive; 1 break.*row 0: 0 for good 2",
        ),
        ({"prices": [[1.0, 2.0, -np.inf], PRICES[1]]}, r"prices: a price must be positive.*-inf for good 2"),
        ({"prices": PRICES[0]}, r"prices must have shape \(n_observations, n_goods\); received shape \(3,\)"),
        ({"prices": np.ones((0, 3))}, "at least one observation"),
        ({"prices": np.ones((2, 0))}, "one good"),
        ({"prices": [["a", 1, 2], [1, 2, 3]]}, "prices must be a rectangular array of numbers"),
        ({"prices": [[1, 2, 3], [1, 2]]}, "prices must be a rectangular array of numbers"),
        ({"prices": PRICES * (1 + 1j)}, "prices must be"),
        ({"budgets": [5.0, np.nan]}, "budgets: a budget must be a finite number.*row 1: nan"),
        ({"budgets": [5.0, np.inf]}, "budgets: a budget must be a finite number.*row 1: inf"),
        ({"budgets": [-1.0, 4.5]}, "budgets: .*row 0: -1"),
        ({"budgets": [5.0]}, "budgets must have one value per row of prices, 2; received 1"),
        ({"budgets": 5.0}, "budgets must have shape"),
        ({"bundles": BUNDLES[:1]}, r"bundles must have the shape of prices, \(2, 3\); received \(1, 3\)"),
        (
            {"bundles": [[1, 1, np.nan], BUNDLES[1]]},
            "bundles: a quantity must be a finite number.*nan for good 2",
        ),
        (
            {"bundles": [[1, 1, -0.1], BUNDLES[1]]},
            "bundles: a quantity must not be negative.*-0.1 for good 2",
        ),
        ({"bundles": [[1.5, 0, 0], BUNDLES[1]]}, "must not exceed its cap.*1.5 for good 0"),
        ({"bundles": [BUNDLES[0], [0, 1, 0]]}, "not on offer cannot be bought.*row 1: 1 for good 1"),
        (
            {"bundles": [[1, 1, 1], BUNDLES[1]]},
            "must not cost more than its budget.*cost 10 against a budget of 5",
        ),
        ({"caps": 0.0}, "caps: a cap must be positive"),
        ({"caps": [1.0, 2.0]}, "caps must be a number"),
        ({"caps": "many"}, "caps must be a number"),
        ({"goods": ["a", "b"]}, "goods must hold 3 names; received 2"),
        ({"goods": ["a", "b", "a"]}, "different names; received 'a' more than once"),
        ({"goods": "abc"}, "goods must be a sequence of names"),
        ({"customers": ["x"]}, "customers must hold 2 names; received 1"),
        *(
            ({argument: names}, rf"{argument} must be whole characters.*received 'b\\udcff'.*read the names again")
            for argument, names in {
                "goods": ["a", "b\udcff", "c"],
                "customers": ["a", "b\udcff"],
                "labels": ["a", "b\udcff"],
            }.items()
        ),
    ],
)
def test_bad_arguments_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        observations(**changes)


def test_errors_carry_every_bad_row_and_count_them() -> None:
    bundles = np.tile([1.0, 1.0, 1.0], (5, 1))
    with pytest.raises(sp.InvalidObservations, match=r"4 break this \(rows 0, 1, 2 and 1 more\)") as caught:
        sp.Observations(np.ones((5, 3)), [1.0, 1.0, 1.0, 1.0, 3.0], bundles)
    assert caught.value.rows == (0, 1, 2, 3)
    assert Divisible().find_faults(sp.Menus(np.ones((5, 3)), np.full(5, 3.0)), bundles) == []


def test_selections_that_cannot_work_are_refused() -> None:
    obs = observations()
    for rows in (np.zeros(2, bool), [], 5, np.zeros(3, bool)):
        with pytest.raises(sp.InvalidArgument):
            obs[rows]
    with pytest.raises(sp.InvalidArgument, match="same goods"):
        obs.concat(observations(goods=["a", "b", "c"]))
    with pytest.raises(sp.InvalidArgument, match="received list"):
        obs.concat([obs])  # type: ignore[arg-type]


def test_spending_to_the_last_cent_is_not_overspending() -> None:
    spent = 0.1 * 3  # 0.30000000000000004
    obs = sp.Observations([[0.1, 0.1, 0.1]], [0.3], [[1, 1, 1]])
    assert spent > 0.3
    assert sp.Regions.of(obs).kind.tolist() == ["tight"]


def test_audit_counts_what_is_there_and_reads_well() -> None:
    prices = np.array([[2, 3, 5, np.inf, 1]] * 6 + [[2, 3, 5, np.inf, np.inf]])
    budgets = np.array([20, 5, 4, 4, 10, 20, 20.0])
    bundles = np.array(
        [
            [1, 1, 0, 0, 0],  # slack
            [1, 1, 0, 0, 0],  # tight
            [1, 2 / 3, 0, 0, 0],  # pivot
            [0.5, 1, 0, 0, 0],  # pivot
            [0.5, 0.5, 0, 0, 0],  # degenerate: two in part
            [1, 1, 0, 0, 0],  # the first row again
            [1, 1, 0, 0, 0],  # slack
        ]
    )
    report = sp.Observations(
        prices, budgets, bundles, goods=["tea", "milk", "rum", "gold", "salt"], customers=list("abcdeab")
    ).audit()
    assert report.kinds == {"slack": 3, "pivot": 2, "tight": 1, "degenerate": 1}
    assert report.degenerate_rows == (4,)
    assert report.n_identical_rows == 1
    assert report.n_repeated_customers == 2
    assert report.never_bought == ("rum", "salt")
    assert report.always_bought == ()
    assert report.never_offered == ("gold",)
    assert report.sometimes_absent == 1
    text = str(report)
    for words in (
        "7 observations of 5 goods",
        "degenerate",
        "never on offer",
        "gold",
        "rum, salt",
        "2 labels",
    ):
        assert words in text
    assert report.as_dict()["kinds"]["pivot"] == 2


def test_audit_says_when_everything_is_always_bought_and_money_is_left_on_whole_items() -> None:
    report = sp.Observations(np.ones((3, 2)), [5.0] * 3, np.ones((3, 2))).audit()
    assert report.always_bought == ("good1", "good2")
    assert "budget='spent'" in str(report)
    assert report.n_repeated_customers is None


def test_units_do_not_matter(rng: np.random.Generator) -> None:
    prices, budgets = rng.uniform(1, 2, (200, 4)), rng.uniform(1, 4, 200)
    bundles = sp.choose(rng.standard_normal((200, 4)), prices, budgets)
    base = sp.Regions.of(sp.Observations(prices, budgets, bundles))
    for unit in (1e-9, 0.01, 1e6, 1e12):
        scaled = sp.Regions.of(sp.Observations(prices * unit, budgets * unit, bundles))
        np.testing.assert_array_equal(base.kind, scaled.kind)
        np.testing.assert_array_equal(base.side, scaled.side)


def test_one_good_a_thousand_goods_and_no_budget_at_all() -> None:
    assert sp.Regions.of(sp.Observations([[2.0]], [1.0], [[0.5]])).kind.tolist() == ["pivot"]
    wide = sp.Observations(np.ones((3, 1000)), [500.0] * 3, np.eye(3, 1000))
    assert wide.audit().kinds["slack"] == 3
    broke = sp.Observations([[2.0, 1.0]], [0.0], [[0.0, 0.0]])
    assert sp.Regions.of(broke).contains([-1.0, 1.0], strict=True).tolist() == [True]


def test_rows_are_checked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    obs = observations(goods=["a", "b", "c"])
    counted: list[int] = []
    whole = Divisible.find_faults
    monkeypatch.setattr(Divisible, "find_faults", lambda *parts: counted.append(1) or whole(*parts))
    pieces = obs[1:].concat(obs[[0, 1]]).over(["c", "d", "b", "a"]).menus[::-1].over(["a", "b", "c", "d"])
    np.testing.assert_array_equal(pieces.prices[:, :3], np.where(np.isnan(PRICES), np.inf, PRICES)[[1, 0, 1]])
    assert not counted
    sp.write_observations(obs, tmp_path / "seen.csv")
    read = sp.read_observations(tmp_path / "seen.csv")
    sp.read_menus(tmp_path / "seen.csv")
    assert len(counted) == 2
    for array in (read.prices, read.budgets, read.bundles, read.caps, obs[1:].prices):
        assert not array.flags.writeable


FACED, TAKEN = [[1.0, 2.0], [1.5, 2.5]], [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("observations", "answers"),
    [
        (sp.Observations(FACED, [5.0, 5.0], TAKEN, customers=["a", "a"]), "partly yes yes no partly"),
        (sp.Observations([FACED[0]] * 2, [5.0, 5.0], [[1, 0], [0, 0]], customers=["a", "b"]), "partly no yes yes no"),
        (sp.Observations([[1.0, 2.0], [1.0, 2.5]], [1.0, 2.5], TAKEN), "yes partly no no no"),
        (sp.Observations(FACED, None, TAKEN, problem="open", nonempty=True), "yes yes yes no no"),
        (sp.choices(FACED, [0, 1]), "yes yes no no no"),
        (sp.Observations([[1.0, np.inf], [np.inf, 2.5]], [1.0, 2.5], TAKEN), "no no no no no"),
    ],
)
def test_what_data_can_tell_is_answered_question_by_question(observations: sp.Observations, answers: str) -> None:
    found = observations.audit().answers
    assert " ".join(one.answer for one in found) == answers
    assert all(one.why for one in found if one.answer != "yes")
