# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers who differ: the posterior of the law of their utilities, and what follows from it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref import __version__
from stochpref.audit import refuse_baskets
from stochpref.checks import check_choice, check_rng
from stochpref.demand import typical_menu
from stochpref.effects import Change, Effects, feature_effects, planned_changes
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.laws import VonMisesFisher
from stochpref.loading import load
from stochpref.market import N_CROWDS, LawMarket, MovingMarket, customers_for, make_crowds
from stochpref.maximising import learn_setting
from stochpref.models import moving
from stochpref.models.account import Account
from stochpref.models.candidate import Candidate
from stochpref.models.drawn import check_draws, draw_posterior, fingerprint_of, lifted
from stochpref.models.fit import Fit, Wanted
from stochpref.models.posterior_account import account_of
from stochpref.models.shared import generator, progress
from stochpref.models.storage import SavedFit, restore_model
from stochpref.names import SAMPLERS
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import choose_sampler
from stochpref.posterior.counting import NO_LOO, Estimate, Posterior
from stochpref.posterior.customers import CustomerUtilities, customer_utilities, utilities_inside
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.predictive import add_log_likelihood, log_of_law, log_predictive, log_simulated
from stochpref.posterior.prior import Prior, PriorFn
from stochpref.posterior.results import (
    MAX_LIKELIHOOD_DRAWS,
    as_tree,
    group,
    observations_of,
    parameters_of,
    thinned,
)
from stochpref.posterior.summary import (
    HeterogeneousSummary,
    Row,
    average_alikeness,
    judge_convergence,
    judge_draws,
    judge_identification,
    make_rows,
)
from stochpref.posterior.target import Target
from stochpref.readers.folders import StoredObservations, as_observations
from stochpref.regions import Regions
from stochpref.rows import checked_goods
from stochpref.stores.opening import open_store
from stochpref.stores.packing import Origin
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_CUSTOMER_DRAWS: Final = 100
_DRAFT: Final = {"n_draws": 250, "n_effective": 100}  # draws that a score takes
_MOVED_DRAFT: Final = {"n_draws": 100, "n_effective": 100}
_FEWEST_A_NUMBER: Final = 5  # observations for each number that a law with features has
_SHOWN: Final = (512, 100, 10)  # customers, draws and goods of the effects in a report
_METROPOLIS: Final = "paper.metropolis:MetropolisOptions"


class HeterogeneousUtility(Fit):
    """The posterior of the von Mises–Fisher law of customers' utilities, exact likelihood, uniform prior.

    Parameters
    ----------
    concentration_bounds : the prior's interval of κ; None for (0, 20 n). The paper's experiments use (1, 10).
    sampler : "auto", "gibbs", "importance", "layered", "hamiltonian", or "metropolis", the paper's Algorithm 1.
    n_chains, n_draws : chains, and draws of each before the first look.
    random_state : None, an integer or a numpy Generator.
    n_effective : draw on until every component has this many effective draws; 0 to stop at n_draws.
    max_draws : of each chain, at most.
    max_seconds : stop drawing after this time and return what is there; None for no limit.
    prior : None for the uniform prior, or a function of μ (n,) and κ that returns a log-density with respect to dμ dκ,
        up to a constant, within the bounds.
    checkpoint : a file to keep the run in until it is done; a fit that finds one made with the same data, settings and
        seed resumes from it and gives the same draws as if it had not stopped. A prior counts as the same if it has the
        same values at 1,000 points.
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    metropolis : a `MetropolisOptions` for the paper's algorithm, None for the default.
    engine : "cpu"; "jax" to sum the likelihood on a GPU for "importance", "layered" and "hamiltonian" ("auto" picks);
        "dask", or a `distributed.Client`, to do so on a cluster, for "gibbs" too.
    verbose : show progress on a terminal's stderr.
    features : what the law moves with, h = B + X β: names of features of the observations, "price" (the menus', unless
        there is a feature of that name), with one coefficient for all goods or, as "price:good", one for each.
        Coefficients have a normal prior in place of that of (μ, κ); draws are made around the mode.

    Attributes
    ----------
    posterior_ : xarray DataTree, as in the notes.
    mean_direction_ : normalised posterior mean, which predicts best on average, over `coordinates_`.
    concentration_ : posterior mean of κ. With features both are of the law where every feature is average.
    coefficients_ : with features: posterior means, by name, in the units given; one for each good as an array.
    goods_, coordinates_ : names; the latter are the goods, and money, the last, where budgets are open.
    problem_ : what customers solve; with the scale of money that was learned (`scale_`) where budgets are open.
    observations_ : those fitted; of many stored ones, 10,000 picked at random.
    sampler_, reason_ : the sampler used, and why.
    status_ : "enough" draws, or why it stopped before: "max_draws", "max_seconds", "interrupted".
    is_converged_, is_identified_ : whether draws can be trusted, whether data narrow the prior.
    diagnostics_ : R-hat, effective draws and Monte Carlo errors, by the names of what they are of.
    n_dropped_ : degenerate observations left out.
    likelihood_error_ : standard error of the log-likelihood at posterior draws; 0 unless many stored observations made
        a sample of them stand for what is beyond exact sums at the maximum.
    seconds_ : spent on drawing.
    new_goods_ : those added by `with_goods`.
    seed_ : what the random numbers came from, None for a Generator.
    command_ : the words of the command that made a fit that was loaded; None for a fit from Python.

    Notes
    -----
    The tree has groups ``posterior``, with ``mean_direction`` (chain, draw, good) and ``concentration`` (chain, draw),
    ``sample_stats``, ``observed_data`` and ``constant_data``; `loo` adds ``log_likelihood``.

    Ctrl-C ends the current step and returns what has been drawn; a second one breaks off. SIGTERM does as the first.
    """

    name: ClassVar[str] = "heterogeneous"
    new_goods_: tuple[str, ...] = ()

    def __init__(
        self,
        concentration_bounds: tuple[float, float] | None = None,
        sampler: str = "auto",
        n_chains: int = 4,
        n_draws: int = 1000,
        random_state: int | np.random.Generator | None = None,
        n_effective: int = 400,
        max_draws: int = 50_000,
        max_seconds: float | None = None,
        prior: PriorFn | None = None,
        checkpoint: str | Path | None = None,
        degenerate: str = "refuse",
        metropolis: Any = None,
        engine: str = "cpu",
        verbose: bool = False,
        features: Sequence[str] = (),
    ) -> None:
        self.concentration_bounds = concentration_bounds
        self.sampler = sampler
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.random_state = random_state
        self.n_effective = n_effective
        self.max_draws = max_draws
        self.max_seconds = max_seconds
        self.prior = prior
        self.checkpoint = checkpoint
        self.degenerate = degenerate
        self.metropolis = metropolis
        self.engine = engine
        self.verbose = verbose
        self.features = features

    @classmethod
    def candidates(cls, observations: Observations) -> tuple[Candidate, ...]:
        """Return the one law, which suits whatever was observed, and one that moves with features if there are any."""
        n = len(observations.problem.coordinates(observations.goods))
        found = [Candidate({}, n, 0.3, _DRAFT)]
        if observations.features and observations.problem.has_masses:
            each = (1 if values.ndim == 2 else len(observations.goods) for values in observations.features.values())
            n_free, few = n + sum(each), ""
            if len(observations) < _FEWEST_A_NUMBER * n_free:
                few = f"features make {n_free} numbers, which {len(observations):,} observations are too few for"
            settings = {"features": tuple(observations.features)}
            found.append(Candidate(settings, n_free, 0.6, _MOVED_DRAFT, about="features", unsuited=few))
        return tuple(found)

    def fit(self, observations: Observations | StoredObservations | str | Path, y: None = None) -> Self:  # noqa: ARG002
        """Draw from the posterior of (μ, κ) given observations, or a folder of Parquet files that hold them.

        Warns
        -----
        NotConverged : the draws are too few or disagree.
        NotIdentified : the data leave the direction, some goods or the concentration open.

        Raises
        ------
        InvalidObservations : some are degenerate and were not to be dropped, or all are; or everything was bought.
        """
        source = as_observations(observations)
        plan, features = self._plan(), moving.asked_features(self)
        n_coordinates = len(source.problem.coordinates(source.goods))
        if n_coordinates < 2:
            raise InvalidArgument(
                f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
                f"{source.goods[0]!r}; add what else was on offer, with its price, bought or not"
            )
        if features and not source.problem.has_masses:
            raise InvalidArgument(
                f"features need probabilities of bundles, which problem {source.problem.name!r} has no formula for; "
                "leave them out"
            )
        prior = Prior.within(self.concentration_bounds, n_coordinates, self.prior)
        rng, self.seed_ = generator(self.random_state)
        key = int(rng.integers(2**63))
        if isinstance(source, Observations):
            source = source.under(learn_setting(source, degenerate=self.degenerate))
        self.problem_ = source.problem
        with ExitStack() as stack:
            report = stack.enter_context(progress(self.verbose and isinstance(source, StoredObservations), "data"))
            store, origin = stack.enter_context(
                open_store(source, engine=self.engine, degenerate=self.degenerate, seed=key, report=report)
            )
            refuse_baskets(origin.kept)
            self.goods_, self.n_features_in_ = source.goods, source.n_goods
            self.n_observations_, self.n_dropped_ = origin.n_observations, origin.n_dropped
            design, axes = None, VonMisesFisher.axes
            if features:
                design, choice = moving.learn(_all_of(origin), features, key, plan)
                prior, axes = moving.PRIOR, axes | moving.AXES
            else:
                target = Target(store, prior.across(store.span))
                choice = choose_sampler(self.sampler, target, key, plan, self.metropolis)
            self.data_hash_, self.likelihood_error_ = origin.data_hash, choice.likelihood_error
            fingerprint = {} if plan.checkpoint is None else fingerprint_of(self, key, prior)
            fingerprint |= {"features": list(features)} if features else {}
            drawn = draw_posterior(choice, plan, fingerprint, verbose=self.verbose)
            drawn = lifted(drawn, store) if design is None else drawn
        self.sampler_, self.reason_, self.status_, self.seconds_ = drawn.how
        seed = -1 if self.seed_ is None else self.seed_
        attributes = {"version": __version__, "sampler": self.sampler_, "seed": seed}
        self.observations_ = origin.kept
        self.posterior_ = as_tree(drawn.draws, axes, origin.kept, attributes)
        self._moving = None if design is None else moving.Moving(design, self.posterior_)
        self.command_: list[str] | None = None
        self._conclude(drawn.diagnostics, prior)
        self._warn()
        return self

    def _plan(self) -> Plan:
        """Return how long to draw, checked, as all that draws need is."""
        check_choice(self.sampler, "sampler", ("auto", *SAMPLERS))
        if self.metropolis is not None and not isinstance(self.metropolis, load(_METROPOLIS)):
            raise InvalidArgument(f"metropolis must be a MetropolisOptions or None; received {self.metropolis!r}")
        return Plan.checked(
            self.n_chains, self.n_draws, self.n_effective, self.max_draws, self.max_seconds, self.checkpoint
        )

    def _conclude(self, found: Diagnostics, prior: Prior) -> None:
        drawn, labels = parameters_of(self.posterior_), {"mean_direction": self.coordinates_}
        if self._moving is not None:
            labels[moving.COEFFICIENT] = self._moving.design.names
        parameters = {name: drawn[name] for name in found.parameters}  # and none that a user may have added
        centre = parameters["mean_direction"].mean(axis=(0, 1))
        length = float(np.linalg.norm(centre))
        self.mean_direction_: Array = centre / length if length > 0 else centre
        self.concentration_ = float(parameters["concentration"].mean())
        self.diagnostics_, self._prior = found.labelled(labels), prior
        self._rows = make_rows(parameters, found, labels)
        if self._moving is None:
            self._convergence = judge_convergence(found, self.n_effective, self.status_, self.likelihood_error_)
            self._identification = judge_identification(self._rows, parameters, prior)
        else:
            self._convergence = judge_draws(found, self.n_effective, self.status_, self.sampler_, self.reason_)
            self._identification = self._moving.judge(self._rows["mean_direction"], self._rows[moving.COEFFICIENT])
        self.is_converged_ = self._convergence.status == "good"
        self.is_identified_ = self._identification.status == "good"
        self.check_ = self.ranking_ = None

    def _warn(self) -> None:
        if not self.is_converged_:
            warnings.warn(self._convergence.text, NotConverged, stacklevel=3)
        if not self.is_identified_:
            warnings.warn(self._identification.verdict.text, NotIdentified, stacklevel=3)

    @property
    def best_utility(self) -> Array:
        """The posterior mean of the direction, normalised."""
        return self.mean_direction_

    @property
    def directions(self) -> Array:
        """All posterior draws of the mean direction."""
        draws = group(self.posterior_, "posterior")["mean_direction"].values
        flat: Array = draws.reshape(-1, draws.shape[2])
        return flat

    @property
    def wanted(self) -> Wanted:
        """The posterior of the mean direction, with 90 % intervals."""
        rows = [self._rows["mean_direction"][i] for i in self.problem_.leading(self.goods_)]
        return Wanted(np.array([row.mean for row in rows]), np.array([(row.lower, row.upper) for row in rows]))

    @property
    def is_settled(self) -> bool:
        """Whether the draws have converged."""
        return self.is_converged_

    @property
    def law(self) -> VonMisesFisher | None:
        """The law at the posterior means; None where it moves with features."""
        return VonMisesFisher(self.mean_direction_, self.concentration_) if self._moving is None else None

    @property
    def coefficients_(self) -> dict[str, Array]:
        """Posterior mean of the coefficients of each feature, by name, in the units given; {} without features."""
        check_is_fitted(self)
        return {} if self._moving is None else self._moving.coefficients

    @property
    def needed_features(self) -> tuple[str, ...]:
        """The features that the law moves with."""
        return () if self._moving is None else self._moving.design.needed()

    @property
    def prices_move_tastes(self) -> bool:
        """Whether prices of menus are among what the law moves with."""
        return "price" in self.needed_features and "price" not in self.observations_.features

    def best_at(self, menus: Menus | Observations) -> Array:
        """Return the utility that predicts best, (T, N) at menus where the law moves with features."""
        if self._moving is None:
            return self.best_utility
        return self._moving.directions_at(menus, MAX_LIKELIHOOD_DRAWS)

    def with_goods(self, goods: Sequence[str]) -> Self:
        """Return the fit over goods more, each described by its features alone, to be asked as any other.

        What nobody has seen of a new good, its intercept and coefficients of its own, is taken to be spread as over the
        goods that were seen: intervals are wide, and the narrower the more alike those are once features are told. The
        fit is not one to be saved, or to score purchases by.
        """
        check_is_fitted(self)
        if self._moving is None:
            raise InvalidArgument("new goods are described by features; this fit has none: fit with features=(...)")
        if len(self.goods_) < 2 or self.new_goods_:
            raise InvalidArgument("goods must be added at once, to a fit of two goods or more")
        whole = checked_goods((*self.goods_, *goods), len(self.goods_) + len(goods))
        found = copy.copy(self)
        found.new_goods_, found.goods_ = whole[len(self.goods_) :], whole
        found._moving = self._moving.over(whole, 0 if self.seed_ is None else self.seed_)
        found.problem_, found.observations_ = found._moving.design.problem, self.observations_.over(whole)
        return found

    def effects(
        self,
        menus: Any = None,
        budgets: ArrayLike | None = None,
        *,
        changes: Mapping[str, Change] | None = None,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Effects:
        """Return what changes of features, each for one good at a time, do to what customers buy, with intervals.

        Parameters
        ----------
        menus, budgets : at which, as in `demand`; the typical menu if None.
        changes : by feature: a text such as "-10 %" for so much of it, or a number that is added; None for a price
            10 % off, one more of what is 0 or 1, and a standard deviation of others.
        level, n_customers, n_draws : as in `demand`.
        """
        check_is_fitted(self)
        if self._moving is None:
            raise InvalidArgument(
                "effects are of features; this fit has none: fit with features=('price', ...), or ask elasticities"
            )
        faced = self._faced(typical_menu(self.observations_) if menus is None else menus, budgets)
        planned = planned_changes(self._moving.design, self.observations_, changes)
        market = self._asked(n_customers, n_draws, 2 * len(faced) * len(self.goods_))
        return feature_effects(market, faced, planned, level)

    @property
    def natural_draws(self) -> Array:
        """Posterior draws (S, N) of h = κμ."""
        directions, concentrations = self._flat_draws(MAX_LIKELIHOOD_DRAWS)
        return np.asarray(directions * concentrations[:, None])

    @property
    def figures(self) -> dict[str, float]:
        """The concentration and its interval, and how far to trust the draws."""
        (kappa,) = self._rows["concentration"]
        return {
            "concentration": kappa.mean, "concentration_lower": kappa.lower, "concentration_upper": kappa.upper,
            "r_hat": self.diagnostics_.worst_r_hat, "n_effective": self.diagnostics_.fewest_effective,
            "is_converged": float(self.is_converged_), "is_identified": float(self.is_identified_),
        }  # fmt: skip

    def predict(
        self,
        menus: Any,
        budgets: ArrayLike | None = None,
        *,
        draw: bool = False,
        rng: np.random.Generator | None = None,
    ) -> Array:
        """Return the bundles (T, n) that the mean direction buys, from menus or from prices and budgets.

        Parameters
        ----------
        menus, budgets : as in `demand`.
        draw : predict from one posterior draw instead, as the paper does; `rng` picks it.
        """
        if not draw:
            return super().predict(menus, budgets)
        check_is_fitted(self)
        if rng is None:
            raise InvalidArgument("a draw is picked at random; pass rng=numpy.random.default_rng(seed)")
        if self._moving is not None:
            raise InvalidArgument("draw=True is of one law; this one moves with features: leave draw out")
        draws = self.directions
        return self._bought(draws[check_rng(rng).integers(len(draws))], menus, budgets)

    def market(
        self, n_customers: int | None = None, n_draws: int = MAX_LIKELIHOOD_DRAWS, n_menus: int = 1
    ) -> LawMarket | MovingMarket:
        """Return the laws and customers that `demand` asks; customers depend on the fit's seed only."""
        check_is_fitted(self)
        if self._moving is not None:
            seed = 0 if self.seed_ is None else self.seed_
            return self._moving.market(self.mean_direction_, n_customers, n_draws, n_menus, seed)
        directions, concentrations = self._flat_draws(n_draws)
        if n_customers is None:
            n_customers = customers_for(len(concentrations), n_menus)
        rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 1])
        crowd = make_crowds(self.mean_direction_, n_customers, N_CROWDS, rng=rng)
        return LawMarket(self.coordinates_, directions, concentrations, crowd, N_CROWDS)

    def _flat_draws(self, most: int) -> tuple[Array, Array]:
        draws, _ = thinned(self.posterior_, most)
        return draws["mean_direction"].reshape(-1, len(self.coordinates_)), draws["concentration"].ravel()

    def utilities(self, observations: Observations | None = None) -> CustomerUtilities:
        """Return the posterior of each customer's own utility given what they bought; NaN where degenerate.

        The fitted observations are taken if none are given.
        """
        check_is_fitted(self)
        if self._moving is not None:
            raise InvalidArgument(
                "utilities of single customers are told under one law; this one moves with features: fit without them"
            )
        data = self.observations_ if observations is None else self._own(observations)
        seed = 0 if self.seed_ is None else self.seed_
        if not data.problem.has_masses:
            inside = data.problem.intervals(data)
            return utilities_inside(inside, *self._flat_draws(_CUSTOMER_DRAWS), self._prior, seed)
        if not data.problem.chance(data).is_single:
            raise InvalidArgument(
                f"utilities of single customers cannot be told of {data.problem!r}, where their level means nothing; "
                "the law's mean_direction_ says what is wanted on average"
            )
        return customer_utilities(Regions.of(data), *self._flat_draws(_CUSTOMER_DRAWS), self._prior, seed)

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive probability of each observation; -inf for degenerate ones."""
        self._refuse_new("score purchases")
        own = self._own(observations)
        if not own.problem.has_masses:
            return self.log_likelihood_estimate(own).log_probability
        if self._moving is not None:
            return self._moving.log_predictive(own, MAX_LIKELIHOOD_DRAWS)
        return log_predictive(own.problem.recorded(own), *self._flat_draws(MAX_LIKELIHOOD_DRAWS))

    def log_likelihood_estimate(self, observations: Observations) -> Estimate:
        """Return the same with its Monte Carlo standard error, 0 where it is exact; whole goods are simulated.

        What is simulated depends on the fit's seed only.
        """
        own = self._own(observations)
        if own.problem.has_masses:
            exact = self.log_likelihood(own)
            return Estimate(exact, np.zeros_like(exact))
        rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 5])
        return log_simulated(own, Posterior(*self._flat_draws(MAX_LIKELIHOOD_DRAWS)), rng=rng)

    def loo(self) -> Any:
        """Return arviz's leave-one-out estimate of the log predictive score, pointwise, with Pareto k of each.

        Adds the group log_likelihood to `posterior_`: exact, of at most 400 thinned draws.
        """
        check_is_fitted(self)
        if not self.problem_.has_masses:
            raise InvalidArgument(NO_LOO.format(self.problem_))
        from arviz_stats import loo  # noqa: PLC0415

        if "log_likelihood" not in self.posterior_.children:
            log_fn = log_of_law if self._moving is None else self._moving.log_fn(self.observations_)
            add_log_likelihood(self.posterior_, self.problem_.recorded(self.observations_), log_fn)
        return loo(self.posterior_, var_name="bundles", pointwise=True)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None for whole goods."""
        if not self.problem_.has_masses:
            return None
        return np.asarray(self.loo().elpd_i.values, np.float64).ravel()

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification.verdict

    def account(self) -> Account:
        """Return what the posterior says of itself, for people."""
        posterior = group(self.posterior_, "posterior")
        draws = {name: posterior[name].values for name in ("mean_direction", "concentration")}
        found = None
        if self._moving is not None:
            market = self._moving.market(self.mean_direction_, _SHOWN[0], _SHOWN[1], 1, 0)
            found = self._moving.effects(market, self.observations_, np.argsort(-self.wanted.mean)[: _SHOWN[2]])
        return account_of(self.summary(), self.diagnostics_, self.coordinates_, self.seconds_, draws, found)

    def summary(self) -> HeterogeneousSummary:
        """Return what was learned and how far to trust it, printable."""
        check_is_fitted(self)
        concentrations = group(self.posterior_, "posterior")["concentration"].values
        alikeness = average_alikeness(len(self.coordinates_), concentrations)
        verdicts = self.verdicts()
        return HeterogeneousSummary(
            n_observations=self.n_observations_,
            n_goods=len(self.goods_),
            n_dropped=self.n_dropped_,
            sampler=self.sampler_,
            reason=self.reason_,
            n_chains=concentrations.shape[0],
            n_draws=concentrations.shape[1],
            is_converged=self.is_converged_,
            is_identified=self.is_identified_,
            verdict=(self._convergence.text, *self._identification.lines, verdicts.fits.text),
            verdicts=verdicts,
            concentration=self._rows["concentration"][0],
            goods=tuple(sorted(self._rows["mean_direction"], key=lambda row: -row.mean)),
            alikeness=alikeness if self._identification.is_spread_known else None,
            pareto_k=self.diagnostics_.pareto_k,
            cautions=self.cautions(),
            titles=self.titles,
            coefficients=self._coefficient_rows,
            notes=() if self._moving is None else self._moving.design.notes,
        )

    @property
    def _coefficient_rows(self) -> tuple[Row, ...]:
        """Rows of the coefficients of features, without the intercepts, which are goods where all features are 0."""
        rows = self._rows.get(moving.COEFFICIENT, ())[len(self.coordinates_) :]
        return tuple(row for row in rows if row.sd > 0)

    def _refuse_new(self, what: str) -> None:
        if self.new_goods_:
            raise InvalidArgument(f"a fit with goods that nobody has seen cannot {what}; take the one it was made from")

    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        self._refuse_new("be saved")
        learned = {
            "sampler": self.sampler_,
            "reason": self.reason_,
            "status": self.status_,
            "seconds": self.seconds_,
            "n_dropped": self.n_dropped_,
            "bounds": [self._prior.lower, self._prior.upper],
            "diagnostics": self.diagnostics_.as_dict(),
            "likelihood_error": self.likelihood_error_,
        }
        learned |= {} if self._moving is None else {"moving": self._moving.as_record()}
        return learned, self.posterior_

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {"metropolis": _METROPOLIS}), saved.learned
        lower, upper = learned.numbers("bounds", 2)
        prior = Prior.within((lower, upper), max(model.n_features_in_, 2))
        model.posterior_ = saved.tree
        check_draws(saved.tree, prior, learned.where)
        shown = model.observations_ = observations_of(saved.tree)
        model.goods_, model.problem_ = shown.goods, shown.problem
        named = tuple(str(name) for name in group(saved.tree, "posterior")["good"].values)
        if not (model.coordinates_ == named and shown.n_goods == model.n_features_in_):
            raise UnreadableData(
                f"{learned.where}: goods of draws, data and header must be the same; save the fit again"
            )
        is_moving = "moving" in learned.found
        model._moving = moving.Moving.restore(learned.part("moving"), saved.tree, shown) if is_moving else None
        model.n_observations_ = saved.header.part("data").whole("n_observations", len(shown))
        model.n_dropped_ = learned.whole("n_dropped", 0, model.n_observations_ - 1)
        model.sampler_, model.reason_, model.status_ = (learned.text(name) for name in ("sampler", "reason", "status"))
        model.seconds_, model.likelihood_error_ = learned.number("seconds"), learned.number("likelihood_error")
        model._conclude(Diagnostics.restore(dict(learned.part("diagnostics").found)), prior)
        return model


def _all_of(origin: Origin) -> Observations:
    """Return the observations of a source, if all are in memory."""
    if len(origin.kept) < origin.n_observations:
        raise InvalidArgument(
            f"features take observations in memory; received {origin.n_observations:,} in a folder; join some of its "
            "files into one, or leave features out"
        )
    return origin.kept
