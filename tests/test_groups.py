# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""One model for each group: the same whatever the processes, and a group that fails leaves the others alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref import groups as groups_module

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


def faulty_prior(mean_direction: np.ndarray, concentration: float) -> float:
    raise KeyError("nowhere")


def interrupting_prior(mean_direction: np.ndarray, concentration: float) -> float:
    signal.raise_signal(signal.SIGINT)
    return 0.0


def deadly_prior(mean_direction: np.ndarray, concentration: float) -> float:
    """Kill the first process that comes by."""
    trap = Path(os.environ["STOCHPREF_TEST_TRAP"])
    if trap.exists():
        trap.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def with_prior(prior: Any) -> sp.HeterogeneousUtility:
    return sp.HeterogeneousUtility(
        (0.0, 60.0), "gibbs", n_chains=2, n_draws=20, n_effective=0, random_state=5, prior=prior
    )


def test_whatever_a_group_raises_is_its_own_failure(market: tuple[sp.Observations, list[str]], tmp_path: Path) -> None:
    data, labels = market
    fits = sp.fit_groups(with_prior(faulty_prior), data, labels, jobs=1)
    assert set(fits.failures.values()) == {"KeyError: 'nowhere'"}
    (tmp_path / "000001").write_text("a file where a folder should go")
    fits = sp.fit_groups(sp.CommonUtility(random_state=0), data, labels, jobs=1, folder=tmp_path)
    assert list(fits.failures) == [fits.rows[1].group]
    assert "000001" in fits.rows[1].failure


def test_a_process_that_is_killed_costs_its_own_group_alone(
    market: tuple[sp.Observations, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = market
    labels = [t % 6 for t in range(len(data))]
    monkeypatch.setenv("STOCHPREF_TEST_TRAP", str(tmp_path / "trap"))
    wanted = sp.fit_groups(with_prior(deadly_prior), data, labels, jobs=1)
    (tmp_path / "trap").touch()
    found = sp.fit_groups(with_prior(deadly_prior), data, labels, jobs=2)
    assert len(found.failures) == 1
    assert "killed by SIGKILL" in next(iter(found.failures.values()))
    for row, other in zip(found.rows, wanted.rows, strict=True):
        assert row.failure or np.array_equal(row.utility, other.utility)
    assert not active_children()


def test_an_interrupt_ends_all_groups(market: tuple[sp.Observations, list[str]]) -> None:
    data, labels = market
    told: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        sp.fit_groups(with_prior(interrupting_prior), data, labels, jobs=1, report=lambda n, _: told.append(n))
    assert told == []
    with pytest.raises(KeyboardInterrupt):
        sp.fit_groups(MODEL, data, labels, jobs=2, report=lambda *_: signal.raise_signal(signal.SIGINT))
    assert not active_children()


def test_few_groups_have_processes_of_their_own(
    market: tuple[sp.Observations, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, labels = market
    asked: list[int] = []

    def run(function: Any, tasks: Any, n_processes: int, **_: Any) -> Any:
        asked.append(n_processes)
        return enumerate(map(function, tasks))

    monkeypatch.setattr(groups_module, "run_in_processes", run)
    for jobs in (1, 2, 8):
        sp.fit_groups(sp.CommonUtility(random_state=0), data, labels, jobs=jobs)
    assert asked == [2, 3]


SCRIPT = """
import numpy as np
import stochpref as sp

print("run")
def flat(mu, kappa): return 0.0
data = sp.simulate(
    sp.VonMisesFisher(np.array([0.8, 0.6]), 5.0), sp.MenuLaw("uniform"), 60, rng=np.random.default_rng(0)
)
model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=50, n_effective=0, random_state=0, prior={prior})
print(len(sp.fit_groups(model, data, [t % 2 for t in range(60)], jobs=2).failures), "failed")
"""


def test_a_script_need_not_guard_what_it_runs(tmp_path: Path) -> None:
    """Unless the model needs what the script defines, and then the script is told."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(prior="None"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split("\n")[:2] == ["run", "0 failed"], done.stderr
    script.write_text(SCRIPT.format(prior="flat"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert 'if __name__ == "__main__"' in done.stderr


def test_a_generator_decides_the_fits(market: tuple[sp.Observations, list[str]]) -> None:
    data, labels = market
    found = []
    for seed in (1, 1, 2):
        model = with_prior(None).set_params(random_state=np.random.default_rng(seed))
        found.append(sp.fit_groups(model, data, labels, jobs=1).rows[0].utility)
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


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


def test_what_groups_cannot_share_is_refused(market: tuple[sp.Observations, list[str]]) -> None:
    data, labels = market
    with pytest.raises(sp.InvalidArgument, match="checkpoint must be None"):
        sp.fit_groups(sp.HeterogeneousUtility(checkpoint="run.npz"), data, labels, jobs=1)
    with pytest.raises(sp.InvalidArgument, match="engine must not be a cluster"):
        sp.fit_groups(sp.CommonUtility(engine="dask"), data, labels, jobs=1)
    with pytest.raises(sp.InvalidArgument, match="sent to other processes"):
        sp.fit_groups(with_prior(lambda mean_direction, concentration: 0.0), data, labels, jobs=2)
    with pytest.raises(sp.InvalidArgument, match="received both 1 and '1'"):
        sp.fit_groups(MODEL, data, [1, "1"] * 90, jobs=1)
