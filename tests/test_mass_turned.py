"""Regions that turn their back on the mean: direct integration, many digits, differences, and where contours meet."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import i0e

import stochpref as sp
from stochpref.mass.behind import turned_mass, turned_moments, turns_away
from stochpref.mass.contour import gauss_rules
from stochpref.mass.masses import exact_log_mass, observed_information, sum_log_mass
from stochpref.mass.region import make_scratch, observation_mass
from stochpref.mass.shadow import Cone
from tests.test_mass_exact import unit


def test_regions_that_turn_their_back_on_the_mean_are_exact_too() -> None:
    """Two goods, the mean opposite: arcs by quadrature split at their nearest end, masses down to exp(-17000)."""
    observations = sp.Observations(
        [[1.0, 2.0]] * 4, [5.0, 2.0, 1.0, 2.5], [[1.0, 0.0], [1.0, 0.5], [1.0, 0.0], [0.5, 1.0]]
    )
    regions = sp.Regions.of(observations)
    slope = np.arctan2(2, 1)
    arcs = [(-np.pi / 2, 0.0), (0.0, slope), (-np.pi / 2, slope), (slope, np.pi / 2)]
    for kappa in (3.0, 17.0, 400.0, 1e4):
        for mean in (2.2, np.pi + 0.02, 3.7, 4.4):
            masses = sp.log_mass(regions, [np.cos(mean), np.sin(mean)], kappa, gradient=True, full=True)
            assert np.isfinite(masses.gradient).all()
            for t, (low, high) in enumerate(arcs):
                if low <= mean - 2 * np.pi <= high or low <= mean <= high:
                    continue
                near, far = sorted((low, high), key=lambda end: -np.cos(end - mean))
                cuts = near + (far - near) * np.concatenate([[0.0], np.geomspace(1e-7, 1.0, 30)])
                top = np.cos(near - mean)
                pieces = [
                    abs(quad(lambda x, m=mean, k=kappa, c=top: np.exp(k * (np.cos(x - m) - c)), a, b, epsrel=1e-12)[0])
                    for a, b in pairwise(cuts)
                ]
                expected = np.log(sum(pieces)) + kappa * (top - 1) - np.log(2 * np.pi * i0e(kappa))
                assert masses.log_mass[t] == pytest.approx(expected, abs=1e-8), (kappa, mean, t)


KINDS = ("slack", "pivot", "tight")


def turned_cone(kind: str, n: int, cost: float, rng: np.random.Generator, spread: float = 1.0) -> Cone:
    """Return a region with h·u < 0 on its edges, by `cost` to three times that much."""
    while True:
        side = rng.choice(np.array([-1, 1], np.int8), n)
        slope = np.exp(rng.uniform(-spread, 0, n))
        pivot = int(rng.integers(n)) if kind == "pivot" else -1
        h = -side * cost * np.exp(rng.uniform(0, 1, n))
        if pivot >= 0:
            side[pivot], h[pivot] = 0, cost * rng.standard_normal()
        cone = Cone(h, side, slope / slope.max(), pivot, kind == "tight")
        is_mixed = np.any(side == 1) and np.any(side == -1)
        if turns_away(cone) and (kind != "tight" or is_mixed):
            return cone


def value_and_mean(cone: Cone, tolerance: float = 1e-12) -> tuple[float, np.ndarray]:
    mean = np.empty(len(cone.h))
    value, error = turned_mass(cone, tolerance, mean)
    assert error < 1e-9
    return value, mean


def simplices(cone: Cone) -> list[np.ndarray]:
    """Return the edges (n, n) of the simplicial cones that make up a region: one for each good that may be lowest."""
    edges = cone.side[:, None] * np.eye(len(cone.h))
    if cone.pivot < 0 and not cone.is_tight:
        return [edges]
    lowest = [cone.pivot] if cone.pivot >= 0 else np.flatnonzero(cone.side == 1).tolist()
    return [np.where(np.arange(len(cone.h))[:, None] == f, cone.slope, edges) for f in lowest]


def integrate_simplex(edges: np.ndarray, h: np.ndarray) -> tuple[float, np.ndarray]:
    """Return log ∫ exp(h·u) du and the mean of u over a cone, u ∝ e_1 + Σ exp(ρ_i) e_i: a trapezoidal sum over ρ."""
    n, step = len(h), 0.2
    rho = np.meshgrid(*[np.arange(-36, 36, step)] * (n - 1), indexing="ij", sparse=True)
    v = [edges[0, k] + sum(np.exp(r) * e[k] for r, e in zip(rho, edges[1:], strict=True)) for k in range(n)]
    length = np.sqrt(sum(x * x for x in v))
    top = np.max(edges @ h / np.linalg.norm(edges, axis=1))
    terms = np.exp(sum(x * y for x, y in zip(v, h, strict=True)) / length - top - n * np.log(length) + sum(rho))
    mean = [np.sum(terms * x / length) / np.sum(terms) for x in v]
    return top + np.log(np.sum(terms) * step ** (n - 1) * abs(np.linalg.det(edges))), np.array(mean)


@pytest.mark.parametrize("kind", KINDS)
def test_turned_regions_against_direct_integration(kind: str) -> None:
    """Two and three goods, |h| up to 2e4, prices up to 400 apart, by an integral of positive terms over the region."""
    rng = np.random.default_rng(18)
    for n in (2, 3):
        for cost, spread in ((2.5, 1.0), (4.0, 6.0), (30.0, 1.0), (200.0, 6.0), (8000.0, 1.0)):
            cone = turned_cone(kind, n, cost, rng, spread)
            value, mean = value_and_mean(cone)
            parts = [integrate_simplex(edges, cone.h) for edges in simplices(cone)]
            expected = np.logaddexp.reduce([part for part, _ in parts])
            assert value == pytest.approx(expected, abs=1e-11 + 1e-15 * cost, rel=0), (n, cost)
            weighted = sum(np.exp(part - expected) * own for part, own in parts)
            np.testing.assert_allclose(mean, weighted, rtol=1e-9, atol=1e-12)


def many_digits(costs: list[float]) -> float:
    """Return log ∫ exp(-c·u) du over the positive orthant: the ordinary contour, in digits to bear its cancellation."""
    with mpmath.workdps(40):
        step, total = mpmath.mpf(8) / 100, mpmath.mpf(0)
        for k in range(100):
            p = mpmath.mpc(1.5, k * step)
            factors = (mpmath.exp((c / 2 / p) ** 2) * mpmath.erfc(c / 2 / p) for c in map(mpmath.mpf, costs))
            product = mpmath.fprod(factors) * (mpmath.sqrt(mpmath.pi) / 2 / p) ** len(costs)
            total += (p * mpmath.exp(p**2) * product).real * (1 if k else 0.5)
        return float(mpmath.log(4 / mpmath.pi * step * total))


def test_turned_slack_regions_against_many_digits() -> None:
    rng = np.random.default_rng(19)
    for n, cost in ((4, 3.0), (12, 6.0), (12, 9.0)):
        cone = turned_cone("slack", n, cost, rng)
        expected = many_digits((-cone.side * cone.h).tolist())
        assert value_and_mean(cone)[0] == pytest.approx(expected, abs=1e-11, rel=0), (n, cost)


def test_turned_regions_add_up() -> None:
    """Whatever the prices, the positive orthant is the union, over the good of lowest ratio, of pivot regions."""
    rng = np.random.default_rng(20)
    for n in (2, 5, 12):
        for cost in (5.0, 60.0, 3000.0):
            h, slope = -cost * np.exp(rng.uniform(0, 1, n)), np.exp(rng.uniform(-1, 0, n))
            every = np.ones(n, np.int8)
            whole, mean = value_and_mean(Cone(h, every, slope, -1, False))
            sides = [np.where(np.arange(n) == f, 0, every).astype(np.int8) for f in range(n)]
            parts = [value_and_mean(Cone(h, side, slope, f, False)) for f, side in enumerate(sides)]
            assert np.logaddexp.reduce([value for value, _ in parts]) == pytest.approx(whole, abs=2e-11, rel=0)
            np.testing.assert_allclose(sum(np.exp(value - whole) * own for value, own in parts), mean, atol=1e-10)
            # A tight region is the union over the goods bought, the last two not being among them.
            side = np.where(np.arange(n) < max(n - 2, 1), 1, -1).astype(np.int8)
            tight = Cone(side * h, side, slope, -1, True)
            if not turns_away(tight):
                continue
            value, mean = value_and_mean(tight)
            lowest = [np.where(np.arange(n) == f, 0, side).astype(np.int8) for f in np.flatnonzero(side == 1)]
            parts = [value_and_mean(Cone(side * h, own, slope, f, False)) for f, own in enumerate(lowest)]
            assert np.logaddexp.reduce([part for part, _ in parts]) == pytest.approx(value, abs=2e-11, rel=0)
            np.testing.assert_allclose(sum(np.exp(part - value) * own for part, own in parts), mean, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_turned_gradient_and_covariance_against_differences(kind: str) -> None:
    rng = np.random.default_rng(21)
    for n, cost in ((2, 3.0), (5, 5.0), (5, 500.0), (12, 12.0)):
        cone = turned_cone(kind, n, cost, rng)
        _, mean = value_and_mean(cone)
        moments, step = np.empty((n, n)), 1e-3
        turned_moments(cone, mean, moments)
        shifted = [
            [value_and_mean(cone._replace(h=cone.h + sign * step * e), 1e-13) for sign in (1, -1)] for e in np.eye(n)
        ]
        gradient = [(up[0] - down[0]) / (2 * step) for up, down in shifted]
        np.testing.assert_allclose(mean, gradient, atol=1e-6)
        hessian = np.tril([(up[1] - down[1]) / (2 * step) for up, down in shifted])
        np.testing.assert_allclose(np.tril(moments) - np.tril(np.outer(mean, mean)), hessian, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cut_meets_the_contour(kind: str) -> None:
    """Where a region only just turns away both forms hold, in value and in gradient."""
    rng = np.random.default_rng(16)
    for n in (2, 3, 5, 12):
        for spread in (0.7, 3.0):
            cone = turned_cone(kind, n, 1.5 * np.sqrt(n), rng, spread)
            value, mean = value_and_mean(cone)
            scratch = make_scratch(n, with_means=True, with_moments=False)
            other, error = observation_mass(cone, gauss_rules(n, float(np.linalg.norm(cone.h)), 1e-12), 1e-12, scratch)
            assert abs(value - other) < 1e-9 + 10 * error, (n, spread)
            np.testing.assert_allclose(mean, scratch.means, atol=1e-7 + 10 * error)


def test_likelihoods_pass_through_turned_regions() -> None:
    """Sums, gradients and information are those of one smooth function, on either side of the turn."""
    menus = sp.Menus(np.tile([1.0, 2.0, 1.5, 1.2], (60, 1)), np.full(60, 3.0))
    rng = np.random.default_rng(22)
    regions = sp.Regions.of(sp.simulate(sp.VonMisesFisher(unit([3.0, 1.0, 2.0, -2.0]), 2.0), menus, 60, rng=rng))
    direction, step, n_turned = unit([-4.0, -3.0, -5.0, 2.0]), 1e-3, []
    for kappa in (2.0, 5.0, 8.0, 12.0, 40.0):
        h = kappa * direction
        masses = exact_log_mass(regions, h)
        assert np.all(masses.error < 1e-8)
        rows = zip(regions.side, regions.slope, regions.pivot, regions.kind == "tight", strict=True)
        n_turned.append(sum(turns_away(Cone(h, *row)) for row in rows))
        value, gradient = sum_log_mass(regions, h)
        up, down = (sum_log_mass(regions, h + sign * step * direction, tolerance=1e-12) for sign in (1, -1))
        assert value == pytest.approx(masses.log_mass.sum(), rel=1e-12)
        assert gradient @ direction == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-5)
        information = observed_information(regions, h) @ direction
        np.testing.assert_allclose(information, (down[1] - up[1]) / (2 * step), atol=1e-5)
    assert n_turned[0] == 0
    assert n_turned[-1] > 0
