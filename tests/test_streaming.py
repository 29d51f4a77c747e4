"""Likelihood, maximum and posterior of observations in parts against the same in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stochpref as sp
from stochpref.mass.masses import observed_information, sum_log_mass, sum_with_information
from stochpref.maximising import maximise_large, maximise_likelihood
from stochpref.readers import folders
from stochpref.stores import opening
from stochpref.stores.anchored import Anchored
from stochpref.stores.disk import Disk, on_disk
from stochpref.stores.memory import Memory

H = np.array([3.0, 1.5, -1.0, 0.5])


@pytest.fixture(scope="module")
def observations() -> sp.Observations:
    kappa = float(np.linalg.norm(H))
    law = sp.VonMisesFisher(H / kappa, kappa)
    return sp.simulate(law, sp.MenuLaw("uniform"), 3000, rng=np.random.default_rng(3))


@pytest.fixture
def stored(observations: sp.Observations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sp.StoredObservations:
    """The same on disk, in parts of 512 rows, and so many that they are not to be loaded."""
    monkeypatch.setattr(folders, "PART", 512)
    monkeypatch.setattr(opening, "LARGE", 1000)
    for k in range(3):
        sp.write_observations(observations[1000 * k : 1000 * (k + 1)], tmp_path / f"{k}.parquet", layout="wide")
    return sp.StoredObservations(tmp_path)


@pytest.fixture
def streamed(stored: sp.StoredObservations) -> Iterator[Disk]:
    with on_disk(stored, degenerate="refuse", seed=0) as (store, _):
        yield store


def test_sums_of_parts_are_those_of_the_whole(observations: sp.Observations, streamed: Disk) -> None:
    regions = sp.Regions.of(observations)
    value, gradient = sum_log_mass(regions, H)
    assert len(streamed) == len(regions)
    for derivatives in (1, 2):
        found = streamed.sums(H, derivatives=derivatives)
        assert found.value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=1e-12 * np.abs(gradient).max() + 1e-11)
    assert streamed.sums(H, derivatives=0).value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.information, observed_information(regions, H), rtol=1e-11, atol=1e-9)
    assert not streamed.all_contain(H)


def test_one_pass_gives_what_three_do(observations: sp.Observations) -> None:
    regions = sp.Regions.of(observations[:400])
    together = sum_with_information(regions, H)
    value, gradient = sum_log_mass(regions, H)
    assert together.value == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(together.gradient, gradient, rtol=1e-10, atol=1e-10)
    step, difference = 1e-5, np.empty((4, 4))
    for i in range(4):
        e = step * np.eye(4)[i]
        difference[i] = -(sum_log_mass(regions, H + e)[1] - sum_log_mass(regions, H - e)[1]) / (2 * step)
    np.testing.assert_allclose(together.information, difference, rtol=1e-5, atol=1e-5)


def test_progress_counts_the_parts(streamed: Disk) -> None:
    told: list[tuple[int, int, str]] = []
    replace(streamed, report=lambda *step: told.append(step)).sums(H)
    assert [done for done, _, _ in told] == list(range(1, len(streamed.sizes) + 1))


def test_the_maximum_from_a_sample_and_two_passes_is_the_maximum(observations: sp.Observations, streamed: Disk) -> None:
    whole = Memory(sp.Regions.of(observations))
    wanted = maximise_likelihood(whole)
    information = whole.sums(wanted.h, derivatives=2).information
    found, anchored = maximise_large(streamed, n_sample=600)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert np.abs((found.h - wanted.h) / errors).max() < 1e-3
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood, abs=1e-4)
    np.testing.assert_allclose(anchored.exact.information, information, rtol=0.02, atol=2.0)


def test_the_anchored_likelihood_errs_as_much_as_it_says(observations: sp.Observations, streamed: Disk) -> None:
    anchor = H * 1.02
    exact, regions = streamed.sums(anchor, derivatives=2), sp.Regions.of(observations)
    covariance = np.linalg.cholesky(np.linalg.inv(exact.information))
    errors, claims = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sample = regions[rng.choice(3000, 320, replace=False)]
        around = Anchored(streamed, anchor, exact, sample)
        h = anchor + 3 * covariance @ rng.standard_normal(4)
        errors.append(around.sums(h, derivatives=0).value - streamed.sums(h, derivatives=0).value)
        claims.append(around.standard_error(h))
    ratio = np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(claims)))
    assert 0.6 < ratio < 1.5
    assert np.sqrt(np.mean(np.square(errors))) < 1.0


def test_the_anchored_gradient_is_that_of_its_value(streamed: Disk, observations: sp.Observations) -> None:
    exact = streamed.sums(H, derivatives=2)
    around = Anchored(streamed, H, exact, sp.Regions.of(observations[:200]))
    h, step = H + 0.1, 1e-5

    def value(h: np.ndarray) -> float:
        return around.sums(h, derivatives=0).value

    differences = [(value(h + step * e) - value(h - step * e)) / (2 * step) for e in np.eye(4)]
    found = around.sums(h)
    assert found.value == pytest.approx(value(h), rel=1e-12)
    np.testing.assert_allclose(found.gradient, differences, rtol=1e-5, atol=1e-3)
    assert value(H) == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(around.sums(H, derivatives=2).information, exact.information, rtol=1e-9, atol=1e-7)


def test_maximum_likelihood_of_a_folder(observations: sp.Observations, stored: sp.StoredObservations) -> None:
    wanted = sp.fit_maximum_likelihood(observations)
    for source in (stored, str(stored.folder)):
        found = sp.fit_maximum_likelihood(source)
        assert found.status == "converged"
        assert found.n_observations == 3000
        assert found.goods == observations.goods
        np.testing.assert_allclose(found.h, wanted.h, rtol=1e-4)
        np.testing.assert_allclose(found.direction_standard_errors, wanted.direction_standard_errors, rtol=0.02)


def test_one_utility_that_explains_a_folder_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LARGE", 100)
    law = sp.VonMisesFisher(np.array([0.36, 0.48, 0.8]), 9000.0)
    alike = sp.simulate(law, sp.MenuLaw("uniform"), 400, rng=np.random.default_rng(1))
    sp.write_observations(alike, tmp_path / "a.parquet", layout="wide")
    found = sp.fit_maximum_likelihood(tmp_path)
    assert found.status == sp.fit_maximum_likelihood(alike).status == "separable"
    assert found.concentration > 5000


def test_few_stored_observations_are_loaded(stored: sp.StoredObservations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LARGE", 10_000)
    settings = {"n_effective": 0, "n_draws": 30, "n_chains": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sp.HeterogeneousUtility(**settings).fit(stored)
        wanted = sp.HeterogeneousUtility(**settings).fit(stored.load())
    assert found.likelihood_error_ == 0
    assert np.array_equal(found.mean_direction_, wanted.mean_direction_)


def test_log_masses_of_a_folder(observations: sp.Observations, stored: sp.StoredObservations) -> None:
    kappa = float(np.linalg.norm(H))
    wanted, slopes = sp.log_mass(sp.Regions.of(observations), H / kappa, kappa, gradient=True)
    found, gradient = sp.log_mass(str(stored.folder), H / kappa, kappa, gradient=True)
    assert np.array_equal(found, wanted)
    assert np.array_equal(gradient, slopes)


def test_the_posterior_of_a_folder_is_that_of_its_observations(
    observations: sp.Observations, stored: sp.StoredObservations, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = sp.HeterogeneousUtility(random_state=0).fit(stored)
    wanted = sp.HeterogeneousUtility(random_state=1, sampler="importance").fit(observations)
    assert found.is_converged_
    assert 0 < found.likelihood_error_ < 0.02
    assert "exact sums at the maximum and a sample" in str(found.summary())
    spread = wanted.diagnostics_
    for name in ("mean_direction", "concentration"):
        first = found.posterior_["posterior"][name].values
        second = wanted.posterior_["posterior"][name].values
        error = np.std(second, axis=(0, 1)) / np.sqrt(min(found.diagnostics_.fewest_effective, spread.fewest_effective))
        assert np.all(np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1))) < 6 * error), name
        assert np.all(np.abs(np.std(first, axis=(0, 1)) / np.std(second, axis=(0, 1)) - 1) < 0.2), name
    folder = tmp_path_factory.mktemp("fit")
    found.save(folder)
    back = sp.load_fit(folder)
    assert back.likelihood_error_ == found.likelihood_error_
    assert back.n_observations_ == 3000
    assert np.array_equal(back.mean_direction_, found.mean_direction_)


def test_a_stored_fit_does_not_depend_on_threads(
    stored: sp.StoredObservations, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = []
    for threads in ("1", "2"):
        monkeypatch.setenv("STOCHPREF_NUM_THREADS", threads)
        fits.append(sp.fit_maximum_likelihood(stored))
    assert np.array_equal(fits[0].h, fits[1].h)


FORKS = """
import warnings
from multiprocessing import get_context
from stochpref.threads import for_blocks

warnings.simplefilter("ignore", DeprecationWarning)  # of forking a process with threads
for_blocks(lambda start, stop: None, 4, 1)
child = get_context("fork").Process(target=for_blocks, args=(lambda start, stop: None, 4, 1))
child.start()
child.join(10)
child.kill()
raise SystemExit(child.exitcode != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    # In a process of its own: this one may have loaded JAX, which warns of every fork.
    environment = os.environ | {"STOCHPREF_NUM_THREADS": "2"}
    assert subprocess.run([sys.executable, "-c", FORKS], env=environment, timeout=60, check=False).returncode == 0


def test_a_sample_of_all_rows_has_no_error(observations: sp.Observations) -> None:
    for n_rows in (1, 40):
        regions = sp.Regions.of(observations[:n_rows])
        around = Anchored(Memory(regions), H, sum_with_information(regions, H), regions)
        assert around.standard_error(1.1 * H) == 0.0


def test_gibbs_does_not_pretend_that_memory_holds_all(stored: sp.StoredObservations) -> None:
    with pytest.raises(sp.InvalidArgument, match=r"more than memory holds.*engine='dask'"):
        sp.HeterogeneousUtility(sampler="gibbs").fit(stored)
    with pytest.raises(sp.InvalidArgument, match="metropolis"):
        sp.HeterogeneousUtility(sampler="metropolis").fit(stored)
