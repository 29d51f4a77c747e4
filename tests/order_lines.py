"""An export of orders as shops have them, and the truth behind it.

A shop of three goods with two stores and a year of weeks: prices change by store and week, customers differ around a
mean taste, come again, take a discount now and then, have a line typed in two parts, and bring something back. They buy
goods that can be divided, coffee up to two units; or, in another shop, whole ones, and keep their money.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import stochpref as sp
from stochpref.problems import Divisible, Open, Problem

GOODS = ("coffee", "tea", "cake")
TASTE = (0.75, 0.55, 0.37)
CONCENTRATION = 6.0
# A second coffee is worth less than the first to nearly all customers, as units take for granted.
UNITS = {"coffee": 2}
UNIT_TASTE = (0.8, 0.35, 0.45, 0.25)  # of the first and the second coffee, of tea and of cake
UNIT_CONCENTRATION = 60.0
MONEY = 2.0  # the sum that stands beside a good as one unit
OPEN_TASTE = (0.6, 0.4, 0.2, 0.66)  # the last of money


class Shop(NamedTuple):
    """The lines, as rows of text by column, the observations behind them and the law of those who came."""

    header: tuple[str, ...]
    lines: list[tuple[str, ...]]
    truth: sp.Observations
    law: sp.VonMisesFisher

    def as_csv(self, separator: str = ",") -> str:
        return "\n".join(separator.join(row) for row in (self.header, *self.lines)) + "\n"


def law_of(taste: tuple[float, ...], concentration: float, n_goods: int | None = None) -> sp.VonMisesFisher:
    """Return how utilities are spread over customers."""
    around = np.resize(np.array(taste), n_goods or len(taste))
    return sp.VonMisesFisher(around / np.linalg.norm(around), concentration)


def make_orders(
    n_orders: int = 600,
    seed: int = 0,
    goods: tuple[str, ...] = GOODS,
    *,
    n_days: int = 364,
    budgets: tuple[float, float] = (0.8, 3.0),
    problem: Problem | None = None,
    law: sp.VonMisesFisher | None = None,
) -> Shop:
    """Return a shop; with budgets below every price, 1 to 2, whoever wants something spends all."""
    rng = np.random.default_rng(seed)
    n = len(goods)
    problem, law = problem or Divisible(), law or law_of(TASTE, CONCENTRATION, n)
    store, day = rng.integers(2, size=n_orders), rng.integers(n_days, size=n_orders)
    shelf = rng.uniform(1.0, 2.0, (2, 53, n)).round(2)  # by store and week
    prices = shelf[store, (day + 3) // 7]  # weeks begin on Mondays; day 0 is a Thursday
    menus = sp.Menus(prices, rng.uniform(*budgets, n_orders), goods=goods, problem=problem)
    truth = sp.simulate(law, menus, n_orders, rng=rng)
    lines: list[tuple[str, ...]] = []
    for t in range(n_orders):
        for i in np.flatnonzero(truth.bundles[t] > 0):
            lines += _lines(t, goods[i], float(truth.bundles[t, i]), float(prices[t, i]), store[t], day[t], rng)
    header = ("order_id", "sku", "qty", "unit_price", "discount", "store", "order_date", "customer_id")
    return Shop(header, lines, truth, law)


def shop_with_units(n_orders: int = 600, seed: int = 0) -> Shop:
    """Return a shop where some orders hold two coffees and all money is spent, over twelve weeks.

    Most prices are then known from the same store and week: what nobody bought because it was dear would otherwise seem
    cheap.
    """
    law = law_of(UNIT_TASTE, UNIT_CONCENTRATION)
    return make_orders(n_orders, seed, n_days=84, budgets=(0.5, 3.5), problem=Divisible(UNITS), law=law)


def shop_without_budgets(n_orders: int = 600, seed: int = 0) -> Shop:
    """Return a shop whose customers buy whole goods if they are worth their price, over twelve weeks.

    As many came as are asked for, and a quarter or so bought nothing, of which an export knows nothing.
    """
    return make_orders(n_orders, seed, n_days=84, problem=Open(MONEY), law=law_of(OPEN_TASTE, CONCENTRATION))


def _lines(
    t: int, good: str, quantity: float, price: float, store: int, day: int, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """Return one line, or two that add up to it; sometimes at a list price above, with the difference as a discount."""
    date = str(np.datetime64("2026-01-01") + np.timedelta64(int(day), "D"))
    rest = (("north", "south")[store], date, f"c{t % 150}")

    def line(amount: float) -> tuple[str, ...]:
        if rng.random() < 0.2:
            return (f"A{t}", good, repr(amount), repr(price + 0.5), repr(0.5 * abs(amount)), *rest)
        return (f"A{t}", good, repr(amount), repr(price), "", *rest)

    draw = rng.random()
    if draw < 0.1:
        return [line(0.25 * quantity), line(0.75 * quantity)]
    if draw < 0.15:
        return [line(quantity + 1.0), line(-1.0)]
    return [line(quantity)]
