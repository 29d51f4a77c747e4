"""Reading and writing purchases, a million rows each, against pandas parsing the same file.

Long tables as CSV and Parquet; lines of orders, added up and with prices filled in.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import stochpref as sp
from benchmarks.timing import best_seconds, least_work


def main(n_observations: int = 100_000, n_goods: int = 10, n_lines: int = 1_000_000, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _long(Path(folder), n_observations, n_goods, seed)
        _orders(Path(folder) / "orders.csv", n_lines, seed)


def _long(folder: Path, n_observations: int, n_goods: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    law = sp.VonMisesFisher(mu / np.linalg.norm(mu), 5.0)
    observations = sp.simulate(law, sp.MenuLaw("uniform"), n_observations, rng=rng)
    print(f"{n_observations * n_goods:,} long rows (T = {n_observations:,}, n = {n_goods}, seed {seed}):")
    for suffix, parse in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        path = folder / f"purchases{suffix}"
        writing = best_seconds(lambda p=path: sp.write_observations(observations, p), repeats=1)
        reading = best_seconds(lambda p=path: sp.read_observations(p), repeats=3)
        pandas = best_seconds(lambda p=path, f=parse: f(p), repeats=3)
        print(f"  {suffix:<9} write {writing:5.2f} s   read and check {reading:5.2f} s   pandas alone {pandas:5.2f} s")


def _orders(path: Path, n_lines: int, seed: int, n_goods: int = 20, n_stores: int = 10) -> None:
    """Time an export of orders of three lines each, over a year of weeks; a price by store, week and good."""
    rng = np.random.default_rng(seed)
    n_orders = n_lines // 3
    order = np.sort(rng.integers(n_orders, size=n_lines))
    store, day, good = (
        rng.integers(n_stores, size=n_orders),
        rng.integers(364, size=n_orders),
        rng.integers(n_goods, size=n_lines),
    )
    shelf = rng.uniform(1.0, 9.0, (n_stores, 53, n_goods)).round(2)
    lines = pd.DataFrame(
        {
            "order_id": order,
            "sku": np.char.add("sku", good.astype(str)),
            "qty": rng.integers(1, 3, size=n_lines),
            "unit_price": shelf[store[order], day[order] // 7, good],
            "discount": np.where(rng.random(n_lines) < 0.1, 0.5, 0.0),
            "store": np.char.add("store", store[order].astype(str)),
            "order_date": (np.datetime64("2026-01-01") + day[order].astype("timedelta64[D]")).astype(str),
            "customer_id": order % 1000,
        }
    )
    lines.to_csv(path, index=False)
    work = least_work([lambda: sp.read_orders(path, caps=100), lambda: pd.read_csv(path)], repeats=3)
    found = sp.read_orders(path, caps=100)
    print(
        f"{n_lines:,} lines of {len(found):,} orders (n = {n_goods}, {n_stores} stores, 52 weeks, seed {seed}), "
        f"{path.stat().st_size / 1e6:.0f} MB, seconds of one core:"
    )
    print(
        f"  read, add up, fill prices {work[0]:5.2f} s   pandas alone {work[1]:5.2f} s   ratio {work[0] / work[1]:.2f}"
    )
    for note in found.notes:
        print(f"  {note}")


if __name__ == "__main__":
    main()
