# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Gibbs sampling of observations in parts: utilities stay where their part is, only sums and laws travel.

The latent utilities of a part follow from the seed and from the laws of all sweeps so far, so a state is no more than
those laws. A process that has the utilities of the last sweep makes the next; one that has not, because the part moved
to it or a worker died, makes up leeway first. Draws therefore depend on neither the number of workers nor their fate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from stochpref.posterior.samplers.gibbs import Laws, Span, next_laws, start_law, sweep
from stochpref.posterior.target import Info, Target, keyed_generator
from stochpref.regions import Regions

Array = NDArray[np.float64]

_kept: dict[tuple[str, int], _Latents] = {}  # in every process: by run and first row
_ended: set[str] = set()  # runs of which a task that is still at work must leave nothing


class _Latents(NamedTuple):
    """Utilities (chains, rows, n) after `n_sweeps` sweeps."""

    n_sweeps: int
    values: Array


class Place(NamedTuple):
    """A part in a run.

    run : its name, unique.
    first, total : first row of the part, rows of all parts.
    seed, n_chains : of the run.
    """

    run: str
    first: int
    total: int
    seed: int
    n_chains: int


def sweep_part(regions: Regions, place: Place, first_sweep: int, laws: Array) -> Array | int:
    """Make sweeps first_sweep, first_sweep + 1, ... of a part; return sums of groups of rows after the last.

    Parameters
    ----------
    laws : (chains, sweeps, n) h of each sweep.

    Returns
    -------
    (chains, groups, n); or, if the sweeps before `first_sweep` are not known here, how many are.
    """
    key = (place.run, place.first)
    known = _kept.pop(key, None)  # a sweep that breaks off leaves nothing behind
    if known is None or known.n_sweeps > first_sweep + laws.shape[1] - 1:
        if first_sweep > 0:
            return 0
        known = _Latents(0, _start(regions, place))
    if known.n_sweeps < first_sweep:
        _kept[key] = known
        return known.n_sweeps
    span = Span(place.first, place.total)
    sums = np.empty(0)
    n_sweeps = first_sweep + laws.shape[1]
    for k in range(known.n_sweeps, n_sweeps):
        sums = sweep(regions, known.values, laws[:, [k - first_sweep]], span, place.seed, k)
    _kept[key] = _Latents(n_sweeps, known.values)
    _drop(place.run, n_sweeps - 1)
    return sums


def _start(regions: Regions, place: Place) -> Array:
    """Return a utility inside every region for each chain, by random numbers of the part's own.

    In memory one generator draws the starts of all rows in a row, which no part could do on its own: chains there start
    elsewhere, and their draws differ from these, though after warm-up often in the last digits only.
    """
    rngs = [np.random.default_rng([place.seed, chain, place.first]) for chain in range(place.n_chains)]
    return np.stack([regions.interior_points(rng=rng) for rng in rngs])


def _drop(run: str, n_sweeps: int) -> None:
    """Drop utilities of parts that have moved, which have made fewer sweeps, and all of a run that has ended."""
    for key, latents in list(_kept.items()):
        if key[0] == run and (latents.n_sweeps < n_sweeps or run in _ended):
            _kept.pop(key, None)


def forget(run: str) -> None:
    """Drop what a run keeps in this process, for good."""
    _ended.add(run)
    _drop(run, 0)


class RemoteState(NamedTuple):
    """Where all chains are: the last laws, and h (chains, sweeps, n) of all sweeps, from which utilities follow."""

    mean_direction: Array
    concentration: Array
    history: Array


@dataclass(frozen=True)
class RemoteGibbs:
    """The sampler; see the module.

    target : store and prior.
    seed : of all its random numbers.
    run : a name of its own.
    """

    target: Target
    seed: int
    n_warmup: int = 300
    name: str = "gibbs"
    revision: ClassVar[int] = 1
    run: str = field(default_factory=lambda: uuid4().hex)

    def init(self, n_chains: int) -> RemoteState:
        """Start each chain from its own law, far apart."""
        n = self.target.store.n_goods
        starts = [start_law(self.target.prior, n, keyed_generator(self.seed, chain, -1)) for chain in range(n_chains)]
        directions, concentrations = zip(*starts, strict=True)
        return RemoteState(np.array(directions), np.array(concentrations), np.empty((n_chains, 0, n)))

    def step(self, state: RemoteState, iteration: int) -> tuple[RemoteState, Info]:
        """Sweep all utilities where they are, then draw the law."""
        laws = Laws(state.mean_direction, state.concentration)
        h = laws.concentration[:, None] * laws.mean_direction
        history = np.concatenate([state.history, h[:, None]], axis=1)
        sums = np.concatenate(self._sweep(history), axis=1).sum(axis=1)
        n_rows = len(self.target.store)
        drawn = next_laws(self.target.prior, laws, sums, n_rows, self.seed, iteration)
        lengths = np.sqrt(np.sum(sums**2, axis=1)) / n_rows
        return RemoteState(*drawn, history), Info({"resultant_length": lengths})

    def parameters(self, state: RemoteState) -> dict[str, Array]:
        """Return mean directions and concentrations."""
        return {"mean_direction": state.mean_direction, "concentration": state.concentration}

    def forget(self) -> None:
        """Drop the utilities that are kept where the parts are."""
        self.target.store.everywhere(forget, self.run)

    def _sweep(self, history: Array) -> list[Array]:
        """Return the sums of groups (chains, groups, n) of every part after the last sweep of a history."""
        (n_chains, n_sweeps, _), store = history.shape, self.target.store
        firsts = np.concatenate([[0], np.cumsum(store.sizes)[:-1]]).astype(int)
        places = [Place(self.run, int(first), len(store), self.seed, n_chains) for first in firsts]
        last = n_sweeps - 1
        found: list[Any] = list(store.map(sweep_part, last, history[:, last:], each=places))
        for k, place in enumerate(places):
            while not isinstance(found[k], np.ndarray):  # it knows fewer sweeps: send the rest
                found[k] = next(store.map(sweep_part, place, found[k], history[:, found[k] :], of=[k]))
        return found
