# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How tastes by customer are kept in the tree of a fit, and what is refused of one that comes from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.features import FeatureDesign
from stochpref.models.values import Values, array_in
from stochpref.observations import Observations
from stochpref.tastes.known import Known
from stochpref.tastes.panel import design_of, whose

if TYPE_CHECKING:
    from stochpref.models.normal import NormalUtility


def as_dataset(labels: tuple[str, ...], known: Known, order: NDArray[np.int64]) -> xr.Dataset:
    """Return what is known of customers, choices in the order of the observations."""
    left_out = np.empty(len(order))
    left_out[order] = known.left_out
    return xr.Dataset(
        {
            "taste": (("kept", "customer", "coefficient"), known.taste),
            "log_likelihood": (("kept", "customer"), known.log_likelihood),
            "left_out": ("observation", left_out),
        },
        coords={"customer": np.array(labels, dtype=object)},
    )


def design_in(model: NormalUtility, learned: Values) -> FeatureDesign:
    """Return the design that a saved fit describes, as its observations make it."""
    try:
        design = design_of(model.observations_, model.features)
    except InvalidArgument as error:
        raise UnreadableData(f"{learned.where}: {error}") from error
    if list(design.kept) != learned.found.get("kept"):
        raise UnreadableData(f"{learned.where}: kept must be the coefficients of the observations; save the fit again")
    return design


def check_saved(
    tree: xr.DataTree, design: FeatureDesign, data: Observations, axes: Mapping[str, tuple[str, ...]], where: str
) -> None:
    """Refuse what no fit to these observations saved."""
    p = len(design.kept)
    drawn = {
        name: array_in(tree, f"posterior/{name}", ("chain", "draw", *own), "f", where) for name, own in axes.items()
    }
    mean, covariance = drawn["mean"], drawn["covariance"]
    is_right = mean.shape[2] == p and covariance.shape[2:] == (p, p)
    if (
        not is_right
        or not np.allclose(covariance, covariance.swapaxes(2, 3))
        or np.linalg.eigvalsh(covariance).min() <= 0
    ):
        raise UnreadableData(f"{where}: draws must be means and covariances of {p} coefficients; save the fit again")
    taste = array_in(tree, "tastes/taste", ("kept", "customer", "coefficient"), "f", where)
    left_out = array_in(tree, "tastes/left_out", ("observation",), "f", where)
    value = array_in(tree, "tastes/log_likelihood", ("kept", "customer"), "f", where)
    coordinates = tree.children["tastes"].to_dataset().coords
    labels = tuple(map(str, coordinates["customer"].values)) if "customer" in coordinates else ()
    known = () if data.customers is None else whose(data)[0]
    is_right = taste.shape == (*value.shape, p) and value.shape[1] == len(labels) and len(left_out) == len(data)
    if not (is_right and labels == known):
        raise UnreadableData(f"{where}: tastes must be those of the customers of the observations; save the fit again")
