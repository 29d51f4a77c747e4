# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How far draws can be trusted: R-hat, effective draws in bulk and tails, Monte Carlo errors.

The definitions are those of arviz-stats: rank-normalised split R-hat, bulk and tail effective sample sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST_DRAWS = 8  # a chain: below it the diagnostics have nothing to say
RHAT_LIMIT = 1.01
PARETO_LIMIT = 0.7

_MEASURES = ("r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd")


class Diagnostics(NamedTuple):
    """Of k components of parameters.

    names : of the components: of a number its own, as "concentration", of an array "slope[0, 1]" or "slope[label]".
    r_hat, ess_bulk, ess_tail : (k,); NaN where the draws do not vary or are too few.
    mcse_mean, mcse_sd : (k,) Monte Carlo errors of mean and standard deviation.
    pareto_k : of importance weights; None for chains.
    """

    names: tuple[str, ...]
    r_hat: Array
    ess_bulk: Array
    ess_tail: Array
    mcse_mean: Array
    mcse_sd: Array
    pareto_k: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them: null for NaN."""
        lists = {name: [x if np.isfinite(x) else None for x in getattr(self, name)] for name in _MEASURES}
        k = self.pareto_k
        return {"names": list(self.names), **lists, "pareto_k": k if k is not None and np.isfinite(k) else None}

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Self:
        """Return the diagnostics that `as_dict` wrote."""
        lists = {name: np.array(saved[name], np.float64) for name in _MEASURES}  # null becomes NaN
        names = saved.get("names")
        if names is None:  # version 0.1.0 knew one law: μ and, last, κ
            names = [*component_names("mean_direction", (len(lists["r_hat"]) - 1,)), "concentration"]
        return cls(tuple(names), **lists, pareto_k=saved["pareto_k"])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the components are of."""
        return tuple(dict.fromkeys(map(_parameter_of, self.names)))

    def of(self, parameter: str) -> Self:
        """Return the diagnostics of the components of one parameter."""
        places = self._places(parameter)
        lists = {name: getattr(self, name)[places] for name in _MEASURES}
        return self._replace(names=tuple(self.names[i] for i in places), **lists)

    def labelled(self, labels: Mapping[str, Sequence[str]]) -> Self:
        """Return the same with the components of some parameters named by labels, in their order."""
        names = list(self.names)
        for parameter, own in labels.items():
            for i, label in zip(self._places(parameter), own, strict=True):
                names[i] = f"{parameter}[{label}]"
        return self._replace(names=tuple(names))

    def _places(self, parameter: str) -> list[int]:
        return [i for i, name in enumerate(self.names) if _parameter_of(name) == parameter]

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
        has_chains = self.pareto_k is None or not np.isnan(self.r_hat).all()
        agrees = not self.is_hopeless and (not has_chains or self.worst_r_hat < RHAT_LIMIT)
        return bool(agrees and self.fewest_effective >= n_effective)


def component_names(parameter: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of the components of a parameter of some shape, the last axis fastest."""
    return [f"{parameter}[{', '.join(map(str, place))}]" if place else parameter for place in np.ndindex(shape)]


def _parameter_of(component: str) -> str:
    return component.partition("[")[0]


def diagnose(parameters: Mapping[str, Array]) -> Diagnostics:
    """Return the diagnostics of draws: name -> (chains, draws, …)."""
    names = tuple(part for name, draws in parameters.items() for part in component_names(name, draws.shape[2:]))
    values = np.concatenate([draws.reshape(*draws.shape[:2], -1) for draws in parameters.values()], axis=2)
    if values.shape[1] < FEWEST_DRAWS:
        unknown = np.full(len(names), np.nan)
        return Diagnostics(names, unknown, unknown, unknown, unknown, unknown)
    axes = {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(invalid="ignore", divide="ignore"):
        return Diagnostics(
            names,
            r_hat=array_stats.rhat(values, **axes),
            ess_bulk=array_stats.ess(values, **axes),
            ess_tail=array_stats.ess(values, **axes, method="tail", prob=(0.05, 0.95)),
            mcse_mean=array_stats.mcse(values, **axes),
            mcse_sd=array_stats.mcse(values, **axes, method="sd"),
        )
