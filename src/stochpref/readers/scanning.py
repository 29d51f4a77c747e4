# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Scanning a source: read a draft, apply the rules, keep the observations that pass and list the rows that do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_choice, nearest
from stochpref.errors import InvalidArgument
from stochpref.names import LAYOUTS
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem, problem_of
from stochpref.problems.faults import find_empty, find_faults
from stochpref.readers.drafts import Draft
from stochpref.readers.limits import limited, parse_limits
from stochpref.readers.mapping import Columns, check_columns
from stochpref.readers.scans import BY_FILE, BadRow, Scan, described_bad, described_row, join_scans, one_group, refuse
from stochpref.readers.sources import draft_of, sources_of
from stochpref.readers.wishes import Wishes, make_wishes
from stochpref.rows import LEFT_OUT, assemble, changed


def read_observations(
    source: Any,
    *,
    layout: str = "auto",
    columns: Columns | None = None,
    budget: str = "stated",
    caps: ArrayLike | None = None,
    skip_bad: bool = False,
    by: str | Iterable[str] | None = None,
    choice: str | None = None,
    fill_prices: str | Iterable[str] | None = None,
    fill_within: float = 28.0,
    sheet: str | None = None,
    problem: str | Problem | None = None,
    units: int | Mapping[str, int] = 1,
    features: Iterable[str] = (),
    nonempty: bool | None = None,
    limits: Iterable[str] = (),
    goods_table: Any = None,
) -> Observations:
    """Return the observations of a file or data frame, or of several.

    Parameters
    ----------
    source : a path (.csv, .tsv, either with .gz, .parquet, .xlsx, Pabulib .pb), a data frame (pandas, polars, Arrow,
        ...), or several: a list of these, or a folder of such files. Each is read by itself, labels say which file they
        are from, and a good that a file does not name was not on offer there.
    layout : "long", one row per observation and good: ``observation, good, price, quantity, budget``, and if there are
        any ``customer, cap``; "wide", one row per observation: ``price_<good>, quantity_<good>, budget``, and if there
        are any ``observation, customer, cap_<good>``; "orders", see `read_orders`; or "auto": orders if the table has
        dates, stores, discounts or line totals and no budgets, else long if there is a column of goods.
    columns : our name -> your column, your prefix in wide data, or a constant: ``{"quantity": "x", "price": 1.0}``. The
        good follows a prefix after an underscore or as a number (``x_milk``, ``x1``); the prefix ``"*"`` takes every
        column not otherwise used. Several columns may say together which observation, good, customer or store a row is
        about: ``{"observation": ["id", "task"]}``, or ``"id,task"``.
    budget : "stated" in the data; "spent": what the bundle cost, for whole items that leave small change; or "rounded":
        stated, but spent where the two differ by 1 % at most, for rounded figures.
    caps : largest quantities: a number or one per good; a column of caps goes before it. None: 1, or none for goods
        that satiate.
    skip_bad : leave out observations that break a rule, and log how many, instead of refusing the source.
    by : what groups observations, for `fit_groups`: a column, or several, of your names or ours; "file" for the file.
    choice : where one good of each menu was chosen, in place of quantities: in wide data the column that names the
        good, or gives its number, or what columns of 0 and 1 begin with; in long data a column with 1 for the good
        chosen. The problem then is "one" unless another is stated.
    fill_prices, fill_within : as in `read_orders`.
    sheet : of a workbook, by name; None for the only one, or the first.
    problem : what customers solve, by name or as an object of `stochpref.problems`; None for that of the source: whole
        projects of a .pb file, whose ballots count as not empty if none is, and divisible goods elsewhere. Budgets are
        not read for one that knows none, such as "open" or "one".
    units : into how many units each good is split, or some by name, each with a worth of its own: `problems.Divisible`.
    features : what tastes may move with, by name: columns of a long table (one that says the same in all rows of every
        observation is of observations), of a wide one a column or, by good, ``promotion_<good>``; ``"price"`` is that
        of the menus unless it is read from elsewhere. Of the projects of a .pb file "category" and "target": a feature
        for each of the words listed there.
    nonempty : only purchases that are not empty were recorded; None where the source says: yes of orders, and of votes
        if no ballot is empty, no of other tables.
    limits : what a bundle may take beside money, such as "weight<=20" or "items<=3": the problem is "linear" then.
    goods_table : a file or data frame with a column ``good`` and one for each limit: what a unit takes. Not needed for
        "items", of which every unit is one.

    Raises
    ------
    UnreadableData : the source cannot be read, or holds text where a number belongs.
    InvalidObservations : some observations break a rule; the message names the rows.
    InvalidArgument : an option is not one we know.

    Notes
    -----
    In long data an (observation, good) pair that does not occur, or has an empty price, was not on offer. Observations
    and goods keep their order of first appearance.
    """
    found = scan(
        source,
        layout=layout,
        columns=columns,
        budget=budget,
        caps=caps,
        by=by,
        choice=choice,
        fill_prices=fill_prices,
        fill_within=fill_within,
        sheet=sheet,
        problem=problem,
        units=units,
        features=features,
        nonempty=nonempty,
        limits=limits,
        goods_table=goods_table,
    )
    return found.accept(skip_bad=skip_bad)


def read_orders(
    source: Any,
    *,
    columns: Columns | None = None,
    budget: str = "stated",
    caps: ArrayLike | None = None,
    skip_bad: bool = False,
    by: str | Iterable[str] | None = None,
    fill_prices: str | Iterable[str] | None = None,
    fill_within: float = 28.0,
    sheet: str | None = None,
    problem: str | Problem | None = None,
    units: int | Mapping[str, int] = 1,
    nonempty: bool | None = None,
) -> Observations:
    """Return the observations of an export of orders: a row per line of an order, only what was bought.

    Lines of one order and good are added up; discounts are taken off; returns are set against what they return. Prices
    of what an order does not hold come from other orders.

    Parameters
    ----------
    source : a file or data frame, as in `read_observations`. Our names are ``observation`` (the order), ``good``,
        ``quantity`` (1 if there is none), ``price`` (of a unit) or ``total`` (of the line), and if there are any
        ``discount`` (money off the line), ``date``, ``store``, ``customer``, ``budget``. Common other names, such as
        ``order_id`` or ``sku``, are understood where only one column has such a name.
    columns : our name -> your column, or a constant, or several columns for a key, as in `read_observations`.
    budget : as in `read_observations`; where no budget is stated, what the order came to.
    caps, skip_bad, by, sheet, problem, units : as in `read_observations`.
    nonempty : False if visits that ended without a purchase are in the source, as orders brought back whole; else such
        orders are left out, and the likelihood is given that something was bought.
    fill_prices : what an order shares with those that its missing prices are taken from: columns, and day, week, month
        or year of the date, the most telling first, such as "store,week". The order nearest in time counts. Where none
        that shares all of them bought the good, the last is left out, then the one before. None for those of store and
        week that the table tells.
    fill_within : days that a price may be away once a key has been left out; a good with no price so near counts as not
        on offer.
    """
    found = scan(
        source,
        layout="orders",
        columns=columns,
        budget=budget,
        caps=caps,
        by=by,
        fill_prices=fill_prices,
        fill_within=fill_within,
        sheet=sheet,
        problem=problem,
        units=units,
        nonempty=nonempty,
    )
    return found.accept(skip_bad=skip_bad)


def scan(
    source: Any,
    *,
    layout: str = "auto",
    columns: Columns | None = None,
    budget: str = "stated",
    caps: ArrayLike | None = None,
    by: str | Iterable[str] | None = None,
    choice: str | None = None,
    fill_prices: str | Iterable[str] | None = None,
    fill_within: float = 28.0,
    sheet: str | None = None,
    problem: str | Problem | None = None,
    units: int | Mapping[str, int] = 1,
    features: Iterable[str] = (),
    nonempty: bool | None = None,
    limits: Iterable[str] = (),
    goods_table: Any = None,
) -> Scan:
    """Return the good observations of a source and the rows that break a rule; parameters as `read_observations`."""
    check_choice(layout, "layout", LAYOUTS)
    wishes = make_wishes(
        columns, budget, caps, fill_prices, fill_within, sheet, problem, units, features, by, choice, nonempty
    )
    if choice is not None and layout == "orders":
        raise InvalidArgument("choice is for tables of menus, one good of each chosen; received layout='orders'")
    most = parse_limits(limits)
    if most and wishes.problem is not None:
        raise InvalidArgument(f"limits make the problem 'linear'; received problem={problem!r} too; leave it out")
    sources, notes = sources_of(source)
    scans = [scan_draft(limited(draft_of(one, layout, wishes), most, goods_table)) for one in sources.values()]
    by_file = by == BY_FILE
    whole = scans[0] if len(scans) == 1 else join_scans(tuple(sources), scans, by_file=by_file)
    if whole.observations is None:
        return whole
    observations = changed(whole.observations, notes=(*notes, *whole.observations.notes))
    if len(scans) == 1 and by_file:
        observations = one_group(observations, next(iter(sources)))
    return replace(whole, observations=observations, notes=(*notes, *whole.notes))


def scan_draft(draft: Draft) -> Scan:
    """Apply the rules to a draft."""
    bad = _find_bad(draft)
    kept = np.setdiff1d(np.arange(len(draft.budgets)), [*draft.idle, *(row.position for row in bad)])

    def locate(position: int) -> str:
        t = kept[position]
        return described_row(int(draft.row_numbers()[_first_rows(draft)[t]]), draft.labels[t])

    return Scan(
        source=draft.source,
        observations=_keep(draft, kept, n_bad=len({row.position for row in bad})),
        n_read=len(draft.budgets),
        bad=bad,
        layout=draft.layout,
        counting=draft.counting,
        locate=locate,
        notes=draft.notes,
    )


def read_menus(
    source: Any,
    *,
    layout: str = "auto",
    columns: Columns | None = None,
    caps: ArrayLike | None = None,
    goods: Iterable[str] | None = None,
    sheet: str | None = None,
    needs_budget: bool = True,
    features: Iterable[str] = (),
) -> Menus:
    """Return the menus of a file or data frame: as `read_observations`, without quantities.

    Parameters
    ----------
    goods : the goods wanted, in this order, such as those of a fit; one the source lacks is not on offer. A .pb file
        holds one menu.
    sheet : of a workbook, by name.
    needs_budget : False for menus of a problem that knows no budgets, which are not read then.
    features : as in `read_observations`; those that laws of a fit move with.

    Raises
    ------
    InvalidArgument : the source offers a good that is not among those wanted.
    """
    wishes = Wishes(
        check_columns(columns),
        "stated",
        1.0 if caps is None else caps,
        has_quantities=False,
        sheet=sheet,
        needs_budget=needs_budget,
        features=tuple(features),
    )
    draft = draft_of(source, check_choice(layout, "layout", LAYOUTS), wishes)
    bad = _find_bad(draft)
    if bad:
        n_bad = len({row.position for row in bad})
        refuse(draft.source, bad, described_bad(bad, n_bad, len(draft.budgets), draft.counting, 3), "correct them")
    menus = assemble(
        Menus,
        prices=draft.prices,
        budgets=draft.budgets,
        goods=draft.goods,
        caps=draft.caps,
        labels=_names(draft, np.arange(len(draft.budgets))),
        problem=None,
        features=dict(draft.features),
        titles=draft.titles,
    )
    return menus if goods is None else _reorder(menus, tuple(goods), draft.source)


def _find_bad(draft: Draft) -> tuple[BadRow, ...]:
    """Return the rows with flaws, then those of other observations that break a rule of value, in order of rows."""
    if draft.problem is None and not draft.needs_budget:
        faults = find_faults(draft, None, needs_budget=False)
    else:
        faults = problem_of(draft).find_faults(draft, draft.bundles)
    if draft.nonempty and draft.bundles is not None:
        faults = [*faults, *find_empty(draft.bundles, draft.caps)]
    if not (faults or draft.flaws):
        return ()
    numbers = draft.row_numbers()
    first = _first_rows(draft)
    bad = [
        BadRow(int(numbers[flaw.row]), draft.labels[flaw.observation], flaw.rule, flaw.received, flaw.remedy,
               flaw.observation, is_readable=False)
        for flaw in draft.flaws
    ]  # fmt: skip
    explained = {flaw.observation for flaw in draft.flaws} | set(draft.idle)
    for fault in faults:
        for t in fault.rows.tolist():
            if t not in explained:
                received, good = fault.describe(t, draft.goods), fault.good(t)
                row = first[t] if good is None or draft.rows[t, good] < 0 else draft.rows[t, good]
                bad.append(
                    BadRow(int(numbers[row]), draft.labels[t], fault.rule, received, fault.remedy, t, is_readable=True)
                )
    return tuple(sorted(bad, key=lambda row: row.row))


def _first_rows(draft: Draft) -> NDArray[np.int64]:
    """Return (T,) the first table row of each observation."""
    return np.where(draft.rows >= 0, draft.rows, np.iinfo(np.int64).max).min(axis=1)


def _keep(draft: Draft, kept: NDArray[np.int64], *, n_bad: int) -> Observations | None:
    if draft.bundles is None or kept.size == 0:
        return None
    customers = draft.customers
    if customers is not None and kept.size < len(customers):
        customers = tuple(customers[t] for t in kept.tolist())
    # The rules have been applied to every row: what is left needs no second look.
    return assemble(
        Observations,
        prices=draft.prices[kept],
        budgets=draft.budgets[kept],
        bundles=draft.bundles[kept],
        goods=draft.goods,
        customers=customers,
        caps=draft.caps[kept],
        labels=_names(draft, kept),
        problem=draft.problem,
        features={name: values[kept] for name, values in draft.features.items()},
        titles=draft.titles,
        nonempty=draft.nonempty,
        groups=None if draft.groups is None else tuple(draft.groups[t] for t in kept.tolist()),
        notes=(*draft.notes, _left_out(draft, n_bad)) if n_bad else draft.notes,
    )


def _left_out(draft: Draft, n_bad: int) -> str:
    return f"{LEFT_OUT}{n_bad:,} of {len(draft.budgets):,} observations, which break a rule"


def _names(draft: Draft, kept: NDArray[np.int64]) -> tuple[str, ...] | None:
    """Return labels, and the number in the source of what has none; None where numbers in a row say as much."""
    if not any(draft.labels) and kept.size == len(draft.budgets):
        return None
    return tuple(draft.labels[t] or str(t + 1) for t in kept.tolist())


def _reorder(menus: Menus, goods: tuple[str, ...], source: str) -> Menus:
    unknown = [good for good in menus.goods if good not in goods]
    if unknown:
        raise InvalidArgument(
            f"{source}: good {unknown[0]!r} is not one of the {len(goods):,} goods known{nearest(unknown[0], goods)}; "
            "correct the name or leave the good out"
        )
    return menus.over(goods)
