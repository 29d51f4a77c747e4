# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands that ask a saved fit: what it learned, and what customers would buy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stochpref.cli.application import app, echo, echo_json, ready_file, wrote
from stochpref.cli.options import FitFolder, MenusAsInCheck, Spreadsheet, expanding, json_option
from stochpref.errors import InvalidArgument, counted, shown
from stochpref.names import ROW_SUFFIXES

if TYPE_CHECKING:
    from stochpref.models.fit import Fit
    from stochpref.models.readings import Readings
    from stochpref.observations import Menus


@app.command()
def summary(folder: FitFolder, as_json: Annotated[bool, json_option("Print JSON instead of a table.")] = False) -> None:
    """Print what a saved fit learned and how far to trust it.

    \b
    Examples:
      stochpref summary fit/
      stochpref summary fit/ --json
    """  # noqa: D301
    from stochpref.groups import INDEX, read_groups  # noqa: PLC0415
    from stochpref.models import load_fit  # noqa: PLC0415

    if (folder / INDEX).is_file():
        fits = read_groups(folder)
        if as_json:
            echo_json(fits.as_dict())
        else:
            echo(fits)
        return
    fitted = load_fit(folder)
    print_fit(fitted, -1 if fitted.seed_ is None else fitted.seed_, as_json)
    if fitted.observations_.notes and not as_json:
        echo("\nHow the table was read")
        echo("\n".join(f"  {shown(note)}" for note in fitted.observations_.notes))


def print_fit(fitted: Fit, seed: int, as_json: bool, readings: Readings | None = None) -> None:
    """Print what a fit learned, after why it is the one, where it was chosen among models; then other readings."""
    from stochpref.models.ranking import record_of  # noqa: PLC0415

    found = fitted.summary()
    if as_json:
        notes = list(fitted.observations_.notes)
        more: dict[str, Any] = {"notes": notes} if notes else {}
        more |= {} if fitted.ranking_ is None else {"ranking": record_of(fitted.ranking_)}
        more |= {} if readings is None else {"readings": readings.as_dict()}
        echo_json({"model": fitted.name, "seed": seed, **found.as_dict(), **more})
    else:
        echo(found if fitted.ranking_ is None else f"{fitted.ranking_}\n\n{found}")
        if readings is not None:
            echo(f"\n{readings}")


@app.command()
@expanding
def predict(
    folder: FitFolder,
    file: Annotated[
        Path,
        typer.Argument(
            help="Prices and budgets, as purchases without quantities; one menu needs no observation column.",
            metavar="MENUS",
        ),
    ],
    *,
    out: Annotated[Path | None, typer.Option(help=f"Write a row per menu and good: {', '.join(ROW_SUFFIXES)}.")] = None,
    spreadsheet: Spreadsheet = False,
    level: Annotated[float, typer.Option(help="Of the intervals (heterogeneous).")] = 0.9,
    reading: MenusAsInCheck,
    as_json: Annotated[bool, json_option("Print JSON instead of a table.")] = False,
) -> None:
    """Predict purchases at new prices and budgets.

    Heterogeneous: expected purchases of a customer with intervals, revenue, and the bundle of the mean direction.
    Common: the bundle that the common utility buys. Goods are matched by name; one that the file lacks is not on offer.

    \b
    Examples:
      stochpref predict fit/ new_prices.csv
      stochpref predict fit/ new_prices.csv --level 0.95 --out demand.csv
    """  # noqa: D301
    from stochpref.demand import menu_labels, prediction_rows  # noqa: PLC0415
    from stochpref.models import load_fit  # noqa: PLC0415
    from stochpref.models.account import as_sentence  # noqa: PLC0415
    from stochpref.readers.writing import check_rows_suffix, write_rows  # noqa: PLC0415

    if spreadsheet and out is None:
        raise InvalidArgument("--spreadsheet is about the file that --out names; name one")
    if out is not None:
        ready_file(out, suffixes=ROW_SUFFIXES, sources=[file])
        check_rows_suffix(out)
        if spreadsheet and out.suffix.lower() != ".csv":
            raise InvalidArgument(
                f"--spreadsheet is about .csv files, which have no types; received {out}; leave it out"
            )
    fitted = load_fit(folder)
    menus = reading.menus(
        file, fitted.goods_, needs_budget=fitted.problem_.needs_budget, features=fitted.needed_features
    )
    labels, bundles = menu_labels(menus), fitted.predict(menus)
    demand = fitted.demand(menus, level=level) if fitted.customers_differ else None
    cautions, verdicts = fitted.cautions(menus), fitted.verdicts()
    if as_json:
        content: dict[str, Any] = {"goods": list(menus.goods), "labels": list(labels), "bundles": bundles.tolist()}
        content |= {"cautions": list(cautions)} if demand is None else {"demand": demand.as_dict()}
        echo_json({**content, "verdicts": verdicts.as_dict()})
    else:
        echo(_bundle_table(menus, labels, bundles, fitted) if demand is None else demand)
        echo(f"  The fit: {verdicts.grades} (stochpref summary {folder})")
        for verdict in verdicts:
            if verdict.status == "bad":
                echo(f"  ! {as_sentence(verdict.text)}")
    if out is not None:
        write_rows(out, prediction_rows(menus, bundles, demand), for_spreadsheet=spreadsheet)
        wrote(out, counted(len(menus), "menu"))


def _bundle_table(menus: Menus, labels: tuple[str, ...], bundles: Any, fitted: Fit) -> str:
    names = [fitted.titles.get(good, good) for good in menus.goods]
    lines = ["Bundles of the common utility"]
    for t in range(min(len(menus), 10)):
        bought = [f"{shown(names[i])} {bundles[t, i]:.3g}" for i in range(menus.n_goods) if bundles[t, i] > 0]
        lines.append(f"  menu {shown(labels[t])}: {', '.join(bought) or 'nothing'}")
    if len(menus) > 10:
        lines.append(f"  and {len(menus) - 10:,} more menus")
    return "\n".join([*lines, *(f"  ! {caution}" for caution in fitted.cautions(menus))])
