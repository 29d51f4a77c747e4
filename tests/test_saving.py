"""What is saved comes back, with what a user added to it; what no file can hold is refused, and nothing written."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import stochpref as sp
from tests.small_fits import common, posterior

HALF = "caf\udce9"  # as the name of a file in Latin-1 becomes


@pytest.mark.parametrize("argument", ["goods", "customers", "labels"])
def test_a_name_that_no_file_can_hold_is_refused(argument: str, tmp_path: Path) -> None:
    whole = common(3)
    whole.save(tmp_path / "fit")
    model = copy.copy(whole)
    model.observations_ = copy.copy(whole.observations_)
    count = 3 if argument == "goods" else len(whole.observations_)
    object.__setattr__(model.observations_, argument, (HALF, *map(str, range(1, count))))  # past its own checks
    for folder in (tmp_path / "new" / "fit", tmp_path / "fit"):
        with pytest.raises(sp.InvalidArgument, match=rf"{argument} must be whole characters.*caf\\udce9"):
            model.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]
    assert sp.load_fit(tmp_path / "fit").goods_ == whole.goods_


def test_a_text_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    model = copy.copy(posterior(3))
    model.posterior_ = model.posterior_.copy()
    model.posterior_["notes/words"] = xr.DataArray(np.array([HALF]), dims="word")
    with pytest.raises(sp.InvalidArgument, match=r"notes/words must be whole characters.*caf\\udce9"):
        model.save(tmp_path / "fit")
    assert not list(tmp_path.iterdir())


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    model = copy.copy(posterior(3))
    model.seconds_ = np.nan
    with pytest.raises(sp.InvalidArgument, match="finite numbers"):
        model.save(tmp_path / "fit")
    assert not list(tmp_path.iterdir())


def test_names_of_files_that_are_no_text_are_kept(tmp_path: Path) -> None:
    """They come from the system, after a long run perhaps: they must not keep a fit from being saved."""
    model = copy.copy(posterior(3)).set_params(checkpoint=Path(HALF))
    model.save(tmp_path / "fit", command=["stochpref", "fit", HALF, "a\nb"])
    loaded = sp.load_fit(tmp_path / "fit")
    assert isinstance(loaded, sp.HeterogeneousUtility)
    assert os.fsencode(str(loaded.checkpoint)) == b"caf\xe9"
    assert loaded.command_ == ["stochpref", "fit", r"caf\udce9", r"a\nb"]
    assert r"caf\udce9" in sp.write_report(loaded, tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_tree_comes_back_with_what_was_added_to_it(tmp_path: Path) -> None:
    model = copy.copy(posterior(3))
    tree = model.posterior_ = model.posterior_.copy(deep=True)
    with pytest.warns(UserWarning, match="Pareto"):  # so few draws
        model.loo()
    tree["posterior"]["log_concentration"] = np.log(tree["posterior"]["concentration"])
    notes = xr.Dataset(
        {
            "when": ("day", np.array(["2026-01-01", "2026-01-02"], "M8[ns]")),
            "words": (("day", "place"), np.array([["a", "ü"], ["", "🍎"]], object)),
            "whole": ("day", np.array([1, 2], np.uint8)),
            "is_open": ((), np.True_),
            "phase": ("day", np.array([1j, 2.0])),
            "none": ("nothing", np.empty(0)),
        },
        attrs={"author": "me", "n": 3, "x": 2.5, "values": [1.0, 2.0], "flag": True},
    )
    tree["notes/inner"] = xr.DataTree(notes)
    model.save(tmp_path / "fit")
    loaded = sp.load_fit(tmp_path / "fit")
    assert isinstance(loaded, sp.HeterogeneousUtility)
    xr.testing.assert_identical(loaded.posterior_, tree)
    for place in ("posterior/mean_direction", "notes/inner/when", "notes/inner/is_open"):
        assert loaded.posterior_[place].dtype == tree[place].dtype
    assert loaded.demand(model.observations_.menus[:1], n_draws=2, n_customers=64).mean.shape == (1, 3)
    loaded.posterior_["posterior"]["concentration"].values[0, 0] = 1.0  # its own, to be changed
    tree["notes"]["object"] = xr.DataArray(np.array([object()]), dims="thing")
    with pytest.raises(sp.InvalidArgument, match="notes/object must hold numbers or texts to be saved; received obj"):
        model.save(tmp_path / "other")


def test_numpy_opens_the_arrays(tmp_path: Path) -> None:
    model = posterior(3)
    model.save(tmp_path / "fit")
    with np.load(tmp_path / "fit" / "arrays.npz", allow_pickle=False) as arrays:
        directions = arrays["posterior/mean_direction"]
        groups = json.loads(arrays["description.json"])
    assert np.array_equal(directions, model.posterior_["posterior"]["mean_direction"].values)
    assert groups["posterior"]["variables"]["good"]["texts"] == list(model.goods_)
    assert groups["posterior"]["variables"]["mean_direction"]["dimensions"] == ["chain", "draw", "good"]
    model.save(tmp_path / "again")
    for name in ("fit.json", "learned.json", "arrays.npz"):
        assert (tmp_path / "fit" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
