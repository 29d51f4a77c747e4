"""The same numbers on a Dask cluster, whatever its size and whatever becomes of its workers."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import stochpref as sp
from stochpref import threads
from stochpref.consensus.conflicts import count_conflicts
from stochpref.consensus.objective import pack
from stochpref.mass.masses import sum_with_information
from stochpref.posterior.samplers import gibbs_remote
from stochpref.posterior.samplers.gibbs_remote import Place, forget, sweep_part
from stochpref.readers import folders
from stochpref.stores import cluster, opening
from stochpref.stores.cluster import spread
from stochpref.stores.engines import connect

distributed = pytest.importorskip("distributed")

H = np.array([3.0, 1.5, -1.0])
GIBBS = {"sampler": "gibbs", "n_chains": 2, "n_draws": 20, "n_effective": 0, "random_state": 1}


@pytest.fixture(scope="module")
def observations() -> sp.Observations:
    kappa = float(np.linalg.norm(H))
    law = sp.VonMisesFisher(H / kappa, kappa)
    return sp.simulate(law, sp.MenuLaw("uniform"), 1500, rng=np.random.default_rng(3))


def started(n_workers: int) -> Any:
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with started(2) as workers, distributed.Client(workers) as found:
        yield found


def fitted(observations: Any, client: Any, **settings: Any) -> sp.HeterogeneousUtility:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sp.HeterogeneousUtility(engine=client, **settings).fit(observations)


def draws(model: sp.HeterogeneousUtility) -> np.ndarray:
    return model.posterior_["posterior"]["mean_direction"].values


def test_one_two_and_four_workers_give_the_same(observations: sp.Observations) -> None:
    regions = sp.Regions.of(observations)
    wanted = sum_with_information(regions, H)
    found, chains = [], []
    for n_workers in (1, 2, 4):
        with started(n_workers) as workers, distributed.Client(workers) as client:
            found.append(spread(regions, client).sums(H, derivatives=2))
            chains.append(draws(fitted(observations, client, **GIBBS)))
    for sums in found:
        assert sums.value == pytest.approx(wanted.value, rel=1e-12)
        np.testing.assert_allclose(sums.gradient, wanted.gradient, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(sums.information, wanted.information, rtol=1e-11, atol=1e-10)
        assert sums.value == found[0].value
    assert np.array_equal(chains[0], chains[1])
    assert np.array_equal(chains[0], chains[2])


def test_a_worker_that_dies_changes_nothing(observations: sp.Observations) -> None:
    with started(2) as workers, distributed.Client(workers) as client:
        wanted = draws(fitted(observations, client, **GIBBS))
        pids = set(client.run(os.getpid).values())
        victim = threading.Timer(1.0, lambda: os.kill(min(pids), signal.SIGKILL))
        victim.start()
        found = draws(fitted(observations, client, **(GIBBS | {"n_draws": 60})))
        victim.join()
        assert min(pids) not in client.run(os.getpid).values()
        assert np.array_equal(found[:, :20], wanted)
        store = spread(sp.Regions.of(observations), client)
        before = store.sums(H)
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        after = store.sums(H)
    assert before.value == after.value
    assert np.array_equal(before.gradient, after.gradient)


def test_a_worker_that_dies_while_the_likelihood_is_maximised_changes_nothing(
    observations: sp.Observations, tmp_path: Path
) -> None:
    for k in range(5):
        sp.write_observations(observations[300 * k : 300 * (k + 1)], tmp_path / f"{k}.parquet", layout="wide")
    with started(2) as workers, distributed.Client(workers) as client:
        pids = set(client.run(os.getpid).values())
        killed: list[int] = []

        def kill_one(done: int, total: int, word: str) -> None:
            if done < total and not word.startswith("reading") and not killed:
                killed.append(min(pids))
                os.kill(killed[0], signal.SIGKILL)

        found = sp.fit_maximum_likelihood(tmp_path, engine=client, report=kill_one)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
        wanted = sp.fit_maximum_likelihood(tmp_path, engine=client)
    assert np.array_equal(found.h, wanted.h)
    assert np.array_equal(found.covariance, wanted.covariance)
    assert found.n_evaluations == wanted.n_evaluations


def kept_here() -> int:
    return len(gibbs_remote._kept)


def test_workers_keep_nothing_after_a_fit(observations: sp.Observations, client: Any) -> None:
    def faulty(mean_direction: np.ndarray, concentration: float) -> float:
        seen.append(concentration)
        if len(seen) > 20:
            assert sum(client.run(kept_here).values()) > 0
            raise KeyError("nowhere")
        return 0.0

    seen: list[float] = []
    fitted(observations, client, **GIBBS)
    assert set(client.run(kept_here).values()) == {0}
    with pytest.raises(KeyError, match="nowhere"):
        fitted(observations, client, prior=faulty, **GIBBS)
    assert set(client.run(kept_here).values()) == {0}


def test_gibbs_on_a_cluster_agrees_with_the_exact_likelihood(observations: sp.Observations, client: Any) -> None:
    gibbs = fitted(observations, client, **(GIBBS | {"n_draws": 250}))
    exact = fitted(observations, "cpu", sampler="importance", random_state=2)
    spread_out = np.std(draws(exact), axis=(0, 1))
    shift = np.abs(draws(gibbs).mean(axis=(0, 1)) - draws(exact).mean(axis=(0, 1)))
    n_effective = min(gibbs.diagnostics_.fewest_effective, exact.diagnostics_.fewest_effective)
    assert np.all(shift < 5 * spread_out / np.sqrt(n_effective))


def test_fits_are_saved_and_loaded_beside_a_cluster(observations: sp.Observations, client: Any, tmp_path: Path) -> None:
    model = fitted(observations[:200], client, **GIBBS)
    model.save(tmp_path)
    assert np.array_equal(draws(sp.load_fit(tmp_path)), draws(model))


def test_files_are_read_by_the_workers(
    observations: sp.Observations, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PART", 300)
    monkeypatch.setattr(opening, "LARGE", 1000)
    sp.write_observations(observations[:800], tmp_path / "0.parquet", layout="wide")
    sp.write_observations(observations[800:], tmp_path / "1.parquet", layout="wide")
    here, there = sp.fit_maximum_likelihood(tmp_path), sp.fit_maximum_likelihood(tmp_path, engine=client)
    np.testing.assert_allclose(there.h, here.h, rtol=1e-9)
    assert there.n_observations == 1500
    on_files = fitted(tmp_path, client, **GIBBS)
    assert on_files.n_observations_ == 1500
    assert len(on_files.observations_) == 1500
    local, remote = (fitted(tmp_path, engine, n_draws=60, random_state=0) for engine in ("cpu", client))
    np.testing.assert_allclose(draws(remote), draws(local), rtol=1e-6, atol=1e-9)
    (tmp_path / "1.parquet").write_bytes(b"PAR1 but no more than that PAR1")
    with pytest.raises(sp.UnreadableData, match=r"1\.parquet"):
        sp.fit_maximum_likelihood(tmp_path, engine=client)


def test_files_without_a_usable_row_are_no_parts(observations: sp.Observations, client: Any, tmp_path: Path) -> None:
    tied = sp.Observations(np.ones((5, 3)), np.ones(5), np.tile([0.5, 0.5, 0.0], (5, 1)))
    plain, mixed, none = (tmp_path / name for name in ("plain", "mixed", "none"))
    for folder, parts in (
        (plain, [observations[:700], observations[700:]]),
        (mixed, [observations[:700], tied, observations[700:]]),
        (none, [tied]),
    ):
        folder.mkdir()
        for k, part in enumerate(parts):
            sp.write_observations(part, folder / f"{k}.parquet", layout="wide")
    wanted, found = (fitted(folder, client, degenerate="drop", **GIBBS) for folder in (plain, mixed))
    assert np.array_equal(draws(found), draws(wanted))
    assert (found.n_observations_, found.n_dropped_) == (1505, 5)
    with pytest.raises(sp.InvalidObservations, match="nothing is left"):
        sp.fit_maximum_likelihood(none, engine=client, degenerate="drop")


def test_masses_and_samplers_on_a_cluster(observations: sp.Observations, client: Any) -> None:
    regions, kappa = sp.Regions.of(observations[:300]), float(np.linalg.norm(H))
    wanted, slopes = sp.log_mass(regions, H / kappa, kappa, gradient=True)
    found, gradient = sp.log_mass(regions, H / kappa, kappa, gradient=True, engine=client)
    assert np.array_equal(found, wanted)
    assert np.array_equal(gradient, slopes)
    nothing, none = sp.log_mass(regions.rows(0, 0), H / kappa, kappa, gradient=True, engine=client)
    assert (nothing.shape, none.shape) == ((0,), (0, 3))
    settings = {"sampler": "importance", "n_draws": 40, "n_effective": 0, "random_state": 4}
    np.testing.assert_allclose(
        draws(fitted(observations[:300], client, **settings)),
        draws(fitted(observations[:300], "cpu", **settings)),
        rtol=1e-6,
        atol=1e-9,
    )


def test_conflicts_are_counted_in_blocks_on_workers(client: Any) -> None:
    law = sp.CorruptedUtilityLaw(H / float(np.linalg.norm(H)), corruption=0.1)
    crowd = sp.simulate(law, sp.MenuLaw("uniform"), 2500, rng=np.random.default_rng(0))
    packed = pack(sp.Regions.of(crowd))
    assert np.array_equal(count_conflicts(packed, client), count_conflicts(packed))
    here, there = (sp.CommonUtility(random_state=0, engine=engine).fit(crowd) for engine in ("cpu", client))
    assert np.array_equal(here.utility_, there.utility_)
    assert here.upper_bound_ == there.upper_bound_
    with pytest.raises(sp.InvalidArgument, match=r"cpu, dask or a distributed\.Client"):
        sp.CommonUtility(engine="jax").fit(crowd)


def test_a_client_is_shared_by_clones(observations: sp.Observations, client: Any) -> None:
    for model in (sp.HeterogeneousUtility(engine=client, n_draws=7), sp.CommonUtility(engine=client)):
        twin = clone(model)
        assert twin is not model
        assert {k: v for k, v in twin.get_params().items() if k != "engine"} == {
            k: v for k, v in model.get_params().items() if k != "engine"
        }
        assert twin.engine is model.engine is client


def test_tasks_in_this_process_leave_its_threads_alone(
    observations: sp.Observations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STOCHPREF_NUM_THREADS", raising=False)
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as inside:
        parts = spread(sp.Regions.of(observations), inside)
        assert set(parts.map(lambda regions: threads.n_threads())) == {1}
    assert "STOCHPREF_NUM_THREADS" not in os.environ
    assert threads.n_threads() == len(os.sched_getaffinity(0))


def test_log_masses_of_a_folder_start_one_cluster(
    observations: sp.Observations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_here: list[Any] = []
    usual = distributed.LocalCluster
    monkeypatch.setattr(
        distributed, "LocalCluster", lambda *a, **k: started_here.append(usual(*a, **k)) or started_here[-1]
    )
    monkeypatch.setenv("STOCHPREF_NUM_THREADS", "1")
    for k in range(3):
        sp.write_observations(observations[100 * k : 100 * k + 100], tmp_path / f"{k}.parquet", layout="wide")
    found = sp.log_mass(tmp_path, H / np.linalg.norm(H), 3.0, engine="dask")
    assert np.array_equal(found, sp.log_mass(tmp_path, H / np.linalg.norm(H), 3.0))
    assert len(started_here) == 1


def test_a_bad_file_is_read_once(observations: sp.Observations, client: Any, tmp_path: Path) -> None:
    class Counted:
        """A client that keeps the retries it is asked for."""

        asked: list[int] = []  # noqa: RUF012

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

        def submit(self, *arguments: Any, retries: int = 0, **options: Any) -> Any:
            self.asked.append(retries)
            return client.submit(*arguments, retries=retries, **options)

    sp.write_observations(observations[:20], tmp_path / "a.parquet", layout="wide")
    cluster.on_workers(sp.StoredObservations(tmp_path), Counted(), degenerate="refuse", seed=0)
    assert set(Counted.asked) == {0}


def test_a_local_cluster_is_started_and_ended(observations: sp.Observations) -> None:
    before = dict(os.environ)
    found = sp.fit_maximum_likelihood(observations[:200], engine="dask")
    np.testing.assert_allclose(found.h, sp.fit_maximum_likelihood(observations[:200]).h, rtol=1e-6)
    assert dict(os.environ) == before


def test_an_engine_that_is_none_is_refused(observations: sp.Observations, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sp.InvalidArgument, match=r"engine must be one of cpu, jax, dask"):
        sp.HeterogeneousUtility(engine="spark").fit(observations)
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(sp.InvalidArgument, match=r"stochpref\[dask\]"), connect("dask"):
        pass


# --- the utilities of a part, as one process keeps them


def test_sweeps_that_are_not_known_are_asked_for_and_made_up(observations: sp.Observations) -> None:
    regions = sp.Regions.of(observations[:100])
    laws = np.random.default_rng(0).standard_normal((2, 5, 3))
    places = [Place(run, 0, 100, 7, 2) for run in ("steady", "late")]
    for k in range(5):
        steady = sweep_part(regions, places[0], k, laws[:, k : k + 1])
    assert sweep_part(regions, places[1], 3, laws[:, 3:4]) == 0
    sweep_part(regions, places[1], 0, laws[:, :2])
    assert sweep_part(regions, places[1], 4, laws[:, 4:]) == 2
    assert np.array_equal(sweep_part(regions, places[1], 2, laws[:, 2:]), steady)
    # A sweep made twice, because its result was lost on the way, starts over.
    assert sweep_part(regions, places[0], 4, laws[:, 4:]) == 0
    assert np.array_equal(sweep_part(regions, places[0], 0, laws), steady)
    for place in places:
        forget(place.run)
        assert sweep_part(regions, place, 1, laws[:, 1:2]) == 0
    assert isinstance(sweep_part(regions, places[0], 0, laws), np.ndarray)  # one that was at work when its run ended
    assert gibbs_remote._kept == {}


def test_a_part_that_moved_leaves_no_utilities_behind(observations: sp.Observations) -> None:
    regions = sp.Regions.of(observations[:128])
    laws = np.random.default_rng(0).standard_normal((2, 3, 3))
    stays, moves = (Place("moving", first, 128, 7, 2) for first in (0, 64))
    for k in range(2):
        sweep_part(regions.rows(0, 64), stays, k, laws[:, k : k + 1])
        if k == 0:
            sweep_part(regions.rows(64, 128), moves, 0, laws[:, :1])
    assert len(gibbs_remote._kept) == 2  # it may yet come to the second sweep
    sweep_part(regions.rows(0, 64), stays, 2, laws[:, 2:])
    assert [key[1] for key in gibbs_remote._kept] == [0]
    forget("moving")
