# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Names that hold control characters: escaped wherever people read them, kept as they are in files and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import stochpref as sp
from stochpref import cli
from stochpref.errors import listed, shown

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
TITLE, CLEAR, LINE, TURNED, C1 = "\x1b]0;title\x07", "\x1b[2J", "\nerror: all is lost\r\b", "\u202e", "\x9b31m"
PLAIN = {"tea": "tea", "milk": "milk", "rum": "rum", "visit": "visit ", "anna": "anna"}
NASTY = {
    "tea": f"te{TITLE}\x7fa", "milk": f"mi{LINE}lk", "rum": f"{CLEAR}ru{TURNED}m", "visit": f"vi{LINE}sit {C1}",
    "anna": f"an{TITLE}{LINE}{TURNED}na",
}  # fmt: skip


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def purchases(names: dict[str, str]) -> sp.Observations:
    """Return thirty purchases of those who like tea best, the last five odd."""
    rng = np.random.default_rng(0)
    utility = np.array([0.8, 0.5, 0.33])
    menus = sp.MenuLaw("uniform").sample(30, 3, rng=rng)
    bundles = np.concatenate(
        [sp.choose(sign * utility, menus[rows].prices, menus[rows].budgets)
         for sign, rows in ((1, slice(25)), (np.array([-1, 1, 1]), slice(25, 30)))]
    )  # fmt: skip
    return sp.Observations(
        menus.prices, menus.budgets, bundles, goods=[names["tea"], names["milk"], names["rum"]],
        customers=[f"{names['anna']}{t % 7}" for t in range(30)], labels=[f"{names['visit']}{t}" for t in range(30)],
    )  # fmt: skip


@pytest.fixture
def texts(tmp_path: Path) -> list[tuple[Result, Result]]:
    """Run the same commands on plain names and on nasty ones; return what both printed."""
    both = []
    for folder, names in (("plain", PLAIN), ("nasty", NASTY)):
        home = tmp_path / folder
        home.mkdir()
        data = purchases(names)
        sp.write_observations(data, home / "all.csv")
        sp.write_menus(data.menus[:2], home / "menus.csv")
        text = (home / "all.csv").read_text()
        first = re.search(r",1\.\d+,", text)
        assert first is not None
        (home / "bad.csv").write_text(text.replace(first[0], ",-1,", 1))
        others = sp.Menus(data.prices[:2], data.budgets[:2], goods=["tea", "milk", f"{names['rum']} and more"])
        sp.write_menus(others, home / "others.csv")
        fitted, odd = home / "fit", home / "odd.csv"
        commands: list[tuple[object, ...]] = [
            ("check", home / "all.csv"), ("check", home / "bad.csv"), ("check", home / "none.csv"),
            ("fit", home / "all.csv", "--model", "common", "--out", fitted, "--odd", odd), ("summary", fitted),
            ("predict", fitted, home / "menus.csv"), ("predict", fitted, home / "others.csv"),
            ("fit", home / "bad.csv", "--model", "common", "--out", home / "x"),
            ("split", home / "bad.csv", "--skip-bad", "--out", home / "a.csv", "--held-out", home / "b.csv"),
            ("compare", fitted, fitted / ".." / "fit", "--held-out", home / "all.csv"),
            ("design", "check", home / "menus.csv"),
            ("design", "menus", "--goods", f"{names['tea']},{names['milk']}", "--batch", 3),
            ("report", fitted, "--out", home / "report.html"),
        ]  # fmt: skip
        both.append([run(*command) for command in commands])
    return list(zip(*both, strict=True))


def test_no_control_character_of_a_name_reaches_the_terminal(texts: list[tuple[Result, Result]]) -> None:
    for plain, nasty in texts:
        assert nasty.exit_code == plain.exit_code, nasty.output
        for clean, dirty in ((plain.stdout, nasty.stdout), (plain.stderr, nasty.stderr)):
            assert not CONTROL.search(dirty)
            assert dirty.count("\n") == clean.count("\n"), dirty  # no name begins a line of its own
    everything = "".join(nasty.output for _, nasty in texts)
    assert r"te\x1b]0;title\x07\x7fa" in everything
    assert r"vi\nerror: all is lost\r\x08sit \x9b31m" in everything
    assert r"\x1b[2Jru\u202em" in everything


def test_what_prints_itself_escapes_names() -> None:
    data = purchases(NASTY)
    model = sp.CommonUtility(random_state=0).fit(data)
    assert not model.consistent_[27]
    law = sp.HeterogeneousUtility(n_draws=20, n_effective=0, sampler="gibbs", random_state=0)
    with pytest.warns(sp.NotConverged):
        law.fit(data)
    other = sp.CommonUtility(random_state=0).fit(data[:20])
    groups = sp.fit_groups(sp.CommonUtility(margin=1e9), data, "customers", jobs=1)
    printed = [
        data.audit(), model.summary(), model.explain(27), law.summary(), law.demand(data.menus[:2]),
        law.elasticities(data.menus[[0]]), sp.fit_maximum_likelihood(data), groups,
        sp.compare_fits({NASTY["tea"]: model, NASTY["rum"]: other}, data),
    ]  # fmt: skip
    for result in printed:
        assert not CONTROL.search(str(result)), type(result)
        assert "\nerror" not in str(result), type(result)


def test_json_and_files_keep_names_as_they_are(tmp_path: Path) -> None:
    data = purchases(NASTY)
    sp.write_observations(data, tmp_path / "all.csv")
    assert sp.read_observations(tmp_path / "all.csv").labels == data.labels
    run("fit", tmp_path / "all.csv", "--model", "common", "--out", tmp_path / "fit")
    told = run("summary", tmp_path / "fit", "--json").stdout
    assert not CONTROL.search(told)
    assert {good[0] for good in json.loads(told)["goods"]} == set(data.goods)


def test_paths_and_messages_are_shown_escaped(tmp_path: Path) -> None:
    told = run("check", tmp_path / f"{CLEAR}.csv")
    assert told.exit_code == 2
    assert r"\x1b[2J.csv: no such file" in told.stderr
    assert not CONTROL.search(run("check", "x.csv", f"--{CLEAR}").stderr)
    assert not CONTROL.search(run("check", "x.csv", "--layout", CLEAR).stderr)
    assert not CONTROL.search(run(CLEAR).stderr)


def test_names_are_cut_and_counted() -> None:
    assert shown("a long name", 6) == "a lon…"
    assert shown("ünï ‍🏽 ①") == "ünï ‍🏽 ①"
    assert ascii(shown("\ud800\u2029")) == r"'\\ud800\\u2029'"  # ascii: a surrogate could not be told of
    assert listed(["a\n", "b", "c"], 2) == r"a\n, b and 1 more"
    assert listed(["a", "b"], 2) == "a, b"
