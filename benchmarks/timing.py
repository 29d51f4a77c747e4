"""The clock shared by the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_seconds(function: Callable[[], object], repeats: int = 7) -> float:
    """Return the shortest of several runs, after one that compiles and warms the caches."""
    function()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
