# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Error against the number of observations, with its fitted rate beside the theorem's.

The theorem bounds the distance of a posterior draw from the truth by a multiple of log T / √T. The error measured is
the root mean square angle between the posterior mean direction and the truth; its rate is the slope on log axes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from stochpref.errors import InvalidArgument
from stochpref.paper.reproduce.drawing import pyplot, save
from stochpref.paper.reproduce.markets import Cell
from stochpref.paper.reproduce.methods import Method
from stochpref.paper.reproduce.trials import Task, run_trials

OBSERVATIONS: Final = (100, 200, 500, 1000, 2000, 5000, 10_000)
CONCENTRATION: Final = 5.0


class Curve(NamedTuple):
    """Errors of one law of menus.

    observations, errors, standard_errors : of each size: T, root mean square angle, its standard error.
    rate, rate_error : fitted slope of log error against log T, and its standard error.
    """

    law: str
    n_goods: int
    observations: tuple[int, ...]
    errors: tuple[float, ...]
    standard_errors: tuple[float, ...]
    rate: float
    rate_error: float


def run(
    n_goods: int,
    laws: list[str],
    observations: tuple[int, ...] = OBSERVATIONS,
    *,
    n_trials: int,
    seed: int,
    jobs: int,
    folder: Path | None = None,
    report: Callable[[int, int, str], None] | None = None,
) -> list[Curve]:
    """Run the trials, κ = 5, and return a curve for each law; a rate needs two different numbers of observations."""
    observations = tuple(dict.fromkeys(observations))
    if len(observations) < 2:
        raise InvalidArgument(
            f"observations must be two different numbers or more, to fit a rate; received {observations}"
        )
    tasks = {
        (law, size): [
            Task(Cell("gaussian", law, n_goods, size), Method("ours"), trial, seed, concentration=CONCENTRATION)
            for trial in range(n_trials)
        ]
        for law in laws
        for size in observations
    }
    outcomes = run_trials([task for group in tasks.values() for task in group], jobs=jobs, folder=folder, report=report)
    curves = []
    for law in laws:
        squares = np.array([[outcomes[task.name].angle ** 2 for task in tasks[law, size]] for size in observations])
        curves.append(_curve(law, n_goods, observations, squares))
    return curves


def _curve(law: str, n_goods: int, observations: tuple[int, ...], squares: Any) -> Curve:
    """Fit log error on log T, weighted by what the trials tell of each error."""
    mean = squares.mean(axis=1)
    relative = 0.5 * squares.std(axis=1, ddof=1) / np.sqrt(squares.shape[1]) / mean  # of the root
    x = np.log(observations) - np.log(observations).mean()
    design, weight = np.stack([np.ones_like(x), x], axis=1), 1.0 / relative
    covariance = np.linalg.inv((design * weight[:, None] ** 2).T @ design)
    slope = covariance @ (design * weight[:, None] ** 2).T @ (0.5 * np.log(mean))
    root = np.sqrt(mean)
    return Curve(
        law, n_goods, tuple(observations), tuple(root.tolist()), tuple((root * relative).tolist()),
        float(slope[1]), float(np.sqrt(covariance[1, 1])),
    )  # fmt: skip


def as_dict(curves: list[Curve]) -> dict[str, Any]:
    """Return the curves as JSON can hold them."""
    return {"concentration": CONCENTRATION, "theorem_rate": -0.5, "curves": [curve._asdict() for curve in curves]}


def as_text(curves: list[Curve]) -> str:
    """Return errors and fitted rates as text."""
    lines = ["Root mean square angle between posterior mean and truth, radians; the theorem's rate is log T / T^0.5"]
    for curve in curves:
        lines.append(f"  law ({curve.law}), n = {curve.n_goods}: rate T^({curve.rate:.3f} ± {curve.rate_error:.3f})")
        for size, error, uncertainty in zip(curve.observations, curve.errors, curve.standard_errors, strict=True):
            lines.append(f"    T = {size:>7,}   {error:.4f} ± {uncertainty:.4f}")
    return "\n".join(lines)


def write(folder: Path, curves: list[Curve]) -> None:
    """Draw the curves."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
    draw(axis, curves)
    save(figure, folder, "figure4")


def draw(axis: Any, curves: list[Curve]) -> Any:
    """Draw the curves on an axis and return it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: PLC0415

    marks = {"i": ("o", "black", "-"), "ii": ("s", "0.4", "--"), "iii": ("^", "0.6", "-.")}
    for curve in curves:
        mark, colour, line = marks[curve.law]
        axis.errorbar(
            curve.observations, curve.errors, [2 * error for error in curve.standard_errors],
            marker=mark, color=colour, linestyle=line, markersize=4, capsize=2,
            label=f"law ({curve.law}): slope {curve.rate:.2f} ± {curve.rate_error:.2f}".replace("-", "−"),
        )  # fmt: skip
    sizes = np.array(curves[0].observations, float)
    rate = np.log(sizes) / np.sqrt(sizes)
    axis.plot(sizes, 1.6 * curves[0].errors[0] * rate / rate[0], ":", color="black", label="log T / √T (any constant)")
    axis.set_xscale("log")
    axis.set_yscale("log")
    for scale, form in ((axis.xaxis, ",.0f"), (axis.yaxis, "g")):
        scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        scale.set_major_formatter(FuncFormatter(lambda value, _, form=form: format(value, form)))
        scale.set_minor_locator(NullLocator())
    axis.set_xlabel("number of observations T")
    axis.set_ylabel("angle to the truth, radians")
    axis.set_title(f"{curves[0].n_goods} goods, concentration {CONCENTRATION:g}", fontsize=10)
    axis.grid(color="0.92")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return axis
