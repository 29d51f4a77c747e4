# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The customer's problem: the bundle that maximises a linear utility under a budget (a fractional knapsack)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.errors import InvalidArgument
from stochpref.threads import compiled, for_blocks, inlined

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_BLOCK = 2048


@inlined
def fill_bundle(u: Array, prices: Array, money: float, caps: Array, bundle: Array, order: Rows, worth: Array) -> None:
    """Buy for one customer: add the optimal bundle to `bundle`; `order` and `worth` are (n,) scratch."""
    count = 0
    for i in range(u.shape[0]):
        if u[i] > 0.0 and prices[i] < np.inf:
            worth[count] = u[i] / prices[i]
            order[count] = i
            count += 1
    if count <= 64:
        for k in range(1, count):  # insertion sort is stable: equal worth keeps the order of the goods
            w, i = worth[k], order[k]
            j = k
            while j > 0 and worth[j - 1] < w:
                worth[j], order[j] = worth[j - 1], order[j - 1]
                j -= 1
            worth[j], order[j] = w, i
        ranked = order[:count]
    else:
        ranked = order[:count][np.argsort(-worth[:count], kind="mergesort")]
    for i in ranked:
        cost = prices[i] * caps[i]
        if cost <= money:
            bundle[i] += caps[i]
            money -= cost
        else:
            bundle[i] += money / prices[i]
            break


@compiled
def _fill(
    utilities: Array,
    prices: Array,
    budgets: Array,
    caps: Array,
    rows: tuple[Rows, Rows, Rows, Rows],
    bundles: Array,
    start: int,
    stop: int,
) -> None:
    order, worth = np.empty(utilities.shape[1], np.int64), np.empty(utilities.shape[1], np.float64)
    for t in range(start, stop):
        u, a, c = utilities[rows[0][t]], prices[rows[1][t]], caps[rows[3][t]]
        fill_bundle(u, a, budgets[rows[2][t]], c, bundles[t], order, worth)


def _rows_of(lead: tuple[int, ...], out_lead: tuple[int, ...]) -> Rows:
    """Return, for every row of the result, the row of an operand that broadcasting pairs with it."""
    own = np.arange(int(np.prod(lead, dtype=np.int64)), dtype=np.int64).reshape(lead)
    return np.ascontiguousarray(np.broadcast_to(own, out_lead).ravel())


def _real(values: ArrayLike, argument: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{argument} must be numbers; {error}") from None


def choose(utilities: ArrayLike, prices: ArrayLike, budgets: ArrayLike, *, caps: ArrayLike = 1.0) -> Array:
    """Return the optimal bundle of each customer.

    Goods are bought in falling order of utility per unit of money until the budget is spent, so at most one good
    is bought in part. Goods with utility zero or less are not bought; equal worth is settled in the order of the
    goods. Costs O(n log n) a row, on all threads, and copies no operand that broadcasting repeats.

    Parameters
    ----------
    utilities : (..., n).
    prices : (..., n) positive; inf or NaN where a good is not on offer.
    budgets : (...) zero or more.
    caps : scalar or (..., n), positive.

    Returns
    -------
    (..., n) bundles over the broadcast leading shape: one utility against many menus, many against one, or pairs.
    """
    u, a = np.atleast_1d(_real(utilities, "utilities")), np.atleast_1d(_real(prices, "prices"))
    b, c = _real(budgets, "budgets"), np.atleast_1d(_real(caps, "caps"))
    n = u.shape[-1]
    if n == 0 or a.shape[-1] != n or c.shape[-1] not in (1, n):
        raise InvalidArgument(
            f"utilities, prices and caps must agree in their last axis, goods; received {u.shape}, {a.shape}, {c.shape}"
        )
    c = np.broadcast_to(c, (*c.shape[:-1], n))
    try:
        lead = np.broadcast_shapes(u.shape[:-1], a.shape[:-1], b.shape, c.shape[:-1])
    except ValueError:
        raise InvalidArgument(
            f"utilities {u.shape}, prices {a.shape}, budgets {b.shape}, caps {c.shape} do not broadcast over their rows"
        ) from None
    _check_values(u, a, b, c)
    a = np.where(np.isnan(a), np.inf, a)
    tables = [np.ascontiguousarray(table).reshape(-1, n) for table in (u, a, c)]
    rows = (
        _rows_of(u.shape[:-1], lead),
        _rows_of(a.shape[:-1], lead),
        _rows_of(b.shape, lead),
        _rows_of(c.shape[:-1], lead),
    )
    bundles = np.zeros((*lead, n))
    flat = bundles.reshape(-1, n)

    def fill(start: int, stop: int) -> None:
        _fill(tables[0], tables[1], np.ascontiguousarray(b).reshape(-1), tables[2], rows, flat, start, stop)

    for_blocks(fill, flat.shape[0], _BLOCK)
    return bundles


def _check_values(u: Array, a: Array, b: Array, c: Array) -> None:
    rules = (
        ("utilities", "finite", np.isfinite(u), u),
        ("prices", "positive, or inf or NaN where a good is not on offer", (a > 0) | np.isnan(a), a),
        ("budgets", "finite and not negative", np.isfinite(b) & (b >= 0), b),
        ("caps", "positive", c > 0, c),
    )
    for argument, rule, is_right, values in rules:
        if not is_right.all():
            first = np.unravel_index(int(np.argmin(is_right)), values.shape)
            raise InvalidArgument(
                f"{argument} must be {rule}; received {values[first]:g} at index {tuple(int(i) for i in first)}, "
                f"{int(np.sum(~is_right))} in all"
            )
