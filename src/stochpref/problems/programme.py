# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The best bundle where nothing bought breaks a limit, so that `simplex` has no start: HiGHS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument

Array = NDArray[np.float64]


def solve_outside(utility: Array, use: Array, limits: Array, caps: Array) -> Array:
    """Return the best quantities (n,); use (r, n), limits (r,), caps (n,) with 0 for what is not on offer."""
    from scipy.optimize import linprog  # noqa: PLC0415

    found = linprog(-utility, A_ub=use, b_ub=limits, bounds=np.column_stack([np.zeros(len(caps)), caps]))
    if found.status == 2:
        raise InvalidArgument(
            "limits must leave some bundle at every menu; at one, none keeps within all of them; raise a limit"
        )
    if found.x is None:
        raise InvalidArgument(f"utilities must have a best bundle within the limits; {found.message}")
    return np.asarray(np.clip(found.x, 0.0, caps))
