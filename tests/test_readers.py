# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Reading and writing: layouts, mappings, file formats, data frames, and exact round trips."""

from __future__ import annotations

import gzip
import io
import logging
import re
import string
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stochpref as sp
from stochpref.readers import scan, writing

LONG = """observation,good,price,quantity,budget,customer
a,milk,2,1,3,ann
a,bread,4,0.25,3,ann
b,bread,1.5,1,3,bob
b,milk,,0,3,bob
"""
WIDE = """budget,price_milk,price_bread,quantity_milk,quantity_bread,customer
3,2,4,1,0.25,ann
3,,1.5,,1,bob
"""


def write(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def assert_same(left: sp.Observations, right: sp.Observations) -> None:
    for field in ("prices", "budgets", "bundles", "caps"):
        np.testing.assert_array_equal(getattr(left, field), getattr(right, field), err_msg=field)
    assert left.goods == right.goods
    assert left.customers == right.customers


def expected(**changes: object) -> sp.Observations:
    fields = {
        "prices": [[2, 4], [np.inf, 1.5]],
        "budgets": [3, 3],
        "bundles": [[1, 0.25], [0, 1]],
        "goods": ["milk", "bread"],
        "customers": ["ann", "bob"],
    } | changes
    return sp.Observations(fields.pop("prices"), fields.pop("budgets"), fields.pop("bundles"), **fields)


@pytest.mark.parametrize("text", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace(",", ";").encode(),
        lambda text: text.replace(",", "\t").encode(),
        lambda text: re.sub(r"\w*milk", r'"\g<0>"', text).encode(),
        lambda text: text.replace("\n", "\n\n").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.replace(",", ", ", text.split("\n", maxsplit=1)[0].count(",")).encode(),
        lambda text: text.replace("1.5", " 1.5 ").encode(),
        lambda text: text.replace("1.5", "15e-1").encode(),
        lambda text: text.replace(",,", ",NA,").encode(),
        lambda text: text.replace(",,", ",inf,", 1).encode(),
    ],
    ids=[
        "plain", "byte-order-mark", "crlf", "cr", "semicolon", "tab", "quoted", "blank-lines", "no-last-newline",
        "spaces-in-header", "spaces-in-cells", "exponent", "NA", "inf",
    ],
)  # fmt: skip
def test_text_is_read_however_it_is_dressed(tmp_path, text, change):
    assert_same(sp.read_observations(write(tmp_path, change(text))), expected())


def test_compressed_and_tab_separated_files(tmp_path):
    tabbed = LONG.replace(",", "\t")
    assert_same(sp.read_observations(write(tmp_path, gzip.compress(LONG.encode()), "a.b.csv.gz")), expected())
    assert_same(sp.read_observations(write(tmp_path, gzip.compress(LONG.encode()), "plain.gz")), expected())
    assert_same(sp.read_observations(write(tmp_path, tabbed, "a.tsv")), expected())
    assert_same(sp.read_observations(write(tmp_path, gzip.compress(tabbed.encode()), "a.TSV.GZ")), expected())


def test_a_pair_that_does_not_occur_is_not_on_offer(tmp_path):
    text = LONG.replace("b,milk,,0,3,bob\n", "")
    assert_same(sp.read_observations(write(tmp_path, text)), expected())


def test_names_may_hold_separators_quotes_and_newlines(tmp_path):
    text = LONG.replace("milk", '"skimmed, ""fresh""\nmilk; 1 l"')
    assert sp.read_observations(write(tmp_path, text)).goods == ('skimmed, "fresh"\nmilk; 1 l', "bread")


def frames(text: str) -> dict[str, object]:
    pandas_frame = pd.read_csv(io.StringIO(text))
    polars_frame = pl.read_csv(text.encode())
    return {
        "pandas": pandas_frame,
        "pandas-object": pandas_frame.astype(object),
        "pandas-category": pandas_frame.astype({"customer": "category"}),
        "polars": polars_frame,
        "polars-lazy": polars_frame.lazy(),
        "polars-text": polars_frame.cast(pl.String),
        "arrow": pa.Table.from_pandas(pandas_frame),
    }


@pytest.mark.parametrize("text", [LONG, WIDE], ids=["long", "wide"])
def test_every_data_frame_gives_the_same_observations(text):
    for name, frame in frames(text).items():
        assert_same(sp.read_observations(frame), expected()), name


def test_decimal_commas_are_read_where_commas_separate_nothing(tmp_path):
    rows = "observation;good;price;quantity;budget\n1;tea;1,5;1;2,25\n1;rum;2;,25;2,25\n"
    for suffix, separator in ((".csv", ";"), (".tsv", "\t")):
        path = tmp_path / f"europe{suffix}"
        path.write_text(rows.replace(";", separator))
        found = sp.read_observations(path)
        np.testing.assert_array_equal(found.prices, [[1.5, 2.0]])
        np.testing.assert_array_equal(found.bundles, [[1.0, 0.25]])
        assert found.budgets == [2.25]
    path = tmp_path / "mixed.csv"
    path.write_text(rows.replace("1,5", "1.5").replace("2,25", "2,250"))  # with points, a comma groups thousands
    with pytest.raises(sp.UnreadableData, match="'2,250'"):
        sp.read_observations(path)
    path.write_text("observation;good;price;quantity;budget\n1;tea;1,200;1;2,500\n1;rum;950;0;2,500\n")  # or without
    with pytest.raises(sp.UnreadableData, match="'1,200'"):
        sp.read_observations(path)


def test_what_has_no_label_is_called_by_its_number_in_the_file(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("price_a,price_b,quantity_a,quantity_b,budget\n1,1,9,0,1\n1,1,1,0,1\n1,1,0,1,1\n")
    assert scan(path).accept(skip_bad=True).name(0) == "2"


def test_integers_truth_values_and_categories_are_numbers_and_labels():
    frame = pl.DataFrame(
        {
            "observation": [1, 1, 2, 2],
            "good": pl.Series(["x", "y", "x", "y"], dtype=pl.Categorical),
            "price": pl.Series([2, 3, 2, 3], dtype=pl.Int8),
            "quantity": [True, False, False, True],
            "budget": pl.Series([3, 3, 3, 3], dtype=pl.UInt64),
        }
    )
    observations = sp.read_observations(frame)
    np.testing.assert_array_equal(observations.bundles, [[1, 0], [0, 1]])
    assert observations.goods == ("x", "y")


def test_an_index_of_numbers_as_column_names():
    frame = pd.DataFrame({0: [1, 0], 1: [0, 1]})
    observations = sp.read_observations(frame, layout="wide", columns={"quantity": "*", "price": 1}, budget="spent")
    assert observations.goods == ("0", "1")
    np.testing.assert_array_equal(observations.budgets, [1, 1])


def test_columns_map_names_and_constants(tmp_path):
    text = LONG.replace("observation,good,price,quantity,budget,customer", "trip,item,cost,units,money,who")
    columns = {"observation": "trip", "good": "item", "price": "cost", "quantity": "units", "customer": "who"}
    path = write(tmp_path, text)
    assert_same(sp.read_observations(path, columns=columns | {"budget": "money"}), expected())
    assert_same(sp.read_observations(path, columns=columns | {"budget": 3}), expected())
    assert_same(sp.read_observations(path, columns=columns | {"budget": "3.0"}), expected())
    assert_same(sp.read_observations(path, columns=columns, budget="spent"), expected(budgets=[3, 1.5]))
    all_offered = sp.read_observations(path, columns=columns | {"price": 1.0}, budget="spent")
    np.testing.assert_array_equal(all_offered.prices, np.ones((2, 2)))


def test_a_column_goes_before_the_number_it_is_named_after(tmp_path):
    path = write(tmp_path, LONG.replace("budget", "7"))
    assert_same(sp.read_observations(path, columns={"budget": "7"}), expected())


@pytest.mark.parametrize(
    ("header", "columns", "goods"),
    [
        ("x1,x2,q1,q2,a1,a2,b", {"quantity": "x", "price": "a", "budget": "b"}, ("1", "2")),
        ("x_1,x_2,q_1,q_2,a_1,a_2,b", {"quantity": "x", "price": "a", "budget": "b"}, ("1", "2")),
        ("x1,x2,xq,age,a1,a2,b", {"quantity": "x", "price": "a", "budget": "b"}, ("1", "2")),
        ("x.tea,x.rum,q1,q2,a.tea,a.rum,b", {"quantity": "x.", "price": "a.", "budget": "b"}, ("tea", "rum")),
        ("xtea,xrum,q1,q2,atea,arum,b", {"quantity": "x", "price": "a", "budget": "b"}, ("tea", "rum")),
        ("tea,rum,q1,q2,price_tea,price_rum,b", {"quantity": "*", "budget": "b"}, ()),
    ],
)
def test_wide_prefixes(tmp_path, header, columns, goods):
    path = write(tmp_path, f"{header}\n1,0,5,5,2,3,2\n0,1,5,5,2,3,4\n")
    if not goods:  # q1 and q2 are left over, so * takes them, and they have no price
        with pytest.raises(sp.UnreadableData, match="good 'q1' has no column for its price"):
            sp.read_observations(path, columns=columns)
        return
    observations = sp.read_observations(path, columns=columns)
    assert observations.goods == goods
    np.testing.assert_array_equal(observations.bundles, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(observations.prices, [[2, 3], [2, 3]])
    np.testing.assert_array_equal(observations.budgets, [2, 4])


def test_star_takes_every_column_not_otherwise_used(tmp_path):
    path = write(tmp_path, "customer,tea,budget,rum\nann,1,2,0\nbob,1,2,1\n")
    for star in ("*", ""):
        observations = sp.read_observations(path, columns={"quantity": star, "price": 1.0})
        assert observations.goods == ("tea", "rum")
        assert observations.customers == ("ann", "bob")


def test_caps_come_from_the_argument_or_a_column(tmp_path):
    text = "observation,good,price,quantity,budget\n1,tea,1,2,5\n1,rum,1,3,5\n"
    path = write(tmp_path, text)
    np.testing.assert_array_equal(sp.read_observations(path, caps=4).caps, [[4, 4]])
    np.testing.assert_array_equal(sp.read_observations(path, caps=[2, 3]).caps, [[2, 3]])
    path = write(tmp_path, "observation,good,price,quantity,budget,cap\n1,tea,1,2,5,\n1,rum,1,3,5,8\n")
    np.testing.assert_array_equal(sp.read_observations(path, caps=4).caps, [[4, 8]])
    wide = write(tmp_path, "quantity_tea,price_tea,cap_tea,budget\n2,1,2.5,5\n")
    np.testing.assert_array_equal(sp.read_observations(wide).caps, [[2.5]])


PABULIB = """META
key;value
description;"A ""small"" town; in spring"
budget;100
vote_type;approval
PROJECTS
project_id;cost;votes;name
7;60;2;Park
9;40;1;"Pool; small"
12;30;0;Bench
VOTES
voter_id;age;vote
v1;30;7,9
v2;31;
v3;32;"12, 7"
"""


def test_pabulib_votes_are_bundles(tmp_path):
    observations = sp.read_observations(write(tmp_path, PABULIB, "town.pb"))
    assert observations.goods == ("7", "9", "12")
    assert observations.customers == ("v1", "v2", "v3")
    np.testing.assert_array_equal(observations.bundles, [[1, 1, 0], [0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(observations.prices, np.tile([60, 40, 30], (3, 1)))
    np.testing.assert_array_equal(observations.budgets, [100, 100, 100])
    spent = sp.read_observations(write(tmp_path, PABULIB.replace("\n", "\r\n"), "town.pb"), budget="spent")
    np.testing.assert_array_equal(spent.budgets, [100, 0, 90])
    # What differs by less than 1 % is rounding: v1 spent 100 of 100.5, v3 90, v2 nothing.
    rounded = sp.read_observations(write(tmp_path, PABULIB.replace(";100\n", ";100.5\n"), "town.pb"), budget="rounded")
    np.testing.assert_array_equal(rounded.budgets, [100, 100.5, 100.5])
    over = sp.read_observations(write(tmp_path, PABULIB.replace(";100\n", ";99.5\n"), "town.pb"), budget="rounded")
    np.testing.assert_array_equal(over.budgets, [100, 99.5, 99.5])


def test_pabulib_votes_are_whole_and_not_empty_unless_stated_otherwise(tmp_path):
    path = write(tmp_path, PABULIB, "town.pb")
    some_empty = sp.read_observations(path)
    assert (some_empty.problem.name, some_empty.nonempty) == ("whole", False)
    assert any("read as whole projects, 1 of them empty; problem='divisible'" in note for note in some_empty.notes)
    none_empty = sp.read_observations(write(tmp_path, PABULIB.replace("v2;31;\n", ""), "full.pb"))
    assert (none_empty.problem.name, none_empty.nonempty) == ("whole", True)
    assert any("empty ballots are not among them" in note for note in none_empty.notes)
    before = sp.read_observations(tmp_path / "full.pb", problem="divisible")
    assert (before.problem.name, before.nonempty) == ("divisible", False)
    assert not any("whole projects" in note for note in before.notes)
    assert sp.read_observations(tmp_path / "full.pb", units=1).problem.name == "whole"
    both = sp.read_observations([path, tmp_path / "full.pb"])
    assert (len(both), both.nonempty) == (5, False)
    np.testing.assert_array_equal(sp.read_observations(write(tmp_path, WIDE)).problem.name, "divisible")


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_rounded_figures_count_as_all_spent_and_money_left_as_left(tmp_path, layout):
    prices, exact = np.array([[3.0, 1.0]] * 4), np.array([[1 / 3, 0.0], [2 / 3, 0.0], [1.0, 0.0], [1.0, 1.0]])
    path = tmp_path / "rounded.csv"
    table = sp.Observations(prices, [1.0, 2.001, 5.0, 5.0], np.round(exact, 3))
    sp.write_observations(table, path, layout=layout)
    path.write_text(path.read_text().replace("2.001", "2"))  # 0.667 at a price of 3 overspends
    with pytest.raises(sp.InvalidObservations, match="budget='rounded'"):
        sp.read_observations(path)
    rounded = sp.read_observations(path, budget="rounded")
    np.testing.assert_allclose(rounded.budgets, [0.999, 2.001, 5.0, 5.0])
    assert rounded.audit().kinds == {"slack": 2, "pivot": 2, "tight": 0, "degenerate": 0}


def test_menus_need_no_quantities(tmp_path):
    menus = sp.read_menus(write(tmp_path, "observation,good,price,budget\n1,tea,2,5\n1,rum,3,5\n2,rum,4,6\n"))
    assert menus.goods == ("tea", "rum")
    np.testing.assert_array_equal(menus.prices, [[2, 3], [np.inf, 4]])
    np.testing.assert_array_equal(sp.read_menus(write(tmp_path, WIDE)).prices, expected().prices)
    np.testing.assert_array_equal(sp.read_menus(write(tmp_path, LONG)).budgets, [3, 3])
    menu = sp.read_menus(write(tmp_path, PABULIB, "town.pb"))
    np.testing.assert_array_equal(menu.prices, [[60, 40, 30]])


def test_menus_follow_the_goods_of_a_fit(tmp_path):
    path = write(tmp_path, WIDE)
    menus = sp.read_menus(path, goods=["eggs", "bread", "milk"])
    np.testing.assert_array_equal(menus.prices, [[np.inf, 4, 2], [np.inf, 1.5, np.inf]])
    with pytest.raises(sp.InvalidArgument, match=r"good 'bread' is not one .*; the nearest is 'breads'"):
        sp.read_menus(path, goods=["breads", "milk"])


def test_skip_bad_leaves_out_whole_observations_and_says_how_many(tmp_path, caplog):
    path = write(tmp_path, LONG.replace("4,0.25", "four,0.25"))
    with caplog.at_level(logging.WARNING, logger="stochpref"):
        kept = sp.read_observations(path, skip_bad=True)
    assert_same(kept, expected(prices=[[np.inf, 1.5]], budgets=[3], bundles=[[0, 1]], customers=["bob"]))
    assert "left out: 1 of 2 observations" in caplog.text
    assert "row 3 (observation a): 'four'" in caplog.text


def test_a_ragged_row_spoils_its_own_observation_only(tmp_path):
    path = write(tmp_path, LONG.replace("a,bread,4,0.25,3,ann", "a,bread,4,0,25,3,ann"))
    result = scan(path)
    assert [(row.row, row.observation, row.received) for row in result.bad] == [(3, "a", "7 fields")]
    assert result.observations is not None
    assert result.observations.customers == ("bob",)


def test_row_numbers_are_lines_of_the_file(tmp_path):
    """A quoted line break and blank lines move the rows after them."""
    text = LONG.replace("a,milk", 'a,"mi\nlk"').replace("b,bread", "\n\nb,bread").replace("1.5,1,", "1.5,-1,")
    (bad,) = scan(write(tmp_path, text)).bad
    assert bad.row == 1 + text[: text.index("b,bread")].count("\n")
    assert (bad.received, bad.observation) == ("-1 for 'bread'", "b")


def test_every_fault_of_a_file_is_found_in_one_pass(tmp_path):
    text = LONG.replace("a,milk,2,", "a,milk,two,").replace("bread,4,0.25", "bread,4,o").replace("1.5,1,", "1.5,9,")
    result = scan(write(tmp_path, text))
    assert [(row.row, row.is_readable) for row in result.bad] == [(2, False), (3, False), (4, True), (4, True)]
    assert (result.n_read, result.n_bad, result.observations) == (2, 2, None)


def test_errors_carry_the_positions_of_bad_observations(tmp_path):
    with pytest.raises(sp.InvalidObservations) as caught:
        sp.read_observations(write(tmp_path, LONG.replace("1.5,1,", "1.5,9,")))
    assert caught.value.rows == (1,)


def test_what_is_written_is_plain_to_read(tmp_path):
    path = tmp_path / "out.csv"
    sp.write_observations(expected(), path)
    first, *rows = path.read_text().replace('"', "").splitlines()
    assert first == "observation,customer,good,price,quantity,budget"
    assert rows == ["1,ann,milk,2,1,3", "1,ann,bread,4,0.25,3", "2,bob,milk,,0,3", "2,bob,bread,1.5,1,3"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = write(tmp_path, "old")

    def fail(table: object, file: object) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setitem(writing._WRITERS, ".csv", fail)
    with pytest.raises(OSError, match="disk full"):
        sp.write_observations(expected(), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]
    assert path.read_text() == "old"


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from(string.punctuation + "\r\n\t "),
    min_size=1,
    max_size=6,
)
amounts = st.floats(1e-300, 1e300)


@st.composite
def market(draw: st.DrawFn) -> sp.Observations:
    goods = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    n, t = len(goods), draw(st.integers(1, 4))
    table = st.lists(st.lists(amounts, min_size=n, max_size=n), min_size=t, max_size=t)
    share = np.array(draw(st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=t, max_size=t)))
    offered = np.array(draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=t, max_size=t)))
    caps = np.array(draw(table | st.just(np.ones((t, n)).tolist())))
    bundles = np.where(offered, np.minimum(share * caps, 1e5), 0.0)
    customers = draw(st.none() | st.lists(names | st.just(""), min_size=t, max_size=t))
    prices = np.where(offered, np.array(draw(table)) / 1e10, np.inf)
    spent = np.sum(np.where(offered, prices, 0) * bundles, axis=1)
    return sp.Observations(prices, spent * 1.1, bundles, goods=goods, customers=customers, caps=caps)


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_written_is_read_back_exactly(tmp_path_factory, layout, suffix):
    path = tmp_path_factory.mktemp("trip") / f"market{suffix}"

    @settings(deadline=None, derandomize=True, max_examples=60)
    @given(market())
    def round_trip(observations: sp.Observations) -> None:
        sp.write_observations(observations, path, layout=layout)
        assert_same(sp.read_observations(path, layout=layout), observations)

    round_trip()
