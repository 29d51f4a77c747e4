# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Goods of which more is worth less and less, one budget: several are bought in part, as trips, litres and shares are.

With u_i what the first unit is worth and γ_i how fast that fades, customers buy the x that makes most of Σ V_i,

    V_i(x) = u_i γ_i log(1 + x/γ_i),   or, with power α,   V_i(x) = u_i (γ_i/α) ((1 + x/γ_i)^α − 1),

and of an outside good, which everybody buys, V_0(x) = u_0 log x, or u_0 x^α/α. A customer is a vector of u and, below
it, of g_i = u_i γ_i, which has the unit of u: only the direction of all of it matters, as in other problems. A good
does not satiate where γ_i = ∞, or α = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import as_number, nearest
from stochpref.errors import InvalidArgument, listed
from stochpref.kinds import ABOVE, ABSENT, AT, BELOW, MONEY_TOLERANCE, QUANTITY_TOLERANCE
from stochpref.problems.divisible import as_real, rows_of
from stochpref.problems.faults import Fault, MenuArrays, is_bought, per_row
from stochpref.problems.protocol import Problem
from stochpref.problems.satiated_choice import Tables, buy_rows, sum_rows
from stochpref.threads import for_blocks

if TYPE_CHECKING:
    from stochpref.observations import Observations

Array = NDArray[np.float64]

REST: Final = "rest"  # what is left of the budget, as a good
FADING: Final = "satiation of "  # how the coordinate g of a good is called
_BLOCK: Final = 2048
_SAME: Final = 1e-6  # relative: quantities that differ by less are the same


class Bought(NamedTuple):
    """What was bought, with the outside good that is the rest of the budget in a column of its own, the last.

    side : (T, k) AT, BELOW, ABOVE or ABSENT, in the constants of `kinds`.
    prices, bundles : (T, k); the price is 1 where a good is absent, or is the rest.
    outside : place of the outside good; None if there is none.
    """

    side: NDArray[np.int8]
    prices: Array
    bundles: Array
    outside: int | None


class Told:
    """What fits ask of bundles whose likelihood is a density: all of them can be used.

    Several goods in part leave no room for utilities around a point, so that regions have no inside.
    """

    has_masses: ClassVar[bool] = False
    agreement: ClassVar[str] = ""  # no common utility is sought
    degenerate_because: ClassVar[str] = "none of goods that satiate is"
    degenerate_unless: ClassVar[str] = ""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations

    @property
    def n_goods(self) -> int:
        """Number of coordinates of utilities."""
        return len(self._observations.problem.coordinates(self._observations.goods))

    @property
    def is_degenerate(self) -> NDArray[np.bool_]:
        """Which bundles nothing explains: none."""
        return np.zeros(len(self._observations), np.bool_)

    def __len__(self) -> int:
        return len(self._observations)

    def __getitem__(self, rows: Any) -> Told:
        return Told(self._observations[rows])

    def contains(self, u: ArrayLike, *, strict: bool = False) -> NDArray[np.bool_]:  # noqa: ARG002
        """Tell of which bundles a customer would buy them."""
        return self._observations.problem.holds(self._observations, np.asarray(u, np.float64))

    def interior_points(self, *, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Refuse: there are none."""
        raise InvalidArgument(
            "utilities that explain bundles of goods that satiate have no inside; fit SatiatedUtility"
        )


class Satiated(Problem):
    """Goods that satiate, one budget, all of which is spent.

    Parameters
    ----------
    outside : the good that everybody buys: "rest" for what is left of the budget, or a good's name; None for none, so
        that bundles cost the budget.
    power : α of the worth of goods, 1 at most; None for 0, the logarithm, unless a model learns it.
    """

    name: ClassVar[str] = "satiated"
    about: ClassVar[str] = "goods worth less and less the more one has, budgets known and all of them spent"
    default_cap: ClassVar[float] = np.inf
    has_masses: ClassVar[bool] = False
    tells_by_amount: ClassVar[bool] = True
    made_for: ClassVar[str] = "fit SatiatedUtility (--model satiated)"
    unpriced: ClassVar[str] = (
        "best prices are worked out where money is a good of its own; demand at prices of your choice tells here what "
        "each brings in"
    )

    def __init__(self, outside: str | None = None, power: float | None = None) -> None:
        if not (outside is None or isinstance(outside, str)):
            raise InvalidArgument(f"outside must be {REST!r}, the name of a good, or None; received {outside!r}")
        if power is not None and not -np.inf < as_number(power, "power") <= 1:
            raise InvalidArgument(f"power must be a number, 1 at most, or None; received {power!r}")
        self.outside = outside
        self.power = None if power is None else float(power)

    def settings(self) -> dict[str, Any]:
        """Return the outside good and the power."""
        return {"outside": self.outside, "power": self.power}

    @property
    def bend(self) -> float:
        """How fast marginal worth falls in log(1 + x/γ): 1 − α, 0 for goods that do not satiate."""
        return 1.0 - (self.power or 0.0)

    def coordinates(self, goods: tuple[str, ...]) -> tuple[str, ...]:
        """Return the goods, the rest of the budget if it is a good, and how inside goods satiate."""
        inside = [name for name in goods if name != self.outside or self.outside == REST]
        named = (*goods, *((REST,) if self.outside == REST else ()), *(f"{FADING}{name}" for name in inside))
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise InvalidArgument(f"goods must not be called {twice!r} in this problem; rename the good")
        return named

    def outside_place(self, goods: tuple[str, ...]) -> int | None:
        """Return the place of the outside good among the goods and the rest, None if there is none."""
        if self.outside is None:
            return None
        if self.outside == REST:
            return len(goods)
        if self.outside not in goods:
            raise InvalidArgument(
                f"outside must be {REST!r} or one of the goods, {listed(goods)}; received {self.outside!r}"
                f"{nearest(self.outside, goods)}"
            )
        return goods.index(self.outside)

    def choose(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        """Return the best bundles (..., T, n): spending rises with 1/λ in straight pieces, between goods' first units.

        Goods worth nothing are not bought; where several do not satiate and are worth the same for money, the first is.
        """
        given, own = self._utilities(utilities, menus), menus.budgets.shape
        lead = np.broadcast_shapes(given.shape[:-1], own)
        rows = rows_of(given.shape[:-1], lead), rows_of(own, lead)
        tables, bundles = self._tables(menus), np.zeros((*lead, menus.prices.shape[1]))
        flat, u = bundles.reshape(-1, bundles.shape[-1]), np.ascontiguousarray(given).reshape(-1, given.shape[-1])

        def fill(start: int, stop: int) -> None:
            buy_rows(u, tables, rows, flat, start, stop)

        for_blocks(fill, len(flat), _BLOCK)
        return bundles

    def total(self, utilities: Array, menus: MenuArrays) -> tuple[Array, Array]:
        """Return what customers (m, N) buy together from each of T menus, (T, n), and how many they are, (T,)."""
        own = self._utilities(utilities, menus)
        if not (own > 0).all():
            return super().total(own, menus)
        bought = np.zeros(menus.prices.shape)
        sum_rows(np.ascontiguousarray(own), self._tables(menus), bought)
        return bought, np.full(len(bought), float(len(own)))

    def takes_part(self, utilities: Array, menus: MenuArrays) -> NDArray[np.bool_]:
        """Tell who spends the budget as the problem has it: those to whom everything is worth something, for one."""
        u = np.asarray(utilities, np.float64)
        if (u > 0).all():
            return super().takes_part(u, menus)
        return self._is_right(menus, self.choose(u, menus))

    def find_faults(self, menus: MenuArrays, bundles: Array | None) -> list[Fault]:
        """Return every broken rule of value: those of any purchase, and that the budget goes where it should."""
        self.coordinates(menus.goods)
        place, n = self.outside_place(menus.goods), menus.prices.shape[1]
        found = super().find_faults(menus, bundles)
        if place is not None and place < n:
            found += per_row(
                "prices", f"the outside good, {self.outside!r}, must be on offer", ~np.isfinite(menus.prices[:, place]),
                lambda row: f"{menus.prices[row, place]:g}", "leave the row out, or name another good",
            )  # fmt: skip
        if bundles is None or found:
            return found
        rule, remedy = self._rule_of_spending()
        bad, spent = ~self._is_right(menus, bundles), _spent(menus, bundles)

        def received(row: int) -> str:
            return f"cost {spent[row]:g} against a budget of {menus.budgets[row]:g}"

        return per_row("bundles", rule, bad, received, remedy)

    def _rule_of_spending(self) -> tuple[str, str]:
        if self.outside == REST:
            return (
                "what is left of the budget is the outside good, of which everybody has some: a bundle must cost less",
                "state a larger budget, such as income, or outside=None if all of it is spent on the goods",
            )
        if self.outside is not None:
            return (
                f"everybody buys some of the outside good, {self.outside!r}, and spends all of the budget",
                "leave the row out, or take outside='rest' (--outside rest) if money is left",
            )
        return (
            "where no good is outside, a bundle must cost the whole budget, unless all on offer is at its cap",
            "state outside='rest' (--outside rest), so that what is left of the budget is a good, or read with "
            "budget='spent' (--budget spent)",
        )

    def _is_right(self, menus: MenuArrays, bundles: Array) -> NDArray[np.bool_]:
        """Tell which bundles (..., T) spend the budget as the problem has it."""
        spent, budgets = _spent(menus, bundles), menus.budgets
        is_spent = spent >= budgets * (1.0 - MONEY_TOLERANCE)
        if self.outside == REST:
            return ~is_spent
        if self.outside is not None:
            place = self.outside_place(menus.goods)
            return is_spent & (bundles[..., place] > 0)
        in_full = (bundles >= menus.caps * (1.0 - QUANTITY_TOLERANCE)) | ~np.isfinite(menus.prices)
        return is_spent | np.asarray(in_full.all(axis=-1))

    def bought(self, observations: Observations) -> Bought:
        """Return what was bought as densities see it."""
        place, n = self.outside_place(observations.goods), observations.n_goods
        offered, bundles, caps = np.isfinite(observations.prices), observations.bundles, observations.caps
        prices = np.where(offered, observations.prices, 1.0)
        in_part = is_bought(bundles, caps) & (bundles < caps * (1.0 - QUANTITY_TOLERANCE))
        side = np.where(in_part, AT, np.where(is_bought(bundles, caps), ABOVE, BELOW))
        side = np.where(offered, side, ABSENT).astype(np.int8)
        if place == n:
            left = observations.budgets - _spent(observations, bundles)
            side = np.column_stack([side, np.full(len(side), AT, np.int8)])
            prices, bundles = np.column_stack([prices, np.ones(len(side))]), np.column_stack([bundles, left])
        elif place is not None:
            side[:, place] = AT
        return Bought(side, prices, bundles, place)

    def explained(self, observations: Observations) -> Told:
        """Return that every bundle can be used."""
        return Told(observations)

    def holds(self, observations: Observations, utility: Array) -> NDArray[np.bool_]:
        """Tell of which observations (T,) a customer would buy the bundle, to a part in a million."""
        chosen = self.choose(utility, observations)
        near = np.abs(chosen - observations.bundles) <= _SAME * np.maximum(observations.bundles, _SAME)
        return np.asarray(near.all(axis=1))

    def admits(self, other: Problem | None) -> bool:
        """Tell whether menus state this problem, or leave its power open."""
        return super().admits(other) or (isinstance(other, Satiated) and other == Satiated(self.outside))

    def _tables(self, menus: MenuArrays) -> Tables:
        place = self.outside_place(menus.goods)
        prices = np.where(np.isnan(menus.prices), np.inf, menus.prices)
        outside = -1 if place is None else place
        return Tables(prices, np.array(menus.budgets), np.array(menus.caps), outside, self.bend)

    def _utilities(self, utilities: ArrayLike, menus: MenuArrays) -> Array:
        u, size = np.atleast_1d(as_real(utilities, "utilities")), len(self.coordinates(menus.goods))
        if u.shape[-1] != size:
            raise InvalidArgument(
                f"utilities must have {size} coordinates, the worth of each good and then how each satiates; received "
                f"shape {u.shape}"
            )
        if np.isnan(u).any():
            raise InvalidArgument("utilities must be numbers; received NaN; check what they come from")
        return u


def _spent(menus: MenuArrays, bundles: Array) -> Array:
    prices = np.where(np.isfinite(menus.prices), menus.prices, 0.0)
    return np.asarray(np.einsum("...ti,ti->...t", bundles, prices))
