# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A saved fit is a folder: ``fit.json`` says what it is and how it was made, two files beside it hold what was learned.

Those are ``learned.json``, and ``arrays.npz`` with draws and data. Only JSON and arrays, never pickles: a fit can be
opened by other programs, and opening one runs no code. Files are all written before one takes its place, ``fit.json``
last, with the hashes of others, so a folder is a whole fit or none. Hashes tell of accidents; against intent every
value is checked as it is read.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from stochpref import __version__
from stochpref.archives.netcdf import read_netcdf
from stochpref.archives.text import as_json, parse_json
from stochpref.archives.trees import read_tree, write_tree
from stochpref.errors import UnreadableData, shown
from stochpref.files import made, replacing
from stochpref.models.former import FORMER_FORMAT, FORMER_PARTS, add_explained, former_header
from stochpref.models.settings import as_setting, from_settings
from stochpref.models.values import Values
from stochpref.observations import Observations
from stochpref.predictive_check import PredictiveCheck

FORMAT: Final = 2
HEADER: Final = "fit.json"
LEARNED: Final = "learned.json"
ARRAYS: Final = "arrays.npz"
_LARGEST_JSON: Final = 2**26  # bytes; the fit of a thousand goods has a hundredth of that

Model = TypeVar("Model")


class SavedFit(NamedTuple):
    """What a folder holds.

    model : its name.
    header : settings, seed, data, command.
    learned : what the model wrote that is no array.
    tree : draws and data.
    """

    model: str
    header: Values
    learned: Values
    tree: xr.DataTree


def save_model(
    model: Any,
    folder: str | Path,
    *,
    learned: Mapping[str, Any],
    tree: xr.DataTree,
    command: Sequence[str] | None,
) -> None:
    """Write a fitted model to a folder, in place of the fit it held.

    Parameters
    ----------
    learned : what `fit` found that is no array, as JSON holds it.
    tree : arrays, the observations among them as `data_groups` arranges them.
    command : the words that made the fit; those the model came with if None.
    """
    words = model.command_ if command is None else command
    header = {
        "model": model.name,
        "version": __version__,
        "settings": {parameter: as_setting(value) for parameter, value in model.get_params(deep=False).items()},
        "seed": model.seed_,
        "data": {"hash": model.data_hash_, "n_observations": model.n_observations_, "n_goods": len(model.goods_)},
        "command": None if words is None else [shown(word) for word in words],
    }
    write_fit(folder, header, learned, tree)


def restore_model(kind: type[Model], saved: SavedFit, records: Mapping[str, str]) -> Model:
    """Return a model with its parameters and all that `save_model` writes of any model.

    Parameters
    ----------
    records : parameter -> ``module:name`` of the options it takes.
    """
    header, data = saved.header, saved.header.part("data")
    model: Any = kind(**from_settings(header.part("settings").found, records))
    model.n_observations_, model.n_features_in_ = data.whole("n_observations", 1), data.whole("n_goods", 1)
    model.data_hash_ = data.text("hash")
    model.seed_, model.command_ = header.optional(header.whole, "seed"), header.optional(header.texts, "command")
    return model


def restore_check(learned: Values, observations: Observations) -> PredictiveCheck | None:
    """Return the predictive check that a fit was saved with; None where it is from a time without."""
    if "check" not in learned.found:
        return None
    saved, n = learned.part("check"), observations.n_goods
    n_sizes = max(len(saved.found["size"]), 1) if isinstance(saved.found.get("size"), list) else 1
    found: dict[str, Any] = {"goods": observations.goods}
    found["share"] = saved.shares("share", n)
    for name in ("share_lower", "share_upper"):
        found[name] = saved.shares(name, n, np.isnan(found["share"]))
    for name in ("size", "size_lower", "size_upper"):
        found[name] = saved.shares(name, n_sizes, np.zeros(n_sizes, np.bool_))
    for name in ("spent", "spent_lower", "spent_upper"):
        found[name] = saved.number(name)
    for name in ("novel", "novel_lower", "novel_upper"):
        found[name] = saved.number(name, 0.0, 1.0)
    found["skipped"] = saved.optional(partial(saved.number, most=1.0), "skipped")
    for name in ("size_step", "n_rows", "n_replicates"):
        found[name] = saved.whole(name, 1)
    return PredictiveCheck(**found)


def write_fit(folder: str | Path, header: Mapping[str, Any], learned: Mapping[str, Any], tree: xr.DataTree) -> None:
    """Write a fit to a folder, made as needed, in place of the fit it held; other files are left alone."""
    home = Path(folder)
    former = _hashes(_header_in(home))
    hashes = {}
    with made(home), ExitStack() as stack:
        # All are written before any takes its place, and they do so in reverse: the header last.
        first = stack.enter_context(replacing(home / HEADER))
        for name in (LEARNED, ARRAYS):
            stream = stack.enter_context(replacing(home / name))
            if name == ARRAYS:
                write_tree(stream, tree)
            else:
                stream.write(as_json(learned))
            stream.flush()
            hashes[name] = _hash_of(Path(stream.name))
        first.write(as_json({"format": FORMAT, **header, "files": hashes}))
        first.flush()
    ours = {name for parts in FORMER_PARTS.values() for name in parts} - hashes.keys()
    for name in ours & former.keys():
        if (home / name).is_file() and _hash_of(home / name) == former[name]:  # not changed since
            (home / name).unlink()


def model_in(folder: str | Path) -> str | None:
    """Return the model of the fit that a folder holds, None if it holds none."""
    header = _header_in(Path(folder))
    return str(header["model"]) if _hashes(header) and "model" in header else None


def _header_in(home: Path) -> dict[str, Any]:
    """Return the header of the fit that a folder holds, {} if it holds none that can be read."""
    try:
        header = _read_json(home / HEADER)
    except (OSError, UnreadableData):
        return {}
    return header if isinstance(header, dict) else {}


def _hashes(header: Mapping[str, Any]) -> dict[str, Any]:
    files = header.get("files")
    return files if isinstance(files, dict) else {}


def read_fit(folder: str | Path) -> SavedFit:
    """Read a fit from a folder.

    Raises
    ------
    UnreadableData : the folder is not a fit, is incomplete or was changed.
    """
    home = Path(folder)
    if not (home / HEADER).is_file():
        raise UnreadableData(
            f"{home} is not a saved fit: it has no {HEADER}; give the folder that save() or `stochpref fit` wrote"
            f"{_near_fits(home)}"
        )
    found = _read_json(home / HEADER)
    number = found.get("format") if isinstance(found, dict) else None
    if type(number) is not int or number not in (FORMER_FORMAT, FORMAT):
        raise UnreadableData(
            f"{home}: a fit must have format {FORMAT}, or {FORMER_FORMAT}; found {shown(repr(number), 60)}; read it "
            "with its own version"
        )
    missing = [name for name in ("model", "version", "settings", "seed", "data", "files") if name not in found]
    if missing:
        raise UnreadableData(f"{home / HEADER} is incomplete: it lacks {', '.join(missing)}; save the fit again")
    header = Values(found, str(home / HEADER))
    if number == FORMER_FORMAT:
        return _read_former(home, header)
    learned, arrays = _learned(home, LEARNED, header), _part(home, ARRAYS)
    with arrays.open("rb") as stream:
        tree = read_tree(stream, arrays)
    _check_hash(arrays, header)
    return SavedFit(header.text("model"), header, learned, tree)


def _read_former(home: Path, header: Values) -> SavedFit:
    """Read a fit of version 0.1.0."""
    model = header.text("model")
    if model not in FORMER_PARTS:
        raise UnreadableData(f"{home}: model must be one of {', '.join(FORMER_PARTS)}; found {shown(repr(model), 60)}")
    of_learned, of_arrays = FORMER_PARTS[model]
    learned = _learned(home, of_learned, header)
    arrays = _part(home, of_arrays)
    _check_hash(arrays, header)  # first: what an accident did is soon known, what reading it would do is not
    tree = read_netcdf(arrays)
    if model == "common":
        add_explained(tree, learned)
    return SavedFit(model, former_header(header, learned), learned, tree)


def _learned(home: Path, name: str, header: Values) -> Values:
    path = _part(home, name)
    found = _read_json(path)
    _check_hash(path, header)
    if not isinstance(found, dict):
        raise UnreadableData(f"{path} must hold an object; save the fit again")
    return Values(found, str(path))


def _part(home: Path, name: str) -> Path:
    """Return the path of a part, if it is there."""
    if not (home / name).is_file():
        raise UnreadableData(f"{home} is incomplete: {HEADER} is there and {name} is not; save the fit again")
    return home / name


def _check_hash(path: Path, header: Values) -> None:
    """Refuse a part that is not the one that the header was written with."""
    if _hash_of(path) != header.part("files").text(path.name):
        raise UnreadableData(f"{path} does not belong to {HEADER} beside it; save the fit again")


def _hash_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_json(path: Path) -> Any:
    if path.stat().st_size > _LARGEST_JSON:
        raise UnreadableData(f"{path} has more than {_LARGEST_JSON:,} bytes, which no fit needs; save the fit again")
    return parse_json(path.read_bytes(), path)


def _near_fits(home: Path) -> str:
    """Return a question that offers the saved fit whose name is nearest, of those inside a folder or beside it."""
    inside, beside = _fits_in(home), _fits_in(home.parent)
    near = inside or difflib.get_close_matches(home.name, beside, n=1)
    return f"; did you mean {(home if inside else home.parent) / near[0]}?" if near else ""


def _fits_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if (entry / HEADER).is_file())
    except (OSError, ValueError):
        return []
