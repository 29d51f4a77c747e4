# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A normal law with a taste for every purchase: how it is learned, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.laws.normal import NormalLaw
from stochpref.market import N_CROWDS, customers_for
from stochpref.models.account import Account
from stochpref.models.drawn import Drawn, draw_posterior
from stochpref.models.fit import Wanted
from stochpref.models.normal_account import account_of
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.settings import as_setting
from stochpref.models.values import Values, array_in
from stochpref.normal.counted import log_counted
from stochpref.normal.diagonal import DiagonalPosterior
from stochpref.normal.gibbs import NormalGibbs
from stochpref.normal.market import NormalMarket, make_normals
from stochpref.normal.predictive import log_of_draw, log_predictive
from stochpref.normal.prior import NormalPrior
from stochpref.normal.reported import Reported
from stochpref.normal.summary import NormalSummary, good_rows, judge_law, pairs_of, said_of_pairs
from stochpref.observations import Observations
from stochpref.posterior.around import by_weights
from stochpref.posterior.choosing import Choice, weighted_choice
from stochpref.posterior.counting import Estimate
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.predictive import add_log_likelihood
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, as_tree, parameters_of, thinned
from stochpref.posterior.samplers.around import AroundMode
from stochpref.posterior.summary import judge_convergence
from stochpref.problems.interval_regions import IntervalRegions
from stochpref.regions import Regions, usable_rows
from stochpref.verdicts import Verdict, Verdicts

if TYPE_CHECKING:
    from stochpref.models.normal import NormalUtility

Array = NDArray[np.float64]

_AXES: Final = {**NormalLaw.axes, "own_variance": ("good",)}
_KINDS: Final = {
    "diagonal": "goods independent of one another",
    "factor": "goods liked together through {} factor{}",
    "full": "goods liked together",
}


class Purchases(Engine):
    """What was learned of a law of which every purchase is a draw."""

    def __init__(self, tree: xr.DataTree, how: tuple[str, str, str, float], found: Diagnostics, model: NormalUtility):
        self.tree, self.diagnostics = tree, found
        self.sampler, self.reason, self.status, self.seconds = how
        self.goods, self.problem, self.coordinates = model.goods_, model.problem_, model.coordinates_
        self.observations = model.observations_
        self.seed = 0 if model.seed_ is None else model.seed_
        drawn = parameters_of(tree)
        self.mean_draws = drawn["mean"].reshape(-1, len(self.coordinates))
        covariance = drawn["covariance"].reshape(-1, *drawn["covariance"].shape[2:])
        self._mean, self._covariance = self.mean_draws.mean(axis=0), covariance.mean(axis=0)
        self.spread_draws = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        self._convergence = judge_convergence(found, model.n_effective, self.status)
        prior = _prior_of(model, self.observations)
        relative = np.log(self.spread_draws / prior.units)
        centred = relative - 0.5 * np.log(np.mean(np.exp(2.0 * relative), axis=1, keepdims=True))
        self._identification = judge_law(self.coordinates, self.directions, centred, prior.spread_sd())
        self._pairs = pairs_of(drawn["covariance"], self.coordinates) if model.covariance != "diagonal" else ()

    @classmethod
    def learn(cls, model: NormalUtility, task: Task) -> Self:
        """Learn the law under the settings of a model."""
        data = task.observations
        if model.features or data.features:
            raise InvalidArgument("features cannot be used by NormalUtility for now; leave them out, features=()")
        rows = usable_rows(data.problem.explained(data), model.degenerate)
        choice = _choose(model.covariance, data[rows], _prior_of(model, data), task)
        drawn = draw_posterior(choice, task.plan, _fingerprint_of(model, task), verbose=model.verbose)
        seed = -1 if model.seed_ is None else model.seed_
        attributes = {"version": __version__, "sampler": drawn.how[0], "seed": seed}
        return cls._of(drawn, as_tree(drawn.draws, _AXES, data, attributes), len(data) - len(rows), model)

    @classmethod
    def _of(cls, drawn: Drawn, tree: xr.DataTree, n_dropped: int, model: NormalUtility) -> Self:
        found = cls(tree, drawn.how, drawn.diagnostics, model)
        found.n_dropped = n_dropped
        return found

    @classmethod
    def restore(cls, model: NormalUtility, tree: xr.DataTree, learned: Values) -> Self:
        """Return the engine that a saved fit describes."""
        _check_draws(tree, learned.where)
        how = learned.text("sampler"), learned.text("reason"), learned.text("status"), learned.number("seconds")
        found = cls(tree, how, Diagnostics.restore(dict(learned.part("diagnostics").found)), model)
        found.n_dropped = learned.whole("n_dropped", 0, model.n_observations_ - 1)
        return found

    def as_record(self) -> dict[str, Any]:
        """Return nothing: the tree holds all."""
        return {}

    @property
    def mean(self) -> Array:
        """Posterior mean of the law's mean."""
        return self._mean

    @property
    def covariance(self) -> Array:
        """Posterior mean of its covariance."""
        return self._covariance

    @property
    def directions(self) -> Array:
        """The direction of the mean of each draw."""
        lengths = np.linalg.norm(self.mean_draws, axis=1, keepdims=True)
        return np.asarray(self.mean_draws / np.maximum(lengths, 1e-300))

    @property
    def wanted(self) -> Wanted:
        """The posterior of those directions."""
        own = self.directions[:, self.problem.leading(self.goods)]
        return Wanted(own.mean(axis=0), np.quantile(own, (0.05, 0.95), axis=0).T)

    @property
    def figures(self) -> dict[str, float]:
        """How unequal spreads are, and how far to trust the draws."""
        spread = self.spread_draws.mean(axis=0)
        return {
            "widest_spread": float(spread.max()), "narrowest_spread": float(spread.min()),
            "n_effective": self.diagnostics.fewest_effective,
            "is_converged": float(self._convergence.status == "good"),
            "is_identified": float(self._identification.status == "good"),
        }  # fmt: skip

    def market(self, n_customers: int | None, n_draws: int, n_menus: int) -> NormalMarket:
        """Return the laws and customers that demand asks."""
        drawn = self._flat_draws(n_draws)
        if n_customers is None:
            n_customers = customers_for(len(drawn["mean"]), n_menus)
        rng = np.random.default_rng([self.seed, 1])
        normals = make_normals(len(self.coordinates), n_customers, N_CROWDS, rng=rng)
        return NormalMarket(
            self.coordinates, drawn["mean"], np.asarray(np.linalg.cholesky(drawn["covariance"])), normals, N_CROWDS
        )

    def _flat_draws(self, most: int) -> dict[str, Array]:
        drawn, _ = thinned(self.tree, most)
        return {name: drawn[name].reshape(-1, *drawn[name].shape[2:]) for name in _AXES}

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) log predictive probabilities."""
        if not observations.problem.has_masses:
            return self.log_likelihood_estimate(observations).log_probability
        recorded = observations.problem.recorded(observations)
        return log_predictive(recorded, self._flat_draws(MAX_LIKELIHOOD_DRAWS), self.seed)

    def log_likelihood_estimate(self, observations: Observations) -> Estimate:
        """Return log predictive probabilities of whole goods by simulation, with their standard errors."""
        rng = np.random.default_rng([self.seed, 5])
        found = log_counted(observations, self._flat_draws(MAX_LIKELIHOOD_DRAWS), rng=rng)
        is_degenerate = observations.problem.explained(observations).is_degenerate
        return Estimate(
            np.where(is_degenerate, -np.inf, found.log_probability), np.where(is_degenerate, 0.0, found.error)
        )

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None for whole goods."""
        if not self.problem.has_masses:
            return None
        from arviz_stats import loo  # noqa: PLC0415

        if "log_likelihood" not in self.tree.children:
            add_log_likelihood(self.tree, self.problem.recorded(self.observations), log_of_draw)
        found = loo(self.tree, var_name="bundles", pointwise=True)
        return np.asarray(found.elpd_i.values, np.float64).ravel()

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification.verdict

    def summary(self, model: NormalUtility, verdicts: Verdicts) -> NormalSummary:
        """Return what was learned, printable."""
        sizes = self.tree.children["posterior"].sizes
        rows = good_rows(self.coordinates, self.mean_draws, self.spread_draws)
        many = model.n_factors
        return NormalSummary(
            n_observations=model.n_observations_,
            n_goods=len(self.goods),
            n_dropped=self.n_dropped,
            law=_KINDS[model.covariance].format(many, "" if many == 1 else "s"),
            sampler=self.sampler,
            reason=self.reason,
            n_chains=sizes["chain"],
            n_draws=sizes["draw"],
            is_converged=self._convergence.status == "good",
            is_identified=self._identification.status == "good",
            verdict=(self._convergence.text, *self._identification.lines, verdicts.fits.text),
            verdicts=verdicts,
            goods=tuple(sorted(rows, key=lambda row: -row.mean)),
            together=said_of_pairs(self._pairs) if model.covariance != "diagonal" else (),
            pairs=self._pairs,
            pareto_k=self.diagnostics.pareto_k,
            cautions=model.cautions(),
            titles=model.titles,
        )

    def account(self, model: NormalUtility, verdicts: Verdicts) -> Account:
        """Return what the fit says of itself, for people."""
        return account_of(self.summary(model, verdicts), self.seconds)


def _prior_of(model: NormalUtility, data: Observations) -> NormalPrior:
    """Return the prior that settings and menus make."""
    n, problem = len(data.problem.coordinates(data.goods)), data.problem
    recorded = problem.recorded(data) if problem.has_masses else None
    return NormalPrior.of(
        model.covariance, min(model.n_factors, n), recorded, n, model.covariance_degrees, model.mean_spread
    )


def _fingerprint_of(model: NormalUtility, task: Task) -> dict[str, Any]:
    """Return all that decides the draws."""
    if task.plan.checkpoint is None:
        return {}
    settings = ("covariance", "n_factors", "n_chains", "degenerate", "mean_spread", "covariance_degrees")
    named = {name: as_setting(getattr(model, name)) for name in settings}
    return {"data": model.data_hash_, "random_state": task.key, **named}


def _choose(covariance: str, data: Observations, prior: NormalPrior, task: Task) -> Choice:
    """Return how to draw: around the mode where masses are exact and goods independent, else by Gibbs sampling."""
    if covariance != "diagonal" or not data.problem.has_masses:
        return _gibbs(data, prior, task, "utilities are drawn inside their regions")
    recorded = data.problem.recorded(data)
    posterior = DiagonalPosterior(recorded, prior)
    near = posterior.near(posterior.mode())
    sampler = AroundMode(near, lambda at: posterior.at(at, gradient=False)[0], posterior.parameters, task.key)
    reason = f"{len(near.centre)} parameters around the mode, by the exact likelihood"
    choice = weighted_choice(sampler, task.key, task.plan, reason)

    def instead(found: Diagnostics) -> Choice:
        return _gibbs(data, prior, task, f"importance weights were too uneven, Pareto k {found.pareto_k:.2f}")

    can_instead = recorded.chance.is_single or recorded.span is not None
    return choice._replace(
        diagnose_fn=lambda draws: by_weights(draws, choice.finish_fn(draws)),
        instead_fn=instead if can_instead else None,
    )


def _gibbs(data: Observations, prior: NormalPrior, task: Task, reason: str) -> Choice:
    problem = data.problem
    if problem.has_masses:
        recorded = problem.recorded(data)
        event, is_level_open = recorded.event, recorded.span is not None
        regions: Regions | IntervalRegions = problem.regions(data)
    else:
        event, is_level_open = problem.event(data, nonempty=data.nonempty), False
        regions = problem.intervals(data)
    sampler = NormalGibbs(regions, prior, task.key, event, is_level_open)
    return Choice(sampler, reason, diagnose_fn=Reported.of(data, task.key % 2**32).diagnose)


def _check_draws(tree: xr.DataTree, where: str) -> None:
    """Refuse what no posterior draws: covariances that are none."""
    per_draw = ("chain", "draw")
    mean, covariance, own = (
        array_in(tree, f"posterior/{name}", (*per_draw, *axes), "f", where) for name, axes in _AXES.items()
    )
    n = mean.shape[2]
    is_matrix = covariance.shape[2:] == (n, n) and np.allclose(covariance, covariance.swapaxes(2, 3))
    if not (is_matrix and own.shape == mean.shape and np.all(own > 0)) or np.linalg.eigvalsh(covariance).min() <= 0:
        raise UnreadableData(f"{where}: draws must be means and covariances of {n} goods; save the fit again")
