# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a check of the paper's text found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One place of the paper, checked by computation.

    key : its name in the register.
    where : place in the paper.
    paper : what it says, as a number where possible.
    found : what the computation gives.
    is_confirmed : the computation bears out what the register says.
    """

    key: str
    where: str
    paper: str
    found: str
    is_confirmed: bool
