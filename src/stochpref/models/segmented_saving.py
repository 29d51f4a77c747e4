# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Solutions and draws of segments, as a saved fit holds them: written, and checked when they come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stochpref.errors import UnreadableData
from stochpref.laws import MixtureLaw
from stochpref.models.values import Values, array_in
from stochpref.posterior.results import group
from stochpref.segments.climbing import MAX_CONCENTRATION
from stochpref.segments.objective import Mixture
from stochpref.segments.search import Solution

if TYPE_CHECKING:
    import xarray as xr


def as_record(solution: Solution) -> dict[str, Any]:
    """Return a solution as JSON holds it."""
    numbers = {name: value for name, value in solution._asdict().items() if name != "mixture"}
    weights, laws = np.exp(solution.mixture.log_weights), solution.mixture.h
    return {**numbers, "n_segments": len(weights), "weights": weights.tolist(), "h": laws.tolist()}


def solution_of(record: Values, n_goods: int) -> Solution:
    """Return the solution that `as_record` wrote, if it is one."""
    k = record.whole("n_segments", 1)
    weights, laws = record.numbers("weights", k), record.numbers("h", k, n_goods)
    is_mixture = np.all(weights > 0) and abs(weights.sum() - 1.0) < 1e-6
    if not (is_mixture and np.abs(laws).max() <= MAX_CONCENTRATION):
        raise UnreadableData(
            f"{record.where}: weights must be positive numbers of sum 1, and h within what is tried; save the fit again"
        )
    return Solution(
        n_asked=record.whole("n_asked", k),
        mixture=Mixture(np.log(weights), laws),
        log_likelihood=record.number("log_likelihood", -np.inf),
        penalised=record.number("penalised", -np.inf),
        bic=record.number("bic", -np.inf),
        n_starts=record.whole("n_starts", 1),
        n_rivals=record.whole("n_rivals"),
    )


def check_draws(tree: xr.DataTree, k: int, n: int, where: str) -> None:
    """Refuse what no posterior draws: weights that are no shares, directions of other lengths than 1."""
    per_draw = ("chain", "draw")
    weight, direction, kappa = (
        array_in(tree, f"posterior/{name}", (*per_draw, *axes), "f", where) for name, axes in MixtureLaw.axes.items()
    )
    if not (
        weight.shape[2:] == (k,)
        and direction.shape[2:] == (k, n)
        and np.all(weight > 0)
        and np.abs(weight.sum(axis=2) - 1.0).max() < 1e-6
        and np.abs(np.linalg.norm(direction, axis=3) - 1.0).max() < 1e-6
        and 0 <= kappa.min() <= kappa.max() <= MAX_CONCENTRATION
        and all(variable.dims[:2] == per_draw for variable in group(tree, "posterior").values())
    ):
        raise UnreadableData(
            f"{where}: draws must be shares of sum 1, unit vectors and concentrations of {k} segments; save the fit "
            "again"
        )
