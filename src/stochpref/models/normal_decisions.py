# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A normal law of utilities N(h, I) learned from decisions of programmes: how, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref import __version__
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.market import Market
from stochpref.models.account import Account
from stochpref.models.drawn import draw_posterior
from stochpref.models.fit import Wanted
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.values import Values, array_in
from stochpref.posterior.choosing import Choice
from stochpref.posterior.counting import Estimate
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.results import parameters_of, thinned
from stochpref.posterior.summary import judge_convergence
from stochpref.programmes.checking import DecisionCheck, check_decisions
from stochpref.programmes.cuts import Cuts
from stochpref.programmes.deciding import Decided, decide, log_decided, rounded, told
from stochpref.programmes.decisions import Decisions
from stochpref.programmes.gibbs import DecisionGibbs
from stochpref.programmes.moments import fit_moments
from stochpref.programmes.protocol import Programme
from stochpref.programmes.storing import decision_groups
from stochpref.programmes.summary import DecisionSummary, judge_mean, rows_of
from stochpref.verdicts import Verdict, Verdicts

if TYPE_CHECKING:
    from stochpref.models.normal import NormalUtility

Array = NDArray[np.float64]

_BOUND: Final = 10.0  # of the scale of means, in mean_spread
_START_NOISE: Final = 16  # draws of noise a decision for the start
_MOST_DRAWS: Final = 400  # of the posterior that predictions are averaged over
_COMMON: Final = 5  # decisions in the summary
_AXES: Final = {"mean": ("good",), "scale": ()}


class OfDecisions(Engine):
    """What was learned of a law of which every decision is a draw."""

    def __init__(self, tree: xr.DataTree, how: tuple[str, str, str, float], found: Diagnostics, model: NormalUtility):
        self.tree, self.diagnostics = tree, found
        self.sampler, self.reason, self.status, self.seconds = how
        self.decisions: Decisions = model.observations_  # type: ignore[assignment]
        self.seed = 0 if model.seed_ is None else model.seed_
        drawn = parameters_of(tree)
        self._drawn, self.bound = drawn["mean"], bound_of(model)
        self.mean_draws = drawn["mean"].reshape(-1, self.decisions.n_variables)
        self._convergence = judge_convergence(found, model.n_effective, self.status)
        self._identification = judge_mean(self.mean_draws, drawn["scale"].ravel(), self.bound)

    @classmethod
    def learn(cls, model: NormalUtility, task: Task) -> Self:
        """Learn the law under the settings of a model."""
        data: Decisions = task.observations  # type: ignore[assignment]
        _check_settings(model, data)
        cuts = Cuts(data, model.degenerate)
        used = data[cuts.rows]
        start = fit_moments(used, n_noise=_START_NOISE, random_state=task.key % 2**32) @ cuts.basis
        sampler = DecisionGibbs(cuts, start, bound_of(model), task.key)
        complete = float(cuts.is_complete.mean())
        reason = f"cones complete for {complete:.0%} of the decisions, the optimiser asked about the others"
        choice = Choice(sampler, reason, diagnose_fn=lambda draws: _diagnosed(draws.parameters["mean"]))
        drawn = draw_posterior(choice, task.plan, {}, verbose=model.verbose)
        per_draw = ("chain", "draw")
        steps = dict(zip(per_draw, map(np.arange, drawn.draws.shape), strict=True))
        posterior = xr.Dataset(
            {name: ((*per_draw, *_AXES[name]), values) for name, values in drawn.draws.parameters.items()},
            coords={**steps, "good": np.array(data.names, dtype=object)},
            attrs={"version": __version__, "sampler": drawn.how[0], "seed": -1 if model.seed_ is None else model.seed_},
        )
        statistics = xr.Dataset({n: (per_draw, v) for n, v in drawn.draws.statistics.items()}, coords=steps)
        tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": statistics})
        found = cls(tree, drawn.how, drawn.diagnostics, model)
        found.n_dropped = len(data) - len(cuts)
        return found

    @classmethod
    def restore(cls, model: NormalUtility, tree: xr.DataTree, learned: Values) -> Self:
        """Return the engine that a saved fit describes."""
        per_draw = ("chain", "draw")
        mean, scale = (
            array_in(tree, f"posterior/{name}", (*per_draw, *axes), "f", learned.where) for name, axes in _AXES.items()
        )
        if not (np.isfinite(mean).all() and np.all(scale > 0)):
            raise UnreadableData(f"{learned.where}: draws must be finite means and positive scales; save the fit again")
        how = learned.text("sampler"), learned.text("reason"), learned.text("status"), learned.number("seconds")
        found = cls(tree, how, Diagnostics.restore(dict(learned.part("diagnostics").found)), model)
        found.n_dropped = learned.whole("n_dropped", 0, model.n_observations_ - 1)
        return found

    def as_record(self) -> dict[str, Any]:
        """Return nothing: the tree holds all."""
        return {}

    def as_tree(self) -> xr.DataTree:
        """Return draws and decisions, as a saved fit holds them."""
        groups = {name: child.to_dataset() for name, child in self.tree.children.items()}
        return xr.DataTree.from_dict({**groups, **decision_groups(self.decisions)})

    @property
    def mean(self) -> Array:
        """Posterior mean of the law's mean."""
        return np.asarray(self.mean_draws.mean(axis=0))

    @property
    def covariance(self) -> Array:
        """The identity: the unit of utility is what people differ by."""
        return np.eye(self.decisions.n_variables)

    @property
    def directions(self) -> Array:
        """The direction of the mean of each draw."""
        return np.asarray(self.mean_draws / np.maximum(np.linalg.norm(self.mean_draws, axis=1, keepdims=True), 1e-300))

    @property
    def wanted(self) -> Wanted:
        """The posterior of those directions."""
        return Wanted(self.directions.mean(axis=0), np.quantile(self.directions, (0.05, 0.95), axis=0).T)

    @property
    def figures(self) -> dict[str, float]:
        """How much of what is wanted all want, and how far to trust the draws."""
        return {
            "length": float(np.linalg.norm(self.mean_draws, axis=1).mean()),
            "n_effective": self.diagnostics.fewest_effective,
            "is_converged": float(self._convergence.status == "good"),
            "is_identified": float(self._identification.status == "good"),
        }  # fmt: skip

    def market(self, n_customers: int | None, n_draws: int, n_menus: int) -> Market:
        """Refuse: there are no goods and prices."""
        del n_customers, n_draws, n_menus
        self.refuse_menus()

    def account(self, model: NormalUtility, verdicts: Verdicts) -> Account:
        """Refuse: a page is about goods and prices."""
        del model, verdicts
        self.refuse_menus()

    def refuse_menus(self) -> NoReturn:
        """Say what a fit of decisions is asked instead."""
        raise InvalidArgument(
            "a fit of decisions has no goods, prices and page; ask model.decide(problem) what is decided, and print "
            "model.summary()"
        )

    def decide(self, problem: Programme, n_rows: int, n_customers: int | None, n_draws: int) -> Decided:
        """Return simulated decisions of another problem."""
        means = thinned(self.tree, n_draws)[0]["mean"].reshape(-1, self.decisions.n_variables)
        return decide(problem, n_rows, means, n_customers, np.random.default_rng([self.seed, 1]))

    def log_likelihood_estimate(self, data: Decisions) -> Estimate:
        """Return log predictive probabilities by simulation, with their standard errors."""
        means = thinned(self.tree, _MOST_DRAWS)[0]["mean"].reshape(-1, self.decisions.n_variables)
        return log_decided(data.problem, data.chosen, means, np.random.default_rng([self.seed, 5]))

    def log_likelihood(self, observations: Any) -> Array:
        """Return (T,) log predictive probabilities, by simulation."""
        return self.log_likelihood_estimate(observations).log_probability

    def check(self) -> DecisionCheck:
        """Return whether the law decides as was seen."""
        return check_decisions(self.decisions, self.mean_draws, rng=np.random.default_rng([self.seed, 2]))

    def restore_check(self, saved: Values) -> DecisionCheck:
        """Return the check that a fit was saved with."""
        n = self.decisions.n_variables
        mean, lower, upper, spread = (saved.numbers(name, n) for name in ("mean", "mean_lower", "mean_upper", "spread"))
        common, fewest, most = (saved.number(name, 0.0, 1.0) for name in ("common", "common_lower", "common_upper"))
        return DecisionCheck(
            self.decisions.names, mean, lower, upper, spread, common, fewest, most, saved.whole("n_rows", 1)
        )

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification

    def summary(self, model: NormalUtility, verdicts: Verdicts) -> DecisionSummary:
        """Return what was learned, printable."""
        del model
        data = self.decisions
        kinds, counts = np.unique(rounded(data.chosen), axis=0, return_counts=True)
        top = np.argsort(-counts, kind="stable")[:_COMMON]
        length, rows = rows_of(self._drawn, self.diagnostics, data.names)
        return DecisionSummary(
            n_observations=len(data), n_variables=data.n_variables, n_dropped=self.n_dropped,
            n_hidden=data.hidden.shape[1], sampler=self.sampler, reason=self.reason, n_chains=self._drawn.shape[0],
            n_draws=self._drawn.shape[1], verdicts=verdicts, length=length, variables=rows,
            common=tuple((told(data.names, kinds[k]), float(counts[k] / len(data))) for k in top),
        )  # fmt: skip


def bound_of(model: NormalUtility) -> float:
    """Return the bound of the scale of means."""
    return _BOUND * float(model.mean_spread)


def _diagnosed(mean: Array) -> Diagnostics:
    """Return the diagnostics of the mean and of its length."""
    return diagnose({"mean": mean, "length": np.linalg.norm(mean, axis=2)})


def _check_settings(model: NormalUtility, data: Decisions) -> None:
    if model.covariance != "diagonal" or model.features or model.by_customer:
        raise InvalidArgument(
            "decisions are fitted by NormalUtility(covariance='diagonal'), without features and by_customer; received "
            f"covariance={model.covariance!r}, features={model.features!r}, by_customer={model.by_customer!r}"
        )
    if model.checkpoint is not None:
        raise InvalidArgument("checkpoint cannot be used with decisions, whose cones grow on the way; leave it out")
    if data.basis.shape[1] < 2:
        raise InvalidArgument(
            f"decisions must be able to differ in two directions or more; received {data.basis.shape[1]}; with one, "
            "the share of each decision says all"
        )
