# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The simulated markets of the paper's Table 1, the same for whatever is tried on them.

A market depends on its cell (setting, law, goods, observations), its number and a seed alone, so methods meet the same
ones wherever and in whatever order they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_choice, check_count
from stochpref.errors import InvalidArgument
from stochpref.laws import CorruptedUtilityLaw, MenuLaw, VonMisesFisher, simulate, uniform_directions
from stochpref.names import EXHIBIT_SETTINGS, MENU_LAWS
from stochpref.observations import Menus, Observations
from stochpref.problems.divisible import choose
from stochpref.regions import Regions

Array = NDArray[np.float64]

LAWS: Final = {numeral: name for name, numeral in MENU_LAWS.items()}
BOUNDS: Final = (1.0, 10.0)  # of κ in the paper's experiments
CORRUPTION: Final = 0.1
N_SCORED: Final = 2000  # new menus, or new customers, that an estimate is scored on


class Cell(NamedTuple):
    """setting : "gaussian" or "corruption"; law : "i", "ii" or "iii"."""

    setting: str
    law: str
    n_goods: int
    n_observations: int


@dataclass(frozen=True, slots=True, repr=False)
class PaperMarket:
    """What one trial of Table 1 is about.

    cell, number : which one it is.
    observations : what an estimate may see.
    truth : (n,) unit vector: the mean direction (gaussian) or the utility of all but the odd customers (corruption).
    concentration : κ of the gaussian setting.
    hidden_mean : (n,) mean of the utilities behind the observations, which nobody sees.
    menus : new ones, on which an estimate is scored.
    fresh : what new customers bought from them (corruption); None in the gaussian setting.
    """

    cell: Cell
    number: int
    observations: Observations
    truth: Array
    concentration: float
    hidden_mean: Array
    menus: Menus
    fresh: Observations | None

    def __repr__(self) -> str:
        return f"<PaperMarket {self.number} of {', '.join(map(str, self.cell))}>"

    @property
    def ceiling(self) -> Array:
        """What seeing every utility would give: their mean direction (gaussian); the truth itself (corruption)."""
        return self.truth if self.fresh is not None else self.hidden_mean

    def value(self, estimate: ArrayLike) -> float:
        """Return the value on the new menus (gaussian), or the number of new customers strictly explained."""
        utility = self._direction(estimate)
        if self.fresh is not None:
            return float(np.sum(Regions.of(self.fresh).contains(utility, strict=True)))
        return float(np.sum(choose(utility, self.menus.prices, self.menus.budgets) @ self.truth))

    def accuracy(self, estimate: ArrayLike) -> float:
        """Return the value that an estimate reaches by that of the truth; the table pools both over its trials."""
        return self.value(estimate) / self.value(self.truth)

    def _direction(self, estimate: ArrayLike) -> Array:
        utility = np.asarray(estimate, np.float64)
        if utility.shape != self.truth.shape or not np.isfinite(utility).all() or not utility.any():
            raise InvalidArgument(
                f"an estimate must be {len(self.truth)} finite numbers, not all zero, one for each good; received "
                f"{np.array2string(utility, threshold=8)}"
            )
        return utility


def paper_markets(
    setting: str, law: str, n_goods: int, n_observations: int = 1000, *, n_trials: int = 20, seed: int = 0
) -> Iterator[PaperMarket]:
    """Yield the markets of one cell of the paper's Table 1, on which any estimator can be tried.

    Parameters
    ----------
    setting : "gaussian", customers who differ, or "corruption", one utility and a tenth of odd customers.
    law : of menus, "i", "ii" or "iii".
    n_goods, n_observations : of each market.
    n_trials : markets; more of them begin with the same ones.
    seed : the one of `stochpref reproduce table1`, whose trials are on these very markets.

    Yields
    ------
    `observations` to learn from, `truth`, and `accuracy` of an estimate.
    """
    check_choice(setting, "setting", EXHIBIT_SETTINGS)
    check_choice(law, "law", LAWS)
    check_count(n_goods, "n_goods", 2)
    check_count(n_observations, "n_observations", 1)
    check_count(n_trials, "n_trials", 1)
    check_count(seed, "seed", 0)
    cell = Cell(setting, law, n_goods, n_observations)
    return (make_market(cell, number, seed) for number in range(n_trials))


def make_market(cell: Cell, number: int, seed: int, concentration: float | None = None) -> PaperMarket:
    """Return a market of a cell; κ is drawn if it is None."""
    rng = np.random.default_rng(
        [seed, cell.n_goods, cell.n_observations, list(LAWS).index(cell.law), cell.setting == "gaussian", number]
    )
    law = MenuLaw(LAWS[cell.law])
    truth = uniform_directions(1, cell.n_goods, rng=rng)[0]
    while truth.max() <= 0.0:  # nothing is worth having: accuracy is 0/0
        truth = uniform_directions(1, cell.n_goods, rng=rng)[0]
    kappa = stratified_concentration(cell, number, seed) if concentration is None else concentration
    if cell.setting == "gaussian":
        utility_law: VonMisesFisher | CorruptedUtilityLaw = VonMisesFisher(truth, kappa)
    else:
        utility_law = CorruptedUtilityLaw(truth, CORRUPTION)
    observations, utilities = simulate(utility_law, law, cell.n_observations, rng=rng, return_utilities=True)
    menus = law.sample(N_SCORED, cell.n_goods, rng=rng)
    fresh = None
    if cell.setting == "corruption":
        drawn = utility_law.sample(N_SCORED, rng=rng)
        fresh = Observations(menus.prices, menus.budgets, choose(drawn, menus.prices, menus.budgets))
    return PaperMarket(cell, number, observations, truth, kappa, utilities.mean(axis=0), menus, fresh)


def stratified_concentration(cell: Cell, number: int, seed: int) -> float:
    """Return κ, spread evenly over its interval by the trials of a cell, however many there will be.

    Trial numbers with their bits reversed (van der Corput) fill the interval evenly; each cell shifts them by a random
    amount, so that κ is uniform.
    """
    share, step, rest = 0.0, 0.5, number
    while rest:
        share, step, rest = share + step * (rest % 2), 0.5 * step, rest // 2
    shift = np.random.default_rng([seed, cell.n_goods, cell.n_observations, list(LAWS).index(cell.law)]).random()
    return BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * ((share + shift) % 1.0)
