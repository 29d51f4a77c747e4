# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command that fits a model to purchases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stochpref import __version__
from stochpref.cli.application import (
    app,
    echo,
    echo_json,
    ready_file,
    ready_folder,
    warnings_to_stderr,
    words_of,
    wrote,
)
from stochpref.cli.asking import print_fit
from stochpref.cli.fit_options import (
    AUTO,
    Drawing,
    Fading,
    OneLaw,
    Options,
    Relating,
    Searching,
    Segmenting,
    named_models,
    settings_of,
)
from stochpref.cli.options import (
    AsInCheck,
    Reading,
    expanding,
    json_option,
    one_of,
    seed_option,
)
from stochpref.errors import InvalidArgument, InvalidObservations, UnreadableData, counted, shown
from stochpref.loading import load
from stochpref.names import MODELS, TIES

if TYPE_CHECKING:
    from stochpref.models import CommonUtility, Selection
    from stochpref.models.fit import Fit
    from stochpref.models.readings import Readings
    from stochpref.observations import Observations

_CHECKPOINT = "checkpoint.npz"
_SCORES = "scores.partial.json"  # of models tried so far, until one is fitted


@app.command()
@expanding
def fit(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Purchases, as `stochpref check` reads them; or a folder of Parquet files, wide, of any size.",
            metavar="FILE...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the fit to.")],
    *,
    model: Annotated[
        str,
        one_of(
            (AUTO, *MODELS),
            "What is fitted; auto: the one of those that suit whose chances of purchases held out are best.",
        ),
    ] = "auto",
    drawing: Drawing,
    one_law: OneLaw,
    segmenting: Segmenting,
    relating: Relating,
    fading: Fading,
    searching: Searching,
    degenerate: Annotated[str, one_of(TIES, "Observations with exact ties.")] = "refuse",
    seed: Annotated[int, seed_option("fit")] = 0,
    reading: AsInCheck,
    by: Annotated[
        str | None,
        typer.Option(help="Fit each group apart: a column that names it (several: a,b), or `file`.", metavar="COLUMN"),
    ] = None,
    single_precision: Annotated[
        bool, typer.Option("--single-precision", help="A folder: 32-bit prices, for half the disk space or memory.")
    ] = False,
    as_json: Annotated[bool, json_option("Print JSON instead of a summary.")] = False,
) -> None:
    """Fit a model to purchases: unless one is named, the one that purchases held out speak for.

    Auto: models that suit the data and its size are scored on a fifth of the purchases, held out; the best is fitted
    to all, and the table says how sure that is. An option of one model alone picks that model. A folder, and groups
    (--by), are fitted by heterogeneous unless a model is named.
    Heterogeneous: the posterior of what customers want and of how much they differ. A run that is stopped goes on
    where it was when the same command is given again.
    Segmented: several such groups of customers: how many, how large, and what each wants.
    Normal: goods liked together, and goods worth much to few.
    Common: the utility that explains most purchases, a proof, and who is odd.
    Satiated: of goods that satiate (--problem satiated), what each is worth, and how soon customers have enough.

    \b
    Examples:
      stochpref fit purchases.csv --out fit/
      stochpref fit purchases.csv --model heterogeneous --out fit/ --effective 1000 --max-seconds 600
      stochpref fit purchases/ --out fit/
      stochpref fit orders.csv --by store --out fits/
      stochpref fit purchases.csv --model segmented --segments 3 --out fit/
      stochpref fit purchases.csv --feature price --feature promotion --out fit/
      stochpref fit purchases.csv --model common --out fit/ --odd odd.csv
      stochpref fit purchases.csv --model common --out fit/ --require-optimal --json
      stochpref fit trips.csv --problem satiated --outside rest --out fit/
    """  # noqa: D301
    options: dict[str, tuple[Options, ...]] = {
        "heterogeneous": (drawing, one_law), "segmented": (drawing, segmenting), "normal": (drawing, relating),
        "common": (searching,), "satiated": (drawing, fading),
    }  # fmt: skip
    is_alone = by is not None or _is_stored(files)
    named = named_models(model, options, is_alone=is_alone, has_features=bool(reading.feature))
    moving, read = reading.feature, [*(reading.feature or ()), *fading.moving]
    reading = replace(reading, feature=list(dict.fromkeys(read)) or None)
    odd = searching.odd
    if searching.spreadsheet and odd is None:
        raise InvalidArgument("--spreadsheet is about the file that --odd names; name one")
    if odd is not None:
        ready_file(odd, "--odd", suffixes=(".csv",), sources=files)
    is_strict = drawing.require_converged or searching.require_optimal
    settings = {name: settings_of(options[name]) | {"degenerate": degenerate} for name in named}
    if moving:
        settings[named[0]]["features"] = tuple(moving)
    if by is not None:
        if single_precision or odd is not None:
            raise InvalidArgument(f"{'--odd' if odd else '--single-precision'} is for a single fit; leave out --by")
        data = reading.accept(reading.scan(files, by))
        ready_folder(out)
        estimator = load(MODELS[named[0]])(random_state=seed, **settings[named[0]])
        sys.exit(_fit_apart(estimator, data, out, as_json, is_strict=is_strict))
    data, locate_fn = _read(files, named[0], reading, single_precision)
    ready_folder(out)
    estimators = {name: _estimator(name, out, seed, settings[name]) for name in named}
    with _located(files, locate_fn):
        with warnings_to_stderr():
            found = _fit_best(estimators, data, out / _SCORES, seed) if len(named) > 1 else None
            fitted = _fit(estimators[named[0]], data) if found is None else found.best
        _save(fitted, out, seed, words_of(context))
        (out / _SCORES).unlink(missing_ok=True)  # the fit has them now
    print_fit(fitted, seed, as_json, _readings(fitted, data, seed))
    if odd is not None:
        _write_odd(fitted, odd, searching.spreadsheet)
    code = _conclude(fitted, is_strict)
    if code:
        sys.exit(code)


def _read(
    files: list[Path], model: str, reading: Reading, single_precision: bool
) -> tuple[Any, Callable[[int], str] | None]:
    """Return the purchases of files, or of a folder without loading it, and what finds an observation in a file."""
    if not _is_stored(files):
        if single_precision:
            raise InvalidArgument(
                f"--single-precision is for folders of Parquet files; {files[0]} is not a folder of such files alone"
            )
        found = reading.scan(files)
        return reading.accept(found), found.locate
    if model == "common":
        raise InvalidArgument(
            f"{files[0]}: a folder is fitted by --model heterogeneous or segmented; --model common compares every two "
            "purchases and takes one file"
        )
    return reading.folder(files[0], single_precision=single_precision), None


def _readings(fitted: Fit, data: Any, seed: int) -> Readings | None:
    """Return readings of the budget side by side, where it is doubtful that what is stated bound customers."""
    from stochpref.models.readings import compare_readings, is_called_for  # noqa: PLC0415
    from stochpref.observations import Observations  # noqa: PLC0415

    if fitted.status_ == "interrupted" or not (isinstance(data, Observations) and is_called_for(data)):
        return None
    with warnings_to_stderr():
        return compare_readings(data, random_state=seed)


def _is_stored(files: list[Path]) -> bool:
    """Tell whether what is to be read is a folder without any file that must be read at once."""
    from stochpref.readers.sources import sources_of  # noqa: PLC0415

    if len(files) > 1 or not files[0].is_dir():
        return False
    try:
        return all(Path(name).suffix == ".parquet" for name in sources_of(files[0])[0])
    except UnreadableData:  # an empty folder: whoever reads it says what is missing
        return True


def _fit_apart(estimator: Any, data: Observations, out: Path, as_json: bool, *, is_strict: bool) -> int:
    """Fit each group of purchases and return the exit code."""
    from stochpref.groups import fit_groups  # noqa: PLC0415

    def report(done: int, total: int) -> None:
        if sys.stderr.isatty():
            echo(f"{done:,} of {total:,} groups", err=True)

    fits = fit_groups(estimator, data, folder=out, report=report)
    if as_json:
        echo_json({"model": estimator.name, "seed": estimator.random_state, **fits.as_dict()})
    else:
        echo(fits)
    wrote(out, f"model {estimator.name}, {counted(len(fits.rows), 'group')}, seed {estimator.random_state}")
    for row in fits.rows:
        if row.warning:
            echo(f"warning: {shown(row.group)}: {row.warning}", err=True)
    if len(fits.failures) == len(fits.rows):
        raise InvalidArgument(f"no group could be fitted; {next(iter(fits.failures.values()))}")
    return 3 if is_strict and (fits.failures or any(row.warning for row in fits.rows)) else 0


def _estimator(name: str, out: Path, seed: int, settings: dict[str, Any]) -> Any:
    """Return a model to fit, with a checkpoint in the folder of the fit if it keeps one."""
    estimator = load(MODELS[name])(random_state=seed, verbose=True, **settings)
    if "checkpoint" in estimator.get_params(deep=False):
        estimator.set_params(checkpoint=out / _CHECKPOINT)
    return estimator


def _fit(estimator: Any, data: Any) -> Any:
    """Return the estimator fitted; it goes on from its checkpoint if there is one."""
    checkpoint = estimator.get_params(deep=False).get("checkpoint")
    is_begun = checkpoint is not None and checkpoint.exists()
    estimator.fit(data)
    if is_begun:
        echo(f"resumed from {checkpoint}", err=True)
    return estimator


def _fit_best(estimators: dict[str, Any], data: Any, kept: Path, seed: int) -> Selection:
    """Return the model that purchases held out speak for, and why."""
    from stochpref.models import fit_best  # noqa: PLC0415

    def report(text: str) -> None:
        if sys.stderr.isatty():
            echo(text, err=True)

    degenerate = next(iter(estimators.values())).degenerate
    return fit_best(data, models=estimators, random_state=seed, degenerate=degenerate, kept=kept, report=report)


def _save(fitted: Fit, out: Path, seed: int, command: list[str]) -> None:
    from stochpref.models.storage import model_in  # noqa: PLC0415

    former = model_in(out)
    fitted.save(out, command=command)
    replaced = "" if former in (None, fitted.name) else f", in place of a {former} fit"
    echo(f"wrote {out} (model {fitted.name}, seed {seed}, version {__version__}){replaced}", err=True)


def _conclude(fitted: Fit, is_strict: bool) -> int:
    """Say what is left to say, and return the exit code."""
    if fitted.caveat:
        echo(fitted.caveat, err=True)
    if fitted.status_ == "interrupted":
        echo("interrupted: what was drawn is saved; give the same command again to go on", err=True)
        return 130
    return 3 if is_strict and not fitted.is_settled else 0


@contextmanager
def _located(files: list[Path], locate_fn: Callable[[int], str] | None) -> Iterator[None]:
    """Say of observations that a fit refuses where they are in their files."""
    try:
        yield
    except InvalidObservations as error:
        if locate_fn is None or not error.rows:
            raise
        places = ", ".join(locate_fn(t) for t in error.rows[:3])
        source = files[0] if len(files) == 1 else counted(len(files), "file")
        raise InvalidObservations(f"{source}: {error}; in the file: {places}", error.rows) from None


def _write_odd(fitted: CommonUtility, path: Path, spreadsheet: bool) -> None:
    import numpy as np  # noqa: PLC0415

    from stochpref.consensus.explanation import odd_rows  # noqa: PLC0415
    from stochpref.readers.writing import write_rows  # noqa: PLC0415

    odd = np.flatnonzero(~fitted.consistent_).tolist()
    write_rows(path, odd_rows(map(fitted.explain, odd)), for_spreadsheet=spreadsheet)
    wrote(path, counted(len(odd), "odd observation"))
