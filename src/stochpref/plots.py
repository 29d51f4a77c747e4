# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Every picture of the report: numbers and a matplotlib axis in, the same axis out.

::

    figure, ax = plt.subplots()
    plots.intervals(model.goods_, mean, lower, upper, ax)

Lines and shades tell things apart without colour, names are shortened and never read as formulas. Nothing here creates
a figure or imports matplotlib: the caller does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.demand import Elasticities
from stochpref.errors import InvalidArgument
from stochpref.regions import Regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

INK = "#1f2328"
ACCENT = "#0b5cad"  # dark enough to stay apart from the greys when printed without colour
BAND = "#c3d9ef"
SEEN = "#f4f1e6"  # behind what was observed
MUTED = "#767d86"
GRID = "0.92"
_LABEL = 22  # characters of a name
_OUTLINES = ("-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))


def label(name: str, most: int = _LABEL) -> str:
    """Return a name for a picture: one line, at most `most` characters, with no dollar read as a formula."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name[: most + 1])
    plain = plain if len(plain) <= most else plain[: most - 1] + "…"
    return plain.replace("$", r"\$")


def tidy(ax: Axes, *, grid: Literal["x", "y"] | None = "y") -> Axes:
    """Give an axis the house style: no box, a light grid along one axis, quiet ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(colors=INK, labelsize=9, length=3)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=GRID)
    return ax


def intervals(
    names: Sequence[str], mean: ArrayLike, lower: ArrayLike | None, upper: ArrayLike | None, ax: Axes, *,
    xlabel: str = "",
) -> Axes:  # fmt: skip
    """Draw a dot and an interval for each name, the first on top; no intervals if `lower` is None."""
    centre = np.asarray(mean, np.float64)
    rows = np.arange(len(names))
    ax.axvline(0.0, color=MUTED, lw=1)
    if lower is not None and upper is not None:
        ax.hlines(rows, np.asarray(lower), np.asarray(upper), color=ACCENT, lw=2.4)
    ax.plot(centre, rows, "o", color=ACCENT, ms=5, mec="w", mew=0.8)
    ax.set_yticks(rows, [label(name) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=xlabel)
    return tidy(ax, grid="x")


def shrinkage(mean: ArrayLike, spread: ArrayLike, average: float, ax: Axes, name: str) -> Axes:
    """Draw what is known of each customer's taste, and how sure that is: who is hardly known stands by the average."""
    ax.axvline(average, color=MUTED, lw=1)
    ax.plot(np.asarray(mean), np.asarray(spread), "o", color=ACCENT, ms=4, mec="w", mew=0.5)
    ax.set(xlabel=label(name), ylabel="standard deviation")
    return tidy(ax)


def alikeness(n_goods: int, concentration: ArrayLike, ax: Axes) -> Axes:
    """Draw how far customers' utilities point from the average one, beside customers with nothing in common.

    Parameters
    ----------
    concentration : (draws,) of the posterior; the band holds 90 % of them.
    """
    degrees = np.linspace(0.0, 180.0, 361)
    kappas = np.quantile(np.asarray(concentration).ravel(), np.linspace(0.005, 0.995, 100))
    densities = np.array([_angle_density(n_goods, kappa, degrees) for kappa in kappas])
    low, high = np.quantile(densities, (0.05, 0.95), axis=0)
    ax.plot(degrees, _angle_density(n_goods, 0.0, degrees), ":", color=MUTED, label="nothing in common")
    ax.fill_between(degrees, low, high, color=BAND, lw=0)
    ax.plot(degrees, densities.mean(axis=0), color=ACCENT, label="these customers")
    ax.set(xlim=(0, 180), ylim=(0, None), xticks=range(0, 181, 45), yticks=[])
    ax.set(xlabel="angle to the average utility, degrees", ylabel="share of customers")
    ax.legend(frameon=False, fontsize=8)
    return tidy(ax, grid=None)


def _angle_density(n_goods: int, kappa: float, degrees: Array) -> Array:
    theta = np.radians(degrees)
    with np.errstate(divide="ignore"):
        log_density = kappa * np.cos(theta) + ((n_goods - 2) * np.log(np.sin(theta)) if n_goods > 2 else 0.0)
    density = np.exp(log_density - log_density.max())
    result: Array = density / density.sum()
    return result


def ranks(draws: ArrayLike, ax: Axes, *, name: str = "", n_bins: int = 10) -> Axes:
    """Draw how the ranks of each chain's draws, among all draws, are spread: level lines if chains agree.

    Parameters
    ----------
    draws : (chains, draws). The grey band holds the counts of 95 % of independent chains that do agree.
    """
    values = np.asarray(draws, np.float64)
    n_chains, n_draws = values.shape
    bins = max(min(n_bins, n_draws // 5), 1)
    order = np.argsort(values, axis=None, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    edges = np.linspace(0, order.size, bins + 1)
    level = n_draws / bins
    spread = 1.96 * np.sqrt(level * (1 - 1 / bins) * (1 - 1 / n_chains))
    ax.axhspan(level - spread, level + spread, color="0.9", lw=0)
    for chain, (style, shade) in zip(
        place.reshape(values.shape), _cycle((ACCENT, INK, MUTED, "#6f9fd0"), n_chains), strict=True
    ):
        counts = np.histogram(chain, edges)[0]
        ax.stairs(counts, edges, baseline=None, color=shade, lw=1.3, ls=style)
    ax.set(xlim=(0, order.size), ylim=(0, None), xlabel="rank among all draws", ylabel="draws", xticks=[])
    ax.locator_params(axis="y", integer=True)
    ax.set_title(label(name), fontsize=9.5, color=INK)
    return tidy(ax)


def _cycle(shades: Sequence[str], count: int) -> list[tuple[str, str]]:
    return [(("-", "--", "-.", ":")[k % 4], shades[k % len(shades)]) for k in range(count)]


def certificate(n_consistent: int, upper_bound: int, n_used: int, ax: Axes) -> Axes:
    """Draw how many observations the common utility explains, how many any utility could at most, and the rest."""
    parts = (
        (n_consistent, ACCENT, "explained", "w"),
        (upper_bound - n_consistent, BAND, "undecided", INK),
        (n_used - upper_bound, "0.82", "odd, at least, whatever the utility", INK),
    )
    start = 0
    for count, colour, word, ink in parts:
        if count:
            ax.barh(0, count, left=start, color=colour, height=0.6, edgecolor="w", label=f"{word}: {count:,}")
            if count > 0.12 * n_used:
                ax.text(start + count / 2, 0, f"{100 * count / n_used:.1f} %", ha="center", va="center", color=ink)
        start += count
    ax.set(xlim=(0, n_used), ylim=(-0.5, 0.5), yticks=[], xlabel="observations")
    ax.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, borderpad=0)
    tidy(ax, grid=None)
    ax.spines["left"].set_visible(False)
    return ax


def shares(names: Sequence[str], observed: ArrayLike, lower: ArrayLike, upper: ArrayLike, ax: Axes) -> Axes:
    """Draw, for each name, the share of customers who bought it over the interval that the model predicts.

    Where the ends of all intervals agree, the prediction is one number and has a tick instead.
    """
    seen, low, high = (100 * np.asarray(values, np.float64) for values in (observed, lower, upper))
    rows = np.arange(len(names))
    least = 0.4  # percent: an interval of no width must still show
    is_point = np.array_equal(low, high)
    if is_point:
        ax.plot(low, rows, "|", color=ACCENT, ms=13, mew=2, label="predicted")
    else:
        ax.barh(rows, np.maximum(high - low, least), left=low, height=0.55, color=BAND, label="predicted, 90 %")
    is_inside = is_point | (seen >= low - 1e-9) & (seen <= high + 1e-9)
    ax.plot(seen[is_inside], rows[is_inside], "o", color=INK, ms=4.5, label="observed")
    if not is_inside.all():
        ax.plot(seen[~is_inside], rows[~is_inside], "X", color=INK, ms=7, mec="w", label="observed, outside")
    ax.set_yticks(rows, [label(name) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, None), xlabel="share of customers who buy it, %")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, borderpad=0)
    return tidy(ax, grid="x")


def basket_sizes(observed: ArrayLike, lower: ArrayLike, upper: ArrayLike, ax: Axes, *, step: int = 1) -> Axes:
    """Draw the share of customers who buy 0, 1, 2, … different goods, observed and predicted; `step` sizes a bar."""
    seen, low, high = (100 * np.asarray(values, np.float64) for values in (observed, lower, upper))
    sizes = step * np.arange(len(seen)) + 0.5 * (step - 1)
    least = 0.01 * max(float(seen.max()), float(high.max()))
    if np.array_equal(low, high):
        ax.plot(sizes, low, "_", color=ACCENT, ms=13, mew=2, label="predicted")
    else:
        ax.bar(sizes, np.maximum(high - low, least), bottom=low, width=0.7 * step, color=BAND, label="predicted, 90 %")
    ax.plot(sizes, seen, "o", color=INK, ms=4.5, label="observed")
    ax.set(xlabel="different goods in the basket", ylabel="share of customers, %", ylim=(0, None))
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, borderpad=0)
    return tidy(ax)


def response(
    prices: ArrayLike, mean: ArrayLike, lower: ArrayLike | None, upper: ArrayLike | None, ax: Axes, *,
    ylabel: str, title: str = "", at: float | None = None, seen: tuple[float, float] | None = None,
) -> Axes:  # fmt: skip
    """Draw demand or revenue against the price of one good, with its band.

    A dotted line marks the price `at`, a shade the range of prices that were `seen`.
    """
    if seen is not None:
        ax.axvspan(*seen, color=SEEN, lw=0, zorder=0)
    ax.plot(prices, mean, color=ACCENT, lw=1.8)
    if lower is not None and upper is not None:
        ax.fill_between(np.asarray(prices), np.asarray(lower), np.asarray(upper), color=BAND, lw=0)
    if at is not None:
        ax.axvline(at, color=MUTED, ls=":", lw=1)
    lowest = min(0.0, float(np.min(mean)))  # a profit may be a loss
    ax.set(xlim=(float(np.min(prices)), float(np.max(prices))), ylim=(lowest, None), ylabel=ylabel, xlabel="price")
    ax.set_title(label(title, 30), fontsize=9.5, color=INK)
    return tidy(ax)


def elasticities(found: Elasticities, ax: Axes) -> Axes:
    """Draw price elasticities as a heat map, each number in its cell, a star where the interval excludes zero."""
    values = found.mean
    n = len(found.goods)
    finite = np.abs(values[np.isfinite(values)])
    reach = min(float(finite.max()) if finite.size else 1.0, 3.0) or 1.0
    ax.imshow(np.where(np.isfinite(values), values, 0.0), cmap="RdBu", vmin=-1.6 * reach, vmax=1.6 * reach)
    with np.errstate(invalid="ignore"):
        is_clear = ((found.lower > 0) | (found.upper < 0)) & (found.lower < found.upper)
    size = 8.5 if n <= 6 else (7.0 if n <= 9 else 5.6)
    for i, j in np.ndindex(n, n):
        rounded = round(float(values[i, j]), 2) + 0.0  # no minus before a zero
        shown = f"{rounded:.2f}{'*' if is_clear[i, j] else ''}" if np.isfinite(rounded) else "–"
        ink = "w" if abs(values[i, j]) > reach else INK
        ax.text(j, i, shown.replace("-", "−"), ha="center", va="center", fontsize=size, color=ink)
    names = [label(name, 14) for name in found.goods]
    ax.set_xticks(range(n), names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), names)
    ax.set(xlabel="price of", ylabel="demand for")
    ax.tick_params(length=0, labelsize=8)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def circle(regions: Regions, goods: Sequence[str], ax: Axes, *, directions: ArrayLike | None = None) -> Axes:
    """Draw two goods' utilities as directions: each customer's region an arc on its own ring, draws around them.

    Parameters
    ----------
    regions : of the customers to show, a few dozen at most.
    ax : a polar axis.
    directions : (draws, 2) of the posterior, drawn as a histogram outside the rings.
    """
    _check_goods(regions, 2)
    angles = np.linspace(0, 2 * np.pi, 2881)
    inside = regions.contains(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    count = len(regions)
    for t in range(count):
        ring = np.where(inside[:, t], 1.0 + t / count, np.nan)
        ax.plot(angles, ring, color="0.25", lw=max(30.0 / max(count, 12), 1.0), solid_capstyle="butt")
    rim = 2.08
    ax.plot(angles, np.full_like(angles, rim - 0.04), color="0.85", lw=0.8)
    if directions is not None:
        points = np.asarray(directions, np.float64)
        counts, edges = np.histogram(np.arctan2(points[:, 1], points[:, 0]), np.linspace(-np.pi, np.pi, 181))
        ax.bar(edges[:-1], 0.6 * counts / counts.max(), width=np.diff(edges), bottom=rim, align="edge", color=ACCENT)
        rim += 0.65
    ax.set(ylim=(0, rim), yticks=[])
    names = [label(name, 12) for name in goods]
    ax.set_xticks(np.radians([0, 90, 180, 270]), [names[0], names[1], f"not {names[0]}", f"not {names[1]}"])
    ax.spines["polar"].set_visible(False)
    ax.grid(visible=False)
    return ax


def sphere(
    regions: Regions, goods: Sequence[str], centre: ArrayLike, ax: Axes, *,
    directions: ArrayLike | None = None, n_outlines: int = 5, resolution: int = 401,
) -> Axes:  # fmt: skip
    """Draw three goods' utilities as a globe: how many customers each direction explains, draws as dots.

    Parameters
    ----------
    regions : of the customers to count; the regions of the first `n_outlines` are outlined.
    centre : (3,) the direction that faces the reader.
    directions : (draws, 3) of the posterior.
    resolution : points along an edge of the picture.
    """
    _check_goods(regions, 3)
    view = face(np.asarray(centre, np.float64))
    x, y, u = front(view, resolution)
    is_seen = np.isfinite(u[..., 0])
    explained = np.full(x.shape, np.nan)
    explained[is_seen] = regions.contains(u[is_seen]).sum(axis=1)
    top = max(int(np.nanmax(explained)), 1)
    step = max(top // 12, 1)
    levels = np.arange(-0.5, top + step, step)
    shade = ax.contourf(x, y, explained, levels=levels, cmap="Greys", vmax=1.8 * top)
    for t in range(min(n_outlines, len(regions))):
        matrix, right = regions.inequalities(t)
        if not len(right):  # nothing to say, nothing to outline: every direction explains it
            continue
        beyond = np.full(x.shape, np.nan)
        beyond[is_seen] = np.max(u[is_seen] @ matrix.T - right, axis=1)
        style: Any = _OUTLINES[t % len(_OUTLINES)]
        ax.contour(x, y, beyond, levels=[0.0], colors="k", linewidths=1.4, linestyles=[style])
    if directions is not None:
        seen = np.asarray(directions, np.float64) @ view.T
        seen = seen[seen[:, 2] > 0]
        size = 2.5 if len(seen) > 20 else 9.0
        ax.plot(seen[:, 0], seen[:, 1], "o", color=ACCENT, ms=size, mec="w", mew=0.1 * size)
    globe(view, goods, ax)
    bar = ax.figure.colorbar(shade, ax=ax, shrink=0.7, ticks=np.arange(0, top + 1, step * max(top // step // 6, 1)))
    bar.set_label("customers explained")
    bar.outline.set_visible(False)
    return ax


def globe(view: Array, goods: Sequence[str], ax: Axes) -> Axes:
    """Draw the rim of a globe and where the goods point; `view` is its frame, as `face` makes it."""
    t = np.linspace(0, 2 * np.pi, 400)
    ax.plot(np.cos(t), np.sin(t), color="k", lw=1)
    for i in range(3):
        x, y, depth = view @ np.eye(3)[i]
        if depth > 0:
            ax.plot(x, y, "k.", ms=4)
            ax.annotate(
                label(goods[i], 14), (x, y), (5, 5), textcoords="offset points", fontsize=8,
                bbox={"fc": "w", "ec": "none", "pad": 0.8, "alpha": 0.8},
            )  # fmt: skip
    ax.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    ax.set_axis_off()
    return ax


def face(centre: Array) -> Array:
    """Return a (3, 3) frame whose last row looks at a direction, the third good pointing up."""
    up = np.array([0.0, 0.0, 1.0]) - centre[2] * centre
    if np.linalg.norm(up) < 1e-9:  # it points at the third good itself: the second points up
        up = np.array([0.0, 1.0, 0.0])
    up /= np.linalg.norm(up)
    return np.stack([np.cross(up, centre), up, centre])


def front(view: Array, size: int = 401) -> tuple[Array, Array, Array]:
    """Return a square of points of the visible half, and the directions they stand for; NaN outside the rim."""
    x, y = np.meshgrid(np.linspace(-1, 1, size), np.linspace(-1, 1, size))
    depth = np.sqrt(np.where(x**2 + y**2 <= 1, np.maximum(1 - x**2 - y**2, 0.0), np.nan))
    return x, y, np.stack([x, y, depth], axis=-1) @ view


def _check_goods(regions: Regions, wanted: int) -> None:
    if regions.side.shape[1] != wanted:
        raise InvalidArgument(f"regions must be of {wanted} goods to be drawn so; received {regions.side.shape[1]}")
