# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Bad input in the tables that people have, one table: orders, workbooks, choices, keys, several files, pivots.

As in `test_readers_bad_input`: our own exception, which names row, rule, value and remedy, whether it is Python or the
command line that reads.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import stochpref as sp
from tests.test_readers_bad_input import (
    PABULIB,
    Case,
    as_arguments,
    call,
    changed,
    changed_rows,
    check_refused,
    file,
    renamed,
    without,
)

Unreadable, Invalid, Argument = sp.UnreadableData, sp.InvalidObservations, sp.InvalidArgument

ORDERS = [
    ["order_id", "sku", "qty", "unit_price", "discount", "store", "order_date", "customer_id"],
    ["7", "tea", "1", "2", "", "north", "2026-03-02", "a"],
    ["7", "cake", "2", "3", "1", "north", "2026-03-02", "a"],
    ["8", "tea", "1", "2.2", "", "south", "2026-03-03", "b"],
    ["8", "rum", "1", "4", "", "south", "2026-03-03", "b"],
    ["8", "rum", "-1", "4", "", "south", "2026-03-03", "b"],
    ["9", "rum", "1", "4", "", "south", "2026-03-09", "c"],
]
TOTALS = [[*row[:3], total, *row[5:]] for row, total in zip(ORDERS, ["line_total", *"252444"], strict=True)]
BUDGETS = [[*row[:4], budget, *row[5:]] for row, budget in zip(ORDERS, ["budget", *["99"] * 6], strict=True)]
LONG = [
    ["person", "task", "card", "price", "pick"],
    ["1", "1", "a", "1", "1"],
    ["1", "1", "b", "2", "0"],
    ["1", "2", "a", "1", "0"],
    ["1", "2", "b", "2", "1"],
]
WIDE = [["price_a", "price_b", "pick"], ["1", "2", "a"], ["2", "1", "b"], ["2", "1", "b"]]
MARKS = [["price_a", "price_b", "pick_a", "pick_b"], ["1", "2", "1", "0"], ["2", "1", "0", "1"]]
KEY: dict[str, Any] = {"columns": {"observation": "person,task", "good": "card"}, "choice": "pick"}
PIVOT = "price,,quantity,,budget\ntea,rum,tea,rum,\n1,2,1,0,3\n1,2,0,1,3\n"


def orders(name: str, row: int, column: str, value: str, error: type, *fragments: str, **options: Any) -> Case:
    """A case that is an export with one cell changed."""
    return file(f"orders-{name}", changed(ORDERS, row, column, value), error, *fragments, **({"caps": 9} | options))


def text_of(table: list[list[str]]) -> str:
    return "\n".join(",".join(row) for row in table) + "\n"


def workbook(table: list[list[Any]], **sheets: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for title, rows in ({"Sheet1": table} | sheets).items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def sheet(name: str, content: bytes, error: type, *fragments: str, **options: Any) -> Case:
    """A case that is a workbook."""
    return file(f"workbook-{name}", content, error, *fragments, called="bad.xlsx", **options)


def several(name: str, files: dict[str, str | bytes], error: type, *fragments: str, **options: Any) -> Case:
    """A case that is a folder of files."""

    def act(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = folder / "files"
        home.mkdir()
        for path, content in files.items():
            (home / path).write_bytes(content.encode() if isinstance(content, str) else content)
        return home

    return Case(f"several-{name}", act, error, fragments, options, None if "by" in options else as_arguments(options))


GOOD, GOOD_CHOICES = text_of(ORDERS), text_of(WIDE)
NUMBERS = [[float(cell) if cell.isdigit() else cell for cell in row] for row in MARKS]

ORDER_CASES = [
    orders("date-word", 3, "order_date", "soon", Unreadable, "row 3 (observation 7): 'soon'", "write dates as"),
    orders("date-impossible", 3, "order_date", "2026-02-30", Unreadable, "row 3", "'2026-02-30'", "write dates as"),
    orders("date-empty", 4, "order_date", "", Unreadable, "row 4 (observation 8): ''", "hold dates"),
    orders("date-month-13", 4, "order_date", "2026-13-01", Unreadable, "row 4", "'2026-13-01'"),
    orders("date-two-digits", 4, "order_date", "02.03.26", Unreadable, "row 4", "'02.03.26'"),
    orders("quantity-word", 2, "qty", "two", Unreadable, "row 2 (observation 7): 'two'", "give a number"),
    orders("quantity-over-cap", 3, "qty", "20", Invalid, "row 3 (observation 7): 20 for 'cake'", "its cap"),
    orders("quantity-two-commas", 3, "qty", '"1,00,0"', Unreadable, "row 3", "'1,00,0'", "decimals with a point"),
    orders("price-zero", 2, "unit_price", "0", Unreadable, "row 2 (observation 7): 0 for 1", "remove the line"),
    orders("price-negative", 2, "unit_price", "-2", Unreadable, "row 2", "-2 for 1", "must be positive"),
    orders("price-word", 2, "unit_price", "free", Unreadable, "row 2 (observation 7): 'free'"),
    file("orders-price-two-currencies",
              text_of(changed_rows(changed_rows(ORDERS, 2, "unit_price", "$2"), 3, "unit_price", "€3")),
              Unreadable, "row 2 (observation 7): '$2'", "'€3'", caps=9),
    orders("discount-word", 3, "discount", "half", Unreadable, "row 3 (observation 7): 'half'"),
    orders("discount-too-much", 3, "discount", "6", Unreadable, "row 3 (observation 7): 0 for 2", "after discounts"),
    orders("good-empty", 3, "sku", "", Unreadable, "row 3 (observation 7): an empty cell", "remove the line"),
    orders("good-only-spaces", 3, "sku", "   ", Unreadable, "row 3 (observation 7): an empty cell"),
    orders("order-empty", 3, "order_id", "", Unreadable, "row 3", "the observation of every row", "fill it in"),
    orders("customer-differs", 3, "customer_id", "z", Unreadable, "row 3 (observation 7): 'z' after 'a'"),
    file("orders-short-line", GOOD.replace("2026-03-03,b\n", "2026-03-03\n", 1), Unreadable,
         "row 4 (observation 8): 7 fields", "separator", caps=9),
    file("orders-open-quote", GOOD.replace("8,rum", '8,"rum', 1), Unreadable, "row 5", "open quote", caps=9),
    file("orders-header-only", ",".join(ORDERS[0]) + "\n", Unreadable, "no rows after its header"),
    file("orders-no-price", without("unit_price", ORDERS), Unreadable, "no column 'price'", "total=..."),
    file("orders-total-word", changed(TOTALS, 3, "line_total", "x"), Unreadable, "row 3 (observation 7): 'x'", caps=9),
    file("orders-total-zero", changed(TOTALS, 3, "line_total", "0"), Unreadable, "row 3 (observation 7): 0 for 2",
         caps=9),
    file("orders-slashes", GOOD.replace("2026-03-0", "03/04/202"), Unreadable, "day or month", "write dates as",
         caps=9),
    file("orders-no-such-date", GOOD, Unreadable, "no column 'when' for the date", columns={"date": "when"}, caps=9),
    file("orders-no-such-key", GOOD, Argument, "fill_prices must name columns", "'shop'", fill_prices="shop", caps=9),
    file("orders-week-without-date", without("order_date", ORDERS), Unreadable, "fill_prices='week'", "(--column date",
         fill_prices="week", caps=9),
    file("orders-negative-days", GOOD, Argument, "fill_within", "zero or more", "-1", fill_within=-1.0, caps=9),
    file("orders-budget-differs", changed(BUDGETS, 3, "budget", "8"), Unreadable, "row 3 (observation 7): 8 after 99",
         "same budget", layout="orders", caps=9),
    file("orders-budget-overspent", text_of([[cell.replace("99", "2") for cell in row] for row in BUDGETS]), Invalid,
         "row 2 (observation 7): cost 8 against a budget of 2", layout="orders", caps=9),
    file("orders-all-brought-back", text_of([ORDERS[0], *ORDERS[4:6]]), Unreadable, "nothing is left of any order",
         "--column quantity=", caps=9),
    file("orders-packed-badly", gzip.compress(GOOD.encode())[:-9], Unreadable, "gzip", "compress it again",
         called="bad.csv.gz"),
]  # fmt: skip

WORKBOOK_CASES = [
    sheet("no-such-sheet", workbook(MARKS, May=MARKS), Unreadable, "no sheet 'Mai'", "nearest is 'May'", sheet="Mai"),
    sheet("empty-sheet", workbook([]), Unreadable, "sheet 'Sheet1' is empty", "name the columns"),
    sheet("header-only", workbook(MARKS[:1]), Unreadable, "no rows after its header"),
    sheet("text-for-a-number", workbook([*NUMBERS, ["x", 1, 1, 0]]), Unreadable, "row 4: 'x'", "give a number",
          choice="pick"),
    sheet("empty-lines-count", workbook([NUMBERS[0], [], NUMBERS[1], [], [1, "x", 1, 0]]), Unreadable, "row 5: 'x'",
          choice="pick"),
    sheet("price-zero", workbook([*NUMBERS, [0, 1, 1, 0]]), Invalid, "row 4: 0 for 'a'", "must be positive",
          choice="pick"),
    sheet("damaged", workbook(MARKS)[:600], Unreadable, "not a complete workbook", "save it again"),
    file("sheet-of-a-csv", GOOD, Argument, "sheet names a sheet of a workbook", "leave it out", sheet="May"),
]  # fmt: skip

CHOICE_CASES = [
    file("choice-mistyped", changed(WIDE, 3, "pick", "c"), Unreadable, "row 3: 'c'", "must name a good", choice="pick"),
    file("choice-number-too-high", text_of([WIDE[0], ["1", "2", "1"], ["1", "2", "3"]]), Unreadable, "row 3: '3'",
         "add columns", choice="pick"),
    file("choice-empty", changed(WIDE, 3, "pick", ""), Invalid, "row 3: 0 chosen", "outside=True", choice="pick"),
    file("choice-not-offered", changed(WIDE, 3, "price_b", ""), Invalid, "row 3: 1 for 'b'", "its price",
         choice="pick"),
    file("choice-no-column", GOOD_CHOICES, Unreadable, "no column 'pik'", "nearest is 'pick'", choice="pik"),
    file("choice-and-quantity", GOOD_CHOICES, Argument, "in place of one of quantities", choice="pick",
         columns={"quantity": "pick"}),
    file("choice-marks-two", changed(MARKS, 3, "pick_a", "1"), Invalid, "row 3: 2 chosen", choice="pick"),
    file("choice-marks-none", changed(MARKS, 3, "pick_b", "0"), Invalid, "row 3: 0 chosen", choice="pick"),
    file("choice-marks-word", changed(MARKS, 3, "pick_b", "maybe"), Unreadable, "row 3: 'maybe'", "write 1",
         choice="pick"),
    file("choice-marks-missing-good", without("pick_b", MARKS), Unreadable, "'b' has no column", "add it",
         choice="pick_"),
    file("choice-long-two", changed(LONG, 3, "pick", "1"), Invalid, "(observation 1,1): 2 chosen", **KEY),
    file("choice-long-none", changed(LONG, 5, "pick", "0"), Invalid, "row 4 (observation 1,2): 0 chosen", **KEY),
    file("choice-long-word", changed(LONG, 5, "pick", "maybe"), Unreadable, "row 5 (observation 1,2): 'maybe'", **KEY),
    file("choice-of-votes", PABULIB, Argument, "do not apply to a .pb file", called="bad.pb", choice="pick"),
    file("choice-of-orders", GOOD, Argument, "choice is for tables of menus", choice="pick", layout="orders"),
    file("choice-with-spent", GOOD_CHOICES, Argument, "budget must be left out", choice="pick", budget="spent"),
]  # fmt: skip

KEY_CASES = [
    file("key-part-missing", text_of(LONG), Unreadable, "no column 'tsk'", "nearest is 'task'",
         **(KEY | {"columns": {"observation": "person,tsk", "good": "card"}})),
    file("key-part-empty", changed(LONG, 3, "task", ""), Unreadable, "row 3", "'person' and 'task'", "fill it in",
         **KEY),
    file("key-too-short", text_of(LONG), Unreadable, "row 4 (observation 1)", "a good once", "tells them apart",
         **(KEY | {"columns": {"observation": "person", "good": "card"}})),
    file("key-ends-in-a-comma", text_of(LONG), Unreadable, "no column 'person,'",
         **(KEY | {"columns": {"observation": "person,", "good": "card"}})),
    call("key-of-a-price", pd.DataFrame, Argument, "columns['price'] must be one column",
         columns={"price": ["a", "b"]}),
    call("key-of-nothing", pd.DataFrame, Argument, "names of columns, one or more",
         columns={"observation": []}),
    call("key-of-numbers", pd.DataFrame, Argument, "names of columns", columns={"observation": [1, 2]}),
]  # fmt: skip

SEVERAL_CASES = [
    several("bad-row", {"a.csv": GOOD_CHOICES, "b.csv": changed(WIDE, 3, "price_a", "-1")}, Invalid,
            "b.csv, row 3: -1 for 'a'", "must be positive", choice="pick"),
    several("bad-cell", {"a.csv": GOOD_CHOICES, "b.csv": changed(WIDE, 3, "price_a", "x")}, Unreadable,
            "b.csv, row 3: 'x'", "give a number", choice="pick"),
    several("no-table", {"a.csv": GOOD_CHOICES, "b.csv": "dear sir\n"}, Unreadable, "b.csv", "no rows", choice="pick"),
    several("another-column", {"a.csv": GOOD_CHOICES, "b.csv": renamed(WIDE, "pick", "pikc")}, Unreadable,
            "b.csv: no column 'pick'", "nearest is 'pikc'", choice="pick"),
    several("nothing", {"README.txt": "x"}, Unreadable, "holds no file to read", "name another"),
    several("projects-differ", {"a.pb": PABULIB, "b.pb": PABULIB.replace("60", "50")}, Argument, "'7'", "--by file"),
    several("votes-and-columns", {"a.csv": GOOD_CHOICES, "b.pb": PABULIB}, Argument, "do not apply to a .pb file",
            choice="pick"),
    several("group-missing", {"a.csv": GOOD}, Unreadable, "no column 'shop' to group by", by="shop", caps=9),
    several("group-differs", {"a.csv": changed(ORDERS, 3, "store", "south")}, Unreadable,
            "row 3 (observation 7): 'south' after 'north'", "same group", by="store", caps=9),
    several("group-empty", {"a.csv": changed(ORDERS, 3, "store", "")}, Unreadable,
         "row 3 (observation 7): an empty cell",
            "fill it in", by="store", caps=9),
    call("several-none", list, Argument, "an empty list", "name one"),
]  # fmt: skip

PIVOT_CASES = [
    file("pivot-cell", PIVOT.replace("0,1,3", "0,x,3"), Unreadable, "row 4: 'x'", "quantity_rum"),
    file("pivot-overspent", PIVOT.replace("0,1,3", "1,1,2"), Invalid, "row 4: cost 3 against a budget of 2"),
    file("pivot-empty-row", PIVOT.replace("0,1,3", "0,0,3"), Invalid, "row 4: nothing bought", "must not be empty",
         nonempty=True),
    call("nonempty-in-words", pd.DataFrame, Argument, "nonempty must be True, False, or None", nonempty="yes"),
    file("pivot-no-lines", "\n".join(PIVOT.split("\n")[:2]) + "\n", Unreadable, "bad.csv"),
    file("thousands-in-doubt", text_of(changed_rows(MARKS, 2, "price_a", '"1,200"')), Unreadable, "row 2: '1,200'",
         "thousands without a mark", choice="pick"),
    file("windows-text", GOOD_CHOICES.replace("b", "\x81").encode("latin-1"), Unreadable, "row 1", "save it as"),
]  # fmt: skip

CASES = [*ORDER_CASES, *WORKBOOK_CASES, *CHOICE_CASES, *KEY_CASES, *SEVERAL_CASES, *PIVOT_CASES]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bad_exports(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_refused(case, tmp_path, monkeypatch)


def test_there_are_many_cases_and_each_has_its_name() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_what_the_cases_are_made_of_is_good(tmp_path: Path) -> None:
    """Or they would be refused for another reason."""
    for k, (text, options) in enumerate(
        [
            (GOOD, {"caps": 9}),
            (text_of(TOTALS), {"caps": 9}),
            (text_of(LONG), KEY),
            (GOOD_CHOICES, {"choice": "pick"}),
            (text_of(MARKS), {"choice": "pick"}),
            (PIVOT, {}),
        ]
    ):
        (tmp_path / f"{k}.csv").write_text(text)
        assert len(sp.read_observations(tmp_path / f"{k}.csv", **options)) > 1
    (tmp_path / "book.xlsx").write_bytes(workbook(NUMBERS))
    assert len(sp.read_observations(tmp_path / "book.xlsx", choice="pick")) == 2
