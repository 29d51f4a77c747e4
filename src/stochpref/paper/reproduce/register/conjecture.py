# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The conjecture that the paper closes with."""

from __future__ import annotations

from typing import Final

from stochpref.paper.reproduce.register.finding import Finding
from stochpref.paper.reproduce.second_limit import gain_of_a_limit

_N_MENUS: Final = 100


def second_constraint() -> Finding:
    """Add a second limit where much money is left, and where hardly any is."""
    rich = gain_of_a_limit(4, 5.0, 0.9, 0.5, _N_MENUS, 0)
    poor = gain_of_a_limit(4, 5.0, 0.3, 0.3, _N_MENUS, 0)
    return Finding(
        "second-constraint", "concluding remarks",
        "several constraints may feature more structure and thus facilitate the learning of the utility distribution",
        f"information of a purchase across the mean, of 1 for the utility itself, n = 4, κ = 5: a limit of room that "
        f"binds in {rich.binds:.0%} raises {rich.without:.2f} to {rich.with_limit:.2f} ± {rich.error:.2f} where much money "
        f"is left; where the budget is as scarce, {poor.without:.2f} becomes {poor.with_limit:.2f} ± {poor.error:.2f}",
        rich.with_limit - rich.without > 2 * rich.error,
    )  # fmt: skip


CHECKS: Final = (second_constraint,)
