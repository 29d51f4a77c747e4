# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Who is asked what they would buy: the customers of every posterior draw of a fit.

All draws look at the same customers: one set of quantiles and tangent directions, carried to each law by a map that is
smooth in its parameters. Noise from their finite number then moves the demand of all draws together and does not widen
intervals; scrambled Sobol points keep it small, and independent crowds measure it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from stochpref.errors import InvalidArgument
from stochpref.features import FeatureDesign
from stochpref.laws import MixtureLaw, VonMisesFisher
from stochpref.laws.angles import angles_at
from stochpref.laws.von_mises_fisher import sample_each
from stochpref.observations import Menus

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

N_CROWDS: Final = 8  # whose spread is the Monte Carlo error

_PURCHASES: Final = 2e7  # simulated for a call of `demand`, shared out over draws and menus


class Market(Protocol):
    """The customers of every posterior draw.

    goods : names, in the order of the utilities.
    n_draws : of the posterior; 1 where one utility is all there is, and there are no intervals.
    n_crowds : independent crowds of equally many customers, whose spread is the Monte Carlo error; 1 if there is none.
    n_customers : in all crowds together.
    is_steady : customers want the same whatever they face.
    """

    @property
    def is_steady(self) -> bool: ...  # noqa: D102

    @property
    def goods(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def n_draws(self) -> int: ...  # noqa: D102

    @property
    def n_crowds(self) -> int: ...  # noqa: D102

    @property
    def n_customers(self) -> int: ...  # noqa: D102

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one draw; of all crowds if none is named."""

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one draw."""

    def page_arrays(self) -> dict[str, Array]:
        """Return what the script of a report makes the utilities of all draws and customers from."""

    def facing(self, menus: Menus) -> Faced:
        """Return the same customers as they are at menus, which may move what they want."""


class Faced(Protocol):
    """Customers at menus.

    parts : markets of customers, each with the places of the menus at which they are so.
    """

    @property
    def parts(self) -> Sequence[tuple[Indices, Market]]: ...  # noqa: D102

    def sample(self, draw: int, rows: Indices, *, rng: np.random.Generator) -> Array:
        """Return the utilities (rows, n) of new customers under one draw, one at each of some menus."""


class Alike(NamedTuple):
    """Customers who are the same at all of so many menus."""

    market: Market
    n_menus: int

    @property
    def parts(self) -> Sequence[tuple[Indices, Market]]:
        """One market for all menus."""
        return [(np.arange(self.n_menus), self.market)]

    def sample(self, draw: int, rows: Indices, *, rng: np.random.Generator) -> Array:
        """Return utilities of new customers."""
        return self.market.sample(draw, len(rows), rng=rng)


class Steady:
    """A market of customers who want the same whatever they face."""

    __slots__ = ()

    @property
    def is_steady(self) -> bool:
        """True."""
        return True

    def facing(self: Market, menus: Menus) -> Faced:
        """Return these customers, at all menus alike."""
        return Alike(self, len(menus))


class Crowd(NamedTuple):
    """The customers that all posterior draws share.

    centre : (n,) unit vector, about which they are laid out.
    quantile : (customers,) of the angle between a utility and the mean direction.
    tangent : (customers, n) unit vectors orthogonal to `centre`.
    place : (customers,) of each among all, from 0 to 1, which says whose segment is whose; (0,) where there is but one.
    """

    centre: Array
    quantile: Array
    tangent: Array
    place: Array

    def part(self, rows: slice | Indices) -> Crowd:
        """Return some of the customers."""
        place = self.place[rows] if len(self.place) else self.place
        return Crowd(self.centre, self.quantile[rows], self.tangent[rows], place)


@dataclass(frozen=True, slots=True)
class LawMarket(Steady):
    """Customers who differ: a von Mises–Fisher law for each posterior draw, and one crowd for all of them.

    mean_direction, concentration : (draws, n) and (draws,).
    crowd : all customers; the crowds, of one size, follow one another in it.
    """

    goods: tuple[str, ...]
    mean_direction: Array
    concentration: Array
    crowd: Crowd
    n_crowds: int

    @property
    def n_draws(self) -> int:
        """Number of laws."""
        return len(self.concentration)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.crowd.quantile)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one law; of all crowds if none is named."""
        size = self.n_customers // self.n_crowds
        asked = self.crowd.part(slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size))
        return utilities_of(asked, self.mean_direction[draw], float(self.concentration[draw]))

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one law."""
        return VonMisesFisher(self.mean_direction[draw], float(self.concentration[draw])).sample(size, rng=rng)

    def page_arrays(self) -> dict[str, Array]:
        """Return directions, tangents and angles, from which `turned` makes the utilities."""
        centre, quantile, tangent, _ = self.crowd
        angles = np.array([angles_at(quantile, len(centre), float(kappa)) for kappa in self.concentration])
        return {"centre": centre, "directions": self.mean_direction, "tangents": tangent, "angles": angles}


@dataclass(frozen=True, slots=True)
class MovingMarket:
    """Customers who differ, by a law that moves with features: who they are is known once it is known what they face.

    design : how h moves. theta : (draws, p) coefficients, of each posterior draw.
    crowd : all customers; the crowds, of one size, follow one another in it.
    is_seen : (n,) coordinates of which the fit knows how alike customers are; None for all.
    """

    goods: tuple[str, ...]
    design: FeatureDesign
    theta: Array
    crowd: Crowd
    n_crowds: int
    is_seen: NDArray[np.bool_] | None = None

    @property
    def is_steady(self) -> bool:
        """False: features move them."""
        return False

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.theta)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.crowd.quantile)

    def facing(self, menus: Menus) -> MovedFaced:
        """Return the customers at menus."""
        return MovedFaced(self, menus)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:  # noqa: ARG002
        """Refuse: there are no customers without what they face."""
        raise unmoved()

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Refuse: there are no customers without what they face."""
        raise unmoved()

    def page_arrays(self) -> dict[str, Array]:
        """Refuse: there are no customers without what they face."""
        raise unmoved()


def unmoved() -> InvalidArgument:
    """Return the refusal of questions to customers of whom it must be known what they face."""
    return InvalidArgument(
        "this question takes customers who want the same whatever they face; received a fit whose laws move with "
        "features; demand, elasticities and effects answer for it, or fit without features"
    )


class MovedFaced:
    """The customers of laws that move, at menus; parameters as `MovingMarket` and its `facing` say."""

    def __init__(self, market: MovingMarket, menus: Menus) -> None:
        self._market, self._designs = market, market.design.designs(menus)

    @property
    def parts(self) -> Sequence[tuple[Indices, Market]]:
        """A market for each law."""
        own, whose = self._market, self._designs.whose
        laws = self._laws(own.theta)
        kappa = np.linalg.norm(laws, axis=2)
        directions = laws / np.maximum(kappa, 1e-300)[:, :, None]
        return [
            (np.flatnonzero(whose == u), LawMarket(own.goods, directions[:, u], kappa[:, u], own.crowd, own.n_crowds))
            for u in range(laws.shape[1])
        ]

    def sample(self, draw: int, rows: Indices, *, rng: np.random.Generator) -> Array:
        """Return utilities of new customers."""
        return sample_each(self._laws(self._market.theta[draw])[self._designs.whose[rows]], rng=rng)

    def _laws(self, theta: Array) -> Array:
        """Return the different laws (…, U, n).

        With coordinates more, h grows so that means over spreads stay what they are in the others, as κ grows large:
        utilities are about √κ μ, with spreads of 1, before their length is set to 1.
        """
        laws, is_seen = self._designs.laws(theta), self._market.is_seen
        if is_seen is None:
            return laws
        whole, seen = (np.linalg.norm(part, axis=-1, keepdims=True) for part in (laws, laws[..., is_seen]))
        return np.asarray(laws * (whole / np.maximum(seen, 1e-300)))


@dataclass(frozen=True, slots=True)
class SegmentMarket(Steady):
    """Customers of several segments: a mixture of von Mises–Fisher laws for each posterior draw, one crowd for all.

    weight, mean_direction, concentration : (draws, K), (draws, K, n) and (draws, K).
    crowd : all customers, with their places; the crowds, of one size, follow one another in it.
    """

    goods: tuple[str, ...]
    weight: Array
    mean_direction: Array
    concentration: Array
    crowd: Crowd
    n_crowds: int

    @property
    def n_draws(self) -> int:
        """Number of mixtures."""
        return len(self.weight)

    @property
    def n_customers(self) -> int:
        """Number of customers in all crowds."""
        return len(self.crowd.quantile)

    @property
    def _ends(self) -> Array:
        """(draws, K) where the places of each segment end."""
        return np.cumsum(self.weight, axis=1)

    def segments(self, draw: int) -> Indices:
        """Return the segment of each customer under one mixture."""
        found = np.searchsorted(self._ends[draw], self.crowd.place, side="right")
        return np.minimum(found, self.weight.shape[1] - 1)

    def of_segment(self, k: int) -> LawMarket:
        """Return a market of as many customers, all of one segment."""
        return LawMarket(self.goods, self.mean_direction[:, k], self.concentration[:, k], self.crowd, self.n_crowds)

    def utilities(self, draw: int, crowd: int | None = None) -> Array:
        """Return the utilities (customers, n) of a crowd under one mixture; of all crowds if none is named."""
        size = self.n_customers // self.n_crowds
        rows = slice(None) if crowd is None else slice(crowd * size, (crowd + 1) * size)
        whose, asked = self.segments(draw)[rows], self.crowd.part(rows)
        utilities = np.empty_like(asked.tangent)
        for k in range(self.weight.shape[1]):
            own = np.flatnonzero(whose == k)
            if own.size:
                mu, kappa = self.mean_direction[draw, k], float(self.concentration[draw, k])
                utilities[own] = utilities_of(asked.part(own), mu, kappa)
        return utilities

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:
        """Return the utilities (size, n) of new customers under one mixture."""
        laws = zip(self.mean_direction[draw], self.concentration[draw], strict=True)
        return MixtureLaw([VonMisesFisher(mu, float(kappa)) for mu, kappa in laws], self.weight[draw]).sample(
            size, rng=rng
        )

    def page_arrays(self) -> dict[str, Array]:
        """Return what `LawMarket` does, directions of all segments, and where places of segments end."""
        centre, quantile, tangent, place = self.crowd
        angles = np.empty((self.n_draws, self.n_customers))
        for s in range(self.n_draws):
            whose = self.segments(s)
            for k, kappa in enumerate(self.concentration[s]):
                angles[s, whose == k] = angles_at(quantile[whose == k], len(centre), float(kappa))
        return {
            "centre": centre, "directions": self.mean_direction, "tangents": tangent, "angles": angles,
            "ends": self._ends, "places": place,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class OneCustomer(Steady):
    """A single customer, whose utility (n,) is known: everybody is alike."""

    goods: tuple[str, ...]
    utility: Array
    n_draws: int = 1
    n_crowds: int = 1
    n_customers: int = 1

    def utilities(self, draw: int, crowd: int | None = None) -> Array:  # noqa: ARG002
        """Return the utility, (1, n)."""
        return self.utility[None]

    def sample(self, draw: int, size: int, *, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Return the utility for each of so many customers, (size, n)."""
        return np.broadcast_to(self.utility, (size, len(self.utility)))

    def page_arrays(self) -> dict[str, Array]:
        """Return the utility as a law's mean direction, to which its one customer is at no angle."""
        nowhere = np.zeros((1, len(self.utility)))
        return {
            "centre": self.utility, "directions": self.utility[None], "tangents": nowhere, "angles": np.zeros((1, 1)),
        }  # fmt: skip


def customers_for(n_draws: int, n_menus: int) -> int:
    """Return how many customers each draw can ask, 512 to 8192: fewer for many draws and menus."""
    return int(np.clip(_PURCHASES / (n_draws * n_menus), 512, 8192))


def make_crowds(
    centre: Array, n_customers: int, n_crowds: int, *, rng: np.random.Generator, has_segments: bool = False
) -> Crowd:
    """Lay out crowds of one size evenly about a centre, one after another, each by a scramble of its own.

    Together they are about as many as asked for: Sobol points lie evenly in powers of two.
    """
    size = 2 ** max(round(math.log2(max(n_customers / n_crowds, 1))), 0)
    crowds = [_make_crowd(centre, size, rng, has_segments) for _ in range(n_crowds)]
    return Crowd(centre, *(np.concatenate(parts) for parts in zip(*(crowd[1:] for crowd in crowds), strict=True)))


def _make_crowd(centre: Array, size: int, rng: np.random.Generator, has_segments: bool) -> Crowd:
    """Lay out customers by a scrambled Sobol sequence for the angle, the direction across and, if asked for, places."""
    n = len(centre)
    points = np.clip(qmc.Sobol(n + has_segments, seed=rng).random(size), 1e-12, 1.0 - 1e-12)
    normals = ndtri(points[:, 1:n])
    across = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    # A reflection takes the first axis to ∓centre, hence the other axes to its tangent space.
    sign = 1.0 if centre[0] >= 0 else -1.0
    w = centre.copy()
    w[0] += sign
    tangent = np.concatenate([np.zeros((size, 1)), across], axis=1)
    tangent -= np.outer(tangent @ w, w / (1.0 + abs(centre[0])))
    return Crowd(centre, points[:, 0], tangent, points[:, n] if has_segments else np.empty(0))


def utilities_of(crowd: Crowd, mean_direction: Array, concentration: float) -> Array:
    """Return the utilities (customers, n) of a crowd under a von Mises–Fisher law."""
    return turned(crowd, mean_direction, angles_at(crowd.quantile, len(crowd.centre), concentration))


def turned(crowd: Crowd, mean_direction: Array, theta: Array) -> Array:
    """Return the utilities (customers, n) at angles θ (customers,) from a mean direction."""
    # The smallest rotation that takes the centre to μ, applied to vectors orthogonal to the centre.
    both = crowd.centre + mean_direction
    across = crowd.tangent - np.outer(
        crowd.tangent @ mean_direction, both / max(1.0 + float(crowd.centre @ mean_direction), 1e-12)
    )
    return np.cos(theta)[:, None] * mean_direction + np.sin(theta)[:, None] * across
