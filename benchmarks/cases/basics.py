"""Cases of choices, laws, regions and files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import stochpref as sp
from benchmarks.cases.data import DATA, LAWS, degenerate, direction, market, patchy, patchy_menus, stored
from benchmarks.cases.registry import Numbers, case, flat


@case(law=LAWS)
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
