"""Methods that others published, on the same data and with the same score as ours.

Every peer takes observations and a generator and returns a utility (`PEERS`); `measure` adds time, memory and what
went wrong; `compare` scores several on paired trials. ``python -m benchmarks.peers --help`` lists the options of the
table. Trials are seeded by (seed, law, n, trial), so every method and every concentration meets the same markets.

The packages of the extra ``peers`` are imported inside the methods that need them: without them their rows say so.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import stochpref as sp
from benchmarks.consensus import direction
from benchmarks.published import (
    PeerFailure,
    fit_feasible,
    fit_hinge,
    fit_relative_suboptimality,
    fit_suboptimality,
    fit_trimmed_hinge,
)
from benchmarks.timing import resident
from stochpref.regions import usable_rows

Array = NDArray[np.float64]
Fit = Callable[[sp.Observations, np.random.Generator], Array]

LAWS = ("i", "ii", "iii")
N_TEST = 20_000


class Peer(NamedTuple):
    """A method under its published name.

    name : as printed.
    fit : observations and a generator -> (n,) utility of any length but zero.
    needs : packages to import, beside ours.
    """

    name: str
    fit: Fit
    needs: tuple[str, ...] = ()


class PeerResult(NamedTuple):
    """What one fit gave and cost.

    direction : (n,) unit vector, or None where the method failed.
    seconds : of the fit, without imports and compilation; None where it did not run.
    mebibytes : peak resident memory above that before the fit; None where it did not run.
    failure : why there is no direction, or None.
    """

    direction: Array | None
    seconds: float | None
    mebibytes: float | None
    failure: str | None


# --- packages by others


def fit_pyepo(
    observations: sp.Observations,
    rng: np.random.Generator,
    n_steps: int = 200,
    learning_rate: float = 0.2,
    n_samples: int = 30,
) -> Array:
    """Minimise PyEPO's perturbed Fenchel–Young loss in a constant utility, by Adam with a cosine schedule.

    Notes
    -----
    PyEPO takes one feasible set for all its instances and solves them one by one. Here all customers together are one
    instance: the linear programme of T bundles under T budgets, whose loss is the sum of theirs, solved by one call
    of `choose`. The scale of the perturbation only sets that of u, so it stays at 1.
    """
    import torch  # noqa: PLC0415
    from pyepo import EPO  # noqa: PLC0415
    from pyepo.func import perturbedFenchelYoung  # noqa: PLC0415
    from pyepo.model.opt import optModel  # noqa: PLC0415

    class Market(optModel):  # type: ignore[misc]
        """All customers' problems as one linear programme over T·n quantities."""

        modelSense = EPO.MAXIMIZE  # noqa: N815

        def _getModel(self) -> tuple[None, range]:  # noqa: N802
            return None, range(observations.prices.size)

        def setObj(self, c: Any) -> None:  # noqa: N802
            self.utilities = np.asarray(c, np.float64).reshape(observations.prices.shape)

        def solve(self) -> tuple[Array, float]:
            bundles = sp.choose(self.utilities, observations.prices, observations.budgets, caps=observations.caps)
            return bundles.ravel(), float(np.sum(self.utilities * bundles))

    torch.set_num_threads(1)
    T = len(observations)
    loss_fn = perturbedFenchelYoung(Market(), n_samples=n_samples, sigma=1.0, seed=int(rng.integers(2**31)))
    bought = torch.from_numpy(observations.bundles.reshape(1, -1).copy())
    u = torch.zeros(observations.n_goods, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([u], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps)
    for _ in range(n_steps):
        optimiser.zero_grad()
        (loss_fn(u.repeat(T)[None], bought) / T).backward()
        optimiser.step()
        schedule.step()
    return u.detach().numpy()


def fit_invopt(
    observations: sp.Observations,
    rng: np.random.Generator,  # noqa: ARG001
    weight: float = 1e-3,
    n_steps: int = 1000,
) -> Array:
    """Minimise InvOpt's augmented suboptimality loss plus weight·|u|²/2 by its first-order method, averaged.

    Notes
    -----
    Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024), distance |x - x_t|₁. InvOpt minimises θ·φ(s, x); θ = u
    and φ = -x, averaged over all customers, who are one signal: the same subgradient, without a loop over customers.
    The augmented problem max u·x + |x - x_t|₁ is linear but in the good bought in part, where the modulus is the
    larger of two slopes: two linear programmes, of which the better counts.
    """
    from invopt import FOM  # noqa: PLC0415

    prices, budgets, caps, bought = observations.prices, observations.budgets, observations.caps, observations.bundles
    usable_rows(sp.Regions.of(observations), "refuse")
    push = np.where(bought <= 0, 1.0, -1.0)
    is_inside = (bought > 0) & (bought < caps)

    def augmented_optimum(u: Array, menus: object, x: Array) -> Array:  # noqa: ARG001
        choices = [sp.choose(u + np.where(is_inside, side, push), prices, budgets, caps=caps) for side in (1.0, -1.0)]
        values = [(choice * u).sum(axis=1) + np.abs(choice - x).sum(axis=1) for choice in choices]
        return np.where((values[0] >= values[1])[:, None], *choices)

    return FOM(
        dataset=[(None, bought)],
        phi=lambda _, x: -x.mean(axis=0),
        theta_0=np.zeros(observations.n_goods),
        FOP=augmented_optimum,
        step_size=lambda step: min(1.0 / np.sqrt(step + 1.0), 1.0 / (weight * (step + 1.0))),
        T=n_steps,
        reg_param=weight,
        averaged=2,
    )


def fit_invopt_heavy(observations: sp.Observations, rng: np.random.Generator) -> Array:
    """Minimise the same with a weight of 10.

    A light weight is the better one for a corrupted common utility, a heavy one for heterogeneous customers (from 3 to
    100 the answer hardly moves), and held-out bundles do not tell which: buying nothing often predicts them best.
    """
    return fit_invopt(observations, rng, weight=10.0)


# --- ours, behind the same interface


def fit_likelihood(observations: sp.Observations, rng: np.random.Generator) -> Array:  # noqa: ARG001
    return sp.fit_maximum_likelihood(observations).mean_direction


def fit_common(observations: sp.Observations, rng: np.random.Generator) -> Array:
    return sp.CommonUtility(random_state=int(rng.integers(2**31))).fit(observations).utility_


OURS = {
    "likelihood": Peer("maximum likelihood (ours)", fit_likelihood),
    "common": Peer("CommonUtility (ours)", fit_common),
}
PEERS = {
    "pyepo": Peer("PyEPO, perturbed Fenchel-Young", fit_pyepo, ("torch", "pyepo")),
    "invopt": Peer("InvOpt, light regularisation", fit_invopt, ("invopt",)),
    "invopt-heavy": Peer("InvOpt, heavy regularisation", fit_invopt_heavy, ("invopt",)),
    "hinge": Peer("hinge programme", fit_hinge),
    "trimmed": Peer("trimmed hinge programme", fit_trimmed_hinge),
    "suboptimality": Peer("suboptimality loss, |u|_inf = 1", fit_suboptimality),
    "relative": Peer("relative suboptimality loss", fit_relative_suboptimality),
    "feasibility": Peer("feasibility programme", fit_feasible),
}


# --- markets


class Trial(NamedTuple):
    """One market.

    observations : to learn from; utilities : (T, n) that made them; truth : (n,) unit vector; test : new observations.
    """

    observations: sp.Observations
    utilities: Array
    truth: Array
    test: sp.Observations


class Cell(NamedTuple):
    """What the trials of one comparison share; `concentration` counts for gaussian, `corruption` for corruption."""

    setting: str
    law: str
    n_goods: int
    n_observations: int
    concentration: float = 5.0
    corruption: float = 0.1
    seed: int = 0


def streams(cell: Cell, trial: int) -> list[np.random.Generator]:
    """Return the generators of the truth, the observations, the test and the fits of a trial."""
    root = np.random.SeedSequence([cell.seed, LAWS.index(cell.law), cell.n_goods, trial])
    return [np.random.default_rng(child) for child in root.spawn(4)]


def draw_trial(cell: Cell, trial: int) -> Trial:
    truth_rng, data_rng, test_rng, _ = streams(cell, trial)
    truth = direction(cell.n_goods, truth_rng)
    law: Any = sp.VonMisesFisher(truth, cell.concentration)
    if cell.setting == "corruption":
        law = sp.CorruptedUtilityLaw(truth, cell.corruption)
    menu_law = sp.MenuLaw(cell.law)
    observations, utilities = sp.simulate(law, menu_law, cell.n_observations, rng=data_rng, return_utilities=True)
    return Trial(observations, utilities, truth, sp.simulate(law, menu_law, N_TEST, rng=test_rng))


def score_trial(cell: Cell, trial: Trial, estimate: Array) -> tuple[float, float]:
    """Return what the estimate reaches and what the truth reaches: value on new menus, or strict consistency."""
    if cell.setting == "corruption":
        return sp.consistency(estimate, trial.test), sp.consistency(trial.truth, trial.test)
    prices, budgets = trial.test.prices, trial.test.budgets
    reached, best = (np.sum(trial.truth * sp.choose(u, prices, budgets)) for u in (estimate, trial.truth))
    return float(reached), float(best)


def pool(scores: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the ratio of the sums over trials and its standard error, that of a ratio estimator."""
    reached, best = np.array(scores, np.float64).T
    ratio = reached.sum() / best.sum()
    k = len(scores)
    error = np.sqrt(k / (k - 1) * np.sum((reached - ratio * best) ** 2)) / best.sum() if k > 1 else np.nan
    return float(ratio), float(error)


# --- measuring


def _forget_peak() -> None:
    """Give freed memory back and let the peak start from what is in use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def missing(peer: Peer) -> list[str]:
    return [package for package in peer.needs if find_spec(package) is None]


@cache
def _warm_up(peer: Peer) -> None:
    """Import and compile what the peer uses."""
    for package in peer.needs:
        import_module(package)
    for law in LAWS:
        observations = draw_trial(Cell("gaussian", law, 4, 50), 0).observations
        try:
            peer.fit(observations, np.random.default_rng(0))
        except Exception:  # the fit that is measured reports its own failure
            continue


def measure(peer: Peer, observations: sp.Observations, rng: np.random.Generator) -> PeerResult:
    """Fit once; whatever goes wrong is a result."""
    absent = missing(peer)
    if absent:
        return PeerResult(None, None, None, f"not installed: {', '.join(absent)}")
    try:
        _warm_up(peer)
    except ImportError as error:
        return PeerResult(None, None, None, f"not installed: {error}")
    _forget_peak()
    before, start = resident("VmRSS"), time.perf_counter()
    u, failure = None, None
    try:
        u = np.asarray(peer.fit(observations, rng), np.float64)
    except PeerFailure as error:
        failure = str(error)
    except Exception as error:  # a crash of a peer is a row of the table, not the end of it
        failure = f"{type(error).__name__}: {error}"
    seconds, mebibytes = time.perf_counter() - start, max(resident("VmHWM") - before, 0.0)
    if u is not None and not (np.isfinite(u).all() and np.any(u)):
        u, failure = None, "the answer is no direction: zero or not finite"
    return PeerResult(None if u is None else u / np.linalg.norm(u), seconds, mebibytes, failure)


Measure = Callable[[str, sp.Observations, np.random.Generator], PeerResult]


def measure_here(name: str, observations: sp.Observations, rng: np.random.Generator) -> PeerResult:
    return measure({**OURS, **PEERS}[name], observations, rng)


@contextmanager
def workers() -> Iterator[Measure]:
    """Measure each method in a process of its own, so that none pays for the memory and threads of another."""
    pools: dict[str, ProcessPoolExecutor] = {}

    def measure_there(name: str, observations: sp.Observations, rng: np.random.Generator) -> PeerResult:
        if name not in pools:
            pools[name] = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        parts = (observations.prices, observations.budgets, observations.bundles, observations.caps)
        return pools[name].submit(_measure_parts, name, parts, rng).result()

    try:
        yield measure_there
    finally:
        for executor in pools.values():
            executor.shutdown()


def _measure_parts(name: str, parts: tuple[Array, ...], rng: np.random.Generator) -> PeerResult:
    prices, budgets, bundles, caps = parts
    return measure_here(name, sp.Observations(prices, budgets, bundles, caps=caps), rng)


# --- the table


class Row(NamedTuple):
    """One method over all trials of a cell.

    name : as printed.
    score, error : share of the truth's score and its standard error over the trials that ended well; None if none did.
    seconds : median; mebibytes : most; None where nothing ran.
    n_trials, n_failures : of the method.
    failure : the first one's text, or None.
    """

    name: str
    score: float | None
    error: float | None
    seconds: float | None
    mebibytes: float | None
    n_trials: int
    n_failures: int
    failure: str | None


def compare(
    cell: Cell, n_trials: int, names: Sequence[str] = (*OURS, *PEERS), measure_fn: Measure = measure_here
) -> list[Row]:
    """Return a row for each method on the same trials; for gaussian the first is the ceiling, with every u_t seen."""
    results: dict[str, list[PeerResult]] = {name: [] for name in names}
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ceiling", *names)}
    for index in range(n_trials):
        trial = draw_trial(cell, index)
        for name in names:
            result = measure_fn(name, trial.observations, streams(cell, index)[3])
            results[name].append(result)
            if result.direction is not None:
                scores[name].append(score_trial(cell, trial, result.direction))
        scores["ceiling"].append(score_trial(cell, trial, trial.utilities.mean(axis=0)))
    table = []
    if cell.setting == "gaussian":
        table.append(Row("ceiling: all utilities seen", *pool(scores["ceiling"]), None, None, n_trials, 0, None))
    for name in names:
        ran = [result for result in results[name] if result.seconds is not None]
        failures = [result.failure for result in results[name] if result.failure is not None]
        table.append(
            Row(
                name={**OURS, **PEERS}[name].name,
                score=pool(scores[name])[0] if scores[name] else None,
                error=pool(scores[name])[1] if scores[name] else None,
                seconds=float(np.median([result.seconds for result in ran])) if ran else None,
                mebibytes=max(result.mebibytes for result in ran) if ran else None,
                n_trials=n_trials,
                n_failures=len(failures),
                failure=failures[0] if failures else None,
            )
        )
    return table


def show(cell: Cell, n_trials: int, rows: Sequence[Row]) -> str:
    is_gaussian = cell.setting == "gaussian"
    spread = f"kappa = {cell.concentration:g}" if is_gaussian else f"delta = {cell.corruption:g}"
    lines = [
        f"{cell.setting}, law {cell.law}, n = {cell.n_goods}, T = {cell.n_observations}, {spread}, seed {cell.seed}, "
        f"trials 0-{n_trials - 1}: {'accuracy' if is_gaussian else 'strict consistency relative to u*'}, %"
    ]
    for row in rows:
        score = "failed".rjust(16) if row.score is None else f"{100 * row.score:7.2f} +- {100 * row.error:5.2f}"
        cost = f"{'':22}" if row.seconds is None else f"{row.seconds:9.2f} s {row.mebibytes:7.1f} MiB"
        note = f"  {row.n_failures} of {row.n_trials} failed: {row.failure}" if row.failure else ""
        lines.append(f"  {row.name:<32}{score}{cost}{note}".rstrip())
    return "\n".join(lines)


def _numbers(convert: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda text: [convert(part) for part in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--setting", choices=("gaussian", "corruption"), default="gaussian")
    parser.add_argument("--laws", type=_numbers(str), default=["i"])
    parser.add_argument("--goods", type=_numbers(int), default=[5, 10])
    parser.add_argument("--observations", type=int, default=1000)
    parser.add_argument("--concentration", type=_numbers(float), default=[5.0], help="for gaussian")
    parser.add_argument("--corruption", type=float, default=0.1, help="for corruption")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=_numbers(str), default=[*OURS, *PEERS], help=", ".join((*OURS, *PEERS)))
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in {**OURS, **PEERS}]
    unknown += [law for law in options.laws if law not in LAWS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; methods are {', '.join((*OURS, *PEERS))}, laws {', '.join(LAWS)}")
    with workers() as measure_fn:
        for law in options.laws:
            for n in options.goods:
                for kappa in options.concentration if options.setting == "gaussian" else [0.0]:
                    cell = Cell(options.setting, law, n, options.observations, kappa, options.corruption, options.seed)
                    rows = compare(cell, options.trials, options.only, measure_fn)
                    print(show(cell, options.trials, rows), flush=True)


if __name__ == "__main__":
    main()
