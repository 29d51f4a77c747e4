# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Does a law decide as was seen? The mean of every variable, and how much of it varies, beside replicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import shown
from stochpref.programmes.deciding import rounded
from stochpref.programmes.decisions import Decisions
from stochpref.result import Result
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_REPLICATES: Final = 100
_LEVEL: Final = (0.05, 0.95)
_BORNE: Final = 0.05  # beyond an interval, in standard deviations of the variable: changes no decision
_FEWEST: Final = 10


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DecisionCheck(Result):
    """Observed beside predicted.

    Attributes
    ----------
    names : of the variables.
    mean, mean_lower, mean_upper : (n,) of decisions, with 90 % intervals of what the model decides.
    spread : (n,) standard deviation of decisions seen, 0 where they never vary.
    common, common_lower, common_upper : share of the decision that was seen most often.
    n_rows : decisions.
    """

    names: tuple[str, ...]
    mean: Array
    mean_lower: Array
    mean_upper: Array
    spread: Array
    common: float
    common_lower: float
    common_upper: float
    n_rows: int

    def verdict(self, remedy: str = "") -> Verdict:
        """Return whether the model decides as was seen, with its strongest misfit."""
        if self.n_rows < _FEWEST:
            return Verdict("note", f"fit not judged: {self.n_rows} decisions can hardly tell")
        beyond = np.maximum(self.mean_lower - self.mean, self.mean - self.mean_upper)
        size = np.maximum(beyond, 0.0) / (_BORNE * np.maximum(self.spread, 1e-9 + 0.1 * self.spread.max()))
        i = int(np.argmax(size))
        off_common = max(self.common_lower - self.common, self.common - self.common_upper, 0.0) / _BORNE
        worst = max(float(size[i]), off_common)
        if worst <= 1.0:
            return Verdict("good", "fits: it decides as was seen (means of variables, the most common decision)")
        text = (
            f"{shown(self.names[i])} is {self.mean[i]:.3g} on average, the model says {self.mean_lower[i]:.3g} to "
            f"{self.mean_upper[i]:.3g}"
        )
        if off_common > size[i]:
            text = (
                f"the most common decision was taken {self.common:.0%} of the time, the model says "
                f"{self.common_lower:.0%} to {self.common_upper:.0%}"
            )
        said = "nearly fits" if worst <= 2.0 else "DOES NOT FIT"
        return Verdict("nearly" if worst <= 2.0 else "bad", "; ".join(filter(None, (f"{said}: {text}", remedy))))

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each variable."""
        rows = zip(self.names, self.mean, self.mean_lower, self.mean_upper, strict=True)
        return [dict(zip(("variable", "mean", "lower", "upper"), row, strict=True)) for row in rows]

    def __str__(self) -> str:
        return self.verdict().text


def check_decisions(data: Decisions, means: Array, *, rng: np.random.Generator) -> DecisionCheck:
    """Return the check of a law N(mean, I) under posterior draws (draws, n): everybody decides again under each."""
    picked = means[np.linspace(0, len(means) - 1, min(_REPLICATES, len(means))).astype(int)]
    seen, rows = rounded(data.chosen), np.arange(len(data))
    kinds, counts = np.unique(seen, axis=0, return_counts=True)
    common = kinds[np.argmax(counts)]
    again = [
        rounded(data.problem.solve(mean + rng.standard_normal(seen.shape), rows)) for mean in picked
    ]  # fmt: skip
    low, high = np.quantile([one.mean(axis=0) for one in again], _LEVEL, axis=0)
    least, most = np.quantile([np.mean(np.all(one == common, axis=1)) for one in again], _LEVEL)
    return DecisionCheck(
        data.names, seen.mean(axis=0), low, high, seen.std(axis=0), float(counts.max() / len(data)), float(least),
        float(most), len(data),
    )  # fmt: skip
