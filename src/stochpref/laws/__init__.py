# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The laws data come from: utilities on the unit sphere, menus, and `simulate`, which lets customers choose.

A utility law has ``n_goods`` and ``sample(size, *, rng)``, one unit vector a row: `VonMisesFisher` for
customers who differ around a mean direction, `MixtureLaw` for segments of such customers, `CorruptedUtilityLaw` for
one common utility with some odd customers. It is a file here and a line in `names.LAWS`. `MenuLaw` holds the three
laws of prices and budgets of the paper's experiments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stochpref.laws.menus import MenuLaw as MenuLaw
from stochpref.laws.menus import simulate as simulate
from stochpref.laws.orders import simulate_orders as simulate_orders
from stochpref.laws.protocol import ExactLaw as ExactLaw
from stochpref.laws.protocol import UtilityLaw as UtilityLaw
from stochpref.laws.protocol import uniform_directions as uniform_directions
from stochpref.loading import exported
from stochpref.names import LAWS

if TYPE_CHECKING:
    from stochpref.laws.corrupted import CorruptedUtilityLaw as CorruptedUtilityLaw
    from stochpref.laws.lognormal import LognormalLaw as LognormalLaw
    from stochpref.laws.mixture import MixtureLaw as MixtureLaw
    from stochpref.laws.normal import NormalLaw as NormalLaw
    from stochpref.laws.von_mises_fisher import VonMisesFisher as VonMisesFisher


def __getattr__(name: str) -> Any:
    return exported(LAWS, name, __name__)
