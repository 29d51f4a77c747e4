# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What version 0.1.0 saved, in today's terms."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any


def former_settings(settings: Mapping[str, Any], learned: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are saved today; version 0.1.0 kept what Python shows of all that JSON does not hold.

    Parameters
    ----------
    learned : what the model learned, where bounds of the concentration are numbers.
    """
    today = dict(settings)
    if isinstance(today.get("concentration_bounds"), str):
        today["concentration_bounds"] = list(learned["bounds"])
    if isinstance(today.get("random_state"), str):  # a Generator
        today["random_state"] = None
    if isinstance(today.get("verbose"), str):  # a number of numpy
        today["verbose"] = "True" in today["verbose"]
    path = re.fullmatch(r"\w+Path\((.*)\)", str(today.get("checkpoint")), re.DOTALL)
    if path is not None:
        today["checkpoint"] = {"path": str(ast.literal_eval(path[1]))}
    return today
