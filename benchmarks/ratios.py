"""Both sides of a change, in one run: what the library takes on a commit and on the sources at hand.

``python -m benchmarks --against COMMIT mass consensus`` times the cases named, or whose names begin so; all of them by
default. A process of each side is alive and warm at a time; they take turns, run by run, so that what else the machine
does falls on both. Of each side the fastest run counts; a ratio beyond 1.05 is measured again before it is believed.
Beside the time on the clock stands that of all cores together, which other processes disturb less: it decides where
the machine is busy with more than this.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

import stochpref as sp
from benchmarks.sides import Side, two_sides

LAWS: Final = {"i": "uniform", "ii": "discrete", "iii": "fixed"}
WORSE: Final = 1.05  # a ratio that is flagged
AGAIN: Final = 3  # times that what is flagged is measured anew
_LEAST: Final = 0.05  # seconds a turn should take, lest the clock matter
_FEWEST: Final = 0.5  # seconds of turns after which a case has compiled all it needs

Run = Callable[[], object]
CASES: Final[dict[str, Callable[[], Run]]] = {}


def timed(name: str, **variants: Any) -> Callable[[Callable[..., Run]], Callable[..., Run]]:
    """Enter a function that prepares a run; once for each keyword, with its value as arguments, if there are any."""

    def enter(prepare: Callable[..., Run]) -> Callable[..., Run]:
        for word, arguments in variants.items():
            CASES[f"{name}.{word}"] = lambda given=arguments: prepare(*given)
        if not variants:
            CASES[name] = prepare
        return prepare

    return enter


def market(law: str, n_goods: int, size: int, *, kappa: float = 5.0, seed: int = 0) -> sp.Observations:
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal(n_goods)
    return sp.simulate(sp.VonMisesFisher(mu / np.linalg.norm(mu), kappa), sp.MenuLaw(law), size, rng=rng)


def mean_direction(n_goods: int, seed: int = 0) -> np.ndarray:
    mu = np.random.default_rng(seed).standard_normal(n_goods)
    return mu / np.linalg.norm(mu)


# -- what is timed -------------------------------------------------------------------------------------------------


@timed(
    "mass", i=("i", 25, 1000), ii=("ii", 25, 1000), iii=("iii", 25, 1000), few_goods=("i", 5, 4000),
    equal_rows=("iii", 4, 50_000),
)  # fmt: skip
def _mass(law: str, n_goods: int, size: int) -> Run:
    regions, mu = sp.Regions.of(market(law, n_goods, size)), mean_direction(n_goods)
    return lambda: sp.log_mass(regions, mu, 5.0, gradient=True)


@timed("mass.value")
def _mass_value() -> Run:
    regions, mu = sp.Regions.of(market("i", 25, 1000)), mean_direction(25)
    return lambda: sp.log_mass(regions, mu, 5.0)


@timed("likelihood", i=("i", 10, 1000), equal_rows=("iii", 4, 20_000))
def _likelihood(law: str, n_goods: int, size: int) -> Run:
    observations = market(law, n_goods, size)
    return lambda: sp.fit_maximum_likelihood(observations)


@timed("likelihood.files")
def _likelihood_files() -> Run:
    folder = tempfile.TemporaryDirectory(prefix="stochpref-ratios-")
    sp.write_observations(market("i", 2, 66_000), Path(folder.name) / "all.parquet", layout="wide")
    return lambda: sp.fit_maximum_likelihood(folder.name)


@timed(
    "posterior", gibbs=("gibbs", 25, 1000, 20), importance=("importance", 5, 1000, 20),
    hamiltonian=("hamiltonian", 5, 300, 5), layered=("layered", 5, 300, 20), auto=("auto", 3, 1000, 20),
)  # fmt: skip
def _posterior(sampler: str, n_goods: int, size: int, n_draws: int) -> Run:
    observations = market("i", n_goods, size)
    model = sp.HeterogeneousUtility(sampler=sampler, n_draws=n_draws, n_effective=0, random_state=0)
    return lambda: model.fit(observations)


def _fitted() -> tuple[sp.HeterogeneousUtility, sp.Observations]:
    observations = market("i", 5, 400)
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=100, n_effective=0, random_state=0)
    return model.fit(observations), observations


@timed("fit.demand")
def _demand() -> Run:
    model, observations = _fitted()
    return lambda: model.demand(observations.menus[:4], n_customers=1024)


@timed("fit.utilities")
def _utilities() -> Run:
    model, _ = _fitted()
    return model.utilities


@timed("fit.scores")
def _scores() -> Run:
    model, observations = _fitted()
    return lambda: model.log_likelihood(observations)


@timed("report.page")
def _report() -> Run:
    """Write a page of a saved fit, as `stochpref report` writes it: 25 goods, 10,000 purchases, 200 draws."""
    folder = tempfile.TemporaryDirectory(prefix="stochpref-ratios-")
    fit, page = Path(folder.name) / "fit", Path(folder.name) / "report.html"
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=50, n_effective=0, random_state=0)
    model.fit(market("i", 25, 10_000, kappa=10.0)).save(fit)
    return lambda: (sp.write_report(sp.load_fit(fit), page), folder)


@timed(
    "consensus", **{f"{law}_{size}": (law, size) for law in LAWS for size in (1000, 5000)},
)  # fmt: skip
def _consensus(law: str, size: int) -> Run:
    common = sp.CorruptedUtilityLaw(np.abs(mean_direction(25)), 0.1)
    observations = sp.simulate(common, sp.MenuLaw(law), size, rng=np.random.default_rng(1))
    model = sp.CommonUtility(random_state=0)
    return lambda: model.fit(observations)


@timed("regions.of", **{law: (law,) for law in LAWS})
def _regions_of(law: str) -> Run:
    observations = market(law, 25, 100_000)
    return lambda: sp.Regions.of(observations)


@timed("regions.contains", **{law: (law,) for law in LAWS})
def _contains(law: str) -> Run:
    regions, u = sp.Regions.of(market(law, 25, 100_000)), mean_direction(25, 1)
    return lambda: regions.contains(u)


@timed("choice.choose")
def _choose() -> Run:
    menus = sp.MenuLaw("i").sample(100_000, 25, rng=np.random.default_rng(0))
    u = np.random.default_rng(1).standard_normal((100_000, 25))
    return lambda: sp.choose(u, menus.prices, menus.budgets)


@timed("readers", csv=("csv", "long"), wide_csv=("csv", "wide"), parquet=("parquet", "long"))
def _read(suffix: str, layout: str) -> Run:
    folder = tempfile.TemporaryDirectory(prefix="stochpref-ratios-")
    path = Path(folder.name) / f"purchases.{suffix}"
    sp.write_observations(market("i", 10, 20_000), path, layout=layout)
    return lambda: (sp.read_observations(path), folder)  # the folder lasts as long as this


@timed("start.help")
def _help() -> Run:
    command = [sys.executable, "-m", "stochpref.cli", "--help"]
    return lambda: subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)


@timed("start.model")
def _start() -> Run:
    command = [sys.executable, "-c", "import stochpref; stochpref.HeterogeneousUtility"]
    return lambda: subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)


# -- a side: runs what it is told to -------------------------------------------------------------------------------


def serve() -> None:
    """Answer every line "NAME COUNT" with the seconds COUNT runs took, by the clock and of the cores.

    "NAME 0" asks how many runs fill a turn, after enough of them to compile and warm what they need.
    """
    known: dict[str, Run] = {}
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        name, count = line.split()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name not in known:
                    known = {name: CASES[name]()}  # one at a time: memory is for what is timed
                answer = " ".join(map(str, _clock(known[name], int(count)) if int(count) else _fill(known[name])))
        except Exception as error:  # the other cases go on
            answer = f"! {type(error).__name__}: {error}".replace("\n", " ")
        print(answer, file=answers, flush=True)


def _clock(run: Run, count: int) -> tuple[float, float]:
    start, before = time.perf_counter(), _busy()
    for _ in range(count):
        run()
    return time.perf_counter() - start, _busy() - before


def _busy() -> float:
    """Return the seconds cores have spent on this process and on the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _fill(run: Run) -> tuple[int]:
    run()
    seconds: list[float] = []
    while not seconds or (sum(seconds) < _FEWEST and len(seconds) < 50):
        seconds.append(_clock(run, 1)[0])
    return (max(1, math.ceil(_LEAST / min(seconds))),)


# -- both sides, in turn -------------------------------------------------------------------------------------------


class Failed(Exception):
    """A case that a side cannot run."""


class Runner:
    """A process of one side."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.process = side.start("ratios", "--serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name: str, count: int) -> list[float]:
        """Return what the side answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(name, count, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer or answer.startswith("!"):
            raise Failed(f"{self.side.name}: {answer[2:].strip() or 'the process ended'}")
        return [float(number) for number in answer.split()]

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def a_pair(sides: tuple[Side, Side]) -> Iterator[tuple[Runner, Runner]]:
    """Yield a fresh process of each side."""
    old, new = Runner(sides[0]), Runner(sides[1])
    try:
        yield old, new
    finally:
        old.end()
        new.end()


def measure(pair: tuple[Runner, Runner], name: str, n_turns: int) -> np.ndarray:
    """Return (turns, 2, 2) seconds of a run: on the old and on the new side, by the clock and of the cores."""
    count = max(int(runner.ask(name, 0)[0]) for runner in pair)
    seconds = np.empty((n_turns, 2, 2))
    for turn in range(n_turns):
        for k in (0, 1) if turn % 2 == 0 else (1, 0):  # neither is always first
            seconds[turn, k] = np.array(pair[k].ask(name, count)) / count
    return seconds


def measure_all(sides: tuple[Side, Side], names: list[str], n_pairs: int, n_turns: int) -> dict[str, np.ndarray | str]:
    """Return the seconds of every case over several pairs of processes, or why there are none."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    failed: dict[str, str] = {}
    for _ in range(n_pairs):
        left = [name for name in names if name not in failed]
        while left:
            with a_pair(sides) as pair:
                left = _in_pair(pair, left, n_turns, found, failed)
    return {name: failed[name] if name in failed else np.concatenate(found[name]) for name in names}


def _in_pair(
    pair: tuple[Runner, Runner], names: list[str], n_turns: int, found: dict[str, list[np.ndarray]],
    failed: dict[str, str],
) -> list[str]:  # fmt: skip
    """Measure cases; return those still to be measured where a process has ended."""
    for place, name in enumerate(names):
        print(f"  {name}", file=sys.stderr, flush=True)
        try:
            found[name].append(measure(pair, name, n_turns))
        except Failed as failure:
            failed[name] = str(failure)
            if any(runner.process.poll() is not None for runner in pair):
                return names[place + 1 :]
    return []


def ratio_of(seconds: np.ndarray) -> np.ndarray:
    """Return the fastest run of the new side over that of the old one, by the clock and of the cores."""
    fastest = seconds.min(axis=0)
    return fastest[1] / fastest[0]


def is_worse(seconds: np.ndarray) -> bool:
    """Tell whether the new side is slower: by the clock, or by the cores where others keep them busy."""
    is_busy = os.getloadavg()[0] > (os.cpu_count() or 1) + 1
    return bool(ratio_of(seconds)[int(is_busy)] > WORSE)


def chosen(words: list[str]) -> list[str]:
    """Return the cases that are named, or whose names begin so."""
    for word in words:
        if not any(name == word or name.startswith(f"{word}.") for name in CASES):
            sys.exit(f"no timed case {word!r}; there are {', '.join(CASES)}")
    return [name for name in CASES if not words or any(name == w or name.startswith(f"{w}.") for w in words)]


def main() -> None:
    if sys.argv[1:] == ["--serve"]:
        serve()
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks --against", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"cases, or what their names begin with: {', '.join(CASES)}")
    parser.add_argument("--against", required=True, metavar="COMMIT", help="the old side")
    parser.add_argument("--to", metavar="COMMIT", help="the new side; the working tree if left out")
    parser.add_argument("--pairs", type=int, default=3, help="of fresh processes, one after another")
    parser.add_argument("--turns", type=int, default=5, help="of each process")
    options = parser.parse_args()
    names = chosen(options.names)
    with two_sides(options.against, options.to) as sides:
        n_turns = options.pairs * options.turns
        print(f"{sides[0].name} (old) against {sides[1].name} (new), fastest of {n_turns} turns", flush=True)
        found = measure_all(sides, names, options.pairs, options.turns)
        for _ in range(AGAIN):
            doubtful = [name for name, values in found.items() if not isinstance(values, str) and is_worse(values)]
            if not doubtful:
                break
            print(f"measuring again: {', '.join(doubtful)}", file=sys.stderr, flush=True)
            for name, more in measure_all(sides, doubtful, options.pairs, options.turns).items():
                found[name] = more if isinstance(more, str) else np.concatenate([found[name], more])
    sys.exit(show(found))


def show(found: dict[str, np.ndarray | str]) -> int:
    """Print a line for each case; return the exit status, 1 where a side is slower or fails."""
    print(f"{'':<26}{'old, ms':>10}{'new, ms':>10}{'new/old':>9}{'of the cores':>14}")
    bad = [name for name, seconds in found.items() if isinstance(seconds, str) or is_worse(seconds)]
    for name, seconds in found.items():
        flag = "!" if name in bad else ""
        if isinstance(seconds, str):
            print(f"{flag:<2}{name:<24}fails on {seconds}")
            continue
        old, new = 1e3 * seconds[:, :, 0].min(axis=0)
        clock, cores = ratio_of(seconds)
        print(f"{flag:<2}{name:<24}{old:>10.3f}{new:>10.3f}{clock:>9.3f}{cores:>14.3f}")
    print(f"{len(found)} cases, {len(bad)} beyond {WORSE} or failing; load of the machine {os.getloadavg()[0]:.1f}")
    return 1 if bad else 0


if __name__ == "__main__":
    main()
