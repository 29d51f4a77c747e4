# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Prices of goods that an order did not take, from what other orders of the same market and time paid for them.

An order says what was bought, not what was on offer. What others paid in the same store and week is the best guess of
what this customer could have had the good for. Where nobody bought it then, the nearest day in the same store will do,
within a limit, then the nearest day in any store. A good with no price near enough counts as not on offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.rows import GUESSED

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_MOVES: Final = 0.01  # of a price: what it varies by where it may have been another elsewhere
_A_WEEK: Final = 7.0  # days after which a shelf may hold other prices
_TOO_MANY: Final = 0.05  # of the prices: guesses that may tell what is liked instead of the customers


class Level(NamedTuple):
    """Where prices are looked for: orders that agree in some keys, however far in time or within a limit.

    name : in words, such as "the same store and week".
    groups : (T,) orders with the same number agree.
    within : days; None for no limit.
    """

    name: str
    groups: Codes
    within: float | None


class LevelCount(NamedTuple):
    """What a level has filled: how many prices, and the median number of days they come from; NaN without dates."""

    name: str
    n_filled: int
    days: float


class Filled(NamedTuple):
    """What is known of prices.

    prices : (T, n) inf where none is near enough.
    n_known : those of goods that the order took.
    levels : what each has filled.
    n_guessed : prices that move, from another market or more than a week away, or from nobody knows when.
    """

    prices: Array
    n_known: int
    levels: tuple[LevelCount, ...]
    n_guessed: int

    @property
    def n_left(self) -> int:
        """Number of pairs of an order and a good without a price near enough."""
        return int(np.sum(~np.isfinite(self.prices)))

    def notes(self) -> list[str]:
        """Return where prices came from, in words."""
        total = self.prices.size
        lines = [f"prices: {_share(self.n_known, total)} paid in the order itself"]
        for name, count, days in self.levels:
            far = f" ({days:,.0f} days away in the median)" if np.isfinite(days) and days > 0 else ""
            lines.append(f"prices: {_share(count, total)} from orders of {name}{far}")
        if self.n_left:
            lines.append(f"prices: {_share(self.n_left, total)} found nowhere near: the good counts as not on offer")
        if self.n_guessed > _TOO_MANY * total:
            lines.append(
                f"{GUESSED}{_share(self.n_guessed, total)} of the prices are of other markets or other weeks, and they "
                "move: a good that nobody took because it was dear then looks cheap and not wanted; add the prices of "
                "what was not bought, or read orders of a time or of stores in which prices stay (fill_prices, "
                "--fill-prices)"
            )
        return lines


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} %"


def plan_levels(names: Sequence[str], keys: Sequence[Codes], within: float, *, has_days: bool) -> list[Level]:
    """Return the levels for keys in order of importance, widened by leaving out the last, one at a time."""
    levels = []
    for kept in range(len(keys), -1, -1):
        groups = _joined(keys[:kept], len(keys[0]) if keys else 1)
        left_out = [f"any {name}" for name in names[kept:] if name not in ("day", "week", "month", "year")]
        words = [f"the same {' and '.join(names[:kept])}"] if kept else []
        # Within all keys asked for any day will do: they say themselves how far that is.
        limit = within if has_days and kept < len(keys) else None
        words += left_out + ([] if limit is None else [f"within {limit:g} days"])
        levels.append(Level(", ".join(words) or "any time", groups, limit))
    return levels


def _joined(keys: Sequence[Codes], n_rows: int) -> Codes:
    """Return one number for each combination of codes, -1 for a missing one among them."""
    groups = np.zeros(n_rows, np.int64)
    for codes in keys:
        width = int(codes.max()) + 2
        if int(groups.max()) >= 2**62 // width:  # too many numbers to tell apart: count those that occur
            groups = np.unique(groups, return_inverse=True)[1]
        groups = groups * width + codes + 1
    return groups


def fill_prices(prices: Array, days: NDArray[np.int64] | None, levels: Sequence[Level]) -> Filled:
    """Return prices with what is unknown filled in.

    Parameters
    ----------
    prices : (T, n) NaN where the order does not tell.
    days : (T,) of the orders; None where they have no dates: then the middle price of a group is taken.
    levels : in which to look, the nearest first.
    """
    filled = prices.copy()
    when = np.zeros(len(prices), np.int64) if days is None else days - days.min()
    known = np.flatnonzero(~np.isnan(prices))
    moves = _moves(prices)
    counts, n_guessed = [], 0
    for place, level in enumerate(levels):
        missing = np.flatnonzero(np.isnan(filled))
        if missing.size == 0:
            break
        blocks = _blocks_of(level.groups, when)
        near, distance = _nearest(_middle_prices(prices, known, blocks), blocks, level.within)
        rows, goods = np.divmod(missing, prices.shape[1])
        cells = blocks.of_row[rows] * prices.shape[1] + goods
        found = near.ravel()[cells]
        is_found = ~np.isnan(found)
        filled.flat[missing[is_found]] = found[is_found]
        if is_found.any():
            away = distance.ravel()[cells[is_found]]
            far = float(np.median(away)) if days is not None else float("nan")
            counts.append(LevelCount(level.name, int(is_found.sum()), far))
            is_near = place == 0 and (days is not None or len(levels) > 1)  # the same market, if any is told
            n_guessed += int(np.sum(moves[goods[is_found]] & ((away > _A_WEEK) | (not is_near))))
    filled[np.isnan(filled)] = np.inf
    return Filled(filled, known.size, tuple(counts), n_guessed)


def _moves(prices: Array) -> NDArray[np.bool_]:
    """Tell for each good whether what was paid for it varies."""
    is_known = ~np.isnan(prices)
    lowest = np.min(prices, axis=0, where=is_known, initial=np.inf)
    return np.asarray(np.max(prices, axis=0, where=is_known, initial=0.0) > lowest * (1 + _MOVES))


class _Blocks(NamedTuple):
    """Orders of one group and day, by group and then by day.

    of_row : (T,) the block of each order.
    group, when : (B,) of each block.
    """

    of_row: Codes
    group: Codes
    when: Codes


def _blocks_of(groups: Codes, when: Codes) -> _Blocks:
    order = np.lexsort((when, groups))
    group, day = groups[order], when[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (group[1:] != group[:-1]) | (day[1:] != day[:-1])
    of_row = np.empty(len(order), np.int64)
    of_row[order] = np.cumsum(is_first) - 1
    return _Blocks(of_row, group[is_first], day[is_first])


def _middle_prices(prices: Array, known: Codes, blocks: _Blocks) -> Array:
    """Return (B, n) the lower median of the prices known of each good in each block, NaN where there is none."""
    n_goods = prices.shape[1]
    rows, goods = np.divmod(known, n_goods)
    cells, values = blocks.of_row[rows] * n_goods + goods, prices.ravel()[known]
    order = np.lexsort((values, cells))
    cells, values = cells[order], values[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    last = np.append(first[1:], cells.size)
    table = np.full(len(blocks.group) * n_goods, np.nan)
    table[cells[first]] = values[(first + last - 1) // 2]
    return table.reshape(-1, n_goods)


def _nearest(table: Array, blocks: _Blocks, within: float | None) -> tuple[Array, Array]:
    """Return (B, n) the price nearest in time in the same group, NaN if none is near enough, and how many days away.

    Of two days as near the earlier is taken.
    """
    places = np.arange(len(table))[:, None]
    is_known = ~np.isnan(table)
    before = np.maximum.accumulate(np.where(is_known, places, -1), axis=0)
    after = np.minimum.accumulate(np.where(is_known, places, len(table))[::-1], axis=0)[::-1]

    def away(candidate: Codes) -> Array:
        inside = np.clip(candidate, 0, len(table) - 1)
        same = (inside == candidate) & (blocks.group[inside] == blocks.group[:, None])
        return np.where(same, np.abs(blocks.when[inside] - blocks.when[:, None]), np.inf)

    earlier, later = away(before), away(after)
    taken = np.clip(np.where(earlier <= later, before, after), 0, len(table) - 1)
    distance = np.minimum(earlier, later)
    is_near = np.isfinite(distance) if within is None else distance <= within
    return np.where(is_near, np.take_along_axis(table, taken, axis=0), np.nan), distance
