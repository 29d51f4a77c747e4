# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A saved fit is a folder: ``fit.json`` says what it is and how it was made, files beside it hold what was learned.

Only JSON and arrays, never pickles: a fit can be opened by other programs, and opening one runs no code. Files are all
written before one takes its place, ``fit.json`` last, with the hashes of others, so a folder is a whole fit or none.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.files import made, replacing

FORMAT: Final = 1
HEADER: Final = "fit.json"


class SavedFit(NamedTuple):
    """What a folder holds.

    header : model, settings, seed, version, data.
    parts : name of a part -> its content, bytes where it is not JSON.
    """

    header: dict[str, Any]
    parts: dict[str, Any]


def write_fit(folder: str | Path, header: dict[str, Any], parts: dict[str, Any]) -> None:
    """Write a fit to a folder, made as needed, in place of the fit it held; other files are left alone.

    Parameters
    ----------
    header : what goes to ``fit.json``, beside the format and the hashes.
    parts : file name -> content: bytes, or anything that JSON can hold.
    """
    home = Path(folder)
    texts = {name: content if isinstance(content, bytes) else _as_json(content) for name, content in parts.items()}
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    first = {HEADER: _as_json({"format": FORMAT, **header, "files": hashes})}
    former = _header_in(home).get("files", {})
    with made(home), ExitStack() as stack:
        # All are written before any takes its place, and they do so in reverse: the header last.
        for name, text in (first | texts).items():
            stream = stack.enter_context(replacing(home / name))
            stream.write(text)
            stream.flush()
    for name in former.keys() - hashes.keys():
        part = home / Path(name).name
        if part.is_file() and hashlib.sha256(part.read_bytes()).hexdigest() == former[name]:  # not changed since
            part.unlink()


def model_in(folder: str | Path) -> str | None:
    """Return the model of the fit that a folder holds, None if it holds none."""
    return _header_in(Path(folder)).get("model")


def _header_in(home: Path) -> dict[str, Any]:
    """Return the header of the fit that a folder holds, {} if it holds none that can be read."""
    try:
        header = json.loads((home / HEADER).read_bytes())
    except (OSError, ValueError):
        return {}
    return header if isinstance(header, dict) and isinstance(header.get("files"), dict) else {}


def read_fit(folder: str | Path) -> SavedFit:
    """Read a fit from a folder.

    Raises
    ------
    UnreadableData : the folder is not a fit, is incomplete or was changed.
    """
    home = Path(folder)
    header = _parse(_read_header(home), home / HEADER)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise UnreadableData(f"{home}: a fit must have format {FORMAT}; found {found}; read it with its own version")
    missing = [name for name in ("model", "version", "settings", "seed", "data", "files") if name not in header]
    if missing or not isinstance(header["files"], dict):
        raise UnreadableData(
            f"{home / HEADER} is incomplete: it lacks {', '.join(missing) or 'files'}; save the fit again"
        )
    parts = {}
    for name, expected in header["files"].items():
        part = home / Path(name).name
        if not part.is_file():
            raise UnreadableData(f"{home} is incomplete: {HEADER} is there and {part.name} is not; save the fit again")
        text = part.read_bytes()
        if hashlib.sha256(text).hexdigest() != expected:
            raise UnreadableData(f"{home / name} does not belong to {HEADER} beside it; save the fit again")
        parts[name] = _parse(text, home / name) if name.endswith(".json") else text
    return SavedFit(header, parts)


def _as_json(content: Any) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def _read_header(home: Path) -> bytes:
    if not (home / HEADER).is_file():
        raise UnreadableData(
            f"{home} is not a saved fit: it has no {HEADER}; give the folder that save() or `stochpref fit` wrote"
            f"{_near_fits(home)}"
        )
    return (home / HEADER).read_bytes()


def _near_fits(home: Path) -> str:
    """Return a question that offers the saved fit whose name is nearest, of those inside a folder or beside it."""
    inside, beside = _fits_in(home), _fits_in(home.parent)
    near = inside or difflib.get_close_matches(home.name, beside, n=1)
    return f"; did you mean {(home if inside else home.parent) / near[0]}?" if near else ""


def _fits_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if (entry / HEADER).is_file())
    except OSError:
        return []


def _parse(text: bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableData(f"{path} is not JSON: {error}; save the fit again") from None


def check_model(header: dict[str, Any], known: tuple[str, ...]) -> str:
    """Return the model a header names, if it is one of those known."""
    model = header.get("model")
    if model not in known:
        raise InvalidArgument(f"a fit must be of model {' or '.join(known)}; received {model!r}")
    return str(model)
