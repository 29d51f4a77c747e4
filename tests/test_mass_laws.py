"""A law per row: the same masses, gradients and sums as one call for each law."""

from __future__ import annotations

import numpy as np
import pytest

import stochpref as sp
from stochpref.laws import uniform_directions
from stochpref.mass import masses
from stochpref.mass.masses import exact_log_mass, observed_information, sum_by_law, sum_log_mass, vmf_covariance
from stochpref.threads import GROUP


def market(n: int, size: int, rng: np.random.Generator) -> sp.Regions:
    """Regions of every kind, a good absent here and there, and two rows that reveal nothing."""
    menus = sp.MenuLaw("discrete").sample(size, n, rng=rng)
    prices, budgets = menus.prices.copy(), menus.budgets.copy()
    prices[::7, 0], budgets[:2] = np.inf, 0.0
    utilities = rng.standard_normal((size, n)) + 0.4
    regions = sp.Regions.of(sp.Observations(prices, budgets, sp.choose(utilities, prices, budgets)))
    assert {"slack", "pivot", "tight"} == set(regions.kind)
    return regions


def draw_laws(count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laws of very different concentrations, the uniform one among them."""
    concentrations = np.concatenate([[0.0], 10 ** rng.uniform(-1, 2, count - 1)])
    return concentrations[:, None] * uniform_directions(count, n, rng=rng)


@pytest.mark.parametrize(("n", "size", "count"), [(3, 90, 4), (3, 90, 90), (10, 70, 3), (25, 30, 30)])
def test_masses_and_gradients_are_those_of_one_call_for_each_law(n: int, size: int, count: int) -> None:
    rng = np.random.default_rng(n)
    regions, laws = market(n, size, rng), draw_laws(count, n, rng)
    which = rng.permutation(np.arange(size) % count)
    found = exact_log_mass(regions, laws, which, gradient=True)
    assert found.gradient is not None
    for k, h in enumerate(laws):
        rows = np.flatnonzero(which == k)
        own = exact_log_mass(regions[rows], h, gradient=True)
        np.testing.assert_allclose(found.log_mass[rows], own.log_mass, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.gradient[rows], own.gradient, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.error[rows], own.error, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(exact_log_mass(regions, laws, which).log_mass, found.log_mass)


@pytest.mark.parametrize(("n", "size", "count"), [(3, 300, 4), (3, 150, 150), (10, 90, 3)])
def test_sums_by_law_are_those_of_one_call_for_each_law(n: int, size: int, count: int) -> None:
    rng = np.random.default_rng(n)
    regions, laws = market(n, size, rng), np.vstack([draw_laws(count, n, rng), np.ones(n)])
    which = rng.permutation(np.arange(size) % count)  # nobody has the last law
    sums = sum_by_law(regions, laws, which, information=True)
    total = 0.0
    for k, h in enumerate(laws):
        own = regions[which == k]
        value, gradient = sum_log_mass(own, h)
        total += value
        np.testing.assert_allclose(sums.gradient[k], gradient, rtol=0, atol=1e-10 * size)
        np.testing.assert_allclose(sums.information[k], observed_information(own, h), rtol=0, atol=1e-9 * size)
    assert sums.value == pytest.approx(total, rel=1e-12)
    assert not sums.gradient[-1].any()
    assert not sums.information[-1].any()
    assert sum_by_law(regions, laws, which).information.size == 0


def test_sums_depend_neither_on_threads_nor_on_rows_that_others_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    regions, laws = market(4, 3 * GROUP, rng), draw_laws(5, 4, rng)
    which = rng.integers(5, size=len(regions))
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        found.append(sum_by_law(regions, laws, which, information=True))
    for other in found[1:]:
        assert other.value == found[0].value
        np.testing.assert_array_equal(other.gradient, found[0].gradient)
        np.testing.assert_array_equal(other.information, found[0].information)


def test_one_law_said_twice_is_one_law() -> None:
    """Bit for bit: a law costs no digit."""
    rng = np.random.default_rng(2)
    regions, h = market(5, 130, rng), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    none, zeros = exact_log_mass(regions, h, gradient=True), exact_log_mass(regions, h[None], np.zeros(130, int))
    np.testing.assert_array_equal(none.log_mass, zeros.log_mass)
    each = exact_log_mass(regions, np.tile(h, (130, 1)), np.arange(130), gradient=True)
    np.testing.assert_array_equal(each.log_mass, none.log_mass)
    np.testing.assert_array_equal(each.gradient, none.gradient)


def test_rows_are_merged_where_law_and_region_are_equal() -> None:
    rng = np.random.default_rng(3)
    menus = sp.Menus(np.tile([1.0, 2.0, 1.5], (300, 1)), np.full(300, 2.5))
    regions = sp.Regions.of(sp.simulate(sp.VonMisesFisher([0.6, 0.64, 0.48], 2.0), menus, 300, rng=rng))
    which = rng.integers(2, size=300)
    alone, merged = regions.merged(), regions.merged(which)
    assert alone is not None
    assert merged is not None
    assert regions.merged() is alone
    assert regions.merged(which.copy()) is merged
    assert len(alone.regions) < len(merged.regions) <= 2 * len(alone.regions)
    assert merged.counts.sum() == 300
    np.testing.assert_array_equal(merged.which[merged.place], which)
    np.testing.assert_array_equal(merged.regions.side[merged.place], regions.side)
    assert np.all(np.diff(merged.which) >= 0)
    other = regions.merged(1 - which)
    assert other is not None
    np.testing.assert_array_equal(other.which[other.place], 1 - which)
    assert regions.merged(np.arange(300)) is None
    for k in (0, 1):
        own = regions[which == k].merged()
        assert own is not None
        assert (merged.which == k).sum() == len(own.regions)


def test_rows_that_only_sampling_can_do_are_sampled_under_their_own_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no contour will do, a row gets the sampled mass of its own law, and is taken to teach nothing."""
    rng = np.random.default_rng(4)
    regions, laws = market(3, 12, rng)[2:], draw_laws(10, 3, rng)
    which = rng.permutation(10)
    exact = exact_log_mass(regions, laws, which, gradient=True)
    monkeypatch.setattr(masses, "HOPELESS", 0.0)  # kernels are compiled with the true one
    sampled = exact_log_mass(regions, laws, which, gradient=True)
    assert sampled.gradient is not None
    assert np.all(sampled.error[sampled.log_mass < 0] > 0)
    assert np.all(np.abs(sampled.log_mass - exact.log_mass) <= 3 * sampled.error + 1e-9)
    np.testing.assert_allclose(sampled.gradient, exact.gradient, atol=0.05)
    sums = sum_by_law(regions, laws, which)
    assert sums.value == pytest.approx(sampled.log_mass.sum())
    np.testing.assert_allclose(sums.gradient[which], sampled.gradient)


def test_covariances_of_laws_are_those_of_each() -> None:
    laws = np.array([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [1.0, -2.0, 0.5], [30.0, 40.0, 0.0]])
    np.testing.assert_array_equal(vmf_covariance(laws), [vmf_covariance(h) for h in laws])
    draws = sp.VonMisesFisher(laws[2] / np.linalg.norm(laws[2]), float(np.linalg.norm(laws[2]))).sample(
        200_000, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(vmf_covariance(laws)[2], np.cov(draws.T), atol=5e-3)
    np.testing.assert_allclose(vmf_covariance(laws)[:2], np.eye(3)[None] / 3 * np.ones((2, 1, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ("laws", "which", "message"),
    [
        (np.ones((2, 3)), None, "which may be left out for one law only; received 2"),
        (np.ones((2, 3)), [0, 1, 2], r"which must hold, for each of 3 rows, a whole number from 0 to 1"),
        (np.ones((2, 3)), [0, 1, -1], "from 0 to 1"),
        (np.ones((2, 3)), [0, 1], "for each of 3 rows"),
        (np.ones((2, 3)), [0.0, 1.0, 0.0], "a whole number"),
        (np.ones((2, 4)), [0, 1, 0], r"laws must have shape \(K, 3\); received \(2, 4\)"),
        (np.ones((0, 3)), [0, 0, 0], r"received \(0, 3\)"),
    ],
)
def test_bad_laws_are_named(laws: np.ndarray, which: object, message: str) -> None:
    regions = sp.Regions.of(sp.Observations(np.ones((3, 3)), np.ones(3), np.tile([1.0, 0.0, 0.0], (3, 1))))
    with pytest.raises(sp.InvalidArgument, match=message):
        exact_log_mass(regions, laws, which)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidArgument, match=message):
        sum_by_law(regions, laws, which)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def three_goods() -> sp.Regions:
    return sp.Regions.of(sp.Observations([[1.0, 2.0, 1.5]] * 2, [2.0, 9.0], [[1.0, 0.5, 0.0], [0.0, 1.0, 1.0]]))


def test_log_mass_takes_a_law_or_its_parameters(three_goods: sp.Regions) -> None:
    mu, kappa = np.array([0.8, 0.0, -0.6]), 3.0
    law = sp.VonMisesFisher(mu, kappa)
    found = sp.log_mass(three_goods, law)
    np.testing.assert_allclose(found, exact_log_mass(three_goods, kappa * mu).log_mass, rtol=1e-13)
    for other in (
        sp.log_mass(three_goods, law=law),
        sp.log_mass(three_goods, mu, kappa),
        sp.log_mass(three_goods, mu, concentration=kappa),
        sp.log_mass(three_goods, mean_direction=mu.tolist(), concentration=kappa),
        sp.log_mass(three_goods, concentration=kappa, mean_direction=mu),
    ):
        np.testing.assert_allclose(other, found, rtol=1e-13)  # a direction is normalised again
    value, gradient = sp.log_mass(three_goods, law, gradient=True)
    np.testing.assert_array_equal(value, found)
    assert gradient.shape == (2, 3)
    cloud = sp.log_mass(three_goods, law, method="cloud", n_draws=40_000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(cloud, found, atol=0.1)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, r"received no law; pass VonMisesFisher\(mean_direction, concentration\)"),
        (([1.0, 0.0, 0.0],), {}, "received an object of type list without a concentration"),
        ((), {"mean_direction": [1.0, 0.0, 0.0]}, "of type list without a concentration"),
        ((), {"concentration": 2.0}, "received a concentration without a mean direction"),
        ((sp.CorruptedUtilityLaw([1.0, 0.0, 0.0], 0.1),), {}, "received an object of type CorruptedUtilityLaw"),
        ((sp.VonMisesFisher([1.0, 0.0, 0.0], 1.0), 2.0), {}, "received concentration too; leave it out"),
        ((sp.VonMisesFisher([1.0, 0.0, 0.0], 1.0),), {"mean_direction": [1.0, 0.0, 0.0]}, "received mean_direction"),
        (([1.0, 0.0, 0.0], 1.0), {"mean_direction": [1.0, 0.0, 0.0]}, "mean_direction must be given once"),
        ((sp.VonMisesFisher([1.0, 0.0], 1.0),), {}, r"law must be of the 3 goods of the regions; received one of 2"),
    ],
)
def test_half_a_law_is_refused(
    three_goods: sp.Regions, arguments: tuple[object, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.log_mass(three_goods, *arguments, **options)  # type: ignore[arg-type]
