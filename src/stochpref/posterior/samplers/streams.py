# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Random numbers inside compiled kernels: one short stream for each (seed, chain, iteration, observation).

A stream is xoroshiro128++, started from a SplitMix64 hash of its key, so no stream depends on another: draws are the
same whatever the threads, blocks or interruptions. Two streams of length 10³ among 10¹² overlap with probability 1e-11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochpref.threads import inlined

Stream = NDArray[np.uint64]  # (2,), owned by one thread


@inlined
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def _rotate(x: np.uint64, k: int) -> np.uint64:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@inlined
def start_stream(stream: Stream, seed: np.uint64, chain: int, iteration: int, row: int) -> None:
    """Put a stream at its beginning."""
    key = _mix(seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(chain + 1))
    key = _mix(key ^ (np.uint64(0xD1B54A32D192ED03) * np.uint64(iteration + 1)))
    key = _mix(key ^ (np.uint64(0x8CB92BA72F3D8DD7) * np.uint64(row + 1)))
    stream[0] = _mix(key + np.uint64(0x9E3779B97F4A7C15))
    stream[1] = _mix(key + np.uint64(0x3C6EF372FE94F82A)) | np.uint64(1)  # never all zero


@inlined
def uniform(stream: Stream) -> float:
    """Return a number between 0 and 1, neither of them."""
    a, b = stream[0], stream[1]
    drawn = _rotate(a + b, 17) + a
    b ^= a
    stream[0] = _rotate(a, 49) ^ b ^ (b << np.uint64(21))
    stream[1] = _rotate(b, 28)
    return (np.float64(drawn >> np.uint64(12)) + 0.5) * 2.220446049250313e-16  # 52 bits, in the middle of their cells
