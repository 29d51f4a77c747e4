# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Solutions and draws of segments, as a saved fit holds them: written, and checked when they come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.errors import UnreadableData
from stochpref.laws import MixtureLaw
from stochpref.models.values import Values, array_in
from stochpref.posterior.chains import Draws
from stochpref.posterior.results import group
from stochpref.segments.climbing import MAX_CONCENTRATION
from stochpref.segments.objective import Mixture
from stochpref.segments.search import Solution

Array = NDArray[np.float64]

AVERAGED: Final = "averaged"  # group of a tree: draws of all numbers of segments that predictions are averages over


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


def add_averaged(tree: xr.DataTree, each: Sequence[Draws]) -> None:
    """Add the draws of several numbers of segments as those of mixtures of all; nothing if there are none."""
    if not each:
        return
    size = min(draws.shape[1] for draws in each)
    found = {}
    for name, axes in MixtureLaw.axes.items():
        values = [draws.parameters[name][:, :size] / (len(each) if name == "weight" else 1) for draws in each]
        found[name] = (("chain", "draw", *axes), np.concatenate(values, axis=2))
    posterior = group(tree, "posterior")
    coords = {"chain": posterior["chain"].values, "draw": np.arange(size), "good": posterior["good"].values}
    tree[AVERAGED] = xr.DataTree(xr.Dataset(found, coords=coords))


def named_draws(tree: xr.DataTree, most: int) -> tuple[Array, Array, Array]:
    """Return at most so many draws of the segments that have names: (S, K) weights, (S, K, n) and (S, K)."""
    return _draws_in(tree, "posterior", most)


def predictive_draws(tree: xr.DataTree, most: int) -> tuple[Array, Array, Array]:
    """Return the same of the mixtures that predict, those averaged over where there are any."""
    return _draws_in(tree, AVERAGED if AVERAGED in tree.children else "posterior", most)


def _draws_in(tree: xr.DataTree, name: str, most: int) -> tuple[Array, Array, Array]:
    drawn = group(tree, name)
    every = slice(None, None, max(-(-drawn.sizes["chain"] * drawn.sizes["draw"] // most), 1))
    parts = [drawn[parameter].values[:, every] for parameter in MixtureLaw.axes]
    weight, direction, kappa = (values.reshape(-1, *values.shape[2:]) for values in parts)
    return weight, direction, kappa


def check_draws(tree: xr.DataTree, name: str, k: int, n: int, where: str) -> None:
    """Refuse what no posterior draws: weights that are no shares, directions of other lengths than 1."""
    per_draw = ("chain", "draw")
    weight, direction, kappa = (
        array_in(tree, f"{name}/{parameter}", (*per_draw, *axes), "f", where)
        for parameter, axes in MixtureLaw.axes.items()
    )
    if not (
        weight.shape[2:] == (k,)
        and direction.shape[2:] == (k, n)
        and np.all(weight > 0)
        and np.abs(weight.sum(axis=2) - 1.0).max() < 1e-6
        and np.abs(np.linalg.norm(direction, axis=3) - 1.0).max() < 1e-6
        and 0 <= kappa.min() <= kappa.max() <= MAX_CONCENTRATION
        and all(variable.dims[:2] == per_draw for variable in group(tree, name).values())
    ):
        raise UnreadableData(
            f"{where}: draws must be shares of sum 1, unit vectors and concentrations of {k} segments; save the fit "
            "again"
        )
