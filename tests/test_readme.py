"""What files at the root say: the README's example prints what it says, and there is one version."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path

import stochpref

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_example_prints_its_output() -> None:
    text = README.read_text()
    code = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert code is not None, "README has no example followed by its output"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code[1], {})
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == code[2].splitlines()


def test_one_version_is_said_everywhere() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == stochpref.__version__
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert stochpref.__version__.partition(".dev")[0] == newest[1]
