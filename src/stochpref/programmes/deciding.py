# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What people decide under a law of utilities that was learned: simulated, counted, each share with its error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_floats
from stochpref.errors import InvalidArgument, counted, shown
from stochpref.posterior.counting import Estimate, bundle_keys
from stochpref.programmes.protocol import Programme
from stochpref.result import Result

Array = NDArray[np.float64]

_SOLVES: Final = 400_000  # made in all, where their number is not stated
_FEWEST, _MOST = 1_000, 20_000  # of each row
_CELLS: Final = 4_000_000  # numbers held at a time
_DIGITS: Final = 6  # to which decisions are told apart
_UNSEEN: Final = 0.5  # how often a decision that never came up is taken to have done so
_SHOWN: Final = 3  # decisions of a row


class Shares(NamedTuple):
    """What came up at one row: decisions (k, n), the most frequent first, and how often each did (k,)."""

    decisions: Array
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Decided(Result):
    """Simulated decisions; print it for the most frequent ones.

    Attributes
    ----------
    names : of the variables.
    rows : of each row what came up, and how often.
    n_customers : simulated at each row.
    mean : (T, n) the mean decision.
    """

    names: tuple[str, ...]
    rows: tuple[Shares, ...]
    n_customers: int
    mean: Array

    def probability(self, x: ArrayLike) -> Array:
        """Return (T,) how likely each row's decision is: x (T, n), or (n,) for all; 0 for what never came up."""
        return self._counts(x) / self.n_customers

    def error(self, x: ArrayLike) -> Array:
        """Return (T,) the Monte Carlo standard errors of those probabilities."""
        share = np.maximum(self._counts(x), _UNSEEN) / self.n_customers
        return np.sqrt(share * np.maximum(1.0 - share, 0.0) / self.n_customers)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each decision that came up: of which problem, what, how often, and the error of that."""
        return [
            {
                "row": t, "decision": told(self.names, x), "probability": float(count) / self.n_customers,
                "error": float(np.sqrt(count * (1.0 - count / self.n_customers)) / self.n_customers),
            }
            for t, shares in enumerate(self.rows)
            for x, count in zip(shares.decisions, shares.counts, strict=True)
        ]  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Return the table and the mean, as JSON can hold them."""
        return {"names": list(self.names), "n_customers": self.n_customers, "mean": self.mean.tolist(),
                "decisions": self.records()}  # fmt: skip

    def __str__(self) -> str:
        lines = [f"Decisions of {counted(self.n_customers, 'simulated customer')} at {counted(len(self.rows), 'row')}"]
        for t, shares in enumerate(self.rows[:10]):
            for x, count in list(zip(shares.decisions, shares.counts, strict=True))[:_SHOWN]:
                share = count / self.n_customers
                error = np.sqrt(share * (1 - share) / self.n_customers)
                lines.append(f"  row {t}: {share:6.1%} ± {error:.1%}  {told(self.names, x)}")
            if len(shares.counts) > _SHOWN:
                rest = 1.0 - shares.counts[:_SHOWN].sum() / self.n_customers
                lines.append(f"  row {t}: {rest:6.1%} shared by {len(shares.counts) - _SHOWN:,} others")
        if len(self.rows) > 10:
            lines.append(f"  and {len(self.rows) - 10:,} more rows: .to_pandas() has all")
        return "\n".join(lines)

    def _counts(self, x: ArrayLike) -> NDArray[np.int64]:
        asked = as_floats(x, "x")
        if asked.shape[-1:] != (len(self.names),) or asked.shape[:-1] not in ((), (len(self.rows),)):
            raise InvalidArgument(
                f"x must be a decision, ({len(self.names)},), or one for each row, "
                f"({len(self.rows)}, {len(self.names)}); received {asked.shape}"
            )
        each = np.broadcast_to(rounded(asked), (len(self.rows), len(self.names)))
        found = []
        for shares, one in zip(self.rows, each, strict=True):
            same = np.flatnonzero(np.all(shares.decisions == one, axis=1))
            found.append(int(shares.counts[same[0]]) if same.size else 0)
        return np.array(found, np.int64)


def told(names: tuple[str, ...], x: Array) -> str:
    """Return a decision in words: what is not zero, and how much of it."""
    parts = [
        shown(name, 20) if value == 1.0 else f"{value:.4g} {shown(name, 20)}"
        for name, value in zip(names, x, strict=True)
        if value != 0.0
    ]
    return " + ".join(parts) or "nothing"


def rounded(decisions: Array) -> Array:
    """Return decisions as they are told apart."""
    return np.round(decisions, _DIGITS) + 0.0  # no negative zeros


def n_customers_for(n_rows: int) -> int:
    """Return how many customers to simulate at each of some rows."""
    return int(np.clip(_SOLVES // max(n_rows, 1), _FEWEST, _MOST))


def simulated(
    problem: Programme, n_rows: int, means: Array, size: int, rng: np.random.Generator
) -> Iterator[tuple[int, Array]]:
    """Yield for each row, one at a time, what customers of N(mean, I) decide: (size, n), means (draws, n) in turn."""
    part = max(_CELLS // (size * problem.n_variables), 1)
    own = np.resize(np.arange(len(means)), size)
    for first in range(0, n_rows, part):
        rows = np.arange(first, min(first + part, n_rows))
        utilities = means[np.tile(own, len(rows))] + rng.standard_normal((len(rows) * size, problem.n_variables))
        found = problem.solve(utilities, np.repeat(rows, size))
        yield from zip(rows.tolist(), rounded(found).reshape(len(rows), size, -1), strict=True)


def decide(problem: Programme, n_rows: int, means: Array, n_customers: int | None, rng: np.random.Generator) -> Decided:
    """Return what customers decide whose means are drawn from the posterior (draws, n)."""
    size = n_customers_for(n_rows) if n_customers is None else n_customers
    rows, mean = [], np.empty((n_rows, problem.n_variables))
    for t, found in simulated(problem, n_rows, means, size, rng):
        _, first, counts = np.unique(bundle_keys(found), return_index=True, return_counts=True)
        order = np.lexsort((first, -counts))
        rows.append(Shares(found[first[order]], counts[order]))
        mean[t] = found.mean(axis=0)
    return Decided(problem.names, tuple(rows), size, mean)


def log_decided(problem: Programme, chosen: Array, means: Array, rng: np.random.Generator) -> Estimate:
    """Return (T,) the log of how often decisions came up among simulated ones, half a time if never, with its error.

    Where all rows share one set it is simulated once.
    """
    is_shared = problem.n_observations is None and problem.is_same_for_all
    n_rows = 1 if is_shared else len(chosen)
    found = decide(problem, n_rows, means, _SOLVES if is_shared else None, rng)
    if is_shared:
        found = Decided(found.names, found.rows * len(chosen), found.n_customers, found.mean)
    share = np.maximum(found.probability(chosen), _UNSEEN / found.n_customers)
    return Estimate(np.log(share), found.error(chosen) / share)
