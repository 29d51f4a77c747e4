# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which store observations are kept in: as their source, their number and the engine want it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.readers.folders import StoredObservations
from stochpref.regions import Regions, usable_rows
from stochpref.stores.cluster import on_workers, spread
from stochpref.stores.conditioned import Conditioned
from stochpref.stores.device import Device
from stochpref.stores.disk import on_disk
from stochpref.stores.engines import check_engine, connect
from stochpref.stores.inside import Inside
from stochpref.stores.memory import Memory
from stochpref.stores.packing import Origin, ReportFn, data_hash
from stochpref.stores.protocol import Store

LARGE: Final = 1 << 16  # stored observations that are loaded and treated like any others


@contextmanager
def open_store(
    source: Observations | StoredObservations,
    *,
    engine: Any,
    degenerate: str,
    seed: int = 0,
    report: ReportFn | None = None,
) -> Iterator[tuple[Store, Origin]]:
    """Yield the store of observations, usable as long as the context lasts, and what is known of them beside.

    Parameters
    ----------
    engine : "cpu", "jax", "dask" or a `distributed.Client`.
    degenerate : "refuse" or "drop".
    seed : picks the observations that are kept to look at, where they stay in parts.
    report : told of parts done, parts in all and what is being done, where they do.
    """
    name = check_engine(engine)
    if isinstance(source, StoredObservations) and name == "dask":
        with connect(engine) as client:
            yield on_workers(source, client, degenerate=degenerate, seed=seed, report=report)
        return
    if isinstance(source, StoredObservations) and name == "cpu" and len(source) > LARGE:
        with on_disk(source, degenerate=degenerate, seed=seed, report=report) as found:
            yield found
        return
    # Few of them, and any number for a GPU, are better taken whole.
    observations = source.load() if isinstance(source, StoredObservations) else source
    if not observations.problem.has_masses:
        yield _inside(observations, name, degenerate)
        return
    recorded = observations.problem.recorded(observations)
    rows = usable_rows(recorded.regions, degenerate)
    used = recorded if rows.size == len(observations) else recorded.take(rows)
    n_rows, n_dropped = len(observations), len(observations) - rows.size
    origin = Origin(observations.goods, n_rows, n_dropped, data_hash(observations), observations)
    if not recorded.is_plain:
        if name != "cpu":
            raise InvalidArgument(
                f"engine={name!r} sums masses of regions; problem {observations.problem!r} divides them by what was "
                "conditioned on: leave engine at 'cpu'"
            )
        yield Conditioned(used), origin
        return
    with connect(engine) as place:
        yield store_of(used.regions, place), origin


def _inside(observations: Observations, engine: str, degenerate: str) -> tuple[Inside, Origin]:
    """Return the store of observations whose regions are known by intervals."""
    if engine != "cpu":
        raise InvalidArgument(
            f"engine={engine!r} sums masses of regions, which problem {observations.problem!r} has not; leave engine "
            "at 'cpu'"
        )
    regions = observations.problem.intervals(observations)
    rows = usable_rows(regions, degenerate)
    n_rows = len(observations)
    origin = Origin(observations.goods, n_rows, n_rows - rows.size, data_hash(observations), observations)
    return Inside(regions[rows], nonempty=observations.nonempty), origin


def store_of(regions: Regions, place: Any = "cpu") -> Store:
    """Return a store of regions in memory.

    Parameters
    ----------
    place : "cpu", "jax" or a `distributed.Client`.
    """
    name = check_engine(place)
    if name == "jax" and regions.corners is not None:
        raise InvalidArgument("engine='jax' sums masses of one limit each; leave engine at 'cpu' for problem 'linear'")
    if name == "dask":
        return spread(regions, place)
    return Device(regions) if name == "jax" else Memory(regions)
