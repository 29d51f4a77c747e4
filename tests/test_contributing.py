"""What CONTRIBUTING shows works as it stands: its blocks of code are put where they say, and run."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import stochpref as sp
from stochpref import names
from stochpref.problems import Divisible, as_problem
from stochpref.problems.faults import Array, Fault, MenuArrays
from tests.contracts import check_law, check_problem
from tests.small_fits import fit_posterior, purchases

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package with the files and the lines that CONTRIBUTING adds to it."""
    files = []
    for block in BLOCKS:
        if table := re.match(r"# src/stochpref/names\.py, in (\w+)\n", block):
            for name, value in ast.literal_eval("{" + block[table.end() :] + "}").items():
                monkeypatch.setitem(getattr(names, table[1]), name, value)
        elif place := re.match(r"# src/stochpref/(\w+)/(\w+)\.py\n", block):
            package = import_module(f"stochpref.{place[1]}")
            (tmp_path / place[1]).mkdir()
            (tmp_path / place[1] / f"{place[2]}.py").write_text(block)
            monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / place[1])])
            files.append((package, place[2]))
    assert len(files) == 2
    yield
    for package, name in files:
        sys.modules.pop(f"{package.__name__}.{name}", None)
        vars(package).pop(name, None)


def test_a_file_and_a_line_make_a_problem_and_a_law(added: None) -> None:
    example = next(block for block in BLOCKS if block.startswith("import numpy"))
    output = re.search(re.escape(example) + r"```\n\n```\n(.*?)```", TEXT, re.DOTALL)
    assert output is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example, {})
    assert printed.getvalue() == output[1]


def test_they_keep_the_contracts(added: None) -> None:
    check_problem(as_problem("few"))
    from stochpref.laws import Eager  # noqa: PLC0415

    check_law(Eager(4))
    with pytest.raises(sp.InvalidObservations, match=r"whole or not at all.*0\.5 for good 0.*problem='divisible'"):
        sp.Observations([[1.0, 1.0]], [2.0], [[0.5, 1.0]], problem="few")
    with pytest.raises(sp.InvalidArgument, match="cannot handle problem 'few'; it handles 'divisible'"):
        sp.HeterogeneousUtility().fit(sp.Observations([[1.0, 1.0]], [2.0], [[0.0, 1.0]], problem="few"))


def test_nothing_stays_behind() -> None:
    assert "stochpref.problems.few" not in sys.modules
    with pytest.raises(sp.InvalidArgument, match="problem must be one of divisible"):
        as_problem("few")


def test_a_row_is_checked_once_on_its_way_from_file_to_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sp.write_observations(purchases(3, 30), tmp_path / "seen.csv")
    checked: list[int] = []
    whole = Divisible.find_faults

    def counted(self: Divisible, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        checked.extend([] if bundles is None else [len(bundles)])
        return whole(self, menus, bundles)

    monkeypatch.setattr(Divisible, "find_faults", counted)
    model = fit_posterior(sp.read_observations(tmp_path / "seen.csv"), n_draws=5, n_chains=2)
    model.save(tmp_path / "fit")
    model.summary()
    sp.write_report(model, tmp_path / "fit.html")
    assert checked == [30]
    sp.load_fit(tmp_path / "fit").observations_  # noqa: B018  (what others may have changed is checked again)
    assert checked == [30, 30]
