# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The von Mises–Fisher law: customers who differ around a mean direction, the more alike the larger κ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.bessel import log_normaliser
from stochpref.checks import as_floats, as_number, as_vector, check_count, check_rng, normalised
from stochpref.errors import InvalidArgument, describe_rows
from stochpref.laws.protocol import uniform_directions

Array = NDArray[np.float64]

# How far from 1 a norm may be before a vector is taken for a mistake: vectors written with six decimals pass.
_UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, init=False, eq=False)
class VonMisesFisher:
    """Unit vectors with density proportional to exp(κ μ·u) on the sphere.

    Attributes
    ----------
    mean_direction : (n,) μ, n at least 2, of norm 1 (to 1e-6; kept normalised, read-only).
    concentration : κ, zero (the uniform law) or more.
    axes : what the axes of each parameter count, by its name.
    """

    mean_direction: Array
    concentration: float
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"mean_direction": ("good",), "concentration": ()}

    def __init__(self, mean_direction: ArrayLike, concentration: float) -> None:
        mu = as_vector(mean_direction, "mean_direction")
        norm = float(np.linalg.norm(mu))
        if not abs(norm - 1.0) <= _UNIT_TOLERANCE:
            raise InvalidArgument(
                f"mean_direction must have norm 1; received norm {norm:.9g}; "
                "normalise it: mean_direction / np.linalg.norm(mean_direction)"
            )
        kappa = as_number(concentration, "concentration")
        if not (np.isfinite(kappa) and kappa >= 0):
            raise InvalidArgument(
                f"concentration must be finite and not negative; received {kappa:g}; "
                "turn the mean direction round instead of changing the sign"
            )
        object.__setattr__(self, "mean_direction", normalised(mu))
        object.__setattr__(self, "concentration", kappa)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.mean_direction.size

    @property
    def components(self) -> tuple[Array, Array]:
        """The weight 1 and h = κμ (1, n), as a mixture of this law alone."""
        return np.ones(1), self.mean_direction[None] * (self.concentration / float(np.linalg.norm(self.mean_direction)))

    def log_density(self, u: ArrayLike) -> Array | np.float64:
        """Return the log-density with respect to the surface measure of the sphere.

        Parameters
        ----------
        u : (n,) or (k, n) unit vectors (to 1e-6).

        Returns
        -------
        A number, or (k,) numbers.
        """
        points = self._unit_points(u)
        # κ(μ·u − 1) = −κ|u − μ|²/2 for unit vectors. The left side loses its digits near the mean at large κ;
        # the right side keeps them, and an error ε in a norm moves it by a relative ε only.
        half_square = 0.5 * np.sum(np.square(points - self.mean_direction), axis=-1)
        density: Array | np.float64 = -self.concentration * half_square - log_normaliser(
            self.n_goods, self.concentration
        )
        return density

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) draws, at a cost of O(size·n) whatever the concentration."""
        size, n, mu = check_count(size, "size", 0), self.n_goods, self.mean_direction
        below, above = self.draw_heights(size, check_rng(rng))
        # In the frame whose first axis is μ a draw is (1 − d, √(d(2 − d))·v), v uniform on the other axes.
        draws = np.empty((size, n))
        draws[:, 0] = 1.0 - below
        draws[:, 1:] = uniform_directions(size, n - 1, rng=rng) * np.sqrt(below * above)[:, None]
        # The reflection I − 2ww'/|w|² with w = μ + sign(μ₁)e₁, |w|² = 2(1 + |μ₁|), takes e₁ to −sign(μ₁)μ, so
        # −sign(μ₁) times it takes e₁ to μ. With the other sign w would cancel where μ is near ±e₁.
        sign = 1.0 if mu[0] >= 0 else -1.0
        w = mu.copy()
        w[0] += sign
        draws -= np.outer(draws @ w, w / (1.0 + abs(mu[0])))
        draws *= -sign
        return draws

    def draw_heights(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw d = 1 − μ·u, and return (d, 2 − d), each with full relative accuracy; see `_draw_heights`."""
        return _draw_heights(np.full(size, self.concentration), self.n_goods, rng)

    def _unit_points(self, u: ArrayLike) -> Array:
        points = as_floats(u, "u")
        if points.ndim not in (1, 2) or points.shape[-1] != self.n_goods:
            n = self.n_goods
            raise InvalidArgument(f"u must have shape ({n},) or (k, {n}); received shape {points.shape}")
        norms = np.linalg.norm(points, axis=-1, keepdims=True)
        bad = np.flatnonzero(~(np.abs(norms - 1.0) <= _UNIT_TOLERANCE))
        if bad.size:
            raise InvalidArgument(
                f"u must hold unit vectors; {bad.size} are not ({describe_rows(bad.tolist())}); "
                f"received norm {norms.flat[bad[0]]:.9g}; divide each by its norm"
            )
        unit: Array = points / norms
        return unit


def sample_each(laws: Array, *, rng: np.random.Generator) -> Array:
    """Return draws (m, n), one under each of m laws, which are given by their h = κμ (m, n)."""
    kappa = np.linalg.norm(laws, axis=1)
    first = np.eye(laws.shape[1])[0]
    mu = np.where(kappa[:, None] > 0, laws / np.maximum(kappa, 1e-300)[:, None], first)
    below, above = _draw_heights(kappa, laws.shape[1], rng)
    draws = np.empty(laws.shape)
    draws[:, 0] = 1.0 - below
    draws[:, 1:] = uniform_directions(len(laws), laws.shape[1] - 1, rng=rng) * np.sqrt(below * above)[:, None]
    sign = np.where(mu[:, 0] >= 0, 1.0, -1.0)  # the reflection of `VonMisesFisher.sample`, one for each law
    w = mu + sign[:, None] * first
    draws -= w * (np.einsum("ti,ti->t", draws, w) / (1.0 + np.abs(mu[:, 0])))[:, None]
    draws *= -sign[:, None]
    return draws


def _draw_heights(concentration: Array, n_goods: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw d = 1 − μ·u under laws of concentrations κ, and return (d, 2 − d), each with full relative accuracy.

    Notes
    -----
    Wood (1994), *Communications in Statistics, Simulation* 23, 157–164, rewritten in d. His proposal
    μ·u = (1 − (1+b)z)/(1 − (1−b)z), z ~ Beta((n−1)/2, (n−1)/2), is with z = g/(g + g'), g and g' gamma:

        d = 2bg/(g' + bg),   2 − d = 2g'/(g' + bg),   b = (n−1)/(2κ + √(4κ² + (n−1)²)).

    With x = (1−b)/(1+b), m = n − 1 and r = d/(1−x), where 1 − x = 2b/(1+b), his test
    κμ·u + m·log(1 − xμ·u) − κx − m·log(1 − x²) ≥ log U becomes
    κ(1−x)(1−r) + m·log(1 + x(r−1)/(1+x)) ≥ log U: no large terms cancel at large κ, and at κ = 0 it is
    0 ≥ log U, always true.
    """
    m, size = n_goods - 1, len(concentration)
    below, above = np.empty(size), np.empty(size)
    missing = np.arange(size)
    while missing.size:
        kappa = concentration[missing]
        b = m / (2.0 * kappa + np.hypot(2.0 * kappa, m))
        x = (1.0 - b) / (1.0 + b)
        g, g_other = rng.standard_gamma(0.5 * m, (2, missing.size))
        scale = g_other + b * g
        r = (1.0 + b) * g / scale
        log_ratio = kappa * (2.0 * b / (1.0 + b)) * (1.0 - r) + m * np.log1p(x * (r - 1.0) / (1.0 + x))
        is_accepted = log_ratio >= -rng.standard_exponential(missing.size)
        rows = missing[is_accepted]
        below[rows] = (2.0 * b * g / scale)[is_accepted]
        above[rows] = (2.0 * g_other / scale)[is_accepted]
        missing = missing[~is_accepted]
    return below, above
