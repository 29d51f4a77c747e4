# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Fits beside one another: scores that agree with direct computation, verdicts that name the better fit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stochpref as sp
from stochpref.cli import app

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # a few draws are enough here

TASTE = np.array([0.7, 0.5, 0.3, -0.4]) / np.linalg.norm([0.7, 0.5, 0.3, -0.4])


@pytest.fixture(scope="module")
def differing() -> tuple[sp.Observations, sp.Observations]:
    """Customers who differ: 200 to learn from and 100 held out."""
    data = sp.simulate(sp.VonMisesFisher(TASTE, 4.0), sp.MenuLaw("uniform"), 300, rng=np.random.default_rng(3))
    return data[:200], data[200:]


@pytest.fixture(scope="module")
def fits(differing: tuple[sp.Observations, sp.Observations]) -> dict[str, object]:
    learn, _ = differing
    return {
        "posterior": sp.HeterogeneousUtility(n_draws=60, n_chains=2, n_effective=0, random_state=0).fit(learn),
        "common": sp.CommonUtility(random_state=0).fit(learn),
    }


def test_probabilities_of_all_bundles_of_a_menu_sum_to_one() -> None:
    """Two goods at price 1, a budget of 1: nothing, the first or the second is bought."""
    crowd = sp.simulate(
        sp.CorruptedUtilityLaw([0.8, 0.6], 0.2), sp.MenuLaw("uniform"), 50, rng=np.random.default_rng(0)
    )
    model = sp.CommonUtility(random_state=0).fit(crowd)
    every = sp.Observations(np.ones((3, 2)), np.ones(3), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert np.exp(model.log_likelihood(every)).sum() == pytest.approx(1.0, abs=1e-9)


def test_common_score_is_the_mixture_of_honest_and_odd(
    fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations]
) -> None:
    model, fresh = fits["common"], differing[1]
    assert isinstance(model, sp.CommonUtility)
    anywhere = sp.log_mass(sp.Regions.of(fresh), np.eye(4)[0], 0.0)
    odd = (200 - model.n_consistent_ + 1) / 202
    expected = odd * np.exp(anywhere)
    expected += (1 - odd) * sp.Regions.of(fresh).contains(model.utility_, strict=True)
    np.testing.assert_allclose(np.exp(model.log_likelihood(fresh)), expected, rtol=1e-10)


def test_customers_who_differ_are_told_from_one_common_utility(
    fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations]
) -> None:
    found = sp.compare_fits(fits, differing[1])  # type: ignore[arg-type]
    posterior, common = found.fits
    assert posterior.held_out is not None
    assert common.held_out is not None
    assert common.loo is None
    assert posterior.held_out.mean == pytest.approx(fits["posterior"].score(differing[1]))  # type: ignore[attr-defined]
    (difference,) = found.differences
    assert difference.measure == "held out"
    assert difference.mean == pytest.approx(posterior.held_out.mean - common.held_out.mean)
    assert difference.mean > 2 * difference.standard_error
    assert "posterior is better than common" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["n_held_out"] == 100
    with np.errstate(invalid="ignore"):
        assert "no clear difference" in str(sp.compare_fits(fits, differing[1][:1]))  # type: ignore[arg-type]


def test_leave_one_out_is_paired_only_on_the_same_data(
    fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations]
) -> None:
    learn, fresh = differing
    settings = {"n_draws": 60, "n_chains": 2, "n_effective": 0, "random_state": 1}
    alike = sp.HeterogeneousUtility((50.0, 60.0), **settings).fit(learn)  # type: ignore[arg-type]
    other = sp.HeterogeneousUtility(**settings).fit(fresh)  # type: ignore[arg-type]
    found = sp.compare_fits({"free": fits["posterior"], "alike": alike, "other": other})  # type: ignore[dict-item]
    assert [(d.other, d.measure) for d in found.differences] == [("alike", "leave-one-out")]
    assert "free is better than alike" in str(found)
    *_, warning = found.warnings  # others say that scores are rough
    assert warning.startswith("free and other learned from different data")
    assert f"! {warning}" in str(found)
    assert found.as_dict()["warnings"] == list(found.warnings)


def test_held_out_purchases_that_were_learned_from_are_counted(
    fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations]
) -> None:
    learn, fresh = differing
    assert sp.compare_fits(fits, fresh).warnings == ()  # type: ignore[arg-type]
    turned = [2, 0, 3, 1]  # columns in another order are still the same purchases
    again = learn[:30].concat(fresh)
    again = sp.Observations(
        again.prices[:, turned], again.budgets, again.bundles[:, turned], goods=[again.goods[i] for i in turned]
    )
    warnings = sp.compare_fits(fits, again).warnings  # type: ignore[arg-type]
    for name, warning in zip(fits, warnings, strict=True):
        assert warning.startswith(f"30 of 130 held-out observations equal ones that {name} learned from")


def test_one_fit_is_refused(fits: dict[str, object]) -> None:
    with pytest.raises(sp.InvalidArgument, match="two or more"):
        sp.compare_fits({"posterior": fits["posterior"]})  # type: ignore[dict-item]


class Shares:
    """A model of somebody's own: bundles by how often they were bought, one in ten for what never was."""

    def __init__(self, learned: sp.Observations) -> None:
        self.most_wanted = int(learned.bundles.sum(axis=0).argmax())

    def log_likelihood(self, observations: sp.Observations) -> np.ndarray:
        return np.log(np.where(observations.bundles.argmax(axis=1) == self.most_wanted, 0.9, 0.1))


def test_anything_with_a_likelihood_is_compared_on_data_held_out(
    fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations]
) -> None:
    learn, fresh = differing
    theirs = Shares(learn)
    found = sp.compare_fits({**fits, "theirs": theirs}, fresh)  # type: ignore[dict-item]
    *ours, other = found.fits
    assert (other.model, other.n_observations, other.explained, other.loo) == ("Shares", None, None, None)
    assert other.held_out is not None
    assert ours[0].held_out is not None
    assert other.held_out.mean == pytest.approx(theirs.log_likelihood(fresh).mean())
    difference = found.differences[-1]
    assert (difference.other, difference.measure) == ("theirs", "held out")
    assert difference.mean == pytest.approx(ours[0].held_out.mean - other.held_out.mean)
    assert len({len(line) for line in str(found).splitlines()[2:6]}) == 1
    assert json.loads(json.dumps(found.as_dict()))["fits"][2]["explained"] is None
    first = sp.compare_fits({"theirs": theirs, **fits}, fresh)  # type: ignore[dict-item]
    assert first.differences[0].mean == pytest.approx(-difference.mean)
    with pytest.raises(sp.InvalidArgument, match=r"fits\['theirs'\] is no fit of stochpref.* only on held_out"):
        sp.compare_fits({**fits, "theirs": theirs})  # type: ignore[dict-item]
    with pytest.raises(sp.InvalidArgument, match=r"fits\['none'\] must have a method log_likelihood"):
        sp.compare_fits({**fits, "none": 1}, fresh)  # type: ignore[dict-item]
    theirs.log_likelihood = lambda observations: np.zeros(3)  # type: ignore[method-assign]
    with pytest.raises(sp.InvalidArgument, match=r"must return 100 numbers.* received shape \(3,\)"):
        sp.compare_fits({**fits, "theirs": theirs}, fresh)  # type: ignore[dict-item]


def test_command(fits: dict[str, object], differing: tuple[sp.Observations, sp.Observations], tmp_path: Path) -> None:
    for name, model in fits.items():
        model.save(tmp_path / name)  # type: ignore[attr-defined]
    sp.write_observations(differing[1], tmp_path / "later.csv")
    folders = [str(tmp_path / name) for name in fits]
    words = ["compare", *folders, "--held-out", str(tmp_path / "later.csv")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "100 held out" in shown.stdout
    content = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [fit["model"] for fit in content["fits"]] == ["heterogeneous", "common"]
    twice = CliRunner().invoke(app, ["compare", folders[1], folders[1]])
    assert twice.exit_code == 2
    assert "different fits" in twice.output


def test_rough_leave_one_out_scores_are_said_to_be_rough(
    fits: dict[str, object],
) -> None:
    """Arviz finds weights too uneven: the comparison says so of the score, and nothing is warned of beside it."""
    model = fits["posterior"]
    assert isinstance(model, sp.HeterogeneousUtility)
    assert not any("rough" in said for said in sp.compare_fits(fits).warnings)
    values = model.posterior_["log_likelihood"]["bundles"]
    heavy = values.copy()
    heavy[..., 0] = -np.abs(np.random.default_rng(0).standard_cauchy(heavy.shape[:2]))
    model.posterior_["log_likelihood"]["bundles"] = heavy
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sp.compare_fits(fits)
        assert any("leave-one-out score of posterior is rough" in said for said in found.warnings)
        assert found.fits[0].loo is not None
    finally:
        model.posterior_["log_likelihood"]["bundles"] = values


def test_problems_are_compared_on_the_same_bundles():
    rng = np.random.default_rng(4)
    prices, budgets = rng.uniform(1, 2, (90, 3)), rng.uniform(1.0, 4.0, 90)
    law = sp.VonMisesFisher(np.array([0.8, 0.5, -0.33]) / np.linalg.norm([0.8, 0.5, -0.33]), 8.0)
    whole = sp.simulate(law, sp.Menus(prices, budgets, problem="whole"), 90, rng=rng)
    divisible = sp.Observations(prices, budgets, whole.bundles, goods=whole.goods)
    fits = {
        "whole": sp.CommonUtility(random_state=0).fit(whole[:60]),
        "divisible": sp.CommonUtility(random_state=0, degenerate="drop").fit(divisible[:60]),
    }
    found = sp.compare_fits(fits, whole[60:])
    by_name = {fit.name: fit for fit in found.fits}
    other = fits["divisible"].log_likelihood(divisible[60:]).mean()
    assert by_name["divisible"].held_out.mean == pytest.approx(other)
    assert by_name["whole"].held_out.mean == pytest.approx(fits["whole"].log_likelihood(whole[60:]).mean())
    assert any("whole is of problem 'whole', divisible of 'divisible'" in text for text in found.warnings)
    assert any("held-out observations equal" in text for text in sp.compare_fits(fits, whole[:60]).warnings)
    part = sp.Observations(prices[:1], budgets[:1], [[0.5, 0.0, 0.0]], goods=whole.goods)
    with pytest.raises(sp.InvalidArgument, match=r"fits\['whole'\] is of problem Whole\(\).*cannot have been bought"):
        sp.compare_fits(fits, part)
