# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Small data sets that mislead: the terminal, JSON and the page say what is wrong, and none of it is green."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import stochpref as sp
from stochpref.cli import app
from stochpref.problems import Divisible
from stochpref.report import page
from tests.order_lines import make_orders
from tests.small_fits import fit_posterior

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
GOODS = ("tea", "rum", "jam")
TASTE = np.array([0.8, 0.3, 0.5])


class Trap(NamedTuple):
    """Observations and what must be said of them, of what is asked of their fit if anything is.

    words : in each of the three places.
    asked : prices and a budget.
    """

    words: str
    make_fn: Callable[[], sp.Observations]
    asked: tuple[list[float], float] | None = None


def bought(
    size: int = 120,
    *,
    prices: Any = None,
    budgets: Any = None,
    spread: float = 0.25,
    is_spent: bool = False,
    **more: Any,
) -> sp.Observations:
    """Return purchases of customers who are much alike."""
    rng = np.random.default_rng(3)
    faced = (
        rng.uniform(1.0, 2.0, (size, 3)) if prices is None else np.broadcast_to(np.asarray(prices, float), (size, 3))
    )
    money = rng.uniform(0.8, 3.5, size) if budgets is None else np.broadcast_to(np.asarray(budgets, float), (size,))
    bundles = sp.choose(rng.normal(TASTE, spread, (size, 3)), faced, money)
    spent = np.sum(faced * bundles, axis=1)
    return sp.Observations(faced, spent if is_spent else money, bundles, goods=GOODS, **more)


def baskets() -> sp.Observations:
    whole = bought(is_spent=True)
    prices = np.where(whole.bundles > 0, whole.prices, np.inf)
    bundles = np.isfinite(prices).astype(float)
    return sp.Observations(prices, np.sum(np.where(bundles > 0, prices, 0), axis=1), bundles, goods=GOODS)


def two_crowds() -> sp.Observations:
    rng = np.random.default_rng(0)
    utilities = rng.normal(np.repeat([[0.9, 0.1, -0.6], [-0.6, 0.2, 0.9]], 100, axis=0), 0.05)
    menus = sp.MenuLaw("uniform").sample(200, 3, rng=rng)
    return sp.Observations(menus.prices, menus.budgets, sp.choose(utilities, menus.prices, menus.budgets), goods=GOODS)


def change_left_over() -> sp.Observations:
    """Whole items, bought until the next one is too dear: read literally, the rest is worth nothing."""
    rng = np.random.default_rng(1)
    prices, budgets = rng.uniform(1, 2, (200, 3)), rng.uniform(1.5, 3.5, 200)
    bundles = np.zeros((200, 3))
    for t, utilities in enumerate(rng.normal(TASTE, 0.3, (200, 3))):
        left = budgets[t]
        for i in np.argsort(-utilities / prices[t]):
            if utilities[i] > 0 and prices[t, i] <= left:
                bundles[t, i], left = 1.0, left - prices[t, i]
    return sp.Observations(prices, budgets, bundles, goods=GOODS)


def two_in_part() -> sp.Observations:
    data = bought()
    bundles = data.bundles.copy()
    bundles[:30] = [0.1, 0.1, 0.0]
    return sp.Observations(data.prices, data.budgets, bundles, goods=GOODS)


def empty_visits() -> sp.Observations:
    data = bought(is_spent=True)
    visits = np.arange(len(data)) % 5 == 0
    return sp.Observations(data.prices, np.where(visits, 0, data.budgets), data.bundles * ~visits[:, None], goods=GOODS)


def units_out_of_order() -> sp.Observations:
    rng = np.random.default_rng(0)
    menus = sp.Menus(rng.uniform(1, 2, (150, 2)), rng.uniform(1, 4, 150), goods=["tea", "rum"], problem=Divisible(2))
    utilities = rng.normal([0.2, 0.6, 0.3, 0.7], 0.3, (150, 4))
    bundles = menus.problem.choose(utilities, menus)  # type: ignore[union-attr]
    return sp.Observations(menus.prices, menus.budgets, bundles, goods=menus.goods, problem=menus.problem)


def guessed_prices() -> sp.Observations:
    """An export of a year in which prices change by the week, and most weeks of a store saw two orders."""
    lines = make_orders(200, budgets=(0.5, 0.99)).as_csv()
    return sp.read_orders(pd.read_csv(io.StringIO(lines)))


TRAPS = {
    "baskets without menus": Trap("every good on offer was bought, in every observation", baskets),
    "one menu": Trap("every customer faced the same menu", lambda: bought(prices=[1.2, 1.5, 1.0], budgets=1.7)),
    "one menu, all spent": Trap(
        "every customer faced the same menu", lambda: bought(prices=[1.2, 1.5, 1.0], is_spent=True)
    ),
    "prices that never vary": Trap("no price ever varies", lambda: bought(prices=[1.2, 1.5, 1.0], spread=0.5)),
    "two crowds": Trap("does not fit", two_crowds),
    "change left over": Trap("read with budget='spent'", change_left_over),
    "a price far beyond": Trap("the price of tea lies outside those seen", bought, ([9.0, 1.5, 1.5], 2.0)),
    "a budget far beyond": Trap("the budget lies outside those seen (40, against", bought, ([1.5, 1.5, 1.5], 40.0)),
    "revenue that is the budget": Trap(
        "revenue is the budget stated here", lambda: bought(is_spent=True), ([1.5, 1.5, 1.5], 2.0)
    ),
    "observations left out": Trap("30 of 120 observations are degenerate, and left out", two_in_part),
    "visits without a purchase": Trap("nothing was bought in 24 of 120 observations", empty_visits),
    "prices of other weeks": Trap("of the prices are of other markets or other weeks", guessed_prices),
    "customers who come again": Trap("120 purchases of 12 customers", lambda: bought(customers=np.arange(120) // 10)),
    "units out of order": Trap("the split into units is advised against", units_out_of_order),
}
# What the page says of questions that nobody has put to it yet.
ON_THE_PAGE = {
    "a price far beyond": "beyond, what is said rests on the form of the model alone",
    "a budget far beyond": "beyond, what is said rests on the form of the model alone",
}


@cache
def fitted(name: str) -> sp.HeterogeneousUtility:
    return fit_posterior(TRAPS[name].make_fn(), n_draws=40, degenerate="drop")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_baskets_are_refused_and_told(tmp_path: Path) -> None:
    trap = TRAPS["baskets without menus"]
    sp.write_observations(trap.make_fn(), tmp_path / "lines.csv")
    checked = run("check", str(tmp_path / "lines.csv"))
    assert trap.words.upper() in checked.stdout
    assert json.loads(run("check", str(tmp_path / "lines.csv"), "--json").stdout)["audit"]["is_all_bought"] is True
    for model in ("heterogeneous", "common"):
        refused = run("fit", str(tmp_path / "lines.csv"), "--model", model, "--out", str(tmp_path / "fit"))
        assert refused.exit_code == 2
        assert trap.words in refused.stderr
    assert not (tmp_path / "fit" / "fit.json").exists()


@pytest.mark.parametrize("name", [name for name in TRAPS if name != "baskets without menus"])
def test_a_trap_is_told_wherever_its_fit_speaks(name: str, tmp_path: Path) -> None:
    trap, model = TRAPS[name], fitted(name)
    model.save(tmp_path / "fit")
    folder = str(tmp_path / "fit")
    asking = ["summary", folder]
    if trap.asked is not None:
        menus = sp.Menus([trap.asked[0]], [trap.asked[1]], goods=GOODS)
        sp.write_menus(menus, tmp_path / "menus.csv")
        asking = ["predict", folder, str(tmp_path / "menus.csv")]
    shown, as_json = run(*asking), run(*asking, "--json")
    assert (shown.exit_code, as_json.exit_code) == (0, 0)
    assert trap.words in shown.stdout.lower()
    assert trap.words in json.dumps(json.loads(as_json.stdout)).lower()
    text = unescape(page.render(model))
    assert ON_THE_PAGE.get(name, trap.words) in text.lower()
    if trap.asked is None:
        verdicts = model.verdicts()
        assert model.cautions() or verdicts.fits.status in ("nearly", "bad")
        assert '<section id="verdict" class="verdict good">' not in text


def test_what_is_no_trap_is_not_called_one() -> None:
    data = bought(400)
    settings: dict[str, Any] = {"sampler": "importance", "n_draws": 200, "n_effective": 200, "random_state": 0}
    model = sp.HeterogeneousUtility(**settings).fit(data)
    assert model.cautions() == model.cautions(data.menus) == ()
    assert model.verdicts().grades == "converged yes, identified yes, fits yes"
    assert '<section id="verdict" class="verdict good">' in page.render(model)
