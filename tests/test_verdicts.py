# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Three verdicts wherever a fit speaks, in grades: it has converged, the data identify it, it buys as customers did."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.consensus.summary import judge_ranges, judge_search
from stochpref.models import fit as fit_module
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.summary import judge_convergence
from stochpref.predictive_check import PredictiveCheck
from stochpref.report import page
from stochpref.verdicts import Verdict, Verdicts, worst_of
from tests.small_fits import fit_posterior, posterior, purchases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@cache
def segments() -> sp.HeterogeneousUtility:
    """A fit to two kinds of customers who want the opposite: no law around one direction buys as they do."""
    rng, tastes = np.random.default_rng(0), np.array([[1.0, 0.2, -0.8, 0.1], [-0.8, 0.3, 1.0, 0.1]])
    laws = [sp.VonMisesFisher(taste / np.linalg.norm(taste), 60.0) for taste in tastes]
    one, other = (sp.simulate(law, sp.MenuLaw("uniform"), 200, rng=rng) for law in laws)
    settings: dict[str, Any] = {"sampler": "importance", "n_draws": 200, "n_effective": 200, "random_state": 0}
    return sp.HeterogeneousUtility(**settings).fit(one.concat(other))


@cache
def right() -> sp.HeterogeneousUtility:
    settings: dict[str, Any] = {"sampler": "importance", "n_draws": 200, "n_effective": 200, "random_state": 0}
    return sp.HeterogeneousUtility(**settings).fit(purchases(4, 400))


def diagnostics(r_hat: float, effective: float, pareto_k: float | None = None) -> Diagnostics:
    rows = [np.full(3, value) for value in (r_hat, effective, effective, 0.1, 0.1)]
    return Diagnostics(("a", "b", "c"), *rows, pareto_k=pareto_k)


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        (diagnostics(1.001, 800), "good", "converged: R-hat at most 1.001, at least 800 effective draws"),
        (diagnostics(1.013, 300), "nearly", "nearly converged: R-hat at most 1.013, at least 300 effective draws"),
        (diagnostics(1.002, 300), "nearly", "fewer than the 400 effective draws wanted"),
        (diagnostics(1.002, 60), "bad", "NOT CONVERGED"),
        (diagnostics(1.2, 800), "bad", "NOT CONVERGED"),
        (diagnostics(np.nan, 0), "bad", "NOT CONVERGED: too few draws"),
        (diagnostics(1.0, 800, 0.9), "bad", "too uneven"),
    ],
)
def test_convergence_comes_in_grades(found, status, words):
    verdict = judge_convergence(found, 400, "max_draws")
    assert verdict.status == status
    assert words in verdict.text


def test_a_search_is_graded_by_what_is_left_open():
    assert [judge_search(n, 1000, 1000).status for n in (1000, 995, 900)] == ["good", "nearly", "bad"]
    assert judge_ranges(None).status == "note"
    assert [judge_ranges({"tea": a, "rum": b, "jam": 0.1}).status for a, b in ((0.1, 0.2), (0.1, 2.0), (2.0, 2.0))] == [
        "good", "nearly", "bad",
    ]  # fmt: skip
    assert "rum" in judge_ranges({"tea": 0.1, "rum": 2.0, "jam": 0.1}).text


def test_the_worst_of_verdicts_counts():
    def of(*statuses: str) -> str:
        return worst_of([Verdict(status, "") for status in statuses])

    assert (of("good", "note"), of("good", "nearly"), of("bad", "nearly", "good")) == ("good", "nearly", "bad")
    three = Verdicts(Verdict("good", "a"), Verdict("nearly", "b"), Verdict("note", "c"))
    assert three.grades == "converged yes, identified nearly, fits unknown"
    assert three.as_dict()["identified"] == {"grade": "nearly", "text": "b"}


def checked(**changes: Any) -> PredictiveCheck:
    """Return a check of twenty goods in which all is as observed."""
    share, size = np.full(20, 0.4), np.array([0.2, 0.5, 0.3])
    same: dict[str, Any] = {
        "goods": tuple(f"good{i}" for i in range(20)),
        "share": share, "share_lower": share - 0.01, "share_upper": share + 0.01,
        "size": size, "size_lower": size - 0.01, "size_upper": size + 0.01, "size_step": 1,
        "spent": 3.0, "spent_lower": 2.9, "spent_upper": 3.1,
        "novel": 0.1, "novel_lower": 0.08, "novel_upper": 0.12, "skipped": None, "n_rows": 500, "n_replicates": 100,
    }  # fmt: skip
    return PredictiveCheck(**{**same, **changes})


def one_of_many(miss: float) -> dict[str, Any]:
    lower = np.full(20, 0.39)
    lower[7] = 0.4 + miss
    return {"share_lower": lower, "share_upper": np.maximum(lower, 0.41)}


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({}, "good", "fits: it buys as customers did"),
        (one_of_many(0.05), "good", "fits"),
        (one_of_many(0.12), "nearly", "nearly fits: 40 % bought good7 where it was on offer, the model says 52 %"),
        (one_of_many(0.594), "bad", "DOES NOT FIT: 40 % bought good7 where it was on offer, the model says 99 %; try"),
        ({"size_lower": np.array([0.5, 0.49, 0.29])}, "bad", "20 % of the baskets hold 0 goods, the model says 50 to"),
        ({"size_lower": np.array([0.19, 0.7, 0.29]), "size_step": 3}, "bad", "hold 3 to 5 goods"),
        ({"spent_lower": 3.1, "spent_upper": 3.2}, "nearly", "customers spent 3 on average, the model says 3.1 to 3.2"),
        ({"spent_lower": 1.0, "spent_upper": 1.2}, "bad", "the model says 1 to 1.2"),
        ({"novel_lower": 0.6, "novel_upper": 0.7}, "bad", "60 to 70 % of the baskets that the model makes up"),
        ({"novel_lower": 0.0, "novel_upper": 0.0}, "good", "fits"),
        ({"skipped": 0.02}, "good", "in 2.0 % of the purchases it buys a later unit of a good without an earlier one"),
        ({"skipped": 0.08}, "nearly", "in 8.0 % of the purchases it buys a later unit"),
        ({"skipped": 0.3}, "bad", "the split into units is advised against"),
        ({"share": np.full(20, np.nan)}, "note", "no good was ever on offer"),
        ({"n_rows": 4}, "note", "4 observations can hardly tell"),
        ({"n_replicates": 1, **one_of_many(0.04)}, "good", "fits"),
        ({"n_replicates": 1, **one_of_many(0.3)}, "bad", "DOES NOT FIT"),
    ],
)  # fmt: skip
def test_the_strongest_misfit_is_the_verdict(changes, status, words):
    verdict = checked(**changes).verdict("try")
    assert verdict.status == status
    assert words in verdict.text
    assert words.removesuffix("; try") in str(checked(**changes))


def test_a_right_model_is_right_in_all_respects():
    model = right()
    assert model.verdicts().grades == "converged yes, identified yes, fits yes"
    check = model.check()
    data = model.observations_
    assert check is model.check()
    assert check.spent == pytest.approx(np.sum(data.prices * data.bundles, axis=1).mean())
    baskets = [row.tobytes() for row in data.bundles > 0]
    assert check.novel == pytest.approx(np.mean([baskets.count(basket) == 1 for basket in baskets]))
    assert check.novel_lower <= check.novel <= check.novel_upper
    assert all(misfit.size < 0.5 for misfit in check.misfits.values())
    assert "fits: it buys as customers did" in str(model.summary())


def test_what_does_not_fit_says_so_everywhere(tmp_path: Path):
    model = segments()
    verdicts = model.verdicts()
    assert verdicts.grades == "converged yes, identified yes, fits no"
    assert "customers may be of several kinds" in verdicts.fits.text
    model.save(tmp_path / "fit")
    sp.write_menus(model.observations_.menus[:2], tmp_path / "menus.csv")
    sp.write_observations(purchases(4, 30, seed=3), tmp_path / "later.csv")

    def run(*words: str) -> str:
        shown = CliRunner().invoke(app, list(words))
        assert shown.exit_code == 0, shown.output
        return shown.stdout

    folder, menus, later = (str(tmp_path / name) for name in ("fit", "menus.csv", "later.csv"))
    assert "DOES NOT FIT" in run("summary", folder)
    assert json.loads(run("summary", folder, "--json"))["verdicts"]["fits"]["grade"] == "no"
    assert "fits no" in run("predict", folder, menus)
    assert json.loads(run("predict", folder, menus, "--json"))["verdicts"]["fits"]["grade"] == "no"
    other = tmp_path / "other"
    right().save(other)
    compared = run("compare", folder, str(other), "--held-out", later)
    assert f"{folder}: converged yes, identified yes, fits no" in compared
    assert f"{other}: converged yes, identified yes, fits yes" in compared
    found = json.loads(run("compare", folder, str(other), "--json"))["fits"]
    assert [fit["verdicts"]["fits"]["grade"] for fit in found] == ["no", "yes"]
    assert '<section id="verdict" class="verdict bad">' in page.render(model)


def test_a_check_is_made_once_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = right()
    model.save(tmp_path / "fit")
    called: list[int] = []
    monkeypatch.setattr(fit_module, "check_purchases", lambda *_, **__: called.append(1))
    again = sp.load_fit(tmp_path / "fit")
    for name, value in model.check().as_dict().items():
        assert again.check().as_dict()[name] == value
    assert not called
    again.save(tmp_path / "again")
    assert not called
    former = sp.load_fit(Path(__file__).parent / "reference" / "fit-0.1.0-heterogeneous")
    former.check()
    assert called


def test_a_check_is_forgotten_when_a_model_is_fitted_again():
    model = sp.CommonUtility(random_state=0).fit(purchases(3, 60, is_common=True))
    first = model.check()
    model.fit(purchases(3, 60, seed=1, is_common=True))
    assert model.check().spent != first.spent


def test_agreement_that_the_data_do_not_tell_is_not_printed():
    """From a few purchases of one menu nobody knows how alike customers are."""
    rng = np.random.default_rng(0)
    prices = np.ones((12, 3))
    data = sp.Observations(prices, np.full(12, 1.0), sp.choose(rng.normal([1, 0.5, 0], 0.1, (12, 3)), prices, 1.0))
    model = fit_posterior(data, n_draws=200)
    summary = model.summary()
    assert not model.is_identified_
    assert summary.alikeness is None
    assert summary.as_dict()["alikeness"] is None
    assert "agree to" not in str(summary)
    assert "open" in str(summary)
    account = model.account()
    assert account.figure is None
    assert account.spread == ()
    text = page.render(model)
    assert "agreement of customers" not in text
    assert "How alike customers are the data do not tell" in text
    assert posterior(3).summary().alikeness is not None
