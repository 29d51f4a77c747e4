# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What version 0.1.0 saved, in today's terms.

Its fits have format 1. The arrays are in NetCDF files, and what the model learned goes by two names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stochpref.errors import shown
from stochpref.models.values import Values

if TYPE_CHECKING:
    import xarray as xr

FORMER_FORMAT: Final = 1
# Model -> where it kept what it learned, and its arrays.
FORMER_PARTS: Final = {
    "common": ("utility.json", "observations.nc"),
    "heterogeneous": ("learned.json", "posterior.nc"),
}


def former_header(header: Values, learned: Values) -> Values:
    """Return a header as it is saved today.

    Parameters
    ----------
    learned : what the model learned, where bounds of the concentration are numbers.
    """
    words = header.found.get("command")
    if isinstance(words, list):
        words = [shown(word) if isinstance(word, str) else word for word in words]
    settings = _settings(header.part("settings").found, learned)
    return Values({**header.found, "settings": settings, "command": words}, header.where)


def _settings(former: Mapping[str, Any], learned: Values) -> dict[str, Any]:
    """Return settings; version 0.1.0 kept what Python shows of all that JSON does not hold."""
    today = dict(former)
    if isinstance(today.get("concentration_bounds"), str):
        today["concentration_bounds"] = learned.numbers("bounds", 2).tolist()
    if isinstance(today.get("random_state"), str):  # a Generator
        today["random_state"] = None
    if isinstance(today.get("verbose"), str):  # a number of numpy
        today["verbose"] = "True" in today["verbose"]
    path = re.fullmatch(r"\w+Path\((.*)\)", str(today.get("checkpoint")), re.DOTALL)
    if path is not None:
        today["checkpoint"] = {"path": str(ast.literal_eval(path[1]))}
    return today


def add_explained(tree: xr.DataTree, learned: Values) -> None:
    """Add which observations a common utility explains to its tree; version 0.1.0 listed those it does not."""
    import xarray as xr  # noqa: PLC0415

    n_rows = tree.children["observed_data"].sizes["observation"]
    odd, witness = learned.wholes("odd", 0, n_rows - 1), learned.wholes("excluded_by", -1, n_rows - 1)
    consistent, excluded_by = np.ones(n_rows, np.bool_), np.full(n_rows, -1)
    consistent[odd], excluded_by[odd] = False, witness
    values = {"consistent": ("observation", consistent), "excluded_by": ("observation", excluded_by)}
    tree["explained"] = xr.DataTree(xr.Dataset(values))
