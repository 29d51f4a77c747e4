# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A normal law with a taste for every purchase: how it is learned, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import polygamma

from stochpref import __version__
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.laws.normal import NormalLaw
from stochpref.market import N_CROWDS, customers_for
from stochpref.models.account import Account
from stochpref.models.drawn import Drawn, draw_posterior
from stochpref.models.fit import Wanted
from stochpref.models.normal_account import account_of
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.values import Values, array_in
from stochpref.normal.diagonal import DiagonalPosterior
from stochpref.normal.market import NormalMarket, make_normals
from stochpref.normal.predictive import log_of_draw, log_predictive
from stochpref.normal.prior import NormalPrior, usable
from stochpref.normal.summary import NormalSummary, good_rows, judge_law
from stochpref.observations import Observations
from stochpref.posterior.choosing import Choice, weighted_choice
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.predictive import add_log_likelihood
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, as_tree, parameters_of, thinned
from stochpref.posterior.samplers.around import AroundMode
from stochpref.posterior.summary import judge_convergence
from stochpref.regions import usable_rows
from stochpref.segments.posterior import by_weights
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
        prior_sd = 0.5 * float(np.sqrt(polygamma(1, 0.5 * prior.degrees)))
        log_spread = np.log(self.spread_draws / prior.units)
        self._identification = judge_law(self.coordinates, self.directions, log_spread, prior_sd)

    @classmethod
    def learn(cls, model: NormalUtility, task: Task) -> Self:
        """Learn the law under the settings of a model."""
        if model.covariance != "diagonal":
            raise InvalidArgument(
                f"covariance must be 'diagonal' for now; received {model.covariance!r}; pass covariance='diagonal'"
            )
        data = task.observations
        if model.features or data.features:
            raise InvalidArgument("features cannot be used by NormalUtility for now; leave them out, features=()")
        if not data.problem.has_masses:
            raise InvalidArgument(
                f"NormalUtility(covariance='diagonal') needs probabilities of bundles, which {data.problem!r} has not; "
                "take HeterogeneousUtility"
            )
        rows = usable_rows(data.problem.explained(data), model.degenerate)
        recorded = usable(data.problem.recorded(data), rows)
        posterior = DiagonalPosterior(recorded, _prior_of(model, data))
        drawn = draw_posterior(_by_importance(posterior, task), task.plan, {}, verbose=model.verbose)
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
        recorded = observations.problem.recorded(observations)
        return log_predictive(recorded, self._flat_draws(MAX_LIKELIHOOD_DRAWS), self.seed)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others."""
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
        found = self.diagnostics.of("mean")
        rows = good_rows(self.coordinates, self.mean_draws, self.spread_draws, found.r_hat, found.ess_bulk)
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
            together=(),
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


def _by_importance(posterior: DiagonalPosterior, task: Task) -> Choice:
    """Return draws around the mode, weighted by the exact likelihood."""
    near = posterior.near(posterior.mode())
    sampler = AroundMode(near, lambda at: posterior.at(at, gradient=False)[0], posterior.parameters, task.key)
    reason = f"{len(near.centre)} parameters around the mode, by the exact likelihood"
    choice = weighted_choice(sampler, task.key, task.plan, reason)
    return choice._replace(diagnose_fn=lambda draws: by_weights(draws, choice.finish_fn(draws)))


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
