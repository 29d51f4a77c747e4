# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Figure 1: no utility explains every customer, and the posterior that resolves it, on the circle and on the sphere.

Left: the regions of a few simulated customers and how many of them each direction explains; nothing is explained by
all. Right: the posterior density of the mean direction given the same customers, μ uniform and κ uniform on (1, 10) a
priori, from exact masses summed over a grid of κ.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref import plots
from stochpref.laws import MenuLaw, VonMisesFisher, simulate
from stochpref.mass.masses import exact_log_mass
from stochpref.paper.reproduce.drawing import pyplot, save
from stochpref.regions import Regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

CONCENTRATION, BOUNDS = 4.0, (1.0, 10.0)
N_CUSTOMERS = {2: 12, 3: 12}
DIRECTIONS = {2: np.array([0.8, 0.6]), 3: np.array([0.62, 0.45, 0.6428])}
GOODS = ("good 1", "good 2", "good 3")
_N_OUTLINES = 5


class Panel(NamedTuple):
    """What one row of the figure shows.

    truth : (n,) the mean direction behind the customers.
    regions : of the customers.
    directions : (k, n) a grid of directions.
    density : (k,) posterior density of the mean direction, relative to the uniform law.
    best : (n,) the middle of the most covered cell.
    n_explained : how many customers it explains.
    """

    truth: Array
    regions: Regions
    directions: Array
    density: Array
    best: Array
    n_explained: int


def compute(n_goods: int, directions: Array, *, rng: np.random.Generator) -> Panel:
    """Return customers of 2 or 3 goods, the posterior on an equal-area grid of directions, and what is explained most.

    The most covered cell is looked for on a grid of its own, 40,000 directions; where several cells explain as many,
    the largest is taken.
    """
    truth = DIRECTIONS[n_goods] / np.linalg.norm(DIRECTIONS[n_goods])
    data = simulate(VonMisesFisher(truth, CONCENTRATION), MenuLaw("uniform"), N_CUSTOMERS[n_goods], rng=rng)
    regions = Regions.of(data)
    fine = circle_grid(40_000) if n_goods == 2 else sphere_grid(40_000)
    inside = regions.contains(fine)
    covered = inside.sum(axis=1)
    on_top = np.flatnonzero(covered == covered.max())
    _, cell, sizes = np.unique(inside[on_top], axis=0, return_inverse=True, return_counts=True)
    best = fine[on_top[cell.ravel() == np.argmax(sizes)]].mean(axis=0)
    # The log-likelihood of (μ, κ) is the sum over customers; Gauss points average it over κ.
    nodes, weights = np.polynomial.legendre.leggauss(5)
    kappas = 0.5 * (BOUNDS[0] + BOUNDS[1]) + 0.5 * (BOUNDS[1] - BOUNDS[0]) * nodes
    log_likelihood = np.array(
        [[exact_log_mass(regions, k * mu, tolerance=1e-6).log_mass.sum() for k in kappas] for mu in directions]
    )
    density = np.exp(log_likelihood - log_likelihood.max()) @ weights
    return Panel(truth, regions, directions, density / density.mean(), best / np.linalg.norm(best), int(covered.max()))


def circle_grid(size: int = 240) -> Array:
    """Return directions at equal angles."""
    angles = (np.arange(size) + 0.5) * 2 * np.pi / size
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def sphere_grid(size: int = 500) -> Array:
    """Return directions spread evenly over the sphere (a Fibonacci lattice), each for the same area."""
    k = np.arange(size) + 0.5
    height, angle = 1 - 2 * k / size, np.pi * (1 + np.sqrt(5)) * k
    ring = np.sqrt(1 - height**2)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)


def draw(seed: int = 0) -> tuple[Figure, dict[str, Any]]:
    """Return the figure and the numbers it shows; half a minute of one core."""
    plt = pyplot()
    streams = np.random.default_rng(seed).spawn(2)
    flat = compute(2, circle_grid(), rng=streams[0])
    round_ = compute(3, sphere_grid(), rng=streams[1])
    figure = plt.figure(figsize=(9.6, 8.6), layout="constrained")
    axes = [
        figure.add_subplot(2, 2, 1, projection="polar"),
        figure.add_subplot(2, 2, 2),
        figure.add_subplot(2, 2, 3),
        figure.add_subplot(2, 2, 4),
    ]
    _draw_arcs(axes[0], flat)
    _draw_circle_density(axes[1], flat)
    _draw_polygons(axes[2], round_)
    _draw_sphere_density(figure, axes[3], round_)
    return figure, {"seed": seed, "circle": _numbers(flat), "sphere": _numbers(round_)}


def write(folder: Path, seed: int = 0) -> dict[str, Any]:
    """Write figure1.png and figure1.svg to a folder; return the numbers they show."""
    figure, numbers = draw(seed)
    save(figure, folder, "figure1")
    return numbers


def as_text(numbers: dict[str, Any]) -> str:
    """Return the numbers as two lines."""
    return "\n".join(
        f"{name}: {one['most_explained']} of {one['n_customers']} customers explained at most; from the truth, "
        f"most explained {one['degrees_from_truth_most_explained']:.1f}°, "
        f"posterior mode {one['degrees_from_truth_posterior_mode']:.1f}°"
        for name, one in (("circle", numbers["circle"]), ("sphere", numbers["sphere"]))
    )


def _numbers(panel: Panel) -> dict[str, Any]:
    mode = panel.directions[np.argmax(panel.density)]

    def degrees(u: Array) -> float:
        return float(np.degrees(np.arccos(np.clip(u @ panel.truth, -1, 1))))

    return {
        "n_customers": len(panel.regions),
        "most_explained": panel.n_explained,
        "degrees_from_truth_most_explained": degrees(panel.best),
        "degrees_from_truth_posterior_mode": degrees(mode),
    }


def _draw_arcs(axis: Axes, panel: Panel) -> None:
    """Draw each customer's region as an arc on a ring of its own, and the direction that explains most."""
    plots.circle(panel.regions, GOODS[:2], axis)
    for name, side in zip(axis.get_xticklabels(), ("left", "center", "right", "center"), strict=True):
        name.set(horizontalalignment=side)  # clear of the circle
    count = len(panel.regions)
    best = float(np.arctan2(panel.best[1], panel.best[0]))
    axis.plot([best, best], [0, 2.05], "k--", lw=1.5)
    axis.annotate(
        f"explains {panel.n_explained} of {count}", (best, 2.05), (4, 4), textcoords="offset points", fontsize=9,
        annotation_clip=False,
    )  # fmt: skip
    axis.set_title(f"Two goods: {count} customers, one ring each", fontsize=11)


def _draw_circle_density(axis: Axes, panel: Panel) -> None:
    angle = np.degrees(np.arctan2(panel.directions[:, 1], panel.directions[:, 0]))
    order = np.argsort(angle)
    axis.fill_between(angle[order], panel.density[order], color="0.8", label="posterior of μ")
    axis.plot(angle[order], panel.density[order], color="0.2")
    axis.axvline(np.degrees(np.arctan2(*panel.truth[::-1])), color="0.5", lw=2, label="true μ")
    axis.axvline(np.degrees(np.arctan2(*panel.best[::-1])), color="k", ls="--", label="most explained")
    axis.set(xlim=(-180, 180), xticks=range(-180, 181, 90), ylim=(0, None))
    axis.set(xlabel="direction, degrees", ylabel="density relative to uniform")
    axis.set_title("The posterior they give", fontsize=11)
    axis.legend(frameon=False, fontsize=9, loc="upper left", handlelength=1.6)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_polygons(axis: Axes, panel: Panel) -> None:
    """Shade how many customers each visible direction satisfies; outline the regions of the first few."""
    plots.sphere(panel.regions, GOODS, panel.truth, axis, n_outlines=_N_OUTLINES)
    count = len(panel.regions)
    best = plots.face(panel.truth) @ panel.best
    axis.plot(*best[:2], "k*", ms=13, mfc="w", label=f"explains {panel.n_explained} of {count}")
    axis.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(-0.08, -0.13))
    axis.set_title(f"Three goods: {count} customers, {_N_OUTLINES} outlined", fontsize=11)


def _draw_sphere_density(figure: Figure, axis: Axes, panel: Panel) -> None:
    from scipy.interpolate import RBFInterpolator  # noqa: PLC0415

    view = plots.face(panel.truth)
    x, y, u = plots.front(view, 141)
    is_seen = np.isfinite(u[..., 0])
    smooth = RBFInterpolator(panel.directions, np.log(panel.density + 1e-12), neighbors=30)
    density = np.full(x.shape, np.nan)
    density[is_seen] = np.exp(smooth(u[is_seen]))
    shade = axis.contourf(x, y, density, levels=12, cmap="Greys")
    best, truth = view @ panel.best, view @ panel.truth
    axis.plot(*best[:2], "k*", ms=12, mfc="w", label="most explained")
    axis.plot(*truth[:2], "kX", ms=9, mfc="w", label="true μ")
    plots.globe(view, GOODS, axis)
    axis.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(-0.08, -0.13))
    axis.set_title("The posterior they give", fontsize=11)
    bar = figure.colorbar(shade, ax=axis, shrink=0.7)
    bar.set_label("density relative to uniform")
