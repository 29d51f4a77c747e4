# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Regions in little space, and what is noted of observations as they are packed.

Two bits for the side of a good, two for the kind of the observation, and prices, in 64 or 32 bits: with 10 goods 83
bytes an observation, or 43.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, InvalidObservations, describe_rows
from stochpref.kinds import ABSENT, AT, DEGENERATE, PIVOT
from stochpref.observations import Observations
from stochpref.problems import pack_problem
from stochpref.readers.folders import StoredObservations, StoredPart
from stochpref.regions import Regions

ReportFn = Callable[[int, int, str], None]  # steps done, steps in all, what is being done

KEPT: Final = 10_000  # observations of a stored data set that a fit keeps to look at
_SHIFTS: Final = np.array([0, 2, 4, 6], np.uint8)
_SIDES: Final = np.array([0, 1, 2, -1], np.int8)  # AT, ABOVE, ABSENT and BELOW from their two bits


def code_width(n_goods: int) -> int:
    """Return the bytes that the sides and the kind of one observation take."""
    return -(-(n_goods + 1) // 4)


@dataclass(frozen=True, slots=True, eq=False)
class PackedRegions:
    """Regions in little space, none degenerate.

    codes : (T, ⌈(n + 1) / 4⌉) two bits for each side, and for the kind after the last.
    slope : (T, n) prices, float64; or float32, in units of the row's largest.
    price_scale : as in `Regions`; 1 where each row has units of its own.
    """

    codes: NDArray[np.uint8]
    slope: NDArray[np.floating[Any]]
    price_scale: float

    @classmethod
    def of(cls, regions: Regions, *, single_precision: bool = False) -> PackedRegions:
        """Pack regions."""
        if regions.corners is not None:
            raise InvalidArgument(
                "observations of problem 'linear' are kept in memory, on engine='cpu'; load those of a folder, "
                "sp.read_observations(folder).load(), and leave the engine"
            )
        n_rows, n = regions.side.shape
        fields = np.zeros((n_rows, 4 * code_width(n)), np.uint8)
        fields[:, :n] = regions.side & 3
        fields[:, n] = regions.kind_code
        codes = np.bitwise_or.reduce(fields.reshape(n_rows, code_width(n), 4) << _SHIFTS, axis=2)
        if not single_precision:
            return cls(codes, np.ascontiguousarray(regions.slope), regions.price_scale)
        # Only ratios of a row's prices matter; in units of the largest none overflows.
        largest = np.max(regions.slope, axis=1, keepdims=True, initial=0.0, where=regions.side != ABSENT)
        slope = np.where(regions.side == ABSENT, 1.0, regions.slope / np.where(largest > 0, largest, 1.0))
        return cls(codes, slope.astype(np.float32), 1.0)

    @classmethod
    def join(cls, packed: Sequence[PackedRegions], n_goods: int) -> PackedRegions:
        """Return one after another; none at all gives none."""
        if not packed:
            return cls(np.empty((0, code_width(n_goods)), np.uint8), np.empty((0, n_goods)), 1.0)
        return cls(
            np.concatenate([part.codes for part in packed]),
            np.concatenate([part.slope for part in packed]),
            max(part.price_scale for part in packed),
        )

    def __len__(self) -> int:
        return self.codes.shape[0]

    def unpack(self) -> Regions:
        """Return the regions."""
        n_rows, n = self.slope.shape
        fields = ((self.codes[:, :, None] >> _SHIFTS) & 3).reshape(n_rows, 4 * code_width(n))
        kind, side = fields[:, n].astype(np.int8), _SIDES[fields[:, :n]]
        pivot = np.where(kind == PIVOT, np.argmax(side == AT, axis=1), -1).astype(np.int32)
        return Regions(kind, side, self.slope.astype(np.float64), pivot, self.price_scale)


def data_hash(observations: Observations) -> str:
    """Return a hash of everything a fit depends on: goods, prices, budgets, bundles and caps, in order.

    A problem other than that of divisible goods, features, and the absence of empty bundles count where there are any.
    """
    digest = hashlib.sha256("\0".join(observations.goods).encode())
    for array in (observations.prices, observations.budgets, observations.bundles, observations.caps):
        digest.update(np.ascontiguousarray(array).tobytes())
    header, arrays = pack_problem(observations.problem)
    more = {
        **({"problem": header} if header else {}),
        **({"nonempty": True} if observations.nonempty else {}),
        **{f"problem {name}": _digest(values) for name, values in arrays.items()},
        **{f"feature {name}": _digest(values) for name, values in observations.features.items()},
    }
    if more:
        digest.update(json.dumps(more, sort_keys=True).encode())
    return f"sha256:{digest.hexdigest()}"


def _digest(array: NDArray[Any]) -> str:
    kind = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(kind + np.ascontiguousarray(array).tobytes()).hexdigest()


class Origin(NamedTuple):
    """What is known of observations beside their regions.

    goods : names.
    n_observations, n_dropped : in all, and degenerate ones left out.
    data_hash : of all that a fit depends on.
    kept : the observations to look at; some of them, picked at random, where they are in parts.
    """

    goods: tuple[str, ...]
    n_observations: int
    n_dropped: int
    data_hash: str
    kept: Observations


class Note(NamedTuple):
    """What is noted of a part as it is read: observations, those left out, a hash, and some as they were."""

    n_read: int
    n_dropped: int
    digest: bytes
    kept: Observations | None

    @property
    def n_used(self) -> int:
        """Observations that are in the part; one without any is no part."""
        return self.n_read - self.n_dropped


def encode_part(
    stored: StoredObservations, part: StoredPart, degenerate: str, wanted: NDArray[np.int64]
) -> tuple[PackedRegions, Note]:
    """Read a part and pack it.

    Parameters
    ----------
    degenerate : "refuse" or "drop".
    wanted : places among the observations of the part, sorted, that are kept as they are.
    """
    packed, kept, n_read, n_dropped = [], [], 0, 0
    for first_row, observations in stored.read(part):
        regions = Regions.of(observations)
        bad = np.flatnonzero(regions.kind_code == DEGENERATE)
        if bad.size and degenerate == "refuse":
            raise InvalidObservations(
                f"{part.path}: observations must not be degenerate (two goods bought in part, or one with money left): "
                f"only exact ties could explain them; {bad.size} of those from row {first_row:,} are "
                f"({describe_rows((first_row + bad).tolist())}); correct the quantities or budgets, or leave them out "
                "with degenerate='drop'",
                (first_row + bad).tolist(),
            )
        used = regions if bad.size == 0 else regions[regions.kind_code != DEGENERATE]
        packed.append(PackedRegions.of(used, single_precision=stored.single_precision))
        here = wanted[(wanted >= n_read) & (wanted < n_read + len(observations))] - n_read
        kept += [observations[here]] if here.size else []
        n_read, n_dropped = n_read + len(observations), n_dropped + int(bad.size)
    whole = PackedRegions.join(packed, stored.n_goods)
    digest = hashlib.sha256(whole.codes.tobytes() + whole.slope.tobytes()).digest()
    return whole, Note(n_read, n_dropped, digest, kept[0].concat(*kept[1:]) if kept else None)


def origin_of(stored: StoredObservations, notes: Sequence[Note]) -> Origin:
    """Return what was noted of all parts together; refuse them if nothing is left."""
    n_read, n_dropped = sum(note.n_read for note in notes), sum(note.n_dropped for note in notes)
    kept = [note.kept for note in notes if note.kept is not None]
    if n_read == n_dropped or not kept:
        raise InvalidObservations(f"{stored.folder}: every observation is degenerate or breaks a rule; nothing is left")
    digest = hashlib.sha256("\0".join(stored.goods).encode())
    for note in notes:
        digest.update(note.digest)
    return Origin(stored.goods, n_read, n_dropped, f"sha256:{digest.hexdigest()}", kept[0].concat(*kept[1:]))


def pick_rows(sizes: Sequence[int], n_rows: int, seed: int) -> list[NDArray[np.int64]]:
    """Return, for each part, the sorted places of rows picked at random from all, at most `n_rows` in all."""
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    picked = np.sort(np.random.default_rng([seed, 2]).choice(total, min(n_rows, total), replace=False, shuffle=False))
    cuts = np.searchsorted(picked, ends)
    starts = np.concatenate([[0], ends[:-1]])
    return [part - start for part, start in zip(np.split(picked, cuts[:-1]), starts, strict=True)]
