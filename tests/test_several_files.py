# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Several files at once: one set of observations that says which file each is from, and groups fitted apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.groups import load_groups, read_groups
from stochpref.readers import scan

HEADER = "observation,good,price,quantity,budget,store\n"
NORTH = HEADER + "1,milk,2,1,3,n\n1,bread,4,0.25,3,n\n2,milk,2,1,3,s\n2,bread,1,1,3,s\n"
SOUTH = HEADER + "1,milk,2,1,3,n\n1,tea,2,0.5,3,n\n2,milk,2,1,3,s\n2,tea,1,1,3,s\n"
VOTES = "META\nkey;value\nbudget;100\nPROJECTS\nproject_id;cost\n7;60\n9;40\nVOTES\nvoter_id;vote\nv1;7,9\nv2;7\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "shops"
    home.mkdir()
    (home / "north.csv").write_text(NORTH)
    (home / "south.csv").write_text(SOUTH)
    (home / "README.txt").write_text("two shops")
    (home / ".hidden.csv").write_text("x")
    return home


def test_rows_of_all_files_and_goods_of_any(folder: Path) -> None:
    found = sp.read_observations(folder)
    assert found.labels == ("north.csv:1", "north.csv:2", "south.csv:1", "south.csv:2")
    assert found.goods == ("milk", "bread", "tea")
    assert np.isinf(found.prices[:, 2]).tolist() == [True, True, False, False]
    assert found.bundles[2].tolist() == [1, 0, 0.5]
    assert "folder: 1 file of other kinds left alone (README.txt)" in found.notes
    assert any("2 goods of 3 not in all of them" in note for note in found.notes)


@pytest.mark.parametrize("kind", ["paths", "texts", "frames", "folders"])
def test_several_of_anything(folder: Path, tmp_path: Path, kind: str) -> None:
    paths = [folder / "north.csv", folder / "south.csv"]
    sources: list[Any] = {
        "paths": paths,
        "texts": [str(path) for path in paths],
        "frames": [pd.read_csv(path) for path in paths],
        "folders": [folder],
    }[kind]
    wanted = sp.read_observations(folder)
    found = sp.read_observations(sources)
    np.testing.assert_array_equal(found.prices, wanted.prices)
    np.testing.assert_array_equal(found.bundles, wanted.bundles)
    assert (found.labels or ())[0] == {"frames": "table 1:1", "folders": "shops/north.csv:1"}.get(kind, "north.csv:1")


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text(NORTH)
    paths = [tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"]
    assert set(sp.read_observations(paths, by="file").groups or ()) == {str(path) for path in paths}


def test_files_of_different_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(NORTH)
    pd.read_csv(tmp_path / "a.csv").to_parquet(tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("budget,price_milk,quantity_milk\n3,2,1\n")
    (tmp_path / "d.pb").write_text(VOTES)
    with pytest.raises(sp.InvalidArgument, match=r"same problem; Divisible.*Whole.*state one for all"):
        scan(tmp_path)
    found = scan(tmp_path, problem="divisible")
    assert found.layout == "long and wide and pabulib"
    assert len(found.accept()) == 7
    assert found.accept().goods == ("milk", "bread", "7", "9")


def test_bad_rows_say_their_file(folder: Path) -> None:
    (folder / "south.csv").write_text(SOUTH.replace("2,tea,1,1", "2,tea,-1,1"))
    found = scan(folder)
    assert (found.n_read, found.n_bad) == (4, 1)
    with pytest.raises(sp.InvalidObservations, match=r"south\.csv, row 5 \(observation 2\): -1 for 'tea'"):
        found.accept()
    assert found.accept(skip_bad=True).labels == ("north.csv:1", "north.csv:2", "south.csv:1")
    assert found.locate(2) == "south.csv, row 2 (observation 1)"
    assert found.bad[0].position == 3
    (folder / "south.csv").write_text(SOUTH.replace(",price,", ",prise,"))
    with pytest.raises(sp.UnreadableData, match=r"south\.csv: no column 'price'"):
        scan(folder)


def test_a_project_of_another_cost_is_another_project(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text(VOTES)
    (tmp_path / "b.pb").write_text(VOTES.replace("7;60", "7;50"))
    with pytest.raises(sp.InvalidArgument, match=r"'7' is '7' for 60 in a\.pb, and '7' for 50 in b\.pb.*--by file"):
        sp.read_observations(tmp_path)
    assert sp.read_observations(tmp_path, by="file").groups == ("a.pb",) * 2 + ("b.pb",) * 2
    named = VOTES.replace("id;cost", "id;cost;name").replace("7;60", "7;60;Park").replace("9;40", "9;40;Pool")
    (tmp_path / "a.pb").write_text(named)
    (tmp_path / "b.pb").write_text(named.replace("Park", "Swings"))
    with pytest.raises(sp.InvalidArgument, match=r"'7' is '7 Park' for 60 .* '7 Swings' for 60"):
        sp.read_observations(tmp_path)
    (tmp_path / "b.pb").write_text(named.replace("7", "8"))
    assert sp.read_observations(tmp_path).titles == ("7 Park", "9 Pool", "8 Park")


def test_groups_are_columns_files_or_roles(folder: Path) -> None:
    path = folder / "north.csv"
    assert sp.read_observations(path, by="file").groups == ("north.csv", "north.csv")
    for by in ("store", "Store", ["store"]):
        assert sp.read_observations(path, by=by).groups == ("n", "s")
    assert sp.read_observations(path, by="store,observation").groups == ("n,1", "s,2")
    frame = pd.read_csv(path).rename(columns={"observation": "id"})
    assert sp.read_observations(frame, columns={"observation": "id"}, by="observation").groups == ("1", "2")
    wide = pd.DataFrame({"a": [1, 1], "b": [1, 0], "town": ["x", "y"]})
    found = sp.read_observations(wide, columns={"quantity": "*", "price": 1}, budget="spent", by="town")
    assert (found.goods, found.groups) == (("a", "b"), ("x", "y"))
    assert found[1:].groups == ("y",)
    assert found.concat(found).groups == ("x", "y", "x", "y")


@pytest.mark.parametrize(
    ("text", "by", "message"),
    [
        (NORTH, "shop", "no column 'shop' to group by.*'store'"),
        (NORTH, 3, "by must name a column"),
        (NORTH, [], "by must name a column"),
        (NORTH.replace("1,bread,4,0.25,3,n", "1,bread,4,0.25,3,s"), "store", r"row 3 .*'s' after 'n'"),
        (NORTH.replace("1,bread,4,0.25,3,n", "1,bread,4,0.25,3,"), "store", r"row 3 .*: an empty cell"),
    ],
)
def test_groups_are_refused_by_row(tmp_path: Path, text: str, by: Any, message: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(sp.StochprefError, match=f"(?s){message}"):
        sp.read_observations(tmp_path / "x.csv", by=by)


def test_mistakes_in_sources_are_said(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "v.pb").write_text(VOTES)
    for source, message in (
        ([], "an empty list"),
        ([folder / "north.csv"] * 2, "north.csv' twice"),
        (tmp_path / "none", "is a directory that holds no file to read"),
        ([folder / "north.csv", folder / "west.csv"], "no such file"),
        ([folder / "north.csv", 3], "received int"),
    ):
        with pytest.raises(sp.StochprefError, match=message):
            sp.read_observations(source)
    with pytest.raises(sp.InvalidArgument, match=r"do not apply to a \.pb file"):
        sp.read_observations(tmp_path / "v.pb", by="voter_id")


def market(seed: int, goods: list[str], size: int = 60) -> sp.Observations:
    rng = np.random.default_rng(seed)
    taste = np.linspace(1.0, 0.4, len(goods))
    law = sp.VonMisesFisher(taste / np.linalg.norm(taste), 8.0)
    data = sp.simulate(law, sp.MenuLaw("uniform"), size, rng=rng)
    return sp.Observations(data.prices, data.budgets, data.bundles, goods=goods)


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of fits of two files, and of one that cannot be fitted."""
    home = tmp_path_factory.mktemp("apart")
    (home / "shops").mkdir()
    sp.write_observations(market(0, ["tea", "rum", "gin"]), home / "shops" / "north.csv")
    sp.write_observations(market(1, ["gin", "tea"]), home / "shops" / "south.csv")
    # Two goods in part: degenerate.
    tied = sp.Observations([[1.0, 1.0, 1.0]], [1.0], [[0.5, 0.5, 0.0]], goods=["tea", "rum", "gin"])
    sp.write_observations(tied, home / "shops" / "tied.csv")
    words = ["fit", str(home / "shops"), "--by", "file", "--model", "common", "--out", str(home / "fits")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "3 groups over 3 goods: 2 fitted (0 with warnings), 1 failed" in shown.stdout
    assert "north.csv" in shown.stdout
    assert "tied.csv: 1 of 1 observations" in shown.stdout or "tied.csv: " in shown.stdout
    return home / "fits"


def test_each_group_is_fitted_over_what_it_was_offered(fits: Path) -> None:
    found = read_groups(fits)
    assert [row.group for row in found.rows] == ["north.csv", "south.csv", "tied.csv"]
    assert np.isnan(found.rows[1].utility).tolist() == [False, True, False]
    assert "degenerate" in found.rows[2].failure
    alone = sp.load_fit(fits / "000001")
    assert alone.goods_ == ("tea", "gin")
    north = sp.CommonUtility(random_state=sp.load_fit(fits / "000000").random_state)
    fitted = north.fit(sp.read_observations(fits.parent / "shops" / "north.csv"))
    np.testing.assert_array_equal(fitted.utility_, found.rows[0].utility)
    models = load_groups(fits)
    assert isinstance(models["tied.csv"], str)
    with pytest.raises(sp.UnreadableData, match=r"holds no groups\.json"):
        read_groups(fits / "000000")
    with pytest.raises(sp.UnreadableData, match="is not a saved fit"):
        sp.load_fit(fits)


def test_the_table_of_groups_is_read_back_and_shown(fits: Path) -> None:
    shown = CliRunner().invoke(app, ["summary", str(fits), "--json"])
    content = json.loads(shown.stdout)
    assert content["goods"] == ["tea", "rum", "gin"]
    assert content["rows"][1]["utility"][1] is None
    assert "north.csv" in CliRunner().invoke(app, ["summary", str(fits)]).stdout
    assert str(read_groups(fits)).startswith("3 groups over 3 goods")


@pytest.mark.parametrize("change", ['{"goods": 3}', "[]", '{"goods": ["a"], "groups": [{"group": "x"}]}', "{"])
def test_a_table_that_was_changed_is_refused(tmp_path: Path, change: str) -> None:
    (tmp_path / "groups.json").write_text(change)
    with pytest.raises(sp.UnreadableData, match=r"groups\.json"):
        read_groups(tmp_path)
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert shown.exit_code == 2


def test_one_page_for_all_groups(fits: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = CliRunner().invoke(app, ["report", str(fits), "--out", str(page)])
    assert shown.exit_code == 0, shown.output
    text = page.read_text()
    assert text.count("<option") == 2
    assert "1 group without a fit" in text
    with pytest.raises(sp.InvalidArgument, match="a fit at least"):
        sp.write_report({"north": "no fit"}, page)
    with pytest.raises(sp.InvalidArgument, match="not fitted"):
        sp.write_report({"north": sp.CommonUtility()}, page)


def test_options_that_groups_do_not_take(tmp_path: Path, folder: Path) -> None:
    for words, message in (
        (["--odd", str(tmp_path / "odd.csv"), "--model", "common"], "--odd is for a single fit"),
        (["--single-precision"], "--single-precision is for a single fit"),
        (["--by", "shop"], "no column 'shop'"),
    ):
        by = [] if "--by" in words else ["--by", "file"]
        shown = CliRunner().invoke(app, ["fit", str(folder), "--out", str(tmp_path / "out"), *by, *words])
        assert shown.exit_code == 2
        assert message in shown.stderr


def test_several_files_from_the_command_line(folder: Path, tmp_path: Path) -> None:
    files = [str(folder / "north.csv"), str(folder / "south.csv")]
    (folder / "north.csv").write_text(NORTH + "3,milk,2,1,3,n\n3,bread,4,0,3,n\n")  # somebody left something
    shown = CliRunner().invoke(app, ["check", *files])
    assert "5 observations of 3 goods" in shown.stdout
    done = CliRunner().invoke(app, ["fit", *files, "--model", "common", "--out", str(tmp_path / "fit")])
    assert done.exit_code == 0, done.output
    assert len(sp.load_fit(tmp_path / "fit").observations_) == 5
    words = ["--out", str(tmp_path / "a.csv"), "--held-out", str(tmp_path / "b.csv")]
    assert CliRunner().invoke(app, ["split", *files, *words]).exit_code == 0
    refused = CliRunner().invoke(app, ["split", str(folder), "--out", files[0], "--held-out", str(tmp_path / "b.csv")])
    assert refused.exit_code == 2
    assert "would be lost" in refused.stderr
