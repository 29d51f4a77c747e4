# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's bounds as printed and as corrected, under their public name; `paper.guarantees` derives them."""

from stochpref.paper.guarantees import (
    Claim,
    Guarantee,
    corollary_1,
    corollary_2,
    counting_bound,
    first_informative,
    log_escape,
    proposition_1,
    proposition_2,
    regret_bound,
    theorem_1,
    theorem_2,
)

__all__ = [
    "Claim",
    "Guarantee",
    "corollary_1",
    "corollary_2",
    "counting_bound",
    "first_informative",
    "log_escape",
    "proposition_1",
    "proposition_2",
    "regret_bound",
    "theorem_1",
    "theorem_2",
]
