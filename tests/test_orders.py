"""Order lines: what shops export, added up, and prices of what was not bought filled in from other orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app
from stochpref.readers import read_orders, scan
from stochpref.readers.price_filling import Level, fill_prices, plan_levels
from tests.order_lines import make_orders

NAN = np.nan
LINES = """order_id,sku,qty,unit_price,discount,store,order_date,customer_id
1,tea,1,2.0,,north,2026-03-02,a
1,cake,2,3.0,1.0,north,2026-03-02,a
1,tea,1,2.0,,north,2026-03-02,a
2,coffee,1,4,,north,2026-03-03,b
2,coffee,-1,4,,north,2026-03-03,b
2,tea,1,2.2,,north,2026-03-03,b
3,cake,1,2.9,,south,2026-03-20,c
3,tea,1,2.5,,south,2026-03-20,c
"""


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    path.write_text(LINES)
    return path


def test_lines_are_added_up_discounts_taken_off_and_returns_set_against_purchases(csv: Path) -> None:
    found = scan(csv, caps=3)
    orders = found.accept()
    assert found.layout == "orders"
    assert orders.goods == ("tea", "cake", "coffee")
    assert orders.labels == ("1", "2", "3")
    assert orders.customers == ("a", "b", "c")
    assert orders.bundles.tolist() == [[2, 2, 0], [1, 0, 0], [1, 1, 0]]
    # Coffee was brought back, so it was on offer; cake came off by 1.0 for two.
    assert orders.prices.tolist() == [[2.0, 2.5, 4.0], [2.2, 2.5, 4.0], [2.5, 2.9, 4.0]]
    assert orders.budgets.tolist() == pytest.approx([9.0, 2.2, 5.4])


def test_what_was_done_is_said_in_words(csv: Path) -> None:
    notes = scan(csv, caps=3).notes
    assert "'sku' as the good" in notes[0]
    assert "8 lines of 3 orders, 2 of them added to another line" in notes[1]
    assert notes[2] == "returns: 1 line, set against purchases of the same order"
    assert "66.7 % paid in the order itself" in notes[3]
    assert "22.2 % from orders of the same store and week" in notes[4]
    assert "11.1 % from orders of any store, within 28 days (17 days away in the median)" in notes[5]
    assert "taken as its budget" in notes[6]


def test_a_price_too_far_away_means_not_on_offer(csv: Path) -> None:
    found = scan(csv, caps=3, fill_within=5)
    assert np.isinf(found.accept().prices[2, 2])
    assert any("found nowhere near" in note for note in found.notes)


def test_keys_of_ones_own(csv: Path) -> None:
    by_store = read_orders(csv, caps=3, fill_prices="store", fill_within=0)
    assert np.isinf(by_store.prices[2, 2])  # nobody bought coffee in the south
    by_customer = read_orders(csv, caps=3, fill_prices=("customer_id",), fill_within=2)
    assert by_customer.prices[1].tolist() == [2.2, 2.5, 4.0]  # another customer, the day before


def test_totals_before_and_after_discount_give_the_same_orders(csv: Path) -> None:
    frame = pd.read_csv(csv)
    gross = frame["qty"] * frame["unit_price"]
    taken_off = np.sign(frame["qty"]) * frame["discount"].fillna(0.0)
    wanted = read_orders(frame, caps=3)
    for total in (gross, gross - taken_off):
        found = read_orders(frame.assign(total=total), caps=3)
        assert np.allclose(found.prices, wanted.prices)
        assert np.allclose(found.budgets, wanted.budgets)
    alone = read_orders(frame.assign(total=gross - taken_off).drop(columns=["unit_price", "discount"]), caps=3)
    assert np.allclose(alone.prices, wanted.prices)


def test_lines_without_quantities_count_as_one() -> None:
    frame = pd.DataFrame({"observation": [1, 1, 2], "good": ["a", "b", "a"], "price": [1.0, 2.0, 1.5]})
    found = scan(frame, layout="orders")
    assert found.accept().bundles.tolist() == [[1, 1], [1, 0]]
    assert "every line counts as one" in found.notes[0]


def test_orders_and_prices_are_marks_enough_where_nothing_else_reads_a_table() -> None:
    lines = {"order_id": [1, 1, 2], "sku": ["a", "b", "a"], "qty": [1, 1, 1], "unit_price": [1.0, 2.0, 1.5]}
    assert scan(pd.DataFrame(lines)).layout == "orders"
    for frame in (
        pd.DataFrame(lines).rename(columns={"order_id": "obs_id"}),
        pd.DataFrame(lines).drop(columns="unit_price"),
    ):
        with pytest.raises(sp.UnreadableData, match="is neither long"):
            scan(frame)
    long = pd.DataFrame(lines).rename(columns={"sku": "good", "order_id": "observation"})
    with pytest.raises(sp.UnreadableData, match="no column"):
        scan(long)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"order_date": "soon"}, r"row 2 .*'soon'"),
        ({"order_date": "2026-02-30"}, r"row 2 .*'2026-02-30'"),
        ({"qty": "two"}, r"row 2 .*'two'"),
        ({"unit_price": "-1"}, r"a price must be positive"),
        ({"unit_price": "0"}, r"a price must be positive"),
        ({"sku": ""}, r"row 2 .*an empty cell"),
        ({"order_id": ""}, r"must name the observation of every row"),
        ({"customer_id": "z"}, r"the customer must agree within an observation"),
        ({"discount": "x"}, r"row 2 .*'x'"),
        ({"qty": "4"}, r"a quantity must not exceed its cap"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, cells: dict[str, str], message: str) -> None:
    frame = pd.read_csv(pd.io.common.StringIO(LINES), dtype=str, keep_default_na=False)
    for column, cell in cells.items():
        frame.loc[0, column] = cell
    path = tmp_path / "orders.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(sp.StochprefError, match=message):
        read_orders(path, caps=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fill_prices": "shop"}, r"fill_prices must name columns.*received 'shop'"),
        ({"fill_within": -1}, r"fill_within must be a number of days"),
        ({"columns": {"date": "when"}}, r"no column 'when' for the date"),
    ],
)
def test_bad_options_are_refused(csv: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(sp.StochprefError, match=message):
        read_orders(csv, caps=3, **options)


def test_weeks_need_dates() -> None:
    frame = pd.DataFrame({"observation": [1, 2], "good": ["a", "b"], "price": [1.0, 2.0]})
    with pytest.raises(sp.UnreadableData, match="needs a column of that name or of dates"):
        read_orders(frame, fill_prices="week")


def test_dates_with_slashes_need_one_that_tells() -> None:
    frame = pd.DataFrame({"observation": [1, 2], "good": ["a", "b"], "price": [1.0, 2.0], "date": ["03/04/2026"] * 2})
    with pytest.raises(sp.UnreadableData, match="day or month"):
        read_orders(frame)
    frame["date"] = ["03/04/2026", "25/04/2026"]
    assert np.isfinite(read_orders(frame).prices).all()  # 22 days apart; as months they would be far


def test_prices_come_from_the_nearest_day_and_the_earlier_of_two() -> None:
    prices = np.array([[1.0], [NAN], [3.0], [NAN], [7.0]])
    days = np.array([0, 2, 4, 5, 6])
    near = fill_prices(prices, days, [Level("any", np.zeros(5, np.int64), 3.0)])
    assert near.prices.ravel().tolist() == [1.0, 1.0, 3.0, 3.0, 7.0]
    strict = fill_prices(prices, days, [Level("any", np.zeros(5, np.int64), 1.0)])
    assert strict.prices.ravel().tolist() == [1.0, np.inf, 3.0, 3.0, 7.0]


def test_prices_that_are_guesses_are_counted() -> None:
    """Those of a good whose price moves, from another market, from more than a week away, or from no known time."""
    prices = np.array([[1.0, 5.0], [NAN, NAN], [3.0, 5.0], [NAN, NAN]])
    days, store = np.array([0, 2, 20, 29]), np.array([0, 1, 0, 0])
    levels = plan_levels(("store",), (store,), 28.0, has_days=True)
    found = fill_prices(prices, days, levels)
    assert found.prices[[1, 3]].tolist() == [[1.0, 5.0], [3.0, 5.0]]
    assert found.n_guessed == 2  # the second order is of another store, the last one nine days away; 5 stays 5
    assert fill_prices(prices[[0, 2, 2]], days[:3], levels).n_guessed == 0
    nowhere = plan_levels((), (), 28.0, has_days=False)
    assert fill_prices(prices, None, [nowhere[0]._replace(groups=np.zeros(4, np.int64))]).n_guessed == 2
    assert found.notes()[-1].startswith("guessed: 25.0 % of the prices")


def test_prices_are_filled_as_a_loop_over_orders_would() -> None:
    rng = np.random.default_rng(3)
    prices = np.where(rng.random((300, 4)) < 0.3, rng.uniform(1, 2, (300, 4)), NAN)
    store, days = rng.integers(3, size=300), rng.integers(60, size=300)
    week = days // 7
    levels = plan_levels(("store", "week"), (store, week), 5.0, has_days=True)
    found = fill_prices(prices, days, levels)
    for t in range(300):
        for i in np.flatnonzero(np.isnan(prices[t])):
            assert found.prices[t, i] == _by_hand(prices[:, i], store, week, days, t)


def _by_hand(prices: np.ndarray, store: np.ndarray, week: np.ndarray, days: np.ndarray, t: int) -> float:
    for same, within in (
        ((store == store[t]) & (week == week[t]), np.inf),
        (store == store[t], 5.0),
        (store >= 0, 5.0),
    ):
        usable = np.flatnonzero(same & ~np.isnan(prices) & (np.abs(days - days[t]) <= within))
        if usable.size:
            nearest = min(usable, key=lambda s: (abs(days[s] - days[t]), days[s]))
            that_day = np.sort(prices[usable[days[usable] == days[nearest]]])
            return float(that_day[(len(that_day) - 1) // 2])
    return float("inf")


def test_an_export_gives_back_what_customers_faced_and_bought(tmp_path: Path) -> None:
    shop = make_orders(600)
    path = tmp_path / "orders.csv"
    path.write_text(shop.as_csv())
    found = read_orders(path)
    order = [int(label[1:]) for label in found.labels or ()]  # an order without a purchase leaves no line
    truth = shop.truth.prices[order], shop.truth.bundles[order]
    columns = [shop.truth.goods.index(good) for good in found.goods]
    assert np.allclose(found.bundles, truth[1][:, columns])
    is_same = np.isclose(found.prices, truth[0][:, columns])
    assert is_same[truth[1][:, columns] > 0].all()
    assert is_same.mean() > 0.9  # what nobody bought in that store and week has the price of another week


def test_visits_without_a_purchase_have_no_lines(tmp_path: Path) -> None:
    lines = [
        "order_id,sku,qty,unit_price",
        "1,tea,1,2",
        "1,rum,1,3",
        "2,tea,1,2",
        "2,tea,-1,2",
        "3,rum,1,3",
        "4,tea,1,2.5",
    ]
    path = tmp_path / "orders.csv"
    path.write_text("\n".join(lines) + "\n")
    found = read_orders(path)
    assert found.nonempty
    assert found.labels == ("1", "3", "4")
    assert "orders: 1 of which returns leave nothing left out" in found.notes
    assert not any("break a rule" in note for note in found.notes)
    seen = read_orders(path, nonempty=False)
    assert not seen.nonempty
    assert seen.labels == ("1", "2", "3", "4")
    assert sp.read_observations(path, layout="orders", problem="open").nonempty
    shown = CliRunner().invoke(app, ["check", str(path), "--layout", "orders"])
    assert shown.exit_code == 0, shown.output
    assert "3 observations of 2 goods" in shown.stdout
