# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a search for prices found, for people: a price list, what it gains, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.decisions.slopes import NEAR
from stochpref.errors import shown
from stochpref.result import Drawn

Array = NDArray[np.float64]

_MOST_ROWS: Final = 40
_STATUS: Final = {
    "recommended": "recommended",
    "nothing gained": "nothing gained: keep today's prices",
    "misjudged": "none recommended: the model misjudges profit at your own prices",
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BestPrices(Drawn):
    """The best prices of a fit; print it for a price list.

    Attributes
    ----------
    goods : names; a good that is on no menu has NaN everywhere below.
    prices, lower, upper : (n,) best prices, and the interval that the data leave each; the price itself where it is at
        an end of what it may be.
    today : (n,) prices to compare with: those of the one menu asked about, the middle ones of several.
    costs : (n,) of a unit.
    lowest, highest : (n,) what prices may be.
    observed_lowest, observed_highest : (n,) what they were in the data.
    profit, profit_today : expected from a visitor, at the best and at today's prices.
    gain, gain_lower, gain_upper : of the best over today's prices, from a visitor, with its interval.
    probability : of a gain.
    regret : what prices made for each posterior draw alone would earn more on average: the most that better knowledge
        of customers is worth, from a visitor.
    level : of the intervals.
    status : "recommended", "nothing gained", or "misjudged" where purchases held out say that none are recommended.
    is_held_out : purchases that had no say in the prices judge the profits; otherwise the gain is optimistic.
    verdicts : on the fit, in a line.
    curve_prices, curve_profits : (n, k) profit at each price of a good, at the best prices of the others.
    cautions : what to know before using the prices, in sentences.
    titles : good -> what people call it, where that is not its name.
    """

    goods: tuple[str, ...]
    prices: Array
    lower: Array
    upper: Array
    today: Array
    costs: Array
    lowest: Array
    highest: Array
    observed_lowest: Array
    observed_highest: Array
    profit: float
    profit_today: float
    gain: float
    gain_lower: float
    gain_upper: float
    probability: float
    regret: float
    level: float
    status: str
    is_held_out: bool
    verdicts: str
    curve_prices: Array
    curve_profits: Array
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "decision_plots:best_prices"

    @property
    def is_recommended(self) -> bool:
        """Whether the prices are worth a change."""
        return self.status == "recommended"

    @property
    def status_words(self) -> str:
        """What to do about the prices, in words."""
        return _STATUS[self.status]

    @property
    def at_bound(self) -> tuple[str, ...]:
        """The goods whose price is at an end of what it may be, where there is more than one price."""
        width = self.highest - self.lowest
        with np.errstate(invalid="ignore"):
            is_end = (self.prices <= self.lowest + NEAR * width) | (self.prices >= self.highest - NEAR * width)
        return tuple(np.array(self.goods, object)[is_end & (width > 0)])

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good on offer."""
        ends = self.at_bound
        return [
            {
                "good": self.goods[i], "price": float(self.prices[i]), "lower": float(self.lower[i]),
                "upper": float(self.upper[i]), "today": float(self.today[i]), "cost": float(self.costs[i]),
                "lowest": float(self.lowest[i]), "highest": float(self.highest[i]),
                "observed_lowest": float(self.observed_lowest[i]),
                "observed_highest": float(self.observed_highest[i]), "at_bound": self.goods[i] in ends,
            }
            for i in np.flatnonzero(~np.isnan(self.today))
        ]  # fmt: skip

    def remarks(self) -> tuple[str, ...]:
        """Return what the prices gain, and what to know."""
        return (*self.gains(), *self.cautions)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them: null for NaN, and the rows of the table."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("titles", "cautions")}
        plain = {name: _listed(v) if isinstance(v, np.ndarray) else v for name, v in fields.items()}
        return {**plain, "goods": list(self.goods), "cautions": list(self.cautions), "titles": dict(self.titles)}

    def __str__(self) -> str:
        lines = [f"Best prices ({self.status_words}), {100 * self.level:g} % intervals", ""]
        lines.append(f"  {'':<22}{'today':>9}{'best':>9}   {'interval':<20}{'cost':>8}   may be")
        rows = self.records()
        for row in rows[:_MOST_ROWS]:
            name = shown(self.titles.get(row["good"], row["good"]), 20)
            interval, ends = self.interval_of(row), f"{row['lowest']:.4g} to {row['highest']:.4g}"
            lines.append(
                f"  {name:<22}{row['today']:>9.4g}{row['price']:>9.4g}   {interval:<20}{row['cost']:>8.4g}   {ends}"
            )
        if len(rows) > _MOST_ROWS:
            lines.append(f"  ({len(rows) - _MOST_ROWS} goods not shown)")
        lines += ["", *(f"  {text}" for text in self.gains()), *(f"  ! {text}" for text in self.cautions)]
        return "\n".join(lines)

    def interval_of(self, row: dict[str, Any]) -> str:
        """Return the interval of a row of the table in words: an end of what the price may be has none."""
        if row["lowest"] == row["highest"]:
            return "one price only"
        return "at the end" if row["at_bound"] else f"{row['lower']:.4g} to {row['upper']:.4g}"

    def gains(self) -> tuple[str, ...]:
        """Return what the prices earn, in lines."""
        share = f" ({100 * self.gain / self.profit_today:+.1f} %)" if self.profit_today > 0 else ""
        judge = "purchases held out" if self.is_held_out else "the purchases that chose the prices"
        return (
            f"profit from a visitor {self.profit:.4g}, today {self.profit_today:.4g}, as {judge} say",
            f"gain {self.gain:.4g}{share}, interval {self.gain_lower:.4g} to {self.gain_upper:.4g}, "
            f"a gain with probability {self.probability:.2f}",
            f"expected regret {self.regret:.3g}: what knowing customers better could still add, from a visitor",
            f"the fit: {self.verdicts}",
        )


def _listed(values: Array) -> Any:
    return [_listed(row) if row.ndim else (None if np.isnan(row) else float(row)) for row in values]
