# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The application that commands join, and what they print and end by: messages, JSON without NaN, exit codes."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stochpref import __version__
from stochpref.archives.text import without_nan
from stochpref.errors import InvalidArgument, StochprefError, shown

TABLES = (".csv", ".parquet")  # what tables are written as
_MOST_GOODS = 10**6
_new_folders: ContextVar[list[Path]] = ContextVar("new_folders")  # that the running command has made
_IN_ORDER = (
    "demo", "check", "simulate", "split", "fit", "summary", "predict", "price", "assortment", "forecast", "fund",
    "report", "compare", "design", "reproduce",
)  # fmt: skip


class _Commands(TyperGroup):
    """Lists commands in the order of use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_IN_ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        try:
            with exit_codes():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            causes: list[Any] = getattr(error.__cause__, "errors", list)()
            received = f"; received {causes[0]['input']}" if causes else ""
            error.message = error.message.removeprefix("Value error, ") + received
            raise


app = typer.Typer(
    name="stochpref",
    cls=_Commands,
    help="Learn the distribution of what customers want from what they bought.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def echo(text: object, *, err: bool = False) -> None:
    """Print a text, or a message; of its control characters only the ends of lines reach the terminal.

    Names are escaped where they enter a text, which alone knows that a line ended in a name. What comes by other ways,
    such as the name of a file or an error of the system, is made harmless here.
    """
    typer.echo("\n".join(map(shown, str(text).split("\n"))), err=err)


def echo_json(content: dict[str, Any]) -> None:
    """Print as JSON what a command found."""
    echo(packed(content))


def packed(content: dict[str, Any]) -> str:
    """Return as JSON what a command found, with the version that did and null for the numbers that JSON cannot hold."""
    return json.dumps(without_nan({"version": __version__, **content}), indent=2)


def wrote(path: Path, about: str = "") -> None:
    """Say which file or folder was written, and what it holds."""
    echo(f"wrote {shown(path)}{about and f' ({about})'}", err=True)


def main() -> None:
    """Run the command line; never returns."""
    with exit_codes():
        app()


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version and leave.")] = False,
) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn our exceptions and those of the file system into one message and exit code 2, an interrupt into 130."""
    ours = _new_folders.set([])
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output left; nothing to report
    except StochprefError as error:
        echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        echo(f"error: {what}; check the name, the permissions and the disk", err=True)
        sys.exit(2)
    except MemoryError:
        echo("error: not enough memory; take fewer observations or goods", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        echo("interrupted", err=True)
        sys.exit(130)
    finally:
        for place in _new_folders.get():
            with suppress(OSError):  # something is in it, as it should be
                place.rmdir()
        _new_folders.reset(ours)


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Print warnings as messages, without the lines of code that raised them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for warning in caught:
        echo(f"warning: {warning.message}", err=True)


def ready_folder(folder: Path, option: str = "--out") -> None:
    """Make the folder that an option names, and refuse one that cannot be written to, before anything is computed.

    It vanishes again if the command ends and nothing is in it.
    """
    _new_folders.get([]).extend(place for place in (folder, *folder.parents) if not place.exists())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidArgument(f"{option}: {folder} is a file; name a folder") from None
    except OSError as error:
        raise InvalidArgument(f"{option}: {folder} cannot be made: {error.strerror}; choose another place") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidArgument(f"{option}: {folder} may not be written to; choose another place")


def words_of(context: typer.Context) -> list[str]:
    """Return the command that is running, as one would type it; files by their names, not where they are."""
    words = ["stochpref", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        origin = context.get_parameter_source(name)
        if origin is None or origin.name != "COMMANDLINE" or name == "as_json":
            continue
        value = context.params[name]
        values = [value] if not isinstance(value, list | tuple) else value
        texts = [item.resolve().name if isinstance(item, Path) else str(item) for item in values]
        option = parameter.opts[0]
        if parameter.param_type_name == "argument":
            words += texts
        elif value is True:
            words.append(option)
        elif isinstance(value, tuple):  # one option of several values
            words += [option, *texts]
        else:
            words += [word for text in texts for word in (option, text)]
    return words


def ready_file(file: Path, option: str = "--out", *, suffixes: tuple[str, ...], sources: Sequence[Path] = ()) -> None:
    """Make the folder of the file that an option names, and refuse a file that cannot, or must not, be written.

    Parameters
    ----------
    suffixes : what is written; a file of another kind would not be what its name says.
    sources : the tables that the command reads, which are the user's own.
    """
    if file.is_dir():
        raise InvalidArgument(f"{option}: {file} is a folder; name a file, such as {file / 'out'}{suffixes[0]}")
    if file.suffix.lower() not in suffixes:
        raise InvalidArgument(
            f"{option} must end in {' or '.join(suffixes)}; received {file}; such as {file.with_suffix(suffixes[0])}"
        )
    if any(file.resolve() == source.resolve() or _is_in(file, source) for source in sources):
        raise InvalidArgument(f"{option}: {file} is read by this command and would be lost; name another file")
    ready_folder(file.parent, option)


def _is_in(file: Path, folder: Path) -> bool:
    """Tell whether a file that is there already is one of a folder's."""
    return file.exists() and folder.is_dir() and folder.resolve() in file.resolve().parents


def good_names(text: str, option: str) -> tuple[str, ...]:
    """Return the goods that an option names, or numbers: ``tea,milk`` or ``2``; at least two."""
    count = text.strip()
    is_count = count.isascii() and count.isdecimal()  # isdigit would take ² for a number, and int would not
    if is_count and int(count) > _MOST_GOODS:
        raise InvalidArgument(f"{option} must be at most {_MOST_GOODS:,}; received {count}")
    names = tuple(f"good{i + 1}" for i in range(int(count))) if is_count else tuple(split(text))
    if len(names) < 2:
        raise InvalidArgument(
            f"{option} must be two or more: a number, or names separated by commas; received {text!r}"
        )
    return names


def split(text: str) -> list[str]:
    """Return what commas separate."""
    return [part.strip() for part in text.split(",") if part.strip()]
