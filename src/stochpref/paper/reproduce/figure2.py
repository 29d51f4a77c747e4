# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Figure 2: how far apart two parameters' laws of observations are, against the distance of the parameters.

Corollary 1 asks for an L with W ≥ L·|θ - θ*| for every θ. W between samples is useless for that: two samples of one law
are far apart in eleven dimensions. Nothing is sampled here but menus. Given a menu, a customer's purchase is one of a
few dozen bundles with exact probabilities, so W lies between two numbers free of that bias:

- above, the mean over menus of the exact distance between purchases from the same menu (a coupling that never trades
  one menu for another); under law (iii), with five menus, the exact distance over all menus at once;
- below, the length of the difference of mean purchases (linear functions of a purchase are Lipschitz).

The same menus serve every parameter, so differences between parameters are not blurred by menus. The least ratio of the
upper bound to |θ - θ*| over the parameters tried bounds L from above; that of the lower bound only estimates a bound
from below, since a parameter not tried may have less.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from stochpref.design.bundles import optimal_bundles
from stochpref.laws import MenuLaw, VonMisesFisher, simulate, uniform_directions
from stochpref.mass.masses import exact_log_mass
from stochpref.names import MENU_LAWS
from stochpref.observations import Menus, Observations
from stochpref.paper.reproduce.drawing import pyplot, save
from stochpref.paper.reproduce.transport import wasserstein
from stochpref.regions import Regions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

N_GOODS, TRUE_CONCENTRATION, BOUNDS = 5, 5.0, (1.0, 10.0)
_N_BOOTSTRAP = 500


class AllPurchases(NamedTuple):
    """Menus and everything that can be bought from them.

    points : (k, 2n + 1) bundle, prices and budget of each purchase.
    regions : of the purchases.
    menu : (k,) which menu each is bought from.
    n_menus : how many; each as likely as any other.
    is_complete : the menus are all there are, not a sample.
    """

    points: Array
    regions: Regions
    menu: NDArray[np.intp]
    n_menus: int
    is_complete: bool


class Separation(NamedTuple):
    """What one law of menus tells apart.

    law : its name.
    kind : (k,) how each parameter differs from the truth: "direction", "concentration" or "both".
    distance : (k,) |θ - θ*|.
    above, below : (k,) the two bounds on W.
    estimate : the least ratio to the distance over the parameters tried, of the upper and of the lower bound.
    error : their standard errors from resampling menus; 0 where the menus are complete.
    sampled_baseline : W between two samples of 1,000 observations of the *same* law, matched at best.
    """

    law: str
    kind: NDArray[np.str_]
    distance: Array
    above: Array
    below: Array
    estimate: tuple[float, float]
    error: tuple[float, float]
    sampled_baseline: float


def all_purchases(law: str, n_menus: int, *, rng: np.random.Generator) -> AllPurchases:
    """Return sampled menus of a law, or all five of law (iii), with every purchase some utility makes."""
    is_complete = law == "fixed"
    menus = (
        Menus(np.ones((N_GOODS, N_GOODS)), np.arange(1.0, N_GOODS + 1))
        if is_complete
        else MenuLaw(law).sample(n_menus, N_GOODS, rng=rng)
    )
    parts = [optimal_bundles(menus[t]) for t in range(len(menus))]
    prices, bundles = (np.concatenate([getattr(part, name) for part in parts]) for name in ("prices", "bundles"))
    budgets = np.concatenate([part.budgets for part in parts])
    regions = Regions.of(Observations(prices, budgets, bundles))
    menu = np.repeat(np.arange(len(menus)), [len(part) for part in parts])
    return AllPurchases(np.column_stack([bundles, prices, budgets]), regions, menu, len(menus), is_complete)


def make_parameters(mu: Array, n_each: int, *, rng: np.random.Generator) -> tuple[NDArray[np.str_], Array, Array]:
    """Return kinds, directions (k, n) and concentrations (k,): one thing moved at a time, then drawn from the prior."""
    tangents = rng.standard_normal((n_each, N_GOODS))
    tangents -= np.outer(tangents @ mu, mu)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    angles = np.linspace(0.05, np.pi, n_each)[:, None]
    turned = np.cos(angles) * mu + np.sin(angles) * tangents
    spread = np.linspace(*BOUNDS, n_each)
    spread = spread[np.abs(spread - TRUE_CONCENTRATION) > 0.05]
    anywhere = uniform_directions(n_each, N_GOODS, rng=rng)
    # Half of the prior draws are pulled towards the truth, where the ratio to the distance is decided.
    pull = np.where(np.arange(n_each) % 2 == 0, 1.0, 0.15)[:, None]
    mixed = (1 - pull) * mu + pull * anywhere
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    drawn = TRUE_CONCENTRATION + pull[:, 0] * (rng.uniform(*BOUNDS, n_each) - TRUE_CONCENTRATION)
    kinds = np.repeat(["direction", "concentration", "both"], [n_each, spread.size, n_each])
    directions = np.vstack([turned, np.tile(mu, (spread.size, 1)), mixed])
    return kinds, directions, np.concatenate([np.full(n_each, TRUE_CONCENTRATION), spread, drawn])


def _probabilities(purchases: AllPurchases, mu: Array, kappa: float) -> Array:
    """Return (k,) the probability of each purchase given its menu."""
    mass = np.exp(exact_log_mass(purchases.regions, kappa * mu, tolerance=1e-8).log_mass)
    return mass / np.bincount(purchases.menu, mass)[purchases.menu]


def _bounds_by_menu(purchases: AllPurchases, p: Array, q: Array) -> tuple[Array, Array]:
    """Return, for each menu, the distance between purchases (m,) and the difference of mean purchases (m, n)."""
    bundles = purchases.points[:, :N_GOODS]
    apart, shift = np.empty(purchases.n_menus), np.empty((purchases.n_menus, N_GOODS))
    for t in range(purchases.n_menus):
        own = purchases.menu == t
        apart[t] = wasserstein(bundles[own], p[own], q[own])
        shift[t] = (p[own] - q[own]) @ bundles[own]
    return apart, shift


def _sampled_distance(law: str, mu: Array, size: int, *, rng: np.random.Generator) -> float:
    """Return W between two samples of the same law, each observation of one matched to one of the other."""
    clouds = []
    for _ in range(2):
        data = simulate(VonMisesFisher(mu, TRUE_CONCENTRATION), MenuLaw(law), size, rng=rng)
        clouds.append(np.column_stack([data.bundles, data.prices, data.budgets]))
    cost = cdist(*clouds)
    return float(cost[linear_sum_assignment(cost)].mean())


def compute(law: str, mu: Array, *, n_menus: int, n_each: int, rng: np.random.Generator) -> Separation:
    """Return both bounds on W for a spread of parameters under one law of menus."""
    streams = rng.spawn(4)
    purchases = all_purchases(law, n_menus, rng=streams[0])
    kinds, directions, kappas = make_parameters(mu, n_each, rng=streams[1])
    truth = _probabilities(purchases, mu, TRUE_CONCENTRATION)
    distance = np.hypot(np.linalg.norm(directions - mu, axis=1), kappas - TRUE_CONCENTRATION)
    apart, shift = np.empty((kinds.size, purchases.n_menus)), np.empty((kinds.size, purchases.n_menus, N_GOODS))
    for k in range(kinds.size):
        found = _probabilities(purchases, directions[k], float(kappas[k]))
        apart[k], shift[k] = _bounds_by_menu(purchases, found, truth)
        if purchases.is_complete:
            apart[k] = wasserstein(purchases.points, found, truth)
    above, below = apart.mean(axis=1), np.linalg.norm(shift.mean(axis=1), axis=1)
    errors = (0.0, 0.0)
    if not purchases.is_complete:
        picks = streams[2].integers(0, purchases.n_menus, (_N_BOOTSTRAP, purchases.n_menus))
        least = [
            ((apart[:, p].mean(axis=1) / distance).min(),
             (np.linalg.norm(shift[:, p].mean(axis=1), axis=1) / distance).min())
            for p in picks
        ]  # fmt: skip
        errors = (float(np.std([a for a, _ in least])), float(np.std([b for _, b in least])))
    estimate = (float((above / distance).min()), float((below / distance).min()))
    baseline = _sampled_distance(law, mu, 1000, rng=streams[3])
    return Separation(law, kinds, distance, above, below, estimate, errors, baseline)


def run(seed: int = 0, *, n_menus: int = 60, n_each: int = 14) -> list[Separation]:
    """Return the three laws; about a minute of one core at the default size."""
    rng = np.random.default_rng(seed)
    mu = uniform_directions(1, N_GOODS, rng=rng)[0]
    mu = mu if mu.max() > 0 else -mu
    children = rng.spawn(len(MENU_LAWS))
    return [
        compute(law, mu, n_menus=n_menus, n_each=n_each, rng=child)
        for law, child in zip(MENU_LAWS, children, strict=True)
    ]


def as_dict(found: list[Separation], seed: int) -> dict[str, Any]:
    """Return what the figure shows, as JSON holds it."""
    laws = [
        {
            "law": one.law,
            "L_at_most": one.estimate[0],
            "L_at_most_error": one.error[0],
            "least_lower_ratio": one.estimate[1],
            "least_lower_ratio_error": one.error[1],
            "decided_by": str(one.kind[np.argmin(one.below / one.distance)]),
            "sampled_baseline": one.sampled_baseline,
        }
        for one in found
    ]
    return {"seed": seed, "n_goods": N_GOODS, "concentration": TRUE_CONCENTRATION, "laws": laws}


def as_text(numbers: dict[str, Any]) -> str:
    """Return what the parameters tried say about L as a table."""
    lines = [
        "Least of W/|θ - θ*| over the parameters tried, W bounded below and above",
        "law         from below         L at most          two samples of 1,000 of one law are apart by",
    ]
    for one in numbers["laws"]:
        least, most = (f"{one[k]:.4f} ± {one[k + '_error']:.4f}" for k in ("least_lower_ratio", "L_at_most"))
        lines.append(f"{one['law']:10}  {least:17}  {most:17}  {one['sampled_baseline']:.3f}")
    return "\n".join(lines)


def draw(found: list[Separation]) -> Figure:
    """Return the figure: a panel a law, a bar from the lower to the upper bound for each parameter."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 4.2), sharey=True, layout="constrained")
    style = {"direction": ("o", "μ turned"), "concentration": ("^", "κ changed"), "both": ("x", "both")}
    for axis, one in zip(axes, found, strict=True):
        axis.vlines(one.distance, one.below, one.above, color="0.7", lw=2)
        for kind, (marker, label) in style.items():
            own = one.kind == kind
            axis.plot(one.distance[own], one.above[own], marker, color="k", mfc="w", ms=5, label=f"{label}: at most")
        axis.plot(one.distance, one.below, "_", color="0.3", ms=6, label="at least")
        ends = np.array([0.0, one.distance.max()])
        axis.plot(ends, one.estimate[1] * ends, "k--", lw=1.2, label="least ratio of “at least”")
        axis.axhline(one.sampled_baseline, color="0.5", ls=":", lw=1.2, label="two samples of one law")
        axis.set_title(f"Law ({MENU_LAWS[one.law]}): L at most {one.estimate[0]:.3f}", fontsize=11)
        axis.set(xlabel="|θ − θ*|", xlim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="Wasserstein distance of (x, a, b)", ylim=(0, 1.05 * max(one.above.max() for one in found)))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def write(folder: Path, seed: int = 0, *, n_menus: int = 60, n_each: int = 14) -> dict[str, Any]:
    """Write figure2.png and figure2.svg to a folder; return the numbers they show."""
    pyplot()  # a missing library is told before the work is done
    found = run(seed, n_menus=n_menus, n_each=n_each)
    save(draw(found), folder, "figure2")
    return as_dict(found, seed)
