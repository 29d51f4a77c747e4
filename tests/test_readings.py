# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Readings of a budget side by side, and fits that read the same purchases differently, judged by the goods bought."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.baskets import baskets_of, bought_again
from stochpref.cli import app
from stochpref.market import OneCustomer
from stochpref.models.readings import is_called_for
from stochpref.problems import Divisible, Whole

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
GOODS = ("tea", "rum", "jam", "oil")
TASTE = np.array([0.7, 0.4, 0.5, 0.3])


@cache
def whole_items(size: int = 250) -> sp.Observations:
    """Whole items under a budget that is stated: what is left over is too little for one more."""
    rng = np.random.default_rng(2)
    menus = sp.Menus(rng.uniform(1, 2, (size, 4)), rng.uniform(2, 5, size), goods=GOODS, problem=Whole())
    bought = sp.simulate(sp.VonMisesFisher(TASTE / np.linalg.norm(TASTE), 12.0), menus, size, rng=rng)
    return bought.under(Divisible())


@cache
def compared() -> sp.Readings:
    return sp.compare_readings(whole_items(), random_state=0)


def test_whole_items_are_found_to_be_whole() -> None:
    """Read literally, what nobody bought is worth nothing, and most of it is wanted all the same."""
    found = compared()
    assert is_called_for(whole_items())
    assert {row.name for row in found.rows} == {"stated", "spent", "whole", "open"}
    assert found.best == "whole"
    by_name = {row.name: row for row in found.rows}
    assert by_name["stated"].behind > 2 * by_name["stated"].behind_error > 0
    assert np.abs(by_name["whole"].share.mean() - found.observed.mean()) < 0.05
    assert "(--problem whole)" in found.verdict
    assert found.rows[0].behind == 0.0
    text = str(found)
    assert all(word in text for word in ("observed", "stated", "spent", "whole", "tea", "log-probability"))
    assert json.loads(json.dumps(found.as_dict()))["n_held_out"] == 50
    assert found.to_pandas()["observed"].tolist() == pytest.approx(found.observed.tolist())


def test_readings_are_shown_where_a_budget_is_doubtful_only() -> None:
    rng = np.random.default_rng(0)
    parts = sp.simulate(sp.VonMisesFisher(TASTE / np.linalg.norm(TASTE), 9.0), sp.MenuLaw("uniform"), 80, rng=rng)
    assert not is_called_for(parts)  # goods are bought in part: the budget binds
    assert not is_called_for(whole_items()[:40])
    spent = sp.Observations(parts.prices, np.sum(parts.prices * parts.bundles, axis=1), parts.bundles)
    with pytest.raises(sp.InvalidArgument, match="stated budgets, not what was spent"):
        sp.compare_readings(spent)
    with pytest.raises(sp.InvalidArgument, match="50 or more"):
        sp.compare_readings(whole_items()[:20])


def test_the_fit_shows_them(tmp_path: Path) -> None:
    sp.write_observations(whole_items(), tmp_path / "bought.csv")
    words = ["fit", str(tmp_path / "bought.csv"), "--model", "heterogeneous", "--draws", "20", "--effective", "0"]
    shown = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "a")])
    assert "Readings of the budget side by side" in shown.stdout
    as_json = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "b"), "--json"])
    assert {row["name"] for row in json.loads(as_json.stdout)["readings"]["rows"]} >= {"stated", "spent"}


def test_probabilities_of_baskets_are_those_counted() -> None:
    """Somebody who wants tea, then rum, buys them where money lasts; who has what others spent may have too little."""
    market = OneCustomer(("tea", "rum"), np.array([0.8, 0.6]))
    menus = sp.Menus(np.ones((2, 2)), [2.0, 1.0], goods=("tea", "rum"), problem=Divisible())
    both, tea = np.array([True, True]), np.array([True, False])
    rng = np.random.default_rng(0)
    found = bought_again(market, menus, np.array([both, both]), nonempty=False, spent=None, rng=rng)
    assert np.exp(found.log_probability) == pytest.approx([1.0, 0.0], abs=1e-3)
    np.testing.assert_array_equal(found.share, [[1, 1], [1, 0]])
    spent = np.array([1.0, 1.0, 1.0, 2.0])
    found = bought_again(market, menus, np.array([both, tea]), nonempty=False, spent=spent, rng=rng)
    assert np.exp(found.log_probability) == pytest.approx([0.25, 0.75], abs=0.05)


@cache
def fitted(reading: str) -> Any:
    data = whole_items()
    if reading == "spent":
        data = sp.Observations(data.prices, np.sum(data.prices * data.bundles, axis=1), data.bundles, goods=GOODS)
    elif reading == "whole":
        data = data.under(Whole())
    rows = slice(100) if reading == "others" else slice(None)
    return sp.HeterogeneousUtility(n_draws=60, n_chains=2, n_effective=0, random_state=0).fit(data[rows])


def test_fits_that_read_differently_are_judged_by_the_goods_bought() -> None:
    found = sp.compare_fits({"stated": fitted("stated"), "whole": fitted("whole"), "spent": fitted("spent")})
    assert {row.measure for row in found.differences} == {"goods bought"}
    by_name = {fit.name: fit.goods_bought for fit in found.fits}
    assert by_name["whole"].mean > by_name["stated"].mean + 0.2
    assert "goods bought: whole is better than stated" in str(found)
    assert any("which goods were bought" in warning for warning in found.warnings)
    assert not any("different data" in warning for warning in found.warnings)
    held = whole_items()[:60]
    again = sp.compare_fits({"stated": fitted("stated"), "whole": fitted("whole")}, held)
    assert again.n_held_out == 60
    assert again.fits[1].goods_bought.mean > again.fits[0].goods_bought.mean
    assert {row.measure for row in again.differences} == {"held out", "goods bought"}


def test_readings_that_cannot_be_judged_say_why() -> None:
    found = sp.compare_fits({"whole": fitted("whole"), "others": fitted("others")})
    assert any("learned from different purchases" in warning for warning in found.warnings)
    assert found.fits[0].goods_bought is None
    data = whole_items()[:60]
    spent = sp.Observations(data.prices, np.sum(data.prices * data.bundles, axis=1), data.bundles, goods=GOODS)
    found = sp.compare_fits({"stated": fitted("stated"), "spent": fitted("spent")}, spent)
    assert any("stated goes by budgets that are stated" in warning for warning in found.warnings)
    assert found.fits[0].goods_bought is None


def test_baskets_are_what_was_bought() -> None:
    data = sp.Observations([[1.0, np.inf, 2.0]], [5.0], [[0.5, 0.0, 0.0]])
    np.testing.assert_array_equal(baskets_of(data), [[True, False, False]])
