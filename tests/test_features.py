# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Laws that move with features: gradients, recovery, standard errors, units, and what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.feature_likelihood import MovingRows
from stochpref.features import FeatureDesign

INTERCEPTS = np.array([3.0, 1.0, -2.0, 0.5])


def bought(
    size: int, seed: int, *, slope: float = -4.0, income: float = 2.0, problem: Any = "divisible"
) -> sp.Observations:
    """Return purchases whose utilities fall with a tax, and of which the first good is wanted more with income."""
    rng = np.random.default_rng(seed)
    tax, rich = rng.uniform(0.0, 1.0, (size, 4)).round(1), rng.integers(0, 3, size).astype(float)
    laws = INTERCEPTS + slope * tax
    laws[:, 0] += income * rich
    utilities = np.concatenate([
        sp.VonMisesFisher(h / np.linalg.norm(h), float(np.linalg.norm(h))).sample(1, rng=rng) for h in laws
    ])  # fmt: skip
    prices, budgets = rng.uniform(1.0, 2.0, (size, 4)), rng.uniform(1.0, 4.0, size)
    menus = sp.Menus(prices, None if problem == "one" else budgets, problem=problem)
    return sp.Observations(
        prices, menus.budgets if problem != "one" else None, menus.problem.choose(utilities, menus), goods=list("abcd"),
        features={"tax": tax, "income": rich}, problem=problem, customers=rng.integers(0, size // 3, size),
    )  # fmt: skip


@pytest.mark.parametrize("problem", ["divisible", "one"])
def test_gradients_are_differences(problem: str) -> None:
    data = bought(60, 1, problem=problem)
    design = FeatureDesign.of(data, ("tax", "income", "price:good"))
    model = MovingRows.of(data, design, 1e-12)
    theta = np.random.default_rng(2).standard_normal(len(design.kept))
    values, slopes = model.rows(theta)
    for j in range(len(theta)):
        up, down = (model.rows(theta + sign * 1e-5 * np.eye(len(theta))[j])[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, j], (up - down) / 2e-5, atol=1e-5)
    laws = model.designs.laws(theta)[model.designs.whose]
    each = [
        sp.log_mass(sp.Regions.of(data)[[t]], h / np.linalg.norm(h), np.linalg.norm(h))[0] for t, h in enumerate(laws)
    ]
    if problem == "divisible":
        np.testing.assert_allclose(values, each, atol=1e-10)


def test_equal_features_share_a_law() -> None:
    data = bought(200, 3)
    designs, whose = FeatureDesign.of(data, ("income",)).designs(data)
    assert len(designs) == 3
    np.testing.assert_array_equal(np.unique(data.features["income"], return_inverse=True)[1], whose)


@pytest.mark.parametrize("problem", ["divisible", "one"])
def test_a_design_is_made_again_from_its_settings(problem: str) -> None:
    data = bought(50, 9, problem=problem)
    design = FeatureDesign.of(data, ("tax:good", "income"))
    back = FeatureDesign.restore(json.loads(json.dumps(design.settings())), design.goods, design.problem)
    assert (back.features, back.names, back.kept) == (("tax:good", "income"), design.names, design.kept)
    np.testing.assert_array_equal(back.designs(data).each, design.designs(data).each)
    theta = np.arange(1.0, len(design.kept) + 1)
    own, told = design.designs(data).laws(theta)[design.designs(data).whose], design.to_units @ theta
    tax, income = np.split(told[4:], 2)  # in the units given: h = intercepts + slopes × features
    moved = told[:4] + tax * data.features["tax"] + income * data.features["income"][:, None]
    np.testing.assert_allclose(own, moved @ design.level, atol=1e-9)
    np.testing.assert_allclose(design.at_average @ theta, design.level[:, [j for j in design.kept if j < 4]] @ theta[
        : sum(j < 4 for j in design.kept)
    ])  # fmt: skip


def test_the_truth_is_recovered_in_the_units_given() -> None:
    data = bought(1500, 4)
    found = sp.fit_maximum_likelihood(data, features=("tax", "income"))
    assert found.status == "converged"
    truth = dict(zip(found.coefficient_names, [*INTERCEPTS, -4.0, 2.0, 0.0, 0.0, 0.0], strict=True))
    z = (found.coefficients - np.array(list(truth.values()))) / found.standard_errors
    assert np.abs(z).max() < 3.5
    assert found.standard_errors[list(truth).index("tax")] < 1.0
    assert np.all(np.abs(found.clustered_standard_errors / found.standard_errors - 1) < 0.5)  # customers do not matter
    np.testing.assert_allclose(found.robust_standard_errors, found.standard_errors, rtol=0.2)  # the law is right
    assert "rely on the robust errors" not in str(found)
    np.testing.assert_allclose(found.laws(data)[0], found.coefficients[:4] + _moved(found, data, 0), atol=1e-9)
    assert found.log_likelihood == pytest.approx(found.log_likelihoods(data).sum(), abs=1e-6)
    wide = replace(found, robust_standard_errors=0.5 * found.standard_errors)
    assert "rely on the robust errors" in str(wide)
    other = sp.Observations(
        data.prices, data.budgets, data.bundles, goods=data.goods,
        features={"tax": 100 * data.features["tax"] + 7, "income": data.features["income"]},
    )  # fmt: skip
    percent = sp.fit_maximum_likelihood(other, features=("tax", "income"))
    assert percent.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-6)
    assert percent.coefficients[4] == pytest.approx(found.coefficients[4] / 100, rel=1e-4)
    assert percent.standard_errors[4] == pytest.approx(found.standard_errors[4] / 100, rel=1e-3)
    assert percent.clustered_standard_errors is None
    for text in ("tax", "income:a", "converged", "by customer"):
        assert text in str(found)
    assert len(found.to_pandas()) == 9
    assert found.plot() is not None


def _moved(found: sp.FeatureLikelihood, data: sp.Observations, t: int) -> np.ndarray:
    slopes = dict(zip(found.coefficient_names, found.coefficients, strict=True))
    each = np.array([slopes[f"income:{good}"] for good in found.goods])
    return slopes["tax"] * data.features["tax"][t] + each * data.features["income"][t]


def test_no_effect_is_one_law() -> None:
    data = bought(300, 5, slope=0.0, income=0.0)
    plain, found = sp.fit_maximum_likelihood(data), sp.fit_maximum_likelihood(data, features=("tax",))
    assert 0 <= found.log_likelihood - plain.log_likelihood < 5
    assert abs(found.coefficients[4]) < 3 * found.standard_errors[4]


def test_what_says_the_same_is_left_out_with_a_note() -> None:
    data = bought(80, 6)
    twice = {**data.features, "levy": 2 * data.features["tax"] + 1, "brand": np.tile([0.0, 1.0, 2.0, 3.0], (80, 1))}
    more = sp.Observations(data.prices, data.budgets, data.bundles, goods=data.goods, features=twice)
    found = sp.fit_maximum_likelihood(more, features=("tax", "levy", "brand"))
    assert found.notes == ("levy is left out: others say the same", "brand is left out: others say the same")
    assert found.log_likelihood == pytest.approx(sp.fit_maximum_likelihood(more, features=("tax",)).log_likelihood)
    with pytest.raises(sp.InvalidArgument, match="must say something that the goods do not"):
        sp.fit_maximum_likelihood(more, features=("brand",))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("taxes",), r"features must be among those of the observations, 'tax', 'income', 'price'; .*nearest is 'tax'"),
        (("tax", "tax:good"), "features must be different; received 'tax' more than once"),
        ("tax", r"features must be names, such as \('price', 'promotion'\); received 'tax'"),
        ((3,), "features must be names"),
    ],
)
def test_features_that_are_none(asked: Any, message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.fit_maximum_likelihood(bought(40, 7), features=asked)


def test_features_that_do_not_vary_or_are_missing() -> None:
    data = bought(40, 8)
    still = sp.Observations(data.prices, data.budgets, data.bundles, goods=data.goods, features={"tax": np.ones(40)})
    with pytest.raises(sp.InvalidArgument, match="features must vary; 'tax' is 1 wherever"):
        sp.fit_maximum_likelihood(still, features=("tax",))
    found = sp.fit_maximum_likelihood(data, features=("tax",))
    with pytest.raises(sp.InvalidArgument, match="menus must have the feature 'tax'"):
        found.laws(sp.Menus(data.prices, data.budgets, goods=data.goods))
    with pytest.raises(sp.InvalidArgument, match="features take observations in memory"):
        sp.fit_maximum_likelihood(data, features=("tax",), engine="dask")


@pytest.mark.skipif("STOCHPREF_REAL_DATA" not in os.environ, reason="STOCHPREF_REAL_DATA names no folder")
def test_yogurt_with_price_as_a_feature_is_as_good_as_logit() -> None:
    path = Path(os.environ["STOCHPREF_REAL_DATA"]) / "yogurt_long.csv"
    columns = {"observation": "obsID", "good": "brand", "quantity": "choice"}
    paid = sp.read_observations(path, columns=columns, budget="spent")
    chosen = np.argmax(paid.bundles, axis=1)
    data = sp.choices(np.ones_like(paid.prices), chosen, goods=paid.goods, features={"price": paid.prices})
    order = np.random.default_rng(0).permutation(len(data))
    fresh, learn = data[np.sort(order[: len(data) // 5])], data[np.sort(order[len(data) // 5 :])]
    found = sp.fit_maximum_likelihood(learn, features=("price",))
    assert found.coefficients[4] < -5 * found.standard_errors[4]
    assert found.log_likelihoods(fresh).mean() == pytest.approx(-1.0815, abs=0.005)
