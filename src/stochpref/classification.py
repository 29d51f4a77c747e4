# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a bundle says about the shadow price of money: a kind per observation, a side per good.

Linear programming duality: bundle x is optimal for utility u, prices a and budget b iff some λ ≥ 0 has
``u_i ≥ a_i λ`` where x_i is at its cap (above), ``u_i ≤ a_i λ`` where x_i = 0 (below), ``u_i = a_i λ`` in between
(at), and λ = 0 if money is left. Goods not on offer are absent. This is the one place where quantities and money
are compared with a tolerance; everything after it reads kinds and sides only.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.engines import compiled, for_blocks

QUANTITY_TOLERANCE: Final = 1e-9  # of the cap (of one unit where there is no cap)
MONEY_TOLERANCE: Final = 1e-7  # of the budget

# Kinds of observation. SLACK: money is left, λ = 0. PIVOT: all spent, one fractional good f, λ = u_f / a_f.
# TIGHT: all spent, no fractional good. DEGENERATE: forces exact ties, probability zero under a continuous law.
SLACK: Final = 0
PIVOT: Final = 1
TIGHT: Final = 2
DEGENERATE: Final = 3
KIND_NAMES: Final = ("slack", "pivot", "tight", "degenerate")

# Sides of a good: the sign of u_i - a_i λ, and a fourth value for goods that constrain nothing.
ABOVE: Final = 1
BELOW: Final = -1
AT: Final = 0
ABSENT: Final = 2

_BLOCK = 4096


@compiled
def _classify(
    prices: NDArray[np.float64],
    budgets: NDArray[np.float64],
    bundles: NDArray[np.float64],
    caps: NDArray[np.float64],
    kind: NDArray[np.int8],
    side: NDArray[np.int8],
    pivot: NDArray[np.int32],
    start: int,
    stop: int,
) -> None:
    for t in range(start, stop):
        spent = 0.0
        n_fractional = 0
        pivot[t] = -1
        for i in range(prices.shape[1]):
            x, cap = bundles[t, i], caps[t, i]
            unit = cap if cap < np.inf else 1.0
            if prices[t, i] == np.inf:
                side[t, i] = ABSENT
                continue
            spent += prices[t, i] * x
            if x <= QUANTITY_TOLERANCE * unit:
                side[t, i] = BELOW
            elif x >= cap * (1.0 - QUANTITY_TOLERANCE):
                side[t, i] = ABOVE
            else:
                side[t, i] = AT
                n_fractional += 1
                pivot[t] = i
        if spent < budgets[t] * (1.0 - MONEY_TOLERANCE):
            kind[t] = SLACK if n_fractional == 0 else DEGENERATE
        elif n_fractional > 1:
            kind[t] = DEGENERATE
        else:
            kind[t] = PIVOT if n_fractional == 1 else TIGHT


def classify(
    prices: NDArray[np.float64],
    budgets: NDArray[np.float64],
    bundles: NDArray[np.float64],
    caps: NDArray[np.float64],
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int32]]:
    """Return kind (T,), side (T, n) and the index of the fractional good (T,), -1 where there is none."""
    n_observations, n_goods = prices.shape
    kind = np.empty(n_observations, np.int8)
    side = np.empty((n_observations, n_goods), np.int8)
    pivot = np.empty(n_observations, np.int32)

    def rows(start: int, stop: int) -> None:
        _classify(prices, budgets, bundles, caps, kind, side, pivot, start, stop)

    for_blocks(rows, n_observations, _BLOCK)
    return kind, side, pivot
