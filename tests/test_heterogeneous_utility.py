"""The heterogeneous model at its door: what it learns, predicts, saves, and what it does with hard data."""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import stochpref as sp
from stochpref.bessel import mean_resultant_length
from stochpref.laws import uniform_directions
from stochpref.posterior.results import group

N, T, KAPPA = 5, 150, 6.0


def market(n: int = N, size: int = T, kappa: float = KAPPA, law: str = "discrete", seed: int = 0) -> sp.Observations:
    rng = np.random.default_rng(seed)
    direction = uniform_directions(1, n, rng=rng)[0]
    return sp.simulate(sp.VonMisesFisher(direction, kappa), sp.MenuLaw(law), size, rng=rng)


def truth(n: int = N, seed: int = 0) -> np.ndarray:
    return uniform_directions(1, n, rng=np.random.default_rng(seed))[0]


def draws_of(model: sp.HeterogeneousUtility) -> tuple[np.ndarray, np.ndarray]:
    posterior = group(model.posterior_, "posterior")
    return posterior["mean_direction"].values, posterior["concentration"].values


@pytest.fixture(scope="module")
def data() -> sp.Observations:
    return market()


@pytest.fixture(scope="module")
def fitted(data: sp.Observations) -> sp.HeterogeneousUtility:
    return sp.HeterogeneousUtility(sampler="gibbs", n_draws=600, n_effective=100, random_state=0).fit(data)


def test_what_is_learned(data: sp.Observations, fitted: sp.HeterogeneousUtility) -> None:
    directions, concentrations = draws_of(fitted)
    assert directions.shape == (4, *concentrations.shape[1:], N)
    assert concentrations.shape[1] >= 600
    assert np.allclose(np.linalg.norm(directions, axis=2), 1.0)
    assert set(fitted.posterior_.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    assert fitted.mean_direction_ @ truth() > 0.98
    assert abs(fitted.concentration_ - KAPPA) < 4 * concentrations.std()
    assert fitted.is_converged_
    assert fitted.is_identified_
    assert fitted.goods_ == data.goods
    assert np.array_equal(group(fitted.posterior_, "observed_data")["bundles"].values, data.bundles)


def test_parameters_behave_as_scikit_learn_expects(fitted: sp.HeterogeneousUtility) -> None:
    model = sp.HeterogeneousUtility((1.0, 10.0), sampler="gibbs", n_draws=7)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert "n_draws=7" in repr(copy)
    assert clone(fitted).get_params()["n_draws"] == 600


@pytest.mark.parametrize("sampler", ["gibbs", "hamiltonian", "importance", "layered", "metropolis"])
def test_same_seed_same_draws_whatever_the_threads(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = market(3, 100)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        model = sp.HeterogeneousUtility((1, 10), sampler, 2, 20, random_state=3, n_effective=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.append(draws_of(model.fit(data)))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        other = sp.HeterogeneousUtility((1, 10), sampler, 2, 20, random_state=4, n_effective=0).fit(data)
    assert not np.array_equal(results[0][1], draws_of(other)[1])


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("sampler", ["gibbs", "hamiltonian", "importance", "layered", "metropolis"])
def test_a_stopped_fit_resumes_to_the_same_draws(sampler: str, tmp_path: Path) -> None:
    data = market(3, 60)
    settings = {"sampler": sampler, "n_chains": 2, "n_draws": 60, "n_effective": 60, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = sp.HeterogeneousUtility((1, 10), **settings).fit(data)
        path = tmp_path / "run.npz"
        stopped = 0
        while stopped < 100:
            try:
                model = sp.HeterogeneousUtility((1, 10), **settings, checkpoint=path, max_seconds=37.0).fit(data)
            except sp.InvalidArgument as error:
                assert "warm-up" in str(error)  # noqa: PT017
            else:
                if model.status_ == "enough":
                    break
            stopped += 1
    assert stopped >= 1
    assert model.status_ == "enough"
    assert not path.exists()
    for one, two in zip(draws_of(whole), draws_of(model), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.usefixtures("clock")
def test_a_checkpoint_of_something_else_is_refused(data: sp.Observations, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    settings = {"sampler": "gibbs", "n_chains": 1, "n_draws": 10**6, "max_seconds": 1000.0, "checkpoint": path}
    with pytest.warns(sp.NotConverged, match="time was up"):
        sp.HeterogeneousUtility(**settings, random_state=1).fit(data)
    assert path.exists()
    with pytest.raises(sp.InvalidArgument, match="other data, settings, seed or version"):
        sp.HeterogeneousUtility(**settings, random_state=2).fit(data)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(sp.InvalidArgument, match="cannot be read"):
        sp.HeterogeneousUtility(**settings, random_state=1).fit(data)


@pytest.mark.parametrize("how", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM)])  # which `timeout` sends twice
def test_an_interrupt_returns_what_is_there(
    how: tuple[signal.Signals, ...], data: sp.Observations, interrupt_at: Callable[..., None]
) -> None:
    interrupt_at(350, *how)
    handlers = [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)]
    with pytest.warns(sp.NotConverged, match="interrupted"):
        model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=10**6, random_state=0).fit(data)
    assert model.status_ == "interrupted"
    assert draws_of(model)[1].shape == (4, 51)
    assert np.isfinite(model.demand(data.menus[:2]).mean).all()
    assert [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_program_s_own_handler_of_sigterm_stays(data: sp.Observations, interrupt_at: Callable[..., None]) -> None:
    heard: list[int] = []
    interrupt_at(20, signal.SIGTERM)
    before = signal.signal(signal.SIGTERM, lambda signum, frame: heard.append(signum))
    try:
        model = sp.HeterogeneousUtility(sampler="gibbs", n_effective=100, random_state=0).fit(data)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (model.status_, heard) == ("enough", [signal.SIGTERM])


def test_an_interrupt_before_the_first_draw_is_an_interrupt(
    data: sp.Observations, interrupt_at: Callable[[int], None], tmp_path: Path
) -> None:
    interrupt_at(20)
    with pytest.raises(KeyboardInterrupt):
        sp.HeterogeneousUtility(sampler="gibbs", random_state=0, checkpoint=tmp_path / "run.npz").fit(data)
    assert (tmp_path / "run.npz").exists()


def test_chains_go_on_until_enough(data: sp.Observations) -> None:
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=50, n_effective=300, random_state=0).fit(data)
    assert draws_of(model)[1].shape[1] > 50
    assert model.status_ == "enough"
    assert model.diagnostics_.fewest_effective >= 300
    assert model.diagnostics_.worst_r_hat < 1.01


def test_prediction(data: sp.Observations, fitted: sp.HeterogeneousUtility) -> None:
    menus = data.menus[:20]
    expected = sp.choose(fitted.mean_direction_, menus.prices, menus.budgets)
    assert np.array_equal(fitted.predict(menus), expected)
    assert np.array_equal(fitted.predict(menus.prices, menus.budgets), expected)
    drawn = fitted.predict(menus, draw=True, rng=np.random.default_rng(0))
    assert drawn.shape == expected.shape
    directions = draws_of(fitted)[0].reshape(-1, N)
    picked = directions[np.random.default_rng(0).integers(len(directions))]
    assert np.array_equal(drawn, sp.choose(picked, menus.prices, menus.budgets))
    with pytest.raises(sp.InvalidArgument, match="rng"):
        fitted.predict(menus, draw=True)
    backwards = sp.Menus(menus.prices[:, ::-1], menus.budgets, goods=menus.goods[::-1])
    assert np.array_equal(fitted.predict(backwards), expected[:, ::-1])
    with pytest.raises(sp.InvalidArgument, match="such as 'rum'"):
        fitted.predict(sp.Menus([[1.0]], [1.0], goods=["rum"]))


def test_demand_is_the_mean_over_customers_and_posterior(
    data: sp.Observations, fitted: sp.HeterogeneousUtility
) -> None:
    menus = data.menus[:3]
    demand = fitted.demand(menus)
    rng = np.random.default_rng(1)
    directions, concentrations = (values.reshape(-1, *values.shape[2:]) for values in draws_of(fitted))
    every = rng.choice(len(concentrations), 400, replace=False)
    slow = np.mean(
        [
            [sp.choose(u, menus.prices[t], menus.budgets[t]).mean(axis=0) for t in range(3)]
            for s in every
            for u in [sp.VonMisesFisher(directions[s], concentrations[s]).sample(500, rng=rng)]
        ],
        axis=0,
    )
    assert np.abs(demand.mean - slow).max() < 0.02
    assert demand.standard_error.max() < 0.01
    assert np.all((demand.lower <= demand.mean) & (demand.mean <= demand.upper))
    assert np.allclose(demand.total, demand.mean.sum(axis=1))
    assert np.allclose(demand.revenue, np.sum(demand.mean * menus.prices, axis=1))
    assert np.all(demand.revenue <= menus.budgets + 1e-9)
    assert "revenue" in str(demand)
    json.dumps(demand.as_dict())


def test_intervals_of_demand_narrow_with_data_not_with_customers(fitted: sp.HeterogeneousUtility) -> None:
    menu = sp.Menus(np.full((1, N), 1.0), [2.0], goods=fitted.goods_)
    few, many = fitted.demand(menu, n_customers=512), fitted.demand(menu, n_customers=8192)
    widths = (few.upper - few.lower) / (many.upper - many.lower)
    assert np.all((widths > 0.5) & (widths < 1.8))
    wide = fitted.demand(menu, level=0.99)
    assert np.all(wide.upper - wide.lower > many.upper - many.lower)


def test_elasticities(fitted: sp.HeterogeneousUtility) -> None:
    menu = sp.Menus(np.linspace(1.0, 2.0, N)[None], [2.5], goods=fitted.goods_)
    found = fitted.elasticities(menu)
    wanted = fitted.demand(menu).mean[0] > 0.05
    own = np.diag(found.mean)[wanted]
    assert np.all(own < 0.0)
    # Scaling all prices is scaling the budget the other way: rows sum to minus the elasticity in money.
    grown = fitted.demand(sp.Menus(menu.prices, menu.budgets * 1.05, goods=menu.goods)).mean[0]
    shrunk = fitted.demand(sp.Menus(menu.prices, menu.budgets / 1.05, goods=menu.goods)).mean[0]
    money = np.log(grown / shrunk) / (2 * np.log(1.05))
    assert np.allclose(found.mean.sum(axis=1)[wanted], -money[wanted], atol=0.12)
    assert "elasticities" in str(found)
    alike = fitted.elasticities(sp.Menus(np.tile(menu.prices, (2, 1)), [2.5, 2.5], goods=fitted.goods_))
    np.testing.assert_array_equal(alike.mean, found.mean)
    two = fitted.elasticities(menu, goods=(menu.goods[3], menu.goods[1]), n_customers=512)
    some = fitted.elasticities(menu, n_customers=512)
    assert two.goods == (menu.goods[3], menu.goods[1])
    np.testing.assert_array_equal(two.mean, some.mean[np.ix_([3, 1], [3, 1])])


def test_utilities_of_customers_by_two_routes(data: sp.Observations, fitted: sp.HeterogeneousUtility) -> None:
    found = fitted.utilities()
    assert found.mean.shape == found.sd.shape == data.prices.shape
    regions = sp.Regions.of(data)
    inside = [regions.rows(t, t + 1).contains(found.mean[t])[0] for t in range(len(data))]
    assert np.mean(inside) == 1.0  # regions are convex cones
    assert np.all(np.linalg.norm(found.mean, axis=1) < 1.0)
    assert found.sd.mean() < 1 / np.sqrt(N)
    average = found.mean.mean(axis=0)
    expected = (
        np.mean([mean_resultant_length(N, k) for k in draws_of(fitted)[1].ravel()[::10]]) * fitted.mean_direction_
    )
    assert np.abs(average - expected).max() < 0.08


def test_scores(data: sp.Observations, fitted: sp.HeterogeneousUtility) -> None:
    fresh = market(seed=0, size=100)
    pointwise = fitted.log_likelihood(fresh)
    assert pointwise.shape == (100,)
    assert np.isclose(fitted.score(fresh), pointwise.mean())
    likeliest = sp.fit_maximum_likelihood(data)
    at_maximum = sp.log_mass(sp.Regions.of(fresh), likeliest.mean_direction, likeliest.concentration)
    assert abs(pointwise.mean() - at_maximum.mean()) < 0.05
    loo = fitted.loo()
    assert loo.n_data_points == len(data)
    assert float(loo.pareto_k.max()) < 0.7
    values = group(fitted.posterior_, "log_likelihood")["bundles"]
    assert values.shape[0] * values.shape[1] <= 400
    assert loo.elpd < float(np.sum(fitted.log_likelihood(data))) + 1e-6
    # An observation left out for good, refitted, scores as leave-one-out says.
    t = int(np.argmin(np.asarray(loo.elpd_i)))
    rest = data[np.arange(len(data)) != t]
    again = sp.HeterogeneousUtility(sampler="gibbs", n_draws=600, n_effective=100, random_state=0).fit(rest)
    assert abs(float(np.asarray(loo.elpd_i)[t]) - again.log_likelihood(data[[t]])[0]) < 0.15


def test_summary_and_saved_fit(data: sp.Observations, fitted: sp.HeterogeneousUtility, tmp_path: Path) -> None:
    text = str(fitted.summary())
    for word in ("converged", "identified", "R-hat", "concentration", *fitted.goods_, "gibbs"):
        assert word in text
    fitted.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert isinstance(again, sp.HeterogeneousUtility)
    assert str(again.summary()) == text
    for one, two in zip(draws_of(fitted), draws_of(again), strict=True):
        assert np.array_equal(one, two)
    menus = data.menus[:4]
    assert np.array_equal(again.predict(menus), fitted.predict(menus))
    assert np.array_equal(again.demand(menus).lower, fitted.demand(menus).lower)
    assert np.array_equal(again.utilities().mean, fitted.utilities().mean)
    (tmp_path / "fit" / "arrays.npz").write_bytes(b"torn")
    with pytest.raises(sp.UnreadableData, match=r"arrays\.npz"):
        sp.load_fit(tmp_path / "fit")


ALWAYS = np.ones((30, 4))
HARD = {
    "nobody buys anything": sp.Observations(ALWAYS, np.full(30, 2.0), 0 * ALWAYS),
    "one observation": market(4, 1),
    "fewer observations than goods": market(12, 5),
    "two goods": market(2, 60, 3.0, "uniform"),
    "identical rows": sp.Observations(
        np.tile([1.0, 2.0, 1.5], (50, 1)), np.full(50, 2.0), np.tile([1.0, 0.0, 2 / 3], (50, 1))
    ),
    "a good never on offer": sp.Observations(
        np.where(np.arange(4) == 2, np.inf, market(4, 80).prices),
        market(4, 80).budgets,
        sp.choose(
            sp.VonMisesFisher(truth(4), 5.0).sample(80, rng=np.random.default_rng(0)),
            np.where(np.arange(4) == 2, np.inf, market(4, 80).prices),
            market(4, 80).budgets,
        ),
    ),
    "nothing revealed": sp.Observations(ALWAYS, np.zeros(30), 0 * ALWAYS),
    "prices in millions": sp.Observations(market().prices * 1e6, market().budgets * 1e6, market().bundles),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_data_give_an_honest_posterior(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sp.HeterogeneousUtility(n_draws=150, n_effective=50, max_draws=2000, random_state=0).fit(HARD[name])
    directions, concentrations = draws_of(model)
    n = directions.shape[2]
    assert np.isfinite(directions).all()
    assert np.isfinite(concentrations).all()
    assert concentrations.min() >= 0.0
    assert concentrations.max() <= 20 * n
    str(model.summary())
    assert np.isfinite(model.demand(HARD[name].menus[:1]).mean).all()
    if name in ("two goods", "prices in millions"):
        assert model.is_identified_
    else:
        assert not model.is_identified_
        assert any(issubclass(item.category, sp.NotIdentified) for item in caught)


def test_units_of_money_do_not_matter(data: sp.Observations) -> None:
    scaled = sp.Observations(data.prices * 2.0**20, data.budgets * 2.0**20, data.bundles)
    settings = {"sampler": "gibbs", "n_draws": 20, "n_effective": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one = draws_of(sp.HeterogeneousUtility(**settings).fit(data))
        two = draws_of(sp.HeterogeneousUtility(**settings).fit(scaled))
    assert np.allclose(one[0], two[0], atol=1e-6)


def test_concentration_at_its_bound_is_said(data: sp.Observations) -> None:
    with pytest.warns(sp.NotIdentified, match="upper bound"):
        model = sp.HeterogeneousUtility((0.5, 2.0), n_draws=200, n_effective=50, random_state=0).fit(data)
    assert draws_of(model)[1].max() <= 2.0
    assert not model.is_identified_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concentration_bounds": (3, 1)}, "0 <= lower < upper"),
        ({"concentration_bounds": (0, np.inf)}, "0 <= lower < upper"),
        ({"concentration_bounds": 4}, "two numbers"),
        ({"sampler": "nuts"}, "sampler must be one of"),
        ({"n_chains": 0}, "n_chains"),
        ({"n_draws": 1.5}, "n_draws"),
        ({"n_effective": -1}, "n_effective"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"random_state": -1}, "random_state"),
        ({"prior": 3}, "prior"),
        ({"prior": lambda mu, kappa: float("nan"), "sampler": "gibbs"}, "finite log-density"),
        ({"degenerate": "keep"}, "degenerate"),
        ({"metropolis": 3}, "metropolis"),
    ],
)
def test_bad_settings(settings: dict, message: str, data: sp.Observations) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.HeterogeneousUtility(**settings).fit(data)


def test_bad_data_and_order_of_calls(data: sp.Observations, fitted: sp.HeterogeneousUtility) -> None:
    with pytest.raises(sp.InvalidArgument, match="must be Observations"):
        sp.HeterogeneousUtility().fit(data.prices)
    with pytest.raises(sp.InvalidArgument, match="two goods"):
        sp.HeterogeneousUtility().fit(sp.Observations([[1.0]], [1.0], [[1.0]]))
    with pytest.raises(Exception, match="not fitted"):
        sp.HeterogeneousUtility().predict(data.menus)
    with pytest.raises(sp.InvalidArgument, match="level"):
        fitted.demand(data.menus[:1], level=90)
    with pytest.raises(sp.InvalidArgument, match="n_customers"):
        fitted.demand(data.menus[:1], n_customers=0)
    with pytest.raises(sp.InvalidArgument, match="n_draws"):
        fitted.demand(data.menus[:1], n_draws=0)
    with pytest.raises(sp.InvalidArgument, match="goods must be among"):
        fitted.elasticities(data.menus[:1], goods=["nonsuch"])
