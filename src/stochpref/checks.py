# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What arguments are checked with: numbers, vectors, choices, generators. Each message ends in the next move."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]


def check_choice(value: object, argument: str, choices: Collection[str]) -> str:
    """Return the value if it is one of the choices.

    Raises
    ------
    InvalidArgument : it is not; the message names the nearest.
    """
    if isinstance(value, str) and value in choices:
        return value
    allowed = ", ".join(choices)
    raise InvalidArgument(f"{argument} must be one of {allowed}; received {value!r}{nearest(str(value), choices)}")


def nearest(name: str, names: Iterable[object]) -> str:
    """Return '; the nearest is ...' for a mistyped name, '' if nothing is near; capitals do not matter."""
    by_folded = {str(other).strip().casefold(): str(other) for other in names}
    close = difflib.get_close_matches(name.strip().casefold(), by_folded, n=1)
    return f"; the nearest is {by_folded[close[0]]!r}" if close else ""


def check_text(names: Sequence[str], argument: str) -> None:
    """Refuse names that no file can hold: better here than when what was learned from a long run is saved.

    Raises
    ------
    InvalidArgument : one holds a lone surrogate, which is half of a character.
    """
    if is_text("".join(names)):
        return
    first = next(name for name in names if not is_text(name))
    raise InvalidArgument(
        f"{argument} must be whole characters, or no file can hold them; received {first!r}, with half of one "
        "(a lone surrogate), as bytes decoded wrongly give; read the names again as UTF-8, or rename it"
    )


def is_text(name: str) -> bool:
    """Tell whether a name is made of whole characters."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_rng(rng: np.random.Generator) -> np.random.Generator:
    """Return ``rng`` if it is a numpy Generator, else raise InvalidArgument."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument(
            f"rng must be a numpy Generator; received {kind_of(rng)}; pass numpy.random.default_rng(seed)"
        )
    return rng


def kind_of(value: object) -> str:
    """Return what a value is, in words."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def is_count(value: object, least: int = 0) -> bool:
    """Tell whether a value is a whole number and not below the least."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def check_count(value: int, argument: str, least: int) -> int:
    """Return a whole number, if it is one and not below the least."""
    if not is_count(value, least):
        raise InvalidArgument(f"{argument} must be a whole number, {least} or more; received {value!r}")
    return int(value)


def as_number(value: float, argument: str) -> float:
    """Return one number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{argument} must be one number; received {value!r}") from None


def as_floats(values: ArrayLike, argument: str) -> Array:
    """Return an array of numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{argument} must be an array of numbers; {error}") from None


def as_vector(values: ArrayLike, argument: str) -> Array:
    """Return a finite vector of two numbers or more, not all zero."""
    vector = as_floats(values, argument)
    if vector.ndim != 1 or vector.shape[0] < 2:
        raise InvalidArgument(f"{argument} must have shape (n_goods,), two goods or more; received {vector.shape}")
    if not np.isfinite(vector).all():
        raise InvalidArgument(f"{argument} must be finite; received {vector[~np.isfinite(vector)][0]:g}; remove it")
    if not vector.any():
        raise InvalidArgument(f"{argument} must not be the zero vector: it has no direction; give one good a worth")
    return vector


def normalised(vector: Array) -> Array:
    """Return the unit vector in the direction of a vector, read-only."""
    vector = vector / np.abs(vector).max()  # so that squares neither overflow nor vanish
    vector /= np.linalg.norm(vector)
    vector.flags.writeable = False
    return vector
