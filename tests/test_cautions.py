# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What data cannot tell is said wherever a fit speaks, and data that tell nothing are refused."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.extrapolation import find_extrapolations
from stochpref.report import page
from tests.small_fits import fit_posterior

INF = np.inf


def baskets() -> sp.Observations:
    """Order lines as they are: only what was bought has a price."""
    prices = [[2.0, INF, INF], [2.1, 3.0, INF], [INF, 3.0, 1.0], [INF, INF, 1.1]] * 5
    bundles = np.isfinite(prices).astype(float)
    return sp.Observations(
        prices, np.sum(np.where(bundles > 0, prices, 0), axis=1), bundles, goods=["tea", "rum", "jam"]
    )


def liked(prices: list[list[float]], budgets: list[float]) -> sp.Observations:
    """Half of the customers want tea more, half jam."""
    utilities = np.array([[0.8, 0.3, 0.5], [0.2, -0.3, 0.9]] * (len(prices) // 2))
    bundles = sp.choose(utilities, prices, budgets)
    return sp.Observations(prices, budgets, bundles, goods=["tea", "rum", "jam"])


def test_baskets_without_menus_are_told_and_refused():
    data = baskets()
    audit = data.audit()
    assert audit.is_all_bought
    assert "EVERY GOOD ON OFFER WAS BOUGHT" in audit.warnings()[0]
    assert "--layout orders" in audit.warnings()[0]
    for model in (sp.HeterogeneousUtility(random_state=0), sp.CommonUtility()):
        with pytest.raises(sp.InvalidObservations, match=r"say what was not bought; every good .* layout='orders'"):
            model.fit(data)
    assert sp.fit_maximum_likelihood(data).status != "converged"


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ("one good that was not bought", False),
        ("one good in full and another in part, all of them on offer", False),
        ("nothing but full baskets of all goods", True),
    ],
)
def test_a_bundle_that_compares_goods_is_no_basket(change, is_told):
    data = baskets()
    prices, bundles = data.prices.copy(), data.bundles.copy()
    if "not bought" in change:
        prices[3, 0] = 2.0
    else:
        prices[:], bundles[:] = 2.0, 1.0
        bundles[:, 2] = 0.5 if "part" in change else 1.0
    spent = np.sum(np.where(bundles > 0, prices, 0) * bundles, axis=1)
    assert sp.Observations(prices, spent, bundles).audit().is_all_bought == is_told


def test_check_and_fit_name_baskets(tmp_path: Path):
    path = tmp_path / "lines.csv"
    rows = [f"{t},{good},{price},1" for t, good, price in ((1, "tea", 2), (1, "rum", 3), (2, "rum", 3), (3, "jam", 1))]
    path.write_text("\n".join(["observation,good,price,quantity", *rows]))
    run = CliRunner().invoke
    checked = run(app, ["check", str(path), "--budget", "spent"])
    assert "EVERY GOOD ON OFFER WAS BOUGHT" in checked.stdout
    fitted = run(app, ["fit", str(path), "--budget", "spent", "--model", "common", "--out", str(tmp_path / "fit")])
    assert fitted.exit_code == 2
    assert "--layout orders" in fitted.stderr
    assert "in the file" not in fitted.stderr


@pytest.mark.parametrize("model", ["heterogeneous", "common"])
@pytest.mark.parametrize(
    ("prices", "budgets", "words"),
    [
        ([[2, 3, 1]] * 6, [3.0] * 6, "every customer faced the same menu"),
        ([[2, 3, 1]] * 6, [1, 2, 1, 2, 1, 2], "every customer faced the same menu"),  # all of it spent
        ([[2, 3, 1]] * 6, [9, 2, 1, 2, 1, 2], "no price ever varies"),
        ([[2, 3, 1], [2.5, 3, 1]] * 3, [1, 2, 1, 2, 1, 2], "the price of rum, jam never varies"),
    ],
)
def test_prices_that_never_vary_are_told_wherever_a_fit_speaks(model, prices, budgets, words):
    data = liked(prices, budgets)
    assert words in " ".join(str(data.audit()).split())
    fit = fit_posterior(data) if model == "heterogeneous" else sp.CommonUtility(random_state=0).fit(data)
    for text in (str(fit.summary()), json.dumps(fit.summary().as_dict())):
        assert words in text.replace("Every", "every").replace("No price", "no price").replace("The price", "the price")
        assert "how demand answers to prices cannot" in text
    seen = fit.demand(data.menus[1])
    assert not any("never varied" in caution for caution in seen.cautions)
    dearer = fit.demand([2, 3.3, 1], 1.5)
    assert any("never varied" in caution for caution in dearer.cautions)
    assert "never varied" in str(dearer)
    assert "never varied" in " ".join(dearer.as_dict()["cautions"])
    assert words in str(fit.elasticities(data.menus[1])).replace("Every", "every").replace("No ", "no ").replace(
        "The price", "the price"
    )


@pytest.mark.parametrize(
    ("prices", "budget", "words"),
    [
        ([2, 3, 2, INF], 6, ()),
        ([8, 3, 2, INF], 6, ("price of tea lies outside those seen (8, against 2 to 4: 2 times the highest)",)),
        ([4, 3, 0.5, INF], 6, ("price of jam lies outside those seen (0.5, against 1 to 2: 50 % below the lowest)",)),
        ([8, 3, 3, INF], 6, ("price of tea, and of 1 good more, lies outside",)),
        ([4, 3.3, 1, INF], 6, ("price of rum never varied",)),
        ([4, 3, 1, 5], 6, ("never on offer in the data, so that nothing is known of it: oil",)),
        ([4, 3, 1, INF], 60, ("budget lies outside those seen (60, against 2 to 6: 10 times the highest)",)),
        ([4, 3, 1, INF], 1, ("budget lies outside those seen (1, against 2 to 6: 50 % below the lowest)",)),
        ([9, 3, 1, INF], 7, ("price of tea", "budget lies outside")),
    ],
)
def test_what_lies_outside_the_data_is_told_and_how_far(prices, budget, words):
    goods = ["tea", "rum", "jam", "oil"]
    seen = sp.Observations([[2, 3, INF, INF], [4, 3, 1, INF], [3, 3, 2, INF]], [2, 4, 6], np.zeros((3, 4)), goods=goods)
    found = find_extrapolations(seen, sp.Menus([prices, seen.prices[2]], [budget, 6], goods=goods))
    assert len(found) == len(words)
    for caution, word in zip(found, words, strict=True):
        assert word in caution
    turned = sp.Menus([prices[::-1]], [budget], goods=goods[::-1])
    assert find_extrapolations(seen, turned) == found


def told(model: sp.HeterogeneousUtility | sp.CommonUtility) -> str:
    """Return what a fit says of itself on the terminal, in JSON and on its page, all of which say the same of it."""
    texts = [str(model.summary()), json.dumps(model.summary().as_dict()), unescape(page.render(model))]
    for caution in model.cautions():
        assert all(caution in text for text in texts), caution
    return texts[0]


def test_revenue_that_is_the_budget_is_called_so():
    rng = np.random.default_rng(0)
    prices = rng.uniform(1, 2, (40, 3))
    bundles = sp.choose(rng.normal([2, 1, 0.5], 0.3, (40, 3)), prices, rng.uniform(0.5, 1.5, 40))
    spent = np.sum(prices * bundles, axis=1)
    model = fit_posterior(sp.Observations(prices, spent, bundles))
    demand = model.demand(prices[0], 1.0)
    assert demand.revenue[0] == pytest.approx(1.0, rel=1e-3)
    assert "the budget, all of it" in str(demand)
    assert any("revenue is the budget stated here and no prediction" in caution for caution in demand.cautions)
    stated = fit_posterior(sp.Observations(prices, spent + (np.arange(40) == 3) * 9.0, bundles), degenerate="drop")
    assert not any("revenue" in caution for caution in stated.demand(prices[0], 1.0).cautions)


def test_visits_without_a_purchase_and_repeated_customers_are_told():
    rng = np.random.default_rng(0)
    prices = rng.uniform(1, 2, (40, 3))
    bundles = sp.choose(rng.normal([2, 1, 0.5], 0.3, (40, 3)), prices, rng.uniform(0.5, 1.5, 40))
    bundles[:7] = 0.0
    spent = np.sum(prices * bundles, axis=1)
    model = fit_posterior(sp.Observations(prices, spent, bundles, customers=np.arange(40) // 10))
    assert ("bought nothing", "7 observations") in model.observations_.audit().facts()
    assert "in 7 of 40 observations" in told(model)
    assert "40 purchases of 4 customers count as of so many people" in told(model)
    single = sp.Observations(prices, spent, bundles, customers=np.maximum(np.arange(40), 1))
    assert not any("customers" in caution for caution in single.audit().cautions())
    stated = sp.Observations(prices, spent + 1.0, bundles)
    assert not any("nothing was bought" in caution for caution in stated.audit().cautions())


def test_what_a_reader_left_out_is_told(tmp_path):
    path = tmp_path / "bought.csv"
    sp.write_observations(liked([[2, 3, 1], [2.5, 3.5, 1.5]] * 5, [1, 2, 1, 2.5, 3, 2, 1, 2, 1, 2.2]), path)
    path.write_text(path.read_text().replace('\n4,"tea",2.5,', '\n4,"tea",-2.5,'))
    model = fit_posterior(sp.read_observations(path, skip_bad=True))
    assert "Left out: 1 of 10 observations, which break a rule." in told(model)
    assert "(left out: 1 of 10 observations, which break a rule)</bdi>" in page.render(model)


def test_what_was_left_out_is_told():
    data = liked([[2, 3, 1], [2.5, 3.5, 1.5]] * 5, [1, 2, 1, 2.5, 3, 2, 1, 2, 1, 2.2])
    bundles = data.bundles.copy()
    bundles[:3] = [[0.2, 0, 0.1], [0.3, 0.1, 0], [0, 0.1, 0.1]]
    model = fit_posterior(sp.Observations(data.prices, data.budgets, bundles), degenerate="drop")
    assert model.n_dropped_ == 3
    assert "3 of 10 observations are degenerate, and left out" in told(model)
    assert "What 7 of 10 purchases say about 3 goods" in page.render(model)
