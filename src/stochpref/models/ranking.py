# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Models beside one another on purchases held out: the table, which is believed and why, as a fit keeps it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stochpref.archives.text import without_nan
from stochpref.errors import shown
from stochpref.loading import load
from stochpref.models.values import Values
from stochpref.names import MODELS


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


class Ranking(NamedTuple):
    """Ways of fitting beside one another on purchases held out, and which is believed.

    scores : a row for each that was tried or left out, the highest score first.
    reason : which is believed, by how much, and why, in a sentence.
    chosen : the name of its row.
    n_learned, n_held_out : observations learned from and scored; the fit kept has learned from both.
    by_customer : customers repeat, and were held out whole.
    """

    scores: tuple[ScoreRow, ...]
    reason: str
    chosen: str
    n_learned: int
    n_held_out: int
    by_customer: bool

    @property
    def _scored(self) -> str:
        kinds = {load(MODELS[row.model]).scores_are for row in self.scores if row.mean is not None}
        return "log-density" if kinds == {"densities"} else "log-probability"

    def __str__(self) -> str:
        if not self.n_held_out:
            return self.reason
        whose = ", customers whole" if self.by_customer else ""
        lines = [
            f"Models by the mean {self._scored} of {self.n_held_out:,} purchases held out{whose}; "
            f"each learned from {self.n_learned:,}",
            "",
            f"  {'model':<26}{'numbers':>8}{'score':>20}{'behind the highest':>22}",
        ]
        for row in self.scores:
            mark = "  chosen" if row.name == self.chosen else ""
            told = f"{'—':>20}{'':>22}"
            if row.mean is not None and row.behind is not None:
                behind = "" if row.behind == 0 else f"{row.behind:.4f} ± {row.behind_error:.4f}"
                told = f"{f'{row.mean:.4f} ± {row.standard_error:.4f}':>20}{behind:>22}"
            remark = f"  {shown(row.remark)}" if row.remark else ""
            lines.append(f"  {shown(row.name, 24):<26}{row.n_free:>8}{told}{mark}{remark}".rstrip())
        return "\n".join([*lines, "", f"  {self.reason}"])


def record_of(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as JSON holds it."""
    record: dict[str, Any] = without_nan({**ranking._asdict(), "scores": [row._asdict() for row in ranking.scores]})
    return record


def as_learned(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as a saved fit holds it."""
    record = record_of(ranking)
    return record | {
        "scores": {str(k): row for k, row in enumerate(record["scores"])}, "by_customer": int(ranking.by_customer),
    }  # fmt: skip


def restore_ranking(learned: Values) -> Ranking | None:
    """Return the ranking that a fit was saved with; None where it was not chosen among models."""
    if "ranking" not in learned.found:
        return None
    saved = learned.part("ranking")
    rows = saved.part("scores")
    return Ranking(
        scores=tuple(_row_of(rows.part(str(k))) for k in range(len(rows.found))),
        reason=saved.text("reason"),
        chosen=saved.text("chosen"),
        n_learned=saved.whole("n_learned", 1),
        n_held_out=saved.whole("n_held_out"),
        by_customer=bool(saved.whole("by_customer", 0, 1)),
    )


def _row_of(saved: Values) -> ScoreRow:
    def number(name: str) -> float | None:
        return saved.optional(saved.number, name, -np.inf)

    return ScoreRow(
        name=saved.text("name"),
        model=saved.text("model"),
        settings=dict(saved.part("settings").found),
        n_free=saved.whole("n_free", 1),
        mean=number("mean"),
        standard_error=number("standard_error"),
        behind=number("behind"),
        behind_error=number("behind_error"),
        remark=saved.text("remark"),
    )
