# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a change of a feature does: 10 % off one good, one more promotion, a standard deviation more income.

Every change is made for one good at a time (a feature of observations for all), and demand before and after is asked of
the same customers under the same posterior draws, so that the interval is that of the difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import nearest
from stochpref.demand import demand_by_draw, tails_of
from stochpref.errors import InvalidArgument, listed, shown
from stochpref.features import PRICE, FeatureDesign
from stochpref.market import Market
from stochpref.observations import Menus, Observations
from stochpref.result import Drawn
from stochpref.rows import changed

Array = NDArray[np.float64]
Change: TypeAlias = str | float

_OFF: Final = "-10 %"  # what a price is changed by unless said otherwise
_MENUS_AT_ONCE: Final = 32
_MOST_SHOWN: Final = 40


class Planned(NamedTuple):
    """A change to be made.

    feature : its name. factor, step : the value becomes factor × value + step; before it, it is `base` unless
        that is None.
    is_of_goods : made for one good at a time.
    text : what it is, in words.
    """

    feature: str
    factor: float
    step: float
    base: float | None
    is_of_goods: bool
    text: str


class Effect(NamedTuple):
    """What one change does to the expected purchases of one good.

    change : in words. changed : the good it is made for, "" for all. good : the good asked about.
    before, after : expected purchases of a customer.
    difference, lower, upper : after less before, and its interval.
    relative, relative_lower, relative_upper : the same over before; NaN where nobody buys before.
    """

    change: str
    changed: str
    good: str
    before: float
    after: float
    difference: float
    lower: float
    upper: float
    relative: float
    relative_lower: float
    relative_upper: float


@dataclass(frozen=True, slots=True, repr=False)
class Effects(Drawn):
    """What changes of features do; print it for a table, or read its fields.

    own : of every change on the good it is made for; of a feature of observations, on every good.
    others : of changes made for one good, on each other one.
    level : of the intervals.
    """

    own: tuple[Effect, ...]
    others: tuple[Effect, ...]
    level: float

    picture: ClassVar[str] = "result_plots:effects"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for every change and good, those on the good itself first."""
        return [one._asdict() for one in (*self.own, *self.others)]

    def __str__(self) -> str:
        lines = [f"What changes of features do to expected purchases of a customer, {100 * self.level:g} % intervals"]
        last = ""
        for one in self.own[:_MOST_SHOWN]:
            if one.change != last:
                lines.append(f"  {shown(one.change)}")
                last = one.change
            times = ""
            if np.isfinite(one.relative):
                between = f"{100 * one.relative_lower:+.3g} to {100 * one.relative_upper:+.3g} %"
                times = f"   {100 * one.relative:+.3g} % ({between})"
            lines.append(f"    {shown(one.good, 22):<22} {one.before:>9.4g} to {one.after:<9.4g}{times}")
        if len(self.own) > _MOST_SHOWN:
            lines.append(f"  and {len(self.own) - _MOST_SHOWN} more (.to_pandas() has all)")
        return "\n".join(lines)


def planned_changes(
    design: FeatureDesign, observations: Observations, changes: Mapping[str, Change] | None
) -> tuple[Planned, ...]:
    """Return the changes to make, those asked for or the usual ones of every feature that laws move with."""
    terms = {term.feature: term for term in design.terms}
    if changes is None:
        return tuple(_usual(name, term.is_of_goods, observations) for name, term in terms.items())
    found = []
    for name, change in changes.items():
        if name not in terms:
            raise InvalidArgument(
                f"changes must be of features that the law moves with, {listed(list(terms))}; received {name!r}"
                f"{nearest(name, list(terms))}"
            )
        found.append(_asked(name, change, terms[name].is_of_goods))
    return tuple(found)


def _usual(name: str, is_of_goods: bool, observations: Observations) -> Planned:
    values = observations.features.get(name)
    if values is None or (name == PRICE and np.all(values > 0)):
        return _asked(name, _OFF, is_of_goods)
    if np.isin(values, (0.0, 1.0)).all():
        return Planned(name, 1.0, 1.0, 0.0, is_of_goods, f"{name}: from 0 to 1")
    offered = values[np.isfinite(observations.prices)] if values.ndim == 2 else values
    step = float(f"{offered.std():.3g}")
    return Planned(name, 1.0, step, None, is_of_goods, f"{name}: {step:+g}, its standard deviation")


def _asked(name: str, change: Change, is_of_goods: bool) -> Planned:
    rule = f"changes[{name!r}] must be a number to add, or a text such as '-10 %'; received {change!r}"
    if isinstance(change, str):
        text = change.strip()
        try:
            share = float(text.removesuffix("%")) / 100.0
        except ValueError:
            share = float("nan")
        if not (text.endswith("%") and np.isfinite(share) and share > -1.0):
            raise InvalidArgument(rule)
        words = f"{100 * abs(share):g} % {'off' if share < 0 else 'more'}"
        return Planned(name, 1.0 + share, 0.0, None, is_of_goods, f"{name}: {words}")
    if isinstance(change, bool) or not isinstance(change, int | float) or not np.isfinite(change):
        raise InvalidArgument(rule)
    return Planned(name, 1.0, float(change), None, is_of_goods, f"{name}: {change:+g}")


def feature_effects(
    market: Market, menus: Menus, planned: tuple[Planned, ...], level: float, goods: Collection[str] | None = None
) -> Effects:
    """Return what changes do to what customers buy, on average over menus.

    Parameters
    ----------
    goods : for which changes are made one at a time; all on offer if None.
    """
    own: list[Effect] = []
    others: list[Effect] = []
    for change in planned:
        on_offer = np.flatnonzero(np.isfinite(menus.prices).any(axis=0))
        each = [int(i) for i in on_offer if goods is None or menus.goods[i] in goods]
        for i in each if change.is_of_goods else [None]:
            before, after = (_demand(market, _made(menus, change, i, is_after)) for is_after in (False, True))
            for j in on_offer:
                name = "" if i is None else menus.goods[i]
                one = _effect(change.text, name, menus.goods[j], before[:, j], after[:, j], level)
                (own if i is None or i == j else others).append(one)
    return Effects(tuple(own), tuple(others), level)


def _demand(market: Market, menus: Menus) -> Array:
    """Return expected purchases (draws, n), on average over menus."""
    starts = range(0, len(menus), _MENUS_AT_ONCE)
    total = sum(demand_by_draw(market, menus[start : start + _MENUS_AT_ONCE])[0].sum(axis=1) for start in starts)
    return np.asarray(total / len(menus))


def _made(menus: Menus, change: Planned, good: int | None, is_after: bool) -> Menus:
    """Return menus before or after a change for one good, or for all."""
    from_prices = change.feature not in menus.features
    values = (menus.prices if from_prices else menus.features[change.feature]).copy()
    place = (slice(None), good) if good is not None else slice(None)
    if change.base is not None:
        values[place] = change.base
    if is_after:
        values[place] = change.factor * values[place] + change.step
    if from_prices:
        if np.any(values <= 0):
            raise InvalidArgument(f"changes[{change.feature!r}] must leave prices above 0; {change.text} does not")
        return changed(menus, prices=values)
    return changed(menus, features={**menus.features, change.feature: values})


def _effect(text: str, made_for: str, good: str, before: Array, after: Array, level: float) -> Effect:
    difference = after - before
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = difference / before
        overall = float(difference.mean() / before.mean())
    tails = tails_of(level)
    is_known = bool(np.isfinite(relative).all())
    ends = np.quantile(relative, tails) if is_known else (np.nan, np.nan)
    low, high = np.quantile(difference, tails)
    return Effect(
        change=text, changed=made_for, good=good, before=float(before.mean()), after=float(after.mean()),
        difference=float(difference.mean()), lower=float(low), upper=float(high),
        relative=overall if is_known else float("nan"), relative_lower=float(ends[0]), relative_upper=float(ends[1]),
    )  # fmt: skip
