# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Draws of a posterior: made by the sampler chosen, and checked when they come back from a file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stochpref.errors import UnreadableData
from stochpref.laws import VonMisesFisher
from stochpref.models.settings import as_setting
from stochpref.models.shared import progress
from stochpref.models.values import array_in
from stochpref.posterior.chains import Draws, Plan, run_chains
from stochpref.posterior.choosing import Choice
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.prior import Prior
from stochpref.posterior.results import group
from stochpref.stores.protocol import Store

if TYPE_CHECKING:
    import xarray as xr


class Drawn(NamedTuple):
    """Draws of equal weight, how far to trust them, and which sampler made them, why, to what end and in what time."""

    draws: Draws
    diagnostics: Diagnostics
    how: tuple[str, str, str, float]


def fingerprint_of(model: Any, key: int, prior: Prior) -> dict[str, Any]:
    """Return all that decides the draws of a sampler."""
    settings = ("n_chains", "concentration_bounds", "degenerate", "metropolis", "engine")
    return {
        "data": model.data_hash_,
        "random_state": key,
        "prior": prior.fingerprint(len(model.coordinates_)),
        **{name: as_setting(getattr(model, name)) for name in settings},
    }


def draw_posterior(choice: Choice, plan: Plan, fingerprint: dict[str, Any], *, verbose: bool) -> Drawn:
    """Run the chosen sampler, and the one it names instead if its draws turn out unusable."""
    with ExitStack() as stack:
        stack.callback(choice.end_fn)
        report = stack.enter_context(progress(verbose, choice.sampler.name))
        run = run_chains(
            choice.sampler, choice.adapt_fn(plan), fingerprint=fingerprint, reason=choice.reason, report=report,
            diagnose_fn=choice.diagnose_fn,
        )  # fmt: skip
    if choice.instead_fn is not None and run.status == "hopeless":
        return draw_posterior(choice.instead_fn(run.diagnostics), plan, fingerprint, verbose=verbose)
    how = (choice.sampler.name, choice.reason, run.status, run.seconds)
    return Drawn(choice.finish_fn(run.draws), run.diagnostics, how)


def lifted(drawn: Drawn, store: Store) -> Drawn:
    """Return draws over all coordinates of utilities, where a store tells of some directions only."""
    if store.span is None:
        return drawn
    directions = store.lifted(drawn.draws.parameters["mean_direction"])
    draws = drawn.draws._replace(parameters={**drawn.draws.parameters, "mean_direction": directions})
    found = diagnose(draws.parameters)._replace(pareto_k=drawn.diagnostics.pareto_k)
    return Drawn(draws, found, drawn.how)


def check_draws(tree: xr.DataTree, prior: Prior, where: str) -> None:
    """Refuse what no posterior draws: directions that are none, concentrations the prior rules out."""
    per_draw, slack = ("chain", "draw"), 1e-9 * prior.upper
    drawn = {
        name: array_in(tree, f"posterior/{name}", (*per_draw, *axes), "f", where)
        for name, axes in VonMisesFisher.axes.items()
    }
    lowest, highest = drawn["concentration"].min(), drawn["concentration"].max()
    if not (
        np.abs(np.linalg.norm(drawn["mean_direction"], axis=2) - 1.0).max() < 1e-6
        and prior.lower - slack <= lowest <= highest <= prior.upper + slack
        and all(variable.dims[:2] == per_draw for variable in group(tree, "posterior").values())
    ):
        raise UnreadableData(
            f"{where}: draws must be unit vectors, with concentrations from {prior.lower:g} to {prior.upper:g}; save "
            "the fit again"
        )
