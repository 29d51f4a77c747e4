# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Does the model reproduce what it was fitted to? Shares of goods, sizes of baskets, money spent, baskets never seen.

A fit is checked by replicates: for each of some posterior draws every customer gets a new utility and buys from the
menu they faced. A single customer, whose utility is known, buys once from every menu. What lies farthest off, in units
of what can be borne, is the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import counted, shown
from stochpref.laws.menus import draw_customers_at
from stochpref.market import Faced, Market
from stochpref.observations import Observations
from stochpref.result import Result
from stochpref.rows import places_of
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MOST_ROWS: Final = 10_000
_MOST_CELLS: Final = 3e7  # quantities bought in all replicates together
_FEWEST, _MOST_REPLICATES = 20, 200
_MOST_SIZES: Final = 24  # of baskets that are told apart
_LEVEL: Final = (0.05, 0.95)
_ENOUGH: Final = 0.75  # of the 90 % intervals that hold what was observed: fewer by chance is rare
_CLOSE: Final = 0.05  # a share that one utility misses by less does not change a decision,
_BEYOND: Final = 0.02  # nor does one so little beyond the interval of a posterior,
_SOME_BEYOND: Final = 0.08  # nor a single one so much, where enough of the others are inside
_NEW: Final = 0.05  # a share of baskets never seen, beyond what is to be expected
_SKIPPED: Final = 0.05  # of purchases, in which a later unit of a good comes without an earlier one
_NEARLY: Final = 2.0  # times what can be borne
_FEWEST_ROWS: Final = 10  # of which anything can be said


class Misfit(NamedTuple):
    """One way in which a model does not buy as customers did.

    size : in units of what can be borne.
    text : what was observed beside what the model says.
    remedy : what to try; "" where that depends on the model.
    """

    size: float
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PredictiveCheck(Result):
    """Observed beside predicted; print it for its verdict.

    Attributes
    ----------
    goods : names.
    share, share_lower, share_upper : (n,) of customers offered a good, those who bought some; NaN if never on offer.
    size, size_lower, size_upper : (k,) of customers, those with so many different goods in the basket.
    size_step : how many sizes each of the k counts: from 0 to step - 1, and so on.
    spent, spent_lower, spent_upper : money that a customer spent on average.
    novel, novel_lower, novel_upper : share of baskets, sets of goods, that are to be expected to be new to the data
        (those that one customer only had), and of those that the model makes up.
    skipped : share of purchases in which the model buys a later unit of a good without an earlier one; None where goods
        are not split into units.
    n_rows, n_replicates : observations used, and how often each bought again.
    """

    goods: tuple[str, ...]
    share: Array
    share_lower: Array
    share_upper: Array
    size: Array
    size_lower: Array
    size_upper: Array
    size_step: int
    spent: float
    spent_lower: float
    spent_upper: float
    novel: float
    novel_lower: float
    novel_upper: float
    skipped: float | None
    n_rows: int
    n_replicates: int

    @property
    def n_checked(self) -> int:
        """Number of goods that were on offer."""
        return int(np.isfinite(self.share).sum())

    @property
    def n_inside(self) -> int:
        """Number of goods whose observed share lies in its interval."""
        return _n_inside(self.share, self.share_lower, self.share_upper)

    @property
    def largest_miss(self) -> float:
        """Largest distance of an observed share from its interval."""
        return float(np.nanmax(_beyond(self.share, self.share_lower, self.share_upper), initial=0.0))

    @property
    def n_sizes_inside(self) -> int:
        """Number of basket sizes whose observed share lies in its interval."""
        return _n_inside(self.size, self.size_lower, self.size_upper)

    @property
    def largest_size_miss(self) -> float:
        """Largest distance of the share of a basket size from its interval."""
        return float(np.nanmax(_beyond(self.size, self.size_lower, self.size_upper), initial=0.0))

    @property
    def misfits(self) -> dict[str, Misfit]:
        """How far the model is off, by what is compared: share, size, money, basket and, if goods have any, units."""
        found = {"size": self._misfit_of_sizes(), "money": self._misfit_of_money(), "basket": self._misfit_of_baskets()}
        if self.skipped is not None:
            found["units"] = self._misfit_of_units(self.skipped)
        return {"share": self._misfit_of_shares(), **found} if self.n_checked else found

    def verdict(self, remedy: str = "") -> Verdict:
        """Return whether the model buys as customers did, with its strongest misfit and a remedy."""
        if self.n_checked == 0:
            return Verdict("note", "fit not judged: no good was ever on offer")
        if self.n_rows < _FEWEST_ROWS:
            return Verdict("note", f"fit not judged: {counted(self.n_rows, 'observation')} can hardly tell")
        worst = max(self.misfits.values(), key=lambda misfit: misfit.size)
        status = status_of(worst)
        units = "" if self.skipped is None else f"; {self._misfit_of_units(self.skipped).text}"
        if status == "good":
            compared = "shares of goods, goods in a basket, money, kinds of basket"
            return Verdict(status, f"fits: it buys as customers did ({compared}){units}")
        said = "nearly fits" if status == "nearly" else "DOES NOT FIT"
        parts = (f"{said}: {worst.text}", worst.remedy or remedy)
        return Verdict(status, "; ".join(filter(None, parts)) + ("" if worst.remedy else units))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them: null for NaN."""
        return {
            name: [None if np.isnan(x) else float(x) for x in value] if isinstance(value, np.ndarray) else value
            for name, value in ((field.name, getattr(self, field.name)) for field in fields(self))
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good: the share of customers who bought some, observed and predicted."""
        rows = zip(self.goods, self.share, self.share_lower, self.share_upper, strict=True)
        return [dict(zip(("good", "share", "lower", "upper"), row, strict=True)) for row in rows]

    def remarks(self) -> tuple[str, ...]:
        """Return where the model is off most, of all that is compared."""
        return tuple(misfit.text for misfit in self.misfits.values())

    def __str__(self) -> str:
        lines = [f"{self.verdict().text}", ""]
        lines += [f"  {remark}" for remark in self.remarks()]
        return "\n".join(lines)

    @property
    def _has_intervals(self) -> bool:
        return self.n_replicates > 1

    def _borne(self, n_inside: int, n_checked: int) -> float:
        """Return the distance from an interval that can be borne."""
        if not self._has_intervals:
            return _CLOSE
        return _SOME_BEYOND if n_inside >= _ENOUGH * n_checked else _BEYOND

    def _misfit_of_shares(self) -> Misfit:
        beyond = _beyond(self.share, self.share_lower, self.share_upper)
        i = int(np.nanargmax(beyond))
        between = _between(self.share_lower[i], self.share_upper[i])
        text = (
            f"{_percent(self.share[i])} bought {shown(self.goods[i])} where it was on offer, the model says {between}"
        )
        return Misfit(float(beyond[i]) / self._borne(self.n_inside, self.n_checked), text)

    def _misfit_of_sizes(self) -> Misfit:
        beyond = _beyond(self.size, self.size_lower, self.size_upper)
        k, step = int(np.argmax(beyond)), self.size_step
        size = counted(k, "good") if step == 1 else f"{k * step} to {(k + 1) * step - 1} goods"
        between = _between(self.size_lower[k], self.size_upper[k])
        text = f"{_percent(self.size[k])} of the baskets hold {size}, the model says {between}"
        return Misfit(float(beyond[k]) / self._borne(self.n_sizes_inside, len(self.size)), text)

    def _misfit_of_money(self) -> Misfit:
        beyond = max(self.spent_lower - self.spent, self.spent - self.spent_upper, 0.0)
        text = f"customers spent {self.spent:,.4g} on average, the model says {self.spent_lower:,.4g}"
        text += f" to {self.spent_upper:,.4g}" if self._has_intervals else ""
        scale = max(self.spent, self.spent_upper)
        return Misfit(beyond / (scale * (_BEYOND if self._has_intervals else _CLOSE)) if scale > 0 else 0.0, text)

    def _misfit_of_baskets(self) -> Misfit:
        # Too few new baskets are no sin of one utility, which has no odd customers.
        error = 2.0 * np.sqrt(self.novel / self.n_rows)  # of a share that is a number of singletons
        beyond = max(self.novel_lower - self.novel - error, 0.0)
        between = _between(self.novel_lower, self.novel_upper)
        expected = _percent(self.novel)
        text = f"{between} of the baskets that the model makes up nobody had, where {expected} is to be expected"
        return Misfit(beyond / _NEW, text)

    def _misfit_of_units(self, skipped: float) -> Misfit:
        text = f"in {_percent(skipped)} of the purchases it buys a later unit of a good without an earlier one"
        remedy = "the split into units is advised against: goods are worth less and less only if that is rare"
        return Misfit(skipped / _SKIPPED, text, remedy)


def status_of(misfit: Misfit) -> str:
    """Return whether a misfit can be borne: "good", "nearly" or "bad"."""
    if misfit.size <= 1.0:
        return "good"
    return "nearly" if misfit.size <= _NEARLY else "bad"


def _n_inside(observed: Array, lower: Array, upper: Array) -> int:
    return int(np.sum((observed >= lower - 1e-9) & (observed <= upper + 1e-9)))


def _beyond(observed: Array, lower: Array, upper: Array) -> Array:
    return np.maximum(lower - observed, observed - upper)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def _between(lower: float, upper: float) -> str:
    low, high = _percent(lower), _percent(upper)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


class _Statistics(NamedTuple):
    """Of bundles: shares of goods (n,), sizes (n + 1,), money a customer, sets of goods (T,), units skipped."""

    share: Array
    n_of_size: NDArray[np.int64]
    spent: float
    baskets: NDArray[np.uint64]
    skipped: float | None


def check_purchases(market: Market, observations: Observations, *, rng: np.random.Generator) -> PredictiveCheck:
    """Return the check of those who are asked; where they differ, of at most 10,000 observations picked at random."""
    data = observations
    if len(data) > _MOST_ROWS and market.n_customers > 1:
        data = data[np.sort(rng.choice(len(data), _MOST_ROWS, replace=False))]
    count = int(np.clip(_MOST_CELLS / data.prices.size, _FEWEST, _MOST_REPLICATES))
    picked = np.linspace(0, market.n_draws - 1, min(count, market.n_draws)).astype(int)
    columns = places_of(data.problem.coordinates(data.goods), market.goods)
    replicates, faced = [], market.facing(data.menus)
    for s in picked:
        draw_fn = partial(_sample, faced, int(s), columns, rng)
        utilities = draw_customers_at(draw_fn, data.menus, nonempty=data.nonempty)
        skips = data.problem.skips_units(utilities, data)
        bundles = data.problem.choose(utilities, data)
        replicates.append(_statistics(data, bundles, None if skips is None else float(skips.mean())))
    return _compare(data, _statistics(data, data.bundles), replicates)


def check_bundles(observations: Observations, replicates: Sequence[Array]) -> PredictiveCheck:
    """Return the check of bundles (T, n) that the same customers bought anew, once for each replicate."""
    bought = [_statistics(observations, bundles) for bundles in replicates]
    return _compare(observations, _statistics(observations, observations.bundles), bought)


def _sample(faced: Faced, draw: int, columns: Indices, rng: np.random.Generator, rows: Indices) -> Array:
    return faced.sample(draw, rows, rng=rng)[:, columns]


def _statistics(data: Observations, bundles: Array, skipped: float | None = None) -> _Statistics:
    offered = np.isfinite(data.prices)
    n_offered, rows = offered.sum(axis=0), bundles > 0
    marks = np.random.default_rng(0).integers(2**63, size=data.n_goods, dtype=np.uint64)  # a set of goods: their sum
    return _Statistics(
        share=np.where(n_offered > 0, rows.sum(axis=0) / np.maximum(n_offered, 1), np.nan),
        n_of_size=np.bincount(rows.sum(axis=1), minlength=data.n_goods + 1),
        spent=float(np.mean(np.sum(np.where(offered, data.prices, 0.0) * bundles, axis=1))),
        baskets=rows @ marks,
        skipped=skipped,
    )


def _compare(data: Observations, seen: _Statistics, replicates: list[_Statistics]) -> PredictiveCheck:
    largest = max(int(np.flatnonzero(one.n_of_size)[-1]) for one in (seen, *replicates))
    step = largest // _MOST_SIZES + 1
    starts = np.arange(0, largest + 1, step)

    def sizes(one: _Statistics) -> Array:
        return np.add.reduceat(one.n_of_size[: largest + 1], starts) / len(data)

    known, counts = np.unique(seen.baskets, return_counts=True)
    novel = [float(np.mean(~np.isin(one.baskets, known))) for one in replicates]
    shares = np.quantile([one.share for one in replicates], _LEVEL, axis=0)
    size = np.quantile([sizes(one) for one in replicates], _LEVEL, axis=0)
    spent = np.quantile([one.spent for one in replicates], _LEVEL)
    new = np.quantile(novel, _LEVEL)
    skipped = [one.skipped for one in replicates if one.skipped is not None]
    return PredictiveCheck(
        goods=data.goods,
        share=seen.share,
        share_lower=shares[0],
        share_upper=shares[1],
        size=sizes(seen),
        size_lower=size[0],
        size_upper=size[1],
        size_step=step,
        spent=seen.spent,
        spent_lower=float(spent[0]),
        spent_upper=float(spent[1]),
        novel=float(np.sum(counts == 1) / len(data)),
        novel_lower=float(new[0]),
        novel_upper=float(new[1]),
        skipped=float(np.mean(skipped)) if skipped else None,
        n_rows=len(data),
        n_replicates=len(replicates),
    )
