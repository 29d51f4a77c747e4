# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What choosing among models gives: the fit that is believed, and the table that speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from stochpref.models.fit import Fit
from stochpref.models.ranking import Ranking, ScoreRow, record_of
from stochpref.result import Drawn


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Selection(Drawn):
    """Models beside one another on purchases held out, and the fit that is believed; print it, or read its fields.

    best : the fit of the one believed, to all observations.
    ranking : the table, and why that one; `scores`, `reason` and `chosen` are its own.
    """

    best: Fit
    ranking: Ranking

    picture: ClassVar[str] = "result_plots:selection"

    @property
    def scores(self) -> tuple[ScoreRow, ...]:
        """A row for each way of fitting that was tried or left out, the highest score first."""
        return self.ranking.scores

    @property
    def reason(self) -> str:
        """Which is believed, by how much, and why, in a sentence."""
        return self.ranking.reason

    @property
    def chosen(self) -> str:
        """The name of the row that is believed."""
        return self.ranking.chosen

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each model."""
        rows = (row._asdict() for row in self.scores)
        return [
            {name: value for name, value in row.items() if name != "settings"}
            | {"is_chosen": row["name"] == self.chosen}
            for row in rows
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what is believed, and why."""
        return (self.reason,)

    def as_dict(self) -> dict[str, Any]:
        """Return the table and the reason, as JSON can hold them, the fit by the name of its model."""
        return {"model": self.best.name, **record_of(self.ranking)}

    def __str__(self) -> str:
        return str(self.ranking)
