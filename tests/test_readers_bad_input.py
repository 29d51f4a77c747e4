# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Bad input, one table: each case gets our own exception with argument or row, rule, value and remedy.

Cases that are files also go through ``stochpref check``, which must exit with 2 and never show a traceback.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app

LONG = [
    ["observation", "good", "price", "quantity", "budget"],
    ["1", "milk", "2", "1", "3"],
    ["1", "bread", "4", "0", "3"],
    ["2", "milk", "2", "1", "3"],
    ["2", "bread", "1", "1", "3"],
]
WIDE = [
    ["budget", "price_milk", "price_bread", "quantity_milk", "quantity_bread"],
    ["3", "2", "4", "1", "0"],
    ["3", "2", "1", "1", "1"],
]
PABULIB = """META
key;value
budget;100
vote_type;approval
PROJECTS
project_id;cost
7;60
9;40
VOTES
voter_id;vote
v1;7,9
v2;7
"""


@dataclass(frozen=True)
class Case:
    """One piece of bad input.

    act : (folder, monkeypatch) -> a source to read, or raises by itself.
    error : the exception expected. fragments : what its message must say.
    options : of read_observations. arguments : the same for the command line, None if there is no such way in.
    """

    name: str
    act: Callable[[Path, pytest.MonkeyPatch], Any]
    error: type[sp.StochprefError]
    fragments: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] | None = None


def file(
    name: str, content: str | bytes, error: type, *fragments: str, called: str = "bad.csv", **options: Any
) -> Case:
    """A case that is the content of a file."""

    def act(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = folder / called
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return Case(name, act, error, (called, *fragments), options, as_arguments(options))


def as_arguments(options: dict[str, Any]) -> tuple[str, ...] | None:
    arguments: list[str] = []
    for option, value in options.items():
        if option == "columns":
            arguments += [word for ours, yours in value.items() for word in ("--column", f"{ours}={yours}")]
        elif option == "caps" and isinstance(value, list):
            return None
        elif value is True:
            arguments.append(f"--{option}")
        else:
            arguments += ["--cap" if option == "caps" else f"--{option.replace('_', '-')}", str(value)]
    return tuple(arguments)


def changed(table: list[list[str]], row: int, column: str, value: str) -> str:
    """A table as CSV with one cell changed; rows are counted as in the file, the header is row 1."""
    return "\n".join(",".join(cells) for cells in changed_rows(table, row, column, value)) + "\n"


def changed_rows(table: list[list[str]], row: int, column: str, value: str) -> list[list[str]]:
    rows = [list(cells) for cells in table]
    rows[row - 1][table[0].index(column)] = value
    return rows


def without(column: str, table: list[list[str]] = LONG) -> str:
    position = table[0].index(column)
    return "\n".join(",".join(cells[:position] + cells[position + 1 :]) for cells in table)


def renamed(table: list[list[str]], column: str, name: str) -> str:
    return changed(table, 1, column, name)


def call(name: str, function: Callable[[], Any], error: type, *fragments: str, **options: Any) -> Case:
    """A case that is a call, or a data frame to read."""
    return Case(name, lambda folder, monkeypatch: function(), error, fragments, options)


def parquet_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: [row[i] for row in LONG[1:]] for i, name in enumerate(LONG[0])}), sink)
    return sink.getvalue().to_pybytes()


def long_frame(**columns: Any) -> pd.DataFrame:
    data = {name: [row[i] for row in LONG[1:]] for i, name in enumerate(LONG[0])}
    return pd.DataFrame(data | columns)


def forbidden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "secret.csv"
    path.write_text(changed(LONG, 1, "good", "good"))
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything, so the refusal has to be acted

        def refuse(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "read_bytes", refuse)
    return path


def neighbour(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "purchases.csv").write_text("x")
    return folder / "purchase.csv"


def directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "shop.csv").mkdir()
    return folder / "shop.csv"


Unreadable, Invalid, Argument = sp.UnreadableData, sp.InvalidObservations, sp.InvalidArgument
ONES = np.ones((2, 3))
GOOD_LONG = changed(LONG, 1, "good", "good")

ARRAY_CASES = [
    call("prices-1d", lambda: sp.Observations([1, 2], [1], [[1, 0]]), Argument, "prices", "shape", "(2,)"),
    call("budgets-2d", lambda: sp.Observations(ONES, ONES, ONES), Argument, "budgets", "shape", "(2, 3)"),
    call("bundles-shape", lambda: sp.Observations(ONES, [9, 9], np.ones((3, 2))), Argument, "bundles", "(3, 2)"),
    call("budgets-length", lambda: sp.Observations(ONES, [9, 9, 9], ONES), Argument, "budgets", "2", "3"),
    call("caps-shape", lambda: sp.Observations(ONES, [9, 9], ONES, caps=[1, 1]), Argument, "caps"),
    call("goods-length", lambda: sp.Observations(ONES, [9, 9], ONES, goods=["a"]), Argument, "goods", "3", "1"),
    call("goods-twice", lambda: sp.Observations(ONES, [9, 9], ONES, goods=list("aab")), Argument, "goods", "'a'"),
    call("customers-length", lambda: sp.Observations(ONES, [9, 9], ONES, customers=["a"]), Argument, "customers"),
    call("prices-text", lambda: sp.Observations([["a", "b"]], [1], [[0, 0]]), Argument, "prices", "numbers"),
    call("prices-ragged", lambda: sp.Menus([[1, 2], [1]], [1, 1]), Argument, "prices", "rectangular"),
    call("prices-complex", lambda: sp.Menus(np.array([[1j, 2]]), [1]), Argument, "prices", "complex"),
    call("no-observations", lambda: sp.Menus(np.ones((0, 3)), []), Argument, "prices", "(0, 3)"),
    call("no-goods", lambda: sp.Menus(np.ones((2, 0)), [1, 1]), Argument, "prices", "(2, 0)"),
    call("menu-zero-price", lambda: sp.Menus([[0.0, 1]], [1]), Invalid, "prices", "positive", "0 for good 0"),
    call("menu-cap-zero", lambda: sp.Menus([[1, 1]], [1], caps=0), Invalid, "caps", "positive", "0"),
]

VALUE_CASES = [
    case
    for table, row, price, quantity, budget in (
        (LONG, 5, "price", "quantity", "budget"),
        (WIDE, 3, "price_bread", "quantity_bread", "budget"),
    )
    for kind in ("long" if table is LONG else "wide",)
    for label in (" (observation 2)" if table is LONG else "",)
    for case in (
        file(f"{kind}-price-zero", changed(table, row, price, "0"), Invalid,
             f"row {row}{label}: 0 for 'bread'", "a price must be positive"),
        file(f"{kind}-price-negative", changed(table, row, price, "-1"), Invalid, f"row {row}{label}: -1 for 'bread'"),
        file(f"{kind}-price-minus-inf", changed(table, row, price, "-inf"), Invalid,
             f"row {row}{label}: -inf for 'bread'"),
        file(f"{kind}-price-missing-but-bought", changed(table, row, price, ""), Invalid,
             f"row {row}{label}: 1 for 'bread'", "not on offer"),
        file(f"{kind}-price-nan-but-bought", changed(table, row, price, "nan"), Invalid, f"row {row}", "not on offer"),
        file(f"{kind}-price-inf-but-bought", changed(table, row, price, "inf"), Invalid, f"row {row}", "not on offer"),
        file(f"{kind}-price-text", changed(table, row, price, "cheap"), Unreadable,
             f"row {row}{label}: 'cheap'", f"column '{price}' must hold numbers"),
        file(f"{kind}-price-underscore", changed(table, row, price, "1_0"), Unreadable, f"row {row}{label}: '1_0'"),
        file(f"{kind}-price-decimal-comma", changed(table, row, price, '"1,5"'), Unreadable,
             f"row {row}{label}: '1,5'", "decimals with a point"),
        file(f"{kind}-price-currency", changed(table, row, price, "£1 a kilo"), Unreadable,
             f"row {row}{label}: '£1 a kilo'"),
        file(f"{kind}-quantity-negative", changed(table, row, quantity, "-0.5"), Invalid,
             f"row {row}{label}: -0.5 for 'bread'", "must not be negative"),
        file(f"{kind}-quantity-over-cap", changed(table, row, quantity, "1.001"), Invalid,
             f"row {row}{label}: 1.001 for 'bread'", "must not exceed its cap"),
        file(f"{kind}-quantity-nan", changed(table, row, quantity, "NaN"), Invalid,
             f"row {row}{label}: nan for 'bread'", "finite number"),
        file(f"{kind}-quantity-inf", changed(table, row, quantity, "inf"), Invalid,
             f"row {row}{label}: inf for 'bread'"),
        file(f"{kind}-quantity-empty", changed(table, row, quantity, ""), Invalid,
             f"row {row}{label}: nan for 'bread'"),
        file(f"{kind}-quantity-text", changed(table, row, quantity, "one"), Unreadable, f"row {row}{label}: 'one'"),
        file(f"{kind}-overspent", changed(table, row, price, "1.5"), Invalid,
             label, "cost 3.5 against a budget of 3", "must not cost more"),
        file(f"{kind}-budget-text", changed(table, row, budget, "3 or 4"), Unreadable, f"row {row}{label}: '3 or 4'"),
        file(f"{kind}-two-currencies", changed(changed_rows(table, row, price, "€2"), row - 1, price, "$1"), Unreadable,
             f"row {row}{label}: '€2'", "'$1'"),
        file(f"{kind}-one-comma", changed(table, row, price, '"1,500"'), Unreadable, f"row {row}{label}: '1,500'"),
        file(f"{kind}-groups-of-two", changed(table, row, price, '"1,50,000"'), Unreadable,
             f"row {row}{label}: '1,50,000'"),
        file(f"{kind}-two-points", changed(table, row, price, "1.5.0"), Unreadable, f"row {row}{label}: '1.5.0'"),
        file(f"{kind}-space-in-a-number", changed(table, row, price, "1 50"), Unreadable, f"row {row}{label}: '1 50'"),
        file(f"{kind}-only-a-sign", changed(table, row, price, "$"), Unreadable, f"row {row}{label}: '$'"),
        file(f"{kind}-price-column-missing", without(price, table), Unreadable, "no column", "price"),
        file(f"{kind}-column-twice", renamed(table, price, budget), Unreadable, "price" if table is WIDE else "budget"),
    )
]  # fmt: skip

LONG_CASES = [
    file("budget-nan-in-one-row", changed(LONG, 5, "budget", "nan"), Unreadable, "row 5", "nan after 3", "must agree"),
    file("budget-differs", changed(LONG, 5, "budget", "4"), Unreadable, "row 5 (observation 2): 4 after 3"),
    file("budget-inf", changed(LONG, 5, "budget", "inf"), Unreadable, "row 5", "inf after 3"),
    file("customer-differs", "observation,good,price,quantity,budget,customer\n1,a,1,1,3,ann\n1,b,1,1,3,bob\n",
         Unreadable, "row 3 (observation 1): 'bob' after 'ann'"),
    file("pair-twice", changed(LONG, 5, "good", "milk"), Unreadable, "row 5 (observation 2)", "a good once", "remove"),
    file("observation-empty", changed(LONG, 3, "observation", ""), Unreadable, "row 3", "'observation'", "fill it in"),
    file("good-empty", changed(LONG, 3, "good", ""), Unreadable, "row 3 (observation 1): an empty cell"),
    file("mistyped-quantity", renamed(LONG, "quantity", "quantty"), Unreadable, "'quantity'", "nearest is 'quantty'"),
    file("mistyped-good", renamed(LONG, "good", "Godo"), Unreadable, "neither long", "nearest is 'Godo'", "columns"),
    file("good-by-another-word", renamed(LONG, "good", "Product"), Unreadable, "(--column good=Product)?"),
    file("quantity-by-another-word", renamed(LONG, "quantity", "qty"), Unreadable, "(--column quantity=qty)?"),
    file("no-budget", without("budget"), Unreadable, "no column 'budget'", "budget='spent'"),
    file("no-observation", without("observation"), Unreadable, "no column 'observation'"),
    file("mapped-column-missing", GOOD_LONG, Unreadable, "no column 'prise'", "nearest is 'price'",
         columns={"price": "prise"}),
    file("short-row", GOOD_LONG.replace("1,bread,4,0,3", "1,bread,4"), Unreadable, "row 3 (observation 1): 3 fields"),
    file("long-row", GOOD_LONG.replace("1,bread,4,0,3", "1,bread,4,0,3,9"), Unreadable,
         "row 3", "6 fields", "separator"),
    file("open-quote", GOOD_LONG.replace("1,bread", '1,"bread'), Unreadable, "row 3", "open quote"),
    file("cap-zero", "observation,good,price,quantity,budget,cap\n1,a,1,0,3,0\n", Invalid,
         "row 2", "cap must be positive"),
    file("cap-text", "observation,good,price,quantity,budget,cap\n1,a,1,0,3,x\n", Unreadable,
         "row 2 (observation 1): 'x'"),
    file("cost-overflows", "observation,good,price,quantity,budget\n1,a,1e308,1,1e308\n1,b,1e308,1,1e308\n",
         Invalid, "row 2 (observation 1)", "cost inf"),
]  # fmt: skip

WIDE_CASES = [
    file("wide-budget-nan", changed(WIDE, 3, "budget", "nan"), Invalid, "row 3: nan", "a budget must be"),
    file("wide-budget-negative", changed(WIDE, 3, "budget", "-3"), Invalid, "row 3: -3", "zero or more"),
    file("wide-budget-inf", changed(WIDE, 3, "budget", "inf"), Invalid, "row 3: inf", "finite"),
    file("wide-quantity-column-missing", without("quantity_milk", WIDE), Unreadable,
         "'milk' has no column", "quantity"),
    file("wide-unknown-prefix", changed(WIDE, 1, "budget", "budget"), Unreadable, "no column 'units'", "quantity",
         columns={"quantity": "units"}),
    file("wide-no-quantities", "budget,price_a\n1,1\n", Unreadable, "quantity_<good>", "quantity='*'"),
    file("wide-observation-twice", "observation,budget,price_a,quantity_a\nx,1,1,1\nx,1,1,1\n", Unreadable,
         "row 3 (observation x): 'x'", "one row"),
    file("wide-short-row", "budget,price_a,quantity_a\n1,1,1\n1,1\n", Unreadable, "row 3: 2 fields"),
    file("layout-long-on-wide", changed(WIDE, 1, "budget", "budget"), Unreadable,
         "no column 'observation'", layout="long"),
    file("star-takes-text", "date,a\n2001-02-03,1\n", Unreadable, "row 2: '2001-02-03'", "'date'",
         columns={"quantity": "*", "price": 1}, budget="spent"),
]  # fmt: skip

BYTE_CASES = [
    file("empty-file", b"", Unreadable, "empty", "name the columns"),
    file("only-newlines", b"\n\n\r\n", Unreadable, "empty"),
    file("header-only", ",".join(LONG[0]) + "\n", Unreadable, "no rows"),
    file("latin-1", GOOD_LONG.replace("milk", "caf\x81").encode("latin-1"), Unreadable, "row 2", "0x81", "UTF-8"),
    file("utf-16", GOOD_LONG.encode("utf-16"), Unreadable, "UTF-16", "save it as"),
    file("binary", bytes(range(256)) * 4, Unreadable, "zero byte at byte 0", "export"),
    file("no-table", "dear sir,\nplease find attached\n", Unreadable, "neither long", "'dear sir'"),
    file("truncated-gzip", gzip.compress(GOOD_LONG.encode() * 99)[:-20], Unreadable, "gzip", called="bad.csv.gz"),
    file("not-gzip", GOOD_LONG, Unreadable, "gzip", called="bad.csv.gz"),
    file("truncated-parquet", parquet_bytes()[:-30], Unreadable, "Parquet", "copy it again", called="bad.parquet"),
    file("half-a-parquet", parquet_bytes()[:200], Unreadable, "Parquet", called="bad.parquet"),
    file("damaged-parquet", parquet_bytes()[:4] + b"\xff" * 120 + parquet_bytes()[124:], Unreadable, "cannot be read",
         called="bad.parquet"),
    file("text-as-parquet", GOOD_LONG, Unreadable, "Parquet", called="bad.parquet"),
    file("spreadsheet", b"PK\x03\x04", Unreadable, "not a complete workbook", "save it again", called="bad.xlsx"),
    file("old-spreadsheet", b"\xd0\xcf\x11\xe0", Unreadable, "'.xls'", "nearest is '.xlsx'", called="bad.xls"),
    file("no-suffix", GOOD_LONG, Unreadable, "no suffix", ".csv", called="bad"),
    file("mistyped-suffix", GOOD_LONG, Unreadable, "nearest is '.parquet'", called="bad.parqet"),
]  # fmt: skip

PATH_CASES = [
    Case("no-such-file", neighbour, Unreadable, ("purchase.csv", "no such file", "purchases.csv"), {}, ()),
    Case("directory", directory, Unreadable, ("shop.csv", "is a directory"), {}, ()),
    Case("no-permission", forbidden, Unreadable, ("secret.csv", "may not be read", "permissions"), {}, ()),
    Case("zero-byte-in-name", lambda *_: "a\0b.csv", Unreadable, ("cannot be read", "check the name")),
    Case("name-too-long", lambda *_: "a" * 5000 + ".csv", Unreadable, ("cannot be read",), {}, ()),
]

PABULIB_CASES = [
    file("pb-no-sections", "hello\nworld\n", Unreadable, "row 1", "META", "'hello'", called="bad.pb"),
    file("pb-empty", "", Unreadable, "no section META", called="bad.pb"),
    file("pb-no-votes", PABULIB.split("VOTES", maxsplit=1)[0], Unreadable, "no section VOTES", called="bad.pb"),
    file("pb-votes-empty", PABULIB.split("v1", maxsplit=1)[0], Unreadable, "no rows", called="bad.pb"),
    file("pb-no-budget", PABULIB.replace("budget", "budgte"), Unreadable, "no budget", "'budgte'", called="bad.pb"),
    file("pb-budget-text", PABULIB.replace("100", "1.000,00"), Unreadable, "row 3", "'1.000,00'", called="bad.pb"),
    file("pb-cost-text", PABULIB.replace("60", "sixty"), Unreadable, "row 7", "project 7", "'sixty'", called="bad.pb"),
    file("pb-cost-zero", PABULIB.replace("60", "0"), Invalid, "row 11 (observation v1): 0 for '7'", called="bad.pb"),
    file("pb-no-cost", PABULIB.replace("cost", "price"), Unreadable, "PROJECTS", "'cost'", called="bad.pb"),
    file("pb-project-twice", PABULIB.replace("9;40", "7;40"), Unreadable, "row 8", "id of its own", called="bad.pb"),
    file(
        "pb-unknown-project", PABULIB.replace("7,9", "7,8"), Unreadable, "row 11 (observation v1): '8'", called="bad.pb"
    ),
    file(
        "pb-project-twice-in-vote", PABULIB.replace("7,9", "7,7"), Unreadable, "row 11", "'7'", "once", called="bad.pb"
    ),
    file("pb-overspent", PABULIB.replace("100", "90"), Invalid, "row 11 (observation v1): cost 100", called="bad.pb"),
    file("pb-short-vote", PABULIB.replace("v2;7", "v2"), Unreadable, "row 12", "1 fields", called="bad.pb"),
    file("pb-points", PABULIB.replace("approval", "cumulative"), Unreadable, "row 4", "cumulative", called="bad.pb"),
    file("pb-binary", bytes(range(256)), Unreadable, "zero byte", called="bad.pb"),
    file("pb-with-columns", PABULIB, Argument, columns={"price": 1.0}, called="bad.pb"),
]

OPTION_CASES = [
    file("unknown-role", GOOD_LONG, Argument, "nearest is 'price'", columns={"prize": "price"}),
    file("caps-zero", GOOD_LONG, Argument, "caps must be positive", "0", caps=0.0),
    file("caps-nan", GOOD_LONG, Argument, "caps must be positive", "nan", caps=float("nan")),
    file("caps-too-many", GOOD_LONG, Argument, "one number per good, 2", caps=[1.0, 2.0, 3.0]),
    call("unknown-layout", lambda: "x.csv", Argument, "layout", "'lnog'", "nearest is 'long'", layout="lnog"),
    call("unknown-budget", lambda: "x.csv", Argument, "budget", "'spend'", "nearest is 'spent'", budget="spend"),
    call("columns-a-list", lambda: "x.csv", Argument, "columns", "list", columns=["price"]),
    call("column-none", lambda: "x.csv", Argument, "columns['price']", "None", columns={"price": None}),
    call("good-constant", lambda: "x.csv", Argument, "columns['good']", "1.0", columns={"good": 1.0}),
    call("budget-constant-negative", long_frame, Invalid, "row 0", "-1", columns={"budget": -1}),
    call("source-none", lambda: 3.5, Argument, "source", "float"),
    call("source-list", lambda: [[1, 2]], Argument, "source", "list"),
    call("source-array", lambda: ONES, Argument, "source", "ndarray"),
    call("source-series", lambda: pd.Series([1.0]), Argument, "source", "Series"),
    call("source-bytes", lambda: b"a.csv", Argument, "source", "bytes"),
]

FRAME_CASES = [
    call("frame-empty", pd.DataFrame, Unreadable, "data frame", "no rows"),
    call("frame-no-rows", lambda: long_frame().iloc[:0], Unreadable, "data frame", "no rows"),
    call("frame-mixed-types", lambda: long_frame(price=[2, 4, "two", 1]), Unreadable, "row 2 (observation 2): 'two'",
         "counted from 0"),
    call("frame-dates", lambda: long_frame(price=pd.to_datetime(["2001-01-01"] * 4)), Unreadable, "'price'", "numbers"),
    call("frame-lists", lambda: pl.DataFrame({"good": [["a"]], "observation": [1]}), Unreadable, "no column 'price'"),
    call("frame-list-labels", lambda: pl.DataFrame({n: [["a"]] for n in LONG[0]}), Unreadable, "must hold labels"),
    call("frame-bytes", lambda: long_frame(quantity=[b"\xff", b"1", b"1", b"1"]), Unreadable, "quantity"),
    call("frame-overspent", lambda: long_frame(price=[5, 4, 2, 1]), Invalid, "row 0 (observation 1): cost 5"),
    call("frame-same-name-twice", lambda: pd.DataFrame(ONES, columns=["good", "good", "x"]), Unreadable, "data frame"),
]  # fmt: skip

CASES = [
    *ARRAY_CASES, *VALUE_CASES, *LONG_CASES, *WIDE_CASES, *BYTE_CASES, *PATH_CASES, *PABULIB_CASES, *OPTION_CASES,
    *FRAME_CASES,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bad_input(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_refused(case, tmp_path, monkeypatch)


def check_refused(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a case is refused as it should be, from Python and from the command line."""
    source = None

    def attempt() -> None:
        nonlocal source
        source = case.act(tmp_path, monkeypatch)
        sp.read_observations(source, **case.options)

    with pytest.raises(case.error) as caught:
        attempt()
    assert type(caught.value) is case.error
    message = str(caught.value)
    fragments = [text for text in case.fragments if case.error is not Argument or not text.startswith("bad.")]
    assert [text for text in fragments if text not in message] == [], message
    if case.arguments is None:
        return
    shown = CliRunner().invoke(app, ["check", str(source), *case.arguments])
    assert shown.exit_code == 2, shown.output
    assert isinstance(shown.exception, SystemExit)
    assert shown.stderr.startswith("error: ")
    assert "Traceback" not in shown.output


def test_there_are_many_cases_and_each_has_its_name() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_menus_are_refused_by_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "menus.csv"
    path.write_text("observation,good,price,budget\n1,a,-1,3\n")
    with pytest.raises(sp.InvalidObservations, match=r"row 2 \(observation 1\): -1 for 'a'"):
        sp.read_menus(path)
    path.write_text("observation,good,price,budget\n1,a,x,3\n")
    with pytest.raises(sp.UnreadableData, match=r"row 2 \(observation 1\): 'x'"):
        sp.read_menus(path)


@pytest.mark.parametrize(
    ("path", "options", "fragments"),
    [
        ("out.xlsx", {}, ("suffix", "'.xlsx'", ".csv")),
        ("out.csv", {"layout": "lon"}, ("layout", "nearest is 'long'")),
    ],
)
def test_writing_is_refused(path: str, options: dict[str, str], fragments: tuple[str, ...], tmp_path: Path) -> None:
    observations = sp.Observations(ONES, [9, 9], ONES)
    with pytest.raises(sp.InvalidArgument) as caught:
        sp.write_observations(observations, tmp_path / path, **options)
    assert all(fragment in str(caught.value) for fragment in fragments)
    assert list(tmp_path.iterdir()) == []


def test_names_that_text_cannot_hold_are_not_written(tmp_path: Path) -> None:
    for goods in (["", "b", "c"], ["a\0", "b", "c"]):
        with pytest.raises(sp.InvalidArgument, match="name"):
            sp.write_observations(sp.Observations(ONES, [9, 9], ONES, goods=goods), tmp_path / "out.csv")
    with pytest.raises(sp.InvalidArgument, match="observations must be Observations; received list"):
        sp.write_observations([1], tmp_path / "out.csv")  # type: ignore[arg-type]


def test_half_characters_are_refused_before_anything_is_learned() -> None:
    rows = {"observation": ["1", "1"], "good": ["tea", "b\udcff"], "price": [1.0, 2.0], "quantity": [1.0, 0.0]}
    long = pd.DataFrame(rows, dtype=object).assign(budget=3.0)
    with pytest.raises(sp.UnreadableData, match=r"column 'good' holds half a character.*read the text again"):
        sp.read_observations(long)
    columns = ["budget", "price_tea", "quantity_tea", "price_b\udcff", "quantity_b\udcff"]
    wide = pd.DataFrame(np.ones((2, 5)), columns=pd.Index(columns, dtype=object))
    with pytest.raises(sp.InvalidArgument, match=r"goods must be whole characters.*received 'b\\udcff'"):
        sp.read_observations(wide, budget="spent", columns={"budget": "budget"})
    with pytest.raises(sp.InvalidArgument, match="goods must be whole characters"):
        sp.read_menus(wide)
    with pytest.raises(sp.InvalidArgument, match="goods must be whole characters"):
        sp.read_menus(wide[columns[:2]], goods=["tea", "b\udcff"])
    text = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 4], np.int32)), pa.py_buffer(b"a\xed\xb3\xbf")
    )  # Arrow looks at no byte
    arrow = pa.table(rows | {"good": text, "budget": [3.0, 3.0]})
    with pytest.raises(sp.UnreadableData, match="column 'good' cannot be read: Invalid"):
        sp.read_observations(arrow)
