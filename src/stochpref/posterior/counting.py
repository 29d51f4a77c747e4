# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How likely bundles of whole goods are under a posterior: by counting how often they are chosen, each with its error.

Under every posterior draw customers are simulated at every menu. Where empty bundles are not recorded, a draw's counts
are divided by its exact probability of a bundle that is not. Bundles that come up too rarely, as at menus of their
own with many goods, are left to `orthants` where that can tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.laws import VonMisesFisher
from stochpref.mass.conditional import log_chance
from stochpref.observations import Observations

Array = NDArray[np.float64]

_CHOICES: Final = 4_000_000  # made in all
_FEWEST, _MOST = 16, 16_384  # customers simulated at a menu under one draw
_FEWEST_COUNTED: Final = 400  # below which an error of 5 % is worth improving on
NO_LOO: Final = (
    "leave-one-out needs exact probabilities of bundles, which {!r} has not; hold observations out and take "
    "log_likelihood of them"
)
_UNSEEN: Final = 0.5  # how often a bundle that never came up is taken to have done so


class Estimate(NamedTuple):
    """Log-probabilities (T,) and their Monte Carlo standard errors (T,), independent of one another or nearly."""

    log_probability: Array
    error: Array

    @property
    def mean_error(self) -> float:
        """The standard error of the mean."""
        return float(np.sqrt(np.sum(self.error**2)) / len(self.error))


class Posterior(NamedTuple):
    """Draws of the law: mean directions (draws, n) and concentrations (draws,).

    share : (draws,) of sum 1, what each counts; None for all alike.
    """

    mean_direction: Array
    concentration: Array
    share: Array | None = None

    @property
    def h(self) -> Array:
        """Natural parameters (draws, n)."""
        return self.concentration[:, None] * self.mean_direction

    @property
    def shares(self) -> Array:
        """What each draw counts, (draws,) of sum 1."""
        size = len(self.concentration)
        return np.full(size, 1.0 / size) if self.share is None else self.share


def distinct_menus(observations: Observations) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row (m,) of each menu that differs from the others, and which of them each row has (T,)."""
    keys = np.column_stack([observations.prices, observations.budgets, observations.caps])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.intp), place.ravel().astype(np.intp)


def weights_of(observations: Observations, posterior: Posterior) -> Array:
    """Return (draws, T) one over the probability that a bundle is recorded; 1 where all are."""
    event = observations.problem.event(observations, nonempty=observations.nonempty)
    if event is None:
        return np.ones((len(posterior.concentration), len(observations)))
    return np.exp([-log_chance(event, h).log_mass for h in posterior.h])


def count(observations: Observations, posterior: Posterior, *, rng: np.random.Generator) -> tuple[Estimate, Array]:
    """Return the log of the mean probability of each bundle over the draws, and how often it came up, (T,)."""
    first, place = distinct_menus(observations)
    menus, n_draws = observations.menus[first], len(posterior.concentration)
    size = int(np.clip(_CHOICES // (n_draws * len(first)), _FEWEST, _MOST))
    # One bundle at a menu is counted once, however many bought it.
    keys = np.column_stack([place, np.round(observations.bundles, 9)])
    distinct, bundle_of = np.unique(keys, axis=0, return_inverse=True)
    bundle_of, own = bundle_of.ravel(), [np.flatnonzero(distinct[:, 0] == k) for k in range(len(first))]
    weights = weights_of(observations[first], posterior) * posterior.shares[:, None]
    total, square, counts = (np.zeros(len(distinct)) for _ in range(3))
    for s in range(n_draws):
        law = VonMisesFisher(posterior.mean_direction[s], float(posterior.concentration[s]))
        utilities = law.sample(size * len(first), rng=rng).reshape(size, len(first), -1)
        chosen = np.round(observations.problem.choose(utilities, menus), 9)
        for k, rows in enumerate(own):
            found = _count_rows(chosen[:, k], distinct[rows, 1:])
            total[rows] += weights[s, k] * found
            square[rows] += weights[s, k] ** 2 * found * (1.0 - found / size)
            counts[rows] += found
    seen = np.where(counts > 0, total, _UNSEEN * weights.mean())  # as often under one law of all
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(counts > 0, np.sqrt(square) / total, 1.0)
    # No lower than what even a bundle that always comes up would leave open.
    log_probability = np.minimum(np.log(seen / size), 0.0)
    return Estimate(log_probability[bundle_of], error[bundle_of]), counts[bundle_of]


def _count_rows(chosen: Array, bundles: Array) -> NDArray[np.int64]:
    """Return how many rows of the chosen are each of some bundles."""
    keys, wanted = bundle_keys(chosen), bundle_keys(bundles)
    known, counts = np.unique(keys, return_counts=True)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, counts[places], 0)


def bundle_keys(rows: Array) -> NDArray[np.uint64]:
    """Return a number for each bundle (k, n), the same for the same, and by chance for two in 2^64."""
    odd = np.random.default_rng(0).integers(2**63, size=(rows.shape[1],), dtype=np.uint64) | np.uint64(1)
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # + 0.0: no negative zeros
    mixed = (bits ^ (bits >> np.uint64(29))) * odd
    hashes: NDArray[np.uint64] = np.sum(mixed ^ (mixed >> np.uint64(31)), axis=1, dtype=np.uint64)
    return hashes


def is_rare(counts: Array) -> NDArray[np.bool_]:
    """Tell which bundles came up so rarely that another way is worth its time."""
    rare: NDArray[np.bool_] = counts < _FEWEST_COUNTED
    return rare
