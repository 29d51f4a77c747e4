"""Signs alone: the half-space probability, and the estimators of the paper's appendix."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import stochpref as sp
from stochpref.design.halfspace import lower_tail
from stochpref.mass.masses import exact_log_mass
from stochpref.paper.halfspace import halfspace_curvature, halfspace_density, halfspace_inverse, halfspace_probability
from stochpref.paper.signs import block_sizes, reveals_signs

MU = np.array([0.5, -0.4, 0.3, 0.6, -0.2]) / np.linalg.norm([0.5, -0.4, 0.3, 0.6, -0.2])


def by_quadrature(m: float, n: int, kappa: float) -> mp.mpf:
    """Eq. von_density integrated by mpmath, 30 digits."""
    with mp.workdps(30):
        phi, half = mp.acos(mp.mpf(m)), mp.mpf(n) / 2

        def z(k: int, x: mp.mpf) -> mp.mpf:
            return mp.pi ** (mp.mpf(k) / 2) / mp.gamma(mp.mpf(k) / 2) * mp.hyp0f1(mp.mpf(k) / 2, x * x / 4)

        def density(psi: mp.mpf) -> mp.mpf:
            tilt = mp.exp(kappa * mp.cos(phi) * mp.cos(psi))
            return mp.sin(psi) ** (n - 2) * tilt * z(n - 1, kappa * mp.sin(phi) * mp.sin(psi)) / total

        # Divided inside: mpmath judges the error of an integral on an absolute scale.
        total = mp.pi**half / mp.gamma(half) * mp.hyp0f1(half, mp.mpf(kappa) ** 2 / 4)
        width = 1 / mp.sqrt(max(kappa, n))
        centre, end, steps = min(phi, mp.pi / 2), mp.pi / 2, (1, 2, 4, 8, 12)
        cuts = {min(max(centre + sign * j * width, 0), end) for j in steps for sign in (-1, 1)}
        return mp.quad(density, sorted({mp.mpf(0), end, *cuts}))


@pytest.mark.parametrize(
    ("n", "kappa", "means"),
    [
        (2, 30.0, (-0.05, 0.3)),
        (3, 0.5, (-0.05, 0.3, 1.0)),
        (10, 30.0, (-0.05, 0.3)),
        (200, 4.0, (-0.05, 0.3)),
        (1000, 300.0, (-0.05, 0.3, -1.0)),
        # The ends of the range: signs that are all but certain, no concentration, a good along the mean.
        (2, 1e4, (-0.01, 0.02)),
        (1000, 1e4, (-0.01, 0.02, 1.0)),
        (7, 0.0, (-1.0, 0.3)),
        (2, 2.0, (-1.0, 1.0)),
    ],
)
def test_halfspace_matches_quadrature(n: int, kappa: float, means: tuple[float, ...]) -> None:
    for m in means:
        assert float(halfspace_probability(m, n, kappa)) == pytest.approx(float(by_quadrature(m, n, kappa)), abs=1e-11)


def test_the_smaller_tail_keeps_its_digits() -> None:
    for n, kappa, m in ((3, 60.0, -0.8), (50, 200.0, -0.9), (2, 500.0, -0.6)):
        exact = by_quadrature(m, n, kappa)
        assert float(lower_tail(m, n, kappa)) == pytest.approx(float(exact), rel=1e-8)
        assert float(exact) < 1e-10


def test_halfspace_is_the_mass_of_a_region_with_one_good_on_offer() -> None:
    prices = np.full((1, 5), np.inf)
    prices[0, 1] = 1.0
    bundle = np.where(np.isfinite(prices), 1.0, 0.0)
    region = sp.Regions.of(sp.Observations(prices, [3.0], bundle))
    mass = float(np.exp(exact_log_mass(region, 6.0 * MU).log_mass[0]))
    assert float(halfspace_probability(MU[1], 5, 6.0)) == pytest.approx(mass, rel=1e-9)


def test_limits_are_exact() -> None:
    assert np.all(halfspace_probability([-1.0, -0.2, 0.0, 1.0], 7, 0.0) == 0.5)
    assert halfspace_probability([-0.1, 0.0, 0.1], 4, np.inf).tolist() == [0.0, 0.5, 1.0]
    assert float(halfspace_probability(0.0, 9, 123.0)) == 0.5
    for n, kappa in ((2, 1e4), (1000, 1e4)):
        ends = halfspace_probability([-1.0, 1.0], n, kappa)
        assert np.isfinite(ends).all()
        assert ends.sum() == 1.0


def test_slope_and_curvature_are_derivatives_and_the_slope_is_positive() -> None:
    step = 1e-5
    for n, kappa, m in ((2, 3.0, 0.4), (5, 7.0, -0.6), (30, 40.0, 0.1)):
        ends = halfspace_probability([m - step, m + step], n, kappa)
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(float(halfspace_density(m, n, kappa)), rel=1e-7)
        ends = halfspace_density([m - step, m + step], n, kappa)
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(float(halfspace_curvature(m, n, kappa)), rel=1e-6)
    grid = np.linspace(-1, 1, 41)
    for n in (2, 3, 40, 1000):
        assert np.all(halfspace_density(grid, n, 2.0) > 0)


@pytest.mark.parametrize(("n", "kappa"), [(2, 0.01), (3, 30.0), (10, 1.0), (100, 1000.0), (1000, 30.0)])
def test_inverse_goes_back(n: int, kappa: float) -> None:
    m = np.linspace(-0.99, 0.99, 23)
    p = halfspace_probability(m, n, kappa)
    is_seen = np.minimum(p, 1 - p) > 1e-6
    assert np.abs(halfspace_inverse(p, n, kappa) - m)[is_seen].max() < 1e-8


def test_inverse_at_its_ends_and_where_there_is_none() -> None:
    assert halfspace_inverse([0.0, 0.5, 1.0], 4, 2.0).tolist() == [-1.0, 0.0, 1.0]
    for kappa in (0.0, np.inf):
        with pytest.raises(sp.InvalidArgument, match="positive and finite"):
            halfspace_inverse(0.3, 4, kappa)
    with pytest.raises(sp.InvalidArgument, match=r"\[0, 1\]"):
        halfspace_inverse(1.5, 4, 2.0)
    with pytest.raises(sp.InvalidArgument, match=r"\[-1, 1\]"):
        halfspace_probability(1.5, 4, 2.0)


def test_blocks_cover_every_good_with_unequal_sizes() -> None:
    assert block_sizes(7, 3) == [3, 2, 2]
    menus = sp.sign_menus(7, 6, lowest_budget=2.3, budgets=[2.3, 4.0, 9.0, 2.3, 4.0, 9.0])
    offered = np.isfinite(menus.prices)
    assert offered.sum(axis=1).tolist() == [3, 2, 2, 3, 2, 2]
    assert offered.any(axis=0).all()
    assert reveals_signs(menus).all()
    u = np.abs(np.random.default_rng(0).standard_normal((6, 7)))
    assert np.array_equal(sp.choose(u, menus.prices, menus.budgets) > 0, offered)


def test_a_budget_off_by_rounding_makes_menus_that_can_be_used() -> None:
    budget = 0.1 * 3 * 10
    assert budget > 3
    menus = sp.sign_menus(8, 6, lowest_budget=budget)
    assert np.isfinite(menus.prices).sum(axis=1).max() == 3
    assert reveals_signs(menus).all()
    assert np.array_equal(sp.sign_menus(8, 6, lowest_budget=3.0).prices, menus.prices)


@pytest.mark.parametrize(("lowest", "size"), [(None, 300), (1.6, 900)])
def test_errors_and_bias_match_the_delta_method(lowest: float | None, size: int) -> None:
    """Sixty samples; a bias taken without its second-order part, or a covariance without T, fails this."""
    rng, estimates, errors, biases = np.random.default_rng(1), [], [], []
    for _ in range(60):
        menus = sp.sign_menus(5, size, lowest_budget=lowest)
        found = sp.estimate_from_signs(sp.simulate(sp.VonMisesFisher(MU, 4.0), menus, size, rng=rng), 4.0)
        estimates.append(found.mean_direction)
        errors.append(found.standard_errors)
        biases.append(found.bias)
    e = np.array(estimates)
    spread = e.std(axis=0, ddof=1)
    assert np.abs(e.mean(axis=0) - np.mean(biases, axis=0) - MU).max() < 5 * spread.max() / np.sqrt(60)
    assert np.abs(spread / np.mean(errors, axis=0) - 1).max() < 5 / np.sqrt(120)


def test_concentration_follows_from_the_length() -> None:
    rng = np.random.default_rng(2)
    data = sp.simulate(sp.VonMisesFisher(MU, 4.0), sp.sign_menus(5, 4000), 4000, rng=rng)
    found = sp.estimate_from_signs(data)
    assert np.linalg.norm(found.raw) == pytest.approx(1.0, abs=1e-6)
    likely = sp.fit_maximum_likelihood(data)
    assert found.concentration == pytest.approx(4.0, abs=0.4)
    assert found.concentration == pytest.approx(likely.concentration, abs=2 * likely.concentration_standard_error)
    assert np.all(found.standard_errors < 0.05)
    assert "estimated" in str(found)


def test_goods_at_an_end_are_named() -> None:
    data = sp.simulate(sp.VonMisesFisher([0.8, 0.6], 300.0), sp.sign_menus(["tea", "rum"], 40), 40,
                       rng=np.random.default_rng(3))  # fmt: skip
    found = sp.estimate_from_signs(data, 300.0)
    assert found.at_end == ("tea", "rum")
    assert np.isinf(found.standard_errors).all()
    with pytest.raises(sp.InvalidArgument, match="not identified"):
        sp.estimate_from_signs(data)


def test_signs_refuse_what_they_cannot_use() -> None:
    poor = sp.simulate(sp.VonMisesFisher(MU, 4.0), sp.MenuLaw("fixed"), 30, rng=np.random.default_rng(4))
    with pytest.raises(sp.InvalidObservations, match="fit_maximum_likelihood"):
        sp.estimate_from_signs(poor, 4.0)
    with pytest.raises(sp.InvalidArgument, match="two or more"):
        sp.sign_menus(1, 3)
    with pytest.raises(sp.InvalidArgument, match="lowest_budget"):
        sp.sign_menus(4, 3, lowest_budget=2.0, budgets=[1.0, 3.0, 3.0])
    with pytest.raises(sp.InvalidArgument, match=r"budgets must be a number or one for each of 3 menus; received \(2,"):
        sp.sign_menus(4, 3, lowest_budget=2.0, budgets=[3.0, 3.0])
    half = sp.Observations([[1.0, np.inf]] * 2, [2.0] * 2, [[1.0, 0.0], [0.0, 0.0]], goods=["a", "b"])
    with pytest.raises(sp.InvalidArgument, match="'b' never is"):
        sp.estimate_from_signs(half, 4.0)
    even = sp.Observations(np.ones((2, 2)), [2.0] * 2, [[1.0, 0.0], [0.0, 1.0]])
    for kappa in (4.0, None):
        with pytest.raises(sp.InvalidArgument, match="half"):
            sp.estimate_from_signs(even, kappa)
