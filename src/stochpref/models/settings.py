# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Parameters of a model as JSON holds them, and back.

Numbers, texts, paths and options come back as they were, sequences as tuples. A Generator has moved on since the fit
and comes back as None, a `distributed.Client` as "dask". Of anything else, such as the function of a prior, its name
comes back: nobody can fit again with it, and the refusal says what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from stochpref.loading import load
from stochpref.stores.engines import is_cluster


def as_setting(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Real):
        return _as_number(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [as_setting(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_setting(getattr(value, field.name)) for field in fields(value)}
    return _as_other(value)


def _as_number(value: Real) -> Any:
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else {"number": repr(number)}


def _as_other(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, PurePath):
        return {"path": str(value)}
    if is_cluster(value):
        return "dask"
    home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return repr(value) if name is None else f"{home}.{name}"


def from_settings(saved: Mapping[str, Any], records: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters that `as_setting` wrote.

    Parameters
    ----------
    records : parameter -> ``module:name`` of the options it takes.
    """
    return {
        name: load(records[name])(**{field: _from_setting(item) for field, item in value.items()})
        if name in records and isinstance(value, dict)
        else _from_setting(value)
        for name, value in saved.items()
    }


def _from_setting(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_setting(item) for item in value)
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return {"path": Path, "number": float}[kind](text)
    return value
