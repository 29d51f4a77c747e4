# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Laws of utilities and menus: densities against mpmath, draws against exact moments and distribution functions."""

from __future__ import annotations

import dataclasses

import mpmath
import numpy as np
import pytest
from scipy import stats

from stochpref.bessel import mean_resultant_length
from stochpref.errors import InvalidArgument
from stochpref.laws import CorruptedUtilityLaw, MenuLaw, VonMisesFisher, simulate, uniform_directions
from stochpref.observations import Menus
from stochpref.problems.divisible import choose

N_GOODS = (2, 3, 5, 10, 25, 100, 300, 1000)
CONCENTRATIONS = (0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 200.0, 1e3, 1e4, 1e5)


def direction(n: int, seed: int = 7) -> np.ndarray:
    vector = np.random.default_rng(seed).standard_normal(n) + 0.3
    return vector / np.linalg.norm(vector)


def half_squared_chord(u: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """1 − μ·u without cancellation."""
    return 0.5 * np.sum((u - mu) ** 2, axis=1)


# --- density ---------------------------------------------------------------------------------------------------


def exact_log_density(u: np.ndarray, mu: np.ndarray, kappa: float) -> mpmath.mpf:
    n, k = mpmath.mpf(len(mu)), mpmath.mpf(kappa)
    u_mp, mu_mp = [mpmath.mpf(x) for x in u.tolist()], [mpmath.mpf(x) for x in mu.tolist()]
    cosine = mpmath.fdot(u_mp, mu_mp) / mpmath.sqrt(mpmath.fdot(u_mp, u_mp) * mpmath.fdot(mu_mp, mu_mp))
    if kappa == 0:
        return -mpmath.log(2 * mpmath.pi ** (n / 2) / mpmath.gamma(n / 2))
    log_integral = n / 2 * mpmath.log(2 * mpmath.pi) - (n / 2 - 1) * mpmath.log(k)
    return k * cosine - log_integral - mpmath.log(mpmath.besseli(n / 2 - 1, k))


@pytest.mark.parametrize("n", N_GOODS)
def test_log_density_agrees_with_mpmath(n):
    mu = direction(n)
    noise = np.random.default_rng(11).standard_normal((2, n))
    with mpmath.workdps(40):
        for kappa in CONCENTRATIONS:
            near, far = mu + noise[0] / np.sqrt(n * (1 + kappa)), noise[1] - 0.5 * mu
            points = np.array([mu, near / np.linalg.norm(near), far / np.linalg.norm(far)])
            law = VonMisesFisher(mu, kappa)
            for u, computed in zip(points, law.log_density(points), strict=True):
                truth = exact_log_density(u, mu, kappa)
                assert abs(float((mpmath.mpf(float(computed)) - truth) / truth)) < 1e-12, kappa


def test_density_near_the_mean_keeps_its_digits_at_huge_concentration():
    # Two points 1e-8 and 2e-8 from the mean: κ(μ·u − 1) is −5 and −20 at κ = 1e17, far below the rounding of μ·u.
    law = VonMisesFisher([1.0, 0.0, 0.0], 1e17)
    u = np.array([[1.0, 0.0, 0.0], [1.0, 1e-8, 0.0], [1.0, 0.0, 2e-8]])
    values = law.log_density(u)
    np.testing.assert_allclose(values[0] - values[1:], [5.0, 20.0], rtol=1e-12)


def test_density_of_two_goods_integrates_to_one():
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    law = VonMisesFisher([0.6, -0.8], 3.5)
    density = np.exp(law.log_density(np.column_stack([np.cos(angles), np.sin(angles)])))
    assert density.mean() * 2 * np.pi == pytest.approx(1, rel=1e-13)
    assert angles[np.argmax(density)] == pytest.approx(np.arctan2(-0.8, 0.6) % (2 * np.pi), abs=0.01)


def test_log_density_of_one_vector_is_a_number():
    law = VonMisesFisher([0.6, 0.8], 2.0)
    single = law.log_density([1.0, 0.0])
    assert np.ndim(single) == 0
    assert single == law.log_density([[1.0, 0.0], [0.0, 1.0]])[0]


# --- draws -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", N_GOODS)
def test_draws_have_the_mean_of_the_bessel_ratio(n):
    # Catches a wrong envelope, a wrong power of the sine, a sign: the standard error is below 3 % of the spread.
    mu, rng = direction(n), np.random.default_rng(1000 + n)
    size = 4000 if n <= 25 else 1200
    for kappa in CONCENTRATIONS:
        u = VonMisesFisher(mu, kappa).sample(size, rng=rng)
        assert u.shape == (size, n)
        np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, atol=1e-13)
        shortfall = half_squared_chord(u, mu)
        error = shortfall.std(ddof=1) / np.sqrt(size)
        assert abs(shortfall.mean() - (1 - mean_resultant_length(n, kappa))) < 4 * error, kappa
        # The part across the mean has mean zero; its squared length is χ² with n − 1 degrees of freedom.
        across = u - np.outer(u @ mu, mu)
        score = (n - 1) * size * np.sum(across.mean(axis=0) ** 2) / np.mean(np.sum(across**2, axis=1))
        assert stats.chi2.sf(score, n - 1) > 1e-5, kappa


@pytest.mark.parametrize("kappa", [1e-3, 2.5, 80.0, 1e5, 1e15])
def test_three_goods_have_the_exact_marginal(kappa):
    # For n = 3, d = 1 − μ·u has distribution function (1 − e^{−κd})/(1 − e^{−2κ}). At κ = 1e15 d is near 1e-15:
    # computed as 1 minus a rounded cosine it would take a dozen values.
    mu = direction(3)
    draws = VonMisesFisher(mu, kappa).sample(5000, rng=np.random.default_rng(3))
    uniform = np.expm1(-kappa * half_squared_chord(draws, mu)) / np.expm1(-2 * kappa)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4


def test_two_goods_follow_the_von_mises_law_of_the_angle():
    draws = VonMisesFisher([-0.6, 0.8], 1.7).sample(5000, rng=np.random.default_rng(4))
    mean = np.array([-0.6, 0.8])
    angles = np.arctan2(mean[0] * draws[:, 1] - mean[1] * draws[:, 0], draws @ mean)
    assert stats.kstest(angles, stats.vonmises(1.7).cdf).pvalue > 1e-4


def test_draws_are_symmetric_around_the_mean():
    # Every direction across the mean carries the same variance: catches a reflection that is not orthogonal.
    n, mu = 5, direction(5)
    u = VonMisesFisher(mu, 4.0).sample(20_000, rng=np.random.default_rng(5))
    across = u - np.outer(u @ mu, mu)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    basis = np.linalg.svd(mu[None])[2][1:]
    products = np.einsum("ti,tj->tij", across @ basis.T, across @ basis.T)
    error = products.std(axis=0) / np.sqrt(len(u))
    assert np.all(np.abs(products.mean(axis=0) - np.eye(n - 1) / (n - 1)) < 4 * error)


@pytest.mark.parametrize(
    "mu", [[1.0, 0, 0], [-1.0, 0, 0], [0, 0, -1.0], [1 - 5e-17, 1e-9, 0], [-1.0, 0, 1e-9], [0, 1.0, 0]]
)
def test_draws_gather_at_any_mean_direction(mu):
    u = VonMisesFisher(mu, 1e6).sample(200, rng=np.random.default_rng(6))
    assert half_squared_chord(u, np.asarray(mu)).max() < 2e-5


@pytest.mark.parametrize("n", [2, 3, 9])
def test_zero_concentration_and_uniform_directions_are_uniform(n):
    # One coordinate of a uniform direction: (1 + u₁)/2 ~ Beta((n−1)/2, (n−1)/2).
    law = stats.beta((n - 1) / 2, (n - 1) / 2)
    rng = np.random.default_rng(8)
    for u in (VonMisesFisher(direction(n), 0.0).sample(4000, rng=rng), uniform_directions(4000, n, rng=rng)):
        for good in range(n):
            assert stats.kstest((1 + u[:, good]) / 2, law.cdf).pvalue > 1e-4


def test_draws_repeat_with_the_seed_and_accept_size_zero():
    law = VonMisesFisher(direction(6), 3.0)
    first, again, other = (law.sample(50, rng=np.random.default_rng(seed)) for seed in (21, 21, 22))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)
    assert law.sample(0, rng=np.random.default_rng(0)).shape == (0, 6)


def test_von_mises_fisher_keeps_a_normalised_read_only_copy():
    given = np.array([0.6, 0.8 + 5e-7])
    law = VonMisesFisher(given, 2)
    assert np.linalg.norm(law.mean_direction) == pytest.approx(1, abs=1e-15)
    assert given[1] == 0.8 + 5e-7
    assert (law.n_goods, law.concentration) == (2, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        law.mean_direction[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.concentration = 3.0


@pytest.mark.parametrize(
    ("mean_direction", "concentration", "message"),
    [
        ([3.0, 4.0], 1.0, r"mean_direction must have norm 1; received norm 5; normalise it"),
        ([0.6, 0.80001], 1.0, r"norm 1; received norm 1\.000008"),
        ([1.0], 1.0, r"mean_direction must have shape \(n_goods,\), two goods or more; received \(1,\)"),
        ([[0.6, 0.8]], 1.0, r"received \(1, 2\)"),
        ([0.6, np.nan], 1.0, "mean_direction must be finite; received nan"),
        ([0.0, 0.0], 1.0, "mean_direction must not be the zero vector"),
        (["a", "b"], 1.0, "mean_direction must be an array of numbers"),
        ([0.6, 0.8], -1.0, "concentration must be finite and not negative; received -1"),
        ([0.6, 0.8], np.inf, "concentration must be finite and not negative; received inf"),
        ([0.6, 0.8], np.nan, "concentration must be finite and not negative; received nan"),
        ([0.6, 0.8], [1.0, 2.0], "concentration must be one number"),
    ],
)
def test_von_mises_fisher_refuses(mean_direction, concentration, message):
    with pytest.raises(InvalidArgument, match=message):
        VonMisesFisher(mean_direction, concentration)


def test_log_density_refuses_what_is_not_on_the_sphere():
    law = VonMisesFisher([0.6, 0.8], 1.0)
    with pytest.raises(InvalidArgument, match=r"u must have shape \(2,\) or \(k, 2\); received shape \(3,\)"):
        law.log_density([1.0, 0.0, 0.0])
    with pytest.raises(InvalidArgument, match=r"u must hold unit vectors; 2 are not \(rows 1, 2\); received norm 2;"):
        law.log_density([[1.0, 0.0], [0.0, 2.0], [np.nan, 0.0]])


@pytest.mark.parametrize("rng", [None, 0, np.random.RandomState(0)])
def test_every_draw_asks_for_a_generator(rng):
    laws = (VonMisesFisher([0.6, 0.8], 1.0), CorruptedUtilityLaw([1.0, 2.0], 0.1))
    for draw in (
        lambda: laws[0].sample(3, rng=rng),
        lambda: laws[1].sample(3, rng=rng),
        lambda: MenuLaw("fixed").sample(3, 2, rng=rng),
        lambda: uniform_directions(3, 2, rng=rng),
        lambda: simulate(laws[0], MenuLaw("fixed"), 3, rng=rng),
    ):
        with pytest.raises(InvalidArgument, match=r"rng must be .*; pass numpy\.random\.default_rng\(seed\)"):
            draw()


@pytest.mark.parametrize("size", [-1, 2.0, True, "3"])
def test_sizes_are_whole_numbers(size):
    rng = np.random.default_rng(0)
    for draw in (
        lambda: VonMisesFisher([0.6, 0.8], 1.0).sample(size, rng=rng),
        lambda: CorruptedUtilityLaw([1.0, 2.0], 0.1).sample(size, rng=rng),
        lambda: MenuLaw("fixed").sample(size, 2, rng=rng),
        lambda: MenuLaw("fixed").sample(2, size, rng=rng),
    ):
        with pytest.raises(InvalidArgument, match="must be a whole number"):
            draw()


# --- corrupted common utility ----------------------------------------------------------------------------------


def test_corrupted_share_is_the_corruption():
    law = CorruptedUtilityLaw([3.0, -4.0, 12.0], 0.3)
    draws = law.sample(20_000, rng=np.random.default_rng(9))
    np.testing.assert_allclose(law.utility, np.array([3, -4, 12]) / 13, rtol=1e-15)
    is_common = np.all(draws == law.utility, axis=1)
    assert abs(np.sum(~is_common) - 6000) < 4 * np.sqrt(20_000 * 0.3 * 0.7)
    # What replaces it is uniform on the sphere, and comes in no order.
    assert stats.kstest((1 + draws[~is_common][:, 0]) / 2, "uniform").pvalue > 1e-4
    assert stats.kstest(np.flatnonzero(~is_common) / 20_000, "uniform").pvalue > 1e-4


def test_corruption_zero_and_one():
    rng = np.random.default_rng(10)
    utility = np.array([0.6, 0.8])
    np.testing.assert_allclose(CorruptedUtilityLaw(utility, 0).sample(30, rng=rng), np.tile(utility, (30, 1)))
    assert not np.any(CorruptedUtilityLaw(utility, 1).sample(30, rng=rng) == utility)


def test_every_kind_of_contamination():
    rng = np.random.default_rng(12)
    mu = np.array([0.0, 0.6, -0.8])
    one = CorruptedUtilityLaw([1.0, 0.0, 0.0], 1.0, [0.0, 3.0, -4.0]).sample(5, rng=rng)
    np.testing.assert_allclose(one, np.tile(mu, (5, 1)), atol=1e-15)
    law = CorruptedUtilityLaw([1.0, 0.0, 0.0], 1.0, VonMisesFisher(mu, 1e6)).sample(5, rng=rng)
    assert half_squared_chord(law, mu).max() < 1e-4
    function = CorruptedUtilityLaw([1.0, 0.0, 0.0], 0.5, lambda size, rng: 7 * np.tile(mu, (size, 1)))
    draws = function.sample(400, rng=rng)
    is_odd = np.abs(draws - mu).max(axis=1) < 1e-15
    np.testing.assert_array_equal(draws[~is_odd], np.tile([1.0, 0.0, 0.0], (np.sum(~is_odd), 1)))
    assert 150 < is_odd.sum() < 250


def test_a_data_frame_column_is_a_vector_not_a_law():
    pandas = pytest.importorskip("pandas")
    law = CorruptedUtilityLaw(pandas.Series([1.0, 0.0]), 1.0, pandas.Series([0.0, 2.0]))
    np.testing.assert_array_equal(law.sample(2, rng=np.random.default_rng(0)), [[0.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("utility", "corruption", "contamination", "message"),
    [
        ([0.0, 0.0], 0.1, None, "utility must not be the zero vector"),
        ([1.0], 0.1, None, "utility must have shape"),
        ([1.0, np.inf], 0.1, None, "utility must be finite; received inf"),
        ([1.0, 2.0], 10, None, r"corruption must lie in \[0, 1\]; received 10; give a share, not a percentage"),
        ([1.0, 2.0], -0.1, None, r"corruption must lie in \[0, 1\]; received -0.1"),
        ([1.0, 2.0], np.nan, None, r"corruption must lie in \[0, 1\]; received nan"),
        ([1.0, 2.0], 0.1, [1.0, 2.0, 3.0], "contamination must have the length of utility, 2; received 3"),
        ([1.0, 2.0], 0.1, "uniform", "contamination must be an array of numbers"),
    ],
)
def test_corrupted_utility_law_refuses(utility, corruption, contamination, message):
    with pytest.raises(InvalidArgument, match=message):
        CorruptedUtilityLaw(utility, corruption, contamination)


def test_contamination_is_checked_when_drawn():
    rng = np.random.default_rng(13)
    with pytest.raises(InvalidArgument, match=r"\(size, n_goods\) = \(4, 2\) numbers; received shape \(4, 3\)"):
        CorruptedUtilityLaw([1.0, 2.0], 1.0, lambda size, rng: rng.random((size, 3))).sample(4, rng=rng)
    with pytest.raises(InvalidArgument, match=r"finite vectors other than zero; 4 are not \(rows 0, 1, 2 and 1 more\)"):
        CorruptedUtilityLaw([1.0, 2.0], 1.0, lambda size, rng: np.zeros((size, 2))).sample(4, rng=rng)


# --- menus -----------------------------------------------------------------------------------------------------


def test_uniform_menus():
    menus = MenuLaw("uniform").sample(4000, 5, rng=np.random.default_rng(14))
    assert menus.prices.shape == (4000, 5)
    assert stats.kstest(menus.prices.ravel() - 1, "uniform").pvalue > 1e-4
    assert stats.kstest((menus.budgets - 1) / 4, "uniform").pvalue > 1e-4


def test_discrete_menus():
    menus = MenuLaw("discrete").sample(4000, 5, rng=np.random.default_rng(15))
    values, counts = np.unique(menus.prices, return_counts=True)
    assert values.tolist() == [1.0, 2.0]
    assert stats.chisquare(counts).pvalue > 1e-4
    values, counts = np.unique(menus.budgets, return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_fixed_menus():
    menus = MenuLaw("fixed").sample(4000, 5, rng=np.random.default_rng(16))
    assert np.all(menus.prices == 1.0)
    values, counts = np.unique(menus.budgets, return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_menu_laws_answer_to_the_numbers_of_the_paper():
    assert [MenuLaw(name) for name in ("i", "ii", "iii")] == [
        MenuLaw(name) for name in ("uniform", "discrete", "fixed")
    ]
    assert MenuLaw("ii").name == "discrete"


@pytest.mark.parametrize(
    ("name", "nearest"), [("unifrom", "uniform"), ("Discrete", "discrete"), ("fix", "fixed"), ("iiii", "iii")]
)
def test_unknown_menu_law_lists_the_choices_and_the_nearest(name, nearest):
    listed = r"'uniform' \(or 'i'\), 'discrete' \(or 'ii'\), 'fixed' \(or 'iii'\)"
    with pytest.raises(InvalidArgument, match=rf"one of {listed}; received '{name}'; did you mean '{nearest}'\?"):
        MenuLaw(name)


@pytest.mark.parametrize("name", [None, 1, ["uniform"]])
def test_menu_law_name_must_be_text(name):
    with pytest.raises(InvalidArgument, match="name must be one of"):
        MenuLaw(name)


# --- simulation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uniform", "discrete", "fixed"])
def test_simulate_lets_each_customer_choose(name):
    law = VonMisesFisher(direction(6), 4.0)
    observations, utilities = simulate(law, MenuLaw(name), 300, rng=np.random.default_rng(17), return_utilities=True)
    # Menus are drawn first, then utilities, from one stream.
    rng = np.random.default_rng(17)
    menus = MenuLaw(name).sample(300, 6, rng=rng)
    np.testing.assert_array_equal(observations.prices, menus.prices)
    np.testing.assert_array_equal(observations.budgets, menus.budgets)
    np.testing.assert_array_equal(utilities, law.sample(300, rng=rng))
    np.testing.assert_array_equal(observations.bundles, choose(utilities, menus.prices, menus.budgets))
    assert np.all(observations.bundles[utilities <= 0] == 0)
    is_partial = (observations.bundles > 0) & (observations.bundles < 1)
    # Under equal prices and whole budgets nothing is bought in part; otherwise some are, one good at most.
    assert is_partial.sum(axis=1).max() == (0 if name == "fixed" else 1)


def test_simulate_repeats_with_the_seed():
    law = CorruptedUtilityLaw(direction(4), 0.2)
    first, again, other = (simulate(law, MenuLaw("i"), 40, rng=np.random.default_rng(seed)) for seed in (18, 18, 19))
    np.testing.assert_array_equal(first.bundles, again.bundles)
    assert np.any(first.bundles != other.bundles)


def test_simulate_from_given_menus_keeps_names_caps_and_absent_goods():
    menus = Menus([[1.0, np.inf, 2.0]] * 30, [3.5] * 30, goods=["tea", "rye", "jam"], caps=[2.0, 1.0, 1.5])
    law = VonMisesFisher(np.ones(3) / np.sqrt(3), 50.0)
    observations = simulate(law, menus, 30, rng=np.random.default_rng(20))
    assert observations.goods == ("tea", "rye", "jam")
    np.testing.assert_array_equal(observations.caps, menus.caps)
    assert np.all(observations.bundles[:, 1] == 0)
    assert np.all(observations.bundles[:, 0] <= 2.0)
    assert observations.bundles[:, 0].max() == 2.0
    np.testing.assert_allclose(observations.bundles @ [1.0, 0.0, 2.0], 3.5)


def test_simulate_accepts_a_law_of_ones_own():
    class Constant:
        n_goods = 3

        def sample(self, size, *, rng):
            return np.tile([0.1, -0.2, 0.3], (size, 1))

    observations = simulate(Constant(), MenuLaw("fixed"), 10, rng=np.random.default_rng(23))
    assert np.all(observations.bundles[:, 2] == 1)
    assert np.all(observations.bundles[:, 1] == 0)


def test_simulate_refuses():
    rng = np.random.default_rng(24)
    law = VonMisesFisher([0.6, 0.8], 1.0)
    with pytest.raises(
        InvalidArgument, match=r"utility_law must have n_goods and sample.*received an object of type list"
    ):
        simulate([0.6, 0.8], MenuLaw("i"), 3, rng=rng)
    with pytest.raises(InvalidArgument, match="menu_law must be a MenuLaw or Menus; received an object of type str"):
        simulate(law, "uniform", 3, rng=rng)
    with pytest.raises(
        InvalidArgument, match="n_observations = 3 menus of the law's 2 goods; received 1 menus of 3 goods"
    ):
        simulate(law, Menus([[1.0, 2.0, 1.0]], [1.0]), 3, rng=rng)
    with pytest.raises(InvalidArgument, match="n_observations must be a whole number, 1 or more; received 0"):
        simulate(law, MenuLaw("i"), 0, rng=rng)
