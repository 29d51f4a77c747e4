# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The laws data come from: utilities on the unit sphere, menus, and `simulate`, which lets customers choose.

A utility law has ``n_goods`` and ``sample(size, *, rng)``, one unit vector a row: `VonMisesFisher` for
customers who differ around a mean direction, `CorruptedUtilityLaw` for one common utility with some odd
customers. `MenuLaw` holds the three laws of prices and budgets of the paper's experiments.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.bessel import log_normaliser
from stochpref.choice import choose
from stochpref.errors import InvalidArgument, describe_rows
from stochpref.observations import Menus, Observations

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Array = NDArray[np.float64]

# How far from 1 a norm may be before a vector is taken for a mistake: vectors written with six decimals pass.
_UNIT_TOLERANCE = 1e-6


@runtime_checkable
class UtilityLaw(Protocol):
    """Anything that draws utilities: `VonMisesFisher`, `CorruptedUtilityLaw`, or a class of one's own."""

    @property
    def n_goods(self) -> int:
        """Number of goods, the length of every draw."""

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) utilities."""


@runtime_checkable
class _Sampler(Protocol):
    def sample(self, size: int, *, rng: np.random.Generator) -> Array: ...


def _is_sampler(source: object) -> TypeIs[_Sampler]:
    # A data frame's column has a method of that name too; it is an array first.
    return isinstance(source, _Sampler) and not hasattr(source, "__array__")


Contamination: TypeAlias = ArrayLike | Callable[[int, np.random.Generator], ArrayLike] | _Sampler | None


def uniform_directions(size: int, n_goods: int, *, rng: np.random.Generator) -> Array:
    """Return (size, n) vectors drawn uniformly from the unit sphere."""
    normals = check_rng(rng).standard_normal((_count(size, "size", 0), _count(n_goods, "n_goods", 1)))
    directions: Array = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return directions


@dataclass(frozen=True, slots=True, init=False, eq=False)
class VonMisesFisher:
    """Unit vectors with density proportional to exp(κ μ·u) on the sphere.

    Attributes
    ----------
    mean_direction : (n,) μ, n at least 2, of norm 1 (to 1e-6; kept normalised, read-only).
    concentration : κ, zero (the uniform law) or more.
    """

    mean_direction: Array
    concentration: float

    def __init__(self, mean_direction: ArrayLike, concentration: float) -> None:
        mu = _vector(mean_direction, "mean_direction")
        norm = float(np.linalg.norm(mu))
        if not abs(norm - 1.0) <= _UNIT_TOLERANCE:
            raise InvalidArgument(
                f"mean_direction must have norm 1; received norm {norm:.9g}; "
                "normalise it: mean_direction / np.linalg.norm(mean_direction)"
            )
        kappa = _number(concentration, "concentration")
        if not (np.isfinite(kappa) and kappa >= 0):
            raise InvalidArgument(
                f"concentration must be finite and not negative; received {kappa:g}; "
                "turn the mean direction round instead of changing the sign"
            )
        object.__setattr__(self, "mean_direction", _normalised(mu))
        object.__setattr__(self, "concentration", kappa)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.mean_direction.size

    def log_density(self, u: ArrayLike) -> Array | np.float64:
        """Return the log-density with respect to the surface measure of the sphere.

        Parameters
        ----------
        u : (n,) or (k, n) unit vectors (to 1e-6).

        Returns
        -------
        A number, or (k,) numbers.
        """
        points = self._unit_points(u)
        # κ(μ·u − 1) = −κ|u − μ|²/2 for unit vectors. The left side loses its digits near the mean at large κ;
        # the right side keeps them, and an error ε in a norm moves it by a relative ε only.
        half_square = 0.5 * np.sum(np.square(points - self.mean_direction), axis=-1)
        density: Array | np.float64 = -self.concentration * half_square - log_normaliser(
            self.n_goods, self.concentration
        )
        return density

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) draws, at a cost of O(size·n) whatever the concentration."""
        size, n, mu = _count(size, "size", 0), self.n_goods, self.mean_direction
        below, above = self.draw_heights(size, check_rng(rng))
        # In the frame whose first axis is μ a draw is (1 − d, √(d(2 − d))·v), v uniform on the other axes.
        draws = np.empty((size, n))
        draws[:, 0] = 1.0 - below
        draws[:, 1:] = uniform_directions(size, n - 1, rng=rng) * np.sqrt(below * above)[:, None]
        # The reflection I − 2ww'/|w|² with w = μ + sign(μ₁)e₁, |w|² = 2(1 + |μ₁|), takes e₁ to −sign(μ₁)μ, so
        # −sign(μ₁) times it takes e₁ to μ. With the other sign w would cancel where μ is near ±e₁.
        sign = 1.0 if mu[0] >= 0 else -1.0
        w = mu.copy()
        w[0] += sign
        draws -= np.outer(draws @ w, w / (1.0 + abs(mu[0])))
        draws *= -sign
        return draws

    def draw_heights(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw d = 1 − μ·u, and return (d, 2 − d), each with full relative accuracy.

        Notes
        -----
        Wood (1994), *Communications in Statistics, Simulation* 23, 157–164, rewritten in d. His proposal
        μ·u = (1 − (1+b)z)/(1 − (1−b)z), z ~ Beta((n−1)/2, (n−1)/2), is with z = g/(g + g'), g and g' gamma:

            d = 2bg/(g' + bg),   2 − d = 2g'/(g' + bg),   b = (n−1)/(2κ + √(4κ² + (n−1)²)).

        With x = (1−b)/(1+b), m = n − 1 and r = d/(1−x), where 1 − x = 2b/(1+b), his test
        κμ·u + m·log(1 − xμ·u) − κx − m·log(1 − x²) ≥ log U becomes
        κ(1−x)(1−r) + m·log(1 + x(r−1)/(1+x)) ≥ log U: no large terms cancel at large κ, and at κ = 0 it is
        0 ≥ log U, always true.
        """
        kappa, m = self.concentration, self.n_goods - 1
        b = m / (2.0 * kappa + np.hypot(2.0 * kappa, m))
        x = (1.0 - b) / (1.0 + b)
        below, above = np.empty(size), np.empty(size)
        missing = np.arange(size)
        while missing.size:
            g, g_other = rng.standard_gamma(0.5 * m, (2, missing.size))
            scale = g_other + b * g
            r = (1.0 + b) * g / scale
            log_ratio = kappa * (2.0 * b / (1.0 + b)) * (1.0 - r) + m * np.log1p(x * (r - 1.0) / (1.0 + x))
            is_accepted = log_ratio >= -rng.standard_exponential(missing.size)
            rows = missing[is_accepted]
            below[rows] = (2.0 * b * g / scale)[is_accepted]
            above[rows] = (2.0 * g_other / scale)[is_accepted]
            missing = missing[~is_accepted]
        return below, above

    def _unit_points(self, u: ArrayLike) -> Array:
        points = _floats(u, "u")
        if points.ndim not in (1, 2) or points.shape[-1] != self.n_goods:
            n = self.n_goods
            raise InvalidArgument(f"u must have shape ({n},) or (k, {n}); received shape {points.shape}")
        norms = np.linalg.norm(points, axis=-1, keepdims=True)
        bad = np.flatnonzero(~(np.abs(norms - 1.0) <= _UNIT_TOLERANCE))
        if bad.size:
            raise InvalidArgument(
                f"u must hold unit vectors; {bad.size} are not ({describe_rows(bad.tolist())}); "
                f"received norm {norms.flat[bad[0]]:.9g}; divide each by its norm"
            )
        unit: Array = points / norms
        return unit


@dataclass(frozen=True, slots=True, init=False, eq=False)
class CorruptedUtilityLaw:
    """One common utility, replaced for a random share of the customers.

    Attributes
    ----------
    utility : (n,) the common utility, n at least 2; any length but zero (kept normalised, read-only).
    corruption : δ in [0, 1], the probability that a customer is odd, independently of the others.
    contamination : what odd customers have instead: None for uniform on the sphere, an (n,) vector for one
        other utility, a function ``f(size, rng)`` returning (size, n), or a law with ``sample(size, rng=…)``.
        What these return is normalised.
    """

    utility: Array
    corruption: float
    contamination: Array | Callable[[int, np.random.Generator], ArrayLike] | _Sampler | None

    def __init__(self, utility: ArrayLike, corruption: float, contamination: Contamination = None) -> None:
        common = _normalised(_vector(utility, "utility"))
        share = _number(corruption, "corruption")
        if not 0.0 <= share <= 1.0:
            raise InvalidArgument(f"corruption must lie in [0, 1]; received {share:g}; give a share, not a percentage")
        if not (contamination is None or _is_sampler(contamination) or callable(contamination)):
            other = _vector(contamination, "contamination")
            if other.shape != common.shape:
                raise InvalidArgument(
                    f"contamination must have the length of utility, {common.size}; received {other.size}"
                )
            contamination = _normalised(other)
        object.__setattr__(self, "utility", common)
        object.__setattr__(self, "corruption", share)
        object.__setattr__(self, "contamination", contamination)

    @property
    def n_goods(self) -> int:
        """Number of goods, n."""
        return self.utility.size

    def sample(self, size: int, *, rng: np.random.Generator) -> Array:
        """Return (size, n) utilities; who is odd is drawn first, then what the odd ones have."""
        size = _count(size, "size", 0)
        is_odd = check_rng(rng).random(size) < self.corruption
        draws = np.tile(self.utility, (size, 1))
        if is_odd.any():
            draws[is_odd] = self._contaminate(int(is_odd.sum()), rng)
        return draws

    def _contaminate(self, size: int, rng: np.random.Generator) -> Array:
        source = self.contamination
        if source is None:
            return uniform_directions(size, self.n_goods, rng=rng)
        if isinstance(source, np.ndarray):
            return source[None]
        drawn = source.sample(size, rng=rng) if _is_sampler(source) else source(size, rng)
        odd = _floats(drawn, "contamination")
        if odd.shape != (size, self.n_goods):
            raise InvalidArgument(
                f"contamination must return (size, n_goods) = ({size}, {self.n_goods}) numbers; "
                f"received shape {odd.shape}"
            )
        norms = np.linalg.norm(odd, axis=1, keepdims=True)
        bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
        if bad.size:
            raise InvalidArgument(
                f"contamination must return finite vectors other than zero; {bad.size} are not "
                f"({describe_rows(bad.tolist())}); received {odd[bad[0]]}"
            )
        unit: Array = odd / norms
        return unit


_MENU_LAWS = {"uniform": "i", "discrete": "ii", "fixed": "iii"}


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
            **{word: word for word in _MENU_LAWS},
            **{numeral: word for word, numeral in _MENU_LAWS.items()},
        }
        if not isinstance(self.name, str) or self.name not in choices:
            listed = ", ".join(f"'{word}' (or '{numeral}')" for word, numeral in _MENU_LAWS.items())
            nearest = difflib.get_close_matches(str(self.name).lower(), list(choices), n=1, cutoff=0.0)[0]
            raise InvalidArgument(f"name must be one of {listed}; received {self.name!r}; did you mean '{nearest}'?")
        object.__setattr__(self, "name", choices[self.name])

    def sample(self, n_observations: int, n_goods: int, *, rng: np.random.Generator) -> Menus:
        """Return menus; all prices are drawn first, then all budgets."""
        shape = (_count(n_observations, "n_observations", 1), _count(n_goods, "n_goods", 1))
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
    menu_law : a law to draw menus from, or the menus themselves, one for each observation.
    n_observations : T.
    rng : the menus are drawn first, then the utilities.
    return_utilities : return the (T, n) utilities too.
    """
    if not isinstance(utility_law, UtilityLaw):
        raise InvalidArgument(
            f"utility_law must have n_goods and sample(size, rng=…); received {_kind(utility_law)}; "
            "pass VonMisesFisher(…) or CorruptedUtilityLaw(…)"
        )
    n_observations = _count(n_observations, "n_observations", 1)
    menus = _menus(menu_law, n_observations, utility_law.n_goods, check_rng(rng))
    utilities = utility_law.sample(n_observations, rng=rng)
    bundles = choose(utilities, menus.prices, menus.budgets, caps=menus.caps)
    observations = Observations(menus.prices, menus.budgets, bundles, goods=menus.goods, caps=menus.caps)
    return (observations, utilities) if return_utilities else observations


def _menus(menu_law: MenuLaw | Menus, n_observations: int, n_goods: int, rng: np.random.Generator) -> Menus:
    if isinstance(menu_law, MenuLaw):
        return menu_law.sample(n_observations, n_goods, rng=rng)
    if not isinstance(menu_law, Menus):
        raise InvalidArgument(
            f"menu_law must be a MenuLaw or Menus; received {_kind(menu_law)}; pass MenuLaw('uniform'), say"
        )
    if menu_law.prices.shape != (n_observations, n_goods):
        raise InvalidArgument(
            f"menu_law must hold n_observations = {n_observations} menus of the law's {n_goods} goods; "
            f"received {len(menu_law)} menus of {menu_law.n_goods} goods"
        )
    return menu_law


def check_rng(rng: np.random.Generator) -> np.random.Generator:
    """Return ``rng`` if it is a numpy Generator, else raise InvalidArgument."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument(
            f"rng must be a numpy Generator; received {_kind(rng)}; pass numpy.random.default_rng(seed)"
        )
    return rng


def _kind(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _count(value: int, argument: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidArgument(f"{argument} must be a whole number, {least} or more; received {value!r}")
    return int(value)


def _number(value: float, argument: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{argument} must be one number; received {value!r}") from None


def _floats(values: ArrayLike, argument: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{argument} must be an array of numbers; {error}") from None


def _vector(values: ArrayLike, argument: str) -> Array:
    """Return a finite vector of two numbers or more, not all zero."""
    vector = _floats(values, argument)
    if vector.ndim != 1 or vector.shape[0] < 2:
        raise InvalidArgument(f"{argument} must have shape (n_goods,), two goods or more; received {vector.shape}")
    if not np.isfinite(vector).all():
        raise InvalidArgument(f"{argument} must be finite; received {vector[~np.isfinite(vector)][0]:g}; remove it")
    if not vector.any():
        raise InvalidArgument(f"{argument} must not be the zero vector: it has no direction; give one good a worth")
    return vector


def _normalised(vector: Array) -> Array:
    vector = vector / np.abs(vector).max()  # so that squares neither overflow nor vanish
    vector /= np.linalg.norm(vector)
    vector.flags.writeable = False
    return vector
