# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands about fits: make one."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stochpref import __version__
from stochpref.cli.application import Budget, Degenerate, Layout, app, columns, exit_codes

if TYPE_CHECKING:
    from stochpref.models import CommonUtility


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
    with exit_codes():
        from stochpref.models import CommonUtility  # noqa: PLC0415
        from stochpref.readers import scan  # noqa: PLC0415

        found = scan(file, layout=layout.value, columns=columns(column or []), budget=budget.value, caps=cap)
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
