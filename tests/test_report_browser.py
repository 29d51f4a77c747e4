"""The page in a real browser, from disk: it runs, it answers, it equals the library, and names do nothing."""

from __future__ import annotations

import base64
import json
import shutil

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import stochpref as sp
from stochpref.demand import typical_menu
from stochpref.report import whatif, words
from tests.small_fits import (
    HOSTILE,
    common,
    hostile,
    in_units,
    of_fading_goods,
    of_whole_goods,
    posterior,
    rendered,
    segmented,
)

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver are installed")

OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


COSTS = np.array([0.9, 1.2, 0.4, 0.0, 1.0])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    home = tmp_path_factory.mktemp("pages")
    models = {"posterior": posterior(5), "common": common(5), "many": posterior(16), "hostile": hostile(False)}
    models |= {"units": in_units(), "whole": of_whole_goods(), "mixed": of_whole_goods(2)}
    models["segmented"] = segmented(4)
    models |= {"fading": of_fading_goods(), "fading, no rest": of_fading_goods(None)}
    for name, model in models.items():
        (home / f"{name}.html").write_text(rendered(model), encoding="utf-8")
    groups = {"north": posterior(5), HOSTILE[0]: common(5), "west": "nobody bought anything"}
    sp.write_report(groups, home / "groups.html")
    sp.write_report(posterior(5), home / "costs.html", costs=COSTS, currency="EUR")
    return {name: home / f"{name}.html" for name in (*models, "groups", "costs")}


def resize(browser, width, *, media="screen"):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})


@pytest.fixture
def visit(browser, pages):
    """Open a page at a width; at the end, check that nothing was complained of and nothing asked of the network."""

    def visit(name, width=1400):
        resize(browser, width)
        browser.get(pages[name].as_uri())
        return browser

    browser.get_log("browser"), browser.get_log("performance")
    yield visit
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # What the browser asks for pages of its own is not ours.
    asked = [one["request"]["url"] for one in sent if one["documentURL"].startswith("file://")]
    assert asked
    assert all(url.startswith(("file://", "data:", "blob:null/")) for url in asked), asked


def settle(browser):
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")


def line(browser, place):
    return browser.find_element(By.CSS_SELECTOR, f"#rows .line[data-place='{place}']")


def put(browser, element, value):
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", element, str(value)
    )


def values(browser, selector):
    """Return (mean, lower, upper) of an output at full precision."""
    data = browser.execute_script("return {...document.querySelector(arguments[0]).dataset}", selector)
    return tuple(float(data[name]) for name in ("value", "lower", "upper"))


def shown_demand(browser, n):
    return np.array([values(browser, f"#rows .line[data-place='{i}'] output") for i in range(n)])


def change(browser, menu):
    """Set prices, withdraw what is not on offer, and set the budget."""
    for i, price in enumerate(menu.prices[0]):
        box = line(browser, i).find_element(By.CSS_SELECTOR, "input[type=checkbox]")
        if box.is_selected() != bool(np.isfinite(price)):
            browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
            box.click()
        if np.isfinite(price):
            put(browser, line(browser, i).find_element(By.CSS_SELECTOR, "input[type=number]"), price)
    put(browser, browser.find_element(By.ID, "budget-number"), menu.budgets[0])
    settle(browser)


def menus_to_try(menu):
    """Return the typical menu, another with a good withdrawn, and one with nothing on offer."""
    other = menu.prices * np.round(np.linspace(0.6, 1.7, menu.n_goods), 3)
    other[0, 1] = np.inf
    return [
        menu,
        sp.Menus(other, 0.7 * menu.budgets, goods=menu.goods, caps=menu.caps, problem=menu.problem),
        sp.Menus(np.full_like(other, np.inf), menu.budgets, goods=menu.goods, caps=menu.caps, problem=menu.problem),
    ]


@pytest.mark.parametrize(
    "name", ["posterior", "many", "units", "whole", "mixed", "segmented", "fading", "fading, no rest"]
)
def test_the_page_equals_the_library_on_the_same_draws(visit, name):
    model = {
        "posterior": lambda: posterior(5), "many": lambda: posterior(16), "units": in_units, "whole": of_whole_goods,
        "mixed": lambda: of_whole_goods(2), "segmented": lambda: segmented(4),
        "fading": of_fading_goods, "fading, no rest": lambda: of_fading_goods(None),
    }[name]()  # fmt: skip
    n = len(model.goods_)
    n_customers, n_draws = whatif.sizes(len(model.coordinates_))
    menu = typical_menu(model.observations_)
    market = model.market(n_customers, n_draws)
    browser = visit(name)
    for button in browser.find_elements(By.CSS_SELECTOR, "[data-unfold=rows]"):
        button.click()
    for one in menus_to_try(menu):
        change(browser, one)
        demand = model.demand(one, n_customers=n_customers, n_draws=n_draws)
        expected = np.stack([demand.mean[0], demand.lower[0], demand.upper[0]], axis=1)
        np.testing.assert_allclose(shown_demand(browser, n), expected, rtol=0, atol=1e-6)
        revenue = (demand.revenue[0], demand.revenue_lower[0], demand.revenue_upper[0])
        np.testing.assert_allclose(values(browser, "#revenue"), revenue, rtol=0, atol=1e-6)
        total = (demand.total[0], demand.total_lower[0], demand.total_upper[0])
        np.testing.assert_allclose(values(browser, "#total"), total, rtol=0, atol=1e-6)
        baskets = [
            (tuple(int(i) for i in item.get_attribute("data-goods").split()), float(share.get_attribute("data-value")))
            for item in browser.find_elements(By.CSS_SELECTOR, "#baskets li")
            for share in item.find_elements(By.CSS_SELECTOR, ".number")
        ]
        found = whatif.answer(market, one)
        assert [goods for goods, _ in baskets] == [goods for goods, _ in found.baskets]
        np.testing.assert_allclose([share for _, share in baskets], [share for _, share in found.baskets], atol=1e-12)


def test_the_page_of_a_common_utility_equals_its_bundle(visit):
    model = common(5)
    browser = visit("common")
    for menu in menus_to_try(typical_menu(model.observations_)):
        change(browser, menu)
        np.testing.assert_allclose(shown_demand(browser, 5)[:, 0], model.predict(menu)[0], rtol=0, atol=1e-9)


def test_profit_is_shown_where_costs_are_known(visit):
    model = posterior(5)
    browser = visit("costs")
    market = model.market(*whatif.sizes(5))
    for menu in menus_to_try(typical_menu(model.observations_)):
        change(browser, menu)
        np.testing.assert_allclose(
            values(browser, "#profit"), whatif.answer(market, menu, COSTS).profit, rtol=0, atol=1e-6
        )
    assert "profit from a customer, EUR" in browser.find_element(By.ID, "whatif").text
    assert not visit("posterior").find_elements(By.ID, "profit")


def test_a_slider_moves_demand_and_the_button_moves_it_back(visit):
    browser = visit("posterior")
    before = shown_demand(browser, 5)
    slider = line(browser, 0).find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.END)
    settle(browser)
    after = shown_demand(browser, 5)
    assert after[0, 0] < 0.6 * before[0, 0]
    assert after[1, 0] > before[1, 0]  # what is not spent on it goes to the next
    browser.find_element(By.ID, "reset").click()
    np.testing.assert_array_equal(shown_demand(browser, 5), before)


def test_a_price_that_is_none_changes_nothing_and_is_marked(visit):
    browser = visit("posterior")
    before = shown_demand(browser, 5)
    number = line(browser, 0).find_element(By.CSS_SELECTOR, "input[type=number]")
    for text in ("", "-1", "0"):
        put(browser, number, text)
        settle(browser)
        assert "wrong" in number.get_attribute("class")
        np.testing.assert_array_equal(shown_demand(browser, 5), before)
    # Nor does it once something else moves: the last price that was one, and the last budget, stay in force.
    budget = browser.find_element(By.ID, "budget-number")
    slider = line(browser, 1).find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.END)
    settle(browser)
    wrong = shown_demand(browser, 5)
    for text in ("", "-3"):
        put(browser, budget, text)
        slider.send_keys(Keys.HOME)
        slider.send_keys(Keys.END)
        settle(browser)
        np.testing.assert_array_equal(shown_demand(browser, 5), wrong)
    browser.find_element(By.ID, "reset").click()
    slider.send_keys(Keys.END)
    settle(browser)
    np.testing.assert_array_equal(shown_demand(browser, 5), wrong)


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["posterior", "common", "many", "hostile"])
def test_it_fits_narrow_and_wide_screens(visit, name, width):
    browser = visit(name, width)
    wide, inner = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner
    for picture in browser.find_elements(By.CSS_SELECTOR, "figure img"):
        assert browser.execute_script("return arguments[0].naturalWidth", picture) > 0
    panel = browser.find_element(By.ID, "panel").rect
    for field in browser.find_elements(By.CSS_SELECTOR, "#rows .line:not(.folded) input"):
        assert field.rect["x"] + field.rect["width"] <= panel["x"] + panel["width"] + 1


def test_a_narrow_screen_is_told_that_a_table_scrolls(visit):
    hint = "return getComputedStyle(document.querySelector('#goods').parentElement, '::before').content"
    assert "scrolls sideways" in visit("posterior", 400).execute_script(hint)
    assert visit("posterior", 1400).execute_script(hint) == "none"


def test_every_control_is_reached_by_the_keyboard(visit):
    browser = visit("posterior", 400)
    reached = []
    for _ in range(45):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.execute_script("return document.activeElement.getAttribute('aria-label') || ''"))
    wanted = ["Budget, slider"]
    for i in np.argsort(-shown_demand(browser, 5)[:, 0], kind="stable"):
        wanted += [f"good{i + 1} is on offer", f"Price of good{i + 1}", f"Price of good{i + 1}, slider"]
    assert [name for name in reached if name in wanted][: len(wanted)] == wanted  # all, in the order of the page
    slider = line(browser, 0).find_element(By.CSS_SELECTOR, "input[type=range]")
    before = shown_demand(browser, 5)[0, 0]
    for _ in range(20):
        slider.send_keys(Keys.ARROW_RIGHT)
    settle(browser)
    assert shown_demand(browser, 5)[0, 0] < before
    assert browser.execute_script("return document.activeElement === arguments[0]", slider)
    assert browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", slider) != "none"


def test_long_lists_fold_unfold_and_are_searched(visit):
    browser = visit("many")

    def shown(selector):
        return [item for item in browser.find_elements(By.CSS_SELECTOR, selector) if item.is_displayed()]

    assert len(shown("#goods tbody tr")) == len(shown("#rows .line")) == 15
    browser.find_element(By.CSS_SELECTOR, "[data-unfold=goods]").click()
    assert len(shown("#goods tbody tr")) == 16
    search = browser.find_element(By.CSS_SELECTOR, "[data-filter=rows]")
    search.send_keys("GOOD16")
    assert [row.get_attribute("data-place") for row in shown("#rows .line")] == ["15"]
    search.send_keys(Keys.BACKSPACE * 10)
    assert len(shown("#rows .line")) == 15


def test_it_prints_without_controls_and_with_everything_else(visit):
    browser = visit("posterior", 700)
    resize(browser, 700, media="print")
    for selector in ("nav", "#reset", "#rows input[type=range]", "#budget"):
        assert not browser.find_element(By.CSS_SELECTOR, selector).is_displayed()
    for selector in ("#verdict h2", "#wants img", "#trust img", "#demand img", "#rows output", "#baskets li", "pre"):
        assert browser.find_element(By.CSS_SELECTOR, selector).is_displayed()
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    lead = "const p = document.querySelector('#check h2 + p'); return getComputedStyle(p)"
    for property_ in ("breakAfter", "breakInside"):  # no heading, and no sentence under it, stays behind its picture
        assert browser.execute_script(f"{lead}.{property_}") == "avoid"
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000
    resize(browser, 700)


def test_hostile_names_run_nothing_and_break_nothing(visit):
    browser = visit("hostile")
    assert browser.title == f"What 80 purchases say about {len(HOSTILE)} goods"
    assert browser.execute_script("return document.scripts.length") == 2
    names = browser.execute_script(
        "return Array.from(document.querySelectorAll('#rows .line')).map((row) => [row.dataset.place,"
        " row.querySelector('bdi').textContent, row.getAttribute('aria-label')])"
    )
    assert len(names) == len(HOSTILE)
    for place, text, label in names:
        assert text == label == words.shorten(HOSTILE[int(place)])
    before = shown_demand(browser, len(HOSTILE))
    line(browser, 0).find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.END)
    settle(browser)
    assert shown_demand(browser, len(HOSTILE))[0, 0] < before[0, 0]
    assert (
        browser.execute_script("return document.querySelectorAll('img[onerror], [onfocus], [autofocus]').length") == 0
    )


def inside(browser):
    """Go into the page of the group that is chosen, once it is there."""
    browser.switch_to.default_content()
    frame = browser.find_element(By.ID, "page")
    WebDriverWait(browser, 20).until(lambda _: frame.get_attribute("src").startswith("blob:"))
    browser.switch_to.frame(frame)
    WebDriverWait(browser, 20).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "footer"))


@pytest.mark.parametrize("width", [400, 1400])
def test_a_page_of_groups_shows_the_one_that_is_chosen(visit, width):
    browser = visit("groups", width)
    assert browser.title == "What purchases say about 2 groups"
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert "nobody bought anything" in browser.find_element(By.TAG_NAME, "details").get_attribute("textContent")
    options = browser.find_elements(By.CSS_SELECTOR, "#group option")
    assert [option.text for option in options] == ["north", words.shorten(HOSTILE[0])]
    inside(browser)
    kind = browser.find_element(By.CSS_SELECTOR, ".kicker").text
    before = shown_demand(browser, 5)
    browser.find_element(By.CSS_SELECTOR, "nav a[href='#whatif']").click()
    slider = line(browser, 0).find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.END)
    settle(browser)
    assert shown_demand(browser, 5)[0, 0] < 0.6 * before[0, 0]
    for picture in browser.find_elements(By.CSS_SELECTOR, "figure img"):
        assert browser.execute_script("return arguments[0].naturalWidth", picture) > 0
    browser.switch_to.default_content()
    first = browser.find_element(By.ID, "page").get_attribute("src")
    options[1].click()
    WebDriverWait(browser, 20).until(lambda _: browser.find_element(By.ID, "page").get_attribute("src") != first)
    inside(browser)
    WebDriverWait(browser, 20).until(lambda _: browser.find_element(By.CSS_SELECTOR, ".kicker").text != kind)
    browser.switch_to.default_content()
    assert browser.find_element(By.ID, "alone").get_attribute("href").startswith("blob:")
    assert browser.title == "What purchases say about 2 groups"
