# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which machine sums over observations: the CPU's threads, a GPU (JAX) or a cluster (Dask)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stochpref.errors import InvalidArgument
from stochpref.names import ENGINES
from stochpref.threads import n_threads


def check_engine(engine: Any) -> str:
    """Return the name of an engine that can run here; a `distributed.Client` is "dask"."""
    if is_cluster(engine):
        return "dask"
    if engine not in ENGINES:
        raise InvalidArgument(
            f"engine must be one of {', '.join(ENGINES)} or a distributed.Client; received {engine!r}"
        )
    if engine == "jax":
        try:
            import jax  # noqa: F401, PLC0415
        except ImportError:
            raise InvalidArgument(
                "engine='jax' needs JAX, which is not installed; pip install 'stochpref[jax]', and for an NVIDIA GPU "
                "JAX's own extra for it"
            ) from None
    return engine


def is_cluster(engine: Any) -> bool:
    """Tell whether an engine is "dask" or a `distributed.Client`."""
    return engine == "dask" or (hasattr(engine, "submit") and hasattr(engine, "scheduler_info"))


@contextmanager
def connect(engine: Any) -> Iterator[Any]:
    """Yield the `distributed.Client` of an engine: the one given, or one of a local cluster that lasts as long as this.

    A local cluster has a process for each core, with one thread each.
    """
    if engine != "dask":
        yield engine
        return
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415
    except ImportError:
        raise InvalidArgument(
            "engine='dask' needs Dask, which is not installed; pip install 'stochpref[dask]'"
        ) from None
    # Variables that are set for workers, numbers of threads among them, would stay set here.
    before = dict(os.environ)
    try:
        with (
            LocalCluster(n_workers=n_threads(), threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            yield client
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
