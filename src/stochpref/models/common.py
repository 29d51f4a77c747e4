# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One utility shared by all customers but the odd ones."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.utils.validation import check_is_fitted

from stochpref.audit import refuse_baskets
from stochpref.checks import check_choice
from stochpref.consensus.agreement import Search, agreement_of
from stochpref.consensus.effort import Effort
from stochpref.consensus.explanation import Explanation
from stochpref.consensus.summary import CommonSummary, judge_ranges, judge_search
from stochpref.errors import InvalidArgument, UnreadableData
from stochpref.loading import load
from stochpref.market import OneCustomer
from stochpref.mass.conditional import log_recorded
from stochpref.models.account import Account
from stochpref.models.candidate import Candidate
from stochpref.models.common_account import account_of
from stochpref.models.fit import Fit, Wanted
from stochpref.models.shared import check_observations, generator, reporting
from stochpref.models.storage import SavedFit, restore_model
from stochpref.models.values import array_in
from stochpref.names import CENTRES, SOLVERS
from stochpref.observations import Observations
from stochpref.posterior.counting import Posterior
from stochpref.posterior.predictive import log_simulated
from stochpref.posterior.results import data_groups, observations_of
from stochpref.regions import usable_rows
from stochpref.stores.engines import is_cluster
from stochpref.stores.packing import data_hash
from stochpref.verdicts import Verdict

Array = NDArray[np.float64]

_MOST_COMPARED: Final = 20_000  # observations, every two of which are compared
_MOST_WHOLE_COMPARED: Final = 2_000  # of whole goods
_MOST_AT_CORNERS: Final = 1_000  # where several limits bind
_EFFORT: Final = "consensus.effort:Effort"
_ANNEALING: Final = "paper.annealing:Annealing"
_SCORE_CHANGED: Final = (
    "CommonUtility.score is the mean log predictive probability, as for every model; the share of observations "
    "explained, which it was in 0.1.0, is CommonUtility.consistency(observations)"
)


class CommonUtility(Fit):
    """The utility that explains most observations, all customers but the odd ones sharing it.

    Parameters
    ----------
    margin : how far inside its region an observation must be to count, in the paper's units; "theorem" for the
        margin of the paper's theorem, 1/(4 n² T^¼).
    solver : "certified", which proves what it can, or "annealing", the paper's Algorithm 2.
    centre : which of the best utilities: "bayes" (their mean, predicts best), "chebyshev" or "vertex".
    degenerate : "refuse" observations that only exact ties could explain, or "drop" them.
    effort : an `Effort` for the certified solver, None for the default.
    annealing : an `Annealing` for the annealing solver, None for the default.
    random_state : None, an integer or a numpy Generator.
    verbose : show the steps on a terminal's stderr.
    engine : "cpu"; "dask" or a `distributed.Client` to compare every two observations on a cluster, in blocks.

    Of whole goods margins, annealing and clusters are refused.

    Attributes
    ----------
    utility_ : (n,) unit vector over `coordinates_`: the goods, and money, the last, where budgets are open.
    utility_interval_ : (n, 2) range of each good over 95 % of the utilities that explain as much; None if not computed.
    consistent_ : (T,) the observations it explains: each bundle is the unique optimum, with the margin.
    n_consistent_ : how many.
    upper_bound_ : no utility explains more.
    is_optimal_ : the two are equal.
    excluded_by_ : (T,) for an odd observation one that cannot hold together with it; -1 where no single one does.
    corruption_ : share of odd observations.
    corruption_interval_ : (2,) 95 % Clopper–Pearson interval of that share.
    margin_ : γ as a number.
    n_dropped_ : degenerate observations left out.
    steps_ : what the solver did.
    goods_ : names, in the order of the utility.
    observations_ : those fitted.
    seed_ : what the random numbers came from, None for a Generator.
    command_ : the words of the command that made a fit that was loaded; None for a fit from Python.
    last_utility_ : where Algorithm 2 ended (its answer in the paper); None for the certified solver.

    Notes
    -----
    An odd customer may agree with the common utility by chance, so the share of odd observations is a low estimate of
    the share of odd customers.
    """

    name: ClassVar[str] = "common"
    customers_differ: ClassVar[bool] = False

    def __init__(
        self,
        margin: float | str = 0.0,
        solver: str = "certified",
        random_state: int | np.random.Generator | None = None,
        centre: str = "bayes",
        degenerate: str = "refuse",
        effort: Effort | None = None,
        annealing: Any = None,
        verbose: bool = False,
        engine: Any = "cpu",
    ) -> None:
        self.margin = margin
        self.solver = solver
        self.random_state = random_state
        self.centre = centre
        self.degenerate = degenerate
        self.effort = effort
        self.annealing = annealing
        self.verbose = verbose
        self.engine = engine

    @classmethod
    def candidates(cls, observations: Observations) -> tuple[Candidate, ...]:
        """Return the common utility, where every two observations can be compared and bundles have probabilities."""
        count, problem = len(observations), observations.problem
        most = _MOST_COMPARED if problem.has_masses else _MOST_WHOLE_COMPARED
        most = _MOST_AT_CORNERS if problem.has_corners else most
        unsuited = f"compares every two observations, and there are more than {most:,}" if count > most else ""
        n_free = len(problem.coordinates(observations.goods))  # a direction, and the share of odd customers
        return (Candidate({}, n_free, 0.3 + count / _MOST_COMPARED, unsuited=unsuited),)

    def fit(self, observations: Observations, y: None = None) -> Self:  # noqa: ARG002
        """Find the utility consistent with most observations.

        Raises
        ------
        InvalidObservations : some are degenerate and were not to be dropped, or all are; or everything was bought.
        """
        check_observations(observations)
        check_choice(self.solver, "solver", SOLVERS)
        check_choice(self.centre, "centre", CENTRES)
        for record, argument, place in ((self.effort, "effort", _EFFORT), (self.annealing, "annealing", _ANNEALING)):
            if record is not None and not isinstance(record, load(place)):
                wanted = place.partition(":")[2]
                raise InvalidArgument(f"{argument} must be an {wanted} or None; received {record!r}")
        if self.engine != "cpu" and not is_cluster(self.engine):
            raise InvalidArgument(f"engine must be cpu, dask or a distributed.Client; received {self.engine!r}")
        refuse_baskets(observations)
        unknown = observations.problem.unknown(observations)
        if unknown is not None:  # one utility does for every value what it does for another
            observations = observations.under(observations.problem.with_setting(*unknown))
        self.problem_ = observations.problem
        regions = self.problem_.explained(observations)
        rows = usable_rows(regions, self.degenerate)
        self._agreement = agreement_of(regions)
        self.margin_ = self._agreement.margin(self.margin, rows.size)
        rng, self.seed_ = generator(self.random_state)
        effort, annealing = self.effort or Effort(), self.annealing or load(_ANNEALING)()
        with reporting(self.verbose, "comparing observations") as report:
            search = Search(self.margin_, self.solver, self.centre, effort, annealing, self.engine, rng, report)
            self._learn(rows, len(regions), search)
        self.goods_ = observations.goods
        self.n_features_in_ = observations.n_goods
        self.n_observations_ = len(observations)
        self.data_hash_ = data_hash(observations)
        self.observations_ = observations
        self.command_: list[str] | None = None
        return self

    def _learn(self, rows: NDArray[np.intp], n_rows: int, search: Search) -> None:
        agreed = self._agreement.find(rows, search)
        self.utility_, self.last_utility_ = agreed.utility, agreed.last
        self.upper_bound_, self.steps_ = agreed.upper_bound, agreed.steps
        self.utility_interval_: Array | None = None
        if agreed.samples is not None:
            self.utility_interval_ = np.quantile(agreed.samples, (0.025, 0.975), axis=0).T
        self.consistent_ = np.zeros(n_rows, np.bool_)
        self.consistent_[rows] = agreed.is_consistent
        self.excluded_by_ = np.full(n_rows, -1)
        known = (agreed.witness >= 0) & ~agreed.is_consistent
        self.excluded_by_[rows[known]] = rows[agreed.witness[known]]
        self.n_dropped_ = n_rows - rows.size
        self._conclude(int(agreed.is_consistent.sum()), int(rows.size))

    def _conclude(self, n_consistent: int, n_used: int) -> None:
        self.n_consistent_ = n_consistent
        self.is_optimal_ = n_consistent == self.upper_bound_
        self.corruption_ = 1.0 - n_consistent / n_used
        # Between bound and count the number of odd observations itself is uncertain: each end takes the wider one.
        fewest, most = n_used - self.upper_bound_, n_used - n_consistent
        low = beta.ppf(0.025, fewest, n_used - fewest + 1) if fewest else 0.0
        high = beta.ppf(0.975, most + 1, n_used - most) if most < n_used else 1.0
        self.corruption_interval_ = (float(low), float(high))
        self.check_ = self.ranking_ = None

    @property
    def best_utility(self) -> Array:
        """The utility."""
        return self.utility_

    @property
    def wanted(self) -> Wanted:
        """The utility and its range over 95 % of the utilities that explain as much."""
        places = self.problem_.leading(self.goods_)
        ranges = self.utility_interval_
        return Wanted(self.utility_[places], None if ranges is None else ranges[places])

    @property
    def is_settled(self) -> bool:
        """Whether it is proven that no utility explains more."""
        return self.is_optimal_

    @property
    def caveat(self) -> str:  # type: ignore[override]
        """That the optimum is not proven, where it is not."""
        if self.is_optimal_:
            return ""
        return f"not proven optimal: {self.n_consistent_:,} consistent, at most {self.upper_bound_:,}"

    @property
    def explained(self) -> float:
        """Share of the fitted observations that the utility explains, with the margin."""
        return float(self.consistent_.mean())

    @property
    def figures(self) -> dict[str, float]:
        """What the utility explains, what none exceeds, and the share of odd observations."""
        return {
            "n_consistent": float(self.n_consistent_), "upper_bound": float(self.upper_bound_),
            "corruption": self.corruption_, "is_optimal": float(self.is_optimal_),
        }  # fmt: skip

    def market(self, n_customers: int | None = None, n_draws: int = 1, n_menus: int = 1) -> OneCustomer:  # noqa: ARG002
        """Return the one customer that all but the odd ones are, whatever the numbers asked for."""
        check_is_fitted(self)
        return OneCustomer(self.coordinates_, self.utility_)

    def score(self, observations: Observations, y: None = None) -> float:
        """Return the mean log predictive probability of observations, as every model does."""
        warnings.warn(_SCORE_CHANGED, FutureWarning, stacklevel=2)
        return super().score(observations, y)

    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log-probability of each observation; -inf for degenerate ones.

        A customer is odd with the share of odd observations, (odd + 1)/(T + 2) so that it is never 0 or 1, and has a
        utility from anywhere on the sphere then; the others buy the optimum of the common utility.
        """
        own = self._own(observations)
        n_used = self.n_observations_ - self.n_dropped_
        odd = (n_used - self.n_consistent_ + 1) / (n_used + 2)
        honest = np.where(own.problem.holds(own, self.utility_), np.log1p(-odd), -np.inf)
        return np.logaddexp(self._log_anywhere(own) + np.log(odd), honest)

    def _log_anywhere(self, own: Observations) -> Array:
        """Return (T,) the log-probabilities of bundles where utilities come from anywhere; whole goods are counted."""
        nowhere = np.zeros(len(self.coordinates_))
        if own.problem.has_masses:
            return log_recorded(own.problem.recorded(own), nowhere).log_mass
        rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 5])
        even = Posterior(self.utility_[None], np.zeros(1))
        return log_simulated(own, even, rng=rng).log_probability

    def explain(self, t: int, observations: Observations | None = None) -> Explanation:
        """Return why observation t is consistent or odd: which goods, by how much, and what excludes it.

        Parameters
        ----------
        observations : those t counts in; the ones fitted, if left out.
        """
        check_is_fitted(self)
        fitted = self.observations_
        data = fitted if observations is None else self._own(observations)
        if not isinstance(t, int | np.integer) or not -len(data) <= t < len(data):
            raise InvalidArgument(f"t must be a whole number between 0 and {len(data) - 1}; received {t!r}")
        t = int(t) % len(data)
        agreement = self._agreement if data is fitted else agreement_of(self.problem_.explained(data))
        is_own = data is fitted or data_hash(data) == self.data_hash_
        if is_own and self.excluded_by_[t] >= 0:
            others: tuple[int, ...] = (int(self.excluded_by_[t]),)
        else:
            others = agreement.excluders(t, self.utility_)
        return agreement.explain(data, t, self.utility_, self.margin_, others)

    def judge(self) -> tuple[Verdict, Verdict]:
        """Return whether the optimum is proven, and whether the data tell the utility of every good."""
        ranges = self.utility_interval_
        widths = (
            None
            if ranges is None
            else dict(zip(self.coordinates_, (ranges[:, 1] - ranges[:, 0]).tolist(), strict=True))
        )
        n_used = self.n_observations_ - self.n_dropped_
        return judge_search(self.n_consistent_, self.upper_bound_, n_used), judge_ranges(widths)

    def summary(self) -> CommonSummary:
        """Return what was learned, printable; observations go by their labels, or by their numbers from 1."""
        check_is_fitted(self)
        ranges = self.utility_interval_
        goods = tuple(
            (
                self.coordinates_[i],
                float(self.utility_[i]),
                None if ranges is None else float(ranges[i, 0]),
                None if ranges is None else float(ranges[i, 1]),
            )
            for i in np.argsort(-self.utility_, kind="stable")
        )
        name = self.observations_.name
        odd = tuple(
            (name(int(t)), name(int(self.excluded_by_[t])) if self.excluded_by_[t] >= 0 else None)
            for t in np.flatnonzero(~self.consistent_)[:100]
        )
        return CommonSummary(
            n_observations=self.n_observations_,
            n_goods=len(self.goods_),
            n_dropped=self.n_dropped_,
            n_consistent=self.n_consistent_,
            upper_bound=self.upper_bound_,
            is_optimal=self.is_optimal_,
            corruption=self.corruption_,
            corruption_interval=self.corruption_interval_,
            margin=self.margin_,
            goods=goods,
            odd=odd,
            steps=self.steps_,
            verdicts=self.verdicts(),
            cautions=self.cautions(),
            titles=self.titles,
        )

    def account(self) -> Account:
        """Return what the fit says of itself, for people."""
        has_customers = self.observations_.customers is not None
        odd = np.flatnonzero(~self.consistent_).tolist()
        return account_of(self.summary(), odd, self.explain, has_customers=has_customers)

    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        learned = {
            "utility": self.utility_.tolist(),
            "utility_interval": None if self.utility_interval_ is None else self.utility_interval_.tolist(),
            "last_utility": None if self.last_utility_ is None else self.last_utility_.tolist(),
            "n_consistent": self.n_consistent_,
            "upper_bound": self.upper_bound_,
            "is_optimal": self.is_optimal_,
            "corruption": self.corruption_,
            "corruption_interval": list(self.corruption_interval_),
            "margin": self.margin_,
            "n_dropped": self.n_dropped_,
            "steps": list(self.steps_),
        }
        per_row = {"consistent": self.consistent_, "excluded_by": self.excluded_by_}
        explained = xr.Dataset({name: ("observation", values) for name, values in per_row.items()})
        return learned, xr.DataTree.from_dict(data_groups(self.observations_) | {"explained": explained})

    @classmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""
        model, learned = restore_model(cls, saved, {"effort": _EFFORT, "annealing": _ANNEALING}), saved.learned
        model.observations_ = observations_of(saved.tree)
        model.goods_, model.problem_ = model.observations_.goods, model.observations_.problem
        model._agreement = agreement_of(model.problem_.explained(model.observations_))
        n, n_rows = len(model.coordinates_), len(model.observations_)
        model.utility_ = learned.numbers("utility", n)
        model.utility_interval_ = learned.optional(learned.numbers, "utility_interval", n, 2)
        model.last_utility_ = learned.optional(learned.numbers, "last_utility", n)
        model.consistent_ = array_in(saved.tree, "explained/consistent", ("observation",), "b", learned.where)
        model.excluded_by_ = array_in(saved.tree, "explained/excluded_by", ("observation",), "i", learned.where)
        model.n_dropped_ = learned.whole("n_dropped", 0, n_rows - 1)
        n_used = n_rows - model.n_dropped_
        model.upper_bound_ = learned.whole("upper_bound", 0, n_used)
        n_consistent = learned.whole("n_consistent", 0, model.upper_bound_)
        is_right = (
            (len(model.goods_), n_rows) == (model.n_features_in_, model.n_observations_)
            and abs(np.linalg.norm(model.utility_) - 1.0) < 1e-6
            and model.consistent_.size == n_rows
            and model.consistent_.sum() == n_consistent
            and np.all((model.excluded_by_ >= -1) & (model.excluded_by_ < n_rows))
        )
        if not is_right:
            raise UnreadableData(f"{learned.where}: what was learned does not fit the data; save the fit again")
        model._conclude(n_consistent, n_used)
        model.margin_, model.steps_ = learned.number("margin"), tuple(learned.texts("steps"))
        return model
