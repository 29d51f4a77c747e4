# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A walk through the commands, each shown before it runs."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from stochpref.cli.application import app, echo, echo_json, ready_folder
from stochpref.cli.options import json_option, seed_option

_GOODS = "coffee,tea,juice,water,cake,sandwich"
_NEW_PRICES = """observation,good,price,budget
today,coffee,1.5,3
today,tea,1.5,3
today,juice,1.5,3
today,water,1.5,3
today,cake,1.5,3
today,sandwich,1.5,3
cheaper coffee,coffee,1.1,3
cheaper coffee,tea,1.5,3
cheaper coffee,juice,1.5,3
cheaper coffee,water,1.5,3
cheaper coffee,cake,1.5,3
cheaper coffee,sandwich,1.5,3
"""
_DRINKS, _FEWEST_VISITS = "coffee,tea,juice,water", 500
_COSTS = """good,cost
coffee,0.4
tea,0.3
juice,0.8
water,0.2
"""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demonstration writes.")] = Path("demo"),
    observations: Annotated[int, typer.Option(help="Customers of the simulated shop.", min=50)] = 1000,
    seed: Annotated[int, seed_option("shop")] = 0,
    as_json: Annotated[bool, json_option("Print the paths of what was written as JSON.")] = False,
) -> None:
    """Walk through everything on a simulated shop: look, fit, predict, compare, report, and set prices.

    Every command is printed before it runs, so that you can repeat it with a table of your own.

    \b
    Example:
      stochpref demo
    """  # noqa: D301
    # With --json, what the commands print is a message like any other, and only the paths are the result.
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        written = _walk(out, observations, seed)
        echo(f"\nDone. Open {written['report']} in a browser.")
    if as_json:
        echo_json({"seed": seed, **{name: str(path) for name, path in written.items()}})


def _walk(out: Path, observations: int, seed: int) -> dict[str, Path]:
    """Run the commands one after another; return what they wrote."""
    ready_folder(out)
    names = {
        "purchases": "purchases.csv", "learn": "learn.csv", "held_out": "later.csv", "fit": "fit", "common": "common",
        "odd": "odd.csv", "new_prices": "new_prices.csv", "report": "report.html",
        "orders": "orders.csv", "open_fit": "open", "costs": "costs.csv", "price_list": "prices.csv",
    }  # fmt: skip
    paths = {what: out / name for what, name in names.items()}
    purchases, learn, later, fitted, common, odd, prices, report, *_ = paths.values()
    seeded = ["--seed", str(seed)]
    _step("A shop with six goods; every customer has a taste, a budget and prices of their own.")
    _run(["simulate", "--goods", _GOODS, "--observations", observations, *seeded, "--out", purchases])
    _step("What is in the table? Kinds of purchases, prices, budgets, and what would be wrong.")
    _run(["check", purchases])
    _step("A fifth of the purchases is held out, to test on later.")
    _run(["split", purchases, "--out", learn, "--held-out", later])
    _step("Suppose customers differ: what do they want on average, and how alike are they?")
    _run(["fit", learn, "--out", fitted, *seeded])
    _step("Suppose instead that they share one utility: how many purchases can it explain?")
    _run(["fit", learn, "--model", "common", "--out", common, "--odd", odd, *seeded])
    _step("Which of the two to believe? Here customers do differ, and purchases held out say so.")
    _run(["compare", fitted, common, "--held-out", later])
    _step("What would customers buy today, and what if coffee were cheaper?")
    prices.write_text(_NEW_PRICES)
    _run(["predict", fitted, prices])
    _step("A page to look at and to show, with sliders for the prices.")
    _run(["report", fitted, "--out", report])
    _set_prices(paths, observations, seeded)
    return paths


def _set_prices(paths: dict[str, Path], observations: int, seeded: list[str]) -> None:
    """Run the way from an export of orders to a price list."""
    orders, fitted, costs = paths["orders"], paths["open_fit"], paths["costs"]
    _step("Prices to charge: an export of orders knows no budgets; customers kept the money they did not spend.")
    visits = max(observations, _FEWEST_VISITS)
    drinks: list[str | int | Path] = ["--goods", _DRINKS, "--observations", visits, "--concentration", 12]
    _run(["simulate", "--orders", *drinks, *seeded, "--out", orders])
    enough = ["--draws", "200", "--effective", "200"]
    _run(["fit", orders, "--problem", "open", "--model", "heterogeneous", *enough, "--out", fitted, *seeded])
    _step("What should each good cost, given what it costs you, if prices end in 9?")
    costs.write_text(_COSTS)
    _run(["price", fitted, "--costs", costs, "--ladder", ".x9", "--out", paths["price_list"]])


def _step(text: str) -> None:
    typer.secho(f"\n— {text}", bold=True)


def _run(arguments: list[str | int | Path]) -> None:
    """Show a command and run it; what it prints is what it would print on its own."""
    words = [str(argument) for argument in arguments]
    echo(f"$ stochpref {shlex.join(words)}\n")
    app(words, standalone_mode=False)
