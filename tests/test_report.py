"""The page without a browser: what it says, that names stay names, its size, and the numbers behind the what-if."""

from __future__ import annotations

import base64
import copy
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.demand import typical_menu
from stochpref.market import LawMarket, OneCustomer, make_crowds
from stochpref.models.account import shorten
from stochpref.posterior.results import data_groups, group
from stochpref.predictive_check import check_purchases
from stochpref.report import page, verdict, whatif, words
from stochpref.report.findings import reading_of
from tests.small_fits import HOSTILE, common, fit_posterior, hostile, posterior, purchases, rendered

SECTIONS = ["verdict", "wants", "whatif", "demand", "check", "trust", "data", "settings"]


class Page(HTMLParser):
    """What a parser sees: sections, elements, attributes that could run or load something, the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.counts: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.sources: list[str] = []
        self.words: list[str] = []
        self.rows = 0
        self.data = ""
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes |= set(given)
        if tag == "section":
            self.sections.append(given["id"])
        self.sources += [given[name] for name in ("src", "href", "action", "srcset") if name in given]
        self.rows += given.get("class") == "line"
        self._inside = f"{tag} {given.get('id', '')}".strip()

    def handle_data(self, data):
        if self._inside == "script market":
            self.data += data
        elif not self._inside.startswith(("script", "style")):
            self.words.append(data)

    def handle_endtag(self, tag):
        self._inside = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(model) -> Page:
    return Page(rendered(model))


def unpack(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f8")


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_posterior_as_a_page(n):
    model = posterior(n)
    found = read(model)
    assert found.sections == SECTIONS
    assert f"What 60 purchases say about {n} goods" in found.text
    assert "Not yet: the draws have not converged" in found.text  # 10 draws have not
    assert ("of tastes" in found.text) == (n < 4)
    for phrase in ("Do the chains agree?", "R-hat", "60 customers buy again", "random_state=0", model.data_hash_):
        assert phrase in found.text, phrase
    assert found.rows == n


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_common_utility_as_a_page(n):
    model = common(n)
    found = read(model)
    assert found.sections == SECTIONS
    assert f"One utility explains {model.n_consistent_} of 60 purchases" in found.text
    assert "this is proven" in found.text
    odd = int(np.flatnonzero(~model.consistent_)[0])
    first = model.explain(odd).at_odds[0]
    assert f"{first.good}: bought {first.bought:.3g}, expected {first.expected:.3g}" in found.text
    assert "posterior" not in found.text


def test_a_converged_fit_says_so():
    data = purchases(3, 200)
    model = sp.HeterogeneousUtility(sampler="importance", n_draws=200, n_effective=200, random_state=0).fit(data)
    assert model.is_converged_
    found = read(model)
    assert "The fit can be trusted" in found.text
    assert "Pareto k" in found.text
    assert "Do the chains agree?" not in found.text  # weights, not chains


def segments() -> sp.Observations:
    """Two kinds of customers who want the opposite: no law around one direction buys as they do."""
    rng, tastes = np.random.default_rng(0), np.array([[1.0, 0.2, -0.8, 0.1], [-0.8, 0.3, 1.0, 0.1]])
    laws = [sp.VonMisesFisher(taste / np.linalg.norm(taste), 60.0) for taste in tastes]
    one, other = (sp.simulate(law, sp.MenuLaw("uniform"), 200, rng=rng) for law in laws)
    return one.concat(other)


def test_a_law_that_does_not_buy_as_customers_did_is_not_called_trustworthy():
    model = sp.HeterogeneousUtility(sampler="importance", n_draws=200, n_effective=200, random_state=0).fit(segments())
    assert model.is_converged_
    assert model.is_identified_
    status, headline = verdict.headline_of(model, model.account(), reading_of(model))
    assert headline == "The draws can be trusted, but the model does not buy as customers did."
    assert status == "bad"


def test_one_utility_that_leaves_many_odd_or_misses_shares_has_no_tick():
    model = sp.CommonUtility(random_state=0).fit(segments())
    account, reading = model.account(), reading_of(model)
    assert verdict.headline_of(model, account, reading)[0] == "bad"
    odd, misses = (
        next(point for point in verdict.points_of(model, account, reading) if words in point.text)
        for words in ("% of the purchases are odd", "It misses how often a good is bought by up to")
    )
    assert (odd.status, misses.status) == ("bad", "bad")
    assert "customers may differ: fit the other model" in odd.text


def test_basket_sizes_count_in_the_check():
    """A check whose shares are right and whose basket sizes are not."""
    fine = reading_of(posterior(5)).check
    fine = replace(fine, share_lower=fine.share, share_upper=fine.share)
    right = replace(fine, size_lower=fine.size, size_upper=fine.size)
    wrong = replace(right, size_lower=fine.size + 0.2, size_upper=fine.size + 0.2)
    assert [point.status for point in verdict.check_points(right)] == ["good"]
    assert [point.status for point in verdict.check_points(wrong)] == ["good", "bad"]
    for miss, status in ((0.01, "good"), (0.045, "bad")):  # no share within its interval, by little and by more
        off = replace(right, share_lower=right.share + miss, share_upper=right.share + miss)
        (point,) = verdict.check_points(off)
        assert point.status == status
        assert "for 0 of 5 goods" in point.text
        assert ("fit them apart" in point.text) == (status == "bad")
    one = replace(wrong, n_replicates=1)
    assert "% of the baskets hold" in verdict.check_points(one)[-1].text


def test_the_verdict_is_plain_and_the_figures_are_under_trust():
    text = rendered(posterior(3))
    first, trust = (text[text.index(f'id="{one}"') : text.index(f'id="{two}"')] for one, two in
                    (("verdict", "wants"), ("trust", "data")))  # fmt: skip
    assert "R-hat" in trust
    assert "R-hat" not in first
    assert "The draws cannot be trusted yet" in first


@pytest.mark.parametrize("make_fn", [fit_posterior, sp.CommonUtility(random_state=0).fit])
def test_one_of_a_kind_is_not_many(make_fn):
    data = sp.Observations([[1.0, 2.0]], [1.5], [[1.0, 0.25]])
    model = fit_posterior(data, n_chains=1) if make_fn is fit_posterior else make_fn(data)
    found = read(model).text + str(model.summary()) + str(data.audit())
    assert "What 1 purchase says about 2 goods" in found
    assert not re.search(r"\b1 (purchases|observations|chains|draws|customers)\b", found)
    assert "the 0 effective" not in found


def test_the_page_says_how_many_of_many_goods_it_shows():
    found = read(posterior(25)).text
    assert found.count("20 of 25 goods") == 3  # wanted, worth, shares
    assert "6 of 25 goods" in found
    assert "10 of 25 goods" in found
    assert " of 5 goods, " not in read(posterior(5)).text


def test_what_is_not_wanted_is_so_on_average():
    model = fit_posterior(purchases(3, 300))
    found = read(model).text
    assert "Not wanted by the average customer, though some still buy it: good3." in found
    assert "whatever it costs; some customers still buy it" in found
    assert "A star" in found
    one = read(common(3)).text
    assert "A star" not in one  # no intervals, no stars
    for page_ in (found, one, read(posterior(16)).text):
        assert "the sign is open" not in page_
        assert "at any price" not in page_
    unwanted = sp.Observations(np.ones((4, 2)), np.ones(4), np.zeros((4, 2)))
    assert "−100 for the least wanted" in read(sp.CommonUtility(random_state=0).fit(unwanted)).text


def test_nothing_is_loaded_and_only_our_script_may_run():
    text = rendered(posterior(3))
    found = Page(text)
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in found.sources)
    assert found.counts["script"] == 2
    assert found.counts.get("link") is None
    assert "default-src 'none'" in text
    assert "http://" not in re.sub(r"data:[^\"]*", "", text)
    assert "https://" not in text


@pytest.mark.parametrize("is_common", [False, True])
def test_hostile_names_stay_names(is_common):
    model = hostile(is_common)
    found = read(model)
    plain = read((common if is_common else posterior)(5))
    assert set(found.counts) <= set(plain.counts)  # no element that another page lacks
    assert found.attributes <= plain.attributes | {"data-fold", "data-unfold", "data-filter"}
    assert found.counts["script"] == 2
    assert not any(name.startswith("on") for name in found.attributes)
    market = json.loads(found.data)
    assert market["goods"] == [shorten(name) for name in HOSTILE]
    assert not set("<>&") & set(found.data)
    assert HOSTILE[0] in found.text
    assert "{{ 7 * 7 }}" in found.text
    assert "x" * 100 not in found.text
    assert "\u202e" not in found.text


def test_a_hostile_title_stays_a_title():
    found = Page(page.render(common(3), HOSTILE[0]))
    assert found.text.startswith(HOSTILE[0])
    assert found.counts["script"] == 2


def test_pictures_hold_names_as_text():
    text = rendered(hostile(False))
    pictures = [base64.b64decode(one).decode() for one in re.findall(r"data:image/svg\+xml;base64,([^\"]*)", text)]
    assert len(pictures) > 8
    assert not any("<script" in one or 'onerror="' in one for one in pictures)
    assert any("&lt;script&gt;" in one for one in pictures)


def test_shorten():
    assert shorten("milk") == "milk"
    assert shorten("a\nb\u202ec") == "a b c"
    assert len(shorten("x" * 10_000)) == 60
    assert shorten("👨‍👩‍👧") == "👨‍👩‍👧"
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(list("abcdef")) == "a, b, c and 3 more"


def test_long_lists_fold_and_can_be_searched():
    text = rendered(posterior(16))
    assert 'data-unfold="goods"' in text
    assert 'data-filter="rows"' in text
    assert 'data-fold="15"' in text
    assert 'data-unfold="goods"' not in rendered(posterior(5))


def test_two_hundred_goods():
    text = rendered(posterior(200, 40))
    assert Page(text).rows == 200
    assert len(text) < 5e6
    assert len(reading_of(common(25)).elasticities.goods) == 10


def test_the_page_of_ten_thousand_purchases_and_a_long_run_is_small():
    """The draws of a short run, repeated: what is under test is the size, and that a page thins and samples."""
    model = copy.copy(posterior(25))
    draws = group(model.posterior_, "posterior").isel(draw=np.arange(500) % 10).assign_coords(draw=np.arange(500))
    model.observations_ = purchases(25, 10_000)
    model.posterior_ = xr.DataTree.from_dict({"posterior": draws, **data_groups(model.observations_)})
    text = page.render(model)
    found = Page(text)
    assert json.loads(found.data)["draws"] == 200
    assert "What 10,000 purchases say about 25 goods" in found.text
    assert len(text.encode()) < 5e6


def test_the_same_fit_gives_the_same_bytes_loaded_or_not(tmp_path):
    for model in (posterior(3), common(3)):
        model.save(tmp_path / type(model).__name__)
        loaded = sp.load_fit(tmp_path / type(model).__name__)
        written = sp.write_report(loaded, tmp_path / "new" / "report.html")
        assert written.read_text(encoding="utf-8") == rendered(model)


@pytest.mark.parametrize(
    ("model", "message"), [(sp.CommonUtility(), "CommonUtility not fitted"), ("fit/", "received str")]
)
def test_what_is_no_fit_is_refused(tmp_path, model, message):
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.write_report(model, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


ONES = np.ones((4, 3))
HARD = {
    "nothing bought": sp.Observations(ONES, np.ones(4), 0 * ONES),
    "no money": sp.Observations(ONES, np.zeros(4), 0 * ONES),
    "one purchase": sp.Observations([[1.0, 2.0]], [1.5], [[1.0, 0.25]]),
    "never on offer": sp.Observations(ONES * [1, 1, np.inf], np.ones(4), ONES * [1, 0, 0]),
    "no limits": sp.Observations(ONES, 2 * np.ones(4), ONES * [2, 0, 0], caps=np.inf),
    "millions": sp.Observations(1e9 * ONES, 1.5e9 * np.ones(4), ONES * [1, 0.5, 0]),
}


@pytest.mark.parametrize("name", HARD)
def test_degenerate_data_have_a_page_too(name):
    data = HARD[name]
    for model in (fit_posterior(data, n_draws=3), sp.CommonUtility(random_state=0).fit(data)):
        found = read(model)
        assert found.sections == SECTIONS
        assert not re.search(r"\bnan\b", found.text), found.text
        json.loads(found.data)


# The what-if.


def changed(menu: sp.Menus) -> sp.Menus:
    """Return a menu with other prices, a good withdrawn and another budget."""
    prices = menu.prices * np.linspace(0.7, 1.4, menu.n_goods)
    prices[0, 1] = np.inf
    return sp.Menus(prices, 0.8 * menu.budgets, goods=menu.goods, caps=menu.caps)


@pytest.mark.parametrize("n", [2, 5, 25])
def test_the_what_if_is_the_demand_of_the_model(n):
    model = posterior(n)
    n_customers, n_draws = whatif.sizes(n)
    market, typical = model.market(n_customers, n_draws), typical_menu(model.observations_)
    for menu in (typical, changed(typical)):
        found = whatif.answer(market, menu)
        demand = model.demand(menu, n_customers=n_customers, n_draws=n_draws)
        for ours, theirs in ((found.mean, demand.mean), (found.lower, demand.lower), (found.upper, demand.upper)):
            np.testing.assert_allclose(ours, theirs[0], atol=1e-12)
        totals = (demand.total[0], demand.total_lower[0], demand.total_upper[0])
        np.testing.assert_allclose(found.total, totals, atol=1e-12)
        revenues = (demand.revenue[0], demand.revenue_lower[0], demand.revenue_upper[0])
        np.testing.assert_allclose(found.revenue, revenues, atol=1e-12)


def test_the_what_if_of_a_common_utility_is_its_bundle():
    model = common(5)
    menu = changed(typical_menu(model.observations_))
    found = whatif.answer(model.market(), menu)
    bundle = model.predict(menu)[0]
    np.testing.assert_array_equal(found.mean, bundle)
    assert found.baskets == ((tuple(np.flatnonzero(bundle > 0)), 1.0),)
    np.testing.assert_array_equal(found.buyers, bundle > 0)


def test_baskets_and_buyers_count_customers():
    model = posterior(3)
    found = whatif.answer(model.market(64, 20), typical_menu(model.observations_))
    assert sum(share for _, share in found.baskets) == pytest.approx(1.0)  # three goods have at most eight baskets
    for good in range(3):
        assert found.buyers[good] == pytest.approx(sum(share for goods, share in found.baskets if good in goods))


def test_the_payload_holds_the_crowd_in_full_precision():
    model = posterior(3)
    told = json.loads(read(model).data)
    market = reading_of(model).market
    arrays = market.page_arrays()
    assert set(arrays) == {"centre", "directions", "tangents", "angles"}
    for name, values in arrays.items():
        np.testing.assert_array_equal(unpack(told[name]), values.ravel())
    assert (told["draws"], told["customers"]) == (market.n_draws, market.n_customers) == arrays["angles"].shape


def test_sizes_stay_within_reach_of_a_page():
    for n in (2, 25, 50, 200, 1000):
        n_customers, n_draws = whatif.sizes(n)
        assert n_customers >= 64
        assert 20 <= n_draws <= 200
        assert n_customers * n_draws * n <= 6e6
    assert whatif.sizes(25) == (512, 200)


def test_the_typical_menu_is_of_medians_where_goods_are_offered():
    data = sp.Observations(
        [[1.0, np.inf, np.inf], [2.0, 3.0, np.inf], [4.0, 5.0, np.inf]], [1.0, 9.0, 2.0], np.zeros((3, 3))
    )
    menu = typical_menu(data)
    np.testing.assert_array_equal(menu.prices, [[2.0, 4.0, np.inf]])
    assert menu.budgets == [2.0]
    payload = whatif.as_payload(OneCustomer(menu.goods, np.array([1.0, 0.0, 0.0])), menu)
    assert payload["offered"] == [True, True, False]
    assert payload["prices"] == [2.0, 4.0, 3.0]  # a price to start from, should it be put on offer


# The predictive check.


def test_the_check_finds_the_truth_fitting_and_a_falsehood_not():
    data = purchases(5, 2000)
    truth = np.linspace(1.0, -0.25, 5)[None] / np.linalg.norm(np.linspace(1.0, -0.25, 5))
    right, wrong = (
        check_purchases(
            LawMarket(
                data.goods, direction.repeat(40, 0), np.full(40, 15.0), make_crowds(direction[0], 8, 1, rng=rng), 1
            ),
            data,
            rng=rng,
        )
        for direction, rng in ((truth, np.random.default_rng(0)), (truth[:, ::-1], np.random.default_rng(0)))
    )
    assert right.n_inside >= 3
    assert right.largest_miss < 0.02
    assert wrong.n_inside <= 1  # the good in the middle stays where it is
    assert wrong.largest_miss > 0.2
    for found in (right, wrong):
        assert found.size.sum() == pytest.approx(1.0)
        np.testing.assert_array_equal(found.share, (data.bundles > 0).mean(axis=0))


def test_the_check_of_a_common_utility_is_exact_for_those_it_explains():
    model = common(5)
    kept = model.observations_[model.consistent_]
    found = check_purchases(model.market(), kept, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found.share, found.share_lower)
    np.testing.assert_array_equal(found.size, found.size_upper)
    assert found.largest_miss == 0.0


# The command.


def test_the_page_says_how_the_command_made_the_fit(tmp_path):
    data = purchases(2, 30, is_common=True)
    sp.write_observations(data, tmp_path / "my shop.csv")
    options = ["--model", "common", "--column", "price=price", "--seed", "3"]
    made = CliRunner().invoke(cli.app, ["fit", str(tmp_path / "my shop.csv"), "--out", str(tmp_path / "fit"), *options])
    assert made.exit_code == 0, made.output
    text = Page(page.render(sp.load_fit(tmp_path / "fit"))).text
    assert "stochpref fit 'my shop.csv' --out fit --model common --seed 3 --column price=price" in text
    assert "stochpref report fit --out report.html" in text
    assert str(tmp_path) not in text  # names, not where they are
    assert "purchases = ...  # your observations" in rendered(common(3))


def test_the_command_writes_a_page(tmp_path):
    posterior(3).save(tmp_path / "fit")
    out = tmp_path / "pages" / "report.html"
    command = ["report", str(tmp_path / "fit"), "--out", str(out), "--title", "Tea & rum"]
    shown = CliRunner().invoke(cli.app, [*command, "--json"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert (told["path"], told["bytes"], told["version"]) == (str(out), out.stat().st_size, sp.__version__)
    assert "<title>Tea &amp; rum</title>" in out.read_text(encoding="utf-8")
    missing = CliRunner().invoke(cli.app, ["report", str(tmp_path / "nowhere")])
    assert missing.exit_code == 2
    assert "not a saved fit" in missing.stderr


def test_the_command_in_a_process_of_its_own(tmp_path):
    common(3).save(tmp_path / "fit")
    command = [sys.executable, "-m", "stochpref.cli", "report", "fit", "--out", "r.html"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (shown.returncode, shown.stdout) == (0, "r.html\n")
    assert "MB)" in shown.stderr
    help_ = subprocess.run([*command[:4], "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert "  stochpref report fit/ --out report.html" in help_.stdout
