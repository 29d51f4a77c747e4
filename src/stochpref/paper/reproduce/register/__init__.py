# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The register of slips, computed: each finding sets what the paper says beside what a calculation gives.

``papers/birge_li_sun/README.md`` tells the story of each; the numbers it quotes are printed here. `text` covers the
model, the algorithms and the experiments, `posterior` the proofs about customers who differ, `corruption` those about
odd customers, `conjecture` what it closes with.
"""

from __future__ import annotations

from typing import Any

from stochpref.paper.reproduce.register import conjecture, corruption, posterior, text
from stochpref.paper.reproduce.register.finding import Finding as Finding


def run() -> tuple[Finding, ...]:
    """Return every finding; a few seconds, seeds fixed."""
    found = (check() for part in (text, posterior, corruption, conjecture) for check in part.CHECKS)
    return tuple(finding._replace(is_confirmed=bool(finding.is_confirmed)) for finding in found)


def as_text(findings: tuple[Finding, ...]) -> str:
    """Return one paragraph a finding."""
    blocks = [
        f"{finding.key} ({finding.where}): {'confirmed' if finding.is_confirmed else 'NOT CONFIRMED'}\n"
        f"  paper: {finding.paper}\n  found: {finding.found}"
        for finding in findings
    ]
    return "\n".join(blocks)


def as_list(findings: tuple[Finding, ...]) -> list[dict[str, Any]]:
    """Return the findings as JSON holds them."""
    return [finding._asdict() for finding in findings]
