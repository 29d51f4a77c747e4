# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers whose utilities follow a normal law: goods liked together, goods worth much to few."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref.audit import CLUSTERED, refuse_baskets
from stochpref.checks import check_choice, check_count
from stochpref.demand import Demand, expected_demand, joined_demand
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.features import PRICE
from stochpref.loading import load
from stochpref.market import Market
from stochpref.models.account import Account
from stochpref.models.deciding import Decider, FitOfDecisions
from stochpref.models.fit import Wanted
from stochpref.models.normal_engine import Engine, Task
from stochpref.models.shared import check_observations, generator
from stochpref.models.storage import SavedFit, restore_model
from stochpref.names import COVARIANCES
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS, group, observations_of
from stochpref.predictive_check import PredictiveCheck, check_bundles
from stochpref.problems import Problem, check_handled
from stochpref.programmes.decisions import Decisions, are_decisions
from stochpref.programmes.storing import decisions_of, holds_decisions
from stochpref.stores.packing import data_hash
from stochpref.tastes.results import CustomerCoefficients
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_OF_DECISIONS: Final = "models.normal_decisions:OfDecisions"
_HANDLED: Final = ("divisible", "one", "open", "whole")  # problems whose utilities it draws
# What learns the law, by whether every customer, and not every purchase, has a taste of its own.
_ENGINES: Final[dict[bool, str]] = {
    False: "models.normal_purchases:Purchases",
    True: "models.normal_customers:Customers",
}
_REPLICATES: Final = 200  # of the predictive check


class NormalUtility(FitOfDecisions):
    """The posterior of a normal law of utilities, of which only directions matter.

    Parameters
    ----------
    covariance : "factor", goods liked together through a few common factors; "diagonal", independent goods with scales
        of their own, on the exact likelihood; "full", all covariances free.
    n_factors : of "factor".
    features : what moves tastes, by the names that the observations give.
        With `by_customer` they have a coefficient for every customer.
    by_customer : a taste for every label in `observations.customers`, instead of one for every purchase: of choices of
        one good, problem "one". Purchases of one customer then say what this one buys next.
    sampler : "auto"; or "mode", with `by_customer`, the penalised mode, at once, with approximate intervals.
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
    coefficients_ : posterior mean of the coefficient of each feature, by name; of an average customer.
    customer_coefficients_ : with `by_customer`, the taste of every customer: mean, spread and draws.
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
        sampler: str = "auto",
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
        self.sampler = sampler
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

    def fit(self, observations: Observations | Decisions, y: None = None) -> Self:  # noqa: ARG002
        """Draw from the posterior of the law given observations, or `Decisions`, which covariance="diagonal" takes.

        Warns
        -----
        NotConverged : the draws are too few or disagree.
        NotIdentified : the data leave the mean or spreads open.
        """
        check_choice(self.covariance, "covariance", COVARIANCES)
        check_count(self.n_factors, "n_factors", 1)
        check_choice(self.engine, "engine", ("cpu",))
        check_choice(self.sampler, "sampler", ("auto", "mode") if self.by_customer else ("auto",))
        plan = Plan.checked(
            self.n_chains, self.n_draws, self.n_effective, self.max_draws, self.max_seconds, self.checkpoint
        )
        self._take(observations)
        rng, self.seed_ = generator(self.random_state)
        engine = cast(type[Engine], load(self._engine_place()))
        self._conclude(engine.learn(self, Task(self.observations_, plan, int(rng.integers(2**63)))))
        self.command_: list[str] | None = None
        if not self.is_converged_:
            warnings.warn(self._engine.judge()[0].text, NotConverged, stacklevel=2)
        if not self.is_identified_:
            warnings.warn(self._engine.judge()[1].text, NotIdentified, stacklevel=2)
        return self

    def _take(self, observations: Observations | Decisions) -> None:
        """Keep what is known of the data before anything is learned."""
        if are_decisions(observations):
            self._take_decisions(observations)
            return
        check_observations(observations)
        purchases = cast(Observations, observations)
        check_handled(purchases, "NormalUtility", problems=_HANDLED, nonempty=True)
        if len(purchases.problem.coordinates(purchases.goods)) < 2:
            raise InvalidArgument(
                f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
                f"{purchases.goods[0]!r}; add what else was on offer, with its price, bought or not"
            )
        refuse_baskets(purchases)
        source = purchases.under(_settled(purchases))
        self.problem_, self.goods_, self.n_features_in_ = source.problem, source.goods, source.n_goods
        self.data_hash_, self.n_observations_ = data_hash(source), len(source)
        self.observations_ = source

    @property
    def _decider(self) -> Decider | None:
        return cast(Decider, self._engine) if are_decisions(self.observations_) else None

    def _engine_place(self) -> str:
        if are_decisions(self.observations_):
            return _OF_DECISIONS
        if not isinstance(self.by_customer, bool):
            raise InvalidArgument(f"by_customer must be True or False; received {self.by_customer!r}")
        return _ENGINES[self.by_customer]

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
    def customer_coefficients_(self) -> CustomerCoefficients:
        """The taste of every customer who is known."""
        check_is_fitted(self)
        return self._engine.customer_coefficients()

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

    def predict(self, menus: Any, budgets: ArrayLike | None = None, customers: Any = None) -> Array:
        """Return the bundles (T, n) that the best utility buys, or the best ones of customers by label.

        Parameters
        ----------
        menus, budgets : as in `demand`.
        customers : one label, or one for each menu, of customers who are known; None for the average one.
        """
        if customers is None:
            return super().predict(menus, budgets)
        faced = self._faced(menus, budgets)
        return self._bought(self._engine.best_at(faced, customers), menus, budgets)

    def demand(
        self,
        menus: Any,
        budgets: ArrayLike | None = None,
        *,
        customers: Any = None,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Demand:
        """Return expected purchases, over customers and over the posterior, with intervals.

        Parameters
        ----------
        customers : one label, or one for each menu, of customers who are known; None for the average of all.
        menus, budgets, level, n_customers, n_draws : as in `Fit.demand`.
        """
        if customers is None:
            return super().demand(menus, budgets, level=level, n_customers=n_customers, n_draws=n_draws)
        faced = self._faced(menus, budgets)
        many = [customers] * len(faced) if isinstance(customers, str | int | np.integer) else list(customers)
        if len(many) != len(faced):
            raise InvalidArgument(
                f"customers must be one label, or one for each of {len(faced)} menus; received {len(many)}"
            )
        parts: dict[str, list[int]] = {}
        for t, label in enumerate(many):
            parts.setdefault(str(label), []).append(t)
        found = {
            label: expected_demand(self._engine.market_of(label, n_customers, n_draws, len(rows)), faced[rows], level)
            for label, rows in parts.items()
        }
        whole = joined_demand(found, parts, faced)
        return replace(whole, cautions=self.cautions(faced), titles=self.titles)

    def best_at(self, menus: Menus | Observations) -> Array:
        """Return the unit vector that predicts best at menus: one for all (N,), or (T, N) where features move it."""
        found = self._engine.best_at(menus)
        return self.best_utility if found is None else found

    @property
    def needed_features(self) -> tuple[str, ...]:
        """The features that menus must have."""
        return self._engine.moves_with

    @property
    def prices_move_tastes(self) -> bool:
        """Whether prices of menus are among what tastes move with."""
        return PRICE in self.needed_features

    def update_customers(self, observations: Observations) -> Self:
        """Return the fit with what customers, new or known, bought since taken up: their tastes, the law as it was.

        Parameters
        ----------
        observations : with labels of customers; those of new customers make these known.

        Notes
        -----
        Nothing is fitted again, which takes a moment; fit anew now and then, for the law does not learn here.
        """
        engine = self._engine.updated(self._own(observations))
        model = copy.copy(self)
        model._engine = engine
        return model

    def leave_one_customer_out(self) -> Array:
        """Return (C,) the log-probability of all choices of each customer given those of the others alone."""
        check_is_fitted(self)
        return self._engine.leave_one_customer_out()

    def cautions(self, menus: Menus | None = None) -> tuple[str, ...]:
        """Return what to know before relying on the fit; that customers come again is known to one by customer."""
        found = super().cautions(menus)
        return tuple(one for one in found if CLUSTERED not in one) if self.by_customer else found

    def check(self) -> PredictiveCheck:
        """Return whether customers of the fit, facing what was faced, buy as was bought; known ones by their tastes."""
        check_is_fitted(self)
        if self.check_ is None:
            rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 2])
            bought = self._engine.replicates(_REPLICATES, rng)
            if bought is not None:
                self.check_ = check_bundles(self.observations_.under(self.problem_), bought)
        return super().check()

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive probability of each observation; -inf for degenerate ones.

        With `by_customer`, of customers who are known given what they bought, of others each purchase alone.
        """
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
        return learned, self._engine.as_tree()

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {}), saved.learned
        check_choice(model.covariance, "covariance", COVARIANCES)
        width = model.n_features_in_
        if holds_decisions(saved.tree):
            model._take_decisions(decisions_of(saved.tree))
        else:
            kept = model.observations_ = observations_of(saved.tree)
            model.goods_, model.problem_ = kept.goods, kept.problem
        named = tuple(str(name) for name in group(saved.tree, "posterior")["good"].values)
        if not (model.coordinates_ == named and len(model.goods_) == width):
            raise UnreadableData(
                f"{learned.where}: goods of draws, data and header must be the same; save the fit again"
            )
        model.n_observations_ = saved.header.part("data").whole("n_observations", len(model.observations_))
        model._conclude(load(model._engine_place()).restore(model, saved.tree, learned))
        return model


def _settled(observations: Observations) -> Problem:
    """Return the problem with a setting that is left open at its usual value: scales of the law take its place."""
    problem = observations.problem
    unknown = problem.unknown(observations)
    return problem if unknown is None else problem.with_setting(*unknown)
