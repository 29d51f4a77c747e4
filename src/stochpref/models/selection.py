# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What choosing among models says: the table of scores, which is believed, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stochpref.errors import shown
from stochpref.models.fit import Fit
from stochpref.result import Drawn, plain


class ScoreRow(NamedTuple):
    """How one way of fitting did on the purchases held out.

    name : of the model, and what tells this way of fitting it from others.
    model, settings : what it is, and what it was made with beside the defaults.
    n_free : numbers it learns.
    mean, standard_error : log predictive probability of an observation held out; None if it was not scored.
    behind, behind_error : how far below the one with the highest score, observation by observation, and the error.
    remark : why it was not scored, or what it came out as; "" for nothing.
    """

    name: str
    model: str
    settings: dict[str, Any]
    n_free: int
    mean: float | None
    standard_error: float | None
    behind: float | None
    behind_error: float | None
    remark: str


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Selection(Drawn):
    """Models beside one another on purchases held out, and the fit that is believed; print it, or read its fields.

    best : the fit of the one believed, to all observations.
    scores : a row for each that was tried or left out, the highest score first.
    reason : which is believed, by how much, and why, in a sentence.
    chosen : the name of its row.
    n_learned, n_held_out : observations learned from and scored; both are what `best` was fitted to.
    by_customer : customers repeat, and were held out whole.
    """

    best: Fit
    scores: tuple[ScoreRow, ...]
    reason: str
    chosen: str
    n_learned: int
    n_held_out: int
    by_customer: bool

    picture: ClassVar[str] = "result_plots:selection"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each model."""
        return [
            {**{k: v for k, v in row._asdict().items() if k != "settings"}, "is_chosen": row.name == self.chosen}
            for row in self.scores
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what is believed, and why."""
        return (self.reason,)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them, the fit by the name of its model."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("best", "scores")}
        return {"model": self.best.name, **own, "scores": [plain(row) for row in self.scores]}

    def __str__(self) -> str:
        if not self.n_held_out:
            return self.reason
        whose = ", customers whole" if self.by_customer else ""
        lines = [
            f"Models by the mean log-probability of {self.n_held_out:,} purchases held out{whose}; "
            f"each learned from {self.n_learned:,}",
            "",
            f"  {'model':<26}{'numbers':>8}{'score':>20}{'behind the highest':>22}",
        ]
        for row in self.scores:
            mark = "  chosen" if row.name == self.chosen else ""
            told = f"{'—':>20}{'':>22}"
            if row.mean is not None and row.behind is not None:
                error = f"{row.standard_error:.4f}"
                behind = "" if row.behind == 0 else f"{row.behind:.4f} ± {row.behind_error:.4f}"
                told = f"{f'{row.mean:.4f} ± {error}':>20}{behind:>22}"
            remark = f"  {row.remark}" if row.remark else ""
            lines.append(f"  {shown(row.name, 24):<26}{row.n_free:>8}{told}{mark}{remark}".rstrip())
        return "\n".join([*lines, "", f"  {self.reason}"])
