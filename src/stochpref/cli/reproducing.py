# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands about the paper: its exhibits, its bounds, and the register of its slips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from stochpref import __version__
from stochpref.cli.application import app, echo, packed, ready_folder, wrote
from stochpref.cli.options import json_option, seed_option

reproduce = typer.Typer(
    name="reproduce",
    help="Reproduce the exhibits of the paper and check its statements.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(reproduce)

Seed: TypeAlias = Annotated[int, seed_option("numbers")]
Json: TypeAlias = Annotated[bool, json_option("Print JSON instead of text.")]
_Out: TypeAlias = Annotated[Path, typer.Option(help="Folder to write to, made if needed.")]
_OptionalOut: TypeAlias = Annotated[Path | None, typer.Option(help="Folder to write the same as JSON to.")]


@reproduce.command()
def guarantees(seed: Seed = 0, as_json: Json = False, out: _OptionalOut = None) -> None:
    """Set every bound of the paper, printed and corrected, beside a simulation of what it bounds.

    Also printed: the number of observations from which on each bound says anything.

    \b
    Examples:
      stochpref reproduce guarantees
      stochpref reproduce guarantees --seed 1 --json --out results/
    """  # noqa: D301
    from stochpref.paper.reproduce import guarantees as exhibit  # noqa: PLC0415

    if out is not None:
        ready_folder(out)
    report = exhibit.run(seed)
    show(exhibit.as_dict(report), exhibit.as_text(report), as_json, out, "guarantees")


@reproduce.command()
def register(as_json: Json = False, out: _OptionalOut = None) -> None:
    """Check each entry of the register of slips by computation; exit code 0 only if all are confirmed.

    \b
    Examples:
      stochpref reproduce register
      stochpref reproduce register --json
    """  # noqa: D301
    from stochpref.paper.reproduce import register as exhibit  # noqa: PLC0415

    if out is not None:
        ready_folder(out)
    findings = exhibit.run()
    show({"findings": exhibit.as_list(findings)}, exhibit.as_text(findings), as_json, out, "register")
    if not all(finding.is_confirmed for finding in findings):
        echo("some entries are not confirmed", err=True)
        raise typer.Exit(3)


@reproduce.command()
def figure1(out: _Out = Path("figures"), seed: Seed = 0, as_json: Json = False) -> None:
    """Draw the empty intersection, and the posterior that resolves it, for two and three goods.

    \b
    Example:
      stochpref reproduce figure1 --out figures/ --seed 0
    """  # noqa: D301
    from stochpref.paper.reproduce import figure1 as exhibit  # noqa: PLC0415

    ready_folder(out)
    numbers = exhibit.write(out, seed)
    show(numbers, exhibit.as_text(numbers), as_json, None, "figure1")
    drawn(out, "figure1", seed)


@reproduce.command()
def figure2(out: _Out = Path("figures"), seed: Seed = 0, as_json: Json = False) -> None:
    """Draw how far apart the laws of observations are against how far apart the parameters are.

    Printed: the least ratio of the two over the parameters tried, which bounds the L of Corollary 1 from above, and the
    same from a lower bound on the distance, with standard errors.

    \b
    Example:
      stochpref reproduce figure2 --out figures/ --seed 0
    """  # noqa: D301
    from stochpref.paper.reproduce import figure2 as exhibit  # noqa: PLC0415

    ready_folder(out)
    numbers = exhibit.write(out, seed)
    show(numbers, exhibit.as_text(numbers), as_json, None, "figure2")
    drawn(out, "figure2", seed)


def show(content: dict[str, Any], text: str, as_json: bool, folder: Path | None, name: str) -> None:
    """Print the content as text or JSON, and write it to a folder if there is one."""
    texts = packed(content)
    echo(texts if as_json else text)
    if folder is not None:
        from stochpref.files import replacing  # noqa: PLC0415

        with replacing(folder / f"{name}.json") as stream:
            stream.write(texts.encode() + b"\n")
        wrote(folder / f"{name}.json")


def drawn(folder: Path, name: str, seed: int) -> None:
    """Say which pictures were written."""
    echo(f"wrote {folder / name}.png and .svg (seed {seed}, version {__version__})", err=True)
