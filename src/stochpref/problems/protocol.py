# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What a problem is: a way to choose a bundle, rules of value, and, where models fit it, regions of utilities.

Utilities have a coordinate for each good and, in some problems, more: the money that is kept, say. `coordinates` names
them; `choose` and `regions` take them in that order, bundles and prices stay over the goods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.chances import Chance, Recorded
from stochpref.errors import InvalidArgument
from stochpref.problems.faults import Fault, MenuArrays, find_faults

if TYPE_CHECKING:
    from stochpref.observations import Menus, Observations
    from stochpref.problems.interval_regions import IntervalRegions
    from stochpref.regions import Explained, Regions

Array = NDArray[np.float64]

FITTED: Final = ("divisible", "linear", "one", "open", "whole")  # problems that models fit


class Classification(NamedTuple):
    """What bundles say about the shadow price of money, in the constants of `kinds`.

    kind : (T,) of each observation. side : (T, n) of each good. pivot : (T,) the good bought in part, -1 if there is
    none.
    """

    kind: NDArray[np.int8]
    side: NDArray[np.int8]
    pivot: NDArray[np.int32]


class Ranking(NamedTuple):
    """In which order customers buy from one menu, until their money ends.

    worth : (m, n) what they buy most of first; -inf for what they would not buy.
    outlay : (n,) of their money that a unit takes.
    money : that everybody has; None where it is the budget.
    """

    worth: Array
    outlay: Array
    money: float | None


class _MenuRow(NamedTuple):
    """Menus made of others: one of several, or all at other prices."""

    prices: Array
    budgets: Array
    caps: Array
    goods: tuple[str, ...]

    @classmethod
    def of(cls, menus: MenuArrays, t: int) -> _MenuRow:
        one = slice(t, t + 1)
        return cls(menus.prices[one], menus.budgets[one], menus.caps[one], menus.goods)


class Problem(ABC):
    """What customers solve. One that only chooses needs a name and `choose`; the rest has an answer here.

    Utilities have a coordinate for each good, unless `coordinates` says otherwise; menus and bundles are over goods.

    name : of the problem in the table.
    needs_budget : customers have money to spend that is stated; where they have not, budgets are infinite.
    demanded : what demand is, in words.
    about : what is taken for granted of goods and money, in words.
    has_kinds : the kinds of observation say something to people, so that an audit counts them.
    has_masses : bundles have regions whose masses are known; elsewhere utilities inside can be drawn at best.
    has_corners : several limits may bind at once, each with a shadow price of its own.
    default_cap : the largest quantity of a good where none is stated.
    chooses_one : of several goods each customer takes one, so that money is no matter.
    tells_by_amount : how much was bought tells what is wanted more, even where all that is on offer was bought.
    made_for : what fits this problem, where other models cannot.
    unpriced : why no best prices follow, in words, where customers cannot keep their money; "" where they can.
    """

    name: ClassVar[str]
    needs_budget: ClassVar[bool] = True
    demanded: ClassVar[str] = "Expected purchases of a customer"
    about: ClassVar[str] = "budgets known"
    has_kinds: ClassVar[bool] = False
    has_masses: ClassVar[bool] = True
    has_corners: ClassVar[bool] = False
    default_cap: ClassVar[float] = 1.0
    chooses_one: ClassVar[bool] = False
    tells_by_amount: ClassVar[bool] = False
    made_for: ClassVar[str] = ""
    unpriced: ClassVar[str] = (
        "profit never falls when all prices rise, because customers here cannot keep their money: the best prices are "
        "the bounds"
    )

    @classmethod
    def by_name(cls) -> Self:
        """Return the problem with its usual settings, as a name alone means it."""
        return cls()

    @abstractmethod
    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return the best bundles (..., T, n) from T menus.

        Parameters
        ----------
        utilities : over the coordinates, (N,), (T, N) or (..., T, N).
        """

    def limits(self, menus: MenuArrays) -> Array:
        """Return the largest quantities (T, n) that may be bought."""
        return menus.caps

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value, with its rows; bundles are None for menus."""
        return find_faults(menus, bundles, needs_budget=self.needs_budget)

    def coordinates(self, goods: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of what utilities are about: the goods, unless the problem knows better."""
        return goods

    def owners(self, goods: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the place of the good that each coordinate is of, -1 for one of none."""
        n = len(goods)
        return np.append(np.arange(n), np.full(len(self.coordinates(goods)) - n, -1))

    def leading(self, goods: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the place (n,) of the first coordinate of each good, which tells most of it."""
        owners = self.owners(goods)
        return np.array([int(np.argmax(owners == i)) for i in range(len(goods))], np.intp)

    def total(self, utilities: Array, menus: MenuArrays) -> tuple[Array, Array]:
        """Return what customers (m, N) buy together from each of T menus, (T, n), and how many of them count, (T,)."""
        bought, counts = np.empty(menus.prices.shape), np.empty(len(menus.prices))
        for t in range(len(bought)):  # a menu at a time: (m, n) numbers at once are enough
            own, menu = self.take(np.array([t])), _MenuRow.of(menus, t)
            bundles = own.choose(utilities[:, None], menu)[:, 0]
            does = own.takes_part(utilities[:, None], menu)[:, 0]
            bought[t], counts[t] = bundles[does].sum(axis=0), does.sum()
        return bought, counts

    def total_repriced(
        self, utilities: Array, menus: MenuArrays, goods: NDArray[np.intp], prices: Array
    ) -> tuple[Array, Array]:
        """Return what customers buy together, each from a menu of their own, while one price at a time is another.

        Parameters
        ----------
        utilities : (m, N), of as many customers as there are menus.
        goods, prices : (k,) places and (k, m): of each change, the good, and what it costs on each menu.

        Returns
        -------
        (k, n) sums, and (k,) how many customers count.
        """
        bought, counts = np.empty((len(goods), menus.prices.shape[1])), np.empty(len(goods))
        for k, good in enumerate(goods.tolist()):
            changed = menus.prices.copy()
            changed[:, good] = prices[k]
            asked = _MenuRow(changed, menus.budgets, menus.caps, menus.goods)
            does = self.takes_part(utilities, asked)
            bought[k], counts[k] = self.choose(utilities, asked)[does].sum(axis=0), does.sum()
        return bought, counts

    def worth(self, utilities: Array) -> Array | None:  # noqa: ARG002
        """Return the prices (m, n) up to which customers (m, N) whom the problem is about buy a unit of each good.

        None where money cannot be kept, so that no price is too high.
        """
        return None

    def ranking(self, utilities: Array, menus: MenuArrays) -> Ranking | None:  # noqa: ARG002
        """Return in which order customers (m, N) buy from one menu, however many of its goods are left out.

        None where that depends on what else is bought.
        """
        return None

    def handicaps(self, menus: MenuArrays) -> Array | None:  # noqa: ARG002
        """Return what counts against each option (T, J), inf where there is none, of a choice of a single good.

        Options are the goods, and none of them if that is one. The option is chosen whose utility, or the logarithm of
        it where worth is by value, less its handicap is the largest. None where several goods may be bought.
        """
        return None

    def skips_units(self, utilities: ArrayLike, menus: MenuArrays) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Tell who buys (..., T) a later unit of some good without an earlier one; None where goods have no units."""
        return None

    def takes_part(self, utilities: Array, menus: MenuArrays) -> NDArray[np.bool_]:
        """Tell which customers the problem is about, (..., T) of utilities as in `choose`: all, as a rule.

        Others never show up where purchases are recorded; `event` has the probability of it.
        """
        lead = np.broadcast_shapes(np.shape(utilities)[:-1], (len(menus.prices),))
        return np.ones(lead, np.bool_)

    def classify(self, menus: MenuArrays, bundles: Array) -> Classification | None:  # noqa: ARG002
        """Return kinds and sides, None where bundles of this problem say nothing of the kind."""
        return None

    def regions(self, observations: Observations) -> Regions:  # noqa: ARG002
        """Return the utilities that explain each observation; degenerate rows are kept and marked.

        Raises
        ------
        InvalidArgument : this problem has no such regions.
        """
        raise _unhandled("Regions", f"problem {self.name!r}", "simulate it, or fit what is made for it")

    def chance(self, observations: Observations) -> Chance:
        """Return the probabilities of what was bought, made of masses of regions: of those of `regions`, as a rule."""
        return Chance.of(self.regions(observations))

    def event(self, menus: MenuArrays, *, nonempty: bool = False) -> Chance | None:  # noqa: ARG002
        """Return the probabilities that a customer at each menu is one whose purchase is recorded; None if all are.

        Parameters
        ----------
        nonempty : empty bundles are not recorded.
        """
        if nonempty:
            raise _unhandled("the likelihood", f"nonempty=True of problem {self.name!r}", "leave nonempty out")
        return None

    def span(self, n_coordinates: int) -> Array | None:  # noqa: ARG002
        """Return an orthonormal basis (N, k) of what bundles tell of mean utilities; None where that is all of them."""
        return None

    def recorded(self, observations: Observations) -> Recorded:
        """Return what a likelihood takes of observations."""
        event = self.event(observations, nonempty=observations.nonempty)
        return Recorded(self.chance(observations), event, self.span(len(self.coordinates(observations.goods))))

    def unknown(self, menus: MenuArrays) -> tuple[str, float] | None:  # noqa: ARG002
        """Return the setting that is left to be learned, and its order of magnitude; None if there is none."""
        return None

    def with_setting(self, name: str, value: float | str) -> Self:
        """Return the problem with another value of a setting."""
        return type(self).restore(self.settings() | {name: value})

    def admits(self, other: Problem | None) -> bool:
        """Tell whether menus that state another problem, or none, can be asked of what was fitted for this one."""
        return other is None or other == self

    def facing(self, stated: Problem | None, goods: tuple[str, ...], known: tuple[str, ...]) -> Problem:  # noqa: ARG002
        """Return what is solved at menus that state a problem which is admitted, or none: this one, as it was learned.

        One with data by row or good takes those of the menus, if they state any.

        Parameters
        ----------
        goods, known : of the menus and of this problem.
        """
        return self

    def typical(self) -> Self:
        """Return the problem of a menu in the middle of many, for one that has data by row."""
        return self

    def movable(self) -> dict[str, float]:
        """Return the limits beside the budget that a what-if moves, by name; for one that all menus share."""
        return {}

    def intervals(self, observations: Observations) -> IntervalRegions:  # noqa: ARG002
        """Return those utilities by the interval of each coordinate, for a problem whose regions have no masses."""
        raise _unhandled(
            "IntervalRegions", f"problem {self.name!r}", "its regions have masses, Regions.of(observations)"
        )

    def explained(self, observations: Observations) -> Explained:
        """Return what is known of the utilities that explain each observation: those regions, or others with less."""
        return self.regions(observations)

    def holds(self, observations: Observations, utility: Array) -> NDArray[np.bool_]:
        """Tell of which observations (T,) the bundle is the only one that a utility would buy."""
        return self.chance(observations).contains(utility, strict=True)

    def typical_caps(self, caps: Array) -> Array:
        """Return caps (n,) in the middle of those of many menus (T, n)."""
        middle: Array = np.median(caps, axis=0)
        return middle

    def take(self, rows: NDArray[np.intp]) -> Self:  # noqa: ARG002
        """Return the problem of some of the rows, for one that has data by row."""
        return self

    def join(self, others: Sequence[Problem | None]) -> Self:
        """Return the problem of these rows followed by those of others."""
        for other in others:
            if other != self:
                raise InvalidArgument(
                    f"concat needs the same problem; {self!r} against {other!r}; state one for all, such as "
                    "problem='divisible'"
                )
        return self

    def over(self, goods: tuple[str, ...], known: tuple[str, ...] | None = None) -> Self:  # noqa: ARG002
        """Return the problem over these goods, for one that has data by good; `known` are the goods so far."""
        return self

    def settings(self) -> dict[str, Any]:
        """Return what makes the problem again, by name: values that JSON can hold, and arrays."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any]) -> Self:
        """Return the problem with these settings."""
        return cls(**settings)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem) or type(self) is not type(other):
            return NotImplemented
        own, its = self.settings(), other.settings()
        return own.keys() == its.keys() and all(np.array_equal(own[name], its[name]) for name in own)

    def __hash__(self) -> int:
        return hash((type(self), *self.settings()))

    def __repr__(self) -> str:
        shown = (f"{n}=<{v.shape}>" if isinstance(v, np.ndarray) else f"{n}={v!r}" for n, v in self.settings().items())
        return f"{type(self).__name__}({', '.join(shown)})"


def check_handled(
    record: Menus | Observations,
    what: str,
    *,
    problems: Collection[str] = ("divisible",),
    features: bool = True,
    nonempty: bool = False,
) -> None:
    """Refuse menus or observations that something would get wrong in silence.

    Parameters
    ----------
    what : the name of what is asked, for the message.
    problems : those it can handle.
    features, nonempty : whether it can handle records that have features, or that leave empty bundles out.

    Raises
    ------
    InvalidArgument : the record asks for more than that.
    """
    problem = record.problem
    if problem is not None and problem.name not in problems:
        known = " or ".join(repr(name) for name in problems)
        other = problem.made_for or "take what is made for theirs"
        remedy = f"it handles {known}: state that, if it is what customers solve, or {other}"
        raise _unhandled(what, f"problem {problem.name!r}", remedy)
    if record.features and not features:
        named = ", ".join(repr(name) for name in record.features)
        raise _unhandled(what, f"features ({named})", "leave them out, features=None")
    if getattr(record, "nonempty", False) and not nonempty:
        remedy = "it takes empty bundles for recorded: leave nonempty out, if they were"
        raise _unhandled(what, "nonempty=True", remedy)


def _unhandled(what: str, thing: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(f"{what} cannot handle {thing}; {remedy}")
