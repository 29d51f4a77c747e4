# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Named arrays and a description of them in one .npz file, which numpy opens as well.

That is a zip file of .npy members and one of JSON. They are stored as they are: what a member says of its shape is
compared with its bytes, and their sum with the file's, before an array is made, so that no file can ask for more memory
than it has bytes. Compression would save a twentieth of a posterior, whose digits are random, and would let a small
file unfold to a thousand times its size. HDF5, which version 0.1.0 wrote, may hang where one byte is altered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from stochpref.archives.text import as_json, parse_json
from stochpref.errors import UnreadableData, shown

KINDS: Final = "biufcmM"  # of arrays: numbers, truth values, times
_DESCRIPTION: Final = "description.json"
_LONGEST_HEADER: Final = 1000  # bytes of a .npy member; those that we write have 128
_LONGEST_NOTE: Final = 2**17  # that zip writes about a member, twice its name at most


def write_arrays(stream: IO[bytes], description: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of `KINDS`, and a description that JSON can hold; the same content gives the same bytes."""
    text = as_json(description)
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        archive.writestr(ZipInfo(_DESCRIPTION), text)
        for name, array in arrays.items():
            with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def read_arrays(stream: IO[bytes], where: str | Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the description and the arrays that `write_arrays` wrote.

    Raises
    ------
    UnreadableData : the file is not of that kind, or does not hold what it says.
    """
    try:
        return _read(stream, where)
    except UnreadableData:
        raise
    except Exception as error:  # whatever zipfile and numpy make of bytes that are none of theirs
        raise UnreadableData(f"{where} cannot be read: {shown(repr(error), 300)}; save the fit again") from error


def _read(stream: IO[bytes], where: str | Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    size = stream.seek(0, 2)
    with ZipFile(stream) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise UnreadableData(f"{where}: two members have one name; save the fit again")
        if _DESCRIPTION not in members:
            raise UnreadableData(f"{where} lacks {_DESCRIPTION}; save the fit again")
        is_stored = all(m.compress_type == ZIP_STORED and m.compress_size == m.file_size for m in members.values())
        rest = size - sum(member.file_size for member in members.values())
        if not is_stored or not 0 <= rest <= _LONGEST_NOTE * (len(members) + 1):
            raise UnreadableData(f"{where}: members must be stored as they are and fill the file; save the fit again")
        description = parse_json(archive.read(members.pop(_DESCRIPTION)), f"{where}, {_DESCRIPTION},")
        return description, {name.removesuffix(".npy"): _read_array(archive, m) for name, m in members.items()}


def _read_array(archive: ZipFile, member: ZipInfo) -> NDArray[Any]:
    with archive.open(member) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{member.filename} is of another version of .npy")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=_LONGEST_HEADER)
        if dtype.kind not in KINDS or math.prod(shape) * dtype.itemsize != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} does not hold {shape} values of type {dtype}")
    with archive.open(member) as stream:
        found: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=_LONGEST_HEADER)
        return found
