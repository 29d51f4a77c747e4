# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command line: parse options, make one library call, write what comes out.

Results go to stdout or a file, messages to stderr. Exit codes: 0 done, 2 bad input, 3 not proven (only where that was
required), 130 interrupted. Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stochpref import __version__
from stochpref.errors import InvalidArgument, StochprefError

if TYPE_CHECKING:
    import numpy as np

    from stochpref.laws import UtilityLaw
    from stochpref.models import CommonUtility
    from stochpref.readers import Scan

app = typer.Typer(
    name="stochpref",
    help="Learn the distribution of what customers want from what they bought.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class Layout(StrEnum):
    """How a table is laid out."""

    auto = "auto"
    long = "long"
    wide = "wide"


class OutputLayout(StrEnum):
    """How a table is to be laid out."""

    long = "long"
    wide = "wide"


class Budget(StrEnum):
    """Where budgets come from."""

    stated = "stated"
    spent = "spent"


class Model(StrEnum):
    """Which law utilities follow."""

    heterogeneous = "heterogeneous"
    common = "common"


class FitModel(StrEnum):
    """Which model to fit."""

    common = "common"


class Solver(StrEnum):
    """How to look for the common utility."""

    certified = "certified"
    annealing = "annealing"


class Centre(StrEnum):
    """Which of the best utilities to report."""

    bayes = "bayes"
    chebyshev = "chebyshev"
    vertex = "vertex"


class Degenerate(StrEnum):
    """What to do with observations that only exact ties could explain."""

    refuse = "refuse"
    drop = "drop"


class Law(StrEnum):
    """Which law menus follow."""

    uniform = "uniform"
    discrete = "discrete"
    fixed = "fixed"


def main() -> None:
    """Run the command line; never returns."""
    with _exit_codes():
        app()


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def check(
    file: Annotated[
        Path, typer.Argument(help="A .csv, .tsv (or either with .gz), .parquet or Pabulib .pb file.", metavar="FILE")
    ],
    layout: Annotated[Layout, typer.Option(help="Long: a row per observation and good. Wide: per observation.")] = (
        Layout.auto
    ),
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Your name for a column, a prefix in wide data, or a constant; may be repeated.", metavar="OURS=YOURS"
        ),
    ] = None,
    budget: Annotated[Budget, typer.Option(help="Read the budget, or set it to the money spent.")] = Budget.stated,
    cap: Annotated[float, typer.Option(help="Largest quantity of a good, unless a column says so.")] = 1.0,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that break a rule, and count them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Audit a file: kinds of observation, what is wrong and where.

    Our names are observation, good, price, quantity, budget, customer and cap.
    A wide table needs prefixes: x takes x1, x2 or x_milk; * takes every column left.

    \b
    Examples:
      stochpref check purchases.csv
      stochpref check yogurt.csv --column observation=obsID --column good=brand \\
                                 --column quantity=choice --budget spent
      stochpref check baskets.csv --column quantity=x --column price=a --column budget=b
      stochpref check brands.csv --column 'quantity=*' --column price=1 --budget spent
    """  # noqa: D301
    with _exit_codes():
        from stochpref.readers import scan  # noqa: PLC0415

        result = scan(file, layout=layout.value, columns=_columns(column or []), budget=budget.value, caps=cap)
        typer.echo(json.dumps(_as_json(result), indent=2) if as_json else _as_text(result))
        if result.observations is None or (result.bad and not skip_bad):
            way_out = (
                "correct the file" if result.observations is None else "correct them or leave them out with --skip-bad"
            )
            raise InvalidArgument(f"{file}: {result.n_bad:,} of {result.n_read:,} observations break a rule; {way_out}")
        if result.bad:
            typer.echo(f"left out {result.n_bad:,} of {result.n_read:,} observations", err=True)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet; folders are made as needed.")],
    observations: Annotated[int, typer.Option(help="Number of customers.", min=1, max=10**9)] = 1000,
    goods: Annotated[int, typer.Option(help="Number of goods.", min=2, max=10**6)] = 5,
    model: Annotated[Model, typer.Option(help="Customers who differ, or one utility and some odd customers.")] = (
        Model.heterogeneous
    ),
    law: Annotated[Law, typer.Option(help="Prices and budgets: the paper's laws (i), (ii), (iii).")] = Law.uniform,
    concentration: Annotated[float, typer.Option(help="How alike customers are (heterogeneous).")] = 5.0,
    corruption: Annotated[float, typer.Option(help="Share of odd customers (common).")] = 0.1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.", min=0)] = 0,
    layout: Annotated[OutputLayout, typer.Option(help="A row per observation and good, or per observation.")] = (
        OutputLayout.long
    ),
) -> None:
    """Simulate a market and write what its customers buy.

    Customers have random utilities and buy from random menus.
    The truth behind the data goes to a file beside it, NAME.truth.json.

    \b
    Examples:
      stochpref simulate --observations 1000 --goods 5 --seed 0 --out demo/purchases.csv
      stochpref simulate --model common --corruption 0.2 --law discrete --out odd.parquet
    """  # noqa: D301
    with _exit_codes():
        import numpy as np  # noqa: PLC0415

        from stochpref import laws  # noqa: PLC0415
        from stochpref.readers.writing import replacing, write_observations  # noqa: PLC0415

        rng = np.random.default_rng(seed)
        utility_law, truth = _draw_law(model, goods, concentration, corruption, rng)
        data = laws.simulate(utility_law, laws.MenuLaw(law.value), observations, rng=rng)
        truth = {
            "version": __version__,
            "seed": seed,
            "n_observations": len(data),
            "goods": list(data.goods),
            "law": law.value,
            "model": model.value,
            **truth,
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        write_observations(data, out, layout=layout.value)
        beside = out.with_name(f"{out.stem}.truth.json")
        with replacing(beside) as stream:
            stream.write(json.dumps(truth, indent=2).encode() + b"\n")
        typer.echo(f"wrote {out} ({len(data):,} observations of {data.n_goods:,} goods, seed {seed})", err=True)
        typer.echo(f"wrote {beside} (the truth behind them)", err=True)


@app.command()
def fit(
    file: Annotated[Path, typer.Argument(help="Purchases, as `stochpref check` reads them.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="Folder to write the fit to.")],
    model: Annotated[FitModel, typer.Option(help="One utility and some odd customers.")] = FitModel.common,
    odd: Annotated[Path | None, typer.Option(help="Write the odd observations and why they are odd, .csv.")] = None,
    margin: Annotated[
        str, typer.Option(help="How far inside its region a purchase must be: a number or `theorem`.")
    ] = ("0"),
    solver: Annotated[Solver, typer.Option(help="Certified, or the paper's annealing.")] = Solver.certified,
    centre: Annotated[Centre, typer.Option(help="Which of the best utilities.")] = Centre.bayes,
    degenerate: Annotated[Degenerate, typer.Option(help="Observations with exact ties.")] = Degenerate.refuse,
    require_optimal: Annotated[
        bool, typer.Option("--require-optimal", help="Exit with code 3 unless the optimum is proven.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same fit.", min=0)] = 0,
    layout: Annotated[Layout, typer.Option(help="As in check.")] = Layout.auto,
    column: Annotated[list[str] | None, typer.Option(help="As in check.", metavar="OURS=YOURS")] = None,
    budget: Annotated[Budget, typer.Option(help="As in check.")] = Budget.stated,
    cap: Annotated[float, typer.Option(help="As in check.")] = 1.0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="As in check.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a summary.")] = False,
) -> None:
    """Fit a model to purchases: the utility that explains most of them, a proof, and who is odd.

    \b
    Examples:
      stochpref fit purchases.csv --model common --out fit/ --odd odd.csv
      stochpref fit purchases.csv --model common --out fit/ --require-optimal --json
    """  # noqa: D301
    with _exit_codes():
        from stochpref.models import CommonUtility  # noqa: PLC0415
        from stochpref.readers import scan  # noqa: PLC0415

        found = scan(file, layout=layout.value, columns=_columns(column or []), budget=budget.value, caps=cap)
        data = found.accept(skip_bad=skip_bad)
        fitted = CommonUtility(
            margin=_margin(margin),
            solver=solver.value,
            random_state=seed,
            centre=centre.value,
            degenerate=degenerate.value,
            verbose=True,
        ).fit(data)
        fitted.save(out)
        summary = fitted.summary(found.labels)
        if as_json:
            content = {"version": __version__, "model": model.value, "seed": seed, **summary.as_dict()}
            typer.echo(json.dumps(content, indent=2))
        else:
            typer.echo(str(summary))
        typer.echo(f"wrote {out} (model {model.value}, seed {seed}, version {__version__})", err=True)
        if odd is not None:
            _write_odd(fitted, found.labels, odd)
    if not fitted.is_optimal_:
        typer.echo(
            f"not proven optimal: {fitted.n_consistent_:,} consistent, at most {fitted.upper_bound_:,}", err=True
        )
        if require_optimal:
            sys.exit(3)


def _margin(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _write_odd(fitted: CommonUtility, labels: tuple[str, ...], path: Path) -> None:
    """Write one row for each good that puts an odd observation at odds with the utility."""
    import csv  # noqa: PLC0415
    import io  # noqa: PLC0415

    import numpy as np  # noqa: PLC0415

    from stochpref.readers.writing import replacing  # noqa: PLC0415

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    fields = ("good", "bought", "expected", "worth", "threshold", "gap")
    table.writerow(["observation", "customer", "kind", "excluded_by", *fields])
    odd = np.flatnonzero(~fitted.consistent_)
    for t in odd:
        why = fitted.explain(int(t))
        other = " ".join(labels[s] for s in why.excluded_by)
        start = [labels[why.observation], why.customer or "", why.kind, other]
        for item in why.at_odds:
            table.writerow([*start, *(getattr(item, field) for field in fields)])
        if not why.at_odds:
            table.writerow([*start, *[""] * len(fields)])
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
    typer.echo(f"wrote {path} ({odd.size:,} odd observations)", err=True)


def _draw_law(
    model: Model, goods: int, concentration: float, corruption: float, rng: np.random.Generator
) -> tuple[UtilityLaw, dict[str, Any]]:
    """Return a utility law around a random direction in which some good is wanted, and its parameters."""
    from stochpref import laws  # noqa: PLC0415

    direction = laws.uniform_directions(1, goods, rng=rng)[0]
    direction = direction if direction.max() > 0 else -direction
    if model is Model.common:
        truth = {"utility": direction.tolist(), "corruption": corruption}
        return laws.CorruptedUtilityLaw(direction, corruption), truth
    return laws.VonMisesFisher(direction, concentration), {
        "mean_direction": direction.tolist(),
        "concentration": concentration,
    }


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn our exceptions and those of the file system into one message and exit code 2, an interrupt into 130."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output left; nothing to report
    except (StochprefError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except MemoryError:
        typer.echo("error: not enough memory; take fewer observations or goods", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)


def _columns(assignments: list[str]) -> dict[str, str]:
    columns = {}
    for assignment in assignments:
        ours, equals, yours = assignment.partition("=")
        if not equals:
            raise InvalidArgument(f"--column must be OURS=YOURS, such as price=cost; received {assignment!r}")
        columns[ours.strip()] = yours.strip()
    return columns


def _as_text(result: Scan) -> str:
    parts = [f"{result.source}: {result.describe_bad(limit=5)}"] if result.bad else []
    if result.observations is not None:
        audit = result.observations.audit()
        heading = f"{'The others' if result.bad else result.source}, read as {result.layout}"
        parts.append(f"{heading}, goods {_some(result.observations.goods)}:\n{audit}")
        if audit.degenerate_rows:
            first = "\n".join(f"    {result.locate(t)}" for t in audit.degenerate_rows[:5])
            parts.append(f"  The first degenerate observations in the file:\n{first}")
    return "\n\n".join(parts)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _as_json(result: Scan) -> dict[str, Any]:
    audit = None if result.observations is None else result.observations.audit().as_dict()
    return {
        "version": __version__,
        "source": result.source,
        "n_read": result.n_read,
        "n_bad": result.n_bad,
        "layout": result.layout,
        "counting": result.counting,
        "bad": [row._asdict() for row in result.bad],
        "audit": _without_nan(audit),
    }


def _without_nan(value: Any) -> Any:
    """Return the value with null for the numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()
