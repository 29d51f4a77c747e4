# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Options of the models that `fit` can fit: which there are, what they make, and which model they speak of."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from stochpref.cli.options import Spreadsheet, given, one_of, option_of
from stochpref.errors import InvalidArgument
from stochpref.names import (
    CENTRES,
    COVARIANCES,
    ENGINES,
    FADING_LAWS,
    OUTSIDE_SCALES,
    PROFILES,
    SAMPLERS,
    SOLVERS,
)

AUTO: Final = "auto"  # the model that purchases held out speak for
MOVED: Final = ("heterogeneous", "normal", "satiated")  # models whose tastes can move with features
_ALONE: Final = "heterogeneous"  # the model of what is fitted without choosing: a folder, or groups


@dataclass(frozen=True)
class Drawing:
    """Options of models of customers who differ, which draw from a posterior."""

    chains: Annotated[int | None, typer.Option(help="Customers who differ: chains, 4 unless said.", min=1)] = None
    draws: Annotated[
        int | None, typer.Option(help="Customers who differ: draws a chain at least, 1000; of segments 250.", min=1)
    ] = None
    effective: Annotated[
        int | None,
        typer.Option(help="Customers who differ: effective draws to go on for, 400; of segments 200.", min=0),
    ] = None
    max_seconds: Annotated[float | None, typer.Option(help="Customers who differ: stop drawing after this time.")] = (
        None
    )
    engine: Annotated[
        str | None, one_of(ENGINES, "Customers who differ: cpu; jax for a GPU; dask for a process on each core.")
    ] = None
    require_converged: Annotated[
        bool, typer.Option("--require-converged", help="Customers who differ: exit with code 3 unless it converged.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        own = {"chains": "n_chains", "draws": "n_draws", "effective": "n_effective"}
        return {own.get(name, name): value for name, value in given(self).items() if name != "require_converged"}


@dataclass(frozen=True)
class OneLaw:
    """Options of the heterogeneous model alone."""

    sampler: Annotated[str | None, one_of(("auto", *SAMPLERS), "Heterogeneous: how to draw; auto picks.")] = None
    concentration_bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Heterogeneous: interval of the concentration, 0 to 20 n unless said."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with."""
        return given(self)


@dataclass(frozen=True)
class Segmenting:
    """Options of the segmented model alone."""

    segments: Annotated[
        str | None, typer.Option(help="Segmented: how many segments; auto, unless said, picks by BIC.", metavar="K")
    ] = None
    max_segments: Annotated[int | None, typer.Option(help="Segmented: that auto tries at most, 6.", min=1)] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        found = given(self)
        if "segments" in found:
            text = found.pop("segments")
            found["n_segments"] = int(text) if text.isascii() and text.isdecimal() else text
        return found


@dataclass(frozen=True)
class Searching:
    """Options of the common model."""

    odd: Annotated[Path | None, typer.Option(help="Common: write the odd observations and why they are odd, .csv.")] = (
        None
    )
    spreadsheet: Spreadsheet = False
    margin: Annotated[
        str | None, typer.Option(help="Common: how far inside its region a purchase must be: a number or `theorem`.")
    ] = None
    solver: Annotated[str | None, one_of(SOLVERS, "Common: certified, or the paper's annealing.")] = None
    centre: Annotated[str | None, one_of(CENTRES, "Common: which of the best utilities.")] = None
    require_optimal: Annotated[
        bool, typer.Option("--require-optimal", help="Common: exit with code 3 unless the optimum is proven.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with."""
        found = {name: value for name, value in given(self).items() if name in ("margin", "solver", "centre")}
        with suppress(KeyError, ValueError):  # a word goes to the model as it is
            found["margin"] = float(found["margin"])
        return found


@dataclass(frozen=True)
class Relating:
    """Options of the normal model alone."""

    covariance: Annotated[
        str | None, one_of(COVARIANCES, "Normal: which goods are liked together: through factors, none, or any.")
    ] = None
    factors: Annotated[int | None, typer.Option(help="Normal: how many factors, 1 unless said.", min=1)] = None
    by_customer: Annotated[
        bool, typer.Option("--by-customer", help="Normal: a taste for every customer, in choices of one good.")
    ] = False
    quick: Annotated[
        bool, typer.Option("--quick", help="Normal, by customer: the penalised mode, at once, in place of draws.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with, by its own names."""
        found = {"n_factors" if name == "factors" else name: value for name, value in given(self).items()}
        return found | {"sampler": "mode"} if found.pop("quick", False) else found


@dataclass(frozen=True)
class Fading:
    """Options of the satiated model alone."""

    profile: Annotated[
        str | None, one_of(PROFILES, "Satiated: worth fades as the logarithm of quantities, or a power, learned.")
    ] = None
    worth_law: Annotated[str | None, one_of(FADING_LAWS, "Satiated: of worths; gumbel is MDCEV.")] = None
    satiation_features: Annotated[
        str | None, typer.Option(help="Satiated: what log-satiations move with.", metavar="NAME,NAME")
    ] = None
    outside_scale: Annotated[
        str | None, one_of(OUTSIDE_SCALES, "Satiated: whether the outside good's worth spreads as others' does.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return what the model is made with."""
        return given(self) | ({"satiation_features": self.moving} if self.satiation_features else {})

    @property
    def moving(self) -> tuple[str, ...]:
        """The features that log-satiations move with."""
        return tuple(name.strip() for name in (self.satiation_features or "").split(",") if name.strip())


Options: TypeAlias = Drawing | OneLaw | Segmenting | Relating | Fading | Searching


def settings_of(records: tuple[Options, ...]) -> dict[str, Any]:
    """Return what options make a model with."""
    return {name: value for record in records for name, value in record.settings().items()}


def named_models(
    model: str, options: dict[str, tuple[Options, ...]], *, is_alone: bool, has_features: bool = False
) -> list[str]:
    """Return the models to fit: that of a name, those whose options were given, one where there is no choosing.

    Parameters
    ----------
    has_features : tastes are to move with features, which some models know; the first of them unless one is named.
    """
    if model != AUTO:
        _check_owners(model, options)
        if has_features and model not in MOVED:
            raise InvalidArgument(f"--feature belongs to --model {_one_of(list(MOVED))}; this fit is of model {model}")
        return [model]
    used = [record for record in dict.fromkeys(chain(*options.values())) if given(record)]
    named = [name for name, records in options.items() if all(record in records for record in used)]
    if has_features:
        named, is_alone = [name for name in named if name in MOVED], True
    if not named:
        told = [f"{option_of(next(iter(given(record))))} ({_one_of(_owners(record, options))})" for record in used]
        told += [f"--feature ({_one_of(list(MOVED))})"] * has_features
        raise InvalidArgument(f"options must be of one model; received {' and '.join(told)}; leave one of them out")
    return [_ALONE if _ALONE in named else named[0]] if is_alone else named


def _owners(record: Options, options: dict[str, tuple[Options, ...]]) -> list[str]:
    return [name for name, records in options.items() if record in records]


def _one_of(models: list[str]) -> str:
    return " or ".join([*([", ".join(models[:-1])] if models[1:] else []), models[-1]])


def _check_owners(model: str, options: dict[str, tuple[Options, ...]]) -> None:
    """Refuse options of models other than that of the fit."""
    for record in dict.fromkeys(record for records in options.values() for record in records):
        owners = _owners(record, options)
        for name in given(record) if model not in owners else ():
            raise InvalidArgument(
                f"{option_of(name)} belongs to --model {_one_of(owners)}; this fit is of model {model}"
            )
