# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import stochpref as sp
from stochpref import cli, readers

LONG = """observation,good,price,quantity,budget
a,milk,2,1,3
a,bread,4,0.25,3
b,milk,2,1,3
b,bread,1.5,1,3
c,milk,2,0,3
c,bread,1.5,1,3
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def run_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stochpref.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def good_file(tmp_path: Path) -> Path:
    path = tmp_path / "purchases.csv"
    path.write_text(LONG.replace("b,bread,1.5", "b,bread,1"))
    return path


@pytest.fixture
def bad_file(tmp_path: Path) -> Path:
    """Observation b costs 3.5 with a budget of 3."""
    path = tmp_path / "purchases.csv"
    path.write_text(LONG)
    return path


def test_check_prints_an_audit(good_file):
    shown = run("check", good_file)
    assert shown.exit_code == 0
    assert "read as long, goods milk, bread" in shown.stdout
    assert "3 observations of 2 goods" in shown.stdout
    assert shown.stderr == ""


def test_check_warns_of_one_menu_for_all(tmp_path):
    path = tmp_path / "same.csv"
    for price, is_warned in ((2, True), (3, False)):
        path.write_text(f"price_a,price_b,quantity_a,quantity_b,budget\n2,1,1,0,2\n{price},1,0,1,2\n")
        assert ("every customer faced the same menu" in run("check", path).stdout) == is_warned


def test_check_lists_bad_rows_and_audits_the_others(bad_file):
    shown = run("check", bad_file)
    assert shown.exit_code == 2
    assert "1 of 3 observations break a rule (the header is row 1)" in shown.stdout
    assert "a bundle must not cost more than its budget" in shown.stdout
    assert "row 4 (observation b): cost 3.5 against a budget of 3" in shown.stdout
    assert "2 observations of 2 goods" in shown.stdout
    assert shown.stderr.startswith("error: ")
    assert "--skip-bad" in shown.stderr


def test_skip_bad_leaves_out_and_counts(bad_file):
    shown = run("check", bad_file, "--skip-bad")
    assert shown.exit_code == 0
    assert "row 4 (observation b)" in shown.stdout
    assert shown.stderr == "left out 1 of 3 observations\n"


def test_skip_bad_cannot_leave_out_everything(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("observation,good,price,quantity,budget\n1,a,-1,1,1\n")
    shown = run("check", path, "--skip-bad")
    assert shown.exit_code == 2
    assert "1 of 1 observations break a rule; correct the file" in shown.stderr


def test_json_holds_the_same(bad_file):
    report = json.loads(run("check", bad_file, "--json").stdout)
    assert (report["version"], report["n_read"], report["n_bad"], report["layout"]) == (sp.__version__, 3, 1, "long")
    (bad,) = report["bad"]
    assert (bad["row"], bad["observation"], bad["position"]) == (4, "b", 1)
    assert report["audit"]["n_observations"] == 2


def test_json_has_null_where_there_is_no_number(tmp_path):
    path = tmp_path / "idle.csv"
    path.write_text("observation,good,price,quantity,budget\n1,a,,0,0\n")
    shown = run("check", path, "--json")
    report = json.loads(shown.stdout, parse_constant=pytest.fail)
    assert report["audit"]["spent_share"] is None
    assert report["audit"]["price_range"] == [None, None]


def test_degenerate_observations_are_named_by_their_rows(tmp_path):
    path = tmp_path / "ties.csv"
    path.write_text(LONG.replace("b,bread,1.5,1,", "b,bread,1.5,0.1,"))
    shown = run("check", path)
    assert "The first degenerate observations in the file:\n    row 4 (observation b)" in shown.stdout


def test_columns_budget_and_cap_are_passed_on(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("x1,x2,b\n1,3,9\n")
    arguments = ("--column", "quantity=x", "--column", "price=1.0", "--column", "budget=b", "--cap", 3)
    assert "budgets             9 to 9" in run("check", path, *arguments).stdout
    assert "budgets             4 to 4" in run("check", path, *arguments, "--budget", "spent").stdout
    assert run("check", path, *arguments, "--layout", "long").exit_code == 2


def test_whole_items_with_money_left_hint_at_the_money_spent(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("observation,good,price,quantity,budget\n1,a,2,1,5\n1,b,4,0,5\n")
    assert "--budget spent" in run("check", path).stdout
    assert "--budget spent" not in run("check", path, "--budget", "spent").stdout


def test_rounded_figures_hint_at_the_way_to_read_them(tmp_path):
    path = tmp_path / "rounded.csv"
    path.write_text("observation,good,price,quantity,budget\n1,a,3,0.333,1\n2,a,3,0.334,1\n")
    shown = run("check", path)
    assert "1 of these leave less than 1 % of the budget" in shown.stdout
    assert " ".join(shown.stdout.split()).count("(--budget rounded)") == 2
    assert run("check", path, "--budget", "rounded").exit_code == 0


def test_fit_says_how_degenerate_observations_are_left_out(tmp_path):
    path = tmp_path / "ties.csv"
    path.write_text(LONG.replace("b,bread,1.5,1,", "b,bread,1.5,0.1,"))
    for model in ("common", "heterogeneous"):
        refused = run_process("fit", path, "--model", model, "--out", tmp_path / model)
        assert refused.returncode == 2
        assert "--degenerate drop" in refused.stderr
        assert not (tmp_path / model).exists()
        assert "in the file: row 4 (observation b)" in refused.stderr
    assert (
        run_process("fit", path, "--model", "common", "--out", tmp_path / "fit", "--degenerate", "drop").returncode == 0
    )


def test_an_odd_purchase_has_one_name_everywhere(tmp_path):
    path, fitted = tmp_path / "named.csv", tmp_path / "fit"
    rows = [f"visit {t},{g},1,{int(g == ('tea' if t < 5 else 'rum'))},1" for t in range(7) for g in ("tea", "rum")]
    path.write_text("\n".join(["observation,good,price,quantity,budget", *rows]))
    shown = run("fit", path, "--model", "common", "--out", fitted, "--odd", tmp_path / "odd.csv")
    assert shown.exit_code == 0, shown.output
    assert "observation visit 5" in shown.stdout
    assert run("summary", fitted).stdout == shown.stdout
    assert (tmp_path / "odd.csv").read_text().splitlines()[1].startswith("visit 5,")
    run("report", fitted, "--out", tmp_path / "r.html")
    assert "<bdi>visit 5</bdi>" in (tmp_path / "r.html").read_text()
    assert sp.load_fit(fitted).observations_.labels == tuple(f"visit {t}" for t in range(7))
    run("split", path, "--out", tmp_path / "a.csv", "--held-out", tmp_path / "b.csv")
    parts = [sp.read_observations(tmp_path / name).labels for name in ("a.csv", "b.csv")]
    assert sorted(parts[0] + parts[1]) == sorted(f"visit {t}" for t in range(7))


def test_names_that_a_spreadsheet_would_run_are_defused_on_request(tmp_path):
    day, tea, milk, anna = "-cmd|' /C'!A0", "=1+1", "+2", "@SUM(A1)"
    rows = [
        f"{day} {t},{good},1,{int(good == (tea if t < 5 else milk))},1,{anna}" for t in range(7) for good in (tea, milk)
    ]
    path, fitted = tmp_path / "all.csv", tmp_path / "fit"
    path.write_text("\n".join(["observation,good,price,quantity,budget,customer", *rows]))
    (tmp_path / "menus.csv").write_text("observation,good,price,budget\n@now,=1+1,1.5,1\n@now,+2,1,1\n")
    found = {}
    for flag in ((), ("--spreadsheet",)):
        odd, demand = tmp_path / "odd.csv", tmp_path / "demand.csv"
        shown = run("fit", path, "--model", "common", "--out", fitted, "--odd", odd, *flag)
        assert shown.exit_code == 0, shown.output
        assert run("predict", fitted, tmp_path / "menus.csv", "--out", demand, *flag).exit_code == 0
        found[flag] = [list(csv.reader(file.read_text().splitlines())) for file in (odd, demand)]
    (odd, demand), (safe_odd, safe_demand) = found.values()
    assert odd[1][:2] == ["-cmd|' /C'!A0 5", "@SUM(A1)"]
    assert safe_odd[1][:2] == ["'-cmd|' /C'!A0 5", "'@SUM(A1)"]
    assert {row[4] for row in odd[1:]} == {"=1+1", "+2"}
    assert {row[4] for row in safe_odd[1:]} == {"'=1+1", "+2"}  # a number, whatever it names, is no formula
    assert [row[5:] for row in safe_odd] == [row[5:] for row in odd]
    assert any(cell.startswith("-") for row in odd for cell in row[5:])
    assert demand[1] == ["@now", "=1+1", "1.5", "1.0", demand[1][4]]
    assert safe_demand[1] == ["'@now", "'=1+1", *demand[1][2:]]
    for command in (("fit", path, "--model", "common", "--out", fitted), ("predict", fitted, tmp_path / "menus.csv")):
        refused = run(*command, "--spreadsheet")
        assert (refused.exit_code, "--spreadsheet is about the file" in refused.stderr) == (2, True)


def test_design_menus_takes_the_budget_of_the_fit_or_says_what_it_took(tmp_path):
    law = sp.VonMisesFisher(np.array([0.8, 0.6]), 6.0)
    data = sp.simulate(law, sp.MenuLaw("uniform"), 60, rng=np.random.default_rng(0))
    data = sp.Observations(100 * data.prices, 100 * data.budgets, data.bundles)
    model = sp.HeterogeneousUtility(n_draws=60, n_effective=20, random_state=0).fit(data)
    model.save(tmp_path / "fit")
    money = f"{np.median(data.budgets):.4g}"
    batch = ("design", "menus", "--batch", 3, "--out", tmp_path / "menus.csv")
    shown = run(*batch, "--fit", tmp_path / "fit")
    assert shown.exit_code == 0, shown.output
    assert f"budget {money}, the median of the fit" in shown.stderr
    np.testing.assert_allclose(sp.read_menus(tmp_path / "menus.csv").budgets, float(money))
    assert "budgets from 1 to 2 were assumed" in run(*batch, "--goods", 2).stderr
    for stated in (("--fit", tmp_path / "fit"), ("--goods", 2)):
        assert "budget" not in run(*batch, *stated, "--budget", 2).stderr


def test_predict_calls_menus_as_the_file_does(good_file):
    folder = good_file.parent
    run("fit", good_file, "--model", "common", "--out", folder / "fit")
    named, numbered = folder / "menus.csv", folder / "wide.csv"
    named.write_text("observation,good,price,budget\ntoday,milk,2,3\nsale,milk,1,3\nsale,bread,1,3\n")
    numbered.write_text("price_milk,price_bread,budget\n2,1,3\n1,1,3\n")
    shown = run_process("predict", folder / "fit", named, "--out", folder / "demand.csv")
    assert "  menu today: " in shown.stdout, shown.stderr
    assert "  menu sale: " in shown.stdout
    rows = [line.split(",")[:2] for line in (folder / "demand.csv").read_text().splitlines()]
    assert rows == [["menu", "good"], ["today", "milk"], ["sale", "milk"], ["sale", "bread"]]
    assert json.loads(run_process("predict", folder / "fit", named, "--json").stdout)["labels"] == ["today", "sale"]
    assert "  menu 2: " in run_process("predict", folder / "fit", numbered).stdout
    single = folder / "single.csv"
    single.write_text("good,price,budget\nmilk,2,3\nbread,1,3\n")
    assert "  menu 1: " in run("predict", folder / "fit", single).stdout
    single.write_text("good,price,budget\nmilk,2,3\nmilk,1,3\n")
    assert "the same observation and good again" in run("predict", folder / "fit", single).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "purchases.csv", "--column", "price"), "OURS=YOURS"),
        (("check", "purchases.csv", "--column", "prize=x"), "nearest is 'price'"),
        (("check", "purchases.csv", "--column", "price=prise"), "nearest is 'price'"),
        (("check", "purchase.csv"), "did you mean purchases.csv"),
        (("check", "purchases.csv", "--layot", "long"), "--layout"),
        (("check", "purchases.csv", "--layout", "lon"), "long"),
        (("check", "purchases.csv", "--cap", "many"), "--cap"),
        (("check", "purchases.csv", "--cap", "-1"), "caps must be positive"),
        (("chekc", "purchases.csv"), "check"),
        (("simulate", "--out", "x.csv", "--goods", "1"), "--goods"),
        (("simulate", "--out", "x.csv", "--goods", "²"), "--goods must be two or more"),
        (("simulate", "--out", "x.csv", "--observations", "0"), "equal to 1; received 0"),
        (("fit", "purchases.csv", "--model", "comon", "--out", "x"), "Did you mean 'common'?"),
        (("design", "menus", "--criterion", "prediktion"), "Did you mean 'prediction'?"),
        (("fit", "one.csv", "--out", "x"), "add what else was on offer, with its price and quantity 0"),
        (("predict", "fit", "no_budget.csv"), "pass a constant, columns={'budget': 2} (--column budget=2)\n"),
        (("check", "no_budget.csv", "--column", "quantity=1"), "(--column budget=2), or read with budget='spent'"),
        (("simulate", "--out", "x.csv", "--concentration", "-1"), "concentration"),
        (("simulate", "--out", "x.csv", "--model", "common", "--corruption", "2"), "corruption"),
        (("simulate", "--out", "x.xlsx"), "must end in .csv or .parquet"),
        (("simulate", "--out", "purchases.csv/x.csv"), "purchases.csv is a file; name a folder"),
        (("simulate", "--out", "purchases.csv/y/x.csv"), "choose another place"),
        (("summary", "fitt"), "did you mean fit?"),
        (("report", "."), "did you mean fit?"),
        (("report", "fit", "--out", "fit"), "fit is a folder; name a file"),
        (("predict", "fit", "purchases.csv", "--out", "fit"), "fit is a folder; name a file"),
        (("fit", "purchases.csv", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("fit", "purchases.csv", "--model", "common", "--out", "x", "--odd", "fit"), "--odd: fit is a folder"),
        (("fit", "purchases.csv", "--out", "x", "--single-precision"), "is for folders of Parquet files"),
        (("fit", "sub.csv", "--model", "common", "--out", "x"), "a folder is fitted by --model heterogeneous"),
        (("split", "purchases.csv", "--out", "a.csv", "--held-out", "sub.csv"), "--held-out: sub.csv is a folder"),
        (("design", "menus", "--goods", "2", "--budget", "1", "--out", "fit"), "fit is a folder; name a file"),
        (("split", "purchases.csv", "--out", "./purchases.csv", "--held-out", "b.csv"), "--out: purchases.csv is read"),
        (
            ("split", "purchases.csv", "--out", "a.csv", "--held-out", "purchases.csv"),
            "--held-out: purchases.csv is read",
        ),
        (("split", "purchases.csv", "--out", "a.csv", "--held-out", "./a.csv"), "must be two files"),
        (
            ("fit", "purchases.csv", "--model", "common", "--out", "x", "--odd", "purchases.csv"),
            "--odd: purchases.csv is",
        ),
        (("predict", "fit", "purchases.csv", "--out", "purchases.csv"), "--out: purchases.csv is read"),
        (
            ("predict", "fit", "purchases.csv", "--out", "d.txt"),
            "--out must end in .csv or .parquet or .xlsx or .json; received d.txt",
        ),
        (("fit", "purchases.csv", "--model", "common", "--out", "x", "--odd", "o.xlsx"), "--odd must end in .csv"),
        (("report", "fit", "--out", "purchases.csv"), "--out must end in .html or .htm; received purchases.csv"),
        (("report", "fit", "--out", "report.pdf"), "--out must end in .html"),
        (("design", "menus", "--goods", "2", "--out", "d.xlsx"), "--out must end in .csv or .parquet"),
        (("demo", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("reproduce", "table1", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("reproduce", "figure2", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("reproduce", "figure4", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("reproduce", "guarantees", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
        (("reproduce", "register", "--out", "purchases.csv"), "purchases.csv is a file; name a folder"),
    ],
)
def test_mistakes_name_the_remedy(good_file, monkeypatch, arguments, message):
    monkeypatch.chdir(good_file.parent)
    Path("sub.csv").mkdir()
    Path("fit").mkdir()
    Path("fit", "fit.json").write_text("{}")
    Path("one.csv").write_text("observation,good,price,quantity,budget\n1,tea,1,1,2\n2,tea,2,1,2\n")
    Path("no_budget.csv").write_text("observation,good,price\n1,tea,1\n1,milk,2\n")
    if arguments[0] == "predict":
        sp.CommonUtility(random_state=0).fit(sp.read_observations(good_file)).save("fit")
    before = good_file.read_text()
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert good_file.read_text() == before
    assert not Path("x").exists()
    assert message in shown.stderr
    assert "Traceback" not in shown.output


@pytest.mark.parametrize("model", ["heterogeneous", "common"])
@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
@pytest.mark.parametrize(("suffix", "layout"), [(".csv", "long"), (".parquet", "wide")])
def test_simulate_writes_data_and_truth(tmp_path, model, law, suffix, layout):
    out = tmp_path / "new" / "folder" / f"market{suffix}"
    arguments = ("--observations", 50, "--goods", 3, "--model", model, "--law", law, "--seed", 7, "--layout", layout)
    shown = run("simulate", *arguments, "--out", out)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == ""
    assert str(out) in shown.stderr
    observations = sp.read_observations(out)
    assert observations.prices.shape == (50, 3)
    truth = json.loads((out.parent / "market.truth.json").read_text())
    assert (truth["seed"], truth["version"], truth["law"], truth["model"]) == (7, sp.__version__, law, model)
    direction = np.array(truth["mean_direction" if model == "heterogeneous" else "utility"])
    assert direction.max() > 0
    assert np.linalg.norm(direction) == pytest.approx(1)
    first = out.read_bytes()
    run("simulate", *arguments, "--out", out)
    assert out.read_bytes() == first


def test_simulate_takes_names_of_goods(tmp_path):
    numbered, named = tmp_path / "a.csv", tmp_path / "b.csv"
    run("simulate", "--observations", 20, "--goods", 2, "--out", numbered)
    assert run("simulate", "--observations", 20, "--goods", "tea, rum", "--out", named).exit_code == 0
    first, second = sp.read_observations(numbered), sp.read_observations(named)
    assert second.goods == ("tea", "rum")
    np.testing.assert_array_equal(first.bundles, second.bundles)


def test_simulate_and_split_say_in_json_what_they_wrote(tmp_path):
    made = run("simulate", "--observations", 20, "--goods", 2, "--seed", 3, "--out", tmp_path / "all.csv", "--json")
    truth = json.loads((tmp_path / "all.truth.json").read_text())
    paths = {"path": str(tmp_path / "all.csv"), "truth_path": str(tmp_path / "all.truth.json")}
    assert json.loads(made.stdout) == paths | truth
    parts = ("--out", tmp_path / "a.csv", "--held-out", tmp_path / "b.csv")
    found = json.loads(run("split", tmp_path / "all.csv", *parts, "--json").stdout)
    assert (found["n_observations"], found["n_held_out"], found["path"]) == (16, 4, str(tmp_path / "a.csv"))


def test_split_holds_a_share_out(tmp_path):
    one = run("simulate", "--observations", 1, "--goods", 2, "--out", tmp_path / "all.csv")
    assert "(1 observation of 2 goods, seed 0)" in one.stderr
    run("simulate", "--observations", 50, "--goods", 2, "--out", tmp_path / "all.csv")
    parts = tmp_path / "new" / "learn.csv", tmp_path / "new" / "later.parquet"
    shown = run("split", tmp_path / "all.csv", "--share", 0.3, "--out", parts[0], "--held-out", parts[1])
    assert shown.exit_code == 0, shown.output
    learn, later = (sp.read_observations(part) for part in parts)
    assert (len(learn), len(later)) == (35, 15)
    whole = sp.read_observations(tmp_path / "all.csv")
    both = np.concatenate([learn.prices, later.prices])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(whole.prices, axis=0))
    fresh = tmp_path / "fresh.csv"
    for other in (tmp_path / "later.xlsx", fresh):
        assert run("split", tmp_path / "all.csv", "--out", fresh, "--held-out", other).exit_code == 2
        assert not fresh.exists()  # nothing is written if one of the two cannot be
    (tmp_path / "bad.csv").write_text(LONG)
    bad = ("split", tmp_path / "bad.csv", "--share", 0.5, "--out", parts[0], "--held-out", parts[1])
    assert run(*bad).exit_code == 2
    assert run(*bad, "--skip-bad").exit_code == 0
    for share in (0, 1, 0.001, -2):
        refused = run("split", tmp_path / "all.csv", "--share", share, "--out", parts[0], "--held-out", parts[1])
        assert (refused.exit_code, "--share" in refused.stderr) == (2, True)


def test_an_interrupt_exits_with_130(good_file, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(readers, "scan", interrupt)
    assert run("check", good_file).exit_code == 130


def test_an_interrupt_of_many_processes_is_quiet(tmp_path):
    table = ("--setting", "corruption", "--laws", "i", "--goods", 3, "--observations", 50, "--trials", 10**4)
    arguments = ("reproduce", "table1", *table, "--method", "ours", "--jobs", 2, "--out", tmp_path)
    command = [sys.executable, "-m", "stochpref.cli", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(tmp_path.glob("*.jsonl")) and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, "interrupted\n")


def test_a_reader_who_leaves_ends_a_command_quietly(good_file):
    for arguments in (("--help",), ("check", str(good_file))):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "stochpref.cli", *arguments]
        shown = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=120, check=False)
        os.close(writer)
        assert (shown.returncode, shown.stderr) == (1, b"")


def test_too_little_memory_is_said(good_file, monkeypatch):
    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(readers, "scan", exhaust)
    shown = run("check", good_file)
    assert (shown.exit_code, shown.stderr[:23]) == (2, "error: not enough memor")


def test_help_and_version_in_a_process_of_their_own():
    assert run_process("--version").stdout.strip() == sp.__version__


COMMANDS = [
    "demo", "check", "simulate", "split", "fit", "summary", "predict", "price", "assortment",
    "forecast", "fund", "report", "compare", "design menus",
    "design check", "reproduce table1", "reproduce figure1", "reproduce figure2", "reproduce figure3",
    "reproduce figure4", "reproduce guarantees", "reproduce register",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    shown = run(*command.split(), "--help")
    assert shown.exit_code == 0
    assert f"  stochpref {command}" in shown.stdout


def test_all_commands_are_listed_in_the_order_of_use():
    listed = [line.split()[0] for line in run("--help").stdout.partition("Commands:")[2].strip().splitlines()]
    assert listed == list(dict.fromkeys(command.split()[0] for command in COMMANDS))


def test_a_process_of_its_own_for_every_command(tmp_path):
    """The demonstration runs simulate, check, split, fit, compare, predict, report and price; the rest follow.

    In JSON it says what it wrote, and what its commands print goes to stderr.
    """
    shown = run_process("demo", "--out", tmp_path / "demo", "--observations", 60, "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert all(Path(path).exists() for name, path in told.items() if name not in ("version", "seed"))
    report = tmp_path / "demo" / "report.html"
    assert told["report"] == str(report)
    assert f"Open {report} in a browser." in shown.stderr
    assert report.stat().st_size > 100_000
    assert "\n  menu today\n" in shown.stderr
    assert "\n  menu cheaper coffee\n" in shown.stderr
    assert "\nBest prices (" in shown.stderr
    prices = [line.split(",")[1] for line in Path(told["price_list"]).read_text().splitlines()[1:]]
    assert len(prices) == 4
    assert all(price.endswith("9") for price in prices)
    assert "Traceback" not in shown.stderr
    assert "coffee" in run_process("summary", tmp_path / "demo" / "fit").stdout
    menus = ("design", "menus", "--goods", 2, "--budget", 1, "--batch", 4, "--out", tmp_path / "menus.csv")
    assert run_process(*menus).returncode == 0
    assert run_process("design", "check", tmp_path / "menus.csv").returncode == 0
    table = ("--setting", "corruption", "--laws", "i", "--goods", 3, "--observations", 50, "--trials", 2, "--jobs", 1)
    assert run_process("reproduce", "table1", *table, "--method", "ours", "--out", tmp_path / "table").returncode == 0


def test_help_imports_nothing_heavy():
    code = "import sys, stochpref.cli; print(*{'numpy', 'numba', 'pyarrow', 'scipy', 'narwhals'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == ""


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x13", LONG.encode(), b"PAR1PAR1"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_process_fed_bad_files_exits_with_2(tmp_path, content, suffix):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content)
    shown = run_process("check", path)
    assert shown.returncode == 2
    assert shown.stderr.startswith("error: ")
    assert "Traceback" not in shown.stderr + shown.stdout


def test_fit_takes_a_folder_of_parquet_files(tmp_path, monkeypatch):
    from stochpref.stores import opening  # noqa: PLC0415

    monkeypatch.setattr(opening, "LARGE", 500)
    law = sp.VonMisesFisher(np.array([0.8, 0.6, 0.0]), 4.0)
    seen = sp.simulate(law, sp.MenuLaw("uniform"), 1200, rng=np.random.default_rng(0))
    folder = tmp_path / "purchases"
    folder.mkdir()
    for k in range(2):
        sp.write_observations(seen[600 * k : 600 * (k + 1)], folder / f"{k}.parquet", layout="wide")
    result = run("fit", folder, "--out", tmp_path / "fit", "--effective", "100")
    assert result.exit_code == 0, result.output
    assert "1,200 observations" in result.output
    assert "exact sums at the maximum" in result.output
    result = run("fit", folder, "--model", "common", "--out", tmp_path / "common")
    assert result.exit_code == 2
    assert "--model heterogeneous" in result.output
    assert not (tmp_path / "common").exists()
    (folder / "1.parquet").write_bytes(b"PAR1")
    result = run("fit", folder, "--out", tmp_path / "torn")
    assert result.exit_code == 2
    assert "1.parquet: is not a complete Parquet file" in " ".join(result.output.split())
    assert not (tmp_path / "torn").exists()


def test_an_engine_belongs_to_the_heterogeneous_model(good_file, tmp_path):
    result = run("fit", good_file, "--model", "common", "--engine", "dask", "--out", tmp_path / "fit")
    assert result.exit_code == 2
    assert "--engine belongs to --model heterogeneous" in result.output
