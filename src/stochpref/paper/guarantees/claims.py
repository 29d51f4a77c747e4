# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a bound claims, with which probability, and from how many observations on it says something."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stochpref.errors import InvalidArgument

_LARGEST_LOG = float(np.log(1e60))  # a bound that is idle at 1e60 observations is idle


class Claim(NamedTuple):
    """An upper bound on a quantity.

    bound : the quantity is at most this, up to rounding; it may exceed the ceiling and then says nothing.
    ceiling : what the quantity cannot exceed in any case.
    probability : the probability with which the bound is claimed to hold.
    """

    bound: float
    ceiling: float
    probability: float

    @property
    def is_informative(self) -> bool:
        """Tell whether the bound excludes anything."""
        return self.bound < self.ceiling and self.probability > 0.0


class Guarantee(NamedTuple):
    """A statement of the paper as numbers.

    statement : its name in the paper.
    quantity : what is bounded.
    stated : the claim as printed.
    corrected : a claim whose proof holds; the register tells the difference.
    """

    statement: str
    quantity: str
    stated: Claim
    corrected: Claim


def first_informative(claim_fn: Callable[[float], Claim]) -> float:
    """Return the number of observations from which on a bound always says something, to 1e-6; inf if never.

    Parameters
    ----------
    claim_fn : the claim at T observations, for any real T from 3 to 1e60.
    """
    grid = np.linspace(np.log(3.0), _LARGEST_LOG, 600)
    says = [claim_fn(float(np.exp(x))).is_informative for x in grid]
    if not says[-1]:
        return float("inf")
    idle = [k for k, is_told in enumerate(says) if not is_told]
    if not idle:
        return 3.0
    low, high = grid[idle[-1]], grid[idle[-1] + 1]
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if claim_fn(float(np.exp(middle))).is_informative else (middle, high)
    return float(np.exp(high))


def check_sizes(n_goods: int, n_observations: float) -> None:
    """Refuse fewer than two goods or fewer than two observations."""
    if not n_goods >= 2:
        raise InvalidArgument(f"n_goods must be at least 2; received {n_goods}")
    if not (np.isfinite(n_observations) and n_observations >= 2):
        raise InvalidArgument(
            f"n_observations must be finite and at least 2; received {n_observations}; log T must be positive"
        )


def check_between(value: float, argument: str, low: float, high: float, *, closed: bool = True) -> None:
    """Refuse a number outside an interval; `closed` says whether its ends belong to it."""
    is_inside = low <= value <= high if closed else low < value < high
    if not is_inside:
        ends = "[]" if closed else "()"
        raise InvalidArgument(f"{argument} must lie in {ends[0]}{low:g}, {high:g}{ends[1]}; received {value}")
