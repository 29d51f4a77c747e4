"""Every parameter of every model comes back from a saved fit as what it was, or as what a fit can use instead."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.consensus.effort import Effort
from stochpref.paper.annealing import Annealing
from stochpref.paper.metropolis import MetropolisOptions
from tests.small_fits import common, posterior

MADE: dict[type, Callable[[int], Any]] = {sp.CommonUtility: common, sp.HeterogeneousUtility: posterior}


class Client:
    """What a `distributed.Client` is told by."""

    def submit(self) -> None: ...

    def scheduler_info(self) -> None: ...


def favours_tea(mean_direction: np.ndarray, concentration: float) -> float:
    return float(mean_direction[0])


GENERATOR = np.random.default_rng(3)
# (given, what comes back) of every parameter, none of them a default.
BACK: dict[type, dict[str, list[tuple[Any, Any]]]] = {
    sp.CommonUtility: {
        "margin": [(0.25, 0.25), ("theorem", "theorem"), (np.float64(0.5), 0.5), (1, 1), (Fraction(1, 4), 0.25)],
        "solver": [("annealing", "annealing")],
        "random_state": [(11, 11), (np.int64(11), 11), (2**100, 2**100), (GENERATOR, None)],
        "centre": [("vertex", "vertex")],
        "degenerate": [("drop", "drop")],
        "effort": [
            (Effort(n_chains=3, seconds=1.5), Effort(n_chains=3, seconds=1.5)),
            (Effort(seconds=np.inf, n_sweeps=np.int64(7)), Effort(seconds=np.inf, n_sweeps=7)),
        ],
        "annealing": [(Annealing(n_steps=7, reduction=0.5), Annealing(n_steps=7, reduction=0.5))],
        "verbose": [(True, True), (np.True_, True)],
        "engine": [("dask", "dask"), (Client(), "dask")],
    },
    sp.HeterogeneousUtility: {
        "concentration_bounds": [
            ((1.0, 10.0), (1.0, 10.0)),
            ([1, 10], (1, 10)),
            (np.array([0.5, 10.0]), (0.5, 10.0)),
            ((np.float64(1.0), Fraction(21, 2)), (1.0, 10.5)),
        ],
        "sampler": [("importance", "importance")],
        "n_chains": [(3, 3), (np.int32(3), 3)],
        "n_draws": [(77, 77)],
        "random_state": [(11, 11), (GENERATOR, None)],
        "n_effective": [(50, 50)],
        "max_draws": [(333, 333)],
        "max_seconds": [(2.5, 2.5), (np.float32(2.5), 2.5)],
        # A function cannot be saved. Its name comes back, so that nobody fits again under another prior unawares.
        "prior": [(favours_tea, f"{__name__}.favours_tea")],
        "checkpoint": [("run.npz", "run.npz"), (Path("kept") / "run.npz", Path("kept") / "run.npz")],
        "degenerate": [("drop", "drop")],
        "metropolis": [
            (MetropolisOptions(step=0.2, likelihood="exact"), MetropolisOptions(step=0.2, likelihood="exact"))
        ],
        "engine": [("dask", "dask"), (Client(), "dask")],
        "verbose": [(True, True)],
        "features": [(("price", "promotion:tea"), ("price", "promotion:tea")), (["price"], ("price",))],
    },
}
CASES = [
    (kind, name, *pair) for kind, table in BACK.items() for name, pairs in table.items() for pair in pairs
]  # fmt: skip


@pytest.mark.parametrize("kind", list(MADE))
def test_every_parameter_is_in_the_table(kind: type) -> None:
    assert set(BACK[kind]) == set(kind().get_params(deep=False))
    defaults = kind().get_params(deep=False)
    assert all(back != defaults[name] for name, pairs in BACK[kind].items() for _, back in pairs[:1])


@pytest.mark.parametrize(("kind", "name", "given", "back"), CASES)
def test_a_parameter_comes_back(kind: type, name: str, given: Any, back: Any, tmp_path: Path) -> None:
    model = MADE[kind](3)
    before = model.get_params(deep=False)
    try:
        model.set_params(**{name: given}).save(tmp_path)
    finally:
        model.set_params(**before)
    found = sp.load_fit(tmp_path).get_params(deep=False)
    assert found == before | {name: back}
    assert type(found[name]) is type(back)
    sp.load_fit(tmp_path).save(tmp_path / "again")
    assert sp.load_fit(tmp_path / "again").get_params(deep=False) == found


def test_a_loaded_fit_can_be_fitted_again(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"sampler": "gibbs", "n_draws": 20, "n_effective": 0, "random_state": 5}
    data = posterior(3).observations_
    with pytest.warns(UserWarning, match="CONVERGED"):
        model = sp.HeterogeneousUtility(concentration_bounds=(1.0, 10.0), **settings).fit(data)
    model.save(tmp_path)
    with pytest.warns(UserWarning, match="CONVERGED"):
        again = sp.load_fit(tmp_path).fit(data)
    assert isinstance(again, sp.HeterogeneousUtility)
    assert again.concentration_ == model.concentration_
    page = sp.write_report(sp.load_fit(tmp_path), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(1.0, 10.0)" in page


def test_no_fit_is_made_again_under_another_prior(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"sampler": "gibbs", "n_draws": 20, "n_effective": 0, "random_state": 5}
    data = posterior(3).observations_
    with pytest.warns(UserWarning, match="CONVERGED"):
        sp.HeterogeneousUtility(prior=favours_tea, **settings).fit(data).save(tmp_path)
    with pytest.raises(sp.InvalidArgument, match=r"prior must be None or a function.*received '.*favours_tea'"):
        sp.load_fit(tmp_path).fit(data)
