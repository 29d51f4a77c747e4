# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers of several segments: who they are, how many, what each wants, and how sure that is."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref import __version__
from stochpref.audit import refuse_baskets
from stochpref.bessel import mean_resultant_length
from stochpref.checks import is_count
from stochpref.errors import InvalidArgument, NotConverged, NotIdentified, UnreadableData
from stochpref.laws import MixtureLaw, VonMisesFisher
from stochpref.market import N_CROWDS, SegmentMarket, customers_for, make_crowds
from stochpref.maximising import learn_setting
from stochpref.models.account import Account
from stochpref.models.candidate import Candidate
from stochpref.models.drawn import Drawn, draw_posterior
from stochpref.models.fit import Fit, Wanted
from stochpref.models.heterogeneous import HeterogeneousUtility
from stochpref.models.segmented_account import account_of
from stochpref.models.segmented_saving import (
    add_averaged,
    as_record,
    check_draws,
    named_draws,
    predictive_draws,
    solution_of,
)
from stochpref.models.shared import generator, progress, reporting
from stochpref.models.storage import SavedFit, restore_model
from stochpref.observations import Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.counting import NO_LOO, Estimate
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.predictive import add_log_likelihood
from stochpref.posterior.results import (
    MAX_LIKELIHOOD_DRAWS,
    as_tree,
    group,
    observations_of,
    parameters_of,
    thinned,
)
from stochpref.posterior.summary import judge_draws, make_rows
from stochpref.readers.folders import StoredObservations, as_observations
from stochpref.segments.engines import Engine, Searched, engine_of
from stochpref.segments.objective import Mixture
from stochpref.segments.posterior import draws_around
from stochpref.segments.predictive import log_of_draw, units_of
from stochpref.segments.search import Solution
from stochpref.segments.summary import PathRow, SegmentedSummary, SegmentRow, judge_segments
from stochpref.stores.opening import open_store
from stochpref.stores.packing import Origin
from stochpref.stores.protocol import Store
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_DRAFT: Final = {"n_draws": 100, "n_effective": 100, "max_draws": 200}  # draws that a score takes
_FEWEST_A_NUMBER: Final = 5  # observations for each number that two segments have
_FEWEST_DRAWS: Final = 100  # of a leave-one-out score, however many segments


class SegmentedUtility(Fit):
    """Segments of customers: a mixture of von Mises–Fisher laws, by exact likelihood.

    Parameters
    ----------
    n_segments : how many, or "auto" for the number with the lowest BIC.
    max_segments : that "auto" tries, at most.
    random_state : None, an integer or a numpy Generator.
    by_customer : all purchases of one customer are of one segment, where customers are named and repeat; False to
        give each purchase a segment of its own.
    n_chains, n_draws : chains, and posterior draws kept of each.
    n_effective : draw on until every parameter has this many effective draws; 0 to stop at n_draws.
    max_draws : proposals of each chain, at most.
    max_seconds : stop drawing after this time; None for no limit.
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    engine : "cpu"; "jax" to compute masses on a GPU; "dask" or a `distributed.Client` to do so on a cluster.
    verbose : show progress on a terminal's stderr.

    Attributes
    ----------
    segments_ : list of `VonMisesFisher`, the largest segment first.
    weights_ : (K,) their shares of customers.
    n_segments_ : K; fewer than asked for where some came out empty or twice.
    membership_ : (T, K) the probability of each segment given what was bought (by the customer, where those repeat).
    path_ : for every number of segments tried what was found, with its BIC.
    posterior_ : xarray DataTree with draws of "weight", "mean_direction" and "concentration" of the segments.
    sampler_, reason_ : where the draws come from, "importance" or "curvature", and why.
    status_, is_converged_, is_identified_, diagnostics_ : as of `HeterogeneousUtility`.
    goods_, coordinates_, problem_, observations_, n_dropped_, seconds_, seed_, command_ : as of `HeterogeneousUtility`;
        the scale of money that an open budget leaves open is that of a single law.

    Notes
    -----
    Every coordinate of h = κμ of a segment has the prior N(0, (2n)²), weights are Dirichlet(2). `segments_`, `weights_`
    and `membership_` are those of the maximum; demand, intervals and scores are averages over posterior draws.

    Whole goods (`problem="whole"`) have likelihoods that are estimates, from points (`stochpref.segments.points`). The
    number of segments is that of the lowest BIC all the same, weights are shares of the customers recorded, and demand
    and probabilities are averages over two to four segments, whose maxima probabilities are of.
    """

    name: ClassVar[str] = "segmented"
    remedy = "customers may differ in what the model does not know: fit groups of them apart (fit_groups)"

    def __init__(
        self,
        n_segments: int | str = "auto",
        max_segments: int = 6,
        random_state: int | np.random.Generator | None = None,
        by_customer: bool = True,
        n_chains: int = 4,
        n_draws: int = 250,
        n_effective: int = 200,
        max_draws: int = 1000,
        max_seconds: float | None = None,
        degenerate: str = "refuse",
        engine: Any = "cpu",
        verbose: bool = False,
    ) -> None:
        self.n_segments = n_segments
        self.max_segments = max_segments
        self.random_state = random_state
        self.by_customer = by_customer
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_effective = n_effective
        self.max_draws = max_draws
        self.max_seconds = max_seconds
        self.degenerate = degenerate
        self.engine = engine
        self.verbose = verbose

    @classmethod
    def candidates(cls, observations: Observations) -> tuple[Candidate, ...]:
        """Return segments by BIC, where observations are enough to tell two laws apart."""
        count, problem = len(observations), observations.problem
        n_free = 2 * len(problem.coordinates(observations.goods)) + 1  # of two segments; more of more
        unsuited = ""
        if count < _FEWEST_A_NUMBER * n_free:
            unsuited = f"two laws have {n_free} numbers, which {count:,} observations are too few for"
        return (Candidate({}, n_free, 1.0, _DRAFT, unsuited=unsuited),)

    @property
    def same_as(self) -> str:
        """The model of one law, where there is one segment."""
        return HeterogeneousUtility.name if self.n_segments_ == 1 and not self._averaged else ""

    def fit(self, observations: Observations | StoredObservations | str | Path, y: None = None) -> Self:  # noqa: ARG002
        """Find the segments of observations, or of a folder of Parquet files that hold them.

        Warns
        -----
        NotConverged : too few effective draws for intervals.
        NotIdentified : several readings are as good, or a segment is open.
        """
        source = as_observations(observations)
        plan = Plan.checked(
            self.n_chains, self.n_draws, self.n_effective, self.max_draws, self.max_seconds, checkpoint=None
        )
        if len(source.problem.coordinates(source.goods)) < 2:
            raise InvalidArgument(
                f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
                f"{source.goods[0]!r}; add what else was on offer, with its price, bought or not"
            )
        rng, self.seed_ = generator(self.random_state)
        key, started = int(rng.integers(2**63)), time.monotonic()
        if isinstance(source, Observations):
            source = source.under(learn_setting(source, degenerate=self.degenerate))
        self.problem_ = source.problem
        with ExitStack() as stack:
            report = stack.enter_context(progress(self.verbose and isinstance(source, StoredObservations), "data"))
            store, origin = stack.enter_context(
                open_store(source, engine=self.engine, degenerate=self.degenerate, seed=key, report=report)
            )
            refuse_baskets(origin.kept)
            self._take(origin)
            unit, most = self._units(store), self._most(store)
            with reporting(self.verbose, "segments") as tell:
                searched = self._engine.search(store, self._used, unit, most, key, is_auto=self._is_auto, tell=tell)
            self._path, self._is_absolute = searched.path, searched.is_absolute
            drawn = self._draw(searched, self._chosen, key, plan)
            others = [drawn if one is self._chosen else self._draw(searched, one, key, plan) for one in self._averaged]
            drawn.draws.parameters["mean_direction"] = store.lifted(drawn.draws.parameters["mean_direction"])
            self._path = [
                one._replace(mixture=one.mixture._replace(h=store.lifted(one.mixture.h))) for one in self._path
            ]
            self.n_customers_ = None if unit is None else int(unit.max()) + 1
        self.sampler_, self.reason_, self.status_, _ = drawn.how
        self.seconds_ = time.monotonic() - started
        attributes = {
            "version": __version__,
            "sampler": self.sampler_,
            "seed": -1 if self.seed_ is None else self.seed_,
        }
        self.posterior_ = as_tree(drawn.draws, MixtureLaw.axes, self.observations_, attributes)
        add_averaged(self.posterior_, [one.draws for one in others])
        self.command_: list[str] | None = None
        self._conclude(drawn.diagnostics)
        self._warn()
        return self

    @property
    def _is_auto(self) -> bool:
        return self.n_segments == "auto"

    @property
    def _engine(self) -> Engine:
        return engine_of(self.problem_)

    @property
    def _used(self) -> Observations:
        """The observations that are no degenerate ones, where the search looks at them."""
        data = self.observations_
        if self.n_dropped_ == 0 or data.problem.has_masses:
            return data
        return data[~data.problem.explained(data).is_degenerate]

    @property
    def _averaged(self) -> list[Solution]:
        """The solutions that predictions are averages over; none where the chosen one predicts."""
        return [one for one in self._path if self._is_auto and one.n_asked in self._engine.averaged]

    def _draw(self, searched: Searched, solution: Solution, key: int, plan: Plan) -> Drawn:
        """Return draws of the posterior around a solution."""
        place = next(k for k, one in enumerate(self._path) if one is solution)
        choice = draws_around(searched.objectives[place], searched.modes[place], key, plan)
        return draw_posterior(choice, plan, {}, verbose=self.verbose)

    def _take(self, origin: Origin) -> None:
        self.goods_, self.n_features_in_ = origin.goods, len(origin.goods)
        self.n_observations_, self.n_dropped_ = origin.n_observations, origin.n_dropped
        self.data_hash_, self.observations_ = origin.data_hash, origin.kept

    def _most(self, store: Store) -> int:
        """Return how many segments to try, checked against what can be told apart."""
        if not is_count(self.max_segments, 1):
            raise InvalidArgument(f"max_segments must be a whole number, 1 or more; received {self.max_segments!r}")
        n_distinct, each = store.count_distinct(), self._engine.fewest_a_segment * len(self.goods_)
        if each:
            n_distinct = max(n_distinct // each, 1)
        if self._is_auto:
            return min(int(self.max_segments), n_distinct)
        if not is_count(self.n_segments, 1):
            raise InvalidArgument(
                f"n_segments must be 'auto' or a whole number, 1 or more; received {self.n_segments!r}"
            )
        if int(self.n_segments) > n_distinct:
            most = f"the different purchases, {n_distinct:,}"
            if each:
                most = f"{n_distinct:,}, a segment for as many different purchases as there are goods, {each}"
            raise InvalidArgument(
                f"n_segments must not exceed {most}; received {self.n_segments}; ask for fewer, or 'auto'"
            )
        return int(self.n_segments)

    def _units(self, store: Store) -> NDArray[np.intp] | None:
        """Return the number of the customer of each row of the store, None where each row has its own segment."""
        data = self.observations_
        unit = units_of(data.customers) if self.by_customer and not store.is_large else None
        if unit is None or self.n_dropped_ == 0:
            return unit
        used = unit[~data.problem.explained(data).is_degenerate]
        return np.unique(used, return_inverse=True)[1].astype(np.intp)

    @property
    def _chosen(self) -> Solution:
        return min(self._path, key=lambda one: one.bic) if self._is_auto else self._path[-1]

    def _conclude(self, found: Diagnostics) -> None:
        mixture = self._chosen.mixture
        kappa = np.linalg.norm(mixture.h, axis=1)
        self.segments_ = [
            VonMisesFisher(h / length, length) if length > 0 else VonMisesFisher(np.eye(len(h))[0], 0.0)
            for h, length in zip(mixture.h, kappa, strict=True)
        ]
        self.weights_: Array = np.exp(mixture.log_weights)
        self.n_segments_ = len(self.segments_)
        self.path_ = tuple(
            PathRow(one.n_asked, one.n_segments, one.log_likelihood, one.penalised, one.bic, one.n_rivals)
            for one in self._path
        )
        numbers = [str(k + 1) for k in range(self.n_segments_)]
        labels = {
            "weight": numbers, "concentration": numbers,
            "mean_direction": [f"{name} ({number})" for number in numbers for name in self.coordinates_],
        }  # fmt: skip
        drawn = parameters_of(self.posterior_)
        parameters = {name: drawn[name] for name in MixtureLaw.axes}  # and none that a user may have added
        self.diagnostics_ = found.labelled(labels)
        self._averages, self._membership = _average_directions(parameters), cast(Array | None, None)
        rows = make_rows(parameters, found, labels | {"concentration": ["concentration"] * self.n_segments_})
        n = len(self.coordinates_)
        self._rows = tuple(
            SegmentRow(rows["weight"][k], rows["concentration"][k], tuple(
                row._replace(name=name)
                for row, name in zip(rows["mean_direction"][k * n : (k + 1) * n], self.coordinates_, strict=True)
            ))
            for k in range(self.n_segments_)
        )  # fmt: skip
        self._convergence = judge_draws(found, self.n_effective, self.status_, self.sampler_, self.reason_)
        directions = parameters["mean_direction"].reshape(-1, self.n_segments_, n)
        self._identification = judge_segments(self._rows, directions, self._chosen.n_rivals)
        self.is_converged_ = self._convergence.status == "good"
        self.is_identified_ = self._identification.status == "good"
        self.check_ = self.ranking_ = None

    def _warn(self) -> None:
        if not self.is_converged_:
            warnings.warn(self._convergence.text, NotConverged, stacklevel=3)
        if not self.is_identified_:
            warnings.warn(self._identification.verdict.text, NotIdentified, stacklevel=3)

    @property
    def membership_(self) -> Array:
        """(T, K) the probability of each segment given what was bought, of the fitted observations."""
        check_is_fitted(self)
        if self._membership is None:
            self._membership = self.membership(self.observations_)
        return self._membership

    @property
    def best_utility(self) -> Array:
        """The direction of the average customer's utility, all segments together."""
        centre = self._averages.mean(axis=0)
        return np.asarray(centre / np.linalg.norm(centre))

    @property
    def directions(self) -> Array:
        """The same under each posterior draw."""
        return self._averages

    @property
    def wanted(self) -> Wanted:
        """The posterior of that direction, with 90 % intervals."""
        own = self._averages[:, self.problem_.leading(self.goods_)]
        return Wanted(own.mean(axis=0), np.quantile(own, (0.05, 0.95), axis=0).T)

    @property
    def is_settled(self) -> bool:
        """Whether there are enough draws."""
        return self.is_converged_

    @property
    def law(self) -> VonMisesFisher | None:
        """The law of the only segment; None where there are several."""
        return self.segments_[0] if self.n_segments_ == 1 else None

    @property
    def mixture(self) -> MixtureLaw:
        """The law of utilities at the maximum."""
        return MixtureLaw(self.segments_, self.weights_)

    @property
    def figures(self) -> dict[str, float]:
        """How many segments, the shares of the largest and the smallest, and how far to trust them."""
        return {
            "n_segments": float(self.n_segments_), "largest_weight": float(self.weights_[0]),
            "smallest_weight": float(self.weights_[-1]), "bic": self._chosen.bic,
            "is_converged": float(self.is_converged_), "is_identified": float(self.is_identified_),
        }  # fmt: skip

    def membership(self, observations: Observations) -> Array:
        """Return (T, K) the probability of each segment given what was bought; NaN where degenerate.

        All purchases of a customer count together if `by_customer` is True and customers repeat.
        """
        data = observations if observations is self.observations_ else self._own(observations)
        unit = units_of(data.customers) if self.by_customer else None
        return self._engine.membership(data, self._chosen.mixture, unit, self._own_seed)

    def market(
        self, n_customers: int | None = None, n_draws: int = MAX_LIKELIHOOD_DRAWS, n_menus: int = 1
    ) -> SegmentMarket:
        """Return the mixtures and customers that `demand` asks; customers depend on the fit's seed only."""
        check_is_fitted(self)
        return self._market(predictive_draws(self.posterior_, n_draws), n_customers, n_menus)

    def _market(self, draws: tuple[Array, Array, Array], n_customers: int | None, n_menus: int) -> SegmentMarket:
        weight, directions, kappa = draws
        weight = self._engine.shares_of_all(self.observations_, weight, kappa[..., None] * directions)
        if n_customers is None:
            n_customers = customers_for(len(weight), n_menus)
        rng = np.random.default_rng([self._own_seed, 1])
        crowd = make_crowds(self.best_utility, n_customers, N_CROWDS, rng=rng, has_segments=True)
        return SegmentMarket(self.coordinates_, weight, directions, kappa, crowd, N_CROWDS)

    @property
    def _own_seed(self) -> int:
        return 0 if self.seed_ is None else self.seed_

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log posterior predictive probability of each observation; -inf for degenerate ones.

        Each is that of a customer about whom nothing else is known.
        """
        return self.log_likelihood_estimate(observations).log_probability

    def log_likelihood_estimate(self, observations: Observations) -> Estimate:
        """Return the same with its Monte Carlo standard error, 0 where it is exact; whole goods have estimates."""
        own = self._own(observations)
        return Estimate(*self._engine.log_mean(own, self._predicting, self._own_seed))

    @property
    def _predicting(self) -> list[Mixture]:
        """The mixtures whose probabilities are averaged: those of posterior draws, or the maxima where these are."""
        if not self.problem_.has_masses:
            return [one.mixture for one in self._averaged or [self._chosen]]
        drawn, _ = thinned(self.posterior_, MAX_LIKELIHOOD_DRAWS)
        laws = drawn["concentration"][..., None] * drawn["mean_direction"]
        weights = np.log(drawn["weight"])
        return [Mixture(weights[at], laws[at]) for at in np.ndindex(*weights.shape[:2])]

    @property
    def _n_scored(self) -> int:
        """Draws that a leave-one-out score keeps of every observation: each costs an integral a segment."""
        return max(MAX_LIKELIHOOD_DRAWS // self.n_segments_, _FEWEST_DRAWS)

    def score_path(self, observations: Observations) -> dict[int, float]:
        """Return the mean log-probability of observations, held out say, at the maximum for each number of segments."""
        own = self._own(observations)
        log_fn, seed = self._engine.log_mean, self._own_seed
        return {one.n_asked: float(np.mean(log_fn(own, [one.mixture], seed)[0])) for one in self._path}

    def loo(self) -> Any:
        """Return arviz's leave-one-out estimate of the log predictive score, as `HeterogeneousUtility.loo`."""
        check_is_fitted(self)
        if not self.problem_.has_masses:
            raise InvalidArgument(NO_LOO.format(self.problem_))
        from arviz_stats import loo  # noqa: PLC0415

        if "log_likelihood" not in self.posterior_.children:
            recorded = self.problem_.recorded(self.observations_)
            add_log_likelihood(self.posterior_, recorded, log_of_draw, self._n_scored)
        return loo(self.posterior_, var_name="bundles", pointwise=True)

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None where customers repeat.

        None for whole goods, too.
        """
        # One purchase of a customer tells of the others.
        if self.n_customers_ is not None or not self.problem_.has_masses:
            return None
        return np.asarray(self.loo().elpd_i.values, np.float64).ravel()

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return the verdicts on draws and data."""
        return self._convergence, self._identification.verdict

    def account(self) -> Account:
        """Return what the fit says of itself, for people."""
        named = self._market(named_draws(self.posterior_, 200), 512, 1)
        return account_of(self.summary(), self.goods_, named, self.observations_)

    def summary(self) -> SegmentedSummary:
        """Return what was learned and how far to trust it, printable."""
        check_is_fitted(self)
        weights, verdicts = group(self.posterior_, "posterior")["weight"], self.verdicts()
        return SegmentedSummary(
            n_observations=self.n_observations_,
            n_goods=len(self.goods_),
            n_dropped=self.n_dropped_,
            n_customers=self.n_customers_,
            path=self.path_,
            is_auto=self._is_auto,
            segments=self._rows,
            sampler=self.sampler_,
            reason=self.reason_,
            n_chains=weights.sizes["chain"],
            n_draws=weights.sizes["draw"],
            is_converged=self.is_converged_,
            is_identified=self.is_identified_,
            verdict=(self._convergence.text, *self._identification.lines, verdicts.fits.text),
            verdicts=verdicts,
            pareto_k=self.diagnostics_.pareto_k,
            cautions=self.cautions(),
            averaged=tuple(one.n_asked for one in self._averaged),
            is_absolute=self._is_absolute,
        )

    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        learned = {
            "sampler": self.sampler_,
            "reason": self.reason_,
            "status": self.status_,
            "seconds": self.seconds_,
            "n_dropped": self.n_dropped_,
            "n_customers": self.n_customers_,
            "is_absolute": int(self._is_absolute),
            "path": {str(k): as_record(one) for k, one in enumerate(self._path)},
            "diagnostics": self.diagnostics_.as_dict(),
        }
        return learned, self.posterior_

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {}), saved.learned
        model.posterior_ = saved.tree
        kept = model.observations_ = observations_of(saved.tree)
        model.goods_, model.problem_ = kept.goods, kept.problem
        n = len(model.coordinates_)
        records = learned.part("path")
        model._path = [solution_of(records.part(str(k)), n) for k in range(len(records.found))]
        named = tuple(str(name) for name in group(saved.tree, "posterior")["good"].values)
        if not model._path or not (named == model.coordinates_ and kept.n_goods == model.n_features_in_):
            raise UnreadableData(
                f"{learned.where}: goods of draws, data and header must be the same; save the fit again"
            )
        check_draws(saved.tree, "posterior", model._chosen.n_segments, n, learned.where)
        model._is_absolute = "is_absolute" not in learned.found or learned.whole("is_absolute", 0, 1) == 1
        if model._averaged:
            check_draws(saved.tree, "averaged", sum(one.n_segments for one in model._averaged), n, learned.where)
        model.n_observations_ = saved.header.part("data").whole("n_observations", len(kept))
        model.n_dropped_ = learned.whole("n_dropped", 0, model.n_observations_ - 1)
        model.n_customers_ = learned.optional(learned.whole, "n_customers")
        model.sampler_, model.reason_, model.status_ = (learned.text(name) for name in ("sampler", "reason", "status"))
        model.seconds_ = learned.number("seconds")
        model._conclude(Diagnostics.restore(dict(learned.part("diagnostics").found)))
        return model


def _average_directions(parameters: dict[str, Array]) -> Array:
    """Return (draws, n) the direction of the average customer's utility under each posterior draw."""
    directions, kappa = parameters["mean_direction"], parameters["concentration"]
    alike = mean_resultant_length(directions.shape[-1], kappa) * parameters["weight"]
    sums = np.einsum("csk,cski->csi", alike, directions).reshape(-1, directions.shape[-1])
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300))
