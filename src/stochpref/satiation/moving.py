# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How features move log-worths and log-satiations: the designs of `features`, seen from the outside good.

Only differences of log-worths count, so that features of the outside good are taken off those of all goods, and of
features with a coefficient a good that of the outside good is left out; where there is none, the mean over goods and
the coefficient of the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.features import FeatureDesign
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem, as_problem
from stochpref.problems.satiated import Satiated
from stochpref.satiation.parameters import Moves

Array = NDArray[np.float64]


class Moving(NamedTuple):
    """What log-worths and log-satiations move with; None for nothing.

    goods, outside, k : names, place of the outside good, and how many goods there are with the rest.
    """

    goods: tuple[str, ...]
    outside: int | None
    k: int
    location: FeatureDesign | None
    satiation: FeatureDesign | None

    @classmethod
    def of(cls, observations: Observations, features: Sequence[str], satiation_features: Sequence[str]) -> Self:
        """Return how features of observations move them, checked and scaled by the observations."""
        plain = observations.under(as_problem("divisible"))
        designs = (FeatureDesign.of(plain, asked) if len(asked) else None for asked in (features, satiation_features))
        return cls._over(observations.goods, observations.problem, *designs)

    @classmethod
    def _over(
        cls, goods: tuple[str, ...], problem: Problem, location: FeatureDesign | None, satiation: FeatureDesign | None
    ) -> Self:
        assert isinstance(problem, Satiated)
        place = problem.outside_place(goods)
        return cls(goods, place, len(goods) + (place == len(goods)), location, satiation)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the coefficients of log-worths and of log-satiations."""
        return tuple(name for name, _ in self._kept), _names(self.satiation)

    @property
    def scales(self) -> tuple[Array, Array]:
        """By how much one unit of a feature moves a standardised one, by coefficient."""
        own = dict(zip(_names(self.location), _spreads(self.location), strict=True))
        return np.array([1.0 / own[name] for name, _ in self._kept]), 1.0 / _spreads(self.satiation)

    @property
    def _kept(self) -> list[tuple[str, int]]:
        """The coefficients of log-worths that differences tell, with their columns."""
        n = len(self.goods)
        base = n - 1 if self.outside is None else self.outside
        hidden = "" if base == n else f":{self.goods[base]}"
        names = _names(self.location)
        return [(name, j) for j, name in enumerate(names) if not (hidden and name.endswith(hidden))]

    @property
    def needed(self) -> tuple[str, ...]:
        """The features that menus must have."""
        designs = (design for design in (self.location, self.satiation) if design is not None)
        return tuple(dict.fromkeys(name for design in designs for name in design.needed()))

    def moves(self, menus: Menus | Observations) -> Moves:
        """Return what coefficients are multiplied by at menus, (T, k, m) each."""
        count = 1 if self.location is None and self.satiation is None else len(menus)
        worth = _columns(self.location, menus, count, self.k)
        if self.outside is None:
            worth = worth - worth.mean(axis=1, keepdims=True)
        else:
            worth = worth - worth[:, self.outside : self.outside + 1]
        return Moves(worth[:, :, [j for _, j in self._kept]], _columns(self.satiation, menus, count, self.k))

    def settings(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        designs = {"location": self.location, "satiation": self.satiation}
        return {name: None if design is None else design.settings() for name, design in designs.items()}

    @classmethod
    def restore(cls, settings: Mapping[str, Any], goods: tuple[str, ...], problem: Problem) -> Self:
        """Return what these settings describe."""
        plain = as_problem("divisible")
        designs = (
            None if settings.get(name) is None else FeatureDesign.restore(settings[name], goods, plain)
            for name in ("location", "satiation")
        )
        return cls._over(goods, problem, *designs)


def checked_features(asked: Sequence[str], argument: str) -> tuple[str, ...]:
    """Return names of features, refusing a single text, which would be taken for its letters."""
    if isinstance(asked, str):
        raise InvalidArgument(f"{argument} must be a list of names; received the text {asked!r}; put it in one")
    return tuple(asked)


def _names(design: FeatureDesign | None) -> tuple[str, ...]:
    """Return the names of the coefficients of features that a design keeps."""
    if design is None:
        return ()
    n = design.n_coordinates
    return tuple(design.names[j] for j in design.kept if j >= n)


def _spreads(design: FeatureDesign | None) -> Array:
    """Return the spread of the feature of each of those coefficients."""
    if design is None:
        return np.empty(0)
    each = [term.scale.spread for term in design.terms for _ in term.names(design.goods)]
    return np.array([each[j - design.n_coordinates] for j in design.kept if j >= design.n_coordinates])


def _columns(design: FeatureDesign | None, menus: Menus | Observations, count: int, k: int) -> Array:
    """Return the standardised features (T, k, m) of the coefficients that a design keeps; 0 for the rest."""
    if design is None:
        return np.zeros((count, k, 0))
    found = design.designs(menus.under(as_problem("divisible")))
    own = found.each[found.whose][:, :, sum(j < design.n_coordinates for j in design.kept) :]
    return np.concatenate([own, np.zeros((count, k - own.shape[1], own.shape[2]))], axis=1)
