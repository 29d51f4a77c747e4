# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Menus as the paper draws them, and `simulate`, which lets customers of any law choose from menus."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, overload

import numpy as np
from numpy.typing import NDArray

from stochpref.checks import check_count, check_rng, kind_of
from stochpref.errors import InvalidArgument
from stochpref.laws.protocol import UtilityLaw
from stochpref.names import MENU_LAWS
from stochpref.observations import Menus, Observations
from stochpref.problems import problem_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MOST_ROUNDS: Final = 10_000  # of drawing again; a share of 1e-3 of customers is found


@dataclass(frozen=True, slots=True)
class MenuLaw:
    """The prices and budgets of the paper's experiments, independent from menu to menu and good to good.

    name : "uniform", or "i": prices U[1, 2], budget U[1, n];
        "discrete", or "ii": prices 1 or 2, budget one of 1, 2, …, n, all equally likely;
        "fixed", or "iii": prices 1, budget one of 1, 2, …, n, all equally likely.
        Kept as the word.
    """

    name: str

    def __post_init__(self) -> None:
        choices = {
            **{word: word for word in MENU_LAWS},
            **{numeral: word for word, numeral in MENU_LAWS.items()},
        }
        if not isinstance(self.name, str) or self.name not in choices:
            listed = ", ".join(f"'{word}' (or '{numeral}')" for word, numeral in MENU_LAWS.items())
            nearest = difflib.get_close_matches(str(self.name).lower(), list(choices), n=1, cutoff=0.0)[0]
            raise InvalidArgument(f"name must be one of {listed}; received {self.name!r}; did you mean '{nearest}'?")
        object.__setattr__(self, "name", choices[self.name])

    def sample(self, n_observations: int, n_goods: int, *, rng: np.random.Generator) -> Menus:
        """Return menus; all prices are drawn first, then all budgets."""
        shape = (check_count(n_observations, "n_observations", 1), check_count(n_goods, "n_goods", 1))
        rng = check_rng(rng)
        if self.name == "uniform":
            return Menus(rng.uniform(1.0, 2.0, shape), rng.uniform(1.0, n_goods, n_observations))
        highest = 2 if self.name == "discrete" else 1
        prices = rng.integers(1, highest, shape, endpoint=True)
        return Menus(prices, rng.integers(1, n_goods, n_observations, endpoint=True))


@overload
def simulate(
    utility_law: UtilityLaw, menu_law: MenuLaw | Menus, n_observations: int, *, rng: np.random.Generator,
    return_utilities: Literal[False] = False,
) -> Observations: ...  # fmt: skip
@overload
def simulate(
    utility_law: UtilityLaw, menu_law: MenuLaw | Menus, n_observations: int, *, rng: np.random.Generator,
    return_utilities: Literal[True],
) -> tuple[Observations, Array]: ...  # fmt: skip
def simulate(
    utility_law: UtilityLaw,
    menu_law: MenuLaw | Menus,
    n_observations: int,
    *,
    rng: np.random.Generator,
    return_utilities: bool = False,
) -> Observations | tuple[Observations, Array]:
    """Return what customers drawn from a law buy, each from a menu of their own.

    Parameters
    ----------
    utility_law : `VonMisesFisher`, `CorruptedUtilityLaw`, or anything with ``n_goods`` and ``sample``.
    menu_law : a law to draw menus from, or the menus themselves, one for each observation; customers solve the problem
        of the menus, that of divisible goods unless they state one.
    n_observations : T.
    rng : the menus are drawn first, then the utilities; those of customers the problem is not about are drawn again.
    return_utilities : return the (T, n) utilities too.
    """
    if not isinstance(utility_law, UtilityLaw):
        raise InvalidArgument(
            f"utility_law must have n_goods and sample(size, rng=…); received {kind_of(utility_law)}; "
            "pass VonMisesFisher(…) or CorruptedUtilityLaw(…)"
        )
    n_observations = check_count(n_observations, "n_observations", 1)
    menus = _menus(menu_law, n_observations, utility_law.n_goods, check_rng(rng))
    problem = problem_of(menus)
    utilities = draw_customers(partial(utility_law.sample, rng=rng), menus)
    observations = Observations(
        menus.prices, menus.budgets, problem.choose(utilities, menus), goods=menus.goods, caps=menus.caps,
        problem=problem, features=menus.features,
    )  # fmt: skip
    return (observations, utilities) if return_utilities else observations


def draw_customers(draw_fn: Callable[[int], Array], menus: Menus, *, nonempty: bool = False) -> Array:
    """Return `draw_customers_at` menus that do not change who the customers are.

    Parameters
    ----------
    draw_fn : size -> (size, N) utilities, in the order of the coordinates of the menus' problem.
    """
    return draw_customers_at(lambda rows: draw_fn(len(rows)), menus, nonempty=nonempty)


def draw_customers_at(draw_fn: Callable[[Indices], Array], menus: Menus, *, nonempty: bool = False) -> Array:
    """Return utilities (T, N), one for each menu, of customers whose purchases are recorded.

    Parameters
    ----------
    draw_fn : places of menus -> a utility each, in the order of the coordinates of the menus' problem.
    nonempty : those who buy nothing are not recorded.

    Raises
    ------
    InvalidArgument : at some menu there are hardly any such customers.
    """
    missing = np.arange(len(menus))
    utilities = draw_fn(missing)
    utilities = utilities if utilities.flags.writeable else utilities.copy()
    for _ in range(_MOST_ROUNDS):
        here, own = menus[missing], utilities[missing]
        problem = problem_of(here)
        is_in = problem.takes_part(own, here)
        if nonempty:
            is_in = is_in & problem.choose(own, here).any(axis=1)
        missing = missing[~is_in]
        if missing.size == 0:
            return utilities
        utilities[missing] = draw_fn(missing)
    raise InvalidArgument(
        f"the law must have customers whose purchases are recorded; at {missing.size} of {len(menus)} menus none of "
        f"{_MOST_ROUNDS:,} drawn was one; give what customers spend, money or a choice, more worth"
    )


def _menus(menu_law: MenuLaw | Menus, n_observations: int, n_goods: int, rng: np.random.Generator) -> Menus:
    if isinstance(menu_law, MenuLaw):
        return menu_law.sample(n_observations, n_goods, rng=rng)
    if not isinstance(menu_law, Menus):
        raise InvalidArgument(
            f"menu_law must be a MenuLaw or Menus; received {kind_of(menu_law)}; pass MenuLaw('uniform'), say"
        )
    named = problem_of(menu_law).coordinates(menu_law.goods)
    if (len(menu_law), len(named)) != (n_observations, n_goods):
        more = "" if len(named) == menu_law.n_goods else f", whose utilities have {len(named)} coordinates"
        raise InvalidArgument(
            f"menu_law must hold n_observations = {n_observations} menus of the law's {n_goods} goods; "
            f"received {len(menu_law)} menus of {menu_law.n_goods} goods{more}"
        )
    return menu_law
