# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Every bound of the paper against a simulation of what it bounds, and the T from which on each bound says something.

The posterior statements are checked in the market of `circle`, where the posterior is known at any T; the statements
about odd customers with three goods under law (i), prices and budgets halved so that prices lie in [1/2, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.laws import CorruptedUtilityLaw, MenuLaw, simulate, uniform_directions
from stochpref.models import CommonUtility
from stochpref.observations import Observations
from stochpref.paper import guarantees as bounds
from stochpref.paper.reproduce import circle
from stochpref.paper.reproduce.transport import wasserstein
from stochpref.regions import Regions

Array = NDArray[np.float64]

CONCENTRATIONS = (1.0, 10.0)  # the paper's experiments
TRUE_ANGLE, TRUE_CONCENTRATION = 0.7, 3.0
FAILURE = 0.05
N_DATA_SETS = 40
LOWEST_PRICE, PRICE_DENSITY, CORRUPTION = 0.5, 2.0, 0.1  # law (i) halved: prices U[1/2, 1]


class Check(NamedTuple):
    """One bound beside the truth.

    statement : its name in the paper, or ours.
    n_observations : T.
    stated, corrected : the printed and the corrected bound; None where there is none.
    truth : what the simulation found.
    unit : what the three numbers measure.
    stated_holds, corrected_holds : whether the truth agrees; None where there is no bound.
    """

    statement: str
    n_observations: int
    stated: float | None
    corrected: float | None
    truth: float
    unit: str
    stated_holds: bool | None
    corrected_holds: bool | None


class Report(NamedTuple):
    """Checks, and for each number of goods the T from which on each bound says something."""

    seed: int
    separation: float
    checks: tuple[Check, ...]
    first_informative: tuple[dict[str, float], ...]


def run(seed: int = 0, *, n_data_sets: int = N_DATA_SETS) -> Report:
    """Return every bound beside its simulation; half a minute at the default size."""
    streams = np.random.default_rng(seed).spawn(5)
    separation = find_separation()
    checks = [
        *(_check_posterior(T, separation, n_data_sets, streams[0]) for T in (100, 10_000, 1_000_000)),
        (check_corollary_2(100_000_000, n_data_sets, streams[1]),),
        (check_proposition_1(200, n_data_sets, streams[2]),),
        (check_proposition_2(2000, 0.05, 10, streams[3]), check_proposition_2(200_000, 0.1, 2, streams[3])),
        *(check_theorem_2(T, streams[4]) for T in (300, 3000)),
    ]
    goods = tuple(informative_sizes(n) for n in (2, 3, 5, 10, 25))
    return Report(seed, separation, tuple(check for group in checks for check in group), goods)


def find_separation() -> float:
    """Return L of Corollary 1 for the market of `circle` at the true parameters: the least W/|θ - θ*| on a grid."""
    truth = _true_cells()
    angles = TRUE_ANGLE + np.concatenate([np.linspace(-np.pi, np.pi, 13)[1:], [0.0, 0.02, -0.02]])
    kappas = np.concatenate([np.linspace(*CONCENTRATIONS, 10), [TRUE_CONCENTRATION - 0.02, TRUE_CONCENTRATION + 0.02]])
    ratios = []
    for angle in angles:
        for kappa in kappas:
            distance = circle.parameter_distance(angle, kappa, TRUE_ANGLE, TRUE_CONCENTRATION)
            if distance > 1e-9:
                cells = circle.cell_probabilities(angle, kappa)
                ratios.append(wasserstein(circle.POINTS, cells, truth) / float(distance))
    return min(ratios)


def _true_cells() -> Array:
    return circle.cell_probabilities(np.array(TRUE_ANGLE), np.array(TRUE_CONCENTRATION))


def _check_posterior(T: int, separation: float, n_data_sets: int, rng: np.random.Generator) -> list[Check]:
    """Return Theorem 1, Corollary 1 and the corrected Corollary 2 at one T, at a failure probability of 5 %."""
    truth = _true_cells()
    variations, weights, distances = [], [], []
    for counts in rng.multinomial(T, truth, size=n_data_sets):
        known = circle.posterior(counts, CONCENTRATIONS, 60)
        variations.append(circle.total_variation(known.cells, truth))
        weights.append(known.weight / n_data_sets)
        apart = circle.parameter_distance(known.angle, known.concentration, TRUE_ANGLE, TRUE_CONCENTRATION)
        distances.append(float(known.weight @ apart))
    pooled, weight = np.concatenate(variations), np.concatenate(weights)
    order = np.argsort(-pooled)
    root = np.sqrt(2.0)
    radius = root * float(pooled[order][np.searchsorted(np.cumsum(weight[order]), FAILURE)])
    mean_variation = [float(v @ w) * n_data_sets for v, w in zip(variations, weights, strict=True)]
    one = bounds.theorem_1(2, T, CONCENTRATIONS, failure=FAILURE)
    two = bounds.corollary_1(2, T, CONCENTRATIONS, separation, failure=FAILURE)
    three = bounds.corollary_2(2, T, CONCENTRATIONS, failure=FAILURE).corrected
    worst = float(np.quantile(distances, 1.0 - FAILURE))
    demand = root * float(np.quantile(mean_variation, 1.0 - FAILURE))
    return [
        _compare("Theorem 1", T, one.stated.bound, one.corrected.bound, radius, "√n·TV around 95 % of the posterior"),
        _compare("Corollary 1", T, two.stated.bound, two.corrected.bound, worst, "E|θ - θ*|, 95 % of data sets"),
        _compare("Corollary 2, customers", T, None, three.bound, demand, "E √n·TV of purchases, 95 % of data sets"),
    ]


def check_corollary_2(T: int, n_data_sets: int, rng: np.random.Generator) -> Check:
    """Return the printed Corollary 2 at a mean direction a millionth from where the choice at budget 1 changes.

    The number beside the bound is the median over data sets of E‖x̃ - x*‖ = ½·√2·P(wrong side).
    """
    ranges, kappa, angle = (1.0, 2.0), 1.5, 0.25 * np.pi + 1e-6
    cells = circle.cell_probabilities(np.array(angle), np.array(kappa))
    errors = []
    for counts in rng.multinomial(T, cells, size=n_data_sets):
        known = circle.posterior(counts, ranges, 60)
        errors.append(0.5 * np.sqrt(2.0) * float(known.weight[known.angle < 0.25 * np.pi].sum()))
    stated = bounds.corollary_2(2, T, ranges).stated
    share = float(np.mean(np.array(errors) > stated.bound))
    unit = f"E|x̃ - x*|, median; above the bound in {share:.0%} of data sets against {1 - stated.probability:.2%}"
    return Check(
        "Corollary 2, as printed", T, stated.bound, None, float(np.median(errors)), unit,
        share <= 3.0 * (1.0 - stated.probability), None,
    )  # fmt: skip


def check_proposition_1(T: int, n_data_sets: int, rng: np.random.Generator) -> Check:
    """Return the largest change that odd customers caused, over utilities and data sets."""
    bound = bounds.proposition_1(T, CORRUPTION)
    utility = uniform_directions(1, 3, rng=rng)[0]
    changes = []
    for _ in range(n_data_sets):
        menus = MenuLaw("uniform").sample(T, 3, rng=rng)
        odd = simulate(CorruptedUtilityLaw(utility, CORRUPTION), menus, T, rng=rng)
        clean = simulate(CorruptedUtilityLaw(utility, 0.0), menus, T, rng=rng)
        tried = np.vstack([utility, -utility, uniform_directions(300, 3, rng=rng)])
        shares = [Regions.of(data).contains(tried).mean(axis=1) for data in (odd, clean)]
        changes.append(float(np.abs(shares[0] - shares[1]).max()))
    held = float(np.mean(np.array(changes) <= bound.corrected.bound))
    unit = f"largest change; the bound held in {held:.0%} of data sets, printed: at most {bound.stated.probability:.2%}"
    return Check(
        "Proposition 1", T, bound.stated.bound, bound.corrected.bound, max(changes), unit,
        held <= bound.stated.probability, held >= 1.0 - 3.0 / n_data_sets,
    )  # fmt: skip


def _halved(data: Observations) -> Regions:
    """Return regions in units in which the highest possible price, 2, is 1, rather than the highest that occurred."""
    found = Regions.of(data)
    return Regions(found.kind_code, found.side, found.slope, found.pivot, 2.0)


def check_proposition_2(T: int, margin: float, n_data_sets: int, rng: np.random.Generator) -> Check:
    """Return the largest excess of the share explained with a margin over the accuracy, over many utilities."""
    bound = bounds.proposition_2(3, T, margin, LOWEST_PRICE)
    utility = uniform_directions(1, 3, rng=rng)[0]
    law = CorruptedUtilityLaw(utility, CORRUPTION)
    near = utility + 0.2 * rng.standard_normal((150, 3))
    tried = np.vstack(
        [utility, near / np.linalg.norm(near, axis=1, keepdims=True), uniform_directions(150, 3, rng=rng)]
    )
    fresh = _halved(simulate(law, MenuLaw("uniform"), 40_000, rng=rng)).contains(tried).mean(axis=1)
    excess = []
    for _ in range(n_data_sets):
        data = _halved(simulate(law, MenuLaw("uniform"), T, rng=rng))
        excess.append(float((data.contains(tried, margin=margin).mean(axis=1) - fresh).max()))
    unit = f"largest excess, γ = {margin:g}, ε = 1/T"
    return _compare("Proposition 2", T, bound.stated.bound, bound.corrected.bound, max(excess), unit)


def check_theorem_2(T: int, rng: np.random.Generator) -> list[Check]:
    """Return the share of new observations left unexplained by the fit with the theorem's margin, and with none."""
    utility = np.array([0.7, -0.3, 0.648])
    utility /= np.linalg.norm(utility)
    law = CorruptedUtilityLaw(utility, CORRUPTION)
    fresh = simulate(law, MenuLaw("uniform"), 40_000, rng=rng)
    missed: dict[str, list[float]] = {"theorem": [], "none": []}
    for seed in range(5):
        data = simulate(law, MenuLaw("uniform"), T, rng=rng)
        for name, margin in (("theorem", "theorem"), ("none", 0.0)):
            fitted = CommonUtility(margin=margin, random_state=seed).fit(data)
            missed[name].append(1.0 - fitted.consistency(fresh))
    smallest = float(np.abs(utility).min())
    bound = bounds.theorem_2(3, T, CORRUPTION, LOWEST_PRICE, PRICE_DENSITY, smallest)
    counting = bounds.counting_bound(3, T, CORRUPTION).bound
    unit = "share unexplained, worst of 5 fits"
    return [
        _compare("Theorem 2", T, bound.stated.bound, bound.corrected.bound, max(missed["theorem"]), unit),
        _compare("counting cells, no margin", T, None, counting, max(missed["none"]), unit),
    ]


def _compare(name: str, T: int, stated: float | None, corrected: float | None, truth: float, unit: str) -> Check:
    return Check(
        name, T, stated, corrected, truth, unit,
        None if stated is None else bool(truth <= stated), None if corrected is None else bool(truth <= corrected),
    )  # fmt: skip


def informative_sizes(n: int) -> dict[str, float]:
    """Return the T from which on each bound says something, for n goods in the setting of the paper's experiments."""
    smallest = n**-1.5  # about the median of min |u*_i| for u* uniform on the sphere
    claims: dict[str, Callable[[float], bounds.Guarantee]] = {
        "Theorem 1": lambda T: bounds.theorem_1(n, T, CONCENTRATIONS),
        "Corollary 2": lambda T: bounds.corollary_2(n, T, CONCENTRATIONS),
        "Proposition 2": lambda T: bounds.proposition_2(n, T, 1.0 / (4 * n**2 * T**0.25), LOWEST_PRICE),
        "Theorem 2": lambda T: bounds.theorem_2(n, T, CORRUPTION, LOWEST_PRICE, PRICE_DENSITY, smallest),
    }
    sizes: dict[str, float] = {"n_goods": n}
    for name, claim_fn in claims.items():
        sizes[f"{name}, printed"] = bounds.first_informative(lambda T, fn=claim_fn: fn(T).stated)  # type: ignore[misc]
        sizes[f"{name}, corrected"] = bounds.first_informative(lambda T, fn=claim_fn: fn(T).corrected)  # type: ignore[misc]
    sizes["counting cells"] = bounds.first_informative(lambda T: bounds.counting_bound(n, T, CORRUPTION))
    return sizes


def as_text(report: Report) -> str:
    """Return the report as two tables."""
    lines = [
        f"Bounds and truth (seed {report.seed}; L = {report.separation:.3g} in Corollary 1)",
        f"{'statement':26}{'T':>12}{'printed':>11}{'corrected':>11}{'truth':>10}  holds",
    ]
    for check in report.checks:
        stated, corrected = (f"{v:.4g}" if v is not None else "-" for v in (check.stated, check.corrected))
        holds = "/".join({True: "yes", False: "NO", None: "-"}[v] for v in (check.stated_holds, check.corrected_holds))
        lines.append(
            f"{check.statement:26}{check.n_observations:>12,}{stated:>11}{corrected:>11}{check.truth:>10.4g}  "
            f"{holds:8} {check.unit}"
        )
    lines += ["", "T from which on a bound says something, for n goods"]
    names = [name for name in report.first_informative[0] if name != "n_goods"]
    lines.append(
        f"{'':28}" + "".join(f"{'n = ' + format(row['n_goods'], '.0f'):>11}" for row in report.first_informative)
    )
    lines += [f"{name:28}" + "".join(f"{row[name]:>11.3g}" for row in report.first_informative) for name in names]
    return "\n".join(lines)


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report as JSON holds it."""
    return {**report._asdict(), "checks": [check._asdict() for check in report.checks]}
