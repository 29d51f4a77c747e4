"""The heterogeneous model from the command line: fits, summaries, predictions, and what is left when one stops."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.cli.fit_options import Drawing, OneLaw, Searching, Segmenting, named_models
from stochpref.posterior.checkpoints import read_checkpoint
from tests.test_heterogeneous_utility import market

QUICK = ("--model", "heterogeneous", "--draws", 100, "--effective", 100)


def run(*arguments: object) -> object:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli")
    sp.write_observations(market(3, 120), home / "purchases.csv")
    result = run("fit", home / "purchases.csv", "--out", home / "fit", *QUICK)
    assert result.exit_code == 0, result.output
    assert "converged" in result.stdout
    return home


def test_summary_and_predict(folder: Path) -> None:
    assert not (folder / "fit" / "checkpoint.npz").exists()
    assert {path.name for path in (folder / "fit").iterdir()} == {"fit.json", "arrays.npz", "learned.json"}
    text = run("summary", folder / "fit").stdout
    assert "concentration" in text
    content = json.loads(run("summary", folder / "fit", "--json").stdout)
    assert content["model"] == "heterogeneous"
    assert len(content["goods"]) == 3
    (folder / "menus.csv").write_text("observation,good,price,budget\n1,good1,1.0,2\n1,good2,1.5,2\n2,good3,2.0,1\n")
    names = sp.load_fit(folder / "fit").goods_
    table = (folder / "menus.csv").read_text()
    for i in range(3):
        table = table.replace(f"good{i + 1}", names[i])
    (folder / "menus.csv").write_text(table)
    result = run("predict", folder / "fit", folder / "menus.csv", "--out", folder / "demand.csv")
    assert result.exit_code == 0, result.output
    assert "revenue" in result.stdout
    rows = (folder / "demand.csv").read_text().splitlines()
    assert rows[0] == "menu,good,price,budget,bundle,expected,lower,upper"
    assert len(rows) == 4
    content = json.loads(run("predict", folder / "fit", folder / "menus.csv", "--json").stdout)
    assert np.shape(content["demand"]["mean"]) == (2, 3)
    assert content["labels"] == content["demand"]["labels"] == ["1", "2"]


def test_a_fit_takes_the_place_of_another_whole(folder: Path) -> None:
    home, table = folder / "both", folder / "purchases.csv"
    run("fit", table, "--out", home, *QUICK)
    (home / "notes.txt").write_text("mine")
    result = run("fit", table, "--out", home, "--model", "common")
    assert "in place of a heterogeneous fit" in result.stderr
    assert {path.name for path in home.iterdir()} == {"fit.json", "learned.json", "arrays.npz", "notes.txt"}
    assert isinstance(sp.load_fit(home), sp.CommonUtility)


def test_a_fit_takes_the_place_of_one_of_version_0_1_0(folder: Path) -> None:
    home, former = folder / "former", Path(__file__).parent / "reference" / "fit-0.1.0-common"
    for name, parts in (("as it was", set()), ("altered", {"observations.nc"})):
        shutil.copytree(former, home)
        (home / "notes.txt").write_text("mine")
        if parts:
            (home / "observations.nc").write_text("mine now")  # not what the fit wrote: not for us to delete
        result = run("fit", folder / "purchases.csv", "--out", home, "--model", "common")
        assert "in place of" not in result.stderr, name
        assert {path.name for path in home.iterdir()} == {"fit.json", "learned.json", "arrays.npz", "notes.txt", *parts}
        shutil.rmtree(home)


def test_a_fit_that_fails_leaves_no_folder(folder: Path) -> None:
    result = run("fit", folder / "purchases.csv", "--out", folder / "new" / "fit", "--concentration-bounds", 5, 1)
    assert result.exit_code == 2
    assert not (folder / "new").exists()
    result = run("split", folder / "none.csv", "--out", folder / "new" / "a.csv", "--held-out", folder / "b.csv")
    assert result.exit_code == 2
    assert not (folder / "new").exists()


def test_refuses_options_of_the_other_model(folder: Path) -> None:
    one_law = ("fit", folder / "purchases.csv", "--out", folder / "x", "--model", "heterogeneous")
    result = run(*one_law, "--odd", folder / "odd.csv")
    assert result.exit_code == 2
    assert "--odd belongs to --model common" in result.output
    result = run("fit", folder / "purchases.csv", "--out", folder / "x", "--model", "common", "--draws", 3)
    assert result.exit_code == 2
    assert "--draws belongs to --model heterogeneous, segmented, normal or satiated; this fit" in result.output
    result = run(*one_law, "--segments", 3)
    assert result.exit_code == 2
    assert "--segments belongs to --model segmented; this fit is of model heterogeneous" in result.output
    result = run("fit", folder / "purchases.csv", "--out", folder / "x", "--segments", 3, "--margin", 0.1)
    assert result.exit_code == 2
    assert "options must be of one model; received --segments (segmented) and --margin (common)" in result.output


def test_options_pick_the_models_that_take_them() -> None:
    drawing, one_law, segmenting, searching = Drawing(), OneLaw(), Segmenting(), Searching()
    for changes, named in (
        ({}, ["heterogeneous", "segmented", "common"]),
        ({"drawing": replace(drawing, effective=900)}, ["heterogeneous", "segmented"]),
        ({"one_law": replace(one_law, sampler="gibbs")}, ["heterogeneous"]),
        ({"segmenting": replace(segmenting, segments="2"), "drawing": replace(drawing, draws=9)}, ["segmented"]),
        ({"searching": replace(searching, odd=Path("odd.csv"))}, ["common"]),
    ):
        parts: dict[str, Any] = {"drawing": drawing, "one_law": one_law, "segmenting": segmenting}
        parts |= {"searching": searching, **changes}
        options: dict[str, Any] = {
            "heterogeneous": (parts["drawing"], parts["one_law"]), "common": (parts["searching"],),
            "segmented": (parts["drawing"], parts["segmenting"]),
        }  # fmt: skip
        assert sorted(named_models("auto", options, is_alone=False)) == sorted(named)
        alone = named_models("auto", options, is_alone=True)
        assert alone == (["heterogeneous"] if "heterogeneous" in named else named)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_model_that_purchases_held_out_speak_for(folder: Path) -> None:
    home = folder / "auto"
    result = run("fit", folder / "purchases.csv", "--out", home, "--draws", 50, "--effective", 50)
    assert result.exit_code == 0, result.output
    assert "Models by the mean log-probability of 24 purchases held out; each learned from 96" in result.stdout
    assert " is believed: " in result.stdout
    assert {path.name for path in home.iterdir()} == {"fit.json", "arrays.npz", "learned.json"}
    told = json.loads(run("summary", home, "--json").stdout)
    assert told["model"] == told["ranking"]["chosen"] == json.loads((home / "fit.json").read_text())["model"]
    assert {row["name"] for row in told["ranking"]["scores"]} == {"heterogeneous", "segmented"}
    assert str(sp.load_fit(home).ranking_) in run("summary", home).stdout


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_segments_are_fitted_and_told(folder: Path) -> None:
    quick = ("--model", "segmented", "--draws", 20, "--effective", 0)
    result = run("fit", folder / "purchases.csv", "--out", folder / "segments", *quick, "--segments", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["model"] == "segmented"
    assert [row["n_asked"] for row in found["path"]] == [1, 2]
    assert not found["is_auto"]
    assert sp.load_fit(folder / "segments").n_segments == 2
    result = run("fit", folder / "purchases.csv", "--out", folder / "segments", *quick, "--segments", "few")
    assert result.exit_code == 2
    assert "n_segments must be 'auto' or a whole number, 1 or more; received 'few'" in result.output


def test_a_fit_made_here_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    assert run("fit", folder / "purchases.csv", "--out", ".", "--model", "common").exit_code == 0
    command = ["stochpref", "fit", "purchases.csv", "--out", "here", "--model", "common"]
    copy = sp.load_fit(folder / "here")
    copy.save(folder / "copy")
    assert copy.command_ == sp.load_fit(folder / "copy").command_ == command


@pytest.mark.usefixtures("clock")
def test_exit_code_when_not_converged(folder: Path) -> None:
    arguments = ("--sampler", "gibbs", "--draws", 10**6, "--max-seconds", 800)
    result = run("fit", folder / "purchases.csv", "--out", folder / "short", *arguments)
    assert result.exit_code == 0
    assert "warning: NOT CONVERGED" in result.stderr
    assert (folder / "short" / "checkpoint.npz").exists()
    result = run("fit", folder / "purchases.csv", "--out", folder / "short", *arguments, "--require-converged")
    assert result.exit_code == 3
    assert "resumed from" in result.stderr
    refused = run("fit", folder / "purchases.csv", "--out", folder / "short", *arguments, "--seed", 1)
    assert refused.exit_code == 2
    assert "belongs to other data" in refused.stderr
    assert "resum" not in refused.stderr


def test_interrupted_fit_leaves_a_usable_result(folder: Path, interrupt_at: Callable[[int], None]) -> None:
    interrupt_at(330)
    result = run("fit", folder / "purchases.csv", "--out", folder / "stopped", "--sampler", "gibbs")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert "give the same command again" in result.stderr
    assert sp.load_fit(folder / "stopped").status_ == "interrupted"


def test_a_fit_that_is_told_to_end_leaves_a_usable_result(folder: Path) -> None:
    # A checkpoint at every step, which tells how far the process is.
    program = "from stochpref.posterior import chains; chains._CHECKPOINT_SECONDS = 0.0; from stochpref import cli; "
    out = folder / "ended"
    arguments = ("fit", folder / "purchases.csv", "--out", out, "--sampler", "gibbs", "--draws", 10**6)
    process = subprocess.Popen(
        [sys.executable, "-c", program + "cli.main()", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    n_draws = 0
    while n_draws == 0 and process.poll() is None:
        time.sleep(0.05)
        begun = read_checkpoint(out / "checkpoint.npz")
        n_draws = 0 if begun is None else begun.n_draws
    process.terminate()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted: what was drawn is saved; give the same command again to go on" in errors
    found = sp.load_fit(out)
    assert found.status_ == "interrupted"
    kept = read_checkpoint(out / "checkpoint.npz")
    assert kept is not None
    assert kept.n_draws == found.summary().n_draws >= n_draws
