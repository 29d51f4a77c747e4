# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a fit of tastes by customer says: of every customer, and of all, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, counted, shown
from stochpref.normal.summary import Pair
from stochpref.result import Drawn
from stochpref.verdicts import Verdicts

Array = NDArray[np.float64]

_SHOWN: Final = 8


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CustomerCoefficients(Drawn):
    """Tastes of customers; print it, or read its fields.

    customers : C labels, in the order in which they first bought.
    names : P coefficients: goods, at average features, less their mean where only differences count; then features.
    mean, spread : (C, P) posterior means and standard deviations.
    lower, upper : (C, P) ends of 90 % intervals.
    draws : (draws, C, P) of the posterior, thinned.
    average : (P,) over all customers, of the law.
    is_approximate : intervals are those around the mode, a little too narrow.
    """

    customers: tuple[str, ...]
    names: tuple[str, ...]
    mean: Array
    spread: Array
    lower: Array
    upper: Array
    draws: Array
    average: Array
    is_approximate: bool

    picture: ClassVar[str] = "result_plots:shrinkage"

    def of(self, customer: object) -> dict[str, float]:
        """Return the mean of every coefficient of one customer, by name."""
        return dict(zip(self.names, self.mean[place_of(customer, self.customers)].tolist(), strict=True))

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each customer and coefficient."""
        return [
            {
                "customer": self.customers[i], "coefficient": self.names[k], "mean": float(self.mean[i, k]),
                "sd": float(self.spread[i, k]), "lower": float(self.lower[i, k]), "upper": float(self.upper[i, k]),
            }
            for i, k in np.ndindex(self.mean.shape)
        ]  # fmt: skip

    def remarks(self) -> tuple[str, ...]:
        """Return how far to rely on intervals."""
        return ("intervals are approximate, those around the mode: a little too narrow",) if self.is_approximate else ()

    def as_dict(self) -> dict[str, Any]:
        """Return all but the draws, as JSON can hold it."""
        return {
            "customers": list(self.customers), "names": list(self.names), "mean": self.mean.tolist(),
            "sd": self.spread.tolist(), "lower": self.lower.tolist(), "upper": self.upper.tolist(),
            "average": self.average.tolist(), "is_approximate": self.is_approximate,
        }  # fmt: skip

    def __str__(self) -> str:
        width = max(*(len(shown(name, 14)) for name in self.names), 8) + 2
        lines = [f"Tastes of {counted(len(self.customers), 'customer')}, posterior means ± standard deviations"]
        lines.append(" " * 18 + "".join(f"{shown(name, 14):>{width + 8}}" for name in self.names[:_SHOWN]))
        for i in range(min(len(self.customers), 20)):
            cells = (f"{m:.3g} ± {s:.2g}" for m, s in zip(self.mean[i, :_SHOWN], self.spread[i, :_SHOWN], strict=True))
            lines.append(f"  {shown(self.customers[i], 14):<16}" + "".join(f"{cell:>{width + 8}}" for cell in cells))
        if len(self.customers) > 20:
            lines.append(f"  and {len(self.customers) - 20:,} more customers")
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks())])


def place_of(customer: object, customers: tuple[str, ...]) -> int:
    """Return which of the customers a label names, refusing one that is unknown."""
    label = str(customer)
    try:
        return customers.index(label)
    except ValueError:
        raise InvalidArgument(
            f"customers must be among those of the fit, {len(customers)} labels such as {customers[0]!r}; received "
            f"{label!r}{nearest(label, customers)}; leave customers out for the average of all, or take purchases of "
            "new ones up by update_customers"
        ) from None


class TasteRow(NamedTuple):
    """One coefficient: its mean over customers, how much they differ, and whether chains agree on both."""

    name: str
    mean: float
    lower: float
    upper: float
    spread: float
    spread_lower: float
    spread_upper: float
    r_hat: float
    n_effective: float
    is_known: bool


@dataclass(frozen=True, slots=True, repr=False)
class TasteSummary(Drawn):
    """What is known of tastes by customer; print it, or read its fields.

    n_observations, n_customers, n_goods : sizes.
    law : the kind of covariance, in words.
    sampler, reason, n_chains, n_draws : how it was learned.
    is_converged, is_identified, verdict, verdicts : the verdicts, in words what to do, and in grades.
    goods : a row for each good, the best liked first; features : a row for each coefficient of a feature.
    together : what is said of which goods are liked together, in lines.
    pairs : correlations of tastes for pairs of goods, the strongest first.
    left_out : mean log-probability of a choice given all others.
    customer_left_out : mean log-probability of a choice, all choices of its customer left out together.
    cautions : what the data cannot tell and the numbers rest on, in sentences.
    titles : good -> what people call it, where that is not its name.
    """

    n_observations: int
    n_customers: int
    n_goods: int
    law: str
    sampler: str
    reason: str
    n_chains: int
    n_draws: int
    is_converged: bool
    is_identified: bool
    verdict: tuple[str, ...]
    verdicts: Verdicts
    goods: tuple[TasteRow, ...]
    features: tuple[TasteRow, ...]
    together: tuple[str, ...]
    pairs: tuple[Pair, ...]
    left_out: float
    customer_left_out: float
    cautions: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "result_plots:posterior"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each coefficient."""
        return [row._asdict() for row in (*self.goods, *self.features)]

    def remarks(self) -> tuple[str, ...]:
        """Return the verdicts."""
        return self.verdict

    def __str__(self) -> str:
        lines = [
            f"Tastes of {counted(self.n_customers, 'customer')} over {self.n_goods} goods, {self.law}, "
            f"{counted(self.n_observations, 'choice')}",
            f"  {self.sampler}: {counted(self.n_chains, 'chain')} of {counted(self.n_draws, 'draw')} ({self.reason})",
            *(f"  {line}" for line in self.verdict),
            "",
            f"  {'':<22}{'mean':>9}   {'90 % interval':<19}{'spread':>9}   90 % interval",
            *(self._line(row) for row in self.goods[:30]),
        ]
        lines += [f"  and {len(self.goods) - 30} more goods"] if len(self.goods) > 30 else []
        lines += [self._line(row) for row in self.features]
        lines += ["", *(f"  {line}" for line in self.together)] if self.together else [""]
        lines.append(f"  a choice given all others: {self.left_out:.4f}, given other customers' alone, one after")
        lines.append(f"  another: {self.customer_left_out:.4f} (mean logarithms of probabilities)")
        return "\n".join([*lines, *(f"  ! {caution}" for caution in self.cautions)])

    def _line(self, row: TasteRow) -> str:
        name = f"  {shown(self.titles.get(row.name, row.name), 20):<22}{row.mean:>9.3f}   "
        between = f"{row.lower:.3f} to {row.upper:.3f}"
        if not row.is_known:
            return f"{name}{between:<19}{'open':>9}   chains do not agree on how much customers differ"
        if row.spread_lower == row.spread_upper:
            return f"{name}{between:<19}{row.spread:>9.3f}   the likeliest; how sure is not known"
        return f"{name}{between:<19}{row.spread:>9.3f}   {row.spread_lower:.3f} to {row.spread_upper:.3f}"
