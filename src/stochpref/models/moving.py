# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""What `HeterogeneousUtility` knows of a law that moves with features: how it is learned, asked, saved and judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from stochpref.chances import Recorded
from stochpref.demand import typical_menu
from stochpref.effects import Effects, feature_effects, planned_changes
from stochpref.errors import InvalidArgument, UnreadableData, listed
from stochpref.feature_likelihood import log_of_rows
from stochpref.features import FeatureDesign
from stochpref.market import N_CROWDS, MovingMarket, customers_for, make_crowds
from stochpref.models.values import Values, array_in
from stochpref.observations import Menus, Observations
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import Choice
from stochpref.posterior.moving import MAX_CONCENTRATION, MovingPosterior, prior_spread, thetas_of
from stochpref.posterior.prior import Prior
from stochpref.posterior.results import thinned
from stochpref.posterior.summary import Identification, Row
from stochpref.regions import usable_rows

if TYPE_CHECKING:
    from stochpref.models.heterogeneous import HeterogeneousUtility

Array = NDArray[np.float64]

COEFFICIENT: Final = "coefficient"
AXES: Final = {COEFFICIENT: ("name",)}
PRIOR: Final = Prior(0.0, MAX_CONCENTRATION)  # of a law at average features: nothing is cut off that data could tell
_SHORT: Final = 0.5  # length of the mean direction below which it is open
_AS_WIDE: Final = 0.8  # posterior sd over prior sd beyond which data have taught next to nothing


@dataclass(frozen=True, eq=False)
class Moving:
    """How laws move: the design, which is no random thing, beside the draws in a tree.

    design : how h moves.
    tree : with draws of the coefficients, in the units given.
    """

    design: FeatureDesign
    tree: xr.DataTree

    def thetas(self, most: int) -> Array:
        """Return at most so many draws (draws, p) of θ."""
        drawn = thinned(self.tree, most)[0][COEFFICIENT]
        return thetas_of(self.design, drawn.reshape(-1, drawn.shape[2]))

    def market(self, centre: Array, n_customers: int | None, n_draws: int, n_menus: int, seed: int) -> MovingMarket:
        """Return the customers that demand asks; `centre` is a direction about which they are laid out."""
        theta = self.thetas(n_draws)
        if n_customers is None:
            n_customers = customers_for(len(theta), n_menus)
        crowd = make_crowds(centre, n_customers, N_CROWDS, rng=np.random.default_rng([seed, 1]))
        coordinates = self.design.problem.coordinates(self.design.goods)
        return MovingMarket(coordinates, self.design, theta, crowd, N_CROWDS)

    def directions_at(self, menus: Menus | Observations, most: int) -> Array:
        """Return (T, N) the posterior mean of the direction at each menu, normalised."""
        designs = self.design.designs(menus)
        laws = designs.laws(self.thetas(most))
        mean = np.mean(laws / np.maximum(np.linalg.norm(laws, axis=2, keepdims=True), 1e-300), axis=0)
        return np.asarray((mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300))[designs.whose])

    def log_predictive(self, observations: Observations, most: int) -> Array:
        """Return (T,) the log of the mean probability over draws."""
        recorded, designs = observations.problem.recorded(observations), self.design.designs(observations)
        draws = self.thetas(most)
        total = np.full(len(observations), -np.inf)
        for theta in draws:
            total = np.logaddexp(total, log_of_rows(recorded, designs.laws(theta), designs.whose)[0])
        return total - math.log(len(draws))

    def log_fn(self, observations: Observations) -> Any:
        """Return what says how likely those observations are that are not degenerate, under one draw."""
        rows = usable_rows(observations.problem.recorded(observations).regions, "drop")
        designs = self.design.designs(observations[rows])

        def log_of_draw(recorded: Recorded, parameters: Mapping[str, Array]) -> Array:
            (theta,) = thetas_of(self.design, parameters[COEFFICIENT][None])
            return log_of_rows(recorded, designs.laws(theta), designs.whose)[0]

        return log_of_draw

    @property
    def coefficients(self) -> dict[str, Array]:
        """Posterior means of the coefficients of each feature, by its name: one number, or one for each good."""
        mean = thinned(self.tree, 10**9)[0][COEFFICIENT].mean(axis=(0, 1))
        found, first = {}, self.design.n_coordinates
        for name, term in zip(self.design.features, self.design.terms, strict=True):
            count = len(term.names(self.design.goods))
            found[name] = mean[first : first + count] if term.is_by_good else np.asarray(mean[first])
            first += count
        return found

    def effects(self, market: MovingMarket, observations: Observations, goods: NDArray[np.intp]) -> Effects:
        """Return what the usual changes do at the typical menu, those for one good made for some goods."""
        planned = planned_changes(self.design, observations, None)
        names = {self.design.goods[int(i)] for i in goods}
        return feature_effects(market, typical_menu(observations), planned, 0.9, names)

    def over(self, goods: tuple[str, ...], seed: int) -> Moving:
        """Return the same over more goods, those that are new described by their features alone."""
        return Extended(extended(self.design, goods), self.tree, self.design, seed)

    def judge(self, goods: tuple[Row, ...], rows: tuple[Row, ...]) -> Identification:
        """Return whether data identify the law; parameters are the rows of the mean direction and of coefficients."""
        lines = []
        length = float(np.linalg.norm([row.mean for row in goods]))
        if length < _SHORT:
            lines.append(
                f"not identified: the mean direction is open (its posterior mean has length {length:.2f}); collect "
                "more observations or more varied menus"
            )
        spread = prior_spread(self.design) * np.abs(self.design.to_units).sum(axis=1)
        n = self.design.n_coordinates
        vague = [row.name for row, most in zip(rows[n:], spread[n:], strict=True) if row.sd > _AS_WIDE * most > 0]
        if vague:
            lines.append(
                f"not identified: the data say next to nothing of {listed(vague)}; observe more values, or leave it out"
            )
        status = "bad" if length < _SHORT else "nearly" if vague else "good"
        told = lines or ["identified: the data narrow the direction, the concentration and every coefficient"]
        return Identification(status, tuple(told), not lines)

    @classmethod
    def restore(cls, saved: Values, tree: xr.DataTree, observations: Observations) -> Self:
        """Return what a saved fit says of it, if it is a design of these observations."""
        terms, count = saved.part("terms"), saved.whole("n_terms", 1)
        kept = saved.wholes("kept", 0, 10**6)
        settings = {"terms": [_term_of(terms.part(str(k))) for k in range(count)], "kept": kept}
        try:
            design = FeatureDesign.restore(settings, observations.goods, observations.problem)
            n_names = len(design.names)
            is_right = bool(len(kept) > 0 and kept.max() < n_names and np.all(np.diff(kept) > 0))
            design.designs(observations[:1])
        except (InvalidArgument, IndexError, ValueError):
            is_right = False
        if not is_right:
            raise UnreadableData(f"{saved.where} must be of features of the observations; save the fit again")
        drawn = array_in(tree, f"posterior/{COEFFICIENT}", ("chain", "draw", "name"), "f", saved.where)
        if drawn.shape[2] != n_names:
            raise UnreadableData(f"{saved.where}: draws must be of {n_names} coefficients; save the fit again")
        return cls(design, tree)

    def as_record(self) -> dict[str, Any]:
        """Return the design as a saved fit holds it."""
        terms = [
            {"feature": t.feature, "is_by_good": int(t.is_by_good), "is_of_goods": int(t.is_of_goods),
             "centre": t.scale.centre, "spread": t.scale.spread}
            for t in self.design.terms
        ]  # fmt: skip
        return {
            "n_terms": len(terms), "terms": {str(k): term for k, term in enumerate(terms)},
            "kept": list(self.design.kept),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Extended(Moving):
    """How laws move over more goods than were seen.

    What is said of each good, its intercept and coefficients of its own, is drawn for a new one from a Student t law
    with mean and spread over the goods that were seen, under each posterior draw: a good like them.

    seen : the design of the goods that were. seed : of what is drawn.
    """

    seen: FeatureDesign
    seed: int

    def thetas(self, most: int) -> Array:
        """Return draws of θ over all goods."""
        drawn = thinned(self.tree, most)[0][COEFFICIENT]
        known = thetas_of(self.seen, drawn.reshape(-1, drawn.shape[2]))
        whole = np.zeros((len(known), len(self.seen.names)))
        whole[:, list(self.seen.kept)] = known
        n, n_new = len(self.seen.goods), len(self.design.goods) - len(self.seen.goods)
        luck = np.random.default_rng([self.seed, 8]).standard_t(max(n - 1, 1), (len(known), len(self.design.names)))
        values = dict(zip(self.seen.names, whole.T, strict=True))
        blocks = [self.seen.goods, *(t.names(self.seen.goods) for t in self.seen.terms if t.is_by_good)]
        more = [self.design.goods, *(t.names(self.design.goods) for t in self.design.terms if t.is_by_good)]
        places = {name: j for j, name in enumerate(self.design.names)}
        for names, every in zip(blocks, more, strict=True):
            own = np.stack([values[name] for name in names], axis=1)
            spread = own.std(axis=1, ddof=1) * np.sqrt(1.0 + 1.0 / n)
            for name in every[len(every) - n_new :]:
                values[name] = own.mean(axis=1) + spread * luck[:, places[name]]
        return np.stack([values[name] for name in self.design.names], axis=1)

    def market(self, centre: Array, n_customers: int | None, n_draws: int, n_menus: int, seed: int) -> MovingMarket:
        """Return customers who would have been as alike over all goods as they are over those seen."""
        coordinates, known = (design.problem.coordinates(design.goods) for design in (self.design, self.seen))
        longer = np.zeros(len(coordinates))
        longer[[coordinates.index(name) for name in known]] = centre
        found = super().market(longer, n_customers, n_draws, n_menus, seed)
        return replace(found, is_seen=np.isin(coordinates, known))


def extended(design: FeatureDesign, goods: tuple[str, ...]) -> FeatureDesign:
    """Return a design over more goods, with all its coefficients."""
    whole = FeatureDesign(goods, design.problem.over(goods, design.goods), design.terms, ())
    return replace(whole, kept=tuple(range(len(whole.names))))


def _term_of(saved: Values) -> list[Any]:
    return [
        saved.text("feature"), saved.whole("is_by_good", 0, 1) == 1, saved.whole("is_of_goods", 0, 1) == 1,
        saved.number("centre", -np.inf), saved.number("spread", 1e-300),
    ]  # fmt: skip


def asked_features(model: HeterogeneousUtility) -> tuple[str, ...]:
    """Return the features that a model is asked to move its law with, its other settings checked for them."""
    given: Sequence[str] = model.features
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise InvalidArgument(f"features must be names, such as ('price', 'promotion'); received {given!r}")
    if not given:
        return ()
    for name, value, known in (
        ("sampler", model.sampler, ("auto", "importance")), ("engine", model.engine, ("cpu",)),
        ("prior", model.prior, (None,)), ("concentration_bounds", model.concentration_bounds, (None,)),
    ):  # fmt: skip
        if value not in known:
            raise InvalidArgument(
                f"{name} must be {known[0]!r} where laws move with features, whose coefficients have a normal prior "
                f"and are drawn around the mode; received {value!r}; leave it out"
            )
    return tuple(given)


def learn(observations: Observations, features: tuple[str, ...], seed: int, plan: Plan) -> tuple[FeatureDesign, Choice]:
    """Return how laws move with features of observations, and how to draw the coefficients."""
    rows = usable_rows(observations.problem.recorded(observations).regions, "drop")
    used = observations if rows.size == len(observations) else observations[rows]
    design = FeatureDesign.of(used, features)
    return design, MovingPosterior.of(used, design).choice(seed, plan)
