# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Commands about menus yet to be offered: design a batch, check what a set can teach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from stochpref import __version__
from stochpref.cli.application import TABLES, app, echo, echo_json, good_names, ready_file, split, wrote
from stochpref.cli.deciding import costs_of
from stochpref.cli.options import json_option, one_of, seed_option
from stochpref.errors import InvalidArgument, listed
from stochpref.names import CRITERIA

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stochpref.design import MenuLimits

design_app = typer.Typer(
    name="design", help="Choose prices and budgets that teach most, and check what menus can teach.",
    no_args_is_help=True, rich_markup_mode=None,
)  # fmt: skip
app.add_typer(design_app)


@design_app.command()
def menus(
    goods: Annotated[str, typer.Option(help="Their number, or names: tea,milk,rum. Not needed with --fit.")] = "",
    out: Annotated[Path | None, typer.Option(help="File to write, .csv or .parquet; a row per menu and good.")] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Money of a customer: a number, or LOW:HIGH. Default: the median of --fit; without one, 1 to the "
            "number of goods."
        ),
    ] = "",
    criterion: Annotated[
        str,
        one_of(
            CRITERIA,
            "d: volume of the confidence region; a: angle error; prediction: error of demand; profit: what the best "
            "prices lose (with --fit and --costs).",
        ),
    ] = "d",
    batch: Annotated[int, typer.Option(help="Number of menus.", min=1, max=100_000)] = 50,
    fit: Annotated[Path | None, typer.Option(help="Folder of a heterogeneous fit: what is believed so far.")] = None,
    costs: Annotated[
        Path | None, typer.Option(help="For profit: what a unit of each good costs you, columns good and cost.")
    ] = None,
    concentration: Annotated[
        float | None, typer.Option(help="How alike customers are believed to be; 5, or that of --fit.")
    ] = None,
    lowest_price: Annotated[float | None, typer.Option(help="Default: budget / (20 goods).")] = None,
    highest_price: Annotated[float | None, typer.Option(help="Default: the budget.")] = None,
    price_step: Annotated[float | None, typer.Option(help="Prices are multiples of it.")] = None,
    always: Annotated[str, typer.Option(help="Goods that cannot be withheld: names, or `all`.")] = "",
    seed: Annotated[int, seed_option("menus")] = 0,
    as_json: Annotated[bool, json_option("Print JSON instead of a summary.")] = False,
) -> None:
    """Design a batch of menus from which purchases teach most about what customers want.

    Without a fit the batch is good for all directions on average. Prices are in the unit of the budget.

    \b
    Examples:
      stochpref design menus --goods 5 --budget 2 --criterion d --batch 50 --out menus.csv
      stochpref design menus --fit fit/ --criterion a --batch 100 --price-step 0.05 --out next.csv
      stochpref design menus --goods tea,milk,rum --budget 1:3 --always tea --out menus.csv
      stochpref design menus --fit fit/ --criterion profit --costs costs.csv --batch 40 --out test.csv
    """  # noqa: D301
    import numpy as np  # noqa: PLC0415

    from stochpref.design import MenuLimits, optimal_menus  # noqa: PLC0415
    from stochpref.readers.writing import write_menus  # noqa: PLC0415

    if out is not None:
        ready_file(out, suffixes=TABLES, sources=[source for source in (fit, costs) if source is not None])
    if criterion == "profit":
        if budget or concentration is not None or goods:
            raise InvalidArgument(
                "--criterion profit takes goods and customers of --fit; leave --goods, --budget, --concentration out"
            )
        limits = MenuLimits(
            lowest_price=lowest_price, highest_price=highest_price, price_step=price_step,
            always_offered=True if always == "all" else split(always),
        )  # fmt: skip
        _design_test(fit, costs, batch, limits, out, seed, as_json=as_json)
        return
    if costs is not None:
        raise InvalidArgument(f"--costs is for --criterion profit; received criterion {criterion}; leave it out")
    names, direction, kappa, usual = _belief(goods, fit, concentration)
    limits = MenuLimits(
        budget=_budget(budget) if budget else _assumed(usual, len(names)), lowest_price=lowest_price,
        highest_price=highest_price, price_step=price_step,
        always_offered=True if always == "all" else split(always),
    )  # fmt: skip
    found = optimal_menus(
        names, batch, rng=np.random.default_rng(seed), mean_direction=direction, concentration=kappa,
        criterion=criterion, limits=limits,
    )  # fmt: skip
    if out is not None:
        write_menus(found.menus, out)
        wrote(out, f"{batch} menus, seed {seed}, version {__version__}")
    if as_json:
        content: dict[str, Any] = {
            "seed": seed,
            "goods": list(found.menus.goods),
            "criterion": found.criterion,
            "n_menus": len(found.menus),
            "concentration": kappa,
            "efficiency": found.efficiency,
            "efficiency_bound": found.efficiency_bound,
            "relative_information": found.relative_information,
            "angle": found.angle,
            "n_reliable": found.n_reliable,
            "notes": list(found.notes),
        }
        echo_json(content)
    else:
        echo(found)


@design_app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Menus: a .csv or .parquet file, long or wide.", metavar="FILE")],
    fit: Annotated[Path | None, typer.Option(help="Folder of a heterogeneous fit: the law believed in.")] = None,
    direction: Annotated[
        str, typer.Option(help="Mean direction, a number for each good, any length; all equal by default.")
    ] = "",
    concentration: Annotated[float | None, typer.Option(help="How alike customers are; 5, or that of --fit.")] = None,
    target: Annotated[float, typer.Option(help="Angle error wanted, in radians.")] = 0.1,
    simulate: Annotated[int, typer.Option(help="Laws at which to simulate the paper's L.", min=0, max=10_000)] = 0,
    seed: Annotated[int, seed_option("answer")] = 0,
    as_json: Annotated[bool, json_option("Print JSON instead of a report.")] = False,
) -> None:
    """Check what purchases from a set of menus can teach, before offering them.

    \b
    Examples:
      stochpref design check menus.csv
      stochpref design check menus.csv --fit fit/ --target 0.05
      stochpref design check menus.csv --direction 0.6,-0.2,0.5 --concentration 8 --json
    """  # noqa: D301
    import numpy as np  # noqa: PLC0415

    from stochpref.design import check_menus  # noqa: PLC0415
    from stochpref.readers import read_menus  # noqa: PLC0415

    if fit is not None and direction:
        raise InvalidArgument("--fit and --direction both state a direction; give one of them")
    if fit is not None:
        names, mean, kappa, _ = _belief("", fit, concentration)
        table = read_menus(file, goods=names)
    else:
        table = read_menus(file)
        mean, kappa = _direction(direction, table.n_goods), 5.0 if concentration is None else concentration
    assert mean is not None
    result = check_menus(table, mean, kappa, rng=np.random.default_rng(seed), target_angle=target, n_simulated=simulate)
    if as_json:
        echo_json({"seed": seed, "concentration": kappa, **result.as_dict()})
    else:
        echo(result)
        if fit is None and not direction:
            echo(f"law: all goods wanted alike, concentration {kappa:g}; --fit or --direction says otherwise")


def _design_test(
    fit: Path | None, costs: Path | None, batch: int, limits: MenuLimits, out: Path | None, seed: int, *, as_json: bool
) -> None:
    """Design a test of prices, write its menus and print what it is worth."""
    import numpy as np  # noqa: PLC0415

    from stochpref.design import optimal_menus  # noqa: PLC0415
    from stochpref.models import load_fit  # noqa: PLC0415
    from stochpref.readers.writing import write_rows  # noqa: PLC0415

    fitted = None if fit is None else load_fit(fit)
    found = optimal_menus(
        () if fitted is None else fitted.goods_, batch, rng=np.random.default_rng(seed), criterion="profit",
        limits=limits, fit=fitted, costs=costs_of(costs),
    )  # fmt: skip
    if out is not None:
        rows = [
            (k + 1, good, row[good]) for k, row in enumerate(found.records()) for good in row if row[good] is not None
        ]
        write_rows(out, [("observation", "good", "price"), *rows])
        wrote(out, f"{batch} menus, seed {seed}, version {__version__}")
    if as_json:
        echo_json({"seed": seed, "goods": list(found.menus.goods), "n_menus": len(found.menus), **found.as_dict()})
    else:
        echo(found)


class _Belief(NamedTuple):
    """The goods, the direction believed in (None for any), the concentration, the median budget of a fit (or None)."""

    goods: tuple[str, ...]
    direction: NDArray[np.float64] | None
    concentration: float
    budget: float | None


def _belief(goods: str, fit: Path | None, concentration: float | None) -> _Belief:
    if fit is None:
        if not goods:
            raise InvalidArgument("--goods is missing; give their number or names, or a fit with --fit")
        return _Belief(good_names(goods, "--goods"), None, 5.0 if concentration is None else concentration, None)
    import numpy as np  # noqa: PLC0415

    from stochpref.models import load_fit  # noqa: PLC0415

    fitted = load_fit(fit)
    law = fitted.law
    if law is None:
        raise InvalidArgument(
            f"--fit must be a heterogeneous fit; {fit} is of model {fitted.name}, which has no spread to design for"
        )
    if goods and tuple(split(goods)) != tuple(fitted.goods_) and goods.strip() != str(len(fitted.goods_)):
        raise InvalidArgument(f"--goods differ from those of the fit, {listed(fitted.goods_)}; leave --goods out")
    kappa = law.concentration if concentration is None else concentration
    money = float(np.median(fitted.observations_.budgets))
    return _Belief(tuple(fitted.goods_), law.mean_direction, kappa, float(f"{money:.4g}") if money > 0 else None)


def _assumed(usual: float | None, n_goods: int) -> float | None:
    """Return the budget to design for where none is stated, and say which."""
    if usual is None:
        echo(f"budgets from 1 to {n_goods} were assumed, in no unit of yours; --budget states them", err=True)
    else:
        echo(f"budget {usual:g}, the median of the fit; --budget states another", err=True)
    return usual


def _direction(text: str, n_goods: int) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415

    try:
        values = np.array([float(part) for part in split(text)]) if text else np.ones(n_goods)
    except ValueError:
        raise InvalidArgument(f"--direction must be numbers separated by commas; received {text!r}") from None
    if values.shape != (n_goods,) or not np.any(values):
        raise InvalidArgument(f"--direction must hold {n_goods} numbers, not all zero; received {text!r}")
    return np.asarray(values / np.linalg.norm(values))


def _budget(text: str) -> float | tuple[float, float]:
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise InvalidArgument(f"--budget must be a number or LOW:HIGH; received {text!r}")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
