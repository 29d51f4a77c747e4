"""Menus that teach most, what they must respect, and the check beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import stochpref as sp
from stochpref import cli
from stochpref.design import sequential
from stochpref.design.bundles import expected_information, optimal_bundles
from stochpref.design.check import UNLEARNABLE, _signs
from stochpref.design.criteria import Criterion, gradient, loss, make_criterion, optimal_weights, sensitivity
from stochpref.design.information import (
    angle_variance,
    draw_customers,
    forecast_angle,
    menu_moments,
    possible_purchases,
    relative_information,
    reliable_observations,
)
from stochpref.mass.masses import exact_log_mass, vmf_covariance

QUICK = sp.DesignEffort(n_candidates=40, n_draws=64, n_rounds=1, n_generations=2, n_offspring=8)
MU = np.array([0.7, 0.5, 0.4, 0.3])
MU /= np.linalg.norm(MU)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_listed_and_drawn_information_agree() -> None:
    rng = np.random.default_rng(0)
    h, menus = 6.0 * MU, sp.MenuLaw("uniform").sample(3, 4, rng=rng)
    listed = expected_information(menus, h)
    drawn = menu_moments(menus, h, draw_customers(h, 0, rng)).information.sum(axis=0)
    assert np.abs(drawn - listed).max() < 0.001 * np.abs(listed).max()
    few = menu_moments(menus, h, draw_customers(h, 0, rng)[:60]).information.sum(axis=0)
    assert np.abs(few - listed).max() < 0.4 * np.abs(listed).max()


def test_slope_of_demand_is_a_derivative() -> None:
    rng, step = np.random.default_rng(1), 1e-4
    h, menus = 6.0 * MU, sp.MenuLaw("discrete").sample(1, 4, rng=rng)

    customers = draw_customers(h, 0, rng)
    bundles = optimal_bundles(menus)

    def demand(at: np.ndarray) -> np.ndarray:
        return np.exp(exact_log_mass(sp.Regions.of(bundles), at).log_mass) @ bundles.bundles

    slope = menu_moments(menus, h, customers).demand_slope[0]
    for j in range(4):
        change = (demand(h + step * np.eye(4)[j]) - demand(h - step * np.eye(4)[j])) / (2 * step)
        assert slope[:, j] == pytest.approx(change, abs=1e-3)


def test_information_of_signs_is_near_one_bit_a_good() -> None:
    mu = np.random.default_rng(2).standard_normal(10)
    h = 5.0 * mu / np.linalg.norm(mu)
    customers = draw_customers(h, 3000, np.random.default_rng(3))
    share = relative_information(menu_moments(sp.sign_menus(10, 1), h, customers).information[0], h)
    assert share == pytest.approx(0.63, abs=0.02)


def test_sensitivity_is_one_on_average_and_the_gradient_of_the_loss() -> None:
    rng = np.random.default_rng(4)
    roots = rng.standard_normal((12, 2, 4, 4))
    information = roots @ roots.swapaxes(-1, -2)
    laws = np.stack([5.0 * MU, 3.0 * MU[::-1]])
    for criterion in (Criterion("d", None), make_criterion("a", laws, None)):
        weights = optimal_weights(criterion, information)
        total = np.tensordot(weights, information, 1)
        rates = sensitivity(gradient(criterion, total), information)
        assert float(weights @ rates) == pytest.approx(1.0, abs=1e-6)
        assert rates.max() < 1.02
        change = loss(criterion, total + 1e-6 * information[3]) - loss(criterion, total)
        assert change / 1e-6 == pytest.approx(-rates[3], rel=1e-3)
        for _ in range(5):
            other = rng.dirichlet(np.ones(12))
            assert loss(criterion, np.tensordot(other, information, 1)) > loss(criterion, total) - 1e-3


@pytest.mark.parametrize("criterion", ["d", "a", "prediction"])
def test_a_design_beats_the_laws(criterion: str) -> None:
    h, rng = 20.0 * MU, np.random.default_rng(5)
    targets = sp.MenuLaw("uniform").sample(6, 4, rng=rng)
    design = sp.optimal_menus(
        4, 20, rng=rng, mean_direction=MU, concentration=20.0, criterion=criterion, targets=targets, effort=QUICK
    )
    customers = draw_customers(h, 0, rng)
    goal = make_criterion(criterion, h[None], [menu_moments(targets, h, customers)])

    def value(menus: sp.Menus) -> float:
        return float(loss(goal, menu_moments(menus, h, customers).information.mean(axis=0)[None]))

    rivals = [sp.MenuLaw(law).sample(60, 4, rng=rng) for law in ("uniform", "discrete", "fixed")]
    assert value(design.menus) < min(value(menus) for menus in [*rivals, sp.sign_menus(4, 1)])
    assert len(design.menus) == 20
    assert 0.5 < design.efficiency_bound <= 1
    assert design.efficiency <= 1
    assert f"of any mixture of {design.n_judged} menus, the best of {design.n_tried} tried" in str(design)
    # Twenty menus of four goods are too few for a forecast, whatever the information says.
    assert design.n_reliable > 48 - 1e-9
    assert design.angle == np.inf
    assert f"no forecast below {design.n_reliable:,.0f} observations" in str(design)


def test_limits_are_kept() -> None:
    goods = ["tea", "milk", "rum", "gin"]
    limits = sp.MenuLimits(
        budget=(1.5, 4.0), lowest_price=[0.5, 0.5, 1.0, 1.0], highest_price=2.0, always_offered=["rum"], price_step=0.25
    )
    menus = sp.optimal_menus(
        goods, 30, rng=np.random.default_rng(6), mean_direction=[MU, -MU], concentration=[4.0, 8.0], limits=limits,
        effort=QUICK,
    ).menus  # fmt: skip
    offered = np.isfinite(menus.prices)
    assert offered[:, 2].all()
    prices = menus.prices[offered]
    assert np.allclose(prices / 0.25, np.round(prices / 0.25))
    assert np.all(np.where(offered, menus.prices, 2.0) <= 2.0)
    assert np.all(np.where(offered, menus.prices, 9.0) >= [0.5, 0.5, 1.0, 1.0])
    assert np.all((menus.budgets >= 1.5) & (menus.budgets <= 4.0))
    assert menus.goods == tuple(goods)


def test_the_same_seed_gives_the_same_menus() -> None:
    first, second = (
        sp.optimal_menus(goods, 8, rng=np.random.default_rng(7), effort=QUICK, limits=sp.MenuLimits(budget=money)).menus
        for goods, money in ((3, (1.0, 2.0)), (np.int64(3), [1, 2]))
    )
    assert np.array_equal(first.prices, second.prices)
    assert np.array_equal(first.budgets, second.budgets)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (sp.MenuLimits(lowest_price=3.0, highest_price=2.0), "widen the range"),
        (sp.MenuLimits(lowest_price=1.1, highest_price=1.4, price_step=0.5), "price_step"),
        (sp.MenuLimits(budget=0.0), "budget must be positive"),
        (sp.MenuLimits(budget=(3.0, 1.0)), "range"),
        (sp.MenuLimits(always_offered=["gin"]), "no 'gin'"),
        (sp.MenuLimits(price_step=-1.0), "price_step must be positive"),
        (sp.MenuLimits(caps=np.inf), "caps must be positive and finite"),
        (sp.MenuLimits(highest_price=np.inf), "highest_price must be positive and finite"),
        (sp.MenuLimits(budget=[1.0, 2.0, 3.0]), "budget must be positive"),
        (sp.MenuLimits(lowest_price=[1.0, 2.0]), "one for each of 3"),
    ],
)
def test_impossible_limits_say_so(limits: sp.MenuLimits, words: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=words):
        sp.optimal_menus(3, 5, rng=np.random.default_rng(0), limits=limits)


def test_impossible_beliefs_say_so() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(sp.InvalidArgument, match="two or more"):
        sp.optimal_menus(1, 5, rng=rng)
    with pytest.raises(sp.InvalidArgument, match="no common direction"):
        sp.optimal_menus(3, 5, rng=rng, concentration=0.0)
    with pytest.raises(sp.InvalidArgument, match="length 1"):
        sp.optimal_menus(2, 5, rng=rng, mean_direction=[1.0, 1.0])
    with pytest.raises(sp.InvalidArgument, match="criterion must be one of"):
        sp.optimal_menus(2, 5, rng=rng, criterion="e")
    with pytest.raises(sp.InvalidArgument, match="n_menus"):
        sp.optimal_menus(2, 0, rng=rng)
    for held in (np.eye(3), np.zeros((2, 2, 2)), np.full((2, 2), np.nan)):
        with pytest.raises(sp.InvalidArgument, match=r"held must be \(2, 2\) or \(1, 2, 2\) finite"):
            sp.optimal_menus(2, 5, rng=rng, mean_direction=[1.0, 0.0], held=held)
    for goods in (2.0, "tea"):
        with pytest.raises(sp.InvalidArgument, match="goods must be their number, or a list of names"):
            sp.optimal_menus(goods, 5, rng=rng)  # type: ignore[arg-type]


def test_targets_are_matched_by_name() -> None:
    goods, law = ["tea", "milk", "rum"], {"mean_direction": [0.6, 0.48, 0.64], "concentration": 20.0}
    targets = sp.Menus([[1.0, 2.0, np.inf], [1.0, 0.5, np.inf]], [1.0, 1.2], goods=goods)
    shuffled = sp.Menus(targets.prices[:, [2, 0, 1]], targets.budgets, goods=["rum", "tea", "milk"])
    one, two = (
        sp.optimal_menus(
            goods, 6, rng=np.random.default_rng(1), criterion="prediction", targets=menus, effort=QUICK, **law
        )
        for menus in (targets, shuffled)
    )
    assert np.array_equal(one.menus.prices, two.menus.prices)
    with pytest.raises(sp.InvalidArgument, match=r"targets must be menus of the goods designed for.*'good1'"):
        sp.optimal_menus(
            goods, 6, rng=np.random.default_rng(1), criterion="prediction", targets=sp.sign_menus(3, 2), **law
        )


def test_a_budget_below_every_price_is_noted() -> None:
    limits = sp.MenuLimits(budget=1.0, lowest_price=1.5, highest_price=3.0)
    design = sp.optimal_menus(3, 5, rng=np.random.default_rng(8), limits=limits, effort=QUICK)
    assert "below the cost of every good" in str(design)


def test_check_finds_what_cannot_be_learnt() -> None:
    mu = np.array([0.9, 0.3, -0.3, 0.05, 0.0])
    mu /= np.linalg.norm(mu)
    prices = np.ones((4, 5))
    prices[:, 4] = np.inf
    found = sp.check_menus(sp.Menus(prices, [5.0] * 4), mu, 500.0, rng=np.random.default_rng(9))
    assert set(found.unlearnable) == {"good2", "good3", "good5"}
    assert "nobody wants it" in found.unlearnable["good3"]
    assert "not on offer" in found.unlearnable["good5"]
    assert "less money" in found.unlearnable["good2"]
    assert found.n_needed == np.inf
    assert len(found.open_directions) >= 3
    assert "3 goods cannot be learnt" in str(found)
    # No price helps a good that nobody wants.
    design = sp.optimal_menus(
        5, 10, rng=np.random.default_rng(10), mean_direction=mu, concentration=500.0, criterion="d", effort=QUICK
    )
    assert "good3" in sp.check_menus(design.menus, mu, 500.0, rng=np.random.default_rng(9)).unlearnable


def test_goods_are_measured_against_their_own_utility() -> None:
    # At κ = 500 the length along the mean varies a thousandth of what lies across, and is learnt all the same.
    design = sp.optimal_menus(
        2, 20, rng=np.random.default_rng(0), mean_direction=[1.0, 0.0], concentration=500.0, criterion="a"
    )
    found = sp.check_menus(design.menus, [1.0, 0.0], 500.0, rng=np.random.default_rng(1))
    assert found.unlearnable == {}
    assert np.all(found.good_shares > 0.05)


def test_what_a_sign_tells_is_what_its_menu_tells() -> None:
    h = np.array([3.0, -4.0, 1.0])
    alone = np.where(np.eye(3) == 1, 1.0, np.inf)
    regions = sp.Regions.of(sp.Observations(alone, [2.0] * 3, np.eye(3)))
    mass = exact_log_mass(regions, h, gradient=True)
    assert mass.gradient is not None
    wanted = np.exp(mass.log_mass)
    told = wanted * np.square(np.diag(mass.gradient)) / (1 - wanted) / np.diag(vmf_covariance(h))
    rarer, shares = _signs(h)
    assert rarer == pytest.approx(np.minimum(wanted, 1 - wanted), rel=1e-7)
    assert shares == pytest.approx(told, rel=1e-3)


def test_check_says_why_a_good_stays_open() -> None:
    law = sp.MenuLaw("uniform").sample(10, 3, rng=np.random.default_rng(2))
    unwanted = sp.check_menus(law, -np.ones(3) / np.sqrt(3), 50.0, rng=np.random.default_rng(1))
    assert len(unwanted.unlearnable) == 3
    assert all("nobody wants it" in reason for reason in unwanted.unlearnable.values())
    # Wanted by all, but never bought at this price: less money would not help.
    dear = sp.Menus([[1.0, 1.0, 100.0]] * 2, [1.5] * 2)
    found = sp.check_menus(dear, np.ones(3) / np.sqrt(3), 200.0, rng=np.random.default_rng(1))
    assert "move its price" in found.unlearnable["good3"]


def test_open_directions_are_those_with_small_shares() -> None:
    # One menu of 100 tells about good 3, which next to everybody wants: little, but much against how little the length
    # along the mean varies.
    kappa, mu = 500.0, np.array([0.0, 0.0, 3 / np.sqrt(500)])
    mu[0] = np.sqrt(1 - mu[2] ** 2)
    prices = np.full((100, 3), np.inf)
    prices[:99, 1], prices[99, 2] = 1.0, 1.0
    menus = sp.Menus(prices, [2.0] * 100)
    found = sp.check_menus(menus, mu, kappa, rng=np.random.default_rng(3))
    assert found.shares[1] > 1e-4
    assert np.sum(found.shares < UNLEARNABLE) == len(found.open_directions) == 2
    information, covariance = expected_information(menus, kappa * mu) / 100, vmf_covariance(kappa * mu)
    for v in found.open_directions:
        assert np.linalg.norm(v) == pytest.approx(1.0)
        assert v @ information @ v < UNLEARNABLE * (v @ covariance @ v)


def test_the_upper_bound_takes_the_root_mean_square_width() -> None:
    # The same information from bundles ten times as wide: widths √2 and 10√2, half of the menus each.
    narrow = sp.sign_menus(2, 2)
    mixed = sp.Menus([[1.0, 1.0], [0.1, 0.1]], [2.0, 2.0], caps=[[1.0, 1.0], [10.0, 10.0]])
    mu = np.array([0.8, -0.6])
    one, two = (sp.check_menus(menus, mu, 4.0, rng=np.random.default_rng(4)) for menus in (narrow, mixed))
    assert two.equivalence_upper / one.equivalence_upper == pytest.approx(np.sqrt((1 + 100) / 2), rel=1e-6)
    assert two.equivalence_lower <= two.equivalence_upper


def test_check_of_a_good_set() -> None:
    menus = sp.MenuLaw("uniform").sample(60, 4, rng=np.random.default_rng(11))
    found = sp.check_menus(menus, MU, 5.0, rng=np.random.default_rng(12), n_simulated=4)
    assert found.rank == 4
    assert found.unlearnable == {}
    assert np.all((found.shares > 0.05) & (found.shares < 1))
    assert found.equivalence_lower < found.equivalence_upper
    assert found.equivalence_simulated is not None
    information = expected_information(menus, 5.0 * MU) / 60
    variance = angle_variance(information, 5.0 * MU)
    assert found.n_needed == pytest.approx(max(variance / np.tan(0.1) ** 2, found.n_reliable), rel=0.02)
    if np.isfinite(found.angle):
        assert found.angle == pytest.approx(forecast_angle(variance, 60), rel=0.02)
    assert json.dumps(found.as_dict())


def test_check_at_the_uniform_law_and_with_nonsense() -> None:
    menus, rng = sp.sign_menus(3, 4), np.random.default_rng(0)
    assert "no common direction" in str(sp.check_menus(menus, [1.0, 0.0, 0.0], 0.0, rng=rng))
    with pytest.raises(sp.InvalidArgument, match="target_angle"):
        sp.check_menus(menus, [1.0, 0.0, 0.0], 5.0, rng=rng, target_angle=0.0)
    with pytest.raises(sp.InvalidArgument, match="length 1"):
        sp.check_menus(menus, [1.0, 1.0, 0.0], 5.0, rng=rng)


def test_forecast_meets_simulation() -> None:
    """Forty fits; a forecast that forgets κ, or T, is off by more than a half."""
    h, rng = 5.0 * MU, np.random.default_rng(13)
    pool = sp.MenuLaw("uniform").sample(40, 4, rng=rng)
    purchases = possible_purchases(pool, h, draw_customers(h, 0, rng))
    variance = angle_variance(expected_information(pool, h) / 40, h)
    size = int(reliable_observations(purchases, h)) + 40
    errors = []
    for _ in range(40):
        fit = sp.fit_maximum_likelihood(
            sp.simulate(sp.VonMisesFisher(MU, 5.0), pool[rng.integers(40, size=size)], size, rng=rng)
        )
        errors.append(np.arccos(fit.mean_direction @ MU) ** 2)
    assert np.sqrt(np.mean(errors)) == pytest.approx(forecast_angle(variance, size), rel=0.3)


def test_sequential_design_learns() -> None:
    answers = np.random.default_rng(14)
    law = sp.VonMisesFisher(MU, 15.0)
    learnt = sp.learn_sequentially(
        lambda menus: sp.simulate(law, menus, len(menus), rng=answers),
        4, batch_sizes=[20, 40, 60], rng=np.random.default_rng(15), criterion="a", effort=QUICK,
    )  # fmt: skip
    assert len(learnt.observations) == 120
    assert len(learnt.designs) == 3
    assert learnt.designs[2].angle < learnt.designs[0].angle
    assert np.arccos(learnt.fit.mean_direction @ MU) < 0.2
    with pytest.raises(sp.InvalidArgument, match="batch_sizes"):
        sp.learn_sequentially(lambda menus: None, 4, batch_sizes=[], rng=answers)
    with pytest.raises(sp.InvalidArgument, match="respond_fn"):
        sp.learn_sequentially(
            lambda menus: sp.simulate(law, menus, len(menus), rng=answers)[:3],
            4, batch_sizes=[5], rng=answers, effort=QUICK,
        )  # fmt: skip


def test_the_working_estimate_exists_for_any_purchases() -> None:
    everything = sp.Observations(np.ones((5, 3)), [9.0] * 5, np.ones((5, 3)))
    found = sequential.estimate_working_law(everything, 5.0)
    assert np.isfinite(found.h).all()
    assert np.linalg.eigvalsh(found.information)[0] > 0


def test_command_line_designs_and_checks(tmp_path: Path) -> None:
    path = tmp_path / "plan" / "menus.csv"
    shown = run("design", "menus", "--goods", "tea,milk,rum", "--budget", 2, "--batch", 6, "--out", path, "--json")
    assert shown.exit_code == 0
    report = json.loads(shown.stdout)
    assert (report["n_menus"], report["criterion"], report["goods"]) == (6, "d", ["tea", "milk", "rum"])
    assert "seed 0" in shown.stderr
    menus = sp.read_menus(path)
    assert (len(menus), menus.goods) == (6, ("tea", "milk", "rum"))
    checked = run("design", "check", path, "--direction", "0.6,-0.2,0.5", "--concentration", 8)
    assert checked.exit_code == 0
    assert "rank                 3 of 3" in checked.stdout
    report = json.loads(run("design", "check", path, "--simulate", 2, "--json").stdout)
    assert report["equivalence_simulated"] > 0


def test_menus_survive_a_file(tmp_path: Path) -> None:
    menus = sp.Menus([[1.0, np.inf], [0.3, 2.0]], [1.5, 1 / 3], goods=["a b", "c"], caps=[1.0, 2.5])
    for name, layout in (("m.csv", "long"), ("m.parquet", "wide")):
        sp.write_menus(menus, tmp_path / name, layout=layout)
        back = sp.read_menus(tmp_path / name)
        assert np.array_equal(back.prices, menus.prices)
        assert np.array_equal(back.budgets, menus.budgets)
        assert np.array_equal(back.caps, menus.caps)
        assert back.goods == menus.goods
    with pytest.raises(sp.InvalidArgument, match="must be Menus"):
        sp.write_menus([1, 2], tmp_path / "x.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--goods", "1"], "two or more"),
        ([], "--goods is missing"),
        (["--goods", "3", "--budget", "x"], "--budget must be"),
        (["--goods", "3", "--concentration", "0"], "no common direction"),
        (["--goods", "3", "--budget", "2", "--lowest-price", "5"], "widen the range"),
        (["--goods", "3", "--highest-price", "inf"], "highest_price must be positive and finite"),
        (["--fit", "nowhere"], "not a saved fit"),
    ],
)
def test_command_line_refuses_with_a_message(arguments: list[str], words: str) -> None:
    shown = run("design", "menus", *arguments)
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_command_line_takes_a_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = sp.simulate(sp.VonMisesFisher(MU, 6.0), sp.MenuLaw("uniform"), 120, rng=rng)
    sp.HeterogeneousUtility(n_draws=100, n_effective=50, random_state=0).fit(data).save(tmp_path / "fit")
    path = tmp_path / "menus.csv"
    shown = run("design", "menus", "--fit", tmp_path / "fit", "--batch", 4, "--out", path)
    assert shown.exit_code == 0, shown.stderr
    assert sp.read_menus(path).goods == data.goods
    assert run("design", "check", path, "--fit", tmp_path / "fit").exit_code == 0
    assert run("design", "check", path, "--fit", tmp_path / "fit", "--direction", "1,1,1,1").exit_code == 2
    shown = run("design", "menus", "--fit", tmp_path / "fit", "--goods", "a,b")
    assert "differ from those of the fit" in shown.stderr
    sp.CommonUtility(random_state=0).fit(data).save(tmp_path / "common")
    assert "must be a heterogeneous fit" in run("design", "menus", "--fit", tmp_path / "common").stderr
