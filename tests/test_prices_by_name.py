# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Prices with names go to the goods of those names, whatever holds them and in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import stochpref as sp
from tests.small_fits import fit_posterior, purchases

GOODS = ("tea", "milk", "bread", "rum")
TURNED = ("bread", "tea", "rum", "milk")
PRICES = np.array([[1.0, 1.4, 0.8, 2.5], [0.6, 1.1, np.nan, 1.9], [1.5, 0.7, 1.2, np.inf]])
BUDGETS = np.array([2.0, 1.5, 0.9])


def columns(names: tuple[str, ...] = TURNED) -> dict[str, np.ndarray]:
    return {name: PRICES[:, GOODS.index(name)] for name in names}


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(columns()),
    "polars": lambda: pl.DataFrame(columns()),
    "polars, lazy": lambda: pl.DataFrame(columns()).lazy(),
    "Arrow table": lambda: pa.table(columns()),
    "Arrow batch": lambda: pa.record_batch(columns()),
    "dict of lists": lambda: {name: values.tolist() for name, values in columns().items()},
    "dict of Series": lambda: {name: pd.Series(values) for name, values in columns().items()},
    "rows that are dicts": lambda: pd.DataFrame(columns()).to_dict("records"),
    "rows that are Series": lambda: [row for _, row in pd.DataFrame(columns()).iterrows()],
    "missing values": lambda: pl.DataFrame({n: [None if np.isnan(x) else x for x in v] for n, v in columns().items()}),
    "numbers as text": lambda: pd.DataFrame({name: values.astype(str) for name, values in columns().items()}),
    "labelled array": lambda: xr.DataArray(
        PRICES[:, [GOODS.index(name) for name in TURNED]], coords={"good": list(TURNED)}, dims=("menu", "good")
    ),
}
ROWS: dict[str, Callable[[], Any]] = {
    "dict": lambda: {name: values[0] for name, values in columns().items()},
    "Series": lambda: pd.Series({name: values[0] for name, values in columns().items()}),
    "row of a frame": lambda: pd.DataFrame(columns()).iloc[0],
}


@pytest.fixture(scope="module", params=["heterogeneous", "common"])
def model(request: pytest.FixtureRequest) -> Any:
    is_common = request.param == "common"
    data = purchases(4, 80, is_common=is_common, goods=GOODS)
    return sp.CommonUtility(random_state=0).fit(data) if is_common else fit_posterior(data)


def asked(model: Any) -> list[Callable[..., np.ndarray]]:
    """Return what can be asked of a fit about prices and budgets."""
    found = [model.predict]
    if hasattr(model, "demand"):
        found.append(lambda prices, budgets: model.demand(prices, budgets, n_customers=256, n_draws=10).mean)
    return found


@pytest.mark.parametrize("budgets", [BUDGETS, BUDGETS.tolist(), pd.Series(BUDGETS), pl.Series(BUDGETS), 1.3])
def test_budgets_come_as_they_come(model: Any, budgets: Any) -> None:
    plain = 1.3 if isinstance(budgets, float) else BUDGETS
    for ask in asked(model):
        np.testing.assert_array_equal(ask(pd.DataFrame(columns()), budgets), ask(PRICES, plain))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_prices_are_matched_by_name(model: Any, kind: str) -> None:
    for ask in asked(model):
        np.testing.assert_array_equal(ask(TABLES[kind](), BUDGETS), ask(PRICES, BUDGETS))


@pytest.mark.parametrize("kind", ROWS)
def test_one_row_of_prices_is_matched_by_name(model: Any, kind: str) -> None:
    for ask in asked(model):
        np.testing.assert_array_equal(ask(ROWS[kind](), 2.0), ask(PRICES[0], 2.0))
        np.testing.assert_array_equal(ask(ROWS[kind](), BUDGETS), ask(PRICES[0], BUDGETS))
    if hasattr(model, "elasticities"):
        named, plain = (model.elasticities(prices, 2.0, n_customers=256) for prices in (ROWS[kind](), PRICES[0]))
        assert named.goods == GOODS
        np.testing.assert_array_equal(named.mean, plain.mean)


def test_one_price_stands_for_all_rows(model: Any) -> None:
    mixed = {name: values if name != "tea" else 1.2 for name, values in columns().items()}
    plain = np.where(np.arange(4) == 0, 1.2, PRICES)
    np.testing.assert_array_equal(model.predict(mixed, BUDGETS), model.predict(plain, BUDGETS))


def test_bare_numbers_keep_the_order_of_the_fit(model: Any) -> None:
    for prices in (PRICES, PRICES.tolist(), pd.DataFrame(columns()).loc[:, list(GOODS)].to_numpy()):
        np.testing.assert_array_equal(
            model.predict(prices, BUDGETS), model.predict(sp.Menus(PRICES, BUDGETS, goods=GOODS))
        )
    for row in (PRICES[0], PRICES[0].tolist(), pl.Series(PRICES[0]), pa.array(PRICES[0])):
        np.testing.assert_array_equal(model.predict(row, 2.0), model.predict(PRICES[:1], [2.0])[0])


def frame(**more: Any) -> pd.DataFrame:
    return pd.DataFrame(columns() | more)


REFUSED = {
    "unknown": (lambda: frame(tee=1.0), r"prices must be for goods known, tea, milk.*received 'tee'.*nearest is 'tea'"),
    "budgets among the prices": (lambda: frame(budget=1.0), "received 'budget', which is none of them"),
    "missing": (lambda: frame().drop(columns="milk"), "prices must be given for every good.*'milk' is missing"),
    "missing more": (lambda: {"tea": 1.0}, "'milk' and 2 more are missing; .*inf or NaN"),
    "twice": (lambda: pd.Series([1.0] * 5, index=[*GOODS, "tea"]), "prices must name each good once; received 'tea'"),
    "columns twice": (lambda: pd.concat([frame(), frame()[["tea"]]], axis=1), "unique column names.*'tea'"),
    "no names at all": (lambda: pd.Series([1.0] * 4), "received '0', which is none of them"),
    "not numbers": (lambda: frame().assign(tea="dear"), "prices of 'tea' must be numbers; received 'dear'"),
    "not numbers in a dict": (lambda: columns() | {"tea": "dear"}, "prices of 'tea' must be an array of numbers"),
    "not numbers in a Series": (lambda: pd.Series(["dear"] * 4, index=GOODS), "numbers; received 'dear'"),
    "lengths": (lambda: columns() | {"tea": [1.0, 2.0]}, "prices must be one number for each good, or equally many"),
    "too few": (lambda: PRICES[:, :3], r"prices must be 4 in a row.*tea, milk, bread, rum; received 3"),
    "too many": (lambda: [1.0] * 5, "prices must be 4 in a row.*received 5 in a row"),
    "one number": (lambda: 1.0, "prices must be 4 in a row.*received one number"),
    "nothing": (lambda: None, "prices must"),
    "a name": (lambda: "prices.csv", "prices must be an array of numbers"),
    "negative": (lambda: frame().assign(tea=-1.0), "a price must be positive"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_matched_is_refused(model: Any, case: str) -> None:
    make_fn, message = REFUSED[case]
    for ask in asked(model):
        with pytest.raises((sp.InvalidArgument, sp.UnreadableData), match=message):
            ask(make_fn(), BUDGETS)


def test_budgets_that_do_not_go_with_the_prices_are_refused(model: Any) -> None:
    prices = pd.DataFrame(columns(), index=["a", "b", "c"])
    for ask in asked(model):
        with pytest.raises(sp.InvalidArgument, match="budgets must be in the order of the rows of prices"):
            ask(prices, pd.Series(BUDGETS, index=["b", "a", "c"]))
        with pytest.raises(sp.InvalidArgument, match=r"budgets must be one number, or one for each of 3 rows"):
            ask(prices, [1.0, 2.0])
        with pytest.raises(sp.InvalidArgument, match="budgets must be an array of numbers"):
            ask(prices, "much")
        with pytest.raises(sp.InvalidArgument, match="prices and budgets"):
            ask(prices, None)
        with pytest.raises(sp.InvalidArgument, match="left out when menus hold them"):
            ask(sp.Menus(PRICES, BUDGETS, goods=GOODS), BUDGETS)


def test_menus_may_lack_goods_and_have_them_in_any_order(model: Any) -> None:
    few = sp.Menus(PRICES[:, [3, 0]], BUDGETS, goods=["rum", "tea"], caps=[2.0, 1.0], labels=["a", "b", "c"])
    whole = few.over(GOODS)
    np.testing.assert_array_equal(whole.prices, np.where(np.isin(np.arange(4), [0, 3]), PRICES, np.inf))
    np.testing.assert_array_equal(whole.caps[0], [1.0, 1.0, 1.0, 2.0])
    assert (whole.goods, whole.labels) == (GOODS, ("a", "b", "c"))
    assert whole.over(GOODS) is whole
    np.testing.assert_array_equal(model.predict(few), model.predict(whole)[:, [3, 0]])
    with pytest.raises(sp.InvalidArgument, match="such as 'rum'"):
        few.over(("tea", "milk"))


def test_observations_over_goods_are_the_same_purchases(model: Any) -> None:
    data = model.observations_
    places = [GOODS.index(name) for name in TURNED]
    turned = data.over(TURNED)
    np.testing.assert_array_equal(turned.bundles, data.bundles[:, places])
    assert turned.customers == data.customers
    np.testing.assert_array_equal(turned.over(GOODS).prices, data.prices)
    assert model.score(turned) == model.score(data)
    np.testing.assert_array_equal(model.log_likelihood(turned), model.log_likelihood(data))
    more = data.over((*GOODS, "ham"))
    assert np.isinf(more.prices[:, 4]).all()
    assert not more.bundles[:, 4].any()


def test_limits_of_a_design_are_matched_by_name() -> None:
    plain = sp.MenuLimits(lowest_price=[0.1, 0.2, 0.3, 0.4], highest_price=[1.0, 2.0, 3.0, 4.0], caps=[1, 2, 3, 4])
    highest = {"bread": 3.0, "tea": 1.0, "rum": 4.0, "milk": 2.0}
    lowest = pd.Series(highest) / 10
    named = sp.MenuLimits(lowest_price=lowest, highest_price=highest, caps=highest)
    for field in ("lowest", "highest", "caps"):
        np.testing.assert_allclose(getattr(named.resolve(GOODS), field), getattr(plain.resolve(GOODS), field))
    with pytest.raises(sp.InvalidArgument, match=r"highest_price must be for goods known.*'ham'"):
        sp.MenuLimits(highest_price=highest | {"ham": 1.0}).resolve(GOODS)
