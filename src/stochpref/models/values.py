# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a saved fit says, each value checked as it is taken: whoever loads a fit may not have saved it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import UnreadableData, shown

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Values:
    """Values by name, of an object in JSON.

    found : what was read.
    where : the file, and the place in it.
    """

    found: Mapping[str, Any]
    where: str

    def _wrong(self, name: str, rule: str) -> NoReturn:
        received = shown(repr(self.found[name]), 200) if name in self.found else "nothing"
        raise UnreadableData(f"{self.where}: {name} must be {rule}; found {received}; save the fit again")

    def whole(self, name: str, least: int = 0, most: float = math.inf) -> int:
        """Return a whole number between two others."""
        value = self.found.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._wrong(name, f"a whole number from {least}" + (f" to {most}" if most < math.inf else ""))
        return value

    def number(self, name: str, least: float = 0.0, most: float = math.inf) -> float:
        """Return a finite number between two others."""
        value = self.found.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            self._wrong(name, f"a number from {least:g}" + (f" to {most:g}" if most < math.inf else ""))
        return float(value)

    def text(self, name: str) -> str:
        """Return a text that can be printed."""
        value = self.found.get(name)
        if not isinstance(value, str) or shown(value) != value:
            self._wrong(name, "a text that can be printed")
        return value

    def texts(self, name: str) -> list[str]:
        """Return texts that can be printed."""
        value = self.found.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) and shown(item) == item for item in value):
            self._wrong(name, "texts that can be printed")
        return value

    def numbers(self, name: str, *shape: int) -> Array:
        """Return finite numbers of a shape."""
        try:
            values = np.array(self.found.get(name), np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.array(math.nan)
        if values.shape != shape or not np.isfinite(values).all():
            self._wrong(name, f"{' × '.join(str(size) for size in shape)} numbers")
        return values

    def shares(self, name: str, count: int, is_none: NDArray[np.bool_] | None = None) -> Array:
        """Return numbers from 0 to 1, NaN where nothing is given, which may be anywhere or just where `is_none`."""
        value = self.found.get(name)
        is_right = isinstance(value, list) and all(
            x is None or (isinstance(x, int | float) and 0 <= x <= 1) for x in value
        )
        if not isinstance(value, list) or not is_right:
            self._wrong(name, f"{count} numbers from 0 to 1")
        known = Values({name: [0.0 if x is None else x for x in value]}, self.where)
        found = np.where([x is None for x in value], np.nan, known.numbers(name, count))
        if is_none is not None and not np.array_equal(np.isnan(found), is_none):
            self._wrong(name, f"numbers but for those that are unknown beside it, {int(is_none.sum())} of {count}")
        return found

    def wholes(self, name: str, least: int, most: int) -> NDArray[np.int64]:
        """Return a list of whole numbers between two others."""
        value = self.found.get(name)
        if not isinstance(value, list) or not all(type(item) is int and least <= item <= most for item in value):
            self._wrong(name, f"whole numbers from {least} to {most}")
        return np.array(value, np.int64)

    def part(self, name: str) -> Values:
        """Return the values of an object within this one."""
        value = self.found.get(name)
        if not isinstance(value, dict):
            self._wrong(name, "an object")
        return Values(value, f"{self.where}, {name}")

    def optional(self, take: Callable[..., Value], name: str, *arguments: Any) -> Value | None:
        """Return what one of the others takes, None where nothing is given."""
        return None if self.found.get(name) is None else take(name, *arguments)


def array_in(tree: xr.DataTree, place: str, dimensions: tuple[str, ...], kinds: str, where: str | Path) -> NDArray[Any]:
    """Return an array of a saved tree, not empty.

    Parameters
    ----------
    place : group/name.
    kinds : of numpy's, such as "f" or "iu"; floats are finite.
    """
    group, _, name = place.partition("/")
    variable = tree.children[group].variables.get(name) if group in tree.children else None
    if (
        variable is None
        or variable.dims != dimensions
        or variable.dtype.kind not in kinds
        or not variable.size
        or (variable.dtype.kind == "f" and not np.isfinite(variable.values).all())
    ):
        raise UnreadableData(
            f"{where}: {place} must hold finite numbers over {', '.join(dimensions)}; save the fit again"
        )
    return variable.values
