# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Which model is believed: the table, the rules by size, what is left out and why, and that a stopped run goes on."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.models import selecting
from stochpref.models.candidate import Candidate

TASTE = np.array([0.7, 0.5, -0.3]) / np.linalg.norm([0.7, 0.5, -0.3])


def bought(law: Any, size: int = 150, seed: int = 1, customers: Any = None) -> sp.Observations:
    data = sp.simulate(law, sp.MenuLaw("uniform"), size, rng=np.random.default_rng(seed))
    return sp.Observations(data.prices, data.budgets, data.bundles, goods=data.goods, customers=customers)


def best_of(data: sp.Observations, **settings: Any) -> sp.Selection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit that is kept says how far to trust it; that is not this
        return sp.fit_best(data, random_state=3, **settings)


@pytest.fixture(scope="module")
def of_one_law() -> sp.Selection:
    return best_of(bought(sp.VonMisesFisher(TASTE, 5.0)))


def test_one_law_is_fitted_as_if_it_had_been_asked_for(of_one_law: sp.Selection) -> None:
    assert of_one_law.chosen == "heterogeneous"
    direct = sp.HeterogeneousUtility(random_state=3).fit(bought(sp.VonMisesFisher(TASTE, 5.0)))
    np.testing.assert_array_equal(
        of_one_law.best.posterior_["posterior"]["mean_direction"].values,  # type: ignore[attr-defined]
        direct.posterior_["posterior"]["mean_direction"].values,
    )
    assert of_one_law.ranking[3:] == (120, 30, False)


def test_a_saved_fit_knows_among_what_it_was_chosen(of_one_law: sp.Selection, tmp_path: Path) -> None:
    of_one_law.best.save(tmp_path)
    assert sp.load_fit(tmp_path).ranking_ == of_one_law.ranking
    learned = json.loads((tmp_path / "learned.json").read_text())
    assert learned["ranking"]["chosen"] == json.loads((tmp_path / "fit.json").read_text())["model"]


def test_the_table_says_who_is_ahead_and_why(of_one_law: sp.Selection) -> None:
    text, rows = str(of_one_law), of_one_law.records()
    assert [row["name"] for row in rows if row["is_chosen"]] == ["heterogeneous"]
    assert {row["name"] for row in rows} >= {"heterogeneous", "segmented", "common"}
    assert all(row["mean"] <= rows[0]["mean"] for row in rows if row["mean"] is not None)
    assert of_one_law.reason in text
    assert "30 purchases held out; each learned from 120" in text
    assert json.loads(json.dumps(of_one_law.as_dict()))["model"] == "heterogeneous"
    assert len(of_one_law.to_pandas()) == len(rows)
    assert of_one_law.plot() is not None


def test_scores_are_those_of_fits_to_what_was_not_held_out(of_one_law: sp.Selection) -> None:
    data = bought(sp.VonMisesFisher(TASTE, 5.0))
    held = np.random.default_rng([3, 6]).permutation(150)[:30]
    rows = np.setdiff1d(np.arange(150), held)
    draft = sp.CommonUtility(random_state=3).fit(data[rows])
    (row,) = [row for row in of_one_law.scores if row.name == "common"]
    assert row.mean == pytest.approx(draft.log_likelihood(data[np.sort(held)]).mean(), abs=1e-12)


def test_one_utility_and_odd_customers_are_told() -> None:
    found = best_of(bought(sp.CorruptedUtilityLaw(TASTE, 0.1), 200))
    assert found.chosen == "common"
    assert isinstance(found.best, sp.CommonUtility)
    assert "no simpler one comes within one standard error" in found.reason


def test_customers_are_held_out_whole_and_errors_follow_them() -> None:
    customers = [f"c{t // 4}" for t in range(80)]
    found = best_of(bought(sp.VonMisesFisher(TASTE, 5.0), 80, customers=customers), models=("heterogeneous", "common"))
    assert found.ranking.by_customer
    assert found.ranking.n_held_out == 16
    assert "held out, customers whole" in str(found)


def test_errors_of_customers_are_those_of_their_sums() -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_normal(60)
    mean, error = selecting._paired(values, np.arange(60))
    assert (mean, error) == pytest.approx((values.mean(), values.std(ddof=1) / np.sqrt(60)))
    twice = np.repeat(values, 2)  # the same person twice tells nothing more
    assert selecting._paired(twice, np.repeat(np.arange(60), 2)) == pytest.approx((mean, error))


def test_too_few_to_hold_any_out() -> None:
    found = best_of(bought(sp.VonMisesFisher(TASTE, 5.0), 30))
    assert found.chosen == "heterogeneous"
    assert str(found) == "heterogeneous is fitted without comparison: 30 observations are too few to hold any out."


def test_what_does_not_suit_is_left_out_by_size() -> None:
    data = bought(sp.VonMisesFisher(TASTE, 5.0), 34)
    ways = selecting._ways(data, None, 0, "refuse")
    tried, left_out = selecting._affordable(ways)
    assert [way.name for way in tried] == ["heterogeneous", "common"]
    assert [(way.name, why) for way, why in left_out] == [
        ("segmented", "two laws have 7 numbers, which 34 observations are too few for")
    ]
    dear = [way._replace(candidate=way.candidate._replace(work=2.9)) if way.name == "common" else way for way in ways]
    tried, left_out = selecting._affordable(dear)
    assert [way.name for way in tried] == ["heterogeneous"]
    assert left_out[-1][1] == "costs about 2.9 fits of one law"


class _Dense(sp.CommonUtility):
    """A model whose scores are of another thing."""

    scores_are = "densities"


def test_densities_are_not_ranked_with_probabilities() -> None:
    data = bought(sp.VonMisesFisher(TASTE, 5.0), 60)
    ways = selecting._ways(data, {"one": sp.CommonUtility(), "other": _Dense()}, 0, "refuse")
    tried, left_out = selecting._affordable(ways)
    assert [way.name for way in tried] == ["one"]
    assert left_out[0][1] == "scores densities"


def _scored(name: str, n_free: int, values: np.ndarray, same_as: str = "") -> selecting._Scored:
    way = selecting.Way(name, sp.CommonUtility(), Candidate({}, n_free, 1.0))
    return selecting._Scored(way, values, same_as)


def test_the_simplest_is_taken_of_those_within_one_standard_error() -> None:
    rng, whose = np.random.default_rng(5), np.arange(100)
    base = rng.normal(-2.0, 1.0, 100)
    noise = rng.standard_normal(100)
    noise -= noise.mean()
    noise *= 0.1 / noise.std(ddof=1)  # a standard error of 0.01
    for lead, taken in ((0.009, "small"), (0.011, "large")):
        ways = [_scored("large", 9, base + lead + noise), _scored("small", 4, base)]
        rows, chosen, reason = selecting._judged(ways, [], whose)
        assert chosen.name == taken
        assert rows[0].name == "large"
        assert ("score alike" in reason) == (taken == "small")
    # One that came out as a simpler one that was tried too is no rival, however lucky.
    ways = [_scored("common", 4, base), _scored("one segment", 9, base + 0.02, same_as="common")]
    rows, chosen, reason = selecting._judged(ways, [], whose)
    assert (chosen.name, rows[0].remark) == ("common", "came out as common")
    assert reason == "common is believed: no other came out different."


def test_a_stopped_run_goes_on_from_the_scores_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, kept = bought(sp.VonMisesFisher(TASTE, 5.0), 60), tmp_path / "run" / "scores.json"
    models = ("common", "heterogeneous")
    whole = best_of(data, models=models)

    def stop(_: sp.HeterogeneousUtility, __: sp.Observations) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sp.HeterogeneousUtility, "fit", stop)
        with pytest.raises(KeyboardInterrupt):
            best_of(data, models=models, kept=kept)
    tried: list[str] = []
    found = best_of(data, models=models, kept=kept, report=tried.append)
    assert tried == ["heterogeneous, 2 of 2", f"{found.chosen}, on everything"]
    assert str(found) == str(whole)
    for text in ("{", "[]", '{"fingerprint": 1, "scores": []}'):  # another run's, or none: begin anew
        kept.write_text(text)
        assert str(best_of(data, models=models, kept=kept)) == str(whole)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"held_out": 1.0}, "held_out must be a share between 0 and 1, such as 0.2; received 1.0"),
        ({"models": "common"}, "models must be names, or estimators by name; received the text 'common'"),
        ({"models": ("commn",)}, "models must be among heterogeneous, .*; received 'commn'"),
        ({"models": {"mine": 3}}, r"models\['mine'\] must be an estimator of stochpref; received 3"),
        ({"models": ()}, "models must propose something to try"),
    ],
)
def test_bad_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.fit_best(bought(sp.VonMisesFisher(TASTE, 5.0), 60), **settings)


def test_degenerate_rows_are_named_by_their_own_numbers() -> None:
    data = bought(sp.VonMisesFisher(TASTE, 5.0), 60)
    prices, bundles = data.prices.copy(), data.bundles.copy()
    prices[41], bundles[41] = 1.0, [0.5, 0.5, 0.0]
    budgets = data.budgets.copy()
    budgets[41] = 1.0
    tied = sp.Observations(prices, budgets, bundles, goods=data.goods)
    with pytest.raises(sp.InvalidObservations) as caught:
        sp.fit_best(tied)
    assert caught.value.rows == (41,)
    found = best_of(tied, degenerate="drop", models=("common", "heterogeneous"))
    assert found.ranking.n_learned + found.ranking.n_held_out == 59
    assert found.best.n_dropped_ == 1


def test_features_are_tried_where_there_are_any() -> None:
    from tests.test_features import bought as moved  # noqa: PLC0415

    data = moved(150, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        way, ranking = selecting.rank_models(data, models=["heterogeneous"], random_state=0)
    assert (way.name, way.estimator.features) == ("heterogeneous, features", ("tax", "income"))  # type: ignore[attr-defined]
    assert {row.name: row.n_free for row in ranking.scores} == {"heterogeneous": 4, "heterogeneous, features": 9}
    few = sp.HeterogeneousUtility.candidates(data[:30])
    assert [bool(one.unsuited) for one in few] == [False, True]
