# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""How work is spread: compiled kernels that release the interpreter, run by a pool of threads over blocks of rows.

A kernel works on rows ``start <= t < stop`` of arrays it shares with the others and writes only its own rows, so
the result does not depend on the number of threads or on the size of a block. Sums are made of partial sums over
fixed groups of rows, added in order, for the same reason.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from multiprocessing import parent_process
from typing import Any, Final, TypeVar, cast

import numba

GROUP: Final = 64  # rows summed together; part of the definition of a sum, not a tuning knob

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a kernel on first use, cached on disk, running without the interpreter lock.

    Fused multiply-add and ignoring the sign of zero are the only liberties taken with arithmetic.
    """
    return _compiled(function, {"contract", "nsz"})


def compiled_reordering(function: Function) -> Function:
    """Compile a kernel whose sums, minima and maxima may run in any order, on data without NaN.

    Vector units need that freedom. The order is fixed when the kernel is compiled: it depends on the length of a
    row, never on threads or blocks.
    """
    return _compiled(function, {"contract", "nsz", "nnan", "reassoc"})


def inlined(function: Function) -> Function:
    """Compile a small function straight into its callers.

    A loop becomes vector code only where everything it calls, and the loop itself, is inlined into the kernel.
    """
    return _compiled(function, {"contract", "nsz"}, forceinline=True)


def inlined_reordering(function: Function) -> Function:
    """Compile as `inlined`, with the liberties of `compiled_reordering`."""
    return _compiled(function, {"contract", "nsz", "nnan", "reassoc"}, forceinline=True)


def _compiled(function: Function, liberties: set[str], **options: bool) -> Function:
    compiler: Any = partial(numba.njit, nogil=True, fastmath=liberties, error_model="numpy", **options)
    try:
        return cast(Function, compiler(cache=True)(function))
    except RuntimeError:  # as in a container: no folder for the cache can be written
        _say_uncached()
        return cast(Function, compiler()(function))


@cache
def _say_uncached() -> None:
    """Say once, and not in each process of many, that what is compiled now is lost afterwards."""
    if parent_process() is None:
        logging.getLogger("stochpref").warning(
            "compiled code cannot be kept, so that every run compiles anew: neither the folder of the package nor the "
            "home folder can be written; set NUMBA_CACHE_DIR to a folder that can"
        )


_here = threading.local()


@contextmanager
def one_of_many() -> Iterator[None]:
    """Use one thread here unless ``STOCHPREF_NUM_THREADS`` says otherwise: other threads have tasks of their own."""
    _here.is_one_of_many = True
    try:
        yield
    finally:
        _here.is_one_of_many = False


def n_threads() -> int:
    """Return the number of threads: ``STOCHPREF_NUM_THREADS`` if set, else the cores this process may use."""
    stated = os.environ.get("STOCHPREF_NUM_THREADS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    if getattr(_here, "is_one_of_many", False):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@lru_cache(maxsize=4)
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="stochpref", initializer=_note_worker)


def _note_worker() -> None:
    _here.is_worker = True


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: a child that waited for them would hang
    os.register_at_fork(after_in_child=_pool.cache_clear)


def for_blocks(kernel: Callable[[int, int], object], n_rows: int, block: int) -> None:
    """Call ``kernel(start, stop)`` over consecutive blocks of rows, on all threads; errors are re-raised.

    Within a block of another call everything happens on its thread: the others may all be waiting for theirs.
    """
    threads = 1 if getattr(_here, "is_worker", False) else n_threads()
    starts = range(0, n_rows, block)
    if threads == 1 or len(starts) <= 1:
        for start in starts:
            kernel(start, min(start + block, n_rows))
        return
    for future in [_pool(threads).submit(kernel, start, min(start + block, n_rows)) for start in starts]:
        future.result()
