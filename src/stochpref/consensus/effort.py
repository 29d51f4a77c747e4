# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How hard the certified solvers look for a better utility and a tighter proof."""

from __future__ import annotations

from dataclasses import dataclass, fields

from stochpref.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look once the first proof fails.

    n_restarts : further greedy covers, each from a random observation.
    n_chains, n_sweeps : of the heat bath; of whole goods, of descents and their steps.
    seconds : for the mixed-integer programme; the only limit by the clock, so the only one that may change a result.
    core_size : more observations than this are solved through a sample of so many first.
    largest_direct : up to so many observations all pairs are compared if the sample led to no proof.
    """

    n_restarts: int = 8
    n_chains: int = 8
    n_sweeps: int = 120
    seconds: float = 20.0
    core_size: int = 2_000
    largest_direct: int = 20_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 1 if field.name == "core_size" else 0
            if not value >= least:
                raise InvalidArgument(f"{field.name} of Effort must be at least {least}; received {value!r}")
