# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Densities of bundles of goods that satiate: against closed forms, differences, total mass and the linear problem."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

import stochpref as sp
from stochpref.kinds import AT
from stochpref.problems import Satiated
from stochpref.satiation.climbing import Prior, Target, climb
from stochpref.satiation.density import Worth, log_densities
from stochpref.satiation.parameters import Moves, Parameters
from stochpref.satiation.quadrature import GUMBEL, NORMAL, integrate
from tests.recreation import mdcev_at, trips


def worth(k: int, seed: int = 0, *, bend: float = 1.0, error: int = NORMAL, alike: bool = False) -> Worth:
    rng = np.random.default_rng(seed)
    scale = np.full(k, 0.8) if alike else np.exp(rng.normal(0.0, 0.3, k))
    return Worth(rng.normal(0, 0.7, (1, k)), scale, rng.normal(0, 0.5, (1, k)), bend, error)


def some_purchases(
    n: int, count: int, outside: str | None, *, seed: int = 1, power: float | None = None
) -> sp.Observations:
    rng, problem = np.random.default_rng(seed), Satiated(outside, power)
    menus = sp.Menus(rng.uniform(0.5, 2, (count, n)), rng.uniform(1, 6, count), problem=problem)
    u = np.exp(rng.standard_normal((count, len(problem.coordinates(menus.goods)))))
    return sp.Observations(menus.prices, menus.budgets, problem.choose(u, menus), problem=problem)


@pytest.mark.parametrize("outside", [None, "rest", "good2"])
@pytest.mark.parametrize("bend", [1.0, 0.4])
def test_where_all_goods_are_bought_the_density_is_that_of_the_worths(outside: str | None, bend: float) -> None:
    rng, n = np.random.default_rng(2), 4
    problem = Satiated(outside, 1 - bend)
    bundles, prices = rng.uniform(0.3, 3, (20, n)), rng.uniform(0.5, 2, (20, n))
    spent = np.sum(prices * bundles, axis=1)
    seen = sp.Observations(prices, spent + (2.0 if outside == "rest" else 0.0), bundles, problem=problem)
    bought = problem.bought(seen)
    k = bought.side.shape[1]
    law = worth(k, bend=bend)
    # log-worths less that of the good left out are normal, and a map from quantities whose derivatives are differences.
    left = 0 if bought.outside is None else bought.outside
    others = [i for i in range(k) if i != left]

    def logs(x: np.ndarray) -> np.ndarray:
        fade = np.exp(law.log_satiation[0])
        inside = np.log(bought.prices) + bend * np.log1p(x / fade)
        if bought.outside is not None:
            inside[:, left] = np.log(bought.prices[:, left]) + bend * np.log(x[:, left])
        return inside[:, others] - inside[:, [left]]

    def moved(j: int, step: float) -> np.ndarray:
        x = bought.bundles.copy()
        x[:, others[j]] += step
        x[:, left] -= step * bought.prices[:, others[j]] / bought.prices[:, left]
        return logs(x)

    jacobian = np.stack([(moved(j, 1e-5) - moved(j, -1e-5)) / 2e-5 for j in range(k - 1)], axis=2)
    mean = law.location[0, others] - law.location[0, left]
    spread = np.diag(law.scale[others] ** 2) + law.scale[left] ** 2
    away = logs(bought.bundles) - mean
    quadratic = np.einsum("ti,ij,tj->t", away, np.linalg.inv(spread), away)
    expected = -0.5 * quadratic - 0.5 * np.linalg.slogdet(2 * np.pi * spread)[1] + np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(log_densities(bought, law).log_density, expected, atol=2e-8)


def test_where_all_goods_are_in_part_the_integral_is_closed() -> None:
    rng = np.random.default_rng(3)
    slope, location, scale = rng.normal(0, 2, (50, 6)), rng.normal(0, 2, (1, 6)), np.exp(rng.normal(0, 0.5, 6))
    found = integrate(np.zeros((50, 6), np.int8), slope, location, scale, NORMAL)
    w, d = scale**-2.0, slope - location
    best = (d @ w) / w.sum()
    expected = norm.logpdf(0) * 5 - np.log(scale).sum() - 0.5 * np.log(w.sum())
    expected = expected - 0.5 * np.sum(w * (d - best[:, None]) ** 2, axis=1)
    np.testing.assert_allclose(found.log_value, expected, atol=1e-11)


@pytest.mark.parametrize("bend", [1.0, 0.6])
@pytest.mark.parametrize("outside", ["rest", "good2", None])
def test_gumbel_worths_are_the_closed_form_of_mdcev(bend: float, outside: str | None) -> None:
    seen = some_purchases(6, 200, outside, power=1 - bend)
    bought = seen.problem.bought(seen)
    k = bought.side.shape[1]
    law = worth(k, bend=bend, error=GUMBEL, alike=True)
    sigma = law.scale[0]
    outer = np.arange(k) == bought.outside
    fade = np.exp(law.log_satiation)
    log_c = np.log(bend) - np.log(np.where(outer, bought.bundles, bought.bundles + fade))
    strength = np.where(outer, np.log(np.maximum(bought.bundles, 1e-300)), np.log1p(bought.bundles / fade))
    v = (law.location - np.log(bought.prices) - bend * strength) / sigma
    is_at, number = bought.side == AT, (bought.side == AT).sum(axis=1)
    left = np.argmax(is_at, axis=1) if bought.outside is None else np.full(len(v), bought.outside)
    costs = np.where(is_at, np.log(bought.prices) - log_c, -np.inf)
    expected = (1 - number) * np.log(sigma) + np.where(is_at, log_c + v, 0.0).sum(axis=1) + logsumexp(costs, axis=1)
    expected += gammaln(number) - number * logsumexp(v, axis=1) - np.log(bought.prices[np.arange(len(v)), left])
    found = log_densities(bought, law).log_density
    assert np.ptp(number) >= 3
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("error", [NORMAL, GUMBEL])
def test_coarse_integrals_are_near_fine_ones(error: int) -> None:
    seen = some_purchases(8, 400, "rest")
    bought, law = seen.problem.bought(seen), worth(9, error=error)
    fine, coarse = (log_densities(bought, law, slopes=False, fine=fine).log_density for fine in (True, False))
    np.testing.assert_allclose(coarse, fine, atol=3e-8)
    assert np.any(coarse != fine)


@pytest.mark.parametrize("error", [NORMAL, GUMBEL])
def test_slopes_are_those_of_differences(error: int) -> None:
    seen = some_purchases(4, 60, "rest")
    bought, law, step = seen.problem.bought(seen), worth(5, bend=0.7, error=error), 1e-5
    found = log_densities(bought, law)

    def slope(**fields: tuple[object, object]) -> np.ndarray:
        high, low = (log_densities(bought, law._replace(**{k: v[i] for k, v in fields.items()})) for i in (0, 1))
        return (high.log_density - low.log_density) / (2 * step)

    for i in range(5):
        unit = np.zeros(5)
        unit[i] = step
        both = (law.location + unit, law.location - unit)
        np.testing.assert_allclose(found.location[:, i], slope(location=both), atol=2e-8)
        both = (law.scale * np.exp(unit), law.scale * np.exp(-unit))
        np.testing.assert_allclose(found.log_scale[:, i], slope(scale=both), atol=2e-8)
        both = (law.log_satiation + unit, law.log_satiation - unit)
        np.testing.assert_allclose(found.log_satiation[:, i], slope(log_satiation=both), atol=2e-8)
    np.testing.assert_allclose(found.bend, slope(bend=(0.7 * np.exp(step), 0.7 * np.exp(-step))), atol=2e-8)


# outside good, prices (of money too, 1), caps, budget, law of worths, bend
GOODS = ("good1", "good2", "good3")
SETTINGS = {
    "outside": ("rest", [1.0, 1.4, 1.0], [np.inf, np.inf, np.inf], 3.0, NORMAL, 1.0),
    "outside, caps": ("rest", [1.0, 1.4, 1.0], [0.8, 1.1, np.inf], 3.0, NORMAL, 1.0),
    "outside, Gumbel, a cap, power": ("rest", [0.7, 1.4, 1.0], [np.inf, 0.9, np.inf], 2.0, GUMBEL, 0.5),
    "no outside": (None, [1.0, 1.4, 0.8], [np.inf, np.inf, np.inf], 2.0, NORMAL, 1.0),
    "no outside, caps": (None, [1.0, 1.4, 0.8], [0.9, 0.7, 1.5], 2.0, NORMAL, 0.6),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_everything_that_can_be_bought_has_the_mass_one(name: str) -> None:
    outside, prices, caps, budget, error, bend = SETTINGS[name]
    problem, law = Satiated(outside, 1 - bend), worth(3, seed=5, bend=bend, error=error)
    a, most, n = np.array(prices), np.array(caps), 3 if outside is None else 2

    def density_fn(x: np.ndarray) -> np.ndarray:
        rows = np.ones((len(x), 1))
        seen = SimpleNamespace(  # not checked: a bundle may leave hardly any money
            prices=rows * a[:n], budgets=np.full(len(x), budget), bundles=x[:, :n], caps=rows * most[:n], n_goods=n,
            goods=GOODS[:n],
        )  # fmt: skip
        return np.exp(log_densities(problem.bought(seen), law, slopes=False).log_density)

    total = 0.0
    for sides in product(("none", "cap", "part"), repeat=3):
        in_part = [i for i in range(3) if sides[i] == "part"]
        if (outside is not None and sides[2] != "part") or not in_part:
            continue
        fixed = np.array([most[i] if sides[i] == "cap" else 0.0 for i in range(3)])
        if np.isfinite(fixed).all():
            left_out = in_part[0] if outside is None else 2
            others = [i for i in in_part if i != left_out]
            points, weights = purchases_of(a, most, budget, fixed, left_out, others)
            total += float(weights @ density_fn(points)) if len(points) else 0.0
    assert total == pytest.approx(1.0, abs=1e-6)


def purchases_of(
    a: np.ndarray, most: np.ndarray, budget: float, fixed: np.ndarray, left_out: int, others: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of an integral over the quantities of `others`, the budget settling `left_out`."""
    points, weights = fixed[None].copy(), np.ones(1)
    later = list(others)
    for i in others:
        later.remove(i)
        # What can be spent on the good, given those before it, if those after it and the one left out take the rest.
        left = budget - points @ np.where(np.arange(3) == left_out, 0.0, a)
        least = np.maximum((left - sum(a[j] * most[j] for j in (*later, left_out))) / a[i], 0.0)
        highest = np.minimum(most[i], left / a[i])
        bends = sorted({0.0, *(b for b in ((left[0] - a[j] * most[j]) / a[i] for j in later) if 0 < b < np.inf)})
        pieces = []
        for start, stop in zip(bends, [*bends[1:], np.inf], strict=True):
            low, high = np.maximum(least, start), np.maximum(np.minimum(highest, stop), np.maximum(least, start))
            nodes = np.repeat(points, SMOOTH[0].size, axis=0)
            nodes[:, i] = (low[:, None] + (high - low)[:, None] * SMOOTH[0]).ravel()
            pieces.append((nodes, (weights[:, None] * (high - low)[:, None] * SMOOTH[1]).ravel()))
        points, weights = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    points[:, left_out] = (budget - points @ np.where(np.arange(3) == left_out, 0.0, a)) / a[left_out]
    can_be = (points[:, left_out] > 1e-12) & (points[:, left_out] < most[left_out]) & (weights > 0)
    return points[can_be], weights[can_be]


def _smooth_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on (0, 1) that crowd at the ends, where densities may fall like a power."""
    t, w = np.polynomial.legendre.leggauss(count)
    t, w = 0.5 * (t + 1), 0.5 * w
    return t**3 * (10 - 15 * t + 6 * t**2), w * 30 * t**2 * (1 - t) ** 2


SMOOTH = _smooth_rule(70)


def test_probabilities_of_corners_are_what_customers_do() -> None:
    problem, rng = Satiated(), np.random.default_rng(6)
    bundle, caps = [[1.0, 1.0, 0.0]], [[1.0, 1.0, np.inf]]
    seen = sp.Observations([[1.0, 2.0, 1.5]], [3.0], bundle, caps=caps, problem=problem)
    law = worth(3, seed=7)
    logs = law.location + law.scale * rng.standard_normal((400_000, 3))
    u = np.exp(np.concatenate([logs, logs + law.log_satiation], axis=1))
    share = np.mean(np.abs(problem.choose(u[:, None], seen.menus)[:, 0] - bundle).max(axis=1) < 1e-9)
    found = np.exp(log_densities(problem.bought(seen), law).log_density[0])
    assert found == pytest.approx(share, abs=5 * np.sqrt(share / 400_000))
    both = sp.Observations([[1.0, 2.0]], [9.0], [[1.0, 1.0]], caps=1.0, problem=problem)  # all there is
    assert log_densities(problem.bought(both), worth(2)).log_density[0] == 0.0


def test_slopes_of_corners_are_those_of_differences() -> None:
    caps = [[1.0, 1.0, np.inf, np.inf]]
    seen = sp.Observations([[1.0, 2.0, 1.5, 1.0]], [3.0], [[1.0, 1.0, 0.0, 0.0]], caps=caps, problem="satiated")
    bought, law = seen.problem.bought(seen), worth(4, bend=0.8)
    found = log_densities(bought, law)
    for i in range(4):
        unit = np.where(np.arange(4) == i, 1e-5, 0.0)
        for name, slope in (("location", found.location), ("log_satiation", found.log_satiation)):
            ends = [law._replace(**{name: getattr(law, name) + sign * unit}) for sign in (1, -1)]
            high, low = (log_densities(bought, end).log_density[0] for end in ends)
            assert slope[0, i] == pytest.approx((high - low) / 2e-5, abs=1e-8)


def test_goods_that_do_not_satiate_are_the_linear_pivot() -> None:
    # One good in part, one at its cap, one not bought: P(v_cap > v_part's, v_none < it), lognormal worths for money.
    seen = sp.Observations(
        [[1.0, 2.0, 1.5]], [2.6], [[0.6, 1.0, 0.0]], caps=[[1.0, 1.0, 1.0]], problem=Satiated(power=0.0)
    )
    law = worth(3, seed=8)
    logs = np.linspace(-12, 12, 20_001)
    y = [(logs + np.log(a) - b) / s for a, b, s in zip((1.0, 2.0, 1.5), law.location[0], law.scale, strict=True)]
    expected = np.log(np.trapezoid(norm.pdf(y[0]) / law.scale[0] * norm.sf(y[1]) * norm.cdf(y[2]), logs))
    for log_fade in (12.0, 20.0, 30.0):
        found = log_densities(seen.problem.bought(seen), law._replace(log_satiation=np.full((1, 3), log_fade)))
        assert found.log_density[0] == pytest.approx(expected, abs=10 * np.exp(-log_fade) + 1e-9)


def test_other_units_shift_the_density_by_a_constant() -> None:
    seen, law = some_purchases(4, 50, "rest"), worth(5)
    units, money = np.array([10.0, 0.1, 3.0, 1.0]), 7.0
    other = sp.Observations(
        money * seen.prices / units, money * seen.budgets, seen.bundles * units, problem=seen.problem
    )
    # Worth is by unit of the good; what money is worth, a logarithm, knows no unit.
    changed = law._replace(
        location=law.location - np.append(np.log(units), 0.0),
        log_satiation=law.log_satiation + np.append(np.log(units), 0.0),
    )
    before, after = (
        log_densities(one.problem.bought(one), w).log_density for one, w in ((seen, law), (other, changed))
    )
    np.testing.assert_allclose(after - before, -(seen.bundles > 0).astype(float) @ np.log(units), atol=1e-9)


def test_the_good_left_out_changes_the_logarithm_of_its_price_only() -> None:
    seen = some_purchases(4, 80, None)
    law = worth(4)
    order = [2, 0, 3, 1]
    turned = sp.Observations(seen.prices[:, order], seen.budgets, seen.bundles[:, order], problem="satiated")
    again = law._replace(
        location=law.location[:, order], scale=law.scale[order], log_satiation=law.log_satiation[:, order]
    )
    first, second = (log_densities(d.problem.bought(d), w).log_density for d, w in ((seen, law), (turned, again)))
    rows = np.arange(80)
    left = seen.prices[rows, np.argmax(seen.bundles > 0, axis=1)]
    other = turned.prices[rows, np.argmax(turned.bundles > 0, axis=1)]
    np.testing.assert_allclose(first + np.log(left), second + np.log(other), atol=1e-9)


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, law, found = some_purchases(5, 300, "rest"), worth(6), []
    for threads in ("1", "3"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        found.append(log_densities(seen.problem.bought(seen), law))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_published_fit_to_recreation_trips_is_found_again(real_data: Path) -> None:
    # rmdcev: model "hybrid0", the first 100 people, an intercept for each activity: −2653.24.
    data = trips(real_data, 100)
    parameters = Parameters.of((*data.goods, "rest"), 17, GUMBEL, own_scale=False)
    bought = data.problem.bought(data)
    start = parameters.start(bought)
    free = Prior(parameters.named(start), np.zeros(len(parameters.names)))
    peak = climb(Target(bought, parameters, Moves.none(18), free), start)
    assert peak.has_converged
    assert peak.log_likelihood == pytest.approx(-2653.24, abs=0.01)
    phi = parameters.named(peak.theta)
    assert mdcev_at(data, phi[:17], phi[18], phi[20:37]) == pytest.approx(peak.log_likelihood, abs=1e-8)
