# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Accuracy against the number of goods: the published figures, the paper's algorithms, ours and the ceiling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stochpref.names import EXHIBIT_SETTINGS
from stochpref.paper.reproduce.drawing import pyplot, save
from stochpref.paper.reproduce.table1 import PUBLISHED, TableCell

TITLES = {"gaussian": "Customers who differ", "corruption": "One utility, 10 % odd customers"}


def write(folder: Path, table: list[TableCell]) -> None:
    """Draw the table's cells of one law and one T, a panel for each setting."""
    plt = pyplot()
    settings = [setting for setting in EXHIBIT_SETTINGS if any(cell.setting == setting for cell in table)]
    figure, axes = plt.subplots(1, len(settings), figsize=(4.6 * len(settings), 3.6), sharey=True, layout="constrained")
    for axis, setting in zip([axes] if len(settings) == 1 else axes, settings, strict=True):
        draw(axis, [cell for cell in table if cell.setting == setting])
    save(figure, folder, "figure3")


def draw(axis: Any, cells: list[TableCell]) -> Any:
    """Draw one setting on an axis and return it."""
    styles = {"ours": ("ours", "-", "o", "black"), "paper": ("the paper's algorithm", "--", "s", "0.45")}
    for method, (label, line, mark, colour) in styles.items():
        own = sorted((cell for cell in cells if cell.method == method), key=lambda cell: cell.n_goods)
        if own:
            axis.errorbar(
                [cell.n_goods for cell in own], [cell.mean for cell in own],
                [2 * cell.standard_error for cell in own],
                linestyle=line, marker=mark, markersize=4, color=colour, capsize=2, label=label,
            )  # fmt: skip
    some = sorted({(cell.n_goods, cell.ceiling) for cell in cells})  # methods meet the same markets
    axis.plot([n for n, _ in some], [c for _, c in some], linestyle=":", color="black", label="ceiling")
    published = PUBLISHED[cells[0].setting, cells[0].law]
    axis.plot(list(published), list(published.values()), "x", color="0.25", markersize=7, label="published")
    axis.set_xscale("log")
    ticks = sorted({cell.n_goods for cell in cells})
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.minorticks_off()
    axis.set_ylim(-18, 106)  # accuracy falls below nothing where an estimate buys what is not wanted
    axis.set_xlabel("number of goods")
    axis.set_ylabel("accuracy, %")
    axis.set_title(f"{TITLES[cells[0].setting]}, law ({cells[0].law}), T = {cells[0].n_observations:,}", fontsize=10)
    axis.grid(axis="y", color="0.9")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="lower left")
    return axis
