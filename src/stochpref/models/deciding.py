# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What models have in addition that can be fitted to decisions of programmes, and not only to purchases.

Whatever is asked of menus is refused by a fit of decisions, in words of its own; `decide` is what it is asked instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stochpref.checks import check_count
from stochpref.errors import InvalidArgument
from stochpref.models.fit import Fit
from stochpref.models.values import Values
from stochpref.observations import Menus
from stochpref.programmes.deciding import Decided, rounded
from stochpref.programmes.decisions import Decisions, are_decisions
from stochpref.programmes.protocol import Programme, as_programme

Array = NDArray[np.float64]

_DRAWS = 400


class Decider(Protocol):
    """What was learned from decisions."""

    def refuse_menus(self) -> Any:
        """Say what a fit of decisions is asked instead of demand."""

    def decide(self, problem: Programme, n_rows: int, n_customers: int | None, n_draws: int) -> Decided:
        """Return simulated decisions of a problem."""

    def check(self) -> Any:
        """Return whether what was learned decides as was seen."""

    def restore_check(self, saved: Values) -> Any:
        """Return the check that a fit was saved with."""


class FitOfDecisions(Fit, ABC):
    """A fit that may be of decisions."""

    @property
    @abstractmethod
    def _decider(self) -> Decider | None:
        """What was learned from decisions; None where it was from purchases."""

    def decide(
        self, problem: Any, *, n_rows: int | None = None, n_customers: int | None = None, n_draws: int = _DRAWS
    ) -> Decided:
        """Return what people decide who face a problem: simulated over the posterior, counted, with errors.

        Parameters
        ----------
        problem : a `LinearProgramme`, an object with ``solve(utilities, rows)``, or `Decisions`, for theirs.
        n_rows : of the problem; None for as many as it has, 1 where one set is everybody's.
        n_customers : simulated at each row; None for 1,000 to 20,000.
        n_draws : of the posterior, at most.
        """
        check_is_fitted(self)
        learned = self._decider
        if learned is None:
            raise InvalidArgument("decide is asked of fits of Decisions; this one is of purchases: ask demand(menus)")
        many = None if n_customers is None else check_count(n_customers, "n_customers", 1)
        faced = problem.problem if are_decisions(problem) else as_programme(problem, len(self.goods_))
        if faced.n_variables != len(self.goods_):
            raise InvalidArgument(
                f"problem must have the {len(self.goods_)} variables of the fit; received {faced.n_variables}"
            )
        known = len(problem) if are_decisions(problem) else faced.n_observations
        rows = (known or 1) if n_rows is None else check_count(n_rows, "n_rows", 1)
        if faced.n_observations is not None and rows > faced.n_observations:
            raise InvalidArgument(f"n_rows must be at most {faced.n_observations}, those of the problem; got {rows}")
        return learned.decide(faced, rows, many, check_count(n_draws, "n_draws", 1))

    def cautions(self, menus: Menus | None = None) -> tuple[str, ...]:
        """Return what to know before relying on the fit, or on what it says of menus: what the data cannot tell."""
        if self._decider is None:
            return super().cautions(menus)
        check_is_fitted(self)
        left = f"{self.n_dropped_:,} of {self.n_observations_:,} decisions are degenerate, and left out"
        return (f"{left}: what is said is of the others.",) if self.n_dropped_ else ()

    def restore_check(self, learned: Values) -> None:
        """Take back the predictive check that the fit was saved with."""
        if self._decider is None:
            super().restore_check(learned)
        elif "check" in learned.found:
            self.check_ = self._decider.restore_check(learned.part("check"))

    def _checked(self) -> Any:
        return super()._checked() if self._decider is None else self._decider.check()

    def _remedy(self) -> str:
        return super()._remedy() if self._decider is None else "people may be of several kinds: fit them apart"

    def _check_priced(self) -> None:
        super()._check_priced()
        if self._decider is not None:
            self._decider.refuse_menus()

    def _faced(self, menus: Any, budgets: ArrayLike | None) -> Menus:
        self._check_priced()
        return super()._faced(menus, budgets)

    def _bought(self, utility: Array | None, menus: Any, budgets: ArrayLike | None) -> Array:
        self._check_priced()
        return super()._bought(utility, menus, budgets)

    def consistency(self, observations: Any) -> float:
        """Return the share of observations, or decisions, that are the optimum of the best utility; ties are misses."""
        own = self._own(observations)
        if self._decider is None:
            return super().consistency(own)
        best = own.problem.solve(np.tile(self.best_utility, (len(own), 1)), np.arange(len(own)))
        return float(np.mean(np.all(rounded(best) == rounded(own.chosen), axis=1)))

    def _own(self, observations: Any) -> Any:
        if getattr(self, "observations_", None) is None or self._decider is None:
            return super()._own(observations)
        return self._own_decisions(observations)

    def _own_decisions(self, decisions: object) -> Decisions:
        """Return decisions of as many variables as those fitted."""
        if not are_decisions(decisions):
            raise InvalidArgument(f"this fit is of Decisions; received {type(decisions).__name__}; give Decisions")
        if decisions.n_variables != len(self.goods_):
            raise InvalidArgument(
                f"decisions must be of the {len(self.goods_)} variables of the fit; received {decisions.n_variables}"
            )
        return decisions

    def _take_decisions(self, data: Decisions) -> None:
        """Keep what is known of decisions before anything is learned."""
        self.problem_, self.goods_ = data.problem, data.names  # type: ignore[assignment]
        self.n_features_in_, self.n_observations_ = data.n_variables, len(data)
        self.data_hash_, self.observations_ = data.data_hash, data  # type: ignore[assignment]
