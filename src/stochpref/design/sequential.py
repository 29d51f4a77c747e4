# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Design that learns as it goes: offer a batch, fit, design the next batch for what is still open.

The first batch knows nothing and is designed for all directions at once. Between batches the law is estimated with a
weak Gaussian prior on h = κμ, since few purchases may fit any concentration, and the next batch is averaged over that
estimate and draws around it, with the information already held counted in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stochpref.checks import check_rng
from stochpref.design.beliefs import good_names
from stochpref.design.limits import MenuLimits
from stochpref.design.menu_design import DesignEffort, MenuDesign
from stochpref.design.optimal import optimal_menus
from stochpref.errors import InvalidArgument
from stochpref.likelihood import MaximumLikelihood, fit_maximum_likelihood
from stochpref.mass.masses import observed_information, sum_log_mass
from stochpref.observations import Menus, Observations
from stochpref.problems import check_handled
from stochpref.regions import Regions

Array = NDArray[np.float64]

_PRIOR_WIDTH = 4.0  # standard deviation of h before data, in units of the concentration guessed
_LAWS = 3  # the estimate and draws around it


class SequentialLearning(NamedTuple):
    """What sequential design brought.

    observations : all purchases, in the order of the batches.
    fit : maximum likelihood from all of them.
    designs : one for each batch.
    """

    observations: Observations
    fit: MaximumLikelihood
    designs: tuple[MenuDesign, ...]


class WorkingLaw(NamedTuple):
    """An estimate to design by: h (n,) and the information held about it, prior included (n, n)."""

    h: Array
    information: Array


def estimate_working_law(observations: Observations, guess: float) -> WorkingLaw:
    """Return the most probable h under a Gaussian prior of standard deviation 4 × the guessed concentration.

    It exists for any purchases, also those that one common utility explains.
    """
    check_handled(observations, "a design")
    regions = Regions.of(observations)
    precision = 1 / (_PRIOR_WIDTH * guess) ** 2

    def objective(h: Array) -> tuple[float, Array]:
        value, slope = sum_log_mass(regions, h, tolerance=1e-6)
        return -value + 0.5 * precision * float(h @ h), -slope + precision * h

    result = minimize(objective, np.zeros(regions.n_goods), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    h = np.asarray(result.x, dtype=np.float64)
    information = observed_information(regions, h, tolerance=1e-6)
    values, vectors = np.linalg.eigh(information)
    held = (vectors * np.maximum(values, 0.0)) @ vectors.T + precision * np.eye(len(h))
    return WorkingLaw(h, held)


def learn_sequentially(
    respond_fn: Callable[[Menus], Observations],
    goods: int | Sequence[str],
    *,
    batch_sizes: Sequence[int],
    rng: np.random.Generator,
    concentration: float = 5.0,
    criterion: str = "a",
    limits: MenuLimits | None = None,
    effort: DesignEffort | None = None,
) -> SequentialLearning:
    """Design a batch, observe it, refit, and so on.

    Parameters
    ----------
    respond_fn : menus -> what customers bought from them, one observation a menu.
    goods : their number, or names.
    batch_sizes : menus in each batch.
    rng : draws candidates, customers and laws around the estimate; not used by `respond_fn`.
    concentration : κ guessed before there are data.
    criterion, limits, effort : as in `optimal_menus`.
    """
    check_rng(rng)
    names = good_names(goods)
    if not batch_sizes or min(batch_sizes) < 1:
        raise InvalidArgument(f"batch_sizes must be one or more positive numbers; received {list(batch_sizes)}")
    designs: list[MenuDesign] = []
    observations: Observations | None = None
    for size in batch_sizes:
        if observations is None:
            design = optimal_menus(
                names, size, rng=rng, concentration=concentration, criterion=criterion, limits=limits, effort=effort
            )
        else:
            laws, held = _laws_around(estimate_working_law(observations, concentration), rng)
            kappas = np.linalg.norm(laws, axis=1)
            design = optimal_menus(
                names, size, rng=rng, mean_direction=laws / kappas[:, None], concentration=kappas,
                criterion=criterion, limits=limits, held=held, effort=effort,
            )  # fmt: skip
        designs.append(design)
        bought = respond_fn(design.menus)
        if len(bought) != size or bought.goods != names:
            raise InvalidArgument(
                f"respond_fn must return one observation for each of {size} menus of {names}; received {len(bought)}"
            )
        observations = bought if observations is None else observations.concat(bought)
    assert observations is not None
    return SequentialLearning(observations, fit_maximum_likelihood(observations), tuple(designs))


def _laws_around(law: WorkingLaw, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return (K, n) the estimate and draws around it, and the information held."""
    values, vectors = np.linalg.eigh(law.information)
    noise = rng.standard_normal((_LAWS - 1, len(law.h)))
    laws = np.vstack([law.h, law.h + (noise / np.sqrt(values)) @ vectors.T])
    lengths = np.linalg.norm(laws, axis=1, keepdims=True)
    return laws * np.maximum(lengths, 1e-3) / np.maximum(lengths, 1e-12), law.information
