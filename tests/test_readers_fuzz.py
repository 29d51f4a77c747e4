# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Fuzzing the readers: whatever the bytes or the data frame, only our own exceptions come out."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stochpref as sp

LONG = b"""observation,good,price,quantity,budget,customer,cap
1,milk,2.5,1,3,ann,1
1,bread,4,0,3,ann,
2,milk,,0,3,"b,ob",2
2,"br""ead",1e0,1.5,3,"b,ob",2
"""
WIDE = b"""budget;price_milk;price_bread;quantity_milk;quantity_bread;observation
3;2;4;1;0.25;a
3;;1.5;;1;b
"""
PABULIB = b"""META
key;value
budget;100
vote_type;approval
PROJECTS
project_id;cost;name
7;60;"Park; large"
9;40;Pool
VOTES
voter_id;vote;age
v1;7,9;30
v2;;31
"""
ORDERS = b"""order_id;sku;qty;unit_price;discount;store;order_date;customer_id
7;tea;1;2,5;;north;2026-03-02;a
7; cake ;2;3;1;north;2026-03-02;a
8;tea;1;"1.002,5";;south;03.03.2026;b
8;rum;-1;4;;south;2026-03-03 10:00;b
"""
CHOICES = b"""person,task,card,price,pick
1,1,"a,b",1.5,yes
1,1,c ,2,no
1,2,"a,b",1.5,
1,2,c,$2,1
"""
PICKS = b"""price_a,price_b,pick,town
1,2,a,x
2,1,b,"y,z"
2,,a,x
"""
PIVOT = b"""budget,price,,quantity,
,milk,rum,milk,rum
3,1,2,1,0.5
4,$2,,0.5,
"""
WINDOWS = "order_id;sku;qty;unit_price\n7;caf\u00e9;1;\u20ac 2,5\n8;th\u00e9;2;\u20ac 1,5\n".encode("cp1252")
FUZZED = settings(deadline=None, derandomize=True, max_examples=250)


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    table = {"observation": [1, 1, 2], "good": ["a", "b", "a"], "price": [1.5, 2.5, None], "budget": [3, 3, 4]}
    pq.write_table(pa.table(table | {"quantity": [1.0, 0.5, 0.0]}), sink)
    return sink.getvalue().to_pybytes()


def read(source: Any, **options: Any) -> sp.Observations | None:
    """Read a source; None where it is refused by one of our exceptions, any other exception passes through."""
    try:
        observations = sp.read_observations(source, **options)
    except sp.StochprefError:
        return None
    cost = np.where(np.isfinite(observations.prices), observations.prices, 0.0) * observations.bundles
    assert np.all(cost.sum(axis=1) <= observations.budgets * (1 + 1e-6))  # of choices, whose budgets are infinite, too
    return observations


@st.composite
def mutated(draw: st.DrawFn, valid: bytes) -> bytes:
    """A valid file after a few cuts, insertions, repetitions and replacements."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        pieces = st.sampled_from(
            [b",", b";", b'"', b"\n", b"\r\n", b"\t", b"-", b"nan", b"inf", b"1e999", b" ", b"\xff"]
        )
        data[start:stop] = draw(st.just(b"") | pieces | st.binary(max_size=4) | st.just(bytes(data[start:stop]) * 2))
    return bytes(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".pb", ".parquet", ".csv.gz", ".xlsx"])
def test_any_bytes(folder: Path, suffix: str) -> None:
    path = folder / f"any{suffix}"

    @FUZZED
    @given(st.binary(max_size=200))
    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    attempt()


@pytest.mark.parametrize(
    ("valid", "suffix", "options"),
    [
        (LONG, ".csv", {"caps": 2}),
        (LONG, ".csv", {"caps": 2, "budget": "spent", "skip_bad": True}),
        (WIDE, ".csv", {}),
        (WIDE, ".csv", {"caps": 9, "skip_bad": True, "columns": {"quantity": "*", "price": 1.0}, "budget": "spent"}),
        (PABULIB, ".pb", {}),
        (PABULIB, ".pb", {"budget": "spent", "skip_bad": True}),
        (ORDERS, ".csv", {"caps": 1e4}),
        (
            ORDERS,
            ".csv",
            {"caps": 1e4, "fill_prices": "store,month", "fill_within": 3, "skip_bad": True, "by": "store"},
        ),
        (CHOICES, ".csv", {"choice": "pick", "columns": {"observation": "person,task", "good": "card"}}),
        (PICKS, ".csv", {"choice": "pick", "by": "town"}),
        (PIVOT, ".csv", {}),
        (WINDOWS, ".csv", {"caps": 1e4}),
        (LONG, ".csv.gz", {"caps": 2}),
        (PABULIB, ".pb.gz", {"problem": "divisible"}),
        (LONG, "-", {"units": {"milk": 2}}),
    ],
    ids=[
        "long",
        "long-skip",
        "wide",
        "wide-star-skip",
        "pabulib",
        "pabulib-skip",
        "orders",
        "orders-by",
        "choices-key",
        "picks-by",
        "pivot",
        "windows",
        "gzip",
        "pabulib-gzip",
        "standard-input",
    ],
)
def test_valid_files_after_mutation(
    folder: Path, valid: bytes, suffix: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / f"mutated{suffix}"
    outcomes = set()

    @FUZZED
    @given(mutated(valid))
    def attempt(data: bytes) -> None:
        if suffix == "-":
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            outcomes.add(read("-", **options) is None)
            return
        path.write_bytes(gzip.compress(data, 1) if suffix.endswith(".gz") else data)
        outcomes.add(read(path, **options) is None)

    attempt()
    assert outcomes == {True, False}  # some mutations are harmless, some are not


@pytest.mark.parametrize("kind", [".csv", ".pb"])
def test_several_files_after_mutation(tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    home = tmp_path_factory.mktemp("several")
    valid = {".csv": PICKS, ".pb": PABULIB}[kind]
    options: dict[str, Any] = {".csv": {"choice": "pick"}, ".pb": {"budget": "spent"}}[kind]
    (home / f"whole{kind}").write_bytes(valid)
    outcomes = set()

    @FUZZED
    @given(mutated(valid), st.sampled_from([None, "file"]), st.booleans())
    def attempt(data: bytes, by: str | None, skip_bad: bool) -> None:
        (home / f"mutated{kind}").write_bytes(data)
        outcomes.add(read(home, by=by, skip_bad=skip_bad, **options) is None)

    attempt()
    assert outcomes == {True, False}


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for line in PICKS.decode().splitlines():
        sheet.append([float(cell) if cell.isdigit() else cell for cell in line.split(",")[:3]])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_damaged_workbook(folder: Path) -> None:
    path, valid = folder / "damaged.xlsx", workbook()
    path.write_bytes(valid)
    assert read(path, choice="pick") is not None

    @settings(FUZZED, max_examples=60)  # each takes a library of XML to parse
    @given(st.integers(0, len(valid) - 1), st.integers(1, 255), st.booleans())
    def attempt(position: int, change: int, is_cut: bool) -> None:
        data = bytearray(valid)
        data[position] ^= change
        path.write_bytes(data[:position] if is_cut else data)
        read(path, choice="pick")

    attempt()


a_cell = st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text("ab=1,$ ", max_size=4)


def test_any_cells_of_a_workbook(folder: Path) -> None:
    path = folder / "any_cells.xlsx"

    @settings(FUZZED, max_examples=60)
    @given(st.lists(st.lists(a_cell, min_size=3, max_size=3), min_size=1, max_size=3))
    def attempt(rows: list[list[Any]]) -> None:
        book = openpyxl.Workbook()
        for row in [["price_a", "price_b", "pick"], *rows]:
            book.active.append([None if isinstance(cell, float) and not np.isfinite(cell) else cell for cell in row])
        book.save(path)
        read(path, choice="pick")

    attempt()


def test_damaged_parquet(folder: Path) -> None:
    path, valid = folder / "damaged.parquet", parquet()
    path.write_bytes(valid)
    assert read(path) is not None

    @FUZZED
    @given(st.integers(0, len(valid) - 1), st.integers(1, 255), st.booleans())
    def attempt(position: int, change: int, is_cut: bool) -> None:
        data = bytearray(valid)
        data[position] ^= change
        path.write_bytes(data[:position] if is_cut else data)
        read(path)

    attempt()


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=3), st.dates(),
    st.complex_numbers(), st.lists(st.integers(), max_size=2), st.just(object()),
)  # fmt: skip


@FUZZED
@given(
    st.lists(st.tuples(st.text(max_size=3) | st.integers(0, 2), *[cells] * 4), min_size=1, max_size=4),
    st.sampled_from(
        [None, {"price": 1.0}, {"quantity": "*", "good": "observation"}, {"budget": "2"}, {"observation": "good,price"}]
    ),
)
def test_any_pandas_frame(rows: list[tuple[Any, ...]], columns: dict[str, Any] | None) -> None:
    read(pd.DataFrame(rows, columns=["observation", "good", "price", "quantity", "budget"]), columns=columns)


simple = st.sampled_from([pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Duration, pl.Binary, pl.Null])


@FUZZED
@given(st.dictionaries(st.sampled_from(["observation", "good", "price", "quantity", "budget", "price_a"]), simple))
def test_any_polars_types(schema: dict[str, Any]) -> None:
    read(pl.DataFrame({name: pl.Series([None, None], dtype=kind) for name, kind in schema.items()}))
