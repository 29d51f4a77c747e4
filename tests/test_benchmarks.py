"""The benchmarks that compare two commits: what they find, what they call the same, what they call slower."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import ratios, same_numbers
from benchmarks.cases import CASES, Numbers
from benchmarks.cases.registry import Case, can_run, flat, settings, write_numbers

HERE: Numbers = {"draws": np.array([1.0, 2.0, np.nan]), "name": np.array("gibbs"), "kept": np.array([True, False])}


def test_every_module_with_a_main_is_a_benchmark() -> None:
    known = command.benchmarks()
    assert {"choice", "gpu", "real_data", "calibration", "posterior", "ratios", "same_numbers"} <= set(known)
    assert not {"timing", "sides", "published", "cases"} & set(known)
    assert all(known.values())
    assert set(command.USUAL) <= set(known)


@pytest.mark.parametrize(
    ("changed", "allowed", "is_within", "words"),
    [
        ({}, 0.0, True, "equal"),
        ({"draws": np.array([1.0, 2.0 + 1e-9, np.nan])}, 0.0, False, "5.0e-10, allowed 0: draws, 1 of 3"),
        ({"draws": np.array([1.0, 2.0 + 1e-9, np.nan])}, 1e-8, True, "5.0e-10, allowed 1e-08"),
        ({"draws": np.array([1.0, 2.0, 3.0])}, 1e-8, False, "not comparable"),
        ({"draws": np.array([1.0, 2.0])}, 1e-8, False, "not comparable"),
        ({"name": np.array("layered")}, 1e-8, False, "not comparable, allowed 1e-08: name"),
        ({"kept": np.array([True, True])}, 1e-8, False, "not comparable, allowed 1e-08: kept"),
        ({"kept": np.array([1, 0])}, 0.0, False, "kept"),
        ({"more": np.zeros(2)}, 0.0, True, "equal; new has 1 more"),
    ],
)
def test_the_same_numbers_are_told_from_others(changed: Numbers, allowed: float, is_within: bool, words: str) -> None:
    found, said = same_numbers.compare(HERE, HERE | changed, allowed)
    assert found == is_within
    assert words in said


def test_the_sign_of_a_zero_is_a_difference() -> None:
    found, _ = same_numbers.compare({"a": np.array([0.0])}, {"a": np.array([-0.0])}, 0.0)
    assert not found


def test_a_case_that_fails_or_lacks_numbers_is_not_the_same() -> None:
    assert same_numbers.compare("ValueError: no", HERE, 1.0) == (False, "old fails: ValueError: no")
    assert same_numbers.compare(HERE, {"draws": HERE["draws"]}, 1.0) == (False, "new lacks name, kept")


def test_a_case_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Numbers:
        raise ValueError("out of luck")

    monkeypatch.setitem(CASES, "broken", Case("broken", broken, 0.0, ""))
    write_numbers(tmp_path, ["broken", "bisection"])
    assert same_numbers.read_numbers(tmp_path, "broken") == "ValueError: out of luck"
    assert "ratios" in same_numbers.read_numbers(tmp_path, "bisection")
    assert same_numbers.read_numbers(tmp_path, "missing") == same_numbers.NOTHING


def test_what_is_not_installed_is_left_out() -> None:
    assert not can_run(Case("absent", dict, 0.0, "no_such_package"))


def test_options_are_found_wherever_they_are() -> None:
    assert settings("MetropolisOptions")(n_cloud=7).n_cloud == 7
    with pytest.raises(LookupError, match="NoSuchOptions"):
        settings("NoSuchOptions")


def test_records_become_numbers_by_path() -> None:
    found = flat({"a": [1.0, 2.0], "b": {"c": (3, None, "text")}, "d": ("x", "y"), "e": object()})
    assert {name: values.tolist() for name, values in found.items()} == {"a": [1.0, 2.0], "b.c.0": 3}


def test_a_slower_side_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the turns of each side the fastest counts: (turn, side, clock or cores).
    seconds = np.array([[[1.0, 2.0], [1.2, 2.0]], [[9.0, 9.0], [1.1, 9.0]]])
    assert ratios.ratio_of(seconds) == pytest.approx([1.1, 1.0])
    monkeypatch.setattr(ratios.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert ratios.is_worse(seconds)
    monkeypatch.setattr(ratios.os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    assert not ratios.is_worse(seconds)


def test_timed_cases_go_by_their_first_words() -> None:
    laws = [f"regions.of.{law}" for law in ratios.LAWS]
    assert ratios.chosen(["regions.of", "choice"]) == [*laws, "choice.choose"]
    assert ratios.chosen([]) == list(ratios.CASES)
    with pytest.raises(SystemExit, match="no timed case 'nothing'"):
        ratios.chosen(["nothing"])


@pytest.mark.parametrize("name", ["regions.of.i", "choice.choose", "mass.few_goods"])
def test_a_timed_case_runs(name: str) -> None:
    assert ratios.CASES[name]()() is not None
