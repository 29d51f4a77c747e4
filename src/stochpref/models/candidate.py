# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How a model says whether it suits observations, and what trying it costs: all that `fit_best` knows of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Candidate(NamedTuple):
    """One way of trying a model on observations.

    settings : what the model is made with; {} for its defaults.
    n_free : numbers that it learns: of those that score alike the one with the fewest is taken.
    work : of scoring it, in fits of the heterogeneous model to as many observations: from sizes, never from the clock.
    draft : settings besides, with which it is scored, such as fewer draws; the fit that is kept has its defaults.
    about : what tells it from other ways of trying the same model, in a word; "" where there is one way.
    unsuited : why it is not to be tried on these observations; "" where it is.
    """

    settings: Mapping[str, Any]
    n_free: int
    work: float
    draft: Mapping[str, Any] = {}
    about: str = ""
    unsuited: str = ""
