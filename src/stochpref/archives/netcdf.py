# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""NetCDF files, as version 0.1.0 wrote them, read in a process of its own.

HDF5's library trusts its files: where one byte is altered it may run in circles for ever. Whoever alters a fit can
alter the hash beside it, so the only promise is a limit from outside: the process that reads has so much time and
memory, and hands over what it read in a file of `arrays`, which is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stochpref.errors import UnreadableData, shown

if TYPE_CHECKING:
    import xarray as xr

SECONDS: Final = 60.0  # to read a small file: Python and xarray have to start, if need be on a busy machine
_BYTES_PER_SECOND: Final = 2e6  # that a larger one must reach
_MOST_UNFOLDED: Final = 1100  # times: zlib makes no more of a byte
_SPARE: Final = 2**28  # bytes, for libraries


def read_netcdf(path: Path) -> xr.DataTree:
    """Return the tree of a NetCDF file, in memory.

    Raises
    ------
    UnreadableData : it is none, or reading it takes too long or too much; or h5netcdf is not installed.
    """
    from stochpref.archives.trees import read_tree  # noqa: PLC0415

    if find_spec("h5netcdf") is None:
        raise UnreadableData(
            f"{path} is a NetCDF file of version 0.1.0; to read it pip install 'stochpref[netcdf]'; once the fit is "
            "loaded and saved again, that is not needed any more"
        )
    allowed = SECONDS + path.stat().st_size / _BYTES_PER_SECOND
    with tempfile.TemporaryFile(prefix="stochpref-") as found:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", __name__, str(path)],
                stdin=subprocess.DEVNULL, stdout=found, stderr=subprocess.PIPE, timeout=allowed, check=False,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(place or str(Path.cwd()) for place in sys.path)},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise UnreadableData(
                f"{path} could not be read in {allowed:.0f} s: it is damaged; save the fit again"
            ) from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"code {done.returncode}"]
            raise UnreadableData(f"{path} cannot be read: {shown(lines[-1], 300)}; save the fit again")
        return read_tree(found, path)


def _limit_memory(n_bytes: int) -> None:
    """Let this process take so many bytes more, where the system can say what it has taken and hold it to that."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415

        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (taken + n_bytes, most))


def _convert(path: Path) -> None:
    """Write the tree of a NetCDF file to stdout, within limits."""
    import h5py  # noqa: PLC0415
    import xarray as xr  # noqa: PLC0415

    from stochpref.archives.trees import write_tree  # noqa: PLC0415

    size, sizes = path.stat().st_size, [0]
    _limit_memory(_SPARE + size)
    with h5py.File(path, "r") as file:
        file.visititems(lambda _, item: sizes.append(item.nbytes) if isinstance(item, h5py.Dataset) else None)
    if sum(sizes) > _MOST_UNFOLDED * size:
        raise UnreadableData(f"it says that it holds {sum(sizes):,} bytes, more than can be in {size:,}")
    _limit_memory(_SPARE + size + 4 * sum(sizes))
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        write_tree(sys.stdout.buffer, tree)


if __name__ == "__main__":
    try:
        _convert(Path(sys.argv[1]))
    except Exception as error:  # whatever the libraries make of the file, said in one line
        sys.stderr.write("\n" + " ".join(f"{type(error).__name__}: {error}".split()))
        sys.stderr.flush()
        os._exit(1)  # or destructors of files that never opened would have the last word
