# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Wishes: how the user wants a source read, checked once for all its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from stochpref.checks import check_choice
from stochpref.errors import InvalidArgument
from stochpref.names import BUDGETS
from stochpref.observations import BY_GOOD
from stochpref.problems import Problem, as_problem
from stochpref.problems.divisible import Divisible
from stochpref.readers.mapping import Columns, Place, check_columns
from stochpref.readers.scans import BY_FILE


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the user wants a source read.

    columns : role -> column, prefix or constant, or the columns of a key.
    budget : "stated", "spent" to compute it from prices and quantities, or "rounded" to do so where the two are near.
    caps : a number, or one per good; a column of caps goes before it.
    has_quantities : False for menus.
    fill_prices : keys of the orders from which prices of goods not bought are taken; None for store and week.
    sheet : of a workbook.
    choice : the column that says which good was chosen, or how the columns that mark it begin; None for quantities.
    by : the columns that say together which group an observation belongs to; none for no groups.
    fill_within : days that such a price may be away where nobody bought the good in all of the keys.
    problem : what customers solve; None where the source is to say, and for menus, which leave it open.
    needs_budget : a budget is part of what is asked.
    features : what tastes may move with, by columns, or of the projects of a .pb file.
    nonempty : only purchases that are not empty were recorded; None where the source is to say.
    """

    columns: Mapping[str, Place]
    budget: str
    caps: ArrayLike
    has_quantities: bool = True
    fill_prices: tuple[str, ...] | None = None
    fill_within: float = 28.0
    sheet: str | None = None
    by: tuple[str, ...] = ()
    choice: str | None = None
    problem: Problem | None = None
    needs_budget: bool = True
    features: tuple[str, ...] = ()
    nonempty: bool | None = None

    @property
    def reads_budget(self) -> bool:
        """Whether budgets are looked for in the source."""
        return self.needs_budget and self.budget != "spent"


def make_wishes(
    columns: Columns | None,
    budget: str,
    caps: ArrayLike | None,
    fill_prices: str | Iterable[str] | None = None,
    fill_within: float = 28.0,
    sheet: str | None = None,
    problem: str | Problem | None = None,
    units: int | Mapping[str, int] = 1,
    features: Iterable[str] = (),
    by: str | Iterable[str] | None = None,
    choice: str | None = None,
    nonempty: bool | None = None,
) -> Wishes:
    """Return how observations are to be read, checked; parameters as `read_observations`."""
    groups = (by,) if isinstance(by, str) else by
    is_named = isinstance(groups, tuple | list) and groups and all(isinstance(name, str) and name for name in groups)
    if by is not None and not is_named:
        raise InvalidArgument(f"by must name a column, several, or be {BY_FILE!r}; received {by!r}")
    if not (isinstance(fill_within, int | float) and fill_within >= 0):
        raise InvalidArgument(f"fill_within must be a number of days, zero or more; received {fill_within!r}")
    if choice is not None and (not isinstance(choice, str) or not choice or "quantity" in (columns or ())):
        raise InvalidArgument(f"choice must name a column, in place of one of quantities; received {choice!r}")
    stated = "one" if choice is not None and problem in (None, Divisible.name) else problem
    solved, split = None if stated is None else as_problem(stated), Divisible(units)
    if split != Divisible():
        if solved not in (None, Divisible()):
            raise InvalidArgument(
                f"units are of problem 'divisible'; received problem={problem!r}; leave out one of the two"
            )
        solved = split
    needs_budget = solved is None or solved.needs_budget
    if solved is not None and not needs_budget and budget != "stated":
        raise InvalidArgument(
            f"budget must be left out where problem {solved.name!r} knows none; received {budget!r}; leave out one of "
            "the two"
        )
    if nonempty is not None and not isinstance(nonempty, bool):
        raise InvalidArgument(f"nonempty must be True, False, or None to leave it to the source; received {nonempty!r}")
    keys = fill_prices.split(",") if isinstance(fill_prices, str) else fill_prices
    if isinstance(features, str):
        raise InvalidArgument(f"features must be a list of names; received the single text {features!r}; put it in one")
    return Wishes(
        check_columns(columns),
        check_choice(budget, "budget", BUDGETS),
        caps if caps is not None else 1.0 if solved is None else solved.default_cap,
        fill_prices=None if keys is None else tuple(str(key).strip() for key in keys),
        fill_within=float(fill_within),
        sheet=sheet,
        problem=solved,
        needs_budget=needs_budget,
        features=tuple(dict.fromkeys(str(name).removesuffix(BY_GOOD) for name in features)),
        by=() if by in (None, BY_FILE) else tuple(groups or ()),
        choice=choice,
        nonempty=nonempty,
    )
