"""Cases of query design."""

from __future__ import annotations

import numpy as np

import stochpref as sp
from benchmarks.cases.data import direction, market, patchy_menus
from benchmarks.cases.registry import STEPS, Numbers, case, flat


def _effort() -> sp.DesignEffort:
    return sp.DesignEffort(n_candidates=24, n_draws=64, n_rounds=1, n_generations=2, n_offspring=8, n_starts=2)


@case(reordered=STEPS, criterion=("d", "a", "prediction"))
def optimal_menus(criterion: str) -> Numbers:
    rng = np.random.default_rng(21)  # other seeds lead to ties, which the last bit decides
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


@case()
def signs() -> Numbers:
    found: Numbers = {}
    for name, menus in (("free", sp.sign_menus(4, 60)), ("blocks", sp.sign_menus(4, 60, lowest_budget=2.0))):
        bought = sp.simulate(sp.VonMisesFisher(direction(4), 3.0), menus, 60, rng=np.random.default_rng(21))
        found |= flat(menus, f"{name}.menus")
        for word, kappa in (("known", 3.0), ("estimated", None)):
            found |= flat(sp.estimate_from_signs(bought, kappa), f"{name}.{word}")
    return found


@case()
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
