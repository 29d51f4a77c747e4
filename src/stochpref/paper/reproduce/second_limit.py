# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's conjecture about several constraints, as a number: what a second one adds to what a purchase tells.

Customers of one law face the same menus twice: with a budget, and with a limit of room beside it. The Fisher
information of h = κμ in a purchase is the mean of s sᵀ, s the gradient of its log-mass; across the mean direction, and
over that of seeing the utility itself, it is a share between 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.design.information import tangent_basis
from stochpref.laws import VonMisesFisher, simulate, uniform_directions
from stochpref.mass.masses import exact_log_mass, vmf_covariance
from stochpref.observations import Menus
from stochpref.problems.divisible import Divisible
from stochpref.problems.linear import Linear
from stochpref.regions import Regions

Array = NDArray[np.float64]


class Gain(NamedTuple):
    """Information of a purchase across the mean, of 1 for the utility itself, and how often the second limit binds.

    without, with_limit, error : with the budget alone, with both, and the standard error of the difference.
    """

    without: float
    with_limit: float
    error: float
    binds: float


def gain_of_a_limit(n: int, kappa: float, budget: float, room: float, count: int, seed: int) -> Gain:
    """Return what a limit of room adds, over as many menus, each with a customer of its own.

    Parameters
    ----------
    budget, room : of each limit, as a share of what all goods together take of it.
    """
    rng = np.random.default_rng(seed)
    prices, takes = rng.uniform(1, 2, (count, n)), rng.uniform(0.5, 2, (count, n))
    direction = uniform_directions(1, n, rng=rng)[0] + 0.5 / np.sqrt(n)
    law = VonMisesFisher(direction / np.linalg.norm(direction), kappa)
    limits = Linear(takes[:, None], room * takes.sum(axis=1)[:, None], ["room"])
    shares, binds = [], 0.0
    for problem in (Divisible(), limits):
        menus = Menus(prices, budget * prices.sum(axis=1), problem=problem)
        seen = simulate(law, menus, count, rng=np.random.default_rng([seed, 1]))
        shares.append(_shares(Regions.of(seen), kappa * law.mean_direction))
        taken = np.sum(seen.bundles * takes, axis=1) / takes.sum(axis=1)
        binds = float(np.mean(taken >= room - 1e-9)) if problem is limits else 0.0
    difference = shares[1] - shares[0]
    error = float(difference.std(ddof=1) / np.sqrt(count))
    return Gain(float(shares[0].mean()), float(shares[1].mean()), error, binds)


def _shares(regions: Regions, h: Array) -> Array:
    """Return (T,) the squared score of each purchase across the mean, over what the utility's own has on average."""
    score = exact_log_mass(regions, h, gradient=True, tolerance=1e-8).gradient
    basis = tangent_basis(h / np.linalg.norm(h))
    total = float(np.trace(basis.T @ vmf_covariance(h) @ basis))
    assert score is not None
    return np.asarray(np.sum((score @ basis) ** 2, axis=1) / total)
