# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which fit to believe: fits beside one another on the data they learned from and on data held out.

Scores are mean log-probabilities of the bundles bought. Under a heterogeneous fit that is the posterior predictive
probability of a bundle's region; under a common one an observation is honest, and buys the one optimum, or odd, with a
utility from anywhere on the sphere. A model that is not of this package is judged by data held out alone.

Fits that read the same purchases differently, with budgets as stated, as what was spent or unknown, or with goods that
are whole, give probabilities of different things. They are judged by one that is the same for all: which goods were
bought, given what was on offer (`baskets`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument, InvalidObservations, shown
from stochpref.models.fit import Fit
from stochpref.models.shared import check_observations
from stochpref.names import PROBLEMS
from stochpref.observations import Observations
from stochpref.refereeing import judged_by_baskets
from stochpref.result import Drawn
from stochpref.verdicts import Verdicts

Array = NDArray[np.float64]

_GOODS_BOUGHT: Final = "goods bought"


class Estimate(NamedTuple):
    """A mean over observations and its standard error."""

    mean: float
    standard_error: float


class Scored(Protocol):
    """Anything that says how likely purchases are."""

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log-probability of each observation."""


class FitScores(NamedTuple):
    """How one fit does; None where it cannot be said.

    name, model : which fit, and of which model.
    n_observations : that it learned from.
    explained : share of those that its one best utility explains strictly.
    loo : leave-one-out log score; None for a common utility, which has no posterior.
    held_out, held_out_explained : log score and share explained of data held out; None without such data.
    goods_bought : log score of which goods were bought, where fits read the same purchases differently; else None.
    verdicts : whether it has converged, is identified and fits.
    """

    name: str
    model: str
    n_observations: int | None
    explained: float | None
    loo: Estimate | None
    held_out: Estimate | None
    held_out_explained: float | None
    goods_bought: Estimate | None
    verdicts: Verdicts | None


class Difference(NamedTuple):
    """How much better the first fit scores than another, observation by observation.

    other : the other fit.
    measure : "leave-one-out", "held out" or "goods bought".
    """

    other: str
    measure: str
    mean: float
    standard_error: float


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Drawn):
    """Fits beside one another; print it, or read its fields.

    fits : scores of each.
    differences : of the first fit and each other one, where both score the same observations.
    n_held_out : observations held out; 0 for none.
    warnings : what makes scores of these fits hard to compare.
    scores_are : what they are logarithms of, "probabilities" of bundles or "densities".
    """

    fits: tuple[FitScores, ...]
    differences: tuple[Difference, ...]
    n_held_out: int
    warnings: tuple[str, ...] = ()
    scores_are: str = "probabilities"

    picture: ClassVar[str] = "result_plots:comparison"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each fit."""
        rows = []
        for fit in self.fits:
            row = fit._asdict()
            for name in ("loo", "held_out", "goods_bought"):
                score = row.pop(name)
                row |= dict(zip((name, f"{name}_error"), (None, None) if score is None else score, strict=True))
            verdicts = row.pop("verdicts")
            rows.append(row | ({} if verdicts is None else verdicts.by_name))
        return rows

    def remarks(self) -> tuple[str, ...]:
        """Return who is better than whom, and what makes scores hard to compare."""
        return (*(_verdict(shown(self.fits[0].name), one) for one in self.differences), *self.warnings)

    def __str__(self) -> str:
        names = [shown(fit.name) for fit in self.fits]
        width = max(5, *map(len, names)) + 2
        models = max(13, *(len(fit.model) for fit in self.fits)) + 2
        heading = f"{'fit':<{width}}{'model':<{models}}{'T':>8}{'explained':>11}{'leave-one-out':>20}"
        what = {"probabilities": "log-probability", "densities": "log-density"}[self.scores_are]
        lines = [f"Log score: mean {what} of a bundle ± standard error; the higher the better", "", heading]
        is_read_apart = any(fit.goods_bought is not None for fit in self.fits)
        if self.n_held_out:
            lines[-1] += f"{f'{self.n_held_out:,} held out':>20}{'explained':>11}"
        lines[-1] += f"{'goods bought':>20}" if is_read_apart else ""
        for name, fit in zip(names, self.fits, strict=True):
            size = "—" if fit.n_observations is None else f"{fit.n_observations:,}"
            line = f"{name:<{width}}{fit.model:<{models}}{size:>8}{_share(fit.explained):>11}{_words(fit.loo):>20}"
            if self.n_held_out:
                line += f"{_words(fit.held_out):>20}{_share(fit.held_out_explained):>11}"
            lines.append(line + (f"{_words(fit.goods_bought):>20}" if is_read_apart else ""))
        lines += [
            "",
            *(f"{name}: {fit.verdicts.grades}" for name, fit in zip(names, self.fits, strict=True) if fit.verdicts),
        ]
        lines += ["", *(_verdict(names[0], difference) for difference in self.differences)]
        lines += ["", *(f"! {warning}" for warning in self.warnings)]
        return "\n".join(lines).rstrip()


def _words(score: Estimate | None) -> str:
    return "—" if score is None else f"{score.mean:.4f} ± {score.standard_error:.4f}"


def _share(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f} %"


def _verdict(first: str, difference: Difference) -> str:
    mean, error, other = difference.mean, difference.standard_error, shown(difference.other)
    sizes = f"{abs(mean):.4f} ± {error:.4f} an observation"
    if not np.isfinite(mean):
        return f"{difference.measure}: {first} and {other} cannot be compared: one gives a bundle no chance"
    if not abs(mean) > 2.0 * error:  # nor where one observation leaves the error unknown
        return f"{difference.measure}: no clear difference between {first} and {other} ({sizes})"
    better, worse = (first, other) if mean > 0 else (other, first)
    return f"{difference.measure}: {better} is better than {worse} by {sizes}"


def compare_fits(fits: Mapping[str, Fit | Scored], held_out: Observations | None = None) -> Comparison:
    """Return fits beside one another.

    Parameters
    ----------
    fits : fitted models by name; the first is compared with each other one. A model of your own needs one method,
        `log_likelihood(observations)`, the (T,) log-probabilities of the bundles bought, and is compared on `held_out`.
    held_out : observations that none of them learned from. Without them only leave-one-out scores of heterogeneous fits
        to the same data can be compared. A fit of another problem is asked of the same bundles under its own.
    """
    kind = _check_fits(fits, held_out)
    left_out = {name: _left_out(model) for name, model in fits.items()}
    own = {name: model for name, model in fits.items() if isinstance(model, Fit)}
    apart, why_not = judged_by_baskets(own, held_out)
    asked = {name: _as_solved(name, model, held_out) for name, model in fits.items()}
    each = {name: _pointwise(name, model, left_out[name].scores, asked[name]) for name, model in fits.items()}
    for name, values in (apart or {}).items():
        each[name][_GOODS_BOUGHT] = values
    scores = tuple(_scores(name, model, each[name], asked[name]) for name, model in fits.items())
    first = next(iter(fits))
    differences = []
    for other in list(fits)[1:]:
        for measure, mine in each[first].items():
            theirs = each[other].get(measure)
            is_paired = measure in ("held out", _GOODS_BOUGHT) or _data_of(fits[first]) == _data_of(fits[other])
            if theirs is not None and is_paired:
                with np.errstate(invalid="ignore"):
                    differences.append(Difference(other, measure, *_estimate(mine - theirs)))
    rough = (
        f"the leave-one-out score of {shown(name)} is rough: single purchases decide too much of the fit for the "
        "others to stand for it without them; compare on purchases held out"
        for name, one in left_out.items()
        if one.is_rough
    )
    return Comparison(
        scores,
        tuple(differences),
        0 if held_out is None else len(held_out),
        (*rough, *why_not, *_warnings(fits, asked, are_refereed=apart is not None)),
        kind,
    )


def _check_fits(fits: Mapping[str, Fit | Scored], held_out: Observations | None) -> str:
    """Refuse what cannot be compared; return what scores are the logarithms of."""
    if len(fits) < 2:
        raise InvalidArgument(f"fits must be two or more, by name; received {len(fits)}")
    if held_out is not None:
        check_observations(held_out, PROBLEMS)
    for name, model in fits.items():
        if not callable(getattr(model, "log_likelihood", None)):
            raise InvalidArgument(f"fits[{name!r}] must have a method log_likelihood(observations); received {model!r}")
        if held_out is None and not isinstance(model, Fit):
            raise InvalidArgument(
                f"fits[{name!r}] is no fit of stochpref: it can be compared only on held_out; pass some"
            )
    kinds = {name: model.scores_are for name, model in fits.items() if isinstance(model, Fit)}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name!r} scores {kind}" for name, kind in kinds.items())
        raise InvalidArgument(
            f"fits must score the same thing, for densities and probabilities cannot be compared; {told}; compare fits "
            "of goods that satiate among themselves"
        )
    return next(iter(kinds.values()), "probabilities")


def _data_of(model: Fit | Scored) -> str | None:
    return model.data_hash_ if isinstance(model, Fit) else None


def _warnings(
    given: Mapping[str, Fit | Scored], asked: Mapping[str, Observations | None], *, are_refereed: bool
) -> list[str]:
    """Return a line for each other fit that learned from other data, and for each that knows purchases held out."""
    fits = {name: model for name, model in given.items() if isinstance(model, Fit)}
    if not fits:
        return []
    first, *others = fits
    found = [
        _unlike(first, other, fits)
        for other in others
        if fits[other].data_hash_ != fits[first].data_hash_
        and not (are_refereed and fits[other].problem_.name == fits[first].problem_.name)
    ]
    for name, model in fits.items():
        held_out = asked[name]
        count = 0 if held_out is None else _n_known(held_out, model)
        if held_out is not None and count:
            found.append(
                f"{count:,} of {len(held_out):,} held-out observations equal ones that {shown(name)} learned from: if "
                "they are the same purchases, its score is too good; split the table first, and fit the part to learn "
                "from"
            )
    return found


def _unlike(first: str, other: str, fits: Mapping[str, Fit]) -> str:
    """Return in what two fits differ that learned from unlike observations."""
    problems = [fits[name].problem_ for name in (first, other)]
    if problems[0].name != problems[1].name:
        return (
            f"{shown(first)} is of problem {problems[0].name!r}, {shown(other)} of {problems[1].name!r}: scores of the "
            "same bundles held out can be compared, what they explain and leave-one-out scores cannot"
        )
    return (
        f"{shown(first)} and {shown(other)} learned from different data: what they explain of it, and their "
        "leave-one-out scores, cannot be compared; fit both to the same file"
    )


def _n_known(held_out: Observations, model: Fit) -> int:
    """Return how many observations are, number for number, among those that a fit learned from (and keeps)."""
    asked, learned = (
        np.column_stack([data.prices, data.budgets, data.bundles, data.caps])
        for data in (held_out.over(model.goods_), model.observations_)
    )
    known = {row.tobytes() for row in learned}
    return sum(row.tobytes() in known for row in asked)


class _LeftOut(NamedTuple):
    """Log scores of the observations of a fit given the others; None without. Rough ones rest on uneven weights."""

    scores: Array | None
    is_rough: bool


def _left_out(model: Fit | Scored) -> _LeftOut:
    if not isinstance(model, Fit):
        return _LeftOut(None, False)
    with warnings.catch_warnings():
        # arviz says so by a warning that speaks of its own functions; here it is said of the score, in its place.
        warnings.filterwarnings("error", "Estimated shape parameter of Pareto", UserWarning)
        try:
            return _LeftOut(model.leave_one_out(), False)
        except UserWarning:
            warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto", UserWarning)
            return _LeftOut(model.leave_one_out(), True)


def _as_solved(name: str, model: Fit | Scored, held_out: Observations | None) -> Observations | None:
    """Return the purchases held out as those of customers who solve the problem of a fit, checked by its rules."""
    if held_out is None or not isinstance(model, Fit) or model.problem_.admits(held_out.problem):
        return held_out
    problem, given = model.problem_, held_out
    try:
        return Observations(
            given.prices, given.budgets if problem.needs_budget else None, given.bundles, goods=given.goods,
            customers=given.customers, caps=given.caps, labels=given.labels, problem=problem.over(given.goods),
            features=given.features, nonempty=given.nonempty,
        )  # fmt: skip
    except InvalidObservations as error:
        raise InvalidArgument(
            f"fits[{name!r}] is of problem {problem!r}, under which what was held out cannot have been bought: {error}"
        ) from None


def _pointwise(
    name: str, model: Fit | Scored, left_out: Array | None, held_out: Observations | None
) -> dict[str, Array]:
    """Return log scores of single observations by measure."""
    scores = {} if left_out is None else {"leave-one-out": left_out}
    if held_out is None:
        return scores
    values = np.asarray(model.log_likelihood(held_out), np.float64)
    if values.shape != (len(held_out),) or np.isnan(values).any():
        raise InvalidArgument(
            f"fits[{name!r}].log_likelihood must return {len(held_out)} numbers, one for each observation; received "
            f"shape {values.shape} with {np.isnan(values).sum()} NaN"
        )
    return scores | {"held out": values}


def _scores(name: str, model: Fit | Scored, each: dict[str, Array], held_out: Observations | None) -> FitScores:
    own = model if isinstance(model, Fit) else None
    return FitScores(
        name=name,
        model=type(model).__name__ if own is None else own.name,
        n_observations=None if own is None else own.n_observations_,
        explained=None if own is None else own.explained,
        loo=_estimate(each["leave-one-out"]) if "leave-one-out" in each else None,
        held_out=_estimate(each["held out"]) if held_out is not None else None,
        goods_bought=_estimate(each[_GOODS_BOUGHT]) if _GOODS_BOUGHT in each else None,
        held_out_explained=None if held_out is None or own is None else own.consistency(held_out),
        verdicts=None if own is None else own.verdicts(),
    )


def _estimate(values: Array) -> Estimate:
    mean = float(np.mean(values))
    if len(values) < 2 or not np.isfinite(mean):
        return Estimate(mean, float("nan"))
    return Estimate(mean, float(np.std(values, ddof=1) / np.sqrt(len(values))))
