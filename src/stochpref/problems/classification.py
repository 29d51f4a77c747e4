# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From prices, budget and bundle to a kind per observation and a side per good (`kinds` says what they mean).

This is the one place where quantities and money are compared with a tolerance; everything after it reads kinds and
sides only.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import (
    ABOVE,
    ABSENT,
    AT,
    BELOW,
    DEGENERATE,
    MONEY_TOLERANCE,
    PIVOT,
    QUANTITY_TOLERANCE,
    SLACK,
    TIGHT,
)
from stochpref.threads import compiled, for_blocks

_BLOCK: Final = 4096


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
