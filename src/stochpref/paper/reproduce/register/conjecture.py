# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The conjecture that the paper closes with."""

from __future__ import annotations

from typing import Final

from stochpref.paper.reproduce.register.finding import Finding
from stochpref.paper.reproduce.second_limit import gain_of_a_limit

_N_MENUS: Final = 400


def second_constraint() -> Finding:
    """Add a second limit to the budget: once it costs information, once it adds some."""
    less, more = gain_of_a_limit(3, 30.0, 0.8, 0.5, _N_MENUS, 0), gain_of_a_limit(5, 10.0, 0.8, 0.5, _N_MENUS, 0)
    told = [f"{one.without:.3f} becomes {one.with_limit:.3f} (± {one.error:.3f})" for one in (less, more)]
    return Finding(
        "second-constraint", "concluding remarks",
        "several constraints may feature more structure and thus facilitate the learning of the utility distribution",
        "Fisher information of a purchase across the mean direction, of 1 for the utility itself, when a second limit "
        f"joins the budget: n = 3, κ = 30, {told[0]}; n = 5, κ = 10, {told[1]}: it may do either",
        less.with_limit - less.without < -3 * less.error and more.with_limit - more.without > 2 * more.error,
    )  # fmt: skip


CHECKS: Final = (second_constraint,)
