# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command that puts fits beside one another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from stochpref import __version__
from stochpref.cli.application import Budget, Layout, app, columns, echo, exit_codes, warnings_to_stderr, without_nan
from stochpref.errors import InvalidArgument


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Fits that `stochpref fit` wrote, two or more.", metavar="FIT")],
    held_out: Annotated[
        Path | None, typer.Option(help="Purchases that none of them learned from, as `stochpref check` reads them.")
    ] = None,
    layout: Annotated[Layout, typer.Option(help="As in check.")] = Layout.auto,
    column: Annotated[list[str] | None, typer.Option(help="As in check.", metavar="OURS=YOURS")] = None,
    budget: Annotated[Budget, typer.Option(help="As in check.")] = Budget.stated,
    cap: Annotated[float, typer.Option(help="As in check.")] = 1.0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="As in check.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare fits: what they explain, leave-one-out scores, log scores of data held out.

    Differences are paired, observation by observation, between the first fit and each other one.

    \b
    Examples:
      stochpref compare fit/ common/ --held-out later.csv
      stochpref compare fit-a/ fit-b/ --json
    """  # noqa: D301
    with exit_codes():
        from stochpref.comparison import compare_fits  # noqa: PLC0415
        from stochpref.models import load_fit  # noqa: PLC0415
        from stochpref.readers import scan  # noqa: PLC0415

        if len(folders) < 2:
            raise InvalidArgument(f"compare needs two fits or more; received {len(folders)}")
        if len(set(folders)) < len(folders):
            raise InvalidArgument("compare needs different fits; received one of them twice")
        data = None
        if held_out is not None:
            found = scan(held_out, layout=layout.value, columns=columns(column or []), budget=budget.value, caps=cap)
            data = found.accept(skip_bad=skip_bad)
        with warnings_to_stderr():
            result = compare_fits({str(folder): load_fit(folder) for folder in folders}, data)
        if as_json:
            echo(json.dumps(without_nan({"version": __version__, **result.as_dict()}), indent=2))
        else:
            echo(result)
