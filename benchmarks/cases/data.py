"""The observations, menus and folders that cases share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import stochpref as sp

LAWS: Final = {"i": "uniform", "ii": "discrete", "iii": "fixed"}


def direction(n: int, seed: int = 0) -> np.ndarray:
    mu = np.random.default_rng([seed, n]).standard_normal(n)
    return mu / np.linalg.norm(mu)


@cache
def market(law: str = "i", n: int = 4, size: int = 80, kappa: float = 6.0, seed: int = 1) -> sp.Observations:
    rng = np.random.default_rng(seed)
    return sp.simulate(sp.VonMisesFisher(direction(n), kappa), sp.MenuLaw(LAWS[law]), size, rng=rng)


@cache
def crowd(law: str = "i", n: int = 5, size: int = 150, seed: int = 2) -> sp.Observations:
    """Simulate customers who share one utility, but for a tenth."""
    rng = np.random.default_rng(seed)
    return sp.simulate(sp.CorruptedUtilityLaw(np.abs(direction(n)), 0.1), sp.MenuLaw(LAWS[law]), size, rng=rng)


def patchy_menus(size: int, n: int = 5, seed: int = 3) -> sp.Menus:
    """Menus that lack goods, with caps and prices of another currency."""
    rng = np.random.default_rng(seed)
    prices = 40.0 * rng.uniform(1.0, 2.0, (size, n))
    prices[rng.random((size, n)) < 0.25] = np.inf
    prices[:, 0] = 50.0 + np.arange(size) % 7
    names = [f"good {letter}" for letter in "abcdefgh"[:n]]
    return sp.Menus(prices, 40.0 * rng.uniform(0.5, 3.0, size), goods=names, caps=rng.choice([0.5, 1.0, 2.0], n))


@cache
def patchy(size: int = 200, *, is_common: bool = False) -> sp.Observations:
    """Observations with goods absent and caps."""
    menus = patchy_menus(size)
    rng = np.random.default_rng(4)
    law = sp.CorruptedUtilityLaw(np.abs(direction(5)), 0.1) if is_common else sp.VonMisesFisher(direction(5), 5.0)
    return sp.simulate(law, menus, size, rng=rng)


@cache
def degenerate() -> sp.Observations:
    """Observations of which three could be explained by exact ties only."""
    data = market("i", 4, 120)
    bundles = data.bundles.copy()
    bundles[[5, 17, 40]] = 0.1
    return sp.Observations(data.prices, data.budgets, bundles, goods=data.goods)


DATA: Final[dict[str, Callable[[], sp.Observations]]] = {
    "i": market,
    "ii": lambda: market("ii"),
    "iii": lambda: market("iii", size=300),  # with fewer, one utility explains everybody
    "two_goods": lambda: market("i", 2, 60),
    "many_goods": lambda: market("i", 25, 40),
    "equal_rows": lambda: market("iii", 3, 200),
    "patchy": patchy,
}


def stored(folder: str | Path, observations: sp.Observations, n_files: int = 2) -> sp.StoredObservations:
    """Write observations to Parquet files and return them as they lie there."""
    ends = np.linspace(0, len(observations), n_files + 1).astype(int)
    for k in range(n_files):
        sp.write_observations(observations[ends[k] : ends[k + 1]], Path(folder) / f"{k}.parquet", layout="wide")
    return sp.StoredObservations(folder)


def asked(goods: tuple[str, ...]) -> sp.Menus:
    """Return menus of the goods of a fit in another order, one of them not on offer in the last."""
    prices = np.random.default_rng(13).uniform(1.0, 2.0, (3, len(goods)))
    prices[2, 0] = np.inf
    return sp.Menus(prices, [1.0, 2.0, 1.5], goods=goods[::-1], labels=["a", "b", "c"])


def reloaded(model: Any) -> Any:
    """Return a fit after it was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "fit")
        return sp.load_fit(Path(folder) / "fit")
