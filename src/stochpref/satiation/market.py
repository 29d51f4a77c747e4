# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Who is asked what they would buy, where goods satiate: a law of worths for each posterior draw, one crowd for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.laws.lognormal import draw_errors, fading_worths
from stochpref.market import Alike, Faced, unmoved
from stochpref.observations import Menus
from stochpref.satiation.moving import Moving

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class SatiatedMarket:
    """Customers who differ in what first units are worth to them.

    goods : the coordinates of utilities: goods, the rest of the budget where it is a good, and how they satiate.
    location, scale : (draws, k) of log-worths.
    log_satiation : (draws, m) of the goods other than the outside one.
    outside : its place among the k, None if there is none.
    error : law of the errors.
    errors : (customers, k) that all draws share; the crowds, of one size, follow one another.
    moves : how features of menus move laws, which are those where every feature is average; None if none does. Where
        some do there are no customers without what they face, and `facing` has them.
    """

    goods: tuple[str, ...]
    location: Array
    scale: Array
    log_satiation: Array
    outside: int | None
    error: str
    errors: Array
    n_crowds: int
    moves: MarketMoves | None = None

    @property
    def is_steady(self) -> bool:
        """Whether no feature moves them."""
        return self.moves is None

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.location)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.errors)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one law; of all crowds if none is named."""
        self._check_menus_matter_not()
        size = self.n_customers // self.n_crowds
        rows = slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size)
        return self._made(draw, self.errors[rows])

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one law."""
        self._check_menus_matter_not()
        return self._made(draw, draw_errors(self.error, (size, self.errors.shape[1]), rng=rng))

    def facing(self, menus: Menus) -> Faced:
        """Return the same customers as they are at menus."""
        return Alike(self, len(menus)) if self.moves is None else MovedFaced(self, self.moves, menus)

    def page_arrays(self) -> dict[str, Array]:
        """Return laws and errors, from which the page makes the utilities, and which worths fade."""
        self._check_menus_matter_not()
        inside = [i for i in range(self.location.shape[1]) if i != self.outside]
        return {
            "locations": self.location, "scales": self.scale, "fades": np.exp(self.log_satiation),
            "errors": self.errors, "inside": np.array(inside, np.float64),
        }  # fmt: skip

    def _check_menus_matter_not(self) -> None:
        if self.moves is not None:
            raise unmoved()

    def _made(self, draw: int, errors: Array) -> Array:
        return fading_worths(self.location[draw], self.scale[draw], self.log_satiation[draw], self.outside, errors)


class MarketMoves(NamedTuple):
    """How features move the laws of a market, and the coefficients of each draw: (draws, m) and (draws, l)."""

    moving: Moving
    location: Array
    satiation: Array


class MovedFaced:
    """Customers at menus whose features move what they want; parameters as `SatiatedMarket.facing` has them."""

    def __init__(self, market: SatiatedMarket, own: MarketMoves, menus: Menus) -> None:
        self._market, found = market, own.moving.moves(menus)
        inside = [i for i in range(market.location.shape[1]) if i != market.outside]
        count, k = len(menus), market.location.shape[1]
        both = [np.broadcast_to(part, (count, k, part.shape[2])) for part in found]
        unique, whose = np.unique(np.concatenate(both, axis=2).reshape(count, -1), axis=0, return_inverse=True)
        each = unique.reshape(len(unique), k, -1)
        m = own.location.shape[1]
        self._whose = whose.ravel()
        self._location = np.einsum("uim,sm->usi", each[:, :, :m], own.location)
        self._satiation = np.einsum("uim,sm->usi", each[:, inside][:, :, m:], own.satiation)

    @property
    def parts(self) -> Sequence[tuple[Indices, SatiatedMarket]]:
        """A market for all menus of the same features."""
        own = self._market
        return [
            (
                np.flatnonzero(self._whose == u),
                replace(
                    own, location=own.location + self._location[u], moves=None,
                    log_satiation=own.log_satiation + self._satiation[u],
                ),
            )
            for u in range(len(self._location))
        ]  # fmt: skip

    def sample(self, draw: int, rows: Indices, *, rng: np.random.Generator) -> Array:
        """Return utilities of new customers, one at each of some menus."""
        own, whose = self._market, self._whose[rows]
        errors = draw_errors(own.error, (len(rows), own.errors.shape[1]), rng=rng)
        location = own.location[draw] + self._location[whose, draw]
        fades = own.log_satiation[draw] + self._satiation[whose, draw]
        return fading_worths(location, own.scale[draw], fades, own.outside, errors)


def make_errors(error: str, k: int, n_customers: int, n_crowds: int, *, rng: np.random.Generator) -> Array:
    """Return crowds of errors, one after another, each evenly spread by a scrambled Sobol sequence of its own."""
    size = 2 ** max(round(math.log2(max(n_customers / n_crowds, 1))), 0)
    points = np.concatenate([qmc.Sobol(k, seed=rng).random(size) for _ in range(n_crowds)])
    points = np.clip(points, 1e-12, 1.0 - 1e-12)
    return np.asarray(ndtri(points) if error == "normal" else -np.log(-np.log(points)))
