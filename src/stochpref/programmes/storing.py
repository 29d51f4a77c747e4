# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Decisions as arrays that a saved fit holds, and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from stochpref.checks import check_text
from stochpref.programmes.decisions import Decisions
from stochpref.programmes.linear import LinearProgramme

GROUP: Final = "decisions"
_ARRAYS: Final = ("A", "b", "E", "e", "lower", "upper")


def decision_groups(data: Decisions) -> dict[str, xr.Dataset]:
    """Return the group from which `decisions_of` makes the decisions again; an optimiser of one's own is refused."""
    check_text(data.names, "names")
    check_text(data.labels or (), "labels")
    coordinates: dict[str, Any] = {"variable": np.array(data.names, dtype=object)}
    if data.labels is not None:
        coordinates["label"] = ("observation", np.array(data.labels, dtype=object))
    values: dict[str, Any] = {"chosen": (("observation", "variable"), data.chosen)}
    for name, array in data.problem.arrays().items():
        values[f"array_{name}"] = (tuple(f"{name}_{axis}" for axis in range(array.ndim)), array)
    return {GROUP: xr.Dataset(values, coords=coordinates)}


def holds_decisions(tree: xr.DataTree) -> bool:
    """Tell whether a tree is of decisions."""
    return GROUP in tree.children


def decisions_of(tree: xr.DataTree) -> Decisions:
    """Return the decisions that a tree holds, checked as if they were new."""
    held = tree.children[GROUP].to_dataset()
    arrays = {name: held[f"array_{name}"].values for name in _ARRAYS}
    names = [str(name) for name in held["variable"].values]
    labels = [str(label) for label in held["label"].values] if "label" in held.coords else None
    return Decisions(LinearProgramme(**arrays, names=names), held["chosen"].values, labels=labels)
