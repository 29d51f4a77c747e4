# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Observations and Menus: what customers faced and what they bought, as arrays, checked once at the door.

A menu is prices and a budget; an observation is a menu and the bundle bought from it; both carry the problem that
customers solve. Everything downstream trusts these records: read-only float64 arrays, goods not on offer marked by an
infinite price, every bundle affordable. The rules of value are the problem's: readers list every row that breaks one,
the constructors refuse them, and what is picked, joined or spread from a record is not checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.audit import Audit, audit
from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows
from stochpref.problems import Problem, as_problem
from stochpref.problems.faults import find_empty, find_faults, refuse
from stochpref.rows import (
    Rows,
    assemble,
    check_different,
    checked_goods,
    checked_names,
    checked_notes,
    field_names,
    frozen,
    joined,
    set_fields,
)

Array = NDArray[np.float64]

BY_GOOD: Final = ":good"  # behind the name of a feature: with a coefficient for each good


def _as_floats(values: ArrayLike, argument: str) -> Array:
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise InvalidArgument(f"{argument} must be real numbers; received complex ones; take their real part")
        return np.array(given, dtype=np.float64)
    except InvalidArgument:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"{argument} must be a rectangular array of numbers; {error}") from None


def _as_table(values: ArrayLike, argument: str, n_dims: int) -> Array:
    array = _as_floats(values, argument)
    if array.ndim != n_dims:
        shape = "(n_observations, n_goods)" if n_dims == 2 else "(n_observations,)"
        raise InvalidArgument(f"{argument} must have shape {shape}; received shape {array.shape}")
    return array


def _checked_menus(
    prices: ArrayLike, budgets: ArrayLike | None, caps: ArrayLike | None, problem: Problem | None
) -> dict[str, Array]:
    a = _as_table(prices, "prices", 2)
    b = np.full(len(a), np.inf) if budgets is None else _as_table(budgets, "budgets", 1)
    if a.shape[0] == 0 or a.shape[1] == 0:
        raise InvalidArgument(
            f"prices must hold at least one observation and one good; received {a.shape}; check the filter or file"
        )
    if b.shape[0] != a.shape[0]:
        raise InvalidArgument(f"budgets must have one value per row of prices, {a.shape[0]}; received {b.shape[0]}")
    try:
        default = 1.0 if problem is None else problem.default_cap
        c = np.array(default if caps is None else caps, dtype=np.float64)
        c = np.broadcast_to(c, a.shape) if c.ndim < 2 else c
    except (TypeError, ValueError):
        raise InvalidArgument("caps must be a number, one number per good, or an array shaped like prices") from None
    if c.shape != a.shape:
        raise InvalidArgument(
            f"caps must be a number, {a.shape[1]} numbers or shape {a.shape}; received shape {c.shape}"
        )
    a[np.isnan(a)] = np.inf
    return {"prices": frozen(a), "budgets": frozen(b), "caps": frozen(c)}


def _checked_features(features: Mapping[str, ArrayLike] | None, shape: tuple[int, ...]) -> dict[str, Array]:
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        raise InvalidArgument(f"features must map names to arrays; received {type(features).__name__}")
    names = checked_names(features, len(features), "features") or ()
    check_different(names, "features")
    checked = {}
    for name, given in zip(names, features.values(), strict=True):
        values = _as_floats(given, f"features[{name!r}]")
        if values.shape not in (shape, shape[:1]):
            raise InvalidArgument(
                f"features[{name!r}] must have a value per good, shape {shape}, or one per observation, {shape[:1]}; "
                f"received shape {values.shape}"
            )
        bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1)).tolist()
        if bad:
            raise InvalidObservations(
                f"features[{name!r}] must be finite numbers; {len(bad)} are not ({describe_rows(bad)}); fill them in, "
                "with 0 where a good is not on offer, or leave the observations out",
                bad,
            )
        checked[name] = frozen(values)
    return checked


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Menus(Rows):
    """What customers face: prices and a budget each.

    Attributes
    ----------
    prices : (T, n) positive; inf where a good is not on offer (NaN is accepted and means the same).
    budgets : (T,) zero or more; inf where none are given, or the problem knows none and sets them aside.
    goods : n names, matched by name against a fit.
    caps : (T, n) largest quantities; where none are stated 1, or none for goods that satiate.
    labels : T names of the menus or None; tables of demand show them.
    problem : what customers solve, by name or as an object of `stochpref.problems`; None for that of the fit asked.
    features : name -> (T, n) numbers by good or (T,) by menu.
    titles : n texts that people know the goods by, where those are not their names, or None.
    """

    prices: Array
    budgets: Array
    goods: tuple[str, ...]
    caps: Array
    labels: tuple[str, ...] | None
    problem: Problem | None
    features: Mapping[str, Array]
    titles: tuple[str, ...] | None

    def __init__(
        self,
        prices: ArrayLike,
        budgets: ArrayLike | None = None,
        *,
        goods: Iterable[object] | None = None,
        caps: ArrayLike | None = None,
        labels: Iterable[object] | None = None,
        problem: str | Problem | None = None,
        features: Mapping[str, ArrayLike] | None = None,
        titles: Iterable[object] | None = None,
    ) -> None:
        solved = None if problem is None else as_problem(problem)
        has_budgets = budgets is not None and (solved is None or solved.needs_budget)
        tables = _checked_menus(prices, budgets if has_budgets else None, caps, solved)
        shape = tables["prices"].shape
        set_fields(
            self,
            **tables,
            goods=checked_goods(goods, shape[1]),
            labels=checked_names(labels, shape[0], "labels"),
            problem=solved,
            features=_checked_features(features, shape),
            titles=checked_names(titles, shape[1], "titles"),
        )
        refuse(find_faults(self, None, needs_budget=has_budgets) if solved is None else solved.find_faults(self, None))


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Observations(Rows):
    """What customers faced and bought.

    Attributes
    ----------
    prices, budgets, goods, caps : as in `Menus`.
    bundles : (T, n) quantities bought, between 0 and their caps.
    customers : T labels or None; a label that repeats is only a label, each observation has its own utility.
    labels : T names of the observations or None; summaries, reports and files that are written show them.
    problem : what customers solve, by name or as an object of `stochpref.problems`.
    features, titles : as in `Menus`.
    nonempty : only purchases that were not empty were recorded.
    groups : T labels of what is fitted apart, such as markets, or None; see `fit_groups`.
    notes : how a reader arrived at the numbers, in words; audits and reports repeat them.
    """

    prices: Array
    budgets: Array
    bundles: Array
    goods: tuple[str, ...]
    customers: tuple[str, ...] | None
    caps: Array
    labels: tuple[str, ...] | None
    problem: Problem
    features: Mapping[str, Array]
    titles: tuple[str, ...] | None
    nonempty: bool
    groups: tuple[str, ...] | None
    notes: tuple[str, ...]

    def __init__(
        self,
        prices: ArrayLike,
        budgets: ArrayLike | None,
        bundles: ArrayLike,
        *,
        goods: Iterable[object] | None = None,
        customers: Iterable[object] | None = None,
        caps: ArrayLike | None = None,
        labels: Iterable[object] | None = None,
        problem: str | Problem = "divisible",
        features: Mapping[str, ArrayLike] | None = None,
        titles: Iterable[object] | None = None,
        nonempty: bool = False,
        groups: Iterable[object] | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        solved = as_problem(problem)
        tables = _checked_menus(prices, budgets if solved.needs_budget else None, caps, solved)
        shape = tables["prices"].shape
        x = _as_table(bundles, "bundles", 2)
        if x.shape != shape:
            raise InvalidArgument(f"bundles must have the shape of prices, {shape}; received {x.shape}")
        if not isinstance(nonempty, bool | np.bool_):
            raise InvalidArgument(f"nonempty must be True or False; received {nonempty!r}")
        set_fields(
            self,
            **tables,
            bundles=frozen(x),
            goods=checked_goods(goods, shape[1]),
            customers=checked_names(customers, shape[0], "customers"),
            labels=checked_names(labels, shape[0], "labels"),
            problem=solved,
            features=_checked_features(features, shape),
            titles=checked_names(titles, shape[1], "titles"),
            nonempty=bool(nonempty),
            groups=checked_names(groups, shape[0], "groups"),
            notes=checked_notes(notes),
        )
        refuse([*self.problem.find_faults(self, x), *(find_empty(x, self.caps) if nonempty else [])])

    @property
    def menus(self) -> Menus:
        """The menus the customers faced."""
        return assemble(Menus, **{name: getattr(self, name) for name in field_names(Menus)})

    def name(self, t: int) -> str:
        """Return the label of observation t, its number from 1 where there are no labels."""
        return str(t + 1) if self.labels is None else self.labels[t]

    def audit(self) -> Audit:
        """Count kinds of observation, degenerate and identical rows, repeated customers, goods never bought."""
        return audit(self)

    def concat(self, *others: Observations) -> Observations:
        """Return these observations followed by others over the same goods, in the same order."""
        for other in others:
            if not isinstance(other, Observations):
                raise InvalidArgument(f"concat takes Observations, one after another; received {type(other).__name__}")
            if other.goods != self.goods:
                raise InvalidArgument(
                    f"concat needs the same goods in the same order; {self.goods} against {other.goods}"
                )
            if other.nonempty != self.nonempty:
                raise InvalidArgument("concat needs the same nonempty; received True and False; keep them apart")
            if {k: v.ndim for k, v in other.features.items()} != {k: v.ndim for k, v in self.features.items()}:
                raise InvalidArgument(
                    f"concat needs the same features; {list(self.features)} against {list(other.features)}; add or "
                    "leave out the others"
                )
        return joined(self, *others)
