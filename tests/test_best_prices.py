"""Best prices: exact sweeps against brute force, slopes by another route, limits, refusals, what is held out."""

from __future__ import annotations

import itertools
import json
import warnings
from functools import cache
from html import unescape

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import stochpref as sp
from stochpref.decisions.limits import PriceLimits
from stochpref.decisions.profit import CompetingProfit, SeparateProfit
from stochpref.decisions.searching import find_prices
from stochpref.decisions.slopes import regret_of, slopes_at
from stochpref.decisions.sweeps import Crowd
from stochpref.market import LawMarket, make_crowds
from stochpref.problems import Divisible, OneOf, Open
from stochpref.report import page

mpl.use("agg")

N, SCALE = 3, 2.0
GOODS = ("tea", "rum", "jam")
MU = np.array([0.6, 0.45, 0.1, 0.6]) / np.linalg.norm([0.6, 0.45, 0.1, 0.6])
COSTS = {"tea": 0.5, "rum": 0.4, "jam": 0.3}


def shop(size: int, seed: int, *, mu: np.ndarray = MU, fixed: str = "") -> sp.Observations:
    rng = np.random.default_rng(seed)
    prices = rng.uniform(1.0, 3.0, (size, N))
    if fixed:
        prices[:, GOODS.index(fixed)] = 2.0
    menus = sp.Menus(prices, goods=GOODS, problem=Open(SCALE))
    return sp.simulate(sp.VonMisesFisher(mu, 7.0), menus, size, rng=rng)


def fit(data: sp.Observations) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(sampler="gibbs", n_draws=40, n_effective=0, random_state=0).fit(data)


@cache
def fitted() -> sp.HeterogeneousUtility:
    return fit(shop(150, 0))


def some_crowd(rng: np.random.Generator, n: int, size: int, *, with_budgets: bool = True) -> Crowd:
    worth = np.exp(rng.normal(0.3, 0.7, (size, n))) * np.where(rng.random((size, n)) < 0.1, -1.0, 1.0)
    budgets = rng.uniform(0.2, 3.0, 2) if with_budgets else np.full(2, np.inf)
    caps = rng.choice([0.0, 0.5, 1.0, 2.0], (2, n), p=[0.1, 0.1, 0.6, 0.2])
    weight = rng.random(size)
    weight /= weight.sum()
    return Crowd(worth, weight, np.zeros(size, np.int64), np.arange(size) % 2, budgets, caps, 1)


def spent_in_turn(worth: np.ndarray, prices: np.ndarray, costs: np.ndarray, money: float, caps: np.ndarray) -> float:
    """Return the profit from one customer, step by step."""
    total = 0.0
    for i in sorted(range(len(prices)), key=lambda j: -worth[j] / prices[j]):
        if worth[i] > prices[i]:
            bought = min(caps[i], money / prices[i])
            total, money = total + (prices[i] - costs[i]) * bought, money - prices[i] * bought
    return total


def by_hand(crowd: Crowd, prices: np.ndarray, costs: np.ndarray) -> float:
    own = zip(crowd.worth, crowd.budgets[crowd.menu], crowd.caps[crowd.menu], crowd.weight, strict=True)
    return sum(weight * spent_in_turn(worth, prices, costs, money, caps) for worth, money, caps, weight in own)


def breakpoints(crowd: Crowd, prices: np.ndarray, i: int) -> list[float]:
    """Return every price of good i at which what some customer buys may change its form."""
    n, found = len(prices), []
    for worth, money, caps in zip(crowd.worth, crowd.budgets[crowd.menu], crowd.caps[crowd.menu], strict=True):
        others = [j for j in range(n) if j != i]
        found += [worth[i], *(worth[i] * prices[j] / worth[j] for j in others)]
        if caps[i] > 0:
            found += [
                (money - sum(prices[j] * caps[j] for j in some)) / caps[i]
                for size in range(n)
                for some in itertools.combinations(others, size)
            ]
    return found


def test_sweeps_equal_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 5))
        crowd = some_crowd(rng, n, int(rng.integers(1, 10)))
        prices, costs, i = rng.uniform(0.5, 3.0, n), rng.uniform(0.0, 1.0, n), int(rng.integers(n))
        low, high = 0.3, 3.5

        def at(price: float, crowd: Crowd = crowd, prices: np.ndarray = prices, costs=costs, i: int = i) -> float:
            return by_hand(crowd, np.where(np.arange(len(prices)) == i, price, prices), costs)

        pieces = CompetingProfit(crowd, costs).pieces(prices, i, low, high)
        for price in rng.uniform(low, high, 5):
            assert pieces.at(np.array([price]))[0] == pytest.approx(at(price), abs=1e-10)
        tried = [low, high, *(p * s for p in breakpoints(crowd, prices, i) for s in (1 - 1e-12, 1.0, 1 + 1e-12))]
        best = max(at(price) for price in tried if low <= price <= high)
        price, value = pieces.best()
        assert value == pytest.approx(best, abs=1e-10)
        assert at(price) == pytest.approx(best, abs=1e-10)


def test_without_budgets_goods_separate() -> None:
    rng = np.random.default_rng(1)
    crowd = some_crowd(rng, 3, 400, with_budgets=False)
    # As many customers of every menu: what separates is an average over menus.
    crowd = crowd._replace(caps=np.tile([[1.0, 0.5, 2.0]], (2, 1)))
    costs, prices = rng.uniform(0, 1, 3), rng.uniform(0.5, 2.0, 3)
    one, other = SeparateProfit(crowd, costs), CompetingProfit(crowd, costs)
    assert one.mean(prices) == pytest.approx(other.mean(prices), rel=1e-12)
    np.testing.assert_allclose(one.by_draw(prices), other.by_draw(prices), rtol=1e-12)
    for i in range(3):
        np.testing.assert_allclose(one.pieces(prices, i, 0.4, 3).best(), other.pieces(prices, i, 0.4, 3).best())
    limits = PriceLimits(np.full(3, 0.4), np.full(3, 3.0), (None,) * 3, ())
    np.testing.assert_allclose(find_prices(one, prices, limits), find_prices(other, prices, limits), rtol=1e-9)


def law_profit(n_draws: int, size: int, costs: np.ndarray, seed: int) -> SeparateProfit:
    """Return the profit of a posterior of some laws near one another, of a crowd of its own."""
    mu = MU + 0.04 * np.random.default_rng(5).standard_normal((n_draws, N + 1))
    mu /= np.linalg.norm(mu, axis=1, keepdims=True)
    crowd = make_crowds(MU, size, 1, rng=np.random.default_rng(seed))
    market = LawMarket((*GOODS, "money"), mu, np.full(n_draws, 7.0), crowd, 1)
    worth = [Open(SCALE).worth(market.utilities(s)) for s in range(n_draws)]
    draw = np.repeat(np.arange(n_draws), [len(one) for one in worth])
    weight = 1.0 / (n_draws * np.bincount(draw)[draw])
    everything = np.concatenate(worth)
    menu = np.zeros(len(draw), np.int64)
    return SeparateProfit(Crowd(everything, weight, draw, menu, np.array([np.inf]), np.ones((1, N)), n_draws), costs)


def test_slopes_equal_those_of_the_density() -> None:
    # Keep the order of worth, and let the density move instead: no difference of profits is taken.
    costs, prices, kappa = np.array([0.5, 0.4, 0.3]), np.array([1.8, 1.6, 1.2]), 7.0
    u = sp.VonMisesFisher(MU, kappa).sample(1_000_000, rng=np.random.default_rng(2))
    u = u[u[:, -1] > 0]
    bought = SCALE * u[:, :-1] / u[:, -1:] > prices
    profit = bought @ (prices - costs)
    h = kappa * MU
    slopes, errors = np.empty(N), np.empty(N)
    for i in range(N):
        score = (1 + h[i] * u[:, i] - u[:, i] ** 2 * (N + 1 + u @ h)) / prices[i]
        values = bought[:, i] + (profit - profit.mean()) * score
        slopes[i], errors[i] = values.mean(), values.std() / np.sqrt(len(values))
    crowd = Crowd(
        SCALE * u[:, :-1] / u[:, -1:], np.full(len(u), 1 / len(u)), np.zeros(len(u), np.int64),
        np.zeros(len(u), np.int64), np.array([np.inf]), np.ones((1, N)), 1,
    )  # fmt: skip
    limits = PriceLimits(np.full(N, 0.1), np.full(N, 9.0), (None,) * N, ())
    found = slopes_at(SeparateProfit(crowd, costs), prices, limits)
    np.testing.assert_allclose(found.slopes[0], slopes, atol=0.004)
    assert np.all(errors < 0.002)
    # The pathwise derivative alone is wrong.
    assert np.all(np.abs(bought.mean(axis=0) - slopes) > 0.1)


def test_expected_regret_equals_choosing_anew_for_every_draw() -> None:
    costs = np.array([0.5, 0.4, 0.3])
    profit, other = law_profit(30, 2**13, costs, seed=5), law_profit(30, 2**13, costs, seed=6)
    limits = PriceLimits(np.full(N, 0.2), np.full(N, 9.0), (None,) * N, ())
    prices = find_prices(profit, np.full(N, 1.5), limits)
    crowd, own, fresh = profit.crowd, [], []
    for s in range(30):
        is_own = crowd.draw == s
        parts = {"worth": crowd.worth[is_own], "weight": crowd.weight[is_own] * 30, "draw": crowd.draw[is_own] * 0}
        alone = SeparateProfit(crowd._replace(**parts, n_draws=1), costs)
        anew = find_prices(alone, prices, limits)
        own.append(alone.mean(anew) - alone.mean(prices))
        fresh.append(other.by_draw(anew)[s] - other.by_draw(prices)[s])
    # Prices chosen anew look better than they are to those who chose them, and worse to others by as much.
    expected = 0.5 * (np.mean(own) + np.mean(fresh))
    found = 0.5 * sum(regret_of(slopes_at(one, prices, limits)) for one in (profit, other))
    assert found == pytest.approx(expected, rel=0.35)
    assert found > 0.001


def test_profit_is_that_of_demand() -> None:
    found = fitted().best_prices(costs=COSTS)
    costs = np.array(list(COSTS.values()))
    for prices, profit in ((found.prices, found.profit), (found.today, found.profit_today)):
        demand = fitted().demand(prices, n_customers=8192, n_draws=40)
        assert profit == pytest.approx(float(demand.mean[0] @ (prices - costs)), rel=0.01)
    assert found.profit > found.profit_today
    assert found.gain_lower < found.gain < found.gain_upper
    assert found.status == "recommended"
    assert any("expect 15 to 45 % less" in caution for caution in found.cautions)
    # No list of prices on a grid is better by more than the noise.
    prices = np.array(list(itertools.product((1.5, 2.0, 2.5), repeat=3)))
    grid = fitted().demand(prices, n_customers=1024, n_draws=40).mean
    assert np.max(np.sum(grid * (prices - costs), axis=1)) < found.profit * 1.02


def test_prices_respect_what_they_may_be() -> None:
    model = fitted()
    free = model.best_prices(costs=COSTS)
    rising = model.best_prices(costs=COSTS, order=["tea < jam"])
    places = [GOODS.index(name) for name in ("tea", "jam")]
    assert free.prices[places[0]] > free.prices[places[1]]
    assert rising.prices[places[0]] <= rising.prices[places[1]]
    assert rising.profit <= free.profit * 1.001
    ladder = model.best_prices(costs=COSTS, ladder=".x9")
    np.testing.assert_allclose(ladder.prices * 100 % 10, 9.0, atol=1e-6)
    assert ladder.profit > free.profit * 0.97
    steps = model.best_prices(costs=COSTS, ladder={"tea": 0.25, "rum": [1.5, 2.5]})
    assert steps.prices[0] % 0.25 == pytest.approx(0.0, abs=1e-9)
    assert steps.prices[1] in (1.5, 2.5)
    one = model.best_prices(costs=COSTS, max_changes=1)
    assert np.sum(one.prices != one.today) == 1
    margin = model.best_prices(costs=COSTS, bounds={"jam": (None, None, 0.85), "tea": (1.2, 1.4)})
    assert 1 - 0.3 / margin.prices[2] >= 0.85 - 1e-9
    assert 1.2 <= margin.prices[0] <= 1.4
    assert "tea" in margin.at_bound
    beyond = model.best_prices(costs=COSTS, bounds={"tea": (1.0, 6.0)}, extrapolate=True)
    assert beyond.highest[0] == 6.0
    if beyond.prices[0] > beyond.observed_highest[0]:
        assert any("the model's tail beyond is an assumption" in text for text in beyond.cautions)


def test_few_changes_are_the_best_few() -> None:
    rng = np.random.default_rng(3)
    crowd = some_crowd(rng, 4, 300)
    costs, today = rng.uniform(0, 0.5, 4), np.full(4, 1.5)
    profit = CompetingProfit(crowd, costs)
    limits = PriceLimits(np.full(4, 0.5), np.full(4, 3.0), (None,) * 4, ())
    for k in (1, 2, 3):
        values = []
        for kept in itertools.combinations(range(4), 4 - k):
            low, high = limits.lowest.copy(), limits.highest.copy()
            low[list(kept)] = high[list(kept)] = 1.5
            values.append(profit.mean(find_prices(profit, today, limits._replace(lowest=low, highest=high))))
        found = find_prices(profit, today, limits, k)
        assert np.sum(found != today) <= k
        assert profit.mean(found) >= max(values) * 0.999


def test_budgets_that_menus_state_bind() -> None:
    today = sp.Menus(np.full((1, N), 2.0), [1.5], goods=GOODS)
    poor, rich = fitted().best_prices(today, costs=COSTS), fitted().best_prices([2.0, 2.0, 2.0], costs=COSTS)
    assert poor.profit_today < rich.profit_today
    assert poor.profit <= 1.5
    assert poor.today.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"costs": {"tea": 1, "rum": 1}}, "costs must be given for every good on offer; 'jam' is missing"),
        ({"costs": {**COSTS, "milk": 1}}, "costs must be for goods of the fit.*received 'milk'"),
        ({"costs": {**COSTS, "rum": -1}}, "costs must be zero or more; received -1 for 'rum'"),
        ({"costs": {**COSTS, "rum": 9}}, "'rum' costs 9, above every price allowed"),
        ({"bounds": {"tea": (2, 1)}}, "bounds must leave a price; those of 'tea' are 2 to 1"),
        ({"bounds": {"tea": (1.5, 30)}}, "those of 'tea' are 1.5 to 30, observed 1.*or pass extrapolate=True"),
        ({"bounds": {"milk": (1, 2)}}, "bounds must be for goods of the fit.*'milk'"),
        ({"bounds": {"tea": (1, 2, 1.5)}}, "the least margin must be a share.*'tea'"),
        ({"bounds": "any"}, "bounds must be 'observed'"),
        ({"ladder": [9.0]}, "ladder must have a rung.*'tea' may cost"),
        ({"ladder": "x"}, "ladder must be an ending such as"),
        ({"order": [("tea", "jam"), ("jam", "tea")]}, "order must not run in a circle"),
        ({"order": ["tea<milk"]}, "order must be for goods of the fit.*'milk'"),
        ({"max_changes": 0}, "max_changes must be a whole number, 1 or more"),
        ({"level": 2}, "level must be between 0 and 1"),
        ({"held_out": 3}, "held_out must be Observations"),
    ],
)
def test_what_leaves_no_price_is_refused(settings: dict, words: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=words):
        fitted().best_prices(**{"costs": COSTS, **settings})


def test_closed_budgets_have_no_best_prices() -> None:
    rng = np.random.default_rng(0)
    menus = sp.MenuLaw("uniform").sample(40, 3, rng=rng)
    data = sp.simulate(sp.VonMisesFisher(MU[:3] / np.linalg.norm(MU[:3]), 5.0), menus, 40, rng=rng)
    model = sp.CommonUtility(random_state=0).fit(data)
    with pytest.raises(sp.InvalidArgument, match=r"profit never falls when all prices rise.*problem='open'"):
        model.best_prices(costs=[0.1] * 3)
    assert "best prices only fill the budgets stated" in sp.problems.Whole().unpriced
    assert OneOf().unpriced
    common = sp.CommonUtility(random_state=0).fit(shop(40, 1))
    with pytest.raises(sp.InvalidArgument, match="customers who differ"):
        common.best_prices(costs=COSTS)


def test_profit_of_a_closed_budget_never_falls_when_all_prices_rise() -> None:
    rng = np.random.default_rng(4)
    for problem in (Divisible(), OneOf(), OneOf(outside=True)):
        for _ in range(40):
            n = int(rng.integers(2, 6))
            prices, costs, u = rng.uniform(0.5, 2, n), rng.uniform(0, 2, n), rng.standard_normal((50, n))
            scales = np.sort(rng.uniform(0.3, 3.0, 12))
            budget = rng.uniform(0.5, 3.0)
            menus = sp.Menus(scales[:, None] * prices, np.full(12, budget), problem=problem)
            bundles = problem.choose(u[:, None], menus)
            profits = np.sum((menus.prices - costs) * bundles, axis=2)
            assert np.all(np.diff(profits, axis=1) >= -1e-9)


def test_a_price_that_never_varied_tells_nothing() -> None:
    model = fit(shop(60, 2, fixed="rum"))
    found = model.best_prices(costs=COSTS)
    assert found.prices[1] == found.today[1] == 2.0
    assert any("rum: sold at one price only" in text for text in found.cautions)
    with pytest.raises(sp.InvalidArgument, match="sold at one price only"):
        model.best_prices(sp.Menus([[np.inf, 2.0, np.inf]], goods=GOODS), costs=COSTS)


def test_purchases_held_out_judge_the_gain() -> None:
    model = fitted()
    alike = model.best_prices(costs=COSTS, held_out=shop(120, 9))
    assert alike.is_held_out
    assert alike.status != "misjudged"
    assert not any("expect 15" in text for text in alike.cautions)
    own = model.best_prices(costs=COSTS)
    np.testing.assert_array_equal(alike.prices, own.prices)
    assert alike.profit != own.profit
    others = model.best_prices(costs=COSTS, held_out=shop(120, 9, mu=np.array([-0.5, -0.5, -0.5, 0.5])))
    assert others.status == "misjudged"
    assert not others.is_recommended
    assert any("misjudges profit at your own prices, none recommended" in text for text in others.cautions)
    with pytest.raises(sp.InvalidArgument, match="held_out must be 20 purchases or more"):
        model.best_prices(costs=COSTS, held_out=shop(10, 9))


def test_a_price_list_is_a_result() -> None:
    found = fitted().best_prices(costs=COSTS)
    assert [row["good"] for row in found.records()] == list(GOODS)
    assert json.loads(json.dumps(found.as_dict()))["prices"] == found.prices.tolist()
    pd.testing.assert_frame_equal(found.to_pandas(), pd.DataFrame(found.records()))
    assert "today" in str(found)
    assert "expected regret" in found._repr_html_()
    assert len(found.plot().lines) > N
    again = fitted().best_prices(costs=pd.Series(COSTS))
    np.testing.assert_array_equal(found.prices, again.prices)


def test_a_report_with_costs_ends_in_a_price_list() -> None:
    model = fitted()
    text = unescape(page.render(model, costs=COSTS))
    section = text[text.index('<section id="prices">') :]
    section = section[: section.index("</section>")]
    found = model.best_prices(costs=COSTS)
    assert f"Prices: {found.status_words}" in section
    for row in found.records():
        assert f"<bdi>{row['good']}</bdi>" in section
        assert f">{row['price']:,.4g}</td>" in section
    assert "expect 15 to 45 % less" in section
    assert f"Profit from a visitor {found.profit:.4g}" in section
    assert '<section id="prices">' not in page.render(model)
    with pytest.raises(sp.InvalidArgument, match="'jam' is missing"):
        page.render(model, costs={"tea": 1, "rum": 1})
