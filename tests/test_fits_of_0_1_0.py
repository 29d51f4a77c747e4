"""Fits that version 0.1.0 saved: they load, say what they said, and can be fitted again."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.consensus.effort import Effort
from tests.reference.fits_of_0_1_0 import BUDGETS, PRICES

HOME = Path(__file__).parent / "reference"
SAID: dict[str, dict[str, Any]] = json.loads((HOME / "fits_of_0_1_0.json").read_text(encoding="utf-8"))
SETTINGS: dict[str, dict[str, Any]] = {
    "common": {"effort": Effort(n_chains=2), "random_state": 7},
    "heterogeneous": {
        "concentration_bounds": (1.0, 10.0), "sampler": "gibbs", "n_chains": 2, "n_draws": 20, "n_effective": 0,
        "random_state": 7, "checkpoint": Path("run.npz"),
    },
}  # fmt: skip


def load(name: str) -> Any:
    return sp.load_fit(HOME / f"fit-0.1.0-{name}")


@pytest.mark.parametrize("name", SAID)
def test_a_former_fit_says_what_it_said(name: str) -> None:
    model, said = load(name), SAID[name]
    data = model.observations_
    assert str(model.summary()) == said["summary"]
    np.testing.assert_allclose(model.predict(PRICES, BUDGETS), said["predict"], rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(data), said["log_likelihood"], rtol=1e-9)
    score = model.consistency(data) if name == "common" else model.score(data)  # what "score" was of it in 0.1.0
    assert score == pytest.approx(said["score"], rel=1e-9)
    assert model.data_hash_ == said["data_hash"]
    assert model.goods_ == data.goods == ("tea", "crème", "rum")
    assert (data.labels[2], data.customers[6]) == ("№ 2", "customer 1")
    assert (model.seed_, model.command_[-1]) == (7, "7")


@pytest.mark.parametrize("name", SAID)
def test_a_former_fit_has_its_settings_and_can_be_fitted_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a checkpoint goes
    model = load(name)
    assert model.get_params(deep=False) == type(model)(**SETTINGS[name]).get_params(deep=False)
    data, goods = model.observations_, model.goods_
    if name == "heterogeneous":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # so few draws have not converged
            model.fit(data)
        assert model.posterior_["posterior"]["concentration"].shape == (2, 20)
    else:
        assert model.fit(data).n_consistent_ == 13
    assert model.goods_ == goods


@pytest.mark.parametrize("name", SAID)
def test_a_former_fit_is_saved_as_fits_are_now(name: str, tmp_path: Path) -> None:
    former = load(name)
    former.save(tmp_path)
    again: Any = sp.load_fit(tmp_path)
    assert str(again.summary()) == SAID[name]["summary"]
    assert again.get_params(deep=False) == former.get_params(deep=False)
    assert np.array_equal(again.observations_.prices, former.observations_.prices)
    np.testing.assert_array_equal(again.predict(PRICES, BUDGETS), former.predict(PRICES, BUDGETS))
