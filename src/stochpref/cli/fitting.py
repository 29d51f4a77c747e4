# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands about fits: make one, look at it, predict from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stochpref import __version__
from stochpref.cli.application import (
    Budget,
    Degenerate,
    Layout,
    Model,
    app,
    columns,
    echo,
    exit_codes,
    ready_file,
    ready_folder,
    warnings_to_stderr,
    without_nan,
    words_of,
)
from stochpref.errors import InvalidArgument, InvalidObservations, counted, shown

if TYPE_CHECKING:
    from stochpref.models import CommonUtility, HeterogeneousUtility
    from stochpref.observations import Menus, Observations
    from stochpref.readers import StoredObservations

_CHECKPOINT = "checkpoint.npz"


class Solver(StrEnum):
    """How to look for the common utility."""

    certified = "certified"
    annealing = "annealing"


class Centre(StrEnum):
    """Which of the best utilities to report."""

    bayes = "bayes"
    chebyshev = "chebyshev"
    vertex = "vertex"


class Engine(StrEnum):
    """Where the likelihood is summed."""

    cpu = "cpu"
    jax = "jax"
    dask = "dask"


class SamplerName(StrEnum):
    """How to draw from the posterior."""

    auto = "auto"
    gibbs = "gibbs"
    importance = "importance"
    layered = "layered"
    hamiltonian = "hamiltonian"
    metropolis = "metropolis"


@app.command()
def fit(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="Purchases, as `stochpref check` reads them; or a folder of Parquet files, wide, of any size.",
            metavar="FILE",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the fit to.")],
    model: Annotated[Model, typer.Option(help="Customers who differ, or one utility and some odd customers.")] = (
        Model.heterogeneous
    ),
    sampler: Annotated[SamplerName | None, typer.Option(help="Heterogeneous: how to draw; auto picks.")] = None,
    chains: Annotated[int | None, typer.Option(help="Heterogeneous: chains, 4 unless said.", min=1)] = None,
    draws: Annotated[int | None, typer.Option(help="Heterogeneous: draws a chain at least, 1000.", min=1)] = None,
    effective: Annotated[
        int | None, typer.Option(help="Heterogeneous: effective draws to go on for, 400.", min=0)
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Heterogeneous: stop drawing after this time.")] = None,
    concentration_bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Heterogeneous: interval of the concentration, 0 to 20 n unless said."),
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="Heterogeneous: cpu; jax for a GPU; dask for a process on each core.")
    ] = None,
    require_converged: Annotated[
        bool, typer.Option("--require-converged", help="Heterogeneous: exit with code 3 unless it converged.")
    ] = False,
    odd: Annotated[
        Path | None, typer.Option(help="Common: write the odd observations and why they are odd, .csv.")
    ] = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="In it, put ' before names that a spreadsheet would run as formulas.")
    ] = False,
    margin: Annotated[
        str | None, typer.Option(help="Common: how far inside its region a purchase must be: a number or `theorem`.")
    ] = None,
    solver: Annotated[Solver | None, typer.Option(help="Common: certified, or the paper's annealing.")] = None,
    centre: Annotated[Centre | None, typer.Option(help="Common: which of the best utilities.")] = None,
    require_optimal: Annotated[
        bool, typer.Option("--require-optimal", help="Common: exit with code 3 unless the optimum is proven.")
    ] = False,
    degenerate: Annotated[Degenerate, typer.Option(help="Observations with exact ties.")] = Degenerate.refuse,
    seed: Annotated[int, typer.Option(help="The same seed gives the same fit.", min=0)] = 0,
    layout: Annotated[Layout, typer.Option(help="As in check.")] = Layout.auto,
    column: Annotated[list[str] | None, typer.Option(help="As in check.", metavar="OURS=YOURS")] = None,
    budget: Annotated[Budget, typer.Option(help="As in check.")] = Budget.stated,
    cap: Annotated[float, typer.Option(help="As in check.")] = 1.0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="As in check.")] = False,
    single_precision: Annotated[
        bool, typer.Option("--single-precision", help="A folder: 32-bit prices, for half the disk space or memory.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a summary.")] = False,
) -> None:
    """Fit a model to purchases.

    Heterogeneous: the posterior of what customers want and of how much they differ. A run that is stopped goes on
    where it was when the same command is given again.
    Common: the utility that explains most purchases, a proof, and who is odd.

    \b
    Examples:
      stochpref fit purchases.csv --out fit/
      stochpref fit purchases.csv --out fit/ --effective 1000 --max-seconds 600
      stochpref fit purchases/ --out fit/
      stochpref fit purchases.csv --model common --out fit/ --odd odd.csv
      stochpref fit purchases.csv --model common --out fit/ --require-optimal --json
    """  # noqa: D301
    with exit_codes():
        own: dict[Model, dict[str, Any]] = {
            Model.heterogeneous: {
                "--sampler": sampler, "--chains": chains, "--draws": draws, "--effective": effective,
                "--max-seconds": max_seconds, "--concentration-bounds": concentration_bounds, "--engine": engine,
                "--require-converged": require_converged or None,
            },
            Model.common: {
                "--odd": odd, "--spreadsheet": spreadsheet or None, "--margin": margin, "--solver": solver,
                "--centre": centre, "--require-optimal": require_optimal or None,
            },
        }  # fmt: skip
        _refuse_stray(own, model)
        if spreadsheet and odd is None:
            raise InvalidArgument("--spreadsheet is about the file that --odd names; name one")
        if odd is not None:
            ready_file(odd, "--odd", suffixes=(".csv",), source=file)
        settings = {
            "sampler": sampler.value if sampler else None, "n_chains": chains, "n_draws": draws,
            "n_effective": effective, "max_seconds": max_seconds, "concentration_bounds": concentration_bounds,
            "engine": engine.value if engine else None,
        }  # fmt: skip
        given = {name: value for name, value in settings.items() if value is not None}
        reading = {"columns": columns(column or []), "budget": budget.value, "caps": cap}
        data, locate_fn = _read(file, model, layout, reading, skip_bad, single_precision)
        fitted: CommonUtility | HeterogeneousUtility
        ready_folder(out)
        with _located(file, locate_fn):
            if model is Model.common:
                fitted = _fit_common(data, margin or "0", solver, centre, degenerate, seed)
            else:
                fitted = _fit_heterogeneous(data, given, out, degenerate, seed)
            _save(fitted, out, model, seed, words_of(context))
        _print_fit(fitted.summary().as_dict(), str(fitted.summary()), model, seed, as_json)
        code = _conclude(fitted, odd, spreadsheet, require_optimal or require_converged)
        if code:
            sys.exit(code)


def _refuse_stray(own: dict[Model, dict[str, Any]], model: Model) -> None:
    """Refuse options that belong to the other model."""
    other = Model.common if model is Model.heterogeneous else Model.heterogeneous
    stray = [name for name, value in own[other].items() if value is not None]
    if stray:
        raise InvalidArgument(f"{stray[0]} belongs to --model {other.value}; this fit is of model {model.value}")


def _read(
    file: Path, model: Model, layout: Layout, reading: dict[str, Any], skip_bad: bool, single_precision: bool
) -> tuple[Any, Callable[[int], str] | None]:
    """Return the purchases of a file, or of a folder without loading it, and what finds an observation in the file."""
    from stochpref.readers import StoredObservations, scan  # noqa: PLC0415

    if not file.is_dir():
        if single_precision:
            raise InvalidArgument(f"--single-precision is for folders of Parquet files; {file} is not a folder")
        found = scan(file, layout=layout.value, **reading)
        return found.accept(skip_bad=skip_bad), found.locate
    if model is Model.common:
        raise InvalidArgument(
            f"{file}: a folder is fitted by --model heterogeneous; --model common compares every two purchases "
            "and takes one file"
        )
    return StoredObservations(file, skip_bad=skip_bad, single_precision=single_precision, **reading), None


def _save(fitted: CommonUtility | HeterogeneousUtility, out: Path, model: Model, seed: int, command: list[str]) -> None:
    from stochpref.models.storage import model_in  # noqa: PLC0415

    former = model_in(out)
    fitted.save(out, command=command)
    replaced = "" if former in (None, model.value) else f", in place of a {former} fit"
    echo(f"wrote {out} (model {model.value}, seed {seed}, version {__version__}){replaced}", err=True)


def _conclude(
    fitted: CommonUtility | HeterogeneousUtility, odd: Path | None, spreadsheet: bool, is_strict: bool
) -> int:
    """Write the odd observations if asked for, say what is left to say, and return the exit code."""
    from stochpref.models import CommonUtility  # noqa: PLC0415

    if isinstance(fitted, CommonUtility):
        if odd is not None:
            _write_odd(fitted, odd, spreadsheet)
        if fitted.is_optimal_:
            return 0
        bound = f"{fitted.n_consistent_:,} consistent, at most {fitted.upper_bound_:,}"
        echo(f"not proven optimal: {bound}", err=True)
        return 3 if is_strict else 0
    if fitted.status_ == "interrupted":
        echo("interrupted: what was drawn is saved; give the same command again to go on", err=True)
        return 130
    return 3 if is_strict and not fitted.is_converged_ else 0


@contextmanager
def _located(file: Path, locate_fn: Callable[[int], str] | None) -> Iterator[None]:
    """Say of observations that a fit refuses where they are in the file."""
    try:
        yield
    except InvalidObservations as error:
        if locate_fn is None:
            raise
        places = ", ".join(locate_fn(t) for t in error.rows[:3])
        raise InvalidObservations(f"{file}: {error}; in the file: {places}", error.rows) from None


def _fit_common(
    data: Observations, margin: str, solver: Solver | None, centre: Centre | None, degenerate: Degenerate, seed: int
) -> CommonUtility:
    from stochpref.models import CommonUtility  # noqa: PLC0415

    return CommonUtility(
        margin=_margin(margin),
        solver=(solver or Solver.certified).value,
        random_state=seed,
        centre=(centre or Centre.bayes).value,
        degenerate=degenerate.value,
        verbose=True,
    ).fit(data)


def _fit_heterogeneous(
    data: Observations | StoredObservations, settings: dict[str, Any], out: Path, degenerate: Degenerate, seed: int
) -> HeterogeneousUtility:
    from stochpref.models import HeterogeneousUtility  # noqa: PLC0415

    checkpoint = out / _CHECKPOINT
    is_begun = checkpoint.exists()
    model = HeterogeneousUtility(
        random_state=seed, degenerate=degenerate.value, checkpoint=checkpoint, verbose=True, **settings
    )
    with warnings_to_stderr():
        model.fit(data)
    if is_begun:
        echo(f"resumed from {checkpoint}", err=True)
    return model


def _print_fit(content: dict[str, Any], text: str, model: Model, seed: int, as_json: bool) -> None:
    if as_json:
        header = {"version": __version__, "model": model.value, "seed": seed}
        echo(json.dumps(without_nan({**header, **content}), indent=2))
    else:
        echo(text)


@app.command()
def summary(
    folder: Annotated[Path, typer.Argument(help="A fit that `stochpref fit` wrote.", metavar="FIT")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print what a saved fit learned and how far to trust it.

    \b
    Examples:
      stochpref summary fit/
      stochpref summary fit/ --json
    """  # noqa: D301
    with exit_codes():
        from stochpref.models import HeterogeneousUtility, load_fit  # noqa: PLC0415

        fitted = load_fit(folder)
        model = Model.heterogeneous if isinstance(fitted, HeterogeneousUtility) else Model.common
        seed = -1 if fitted.seed_ is None else fitted.seed_
        found = fitted.summary()
        _print_fit(found.as_dict(), str(found), model, seed, as_json)


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(help="A fit that `stochpref fit` wrote.", metavar="FIT")],
    file: Annotated[
        Path,
        typer.Argument(
            help="Prices and budgets, as purchases without quantities; one menu needs no observation column.",
            metavar="MENUS",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Write a row per menu and good, .csv.")] = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="In it, put ' before names that a spreadsheet would run as formulas.")
    ] = False,
    level: Annotated[float, typer.Option(help="Of the intervals (heterogeneous).")] = 0.9,
    layout: Annotated[Layout, typer.Option(help="As in check.")] = Layout.auto,
    column: Annotated[list[str] | None, typer.Option(help="As in check.", metavar="OURS=YOURS")] = None,
    cap: Annotated[float, typer.Option(help="As in check.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Predict purchases at new prices and budgets.

    Heterogeneous: expected purchases of a customer with intervals, revenue, and the bundle of the mean direction.
    Common: the bundle that the common utility buys. Goods are matched by name; one that the file lacks is not on offer.

    \b
    Examples:
      stochpref predict fit/ new_prices.csv
      stochpref predict fit/ new_prices.csv --level 0.95 --out demand.csv
    """  # noqa: D301
    with exit_codes():
        from stochpref.demand import menu_labels, prediction_rows  # noqa: PLC0415
        from stochpref.models import HeterogeneousUtility, load_fit  # noqa: PLC0415
        from stochpref.readers import read_menus  # noqa: PLC0415
        from stochpref.readers.writing import write_rows  # noqa: PLC0415

        if spreadsheet and out is None:
            raise InvalidArgument("--spreadsheet is about the file that --out names; name one")
        if out is not None:
            ready_file(out, suffixes=(".csv",), source=file)
        fitted = load_fit(folder)
        menus = read_menus(file, layout=layout.value, columns=columns(column or []), caps=cap, goods=fitted.goods_)
        labels, bundles = menu_labels(menus), fitted.predict(menus)
        demand = fitted.demand(menus, level=level) if isinstance(fitted, HeterogeneousUtility) else None
        if as_json:
            content: dict[str, Any] = {
                "version": __version__,
                "goods": list(menus.goods),
                "labels": list(labels),
                "bundles": bundles.tolist(),
            }
            if demand is not None:
                content["demand"] = demand.as_dict()
            echo(json.dumps(without_nan(content), indent=2))
        elif demand is not None:
            echo(demand)
        else:
            echo(_bundle_table(menus, labels, bundles))
        if out is not None:
            write_rows(out, prediction_rows(menus, bundles, demand), for_spreadsheet=spreadsheet)
            echo(f"wrote {out} ({counted(len(menus), 'menu')})", err=True)


def _bundle_table(menus: Menus, labels: tuple[str, ...], bundles: Any) -> str:
    lines = ["Bundles of the common utility"]
    for t in range(min(len(menus), 10)):
        bought = [f"{shown(menus.goods[i])} {bundles[t, i]:.3g}" for i in range(menus.n_goods) if bundles[t, i] > 0]
        lines.append(f"  menu {shown(labels[t])}: {', '.join(bought) or 'nothing'}")
    if len(menus) > 10:
        lines.append(f"  and {len(menus) - 10:,} more menus")
    return "\n".join(lines)


def _margin(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _write_odd(fitted: CommonUtility, path: Path, spreadsheet: bool) -> None:
    import numpy as np  # noqa: PLC0415

    from stochpref.consensus.explanation import odd_rows  # noqa: PLC0415
    from stochpref.readers.writing import write_rows  # noqa: PLC0415

    odd = np.flatnonzero(~fitted.consistent_).tolist()
    write_rows(path, odd_rows(map(fitted.explain, odd)), for_spreadsheet=spreadsheet)
    echo(f"wrote {path} ({counted(len(odd), 'odd observation')})", err=True)
