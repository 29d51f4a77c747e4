# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What figures share: the plotting library, loaded when needed, and how a figure is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pyplot() -> Any:
    """Return matplotlib's pyplot with a backend that needs no display."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write NAME.png and NAME.svg to a folder, made if needed; the same figure gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot().close(figure)
