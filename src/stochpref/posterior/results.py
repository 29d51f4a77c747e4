# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The posterior as the field keeps it: an xarray DataTree that arviz reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.checks import check_text
from stochpref.observations import Observations
from stochpref.posterior.chains import Draws
from stochpref.problems import pack_problem, unpack_problem

Array = NDArray[np.float64]

MAX_LIKELIHOOD_DRAWS = 400  # of which a log-likelihood is kept for every observation


def as_tree(
    draws: Draws, axes: Mapping[str, tuple[str, ...]], observations: Observations, attributes: dict[str, Any]
) -> xr.DataTree:
    """Return groups posterior, sample_stats, observed_data and constant_data; arrays are shared, not copied.

    Parameters
    ----------
    axes : name of a parameter -> names of its axes after chain and draw, as the law names them; "good" has the names
        of what utilities are about.
    """
    per_draw = ("chain", "draw")
    steps = dict(zip(per_draw, map(np.arange, draws.shape), strict=True))
    posterior = xr.Dataset(
        {name: ((*per_draw, *axes[name]), values) for name, values in draws.parameters.items()},
        coords={**steps, "good": np.array(observations.problem.coordinates(observations.goods), dtype=object)},
        attrs=attributes,
    )
    statistics = xr.Dataset({name: (per_draw, values) for name, values in draws.statistics.items()}, coords=steps)
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": statistics, **data_groups(observations)})


def data_groups(observations: Observations) -> dict[str, xr.Dataset]:
    """Return groups observed_data and constant_data, from which `observations_of` makes the observations again."""
    for argument in ("goods", "customers", "labels", "titles"):
        check_text(getattr(observations, argument) or (), argument)  # or pandas says it in words of its own
    per_row = ("observation", "good")
    rows: dict[str, Any] = {
        "observation": np.arange(len(observations)),
        "good": np.array(observations.goods, dtype=object),
    }
    if observations.customers is not None:
        rows["customer"] = ("observation", np.array(observations.customers, dtype=object))
    if observations.labels is not None:
        rows["label"] = ("observation", np.array(observations.labels, dtype=object))
    if observations.titles is not None:
        rows["title"] = ("good", np.array(observations.titles, dtype=object))
    constant: dict[str, Any] = {
        "prices": (per_row, observations.prices),
        "budgets": ("observation", observations.budgets),
        "caps": (per_row, observations.caps),
    }
    for k, (name, values) in enumerate(observations.features.items()):  # by number: a name may be any text
        constant[f"feature_{k}"] = (per_row[: values.ndim], values, {"feature": name})
    header, arrays = pack_problem(observations.problem)
    for name, values in arrays.items():
        constant[f"problem_{name}"] = (
            tuple(f"{name}_{axis}" for axis in range(values.ndim)),
            values,
            {"setting": name},
        )
    attributes = {"problem": json.dumps(header)} if header else {}
    attributes |= {"nonempty": "yes"} if observations.nonempty else {}
    return {
        "observed_data": xr.Dataset({"bundles": (per_row, observations.bundles)}, coords=rows),
        "constant_data": xr.Dataset(constant, coords=rows, attrs=attributes),
    }


def group(tree: xr.DataTree, name: str) -> xr.Dataset:
    """Return one group of a tree."""
    return tree.children[name].to_dataset()


def observations_of(tree: xr.DataTree) -> Observations:
    """Return the observations that a tree holds."""
    constant, bundles = group(tree, "constant_data"), group(tree, "observed_data")["bundles"]

    def names(coordinate: str) -> list[str] | None:
        return [str(name) for name in bundles[coordinate].values] if coordinate in bundles.coords else None

    def marked(mark: str) -> dict[str, Array]:
        return {str(part.attrs[mark]): part.values for part in constant.data_vars.values() if mark in part.attrs}

    return Observations(
        constant["prices"].values,
        constant["budgets"].values,  # infinite where the problem knows none
        bundles.values,
        goods=[str(name) for name in bundles["good"].values],
        customers=names("customer"),
        labels=names("label"),
        caps=constant["caps"].values,
        problem=unpack_problem(json.loads(constant.attrs.get("problem", "{}")), marked("setting")),
        features=marked("feature"),
        titles=names("title"),
        nonempty="nonempty" in constant.attrs,
    )


def parameters_of(tree: xr.DataTree) -> dict[str, Array]:
    """Return all draws that a tree holds: name -> (chains, draws, …)."""
    return {str(name): variable.values for name, variable in group(tree, "posterior").items()}


def thinned(tree: xr.DataTree, most: int) -> tuple[dict[str, Array], slice]:
    """Return at most `most` draws, evenly spaced in every chain, by name as `parameters_of` does, and which."""
    sizes = group(tree, "posterior").sizes
    every = slice(None, None, max(-(-sizes["chain"] * sizes["draw"] // most), 1))
    return {name: values[:, every] for name, values in parameters_of(tree).items()}, every
