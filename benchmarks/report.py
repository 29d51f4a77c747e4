"""The report: its size and the time to write it, for many purchases and for many goods; how soon ``--help`` answers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import stochpref as sp
from benchmarks.timing import best_seconds

SIZES = ((25, 10_000), (200, 1000))  # goods, purchases


def fit(n_goods: int, n_observations: int, seed: int) -> sp.HeterogeneousUtility:
    """Return a posterior to report on; how well it has converged is no matter here."""
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    law = sp.VonMisesFisher(mu / np.linalg.norm(mu), 0.4 * n_goods)
    observations = sp.simulate(law, sp.MenuLaw("uniform"), n_observations, rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(sampler="gibbs", n_draws=400, n_effective=0, random_state=seed).fit(observations)


def main(seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        for n_goods, n_observations in SIZES:
            model = fit(n_goods, n_observations, seed)
            start = time.perf_counter()
            sp.write_report(model, page)
            seconds = time.perf_counter() - start
            print(
                f"n = {n_goods}, T = {n_observations:,}: {page.stat().st_size / 1e6:.1f} MB (target 5), "
                f"{seconds:.1f} s (target 20)",
                flush=True,
            )
    command = [sys.executable, "-m", "stochpref.cli", "--help"]
    seconds = best_seconds(lambda: subprocess.run(command, check=True, capture_output=True), repeats=5)
    print(f"stochpref --help: {seconds:.2f} s (target 0.4)")


if __name__ == "__main__":
    main()
