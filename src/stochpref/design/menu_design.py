# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A batch of menus, for people: what it teaches, how good it is, and how hard it was looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochpref.design.information import forecast_words
from stochpref.observations import Menus
from stochpref.result import Result, plain

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DesignEffort:
    """How hard to look.

    Attributes
    ----------
    n_candidates : menus to begin with.
    n_draws : customers drawn in all, shared by the laws averaged over; with few goods more are drawn.
    n_rounds : times the weights are found and new candidates sought.
    n_generations, n_offspring : of the search in each round.
    n_starts : menus the search starts from.
    """

    n_candidates: int = 160
    n_draws: int = 192
    n_rounds: int = 3
    n_generations: int = 6
    n_offspring: int = 16
    n_starts: int = 4


@dataclass(frozen=True, slots=True, repr=False)
class MenuDesign(Result):
    """A batch of menus and what it will teach; `print` it for a summary.

    Attributes
    ----------
    menus : the batch.
    criterion : "d", "a", "prediction" or "profit".
    efficiency : of the batch relative to the best mixture found, by the criterion; 1 where it is as good or better.
    efficiency_bound : the best mixture found is at least this efficient relative to any mixture of the menus judged
        last, by the equivalence theorem.
    information : (n, n) about h = κμ in one observation of the batch on average, averaged over the laws.
    relative_information : its trace over the tangent space, relative to observing utilities themselves.
    angle : forecast of the root mean square angle error (radians) after the batch and what was held, along the
        directions that can be learnt; inf if the batch is below `n_reliable`.
    n_reliable : fewest observations of the batch, those held not counted, for which the information forecasts the error
        under every law; inf if a direction cannot be learnt.
    regret : of criterion "profit", what the best prices lose now, from a visitor, because customers are not known well;
        None of others.
    value : what of it the batch saves, on average: what prices set after it earn more than prices set now.
    n_tried, n_judged : menus whose information was computed, and those of them that were judged last, by many more
        customers.
    notes : what to know about the limits.
    """

    menus: Menus
    criterion: str
    efficiency: float
    efficiency_bound: float
    information: Array
    relative_information: float
    angle: float
    n_reliable: float
    n_tried: int
    n_judged: int
    notes: tuple[str, ...]
    regret: float | None = None
    value: float | None = None

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each menu: its budget, if it states one, and prices, None for goods not on offer."""
        return [
            ({"budget": float(budget)} if budget < np.inf else {})
            | {name: float(a) if a < np.inf else None for name, a in zip(self.menus.goods, prices, strict=True)}
            for prices, budget in zip(self.menus.prices, self.menus.budgets, strict=True)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what to know about the limits."""
        return self.notes

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them; menus are the rows of the table."""
        others = (name for name in self.__dataclass_fields__ if name != "menus")
        return {"menus": self.records()} | {name: plain(getattr(self, name)) for name in others}

    def __str__(self) -> str:
        menus = self.menus
        offered = np.isfinite(menus.prices).sum(axis=1)
        angle = forecast_words(self.angle, self.n_reliable)
        lines = [
            f"{len(menus)} menus of {menus.n_goods} goods, criterion {self.criterion}",
            f"  goods on offer            {offered.min()} to {offered.max()}",
            f"  information               {self.relative_information:.3f} of observing the utilities themselves",
            f"  angle error after a batch {angle}",
            f"  efficiency                {self.efficiency:.3f} of the best mixture found, which is at least "
            f"{self.efficiency_bound:.3f} of any mixture of {self.n_judged} menus, the best of {self.n_tried:,} tried",
        ]
        if self.value is not None and self.regret is not None:
            lines.append(
                f"  worth                     {self.value:.3g} more profit from every visitor, on average, once prices "
                f"are set anew; {self.regret:.3g} is all that knowing customers could add"
            )
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])
