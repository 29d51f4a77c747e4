# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A law of customers whose goods satiate: worths whose logarithms are normal, and how fast each good fades."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats, check_choice, check_count, check_rng
from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]

ERRORS = ("normal", "gumbel")  # laws of the logarithms


def draw_errors(error: str, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
    """Return standard draws of the logarithms of worths."""
    return rng.standard_normal(shape) if error == "normal" else rng.gumbel(size=shape)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class LognormalLaw:
    """Utilities of the problem of goods that satiate: log u ~ location + scale · ε, and g = u · satiation.

    Attributes
    ----------
    location : (k,) of log u, goods first and then, where it is a good, the rest of the budget; read-only.
    scale : (k,) positive, read-only.
    satiation : (m,) γ of the goods other than the outside one, in their order; read-only.
    outside : place of the outside good among the k; None if there is none.
    error : law of ε, "normal" or "gumbel" (as in MDCEV).
    """

    location: Array
    scale: Array
    satiation: Array
    outside: int | None
    error: str

    def __init__(
        self,
        location: ArrayLike,
        scale: ArrayLike,
        satiation: ArrayLike,
        outside: int | None = None,
        error: str = "normal",
    ) -> None:
        centre = as_floats(location, "location")
        if centre.ndim != 1 or not centre.size or not np.isfinite(centre).all():
            raise InvalidArgument(f"location must be finite numbers (k,); received shape {centre.shape}")
        if outside is not None and not (isinstance(outside, int | np.integer) and 0 <= outside < centre.size):
            raise InvalidArgument(f"outside must be a place from 0 to {centre.size - 1}, or None; received {outside!r}")
        n_inside = centre.size - (outside is not None)
        for name, given, size in (("scale", scale, centre.size), ("satiation", satiation, n_inside)):
            values = as_floats(given, name)
            if values.shape not in ((), (1,), (size,)) or not (np.isfinite(values) & (values > 0)).all():
                raise InvalidArgument(f"{name} must be positive numbers, one or {size}; received {given!r}")
            values = np.array(np.broadcast_to(values, (size,)))
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        centre = centre.copy()
        centre.flags.writeable = False
        object.__setattr__(self, "location", centre)
        object.__setattr__(self, "outside", None if outside is None else int(outside))
        object.__setattr__(self, "error", check_choice(error, "error", ERRORS))

    @property
    def n_goods(self) -> int:
        """Number of coordinates of a utility: worths, and how inside goods satiate."""
        return self.location.size + self.satiation.size

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) utilities; only their direction matters."""
        shape = check_count(size, "size", 0), self.location.size
        errors = draw_errors(self.error, shape, rng=check_rng(rng))
        return fading_worths(self.location, self.scale, np.log(self.satiation), self.outside, errors)


def fading_worths(location: Array, scale: Array, log_satiation: Array, outside: int | None, errors: Array) -> Array:
    """Return utilities (size, k + m): worths, and below them what they fade by, of standard errors (size, k)."""
    logs = location + scale * errors
    inside = [i for i in range(location.shape[-1]) if i != outside]
    return np.asarray(np.exp(np.concatenate([logs, logs[:, inside] + log_satiation], axis=1)))
