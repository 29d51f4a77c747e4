# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A run on its way, in a file: what has been drawn, where the chains are, and what the run is of.

A file is an archive of arrays followed by its SHA-256, which is compared before anything is read: a bit that flipped
inside a draw is found too.

Draws go on only where the same sampler goes on with the same settings. The code that draws is known by the sampler's
`revision`, not by the version of the package, most of which has no part in them; all else by a `fingerprint`.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from stochpref.archives.arrays import read_arrays, write_arrays
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.files import made, replacing
from stochpref.posterior.target import Sampler

Array = NDArray[np.float64]

_MARK: Final = b"\nstochpref checkpoint, sha256 "  # between the archive and its hash
_DIGITS: Final = 64
_PARTS: Final = ("state", "parameters", "statistics")  # of a run, that hold arrays
_FIRST_OF_0_1_0: Final = b"fingerprint.npy"  # what checkpoints of that version begin with


class Checkpoint(NamedTuple):
    """A run on its way.

    sampler, revision, reason : what draws, which of its ways of drawing, and why it was picked.
    fingerprint : name -> value, as JSON holds it, of all else that decides the draws.
    iteration : steps made.
    n_draws, goal : draws kept of each chain, and how many to look at next.
    state : field -> array, of the sampler's state.
    parameters, statistics : name -> (chains, draws, …), as in `Draws`.
    """

    sampler: str
    revision: int
    reason: str
    fingerprint: dict[str, Any]
    iteration: int
    n_draws: int
    goal: int
    state: dict[str, Array]
    parameters: dict[str, Array]
    statistics: dict[str, Array]


class _Hashing(io.RawIOBase):
    """Passes on what is written to it, and hashes it; a writer that wants to go back is told that it cannot."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.hash = stream, hashlib.sha256()

    def write(self, content: Any) -> int:
        self.hash.update(content)
        return self.stream.write(content)


def _as_saved(fingerprint: dict[str, Any]) -> dict[str, Any]:
    """Return a fingerprint as it comes back from a file."""
    return dict(json.loads(json.dumps(fingerprint, default=repr)))


def write_checkpoint(path: Path, run: Checkpoint) -> None:
    """Write the run so far; the file appears whole or not at all."""
    about = run._asdict() | {"fingerprint": _as_saved(run.fingerprint)}
    arrays = {f"{part}.{name}": values for part in _PARTS for name, values in about.pop(part).items()}
    with made(path.parent), replacing(path) as stream:
        hashing = _Hashing(stream)
        write_arrays(cast("IO[bytes]", hashing), about, arrays)
        stream.write(_MARK + hashing.hash.hexdigest().encode())


def read_checkpoint(path: Path | None) -> Checkpoint | None:
    """Return the run that a file keeps; None where no file is named, or there is none yet.

    Raises
    ------
    InvalidArgument : the file is damaged, or not a checkpoint.
    """
    if path is None or not path.exists():
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, str(error.strerror or error)) from None
    size = len(content) - len(_MARK) - _DIGITS
    if content[size:-_DIGITS] != _MARK:
        is_old = _FIRST_OF_0_1_0 in content[: len(_FIRST_OF_0_1_0) + 64]
        raise _unreadable(
            path, "version 0.1.0 wrote it, in its own way" if is_old else "it is cut short, or no checkpoint"
        )
    if hashlib.sha256(memoryview(content)[:size]).hexdigest().encode() != content[-_DIGITS:]:
        raise _unreadable(path, "it is damaged, its content and its checksum differ")
    try:
        return _parse(*read_arrays(io.BytesIO(content), path))
    except (UnreadableData, KeyError, TypeError, ValueError):
        raise _incomplete(path) from None


def _parse(about: dict[str, Any], arrays: dict[str, Array]) -> Checkpoint:
    parts: dict[str, dict[str, Array]] = {part: {} for part in _PARTS}
    for place, values in arrays.items():
        part, _, name = place.partition(".")
        parts[part][name] = values
    return Checkpoint(
        sampler=str(about["sampler"]),
        revision=int(about["revision"]),
        reason=str(about["reason"]),
        fingerprint=dict(about["fingerprint"]),
        iteration=int(about["iteration"]),
        n_draws=int(about["n_draws"]),
        goal=int(about["goal"]),
        **parts,
    )


def state_in(run: Checkpoint, path: Path, sampler: Sampler, fingerprint: dict[str, Any], fresh: Any) -> Any:
    """Return the state of a sampler that goes on with a run.

    Parameters
    ----------
    fingerprint : of the run that is to go on.
    fresh : a state of the sampler before its first step.

    Raises
    ------
    InvalidArgument : the run is of something else.
    """
    asked = _as_saved(fingerprint) | {"sampler": sampler.name}
    held = run.fingerprint | {"sampler": run.sampler}
    differing = [name for name in sorted(asked.keys() | held.keys()) if asked.get(name) != held.get(name)]
    if differing:
        raise InvalidArgument(
            f"checkpoint {path} belongs to other data, settings, seed or version; what differs: "
            f"{', '.join(differing)}; delete it to start anew, or give another file"
        )
    if run.revision != sampler.revision:
        raise InvalidArgument(
            f"checkpoint {path} belongs to another version: its draws are of revision {run.revision} of sampler "
            f"{sampler.name!r}, this version draws by revision {sampler.revision}; delete it to start anew, or give "
            "another file"
        )
    if not _is_whole(run, sampler, fresh):
        raise _incomplete(path)
    return type(fresh)(**run.state)


def _is_whole(run: Checkpoint, sampler: Sampler, fresh: Any) -> bool:
    """Tell whether arrays have the names and shapes that they would have if the sampler had made them."""
    state, kept = fresh._asdict(), (len(fresh[0]), run.n_draws)
    drawn = sampler.parameters(fresh) if run.n_draws else {}
    wanted = {name: (*kept, *values.shape[1:]) for name, values in drawn.items()}
    return (
        run.state.keys() == state.keys()
        and all(_is_like(run.state[name], values) for name, values in state.items())
        and {name: values.shape for name, values in run.parameters.items()} == wanted
        and all(values.shape == kept for values in run.statistics.values())
    )


def _is_like(values: Array, fresh: Array) -> bool:
    """Tell whether an array could have come of a fresh one; axes that are empty at first may grow."""
    return (
        values.dtype == fresh.dtype
        and values.ndim == fresh.ndim
        and all(wanted in (0, found) for found, wanted in zip(values.shape, fresh.shape, strict=True))
    )


def _incomplete(path: Path) -> InvalidArgument:
    return _unreadable(path, "it is incomplete, what it holds is no run")


def _unreadable(path: Path, why: str) -> InvalidArgument:
    return InvalidArgument(f"checkpoint {path} cannot be read: {why}; delete it to start anew, or give another file")
