# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Examples run as they are, and say what they should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
DATA = os.environ.get("STOCHPREF_REAL_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="STOCHPREF_REAL_DATA names no folder")


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_shop() -> None:
    shown = run("shop.py")
    assert shown.returncode == 0, shown.stderr
    assert "coffee earns most at" in shown.stdout


def test_the_notebook_is_stored_as_it_ran() -> None:
    """Building the documentation runs it anew; what people see without that is what is stored."""
    cells = [cell for cell in json.loads((EXAMPLES / "shop.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] in ("error", "stream")]
    kinds = {kind for output in outputs for kind in output["data"]}
    assert {"text/html", "image/png"} <= kinds


@needs_data
def test_votes() -> None:
    file = "US_Stanford_Dataset_PB_Chicago_47th_Ward_2022_Youth_vote_knapsacks.pb"
    shown = run("votes.py", Path(DATA) / "pb_knapsack" / file, 10)
    assert shown.returncode == 0, shown.stderr
    assert "voters differ is better than one utility" in shown.stdout


@needs_data
def test_yogurt() -> None:
    shown = run("yogurt.py", Path(DATA) / "yogurt_long.csv", 10)
    assert shown.returncode == 0, shown.stderr
    assert "Worth their price" in shown.stdout


@pytest.mark.parametrize("name", ["votes.py", "yogurt.py"])
def test_a_missing_file_is_said(name: str) -> None:
    shown = run(name, "no_such_file")
    assert shown.returncode == 1
    assert "usage:" in shown.stderr
