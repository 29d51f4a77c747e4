# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The pictures of the page, as SVG in data URIs: nothing to load, and nothing in a picture can run."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref import plots
from stochpref.decisions.best_prices import BestPrices
from stochpref.demand import Elasticities
from stochpref.models.account import Sketch
from stochpref.regions import Regions, usable_rows
from stochpref.report.findings import Reading
from stochpref.responses import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

N_RANKED: Final = 20  # goods that a picture ranks; the table has all
_RINGS, _ON_GLOBE, _DOTS = 24, 300, 400  # customers and draws that a picture of the sphere can show


class Margins(NamedTuple):
    """Where the axes of a picture lie, as shares of it, and the gap between two as a share of one."""

    left: float
    right: float
    bottom: float
    top: float
    wspace: float


_OF_CURVES: Final = Margins(0.12, 0.985, 0.24, 0.97, 0.42)


class Picture(NamedTuple):
    """A picture, what it shows in words, and what to look for."""

    uri: str
    alt: str
    caption: str


def picture(
    draw: Callable[..., Any], alt: str, caption: str, *, size: tuple[float, float], panels: int = 1,
    projection: str | None = None, margins: Margins | None = None,
) -> Picture:  # fmt: skip
    """Return what `draw` puts on its axes; the same numbers give the same bytes.

    Margins are found by drawing everything once before, which takes as long again: pictures of one kind state them.
    """
    from matplotlib import style  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    # The browser sets the text, in its own fonts: those of matplotlib need not know the letters of every name.
    options: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "stochpref", "font.size": 9.0, "text.color": plots.INK,
        "axes.labelcolor": plots.INK, "axes.labelsize": 9.0,
    }  # fmt: skip
    with style.context(["default", options]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        figure = Figure(figsize=size, layout="constrained" if margins is None else None)
        if margins is not None:
            figure.subplots_adjust(**margins._asdict())
        axes = [figure.add_subplot(1, panels, k + 1, projection=projection) for k in range(panels)]
        draw(*axes)
        return Picture(_as_uri(figure), alt, caption)


def _as_uri(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = re.sub(r"font: ([^'\";]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, sans-serif", text)
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()


def drawn(sketches: Iterable[Sketch]) -> list[Picture]:
    """Return the pictures of an account."""
    return [picture(one.draw, one.alt, one.caption, size=one.size) for one in sketches]


def of_wants(reading: Reading) -> list[Picture]:
    """Return what goods are worth to customers, and what they are worth for their price."""
    top = reading.order[:N_RANKED]
    names, tall = [reading.observations.shown_goods[i] for i in top], 0.9 + 0.235 * len(top)
    ranked = _some(len(top), reading, "wanted")

    def drawn_of(values: Array, ranges: Array | None, xlabel: str) -> Callable[..., Any]:
        return lambda ax: plots.intervals(names, values[top], *_ends(ranges, top), ax, xlabel=xlabel)

    return [
        picture(
            drawn_of(reading.wanted, reading.wanted_range, "utility of one unit"),
            "Utility of each good, with intervals", f"What one unit is worth to customers.{ranked}", size=(4.6, tall),
        ),
        picture(
            drawn_of(reading.worth, reading.worth_range, "utility per unit of money"),
            "Utility per unit of money of each good, with intervals",
            f"The same per unit of money, at typical prices: what a customer buys first.{ranked}", size=(4.6, tall),
        ),
    ]  # fmt: skip


def of_check(reading: Reading) -> list[Picture]:
    """Return shares of goods and sizes of baskets, observed beside predicted."""
    check, top = reading.check, reading.order[:N_RANKED]
    offered = [i for i in top if np.isfinite(check.share[i])]
    names = [reading.observations.shown_goods[i] for i in offered]
    where = "inside their bars: the model" if check.n_replicates > 1 else "on their ticks: the utility"
    return [
        picture(
            lambda ax: plots.shares(
                names, check.share[offered], check.share_lower[offered], check.share_upper[offered], ax
            ),
            "Observed and predicted share of customers who buy each good",
            f"Dots {where} buys as customers did.{_some(len(top), reading, 'wanted')}",
            size=(4.6, 1.1 + 0.235 * len(offered)),
        ),
        picture(
            lambda ax: plots.basket_sizes(check.size, check.size_lower, check.size_upper, ax, step=check.size_step),
            "Observed and predicted number of goods in a basket", "How many different goods customers buy.",
            size=(4.6, 3.0),
        ),
    ]  # fmt: skip


def of_elasticities(reading: Reading) -> Picture | None:
    """Return the heat map of elasticities; None where nothing is on offer."""
    found = reading.elasticities
    if not found.goods:
        return None
    stars = " A star: the interval excludes zero." if np.any(found.lower < found.upper) else ""
    return picture(
        lambda ax: plots.elasticities(_titled(reading), ax), "Heat map of price elasticities",
        f"Change of the demand in the row, in %, for 1 % on the price in the column.{stars}"
        f"{_some(len(found.goods), reading, 'bought')}", size=_square(len(found.goods)),
    )  # fmt: skip


def of_tastes(reading: Reading, centre: Array, draws: Array) -> Picture | None:
    """Return the circle or sphere of tastes; None with more than three goods, or where bundles have no regions."""
    data, dots = reading.observations, draws[:: max(len(draws) // _DOTS, 1)]
    names = data.problem.coordinates(data.goods)
    if len(names) not in (2, 3) or not data.problem.has_masses:
        return None
    regions = Regions.of(data)
    regions = regions[usable_rows(regions, "drop")]
    if len(names) == 2:
        rows = np.arange(0, len(regions), -(-len(regions) // _RINGS))
        return picture(
            lambda ax: plots.circle(regions[rows], names, ax, directions=draws),
            "Regions of some customers as arcs, and the posterior of the mean direction around them",
            f"A direction is a taste. Each ring is a customer ({len(rows)} of {len(regions):,}): the arc holds the "
            "tastes that explain the purchase. Outside, in blue: the fit.",
            size=(4.2, 4.2), projection="polar",
        )  # fmt: skip
    rows = np.arange(0, len(regions), -(-len(regions) // _ON_GLOBE))

    def draw(ax: Axes) -> None:
        plots.sphere(regions[rows], names, centre, ax, directions=dots, n_outlines=3, resolution=161)

    return picture(
        draw, "How many customers each direction explains, and the posterior of the mean direction as dots",
        f"A direction is a taste; the darker, the more customers it explains ({len(rows)} of {len(regions):,} counted, "
        "the first three outlined). Blue dots: the fit.",
        size=(4.8, 3.8),
    )  # fmt: skip


def of_curve(reading: Reading, curve: Curve) -> Picture:
    """Return how a good answers its own price."""
    at = float(reading.menu.prices[0, curve.good])
    name = reading.observations.shown_goods[curve.good]

    def draw(left: Axes, right: Axes) -> None:
        for ax, (mean, lower, upper), word in (
            (left, curve.demand, "units a customer buys"),
            (right, curve.earned, f"{curve.what} from a customer"),
        ):
            plots.response(curve.prices, mean, lower, upper, ax, ylabel=word, at=at, seen=curve.seen)
            ax.set_xlabel(f"price{f', {reading.currency}' if reading.currency else ''}")

    return picture(
        draw, f"Purchases and {curve.what} of {plots.label(name)} against its price", curve.verdict, size=(4.6, 2.1),
        panels=2, margins=_OF_CURVES,
    )  # fmt: skip


def of_prices(found: BestPrices) -> Picture:
    """Return profit against the price of each good."""
    return picture(
        found.plot, "Profit from a visitor against the price of each good",
        "Profit from a visitor as one price moves, the others at their best. Filled dots: best prices; open: today's.",
        size=(6.0, 3.6),
    )  # fmt: skip


def _titled(reading: Reading) -> Elasticities:
    """Return the elasticities under what people call the goods."""
    called = dict(zip(reading.observations.goods, reading.observations.shown_goods, strict=True))
    found = reading.elasticities
    return replace(found, goods=tuple(called[name] for name in found.goods))


def _some(count: int, reading: Reading, how: str) -> str:
    """Return a sentence that says which goods are shown, where that is not all of them."""
    n = reading.observations.n_goods
    return "" if count >= n else f" Shown: {count} of {n} goods, those {how} most."


def _ends(ranges: Array | None, rows: NDArray[np.intp]) -> tuple[Array | None, Array | None]:
    return (None, None) if ranges is None else (ranges[rows, 0], ranges[rows, 1])


def _square(n: int) -> tuple[float, float]:
    return (1.6 + 0.46 * n, 1.3 + 0.4 * n)
