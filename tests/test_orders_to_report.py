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
from stochpref.problems import Divisible, Open
from tests.order_lines import GOODS, MONEY, UNITS, Shop, shop_with_units, shop_without_budgets


def run(*words: object) -> Any:
    shown = CliRunner().invoke(app, [str(word) for word in words])
    assert shown.exit_code == 0, shown.output
    return shown


@pytest.fixture(scope="module")
def shop() -> Shop:
    return shop_with_units()


@pytest.fixture(scope="module")
def home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an export of 600 orders, its fit and its report, made by the two commands and no editing."""
    folder = tmp_path_factory.mktemp("orders")
    (folder / "orders.csv").write_text(shop.as_csv())
    quick = ("--model", "heterogeneous", "--draws", 250, "--effective", 200, "--seed", 1)
    shown = run("fit", folder / "orders.csv", "--units", "coffee=2", "--out", folder / "fit", *quick)
    assert "later unit of a good without an earlier one" in shown.stdout
    run("report", folder / "fit", "--out", folder / "report.html")
    return folder


def test_the_truth_is_within_the_intervals(home: Path, shop: Shop) -> None:
    fitted = sp.load_fit(home / "fit")
    assert fitted.observations_.nonempty  # an export knows nothing of visits without a purchase
    own = shop.truth.problem.coordinates(GOODS)
    truth = shop.law.mean_direction[[own.index(name) for name in fitted.coordinates_]]
    rows = {str(name): (lower, upper) for name, _, _, lower, upper, *_ in fitted.summary().goods}
    lower, upper = np.array([rows[name] for name in fitted.coordinates_]).T
    assert ((lower <= truth) & (truth <= upper)).all()
    assert (upper - lower < 0.1).all()  # intervals that say something
    figures = fitted.figures
    assert figures["concentration_lower"] <= shop.law.concentration <= figures["concentration_upper"]


def test_the_truth_is_found_where_money_is_kept(tmp_path: Path) -> None:
    """Visits without a purchase, a quarter of them, leave no line, and the likelihood is given that there is one."""
    shop = shop_without_budgets()
    (tmp_path / "orders.csv").write_text(shop.as_csv())
    seen = sp.read_orders(tmp_path / "orders.csv", problem=Open(MONEY))
    assert seen.nonempty
    assert 0.6 < len(seen) / 600 < 0.9
    law = sp.fit_maximum_likelihood(seen)
    places = [shop.truth.problem.coordinates(GOODS).index(name) for name in law.goods]
    apart = (law.mean_direction - shop.law.mean_direction[places]) / law.direction_standard_errors
    assert np.all(np.abs(apart) < 2.5)
    assert abs(law.concentration - shop.law.concentration) < 2.5 * law.concentration_standard_error
    assert law.concentration_standard_error < 0.4 * shop.law.concentration
    # As if all visitors had bought something, customers look keener on goods, and more alike.
    told = sp.fit_maximum_likelihood(sp.read_orders(tmp_path / "orders.csv", problem=Open(MONEY), nonempty=False))
    money = law.goods.index("money")
    assert told.mean_direction[money] < law.mean_direction[money] - law.direction_standard_errors[money]


def test_what_sells_if_coffee_costs_a_tenth_more(home: Path, shop: Shop) -> None:
    """The page asks the same customers as `demand`, whose intervals hold what customers of the true law buy."""
    fitted = sp.load_fit(home / "fit")
    menu = typical_menu(fitted.observations_)
    coffee = menu.goods.index("coffee")
    prices = menu.prices[0] * np.where(np.arange(3) == coffee, 1.1, 1.0)
    dearer = fitted.demand(prices, menu.budgets[0], level=0.97)  # of three goods at once: 90 % together
    asked = sp.Menus(prices[None], menu.budgets, goods=menu.goods, problem=Divisible(UNITS)).over(GOODS)
    utilities = shop.law.sample(100_000, rng=np.random.default_rng(0))
    bought = asked.problem.choose(utilities[:, None], asked).mean(axis=(0, 1))
    truth = bought[[GOODS.index(good) for good in menu.goods]]
    assert ((dearer.lower[0] <= truth) & (truth <= dearer.upper[0])).all()
    before = fitted.demand(menu.prices[0], menu.budgets[0])
    assert dearer.mean[0, coffee] < before.mean[0, coffee]
    page = (home / "report.html").read_text()
    assert 'aria-label="Price of coffee"' in page
    assert "from orders of the same store and week" in page  # the reader of the page knows where prices came from
    assert "Returns: " in page


def test_check_says_how_the_orders_were_read(home: Path) -> None:
    shown = run("check", home / "orders.csv", "--units", "coffee=2")
    for text in ("read as orders", "added to another line", "returns: ", "from orders of the same store and week"):
        assert text in shown.stdout
