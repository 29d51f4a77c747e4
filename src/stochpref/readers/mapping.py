# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which column plays which role: names and prefixes asked for, constants, and what to say when nothing fits.

Roles are our names: observation, good, price, quantity, budget, customer, cap. Long data has one column per role.
Wide data has, for price, quantity and cap, one column per good, recognised by a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from stochpref.checks import check_choice, nearest
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.readers.cells import parse_number
from stochpref.readers.tables import Table

Place: TypeAlias = str | float | tuple[str, ...]  # a column, a constant for every row, or the columns of a key
Columns: TypeAlias = Mapping[str, str | float | Sequence[str]]  # what users say: our name -> their place

ROLES: Final = (
    "observation", "good", "price", "quantity", "budget", "customer", "cap", "date", "store", "discount", "total",
)  # fmt: skip
NUMERIC_ROLES: Final = ("price", "quantity", "budget", "cap", "discount", "total")
KEY_ROLES: Final = ("observation", "good", "customer", "store")  # may be told by several columns together
EVERY_OTHER: Final = ("*", "")  # a prefix that matches every column not otherwise used

_ADVICE: Final = {
    "price": "; without prices pass a constant: price=1.0",
    "budget": "; without budgets pass a constant, columns={'budget': 2} (--column budget=2)",
    "quantity": "; if every other column of a wide table is a quantity, pass quantity='*'",
}
_SPENT: Final = (  # where there are quantities
    ", or read with budget='spent' (--budget spent), or without one, problem='open' (--problem open)"
)
# What others call our columns, spelt in small letters without marks: offered where nothing is spelt alike; taken of
# our own accord only from an export of orders, whose columns say among them what it is, and with a word.
_SYNONYMS: Final = {
    "observation": (
        "obs", "obsid", "id", "order", "orderid", "orderno", "ordernumber", "trans", "transaction", "transactionid",
        "basket", "basketid", "invoice", "invoiceno", "receipt", "receiptid", "trip", "visit",
    ),
    "good": ("product", "productid", "item", "brand", "sku", "article", "alternative", "alt", "stockcode"),
    "price": ("cost", "unitprice", "rate", "itemprice"),
    "quantity": ("qty", "amount", "units", "count", "choice", "bought", "volume"),
    "budget": ("income", "money", "wallet", "limit", "total", "expenditure"),
    "customer": ("customerid", "client", "clientid", "user", "userid", "member", "memberid", "household"),
    "date": ("day", "orderdate", "invoicedate", "timestamp", "datetime", "createdat", "purchasedate"),
    "store": ("storeid", "shop", "shopid", "branch", "outlet", "market", "location"),
    "discount": ("rebate", "discountamount", "promo", "reduction"),
    "total": ("linetotal", "lineamount", "linevalue", "subtotal"),
}  # fmt: skip
_ORDER_NAMES: Final = frozenset(_SYNONYMS["observation"]) - {"obs", "obsid", "id", "trip", "visit"}
_NEEDED: Final = ("observation", "good")
_OF_ORDERS: Final = ("date", "store", "discount", "total")  # columns that tables of menus do not have


def check_columns(columns: Mapping[str, object] | None) -> dict[str, Place]:
    """Return what the user says about columns: role -> column, prefix or constant, or the columns of a key."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise InvalidArgument(f"columns must map our names to yours; received {type(columns).__name__}")
    checked: dict[str, Place] = {}
    for role, place in columns.items():
        check_choice(role, "a name in columns", ROLES)
        if isinstance(place, list | tuple):
            checked[role] = _check_key(role, place)
            continue
        is_constant = isinstance(place, int | float) and not isinstance(place, bool)
        if is_constant and role not in NUMERIC_ROLES:
            raise InvalidArgument(f"columns[{role!r}] must name a column; received the constant {place!r}")
        if not (is_constant or isinstance(place, str)):
            raise InvalidArgument(f"columns[{role!r}] must be a name or a number; received {place!r}")
        checked[role] = float(place) if is_constant else str(place)  # type: ignore[arg-type]
    return checked


def _check_key(role: str, columns: Sequence[object]) -> tuple[str, ...]:
    """Return the columns that say together which observation, good, customer or store a row is about."""
    if role not in KEY_ROLES:
        raise InvalidArgument(
            f"columns[{role!r}] must be one column; received {len(columns)}; several say together what is a key: "
            f"{', '.join(KEY_ROLES)}"
        )
    if not columns or not all(isinstance(name, str) for name in columns):
        raise InvalidArgument(f"columns[{role!r}] must hold names of columns, one or more; received {columns!r}")
    return tuple(str(name) for name in columns)


def resolve_places(given: Mapping[str, Place], table: Table) -> dict[str, Place]:
    """Return the wishes with texts that no column has for a name as what they spell: '1.0' a constant, 'a,b' a key."""
    resolved = dict(given)
    for role in KEY_ROLES:
        place = resolved.get(role)
        if isinstance(place, str) and len(parts := key_parts(table, place)) > 1:
            resolved[role] = parts
    for role in NUMERIC_ROLES:
        place = resolved.get(role)
        if isinstance(place, str) and same_name(table.names, place) is None:
            number = parse_number(place)
            resolved[role] = place if number is None else number
    return resolved


def key_parts(table: Table, text: str) -> tuple[str, ...]:
    """Return the columns that a text names between commas; the text itself where it names one, or parts are empty."""
    parts = tuple(part.strip() for part in text.split(","))
    return (text,) if same_name(table.names, text) is not None or not all(parts) else parts


def find_layout(table: Table, given: Mapping[str, Place], layout: str, *, may_be_orders: bool = False) -> str:
    """Return 'orders' if the columns are those of an export of orders, 'long' if there is a column of goods, or 'wide'.

    Raises
    ------
    UnreadableData : the table looks like neither.
    """
    if layout != "auto":
        return layout
    if may_be_orders and _is_of_orders(table, given):
        return "orders"
    if "good" in given or same_name(table.names, "good") is not None:
        return "long"
    prefixes = [given.get(role, role) for role in ("quantity", "price")]
    if any(isinstance(prefix, str) and match_prefix(table.names, prefix, given=True) for prefix in prefixes):
        return "wide"
    if may_be_orders and _is_of_orders(table, given, is_called_so=True):
        return "orders"
    raise UnreadableData(
        f"{table.source}: is neither long (no column 'good'{_likely('good', 'good', table.names)}) nor wide (no "
        f"columns such as '{prefixes[0]}_<good>' or '{prefixes[1]}_<good>'); {columns_named(table.names)}; say which "
        "column of a long table names the goods, columns={'good': ...} (--column good=...), or which prefix in a wide "
        "table the quantities have, columns={'quantity': ...} (--column quantity=...), '*' if every column holds one"
    )


def order_columns(table: Table, given: Mapping[str, Place]) -> dict[str, str]:
    """Return the columns of an export of orders by role: those with our names, or the only one with a name alike.

    Roles that the user has mapped are left out, and so are columns that play one of those.
    """
    taken = {name for place in given.values() for name in columns_of(place)}
    ours = {role: same_name(table.names, role) for role in ROLES if role not in given}
    found = {role: name for role, name in ours.items() if name is not None}
    free = [name for name in table.names if name not in taken and name not in found.values()]
    for role, names in _SYNONYMS.items():
        alike = [name for name in free if _spelt(name) in names]
        if role not in given and role not in found and len(alike) == 1 and role != "budget":
            found[role] = alike[0]
            free.remove(alike[0])
    return found


def _is_of_orders(table: Table, given: Mapping[str, Place], *, is_called_so: bool = False) -> bool:
    """Tell whether a table looks like an export of orders: it names orders and goods, dates or stores, no budgets.

    is_called_so : nothing else will read it, so that a column of prices and one called orders, or receipts, do.
    """
    found = order_columns(table, given)
    roles = found.keys() | given.keys()
    if "budget" in roles or not all(role in roles for role in _NEEDED):
        return False
    is_named = is_called_so and "price" in roles and _spelt(found.get("observation", "")) in _ORDER_NAMES
    return is_named or any(role in roles for role in _OF_ORDERS)


def _spelt(name: str) -> str:
    """Return a name in small letters, without the marks between its words."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def find_column(table: Table, given: Mapping[str, Place], role: str) -> Place | None:
    """Return the column or constant of a role, None if the user named none and the table has none.

    Raises
    ------
    UnreadableData : the user named a column that is not there.
    """
    place = given.get(role, role)
    if isinstance(place, float):
        return place
    columns = [same_name(table.names, name) for name in columns_of(place)]
    for name, column in zip(columns_of(place), columns, strict=True):
        if column is None and role in given:
            raise UnreadableData(missing_column(table, role, name))
    return tuple(column for column in columns if column is not None) if isinstance(place, tuple) else columns[0]


def called(place: Place | None) -> str:
    """Return the name of a column, or those of a key, for messages."""
    return " and ".join(map(repr, columns_of(place)))


def group_columns(table: Table, given: Mapping[str, Place], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that say which group a row belongs to, named as they are or by their roles."""
    found: list[str] = []
    for name in (part for text in names for part in key_parts(table, text)):
        places = (name,) if same_name(table.names, name) is not None else columns_of(given.get(name))
        columns = [same_name(table.names, place) for place in places]
        if not columns or None in columns:
            raise UnreadableData(
                f"{table.source}: no column {name!r} to group by{nearest(name, table.names)}; "
                f"{columns_named(table.names)}; name one of them, or 'file' for a group a file"
            )
        found += [column for column in columns if column is not None]
    return tuple(found)


def columns_of(place: Place | None) -> tuple[str, ...]:
    """Return the columns of a place: none of a constant, several of a key."""
    return place if isinstance(place, tuple) else (place,) if isinstance(place, str) else ()


def same_name(names: Sequence[str], name: str) -> str | None:
    """Return the name as it is spelt among others, capitals and spaces aside if only one fits; None if none does."""
    if name in names:
        return name
    alike = [other for other in names if other.strip().casefold() == name.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def need_column(table: Table, given: Mapping[str, Place], role: str, *, has_quantities: bool = True) -> Place:
    """Return the column or constant of a role that cannot be done without."""
    place = find_column(table, given, role)
    if place is None:
        advice = _SPENT if role == "budget" and has_quantities else ""
        raise UnreadableData(missing_column(table, role, role) + advice)
    return place


def missing_column(table: Table, role: str, name: str) -> str:
    """Return the message for a column that is not there: the nearest one, and how to map it."""
    return (
        f"{table.source}: no column {name!r} for the {role}{_likely(role, name, table.names)}; "
        f"{columns_named(table.names)}; rename it or map it with columns={{{role!r}: ...}} (--column {role}=...)"
        f"{_ADVICE.get(role, '')}"
    )


def match_prefix(names: Iterable[str], prefix: str, *, given: bool) -> dict[str, str]:
    """Return good -> column for the columns of one wide role.

    A good's name follows the prefix after an underscore (``price_milk``, or any mark the prefix itself ends with);
    failing that, a number follows it directly (``a1``); failing that, and only for a prefix the user gave, anything
    does. So ``a`` takes a1 to a10 and leaves ``age`` alone. The prefix ``*`` takes every column it is shown.
    """
    names = list(names)
    if prefix in EVERY_OTHER:
        return {name: name for name in names}
    exact = _tails(names, prefix, given=given)
    return exact or _tails(names, prefix, given=given, fold=str.casefold)


def _tails(names: list[str], prefix: str, *, given: bool, fold: Callable[[str], str] = str) -> dict[str, str]:
    """Return good -> column for names that begin with a prefix, both as `fold` makes them."""
    marked = prefix if not prefix[-1].isalnum() else f"{prefix}_"

    def behind(start: str) -> dict[str, str]:
        return {name[len(start) :]: name for name in names if fold(name).startswith(fold(start)) and name[len(start) :]}

    tails = behind(marked)
    if tails:
        return tails
    direct = behind(prefix)
    numbered = {tail: name for tail, name in direct.items() if tail.isdigit()}
    return numbered or (direct if given else {})


def _likely(role: str, name: str, names: Iterable[str]) -> str:
    """Return what `nearest` says of a column that is not there, or else offers one that others give this role."""
    names = list(names)
    alike = [other for other in names if _spelt(other) in _SYNONYMS.get(role, ())]
    return nearest(name, names) or (f"; is it {alike[0]!r} (--column {role}={alike[0]})?" if alike else "")


def columns_named(names: tuple[Any, ...]) -> str:
    """Return the columns there are, for messages."""
    shown = ", ".join(repr(name) for name in names[:12])
    return f"its columns are {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")
