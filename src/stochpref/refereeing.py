# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Fits that read the same purchases differently, judged by which goods were bought, given what was on offer.

Budgets as stated, as what was spent or unknown, goods that are whole or not: probabilities of bundles are then of
different things. A single utility, which leaves odd customers out, is not judged so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.baskets import N_CUSTOMERS, baskets_of, bought_again, outlay
from stochpref.errors import shown
from stochpref.models.fit import Fit
from stochpref.observations import Observations
from stochpref.rows import changed

Array = NDArray[np.float64]

_MOST_ASKED: Final = 500  # purchases


def judged_by_baskets(
    given: Mapping[str, Fit], held_out: Observations | None
) -> tuple[dict[str, Array] | None, tuple[str, ...]]:
    """Return log scores (T,) of the goods bought by fit, where fits read purchases differently, and what to know.

    None where all read alike, or the same purchases are not to be had: then a line says why.
    """
    fits = {name: model for name, model in given.items() if model.customers_differ}
    if len({_reading(model) for model in fits.values()}) < 2:
        return None, ()
    first, *others = fits.values()
    if held_out is None:
        bought = baskets_of(first.observations_)
        for model in others:
            data = model.observations_
            is_same = data.goods == first.goods_ and np.array_equal(data.prices, first.observations_.prices)
            if not (is_same and np.array_equal(baskets_of(data), bought)):
                return None, (
                    "fits that read budgets or goods differently can be compared by which goods were bought, but these "
                    "learned from different purchases: hold some out (--held-out) that all can be asked about",
                )
    found = {}
    for name, model in fits.items():
        data, is_spent = model.observations_, _reading(model)[-1]
        asked = (data if held_out is None else held_out).over(model.goods_)
        rows = np.sort(np.random.default_rng(0).permutation(len(asked))[:_MOST_ASKED])
        asked, needs = asked[rows], model.problem_.needs_budget
        if needs and not is_spent and not (np.isfinite(asked.budgets).all() and _is_stated(held_out)):
            return None, (
                "fits that read budgets differently could be compared by which goods were bought, but "
                f"{shown(name)} goes by budgets that are stated, and purchases held out have what was spent, or none: "
                "read them as stated",
            )
        menus = changed(
            asked.menus, problem=model.problem_, budgets=asked.budgets if needs else np.full(len(rows), np.inf)
        )
        again = bought_again(
            model.market(1), menus, baskets_of(asked), nonempty=data.nonempty,
            spent=outlay(data) if is_spent else None, rng=np.random.default_rng(4),
        )  # fmt: skip
        found[name] = again.log_probability
    return found, (
        "these fits read the same purchases differently: they are compared by which goods were bought, given what was "
        f"on offer, counted over {N_CUSTOMERS:,} of their customers at each menu",
    )


def _is_stated(held_out: Observations | None) -> bool:
    """Tell whether purchases held out have budgets that are not just what was spent."""
    return held_out is None or not held_out.audit().is_all_spent


def _reading(model: Fit) -> tuple[str, bool]:
    """Return how a fit reads purchases: the name of the problem, and whether the budget is what was spent."""
    return model.problem_.name, model.problem_.needs_budget and model.observations_.audit().is_all_spent
