# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The picture of each result: what its `plot` draws, on a given axis or on a figure of its own.

Pictures of numbers are in `plots`; here a result is taken apart for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stochpref import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stochpref.audit import Audit
    from stochpref.comparison import Comparison
    from stochpref.consensus.explanation import Explanation
    from stochpref.consensus.summary import CommonSummary
    from stochpref.demand import Demand, Elasticities
    from stochpref.effects import Effects
    from stochpref.feature_likelihood import FeatureLikelihood
    from stochpref.likelihood import MaximumLikelihood
    from stochpref.models.selection import Selection
    from stochpref.posterior.summary import HeterogeneousSummary
    from stochpref.satiation.likelihood import SatiatedLikelihood
    from stochpref.segments.summary import SegmentedSummary
    from stochpref.tastes.results import CustomerCoefficients

_MOST = 40  # rows a picture can hold
_MENUS = 4
_NORMAL_90 = 1.6448536269514722


def audit(found: Audit, ax: Axes | None) -> Axes:
    """Draw how many observations are of each kind."""
    kinds = [(name, count) for name, count in found.kinds.items() if count]
    ax = _axis(ax, len(kinds))
    ax.barh(range(len(kinds)), [count for _, count in kinds], color=plots.ACCENT, height=0.6)
    ax.set_yticks(range(len(kinds)), [name for name, _ in kinds])
    ax.set(ylim=(len(kinds) - 0.5, -0.5), xlabel="observations")
    return plots.tidy(ax, grid="x")


def posterior(found: HeterogeneousSummary, ax: Axes | None) -> Axes:
    """Draw how much each good is wanted, with 90 % intervals."""
    rows = found.goods[:_MOST]
    return plots.intervals(
        [row.name for row in rows], [row.mean for row in rows], [row.lower for row in rows],
        [row.upper for row in rows], _axis(ax, len(rows)), xlabel="mean utility, 90 % intervals",
    )  # fmt: skip


def effects(found: Effects, ax: Axes | None) -> Axes:
    """Draw what each change does to purchases of the good it is made for, in percent, with intervals."""
    rows = [one for one in found.own if np.isfinite(one.relative)][:_MOST]
    return plots.intervals(
        [f"{one.change}, {one.good}" for one in rows], [100 * one.relative for one in rows],
        [100 * one.relative_lower for one in rows], [100 * one.relative_upper for one in rows], _axis(ax, len(rows)),
        xlabel=f"change of expected purchases, %, with {100 * found.level:g} % intervals",
    )  # fmt: skip


def segments(found: SegmentedSummary, ax: Axes | None) -> Axes:
    """Draw the share of customers of each segment, with 90 % intervals."""
    rows = [one.weight for one in found.segments]
    return plots.intervals(
        [f"segment {number}" for number in range(1, len(rows) + 1)], [row.mean for row in rows],
        [row.lower for row in rows], [row.upper for row in rows], _axis(ax, len(rows)),
        xlabel="share of customers, 90 % intervals",
    )  # fmt: skip


def shrinkage(found: CustomerCoefficients, ax: Axes | None) -> Axes:
    """Draw what is known of each customer's taste for what they differ over most, and how sure that is."""
    k = int(np.argmax(found.mean.std(axis=0)))
    ax = _axis(ax, 12)
    return plots.shrinkage(found.mean[:, k], found.spread[:, k], float(found.average[k]), ax, found.names[k])


def common(found: CommonSummary, ax: Axes | None) -> Axes:
    """Draw the common utility, with the range of utilities that explain as much where it is known."""
    rows = found.goods[:_MOST]
    names, values, lower, upper = zip(*rows, strict=True)
    low, high = (None, None) if None in lower else (lower, upper)
    return plots.intervals(names, values, low, high, _axis(ax, len(rows)), xlabel="common utility")


def maximum_likelihood(found: MaximumLikelihood, ax: Axes | None) -> Axes:
    """Draw the most likely mean direction, with 90 % intervals by its standard errors."""
    order = np.argsort(-found.mean_direction)[:_MOST]
    mean, reach = found.mean_direction[order], _NORMAL_90 * found.direction_standard_errors[order]
    names = [found.goods[i] for i in order]
    return plots.intervals(
        names, mean, mean - reach, mean + reach, _axis(ax, len(names)), xlabel="mean direction, 90 % intervals"
    )


def satiated_likelihood(found: SatiatedLikelihood, ax: Axes | None) -> Axes:
    """Draw the most likely parameters, logarithms all of them, with 90 % intervals by their standard errors."""
    values, reach, names = found.estimates[:_MOST], _NORMAL_90 * found.standard_errors[:_MOST], found.names[:_MOST]
    return plots.intervals(
        names, values, values - reach, values + reach, _axis(ax, len(names)), xlabel="estimate, 90 % intervals"
    )


def features(found: FeatureLikelihood, ax: Axes | None) -> Axes:
    """Draw the coefficients of the features, each over its standard error, with 90 % intervals."""
    n = len(found.problem.coordinates(found.goods))
    errors = found.standard_errors[n:]
    ratios, names = found.coefficients[n:] / errors, found.coefficient_names[n:]
    low, high = ratios - _NORMAL_90, ratios + _NORMAL_90
    return plots.intervals(
        names[:_MOST], ratios[:_MOST], low[:_MOST], high[:_MOST], _axis(ax, len(names[:_MOST])),
        xlabel="coefficient over its standard error, 90 % intervals",
    )  # fmt: skip


def selection(found: Selection, ax: Axes | None) -> Axes:
    """Draw how far each model is behind the highest score, with 90 % intervals of the difference."""
    rows = [row for row in found.scores if row.behind is not None]
    gaps = np.array([-float(row.behind or 0.0) for row in rows])
    reach = _NORMAL_90 * np.array([float(row.behind_error or 0.0) for row in rows])
    return plots.intervals(
        [row.name for row in rows], gaps, gaps - reach, gaps + reach, _axis(ax, len(rows)),
        xlabel="log-probability of a purchase held out, less the highest, 90 % intervals",
    )  # fmt: skip


def demand(found: Demand, ax: Axes | None) -> Axes:
    """Draw expected purchases by good, a mark for each of the first menus, with their intervals."""
    goods, n_menus = found.goods[:_MOST], min(len(found.mean), _MENUS)
    ax = _axis(ax, len(goods) * (1 + 0.3 * (n_menus - 1)))
    shades, marks = (plots.ACCENT, plots.INK, plots.MUTED, "#6f9fd0"), "osD^"
    for t in range(n_menus):
        rows = np.arange(len(goods)) + 0.6 * ((t + 0.5) / n_menus - 0.5)
        ax.hlines(rows, found.lower[t, : len(goods)], found.upper[t, : len(goods)], color=shades[t], lw=2)
        name = plots.label(f"menu {found.labels[t]}")
        ax.plot(found.mean[t, : len(goods)], rows, marks[t], color=shades[t], ms=5, mec="w", mew=0.8, label=name)
    ax.set_yticks(range(len(goods)), [plots.label(name) for name in goods])
    xlabel = f"{found.heading[0].lower()}{found.heading[1:]}, {100 * found.level:g} % intervals"
    ax.set(ylim=(len(goods) - 0.5, -0.5), xlim=(0, None), xlabel=xlabel)
    if n_menus > 1:
        _legend(ax)
    return plots.tidy(ax, grid="x")


def elasticities(found: Elasticities, ax: Axes | None) -> Axes:
    """Draw elasticities as a heat map."""
    return plots.elasticities(found, _axis(ax, 1.6 * len(found.goods), width=1.6 + 0.7 * len(found.goods)))


def comparison(found: Comparison, ax: Axes | None) -> Axes:
    """Draw the score of each fit with two standard errors: of data held out, or else leave-one-out."""
    scores = [(fit.name, fit.held_out if found.n_held_out else fit.loo) for fit in found.fits]
    known = [(name, score) for name, score in scores if score is not None]
    ax = _axis(ax, len(known))
    rows, mean = np.arange(len(known)), np.array([score.mean for _, score in known])
    reach = 2 * np.array([score.standard_error for _, score in known])
    ax.hlines(rows, mean - reach, mean + reach, color=plots.ACCENT, lw=2.4)
    ax.plot(mean, rows, "o", color=plots.ACCENT, ms=5, mec="w", mew=0.8)
    ax.set_yticks(rows, [plots.label(name) for name, _ in known])
    what = "held out" if found.n_held_out else "leave-one-out"
    ax.set(ylim=(len(known) - 0.5, -0.5), xlabel=f"log score, {what}, ± 2 standard errors")
    return plots.tidy(ax, grid="x")


def explanation(found: Explanation, ax: Axes | None) -> Axes:
    """Draw what was bought beside what the utility expects, of the goods at odds."""
    goods = found.at_odds[:_MOST]
    ax = _axis(ax, max(len(goods), 1))
    rows = np.arange(len(goods))
    for shift, values, shade, word in (
        (-0.18, [good.bought for good in goods], plots.INK, "bought"),
        (0.18, [good.expected for good in goods], plots.BAND, "expected"),
    ):
        ax.barh(rows + shift, values, height=0.34, color=shade, label=word)
    _name_rows(ax, [good.good for good in goods])
    ax.set(xlabel="quantity", title="" if goods else str(found))
    if goods:
        _legend(ax)
    return plots.tidy(ax, grid="x")


def _legend(ax: Axes) -> None:
    """Say above the picture, where nothing is drawn, what its marks are."""
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=4, borderpad=0)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), [plots.label(name) for name in names])
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)


def _axis(ax: Axes | None, rows: float, width: float = 6.0) -> Axes:
    """Return the axis, or that of a new figure high enough for some rows."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt.subplots(figsize=(width, 1.0 + 0.28 * rows), layout="constrained")[1]
