"""Gibbs moves leave the exact conditional law alone, and the law given the utilities is drawn right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import stochpref as sp
from stochpref.bessel import log_normaliser, mean_resultant_length
from stochpref.kinds import PIVOT, SLACK, TIGHT
from stochpref.laws import uniform_directions
from stochpref.mass.masses import exact_log_mass, observed_information, vmf_covariance, vmf_mean
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs import Gibbs, GibbsState, Span, sweep
from stochpref.posterior.samplers.gibbs_law import draw_laws
from stochpref.posterior.samplers.streams import start_stream, uniform
from stochpref.posterior.target import Target, keyed_generator
from stochpref.regions import Regions
from stochpref.stores.memory import Memory
from stochpref.threads import GROUP

PRIOR = Prior(0.0, 100.0)


def regions_of(n: int, law: str, *, size: int = 12, seed: int = 0, absent: bool = False) -> Regions:
    rng = np.random.default_rng(seed)
    menus = sp.MenuLaw(law).sample(size, n, rng=rng)
    prices = menus.prices.copy()
    if absent:
        prices[np.arange(size), rng.integers(n, size=size)] = np.inf
    u = rng.standard_normal((size, n)) + 0.5
    return Regions.of(sp.Observations(prices, menus.budgets, sp.choose(u, prices, menus.budgets)))


def stationary_moments(regions: Regions, h: np.ndarray, sweeps: int, copies: int, **options: float) -> np.ndarray:
    """Return (copies, T, n) mean utilities of as many independent chains, all at the same h."""
    kappa = float(np.linalg.norm(h))
    kernel = Gibbs(Target(Memory(regions), PRIOR), seed=5, **options)
    latents = kernel.init(copies).latents
    state = GibbsState(latents, np.tile(h / kappa, (copies, 1)), np.full(copies, kappa))
    total = np.zeros_like(latents)
    for iteration in range(50 + sweeps):
        kernel.sweep(state, iteration)
        if iteration >= 50:
            total += latents
    return total / sweeps


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
@pytest.mark.parametrize(("n", "kappa", "absent"), [(2, 3.0, False), (3, 8.0, False), (5, 4.0, True), (10, 6.0, False)])
def test_sweeps_keep_the_exact_conditional_mean(law: str, n: int, kappa: float, absent: bool) -> None:
    regions = regions_of(n, law, absent=absent, seed=n)
    h = kappa * uniform_directions(1, n, rng=np.random.default_rng(n))[0]
    means = stationary_moments(regions, h, 800, 20)
    exact = exact_log_mass(regions, h, gradient=True).gradient + mean_resultant_length(n, kappa) * h / kappa
    error = means.std(axis=0, ddof=1) / np.sqrt(20)
    z = (means.mean(axis=0) - exact) / np.maximum(error, 1e-9)
    assert error.max() < 0.03  # a factor of the density dropped moves means by 0.1 and more
    assert np.abs(z).max() < 6.5  # Student with 19 degrees of freedom, up to 120 comparisons


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_sweeps_keep_the_exact_sum_over_many_customers(law: str) -> None:
    # Sums see what single customers hide: a bias of 0.002 each, as when an arc wider than half a turn is cut short.
    n, kappa, size = 5, 6.6, 400
    rng = np.random.default_rng(2)
    direction = np.ones(n) / np.sqrt(n)
    regions = Regions.of(sp.simulate(sp.VonMisesFisher(direction, kappa), sp.MenuLaw(law), size, rng=rng))
    sums = stationary_moments(regions, kappa * direction, 300, 20).sum(axis=1)
    exact = exact_log_mass(regions, kappa * direction, gradient=True).gradient.sum(axis=0)
    exact += size * mean_resultant_length(n, kappa) * direction
    along = np.column_stack([sums, sums @ direction]) - np.append(exact, exact @ direction)
    error = along.std(axis=0, ddof=1) / np.sqrt(20)
    assert error[-1] < 0.1
    assert np.abs(along.mean(axis=0) / error).max() < 5


def test_a_dropped_meridian_factor_is_seen_by_that_test() -> None:
    regions = regions_of(10, "uniform", seed=10)
    assert np.any(regions.kind_code == PIVOT)
    h = 6.0 * uniform_directions(1, 10, rng=np.random.default_rng(10))[0]
    means = stationary_moments(regions, h, 400, 20, meridian_power=0.0)
    exact = exact_log_mass(regions, h, gradient=True).gradient + mean_resultant_length(10, 6.0) * h / 6.0
    error = means.std(axis=0, ddof=1) / np.sqrt(20)
    assert np.abs((means.mean(axis=0) - exact) / error).max() > 20


def latents_under(
    regions: Regions, laws: np.ndarray, which: np.ndarray | None, n_sweeps: int, copies: int, burn: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return latents (copies, T, n) after sweeps under the same laws in every chain, and their mean since the burn."""
    latents = Gibbs(Target(Memory(regions), PRIOR), seed=5).init(copies).latents
    total = np.zeros_like(latents)
    for iteration in range(burn + n_sweeps):
        sums = sweep(regions, latents, np.tile(laws, (copies, 1, 1)), Span(0, len(regions)), 5, iteration, which)
        assert sums.shape == (copies, -(-len(regions) // GROUP), regions.n_goods)
        if iteration >= burn:
            total += latents
    return latents, total / n_sweeps


@pytest.mark.parametrize("n", [2, 5])
def test_equal_laws_give_the_draws_of_one_law(n: int) -> None:
    """Bit for bit: pairs are drawn for a chain, not for a law."""
    regions = regions_of(n, "discrete", size=150, absent=True, seed=3)
    h = 4.0 * uniform_directions(1, n, rng=np.random.default_rng(1))
    alone, _ = latents_under(regions, h, None, 6, 2)
    for count in (3, 150):
        which = np.random.default_rng(0).integers(count, size=150)
        several, _ = latents_under(regions, np.tile(h, (count, 1)), which, 6, 2)
        np.testing.assert_array_equal(several, alone)


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_sweeps_keep_the_exact_conditional_mean_under_two_laws(law: str) -> None:
    regions, n = regions_of(4, law, seed=7, absent=True), 4
    laws = np.array([[3.0], [7.0]]) * uniform_directions(2, n, rng=np.random.default_rng(2))
    which = np.arange(len(regions)) % 2
    _, means = latents_under(regions, laws, which, 800, 20, burn=50)
    exact = exact_log_mass(regions, laws, which, gradient=True).gradient + vmf_mean(laws)[which]
    error = means.std(axis=0, ddof=1) / np.sqrt(20)
    assert error.max() < 0.03  # the other law moves means by 0.1 and more
    assert np.abs((means.mean(axis=0) - exact) / np.maximum(error, 1e-9)).max() < 6.5


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_sweeps_keep_the_exact_conditional_covariance(law: str) -> None:
    n, kappa = 4, 5.0
    regions = regions_of(n, law, size=1, seed=3)
    h = kappa * uniform_directions(1, n, rng=np.random.default_rng(1))[0]
    kernel = Gibbs(Target(Memory(regions), PRIOR), seed=2)
    latents = kernel.init(40).latents
    state = GibbsState(latents, np.tile(h / kappa, (40, 1)), np.full(40, kappa))
    draws = np.empty((1500, 40, n))
    for iteration in range(1550):
        kernel.sweep(state, iteration)
        if iteration >= 50:
            draws[iteration - 50] = latents[:, 0]
    covariances = np.array([np.cov(draws[:, c].T) for c in range(40)])
    exact = vmf_covariance(h) - observed_information(regions, h)
    error = covariances.std(axis=0, ddof=1) / np.sqrt(40)
    assert np.abs((covariances.mean(axis=0) - exact) / error).max() < 6
    assert error.max() < 0.01


@pytest.mark.parametrize("law", ["uniform", "discrete", "fixed"])
def test_latents_stay_in_their_regions_on_the_sphere(law: str) -> None:
    regions = regions_of(7, law, size=200, seed=1, absent=True)
    kernel = Gibbs(Target(Memory(regions), PRIOR), seed=0)
    state = kernel.init(2)
    for iteration in range(30):
        state, _ = kernel.step(state, iteration)
    for chain in range(2):
        inside = [regions.rows(t, t + 1).contains(state.latents[chain, t])[0] for t in range(200)]
        assert np.mean(inside) > 0.99  # rounding may put a point a hair outside
    assert np.allclose(np.linalg.norm(state.latents, axis=2), 1.0)
    kinds = {"uniform": {SLACK, PIVOT}, "discrete": {SLACK, PIVOT, TIGHT}, "fixed": {SLACK, TIGHT}}[law]
    assert set(regions.kind_code) <= kinds


@pytest.mark.parametrize(
    ("n", "rows", "length", "bounds"),
    [
        (3, 50, 30.0, (0.0, 60.0)),
        (10, 1000, 480.0, (1.0, 10.0)),
        (25, 100_000, 19_000.0, (0.0, 500.0)),
        (2, 1, 1.0, (0, 40)),
    ],
)
def test_concentration_given_utilities_has_its_density(
    n: int, rows: int, length: float, bounds: tuple[float, float]
) -> None:
    sums = np.tile(length * np.eye(n)[0], (4000, 1))
    _, drawn = draw_laws(Prior(*bounds), sums, rows, seed=7, iteration=0)

    def log_density(kappa: float) -> float:
        inner = float(log_normaliser(n, kappa * length)) + kappa * length
        return inner - rows * (float(log_normaliser(n, kappa)) + kappa)

    grid = np.linspace(drawn.min(), drawn.max(), 2001)
    peak = max(log_density(k) for k in grid)
    reach = 3.0 * drawn.std()
    ends = max(bounds[0], drawn.min() - reach), min(bounds[1], drawn.max() + reach)
    moments = [
        quad(lambda k, p=p: k**p * np.exp(log_density(k) - peak), *ends, limit=400, points=[drawn.mean()])[0]
        for p in range(3)
    ]
    mean = moments[1] / moments[0]
    sd = np.sqrt(max(moments[2] / moments[0] - mean**2, 0.0))
    assert abs(drawn.mean() - mean) < 4 * sd / np.sqrt(4000)
    assert abs(drawn.std() - sd) < 0.06 * sd
    assert np.all((drawn >= bounds[0]) & (drawn <= bounds[1]))


@pytest.mark.parametrize(("n", "length"), [(2, 3.0), (3, 0.5), (6, 200.0), (25, 40.0)])
def test_direction_given_utilities_is_von_mises_fisher(n: int, length: float) -> None:
    """At a concentration held fixed, sums over draws have the mean and the spread of the law about R."""
    towards = uniform_directions(1, n, rng=np.random.default_rng(n))[0]
    kappa = 2.0
    sums = np.tile(length * towards, (20_000, 1))
    drawn, _ = draw_laws(Prior(kappa, kappa * (1 + 1e-12)), sums, 5, seed=3, iteration=1)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, atol=1e-12)
    expected = float(mean_resultant_length(n, kappa * length))
    along = drawn @ towards
    assert abs(along.mean() - expected) < 4 * along.std() / np.sqrt(20_000)
    error = np.sqrt(np.diag(vmf_covariance(kappa * length * towards)) / 20_000)
    assert np.abs((drawn.mean(axis=0) - expected * towards) / error).max() < 4.5
    np.testing.assert_allclose(np.cov(drawn.T), vmf_covariance(kappa * length * towards), atol=0.03)


def test_without_data_the_prior_comes_back() -> None:
    nothing = regions_of(4, "uniform")[np.zeros(12, bool)]
    kernel = Gibbs(Target(Memory(nothing), Prior(1.0, 10.0)), seed=3)
    state = kernel.init(20)
    kappas, directions = [], []
    for iteration in range(200):
        state, _ = kernel.step(state, iteration)
        kappas.append(state.concentration)
        directions.append(state.mean_direction)
    assert abs(np.mean(kappas) - 5.5) < 5 * 9 / np.sqrt(12 * 4000)
    assert abs(np.std(kappas) - 9 / np.sqrt(12)) < 0.1
    assert np.abs(np.mean(directions, axis=(0, 1))).max() < 5 * 0.5 / np.sqrt(4000)


def test_a_prior_of_ones_own_weighs_the_draws() -> None:
    nothing = regions_of(3, "uniform")[np.zeros(12, bool)]
    prior = Prior(0.0, 10.0, lambda mu, kappa: 2.0 * mu[0] - 0.5 * kappa)
    kernel = Gibbs(Target(Memory(nothing), prior), seed=3)
    state = kernel.init(40)
    kappas, firsts = [], []
    for iteration in range(700):
        state, _ = kernel.step(state, iteration)
        if iteration >= 50:
            kappas.append(state.concentration)
            firsts.append(state.mean_direction[:, 0])
    by_chain = np.mean(firsts, axis=0)
    error = by_chain.std(ddof=1) / np.sqrt(40)
    assert abs(by_chain.mean() - float(mean_resultant_length(3, 2.0))) < 5 * error < 0.1
    by_chain = np.mean(kappas, axis=0)
    truth = 2.0 - 10.0 * np.exp(-5.0) / (1.0 - np.exp(-5.0))
    assert abs(by_chain.mean() - truth) < 5 * by_chain.std(ddof=1) / np.sqrt(40) < 0.5


def test_streams_are_uniform_and_differ() -> None:
    stream = np.empty(2, np.uint64)
    values = np.empty((200, 500))
    for row in range(200):
        start_stream(stream, np.uint64(9), 1, row % 7, row)
        values[row] = [uniform(stream) for _ in range(500)]
    assert values.min() > 0.0
    assert values.max() < 1.0
    assert abs(values.mean() - 0.5) < 4 / np.sqrt(12 * values.size)
    assert abs(values.var() - 1 / 12) < 0.003
    counts, _ = np.histogram(values, 20, (0, 1))
    assert np.sum((counts - 5000) ** 2 / 5000) < 50
    serial = np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]
    across = np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1]
    assert max(abs(serial), abs(across)) < 4 / np.sqrt(values.size)
    assert len(np.unique(values)) == values.size


def test_draws_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    regions = regions_of(6, "discrete", size=5 * GROUP + 3, seed=2)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        kernel = Gibbs(Target(Memory(regions), PRIOR), seed=11)
        state = kernel.init(3)
        for iteration in range(5):
            state, _ = kernel.step(state, iteration)
        results.append(state)
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert np.array_equal(one, two)


def test_keyed_generators_are_distinct() -> None:
    firsts = {float(keyed_generator(s, c, i).random()) for s in (0, 1, 2**62) for c in range(4) for i in range(-1, 20)}
    assert len(firsts) == 3 * 4 * 21
