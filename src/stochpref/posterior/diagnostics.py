# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How far draws can be trusted: R-hat, effective draws in bulk and tails, Monte Carlo errors.

The definitions are those of arviz-stats: rank-normalised split R-hat, bulk and tail effective sample sizes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST_DRAWS = 8  # a chain: below it the diagnostics have nothing to say
RHAT_LIMIT = 1.01
PARETO_LIMIT = 0.7


class Diagnostics(NamedTuple):
    """Of the n components of the mean direction and, last, of the concentration.

    r_hat, ess_bulk, ess_tail : (n + 1,); NaN where the draws do not vary or are too few.
    mcse_mean, mcse_sd : (n + 1,) Monte Carlo errors of mean and standard deviation.
    pareto_k : of importance weights; None for chains.
    """

    r_hat: Array
    ess_bulk: Array
    ess_tail: Array
    mcse_mean: Array
    mcse_sd: Array
    pareto_k: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them: null for NaN."""
        lists = {name: [x if np.isfinite(x) else None for x in getattr(self, name)] for name in self._fields[:-1]}
        k = self.pareto_k
        return {**lists, "pareto_k": k if k is not None and np.isfinite(k) else None}

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Self:
        """Return the diagnostics that `as_dict` wrote."""
        lists = {name: np.array(saved[name], np.float64) for name in cls._fields[:-1]}  # null becomes NaN
        return cls(**lists, pareto_k=saved["pareto_k"])

    @property
    def worst_r_hat(self) -> float:
        """Largest R-hat; NaN if none could be computed."""
        return float(np.nanmax(self.r_hat)) if np.isfinite(self.r_hat).any() else float("nan")

    @property
    def fewest_effective(self) -> float:
        """Smallest effective number of draws, in bulk or tails; 0 if none could be computed."""
        both = np.concatenate([self.ess_bulk, self.ess_tail])
        return float(np.nanmin(both)) if np.isfinite(both).any() else 0.0

    @property
    def is_hopeless(self) -> bool:
        """Whether importance weights are so uneven that no number of draws would do."""
        return self.pareto_k is not None and not self.pareto_k < PARETO_LIMIT

    def reaches(self, n_effective: float) -> bool:
        """Tell whether chains agree and have as many effective draws as asked for."""
        agrees = not self.is_hopeless and self.worst_r_hat < RHAT_LIMIT
        return bool(agrees and self.fewest_effective >= n_effective)


def diagnose(mean_direction: Array, concentration: Array) -> Diagnostics:
    """Return the diagnostics of draws (chains, draws, n) and (chains, draws)."""
    values = np.concatenate([mean_direction, concentration[:, :, None]], axis=2)
    if values.shape[1] < FEWEST_DRAWS:
        unknown = np.full(values.shape[2], np.nan)
        return Diagnostics(unknown, unknown, unknown, unknown, unknown)
    axes = {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(invalid="ignore", divide="ignore"):
        return Diagnostics(
            r_hat=array_stats.rhat(values, **axes),
            ess_bulk=array_stats.ess(values, **axes),
            ess_tail=array_stats.ess(values, **axes, method="tail", prob=(0.05, 0.95)),
            mcse_mean=array_stats.mcse(values, **axes),
            mcse_sd=array_stats.mcse(values, **axes, method="sd"),
        )
