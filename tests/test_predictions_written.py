# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Predictions are written as the name of the file says, the same rows in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.readers import workbook
from stochpref.readers.writing import write_rows

GOODS = ("=1+1", "tea", "x" * 40)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a fit and menus to predict from."""
    home = tmp_path_factory.mktemp("predictions")
    taste = np.array([0.9, 0.4, 0.2]) / np.linalg.norm([0.9, 0.4, 0.2])
    menus = sp.MenuLaw("uniform").sample(50, 3, rng=np.random.default_rng(0))
    data = sp.Menus(menus.prices, menus.budgets, goods=GOODS)
    bought = sp.simulate(sp.CorruptedUtilityLaw(taste, 0.1), data, 50, rng=np.random.default_rng(1))
    sp.CommonUtility(random_state=0).fit(bought).save(home / "fit")
    sp.write_menus(data[:4], home / "menus.csv")
    return home


def predict(home: Path, out: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["predict", str(home / "fit"), str(home / "menus.csv"), "--out", str(out), *more])


READERS = {
    ".csv": pd.read_csv,
    ".parquet": pd.read_parquet,
    ".xlsx": pd.read_excel,
    ".json": lambda path: pd.DataFrame(json.loads(path.read_text())),
}


@pytest.mark.parametrize("suffix", READERS)
def test_every_format_holds_the_same_rows(fitted: Path, tmp_path: Path, suffix: str) -> None:
    shown = predict(fitted, tmp_path / f"demand{suffix}")
    assert shown.exit_code == 0, shown.output
    assert predict(fitted, tmp_path / "wanted.csv").exit_code == 0
    found, wanted = READERS[suffix](tmp_path / f"demand{suffix}"), pd.read_csv(tmp_path / "wanted.csv")
    assert len(wanted) == 12
    assert list(found.columns) == list(wanted.columns)
    pd.testing.assert_frame_equal(found.astype(wanted.dtypes.to_dict()), wanted)


def test_a_name_is_no_formula_in_a_workbook(fitted: Path, tmp_path: Path) -> None:
    predict(fitted, tmp_path / "demand.xlsx")
    cell = openpyxl.load_workbook(tmp_path / "demand.xlsx").worksheets[0]["B2"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("demand.txt", (), "--out must end in .csv or .parquet or .xlsx or .json"),
        ("demand", (), "--out must end in .csv"),
        ("demand.xls", (), "--out must end in .csv"),
        ("demand.json", ("--spreadsheet",), "--spreadsheet is about .csv files"),
    ],
)
def test_others_are_refused_before_any_work(fitted: Path, tmp_path: Path, name: str, more: Any, message: str) -> None:
    shown = predict(fitted.parent / "nowhere", tmp_path / name, *more)  # the fit is not even looked for
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert not (tmp_path / name).exists()


def test_a_workbook_needs_its_library_and_has_limits(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(sp.InvalidArgument, match="no control characters"):
        write_rows(tmp_path / "x.xlsx", [("good",), ("a\x07",)])
    monkeypatch.setattr("stochpref.readers.writing._SHEET_ROWS", 2)
    with pytest.raises(sp.InvalidArgument, match="2 rows at most; received 3"):
        write_rows(tmp_path / "x.xlsx", [("good",), ("a",), ("b",)])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(sp.InvalidArgument, match=r"needs openpyxl.*stochpref\[excel\]"):
        workbook.openpyxl_for("writing")
    shown = predict(fitted.parent / "nowhere", tmp_path / "demand.xlsx")
    assert "needs openpyxl" in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_none_are_null_in_json(tmp_path: Path) -> None:
    write_rows(tmp_path / "x.json", [("good", "value"), ("a", np.float64("nan")), ("b", np.int64(2))])
    assert json.loads((tmp_path / "x.json").read_text()) == [{"good": "a", "value": None}, {"good": "b", "value": 2}]
    write_rows(tmp_path / "x.parquet", [("good", "value")])
    assert list(pd.read_parquet(tmp_path / "x.parquet").columns) == ["good", "value"]
