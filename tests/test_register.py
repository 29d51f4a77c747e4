"""Every entry of the register of slips is borne out by a computation, and told in the register."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stochpref import cli
from stochpref.paper.reproduce import register
from stochpref.paper.reproduce.register import conjecture, corruption, posterior, text

README = Path(__file__).parents[1] / "papers" / "birge_li_sun" / "README.md"
CHECKS = [*text.CHECKS, *posterior.CHECKS, *corruption.CHECKS, *conjecture.CHECKS]


@pytest.fixture(scope="module")
def findings():
    return register.run()


@pytest.mark.parametrize("place", range(len(CHECKS)), ids=[check.__name__ for check in CHECKS])
def test_finding_is_confirmed_and_registered(findings, place):
    finding = findings[place]
    assert finding.is_confirmed, finding
    assert f"`{finding.key}`" in README.read_text(encoding="utf-8")


def test_keys_are_unique_and_the_register_names_no_others(findings):
    keys = [finding.key for finding in findings]
    assert len(set(keys)) == len(keys)
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert {line.split("`")[1] for line in rows} == set(keys)


def test_command_prints_the_findings(monkeypatch, tmp_path):
    two = (text.density_sign(), posterior.diameter())
    monkeypatch.setattr(register, "run", lambda: two)
    shown = CliRunner().invoke(cli.app, ["reproduce", "register"])
    assert shown.exit_code == 0
    assert "density-sign (section 3, density of the law): confirmed" in shown.stdout
    shown = CliRunner().invoke(cli.app, ["reproduce", "register", "--json", "--out", str(tmp_path)])
    assert json.loads(shown.stdout) == json.loads((tmp_path / "register.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(register, "run", lambda: (two[0]._replace(is_confirmed=False),))
    assert CliRunner().invoke(cli.app, ["reproduce", "register"]).exit_code == 3
