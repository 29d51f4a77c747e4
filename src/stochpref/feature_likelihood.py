# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Laws that move with features, by maximum likelihood on the exact likelihood; `features` says how they move.

Each observation has a law of its own, or one that it shares with those of equal features: equal regions under equal
features are integrated over once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from stochpref.audit import refuse_baskets
from stochpref.chances import Recorded
from stochpref.clusters import clustered_covariance, clusters_of
from stochpref.errors import shown
from stochpref.features import Designs, FeatureDesign
from stochpref.mass.conditional import log_chance
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem
from stochpref.regions import usable_rows
from stochpref.result import Drawn

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_DIFFERENCE: Final = 1e-3
_ENOUGH: Final = 200  # observations whose scores tell how they spread
_APART: Final = 1.5  # times: robust errors that differ by more say that the law's own are wrong


@dataclass(frozen=True, slots=True, repr=False)
class FeatureLikelihood(Drawn):
    """The most likely laws, which move with features; `print` it for a table.

    Attributes
    ----------
    coefficient_names : p of them: the goods (and money) for the intercepts, then the features.
    coefficients, standard_errors : (p,) in the units of the features.
    robust_standard_errors : (p,) by how the scores of single observations spread, which a bootstrap of observations
        agrees with where customers differ otherwise than the law says.
    clustered_standard_errors : (p,) that allow purchases of one customer to resemble each other; None where no customer
        repeats.
    covariance : (p, p) the inverse of the observed information.
    log_likelihood, aic, bic : of the p parameters.
    status, message : "converged", "flat" where the information is singular, or "not converged"; and what to make of it.
    notes : coefficients that were left out, since others say the same.
    n_observations : used, without degenerate ones left out.
    features : what laws move with, as asked for.
    goods : names of the goods, and problem : what customers solve.
    design, standardised : how laws move, and with which coefficients inside.
    """

    coefficient_names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    robust_standard_errors: Array
    clustered_standard_errors: Array | None
    covariance: Array
    log_likelihood: float
    aic: float
    bic: float
    status: str
    message: str
    notes: tuple[str, ...]
    n_observations: int
    features: tuple[str, ...]
    goods: tuple[str, ...]
    problem: Problem
    design: FeatureDesign
    standardised: Array

    picture: ClassVar[str] = "result_plots:features"

    def laws(self, menus: Menus | Observations) -> Array:
        """Return h (T, N) of the law at each menu, over the coordinates of the problem."""
        designs = self.design.designs(menus)
        return np.asarray(designs.laws(self.standardised)[designs.whose])

    def log_likelihoods(self, observations: Observations) -> Array:
        """Return (T,) the log-probability of each observation; -inf for degenerate ones."""
        own = observations.over(self.goods).under(self.problem)
        designs = self.design.designs(own)
        return log_of_rows(self.problem.recorded(own), designs.laws(self.standardised), designs.whose)[0]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each coefficient."""
        clustered = self.clustered_standard_errors
        return [
            {
                "name": name,
                "estimate": float(self.coefficients[i]),
                "standard_error": float(self.standard_errors[i]),
                "robust_standard_error": float(self.robust_standard_errors[i]),
                **({} if clustered is None else {"clustered_standard_error": float(clustered[i])}),
                "p": float(2 * norm.sf(abs(self.coefficients[i] / self.standard_errors[i]))),
            }
            for i, name in enumerate(self.coefficient_names)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what to make of the fit, what was left out, and how likely it is."""
        likely = f"log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}, BIC {self.bic:.6g}"
        differs = "customers differ otherwise than the law says: rely on the robust errors, not on the others"
        return (self.message, *self.notes, *([differs] if self._is_apart else []), likely)

    @property
    def _is_apart(self) -> bool:
        """Whether robust errors differ from those of the law by more than chance would have it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(np.log(self.robust_standard_errors / self.standard_errors))
        return bool(self.n_observations >= _ENOUGH and np.any(apart[np.isfinite(apart)] > np.log(_APART)))

    def __str__(self) -> str:
        moving = ", ".join(map(shown, self.features))
        lines = [f"Laws of {len(self.goods)} goods that move with {moving}, from {self.n_observations:,} observations"]
        lines += [*(f"  {remark}" for remark in self.remarks()), ""]
        heading = "standard error    robust" + ("" if self.clustered_standard_errors is None else "   by customer")
        lines.append(f"  {'':<26}{'estimate':>12}   {heading}")
        for row in self.records():
            more = f"{row['clustered_standard_error']:>14.3g}" if "clustered_standard_error" in row else ""
            lines.append(
                f"  {shown(row['name'], 24):<26}{row['estimate']:>12.4f}   {row['standard_error']:>14.3g}"
                f"{row['robust_standard_error']:>10.3g}{more}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class MovingRows:
    """Observations as the likelihood of laws that move takes them.

    recorded : what was bought.
    designs : of each row.
    tolerance : of the masses.
    """

    recorded: Recorded
    designs: Designs
    tolerance: float = 1e-10

    @classmethod
    def of(cls, observations: Observations, design: FeatureDesign, tolerance: float = 1e-10) -> Self:
        """Return observations, none of them degenerate, under a design."""
        return cls(observations.problem.recorded(observations), design.designs(observations), tolerance)

    def values(self, theta: Array) -> Array:
        """Return log-probabilities (T,)."""
        return log_of_rows(self.recorded, self.designs.laws(theta), self.designs.whose, self.tolerance)[0]

    def rows(self, theta: Array) -> tuple[Array, Array]:
        """Return log-probabilities (T,) and their gradients (T, p) in θ."""
        values, slopes = log_of_rows(
            self.recorded, self.designs.laws(theta), self.designs.whose, self.tolerance, gradient=True
        )
        return values, self.designs.pulled(slopes)

    def information(self, theta: Array) -> Array:
        """Return minus the Hessian of Σ log-probability, by differences of gradients."""
        steps = _DIFFERENCE * np.eye(len(theta))
        found = [self.rows(theta - step)[1].sum(axis=0) - self.rows(theta + step)[1].sum(axis=0) for step in steps]
        matrix = np.array(found) / (2 * _DIFFERENCE)
        return 0.5 * (matrix + matrix.T)

    def climb(self, spread: float = np.inf) -> tuple[Array, Array]:
        """Return the θ that maximises Σ log-probability - |θ|²/(2 spread²), and minus the Hessian there."""
        count, n_free = len(self.designs.whose), self.designs.each.shape[2]

        def falling(theta: Array) -> tuple[float, Array]:
            values, slopes = self.rows(theta)
            penalty = 0.5 * float(theta @ theta) / spread**2
            return (penalty - float(values.sum())) / count, (theta / spread**2 - slopes.sum(axis=0)) / count

        found = minimize(falling, np.zeros(n_free), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 500})
        theta = np.asarray(found.x, np.float64)
        information = self.information(theta) + np.eye(n_free) / spread**2
        if not is_flat(information):
            theta = theta - np.linalg.solve(information, falling(theta)[1] * count)
        return theta, information


def is_flat(information: Array) -> bool:
    """Tell whether a matrix that should be positive definite is, but for rounding, singular."""
    values = np.linalg.eigvalsh(information)
    return bool(values[0] <= 1e-10 * values[-1])


def fit_features(
    observations: Observations, features: Sequence[str], *, degenerate: str = "refuse", tolerance: float = 1e-10
) -> FeatureLikelihood:
    """Return the laws under which the observed bundles are most likely; see `fit_maximum_likelihood`."""
    refuse_baskets(observations)
    problem, goods = observations.problem, observations.goods
    rows = usable_rows(problem.recorded(observations).regions, degenerate)
    used = observations if rows.size == len(observations) else observations[rows]
    design = FeatureDesign.of(used, features)
    moving = MovingRows.of(used, design, tolerance)
    theta, information = moving.climb()
    values, scores = moving.rows(theta)
    status, message = _judge(scores, is_flat(information))
    inverse = _inverse(information)
    change, n_free, log_likelihood = design.to_units, len(theta), float(values.sum())
    covariance, clusters = change @ inverse @ change.T, clusters_of(used)

    def errors(whose: Indices) -> Array:
        found = change @ clustered_covariance(inverse, scores, whose) @ change.T
        return np.asarray(np.sqrt(np.diag(found)))

    return FeatureLikelihood(
        coefficient_names=design.names,
        coefficients=change @ theta,
        standard_errors=np.sqrt(np.diag(covariance)),
        robust_standard_errors=errors(np.arange(len(used))),
        clustered_standard_errors=None if clusters is None else errors(clusters),
        covariance=covariance,
        log_likelihood=log_likelihood,
        aic=2 * n_free - 2 * log_likelihood,
        bic=n_free * float(np.log(len(used))) - 2 * log_likelihood,
        status=status,
        message=message,
        notes=design.notes,
        n_observations=len(used),
        features=tuple(features),
        goods=goods,
        problem=problem,
        design=design,
        standardised=theta,
    )


def _inverse(information: Array) -> Array:
    """Return the inverse, or NaN where the matrix is flat."""
    if is_flat(information):
        return np.full_like(information, np.nan)
    return np.asarray(np.linalg.inv(information), np.float64)


def _judge(scores: Array, flat: bool) -> tuple[str, str]:
    slope = float(np.abs(scores.mean(axis=0)).max())
    if flat:
        return "flat", "not identified: the likelihood is flat around its maximum; leave out a feature, or collect more"
    if slope > 1e-5:
        return "not converged", f"not converged: gradient {slope:.1e} an observation"
    return "converged", "converged"


def log_of_rows(
    recorded: Recorded, laws: Array, whose: Indices, tolerance: float = 1e-10, *, gradient: bool = False
) -> tuple[Array, Array]:
    """Return log-probabilities (T,) of what was recorded under a law for each row, and gradients in h (T, N)."""
    bought = log_chance(recorded.chance, laws, whose, gradient=gradient, tolerance=tolerance)
    slopes = np.empty((len(whose), 0)) if bought.gradient is None else bought.gradient
    if recorded.event is None:
        return bought.log_mass, slopes
    event = log_chance(recorded.event, laws, whose, gradient=gradient, tolerance=tolerance)
    if event.gradient is not None:
        slopes = slopes - event.gradient
    return np.minimum(bought.log_mass - event.log_mass, 0.0), slopes
