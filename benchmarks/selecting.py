"""Which model is believed: how often the one that made the data, by scores of purchases held out.

``python -m benchmarks selecting`` simulates a few data sets of each cell, one law for everybody (concentration between
1 and 10) or one utility and a tenth of odd customers; ``--sets 20 --observations 200,1000 --goods 5,10,25`` as many as
it takes. ``--data FOLDER`` takes the real files that `benchmarks.real_data` reads. Seconds are of a core (process
time), of the choice and of a fit of the heterogeneous model to the same data where ``--direct`` asks for it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import stochpref as sp
from benchmarks.real_data import CASES
from stochpref.models.selecting import rank_models

_RIGHT = {"one law": "heterogeneous", "one utility, δ = 0.1": "common"}


def data_of(crowd: str, n_goods: int, n_observations: int, seed: int) -> sp.Observations:
    """Return purchases of a crowd, whose taste and spread the seed decides."""
    rng = np.random.default_rng([seed, n_goods, n_observations])
    direction = rng.standard_normal(n_goods) + 0.3
    direction /= np.linalg.norm(direction)
    concentration = rng.uniform(1.0, 10.0)
    law = sp.VonMisesFisher(direction, concentration) if crowd == "one law" else sp.CorruptedUtilityLaw(direction, 0.1)
    return sp.simulate(law, sp.MenuLaw("uniform"), n_observations, rng=rng)


def simulated(sets: int, sizes: list[int], goods: list[int], seed: int, *, direct: bool) -> None:
    """Print how often each model is believed, a line for each cell."""
    print(f"{sets} data sets a line, seeds from {seed}; s: seconds of a core to choose (and to fit one law)")
    print(f"{'made by':<24}{'n':>4}{'T':>6}{'right':>8}{'s':>8}{'one law, s':>12}   believed", flush=True)
    right: Counter[str] = Counter()
    for crowd, model in _RIGHT.items():
        for n_goods in goods:
            for size in sizes:
                found, took, alone = Counter[str](), 0.0, 0.0
                for number in range(sets):
                    data, started = data_of(crowd, n_goods, size, seed + number), time.process_time()
                    found[rank_models(data, random_state=seed + number)[0].name] += 1
                    took += time.process_time() - started
                    if direct:
                        started = time.process_time()
                        sp.HeterogeneousUtility(random_state=seed + number).fit(data)
                        alone += time.process_time() - started
                right[crowd] += found[model]
                told = ", ".join(f"{name} {count}" for name, count in found.most_common())
                print(
                    f"{crowd:<24}{n_goods:>4}{size:>6}{f'{found[model]}/{sets}':>8}{took / sets:>8.1f}"
                    f"{alone / sets:>12.1f}   {told}",
                    flush=True,
                )
        print(f"{crowd}: {right[crowd]} of {sets * len(goods) * len(sizes)} right", flush=True)


def real(folder: Path, only: str) -> None:
    """Print the table of each real reading."""
    for case in CASES:
        if only.casefold() not in case.title.casefold():
            continue
        started = time.process_time()
        _, found = rank_models(case.read_fn(folder / case.file), random_state=0, degenerate="drop")
        print(f"\n{case.title}: {found.n_held_out} held out, {time.process_time() - started:.0f} s of a core")
        for row in found.scores:
            told = row.remark if row.mean is None else f"{row.mean:.4f} ± {row.standard_error:.4f}  {row.remark}"
            print(f"  {row.name:<26}{row.n_free:>4}  {told}")
        print(f"  {found.reason}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks selecting", description=__doc__)
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--observations", default="200")
    parser.add_argument("--goods", default="5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--direct", action="store_true", help="time a fit of one law beside it")
    parser.add_argument("--data", type=Path, help="folder with the real files")
    parser.add_argument("--only", default="", help="real cases whose title holds this word")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if options.sets:
            sizes, goods = ([int(n) for n in text.split(",")] for text in (options.observations, options.goods))
            simulated(options.sets, sizes, goods, options.seed, direct=options.direct)
        if options.data is not None:
            real(options.data, options.only)


if __name__ == "__main__":
    main()
