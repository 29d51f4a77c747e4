# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The probability of what was bought, wherever the observations are: in memory, in files, on a device or a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_choice, kind_of
from stochpref.errors import InvalidArgument
from stochpref.laws import ExactLaw
from stochpref.loading import load
from stochpref.mass.masses import Masses, check_direction, vmf_mean
from stochpref.mass.mixture import responsibilities
from stochpref.readers.folders import StoredObservations, as_observations
from stochpref.regions import Regions
from stochpref.stores.engines import connect
from stochpref.stores.opening import store_of
from stochpref.stores.protocol import join_masses

Array = NDArray[np.float64]

# How a mass is computed: None for quadrature, else an estimator.
METHODS: Final[dict[str, str | None]] = {
    "exact": None,
    "monte_carlo": "mass.monte_carlo:sampled_log_mass",
    "cloud": "paper.cloud:cloud_log_mass",
}


def log_mass(
    regions: Regions | StoredObservations | str | Path,
    law: ExactLaw | ArrayLike | None = None,
    concentration: float | None = None,
    *,
    mean_direction: ArrayLike | None = None,
    method: str = "exact",
    gradient: bool = False,
    tolerance: float = 1e-10,
    n_draws: int = 10_000,
    rng: np.random.Generator | None = None,
    full: bool = False,
    engine: Any = "cpu",
) -> Any:
    """Return the log-probability of each region under a von Mises–Fisher law, or a mixture of some.

    Parameters
    ----------
    regions : T regions over n goods, n at least 2; or a folder of Parquet files with observations, read in blocks.
    law : a `VonMisesFisher` of any concentration from 0 to 1e4 and beyond, or a `MixtureLaw`.
    mean_direction, concentration : in place of a law, by name or in that order after the regions: a unit vector (n,)
        and κ.
    method : "exact" (quadrature, to `tolerance`), "monte_carlo" (separation of variables, an independent route with a
        standard error) or "cloud" (the paper's estimator: the share of one shared cloud of draws).
    gradient : return gradients in h = κμ too, of one law.
    tolerance : relative error of the probability aimed at; a smaller one costs more time.
    n_draws, rng : for the Monte Carlo methods, which need both.
    full : return a `Masses` record with error estimates instead.
    engine : "cpu"; "jax" for exact masses on a GPU; "dask" or a `distributed.Client` for exact masses on a cluster.

    Returns
    -------
    (T,) log-probabilities, with ``gradient=True`` also (T, n) gradients. Never positive; -inf for degenerate
    observations, which have probability zero. With ``full=True``, `Masses`.
    """
    source = regions if isinstance(regions, Regions) else as_observations(regions)
    weights, laws = _components(law, concentration, mean_direction, source.n_goods)
    check_choice(method, "method", METHODS)
    if gradient and len(laws) > 1:
        raise InvalidArgument(f"gradient is of one law; received a mixture of {len(laws)}; ask for each segment's own")
    if not 0 < tolerance < 1:
        raise InvalidArgument(f"tolerance must lie between 0 and 1; received {tolerance}")
    if engine != "cpu" and method != "exact":
        raise InvalidArgument(f"engine={engine!r} computes exact masses only; received method={method!r}")

    def of_law(block: Regions, place: Any, h: Array) -> Masses:
        estimator = METHODS[method]
        if estimator is None:
            return store_of(block, place).masses(h, gradient=gradient, tolerance=tolerance)
        if rng is None:
            raise InvalidArgument(f"method={method!r} draws random numbers; pass rng=numpy.random.default_rng(seed)")
        sample = load(estimator)(block, h, n_draws=n_draws, rng=rng)
        return Masses(sample.log_mass, sample.error, sample.mean - vmf_mean(h) if gradient else None)

    def of_block(block: Regions, place: Any) -> Masses:
        found = [of_law(block, place, h) for h in laws]
        return found[0] if len(found) == 1 else _mixed(found, weights)

    with connect(engine) as place:
        if isinstance(source, Regions):
            masses = of_block(source, place)
        else:
            blocks = source.blocks() if isinstance(source, StoredObservations) else [source]
            masses = join_masses([of_block(Regions.of(block), place) for block in blocks])
    if full:
        return masses
    return (masses.log_mass, masses.gradient) if masses.gradient is not None else masses.log_mass


def _mixed(found: list[Masses], weights: Array) -> Masses:
    """Return the masses of a mixture from those under each law; errors weigh as the laws do in each mass."""
    log_mass, share = responsibilities(np.stack([masses.log_mass for masses in found]), np.log(weights))
    return Masses(log_mass, np.sum(share * np.stack([masses.error for masses in found]), axis=0), None)


def _components(
    law: Any, concentration: float | None, mean_direction: ArrayLike | None, n_goods: int
) -> tuple[Array, Array]:
    """Return weights (K,) and h (K, n), of a law or of its parameters given one by one."""
    if not isinstance(law, ExactLaw):
        h = check_direction(*_parameters(law, concentration, mean_direction), n_goods)
        return np.ones(1), h[None]
    if concentration is not None or mean_direction is not None:
        extra = "concentration" if mean_direction is None else "mean_direction"
        raise InvalidArgument(f"law says mean direction and concentration; received {extra} too; leave it out")
    weights, laws = law.components
    if laws.shape[1] != n_goods:
        raise InvalidArgument(f"law must be of the {n_goods} goods of the regions; received one of {laws.shape[1]}")
    return weights, laws


def _parameters(law: Any, concentration: float | None, mean_direction: ArrayLike | None) -> tuple[ArrayLike, float]:
    """Return mean direction and concentration, given one by one."""
    if law is not None and mean_direction is not None:
        raise InvalidArgument("mean_direction must be given once; received it by place and by name; leave one out")
    direction = mean_direction if law is None else law
    if direction is not None and concentration is not None:
        return direction, concentration
    received = "no law" if direction is None else f"{kind_of(direction)} without a concentration"
    if direction is None and concentration is not None:
        received = "a concentration without a mean direction"
    raise InvalidArgument(
        f"law must be a VonMisesFisher, a MixtureLaw, or both its parameters; received {received}; "
        "pass VonMisesFisher(mean_direction, concentration)"
    )
