# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Rules of value and the rows that break them: readers list every bad row, constructors refuse them.

`find_faults` holds what is asked of any menu and any purchase; a problem adds rules of its own with `per_good` and
`per_row`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidObservations, describe_rows
from stochpref.kinds import MONEY_TOLERANCE, QUANTITY_TOLERANCE

Array = NDArray[np.float64]


class MenuArrays(Protocol):
    """What a problem reads of menus: `Menus`, `Observations`, or what a reader has not checked yet.

    prices : (T, n); inf or NaN where a good is not on offer. budgets : (T,). caps : (T, n). goods : n names.
    """

    @property
    def prices(self) -> Array: ...  # noqa: D102
    @property
    def budgets(self) -> Array: ...  # noqa: D102
    @property
    def caps(self) -> Array: ...  # noqa: D102
    @property
    def goods(self) -> tuple[str, ...]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule and the rows that break it.

    argument : "prices", "budgets", "bundles" or "caps".
    rule : what must hold.
    rows : indices of the offending rows.
    value : row -> the value received.
    good : row -> index of the first good concerned, or None where the rule is about the whole row.
    remedy : what to do about it.
    """

    argument: str
    rule: str
    rows: NDArray[np.intp]
    value: Callable[[int], str]
    good: Callable[[int], int | None]
    remedy: str

    def describe(self, row: int, goods: Sequence[str] | None = None) -> str:
        """Return the value received, and for which good, by name if names are given."""
        good = self.good(row)
        if good is None:
            return self.value(row)
        return f"{self.value(row)} for {f'good {good}' if goods is None else repr(goods[good])}"


def per_good(argument: str, rule: str, values: Array, bad: NDArray[np.bool_], remedy: str) -> list[Fault]:
    """Return the fault of some values (T, n), no fault if none is bad."""
    rows = np.flatnonzero(bad.any(axis=1))

    def good(row: int) -> int:
        return int(np.argmax(bad[row]))

    return [Fault(argument, rule, rows, lambda row: f"{values[row, good(row)]:g}", good, remedy)] if rows.size else []


def per_row(argument: str, rule: str, bad: NDArray[np.bool_], value: Callable[[int], str], remedy: str) -> list[Fault]:
    """Return the fault of some rows (T,), no fault if none is bad."""
    rows = np.flatnonzero(bad)
    return [Fault(argument, rule, rows, value, lambda _: None, remedy)] if rows.size else []


def find_faults(menus: MenuArrays, bundles: Array | None, *, needs_budget: bool = True) -> list[Fault]:
    """Return every broken rule of value, with its rows; an empty list if all is well.

    Parameters
    ----------
    bundles : (T, n), or None for menus.
    needs_budget : budgets must be stated; elsewhere they may be infinite.
    """
    prices, budgets, caps = menus.prices, menus.budgets, menus.caps
    offered = prices < np.inf  # neither inf nor NaN
    is_stated = np.isfinite(budgets) if needs_budget else ~np.isnan(budgets)
    faults = [
        *per_good(
            "prices", "a price must be positive", prices, offered & ~(prices > 0),
            "give a positive price, or inf or NaN if the good was not on offer",
        ),
        *per_row(
            "budgets", "a budget must be a finite number, zero or more", ~(is_stated & (budgets >= 0)),
            lambda row: f"{budgets[row]:g}",
            "give the money the customer could spend, read with budget='spent', or, if none is known, problem='open'",
        ),
        *per_good(
            "caps", "a cap must be positive", caps, ~(caps > 0), "leave the good out with a price of inf instead"
        ),
    ]  # fmt: skip
    return faults if bundles is None else [*faults, *_faults_of_bundles(menus, bundles, offered)]


def find_empty(bundles: Array, caps: Array) -> list[Fault]:
    """Return the fault of empty bundles where such are said not to be recorded."""
    return per_row(
        "bundles", "a bundle must not be empty if, as nonempty says, such are not recorded",
        ~np.any(is_bought(bundles, caps), axis=1), lambda _: "nothing bought",
        "leave out the row, or nonempty (--nonempty) if empty purchases were recorded as well",
    )  # fmt: skip


def _faults_of_bundles(menus: MenuArrays, bundles: Array, offered: NDArray[np.bool_]) -> list[Fault]:
    prices, budgets = menus.prices, menus.budgets
    finite = np.isfinite(bundles)
    over_cap = finite & offered & (bundles > menus.caps * (1 + QUANTITY_TOLERANCE))
    with np.errstate(over="ignore"):  # an overflowing cost is an overspent budget
        spent = np.einsum("ti,ti->t", np.where(offered & (prices > 0), prices, 0.0), np.where(finite, bundles, 0.0))
    return [
        *per_good(
            "bundles", "a quantity must be a finite number", bundles, ~finite, "give 0 for a good that was not bought"
        ),
        *per_good(
            "bundles", "a quantity must not be negative", bundles, finite & (bundles < 0), "remove returns and refunds"
        ),
        *per_good(
            "bundles", "a quantity must not exceed its cap (1 unless stated)", bundles, over_cap,
            "state the largest quantity with caps (--cap), or split goods into units: units=2, say (--units 2)",
        ),
        *per_good(
            "bundles", "a good that is not on offer cannot be bought", bundles, finite & ~offered & (bundles > 0),
            "give the good its price",
        ),
        *per_row(
            "bundles", "a bundle must not cost more than its budget", spent > budgets * (1 + MONEY_TOLERANCE),
            lambda row: f"cost {spent[row]:g} against a budget of {budgets[row]:g}",
            "correct the row, or read with budget='rounded' (--budget rounded) if only rounding is to blame, or "
            "budget='spent' (--budget spent) if no budget bound what was bought",
        ),
    ]  # fmt: skip


def is_bought(bundles: Array, caps: Array) -> NDArray[np.bool_]:
    """Return which goods are bought at all, as `classify` sees it."""
    bought: NDArray[np.bool_] = bundles > QUANTITY_TOLERANCE * np.where(caps < np.inf, caps, 1.0)
    return bought


def refuse(faults: Sequence[Fault]) -> None:
    """Raise InvalidObservations if there is a fault, naming each with its first three rows."""
    if not faults:
        return
    lines = []
    for fault in faults:
        received = "; ".join(f"row {row}: {fault.describe(int(row))}" for row in fault.rows[:3])
        lines.append(
            f"{fault.argument}: {fault.rule}; {fault.rows.size} break this ({describe_rows(fault.rows.tolist())}); "
            f"received {received}; {fault.remedy}"
        )
    raise InvalidObservations("\n".join(lines), np.unique(np.concatenate([fault.rows for fault in faults])).tolist())
