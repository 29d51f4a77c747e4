# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers whose utilities follow a normal law: goods liked together, goods worth much to few."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref.audit import refuse_baskets
from stochpref.checks import check_choice, check_count
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.loading import load
from stochpref.market import Market
from stochpref.models.account import Account
from stochpref.models.fit import Fit, Wanted
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.shared import check_observations, generator
from stochpref.models.storage import SavedFit, restore_model
from stochpref.names import COVARIANCES
from stochpref.observations import Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, group, observations_of
from stochpref.problems import Problem, check_handled
from stochpref.stores.packing import data_hash
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

# What learns the law, by whether every customer, and not every purchase, has a taste of its own; None: not yet.
_HANDLED: Final = ("divisible", "one", "open", "whole")  # problems whose utilities it draws
_ENGINES: Final[dict[bool, str | None]] = {False: "models.normal_purchases:Purchases", True: None}


class NormalUtility(Fit):
    """The posterior of a normal law of utilities, of which only directions matter.

    Parameters
    ----------
    covariance : "factor", goods liked together through a few common factors; "diagonal", independent goods with scales
        of their own, on the exact likelihood; "full", all covariances free.
    n_factors : of "factor".
    features : what moves tastes, by the names that the observations give.
    by_customer : a taste for every label in `observations.customers`, instead of one for every purchase.
    random_state : None, an integer or a numpy Generator.
    n_chains, n_draws : chains, and draws of each before the first look.
    n_effective : draw on until what is reported has this many effective draws; 0 to stop at n_draws.
    max_draws : of each chain, at most.
    max_seconds : stop drawing after this time; None for no limit.
    checkpoint : a file to keep the run in until it is done, as of `HeterogeneousUtility`.
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    mean_spread : of the prior of means, beside scales of about 1.
    covariance_degrees : of freedom of the prior of covariances; None for 4 (diagonal) or 20.
    engine : "cpu".
    verbose : show progress on a terminal's stderr.

    Attributes
    ----------
    mean_, covariance_ : posterior means, over `coordinates_`, of laws scaled to variances of 1 on average.
    coefficients_ : posterior mean of the coefficient of each feature, by name.
    posterior_ : xarray DataTree with draws of "mean" and "covariance".
    sampler_, reason_, status_, seconds_, diagnostics_, is_converged_, is_identified_ : as of `HeterogeneousUtility`.
    goods_, coordinates_, problem_, observations_, n_dropped_, seed_, command_ : as of `HeterogeneousUtility`.

    Notes
    -----
    Where budgets are open and their scale is left open, the spread of money's worth takes its place: `scale_` is the
    usual price.
    """

    name: ClassVar[str] = "normal"

    def __init__(
        self,
        covariance: str = "factor",
        n_factors: int = 1,
        features: Sequence[str] = (),
        by_customer: bool = False,
        random_state: int | np.random.Generator | None = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_effective: int = 400,
        max_draws: int = 20_000,
        max_seconds: float | None = None,
        checkpoint: str | Path | None = None,
        degenerate: str = "refuse",
        mean_spread: float = 2.0,
        covariance_degrees: float | None = None,
        engine: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.covariance = covariance
        self.n_factors = n_factors
        self.features = features
        self.by_customer = by_customer
        self.random_state = random_state
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_effective = n_effective
        self.max_draws = max_draws
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
        self.degenerate = degenerate
        self.mean_spread = mean_spread
        self.covariance_degrees = covariance_degrees
        self.engine = engine
        self.verbose = verbose

    def fit(self, observations: Observations, y: None = None) -> Self:  # noqa: ARG002
        """Draw from the posterior of the law given observations.

        Warns
        -----
        NotConverged : the draws are too few or disagree.
        NotIdentified : the data leave the mean or spreads open.
        """
        check_observations(observations)
        check_handled(observations, "NormalUtility", problems=_HANDLED, nonempty=True)
        check_choice(self.covariance, "covariance", COVARIANCES)
        check_count(self.n_factors, "n_factors", 1)
        check_choice(self.engine, "engine", ("cpu",))
        plan = Plan.checked(
            self.n_chains, self.n_draws, self.n_effective, self.max_draws, self.max_seconds, self.checkpoint
        )
        if len(observations.problem.coordinates(observations.goods)) < 2:
            raise InvalidArgument(
                f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
                f"{observations.goods[0]!r}; add what else was on offer, with its price, bought or not"
            )
        refuse_baskets(observations)
        rng, self.seed_ = generator(self.random_state)
        source = observations.under(_settled(observations))
        self.problem_, self.goods_, self.n_features_in_ = source.problem, source.goods, source.n_goods
        self.data_hash_, self.n_observations_ = data_hash(source), len(source)
        self.observations_ = source
        engine = cast(type[Engine], load(self._engine_place()))
        self._conclude(engine.learn(self, Task(source, plan, int(rng.integers(2**63)))))
        self.command_: list[str] | None = None
        if not self.is_converged_:
            warnings.warn(self._engine.judge()[0].text, NotConverged, stacklevel=2)
        if not self.is_identified_:
            warnings.warn(self._engine.judge()[1].text, NotIdentified, stacklevel=2)
        return self

    def _engine_place(self) -> str:
        place = _ENGINES.get(self.by_customer) if isinstance(self.by_customer, bool) else None
        if place is None:
            raise InvalidArgument(
                "by_customer must be False, a taste for every purchase, for now; "
                f"received {self.by_customer!r}; leave it out"
            )
        return place

    def _conclude(self, engine: Engine) -> None:
        self._engine = engine
        self.posterior_, self.n_dropped_, self.diagnostics_ = engine.tree, engine.n_dropped, engine.diagnostics
        self.sampler_, self.reason_, self.status_ = engine.sampler, engine.reason, engine.status
        self.seconds_ = engine.seconds
        self.mean_, self.covariance_, self.coefficients_ = engine.mean, engine.covariance, engine.coefficients
        converged, identified = engine.judge()
        self.is_converged_, self.is_identified_ = converged.status == "good", identified.status == "good"
        self.check_ = None

    @property
    def best_utility(self) -> Array:
        """The posterior mean of the mean's direction, normalised."""
        centre = self._engine.directions.mean(axis=0)
        return np.asarray(centre / np.linalg.norm(centre))

    @property
    def directions(self) -> Array:
        """The direction of the mean of each posterior draw."""
        return self._engine.directions

    @property
    def wanted(self) -> Wanted:
        """The posterior of that direction, with 90 % intervals."""
        return self._engine.wanted

    @property
    def is_settled(self) -> bool:
        """Whether the draws have converged."""
        return self.is_converged_

    @property
    def figures(self) -> dict[str, float]:
        """How far customers differ, and how far to trust the draws."""
        return self._engine.figures

    def market(self, n_customers: int | None = None, n_draws: int = MAX_LIKELIHOOD_DRAWS, n_menus: int = 1) -> Market:
        """Return the laws and customers that `demand` asks; customers depend on the fit's seed only."""
        check_is_fitted(self)
        return self._engine.market(n_customers, n_draws, n_menus)

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive probability of each observation; -inf for degenerate ones."""
        own = self._own(observations)
        return self._engine.log_likelihood(own)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None where that is not known."""
        check_is_fitted(self)
        return self._engine.leave_one_out()

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._engine.judge()

    def account(self) -> Account:
        """Return what the fit says of itself, for people."""
        return self._engine.account(self, self.verdicts())

    def summary(self) -> Any:
        """Return what was learned and how far to trust it, printable."""
        check_is_fitted(self)
        return self._engine.summary(self, self.verdicts())

    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        learned = {
            "sampler": self.sampler_, "reason": self.reason_, "status": self.status_, "seconds": self.seconds_,
            "n_dropped": self.n_dropped_, "diagnostics": self.diagnostics_.as_dict(), **self._engine.as_record(),
        }  # fmt: skip
        return learned, self.posterior_

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {}), saved.learned
        check_choice(model.covariance, "covariance", COVARIANCES)
        kept = model.observations_ = observations_of(saved.tree)
        model.goods_, model.problem_ = kept.goods, kept.problem
        named = tuple(str(name) for name in group(saved.tree, "posterior")["good"].values)
        if not (model.coordinates_ == named and kept.n_goods == model.n_features_in_):
            raise UnreadableData(
                f"{learned.where}: goods of draws, data and header must be the same; save the fit again"
            )
        model.n_observations_ = saved.header.part("data").whole("n_observations", len(kept))
        model._conclude(load(model._engine_place()).restore(model, saved.tree, learned))
        return model


def _settled(observations: Observations) -> Problem:
    """Return the problem with a setting that is left open at its usual value: scales of the law take its place."""
    problem = observations.problem
    unknown = problem.unknown(observations)
    return problem if unknown is None else problem.with_setting(*unknown)
