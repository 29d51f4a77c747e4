# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One of N: a customer takes a single good from the menu, the best, or, where that is an option, none of them.

Read by value, the best gives most for its price, u_i / a_i, as a customer chooses who has money for a part of a good;
read by unit, u_i itself is the most, whatever the prices. With an outside option, worth 0, nothing is taken that is
worth less: these are tight regions. Without one, customers are those who want something (by value), or only differences
of utilities count (by unit), and their common level is no part of the law.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance, Part
from stochpref.checks import check_choice
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, PIVOT, SLACK, TIGHT
from stochpref.names import READINGS
from stochpref.problems.divisible import unwanted
from stochpref.problems.faults import Fault, MenuArrays, per_good, per_row
from stochpref.problems.protocol import Classification, Problem, Ranking
from stochpref.regions import Regions

Array = NDArray[np.float64]


class OneOf(Problem):
    """One good of several is chosen; a bundle has 1 for it and 0 for the others.

    outside : customers may choose none, an option worth 0.
    reading : "value", the most utility per unit of money, or "unit", the most utility.
    """

    name: ClassVar[str] = "one"
    demanded: ClassVar[str] = "Shares of customers who choose each good"
    about: ClassVar[str] = "one good of each menu chosen"
    chooses_one: ClassVar[bool] = True
    needs_budget: ClassVar[bool] = False

    def __init__(self, outside: bool = False, reading: str = "value") -> None:
        if not isinstance(outside, bool | np.bool_):
            raise InvalidArgument(f"outside must be True or False; received {outside!r}")
        self.outside, self.reading = bool(outside), check_choice(reading, "reading", READINGS)

    def settings(self) -> dict[str, Any]:
        """Return what makes the problem again."""
        return {"outside": self.outside, "reading": self.reading}

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return 1 for the best good and 0 for the others; of equally good ones the first; none where none is there."""
        worth = self._worth(utilities, menus)
        best, bundles = np.argmax(worth, axis=-1)[..., None], np.zeros(worth.shape)
        top = np.take_along_axis(worth, best, axis=-1)
        np.put_along_axis(bundles, best, (top > (0.0 if self.outside else -np.inf)).astype(np.float64), axis=-1)
        return bundles

    def ranking(self, utilities: Array, menus: MenuArrays) -> Ranking:
        """Return goods in falling order of worth, of which one is all that can be had.

        Where nothing that somebody wants is left, they leave: with an outside option, or if goods are read by value.
        """
        worth = self._worth(utilities, menus)
        is_bought = worth > (0.0 if self.outside or self.reading == "value" else -np.inf)
        return Ranking(np.where(is_bought, worth, -np.inf), np.ones(worth.shape[1]), 1.0)

    def takes_part(self, utilities: Array, menus: MenuArrays) -> NDArray[np.bool_]:
        """Tell which customers choose: read by value and without an outside option, those who want something."""
        if not self._is_conditioned:
            return super().takes_part(utilities, menus)
        return np.asarray((self._worth(utilities, menus) > 0).any(axis=-1))

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value: those of any purchase, and that one good is chosen."""
        found = super().find_faults(menus, bundles)
        is_bare = np.asarray(~np.isfinite(menus.prices).any(axis=1))
        if not self.outside:
            rule, remedy = "a menu must offer a good to choose", "leave the row out, or state outside=True"
            found += per_row("prices", rule, is_bare, lambda _: "nothing on offer", remedy)
        if bundles is None:
            return found
        is_part = ~np.isin(bundles, (0.0, 1.0)) & np.isfinite(bundles) & (bundles >= 0)
        number = np.where(np.isfinite(bundles), bundles, 0.0).sum(axis=1)
        is_wrong = (number > 1) | ((number < 1) & (not self.outside) & ~is_bare)
        rule = "at most one good is chosen" if self.outside else "exactly one good is chosen"
        remedy = "give 1 for the good chosen and 0 for others" + ("" if self.outside else "; or state outside=True")
        return [
            *found,
            *per_good("bundles", "a good is chosen, 1, or not, 0", bundles, is_part, "give 1 for the good chosen"),
            *per_row("bundles", rule, is_wrong & ~is_part.any(axis=1), lambda row: f"{number[row]:g} chosen", remedy),
        ]

    def classify(self, menus: MenuArrays, bundles: Array) -> Classification:
        """Return tight kinds: the good chosen above, the others below; slack ones where none was chosen."""
        side = np.where(np.isfinite(menus.prices), np.where(bundles > 0, ABOVE, BELOW), ABSENT)
        kind = np.where((bundles > 0).any(axis=1) | (side == ABSENT).all(axis=1), TIGHT, SLACK)
        return Classification(kind.astype(np.int8), side.astype(np.int8), np.full(len(bundles), -1, np.int32))

    def regions(self, observations: Any) -> Regions:
        """Return the utilities that explain each observation; of level 0 or more where the level is not told."""
        return Regions(*self._sided(observations))

    def chance(self, observations: Any) -> Chance:
        """Return the masses of regions; where the level is not told, with those of utilities that are all negative.

        Notes
        -----
        The best good is one with u_c ≥ 0, which is its region; or u_c < 0 and all others are lower still: -u has good c
        lowest and not negative, a pivot region with the others above.
        """
        regions = self.regions(observations)
        if self.span(regions.n_goods) is None:
            return Chance.of(regions)
        side = np.where(regions.side == BELOW, ABOVE, np.where(regions.side == ABOVE, AT, ABSENT)).astype(np.int8)
        kind = np.full(len(side), PIVOT, np.int8)
        mirror = Regions(kind, side, regions.slope, np.argmax(side == AT, axis=1).astype(np.int32), 1.0)
        return Chance.of(regions, Part(mirror, np.arange(len(side)), is_mirrored=True))

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance | None:
        """Return the probability that some good is wanted, where all who are seen choose one by value."""
        return (
            Chance.outside(unwanted(np.isfinite(menus.prices)))
            if self._is_conditioned or (nonempty and self.outside)
            else None
        )

    def span(self, n_coordinates: int) -> Array | None:
        """Return a basis of utilities that add up to 0, where the level is not told."""
        if self.outside or self.reading == "value" or n_coordinates < 2:
            return None
        # Helmert's contrasts: each good against the mean of those before.
        basis = np.array([np.where(np.arange(n_coordinates) < k, 1.0, 0.0) for k in range(1, n_coordinates)])
        basis[np.arange(n_coordinates - 1), np.arange(1, n_coordinates)] = -np.arange(1.0, n_coordinates)
        return np.ascontiguousarray((basis / np.linalg.norm(basis, axis=1, keepdims=True)).T)

    def handicaps(self, menus: MenuArrays) -> Array:
        """Return 0 for what is on offer; by value, where customers want all goods, the logarithm of the price."""
        is_offered = np.isfinite(menus.prices)
        if self.reading == "unit":
            without = np.zeros((len(menus.prices), int(self.outside)))
            return np.concatenate([np.where(is_offered, 0.0, np.inf), without], axis=1)
        if self.outside:
            raise InvalidArgument(
                "tastes by customer take choices with an outside option by unit; received reading='value'; state "
                "reading='unit', and features=('price',) for what prices do"
            )
        return np.where(is_offered, np.log(np.where(is_offered, menus.prices, 1.0)), np.inf)

    @property
    def _is_conditioned(self) -> bool:
        return self.reading == "value" and not self.outside

    def _worth(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        u, n = np.asarray(utilities, np.float64), menus.prices.shape[1]
        if u.ndim == 0 or u.shape[-1] != n:
            raise InvalidArgument(f"utilities must be of {n} goods; received shape {u.shape}")
        offered = np.isfinite(menus.prices)
        return np.where(offered, u / np.where(offered & (self.reading == "value"), menus.prices, 1.0), -np.inf)

    def _sided(self, observations: Any) -> tuple[Any, ...]:
        kind, side, pivot = self.classify(observations, observations.bundles)
        is_priced = np.isfinite(observations.prices) & (self.reading == "value")
        slope = np.where(is_priced, observations.prices, 1.0)
        return kind, side, slope, pivot, float(slope.max())
