# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Options that name what they pick as ``module:name``, so that it is imported only where somebody asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def load(place: str) -> Any:
    """Return what ``module:name`` names, a module of this package without the package's own name."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"stochpref.{module}"), name)


def exported(table: Mapping[str, str], name: str, package: str) -> Any:
    """Return the class of that name in a table of places, for a package that offers all of them."""
    for place in table.values():
        if place.endswith(f":{name}"):
            return load(place)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
