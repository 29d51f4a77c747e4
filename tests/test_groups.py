# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One model for each group: the same whatever the processes, and a group that fails leaves the others alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stochpref as sp

TASTES = {"tea lovers": [0.9, 0.3, 0.3], "cake lovers": [0.3, 0.9, 0.3], "savers": [-0.5, -0.5, 0.7]}


@pytest.fixture(scope="module")
def market() -> tuple[sp.Observations, list[str]]:
    """Three groups, mixed."""
    rng = np.random.default_rng(0)
    parts, labels = [], []
    for name, taste in TASTES.items():
        law = sp.VonMisesFisher(np.array(taste) / np.linalg.norm(taste), 8.0)
        parts.append(sp.simulate(law, sp.MenuLaw("uniform"), 60, rng=rng))
        labels += [name] * 60
    whole = parts[0].concat(parts[1]).concat(parts[2])
    order = rng.permutation(len(whole))
    return whole[order], [labels[k] for k in order]


MODEL = sp.HeterogeneousUtility((0.0, 60.0), "gibbs", n_chains=2, n_draws=100, n_effective=0, random_state=5)


def test_each_group_gets_the_fit_of_its_own_rows(market: tuple[sp.Observations, list[str]], tmp_path: Path) -> None:
    data, labels = market
    told: list[tuple[int, int]] = []
    fits = sp.fit_groups(MODEL, data, labels, jobs=1, folder=tmp_path, report=lambda *done: told.append(done))
    assert told[-1] == (3, 3)
    assert [row.group for row in fits.rows] == list(dict.fromkeys(labels))
    for number, row in enumerate(fits.rows):
        assert row.n_observations == 60
        assert row.utility @ np.array(TASTES[row.group]) / np.linalg.norm(TASTES[row.group]) > 0.95
        saved = sp.load_fit(tmp_path / f"{number:06d}")
        np.testing.assert_array_equal(saved.mean_direction_, row.utility)
    table = fits.table
    assert table.num_rows == 3
    assert {"group", "concentration", "utility_good1", "lower_good1"} <= set(table.column_names)
    assert not hasattr(MODEL, "posterior_")


def test_results_do_not_depend_on_processes(market: tuple[sp.Observations, list[str]]) -> None:
    data, _ = market
    labels = [t % 20 for t in range(len(data))]
    alone = sp.fit_groups(sp.CommonUtility(random_state=1), data, labels, jobs=1)
    together = sp.fit_groups(sp.CommonUtility(random_state=1), data, labels, jobs=2)
    assert alone.table.equals(together.table)
    assert len(alone.rows) == 20


def test_a_group_that_fails_is_named_and_the_rest_finish(market: tuple[sp.Observations, list[str]]) -> None:
    data, labels = market
    tied = sp.Observations([[1.0, 1.0, 1.0]], [1.0], [[0.5, 0.5, 0.0]])  # two goods in part: degenerate
    fits = sp.fit_groups(sp.CommonUtility(random_state=0), data.concat(tied), [*labels, "odd one"], jobs=1)
    assert list(fits.failures) == ["odd one"]
    assert "degenerate" in fits.failures["odd one"]
    assert np.isnan(fits.rows[-1].utility).all()
    assert "3 fitted" in str(fits)
    assert "1 failed" in str(fits)


def test_customers_are_groups(market: tuple[sp.Observations, list[str]]) -> None:
    data, labels = market
    named = sp.Observations(data.prices, data.budgets, data.bundles, customers=labels)
    fits = sp.fit_groups(sp.CommonUtility(random_state=0), named, "customers", jobs=1)
    assert {row.group for row in fits.rows} == set(TASTES)


@pytest.mark.parametrize(
    ("groups", "jobs", "message"),
    [
        ([1, 2], 1, "one label for each"),
        ("customers", 1, "customer labels"),
        ("shops", 1, "'customers'"),
        (None, 0, "jobs"),
    ],
)
def test_mistakes_are_said(market: tuple[sp.Observations, list[str]], groups: object, jobs: int, message: str) -> None:
    data, labels = market
    with pytest.raises(sp.InvalidArgument, match=message):
        sp.fit_groups(MODEL, data, labels if groups is None else groups, jobs=jobs)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidArgument, match="model must be"):
        sp.fit_groups("gibbs", data, labels)  # type: ignore[arg-type]
