"""Checkpoints: runs go on to the same draws, whatever stopped them, and files that cannot be gone on with say why."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import stochpref as sp
from stochpref.archives.arrays import read_arrays, write_arrays
from stochpref.models import heterogeneous
from stochpref.posterior import diagnostics
from stochpref.posterior.chains import Plan, Run, run_chains
from stochpref.posterior.checkpoints import read_checkpoint
from stochpref.posterior.diagnostics import Diagnostics, diagnose
from stochpref.posterior.prior import PriorFn
from stochpref.posterior.results import as_tree, group, thinned
from stochpref.posterior.summary import make_rows
from stochpref.posterior.target import Info, keyed_generator
from tests.test_heterogeneous_utility import draws_of, market

ANEW = "delete it to start anew, or give another file"


class State(NamedTuple):
    place: np.ndarray


class Walk:
    """A random walk, of a law with names of its own, that depends on no data."""

    name, revision, n_warmup = "walk", 3, 2
    axes: ClassVar = {"slope": ("good", "kind"), "level": ()}

    def init(self, n_chains: int) -> State:
        return State(np.zeros((n_chains, 6)))

    def step(self, state: State, iteration: int) -> tuple[State, Info]:
        moves = [keyed_generator(7, chain, iteration).standard_normal(6) for chain in range(len(state.place))]
        return State(0.5 * state.place + moves), Info({"length": np.linalg.norm(moves, axis=1)})

    def parameters(self, state: State) -> dict[str, np.ndarray]:
        return {"slope": state.place.reshape(-1, 3, 2), "level": state.place[:, 0] ** 2}


def walk(path: Path | None = None, n_draws: int = 20, fingerprint: dict[str, Any] | None = None, **changed: Any) -> Run:
    """Return a run that its plan stops before it has enough, so that a checkpoint stays."""
    sampler = Walk()
    for name, value in changed.items():
        setattr(sampler, name, value)
    plan = Plan(n_chains=2, n_draws=n_draws, n_effective=10**6, max_draws=n_draws, checkpoint=path)
    return run_chains(sampler, plan, fingerprint={"data": "abc"} if fingerprint is None else fingerprint, reason="why")


def assert_same(one: Run, two: Run) -> None:
    for first, second in zip(one.draws, two.draws, strict=True):
        assert first.keys() == second.keys()
        for name, values in first.items():
            np.testing.assert_array_equal(values, second[name])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    walk(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def rewrite(path: Path, change_fn: Any) -> None:
    """Change what a checkpoint holds, and make its checksum fit."""
    with path.open("rb") as stream:
        about, content = read_arrays(stream, path)
    change_fn(about, content)
    with path.open("wb") as stream:
        write_arrays(stream, about, content)
    archive = path.read_bytes()
    path.write_bytes(archive + b"\nstochpref checkpoint, sha256 " + hashlib.sha256(archive).hexdigest().encode())


def test_a_run_goes_on_to_the_same_draws(path: Path) -> None:
    assert_same(walk(path, 50), walk(None, 50))
    rewrite(path, lambda about, content: None)
    assert_same(walk(path, 70), walk(None, 70))


def test_draws_are_known_by_the_names_of_their_law(path: Path) -> None:
    run = walk(path, 40)
    found = run.diagnostics
    slopes = tuple(f"slope[{i}, {j}]" for i in range(3) for j in range(2))
    assert (found.parameters, found.names) == (("slope", "level"), (*slopes, "level"))
    for i, name in enumerate(found.names[:-1]):
        alone = diagnose({name: run.draws.parameters["slope"].reshape(2, 40, 6)[:, :, i]})
        assert alone.ess_bulk[0] == found.of("slope").ess_bulk[i]
    assert found.of("level").names == ("level",)
    assert found.of("level").r_hat[0] == found.r_hat[-1]
    again = Diagnostics.restore(json.loads(json.dumps(found.as_dict())))
    assert (again.names, again.r_hat.tolist()) == (found.names, found.r_hat.tolist())
    labelled = found.labelled({"slope": tuple("abcdef")})
    assert labelled.names == ("slope[a]", "slope[b]", "slope[c]", "slope[d]", "slope[e]", "slope[f]", "level")
    rows = make_rows(run.draws.parameters, labelled, {"slope": tuple("abcdef")})
    assert [row.name for row in rows["slope"]] == list("abcdef")
    assert rows["level"][0].mean == pytest.approx(run.draws.parameters["level"].mean())
    assert rows["slope"][3].mcse == found.mcse_mean[3]
    assert rows["slope"][3].sd == pytest.approx(run.draws.parameters["slope"][:, :, 1, 1].std())

    data = market(3, 5)
    tree = as_tree(run.draws, Walk.axes, data, {"sampler": "walk"})
    posterior = group(tree, "posterior")
    assert posterior["slope"].dims == ("chain", "draw", "good", "kind")
    assert posterior["level"].dims == ("chain", "draw")
    assert tuple(posterior["good"].values) == data.goods
    draws, every = thinned(tree, 20)
    assert (every, draws["slope"].shape, draws["level"].shape) == (slice(None, None, 4), (2, 10, 3, 2), (2, 10))
    np.testing.assert_array_equal(draws["slope"], run.draws.parameters["slope"][:, ::4])


def test_diagnostics_of_version_0_1_0_are_of_a_direction_and_a_concentration() -> None:
    lists = {name: [1.0, 2.0, None, 4.0] for name in ("r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd")}
    found = Diagnostics.restore({**lists, "pareto_k": None})
    assert found.names == ("mean_direction[0]", "mean_direction[1]", "mean_direction[2]", "concentration")
    assert found.of("concentration").r_hat.tolist() == [4.0]


def test_a_file_altered_anywhere_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    places = {0, len(whole) - 1, *rng.integers(len(whole), size=150).tolist()}
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        for content in (bytes(flipped), whole[:place], whole[:place] + whole[place + 1 :], whole + whole[:place]):
            path.write_bytes(content)
            if content != whole:  # appending nothing changes nothing
                with pytest.raises(sp.InvalidArgument, match=f"run.npz cannot be read: .*; {ANEW}"):
                    walk(path)
    path.write_bytes(whole)
    walk(path)


@pytest.mark.parametrize(
    "change_fn",
    [
        lambda about, content: content.pop("state.place"),
        lambda about, content: content.update({"state.place": np.zeros((2, 7))}),
        lambda about, content: content.update({"state.place": np.zeros((3, 6))}),
        lambda about, content: content.update({"state.place": np.zeros((2, 6), np.int8)}),
        lambda about, content: content.update({"state.place": np.array("a word")}),
        lambda about, content: content.update({"state.other": np.zeros((2, 6))}),
        lambda about, content: content.pop("parameters.level"),
        lambda about, content: content.update({"parameters.slope": content["parameters.slope"][:, :, :2]}),
        lambda about, content: content.update({"parameters.other": content["parameters.level"]}),
        lambda about, content: content.update({"statistics.length": content["statistics.length"][:, 1:]}),
        lambda about, content: content.update({name: values[:, 1:] for name, values in content.items()}),
        lambda about, content: about.pop("goal"),
        lambda about, content: about.update(n_draws=10**9),
        lambda about, content: about.update(n_draws=-1),
        lambda about, content: about.update(iteration="soon"),
        lambda about, content: about.update(fingerprint=3),
        lambda about, content: content.update({"more": np.zeros(3)}),
    ],
)
def test_a_file_that_lacks_something_is_refused(path: Path, change_fn: Any) -> None:
    rewrite(path, change_fn)
    with pytest.raises(sp.InvalidArgument, match=f"run.npz cannot be read: it is incomplete.*; {ANEW}"):
        walk(path)


def test_what_is_no_checkpoint_is_refused(path: Path, tmp_path: Path) -> None:
    for content, why in (
        (b"", "cut short, or no checkpoint"),
        (b"observation,good,price\n", "cut short, or no checkpoint"),
    ):
        path.write_bytes(content)
        with pytest.raises(sp.InvalidArgument, match=why):
            walk(path)
    with path.open("wb") as stream:  # as version 0.1.0 wrote them
        np.savez(stream, fingerprint="abc", iteration=22, n_draws=20, goal=20, **{"state.place": np.zeros((2, 3))})
    with pytest.raises(sp.InvalidArgument, match=f"version 0.1.0 wrote it.*; {ANEW}"):
        walk(path)
    with pytest.raises(sp.InvalidArgument, match="cannot be read: Is a directory"):
        walk(tmp_path)


def test_another_run_is_refused(path: Path) -> None:
    for settings, differing in (
        ({"fingerprint": {"data": "abd"}}, "data"),
        ({"fingerprint": {"data": "abc", "prior": "x", "engine": "jax"}}, "engine, prior"),
        ({"fingerprint": {}}, "data"),
        ({"name": "run"}, "sampler"),
    ):
        with pytest.raises(
            sp.InvalidArgument,
            match=f"other data, settings, seed or version; what differs: {differing}; {ANEW}",
        ):
            walk(path, **settings)


def test_draws_that_changed_are_refused(path: Path) -> None:
    with pytest.raises(sp.InvalidArgument, match="revision 3 of sampler 'walk', this version draws by revision 4"):
        walk(path, revision=4)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("market_of", "came_to"), [((3, 60, 15.0, "uniform"), "hamiltonian"), ((3, 20, 20.0, "discrete"), "gibbs")]
)
def test_a_run_that_fell_back_goes_on_where_it_was(
    market_of: tuple[Any, ...], came_to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "PARETO_LIMIT", -9.0)  # no weights are even enough
    data, path = market(*market_of), tmp_path / "run.npz"
    settings = {"concentration_bounds": (1, 200), "n_chains": 2, "n_draws": 60, "n_effective": 0, "random_state": 1}
    seen = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = sp.HeterogeneousUtility(**settings).fit(data)
        assert (whole.sampler_, "weights were too uneven" in whole.reason_) == (came_to, True)
        model = None
        while model is None or model.status_ != "enough":
            try:
                model = sp.HeterogeneousUtility(**settings, checkpoint=path, max_seconds=400.0).fit(data)
            except sp.InvalidArgument as error:
                assert "warm-up" in str(error)  # noqa: PT017
            if path.exists():
                begun = read_checkpoint(path)
                assert begun is not None
                seen.add(begun.sampler)
                assert len(seen) < 3
    assert came_to in seen
    assert (model.sampler_, model.reason_) == (whole.sampler_, whole.reason_)
    for one, two in zip(draws_of(whole), draws_of(model), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.usefixtures("clock")
def test_a_new_version_that_draws_alike_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = market(3, 20), tmp_path / "run.npz"
    model = sp.HeterogeneousUtility(sampler="gibbs", n_draws=100, checkpoint=path, random_state=0, max_seconds=1000.0)
    with pytest.warns(sp.NotConverged, match="its time was up"):
        model.fit(data)
    monkeypatch.setattr(heterogeneous, "__version__", "9.9.9")
    with pytest.warns(sp.NotConverged, match="no more draws were asked for"):
        model.set_params(n_effective=0, max_seconds=None).fit(data)
    assert model.status_ == "enough"
    assert not path.exists()


@pytest.mark.usefixtures("clock")
def test_another_prior_is_refused(tmp_path: Path) -> None:
    data, path = market(3, 20), tmp_path / "run.npz"

    def begin(prior: PriorFn | None) -> None:
        model = sp.HeterogeneousUtility(
            (0, 50), "gibbs", 1, 100, random_state=0, prior=prior, checkpoint=path, max_seconds=1000.0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(data)

    begin(lambda mu, kappa: 3.0 * float(mu[0]) - 0.1 * kappa)
    begin(lambda direction, c: 3.0 * float(direction[0]) - c / 10.0)  # of other words, but the same
    others: list[PriorFn | None] = [
        None,
        lambda mu, kappa: 3.0 * float(mu[1]) - 0.1 * kappa,
        lambda mu, kappa: 3.0 * float(mu[0]) - 0.1 * kappa if kappa < 49.9 else -np.inf,
        lambda mu, kappa: 3.0 * float(mu[0]) - 0.1001 * kappa,
    ]
    for other in others:
        with pytest.raises(sp.InvalidArgument, match=f"what differs: prior; {ANEW}"):
            begin(other)
    path.unlink()
    begin(None)
    with pytest.raises(sp.InvalidArgument, match="what differs: prior"):
        begin(others[1])
