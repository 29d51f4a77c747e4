# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""From observations to draws: which parameters there are, where the posterior is highest, and how to draw around it.

The power of worth, where it is to be learned, is that of the highest posterior, with a standard error; all else is
drawn given it, as with the scale of money where budgets are open.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stochpref.errors import InvalidArgument
from stochpref.observations import Observations
from stochpref.posterior.around import around_mode
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import Choice
from stochpref.posterior.diagnostics import Diagnostics
from stochpref.posterior.samplers.around import AroundMode, Near
from stochpref.posterior.samplers.around_hamiltonian import AroundHamiltonian
from stochpref.problems.satiated import REST, Bought, Satiated
from stochpref.satiation.climbing import Peak, Prior, Target, climb
from stochpref.satiation.moving import Moving
from stochpref.satiation.parameters import Moves, Parameters
from stochpref.satiation.quadrature import GUMBEL, NORMAL

Array = NDArray[np.float64]

ERROR_OF: Final = {"lognormal": NORMAL, "gumbel": GUMBEL}  # of the law's name
NAME_OF_ERROR: Final = {"lognormal": "normal", "gumbel": "gumbel"}
AXES: Final = {
    "location": ("worth_of",), "log_scale": ("scale_of",), "log_satiation": ("satiation_of",),
    "location_features": ("coefficient",), "satiation_features": ("satiation_coefficient",),
}  # fmt: skip


class Settings(NamedTuple):
    """What is asked for.

    profile, law : of worth, and of worths.
    own_scale : the outside good has a scale of its own.
    features, satiation_features : what log-worths and log-satiations move with.
    """

    profile: str
    law: str
    own_scale: bool
    features: tuple[str, ...] = ()
    satiation_features: tuple[str, ...] = ()


class Frame(NamedTuple):
    """What a likelihood takes.

    bought, parameters, moves : bundles, parameters, and what features multiply coefficients by.
    problem : what customers solve.
    moving : how features move worths.
    """

    bought: Bought
    parameters: Parameters
    moves: Moves
    problem: Satiated
    moving: Moving

    @classmethod
    def of(
        cls, observations: Observations, settings: Settings, bend: float | None, moving: Moving | None = None
    ) -> Self:
        """Return the frame of observations.

        Parameters
        ----------
        bend : None to be learned.
        moving : how features move worths, of a fit; None to take it from the observations.
        """
        problem = observations.problem
        assert isinstance(problem, Satiated)
        if moving is None:
            moving = Moving.of(observations, settings.features, settings.satiation_features)
        goods = (*observations.goods, *((REST,) if problem.outside == REST else ()))
        parameters = Parameters.of(
            goods, problem.outside_place(observations.goods), ERROR_OF[settings.law], bend=bend,
            own_scale=settings.own_scale, features=moving.names,
        )  # fmt: skip
        return cls(problem.bought(observations), parameters, moving.moves(observations), problem, moving)

    def target(self) -> Target:
        """Return the posterior under the weak prior."""
        return Target(self.bought, self.parameters, self.moves, Prior.weak(self.parameters, self.start()))

    def start(self) -> Array:
        """Return where to begin to climb."""
        return self.parameters.start(self.bought)


class Learning(NamedTuple):
    """What was learned before drawing.

    frame, target, peak : the posterior, and where it is highest.
    choice : how to draw.
    power_error : standard error of the power; None where it was stated.
    """

    frame: Frame
    target: Target
    peak: Peak
    choice: Choice
    power_error: float | None


def learn(observations: Observations, settings: Settings, key: int, plan: Plan) -> Learning:
    """Return the posterior's peak, and how to draw around it."""
    problem, power_error = observations.problem, None
    assert isinstance(problem, Satiated)
    if len(observations.goods) + (problem.outside == REST) < 2:
        raise InvalidArgument(
            f"observations must be of two goods or more, for what is wanted is told by comparison; received one, "
            f"{observations.goods[0]!r}; add what else was on offer, or outside='rest' (--outside rest)"
        )
    start = None
    if problem.bend == 0.0:
        raise InvalidArgument("power must be below 1, or no good satiates; state problem='divisible' for such goods")
    if settings.profile == "log" and problem.bend != 1.0:
        raise InvalidArgument(
            f"profile='log' has the power 0, and the problem states {problem.power:g}; pass profile='power', which "
            "takes the one stated"
        )
    if settings.profile == "power" and problem.power is None:
        free = Frame.of(observations, settings, None).target()
        peak = climb(free, free.parameters.start(free.bought))
        bend = float(np.exp(free.parameters.named(peak.theta)[-1]))
        power_error = bend * float(np.sqrt(peak.covariance[-1, -1]))
        problem, start = Satiated(problem.outside, 1.0 - bend), peak.theta[:-1]
    frame = Frame.of(observations.under(problem), settings, problem.bend)
    target = frame.target()
    peak = climb(target, frame.start() if start is None else start)
    return Learning(frame, target, peak, _choose(target, peak, key, plan), power_error)


def _choose(target: Target, peak: Peak, key: int, plan: Plan) -> Choice:
    """Return importance sampling around the mode, with Hamiltonian moves to fall back on."""
    near = Near(peak.theta, np.asarray(np.linalg.cholesky(peak.covariance), np.float64))
    sampler = AroundMode(near, target.log_density, target.parameters.drawn, key)
    reason = f"{len(peak.theta)} parameters around the mode, by the exact density"

    def instead(found: Diagnostics) -> Choice:
        moves = AroundHamiltonian(near, target.slope, target.parameters.drawn, key)
        return Choice(moves, f"importance weights were too uneven, Pareto k {found.pareto_k:.2f}")

    return around_mode(sampler, plan, reason)._replace(instead_fn=instead)
