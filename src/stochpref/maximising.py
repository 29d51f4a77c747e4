# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Where the likelihood of a von Mises–Fisher law is highest: climbing it, on rows wherever they are.

In h = κμ the law is an exponential family, so with all utilities seen the log-likelihood would be concave, and the
M-step of expectation-maximisation is closed: match the mean of E[u | region] by A_n(κ) μ. A few such steps from the
uniform law give a start that needs no tuning; Newton steps in a trust region with the exact Hessian do the rest.
`likelihood` says how sure the maximum is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, brentq, minimize

from stochpref.bessel import mean_resultant_length
from stochpref.mass.masses import Sums
from stochpref.observations import Observations
from stochpref.problems import Problem
from stochpref.stores.anchored import Anchored
from stochpref.stores.memory import Memory
from stochpref.stores.opening import open_store
from stochpref.stores.protocol import Store

Array = NDArray[np.float64]

MAX_CONCENTRATION: Final = 1e4  # beyond it the data speak of one common utility, not of a law
_EM_STEPS = 3
_SAMPLE = 1 << 16  # rows that stand for more of them where passes are dear
_ROUNDS = 4  # of two passes each
_CLOSE_ENOUGH = 0.01  # of a standard error: the last Newton step
_RATIO = 4.0  # of one value of a setting to the next, at first,
_FINE = 8  # parts of that in the end
_FARTHEST = 6  # of these ratios from the usual value
_NEWTON_GOODS = 200  # with more goods than this the Hessian costs more than it saves


def concentration_of(n_goods: int, length: float) -> float:
    """Return the κ whose mean resultant length A_n(κ) is `length`, at most 1e4."""
    if length >= float(mean_resultant_length(n_goods, MAX_CONCENTRATION)):
        return MAX_CONCENTRATION
    if length <= 0:
        return 0.0
    return float(brentq(lambda kappa: float(mean_resultant_length(n_goods, kappa)) - length, 0.0, MAX_CONCENTRATION))


class Maximum(NamedTuple):
    """The most likely h (n,), its log-likelihood, the norm of the gradient an observation there, and evaluations."""

    h: Array
    log_likelihood: float
    gradient_norm: float
    n_evaluations: int


def _em_step(store: Store, h: Array, tolerance: float) -> Array:
    """Return the h whose mean utility is the average of E[u | region] at the old h."""
    kappa = float(np.linalg.norm(h))
    old_mean = h * (float(mean_resultant_length(len(h), kappa)) / kappa if kappa > 0 else 0.0)
    mean = old_mean + store.sums(h, tolerance=tolerance).gradient / len(store)
    length = float(np.linalg.norm(mean))
    return mean * (concentration_of(len(h), length) / length) if length > 0 else np.zeros_like(h)


def _climb(store: Store, start: Array, tolerance: float, n_before: int = 0) -> Maximum:
    """Return the maximum near a start, found after `n_before` evaluations."""
    scale = len(store)

    def objective(h: Array) -> tuple[float, Array]:
        kappa = float(np.linalg.norm(h))
        if kappa > 1.01 * MAX_CONCENTRATION:  # outside: let the trust region shrink
            return np.inf, np.zeros_like(h)
        sums = store.sums(h, tolerance=tolerance)
        return -sums.value / scale, -sums.gradient / scale

    def stop_when_separable(intermediate_result: OptimizeResult) -> None:
        if float(np.linalg.norm(intermediate_result.x)) > MAX_CONCENTRATION:
            raise StopIteration

    # Below 1000, the largest that scipy takes: where a sample has no maximum, the start is thousands away.
    radius = float(np.clip(0.2 * np.linalg.norm(start), 0.5, 999.0))
    if store.n_goods > _NEWTON_GOODS:
        result = minimize(
            objective, start, jac=True, method="L-BFGS-B", callback=stop_when_separable,
            options={"maxiter": 1000, "gtol": 1e-8, "ftol": 1e-14},
        )  # fmt: skip
    else:
        result = minimize(
            objective,
            start,
            jac=True,
            hess=lambda h: store.curvature(h, tolerance=tolerance) / scale,
            method="trust-exact",
            callback=stop_when_separable,
            options={"maxiter": 200, "gtol": 1e-8, "initial_trust_radius": radius},
        )
    h = np.asarray(result.x, dtype=np.float64)
    return Maximum(h, -float(result.fun) * scale, float(np.linalg.norm(result.jac)), int(result.nfev) + n_before)


def maximise_likelihood(store: Store, *, tolerance: float = 1e-10, start: Array | None = None) -> Maximum:
    """Return the h under which the observations are most likely; 0 if there are none.

    Where the likelihood has no maximum, the last h tried, with |h| about 1e4 if it grows without bound.

    Parameters
    ----------
    start : an h near the maximum, if one is known.
    """
    h = np.zeros(store.n_goods)
    if len(store) == 0:
        return Maximum(h, 0.0, 0.0, 0)
    if start is not None:
        return _climb(store, start, tolerance)
    for _ in range(_EM_STEPS):
        h = _em_step(store, h, tolerance)
    return _climb(store, h, tolerance, _EM_STEPS)


def learn_setting(observations: Observations, *, degenerate: str = "refuse", tolerance: float = 1e-6) -> Problem:
    """Return the problem of observations with the setting that it leaves open, if any, at its most likely value.

    The likelihood is maximised over h at values a factor of 4 apart around the usual order of magnitude, farther out as
    long as it rises, and then, from the best, at values ever nearer to each other, each time from the h found beside.
    """
    problem = observations.problem
    unknown = problem.unknown(observations)
    if unknown is None:
        return problem
    name, usual = unknown
    found: dict[int, Maximum] = {}  # by the place on a grid of ratio 4^(1/_STEPS)

    def at(place: int) -> float:
        if place not in found:
            solved = observations.under(problem.with_setting(name, usual * _RATIO ** (place / _FINE)))
            near = min(found, key=lambda other: abs(other - place), default=None)
            start = None if near is None else found[near].h
            with open_store(solved, engine="cpu", degenerate=degenerate) as (store, _):
                found[place] = maximise_likelihood(store, tolerance=tolerance, start=start)
        return found[place].log_likelihood

    best, step = 0, _FINE
    while step >= 1:
        beside = [place for place in (best - step, best + step) if abs(place) <= _FARTHEST * _FINE]
        rival = max(beside, key=at)
        if at(rival) > at(best):
            best = rival
        else:
            step //= 2
    return problem.with_setting(name, usual * _RATIO ** (best / _FINE))


def maximise_large(
    store: Store, *, seed: int = 0, tolerance: float = 1e-10, n_sample: int = _SAMPLE
) -> tuple[Maximum, Anchored]:
    """Return the h under which all observations are most likely, in two passes over them if all goes well.

    A sample's maximum is √(T/m) standard errors away, m its size. One pass there gives exact sums, which with the
    sample's own give the likelihood around (`Anchored`), whose maximum is nearer by orders of magnitude; a second pass
    gives the exact gradient there, and a last Newton step, which must be below a hundredth of a standard error.

    Parameters
    ----------
    seed : picks the sample.
    n_sample : its size.

    Returns
    -------
    The maximum, and the likelihood near it.
    """
    sample = store.pick(n_sample, seed)
    h = maximise_likelihood(Memory(sample), tolerance=tolerance).h
    n_passes = 0
    for _ in range(_ROUNDS):
        around = Anchored(store, h, store.sums(h, derivatives=2, tolerance=tolerance), sample)
        if np.linalg.eigvalsh(around.exact.information)[0] <= 0:
            break
        h = _climb(around, h, tolerance).h
        value, gradient, _ = store.sums(h, tolerance=tolerance)
        n_passes += 2
        exact = Sums(value, gradient, around.sums(h, derivatives=2, tolerance=tolerance).information)
        step = _newton_step(exact)
        if step is not None and float(gradient @ step) < _CLOSE_ENOUGH**2:
            gradient_norm = float(np.linalg.norm(gradient)) / len(store)
            maximum = Maximum(h + step, value + 0.5 * float(gradient @ step), gradient_norm, n_passes)
            return maximum, Anchored(store, h, exact, sample)
    # No maximum to speak of near that of the sample: every step takes a pass.
    maximum = _climb(store, h, tolerance, n_passes)
    exact = store.sums(maximum.h, derivatives=2, tolerance=tolerance)
    return maximum, Anchored(store, maximum.h, exact, sample)


def _newton_step(sums: Sums) -> Array | None:
    if np.linalg.eigvalsh(sums.information)[0] <= 0:
        return None
    return np.asarray(np.linalg.solve(sums.information, sums.gradient), dtype=np.float64)
