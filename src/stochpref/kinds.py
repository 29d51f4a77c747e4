# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Kinds of observation and sides of a good: what a bundle says about the shadow price of money, as small integers.

Linear programming duality: bundle x is optimal for utility u, prices a and budget b iff some λ ≥ 0 has
``u_i ≥ a_i λ`` where x_i is at its cap (above), ``u_i ≤ a_i λ`` where x_i = 0 (below), ``u_i = a_i λ`` in between
(at), and λ = 0 if money is left. Goods not on offer are absent.
"""

from __future__ import annotations

from typing import Final

QUANTITY_TOLERANCE: Final = 1e-9  # of the cap (of one unit where there is no cap)
MONEY_TOLERANCE: Final = 1e-7  # of the budget

# Kinds of observation. SLACK: money is left, λ = 0. PIVOT: all spent, one fractional good f, λ = u_f / a_f.
# TIGHT: all spent, no fractional good. DEGENERATE: forces exact ties, probability zero under a continuous law.
SLACK: Final = 0
PIVOT: Final = 1
TIGHT: Final = 2
DEGENERATE: Final = 3
# CORNER: more than one limit binds, each with a shadow price of its own (`corners`).
CORNER: Final = 4
KIND_NAMES: Final = ("slack", "pivot", "tight", "degenerate", "corner")

# Sides of a good: the sign of u_i - a_i λ, and a fourth value for goods that constrain nothing.
ABOVE: Final = 1
BELOW: Final = -1
AT: Final = 0
ABSENT: Final = 2
