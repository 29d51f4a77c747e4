# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Mean utilities that move with features: h_t = X_t θ = B + Σ β f_t, and the design X_t that every such model takes.

A feature of goods, such as a price or whether a good is promoted, has one coefficient, or one a good if it is asked for
as ``"price:good"``. A feature of observations, such as income, has one a good. "price" is the feature of that name if
there is one, else the prices of the menus. Inside, features are centred and scaled; coefficients are told in the units
that were given. Where a good is not on offer its features are taken to be average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, shown
from stochpref.observations import BY_GOOD, Menus, Observations
from stochpref.problems import Problem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

PRICE: Final = "price"
_COLLINEAR: Final = 1e-8  # of a column's length: what is left of it after others, below which it says nothing new


class Scale(NamedTuple):
    """How a feature is standardised: less its centre, over its spread."""

    centre: float
    spread: float


class Term(NamedTuple):
    """A feature that laws move with.

    feature : its name.
    is_by_good : whether it has a coefficient for each good.
    is_of_goods : whether each good has a value of its own, (T, n), or the observation has one, (T,).
    scale : of the fitted observations.
    """

    feature: str
    is_by_good: bool
    is_of_goods: bool
    scale: Scale

    def names(self, goods: tuple[str, ...]) -> list[str]:
        """Return the names of its coefficients."""
        return [f"{self.feature}:{good}" for good in goods] if self.is_by_good else [self.feature]


class Designs(NamedTuple):
    """The designs of menus: different ones (U, N, p), and which of them (T,) is each menu's."""

    each: Array
    whose: Indices

    def laws(self, theta: Array) -> Array:
        """Return the different h (…, U, N) that coefficients (…, p) make."""
        return np.einsum("uip,...p->...ui", self.each, theta)

    def pulled(self, slopes: Array) -> Array:
        """Return gradients (T, p) in θ of what has gradients (T, N) in h."""
        return np.einsum("tip,ti->tp", self.each[self.whose], slopes)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureDesign:
    """How h moves with features: h = X θ, θ the intercepts of all coordinates and a coefficient a standardised feature.

    goods, problem : of the fitted observations; h is over the problem's coordinates.
    terms : the features.
    kept : (p,) which of all `names` are in θ: others say the same as some before them.
    """

    goods: tuple[str, ...]
    problem: Problem
    terms: tuple[Term, ...]
    kept: tuple[int, ...]

    @classmethod
    def of(cls, observations: Observations, features: Sequence[str]) -> Self:
        """Return the design of features of observations, checked and scaled by them; ("price", "income:good"), say.

        Raises
        ------
        InvalidArgument : names that are none, or twice there; features that do not vary, or say only which good it is.
        """
        goods, problem = observations.goods, observations.problem
        terms = _terms(observations, features)
        whole = cls(goods, problem, terms, ())
        whole = cls(goods, problem, terms, tuple(range(len(whole.names))))
        return cls(goods, problem, terms, _independent(whole.designs(observations), whole.n_coordinates))

    @classmethod
    def without_features(cls, observations: Observations) -> Self:
        """Return the design of intercepts alone, as many as bundles tell of."""
        goods, problem = observations.goods, observations.problem
        n = len(problem.coordinates(goods))
        span = problem.span(n)
        return cls(goods, problem, (), tuple(range(n if span is None else span.shape[1])))

    @property
    def n_coordinates(self) -> int:
        """How many numbers a utility has: as many as h."""
        return len(self.problem.coordinates(self.goods))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all coefficients: the coordinates for the intercepts, then the features."""
        moving = (name for term in self.terms for name in term.names(self.goods))
        return (*self.problem.coordinates(self.goods), *moving)

    @property
    def features(self) -> tuple[str, ...]:
        """The features, as asked for."""
        return tuple(f"{t.feature}{BY_GOOD}" if t.is_by_good and t.is_of_goods else t.feature for t in self.terms)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the coefficients, and why."""
        names = self.names
        dropped = [name for j, name in enumerate(names) if j >= self.n_coordinates and j not in self.kept]
        return tuple(f"{shown(name)} is left out: others say the same" for name in dropped)

    def designs(self, menus: Menus | Observations) -> Designs:
        """Return the designs of menus or observations, over the goods of the fit."""
        blocks = self._blocks(menus.over(self.goods))
        count, n, m = blocks.shape
        unique, whose = np.unique(blocks.reshape(count, -1), axis=0, return_inverse=True)
        intercepts = np.broadcast_to(self.level, (len(unique), n, n))
        each = np.concatenate([intercepts, unique.reshape(len(unique), n, m)], axis=2)
        return Designs(each[:, :, list(self.kept)], whose.ravel().astype(np.intp))

    @property
    def level(self) -> Array:
        """The projection (N, N) on the h that bundles tell of: where only differences count, less the mean."""
        span = self.problem.span(self.n_coordinates)
        return np.eye(self.n_coordinates) if span is None else span @ span.T

    @property
    def at_average(self) -> Array:
        """The design (N, p) where every feature is average: h there is made of the intercepts alone."""
        slopes = np.zeros((self.n_coordinates, len(self.names) - self.n_coordinates))
        return np.concatenate([self.level, slopes], axis=1)[:, list(self.kept)]

    @property
    def to_units(self) -> Array:
        """The matrix (P, p) from θ to all coefficients in the units that were given, intercepts at features of 0."""
        n, change, j = self.n_coordinates, np.eye(len(self.names)), self.n_coordinates
        for term in self.terms:
            for i in range(len(term.names(self.goods))):
                change[j, j] = 1.0 / term.scale.spread
                shift = term.scale.centre / term.scale.spread
                change[i if term.is_by_good else slice(0, len(self.goods)), j] = -shift
                j += 1
        change[:n] = self.level @ change[:n]
        return change[:, list(self.kept)]

    def needed(self) -> tuple[str, ...]:
        """Return the features that menus must have, so that their laws are known."""
        return tuple(term.feature for term in self.terms)

    def settings(self) -> dict[str, Any]:
        """Return terms and what is kept of them, as JSON can hold it."""
        return {"terms": [[*term[:3], *term.scale] for term in self.terms], "kept": list(self.kept)}

    @classmethod
    def restore(cls, settings: Mapping[str, Any], goods: tuple[str, ...], problem: Problem) -> Self:
        """Return the design with these settings."""
        terms = tuple(
            Term(str(name), bool(is_by_good), bool(is_of_goods), Scale(float(centre), float(spread)))
            for name, is_by_good, is_of_goods, centre, spread in settings["terms"]
        )
        return cls(goods, problem, terms, tuple(int(j) for j in settings["kept"]))

    def _blocks(self, data: Menus | Observations) -> Array:
        """Return (T, N, m) what coefficients of standardised features are multiplied by in each coordinate of h."""
        count, n = data.prices.shape
        columns = [np.zeros((count, self.n_coordinates, 0))]
        for term in self.terms:
            values = _values(data, term.feature)
            table = np.broadcast_to(values if values.ndim == 2 else values[:, None], (count, n))
            scaled = np.where(np.isfinite(data.prices), (table - term.scale.centre) / term.scale.spread, 0.0)
            own = scaled[:, :, None] * (np.eye(n) if term.is_by_good else np.ones((n, 1)))
            others = np.zeros((count, self.n_coordinates - n, own.shape[2]))
            columns.append(np.concatenate([own, others], axis=1))
        return np.einsum("ik,tkj->tij", self.level, np.concatenate(columns, axis=2))


def _terms(data: Observations, features: Sequence[str]) -> tuple[Term, ...]:
    """Return the features asked for, each checked against what the observations have."""
    if isinstance(features, str) or not all(isinstance(name, str) for name in features) or not len(features):
        raise InvalidArgument(f"features must be names, such as ('price', 'promotion'); received {features!r}")
    terms = [_term(data, name) for name in features]
    asked = [term.feature for term in terms]
    twice = sorted({name for name in asked if asked.count(name) > 1})
    if twice:
        raise InvalidArgument(f"features must be different; received {twice[0]!r} more than once; leave one out")
    return tuple(terms)


def _term(data: Observations, asked: str) -> Term:
    name = asked.removesuffix(BY_GOOD)
    known = [*data.features, *([] if PRICE in data.features else [PRICE])]
    if name not in known:
        raise InvalidArgument(
            f"features must be among those of the observations, {', '.join(map(repr, known))}; received {asked!r}"
            f"{nearest(name, known)}"
        )
    values = _values(data, name)
    offered = values[np.isfinite(data.prices)] if values.ndim == 2 else values
    spread = float(offered.std())
    if not spread > 1e-12 * max(float(np.abs(offered).max(initial=0.0)), 1e-300):
        raise InvalidArgument(
            f"features must vary; {name!r} is {offered[0]:g} wherever a good is on offer; leave it out: the intercepts "
            "hold it"
        )
    is_of_goods = values.ndim == 2
    return Term(name, asked.endswith(BY_GOOD) or not is_of_goods, is_of_goods, Scale(float(offered.mean()), spread))


def _values(data: Menus | Observations, name: str) -> Array:
    if name in data.features:
        return data.features[name]
    if name == PRICE:
        return data.prices
    raise InvalidArgument(f"menus must have the feature {name!r} that laws move with; add it to features")


def _independent(designs: Designs, n: int) -> tuple[int, ...]:
    """Return the columns, intercepts first, that are not sums of those before."""
    counts = np.bincount(designs.whose, minlength=len(designs.each)).astype(np.float64)
    gram, kept = np.einsum("u,uip,uiq->pq", counts, designs.each, designs.each, optimize=True), list[int]()
    for j in range(len(gram)):
        own = gram[np.ix_(kept, kept)]
        rest = gram[j, j] - gram[j, kept] @ np.linalg.lstsq(own, gram[kept, j], rcond=None)[0] if kept else gram[j, j]
        if rest > _COLLINEAR * max(gram[j, j], 1e-300):
            kept.append(j)
    if all(j < n for j in kept):
        raise InvalidArgument("features must say something that the goods do not; those received are constant by good")
    return tuple(kept)
