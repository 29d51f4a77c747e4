# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Customers whose law moves with features: posterior, demand and effects at features, new goods, reading and saving."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref import cli
from stochpref.demand import typical_menu
from stochpref.laws.von_mises_fisher import sample_each
from stochpref.posterior.results import thinned
from stochpref.report import page
from tests.test_features import bought

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few draws have not converged

QUICK: dict[str, Any] = {"n_draws": 30, "n_effective": 40, "n_chains": 2, "random_state": 0}


def moved(features: tuple[str, ...] = ("tax", "income"), **settings: Any) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sp.HeterogeneousUtility(features=features, **{**QUICK, **settings}).fit(bought(160, 4))


@cache
def fitted() -> sp.HeterogeneousUtility:
    return moved()


def test_the_posterior_is_about_the_most_likely_coefficients() -> None:
    likely = sp.fit_maximum_likelihood(bought(160, 4), features=("tax", "income"))
    rows = fitted().summary().coefficients
    assert [row.name for row in rows] == list(likely.coefficient_names[4:])
    for row, value, error in zip(rows, likely.coefficients[4:], likely.standard_errors[4:], strict=True):
        assert abs(row.mean - value) < 1.2 * error  # the prior and weights move it
        assert row.sd == pytest.approx(error, rel=0.5)
    assert fitted().sampler_ in ("importance", "curvature")
    assert fitted().coefficients_["income"].shape == (4,)
    assert fitted().coefficients_["tax"] == pytest.approx(rows[0].mean)
    for text in ("moved by features", "tax", "income:a"):
        assert text in str(fitted().summary())


def test_the_law_at_a_menu_is_that_of_the_coefficients() -> None:
    model, data = fitted(), bought(160, 4)
    parts = model.market(256, 10).facing(data.menus[:3]).parts
    assert sorted(int(t) for rows, _ in parts for t in rows) == [0, 1, 2]
    drawn = thinned(model.posterior_, 10)[0]["coefficient"]
    for rows, own in parts:
        t = int(rows[0])
        h = np.array([
            draw[:4] + draw[4] * data.features["tax"][t] + draw[5:] * data.features["income"][t]
            for draw in drawn.reshape(-1, 9)
        ])  # fmt: skip
        np.testing.assert_allclose(own.mean_direction * own.concentration[:, None], h, atol=1e-8)


def test_demand_is_that_of_the_law_at_the_features() -> None:
    model, data = fitted(), bought(160, 4)
    menus = data.menus[:3]
    found = model.demand(menus, n_customers=256, n_draws=10)
    market = model.market(256, 10)
    for rows, own in market.facing(menus).parts:
        for t in rows:
            utilities = np.stack([own.utilities(s) for s in range(own.n_draws)])
            direct = sp.choose(utilities, menus.prices[t], menus.budgets[t]).mean(axis=(0, 1))
            np.testing.assert_allclose(found.mean[t], direct, atol=1e-12)
    turned = [2, 0, 3, 1]
    other = sp.Menus(
        menus.prices[:, turned], menus.budgets, goods=[model.goods_[i] for i in turned],
        features={"tax": menus.features["tax"][:, turned], "income": menus.features["income"]},
    )  # fmt: skip
    again = model.demand(other, n_customers=256, n_draws=10).mean
    np.testing.assert_allclose(again, found.mean[:, turned], atol=1e-12)
    np.testing.assert_array_equal(model.predict(other), model.predict(menus)[:, turned])
    assert 0.2 < model.consistency(data) <= 1.0


def test_draws_under_a_law_each_are_those_of_the_laws() -> None:
    laws = np.array([[6.0, 1.0, -2.0], [-0.5, 0.2, 0.1], [0.0, 0.0, 0.0]])
    drawn = sample_each(np.repeat(laws, 40_000, axis=0), rng=np.random.default_rng(0)).reshape(3, 40_000, 3)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=2), 1.0)
    for law, own in zip(laws, drawn, strict=True):
        kappa = float(np.linalg.norm(law))
        expected = law / kappa * (1 / np.tanh(kappa) - 1 / kappa) if kappa > 0 else law
        np.testing.assert_allclose(own.mean(axis=0), expected, atol=0.012)


def test_effects_are_differences_of_demand() -> None:
    model, data = fitted(), bought(160, 4)
    menus = data.menus[:2]
    found = model.effects(menus, changes={"tax": 0.3, "income": "+50 %"}, n_customers=256, n_draws=10)
    rows = {(one.change, one.changed, one.good): one for one in (*found.own, *found.others)}
    taxed = menus.features["tax"].copy()
    taxed[:, 1] += 0.3
    for features, change, good in (
        ({**menus.features, "tax": taxed}, "tax: +0.3", "b"),
        ({**menus.features, "income": 1.5 * menus.features["income"]}, "income: 50 % more", ""),
    ):
        after = sp.Menus(menus.prices, menus.budgets, goods=menus.goods, features=features)
        before, then = (model.demand(each, n_customers=256, n_draws=10).mean.mean(axis=0) for each in (menus, after))
        for j, name in enumerate("abcd"):
            one = rows[change, good, name]
            assert (one.before, one.after) == pytest.approx((before[j], then[j]), abs=1e-12)
            assert one.lower <= one.difference <= one.upper
    usual = model.effects(n_customers=64, n_draws=5)
    assert {one.change.split(":")[0] for one in usual.own} == {"tax", "income"}
    assert "standard deviation" in str(usual)
    assert usual.plot() is not None
    assert len(usual.to_pandas()) == 4 * 4 + 4
    for changes, message in (
        ({"taxes": 1.0}, "changes must be of features .* 'taxes'; the nearest is 'tax'"),
        ({"tax": "more"}, r"changes\['tax'\] must be a number to add, or a text such as '-10 %'; received 'more'"),
    ):
        with pytest.raises(sp.InvalidArgument, match=message):
            model.effects(changes=changes)
    with pytest.raises(sp.InvalidArgument, match="effects are of features"):
        sp.HeterogeneousUtility(sampler="gibbs", n_draws=10, n_effective=0, random_state=0).fit(data[:40]).effects()


def test_price_is_that_of_the_menus_unless_there_is_such_a_feature() -> None:
    model = moved(("price", "tax"))
    assert model.prices_move_tastes
    found = model.effects(changes={"price": "-10 %"}, n_customers=64, n_draws=5)
    assert [one.change for one in found.own] == ["price: 10 % off"] * 4
    text = page.render(model)
    assert 'id="panel"' not in text  # customers in the page are those at typical prices
    assert "What features do" in text
    data = bought(60, 4)
    given = sp.Observations(
        data.prices, data.budgets, data.bundles, goods=data.goods, features={"price": 2.0 * data.prices}
    )
    own = sp.HeterogeneousUtility(features=("price",), **QUICK).fit(given)
    assert not own.prices_move_tastes
    with pytest.raises(sp.InvalidArgument, match="received a fit whose laws move with features"):
        own.market(64, 4).sample(0, 2, rng=np.random.default_rng(0))


def test_a_good_that_nobody_has_seen() -> None:
    model, menu = fitted(), typical_menu(bought(160, 4))
    wider = model.with_goods(["kiwi"])
    assert wider.goods_ == (*"abcd", "kiwi")
    assert model.goods_ == tuple("abcd")
    without = sp.Menus(
        np.append(menu.prices, [[np.inf]], axis=1), menu.budgets, goods=wider.goods_,
        features={"tax": np.append(menu.features["tax"], [[0.0]], axis=1), "income": menu.features["income"]},
    )  # fmt: skip
    plain, same = (each.demand(m, n_customers=4096, n_draws=30) for each, m in ((model, menu), (wider, without)))
    np.testing.assert_allclose(same.mean[:, :4], plain.mean, atol=0.03)  # alike as they would have been over five
    shares = []
    for tax in (0.0, 1.0):
        offered = sp.Menus(
            np.append(menu.prices, [[1.5]], axis=1), menu.budgets, goods=wider.goods_,
            features={"tax": np.append(menu.features["tax"], [[tax]], axis=1), "income": menu.features["income"]},
        )  # fmt: skip
        found = wider.demand(offered, n_customers=512, n_draws=30)
        shares.append(found.mean[0, 4])
        assert found.upper[0, 4] - found.lower[0, 4] > 0.3  # nothing is known of its intercept but what others have
    assert shares[0] > shares[1] + 0.1
    for ask in (lambda: wider.save("nowhere"), lambda: wider.score(bought(20, 1))):
        with pytest.raises(sp.InvalidArgument, match="a fit with goods that nobody has seen cannot"):
            ask()
    with pytest.raises(sp.InvalidArgument, match="goods must have different names; received 'a'"):
        model.with_goods(["a"])


def test_a_saved_fit_is_the_same_fit(tmp_path: Path) -> None:
    model, data = fitted(), bought(160, 4)
    model.save(tmp_path / "fit")
    again = sp.load_fit(tmp_path / "fit")
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.log_likelihood(data[:20]), model.log_likelihood(data[:20]))
    np.testing.assert_array_equal(again.demand(data.menus[:2]).upper, model.demand(data.menus[:2]).upper)
    path = tmp_path / "fit" / "learned.json"
    learned = json.loads(path.read_text())
    for damage in ({"kept": [0, 0]}, {"kept": [99]}, {"n_terms": 3}, {"terms": {"0": {}}}):
        other = json.loads(json.dumps(learned))
        other["moving"] |= damage
        with pytest.raises(sp.UnreadableData):
            _reload(model, tmp_path / "fit", other)


def _reload(model: sp.HeterogeneousUtility, folder: Path, learned: dict[str, Any]) -> None:
    import hashlib  # noqa: PLC0415

    text = json.dumps(learned).encode()
    (folder / "learned.json").write_bytes(text)
    header = json.loads((folder / "fit.json").read_text())
    header["files"]["learned.json"] = hashlib.sha256(text).hexdigest()
    (folder / "fit.json").write_text(json.dumps(header))
    sp.load_fit(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "gibbs"}, "sampler must be 'auto' where laws move with features.*received 'gibbs'"),
        ({"engine": "dask"}, "engine must be 'cpu' where laws move"),
        ({"concentration_bounds": (1.0, 10.0)}, "concentration_bounds must be None where laws move"),
        ({"features": "tax"}, "features must be names"),
        ({"features": ("taxes",)}, "features must be among those of the observations"),
    ],
)
def test_what_cannot_be_with_features(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.HeterogeneousUtility(**{"features": ("tax",), **settings}).fit(bought(40, 1))


def test_features_of_menus_that_nobody_knows() -> None:
    menus = bought(160, 4).menus[:1]
    wrong = sp.Menus(menus.prices, menus.budgets, goods=menus.goods, features={**menus.features, "text": [1.0]})
    with pytest.raises(sp.InvalidArgument, match=r"must be among those of the fitted observations.*received 'text'"):
        fitted().demand(wrong)
    with pytest.raises(sp.InvalidArgument, match="menus must have the feature"):
        fitted().predict(sp.Menus(menus.prices, menus.budgets, goods=menus.goods))
    whole = sp.Observations(np.ones((20, 2)), np.ones(20), np.eye(2)[[0, 1] * 10], problem="whole")
    with pytest.raises(sp.InvalidArgument, match="features need probabilities of bundles"):
        sp.HeterogeneousUtility(features=("price",)).fit(whole)


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_features_of_tables(layout: str, tmp_path: Path) -> None:
    data = bought(30, 2)
    sp.write_observations(data, tmp_path / "table.csv", layout=layout)
    again = sp.read_observations(tmp_path / "table.csv", features=["tax:good", "income", "price"])
    assert list(again.features) == ["tax", "income"]  # the price is that of the menus
    for name, values in data.features.items():
        np.testing.assert_array_equal(again.features[name], values)
    np.testing.assert_array_equal(again.bundles, data.bundles)
    assert sp.read_observations(tmp_path / "table.csv").features == {}
    with pytest.raises(sp.UnreadableData, match="no column 'taxes' for the feature"):
        sp.read_observations(tmp_path / "table.csv", features=["taxes"])
    text = (tmp_path / "table.csv").read_text().splitlines()
    fields = text[1].split(",")
    fields[text[0].split(",").index('"tax"' if layout == "long" else '"tax_a"')] = ""
    (tmp_path / "holes.csv").write_text("\n".join([text[0], ",".join(fields), *text[2:]]))
    with pytest.raises(sp.UnreadableData, match=r"feature 'tax' must be a number\n    row 2 .*: an empty cell"):
        sp.read_observations(tmp_path / "holes.csv", features=["tax"])
    named = sp.Observations(data.prices, data.budgets, data.bundles, features={"price": data.prices})
    with pytest.raises(sp.InvalidArgument, match="received a feature 'price'; rename it"):
        sp.write_observations(named, tmp_path / "price.csv", layout=layout)


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = bought(80, 4)
    sp.write_observations(data, "bought.csv")
    sp.write_menus(data.menus[:2], "menus.csv")

    def run(*words: str) -> str:
        shown = CliRunner().invoke(cli.app, list(words))
        assert shown.exit_code == 0, shown.output
        return shown.stdout

    quick = ("--draws", "20", "--effective", "20", "--chains", "2")
    told = run("fit", "bought.csv", "--feature", "tax", "--feature", "income", "--out", "fit", *quick)
    assert "moved by features" in told
    assert "menu 1" in run("predict", "fit", "menus.csv")
    refused = CliRunner().invoke(cli.app, ["fit", "bought.csv", "--model", "common", "--feature", "tax", "--out", "no"])
    assert refused.exit_code == 2
    assert "--feature belongs to --model heterogeneous" in refused.output
    refused = CliRunner().invoke(cli.app, ["fit", "bought.csv", "--odd", "odd.csv", "--feature", "tax", "--out", "no"])
    assert "received --odd (common) and --feature (heterogeneous" in refused.output
