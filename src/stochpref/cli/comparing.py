# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command that puts fits beside one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stochpref.cli.application import app, echo, echo_json, warnings_to_stderr
from stochpref.cli.options import AsInCheck, expanding, json_option
from stochpref.errors import InvalidArgument


@app.command()
@expanding
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Fits that `stochpref fit` wrote, two or more.", metavar="FIT")],
    *,
    held_out: Annotated[
        Path | None, typer.Option(help="Purchases that none of them learned from, as `stochpref check` reads them.")
    ] = None,
    reading: AsInCheck,
    as_json: Annotated[bool, json_option("Print JSON instead of a table.")] = False,
) -> None:
    """Compare fits: what they explain, leave-one-out scores, log scores of data held out.

    Differences are paired, observation by observation, between the first fit and each other one.

    \b
    Examples:
      stochpref compare fit/ common/ --held-out later.csv
      stochpref compare fit-a/ fit-b/ --json
    """  # noqa: D301
    from stochpref.comparison import compare_fits  # noqa: PLC0415
    from stochpref.models import load_fit  # noqa: PLC0415

    if len(folders) < 2:
        raise InvalidArgument(f"compare needs two fits or more; received {len(folders)}")
    if len(set(folders)) < len(folders):
        raise InvalidArgument("compare needs different fits; received one of them twice")
    data = None if held_out is None else reading.accept(reading.scan([held_out]))
    with warnings_to_stderr():
        result = compare_fits({str(folder): load_fit(folder) for folder in folders}, data)
    if as_json:
        echo_json(result.as_dict())
    else:
        echo(result)
