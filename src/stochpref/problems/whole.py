# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Whole goods under one budget, all of them or some beside goods in part: votes, baskets, whatever comes in units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance
from stochpref.errors import InvalidArgument, listed
from stochpref.kinds import QUANTITY_TOLERANCE
from stochpref.problems.divisible import as_real, rows_of, unwanted
from stochpref.problems.faults import Fault, MenuArrays, per_good
from stochpref.problems.interval_regions import IntervalRegions
from stochpref.problems.knapsack import add_up, fill_rows
from stochpref.problems.pareto import leave_all_units
from stochpref.problems.protocol import Problem
from stochpref.threads import for_blocks

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]

_FILL_BLOCK: Final = 512


class Whole(Problem):
    """Goods bought in whole units, as many as their caps at most.

    Customers buy the bundle worth most to them among all that the budget covers. Of bundles worth the same they buy the
    cheaper one, of equally cheap ones the one with more of the first good in which they differ.

    goods : names of the whole ones, where others can be bought in part; None for all.
    """

    name: ClassVar[str] = "whole"
    about: ClassVar[str] = "goods bought in whole units up to their caps, budgets known"
    has_masses: ClassVar[bool] = False
    unpriced: ClassVar[str] = (
        "money that customers do not spend is worth nothing to them here, so that the best prices only fill the "
        "budgets stated"
    )

    def __init__(self, goods: Iterable[str] | None = None) -> None:
        if isinstance(goods, str):
            raise InvalidArgument(f"goods must be names of whole goods, or None for all; received the text {goods!r}")
        self.goods = None if goods is None else tuple(str(name) for name in goods)
        if self.goods == ():
            raise InvalidArgument("goods must name a whole good, or be None for all; received none; take 'divisible'")

    def is_whole(self, goods: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return which goods are whole."""
        return np.array([self.goods is None or name in self.goods for name in goods], np.bool_)

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return the best bundles (..., T, n) of utilities (n,), (T, n) or (..., T, n) from T menus.

        Raises
        ------
        InvalidArgument : a best bundle takes too long to find, as where dozens of goods are nearly alike in all but
            their prices.
        """
        given, own = _checked_utilities(utilities, len(menus.goods)), menus.budgets.shape
        lead = np.broadcast_shapes(given.shape[:-1], own)
        rows = rows_of(given.shape[:-1], lead), rows_of(own, lead)
        bundles = np.zeros((*lead, given.shape[-1]))
        flat, is_found = bundles.reshape(-1, given.shape[-1]), np.ones(rows[0].size, np.bool_)
        u, tables, is_whole = _as_rows(given), _tables(menus), self.is_whole(menus.goods)

        def fill(start: int, stop: int) -> None:
            fill_rows(u, *tables, is_whole, rows, flat, is_found, start, stop)

        for_blocks(fill, flat.shape[0], _FILL_BLOCK)
        _check_found(bool(is_found.all()))
        return bundles

    def total(self, utilities: Array, menus: MenuArrays) -> tuple[Array, Array]:
        """Return what customers (m, n) buy together from each of T menus, (T, n), and how many of them count, (T,)."""
        bought = np.zeros(menus.prices.shape)
        _check_found(add_up(_as_rows(utilities), *_tables(menus), self.is_whole(menus.goods), bought))
        return bought, np.full(len(bought), float(len(utilities)))

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value: those of any purchase, and that units are whole."""
        unknown = [name for name in self.goods or () if name not in menus.goods]
        if unknown:
            raise InvalidArgument(
                f"goods of problem 'whole' must be among those on record, {listed(menus.goods)}; received "
                f"{unknown[0]!r}; name those that are bought in whole units"
            )
        found, is_whole = super().find_faults(menus, bundles), self.is_whole(menus.goods)
        found += per_good(
            "caps", "the cap of a whole good must be a whole number, or inf", menus.caps,
            is_whole & (menus.caps > 0) & ~_is_near_whole(menus.caps), "state how many units one may buy",
        )  # fmt: skip
        if bundles is not None:
            found += per_good(
                "bundles", "a whole good must be bought in whole units", bundles,
                is_whole & np.isfinite(bundles) & ~_is_near_whole(bundles),
                "count units, not weights; or state problem='divisible', or Whole(goods=[…]) with the whole ones only",
            )  # fmt: skip
        return found

    def explained(self, observations: Observations) -> IntervalRegions:
        """Return the utilities that explain each observation, which only intervals know."""
        return self.intervals(observations)

    def intervals(self, observations: Observations) -> IntervalRegions:
        """Return those utilities by the interval of each coordinate."""
        return IntervalRegions.of(observations, self.is_whole(observations.goods))

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance | None:
        """Return the probability that something in reach is wanted, where only such customers are recorded."""
        if not nonempty:
            return None
        units = np.empty(menus.prices.shape, np.int64)
        prices, budgets, caps = _tables(menus)
        leave_all_units(prices, budgets, caps, self.is_whole(menus.goods), units)
        return Chance.outside(unwanted(units != 0))

    def holds(self, observations: Observations, utility: Array) -> NDArray[np.bool_]:
        """Tell of which observations (T,) the bundle is the only one that a utility would buy."""
        return self.explained(observations).contains(utility, strict=True)

    def typical_caps(self, caps: Array) -> Array:
        """Return caps (n,) in the middle of those of many menus (T, n), each one of them."""
        middle: Array = np.quantile(caps, 0.5, axis=0, method="lower")
        return middle

    def settings(self) -> dict[str, Any]:
        """Return the names of the whole goods; none where all are."""
        return {} if self.goods is None else {"goods": list(self.goods)}


def _checked_utilities(utilities: ArrayLike, n_goods: int) -> Array:
    given = np.atleast_1d(as_real(utilities, "utilities"))
    if given.shape[-1] != n_goods:
        raise InvalidArgument(f"utilities must have goods, {n_goods}, in their last axis; received {given.shape}")
    if not np.isfinite(given).all():
        raise InvalidArgument("utilities must be finite; received NaN or an infinity; check what they come from")
    return given


def _as_rows(values: Array) -> Array:
    rows: Array = np.require(values, np.float64, ["C", "W"]).reshape(-1, values.shape[-1])
    return rows


def _tables(menus: MenuArrays) -> tuple[Array, Array, Array]:
    prices = np.where(np.isnan(menus.prices), np.inf, menus.prices)
    return prices, np.array(menus.budgets), np.array(menus.caps)  # copies, as prices are: one state for kernels


def _is_near_whole(values: Array) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near: NDArray[np.bool_] = np.abs(values - np.round(values)) <= QUANTITY_TOLERANCE
    return near | (values == np.inf)


def _check_found(is_found: bool) -> None:
    if not is_found:
        raise InvalidArgument(
            "utilities and prices must let the best bundle be found: too many bundles are nearly as good; received "
            "goods worth almost the same for money; leave out goods, or take them in part, problem='divisible'"
        )
