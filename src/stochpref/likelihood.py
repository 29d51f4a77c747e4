# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Maximum likelihood of the von Mises–Fisher law of utilities, on the exact likelihood.

How the maximum is found is in `maximising`; here is how sure it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from stochpref.clusters import clustered_covariance, clusters_of, is_worth_leaving_out
from stochpref.errors import InvalidArgument, shown
from stochpref.feature_likelihood import FeatureLikelihood, fit_features
from stochpref.maximising import MAX_CONCENTRATION, learn_setting, maximise_large, maximise_likelihood
from stochpref.observations import Observations
from stochpref.problems import Problem
from stochpref.readers.folders import StoredObservations, as_observations
from stochpref.result import Drawn, plain
from stochpref.stores.memory import Memory
from stochpref.stores.opening import open_store
from stochpref.stores.packing import ReportFn

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, repr=False)
class MaximumLikelihood(Drawn):
    """The most likely law, with its uncertainty; `print` it for a table.

    Attributes
    ----------
    mean_direction : (n,) unit vector.
    concentration : κ.
    direction_standard_errors : (n,) by the delta method; NaN where the information is singular.
    concentration_standard_error : the same for κ.
    covariance : (n, n) of h = κμ, the inverse of the observed information; clustered by customer where some bought more
        than once, for their purchases are not independent.
    log_likelihood, aic, bic : of the n parameters h.
    status : "converged"; "separable" if κ grows without bound, because one common utility explains everybody;
        "flat" if the likelihood does not fall around its maximum, so that κ or some goods stay open;
        "uniform" if the direction is not identified, because κ = 0 is not rejected at 5 %; "not converged".
    message : what to make of the status.
    n_evaluations : of the likelihood and its gradient.
    n_observations : used, without degenerate ones left out.
    n_customers : by whom errors are clustered; None where they are not.
    goods : names of the coordinates of utilities: the goods, and money where budgets are open.
    problem : what customers solve, with what was learned of it, such as the scale of money.
    """

    mean_direction: Array
    concentration: float
    direction_standard_errors: Array
    concentration_standard_error: float
    covariance: Array
    log_likelihood: float
    aic: float
    bic: float
    status: str
    message: str
    n_evaluations: int
    n_observations: int
    n_customers: int | None
    goods: tuple[str, ...]
    problem: Problem

    picture: ClassVar[str] = "result_plots:maximum_likelihood"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for the concentration and for each good, the one liked best first."""
        order = np.argsort(-self.mean_direction, kind="stable")
        each = ((self.goods[i], self.mean_direction[i], self.direction_standard_errors[i]) for i in order)
        rows = (("concentration", self.concentration, self.concentration_standard_error), *each)
        return [{"name": name, "estimate": float(value), "standard_error": float(error)} for name, value, error in rows]

    def remarks(self) -> tuple[str, ...]:
        """Return what to make of the fit, and how likely it is."""
        return (self._remark(), f"log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}, BIC {self.bic:.6g}")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        header = {"name": self.problem.name, **self.problem.settings()}
        return {name: plain(header if name == "problem" else getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def h(self) -> Array:
        """The natural parameter κμ."""
        return self.concentration * self.mean_direction

    def _remark(self) -> str:
        if self.n_customers is None:
            return self.message
        return f"{self.message}; errors are clustered by {self.n_customers:,} customers, who bought more than once"

    def __str__(self) -> str:
        lines = [
            f"von Mises–Fisher law of {len(self.goods)} utilities from {self.n_observations:,} observations",
            f"  {self._remark()}",
            "",
            f"  {'concentration':<24}{self.concentration:>10.4g} ± {self.concentration_standard_error:.2g}",
        ]
        order = np.argsort(-self.mean_direction)
        for i in order[:30]:
            estimate = f"{self.mean_direction[i]:>10.4f} ± {self.direction_standard_errors[i]:.2g}"
            lines.append(f"  {shown(self.goods[i], 22):<24}{estimate}")
        if len(order) > 30:
            lines.append(f"  … and {len(order) - 30} more goods")
        lines += ["", f"  log-likelihood {self.log_likelihood:.6g}   AIC {self.aic:.6g}   BIC {self.bic:.6g}"]
        return "\n".join(lines)


def _judge(gradient_norm: float, h: Array, covariance: Array, is_separable: bool, gain: float) -> tuple[str, str]:
    n, kappa = len(h), float(np.linalg.norm(h))
    # A direction inside every region makes all of them certain as κ grows: the likelihood has no maximum.
    if kappa >= 0.5 * MAX_CONCENTRATION or is_separable:
        return "separable", (
            "not identified: the concentration grows without bound, since one common utility explains every "
            "observation; use CommonUtility"
        )
    if gradient_norm > 1e-5:
        return "not converged", f"not converged: gradient {gradient_norm:.1e} an observation"
    spread = float(np.sqrt(h @ covariance @ h)) / kappa if kappa > 0 else np.nan
    if 2 * gain >= chi2.ppf(0.95, n) and not spread < kappa:  # a small gradient cannot tell a plateau from a maximum
        return "flat", (
            f"not identified: the likelihood is flat around its maximum (concentration {kappa:.3g}, standard error "
            f"{spread:.2g}); the data say only that the concentration is large, or do not reach every good"
        )
    if 2 * gain < chi2.ppf(0.95, n):
        return "uniform", (
            f"direction not identified: a concentration of zero is not rejected (twice the gain in log-likelihood is "
            f"{2 * gain:.2g}, below {chi2.ppf(0.95, n):.2g}); collect more observations"
        )
    return "converged", "converged"


@overload
def fit_maximum_likelihood(
    observations: Observations | StoredObservations | str | Path, *, degenerate: str = "refuse",
    tolerance: float = 1e-10, engine: Any = "cpu", report: ReportFn | None = None, features: Sequence[str],
) -> FeatureLikelihood: ...  # fmt: skip
@overload
def fit_maximum_likelihood(
    observations: Observations | StoredObservations | str | Path, *, degenerate: str = "refuse",
    tolerance: float = 1e-10, engine: Any = "cpu", report: ReportFn | None = None, features: tuple[()] = (),
) -> MaximumLikelihood: ...  # fmt: skip
def fit_maximum_likelihood(
    observations: Observations | StoredObservations | str | Path,
    *,
    degenerate: str = "refuse",
    tolerance: float = 1e-10,
    engine: Any = "cpu",
    report: ReportFn | None = None,
    features: Sequence[str] = (),
) -> MaximumLikelihood | FeatureLikelihood:
    """Return the von Mises–Fisher law under which the observed bundles are most likely.

    Parameters
    ----------
    observations : of at least two goods; or a folder of Parquet files, read in blocks.
    degenerate : "refuse" observations that only exact ties explain, or "drop" them.
    tolerance : of the masses.
    engine : "cpu"; "jax" to sum the likelihood on a GPU; "dask" or a `distributed.Client` to sum it on a cluster.
    report : told of steps done, steps in all and what is being done, where observations are read in blocks.
    features : names of what the law moves with, for a `FeatureLikelihood`: features of the observations, and "price",
        the prices of the menus unless there is a feature of that name; with a coefficient, or one a good, as in
        "price:good". Observations in memory, on engine="cpu".

    Notes
    -----
    Where nothing is recorded of customers who buy nothing, or to whom money is worth nothing, the likelihood is given
    that they are others.
    A setting that the problem leaves open, such as the scale of money, is learned with the law (`learn_setting`).

    The paper gives maximum likelihood up for want of a closed form and of a gradient; both are exact here.

    More than 65,536 stored observations are not passed over at every step: a sample of them gives the start and the
    shape of the likelihood, two or more passes over all of them the rest (`maximise_large`). The maximum is the
    exact one, to a hundredth of its standard error.

    Where labels of customers repeat, errors are clustered by customer: purchases of one person share a taste, so that
    they tell less than as many of different people. The estimate is the same. Where customers are few, fewer than 200 a
    parameter, errors are those of leaving out a customer at a time, to one Newton step.
    """
    source = as_observations(observations)
    given = source.problem
    if isinstance(source, Observations):
        source = source.under(learn_setting(source, degenerate=degenerate))
    names = source.problem.coordinates(source.goods)
    if features:
        if not isinstance(source, Observations) or engine != "cpu":
            raise InvalidArgument("features take observations in memory, on engine='cpu'; load them, or leave features")
        return fit_features(source, features, degenerate=degenerate, tolerance=tolerance)
    if len(names) < 2:
        raise InvalidArgument("a law on the sphere needs at least two goods; these observations have one")
    with open_store(source, engine=engine, degenerate=degenerate, report=report) as (store, origin):
        if store.is_large:
            maximum, anchored = maximise_large(store, tolerance=tolerance)
            information = anchored.exact.information
            # Wald's statistic for κ = 0 in place of the likelihood's: it spares a pass.
            gain = 0.5 * float(maximum.h @ information @ maximum.h)
        else:
            maximum = maximise_likelihood(store, tolerance=tolerance)
            information = store.sums(maximum.h, derivatives=2, tolerance=tolerance).information
            at_zero = store.sums(np.zeros_like(maximum.h), derivatives=0, tolerance=tolerance).value
            gain = maximum.log_likelihood - at_zero
        is_separable = store.all_contain(maximum.h) if maximum.h.any() else False
        span = np.eye(store.n_goods) if store.span is None else store.span
        covariance = _inverse(information)
        status, message = _judge(maximum.gradient_norm, maximum.h, covariance, is_separable, gain)
        clusters = clusters_of(origin.kept)
        if clusters is not None:
            masses = store.masses(maximum.h, gradient=True, tolerance=tolerance)
            own = None
            if isinstance(store, Memory) and is_worth_leaving_out(int(clusters.max()) + 1, len(maximum.h)):
                own = _information_by(store, maximum.h, clusters, tolerance)
            covariance = clustered_covariance(covariance, np.asarray(masses.gradient), clusters, own)
    h, log_likelihood, _, n_evaluations = maximum
    n, kappa = len(h), float(np.linalg.norm(h))
    direction = h / kappa if kappa > 0 else np.full(n, np.nan)
    along = np.outer(direction, direction)
    across = span @ ((np.eye(n) - along) / kappa if kappa > 0 else np.full((n, n), np.nan))
    n_learned = n + (source.problem != given)  # a setting of the problem is a parameter too
    return MaximumLikelihood(
        mean_direction=span @ direction,
        concentration=kappa,
        direction_standard_errors=np.sqrt(np.diag(across @ covariance @ across.T)),
        concentration_standard_error=float(np.sqrt(direction @ covariance @ direction)),
        covariance=span @ covariance @ span.T,
        log_likelihood=log_likelihood,
        aic=2 * n_learned - 2 * log_likelihood,
        bic=n_learned * float(np.log(len(store))) - 2 * log_likelihood,
        status=status,
        message=message,
        n_evaluations=n_evaluations,
        n_observations=len(store),
        n_customers=None if clusters is None else int(clusters.max()) + 1,
        goods=names,
        problem=source.problem,
    )


def _information_by(store: Memory, h: Array, clusters: Indices, tolerance: float) -> Array:
    """Return the observed information (C, n, n) of the rows of each cluster."""
    order = np.argsort(clusters, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(clusters))[:-1])
    return np.stack([store.among(rows).sums(h, derivatives=2, tolerance=tolerance).information for rows in parts])


def _inverse(information: Array) -> Array:
    """Return the inverse of a positive definite matrix, or NaN where it is not."""
    values, vectors = np.linalg.eigh(information)
    if values[0] <= 1e-12 * max(values[-1], 1e-300):
        return np.full_like(information, np.nan)
    return (vectors / values) @ vectors.T
