# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Readings of a budget side by side: what each says of the same purchases, and which says it best.

A budget that is stated may not be what bound customers: the change may have been too small for one more item, or nobody
may know what they had. Each reading is fitted to some of the purchases and asked about the others: which goods were
bought, given what was on offer, which is the same question whatever the reading (`stochpref.baskets`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.baskets import baskets_of, bought_again, outlay
from stochpref.errors import InvalidArgument, counted, shown
from stochpref.models.heterogeneous import HeterogeneousUtility
from stochpref.models.shared import check_observations, generator
from stochpref.observations import Observations
from stochpref.problems import as_problem
from stochpref.result import Result
from stochpref.rows import changed

Array = NDArray[np.float64]

_SHARE: Final = 0.2  # of the observations, that are held out
_FEWEST: Final = 50  # observations, of which some can be
_MOST_LEARNED, _MOST_ASKED = 600, 150
_MOST_WHOLE: Final = 25  # goods: beyond, whole goods take too long beside the fit that was asked for
_HOW: Final = {
    "stated": "as it stands",
    "spent": "read with budget='spent' (--budget spent)",
    "whole": "state problem='whole' (--problem whole)",
    "open": "state problem='open' (--problem open)",
}


class ReadingRow(NamedTuple):
    """One reading.

    name : "stated", "spent", "whole" or "open".
    score, standard_error : mean log-probability of the goods bought, of purchases held out.
    behind, behind_error : how much less that is than the best reading's, purchase by purchase; 0 for the best.
    share : (n,) of customers who buy each good, as it predicts for the purchases held out.
    """

    name: str
    score: float
    standard_error: float
    behind: float
    behind_error: float
    share: Array


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Readings(Result):
    """Readings of a budget beside one another, the best first; print it, or read its fields.

    Attributes
    ----------
    goods : names, as people call them.
    observed : (n,) share of customers who bought each good, of the purchases held out.
    rows : of each reading.
    n_learned, n_held_out : observations that each was fitted to, and asked about.
    """

    goods: tuple[str, ...]
    observed: Array
    rows: tuple[ReadingRow, ...]
    n_learned: int
    n_held_out: int

    @property
    def best(self) -> str:
        """The name of the reading that tells best what was bought."""
        return self.rows[0].name

    @property
    def verdict(self) -> str:
        """Which reading to take, and how sure that is."""
        first, second = self.rows[0], self.rows[1]
        gap = f"{second.behind:.3f} ± {second.behind_error:.3f} a purchase"
        if second.behind > 2.0 * second.behind_error:
            return f"{first.name!r} tells best which goods were bought (by {gap}): {_HOW[first.name]}"
        return f"{first.name!r} and {second.name!r} tell about as well which goods were bought ({gap} apart)"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each good: the share who bought it, observed and under each reading."""
        return [
            {"good": good, "observed": float(self.observed[i])} | {row.name: float(row.share[i]) for row in self.rows}
            for i, good in enumerate(self.goods)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return which reading to take."""
        return (self.verdict,)

    def __str__(self) -> str:
        names = [row.name for row in self.rows]
        lines = [
            f"Readings of the budget side by side: {counted(self.n_held_out, 'purchase')} as predicted from "
            f"{self.n_learned:,} others",
            f"  {'bought by':<24}{'observed':>12}" + "".join(f"{name:>12}" for name in names),
        ]
        order = np.argsort(-self.observed, kind="stable")
        for i in order[:12]:
            cells = "".join(f"{100 * value:>10.1f} %" for value in (self.observed[i], *(r.share[i] for r in self.rows)))
            lines.append(f"  {shown(self.goods[i], 22):<24}{cells}")
        if len(order) > 12:
            lines.append(f"  and {len(order) - 12:,} more goods")
        lines.append(f"  {'log-probability':<36}" + "".join(f"{row.score:>12.3f}" for row in self.rows))
        lines.append(
            f"  {'  of the goods bought ±':<36}" + "".join(f"{row.standard_error:>12.3f}" for row in self.rows)
        )
        return "\n".join([*lines, f"  {self.verdict}"])


def is_called_for(observations: Observations) -> bool:
    """Tell whether it is doubtful that the budgets stated bound customers, and there are purchases enough to tell."""
    return len(observations) >= _FEWEST and observations.audit().is_budget_doubtful


def compare_readings(observations: Observations, *, random_state: int | np.random.Generator | None = None) -> Readings:
    """Return what the budget as stated, as what was spent, and others that suit predict for the same purchases.

    Parameters
    ----------
    observations : of divisible goods with stated budgets. Where everything was bought whole, readings as whole goods
        and with open budgets are tried as well.
    random_state : None, an integer or a numpy Generator.

    Raises
    ------
    InvalidArgument : budgets are what was spent, or there are too few observations to hold some out.
    """
    check_observations(observations)
    observations = changed(observations, features={})
    found = observations.audit()
    if not observations.problem.has_kinds or found.is_all_spent:
        raise InvalidArgument(
            "observations must have stated budgets, not what was spent, and divisible goods; read them as stated"
        )
    if len(observations) < _FEWEST:
        raise InvalidArgument(
            f"observations must be {_FEWEST} or more, so that some can be held out; received {len(observations)}"
        )
    rng, _ = generator(random_state)
    order = rng.permutation(len(observations))
    n_held = round(_SHARE * len(order))
    asked, learned = (
        observations[np.sort(rows)] for rows in (order[:n_held][:_MOST_ASKED], order[n_held:][:_MOST_LEARNED])
    )
    names = ["stated", "spent"]
    if found.is_whole:
        names += (["whole"] if observations.n_goods <= _MOST_WHOLE else []) + ["open"]
    seed = int(rng.integers(2**32))
    told = {name: _told(name, learned, asked, seed) for name in names}
    scores = {name: one.log_probability for name, one in told.items()}
    ranked = sorted(names, key=lambda name: -scores[name].mean())
    best = scores[ranked[0]]
    rows = tuple(
        ReadingRow(
            name, float(scores[name].mean()), _error(scores[name]), float(np.mean(best - scores[name])),
            _error(best - scores[name]), told[name].share.mean(axis=0),
        )
        for name in ranked
    )  # fmt: skip
    return Readings(observations.shown_goods, baskets_of(asked).mean(axis=0), rows, len(learned), len(asked))


def _read(name: str, data: Observations) -> Observations:
    """Return observations under a reading."""
    if name == "spent":
        return changed(data, budgets=outlay(data))
    if name == "open":
        return changed(data, problem=as_problem("open"), budgets=np.full(len(data), np.inf))
    return data.under(as_problem("whole")) if name == "whole" else data


def _told(name: str, learned: Observations, asked: Observations, seed: int) -> Any:
    """Return what a fit to some purchases says of others under a reading."""
    model = HeterogeneousUtility(n_chains=2, n_draws=150, n_effective=0, random_state=seed, degenerate="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws have not converged, and need not
        model.fit(_read(name, learned))
    menus = _read(name, asked).under(model.problem_).menus
    return bought_again(
        model.market(1), menus, baskets_of(asked), nonempty=asked.nonempty,
        spent=outlay(learned) if name == "spent" else None, rng=np.random.default_rng([seed, 3]),
    )  # fmt: skip


def _error(values: Array) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))
