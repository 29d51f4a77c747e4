# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Laws that move with features: h_t = B + Σ β f_t, by maximum likelihood on the exact likelihood.

A feature of goods, such as a price or whether a good is promoted, has one coefficient, or one a good if it is asked for
as ``"price:good"``. A feature of observations, such as income, has one a good. "price" is the feature of that name if
there is one, else the prices of the menus. Inside, features are centred and scaled; coefficients are told in the units
that were given. Where a good is not on offer its features are taken to be average.

Each observation has a law of its own, or one that it shares with those of equal features: equal regions under equal
features are integrated over once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from stochpref.audit import refuse_baskets
from stochpref.chances import Recorded
from stochpref.checks import nearest
from stochpref.errors import InvalidArgument, shown
from stochpref.mass.conditional import log_chance
from stochpref.observations import Menus, Observations
from stochpref.problems import Problem
from stochpref.regions import usable_rows
from stochpref.result import Drawn

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

PRICE: Final = "price"
BY_GOOD: Final = ":good"
_COLLINEAR: Final = 1e-8  # of a column's length: what is left of it after others, below which it says nothing new
_DIFFERENCE: Final = 1e-3


class Scale(NamedTuple):
    """How a feature is standardised: less its centre, over its spread."""

    centre: float
    spread: float


class Term(NamedTuple):
    """A feature that laws move with.

    feature : its name; is_by_good : whether it has a coefficient for each good.
    scale : of the fitted observations.
    """

    feature: str
    is_by_good: bool
    scale: Scale


@dataclass(frozen=True, slots=True, repr=False)
class FeatureLikelihood(Drawn):
    """The most likely laws, which move with features; `print` it for a table.

    Attributes
    ----------
    coefficient_names : p of them: the goods (and money) for the intercepts, then the features.
    coefficients, standard_errors : (p,) in the units of the features.
    clustered_standard_errors : (p,) that allow purchases of one customer to resemble each other; None where no customer
        repeats.
    covariance : (p, p) the inverse of the observed information.
    log_likelihood, aic, bic : of the p parameters.
    status, message : "converged", "flat" where the information is singular, or "not converged"; and what to make of it.
    notes : coefficients that were left out, since others say the same.
    n_observations : used, without degenerate ones left out.
    features : what laws move with, as asked for.
    goods : names of the goods, and problem : what customers solve.
    """

    coefficient_names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
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
    terms: tuple[Term, ...]
    standardised: Array

    picture: ClassVar[str] = "result_plots:features"

    def laws(self, menus: Menus | Observations) -> Array:
        """Return h (T, N) of the law at each menu, over the coordinates of the problem."""
        own = menus.over(self.goods)
        blocks = _blocks(own, self.terms, self.problem)
        intercepts, slopes = np.split(self.standardised, [len(self.problem.coordinates(self.goods))])
        return intercepts + np.einsum("tij,j->ti", blocks, slopes)

    def log_likelihoods(self, observations: Observations) -> Array:
        """Return (T,) the log-probability of each observation; -inf for degenerate ones."""
        own = observations.over(self.goods).under(self.problem)
        return _log_rows(self.problem.recorded(own), self.laws(own), np.arange(len(own)), 1e-10)[0]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each coefficient."""
        clustered = self.clustered_standard_errors
        return [
            {
                "name": name,
                "estimate": float(self.coefficients[i]),
                "standard_error": float(self.standard_errors[i]),
                **({} if clustered is None else {"clustered_standard_error": float(clustered[i])}),
                "p": float(2 * norm.sf(abs(self.coefficients[i] / self.standard_errors[i]))),
            }
            for i, name in enumerate(self.coefficient_names)
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what to make of the fit, what was left out, and how likely it is."""
        likely = f"log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}, BIC {self.bic:.6g}"
        return (self.message, *self.notes, likely)

    def __str__(self) -> str:
        moving = ", ".join(map(shown, self.features))
        lines = [f"Laws of {len(self.goods)} goods that move with {moving}, from {self.n_observations:,} observations"]
        lines += [*(f"  {remark}" for remark in self.remarks()), ""]
        heading = "standard error" + ("" if self.clustered_standard_errors is None else "   by customer")
        lines.append(f"  {'':<26}{'estimate':>12}   {heading}")
        for row in self.records():
            more = f"{row['clustered_standard_error']:>14.3g}" if "clustered_standard_error" in row else ""
            lines.append(
                f"  {shown(row['name'], 24):<26}{row['estimate']:>12.4f}   {row['standard_error']:<14.3g}{more}"
            )
        return "\n".join(lines)


class _Model(NamedTuple):
    """Rows as the likelihood takes them.

    recorded : what was bought. designs : (U, N, p) different ones. whose : (T,) which of them is each row's.
    """

    recorded: Recorded
    designs: Array
    whose: Indices
    tolerance: float

    def rows(self, theta: Array, *, gradient: bool = True) -> tuple[Array, Array]:
        """Return log-probabilities (T,) and their gradients in θ (T, p), empty if not asked for."""
        values, slopes = _log_rows(self.recorded, self.designs @ theta, self.whose, self.tolerance, gradient=gradient)
        if not gradient:
            return values, slopes
        return values, np.einsum("tip,ti->tp", self.designs[self.whose], slopes)

    def falling(self, theta: Array) -> tuple[float, Array]:
        """Return what optimisers minimise, an observation, and its gradient."""
        values, slopes = self.rows(theta)
        return -float(values.mean()), -slopes.mean(axis=0)

    def information(self, theta: Array) -> Array:
        """Return minus the Hessian of Σ log-probability, by differences of gradients."""
        steps = _DIFFERENCE * np.eye(len(theta))
        found = [self.rows(theta - step)[1].sum(axis=0) - self.rows(theta + step)[1].sum(axis=0) for step in steps]
        matrix = np.array(found) / (2 * _DIFFERENCE)
        return 0.5 * (matrix + matrix.T)


def fit_features(
    observations: Observations, features: Sequence[str], *, degenerate: str = "refuse", tolerance: float = 1e-10
) -> FeatureLikelihood:
    """Return the laws under which the observed bundles are most likely; see `fit_maximum_likelihood`."""
    refuse_baskets(observations)
    problem, goods = observations.problem, observations.goods
    recorded = problem.recorded(observations)
    rows = usable_rows(recorded.regions, degenerate)
    used = observations if rows.size == len(observations) else observations[rows]
    terms = _terms(used, features)
    n = len(problem.coordinates(goods))
    designs, whose = _designs(used, terms, problem)
    level = _levelled(problem, n)
    names = (*problem.coordinates(goods), *(name for term in terms for name in _names_of(term, goods)))
    kept = _independent(designs[whose], n)
    dropped = [j for j in range(n, len(names)) if j not in kept]
    notes = tuple(f"{shown(names[j])} is left out: others say the same" for j in dropped)
    model = _Model(
        recorded if rows.size == len(observations) else recorded.take(rows), designs[:, :, kept], whose, tolerance
    )
    found = minimize(
        model.falling, np.zeros(len(kept)), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 500}
    )
    theta = np.asarray(found.x, np.float64)
    information = model.information(theta)
    is_flat = np.linalg.eigvalsh(information)[0] <= 1e-10 * np.linalg.eigvalsh(information)[-1]
    if not is_flat:
        theta = theta + np.linalg.solve(information, model.rows(theta)[1].sum(axis=0))
    values, scores = model.rows(theta)
    status, message = _judge(scores, is_flat)
    inverse = np.full_like(information, np.nan) if is_flat else np.linalg.inv(information)
    change = _to_units(names, terms, goods, level)[:, kept]
    covariance = change @ inverse @ change.T
    clustered = _clustered(scores, used.customers)
    robust = None if clustered is None else np.sqrt(np.diag(change @ inverse @ clustered @ inverse @ change.T))
    standardised = np.zeros(len(names))
    standardised[kept] = theta
    standardised[:n] = level @ standardised[:n]
    log_likelihood = float(values.sum())
    return FeatureLikelihood(
        coefficient_names=names,
        coefficients=change @ theta,
        standard_errors=np.sqrt(np.diag(covariance)),
        clustered_standard_errors=robust,
        covariance=covariance,
        log_likelihood=log_likelihood,
        aic=2 * len(kept) - 2 * log_likelihood,
        bic=len(kept) * float(np.log(len(used))) - 2 * log_likelihood,
        status=status,
        message=message,
        notes=notes,
        n_observations=len(used),
        features=tuple(features),
        goods=goods,
        problem=problem,
        terms=terms,
        standardised=standardised,
    )


def _judge(scores: Array, is_flat: bool) -> tuple[str, str]:
    slope = float(np.abs(scores.mean(axis=0)).max())
    if is_flat:
        return "flat", "not identified: the likelihood is flat around its maximum; leave out a feature, or collect more"
    if slope > 1e-5:
        return "not converged", f"not converged: gradient {slope:.1e} an observation"
    return "converged", "converged"


def _terms(data: Observations, features: Sequence[str]) -> tuple[Term, ...]:
    """Return the features asked for, each checked against what the observations have."""
    if isinstance(features, str) or not all(isinstance(name, str) for name in features) or not len(features):
        raise InvalidArgument(f"features must be names, such as ('price', 'promotion'); received {features!r}")
    terms = [_term(data, name) for name in features]
    asked = [term.feature for term in terms]
    twice = sorted({name for name in asked if asked.count(name) > 1})
    if twice:
        raise InvalidArgument(f"features must be different; received {twice[0]!r} more than once; leave one out")
    return tuple(terms)


def _term(data: Observations, asked: str) -> Term:
    name = asked.removesuffix(BY_GOOD)
    known = [*data.features, *([] if PRICE in data.features else [PRICE])]
    if name not in known:
        raise InvalidArgument(
            f"features must be among those of the observations, {', '.join(map(repr, known))}; received {asked!r}"
            f"{nearest(name, known)}"
        )
    values = _values(data, name)
    offered = values[np.isfinite(data.prices)] if values.ndim == 2 else values
    spread = float(offered.std())
    if not spread > 1e-12 * max(float(np.abs(offered).max(initial=0.0)), 1e-300):
        raise InvalidArgument(
            f"features must vary; {name!r} is {offered[0]:g} wherever a good is on offer; leave it out: the intercepts "
            "hold it"
        )
    return Term(name, asked.endswith(BY_GOOD) or values.ndim == 1, Scale(float(offered.mean()), spread))


def _values(data: Menus | Observations, name: str) -> Array:
    if name in data.features:
        return data.features[name]
    if name == PRICE:
        return data.prices
    raise InvalidArgument(f"menus must have the feature {name!r} that laws move with; add it to features")


def _names_of(term: Term, goods: tuple[str, ...]) -> list[str]:
    return [f"{term.feature}:{good}" for good in goods] if term.is_by_good else [term.feature]


def _blocks(data: Menus | Observations, terms: tuple[Term, ...], problem: Problem) -> Array:
    """Return (T, N, m) what coefficients of standardised features are multiplied by in each coordinate of h."""
    count, n = data.prices.shape
    coordinates = problem.coordinates(data.goods)
    columns = []
    for term in terms:
        values = _values(data, term.feature)
        table = np.broadcast_to(values if values.ndim == 2 else values[:, None], (count, n))
        scaled = np.where(np.isfinite(data.prices), (table - term.scale.centre) / term.scale.spread, 0.0)
        own = scaled[:, :, None] * (np.eye(n) if term.is_by_good else np.ones((n, 1)))
        columns.append(np.concatenate([own, np.zeros((count, len(coordinates) - n, own.shape[2]))], axis=1))
    blocks = np.concatenate(columns, axis=2)
    return np.einsum("ik,tkj->tij", _levelled(problem, len(coordinates)), blocks)


def _levelled(problem: Problem, n_coordinates: int) -> Array:
    """Return the projection (N, N) on the h that bundles tell of: where only differences count, less the mean."""
    span = problem.span(n_coordinates)
    return np.eye(n_coordinates) if span is None else span @ span.T


def _designs(data: Observations, terms: tuple[Term, ...], problem: Problem) -> tuple[Array, Indices]:
    """Return the different designs (U, N, p), intercepts first, and whose is whose."""
    blocks = _blocks(data, terms, problem)
    count, n, m = blocks.shape
    unique, whose = np.unique(blocks.reshape(count, -1), axis=0, return_inverse=True)
    intercepts = np.broadcast_to(_levelled(problem, n), (len(unique), n, n))
    designs = np.concatenate([intercepts, unique.reshape(len(unique), n, m)], axis=2)
    return designs, whose.ravel().astype(np.intp)


def _independent(designs: Array, n: int) -> list[int]:
    """Return the columns, intercepts first, that are not sums of those before.

    A feature that is collinear with others of the user's is refused; with intercepts, left out with a note.
    """
    matrix = designs.reshape(-1, designs.shape[2])
    gram, kept = matrix.T @ matrix, list[int]()
    for j in range(len(gram)):
        own = gram[np.ix_(kept, kept)]
        rest = gram[j, j] - gram[j, kept] @ np.linalg.lstsq(own, gram[kept, j], rcond=None)[0] if kept else gram[j, j]
        if rest > _COLLINEAR * max(gram[j, j], 1e-300):
            kept.append(j)
    if all(j < n for j in kept):
        raise InvalidArgument("features must say something that the goods do not; those received are constant by good")
    return kept


def _to_units(names: tuple[str, ...], terms: tuple[Term, ...], goods: tuple[str, ...], level: Array) -> Array:
    """Return the matrix that takes coefficients of standardised features to the units that were given."""
    change, j = np.eye(len(names)), len(level)
    for term in terms:
        for i in range(len(_names_of(term, goods))):
            column = j + i
            change[column, column] = 1.0 / term.scale.spread
            shift = term.scale.centre / term.scale.spread
            change[i if term.is_by_good else slice(0, len(goods)), column] = -shift
        j += len(_names_of(term, goods))
    change[: len(level)] = level @ change[: len(level)]
    return change


def _clustered(scores: Array, customers: tuple[str, ...] | None) -> Array | None:
    """Return Σ of the outer products of customers' scores, for few customers; None where none repeats."""
    if customers is None:
        return None
    names, whose = np.unique(np.asarray(customers, object).astype(np.str_), return_inverse=True)
    if len(names) == len(whose) or len(names) < 2:
        return None
    sums = np.zeros((len(names), scores.shape[1]))
    np.add.at(sums, whose, scores)
    return sums.T @ sums * (len(names) / (len(names) - 1))


def _log_rows(
    recorded: Recorded, laws: Array, whose: Indices, tolerance: float, *, gradient: bool = False
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
