"""Errors of panels, of customers who each buy many times by a taste of their own: what 90 % intervals hold.

Errors that take purchases for independent, as those of people who each buy once, beside errors clustered by customer.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

import stochpref as sp
from stochpref.laws import uniform_directions

LEVEL = 0.9


class Held(NamedTuple):
    """Of one panel, for independent and for clustered errors (2,): share of h = κμ and of μ held, whether κ is."""

    natural: NDArray[np.float64]
    direction: NDArray[np.float64]
    concentration: NDArray[np.float64]


def simulate_panel(
    law: sp.VonMisesFisher, n_customers: int, n_purchases: int, rng: np.random.Generator
) -> sp.Observations:
    """Return purchases of customers who keep their utility from one menu to the next."""
    tastes = np.repeat(law.sample(n_customers, rng=rng), n_purchases, axis=0)
    menus = sp.MenuLaw("uniform").sample(len(tastes), law.n_goods, rng=rng)
    bundles = sp.choose(tastes, menus.prices, menus.budgets)
    customers = np.repeat(np.arange(n_customers), n_purchases)
    return sp.Observations(menus.prices, menus.budgets, bundles, customers=customers)


def held_by(panel: sp.Observations, law: sp.VonMisesFisher) -> Held:
    """Return what the intervals of one panel hold."""
    z = norm.ppf(0.5 + LEVEL / 2)
    alone = sp.Observations(panel.prices, panel.budgets, panel.bundles)
    found = [sp.fit_maximum_likelihood(data) for data in (alone, panel)]
    truth = law.concentration * law.mean_direction
    natural = [np.mean(np.abs(fit.h - truth) <= z * np.sqrt(np.diag(fit.covariance))) for fit in found]
    direction = [
        np.mean(np.abs(fit.mean_direction - law.mean_direction) <= z * fit.direction_standard_errors) for fit in found
    ]
    kappa = [abs(fit.concentration - law.concentration) <= z * fit.concentration_standard_error for fit in found]
    return Held(*(np.array(share, np.float64) for share in (natural, direction, kappa)))


def coverage(n_panels: int, n_goods: int, n_customers: int, n_purchases: int, seed: int) -> list[Held]:
    """Return what the intervals of many panels hold, each of a law of its own."""
    found = []
    for k in range(n_panels):
        rng = np.random.default_rng([seed, k])
        law = sp.VonMisesFisher(uniform_directions(1, n_goods, rng=rng)[0], float(rng.uniform(3.0, 10.0)))
        found.append(held_by(simulate_panel(law, n_customers, n_purchases, rng), law))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=300)
    parser.add_argument("--goods", type=int, default=4)
    parser.add_argument("--customers", type=int, default=100)
    parser.add_argument("--purchases", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = coverage(given.panels, given.goods, given.customers, given.purchases, given.seed)
    print(
        f"{given.panels} panels of {given.customers} customers x {given.purchases} purchases, {given.goods} goods, "
        f"seed {given.seed}: share of {LEVEL:.0%} intervals that hold the truth"
    )
    print(f"  {'':<28}{'independent':>16}{'by customer':>16}")
    for name in Held._fields:
        shares = np.array([getattr(one, name) for one in found])
        errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
        cells = "".join(f"{100 * s:>9.1f} ± {100 * e:.1f}" for s, e in zip(shares.mean(axis=0), errors, strict=True))
        print(f"  {name:<28}{cells}")


if __name__ == "__main__":
    main()
