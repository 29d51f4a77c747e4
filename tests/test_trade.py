# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Pages speak the words of a trade: voters, projects and support of votes, orders of a shop; names stay as they are."""

from __future__ import annotations

import base64
import re
import tempfile
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.report import page
from stochpref.report.findings import reading_of
from stochpref.report.trade import page_in, spoken, trade_of
from tests.order_lines import make_orders
from tests.small_fits import fit_posterior, posterior

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NAMES = ("Bus for customers of all goods", "Pool & purchases", "Price")
VOTES = (
    """META
key;value
budget;100
PROJECTS
project_id;cost;name
1;60;{}
2;40;{}
3;30;{}
VOTES
voter_id;vote
""".format(*NAMES)
    + "\n".join(f"v{k};{vote}" for k, vote in enumerate(["1,2", "1", "2,3", "3", "1,3", "2"] * 8))
)


@cache
def votes() -> sp.HeterogeneousUtility:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "town.pb"
        path.write_text(VOTES)
        return fit_posterior(sp.read_observations(path))


def words_of(html: str) -> str:
    """Return what a page says, but for names, commands and the script."""
    bare = re.sub(r"<script.*?</script>|<style.*?</style>|<pre.*?</pre>|<bdi>.*?</bdi>", " ", html, flags=re.DOTALL)
    labels = " ".join(re.findall(r'(?:alt|aria-label)="([^"]*)', bare))
    return unescape(re.sub(r"<[^>]*>", " ", bare) + " " + labels)


def test_a_page_of_votes_speaks_of_voters_projects_and_support() -> None:
    html = page.render(votes())
    said = words_of(html)
    for k, name in enumerate(NAMES):
        assert f"<bdi>{k + 1} {name.replace('&', '&amp;')}</bdi>" in html
        said = said.replace(name, "")
    assert "<title>What 48 ballots say about 3 projects</title>" in html
    assert "What is supported" in said
    assert "voters" in said
    assert "stochpref design menus" in said
    assert "<th>project</th>" in html
    for word in ("customer", "goods", "purchase", "revenue", "elasticit", "basket", "shelf", "What sells"):
        assert word not in said, re.findall(rf".{{40}}{word}.{{40}}", said)
    assert 'id="demand"' not in html
    pictures = [base64.b64decode(one).decode() for one in re.findall(r"svg\+xml;base64,([^\"]*)", html)]
    labels = " ".join(re.findall(r"<text[^>]*>([^<]*)", " ".join(pictures)))
    assert "share of voters who pick it, %" in labels
    assert "customers who buy" not in labels


def test_an_export_of_orders_speaks_of_orders(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(make_orders(60).as_csv())
    model = fit_posterior(sp.read_orders(tmp_path / "orders.csv"))
    html = page.render(model)
    assert "orders say about 3 goods</title>" in html
    assert 'id="demand"' in html
    assert "observations" not in words_of(html)


def test_other_pages_are_left_as_they_are() -> None:
    model = posterior(3)
    assert trade_of(model.observations_).words == {}
    assert page_in("<p>customers</p>", trade_of(model.observations_), ()) == "<p>customers</p>"


def test_names_stay_as_they_are() -> None:
    trade = trade_of(votes().observations_)
    assert spoken("Customers buy Price & goods", trade, ["Price & goods"]) == "Voters pick Price & goods"
    assert spoken("a price of Price", trade, ["Price"]) == "a cost of Price"
    html = '<a href="customers.html" aria-label="Price of goods">goods<bdi>goods</bdi></a><script>goods</script>'
    assert page_in(html, trade, ()) == (
        '<a href="customers.html" aria-label="Cost of projects">projects<bdi>goods</bdi></a><script>goods</script>'
    )


def test_costs_and_currency_show_profit(tmp_path: Path) -> None:
    model = posterior(3)
    costs = {"good1": 0.5, "good2": 0.7, "good3": 0.2}
    plain, found = reading_of(model), reading_of(model, costs, "EUR")
    assert plain.start.profit is None
    earned = found.menu.prices[0] - list(costs.values())
    assert found.start.profit[0] == pytest.approx(found.start.mean @ earned)
    html = page.render(model, costs=costs, currency="EUR")
    assert "profit from a customer, EUR" in html
    assert "profit peaks" in html or "profit still rises" in html
    assert "profit" not in words_of(page.render(model))
    sp.write_report(model, tmp_path / "a.html", costs=np.array([0.5, 0.7, 0.2]), currency="EUR")
    assert (tmp_path / "a.html").read_text() == html
    with pytest.raises(sp.InvalidArgument, match="costs must be given for every good"):
        page.render(model, costs={"good1": 0.5})
    with pytest.raises(sp.InvalidArgument, match="currency must be a word"):
        sp.write_report(model, tmp_path / "a.html", currency=3)
