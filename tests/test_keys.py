# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Keys of several columns, names with spaces around them, and notes that stay with what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.readers import scan
from tests.small_fits import fit_posterior

TASKS = """id,task,card,price,quantity
1,1,a,1.0,1
1,1,b,2.0,0
1,2,a,1.5,0
1,2,b,1.0,1
2,1,a,1.0,0
2,1,b,1.5,1
"""
KEY = {"observation": "id,task", "customer": "id", "good": "card"}


def written(folder: Path, text: str, name: str = "tasks.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("key", ["id,task", " ID , task ", ["id", "task"], ("id", "task")])
def test_a_key_may_have_several_columns(tmp_path: Path, key: Any) -> None:
    found = sp.read_observations(written(tmp_path, TASKS), columns=KEY | {"observation": key}, budget="spent")
    assert found.labels == ("1,1", "1,2", "2,1")
    assert found.customers == ("1", "1", "2")
    assert found.bundles.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_column_whose_name_has_a_comma_is_one_column() -> None:
    frame = pd.DataFrame({"id,task": [7, 7], "id": [1, 2], "task": [1, 1], "good": ["a", "b"], "price": [1.0, 2.0]})
    found = sp.read_observations(frame.assign(quantity=[1, 0]), columns={"observation": "id,task"}, budget="spent")
    assert found.labels == ("7",)


def test_parts_that_hold_commas_stay_apart() -> None:
    frame = pd.DataFrame(
        {"x": ["a,b", "a", 'a"'], "y": ["c", "b,c", "c"], "good": "g", "price": 1.0, "quantity": 1, "budget": 1}
    )
    found = sp.read_observations(frame, columns={"observation": ["x", "y"]})
    assert found.labels == ('"a,b",c', 'a,"b,c"', '"a""",c')


def test_keys_tell_as_a_column_of_both_would() -> None:
    rng = np.random.default_rng(1)
    parts = rng.integers(6, size=(400, 2))
    rows = pd.DataFrame(
        {"x": parts[:, 0], "y": parts[:, 1], "good": "g", "price": 1.0, "quantity": 1, "date": 20260101}
    )
    whole = rows.assign(both=[f"{x},{y}" for x, y in parts.tolist()])
    found = sp.read_orders(rows, columns={"observation": ["x", "y"], "customer": ["y", "x"]}, caps=99)
    wanted = sp.read_orders(whole.drop(columns=["x", "y"]), columns={"observation": "both"}, caps=99)
    assert found.labels == wanted.labels
    np.testing.assert_array_equal(found.bundles, wanted.bundles)
    assert found.customers == tuple(",".join(reversed(label.split(","))) for label in found.labels or ())


def test_keys_of_orders_and_stores(tmp_path: Path) -> None:
    lines = "day,no,sku,qty,price,region,shop\n1,1,tea,1,2,n,1\n1,2,tea,1,3,n,2\n2,1,rum,1,4,n,2\n"
    columns = {"observation": "day,no", "store": "region,shop"}
    found = sp.read_orders(written(tmp_path, lines), columns=columns, fill_prices="store", fill_within=0)
    assert found.labels == ("1,1", "1,2", "2,1")
    assert found.prices.tolist() == [[2, 4], [3, 4], [3, 4]]  # rum in shop 1 from any shop: there are no dates


def test_keys_from_the_command_line(tmp_path: Path) -> None:
    words = [word for role, column in KEY.items() for word in ("--column", f"{role}={column}")]
    shown = CliRunner().invoke(app, ["check", str(written(tmp_path, TASKS)), "--budget", "spent", *words])
    assert shown.exit_code == 0, shown.output
    assert "3 observations of 2 goods" in shown.stdout


SPACED = "observation , good,price,quantity \n1,milk ,2,1\n1,bread,2,0\n2, milk,1,1\n2,bread ,1,1\n"


def test_spaces_around_names_are_left_out_with_a_note(tmp_path: Path) -> None:
    found = sp.read_observations(written(tmp_path, SPACED), budget="spent")
    assert found.goods == ("milk", "bread")
    assert found.bundles.tolist() == [[1, 0], [1, 1]]
    assert "columns: spaces around their names are left out, such as 'observation '" in found.notes
    assert any("spaces around 3 names left out, 'milk ' say" in note for note in found.notes)


def test_spaces_that_were_written_on_purpose_stay(tmp_path: Path) -> None:
    quoted = SPACED.replace("milk ", '"milk "')
    assert set(sp.read_observations(written(tmp_path, quoted), budget="spent").goods) == {"milk ", "bread", "milk"}
    wide = pd.DataFrame({"budget": [3.0], "price_a ": [1.0], "quantity_a ": [1.0]})
    assert sp.read_observations(wide).goods == ("a ",)


def test_notes_stay_with_observations_and_with_their_fit(tmp_path: Path) -> None:
    lines = "order,sku,qty,price,date\n" + "".join(
        f"{t},{'tea' if t % 3 else 'rum'},0.5,{1 + t % 5 / 7:.3f},2026-01-0{1 + t % 9}\n" for t in range(60)
    )
    found = sp.read_orders(written(tmp_path, lines))
    assert any(note.startswith("prices: ") for note in found.notes)
    assert found[:5].notes == found.notes
    assert found[:5].concat(found[5:]).notes == found.notes
    assert found.over([*found.goods, "gin"]).notes == found.notes
    assert found.audit().notes == found.notes
    assert found.notes[0] in str(found.audit())
    model = fit_posterior(found)
    model.save(tmp_path / "fit")
    assert sp.load_fit(tmp_path / "fit").observations_.notes == found.notes
    shown = CliRunner().invoke(app, ["summary", str(tmp_path / "fit")])
    assert all(note in shown.stdout for note in found.notes)
    page = sp.write_report(model, tmp_path / "report.html").read_text()
    assert "How the table was read" in page
    assert "paid in the order itself" in page


def test_what_was_left_out_is_noted(tmp_path: Path) -> None:
    path = written(tmp_path, SPACED.replace("2, milk,1,1", "2, milk,-1,1"))
    found = scan(path, budget="spent").accept(skip_bad=True)
    assert found.notes[-1] == "left out: 1 of 2 observations, which break a rule"


@pytest.mark.parametrize("notes", ["one", [1], ["half a \udcff"]])
def test_notes_are_texts(notes: Any) -> None:
    with pytest.raises(sp.InvalidArgument, match="notes must be"):
        sp.Observations([[1.0]], [1.0], [[1.0]], notes=notes)
