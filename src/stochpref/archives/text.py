# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""JSON as the standard has it: no NaN, no infinity, no key twice."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from stochpref.errors import InvalidArgument, UnreadableData


def as_json(content: Any) -> bytes:
    """Return JSON in UTF-8.

    Raises
    ------
    InvalidArgument : some number cannot be written.
    """
    try:
        text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        raise InvalidArgument(f"a fit must be of finite numbers to be saved; {error}") from None
    # Half a character, as in the name of a file that is not UTF-8, is escaped just as JSON does.
    return text.encode(errors="backslashreplace") + b"\n"


def parse_json(content: bytes, where: str | Path) -> Any:
    """Return what JSON says.

    Raises
    ------
    UnreadableData : it is not JSON, or is nested too deeply for any fit.
    """
    try:
        return json.loads(content, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise UnreadableData(f"{where} is not JSON: {error}; save the fit again") from None


def without_nan(value: Any) -> Any:
    """Return the value with null for the numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text[:40])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
