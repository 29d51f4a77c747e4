"""Observations in a folder of Parquet files: what is read, what is refused, and that nothing is half-written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import stochpref as sp
from stochpref.kinds import ABSENT
from stochpref.models.storage import read_fit, write_fit
from stochpref.readers import folders
from stochpref.stores import disk
from stochpref.stores.disk import on_disk
from stochpref.stores.packing import PackedRegions, encode_part, pick_rows

GOODS = ("tea", "cake", "juice")


def market(n_rows: int = 600, seed: int = 0) -> sp.Observations:
    law = sp.VonMisesFisher(np.array([0.8, 0.6, 0.0]), 4.0)
    seen = sp.simulate(law, sp.MenuLaw("uniform"), n_rows, rng=np.random.default_rng(seed))
    return sp.Observations(seen.prices, seen.budgets, seen.bundles, goods=GOODS)


def store(folder: Path, observations: sp.Observations, n_files: int = 3) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(len(observations)), n_files)):
        sp.write_observations(observations[rows], folder / f"part-{k}.parquet", layout="wide")
    return folder


def with_ice(table: pa.Table) -> pa.Table:
    table = table.append_column("price_ice", table["price_tea"])
    return table.append_column("quantity_ice", table["quantity_tea"])


def with_dates(table: pa.Table) -> pa.Table:
    dates = pa.array(np.zeros(len(table), np.int64)).cast(pa.timestamp("ms"))
    return table.set_column(table.column_names.index("budget"), "budget", dates)


def same(first: sp.Observations, second: sp.Observations) -> bool:
    fields = ("prices", "budgets", "bundles", "caps")
    return first.goods == second.goods and all(np.array_equal(getattr(first, f), getattr(second, f)) for f in fields)


def test_a_folder_reads_back_what_was_written(tmp_path: Path) -> None:
    observations = market()
    stored = sp.StoredObservations(store(tmp_path / "data", observations))
    assert len(stored) == 600
    assert stored.goods == GOODS
    assert same(stored.load(), observations)
    assert "600 observations of 3 goods" in repr(stored)


def test_rows_are_cut_into_parts_within_and_across_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PART", 70)
    observations = market(500)
    sp.write_observations(observations, tmp_path / "whole.parquet", layout="wide")
    table = pq.read_table(tmp_path / "whole.parquet")
    (tmp_path / "data" / "year=2026").mkdir(parents=True)
    pq.write_table(table.slice(0, 180), tmp_path / "data" / "a.parquet", row_group_size=1000)
    pq.write_table(table.slice(180), tmp_path / "data" / "year=2026" / "b.parquet", row_group_size=30)
    (tmp_path / "data" / "_temporary.parquet").write_bytes(b"not one of ours")
    stored = sp.StoredObservations(tmp_path / "data")
    assert max(part.n_rows for part in stored.parts) <= 70
    assert [part.n_rows for part in stored.parts[:3]] == [70, 70, 40]
    assert same(stored.load(), observations)


def test_files_are_written_in_row_groups_that_are_read_at_once(tmp_path: Path) -> None:
    seen = market(10)
    many = seen[np.arange(folders.PART + 10) % 10]
    sp.write_observations(many, tmp_path / "a.parquet", layout="wide")
    footer = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert [footer.row_group(k).num_rows for k in range(footer.num_row_groups)] == [folders.PART, 10]


def test_columns_are_mapped_and_goods_put_in_order(tmp_path: Path) -> None:
    observations = market(60)
    store(tmp_path / "data", observations, 2)
    second = pq.read_table(tmp_path / "data" / "part-1.parquet")
    pq.write_table(second.select(second.column_names[::-1]), tmp_path / "data" / "part-1.parquet")
    assert same(sp.StoredObservations(tmp_path / "data").load(), observations)
    renamed = [name.replace("price_", "p_").replace("budget", "money") for name in second.column_names]
    for k in (0, 1):
        path = tmp_path / "data" / f"part-{k}.parquet"
        table = pq.read_table(path).select(second.column_names)
        pq.write_table(table.rename_columns(renamed), path)
    mapped = sp.StoredObservations(tmp_path / "data", columns={"price": "p", "budget": "money"})
    assert same(mapped.load(), observations)


def test_a_torn_file_is_found_before_any_work(tmp_path: Path) -> None:
    folder = store(tmp_path / "data", market())
    whole = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(sp.UnreadableData, match=r"part-1\.parquet: is not a complete Parquet file"):
        sp.StoredObservations(folder)


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    folder = store(tmp_path / "data", market())
    content = bytearray((folder / "part-2.parquet").read_bytes())
    middle = len(content) // 2  # a column that is read
    content[middle : middle + 900] = bytes(900)
    (folder / "part-2.parquet").write_bytes(bytes(content))
    stored = sp.StoredObservations(folder)
    with pytest.raises((sp.UnreadableData, sp.InvalidObservations), match=r"part-2\.parquet"):
        sp.fit_maximum_likelihood(stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["price_cake", "quantity_cake"]), "'cake' is missing"),
        (with_ice, "'ice' is not among them"),
        (lambda table: table.drop_columns(["budget"]), "no column 'budget'"),
        (with_dates, "column 'budget' must hold numbers; it holds timestamp"),
    ],
)  # fmt: skip
def test_a_schema_that_changes_is_refused(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    folder = store(tmp_path / "data", market())
    pq.write_table(change(pq.read_table(folder / "part-1.parquet")), folder / "part-1.parquet")
    with pytest.raises(sp.UnreadableData, match=message) as caught:
        sp.StoredObservations(folder)
    assert "part-1.parquet" in str(caught.value)


def test_bad_rows_are_named_by_file_and_row_or_left_out(tmp_path: Path) -> None:
    folder = store(tmp_path / "data", market())
    table = pq.read_table(folder / "part-1.parquet")
    budgets = table["budget"].to_numpy().copy()
    budgets[7] = -1.0
    place = table.column_names.index("budget")
    pq.write_table(table.set_column(place, "budget", pa.array(budgets)), folder / "part-1.parquet")
    with pytest.raises(sp.InvalidObservations, match=r"(?s)part-1\.parquet.*row 7"):
        sp.StoredObservations(folder).load()
    assert len(sp.StoredObservations(folder, skip_bad=True).load()) == 599


def test_a_folder_without_a_good_row_is_refused_by_all_that_read_it(tmp_path: Path) -> None:
    with_a_file_of_no_use(tmp_path, market(20), "bad")
    for name in ("part-0", "part-2"):
        (tmp_path / f"{name}.parquet").unlink()
    stored = sp.StoredObservations(tmp_path, skip_bad=True)
    for read_fn in (stored.load, lambda: sp.log_mass(stored, [1.0, 0.0, 0.0], 1.0)):
        with pytest.raises(sp.UnreadableData, match="every observation breaks a rule"):
            read_fn()


def test_other_folders_are_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(sp.UnreadableData, match=r"holds no \.parquet file"):
        sp.StoredObservations(tmp_path / "empty")
    (tmp_path / "long").mkdir()
    sp.write_observations(market(20), tmp_path / "long" / "a.parquet", layout="long")
    with pytest.raises(sp.UnreadableData, match="must hold wide data"):
        sp.StoredObservations(tmp_path / "long")
    with pytest.raises(sp.InvalidArgument, match="a folder of Parquet files"):
        sp.fit_maximum_likelihood(tmp_path / "nowhere")
    with pytest.raises(sp.InvalidArgument, match="must be Observations"):
        sp.HeterogeneousUtility().fit(np.ones((3, 3)))  # type: ignore[arg-type]


# --- packed regions and their working copy


@pytest.mark.parametrize("n_goods", [2, 3, 4, 7, 25])
def test_packing_keeps_everything(n_goods: int, rng: np.random.Generator) -> None:
    prices = rng.uniform(1, 2, (200, n_goods))
    prices[rng.random(prices.shape) < 0.2] = np.inf
    prices[:, 0] = 1.0
    menus = sp.Menus(prices, rng.uniform(0.5, n_goods, 200))
    bundles = sp.choose(rng.standard_normal((200, n_goods)), menus.prices, menus.budgets)
    regions = sp.Regions.of(sp.Observations(menus.prices, menus.budgets, bundles))
    assert len(PackedRegions.of(regions.rows(0, 0)).unpack()) == 0
    back = PackedRegions.of(regions).unpack()
    for name in ("kind_code", "side", "slope", "pivot"):
        assert np.array_equal(getattr(back, name), getattr(regions, name)), name
    rough = PackedRegions.of(regions, single_precision=True)
    assert rough.slope.nbytes * 2 == regions.slope.nbytes
    shared = rough.unpack().slope / regions.slope * np.where(regions.side == ABSENT, np.nan, 1.0)
    assert (np.nanmax(shared, axis=1) / np.nanmin(shared, axis=1) - 1).max() < 2e-7


def test_single_precision_changes_log_masses_by_parts_in_ten_million(rng: np.random.Generator) -> None:
    regions = sp.Regions.of(market(300))
    rough = PackedRegions.of(regions, single_precision=True).unpack()
    mean = np.array([0.8, 0.6, 0.0])
    assert np.abs(sp.log_mass(regions, mean, 4.0) - sp.log_mass(rough, mean, 4.0)).max() < 1e-6


@pytest.mark.parametrize("currency", [1e-46, 1e39])
def test_single_precision_takes_prices_of_any_size(currency: float) -> None:
    seen = market(100)
    regions = sp.Regions.of(sp.Observations(seen.prices * currency, seen.budgets * currency, seen.bundles))
    rough = PackedRegions.of(regions, single_precision=True).unpack()
    mean = np.array([0.8, 0.6, 0.0])
    assert np.abs(sp.log_mass(regions, mean, 4.0) - sp.log_mass(rough, mean, 4.0)).max() < 1e-6


def test_the_working_copy_gives_the_regions_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PART", 64)
    observations = market(300)
    stored = sp.StoredObservations(store(tmp_path / "data", observations))
    with on_disk(stored, degenerate="refuse", seed=0) as (scratch, origin):
        sides = list(scratch.map(lambda regions: regions.side))
        assert np.array_equal(np.concatenate(sides), sp.Regions.of(observations).side)
        numbered = scratch.map(lambda regions, k: (k, len(regions)), each=range(len(sides)))
        assert list(numbered) == list(enumerate(scratch.sizes))
        assert origin.n_observations == sum(scratch.sizes) == 300
        assert len(origin.kept) == 300
        picked = scratch.pick(40, seed=1)
        assert len(picked) == 40
        assert np.array_equal(picked.slope, scratch.pick(40, seed=1).slope)
    rough = sp.StoredObservations(stored.folder, single_precision=True)
    with on_disk(rough, degenerate="refuse", seed=0) as (again, other):
        assert other.data_hash != origin.data_hash
        assert [len(regions) for regions in again.map(lambda regions: regions)] == list(scratch.sizes)


def test_rows_are_picked_evenly_from_all_parts() -> None:
    counts = np.zeros(3)
    for seed in range(200):
        counts += [len(rows) for rows in pick_rows([100, 0, 300], 40, seed)]
    assert counts[1] == 0
    assert abs(counts[0] / counts.sum() - 0.25) < 0.02


def test_degenerate_rows_are_named_or_left_out(tmp_path: Path) -> None:
    observations = market(90)
    prices, budgets, bundles = (np.array(a) for a in (observations.prices, observations.budgets, observations.bundles))
    prices[40], budgets[40], bundles[40] = (1.0, 1.0, 1.0), 1.0, (0.5, 0.5, 0.0)
    folder = store(tmp_path / "data", sp.Observations(prices, budgets, bundles, goods=GOODS), 1)
    stored = sp.StoredObservations(folder)
    with (
        pytest.raises(sp.InvalidObservations, match=r"(?s)part-0\.parquet.*row 40"),
        on_disk(stored, degenerate="refuse", seed=0),
    ):
        pass
    with on_disk(stored, degenerate="drop", seed=0) as (scratch, origin):
        assert (origin.n_dropped, sum(scratch.sizes)) == (1, 89)


def with_a_file_of_no_use(folder: Path, observations: sp.Observations, how: str) -> sp.StoredObservations:
    """A file whose every row is degenerate, or breaks a rule, between two good ones."""
    half = len(observations) // 2
    store(folder, observations[:half], 1)
    sp.write_observations(observations[half:], folder / "part-2.parquet", layout="wide")
    tied = sp.Observations(np.ones((5, 3)), np.ones(5), np.tile([0.5, 0.5, 0.0], (5, 1)), goods=GOODS)
    sp.write_observations(tied, folder / "part-1.parquet", layout="wide")
    if how == "bad":
        table = pq.read_table(folder / "part-1.parquet")
        place = table.column_names.index("budget")
        pq.write_table(table.set_column(place, "budget", pa.array(np.full(5, -1.0))), folder / "part-1.parquet")
    return sp.StoredObservations(folder, skip_bad=how == "bad")


@pytest.mark.parametrize("how", ["degenerate", "bad"])
def test_a_file_without_a_usable_row_is_no_part(tmp_path: Path, how: str) -> None:
    observations = market(300)
    stored = with_a_file_of_no_use(tmp_path, observations, how)
    with on_disk(stored, degenerate="drop", seed=0) as (scratch, origin):
        assert scratch.sizes == (150, 150)
        assert origin.n_dropped == (5 if how == "degenerate" else 0)
        assert len(scratch.pick(1000, seed=0)) == 300
        sides = np.concatenate(list(scratch.map(lambda regions: regions.side)))
    assert np.array_equal(sides, sp.Regions.of(observations).side)


@contextmanager
def small_disk(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk does not."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_no_room_for_the_working_copy_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk.tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    folder = store(tmp_path / "data", market())
    for rough, advice in ((False, "--single-precision"), (True, "another disk$")):
        stored = sp.StoredObservations(folder, single_precision=rough)
        with (
            small_disk(4000),
            pytest.raises(sp.StochprefError, match=rf"(?s)scratch: no room.*,\d00 bytes;.*TMPDIR.*{advice}"),
            on_disk(stored, degenerate="refuse", seed=0),
        ):
            pass
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("name", ["purchases.csv", "purchases.parquet"])
def test_a_full_disk_is_said_and_the_file_is_as_it_was(tmp_path: Path, name: str) -> None:
    few = market(5)
    sp.write_observations(few, tmp_path / name)
    with small_disk(8000), pytest.raises(sp.StochprefError, match=rf"{name}: cannot be written: .*make room"):
        sp.write_observations(market(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert same(sp.read_observations(tmp_path / name), few)


def test_a_full_disk_leaves_no_half_of_a_fit(tmp_path: Path) -> None:
    def written(where: str, n_bytes: int) -> None:
        values = np.zeros(n_bytes, np.uint8)
        write_fit(
            tmp_path / where, header, {}, xr.DataTree.from_dict({"data": xr.Dataset({"values": ("row", values)})})
        )

    header = {"model": "common", "version": "0", "settings": {}, "seed": 0, "data": {}}
    written("fit", 100)
    for where in ("fit", "new/fit"):
        with small_disk(5000), pytest.raises(sp.StochprefError, match=rf"{where}/arrays\.npz: cannot be written"):
            written(where, 10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]
    assert read_fit(tmp_path / "fit").tree["data"]["values"].shape == (100,)


def test_a_full_disk_is_said_of_models_and_pages(tmp_path: Path) -> None:
    model = sp.CommonUtility(random_state=0).fit(market(50))
    sp.write_report(model, tmp_path / "page.html")  # and compiles what it needs, which goes to files too
    with small_disk(5000), pytest.raises(sp.StochprefError, match=r"arrays\.npz: cannot be written"):
        model.save(tmp_path / "new" / "fit")
    with small_disk(5000), pytest.raises(sp.StochprefError, match=r"page\.html: cannot be written"):
        sp.write_report(model, tmp_path / "new" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_file_that_vanishes_meanwhile_is_named(tmp_path: Path) -> None:
    stored = sp.StoredObservations(store(tmp_path / "data", market()))
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(sp.UnreadableData, match=r"part-0\.parquet: cannot be read"):
        stored.load()


def test_encoding_counts_what_it_reads(tmp_path: Path) -> None:
    stored = sp.StoredObservations(store(tmp_path / "data", market(100), 1))
    packed, note = encode_part(stored, stored.parts[0], "refuse", np.array([3, 50]))
    assert (len(packed), note.n_read, note.n_dropped) == (100, 100, 0)
    assert note.kept is not None
    assert np.array_equal(note.kept.prices, market(100).prices[[3, 50]])
