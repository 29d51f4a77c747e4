"""The clock and the gauge of memory shared by the benchmarks."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np


def best_seconds(function: Callable[[], object], repeats: int = 7) -> float:
    """Return the shortest of several runs, after one that compiles and warms the caches."""
    function()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def least_work(functions: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Return the shortest processor time of each of several functions that take turns.

    All threads count, and what else a busy machine does hardly matters: for ratios of a few per cent.
    """
    best = [np.inf] * len(functions)
    for _ in range(repeats + 1):
        for k, function in enumerate(functions):
            start = time.process_time()
            function()
            best[k] = min(best[k], time.process_time() - start)
    return best


def resident(field: str) -> float:
    """Return VmRSS or VmHWM, now and at its peak, in MiB; the peak of the whole process where there is no /proc.

    `getrusage` would count what the process that started this one had in use.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field)) / 1024
