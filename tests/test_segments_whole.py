"""Segments over whole goods: points against exact masses, simulated segments found, fits that are fits like others."""

from __future__ import annotations

import warnings
from functools import cache
from unittest import mock

import numpy as np
import pytest
from scipy.special import logsumexp

import stochpref as sp
from stochpref.errors import InvalidArgument
from stochpref.kinds import ABOVE, BELOW, SLACK
from stochpref.mass.masses import exact_log_mass
from stochpref.problems import Whole
from stochpref.regions import Regions
from stochpref.segments import rounds, sources
from stochpref.segments.averages import joined, log_probabilities, membership_by_points, shares_of_all
from stochpref.segments.clouds import Parts, draw_points, log_density
from stochpref.segments.objective import Mixture, Objective
from stochpref.segments.sources import SMALL, Clouds, Inside

TASTES = np.array([[0.8, 0.5, -0.3, -0.2], [-0.4, -0.2, 0.7, 0.6]])
TASTES /= np.linalg.norm(TASTES, axis=1, keepdims=True)
MIXTURE = Mixture(np.log([0.6, 0.4]), 6.0 * TASTES)


def purchases(size: int, *, is_shared: bool, nonempty: bool, seed: int = 0, budget: float = 3.5) -> sp.Observations:
    rng = np.random.default_rng(seed)
    law = sp.MixtureLaw([sp.VonMisesFisher(taste, 9.0) for taste in TASTES], [0.6, 0.4])
    prices = np.tile([1.0, 1.2, 1.4, 1.7], (size, 1)) if is_shared else rng.uniform(1, 2, (size, 4))
    data = sp.simulate(law, sp.Menus(prices, np.full(size, budget), problem="whole"), size, rng=rng)
    if not nonempty:
        return data
    kept = data[data.bundles.any(axis=1)]
    return sp.Observations(kept.prices, kept.budgets, kept.bundles, problem="whole", nonempty=True)


def exact_log_chances(data: sp.Observations, laws: np.ndarray) -> np.ndarray:
    """Return (K, T) log-probabilities where the budget covers everything, so that regions are orthants."""
    side = np.where(data.bundles > 0, ABOVE, BELOW).astype(np.int8)
    size, n = side.shape
    orthants = [
        Regions(np.full(size, SLACK, np.int8), sides, np.ones((size, n)), np.full(size, -1, np.int32), 1.0)
        for sides in (side, np.full((size, n), BELOW, np.int8))
    ]
    bought, nothing = (np.array([exact_log_mass(one, h).log_mass for h in laws]) for one in orthants)
    return bought - np.log1p(-np.exp(nothing)) if data.nonempty else bought


@pytest.mark.parametrize("nonempty", [False, True])
def test_the_probabilities_of_clouds_are_the_exact_ones_where_those_are_known(nonempty):
    data = purchases(60, is_shared=True, nonempty=nonempty, budget=10.0)
    found = log_probabilities(data, MIXTURE, seed=3)
    exact = logsumexp(exact_log_chances(data, MIXTURE.h) + MIXTURE.log_weights[:, None], axis=0)
    assert np.abs(found.log_probability - exact).max() < 0.02
    assert found.error.max() < 0.01
    far = Mixture(np.log([0.5, 0.5]), 1.5 * MIXTURE.h[::-1])  # not the laws that the points were drawn around
    source = Clouds(data, None, 0)
    source.points(MIXTURE, SMALL)
    cloud = source.points(far, SMALL)
    logs = cloud.log_chances(MIXTURE.h, cloud.weighed(MIXTURE.h))[:, cloud.place]
    assert np.abs(logs - exact_log_chances(data, MIXTURE.h)).max() < 0.3  # of probabilities down to e^-10


@pytest.mark.parametrize("nonempty", [False, True])
def test_draws_inside_tell_how_much_likelier_one_law_is_than_another(nonempty):
    data = purchases(60, is_shared=False, nonempty=nonempty, budget=10.0)
    source = Inside(data, None, 0)
    source.points(MIXTURE, SMALL)
    points = source.points(MIXTURE, sources.LARGEST)
    near = Mixture(np.log([0.5, 0.5]), 0.8 * MIXTURE.h)
    values, exact = np.zeros(2), np.zeros(2)
    for k, mixture in enumerate((MIXTURE, near)):
        values[k] = points.mixture(*mixture, derivatives=0).value
        logs = exact_log_chances(data, mixture.h) + mixture.log_weights[:, None]
        exact[k] = np.sum(logsumexp(logs, axis=0))
    assert abs(exact[1] - exact[0]) > 1.0
    assert values[1] - values[0] == pytest.approx(exact[1] - exact[0], abs=0.3)


def test_the_gain_of_a_segment_is_that_of_exact_likelihoods():
    data = purchases(200, is_shared=False, nonempty=True, budget=10.0)
    one = Mixture(np.zeros(1), (0.6 * MIXTURE.h[0] + 0.4 * MIXTURE.h[1])[None])
    exact = [
        np.sum(logsumexp(exact_log_chances(data, each.h) + each.log_weights[:, None], axis=0))
        for each in (one, MIXTURE)
    ]
    gains = [Inside(data, None, seed).log_likelihood(MIXTURE, (one, 0.0)) for seed in (0, 1)]
    assert exact[1] - exact[0] > 20
    assert gains == pytest.approx([exact[1] - exact[0]] * 2, abs=2.5)


@pytest.mark.parametrize("kind", [Clouds, Inside])
@pytest.mark.parametrize("of_customers", [False, True])
def test_gradients_are_those_of_the_values(kind, of_customers):
    data = purchases(40, is_shared=kind is Clouds, nonempty=True)
    unit = np.arange(len(data)) // 2 if of_customers else None
    objective = Objective(kind(data, unit, 0).points(MIXTURE, SMALL), unit, prior_spread=3.0)
    at = MIXTURE.coordinates + 0.2 * np.random.default_rng(0).standard_normal(9)
    found = objective.at(Mixture.at(at, 2)).gradient
    steps = 1e-5 * np.eye(9)
    slopes = [(objective.at(Mixture.at(at + s, 2)).value - objective.at(Mixture.at(at - s, 2)).value) for s in steps]
    assert found == pytest.approx(np.array(slopes) / 2e-5, rel=1e-6, abs=1e-5)
    information = objective.information(Mixture.at(at, 2), objective.at(Mixture.at(at, 2), derivatives=2).sums)
    bends = [
        (objective.at(Mixture.at(at - s, 2)).gradient - objective.at(Mixture.at(at + s, 2)).gradient) for s in steps
    ]
    assert information == pytest.approx(np.array(bends) / 2e-5, rel=1e-4, abs=1e-3)


def test_points_have_the_density_they_are_said_to_have():
    laws = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [0.0, -20.0, 5.0]])
    parts = Parts(np.array([0.2, 0.5, 0.3]), laws, laws)
    points = draw_points(parts, 1 << 13, rng=np.random.default_rng(0))
    weights = np.exp(-log_density(parts, points))
    assert np.linalg.norm(points, axis=1) == pytest.approx(1.0)
    assert weights.mean() == pytest.approx(1.0, abs=0.01)
    assert (weights[:, None] * points).mean(axis=0) == pytest.approx(0.0, abs=0.02)
    assert (points[:, 2] > 0.9).mean() < 0.1


def test_the_mean_of_probabilities_is_that_of_one_mixture():
    data = purchases(40, is_shared=True, nonempty=True)
    other = Mixture(np.zeros(1), np.array([[1.0, 2.0, 3.0, -1.0]]))
    both = joined([MIXTURE, other])
    assert np.exp(both.log_weights).sum() == pytest.approx(1.0)
    apart = [np.exp(log_probabilities(data, one, 0).log_probability) for one in (MIXTURE, other)]
    assert np.exp(log_probabilities(data, both, 0).log_probability) == pytest.approx(np.mean(apart, axis=0), rel=0.03)


def test_shares_of_all_customers_count_those_who_buy_nothing():
    data = purchases(40, is_shared=True, nonempty=True)
    laws = np.stack([MIXTURE.h[0], np.array([-6.0, -6.0, -6.0, -6.0])])
    shares = shares_of_all(data, np.array([[0.5, 0.5]]), laws[None])[0]
    customers = [
        sp.VonMisesFisher(h / np.linalg.norm(h), float(np.linalg.norm(h))).sample(40_000, rng=np.random.default_rng(0))
        for h in laws
    ]
    recorded = np.array([np.mean((one > 0).any(axis=1)) for one in customers])
    assert shares == pytest.approx((0.5 / recorded) / (0.5 / recorded).sum(), rel=0.02)


@cache
def fitted(*, is_shared: bool) -> sp.SegmentedUtility:
    size, few = 300 if is_shared else 100, {"N_STARTS": 6, "_SPLITS": 3}
    with warnings.catch_warnings(), mock.patch.multiple(rounds, **few):
        warnings.simplefilter("ignore", UserWarning)
        model = sp.SegmentedUtility(max_segments=2, n_draws=50, n_effective=0, random_state=0)
        return model.fit(purchases(size, is_shared=is_shared, nonempty=True))


@pytest.mark.parametrize("is_shared", [True, False])
def test_two_simulated_segments_are_found(is_shared):
    model = fitted(is_shared=is_shared)
    assert model.n_segments_ == 2
    cosines = np.array([[own.mean_direction @ taste for taste in TASTES] for own in model.segments_])
    assert cosines.max(axis=0).min() > 0.93
    assert model.weights_[cosines[:, 0].argmax()] == pytest.approx(0.6, abs=0.12)
    assert model.membership_.sum(axis=1) == pytest.approx(1.0)
    assert ("gain over one" in str(model.summary())) is not is_shared
    later = purchases(100, is_shared=is_shared, nonempty=True, seed=9)
    path = model.score_path(later)
    assert path[2] > path[1] + 0.1
    assert model.score(later) == pytest.approx(path[2], abs=0.02)


@pytest.mark.parametrize("is_shared", [True, False])
def test_such_a_fit_is_saved_loaded_and_asked_like_any_other(is_shared, tmp_path):
    model = fitted(is_shared=is_shared)
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    menu = model.observations_.menus[:1]
    demand, again = model.demand(menu, n_customers=512), loaded.demand(menu, n_customers=512)
    assert np.array_equal(demand.mean, again.mean)
    assert str(loaded.summary()) == str(model.summary())
    assert "averages over 2 segments" in str(model.summary())
    if is_shared:
        seen = model.observations_.bundles.mean(axis=0)
        assert demand.mean[0] == pytest.approx(seen, abs=0.08)  # hardly anybody buys nothing here
        sp.write_report(loaded, tmp_path / "report.html")
        assert "Segment 1" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_membership_is_of_customers_where_they_repeat():
    data = purchases(40, is_shared=True, nonempty=True)
    unit = np.arange(len(data)) // 4
    alone, together = (membership_by_points(data, MIXTURE, one, 0) for one in (None, unit))
    assert all(np.ptp(together[unit == c], axis=0).max() == 0 for c in range(unit.max() + 1))
    odds = np.log(alone[:, 0] / alone[:, 1]) - np.log(0.6 / 0.4)
    of_customers = np.bincount(unit, odds) + np.log(0.6 / 0.4)
    first = together[np.unique(unit, return_index=True)[1]]
    assert first[:, 0] == pytest.approx(1 / (1 + np.exp(-of_customers)), abs=0.03)


def test_draws_inside_take_over_where_clouds_are_too_thin(monkeypatch):
    monkeypatch.setattr(sources.Clouds, "is_dense", property(lambda _: False))
    monkeypatch.setattr(rounds, "N_STARTS", 4)
    monkeypatch.setattr(rounds, "_SPLITS", 2)
    data = purchases(80, is_shared=True, nonempty=True)
    found = rounds.find_path(data, None, 1, 0, is_auto=False, tell=lambda _: None)
    assert isinstance(found.source, Inside)
    assert len(found.path) == 1


def test_what_cannot_be_told_is_refused():
    data = purchases(30, is_shared=True, nonempty=True)
    n_distinct = len(np.unique(data.bundles, axis=0))
    with pytest.raises(InvalidArgument, match="a segment for as many different purchases as there are goods, 4"):
        sp.SegmentedUtility(n_distinct // 4 + 1, random_state=0).fit(data)
    with pytest.raises(InvalidArgument, match="leave-one-out needs exact probabilities of bundles"):
        fitted(is_shared=True).loo()
    assert fitted(is_shared=True).leave_one_out() is None


def test_a_problem_with_some_goods_in_part_has_segments_too():
    rng = np.random.default_rng(2)
    goods = ["tea", "rum", "jam"]
    law = sp.MixtureLaw(
        [sp.VonMisesFisher(np.array(mu), 12.0) for mu in ([0.8, 0.6, 0.0], [0.0, -0.6, 0.8])], [0.5, 0.5]
    )
    menus = sp.Menus(np.tile([1.0, 1.3, 0.9], (120, 1)), np.full(120, 2.0), goods=goods, problem=Whole(goods[:2]))
    data = sp.simulate(law, menus, 120, rng=rng)
    source = Clouds(data, None, 0)
    cloud = source.points(None, SMALL)
    assert (cloud.n_hit > 0).all()
