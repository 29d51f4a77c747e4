"""The JAX engine against the CPU engine, which shares no arithmetic with it: a power series against complex nodes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import stochpref as sp
from stochpref.bessel import log_normaliser, mean_resultant_length
from stochpref.mass.masses import exact_log_mass, sum_log_mass, vmf_mean
from stochpref.stores.device import Device
from stochpref.stores.memory import Memory

# Interpreted kernels are hundreds of small operations: to fuse them takes longer than to run them.
os.environ.setdefault("XLA_FLAGS", "--xla_disable_hlo_passes=fusion")
pytest.importorskip("jax")
import jax

from stochpref.mass.jax import moments as jax_moments
from stochpref.mass.jax.engine import JaxLogLikelihood, RowMasses
from stochpref.mass.jax.series import whole_spheres


def direction(n: int, rng: np.random.Generator) -> np.ndarray:
    mu = rng.standard_normal(n)
    return mu / np.linalg.norm(mu)


def market(n: int, law: str, size: int, rng: np.random.Generator) -> sp.Observations:
    """Customers around a random direction, a tenth of the goods absent, half the prices spread, caps that differ."""
    menus = sp.MenuLaw(law).sample(size, n, rng=rng)
    prices, caps = menus.prices.copy(), rng.uniform(0.5, 2.0, (size, n))
    prices[: size // 2] *= 30 ** rng.uniform(-1, 0, (size // 2, n))
    prices[::3, 1:][rng.random(prices[::3, 1:].shape) < 0.1] = np.inf
    finite = np.where(np.isfinite(prices), prices, 0.0)
    budgets = menus.budgets * (finite * caps).sum(axis=1) / menus.prices.sum(axis=1)
    utilities = sp.VonMisesFisher(direction(n, rng), 4.0).sample(size, rng=rng)
    bundles = sp.choose(utilities, prices, budgets, caps=caps)
    # Half the budgets are what was spent: all of it, on whole units where the fractional good is left out.
    bundles[1::2] = np.where(bundles[1::2] >= caps[1::2] * (1 - 1e-12), bundles[1::2], 0.0)
    spent = (np.where(bundles > 0, finite, 0.0) * bundles).sum(axis=1)
    budgets[1::2] = np.where(spent[1::2] > 0, spent[1::2], budgets[1::2])
    return sp.Observations(prices, budgets, bundles, caps=caps)


@pytest.fixture(scope="module")
def observations() -> sp.Observations:
    rng = np.random.default_rng(5)
    mu = np.array([0.6, -0.3, 0.5, 0.2, -0.4, 0.3])
    return sp.simulate(sp.VonMisesFisher(mu / np.linalg.norm(mu), 4.0), sp.MenuLaw("uniform"), 250, rng=rng)


@pytest.mark.parametrize(("n", "size"), [(2, 90), (6, 120), (25, 120), (100, 40)])
def test_equals_the_cpu_engine(n: int, size: int) -> None:
    rng = np.random.default_rng(n)
    regions = sp.Regions.of(market(n, "uniform", size, rng))
    assert set(regions.kind) >= {"slack", "pivot", "tight"}
    near = direction(n, rng)
    for kappa in (0.0, 1.0, 5.0, 30.0, 1000.0):
        for mu in (near, direction(n, rng)):
            ours = sp.log_mass(regions, mu, kappa, gradient=True, full=True, engine="jax")
            theirs = exact_log_mass(regions, kappa * mu, gradient=True)
            known = theirs.error < 1e-9  # regions that only sampling could do are as uncertain as that
            assert known.mean() > 0.95
            scale = np.maximum(1.0, np.abs(theirs.log_mass[known]) * 1e-3)
            assert np.max(np.abs(ours.log_mass - theirs.log_mass)[known] / scale) < 1e-9, kappa
            assert np.max(np.abs(ours.gradient - theirs.gradient)[known]) < 1e-9, kappa
            assert np.all(ours.error[known] < 1e-9)


@pytest.mark.parametrize("kappa", [300.0, 1000.0, 3000.0])
def test_a_good_that_is_bought_though_nobody_wants_it(kappa: float) -> None:
    """Far below zero the recurrence amplifies rounding: the mean then is not to be believed, and must not be."""
    prices = np.random.default_rng(3).uniform(0.2, 2.0, (40, 6))
    bundles = np.tile([0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (40, 1))
    regions = sp.Regions.of(sp.Observations(prices, (prices * bundles).sum(axis=1), bundles))
    h = kappa * np.array([-0.401, 0.285, -0.857, 0.018, 0.125, -0.089])
    ours = sp.log_mass(regions, h / np.linalg.norm(h), float(np.linalg.norm(h)), gradient=True, full=True, engine="jax")
    theirs = exact_log_mass(regions, h, gradient=True)
    assert np.abs(ours.gradient - theirs.gradient).max() < 1e-9


def test_most_rows_are_done_on_the_device() -> None:
    """The law of the benchmark: the second attempt and the fallback are for a few rows in a thousand."""
    rng = np.random.default_rng(1)
    law = sp.VonMisesFisher(direction(25, rng), 5.0)
    regions = sp.Regions.of(sp.simulate(law, sp.MenuLaw("uniform"), 1000, rng=rng))
    asked: list[int] = []

    def count(rows: np.ndarray, laws: np.ndarray, which: np.ndarray | None, tolerance: float) -> RowMasses:
        asked.append(len(rows))
        return RowMasses(*exact_log_mass(regions[rows], laws, which, gradient=True, tolerance=tolerance))

    value, gradient = JaxLogLikelihood.of(regions, fallback_fn=count).sums(law.concentration * law.mean_direction)
    assert sum(asked) <= 10
    best, slope = sum_log_mass(regions, law.concentration * law.mean_direction)
    assert abs(value / best - 1) < 1e-12
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-9 * np.abs(slope).max())


def test_the_whole_sphere_is_the_bessel_function() -> None:
    for n in (2, 3, 10, 25, 200):
        for kappa in (0.0, 1e-6, 0.7, 5.0, 80.0, 1000.0, 1e4):
            log_total, length = jax_moments.whole_sphere(n, kappa)
            assert log_total == pytest.approx(float(log_normaliser(n, kappa)) + kappa, rel=1e-12, abs=1e-11)
            assert length == pytest.approx(float(mean_resultant_length(n, kappa)), rel=1e-11, abs=1e-14)


def test_the_whole_sphere_under_many_laws_is_that_under_each() -> None:
    rng = np.random.default_rng(0)
    for n, most in ((2, 1e4), (10, 30.0), (25, 1e3)):
        kappa = np.concatenate([[0.0, 1e-6], 10 ** rng.uniform(-2, np.log10(most), 50)])
        laws = kappa[:, None] * np.array([direction(n, rng) for _ in kappa])
        with jax.enable_x64(True):
            log_total, mean = whole_spheres(laws, jax_moments.moment_table(n, most, 16))
        np.testing.assert_allclose(log_total, log_normaliser(n, kappa) + kappa, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(mean, vmf_mean(laws), rtol=0, atol=1e-14)


def test_a_law_per_row_equals_the_cpu_engine() -> None:
    """Laws near and far, the uniform one, one that only the fallback can do, and one nobody has."""
    rng = np.random.default_rng(12)
    regions = sp.Regions.of(market(5, "uniform", 90, rng))
    assert set(regions.kind) >= {"slack", "pivot", "tight"}
    kappa = np.array([0.0, 0.3, 4.0, 5.0, 12.0, 300.0, 1.0])
    laws = kappa[:, None] * np.array([direction(5, rng) for _ in kappa])
    which = rng.permutation(np.arange(90) % 6)
    assert regions.merged() is None
    ours = Device(regions).likelihood.rows(laws, which)
    theirs = exact_log_mass(regions, laws, which, gradient=True)
    assert theirs.error.max() < 1e-9
    scale = np.maximum(1.0, np.abs(theirs.log_mass) * 1e-3)
    assert np.max(np.abs(ours.log_mass - theirs.log_mass) / scale) < 1e-9
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=0, atol=1e-9)


def test_a_law_per_row_in_blocks_and_with_counts() -> None:
    rng = np.random.default_rng(6)
    side, size = rng.choice(np.array([-1, 1], np.int8), (200, 3)), 200
    counts, which = rng.integers(1, 4, size).astype(float), rng.permutation(np.arange(size) % 150)
    laws = 0.7 * rng.standard_normal((151, 3))  # some rows need a second attempt
    data = (np.zeros(size, np.int8), side, np.ones((size, 3)), np.full(size, -1, np.int32))
    target = JaxLogLikelihood(*data, counts=counts, block=128)
    regions = sp.Regions(*data, 1.0)
    masses = exact_log_mass(regions, laws, which, gradient=True)
    expected = np.zeros_like(laws)
    np.add.at(expected, which, counts[:, None] * masses.gradient)
    value, gradient = target.sums(laws, which)
    assert value == pytest.approx(float(counts @ masses.log_mass), rel=1e-11)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-9)
    assert target.value(laws, which) == pytest.approx(value, rel=1e-13)


@pytest.fixture(scope="module")
def stores(observations: sp.Observations) -> tuple[Device, Memory]:
    regions = sp.Regions.of(observations)
    return Device(regions), Memory(regions)


def test_gradient_and_information_are_those_of_the_sum(stores: tuple[Device, Memory]) -> None:
    ours, theirs = stores
    h = np.array([2.0, -1.0, 1.5, 0.4, -1.2, 0.8])
    gradient = ours.sums(h).gradient
    step = 1e-4
    for i in range(3):
        d = step * np.eye(6)[i]
        assert (ours.sums(h + d).value - ours.sums(h - d).value) / (2 * step) == pytest.approx(gradient[i], rel=1e-6)
    assert ours.sums(h, derivatives=0).value == pytest.approx(theirs.sums(h, derivatives=0).value, rel=1e-12)
    found, information = (store.sums(h, derivatives=2).information for store in stores)
    np.testing.assert_allclose(found, information, rtol=0, atol=1e-5 * np.abs(information).max())
    rows = exact_log_mass(theirs.regions, h, gradient=True).gradient
    assert rows is not None
    np.testing.assert_allclose(ours.curvature(h), rows.T @ rows, rtol=1e-8, atol=1e-8)


def test_blocks_and_repeated_rows_do_not_matter(observations: sp.Observations) -> None:
    regions = sp.Regions.of(observations)[sp.Regions.of(observations).kind == "slack"]
    h = np.array([2.0, -1.0, 1.5, 0.4, -1.2, 0.8])
    whole, cut = JaxLogLikelihood.of(regions), JaxLogLikelihood.of(regions, block=16)
    assert cut.value(h) == pytest.approx(whole.value(h), rel=1e-13)
    np.testing.assert_array_equal(cut.rows(h).log_mass, whole.rows(h).log_mass)
    counts = np.arange(len(regions), dtype=float)
    weighted = JaxLogLikelihood.of(regions, counts=counts)
    assert len(weighted) == counts.sum()
    assert weighted.value(h) == pytest.approx(float(counts @ whole.rows(h).log_mass), rel=1e-12)


def test_rows_beyond_the_device_are_refused_or_done_elsewhere() -> None:
    """A region that turns its back on the mean: no positive saddle, so no contour."""
    regions = sp.Regions.of(sp.Observations([[1.0, 2.0, 1.5]] * 2, [9.0, 9.0], [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]))
    h = np.array([60.0, 50.0, 40.0])
    alone = JaxLogLikelihood.of(regions)
    with pytest.raises(sp.InvalidObservations, match=r"1 of 2 regions .*row 0") as caught:
        alone.sums(h)
    assert caught.value.rows == (0,)
    helped = Device(regions).sums(h, derivatives=0)
    assert helped.value == pytest.approx(float(exact_log_mass(regions, h).log_mass.sum()), rel=1e-9)


def test_degenerate_and_certain_rows() -> None:
    rows = sp.Regions.of(
        sp.Observations([[1.0, 2.0, 1.5]] * 3, [9.0, 0.0, 2.0], [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    )
    assert rows.kind.tolist()[2] == "degenerate"
    masses = sp.log_mass(rows, [1.0, 0.0, 0.0], 2.0, gradient=True, full=True, engine="jax")
    expected = sp.log_mass(rows, [1.0, 0.0, 0.0], 2.0, gradient=True, full=True)
    np.testing.assert_allclose(masses.log_mass, expected.log_mass, atol=1e-10)
    np.testing.assert_allclose(masses.gradient, expected.gradient, atol=1e-10)
    with pytest.raises(sp.InvalidObservations, match="degenerate"):
        JaxLogLikelihood.of(rows).sums(np.ones(3))


def test_maximum_likelihood_is_the_same(observations: sp.Observations) -> None:
    ours, theirs = sp.fit_maximum_likelihood(observations, engine="jax"), sp.fit_maximum_likelihood(observations)
    assert ours.status == theirs.status == "converged"
    np.testing.assert_allclose(ours.h, theirs.h, atol=1e-5)
    np.testing.assert_allclose(ours.direction_standard_errors, theirs.direction_standard_errors, rtol=1e-4)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-10)


@pytest.mark.filterwarnings("ignore::stochpref.errors.NotConverged")
def test_the_posterior_is_the_same(observations: sp.Observations) -> None:
    """Proposals depend on the seed and on the mode only, so the draws agree to the accuracy of the mode."""
    options = {"sampler": "importance", "n_chains": 2, "n_draws": 60, "n_effective": 0, "random_state": 3}
    ours = sp.HeterogeneousUtility(engine="jax", **options).fit(observations)
    theirs = sp.HeterogeneousUtility(**options).fit(observations)
    assert ours.sampler_ == "importance"
    np.testing.assert_allclose(ours.mean_direction_, theirs.mean_direction_, atol=1e-3)
    assert ours.concentration_ == pytest.approx(theirs.concentration_, rel=1e-3)


def test_engines_are_checked() -> None:
    regions = sp.Regions.of(sp.Observations([[1.0, 2.0]], [9.0], [[1.0, 0.0]]))
    with pytest.raises(sp.InvalidArgument, match="engine must be one of cpu, jax"):
        sp.log_mass(regions, [1.0, 0.0], 1.0, engine="gpu")
    with pytest.raises(sp.InvalidArgument, match="exact masses only"):
        sp.log_mass(regions, [1.0, 0.0], 1.0, engine="jax", method="cloud", rng=np.random.default_rng(0))


def test_needs_numpy_and_jax_only() -> None:
    """On a bare GPU machine the engine imports; the caller's 32-bit default stays what it was."""
    code = """
import sys
for name in ("numba", "llvmlite", "sklearn", "arviz_stats", "arviz_base", "xarray", "pandas", "pyarrow", "narwhals"):
    sys.modules[name] = None
from stochpref.mass.jax import engine as jax_engine
import jax.numpy as jnp
import numpy as np
side = np.array([[1, -1, 1]], np.int8)
target = jax_engine.JaxLogLikelihood(np.zeros(1, np.int8), side, np.ones((1, 3)), np.full(1, -1, np.int32))
assert abs(target.rows(np.zeros(3)).log_mass[0] - np.log(1 / 8)) < 1e-10
assert jnp.ones(1).dtype == jnp.float32
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
