# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The shape all samplers share, so that one loop (`chains`) runs them, checkpoints them and resumes them.

A sampler moves all chains at once: ``init(chains) -> state`` and ``step(state, iteration) -> (state, info)``. The
state is a NamedTuple of arrays whose first axis is the chain; it holds all that the next step needs, and no generator:
random numbers come from counters keyed by (seed, chain, iteration), so a run that stops and resumes draws the same
numbers, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.gaussian import Reference, find_reference
from stochpref.posterior.prior import Prior
from stochpref.stores.protocol import Store

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Target:
    """The posterior to sample.

    store : of the observations.
    prior : of (μ, κ).
    find_fn : target -> the Gaussian near it.
    """

    store: Store
    prior: Prior
    find_fn: Callable[[Target], Reference] = find_reference

    @cached_property
    def reference(self) -> Reference:
        """The Gaussian near the posterior, looked for once: that takes many evaluations of the likelihood."""
        return self.find_fn(self)


class Info(NamedTuple):
    """What a step says of itself.

    statistics : name -> (chains,), kept for every draw beside the posterior, such as "acceptance_rate".
    """

    statistics: dict[str, Array]


class Sampler(Protocol):
    """What `chains` runs.

    name : as users spell it.
    revision : of its ways of drawing; raised whenever a seed gives other draws than before, through the sampler itself
        or through what it calls, since a checkpoint made earlier could not go on to the same draws.
    n_warmup : steps to discard, in which the sampler may adapt itself.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def revision(self) -> int: ...  # noqa: D102

    @property
    def n_warmup(self) -> int: ...  # noqa: D102

    def init(self, n_chains: int) -> Any:
        """Return the state of all chains before the first step."""

    def step(self, state: Any, iteration: int) -> tuple[Any, Info]:
        """Return the state after step `iteration` (counted from 0, warm-up included) and what it says of itself."""

    def parameters(self, state: Any) -> dict[str, Array]:
        """Return the parameters of the law of a state by their names, such as "concentration": (chains, …)."""


def keyed_generator(seed: int, chain: int, iteration: int, part: int = 0) -> np.random.Generator:
    """Return the generator of one step of one chain, or of one part of it; iteration -1 is for the start."""
    counter = np.array([0, part, iteration + 1, chain], np.uint64)
    return np.random.Generator(np.random.Philox(key=seed, counter=counter))
