# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A normal law of utilities: goods may be liked together, and some be worth much to few; only directions matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats, check_count, check_rng
from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False, eq=False)
class NormalLaw:
    """Unit vectors along draws of a normal law: the scale of mean and covariance together says nothing.

    Attributes
    ----------
    mean : (n,) n at least 2, read-only.
    covariance : (n, n) positive definite, read-only; (n,) variances may be given in its place.
    axes : what the axes of each parameter count, by its name.
    """

    mean: Array
    covariance: Array
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"mean": ("good",), "covariance": ("good", "other_good")}

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        centre, spread = as_floats(mean, "mean"), as_floats(covariance, "covariance")
        n = centre.size
        if centre.ndim != 1 or n < 2 or not np.isfinite(centre).all():
            raise InvalidArgument(f"mean must be finite, (n_goods,), two goods or more; received {centre.shape}")
        if spread.shape == (n,):
            spread = np.diag(spread)
        if spread.shape != (n, n) or not np.isfinite(spread).all():
            raise InvalidArgument(
                f"covariance must be {n} variances or a matrix ({n}, {n}) of finite numbers; received shape "
                f"{np.shape(covariance)}"
            )
        is_symmetric = np.abs(spread - spread.T).max() <= 1e-9 * np.abs(spread).max()
        smallest = float(np.linalg.eigvalsh(0.5 * (spread + spread.T))[0])
        if not (is_symmetric and smallest > 0):
            raise InvalidArgument(
                "covariance must be symmetric and positive definite; received one that is not symmetric"
                if not is_symmetric
                else f"covariance must be positive definite; its smallest eigenvalue is {smallest:.3g}"
            )
        centre, spread = centre.copy(), 0.5 * (spread + spread.T)
        centre.flags.writeable = spread.flags.writeable = False
        object.__setattr__(self, "mean", centre)
        object.__setattr__(self, "covariance", spread)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.mean.size

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) draws, scaled to length 1."""
        normals = check_rng(rng).standard_normal((check_count(size, "size", 0), self.n_goods))
        draws = self.mean + normals @ np.linalg.cholesky(self.covariance).T
        unit: Array = draws / np.linalg.norm(draws, axis=1, keepdims=True)
        return unit
