# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command that fits a model to purchases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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
from stochpref.cli.options import (
    AsInCheck,
    Reading,
    Spreadsheet,
    expanding,
    given,
    json_option,
    one_of,
    option_of,
    seed_option,
)
from stochpref.errors import InvalidArgument, InvalidObservations, UnreadableData, counted, shown
from stochpref.loading import load
from stochpref.names import CENTRES, COVARIANCES, ENGINES, MODELS, SAMPLERS, SOLVERS, TIES

if TYPE_CHECKING:
    from stochpref.models import CommonUtility, Selection
    from stochpref.models.fit import Fit
    from stochpref.observations import Observations

_AUTO = "auto"  # the model that purchases held out speak for
_ALONE = "heterogeneous"  # the model of what is fitted without choosing: a folder, or groups
_CHECKPOINT = "checkpoint.npz"
_SCORES = "scores.partial.json"  # of models tried so far, until one is fitted


@dataclass(frozen=True)
class Drawing:
    """Options of models of customers who differ, which draw from a posterior."""

    chains: Annotated[int | None, typer.Option(help="Customers who differ: chains, 4 unless said.", min=1)] = None
    draws: Annotated[
        int | None, typer.Option(help="Customers who differ: draws a chain at least, 1000; of segments 250.", min=1)
    ] = None
    effective: Annotated[
        int | None,
        typer.Option(help="Customers who differ: effective draws to go on for, 400; of segments 200.", min=0),
    ] = None
    max_seconds: Annotated[float | None, typer.Option(help="Customers who differ: stop drawing after this time.")] = (
        None
    )
    engine: Annotated[
        str | None, one_of(ENGINES, "Customers who differ: cpu; jax for a GPU; dask for a process on each core.")
    ] = None
    require_converged: Annotated[
        bool, typer.Option("--require-converged", help="Customers who differ: exit with code 3 unless it converged.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        own = {"chains": "n_chains", "draws": "n_draws", "effective": "n_effective"}
        return {own.get(name, name): value for name, value in given(self).items() if name != "require_converged"}


@dataclass(frozen=True)
class OneLaw:
    """Options of the heterogeneous model alone."""

    sampler: Annotated[str | None, one_of(("auto", *SAMPLERS), "Heterogeneous: how to draw; auto picks.")] = None
    concentration_bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Heterogeneous: interval of the concentration, 0 to 20 n unless said."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with."""
        return given(self)


@dataclass(frozen=True)
class Segmenting:
    """Options of the segmented model alone."""

    segments: Annotated[
        str | None, typer.Option(help="Segmented: how many segments; auto, unless said, picks by BIC.", metavar="K")
    ] = None
    max_segments: Annotated[int | None, typer.Option(help="Segmented: that auto tries at most, 6.", min=1)] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        found = given(self)
        if "segments" in found:
            text = found.pop("segments")
            found["n_segments"] = int(text) if text.isascii() and text.isdecimal() else text
        return found


@dataclass(frozen=True)
class Searching:
    """Options of the common model."""

    odd: Annotated[Path | None, typer.Option(help="Common: write the odd observations and why they are odd, .csv.")] = (
        None
    )
    spreadsheet: Spreadsheet = False
    margin: Annotated[
        str | None, typer.Option(help="Common: how far inside its region a purchase must be: a number or `theorem`.")
    ] = None
    solver: Annotated[str | None, one_of(SOLVERS, "Common: certified, or the paper's annealing.")] = None
    centre: Annotated[str | None, one_of(CENTRES, "Common: which of the best utilities.")] = None
    require_optimal: Annotated[
        bool, typer.Option("--require-optimal", help="Common: exit with code 3 unless the optimum is proven.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with."""
        found = {name: value for name, value in given(self).items() if name in ("margin", "solver", "centre")}
        with suppress(KeyError, ValueError):  # a word goes to the model as it is
            found["margin"] = float(found["margin"])
        return found


@dataclass(frozen=True)
class Relating:
    """Options of the normal model alone."""

    covariance: Annotated[
        str | None, one_of(COVARIANCES, "Normal: which goods are liked together: through factors, none, or any.")
    ] = None
    factors: Annotated[int | None, typer.Option(help="Normal: how many factors, 1 unless said.", min=1)] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        return {"n_factors" if name == "factors" else name: value for name, value in given(self).items()}


Options: TypeAlias = Drawing | OneLaw | Segmenting | Relating | Searching


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
            (_AUTO, *MODELS),
            "What is fitted; auto: the one of those that suit whose chances of purchases held out are best.",
        ),
    ] = "auto",
    drawing: Drawing,
    one_law: OneLaw,
    segmenting: Segmenting,
    relating: Relating,
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

    \b
    Examples:
      stochpref fit purchases.csv --out fit/
      stochpref fit purchases.csv --model heterogeneous --out fit/ --effective 1000 --max-seconds 600
      stochpref fit purchases/ --out fit/
      stochpref fit orders.csv --by store --out fits/
      stochpref fit purchases.csv --model segmented --segments 3 --out fit/
      stochpref fit purchases.csv --model common --out fit/ --odd odd.csv
      stochpref fit purchases.csv --model common --out fit/ --require-optimal --json
    """  # noqa: D301
    options: dict[str, tuple[Options, ...]] = {
        "heterogeneous": (drawing, one_law), "segmented": (drawing, segmenting), "normal": (drawing, relating),
        "common": (searching,),
    }  # fmt: skip
    is_alone = by is not None or _is_stored(files)
    named = _named(model, options, is_alone=is_alone)
    odd = searching.odd
    if searching.spreadsheet and odd is None:
        raise InvalidArgument("--spreadsheet is about the file that --odd names; name one")
    if odd is not None:
        ready_file(odd, "--odd", suffixes=(".csv",), sources=files)
    is_strict = drawing.require_converged or searching.require_optimal
    settings = {name: _settings(options[name]) | {"degenerate": degenerate} for name in named}
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
    print_fit(fitted, seed, as_json)
    if odd is not None:
        _write_odd(fitted, odd, searching.spreadsheet)
    code = _conclude(fitted, is_strict)
    if code:
        sys.exit(code)


def _settings(records: tuple[Options, ...]) -> dict[str, Any]:
    """Return what options make a model with."""
    return {name: value for record in records for name, value in record.settings().items()}


def _named(model: str, options: dict[str, tuple[Options, ...]], *, is_alone: bool) -> list[str]:
    """Return the models to fit: that of a name, those whose options were given, one where there is no choosing."""
    if model != _AUTO:
        _check_owners(model, options)
        return [model]
    used = [record for record in dict.fromkeys(chain(*options.values())) if given(record)]
    named = [name for name, records in options.items() if all(record in records for record in used)]
    if not named:
        told = [f"{option_of(next(iter(given(record))))} ({' or '.join(_owners(record, options))})" for record in used]
        raise InvalidArgument(f"options must be of one model; received {' and '.join(told)}; leave one of them out")
    return [_ALONE if _ALONE in named else named[0]] if is_alone else named


def _owners(record: Options, options: dict[str, tuple[Options, ...]]) -> list[str]:
    return [name for name, records in options.items() if record in records]


def _check_owners(model: str, options: dict[str, tuple[Options, ...]]) -> None:
    """Refuse options of models other than that of the fit."""
    for record in dict.fromkeys(record for records in options.values() for record in records):
        owners = _owners(record, options)
        for name in given(record) if model not in owners else ():
            raise InvalidArgument(
                f"{option_of(name)} belongs to --model {' or '.join(owners)}; this fit is of model {model}"
            )


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
