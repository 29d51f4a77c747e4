# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The best assortment: which goods to offer, where one that is left out sends customers to those that stay.

Up to fifteen goods all assortments are tried. Beyond, goods are added while that helps, then one is added, dropped or
exchanged for another while that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count
from stochpref.decisions.customers import asked_market, faced_menus, middle_prices, split_crowds
from stochpref.decisions.limits import checked_costs
from stochpref.decisions.walking import Solvers, Walkers, walkers_of
from stochpref.demand import tails_of
from stochpref.errors import InvalidArgument, shown
from stochpref.observations import Menus
from stochpref.readers.by_name import as_menus
from stochpref.result import Drawn
from stochpref.rows import changed

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]
Offers = NDArray[np.bool_]

MOST_ENUMERATED: Final = 15  # goods up to which all assortments are tried,
_MOST_SOLVED: Final = 8  # and up to which where every assortment is a problem of its own
_CHOOSING, _MOST_CHOOSING = 4096, 65_536  # customers, over all posterior draws, of 12 goods and of 8
_SOLVING, _JUDGING = 256, 65_536
_LEVEL: Final = 0.9

_Move = tuple[int | None, int | None]  # a good that goes, and one that comes


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Assortment(Drawn):
    """The goods that are best offered; print it for a list.

    Attributes
    ----------
    goods : names of those that could be offered.
    is_offered : (n,) which are in the best assortment.
    change, change_lower, change_upper : (n,) what a visitor earns you more if a good is offered than if not, beside the
        others of the best assortment, with 90 % intervals.
    earned, earned_all : from a visitor, by the best assortment and by all goods.
    gain, gain_lower, gain_upper : of the best over all goods, with its 90 % interval.
    probability : of a gain.
    is_profit : costs were stated; otherwise revenue is earned.
    is_exact : all assortments were tried.
    n_tried : assortments.
    size : largest one allowed.
    verdicts : on the fit, in a line.
    cautions : what to know before relying on it.
    titles : good -> what people call it.
    """

    goods: tuple[str, ...]
    is_offered: Offers
    change: Array
    change_lower: Array
    change_upper: Array
    earned: float
    earned_all: float
    gain: float
    gain_lower: float
    gain_upper: float
    probability: float
    is_profit: bool
    is_exact: bool
    n_tried: int
    size: int
    verdicts: str
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "decision_plots:assortment"

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the goods in the best assortment."""
        return tuple(name for name, is_in in zip(self.goods, self.is_offered, strict=True) if is_in)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good, those offered first, what changes most on top."""
        order = sorted(range(len(self.goods)), key=lambda i: (not self.is_offered[i], -self.change[i]))
        return [
            {
                "good": self.goods[i], "is_offered": bool(self.is_offered[i]), "change": float(self.change[i]),
                "lower": float(self.change_lower[i]), "upper": float(self.change_upper[i]),
            }
            for i in order
        ]  # fmt: skip

    def remarks(self) -> tuple[str, ...]:
        """Return what the assortment earns, and what to know."""
        return (*self._gains(), *self.cautions)

    def __str__(self) -> str:
        what = "profit" if self.is_profit else "revenue"
        lines = [f"Best assortment: {int(self.is_offered.sum())} of {len(self.goods)} goods", ""]
        lines.append(f"  {'':<22}{'offer':>6}{what:>10} more with it, 90 % interval")
        for row in self.records()[:40]:
            name = shown(self.titles.get(row["good"], row["good"]), 20)
            lines.append(
                f"  {name:<22}{'yes' if row['is_offered'] else 'no':>6}{row['change']:>10.4g}   "
                f"{row['lower']:.4g} to {row['upper']:.4g}"
            )
        if len(self.goods) > 40:
            lines.append(f"  ({len(self.goods) - 40} goods not shown)")
        return "\n".join([*lines, "", *(f"  {t}" for t in self._gains()), *(f"  ! {t}" for t in self.cautions)])

    def _gains(self) -> tuple[str, ...]:
        what = "profit" if self.is_profit else "revenue"
        share = f" ({100 * self.gain / self.earned_all:+.1f} %)" if self.earned_all > 0 else ""
        how = "all assortments tried" if self.is_exact else f"{self.n_tried:,} assortments tried, not all"
        return (
            f"{what} from a visitor {self.earned:.4g}, with all goods on offer {self.earned_all:.4g} ({how})",
            f"gain {self.gain:.4g}{share}, interval {self.gain_lower:.4g} to {self.gain_upper:.4g}, a gain with "
            f"probability {self.probability:.2f}",
            f"the fit: {self.verdicts}",
        )


def best_assortment(fit: Fit, menus: Any, *, size: int | None, costs: Any, prices: Any) -> Assortment:
    """Return the best assortment; parameters as in `Fit.best_assortment`."""
    faced = _at_prices(fit, faced_menus(fit, menus), prices)
    on_offer = np.isfinite(faced.prices[0])
    if not on_offer.any():
        raise InvalidArgument("menus must offer a good; received menus that offer none; give them prices")
    faced = changed(faced.offered(), labels=None)
    n = faced.n_goods
    most = n if size is None else min(check_count(size, "size", 1), n)
    own_costs = np.zeros(n) if costs is None else checked_costs(costs, fit.goods_, on_offer)[on_offer]
    margins = faced.prices[0] - own_costs
    if not np.any(margins > 0):
        raise InvalidArgument("costs must leave a good to earn from; received costs above all prices; correct them")
    market = asked_market(fit)
    one, other = split_crowds(market)
    # Fewer goods have fewer assortments, for which more customers can be asked.
    choosing = walkers_of(market, faced, one, min(_CHOOSING << max(12 - n, 0), _MOST_CHOOSING))
    if isinstance(choosing, Solvers):
        choosing = walkers_of(market, faced, one, _SOLVING)
    chosen, n_tried, is_exact = find_assortment(choosing, margins, most)
    judging = walkers_of(market, faced, other, _JUDGING if isinstance(choosing, Walkers) else _SOLVING)
    flips = np.array([np.where(np.arange(n) == i, ~chosen, chosen) for i in range(n)])
    found = judging.earn(np.concatenate([[chosen], [np.ones(n, np.bool_)], flips]), margins, by_draw=True)
    earned, everything, flipped = found[0], found[1], found[2:]
    change = np.where(chosen[:, None], earned - flipped, flipped - earned)
    tails = tails_of(_LEVEL)
    low, high = np.quantile(change, tails, axis=1)
    gain = earned - everything
    ends = np.quantile(gain, tails)
    own = faced if menus is not None else None
    return Assortment(
        goods=faced.goods, is_offered=chosen, change=change.mean(axis=1), change_lower=low, change_upper=high,
        earned=float(earned.mean()), earned_all=float(everything.mean()), gain=float(gain.mean()),
        gain_lower=float(ends[0]), gain_upper=float(ends[1]), probability=float(np.mean(gain > 0)),
        is_profit=costs is not None, is_exact=is_exact, n_tried=n_tried, size=most,
        verdicts=fit.verdicts().grades, cautions=(*fit.cautions(), *(fit.cautions(own[:1]) if own is not None else ())),
        titles=fit.titles,
    )  # fmt: skip


def _at_prices(fit: Fit, faced: Menus, prices: Any) -> Menus:
    """Return menus with one list of prices: those stated, or the middle ones of each good."""
    if prices is None:
        asked = middle_prices(faced.prices)
        asked[np.isnan(asked)] = np.inf
    else:
        table, _ = as_menus(prices, None if not fit.problem_.needs_budget else 1.0, fit.goods_, fit.problem_)
        if len(table) != 1:
            raise InvalidArgument(f"prices must be one list, a price for each good; received {len(table)} lists")
        asked = table.over(fit.goods_).prices[0]
    caps = fit.problem_.typical_caps(faced.caps)
    return changed(
        faced, prices=np.tile(asked, (len(faced), 1)), caps=np.tile(caps, (len(faced), 1)), features={}, labels=None
    )


def find_assortment(walkers: Walkers | Solvers, margins: Array, size: int) -> tuple[Offers, int, bool]:
    """Return the best assortment (n,) of at most so many goods, how many were tried, and whether all were."""
    most = MOST_ENUMERATED if isinstance(walkers, Walkers) else _MOST_SOLVED
    n = len(margins)
    if n > most:
        found, n_tried = search_assortment(walkers, margins, size)
        return found, n_tried, False
    numbers = np.arange(1, 2**n)
    offers = (numbers[:, None] >> np.arange(n) & 1).astype(np.bool_)
    offers = offers[offers.sum(axis=1) <= size]
    return offers[int(np.argmax(walkers.earn(offers, margins)))], len(offers), True


def search_assortment(walkers: Walkers | Solvers, margins: Array, size: int) -> tuple[Offers, int]:
    """Return an assortment that no good added, dropped or exchanged makes better, and how many were tried."""
    n = len(margins)
    here, value, n_tried = np.zeros(n, np.bool_), 0.0, 0
    is_growing = True
    while True:
        inside, outside = np.flatnonzero(here), np.flatnonzero(~here)
        added: list[_Move] = [(None, int(i)) for i in outside] if len(inside) < size else []
        others: list[_Move] = [(int(i), None) for i in inside] + [(int(i), int(j)) for i in inside for j in outside]
        moves = added if is_growing else added + others
        if not moves:
            if is_growing:
                is_growing = False
                continue
            return here, n_tried
        trials = np.repeat(here[None], len(moves), axis=0)
        for row, (out, into) in enumerate(moves):
            if out is not None:
                trials[row, out] = False
            if into is not None:
                trials[row, into] = True
        values = walkers.earn(trials, margins)
        n_tried += len(trials)
        best = int(np.argmax(values))
        if values[best] > value * (1 + 1e-12):
            here, value = trials[best], float(values[best])
        elif is_growing:
            is_growing = False
        else:
            return here, n_tried
