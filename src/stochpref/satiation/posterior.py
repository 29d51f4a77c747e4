# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What posterior draws of worths that fade say: the customer in the middle, crowds of customers, rows of tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stochpref.kinds import ABSENT, BELOW
from stochpref.laws import LognormalLaw
from stochpref.market import N_CROWDS
from stochpref.posterior.results import parameters_of, thinned
from stochpref.posterior.summary import Identification
from stochpref.satiation.fitting import NAME_OF_ERROR, Frame, Settings
from stochpref.satiation.market import MarketMoves, SatiatedMarket, make_errors
from stochpref.satiation.predictive import AVERAGED, log_predictive
from stochpref.satiation.summary import Estimated, SatiatedRow, estimated, good_rows, judge_law

if TYPE_CHECKING:
    import xarray as xr

    from stochpref.observations import Menus, Observations

Array = NDArray[np.float64]

_PURCHASES: Final = 4e6  # simulated for a call of `demand`: sorting goods takes about a microsecond
_SCALES: Final = ("spread of log-worths", "spread of the outside good's log-worth")


class SatiatedPosterior:
    """Posterior draws over a frame.

    tree : draws, as `fitting.AXES` names them.
    frame : of the fitted observations.
    settings : what was asked for.
    """

    def __init__(self, tree: xr.DataTree, frame: Frame, settings: Settings) -> None:
        self.tree, self.frame, self._settings = tree, frame, settings
        self.phi = frame.parameters.named_of(_flat(parameters_of(tree)))

    def part(self, block: str, phi: Array | None = None) -> Array:
        """Return a block of all parameters, of all draws unless others are given."""
        return np.asarray((self.phi if phi is None else phi)[..., self.frame.parameters.blocks[block]])

    @cached_property
    def mean(self) -> Array:
        """Posterior means of all parameters."""
        return np.asarray(self.phi.mean(axis=0))

    @cached_property
    def n_bought(self) -> NDArray[np.int64]:
        """In how many observations each good was bought."""
        side = self.frame.bought.side
        return np.asarray(((side != BELOW) & (side != ABSENT)).sum(axis=0))

    @property
    def moves_with_features(self) -> bool:
        """Whether what customers want moves with features of menus."""
        return any(self.frame.moving.names)

    @property
    def left_out(self) -> str:
        """The good whose quantity is no coordinate of densities."""
        parameters = self.frame.parameters
        return "the first of them" if parameters.outside is None else parameters.goods[parameters.outside]

    def satiation(self, n: int) -> Array:
        """Return γ (n,) of goods, of the mean of its logarithm; NaN of the outside good."""
        found = np.full(len(self.frame.parameters.goods), np.nan)
        found[self.frame.parameters.inside] = np.exp(self.part("satiation", self.mean))
        return found[:n]

    def identification(self) -> Identification:
        """Return what data tell, and what they leave open."""
        inside = self.frame.parameters.inside
        names = [self.frame.parameters.goods[i] for i in inside]
        return judge_law(names, self.n_bought[inside], {name: self.part(name) for name in ("satiation", "scale")})

    def middle(self, phi: Array) -> Array:
        """Return utilities (…, N), of length 1, of customers in the middle of each good's worths."""
        return self._directed(self.part("location", phi), self.part("satiation", phi))

    def middle_at(self, menus: Menus | Observations) -> Array:
        """Return the same (T, N) at posterior means and menus whose features move it."""
        parameters = self.frame.parameters
        worth = parameters.worth_of(self.mean, self.frame.moving.moves(menus))
        return self._directed(worth.location, worth.log_satiation[..., parameters.inside])

    def _directed(self, location: Array, fades: Array) -> Array:
        both = np.concatenate([location, location[..., self.frame.parameters.inside] + fades], axis=-1)
        made = np.exp(both - both.max(axis=-1, keepdims=True))
        return np.asarray(made / np.linalg.norm(made, axis=-1, keepdims=True))

    def first_units(self, n: int) -> Array:
        """Return what first units of goods are worth to those customers, (draws, n), each of length 1."""
        worths = np.exp(self.part("location")[:, :n])
        return np.asarray(worths / np.linalg.norm(worths, axis=1, keepdims=True))

    def law(self) -> LognormalLaw:
        """Return the law at posterior means, where every feature is average."""
        parameters = self.frame.parameters
        return LognormalLaw(
            self.part("location", self.mean), np.exp(parameters.log_scales(self.mean)),
            np.exp(self.part("satiation", self.mean)), parameters.outside, NAME_OF_ERROR[self._settings.law],
        )  # fmt: skip

    def thinned(self, most: int) -> Array:
        """Return at most so many draws (draws, P) of all parameters."""
        return self.frame.parameters.named_of(_flat(thinned(self.tree, most)[0]))

    def market(
        self, coordinates: tuple[str, ...], n_customers: int | None, n_draws: int, n_menus: int, seed: int
    ) -> SatiatedMarket:
        """Return the customers of at most so many draws; parameters as of every fit."""
        parameters, phi = self.frame.parameters, self.thinned(n_draws)
        if n_customers is None:
            n_customers = int(np.clip(_PURCHASES / (len(phi) * n_menus), 256, 8192))
        error = NAME_OF_ERROR[self._settings.law]
        errors = make_errors(error, len(parameters.goods), n_customers, N_CROWDS, rng=np.random.default_rng([seed, 1]))
        coefficients = (self.part(block, phi) for block in ("location_features", "satiation_features"))
        moves = MarketMoves(self.frame.moving, *coefficients) if self.moves_with_features else None
        return SatiatedMarket(
            coordinates, self.part("location", phi), np.exp(parameters.log_scales(phi)), self.part("satiation", phi),
            parameters.outside, error, errors, N_CROWDS, moves,
        )  # fmt: skip

    def log_predictive(self, observations: Observations) -> Array:
        """Return (T,) log posterior predictive densities."""
        frame = Frame.of(observations, self._settings, self.frame.problem.bend, self.frame.moving)
        return log_predictive(frame.bought, frame.parameters, frame.moves, self.thinned(AVERAGED))

    def free(self) -> Array:
        """Return the free parameters that make the posterior means."""
        parameters = self.frame.parameters
        return np.asarray(np.linalg.lstsq(parameters.matrix, self.mean - parameters.base, rcond=None)[0])

    def rows(self, goods: tuple[str, ...]) -> tuple[SatiatedRow, ...]:
        """Return a row for each good, the one worth most first."""
        parameters, fades = self.frame.parameters, self.part("satiation")
        by_name = {parameters.goods[i]: fades[:, j] for j, i in enumerate(parameters.inside)}
        rows = good_rows(goods, self.n_bought, self.part("location"), by_name)
        return tuple(sorted(rows, key=lambda row: -row.mean))

    def scales(self) -> tuple[Estimated, ...]:
        """Return the spreads of log-worths."""
        scales = np.exp(self.part("scale"))
        return tuple(estimated(_SCALES[i], scales[:, i]) for i in range(scales.shape[1]))

    def coefficients(self) -> tuple[Estimated, ...]:
        """Return the coefficients of features, in the units given: of log-worths, then of log-satiations."""
        moving, rows = self.frame.moving, []
        marks = ("", "log satiation: ")
        for k, block in enumerate(("location_features", "satiation_features")):
            draws = self.part(block) * moving.scales[k]
            rows += [estimated(f"{marks[k]}{name}", draws[:, j]) for j, name in enumerate(moving.names[k])]
        return tuple(rows)


def _flat(drawn: dict[str, Array]) -> dict[str, Array]:
    """Return draws of all chains in one."""
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in drawn.items()}
