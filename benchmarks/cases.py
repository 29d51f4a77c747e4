"""Small computations over everything the library does, each a function that returns its numbers by name.

`benchmarks.same_numbers` runs them on two commits and compares; `tests/test_stored_numbers.py` compares some of them
with numbers that are stored. They use public names only, so that they run on any commit: `settings` finds a class of
options wherever the sources at hand keep it.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import stochpref as sp

Numbers = dict[str, np.ndarray]

MASSES: Final = 1e-12  # what masses and their sums may differ by where the order of summation does
STEPS: Final = 1e-8  # and what short runs, of 30 steps or so, make of that
N_STEPS: Final = 30
LAWS: Final = {"i": "uniform", "ii": "discrete", "iii": "fixed"}
_ENOUGH_TO_STREAM: Final = 66_000  # stored observations beyond which the library passes over files: 65,536


class Case(NamedTuple):
    """A computation.

    name : of the function.
    compute_fn : () -> numbers.
    reordered : the difference to allow where sums are added in another order; 0 for none at all.
    needs : an optional package without which it is left out, "" for none.
    is_stored : its numbers are kept in `tests/reference`.
    """

    name: str
    compute_fn: Callable[[], Numbers]
    reordered: float
    needs: str
    is_stored: bool


CASES: Final[dict[str, Case]] = {}


def case(*, reordered: float = 0.0, needs: str = "", is_stored: bool = False, **variants: Any) -> Callable[..., Any]:
    """Enter a function in `CASES`; once for each item of `variants`, {"word": value} of its one argument, if any."""

    def enter(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
        own = function.__name__
        for argument, values in variants.items():
            for value in values:
                word = str(value).replace(".", "_")
                CASES[f"{own}_{word}"] = Case(
                    f"{own}_{word}", lambda a=argument, v=value: function(**{a: v}), reordered, needs, is_stored
                )
        if not variants:
            CASES[own] = Case(own, function, reordered, needs, is_stored)
        return function

    return enter


def can_run(one: Case) -> bool:
    """Tell whether what a case needs is installed."""
    return not one.needs or find_spec(one.needs) is not None


def compute(one: Case) -> Numbers:
    """Return the numbers of a case; that short runs have not converged is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: np.asarray(values) for name, values in one.compute_fn().items()}


def settings(name: str) -> Any:
    """Return a class of options that is no public name, from the module that defines it."""
    home = Path(sp.__file__).parent
    for path in sorted(home.rglob("*.py")):
        if re.search(rf"^class {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            return getattr(import_module(".".join(("stochpref", *path.relative_to(home).with_suffix("").parts))), name)
    raise LookupError(f"no module of {home} defines {name}")


def flat(value: Any, name: str = "") -> Numbers:
    """Return the numbers in a record, a mapping or a sequence by their path; words are left out."""
    if value is None or isinstance(value, str):
        return {}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if hasattr(value, "__dataclass_fields__"):
        value = {field: getattr(value, field) for field in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list | tuple) and not all(isinstance(v, bool | int | float) for v in value):
        items = list(enumerate(value))
    else:
        return {name: np.asarray(value)}
    found: Numbers = {}
    for key, inner in items:
        found |= flat(inner, f"{name}.{key}" if name else str(key))
    return found


# -- data ----------------------------------------------------------------------------------------------------------


def direction(n: int, seed: int = 0) -> np.ndarray:
    mu = np.random.default_rng([seed, n]).standard_normal(n)
    return mu / np.linalg.norm(mu)


@cache
def market(law: str = "i", n: int = 4, size: int = 80, kappa: float = 6.0, seed: int = 1) -> sp.Observations:
    rng = np.random.default_rng(seed)
    return sp.simulate(sp.VonMisesFisher(direction(n), kappa), sp.MenuLaw(LAWS[law]), size, rng=rng)


@cache
def crowd(law: str = "i", n: int = 5, size: int = 150, seed: int = 2) -> sp.Observations:
    """Simulate customers who share one utility, but for a tenth."""
    rng = np.random.default_rng(seed)
    return sp.simulate(sp.CorruptedUtilityLaw(np.abs(direction(n)), 0.1), sp.MenuLaw(LAWS[law]), size, rng=rng)


def patchy_menus(size: int, n: int = 5, seed: int = 3) -> sp.Menus:
    """Menus that lack goods, with caps and prices of another currency."""
    rng = np.random.default_rng(seed)
    prices = 40.0 * rng.uniform(1.0, 2.0, (size, n))
    prices[rng.random((size, n)) < 0.25] = np.inf
    prices[:, 0] = 50.0 + np.arange(size) % 7
    names = [f"good {letter}" for letter in "abcdefgh"[:n]]
    return sp.Menus(prices, 40.0 * rng.uniform(0.5, 3.0, size), goods=names, caps=rng.choice([0.5, 1.0, 2.0], n))


@cache
def patchy(size: int = 80, *, is_common: bool = False) -> sp.Observations:
    """Observations with goods absent and caps."""
    menus = patchy_menus(size)
    rng = np.random.default_rng(4)
    law = sp.CorruptedUtilityLaw(np.abs(direction(5)), 0.1) if is_common else sp.VonMisesFisher(direction(5), 5.0)
    return sp.simulate(law, menus, size, rng=rng)


@cache
def degenerate() -> sp.Observations:
    """Observations of which three could be explained by exact ties only."""
    data = market("i", 4, 60)
    bundles = data.bundles.copy()
    bundles[[5, 17, 40]] = 0.1
    return sp.Observations(data.prices, data.budgets, bundles, goods=data.goods)


DATA: Final[dict[str, Callable[[], sp.Observations]]] = {
    **{law: lambda law=law: market(law) for law in LAWS},
    "two_goods": lambda: market("i", 2, 60),
    "many_goods": lambda: market("i", 25, 40),
    "equal_rows": lambda: market("iii", 3, 200),
    "patchy": patchy,
}


def stored(folder: str | Path, observations: sp.Observations, n_files: int = 2) -> sp.StoredObservations:
    """Write observations to Parquet files and return them as they lie there."""
    ends = np.linspace(0, len(observations), n_files + 1).astype(int)
    for k in range(n_files):
        sp.write_observations(observations[ends[k] : ends[k + 1]], Path(folder) / f"{k}.parquet", layout="wide")
    return sp.StoredObservations(folder)


# -- choices, laws, regions, files ---------------------------------------------------------------------------------


@case(law=LAWS, is_stored=True)
def simulate(law: str) -> Numbers:
    observations, utilities = sp.simulate(
        sp.VonMisesFisher(direction(4), 3.0), sp.MenuLaw(law), 50, rng=np.random.default_rng(5), return_utilities=True
    )
    return {
        "prices": observations.prices, "budgets": observations.budgets, "bundles": observations.bundles,
        "utilities": utilities,
    }  # fmt: skip


@case()
def laws() -> Numbers:
    mu = direction(4)
    found: Numbers = {}
    for kappa in (0.0, 0.5, 8.0, 400.0):
        law = sp.VonMisesFisher(mu, kappa)
        draws = law.sample(20, rng=np.random.default_rng(6))
        found |= {f"draws.{kappa:g}": draws, f"log_density.{kappa:g}": law.log_density(draws)}
    for name, other in (("uniform", None), ("vector", direction(4, 9)), ("law", sp.VonMisesFisher(mu, 20.0))):
        odd = sp.CorruptedUtilityLaw(mu, 0.4, other)
        found[f"corrupted.{name}"] = odd.sample(20, rng=np.random.default_rng(7))
    return found


@case()
def choose() -> Numbers:
    u = np.random.default_rng(8).standard_normal((80, 5))
    menus, found = patchy_menus(80), {}
    found["patchy"] = sp.choose(u, menus.prices, menus.budgets, caps=menus.caps)
    for law in LAWS:
        data = market(law, 5)
        found[law] = sp.choose(u, data.prices, data.budgets)
        found[f"{law}.one"] = sp.choose(u[0], data.prices, data.budgets)
    found["accuracy"] = sp.accuracy(u[0], u[1], data.prices, data.budgets)
    found["consistency"] = sp.consistency(u[0], data)
    return found


@case(data=DATA)
def regions(data: str) -> Numbers:
    found = sp.Regions.of(DATA[data]())
    n = found.n_goods
    u = np.random.default_rng(9).standard_normal((20, n))
    numbers = {
        "kind": found.kind, "kind_code": found.kind_code, "side": found.side, "slope": found.slope,
        "pivot": found.pivot, "price_scale": found.price_scale,
        "contains": found.contains(u), "contains.one": found.contains(direction(n)),
        "contains.strict": found.contains(u, strict=True), "contains.margin": found.contains(u, margin=0.05),
        "interior": found.interior_points(rng=np.random.default_rng(10)),
        "inequalities": np.concatenate([found.inequalities(t)[0] for t in range(10)]),
    }  # fmt: skip
    merged = found.merged()
    return numbers | ({} if merged is None else {"counts": merged.counts, "place": merged.place})


@case()
def files() -> Numbers:
    found: Numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("long", "wide"):
            for suffix in ("csv", "parquet"):
                path = Path(folder) / f"{layout}.{suffix}"
                sp.write_observations(patchy(), path, layout=layout)
                found |= _table(sp.read_observations(path), f"observations.{layout}.{suffix}")
                sp.write_menus(patchy_menus(30), path, layout=layout)
                found |= _table(sp.read_menus(path), f"menus.{layout}.{suffix}")
    with tempfile.TemporaryDirectory() as folder:
        for k, block in enumerate(stored(folder, patchy()).blocks()):
            found |= _table(block, f"block{k}")
    return found


def _table(table: Any, name: str) -> Numbers:
    fields = ("prices", "budgets", "caps", *(("bundles",) if hasattr(table, "bundles") else ()))
    return {f"{name}.{field}": getattr(table, field) for field in fields}


@case()
def audit() -> Numbers:
    return {
        f"{name}.{path}": value
        for name, data in (("degenerate", degenerate()), ("patchy", patchy()), ("equal", market("iii", 3, 200)))
        for path, value in flat(data.audit()).items()
    }


# -- masses and maximum likelihood ---------------------------------------------------------------------------------


def _masses(found: Any, name: str) -> Numbers:
    masses = {f"{name}.log_mass": found.log_mass, f"{name}.error": found.error}
    return masses if found.gradient is None else masses | {f"{name}.gradient": found.gradient}


@case(reordered=MASSES, is_stored=True, data=DATA)
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


def _likelihood(observations: Any, **options: Any) -> Numbers:
    found = flat(sp.fit_maximum_likelihood(observations, **options))
    del found["n_evaluations"]  # what an optimiser takes depends on the last bit
    return found


@case(reordered=STEPS, is_stored=True, data=[name for name in DATA if name != "many_goods"])
def maximum_likelihood(data: str) -> Numbers:
    return _likelihood(DATA[data]())


@case(reordered=STEPS)
def maximum_likelihood_others() -> Numbers:
    alike = sp.CorruptedUtilityLaw(direction(3), 0.0)
    separable = sp.simulate(alike, sp.MenuLaw("i"), 50, rng=np.random.default_rng(1))
    found: Numbers = {}
    for name, numbers in (
        ("degenerate", _likelihood(degenerate(), degenerate="drop")),
        ("separable", _likelihood(separable)),
        ("few", _likelihood(market("i", 4, 5))),
    ):
        found |= {f"{name}.{key}": value for key, value in numbers.items()}
    return found


@case(reordered=STEPS, needs="jax")
def maximum_likelihood_jax() -> Numbers:
    return _likelihood(market("i"), engine="jax")


@case(reordered=STEPS, needs="distributed")
def maximum_likelihood_dask() -> Numbers:
    return _likelihood(market("i", 4, 700), engine="dask")


# -- the posterior -------------------------------------------------------------------------------------------------


def posterior(observations: Any, sampler: str, **options: Any) -> sp.HeterogeneousUtility:
    """Return a fit of 30 steps of two chains."""
    kept = {"n_chains": 2, "n_draws": N_STEPS, "n_effective": 0, "random_state": 12} | options
    return sp.HeterogeneousUtility(sampler=sampler, **kept).fit(observations)


def drawn(model: sp.HeterogeneousUtility) -> Numbers:
    """Return all that was drawn, and what follows for the law."""
    found: Numbers = {
        "sampler": np.array(model.sampler_), "status": np.array(model.status_),
        "direction": model.mean_direction_, "concentration": np.array(model.concentration_),
        "verdicts": np.array([model.is_converged_, model.is_identified_]),
        "n_dropped": np.array(model.n_dropped_), "likelihood_error": np.array(model.likelihood_error_),
    }  # fmt: skip
    for group in ("posterior", "sample_stats"):
        for name, values in model.posterior_[group].data_vars.items():
            found[f"{group}.{name}"] = values.values
    return found


@case(reordered=STEPS, is_stored=True, data=DATA)
def gibbs(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "gibbs"))


@case(reordered=STEPS, is_stored=True, data=[name for name in DATA if name != "many_goods"])
def importance(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "importance"))


@case(reordered=STEPS, is_stored=True, data=("i", "iii", "patchy"))
def hamiltonian(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "hamiltonian"))


@case(reordered=STEPS, is_stored=True, data=("i", "two_goods", "patchy"))
def layered(data: str) -> Numbers:
    return drawn(posterior(DATA[data](), "layered"))


@case(reordered=STEPS, is_stored=True, likelihood=("monte_carlo", "exact"))
def metropolis(likelihood: str) -> Numbers:
    options = settings("MetropolisOptions")(likelihood=likelihood, n_cloud=500, step=0.05)
    found: Numbers = {}
    for data in ("i", "iii"):
        model = posterior(DATA[data](), "metropolis", metropolis=options)
        found |= {f"{data}.{name}": values for name, values in drawn(model).items()}
    return found


def _log_prior(mean_direction: np.ndarray, concentration: float) -> float:
    return float(3.0 * mean_direction[0] - 0.2 * concentration)


@case(reordered=STEPS, sampler=("gibbs", "importance", "hamiltonian", "layered", "metropolis"))
def prior_function(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3), sampler, prior=_log_prior, concentration_bounds=(0.5, 30.0)))


@case(reordered=STEPS)
def auto() -> Numbers:
    """Let the library choose: for few observations, many, many goods, bounds without a mode, runs until enough."""
    plans: dict[str, tuple[sp.Observations, dict[str, Any]]] = {
        "few": (market("i", 4, 12), {}),
        "many": (market("i", 3, 400), {}),
        "narrow": (market("i", 3, 60), {"concentration_bounds": (1.0, 2.0)}),
        "goods": (market("i", 12, 80, 12.0), {}),
        "until_enough": (market("iii", 3, 200), {"n_effective": 60, "max_draws": 400, "n_chains": 4}),
    }
    found: Numbers = {}
    for name, (data, options) in plans.items():
        found |= {f"{name}.{key}": values for key, values in drawn(posterior(data, "auto", **options)).items()}
    return found


@case(reordered=STEPS)
def degenerate_dropped() -> Numbers:
    model = posterior(degenerate(), "gibbs", degenerate="drop")
    return drawn(model) | {"utilities": model.utilities().mean}


@case(reordered=STEPS, needs="jax", sampler=("importance", "hamiltonian", "layered"))
def jax(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3), sampler, engine="jax", n_draws=8))


@case(reordered=STEPS, needs="distributed", sampler=("gibbs", "importance"))
def dask(sampler: str) -> Numbers:
    return drawn(posterior(market("i", 3, 700), sampler, engine="dask"))


@case(reordered=STEPS)
def few_files() -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        return drawn(posterior(stored(folder, patchy()), "gibbs"))


@case(reordered=STEPS)
def many_files() -> Numbers:
    """Rows passed over on disk: the posterior anchored at exact sums, and the maximum it starts from."""
    with tempfile.TemporaryDirectory() as folder:
        source = stored(folder, market("i", 2, _ENOUGH_TO_STREAM, 3.0))
        found = drawn(posterior(source, "auto"))
        found |= {f"hamiltonian.{k}": v for k, v in drawn(posterior(source, "hamiltonian", n_draws=5)).items()}
        return found | {f"likelihood.{k}": v for k, v in _likelihood(source).items()}


# -- what fits are used for ----------------------------------------------------------------------------------------


@cache
def _fit(data: str) -> sp.HeterogeneousUtility:
    return posterior(DATA[data](), "gibbs")


def _asked(goods: tuple[str, ...]) -> sp.Menus:
    """Menus of the goods of a fit in another order, one of them not on offer in the last."""
    prices = np.random.default_rng(13).uniform(1.0, 2.0, (3, len(goods)))
    prices[2, 0] = np.inf
    return sp.Menus(prices, [1.0, 2.0, 1.5], goods=goods[::-1], labels=["a", "b", "c"])


@case(reordered=STEPS, is_stored=True, data=("i", "patchy"))
def demand(data: str) -> Numbers:
    model = _fit(data)
    menus = _asked(model.goods_)
    found = flat(model.demand(menus, n_customers=512, n_draws=40))
    found |= {f"again.{name}": values for name, values in _again(model, menus).items()}
    some = model.demand(menus.prices[0], 1.5, n_customers=64, n_draws=20, level=0.5)
    return found | {f"plain.{name}": values for name, values in flat(some).items()}


def _again(model: Any, menus: sp.Menus) -> Numbers:
    """Return what a fit says after it was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "fit")
        loaded: Any = sp.load_fit(Path(folder) / "fit")
    found = {"predict": loaded.predict(menus)}
    if isinstance(model, sp.HeterogeneousUtility):
        return found | drawn(loaded) | flat(loaded.demand(menus, n_customers=512, n_draws=40), "demand")
    return found | certificate(loaded)


@case(reordered=STEPS, is_stored=True, data=("i", "patchy"))
def elasticities(data: str) -> Numbers:
    model = _fit(data)
    menus = _asked(model.goods_)
    found = flat(model.elasticities(menus[0], n_customers=512, n_draws=40), "all")
    some = model.elasticities(menus[2], goods=model.goods_[1:3], n_customers=512, n_draws=40)
    return found | flat(some, "some")


@case(reordered=STEPS, is_stored=True, data=("i", "iii", "patchy"))
def customers(data: str) -> Numbers:
    """Utilities of customers, scores of observations, predictions."""
    model, whole = _fit(data), DATA[data]()
    own, new = model.utilities(), model.utilities(whole[:7])
    left_out = model.loo()
    menus = _asked(model.goods_)
    return {
        "mean": own.mean, "sd": own.sd, "new.mean": new.mean, "new.sd": new.sd,
        "log_likelihood": model.log_likelihood(whole[:20]), "score": np.array(model.score(whole[:20])),
        "loo": np.asarray(left_out.elpd_i.values), "pareto_k": np.asarray(left_out.pareto_k.values),
        "predict": model.predict(menus), "draw": model.predict(menus, draw=True, rng=np.random.default_rng(14)),
    }  # fmt: skip


@case(reordered=STEPS)
def compare() -> Numbers:
    learnt, held_out = market("i", 4, 80), market("i", 4, 30, 6.0, 99)
    fits: dict[str, Any] = {
        "differ": posterior(learnt, "gibbs"),
        "bounded": posterior(learnt, "gibbs", concentration_bounds=(0.1, 3.0)),
        "common": sp.CommonUtility(random_state=0, effort=_quick()).fit(learnt),
    }
    return flat(sp.compare_fits(fits, held_out).as_dict())


@case(reordered=STEPS, model=("heterogeneous", "common"))
def groups(model: str) -> Numbers:
    data = market("i", 3, 90) if model == "heterogeneous" else crowd("i", 3, 90)
    if model == "heterogeneous":
        alone: Any = sp.HeterogeneousUtility(sampler="gibbs", n_chains=2, n_draws=20, n_effective=0, random_state=15)
    else:
        alone = sp.CommonUtility(random_state=15)
    table = sp.fit_groups(alone, data, np.arange(90) % 3, jobs=1).table.to_pydict()
    return {name: np.array(values, float) for name, values in table.items() if not isinstance(values[0], str)}


# -- one utility ---------------------------------------------------------------------------------------------------


def _quick() -> Any:
    """Return an effort without the part that stops by the clock."""
    return settings("Effort")(seconds=0.0, n_restarts=3, n_chains=2, n_sweeps=30)


def certificate(model: sp.CommonUtility) -> Numbers:
    """Return the utility, what it explains and what is proven."""
    names = (
        "utility_", "utility_interval_", "consistent_", "n_consistent_", "upper_bound_", "is_optimal_", "excluded_by_",
        "corruption_", "corruption_interval_", "margin_", "n_dropped_", "last_utility_",
    )  # fmt: skip
    values = {name: getattr(model, name) for name in names}
    return {name: np.asarray(value) for name, value in values.items() if value is not None}


@case(is_stored=True, law=LAWS)
def common(law: str) -> Numbers:
    data = crowd(law)
    model = sp.CommonUtility(random_state=16).fit(data)
    menus = _asked(model.goods_)
    found = certificate(model) | {"predict": model.predict(menus), "score": np.array(model.score(data))}
    odd = np.flatnonzero(~model.consistent_)[:3]
    for t in odd:
        found |= flat(model.explain(int(t)), f"odd{t}")
    return found | {f"again.{name}": values for name, values in _again(model, menus).items()}


@case(reordered=MASSES)
def common_log_likelihood() -> Numbers:
    data = crowd("i")
    return {"log_likelihood": sp.CommonUtility(random_state=16).fit(data).log_likelihood(data)}


@case(is_stored=True)
def common_patchy() -> Numbers:
    return certificate(sp.CommonUtility(random_state=16).fit(patchy(is_common=True)))


@case(is_stored=True, margin=(0.02, "theorem"))
def common_margin(margin: float | str) -> Numbers:
    model = sp.CommonUtility(margin=margin, random_state=16, effort=_quick()).fit(crowd("i", 3, 80))
    return certificate(model)


@case(centre=("chebyshev", "vertex"))
def common_centre(centre: str) -> Numbers:
    return certificate(sp.CommonUtility(centre=centre, random_state=16).fit(crowd("ii")))


@case(is_stored=True, margin=(0.0, 0.05))
def annealing(margin: float) -> Numbers:
    options = settings("Annealing")(n_steps=300)
    model = sp.CommonUtility(solver="annealing", margin=margin, annealing=options, random_state=17)
    return certificate(model.fit(crowd("i")))


@case()
def common_hard() -> Numbers:
    """Where the first proof fails: customers who differ, a sample first, many goods, rows dropped."""
    effort = settings("Effort")(seconds=0.0, n_restarts=3, n_chains=2, n_sweeps=30, core_size=100)
    found: Numbers = {}
    for name, data, options in (
        ("differ", market("i", 4, 80), {"effort": _quick()}),
        ("core", crowd("i", 5, 300), {"effort": effort}),
        ("goods", crowd("i", 25, 200), {}),
        ("dropped", degenerate(), {"effort": _quick(), "degenerate": "drop"}),
    ):
        model = sp.CommonUtility(random_state=18, **options).fit(data)
        found |= {f"{name}.{key}": value for key, value in certificate(model).items()}
    return found


@case(needs="distributed")
def common_dask() -> Numbers:
    return certificate(sp.CommonUtility(random_state=16, engine="dask").fit(crowd("i")))


# -- design --------------------------------------------------------------------------------------------------------


def _effort() -> sp.DesignEffort:
    return sp.DesignEffort(n_candidates=24, n_draws=64, n_rounds=1, n_generations=2, n_offspring=8, n_starts=2)


@case(reordered=STEPS, criterion=("d", "a", "prediction"))
def optimal_menus(criterion: str) -> Numbers:
    rng = np.random.default_rng(19)
    found = flat(sp.optimal_menus(3, 4, rng=rng, criterion=criterion, effort=_effort()))
    limits = sp.MenuLimits(budget=3.0, price_step=0.25, always_offered=["b"], caps=[1.0, 2.0, 1.0])
    limited = sp.optimal_menus(
        ["a", "b", "c"], 4, rng=rng, criterion=criterion, limits=limits, mean_direction=direction(3),
        concentration=4.0, held=2.0 * np.eye(3), effort=_effort(),
        targets=sp.Menus([[1.0, 2.0, 1.5]], [2.0], goods=["c", "a", "b"]),
    )  # fmt: skip
    return found | flat(limited, "limited")


@case(reordered=STEPS)
def check_menus() -> Numbers:
    found: Numbers = {}
    for name, menus, mu, kappa in (
        ("i", market("i").menus, direction(4), 6.0),
        ("patchy", patchy_menus(20), direction(5), 5.0),
        ("uniform", market("iii").menus, direction(4), 0.0),
    ):
        checked = sp.check_menus(menus, mu, kappa, rng=np.random.default_rng(20), n_draws=64, n_simulated=3)
        found |= flat(checked, name)
    return found


@case(is_stored=True)
def signs() -> Numbers:
    found: Numbers = {}
    for name, menus in (("free", sp.sign_menus(4, 60)), ("blocks", sp.sign_menus(4, 60, lowest_budget=2.0))):
        bought = sp.simulate(sp.VonMisesFisher(direction(4), 3.0), menus, 60, rng=np.random.default_rng(21))
        found |= flat(menus, f"{name}.menus")
        for word, kappa in (("known", 3.0), ("estimated", None)):
            found |= flat(sp.estimate_from_signs(bought, kappa), f"{name}.{word}")
    return found


@case(is_stored=True)
def bisection() -> Numbers:
    u = np.array([0.7, -0.3, 0.45, 0.2, 0.61])
    return flat(sp.bisect_utility(lambda menus: sp.choose(u, menus.prices, menus.budgets), 5, accuracy=1e-4))


@case(reordered=STEPS)
def sequential() -> Numbers:
    law, customers_rng = sp.VonMisesFisher(direction(3), 4.0), np.random.default_rng(22)
    learnt = sp.learn_sequentially(
        lambda menus: sp.simulate(law, menus, len(menus), rng=customers_rng), 3, batch_sizes=(12, 12),
        rng=np.random.default_rng(23), effort=_effort(),
    )  # fmt: skip
    found = {"bundles": learnt.observations.bundles, "prices": learnt.observations.prices}
    return found | {"direction": learnt.fit.mean_direction, "concentration": np.array(learnt.fit.concentration)}


def write_numbers(folder: Path, names: list[str]) -> None:
    """Write the numbers of each case to NAME.npz, or why there are none to NAME.txt."""
    for name in names:
        try:
            np.savez(folder / f"{name}.npz", **compute(CASES[name]))
        except Exception as error:  # the other cases go on
            (folder / f"{name}.txt").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")


if __name__ == "__main__":  # FOLDER NAME...: what `same_numbers` runs on each side
    write_numbers(Path(sys.argv[1]), sys.argv[2:])
