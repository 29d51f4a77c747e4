"""The README's example runs and prints what the README says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_its_output() -> None:
    text = README.read_text()
    code = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert code is not None, "README has no example followed by its output"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code[1], {})
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == code[2].splitlines()
