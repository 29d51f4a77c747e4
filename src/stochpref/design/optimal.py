# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Menus that teach most: the best mixture of candidates, new candidates where they would help, rounded to a batch.

1. The best weights of the candidates at hand (`optimal_weights`, a concave problem).
2. The menu that would help most is sought in the continuum, by varying the most sensitive menus; what is found joins
   the candidates, and the weights are found again. By the equivalence theorem the largest sensitivity seen bounds what
   any mixture of the menus tried could gain.
3. The most promising menus are judged again with many more customers, so that luck is not mistaken for information, and
   weighted for good. The mixture is rounded to a batch, and menus are exchanged while that helps.

The figures reported come from customers that had no say in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stochpref.checks import check_choice, check_count, check_rng
from stochpref.design.beliefs import check_laws, good_names
from stochpref.design.candidates import candidate_menus, candidate_prices, plain_candidates, plain_prices, vary
from stochpref.design.criteria import (
    Criterion,
    gradient,
    loss,
    make_criterion,
    mixed,
    optimal_weights,
    round_to_batch,
    sensitivity,
)
from stochpref.design.information import (
    MenuMoments,
    angle_variance,
    draw_for_laws,
    forecast_angle,
    menu_moments,
    moments_of,
    possible_purchases,
    relative_information,
    reliable_observations,
    set_aside,
)
from stochpref.design.limits import Bounds, MenuLimits
from stochpref.design.menu_design import DesignEffort, MenuDesign
from stochpref.design.stakes import price_bounds, stakes_of
from stochpref.errors import InvalidArgument, listed
from stochpref.laws import MenuLaw
from stochpref.names import CRITERIA
from stochpref.observations import Menus
from stochpref.problems import check_handled
from stochpref.rows import joined

if TYPE_CHECKING:
    from stochpref.models.fit import Fit

Array = NDArray[np.float64]

_REJUDGE = 4  # times as many customers judge the menus that may be chosen


@dataclass(frozen=True, slots=True)
class _Problem:
    """What a search shares.

    bounds : limits.
    laws, utilities : (K, N) and customers of each (K, S, N).
    criterion : what to make small.
    held : (K, N, N) information held, a menu's share of it.
    menu : that tells which customers are recorded; None for all of them.
    n_plain : menus that come first, without noise.
    """

    bounds: Bounds
    laws: Array
    utilities: Array
    criterion: Criterion
    held: Array
    n_plain: int
    menu: Menus | None = None

    def information(self, menus: Menus) -> Array:
        """Return (C, K, n, n): what each menu tells, and its share of what is held already."""
        tables = [menu_moments(menus, h, u).information for h, u in zip(self.laws, self.utilities, strict=True)]
        return np.stack(tables, axis=1) + self.held

    @property
    def covariances(self) -> list[Array | None]:
        """Of the utilities of those recorded, under each law; None for that of the law."""
        return [None if self.menu is None else np.cov(u.T) for u in self.utilities]

    def with_customers(self, n_draws: int, rng: np.random.Generator) -> _Problem:
        """Return the same problem with other customers."""
        return replace(self, utilities=draw_for_laws(self.laws, n_draws, rng, self.menu))


def optimal_menus(
    goods: int | Sequence[str],
    n_menus: int,
    *,
    rng: np.random.Generator,
    mean_direction: ArrayLike | None = None,
    concentration: ArrayLike = 5.0,
    criterion: str = "d",
    limits: MenuLimits | None = None,
    targets: Menus | None = None,
    held: ArrayLike | None = None,
    effort: DesignEffort | None = None,
    fit: Fit | None = None,
    costs: Any = None,
) -> MenuDesign:
    """Return a batch of menus from which purchases teach most about the law of utilities.

    Parameters
    ----------
    goods : their number, or names.
    n_menus : size of the batch; one observation of each menu is planned, and menus may repeat.
    rng : draws candidates and customers.
    mean_direction : (n,) what is believed, or (k, n) to average over; None averages over all directions.
    concentration : κ, or one for each direction.
    criterion : "d" (volume of the confidence region of κμ), "a" (squared angle error of μ), "prediction" (variance of
        the mean demand at `targets`) or "profit" (what the best prices lose because customers are not known well).
    limits : what prices and budgets may be.
    targets : Menus whose demand matters, for "prediction", of the same goods in any order; the paper's law (i) by
        default.
    held : (n, n) or (k, n, n) information about κμ already held, from earlier purchases.
    effort : how hard to look.
    fit, costs : for "profit": what is believed, a fit of the goods in which customers may keep their money, in place of
        `mean_direction`, `concentration` and `held`; and what a unit of each good costs, as in `best_prices`. Prices
        between half the lowest and one and a half times the highest observed may be tested unless limits say otherwise.

    Raises
    ------
    InvalidArgument : no menu can respect the limits, there is one good, or κ is not positive.
    """
    check_rng(rng)
    names = good_names(goods)
    check_count(n_menus, "n_menus", 1)
    effort = effort or DesignEffort()
    if check_choice(criterion, "criterion", CRITERIA) == "profit":
        _check_profit(names, fit, costs, mean_direction, targets, held)
        assert fit is not None
        return _price_test(fit, costs, n_menus, limits or MenuLimits(), effort, rng)
    if fit is not None or costs is not None:
        raise InvalidArgument(
            f"fit and costs are for criterion 'profit'; received criterion {criterion!r}; leave them out"
        )
    bounds = (limits or MenuLimits()).resolve(names)
    laws = check_laws(len(names), mean_direction, concentration, rng)
    shape = (len(laws), len(names), len(names))
    prior = _check_held(0.0 if held is None else held, shape)
    n_draws = max(effort.n_draws // len(laws), 32)
    utilities = draw_for_laws(laws, n_draws, rng)
    goal = make_criterion(criterion, laws, _target_moments(criterion, targets, bounds, laws, utilities, rng))
    problem = _Problem(bounds, laws, utilities, goal, prior / n_menus, plain_candidates(len(laws)))
    return _found(problem, candidate_menus(bounds, utilities, effort.n_candidates, rng), n_menus, effort, rng)


def _check_profit(names: tuple[str, ...], fit: Fit | None, costs: Any, direction: Any, targets: Any, held: Any) -> None:
    """Refuse what criterion "profit" lacks, or has no use for."""
    if fit is None or costs is None:
        missing = "fit" if fit is None else "costs"
        raise InvalidArgument(
            f"criterion 'profit' needs a fit with an open budget and the costs of its goods; {missing} is missing; "
            "pass fit=…, costs=… (--fit, --costs)"
        )
    if any(stated is not None for stated in (direction, targets, held)):
        raise InvalidArgument("mean_direction, targets and held say what the fit says; leave them out")
    if names != fit.goods_:
        raise InvalidArgument(f"goods must be those of the fit, {listed(fit.goods_)}; received {listed(names)}")


def _price_test(
    fit: Fit, costs: Any, n_menus: int, limits: MenuLimits, effort: DesignEffort, rng: np.random.Generator
) -> MenuDesign:
    """Return the batch after which prices can be set best."""
    bounds = price_bounds(fit, limits)
    stakes = stakes_of(fit, costs, bounds, rng)
    laws, menu = stakes.h[None], bounds.fit(stakes.prices[None], np.array([np.inf]))
    utilities = draw_for_laws(laws, effort.n_draws, rng, menu)
    goal = Criterion("profit", stakes.loss[None])
    pool = candidate_prices(bounds, stakes.worth, stakes.prices, effort.n_candidates, rng)
    n_plain = len(plain_prices(bounds, stakes.worth, stakes.prices))
    problem = _Problem(bounds, laws, utilities, goal, stakes.held[None] / n_menus, n_plain, menu)
    found = _found(problem, pool, n_menus, effort, rng)
    before = stakes.regret(np.zeros_like(stakes.held))
    value = before - stakes.regret(n_menus * found.information)
    return replace(found, regret=before, value=value, notes=(*found.notes, *stakes.notes))


def _found(problem: _Problem, pool: Menus, n_menus: int, effort: DesignEffort, rng: np.random.Generator) -> MenuDesign:
    """Return the best batch found, from candidates on."""
    goal, laws = problem.criterion, problem.laws
    n_draws = max(effort.n_draws // len(laws), 32)
    information = problem.information(pool)
    aside, n_aside = set_aside(laws, information)
    problem = replace(problem, held=problem.held + aside)
    pool, information, chosen = _search(problem, pool, information + aside, effort, rng)
    judge = problem.with_customers(_REJUDGE * n_draws, rng)
    shortlist = pool[chosen]
    told = judge.information(shortlist)
    slope = gradient(goal, mixed(optimal_weights(goal, told), told))
    found, _ = _climb(problem, pool, information, slope, effort, rng)
    shortlist, told = joined(shortlist, found), np.concatenate([told, judge.information(found)])
    bound = 1 / float(sensitivity(slope, told).max())
    weights = optimal_weights(goal, told)
    rows = round_to_batch(goal, told, weights, n_menus)
    n_tried = effort.n_candidates + (effort.n_rounds + 1) * effort.n_generations * effort.n_offspring
    found_design = _report(problem.with_customers(2 * n_draws, rng), shortlist, rows, weights, bound, n_tried)
    if n_aside == 0:
        return found_design
    size = laws.shape[1]
    note = f"{n_aside} of {size} directions cannot be learnt from any menu tried, and are left aside (check_menus)"
    return replace(found_design, notes=(*found_design.notes, note))


def _check_held(held: ArrayLike, shape: tuple[int, int, int]) -> Array:
    given = np.asarray(held, dtype=np.float64)
    if given.shape not in ((), shape[1:], shape) or not np.isfinite(given).all():
        raise InvalidArgument(
            f"held must be {shape[1:]} or {shape} finite numbers, an information matrix for each law; "
            f"received shape {given.shape}"
        )
    return np.broadcast_to(given, shape)


def _target_moments(
    criterion: str, targets: Menus | None, bounds: Bounds, laws: Array, utilities: Array, rng: np.random.Generator
) -> list[MenuMoments] | None:
    if criterion != "prediction":
        return None
    if targets is None:
        targets = MenuLaw("uniform").sample(12, len(bounds.goods), rng=rng)
    check_handled(targets, "a design")
    targets = _in_order(targets, bounds.goods)
    return [menu_moments(targets, h, u) for h, u in zip(laws, utilities, strict=True)]


def _in_order(targets: Menus, goods: tuple[str, ...]) -> Menus:
    """Return target menus with their goods, matched by name, in the order of the design's."""
    if set(targets.goods) != set(goods):
        odd = min(set(targets.goods) ^ set(goods))
        raise InvalidArgument(
            f"targets must be menus of the goods designed for, {listed(goods)}; "
            f"{odd!r} is in one of them only; name goods alike, and price those not on offer inf"
        )
    return targets.over(goods)


def _search(
    problem: _Problem, pool: Menus, information: Array, effort: DesignEffort, rng: np.random.Generator
) -> tuple[Menus, Array, NDArray[np.intp]]:
    """Return more candidates, what they tell (C, K, n, n), and which of them deserve a second look."""
    weights = optimal_weights(problem.criterion, information)
    for _ in range(effort.n_rounds):
        slope = gradient(problem.criterion, mixed(weights, information))
        found, told = _climb(problem, pool, information, slope, effort, rng)
        pool, information = joined(pool, found), np.concatenate([information, told])
        weights = optimal_weights(problem.criterion, information)
    rates = sensitivity(gradient(problem.criterion, mixed(weights, information)), information)
    plain = np.arange(min(problem.n_plain, len(pool)))
    chosen = np.concatenate([plain, np.argsort(-weights, kind="stable")[:24], np.argsort(-rates, kind="stable")[:12]])
    return pool, information, np.unique(chosen)


def _climb(
    problem: _Problem, pool: Menus, information: Array, slope: Array, effort: DesignEffort, rng: np.random.Generator
) -> tuple[Menus, Array]:
    """Return menus found by varying the most sensitive ones, keeping the best each time, and what they tell."""
    rates = sensitivity(slope, information)
    best = np.argsort(-rates, kind="stable")[: effort.n_starts]
    parents, parent_rates, told = pool[best], rates[best], information[best]
    for generation in range(effort.n_generations):
        scale = 0.5 * 0.7**generation
        # Offspring are shared out evenly, so that one early success does not crowd out the other starts.
        young = vary(parents, np.arange(effort.n_offspring) % len(parents), scale, problem.bounds, rng)
        young_told = problem.information(young)
        everyone = joined(parents, young)
        all_told = np.concatenate([told, young_told])
        all_rates = np.concatenate([parent_rates, sensitivity(slope, young_told)])
        keep = np.argsort(-all_rates, kind="stable")[: effort.n_starts]
        parents, parent_rates, told = everyone[keep], all_rates[keep], all_told[keep]
    return parents, told


def _report(
    judge: _Problem, pool: Menus, rows: NDArray[np.intp], weights: Array, bound: float, n_tried: int
) -> MenuDesign:
    """Return the design of these rows of the pool with its figures, as the judge's customers see it."""
    support = np.union1d(np.flatnonzero(weights > 1e-3), rows)
    counts = np.bincount(np.searchsorted(support, rows), minlength=len(support))
    purchases = [possible_purchases(pool[support], h, u) for h, u in zip(judge.laws, judge.utilities, strict=True)]
    told = np.stack([moments_of(p, len(support)).information for p in purchases], axis=1) + judge.held
    batch = mixed(counts / counts.sum(), told)
    reliable = max(
        reliable_observations(p._replace(weight=p.weight * counts[p.owner]), h)
        for p, h in zip(purchases, judge.laws, strict=True)
    )
    mixture = mixed(weights[support] / weights[support].sum(), told)
    gap = float(loss(judge.criterion, mixture) - loss(judge.criterion, batch))
    menus = pool[rows]
    variances = [angle_variance(m, h) for m, h in zip(batch, judge.laws, strict=True)]
    bare = batch - judge.held
    shares = [relative_information(m, h, c) for m, h, c in zip(bare, judge.laws, judge.covariances, strict=True)]
    return MenuDesign(
        menus=menus,
        criterion=judge.criterion.name,
        efficiency=min(1.0, float(np.exp(gap))),  # the batch is a mixture too: if it is better, it is the best found
        efficiency_bound=min(1.0, bound),
        information=np.mean(bare, axis=0),
        relative_information=max(0.0, float(np.mean(shares))),
        angle=forecast_angle(float(np.mean(variances)), len(rows)) if len(rows) >= reliable else np.inf,
        n_reliable=float(np.ceil(reliable)),
        n_tried=n_tried,
        n_judged=len(pool),
        notes=_notes(menus),
    )


def _notes(menus: Menus) -> tuple[str, ...]:
    is_poor = np.all(menus.prices * menus.caps > menus.budgets[:, None], axis=1)
    if not is_poor.any():
        return ()
    return (
        f"in {int(is_poor.sum())} of {len(menus)} menus the budget is below the cost of every good: customers buy a "
        "part of one, the best for its price, and nothing else is learnt",
    )
