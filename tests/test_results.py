"""What every result is: text, rows, a data frame, JSON, a table in a notebook, a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import stochpref as sp
from stochpref.result import Drawn, Result

mpl.use("agg")

GOODS = ("tea", "<rum>", "ham", "jam")
TASTE = np.array([0.7, 0.5, 0.3, -0.4]) / np.linalg.norm([0.7, 0.5, 0.3, -0.4])
DRAWN = ("audit", "summary", "common summary", "demand", "elasticities", "comparison", "explanation", "likelihood")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    menus = sp.Menus(rng.uniform(1, 2, (120, 4)), rng.uniform(1, 4, 120), goods=GOODS)
    data = sp.simulate(sp.VonMisesFisher(TASTE, 8.0), menus, 120, rng=rng)
    with pytest.warns(UserWarning, match="NOT CONVERGED"):
        fit = sp.HeterogeneousUtility(n_draws=40, n_chains=2, n_effective=0, random_state=0).fit(data[:80])
    common = sp.CommonUtility(random_state=0).fit(data[:80])
    odd = int(np.flatnonzero(~common.consistent_)[0])
    effort = sp.DesignEffort(n_draws=32, n_rounds=1, n_generations=1, n_offspring=2, n_starts=1)
    return {
        "audit": data.audit(),
        "summary": fit.summary(),
        "common summary": common.summary(),
        "demand": fit.demand(menus[:3], n_draws=10, n_customers=128),
        "elasticities": fit.elasticities(menus[0], n_draws=10, n_customers=128),
        "comparison": sp.compare_fits({"fit": fit, "common": common}, data[80:]),
        "explanation": common.explain(odd),
        "likelihood": sp.fit_maximum_likelihood(data),
        "groups": sp.fit_groups(sp.CommonUtility(random_state=0), data, np.repeat(["a", "b"], 60), jobs=1),
        "check": sp.check_menus(menus[:5], TASTE, 5.0, rng=rng, n_draws=32),
        "design": sp.optimal_menus(GOODS, 3, rng=rng, mean_direction=TASTE, effort=effort),
    }


def each(results: dict[str, Any]) -> Iterator[tuple[str, Result]]:
    for name, result in results.items():
        assert isinstance(result, Result), name
        yield name, result


def test_a_result_is_a_data_frame(results: dict[str, Any]) -> None:
    for name, result in each(results):
        frame = result.to_pandas()
        assert len(frame) == len(result.records()) > 0, name
        pd.testing.assert_frame_equal(pd.DataFrame(result), frame)
    demand = results["demand"]
    frame = demand.to_pandas().set_index(["menu", "good"])
    assert frame.loc[("2", "ham"), "mean"] == demand.mean[1, 2]
    assert frame.loc[("3", "jam"), "upper"] == demand.upper[2, 3]
    cross = results["elasticities"].to_pandas().set_index(["good", "price_of"])
    assert cross.loc[("tea", "jam"), "lower"] == results["elasticities"].lower[0, 3]
    summary = results["summary"].to_pandas().set_index("name")
    assert summary.loc["concentration", "mean"] == results["summary"].concentration.mean
    scores = results["comparison"].to_pandas().set_index("name")
    assert scores.loc["fit", "held_out_error"] == results["comparison"].fits[0].held_out.standard_error
    assert np.isnan(scores.loc["common", "loo"])
    assert set(results["design"].to_pandas()) == {"budget", *GOODS}


def test_a_result_is_text_and_json(results: dict[str, Any]) -> None:
    for name, result in each(results):
        assert repr(result) == str(result), name
        if hasattr(result, "table"):
            continue  # its data frame is what people store
        found = json.loads(json.dumps(result.as_dict()))
        assert found, name
    assert json.loads(json.dumps(results["summary"].as_dict()))["concentration"]["name"] == "concentration"
    assert json.loads(json.dumps(results["demand"].as_dict()))["mean"] == results["demand"].mean.tolist()
    assert json.loads(json.dumps(results["comparison"].as_dict()))["fits"][1]["loo"] is None


def test_a_notebook_shows_a_table(results: dict[str, Any]) -> None:
    for name, result in each(results):
        page = result._repr_html_()
        assert page.startswith("<div><p><strong>"), name
        assert page.count("<tr>") == 1 + min(len(result.records()), 60), name
        assert "<rum>" not in page
        for remark in result.remarks():
            assert remark.split("<")[0].split("'")[0][:20] in page, name
    assert "&lt;rum&gt;" in results["summary"]._repr_html_()
    assert any("not converged" in remark.lower() for remark in results["summary"].remarks())
    assert "—" in results["comparison"]._repr_html_()
    many = sp.check_menus(
        sp.Menus(np.ones((1, 70)), [2.0]), np.eye(70)[0], 1.0, rng=np.random.default_rng(0), n_draws=16
    )
    assert "and 10 more rows" in many._repr_html_()


@pytest.mark.parametrize("name", DRAWN)
def test_a_result_draws_itself(name: str, results: dict[str, Any]) -> None:
    result = results[name]
    assert isinstance(result, Drawn)
    axis = result.plot()
    axis.figure.canvas.draw()
    assert axis.get_xlabel() or axis.get_title()
    texts = [label.get_text() for label in axis.get_yticklabels()]
    first = result.records()[0]
    named = next(value for value in first.values() if isinstance(value, str))
    wanted = {"audit": "slack", "summary": "tea", "likelihood": "tea", "demand": "tea"}.get(name, named)
    assert wanted in texts
    own = mpl.pyplot.figure().add_subplot()
    assert result.plot(own) is own
    mpl.pyplot.close("all")


def test_elasticities_print_their_intervals(results: dict[str, Any]) -> None:
    found = results["elasticities"]
    text = str(found)
    assert f"{found.lower[1, 2]:.2f} to {found.upper[1, 2]:.2f}" in text
    assert "90 % interval" in text
    assert max(map(len, text.splitlines())) < 100
    many = sp.Elasticities(*(np.tile(x, (2, 2)) for x in (found.mean, found.lower, found.upper)), 0.05, 0.9, GOODS * 2)
    assert f"{found.lower[1, 1]:.2f} to {found.upper[1, 1]:.2f}" in str(many)
    assert f"{found.lower[1, 2]:.2f} to {found.upper[1, 2]:.2f}" not in str(many)
    assert max(map(len, str(many).splitlines())) < 110
    alone = sp.Elasticities(found.mean, found.mean, found.mean, 0.05, 0.9, GOODS)
    assert "interval" not in str(alone)
