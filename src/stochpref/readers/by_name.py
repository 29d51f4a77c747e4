# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Values per good as they come to hand: whatever has names is matched by name, only bare numbers go by their order.

A table whose columns stand in another order than the goods of a fit would otherwise give every good another's price,
and nothing would look wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats, nearest
from stochpref.errors import InvalidArgument, listed
from stochpref.observations import Menus
from stochpref.problems import FITTED, Problem, check_handled
from stochpref.readers.cells import to_numbers
from stochpref.readers.tables import arrow_of, table_of_frame
from stochpref.rows import changed

Array = NDArray[np.float64]


def as_menus(
    menus: Any, budgets: ArrayLike | None, goods: tuple[str, ...], problem: Problem
) -> tuple[Menus, tuple[int, ...]]:
    """Return what a fit is asked about as menus of its problem, and the shape of the question.

    Parameters
    ----------
    menus : Menus, which hold their budgets and may lack goods or have them in another order; or prices, (n,) or (T, n),
        of all goods of the fit, in its order unless they have names.
    budgets : beside prices: one, or one for each menu; none where the problem knows no budgets.
    goods, problem : of the fit.

    Raises
    ------
    InvalidArgument : menus of another problem, or without budgets where it needs them; names that are unknown, missing
        or repeated; prices for another number of goods.
    """
    if isinstance(menus, Menus):
        if budgets is not None:
            raise InvalidArgument("budgets must be left out when menus hold them; received both")
        check_handled(menus, "this fit", problems=(*FITTED, problem.name))
        return _solved(menus, problem, goods), (len(menus),)
    if (budgets is None) == problem.needs_budget:
        rule = "prediction needs menus, or prices and budgets" if budgets is None else "budgets must be left out"
        received = "prices alone" if budgets is None else f"some, and problem {problem.name!r} knows none"
        raise InvalidArgument(f"{rule}; received {received}")
    prices = _over(menus, goods)
    if budgets is None:
        rows = prices.reshape(-1, len(goods))
        return Menus(rows, goods=goods, problem=problem), prices.shape[:-1]
    _check_same_rows(menus, budgets)
    money = as_floats(budgets, "budgets")
    try:
        shape = np.broadcast_shapes(prices.shape[:-1], money.shape)
    except ValueError:
        raise InvalidArgument(
            f"budgets must be one number, or one for each of {len(prices)} rows of prices; received shape {money.shape}"
        ) from None
    rows = np.broadcast_to(prices, (*shape, len(goods))).reshape(-1, len(goods))
    return Menus(rows, np.broadcast_to(money, shape).ravel(), goods=goods, problem=problem), shape


def _solved(menus: Menus, problem: Problem, goods: tuple[str, ...]) -> Menus:
    """Return menus as those of the problem of a fit."""
    if not problem.admits(menus.problem):
        raise InvalidArgument(
            f"menus must be of the problem of the fit, {problem!r}; received menus of {menus.problem!r}; leave their "
            "problem out, or fit the model to purchases of theirs"
        )
    if not problem.needs_budget:
        return Menus(
            menus.prices, goods=menus.goods, caps=menus.caps, labels=menus.labels, problem=problem,
            features=menus.features,
        )  # fmt: skip
    if np.isinf(menus.budgets).any():
        raise InvalidArgument(
            f"menus must have budgets, for the fit is of problem {problem.name!r}; received menus without; give "
            "Menus(prices, budgets)"
        )
    if menus.problem is None and problem.default_cap != 1.0 and np.all(menus.caps == 1.0):  # what they have unless told
        menus = changed(menus, caps=np.full_like(menus.caps, problem.default_cap))
    return menus.under(problem.facing(menus.problem, menus.goods, goods))


def by_name(values: Any, goods: tuple[str, ...], argument: str) -> Any:
    """Return values with the goods last, in their order, if they have names; as they are if they have none.

    Parameters
    ----------
    values : a data frame with a column for each good, a Series or a dict with an item for each, or bare numbers.
    argument : what the values are, for messages.
    """
    if isinstance(values, list | tuple) and any(isinstance(row, Mapping) or hasattr(row, "iloc") for row in values):
        return np.stack([as_floats(by_name(row, goods, argument), argument) for row in values])
    named = _named(values, argument)
    if named is None:
        return values
    names, columns = [name for name, _ in named], dict(named)
    unknown = [name for name in columns if name not in goods]
    if unknown:
        raise InvalidArgument(
            f"{argument} must be for goods known, {listed(goods)}; received {unknown[0]!r}, which is none of them"
            f"{nearest(unknown[0], goods)}; rename it or leave it out (budgets are an argument of their own)"
        )
    if len(columns) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f"{argument} must name each good once; received {twice!r} more than once; keep one")
    missing = [good for good in goods if good not in columns]
    if missing:
        others = f" and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        raise InvalidArgument(
            f"{argument} must be given for every good, {listed(goods)}; {missing[0]!r}{others} missing; "
            "a good that is not on offer has the price inf or NaN"
        )
    try:
        return np.stack(np.broadcast_arrays(*(columns[good] for good in goods)), axis=-1)
    except ValueError:
        raise InvalidArgument(
            f"{argument} must be one number for each good, or equally many for all; received "
            + ", ".join(f"{good!r}: {columns[good].size}" for good in goods[:6])
        ) from None


def _over(prices: Any, goods: tuple[str, ...]) -> Array:
    values = as_floats(by_name(prices, goods, "prices"), "prices")
    if values.ndim == 0 or values.shape[-1] != len(goods):
        received = "one number" if values.ndim == 0 else f"{values.shape[-1]} in a row"
        raise InvalidArgument(
            f"prices must be {len(goods)} in a row, one for each good of the fit in its order, {listed(goods)}; "
            f"received {received}; or name them: a dict, a Series or a data frame is matched by name"
        )
    return values


def _named(values: Any, argument: str) -> list[tuple[str, Array]] | None:
    """Return names and what they stand for, None where there are no names."""
    if isinstance(values, Mapping):
        return [(str(name), _as_column(value, argument, str(name))) for name, value in values.items()]
    if hasattr(values, "dims") and hasattr(values, "to_pandas"):  # a labelled array of xarray
        values = values.to_pandas()
    if isinstance(values, pa.RecordBatch):
        values = pa.Table.from_batches([values])
    wrapped = _wrapped(values, argument)
    if isinstance(wrapped, nw.DataFrame | nw.LazyFrame):
        table = table_of_frame(values)
        return [(name, _as_numbers(table.column(name), argument, name)) for name in table.names]
    index = nw.maybe_get_index(wrapped) if isinstance(wrapped, nw.Series) else None
    if index is None:
        return None
    numbers = _as_numbers(arrow_of(wrapped), argument, "")
    return [(str(name), number) for name, number in zip(index, numbers, strict=True)]


def _wrapped(values: Any, argument: str) -> Any:
    """Return a data frame or a column as narwhals sees it, anything else as it is."""
    try:
        return nw.from_native(values, pass_through=True, allow_series=True)
    except Exception as error:  # every library of frames raises its own
        raise InvalidArgument(f"{argument} cannot be read: {' '.join(str(error).split())}") from None


def _as_column(values: Any, argument: str, name: str) -> Array:
    wrapped = _wrapped(values, argument)
    if isinstance(wrapped, nw.Series):
        return _as_numbers(arrow_of(wrapped), argument, name)
    return as_floats(values, f"{argument} of {name!r}")


def _as_numbers(column: Any, argument: str, name: str) -> Array:
    found = to_numbers(column, name)
    if found.bad_rows:
        where = f" of {name!r}" if name else ""
        raise InvalidArgument(f"{argument}{where} must be numbers; received {found.bad_texts[0]!r}; correct it")
    return found.values


def _check_same_rows(prices: Any, budgets: Any) -> None:
    """Refuse budgets whose rows are named as those of the prices, in another order."""
    rows, others = (
        nw.maybe_get_index(wrapped) if isinstance(wrapped, nw.DataFrame | nw.Series) else None
        for wrapped in (_wrapped(prices, "prices"), _wrapped(budgets, "budgets"))
    )
    if rows is not None and others is not None and not rows.equals(others) and set(rows) == set(others):
        raise InvalidArgument(
            "budgets must be in the order of the rows of prices; their index holds the same names in another order; "
            "bring them into one order, budgets.loc[prices.index]"
        )
