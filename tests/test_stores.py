"""Every store keeps the same promises: the same rows, the same sums, the same facts told in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stochpref as sp
from stochpref.mass.masses import exact_log_mass, sum_log_mass, sum_with_information
from stochpref.posterior import gaussian
from stochpref.posterior.chains import Plan
from stochpref.posterior.choosing import choose_sampler
from stochpref.posterior.prior import Prior
from stochpref.posterior.samplers.gibbs_remote import RemoteGibbs
from stochpref.posterior.target import Target
from stochpref.readers import folders
from stochpref.stores import cluster, opening
from stochpref.stores.anchored import Anchored
from stochpref.stores.cluster import spread
from stochpref.stores.device import Device
from stochpref.stores.disk import on_disk
from stochpref.stores.memory import Memory
from stochpref.stores.opening import open_store
from stochpref.stores.protocol import Store
from stochpref.threads import GROUP

H = np.array([1.2, -0.4, 0.9])
STORES = ("memory", "device", "disk", "cluster", "anchored")


@pytest.fixture(scope="module")
def observations() -> sp.Observations:
    kappa = float(np.linalg.norm(H))
    law = sp.VonMisesFisher(H / kappa, kappa)
    return sp.simulate(law, sp.MenuLaw("uniform"), 200, rng=np.random.default_rng(5))


@pytest.fixture(scope="module")
def regions(observations: sp.Observations) -> sp.Regions:
    return sp.Regions.of(observations)


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest,
    observations: sp.Observations,
    regions: sp.Regions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Store]:
    if request.param == "device":
        pytest.importorskip("jax")
        yield Device(regions)
    elif request.param == "disk":
        monkeypatch.setattr(folders, "PART", GROUP)
        sp.write_observations(observations, tmp_path / "a.parquet", layout="wide")
        with on_disk(sp.StoredObservations(tmp_path), degenerate="refuse", seed=0) as (found, _):
            yield found
    elif request.param == "cluster":
        distributed = pytest.importorskip("distributed")
        monkeypatch.setattr(cluster, "PART", GROUP)
        with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
            yield spread(regions, client)
    elif request.param == "anchored":
        yield Anchored(Memory(regions), H, sum_with_information(regions, H), regions[:50])
    else:
        yield Memory(regions)


def test_rows_are_all_there_in_order(store: Store, regions: sp.Regions) -> None:
    assert store.n_goods == 3
    assert len(store) == sum(store.sizes) == 200
    assert tuple(store.map(len)) == store.sizes
    found = store.load()
    assert np.array_equal(found.side, regions.side)
    assert np.array_equal(found.slope, regions.slope)
    assert (found is regions) == store.in_memory
    picked = store.pick(200, seed=1)
    order = np.lexsort(picked.slope.T)
    assert not np.array_equal(picked.slope, regions.slope)
    assert np.array_equal(picked.slope[order], regions.slope[np.lexsort(regions.slope.T)])


def test_parts_take_arguments_of_their_own_and_can_be_asked_alone(store: Store) -> None:
    def told(regions: sp.Regions, *arguments: Any) -> tuple[Any, ...]:
        return (len(regions), *arguments)

    names = [f"part {k}" for k in range(len(store.sizes))]
    assert list(store.map(told, "all", each=names)) == [
        (size, name, "all") for size, name in zip(store.sizes, names, strict=True)
    ]
    last = len(store.sizes) - 1
    assert list(store.map(told, "all", of=[last])) == [(store.sizes[last], "all")]
    assert list(store.map(told, each=["own"], of=[last])) == [(store.sizes[last], "own")]


def test_sums_are_those_of_the_rows_and_no_more_than_was_asked_for(store: Store, regions: sp.Regions) -> None:
    wanted = sum_with_information(regions, H)
    # By differences on a device.
    error = {"rtol": 1e-3, "atol": 1e-3} if isinstance(store, Device) else {"rtol": 1e-10, "atol": 1e-9}
    for derivatives in range(3):
        value, gradient, information = store.sums(H, derivatives=derivatives)
        assert value == pytest.approx(wanted.value, rel=1e-9)
        assert gradient.shape == ((3,) if derivatives > 0 else (0,))
        assert information.shape == ((3, 3) if derivatives > 1 else (0,))
    np.testing.assert_allclose(gradient, wanted.gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(information, wanted.information, **error)
    assert store.curvature(H).shape == (3, 3)
    assert store.standard_error(H) == pytest.approx(0.0, abs=1e-9)
    if store.is_exact:
        assert store.sums(0.5 * H).value == pytest.approx(sum_log_mass(regions, 0.5 * H)[0], rel=1e-9)
        assert store.standard_error(0.5 * H) == 0.0
    else:
        assert store.standard_error(0.5 * H) > 0.0


def test_masses_are_those_of_the_rows(store: Store, regions: sp.Regions) -> None:
    wanted = exact_log_mass(regions, H, gradient=True)
    found = store.masses(H, gradient=True)
    np.testing.assert_allclose(found.log_mass, wanted.log_mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-8, atol=1e-8)
    assert store.masses(H).gradient is None


def test_a_utility_inside_every_region_is_seen(store: Store, regions: sp.Regions) -> None:
    assert store.all_contain(H) == regions.contains(H, strict=True).all() == False  # noqa: E712
    assert 0 < store.count_distinct() <= 200


def test_a_utility_that_explains_all_is_in_all(regions: sp.Regions) -> None:
    assert Memory(regions[regions.contains(H, strict=True)]).all_contain(H)


def test_latents_are_kept_with_the_rows_of_any_store(regions: sp.Regions) -> None:
    """One part here or there: the same random numbers, the same chains."""
    chains = []
    for one in (Memory(regions), Anchored(Memory(regions), H, sum_with_information(regions, H), regions)):
        sampler = RemoteGibbs(Target(one, Prior(0.0, 20.0)), seed=3)
        state = sampler.init(2)
        for iteration in range(3):
            state, _ = sampler.step(state, iteration)
        chains.append(state.mean_direction)
        sampler.forget()
    assert np.array_equal(*chains)


@pytest.mark.parametrize("is_stored", [False, True])
def test_the_reference_is_looked_for_once(
    observations: sp.Observations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    seen: Counter[int] = Counter()
    kept: list[Target] = []
    usual = gaussian._find_mode

    def counted(target: Target, start: np.ndarray) -> Any:
        kept.append(target)  # or its number would be given to another
        seen[id(target)] += 1
        return usual(target, start)

    monkeypatch.setattr(gaussian, "_find_mode", counted)
    monkeypatch.setattr(opening, "LARGE", 100)
    sp.write_observations(observations, tmp_path / "a.parquet", layout="wide")
    source = sp.StoredObservations(tmp_path) if is_stored else observations
    with open_store(source, engine="cpu", degenerate="refuse") as (store, origin):
        assert store.is_large == is_stored
        assert (origin.n_observations, origin.n_dropped, origin.goods) == (200, 0, observations.goods)
        choice = choose_sampler("auto", Target(store, Prior(0.0, 60.0)), 0, Plan())
        choose_sampler("hamiltonian", choice.sampler.target, 0, Plan())
    assert set(seen.values()) == {1}
