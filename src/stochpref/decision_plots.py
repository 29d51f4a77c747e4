# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The pictures of decisions: profit against prices, and what is decided with its intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochpref import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stochpref.decisions.assortment import Assortment
    from stochpref.decisions.best_prices import BestPrices
    from stochpref.decisions.forecasting import Forecast
    from stochpref.decisions.funding import Funding

_MOST = 8  # goods a picture of curves can hold
_MOST_ROWS = 40


def best_prices(found: BestPrices, ax: Axes | None) -> Axes:
    """Draw profit against the price of each good, the others at their best; dashed beyond observed prices."""
    goods = [int(i) for i in np.flatnonzero(~np.isnan(found.today))]
    goods = sorted(goods, key=lambda i: -np.ptp(found.curve_profits[i]))[:_MOST]
    ax = _axis(ax)
    import matplotlib as mpl  # noqa: PLC0415

    shades = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
    for k, i in enumerate(goods):
        prices, profits = found.curve_prices[i], found.curve_profits[i]
        seen = (prices >= found.observed_lowest[i] - 1e-9) & (prices <= found.observed_highest[i] + 1e-9)
        name = plots.label(found.titles.get(found.goods[i], found.goods[i]))
        ax.plot(prices, profits, color=shades[k], lw=1, ls="--")
        ax.plot(prices[seen], profits[seen], color=shades[k], lw=2, label=name)
        for price, face in ((found.prices[i], shades[k]), (found.today[i], "w")):
            height = float(np.interp(price, prices, profits))
            ax.plot([price], [height], "o", color=shades[k], mfc=face, ms=6, zorder=3)
    ax.set(xlabel="price (filled: best; open: today; solid: observed)", ylabel="profit from a visitor")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=4, borderpad=0)
    return plots.tidy(ax, grid="y")


def assortment(found: Assortment, ax: Axes | None) -> Axes:
    """Draw what a visitor earns more if a good is offered, goods on offer first."""
    rows = found.records()[:_MOST_ROWS]
    names = [f"{found.titles.get(row['good'], row['good'])}{'' if row['is_offered'] else ' (no)'}" for row in rows]
    what = "profit" if found.is_profit else "revenue"
    ax = plots.intervals(
        names, [row["change"] for row in rows], [row["lower"] for row in rows], [row["upper"] for row in rows],
        _axis(ax, len(rows)), xlabel=f"{what} from a visitor that a good adds, 90 % intervals",
    )  # fmt: skip
    ax.axvline(0.0, color=plots.MUTED, lw=0.8)
    return ax


def forecast(found: Forecast, ax: Axes | None) -> Axes:
    """Draw the units of each good with their intervals."""
    order = np.argsort(-found.units, kind="stable")[:_MOST_ROWS]
    return plots.intervals(
        [found.titles.get(found.goods[i], found.goods[i]) for i in order], found.units[order],
        found.units_lower[order], found.units_upper[order], _axis(ax, len(order)),
        xlabel=f"units bought by {found.n_customers:,} customers, {100 * found.level:g} % intervals",
    )  # fmt: skip


def funding(found: Funding, ax: Axes | None) -> Axes:
    """Draw the probability of each project being funded, in falling order of support."""
    rows = found.records()[:_MOST_ROWS]
    ax = _axis(ax, len(rows))
    shades = [plots.ACCENT if row["is_funded"] else plots.BAND for row in rows]
    ax.barh(range(len(rows)), [row["probability"] for row in rows], color=shades, height=0.6)
    ax.set_yticks(range(len(rows)), [plots.label(found.titles.get(row["project"], row["project"])) for row in rows])
    ax.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 1), xlabel=f"probability of being funded (dark: by {found.rule})")
    return plots.tidy(ax, grid="x")


def _axis(ax: Axes | None, rows: float = 8.0) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt.subplots(figsize=(6.0, 1.0 + 0.32 * rows), layout="constrained")[1]
