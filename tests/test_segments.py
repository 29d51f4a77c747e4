# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Mixtures: their likelihood against single laws and differences, the climb, the search, and the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

import stochpref as sp
from stochpref.mass.masses import exact_log_mass, sum_by_law, sum_log_mass
from stochpref.mass.mixture import masses_by_law
from stochpref.posterior.chains import Plan
from stochpref.regions import Regions
from stochpref.segments import search
from stochpref.segments.climbing import climb_by_em, climb_to_top, em_step
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.posterior import draws_around, gaussian_near
from stochpref.segments.predictive import log_of_mixture, units_of
from stochpref.stores.conditioned import Conditioned
from stochpref.stores.memory import Memory
from stochpref.stores.protocol import Store, Task

LAWS = np.array([[3.0, 1.0, -2.0, 0.5], [-1.0, 2.0, 2.5, 1.0], [0.2, -0.1, 0.4, 6.0]])
LOG_WEIGHTS = np.log([0.5, 0.3, 0.2])


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few draws have not converged


def mixture_law(n: int = 4, weights: Sequence[float] = (0.6, 0.4), kappa: float = 12.0) -> sp.MixtureLaw:
    directions = np.eye(n)[: len(weights)] - 0.15
    return sp.MixtureLaw([sp.VonMisesFisher(d / np.linalg.norm(d), kappa) for d in directions], weights)


@cache
def bought(size: int = 300, seed: int = 0) -> sp.Observations:
    return sp.simulate(mixture_law(), sp.MenuLaw("uniform"), size, rng=np.random.default_rng(seed))


@cache
def votes(size: int = 300) -> sp.Observations:
    menus = sp.Menus(np.tile([1.0, 2.0, 1.5, 0.7], (size, 1)), np.full(size, 2.7))
    return sp.simulate(mixture_law(), menus, size, rng=np.random.default_rng(1))


@cache
def fitted(**settings: Any) -> sp.SegmentedUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.SegmentedUtility(random_state=0, n_effective=0, n_draws=40, **settings).fit(bought())


class InParts(Store):
    """Regions in three parts, as a disk or a cluster has them."""

    def __init__(self, regions: Regions) -> None:
        cuts = [0, len(regions) // 4, len(regions) // 2, len(regions)]
        self.parts = [regions[a:b] for a, b in pairwise(cuts)]
        self.n_goods, self.sizes = regions.n_goods, tuple(map(len, self.parts))

    def compute(self, function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
        return (function(self.parts[task.part], *task.arguments) for task in tasks)


# --- the likelihood --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [bought, votes])
def test_masses_under_all_laws_are_those_under_each(data: Callable[[], sp.Observations]) -> None:
    regions = Regions.of(data())
    found = masses_by_law(regions, LAWS, gradient=True, tolerance=1e-10)
    assert len(found.counts) < (20 if data is votes else len(regions))  # equal regions are integrated over once
    for k, h in enumerate(LAWS):
        alone = exact_log_mass(regions, h, gradient=True)
        np.testing.assert_allclose(found.log_mass[k][found.place], alone.log_mass, atol=1e-10)
        np.testing.assert_allclose(found.gradient[k][found.place], alone.gradient, atol=1e-9)


def test_sums_of_weighted_rows_are_weighted_sums() -> None:
    regions, rng = Regions.of(bought()), np.random.default_rng(3)
    which, weights = rng.integers(3, size=len(regions)), rng.random(len(regions))
    found = sum_by_law(regions, LAWS, which, weights=weights, information=True)
    rows = exact_log_mass(regions, LAWS, which, gradient=True)
    assert found.value == pytest.approx(weights @ rows.log_mass)
    for k in range(3):
        own = which == k
        np.testing.assert_allclose(found.gradient[k], weights[own] @ rows.gradient[own], atol=1e-9)
        each = [sum_by_law(regions[[t]], LAWS[k], information=True).information[0] for t in np.flatnonzero(own)[:5]]
        five = np.where(np.isin(np.arange(len(regions)), np.flatnonzero(own)[:5]), weights, 0.0)
        expected = np.tensordot(weights[np.flatnonzero(own)[:5]], each, 1)
        got = sum_by_law(regions, LAWS, which, weights=five, information=True).information[k]
        np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("data", [bought, votes])
@pytest.mark.parametrize("repeats", [1, 4])
def test_gradient_and_information_are_differences(data: Callable[[], sp.Observations], repeats: int) -> None:
    seen = data()
    unit = None if repeats == 1 else np.random.default_rng(2).permutation(len(seen)) // repeats
    objective = Objective(Memory(Regions.of(seen)), unit, 1e-12)
    mixture = Mixture(LOG_WEIGHTS, LAWS)
    at, centre = objective.at(mixture, derivatives=2), mixture.coordinates
    step = 1e-5
    slopes, bends = [], []
    for i in range(len(centre)):
        ends = [objective.at(Mixture.at(centre + sign * step * np.eye(len(centre))[i], 3)) for sign in (1, -1)]
        slopes.append((ends[0].value - ends[1].value) / (2 * step))
        bends.append((ends[1].gradient - ends[0].gradient) / (2 * step))
    np.testing.assert_allclose(at.gradient, slopes, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(objective.information(mixture, at.sums), bends, rtol=1e-4, atol=2e-3)


def seen(kind: str) -> sp.Observations:
    """Return purchases whose likelihood is more than masses of regions."""
    rng = np.random.default_rng(6)
    menus = sp.MenuLaw("uniform").sample(120, 3, rng=rng)
    if kind == "nonempty":
        data = sp.simulate(mixture_law(3), menus, 120, rng=rng)
        data = data[np.flatnonzero(data.bundles.sum(axis=1) > 0)]
        return sp.Observations(data.prices, data.budgets, data.bundles, nonempty=True)
    problem = {
        "open": sp.problems.Open(1.5), "value": sp.problems.OneOf(), "unit": sp.problems.OneOf(reading="unit"),
    }[kind]  # fmt: skip
    law = mixture_law(4 if kind == "open" else 3, kappa=5.0)
    faced = sp.Menus(menus.prices, goods=menus.goods, problem=problem)
    return sp.simulate(law, faced, 120, rng=rng)


@pytest.mark.parametrize("kind", ["open", "value", "unit", "nonempty"])
@pytest.mark.parametrize("with_customers", [False, True])
def test_sums_of_what_was_recorded(kind: str, with_customers: bool) -> None:
    data = seen(kind)
    store = Conditioned(data.problem.recorded(data))
    unit = np.random.default_rng(2).permutation(len(data)) // 3 if with_customers else None
    objective = Objective(store, unit, 1e-12)
    rng, k = np.random.default_rng(1), 2
    mixture = Mixture(np.log([0.7, 0.3]), 2.0 * rng.standard_normal((k, store.n_goods)))
    at, centre = objective.at(mixture, derivatives=2), mixture.coordinates
    ends = [
        [objective.at(Mixture.at(centre + step, k), 0).value for step in (1e-4 * unit_step, -1e-4 * unit_step)]
        for unit_step in np.eye(len(centre))
    ]
    np.testing.assert_allclose(at.gradient, [(up - down) / 2e-4 for up, down in ends], rtol=1e-5, atol=1e-4)
    bend = [-(up + down - 2 * at.value) / 1e-8 for up, down in ends]
    np.testing.assert_allclose(np.diag(objective.information(mixture, at.sums)), bend, rtol=0.02, atol=0.1)
    values = climb_by_em(objective, mixture, 15).values
    assert len(values) > 5
    assert np.all(np.diff(values) >= 0)
    plain = objective.at(em_step(objective, mixture, at.sums))
    assert plain.value > at.value
    # One law is the likelihood of one law.
    alone = Mixture(np.zeros(1), mixture.h[:1])
    assert objective.at(alone).sums.value == pytest.approx(store.sums(mixture.h[0]).value)
    if not with_customers:
        each = np.exp(
            [
                log_of_mixture(data.problem.recorded(data), Mixture(np.zeros(1), h[None]))
                for h in store.lifted(mixture.h)
            ]
        )
        if kind in ("unit",):  # nothing is conditioned on
            assert at.sums.value == pytest.approx(np.log([0.7, 0.3] @ each).sum())


@pytest.mark.parametrize("with_customers", [False, True])
def test_parts_make_the_same_sums(with_customers: bool) -> None:
    regions = Regions.of(votes())
    unit = np.random.default_rng(5).permutation(len(regions)) // 3 if with_customers else None
    whole, parts = (
        store.mixture(LOG_WEIGHTS, LAWS, unit=unit, derivatives=2) for store in (Memory(regions), InParts(regions))
    )
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-8)


def test_one_law_is_a_mixture_of_one() -> None:
    regions = Regions.of(bought())
    sums = Memory(regions).mixture(np.zeros(1), LAWS[:1])
    value, gradient = sum_log_mass(regions, LAWS[0])
    assert sums.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(sums.gradient[0], gradient, atol=1e-8)
    np.testing.assert_allclose([sums.units, sums.rows], len(regions))


def test_log_mass_of_a_mixture_is_that_of_its_laws() -> None:
    regions, law = Regions.of(bought()), mixture_law()
    each = [np.log(w) + sp.log_mass(regions, one) for w, one in zip(law.weights, law.segments, strict=True)]
    np.testing.assert_allclose(sp.log_mass(regions, law), logsumexp(each, axis=0), atol=1e-12)
    assert np.all(sp.log_mass(regions, law, full=True).error < 1e-8)
    sampled = sp.log_mass(regions, law, method="monte_carlo", n_draws=500, rng=np.random.default_rng(0))
    np.testing.assert_allclose(sampled, sp.log_mass(regions, law), atol=0.5)
    with pytest.raises(sp.InvalidArgument, match="gradient is of one law"):
        sp.log_mass(regions, law, gradient=True)
    with pytest.raises(sp.InvalidArgument, match="law must be of the 4 goods of the regions; received one of 5"):
        sp.log_mass(regions, mixture_law(5))


# --- the law ---------------------------------------------------------------------------------------------------


def test_a_mixture_has_the_density_and_the_mean_of_its_laws() -> None:
    law, rng = mixture_law(), np.random.default_rng(4)
    draws = law.sample(40_000, rng=rng)
    means = [one.sample(40_000, rng=rng).mean(axis=0) for one in law.segments]
    np.testing.assert_allclose(draws.mean(axis=0), law.weights @ means, atol=0.02)
    points = draws[:50]
    densities = [np.exp(one.log_density(points)) for one in law.segments]
    np.testing.assert_allclose(np.exp(law.log_density(points)), law.weights @ densities, rtol=1e-12)


@pytest.mark.parametrize(
    ("segments", "weights", "message"),
    [
        ([], [], "segments must be VonMisesFisher laws, one or more; received none"),
        ([1.0], [1.0], "received an object of type float"),
        ([sp.VonMisesFisher([1.0, 0.0], 1.0), sp.VonMisesFisher([1.0, 0.0, 0.0], 1.0)], [0.5, 0.5], "laws of 2, 3"),
        ([sp.VonMisesFisher([1.0, 0.0], 1.0)] * 2, [0.5, 0.6], "sum 1, one for each segment"),
        ([sp.VonMisesFisher([1.0, 0.0], 1.0)] * 2, [1.0, 0.0], "2 positive numbers"),
        ([sp.VonMisesFisher([1.0, 0.0], 1.0)] * 2, [1.0], "2 positive numbers"),
    ],
)
def test_mixtures_that_are_none(segments: Any, weights: Any, message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.MixtureLaw(segments, weights)


# --- the climb -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [bought, votes])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_steps_never_fall(data: Callable[[], sp.Observations], k: int) -> None:
    objective = Objective(Memory(Regions.of(data())), None, 1e-10)
    rng = np.random.default_rng(k)
    for _ in range(3):
        start = Mixture(log_softmax(rng.standard_normal(k)), 5.0 * rng.standard_normal((k, 4)))
        values = climb_by_em(objective, start, 25).values
        assert len(values) > 10
        assert np.all(np.diff(values) >= 0)
        at = objective.at(start)
        plain = objective.at(em_step(objective, start, at.sums))
        assert plain.value >= at.value  # unlengthened, whatever the start


def test_one_segment_ends_at_the_penalised_mode_of_one_law() -> None:
    regions = Regions.of(bought())
    objective = Objective(Memory(regions), None, 1e-10)

    def falling(h: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = sum_log_mass(regions, h)
        return -value + 0.5 * h @ h / 64.0, -gradient + h / 64.0  # τ = 2n = 8

    found = minimize(falling, np.ones(4), jac=True, method="BFGS", options={"gtol": 1e-9})
    top = climb_to_top(objective, climb_by_em(objective, Mixture(np.zeros(1), np.zeros((1, 4))), 10).mixture)
    np.testing.assert_allclose(top.mixture.h[0], found.x, atol=1e-6)
    np.testing.assert_allclose(
        fitted(n_segments=1).segments_[0].mean_direction, found.x / np.linalg.norm(found.x), atol=1e-6
    )


def test_the_top_is_flat_and_bends_down() -> None:
    objective = Objective(Memory(Regions.of(bought())), None, 1e-10)
    top = climb_to_top(objective, climb_by_em(objective, Mixture(LOG_WEIGHTS[:2], LAWS[:2]), 20).mixture)
    assert np.abs(top.at.gradient).max() < 1e-3
    assert np.linalg.eigvalsh(objective.information(top.mixture, top.at.sums))[0] > 0


# --- the search ------------------------------------------------------------------------------------------------


def test_segments_that_are_empty_or_twice_there_go() -> None:
    objective = Objective(Memory(Regions.of(bought())), None, 1e-8)
    two = climb_to_top(objective, climb_by_em(objective, Mixture(LOG_WEIGHTS[:2], LAWS[:2]), 30).mixture)
    weights = np.append(np.exp(two.mixture.log_weights) * [0.5, 1.0], 0.5 * np.exp(two.mixture.log_weights[0]))
    twice = Mixture(np.log(weights), np.vstack([two.mixture.h, two.mixture.h[:1]]))
    left = search._without_empty(objective, climb_by_em(objective, twice, 1))
    assert len(left.mixture.h) == 2
    assert left.value == pytest.approx(two.value, abs=1e-4)
    far = np.array([[0.0, 0.0, 0.0, -500.0]])  # nobody is like this
    empty = Mixture(log_softmax([0.0, 0.0, -8.0]), np.vstack([two.mixture.h, far]))
    at = objective.at(empty)
    assert at.sums.units[2] < 1
    left = search._without_empty(objective, search.Climbed(empty, at, ()))
    assert left.value == pytest.approx(two.value, abs=1e-4)


def test_the_number_of_segments_is_found() -> None:
    model = fitted()
    assert model.n_segments_ == 2
    assert [row.n_asked for row in model.path_] == [1, 2, 3]  # one more, which raised the BIC by far
    assert model.path_[2].bic > model.path_[1].bic + 20
    assert min(model.path_, key=lambda row: row.bic).n_asked == 2
    for row in model.path_:
        n_free = 4 * row.n_segments + row.n_segments - 1
        assert row.bic == pytest.approx(n_free * np.log(300) - 2 * row.penalised)
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.1)
    assert model.weights_[0] > model.weights_[1]
    for own, true in zip(model.segments_, mixture_law().segments, strict=True):
        assert own.mean_direction @ true.mean_direction > 0.97
    assert model.law is None
    scores = model.score_path(bought(300, 7))
    assert scores[2] > scores[1] + 0.01


def test_one_crowd_is_one_segment() -> None:
    data = sp.simulate(mixture_law(weights=(1.0,)), sp.MenuLaw("uniform"), 200, rng=np.random.default_rng(3))
    model = sp.SegmentedUtility(random_state=0, n_draws=40, n_effective=0).fit(data)
    assert model.n_segments_ == 1
    assert model.law is model.segments_[0]
    other = sp.HeterogeneousUtility(random_state=0, n_effective=100).fit(data)
    fresh = sp.simulate(mixture_law(weights=(1.0,)), sp.MenuLaw("uniform"), 300, rng=np.random.default_rng(9))
    assert abs(model.score(fresh) - other.score(fresh)) < 0.01
    assert model.best_utility @ other.best_utility > 0.999


# --- customers -------------------------------------------------------------------------------------------------


def test_all_purchases_of_a_customer_are_of_one_segment() -> None:
    law, rng = mixture_law(kappa=6.0), np.random.default_rng(8)
    truth = rng.random(60) < law.weights[1]
    whose = rng.permutation(np.repeat(np.arange(60), 4))
    own = [law.segments[int(truth[c])].sample(1, rng=rng)[0] for c in whose]
    menus = sp.MenuLaw("uniform").sample(240, 4, rng=rng)
    bundles = sp.choose(np.array(own), menus.prices, menus.budgets)
    data = sp.Observations(menus.prices, menus.budgets, bundles, customers=whose)
    model, apart = (
        sp.SegmentedUtility(2, random_state=0, n_draws=40, n_effective=0, by_customer=by).fit(data)
        for by in (True, False)
    )
    assert model.n_customers_ == 60
    assert apart.n_customers_ is None
    for c in range(60):
        assert np.ptp(model.membership_[whose == c], axis=0).max() < 1e-12

    def share_right(fit: sp.SegmentedUtility) -> float:
        right = float(np.mean((fit.membership_[:, 1] > 0.5) == truth[whose]))
        return max(right, 1.0 - right)  # whichever segment came out larger

    assert share_right(model) > share_right(apart) + 0.03
    assert share_right(model) > 0.9
    assert model.leave_one_out() is None
    assert "60 customers" in str(model.summary())
    np.testing.assert_allclose(model.membership(data), model.membership_)
    np.testing.assert_allclose(model.membership(data[whose == 5]), model.membership_[whose == 5])


def test_units_are_customers_who_repeat() -> None:
    assert units_of(None) is None
    assert units_of(("a", "b")) is None
    np.testing.assert_array_equal(units_of(("b", "a", "b")), [1, 0, 1])


def test_membership_of_what_says_nothing() -> None:
    model = fitted()
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    tied = sp.Observations(np.ones((1, 4)), [1.0], [[0.5, 0.5, 0.0, 0.0]])
    assert np.isnan(model.membership(tied)).all()
    data = bought()[:40].concat(tied)
    own = sp.SegmentedUtility(2, random_state=0, n_draws=20, n_effective=0, degenerate="drop").fit(data)
    assert (own.n_dropped_, own.membership_.shape) == (1, (41, 2))
    assert np.isnan(own.membership_[40]).all()
    assert np.isfinite(own.membership_[:40]).all()


# --- the posterior ---------------------------------------------------------------------------------------------


def test_draws_follow_the_curvature_where_there_are_many_purchases() -> None:
    objective = Objective(Memory(Regions.of(bought())), None, 1e-8)
    mixture = fitted().mixture
    weights, laws = mixture.components
    top = climb_to_top(objective, Mixture(np.log(weights), laws))
    near = gaussian_near(objective, top.mixture, top.at)
    spread = near.factor @ near.factor.T
    drawn = fitted().market(n_draws=160)
    share = drawn.weight[:, 0]
    expected = share.mean() * (1 - share.mean()) * np.sqrt(spread[0, 0])
    assert share.std() == pytest.approx(expected, rel=0.35)
    assert abs(share.mean() - weights[0]) < expected


def test_uneven_weights_leave_the_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    from stochpref.posterior import diagnostics  # noqa: PLC0415

    monkeypatch.setattr(diagnostics, "PARETO_LIMIT", -10.0)
    model = sp.SegmentedUtility(2, random_state=0, n_draws=60, n_effective=40).fit(bought())
    assert model.sampler_ == "curvature"
    assert "too uneven, Pareto k" in model.reason_
    assert "approximate" in str(model.summary())
    assert model.is_converged_
    assert model.diagnostics_.pareto_k is None
    assert any(verdict.status == "note" for verdict in model.account().verdicts)


def test_stored_observations_are_not_passed_over_for_every_weight() -> None:
    store = InParts(Regions.of(bought()))
    store.is_large = True
    objective = Objective(store, None, 1e-8)
    path = search.find_path(objective, 2, 0, is_auto=False, tell=lambda _: None)
    whole = search.find_path(Objective(Memory(store.load())), 2, 0, is_auto=False, tell=lambda _: None)
    assert path[1].penalised == pytest.approx(whole[1].penalised, abs=0.01)
    choice = draws_around(objective, path[1].mixture, 0, Plan())
    assert choice.sampler.name == "curvature"


# --- the door --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_segments": 0}, "n_segments must be 'auto' or a whole number, 1 or more; received 0"),
        ({"n_segments": "many"}, "n_segments must be 'auto' or a whole number"),
        ({"n_segments": 500}, "n_segments must not exceed the different purchases, 183; received 500"),
        ({"max_segments": 0}, "max_segments must be a whole number, 1 or more; received 0"),
        ({"n_draws": 0}, "n_draws must be a whole number"),
        ({"engine": "abacus"}, "engine must be one of"),
        ({"degenerate": "keep"}, "degenerate must be"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.SegmentedUtility(**settings).fit(bought())


def test_one_good_has_no_segments() -> None:
    with pytest.raises(sp.InvalidArgument, match="two goods or more"):
        sp.SegmentedUtility().fit(sp.Observations([[1.0]] * 3, [1.0] * 3, [[1.0]] * 3))


def test_the_same_seed_gives_the_same_fit() -> None:
    one, other = (sp.SegmentedUtility(2, random_state=5, n_draws=30, n_effective=0).fit(votes()) for _ in range(2))
    np.testing.assert_array_equal(one.directions, other.directions)
    np.testing.assert_array_equal(one.membership_, other.membership_)
