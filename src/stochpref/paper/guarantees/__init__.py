# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The paper's theorems as numbers: what each bound says, as printed and as it can be proven, and from which T on.

`posterior` holds Theorem 1 and Corollaries 1 and 2 (customers who differ), `corruption` Propositions 1 and 2 and
Theorem 2 (one utility and odd customers). Each function returns a `Guarantee`: the claim as printed and a corrected
one, with its probability. The register in ``papers/birge_li_sun`` says where the two differ and why.
"""

from stochpref.paper.guarantees.claims import Claim as Claim
from stochpref.paper.guarantees.claims import Guarantee as Guarantee
from stochpref.paper.guarantees.claims import first_informative as first_informative
from stochpref.paper.guarantees.corruption import counting_bound as counting_bound
from stochpref.paper.guarantees.corruption import proposition_1 as proposition_1
from stochpref.paper.guarantees.corruption import proposition_2 as proposition_2
from stochpref.paper.guarantees.corruption import theorem_2 as theorem_2
from stochpref.paper.guarantees.posterior import corollary_1 as corollary_1
from stochpref.paper.guarantees.posterior import corollary_2 as corollary_2
from stochpref.paper.guarantees.posterior import log_escape as log_escape
from stochpref.paper.guarantees.posterior import regret_bound as regret_bound
from stochpref.paper.guarantees.posterior import theorem_1 as theorem_1
