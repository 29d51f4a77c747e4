"""The posterior: do the samplers agree, how well does it predict, what does an effective draw cost, how far does it go.

``python -m benchmarks.posterior`` runs every section at a small size; ``python -m benchmarks.posterior accuracy --size
full`` prints the figures quoted in the documentation. Sections: agreement, accuracy, peers, speed, large, efficiency,
steps.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import stochpref as sp
from stochpref.laws import uniform_directions
from stochpref.mass.masses import exact_log_mass
from stochpref.paper.metropolis import MetropolisOptions
from stochpref.paper.reproduce.markets import BOUNDS, LAWS, Cell, make_market
from stochpref.paper.reproduce.methods import Method
from stochpref.paper.reproduce.table1 import PUBLISHED
from stochpref.paper.reproduce.trials import Task, pooled, run_trials
from stochpref.posterior.chains import Plan, run_chains
from stochpref.posterior.choosing import gibbs_cost, importance_cost
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.prior import Prior
from stochpref.posterior.results import group, parameters_of
from stochpref.posterior.samplers.gibbs import Gibbs
from stochpref.posterior.target import Target
from stochpref.stores.memory import Memory

OURS = Method("ours")
MENUS = ("uniform", "discrete", "fixed")
# (goods, observations, concentration, law) of ten data sets.
DATA_SETS = (
    (3, 100, 2.0, "uniform"), (3, 300, 6.0, "discrete"), (3, 200, 9.0, "fixed"),
    (5, 300, 4.0, "uniform"), (5, 300, 6.0, "discrete"), (8, 400, 5.0, "fixed"),
    (10, 500, 3.0, "uniform"), (10, 500, 8.0, "discrete"), (15, 800, 6.0, "fixed"), (25, 1000, 5.0, "uniform"),
)  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings: the tables say what converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def market(n: int, size: int, kappa: float, law: str, seed: int) -> sp.Observations:
    rng = np.random.default_rng([seed, n, size])
    truth = uniform_directions(1, n, rng=rng)[0]
    truth = truth if truth.max() > 0 else -truth
    return sp.simulate(sp.VonMisesFisher(truth, kappa), sp.MenuLaw(law), size, rng=rng)


def moments(model: sp.HeterogeneousUtility) -> tuple[np.ndarray, np.ndarray, Diagnostics]:
    """Return posterior means and standard deviations of the components of μ and of κ, and their Monte Carlo errors."""
    draws = parameters_of(model.posterior_)
    values = np.column_stack([draws[name].reshape(draws[name].shape[0] * draws[name].shape[1], -1) for name in draws])
    return values.mean(axis=0), values.std(axis=0), diagnose(draws)


def grid_moments(observations: sp.Observations, bounds: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for three goods by brute force: a grid over h, weighted by the exact likelihood."""
    regions = sp.Regions.of(observations)
    estimate = sp.fit_maximum_likelihood(observations)
    spread = np.sqrt(np.diag(estimate.covariance))
    # A box of h around the maximum, wide enough to hold all but 1e-6 of the posterior; |h|^(1-n) is the prior there.
    # Sums over a grid of a bell are exact but for exp(-2 π²/step²), the step in standard deviations: here e-58.
    axes = [np.linspace(centre - 7 * s, centre + 7 * s, 25) for centre, s in zip(estimate.h, spread, strict=True)]
    h = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    kappa = np.linalg.norm(h, axis=1)
    inside = (kappa > bounds[0]) & (kappa < bounds[1])
    h, kappa = h[inside], kappa[inside]
    log_density = np.array([exact_log_mass(regions, point, tolerance=1e-8).log_mass.sum() for point in h])
    log_density -= 2.0 * np.log(kappa)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    values = np.column_stack([h / kappa[:, None], kappa])
    mean = weight @ values
    return mean, np.sqrt(weight @ (values - mean) ** 2)


def agreement(full: bool) -> None:
    print("largest z over means and standard deviations of mu and kappa: difference in Monte Carlo errors of both")
    print(f"{'n':>4}{'T':>6}{'kappa':>7} {'law':<10}{'against':<14}{'gibbs':>8}{'hamilton.':>10}{'importance':>12}")
    effective = 2000 if full else 400
    for n, size, kappa, law in DATA_SETS if full else DATA_SETS[1:6:2]:
        data = market(n, size, kappa, law, 0)
        bounds = (0.0, 20.0 * n)
        found = {}
        for sampler in ("gibbs", "hamiltonian", "importance"):
            with quiet():
                model = sp.HeterogeneousUtility(bounds, sampler, n_draws=500, n_effective=effective, random_state=1)
                found[sampler] = moments(model.fit(data))
        print(
            f"{n:>4}{size:>6}{kappa:>7g} {law:<10}{'hamiltonian':<14}" + _z_line(found, found["hamiltonian"]),
            flush=True,
        )
        if n == 3:
            mean, sd = grid_moments(data, bounds)
            exact = (mean, sd, Diagnostics(("",) * 4, *[np.zeros(4)] * 5))
            print(f"{n:>4}{size:>6}{kappa:>7g} {law:<10}{'grid':<14}" + _z_line(found, exact), flush=True)


def _z_line(found: dict, other: tuple) -> str:
    shown = []
    for name, width in (("gibbs", 8), ("hamiltonian", 10), ("importance", 12)):
        mean, sd, errors = found[name]
        if other is found[name]:
            shown.append(f"{'—':>{width}}")
            continue
        z_mean = (mean - other[0]) / np.hypot(errors.mcse_mean, other[2].mcse_mean)
        z_sd = (sd - other[1]) / np.hypot(errors.mcse_sd, other[2].mcse_sd)
        shown.append(f"{max(np.abs(z_mean).max(), np.abs(z_sd).max()):>{width}.1f}")
    return "".join(shown)


ACCURACY = ((3, 1000, 99.3), (5, 1000, 99.0), (10, 1000, 98.2), (25, 1000, 94.5), (25, 5000, 98.3))


def accuracy(full: bool, jobs: int, folder: Path | None) -> None:
    n_trials = 40 if full else 4
    print(f"accuracy in percent, pooled over {n_trials} paired trials, kappa stratified on {BOUNDS}, seed 0")
    print(f"{'n':>4}{'T':>6} {'law':<5}{'posterior mean':>20}{'one draw':>10}{'ceiling':>9}{'gap':>7}", end="")
    print(f"{'paper':>7}{'target':>8}")
    for n, size, target in ACCURACY if full else ACCURACY[:3]:
        for law in LAWS:
            tasks = [Task(Cell("gaussian", law, n, size), OURS, trial, 0) for trial in range(n_trials)]
            outcomes = list(run_trials(tasks, jobs=jobs, folder=folder).values())
            reached, best, ceiling, draw = (
                np.array([getattr(outcome, name) for outcome in outcomes])
                for name in ("reached", "best", "ceiling", "one_draw")
            )
            ours, top = pooled(reached, best), pooled(ceiling, best)
            print(
                f"{n:>4}{size:>6} {law:<5}{ours.mean:>12.2f} ± {ours.standard_error:<5.2f}"
                f"{pooled(draw, best).mean:>10.2f}{top.mean:>9.2f}{top.mean - ours.mean:>7.2f}"
                f"{PUBLISHED['gaussian', law][n]:>7.1f}{target:>8.1f}",
                flush=True,
            )


def pyepo_trial(task: Task) -> float:
    """Return the value that PyEPO's direction reaches on the market of a trial; NaN if it fails."""
    from benchmarks.peers import PEERS, measure  # noqa: PLC0415

    place = make_market(task.cell, task.trial, task.seed, task.concentration)
    result = measure(PEERS["pyepo"], place.observations, np.random.default_rng(task.trial))
    return np.nan if result.direction is None else place.value(result.direction)


def peers(full: bool, jobs: int, folder: Path | None) -> None:
    """Compare with PyEPO's perturbed Fenchel-Young loss on the same markets; needs the extra `peers`."""
    n_trials = 20 if full else 4
    print("posterior mean against PyEPO's perturbed Fenchel-Young loss, T = 1000, law (i), seed 0,")
    print(f"{n_trials} paired trials")
    print(f"{'n':>4}{'kappa':>7}{'ours':>10}{'pyepo':>10}{'ours - pyepo':>22}{'ceiling':>9}")
    for n in (5, 10, 25) if full else (5,):
        for kappa in (5.0, 1.0):
            tasks = [
                Task(Cell("gaussian", "i", n, 1000), OURS, trial, 0, concentration=kappa) for trial in range(n_trials)
            ]
            ours = list(run_trials(tasks, jobs=jobs, folder=folder).values())
            with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
                theirs = list(pool.map(pyepo_trial, tasks))
            reached, best, ceiling = (
                np.array([getattr(outcome, name) for outcome in ours]) for name in ("reached", "best", "ceiling")
            )
            other = np.array(theirs)
            difference = pooled(reached - other, best)
            print(
                f"{n:>4}{kappa:>7g}{pooled(reached, best).mean:>10.2f}{pooled(other, best).mean:>10.2f}"
                f"{difference.mean:>14.2f} ± {difference.standard_error:<5.2f}{pooled(ceiling, best).mean:>9.2f}",
                flush=True,
            )


def speed(full: bool) -> None:
    n, size = (25, 1000) if full else (10, 300)
    data = market(n, size, 5.0, "uniform", 0)
    regions = sp.Regions.of(data)
    with quiet():
        sp.HeterogeneousUtility(n_draws=5, n_effective=0, random_state=0).fit(data)  # compiles
        started = time.perf_counter()
        model = sp.HeterogeneousUtility(n_effective=1000, random_state=0).fit(data)
        str(model.summary())
        seconds = time.perf_counter() - started
    found = model.diagnostics_
    ours = found.fewest_effective / seconds
    print(f"n = {n}, T = {size}, kappa = 5, law (i): {model.sampler_} ({model.reason_})")
    print(
        f"  {seconds:.1f} s from fit to summary, R-hat at most {found.worst_r_hat:.4f}, at least "
        f"{found.fewest_effective:,.0f} effective draws of every component: {ours:.1f} a second"
    )
    # A cloud is usable when it sees every observation often enough: the error of its log-likelihood, which the
    # acceptance ratio takes for exact, below 1. Var(log p̂) = (1 - p)/(N p) each, over all observations.
    direction, kappa = model.mean_direction_, model.concentration_
    log_mass = exact_log_mass(regions, kappa * direction).log_mass
    needed = float(np.sum(np.exp(-log_mass) - 1.0))
    print(f"  a cloud whose log-likelihood has standard error 1 needs N = {needed:.3g} draws a step")
    rates = []
    for n_cloud in (10_000, 40_000):
        options = MetropolisOptions(n_cloud=n_cloud)
        with quiet():
            started = time.perf_counter()
            sp.HeterogeneousUtility(
                BOUNDS, "metropolis", n_chains=1, n_draws=60, n_effective=0, random_state=0, metropolis=options
            ).fit(data)
            rates.append((time.perf_counter() - started) / 60)
    a_step = rates[1] + (rates[1] - rates[0]) / 30_000 * max(needed - 40_000, 0.0)
    with quiet():
        exact = sp.HeterogeneousUtility(
            BOUNDS, "metropolis", n_chains=2, n_draws=3000 if full else 300, n_effective=0, random_state=0,
            metropolis=MetropolisOptions(likelihood="exact"),
        ).fit(data)  # fmt: skip
    draws = group(exact.posterior_, "posterior")
    late = slice(draws.sizes["draw"] // 3, None)
    share = diagnose({str(name): values.values[:, late] for name, values in draws.items()})
    n_late = 2 * (draws.sizes["draw"] - draws.sizes["draw"] // 3)
    theirs = share.fewest_effective / n_late / a_step
    print(f"  Algorithm 1: {1e3 * rates[0]:.1f} ms a step at N = 10,000, {a_step:.3g} s at the usable N (extrapolated)")
    print(f"  its chain, even with the exact likelihood: {share.fewest_effective / n_late:.4f} effective draws a step")
    print(f"  effective draws a second: ours {ours:.3g}, Algorithm 1 {theirs:.3g}, ratio {ours / theirs:.3g}")


def large(full: bool) -> None:
    cases = ((100, 5000, 5.0), (10, 100_000, 5.0)) if full else ((40, 500, 5.0),)
    print(f"{'n':>4}{'T':>8}{'sampler':>12}{'seconds':>9}{'R-hat':>8}{'ESS':>7}{'MiB beyond data':>17}")
    for n, size, kappa in cases:
        data = market(n, size, kappa, "uniform", 0)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with quiet():
            started = time.perf_counter()
            model = sp.HeterogeneousUtility(n_draws=400, random_state=0).fit(data)
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = model.diagnostics_
        print(
            f"{n:>4}{size:>8}{model.sampler_:>12}{seconds:>9.0f}{found.worst_r_hat:>8.4f}{found.fewest_effective:>7.0f}"
            f"{after - before:>17.0f}",
            flush=True,
        )


def efficiency(full: bool) -> None:
    print("effective draws a draw of Gibbs, and what the choice of a sampler expects: µs a row and effective draw")
    print(f"{'n':>4}{'kappa':>7} {'law':<10}{'ESS/draw':>10}{'gibbs µs':>10}{'expected':>10}{'importance':>12}")
    cases = ((3, 2.0), (3, 10.0), (10, 2.0), (10, 5.0), (10, 20.0), (25, 5.0), (25, 20.0), (60, 10.0), (60, 60.0))
    for n, kappa in cases if full else cases[:4]:
        for law in MENUS[:: 1 if full else 2]:
            regions = sp.Regions.of(market(n, 500, kappa, law, 0))
            run = run_chains(Gibbs(Target(Memory(regions), Prior(0.0, 20.0 * n)), 0), Plan(4, 500, 0), fingerprint={})
            share = run.diagnostics.fewest_effective / 2000
            cost = 1e6 * run.seconds / (run.n_steps * 4 * 500) / share
            print(
                f"{n:>4}{kappa:>7g} {law:<10}{share:>10.3f}{cost:>10.0f}{gibbs_cost(n, kappa):>10.0f}"
                f"{importance_cost(n, 500):>12.0f}",
                flush=True,
            )


def steps_trial(case: tuple[int, int, float, float]) -> tuple[float, float]:
    """Return the value that the last state of Algorithm 1 reaches, and the best there is, for one choice of steps."""
    n, trial, step, concentration_step = case
    place = make_market(Cell("gaussian", "i", n, 1000), trial, seed=1000)
    with quiet():
        model = sp.HeterogeneousUtility(
            BOUNDS, "metropolis", n_chains=1, n_draws=1000, n_effective=0, random_state=trial,
            metropolis=MetropolisOptions(step, concentration_step),
        ).fit(place.observations)  # fmt: skip
    last = group(model.posterior_, "posterior")["mean_direction"].values[0, -1]
    return place.value(last), place.value(place.truth)


def steps(full: bool, jobs: int) -> None:
    """Compare step sizes of Algorithm 1, which the paper does not state, on markets that no other section uses."""
    n_trials, goods = (4, (5, 25)) if full else (2, (3,))
    sizes = list(product((0.03, 0.1, 0.3), (0.3, 1.0, 3.0)))
    print(f"accuracy of Algorithm 1's last state, K = T = 1000, law (i), seed 1000, {n_trials} trials, in percent")
    print(f"{'step':>6}{'kappa step':>12}" + "".join(f"{f'n = {n}':>16}" for n in goods))
    os.environ["STOCHPREF_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(jobs) as pool:
        for pair in sizes:
            scores = []
            for n in goods:
                results = np.array(list(pool.map(steps_trial, [(n, trial, *pair) for trial in range(n_trials)])))
                scores.append(pooled(results[:, 0], results[:, 1]))
            print(
                f"{pair[0]:>6g}{pair[1]:>12g}" + "".join(f"{s.mean:>9.2f} ± {s.standard_error:<4.2f}" for s in scores),
                flush=True,
            )


def main() -> None:
    sections = ("agreement", "accuracy", "peers", "speed", "large", "efficiency", "steps")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.posterior", description=__doc__)
    parser.add_argument("sections", nargs="*", default=[])
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder to keep finished trials in, and to resume from")
    options = parser.parse_args()
    full = options.size == "full"
    for name in options.sections or [section for section in sections if section != "peers"]:
        if name not in sections:
            parser.error(f"no section {name!r}; there are {', '.join(sections)}")
        print(f"-- {name}")
        if name in ("accuracy", "peers"):
            globals()[name](full, options.jobs, options.keep)
        elif name == "steps":
            steps(full, options.jobs)
        else:
            globals()[name](full)


if __name__ == "__main__":
    main()
