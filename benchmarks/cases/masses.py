"""Cases of masses of regions, and of the maximum of their product."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import stochpref as sp
from benchmarks.cases.data import DATA, degenerate, direction, market, patchy, stored
from benchmarks.cases.registry import MASSES, STEPS, Numbers, case, flat


def _masses(found: Any, name: str) -> Numbers:
    masses = {f"{name}.log_mass": found.log_mass, f"{name}.error": found.error}
    return masses if found.gradient is None else masses | {f"{name}.gradient": found.gradient}


@case(reordered=MASSES, data=DATA)
def log_mass(data: str) -> Numbers:
    """Exact masses and gradients, for laws that agree with the data and laws that turn their back on it."""
    found: Numbers = {}
    regions = sp.Regions.of(DATA[data]())
    mu = direction(regions.n_goods)
    for kappa in (0.0, 2.0, 60.0):
        for name, way in (("towards", mu), ("away", -mu)):
            here = f"{kappa:g}.{name}"
            log_masses, slopes = sp.log_mass(regions, way, kappa, gradient=True)
            found |= {f"{here}.log_mass": log_masses, f"{here}.gradient": slopes}
            found[f"{here}.value"] = sp.log_mass(regions, way, kappa)
    return found


@case(reordered=MASSES)
def log_mass_full() -> Numbers:
    found: Numbers = {}
    for data in ("i", "iii", "patchy"):
        regions = sp.Regions.of(DATA[data]())
        mu = direction(regions.n_goods)
        for tolerance in (1e-6, 1e-12):
            masses = sp.log_mass(regions, mu, 7.0, gradient=True, tolerance=tolerance, full=True)
            found |= _masses(masses, f"{data}.{tolerance:g}")
    found["degenerate"] = sp.log_mass(sp.Regions.of(degenerate()), direction(4), 7.0)
    return found


@case(reordered=MASSES, method=("monte_carlo", "cloud"))
def log_mass_sampled(method: str) -> Numbers:
    found: Numbers = {}
    for data in ("i", "ii", "iii", "patchy"):
        regions = sp.Regions.of(DATA[data]())
        sampled = sp.log_mass(
            regions, direction(regions.n_goods), 5.0, method=method, gradient=True, n_draws=300,
            rng=np.random.default_rng(11), full=True,
        )  # fmt: skip
        found |= _masses(sampled, data)
    return found


@case(reordered=MASSES, needs="jax")
def log_mass_jax() -> Numbers:
    found: Numbers = {}
    for data in ("i", "equal_rows"):
        regions = sp.Regions.of(DATA[data]())
        masses = sp.log_mass(regions, direction(regions.n_goods), 5.0, gradient=True, engine="jax")
        found |= {f"{data}.log_mass": masses[0], f"{data}.gradient": masses[1]}
    return found


@case(reordered=MASSES, needs="distributed")
def log_mass_dask() -> Numbers:
    masses = sp.log_mass(sp.Regions.of(market("i", 4, 700)), direction(4), 5.0, gradient=True, engine="dask")
    return {"log_mass": masses[0], "gradient": masses[1]}


@case(reordered=MASSES)
def log_mass_files() -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        source = stored(folder, patchy())
        return _masses(sp.log_mass(source, direction(5), 5.0, gradient=True, full=True), "files")


def likelihood(observations: Any, **options: Any) -> Numbers:
    found = flat(sp.fit_maximum_likelihood(observations, **options))
    del found["n_evaluations"]  # what an optimiser takes depends on the last bit
    return found


@case(reordered=STEPS, data=[name for name in DATA if name != "many_goods"])
def maximum_likelihood(data: str) -> Numbers:
    return likelihood(DATA[data]())


@case(reordered=STEPS)
def maximum_likelihood_others() -> Numbers:
    alike = sp.CorruptedUtilityLaw(direction(3), 0.0)
    separable = sp.simulate(alike, sp.MenuLaw("i"), 50, rng=np.random.default_rng(1))
    found: Numbers = {}
    for name, numbers in (
        ("degenerate", likelihood(degenerate(), degenerate="drop")),
        ("separable", likelihood(separable)),
        ("flat", likelihood(patchy(80))),
        ("few", likelihood(market("i", 4, 5))),
    ):
        # Where there is no maximum the curvature at the last point tried is noise.
        kept = ("mean_direction", "log_likelihood") if name == "separable" else numbers
        found |= {f"{name}.{key}": numbers[key] for key in kept}
    return found


@case(reordered=STEPS, needs="jax")
def maximum_likelihood_jax() -> Numbers:
    return likelihood(market("i"), engine="jax")


@case(reordered=STEPS, needs="distributed")
def maximum_likelihood_dask() -> Numbers:
    return likelihood(market("i", 4, 700), engine="dask")
