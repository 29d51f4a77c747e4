"""The contract of problems and laws, over their tables; what records do with a problem, features and nonempty."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref import laws, names, problems
from stochpref.problems import Divisible, Linear, OneOf, Open, Problem, as_problem, check_handled
from stochpref.stores.packing import data_hash
from tests.contracts import assert_same, check_law, check_problem

# How the problems and laws that need settings are made here.
SETTINGS: dict[str, Callable[[], Problem]] = {
    "linear": lambda: Linear([[1.0, 1.0, 1.0, 1.0, 1.0], [0.5, 0.0, 2.0, 1.0, -0.5]], [2.0, 1.5]),
    "open": lambda: Open(scale=1.5),
}
LAWS: dict[str, Callable[[], object]] = {
    "corrupted": lambda: sp.CorruptedUtilityLaw([1.0, 2.0, -3.0, 0.5], 0.3),
    "lognormal": lambda: sp.LognormalLaw([0.6, 0.0, -0.8, 0.3], [1.0, 2.0, 0.5, 1.0], 2.0, outside=0),
    "mixture": lambda: sp.MixtureLaw(
        [sp.VonMisesFisher([0.6, 0.0, -0.8, 0.0], 4.0), sp.VonMisesFisher([0.0, 1.0, 0.0, 0.0], 20.0)], [0.7, 0.3]
    ),
    "normal": lambda: sp.NormalLaw([0.6, 0.0, -0.8, 0.3], [1.0, 2.0, 0.5, 1.0]),
    "von_mises_fisher": lambda: sp.VonMisesFisher([0.6, 0.0, -0.8, 0.0], 4.0),
}


@pytest.mark.parametrize("name", names.PROBLEMS)
def test_every_problem_keeps_the_contract(name: str) -> None:
    problem = SETTINGS[name]() if name in SETTINGS else as_problem(name)
    assert problem.name == name
    assert getattr(problems, type(problem).__name__) is type(problem)
    check_problem(problem)


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("reading", names.READINGS)
def test_every_choice_of_one_keeps_the_contract(outside: bool, reading: str) -> None:
    check_problem(OneOf(outside, reading))


@pytest.mark.parametrize("name", names.LAWS)
def test_every_law_keeps_the_contract(name: str) -> None:
    law = LAWS[name]()
    assert getattr(laws, type(law).__name__) is type(law)
    check_law(law)  # type: ignore[arg-type]


class Half(Divisible):
    """Divisible goods of which nobody buys more than a share: a problem with numbers and an array of its own."""

    name = "half"

    def __init__(self, share: float = 0.5, weights: object = (1.0, 2.0)) -> None:
        self.share, self.weights = share, np.asarray(weights, np.float64)

    def settings(self) -> dict[str, object]:
        return {"share": self.share, "weights": self.weights}

    def find_faults(self, menus, bundles):  # type: ignore[no-untyped-def]
        found = super().find_faults(menus, bundles)
        if bundles is not None:
            found += problems.faults.per_good(
                "bundles", "a quantity must not exceed the share", bundles, bundles > self.share, "buy less"
            )
        return found


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(names.PROBLEMS, "half", "problems.half:Half")
    monkeypatch.setitem(sys.modules, "stochpref.problems.half", sys.modules[__name__])


def records(**changes: object) -> sp.Observations:
    arguments: dict[str, object] = {
        "prices": [[2.0, 3.0, np.inf], [1.0, 1.0, 1.0], [4.0, 1.0, 2.0]],
        "budgets": [1.0, 0.5, 1.0],
        "bundles": [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]],
        "goods": ["tea", "rum", "jam"],
        "features": {"sweet": np.arange(9.0).reshape(3, 3), "hour": [8.0, 12.0, 20.0]},
    }
    return sp.Observations(**(arguments | changes))  # type: ignore[arg-type]


def test_problems_are_given_by_name_or_as_objects(half: None) -> None:
    assert records().problem == Divisible() == as_problem("divisible")
    assert records(problem=Half(0.75)).problem == Half(0.75) != Half(0.6)
    assert Half(weights=[3.0]) != Half() != Divisible()
    assert len({Half(), Half(), Divisible()}) == 2
    assert records(problem="half").problem == Half()
    assert records().menus.problem == Divisible()
    assert sp.Menus([[1.0]], [1.0]).problem is None
    for wrong, message in (
        (
            "divisable",
            r"problem must be one of divisible, linear, one, open, satiated, whole, half; received 'divisable'; the",
        ),
        (Divisible, r"or an object of stochpref\.problems; received <class .*pass problem='divisible', say"),
        (None, "received None"),
    ):
        with pytest.raises(sp.InvalidArgument, match=message):
            records(problem=wrong)
    with pytest.raises(sp.InvalidArgument, match="'divisable'"):
        sp.Menus([[1.0]], [1.0], problem="divisable")
    with pytest.raises(AttributeError, match="no attribute 'Hole'"):
        problems.Hole  # noqa: B018
    assert "0.75" in repr(Half(0.75))


def test_rules_of_a_problem_are_asked_of_its_records_only(half: None) -> None:
    whole = [[1.0, 0, 0], [0, 1, 1], [1, 0, 0]]
    records(bundles=whole, budgets=[5.0, 2.0, 4.0])
    with pytest.raises(sp.InvalidObservations, match="must not exceed the share; 3 break this") as caught:
        records(bundles=whole, budgets=[5.0, 2.0, 4.0], problem="half")
    assert caught.value.rows == (0, 1, 2)


def test_problem_features_and_nonempty_go_where_rows_and_goods_go(half: None) -> None:
    seen = records(problem=Half(), nonempty=True)
    assert seen.features["sweet"].flags.writeable is seen.features["hour"].flags.writeable is False
    part = seen[[2, 0]]
    np.testing.assert_array_equal(part.features["sweet"], [[6, 7, 8], [0, 1, 2]])
    np.testing.assert_array_equal(part.features["hour"], [20, 8])
    assert (part.problem, part.nonempty) == (Half(), True)
    wide = seen.over(["jam", "new", "tea", "rum"])
    np.testing.assert_array_equal(wide.features["sweet"][1], [5, 0, 3, 4])
    np.testing.assert_array_equal(wide.features["hour"], seen.features["hour"])
    np.testing.assert_array_equal(wide.caps, np.ones((3, 4)))
    assert_same(seen[:1].concat(seen[1:]), seen)
    assert_same(wide[:2].concat(wide[2:]), wide)
    assert_same(pickle.loads(pickle.dumps(wide)), wide)  # as groups in other processes get them
    menus = seen.menus[[1]].over(["rum", "tea", "jam"])
    np.testing.assert_array_equal(menus.features["sweet"], [[4, 3, 5]])
    assert menus.problem == Half()
    with pytest.raises(sp.InvalidArgument, match="goods must be among those of the fit; 1 are not, such as 'jam'"):
        seen.over(["tea", "rum"])
    text = repr(seen)
    assert "3 observations of 3 goods" in text
    for words in ("Half(share=0.5", "'sweet', 'hour'", "none empty"):
        assert words in text
    assert repr(records(features=None)) == "<Observations: 3 observations of 3 goods>"
    assert repr(records(features=None).menus) == "<Menus: 3 menus of 3 goods>"


def test_only_like_is_joined(half: None) -> None:
    seen = records()
    for other, message in (
        (records(problem=Half()), r"same problem; Divisible\(\) against Half"),
        (records(nonempty=True), "same nonempty; received True and False"),
        (records(features=None), r"same features; \['sweet', 'hour'\] against \[\]"),
        (records(features={"sweet": [1.0, 2, 3], "hour": [1.0, 2, 3]}), "same features"),
    ):
        with pytest.raises(sp.InvalidArgument, match=message):
            seen.concat(other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": [1.0, 2.0]}, "features must map names to arrays; received list"),
        ({"features": {"hour": [1.0, 2.0]}}, r"features\['hour'\] must have a value per good, shape \(3, 3\).*\(2,\)"),
        ({"features": {"hour": np.ones((3, 2))}}, r"received shape \(3, 2\)"),
        ({"features": {"hour": "noon"}}, r"features\['hour'\] must be a rectangular array of numbers"),
        (
            {"features": {"hour": [1.0, np.nan, np.inf]}},
            r"must be finite numbers; 2 are not \(rows 1, 2\); fill them in",
        ),
        ({"features": {1: [1.0, 2, 3], "1": [1.0, 2, 3]}}, "features must have different names; received '1'"),
        ({"features": {"\ud800": [1.0, 2, 3]}}, "features must be whole characters"),
        ({"nonempty": "no"}, "nonempty must be True or False; received 'no'"),
        ({"nonempty": True, "bundles": np.zeros((3, 3))}, "bundle must not be empty.*3 break this.*nothing bought"),
    ],
)
def test_bad_features_and_conditions_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        records(**changes)


def test_hashes_count_what_is_there_and_only_that(half: None) -> None:
    plain = records(features=None)
    # As it was before there were problems, features and conditions.
    assert data_hash(plain) == "sha256:62dcae3acd13d1ddb8fa25dca0eb6971ae7dde3574a2e631b63ef5032bf8e486"
    others = [
        plain,
        records(),
        records(features={"sweet": np.arange(9.0).reshape(3, 3)}),
        records(features={"sour": np.arange(9.0).reshape(3, 3)}),
        records(features={"sweet": np.arange(3.0)}),
        records(features=None, nonempty=True),
        records(features=None, problem=Half()),
        records(features=None, problem=Half(0.6)),
        records(features=None, problem=Half(weights=[1.0])),
    ]
    assert len({data_hash(one) for one in others}) == len(others)


def test_what_cannot_be_handled_is_refused_in_one_way(half: None, tmp_path: Path) -> None:
    foreign, picked, plain = records(problem=Half(), features=None), records(nonempty=True), records(features=None)
    common = sp.CommonUtility(random_state=0).fit(records())  # features that it does not read
    fits = (lambda data: sp.CommonUtility().fit(data), lambda data: sp.HeterogeneousUtility(n_draws=2).fit(data))
    for door in (*fits, sp.fit_maximum_likelihood, common.score, common.log_likelihood, sp.estimate_from_signs):
        with pytest.raises(sp.InvalidArgument, match="cannot handle problem 'half'; it "):
            door(foreign)
    with pytest.raises(sp.InvalidArgument, match="cannot handle nonempty=True; it "):
        sp.estimate_from_signs(picked)
    with pytest.raises(sp.InvalidArgument, match="this fit cannot handle problem 'half'; it handles 'divisible'"):
        common.predict(foreign.menus)
    np.testing.assert_array_equal(common.predict(plain.menus), common.predict(records().menus))
    with pytest.raises(sp.InvalidArgument, match="check_menus cannot handle problem 'half'"):
        sp.check_menus(foreign.menus, [0.6, 0.8, 0.0], 3.0, rng=np.random.default_rng(0))
    for data, thing in (
        (foreign, "problem 'half'"),
        (records(nonempty=True, features=None), "nonempty=True"),
    ):
        with pytest.raises(sp.InvalidArgument, match=f"a file of observations cannot handle {thing}"):
            sp.write_observations(data, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
    check_handled(picked, "a model to come", problems=("divisible", "half"), nonempty=True)


def test_customers_solve_the_problem_of_their_menus(half: None) -> None:
    law = sp.VonMisesFisher([0.6, 0.8, 0.0], 4.0)
    menus = sp.Menus(np.ones((9, 3)), np.full(9, 2.0), problem=problems.Divisible(), features={"hour": np.arange(9.0)})
    seen = sp.simulate(law, menus, 9, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(seen.features["hour"], np.arange(9.0))
    assert seen.problem == Divisible()
    assert sp.simulate(law, sp.MenuLaw("fixed"), 9, rng=np.random.default_rng(0)).problem == Divisible()


def test_a_saved_fit_keeps_problem_and_features(tmp_path: Path) -> None:
    seen = records()
    model = sp.CommonUtility(random_state=0).fit(seen)
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    assert_same(loaded.observations_, seen)
    assert loaded.data_hash_ == data_hash(loaded.observations_) == data_hash(seen)
