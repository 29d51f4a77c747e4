# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Who is asked what they would choose: customers with a taste each, and the noise of a choice.

At a menu the utility of a good is what a taste makes of its design and Gumbel noise, of which, where none of the goods
is an option, that of this option is taken off. Read by value, these are logarithms of utilities. All draws of the law,
and all menus, look at the same customers: normals and noise that lie evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.features import Designs, FeatureDesign
from stochpref.market import N_CROWDS, Market, Steady
from stochpref.observations import Menus
from stochpref.problems import Problem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_JITTER: Final = 1e-9  # of the largest variance: where only differences count covariances have no full rank


class Crowd(NamedTuple):
    """What all draws share of customers, (customers, n) each: normals of tastes, and the noise of choices."""

    normals: Array
    noise: Array


@dataclass(frozen=True, slots=True)
class TastesAt(Steady):
    """Customers at one menu, or wherever no features move what they want.

    mean, root : (draws, n) and (draws, n, n), lower triangular, of utilities but for the noise.
    crowd : all customers; the crowds, of one size, follow one another in it.
    is_log : these are logarithms of utilities.
    has_none : none of the goods is an option.
    """

    goods: tuple[str, ...]
    mean: Array
    root: Array
    crowd: Crowd
    n_crowds: int
    is_log: bool
    has_none: bool

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.mean)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.crowd.noise)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one draw; of all crowds if none is named."""
        size = self.n_customers // self.n_crowds
        rows = slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size)
        return _worth(self._wanted(draw, self.crowd.normals[rows]) + self.crowd.noise[rows], self.is_log)

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one draw."""
        n = self.mean.shape[1]
        wanted = self._wanted(draw, rng.standard_normal((size, n)))
        return _worth(wanted + new_noise(size, n, self.has_none, rng), self.is_log)

    def page_arrays(self) -> dict[str, Array]:
        """Return means, roots, normals and noise, from which the page makes the utilities."""
        arrays = {"means": self.mean, "roots": self.root, "normals": self.crowd.normals, "noise": self.crowd.noise}
        return arrays | ({"logarithms": np.ones(1)} if self.is_log else {})

    def _wanted(self, draw: int, normals: Array) -> Array:
        return np.asarray(self.mean[draw] + normals @ self.root[draw].T)


@dataclass(frozen=True, slots=True)
class TasteMarket:
    """Customers whose tastes follow a normal law for each posterior draw, or are one known customer's.

    design, problem : how utilities move with tastes, and what is chosen.
    mean, covariance : (draws, p) and (draws, p, p) of the laws; covariances of 0 where the taste is known.
    crowd : all customers; the crowds, of one size, follow one another in it.
    """

    design: FeatureDesign
    problem: Problem
    mean: Array
    covariance: Array
    crowd: Crowd
    n_crowds: int

    @property
    def is_steady(self) -> bool:
        """False: what is faced moves them."""
        return False

    @property
    def goods(self) -> tuple[str, ...]:
        """Names, in the order of the utilities."""
        return self.design.goods

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.mean)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.crowd.noise)

    @property
    def is_log(self) -> bool:
        """Whether laws are of logarithms of utilities."""
        return reads_by_value(self.problem)

    @property
    def has_none(self) -> bool:
        """Whether none of the goods is an option."""
        return bool(self.problem.settings()["outside"])

    def at(self, design: Array) -> TastesAt:
        """Return the customers where all face one design (n, p)."""
        spread = design @ self.covariance @ design.T
        size = np.max(np.diagonal(spread, axis1=1, axis2=2), axis=1)
        root = np.zeros_like(spread)
        known = size > 0.0
        jitter = _JITTER * size[known, None, None] * np.eye(len(design))
        root[known] = np.linalg.cholesky(spread[known] + jitter)
        return TastesAt(
            self.goods, self.mean @ design.T, root, self.crowd, self.n_crowds, self.is_log, self.has_none
        )  # fmt: skip

    def facing(self, menus: Menus) -> FacedTastes:
        """Return the customers at menus."""
        return FacedTastes(self, self.design.designs(menus))

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities of customers where features are average."""
        return self.at(self.design.at_average).utilities(draw, crowd)

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities of new customers where features are average."""
        return self.at(self.design.at_average).sample(draw, size, rng=rng)

    def page_arrays(self) -> dict[str, Array]:
        """Return what a page makes utilities from where features are average."""
        return self.at(self.design.at_average).page_arrays()


class FacedTastes:
    """The customers at menus; parameters as `TasteMarket` and its `facing` say."""

    def __init__(self, market: TasteMarket, designs: Designs) -> None:
        self._market, self._designs = market, designs

    @property
    def parts(self) -> Sequence[tuple[Indices, Market]]:
        """A market for each design."""
        return [
            (np.flatnonzero(self._designs.whose == u), self._market.at(design))
            for u, design in enumerate(self._designs.each)
        ]

    def sample(self, draw: int, rows: Indices, *, rng: np.random.Generator) -> Array:
        """Return the utilities (rows, n) of new customers under one draw, one at each of some menus."""
        own = self._market
        values, vectors = np.linalg.eigh(own.covariance[draw])
        normals = rng.standard_normal((len(rows), own.mean.shape[1]))
        tastes = own.mean[draw] + (normals * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        wanted = np.einsum("tnp,tp->tn", self._designs.each[self._designs.whose[rows]], tastes)
        return _worth(wanted + new_noise(len(rows), wanted.shape[1], own.has_none, rng), own.is_log)


def _worth(wanted: Array, is_log: bool) -> Array:
    return np.exp(wanted) if is_log else wanted


def reads_by_value(problem: Problem) -> bool:
    """Tell whether laws of tastes are of logarithms of utilities: where worth is for money."""
    return problem.settings()["reading"] == "value"


def make_crowd(n: int, n_customers: int, *, has_none: bool, seed: int) -> Crowd:
    """Return crowds of customers, one after another, each evenly spread by a scrambled Sobol sequence of its own."""
    size, rng = 2 ** max(round(math.log2(max(n_customers / N_CROWDS, 1))), 0), np.random.default_rng([seed, 1])
    points = np.concatenate([qmc.Sobol(2 * n + has_none, seed=rng).random(size) for _ in range(N_CROWDS)])
    points = np.clip(points, 1e-12, 1.0 - 1e-12)
    return Crowd(ndtri(points[:, :n]), _noise_of(points[:, n:], n))


def new_noise(size: int, n: int, has_none: bool, rng: np.random.Generator) -> Array:
    """Return the noise (size, n) of new choices."""
    return _noise_of(rng.uniform(1e-300, 1.0, (size, n + has_none)), n)


def _noise_of(points: Array, n: int) -> Array:
    """Return Gumbel noise (k, n) of uniform numbers (k, n) or (k, n + 1), the last for choosing none."""
    gumbel = -np.log(-np.log(points))
    return np.asarray(gumbel[:, :n] - gumbel[:, n:] if points.shape[1] > n else gumbel)
