# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Compiled functions: where what was compiled is kept, and what happens where nothing can be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stochpref

NESTED = """
from stochpref.threads import for_blocks

seen = []
for_blocks(lambda a, b: for_blocks(lambda c, d: seen.append((a, c)), 4, 1), 4, 1)
print(len(set(seen)))
"""

PROGRAMME = """
import numpy as np
from stochpref import threads

@threads.compiled
def twice(x):
    return 2.0 * x

from stochpref import regions, problems  # more compiled functions, of other files
assert twice(4.0) == 8.0
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package in which no folder of compiled files can be made: files have taken their names."""
    source, copy = Path(stochpref.__file__).parent, tmp_path / "site" / "stochpref"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    for folder in (copy.parent, copy, *(path for path in copy.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()
    return copy


def run(package: Path, cache: Path | None) -> subprocess.CompletedProcess[str]:
    """Run the programme where neither the package nor the home folder can be written."""
    script, home = package.parent / "programme.py", package.parent / "home"
    script.write_text(PROGRAMME)
    home.touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment = kept | {"HOME": str(home), "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, str(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_compiles_where_no_cache_can_be_kept_and_says_so_once(package: Path, tmp_path: Path) -> None:
    shown = run(package, None)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr.count("\n") == 1
    assert shown.stderr.startswith("compiled code cannot be kept")
    assert "set NUMBA_CACHE_DIR" in shown.stderr
    kept = run(package, tmp_path / "cache")
    assert (kept.returncode, kept.stderr) == (0, "")
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_blocks_within_blocks_do_not_wait_for_one_another() -> None:
    environment = os.environ | {"STOCHPREF_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", NESTED], check=True, capture_output=True, text=True, timeout=60, env=environment
    )
    assert ran.stdout.split() == ["16"]
