# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Observations and Menus: what customers faced and what they bought, as arrays, checked once at the door.

A menu is prices and a budget; an observation is a menu and the bundle bought from it. Everything downstream trusts
these records: read-only float64 arrays, goods not on offer marked by an infinite price, every bundle affordable.
The rules live in `find_faults`, so that readers can list every bad row and the constructors can refuse them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.audit import Audit, audit
from stochpref.checks import check_text
from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows, listed
from stochpref.kinds import MONEY_TOLERANCE, QUANTITY_TOLERANCE

Array = NDArray[np.float64]


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


def find_faults(prices: Array, budgets: Array, bundles: Array | None, caps: Array) -> list[Fault]:
    """Return every broken rule of value, with its rows; an empty list if all is well.

    Parameters
    ----------
    prices : (T, n); inf or NaN where a good is not on offer.
    budgets : (T,).
    bundles : (T, n), or None for menus.
    caps : broadcastable to (T, n).
    """
    caps = np.broadcast_to(caps, prices.shape)
    offered = ~(np.isnan(prices) | (prices == np.inf))
    faults: list[Fault] = []

    def per_good(argument: str, rule: str, values: Array, bad: NDArray[np.bool_], remedy: str) -> None:
        rows = np.flatnonzero(bad.any(axis=1))
        if rows.size:

            def good(row: int) -> int:
                return int(np.argmax(bad[row]))

            faults.append(Fault(argument, rule, rows, lambda row: f"{values[row, good(row)]:g}", good, remedy))

    def per_row(argument: str, rule: str, bad: NDArray[np.bool_], value: Callable[[int], str], remedy: str) -> None:
        rows = np.flatnonzero(bad)
        if rows.size:
            faults.append(Fault(argument, rule, rows, value, lambda _: None, remedy))

    per_good(
        "prices", "a price must be positive", prices, offered & ~(prices > 0),
        "give a positive price, or inf or NaN if the good was not on offer",
    )  # fmt: skip
    per_row(
        "budgets", "a budget must be a finite number, zero or more", ~(np.isfinite(budgets) & (budgets >= 0)),
        lambda row: f"{budgets[row]:g}", "give the money the customer could spend, or read with budget='spent'",
    )  # fmt: skip
    per_good("caps", "a cap must be positive", caps, ~(caps > 0), "leave the good out with a price of inf instead")
    if bundles is None:
        return faults
    finite = np.isfinite(bundles)
    per_good(
        "bundles",
        "a quantity must be a finite number",
        bundles,
        ~finite,
        "give 0 for a good that was not bought",
    )
    per_good(
        "bundles",
        "a quantity must not be negative",
        bundles,
        finite & (bundles < 0),
        "remove returns and refunds",
    )
    over_cap = finite & offered & (bundles > caps * (1 + QUANTITY_TOLERANCE))
    per_good(
        "bundles", "a quantity must not exceed its cap (1 unless stated)", bundles, over_cap,
        "state the largest quantity on offer with caps (--cap)",
    )  # fmt: skip
    per_good(
        "bundles", "a good that is not on offer cannot be bought", bundles, finite & ~offered & (bundles > 0),
        "give the good its price",
    )  # fmt: skip
    with np.errstate(over="ignore"):  # an overflowing cost is an overspent budget
        spent = np.einsum("ti,ti->t", np.where(offered & (prices > 0), prices, 0.0), np.where(finite, bundles, 0.0))
    per_row(
        "bundles", "a bundle must not cost more than its budget", spent > budgets * (1 + MONEY_TOLERANCE),
        lambda row: f"cost {spent[row]:g} against a budget of {budgets[row]:g}",
        "correct the row, or read with budget='rounded' (--budget rounded) if only rounding is to blame",
    )  # fmt: skip
    return faults


def _refuse(faults: Sequence[Fault]) -> None:
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


def _as_floats(values: ArrayLike, argument: str, n_dims: int) -> Array:
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise InvalidArgument(f"{argument} must be real numbers; received complex ones; take their real part")
        array = np.array(given, dtype=np.float64)
    except InvalidArgument:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"{argument} must be a rectangular array of numbers; {error}") from None
    if array.ndim != n_dims:
        shape = "(n_observations, n_goods)" if n_dims == 2 else "(n_observations,)"
        raise InvalidArgument(f"{argument} must have shape {shape}; received shape {array.shape}")
    return array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _checked_menus(prices: ArrayLike, budgets: ArrayLike, caps: ArrayLike) -> tuple[Array, Array, Array]:
    a = _as_floats(prices, "prices", 2)
    b = _as_floats(budgets, "budgets", 1)
    if a.shape[0] == 0 or a.shape[1] == 0:
        raise InvalidArgument(
            f"prices must hold at least one observation and one good; received {a.shape}; check the filter or file"
        )
    if b.shape[0] != a.shape[0]:
        raise InvalidArgument(f"budgets must have one value per row of prices, {a.shape[0]}; received {b.shape[0]}")
    try:
        c = np.array(caps, dtype=np.float64)
        c = np.broadcast_to(c, a.shape) if c.ndim < 2 else c
    except (TypeError, ValueError):
        raise InvalidArgument("caps must be a number, one number per good, or an array shaped like prices") from None
    if c.shape != a.shape:
        raise InvalidArgument(
            f"caps must be a number, {a.shape[1]} numbers or shape {a.shape}; received shape {c.shape}"
        )
    return a, b, c


def _checked_names(names: Iterable[object] | None, count: int, argument: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise InvalidArgument(f"{argument} must be a sequence of names; received the single text {names!r}")
    labels = tuple(str(name) for name in names)
    if len(labels) != count:
        raise InvalidArgument(f"{argument} must hold {count} names; received {len(labels)}")
    check_text(labels, argument)
    return labels


def _checked_goods(goods: Iterable[object] | None, n_goods: int) -> tuple[str, ...]:
    labels = _checked_names(goods, n_goods, "goods")
    if labels is None:
        return tuple(f"good{i + 1}" for i in range(n_goods))
    if len(set(labels)) < n_goods:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InvalidArgument(f"goods must have different names; received {twice!r} more than once")
    return labels


def places_of(goods: Sequence[str], known: tuple[str, ...]) -> NDArray[np.int64]:
    """Return where goods stand among those known; others are refused."""
    place = {name: i for i, name in enumerate(known)}
    unknown = [name for name in goods if name not in place]
    if unknown:
        raise InvalidArgument(
            f"goods must be among those of the fit; {len(unknown)} are not, such as {unknown[0]!r}; "
            f"the fit knows {listed(known)}"
        )
    return np.array([place[name] for name in goods], np.int64)


def _spread(values: Array, places: NDArray[np.int64], n_goods: int, empty: float) -> Array:
    """Return values (T, k) at their places among n goods, `empty` elsewhere."""
    whole = np.full((len(values), n_goods), empty)
    whole[:, places] = values
    return whole


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Menus:
    """What customers face: prices and a budget each.

    Attributes
    ----------
    prices : (T, n) positive; inf where a good is not on offer (NaN is accepted and means the same).
    budgets : (T,) zero or more.
    goods : n names, matched by name against a fit.
    caps : (T, n) largest quantities, 1 by default.
    labels : T names of the menus or None; tables of demand show them.
    """

    prices: Array
    budgets: Array
    goods: tuple[str, ...]
    caps: Array
    labels: tuple[str, ...] | None

    def __init__(
        self,
        prices: ArrayLike,
        budgets: ArrayLike,
        *,
        goods: Iterable[object] | None = None,
        caps: ArrayLike = 1.0,
        labels: Iterable[object] | None = None,
    ) -> None:
        a, b, c = _checked_menus(prices, budgets, caps)
        _refuse(find_faults(a, b, None, c))
        a[np.isnan(a)] = np.inf
        _set_fields(
            self,
            prices=_frozen(a),
            budgets=_frozen(b),
            caps=_frozen(c),
            goods=_checked_goods(goods, a.shape[1]),
            labels=_checked_names(labels, a.shape[0], "labels"),
        )

    @property
    def n_goods(self) -> int:
        """Number of goods, on offer or not."""
        return self.prices.shape[1]

    def __len__(self) -> int:
        return self.prices.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """Return the menus picked by a slice, a mask or indices."""
        kept = _row_index(rows, len(self))
        labels = None if self.labels is None else [self.labels[t] for t in kept]
        return type(self)(self.prices[kept], self.budgets[kept], goods=self.goods, caps=self.caps[kept], labels=labels)

    def over(self, goods: tuple[str, ...]) -> Menus:
        """Return the menus over these goods, in their order: one they lack is not on offer, others are refused."""
        if self.goods == goods:
            return self
        places, n = places_of(self.goods, goods), len(goods)
        prices, caps = _spread(self.prices, places, n, np.inf), _spread(self.caps, places, n, 1.0)
        return Menus(prices, self.budgets, goods=goods, caps=caps, labels=self.labels)

    def __repr__(self) -> str:
        return f"<Menus: {len(self)} menus of {self.n_goods} goods>"


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Observations:
    """What customers faced and bought.

    Attributes
    ----------
    prices, budgets, goods, caps : as in `Menus`.
    bundles : (T, n) quantities bought, between 0 and their caps.
    customers : T labels or None; a label that repeats is only a label, each observation has its own utility.
    labels : T names of the observations or None; summaries, reports and files that are written show them.
    """

    prices: Array
    budgets: Array
    bundles: Array
    goods: tuple[str, ...]
    customers: tuple[str, ...] | None
    caps: Array
    labels: tuple[str, ...] | None

    def __init__(
        self,
        prices: ArrayLike,
        budgets: ArrayLike,
        bundles: ArrayLike,
        *,
        goods: Iterable[object] | None = None,
        customers: Iterable[object] | None = None,
        caps: ArrayLike = 1.0,
        labels: Iterable[object] | None = None,
    ) -> None:
        a, b, c = _checked_menus(prices, budgets, caps)
        x = _as_floats(bundles, "bundles", 2)
        if x.shape != a.shape:
            raise InvalidArgument(f"bundles must have the shape of prices, {a.shape}; received {x.shape}")
        _refuse(find_faults(a, b, x, c))
        a[np.isnan(a)] = np.inf
        _set_fields(
            self,
            prices=_frozen(a),
            budgets=_frozen(b),
            bundles=_frozen(x),
            caps=_frozen(c),
            goods=_checked_goods(goods, a.shape[1]),
            customers=_checked_names(customers, a.shape[0], "customers"),
            labels=_checked_names(labels, a.shape[0], "labels"),
        )

    @property
    def n_goods(self) -> int:
        """Number of goods, on offer or not."""
        return self.prices.shape[1]

    @property
    def menus(self) -> Menus:
        """The menus the customers faced."""
        return Menus(self.prices, self.budgets, goods=self.goods, caps=self.caps, labels=self.labels)

    def name(self, t: int) -> str:
        """Return the label of observation t, its number from 1 where there are no labels."""
        return str(t + 1) if self.labels is None else self.labels[t]

    def over(self, goods: tuple[str, ...]) -> Observations:
        """Return the observations over these goods, in their order, as `Menus.over` does."""
        if self.goods == goods:
            return self
        places, n = places_of(self.goods, goods), len(goods)
        return Observations(
            _spread(self.prices, places, n, np.inf), self.budgets, _spread(self.bundles, places, n, 0.0), goods=goods,
            customers=self.customers, caps=_spread(self.caps, places, n, 1.0), labels=self.labels,
        )  # fmt: skip

    def audit(self) -> Audit:
        """Count kinds of observation, degenerate and identical rows, repeated customers, goods never bought."""
        return audit(self.prices, self.budgets, self.bundles, self.caps, self.goods, self.customers)

    def concat(self, *others: Observations) -> Observations:
        """Return these observations followed by others over the same goods, in the same order."""
        for other in others:
            if not isinstance(other, Observations):
                raise InvalidArgument(f"concat takes Observations, one after another; received {type(other).__name__}")
        parts = (self, *others)
        for other in others:
            if other.goods != self.goods:
                raise InvalidArgument(
                    f"concat needs the same goods in the same order; {self.goods} against {other.goods}"
                )

        def joined(names: list[tuple[str, ...] | None]) -> list[str] | None:
            known = [part for part in names if part is not None]
            return [label for part in known for label in part] if len(known) == len(names) else None

        return Observations(
            np.concatenate([part.prices for part in parts]),
            np.concatenate([part.budgets for part in parts]),
            np.concatenate([part.bundles for part in parts]),
            goods=self.goods,
            customers=joined([part.customers for part in parts]),
            caps=np.concatenate([part.caps for part in parts]),
            labels=joined([part.labels for part in parts]),
        )

    def __len__(self) -> int:
        return self.prices.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """Return the observations picked by a slice, a mask or indices."""
        kept = _row_index(rows, len(self))
        return type(self)(
            self.prices[kept],
            self.budgets[kept],
            self.bundles[kept],
            goods=self.goods,
            customers=None if self.customers is None else [self.customers[t] for t in kept],
            caps=self.caps[kept],
            labels=None if self.labels is None else [self.labels[t] for t in kept],
        )

    def __repr__(self) -> str:
        return f"<Observations: {len(self)} observations of {self.n_goods} goods>"


def _set_fields(record: Menus | Observations, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def _row_index(rows: Any, count: int) -> NDArray[np.intp]:
    try:
        kept = np.atleast_1d(np.arange(count)[rows])
    except IndexError as error:
        raise InvalidArgument(f"rows must be a slice, a mask of length {count} or indices; {error}") from None
    if kept.size == 0:
        raise InvalidArgument(f"no row is left of {count}; a selection must keep at least one")
    return kept
