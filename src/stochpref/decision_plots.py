# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The pictures of decisions: profit against prices, and what is decided with its intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochpref import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stochpref.decisions.best_prices import BestPrices

_MOST = 8  # goods a picture of curves can hold


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


def _axis(ax: Axes | None, rows: float = 8.0) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt.subplots(figsize=(6.0, 1.0 + 0.32 * rows), layout="constrained")[1]
