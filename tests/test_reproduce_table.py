"""Table 1 in miniature: the shape of the claim, the same table after a kill, trials that do not depend on order."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.errors import InvalidArgument
from stochpref.names import EXHIBIT_SETTINGS
from stochpref.paper.reproduce import drawing, figure3, figure4, table1
from stochpref.paper.reproduce.markets import (
    BOUNDS,
    Cell,
    PaperMarket,
    make_market,
    paper_markets,
    stratified_concentration,
)
from stochpref.paper.reproduce.methods import Method, methods_of
from stochpref.paper.reproduce.trials import TRIALS_FILE, Outcome, Task, check_list, pooled, run_trial, run_trials

SMALL = {"n_trials": 4, "n_iterations": 150, "seed": 0, "jobs": 1}
OURS, BOTH = Method("ours"), methods_of(["paper", "ours"], "methods")
CELLS = [Cell(setting, "ii", 4, 120) for setting in EXHIBIT_SETTINGS]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


@pytest.fixture(scope="module")
def table(kept: Path) -> table1.Table1:
    return table1.run(CELLS, BOTH, **SMALL, folder=kept)


def test_the_shape_of_the_claim(table: table1.Table) -> None:
    by_name = {(cell.setting, cell.method): cell for cell in table.cells}
    for setting in EXHIBIT_SETTINGS:
        ours, paper = by_name[setting, "ours"], by_name[setting, "paper"]
        assert ours.mean >= paper.mean
        assert ours.mean > ours.ceiling - 0.5
        assert ours.ceiling == paper.ceiling  # the same markets
        assert ours.paper is None  # four goods are not in the published table
    assert by_name["corruption", "ours"].ceiling == 100.0
    text = str(table)
    assert "ceiling" in text
    assert len(text.splitlines()) == 5
    assert text.splitlines()[-1].startswith("Regret, gaussian, T = 120, laws ii and n = 4 pooled: ours ")
    json.dumps(table.as_dict())


def test_a_killed_run_gives_the_same_table(table: table1.Table1, kept: Path, tmp_path: Path) -> None:
    lines = (kept / TRIALS_FILE).read_text().splitlines()
    assert len(lines) == 16
    # What a kill leaves: some trials, and half a line.
    kept_lines = ("\n".join(lines[:9]) + "\n" + lines[9][:30]).encode()
    (tmp_path / TRIALS_FILE).write_bytes(b'{"version": "\xff"}\n' + kept_lines)
    reported: list[tuple[int, int, str]] = []
    again = table1.run(CELLS, BOTH, **SMALL, folder=tmp_path, report=lambda *told: reported.append(told))
    assert [told[:2] for told in reported] == [(done, 16) for done in range(10, 17)]
    assert (reported[0][2], reported[-1][2]) == ("1 of 2 cells", "2 of 2 cells")
    for one, two in zip(table.cells, again.cells, strict=True):
        assert one._replace(seconds=0.0) == two._replace(seconds=0.0)
    assert table.regrets == again.regrets
    reported.clear()
    table1.run(CELLS, BOTH, **SMALL, folder=tmp_path, report=lambda *told: reported.append(told))
    assert not reported  # nothing was left to run


def test_trials_depend_on_their_name_alone() -> None:
    task = Task(Cell("gaussian", "i", 3, 60), OURS, 5, seed=2)
    alone = run_trial(task)
    among = run_trials([Task(task.cell, OURS, trial, seed=2) for trial in (7, 5)], jobs=2)[task.name]
    assert alone._replace(seconds=0.0) == among._replace(seconds=0.0)
    one, *_, six = paper_markets("gaussian", "i", 3, 60, n_trials=6, seed=2)
    assert (one.number, six.number) == (0, 5)
    assert np.array_equal(six.observations.bundles, make_market(task.cell, 5, 2).observations.bundles)
    assert six.truth.max() > 0


def test_workers_end_with_the_process_that_started_them() -> None:
    script = (
        "import time; from stochpref.paper.reproduce.trials import Cell, Method, Task, _run_all;"
        "tasks = [Task(Cell('corruption', 'i', 3, 20), Method('ours'), trial, 0) for trial in range(4)];"
        "run = _run_all(tasks, 2); next(run); print('begun', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"begun\n"
        parent.kill()
        parent.communicate(timeout=60)  # the pipe ends when the last worker that holds it has ended


def test_concentrations_are_even_and_nested() -> None:
    cell = Cell("gaussian", "iii", 10, 1000)
    kappas = np.array([stratified_concentration(cell, trial, seed=0) for trial in range(64)])
    counts, _ = np.histogram(kappas, 16, BOUNDS)
    assert counts.max() - counts.min() <= 2
    assert np.histogram(kappas[:16], 4, BOUNDS)[0].min() >= 3


def test_pooling() -> None:
    score = pooled(np.array([1.0, 3.0, 2.0]), np.array([2.0, 3.0, 4.0]))
    assert np.isclose(score.mean, 100 * 6 / 9)
    spread = np.array([1.0, 3.0, 2.0]) - 6 / 9 * np.array([2.0, 3.0, 4.0])
    assert np.isclose(score.standard_error, 100 * np.sqrt(1.5 * np.sum(spread**2)) / 9)
    with pytest.raises(InvalidArgument, match="--laws must be among i, ii"):
        check_list(["iv"], ["i", "ii"], "--laws")
    with pytest.raises(InvalidArgument, match="--laws must name one or more"):
        check_list([], ["i", "ii"], "--laws")
    assert check_list(["ii", "i", "ii"], ["i", "ii"], "--laws") == ["ii", "i"]


def outcome(best: float, reached: float, ceiling: float) -> Outcome:
    return Outcome(reached, best, ceiling, one_draw=float("nan"), angle=0.1, seconds=1.0)


def test_regret_is_pooled_over_the_smaller_gaussian_cells() -> None:
    # Ours loses 1, 3, 0, 4 of 10, 20, 30, 40; the ceiling 1, 1, 0, 2. The other cells must not count.
    outcomes = {
        Cell("gaussian", "i", 3, 1000): [outcome(10, 9, 9), outcome(20, 17, 19)],
        Cell("gaussian", "iii", 10, 1000): [outcome(30, 30, 30), outcome(40, 36, 38)],
        Cell("gaussian", "i", 25, 1000): [outcome(10, 1, 5)] * 2,
        Cell("corruption", "i", 3, 1000): [outcome(10, 1, 10)] * 2,
        Cell("gaussian", "i", 3, 200): [outcome(8, 6, 8)] * 2,
    }
    pooled_regret, lossless = table1.pool_regret(outcomes)
    assert (pooled_regret.laws, pooled_regret.goods, pooled_regret.n_trials) == (["i", "iii"], [3, 10], 4)
    assert np.allclose(pooled_regret[3:6], (8.0, 4.0, 2.0))
    # Residuals ours − 2·ceiling are −1, 1 and 0, 0: variance 2 within the first cell, 0 within the second.
    assert pooled_regret.ratio_error == pytest.approx(np.sqrt(2 * 2.0) / 4.0)
    assert pooled_regret.worst_share == pytest.approx(50.0)
    assert (lossless.n_observations, lossless.ours, lossless.ratio, lossless.ratio_error) == (200, 25.0, None, None)
    text = str(table1.Table1([], [pooled_regret, lossless])).splitlines()
    assert text[-2] == (
        "Regret, gaussian, T = 1000, laws i, iii and n = 3, 10 pooled: ours 8.000 %, ceiling 4.000 %, "
        "ratio 2.00 ± 0.50; one trial of 4 brings 50 % of ours, without it the ratio is 2.00; "
        "25 % of trials lose nothing"
    )
    assert text[-1].endswith(
        "ours 25.000 %, ceiling 0.000 %; one trial of 2 brings 50 % of ours; 0 % of trials lose nothing"
    )
    assert json.loads(json.dumps(table1.Table1([], [lossless]).as_dict()))["regret"][0]["ratio"] is None
    uneven = table1.pool_regret({Cell("gaussian", "i", 3, 1000): [outcome(10, 9, 9), outcome(20, 14, 18)]})[0]
    assert (uneven.ratio, uneven.ratio_without_worst) == (pytest.approx(7 / 3), 1.0)
    one, none = [outcome(10, 9, 9)], [outcome(10, 10, 10)] * 2
    assert table1.pool_regret({Cell("gaussian", "i", 3, 1000): one})[0].ratio_error is None
    assert table1.pool_regret({Cell("gaussian", "i", 3, 1000): none})[0].worst_share is None
    assert table1.pool_regret({Cell("corruption", "i", 3, 1000): one}) == []


def test_columns_stay_apart_and_every_method_has_its_ceiling(table: table1.Table) -> None:
    wide = [cell._replace(mean=-1234.5, standard_error=1234.5, seconds=12345.6) for cell in table.cells]
    lines = str(table1.Table1(wide, [])).splitlines()
    assert len(set(map(len, lines[1:]))) == 1
    assert lines[2].count("-1234.50 ± 1234.50 (12345.6 s)  ") == 2
    axis = drawing.pyplot().figure().add_subplot()
    figure3.draw(axis, [cell for cell in table.cells if cell.method == "paper" and cell.setting == "gaussian"])
    (ceiling,) = [line for line in axis.get_lines() if line.get_label() == "ceiling"]
    assert list(ceiling.get_xdata()) == [4]
    drawing.pyplot().close("all")


def test_published_figures_are_complete() -> None:
    assert sum(len(row) for row in table1.PUBLISHED.values()) == 24


def test_command_line(tmp_path: Path) -> None:
    arguments = [
        "reproduce",
        "table1",
        "--setting",
        "corruption",
        "--laws",
        "i",
        "--goods",
        "3",
        "--observations",
        "50",
    ]
    arguments += ["--trials", "2", "--method", "ours", "--jobs", "1", "--out", str(tmp_path), "--json"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    (cell,) = content["cells"]
    assert content["regret"] == []  # no Gaussian cell
    wanted = {"setting", "law", "n_goods", "n_observations", "method", "mean", "standard_error", "paper", "ceiling"}
    assert wanted <= set(cell)
    assert cell["paper"] == 99.9
    assert (tmp_path / "table1.json").exists()
    result = CliRunner().invoke(cli.app, ["reproduce", "table1", "--laws", "iv", "--out", str(tmp_path)])
    assert result.exit_code == 2
    for goods in ("3,x", "²", ","):
        result = CliRunner().invoke(cli.app, ["reproduce", "table1", "--goods", goods, "--out", str(tmp_path)])
        assert result.exit_code == 2
        assert "--goods" in result.output
    arguments[arguments.index("--laws") + 1] = "i, ii"
    content = json.loads(CliRunner().invoke(cli.app, arguments).stdout)
    assert [cell["law"] for cell in content["cells"]] == ["i", "ii"]
    result = CliRunner().invoke(cli.app, ["reproduce", "figure4", "--observations", "20,20", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "two different numbers" in result.output


MINE = """
import numpy as np

def sums(observations, seed):
    bought = observations.bundles.sum(axis=0)
    return bought - bought.mean()

def crooked(observations, seed):
    return np.zeros(2)
"""


def test_anybodys_estimator_meets_the_same_markets(
    table: table1.Table1, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brought_along.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "brought_along", raising=False)
    options = ["--laws", "ii", "--goods", "4", "--observations", "120", "--trials", "4", "--out", "kept", "--json"]
    words = ["reproduce", "table1", *options, "--method", "ours,brought_along:sums", "--iterations", "150"]
    shutil.copytree(kept, tmp_path / "kept")
    content = json.loads(CliRunner().invoke(cli.app, words).stdout)
    ours, mine = (
        [cell for cell in content["cells"] if cell["method"] == name] for name in ("ours", words[-3].split(",")[1])
    )
    assert ours == [cell._asdict() for cell in table.cells if cell.method == "ours"]  # none was run again
    for theirs, cell in zip(ours, mine, strict=True):
        assert theirs["ceiling"] == cell["ceiling"]
        assert cell["mean"] < theirs["mean"]
        assert cell["one_draw"] is None
    direct = [market.value(brought(market)) for market in paper_markets(*CELLS[0], n_trials=4)]
    best = [market.value(market.truth) for market in paper_markets(*CELLS[0], n_trials=4)]
    assert mine[0]["mean"] == pytest.approx(pooled(np.array(direct), np.array(best)).mean)
    shown = CliRunner().invoke(cli.app, words[:-5] + words[-4:]).stdout  # without --json
    assert "brought_along:sums" in shown.splitlines()[1]
    # The file changes: its trials are run again, ours are not.
    before = len((tmp_path / "kept" / TRIALS_FILE).read_text().splitlines())
    (tmp_path / "brought_along.py").write_text(MINE.replace("bought.mean()", "0.5 * bought.mean()"))
    monkeypatch.delitem(sys.modules, "brought_along")
    assert CliRunner().invoke(cli.app, words).exit_code == 0
    assert len((tmp_path / "kept" / TRIALS_FILE).read_text().splitlines()) == before + 8
    crooked = CliRunner().invoke(cli.app, [*words[:-3], "brought_along:crooked"])
    assert crooked.exit_code == 2
    assert "must be 4 finite numbers" in crooked.output


def brought(market: PaperMarket) -> np.ndarray:
    bought = market.observations.bundles.sum(axis=0)
    return bought - bought.mean()


def test_from_python_functions_are_methods_too() -> None:
    def buys_most(observations: sp.Observations, seed: int) -> np.ndarray:
        return observations.bundles.sum(axis=0) - observations.bundles.mean()

    found = sp.reproduce_table1(
        [buys_most], settings=["corruption"], laws=["i"], goods=[3], observations=[40], n_trials=2
    )
    (cell,) = found.cells
    assert cell.method.endswith("buys_most")
    assert cell.paper == 99.9
    assert list(found.to_pandas()["mean"]) == [cell.mean]
    direct = [
        market.accuracy(buys_most(market.observations, 0))
        for market in sp.paper_markets("corruption", "i", 3, 40, n_trials=2)
    ]
    assert 100 * min(direct) <= cell.mean <= 100 * max(direct)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("theirs", "--method must be among paper, ours, or module:function; received 'theirs'"),
        ("nowhere:guess", "'nowhere' cannot be imported"),
        ("json:guess", "module 'json' has no 'guess'"),
        ("json:__name__", "must be a function of observations and a seed"),
        (",", "--method must name one or more methods"),
    ],
)
def test_methods_that_are_none(method: str, message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["reproduce", "table1", "--method", method, "--out", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "none").exists()


def test_figures(table: table1.Table1, tmp_path: Path) -> None:
    figure3.write(tmp_path, table.cells)
    curves = figure4.run(3, ["i"], (40, 80, 160), n_trials=4, seed=0, jobs=1)
    assert -2.0 < curves[0].rate < 0.5
    assert "rate" in figure4.as_text(curves)
    figure4.write(tmp_path, curves)
    for name in ("figure3.png", "figure3.svg", "figure4.png", "figure4.svg"):
        assert (tmp_path / name).stat().st_size > 5000
