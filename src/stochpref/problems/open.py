# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Open budgets: nobody says how much customers could have spent, and money that they keep is a good like any other.

A utility has one coordinate more than there are goods, for money, the last. A good is bought, up to its cap, if it is
worth its price: u_i ≥ a_i u_0 / α, where α is the scale, the sum of money that stands beside a good as one unit. Money
is always kept in part, so every observation is a pivot region, and goods are bought whole or not at all.

Only customers to whom money is worth something are seen in shops: u_0 > 0 is given.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance, Part
from stochpref.checks import as_number
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, DEGENERATE, PIVOT, QUANTITY_TOLERANCE, SLACK
from stochpref.problems.faults import Fault, MenuArrays, is_bought, per_good
from stochpref.problems.protocol import Classification, Problem, Ranking
from stochpref.regions import Regions

Array = NDArray[np.float64]

MONEY: Final = "money"  # what the last coordinate is called


class Open(Problem):
    """Money is a good: whatever is worth its price is bought, and the rest of the money kept.

    scale : α, in units of money: how much of it is one unit beside the goods, on which an isotropic law depends. None
        to learn it from the data.
    """

    name: ClassVar[str] = "open"
    demanded: ClassVar[str] = "Expected purchases of a visitor, who may leave with nothing"
    about: ClassVar[str] = "goods bought whole, money kept a good like others, budgets unknown"
    needs_budget: ClassVar[bool] = False
    unpriced: ClassVar[str] = ""

    def __init__(self, scale: float | None = None) -> None:
        if scale is not None and not 0 < as_number(scale, "scale") < np.inf:
            raise InvalidArgument(f"scale must be a positive sum of money, or None to learn it; received {scale!r}")
        self.scale = None if scale is None else float(scale)

    def settings(self) -> dict[str, Any]:
        """Return the scale."""
        return {"scale": self.scale}

    def coordinates(self, goods: tuple[str, ...]) -> tuple[str, ...]:
        """Return the goods, and money."""
        if MONEY in goods:
            raise InvalidArgument(
                f"goods must not be called {MONEY!r} in problem 'open', which is what is kept; rename it"
            )
        return (*goods, MONEY)

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return what is worth its price, up to the caps; where money is worth nothing, all that is wanted."""
        u = self._utilities(utilities, menus)
        offered = np.isfinite(menus.prices)
        costs = np.where(offered, menus.prices, 1.0) / self._scale
        is_worth = offered & (u[..., :-1] > costs * np.maximum(u[..., -1:], 0.0))
        return np.where(is_worth, menus.caps, 0.0)

    def takes_part(self, utilities: Array, menus: MenuArrays) -> NDArray[np.bool_]:
        """Tell to which customers money is worth something."""
        u = np.asarray(utilities)
        return np.broadcast_to(u[..., -1] > 0, np.broadcast_shapes(u.shape[:-1], (len(menus.prices),)))

    def worth(self, utilities: Array) -> Array:
        """Return what customers to whom money is worth something would pay for a unit of each good."""
        inside = utilities[utilities[:, -1] > 0]
        return np.asarray(self._scale * inside[:, :-1] / inside[:, -1:])

    def ranking(self, utilities: Array, menus: MenuArrays) -> Ranking:
        """Return what is worth its price in falling order of worth for money, which is no scarce thing by itself."""
        prices, worth = menus.prices[0], self.worth(utilities)
        outlay = np.where(np.isfinite(prices), prices, 1.0)
        return Ranking(np.where(worth > prices, worth / outlay, -np.inf), outlay, None)

    def total(self, utilities: Array, menus: MenuArrays) -> tuple[Array, Array]:
        """Return what customers (m, n + 1) buy together from each of T menus, and how many of them care for money."""
        u = self._utilities(utilities, menus)
        limits = self.worth(u)
        bought = np.stack([np.count_nonzero(limits > prices, axis=0) for prices in menus.prices])
        quantities = bought * np.where(np.isfinite(menus.prices), menus.caps, 0.0)
        return quantities, np.full(len(bought), float(len(limits)))

    def total_repriced(
        self, utilities: Array, menus: MenuArrays, goods: NDArray[np.intp], prices: Array
    ) -> tuple[Array, Array]:
        """Return what is bought in all while one price at a time is another, which moves that good alone."""
        u = self._utilities(utilities, menus)
        cares = u[:, -1] > 0
        limits, faced, caps = self.worth(u), menus.prices[cares], menus.caps[cares]
        quantities = np.where(np.isfinite(faced), caps, 0.0)
        bought = np.repeat(np.sum(quantities * (limits > faced), axis=0)[None], len(goods), axis=0)
        for k, good in enumerate(goods.tolist()):
            asked = prices[k, cares]
            bought[k, good] = np.sum(caps[:, good] * (np.isfinite(asked) & (limits[:, good] > asked)))
        return bought, np.full(len(goods), float(len(limits)))

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value: those of any purchase, and that something ends what is bought."""
        self.coordinates(menus.goods)
        endless = np.isinf(menus.caps) & np.isfinite(menus.prices)
        rule = "a cap must be finite, for there is no budget to end a purchase"
        return [
            *super().find_faults(menus, bundles),
            *per_good("caps", rule, menus.caps, endless, "state the largest quantity on offer with caps (--cap)"),
        ]

    def classify(self, menus: MenuArrays, bundles: Array) -> Classification:
        """Return sides over the coordinates: money is kept in part; a good in part beside it leaves no utility."""
        offered, bought = np.isfinite(menus.prices), is_bought(bundles, menus.caps)
        in_part = offered & bought & (bundles < menus.caps * (1.0 - QUANTITY_TOLERANCE))
        side = np.where(offered, np.where(in_part, AT, np.where(bought, ABOVE, BELOW)), ABSENT)
        kind = np.where(in_part.any(axis=1), DEGENERATE, PIVOT)
        count, n = bundles.shape
        sides = np.column_stack([side, np.full(count, AT)])
        return Classification(kind.astype(np.int8), sides.astype(np.int8), np.full(count, n, np.int32))

    def regions(self, observations: Any) -> Regions:
        """Return the utilities that explain each observation; degenerate rows are kept and marked."""
        return self._regions(observations, self.classify(observations, observations.bundles))

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance:
        """Return the probability that money is worth something, less that of buying nothing if that is not recorded."""
        count, n = menus.prices.shape
        side = np.full((1, n + 1), ABSENT, np.int8)
        side[0, -1] = ABOVE
        wanted = Regions(np.array([SLACK], np.int8), side, np.ones((1, n + 1)), np.array([-1], np.int32), 1.0)
        parts = [Part(wanted, np.zeros(count, np.intp))]
        if nonempty:
            nothing = self._regions(menus, self.classify(menus, np.zeros((count, n))))
            parts.append(Part(nothing, np.arange(count), -1.0))
        return Chance(0.0, tuple(parts))

    def unknown(self, menus: MenuArrays) -> tuple[str, float] | None:
        """Return that the scale is not known, and the price in the middle, unless it is stated."""
        offered = menus.prices[np.isfinite(menus.prices)]
        return None if self.scale is not None else ("scale", float(np.median(offered)) if offered.size else 1.0)

    def admits(self, other: Problem | None) -> bool:
        """Tell whether menus state this problem, or leave its scale open."""
        return super().admits(other) or other == Open()

    @property
    def _scale(self) -> float:
        if self.scale is None:
            raise InvalidArgument(
                "the scale of problem 'open' must be known here: state Open(scale=…), the sum of money that is one "
                "unit beside a good, such as a usual price; or ask a fitted model, which has learned it"
            )
        return self.scale

    def _utilities(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        u, n = np.asarray(utilities, np.float64), menus.prices.shape[1]
        if u.ndim == 0 or u.shape[-1] != n + 1:
            raise InvalidArgument(
                f"utilities must have {n + 1} coordinates, a good each and {MONEY} last; received shape {u.shape}"
            )
        return u

    def _regions(self, menus: MenuArrays, classes: Classification) -> Regions:
        prices = np.where(np.isfinite(menus.prices), menus.prices, 1.0)
        slope = np.column_stack([prices, np.full(len(prices), self._scale)])
        return Regions(classes.kind, classes.side, slope, classes.pivot, float(slope.max()))
