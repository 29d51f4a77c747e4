# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from stochpref.errors import StochprefError


def is_full(error: OSError) -> bool:
    """Tell whether an error of the file system means that there is no room: on the disk, of a quota, or for a file."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of ``path`` at the end, or vanishes if anything goes wrong.

    Raises
    ------
    StochprefError : the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
        temporary.replace(path)
    except OSError as error:
        if not is_full(error):
            raise
        raise StochprefError(
            f"{path}: cannot be written: {error.strerror or error}; nothing was changed; make room, or choose another "
            "disk"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder, and those it is in, as needed; remove them again if anything goes wrong and they are empty."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for place in new:
            with suppress(OSError):
                place.rmdir()
        raise
