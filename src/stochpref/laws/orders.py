# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A simulated export of orders, as shops have them: a line for each good bought, and nothing of who bought nothing.

Prices change from week to week. Customers keep the money they do not spend, so that best prices follow from such a
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count, check_rng
from stochpref.laws.menus import simulate
from stochpref.laws.von_mises_fisher import VonMisesFisher
from stochpref.observations import Menus, Observations
from stochpref.problems import Open

_SCALE: Final = 2.0  # money that is one unit beside a good
_LOWEST, _HIGHEST = 1.0, 3.0
_WEEKS: Final = 12
_FIRST_DAY: Final = "2026-01-05"  # a Monday


class Orders(NamedTuple):
    """An export and the truth behind it.

    header : names of the columns. lines : a row for each good of each order, as text.
    visits : what customers saw and bought, those who bought nothing among them.
    law : of their utilities, money last.
    """

    header: tuple[str, ...]
    lines: list[tuple[str, ...]]
    visits: Observations
    law: VonMisesFisher


def simulate_orders(goods: Sequence[str], n_visits: int, *, concentration: float, rng: np.random.Generator) -> Orders:
    """Return the orders of visitors to a shop around a random taste, over twelve weeks.

    Parameters
    ----------
    concentration : how alike customers are.
    """
    count, rng, n = check_count(n_visits, "n_visits", 1), check_rng(rng), len(goods)
    taste = np.append(rng.uniform(0.3, 1.0, n), 0.8)
    law = VonMisesFisher(taste / np.linalg.norm(taste), concentration)
    shelf = rng.uniform(_LOWEST, _HIGHEST, (_WEEKS, n)).round(1)
    day = np.sort(rng.integers(7 * _WEEKS, size=count))
    visits = simulate(law, Menus(shelf[day // 7], goods=goods, problem=Open(_SCALE)), count, rng=rng)
    dates = _dates(day)
    lines: list[tuple[str, ...]] = [
        (f"A{t + 1}", dates[t], goods[i], "1", f"{visits.prices[t, i]:.2f}")
        for t, i in zip(*np.nonzero(visits.bundles > 0), strict=True)
    ]
    return Orders(("order_id", "order_date", "sku", "qty", "unit_price"), lines, visits, law)


def _dates(days: NDArray[np.int64]) -> list[str]:
    return [str(date) for date in np.datetime64(_FIRST_DAY) + days.astype("timedelta64[D]")]
