# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What is tried on the markets of Table 1: our models, the paper's algorithms, and whatever anybody brings."""

from __future__ import annotations

import hashlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.names import EXHIBIT_METHODS
from stochpref.observations import Observations
from stochpref.paper.reproduce.markets import BOUNDS
from stochpref.posterior.results import group

Array = NDArray[np.float64]

Brought = Callable[[Observations, int], Any]


class Estimate(NamedTuple):
    """utility : (n,); draw : (n,) a single posterior draw, None where there is none."""

    utility: Array
    draw: Array | None = None


def _our_posterior(observations: Observations, number: int, n_iterations: int) -> Estimate:  # noqa: ARG001
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # Sixty effective draws add one part in sixty to the variance of the posterior mean: more would not be seen.
        model = HeterogeneousUtility(
            BOUNDS, n_chains=2, n_draws=150, n_effective=60, max_draws=400, random_state=number
        ).fit(observations)
    return Estimate(model.mean_direction_, group(model.posterior_, "posterior")["mean_direction"].values[-1, -1])


def _algorithm_1(observations: Observations, number: int, n_iterations: int) -> Estimate:
    """Run the paper's posterior sampler: K steps, the last state is the estimate; `metropolis` says what is ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = HeterogeneousUtility(
            BOUNDS, "metropolis", n_chains=1, n_draws=n_iterations, n_effective=0, random_state=number
        ).fit(observations)
    last = group(model.posterior_, "posterior")["mean_direction"].values[0, -1]
    return Estimate(last, last)


def _our_common(observations: Observations, number: int, n_iterations: int) -> Estimate:  # noqa: ARG001
    return Estimate(CommonUtility(random_state=number).fit(observations).utility_)


def _algorithm_2(observations: Observations, number: int, n_iterations: int) -> Estimate:
    """Run the paper's annealing: K steps, the last state is the estimate; temperatures and steps are ours."""
    from stochpref.paper.annealing import Annealing  # noqa: PLC0415

    annealing = Annealing(n_steps=n_iterations)
    model = CommonUtility(solver="annealing", annealing=annealing, random_state=number).fit(observations)
    assert model.last_utility_ is not None
    return Estimate(model.last_utility_)


METHODS: Final[dict[tuple[str, str], Callable[[Observations, int, int], Estimate]]] = {
    ("gaussian", "ours"): _our_posterior,
    ("gaussian", "paper"): _algorithm_1,
    ("corruption", "ours"): _our_common,
    ("corruption", "paper"): _algorithm_2,
}


class Method(NamedTuple):
    """One that is known by name, or one that somebody brings.

    name : "paper", "ours" or, for one that is brought, ``module:function``.
    function : the one brought, of observations and a seed; it returns a utility (n,).
    digest : of the file the function is in, so that trials of another state of it are not taken for its own.
    """

    name: str
    function: Brought | None = None
    digest: str = ""

    def estimate(self, setting: str, observations: Observations, number: int, n_iterations: int) -> Estimate:
        """Return what the method makes of observations; the market's number is the seed."""
        if self.function is not None:
            return Estimate(np.asarray(self.function(observations, number), np.float64))
        return METHODS[setting, self.name](observations, number, n_iterations)


def methods_of(given: Iterable[str | Brought], argument: str) -> list[Method]:
    """Return methods, each once: names that are known, ``module:function``, or functions."""
    found = {method.name: method for method in (_method(one, argument) for one in given)}
    if not found:
        raise InvalidArgument(f"{argument} must name one or more methods; received none")
    return list(found.values())


def _method(given: str | Brought, argument: str) -> Method:
    if isinstance(given, str) and given in EXHIBIT_METHODS:
        return Method(given)
    function: Any = _imported(given, argument) if isinstance(given, str) else given
    if not callable(function):
        raise InvalidArgument(
            f"{argument} must be a function of observations and a seed that returns a utility; received {given!r}"
        )
    name = given if isinstance(given, str) else f"{function.__module__}:{getattr(function, '__qualname__', '?')}"
    return Method(name, function, _digest(function))


def _imported(place: str, argument: str) -> Any:
    """Return what ``module:function`` names; modules of the folder one is in are found, as a script's own are."""
    module, colon, name = place.partition(":")
    if not (colon and module and name):
        known = ", ".join(EXHIBIT_METHODS)
        raise InvalidArgument(f"{argument} must be among {known}, or module:function; received {place!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ImportError as error:
        raise InvalidArgument(f"{argument}: {module!r} cannot be imported: {error}; run where it is found") from error
    if not hasattr(found, name):
        raise InvalidArgument(f"{argument}: module {module!r} has no {name!r}; name a function of it")
    return getattr(found, name)


def _digest(function: Any) -> str:
    file = inspect.getsourcefile(inspect.unwrap(function)) if inspect.isroutine(function) else None
    text = Path(file).read_bytes() if file is not None and Path(file).exists() else repr(function).encode()
    return hashlib.sha256(text).hexdigest()[:16]
