# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods split into units: menus and bundles of a first, a second, … unit of each good, and back.

A unit has the price of its good, the cap of the menu and a utility of its own. A quantity is taken for first units: who
buys two of three has the first and the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import is_count, nearest
from stochpref.errors import InvalidArgument, listed
from stochpref.problems.faults import Fault, MenuArrays, per_good

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class SplitMenus(NamedTuple):
    """Menus as a problem reads them, over units."""

    prices: Array
    budgets: Array
    caps: Array
    goods: tuple[str, ...]


class Units:
    """How many units goods are split into: one number, or good -> number, 1 for goods that are left out.

    numbers : of units, of all goods or of those that have several, by name.
    is_one : goods are whole: what is made of menus and bundles here is what they are.
    """

    def __init__(self, numbers: int | Mapping[str, int]) -> None:
        self.numbers = _checked(numbers)
        self.is_one = self.numbers == 1

    def counts(self, goods: tuple[str, ...]) -> Indices:
        """Return the number (n,) of units of each good."""
        if isinstance(self.numbers, int):
            return np.full(len(goods), self.numbers, np.intp)
        unknown = [name for name in self.numbers if name not in goods]
        if unknown:
            raise InvalidArgument(
                f"units must be of goods that are there; received {unknown[0]!r}{nearest(unknown[0], goods)}; "
                f"the goods are {listed(goods)}"
            )
        return np.array([self.numbers.get(name, 1) for name in goods], np.intp)

    def starts(self, goods: tuple[str, ...]) -> Indices:
        """Return the place (n,) of the first unit of each good."""
        counts = self.counts(goods)
        return np.cumsum(counts) - counts

    def names(self, goods: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of units; a good that has one keeps its own."""
        if self.is_one:
            return goods
        names = tuple(
            name if count == 1 else f"{name}, unit {k + 1}"
            for name, count in zip(goods, self.counts(goods).tolist(), strict=True)
            for k in range(count)
        )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidArgument(f"goods must not be called as units are; received {twice!r}; rename the good")
        return names

    def split(self, menus: MenuArrays) -> MenuArrays:
        """Return menus of units."""
        if self.is_one:
            return menus
        counts = self.counts(menus.goods)
        prices, caps = (np.repeat(values, counts, axis=1) for values in (menus.prices, menus.caps))
        return SplitMenus(prices, menus.budgets, caps, self.names(menus.goods))

    def parts(self, menus: MenuArrays, bundles: Array) -> Array:
        """Return bundles of units, the first of each good before the second."""
        if self.is_one:
            return bundles
        counts = self.counts(menus.goods)
        quantity, cap = (np.repeat(values, counts, axis=1) for values in (bundles, menus.caps))
        before = np.arange(quantity.shape[1]) - np.repeat(self.starts(menus.goods), counts)
        return np.clip(quantity - before * cap, 0.0, cap)

    def joined(self, parts: Array, goods: tuple[str, ...]) -> Array:
        """Return bundles (…, n) of goods, from those of units."""
        if self.is_one:
            return parts
        joined: Array = np.add.reduceat(parts, self.starts(goods), axis=-1)
        return joined

    def limits(self, menus: MenuArrays) -> Array:
        """Return the largest quantities (T, n)."""
        return menus.caps if self.is_one else menus.caps * self.counts(menus.goods)

    def find_faults(self, menus: MenuArrays) -> list[Fault]:
        """Return units without an end, after which no other could follow."""
        endless = np.isinf(menus.caps) & (self.counts(menus.goods) > 1)
        rule, remedy = "the cap of a unit must be finite", "state the size of a unit, 1 as a rule, or leave out units"
        return per_good("caps", rule, menus.caps, endless, remedy)


def _checked(numbers: object) -> int | dict[str, int]:
    """Return the number of units of all goods, or of some by name, none of them 1."""
    if isinstance(numbers, int | np.integer) and is_count(numbers, 1):
        return int(numbers)
    if isinstance(numbers, Mapping) and all(is_count(count, 1) for count in numbers.values()):
        return {str(name): int(count) for name, count in numbers.items() if count > 1} or 1
    raise InvalidArgument(
        f"units must be a whole number, 1 or more, or one for each of some goods, by name; received {numbers!r}"
    )
