# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""CommonUtility: the estimator's contract, hard and degenerate data, saving, and the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.consensus.effort import Effort
from stochpref.paper.annealing import Annealing

LAWS = ("uniform", "discrete", "fixed")


def market(n: int, T: int, delta: float, law: str = "uniform", seed: int = 0) -> tuple[sp.Observations, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    u = (u if u.max() > 0 else -u) / np.linalg.norm(u)
    return sp.simulate(sp.CorruptedUtilityLaw(u, delta), sp.MenuLaw(law), T, rng=rng), u


@pytest.fixture(scope="module")
def data() -> sp.Observations:
    return market(6, 300, 0.2, seed=1)[0]


@pytest.fixture(scope="module")
def fitted(data: sp.Observations) -> sp.CommonUtility:
    return sp.CommonUtility(random_state=0).fit(data)


def test_contract_of_an_estimator(data: sp.Observations) -> None:
    model = sp.CommonUtility(margin=0.01, centre="vertex", random_state=3)
    assert model.get_params()["margin"] == 0.01
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert repr(model) == "CommonUtility(centre='vertex', margin=0.01, random_state=3)"
    assert model.set_params(margin=0.0) is model
    assert model.fit(data) is model
    with pytest.raises(Exception, match="not fitted"):
        twin.predict(data.menus)


def test_what_is_learned(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    held = sp.Regions.of(data).contains(fitted.utility_, strict=True)
    np.testing.assert_array_equal(fitted.consistent_, held)
    assert fitted.n_consistent_ == held.sum() == fitted.upper_bound_
    assert fitted.is_optimal_
    assert np.linalg.norm(fitted.utility_) == pytest.approx(1.0)
    assert fitted.corruption_ == pytest.approx(1 - held.mean())
    low, high = fitted.corruption_interval_
    assert low < fitted.corruption_ < high
    assert fitted.consistency(data) == pytest.approx(held.mean())
    assert (fitted.excluded_by_[held] == -1).all()
    assert held[fitted.excluded_by_[~held]].all()
    lower, upper = fitted.utility_interval_.T
    assert (lower <= upper).all()
    assert ((lower <= fitted.utility_) & (fitted.utility_ <= upper)).mean() > 0.6


def test_the_score_is_that_of_every_model_and_says_so(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    with pytest.warns(FutureWarning, match=r"share of observations explained.* is CommonUtility.consistency"):
        score = fitted.score(data)
    assert score == pytest.approx(fitted.log_likelihood(data).mean())


def test_same_seed_same_fit(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    again = sp.CommonUtility(random_state=0).fit(data)
    np.testing.assert_array_equal(again.utility_, fitted.utility_)
    other = sp.CommonUtility(random_state=np.random.default_rng(0)).fit(data)
    np.testing.assert_array_equal(other.utility_, fitted.utility_)
    assert other.seed_ is None
    assert sp.CommonUtility().fit(data).n_consistent_ == fitted.n_consistent_


@pytest.mark.parametrize("law", LAWS)
def test_recovers_the_common_utility(law: str) -> None:
    observations, u = market(10, 600, 0.1, law, seed=7)
    model = sp.CommonUtility(random_state=0).fit(observations)
    assert model.is_optimal_
    assert model.n_consistent_ >= sp.Regions.of(observations).contains(u, strict=True).sum()
    new = sp.simulate(sp.CorruptedUtilityLaw(u, 0.0), sp.MenuLaw(law), 5000, rng=np.random.default_rng(8))
    assert model.consistency(new) > 0.98
    assert sp.accuracy(u, model.utility_, new.prices, new.budgets) > 0.999


@pytest.mark.parametrize("centre", ["bayes", "chebyshev", "vertex"])
def test_centres_have_the_same_count(centre: str, data: sp.Observations, fitted: sp.CommonUtility) -> None:
    model = sp.CommonUtility(centre=centre, random_state=0).fit(data)
    assert model.n_consistent_ == fitted.n_consistent_


def test_prediction_matches_goods_by_name(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    bundles = fitted.predict(data.menus)
    np.testing.assert_allclose(bundles[fitted.consistent_], data.bundles[fitted.consistent_], atol=1e-9)
    np.testing.assert_array_equal(bundles, fitted.predict(data.prices, data.budgets))
    order = [3, 1, 5, 0, 4, 2]
    menus = sp.Menus(data.prices[:, order], data.budgets, goods=[data.goods[i] for i in order])
    np.testing.assert_array_equal(fitted.predict(menus), bundles[:, order])
    with pytest.raises(sp.InvalidArgument, match=r"among those of the fit.*'tea'"):
        fitted.predict(sp.Menus([[1.0]], [1.0], goods=["tea"]))
    with pytest.raises(sp.InvalidArgument, match="prices and budgets"):
        fitted.predict(data.prices)


def test_demand_is_what_the_utility_buys(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    found = fitted.demand(data.menus, level=0.8, n_customers=3, n_draws=2)
    bundles = sp.choose(fitted.utility_, data.prices, data.budgets)
    for values in (found.mean, found.lower, found.upper):
        np.testing.assert_array_equal(values, bundles)
    np.testing.assert_array_equal(found.standard_error, 0.0)
    np.testing.assert_allclose(found.revenue, np.sum(bundles * data.prices, axis=1))
    np.testing.assert_array_equal(found.mean, fitted.predict(data.menus))
    assert " to " not in str(found)
    # One good on offer, and money for half of it: what is spent stays, so demand goes as one over the price.
    best = int(np.argmax(fitted.utility_))
    prices = np.where(np.arange(6) == best, 2.0, np.inf)
    elasticities = fitted.elasticities(prices, 1.0)
    assert elasticities.mean[best, best] == pytest.approx(-1.0)
    assert np.isfinite(elasticities.mean).sum() == 1


def test_explanations(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    for t in range(len(data)):
        why = fitted.explain(t)
        assert why.is_consistent == fitted.consistent_[t]
        assert bool(why.at_odds) == (not why.is_consistent)
        assert all(item.gap >= 0 for item in why.at_odds)
        assert "consistent" in str(why) or f"observation {t + 1} is odd" in str(why)
    odd = int(np.flatnonzero(~fitted.consistent_)[0])
    assert f"together with observation {fitted.excluded_by_[odd] + 1}" in str(fitted.explain(odd))
    assert str(fitted.explain(odd, data[: odd + 1])).startswith(f"observation {odd + 1} is odd")
    with pytest.raises(sp.InvalidArgument, match="t must be a whole number between 0 and 299"):
        fitted.explain(300)


def test_contradiction_is_named() -> None:
    """The same menu, the other good: these two cannot both hold."""
    observations = sp.Observations([[1.0, 2.0], [1.0, 2.0]], [1.0, 1.0], [[1.0, 0.0], [0.0, 0.5]])
    model = sp.CommonUtility(random_state=0).fit(observations)
    assert (model.n_consistent_, model.upper_bound_) == (1, 1)
    odd = int(np.flatnonzero(~model.consistent_)[0])
    assert model.excluded_by_[odd] == 1 - odd
    assert f"observation {odd + 1} cannot hold together with observation {2 - odd}" in str(model.summary())


def test_three_that_contradict_each_other_are_all_named() -> None:
    """Good 0 before 1, 1 before 2, 2 before 0: every two can hold, not all three."""
    inf = np.inf
    prices, bundles = [[1, 1, inf], [inf, 1, 1], [1, inf, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    model = sp.CommonUtility(random_state=0).fit(sp.Observations(prices, [1.0] * 3, bundles))
    odd = int(np.flatnonzero(~model.consistent_)[0])
    others = sorted({0, 1, 2} - {odd})
    assert (model.n_consistent_, model.upper_bound_) == (2, 2)
    assert model.explain(odd).excluded_by == tuple(others)
    assert f"observations {others[0] + 1}, {others[1] + 1}" in str(model.explain(odd))


@pytest.mark.parametrize("margin", [0.001, 0.02, "theorem"])
def test_margins(margin: float | str, data: sp.Observations, fitted: sp.CommonUtility) -> None:
    model = sp.CommonUtility(margin=margin, random_state=0).fit(data)
    held = sp.Regions.of(data).contains(model.utility_, margin=model.margin_, strict=True)
    np.testing.assert_array_equal(model.consistent_, held)
    assert held.sum() <= model.upper_bound_ <= fitted.upper_bound_
    assert held.sum() >= sp.Regions.of(data).contains(fitted.utility_, margin=model.margin_, strict=True).sum()
    if margin == "theorem":
        assert model.margin_ == pytest.approx(1 / (4 * 36 * 300**0.25))
        assert held.sum() >= 0.97 * fitted.n_consistent_
    assert model.utility_interval_ is None


def test_a_margin_wider_than_any_region(data: sp.Observations) -> None:
    model = sp.CommonUtility(margin=2.0, random_state=0).fit(data)
    assert (model.n_consistent_, model.upper_bound_, model.is_optimal_) == (0, 0, True)


def test_annealing_is_the_reference(data: sp.Observations, fitted: sp.CommonUtility) -> None:
    settings = Annealing(n_steps=500)
    model = sp.CommonUtility(solver="annealing", annealing=settings, random_state=0).fit(data)
    assert model.n_consistent_ <= fitted.n_consistent_
    assert model.upper_bound_ == len(data)
    assert not model.is_optimal_
    assert model.last_utility_ is not None


def everything_alike(x: list[float], b: float, n_rows: int = 5) -> sp.Observations:
    n = len(x)
    return sp.Observations(np.tile(np.arange(1.0, n + 1), (n_rows, 1)), np.full(n_rows, b), np.tile(x, (n_rows, 1)))


EDGES = {
    "one observation": everything_alike([1.0, 0.5, 0.0], 2.0, 1),
    "one good left": everything_alike([0.0], 3.0),
    "nothing bought": everything_alike([0.0, 0.0], 9.0),
    "no money": everything_alike([0.0, 0.0], 0.0),
    "a good never on offer": sp.Observations([[1.0, np.inf, 2.0]] * 3, [1.0] * 3, [[1.0, 0.0, 0.0]] * 3),
    "no good on offer": sp.Observations([[np.inf, np.inf]], [1.0], [[0.0, 0.0]]),
    "prices far apart": sp.Observations([[1e-100, 1e100], [1e100, 1e-100]], [5e99] * 2, [[1.0, 0.5], [0.5, 1.0]]),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("centre", ["bayes", "chebyshev", "vertex"])
def test_edges(name: str, centre: str) -> None:
    observations = EDGES[name]
    model = sp.CommonUtility(centre=centre, random_state=0).fit(observations)
    assert model.consistent_.all(), name
    assert model.is_optimal_
    assert np.isfinite(model.utility_).all()
    assert str(model.summary())
    assert model.explain(0).is_consistent
    assert sp.CommonUtility(margin=1e-6, random_state=0).fit(observations).upper_bound_ <= len(observations)


@pytest.mark.parametrize(("bundle", "budget"), [([1.0], 3.0), ([0.4], 0.4), ([1.0] * 3, 9.0), ([1.0] * 3, 6.0)])
def test_menus_that_are_baskets_are_refused(bundle: list[float], budget: float) -> None:
    """Any utility that wants everything explains them all: a proof of optimality would be one of nothing."""
    with pytest.raises(sp.InvalidObservations, match="every good on offer was bought, in every observation"):
        sp.CommonUtility(random_state=0).fit(everything_alike(bundle, budget))


def test_degenerate_observations_are_refused_or_dropped() -> None:
    observations, _ = market(3, 20, 0.0, seed=2)
    bundles = observations.bundles.copy()
    bundles[[4, 9]] = [0.01, 0.01, 0.0]
    spoiled = sp.Observations(observations.prices, observations.budgets, bundles)
    with pytest.raises(sp.InvalidObservations, match=r"2 of 20 are \(rows 4, 9\).*degenerate='drop'") as caught:
        sp.CommonUtility().fit(spoiled)
    assert caught.value.rows == (4, 9)
    model = sp.CommonUtility(degenerate="drop", random_state=0).fit(spoiled)
    assert model.n_dropped_ == 2
    assert model.n_consistent_ == model.upper_bound_ == 18
    assert np.flatnonzero(~model.consistent_).tolist() == [4, 9]
    assert model.corruption_ == 0.0
    assert "degenerate" in str(model.explain(4))
    with pytest.raises(sp.InvalidObservations, match="nothing else is left"):
        sp.CommonUtility(degenerate="drop").fit(spoiled[[4, 9]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "magic"}, "solver must be one of certified, annealing; received 'magic'"),
        ({"centre": "mean"}, "centre must be one of"),
        ({"degenerate": "keep"}, "degenerate must be 'refuse' or 'drop'"),
        ({"margin": -1.0}, "margin must be finite and not negative"),
        ({"margin": "wide"}, "'theorem'; received 'wide'"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str, data: sp.Observations) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.CommonUtility(**options).fit(data)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidArgument, match="must be Observations"):
        sp.CommonUtility().fit(data.prices)


def test_saved_fits_come_back(tmp_path: Path, data: sp.Observations) -> None:
    model = sp.CommonUtility(random_state=5, effort=Effort(n_chains=2)).fit(data)
    model.save(tmp_path / "fit")
    back = sp.load_fit(tmp_path / "fit")
    np.testing.assert_array_equal(back.utility_, model.utility_)
    np.testing.assert_array_equal(back.consistent_, model.consistent_)
    assert back.get_params() == model.get_params()
    assert back.summary() == model.summary()
    odd = int(np.flatnonzero(~model.consistent_)[0])
    assert str(back.explain(odd, data)) == str(back.explain(odd)) == str(model.explain(odd))
    header = json.loads((tmp_path / "fit" / "fit.json").read_text())
    assert header["seed"] == 5
    assert header["version"] == sp.__version__
    (tmp_path / "fit" / "learned.json").write_text("{}")
    with pytest.raises(sp.UnreadableData, match="does not belong to"):
        sp.load_fit(tmp_path / "fit")
    with pytest.raises(sp.UnreadableData, match="not a saved fit"):
        sp.load_fit(tmp_path)


def test_accuracy_and_consistency() -> None:
    prices, budgets = [[1.0, 1.0]], [1.0]
    assert sp.accuracy([1.0, 0.5], [1.0, 0.5], prices, budgets) == 1.0
    assert sp.accuracy([1.0, 0.5], [0.5, 1.0], prices, budgets) == 0.5
    assert np.isnan(sp.accuracy([-1.0, -0.5], [0.5, 1.0], prices, budgets))
    pooled = sp.accuracy([[1.0, 0.5], [0.2, 0.1]], [[0.5, 1.0], [0.2, 0.1]], prices, budgets)
    assert pooled == pytest.approx((0.5 + 0.2) / (1.0 + 0.2))
    observations = sp.Observations([[1.0, 1.0]] * 2, [1.0] * 2, [[1.0, 0.0], [0.0, 1.0]])
    assert sp.consistency([2.0, 1.0], observations) == 0.5
    assert sp.consistency([1.0, 1.0], observations) == 0.0


@pytest.fixture
def purchases(tmp_path: Path, data: sp.Observations) -> Path:
    sp.write_observations(data, tmp_path / "purchases.csv")
    return tmp_path / "purchases.csv"


def run(*arguments: object):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_command_line_fits(tmp_path: Path, purchases: Path, fitted: sp.CommonUtility) -> None:
    shown = run(
        "fit", purchases, "--model", "common", "--out", tmp_path / "fit", "--odd", tmp_path / "odd.csv", "--json"
    )
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert (told["n_consistent"], told["is_optimal"], told["seed"]) == (fitted.n_consistent_, True, 0)
    np.testing.assert_allclose(sp.load_fit(tmp_path / "fit").utility_, fitted.utility_)
    rows = list(csv.DictReader((tmp_path / "odd.csv").read_text().splitlines()))
    assert {int(row["observation"]) - 1 for row in rows} == set(np.flatnonzero(~fitted.consistent_).tolist())
    plain = run("fit", purchases, "--model", "common", "--out", tmp_path / "fit", "--require-optimal")
    assert plain.exit_code == 0
    assert "proven optimal" in plain.stdout


def test_command_line_exit_codes(tmp_path: Path, purchases: Path) -> None:
    arguments = ("fit", purchases, "--model", "common", "--solver", "annealing", "--out", tmp_path / "fit")
    assert run(*arguments).exit_code == 0
    unproven = run(*arguments, "--require-optimal")
    assert unproven.exit_code == 3
    assert "not proven optimal" in unproven.stderr
    assert run("fit", tmp_path / "none.csv", "--out", tmp_path / "fit").exit_code == 2
    assert run(*arguments, "--margin", "wide").exit_code == 2


@pytest.mark.parametrize("n", [30, 31, 60])
def test_every_number_of_linked_goods_has_a_centre(n: int) -> None:
    rng = np.random.default_rng(0)
    prices, budgets = rng.uniform(1, 2, (400, n)), rng.uniform(1, n, 400)
    observations = sp.Observations(prices, budgets, sp.choose(np.abs(rng.standard_normal(n)), prices, budgets))
    assert sp.CommonUtility(random_state=0).fit(observations).is_optimal_


def test_a_large_margin_is_searched_with_the_right_count() -> None:
    """Counting with the margin of the vector before the move claimed 14 where 9 held."""
    rng = np.random.default_rng(22)
    prices = rng.uniform(1, 2, (40, 3))
    budgets = prices.sum(axis=1) * rng.uniform(0.1, 0.9, 40)
    is_odd = rng.random(40) < 0.3
    utilities = np.where(is_odd[:, None], rng.standard_normal((40, 3)), [0.6, 0.6, 0.5])
    observations = sp.Observations(prices, budgets, sp.choose(utilities, prices, budgets))
    regions = sp.Regions.of(observations)
    best = regions.contains(rng.standard_normal((20_000, 3)), margin=0.2, strict=True).sum(axis=1).max()
    for seed in range(6):
        assert sp.CommonUtility(margin=0.2, random_state=seed).fit(observations).n_consistent_ >= best


def test_bad_settings_and_edited_fits_are_refused(tmp_path: Path, data: sp.Observations) -> None:
    with pytest.raises(sp.InvalidArgument, match="effort must be an Effort"):
        sp.CommonUtility(effort=5).fit(data)
    with pytest.raises(sp.InvalidArgument, match="core_size of Effort must be at least 1"):
        Effort(core_size=-1)
    model = sp.CommonUtility(random_state=0).fit(data)
    with pytest.raises(sp.InvalidArgument, match="whole number"):
        model.explain(1.5)  # type: ignore[arg-type]
    model.save(tmp_path / "fit")
    header = json.loads((tmp_path / "fit" / "fit.json").read_text())
    for name in ("files", "settings", "data", "seed"):
        kept = {key: value for key, value in header.items() if key != name}
        (tmp_path / "fit" / "fit.json").write_text(json.dumps(kept))
        with pytest.raises(sp.UnreadableData, match=f"lacks {name}"):
            sp.load_fit(tmp_path / "fit")
    header["settings"]["flavour"] = "vanilla"
    (tmp_path / "fit" / "fit.json").write_text(json.dumps(header))
    with pytest.raises(sp.UnreadableData, match="changed by hand"):
        sp.load_fit(tmp_path / "fit")
    (tmp_path / "fit" / "learned.json").unlink()
    with pytest.raises(sp.UnreadableData, match=r"incomplete: fit.json is there and learned.json is not"):
        sp.load_fit(tmp_path / "fit")


def test_odd_customers_are_named_as_in_the_file(tmp_path: Path) -> None:
    rows = ["observation,good,price,quantity,budget"]
    for name, bought in (("Z9", (1, 0)), ("A1", (0, 1)), ("Q", (1, 0))):
        rows += [f"{name},tea,1,{bought[0]},1", f"{name},rum,1,{bought[1]},1"]
    (tmp_path / "p.csv").write_text("\n".join(rows) + "\n")
    result = CliRunner().invoke(
        cli.app,
        [
            "fit",
            str(tmp_path / "p.csv"),
            "--model",
            "common",
            "--out",
            str(tmp_path / "fit"),
            "--odd",
            str(tmp_path / "odd.csv"),
        ],
    )
    assert result.exit_code == 0
    assert "observation A1 cannot hold together with observation" in result.stdout
    with (tmp_path / "odd.csv").open() as stream:
        assert {row["observation"] for row in csv.DictReader(stream)} == {"A1"}


def test_bad_rows_can_be_left_out_of_a_fit(tmp_path: Path) -> None:
    rows = ["observation,good,price,quantity,budget", "1,tea,1,1,1", "1,rum,1,0,1", "2,tea,1,1,1", "2,rum,1,1,1"]
    (tmp_path / "p.csv").write_text("\n".join(rows) + "\n")
    command = ["fit", str(tmp_path / "p.csv"), "--out", str(tmp_path / "fit")]
    assert CliRunner().invoke(cli.app, command).exit_code == 2
    assert CliRunner().invoke(cli.app, [*command, "--skip-bad"]).exit_code == 0
    assert sp.load_fit(tmp_path / "fit").n_observations_ == 1
