# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What every fitted model is, and all that demand, comparisons, groups, the report and the command line know of one.

A model of its own says who its customers are (`market`), how likely purchases are (`log_likelihood`), which utility
predicts best, and what to tell people of it (`account`). What customers buy at other prices follows here, for all.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from stochpref.checks import check_count, nearest
from stochpref.decisions.deciding import Deciding
from stochpref.demand import Demand, Elasticities, expected_demand
from stochpref.errors import InvalidArgument, listed
from stochpref.extrapolation import find_extrapolations
from stochpref.laws import VonMisesFisher
from stochpref.market import Market
from stochpref.models.account import Account, as_sentence
from stochpref.models.candidate import Candidate
from stochpref.models.ranking import Ranking, as_learned
from stochpref.models.shared import check_observations
from stochpref.models.storage import SavedFit, restore_check, save_model
from stochpref.models.values import Values
from stochpref.observations import Menus, Observations
from stochpref.posterior.results import MAX_LIKELIHOOD_DRAWS
from stochpref.predictive_check import PredictiveCheck, check_purchases
from stochpref.problems import FITTED, Problem, problem_of
from stochpref.readers.by_name import as_menus
from stochpref.responses import price_elasticities
from stochpref.rows import LEFT_OUT, places_of
from stochpref.scores import consistency
from stochpref.verdicts import Verdict, Verdicts

Array = NDArray[np.float64]

_REVENUE: Final = (
    "in the data the budget is what was spent, so that revenue is the budget stated here and no prediction: prices "
    "move what is bought, not what is spent"
)
_CHECKED_DRAWS: Final = 200  # of the posterior, at most, that the predictive check takes


class Wanted(NamedTuple):
    """How much customers want each good.

    mean : (n,) utility.
    interval : (n, 2) its ends; None if not computed.
    """

    mean: Array
    interval: Array | None


class Fit(Deciding, BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator of what customers want, in the shape of scikit-learn's.

    name : of the model, as the command line and saved fits call it.
    customers_differ : each has a utility of their own, so that demand is smooth in prices.
    caveat : what is left to say of a fit that no warning has said; "" for nothing.
    remedy : what to try where customers differ and the fit does not buy as they did.
    scores_are : what `log_likelihood` is the logarithm of; only scores of one kind can be compared.
    problems : those that it fits, by name.
    problem_ : what customers solve, with what was learned of it.
    ranking_ : the models beside one another among which `fit_best` chose this one; None where it was asked for.
    check_ : what `check` found, None until it was asked for; `fit` sets both to None.
    """

    name: ClassVar[str]
    customers_differ: ClassVar[bool] = True
    caveat: str = ""
    remedy: str = "customers may be of several kinds, which one law does not hold: fit segments (SegmentedUtility)"
    scores_are: ClassVar[str] = "probabilities"
    problems: ClassVar[tuple[str, ...]] = FITTED
    status_: str = "enough"
    engine: Any = "cpu"

    random_state: int | np.random.Generator | None
    goods_: tuple[str, ...]
    problem_: Problem
    observations_: Observations
    n_observations_: int
    n_dropped_: int
    check_: PredictiveCheck | None = None
    ranking_: Ranking | None = None
    data_hash_: str
    seed_: int | None
    command_: list[str] | None

    # What a model says.

    @classmethod
    def candidates(cls, observations: Observations) -> tuple[Candidate, ...]:  # noqa: ARG003
        """Return the ways in which `fit_best` is to try this model on observations, by their sizes; none as a rule."""
        return ()

    @property
    def same_as(self) -> str:
        """The name of a simpler model that this fit came out as, such as a mixture of one segment; "" for none."""
        return ""

    @abstractmethod
    def fit(self, observations: Observations, y: None = None) -> Self:
        """Learn from observations."""

    @property
    @abstractmethod
    def best_utility(self) -> Array:
        """The unit vector that predicts best on average, over the coordinates."""

    @property
    def directions(self) -> Array:
        """The unit vectors (k, n) among which the fit leaves the best utility: posterior draws, or it alone."""
        return self.best_utility[None]

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """How much customers want each good."""

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Whether more of the same work would leave the fit as it is: draws have converged, an optimum is proven."""

    @property
    def law(self) -> VonMisesFisher | None:
        """The von Mises–Fisher law that stands for the fit where one is asked for; None if there is none."""
        return None

    @property
    def natural_draws(self) -> Array | None:
        """Posterior draws (S, N) of h = κμ, where customers are of one von Mises–Fisher law."""
        return None

    @property
    def coordinates_(self) -> tuple[str, ...]:
        """What utilities are about: the goods, and money, the last, where budgets are open."""
        return self.problem_.coordinates(self.goods_)

    @property
    def scale_(self) -> float:
        """The sum of money that stands beside a good as one unit, stated or learned, where budgets are open."""
        settings = self.problem_.settings()
        if "scale" not in settings:
            raise AttributeError(f"problem {self.problem_.name!r} has no scale; budgets must be open, problem='open'")
        return float(settings["scale"])

    @property
    def explained(self) -> float:
        """Share of the fitted observations that the best utility explains."""
        return self.consistency(self.observations_)

    @property
    @abstractmethod
    def figures(self) -> dict[str, float]:
        """What a table of many fits holds of this one, by name, beside utilities."""

    @abstractmethod
    def market(self, n_customers: int | None = None, n_draws: int = MAX_LIKELIHOOD_DRAWS, n_menus: int = 1) -> Market:
        """Return the customers that `demand` asks, under each posterior draw; they depend on the fit's seed only.

        Parameters
        ----------
        n_customers, n_draws : as in `demand`.
        n_menus : that they will face, which bounds the customers if n_customers is None.
        """

    @abstractmethod
    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) the log-probability of each observation; -inf for degenerate ones."""

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None without a posterior."""
        return None

    @abstractmethod
    def judge(self) -> tuple[Verdict, Verdict]:
        """Return whether the fit has converged and whether the data identify what it says."""

    @abstractmethod
    def account(self) -> Account:
        """Return what the fit says of itself, for people."""

    @abstractmethod
    def summary(self) -> Any:
        """Return what was learned, printable."""

    @abstractmethod
    def _learned(self) -> tuple[dict[str, Any], xr.DataTree]:
        """Return what `fit` found, for a saved fit: what JSON holds, and arrays, observations among them."""

    @classmethod
    @abstractmethod
    def restore(cls, saved: SavedFit) -> Self:
        """Return the model that a saved fit describes."""

    @property
    def needed_features(self) -> tuple[str, ...]:
        """The features that menus must have, for what customers want moves with them."""
        return ()

    @property
    def prices_move_tastes(self) -> bool:
        """Whether prices of menus are among what tastes move with, beside what they do to what money buys."""
        return False

    # What follows.

    def predict(self, menus: Any, budgets: ArrayLike | None = None) -> Array:
        """Return the bundles (T, n) that the best utility buys, from menus or from prices and budgets.

        Parameters
        ----------
        menus, budgets : as in `demand`.
        """
        return self._bought(None, menus, budgets)

    def best_at(self, menus: Menus | Observations) -> Array:  # noqa: ARG002
        """Return the unit vector that predicts best at menus: one for all (N,), or (T, N) where features move it."""
        return self.best_utility

    def _bought(self, utility: Array | None, menus: Any, budgets: ArrayLike | None) -> Array:
        check_is_fitted(self)
        faced, shape = as_menus(menus, budgets, self.goods_, self.problem_)
        self._check_features(faced)
        own = self.best_at(faced) if utility is None else utility
        own = own[..., places_of(problem_of(faced).coordinates(faced.goods), self.coordinates_)]
        return problem_of(faced).choose(own, faced).reshape(*shape, faced.n_goods)

    def demand(
        self,
        menus: Any,
        budgets: ArrayLike | None = None,
        *,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Demand:
        """Return expected purchases, over customers and over the posterior, with intervals.

        Parameters
        ----------
        menus : Menus, or prices: (T, n) or (n,) in the order of `goods_`, a data frame with a column for each good, a
            dict or a Series; whatever has names is matched by name. A price of inf or NaN: not on offer.
        budgets : beside prices: one, or one for each menu; none where the problem knows no budgets.
        level : of the intervals.
        n_customers : simulated for each posterior draw; None for 512 to 8192, fewer for many menus.
        n_draws : of the posterior, at most, evenly spaced.
        """
        faced = self._faced(menus, budgets)
        found = expected_demand(self._asked(n_customers, n_draws, len(faced)), faced, level)
        return replace(found, cautions=self.cautions(faced), titles=self.titles)

    def elasticities(
        self,
        menus: Any = None,
        budgets: ArrayLike | None = None,
        *,
        goods: Sequence[str] | None = None,
        level: float = 0.9,
        n_customers: int | None = None,
        n_draws: int = MAX_LIKELIHOOD_DRAWS,
    ) -> Elasticities:
        """Return own- and cross-price elasticities of expected purchases, with intervals.

        Parameters
        ----------
        menus : as in `demand`; of several, the elasticities of what is bought on average, each customer facing one of
            them. None for the menus that were observed.
        goods : those to report, all on the menus if None; the others keep their places and prices.
        budgets, level, n_customers, n_draws : as in `demand`.
        """
        check_is_fitted(self)
        observed = self.observations_.under(self.problem_).menus if menus is None else None
        faced = self._faced(menus, budgets) if observed is None else observed
        names = faced.goods if goods is None else tuple(goods)
        found = price_elasticities(self._asked(n_customers, n_draws, 2 * len(names)), faced, names, level)
        about = self.cautions() if observed is not None else (*self.cautions(), *self.cautions(faced))
        return replace(found, cautions=about, titles=self.titles)

    @property
    def titles(self) -> dict[str, str]:
        """What people call those goods that they know by another name."""
        data = self.observations_
        return {} if data.titles is None else dict(zip(data.goods, data.titles, strict=True))

    def check(self) -> PredictiveCheck:
        """Return whether customers of the fit, facing what was faced, buy as was bought; computed once and saved."""
        check_is_fitted(self)
        if self.check_ is None:
            self.check_ = self._checked()
        return self.check_

    def _checked(self) -> PredictiveCheck:
        rng = np.random.default_rng([0 if self.seed_ is None else self.seed_, 2])
        data = self.observations_.under(self.problem_)
        return check_purchases(self.market(1, _CHECKED_DRAWS), data, rng=rng)

    def restore_check(self, learned: Values) -> None:
        """Take back the predictive check that the fit was saved with."""
        self.check_ = restore_check(learned, self.observations_)

    def verdicts(self) -> Verdicts:
        """Return whether the fit has converged, is identified and fits, in grades and words."""
        return Verdicts(*self.judge(), self.check().verdict(self._remedy()))

    def _remedy(self) -> str:
        """Return what to try where the fit does not buy as customers did."""
        audit = self.observations_.audit()
        if audit.is_whole and audit.kinds.get("slack", 0) > audit.n_observations / 2:
            return "if the change was just too small for one more item, read with budget='spent' (--budget spent)"
        if self.customers_differ:
            return self.remedy
        return "customers may differ: fit HeterogeneousUtility (--model heterogeneous)"

    def cautions(self, menus: Menus | None = None) -> tuple[str, ...]:
        """Return what to know before relying on the fit, or on what it says of menus: what the data cannot tell."""
        check_is_fitted(self)
        audit = self.observations_.audit()
        if menus is not None:
            told = [_REVENUE] if audit.is_all_spent and self.problem_.needs_budget else []
            return tuple(map(as_sentence, (*find_extrapolations(self.observations_, menus), *told)))
        left_out = f"{self.n_dropped_:,} of {self.n_observations_:,} observations are degenerate, and left out"
        told = [f"{left_out}: what is said is of the others"] if self.n_dropped_ else []
        told += [note for note in self.observations_.notes if note.startswith(LEFT_OUT)]
        return tuple(map(as_sentence, (*told, *audit.cautions())))

    def _faced(self, menus: Any, budgets: ArrayLike | None) -> Menus:
        check_is_fitted(self)
        faced, shape = as_menus(menus, budgets, self.goods_, self.problem_)
        if len(shape) > 1:
            raise InvalidArgument(f"prices must be (n,) or (T, n); received {len(shape) + 1} dimensions; ask in parts")
        self._check_features(faced)
        return faced

    def _check_features(self, menus: Menus) -> None:
        """Refuse features of menus that the observations did not have: nobody can say what they do."""
        known = list(self.observations_.features)
        for name in menus.features:
            if name not in known:
                raise InvalidArgument(
                    f"features of menus must be among those of the fitted observations, {listed(known) or 'none'}; "
                    f"received {name!r}{nearest(name, known)}; correct the name or leave it out"
                )

    def _asked(self, n_customers: int | None, n_draws: int, n_menus: int) -> Market:
        check_count(n_draws, "n_draws", 1)
        if n_customers is not None:
            check_count(n_customers, "n_customers", 1)
        return self.market(n_customers, n_draws, n_menus)

    def score(self, observations: Observations, y: None = None) -> float:  # noqa: ARG002
        """Return the mean log predictive probability of observations."""
        return float(np.mean(self.log_likelihood(observations)))

    def consistency(self, observations: Observations) -> float:
        """Return the share of observations whose bundle is the unique optimum of the best utility; ties are misses."""
        own = self._own(observations)
        return consistency(self.best_at(own), own)

    def _own(self, observations: Observations) -> Observations:
        """Return observations over the goods of the fit, as its problem has them."""
        check_is_fitted(self)
        check_observations(observations, self.problems)
        if not self.problem_.admits(observations.problem):
            raise InvalidArgument(
                f"observations must be of the problem of the fit, {self.problem_!r}; received "
                f"{observations.problem!r}; read them so, or fit the model to others"
            )
        own = observations.over(self.goods_)
        return own.under(self.problem_.facing(own.problem, own.goods, self.goods_))

    def save(self, folder: str | Path, *, command: Sequence[str] | None = None) -> None:
        """Write the fit to a folder that `load_fit` reads back; `command` made it, in words that a report repeats."""
        check_is_fitted(self)
        learned, tree = self._learned()
        learned = {**learned, "check": self.check().as_dict()}
        learned |= {} if self.ranking_ is None else {"ranking": as_learned(self.ranking_)}
        save_model(self, folder, learned=learned, tree=tree, command=command)

    def __sklearn_clone__(self) -> Self:
        # Clones share the engine: the client of a cluster cannot be copied.
        bare = copy.copy(self)
        bare.engine = "cpu"
        clone: Self = BaseEstimator.__sklearn_clone__(bare)
        clone.engine = self.engine
        return clone
