# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands about data: audit a file, simulate a market, hold some purchases out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stochpref.cli.application import TABLES, app, echo, echo_json, good_names, packed, ready_file, wrote
from stochpref.cli.options import AsInCheck, Model, Reading, expanding, json_option, one_of, seed_option
from stochpref.errors import InvalidArgument, counted, listed
from stochpref.names import MENU_LAWS, WRITTEN_LAYOUTS

if TYPE_CHECKING:
    import numpy as np

    from stochpref.laws import UtilityLaw
    from stochpref.readers import Scan


@app.command()
@expanding
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A .csv, .tsv (or either with .gz), .xlsx, .parquet or Pabulib .pb file; several, or a folder; "
            "- for standard input.",
            metavar="FILE...",
        ),
    ],
    *,
    reading: Reading,
    as_json: Annotated[bool, json_option("Print JSON instead of a table.")] = False,
) -> None:
    """Audit a file: kinds of observation, what is wrong and where.

    Our names are observation, good, price, quantity, budget, customer and cap.
    A wide table needs prefixes: x takes x1, x2 or x_milk; * takes every column left.
    An export of orders has a row per line, only what was bought; date, store, discount and total help.

    \b
    Examples:
      stochpref check purchases.csv
      stochpref check yogurt.csv --column observation=obsID --column good=brand \\
                                 --column quantity=choice --budget spent
      stochpref check baskets.csv --column quantity=x --column price=a --column budget=b
      stochpref check brands.csv --column 'quantity=*' --column price=1 --budget spent
      stochpref check orders.csv --cap 3 --fill-prices store,week
      stochpref check tasks.csv --column observation=person,task --column good=card
      stochpref check 2025.csv 2026.csv
    """  # noqa: D301
    result = reading.scan(files)
    if as_json:
        echo_json(_as_dict(result))
    else:
        echo(_as_text(result))
    if result.observations is None or (result.bad and not reading.skip_bad):
        way_out = "correct them or leave them out with --skip-bad"
        if result.observations is None:
            way_out = "correct the file"
        elif result.n_bad > result.n_read / 2:  # what is left would be another data set
            way_out = "correct the file, or read it another way, as said above"
        raise InvalidArgument(
            f"{result.source}: {result.n_bad:,} of {result.n_read:,} observations break a rule; {way_out}"
        )
    if result.bad:
        echo(f"left out {result.n_bad:,} of {result.n_read:,} observations", err=True)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet; folders are made as needed.")],
    observations: Annotated[int, typer.Option(help="Number of customers.", min=1, max=10**9)] = 1000,
    goods: Annotated[str, typer.Option(help="Their number, or names: tea,milk,rum.")] = "5",
    model: Model = "heterogeneous",
    law: Annotated[str, one_of(MENU_LAWS, "Prices and budgets: the paper's laws (i), (ii), (iii).")] = "uniform",
    concentration: Annotated[float, typer.Option(help="How alike customers are (heterogeneous).")] = 5.0,
    corruption: Annotated[float, typer.Option(help="Share of odd customers (common).")] = 0.1,
    seed: Annotated[int, seed_option("file")] = 0,
    layout: Annotated[str, one_of(WRITTEN_LAYOUTS, "A row per observation and good, or per observation.")] = "long",
    orders: Annotated[
        bool,
        typer.Option(
            "--orders", help="An export as shops have it: lines of orders, no budgets; customers keep their money."
        ),
    ] = False,
    as_json: Annotated[bool, json_option("Print paths and the truth as JSON.")] = False,
) -> None:
    """Simulate a market and write what its customers buy.

    Customers have random utilities and buy from random menus.
    The truth behind the data goes to a file beside it, NAME.truth.json.

    \b
    Examples:
      stochpref simulate --observations 1000 --goods 5 --seed 0 --out demo/purchases.csv
      stochpref simulate --goods tea,milk,rum --concentration 10 --out shop.csv
      stochpref simulate --model common --corruption 0.2 --law discrete --out odd.parquet
      stochpref simulate --orders --goods coffee,tea,cake --concentration 12 --out orders.csv
    """  # noqa: D301
    import numpy as np  # noqa: PLC0415

    from stochpref import laws  # noqa: PLC0415
    from stochpref.observations import Menus  # noqa: PLC0415
    from stochpref.readers.writing import write_observations, write_rows  # noqa: PLC0415

    ready_file(out, suffixes=TABLES)
    rng, names = np.random.default_rng(seed), good_names(goods, "--goods")
    if orders:
        if model != "heterogeneous" or law != "uniform" or layout != "long":
            raise InvalidArgument("--orders takes no --model, --law or --layout: customers differ, prices are its own")
        export = laws.simulate_orders(names, observations, concentration=concentration, rng=rng)
        write_rows(out, [export.header, *export.lines])
        behind = {
            "seed": seed, "n_visits": observations, "goods": list(names), "coordinates": [*names, "money"],
            "mean_direction": export.law.mean_direction.tolist(), "concentration": concentration,
        }  # fmt: skip
        _write_truth(out, f"{counted(len(export.lines), 'line')} of orders, seed {seed}", behind, as_json)
        return
    utility_law, truth = _draw_law(model, len(names), concentration, corruption, rng)
    drawn = laws.MenuLaw(law).sample(observations, len(names), rng=rng)
    menus = Menus(drawn.prices, drawn.budgets, goods=names)
    data = laws.simulate(utility_law, menus, observations, rng=rng)
    truth = {
        "seed": seed,
        "n_observations": len(data),
        "goods": list(data.goods),
        "law": law,
        "model": model,
        **truth,
    }
    write_observations(data, out, layout=layout)
    told = f"{counted(len(data), 'observation')} of {data.n_goods:,} goods, seed {seed}"
    _write_truth(out, told, truth, as_json)


def _write_truth(out: Path, what: str, truth: dict[str, Any], as_json: bool) -> None:
    """Write the truth beside simulated purchases, and say what was written."""
    from stochpref.files import replacing  # noqa: PLC0415

    beside = out.with_name(f"{out.stem}.truth.json")
    with replacing(beside) as stream:
        stream.write(packed(truth).encode() + b"\n")
    wrote(out, what)
    wrote(beside, "the truth behind them")
    if as_json:
        echo_json({"path": str(out), "truth_path": str(beside), **truth})


@app.command(name="split")
@expanding
def split_purchases(
    files: Annotated[list[Path], typer.Argument(help="Purchases, as `stochpref check` reads them.", metavar="FILE...")],
    out: Annotated[Path, typer.Option(help="File for the purchases to learn from, .csv or .parquet.")],
    held_out: Annotated[Path, typer.Option(help="File for those to hold out.")],
    *,
    share: Annotated[float, typer.Option(help="To hold out, between 0 and 1.")] = 0.2,
    seed: Annotated[int, seed_option("split")] = 0,
    reading: AsInCheck,
    as_json: Annotated[bool, json_option("Print paths and sizes as JSON.")] = False,
) -> None:
    """Split purchases at random: some to learn from, some to test on.

    \b
    Example:
      stochpref split purchases.csv --share 0.2 --out learn.csv --held-out later.csv
    """  # noqa: D301
    import numpy as np  # noqa: PLC0415

    from stochpref.readers.writing import write_observations  # noqa: PLC0415

    ready_file(out, suffixes=TABLES, sources=files)
    ready_file(held_out, "--held-out", suffixes=TABLES, sources=files)
    if out.resolve() == held_out.resolve():
        raise InvalidArgument(f"--out and --held-out must be two files; received {out} twice")
    data = reading.accept(reading.scan(files))
    n_held = round(share * len(data)) if 0.0 < share < 1.0 else 0
    if not 0 < n_held < len(data):
        raise InvalidArgument(
            f"--share must leave at least one of {len(data):,} observations on each side; received {share:g}"
        )
    order = np.random.default_rng(seed).permutation(len(data))
    for path, rows in ((out, np.sort(order[n_held:])), (held_out, np.sort(order[:n_held]))):
        write_observations(data[rows], path)
        wrote(path, f"{counted(len(rows), 'observation')}, seed {seed}")
    if as_json:
        sizes = {"n_observations": len(data) - n_held, "held_out_path": str(held_out), "n_held_out": n_held}
        echo_json({"seed": seed, "path": str(out), **sizes})


def _draw_law(
    model: str, goods: int, concentration: float, corruption: float, rng: np.random.Generator
) -> tuple[UtilityLaw, dict[str, Any]]:
    """Return a utility law around a random direction in which some good is wanted, and its parameters."""
    from stochpref import laws  # noqa: PLC0415

    direction = laws.uniform_directions(1, goods, rng=rng)[0]
    direction = direction if direction.max() > 0 else -direction
    if model == "common":
        truth = {"utility": direction.tolist(), "corruption": corruption}
        return laws.CorruptedUtilityLaw(direction, corruption), truth
    return laws.VonMisesFisher(direction, concentration), {
        "mean_direction": direction.tolist(),
        "concentration": concentration,
    }


def _as_text(result: Scan) -> str:
    from stochpref.answers import as_lines  # noqa: PLC0415

    parts = [f"{result.source}: {result.describe_bad(limit=5)}"] if result.bad else []
    if result.observations is None and result.notes:
        parts.append("\n".join(f"  {note}" for note in result.notes))
    if result.observations is not None:
        audit = result.observations.audit()
        heading = f"{'The others' if result.bad else result.source}, read as {result.layout}"
        told = "\n".join(f"  {line}" for line in as_lines(audit.answers))
        parts.append(f"{heading}, goods {listed(result.observations.shown_goods, 6)}:\n{audit}")
        parts.append(f"  Can these data tell\n{told}")
        if audit.degenerate_rows:
            first = "\n".join(f"    {result.locate(t)}" for t in audit.degenerate_rows[:5])
            parts.append(f"  The first degenerate observations in the file:\n{first}")
    return "\n\n".join(parts)


def _as_dict(result: Scan) -> dict[str, Any]:
    found = None if result.observations is None else result.observations.audit()
    audit = None if found is None else found.as_dict()
    answers = [] if found is None else [one._asdict() for one in found.answers]
    return {
        "source": result.source,
        "n_read": result.n_read,
        "n_bad": result.n_bad,
        "layout": result.layout,
        "counting": result.counting,
        "notes": list(result.notes),
        "bad": [row._asdict() for row in result.bad],
        "audit": audit,
        "answers": answers,
    }
