# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Choosing prices and budgets so that few purchases teach a lot.

`optimal` finds the menus that teach most (from `candidates`, by `criteria`, within `limits`; `stakes` says what best
prices depend on), `sequential` refits
between batches, `check` says beforehand what menus can teach; all three rest on `information`, exact for every menu.
`bisection` is the case of one customer. The paper's own method for a known concentration is `paper.signs`, its proposal
for many goods `paper.dismantling`.
"""

from stochpref.design.bisection import BisectedUtility as BisectedUtility
from stochpref.design.bisection import bisect_utility as bisect_utility
from stochpref.design.check import MenuCheck as MenuCheck
from stochpref.design.check import check_menus as check_menus
from stochpref.design.limits import MenuLimits as MenuLimits
from stochpref.design.menu_design import DesignEffort as DesignEffort
from stochpref.design.menu_design import MenuDesign as MenuDesign
from stochpref.design.optimal import optimal_menus as optimal_menus
from stochpref.design.sequential import learn_sequentially as learn_sequentially
