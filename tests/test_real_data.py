# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Real files load as they are, and ``stochpref check`` says something a person understands.

The folder is named by STOCHPREF_REAL_DATA; the data are not part of the project, so that the tests skip without it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.readers import scan

FOLDER = os.environ.get("STOCHPREF_REAL_DATA", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STOCHPREF_REAL_DATA names no folder")

YOGURT = {"observation": "obsID", "good": "brand", "quantity": "choice", "customer": "id"}
TAFENG = {"quantity": "x", "price": "a"}
PABULIB = {
    "US_Stanford_Dataset_2022_Jersey_City_Ward_D_vote_knapsacks.pb": (245, 12),
    "US_Stanford_Dataset_PB_Chicago_47th_Ward_2022_Youth_vote_knapsacks.pb": (472, 5),
    "US_Stanford_Dataset_PB_Greensboro_District_3_2019_vote_knapsacks.pb": (1365, 6),
    "Worldwide_Mechanical_Turk_Knapsack_3.pb": (77, 10),
}

# file, shape, columns, budget
FILES = [
    *((f"pb_knapsack/{name}", shape, {}, budget) for name, shape in PABULIB.items() for budget in ("stated", "spent")),
    ("yogurt_long.csv", (2412, 4), YOGURT | {"price": 1.0, "budget": 1.0}, "stated"),
    ("yogurt_long.csv", (2412, 4), YOGURT, "spent"),
    ("scotch.csv", (2218, 21), {"quantity": "*", "price": 1.0}, "spent"),
    ("tafeng_110411_baskets.csv", (3858, 10), TAFENG, "spent"),
]


@pytest.mark.parametrize(("name", "shape", "columns", "budget"), FILES)
def test_real_files_load_and_are_audited(
    name: str, shape: tuple[int, int], columns: dict[str, Any], budget: str
) -> None:
    path = Path(FOLDER) / name
    observations = sp.read_observations(path, columns=columns, budget=budget)
    assert observations.prices.shape == shape
    words = [word for ours, yours in columns.items() for word in ("--column", f"{ours}={yours}")]
    shown = CliRunner().invoke(app, ["check", str(path), "--budget", budget, *words])
    assert shown.exit_code == 0, shown.output
    assert f"{shape[0]:,} observations of {shape[1]} goods" in shown.stdout
    assert observations.problem.name == ("whole" if "pb_" in name else "divisible")
    assert observations.nonempty == ("pb_" in name)
    assert "--budget spent" not in shown.stdout  # as for divisible goods, of which money would be left over


def test_yogurt_is_one_pot_a_choice() -> None:
    observations = sp.read_observations(Path(FOLDER) / "yogurt_long.csv", columns=YOGURT, budget="spent")
    assert set(observations.goods) == {"dannon", "hiland", "weight", "yoplait"}
    np.testing.assert_array_equal(observations.bundles.sum(axis=1), 1)
    np.testing.assert_array_equal(observations.prices[0, :3], [8.1, 6.1000001, 7.9000004])
    assert observations.customers is not None
    assert len(set(observations.customers)) == 100


def test_tafeng_prices_rounded_to_four_digits_overspend_one_budget() -> None:
    """The file states a sum of exact prices beside rounded ones: in row 3782 the rounded ones cost more."""
    result = scan(Path(FOLDER) / "tafeng_110411_baskets.csv", columns=TAFENG | {"budget": "b"})
    assert [row.row for row in result.bad] == [3782]
    assert result.observations is not None
    assert result.observations.prices.shape == (3857, 10)
    assert result.observations.goods == tuple(str(i) for i in range(1, 11))


def test_compressed_recreation_trips_load() -> None:
    columns = {"observation": "id", "good": "alt", "quantity": "quant", "budget": "income"}
    path = Path(FOLDER) / "recreation_mdcev.csv.gz"
    assert sp.read_observations(path, columns=columns, caps=np.inf).prices.shape == (2000, 17)
