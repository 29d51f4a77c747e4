from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = os.environ.get("STOCHPREF_REAL_DATA")
    if not folder:
        pytest.skip("STOCHPREF_REAL_DATA is not set: the real data are not part of the project")
    return Path(folder)
