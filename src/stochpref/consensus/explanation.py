# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Why an observation is odd: which goods a utility would not have bought, or would have, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from stochpref.consensus.objective import Array
from stochpref.errors import shown
from stochpref.kinds import ABOVE, AT, BELOW, CORNER, DEGENERATE, KIND_NAMES, PIVOT, TIGHT
from stochpref.observations import Observations
from stochpref.regions import Regions
from stochpref.result import Drawn


@dataclass(frozen=True, slots=True)
class GoodAtOdds:
    """One good whose quantity the utility does not explain.

    good : its name.
    bought, expected : quantities, observed and under the utility.
    worth : u/a, utility per unit of money.
    threshold : what the worth would have to be above (bought in full, or in part: above 0) or below (not bought),
        before any margin; of whole goods, all others' worth given.
    gap : by how much it misses, the margin included, as a share of the largest worth on the menu.
    """

    good: str
    bought: float
    expected: float
    worth: float
    threshold: float
    gap: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Drawn):
    """Why an observation agrees with a utility or not.

    observation : its index. name : its label, or its number from 1. customer : the customer's label, or None.
    kind : "slack", "pivot", "tight", "whole" or "degenerate".
    is_consistent : the bundle is the unique optimum (with the fit's margin).
    shadow_price : of money, read off the bundle; None for whole goods and for a degenerate observation.
    at_odds : the goods that break the inequalities, the worst first.
    excluded_by : observations the utility explains (without a margin) that cannot all hold together with this one; ()
        if there are none. excluders : their names.
    expected : (n,) the bundle the utility would have bought.
    """

    observation: int
    name: str
    customer: str | None
    kind: str
    is_consistent: bool
    shadow_price: float | None
    at_odds: tuple[GoodAtOdds, ...]
    excluded_by: tuple[int, ...]
    excluders: tuple[str, ...]
    expected: Array

    picture: ClassVar[str] = "result_plots:explanation"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good at odds."""
        return [asdict(good) for good in self.at_odds]

    def remarks(self) -> tuple[str, ...]:
        """Return which observations cannot hold together with this one."""
        return tuple(f"cannot hold together with observation {shown(name)}" for name in self.excluders)

    def __str__(self) -> str:
        name = f"observation {shown(self.name)}" + (f" (customer {shown(self.customer)})" if self.customer else "")
        if self.kind == "degenerate":
            return f"{name} is degenerate: only exact ties could explain it"
        if self.is_consistent:
            return f"{name} is consistent: its bundle is the unique best one"
        price = "" if self.shadow_price is None else f", shadow price of money {self.shadow_price:.4g}"
        lines = [f"{name} is odd ({self.kind}{price}):"]
        for item in self.at_odds:
            lines.append(
                f"  {shown(item.good)}: bought {item.bought:g}, expected {item.expected:g}; worth {item.worth:.4g} per "
                f"unit of money against {item.threshold:.4g}, off by {100 * item.gap:.2g} % of the best"
            )
        if self.excluded_by:
            several = "s" if len(self.excluders) > 1 else ""
            lines.append(f"  it cannot hold together with observation{several} {', '.join(map(shown, self.excluders))}")
        return "\n".join(lines)


def odd_rows(explanations: Iterable[Explanation]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of odd observations, first the names of its columns: a row for each good at odds."""
    fields = ("good", "bought", "expected", "worth", "threshold", "gap")
    yield "observation", "customer", "kind", "excluded_by", *fields
    for why in explanations:
        for item in why.at_odds or (None,):
            about = (getattr(item, field, "") for field in fields)
            yield why.name, why.customer or "", why.kind, " ".join(why.excluders), *about


def _shadow_price(regions: Regions, t: int, worth: Array) -> float:
    """Return the shadow price the bundle reveals: between the two groups if it was all or nothing."""
    if regions.kind_code[t] == PIVOT:
        return float(worth[regions.pivot[t]])
    if regions.kind_code[t] == TIGHT:
        bought, left = worth[regions.side[t] == ABOVE], worth[regions.side[t] == BELOW]
        # The dearest good left out and the cheapest bought overlap where they are at odds: their middle splits blame.
        ends = [float(bought.min()) if bought.size else 0.0, max(0.0, float(left.max())) if left.size else 0.0]
        return max(0.0, sum(ends) / 2.0)
    return 0.0


def explain(
    observations: Observations, regions: Regions, t: int, utility: Array, margin: float, excluded_by: tuple[int, ...]
) -> Explanation:
    """Return why observation t agrees with a utility or not."""
    row = observations[[t]]
    expected = row.problem.choose(utility, row)[0]
    named = row.problem.coordinates(row.goods)
    owners = row.problem.owners(row.goods)
    # Of a unit the quantity of its good is told; of what is no good, money say, none.
    bought, wanted = (np.where(owners >= 0, quantities[owners], 0.0) for quantities in (row.bundles[0], expected))
    name, customer = observations.name(t), None if observations.customers is None else observations.customers[t]
    kind = KIND_NAMES[regions.kind_code[t]]
    if regions.kind_code[t] == DEGENERATE:
        return Explanation(t, name, customer, kind, False, None, (), (), (), expected)
    is_held = bool(regions[[t]].contains(utility, margin=margin, strict=True)[0])
    if regions.kind_code[t] == CORNER:  # of several shadow prices none is told
        others = () if is_held else excluded_by
        names = tuple(observations.name(s) for s in others)
        return Explanation(t, name, customer, kind, is_held, None, (), others, names, expected)
    worth = utility / regions.slope[t]
    price = _shadow_price(regions, t, worth)
    least = margin / regions.price_scale * float(np.linalg.norm(utility))
    side = regions.side[t]
    off = np.where(side == ABOVE, price + least - worth, np.where(side == BELOW, worth - price + least, -np.inf))
    off[side == AT] = least - worth[side == AT]  # money must be worth something
    scale = float(np.abs(worth[np.abs(side) <= 1]).max(initial=0.0)) or 1.0
    at_odds = () if is_held else tuple(
        GoodAtOdds(
            named[i], float(bought[i]), float(wanted[i]), float(worth[i]),
            0.0 if side[i] == AT else price, float(off[i]) / scale,
        )
        for i in np.argsort(-off, kind="stable") if off[i] >= 0.0
    )  # fmt: skip
    others = () if is_held else excluded_by
    names = tuple(observations.name(s) for s in others)
    return Explanation(t, name, customer, kind, is_held, price, at_odds, others, names, expected)
