"""Saved fits that were damaged or altered: an error of ours, or a model that works; never a hang, never much memory."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import signal
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.archives import netcdf
from stochpref.models import storage
from tests.reference.fits_of_0_1_0 import BUDGETS, PRICES
from tests.small_fits import common, posterior, segmented

REFERENCE = Path(__file__).parent / "reference"
SECONDS = 20  # for a case: the slowest takes a tenth of a second
MOST = 200e6  # bytes of memory that a case may take
N_CASES = 150  # of each file, picked from some five hundred
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, -0.5, "", "../x", "\x1b[31m", "\ud800", "\0", [], [[]], [None] * 3, {}, {"a": {}},
)  # fmt: skip
RAW = {  # what no writer of JSON makes
    "deep lists": b"[" * 10**6,
    "deep objects": b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
    "no number": b'{"format": NaN}',
    "infinite": b'{"format": 1e999}',
    "many digits": b'{"format": ' + b"9" * 10**5 + b"}",
    "no text": b'{"model": "\xff"}',
    "nothing": b"",
    "a list": b"[]",
    "a number": b"2",
    "two values": b"{} {}",
    "zeros": bytes(10**6),
    "UTF-16": '{"format": 2}'.encode("utf-16"),
}


class TooLong(BaseException):
    """What nothing catches."""


@contextmanager
def limited() -> Iterator[None]:
    """Break off what takes too long, and count the memory that is taken."""

    def ring(signum: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    start = memory("VmRSS")
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert memory("VmHWM") - start < MOST


def memory(kind: str) -> float:
    """Return bytes of memory of this process, 0 where the system does not tell."""
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(kind))
    return 0.0


def is_refused(folder: Path) -> bool:
    """Load a fit and use it; tell whether it was refused, and fail if it neither was nor works."""
    told, model = "", None
    with limited():
        try:
            model = sp.load_fit(folder)
        except sp.UnreadableData as error:
            told = str(error)
        if model is None:
            assert str(folder) in told
            assert len(told) < 1000
            return True
        use(model)
    return False


def use(model: Any) -> None:
    """Ask a model for all that it can tell."""
    assert str(model.summary())
    assert np.isfinite(model.predict(np.resize(PRICES, (3, len(model.goods_))), BUDGETS)).all()
    assert not np.isnan(model.score(model.observations_[:2]))
    if model.customers_differ:
        menus = model.observations_.menus[:1]
        assert np.isfinite(model.demand(menus, n_draws=2, n_customers=64).mean).all()


@cache
def whole(name: str) -> dict[str, bytes]:
    """Return the files of a small fit."""
    if name.startswith("0.1.0"):
        folder = REFERENCE / f"fit-{name.replace(' ', '-')}"
    else:
        folder = Path(os.environ["PYTEST_TMP"]) / name
        {"common": common, "heterogeneous": posterior, "segmented": segmented}[name](3).save(folder)
    use(sp.load_fit(folder))  # which also compiles what there is to compile, before it is timed
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def _folder_of_fits(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_TMP", str(tmp_path_factory.mktemp("fits")))


def write(folder: Path, files: dict[str, bytes], **changed: bytes) -> Path:
    """Write a fit with some files changed, their hashes in the header too, so that they are really read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    contents = files | {name.replace("__", "."): content for name, content in changed.items()}
    header = json.loads(contents["fit.json"]) if "fit__json" not in changed else None
    if header is not None:
        header["files"] = {name: hashlib.sha256(contents[name]).hexdigest() for name in header["files"]}
        contents["fit.json"] = json.dumps(header).encode()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in JSON; of a list only the first and last."""
    yield path
    if isinstance(content, dict):
        for name in content:
            yield from places(content[name], (*path, name))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*path, 0))
        yield from places(content[-1], (*path, len(content) - 1))


def altered(content: Any) -> Iterator[bytes]:
    """Yield JSON with one value replaced, left out, doubled, or with one more."""
    for path in places(content):
        for value in HOSTILE:
            yield json.dumps(replaced(content, path, lambda _, value=value: value)).encode()
        if not path:
            continue
        *way, last = path
        yield json.dumps(replaced(content, tuple(way), lambda part, last=last: without(part, last))).encode()
        if isinstance(last, str):
            more = replaced(content, tuple(way), lambda part, last=last: {**part, "more": 1, "twice": part[last]})
            yield json.dumps(more).encode()
            yield json.dumps(more).replace('"twice"', json.dumps(last)).encode()


def some(cases: Iterable[bytes]) -> list[bytes]:
    """Return as many of the cases as there is time for."""
    known = list(cases)
    return random.Random(len(known)).sample(known, min(N_CASES, len(known)))


def replaced(content: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(content)
    part = copy.copy(content)
    part[path[0]] = replaced(part[path[0]], path[1:], change)
    return part


def without(part: Any, last: Any) -> Any:
    part = copy.copy(part)
    del part[last]
    return part


def damaged(content: bytes, n_cases: int) -> Iterator[bytes]:
    """Yield bytes cut off, altered, lengthened."""
    rng = random.Random(len(content))
    for case in range(n_cases):
        if case % 5 == 0:
            yield content[: rng.randrange(len(content))]
        elif case % 5 == 1:
            at, size = rng.randrange(len(content)), rng.randrange(1, 50)
            yield content[:at] + rng.randbytes(size) + content[at:]
        else:
            some = bytearray(content)
            for _ in range(rng.choice([1, 1, 2, 8])):
                some[rng.randrange(len(some))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            yield bytes(some)


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def claiming(shape: str, dtype: str = "'<f8'", body: bytes = bytes(80)) -> bytes:
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}"
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


class Trap:
    """What runs when a pickle is opened."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("sprung",)


def other_arrays(content: bytes) -> Iterator[bytes]:
    """Yield the bytes of other arrays in place of one."""
    array = np.load(io.BytesIO(content))
    yield npy(np.array([Trap()] * array.size, dtype=object).reshape(array.shape), allow_pickle=True)
    for other in (
        array.astype(np.float32), array.astype(np.complex128), array.astype(np.int8), array.astype("M8[s]"), array.T,
        array[None], array[:0], array[..., :-1], array.ravel()[:1], np.array(1.0), np.concatenate([array, array]),
        array * np.nan, array * 0, -array.astype(np.float64), array * 1e300, array + 1e-3, np.full(array.shape, np.inf),
        array.astype([("a", array.dtype)]), array.astype("S8"), array.astype("U8"), np.asfortranarray(array),
    ):  # fmt: skip
        yield npy(other)
    for shape in (
        "(10,)",
        "(10**9,)",
        "(1000000000000,)",
        "(-1, -10)",
        "(0, 99999999999999999999)",
        "()",
        "10",
        "('a',)",
    ):
        yield claiming(shape)
    for dtype in ("'|O'", "'|V80'", "'<f800'", "[('a', '<f8')]", "('<f8', (10,))", "(" * 500, "'S' * 9", "-" * 900):
        yield claiming("(10,)", dtype)
    yield claiming("(10,)", "'<f8'" + " " * 60_000)


@pytest.fixture
def fast_netcdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the arrays of version 0.1.0, which stay as they are here, once."""
    monkeypatch.setattr(storage, "read_netcdf", lambda path: _read_once(path.name).copy(deep=True))


@cache
def _read_once(name: str) -> Any:
    return netcdf.read_netcdf(next(REFERENCE.glob(f"fit-0.1.0-*/{name}")))


JSON_OF = [
    ("common", "fit.json"), ("common", "learned.json"), ("segmented", "learned.json"),
    ("0.1.0 common", "fit.json"), ("0.1.0 common", "utility.json"),
    *((name, file) for name in ("heterogeneous", "0.1.0 heterogeneous") for file in ("fit.json", "learned.json")),
]  # fmt: skip


@pytest.mark.usefixtures("fast_netcdf")
@pytest.mark.parametrize(("name", "file"), JSON_OF)
def test_altered_json(name: str, file: str, tmp_path: Path) -> None:
    files, n_refused = whole(name), 0
    cases = [*some(altered(json.loads(files[file]))), *damaged(files[file], 50), *RAW.values()]
    for content in cases:
        n_refused += is_refused(write(tmp_path / "fit", files, **{file.replace(".", "__"): content}))
    assert n_refused > len(cases) / 4


@pytest.mark.parametrize("name", ["common", "heterogeneous"])
def test_damaged_arrays(name: str, tmp_path: Path) -> None:
    files = whole(name)
    for content in damaged(files["arrays.npz"], N_CASES):
        is_refused(write(tmp_path / "fit", files, arrays__npz=content))


@pytest.mark.parametrize("name", ["common", "heterogeneous", "segmented"])
def test_altered_arrays(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = whole(name)
    parts = members(files["arrays.npz"])
    cases = [
        zipped(parts | {member: other})
        for member in parts
        if member.endswith(".npy")
        for other in other_arrays(parts[member])
    ]
    description = json.loads(parts["description.json"])
    cases = some(cases) + some(zipped(parts | {"description.json": other}) for other in altered(description))
    cases += [zipped(without(parts, member)) for member in parts]
    for content in cases:
        is_refused(write(tmp_path / "fit", files, arrays__npz=content))
    assert not Path("sprung").exists()


@pytest.mark.parametrize("name", ["common", "heterogeneous"])
def test_other_archives(name: str, tmp_path: Path) -> None:
    files = whole(name)
    parts = members(files["arrays.npz"])
    bomb = parts | {"posterior/more.npy": npy(np.zeros(10**8, np.int8))}
    stream = io.BytesIO(files["arrays.npz"])
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("description.json", "{}")
    for content in (
        zipped(bomb, zipfile.ZIP_DEFLATED), zipped(parts, zipfile.ZIP_LZMA), stream.getvalue(), zipped({}),
        b"PK\5\6" + bytes(18), pickle.dumps(Trap()), whole("0.1.0 common")["observations.nc"],
        parts["description.json"], bytes(10**7) + files["arrays.npz"],
    ):  # fmt: skip
        assert is_refused(write(tmp_path / "fit", files, arrays__npz=content))
    more = zipped(parts | {"../../evil.npy": npy(np.zeros(3))})
    assert not is_refused(write(tmp_path / "fit", files, arrays__npz=more))
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]


@pytest.mark.parametrize("name", ["common", "heterogeneous", "0.1.0 common", "0.1.0 heterogeneous"])
def test_files_that_are_no_files(name: str, tmp_path: Path) -> None:
    files = whole(name)

    def replace(file: str, make: Callable[[Path], Any]) -> Path:
        path = write(tmp_path / "fit", files) / file
        path.unlink()
        make(path)
        return tmp_path / "fit"

    for file in files:
        other = "fit.json" if file != "fit.json" else "missing"
        assert is_refused(replace(file, lambda path: None))
        assert is_refused(replace(file, lambda path: path.mkdir()))
        assert is_refused(replace(file, lambda path: path.symlink_to("/dev/zero")))
        assert is_refused(replace(file, lambda path: path.symlink_to(path)))
        assert is_refused(replace(file, lambda path, other=other: path.symlink_to(other)))
        assert is_refused(replace(file, os.mkfifo))
        if not file.endswith(".nc"):
            assert is_refused(replace(file, enlarge))


def enlarge(path: Path) -> None:
    """Make a file of a terabyte that takes no room."""
    with path.open("wb") as stream:
        stream.truncate(2**40)


@pytest.mark.parametrize("name", ["common", "heterogeneous"])
def test_names_and_versions(name: str, tmp_path: Path) -> None:
    files = whole(name)
    header = json.loads(files["fit.json"])

    def changed(**values: Any) -> Path:
        content = json.dumps({**header, **values}).encode()
        return write(tmp_path / "fit", files, fit__json=content)

    for number in (0, 3, 10**30, 2.0, "2", True, None, [2]):
        with pytest.raises(sp.UnreadableData, match=r"must have format 2, or 1; found .*; read it with its own"):
            sp.load_fit(changed(format=number))
    assert not is_refused(changed(version="99.0"))  # what it holds decides
    for model in ("satiated", "", None, ["common"], {"common": 1}):
        assert is_refused(changed(model=model))
    (tmp_path / "secret").write_text("mine")
    for other in ("../secret", "/etc/passwd", "x" * 5000, "\0", ""):
        assert not is_refused(changed(files={**header["files"], other: hashlib.sha256(b"mine").hexdigest()}))
        assert is_refused(changed(files={other: hashlib.sha256(b"mine").hexdigest()}))
    for folder in (tmp_path / "\0", tmp_path / ("x" * 5000), "\ud800"):
        with pytest.raises(sp.UnreadableData):
            sp.load_fit(folder)
    with pytest.raises(sp.InvalidArgument, match="folder must be the path"):
        sp.load_fit(3)  # type: ignore[arg-type]


def test_a_saved_fit_removes_only_what_fits_write(tmp_path: Path) -> None:
    """A header may name anything; only the former names of our own files are ever removed."""
    write(tmp_path / "fit", whole("0.1.0 common"))
    header = json.loads((tmp_path / "fit" / "fit.json").read_text())
    (tmp_path / "fit" / "thesis.txt").write_text("mine")
    header["files"]["thesis.txt"] = hashlib.sha256(b"mine").hexdigest()
    (tmp_path / "fit" / "fit.json").write_text(json.dumps(header))
    posterior(3).save(tmp_path / "fit")
    left = {path.name for path in (tmp_path / "fit").iterdir()}
    assert left == {
        "fit.json",
        "learned.json",
        "arrays.npz",
        "thesis.txt",
    }
    for content in (
        b"[" * 10**6,
        b"\xff",
        b"[]",
        b'{"files": 3}',
        b'{"files": {"a": []}}',
    ):  # none that can be read
        (tmp_path / "fit" / "fit.json").write_bytes(content)
        posterior(3).save(tmp_path / "fit")
        assert sp.load_fit(tmp_path / "fit").goods_ == posterior(3).goods_


@pytest.mark.parametrize(("name", "at", "value"), [("common", 3609, 142), ("heterogeneous", 2934, 21)])
def test_a_file_that_hangs_its_library(
    name: str, at: int, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte altered, and HDF5 never comes back."""
    monkeypatch.setattr(netcdf, "SECONDS", 5.0)
    files = whole(f"0.1.0 {name}")
    file = next(file for file in files if file.endswith(".nc"))
    content = bytearray(files[file])
    content[at] = value
    with pytest.raises(sp.UnreadableData, match="could not be read in 5 s: it is damaged"):
        sp.load_fit(write(tmp_path / "fit", files, **{file.replace(".", "__"): bytes(content)}))


@pytest.mark.parametrize("name", ["common", "heterogeneous"])
def test_damaged_netcdf(name: str, tmp_path: Path) -> None:
    files = whole(f"0.1.0 {name}")
    file = next(file for file in files if file.endswith(".nc"))
    for content in damaged(files[file], 4):
        is_refused(write(tmp_path / "fit", files, **{file.replace(".", "__"): content}))


def test_what_reading_former_fits_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None)
    with pytest.raises(sp.UnreadableData, match=r"nc is a NetCDF file of version 0\.1\.0.*stochpref\[netcdf\]"):
        sp.load_fit(REFERENCE / "fit-0.1.0-common")
