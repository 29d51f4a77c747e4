# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A mixture of von Mises–Fisher laws: customers of several segments, each with a mean direction of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from stochpref.checks import as_floats, check_count, check_rng, kind_of
from stochpref.errors import InvalidArgument
from stochpref.laws.von_mises_fisher import VonMisesFisher

Array = NDArray[np.float64]

_SUM_TOLERANCE = 1e-6  # shares written with six decimals pass


@dataclass(frozen=True, slots=True, init=False, eq=False)
class MixtureLaw:
    """Unit vectors from one of several von Mises–Fisher laws, each picked with its weight.

    Attributes
    ----------
    segments : K laws over the same goods.
    weights : (K,) the share of customers of each, positive, of sum 1 (to 1e-6; kept normalised, read-only).
    axes : what the axes of each parameter count, by its name.
    """

    segments: tuple[VonMisesFisher, ...]
    weights: Array
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "weight": ("segment",), "mean_direction": ("segment", "good"), "concentration": ("segment",),
    }  # fmt: skip

    def __init__(self, segments: Sequence[VonMisesFisher], weights: ArrayLike) -> None:
        laws = tuple(segments)
        others = [law for law in laws if not isinstance(law, VonMisesFisher)]
        if not laws or others:
            raise InvalidArgument(
                "segments must be VonMisesFisher laws, one or more; received "
                f"{kind_of(others[0]) if others else 'none'}"
            )
        if len({law.n_goods for law in laws}) > 1:
            sizes = ", ".join(str(law.n_goods) for law in laws)
            raise InvalidArgument(f"segments must be laws over the same goods; received laws of {sizes} goods")
        shares = as_floats(weights, "weights")
        if shares.shape != (len(laws),) or not np.all(shares > 0) or not abs(shares.sum() - 1.0) <= _SUM_TOLERANCE:
            raise InvalidArgument(
                f"weights must be {len(laws)} positive numbers of sum 1, one for each segment; received {shares}; "
                "divide them by their sum"
            )
        shares = shares / shares.sum()
        shares.flags.writeable = False
        object.__setattr__(self, "segments", laws)
        object.__setattr__(self, "weights", shares)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.segments[0].n_goods

    @property
    def components(self) -> tuple[Array, Array]:
        """The weights (K,) and h = κμ (K, n) of the segments."""
        return self.weights, np.concatenate([law.components[1] for law in self.segments])

    def log_density(self, u: ArrayLike) -> Array:
        """Return the log-density with respect to the surface measure, as `VonMisesFisher.log_density`."""
        each = [np.log(share) + law.log_density(u) for share, law in zip(self.weights, self.segments, strict=True)]
        return np.asarray(logsumexp(each, axis=0))

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) draws; whose segment is whose is drawn first, then each segment in turn."""
        size = check_count(size, "size", 0)
        whose = check_rng(rng).choice(len(self.segments), size, p=self.weights)
        draws = np.empty((size, self.n_goods))
        for k, law in enumerate(self.segments):
            rows = np.flatnonzero(whose == k)
            draws[rows] = law.sample(rows.size, rng=rng)
        return draws
