"""Reading and writing purchases: a million long rows as CSV and Parquet, against pandas parsing the same file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import stochpref as sp
from benchmarks.timing import best_seconds


def main(n_observations: int = 100_000, n_goods: int = 10, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    law = sp.VonMisesFisher(mu / np.linalg.norm(mu), 5.0)
    observations = sp.simulate(law, sp.MenuLaw("uniform"), n_observations, rng=rng)
    print(f"{n_observations * n_goods:,} long rows (T = {n_observations:,}, n = {n_goods}, seed {seed}):")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, parse in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
            path = Path(folder) / f"purchases{suffix}"
            writing = best_seconds(lambda p=path: sp.write_observations(observations, p), repeats=1)
            reading = best_seconds(lambda p=path: sp.read_observations(p), repeats=3)
            pandas = best_seconds(lambda p=path, f=parse: f(p), repeats=3)
            print(
                f"  {suffix:<9} write {writing:5.2f} s   read and check {reading:5.2f} s   pandas alone {pandas:5.2f} s"
            )


if __name__ == "__main__":
    main()
