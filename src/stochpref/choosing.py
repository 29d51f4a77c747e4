# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Choices of one good from a menu, as observations: who chose what at which prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats, nearest
from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows, listed
from stochpref.observations import Observations
from stochpref.problems.one import OneOf
from stochpref.rows import checked_goods


def choices(
    prices: ArrayLike,
    chosen: Iterable[object],
    *,
    goods: Iterable[object] | None = None,
    customers: Iterable[object] | None = None,
    outside: bool = False,
    reading: str = "value",
    features: Mapping[str, ArrayLike] | None = None,
) -> Observations:
    """Return observations of customers who chose one good each, from menus with these prices.

    Parameters
    ----------
    prices : (T, n); inf or NaN where a good is not on offer.
    chosen : T goods, by their place from 0 or by name; -1 or None (or NaN) for the outside option.
    goods, customers, features : as in `Observations`.
    outside : customers could choose none of the goods.
    reading : "value", the good chosen gives most utility per unit of money; or "unit", most utility, at any price.

    Raises
    ------
    InvalidArgument : a choice is none of the goods, or there are not as many as menus.
    InvalidObservations : what was chosen is not on offer, or none was chosen where there is no outside option.
    """
    table = as_floats(prices, "prices")
    if table.ndim != 2:
        raise InvalidArgument(f"prices must have shape (n_observations, n_goods); received shape {table.shape}")
    names, picked = checked_goods(goods, table.shape[1]), _as_list(chosen)
    if len(picked) != len(table):
        raise InvalidArgument(f"chosen must hold a choice for each of {len(table)} menus; received {len(picked)}")
    places = _places(picked, names)
    bundles = np.zeros(table.shape)
    rows = np.flatnonzero(places >= 0)
    bundles[rows, places[rows]] = 1.0
    problem = OneOf(outside, reading)
    return Observations(table, None, bundles, goods=names, customers=customers, problem=problem, features=features)


def _as_list(chosen: Iterable[object]) -> Sequence[Any]:
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise InvalidArgument(f"chosen must be a sequence of goods, one for each menu; received {chosen!r}")
    return [item.item() if isinstance(item, np.generic) else item for item in chosen]


def _places(chosen: Sequence[Any], goods: tuple[str, ...]) -> NDArray[np.int64]:
    """Return (T,) the place of each choice, -1 for none of the goods."""
    known, places = {name: i for i, name in enumerate(goods)}, np.full(len(chosen), -1)
    bad = []
    for t, item in enumerate(chosen):
        if isinstance(item, str) and item in known:
            places[t] = known[item]
        elif _is_place(item, len(goods)):
            places[t] = int(item)
        elif not _is_none(item):
            bad.append(t)
    if bad:
        received = chosen[bad[0]]
        hint = nearest(received, goods) if isinstance(received, str) else ""
        raise InvalidObservations(
            f"chosen must be goods by name or by place, 0 to {len(goods) - 1}, or -1 or None for the outside option; "
            f"{len(bad)} are not ({describe_rows(bad)}); received {received!r}{hint}; the goods are {listed(goods)}",
            bad,
        )
    return places


def _is_place(item: Any, n_goods: int) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool) and item in range(-1, n_goods)


def _is_none(item: Any) -> bool:
    return item is None or (isinstance(item, float) and np.isnan(item))
