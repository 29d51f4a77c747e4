# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""An xarray DataTree in a file of `arrays`: names, dimensions, texts and attributes in the description."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.archives.arrays import KINDS, read_arrays, write_arrays
from stochpref.checks import check_text
from stochpref.errors import InvalidArgument, UnreadableData, shown


def write_tree(stream: IO[bytes], tree: xr.DataTree) -> None:
    """Write a tree of numbers and texts.

    Raises
    ------
    InvalidArgument : it holds something else.
    """
    groups: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for node in tree.subtree:
        dataset, path = node.to_dataset(inherit=False), node.path.strip("/")
        variables = {}
        for name, variable in dataset.variables.items():
            place = f"{path}/{name}"
            variables[str(name)] = {
                "dimensions": list(variable.dims),
                "is_coordinate": name in dataset.coords,
                "attributes": _plain(variable.attrs),
            }
            values = variable.values
            if values.dtype.kind in KINDS:
                arrays[place] = values
            else:
                variables[str(name)]["texts"] = _texts(values, place)
        groups[path] = {"attributes": _plain(dataset.attrs), "variables": variables}
    write_arrays(stream, groups, arrays)


def read_tree(stream: IO[bytes], where: str | Path) -> xr.DataTree:
    """Return the tree that `write_tree` wrote, in memory.

    Raises
    ------
    UnreadableData : the file is not of that kind, or does not hold what it says.
    """
    groups, arrays = read_arrays(stream, where)
    try:
        return xr.DataTree.from_dict({f"/{path}": _group(path, group, arrays) for path, group in groups.items()})
    except Exception as error:  # whatever xarray makes of dimensions that do not fit
        raise UnreadableData(
            f"{where} does not hold what it describes: {shown(repr(error), 300)}; save the fit again"
        ) from error


def _group(path: str, group: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> xr.Dataset:
    variables: dict[bool, dict[str, xr.Variable]] = {False: {}, True: {}}
    for name, variable in group["variables"].items():
        values = _objects(variable["texts"]) if "texts" in variable else arrays[f"{path}/{name}"]
        variables[variable["is_coordinate"]][name] = xr.Variable(
            variable["dimensions"], values, variable["attributes"]
        )  # fmt: skip
    return xr.Dataset(variables[False], variables[True], group["attributes"])


def _texts(values: NDArray[Any], place: str) -> Any:
    """Return texts as lists, or as one text."""
    if not all(isinstance(value, str) for value in values.ravel()):
        raise InvalidArgument(f"{place} must hold numbers or texts to be saved; received {values.dtype}; leave it out")
    check_text(values.ravel().tolist(), place)
    return values.tolist()


def _objects(texts: Any) -> NDArray[Any]:
    values = np.array(texts, dtype=object)
    if not all(isinstance(value, str) for value in values.ravel()):
        raise ValueError("texts must be texts, as many in every row")
    return values


def _plain(value: Any) -> Any:
    """Return an attribute as JSON can hold it; what it cannot hold becomes its description."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return value if value is None or (isinstance(value, bool | int | float | str) and not is_infinite) else repr(value)
