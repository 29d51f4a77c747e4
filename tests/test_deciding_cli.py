"""Commands that decide: what they read, write and refuse, and that they are one call of the library each."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import stochpref as sp
from stochpref import cli
from stochpref.problems import Open
from stochpref.readers.by_good import read_by_good

GOODS = ("tea", "rum", "jam")
COSTS = {"tea": 0.5, "rum": 0.4, "jam": 0.3}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def shop(size: int, seed: int) -> sp.Observations:
    rng = np.random.default_rng(seed)
    mu = np.array([0.6, 0.45, 0.1, 0.6]) / np.linalg.norm([0.6, 0.45, 0.1, 0.6])
    menus = sp.Menus(rng.uniform(1.0, 3.0, (size, 3)), goods=GOODS, problem=Open(2.0))
    return sp.simulate(sp.VonMisesFisher(mu, 7.0), menus, size, rng=rng)


def small(data: sp.Observations) -> sp.HeterogeneousUtility:
    settings = {"sampler": "gibbs", "n_draws": 20, "n_chains": 2, "n_effective": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(**settings).fit(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("decisions")
    small(shop(60, 0)).save(place / "fit")
    (place / "costs.csv").write_text("good,cost\ntea,0.5\nrum,0.4\njam,0.3\n")
    (place / "bounds.csv").write_text("good,lowest,highest,margin\ntea,1.5,,\njam,,2.5,0.8\n")
    (place / "today.csv").write_text("price_tea,price_rum,price_jam\n2,2,2\n")
    later = shop(25, 1)
    rows = [(t, good, later.prices[t, i], later.bundles[t, i]) for t in range(25) for i, good in enumerate(GOODS)]
    with (place / "later.csv").open("w") as file:
        csv.writer(file).writerows([("observation", "good", "price", "quantity"), *rows])
    menus = sp.Menus(np.tile([2.0, 1.0, 1.5], (60, 1)), np.full(60, 3.0), goods=GOODS)
    law = sp.VonMisesFisher(np.array([0.6, 0.6, 0.4]) / np.linalg.norm([0.6, 0.6, 0.4]), 4.0)
    votes = sp.simulate(law, menus, 60, rng=np.random.default_rng(0))
    small(votes).save(place / "votes")
    return place


def test_price_takes_every_limit_and_writes_the_list(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "prices.csv"
    shown = run(
        "price", folder / "fit", folder / "today.csv", "--costs", folder / "costs.csv", "--bounds",
        folder / "bounds.csv", "--ladder", ".x9", "--order", "jam<tea", "--max-changes", "2", "--held-out",
        folder / "later.csv", "--level", "0.8", "--out", out,
    )  # fmt: skip
    assert shown.exit_code == 0, shown.stderr
    assert "80 % intervals" in shown.stdout
    assert "as purchases held out say" in shown.stdout
    assert f"wrote {out} (3 rows)" in shown.stderr
    found = pd.read_csv(out, index_col="good")
    assert list(found.index) == list(GOODS)
    assert found.loc["tea", "lowest"] == 1.5
    assert np.sum(found["price"] != 2.0) <= 2
    assert found.loc["jam", "price"] <= found.loc["tea", "price"]
    assert 1 - 0.3 / found.loc["jam", "price"] >= 0.8 - 1e-9


def test_price_is_one_call_of_the_library(folder: Path) -> None:
    shown = run("price", folder / "fit", "--costs", folder / "costs.csv", "--ladder", "tea=0.25", "--json")
    found = json.loads(shown.stdout)
    own = sp.load_fit(folder / "fit").best_prices(costs=COSTS, ladder={"tea": 0.25})
    assert found["prices"] == own.prices.tolist()
    assert found["status"] == own.status
    assert any("expect 15 to 45 % less" in caution for caution in found["cautions"])


def test_assortment_forecast_and_funds(folder: Path, tmp_path: Path) -> None:
    offered = run("assortment", folder / "fit", "--costs", folder / "costs.csv", "--size", "2", "--json")
    assert sum(json.loads(offered.stdout)["is_offered"]) <= 2
    (tmp_path / "prices.csv").write_text("good,price\ntea,1.5\nrum,1.5\njam,1.5\n")
    at_prices = run("assortment", folder / "fit", "--prices", tmp_path / "prices.csv")
    assert "Best assortment" in at_prices.stdout
    out = tmp_path / "totals.csv"
    totals = run("forecast", folder / "fit", folder / "today.csv", "--customers", "200", "--costs",
                 folder / "costs.csv", "--out", out)  # fmt: skip
    assert "what 200 customers buy" in totals.stdout
    assert list(pd.read_csv(out)["total"]) == [*GOODS, "revenue", "profit"]
    funded = json.loads(run("fund", folder / "votes", "--json").stdout)
    assert funded["budget"] == 3.0
    assert funded["costs"] == [2.0, 1.0, 1.5]
    (tmp_path / "costs.csv").write_text("good,cost\ntea,1\nrum,1\njam,1\n")
    cheaper = run("fund", folder / "votes", "--costs", tmp_path / "costs.csv", "--budget", "2", "--rule", "greedy")
    assert "Funded by greedy with a budget of 2" in cheaper.stdout


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        ("good,price\ntea,1\n", (), "must have columns good, cost"),
        ("good,cost\ntea,1\ntea,2\n", (), "must have one row for each good; tea has more"),
        ("good,cost\ntea,one\n", (), "column 'cost' must hold numbers; row 2 holds 'one'"),
        ("good,cost\n,1\n", (), "row 2 names no good"),
        ("good,cost\ntea,1\nrum,1\n", (), "costs must be given for every good on offer; jam is missing"),
        ("good,cost\ntea,-1\nrum,1\njam,1\n", (), "costs must be zero or more; received -1 for tea"),
        ("good,cost\ntea,1\nrum,1\njam,1\n", ("--ladder", "cheap"), "--ladder must be an ending, a step or prices"),
        ("good,cost\ntea,1\nrum,1\njam,1\n", ("--order", "tea<milk"), "order must be for goods of the fit"),
    ],
)
def test_tables_that_say_no_price_are_refused(
    folder: Path, tmp_path: Path, table: str, arguments: tuple, words: str
) -> None:
    (tmp_path / "costs.csv").write_text(table)
    shown = run("price", folder / "fit", "--costs", tmp_path / "costs.csv", *arguments)
    assert shown.exit_code == 2
    assert words in shown.stderr.replace("'tea'", "tea").replace("'jam'", "jam")


def test_a_report_with_costs_has_a_price_list(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    shown = run("report", folder / "fit", "--costs", folder / "costs.csv", "--out", out)
    assert shown.exit_code == 0, shown.stderr
    assert '<section id="prices">' in out.read_text(encoding="utf-8")
    shown = run("report", folder / "votes", "--costs", folder / "costs.csv", "--out", out)
    assert shown.exit_code == 0, shown.stderr
    assert '<section id="prices">' not in out.read_text(encoding="utf-8")  # none follow where budgets are closed
    assert "profit from a customer" in out.read_text(encoding="utf-8")


def test_closed_budgets_are_refused_before_anything_else(folder: Path) -> None:
    shown = run("price", folder / "votes", "--costs", folder / "costs.csv")
    assert shown.exit_code == 2
    assert "fit with an open budget" in shown.stderr


def test_a_table_by_good_is_any_table() -> None:
    frame = pd.DataFrame({"good": ["tea", "rum"], "lowest": [1.0, np.nan], "highest": [2, 3]})
    found = read_by_good(frame, ("lowest", "highest"), ("margin",))
    assert found["tea"][:2] == (1.0, 2.0)
    assert np.isnan(found["rum"][0])
    assert np.isnan(found["tea"][2])


def test_voters_who_saw_other_costs_leave_them_to_be_stated() -> None:
    model = small(shop(30, 3))
    with pytest.raises(sp.InvalidArgument, match="voters saw no one cost of 'tea'"):
        model.fund(None, 3.0)
