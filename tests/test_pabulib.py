# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Votes as Pabulib files hold them: projects under their names, categories, ballots that no budget bound."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import xarray as xr
from typer.testing import CliRunner

import stochpref as sp
from stochpref.archives.trees import read_tree, write_tree
from stochpref.cli import app
from stochpref.posterior.results import data_groups, observations_of
from stochpref.report import page
from stochpref.stores.packing import data_hash

VOTES = """META
key;value
budget;100
vote_type;approval
PROJECTS
project_id;cost;votes;name;category;target
7;60;2;Park;environmental protection,sport;
9;40;1;"Pool; small";sport;youth
12;30;0;;"culture, sport";
VOTES
voter_id;age;vote
v1;30;7,9
v2;31;9
v3;32;"12, 7"
v4;32;9,12
"""


def written(folder: Path, text: str = VOTES) -> str:
    path = folder / "town.pb"
    path.write_text(text)
    return str(path)


def test_projects_keep_their_ids_and_are_shown_by_name(tmp_path: Path) -> None:
    path = written(tmp_path)
    votes = sp.read_observations(path)
    assert votes.goods == ("7", "9", "12")
    assert votes.titles == votes.shown_goods == ("7 Park", "9 Pool; small", "12")
    assert votes[1:].menus.titles == votes.titles
    assert votes.over(["12", "new", "7", "9"]).shown_goods == ("12", "new", "7 Park", "9 Pool; small")
    untitled = sp.Observations(
        votes.prices, votes.budgets, votes.bundles, goods=votes.goods, problem="whole", nonempty=True
    )
    assert data_hash(votes) == data_hash(untitled)
    saved = io.BytesIO()
    write_tree(saved, xr.DataTree.from_dict(data_groups(votes)))
    assert observations_of(read_tree(saved, "memory")).titles == votes.titles
    assert "goods 7 Park, 9 Pool; small, 12" in CliRunner().invoke(app, ["check", path]).stdout
    votes = sp.read_observations(path, problem="divisible")
    model = sp.CommonUtility(random_state=0).fit(votes)
    assert "7 Park" in str(model.summary())
    assert "7 Park" in str(model.demand(votes.menus[0]))
    assert model.demand(votes.menus[0]).goods == votes.goods
    assert "7 Park" in str(model.elasticities(votes.menus[0]))
    text = page.render(model)
    assert "<bdi>7 Park</bdi>" in text
    assert "<bdi>7</bdi>" not in text
    again = sp.read_menus(path, goods=model.goods_)
    assert again.titles == votes.titles
    plain = VOTES.replace(";name;", ";title;")
    assert sp.read_observations(written(tmp_path, plain)).titles is None


def test_titles_are_one_for_each_good() -> None:
    with pytest.raises(sp.InvalidArgument, match="titles must hold 2 names; received 1"):
        sp.Menus([[1.0, 2.0]], [1.0], titles=["Park"])
    with pytest.raises(sp.InvalidArgument, match="titles must hold 2 names; received 3"):
        sp.Observations([[1.0, 2.0]], [1.0], [[0.0, 0.0]], titles=["a", "b", "c"])


def test_categories_are_features_on_request(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert sp.read_observations(path).features == {}
    votes = sp.read_observations(path, features=["category", "target"])
    assert {name: values[2].tolist() for name, values in votes.features.items()} == {
        "category environmental protection": [1, 0, 0], "category sport": [1, 1, 1], "category culture": [0, 0, 1],
        "target youth": [0, 1, 0],
    }  # fmt: skip
    assert votes.features["category sport"].shape == (4, 3)
    for wanted, file, words in (
        (["categories"], path, "must be among category, target; received 'categories'; the nearest is 'category'"),
        ("category", path, "put it in one"),
    ):
        with pytest.raises(sp.InvalidArgument, match=words):
            sp.read_observations(file, features=wanted)
    with pytest.raises(sp.UnreadableData, match="section PROJECTS has no column 'target'"):
        sp.read_observations(written(tmp_path, VOTES.replace(";target", ";aim")), features=["target"])
    table = tmp_path / "table.csv"
    table.write_text("observation,good,price,quantity,budget\n1,tea,2,1,5\n1,rum,2,0,5\n")
    with pytest.raises(sp.UnreadableData, match="no column 'category' for the feature"):
        sp.read_observations(table, features=["category"])


def test_ballots_beyond_the_budget_are_called_approval_ballots(tmp_path: Path) -> None:
    path = written(tmp_path, VOTES.replace("budget;100", "budget;65"))
    shown = CliRunner().invoke(app, ["check", path])
    assert shown.exit_code == 2
    assert "3 of 4 ballots cost more than the budget of 65: these are approval ballots" in shown.stdout
    assert "budget='spent' (--budget spent)" in shown.stdout
    assert "leave them out with --skip-bad" not in shown.stderr  # it would leave a quarter of the voters
    assert "read it another way" in shown.stderr
    found = json.loads(CliRunner().invoke(app, ["check", path, "--json"]).stdout)
    assert any("approval ballots" in note for note in found["notes"])
    with pytest.raises(sp.InvalidObservations, match=r"budget='spent' \(--budget spent\) if no budget bound"):
        sp.read_observations(path)
    spent = CliRunner().invoke(app, ["check", path, "--budget", "spent"])
    assert spent.exit_code == 0
    assert "approval ballots" not in spent.stdout
    everybody = CliRunner().invoke(app, ["check", written(tmp_path, VOTES.replace("budget;100", "budget;1"))])
    assert "4 of 4 ballots cost more than the budget of 1" in everybody.stdout
    few = CliRunner().invoke(app, ["check", written(tmp_path, VOTES.replace("budget;100", "budget;95"))])
    assert "1 of 4 ballots cost more" in few.stdout
    assert "--skip-bad" in few.stderr
