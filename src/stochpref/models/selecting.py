# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which model to believe: those that suit the observations, scored on purchases held out, and the best fitted to all.

Models say themselves whether they suit and what they cost (`Fit.candidates`), by sizes and never by the clock, so that
the same table and seed give the same answer on any machine. All are scored on the same observations, by the mean log
predictive probability, with paired errors. The best is believed if it is ahead by more than a standard error of every
simpler one; of those that are not behind it by as much, the one that learns the fewest numbers is taken.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from stochpref import __version__
from stochpref.archives.text import as_json, parse_json
from stochpref.audit import refuse_baskets
from stochpref.errors import InvalidArgument, StochprefError, UnreadableData, counted, shown
from stochpref.files import made, replacing
from stochpref.loading import load
from stochpref.models.candidate import Candidate
from stochpref.models.fit import Fit
from stochpref.models.ranking import Ranking, ScoreRow
from stochpref.models.selection import Selection
from stochpref.models.settings import as_setting
from stochpref.models.shared import check_observations, generator
from stochpref.names import MODELS, PROBLEMS
from stochpref.observations import Observations
from stochpref.regions import usable_rows
from stochpref.stores.packing import data_hash

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Models = Sequence[str] | Mapping[str, Fit] | None

_WORK: Final = 3.0  # of scoring all, beside the fit of the best to everything
_FEWEST: Final = 40  # observations of which some can be held out


class Way(NamedTuple):
    """A way of fitting: its name, the estimator before it is fitted, and what its model says of it."""

    name: str
    estimator: Fit
    candidate: Candidate


class _Scored(NamedTuple):
    """A way of fitting and (held,) its log scores, with what it came out as."""

    way: Way
    values: Array
    same_as: str


def fit_best(
    observations: Observations,
    *,
    held_out: float = 0.2,
    models: Models = None,
    random_state: int | np.random.Generator | None = None,
    degenerate: str = "refuse",
    kept: str | Path | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Try the models that suit observations on purchases held out, and fit the one to believe to everything.

    Parameters
    ----------
    observations : of a problem that models fit; problem and reading are theirs, and not chosen here.
    held_out : share of the observations that scores are taken of; of the customers, where some bought more than once.
    models : names of those to try, or estimators by name, whose settings then hold; None for all that suit.
    random_state : None, an integer or a numpy Generator; the fit that is kept has it too, so that it equals a direct
        fit of that model.
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    kept : a file in which scores are kept as they are found, so that a run that was stopped goes on from them.
    report : told what is being tried.

    Returns
    -------
    The fit, the table, and the reason.

    Notes
    -----
    Only models whose scores are of the same thing, probabilities or densities, are ranked, as `Fit.scores_are` says.
    """
    way, ranking = rank_models(
        observations, held_out=held_out, models=models, random_state=random_state, degenerate=degenerate, kept=kept,
        report=report,
    )  # fmt: skip
    report(f"{way.name}, on everything")
    best = way.estimator.fit(observations)
    best.ranking_ = ranking
    return Selection(best, ranking)


def rank_models(
    observations: Observations,
    *,
    held_out: float = 0.2,
    models: Models = None,
    random_state: int | np.random.Generator | None = None,
    degenerate: str = "refuse",
    kept: str | Path | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Way, Ranking]:
    """Return which way of fitting to believe, and why; parameters as in `fit_best`."""
    check_observations(observations, PROBLEMS)
    if not (isinstance(held_out, int | float) and 0.0 < held_out < 1.0):
        raise InvalidArgument(f"held_out must be a share between 0 and 1, such as 0.2; received {held_out!r}")
    refuse_baskets(observations)
    problem = observations.problem
    unknown = problem.unknown(observations)
    usual = problem if unknown is None else problem.with_setting(*unknown)  # rows are degenerate under all or none
    usable = usable_rows(usual.explained(observations.under(usual)), degenerate)
    rng, seed = generator(random_state)
    seed = int(rng.integers(2**63)) if seed is None else seed
    tried, left_out = _affordable(_ways(observations, models, seed, degenerate))
    fresh, learn, by_customer = _parts(observations, usable, held_out, seed)
    if len(tried) < 2 or not fresh.size:
        few = f"{counted(len(observations), 'observation')} are too few to hold any out"
        why = "it alone suits these observations" if fresh.size else few
        rows = tuple(_row(way, remark=reason) for way, reason in [(tried[0], ""), *left_out])
        reason = f"{tried[0].name} is fitted without comparison: {why}."
        return tried[0], Ranking(rows, reason, tried[0].name, len(observations), 0, by_customer=False)
    scored = _score(observations, learn, fresh, tried, _Kept.open(kept, observations, held_out, seed), report)
    whose = _codes(observations, fresh) if by_customer else np.arange(len(fresh))
    rows, chosen, reason = _judged(scored, left_out, whose)
    return chosen, Ranking(rows, reason, chosen.name, learn.size, fresh.size, by_customer)


def _ways(data: Observations, models: Models, seed: int, degenerate: str) -> list[Way]:
    """Return every way of fitting that models propose."""
    if isinstance(models, str):
        raise InvalidArgument(f"models must be names, or estimators by name; received the text {models!r}")
    given: Mapping[str, Fit | str] = (
        models if isinstance(models, Mapping) else {name: name for name in (MODELS if models is None else models)}
    )
    ways: list[Way] = []
    for label, model in given.items():
        if isinstance(model, str) and model not in MODELS:
            raise InvalidArgument(f"models must be among {', '.join(MODELS)}; received {model!r}")
        estimator = load(MODELS[model])(degenerate=degenerate) if isinstance(model, str) else model
        if not isinstance(estimator, Fit):
            raise InvalidArgument(f"models[{label!r}] must be an estimator of stochpref; received {model!r}")
        for candidate in estimator.candidates(data) if data.problem.name in estimator.problems else ():
            own = clone(estimator).set_params(random_state=seed, **candidate.settings)
            ways.append(Way(f"{label}, {candidate.about}" if candidate.about else label, own, candidate))
    if not ways:
        raise InvalidArgument(f"models must propose something to try; {', '.join(given)} do not for these observations")
    return ways


def _affordable(ways: list[Way]) -> tuple[list[Way], list[tuple[Way, str]]]:
    """Return the ways to try, and those left out with the reason: the dearest go first where all cost too much."""
    left_out = [(way, way.candidate.unsuited) for way in ways if way.candidate.unsuited]
    tried = [way for way in ways if not way.candidate.unsuited]
    kind = tried[0].estimator.scores_are if tried else ""
    left_out += [(way, f"scores {way.estimator.scores_are}") for way in tried if way.estimator.scores_are != kind]
    tried = [way for way in tried if way.estimator.scores_are == kind]
    if not tried:
        raise InvalidArgument(f"no model suits these observations: {left_out[0][0].name} {left_out[0][1]}; name one")
    while len(tried) > 1 and sum(way.candidate.work for way in tried) > _WORK:
        dearest = max(tried, key=lambda way: way.candidate.work)
        tried.remove(dearest)
        left_out.append((dearest, f"costs about {dearest.candidate.work:.1f} fits of one law"))
    return tried, left_out


def _parts(data: Observations, usable: Indices, share: float, seed: int) -> tuple[Indices, Indices, bool]:
    """Return the rows held out and those learned from, and whether customers are held out whole."""
    codes = _codes(data, usable)
    n_units = int(codes.max()) + 1
    n_held = round(share * n_units)
    if len(usable) < _FEWEST or not 0 < n_held < n_units:
        return usable[:0], usable, n_units < len(usable)
    held = np.zeros(n_units, np.bool_)
    held[np.random.default_rng([seed, 6]).permutation(n_units)[:n_held]] = True
    return usable[held[codes]], usable[~held[codes]], n_units < len(usable)


def _codes(data: Observations, rows: Indices) -> Indices:
    """Return whose each row is: the customer's number where some repeat, else its own."""
    if data.customers is None:
        return np.arange(len(rows))
    labels = np.asarray(data.customers, object).astype(np.str_)[rows]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


class _Kept(NamedTuple):
    """Where scores are kept as they are found; nowhere if `path` is None."""

    path: Path | None
    fingerprint: str
    found: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path | None, data: Observations, held_out: float, seed: int) -> _Kept:
        """Return what a file holds of the same run, if anything."""
        text = f"{__version__} {data_hash(data)} {held_out!r} {seed}"
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
        if path is None:
            return cls(None, fingerprint, {})
        file = Path(path)
        try:
            record = parse_json(file.read_bytes(), file)
            found = record["scores"] if record["fingerprint"] == fingerprint else {}
        except (OSError, UnreadableData, KeyError, TypeError):
            found = {}  # none, or of a run of another kind: begin anew
        return cls(file, fingerprint, dict(found))

    def scores(self, way: Way, count: int) -> tuple[Array, str] | None:
        """Return the scores of a way that were found before."""
        record = self.found.get(_described(way))
        if not isinstance(record, dict) or len(record.get("values", ())) != count:
            return None
        return np.array([-np.inf if value is None else value for value in record["values"]]), str(record["same_as"])

    def add(self, way: Way, values: Array, same_as: str) -> None:
        """Keep the scores of a way."""
        if self.path is None:
            return
        finite = [float(value) if np.isfinite(value) else None for value in values]
        self.found[_described(way)] = {"values": finite, "same_as": same_as}
        with made(self.path.parent), replacing(self.path) as stream:
            stream.write(as_json({"fingerprint": self.fingerprint, "scores": self.found}))


def _described(way: Way) -> str:
    """Return what tells a way of fitting from others, settings included."""
    settings = way.estimator.get_params(deep=False) | dict(way.candidate.draft)
    hidden = ("verbose", "checkpoint")
    own = {name: as_setting(value) for name, value in settings.items() if name not in hidden}
    return json.dumps([way.estimator.name, own], sort_keys=True)


def _score(
    data: Observations, learn: Indices, fresh: Indices, tried: list[Way], kept: _Kept, report: Callable[[str], None]
) -> list[_Scored]:
    """Return the ways that could be fitted, with their scores of the rows held out."""
    scored, known, asked = [], data[learn], data[fresh]
    for number, way in enumerate(tried, start=1):
        found = kept.scores(way, len(fresh))
        if found is None:
            report(f"{way.name}, {number} of {len(tried)}")
            quiet = {name: None if name == "checkpoint" else False for name in ("checkpoint", "verbose")}
            names = way.estimator.get_params(deep=False)
            draft = clone(way.estimator).set_params(
                **way.candidate.draft, **{name: value for name, value in quiet.items() if name in names}
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # whether draws have converged is said of the fit kept
                draft.fit(known)
                values = np.asarray(draft.log_likelihood(asked), np.float64)
            if draft.status_ == "interrupted":
                raise KeyboardInterrupt
            found = values, draft.same_as
            kept.add(way, *found)
        scored.append(_Scored(way, *found))
    return scored


def _judged(
    scored: list[_Scored], left_out: list[tuple[Way, str]], clusters: Indices
) -> tuple[tuple[ScoreRow, ...], Way, str]:
    """Return the table, the way to believe and why."""
    order = sorted(scored, key=lambda one: -one.values.mean())
    top = order[0]
    if not np.isfinite(top.values.mean()):
        raise StochprefError(
            "no model gives every purchase held out a chance; fit one by its name, and look at its check"
        )
    names = {one.way.estimator.name: one for one in scored if not one.same_as}
    rivals = [one for one in scored if not (one.same_as and one.same_as in names)]
    highest = max(rivals, key=lambda one: one.values.mean())
    behind = {one.way.name: _paired(highest.values - one.values, clusters) for one in rivals}
    as_good = [one for one in rivals if one is highest or behind[one.way.name][0] <= behind[one.way.name][1]]
    chosen = min(as_good, key=lambda one: one.way.candidate.n_free)  # the first of those with the fewest
    rows = [
        _row(
            one.way, one.values, _paired(top.values - one.values, clusters), clusters,
            remark=f"came out as {one.same_as}" if one.same_as else "",
        )
        for one in order
    ]  # fmt: skip
    rows += [_row(way, remark=why) for way, why in left_out]
    return tuple(rows), chosen.way, _reason(chosen, highest, rivals, behind, clusters)


def _reason(
    chosen: _Scored, highest: _Scored, rivals: list[_Scored], behind: Mapping[str, tuple[float, float]], whose: Indices
) -> str:
    """Return which way is believed, by how much, and why."""
    name = shown(chosen.way.name)
    if chosen is not highest:
        gap, error = behind[chosen.way.name]
        return (
            f"{name} is believed: {shown(highest.way.name)} scores {gap:.4f} ± {error:.4f} more, which is within one "
            "standard error, and of models that score alike the simplest is taken."
        )
    others = [one for one in rivals if one is not chosen]
    if not others:
        return f"{name} is believed: no other came out different."
    second = max(others, key=lambda one: one.values.mean())
    gap, error = _paired(chosen.values - second.values, whose)
    if not np.isfinite(gap):
        return f"{name} is believed: {shown(second.way.name)} gives a purchase held out no chance."
    why = "no simpler one comes within one standard error" if gap > error else "it is the simplest that scores so high"
    return f"{name} is believed: it scores {gap:.4f} ± {error:.4f} more than {shown(second.way.name)}, and {why}."


def _row(
    way: Way,
    values: Array | None = None,
    behind: tuple[float, float] | None = None,
    clusters: Indices | None = None,
    *,
    remark: str,
) -> ScoreRow:
    mean, error = (None, None) if values is None or clusters is None else _paired(values, clusters)
    gap, gap_error = (None, None) if behind is None else behind
    settings = {name: as_setting(value) for name, value in way.candidate.settings.items()}
    return ScoreRow(
        way.name, way.estimator.name, settings, way.candidate.n_free, mean, error, gap, gap_error, remark
    )  # fmt: skip


def _paired(values: Array, clusters: Indices) -> tuple[float, float]:
    """Return a mean over observations and its standard error, of which those of one customer stray together."""
    mean, count = float(values.mean()), int(clusters.max()) + 1
    if count < 2 or not np.isfinite(mean):
        return mean, float("nan")
    sums = np.bincount(clusters, values - mean)
    return mean, float(np.sqrt(np.sum(sums**2) * count / (count - 1)) / len(values))
