# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Verdicts on a fit, in grades: have its draws or its search come to an end, do the data tell, does it buy as seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

GRADES: Final = {"good": "yes", "nearly": "nearly", "bad": "no", "note": "unknown"}


class Verdict(NamedTuple):
    """One line: "good", "nearly" or "bad", or "note" where nothing is judged, and what to say."""

    status: str
    text: str


class Verdicts(NamedTuple):
    """The three verdicts on a fit.

    converged : more of the same work would leave it as it is.
    identified : the data tell what the model asks for.
    fits : it buys as customers did.
    """

    converged: Verdict
    identified: Verdict
    fits: Verdict

    @property
    def by_name(self) -> dict[str, str]:
        """The grades: yes, nearly, no or unknown."""
        return {name: GRADES[verdict.status] for name, verdict in self._asdict().items()}

    @property
    def grades(self) -> str:
        """The three in a line."""
        return ", ".join(f"{name} {grade}" for name, grade in self.by_name.items())

    def as_dict(self) -> dict[str, Any]:
        """Return grade and text by name, as JSON can hold them."""
        texts = self._asdict()
        return {name: {"grade": grade, "text": texts[name].text} for name, grade in self.by_name.items()}


def worst_of(verdicts: Sequence[Verdict]) -> str:
    """Return the status of all together: bad if any is, nearly if any is; "good" if all others are notes."""
    found = {verdict.status for verdict in verdicts}
    return next((status for status in ("bad", "nearly") if status in found), "good")
