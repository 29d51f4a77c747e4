# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What `NormalUtility` asks of whatever learned its law: an engine, with a taste for every purchase or every customer.

An engine is made by `learn` from observations, or by `restore` from a saved fit; the model does what all fits do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.market import Market
from stochpref.models.account import Account
from stochpref.models.fit import Wanted
from stochpref.models.values import Values
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.tastes.results import CustomerCoefficients
from stochpref.verdicts import Verdict, Verdicts

if TYPE_CHECKING:
    from stochpref.models.normal import NormalUtility

Array = NDArray[np.float64]


def _unknown_customers() -> InvalidArgument:
    return InvalidArgument("this fit has a taste for every purchase and knows no customers; fit with by_customer=True")


class Task(NamedTuple):
    """What an engine is to learn from.

    observations : with their problem as it will be kept; some may be degenerate.
    plan : how long to draw.
    key : of all random numbers.
    """

    observations: Observations
    plan: Plan
    key: int


class Engine(ABC):
    """What was learned.

    tree : draws and data, as `posterior.results.as_tree` makes them.
    sampler, reason, status, seconds : how they were drawn, as of every fit.
    n_dropped : degenerate observations left out.
    diagnostics : of what is reported.
    """

    tree: xr.DataTree
    sampler: str
    reason: str
    status: str
    seconds: float
    n_dropped: int
    diagnostics: Diagnostics

    @property
    def moves_with(self) -> tuple[str, ...]:
        """The features that what customers want moves with."""
        return ()

    @classmethod
    @abstractmethod
    def learn(cls, model: NormalUtility, task: Task) -> Self:
        """Learn the law under the settings of a model."""

    @classmethod
    @abstractmethod
    def restore(cls, model: NormalUtility, tree: xr.DataTree, learned: Values) -> Self:
        """Return the engine that `as_record` and the tree describe, refusing what no engine wrote."""

    @abstractmethod
    def as_record(self) -> dict[str, Any]:
        """Return what was learned beside the tree, as JSON holds it."""

    def as_tree(self) -> xr.DataTree:
        """Return draws and data, as a saved fit holds them."""
        return self.tree

    @property
    @abstractmethod
    def mean(self) -> Array:
        """(N,) posterior mean of the law's mean."""

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """(N, N) posterior mean of its covariance."""

    @property
    def coefficients(self) -> dict[str, Array]:
        """Posterior mean of the coefficient of each feature, by its name."""
        return {}

    @property
    @abstractmethod
    def directions(self) -> Array:
        """(draws, N) unit vectors along the mean of each draw."""

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """How much customers want each good."""

    @property
    @abstractmethod
    def figures(self) -> dict[str, float]:
        """What a table of many fits holds of this one."""

    @abstractmethod
    def market(self, n_customers: int | None, n_draws: int, n_menus: int) -> Market:
        """Return the customers that demand asks."""

    @abstractmethod
    def log_likelihood(self, observations: Observations) -> Array:
        """Return (T,) log predictive probabilities of observations over the goods of the fit."""

    def best_at(self, menus: Menus | Observations, customers: Any = None) -> Array | None:  # noqa: ARG002
        """Return (T, N) the utility that predicts best at menus, of some customers by label; None for one for all."""
        if customers is not None:
            raise _unknown_customers()
        return None

    def market_of(self, customer: Any, n_customers: int | None, n_draws: int, n_menus: int) -> Market:  # noqa: ARG002
        """Return a market of one customer who is known."""
        raise _unknown_customers()

    def customer_coefficients(self) -> CustomerCoefficients:
        """Return the tastes of the customers who are known."""
        raise _unknown_customers()

    def leave_one_customer_out(self) -> Array:
        """Return (C,) the log-probability of all choices of each customer given those of the others alone."""
        raise _unknown_customers()

    def updated(self, observations: Observations) -> Self:  # noqa: ARG002
        """Return the engine with what customers bought after the fit taken up."""
        raise _unknown_customers()

    def replicates(self, count: int, rng: np.random.Generator) -> list[Array] | None:  # noqa: ARG002
        """Return what the customers who are known buy anew at the menus they faced; None where none are."""
        return None

    def leave_one_out(self) -> Array | None:
        """Return (T,) the log-probability of each fitted observation given the others; None where that is not known."""
        return None

    @abstractmethod
    def judge(self) -> tuple[Verdict, Verdict]:
        """Return whether the fit has converged and whether the data identify what it says."""

    @abstractmethod
    def summary(self, model: NormalUtility, verdicts: Verdicts) -> Any:
        """Return what was learned, printable."""

    @abstractmethod
    def account(self, model: NormalUtility, verdicts: Verdicts) -> Account:
        """Return what the fit says of itself, for people."""
