# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From an export of orders to a report that says what sells at other prices, in two commands; and it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.demand import typical_menu
from tests.order_lines import CONCENTRATION, GOODS, make_orders, the_law


def run(*words: object) -> Any:
    shown = CliRunner().invoke(app, [str(word) for word in words])
    assert shown.exit_code == 0, shown.output
    return shown


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an export of 600 orders, its fit and its report, made by the two commands and no editing.

    All money is spent: budgets are below every price. Twelve weeks, so that most prices are known from the same store
    and week: what nobody bought because it was dear would otherwise seem cheap.
    """
    folder = tmp_path_factory.mktemp("orders")
    shop = make_orders(600, seed=0, n_days=84, budgets=(0.3, 1.0))
    (folder / "orders.csv").write_text(shop.as_csv())
    quick = ("--model", "heterogeneous", "--draws", 250, "--effective", 200, "--seed", 1)
    run("fit", folder / "orders.csv", "--out", folder / "fit", *quick)
    run("report", folder / "fit", "--out", folder / "report.html")
    return folder


def test_the_truth_is_within_the_intervals(home: Path) -> None:
    fitted = sp.load_fit(home / "fit")
    places = [GOODS.index(good) for good in fitted.goods_]
    truth = the_law().mean_direction[places]
    assert fitted.wanted.interval is not None
    lower, upper = fitted.wanted.interval.T
    assert ((lower <= truth) & (truth <= upper)).all()
    assert (upper - lower < 0.35).all()  # intervals that say something
    figures = fitted.figures
    assert figures["concentration_lower"] <= CONCENTRATION <= figures["concentration_upper"]


def test_what_sells_if_coffee_costs_a_tenth_more(home: Path) -> None:
    """The page asks the same customers as `demand`, whose intervals hold what customers of the true law buy."""
    fitted = sp.load_fit(home / "fit")
    menu = typical_menu(fitted.observations_)
    coffee = menu.goods.index("coffee")
    prices = menu.prices[0] * np.where(np.arange(3) == coffee, 1.1, 1.0)
    dearer = fitted.demand(prices, menu.budgets[0])
    utilities = the_law().sample(100_000, rng=np.random.default_rng(0))
    places = [GOODS.index(good) for good in menu.goods]
    truth = sp.choose(utilities[:, places], prices, menu.budgets[0]).mean(axis=0)
    assert ((dearer.lower[0] <= truth) & (truth <= dearer.upper[0])).all()
    before = fitted.demand(menu.prices[0], menu.budgets[0])
    assert dearer.mean[0, coffee] < before.mean[0, coffee]
    assert (np.delete(dearer.mean[0] - before.mean[0], coffee) > 0).all()
    page = (home / "report.html").read_text()
    assert 'aria-label="Price of coffee"' in page
    assert "from orders of the same store and week" in page  # the reader of the page knows where prices came from
    assert "Returns: " in page


def test_check_says_how_the_orders_were_read(home: Path) -> None:
    shown = run("check", home / "orders.csv")
    for text in ("read as orders", "added to another line", "returns: ", "from orders of the same store and week"):
        assert text in shown.stdout
