# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a designer believes before there are data: which goods, and which laws of utilities to average over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.laws import uniform_directions

Array = NDArray[np.float64]

_UNKNOWN_LAWS: Final = 6  # directions averaged over where none is given


def check_laws(
    n_goods: int, mean_direction: ArrayLike | None, concentration: ArrayLike, rng: np.random.Generator
) -> Array:
    """Return (K, n) natural parameters; uniform directions where none is given."""
    if mean_direction is None:
        kappa = np.atleast_1d(np.asarray(concentration, dtype=np.float64))
        directions = uniform_directions(max(_UNKNOWN_LAWS, len(kappa)), n_goods, rng=rng)
    else:
        directions = np.atleast_2d(np.asarray(mean_direction, dtype=np.float64))
        if directions.shape[1] != n_goods or not np.isfinite(directions).all():
            raise InvalidArgument(
                f"mean_direction must be ({n_goods},) or (k, {n_goods}) finite numbers; received {directions.shape}"
            )
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    if np.any(np.abs(lengths - 1) > 1e-6):
        raise InvalidArgument(f"mean_direction must have length 1; received {lengths.min():g}; divide by its norm")
    try:
        kappas = np.broadcast_to(np.asarray(concentration, dtype=np.float64), (len(directions),))
    except ValueError:
        raise InvalidArgument(f"concentration must be a number or one for each of {len(directions)} laws") from None
    if not np.all(np.isfinite(kappas) & (kappas > 0)):
        raise InvalidArgument(
            f"concentration must be positive and finite; received {float(np.min(kappas)):g}; at 0 customers have no "
            "common direction to learn, and at infinity one customer tells all: use bisect_utility"
        )
    return directions / lengths * kappas[:, None]


def good_names(goods: int | Sequence[str]) -> tuple[str, ...]:
    """Return names of goods, good1, good2, … where only their number is given."""
    if isinstance(goods, int | np.integer):
        return tuple(f"good{i + 1}" for i in range(goods))
    if isinstance(goods, str) or not isinstance(goods, Iterable):
        raise InvalidArgument(f"goods must be their number, or a list of names; received {goods!r}")
    return tuple(map(str, goods))
