# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What prices may be: costs, bounds, margins, ladders and orders, checked with the good named that breaks a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, listed, shown
from stochpref.readers.by_name import by_name

Array = NDArray[np.float64]

_ENDING: Final = re.compile(r"\.[0-9x]{1,4}")
_MOST_RUNGS: Final = 100_000
_ROUNDING: Final = 1e-9  # relative


class PriceLimits(NamedTuple):
    """What the prices of n goods may be.

    lowest, highest : (n,) ends; NaN for goods that are not on offer, which have no price.
    rungs : (n,) the prices that a ladder leaves, rising; None for any.
    pairs : (smaller, larger) places of goods whose prices must be in this order.
    """

    lowest: Array
    highest: Array
    rungs: tuple[Array | None, ...]
    pairs: tuple[tuple[int, int], ...]


def checked_costs(costs: Any, goods: tuple[str, ...], needed: NDArray[np.bool_]) -> Array:
    """Return what a unit of each good costs, (n,); goods that are not needed may be missing."""
    named = _names_of(costs)
    if named is not None:
        _check_known(named, goods, "costs")
        missing = [good for good, need in zip(goods, needed, strict=True) if need and good not in named]
        if missing:
            raise InvalidArgument(
                f"costs must be given for every good on offer; {shown(missing[0])!r}"
                f"{f' and {len(missing) - 1} more are' if len(missing) > 1 else ' is'} missing; "
                "state what a unit costs you, 0 if nothing"
            )
        costs = {good: costs[good] if good in named else 0.0 for good in goods}
    values = np.asarray(by_name(costs, goods, "costs"), np.float64)
    if values.ndim == 0:
        values = np.full(len(goods), float(values))
    if values.shape != (len(goods),):
        raise InvalidArgument(
            f"costs must be one for each good, {listed(goods)}; received shape {values.shape}; or name them in a dict"
        )
    bad = np.flatnonzero(needed & ~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise InvalidArgument(
            f"costs must be zero or more; received {values[bad[0]]:g} for {shown(goods[bad[0]])!r}; state what a unit "
            "costs you"
        )
    return np.where(needed, values, 0.0)


def price_limits(
    goods: tuple[str, ...],
    costs: Array,
    observed: tuple[Array, Array],
    bounds: Any,
    ladder: Any,
    order: Any,
    *,
    extrapolate: bool,
) -> PriceLimits:
    """Return what prices may be.

    Parameters
    ----------
    observed : the lowest and the highest price (n,) of each good that customers faced; NaN for one that is not asked
        about, inf and 0 for one that nobody was ever offered.
    bounds, ladder, order, extrapolate : as in `best_prices`.
    """
    lowest, highest = _bounds_of(bounds, goods, costs, observed)
    for i in np.flatnonzero(~np.isnan(observed[0])):
        name, low, high = shown(goods[i]), lowest[i], highest[i]
        if not (low <= high and high > 0 and np.isfinite(high)):
            raise InvalidArgument(f"bounds must leave a price; those of {name!r} are {low:g} to {high:g}; widen them")
        if costs[i] > high:
            raise InvalidArgument(
                f"costs must leave a price to earn from; {name!r} costs {costs[i]:g}, above every price allowed, "
                f"{low:g} to {high:g}; correct the cost, widen its bounds, or leave the good off the menus"
            )
        own_low, own_high = observed[0][i], observed[1][i]
        beyond = low < own_low * (1 - _ROUNDING) or high > own_high * (1 + _ROUNDING)
        if beyond and not extrapolate:
            raise InvalidArgument(
                f"bounds must lie within observed prices; those of {name!r} are {low:g} to {high:g}, observed "
                f"{own_low:g} to {own_high:g}: the model's tail beyond is an assumption; test such a price "
                "(optimal_menus, stochpref design menus), or pass extrapolate=True"
            )
    rungs = tuple(_rungs_of(ladder, goods, i, lowest[i], highest[i]) for i in range(len(goods)))
    return PriceLimits(lowest, highest, rungs, _pairs_of(order, goods))


def _bounds_of(bounds: Any, goods: tuple[str, ...], costs: Array, observed: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the ends for each good: those stated, observed prices for the others, and margins kept."""
    lowest, highest = observed[0].copy(), observed[1].copy()
    if isinstance(bounds, str):
        if bounds != "observed":
            raise InvalidArgument(f"bounds must be 'observed', or two ends for some goods by name; received {bounds!r}")
        return lowest, highest
    if hasattr(bounds, "iterrows"):  # a data frame with a row for each good
        bounds = {name: tuple(row.to_numpy()) for name, row in bounds.iterrows()}
    if not isinstance(bounds, Mapping):
        rows = np.asarray(bounds, np.float64)
        if rows.ndim != 2 or rows.shape[0] != len(goods):
            raise InvalidArgument(
                f"bounds must be two ends for each of {len(goods)} goods, or good -> (lowest, highest); received "
                f"shape {rows.shape}"
            )
        bounds = dict(zip(goods, map(tuple, rows), strict=True))
    named = {str(name): ends for name, ends in bounds.items()}
    _check_known(named, goods, "bounds")
    for name, ends in named.items():
        i = goods.index(name)
        if np.isnan(observed[0][i]):
            continue
        low, high, margin = _ends_of(name, ends)
        lowest[i] = observed[0][i] if low is None else low
        highest[i] = observed[1][i] if high is None else high
        lowest[i] = max(lowest[i], costs[i] / (1.0 - margin))
    return lowest, highest


def _ends_of(name: str, ends: Any) -> tuple[float | None, float | None, float]:
    """Return the lowest and the highest price, None for the one observed, and the least margin."""
    try:
        values = [None if x is None or np.isnan(float(x)) else float(x) for x in ends]
    except (TypeError, ValueError):
        values = []
    if len(values) not in (2, 3):
        raise InvalidArgument(
            f"bounds must be (lowest, highest), or (lowest, highest, least margin); received {ends!r} for {name!r}"
        )
    margin = values[2] if len(values) == 3 and values[2] is not None else 0.0
    if not 0.0 <= margin < 1.0:
        raise InvalidArgument(
            f"the least margin must be a share of the price, from 0 to below 1; received {margin:g} for {name!r}"
        )
    return values[0], values[1], margin


def _rungs_of(ladder: Any, goods: tuple[str, ...], i: int, low: float, high: float) -> Array | None:
    """Return the rungs within the ends of a good."""
    if isinstance(ladder, Mapping):
        _check_known({str(name) for name in ladder}, goods, "ladder")
        ladder = ladder.get(goods[i])
    if ladder is None or np.isnan(low):
        return None
    rungs = _all_rungs(ladder, high)
    inside = rungs[(rungs >= low * (1 - _ROUNDING)) & (rungs <= high * (1 + _ROUNDING)) & (rungs > 0)]
    if not inside.size:
        raise InvalidArgument(
            f"ladder must have a rung within the bounds of every good; {shown(goods[i])!r} may cost {low:g} to "
            f"{high:g}, and {ladder!r} has none there; take finer steps or wider bounds"
        )
    return inside


def _all_rungs(ladder: Any, highest: float) -> Array:
    """Return the rungs of a ladder up to a price and some above."""
    if isinstance(ladder, str) and _ENDING.fullmatch(ladder):
        places = len(ladder) - 1
        endings = [int(f"{k:0{places}d}") for k in range(10**places) if _matches(f"{k:0{places}d}", ladder[1:])]
        _check_rungs((highest + 1) * len(endings), ladder)
        units = np.arange(0, int(highest) + 2)
        rungs = units[:, None] + np.array(endings) / 10**places
        return np.asarray(np.sort(rungs.ravel()).round(places))
    if isinstance(ladder, int | float | np.number) and not isinstance(ladder, bool) and 0 < float(ladder) < np.inf:
        _check_rungs(highest / float(ladder), ladder)
        return np.asarray(np.arange(1, int(highest / float(ladder) + 1.5)) * float(ladder)).round(10)
    if not isinstance(ladder, str | bytes) and isinstance(ladder, Iterable):
        rungs = np.unique(np.asarray(list(ladder), np.float64))
        if rungs.size and np.isfinite(rungs).all() and rungs[0] > 0:
            return rungs
    raise InvalidArgument(
        "ladder must be an ending such as '.99' or '.x9', a step such as 0.05, a list of prices, or one of these for "
        f"some goods by name; received {ladder!r}"
    )


def _matches(digits: str, pattern: str) -> bool:
    return all(own in ("x", digit) for digit, own in zip(digits, pattern, strict=True))


def _check_rungs(count: float, ladder: Any) -> None:
    if count > _MOST_RUNGS:
        raise InvalidArgument(f"ladder must have at most {_MOST_RUNGS:,} rungs; received {ladder!r}; take larger steps")


def _pairs_of(order: Any, goods: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of goods whose prices must rise, from chains of names."""
    if order is None:
        return ()
    chains: list[Sequence[str]] = []
    for chain in [order] if isinstance(order, str) else order:
        chains.append([part.strip() for part in chain.split("<")] if isinstance(chain, str) else [*map(str, chain)])
        if len(chains[-1]) < 2:
            raise InvalidArgument(
                f"order must be chains of goods whose prices rise, such as ('small', 'large'); received {chain!r}"
            )
        _check_known(set(chains[-1]), goods, "order")
    pairs = [(goods.index(a), goods.index(b)) for chain in chains for a, b in pairwise(chain)]
    above: dict[int, set[int]] = {i: {b for a, b in pairs if a == i} for i in range(len(goods))}
    for i, next_up in above.items():
        seen, front = set[int](), next_up
        while front:
            seen |= front
            front = set().union(*(above[j] for j in front)) - seen
        if i in seen:
            raise InvalidArgument(f"order must not run in a circle; {shown(goods[i])!r} comes before itself; cut it")
    return tuple(dict.fromkeys(pairs))


def _names_of(values: Any) -> set[str] | None:
    keys: Callable[[], Iterable[Any]] | None = getattr(values, "keys", None)
    return None if keys is None else {str(name) for name in keys()}


def _check_known(names: Iterable[str], goods: tuple[str, ...], argument: str) -> None:
    unknown = sorted(set(names) - set(goods))
    if unknown:
        raise InvalidArgument(
            f"{argument} must be for goods of the fit, {listed(goods)}; received {shown(unknown[0])!r}, which is none "
            f"of them{nearest(unknown[0], goods)}"
        )
