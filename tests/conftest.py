from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from stochpref.posterior import chains
from stochpref.posterior.samplers.gibbs import Gibbs


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = os.environ.get("STOCHPREF_REAL_DATA")
    if not folder:
        pytest.skip("STOCHPREF_REAL_DATA is not set: the real data are not part of the project")
    return Path(folder)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances a second whenever it is read: runs stop after a number of steps, not after a time."""
    ticks = count()
    monkeypatch.setattr(chains.time, "monotonic", lambda: float(next(ticks)))


@pytest.fixture
def interrupt_at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What presses Ctrl-C at a step of Gibbs sampling, or sends other signals."""
    whole = Gibbs.step

    def arrange(step: int, *how: signal.Signals) -> None:
        def interrupted(self: Gibbs, state: object, iteration: int) -> object:
            if iteration == step:
                for signum in how or (signal.SIGINT,):
                    os.kill(os.getpid(), signum)
            return whole(self, state, iteration)

        monkeypatch.setattr(Gibbs, "step", interrupted)

    return arrange
