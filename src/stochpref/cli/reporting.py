# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command that turns a fit into a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stochpref.cli.application import app, echo, echo_json, ready_file, wrote
from stochpref.cli.deciding import costs_of
from stochpref.cli.options import FitFolder, json_option


@app.command()
def report(
    folder: FitFolder,
    out: Annotated[Path, typer.Option(help="The page to write, .html.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    costs: Annotated[
        Path | None,
        typer.Option(help="What a unit of each good costs you, columns good and cost: adds profit, and best prices."),
    ] = None,
    currency: Annotated[str, typer.Option(help="Of prices, shown beside money, such as EUR.")] = "",
    as_json: Annotated[bool, json_option("Print path and size as JSON.")] = False,
) -> None:
    """Write a fit as one page: verdict, what sells, a what-if with sliders, prices; then why to believe it, and data.

    The page opens in any browser, from disk and without a network: send it, print it, keep it. Of groups that were
    fitted apart (`fit --by`) it shows the one that is chosen.

    \b
    Examples:
      stochpref report fit/
      stochpref report fit/ --out report.html --title "Dairy, spring 2026"
      stochpref report fit/ --costs costs.csv --currency EUR
    """  # noqa: D301
    from stochpref.groups import INDEX, load_groups  # noqa: PLC0415
    from stochpref.models import load_fit  # noqa: PLC0415
    from stochpref.report import write_report  # noqa: PLC0415

    ready_file(out, suffixes=(".html", ".htm"), sources=[] if costs is None else [costs])
    found = load_groups(folder) if (folder / INDEX).is_file() else load_fit(folder)
    path = write_report(found, out, title=title, costs=costs_of(costs), currency=currency)
    size = path.stat().st_size
    if as_json:
        echo_json({"path": str(path), "bytes": size})
    else:
        echo(path)
    wrote(path, f"{size / 1e6:.1f} MB")
