"""An export of orders as shops have them, and the truth behind it.

A shop of three goods with two stores and a year of weeks: prices change by store and week, customers differ around a
mean taste, buy goods that can be divided, come again, take a discount now and then, have a line typed in two parts, and
bring something back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import stochpref as sp

GOODS = ("coffee", "tea", "cake")
TASTE = np.array([0.75, 0.55, 0.37])
CONCENTRATION = 6.0


class Shop(NamedTuple):
    """The lines, as rows of text by column, and the observations behind them."""

    header: tuple[str, ...]
    lines: list[tuple[str, ...]]
    truth: sp.Observations

    def as_csv(self, separator: str = ",") -> str:
        return "\n".join(separator.join(row) for row in (self.header, *self.lines)) + "\n"


def the_law(n_goods: int = len(GOODS)) -> sp.VonMisesFisher:
    """Return how utilities are spread over customers."""
    taste = np.resize(TASTE, n_goods)
    return sp.VonMisesFisher(taste / np.linalg.norm(taste), CONCENTRATION)


def make_orders(
    n_orders: int = 600,
    seed: int = 0,
    goods: tuple[str, ...] = GOODS,
    *,
    n_days: int = 364,
    budgets: tuple[float, float] = (0.8, 3.0),
) -> Shop:
    """Return a shop; with budgets below every price, 1 to 2, whoever wants something spends all."""
    rng = np.random.default_rng(seed)
    n = len(goods)
    store, day = rng.integers(2, size=n_orders), rng.integers(n_days, size=n_orders)
    shelf = rng.uniform(1.0, 2.0, (2, 53, n)).round(2)  # by store and week
    prices = shelf[store, (day + 3) // 7]  # weeks begin on Mondays; day 0 is a Thursday
    menus = sp.Menus(prices, rng.uniform(*budgets, n_orders), goods=goods)
    truth = sp.simulate(the_law(n), menus, n_orders, rng=rng)
    lines: list[tuple[str, ...]] = []
    for t in range(n_orders):
        for i in np.flatnonzero(truth.bundles[t] > 0):
            lines += _lines(t, goods[i], float(truth.bundles[t, i]), float(prices[t, i]), store[t], day[t], rng)
    header = ("order_id", "sku", "qty", "unit_price", "discount", "store", "order_date", "customer_id")
    return Shop(header, lines, truth)


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
